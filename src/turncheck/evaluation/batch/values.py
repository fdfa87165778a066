"""Entity values: an engine's value → one string, and whether a suite expects it.

Kore.ai's manual says in which order the keys of each type of entity are joined. The type of a value is recognised by
its keys, which are a different set for each type.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from turncheck.project.batch.fields import components_of, items_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.report.batch import MatchWay

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
        parts = (_flatten(value[key], depth - 1) for key in _order(value))
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


def _order(value: Mapping[str, Any]) -> list[str]:
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
        return regex.fullmatch(pattern, text, timeout=_SECONDS) is not None
    except (regex.error, TimeoutError, OverflowError, RecursionError, MemoryError):
        return False
