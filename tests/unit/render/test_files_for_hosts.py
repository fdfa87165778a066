"""What CI hosts read from files: code quality, OpenMetrics, links, SARIF; read by real readers where there are any."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hostile import HOSTILE
from jsonschema import Draft202012Validator
from msgspec.structs import replace
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from pull_request import LINKS, pull_request
from report_builder import finding, only_assistant, report

from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import MetricDelta
from turncheck.comparison.model import Comparison, Missing, Present
from turncheck.conclude import conclude
from turncheck.messages.finding import Location, Severity
from turncheck.messages.plain_text import one_line
from turncheck.render.annotations import render_job_annotations
from turncheck.render.findings import findings_commands, findings_text
from turncheck.render.gitlab_reports import render_code_quality, render_open_metrics
from turncheck.render.rendered import Rendered
from turncheck.report.model import Report
from turncheck.settings.parsers import OUTPUT_FORMATS

CODE_QUALITY = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1, "pattern": r"^[^\n]*$"},
            "check_name": {"type": "string", "pattern": r"^[a-z0-9-]+$"},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./|/|\.\./).+"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""GitLab's documented format ("Code Quality report format"), with what it asks of each value in words."""


def families(rendered: Rendered) -> list[Any]:
    return list(text_string_to_metric_families(rendered.encoded.decode()))  # type: ignore[no-untyped-call]


def entries(given: Report, comparison: Comparison | None = None) -> list[dict[str, Any]]:
    found = json.loads(render_code_quality(only_assistant(given, comparison)).encoded)
    Draft202012Validator(CODE_QUALITY).validate(found)
    assert len({one["fingerprint"] for one in found}) == len(found), "GitLab shows only the first of a fingerprint"
    return list(found)


def test_a_pull_request_has_its_findings_and_failed_tests_at_their_lines_worst_first() -> None:
    given, comparison, _ = pull_request()

    found = entries(given, comparison)

    severities = [one["severity"] for one in found]
    assert severities == sorted(severities, key=["major", "minor", "info"].index)
    kinds = {one["check_name"] for one in found}
    assert {"failed-story", "misclassified-sentence"} <= kinds
    assert {one["location"]["path"].split("/")[0] for one in found} == {given.project.root.split("/")[0]}


def test_fingerprints_stay_where_lines_move_and_differ_where_sentences_do() -> None:
    def with_line(*lines: int) -> Report:
        return report(findings=[finding("x", f"about {n}", line=line) for n, line in enumerate(lines)])

    before = [one["fingerprint"] for one in entries(with_line(3, 9))]

    assert [one["fingerprint"] for one in entries(with_line(5, 30))] == before


def test_the_same_remark_twice_in_a_file_is_two() -> None:
    twice = [finding("x", "the same", line=line) for line in (3, 9)]

    assert len(entries(report(findings=twice))) == 2


def test_what_belongs_to_no_file_stands_at_the_settings() -> None:
    found = entries(report(findings=[finding("x", "x", path="")], root="bots/bank"))

    assert found[0]["location"]["path"].startswith("bots/bank/")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_texts(text: str) -> None:
    given = report(findings=[finding("x", text)], name=text, root="")
    comparison = compare(given, Missing("none"))

    (found,) = entries(given, comparison)
    assert found["check_name"] == "x"
    samples = [
        sample
        for family in families(render_open_metrics(only_assistant(given, comparison)))
        for sample in family.samples
    ]
    assert len({sample.labels["assistant"] for sample in samples}) == 1


def test_a_number_sign_in_a_name_begins_no_comment_in_gitlabs_reader() -> None:
    given = report(name="C# bot", root="bots/c#")

    rendered = render_open_metrics(only_assistant(given)).encoded.decode("utf-8")

    samples = [line for line in rendered.splitlines() if not line.startswith("#")]
    assert samples
    assert all("#" not in line and "bots/c%23" in line for line in samples)


def test_metrics_are_what_a_reader_of_openmetrics_takes_and_have_every_value() -> None:
    given, comparison, _ = pull_request()

    rendered = render_open_metrics(only_assistant(given, comparison))
    samples = [sample for family in families(rendered) for sample in family.samples]
    assert len(samples) == len([one for one in comparison.metrics if one.value is not None])
    (f1,) = [one for one in samples if one.name == "turncheck_nlu_intents_f1" and "of" not in one.labels]
    assert f1.labels == {"assistant": given.project.root or given.project.name}
    value = comparison.metric("nlu.intents.f1")
    assert value is not None
    assert f1.value == pytest.approx(value.value, abs=5e-5)
    assert {one.labels["of"] for one in samples if one.name == "turncheck_nlu_intents_recall" and "of" in one.labels}


