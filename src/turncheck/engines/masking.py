"""Hides what a server was given as credentials in what it answers: a change decides what an assistant repeats."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from html.entities import codepoint2name
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turncheck.messages.errors import UserError
from turncheck.process.environment import HIDDEN, whole_number
from turncheck.web.addresses import login_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.process.environment import Secret

SHORTEST: Final = 4
"""A shorter secret is found in ordinary words and numbers: it cannot be hidden."""
_NAME: Final = re.compile(r"[A-Za-z_]+")
"""A key of an answer that is a name, such as ``sessionState``."""
_LONGEST_WORD: Final = 11
"""A secret of so many letters may be a word of such a name."""
_UNRESERVED: Final = re.compile(r"[A-Za-z0-9_-]")
"""What JSON, addresses and HTML write as it is."""


class Masks:
    """The secrets of a server, and the login of its address, in every form in which it may repeat them.

    These are: as it is, percent-encoded, escaped as in JSON or HTML, or any mixture of them; and base64 of it. Of a
    token that is a login in base64, the login and its password are secrets, too.
    """

    def __init__(self, secrets: Iterable[str], url: str = "") -> None:
        known = [*secrets, _private(url)]
        for decoded in filter(None, map(_decoded_login, known.copy())):
            known += [decoded, decoded.partition(":")[2]]
        plain = {secret for secret in known if len(secret) >= SHORTEST}
        forms = plain.union(*(_encoded(secret.encode()) for secret in plain))
        if (login := login_of(url)) is not None:
            forms |= _encoded(b":".join(login))
        self._numbers = {number for form in forms if (number := whole_number(form)) is not None}
        self._words = tuple(form for form in forms if _NAME.fullmatch(form))
        self._patterns = [re.compile("".join(map(_written, form))) for form in sorted(forms, key=len, reverse=True)]

    def text(self, text: str) -> str:
        """Return a string with the secrets in it replaced."""
        for pattern in self._patterns:
            text = pattern.sub(HIDDEN, text)
        return text

    def value(self, value: Any) -> Any:
        """Return decoded JSON without them, in keys and numbers as well."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self._key(key): self.value(below) for key, below in value.items()}
        if isinstance(value, list):
            return [self.value(below) for below in value]
        return HIDDEN if type(value) is int and value in self._numbers else value

    def _key(self, key: str) -> str:
        """Return a key without them; a short word as a secret must not make an answer unreadable."""
        if _NAME.fullmatch(key) is None or any(len(word) > _LONGEST_WORD and word in key for word in self._words):
            return self.text(key)
        return key

    def body(self, body: bytes) -> bytes:
        """Return the body of an answer without them. JSON, which has many ways to write a character, is decoded."""
        if not self._patterns or not body:
            return body
        try:
            value = msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"))
            masked = self.value(value)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self.text(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return body if masked == value else json.dumps(masked).encode()


def ensure_hideable(token: Secret | None, flag: str, url: str, address_flag: str) -> None:
    """Refuse credentials that are too short to be hidden: a token, and the password in an address.

    Raises:
        UserError: one is; the message names its flag.
    """
    for secret, what in (
        ("" if token is None else token.reveal(), f"the value of {flag}"),
        (_private(url), f"the password in the address of {address_flag}"),
    ):
        if 0 < len(secret) < SHORTEST:
            raise UserError(
                f"{what} has fewer than {SHORTEST} characters: it cannot be hidden where an answer repeats it",
                hint="Give the server a longer one.",
            )


def _private(url: str) -> str:
    """Return the password of an address, else its name, which is then the secret."""
    name, password = login_of(url) or (b"", b"")
    return (password or name).decode("utf-8", "replace")


def _decoded_login(secret: str) -> str:
    """Return ``name:password`` of a secret that is base64 of it, as in the header of a login; else ""."""
    try:
        decoded = b64decode(secret + "=" * (-len(secret) % 4), validate=True).decode()
    except (ValueError, UnicodeDecodeError):
        return ""
    return decoded if decoded.isprintable() and ":" in decoded else ""


def _encoded(secret: bytes) -> set[str]:
    """Return base64 of a secret, with both alphabets, without what fills it up."""
    return {encode(secret).decode().rstrip("=") for encode in (b64encode, urlsafe_b64encode)}


def _written(sign: str) -> str:
    """Return the pattern of a character, however it is written."""
    if _UNRESERVED.fullmatch(sign):
        return sign
    code, percent = ord(sign), "".join(f"%{byte:02x}" for byte in sign.encode("utf-8", "surrogatepass"))
    ways = [re.escape(sign), rf"\\+{re.escape(sign)}", rf"&#0*{code};", f"(?i:{percent})", f"(?i:&#x0*{code:x};)"]
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    ways.append("(?i:" + "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4)) + ")")
    ways += [f"&{codepoint2name[code]};"] if code in codepoint2name else []
    ways += [r"\+"] if sign == " " else []  # as forms write it
    return f"(?:{'|'.join(ways)})"
