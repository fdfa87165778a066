"""What the manual of Rasa NLU 0.x says about its evaluation, sentence by sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from duckling_server import duckling
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.comparison.metrics import NotMeasured, find_metric, metrics_of
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

TRAINING = """\
## intent:pay
- pay [20 euro](amount-of-money)
- pay the bill in [Bonn](city)
- money for [Paris](city)
## intent:meet
- see me [tomorrow](time)
- meet in [Bonn](city)
- come to [Paris](city)
"""
TEST = """\
## intent:pay
- pay 20 euro in [Bonn](city)
## intent:meet
- see me in [Paris](city) from 3
- meet in [Bonn](city)
"""
PIPELINE = """\
language: en
pipeline:
- name: tokenizer_whitespace
- name: ner_crf
- name: ner_synonyms
- name: intent_classifier_keyword
- name: ner_duckling_http
"""
MATCHES = {
    "20 euro": ("amount-of-money", {"value": 20, "type": "value", "unit": "EUR"}),
    "from 3": ("time", {"value": "2025-01-01T15:00:00.000Z", "type": "value"}),
}


def answer(text: str) -> bytes:
    found = [
        {"body": part, "start": text.index(part), "end": text.index(part) + len(part), "dim": dim, "value": value}
        for part, (dim, value) in MATCHES.items()
        if part in text
    ]
    return json.dumps(found).encode()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.md").write_text(TRAINING)
    (tmp_path / "test.md").write_text(
        TEST.replace("20 euro", "[20 euro](amount-of-money)").replace("from 3", "[from 3](time)")
    )
    (tmp_path / "config.yml").write_text(PIPELINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(project: Path) -> Iterator[str]:
    with duckling() as running:
        running.answer_to = answer
        yield running.url


def judged(*flags: str, pipeline: str = "", data: str = "test.md") -> dict[str, Any]:
    if pipeline:
        Path("config.yml").write_text(PIPELINE + pipeline)
    assert run_command_line(["test", "nlu", "-d", data, "--no-plot", "--json", "report.json", *flags]) == 0
    return dict(json.loads(Path("report.json").read_text())["nlu"])


def table(printed: str, title: str) -> dict[str, list[str]]:
    """The rows of a printed table by their first word."""
    lines = printed[printed.index(f"{title}:") :].splitlines()[1:]
    rows = [line.split() for line in lines]
    end = next((number for number, line in enumerate(lines) if not line.startswith("  ")), len(lines))
    return {row[0]: row[1:] for row in rows[1:end]}


@pytest.mark.follows(
    page="rasa-0", sentence="Precision, recall and F1 of each intent are printed, with one summary for all intents."
)
def test_each_intent_is_printed_with_its_figures(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = judged()["intents"]["report"]
    rows = table(capsys.readouterr().out, "Each intent")
    assert set(rows) == {"pay", "meet", "weighted"}
    for name in ("pay", "meet"):
        figures = [f"{report[name][key]:.3f}" for key in ("precision", "recall", "f1-score")]
        assert rows[name] == [*figures, str(report[name]["support"])]


@pytest.mark.follows(
    page="rasa-0", sentence="Precision, recall and F1 of each entity type are printed, in a table for each extractor."
)
def test_each_entity_is_printed_in_a_table_of_its_extractor(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = judged()["entities"]["CRFEntityExtractor"]["report"]
    rows = table(capsys.readouterr().out, "Each entity by CRFEntityExtractor, by token")
    assert {"city", "time", "weighted"} <= set(rows)
    assert rows["city"][0] == f"{report['city']['precision']:.3f}"


@pytest.mark.follows(page="rasa-0", sentence="The tables are printed in cross-validation, too.")
def test_the_tables_are_printed_in_cross_validation(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    judged("--mode", "crossvalidation", "--folds", "2", "-c", "config.yml", data="data/nlu.md")
    printed = capsys.readouterr().out
    assert set(table(printed, "Each intent")) >= {"pay", "meet"}
    golden(printed, only="CRFEntityExtractor")


@pytest.mark.follows(page="rasa-0", sentence="The figures are also written to files, here even without `--report`.")
def test_the_figures_are_in_files_without_report(project: Path) -> None:
    nlu = judged()
    intents = json.loads(Path("reports/intent_report.json").read_text())
    assert intents["pay"]["support"] == nlu["intents"]["report"]["pay"]["support"]
    judged("--report", "mine")
    assert json.loads(Path("mine/intent_report.json").read_text()) == intents


@pytest.mark.follows(
    page="rasa-0", sentence="Each dimension that is set for Duckling is evaluated, in a table of its own."
)
def test_duckling_has_a_table_for_each_dimension(
    project: Path, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    entities = judged(pipeline=f"  url: {server}\n  dimensions: [time, amount-of-money, ordinal]\n")["entities"]
    named = {f"DucklingEntityExtractor ({one})" for one in ("time", "amount-of-money", "ordinal")}
    assert named < set(entities)
    printed = capsys.readouterr().out
    for name in named:
        assert f" by {name}, by token:" in printed
    assert set(entities["DucklingEntityExtractor (time)"]["report"]) >= {"time"}
    assert "city" not in entities["DucklingEntityExtractor (time)"]["report"]
    assert Path("reports/DucklingEntityExtractor_time_report.json").is_file()


@pytest.mark.follows(
    page="rasa-0", sentence="Without `dimensions`, all that Duckling knows are evaluated; here, only those that occur."
)
def test_without_dimensions_those_that_occur_have_a_table(project: Path, server: str) -> None:
    entities = judged(pipeline=f"  url: {server}\n")["entities"]
    assert {name for name in entities if name.startswith("Duckling")} == {
        "DucklingEntityExtractor",
        "DucklingEntityExtractor (amount-of-money)",
        "DucklingEntityExtractor (time)",
    }


@pytest.mark.follows(
    page="rasa-0",
    sentence="Duckling is not trained on the data: its figures leave out what it cannot know, such as a city.",
)
@pytest.mark.parametrize("dimensions", ["", "  dimensions: [time, amount-of-money]\n"])
def test_all_right_that_duckling_can_know_is_a_full_score(project: Path, server: str, dimensions: str) -> None:
    entities = judged(pipeline=f"  url: {server}\n{dimensions}")["entities"]
    for name, scores in entities.items():
        if name.startswith("Duckling"):
            assert scores["f1"] == scores["precision"] == scores["recall"] == scores["spans"]["f1"] == 1.0, name


@pytest.mark.parametrize(
    ("dimensions", "silent"),
    [
        ("time, amount-of-money, distance", ["DucklingEntityExtractor (distance)"]),
        ("distance", ["DucklingEntityExtractor", "DucklingEntityExtractor (distance)"]),
    ],
)
def test_a_dimension_without_anything_to_find_is_not_wrong(
    project: Path,
    server: str,
    dimensions: str,
    silent: list[str],
    capsys: pytest.CaptureFixture[str],
    *,
    golden: Golden,
) -> None:
    nlu = judged(pipeline=f"  url: {server}\n  dimensions: [{dimensions}]\n")
    printed = capsys.readouterr().out
    metrics = metrics_of(decode(Path("report.json").read_bytes()))
    for name, scores in nlu["entities"].items():
        for figure in ("precision", "recall", "f1", "spans"):
            assert (scores[figure] is None) == (name in silent), (name, figure)
        says_why = "not scored: the judged sentences have nothing for it to find\n"
        assert (f"Each entity by {name}, by token:\n  {says_why}" in printed) == (name in silent)
        assert "found no" not in printed
        for figure in ("f1", "spans.f1"):
            assert (f"nlu.entities.{name}.{figure}" in metrics) == (name not in silent)
    for name in silent:
        missing = find_metric(decode(Path("report.json").read_bytes()), metrics, f"nlu.entities.{name}.f1")
        assert isinstance(missing, NotMeasured)
        golden(missing.reason)


@pytest.mark.follows(
    page="rasa-0",
    sentence="An entity of the test data has the dimension's name; under any other name it counts as missed.",
)
def test_a_dimension_that_is_annotated_otherwise_is_missed(
    project: Path, server: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    Path("test.md").write_text(TEST.replace("from 3", "[from 3](when)"))
    nlu = judged(pipeline=f"  url: {server}\n  dimensions: [time]\n")
    assert nlu["entities"]["DucklingEntityExtractor (time)"]["f1"] == 0.0
    (remark,) = [remark for remark in nlu["remarks"] if "'when'" in remark]
    golden(remark)
    golden(capsys.readouterr().out, only="no judged sentence")


@pytest.mark.parametrize("name", ["time", "city"])
def test_a_name_that_duckling_gives_or_finds_elsewhere_is_not_remarked(project: Path, server: str, name: str) -> None:
    Path("test.md").write_text(TEST.replace("from 3", "[from 3](time)" if name == "time" else "from 3"))
    assert not [remark for remark in judged(pipeline=f"  url: {server}\n")["remarks"] if " gives " in remark]


@pytest.mark.follows(
    page="rasa-0", sentence="Each extractor has a table; if the extractor could not run, the table says why."
)
def test_an_extractor_that_was_not_run_has_a_table_that_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entities = judged()["entities"]
    assert not any(name.startswith("Duckling") for name in entities)
    printed = capsys.readouterr().out
    assert " by DucklingEntityExtractor, by token:\n  not run: " in printed


@pytest.mark.follows(page="rasa-0", sentence="The synonym mapper has no table, since it does not find entities.")
def test_synonyms_have_no_table(project: Path, server: str) -> None:
    entities = judged(pipeline=f"  url: {server}\n")["entities"]
    assert not any("Synonym" in name for name in entities)


@pytest.mark.follows(
    page="rasa-0", sentence="In newer projects Duckling is scored only with `--pretrained`, also by dimension."
)
def test_newer_projects_score_duckling_on_request(project: Path, server: str) -> None:
    Path("data/nlu.md").unlink()
    Path("test.md").unlink()
    nlu = ['version: "3.1"', "nlu:"]
    for intent, texts in {
        "pay": ["pay [20 euro](amount-of-money)", "pay in [Bonn](city)"],
        "meet": ["meet", "come"],
    }.items():
        nlu += [f"- intent: {intent}", "  examples: |", *(f"    - {text}" for text in texts)]
    Path("data/nlu.yml").write_text("\n".join([*nlu, ""]))
    new = PIPELINE.replace("tokenizer_whitespace", "WhitespaceTokenizer").replace("ner_crf", "CRFEntityExtractor")
    new = new.replace("- name: ner_synonyms\n", "").replace("intent_classifier_keyword", "KeywordIntentClassifier")
    new = new.replace("ner_duckling_http", "DucklingEntityExtractor")
    Path("config.yml").write_text(f"recipe: default.v1\n{new}  url: {server}\n")

    def extractors(*flags: str) -> set[str]:
        assert run_command_line(["test", "nlu", "--no-plot", "--json", "report.json", *flags]) == 0
        return set(json.loads(Path("report.json").read_text())["nlu"]["entities"])

    assert not any(name.startswith("Duckling") for name in extractors())
    assert "DucklingEntityExtractor (amount-of-money)" in extractors("--pretrained")
