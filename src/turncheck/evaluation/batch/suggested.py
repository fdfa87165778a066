"""Generated cases for every intent of a project: with other entity values, else written as real users write.

The suggestions of entity values are those of :mod:`turncheck.project.batch.suggestions`. What has no entities (dialogs,
FAQs, small talk) is varied by the families of :mod:`turncheck.evaluation.robustness.families` that change its words.
"""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

from turncheck.evaluation.robustness.robustness import make_variants
from turncheck.project.batch.model import SuiteCase, comparable
from turncheck.project.batch.suggestions import Suggestions, suggest, words_of_case

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.project.model import Project

_SEED: Final = 42
_FAMILIES: Final = ("politeness", "contraction", "abbreviation", "diacritics", "typo")
"""The families of variants that are new sentences, the most natural first; casing and punctuation keep the words."""


def suggest_cases(project: Project, *, intent: str | None = None, most: int = 50) -> Suggestions:
    """Return up to ``most`` generated cases, of one intent or of all, in turns so that each intent has some.

    Raises:
        UserError: the project's own word lists cannot be read.
    """
    wanted = None if intent is None else comparable(intent)
    by_values = suggest(project, intent=intent, most=None)
    with_values = {comparable(name) for case in by_values.cases for name in case.intents}
    varied = [
        case
        for case in _varied(project)
        if (key := comparable(case.intents[0])) not in with_values and wanted in {None, key}
    ]
    known = {words_of_case(example.text) for example in project.nlu.examples}
    new = {words: case for case in varied if (words := words_of_case(case.text)) not in known}
    chosen = _in_turns([*by_values.cases, *new.values()], most)
    order = list(dict.fromkeys(comparable(example.intent or "") for example in project.nlu.examples))
    chosen.sort(key=lambda case: order.index(comparable(case.intents[0])))
    return Suggestions(tuple(chosen), by_values.near + len(varied) - len(new), _without(project, chosen, wanted))


def _without(project: Project, cases: Sequence[SuiteCase], wanted: str | None) -> tuple[str, ...]:
    names = {comparable(one.intent): one.intent for one in project.nlu.examples if one.intent}
    covered = {comparable(case.intents[0]) for case in cases}
    return tuple(name for key, name in names.items() if key not in covered and wanted in {None, key})


def _varied(project: Project) -> list[SuiteCase]:
    """Return the variants of sentences without entities, the most natural families first."""
    plain = [one for one in project.nlu.in_order().examples if one.intent and not one.entities]
    variants = [one for one in make_variants(plain, project, _SEED) if one.family in _FAMILIES]
    variants.sort(key=lambda one: _FAMILIES.index(one.family))
    return [
        SuiteCase(one.sentence.text, (of.intent or "",), generated=True, location=of.location)
        for one in variants
        for of in (plain[one.example],)
    ]


def _in_turns(cases: Iterable[SuiteCase], most: int) -> list[SuiteCase]:
    by_intent: dict[str, list[SuiteCase]] = {}
    for case in cases:
        by_intent.setdefault(comparable(case.intents[0]), []).append(case)
    queues: Sequence[list[SuiteCase]] = list(by_intent.values())
    turns = (one for one in chain.from_iterable(zip_longest(*queues)) if one is not None)
    return [case for _, case in zip(range(most), turns, strict=False)]
