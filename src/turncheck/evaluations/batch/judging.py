"""One case of a suite and how it was understood → the report's own type."""

from __future__ import annotations

from collections import Counter
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from msgspec import UNSET

from turncheck.clock import seconds_left
from turncheck.evaluations.resolved import resolved_utterance
from turncheck.project.batch.model import ExpectedEntity, KnownNames, SuiteCase, comparable
from turncheck.project.batch.rules import components_of, items_of
from turncheck.report.batch import BATCH_KINDS, BatchCase, BatchEntity, BatchKindName, BatchOrder, BatchResult, MatchWay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.engines.base import UtteranceAnswer


# The four classes of an assertion, as Kore.ai's manual defines them for each kind of intent.
#
# A case has one class: a wrong match is only a false positive, not also a false negative. The manual's definition for
# small talk is the opposite of the usual one: if small talk is matched and nothing is expected, that is a false
# *negative*.

NOT_AN_INTENT: Final = frozenset({"", "none", "default fallback intent", "nlu fallback"})
"""What engines return if they matched nothing, in comparable form."""


def is_intent(name: str | None) -> bool:
    """Whether an engine's answer is the name of an intent, not a word for none."""
    return name is not None and comparable(name) not in NOT_AN_INTENT


def classify(kind: BatchKindName, expected: Sequence[str], matched: Iterable[str]) -> BatchResult:
    """Return the class of a case that was evaluated; names are compared by :func:`comparable`."""
    wanted, found = {comparable(name) for name in expected}, {comparable(name) for name in matched}
    if kind == "trait":
        return _of_traits(wanted, found)
    if not wanted:
        if not found:
            return "tn"
        return "fn" if kind == "small_talk" else "fp"
    if kind == "small_talk" and len(wanted) == 1:
        return "tp" if found == wanted else "fp"
    if not found:
        return "fn"
    return "tp" if found <= wanted else "fp"


def _of_traits(wanted: set[str], found: set[str]) -> BatchResult:
    if not wanted:
        return "fp" if found else "tn"
    if not found:
        return "fn"
    return "tp" if wanted <= found else "fp"


# Entity values: an engine's value → one string, and whether a suite expects it.
#
# Kore.ai's manual says in which order the keys of each type of entity are joined. The type of a value is recognised by
# its keys, which are a different set for each type.

_KEYS: Final = (
    ("AirportName", "IATA", "ICAO", "Latitude", "Longitude", "City", "CityLocal"),
    ("alpha2", "alpha3", "numericalCode", "localName", "shortName"),
    ("amount", "code"),
    ("fromDate", "toDate"),
    ("formatted_address", "lat", "lng"),
    ("amount", "unit", "type", "source"),
)
"""Airport, country, currency, date period, location, quantity: the keys of their values, in the order of joining."""

_METACHARACTERS: Final = frozenset("\\^$.|?*+()[]{}")
_LONGEST_PATTERN: Final = 500
_LONGEST_VALUE: Final = 3000
_SECONDS: Final = 0.25
"""The time limit for matching one pattern: a suite may come from a stranger's pull request."""
_DEPTH: Final = 20


def flatten(value: Any) -> str | None:
    """Return an entity's value as one string, as the platform writes it; ``None`` if nothing was found.

    A list of one is its element; the items of a longer one are joined by ``||``. An object's values are joined by
    spaces, in the order of its type; if the type is unknown, in the order received.

    >>> flatten([{"code": "USD", "amount": 10}])
    '10 USD'
    """
    return _flatten(value, _DEPTH)


def _flatten(value: Any, depth: int) -> str | None:
    if value is None or depth == 0:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if isinstance(value, dict):
        parts = (_flatten(value[key], depth - 1) for key in _keys_in_order(value))
        return " ".join(part for part in parts if part) or None
    if isinstance(value, list | tuple):
        items = [item for one in value if (item := _flatten(one, depth - 1))]
        return "||".join(items) or None
    return str(value).strip() or None


