"""Shapes that YAML files must have, and patterns: nodes are validated, and shapes are written as JSON Schema.

A shape is what both say: :func:`read` gives plain data and a fault for every place that has another shape,
:func:`json_schema` the same rules for editors.
"""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from re import _constants as opcodes  # type: ignore[attr-defined] # CPython's own parser of patterns: no other knows its syntax
from re import _parser as parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.clock import seconds_left
from turncheck.messages.phrasing import misspelt, suggestion
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.messages.finding import Location


# Regular expressions that tests search for: parsed as Python's :mod:`re` does, searched for within a time limit.
#
# The search is done by the package ``regex``, which supports Python's patterns and a timeout, unlike :mod:`re`: on a
# pull request patterns are written by anyone, and some would run practically for ever.

SEARCH_SECONDS: Final = 1.0
"""How long a pattern may be searched for in one text; ordinary ones take microseconds."""
MAX_SIZE: Final = 100_000
"""Maximum number of parts of a pattern with its repetitions expanded, as ``regex`` does."""
_REPEATS: Final = frozenset({opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT})


class EndlessSearchError(Exception):
    """The search for a pattern exceeded the time limit."""


def pattern_problem(pattern: str, *, for_re: bool = True) -> str | None:
    """Return why a pattern cannot be used, or ``None``.

    ``for_re``: :mod:`re` would have to search for it, too; otherwise what looks behind may be of any width.
    """
    import regex  # only where there are patterns

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # notes on style, such as "possible nested set"
            if for_re:
                re.compile(pattern)
            if _size(parser.parse(pattern)) > MAX_SIZE:
                return "it repeats more than can be searched for"
            regex.compile(as_re_reads(pattern), flags=regex.VERSION0)
    except (re.error, regex.error, OverflowError, RecursionError) as error:
        return str(error) or type(error).__name__
    return None


def is_found(pattern: str, text: str) -> bool:
    """Whether the text holds the pattern; as it is, or as a regular expression.

    Raises:
        EndlessSearchError: the search took longer than :data:`SEARCH_SECONDS`.
    """
    return pattern in text or is_matched(pattern, text)


def is_matched(pattern: str, text: str) -> bool:
    """Whether the text holds the regular expression.

    Raises:
        EndlessSearchError: the search took longer than :data:`SEARCH_SECONDS`, or than is left.
    """
    import regex  # only where there are patterns

    try:
        searched = as_re_reads(pattern)
        seconds = seconds_left(SEARCH_SECONDS)
        return regex.search(searched, text, flags=regex.VERSION0, timeout=seconds, concurrent=True) is not None
    except TimeoutError:
        raise EndlessSearchError from None


_LITERAL: Final = re.compile(
    r"(?P<as_it_is>\\N\{[^}]*\}|\\.|\{(?:\d+(?:,\d*)?|,\d*)\})|\[(?P<characters>\^?\]?(?:\\.|[^\]\\])*)\]|\{",
    re.DOTALL,
)
_IN_CHARACTERS: Final = re.compile(r"\\.|\[", re.DOTALL)


@lru_cache
def as_re_reads(pattern: str) -> str:
    """Return a pattern with what is literal in :mod:`re`, and is not in ``regex``, escaped.

    A brace that begins no repetition is there a fuzzy match (``{e}``), and ``[:`` in a set a class of POSIX.
    """

    def bracket(match: re.Match[str]) -> str:
        return r"\[" if match[0] == "[" else match[0]

    def escaped(match: re.Match[str]) -> str:
        if match["as_it_is"]:
            return match[0]
        characters = match["characters"]
        return r"\{" if characters is None else f"[{_IN_CHARACTERS.sub(bracket, characters)}]"

    return _LITERAL.sub(escaped, pattern)


def _size(tree: Any) -> int:
    size = 0
    for operator, argument in tree:
        times = max(1, argument[0]) if operator in _REPEATS else 1
        size += 1 + times * sum(map(_size, _parts(argument)))
    return size


def _parts(argument: Any) -> list[Any]:
    """Return the patterns inside of an item's argument, which is a pattern, a number, or a tuple of such."""
    if isinstance(argument, parser.SubPattern):
        return [argument]
    if isinstance(argument, (tuple, list)):
        return [part for item in argument for part in _parts(item)]
    return []


Json = dict[str, Any]


