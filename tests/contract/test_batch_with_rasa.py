"""``turncheck test batch --engine rasa``: suites judged by a Rasa server, also by one that dies on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fake_rasa import FakeRasa, serving
from golden_texts import Golden
from test_rasa_run import FILES

from turncheck.cli import run_command_line
from turncheck.report.codec import decode

CASES = [
    {"input": "greet the world", "intent": "Greet"},
    {"input": "order tea", "intent": "Order"},
    {"input": "order books", "intent": "Greet"},
]


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "bot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "smoke.json").write_text(json.dumps({"testCases": CASES}))
    return tmp_path / "bot"


def run(bot: Path, *more: str) -> tuple[int, Any]:
    out = bot.parent / "report.json"
    out.unlink(missing_ok=True)
    named = [str(bot.parent / "smoke.json"), "--project", str(bot), "--engine", "rasa", "--json", str(out)]
    code = run_command_line(["test", "batch", *named, *more])
    return code, decode(out.read_bytes()) if out.exists() else None


def test_a_server_judges_a_suite_and_its_failures_count(bot: Path) -> None:
    with serving(FakeRasa()) as rasa:
        code, report = run(bot, "--rasa-url", rasa.url)
    assert code == 1
    assert report.engine.name == "rasa"
    assert not report.batch.by_stand_in
    assert [case.result for case in report.batch.cases] == ["tp", "tp", "fp"]


def test_what_was_judged_before_the_server_died_is_kept(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    def fault(path: str, body: Any) -> Any:
        is_late = path.startswith("/model/parse") and "books" in str(body)
        return (500, {"status": "failure", "message": "out of memory", "reason": "x", "code": 500}) if is_late else None

    with serving(FakeRasa(fault=fault)) as rasa:
        code, report = run(bot, "--rasa-url", rasa.url)
    assert code == 2
    assert "out of memory" in capsys.readouterr().err
    assert report.stopped
    (suite,) = report.batch.suites
    golden(suite.outcome)
    assert [case.result for case in suite.cases] == ["tp", "tp", "not-evaluated"]


def test_a_server_that_is_not_there_judges_nothing(bot: Path) -> None:
    code, report = run(bot, "--rasa-url", "http://127.0.0.1:9")
    assert code == 2
    assert report is None or report.batch is None
