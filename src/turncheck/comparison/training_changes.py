"""Training data that a change took away: most of an intent's sentences, or annotations of entities."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, Literal

from msgspec.structs import replace

from turncheck.comparison.changes import (
    CaseChange,
    ChangedCases,
    CutIntent,
    MisunderstoodSentence,
    StrippedIntent,
    TrainingChange,
)
from turncheck.comparison.explanations import TrainingDifference, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.cases import Case
    from turncheck.comparison.matching import Matched, Pair
    from turncheck.comparison.metrics import MetricDelta
    from turncheck.comparison.model import Comparison, Renamed
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report, TrainingSentence


_FEWEST_LOST: Final = 3
"""An intent of two sentences that lost one was hardly cut."""
_MOST_KEPT: Final = 0.5
"""An intent was cut if it kept at most this part of its sentences."""
_RESPONSE_OF_KEY: Final = re.compile(r"utter_(?P<key>[^/]+/.+)", re.DOTALL)
"""The response to a key of a retrieval intent, as ``utter_chitchat/goodbye``; any other names no intent: an intent
``greet`` and a response ``utter_greet`` are two things."""


def cut_intents(base: Report, head: Report, renamed: Iterable[Renamed]) -> tuple[CutIntent, ...]:
    """Return the intents that lost most of their training sentences or are no longer judged, the worst first.

    A sentence that moved to another intent is lost to the first one. The keys of a retrieval intent count as well
    (``chitchat/goodbye``), unless the whole intent was cut.
    """
    now_called = {rename.old: rename.new for rename in renamed if rename.kind == "intents"}
    keys = _renamed_keys(renamed)
    before, after = _by_name(base.training_sentences), _by_name(head.training_sentences)
    if not before or not after:
        return ()
    judged, unjudged = (
        _judged(base),
        {unjudged_intent.intent for unjudged_intent in (head.nlu.unjudged if head.nlu else ())},
    )
    found = []
    for name, whole in before.items():
        had = [sentence for sentence in whole if sentence.intent == name or sentence.intent not in now_called]
        if not had:
            continue  # its keys are intents now
        now = keys.get(name) or _with_intent_of(name, now_called)
        has = after.get(now) or after.get(name, [])  # only the domain may have the new name
        no_longer = name in judged and now in unjudged
        cut = not has or (len(had) - len(has) >= _FEWEST_LOST and len(has) <= _MOST_KEPT * len(had))
        if cut or (no_longer and len(has) < len(had)):
            location = (has or had)[0].location
            found.append(CutIntent(intent=now, base=len(had), now=len(has), unjudged=no_longer, location=location))
    cut_whole = {cut_intent.intent for cut_intent in found}
    found = [one for one in found if one.intent.partition("/")[0] not in cut_whole - {one.intent}]
    return tuple(sorted(found, key=lambda one: (not one.unjudged, one.now - one.base, one.intent)))


def names_now(kind: str, renamed: Iterable[Renamed]) -> Callable[[str], str]:
    """Return what a name of the base is called now: of an intent, a key of a retrieval intent, or an entity."""
    renamed = tuple(renamed)
    of_kind = "entities" if kind == "entities" else "intents"
    called = {rename.old: rename.new for rename in renamed if rename.kind == of_kind}
    keys = _renamed_keys(renamed) if kind == "responses" else {}
    return lambda name: keys.get(name) or _with_intent_of(name, called)


def _renamed_keys(renamed: Iterable[Renamed]) -> dict[str, str]:
    """The keys of retrieval intents that have another name now, as their responses show."""
    pairs = [
        (_RESPONSE_OF_KEY.fullmatch(rename.old), _RESPONSE_OF_KEY.fullmatch(rename.new))
        for rename in renamed
        if rename.kind == "responses"
    ]
    return {old["key"]: new["key"] for old, new in pairs if old and new}


def _with_intent_of(name: str, now_called: Mapping[str, str]) -> str:
    intent, slash, key = name.partition("/")
    return now_called.get(name) or f"{now_called.get(intent, intent)}{slash}{key}"


def _by_name(sentences: Iterable[TrainingSentence]) -> dict[str, list[TrainingSentence]]:
    """Sentences by their intent, those of a retrieval intent by its key as well."""
    found: dict[str, list[TrainingSentence]] = defaultdict(list)
    for sentence in sentences:
        for name in dict.fromkeys((sentence.intent.partition("/")[0], sentence.intent)):
            if name:
                found[name].append(sentence)
    return dict(found)


def _judged(report: Report) -> set[str]:
    """The intents with judged sentences."""
    predictions = report.nlu.predictions if report.nlu else ()
    return {prediction.expected.intent.partition("/")[0] for prediction in predictions if prediction.expected.intent}


def stripped(base: Report, head: Report, renamed: Iterable[Renamed]) -> tuple[StrippedIntent, ...]:
    """Return the intents whose sentences lost annotations or have others, the one with most of them first.

    Only sentences that both sides have are compared; an entity that was renamed is the same under either name. Where a
    sentence has a new annotation as well, one that is gone was given another entity.
    """
    now_called = {rename.old: rename.new for rename in renamed if rename.kind == "entities"}
    waiting: dict[Hashable, list[TrainingSentence]] = defaultdict(list)
    for sentence in base.training_sentences:
        waiting[sentence.text, sentence.intent].append(sentence)
    gone: dict[str, Counter[str]] = defaultdict(Counter)
    come: dict[str, Counter[str]] = defaultdict(Counter)
    changed: Counter[str] = Counter()
    sentences: dict[str, list[TrainingSentence]] = defaultdict(list)
    had: Counter[str] = Counter()
    for sentence, before in _annotated_before(head.training_sentences, waiting, now_called):
        now = Counter(sentence.entities)
        had[sentence.intent] += before.total()
        if lost := before - now:
            gone[sentence.intent] += lost
            come[sentence.intent] += now - before
            changed[sentence.intent] += min(lost.total(), (now - before).total())
            sentences[sentence.intent].append(sentence)
    stripped_intents = [
        StrippedIntent(
            intent=intent,
            annotations=types.total() - changed[intent],
            base=had[intent],
            sentences=len(sentences[intent]),
            entities=tuple(name for name, _ in types.most_common()),
            changed=changed[intent],
            new_entities=tuple(name for name, _ in come[intent].most_common()),
            location=sentences[intent][0].location,
        )
        for intent, types in gone.items()
    ]
    return tuple(
        sorted(
            stripped_intents,
            key=lambda stripped_intent: (
                -stripped_intent.annotations,
                -stripped_intent.changed,
                stripped_intent.intent,
            ),
        )
    )


def _annotated_before(
    sentences: Iterable[TrainingSentence],
    waiting: Mapping[Hashable, list[TrainingSentence]],
    now_called: Mapping[str, str],
) -> Iterator[tuple[TrainingSentence, Counter[str]]]:
    """Yield sentences with the annotations that they had. Copies count as alike as they can be."""
    here: dict[Hashable, list[TrainingSentence]] = defaultdict(list)
    for sentence in sentences:
        if (sentence.text, sentence.intent) in waiting:
            here[sentence.text, sentence.intent].append(sentence)
    for key, copies in here.items():
        before = [Counter(one.entities) for one in waiting[key]]
        left = []
        for sentence in copies:
            same = next(
                (one for one in before if _as_in(sentence, one, now_called) == Counter(sentence.entities)), None
            )
            if same is None:
                left.append(sentence)
            else:
                before.remove(same)
                yield sentence, Counter(sentence.entities)
        yield from ((sentence, _as_in(sentence, one, now_called)) for sentence, one in zip(left, before, strict=False))


def _as_in(sentence: TrainingSentence, before: Counter[str], now_called: Mapping[str, str]) -> Counter[str]:
    """The annotations that a sentence had, by their names now; what it still has by an old name keeps that."""
    names: Counter[str] = Counter()
    for name, times in before.items():
        names[name if name in sentence.entities else now_called.get(name, name)] += times
    return names


def without_stripped(matched: Matched) -> Matched:
    """Return judged sentences without those whose annotations were removed: what the model finds there is no error."""
    kept = tuple(pair for pair in matched.pairs if not _is_stripped(pair))
    return type(matched)(kept, matched.added, matched.removed, matched.not_run, matched.newly_run)


def _is_stripped(pair: Pair) -> bool:
    now, before = _spans(pair.head), _spans(pair.base)
    return "edited" in pair.edits and pair.base.name == pair.head.name and set(now) < set(before)


def _spans(case: Case) -> Sequence[Hashable]:
    return case.expectation if isinstance(case.expectation, tuple) else ()


# Training sentences that this change moved to another intent, or copied or nearly copied to another one.
#
# Two intents that share sentences confuse each other, whether or not a held-out sentence shows it.

_NEARLY: Final = 0.75
"""Two sentences are nearly the same if the Jaccard index of their words is at least this."""
_COMMON_WORD: Final = 200
"""A word that occurs in more sentences than this says nothing about any one of them."""


def relabelled(
    difference: TrainingDifference, training: Sequence[TrainingSentence], renamed: Iterable[Renamed] = ()
) -> tuple[TrainingChange, ...]:
    """Return the sentences of this change that now belong to another intent, or to two; moved ones first.

    Args:
        difference: what the change did to the training sentences.
        training: all training sentences of this side, by the index used in ``difference``.
        renamed: items that were renamed: the sentences of such an intent have not moved.
    """
    same = {(rename.old, rename.new) for rename in renamed if rename.kind == "intents"}
    relabels = [change for change in difference.changed.values() if change.change == "relabelled"]
    moved = [
        relabel
        for relabel in relabels
        if same.isdisjoint(
            {(relabel.was, relabel.intent), ((relabel.was or "").partition("/")[0], relabel.intent.partition("/")[0])}
        )
    ]
    added = {index: change for index, change in difference.changed.items() if change.change == "added"}
    words = [words_of(sentence.text) for sentence in training] if added else []
    by_word: dict[str, list[int]] = defaultdict(list)
    for index, of_one in enumerate(words):
        if index not in difference.changed:
            for word in sorted(of_one):
                by_word[word].append(index)
    copied = []
    for index, change in added.items():
        near = Counter(
            other for word in words[index] if len(found := by_word.get(word, ())) <= _COMMON_WORD for other in found
        )
        likest = [
            (common / len(words[index] | words[other]), other)
            for other, common in near.items()
            if training[other].intent != change.intent
        ]
        share, other = max(likest, key=lambda one: (one[0], -one[1]), default=(0.0, 0))
        if share >= _NEARLY:
            copied.append(replace(change, change="copied", was=training[other].intent, similarity=round(share, 4)))
    return (*moved, *sorted(copied, key=lambda change: -change.similarity))


_MANY_MOVED: Final = 3
"""One or two sentences that moved to another intent are usually a correction."""


def took_away(compared: Comparison) -> bool:
    """Whether the change took away from what is learnt or understood: sentences, annotations, components."""
    less = compared.fallback is not None and bool(compared.fallback.number)
    removed = any(component.change == "removed" for component in compared.changed_components)
    return bool(compared.cut_intents or compared.stripped) or less or removed or many_moved(compared) > 0


def many_moved(compared: Comparison) -> int:
    """Return how many training sentences moved to another intent, 0 if these are few."""
    moved = sum(change.change == "relabelled" for change in compared.relabelled)
    return moved if moved >= _MANY_MOVED else 0


# Intents that the change broke: one whose F1 really dropped, or two that began to collide.

_PREFIX: Final = "nlu.intents["
_SUFFIX: Final = "].f1"


def is_f1_of_an_intent(name: str) -> bool:
    """Whether a metric is the F1 of a single intent."""
    return name.startswith(_PREFIX) and name.endswith(_SUFFIX)


def intent_of(name: str) -> str:
    """Return the intent that such a metric is about."""
    return name[len(_PREFIX) : -len(_SUFFIX)]


def f1_of_intent(intent: str) -> str:
    """Return the name of the metric that is the F1 of an intent."""
    return f"{_PREFIX}{intent}{_SUFFIX}"


def dropped_intents(compared: Comparison) -> list[MetricDelta]:
    """Return the F1 metrics of the intents whose drop is more than chance, the worst first."""
    dropped = [metric for metric in compared.metrics if metric.judgement == "worse" and is_f1_of_an_intent(metric.name)]
    return sorted(dropped, key=lambda metric: ((metric.sides[1] or 0.0) - (metric.sides[0] or 0.0), metric.name))


# Whether a list of newly wrong sentences says anything: not if the figures about them are within noise.

Judged = Literal["intents", "entities", "responses"]
"""What of a sentence is judged."""
_FIGURES: Final[Mapping[Judged, re.Pattern[str]]] = {
    "intents": re.compile(r"nlu\.intents\.(?:f1|accuracy)"),
    "entities": re.compile(r"nlu\.entities\..+\.f1", re.DOTALL),
    "responses": re.compile(r"nlu\.responses\..+\.(?:f1|accuracy)", re.DOTALL),
}


def is_likely_noise(compared: Comparison, judged: Judged) -> bool:
    """Whether figures about these sentences were judged, and none of them really dropped."""
    figures = [metric for metric in compared.metrics if _FIGURES[judged].fullmatch(metric.name)]
    tested = any(figure.significance is not None and figure.agreement is None for figure in figures)
    if judged == "intents" and (compared.collisions or dropped_intents(compared)):
        return False
    return tested and all(figure.judgement != "worse" for figure in figures)


def noise_of(compared: Comparison, judged: Judged) -> list[CaseChange]:
    """Return the newly wrong sentences that are likely noise: those that changed sides and that nothing explains.

    A sentence that the base did not judge is no noise of a difference: it is wrong. Nor is one to which training
    sentences of this change are near: they caused it.
    """
    if not is_likely_noise(compared, judged):
        return []
    cases = dict(sentences_of(compared))[judged]
    return [case for case in cases.newly_failing if _is_a_flip(case) and not _is_caused(case)]


def _is_a_flip(case: CaseChange) -> bool:
    """Whether a sentence was judged on both sides."""
    return case.base_passed is not None and not {"edited", "renamed"} & set(case.edits)


def _is_caused(case: CaseChange | MisunderstoodSentence) -> bool:
    """Whether the change explains why a sentence is wrong: it is proved, or a training sentence is near."""
    if any(cause.proved for cause in case.causes):
        return True
    return any(change.change not in {"unchanged", "unknown"} for change in case.because)


def sentences_of(compared: Comparison) -> tuple[tuple[Judged, ChangedCases], ...]:
    """Return the sentences by what of them is judged."""
    return ("intents", compared.examples), ("entities", compared.entities), ("responses", compared.responses)


def is_likely_misparsed(compared: Comparison, evaluation: Evaluation) -> bool:
    """Whether the tests that are newly misunderstood are within noise, and nothing that this change did explains any.

    If it is not known what the change did to the training sentences, or if it altered the pipeline, synonyms or lookup
    tables, they are news.
    """
    figure = compared.metric(f"{evaluation}.misunderstood")
    sentences = compared.misunderstood if evaluation == "core" else compared.misunderstood_in_cases
    explained = any(map(_is_caused, sentences))
    edited = any(case.edits for case in _tests(compared, evaluation).newly_misunderstood)
    known = compared.training_known and not compared.understands_otherwise
    if not known or explained or edited or took_away(compared):
        return False
    return figure is not None and figure.judgement == "noise"


def _tests(compared: Comparison, evaluation: Evaluation) -> ChangedCases:
    return compared.stories if evaluation == "core" else compared.e2e
