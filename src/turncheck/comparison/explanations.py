"""Why something changed: training sentences of this change near the newly wrong examples, intents that collide, and
changed items that no test reaches. Everything is derived from the two reports."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct

from turncheck.comparison.changes import CaseChange, Collision, SimilarSentences, TrainingChange
from turncheck.comparison.model import ChangedItem, Renamed
from turncheck.comparison.paired import LEVEL, mcnemar_exact
from turncheck.messages.finding import Location
from turncheck.report import model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


_MOST_REASONS: Final = 3
_WORDS_IN_COMMON: Final = 0.4
"""A removed sentence supported an example if the Jaccard index of their words is at least this."""
_ALIKE: Final = 0.5
"""A training sentence that the change did not touch is only named if it is at least this similar."""
_COMMON_WORD: Final = 200
"""A word that occurs in more removed sentences than this says nothing about any one of them."""
_FEWEST_FOR_COLLISION: Final = 2
"""One misclassified sentence is a mistake; two between the same intents are the beginning of a pattern."""
_REALLY_NEAR: Final = 0.75
"""A few misclassified sentences are a collision only if sentences of the change are at least this similar to them."""


LEADING: Final = ("rules", "stories")
"""Kinds that lead a dialogue from step to step."""


def paired(
    before: Sequence[model.CoverageItem], after: Sequence[model.CoverageItem]
) -> list[tuple[model.CoverageItem, model.CoverageItem | None]]:
    """Each item of the base with the one of its name now, or with none; of several of a name, equal ones first."""
    left: dict[str, list[model.CoverageItem]] = defaultdict(list)
    for coverage_item in after:
        left[coverage_item.name].append(coverage_item)
    unchanged: dict[int, model.CoverageItem] = {}
    for place, item in enumerate(before):
        equal = next((one for one in left[item.name] if one.digest == item.digest), None)
        if equal is not None:
            left[item.name].remove(equal)
            unchanged[place] = equal
    return [
        (item, unchanged[place] if place in unchanged else left[item.name].pop(0) if left[item.name] else None)
        for place, item in enumerate(before)
    ]


class TrainingDifference(Struct, frozen=True):
    """What the change did to the training sentences: by index in the new list, and those that are gone."""

    changed: Mapping[int, TrainingChange]
    removed: tuple[TrainingChange, ...]
    known: bool = True
    """Whether both sides list their training sentences; imported files do not."""


def training_difference(base: model.Report, head: model.Report) -> TrainingDifference:
    """Compare the training sentences of both reports; a sentence is its text and its intent."""
    before, after = base.training_sentences, head.training_sentences
    if not before or not after:
        return TrainingDifference({}, (), known=False)
    lost = Counter((sentence.text, sentence.intent) for sentence in before)
    changed: dict[int, model.TrainingSentence] = {}
    for index, sentence in enumerate(after):
        key = (sentence.text, sentence.intent)
        if lost[key] > 0:
            lost[key] -= 1
        else:
            changed[index] = sentence
    gone = _gone(before, lost)
    changes = {index: _added(sentence, gone) for index, sentence in changed.items()}
    return TrainingDifference(changes, tuple(change for waiting in gone.values() for change in waiting))


def _gone(before: Sequence[model.TrainingSentence], lost: Counter[tuple[str, str]]) -> dict[str, list[TrainingChange]]:
    """The sentences of ``before`` that are lost, by text. Of equal sentences the last ones count as lost."""
    gone: dict[str, list[TrainingChange]] = defaultdict(list)
    for sentence in reversed(before):
        key = (sentence.text, sentence.intent)
        if lost[key] > 0:
            lost[key] -= 1
            gone[sentence.text].append(
                TrainingChange(change="removed", text=sentence.text, intent=sentence.intent, location=sentence.location)
            )
    return gone


def _added(sentence: model.TrainingSentence, gone: Mapping[str, list[TrainingChange]]) -> TrainingChange:
    """A new sentence, or one that is gone from another intent: that is the same sentence, relabelled."""
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
    """Finds the training sentences that explain an example that is newly wrong."""

    def __init__(self, difference: TrainingDifference, nlu: model.Nlu | None) -> None:
        self._difference = difference
        self._training = nlu.training if nlu else ()
        predictions = nlu.predictions if nlu else ()
        self._neighbours = {_example_key(example): example.neighbours for example in predictions if example.neighbours}
        self._changed = {(change.text, change.intent): change for change in difference.changed.values()}
        self._removed_by_word: dict[str, list[int]] = defaultdict(list)
        for index, change in enumerate(difference.removed):
            for word in sorted(words_of(change.text)):
                self._removed_by_word[word].append(index)

    @property
    def knows(self) -> bool:
        """Whether it is known what the change did to the training sentences."""
        return self._difference.known

    def explain(self, case: CaseChange) -> CaseChange:
        """Return the case with the training sentences that explain it best.

        A sentence that was added to the predicted intent pulls the example there; one that left the expected intent no
        longer supports it. An example that is new itself is explained by whatever it looks like. The similarities are
        those of the report's own neighbours; a removed sentence is not among the neighbours any more, so its
        similarity is that of its words.
        """
        is_new = not case.base_passed
        pulling = [
            msgspec.structs.replace(sentence, similarity=neighbour.similarity)
            for neighbour in self._neighbours_of(case)
            if (sentence := self._sentence(neighbour.training))
            and (sentence.change != "unchanged" or is_new)
            and (sentence.intent == case.actual or sentence.was == case.expected)
        ]
        holding = self._no_longer_holding(case.name, case.expected)
        reasons = sorted([*pulling, *holding], key=lambda change: -change.similarity)
        return msgspec.structs.replace(case, because=tuple(reasons[:_MOST_REASONS]))

    def drew_away(self, sentence: model.Misunderstanding) -> tuple[TrainingChange, ...]:
        """Return the training sentences that drew a story's sentence away: those of this change, else the nearest."""
        near = [
            msgspec.structs.replace(
                self._changed.get((neighbour.text, neighbour.intent))
                or TrainingChange(
                    change="unchanged", text=neighbour.text, intent=neighbour.intent, location=neighbour.location
                ),
                similarity=neighbour.similarity,
            )
            for neighbour in sentence.neighbours
        ]
        changed = [change for change in near if change.change != "unchanged"]
        if sentence.predicted.intent != sentence.expected.intent or sentence.predicted.fallback:
            changed += self._no_longer_holding(sentence.text, sentence.expected.intent or "")
        reasons = sorted(changed, key=lambda change: -change.similarity)
        # A sentence that existed before is not a cause: it is named only if it is much like the misunderstood one.
        alike = [
            change for change in near if change.intent == sentence.predicted.intent and change.similarity >= _ALIKE
        ]
        went_to = alike[:1] if sentence.predicted.intent != sentence.expected.intent else []
        return tuple(reasons[:_MOST_REASONS]) or tuple(went_to)

    def own_change(self, case: CaseChange) -> TrainingChange | None:
        """Return the change to the example itself: in cross-validation, every training sentence is an example."""
        return self._changed.get((case.name, case.expected))

    def _sentence(self, index: int) -> TrainingChange | None:
        if index in self._difference.changed:
            return self._difference.changed[index]
        if not 0 <= index < len(self._training):
            return None
        known = self._training[index]
        return TrainingChange(change="unchanged", text=known.text, intent=known.intent, location=known.location)

    def _neighbours_of(self, case: CaseChange) -> Sequence[model.Neighbour]:
        return self._neighbours.get((case.name, case.expected, case.location), ())

    def _no_longer_holding(self, text: str, intent: str) -> list[TrainingChange]:
        words = words_of(text)
        telling = [found for word in words if len(found := self._removed_by_word.get(word, ())) <= _COMMON_WORD]
        common = Counter(index for found in telling for index in found)
        holding = []
        for index, count in common.items():
            change = self._difference.removed[index]
            share = count / (len(words) + len(words_of(change.text)) - count)
            if change.intent == intent and share >= _WORDS_IN_COMMON:
                holding.append((index, msgspec.structs.replace(change, similarity=round(share, 4))))
        return [change for _, change in sorted(holding)]


