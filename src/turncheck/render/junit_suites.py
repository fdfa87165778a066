"""A report as JUnit suites, one for each evaluation; see :mod:`turncheck.render.junit`."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from junit_xml import TestCase, TestSuite

from turncheck.comparison.cases import batch_actual, batch_expected, telling_step
from turncheck.messages.location import Location
from turncheck.render.case_keys import CaseKeys
from turncheck.render.junit_lines import batch_lines, content, heard, listed, misclassified, misheard, step_lines
from turncheck.render.junit_names import Named, distinct, path_of_class
from turncheck.render.links import repository_path
from turncheck.render.phrases import expected_got
from turncheck.render.rooted import Rooted, places
from turncheck.render.sinks.xml import attribute, element
from turncheck.render.spans import plain
from turncheck.render.unjudged_text import why_unjudged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.comparison.verdict import GateResult, Verdict
    from turncheck.messages.finding import Finding
    from turncheck.render.links import Links
    from turncheck.report.model import CaseResult, Evaluation, NluPrediction, Report, StoryResult
    from turncheck.settings.options import JunitFlavour

LONGEST_CLASS: Final = 8_000
COUNTS: Final = ("errors", "failures", "skipped", "tests")


class Suite:
    """A suite with the seconds of its whole evaluation, and without ``disabled``, which newer schemas refuse.

    Each case is written as soon as it is made: the text of many thousands takes a sixth of the memory.
    """

    def __init__(self, name: str, cases: Iterable[TestCase], properties: dict[str, str], seconds: float) -> None:
        self.seconds = seconds
        self.counts: Counter[str] = Counter()
        self._frame = TestSuite(name, [], properties=properties).build_xml_doc()
        self._cases = [self._written(case) for case in cases]

    def _written(self, case: TestCase) -> str:
        built = TestSuite("", [case]).build_xml_doc()
        self.counts.update({count: int(built.get(count, "0")) for count in COUNTS})
        return text_of(built[0])

    def pieces(self) -> Iterator[str]:
        """Write the suite's element, indented below the root."""
        counts = {count: str(self.counts[count]) for count in COUNTS}
        attributes = {**self._frame.attrib, **counts, "time": f"{self.seconds:.3f}"}
        del attributes["disabled"]
        yield f"\n\t{start_tag('testsuite', attributes)}"
        for child in (*map(text_of, self._frame), *self._cases):
            yield f"\n\t\t{child}"
        yield "\n\t</testsuite>"


def text_of(child: ET.Element) -> str:
    """Write an element that is in a suite."""
    ET.indent(child, "\t", 2)
    child.tail = None
    return ET.tostring(child, encoding="unicode")


def start_tag(name: str, attributes: dict[str, str]) -> str:
    """Write the tag that begins an element."""
    return ET.tostring(ET.Element(name, attributes), encoding="unicode").removesuffix(" />") + ">"


