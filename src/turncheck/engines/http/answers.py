"""What a bot's answers hold, by the paths of its shape: the only place where they are read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from turncheck.web.json_path import JsonPath, PathError, outline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.settings.bot import Bot

MOST_REPLIES: Final = 200
"""No turn has more messages."""
LONGEST_REPLY: Final = 65_536
"""No message has more characters."""


class AnswerError(ValueError):
    """An answer is not what the shape says; the message is the end of a sentence: "the bot's answer …"."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one answer holds. ``slots``: those that it names; ``None``: the shape does not say where they are.

    ``remark``: what may be wrong with it.
    """

    replies: tuple[str, ...] = ()
    intent: str | None = None
    confidence: float | None = None
    slots: Mapping[str, Any] | None = None
    tools: tuple[str, ...] = ()
    ended: bool = False
    remark: str = ""
    echo: tuple[str, ...] = field(default=(), compare=False)


def read_answer(bot: Bot, answer: Any, *, lenient: bool = False) -> Said:
    """Read one answer; ``lenient``: it need not hold messages, since none was sent.

    Raises:
        AnswerError: it has another shape.
    """
    replies, remark = _replies(bot.replies, answer, lenient=lenient)
    return Said(
        replies,
        _intent(bot.intent, answer),
        _confidence(bot.confidence, answer),
        _slots(bot, answer),
        _tools(bot.tools, answer),
        ended=bot.ended is not None and any(_is_true(value) for value in _values("ended", bot.ended, answer)),
        remark=remark,
        echo=tuple(str(value) for value in _values("echo", bot.session.echo, answer) if value is not None),
    )


def _values(name: str, path: JsonPath | None, answer: Any) -> list[Any]:
    if path is None:
        return []
    try:
        return path.values(answer)
    except PathError as error:
        raise AnswerError(f"cannot be searched for `{name}: {path.text}` ({path.location}): {error}") from None


def _replies(path: JsonPath, answer: Any, *, lenient: bool) -> tuple[tuple[str, ...], str]:
    found = _values("replies", path, answer)
    if not found and not lenient:
        reach, had = path.reach(answer), outline(answer)
        if reach == "nowhere":
            raise AnswerError(f"has nothing at `replies: {path.text}` ({path.location}); it has {had}")
        if reach == "further":
            return (), f"the answer has no message at {path.text}; it has {had}"
    if len(found) > MOST_REPLIES:
        raise AnswerError(f"has {len(found):,} messages or more, at most {MOST_REPLIES} are read in a turn")
    texts = [value for value in found if value not in (None, "")]
    for value in texts:
        if not isinstance(value, str):
            what = _kind_of(value)
            raise AnswerError(f"has {what} at `replies: {path.text}` ({path.location}), where text was expected")
        if len(value) > LONGEST_REPLY:
            raise AnswerError(f"has a message of {len(value):,} characters, at most {LONGEST_REPLY:,} are read")
    return tuple(texts), ""


def _intent(path: JsonPath | None, answer: Any) -> str | None:
    value = next(iter(_values("intent", path, answer)), None)
    if value is not None and not isinstance(value, str):
        raise AnswerError(f"has {_kind_of(value)} where the name of the intent was expected")
    return value or None


def _confidence(path: JsonPath | None, answer: Any) -> float | None:
    value = next(iter(_values("confidence", path, answer)), None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise AnswerError(f"has {_shown(value)} as its confidence, where a number from 0 to 1 was expected")
    return float(value)


def _slots(bot: Bot, answer: Any) -> Mapping[str, Any] | None:
    if bot.slots is None:
        return None
    found = _values("slots", bot.slots, answer)
    if not found or found[0] is None:
        return {}
    if not isinstance(found[0], dict):
        raise AnswerError(f"has {_kind_of(found[0])} at `slots: {bot.slots.text}`, where a map was expected")
    path = bot.slot_value
    if path is None:
        return found[0]
    return {name: next(iter(_values("value", path, value)), None) for name, value in found[0].items()}


def _tools(path: JsonPath | None, answer: Any) -> tuple[str, ...]:
    names = [value for value in _values("tools", path, answer) if value is not None]
    for value in names:
        if not isinstance(value, str):
            raise AnswerError(f"has {_kind_of(value)} where the name of a tool was expected")
    return tuple(names)


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


def _kind_of(value: Any) -> str:
    match value:
        case bool():
            return f"the truth value {_shown(value)}"
        case int() | float():
            return f"the number {_shown(value)}"
        case list():
            return "a list"
        case dict():
            return f"a map ({outline(value)})"
        case _:
            return f"the text {_shown(value)}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]
