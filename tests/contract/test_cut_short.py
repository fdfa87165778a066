"""What is kept where a server gives up or somebody interrupts: the same for all commands that measure."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from fake_rasa import FakeRasa, serving
from golden_texts import Golden
from test_rasa_run import EVERYTHING, FILES, command, shown
from timing import Timing

from turncheck.report.codec import decode

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.report.model import Report

NOTHING: dict[str, Any] = {"nlu": None, "core": None, "e2e": None}
NLU = ("test", "nlu", "--nlu", "tests/test_nlu.yml", "--no-plot")
CORE = ("test", "core", "--no-plot")
E2E = ("test", "e2e", "-o", "results.yml")
BOTH = ("test", "--nlu", "tests/test_nlu.yml", "--no-plot")


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / "bot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "bot"


def written(bot: Path) -> Report:
    return decode((bot / "report.json").read_bytes())


def of_server(url: str) -> tuple[str, ...]:
    return ("--engine", "rasa", "--rasa-url", url, "--json", "report.json")


# --- a server that gives up ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "skipped"), [(NLU, {"nlu"}), (CORE, {"core"}), (E2E, set()), (BOTH, {"core", "nlu"})]
)
@pytest.mark.parametrize("is_there", [True, False])
def test_a_report_is_written_though_nothing_was_finished(
    bot: Path, words: tuple[str, ...], skipped: set[str], golden: Golden, *, is_there: bool
) -> None:
    (bot / "report.json").write_text("of an earlier run")
    fault = (500, "kaputt")
    with serving(FakeRasa(fault=lambda path, _: None if path in {"/version", "/status"} else fault)) as rasa:
        done = command(bot, *words, *of_server(rasa.url if is_there else "http://127.0.0.1:9"))
    told = "500: kaputt" if is_there else "cannot be reached"
    assert done.returncode == 2
    assert told in done.stderr
    report = written(bot)
    assert told in (report.stopped or "")
    assert {entry.evaluation for entry in report.skipped if told in entry.reason} == skipped
    golden(done.stdout, only="server")
    assert [case.outcome for case in report.e2e.cases] == ["skipped"] * 2 if report.e2e else words != E2E


def test_bare_test_keeps_the_stories_where_the_sentences_cannot_be_judged(bot: Path) -> None:
    def fault(path: str, body: Any) -> Any:
        return (500, "kaputt") if path == "/model/parse" and body["text"] in {"hello", "order five"} else None

    with serving(FakeRasa(fault=fault)) as rasa:
        done = command(bot, *BOTH, "--workers", "1", *of_server(rasa.url))
    assert done.returncode == 2
    assert "Stories passed  2/3" in done.stdout
    assert "Not run: 3 of 4 sentences" in done.stdout
    report = written(bot)
    assert shown(report) == {**NOTHING, "core": EVERYTHING["core"], "nlu": EVERYTHING["nlu"][:1]}
    assert "500: kaputt" in (report.stopped or "")


def test_bare_test_says_that_the_sentences_were_not_judged_where_the_stories_were_cut_short(
    bot: Path, golden: Golden
) -> None:
    def fault(path: str, body: Any) -> Any:
        return (500, "kaputt") if path == "/model/predict" and "third" in json.dumps(body) else None

    with serving(FakeRasa(fault=fault)) as rasa:
        done = command(bot, *BOTH, "--workers", "1", *of_server(rasa.url))
    assert done.returncode == 2
    assert "Not run: 1 of 3 stories" in done.stdout
    golden(done.stdout, only="/model/predict")
    report = written(bot)
    assert shown(report) == {**NOTHING, "core": EVERYTHING["core"][:2]}
    assert [entry.evaluation for entry in report.skipped] == ["nlu"]


def test_sentences_of_stories_that_were_read_are_no_stories(bot: Path) -> None:
    def fault(path: str, body: Any) -> Any:
        return (500, "kaputt") if path == "/model/parse" and "third" in body["text"] else None

    with serving(FakeRasa(fault=fault)) as rasa:
        done = command(bot, *CORE, "--e2e", *of_server(rasa.url))
    assert done.returncode == 2
    assert "500: kaputt" in done.stderr
    assert [(entry.evaluation, shown(written(bot))) for entry in written(bot).skipped] == [("core", NOTHING)]


def test_a_server_that_refuses_to_say_its_model_in_the_end_takes_nothing_away(bot: Path) -> None:
    asked: list[str] = []

    def fault(path: str, _body: Any) -> Any:
        asked.extend([path] if path == "/model/parse" else [])
        return (403, "no more") if path == "/status" and asked else None

    with serving(FakeRasa(fault=fault)) as rasa:
        done = command(bot, *NLU, *of_server(rasa.url))
    assert done.returncode == 2
    assert "refuses /status: no more" in done.stderr
    assert shown(written(bot)) == {**NOTHING, "nlu": EVERYTHING["nlu"]}


def test_bare_test_writes_one_report_of_both(bot: Path) -> None:
    with serving(FakeRasa()) as rasa:
        done = command(bot, *BOTH, *of_server(rasa.url))
    assert done.returncode == 0, done.stderr
    assert shown(written(bot)) == {**EVERYTHING, "e2e": None}
    assert written(bot).stopped is None


# --- an interrupt ----------------------------------------------------------------------------------------------------


def interrupted(
    bot: Path, words: tuple[str, ...], number: signal.Signals, timing: Timing, *, after: int, of: str
) -> tuple[str, str]:
    """Interrupt a command while the server holds the call about ``of`` back, and return what it printed.

    A runner kills what has not ended ten seconds after it was asked to.
    """
    held: list[str] = []

    def fault(path: str, body: Any) -> Any:
        if path in {"/version", "/status"} or of not in json.dumps(body):
            return None
        held.append(path)
        return 60.0 if len(held) > after else None

    with serving(FakeRasa(fault=fault)) as rasa:
        process = subprocess.Popen(
            [sys.executable, "-m", "turncheck", *words, *of_server(rasa.url)],
            cwd=bot,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        end = time.monotonic() + 60
        while time.monotonic() < end and len(held) <= after:
            time.sleep(0.02)
        time.sleep(0.5)  # the other calls are answered meanwhile
        with timing.at_most(5, time.monotonic):
            process.send_signal(number)
            output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    return output, errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("words", "of", "finished", "told"),
    [
        (NLU, "order five", {**NOTHING, "nlu": EVERYTHING["nlu"][:3]}, "Not run: 1 of 4 sentences"),
        (CORE, "third", {**NOTHING, "core": EVERYTHING["core"][:2]}, "Not run: 1 of 3 stories"),
        (
            E2E,
            "order please",
            {**NOTHING, "e2e": [("greet", "passed"), ("order", "skipped")]},
            "skipped: interrupted",
        ),
        (BOTH, "third", NOTHING, "core and nlu: interrupted"),
        (BOTH, "hello", {**EVERYTHING, "nlu": None, "e2e": None}, "Not run: 1 of 4 sentences"),
        (("run",), "third", {**NOTHING, "nlu": EVERYTHING["nlu"]}, "Not run: validate, core and e2e: "),
    ],
)
def test_interrupted_a_command_ends_at_once_with_what_was_finished(
    bot: Path,
    words: tuple[str, ...],
    of: str,
    finished: dict[str, Any],
    told: str,
    *,
    number: signal.Signals,
    timing: Timing,
) -> None:
    output, errors = interrupted(bot, words, number, timing, after=0, of=of)
    report = written(bot)
    if of == "hello":
        finished = {**finished, "nlu": [entry for entry in EVERYTHING["nlu"] if entry[0] != "hello"]}
    assert shown(report) == finished
    assert report.stopped == "interrupted"
    assert told in output
    assert errors.endswith("turncheck: interrupted\n")


def test_interrupted_one_worker_is_not_waited_for_either(bot: Path, timing: Timing) -> None:
    interrupted(bot, (*E2E, "--workers", "1", "--repeat", "1000"), signal.SIGINT, timing, after=20, of="greet please")
    report = written(bot)
    assert shown(report) == {**NOTHING, "e2e": [("greet", "skipped"), ("order", "skipped")]}
    assert (bot / "results.yml").exists()


def test_interrupted_between_its_repetitions_a_case_is_not_run_to_its_end(bot: Path, timing: Timing) -> None:
    begin = time.monotonic()
    with serving(FakeRasa()) as rasa:
        process = subprocess.Popen(
            [sys.executable, "-m", "turncheck", *E2E, "--workers", "1", "--repeat", "10000", *of_server(rasa.url)],
            cwd=bot,
            stdout=subprocess.DEVNULL,
        )
        while len(rasa.calls) < 50 and time.monotonic() - begin < 60:
            time.sleep(0.02)
        with timing.at_most(5, time.monotonic):
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
    assert written(bot).stopped == "interrupted"
