"""Chooses and fills the domain's responses: conditions, channels, variations. Mirrors Rasa 3's response generator."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from functools import cached_property
from string import Formatter
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.embedded.actions.base import ActionError

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

    from turncheck.project.model import Response, ResponseVariation


# Fills ``{slot}`` in the texts of responses, as Rasa 3 does, with its corner cases.
#
# Rasa passes these texts to ``str.format``, which can do more than fill in names: access attributes and items of
# values, and pad to any width. Whoever opens the pull request writes these texts: only names are filled in here, up to
# a limit.

MOST_FILLED: Final = 1_000_000
"""At most this many characters of values are filled into one response: a large value can be named many times."""

_PLACEHOLDER: Final = re.compile(r"{([^\n{}]+?)}")
_LOOKUP: Final = "0["
"""``{name}`` is read as ``{0[name]}``, a look-up in the values, so that a name may contain dots and blanks."""
_FIELD: Final = re.compile(r"(?P<argument>[^.\[]*)(?:\[(?P<name>[^\]]+)\])?(?P<rest>.*)", re.DOTALL)
"""The argument that ``str.format`` takes a value from, the name looked up in it, and further accessors."""
_NUMBER: Final = re.compile(r"\d+")
_MOST_DIGITS: Final = 18
_ALL: Final = ""
"""Stands for all values together: ``{}``."""


class TemplateError(ActionError):
    """Text that cannot be filled. In Rasa the action fails, and nothing is said."""


def fill_text(text: str, values: Mapping[str, Any]) -> str:
    """Return the text with every ``{name}`` replaced by its value; ``None`` is written as ``None``.

    A name without a value leaves the whole string unchanged. Double braces become single ones, except that a
    string with a doubled placeholder is only unescaped, not filled (and unchanged if it also has plain placeholders).

    Raises:
        TemplateError: the braces do not match, as in ``"a { b"``; a placeholder is more than a name, as in
            ``"{tags][0}"``; or more than :data:`MOST_FILLED` characters would be filled in.

    >>> fill_text("Hi {name}, {{really}}", {"name": "Ida"})
    'Hi {name}, {{really}}'
    >>> fill_text("Hi {name}", {"name": None})
    'Hi None'
    >>> fill_text("Hi {nobody}, {name}", {"name": "Ida"})
    'Hi {nobody}, {name}'
    """
    return _Filler(values).text(text)


def fill(content: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of ``content`` (text, list or mapping, nested) with all its texts filled; keys are unchanged.

    Raises:
        TemplateError: as :func:`fill_text`; the limit applies to all texts together.
    """
    return _Filler(values).content(content)


@dataclass(slots=True)
class _Filler:
    """Fills the texts of one response."""

    values: Mapping[str, Any]
    _written: dict[str, str] = field(default_factory=dict)
    """The values as strings, by name."""
    _room: int = MOST_FILLED

    def content(self, content: Any) -> Any:
        if isinstance(content, str):
            return self.text(content)
        if isinstance(content, dict):
            return {key: self.content(value) for key, value in content.items()}
        if isinstance(content, list):
            return [self.content(value) for value in content]
        return content

    def text(self, text: str) -> str:
        if "{" not in text and "}" not in text:
            return text
        try:
            filled = self.formatted(_PLACEHOLDER.sub(r"{0[\1]}", text))
            return _Filler({}).formatted(text) if _LOOKUP in filled else filled
        except KeyError:
            return text
        except ValueError as error:
            raise TemplateError(f"{error} in {_shortened(text)!r}") from error

    def formatted(self, template: str) -> str:
        """Do what ``template.format(values)`` does, if its fields only look up names.

        Raises:
            KeyError: a name has no value.
            ValueError: the template cannot be read, or asks for more than names.
        """
        parts: list[str] = []
        places = _Places()
        for literal, place, specification, conversion in Formatter().parse(template):
            parts.append(literal)
            if place is None:
                continue
            name, rest = places.read(place)
            value = self._value(name)
            if rest or specification or conversion:
                raise ValueError("a placeholder that is more than a name")
            self._room -= len(value)
            if self._room < 0:
                raise ValueError(f"more than {MOST_FILLED:,} characters to fill in")
            parts.append(value)
        return "".join(parts)

    def _value(self, name: str) -> str:
        if name not in self._written:
            self._written[name] = str(dict(self.values) if name == _ALL else self.values[name])
        return self._written[name]


