"""A bot over HTTP that answers as a test says, well or badly, and what is needed to hold cases against it."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from turncheck.engines.http.callback import listening
from turncheck.engines.http.client import Access, BotClient
from turncheck.engines.http.conversation import BotConversations
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.project.e2e.cases import read_cases
from turncheck.report.model import EngineInfo
from turncheck.settings.file import read_settings_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from turncheck.report.model import CaseResult, EndToEnd
    from turncheck.settings.bot import Bot

REST = """\
bot:
  kind: rest
  request: {path: /chat, body: {session: "{session}", message: "{text}"}}
  replies: $.messages[*].text
  session: {echo: $.session}
"""
EXAMPLE = "test_cases:\n" + "".join(
    f"- test_case: {name}\n  steps:\n  - user: {name}\n  - bot: You said {name}\n" for name in ("one", "bad", "two")
)


@dataclass(frozen=True)
class Call:
    """What the bot was asked."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """An answer. ``body``: bytes, or what is sent as JSON; ``how``: "cut" (none at all), "endless", "short" (its
    headers say how long it should be), "cut after" (whole, and the connection is cut a moment later, without a word).
    """

    body: Any = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    how: str = ""
    seconds: float = 0.0

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def echo(call: Call) -> Reply:
    """Answer well: repeat the message."""
    return Reply({"session": call.body["session"], "messages": [{"text": f"You said {call.body['message']}"}]})


@dataclass
class FakeBot:
    """A bot; ``answer`` may be replaced while it runs."""

    answer: Callable[[Call], Reply] = echo
    url: str = ""
    calls: list[Call] = field(default_factory=list)
    most_at_once: int = 0
    under_way: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    stop: Callable[[], None] = lambda: None


@contextmanager
def serving(bot: FakeBot) -> Iterator[FakeBot]:
    """Serve until the block ends; ``bot.stop()`` ends it earlier, as a server that dies."""
    handler = type("Handler", (_Handler,), {"bot": bot})
    server = _Server(("127.0.0.1", 0), handler)
    bot.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()

    def stop() -> None:
        server.shutdown()
        server.server_close()
        server.cut_all()

    bot.stop = stop
    try:
        yield bot
    finally:
        stop()
        thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 300
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self.opened: set[socket.socket] = set()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.opened.add(request)
        super().process_request(request, client_address)

    def handle_error(self, *_: Any) -> None:
        """Connections are cut on purpose."""

    def cut_all(self) -> None:
        for one in self.opened:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    bot: FakeBot

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        call = Call(self.command, self.path, dict(self.headers.items()), json.loads(content) if content else None)
        with self.bot.lock:
            self.bot.calls.append(call)
            self.bot.under_way += 1
            self.bot.most_at_once = max(self.bot.most_at_once, self.bot.under_way)
        try:
            self._send(self.bot.answer(call))
        finally:
            with self.bot.lock:
                self.bot.under_way -= 1

    do_GET = do_POST = do_PUT = do_PATCH = _answer  # noqa: N815 - names of the standard library

    def _send(self, reply: Reply) -> None:
        time.sleep(reply.seconds)
        if reply.how == "cut":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        content = reply.content
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.how == "endless":
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            with suppress(OSError):
                while True:
                    self.wfile.write(b" ")
                    self.wfile.flush()
                    time.sleep(0.01)
            return
        if reply.how == "short":
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        if reply.how == "cut after":
            self.close_connection = True
            self.wfile.flush()
            time.sleep(0.1)

    def log_message(self, *_: object) -> None:
        """It would not be read."""


def bot_of(folder: Path, shape: str = REST) -> Bot:
    """Read the shape of a bot as a project has it."""
    (folder / "turncheck.yml").write_text(shape)
    bot: Bot = read_settings_file(folder).values["bot"]
    return bot


def conversations(
    url: str, bot: Bot, *, token: str | None = None, at_once: int = 1, sleep: Callable[[float], None] = time.sleep
) -> BotConversations:
    """Return what holds conversations with a bot."""
    client = BotClient(Access(url, token), bot, at_once=at_once, sleep=sleep)
    return BotConversations(client, EngineInfo(name="http", version=bot.kind))


def hold(
    folder: Path,
    fake: FakeBot,
    cases: str = EXAMPLE,
    *,
    shape: str = REST,
    timeout: float = 5.0,
    token: str | None = None,
    at_once: int = 1,
    sleep: Callable[[float], None] = time.sleep,
) -> EndToEnd:
    """Hold cases against a bot."""
    bot = bot_of(folder, shape)
    (folder / "cases.yml").write_text(cases)
    read = read_cases(folder, [folder / "cases.yml"])
    assert not read.findings, read.findings
    engine = conversations(fake.url, bot, token=token, at_once=at_once, sleep=sleep)
    clean = engine.client.masks.body
    with listening(None, bot.callback.session, clean) if bot.callback else nullcontext() as callbacks:
        engine = replace(engine, callbacks=callbacks)
        return evaluate_cases(engine, read.cases, CaseRun(workers=at_once, turn_timeout=timeout))


def result_of(section: EndToEnd, name: str) -> CaseResult:
    """Return the result of a case."""
    return next(case for case in section.cases if case.name == name)
