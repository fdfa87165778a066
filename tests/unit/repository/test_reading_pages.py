"""Pages that people read, held against the code: each gate is explained, the glossary is in order, the example runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from documentation import ROOT, as_html, fences, pages
from report_builder import example, report, story
from tools.count_words import MOST, counts, words

from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import METRICS, known_metric
from turncheck.comparison.model import Missing
from turncheck.evaluations.turns import TURN_FIGURES
from turncheck.render.wording.gates import judge
from turncheck.report.codec import json_of
from turncheck.report.model import COVERAGE_KINDS
from turncheck.settings.declared import options

WHY = (ROOT / "docs" / "result.md").read_text("utf-8")
ALWAYS = (
    "could-be-run",
    "consistent-tests",
    "something-was-tested",
    "completed",
    "thresholds",
    "max-regression",
    "require",
)


def test_every_gate_has_its_section() -> None:
    named = {
        name for heading in re.findall(r"^### (.*)$", WHY, re.MULTILINE) for name in re.findall(r"`([^`]+)`", heading)
    }

    assert named == {*options()["fail-on"].choices, *ALWAYS, "fail-on-warnings"} - {"auto", "none"}


def test_the_glossary_is_in_order() -> None:
    words = re.findall(r"^\| \*\*(.*?)\*\*", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)

    assert len(words) > 30
    assert words == sorted(words, key=str.casefold)


def test_every_metric_is_named_in_a_table_and_every_name_there_is_one() -> None:
    begins = {name.partition(".")[0] for name in TURN_FIGURES}
    sections = "|".join({"validation", *begins, *(metric.section for metric in METRICS)})
    named = set()
    for page in (ROOT / "docs").glob("*.md"):
        rows = re.findall(rf"^\| (`(?:{sections})[.\[].*?) \|", page.read_text("utf-8"), re.MULTILINE)
        for row in rows:
            name = ""
            for written in re.findall(r"`([^`]+)`", row):
                name = (
                    name.rpartition(".")[0] + written if written.startswith(".") else written
                )  # `.recall` of the same
                named.add(name)
    known = {name: known_metric(name) for name in named}

    assert [name for name, metric in known.items() if metric is None] == []
    assert [metric.pattern.pattern for metric in METRICS if metric not in known.values()] == [r"plugin\..+"]
    assert named >= {f"coverage.{kind}" for kind in COVERAGE_KINDS}


def test_the_example_that_reads_a_run_reads_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (shown,) = [fence.text for fence in fences(ROOT / "docs" / "report.md") if fence.language == "python"]
    measured = report(examples=[example("hello", "greet")], stories=[story("the hours", "a!b")])
    compared = compare(measured, Missing("first run"))
    written = {"report": measured, "verdict": judge(measured, compared, measured.settings), "comparison": compared}
    (tmp_path / "results").mkdir()
    for name, document in written.items():
        (tmp_path / "results" / f"{name}.json").write_bytes(json_of(document))
    monkeypatch.chdir(tmp_path)

    exec(compile(shown, "report.md", "exec"), {})  # noqa: S102  # the page's own example
    printed = capsys.readouterr().out

    assert "the hours " in printed
    assert "failed " in printed
    assert "nlu.intents.f1 None " in printed


def test_the_pages_are_no_longer_than_people_read() -> None:
    assert words("# One\n\nTwo `three`.\n\n    code here\n\n```sh\ncode\n```\n<!-- x -->\nmade\n<!-- /x -->\n") == 3
    assert sum(counts().values()) <= MOST


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_no_row_stands_outside_its_table(page: Path) -> None:
    """An empty line ends a table: the rows after it are shown as text with bars."""
    begins = [paragraph.text or "" for paragraph in as_html(page.read_text("utf-8")).xpath("//p")]

    assert [text for text in begins if text.startswith("| ")] == []
