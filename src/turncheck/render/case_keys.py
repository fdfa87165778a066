"""Keys of judged cases: what an address names after ``#``, the same in every run and every output.

A key is made of what a case is (a sentence and its intent, the name of a test), never of its position, so that a link
from last week's comment leads to the same case in today's page.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from turncheck.comparison.cases import Case, batch_cases, end_to_end_cases, intent_cases, story_cases
from turncheck.comparison.matching import places_of, unpaired_case
from turncheck.comparison.quarantine import is_excused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange
    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Location
    from turncheck.render.spans import Entry
    from turncheck.report.model import Report


_KINDS: Final = {"story": "story", "end-to-end case": "case", "batch case": "batch"}
_DIGITS: Final = 12


def key_of_sentence(text: str, intent: str) -> str:
    """Return the key of a judged sentence."""
    return "sentence-" + _digest(f"{intent}\n{text}")


def key_of_text(text: str) -> str:
    """Return what identifies a judged sentence only by its text; :class:`CaseKeys` finds its key by its place."""
    return "text-" + _digest(text)


def key_of_test(kind: str, name: str) -> str:
    """Return the key of a ``story``, an ``end-to-end case`` or a ``batch case``."""
    return f"{_KINDS[kind]}-{_digest(name)}"


def distinct_keys(keys: Iterable[str]) -> list[str]:
    """Number repeated keys: the second ``story-1f`` is ``story-1f-2``."""
    seen: Counter[str] = Counter()
    parts = []
    for key in keys:
        seen[key] += 1
        parts.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return parts


@dataclass(frozen=True)
class CaseKeys:
    """The keys of all cases of a report. Cases with the same name are distinguished by their places."""

    report: Report

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """Those of the judged sentences, in the report's order."""
        judged = self.report.nlu.predictions if self.report.nlu else ()
        return tuple(
            distinct_keys(key_of_sentence(prediction.text, prediction.expected.intent or "") for prediction in judged)
        )

    @cached_property
    def stories(self) -> tuple[str, ...]:
        """Those of the stories."""
        stories = self.report.core.stories if self.report.core else ()
        return tuple(distinct_keys(key_of_test("story", story.name) for story in stories))

    @cached_property
    def cases(self) -> tuple[str, ...]:
        """Those of the end-to-end cases."""
        cases = self.report.e2e.cases if self.report.e2e else ()
        return tuple(distinct_keys(key_of_test("end-to-end case", case.name) for case in cases))

    @cached_property
    def batch(self) -> tuple[str, ...]:
        """Those of the batch cases, suite by suite."""
        cases = self.report.batch.cases if self.report.batch else ()
        return tuple(distinct_keys(key_of_test("batch case", case.text) for case in cases))

    def placed(self, entry: Entry) -> Entry:
        """Return the entry; it and those below it get the keys of the cases at their places."""
        below = tuple(map(self.placed, entry.below))
        key = entry.case and self._at(entry.case, entry.place.location if entry.place else None)
        return entry if (key, below) == (entry.case, entry.below) else replace(entry, case=key, below=below)

    def _at(self, key: str, location: Location | None) -> str:
        found = self._of_several.get(key, ())
        here = (one for one, locations in found if location in locations)
        return next(here, "" if key.startswith("text-") else key)

    @cached_property
    def _of_several(self) -> Mapping[str, Sequence[tuple[str, Sequence[Location]]]]:
        """The cases that share one name, each with its key and its places."""
        found: defaultdict[str, list[tuple[str, Sequence[Location]]]] = defaultdict(list)
        for name, key, locations in self._named():
            found[name].append((key, locations))
        return found

    def _named(self) -> Iterator[tuple[str, str, Sequence[Location]]]:
        report = self.report
        judged = report.nlu.predictions if report.nlu else ()
        for key, sentence in zip(self.sentences, judged, strict=True):
            yield key_of_text(sentence.text), key, (sentence.location,)
            yield key_of_sentence(sentence.text, sentence.expected.intent or ""), key, (sentence.location,)
        for key, story in zip(self.stories, report.core.stories if report.core else (), strict=True):
            yield key_of_test("story", story.name), key, places_of(story)
        for key, case in zip(self.cases, report.e2e.cases if report.e2e else (), strict=True):
            yield key_of_test("end-to-end case", case.name), key, places_of(case)
        for key, utterance in zip(self.batch, report.batch.cases if report.batch else (), strict=True):
            yield key_of_test("batch case", utterance.text), key, places_of(utterance)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