class Fault(Struct, frozen=True):
    """What is wrong in a file, where, and what would be right; ``unknown``: a key that is not just misspelt."""

    message: str
    location: Location
    hint: str = ""
    unknown: str = ""


class Text(Struct, frozen=True):
    """A string, as it is in the file: ``yes``, ``12`` and ``1.50`` are strings here.

    ``is_pattern``: it is searched for as Python's :mod:`re` does, and has to compile; ``one_of``: all that it may be.
    ``is_typed``: numbers and truth values are refused, since another program reads it; ``nullable``: it may be left
    empty.
    """

    may_be_empty: bool = True
    is_pattern: bool = False
    one_of: tuple[str, ...] = ()
    is_typed: bool = False
    nullable: bool = False
    what: str = "a string"


class Boolean(Struct, frozen=True):
    """``true`` or ``false``."""

    what: str = "true or false"


class Fraction(Struct, frozen=True):
    """A number from 0 to 1."""

    what: str = "a number from 0 to 1"


class Number(Struct, frozen=True):
    """A number."""

    nullable: bool = False
    what: str = "a number"


class Anything(Struct, frozen=True):
    """Any value, nothing among them."""

    what: str = "a value"


class ListOf(Struct, frozen=True):
    """A list. ``scalar_ok``: one item may be there without a list; ``nullable``: nothing may be there, or no item.

    ``may_be_empty``: it may have no item.
    """

    item: Shape
    scalar_ok: bool = False
    nullable: bool = False
    may_be_empty: bool = False
    what: str = "a list"


class MapOf(Struct, frozen=True):
    """A mapping from freely chosen names to items. ``single``: it has one name; ``nullable``: it may be left
    empty."""

    item: Shape
    single: bool = False
    nullable: bool = False
    what: str = "a map"


class Key(Struct, frozen=True):
    """What is under a key. ``needs``: another key, without which this one says nothing."""

    shape: Shape
    description: str
    required: bool = False
    needs: str | None = None


class Record(Struct, frozen=True):
    """A mapping with these keys. ``what`` names it: "a test case".

    ``marker``: the key by which it is known among others; ``others`` are keys of the other kinds; ``single``: it has
    exactly one of the keys; ``is_open``: further keys are not checked.
    """

    what: str
    keys: Mapping[str, Key]
    marker: str | None = None
    others: tuple[str, ...] = ()
    single: bool = False
    is_open: bool = False
    may_be_empty: bool = False
    description: str = ""


class Either(Struct, frozen=True):
    """One of several shapes: the first that is of the node's kind."""

    shapes: tuple[Shape, ...]
    what: str


class Kinds(Struct, frozen=True):
    """A mapping of one of several kinds; the string under the key ``tag`` says which. ``name``: "an event"."""

    name: str
    tag: str
    kinds: Mapping[str, Record]
    what: str


Shape = Text | Boolean | Fraction | Number | Anything | ListOf | MapOf | Record | Either | Kinds


# --- reading ----------------------------------------------------------------------------------------------------------


def read(node: YamlNode, shape: Shape, faults: list[Fault], label: str = "") -> Any:
    """Return the node as plain data of this shape; what does not fit is added to ``faults`` and becomes ``None``.

    ``label`` names the node in messages, such as ``'steps'``.
    """
    return _Reader(faults).read(node, shape, label or "this")


