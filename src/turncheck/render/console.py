"""The summary on a terminal: what failed first, the figures, the verdict as the last line."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from turncheck.comparison.baseline import WAYS
from turncheck.comparison.cases import findings_worst_first
from turncheck.comparison.consequences import cause_of, consequences_of
from turncheck.comparison.misunderstood import misunderstood_sentences, told_otherwise
from turncheck.comparison.model import and_copies
from turncheck.comparison.renames import message_of
from turncheck.comparison.tally import how_to_run
from turncheck.comparison.wording import count
from turncheck.render.causes import caused_first, findings_by_cause, number_of_tests, tests_by_cause
from turncheck.render.main_metrics import main_metrics
from turncheck.render.not_run import skipped_by_cause
from turncheck.render.overlap_text import overlap_remarks
from turncheck.render.rendered import Rendered
from turncheck.render.rooted import Rooted, base_places
from turncheck.render.sinks.terminal import place, text
from turncheck.render.unjudged_text import unjudged_remark
from turncheck.render.wrong_cases import misunderstood_cases, misunderstood_stories, new_and_old, wrong_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.comparison.model import (
        CaseChange,
        Comparison,
        FindingChange,
        GateResult,
        MisunderstoodSentence,
        TrainingChange,
        Verdict,
    )
    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.render.causes import Test
    from turncheck.render.links import Links
    from turncheck.render.main_metrics import MainMetric
    from turncheck.report.model import Report

_MOST: Final = 10
_MOST_ALIKE: Final = 5
"""Of tests that fail alike, so many are named."""
_BELOW: Final = "- "
"""Begins a line that stands below the one before."""
_PLAIN_WIDTH: Final = 10_000
"""Without a terminal a line is as long as it is: whoever reads a log or greps it wants it whole."""
_NO_BASELINE: Final = {
    "missing": "No baseline", "unreachable": "Baseline out of reach", "unreadable": "Unreadable baseline",
}  # fmt: skip
_STYLES: Final = {
    "failed": "bold red", "passed": "bold green", "not judged": "yellow",
    "real drop": "red", "worse": "red", "real gain": "green", "better": "green",
}  # fmt: skip


def render_console(
    report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, *, width: int | None = None
) -> Rendered:
    """Render the terminal summary.

    Args:
        links: its ``folder`` is put before the paths, so that they open from where the terminal stands.
        width: columns of the terminal, for colours and wrapped lines; ``None`` without one: plain lines.
    """
    out = StringIO()
    console = Console(
        file=out,
        width=width or _PLAIN_WIDTH,
        force_terminal=width is not None,
        color_system="standard" if width is not None else None,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
    )
    compared = comparison if comparison and comparison.judged else None
    rooted = Rooted(report, links.folder, base_places(compared))
    _failures(console, report, compared, links.folder)
    _figures(console, main_metrics(report, comparison), compared=compared is not None)
    for line in _remarks(report, comparison):
        console.print(rooted.text(line))
    _gates(console, rooted.verdict(verdict), links.folder)
    content = "\n".join(line.rstrip() for line in out.getvalue().splitlines())
    return Rendered("summary.txt", "text/plain", content + "\n")


def _failures(console: Console, report: Report, compared: Comparison | None, folder: str) -> None:
    renamed = compared.renamed if compared else ()
    errors = [
        replace(finding, message=message_of(finding, renamed))
        for finding in findings_worst_first(report)
        if finding.severity == "error"
    ]
    groups = findings_by_cause(errors)
    shown = [line for group in groups[:_MOST] for line in _findings(group, folder)]
    _listed(console, "Errors in the data", shown, len(errors), left=sum(map(len, groups[_MOST:])))
    for collision in compared.collisions[:_MOST] if compared else ():
        one, other = collision.intents
        told = f"({count(collision.newly_wrong, 'sentence')} newly misclassified)"
        console.print(f"{text(one)} and {text(other)} now collide {told}", style="red")
    if compared:
        title = "Training sentences moved to another intent, or written under two"
        _listed(console, title, (_relabelled(one, folder) for one in compared.relabelled))
    new, old = new_and_old(report, compared)
    first = "Newly failing tests" if compared and compared.judged else "Failed tests"
    for title, tests in ((first, _with_base(new, compared)), ("Tests that fail on the base too", old)):
        alike = tests_by_cause(tests)
        shown = [line for group in alike[:_MOST] for line in _tests(group, folder)]
        left = number_of_tests(test for group in alike[_MOST:] for test in group)
        _listed(console, title, shown, number_of_tests(tests), left=left)
    outcome = "" if report.settings.misunderstood == "fail" else ", which does not fail the run"
    misunderstood = misunderstood_sentences(misunderstood_stories(report))
    title = f"Misunderstood in stories that pass as written{outcome}"
    _listed(console, title, (_misunderstood(one, folder) for one in _explained(misunderstood, compared)))
    in_cases = misunderstood_sentences(misunderstood_cases(report))
    title = f"Misunderstood in end-to-end cases that pass understood as on the base{outcome}"
    _listed(console, title, (_misunderstood(one, folder, "end-to-end case") for one in _explained(in_cases, compared)))
    if compared:
        _listed(
            console,
            "Newly misclassified",
            (_sentence(case, folder) for case in caused_first(compared.examples.newly_failing)),
        )
    else:
        _listed(console, "Misclassified", (_sentence(case, folder) for case in wrong_sentences(report)))


def _with_base(tests: Iterable[Test], compared: Comparison | None) -> list[Test]:
    """The tests; of those that newly fail the comparison knows what their messages were understood as on the base."""
    newly = compared.e2e.newly_failing if compared else ()
    known = {(case.name, case.location, case.said): case.base_understood for case in newly}
    return [
        (kind, msgspec.structs.replace(case, base_understood=known.get((case.name, case.location, case.said), "")))
        for kind, case in tests
    ]


def _explained(
    sentences: Iterable[MisunderstoodSentence], compared: Comparison | None
) -> Iterable[MisunderstoodSentence]:
    """The sentences; of the newly misunderstood ones the comparison knows what of the change did it."""
    told = (*compared.misunderstood, *compared.misunderstood_in_cases) if compared else ()
    known = {(one.text, one.location): one.because for one in told}
    for one in sentences:
        yield msgspec.structs.replace(one, because=known.get((one.text, one.location), one.because))


def _misunderstood(sentence: MisunderstoodSentence, folder: str, kind: str = "story") -> str:
    at = _place(sentence.location, folder)
    stories = ", ".join(text(story.name, 60) for story in sentence.stories[:3])
    more = f" and {sentence.number - 3:,} more" if sentence.number > 3 else ""
    if not sentence.expected:
        return f"{at}{kind} {stories}: the imported files do not say which sentence"
    near = sentence.because[0] if sentence.because else None
    how = "" if near is None else f"; near the {near.change} sentence '{text(near.text)}'"
    if near is not None and near.change in {"unchanged", "unknown"}:
        how = f"; near '{text(near.text)}'"
    where = f" ({text(near.intent)}, {place(near.location, folder)})" if near is not None else ""
    wanted, got = ("expected", "got") if kind == "story" else ("on the base", "now")
    said = f"'{text(sentence.text)}': {wanted} {text(sentence.expected)}, {got} {text(sentence.predicted)}"
    return f"{at}{said} ({kind} {stories}{more}{how}{where})"


def _relabelled(sentence: TrainingChange, folder: str) -> str:
    was = "was" if sentence.change == "relabelled" else "like one of"
    told = f"'{text(sentence.text)}': now in {text(sentence.intent)}, {was} {text(sentence.was or '')}"
    return f"{_place(sentence.location, folder)}{told}"


def _listed(
    console: Console, title: str, lines: Iterable[str], number: int | None = None, *, left: int | None = None
) -> None:
    """Print the first lines.

    Args:
        console: where to.
        title: what stands above them.
        lines: all of them; those that begin with a dash stand below the one before.
        number: how many things they tell of, where that is not one each.
        left: how many things are left out of them already; by default the lines beyond the first ones are.
    """
    entries = list(lines)
    if not entries:
        return
    console.print(f"{title} ({len(entries) if number is None else number:,})", style="bold")
    shown = entries if left is not None else entries[:_MOST]
    for line in shown:
        _indented(console, line, 4 if line.startswith(_BELOW) else 2)
    more = len(entries) - len(shown) if left is None else left
    if more:
        console.print(f"  … and {more:,} more in report.json")
    console.print()


def _findings(group: Sequence[Finding | FindingChange], folder: str) -> Iterator[str]:
    """Findings about one thing: the first, and below it the others."""
    first, *others = group
    yield f"{_place(first.location, folder)}{text(first.code)}: {text(first.message, 400)}"
    if not others:
        for other in first.others[:_MOST_ALIKE]:
            yield f"{_BELOW}{place(other, folder)}"
        if len(first.others) > _MOST_ALIKE:
            yield f"{_BELOW}… and {len(first.others) - _MOST_ALIKE:,} more"
    for finding in others[:_MOST_ALIKE]:
        yield f"{_BELOW}{_place(finding.location, folder)}{text(finding.message, 400)}"
    if len(others) > _MOST_ALIKE:
        yield f"{_BELOW}… and {len(others) - _MOST_ALIKE:,} more"


def _tests(group: Sequence[Test], folder: str) -> Iterator[str]:
    """Tests that fail alike: what went wrong, and below it who fails because of it."""
    _, first = group[0]
    if len(group) == 1:
        yield _test(*group[0], folder)
        yield from _heard(first)
        return
    alike = all(case.remark == first.remark for _, case in group)
    told = _what_went_wrong(first if alike else msgspec.structs.replace(first, remark=""))
    yield f"{count(number_of_tests(group), 'test')}: {told}"
    for kind, case in group[:_MOST_ALIKE]:
        yield f"{_BELOW}{_place(case.location, folder)}{kind} {text(case.name)}{and_copies(case)}"
        yield from _heard(case)
    if len(group) > _MOST_ALIKE:
        yield f"{_BELOW}… and {number_of_tests(group[_MOST_ALIKE:]):,} more"


def _heard(case: CaseChange) -> Iterator[str]:
    """What the user said before a case failed, what that is understood as, and what else is misunderstood."""
    if case.said and case.understood:
        base = f"; on the base as {text(case.base_understood)}" if case.base_understood else ""
        base = ", as on the base" if case.base_understood == case.understood else base
        yield f"{_BELOW}'{text(case.said)}' is understood as {text(case.understood)}{base}"
    for sentence in case.sentences:
        near = f"; near '{text(sentence.neighbours[0].text)}'" if sentence.neighbours else ""
        yield f"{_BELOW}also misunderstood: {text(told_otherwise(sentence, case=bool(case.again)), 600)}{near}"
    if case.again:
        yield f"{_BELOW}{case.again}"


def _indented(console: Console, line: str, columns: int) -> None:
    """Print a line so that what wraps is indented as well."""
    console.print(Padding(Text(line), (0, 0, 0, columns), expand=False))


def _test(kind: str, case: CaseChange, folder: str) -> str:
    told = _what_went_wrong(case)
    return f"{_place(case.location, folder)}{kind} {text(case.name)}{and_copies(case)}{f': {told}' if told else ''}"


def _what_went_wrong(case: CaseChange) -> str:
    if not case.expected:  # no step failed: something kept the case from being run to its end
        return text(case.actual)
    if not case.actual:
        return f"expected {text(case.expected)}, but {text(case.remark)}"
    how = f" {text(case.remark)}" if case.remark else ""
    return f"expected {text(case.expected)}, got {text(case.actual)}{how}"


def _sentence(case: CaseChange, folder: str) -> str:
    because = f" (near the {case.because[0].change} sentence '{text(case.because[0].text)}')" if case.because else ""
    got = text(case.actual) or "no intent"
    return f"{_place(case.location, folder)}'{text(case.name)}': expected {text(case.expected)}, got {got}{because}"


def _place(location: Location | None, folder: str) -> str:
    """``path:line:column: ``, as compilers write it, so that editors and terminals open it."""
    return f"{place(location, folder)}: " if location else ""


def _figures(console: Console, rows: list[MainMetric], *, compared: bool) -> None:
    if not rows:
        return
    table = Table(box=None, pad_edge=False, show_header=compared)
    table.add_column("")
    for heading in ("base", "now", "change") if compared else ("now",):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        label = Text(f"{row.title} {text(row.subject, 40)}".rstrip())
        cells = (row.base, row.now, row.change) if compared else (row.now,)
        table.add_row(label, *map(Text, cells), _mark(row))
    console.print(table)
    console.print()


def _mark(row: MainMetric) -> Text:
    note = row.note if row.mark else row.note.removeprefix("; ")
    return Text.assemble((row.mark, _STYLES.get(row.mark, "")), note)


def _remarks(report: Report, comparison: Comparison | None) -> Iterable[str]:
    if comparison:
        used = comparison.baseline
        if used.status == "present":
            yield f"Base: {f'commit {text(used.commit)}, ' if used.commit else ''}{WAYS[used.way] if used.way else ''}"
        else:
            yield f"{_NO_BASELINE[used.status]}: {text(used.reason, 400)}"
        yield from (f"Warning: {text(warning, 400)}" for warning in comparison.warnings)
    if report.stopped is not None:
        yield f"Stopped: {text(report.stopped, 1000)}"
    skipped = [case for case in (report.e2e.cases if report.e2e else ()) if case.outcome == "skipped"]
    if skipped:
        reason = text(skipped[0].reason or "no reason was given", 400)
        remedy = f" (to run them, {how_to_run(report)})" if how_to_run(report) else ""
        yield f"Not run: {count(len(skipped), 'end-to-end case')}: {reason}{remedy}"
    warned = report.e2e.warned if report.e2e else ()
    if warned:
        told = f"{count(len(warned), 'end-to-end case')} passed with a warning"
        yield f"Warning: {told}: {text(warned[0].warning or '', 400)}"
    yield from (f"Warning: {remark}" for remark in (overlap_remarks(report.nlu) if report.nlu else ()))
    if unjudged := unjudged_remark(report.nlu) if report.nlu else None:
        yield f"Warning: {text(unjudged, 1000)}"
    places = {finding.location for finding in (report.validation.findings if report.validation else ())}
    yield from (
        f"Not run: {'a part of ' if entry.part else ''}{text(names)}: {text(reason, 400)}"
        for names, entry, reason in skipped_by_cause(report.skipped, places)
    )
    replaced = report.engine.substitutions if report.engine else ()
    for entry in replaced:
        yield f"Replaced: {text(entry.component)} by {text(entry.used or 'nothing')}: {text(entry.reason, 400)}"


def _gates(console: Console, verdict: Verdict, folder: str) -> None:
    console.print()
    for gate in verdict.gates:
        if gate.follows:
            continue
        outcome = "failed" if gate.fails else gate.outcome
        told = ": not judged" if gate.fails and gate.outcome == "not judged" else ""
        line = f"  {text(gate.name, 200)}{told}: {text(gate.reason, 600)}{_first_cause(gate, folder)}"
        console.print(Text.assemble((outcome, _STYLES[outcome]), line))
        others = () if not gate.fails else gate.failed_by[1:] if gate.first_cause else gate.failed_by
        for cause in others[:_MOST]:
            _indented(console, f"{_place(cause.location, folder)}{text(cause.what, 400)}", 4)
        if len(others) > _MOST:
            console.print(f"    … and {len(others) - _MOST:,} more in verdict.json")
        _consequences(console, consequences_of(gate, verdict.gates), folder)
    console.print()
    style = _STYLES["not judged" if verdict.reservation else verdict.outcome]
    console.print(Text.assemble((verdict.told, style), f": {text(verdict.summary, 1000)}"))


def _first_cause(gate: GateResult, folder: str) -> str:
    """``: story 'order' (tests/test_stories.yml:3:3)``; the others stand below the line."""
    first = gate.first_cause
    if first is None:
        return ""
    at = f" ({place(first.location, folder)})" if first.location else ""
    return f": {text(first.what, 400)}{at}"


def _consequences(console: Console, gates: list[GateResult], folder: str) -> None:
    """Gates that fail only because of what the one above names, in one line."""
    if not gates:
        return
    cause = cause_of(gates)
    because = f"because of {place(cause, folder)}, above" if cause else "because of what failed above"
    names = text(", ".join(one.name for one in gates), 600)
    console.print(Text.assemble(("failed", _STYLES["failed"]), f"  {names}: {because}"))
