"""Generated cases for every intent of a project: with other entity values, else written as real users write.

The suggestions of entity values are those of :mod:`turncheck.project.batch.suggestions`. What has no entities (dialogs,
FAQs, small talk) is varied by the families of :mod:`turncheck.evaluations.robustness.families` that change its words.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

from turncheck.evaluations.robustness.robustness import make_variants
from turncheck.project.batch.model import SuiteCase, comparable
from turncheck.project.batch.suggestions import Suggestions, suggest, words_of_case
from turncheck.project.batch.writer import SUFFIXES, is_writable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from turncheck.project.model import Project

_SEED: Final = 42
_ROUNDS: Final = 20
"""How often the sentences are varied, each time otherwise, until there are as many cases as are wanted."""
_FAMILIES: Final = ("politeness", "contraction", "abbreviation", "diacritics", "typo")
"""The families of variants that are new sentences, the most natural first; casing and punctuation keep the words."""


def suggest_cases(
    project: Project, *, intent: str | None = None, most: int = 50, known: Collection[str] = frozenset()
) -> Suggestions:
    """Return up to ``most`` generated cases, of one intent or of all, in turns so that each intent has some.

    Cases whose utterances are ``known`` (in comparable form) are left out: suites have them already; so are those that
    a suite cannot hold, since a name contains a delimiter.

    Raises:
        UserError: the project's own word lists cannot be read.
    """
    wanted = None if intent is None else comparable(intent)
    by_values = suggest(project, intent=intent, most=None)
    with_values = {comparable(name) for case in by_values.cases for name in case.intents}
    trained = {words_of_case(example.text) for example in project.nlu.examples}
    new: dict[tuple[tuple[str, ...], tuple[str, ...]], SuiteCase] = {}
    near: set[tuple[str, ...]] = set()
    for seed in range(_SEED, _SEED + _ROUNDS):
        for case in _varied(project, seed):
            words, key = words_of_case(case.text), comparable(case.intents[0])
            if key in with_values or wanted not in {None, key}:
                continue
            if words in trained:
                near.add(words)
            else:
                new.setdefault((words, case.parent), case)
        if sum(comparable(case.text) not in known for case in (*by_values.cases, *new.values())) >= most:
            break
    made = [*by_values.cases, *new.values()]
    expected = {replace(case, text="-") for case in made}
    writable = {key for key in expected if all(is_writable(key, suffix) for suffix in SUFFIXES)}
    kept = [case for case in made if replace(case, text="-") in writable]
    chosen = _in_turns((case for case in kept if comparable(case.text) not in known), most)
    names = _names(project)
    order = {key: place for place, key in enumerate(names)}
    chosen.sort(key=lambda case: order[comparable(case.intents[0])])
    left = {comparable(case.intents[0]) for case in made} - {comparable(case.intents[0]) for case in kept}
    covered = {comparable(case.intents[0]) for case in chosen} | left
    without = tuple(name for key, name in names.items() if key not in covered and wanted in {None, key})
    unwritable = tuple(name for key, name in names.items() if key in left)
    return Suggestions(tuple(chosen), by_values.near + len(near), without, unwritable)


def _names(project: Project) -> dict[str, str]:
    """Return the intents for which there should be cases, in the order of the data; an export's dialogs without
    sentences, and small talk that follows other small talk, come last."""
    names = [example.intent for example in project.nlu.examples if example.intent]
    names += project.native.expected_intents() if project.native else ()
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(comparable(name), name)
    return found


def _varied(project: Project, seed: int) -> list[SuiteCase]:
    """Return the variants of sentences without entities, the most natural families first."""
    plain = [example for example in project.nlu.in_order().examples if example.intent and not example.entities]
    follow_ups = list(project.native.follow_ups()) if project.native else []
    sentences = [*plain, *(sentence for sentence, _ in follow_ups)]
    parents = [*([()] * len(plain)), *(parent for _, parent in follow_ups)]
    families = _FAMILIES if seed == _SEED else _FAMILIES[:-1]  # one slip of the fingers is enough
    variants = [variant for variant in make_variants(sentences, project, seed) if variant.family in families]
    variants.sort(key=lambda variant: _FAMILIES.index(variant.family))
    return [
        SuiteCase(variant.sentence.text, (of.intent or "",), parent=parent, generated=True, location=of.location)
        for variant in variants
        for of, parent in ((sentences[variant.example], parents[variant.example]),)
    ]


def _in_turns(cases: Iterable[SuiteCase], most: int) -> list[SuiteCase]:
    by_intent: dict[str, list[SuiteCase]] = {}
    for case in cases:
        by_intent.setdefault(comparable(case.intents[0]), []).append(case)
    queues: Sequence[list[SuiteCase]] = list(by_intent.values())
    turns = (one for one in chain.from_iterable(zip_longest(*queues)) if one is not None)
    return [case for _, case in zip(range(most), turns, strict=False)]
