"""The files of ``rasa test nlu`` from Rasa's own recorded predictions: every name, every key, every number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turncheck.engines.conversation import Parse, PredictedEntity, PredictedIntent
from turncheck.evaluations.nlu.judging import evaluate_held_out
from turncheck.project.model import Project
from turncheck.project.nlu_data import NluData
from turncheck.project.reader import read_nlu
from turncheck.render.rasa_files import nlu_files
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

ORACLE = Path(__file__).parent.parent / "oracle" / "nlu"
SHARED = Path(__file__).parents[3] / "shared" / "oracle" / "nlu"
OWN = (
    *("fallback", "keyword_regex", "lr_crf_travel", "multi_intent", "no_crf_two_extractors", "roles_groups"),
    "response_selector",
)
PUBLIC_BOTS = ("lr_crf_helpdesk", "lr_crf_init")
KNOWN_KEYS = {"entity", "start", "end", "value", "extractor", "role", "group", "confidence_entity"}


def cases() -> list[Any]:
    absent = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded public bots are not beside this checkout")
    return [*(ORACLE / name for name in OWN), *(pytest.param(SHARED / name, marks=absent) for name in PUBLIC_BOTS)]


class Recorded:
    """An engine that says what Rasa said to each text."""

    info = EngineInfo(name="recorded", version="3.6.21")
    extractors = ()

    def __init__(self, predictions: Sequence[dict[str, Any]]) -> None:
        self.answers = {row["text"]: parse_of(row) for row in predictions if "exception" not in row}

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        return [self.answers[text] for text in texts]


def parse_of(row: dict[str, Any]) -> Parse:
    ranking = tuple(PredictedIntent(entry["name"], entry["confidence"]) for entry in row.get("intent_ranking") or ())
    intent = PredictedIntent(row["intent"]["name"], row["intent"]["confidence"])
    tokens = tuple((start, end) for start, end in row["text_tokens"])
    return Parse(row["text"], intent, ranking, tuple(entity_of(one) for one in row["entities"]), tokens=tokens)


def entity_of(entity: dict[str, Any]) -> PredictedEntity:
    return PredictedEntity(
        start=entity["start"],
        end=entity["end"],
        entity=entity["entity"],
        value=entity["value"],
        extractor=entity["extractor"],
        role=entity.get("role"),
        group=entity.get("group"),
        confidence=entity.get("confidence_entity"),
        extra={key: value for key, value in entity.items() if key not in KNOWN_KEYS},
    )


@pytest.mark.parametrize("case", cases(), ids=lambda path: path.name)
def test_every_file_is_the_one_that_rasa_wrote(case: Path) -> None:
    recorded = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    data, _ = read_nlu([case / "test_data.yml"], case)
    engine = Recorded(recorded["predictions"])
    nlu = evaluate_held_out(Project(case, "bot"), engine, NluData(data.examples)).section
    ours = {file.name: file.encoded for file in nlu_files(nlu, successes=True) if not file.name.startswith("response")}
    theirs = {path.name: path.read_text(encoding="utf-8") for path in (case / "expected" / "results").iterdir()}
    theirs = {name: text for name, text in theirs.items() if not name.startswith("response")}
    assert ours.keys() == theirs.keys()
    for name, text in theirs.items():
        assert_same(json.loads(ours[name]), json.loads(text), name)
        if not name.endswith("_report.json"):
            assert ours[name].decode() == text, f"{name}: the same but for the order of keys or the layout"


def assert_same(ours: Any, theirs: Any, where: str) -> None:
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys(), where
        for key, value in theirs.items():
            assert_same(ours[key], value, f"{where}/{key}")
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for place, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_same(*pair, f"{where}/{place}")
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-13), where
    else:
        assert ours == theirs, where


def test_every_case_with_a_test_set_is_held_against() -> None:
    with_test_set = {path.parent.name for path in ORACLE.glob("*/test_data.yml")}
    assert with_test_set - {"sklearn_sparse_only"} == set(OWN)
