"""Splits of NLU data against those that real Rasa 3.6.21 made, example by example."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from turncheck.commands.split import needed_responses
from turncheck.evaluations.nlu.splits import _Message, split_as_rasa
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml, write_responses_yaml
from turncheck.project.reader import read_nlu, read_nlu_responses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.nlu_data import Example, NluData

ORACLE = Path(__file__).parent.parent / "oracle" / "nlu"
SHARED = Path(__file__).parents[3] / "shared" / "oracle" / "nlu"
MIXED = Path(__file__).parent / "recorded_nlu_split"
PUBLIC_BOTS = ("lr_crf_helpdesk", "lr_crf_init")


def cases() -> list[Any]:
    own = sorted(path.parent.parent.name for path in ORACLE.glob("*/expected/train_test_split"))
    absent = pytest.mark.skipif(not SHARED.is_dir(), reason="the recorded public bots are not beside this checkout")
    return [*(ORACLE / name for name in own), *(pytest.param(SHARED / name, marks=absent) for name in PUBLIC_BOTS)]


def read(path: Path) -> NluData:
    data, findings = read_nlu([path], path.parent)
    assert not [finding for finding in findings if finding.severity == "error"]
    return data


def contents(examples: Iterable[Example]) -> list[tuple[Any, ...]]:
    return [(one.intent, one.text, one.entities, one.metadata) for one in examples]


@pytest.mark.parametrize("case", cases(), ids=lambda path: path.name)
@pytest.mark.follows(
    page="rasa-cli", sentence="The split is the one that Rasa makes for the same seed, intent by intent."
)
def test_the_split_of_rasa_is_reproduced_example_by_example(case: Path, tmp_path: Path) -> None:
    source = case / "project" / "data" / "nlu.yml"
    data, responses = read(source), read_nlu_responses([source], source.parent)
    split = split_as_rasa(data.examples, responses, fraction=0.8, seed=42)
    recorded = case / "expected" / "train_test_split"
    assert contents(split.training) == contents(read(recorded / "training_data.yml").examples)
    assert contents(split.test) == contents(read(recorded / "test_data.yml").examples)


@pytest.mark.parametrize("fraction", [0.8, 0.5])
def test_metadata_responses_and_several_files_split_as_in_rasa(fraction: float) -> None:
    data, responses = read(MIXED / "data"), read_nlu_responses([MIXED / "data"], MIXED)
    split = split_as_rasa(data.examples, responses, fraction=fraction, seed=7)
    for examples, name in ((split.training, "training_data.yml"), (split.test, "test_data.yml")):
        recorded = MIXED / f"train_{fraction}" / name
        # Rasa writes the name of a synonym as a number here, which no reader takes, and gives the metadata of one block
        # of an intent to all its examples; texts, entities, order and the examples' own metadata are whole.
        theirs_read = read_nlu([recorded], MIXED)[0].examples
        assert [own_metadata(one) for one in examples] == [own_metadata(one) for one in theirs_read]
        theirs = read_nlu_responses([recorded.with_name(f"nlg_{name}")], MIXED)
        ours = [
            (one.name, [dict(each.content) for each in one.variations]) for one in needed_responses(examples, responses)
        ]
        assert ours == [(one.name, [dict(each.content) for each in one.variations]) for one in theirs.values()]


def own_metadata(example: Example) -> tuple[Any, ...]:
    return example.intent, example.text, example.entities, (example.metadata or {}).get("example")


def table() -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ORACLE / "table_split" / "expected.json").read_text(encoding="utf-8"))
    return content


def test_messages_have_the_fingerprints_that_rasa_gives_them() -> None:
    data = read(ORACLE / "table_split" / "project" / "data" / "nlu.yml")
    ours = [(one.text, _Message(one, None).fingerprint) for one in data.examples]
    assert ours == [(row["text"], row["fingerprint"]) for row in table()["messages"]]


@pytest.mark.parametrize(
    "recorded", table()["splits"], ids=lambda row: f"{row['training_fraction']}-{row['random_seed']}"
)
def test_every_fraction_and_seed_gives_rasas_lists_in_rasas_order(recorded: dict[str, Any]) -> None:
    data = read(ORACLE / "table_split" / "project" / "data" / "nlu.yml")
    split = split_as_rasa(data.examples, {}, fraction=recorded["training_fraction"], seed=recorded["random_seed"])
    for ours, theirs in ((split.training, recorded["train"]), (split.test, recorded["test"])):
        assert [(one.intent, one.text) for one in ours] == [(row["intent"], row["text"]) for row in theirs]
    enough = "There aren't enough intent examples"
    assert any(enough in text for text in recorded["warnings"]) == any("too few" in text for text in split.warnings)


@pytest.mark.parametrize("case", cases(), ids=lambda path: path.name)
def test_the_writer_writes_what_rasa_writes(case: Path) -> None:
    for name in ("training_data.yml", "test_data.yml"):
        recorded = (case / "expected" / "train_test_split" / name).read_text(encoding="utf-8")
        ours = write_nlu_yaml(read(case / "expected" / "train_test_split" / name))
        # Synonyms that annotations imply come in another order when they are read again.
        assert ours.partition("- synonym")[0] == recorded.partition("- synonym")[0]
        assert sorted(ours.splitlines()) == sorted(recorded.splitlines())
    responses = case / "expected" / "train_test_split" / "nlg_training_data.yml"
    read_back = read_nlu_responses([responses], responses.parent).values()
    assert write_responses_yaml(read_back) == responses.read_text(encoding="utf-8")
