"""JUnit XML as GitHub's reporters, GitLab and Jenkins read it.

A suite for each evaluation, and one for the gates. A case for each code of findings in a file, each intent, story,
end-to-end case, batch case and gate; a gate that fails by what these show is only a property of its suite, so that a
broken story is one failure. A wrong sentence within an intent whose gates pass is not a failure, it is listed in the
intent's output. A sentence that was run several times and did not pass each time is a case of its own.

Readers put the files of several assistants together and take cases of equal names for the same test:
publish-unit-test-result-action and GitLab by ``classname`` and ``name``, action-junit-report by both and ``file``,
test-reporter and Jenkins group by ``classname``, Jenkins at its last dot. So a ``classname`` holds the assistant (its
path in the repository, else its name), the evaluation and, if a test belongs to one file, that file; a name occurs
once in its class, whatever the order of the report.

``file`` is relative to the repository and so is every path in a text; ``line`` is at least 1, and omitted
if a file is meant as a whole.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

from junit_xml import TestCase, TestSuite
from msgspec import UnsetType

from turncheck.comparison.cases import batch_actual, batch_expected, decisive_step
from turncheck.comparison.failures import FailedTest
from turncheck.comparison.matching import places_of
from turncheck.comparison.quarantine import entry_of, is_excused
from turncheck.gates.table import subject_of
from turncheck.messages.finding import Finding, Location
from turncheck.messages.phrasing import count
from turncheck.render.batch_notes import tested_at
from turncheck.render.case_keys import CaseKeys, by_place
from turncheck.render.junit_lines import (
    LONGEST_LINE,
    attribute,
    batch_lines,
    content,
    element,
    heard,
    listed,
    misclassified,
    misparsed_lines_of,
    newly_right,
    step_lines,
    varying,
)
from turncheck.render.junit_names import Named, distinct, path_of_class
from turncheck.render.known_causes import KnownCauses
from turncheck.render.links import Links, PathResolver, places, repository_path
from turncheck.render.phrases import expected_got, moment, why_unjudged
from turncheck.render.rendered import Rendered
from turncheck.render.spans import plain
from turncheck.render.wording.newly_judged import details, outcome_in_words
from turncheck.render.wording.repeats import runs_in_words
from turncheck.render.wording.tests import failed_test, quarantine_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.render.assistants import Assistants, FailedAssistant
    from turncheck.render.wording.verdict import GateResult, Verdict
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import BatchCase, CaseResult, Nlu, NluPrediction, Repeats, Report, StoryResult
    from turncheck.settings.options import JunitFlavour


# A report as JUnit suites, one for each evaluation.

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
        self.counts.update({name: int(built.get(name, "0")) for name in COUNTS})
        if properties := getattr(case, "properties", None):
            written = ET.Element("properties")
            written.extend(ET.Element("property", name=name, value=value) for name, value in properties.items())
            built[0].insert(0, written)
        return text_of(built[0])

    def pieces(self) -> Iterator[str]:
        """Write the suite's element, indented below the root."""
        counts = {name: str(self.counts[name]) for name in COUNTS}
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

    def __init__(self, report: Report, compared: Comparison | None, flavour: JunitFlavour, links: Links) -> None:
        self._report = report
        self._links = links
        self._flavour = flavour
        self._rooted = PathResolver(report)
        self._keys = CaseKeys(report)
        judged = compared if compared and compared.judged else None
        self._newly_failing = by_place(judged.stories.newly_failing if judged else ())
        self._causes = KnownCauses(judged, self._rooted)
        self._newly_judged = {one.name: one for one in (judged.newly_judged if judged else ()) if one.kind == "intents"}
        self._project = report.project.root or report.project.name
        self._whole = next(places(report), None)
        """The place of anything that does not belong to one file; older reports do not name one."""

    def _suite(
        self,
        evaluation: str,
        cases: Iterable[TestCase],
        step: Evaluation | None = None,
        facts: Mapping[str, str] | None = None,
    ) -> Suite:
        report = self._report
        known = {"project": report.project.name, "seed": str(report.seed), "turncheck": report.tool.version}
        if report.engine:
            known["engine"] = f"{report.engine.name} {report.engine.version}"
        if report.source.measured:
            known["measured"] = moment(report.source.measured)
        properties = {key: attribute(value) for key, value in {**known, **(facts or {})}.items()}
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
        worst = next((finding for finding in findings if finding.severity == "error"), findings[0])
        lines = [
            line
            for finding in findings
            for line in (
                f"{rooted.location(finding.location)}: {finding.severity}: "
                + rooted.text(f"{finding.message} {finding.hint}"),
                *self._causes.of_finding(finding),
            )
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
            page = self._on_page(f"sentences?{filters}") if any(one.misclassified for one in of_intent) else []
            written.append(self._intent(case, of_intent, gates, page))
        places = {example.intent.partition("/")[0]: example.location for example in reversed(nlu.training)}
        for case, entry in zip(cases[len(judged) :], nlu.unjudged, strict=True):
            left_out = self._case(case, at=places.get(entry.intent))
            _skip(left_out, why_unjudged(entry, nlu.folds))
            written.append(left_out)
        yield self._suite("nlu", [*written, *self._varying_sentences(nlu)], "nlu")

    def _varying_sentences(self, nlu: Nlu) -> Iterator[TestCase]:
        """The sentences that were run several times and did not pass each time."""
        varying = [
            (sentence, sentence.repeats, key)
            for sentence, key in zip(nlu.predictions, self._keys.sentences, strict=True)
            if not isinstance(sentence.repeats, UnsetType) and sentence.repeats.outcome != "passed"
        ]
        named = [self._of_file("nlu", one.text, one.location, one.expected.intent or "") for one, *_ in varying]
        for case, (sentence, repeats, key) in zip(distinct(named), varying, strict=True):
            written = self._case(case)
            written.properties = _runs(sentence, self._flavour)
            self._judge_sentence(written, sentence, repeats, self._on_page(key))
            yield written

    def _judge_sentence(
        self, written: TestCase, sentence: NluPrediction, repeats: Repeats, page: Sequence[str]
    ) -> None:
        """Write what became of a sentence; one that is merely wrong counts for figures only, as an expected failure."""
        runs = runs_in_words(repeats)
        got = misclassified(self._rooted, sentence)
        test = FailedTest("nlu", sentence.text, repeats=repeats, location=sentence.location)
        entry = entry_of(self._report, test.name, test.location)
        if sentence.correct:
            written.stdout = element(f"flaky: {runs}")
        elif entry is not None and is_excused(self._report, test):
            _skip(written, quarantine_in_words(entry))
        elif sentence.unclear:
            _skip(written, f"unclear: {runs}")
        elif sentence.unanswered or repeats.outcome in {"regressed", "worse"}:
            message = attribute(varying(self._rooted, sentence))
            written.add_failure_info(message, self._text([got, *page], sentence.location), "sentence")
        else:
            _skip(written, f"wrong, which counts for figures alone: {runs}; {got}")

    def _intent(
        self, case: Named, judged: Sequence[NluPrediction], gates: Sequence[GateResult], page: Sequence[str]
    ) -> TestCase:
        """The sentences of one intent, linked to the ``page``, and the gates about it that failed."""
        wrong = [example for example in judged if example.misclassified]
        unclear = sum(example.unclear for example in judged)
        number = len(judged) - unclear
        location = (wrong or judged)[0].location
        lines = [
            f"{number - len(wrong)} of {number} right{f', {unclear} unclear' if unclear else ''}",
            *page,
            *("; ".join([misclassified(self._rooted, one), *self._causes.of_sentence(one)]) for one in wrong),
            *(words for prediction in judged if (words := varying(self._rooted, prediction))),
        ]
        new = self._newly_judged.get(judged[0].expected.intent or "")
        words = (
            f"{'newly judged' if new.known else 'new'}, and {outcome_in_words(new)}{plain(details(new))}" if new else ""
        )
        written = self._case(case, at=location)
        why = self._causes.of_intent(judged[0].expected.intent or "")
        lines[1:1] = [attribute(said) for said in (words, *why) if said]
        if gates:
            message = attribute("; ".join(gate.reason for gate in gates))
            written.add_failure_info(message, self._text(lines, location), "gate")
        elif new and new.mostly_wrong:  # as pytest reports an expected failure: it must not fail the run
            written.add_skipped_info(attribute(words), self._text(lines, location))
        elif not number:
            _skip(written, f"unclear: {count(unclear, 'sentence')}")
        else:
            written.stdout = listed(lines)
        return written

    def stories(self) -> Iterable[Suite]:
        if self._report.core:
            stories = self._report.core.stories
            cases = distinct([self._of_file("core", story.name, story.location, content(story)) for story in stories])
            yield self._suite("core", (self._story(case, stories[n], n) for n, case in enumerate(cases)), "core")

    def _story(self, case: Named, story: StoryResult, number: int) -> TestCase:
        wrong = decisive_step(story)
        location = wrong.location if wrong and wrong.location else story.location
        new = self._newly_failing(story.name, places_of(story))  # what was wrong on the base too is no news
        if new and new.location:
            location = new.location
        written = self._case(case, at=location, seconds=self._report.timings.get(f"core[{number}]"))
        page = self._on_page(self._keys.stories[number])
        why = self._causes.of_test("core", story.name, places_of(story))
        if self._settled_by_quarantine(written, FailedTest("core", story.name, location=location), passed=story.passed):
            return written
        if story.outcome == "misunderstood":
            self._misunderstood(written, story, location, [*page, *why])
        elif not story.passed:
            said = (new.expected, new.actual) if new else (wrong.wanted, wrong.got) if wrong else ("", "")
            message = plain(expected_got(*said)) or "the story failed"
            lines = [line for step in story.steps for line in step_lines(self._rooted, step)]
            also = [f"also misunderstood: {line}" for line in misparsed_lines_of(self._rooted, story)]
            written.add_failure_info(attribute(message), self._text([*lines, *also, *page, *why], location), "story")
        elif why:
            written.stdout = newly_right(why)
        return written

    def _settled_by_quarantine(self, written: TestCase, test: FailedTest, *, passed: bool) -> bool:
        """Write a test that its quarantine decides about: one that may fail is skipped, one that must has failed."""
        entry = entry_of(self._report, test.name, test.location)
        if entry is not None and passed and entry.expect == "failing":
            written.add_failure_info(attribute(failed_test(dataclasses.replace(test, passes=True))), "", "quarantine")
            return True
        if entry is None or passed or not is_excused(self._report, test):
            return False
        _skip(written, quarantine_in_words(entry))
        return True

    def _misunderstood(self, written: TestCase, story: StoryResult, location: Location, page: Sequence[str]) -> None:
        lines = misparsed_lines_of(self._rooted, story)
        message = f"misunderstood: {lines[0] if lines else 'the imported files do not say which sentence'}"
        passes = "With the intents and entities as written the story passes."
        self._add_misunderstood(written, message, [*lines, passes, *page], location)

    def _misunderstood_case(
        self, written: TestCase, result: CaseResult, location: Location, page: Sequence[str]
    ) -> None:
        lines = misparsed_lines_of(self._rooted, result)
        message = f"misunderstood: {lines[0] if lines else 'the report does not say which sentence'}"
        passes = "Understood as on the base, the case passes."
        self._add_misunderstood(written, message, [*lines, passes, *result.difference, *page], location)

    def _add_misunderstood(self, written: TestCase, text: str, lines: Sequence[str], location: Location) -> None:
        """If it must not fail the run: as skipped, which is how pytest reports an expected failure."""
        message = attribute(text)
        if self._report.settings.misunderstood == "fail":
            written.add_failure_info(message, self._text(lines, location), "misunderstood")
        else:
            written.add_skipped_info(message, self._text(lines, location))

    def end_to_end(self) -> Iterable[Suite]:
        if self._report.e2e:
            results = self._report.e2e.cases
            cases = distinct(
                [self._of_file("e2e", result.name, result.location, content(result)) for result in results]
            )
            written = [self._end_to_end(case, results[number], number) for number, case in enumerate(cases)]
            yield self._suite("e2e", written, "e2e")

    def _end_to_end(self, case: Named, result: CaseResult, number: int) -> TestCase:
        wrong = next((step for step in result.steps if step.outcome in {"failed", "error"}), None)
        location = wrong.location if wrong and wrong.location else result.location
        written = self._case(case, at=location, seconds=self._report.timings.get(f"e2e[{number}]"))
        reason = self._rooted.text(result.reason or result.outcome)
        words = plain(expected_got(wrong.expected, wrong.actual or "nothing")) if wrong else reason
        trace = self._links.trace(result.trace_id)
        page = [*self._on_page(self._keys.cases[number]), *([f"trace: {trace}"] if trace else [])]
        written.properties = {**_runs(result, self._flavour), **_trace(result, self._flavour)}
        test = FailedTest("e2e", result.name, repeats=result.repeats, location=location)
        if result.outcome != "skipped" and self._settled_by_quarantine(written, test, passed=result.passed):
            return written
        why = self._causes.of_test("e2e", result.name, places_of(result))
        match result.outcome:
            case "failed":
                lines = [*result.difference, *heard(self._rooted, result), *page, *why]
                message = attribute(_after_runs(result, words))
                written.add_failure_info(message, self._text(lines, location), "assertion")
            case "misunderstood":
                self._misunderstood_case(written, result, location, [*page, *why])
            case "error":
                message = reason if result.reason else words
                written.add_error_info(
                    attribute(message), self._text([*result.difference, *page, *why], location), "error"
                )
            case "skipped":
                _skip(written, reason)
            case "unclear":
                _skip(written, f"unclear: {reason}")
            case "passed" if result.warning is not None:
                written.stdout = element(f"passed, although: {reason}")
            case "passed" if why:
                written.stdout = newly_right(why)
            case "passed":
                pass
        return written

    def batch(self) -> Iterable[Suite]:
        suites = self._report.batch.suites if self._report.batch else ()
        judged = [(suite, result) for suite in suites for result in suite.cases]
        named = [
            self._of_file(f"batch.{suite.name}", batch_case.text, batch_case.location, batch_expected(batch_case))
            for suite, batch_case in judged
        ]
        of_suite: dict[int, list[TestCase]] = {id(suite): [] for suite in suites}
        for case, (suite, result), key in zip(distinct(named), judged, self._keys.batch, strict=True):
            written, page = self._case(case), self._on_page(key)
            written.properties = _runs(result, self._flavour)
            test = FailedTest("batch", result.text, repeats=result.repeats, location=result.location)
            why = self._causes.of_test("batch", result.text, [result.location])
            if self._settled_by_quarantine(written, test, passed=result.passed):
                pass
            elif result.unclear:
                _skip(written, f"unclear: {self._rooted.text(result.reason or '')}")
            elif result.result == "not-evaluated":
                written.add_error_info(attribute(batch_actual(result)), self._text(page, result.location), "error")
            elif not result.passed:
                words = plain(expected_got(batch_expected(result), batch_actual(result)))
                message = attribute(_after_runs(result, words))
                lines = [*batch_lines(result), *page, *why]
                written.add_failure_info(message, self._text(lines, result.location), "batch")
            elif why:
                written.stdout = newly_right(why)
            of_suite[id(suite)].append(written)
        for suite in suites:
            tested = tested_at(suite, self._report.source.measured)
            known = {"tested": tested, "version": suite.version or "", "outcome": suite.outcome, "notes": suite.notes}
            facts = {key: value for key, value in known.items() if value}
            yield self._suite(f"batch {suite.name}", of_suite[id(suite)], facts=facts)

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

    def gates(self, verdict: Verdict, others: Sequence[Suite]) -> Suite:
        """Each gate as a property; as a case too, unless ``others`` show what it fails by."""
        shown = any(suite.counts["failures"] or suite.counts["errors"] for suite in others)
        gates = [
            gate
            for gate in verdict.gates
            if not (shown and gate.outcome == "failed" and subject_of(gate.name) in _CASES)
        ]
        # A gate that the file does not set has no line to show.
        whole = Location(self._whole.path) if self._whole is not None else None
        cases = distinct([Named(self._class("gates"), gate.name, gate.location or whole) for gate in gates])
        facts = {f"gate {gate.name}": f"{gate.outcome}: {self._rooted.text(gate.reason)}" for gate in verdict.gates}
        written = [self._gate(case, gate) for case, gate in zip(cases, gates, strict=True)]
        return self._suite("gates", written, facts=facts)

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


_CASES: Final = frozenset({"errors", "tests"})
"""What gates are about that are cases of their own."""


def _after_runs(result: CaseResult | BatchCase, words: str) -> str:
    """What went wrong, behind how often, if the test was run several times."""
    return words if isinstance(result.repeats, UnsetType) else f"{runs_in_words(result.repeats)}: {words}"


def _runs(result: CaseResult | BatchCase | NluPrediction, flavour: JunitFlavour) -> dict[str, str]:
    """Properties of a case that was run several times; Jenkins' xunit plugin refuses those of cases."""
    if isinstance(repeats := result.repeats, UnsetType) or flavour != "common":
        return {}
    return {**({"flaky": "true"} if repeats.outcome == "flaky" else {}), "runs": repeats.runs.upper()}


def _trace(result: CaseResult, flavour: JunitFlavour) -> dict[str, str]:
    """The trace of the message at which a case failed, else of its last one."""
    return {"trace": result.trace_id} if result.trace_id and flavour == "common" else {}


def _skip(case: TestCase, reason: str) -> None:
    """Mark a case as skipped. GitLab and others show only the element's text, others only its attribute."""
    case.add_skipped_info(attribute(reason), element(reason))


def render_junit(
    report: Report,
    comparison: Comparison | None,
    verdict: Verdict,
    links: Links,
    flavour: JunitFlavour = "common",
) -> Rendered:
    """Render ``junit.xml``: UTF-8, always well-formed, whatever the report holds.

    ``common`` gives each case the attributes ``file`` and ``line``, which publish-unit-test-result-action,
    action-junit-report, test-reporter (``phpunit-junit``) and GitLab read and Jenkins' own ``junit`` step takes.
    ``xunit`` is valid by junit-10.xsd of Jenkins' xunit plugin, which refuses both: the text of a case that failed
    begins with its place instead.
    """
    suites = partial(_suites, report, comparison, verdict, links, flavour)
    return Rendered("junit.xml", "application/xml", lambda: _document(suites()))


def render_junit_of_all(assistants: Assistants, flavour: JunitFlavour = "common") -> Rendered:
    """Render one ``junit.xml`` of several assistants; one that could not be measured is a test in error."""

    def pieces() -> Iterator[bytes]:
        of_runs = (_suites(run.report, run.comparison, run.verdict, run.links, flavour) for run in assistants.runs)
        return _document([*map(_not_measured, assistants.broken), *(suite for suites in of_runs for suite in suites)])

    return Rendered("junit.xml", "application/xml", pieces)


def _suites(
    report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, flavour: JunitFlavour
) -> list[Suite]:
    writer = SuiteWriter(report, comparison, flavour, links)
    suites = [
        *writer.validation(),
        *writer.intents(verdict),
        *writer.stories(),
        *writer.end_to_end(),
        *writer.batch(),
        *writer.skipped(),
    ]
    return [*suites, writer.gates(verdict, suites)]


def _not_measured(broken: FailedAssistant) -> Suite:
    case = TestCase("measured", attribute(f"{broken.name}.run", LONGEST_CLASS))
    case.add_error_info(message=attribute(broken.why, LONGEST_LINE), output=element(broken.why))
    return Suite(attribute(f"{broken.name} run", LONGEST_CLASS), [case], {}, 0.0)


def _document(suites: Sequence[Suite]) -> Iterator[bytes]:
    """Put the suites below a root with their sums; ``skipped`` and ``disabled`` are not the root's in any schema."""
    counts = {name: str(sum(suite.counts[name] for suite in suites)) for name in ("tests", "failures", "errors")}
    root = start_tag("testsuites", {**counts, "time": f"{sum(suite.seconds for suite in suites):.3f}"})
    yield f'<?xml version="1.0" encoding="utf-8"?>\n{root}'.encode()
    for suite in suites:
        yield from (piece.encode("utf-8", "backslashreplace") for piece in suite.pieces())
    yield b"\n</testsuites>\n"
