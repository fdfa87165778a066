"""What a document says about a run, chosen and worded once: comment, job summary and terminal only write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, UnsetType
from msgspec.structs import replace

from turncheck.messages.phrasing import count
from turncheck.render.content import all_sections
from turncheck.render.main_metrics import main_metrics
from turncheck.render.phrases import moment
from turncheck.render.spans import Code, Entry, Line, Link, NeutralSection, Prose, Strong, Term, line, listed
from turncheck.render.trust import fallback_entry, trust_entry
from turncheck.render.wording.changes import unreadable_in_words
from turncheck.render.wording.tests import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import BaselineSource, Comparison
    from turncheck.render.links import Links
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report, Unread


class Document(Struct, frozen=True):
    """A document's parts; an empty line is one that has nothing to say."""

    title: Entry
    headline: Line
    explained: tuple[Line, ...]
    baseline: Entry
    examples: Line
    footer: Line
    sections: tuple[NeutralSection, ...]


def build_document(
    report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, *, unfolded: int
) -> Document:
    """Make all parts. ``unfolded``: how many entries of a list are in plain sight."""
    return Document(
        title=_title(report, verdict),
        headline=line(Prose(verdict.summary, 1000, names_paths=True)),
        explained=_explained(report),
        baseline=_with_trust(_with_rules(_baseline(comparison, links), verdict), report),
        examples=_examples(report, comparison) if comparison and comparison.judged and report.nlu else (),
        footer=_footer(report, links),
        sections=all_sections(report, comparison, verdict, unfolded),
    )


MISUNDERSTOOD: Final = line(
    Term("Misunderstood"),
    ": a sentence of the story was understood differently than the story says, so the story does not pass;"
    " with intents and entities as written it does.",
)
MISUNDERSTOOD_CASE: Final = line(
    Term("Misunderstood"),
    ": a message of the end-to-end case was understood differently than on the base, so the case does not"
    " pass; understood as on the base it does.",
)

MISUNDERSTOOD_BOTH: Final = line(
    Term("Misunderstood"),
    ": a sentence was understood differently than the story says or, in an end-to-end case, than on the base, so the"
    " test does not pass; understood as written, or as on the base, it does.",
)


def _explained(report: Report) -> tuple[Line, ...]:
    """What "misunderstood" means, if there are such tests."""
    stories, cases = report.core.stories if report.core else (), report.e2e.cases if report.e2e else ()
    in_cases = any(case.outcome == "misunderstood" for case in cases)
    in_stories = any(story.outcome == "misunderstood" for story in stories)
    if in_stories and in_cases:
        return (MISUNDERSTOOD_BOTH,)
    return (*([MISUNDERSTOOD] if in_stories else []), *([MISUNDERSTOOD_CASE] if in_cases else []))


def _title(report: Report, verdict: Verdict) -> Entry:
    name = report.project.name or report.project.root
    calm = verdict.reservation in {"", "old failures only"}
    spans = line(verdict.in_words.capitalize(), line(": ", Prose(name, 100)) if name else ())
    return Entry(spans, sign="failed" if not verdict.passed else "passed" if calm else "caution")


_WAYS: Final[dict[BaselineSource, str]] = {
    "artifact": "the report of an earlier run",
    "git": "evaluated here, from git",
    "tarball": "evaluated here, from the repository's archive",
    "ancestor": "the report of its nearest ancestor that has one",
    "run": "as the run itself measured it",
    "file": "a report given as a file",
    "url": "a report given by its address",
}
"""How a baseline was found, in words."""


def _places(unread: Sequence[Unread]) -> str:
    places = [*dict.fromkeys(f"'{one.location.path}:{one.location.line or 1}'" for one in unread)]
    shown = joined(places[:_MOST_PLACES])
    return f"{shown} and {len(places) - _MOST_PLACES:,} more places" if len(places) > _MOST_PLACES else shown


_MOST_PLACES: Final = 3
_TRAINING_REFUSED: Final = "training-refused"


