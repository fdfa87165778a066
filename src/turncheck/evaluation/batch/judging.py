"""One case of a suite and how it was understood → the report's own type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.evaluation.batch.classes import classify, is_intent
from turncheck.evaluation.batch.values import as_composite, flatten, how_value_fits, is_of_unknown_type
from turncheck.project.batch.model import comparable
from turncheck.report.batch import BATCH_KINDS, BatchCase, BatchEntity, BatchKindName, BatchOrder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.suite_answers import UtteranceAnswer
    from turncheck.project.batch.known import KnownNames
    from turncheck.project.batch.model import ExpectedEntity, SuiteCase
    from turncheck.report.batch import BatchResult

_RIGHT = frozenset({"tp", "tn"})


def judged_case(case: SuiteCase, answer: UtteranceAnswer, names: KnownNames) -> BatchCase:
    """Judge a case.

    Args:
        case: what is expected.
        answer: how it was understood, or why not.
        names: those of the project, which show the kinds of intents.
    """
    is_trait = case.is_trait or (answer.result is None and _means_traits(case, names))
    given = answer.traits if is_trait else answer.matched
    matched = tuple(dict.fromkeys(name for name in given if is_intent(name)))
    kind = "trait" if is_trait else _kind(case, matched, names)
    result: BatchResult = "not-evaluated"
    if answer.error is None:
        wanted, found = (
            [names.canonical(name, is_trait=is_trait) for name in of_it] for of_it in (case.intents, matched)
        )
        if not case.is_trait and is_trait:  # alternatives: one of them is enough
            wanted = [name for name in wanted if name in found] or wanted
        result = answer.result or classify(kind, wanted, found)
    judged, left_out = _evaluated(case.entities, answer.unknown_entities)
    entities = tuple(_entity(one, answer, is_right=result in _RIGHT) for one in judged)
    return BatchCase(
        text=case.text,
        location=case.location,
        kind=kind,
        expected=case.intents,
        matched=matched,
        parent=case.parent,
        result=result,
        passed=result in _RIGHT and all(entity.passed for entity in entities),
        entities=entities,
        order=_order(case, answer),
        scores=dict(answer.scores),
        tags=(*answer.tags, *(("generated",) if case.generated else ())),
        reason=answer.error
        or answer.remark
        or _reason(case, matched, result, names)
        or left_out
        or _guessed(judged, answer),
    )


def _evaluated(
    expected: Sequence[ExpectedEntity], unknown: Mapping[str, str]
) -> tuple[list[ExpectedEntity], str | None]:
    """Return the entities that can be judged, and a remark about the others."""
    reasons = {comparable(name): reason for name, reason in unknown.items()}
    judged = [entity for entity in expected if comparable(entity.name) not in reasons]
    others = dict.fromkeys(entity.name for entity in expected if comparable(entity.name) in reasons)
    parts = [f"{name} is not evaluated: {reasons[comparable(name)]}" for name in others]
    return judged, "; ".join(parts) or None


def _value(expected: ExpectedEntity, answer: UtteranceAnswer) -> Any:
    """The engine's value for an entity, ``None`` if it has none."""
    key = comparable(expected.name)
    return next((value for name, value in answer.entities.items() if comparable(name) == key), None)


def _guessed(expected: Sequence[ExpectedEntity], answer: UtteranceAnswer) -> str | None:
    """Say which values are objects of a type that the manual does not list."""
    names = [one.name for one in expected if _is_guessed(one, _value(one, answer))]
    if not names:
        return None
    return f"the value of {', '.join(names)} is of an unknown type: its keys are joined in the order received"


def _is_guessed(expected: ExpectedEntity, value: Any) -> bool:
    """Whether the order of an object's keys decided, or would have: its names were not compared."""
    is_named = as_composite(value) in {how_value_fits(one, value)[0] for one in expected.values}
    return is_of_unknown_type(value) and not is_named


def _means_traits(case: SuiteCase, names: KnownNames) -> bool:
    """Whether a case expects names that are only traits in the project, although it does not mark them as such."""
    return bool(case.intents) and all(names.kind_of(name) == "trait" for name in case.intents)


def _kind(case: SuiteCase, matched: tuple[str, ...], names: KnownNames) -> BatchKindName:
    telling = case.intents[:1] or matched[:1]
    kind = names.kind_of(telling[0]) if telling else None
    return next((known for known in BATCH_KINDS if known == kind), "dialog")


def _reason(case: SuiteCase, matched: tuple[str, ...], result: BatchResult, names: KnownNames) -> str | None:
    """Distinguish an expected intent that was matched together with another one from a wrong intent."""
    if result != "fp" or case.is_trait:
        return None
    wanted = {names.canonical(name) for name in case.intents}
    others = [name for name in matched if names.canonical(name) not in wanted]
    return f"ambiguous with {', '.join(others)}" if 0 < len(others) < len(matched) else None


def _entity(expected: ExpectedEntity, answer: UtteranceAnswer, *, is_right: bool) -> BatchEntity:
    key = comparable(expected.name)
    value = _value(expected, answer)
    compared = [how_value_fits(one, value) for one in expected.values]
    found, way = next((one for one in compared if one[1]), compared[0] if compared else (flatten(value), None))
    fits = next((fits for name, fits in answer.fits.items() if comparable(name) == key), way is not None)
    return BatchEntity(
        name=expected.name,
        expected=expected.values,
        matched=found,
        passed=is_right and fits,
        way=way,
    )


def _order(case: SuiteCase, answer: UtteranceAnswer) -> BatchOrder | None:
    """The expected order and the actual one: as extracted, or, if that is not known, the expected one and the other
    entities as written."""
    if not case.order and (answer.order is None or not case.entities):
        return None
    if answer.order is not None:
        return BatchOrder(expected=case.order, actual=answer.order, assumed=False)
    given = {comparable(name) for name in case.order}
    rest = (entity.name for entity in case.entities if comparable(entity.name) not in given)
    return BatchOrder(expected=case.order, actual=(*case.order, *rest), assumed=True)