@dataclass(slots=True)
class _Places:
    """Reads the fields of one template, which number either all of their arguments or none; there is one argument."""

    _unnumbered: int = 0
    _numbered: int = 0

    def read(self, place: str) -> tuple[str, str]:
        """Return the name that is looked up, and what follows it.

        Raises:
            KeyError: another argument is named, or a number is looked up: names are strings.
            ValueError: the field cannot be read, or there is no such argument.
        """
        match = _FIELD.fullmatch(place)
        if match is None:  # it matches everything
            raise AssertionError(place)
        argument, name, rest = match["argument"], match["name"], match["rest"]
        if argument and not _is_number(argument):
            raise KeyError(argument)
        self._numbered += bool(argument)
        self._unnumbered += not argument
        if self._unnumbered > 1 or (self._unnumbered and self._numbered) or int(argument or 0):
            raise ValueError("a placeholder without a name")
        if name is not None and _is_number(name):
            raise KeyError(name)
        return _ALL if name is None else name, rest


def _is_number(text: str) -> bool:
    """Whether ``str.format`` treats a string as a number; more digits than a number can have are an error."""
    match = _NUMBER.match(text)
    if match is not None and len(match[0]) > _MOST_DIGITS:
        raise ValueError("a placeholder that begins with too many digits")
    return match is not None and match[0] == text


def _shortened(text: str, length: int = 80) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


_FILLED_KEYS = ("text", "image", "custom", "buttons", "attachment", "quick_replies")


class Responses:
    """The responses of a domain, for one channel.

    If several variations fit, ``chance`` chooses; it belongs to one conversation, so that conversations do not
    affect one another.
    """

    def __init__(self, responses: Mapping[str, Response], channel: str, chance: random.Random) -> None:
        self._responses = responses
        self._channel = channel
        self._chance = chance

    @cached_property
    def _all_responses(self) -> dict[str, Any]:
        shapes = {name: [dict(v.content) for v in response.variations] for name, response in self._responses.items()}
        return {"domain_responses": shapes}

    def generate(
        self, name: str, slots: Mapping[str, Any], variables: Mapping[str, Any] | None = None
    ) -> dict[str, Any] | None:
        """Return the response's content, filled from the slots and ``variables`` (which win over slots).

        Without ``variables`` the dialogue itself says the response: Rasa then gives it all responses of the
        domain as ``domain_responses``, which ``{domain_responses}`` and ``{}`` show.

        ``None`` if there is no such response, or none of its variations fits the slots and the channel.

        Raises:
            TemplateError: the braces of a response cannot be read.
        """
        response = self._responses.get(name)
        if response is None:
            return None
        fitting = _fitting(response.variations, self._channel, slots)
        if not fitting:
            return None
        chosen = fitting[0] if len(fitting) == 1 else self._chance.choice(fitting)
        content = copy.deepcopy(dict(chosen.content))
        values = {**slots, **(self._all_responses if variables is None else variables)}
        for key in _FILLED_KEYS:
            if key in content:
                content[key] = fill(content[key], values)
        return content


def _fitting(
    variations: Sequence[ResponseVariation], channel: str, slots: Mapping[str, Any]
) -> Sequence[ResponseVariation]:
    """Return the variations to choose from: for the channel before general ones, and conditional ones first."""
    conditional = [v for v in variations if v.conditions and all(_holds(c, slots) for c in v.conditions)]
    unconditional = [v for v in variations if v.content.get("condition") is None]
    groups = (
        [v for v in conditional if v.channel == channel],
        [v for v in unconditional if v.channel == channel],
        [v for v in conditional if v.channel is None],
        [v for v in unconditional if v.channel is None],
    )
    return next((group for group in groups if group), ())


def _holds(condition: Mapping[str, Any], slots: Mapping[str, Any]) -> bool:
    """Whether the slot has the value of the condition; strings are compared ignoring case."""
    expected, value = condition.get("value"), slots.get(str(condition.get("name")))
    if isinstance(expected, str) and isinstance(value, str):
        return expected.casefold() == value.casefold()
    return bool(expected == value)
