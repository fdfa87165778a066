"""The example of a bot over HTTP, started, judged and stopped by its one command."""

from __future__ import annotations

import http.client
import json
import os
import pty
import re
import runpy
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parents[2] / "examples"
RUN = EXAMPLES / "concierge" / "run.py"


@pytest.mark.slow
@pytest.mark.parametrize(("flags", "code"), [(("--seed", "3"), 0), (("--fails", "1"), 1)])
def test_it_is_judged_by_one_command(flags: tuple[str, ...], code: int, tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), *flags, "--out", str(tmp_path / "out"), "--baseline", "none", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["engine"]["name"] == "http"
    assert report["project"]["kind"] == "http"
    assert report["validation"]["findings"] == []
    outcomes = {case["name"]: case["outcome"] for case in report["e2e"]["cases"]}
    of_botium = [f"breakfast/UTT_BREAKFAST-L{number}" for number in (1, 2, 3)] + ["a table.couple", "a table.family"]
    assert {outcomes[name] for name in of_botium} == {"passed" if code == 0 else "failed"}
    assert len(outcomes) == len(of_botium) + 4
    assert report["nlu"]["intents"]["accuracy"] == (1.0 if code == 0 else 0.0)


@pytest.mark.slow
def test_a_seed_gives_each_test_its_results_whatever_runs_beside_it(tmp_path: Path) -> None:
    flags = ("--seed", "7", "--fails", "0.2", "--evaluations", "nlu", "e2e", "--baseline", "none", "--quiet")
    results = []
    for at_once in ("1", "32"):
        out = tmp_path / at_once
        command = [sys.executable, str(RUN), *flags, "--bot-parallel", at_once, "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        report = json.loads((out / "report.json").read_text())
        tests = [*report["e2e"]["cases"], *report["nlu"]["predictions"]]
        results.append([(test["repeats"]["outcome"], *sorted(test["repeats"]["runs"].upper())) for test in tests])
    assert results[0] == results[1]
    assert len({*results[0]}) > 4, "they vary"


def what_is_shown(terminal: int) -> Iterator[str]:
    """Yield what programs write to a terminal, until the last of them has ended."""
    with suppress(OSError):  # as Linux says that nobody has it open any more
        while part := os.read(terminal, 1 << 16):
            yield part.decode(errors="replace")


@pytest.mark.slow
def test_what_was_measured_is_kept_if_it_is_interrupted(tmp_path: Path) -> None:
    command = [sys.executable, str(RUN), "--repeats", "first: 20, turns: 100000", "--out", str(tmp_path / "out")]
    terminal, stderr = pty.openpty()  # where progress is said after each case, not every ten seconds
    with subprocess.Popen(command, stderr=stderr, start_new_session=True) as process:
        os.close(stderr)
        said, is_interrupted = "", False
        for part in what_is_shown(terminal):
            said += part
            if " left" in said and not is_interrupted:
                os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does: everything that was started gets it
                is_interrupted = True
    os.close(terminal)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert (tmp_path / "out" / "report.json").exists()


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8001", (http.client.HTTPConnection, "127.0.0.1", 8001, "/v1/chat/completions")),
        ("https://model.example/v1/", (http.client.HTTPSConnection, "model.example", 443, "/v1/chat/completions")),
        (
            "https://gate.example:8443/a/v2",
            (http.client.HTTPSConnection, "gate.example", 8443, "/a/v2/chat/completions"),
        ),
    ],
)
def test_the_bot_asks_the_model_where_it_is(
    url: str, expected: tuple[object, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    class AskedError(Exception):
        pass

    def request(connection: http.client.HTTPConnection, _method: str, path: str, *_: object) -> None:
        raise AskedError(type(connection), connection.host, connection.port, path)

    monkeypatch.setattr(http.client.HTTPConnection, "request", request)
    monkeypatch.setenv("MODEL_URL", url)
    bot = runpy.run_path(str(RUN.with_name("bot.py")))
    with pytest.raises(AskedError) as asked:
        bot["ask"]([])
    assert asked.value.args == expected


def test_the_workflow_keeps_the_two_sides_apart() -> None:
    """Neither bot can end the other, answer in its place, or read a token; each has a model of its own.

    Else a change of the model would be one of both sides, and excused.
    """
    workflow = yaml.safe_load((EXAMPLES / "workflows" / "http.yml").read_text("utf-8"))
    (starts,) = (step["run"] for step in workflow["jobs"]["turncheck"]["steps"] if step.get("id") == "bots")
    sides = dict(re.findall(r"^ *start (\w+) \"(\S+)\" \d+", starts, re.MULTILINE))
    assert sides == {"change": "$GITHUB_WORKSPACE", "base": "$RUNNER_TEMP/base"}
    for flag in (
        '--network "$1"',
        "--user 65534:65534",
        '--volume "$2:/checkout:ro"',
        "--cap-drop ALL",
        "no-new-privileges",
    ):
        assert flag in starts
    assert "model.py 8001 &" in starts
    assert "token" not in yaml.safe_dump(workflow["jobs"]["turncheck"])
