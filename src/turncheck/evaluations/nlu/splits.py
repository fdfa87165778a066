"""Divisions of the data: folds that are stable when the data change, their answers, and Rasa's own splits.

Each example's fold follows from its own text and label: within a label the examples are sorted by a hash of their text,
and the sorted list is cut into ``folds`` even parts. A new sentence shifts each of the cuts by at most one position, so
it moves at most ``folds - 1`` others, and a pull request can be compared with its base by sentence.

Pipelines are compared on the same data, by Rasa's plan (``rasa test nlu --config a.yml b.yml``): each run has 80 % for
training and 20 % for testing, and for each percentage, that share of the training sentences is left out, intent by
intent. Rasa samples without a seed; here run *n* uses ``seed + n - 1``, and with 0 % nothing is left out.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict
from functools import cached_property
from hashlib import blake2b, md5
from math import fsum, log2, sqrt
from operator import itemgetter
from random import Random
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.comparison.paired import mcnemar_exact
from turncheck.evaluations.answers import COMPUTE_LOCALLY, Answers, UnfitAnswerError, answered
from turncheck.evaluations.nlu.predictions import shortened
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.process.one_thread import one_thread
from turncheck.report.model import EngineInfo, UnjudgedIntent
from turncheck.work.workplace import INLINE, Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from turncheck.engines.conversation import NluTrainer, Parse
    from turncheck.project.model import Project, Response
    from turncheck.project.nlu_data import Example


class Folds(Struct, frozen=True):
    """``fold_of`` has, for each example, the fold that judges it; ``None`` if it is only used for training."""

    count: int
    fold_of: tuple[int | None, ...]
    unjudged: tuple[UnjudgedIntent, ...]

    def judged(self, fold: int) -> list[int]:
        """Return the indexes of the examples that this fold judges."""
        return [index for index, own in enumerate(self.fold_of) if own == fold]

    def trained(self, fold: int) -> list[int]:
        """Return the indexes of the examples that the engine of this fold is trained on."""
        return [index for index, own in enumerate(self.fold_of) if own != fold]

    def texts(self, examples: Sequence[Example]) -> dict[int, list[str]]:
        """Return the sentences that each fold judges."""
        return {fold: [examples[index].text for index in self.judged(fold)] for fold in range(self.count)}


def stable_folds(examples: Sequence[Example], folds: int, seed: int) -> Folds:
    """Assign each example its fold.

    Labels are the full ones (``faq/hours``), as in Rasa's cross-validation; the number of a label's examples differs by
    at most one between folds. Intents with fewer examples than folds (counted without the response key, as in Rasa) are
    used for training in every fold and never judged; so are examples without an intent.
    """
    sizes = Counter(example.base_intent for example in examples if example.base_intent)
    by_label: dict[str, list[int]] = defaultdict(list)
    for index, example in enumerate(examples):
        if example.intent and example.base_intent and sizes[example.base_intent] >= folds:
            by_label[example.intent].append(index)

    fold_of: list[int | None] = [None] * len(examples)
    for label, members in by_label.items():
        key = _digest(f"{seed}:{label}")
        places = {index: (_digest(examples[index].text, key), examples[index].place_in_order) for index in members}
        ordered = sorted(members, key=places.__getitem__)
        # With few examples per label the same folds would always get the extra one: begin at another one each time.
        first = int.from_bytes(key) % folds
        for place, index in enumerate(ordered):
            fold_of[index] = (place * folds // len(ordered) + first) % folds
    unjudged = [UnjudgedIntent(intent=intent, examples=size) for intent, size in sizes.items() if size < folds]
    unjudged.sort(key=lambda entry: entry.intent)
    return Folds(folds, tuple(fold_of), tuple(unjudged))


def _digest(text: str, key: bytes = b"") -> bytes:
    """Hash a text; a lone surrogate, which only a broken file can contain, is hashed as it is."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()


# Trains and asks the engines of a cross-validation, one per fold, wherever the work is done.

