"""Sections that are lists: entries worst first, some in plain sight, what fails the same way as one."""

from __future__ import annotations

from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from turncheck.render import entries
from turncheck.render.grouping import Test, findings_by_cause, in_both, number_of_tests, tests_by_cause
from turncheck.render.spans import BUILT, Code, Entry, Line, NeutralSection, Prose, Section, line, listed
from turncheck.render.wording.causes import why_misunderstood_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.comparison.changes import FindingChange, MisunderstoodSentence
    from turncheck.messages.finding import Finding, Location
    from turncheck.render.case_keys import CaseKeys
    from turncheck.report.model import Report

_Item = TypeVar("_Item")
MISUNDERSTOOD: Final = ("misunderstood", "misunderstood_cases")
SEVERITIES: Final = (("errors", "error", "errors"), ("findings", "warning", "warnings"), ("notes", "info", "notes"))
"""Sections of findings: their names, severities, and what they are called."""

_Found = tuple["Finding | FindingChange", ...]


class Lists(Struct, frozen=True):
    """Makes the sections, ``unfolded`` entries of each in plain sight."""

    unfolded: int
    keys: CaseKeys

    def listed(
        self,
        name: str,
        title: str,
        items: Sequence[_Item],
        entry: Callable[[_Item], Entry],
        *,
        unfolded: int | None = None,
    ) -> NeutralSection:
        built = tuple(self.keys.placed(entry(item)) for item in islice(items, BUILT))
        return Section(name, title, built, len(items), self.unfolded if unfolded is None else unfolded)

    def in_the_data(
        self,
        found: Sequence[Finding | FindingChange],
        *,
        new: bool,
        because: Mapping[Location, Sequence[Test]] = MappingProxyType({}),
    ) -> Iterable[NeutralSection]:
        """A section for each severity, findings about one thing as one entry; notes are folded."""
        for name, severity, plural in SEVERITIES:
            listed = [finding for finding in found if finding.severity == severity]
            groups = findings_by_cause(listed)
            title = f"{f'New {plural}' if new else plural.capitalize()} in the data ({len(listed)})"
            unfolded = 0 if severity == "info" else self.unfolded
            section = self.listed(name, title, _hints_once(groups), partial(_findings, because), unfolded=unfolded)
            yield replace(section, total=len(listed), weights=tuple(map(len, groups)))

    def failing(self, name: str, title: str, tests: Sequence[Test], *, unfolded: int | None = None) -> NeutralSection:
        """Tests that fail; those that fail the same way are one entry."""
        groups, number = tests_by_cause(tests), number_of_tests(tests)
        section = self.listed(name, f"{title} ({number})", groups, entries.steps, unfolded=unfolded)
        return replace(section, total=number, weights=tuple(map(number_of_tests, groups)))

    def misunderstood(
        self,
        names: tuple[str, str],
        text: str,
        stories: Sequence[MisunderstoodSentence],
        cases: Sequence[MisunderstoodSentence],
        report: Report,
        *,
        entry: Callable[[MisunderstoodSentence, MisunderstoodSentence | None], Entry] = entries.misunderstood,
        **how: int,
    ) -> Iterable[NeutralSection]:
        """The sentences that are the only reason why tests fail, and what that means for the run.

        One that is understood the same way in both kinds of tests is listed once; for the other sentences of end-to-end
        cases, what was understood on the base is expected. ``text``: the title, with ``{}`` for the kind of test.
        """
        both, only_in_cases = in_both(stories, cases)
        shared = _shared_causes([one for one, _ in both]), _shared_causes(only_in_cases)
        if shared[0]:
            both = [(_without_causes(one), other) for one, other in both]
        if shared[1]:
            only_in_cases = [_without_causes(one) for one in only_in_cases]
        where = "" if any(other for _, other in both) else " in stories"
        in_stories = self.listed(
            names[0],
            f"{text.format(where)} ({len(both)})",
            both,
            lambda misunderstood_sentences: entry(*misunderstood_sentences),
            **how,
        )
        note = line(_what_it_does(report), shared[0], _out_of_reach(report, [one for one, _ in both]))
        yield replace(in_stories, note=note)
        title = f"{text.format(' in end-to-end cases')} ({len(only_in_cases)})"
        in_cases = self.listed(names[1], title, only_in_cases, entries.misunderstood_in_case, **how)
        yield replace(in_cases, note=line(_what_it_does(report), shared[1]))


def _findings(because: Mapping[Location, Sequence[Test]], advised: tuple[_Found, bool]) -> Entry:
    found, advises = advised
    return entries.findings(found, advises=advises, because=because.get(found[0].location, ()))


def _shared_causes(sentences: Sequence[MisunderstoodSentence]) -> Line:
    """What is proved to be the cause of all of several sentences, to be said once; nothing if they have no such one."""
    alike = len(sentences) > 1 and len({sentence.causes for sentence in sentences}) == 1
    why = why_misunderstood_in_words(*sentences) if alike else ""
    return line(" ", Prose(f"All {why}.", names_paths=True)) if why else ()


def _without_causes(sentence: MisunderstoodSentence) -> MisunderstoodSentence:
    return replace(sentence, causes=())


def _what_it_does(report: Report) -> Line:
    """What misunderstood tests do to the run."""
    outcome = "this fails the run" if report.settings.misunderstood == "fail" else "this does not fail the run"
    return line(Code(f"misunderstood: {report.settings.misunderstood}"), f": {outcome}.")


def _out_of_reach(report: Report, sentences: Iterable[MisunderstoodSentence]) -> Line:
    """Which entities of these sentences only a component can find that was left out: nothing to learn them from."""
    left_out = [one.component for one in (report.engine.substitutions if report.engine else ()) if one.used is None]
    extractors = [line(Code(name)) for name in left_out if name.endswith("Extractor")]
    places = {sentence.location for sentence in sentences}
    expected = {
        entity.entity
        for story in (report.core.stories if report.core and extractors else ())
        for sentence in story.misunderstood
        if sentence.location in places
        for entity in sentence.expected.entities
    }
    known = {name for sentence in report.training_sentences for name in sentence.entities}
    names = sorted(expected - known - {words.name for words in report.word_lists}) if report.training_sentences else []
    if not names:
        return ()
    what, it = ("entity", "it") if len(names) == 1 else ("entities", "them")
    were = "was" if len(extractors) == 1 else "were"
    spans = listed([line(Code(name)) for name in names])
    return line(
        f" No training sentence has the {what} ",
        spans,
        ": ",
        listed(extractors),
        f", which {were} left out, may find {it}.",
    )


def _hints_once(groups: Sequence[_Found]) -> list[tuple[_Found, bool]]:
    """Advice is given once, at the first entry that needs it."""
    first: dict[str, int] = {}
    return [(group, first.setdefault(group[0].hint, place) == place) for place, group in enumerate(groups)]
