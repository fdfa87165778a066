"""The shape of a bot over HTTP, as ``bot:`` in ``turncheck.yml`` has it: what is sent, and where its answers have what.

A pull request may change that file: it names paths, fields and headers, but neither a host nor a secret. Where values
belong there are placeholders (``{text}``, ``{session}``), which are filled in as values, never pasted into JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from json import dumps
from typing import Any, Final

from msgspec import Struct

from turncheck.messages.errors import UserError
from turncheck.messages.finding import NOWHERE, Location
from turncheck.messages.phrasing import not_one_of
from turncheck.settings.bot_forbidden import named_elsewhere
from turncheck.settings.bot_headers import leads_elsewhere, replaces_method
from turncheck.settings.bot_hosts import unquoted
from turncheck.settings.bot_placeholders import PLACEHOLDER, placeholders
from turncheck.settings.bot_presets import PRESETS
from turncheck.settings.bot_token import misplaced_token, token_places
from turncheck.settings.bot_usage import NO_PRICES, USAGE_KEYS, Prices, UsageShape, read_prices
from turncheck.web.json_path import JsonPath, PathError, compiled
from turncheck.yaml_tree.shapes import Anything, Either, Fault, Key, MapOf, Record, Text, read
from turncheck.yaml_tree.tree import YamlMapping, YamlNode

QUIET: Final = 1.0
WAIT: Final = 15.0


# The types.


@dataclass(frozen=True, slots=True)
class BotRequest:
    """A call: its ``path`` and its ``body`` (``None``: it has none) have placeholders."""

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    location: Location = field(default=NOWHERE, compare=False)


class SessionShape(Struct, frozen=True):
    """How conversations are told apart: by an id of ours, or by what ``opened`` returns (at ``id``, if it names one).

    ``echo``: where an answer says to which conversation it belongs. ``cookie``: by the bot's cookie.
    """

    opened: BotRequest | None = None
    id: JsonPath | None = None
    echo: JsonPath | None = None
    cookie: bool = False


class PollShape(Struct, frozen=True):
    """How messages are fetched that come later; ``cursor``: where an answer says what to ask for next."""

    request: BotRequest
    cursor: JsonPath | None = None


class CallbackShape(Struct, frozen=True):
    """How a bot posts its messages to an address of ours; ``session``: where a call has the conversation's id.

    ``None``: each conversation has an address of its own, which its calls name.
    """

    session: JsonPath | None = None


class TokenShape(Struct, frozen=True):
    """Where the token goes: into a header, or into a signature of the call for a ``service`` (``signature: aws``)."""

    header: str = "Authorization"
    prefix: str = "Bearer "
    signature: str = ""
    service: str = ""


class ButtonShape(Struct, frozen=True):
    """Where an answer has the buttons of its messages, and where ``title`` and ``payload`` are within each."""

    path: JsonPath
    title: JsonPath
    payload: JsonPath


class EntityShape(Struct, frozen=True):
    """Where an answer has the entities of the message, and where the ``name`` and the ``value`` are within each."""

    path: JsonPath
    name: JsonPath
    value: JsonPath | None = None


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot's API. ``slot_value``: where the value of a slot is within what ``slots`` has for it.

    ``quiet``: seconds without a message after which a turn ends, if messages come later (``poll``, ``callback``);
    ``wait``: how long the first one may take.
    """

    kind: str
    request: BotRequest
    replies: JsonPath
    session: SessionShape = field(default_factory=SessionShape)
    poll: PollShape | None = None
    callback: CallbackShape | None = None
    quiet: float = QUIET
    wait: float = WAIT
    token: TokenShape = field(default_factory=TokenShape)
    intent: JsonPath | None = None
    confidence: JsonPath | None = None
    entities: EntityShape | None = None
    slots: JsonPath | None = None
    slot_value: JsonPath | None = None
    tools: JsonPath | None = None
    buttons: ButtonShape | None = None
    media: JsonPath | None = None
    cards: JsonPath | None = None
    ended: JsonPath | None = None
    usage: UsageShape | None = None
    prices: Prices = NO_PRICES
    times: tuple[tuple[str, Location], ...] = field(default=(), compare=False)
    """Where ``quiet`` and ``wait`` are written."""
    lines: tuple[str, ...] = ()
    """All of it, one ``request.path: /chat`` each."""
    location: Location = field(default=NOWHERE, compare=False)

    @property
    def takes_slots(self) -> bool:
        """Whether the bot is told which slots a case begins with."""
        return "slots" in _sent(self.request, self.session)

    @property
    def sends_token_like_a_login(self) -> bool:
        """Whether the token is sent in the header of a login alone."""
        is_header = self.token.header.lower() == "authorization" and "token" not in _sent(self.request, self.session)
        return bool(self.token.signature) or is_header

    @property
    def token_places(self) -> frozenset[str]:
        """Where the token is in what is sent, besides its header."""
        poll = self.poll.request if self.poll is not None else None
        calls = {"request": self.request, "open": self.session.opened, "poll": poll}
        return frozenset(
            f"{name}: {place}"
            for name, call in calls.items()
            if call is not None
            for place in token_places(call.path, call.body)
        )

    @property
    def messages_come_later(self) -> bool:
        """Whether they need not be in the answer to a message."""
        return self.poll is not None or self.callback is not None


