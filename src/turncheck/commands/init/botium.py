"""Turns a ``botium.json`` into ``bot:`` for ``turncheck.yml``.

It may be for Botium's connector for HTTP (``SIMPLEREST_…``), or for those of APIs that have a kind of their own.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.messages.plain_text import one_line
from turncheck.process.regular_file import is_file, read_regular
from turncheck.settings.bot import read_bot
from turncheck.settings.bot_forbidden import assigned_secret, is_secret, secret_part
from turncheck.settings.bot_placeholders import placeholders
from turncheck.web.addresses import Origin, address_of, login_of, without_login
from turncheck.web.json_path import PathError, compiled
from turncheck.yaml_tree.json_tree import JsonError, JsonFile
from turncheck.yaml_tree.source import EscapeError, Source, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.settings.bot import Bot

FILE: Final = "botium.json"
_LIMIT: Final = 1 << 20
_MUSTACHE: Final = re.compile(r"\{\{\{?\s*([\w.$#/]+)[^{}]*\}?\}\}")
_KNOWN: Final = {"msg.messageText": "{text}", "botium.conversationId": "{session}"}
_PATHS: Final = {
    "intent": "SIMPLEREST_NLP_INTENT_JSONPATH",
    "confidence": "SIMPLEREST_NLP_CONFIDENCE_JSONPATH",
    "buttons": "SIMPLEREST_BUTTONS_JSONPATH",
    "media": "SIMPLEREST_MEDIA_JSONPATH",
    "cards": "SIMPLEREST_CARDS_JSONPATH",
}
"""Where the paths of further keys are written."""
_READ: Final = frozenset(
    {
        *_PATHS.values(),
        *("SIMPLEREST_URL", "SIMPLEREST_METHOD", "SIMPLEREST_VERB", "SIMPLEREST_HEADERS_TEMPLATE"),
        *("SIMPLEREST_BODY_TEMPLATE", "SIMPLEREST_BODY_JSONPATH", "SIMPLEREST_CONTEXT_JSONPATH"),
        *("SIMPLEREST_BUTTONS_TEXT_SUBJSONPATH", "SIMPLEREST_BUTTONS_PAYLOAD_SUBJSONPATH"),
        *(f"SIMPLEREST_{call}_{key}" for call in ("START", "POLL") for key in ("URL", "VERB", "BODY")),
        "SIMPLEREST_START_UPDATE_CONTEXT",
    }
)
"""What is read; whatever else is given, but for hooks and paths to messages, is named in a note."""
_USUAL: Final = frozenset({"content-type", "accept"})
_REPLIES: Final = "SIMPLEREST_RESPONSE_JSONPATH"
_TO_WRITE: Final = {
    "request": {"method": "POST", "path": "/", "body": {"session": "{session}", "message": "{text}"}},
    "replies": "$.text",
}
"""What is written where nothing can be taken over."""
_PLAIN: Final = "JSON has no comments, and no comma after the last entry."
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH"})


class Imported(Struct):
    """``shape``: what belongs under ``bot:``; ``address``: for ``--bot-url``, "" if it is not there; ``notes``: what is
    left to a person.
    """

    address: str
    shape: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines for ``turncheck.yml``."""
        lines = [
            f"# Made by `turncheck init` from {FILE}. The bot's address is a flag: --bot-url {self.address or 'URL'}"
        ]
        # What is quoted is somebody else's: it stays a comment, and none of it is an escape.
        lines += [f"# To do: {one_line(note, 300)}".replace("\\", "/") for note in self.notes]
        lines += ["engine: http", "bot:"]
        lines += [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in self.shape.items()]
        return "\n".join(lines) + "\n"

    @property
    def bot(self) -> Bot | None:
        """What the lines say."""
        node = _node(self.shape)
        return read_bot(node) if node is not None else None


def imported(folder: Path) -> Imported | None:
    """Return what a folder's ``botium.json`` says; ``None`` if there is none, or if it is for another connector."""
    try:
        content, written = _content(folder)
    except UserError:
        return None
    botium = content.get("botium") if isinstance(content, dict) else None
    capabilities = botium.get("Capabilities") if isinstance(botium, dict) else None
    if not isinstance(capabilities, dict):
        return None
    mode = str(capabilities.get("CONTAINERMODE")).removeprefix("botium-connector-")
    if mode in _CONNECTORS:
        return _CONNECTORS[mode](capabilities)
    if mode != "simplerest" and not isinstance(capabilities.get("SIMPLEREST_URL"), str):
        return None
    return _Reader(capabilities, written).read()


