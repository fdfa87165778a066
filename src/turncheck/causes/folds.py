"""Intents whose F1 really dropped, judged again on the sentences that were lost, with changed parts taken back.

In a cross-validation, a sentence is judged by what is learnt from the other folds. So it is here: the folds with most
of the lost sentences are held out again, and no others are trained, since each costs as much as training the project.
"""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.causes.search import Taken, Trials
from turncheck.causes.trials import is_refused
from turncheck.comparison.significance import paired_predictions
from turncheck.comparison.training_changes import dropped_intents, intent_of, names_now
from turncheck.evaluations.nlu.scores import before_fallback
from turncheck.messages.errors import EngineError, UserError
from turncheck.process.one_thread import one_thread
from turncheck.project.story_sentences import with_story_sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.causes.parts import Changes
    from turncheck.comparison.model import Comparison
    from turncheck.engines.conversation import NluTrainer
    from turncheck.project.model import Project
    from turncheck.report.model import NluPrediction, Report

_ENOUGH: Final = 3
"""So many lost sentences of an intent are judged again: chance hardly brings most of them back."""
_STILL_WRONG: Final = 4
"""A drop is undone if at most one of so many lost sentences is still wrong."""
_SHARE_OF_SINGLES: Final = 2

Fold = int | None
"""The fold that judges a sentence; ``None``: it is no sentence of the project, and all of these are learnt."""


class _Sentence(Struct, frozen=True):
    """A sentence that both sides judged: on which side an intent is wrong, and which intent was predicted instead."""

    text: str
    expected: str
    fold: Fold
    wrong: bool
    base_wrong: bool
    others: frozenset[str]


class LostIntent(Struct, frozen=True):
    """An intent whose F1 dropped, and the sentences about it in some folds.

    At most ``most_wrong`` of them are wrong if the drop is undone. ``near``: it, then those it is confused with.
    """

    name: str
    sentences: tuple[_Sentence, ...]
    most_wrong: int
    near: tuple[str, ...]


