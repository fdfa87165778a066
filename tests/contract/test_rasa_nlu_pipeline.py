"""The embedded pipeline against what real Rasa 3.6.21 predicted with deterministic pipelines (``tests/oracle/nlu``).

Two more cases are of public bots; they are read from ``../shared`` beside the checkout.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden

from turncheck.engines.embedded.nlu.batch import WhitespaceTokenizer
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import UserError
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from turncheck.engines.conversation import Parse, PredictedEntity

ORACLE = Path(__file__).parent.parent / "oracle" / "nlu"
BOTS = Path(__file__).parents[2] / ".." / "shared" / "oracle" / "nlu"

OWN_CASES = [
    "fallback",
    "keyword_regex",
    "lr_crf_travel",
    "multi_intent",
    "no_crf_two_extractors",
    "response_selector",
    "roles_groups",
]
BOT_CASES = ["lr_crf_helpdesk", "lr_crf_init"]


def recorded_and_ours(case: Path) -> list[tuple[dict[str, Any], Parse]]:
    """Train on what Rasa trained on; pair each recorded prediction with ours. Texts Rasa crashed on are left out."""
    expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    split = case / "expected" / "train_test_split" / "training_data.yml"
    project = read_project(case / "project", data=[split] if case.name in BOT_CASES else None)
    engine = EmbeddedNluTrainer().fit(project)
    recorded = [prediction for prediction in expected["predictions"] if "exception" not in prediction]
    return list(zip(recorded, engine.parse([prediction["text"] for prediction in recorded]), strict=True))


def their_entity(entity: dict[str, Any]) -> tuple[Any, ...]:
    keys = ("start", "end", "entity", "role", "group", "value", "extractor", "processors")
    return tuple(entity.get(key) for key in keys)


def our_entity(entity: PredictedEntity) -> tuple[Any, ...]:
    processors = entity.extra.get("processors")
    return (
        entity.start, entity.end, entity.entity, entity.role, entity.group, entity.value, entity.extractor, processors,
    )  # fmt: skip


def assert_same_answers(case: Path) -> None:
    for recorded, ours in recorded_and_ours(case):
        text = recorded["text"]
        assert ours.intent.name == recorded["intent"]["name"], text
        assert ours.intent.confidence == pytest.approx(recorded["intent"]["confidence"], abs=0.02), text
        assert len(ours.ranking) == recorded["intent_ranking_length"], text
        assert [our_entity(entity) for entity in ours.entities] == list(map(their_entity, recorded["entities"])), text
        assert ours.tokens == tuple(map(tuple, recorded["text_tokens"])), text


@pytest.mark.parametrize("name", OWN_CASES)
def test_intents_entities_and_tokens_are_those_of_rasa(name: str) -> None:
    assert_same_answers(ORACLE / name)


@pytest.mark.parametrize("name", BOT_CASES)
def test_intents_entities_and_tokens_of_public_bots_are_those_of_rasa(name: str) -> None:
    if not (BOTS / name).is_dir():
        pytest.skip("the public bots are not part of the repository; they are read from ../shared")
    assert_same_answers(BOTS / name)


@pytest.mark.parametrize(
    ("table", "tokenizer"),
    [
        ("default", WhitespaceTokenizer()),
        ("token_pattern", WhitespaceTokenizer(re.compile(r"(?u)\b\w+\b"))),
    ],
)
def test_tokens_are_those_of_rasa_in_every_edge_case(table: str, tokenizer: WhitespaceTokenizer) -> None:
    rows = json.loads((ORACLE / "table_tokenizer" / "expected.json").read_text(encoding="utf-8"))[table]
    assert rows
    for row in rows:
        tokens = tokenizer.tokenize(row["text"])
        ours = [(word, *span) for word, span in zip(tokens.words, tokens.spans, strict=True)]
        assert ours == [(token["text"], token["start"], token["end"]) for token in row["tokens"]], row["text"]


def test_what_rasa_refuses_to_train_is_refused_with_the_place(golden: Golden) -> None:
    project = read_project(ORACLE / "sklearn_sparse_only" / "project")
    with pytest.raises(UserError) as refused:
        EmbeddedNluTrainer().fit(project)
    golden(refused.value)
    assert refused.value.location is not None
    assert refused.value.location.path == "config.yml"
    assert refused.value.location.line is not None


def test_a_response_selector_answers_with_the_keys_of_its_data() -> None:
    answers = list(recorded_and_ours(ORACLE / "response_selector"))
    assert len(answers) > 5
    for recorded, ours in answers:
        assert set(ours.responses) == set(recorded["response_selector_keys"]) - {"all_retrieval_intents"}
        assert all((choice.intent_response_key or "").count("/") == 1 for choice in ours.responses.values())
