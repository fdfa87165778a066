"""Fills ``{slot}`` in the texts of responses, as Rasa 3 does, with its corner cases."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turncheck.engines.embedded.actions.base import ActionError

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"{([^\n{}]+?)}")
_FIELD_WITH_LINE_BREAK = re.compile(r"{[^{}]*\n[^{}]*}")
_LOOKUP = "0["
"""``{name}`` turns into ``{0[name]}``, a look-up in the first argument of ``str.format``."""


class TemplateError(ActionError):
    """A text whose braces cannot be read. In Rasa the action that says it fails, and nothing is said."""


def fill_text(text: str, values: Mapping[str, Any]) -> str:
    """Return the text with every ``{name}`` replaced by its value; ``None`` is written as ``None``.

    A name without a value leaves the whole text as it is. Double braces stand for single ones, except that a text with
    a doubled placeholder is only unescaped, not filled (and left as it is where it has plain placeholders too).

    Raises:
        TemplateError: the braces do not match, as in ``"a { b"``.

    >>> fill_text("Hi {name}, {{really}}", {"name": "Ida"})
    'Hi {name}, {{really}}'
    >>> fill_text("Hi {name}", {"name": None})
    'Hi None'
    >>> fill_text("Hi {nobody}, {name}", {"name": "Ida"})
    'Hi {nobody}, {name}'
    """
    if "{" not in text and "}" not in text:
        return text
    if _FIELD_WITH_LINE_BREAK.search(text):
        raise TemplateError(f"a placeholder with a line break in {text!r}")
    try:
        filled = _PLACEHOLDER.sub(r"{0[\1]}", text).format(values)
        return text.format({}) if _LOOKUP in filled else filled
    except KeyError:
        return text
    except (ValueError, IndexError, AttributeError, TypeError) as error:
        raise TemplateError(f"{error} in {text!r}") from error


def fill(content: Any, values: Mapping[str, Any]) -> Any:
    """Return a copy of ``content`` (text, list or mapping, nested) with all its texts filled; keys stay as they are."""
    if isinstance(content, str):
        return fill_text(content, values)
    if isinstance(content, dict):
        return {key: fill(value, values) for key, value in content.items()}
    if isinstance(content, list):
        return [fill(value, values) for value in content]
    return content
