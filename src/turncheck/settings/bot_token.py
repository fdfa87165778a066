"""Where ``{token}`` may be in what a bot is sent: a value of its own, apart from the message.

What a bot reads as text it may repeat in other words (backwards, letter by letter), which nothing recognises.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from turncheck.settings.bot_placeholders import placeholders

_WHOLE: Final = "{token}"
_SAID: Final = frozenset({"text", "history"})
"""What the bot reads as text."""


def misplaced_token(path: str, body: Any) -> str | None:
    """Say what is wrong with where a call has the token; ``None`` if nothing is."""
    parts = re.split(r"[/?&;]", path)
    texts = [*(part.partition("=")[2] or part for part in parts), *(text for _, text in _texts(body))]
    if any("token" in placeholders(text) and text != _WHOLE for text in (*parts[:1], *texts)):
        return f"{_WHOLE} cannot be part of a string"
    if any("token" in placeholders(part.partition("=")[0]) and "=" in part for part in parts):
        return f"{_WHOLE} cannot be a name"
    values = body.values() if isinstance(body, Mapping) else [body]
    if any("token" in found and found & _SAID for found in map(placeholders, values)):
        return f"{_WHOLE} cannot be where the message is"
    return None


def token_places(path: str, body: Any) -> Iterator[str]:
    """Yield where a call has the token: the keys that lead to it, the name in a query, or the path up to it."""
    yield from (f"body{keys}" for keys, text in _texts(body) if text == _WHOLE)
    plain, _, query = path.partition("?")
    yield from (f"path {plain[: match.end()]}" for match in re.finditer(re.escape(_WHOLE), plain))
    yield from (f"query {part.partition('=')[0]}" for part in re.split("[&;]", query) if _WHOLE in part)


def _texts(value: Any, keys: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts in a value, with the keys that lead there."""
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts(below, f"{keys}.{key}")
    elif isinstance(value, list | tuple):
        for number, below in enumerate(value):
            yield from _texts(below, f"{keys}[{number}]")