_WORTH_WORKERS: Final = 4000
"""With fewer examples, all folds are done before a second process has started (about two seconds)."""


class FoldRun(Struct, frozen=True):
    """The answers of one fold's engine, in the order of ``Folds.judged``."""

    fold: int
    parses: tuple[Parse, ...]
    info: EngineInfo
    extractors: tuple[str, ...]


def run_folds(
    project: Project,
    trainer: NluTrainer,
    plan: Folds,
    *,
    work: Executor = INLINE,
    progress: Callable[[int, int], None] | None = None,
    answers: Answers = COMPUTE_LOCALLY,
) -> list[FoldRun]:
    """Run all folds that judge any examples, in order; ``work`` is as in ``evaluation.nlu.cross_validate``.

    A fold is a unit of ``answers``: known folds are not trained again.

    Raises:
        IncompleteError: the engine failed, or the run was interrupted; ``finished`` has the folds that were done,
            ``None`` if there are none.
        DelegatedError: other folds are run elsewhere.
        UnfitAnswerError: a known answer is that of another fold.
    """
    folds = [fold for fold in range(plan.count) if plan.judged(fold)]

    def run(missing: Sequence[int]) -> list[FoldRun | None]:
        asked = [folds[index] for index in missing]
        try:
            return list(_run_asked(project, trainer, plan, asked, work=work, progress=progress))
        except IncompleteError as error:
            done = {one.fold: one for one in error.finished or ()}
            cause = KeyboardInterrupt() if error.interrupted else error
            raise IncompleteError(cause, [done.get(fold) for fold in asked] if done else None) from error

    try:
        runs = [one for one in answered(answers, [fold_unit(fold) for fold in folds], run) if one is not None]
    except IncompleteError as error:
        done = [one for one in error.finished or () if one is not None]
        cause = KeyboardInterrupt() if error.interrupted else error
        raise IncompleteError(cause, done or None) from error
    for fold, fold_run in zip(folds, runs, strict=True):
        if fold_run.fold != fold:
            raise UnfitAnswerError(fold_unit(fold))
    return runs


def fold_unit(fold: int) -> str:
    """Return the name of a fold as a unit of answers."""
    return f"fold:{fold}"


def _run_asked(
    project: Project,
    trainer: NluTrainer,
    plan: Folds,
    folds: Sequence[int],
    *,
    work: Executor,
    progress: Callable[[int, int], None] | None,
) -> list[FoldRun]:
    runs: list[FoldRun] = []
    shared = (project.light(project.nlu), trainer, plan)
    is_long = len(project.nlu.examples) >= _WORTH_WORKERS
    try:
        for _, run in work.each(_run_fold, shared, folds, total=len(folds), kind="fold", worth_processes=is_long):
            runs.append(run)
            if progress:
                progress(len(runs), len(folds))
    except (EngineError, KeyboardInterrupt) as error:
        raise IncompleteError(error, sorted(runs, key=lambda one: one.fold) or None) from error
    return sorted(runs, key=lambda fold_run: fold_run.fold)


def _run_fold(shared: tuple[Project, NluTrainer, Folds], fold: int) -> FoldRun:
    project, trainer, plan = shared
    examples = project.nlu.examples
    trained, judged = plan.trained(fold), plan.judged(fold)
    share = dataclasses.replace(project, nlu=replace(project.nlu, examples=tuple(examples[index] for index in trained)))
    # More threads add up a sum in a different order, so that its last digit may depend on the machine.
    with one_thread():
        engine = trainer.fit(share)
        parses = engine.parse([examples[index].text for index in judged])
    return FoldRun(fold, tuple(map(shortened, parses)), engine.info, engine.extractors)


# Rasa's split of NLU data into training and test, reproduced example by example.
#
# What ``rasa data split nlu`` samples depends on the order of a Python set of messages, whose hashes are fingerprints
# of their content. The same sets are built here from the same fingerprints: the same seed gives the same split.

_FEWEST_EXAMPLES: Final = 2


