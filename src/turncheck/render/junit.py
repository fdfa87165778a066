"""JUnit XML as Jenkins, GitLab and the GitHub reporters read it.

A suite for each evaluation. A case for each code of findings, each intent, story, end-to-end case, batch case and gate:
a wrong sentence within an intent whose gates pass is no failure, it stands in the intent's output. ``file`` is relative
to the repository, ``line`` at least 1, ``classname`` and ``name`` together are unique, as consumers need them
(publish-unit-test-result-action, dorny/test-reporter with ``phpunit-junit``, Jenkins' junit-10.xsd).
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from junit_xml import TestCase, TestSuite, to_xml_report_string

from turncheck.comparison.wording import figure
from turncheck.render.circumstances import circumstances
from turncheck.render.links import repository_path
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.xml import attribute, element

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.comparison.model import Comparison, GateResult, Verdict
    from turncheck.location import Location
    from turncheck.render.links import Links
    from turncheck.report.model import CaseResult, NluPrediction, Report, StoryResult, StoryStep

_MOST_LISTED = 200
_LONGEST_LINE = 2_000
_DEEPEST = 4


def render_junit(report: Report, comparison: Comparison | None, verdict: Verdict, links: Links) -> Rendered:
    """Render ``junit.xml``: UTF-8, whatever the report holds always well-formed and valid by Jenkins' schema."""
    del comparison, links  # one signature for all renderers; JUnit knows neither deltas nor addresses
    writer = _Writer(report)
    suites = [
        *writer.validation(),
        *writer.intents(verdict),
        *writer.stories(),
        *writer.end_to_end(),
        *writer.batch(),
        *writer.skipped(),
        writer.gates(verdict),
    ]
    text = to_xml_report_string(suites, prettyprint=True, encoding="utf-8")
    return Rendered("junit.xml", "application/xml", text)