def _example_key(example: model.NluPrediction) -> tuple[str, str, Location | None]:
    return example.text, example.expected.intent or "", example.location


def collisions(
    wrong: Sequence[CaseChange], better: Sequence[CaseChange], explainer: Explainer
) -> tuple[Collision, ...]:
    """Return the pairs of intents that are confused with each other more often than before, worst first.

    Args:
        wrong: newly wrong examples, explained, including new ones. Only those count that a training sentence of this
            change explains: without one, an example was a near tie, or it may always have been wrong.
        better: newly right examples: each reduces the count of its pair of intents by one.
        explainer: the explainer that explained them.
    """
    pairs: dict[tuple[str, str], list[CaseChange]] = defaultdict(list)
    for case in wrong:
        if case.actual and _comes_from_training(case, explainer):
            pairs[_pair(case.expected, case.actual)].append(case)
    repaired = Counter(_pair(case.expected, case.base_actual) for case in better)
    found = [
        _collision(intents, cases, explainer)
        for intents, cases in pairs.items()
        if _is_more_than_chance(cases, repaired[intents])
    ]
    return tuple(sorted(found, key=lambda collision: (-collision.newly_wrong, collision.intents)))


def _is_more_than_chance(cases: Sequence[CaseChange], repaired: int) -> bool:
    """Whether so many are newly wrong that chance does not explain it, or a few that sentences really near explain."""
    near = sum(max((reason.similarity for reason in case.because), default=0.0) >= _REALLY_NEAR for case in cases)
    return near - repaired >= _FEWEST_FOR_COLLISION or (
        len(cases) > repaired and mcnemar_exact(len(cases), repaired) < LEVEL
    )