class Split(Struct, frozen=True):
    """Training and test examples in Rasa's order, and what Rasa warns about beforehand, in our wording."""

    training: tuple[Example, ...]
    test: tuple[Example, ...]
    warnings: tuple[str, ...] = ()


def split_as_rasa(
    examples: Sequence[Example], responses: Mapping[str, Response], *, fraction: float, seed: int
) -> Split:
    """Split each intent (for retrieval intents, each response key): ``fraction`` of its examples is for training.

    Rare labels come first, and the frequent ones make up for what they got too many or too few of. Each label has at
    least one training and one test example; a label with a single example goes to the test set. Examples without an
    intent, which Rasa would lose, go to the training set.

    Args:
        examples: the NLU examples in Rasa's order of reading.
        responses: those in the NLU files by name, since their text is a part of a retrieval example's fingerprint.
        fraction: between 0 and 1.
        seed: the seed for shuffling each label separately, like Rasa's ``--random-seed``.
    """
    messages = [_Message(example, _response_text(example, responses)) for example in examples]
    pool = set(messages)
    training: list[Example] = []
    test: list[Example] = []
    for by_response in (True, False):
        for label in _labels(examples, by_response=by_response):
            members = [message for message in pool if _label(message.example, by_response=by_response) == label]
            if not members:
                continue
            pool = pool - set(members)
            Random(seed).shuffle(members)
            wanted = int((len(training) + len(test) + len(members)) * fraction) - len(training)
            cut = min(len(members) - 1, max(1, wanted))
            training += [message.example for message in members[:cut]]
            test += [message.example for message in members[cut:]]
    training += [example for example in examples if not example.intent]
    return Split(tuple(training), tuple(test), tuple(_warnings(examples, messages, fraction)))


def fingerprint(value: Any) -> str:
    """Return Rasa's fingerprint: MD5 over the fingerprints of keys and values, of elements, or over ``str(value)``."""
    if isinstance(value, dict):
        return _md5(json.dumps({fingerprint(key): fingerprint(one) for key, one in value.items()}, sort_keys=True))
    if isinstance(value, list | tuple):
        return _md5(json.dumps([fingerprint(one) for one in value]))
    return _md5(str(value))


def _md5(text: str) -> str:
    return md5(text.encode(), usedforsecurity=False).hexdigest()


class _Message:
    """An example with the same hash as in Rasa."""

    def __init__(self, example: Example, response: str | None) -> None:
        self.example = example
        self.response = response

    @cached_property
    def fingerprint(self) -> str:
        """The fingerprint of the message's data and of its (empty) list of features."""
        return fingerprint([self._data(), []])

    def _data(self) -> dict[str, Any]:
        example = self.example
        data: dict[str, Any] = {"text": example.text}
        if example.intent:
            data["intent"] = example.base_intent
            if "/" in example.intent:
                data["intent_response_key"] = example.intent
        if example.entities:
            data["entities"] = [
                {"start": entity.start, "end": entity.end, "value": entity.value, "entity": entity.entity}
                | {key: name for key, name in (("role", entity.role), ("group", entity.group)) if name is not None}
                for entity in example.entities
            ]
        if example.metadata:
            data["metadata"] = dict(example.metadata)
        if self.response is not None:
            data["response"] = self.response
        return data

    def __hash__(self) -> int:
        return int(self.fingerprint, 16)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Message) and self.fingerprint == other.fingerprint


def response_name(label: str) -> str:
    """Return the response that answers a retrieval label: ``utter_faq/hours`` for ``faq/hours``."""
    return f"utter_{label}"


def _response_text(example: Example, responses: Mapping[str, Response]) -> str | None:
    """The text of the last variation that has one; the response's name if none has; ``None`` without a response."""
    if not example.intent or "/" not in example.intent:
        return None
    response = responses.get(response_name(example.intent))
    if response is None or not response.variations:
        return None
    return (
        next((variation.text for variation in reversed(response.variations) if variation.text), None) or response.name
    )