class _Writer:
    """Makes cases, each with a name that no other of its class has."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._names: set[tuple[str, str]] = set()

    def _suite(self, evaluation: str, cases: Sequence[TestCase]) -> TestSuite:
        report = self._report
        prefix = attribute(report.project.root or report.project.name)
        facts = {"project": report.project.name, "seed": str(report.seed), "turncheck": report.tool.version}
        if report.engine:
            facts["engine"] = f"{report.engine.name} {report.engine.version}"
        properties = {key: attribute(value) for key, value in facts.items()}
        return TestSuite(f"{prefix} {evaluation}".strip(), cases, properties=properties)

    def _case(self, classname: str, name: str, location: Location | None = None, **fields: Any) -> TestCase:
        classname, base = attribute(classname, 200), attribute(name, 200) or "unnamed"
        name, number = base, 2
        while (classname, name) in self._names:
            name, number = f"{base} ({number})", number + 1
        self._names.add((classname, name))
        path = repository_path(self._report.project.root, location) if location else None
        line = max(location.line or 1, 1) if location and path else None
        return TestCase(name, classname, elapsed_sec=0.0, file=attribute(path) if path else None, line=line, **fields)

    def validation(self) -> Iterable[TestSuite]:
        if self._report.validation is None:
            return
        groups = defaultdict(list)
        for finding in self._report.validation.findings:
            groups[finding.code].append(finding)
        cases = []
        for code, findings in sorted(groups.items()):
            lines = [
                f"{finding.location}: {finding.severity}: {finding.message} {finding.hint}" for finding in findings
            ]
            errors = sum(finding.severity == "error" for finding in findings)
            worst = next((finding for finding in findings if finding.severity == "error"), findings[0])
            case = self._case("validation", code, worst.location)
            if errors:
                case.add_failure_info(attribute(f"{len(findings)} found: {worst.message}"), _listed(lines), "finding")
            else:
                case.stdout = _listed(lines)
            cases.append(case)
        yield self._suite("validation", cases or [self._case("validation", "no findings")])

    def intents(self, verdict: Verdict) -> Iterable[TestSuite]:
        nlu = self._report.nlu
        if nlu is None:
            return
        failed = {gate.metric: gate for gate in verdict.gates if gate.outcome == "failed" and gate.metric}
        examples = defaultdict(list)
        for example in nlu.predictions:
            examples[example.expected.intent or "without an intent"].append(example)
        cases = []
        for intent, judged in sorted(examples.items()):
            wrong = [example for example in judged if not example.correct]
            case = self._case("nlu.intents", intent, (wrong or judged)[0].location)
            lines = [f"{len(judged) - len(wrong)} of {len(judged)} right", *map(_told, wrong)]
            gates = [gate for name, gate in failed.items() if name.startswith(f"nlu.intents[{intent}].")]
            if gates:
                case.add_failure_info(attribute("; ".join(gate.reason for gate in gates)), _listed(lines), "gate")
            else:
                case.stdout = _listed(lines)
            cases.append(case)
        yield self._suite("nlu", cases)

    def stories(self) -> Iterable[TestSuite]:
        if self._report.core:
            yield self._suite("core", [self._story(story) for story in self._report.core.stories])

    def _story(self, story: StoryResult) -> TestCase:
        wrong = next((step for step in story.steps if not step.passed), None)
        place = wrong.location if wrong and wrong.location else story.location
        case = self._case("core", story.name, place)
        if not story.passed:
            message = f"expected {wrong.wanted}, got {wrong.got}" if wrong else "the story failed"
            lines = (line for step in story.steps for line in _step(step))
            case.add_failure_info(attribute(message), _listed(lines), "story")
        return case

    def end_to_end(self) -> Iterable[TestSuite]:
        if self._report.e2e:
            yield self._suite("e2e", [self._end_to_end(case) for case in self._report.e2e.cases])

    def _end_to_end(self, result: CaseResult) -> TestCase:
        wrong = next((step for step in result.steps if step.outcome in {"failed", "error"}), None)
        place = wrong.location if wrong and wrong.location else result.location
        case = self._case("e2e", result.name, place)
        told = (
            f"expected {wrong.expected}, got {wrong.actual or 'nothing'}" if wrong else result.reason or result.outcome
        )
        match result.outcome:
            case "failed":
                case.add_failure_info(attribute(told), _listed(result.difference), "assertion")
            case "error":
                case.add_error_info(attribute(result.reason or told), _listed(result.difference), "error")
            case "skipped":
                case.add_skipped_info(attribute(result.reason or "skipped"))
            case "passed" if result.warning is not None:
                case.stdout = element(f"passed, although: {result.warning}")
            case "passed":
                pass
        return case

    def batch(self) -> Iterable[TestSuite]:
        for suite in self._report.batch.suites if self._report.batch else ():
            cases = []
            for result in suite.cases:
                case = self._case(f"batch.{suite.name}", result.text, result.location)
                if not result.passed:
                    case.add_failure_info(
                        attribute(f"expected {result.expected}, got {result.predicted}"), None, "batch"
                    )
                cases.append(case)
            yield self._suite(f"batch {attribute(suite.name)}", cases)

    def skipped(self) -> Iterable[TestSuite]:
        for entry in self._report.skipped:
            case = self._case(entry.evaluation, f"{entry.evaluation} was not run")
            case.add_skipped_info(attribute(entry.reason))
            yield self._suite(entry.evaluation, [case])

    def gates(self, verdict: Verdict) -> TestSuite:
        return self._suite("gates", [self._gate(gate) for gate in verdict.gates])

    def _gate(self, gate: GateResult) -> TestCase:
        place = gate.failed_by[0].location if gate.failed_by else None
        case = self._case("gates", gate.name, place)
        if gate.outcome == "failed":
            lines = [f"{cause.location}: {cause.what}" if cause.location else cause.what for cause in gate.failed_by]
            case.add_failure_info(attribute(gate.reason), _listed(lines), "gate")
        elif gate.outcome == "not judged":
            case.add_skipped_info(attribute(gate.reason))
        else:
            case.stdout = element(gate.reason)
        return case


def _told(example: NluPrediction) -> str:
    got = example.predicted.intent or "no intent"
    sure = figure(example.predicted.confidence, "score")
    return f"{example.location}: {example.text!r}: expected {example.expected.intent}, got {got} ({sure})"


def _step(step: StoryStep) -> Iterator[str]:
    if step.passed:
        yield f"  {step.expected}"
        return
    policy = f" by {step.policy}" if step.policy else ""
    sure = f" ({figure(step.confidence, 'score')})" if step.confidence is not None else ""
    yield f"! {step.wanted}, but {step.got} was predicted{policy}{sure}"
    yield from (f"    {line}" for line in circumstances(step, attribute))


def _listed(lines: Iterable[str]) -> str:
    """Lines as the text of an element, indented ones as they are."""
    shown = list(lines)
    kept = [
        f"{line[: len(line) - len(line.lstrip(' '))][:_DEEPEST]}{attribute(line, _LONGEST_LINE)}"
        for line in shown[:_MOST_LISTED]
    ]
    if len(shown) > _MOST_LISTED:
        kept.append(f"… and {len(shown) - _MOST_LISTED:,} more in report.json")
    return element("\n".join(kept))
