"""What a bot's answers hold, by the paths of its shape: the only place where they are read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.http.usage import read_usage
from turncheck.engines.measuring import NO_USAGE, Usage
from turncheck.messages.phrasing import count
from turncheck.settings.bot_presets import LEAVE_EMPTY_OUT
from turncheck.web.json_path import JsonPath, PathError, outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.settings.bot import Bot, ButtonShape, EntityShape
    from turncheck.web.json_path import Place

MOST_REPLIES: Final = 200
"""No turn has more messages."""
LONGEST_REPLY: Final = 65_536
"""No message has more characters."""
_VALUE: Final = JsonPath("$.value")
_ERROR_KEYS: Final = ("error", "errors", "exception", "fault", "detail", "details")
"""Where an answer says what went wrong, also one that is a success by its status."""
_MESSAGE_KEYS: Final = ("message", "msg", "error_description", "description", "title", "reason", *_ERROR_KEYS, "code")
_LONGEST_ERROR: Final = 300
_PARTS: Final = ("text", "refusal")
"""The types of parts of a message that are said, each with its text at the key of the same name."""
KINDS: Final = ("buttons", "media", "cards")
"""What a message can have besides its text, by the keys of ``bot:``."""


# The messages of one answer: each text with the buttons, media and cards that are next to it.


@dataclass(frozen=True, slots=True)
class Message:
    """A message of the bot's, perhaps without text. ``data``: its buttons (as Rasa has them), media and cards, if any.

    ``answer``: what it was in.
    """

    text: str | None
    data: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    answer: Any = field(default=None, repr=False)


def messages_of(
    replies: JsonPath,
    texts: Iterable[tuple[Place, str]],
    shown: Mapping[str, Iterable[tuple[Place, Any]]],
    answer: Any,
) -> tuple[Message, ...]:
    """Return the messages in the order in which their texts are selected.

    What is shown belongs to the text in the same entry of the list of messages. An entry without text is a message
    without text, in its place if the texts are selected in the order of the list, else after them. What is outside of
    the list belongs to every message.
    """
    said: dict[Place, list[str | None]] = {}
    data: dict[Place, dict[str, list[Any]]] = {}
    for place, text in texts:
        said.setdefault(replies.entry_of(place), []).append(text)
    for kind, values in shown.items():
        for place, value in values:
            data.setdefault(replies.entry_of(place), {}).setdefault(kind, []).append(value)
    outside = data.pop((), {}) if said or len(data) > 1 else {}
    messages: list[Message] = []
    in_order = list(said)
    entries = sorted({*said, *data})
    if in_order != sorted(in_order):
        entries = in_order + [entry for entry in entries if entry not in said]
    for entry in entries:
        own = {kind: (*data.get(entry, {}).get(kind, ()), *outside.get(kind, ())) for kind in KINDS}
        present = {kind: values for kind, values in own.items() if values}
        messages += [Message(text, present, answer) for text in said.get(entry, [None])]
    return tuple(messages)


# What an answer holds.


class AnswerError(ValueError):
    """An answer is not what the shape says; the message is the end of a sentence: "the bot's answer …"."""


@dataclass(frozen=True, slots=True)
class Said:
    """What one answer holds. ``slots``: those that it names; ``None``: it has none where the shape says they are.

    ``entities``: those of the message, as Rasa has them, but with ``start`` and ``end`` only if the answer says that.
    ``remark``: what may be wrong with it.
    """

    messages: tuple[Message, ...] = ()
    intent: str | None = None
    confidence: float | None = None
    entities: tuple[Mapping[str, Any], ...] = ()
    slots: Mapping[str, Any] | None = None
    tools: tuple[str, ...] = ()
    ended: bool = False
    remark: str = ""
    echo: tuple[str, ...] = field(default=(), compare=False)
    usage: Usage = field(default=NO_USAGE, compare=False)

    @property
    def replies(self) -> tuple[str, ...]:
        """The texts of the messages."""
        return tuple(message.text for message in self.messages if message.text is not None)


@dataclass(eq=False)
class Matched:
    """Which of the paths that the project's file names have matched anything: one with a slip never does.

    Those that a kind fills in are right. Used by several threads: at worst a count is lost.
    """

    bot: Bot
    answers: int = 0
    last: Any = None
    found: set[str] = field(default_factory=set)
    no_tokens: dict[str, int] = field(default_factory=dict)
    """What was there in place of tokens, and how often."""

    def note(self, said: Said, answer: Any) -> None:
        """Note what an answer had."""
        self.answers, self.last = self.answers + 1, answer
        has = {
            "intent": said.intent is not None,
            "confidence": said.confidence is not None,
            "entities": said.entities,
            "slots": said.slots is not None,
            "tools": said.tools,
            "echo": said.echo,
            "usage.input": said.usage.tokens_in is not None,
            "usage.output": said.usage.tokens_out is not None,
            "usage.model": said.usage.model,
            **{kind: any(kind in message.data for message in said.messages) for kind in KINDS},
        }
        self.found.update(name for name, value in has.items() if value)
        for fault in said.usage.faults:
            self.no_tokens[fault] = self.no_tokens.get(fault, 0) + 1
        for name, path in self._own_paths().items():  # an empty list is there, and holds nothing yet
            if name not in self.found and JsonPath(path.text.removesuffix("[*]")).found(answer):
                self.found.add(name)

    def _own_paths(self) -> dict[str, JsonPath]:
        """The paths that the project's file names, by their keys."""
        bot = self.bot
        paths = {
            "intent": bot.intent,
            "confidence": bot.confidence,
            "slots": bot.slots,
            "tools": bot.tools,
            "entities": None if bot.entities is None else bot.entities.path,
            "echo": bot.session.echo,
            "buttons": None if bot.buttons is None else bot.buttons.path,
            "media": bot.media,
            "cards": bot.cards,
            **(
                {f"usage.{name}": getattr(bot.usage, name) for name in ("input", "output", "model")}
                if bot.usage
                else {}
            ),
        }
        return {name: path for name, path in paths.items() if path is not None and path.is_written}

    def nothing_at(self) -> tuple[str, ...]:
        """Say which paths have never matched, and which keys have no effect, a sentence each."""
        bot = self.bot
        idle = tuple(
            f"`{name}` under `bot:` ({location}) has no effect: no message comes later, as there is neither `poll` nor"
            " {callback}."
            for name, location in (() if bot.messages_come_later else bot.times)
        )
        none, last = f"None of the bot's {self.answers:,} answers had anything", "the last one"
        if self.answers == 1:
            none, last = "The bot's answer had nothing", "it"
        idle += tuple(
            f"{fault}, in {count(times, 'answer')}: how many tokens these turns took is not known."
            for fault, times in sorted(self.no_tokens.items())
        )
        return idle + tuple(
            f"{none} at `{name}: {path.text}` ({path.location}); {last} had {outline(self.last)}."
            for name, path in self._own_paths().items()
            if self.answers and name not in self.found
        )