def _label(example: Example, *, by_response: bool) -> str | None:
    if by_response:
        return example.intent if example.intent and "/" in example.intent else None
    return example.base_intent or None


def _labels(examples: Iterable[Example], *, by_response: bool) -> list[str]:
    """The labels, rarest first; equally rare ones in the order of the files."""
    labels = (_label(example, by_response=by_response) for example in examples)
    counts = Counter(label for label in labels if label)
    return [label for label, _ in sorted(counts.items(), key=itemgetter(1))]


def _warnings(examples: Sequence[Example], messages: Sequence[_Message], fraction: float) -> list[str]:
    intents = Counter(example.base_intent for example in examples if example.base_intent)
    warnings = [
        f"Intent '{intent}' has only {count} example; an intent needs {_FEWEST_EXAMPLES} to be on both sides."
        for intent, count in intents.items()
        if count < _FEWEST_EXAMPLES
    ]
    parts = [
        (kind, name)
        for example in examples
        for entity in example.entities
        for kind, name in (("Entity", entity.entity), ("Role", entity.role), ("Group", entity.group))
        if name
    ]
    warnings += [f"{kind} '{name}' has only 1 example." for (kind, name), count in Counter(parts).items() if count == 1]
    unanswered = Counter(
        message.example.intent for message in messages if "/" in (message.example.intent or "") and not message.response
    )
    warnings += [f"'{label}' has {count} examples but no response." for label, count in unanswered.items()]
    labels = {example.intent for example in examples if example.intent}
    smaller = min(fraction, 1 - fraction)
    if int(smaller * len(examples)) + 1 < len(labels):
        warnings.append(
            f"There are too few examples to have each of {len(labels)} intents on both sides and train on {fraction:g} "
            "of the data; the share will differ."
        )
    return warnings


FEWEST_EXAMPLES: Final = 5
"""Intents with fewer are left out of a comparison, as in Rasa."""

TRAINING_FRACTION: Final = 0.8

SIGNIFICANT: Final = 0.05

WORTHWHILE: Final = 0.005
"""Half a point of F1 for twice the data: below that, writing more sentences is hardly worthwhile."""


class RunPlan(Struct, frozen=True):
    """One run: its seed, its test sentences, and the training sentences left at each percentage of exclusion."""

    number: int
    seed: int
    test: tuple[Example, ...]
    included: Mapping[int, tuple[Example, ...]]


class Score(Struct, frozen=True):
    """The result of one pipeline in one run at one percentage; ``correct`` is in the order of the run's test sentences.

    ``failed`` is why it could not be trained; it then scores 0, as in Rasa.
    """

    pipeline: str
    run: int
    percentage: int
    f1: float
    correct: tuple[bool, ...] = ()
    failed: str | None = None


class LearningCurve(Struct, frozen=True):
    """How F1 grows with the number of training sentences: the gain for twice as many, and its 95 % interval."""

    slope: float
    low: float
    high: float


class Advice(Struct, frozen=True):
    """Which pipeline to use. ``pipelines`` are sorted by mean F1 with the most data, the best first.

    ``left_out`` is the percentage of the training sentences that was left out even then.
    ``p_value`` compares the best with the ``second``: the best of those that are run differently; ``None`` if none is.
    ``failed`` is why a pipeline could not be trained in any run: it is compared with none.
    """

    left_out: int
    pipelines: tuple[str, ...]
    second: str | None
    mean_f1: Mapping[str, float]
    deviation: Mapping[str, float]
    p_value: float | None
    better: int
    worse: int
    curves: Mapping[str, LearningCurve | None]
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_noise(self) -> bool:
        """Whether the difference between the two that are compared may be due to chance."""
        return self.p_value is not None and self.p_value >= SIGNIFICANT


