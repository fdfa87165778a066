"""Conversations with a bot over HTTP, in the turns and events that cases are judged by."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from turncheck.clock import evaluating_within
from turncheck.engines.conversation import CustomAction, Turn
from turncheck.engines.http.answers import AnswerError, Matched, Said, kind_of, read_answer, shown_outline
from turncheck.engines.measuring import Watch
from turncheck.engines.remote import SlowAnswerError
from turncheck.messages.errors import EngineError
from turncheck.web.json_path import PathError
from turncheck.web.timed import Deadline

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from turncheck.engines.http.answers import Message
    from turncheck.engines.http.callback import Callbacks, Posted
    from turncheck.engines.http.client import BotClient
    from turncheck.report.model import EngineInfo

NAME: Final = "http"
NO_STUBS: Final = "a bot over HTTP runs its own actions: they cannot be stubbed"
NO_FIXTURES: Final = (
    "nothing under `bot:` sends the slots of fixtures: write {slots} where the bot takes them, in `open` or `request`"
)
NO_INTENTS: Final = "the bot's answers do not say which intent was understood (`intent` under `bot:` names where)"
NO_ENTITIES: Final = (
    "the bot's answers do not say which entities were found (`entities` under `bot:` names where they would)"
)
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 0.5
"""Seconds between two calls that fetch messages."""
_LONGEST_ID: Final = 1_000
_MOST_POLLED: Final = 200
"""No turn has more messages."""
_MOST_AGAIN: Final = 10
"""A bot that sends the same messages as often as this is taken to send all of them whenever it is asked."""
_STATE_ITSELF: Final = ("eyJ", ".eJ")
"""What the base64 of a JSON object begins with, plain or compressed: Flask and Express keep a conversation in it."""
OVER: Final = "the bot had ended the conversation"


def not_reported(client: BotClient) -> dict[str, str]:
    """Return the kinds of steps that cannot be judged, since the bot's answers do not say it, each with the reason."""
    bot = client.bot
    reasons: dict[str, str] = {}
    if bot.intent is None:
        reasons["intent"] = NO_INTENTS
    for kind, shape in (("buttons", bot.buttons), ("media", bot.media), ("cards", bot.cards)):
        if shape is None:
            reasons[kind] = (
                f"the bot's answers do not say which {kind} a message has (`{kind}` under `bot:` names where)"
            )
    if bot.slots is None:
        reasons |= dict.fromkeys(
            ("slot_was_set", "slot_was_not_set"),
            "the bot's answers do not say which slots are set (`slots` under `bot:` names where they would)",
        )
    else:  # until an answer of the conversation does
        reasons["slot_was_not_set"] = f"the bot's answers so far have no slots at `{bot.slots.text}`"
    if bot.tools is None:
        reasons["action_executed"] = (
            "the bot's answers do not say which actions ran (`tools` under `bot:` names where they would)"
        )
    if bot.entities is None:
        reasons["entities"] = NO_ENTITIES
    reasons["utter"] = "the bot's answers do not name responses: compare the text (`bot:`, or `text_matches`)"
    return reasons


@dataclass(frozen=True, slots=True)
class BotConversations:
    """May be used by several threads: conversations share connections, and the ids that were given so far."""

    client: BotClient
    info: EngineInfo
    has_flows: bool = False
    ids: set[str] = field(default_factory=set, repr=False)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    matched: Matched | None = field(default=None, repr=False)
    callbacks: Callbacks | None = field(default=None, repr=False)

    def conversation(
        self,
        *,
        channel: str = "rest",  # noqa: ARG002 - the bot's API is the one there is
        fixtures: Mapping[str, Any] | None = None,
        stubs: Mapping[str, Mapping[str, Any]] | None = None,
        turn_timeout: float | None = None,
        attempt: int = 0,  # noqa: ARG002 - each conversation is one of its own anyway
    ) -> BotConversation:
        """Begin a conversation. One that needs stubs or fixtures that the bot cannot be given is not held."""
        lacking = None
        if stubs is not None:
            lacking = CustomAction("stub_custom_actions", "no server", NO_STUBS)
        elif fixtures and not self.client.bot.takes_slots:
            lacking = CustomAction("fixtures", "no server", NO_FIXTURES)
        return BotConversation(self, dict(fixtures or {}), turn_timeout, lacking)

    def take_id(self, name: str) -> bool:
        """Note the id of a conversation, or the cookies that are its id, and return whether it is a new one."""
        with self.lock:
            is_new = name not in self.ids
            self.ids.add(name)
        return is_new


