"""How the run went: its gates, what was left out, what was replaced, how it was measured."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.comparison.because import newly_failing_tests
from turncheck.comparison.cases import findings_worst_first
from turncheck.comparison.changes import and_copies
from turncheck.comparison.consequences import consequences_of
from turncheck.comparison.gone_tests import gone_from
from turncheck.render import entries
from turncheck.render.causes import findings_by_cause, tests_by_cause
from turncheck.render.changed_sections import likely_noise, tests_gone
from turncheck.render.lists import SEVERITIES, Lists
from turncheck.render.not_run import skipped_by_cause
from turncheck.render.overlap_text import overlap_remarks
from turncheck.render.sections import BUILT
from turncheck.render.spans import Entry, Prose, line
from turncheck.render.wrong_cases import (
    misunderstood_cases,
    misunderstood_stories,
    wrong_sentences,
    wrong_tests,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import GateResult, Verdict
    from turncheck.messages.location import Location
    from turncheck.render.overlap_text import OverlapRemark
    from turncheck.render.sections import NeutralSection
    from turncheck.report.model import Report

_OUTCOMES: Final = ("failed", "not judged", "passed")


def run_sections(
    lists: Lists, report: Report, compared: Comparison | None, verdict: Verdict, *, no_base: str
) -> Iterable[NeutralSection]:
    """How the run went: gates, what was left out, what was replaced.

    ``no_base``: why there is no baseline, which the document says once, above the gates.
    """
    own = [gate for gate in verdict.gates if not gate.follows]
    gates = sorted(own, key=lambda gate: (not gate.fails, _OUTCOMES.index(gate.outcome)))
    shown = _in_plain_sight(lists, report, compared)
    unfolded = {id(gate) for gate in gates[: lists.unfolded]}
    lines: list[Entry] = []
    for gate in gates[:BUILT]:
        lines.append(entries.gate(_without(no_base, gate), shown, causes=id(gate) in unfolded))
        if follow := consequences_of(gate, verdict.gates):
            lines.append(entries.consequences(follow))
    listed = lists.listed("gates", "Gates", lines, lambda line: line, unfolded=BUILT)
    yield listed.cut(2 * lists.unfolded)
    found = {finding.location for finding in (report.validation.findings if report.validation else ())}
    reasons = skipped_by_cause(report.skipped_to_report, found)
    yield lists.listed("skipped", "Not run", reasons, lambda reason: entries.skipped(*reason), unfolded=BUILT)
    replaced = report.engine.substitutions if report.engine else ()
    title = f"What the engine replaces ({len(replaced)})"
    yield lists.listed("substituted", title, replaced, entries.substitution, unfolded=0)
    yield lists.listed("method", "How it was measured", _method(report, compared), lambda remark: remark, unfolded=0)


def _in_plain_sight(lists: Lists, report: Report, compared: Comparison | None) -> frozenset[Location | str | None]:
    """What the lists above show without unfolding: tests by name, everything else by place."""
    tests = wrong_tests(report) if compared is None else newly_failing_tests(compared)
    wrong = wrong_sentences(report) if compared is None else likely_noise(report, compared)[1]
    found = findings_worst_first(report) if compared is None else compared.new_findings
    stories = misunderstood_stories(report) if compared is None else compared.stories.newly_misunderstood
    e2e = misunderstood_cases(report) if compared is None else compared.e2e.newly_misunderstood
    shown = [test for group in tests_by_cause(tests)[: lists.unfolded] for test in group]
    places: list[Location | str | None] = [case.location for _, case in shown]
    places += [f"{kind} {case.name}{and_copies(case)}" for kind, case in shown]
    if compared:
        commit = compared.baseline.commit
        places += [gone_from(*test, commit) for test in tests_gone(compared)[: lists.unfolded // 2]]
    places += [case.location for cases in (stories, e2e, wrong) for case in cases[: lists.unfolded]]
    for _, severity, _ in SEVERITIES[:2]:
        groups = findings_by_cause([finding for finding in found if finding.severity == severity])
        places += [finding.location for group in groups[: lists.unfolded] for finding in group]
    return frozenset(places)


def overlaps(report: Report, compared: Comparison | None) -> list[OverlapRemark]:
    return list(overlap_remarks(report.nlu, compared.base_overlap if compared else None)) if report.nlu else []


def _method(report: Report, compared: Comparison | None) -> list[Entry]:
    """How the figures were computed."""
    parts = [part for part in (report.nlu, report.core, report.e2e) if part]
    known = [remark.in_words for remark in overlaps(report, compared) if not remark.new]
    return [Entry(line(Prose(remark, 1000))) for remark in (*known, *(one for part in parts for one in part.remarks))]


def _without(text: str, gate: GateResult) -> GateResult:
    """The gate without a reason that the document has said already."""
    if not text:
        return gate
    return msgspec.structs.replace(gate, reason=gate.reason.replace(f": {text}", "").replace(f" ({text})", ""))
