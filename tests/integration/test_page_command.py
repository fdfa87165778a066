"""`turncheck report render --html`: the page of one report, of several, and what is said where it cannot be made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden_texts import Golden
from pull_request import base_report, head_report
from report_builder import example, report, with_changes

from turncheck.cli import run_command_line
from turncheck.comparison.model import Missing, Present
from turncheck.conclude import conclude
from turncheck.publishing.files import write_all
from turncheck.render.links import Links
from turncheck.report.model import ProjectInfo


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a run of the pull request wrote."""
    monkeypatch.chdir(tmp_path)
    outcome = conclude(head_report(), Present(base_report(), "artifact"), Links())
    write_all(tmp_path / "results", outcome.renderings())
    return tmp_path / "results"


def test_the_page_is_made_again_from_the_documents(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["report", "render", "--html", "results", "--out", "again.html"]) == 0

    assert Path("again.html").read_bytes() == (results / "report.html").read_bytes()
    assert "Written: again.html" in capsys.readouterr().err


@pytest.mark.parametrize("named", ["results", "results/report.json"])
def test_all_files_are_made_again_with_the_base_of_their_run(results: Path, named: str, golden: Golden) -> None:
    assert run_command_line(["report", "render", named, "--out", "again"]) == 0

    for name in ("comment.md", "summary.md", "comparison.json", "verdict.json"):
        assert Path("again", name).read_bytes() == (results / name).read_bytes()

    (results / "baseline.json").unlink()
    assert run_command_line(["report", "render", named, "--out", "again"]) == 0
    assert '"status":"missing"' in Path("again/comparison.json").read_text("utf-8").replace(" ", "")
    golden(Path("again/comment.md").read_text("utf-8"), only="**No baseline")


def test_the_three_documents_are_enough(results: Path) -> None:
    (results / "baseline.json").unlink()

    assert run_command_line(["report", "render", "--html", "results/report.json", "--out", "again.html"]) == 0

    assert "now collide" in Path("again.html").read_text("utf-8")


def test_a_report_alone_is_shown_without_a_base_or_beside_a_named_one(results: Path) -> None:
    for name in ("comparison.json", "verdict.json"):
        (results / name).unlink()

    assert run_command_line(["report", "render", "--html", "results"]) == 0
    assert "now collide" not in Path("report.html").read_text("utf-8")
    named = ["--baseline", "results/baseline.json"]
    assert run_command_line(["report", "render", "--html", "results", *named, "--out", "new/page.html"]) == 0
    assert "now collide" in Path("new/page.html").read_text("utf-8")


def test_several_reports_are_one_page_with_an_overview(results: Path) -> None:
    calm = with_changes(report(examples=[example("hello", "greet")]), project=ProjectInfo(name="calm"))
    write_all(Path("other"), conclude(calm, Missing("first run"), Links()).renderings())

    assert run_command_line(["report", "render", "--html", "other", "results", "--out", "all.html"]) == 0

    page = Path("all.html").read_text("utf-8")
    assert re.findall(r'<th scope="row"><a href="#at-([a-z]+)"', page) == ["bank", "calm"]


@pytest.mark.parametrize("name", ["comparison.json", "verdict.json"])
def test_a_document_that_is_not_one_is_an_error_with_what_to_do(
    results: Path, name: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (results / name).write_text("{}", "utf-8")

    assert run_command_line(["report", "render", "--html", "results"]) == 2

    said = capsys.readouterr().err
    assert f"results/{name}" in said
    golden(said)
    assert not Path("report.html").exists()


def test_several_reports_without_html_are_a_mistake(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["report", "render", "results", "results"]) == 2
    assert "Add --html" in capsys.readouterr().err
