"""Batch suites as an evaluation of a run: gates, comparison, documents."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from report_builder import batch, report, suite
from test_batch_command import CITY, CONFIG, DATA, RIGHT, WRONG, write

from turncheck.cli import run_command_line
from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import metric_of, metrics_of
from turncheck.comparison.model import Missing, Present
from turncheck.messages.errors import UserError
from turncheck.render.annotations import find_annotations
from turncheck.render.junit import render_junit
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment, render_summary
from turncheck.render.wording.gates import judge
from turncheck.render.wording.verdict import Verdict
from turncheck.report.codec import decode, encode
from turncheck.report.model import GateSettings, Report

EXPORTS = Path(__file__).parents[2] / "oracle" / "kore" / "exports"


def with_suites(*suites: Any, by_stand_in: bool = False) -> Report:
    return replace(report(), batch=batch(*suites, by_stand_in=by_stand_in))


def verdict_of(head: Report, base: Report | None = None, **settings: Any) -> Verdict:
    compared = compare(head, Missing("none") if base is None else Present(base, "git"))
    return judge(head, compared, GateSettings(**settings))


SMOKE = suite("smoke", ("a", True), ("b", False), ("c", True), ("d", True))


def test_figures_have_names_of_all_suites_and_of_each() -> None:
    metrics = metrics_of(with_suites(SMOKE, suite("bank", ("a", True))))
    assert metrics["batch.intent_success"].value == pytest.approx(0.8)
    assert metrics["batch[smoke].intent_success"].value == pytest.approx(0.75)
    assert metrics["batch[bank].f1"].value == 1.0
    assert metrics["batch.failed"].better == "lower"
    with pytest.raises(UserError):
        metric_of("batch.suites[x].f1")


def test_failed_cases_fail_a_run_unless_a_stand_in_judged_them() -> None:
    by_name = {gate.name: gate for gate in verdict_of(with_suites(SMOKE)).gates}
    assert by_name["test-failures"].outcome == "failed"
    assert by_name["test-failures"].reason == "1 of 4 batch cases failed"
    tolerated = {gate.name: gate for gate in verdict_of(with_suites(SMOKE, by_stand_in=True)).gates}
    assert tolerated["test-failures"].outcome == "passed"
    assert "1 batch case failed" in tolerated["test-failures"].reason


def test_failed_cases_of_a_stand_in_fail_a_run_that_asks_for_it() -> None:
    made = with_suites(SMOKE, by_stand_in=True)
    asked = verdict_of(made, batch_failures="fail")
    (gate,) = [gate for gate in asked.gates if gate.name == "test-failures"]
    assert (gate.outcome, gate.reason) == ("failed", "1 of 4 batch cases failed")
    assert [cause.what for cause in gate.failed_by] == ["batch case b"]
    assert not asked.passed
    by_itself = replace(made, settings=GateSettings(batch_failures="fail"))
    marked = find_annotations(by_itself, compare(by_itself, Missing("none")))
    assert [one.level for one in marked if (one.path or "").endswith("faq.json")] == ["error"]


def test_a_run_that_passes_says_how_many_cases_failed(golden: Golden) -> None:
    passed = verdict_of(with_suites(SMOKE, by_stand_in=True))
    assert passed.passed
    golden(passed.summary)


def test_thresholds_regressions_and_new_failures_judge_a_stand_in_too() -> None:
    head, base = with_suites(SMOKE, by_stand_in=True), with_suites(suite("smoke", *((n, True) for n in "abcd")))
    rules = {
        "thresholds": ("batch.intent_success >= 0.9", "batch[smoke].f1 >= 0.85"),
        "max_regression": ("batch.passed: 0",),
        "fail_on": ("new-failures",),
    }
    failed = {gate.name: gate for gate in verdict_of(head, base, **rules).gates if gate.outcome == "failed"}
    assert {"new-failures", "threshold: batch.intent_success >= 0.9"} <= failed.keys() | {
        f"threshold: {name.partition(': ')[2]}" for name in failed
    }
    assert [cause.what for cause in failed["new-failures"].failed_by] == ["batch case b"]
    without_base = verdict_of(with_suites(SMOKE, by_stand_in=True), fail_on=("new-failures",))
    assert not without_base.passed


def test_the_comparison_is_by_text_and_expectation_with_significance() -> None:
    base = with_suites(suite("smoke", *((f"u{n}", True) for n in range(40))))
    head = with_suites(suite("smoke", *((f"u{n}", n >= 12) for n in range(40))))
    compared = compare(head, Present(base, "git"))
    assert len(compared.batch.worse) == 12
    metric = compared.metric("batch[smoke].intent_success")
    assert metric is not None
    assert metric.significance is not None
    assert (metric.significance.method, metric.significance.changed, metric.judgement) == ("mcnemar", 12, "worse")
    one = with_suites(suite("smoke", *((f"u{n}", n != 1) for n in range(40))))
    noise = compare(one, Present(base, "git")).metric("batch.f1")
    assert noise is not None
    assert noise.judgement == "noise"


def test_cases_that_are_gone_are_told() -> None:
    base = with_suites(SMOKE)
    compared = compare(with_suites(suite("smoke", ("a", True))), Present(base, "git"))
    assert {case.name for case in compared.batch.gone} == {"b", "c", "d"}


def test_every_document_has_the_failed_case_with_its_place() -> None:
    made = with_suites(SMOKE)
    compared = compare(made, Missing("none"))
    verdict = judge(made, compared, GateSettings())
    for render in (render_comment, render_summary):
        text = str(render(made, compared, verdict, Links()).content)
        assert "batch case `b`: expected `faq`, got `other`" in text
        assert "suites/faq.json:2" in text
        assert "Batch suites (1)" in text
    junit = render_junit(made, compared, verdict, Links()).encoded.decode()
    assert 'tests="4"' in junit
    assert 'line="2"' in junit
    assert "expected 'faq', got 'other'" in junit or "expected faq, got other" in junit
    marked = [one for one in find_annotations(made, compared) if (one.path or "").endswith("suites/faq.json")]
    assert [(one.level, one.line) for one in marked] == [("error", 2)]
    stood_in = with_suites(SMOKE, by_stand_in=True)
    told = [
        one
        for one in find_annotations(stood_in, compare(stood_in, Missing("none")))
        if (one.path or "").endswith("faq.json")
    ]
    assert [one.level for one in told] == ["warning"]


def test_a_report_whose_totals_do_not_fit_its_cases_is_refused() -> None:
    made = with_suites(SMOKE)
    assert decode(encode(made)) == made
    assert made.batch is not None
    lying = replace(made, batch=replace(made.batch, passed=4, failed=0))
    with pytest.raises(UserError, match=r"batch\.passed"):
        decode(encode(lying))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "bot"
    (folder / "data").mkdir(parents=True)
    (folder / "config.yml").write_text(CONFIG)
    (folder / "domain.yml").write_text('version: "3.1"\nintents: [greet, order_tea, book]\nentities: [city]\n')
    (folder / "data" / "nlu.yml").write_text(DATA)
    return folder


def run(project: Path, *more: str) -> tuple[int, Report]:
    out = project.parent / "out"
    code = run_command_line(["run", str(project), "--out", str(out), "--baseline", "none", "--quiet", *more])
    return code, decode((out / "report.json").read_bytes())


def test_a_run_judges_the_suites_that_it_finds(project: Path) -> None:
    write(project / "tests" / "smoke.json", RIGHT, WRONG, CITY)
    code, made = run(project, "--evaluations", "batch")
    assert code == 0
    assert made.batch is not None
    assert made.batch.by_stand_in
    assert [(one.name, one.passed, one.failed) for one in made.batch.suites] == [("smoke", 2, 1)]
    assert run(project, "--evaluations", "batch", "--thresholds", "batch.intent_success >= 0.9")[0] == 1
    assert run(project, "--evaluations", "batch", "--batch", str(project / "tests" / "smoke.json"))[0] == 0


def test_a_project_whose_batch_cases_fail_fails_a_run_where_flag_or_file_ask_for_it(
    project: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    write(project / "tests" / "smoke.json", RIGHT, WRONG, CITY)
    assert run(project, "--evaluations", "batch")[0] == 0
    golden(capsys.readouterr().out, only="failed")
    assert run(project, "--evaluations", "batch", "--batch-failures", "fail")[0] == 1
    (project / "turncheck.yml").write_text("batch-failures: fail\n")
    assert run(project, "--evaluations", "batch")[0] == 1
    assert "1 of 3 batch cases failed" in capsys.readouterr().out


def test_a_suite_that_cannot_be_read_fails_the_run_at_its_place(project: Path) -> None:
    (project / "tests").mkdir()
    (project / "tests" / "bad.json").write_text('{"testCases": [{"input": "x", "intent": "A||B"}]}')
    code, made = run(project, "--evaluations", "validate,batch")
    assert code == 1
    (skipped,) = [one for one in made.skipped if one.evaluation == "batch"]
    assert skipped.fault
    assert str(skipped.location) == "tests/bad.json:1:42"
    assert made.validation is not None
    assert "suite-double-pipe" in {one.code for one in made.validation.findings}


def test_a_project_without_suites_says_nothing_of_them_unless_asked(project: Path) -> None:
    _, made = run(project, "--evaluations", "validate")
    assert not [one for one in made.skipped_to_report if one.evaluation == "batch" and one.no_tests]
    code, _ = run(project, "--require", "batch")
    assert code == 1


def test_data_validate_tells_what_is_wrong_with_suites(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "batch").mkdir()
    (project / "batch" / "a.csv").write_text("input,intent\nhello,gret\n")
    run_command_line(["data", "validate", "--project", str(project)])
    assert "suite-unknown-name" in capsys.readouterr().out


def test_a_suite_that_expects_a_disabled_faq_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(EXPORTS / "city_library", tmp_path / "bot")
    (tmp_path / "bot" / "tests").mkdir()
    (tmp_path / "bot" / "tests" / "a.csv").write_text(
        "input,intent\nis there wifi,Is there wireless internet?\nmy card,Report Lost Kard\n"
    )
    run_command_line(["data", "validate", "--project", str(tmp_path / "bot"), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    codes = {one["location"]["line"]: one["code"] for one in found if one["location"]["path"] == "tests/a.csv"}
    assert codes == {2: "suite-disabled-name", 3: "suite-unknown-name"}
