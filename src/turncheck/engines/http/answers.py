"""What a bot's answers hold, by the paths of its shape: the only place where they are read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.http.messages import Message, messages_of
from turncheck.web.json_path import JsonPath, PathError, outline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.settings.bot import Bot, ButtonShape
    from turncheck.web.json_path import Place

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

    messages: tuple[Message, ...] = ()
    intent: str | None = None
    confidence: float | None = None
    slots: Mapping[str, Any] | None = None
    tools: tuple[str, ...] = ()
    ended: bool = False
    remark: str = ""
    echo: tuple[str, ...] = field(default=(), compare=False)

    @property
    def replies(self) -> tuple[str, ...]:
        """The texts of the messages."""
        return tuple(message.text for message in self.messages if message.text is not None)


def read_answer(bot: Bot, answer: Any, *, lenient: bool = False) -> Said:
    """Read one answer; ``lenient``: it need not hold messages, since none was sent.

    Raises:
        AnswerError: it has another shape.
    """
    texts, remark = _replies(bot.replies, answer, lenient=lenient)
    messages = messages_of(bot.replies, texts, _shown(bot, answer), answer)
    if len(messages) > MOST_REPLIES:
        raise AnswerError(f"has {len(messages):,} messages, at most {MOST_REPLIES} are read in a turn")
    return Said(
        messages,
        _intent(bot.intent, answer),
        _confidence(bot.confidence, answer),
        _slots(bot, answer),
        _tools(bot.tools, answer),
        ended=bot.ended is not None and any(_is_true(value) for value in _values("ended", bot.ended, answer)),
        remark="" if messages else remark,
        echo=tuple(str(value) for value in _values("echo", bot.session.echo, answer) if value is not None),
    )


def _values(name: str, path: JsonPath | None, answer: Any) -> list[Any]:
    return [value for _, value in _found(name, path, answer)]


def _found(name: str, path: JsonPath | None, answer: Any) -> list[tuple[Place, Any]]:
    if path is None:
        return []
    try:
        return path.found(answer)
    except PathError as error:
        raise AnswerError(f"cannot be searched for `{name}: {path.text}` ({path.location}): {error}") from None


def _replies(path: JsonPath, answer: Any, *, lenient: bool) -> tuple[list[tuple[Place, str]], str]:
    found = _found("replies", path, answer)
    if not found and not lenient:
        reach, had = path.reach(answer), outline(answer)
        if reach == "nowhere":
            raise AnswerError(f"has nothing at `replies: {path.text}` ({path.location}); it has {had}")
        if reach == "further":
            return [], f"the answer has no message at {path.text}; it has {had}"
    if len(found) > MOST_REPLIES:
        raise AnswerError(f"has {len(found):,} messages or more, at most {MOST_REPLIES} are read in a turn")
    texts = [(place, value) for place, value in found if value not in (None, "")]
    for _, value in texts:
        if not isinstance(value, str):
            what = _kind_of(value)
            raise AnswerError(f"has {what} at `replies: {path.text}` ({path.location}), where text was expected")
        if len(value) > LONGEST_REPLY:
            raise AnswerError(f"has a message of {len(value):,} characters, at most {LONGEST_REPLY:,} are read")
    return texts, ""


def _shown(bot: Bot, answer: Any) -> dict[str, list[tuple[Place, Any]]]:
    """Return what messages have besides their texts, with its places."""
    shown: dict[str, list[tuple[Place, Any]]] = {}
    if (shape := bot.buttons) is not None:
        shown["buttons"] = [
            (place, {"title": one} if isinstance(one, str) else _button(shape, one))
            for place, one in _found("buttons", shape.path, answer)
            if one not in (None, "")
        ]
    for kind, path, kinds, what in (
        ("media", bot.media, str, "an address"),
        ("cards", bot.cards, str | dict, "a card"),
    ):
        shown[kind] = [(place, one) for place, one in _found(kind, path, answer) if one not in (None, "")]
        for _, one in shown[kind]:
            if path is not None and not isinstance(one, kinds):
                raise AnswerError(
                    f"has {_kind_of(one)} at `{kind}: {path.text}` ({path.location}), where {what} was expected"
                )
    return shown


def _button(shape: ButtonShape, button: Any) -> Mapping[str, Any]:
    if not isinstance(button, dict):
        where = f"`buttons: {shape.path.text}` ({shape.path.location})"
        raise AnswerError(f"has {_kind_of(button)} at {where}, where a button was expected")
    title = next(iter(_values("title", shape.title, button)), None)
    payload = next(iter(_values("payload", shape.payload, button)), None)
    return {"title": "" if title is None else str(title), "payload": payload}


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
        raise AnswerError(f"has {_written(value)} as its confidence, where a number from 0 to 1 was expected")
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
            return f"the truth value {_written(value)}"
        case int() | float():
            return f"the number {_written(value)}"
        case list():
            return "a list"
        case dict():
            return f"a map ({outline(value)})"
        case _:
            return f"the text {_written(value)}"


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:80]