class SuiteWriter:
    """Makes the suites of a report."""

    def __init__(self, report: Report, flavour: JunitFlavour, links: Links) -> None:
        self._report = report
        self._links = links
        self._flavour = flavour
        self._rooted = Rooted(report)
        self._keys = CaseKeys(report)
        self._project = report.project.root or report.project.name
        self._whole = next(places(report), None)
        """The place of anything that does not belong to one file; older reports do not name one."""

    def _suite(self, evaluation: str, cases: Iterable[TestCase], step: Evaluation | None = None) -> Suite:
        report = self._report
        facts = {"project": report.project.name, "seed": str(report.seed), "turncheck": report.tool.version}
        if report.engine:
            facts["engine"] = f"{report.engine.name} {report.engine.version}"
        properties = {key: attribute(value) for key, value in facts.items()}
        seconds = report.timings.get(step, 0.0) if step else 0.0
        return Suite(attribute(f"{self._project} {evaluation}".strip(), LONGEST_CLASS), cases, properties, seconds)

    def _class(self, what: str, *, location: Location | None = None) -> str:
        parts = [self._project, what, *([path_of_class(location.path)] if location else [])]
        return attribute(".".join(parts), LONGEST_CLASS)

    def _of_file(self, what: str, name: str, location: Location, content: str) -> Named:
        """A test that belongs to one file; its class names that file."""
        return Named(self._class(what, location=location), name, location, content)

    def _case(self, case: Named, *, at: Location | None = None, seconds: float | None = None) -> TestCase:
        """A case at its place, or at that of its fault."""
        path, line = self._place(at or case.location) if self._flavour == "common" else (None, None)
        return TestCase(case.name, case.classname, elapsed_sec=seconds, file=path, line=line)

    def _place(self, location: Location | None) -> tuple[str | None, int | None]:
        path = repository_path(self._report.project.root, location) if location else None
        if location is None or path is None:
            return None, None
        return attribute(path, LONGEST_CLASS), None if location.line is None else max(location.line, 1)

    def _text(self, lines: Iterable[str], at: Location | None) -> str:
        """The text of a failure. If cases have no attributes for their place, it begins with that, as a stack does."""
        path, line = self._place(at)
        if self._flavour == "common" or at is None or path is None:
            return listed(lines)
        return listed([f"at ({path}:{line or 1}:{at.column or 1})", *lines])

    def _on_page(self, key: str) -> list[str]:
        """Link to where the page shows a case, or a view, if its address is known."""
        return [f"details: {address}"] if (address := self._links.case(key)) else []

    def validation(self) -> Iterable[Suite]:
        if self._report.validation is None:
            return
        groups = defaultdict(list)
        for finding in self._report.validation.findings:
            groups[finding.location.path, finding.code].append(finding)
        listed = [
            Named(self._class("validation", location=findings[0].location), code)
            for (_, code), findings in sorted(groups.items())
        ]
        cases = [
            self._findings(case, findings)
            for case, (_, findings) in zip(distinct(listed), sorted(groups.items()), strict=True)
        ]
        nothing = Named(self._class("validation"), "no findings", self._whole)
        yield self._suite("validation", cases or [self._case(nothing)], "validate")

    def _findings(self, case: Named, findings: Sequence[Finding]) -> TestCase:
        """The findings of one code in one file."""
        rooted = self._rooted
        worst = next((one for one in findings if one.severity == "error"), findings[0])
        lines = [
            f"{rooted.location(one.location)}: {one.severity}: {rooted.text(f'{one.message} {one.hint}')}"
            for one in findings
        ]
        written = self._case(case, at=worst.location)
        if worst.severity == "error":
            message = f"{len(findings)} found: {rooted.text(worst.message)}"
            written.add_failure_info(attribute(message), self._text(lines, worst.location), "finding")
        else:
            written.stdout = listed(lines)
        return written

    def intents(self, verdict: Verdict) -> Iterable[Suite]:
        nlu = self._report.nlu
        if nlu is None:
            return
        examples = defaultdict(list)
        for example in nlu.predictions:
            examples[example.expected.intent or "without an intent"].append(example)
        judged = sorted(examples.items())
        names = [*(intent for intent, _ in judged), *(entry.intent for entry in nlu.unjudged)]
        cases = distinct([Named(self._class("nlu.intents"), intent) for intent in names])
        failed = [gate for gate in verdict.gates if gate.fails and gate.metric]
        written = []
        for case, (intent, of_intent) in zip(cases[: len(judged)], judged, strict=True):
            gates = [gate for gate in failed if gate.metric and gate.metric.startswith(f"nlu.intents[{intent}].")]
            filters = urlencode({"intent": intent, "outcome": "misclassified", "all": "1"}, errors="replace")
            page = self._on_page(f"sentences?{filters}") if any(not one.correct for one in of_intent) else []
            written.append(self._intent(case, of_intent, gates, page))
        places = {example.intent.partition("/")[0]: example.location for example in reversed(nlu.training)}
        for case, entry in zip(cases[len(judged) :], nlu.unjudged, strict=True):
            left_out = self._case(case, at=places.get(entry.intent))
            _skip(left_out, why_unjudged(entry, nlu.folds))
            written.append(left_out)
        yield self._suite("nlu", written, "nlu")

    def _intent(
        self, case: Named, judged: Sequence[NluPrediction], gates: Sequence[GateResult], page: Sequence[str]
    ) -> TestCase:
        """The sentences of one intent, linked to the ``page``, and the gates about it that failed."""
        wrong = [example for example in judged if not example.correct]
        place = (wrong or judged)[0].location
        lines = [
            f"{len(judged) - len(wrong)} of {len(judged)} right",
            *page,
            *(misclassified(self._rooted, one) for one in wrong),
        ]
        written = self._case(case, at=place)
        if gates:
            message = attribute("; ".join(gate.reason for gate in gates))
            written.add_failure_info(message, self._text(lines, place), "gate")
        else:
            written.stdout = listed(lines)
        return written

    def stories(self) -> Iterable[Suite]:
        if self._report.core:
            stories = self._report.core.stories
            cases = distinct([self._of_file("core", one.name, one.location, content(one)) for one in stories])
            yield self._suite("core", (self._story(case, stories[n], n) for n, case in enumerate(cases)), "core")

    def _story(self, case: Named, story: StoryResult, number: int) -> TestCase:
        wrong = telling_step(story)
        place = wrong.location if wrong and wrong.location else story.location
        written = self._case(case, at=place, seconds=self._report.timings.get(f"core[{number}]"))
        page = self._on_page(self._keys.stories[number])
        if story.outcome == "misunderstood":
            self._misunderstood(written, story, place, page)
        elif not story.passed:
            message = plain(expected_got(wrong.wanted, wrong.got)) if wrong else "the story failed"
            lines = [line for step in story.steps for line in step_lines(self._rooted, step)]
            also = [f"also misunderstood: {line}" for line in misheard(self._rooted, story)]
            written.add_failure_info(attribute(message), self._text([*lines, *also, *page], place), "story")
        return written

    def _misunderstood(self, written: TestCase, story: StoryResult, place: Location, page: Sequence[str]) -> None:
        lines = misheard(self._rooted, story)
        message = f"misunderstood: {lines[0] if lines else 'the imported files do not say which sentence'}"
        passes = "With the intents and entities as written the story passes."
        self._add_misunderstood(written, message, [*lines, passes, *page], place)

    def _misunderstood_case(self, written: TestCase, result: CaseResult, place: Location, page: Sequence[str]) -> None:
        lines = misheard(self._rooted, result)
        message = f"misunderstood: {lines[0] if lines else 'the report does not say which sentence'}"
        passes = "Understood as on the base, the case passes."
        self._add_misunderstood(written, message, [*lines, passes, *result.difference, *page], place)

    def _add_misunderstood(self, written: TestCase, text: str, lines: Sequence[str], place: Location) -> None:
        """If it must not fail the run: as skipped, which is how pytest reports an expected failure."""
        message = attribute(text)
        if self._report.settings.misunderstood == "fail":
            written.add_failure_info(message, self._text(lines, place), "misunderstood")
        else:
            written.add_skipped_info(message, self._text(lines, place))

    def end_to_end(self) -> Iterable[Suite]:
        if self._report.e2e:
            results = self._report.e2e.cases
            cases = distinct([self._of_file("e2e", one.name, one.location, content(one)) for one in results])
            written = [self._end_to_end(case, results[number], number) for number, case in enumerate(cases)]
            yield self._suite("e2e", written, "e2e")

    def _end_to_end(self, case: Named, result: CaseResult, number: int) -> TestCase:
        wrong = next((step for step in result.steps if step.outcome in {"failed", "error"}), None)
        place = wrong.location if wrong and wrong.location else result.location
        written = self._case(case, at=place, seconds=self._report.timings.get(f"e2e[{number}]"))
        reason = self._rooted.text(result.reason or result.outcome)
        words = plain(expected_got(wrong.expected, wrong.actual or "nothing")) if wrong else reason
        page = self._on_page(self._keys.cases[number])
        match result.outcome:
            case "failed":
                lines = [*result.difference, *heard(self._rooted, result), *page]
                written.add_failure_info(attribute(words), self._text(lines, place), "assertion")
            case "misunderstood":
                self._misunderstood_case(written, result, place, page)
            case "error":
                message = reason if result.reason else words
                written.add_error_info(attribute(message), self._text([*result.difference, *page], place), "error")
            case "skipped":
                _skip(written, reason)
            case "passed" if result.warning is not None:
                written.stdout = element(f"passed, although: {reason}")
            case "passed":
                pass
        return written

    def batch(self) -> Iterable[Suite]:
        suites = self._report.batch.suites if self._report.batch else ()
        judged = [(suite, result) for suite in suites for result in suite.cases]
        named = [
            self._of_file(f"batch.{suite.name}", one.text, one.location, batch_expected(one)) for suite, one in judged
        ]
        of_suite: dict[int, list[TestCase]] = {id(suite): [] for suite in suites}
        for case, (suite, result), key in zip(distinct(named), judged, self._keys.batch, strict=True):
            written, page = self._case(case), self._on_page(key)
            if result.result == "not-evaluated":
                written.add_error_info(attribute(batch_actual(result)), self._text(page, result.location), "error")
            elif not result.passed:
                message = attribute(plain(expected_got(batch_expected(result), batch_actual(result))))
                written.add_failure_info(message, self._text([*batch_lines(result), *page], result.location), "batch")
            of_suite[id(suite)].append(written)
        yield from (self._suite(f"batch {suite.name}", of_suite[id(suite)]) for suite in suites)

    def skipped(self) -> Iterable[Suite]:
        for entry in self._report.skipped_to_report:
            case = Named(
                self._class(entry.evaluation),
                f"{'part of ' if entry.part else ''}{entry.evaluation} was not run",
                self._whole,
            )
            written = self._case(case)
            _skip(written, self._rooted.text(entry.reason))
            yield self._suite(entry.evaluation, [written])

    def gates(self, verdict: Verdict) -> Suite:
        # A gate that the file does not set has no line to show.
        whole = Location(self._whole.path) if self._whole is not None else None
        cases = distinct([Named(self._class("gates"), gate.name, gate.location or whole) for gate in verdict.gates])
        return self._suite("gates", [self._gate(case, gate) for case, gate in zip(cases, verdict.gates, strict=True)])

    def _gate(self, case: Named, gate: GateResult) -> TestCase:
        written = self._case(case)
        reason = self._rooted.text(gate.reason)
        if gate.fails:
            lines = [
                f"{self._rooted.location(cause.location)}: {self._rooted.text(cause.what)}"
                if cause.location
                else cause.what
                for cause in gate.failed_by
            ]
            written.add_failure_info(attribute(reason), self._text(lines, case.location), "gate")
        elif gate.outcome == "not judged":
            _skip(written, reason)
        else:
            written.stdout = element(reason)
        return written


def _skip(case: TestCase, reason: str) -> None:
    """Mark a case as skipped. GitLab and others show only the element's text, others only its attribute."""
    case.add_skipped_info(attribute(reason), element(reason))