# Connectors for APIs of a known kind, by botium-connector-directline3, -lex and -dialogflowcx. None: what the address
# consists of is not there.


def _directline(capabilities: dict[str, Any]) -> Imported | None:
    domain = capabilities.get("DIRECTLINE3_DOMAIN") or "https://directline.botframework.com"
    address = address_of(str(domain))
    notes = ["the secret (DIRECTLINE3_SECRET) is given with --bot-token."]
    return Imported(address.origin.root, {"kind": "directline"}, notes) if address is not None else None


def _lex(capabilities: dict[str, Any]) -> Imported | None:
    if capabilities.get("LEX_VERSION") != "V2":  # V1 is what the connector assumes, and another API
        return None
    parts = [_named(capabilities, f"LEX_{name}") for name in ("REGION", "PROJECT_NAME", "PROJECT_ALIAS")]
    if not all(parts):
        return None
    region, bot, alias = parts
    locale = _named(capabilities, "LEX_LOCALE") or "en_US"
    address = f"https://runtime-v2-lex.{region}.amazonaws.com/bots/{bot}/botAliases/{alias}/botLocales/{locale}"
    return Imported(address, {"kind": "lex-v2"}, ["the access key is given as --bot-token ID:SECRET."])


def _dialogflow_cx(capabilities: dict[str, Any]) -> Imported | None:
    project, agent = (_named(capabilities, f"DIALOGFLOWCX_{name}") for name in ("PROJECT_ID", "AGENT_ID"))
    if not project or not agent:
        return None
    location = _named(capabilities, "DIALOGFLOWCX_LOCATION") or "global"
    host = "dialogflow.googleapis.com" if location == "global" else f"{location}-dialogflow.googleapis.com"
    address = f"https://{host}/v3/projects/{project}/locations/{location}/agents/{agent}"
    if environment := _named(capabilities, "DIALOGFLOWCX_ENVIRONMENT"):
        address += f"/environments/{environment}"
    shape: dict[str, Any] = {"kind": "dialogflow-cx"}
    language = _named(capabilities, "DIALOGFLOWCX_LANGUAGE_CODE") or "en"
    if language != "en":
        shape["request"] = {"body": {"queryInput": {"languageCode": language}}}
    return Imported(address, shape, ["an access token of the service account is given with --bot-token."])


_CONNECTORS: Final = {"directline3": _directline, "lex": _lex, "dialogflowcx": _dialogflow_cx}
_NAME: Final = re.compile(r"[\w-]+", re.ASCII)


def _named(capabilities: dict[str, Any], name: str) -> str:
    """Return the id or name that a capability is; "" if there is none that can be part of an address."""
    value = capabilities.get(name)
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ""


def unreadable(folder: Path) -> UserError | None:
    """Return why a folder's ``botium.json`` cannot be read; ``None`` if it can, or if there is none."""
    try:
        _content(folder)
    except UserError as error:
        return error
    return None


def _content(folder: Path) -> tuple[Any, bytes]:
    """Read the file, and return also what is written; ``None`` if there is none.

    Raises:
        UserError: it cannot be read, or is not JSON; with its place.
    """
    path = folder / FILE
    if not is_file(path):
        return None, b""
    try:
        written = read_regular(path, most=_LIMIT, inside=folder)
        return json.loads(written), written
    except json.JSONDecodeError as error:
        place, what, hint = Location(FILE, error.lineno, error.colno), f"is not JSON: {error.msg}", _PLAIN
    except UnicodeDecodeError:
        place, what, hint = Location(FILE), "is not UTF-8", "Save it in UTF-8."
    except RecursionError:
        place, what, hint = Location(FILE), "is not JSON: it is nested too deep", _PLAIN
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        place, what, hint = (
            Location(FILE),
            f"cannot be read: {why}",
            "It must be a file of at most 1 MiB in its folder.",
        )
    raise UserError(what, location=place, hint=hint)