class BotConversation:
    """One user talking to the bot."""

    def __init__(
        self,
        engine: BotConversations,
        fixtures: Mapping[str, Any],
        timeout: float | None,
        lacking: CustomAction | None,
    ) -> None:
        self._engine = engine
        self._client = engine.client
        self._bot = engine.client.bot
        self._unseen = not_reported(engine.client)
        self._timeout = timeout
        self._lacking = lacking
        self._opened = self._ended = False
        self._session = self._user = str(uuid4())  # 36 characters: Dialogflow takes no more
        self._session_value: str | int = self._session
        self._fixtures = dict(fixtures)
        self._slots: dict[str, Any] = dict(fixtures)
        self._history: list[dict[str, str]] = []
        self._cookies: dict[str, str] | None = {} if self._bot.session.cookie else None
        self._has_cookies = False
        self._cursor: Any = ""
        self._inbox: SimpleQueue[Posted] = SimpleQueue()
        self._callback = self._expect_calls(uuid4().hex)
        self._watch = Watch()
        """What measures the turn that is under way."""

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Open the session, if the bot has such; what it says unasked is in the turn.

        Raises:
            UserError: it cannot be opened.
        """
        if self._lacking is not None:
            return Turn(None, (), {}, None, (), custom_actions=(self._lacking,))
        opened = self._bot.session.opened
        if opened is None:
            self._opened = True
            return self._turn(None, Said())
        until = self._deadline()
        try:
            answer = self._client.send(
                opened,
                self._values(metadata),
                until,
                cookies=self._cookies,
                repeatable=self._bot.callback is None,  # it might call back twice
                may_be_empty=True,
                watch=self._watch,
            )
            with self._reading():
                self._take_id(answer)
                self._opened = True
                said = self._read(answer, lenient=True)
                if self._bot.messages_come_later:
                    said = _together(said, replace(self._fetched(until, wait=self._bot.quiet), remark=""))
        except SlowAnswerError as error:
            return self._too_slow(None, error)
        return self._turn(None, said)

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        """Send a message and return the turn. The first one opens the conversation where :meth:`open` did not.

        Raises:
            UserError: there is no usable answer.
        """
        if not self._opened:
            opening = self.open(metadata)
            if opening.timed_out or opening.custom_actions:
                return opening
        if self._ended:
            return Turn(text, (), dict(self._slots), None, (), stopped=OVER, unsent=True, not_reported=self._unseen)
        self._history.append({"role": "user", "content": text})
        until = self._deadline()
        values = {**self._values(metadata), "text": text, "history": list(self._history)}
        fetches = self._bot.messages_come_later
        self._watch = Watch()
        try:
            answer = self._client.send(
                self._bot.request,
                values,
                until,
                cookies=self._cookies,
                may_be_empty=fetches,
                may_be_text=self._bot.callback is not None,
                watch=self._watch,
            )
            with self._reading():
                self._take_cookies(answer)
                said = self._read(answer, lenient=fetches)
                if said.messages or not fetches:
                    self._watch.message()
                if fetches and not said.ended:
                    wait = self._bot.quiet if said.messages else self._bot.wait
                    said = _together(said, self._fetched(until, wait=wait))
        except SlowAnswerError as error:
            return self._too_slow(text, error)
        return self._turn(text, said)

    # --- what is sent -------------------------------------------------------------------------------------------------

    def _values(self, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
        return {
            "session": self._session_value,
            "user": self._user,
            "slots": self._fixtures,
            "metadata": dict(metadata or {}),
            "cursor": self._cursor,
            "callback": self._callback,
        }

    def _expect_calls(self, name: str) -> str:
        """Take the calls for this conversation, and return the address for them; "" if it has none."""
        callbacks = self._engine.callbacks
        if callbacks is None:
            return ""
        callbacks.expect(name, self._inbox)
        if callbacks.session is not None:
            callbacks.expect(self._session, self._inbox)
        return f"{callbacks.url}/{name}"

    def _take_id(self, answer: Any) -> None:
        path = self._bot.session.id
        if path is None:
            return
        try:
            found = path.value(answer)
        except PathError as error:
            raise self._client.fault(f"the bot's answer cannot be searched for `id: {path.text}`: {error}") from None
        if isinstance(found, bool) or not isinstance(found, str | int) or found == "":
            where = f"`id: {path.text}` ({path.location})"
            if found == "":
                what = f"with an empty id at {where}"
            elif found is None and not path.found(answer):
                what = f"without an id at {where}; its answer has {shown_outline(answer)}"
            else:
                what = f"with {kind_of(found)} at {where}, where a string or an integer was expected"
            raise self._client.fault(self._client.shown(f"the bot opened a session {what}", 1000))
        if len(str(found)) > _LONGEST_ID:
            raise self._client.fault(f"the bot gave a session an id of {len(str(found)):,} characters")
        self._session, self._session_value = str(found), found  # where a number is expected, its text is none
        if self._engine.callbacks is not None and self._engine.callbacks.session is not None:
            self._engine.callbacks.expect(self._session, self._inbox)
        self._ensure_own(self._session, f"the id '{self._client.shown(self._session, 80)}'")

    def _take_cookies(self, answer: Any) -> None:
        """Take the cookies of the first answer as the conversation's id, if that is what they are for.

        Those of a load balancer, or of a language, may be the same for all: but not all that there are.
        """
        if self._cookies is None or self._has_cookies:
            return
        if not self._cookies:
            had = "is empty" if answer is None else f"has {shown_outline(answer)}"
            raise self._client.fault(
                self._client.shown(f"`session: cookie`, but the bot set none; its first answer {had}", 1000)
            )
        self._has_cookies = True
        if any(value.startswith(_STATE_ITSELF) for value in self._cookies.values()):
            return
        held = "; ".join(f"{name}={value}" for name, value in sorted(self._cookies.items()))
        names = self._client.shown(", ".join(sorted(self._cookies)), 80)
        self._ensure_own(held, f"the same cookies ({names})")

    def _ensure_own(self, name: str, shown: str) -> None:
        if not self._engine.take_id(name):
            raise self._client.fault(f"the bot gave {shown} to two sessions: each conversation needs its own")

    # --- what is answered ---------------------------------------------------------------------------------------------

    def _read(self, answer: Any, *, lenient: bool = False) -> Said:
        """Read an answer, which must belong to this conversation."""
        if answer is None and lenient:
            return Said()
        try:
            said = read_answer(self._bot, answer, lenient=lenient)
        except AnswerError as error:
            raise self._client.fault(self._client.shown(f"the bot's answer {error}", 1000)) from None
        others = [name for name in said.echo if name != self._session]
        if others:
            raise self._client.fault(
                f"the bot answered for another conversation: '{self._client.shown(others[0], 80)}'"
            )
        self._client.is_usable()
        self._watch.usage = self._watch.usage.plus(said.usage)
        if self._engine.matched is not None and answer is not None:
            self._engine.matched.note(said, answer)
        return said

    def _fetched(self, until: Deadline | None, wait: float) -> Said:
        """Wait for messages until none has come for a while; ``wait``: how long the first one may take."""
        said, pause, came, without = Said(), _FIRST_PAUSE, False, None
        latest: list[tuple[str | None, Any]] = []
        again = 0
        silent_until = Deadline.after(wait)
        while True:
            answer, at = self._posted(until, silent_until) if self._bot.poll is None else (self._polled(until), None)
            came = came or answer is not None
            if answer is not None and self._bot.replies.reach(answer) != "nothing":
                without = answer
            new = self._read(answer, lenient=True)
            self._move_cursor(answer)
            said = _together(said, new)
            messages = [(message.text, message.data) for message in new.messages]
            again = again + 1 if latest and messages[: len(latest)] == latest else 0
            latest = messages
            if again >= _MOST_AGAIN or (again > 1 and len(said.messages) > _MOST_POLLED):
                self._refuse_repetition()
            if len(said.messages) > _MOST_POLLED:
                raise self._client.fault(f"the bot sent more than {_MOST_POLLED} messages in a turn")
            if new.messages:
                self._watch.message(at)
                silent_until, pause = Deadline.after(self._bot.quiet), _FIRST_PAUSE
            if said.ended or silent_until.left() <= 0:
                return said if said.messages else replace(said, remark=self._silence(wait, without, came=came))
            if self._bot.poll is not None:
                self._client.pause(max(0.0, min(pause, silent_until.left())))
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _refuse_repetition(self) -> None:
        """Refuse messages that come again whenever they are fetched; a bot that posts may repeat itself."""
        if (poll := self._bot.poll) is None:
            return
        again = f"`poll` ({poll.request.location}) gets the same messages again whenever it is called"
        if poll.cursor is None:
            name = "where its answer says what comes next, and send {cursor}"
            raise self._client.fault(f"{again}: it has no `cursor`. Name under `cursor` {name}")
        where = f"`cursor: {poll.cursor.text}` ({poll.cursor.location})"
        raise self._client.fault(f"{again}. Is {where} right, and does `poll` send {{cursor}}?")

    def _polled(self, until: Deadline | None) -> Any:
        poll = self._bot.poll
        return poll and self._client.send(
            poll.request,
            self._values(None),
            until,
            cookies=self._cookies,
            repeatable=True,
            may_be_empty=True,
            watch=self._watch,
        )

    def _posted(self, until: Deadline | None, silent_until: Deadline) -> tuple[Any, float | None]:
        """Wait for the bot's next call, and return when it came; ``None``: none has."""
        left = silent_until.left() if until is None else min(silent_until.left(), until.left())
        try:
            posted = self._inbox.get(timeout=max(0.0, left))
        except Empty:
            if until is not None and until.left() <= 0:
                raise SlowAnswerError("the bot does not call back") from None
            return None, None
        if posted.fault:
            raise self._client.fault(posted.fault)
        return posted.content, posted.at

    def _silence(self, wait: float, without: Any, *, came: bool) -> str:
        """Say what there was instead of messages; ``without``: an answer that holds something else."""
        if without is not None:
            had = f"the answer has nothing at {self._bot.replies.text}; it has {shown_outline(without)}"
        elif self._engine.callbacks is not None and not came:
            stray = self._engine.callbacks.stray
            had = self._client.shown(stray) if stray else f"nothing was posted to {self._engine.callbacks.url}"
        else:
            return ""
        return f"no message came for {wait:g} s: {had}"

    def _move_cursor(self, answer: Any) -> None:
        poll = self._bot.poll
        if poll is not None and poll.cursor is not None and answer is not None:
            try:
                found = poll.cursor.value(answer)
            except PathError as error:
                raise self._client.fault(f"the bot's answer cannot be searched for `cursor`: {error}") from None
            self._cursor = self._cursor if found is None else found

    # --- turns --------------------------------------------------------------------------------------------------------

    def _turn(self, text: str | None, said: Said) -> Turn:
        self._history += [{"role": "assistant", "content": reply} for reply in said.replies]
        self._ended = self._ended or said.ended
        if said.slots is not None:
            self._unseen.pop("slot_was_not_set", None)
        return Turn(
            user=text,
            responses=tuple(_response(message) for message in said.messages),
            slots=dict(self._slots) | dict(said.slots or {}),
            active_loop=None,
            events=tuple(self._events(text, said)),
            remarks=(said.remark,) if said.remark else (),
            not_reported=dict(self._unseen),
            measured=None if text is None else self._watch.measured(self._bot.prices),
        )

    def _events(self, text: str | None, said: Said) -> list[Mapping[str, Any]]:
        """Return the turn in Rasa's events; a slot is set if its value differs from the one before."""
        events: list[Mapping[str, Any]] = []
        if text is not None and (said.intent is not None or said.entities):
            intent = {"name": said.intent, "confidence": said.confidence}
            entities = [_placed(entity, text) for entity in said.entities]
            events.append({"event": "user", "text": text, "parse_data": {"intent": intent, "entities": entities}})
        events += [{"event": "action", "name": tool, "policy": None, "confidence": None} for tool in said.tools]
        for name, value in (said.slots or {}).items():
            if name in self._slots and self._slots[name] == value:
                continue
            if value is None and self._slots.get(name) is None:
                continue
            events.append({"event": "slot", "name": name, "value": value})
            self._slots[name] = value
        events += [
            {"event": "bot", "text": message.text, "data": message.data, "metadata": {}, "answer": message.answer}
            for message in said.messages
        ]
        return events

    def _reading(self) -> AbstractContextManager[None]:
        """Let the paths of the bot's shape be followed for as long as a turn may take: they may be slow, too."""
        return evaluating_within(math.inf if self._timeout is None else self._timeout)

    def _deadline(self) -> Deadline | None:
        return None if self._timeout is None else Deadline.after(self._timeout)

    def _too_slow(self, text: str | None, error: SlowAnswerError) -> Turn:
        """A turn that took too long; a bot that is always too slow is not asked for ever.

        Raises:
            EngineError: it has not answered for many turns.
        """
        what = "the turn" if text is not None else "the opening of the conversation"
        over = error.message if self._timeout is None else f"{what} took longer than {self._timeout:g} seconds"
        failure = self._client.fault(over)
        if isinstance(failure, EngineError):
            raise failure
        return Turn(text, (), {}, None, (), stopped=over, timed_out=True, not_reported=self._unseen)


def _response(message: Message) -> Mapping[str, Any]:
    """Return a message as Rasa's REST channel would give it."""
    return {key: value for key, value in (("text", message.text), *message.data.items()) if value}


def _placed(entity: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return an entity with its place in the message: as the answer says, else where its value is, else all of it."""
    start, end = entity.get("start"), entity.get("end")
    if start is None or end is None or not 0 <= start < end <= len(text):
        match = re.search(re.escape(str(entity["value"])), text, re.IGNORECASE)
        start, end = (0, len(text)) if match is None or not match[0] else match.span()
    return {**entity, "start": start, "end": end}


def _together(one: Said, other: Said) -> Said:
    """Return what two answers of one turn hold; of what both name, the later one counts."""
    return Said(
        one.messages + other.messages,
        other.intent or one.intent,
        one.confidence if other.confidence is None else other.confidence,
        other.entities or one.entities,
        one.slots if not other.slots else {**(one.slots or {}), **other.slots},
        one.tools + other.tools,
        ended=one.ended or other.ended,
        remark=one.remark or other.remark,
    )
