"""What has another name is neither new nor removed, whatever else of it changed; data may keep the old name."""

from __future__ import annotations

from pathlib import Path

import pytest
from judged_changes import WORKSHOP, Edit, Repository, edited

C, D, N, R, T = "config.yml", "domain.yml", "data/nlu.yml", "data/rules.yml", "tests/test_stories.yml"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


# --- a name that was written otherwise, and sentences with it --------------------------------------------------------

EDITED = ("rent a bicycle", "take one for a day", "how much is a tandem")
INTENT: list[Edit] = [
    (D, "- rent\n", "- rents\n"),
    *((name, "intent: rent\n", "intent: rents\n") for name in (N, R, T)),
    *((N, f"- {one}", f"- {one.title()}") for one in EDITED),
]
ENTITY: list[Edit] = [(D, "- part\n", "- parts\n"), (N, "](part)", "](parts)")]
RENAMED: dict[str, tuple[list[Edit], set[tuple[str, str, str]]]] = {
    "an intent whose sentences were edited": (INTENT, {("intents", "rent", "rents")}),
    "an entity": (ENTITY, {("entities", "part", "parts")}),
    "an entity whose sentences were edited": (
        [*ENTITY, (N, "- my [saddle]", "- My [saddle]"), (N, "- the [chain]", "- The [chain]")],
        {("entities", "part", "parts")},
    ),
}


@pytest.mark.parametrize("what", RENAMED)
def test_what_has_another_name_is_neither_new_nor_removed(repository: Repository, what: str) -> None:
    edits, renamed = RENAMED[what]

    judged = repository.judged({}, edited(WORKSHOP, *edits))

    found = {(one["kind"], one["old"], one["new"]) for one in judged.comparison["renamed"]}
    assert renamed <= found
    for kind in ("intents", "entity_types"):
        assert judged.comparison[kind] == {"added": [], "removed": []}
    named = {f"`{old}` is called `{new}` now" for kind, old, new in found if kind in {"intents", "entities"}}
    assert all(words in judged.comment for words in named)
    new = {one["name"] for one in judged.comparison["changed_items"] if one["change"] == "added"}
    assert not new & {name for _, _, name in renamed}


# --- rules under the names of what they are about --------------------------------------------------------------------

OUT, BOTH, LENT = (
    "- rule: hand one out\n  steps:\n  - intent: rent\n  - action: utter_rent\n",
    "- rule: hand one out, and say so\n  steps:\n  - intent: rent\n  - action: utter_rent\n  - action: utter_greet\n",
    [
        *((name, "utter_rent", "utter_lend") for name in (D, R, T)),
        (D, "- rent\n", "- lend\n"),
        *((name, "intent: rent\n", "intent: lend\n") for name in (N, R, T)),
    ],
)
NAMED_FOR_IT: dict[str, tuple[list[Edit], list[Edit], list[str]]] = {
    "with the intent": ([], [*LENT, (R, "hand one out", "lend one")], []),
    "two with the intent": ([(R, OUT, OUT + BOTH)], [*LENT, (R, "hand one out", "lend one")], []),
    "one of two": ([(R, OUT, OUT + BOTH)], [*LENT, (R, "out, and say so", "out, so say")], []),
    "it is gone": ([(R, OUT, OUT + BOTH)], [(R, BOTH, ""), *LENT], ["hand one out, and say so"]),
    "it does something else": (
        [],
        [*LENT, (R, "hand one out", "lend one"), (R, "action: utter_lend", "action: utter_greet")],
        ["hand one out"],
    ),
}


@pytest.mark.parametrize("how", NAMED_FOR_IT)
def test_a_rule_renamed_with_its_intent_is_not_gone(repository: Repository, how: str) -> None:
    before, after, removed = NAMED_FOR_IT[how]
    base = edited(WORKSHOP, *before)

    judged = repository.judged(base, edited(base, *after))

    assert [one["name"] for one in judged.comparison["removed_items"] if one["kind"] == "rules"] == removed
    added = [one["name"] for one in judged.comparison["changed_items"] if one["change"] == "added"]
    assert ("lend one" in added) is bool(removed and not how.endswith("gone"))


