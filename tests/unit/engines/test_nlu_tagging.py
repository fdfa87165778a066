from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.engines.embedded.nlu.batch import Tokens
from turncheck.engines.embedded.nlu.crf import TagColumn, name_of, prefix_of, read_entities, repair_bilou, tags_of
from turncheck.project.nlu_data import EntityAnnotation

ADDRESS = Tokens(("22", "Powderhall", "Rd", "EH7"), ((0, 2), (3, 13), (14, 16), (19, 22)))


def tags(*entities: EntityAnnotation, bilou: bool = True) -> tuple[str, ...]:
    return tags_of(entities, ADDRESS, "entity", bilou=bilou)


def test_an_entity_is_tagged_from_its_beginning_to_its_last_token() -> None:
    assert tags(EntityAnnotation(0, 16, "street", "")) == ("B-street", "I-street", "L-street", "O")
    assert tags(EntityAnnotation(19, 22, "code", "")) == ("O", "O", "O", "U-code")


def test_borders_within_a_token_leave_it_untagged_with_bilou_and_tagged_without() -> None:
    within = EntityAnnotation(3, 9, "street", "")
    assert set(tags(within)) == {"O"}
    assert tags(within, bilou=False) == ("O", "street", "O", "O")


def test_of_several_entities_on_a_token_the_last_counts_with_bilou_and_the_largest_without() -> None:
    both = (EntityAnnotation(3, 13, "a", ""), EntityAnnotation(3, 9, "b", ""), EntityAnnotation(3, 13, "c", ""))
    assert tags(*both)[1] == "U-c"
    assert tags(*both, bilou=False)[1] == "a"


@pytest.mark.parametrize(
    ("predicted", "repaired"),
    [
        (["B-a", "I-a", "O"], ["B-a", "L-a", "O"]),
        (["B-a", "O"], ["U-a", "O"]),
        (["B-a", "I-b", "L-a"], ["B-a", "I-a", "L-a"]),
        (["B-a", "I-a"], ["B-a", "L-a"]),
        (["I-a", "L-a"], ["I-a", "L-a"]),
        (["B-a", "B-a", "L-a"], ["U-a", "B-a", "L-a"]),
    ],
)
def test_what_begins_is_closed_under_one_name(predicted: list[str], repaired: list[str]) -> None:
    assert repair_bilou(predicted, [0.9] * len(predicted))[0] == repaired


def test_a_token_that_changes_its_name_takes_the_score_of_the_choice() -> None:
    repaired, confidences = repair_bilou(["B-a", "I-b", "L-b"], [0.3, 0.9, 0.9])
    assert repaired == ["B-b", "I-b", "L-b"]
    # harmonic mean of average confidence 0.9 and share of tokens 0.67, in two digits
    assert confidences == [0.77, 0.9, 0.9]


TAG = st.sampled_from(["O"] + [prefix + name for prefix in ("B-", "I-", "L-", "U-") for name in "ab"])


@given(st.lists(TAG, max_size=8))
def test_repaired_tags_have_no_beginning_without_an_end(predicted: list[str]) -> None:
    repaired, _ = repair_bilou(predicted, [0.5] * len(predicted))
    assert [tag == "O" for tag in repaired] == [tag == "O" for tag in predicted]
    for index, tag in enumerate(repaired):
        if prefix_of(tag) == "B-":
            following = repaired[index + 1]
            assert prefix_of(following) in {"I-", "L-"}
            assert name_of(following) == name_of(tag)


def test_entities_join_over_one_character_and_over_three_where_commas_do_not_split() -> None:
    column = {"entity": TagColumn(["address"] * 4, [0.9, 0.8, 0.7, 0.6])}
    split = read_entities(ADDRESS, column, split_by_comma=True)  # type: ignore[arg-type]  # a literal key, as a str
    assert [(entity.start, entity.end, entity.confidence) for entity in split] == [(0, 16, 0.7), (19, 22, 0.6)]
    joined = read_entities(ADDRESS, column, split_by_comma={"address": False})  # type: ignore[arg-type]  # the same
    assert [(entity.start, entity.end) for entity in joined] == [(0, 22)]


def test_another_role_begins_a_new_entity() -> None:
    tokens = Tokens(("Rome", "Paris"), ((0, 4), (5, 10)))
    found = read_entities(
        tokens,
        {"entity": TagColumn(["city", "city"], [1.0, 1.0]), "role": TagColumn(["from", "to"], [0.5, 0.6])},
        split_by_comma=True,
    )
    assert [(entity.role, entity.role_confidence) for entity in found] == [("from", 0.5), ("to", 0.6)]
