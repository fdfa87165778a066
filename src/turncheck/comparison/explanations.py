"""Why something changed: training sentences of this change near the examples that went wrong, intents that collide, and
which changed things no test reaches. All from the two reports alone."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck.comparison.model import CaseChange, ChangedItem, Collision, TrainingChange
from turncheck.report.model import COVERAGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.report.model import Neighbour, NluPrediction, Report, TrainingSentence

_MOST_REASONS: Final = 3
_WORDS_IN_COMMON: Final = 0.4
"""A removed sentence supported an example if they share this part of their words (Jaccard's index)."""
_FEWEST_FOR_COLLISION: Final = 2
"""One sentence taken for another intent is a mistake; two between the same intents are the beginning of a pattern."""


@dataclass(frozen=True, slots=True)
class TrainingDifference:
    """What the change did to the training sentences: by index in the new list, and what is no longer there."""

    changed: Mapping[int, TrainingChange]
    removed: tuple[TrainingChange, ...]


def training_difference(base: Report, head: Report) -> TrainingDifference:
    """Compare the training sentences of both reports; a sentence is its text and its intent."""
    before = base.nlu.training if base.nlu else ()
    after = head.nlu.training if head.nlu else ()
    if not before or not after:
        return TrainingDifference({}, ())
    lost = Counter((sentence.text, sentence.intent) for sentence in before)
    changed: dict[int, TrainingSentence] = {}
    for index, sentence in enumerate(after):
        key = (sentence.text, sentence.intent)
        if lost[key] > 0:
            lost[key] -= 1
        else:
            changed[index] = sentence
    gone = _gone(before, lost)
    changes = {index: _added(sentence, gone) for index, sentence in changed.items()}
    return TrainingDifference(changes, tuple(change for waiting in gone.values() for change in waiting))


def _gone(before: Sequence[TrainingSentence], lost: Counter[tuple[str, str]]) -> dict[str, list[TrainingChange]]:
    """The sentences of ``before`` that are lost, by text. The last ones of equal sentences are the lost ones."""
    gone: dict[str, list[TrainingChange]] = defaultdict(list)
    for sentence in reversed(before):
        key = (sentence.text, sentence.intent)
        if lost[key] > 0:
            lost[key] -= 1
            gone[sentence.text].append(
                TrainingChange(change="removed", text=sentence.text, intent=sentence.intent, location=sentence.location)
            )
    return gone


def _added(sentence: TrainingSentence, gone: Mapping[str, list[TrainingChange]]) -> TrainingChange:
    """A new sentence, or one that is gone under another intent: then it is the same one, relabelled."""
    waiting = gone.get(sentence.text)
    was = waiting.pop().intent if waiting else None
    return TrainingChange(
        change="relabelled" if was is not None else "added",
        text=sentence.text,
        intent=sentence.intent,
        location=sentence.location,
        was=was,
    )


class Explainer:
    """Finds the training changes that explain an example that is newly wrong."""

    def __init__(self, difference: TrainingDifference, predictions: Iterable[NluPrediction]) -> None:
        self._difference = difference
        self._neighbours = {_example_key(example): example.neighbours for example in predictions if example.neighbours}
        self._removed_by_word: dict[str, list[int]] = defaultdict(list)
        for index, change in enumerate(difference.removed):
            for word in sorted(_words(change.text)):
                self._removed_by_word[word].append(index)

    def explain(self, case: CaseChange) -> CaseChange:
        """Return the case with the changes that explain it best.

        A sentence that came to the intent it was taken for pulls the example over; one that left the intent it should
        have been no longer holds it. The report's own neighbours say how near the first are; the second are gone from
        the model, so their nearness is that of their words.
        """
        pulling = [
            msgspec.structs.replace(change, similarity=neighbour.similarity)
            for neighbour in self._neighbours_of(case)
            if (change := self._difference.changed.get(neighbour.training))
            and (change.intent == case.actual or change.was == case.expected)
        ]
        reasons = sorted([*pulling, *self._no_longer_holding(case)], key=lambda change: -change.similarity)
        return msgspec.structs.replace(case, because=tuple(reasons[:_MOST_REASONS]))

    def _neighbours_of(self, case: CaseChange) -> Sequence[Neighbour]:
        return self._neighbours.get((case.name, case.expected, str(case.location)), ())

    def _no_longer_holding(self, case: CaseChange) -> list[TrainingChange]:
        words = _words(case.name)
        common = Counter(index for word in words for index in self._removed_by_word.get(word, ()))
        holding = []
        for index, count in common.items():
            change = self._difference.removed[index]
            share = count / (len(words) + len(_words(change.text)) - count)
            if change.intent == case.expected and share >= _WORDS_IN_COMMON:
                holding.append((index, msgspec.structs.replace(change, similarity=round(share, 4))))
        return [change for _, change in sorted(holding)]


def _example_key(example: NluPrediction) -> tuple[str, str, str]:
    return example.text, example.expected.intent or "", str(example.location)


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text[:1000].lower()))


def collisions(worse: Sequence[CaseChange], better: Sequence[CaseChange]) -> tuple[Collision, ...]:
    """Return the pairs of intents that are taken for each other more often than before, the worst first.

    Args:
        worse: examples newly wrong, explained.
        better: examples newly right: each takes one off its pair of intents.
    """
    wrong: dict[tuple[str, str], list[CaseChange]] = defaultdict(list)
    for case in worse:
        if case.actual:
            wrong[_pair(case.expected, case.actual)].append(case)
    repaired = Counter(_pair(case.expected, case.base_actual) for case in better)
    found = [
        Collision(intents=intents, newly_wrong=len(cases), sentences=_reasons(cases), like=tuple(cases))
        for intents, cases in wrong.items()
        if len(cases) - repaired[intents] >= _FEWEST_FOR_COLLISION
    ]
    return tuple(sorted(found, key=lambda collision: (-collision.newly_wrong, collision.intents)))


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _reasons(cases: Iterable[CaseChange]) -> tuple[TrainingChange, ...]:
    """The training changes behind the cases, each once, those that explain most first."""
    weight: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], TrainingChange] = {}
    for case in cases:
        for change in case.because:
            key = (change.text, change.intent, change.change)
            weight[key] += 1
            first.setdefault(key, change)
    return tuple(first[key] for key, _ in weight.most_common())


def changed_items(base: Report, head: Report) -> tuple[ChangedItem, ...]:
    """Return what is new or differs in content, with whether a test reaches it; things are known by kind and name."""
    items = []
    for kind in COVERAGE_KINDS:
        if kind in base.coverage and kind in head.coverage:
            digests: dict[str, Counter[str]] = defaultdict(Counter)
            for item in base.coverage[kind].items:
                digests[item.name][item.digest] += 1
            for item in head.coverage[kind].items:
                known = digests.get(item.name)
                if known and known[item.digest] > 0:
                    known[item.digest] -= 1
                else:
                    items.append(
                        ChangedItem(
                            kind=kind,
                            name=item.name,
                            location=item.location,
                            change="changed" if known else "added",
                            covered=item.covered,
                        )
                    )
    return tuple(items)
