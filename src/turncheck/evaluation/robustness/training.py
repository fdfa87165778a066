"""Training sentences against misunderstandings caused by noise, which are tested by training with them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.robustness.robustness import evaluate_robustness, make_variants
from turncheck.project.nlu_data import Example

if TYPE_CHECKING:
    from turncheck.engines.parse import NluTrainer
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.report.robustness import Robustness

_MOST: Final = 3
"""At most this many sentences for an intent and a family."""

Group = tuple[str, str]
"""An intent and a family of noise."""


@dataclass(frozen=True, slots=True)
class TrainingSentences:
    """Sentences for one intent with one family of noise; ``before``, ``after``: numbers of misunderstood variants."""

    intent: str
    family: str
    sentences: tuple[Example, ...]
    before: int
    after: int


def training_sentences(
    project: Project, tests: NluData, robustness: Robustness, trainer: NluTrainer, seed: int
) -> tuple[TrainingSentences, ...]:
    """Return the variants of training sentences that help with the failing intents and families.

    They are made from training sentences, never from the test sentences that they are tried on. An engine is trained
    with all of them; those of groups that then fail less are kept, the most helpful first, and none if more variants
    fail altogether.

    Raises:
        UserError: the project cannot be trained.
    """
    before = _failed(robustness)
    if not before:
        return ()
    known = {example.text.casefold() for example in (*project.nlu.examples, *tests.examples)}
    own = tuple(one for one in project.nlu.examples if one.base_intent in {intent for intent, _ in before})
    made: dict[Group, list[Example]] = {}
    for variant in make_variants(own, project, seed):
        group = variant.sentence.intent, variant.family
        found = made.setdefault(group, [])
        if group in before and len(found) < _MOST and variant.sentence.text.casefold() not in known:
            known.add(variant.sentence.text.casefold())
            found.append(Example(variant.sentence.text, own[variant.example].intent, variant.sentence.entities))
    added = tuple(example for found in made.values() for example in found)
    if not added:
        return ()
    more = replace(project, nlu=replace(project.nlu, examples=(*project.nlu.examples, *added)))
    tried = evaluate_robustness(project, trainer.fit(more), tests, seed=seed)
    if tried.failed >= robustness.failed:
        return ()
    after = _failed(tried)
    helpful = [
        TrainingSentences(intent, family, tuple(made[intent, family]), number, after[intent, family])
        for (intent, family), number in before.items()
        if made.get((intent, family)) and after[intent, family] < number
    ]
    return tuple(sorted(helpful, key=lambda one: (one.after - one.before, one.intent, one.family)))


def _failed(robustness: Robustness) -> Counter[Group]:
    """Count the misunderstood variants by intent and family."""
    return Counter(
        (sentence.intent, one.family) for sentence in robustness.worst for one in sentence.failed if one.intent_failed
    )