def read_answer(bot: Bot, answer: Any, *, lenient: bool = False) -> Said:
    """Read one answer; ``lenient``: it need not hold messages, since none was sent.

    Raises:
        AnswerError: it has another shape.
    """
    may_be_absent = bot.kind in LEAVE_EMPTY_OUT and not bot.replies.is_written
    texts, remark = _replies(bot.replies, answer, lenient=lenient or (may_be_absent and isinstance(answer, dict)))
    messages = messages_of(bot.replies, texts, _shown(bot, answer), answer)
    if len(messages) > MOST_REPLIES:
        raise AnswerError(f"has {len(messages):,} messages, at most {MOST_REPLIES} are read in a turn")
    return Said(
        messages,
        _intent(bot.intent, answer),
        _confidence(bot.confidence, answer),
        _entities(bot.entities, answer),
        _slots(bot, answer),
        _tools(bot.tools, answer),
        ended=bot.ended is not None and any(_is_true(value) for value in _values("ended", bot.ended, answer)),
        remark="" if messages else remark,
        echo=tuple(str(value) for value in _values("echo", bot.session.echo, answer) if value is not None),
        usage=read_usage(bot, answer),
    )


def _values(name: str, path: JsonPath | None, answer: Any) -> list[Any]:
    return [value for _, value in _found(name, path, answer)]


def _found(name: str, path: JsonPath | None, answer: Any) -> list[tuple[Place, Any]]:
    if path is None:
        return []
    try:
        return path.found(answer)
    except PathError as error:
        raise AnswerError(f"cannot be searched for {_place(name, path)}: {error}") from None


def _place(name: str, path: JsonPath | None) -> str:
    """Return a path as messages have it: with its key, and where it is written."""
    return name if path is None else f"`{name}: {path.text}` ({path.location})"


def _replies(path: JsonPath, answer: Any, *, lenient: bool) -> tuple[list[tuple[Place, str]], str]:
    found = _found("replies", path, answer)
    if not found and not lenient:
        reach = path.reach(answer)
        had = f"it has {shown_outline(answer)}" if isinstance(answer, list | dict) else f"it is {kind_of(answer)}"
        if reach == "nowhere":
            raise AnswerError(f"has nothing at {_place('replies', path)}; {had}")
        if reach == "further":
            return [], f"the answer has no message at {path.text}; {had}"
    if len(found) > MOST_REPLIES:
        raise AnswerError(f"has {len(found):,} messages or more, at most {MOST_REPLIES} are read in a turn")
    texts = [(place, text) for place, value in found if (text := _whole(value)) not in (None, "")]
    for _, value in texts:
        if not isinstance(value, str):
            raise AnswerError(f"has {kind_of(value)} at {_place('replies', path)}, where text was expected")
        if len(value) > LONGEST_REPLY:
            raise AnswerError(f"has a message of {len(value):,} characters, at most {LONGEST_REPLY:,} are read")
    return texts, ""


