"""Comparing pipelines on the same data: which sentences are used for training and testing, and how to read the scores.

The plan is Rasa's (``rasa test nlu --config a.yml b.yml``): each run has 80 % for training and 20 % for testing, and
for each percentage, that share of the training sentences is left out, intent by intent. Rasa samples without a seed;
here run *n* uses ``seed + n - 1``, and with 0 % nothing is left out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from math import fsum, log2, sqrt
from typing import TYPE_CHECKING, Final

from turncheck.comparison.mcnemar import mcnemar_exact
from turncheck.evaluation.splits import split_as_rasa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.project.model import Response
    from turncheck.project.nlu_data import Example

FEWEST_EXAMPLES: Final = 5
"""Intents with fewer are left out of a comparison, as in Rasa."""

TRAINING_FRACTION: Final = 0.8

SIGNIFICANT: Final = 0.05

WORTHWHILE: Final = 0.005
"""Half a point of F1 for twice the data: below that, writing more sentences is hardly worthwhile."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One run: its seed, its test sentences, and the training sentences left at each percentage of exclusion."""

    number: int
    seed: int
    test: tuple[Example, ...]
    included: Mapping[int, tuple[Example, ...]]


@dataclass(frozen=True, slots=True)
class Score:
    """The result of one pipeline in one run at one percentage; ``correct`` is in the order of the run's test sentences.

    ``failed`` is why it could not be trained; it then scores 0, as in Rasa.
    """

    pipeline: str
    run: int
    percentage: int
    f1: float
    correct: tuple[bool, ...] = ()
    failed: str | None = None


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """How F1 grows with the number of training sentences: the gain for twice as many, and its 95 % interval."""

    slope: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Advice:
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