def _sent(request: BotRequest, session: SessionShape) -> set[str]:
    """Return the placeholders of what begins and continues a conversation."""
    calls = (request, *([session.opened] if session.opened is not None else ()))
    return set().union(*(placeholders((call.path, call.body)) for call in calls))


# Placeholders.

_IN_SESSION: Final = ("session", "user", "slots", "metadata", "token", "callback")
_IN_REQUEST: Final = ("text", "history", *_IN_SESSION)
_NOT_TEXT: Final = {"slots": "a map", "metadata": "a map", "history": "a list"}
_IN_POLL: Final = ("session", "user", "cursor", "token")


def leads_out(path: str) -> bool:
    """Return whether a path leads above its beginning, also for a server that decodes it more than once."""
    return ".." in re.split(r"[/\\;]", unquoted(path.partition("?")[0]))


# The shape in the file.

_PATH: Final = Text(may_be_empty=False, what="a JSONPath, such as $.messages[*].text")
_REQUEST_KEYS: Final[dict[str, Key]] = {
    "method": Key(Text(one_of=("GET", "POST", "PUT", "PATCH")), "The method; POST if there is none."),
    "path": Key(Text(may_be_empty=False), "The path below the bot's address, with placeholders.", required=True),
    "headers": Key(MapOf(Text(), what="a map of headers"), "Further headers; none with a secret."),
    "body": Key(Anything(), "What is sent as JSON, with placeholders."),
}


def _open_keys() -> dict[str, Key]:
    return {**_REQUEST_KEYS, "id": Key(_PATH, "Where the answer has the conversation's id; else it is one of ours.")}


def _not_required(keys: Mapping[str, Key]) -> dict[str, Key]:
    """A preset may have what a file leaves out."""
    return {name: Key(key.shape, key.description) for name, key in keys.items()}


