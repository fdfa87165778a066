"""The example of a Kore.ai assistant: whole commands on an export with suites, as its README says."""

from __future__ import annotations

from pathlib import Path

from turncheck.cli import run_command_line
from turncheck.report.codec import decode
from turncheck.report.model import Report

EXAMPLE = Path(__file__).parents[2] / "examples" / "bike_workshop"


def measured(out: Path) -> Report:
    assert run_command_line(["run", str(EXAMPLE), "--out", str(out), "--baseline", "none", "-q"]) == 0
    return decode((out / "report.json").read_bytes())


def test_it_is_understood_and_its_suites_pass(tmp_path: Path) -> None:
    report = measured(tmp_path / "out")
    assert report.project.kind == "kore"
    assert report.validation is not None
    assert report.validation.findings == ()
    assert report.nlu is not None
    assert report.nlu.intents is not None
    assert report.nlu.intents.f1 > 0.9
    assert report.batch is not None
    assert [(suite.name, suite.not_evaluated) for suite in report.batch.suites] == [("everyday", 0), ("repairs", 0)]
    assert report.batch.passed == 16
    assert report.batch.coverage is not None
    assert set(report.batch.kinds) == {"dialog", "faq", "small_talk", "trait"}


def test_training_sentences_cover_intents_without_any_suite(tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    bot.mkdir()
    (bot / "botDefinition.json").write_bytes((EXAMPLE / "botDefinition.json").read_bytes())
    run_command_line(["run", str(bot), "--out", str(tmp_path / "out"), "--baseline", "none", "-q"])
    coverage = decode((tmp_path / "out" / "report.json").read_bytes()).coverage
    assert coverage["intents"].share == 1.0
    assert {"Rent Bike", "Where is the workshop?", "thank you"} < {one.name for one in coverage["intents"].items}
    assert all(one.location.path == "botDefinition.json" and one.location.line for one in coverage["intents"].items)
    assert {one.name for one in coverage["entities"].items if not one.covered} == {"Day"}
    (bot / "tests").mkdir()
    (bot / "tests" / "one.csv").write_text("input,intent\nrent me a bike,Rent Bike\n", encoding="utf-8")
    only = ["run", str(bot), "--evaluations", "batch", "--out", str(tmp_path / "one"), "--baseline", "none", "-q"]
    run_command_line(only)
    coverage = decode((tmp_path / "one" / "report.json").read_bytes()).coverage
    assert [one.name for one in coverage["intents"].items if one.covered] == ["Rent Bike"]


def test_a_change_is_compared_with_what_was_before(tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    bot.mkdir()
    (bot / "botDefinition.json").write_bytes((EXAMPLE / "botDefinition.json").read_bytes())
    arguments = ["run", str(bot), "--baseline"]
    assert run_command_line([*arguments, "none", "--out", str(tmp_path / "base")]) == 0
    text = (bot / "botDefinition.json").read_text(encoding="utf-8")
    moved = text.replace('"sentence": "rent a bike for three days"', '"sentence": "please fix my brakes now"')
    assert moved != text
    (bot / "botDefinition.json").write_text(moved, encoding="utf-8")
    run_command_line([*arguments, str(tmp_path / "base" / "report.json"), "--out", str(tmp_path / "head")])
    comment = (tmp_path / "head" / "comment.md").read_text(encoding="utf-8")
    assert "please fix my brakes now" in comment
    assert "Rasa" not in comment
