"""`turncheck explain`: one thing of a run, in at most eight kilobytes, whatever the run has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from pull_request import LINKS, pull_request
from report_builder import BASE_COMMIT, example, finding, report, story, training

from turncheck.cli import run_command_line
from turncheck.commands.explain import MOST_BYTES, shown_within
from turncheck.comparison.compare import compare, shown_beside_base
from turncheck.comparison.model import Present, encode
from turncheck.messages.finding import Location
from turncheck.render.assistants import Run
from turncheck.render.explained import explain, names_in
from turncheck.render.wording.gates import judge
from turncheck.report.codec import encode as encode_report
from turncheck.report.model import Report


def run_of(head: Report, base: Report) -> Run:
    comparison = compare(head, Present(base, "git"))
    return Run(shown_beside_base(head, comparison), comparison, judge(head, comparison, head.settings), LINKS)


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The results of a pull request."""
    made, comparison, verdict = pull_request()
    (tmp_path / "results").mkdir()
    for name, content in (
        ("report", encode_report(made)),
        ("comparison", encode(comparison)),
        ("verdict", encode(verdict)),
    ):
        (tmp_path / "results" / f"{name}.json").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_everything_that_a_run_names_is_explained_within_the_limit() -> None:
    made, comparison, verdict = pull_request()
    run = Run(shown_beside_base(made, comparison), comparison, verdict, LINKS)
    names = names_in(run)
    assert len(names) > 15

    for name in names:
        found = explain(run, name)
        assert found is not None, name
        assert found.page.startswith("https://")
        for as_json in (False, True):
            assert len(shown_within(found, as_json=as_json).encode()) <= MOST_BYTES


def test_a_story_that_newly_fails_says_what_was_expected_and_what_came(golden: Golden) -> None:
    base = report(examples=[example("a", "x")], stories=[story("pays", "utter_bill")], commit=BASE_COMMIT)
    head = report(examples=[example("a", "x")], stories=[story("pays", "utter_bill!utter_greet")])

    found = explain(run_of(head, base), "pays")

    assert found is not None
    assert (found.kind, found.outcome, found.on_base) == ("story", "failed", "passed")
    golden(shown_within(found, as_json=False))


def test_findings_of_a_code_are_one_answer_and_new_ones_come_first() -> None:
    old, new = finding("code", "old thing", line=1), finding("code", "new thing", line=9)
    run = run_of(report(findings=[old, new]), report(findings=[old], commit=BASE_COMMIT))

    found = explain(run, "code")

    assert found is not None
    assert (found.why, found.on_base) == ("new thing", "not there")
    assert [near.what for near in found.others] == ["old thing"]
    at_its_place = explain(run, "domain.yml:1")
    assert at_its_place is not None
    assert at_its_place.why == "old thing"


@pytest.mark.parametrize("character", ["x", "é", "漢", "🍕", '"', "\x1b", "\u202e"])
def test_long_and_hostile_texts_fit_and_cannot_act(character: str) -> None:
    text = character * 5_000
    sentences = training(*((f"{text}{number}", "greet") for number in range(100)))
    findings = [finding("code", f"{text}{number}", line=number + 1) for number in range(300)]
    base = report(findings=findings[:1], sentences=sentences, commit=BASE_COMMIT)
    run = run_of(report(findings=findings, sentences=sentences, stories=[story(text, f"{text}!{text}z")]), base)

    for name in ("code", text, *names_in(run)[:3]):
        found = explain(run, name)
        assert found is not None
        for as_json in (False, True):
            shown = shown_within(found, as_json=as_json)
            assert len(shown.encode()) <= MOST_BYTES
            assert not {"\x1b", "\u202e"} & set(shown)


def test_the_command_reads_what_a_run_wrote(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gates = [gate["name"] for gate in json.loads((written / "results" / "verdict.json").read_text())["gates"]]

    assert run_command_line(["explain", gates[0], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["subject"] == gates[0]
    assert run_command_line(["explain", gates[0], "--report", "results/report.json"]) == 0
    assert gates[0] in capsys.readouterr().out


@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("subject", ["nwe-failures", "", "no such thing at all", "\x1b[31m"])
def test_what_a_run_does_not_have_is_said_with_what_it_has(subject: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["explain", subject]) == 2
    told = capsys.readouterr().err
    assert len(told.splitlines()) == 2
    assert "\x1b" not in told


@pytest.mark.usefixtures("written")
def test_the_manual_answers_for_a_finding_that_a_run_does_not_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["explain", "lookup-entry-unseen"]) == 0
    assert "findings.html#lookup-entry-unseen" in capsys.readouterr().out


def test_without_a_run_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_command_line(["explain", "errors"]) == 2
    golden(capsys.readouterr().err)


def test_everything_that_a_verdict_names_is_explained(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    verdict = json.loads((written / "results" / "verdict.json").read_text())
    causes = [cause for gate in verdict["gates"] for cause in gate.get("failed_by", [])]
    assert len(causes) > 5

    for cause in causes:
        assert run_command_line(["explain", cause["what"], "--json"]) == 0, cause["what"]
        told = json.loads(capsys.readouterr().out)
        assert told["subject"] in cause["what"] or told["kind"] == "reason"


@pytest.mark.parametrize(
    "place", ["bot/tests/a.yml:4:7", "bot/tests/a.yml:4", "tests/a.yml:4:7", "tests/a.yml:4", "./bot\\tests\\a.yml:4"]
)
def test_a_place_is_found_as_any_output_prints_it(place: str) -> None:
    at = Location("tests/a.yml", 4, 7)
    fails = story("pays", "utter_bill!utter_greet")
    made = report(stories=[replace(fails, steps=tuple(replace(step, location=at) for step in fails.steps))])
    run = run_of(replace(made, project=replace(made.project, root="bot")), report(commit=BASE_COMMIT))

    found = explain(run, place)

    assert found is not None
    assert (found.subject, found.place) == ("pays", "bot/tests/a.yml:4:7")
    assert explain(run, "bot/tests/a.yml:5") is None


@pytest.mark.parametrize("name", ["pays", "story pays"])
def test_a_test_that_is_gone_is_explained(name: str) -> None:
    run = run_of(
        report(stories=[story("greets", "utter_greet")]),
        report(stories=[story("pays", "utter_bill"), story("greets", "utter_greet")], commit=BASE_COMMIT),
    )

    found = explain(run, name)

    assert found is not None
    assert (found.kind, found.outcome, found.on_base) == ("story", "gone", "passed")


@pytest.mark.parametrize("folders", [("a", "b"), ("bots/a", "bots/b"), ("a",)])
def test_of_several_assistants_one_has_to_be_named(
    written: Path, folders: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    own = written / "results"
    for folder in folders:
        (own / folder).mkdir(parents=True)
        for name in ("report", "comparison", "verdict"):
            (own / folder / f"{name}.json").write_bytes((own / f"{name}.json").read_bytes())
    for name in ("report", "comparison", "verdict"):
        (own / f"{name}.json").unlink()

    assert run_command_line(["explain", "new-failures"]) == 2
    told = capsys.readouterr().err
    assert all(f"--report results/{folder}" in told for folder in folders)
    assert run_command_line(["explain", "new-failures", "--report", f"results/{folders[0]}"]) == 0