def _whole(value: Any) -> Any:
    """Return the text of a message that is a list of parts, as APIs of language models have it; else the value."""
    if not isinstance(value, list) or not all(isinstance(part, dict) and "type" in part for part in value):
        return value
    texts = [part.get(kind) for part in value for kind in _PARTS if part["type"] == kind]
    return "".join(texts) if texts and all(isinstance(text, str) for text in texts) else value or None


def shown_outline(answer: Any) -> str:
    """Return which values an answer has, and the text of an error among them."""
    error = error_text(answer, _ERROR_KEYS)
    return f"{outline(answer)}, and its error says: {error}" if error else outline(answer)


def error_text(answer: Any, keys: tuple[str, ...] = _MESSAGE_KEYS) -> str:
    """Return the message of an error at the first of these keys, or below it; "" if there is none."""
    below: Any = answer
    while isinstance(below, dict | list):
        if isinstance(below, list):
            below = below[0] if below and keys is _MESSAGE_KEYS else None
            continue
        lower = {str(name).lower(): value for name, value in reversed(below.items())}
        below = next((lower[key] for key in keys if lower.get(key)), None)
        keys = _MESSAGE_KEYS
    text = "" if below is None or isinstance(below, bool) else " ".join(str(below).split())
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


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
                raise AnswerError(f"has {kind_of(one)} at {_place(kind, path)}, where {what} was expected")
    return shown


def _button(shape: ButtonShape, button: Any) -> Mapping[str, Any]:
    if not isinstance(button, dict):
        where = _place("buttons", shape.path)
        raise AnswerError(f"has {kind_of(button)} at {where}, where a button was expected")
    title = next(iter(_values("title", shape.title, button)), None)
    payload = next(iter(_values("payload", shape.payload, button)), None)
    return {"title": "" if title is None else str(title), "payload": payload}


def _intent(path: JsonPath | None, answer: Any) -> str | None:
    value = next(iter(_values("intent", path, answer)), None)
    if value is not None and not isinstance(value, str):
        raise AnswerError(f"has {kind_of(value)} at {_place('intent', path)}, where the intent's name was expected")
    return value or None


def _confidence(path: JsonPath | None, answer: Any) -> float | None:
    value = next(iter(_values("confidence", path, answer)), None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        what = f"has {_written(value)} at {_place('confidence', path)}, where a number from 0 to 1 was expected"
        raise AnswerError(what)
    return float(value)


def _entities(shape: EntityShape | None, answer: Any) -> tuple[Mapping[str, Any], ...]:
    """Read a list of entities, the entities themselves, or a map of values by name: that of no value was not found."""
    if shape is None:
        return ()
    where = f"at {_place('entities', shape.path)}"
    found = _values("entities", shape.path, answer)
    if len(found) == 1 and isinstance(found[0], dict) and not _values("name", shape.name, found[0]):
        return tuple(_of_map(shape, found[0]))
    listed = found[0] if len(found) == 1 and isinstance(found[0], list) else found
    entities: list[Mapping[str, Any]] = []
    for one in listed or ():
        if one is None:
            continue
        name = next(iter(_values("name", shape.name, one)), None) if isinstance(one, dict) else None
        if not isinstance(name, str):
            what = f"has {kind_of(one)} {where}, without the name of an entity at `{shape.name.text}`"
            raise AnswerError(what)
        place = {key: one[key] for key in ("start", "end") if type(one.get(key)) is int}
        entities.append({"entity": name, "value": _value(shape.value or _VALUE, one), **place})
    return tuple(entities)


def _of_map(shape: EntityShape, values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name, given in values.items():
        value = given if shape.value is None else _value(shape.value, given)
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                yield {"entity": name, "value": one}


def _value(path: JsonPath, entity: Any) -> Any:
    return next(iter(_values("value", path, entity)), None)


def _slots(bot: Bot, answer: Any) -> Mapping[str, Any] | None:
    if bot.slots is None:
        return None
    found = _values("slots", bot.slots, answer)
    if not found:
        return {} if bot.kind in LEAVE_EMPTY_OUT and not bot.slots.is_written else None
    if found[0] is None:
        return {}
    if not isinstance(found[0], dict):
        raise AnswerError(f"has {kind_of(found[0])} at {_place('slots', bot.slots)}, where a map was expected")
    path = bot.slot_value
    if path is None:
        return found[0]
    return {name: _value(path, value) for name, value in found[0].items()}


def _tools(path: JsonPath | None, answer: Any) -> tuple[str, ...]:
    names = [value for value in _values("tools", path, answer) if value is not None]
    for value in names:
        if not isinstance(value, str):
            raise AnswerError(f"has {kind_of(value)} at {_place('tools', path)}, where a tool's name was expected")
    return tuple(names)


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


def kind_of(value: Any) -> str:
    """Return what a value is, in words."""
    match value:
        case None:
            return "null"
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
