"""Servers that answer whatever a trial wants, without a network: sessions send their calls to them."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import requests
from requests.adapters import HTTPAdapter
from tools.fuzzing.mutations import change_value, flip_byte, odd_text, odd_value
from urllib3 import HTTPResponse

from turncheck.web import timed

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back; with ``fails`` the connection fails instead."""

    status: int = 200
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    fails: bool = False

    @classmethod
    def json(cls, document: Any, status: int = 200) -> Answer:
        """An answer with a document; for one that JSON cannot encode, infinitely nested."""
        try:
            content = json.dumps(document).encode()
        except (RecursionError, ValueError):
            content = b"[" * 100_000
        return cls(status, content, {"Content-Type": "application/json"})


_STATUSES = (200, 201, 204, 301, 302, 307, 400, 401, 403, 404, 409, 410, 413, 422, 429, 451, 500, 502, 503, 999)
_HEADERS = (
    *("Location", "Link", "Retry-After", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Content-Type"),
    *("Content-Encoding", "Content-Length", "Set-Cookie", "Transfer-Encoding"),
)
_LINKS = tuple(f'<{url}>; rel="next"' for url in ("https://api.github.test/x?page=2", "http://[", "https://evil.test/"))


def mutated(answer: Answer, document: Any, chance: random.Random) -> Answer:
    """Spoil an answer (or do not): its document, its bytes, its status, its headers, the connection."""
    way = chance.random()
    if way < 0.35:
        return answer
    if way < 0.7 and document is not None:
        for _ in range(chance.choice((1, 1, 2))):
            document = change_value(document, chance)
        return Answer.json(document, answer.status)
    if way < 0.75:
        return Answer(answer.status, flip_byte(answer.content, [], chance), answer.headers)
    if way < 0.8:
        return Answer(answer.status, answer.content[: chance.randint(0, len(answer.content))], answer.headers)
    if way < 0.9:
        told = Answer.json({"message": odd_value(chance), "errors": odd_value(chance)})
        content = chance.choice((told.content, told.content, answer.content, b"[" * 100_000))
        return Answer(chance.choice(_STATUSES), content, answer.headers)
    if way < 0.98:
        odd = odd_text(chance).replace("\r", "").replace("\n", "")[:500].encode("latin-1", "replace").decode("latin-1")
        name = chance.choice(_HEADERS)
        value = chance.choice((*_LINKS, odd)) if name == "Link" else odd
        content = gzip.compress(answer.content) if value == "gzip" else answer.content
        status = chance.choice((answer.status, 302, 307, 429, 403))
        return Answer(status, content, {**answer.headers, name: value})
    return Answer(fails=True)


class _Adapter(HTTPAdapter):
    """Answers instead of sending."""

    def __init__(self, answer: Callable[[requests.PreparedRequest], Answer]) -> None:
        super().__init__()
        self._answer = answer

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        answer = self._answer(request)
        if answer.fails:
            raise requests.ConnectionError("Connection aborted.")
        made = HTTPResponse(
            io.BytesIO(answer.content), answer.headers, answer.status, reason="Reason", preload_content=False
        )
        return self.build_response(request, made)


@contextmanager
def answering(answer: Callable[[requests.PreparedRequest], Answer]) -> Iterator[None]:
    """Let all sessions that are made in the block have this server at every address."""
    make = timed.session

    def session(*arguments: Any, **options: Any) -> requests.Session:
        made = make(*arguments, **options)
        for scheme in ("http://", "https://"):
            made.mount(scheme, _Adapter(answer))
        return made

    with patch("turncheck.web.timed.session", session):
        yield