def lost_intents(base: Report, head: Report, comparison: Comparison) -> list[LostIntent]:
    """Return the intents whose drop is more than chance, the worst first, with the sentences to judge again."""
    called = names_now("intents", comparison.renamed)
    pairs = paired_predictions(base, head)
    of_intent = {intent: _about(intent, pairs, called) for intent in map(intent_of, dropped_intents_of(comparison))}
    folds = _folds_with_most(of_intent.values())
    found: list[LostIntent] = []
    for intent, sentences in of_intent.items():
        judged = tuple(sentence for sentence in sentences if sentence.fold in folds)
        before, now = sum(one.base_wrong for one in judged), sum(one.wrong for one in judged)
        if now > before:
            confused = Counter(name for one in judged if one.wrong and not one.base_wrong for name in one.others)
            near = (intent, *(name for name, _ in sorted(confused.items(), key=lambda item: (-item[1], item[0]))))
            found.append(LostIntent(intent, judged, before + (now - before) // _STILL_WRONG, near))
    return found


def dropped_intents_of(comparison: Comparison) -> list[str]:
    """Return the names of the figures of the intents whose drop is more than chance."""
    return [metric.name for metric in dropped_intents(comparison)]


def _about(
    intent: str, pairs: Iterable[tuple[NluPrediction, NluPrediction]], called: Callable[[str], str]
) -> list[_Sentence]:
    """The sentences of an intent, and those for which either side predicts it."""
    found = []
    for before, now in pairs:
        expected, was, is_now = now.expected.intent or "", called(before.predicted.intent or ""), now.predicted.intent
        if intent in {expected, was, is_now}:
            others = frozenset({expected, is_now or ""}) - {intent, ""}
            wrong, base_wrong = ((intent in {expected, one}) and one != expected for one in (is_now, was))
            found.append(_Sentence(now.text, expected, now.fold, wrong, base_wrong, others))
    return found


def _folds_with_most(of_intents: Iterable[Sequence[_Sentence]]) -> set[Fold]:
    """The fewest folds with enough lost sentences of each intent, those with most of them first."""
    lost = [Counter(one.fold for one in sentences if one.wrong and not one.base_wrong) for sentences in of_intents]
    total: Counter[Fold] = sum(lost, Counter())
    ranked = sorted(total, key=lambda fold: (-total[fold], -1 if fold is None else fold))
    chosen: set[Fold] = set()
    for of_one in lost:
        for fold in ranked:
            if sum(of_one[one] for one in chosen) >= _ENOUGH:
                break
            if of_one[fold]:
                chosen.add(fold)
    return chosen


@dataclass(frozen=True)
class FoldTrials:
    """The parts of a change, the intents that lost sentences by it, and what trains; ``first``: parts to try first."""

    changes: Changes
    intents: Sequence[LostIntent]
    held_out: Mapping[int, frozenset[tuple[str, str]]]
    trainer: NluTrainer
    first: frozenset[int] = frozenset()

    @property
    def trials(self) -> Trials:
        """How the parts are tried."""
        return Trials(
            parts=len(self.changes.parts),
            tests=len(self.intents),
            run=self.run,
            cost=self._cost,
            closest=self.closest,
            share_of_singles=_SHARE_OF_SINGLES,
        )

    def _cost(self, _: Taken) -> int:
        sentences = len(self.changes.head.nlu.examples)
        return sum(1 + sentences - (0 if fold is None else len(self.held_out[fold])) for fold in self._folds)

    @property
    def _folds(self) -> list[Fold]:
        return list(dict.fromkeys(one.fold for intent in self.intents for one in intent.sentences))

    def closest(self, number: int) -> list[int]:
        """Return the parts that intents are learnt from, those that have to do with the intent first."""
        near = self.intents[number].near

        def key(part_number: int) -> tuple[bool, bool, int, int]:
            part = self.changes.parts[part_number]
            shared = [place for place, name in enumerate(near) if name in part.names]
            is_setting = part.kind in {"pipeline", "config"}
            return part_number not in self.first, not shared and not is_setting, min(shared, default=0), part_number

        parts = (number for number, part in enumerate(self.changes.parts) if "nlu" in part.learners)
        return sorted((number for number in parts if self.changes.parts[number].steps is None), key=key)

    def run(self, taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        """Take parts back, train, and return the intents whose sentences are understood as on the base."""
        project = self.changes.without(taken)
        if is_refused(project, [self.changes.parts[number] for number in taken]):
            return frozenset()
        intents = [self.intents[number] for number in asked]
        try:
            predicted = self._predicted(project, intents)
        except (UserError, EngineError):
            return frozenset()
        return frozenset(
            number
            for number, intent in zip(asked, intents, strict=True)
            if sum(_is_wrong(intent.name, one, predicted) for one in intent.sentences) <= intent.most_wrong
        )

    def _predicted(self, project: Project, intents: Sequence[LostIntent]) -> dict[tuple[Fold, str], str | None]:
        """What the sentences are understood as, by their fold and text.

        Raises:
            UserError: it cannot be trained.
        """
        texts: dict[Fold, dict[str, None]] = defaultdict(dict)
        for intent in intents:
            for one in intent.sentences:
                texts[one.fold][one.text] = None
        found: dict[tuple[Fold, str], str | None] = {}
        for fold, asked in texts.items():
            with one_thread():
                parses = self.trainer.fit(self._learnt(project, fold)).parse(list(asked))
            for text, parse in zip(asked, parses, strict=True):
                found[fold, text] = before_fallback(parse)[0].name
        return found

    def _learnt(self, project: Project, fold: Fold) -> Project:
        if fold is None:
            return with_story_sentences(project)
        held_out = self.held_out[fold]
        kept = tuple(one for one in project.nlu.examples if (one.text, one.intent or "") not in held_out)
        return dataclasses.replace(project, nlu=replace(project.nlu, examples=kept))


def _is_wrong(intent: str, sentence: _Sentence, predicted: dict[tuple[Fold, str], str | None]) -> bool:
    name = predicted[sentence.fold, sentence.text]
    return name != sentence.expected and intent in {sentence.expected, name}