def as_composite(value: Any) -> str | None:
    """Return an object as a composite entity is written in a suite; ``None`` if the value is not one.

    A list of objects is one composite if no component appears twice. An object of a type that the manual lists is a
    plain value.

    >>> as_composite([{"City": "Oslo", "Price": {"code": "USD", "amount": 10}}])
    'City:Oslo|Price:10 USD'
    """
    return _with_names(value) if is_of_unknown_type(value) else None


def _with_names(value: Any) -> str | None:
    objects = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(one, dict) for one in objects):
        return None
    named = [(name, inner) for one in objects for name, inner in one.items()]
    if len({name for name, _ in named}) < len(named):
        return None
    return "|".join(f"{name}:{part}" for name, inner in named if (part := flatten(inner))) or None


def shown_value(value: Any) -> str | None:
    """Return an entity's value as one string for people: an object of an unknown type with the names in it."""
    return as_composite(value) or flatten(value)


def is_of_unknown_type(value: Any) -> bool:
    """Whether a value is an object whose keys match no type: the order in which they are joined is then a guess."""
    if isinstance(value, list | tuple):
        return any(map(is_of_unknown_type, value))
    return isinstance(value, dict) and bool(value) and not any(value.keys() <= set(keys) for keys in _KEYS)


def _keys_in_order(value: Mapping[str, Any]) -> list[str]:
    fitting = [keys for keys in _KEYS if value.keys() <= set(keys)]
    return [key for key in min(fitting, key=len, default=tuple(value)) if key in value]


def how_it_fits(expected: str, found: str | None) -> MatchWay | None:
    """Return how a flattened value matches an expected one, ``None`` if it does not.

    Equal strings match; the items of a multi-item entity, or the components of a composite one, match in any order; an
    expected value that has a metacharacter and is a regular expression has to match completely.
    """
    expected = expected.strip()
    if found is None:
        return None
    if found == expected:
        return "equal"
    if "||" in expected:
        return "items in another order" if Counter(items_of(found)) == Counter(items_of(expected)) else None
    if components := components_of(expected):
        return "components in another order" if Counter(components_of(found)) == Counter(components) else None
    return "pattern" if _matches(expected, found) else None


def how_value_fits(expected: str, value: Any) -> tuple[str | None, MatchWay | None]:
    """Return an engine's value as the string that was compared with the expected one, and how it matches.

    If a composite entity is expected, an object's keys are the names of its components.
    """
    flat = flatten(value)
    way = how_it_fits(expected, flat)
    composite = _with_names(value) if components_of(expected) else as_composite(value)
    if way is not None or composite is None:
        return flat, way
    return composite, how_it_fits(expected, composite)


def _matches(pattern: str, text: str) -> bool:
    if len(pattern) > _LONGEST_PATTERN or len(text) > _LONGEST_VALUE or _METACHARACTERS.isdisjoint(pattern):
        return False
    import regex  # most values are equal or have no metacharacters

    try:
        return regex.fullmatch(pattern, text, timeout=seconds_left(_SECONDS)) is not None
    except (regex.error, TimeoutError, OverflowError, RecursionError, MemoryError):
        return False


_RIGHT = frozenset({"tp", "tn"})


