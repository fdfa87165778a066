"""Whole runs against a bot over HTTP whose answers are seeded coins: of itself against itself, and with a dead case.

python benchmarks/varying.py [--runs 200] [--cases 20] [--sentences 20]
python benchmarks/varying.py --killed [--cases 20]
python benchmarks/varying.py --worse 0.2 [--equally 0] [--dead] [--report 5] [--runs 20] [--cases 8]

How many of the first fail must be at most 2 %, how many of the others, with a dead case or a dead sentence, all. With
``--killed`` the bot, which makes no mistake, is gone after each of a run's turns in turn: only the run in which it
answers all of them may pass. With ``--worse`` every answer of the bot is wrong so often, in turn with a base that is
``--equally`` often wrong, or with ``--report`` against a report of so many runs of it; with ``--dead`` the first case
always: it prints how many runs fail, and how often a case is run in the mean.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
import threading
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.cli import run_command_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RIGHT = "as expected"
SETTINGS = """\
bot:
  kind: rest
  request: {path: /chat, body: {session: "{session}", message: "{text}"}}
  replies: $.messages[*].text
  intent: $.intent
"""


class Coins:
    """How often the bot is wrong, by message, and the coins of a run."""

    def __init__(self, rates: dict[str, float]) -> None:
        self.rates = rates
        self.chance = random.Random()
        self.left: int | None = None
        """How many more messages it answers before it is gone; ``None``: all."""
        self._lock = threading.Lock()

    def answer(self, message: str) -> str | None:
        """Return the right answer, unless a coin says otherwise; ``None``: the bot is gone."""
        with self._lock:
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    return None
            return "something else" if self.chance.random() < self.rates[message] else RIGHT


@contextmanager
def serving(coins: Coins) -> Iterator[str]:
    """Serve the bot, and yield its address."""

    class Bot(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = coins.answer(asked["message"])
            if said is None:
                self.close_connection = True
                return
            intent = "ask" if said == RIGHT else "other"
            content = json.dumps({"messages": [{"text": said}], "intent": intent}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Bot)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def turncheck(url: str, *flags: str, codes: frozenset[int] = frozenset({0, 1})) -> int:
    """Run turncheck in this process, and return its exit code, which must be one of these."""
    begin = ["run", "--engine", "http", "--bot-url", url, "--evaluations", "e2e,nlu", "--quiet", "--no-cache"]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as said:
        code = run_command_line([*begin, *flags])
    if code not in codes:
        raise SystemExit(said.getvalue())
    return code


def kill_at_each_turn(url: str, coins: Coins, cases: int) -> None:
    """Print after how many of a run's turns, each in turn, the bot's end left the gate open."""
    coins.rates = dict.fromkeys(coins.rates, 0.0)
    turncheck(url, "--baseline", "none", "--fail-on", "none", "--out", "base")
    turns = 2 * cases
    passed = []
    for left in range(turns + 1):
        coins.left = left
        code = turncheck(url, "--baseline", "base", "--fail-on", "new-failures", codes=frozenset({0, 1, 2}))
        passed += [left] if code == 0 else []
    early = [left for left in passed if left < turns]
    print(f"killed after each of {turns} turns: {len(early)} runs pass{f', after {early}' if early else ''}")
    print(f"not killed: {'passes' if turns in passed else 'fails'}")


def compare(given: argparse.Namespace, questions: Sequence[str]) -> None:
    """Print how many runs fail of a bot whose answers are all wrong so often, and how often a case is run."""
    here, there = (Coins(dict.fromkeys(questions, rate)) for rate in (given.worse, given.equally))
    if given.dead:
        here.rates[questions[0]] = 1.0
    failed = runs_of_cases = 0
    with serving(here) as url, serving(there) as on_base:
        in_turn = [] if given.report else ["--bot-url-base", on_base]
        for number in range(given.runs):
            here.chance.seed(2 * number)
            there.chance.seed(2 * number + 1)
            first = f"first: {given.report or 5}"
            if given.equally or not number:  # a base that is never wrong is always the same
                turncheck(on_base, "--repeats", first, "--baseline", "none", "--fail-on", "none", "--out", "base")
            failed += turncheck(url, *in_turn, "--baseline", "base", "--fail-on", "new-failures", "--out", "change")
            cases = json.loads(Path("change/report.json").read_text())["e2e"]["cases"]
            runs_of_cases += sum(len(case["repeats"]["runs"]) for case in cases)
    how = f"against {given.report} runs" if given.report else "in turn"
    dead = ", one dead" if given.dead else ""
    rates = f"wrong in {given.worse:.0%}, on the base in {given.equally:.0%}"
    mean = runs_of_cases / given.runs / len(questions)
    print(f"{len(questions)} cases{dead}, {rates}, {how}: {failed} of {given.runs} runs fail, {mean:.1f} runs a case")


def main() -> None:
    """Run it, and print how many runs failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--sentences", type=int, default=20)
    parser.add_argument("--killed", action="store_true", help="kill the bot after each turn")
    parser.add_argument("--worse", type=float, help="how often every answer is wrong")
    parser.add_argument("--equally", type=float, default=0.0, help="how often it is on the base")
    parser.add_argument("--dead", action="store_true", help="the first case always fails")
    parser.add_argument("--report", type=int, help="compare with a report of so many runs of the base, not in turn")
    given = parser.parse_args()
    chance = random.Random(2)
    questions = [f"question {number}" for number in range(given.cases)]
    few = given.killed or given.worse is not None
    sentences = [f"sentence {number}" for number in range(0 if few else given.sentences)]
    rates = {message: chance.uniform(0.02, 0.2) for message in (*questions, *sentences)}
    cases = "".join(f"- test_case: {name}\n  steps:\n  - user: {name}\n  - bot: {RIGHT}\n" for name in questions)
    examples = "".join(f"    - {sentence}\n" for sentence in sentences)
    coins = Coins(rates)
    with tempfile.TemporaryDirectory() as folder, serving(coins) as url:
        os.chdir(folder)
        Path("tests").mkdir()
        Path("tests/e2e_test_cases.yml").write_text(f"test_cases:\n{cases}")
        Path("turncheck.yml").write_text(SETTINGS + ("nlu: tests/nlu.yml\n" if sentences else ""))
        if sentences:
            nlu = f"version: '3.1'\nnlu:\n- intent: ask\n  examples: |\n{examples}"
            Path("tests/nlu.yml").write_text(nlu)
        if given.worse is not None:
            compare(given, questions)
            os.chdir("/")
            return
        if given.killed:
            kill_at_each_turn(url, coins, given.cases)
            os.chdir("/")
            return
        dead = {"with a dead case": questions[:1], "with a dead sentence": sentences[:1]}
        failed = dict.fromkeys(["unchanged", *(name for name, messages in dead.items() if messages)], 0)
        for number in range(given.runs):
            coins.chance.seed(number)
            coins.rates = rates
            runs = ["--repeats", "first: 20, most: 20", "--baseline", "none", "--fail-on", "none", "--out", "base"]
            turncheck(url, *runs)
            judged = ["--baseline", "base", "--fail-on", "new-failures"]
            failed["unchanged"] += turncheck(url, *judged)
            for name, messages in dead.items():
                if messages:
                    coins.rates = {**rates, messages[0]: 1.0}
                    failed[name] += turncheck(url, *judged)
        for name, count in failed.items():
            print(f"{name}: {count} of {given.runs} runs fail")
        os.chdir("/")


if __name__ == "__main__":
    main()
