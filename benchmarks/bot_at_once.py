"""What turncheck adds to the time of a bot over HTTP: 100 conversations of two turns, with a bot that only waits.

python benchmarks/bot_at_once.py [--seconds 0.1] [--at-once 8 100] [--rounds 5]

The bot runs in a process of its own. Its own time is that of its answers, as many at once as asked for. In turn with
each measurement a bare client (`http.client`) asks the same: what that takes longer than the bot is the machine's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from threading import local
from typing import TYPE_CHECKING

from turncheck.engines.http.client import Access, BotClient
from turncheck.engines.http.conversation import BotConversations
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.project.e2e.cases import read_cases
from turncheck.report.model import EngineInfo
from turncheck.settings.file import read_settings_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from turncheck.project.e2e.model import E2ECase
    from turncheck.settings.bot import Bot

CASES, TURNS = 100, 2
SHAPE = """\
bot:
  request: {path: /chat, body: {session: "{session}", message: "{text}"}}
  replies: $.messages[*].text
"""


def serve(seconds: float, told: Connection) -> None:
    """Answer every call after so many seconds, and tell the port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = b'{"messages": [{"text": "yes"}]}'
        reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                )
                await reader.readexactly(length)
                await asyncio.sleep(seconds)
                writer.write(reply)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def by_turncheck(bot: Bot, cases: Sequence[E2ECase], port: int, at_once: int) -> None:
    """Hold all conversations."""
    client = BotClient(Access(f"http://127.0.0.1:{port}"), bot, at_once=at_once)
    engine = BotConversations(client, EngineInfo(name="http", version=bot.kind))
    section = evaluate_cases(engine, cases, CaseRun(workers=at_once))
    if section.passed != CASES:
        raise SystemExit(f"{section.passed} of {CASES} passed")


def barely(port: int, at_once: int) -> None:
    """Send the same calls and read the answers, with a connection for each thread."""
    own = local()

    def talk(number: int) -> None:
        if not hasattr(own, "connection"):
            own.connection = HTTPConnection("127.0.0.1", port)
        for turn in range(TURNS):
            body = json.dumps({"session": str(number), "message": str(turn)})
            own.connection.request("POST", "/chat", body, {"Content-Type": "application/json"})
            json.loads(own.connection.getresponse().read())

    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(talk, range(CASES)))


def main() -> None:
    """Measure in turn, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--at-once", type=int, nargs="+", default=[8, 100])
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(given.seconds, theirs), daemon=True)
    server.start()
    port = ours.recv()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps = "".join("  - user: hello\n  - bot: 'yes'\n" for _ in range(TURNS))
        written = "".join(f"- test_case: c{number}\n  steps:\n{steps}" for number in range(CASES))
        (folder / "cases.yml").write_text(f"test_cases:\n{written}")
        (folder / "turncheck.yml").write_text(SHAPE)
        hold = partial(
            by_turncheck, read_settings_file(folder).values["bot"], read_cases(folder, [folder / "cases.yml"]).cases
        )
        hold(port, 8)  # what is imported and compiled only once
        for at_once in given.at_once:
            own = given.seconds * TURNS * -(-CASES // at_once)
            taken: dict[str, list[tuple[float, float]]] = {"turncheck": [], "bare": []}
            for _ in range(given.rounds):
                for who, asks in (("bare", barely), ("turncheck", hold)):
                    begun, spent = time.perf_counter(), sum(os.times()[:2])
                    asks(port, at_once)
                    taken[who].append((time.perf_counter() - begun, sum(os.times()[:2]) - spent))
            for who, pairs in taken.items():
                seconds = [pair[0] for pair in pairs]
                cpu = statistics.median(pair[1] for pair in pairs) / CASES / TURNS * 1000
                print(
                    f"{at_once} at once, {who}: {statistics.median(seconds) / own:.3f} times the bot's own {own:.1f} s"
                    f" ({min(seconds) / own:.3f} to {max(seconds) / own:.3f}), {cpu:.2f} CPU ms a turn"
                )
    server.kill()
    server.join()


if __name__ == "__main__":
    main()