BOT: Final[Record] = Record(
    "`bot`",
    {
        "kind": Key(Text(one_of=tuple(PRESETS)), "A well-known API, which fills in what is not written; or rest."),
        "request": Key(Record("`request`", _not_required(_REQUEST_KEYS)), "How a message is sent."),
        "replies": Key(_PATH, "Where an answer has the bot's messages."),
        "intent": Key(_PATH, "Where it has the intent that was understood."),
        "confidence": Key(_PATH, "Where it has how sure the bot is of it, from 0 to 1."),
        "entities": Key(
            Either(
                (
                    Record(
                        "`entities`",
                        {
                            "path": Key(_PATH, "Where an answer has the entities.", required=True),
                            "name": Key(_PATH, "Where the name is within each ($.entity)."),
                            "value": Key(_PATH, "Where the value is within each ($.value)."),
                        },
                        marker="path",
                    ),
                    _PATH,
                ),
                what="a JSONPath, or `path`, `name` and `value`",
            ),
            "Where it has the entities of the message: a list, or a map of values by name.",
        ),
        "slots": Key(
            Either(
                (
                    Record(
                        "`slots`",
                        {
                            "path": Key(_PATH, "Where an answer has the slots, a map.", required=True),
                            "value": Key(_PATH, "Where the value is within an entry of it."),
                        },
                        marker="path",
                    ),
                    _PATH,
                ),
                what="a JSONPath, or `path` and `value`",
            ),
            "Where it has the values of slots.",
        ),
        "tools": Key(_PATH, "Where it has the names of the tools that ran."),
        "buttons": Key(
            Either(
                (
                    Record(
                        "`buttons`",
                        {
                            "path": Key(_PATH, "Where an answer has the buttons.", required=True),
                            "title": Key(_PATH, "Where the title is within each ($.title)."),
                            "payload": Key(_PATH, "Where its payload is within each ($.payload)."),
                        },
                        marker="path",
                    ),
                    _PATH,
                ),
                what="a JSONPath, or `path`, `title` and `payload`",
            ),
            "Where it has the buttons of messages: titles, or maps.",
        ),
        "media": Key(_PATH, "Where it has the addresses of images and other media of messages."),
        "cards": Key(_PATH, "Where it has the cards of messages: texts, or maps with texts."),
        "ended": Key(_PATH, "What an answer has if the bot has ended the conversation."),
        **USAGE_KEYS,
        "session": Key(
            Either(
                (
                    Record(
                        "`session`",
                        {
                            "open": Key(Record("`open`", _not_required(_open_keys())), "How a conversation is begun."),
                            "echo": Key(_PATH, "Where an answer says to which conversation it belongs."),
                        },
                    ),
                    Text(one_of=("cookie",), what="a map, or cookie"),
                ),
                what="a map, or cookie",
            ),
            "How conversations are told apart.",
        ),
        "poll": Key(
            Record(
                "`poll`",
                _not_required(_REQUEST_KEYS) | {"cursor": Key(_PATH, "Where an answer says what to ask for next.")},
            ),
            "How messages are fetched that come later.",
        ),
        "callback": Key(
            Record("`callback`", {"session": Key(_PATH, "Where a call has the id of its conversation.")}),
            "How the bot posts messages to an address of turncheck's.",
        ),
        "quiet": Key(Text(), "For messages that come later: a turn ends after so long without one (1s)."),
        "wait": Key(Text(), "For messages that come later: how long the first one may take (15s)."),
        "token": Key(
            Record(
                "`token`",
                {
                    "header": Key(Text(may_be_empty=False), "The header with the token (Authorization)."),
                    "prefix": Key(Text(), "What precedes the token in the header ('Bearer ')."),
                    "signature": Key(Text(one_of=("aws",)), "The token signs the calls instead."),
                    "service": Key(Text(), "The service that calls are signed for."),
                },
            ),
            "Where the token goes.",
        ),
    },
    description="How a bot over HTTP is asked, and where its answers have what.",
)


# Reading it.


def read_bot(node: YamlNode) -> Bot:
    """Read ``bot:``, with what its kind fills in.

    Raises:
        UserError: an unknown key, something that is not what it has to be, a host or a secret; with its place.
    """
    faults: list[Fault] = []
    read(node, BOT, faults, "`bot`")
    faults += named_elsewhere(node)
    if faults:
        fault = faults[0]
        raise UserError(fault.message.rstrip("."), location=fault.location, hint=fault.hint or None)
    written = node.data
    kind = str(written.get("kind", "rest"))
    return _Reader(node, _merged(PRESETS[kind], written), kind).bot()


def _merged(preset: Any, written: Any) -> Any:
    """Return the preset with what is written on top, key by key."""
    if not isinstance(preset, Mapping) or not isinstance(written, Mapping):
        return written
    return {**preset, **{key: _merged(preset.get(key), value) for key, value in written.items()}}


