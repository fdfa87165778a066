"""Annotations as data: what to say at which line of which file. Workflow commands and check runs place them."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct

from turncheck.comparison.changes import listed_in
from turncheck.comparison.failed_tests import newly_failing_tests, tests_of
from turncheck.comparison.misunderstood import misunderstood_sentences
from turncheck.comparison.training_changes import dropped_intents, intent_of, is_likely_misparsed
from turncheck.evaluations.kinds import TESTS
from turncheck.gates.table import counts_old_failures
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import one_line
from turncheck.render.case_keys import misunderstood_cases, misunderstood_stories, new_and_old
from turncheck.render.changed_sections import likely_noise
from turncheck.render.links import PathResolver, repository_path
from turncheck.render.phrases import expected_got, expected_intent, nearest, understood_as
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.commands import command
from turncheck.render.spans import Line, line, plain
from turncheck.render.wording.causes import (
    causes_in_words,
    is_proved,
    why_dropped_in_words,
    why_found_in_words,
    why_in_words,
    why_misunderstood_in_words,
    without_causes,
)
from turncheck.render.wording.newly_judged import WHAT, details, mostly_wrong, outcome_in_words
from turncheck.render.wording.tests import failing_in_quarantine, quarantine_in_words, with_copy_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange, MisunderstoodSentence, TrainingChange
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Location
    from turncheck.render.assistants import Assistants
    from turncheck.report.causes import Cause
    from turncheck.report.model import Report


Level = Literal["error", "warning", "notice"]

LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "notice")
"""Worst first."""
PER_LEVEL: Final = 10
"""GitHub shows ten annotations of of each level per step, and drops the rest."""
_SEVERITIES: Final[dict[str, Level]] = {"error": "error", "warning": "warning", "info": "notice"}
_TEXT: Final = 300
_LINE: Final = 1000
_MOST_STORIES: Final = 3


class Annotation(Struct, frozen=True):
    """One remark at a place. ``path`` is relative to the repository; without it the remark is about the run."""

    level: Level
    title: str
    message: str
    path: str | None = None
    line: int | None = None


def find_annotations(report: Report, comparison: Comparison | None) -> tuple[Annotation, ...]:
    """Return all annotations, worst first and new before old, one per file and line."""
    merged: dict[tuple[str | None, int | None], list[Remark]] = {}
    for remark in find_remarks(report, comparison):
        path = repository_path(report.project.root, remark.location)
        merged.setdefault((path, remark.location.line if path else None), []).append(remark)
    found = [_merge(path, line, said) for (path, line), said in merged.items()]
    return tuple(sorted(found, key=lambda annotation: LEVELS.index(annotation.level)))


def find_remarks(report: Report, comparison: Comparison | None) -> list[Remark]:
    """Return everything to annotate at a place, new before old.

    Findings, failed stories, end-to-end steps and batch cases, and, with a base, sentences that are newly wrong:
    without one, nobody knows which of the wrong sentences matter to this change.
    """
    compared = comparison if comparison and comparison.judged else None
    new_findings, old_findings = _finding_remarks(report, compared)
    new, old, unknown = new_and_old(report, compared)
    stood_in = [one for one in new if report.tolerates_batch_failures and one[0] == "batch case"]
    new = [one for one in new if one not in stood_in]
    remarks = [*new_findings, *_test_remarks(new), *_test_remarks(stood_in, level="warning")]
    remarks += _misunderstood_remarks(report, compared)
    if compared:
        remarks += _cause_remarks(report, compared)
        remarks += [
            Remark(
                "warning",
                f"new {WHAT[one.kind]} is mostly wrong: {one_line(one.name, 100)}",
                one_line(f"{outcome_in_words(one)}{plain(details(one))}", _LINE),
                one.location,
                "new-and-mostly-wrong",
                one.name,
            )
            for one in mostly_wrong(compared)
        ]
        _, newly = likely_noise(compared)
        remarks += [_sentence_remark(case, case.location) for case in newly if case.location]
    remarks += old_findings
    # What failed before is only as severe as the gates count it, and never displaces what is new.
    counts = counts_old_failures(report.settings.fail_on)
    level: Level = "error" if counts else "warning"
    remarks += _test_remarks(unknown, level=level, failed="failed (perhaps on the base too)")
    remarks += _test_remarks(old, level=level, failed="failed (on the base too)")
    remarks += [
        Remark(
            "notice",
            f"{test.kind} fails in quarantine: {one_line(test.name, 100)}",
            one_line(quarantine_in_words(test.entry), _LINE),
            test.location,
            "quarantined-test",
            test.name,
        )
        for test in failing_in_quarantine(report)
        if test.location is not None
    ]
    rooted = PathResolver.of(report, compared)
    return [remark._replace(text=rooted.text(remark.text)) for remark in remarks]


def within_limit(
    found: Sequence[Annotation], taken: Mapping[Level, int] = MappingProxyType({})
) -> tuple[tuple[Annotation, ...], tuple[Annotation, ...]]:
    """Split annotations into those that are shown if only some of each level are, and those that are not.

    The last place of a level that has too many says how many more there are. ``taken``: slots already used.
    """
    shown: list[Annotation] = []
    left: list[Annotation] = []
    for level in LEVELS:
        same = [annotation for annotation in found if annotation.level == level]
        per_level = max(PER_LEVEL - taken.get(level, 0), 1)
        if len(same) <= per_level:
            shown += same
            continue
        kept = same[: per_level - 1]
        left += same[per_level - 1 :]
        more = f"and {len(same) - len(kept):,} more, see the job summary"
        shown += [*kept, Annotation(level, "turncheck", more)]
    return tuple(shown), tuple(left)


def workflow_commands(shown: Iterable[Annotation]) -> tuple[str, ...]:
    """Return annotations as workflow commands, one line each."""
    return tuple(
        command(
            annotation.level, annotation.message, file=annotation.path, line=annotation.line, title=annotation.title
        )
        for annotation in shown
    )


class Remark(NamedTuple):
    """One thing to say at a place of the project. ``kind`` is a finding's code or what went wrong with a test.

    ``subject`` distinguishes it from others of its kind, whatever line it moves to: a message, the name of a test, a
    sentence.
    """

    level: Level
    title: str
    text: str
    location: Location
    kind: str
    subject: str


def _finding_remarks(report: Report, compared: Comparison | None) -> tuple[list[Remark], list[Remark]]:
    """Errors and warnings, the new ones separate from those that the base has too.

    Notes are only in the report: beside somebody's lines they would be noise.
    """
    is_new = listed_in(compared.new_findings) if compared else lambda _: True
    new: list[Remark] = []
    old: list[Remark] = []
    for finding in report.validation.findings if report.validation else ():
        if finding.severity != "info":
            text = _sentence(finding.message, finding.hint)
            remark = Remark(
                _SEVERITIES[finding.severity], finding.code, text, finding.location, finding.code, finding.message
            )
            (new if is_new(finding) else old).append(remark)
    return new, old


def _test_remarks(
    tests: Iterable[tuple[str, CaseChange]], level: Level = "error", failed: str = "failed"
) -> list[Remark]:
    remarks: list[Remark] = []
    for kind, case in tests:
        if case.location:
            title = f"{kind} {failed}: {one_line(case.name, 100)}{with_copy_count(case)}"
            words = plain(expected_got(case.expected, case.actual, case.remark)) or "the case failed"
            if why := why_in_words(case):
                words += f"; {why}"
            kind_of_failure = f"failed-{kind.replace(' ', '-')}"
            remarks.append(Remark(level, title, one_line(words, _LINE), case.location, kind_of_failure, case.name))
    return remarks


def _cause_remarks(report: Report, compared: Comparison) -> list[Remark]:
    """What is proved to make tests fail, at its own changed line: there people look first."""
    misunderstood = [
        (TESTS[name][0], case)
        for name, cases in tests_of(compared)
        if not is_likely_misparsed(compared, name)
        for case in cases.newly_misunderstood
    ]
    level = _level_of_misunderstood(report)
    remarks = _at_causes(newly_failing_tests(compared), "error", "fail")
    remarks += _at_causes(misunderstood, level, "misunderstood")
    for finding in compared.new_findings:
        if why := why_found_in_words(finding):
            places = [cause.location for cause in finding.causes if cause.location is not None]
            text = one_line(f"{finding.message} {why}", _LINE)
            remarks += [
                Remark(_SEVERITIES[finding.severity], finding.code, text, place, "cause", finding.message)
                for place in places
            ]
    for metric in dropped_intents(compared):
        intent, places = intent_of(metric.name), [cause.location for cause in metric.known_causes if cause.location]
        title, text = f"makes the intent {one_line(intent, 100)} worse", one_line(why_dropped_in_words(metric), _LINE)
        remarks += [Remark("warning", title, text, place, "cause", intent) for place in places]
    repaired = [(TESTS[name][0], case) for name, cases in tests_of(compared) for case in cases.better if case.passed]
    return [*remarks, *_at_causes(repaired, "notice", "pass", ("it fails", "they fail"))]


def _at_causes(
    tests: Iterable[tuple[str, CaseChange]],
    level: Level,
    ends: str,
    without: Sequence[str] = ("it passes", "they pass"),
) -> list[Remark]:
    """One remark at each part that makes tests end so, wherever several do it only together.

    ``without``: how one test, or several, end without it.
    """
    explained: dict[tuple[Cause, ...], list[str]] = {}
    for kind, case in tests:
        if is_proved(case):
            explained.setdefault(case.causes, []).append(f"{kind} {one_line(case.name, 100)}")
    remarks = []
    for causes, names in explained.items():
        more = f" and {count(len(names) - 1, 'more test')}" if len(names) > 1 else ""
        text = f"{causes_in_words(causes)}; {without_causes(causes)}, {without[bool(more)]}"
        title = f"makes the {names[0]}{more} {ends}"
        places = [cause.location for cause in causes if cause.location is not None]
        remarks += [Remark(level, title, one_line(text, _LINE), place, "cause", names[0]) for place in places]
    return remarks


def _misunderstood_remarks(report: Report, compared: Comparison | None) -> list[Remark]:
    """Sentences that are the only reason why tests fail, as severe as the settings count them."""
    stories, cases = misunderstood_stories(report), misunderstood_cases(report)
    explained = (compared.misunderstood, compared.misunderstood_in_cases) if compared else ((), ())
    level = _level_of_misunderstood(report)
    found = [
        ("story", "as written the story passes", misunderstood_sentences(stories), explained[0]),
        ("end-to-end case", "understood as on the base the case passes", misunderstood_sentences(cases), explained[1]),
    ]
    remarks: list[Remark] = []
    for kind, passes, sentences, known in found:
        by_place = {(one.text, one.location): one for one in known}
        for sentence in sentences:
            misunderstood_sentence = by_place.get((sentence.text, sentence.location), sentence)
            names = ", ".join(one_line(test.name, 100) for test in misunderstood_sentence.stories[:_MOST_STORIES])
            spans = line(_misunderstood_line(misunderstood_sentence, kind), f"; {passes}")
            for near in misunderstood_sentence.because[:1]:
                spans = line(spans, nearest(near.text, near.intent, near.location, _drew(near)))
            if why := why_misunderstood_in_words(misunderstood_sentence):
                spans = line(spans, f"; {why}")
            title, text = f"misunderstood in {kind} {names}", one_line(plain(spans), _LINE)
            remarks.append(
                Remark(
                    level,
                    title,
                    text,
                    misunderstood_sentence.location,
                    "misunderstood-sentence",
                    misunderstood_sentence.text,
                )
            )
    return remarks


def _level_of_misunderstood(report: Report) -> Level:
    return "error" if report.settings.misunderstood == "fail" else "warning"


def _misunderstood_line(misunderstood_sentence: MisunderstoodSentence, kind: str) -> Line:
    if not misunderstood_sentence.expected:
        return line("the imported files do not say which sentence")
    return understood_as(
        misunderstood_sentence.text,
        misunderstood_sentence.expected,
        misunderstood_sentence.predicted,
        case=kind != "story",
    )


def _sentence_remark(case: CaseChange, location: Location) -> Remark:
    spans = expected_intent(case.name, case.expected, case.actual, case.confidence)
    if case.because:
        near = case.because[0]
        spans = line(spans, nearest(near.text, near.intent, near.location, _drew(near)))
    return Remark(
        "warning", "newly misclassified", one_line(plain(spans), _LINE), location, "misclassified-sentence", case.name
    )


def _drew(near: TrainingChange) -> str:
    return "near" if near.change in {"unchanged", "unknown"} else f"{near.change} in this change:"


def _merge(path: str | None, line: int | None, said: Sequence[Remark]) -> Annotation:
    """One annotation for everything said about a line: as severe as the worst of it."""
    level = min((remark.level for remark in said), key=LEVELS.index)
    if len(said) == 1:
        return Annotation(level, said[0].title, said[0].text, path, line)
    message = "\n".join(f"{remark.title}: {remark.text}" for remark in said)
    return Annotation(level, f"{len(said)} remarks", message, path, line)


def _sentence(message: str, hint: str) -> str:
    return f"{one_line(message, 600)} {one_line(hint, _TEXT)}".strip()


# GitLab's annotations report: links on the page of a job.
#
# Source: ``artifacts:reports:annotations`` in GitLab's documentation: an object of lists, each of ``external_link``
# with a label and an address.

FILE_NAME: Final = "gl-annotations.json"
_LONGEST: Final = 200


def render_job_annotations(assistants: Assistants) -> Rendered:
    """Render the link to the HTML page, labelled with the outcome in one line."""
    links, text = assistants.links, assistants.in_words
    url = links.html_url or links.artifact_url or links.run_url
    found = [{"external_link": {"label": one_line(f"turncheck: {text}", _LONGEST), "url": url}}] if url else []
    return Rendered(
        FILE_NAME, "application/json", json.dumps({"turncheck": found}, ensure_ascii=False, indent=2) + "\n"
    )