# What is wrong in a report, whatever the base says: failed tests, misclassified sentences.


def wrong_tests(report: Report) -> list[tuple[str, CaseChange]]:
    """Stories, end-to-end and batch cases that fail, with what they are called, in the report's order.

    Those that are only misunderstood are a class of their own: :func:`misunderstood_stories`,
    :func:`misunderstood_cases`.
    """
    return [(kind, _wrong(case)) for kind, cases in _tests(report) for case in cases if _counts_as_failed(report, case)]


def _counts_as_failed(report: Report, case: Case) -> bool:
    return case.failed and not is_excused(report, case)


def _tests(report: Report) -> Iterator[tuple[str, Sequence[Case]]]:
    yield "story", story_cases(report)
    yield "end-to-end case", end_to_end_cases(report)
    yield "batch case", batch_cases(report)


class WrongTests(NamedTuple):
    """Failing tests beside their base, each with what it is called."""

    new: list[tuple[str, CaseChange]]
    """Each named by what is wrong only here; without a base all."""
    old: list[tuple[str, CaseChange]]
    """Those that fail on the base too."""
    unknown: list[tuple[str, CaseChange]]
    """Those of which the base cannot show whether they did there."""


def new_and_old(report: Report, compared: Comparison | None) -> WrongTests:
    """Split :func:`wrong_tests` by what the base says of them."""
    if compared is None or not compared.judged:
        return WrongTests(wrong_tests(report), [], [])
    changed = {"story": compared.stories, "end-to-end case": compared.e2e, "batch case": compared.batch}
    found = WrongTests([], [], [])
    for kind, cases in _tests(report):
        find, find_unknown = by_place(changed[kind].newly_failing), by_place(changed[kind].unknown_cases)
        for case in cases:
            if not _counts_as_failed(report, case):
                continue
            if new := find(case.name, _places(case)):
                found.new.append((kind, new))
            elif unknown := find_unknown(case.name, _places(case)):
                found.unknown.append((kind, unknown))
            else:
                found.old.append((kind, _wrong(case)))
    return found


def by_place(changes: Iterable[CaseChange]) -> Callable[[str, Sequence[Location]], CaseChange | None]:
    """Return a function that finds the change of a case by its name and all of its places: any step may name it."""
    named: dict[str, list[CaseChange]] = defaultdict(list)
    for change in changes:
        named[change.name].append(change)

    return lambda name, locations: next(
        (case_change for case_change in named.get(name, ()) if case_change.location in locations), None
    )


def _places(case: Case) -> Sequence[Location]:
    return (case.location,) if case.result is None else places_of(case.result)


def misunderstood_stories(report: Report, but_for: Iterable[CaseChange] = ()) -> list[CaseChange]:
    """Stories that fail only because a sentence is understood differently than written; ``but_for``: others."""
    find = by_place(but_for)
    return [_wrong(case) for case in story_cases(report) if case.misunderstood and not find(case.name, _places(case))]


def misunderstood_cases(report: Report, but_for: Iterable[CaseChange] = ()) -> list[CaseChange]:
    """End-to-end cases that fail only because a sentence is understood differently than on the base."""
    find = by_place(but_for)
    return [
        _wrong(case) for case in end_to_end_cases(report) if case.misunderstood and not find(case.name, _places(case))
    ]


def wrong_sentences(report: Report) -> list[CaseChange]:
    """Test sentences whose intent is wrong, the most confident error first."""
    wrong = [_wrong(case) for case in intent_cases(report) if case.failed]
    return sorted(wrong, key=lambda case: -(case.confidence or 0.0))


def _wrong(case: Case) -> CaseChange:
    return msgspec.structs.replace(
        unpaired_case(case), passed=False, base_passed=False, base_misunderstood=case.misunderstood, rests_on=()
    )