class _Reader(Struct, frozen=True):
    node: YamlNode
    data: Mapping[str, Any]
    kind: str

    def bot(self) -> Bot:
        for name in ("request", "replies"):
            if name not in self.data:
                raise self._fault(f"`bot` needs the key '{name}'", hint="Or name a kind, which fills it in.")
        request = self._request(("request",), _IN_REQUEST)
        sent = placeholders((request.path, request.body))
        if not sent & {"text", "history"}:
            hint = "Write {text} where the user's message belongs."
            raise self._fault("nothing of `request` has the user's message", "request", hint=hint)
        session = self._session()
        if not session.cookie and not sent & {"session", "user", "history"}:
            raise self._fault(
                "nothing of `request` says to which conversation a message belongs",
                "request",
                hint="Write {session} (or {history}) where that belongs; or `session: cookie`, if the bot sets one.",
            )
        callback = self._callback(_sent(request, session))
        slots = self.data.get("slots")
        within = isinstance(slots, Mapping)
        return Bot(
            self.kind,
            request,
            self._path("replies") or JsonPath("$"),
            session,
            self._poll(),
            callback,
            self._seconds("quiet", QUIET),
            self._seconds("wait", WAIT),
            self._token(),
            self._path("intent"),
            self._path("confidence"),
            self._entities(),
            self._path("slots", "path") if within else self._path("slots"),
            self._path("slots", "value") if within else None,
            self._path("tools"),
            self._buttons(),
            self._path("media"),
            self._path("cards"),
            self._path("ended"),
            self._usage(),
            self._prices(),
            tuple((name, self._locate(name)) for name in ("quiet", "wait") if self._is_written(name)),
            tuple(_lines(self.data)),
            self.node.location,
        )

    def _session(self) -> SessionShape:
        shape = self.data.get("session")
        if not isinstance(shape, Mapping):
            return SessionShape(cookie=shape == "cookie")
        opened = self._request(("session", "open"), _IN_SESSION) if "open" in shape else None
        id_path = self._path("session", "open", "id") if opened is not None else None
        if opened is not None and id_path is None and "session" not in placeholders((opened.path, opened.body)):
            hint = "Name where its answer has the conversation's id: `id: $.id`."
            raise self._fault("`open` neither has an `id` nor sends {session}", "session", "open", hint=hint)
        return SessionShape(opened, id_path, self._path("session", "echo"))

    def _buttons(self) -> ButtonShape | None:
        within = isinstance(self.data.get("buttons"), Mapping)
        path = self._path("buttons", "path") if within else self._path("buttons")
        title, payload = (self._path("buttons", key) for key in ("title", "payload"))
        return None if path is None else ButtonShape(path, title or _TITLE, payload or _PAYLOAD)

    def _entities(self) -> EntityShape | None:
        if isinstance(self.data.get("entities"), Mapping):
            path, name, value = (self._path("entities", key) for key in ("path", "name", "value"))
        else:
            path, name, value = self._path("entities"), None, None
        return None if path is None else EntityShape(path, name or JsonPath("$.entity"), value)

    def _usage(self) -> UsageShape | None:
        if "usage" not in self.data:
            return None
        return UsageShape(*(self._path("usage", key) for key in ("input", "output", "model")))

    def _prices(self) -> Prices:
        prices = read_prices(self.data)
        for model, price in prices.of_model.items():
            if not (0 <= price.input <= _DEAREST and 0 <= price.output <= _DEAREST):
                hint = "Write what a million tokens cost, such as 2.5."
                raise self._fault(f"a price of '{model[:80]}' is not between 0 and {_DEAREST:,}", "prices", hint=hint)
        return prices

    def _poll(self) -> PollShape | None:
        if "poll" not in self.data:
            return None
        return PollShape(self._request(("poll",), _IN_POLL, "GET"), self._path("poll", "cursor"))

    def _callback(self, sent: set[str]) -> CallbackShape | None:
        """Read how messages are posted; only what comes later is waited for."""
        is_named = "callback" in self.data
        if (is_named or "callback" in sent) and "poll" in self.data:
            raise self._fault("messages are either fetched (`poll`) or posted (`callback`)", "poll")
        if not is_named and not {"callback"} & sent:
            return None
        session = self._path("callback", "session")
        if session is None and "callback" not in sent:
            hint = "Name where a call has the conversation's id: `session: $.id`; or write {callback} in `request`."
            raise self._fault("nothing says to which conversation a call belongs", "callback", hint=hint)
        return CallbackShape(session)

    def _token(self) -> TokenShape:
        shape = self.data.get("token", {})
        token = TokenShape(**{name: str(value) for name, value in shape.items()})
        if not _HEADER.fullmatch(token.header) or leads_elsewhere(token.header):
            raise self._fault(f"'{token.header}' is not a header for a token", "token", "header")
        if not token.prefix.isprintable() or not token.prefix.isascii():
            raise self._fault("`prefix` has characters that a header cannot have", "token", "prefix")
        return token

    def _request(self, keys: tuple[str, ...], known: tuple[str, ...], method: str = "POST") -> BotRequest:
        shape = self.data
        for key in keys:
            shape = shape[key]
        if "path" not in shape:
            raise self._fault(f"`{keys[-1]}` needs the key 'path'", *keys)
        path, body = str(shape["path"]), shape.get("body")
        if not path.startswith("/") or not _PATH_TEXT.fullmatch(PLACEHOLDER.sub("x", path)):
            hint = "It begins with /, and other characters than letters and digits are percent-encoded."
            raise self._fault(f"'{path[:80]}' is not a path", *keys, "path", hint=hint)
        if leads_out(path):
            raise self._fault(f"'{path[:80]}' leads out of the bot's address", *keys, "path")
        headers = {str(name): str(value) for name, value in (shape.get("headers") or {}).items()}
        for name, value in headers.items():
            self._check_header(name, value, (*keys, "headers", name))
        sent = {name: shape[name] for name in ("path", "headers", "body") if name in shape}
        for place, text in _texts(sent, keys):
            self._check_placeholders(text, known, place)
        if body is not None and not isinstance(body, dict | list):
            raise self._fault("`body` must be a map or a list", *keys, "body")
        names = (unquoted(part.partition("=")[0]) for part in re.split("[?&;]", path)[1:])
        for name in (*names, *(body if isinstance(body, dict) else ())):
            if replaces_method(str(name)):
                raise self._fault(f"'{str(name)[:80]}' is not set here: write `method`", *keys)
        if (what := misplaced_token(path, body)) is not None:
            hint = "Let it be a value of its own, below another key than the message; or in a header, under `token`."
            raise self._fault(what, *keys, "body" if "token" in placeholders(body) else "path", hint=hint)
        return BotRequest(str(shape.get("method", method)), path, body, headers, self._locate(*keys))

    def _check_placeholders(self, text: str, known: tuple[str, ...], keys: tuple[str, ...]) -> None:
        is_path = keys[-1] == "path" and "body" not in keys
        for name in PLACEHOLDER.findall(text):
            if "headers" in keys:
                hint = f"To send it as it is, write {{{{{name}}}}}."
                raise self._fault(f"a header takes no placeholder, such as {{{name}}}", *keys, hint=hint)
            if name not in known:
                hint = f"To send it as it is, write {f'%7B{name}%7D' if is_path else f'{{{{{name}}}}}'}."
                raise self._fault(f"unknown placeholder: {not_one_of(name, known)}".rstrip("."), *keys, hint=hint)
            if name in _NOT_TEXT and text != f"{{{name}}}":
                hint = f'In the body, give it a key of its own: "{{{name}}}".'
                raise self._fault(f"{{{name}}} is {_NOT_TEXT[name]}: it cannot be part of a string", *keys, hint=hint)

    def _check_header(self, name: str, value: str, keys: tuple[str, ...]) -> None:
        if not _HEADER.fullmatch(name) or not value.isprintable() or not value.isascii():
            raise self._fault(f"'{name[:80]}' is not a header", *keys)
        if leads_elsewhere(name):
            raise self._fault(f"the header '{name}' is not set here", *keys)

    def _path(self, *keys: str) -> JsonPath | None:
        value: Any = self.data
        for key in keys:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is None:
            return None
        try:
            compiled(str(value))
        except PathError as error:
            hint = "Such a path is, for example, $.messages[*].text (RFC 9535)."
            raise self._fault(f"`{keys[-1]}` is not a JSONPath: {error}", *keys, hint=hint) from None
        return JsonPath(str(value), self._locate(*keys), self._is_written(*keys))

    def _is_written(self, *keys: str) -> bool:
        node: YamlNode | None = self.node
        for key in keys:
            node = node.items.get(key) if isinstance(node, YamlMapping) else None
        return node is not None

    def _seconds(self, name: str, default: float) -> float:
        if name not in self.data:
            return default
        match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,3})?)\s*(ms|s|m)", str(self.data[name]).strip())
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if not 0.0 < seconds <= _LONGEST:
            raise self._fault(f"`{name}` is not a duration from 1ms to 5m", name, hint="Write it as 500ms, 2s or 1m.")
        return seconds

    def _locate(self, *keys: str) -> Location:
        """Where it is written; what a preset fills in is where its kind, or what is around it, is written."""
        node: YamlNode = self.node
        for key in keys:
            below = node.items.get(key) if isinstance(node, YamlMapping) else None
            if below is None:
                break
            node = below
        return node.location

    def _fault(self, what: str, *keys: str, hint: str = "") -> UserError:
        return UserError(what, location=self._locate(*keys), hint=hint or None)


_TITLE: Final = JsonPath("$.title")
_PAYLOAD: Final = JsonPath("$.payload")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_LONGEST: Final = 300.0
_DEAREST: Final = 1_000_000
_PATH_TEXT: Final = re.compile(
    r"/(?:[\w.~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2}|/(?!/))*(?:\?(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?", re.ASCII
)
_HEADER: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")


def _lines(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        for key, below in sorted(value.items(), key=lambda item: str(item[0])):
            yield from _lines(below, f"{name}.{key}" if name else str(key))
    else:
        yield f"{name}: {value if isinstance(value, str) else dumps(value, ensure_ascii=False, default=str)}"


def _texts(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield keys, value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts(below, (*keys, str(key)))
    elif isinstance(value, list | tuple):
        for below in value:
            yield from _texts(below, keys)