def plan_runs(
    examples: Sequence[Example], responses: Mapping[str, Response], *, runs: int, percentages: Sequence[int], seed: int
) -> tuple[RunPlan, ...]:
    """Sample the sentences of every run. Intents with fewer than five examples are left out."""
    sizes = Counter(example.base_intent for example in examples if example.base_intent)
    kept = [example for example in examples if example.base_intent and sizes[example.base_intent] >= FEWEST_EXAMPLES]
    plans = []
    for number in range(1, runs + 1):
        own = seed + number - 1
        split = split_as_rasa(kept, responses, fraction=TRAINING_FRACTION, seed=own)
        included = {
            percentage: split_as_rasa(split.training, responses, fraction=percentage / 100, seed=own).test
            if percentage
            else split.training
            for percentage in percentages
        }
        plans.append(RunPlan(number, own, split.test, included))
    return tuple(plans)


def advise(
    plans: Sequence[RunPlan], scores: Sequence[Score], alike_to: Callable[[str], Sequence[str]] = lambda _: ()
) -> Advice:
    """Return which pipeline is best with the most data, whether that is noise, and what more data would gain.

    ``alike_to`` returns the pipelines that are run like a given one: comparing it with them would say nothing.
    """
    least = min(score.percentage for score in scores)
    full = defaultdict(list)
    for score in scores:
        if score.percentage == least:
            full[score.pipeline].append(score)
    means = {name: fsum(score.f1 for score in own) / len(own) for name, own in full.items()}
    deviation = {
        name: sqrt(fsum((score.f1 - means[name]) ** 2 for score in own) / len(own)) for name, own in full.items()
    }
    ranked = sorted(means, key=lambda name: (-means[name], name))
    failed = {name: own[0].failed or "" for name, own in full.items() if all(score.failed for score in own)}
    left = [name for name in ranked if name not in failed]
    alike = alike_to(left[0]) if left else ()
    second = next((name for name in left[1:] if name not in alike), None)
    better, worse = _net_sentences(plans, full[left[0]], full[second]) if second is not None else (0, 0)
    return Advice(
        left_out=least,
        pipelines=tuple(ranked),
        second=second,
        mean_f1=means,
        deviation=deviation,
        p_value=mcnemar_exact(worse, better) if second is not None else None,
        better=better,
        worse=worse,
        curves={name: _learning_curve(plans, [score for score in scores if score.pipeline == name]) for name in ranked},
        failed=failed,
    )


def _net_sentences(plans: Sequence[RunPlan], scores: Sequence[Score], other: Sequence[Score]) -> tuple[int, int]:
    """Count the sentences that the one pipeline understands more often than the other, and those less often.

    A sentence may be tested in several runs; it counts once, since its outcomes are not independent.
    """
    net: Counter[tuple[str | None, str]] = Counter()
    tests = {plan.number: plan.test for plan in plans}
    others = {score.run: score for score in other}
    for score in scores:
        pairs = zip(tests[score.run], score.correct, others[score.run].correct, strict=False)
        for example, right, other_right in pairs:
            net[example.intent, example.text] += right - other_right
    return sum(value > 0 for value in net.values()), sum(value < 0 for value in net.values())


def _learning_curve(plans: Sequence[RunPlan], scores: Sequence[Score]) -> LearningCurve | None:
    """Fit F1 = a + b · log2(sentences) by least squares; the interval is Student's, over all runs and percentages.

    ``None`` with fewer than two sizes or three points: there is then no slope, or no way to estimate its interval.
    """
    sizes = {(plan.number, percentage): len(kept) for plan in plans for percentage, kept in plan.included.items()}
    points = [(log2(sizes[score.run, score.percentage]), score.f1) for score in scores if not score.failed]
    if len({x for x, _ in points}) < 2 or len(points) < 3:
        return None
    from scipy.stats import t  # only comparisons need it

    mean_x = fsum(x for x, _ in points) / len(points)
    mean_y = fsum(y for _, y in points) / len(points)
    spread = fsum((x - mean_x) ** 2 for x, _ in points)
    slope = fsum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    residual = fsum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    margin = float(t.ppf(0.975, len(points) - 2)) * sqrt(residual / (len(points) - 2) / spread)
    return LearningCurve(slope, slope - margin, slope + margin)