def _comes_from_training(case: CaseChange, explainer: Explainer) -> bool:
    """Whether a sentence of this change is near, or it is one itself that is near to another intent's."""
    near = [reason for reason in case.because if reason.similarity >= _ALIKE]
    return any(reason.change != "unchanged" for reason in near) or (
        bool(near) and explainer.own_change(case) is not None
    )


def _pair(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one <= other else (other, one)


def _collision(intents: tuple[str, str], cases: Sequence[CaseChange], explainer: Explainer) -> Collision:
    """Separate sentences of the change from those they look like; each sentence once, the most frequent ones first."""
    changes: Counter[TrainingChange] = Counter()
    like: Counter[SimilarSentences] = Counter()
    for case in cases:
        if own := explainer.own_change(case):
            changes[own] += 1
        elif case.because:
            like[SimilarSentences(text=case.name, intent=case.expected, location=case.location)] += 1
        for reason in case.because:
            if reason.change == "unchanged":
                like[SimilarSentences(text=reason.text, intent=reason.intent, location=reason.location)] += 1
            else:
                changes[msgspec.structs.replace(reason, similarity=0.0)] += 1
    return Collision(
        intents=intents,
        newly_wrong=len(cases),
        sentences=tuple(change for change, _ in changes.most_common()),
        like=tuple(alike for alike, _ in like.most_common()),
    )


def changed_items(base: model.Report, head: model.Report, renamed: Sequence[Renamed]) -> tuple[ChangedItem, ...]:
    """Return what is new or differs in content, and whether a test reaches it; items are identified by kind and name.

    An item that was only renamed is neither: tests that kept the old name show that themselves.
    """
    items = []
    for kind in model.COVERAGE_KINDS:
        if kind in base.coverage and kind in head.coverage:
            contents = {item.name: item.content for item in base.coverage[kind].items}
            named_anew = {rename.new: contents.get(rename.old) for rename in renamed if rename.kind == kind}
            digests: dict[str, Counter[str]] = defaultdict(Counter)
            for item in base.coverage[kind].items:
                digests[item.name][item.digest] += 1
            called_otherwise = _contents_called_otherwise(kind, base, head)
            for item in head.coverage[kind].items:
                known = digests.get(item.name)
                if known and known[item.digest] > 0:
                    known[item.digest] -= 1
                elif not known and called_otherwise[item.content] > 0:
                    called_otherwise[item.content] -= 1
                elif item.name not in named_anew or not item.content or named_anew[item.name] != item.content:
                    items.append(
                        ChangedItem(
                            kind=kind,
                            name=item.name,
                            location=item.location,
                            change="changed" if known or item.name in named_anew else "added",
                            covered=item.covered,
                            code=_code(kind, contents[item.name], item.content) if known else None,
                        )
                    )
    return tuple(item for item in items if not _is_told_by_steps(item, items) and not _is_renamed(item, base, renamed))


def _code(kind: str, old: str, new: str) -> Literal["found", "lost"] | None:
    """On which side alone the code of a custom action was found, by its contents on both."""
    was, is_now = (bool(content) and not content.startswith(model.PLACES) for content in (old, new))
    if kind != "actions" or was == is_now:
        return None
    return "found" if is_now else "lost"


def _is_told_by_steps(item: ChangedItem, items: Iterable[ChangedItem]) -> bool:
    """Whether an item is a flow of which some changed steps are listed."""
    steps = (one.name for one in items if one.kind == "flow_steps") if item.kind == "flows" else ()
    return any(name.startswith(f"{item.name}: ") for name in steps)


def _is_renamed(item: ChangedItem, base: model.Report, renamed: Iterable[Renamed]) -> bool:
    """Whether an item is a step that only says, asks or runs what has another name now."""
    if item.kind != "flow_steps":
        return False
    flow, _, step = item.name.partition(": ")
    names = {one.new: one.old for one in renamed}
    old = f"{names.get(flow, flow)}: {' '.join(names.get(word, word) for word in step.split(' '))}"
    return old != item.name and any(one.name == old for one in base.coverage[item.kind].items)


def _contents_called_otherwise(kind: str, base: model.Report, head: model.Report) -> Counter[str]:
    """What the rules or stories say whose names are gone: one that says the same under a new name is no new one."""
    if kind not in LEADING:
        return Counter()
    there = {item.name for item in head.coverage[kind].items}
    return Counter(item.content for item in base.coverage[kind].items if item.content and item.name not in there)


def relocated_to_first_change(
    items: Sequence[ChangedItem], base: model.Report, head: model.Report
) -> tuple[ChangedItem, ...]:
    """Return the items; changed intents, rules and stories are where their first new or changed part is.

    An intent that only lost sentences is where its first one is left; a rule or story that lost a step is where the
    next one follows.
    """
    before, after = _sentences_of_intents(base), _sentences_of_intents(head)
    steps = changed_steps(base, head)

    def placed(item: ChangedItem) -> ChangedItem:
        location = steps.get((item.kind, item.location), item.location)
        if item.kind == "intents" and item.change == "changed" and item.name in after:
            location = _first_changed(before.get(item.name, []), after[item.name], item.location)
        return msgspec.structs.replace(item, location=location)

    return tuple(map(placed, items))


def changed_steps(base: model.Report, head: model.Report) -> dict[tuple[str, Location], Location]:
    """The place of the first changed step of each changed rule and story, by kind and place."""
    return {
        (kind, new.location): location
        for kind in LEADING
        if kind in base.coverage and kind in head.coverage
        for old, new in paired(base.coverage[kind].items, head.coverage[kind].items)
        if new is not None and new.digest != old.digest and (location := _first_changed_step(old, new))
    }


def _first_changed_step(old: model.CoverageItem, new: model.CoverageItem) -> Location | None:
    """Where the steps begin to differ, the last one if those after it are gone; ``None`` if no step is known to."""
    if not old.steps or not new.steps:  # a report of an older version does not have them
        return None
    known = [step.digest for step in old.steps]
    differing = (
        step_digest for place, step_digest in enumerate(new.steps) if known[place : place + 1] != [step_digest.digest]
    )
    last = new.steps[-1] if len(new.steps) < len(known) else None
    first = next(differing, last)
    return None if first is None else Location(new.location.path, first.line)


def _sentences_of_intents(report: model.Report) -> dict[str, list[model.TrainingSentence]]:
    found: dict[str, list[model.TrainingSentence]] = defaultdict(list)
    for sentence in report.training_sentences:
        found[sentence.intent.partition("/")[0]].append(sentence)
    return dict(found)


def _first_changed(
    before: Sequence[model.TrainingSentence], after: Sequence[model.TrainingSentence], location: Location
) -> Location:
    left = Counter(
        (training_sentence.text, training_sentence.intent, training_sentence.entities) for training_sentence in before
    )
    for sentence in after:
        key = (sentence.text, sentence.intent, sentence.entities)
        if left[key] <= 0:
            return sentence.location
        left[key] -= 1
    return after[0].location if left.total() else location


def words_of(text: str) -> frozenset[str]:
    """Return the words of a sentence, ignoring case and punctuation."""
    return frozenset(re.findall(r"\w+", text[:1000].lower()))