class _Reader(Struct, frozen=True):
    faults: list[Fault] = field(default_factory=list)

    def read(self, node: YamlNode, shape: Shape, label: str) -> Any:
        if not _is_kind(node, shape):
            hint = _hint(shape) or _quoted(node, shape)
            self.faults.append(Fault(f"{label} must be {_kind(shape)}.", node.location, hint))
            return None
        match shape:
            case Text():
                return self._text(node, shape, label)
            case ListOf():
                return self._list(node, shape, label)
            case MapOf():
                return self._map(node, shape, label)
            case Record():
                return self._record(node, shape)
            case Either():
                return self.read(node, next(one for one in shape.shapes if _is_kind(node, one)), label)
            case Kinds():
                return self._of_a_kind(node, shape)
            case _:
                return node.data

    def _of_a_kind(self, node: YamlNode, shape: Kinds) -> Json | None:
        tag = node.items.get(shape.tag) if isinstance(node, YamlMapping) else None
        name = text_of(tag)
        if name in shape.kinds:
            return self._record(node, shape.kinds[name])
        kinds = tuple(shape.kinds)
        if tag is None:
            message = f"{_capital(shape.name)} needs the key '{shape.tag}'."
            self.faults.append(Fault(message, node.location, _allowed(kinds)))
        else:
            message = f"'{name}' is not a kind of {shape.tag}." if name else f"'{shape.tag}' must be a string."
            self.faults.append(Fault(message, tag.location, f"{_allowed(kinds)}{_guess(name, kinds)}"))
        return None

    def _text(self, node: YamlNode, shape: Text, label: str) -> str | None:
        if is_nothing(node):
            return None
        text = text_of(node)
        if shape.one_of and text not in shape.one_of:
            message = f"{label} must be {' or '.join(shape.one_of)}."
            self.faults.append(Fault(message, node.location))
        if not text and not shape.may_be_empty:
            self.faults.append(Fault(f"{label} must not be empty.", node.location))
        if shape.is_pattern and (problem := pattern_problem(text)) is not None:
            as_pattern = re.escape(text).replace("\\ ", " ")
            message = f"{label} is not a regular expression: {problem}."
            self.faults.append(Fault(message, node.location, f"The text itself is searched for by: {as_pattern}"))
        return text

    def _list(self, node: YamlNode, shape: ListOf, label: str) -> list[Any]:
        if isinstance(node, YamlSequence):
            if not node.items and not (shape.nullable or shape.may_be_empty):
                self.faults.append(Fault(f"{label} must have an entry.", node.location))
            return [self.read(item, shape.item, f"An entry of {label}") for item in node.items]
        return [] if is_nothing(node) else [self.read(node, shape.item, label)]

    def _map(self, node: YamlNode, shape: MapOf, label: str) -> Json:
        items = node.items if isinstance(node, YamlMapping) else {}
        if (shape.single and len(items) != 1) or not (items or shape.nullable):
            self.faults.append(Fault(f"{label} must be {shape.what}.", node.location))
        return {str(name): self.read(below, shape.item, f"'{name}'") for name, below in items.items()}

    def _record(self, node: YamlNode, shape: Record) -> Json:
        items = node.items if isinstance(node, YamlMapping) else {}
        allowed = (*shape.others, *shape.keys)
        if isinstance(node, YamlMapping) and not shape.is_open:
            for name in items:
                if name not in shape.keys:
                    hint = f"{_allowed(allowed)}{_guess(str(name), allowed)}"
                    unknown = "" if misspelt(str(name), allowed) else str(name)
                    message = f"'{name}' is not a key of {shape.what}."
                    self.faults.append(Fault(message, node.key_location(name), hint, unknown))
        for name, key in shape.keys.items():
            if key.required and name not in items:
                message = f"{_capital(shape.what)} needs the key '{name}'."
                self.faults.append(Fault(message, node.location, _allowed(allowed)))
            if key.needs is not None and isinstance(node, YamlMapping) and name in items and key.needs not in items:
                message = f"'{name}' says nothing without '{key.needs}' beside it."
                self.faults.append(Fault(message, node.key_location(name), _allowed(allowed)))
        if not items and not shape.may_be_empty:
            self.faults.append(Fault(f"{_capital(shape.what)} must not be empty.", node.location, _allowed(allowed)))
        elif shape.single and len(items) > 1:
            self.faults.append(
                Fault(f"{_capital(shape.what)} must have a single key.", node.location, _allowed(allowed))
            )
        return {
            str(name): self.read(below, shape.keys[name].shape, f"'{name}'") if name in shape.keys else below.data
            for name, below in items.items()
        }


def _is_kind(node: YamlNode, shape: Shape) -> bool:  # noqa: PLR0911 - one branch per shape, flat
    match shape:
        case Text():
            if is_nothing(node):
                return shape.nullable
            return isinstance(node, YamlScalar) and (isinstance(node.value, str) or not shape.is_typed)
        case Number():
            is_number = isinstance(node, YamlScalar) and isinstance(node.value, (int, float))
            return (is_number and not isinstance(node.data, bool)) or (shape.nullable and is_nothing(node))
        case Kinds():
            return isinstance(node, YamlMapping)
        case Boolean():
            return isinstance(node, YamlScalar) and isinstance(node.value, bool)
        case Fraction():
            is_number = isinstance(node, YamlScalar) and isinstance(node.value, (int, float))
            return is_number and not isinstance(node.data, bool) and 0 <= node.data <= 1
        case Anything():
            return True
        case ListOf():
            is_one = shape.scalar_ok and _is_kind(node, shape.item)
            return isinstance(node, YamlSequence) or is_one or (shape.nullable and is_nothing(node))
        case MapOf():
            return isinstance(node, YamlMapping) or (shape.nullable and is_nothing(node))
        case Record():
            return isinstance(node, YamlMapping) and (shape.marker is None or shape.marker in node.items)
        case Either():
            return any(_is_kind(node, one) for one in shape.shapes)


