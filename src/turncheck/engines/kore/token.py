"""The platform's access token: a JWT, signed here (HS256, RFC 7515 and 7518), short-lived, never shown."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

from turncheck.process.secret import remember

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.process.secret import Secret

LIFETIME: Final = 600.0
"""Seconds that a token is valid."""
_SPARE: Final = 60.0
"""A token is replaced this many seconds before it expires: the server's clock may be fast."""
_SUBJECT: Final = "turncheck"


class Tokens:
    """The tokens of one run: each has its own identity (``jti``); a new one is created before the last one expires."""

    def __init__(self, client_id: str, secret: Secret, now: Callable[[], float] = time.time) -> None:
        self._client_id = client_id
        self._secret = secret
        self._now = now
        self._token = ""
        self._end = 0.0

    def current(self) -> str:
        """Return a token that is valid now."""
        if self._now() >= self._end - _SPARE:
            self.renew()
        return self._token

    def renew(self) -> None:
        """Create a new one, even if the last one is still valid."""
        self._end = self._now() + LIFETIME
        claims = {"appId": self._client_id, "sub": _SUBJECT, "jti": uuid.uuid4().hex, "exp": int(self._end)}
        self._token = signed(claims, self._secret)
        remember(self._token)


def signed(claims: dict[str, Any], secret: Secret) -> str:
    """Return the claims as a JWT, signed with the secret."""
    content = f"{_part({'alg': 'HS256', 'typ': 'JWT'})}.{_part(claims)}"
    signature = hmac.new(secret.reveal().encode(), content.encode(), hashlib.sha256).digest()
    return f"{content}.{_base64(signature)}"


def _part(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