def test_a_count_of_millions_keeps_its_digits() -> None:
    given, comparison, _ = pull_request()
    many = MetricDelta(name="nlu.examples", better="neither", kind="count", value=1_234_567.0, base=None)

    rendered = render_open_metrics(only_assistant(given, msgspec.structs.replace(comparison, metrics=(many,))))

    (sample,) = [sample for family in families(rendered) for sample in family.samples]
    assert sample.value == 1_234_567


def test_the_job_links_to_the_results() -> None:
    given, comparison, verdict = pull_request()

    assistants = only_assistant(given, comparison, verdict, LINKS)
    (link,) = json.loads(render_job_annotations(assistants).encoded)["turncheck"]

    label = one_line(f"turncheck: {verdict.summary}", 200)
    assert link == {"external_link": {"label": label, "url": LINKS.artifact_url}}


def files(formats: tuple[Any, ...]) -> dict[str, Rendered]:
    given, comparison, _ = pull_request()
    del comparison
    return {one.name: one for one in conclude(given, Missing("none"), LINKS, formats=formats).documents()}


@pytest.mark.slow
def test_each_format_is_written_where_it_is_asked_for() -> None:
    always = set(files(()))

    assert set(files(OUTPUT_FORMATS)) - always == {
        "findings.sarif",
        "gl-code-quality-report.json",
        "metrics.txt",
        "gl-annotations.json",
    }
    assert set(files(("sarif",))) - always == {"findings.sarif"}


def test_sarif_of_a_run_has_failed_tests_too() -> None:
    log = json.loads(files(("sarif",))["findings.sarif"].encoded)

    (run,) = log["runs"]
    named = {one["ruleId"] for one in run["results"]}
    assert "failed-story" in named
    assert {one["id"] for one in run["tool"]["driver"]["rules"]} == named


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u2028", "\x1b[31m", "\u200b"])
def test_what_a_host_shows_is_in_the_order_in_which_it_is(mark: str) -> None:
    given = report(findings=[finding("x", f"a{mark}b")], name=f"a{mark}b")
    written = conclude(given, Missing("none"), LINKS, formats=("sarif", "codequality", "annotations")).documents()
    shown = "".join(one.encoded.decode() for one in written if one.name.startswith(("findings", "gl-", "junit")))
    assert mark[0] not in json.dumps(shown, ensure_ascii=False).replace("\\u001b", "\x1b")


SECOND_PLACE = "The example 'hi' of 'greet' is nearly the same as 'hii' of 'bye' (data/more.yml:9:7)."


def test_a_second_place_in_a_message_is_from_the_repositorys_top_in_every_document() -> None:
    near = replace(
        finding("example-nearly-in-several-intents", SECOND_PLACE, "warning", "data/nlu.yml", 4),
        others=(Location("data/more.yml", 9, 7),),
    )
    old, new = report(findings=[], root="bots/a"), report(findings=[near], root="bots/a")
    seen = []
    for head, baseline in ((new, Missing("none")), (new, Present(old, "git"))):
        outcome = conclude(head, baseline, LINKS, formats=OUTPUT_FORMATS)
        for one in outcome.renderings():
            if one.name not in {"report.json", "comparison.json", "verdict.json", "baseline.json"}:
                text = one.encoded.decode(errors="replace")
                assert "(data/more.yml" not in text, one.name
                seen += [one.name] if "(bots/a/data/more.yml" in text else []
    assert {"comment.md", "summary.md", "junit.xml", "findings.sarif", "gl-code-quality-report.json"} <= set(seen)

    counts: dict[Severity, int] = {"error": 0, "warning": 1, "info": 0}
    assert "(bots/a/data/more.yml:9:7)" in findings_text([near], counts, lambda _: None, folder="bots/a")
    assert "(bots/a/data/more.yml:9:7)" in findings_commands([near], "bots/a")
    assert "(data/more.yml:9:7)" in findings_text([near], counts, lambda _: None)
