"""Botium's suites in a run and in `test e2e`, on the embedded engine and on a bot over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from in_process import turncheck
from printed import passed_tests

CONFIG = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
  entity_recognition: false
- name: RegexEntityExtractor
policies:
- name: MemoizationPolicy
- name: RulePolicy
"""
DOMAIN = """\
version: "3.1"
intents: [greet, bye]
entities: [city]
responses:
  utter_hello: [{text: "Hello! How are you?", buttons: [{title: Good, payload: /greet}]}]
  utter_bye: [{text: "See you <b>soon</b>"}]
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi there
    - good morning
    - hello from [Rome](city)
- intent: bye
  examples: |
    - bye
    - see you
    - farewell
- lookup: city
  examples: |
    - Rome
    - Oslo
"""
RULES = """\
version: "3.1"
rules:
- {rule: hello, steps: [{intent: greet}, {action: utter_hello}]}
- {rule: bye, steps: [{intent: bye}, {action: utter_bye}]}
"""
FILES = {
    "spec/convo/greet.convo.txt": (
        "greet\n\n#me\nUTT_GREET\n\n#bot\nhello!*how\nBUTTONS good\nINTENT greet\n\n#end\nBOT_CONSUMED\n"
    ),
    "spec/convo/greet.utterances.txt": "UTT_GREET\nhello\ngood morning\n",
    "spec/convo/where.convo.txt": (
        "where\n\n#me\nhello from Rome to Oslo\n\n"
        "#bot\nENTITIES city|city\nENTITY_VALUES Oslo|...\nENTITY_CONTENT city|Rome\n"
    ),
    "spec/convo/leave.convo.txt": "leave\n\n#include first\n\n#me\nbye\n\n#bot\nsee you soon\n",
    "spec/convo/first.pconvo.txt": "first\n\n#me\nhello\n\n#bot\n!sorry\n",
    "spec/convo/wrong.convo.txt": "wrong\n\n#me\nbye\n\n#bot\nTEXT See you\n",
    "spec/convo/price.convo.txt": "price\n\n#me\nbye\n\n#bot\nJSON_PATH $.price\n",
    "spec/convo/form.convo.txt": "form\n\n#me\nFORM name|Ann\n\n#bot\nFORMS name\n",
}
ENDS = {
    "greet/UTT_GREET-L1": "passed",
    "greet/UTT_GREET-L2": "passed",
    "leave": "passed",
    "where": "passed",
    "price": "skipped",
    "form": "skipped",
    "wrong": "failed",
}


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    own = {"config.yml": CONFIG, "domain.yml": DOMAIN, "data/nlu.yml": NLU, "data/rules.yml": RULES}
    for name, text in {**own, **FILES}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def _ends(section: dict[str, Any]) -> dict[str, str]:
    return {case["name"]: case["outcome"] for case in section["cases"]}


def test_a_run_judges_them_and_names_what_it_does_not(bot: Path) -> None:
    done = turncheck("run", ".", "--out", "out", "--json", "report.json", "--no-cache", cwd=bot)

    report = json.loads((bot / "report.json").read_text("utf-8"))
    assert _ends(report["e2e"]) == ENDS, done.stderr
    (finding,) = [one for one in report["validation"]["findings"] if one["code"] == "botium-not-judged"]
    assert (finding["location"]["path"], finding["location"]["line"]) == ("spec/convo/form.convo.txt", 4)
    wrong = next(case for case in report["e2e"]["cases"] if case["name"] == "wrong")
    assert wrong["steps"][0]["location"]["line"] == 7
    assert wrong["steps"][0]["actual"] == "See you <b>soon</b>"


def test_the_command_writes_results_in_rasas_format(bot: Path) -> None:
    done = turncheck("test", "e2e", "--project", ".", "--e2e-results", "out.yml", "--no-cache", cwd=bot)

    assert done.returncode == 1, done.stderr
    assert passed_tests(done.stdout) == {"End-to-end cases": "4/5"}
    assert "spec/convo/wrong.convo.txt:7" in done.stdout


class _Bot(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["message"]
        replies: list[dict[str, Any]] = [{"text": "See you"}, {"text": "soon"}]
        if text in {"hello", "good morning"}:
            buttons = [{"label": "Fine", "id": "/fine"}, {"label": "So so", "id": "/so"}]
            card = {"title": "Today", "text": "Sunny"}
            replies = [{"text": "Hello! How are you?", "buttons": buttons}, {"image": "sun.png", "card": card}]
        answer = json.dumps({"messages": replies, "order": {"id": "A-1"}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """The test's output stays clean."""


@contextmanager
def _served() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Bot)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_bot_over_http_is_asked_the_same(tmp_path: Path) -> None:
    convos = {
        "greet.convo.txt": "greet\n\n#me\nhello\n\n#bot\nhow are you\n",
        "understood.convo.txt": "understood\n\n#me\nhello\n\n#bot\nINTENT greet\n",
        "two.convo.txt": (
            "two\n\n#me\nbye\n\n#bot\nsee you\n\n#me\nhello\n\n#bot\nsoon\n\n#bot\nhello\n\n#end\n!BOT_CONSUMED\n"
        ),
        "shown.convo.txt": (
            "shown\n\n#me\nhello\n\n#bot\nBUTTONS fine|/so\nBUTTONS_COUNT 2\n!MEDIA\n!CARDS\nJSON_PATH $.order.id|A-1\n"
            "ASSIGN_SCRIPTING_MEMORY order|$.sourceData.order.id\n\n#bot\nMEDIA sun.png\nCARDS today|sunny\n!BUTTONS\n"
        ),
        "lacking.convo.txt": "lacking\n\n#me\nhello\n\n#bot\nJSON_PATH $.order.id|B-2\n",
    }
    (tmp_path / "tests").mkdir()
    for name, text in convos.items():
        (tmp_path / "tests" / name).write_text(text, "utf-8")
    request = "request: {method: POST, path: /chat, body: {session: '{session}', message: '{text}'}}"
    shown = "{path: '$.messages[*].buttons[*]', title: $.label, payload: $.id}"
    (tmp_path / "turncheck.yml").write_text(
        f"bot:\n  kind: rest\n  {request}\n  replies: $.messages[*].text\n  buttons: {shown}\n"
        "  media: $.messages[*].image\n  cards: $.messages[*].card\n",
        "utf-8",
    )

    with _served() as url:
        done = turncheck(
            "run",
            ".",
            "--engine",
            "http",
            "--bot-url",
            url,
            "--out",
            "out",
            "--json",
            "report.json",
            "--no-cache",
            cwd=tmp_path,
        )

    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert _ends(report["e2e"]) == {
        "greet": "passed",
        "lacking": "failed",
        "shown": "passed",
        "two": "passed",
        "understood": "skipped",
    }, done.stderr