def text_of(node: YamlNode | None) -> str:
    """Return a scalar's text as it is in the file, ``None`` for anything else."""
    if not isinstance(node, YamlScalar) or node.value is None:
        return ""
    return node.value if isinstance(node.value, str) else node.source.text[node.start : node.end]


def is_nothing(node: YamlNode) -> bool:
    """Whether the value is ``null``."""
    return isinstance(node, YamlScalar) and node.value is None


def _kind(shape: Shape) -> str:
    return "a map" if isinstance(shape, Record) else shape.what


def _allowed(keys: tuple[str, ...]) -> str:
    return f"Allowed: {', '.join(keys)}."


def _guess(name: str, allowed: tuple[str, ...]) -> str:
    return f" {suggestion(name, allowed)}".rstrip()


def _quoted(node: YamlNode, shape: Shape) -> str:
    """Say how to write a number or truth value as a string, if a string is needed."""
    if isinstance(shape, Text) and isinstance(node, YamlScalar) and not is_nothing(node):
        return f'In quotes it is one: "{text_of(node)}".'
    return ""


def _hint(shape: Shape) -> str:
    match shape:
        case Kinds():
            return f"It needs the key '{shape.tag}'."
        case Record():
            return _allowed(tuple(shape.keys))
        case Either():
            return next((hint for one in shape.shapes if (hint := _hint(one))), "")
        case ListOf():
            return _hint(shape.item)
        case _:
            return ""


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# --- JSON Schema ------------------------------------------------------------------------------------------------------


def json_schema(shape: Shape) -> Json:  # noqa: PLR0911 - one branch per shape, flat
    """Return the shape as JSON Schema (draft 2020-12). It cannot express that a pattern must compile."""
    match shape:
        case Text() if shape.one_of:
            return {"enum": list(shape.one_of)}
        case Text():
            kinds = ["string"] if shape.is_typed else ["string", "number", "boolean"]
            kinds += ["null"] if shape.nullable else []
            return {"type": kinds if len(kinds) > 1 else kinds[0], **({} if shape.may_be_empty else {"minLength": 1})}
        case Number():
            return {"type": ["number", "null"] if shape.nullable else "number"}
        case Kinds():
            return {"anyOf": [json_schema(record) for record in shape.kinds.values()]}
        case Boolean():
            return {"type": "boolean"}
        case Fraction():
            return {"type": "number", "minimum": 0, "maximum": 1}
        case Anything():
            return {}
        case ListOf():
            return _list_schema(shape)
        case MapOf():
            least = {} if shape.nullable else {"minProperties": 1}
            most = {"minProperties": 1, "maxProperties": 1} if shape.single else {}
            kind = {"type": ["object", "null"] if shape.nullable else "object"}
            return {**kind, **least, **most, "additionalProperties": json_schema(shape.item)}
        case Record():
            return _record_schema(shape)
        case Either():
            return {"anyOf": [json_schema(one) for one in shape.shapes]}


def _list_schema(shape: ListOf) -> Json:
    least = {} if shape.nullable or shape.may_be_empty else {"minItems": 1}
    kind = {"type": ["array", "null"] if shape.nullable else "array", **least}
    several = {**kind, "items": json_schema(shape.item)}
    return {"anyOf": [json_schema(shape.item), several]} if shape.scalar_ok else several


def _record_schema(shape: Record) -> Json:
    required = [name for name, key in shape.keys.items() if key.required]
    needs = {name: [key.needs] for name, key in shape.keys.items() if key.needs is not None}
    return {
        "type": "object",
        **({"description": shape.description} if shape.description else {}),
        **({} if shape.is_open else {"additionalProperties": False}),
        **({} if shape.may_be_empty else {"minProperties": 1}),
        **({"maxProperties": 1} if shape.single else {}),
        **({"required": required} if required else {}),
        **({"dependentRequired": needs} if needs else {}),
        "properties": {
            name: {**json_schema(key.shape), "description": key.description} for name, key in shape.keys.items()
        },
    }