# --- renamed in the domain only --------------------------------------------------------------------------------------

IN_DOMAIN: dict[str, list[Edit]] = {
    "an entity": [(D, "- part\n", "- parts\n")],
    "an intent": [(D, "- rent\n", "- rents\n")],
    "both": [(D, "- part\n", "- parts\n"), (D, "- rent\n", "- rents\n")],
}


@pytest.mark.parametrize("what", IN_DOMAIN)
def test_data_that_keep_an_old_name_did_not_change(repository: Repository, what: str) -> None:
    judged = repository.judged({}, edited(WORKSHOP, *IN_DOMAIN[what]))

    assert judged.new_errors
    for kind in ("stripped", "cut_intents", "relabelled", "newly_judged"):
        assert judged.comparison[kind] == []


def test_annotations_of_which_some_have_the_new_name_are_the_same(repository: Repository) -> None:
    change = edited(WORKSHOP, (D, "- part\n", "- parts\n"), (N, "[saddle](part)", "[saddle](parts)"))

    judged = repository.judged({}, change)

    assert judged.comparison["stripped"] == []


def test_annotations_of_a_renamed_entity_can_be_lost(repository: Repository) -> None:
    change = edited(WORKSHOP, (D, "- part\n", "- parts\n"), (N, "[saddle](part)", "saddle"))

    judged = repository.judged({}, change)

    assert [one["annotations"] for one in judged.comparison["stripped"]] == [1]


# --- components under the names of Rasa 0 -----------------------------------------------------------------------------

SINCE_RASA_1 = "- name: WhitespaceTokenizer\n- name: SpacyNLP\n- name: KeywordIntentClassifier\n"
RASA_0 = "- name: tokenizer_whitespace\n- name: nlp_spacy\n- name: intent_classifier_keyword\n"
OTHERWISE_NAMED = {
    "newer names": (RASA_0, SINCE_RASA_1),
    "older names": (SINCE_RASA_1, RASA_0),
    "one older name": (SINCE_RASA_1, SINCE_RASA_1.replace("SpacyNLP", "nlp_spacy")),
}


@pytest.mark.parametrize("which", OTHERWISE_NAMED)
def test_a_component_under_another_name_is_the_same(repository: Repository, which: str) -> None:
    base, change = ({C: f"language: en\npipeline:\n{one}policies: []\n"} for one in OTHERWISE_NAMED[which])

    judged = repository.judged(base, change)

    assert judged.comparison["unseen_changes"] == judged.comparison["changed_components"] == []


# --- renamed in the training data only -------------------------------------------------------------------------------

IN_DATA: dict[str, tuple[list[Edit], str]] = {
    "its sentences have another name": ([(N, "intent: rent\n", "intent: rents\n")], "to 'rents'"),
    "and one of them is gone": (
        [(N, "intent: rent\n", "intent: rents\n"), (N, "    - take one for a day\n", "")],
        "to 'rents'",
    ),
    "they are gone": ([(N, "intent: rent\n", "intent: rents\n"), *((N, one, f"mend {one}") for one in EDITED)], ""),
    "another intent that was there has them": ([(N, "- intent: rent\n  examples: |\n", "")], ""),
}


@pytest.mark.parametrize("what", IN_DATA)
def test_where_the_examples_of_an_intent_went_is_said(repository: Repository, what: str) -> None:
    edits, to = IN_DATA[what]

    judged = repository.judged({}, edited(WORKSHOP, *edits))

    (error,) = [one for one in judged.comparison["new_findings"] if one["code"] == "intent-without-examples"]
    assert error["severity"] == "error"
    assert error["message"].partition(" in this")[0].endswith(f"examples {to}".rstrip())