class _Reader:
    def __init__(self, capabilities: dict[str, Any], written: bytes = b"") -> None:
        self.capabilities = capabilities
        self.written = written
        self.notes: list[str] = []
        self.context_id = ""
        """What of the context is the conversation's id: the first that is sent, if a call begins conversations."""
        self.unread: set[str] = set()

    def read(self) -> Imported:
        origin = self._origin()
        opened = self._opened(origin)
        method = self.capabilities.get("SIMPLEREST_METHOD") or self.capabilities.get("SIMPLEREST_VERB")
        path = self._below("SIMPLEREST_URL") if origin is not None else "/"
        request: dict[str, Any] = {"method": self._method(method), "path": path or "/"}
        headers, token = self._headers()
        if headers:
            request["headers"] = headers
        if (body := self._body()) is not None:
            request["body"] = body
        shape: dict[str, Any] = {"kind": "rest", "request": request, "replies": self._replies()}
        shape |= self._further()
        sent = placeholders((request["path"], request.get("body")))
        if not sent & {"text", "history"}:
            self.notes.append("nothing of `request` has the user's message: write {text} where it belongs.")
        if "session" not in sent:
            self.notes.append("nothing of `request` has the conversation's id: does the bot set a cookie, as here?")
            shape["session"] = "cookie"
            self.unread = {"SIMPLEREST_START_URL"}
        elif opened is not None:
            shape["session"] = {"open": self._with_id(opened)}
        if (poll := self._call("POLL", origin)) is not None:
            shape["poll"] = poll
        if token:
            shape["token"] = token
        self._note_what_is_left()
        address = "" if origin is None else without_login(origin.root)
        return Imported(address, self._accepted(shape), self.notes)

    def _origin(self) -> Origin | None:
        """Return where the bot is. Botium may have its address from the environment, or from a file on one machine."""
        url = self.capabilities.get("SIMPLEREST_URL")
        address = address_of(re.sub(r"\{+[^{}]*\}+", "x", url)) if isinstance(url, str) else None
        if address is not None:
            return address.origin
        if url in (None, ""):
            self.notes.append(f"the bot's address is not in {FILE}: write `path` as its SIMPLEREST_URL has it.")
        else:
            self.notes.append(f"{self._place()}: SIMPLEREST_URL is not an address: write `path` as the bot has it.")
        return None

    def _place(self) -> Location:
        try:
            file = JsonFile(Source(FILE, self.written.decode("utf-8", "replace")))
        except JsonError:  # not in UTF-8
            return Location(FILE)
        return file.key_location("botium", "Capabilities", "SIMPLEREST_URL")

    def _method(self, written: Any) -> str:
        method = str(written or "GET").upper()
        if method in _METHODS:
            return method
        self.notes.append(f"the method {method[:20]} is not sent: POST is written instead.")
        return "POST"

    def _below(self, name: str) -> str:
        """Return what follows the host in an address; a secret in its query becomes the token."""
        written = str(self.capabilities[name])
        if login_of(re.sub(r"\{+[^{}]*\}+", "x", written)) is not None:
            self.notes.append(f"the login in {name} is left out: give it in --bot-url (https://NAME:PASSWORD@…).")
        rest = self._filled(written).partition("://")[2]
        path, question, query = f"/{rest.partition('/')[2]}".partition("#")[0].partition("?")
        if "/" not in rest.partition("?")[0]:
            path, question, query = "/", *rest.partition("#")[0].partition("?")[1:]
        pairs = []
        for pair in query.split("&"):
            key, equals, _ = pair.partition("=")
            if assigned_secret(f"?{pair}") is not None:
                self.notes.append(f"the value of {key[:40]} is given with --bot-token.")
                pairs.append(f"{key}{equals}{{token}}")
            else:
                pairs.append(pair)
        while (part := secret_part(path)) is not None:
            self.notes.append(f"a part of the path of {name} is given with --bot-token.")
            path = path.replace(part, "{token}")
        return f"{path}{question}{'&'.join(pairs)}"

    def _call(self, name: str, origin: Origin | None) -> dict[str, Any] | None:
        """Return a call that is not that of a message: it begins a conversation, or fetches messages."""
        url = self.capabilities.get(f"SIMPLEREST_{name}_URL")
        if not isinstance(url, str) or not url:
            return None
        there = address_of(re.sub(r"\{+[^{}]*\}+", "x", url))
        if there is None or origin not in {None, there.origin}:
            self.notes.append(f"SIMPLEREST_{name}_URL is at another host, and is not called.")
            return None
        method = self._method(self.capabilities.get(f"SIMPLEREST_{name}_VERB"))
        call: dict[str, Any] = {"method": method, "path": self._below(f"SIMPLEREST_{name}_URL")}
        body = self._without_secrets(self._filled_all(self._json(f"SIMPLEREST_{name}_BODY")))
        if isinstance(body, dict | list):
            call["body"] = body
        elif body:
            self.notes.append(f"SIMPLEREST_{name}_BODY is not JSON: write `body` as a map.")
        return call

    def _opened(self, origin: Origin | None) -> dict[str, Any] | None:
        """Return the call that begins a conversation, and find out what of its answer is sent with messages."""
        opened = self._call("START", origin)
        if opened is not None and isinstance(self.capabilities.get("SIMPLEREST_CONTEXT_JSONPATH"), str):
            sent = "".join(str(self.capabilities.get(name)) for name in ("SIMPLEREST_URL", "SIMPLEREST_BODY_TEMPLATE"))
            match = re.search(r"\{\{\{?\s*(context\.[\w.]+)", sent)
            self.context_id = match[1] if match else ""
        return opened

    def _with_id(self, opened: dict[str, Any]) -> dict[str, Any]:
        path = str(self.capabilities.get("SIMPLEREST_CONTEXT_JSONPATH"))
        if self.context_id:
            return {**opened, "id": f"{path}{self.context_id.removeprefix('context')}"}
        if "session" not in placeholders((opened["path"], opened.get("body"))):
            opened["path"] += f"{'&' if '?' in opened['path'] else '?'}session={{session}}"
            self.notes.append("the call that begins a conversation names no id: write `id`, or where it belongs.")
        return opened

    def _note_what_is_left(self) -> None:
        given = sorted(name for name, value in self.capabilities.items() if name.startswith("SIMPLEREST_") and value)
        hooks = [name for name in given if name.endswith("_HOOK")]
        self.notes += [f"{name} is code, and is not run." for name in hooks]
        read = {*_READ, *hooks} - self.unread
        left = [name for name in given if name not in read and not name.startswith(_REPLIES)]
        if "SIMPLEREST_CONTEXT_JSONPATH" in given and not self.context_id:
            left.append("SIMPLEREST_CONTEXT_JSONPATH")
        if left:
            self.notes.append(f"not taken over: {', '.join(left)}.")

    def _accepted(self, shape: dict[str, Any]) -> dict[str, Any]:
        """Leave out what ``bot:`` may not say, such as a host, each with a note."""
        while (error := _refused(shape)) is not None:
            message, keys = error
            if not keys:
                self.notes.append(f"the file says what `bot:` does not take, and is left to you: {message}.")
                return {"kind": "rest", **_TO_WRITE}
            self.notes.append(f"`{'.'.join(keys)}` is left out: {message}.")
            shape = _without(shape, keys)
        return shape

    def _headers(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the headers without secrets, and where the token goes."""
        kept: dict[str, str] = {}
        secret: list[tuple[int, str, str]] = []
        written = self._json("SIMPLEREST_HEADERS_TEMPLATE")
        for name, value in written.items() if isinstance(written, dict) else ():
            names = {match[1] for match in _MUSTACHE.finditer(str(value))}
            if str(name).lower() in _USUAL:
                continue
            if names & {*_KNOWN, self.context_id}:
                what = "the conversation's id or the message, which no header of `bot:` can hold"
                self.notes.append(f"the header {str(name)[:40]} is left out: it has {what}.")
            elif is_secret(str(name), str(value) or name) or names:
                is_login = str(name).lower() == "authorization"
                secret.append((0 if is_login else 2 if names else 1, str(name), str(value)))
            else:
                kept[str(name)] = str(value)
        return kept, self._token(secret)

    def _token(self, secret: list[tuple[int, str, str]]) -> dict[str, str]:
        """Return where the token goes, of several headers with secrets: those of a login come first."""
        if not secret:
            return {}
        chosen = min(secret, key=lambda header: header[0])
        _, name, value = chosen
        self.notes.append(f"the value of the header {name[:40]} is given with --bot-token.")
        self.notes += [
            f"the header {other[1][:40]} is left out: --bot-token gives one secret, and {name[:40]} has it."
            for other in secret
            if other is not chosen
        ]
        prefix = re.match(r"(?:Bearer|Token|Basic|ApiKey|Api-Key) ", value, re.IGNORECASE)
        return {"header": name, "prefix": prefix[0] if prefix else ""}

    def _body(self) -> Any:
        body = self._json("SIMPLEREST_BODY_TEMPLATE")
        if body is None or isinstance(body, dict | list):
            return self._without_secrets(self._filled_all(body))
        self.notes.append("SIMPLEREST_BODY_TEMPLATE is not JSON: write `body` as a map.")
        return {"session": "{session}", "message": "{text}"}

    def _without_secrets(self, value: Any) -> Any:
        if isinstance(value, dict):
            done = {}
            for key, below in value.items():
                if is_secret(str(key), below):
                    self.notes.append(f"the value of {str(key)[:40]} is given with --bot-token.")
                    done[key] = "{token}"
                else:
                    done[key] = self._without_secrets(below)
            return done
        return [self._without_secrets(one) for one in value] if isinstance(value, list) else value

    def _replies(self) -> str:
        paths: list[str] = []
        for name, written in self.capabilities.items():  # Botium takes all that begin so, such as …_0 and …_1
            if name.startswith(_REPLIES) and written:
                paths += map(str, written) if isinstance(written, list) else str(written).split(",")
        paths = [path.strip() for path in paths if path.strip()]
        good = [path for path in paths if _is_path(path)]
        if not good:
            why = f"{_REPLIES} is not JSONPath" if paths else f"there is no {_REPLIES}"
            self.notes.append(f"{why}: write where the answers have messages.")
            return "$.text"
        if len(paths) > 1:
            others = ", ".join(path for path in paths if path != good[0])
            self.notes.append(f"of several paths to messages the first is taken, not {others}.")
        return good[0]

    def _further(self) -> dict[str, Any]:
        """Return what is written about the intent, and about what messages show besides text."""
        shape: dict[str, Any] = {key: path for key, name in _PATHS.items() if (path := self._path(name)) is not None}
        within = {"title": self._path("SIMPLEREST_BUTTONS_TEXT_SUBJSONPATH")}
        within["payload"] = self._path("SIMPLEREST_BUTTONS_PAYLOAD_SUBJSONPATH")
        if "buttons" in shape and any(within.values()):
            shape["buttons"] = {"path": shape["buttons"], **{key: path for key, path in within.items() if path}}
        if self.capabilities.get("SIMPLEREST_BODY_JSONPATH"):
            self.notes.append("SIMPLEREST_BODY_JSONPATH: put it in front of each path.")
        return shape

    def _path(self, name: str) -> str | None:
        written = self.capabilities.get(name)
        if written in (None, ""):
            return None
        if isinstance(written, str) and _is_path(written):
            return written
        self.notes.append(f"{name} is not one JSONPath by RFC 9535: write where the answers have it.")
        return None

    def _json(self, name: str) -> Any:
        """Return a template that is JSON, or text that holds it."""
        value = self.capabilities.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(_MUSTACHE.sub(lambda match: match[0].replace('"', "'"), value))
        except ValueError:
            return value

    def _filled_all(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._filled_all(below) for key, below in value.items()}
        if isinstance(value, list):
            return [self._filled_all(below) for below in value]
        return self._filled(value) if isinstance(value, str) else value

    def _filled(self, text: str) -> str:
        """Return a text with the placeholders that are known here; others are noted."""

        def replaced(match: re.Match[str]) -> str:
            name = match[1]
            if name.startswith(("#", "/")):
                return ""  # {{#fnc.jsonify}} … {{/fnc.jsonify}}: values are always put in as JSON here
            if name == self.context_id:
                return "{session}"
            if name not in _KNOWN:
                self.notes.append(f"{match[0][:60]} has no counterpart: write what belongs there.")
            return _KNOWN.get(name, "")

        return _MUSTACHE.sub(replaced, text)


def _node(shape: dict[str, Any]) -> YamlNode | None:
    """Return a shape as ``turncheck.yml`` has it; ``None``: it cannot be written as YAML."""
    try:
        root = parse_yaml(YamlSource("turncheck.yml", Imported("", shape).text)).root
    except EscapeError:
        return None
    return root.items["bot"] if isinstance(root, YamlMapping) else None


def _refused(shape: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """Return what is wrong with a shape, and the keys that lead there; ``None``: it can be read."""
    bot = _node(shape)
    if bot is None:
        return "it cannot be written as YAML", ()
    try:
        read_bot(bot)
    except UserError as error:
        return error.message, _keys_of(bot, error.location)
    return None


def _keys_of(node: YamlNode, location: Location | None) -> tuple[str, ...]:
    """Return the keys that lead to what stands at a place; none if nothing below does."""
    if isinstance(node, YamlMapping):
        for key, below in node.items.items():
            if deeper := _keys_of(below, location):
                return (str(key), *deeper)
            if below.location == location or node.key_location(key) == location:
                return (str(key),)
    if isinstance(node, YamlSequence):
        for number, below in enumerate(node.items):
            if below.location == location or _keys_of(below, location):
                return (str(number), *_keys_of(below, location))
    return ()


def _without(value: Any, keys: tuple[str, ...]) -> Any:
    """Return a value without what is at the end of these keys."""
    first, *rest = keys
    if isinstance(value, dict):
        return {
            key: _without(below, tuple(rest)) if str(key) == first else below
            for key, below in value.items()
            if rest or str(key) != first
        }
    return [
        _without(below, tuple(rest)) if str(number) == first else below
        for number, below in enumerate(value)
        if rest or str(number) != first
    ]


def _is_path(path: str) -> bool:
    try:
        compiled(path)
    except PathError:
        return False
    return True
