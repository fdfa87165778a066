"""Signs a call as AWS requires (Signature Version 4), for services such as Lex.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from datetime import datetime

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_REGION: Final = re.compile(r"\.([a-z]{2}(?:-[a-z]+)+-\d)\.")
_DEFAULT_REGION: Final = "us-east-1"


@dataclass(frozen=True, slots=True)
class AwsKey:
    """An access key: its id, its secret, and a session's token, if it is a temporary one."""

    id: str
    secret: str = field(repr=False)
    session: str = field(default="", repr=False)

    @classmethod
    def read(cls, token: str) -> AwsKey:
        """Read ``ID:SECRET`` or ``ID:SECRET:SESSION``.

        Raises:
            UserError: it is something else.
        """
        parts = token.split(":", 2)
        if len(parts) < 2 or not all(parts):
            raise UserError(
                "the token of a bot on AWS is an access key: its id and its secret",
                hint="Give --bot-token ID:SECRET, or ID:SECRET:SESSION-TOKEN for a temporary key.",
            )
        return cls(*parts)


def signed(  # noqa: PLR0917 - all that a signature covers
    key: AwsKey, method: str, url: str, body: bytes, service: str, now: datetime
) -> dict[str, str]:
    """Return the headers that sign a call; ``now`` in UTC."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    match = _REGION.search(f".{host}.")
    time, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    scope = f"{day}/{match[1] if match else _DEFAULT_REGION}/{service}/aws4_request"
    headers = {"host": host, "x-amz-date": time, **({"x-amz-security-token": key.session} if key.session else {})}
    names = ";".join(sorted(headers))
    query = "&".join(sorted(part if "=" in part else f"{part}=" for part in parts.query.split("&") if part))
    canonical = "\n".join(
        (
            method,
            quote(parts.path or "/", safe="/-_.~"),
            query,
            *(f"{name}:{headers[name]}" for name in sorted(headers)),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        )
    )
    to_sign = "\n".join((_ALGORITHM, time, scope, hashlib.sha256(canonical.encode()).hexdigest()))
    signing = f"AWS4{key.secret}".encode()
    for part in scope.split("/"):
        signing = _hmac(signing, part)
    signature = _hmac(signing, to_sign).hex()
    kept = {name: value for name, value in headers.items() if name != "host"}
    return {
        **kept,
        "Authorization": f"{_ALGORITHM} Credential={key.id}/{scope}, SignedHeaders={names}, Signature={signature}",
    }


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