def judged_case(case: SuiteCase, answer: UtteranceAnswer, names: KnownNames) -> BatchCase:
    """Judge a case.

    Args:
        case: what is expected.
        answer: how it was understood, or why not.
        names: those of the project, which show the kinds of intents.
    """
    is_trait = case.is_trait or (answer.result is None and _means_traits(case, names))
    found_in = _found_in(answer, is_trait=is_trait, with_bots=bool(case.bots))
    matched = tuple(name for name, _ in found_in)
    kind = "trait" if is_trait else _kind(case, matched, names)
    elsewhere = [_other_bot(name, bot, case, names) for name, bot in found_in]
    result: BatchResult = "not-evaluated"
    if answer.error is None:
        wanted, found = (
            [names.canonical(name, is_trait=is_trait) for name in of_it] for of_it in (case.intents, matched)
        )
        found = [f"{key} ({bot})" if bot else key for key, bot in zip(found, elsewhere, strict=True)]
        if not case.is_trait and is_trait:  # alternatives: one of them is enough
            wanted = [name for name in wanted if name in found] or wanted
        result = answer.result or classify(kind, wanted, found)
    judged, left_out = _evaluated(case.entities, answer.unknown_entities)
    entities = tuple(_entity(entity, answer, is_right=result in _RIGHT) for entity in judged)
    resolved = resolved_utterance(case, names)
    return BatchCase(
        text=case.text,
        location=case.location,
        kind=kind,
        expected=case.intents,
        matched=matched,
        bots=case.bots,
        matched_bots=tuple(bot for _, bot in found_in) if any(bot for _, bot in found_in) else (),
        state=answer.state,
        parent=case.parent,
        result=result,
        passed=result in _RIGHT and all(entity.passed for entity in entities),
        entities=entities,
        order=_order(case, answer, names),
        scores=dict(answer.scores),
        tags=(*answer.tags, *(("generated",) if case.generated else ())),
        reason=answer.error
        or answer.remark
        or _of_another_bot(matched, elsewhere)
        or _reason(case, matched, result, names)
        or left_out
        or _guessed(judged, answer),
        resolved=resolved.digest,
        own=resolved.own,
        shared=resolved.shared,
        measured=UNSET if answer.measured is None else answer.measured,
    )


def _found_in(answer: UtteranceAnswer, *, is_trait: bool, with_bots: bool) -> list[tuple[str, str]]:
    """Return each thing that was matched, once, with its bot: linked bots may have intents of one name."""
    bots = answer.bots if with_bots and not is_trait else ()
    given = zip_longest(answer.traits if is_trait else answer.matched, bots, fillvalue="")
    return list(dict.fromkeys((name, bot) for name, bot in given if is_intent(name)))


def _other_bot(name: str, bot: str, case: SuiteCase, names: KnownNames) -> str:
    """The bot of a matched intent, if the case expects that intent of others only; else "", also if it is not known."""
    key = names.canonical(name)
    pairs = zip(case.intents, case.bots, strict=False)
    wanted = [comparable(of) for intent, of in pairs if names.canonical(intent) == key]
    return bot if bot and wanted and comparable(bot) not in wanted else ""


def _of_another_bot(matched: Sequence[str], elsewhere: Sequence[str]) -> str | None:
    others = [(name, bot) for name, bot in zip(matched, elsewhere, strict=True) if bot]
    right = {name for name, bot in zip(matched, elsewhere, strict=True) if not bot}
    said = (f"{name} is matched in the bot {bot}{', too' if name in right else ''}" for name, bot in others)
    return "; ".join(said) or None


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
    names = [entity.name for entity in expected if _is_guessed(entity, _value(entity, answer))]
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


def _order(case: SuiteCase, answer: UtteranceAnswer, names: KnownNames) -> BatchOrder | None:
    """The expected order and the actual one: as extracted, or, if that is not known, by the platform's own rule.

    The rule: what the case orders comes first; of the others, those that are learnt or found by a pattern precede the
    rest. Within both the order is as written.
    """
    if not case.order and (not case.entities or answer.error is not None):
        return None
    if answer.order is not None:
        return BatchOrder(expected=case.order, actual=answer.order, assumed=False)
    given = {comparable(name) for name in case.order}
    rest = [entity.name for entity in case.entities if comparable(entity.name) not in given]
    rest.sort(key=lambda name: comparable(name) not in names.extracted_first)
    return BatchOrder(expected=case.order, actual=(*case.order, *rest), assumed=True)
