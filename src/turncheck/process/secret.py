"""Secrets: strings that are sent and never shown.

Every secret that is read is remembered here, so that it can be removed from whatever is printed after an error (a
message, a crash report), in whichever form a library quoted it.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, quote_plus

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HIDDEN: Final = "***"
_SENDABLE: Final = re.compile(r"[\x20-\x7e]+")
"""What a header can carry wherever it goes (RFC 9110, 5.5: visible ASCII and blanks)."""
_LEAST: Final = 4
_LEAST_GUESSED: Final = 8
"""Minimum length in characters: shorter strings (``true``, ``5``) are not hidden, or the output would be unreadable."""
_TELLING_NAMES: Final = re.compile(
    r"TOKEN|SECRET|PASSW|JWT|CREDENTIAL|(?:^|_)(?:API_?|ACCESS_?|PRIVATE_?|CACHE_?)KEY", re.IGNORECASE
)
_KNOWN: Final[set[str]] = set()


class Secret:
    """A string that is never shown: its ``repr`` and ``str`` are ``***``."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text
        remember(text)

    def __repr__(self) -> str:
        return HIDDEN

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.reveal()

    def __hash__(self) -> int:
        return hash(self._text)

    def reveal(self) -> str:
        """Return the string itself, for the place that sends it."""
        return self._text


def read_secret(text: str) -> Secret:
    """Return a secret as it was entered, without the blanks and line ends that pasting leaves around it.

    Raises:
        ValueError: it is empty, or holds what no header can carry; the message does not show it.
    """
    remember(text)
    stripped = text.strip()
    if not stripped:
        raise ValueError("expected a secret, got an empty string")
    if not _SENDABLE.fullmatch(stripped):
        raise ValueError(
            "it contains a line break, a control character or a character outside ASCII, which cannot be sent"
        )
    return Secret(stripped)


def secret_of(environment: Mapping[str, str], *names: str) -> Secret | None:
    """Return the first of these variables that is set.

    Raises:
        UserError: it holds what cannot be sent.
    """
    for name in names:
        if environment.get(name, "").strip():
            try:
                return read_secret(environment[name])
            except ValueError as error:
                raise UserError(
                    f"{name} cannot be used: {error}", remedy="Set it again, without a line break."
                ) from None
    return None


def remember(text: str, least: int = _LEAST) -> None:
    """Have :func:`redact` hide this string, and each line of it that has ``least`` characters, from now on."""
    for part in (text, *text.splitlines()):
        if len(kept := part.strip()) >= least:
            _KNOWN.update(_forms(kept))


def remember_guessed(text: str) -> None:
    """As :func:`remember`, for a string that may or may not be a secret."""
    remember(text, _LEAST_GUESSED)


def remember_variables(variables: Mapping[str, str]) -> None:
    """Have :func:`redact` hide the variables whose names suggest secrets."""
    for name, value in variables.items():
        if _TELLING_NAMES.search(name):
            remember_guessed(value)


def known_secrets() -> frozenset[str]:
    """Return all that :func:`redact` hides, for another process of ours."""
    return frozenset(_KNOWN)


def remember_forms(forms: Iterable[str]) -> None:
    """Have :func:`redact` hide what :func:`known_secrets` returned in another process."""
    _KNOWN.update(forms)


def redact(text: str) -> str:
    """Return the text with every secret that was read replaced by ``***``."""
    for known in sorted(_KNOWN, key=len, reverse=True):
        text = text.replace(known, HIDDEN)
    return text


_PATTERNS: Final = (
    (re.compile(r"(?i)\b(bearer)\s+(?![{%])[^\s'\"]+"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)\b(basic)\s+[\w+/=-]{8,}"), rf"\1 {HIDDEN}"),
    (re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*).*"), rf"\1{HIDDEN}"),
    (re.compile(r"\b(?:gh[a-z]_|github_pat_)\w+|\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"), HIDDEN),
    (re.compile(r"(?<=://)[^/\s@'\"]+@"), f"{HIDDEN}@"),
    (re.compile(r"(?i)([?&](?:\w*token|sig|signature|\w*key|password|secret|jwt)=)[^&\s'\"]+"), rf"\1{HIDDEN}"),
)
"""What looks like a secret: headers, the tokens of GitHub and JWTs, logins and keys in addresses."""


def redact_all(text: str) -> str:
    """Return the text without secrets that were read, and without anything that looks like one."""
    text = redact(text)
    for pattern, shown in _PATTERNS:
        text = pattern.sub(shown, text)
    return text


def _forms(text: str) -> set[str]:
    """The string itself, and as Python, JSON, an address or a login would write it."""
    content = text.encode("utf-8", "backslashreplace")
    return {
        text,
        repr(text)[1:-1],
        ascii(text)[1:-1],
        repr(content)[2:-1],
        json.dumps(text)[1:-1],
        quote(text, safe="", errors="replace"),
        quote(text, errors="replace"),
        quote_plus(text, errors="replace"),
        base64.b64encode(content).decode(),
    }