def _baseline(comparison: Comparison | None, links: Links) -> Entry:
    """Commit and run of the baseline, and how it was found; or why there is none."""
    if comparison is None:
        return Entry(line("Not compared with a base."))
    used = comparison.baseline
    warnings = tuple(Entry(line(Prose(warning), "."), sign="caution") for warning in used.warnings)
    if used.status != "present":
        word = {
            "missing": "No baseline"
            if isinstance(comparison.many_losses, UnsetType)
            else "Only the base's bot was asked",
            "unreachable": "The baseline could not be reached",
            "unreadable": "The baseline could not be read",
        }[used.status]
        return Entry(line(Strong(f"{word}:"), " ", Prose(used.reason)), below=warnings)
    parts = line("Compared with ")
    if used.commit:
        commit = line("commit ", Code(used.commit[:8]))
        parts = line(parts, Link(commit, links.commit_page(used.commit)), ": ")
    parts = line(parts, _WAYS[used.way] if used.way else "a report")
    if used.mended:
        trained = all(one.code == _TRAINING_REFUSED for one in used.mended)
        what = "trained because of" if trained else "read at"
        words = f"; it cannot be {what} {_places(used.mended)}, and was repaired there as this change repairs it"
        parts = line(parts, Prose(words, 400, names_paths=True))
    if used.hidden:
        words = f"; it {unreadable_in_words(used.hidden)}, so what it has there is not known"
        parts = line(parts, Prose(words, 400, names_paths=True))
    if used.run_id:
        run = Link(line("run ", Code(used.run_id, 20)), links.run_page(used.run_id))
        parts = line(parts, " (", run, ")")
    if used.passed_over:
        parts = line(parts, "; artifacts skipped: ", Prose(used.passed_over))
    return Entry(line(parts, "."), below=warnings)


def _with_rules(baseline: Entry, verdict: Verdict) -> Entry:
    """Add which rules `fail-on: auto` chose beside this base."""
    if isinstance(verdict.chosen, UnsetType):
        return baseline
    words = ", ".join(verdict.chosen.fail_on)
    rules = line("Judged by ", Code(words), " (", Code("fail-on: auto"), ": ", Prose(verdict.chosen.because), ").")
    return replace(baseline, below=(Entry(rules), *baseline.below))


def _with_trust(baseline: Entry, report: Report) -> Entry:
    parts = (trust_entry(report), fallback_entry(report))
    return replace(baseline, below=(*baseline.below, *(entry for entry in parts if entry is not None)))


def _examples(report: Report, comparison: Comparison) -> Line:
    """A remark for when the two sides did not judge the same sentences."""
    cases = comparison.examples
    if not (cases.added or cases.removed or cases.edited):
        return ()
    same = cases.shared - len(cases.edited)
    words = f"Both sides judged {count(same, 'sentence')}" if same else "No sentence was judged on both sides"
    numbers = ((cases.added, "new"), (cases.removed, "gone"), (len(cases.edited), "edited"))
    others = ", ".join(f"{number:,} {word}" for number, word in numbers if number)
    rows = [metric for metric in main_metrics(report, comparison) if metric.on_shared]
    whole = [line(f"{row.label} ", line(Code(row.subject, 40), " ") if row.subject else (), row.whole) for row in rows]
    of_all = line(" On all sentences of each side: ", listed(whole, "; "), ".") if whole else ()
    return line(f"{words}; {others}.", of_all)


def _footer(report: Report, links: Links) -> Line:
    parts = [line(Prose(f"{report.tool.name} {report.tool.version}", 60))]
    if report.engine:
        parts.append(line(Prose(f"engine {report.engine.name}", 60)))
    parts.append(line(f"seed {report.seed}"))
    if measured := report.source.measured:
        parts.append(line(f"measured {moment(measured)}"))
    if commit := report.source.commit:
        parts.append(line(Link(line("commit ", Code(commit[:8])), links.commit_page(commit))))
    if links.run_url:
        parts.append(line(Link(line("this run"), links.run_url)))
    if links.html_url:
        parts.append(line(Link(line("the page"), links.html_url)))
    if links.artifact_url:
        parts.append(line(Link(line("all results"), links.artifact_url)))
    return listed(parts, " · ")
