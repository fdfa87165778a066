"""Turns a ``botium.json`` of Botium's connector for HTTP (``SIMPLEREST_…``) into ``bot:`` for ``turncheck.yml``."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from turncheck.process.regular_file import is_file, read_regular
from turncheck.settings.bot_forbidden import is_secret
from turncheck.settings.bot_placeholders import placeholders
from turncheck.web.addresses import address_of, without_login
from turncheck.web.json_path import PathError, compiled

if TYPE_CHECKING:
    from pathlib import Path

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
_USUAL: Final = frozenset({"content-type", "accept"})
_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH"})


@dataclass(slots=True)
class Imported:
    """``shape``: what belongs under ``bot:``; ``address``: for ``--bot-url``; ``notes``: what is left to a person."""

    address: str
    shape: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The lines for ``turncheck.yml``."""
        lines = [f"# Made by `turncheck init` from {FILE}. The bot's address is a flag: --bot-url {self.address}"]
        lines += [f"# To do: {note}" for note in self.notes]
        lines += ["engine: http", "bot:"]
        lines += [f"  {key}: {json.dumps(value, ensure_ascii=False)}" for key, value in self.shape.items()]
        return "\n".join(lines) + "\n"


def imported(folder: Path) -> Imported | None:
    """Return what a folder's ``botium.json`` says; ``None`` if there is none, or if it is for another connector."""
    path = folder / FILE
    if not is_file(path):
        return None
    try:
        content = json.loads(read_regular(path, most=_LIMIT, inside=folder))
    except (OSError, ValueError, RecursionError):
        return None
    botium = content.get("botium") if isinstance(content, dict) else None
    capabilities = botium.get("Capabilities") if isinstance(botium, dict) else None
    if not isinstance(capabilities, dict) or not isinstance(capabilities.get("SIMPLEREST_URL"), str):
        return None
    return _Reader(capabilities).read()


class _Reader:
    def __init__(self, capabilities: dict[str, Any]) -> None:
        self.capabilities = capabilities
        self.notes: list[str] = []

    def read(self) -> Imported | None:
        url = self._filled(self.capabilities["SIMPLEREST_URL"])
        address = address_of(re.sub(r"\{\w+\}", "x", url))
        if address is None:
            return None
        rest = url.partition("://")[2]
        path = rest[rest.index("/") :] if "/" in rest else "/"
        method = str(self.capabilities.get("SIMPLEREST_METHOD") or self.capabilities.get("SIMPLEREST_VERB") or "GET")
        request: dict[str, Any] = {"method": method.upper(), "path": self._path_without_secrets(path.partition("#")[0])}
        if request["method"] not in _METHODS:
            self.notes.append(f"the method {request['method'][:20]} is not sent: POST is written instead.")
            request["method"] = "POST"
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
        if token:
            shape["token"] = token
        for name in sorted(self.capabilities):
            if name.startswith("SIMPLEREST_") and name.endswith("_HOOK"):
                self.notes.append(f"{name} is code, and is not run.")
        return Imported(without_login(address.origin.root), shape, self.notes)

    def _headers(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the headers without secrets, and where the token goes."""
        kept: dict[str, str] = {}
        token: dict[str, str] = {}
        written = self._json("SIMPLEREST_HEADERS_TEMPLATE")
        for name, value in written.items() if isinstance(written, dict) else ():
            if str(name).lower() in _USUAL:
                continue
            if is_secret(str(name), value) or _MUSTACHE.search(str(value)):
                prefix = re.match(r"(?:Bearer|Token|Basic|ApiKey|Api-Key) ", str(value), re.IGNORECASE)
                token = {"header": str(name), "prefix": prefix[0] if prefix else ""}
                self.notes.append(f"the value of the header {str(name)[:40]} is given with --bot-token.")
            else:
                kept[str(name)] = str(value)
        return kept, token

    def _body(self) -> Any:
        body = self._json("SIMPLEREST_BODY_TEMPLATE")
        if body is None or isinstance(body, dict | list):
            return self._without_secrets(self._filled_all(body))
        self.notes.append("SIMPLEREST_BODY_TEMPLATE is not JSON: write `body` as a map.")
        return {"session": "{session}", "message": "{text}"}

    def _path_without_secrets(self, path: str) -> str:
        def replaced(match: re.Match[str]) -> str:
            if not is_secret(match[1], match[2]):
                return match[0]
            self.notes.append(f"the value of {match[1][:40]} is given with --bot-token.")
            return match[0].replace(f"={match[2]}", "={token}")

        return re.sub(r"[?&;]([^=&;]+)=([^&;]*)", replaced, path)

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
        written = self.capabilities.get("SIMPLEREST_RESPONSE_JSONPATH")
        paths = [str(one).strip() for one in (written if isinstance(written, list) else str(written or "").split(","))]
        good = [path for path in paths if path and _is_path(path)]
        if not good:
            self.notes.append("SIMPLEREST_RESPONSE_JSONPATH is not JSONPath: write where the answers have messages.")
            return "$.text"
        if len(paths) > 1:
            self.notes.append(f"of several paths to messages the first is taken, not {', '.join(paths[1:])}.")
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
            if name not in _KNOWN:
                self.notes.append(f"{match[0][:60]} has no counterpart: write what belongs there.")
            return _KNOWN.get(name, "")

        return _MUSTACHE.sub(replaced, text)


def _is_path(path: str) -> bool:
    try:
        compiled(path)
    except PathError:
        return False
    return True
