"""``turncheck run --engine rasa``: with a server that is there, with one that fails, and started from the project."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import bad_servers
import pytest
from action_servers import free_port
from fake_rasa import FakeRasa, serving
from golden_texts import Golden
from in_process import turncheck
from unmeasured import without_times

from turncheck.evaluations.turns import usual_turns
from turncheck.report.codec import decode

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.report.model import Report

FAKE = Path(__file__).with_name("rasa_program.py")
FILES = {
    "domain.yml": """\
version: "3.1"
intents: [greet, order]
actions: [utter_greet, utter_order]
responses:
  utter_greet: [{text: (utter_greet)}]
  utter_order: [{text: (utter_order)}]
""",
    "config.yml": "recipe: default.v1\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\n"
    "policies:\n- name: RulePolicy\n",
    "data/all.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - greet you
    - greet all
    - greet them
- intent: order
  examples: |
    - order one
    - order two
    - order three
rules:
- rule: greeting
  steps:
  - intent: greet
  - action: utter_greet
- rule: ordering
  steps:
  - intent: order
  - action: utter_order
""",
    "endpoints.yml": """\
action_endpoint:
  url: http://localhost:5055/webhook
tracker_store:
  type: SQL
  db: production
""",
    "tests/test_nlu.yml": """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - greet everybody
    - hello
- intent: order
  examples: |
    - order four
    - order five
""",
    "tests/test_stories.yml": "stories:\n"
    + "".join(
        f"- story: {name}\n  steps:\n  - intent: {intent}\n    user: {intent} {name}\n  - action: {action}\n"
        for name, intent, action in (
            ("first", "greet", "utter_greet"),
            ("second", "order", "utter_order"),
            ("third", "order", "utter_greet"),
        )
    ),
    "tests/e2e_test_cases.yml": "test_cases:\n"
    + "".join(
        f"- test_case: {name}\n  steps:\n  - user: {name} please\n  - utter: utter_{said}\n"
        for name, said in (("greet", "greet"), ("order", "greet"))
    ),
}


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / "bot" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "bot"


Done = subprocess.CompletedProcess[str]


def run(bot: Path, *flags: str, out: str = "out", **environment: str) -> tuple[Done, Report]:
    with patch.dict(os.environ, environment):
        done = turncheck("run", bot, "--engine", "rasa", "--out", bot / out, *flags)
    report = bot / out / "report.json"
    assert report.exists(), (done.returncode, done.stderr)
    return done, decode(report.read_bytes())


def shown(report: Report) -> dict[str, Any]:
    """What was found, evaluation by evaluation."""
    return {
        "nlu": [(entry.text, entry.correct) for entry in report.nlu.predictions] if report.nlu else None,
        "core": [(story.name, story.passed) for story in report.core.stories] if report.core else None,
        "e2e": [(case.name, case.outcome) for case in report.e2e.cases] if report.e2e else None,
    }


EVERYTHING: dict[str, Any] = {
    "nlu": [("greet everybody", True), ("hello", False), ("order four", True), ("order five", True)],
    "core": [("first", True), ("second", True), ("third", False)],
    "e2e": [("greet", "passed"), ("order", "failed")],
}


# --- a server that runs ----------------------------------------------------------------------------------------------


def test_all_three_evaluations_ask_the_server(bot: Path) -> None:
    with serving(FakeRasa(token="secret-token")) as rasa:
        done, report = run(bot, "--rasa-url", rasa.url, "--rasa-token", "secret-token")
        assert done.returncode == 1, done.stderr
        assert shown(report) == EVERYTHING
        assert report.engine is not None
        assert (report.engine.name, report.engine.version, report.engine.model) == ("rasa", "3.6.21", "model.tar.gz")
        written = "".join(path.read_text() for path in (bot / "out").iterdir() if path.is_file())
        assert "secret-token" not in written + done.stdout + done.stderr


@pytest.mark.parametrize(("ci", "code", "status"), [(False, 0, "missing"), (True, 1, "unreachable")])
def test_a_first_run_on_a_branch_fails_only_where_its_base_may_be_had_in_another_way(
    bot: Path, ci: bool, code: int, status: str, golden: Golden
) -> None:
    """On somebody's own machine nothing says what the base does; in CI an earlier run does."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "base"), ("commit", "-qm", "it", "--allow-empty")):
        subprocess.run(["git", *who, *words], cwd=bot, check=True)
    jenkins = {"JENKINS_URL": "https://ci.example/", "CHANGE_ID": "7", "CHANGE_TARGET": "main"} if ci else {}
    with serving(FakeRasa()) as rasa:
        done, _ = run(bot, "--rasa-url", rasa.url, "--base", "HEAD~1", "--fail-on", "gone-tests", **jenkins)
    compared = json.loads((bot / "out/comparison.json").read_text())["baseline"]
    assert (done.returncode, compared["status"]) == (code, status), done.stdout + done.stderr
    base = subprocess.check_output(["git", "rev-parse", "HEAD~1"], cwd=bot, text=True)[:8]
    golden(compared["reason"].replace(base, "BASE"))
    golden((bot / "out/comment.md").read_text().replace(base, "BASE"), only="BASE")


def test_the_result_does_not_depend_on_the_concurrency(bot: Path) -> None:
    reports = []
    with serving(FakeRasa(fault=lambda _path, _body: 0.01)) as rasa:
        for workers in ("1", "4"):
            _, report = run(bot, "--rasa-url", rasa.url, "--workers", workers, out=f"out{workers}")
            report = without_times(report)
            reports.append((report.nlu, report.core, report.e2e))
    assert reports[0] == reports[1]


def test_the_messages_of_cases_are_measured_each_with_a_trace_of_its_own(bot: Path) -> None:
    with serving(FakeRasa(fault=lambda path, _body: 0.2 if path.startswith("/webhooks") else None)) as rasa:
        _, report = run(bot, "--rasa-url", rasa.url)
    turns = list(usual_turns(report))
    assert turns
    assert all(turn.ms is not None and 200 <= turn.ms < 2_000 and turn.ms == turn.first_ms for turn in turns)
    assert len({turn.trace for turn in turns}) == len(turns)
    assert all(turn.tokens_in is None and turn.cost is None for turn in turns)


def test_without_test_sentences_a_server_that_runs_is_not_cross_validated(bot: Path, golden: Golden) -> None:
    (bot / "tests" / "test_nlu.yml").unlink()
    with serving(FakeRasa()) as rasa:
        _, report = run(bot, "--rasa-url", rasa.url)
    (skipped,) = (entry for entry in report.skipped if entry.evaluation == "nlu")
    golden(skipped.reason)
    assert report.stopped is None


# --- failures --------------------------------------------------------------------------------------------------------


def after(calls: int, fault: Any, path: str) -> Callable[[str, Any], Any]:
    """A fault in all calls of a path but the first ones."""
    seen: list[str] = []

    def decide(called: str, _body: Any) -> Any:
        if called.startswith(path):
            seen.append(called)
        return fault if len(seen) > calls else None

    return decide


@pytest.mark.parametrize(
    ("path", "calls", "finished"),
    [
        ("/model/parse", 2, {"nlu": EVERYTHING["nlu"][:2], "core": None, "e2e": None}),
        ("/model/predict", 3, {**EVERYTHING, "core": EVERYTHING["core"][:1], "e2e": None}),
        ("/webhooks", 1, {**EVERYTHING, "e2e": [("greet", "passed"), ("order", "skipped")]}),
    ],
)
def test_what_was_finished_before_a_failure_is_kept(
    bot: Path, path: str, calls: int, finished: Any, golden: Golden
) -> None:
    with serving(FakeRasa(fault=after(calls, "cut", path))) as rasa:
        done, report = run(bot, "--rasa-url", rasa.url, "--workers", "1")
    assert done.returncode == 2
    assert shown(report) == finished
    assert report.stopped is not None
    assert rasa.url in report.stopped
    assert report.stopped in done.stderr
    golden(report.stopped)
    not_run = {entry.evaluation for entry in report.skipped if rasa.url in entry.reason}
    assert not_run == {name for name in ("core", "e2e") if finished[name] is None}
    assert report.validation is not None, "the data are checked all the same"
    assert (
        "Not run: "
        in " ".join((*(report.nlu.remarks if report.nlu else ()), *(report.core.remarks if report.core else ())))
        or report.e2e is not None
    )


@pytest.mark.parametrize(
    ("rasa", "flags", "told"),
    [
        (FakeRasa(token="right"), ("--rasa-token", "wrong"), "User is not authenticated"),
        (FakeRasa(jwt="a.b.c"), ("--rasa-jwt", "a.b.d"), "User is not authenticated"),
        (FakeRasa(model=None), (), "has no model loaded"),
    ],
)
def test_a_server_that_refuses_ends_the_run_with_2(bot: Path, rasa: FakeRasa, flags: Any, told: str) -> None:
    with serving(rasa):
        done, report = run(bot, "--rasa-url", rasa.url, *flags)
    assert done.returncode == 2
    assert told in done.stderr
    assert shown(report) == {"nlu": None, "core": None, "e2e": None}
    assert "failed  completed" in done.stdout


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ((500, "boom"), "500: boom"),
        ((401, "User is not authenticated."), "refuses /webhooks/rest/webhook"),
        ((404, "not found"), "Enable the REST channel in its credentials.yml"),
        ((409, "No agent loaded"), "has no model loaded"),
    ],
)
def test_a_server_that_fails_in_a_conversation_is_no_worse_assistant(bot: Path, fault: Any, told: str) -> None:
    with serving(FakeRasa(fault=after(1, fault, "/webhooks"))) as rasa:
        done, report = run(bot, "--rasa-url", rasa.url, "--workers", "1", "--evaluations", "e2e")
    assert done.returncode == 2
    assert told in done.stderr
    assert shown(report)["e2e"] == [("greet", "passed"), ("order", "skipped")]
    assert report.stopped is not None


@pytest.mark.parametrize("fault", ["cut", "break off", (500, "boom")])
def test_a_case_that_was_cut_off_once_is_begun_anew(bot: Path, fault: Any) -> None:
    faults = [fault]
    rasa = FakeRasa(fault=lambda path, _body: faults.pop() if faults and path.startswith("/webhooks") else None)
    with serving(rasa):
        done, report = run(bot, "--rasa-url", rasa.url, "--evaluations", "e2e")
    assert shown(report)["e2e"] == EVERYTHING["e2e"], done.stderr
    assert report.stopped is None


def test_another_model_in_the_middle_is_told(bot: Path, golden: Golden) -> None:
    rasa = FakeRasa()

    def changes(path: str, _: Any) -> None:
        if path == "/model/parse":
            rasa.model = "newer.tar.gz"

    rasa.fault = changes
    with serving(rasa):
        done, report = run(bot, "--rasa-url", rasa.url)
    assert done.returncode == 2
    golden(done.stderr, only="newer.tar.gz")
    assert shown(report) == {"nlu": EVERYTHING["nlu"], "core": None, "e2e": None}, "nothing is measured after it"


@pytest.mark.parametrize(
    ("words", "path", "written"),
    [
        (("nlu", "--nlu", "tests/test_nlu.yml", "--no-plot"), "/model/parse", "results/intent_report.json"),
        (("core", "--no-plot"), "/model/predict", "results/story_report.json"),
        (("e2e", "-o", "cases.yml"), "/webhooks", "cases.yml"),
    ],
)
def test_a_command_tells_of_another_model_and_keeps_its_files(
    bot: Path, words: tuple[str, ...], path: str, written: str, golden: Golden
) -> None:
    rasa = FakeRasa()

    def changes(called: str, _: Any) -> None:
        if called.startswith(path):
            rasa.model = "newer.tar.gz"

    rasa.fault = changes
    with serving(rasa):
        done = command(bot, "test", *words, "--engine", "rasa", "--rasa-url", rasa.url, "--json", "report.json")
    assert done.returncode == 2
    assert (bot / written).exists()
    stopped = decode((bot / "report.json").read_bytes()).stopped
    assert stopped is not None
    assert stopped in done.stderr
    golden(stopped)


@pytest.mark.parametrize("workers", ["1", "2", "7"])
def test_a_server_that_dies_gives_one_reason_with_any_number_of_workers(bot: Path, workers: str) -> None:
    names = [f"order{number}" for number in range(12)]
    (bot / "tests/e2e_test_cases.yml").write_text(
        "test_cases:\n" + "".join(f"- test_case: {n}\n  steps:\n  - user: {n}\n  - bot: (utter_{n})\n" for n in names)
    )
    rasa = FakeRasa()
    reads: Counter[str] = Counter()

    def dies(path: str, _: Any) -> Any:
        if 3 in reads.values():  # a conversation is read before its start, after it, and after its message: one is done
            return "cut"
        reads.update([path] if path.endswith("/tracker") else [])
        return None

    rasa.fault = dies
    with serving(rasa):
        done, report = run(bot, "--rasa-url", rasa.url, "--evaluations", "e2e", "--workers", workers)
    assert done.returncode == 2
    assert report.e2e is not None
    outcomes = [case.outcome for case in report.e2e.cases]
    assert {"passed", "skipped"} == set(outcomes)
    reason = f"the Rasa server at {rasa.url} answered before, and now refuses the connection or cuts it"
    assert {case.reason for case in report.e2e.cases if case.outcome == "skipped"} == {reason}


def test_a_server_that_is_not_there_ends_the_run_with_2(bot: Path) -> None:
    with serving(FakeRasa()) as gone:
        pass
    done, _ = run(bot, "--rasa-url", gone.url)
    assert done.returncode == 2
    assert "connection refused" in done.stderr


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "needs a server"),
        (("--rasa-url", "http://localhost", "--rasa-command", "rasa"), "needs a server"),
        (("--rasa-url", "localhost:5005"), "is not an address of a Rasa server"),
        (("--rasa-url", "http://localhost/?token=secret"), "(http://localhost/) has a query or a fragment"),
        (("--rasa-url", "http://localhost", "--action-endpoint", "http://a"), "calls its own action server"),
        (("--rasa-url", "http://localhost", "--rasa-token", "a", "--rasa-jwt", "b"), "cannot be combined"),
        (("--rasa-url", "http://localhost", "--model", "m.tar.gz"), "--model goes with --rasa-command"),
        (("--rasa-command", "rasa", "--rasa-token", "a"), "--rasa-token goes with --rasa-url"),
        (("--rasa-command", "rasa 'x"), "No closing quotation"),
        (("--rasa-url", "http://localhost", "--rasa-servers", "2"), "--rasa-servers goes with --rasa-command"),
        (("--engine", "embedded", "--rasa-url", "http://localhost"), "--rasa-url is for the engine 'rasa'"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(bot: Path, flags: tuple[str, ...], told: str) -> None:
    done = turncheck("run", bot, "--engine", "rasa", *flags, cwd=bot)
    assert done.returncode == 2
    assert told in done.stderr


# --- Rasa started from the project -----------------------------------------------------------------------------------


COMMAND = f"{shlex.quote(sys.executable)} {shlex.quote(str(FAKE))}"


def calls(bot: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (bot / "calls.jsonl").read_text().splitlines()]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_rasa_is_trained_started_and_stopped(bot: Path, golden: Golden) -> None:
    done, report = run(bot, "--rasa-command", COMMAND, CALLS=str(bot / "calls.jsonl"), INPUT_SECRET="s", MY_TOKEN="t")
    assert done.returncode == 1, done.stderr
    assert shown(report) == EVERYTHING
    trained, served = calls(bot)
    golden(done.stderr, only="Training")
    assert trained["arguments"][:2] == ["train", "--config"]
    assert served["arguments"][:4] == ["run", "--enable-api", "--interface", "127.0.0.1"]
    assert not {"INPUT_SECRET", "MY_TOKEN"} & set(served["environment"])
    assert not is_alive(served["pid"])
    assert {path.name for path in bot.iterdir()} == {*(name.split("/")[0] for name in FILES), "out", "calls.jsonl"}


@pytest.mark.parametrize("fault", ["", "one"])
def test_several_servers_are_started_with_one_model_and_one_that_dies_loses_nothing(bot: Path, fault: str) -> None:
    flags = ("--rasa-command", COMMAND, "--rasa-servers", "3")
    done, report = run(bot, *flags, CALLS=str(bot / "calls.jsonl"), FAULT=fault)

    assert done.returncode == 1, done.stderr
    assert shown(report) == EVERYTHING
    words = [call["arguments"] for call in calls(bot)]
    assert [of[0] for of in words] == ["train", "run", "run", "run"]
    assert len({of[of.index("--port") + 1] for of in words[1:]}) == 3
    assert len({of[of.index("--model") + 1] for of in words[1:]}) == 1
    assert not any(is_alive(call["pid"]) for call in calls(bot))
    assert ("is gone: the others take over" in done.stderr) == bool(fault)


def test_folds_are_loaded_by_all_servers(bot: Path) -> None:
    (bot / "tests" / "test_nlu.yml").unlink()
    one = run(bot, "--rasa-command", COMMAND, "--folds", "2", out="one", CALLS=str(bot / "a"))[1]

    several = run(bot, "--rasa-command", COMMAND, "--folds", "2", "--rasa-servers", "2", CALLS=str(bot / "b"))[1]

    assert one.nlu is not None
    assert several.nlu == one.nlu
    assert shown(several) == shown(one)


def test_a_model_that_is_named_is_not_trained_again(bot: Path) -> None:
    (bot / "mine.tar.gz").write_text("")
    flags = ("--rasa-command", COMMAND, "--model", str(bot / "mine.tar.gz"))
    done, report = run(bot, *flags, CALLS=str(bot / "calls.jsonl"))
    assert [call["arguments"][0] for call in calls(bot)] == ["run"]
    assert "Training" not in done.stderr
    assert report.engine is not None
    assert str(report.engine.model).endswith("mine.tar.gz")


def test_cross_validation_trains_once_a_fold_and_says_so_beforehand(bot: Path, golden: Golden) -> None:
    (bot / "tests" / "test_nlu.yml").unlink()
    flags = ("--rasa-command", COMMAND, "--folds", "3")
    done, report = run(bot, *flags, CALLS=str(bot / "calls.jsonl"))
    golden(re.sub(r"\b(a|\d+) (minute|second)s?\b", "SO LONG", done.stderr), only="3 models")
    words = [call["arguments"][:2] for call in calls(bot)]
    assert words == [["train", "--config"], ["run", "--enable-api"], *[["train", "nlu"]] * 3]
    assert report.nlu is not None
    assert (report.nlu.mode, report.nlu.examples) == ("cross-validation", 6)
    assert report.e2e is not None, "the whole project's model is loaded again"
    assert report.engine is not None
    assert str(report.engine.model).endswith("model.tar.gz")


def test_cross_validation_alone_trains_nothing_but_the_folds(bot: Path, golden: Golden) -> None:
    words = ("test", "nlu", "--cross-validation", "--folds", "2", "--no-plot", "--nlu", "data")
    flags = ("--engine", "rasa", "--rasa-command", COMMAND)
    done = command(bot, *words, *flags, CALLS=str(bot / "calls.jsonl"))
    assert done.returncode == 0, done.stderr
    assert [call["arguments"][0] for call in calls(bot)].count("train") == 2
    golden(done.stderr, only="2 models")
    assert re.search(r"1 of 2 folds done: about (a second|\d+ seconds) left", done.stderr)


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("training", ("Rasa's training ended with exit code 1", "InvalidRule: the rules contradict each other")),
        ("start", ("the Rasa server ended with exit code 3", "a port is taken")),
        ("late", ("the Rasa server ended with exit code 7", "LAST WORDS")),
    ],
)
def test_a_rasa_that_dies_shows_the_end_of_its_log(bot: Path, fault: str, told: tuple[str, ...]) -> None:
    done, report = run(bot, "--rasa-command", COMMAND, CALLS=str(bot / "calls.jsonl"), FAULT=fault)
    assert done.returncode == 2
    assert all(text in done.stderr for text in told)
    assert report.stopped is not None


def test_a_command_that_does_not_exist_is_named(bot: Path) -> None:
    done, _ = run(bot, "--rasa-command", "no-such-rasa --quiet")
    assert done.returncode == 2
    assert "Rasa's training's command 'no-such-rasa --quiet train" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_no_server_behind_and_says_what_it_is(bot: Path, number: signal.Signals) -> None:
    (bot / "tests" / "test_nlu.yml").unlink()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "turncheck", "run", str(bot), "--engine", "rasa", "--rasa-command", COMMAND),
            *("--out", str(bot / "out"), "--folds", "3"),
        ],
        env={**os.environ, "CALLS": str(bot / "calls.jsonl")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 60
    while time.monotonic() < end and not ((bot / "calls.jsonl").exists() and len(calls(bot)) >= 3):
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(30) == 130
    assert [call["pid"] for call in calls(bot) if is_alive(call["pid"])] == []
    report = decode((bot / "out" / "report.json").read_bytes())
    assert report.stopped == "interrupted"


def test_stores_of_conversations_are_left_out_and_foreign_hosts_in_the_action(bot: Path, golden: Golden) -> None:
    from turncheck.engines.rasa_server.engines import opened
    from turncheck.engines.rasa_server.process import RasaProcess  # for this one test
    from turncheck.project.reader import read_project
    from turncheck.settings.options import Settings

    settings = Settings(project=str(bot), engine="rasa", rasa_command="rasa")
    with opened(settings, read_project(bot), {}, ()) as engines:
        assert not engines.notes
        assert isinstance(engines.server, RasaProcess)
        assert engines.stub_server is not None
        assert engines.stub_server.behind is not None
        assert engines.stub_server.behind.endpoint.url == "http://localhost:5055/webhook"
        assert engines.server.files.endpoints == {"action_endpoint": {"url": engines.stub_server.url}}
    (bot / "endpoints.yml").write_text("action_endpoint:\n  url: http://evil.example/webhook\n")
    with opened(settings, read_project(bot), {}, ("good.example",)) as engines:
        assert isinstance(engines.server, RasaProcess)
        assert engines.stub_server is not None
        assert engines.stub_server.behind is None
        assert engines.server.files.endpoints == {"action_endpoint": {"url": engines.stub_server.url}}
        golden(*engines.notes)


GROUPS = (
    "model_groups:\n- id: commands\n  models:\n"
    "  - {{provider: self-hosted, model: x, api_key: '${{MODEL_KEY}}', api_base: 'http://{host}:8000'}}\n"
)


def test_a_rasa_with_flows_gets_its_models_from_allowed_hosts_and_their_keys_by_name(bot: Path) -> None:
    from turncheck.engines.rasa_server.engines import opened
    from turncheck.engines.rasa_server.process import RasaProcess  # for this one test
    from turncheck.messages.errors import UserError
    from turncheck.process.environment import FileVariables
    from turncheck.project.reader import read_project
    from turncheck.settings.options import Settings

    settings = Settings(project=str(bot), engine="rasa", rasa_command="rasa")
    (bot / "endpoints.yml").write_text(GROUPS.format(host="localhost"))
    project = read_project(bot)
    with opened(settings, project, {}, (), variables=FileVariables({"MODEL_KEY": "secret"})) as engines:
        assert not engines.notes
        assert isinstance(engines.server, RasaProcess)
        groups = (engines.server.files.endpoints or {})["model_groups"]
        assert [group["id"] for group in groups] == ["commands"]
        assert groups[0]["models"][0]["api_key"] == "${MODEL_KEY}"
    with pytest.raises(UserError, match="MODEL_KEY"), opened(settings, project, {}, (), variables=FileVariables()):
        pass
    (bot / "endpoints.yml").write_text(GROUPS.format(host="evil.example"))
    with opened(settings, read_project(bot), {}, (), variables=FileVariables({"MODEL_KEY": "secret"})) as engines:
        assert isinstance(engines.server, RasaProcess)
        assert "model_groups" not in (engines.server.files.endpoints or {})
        assert [note.split(":")[0] for note in engines.notes] == ["model_groups of endpoints.yml was left out"]


# --- custom actions of a Rasa that is started here -------------------------------------------------------------------


def run_with_actions(bot: Path, *flags: str) -> Report:
    steps = "steps: [{user: act action_x}, {utter: utter_act}]"
    wrong = "{test_case: wrong, steps: [{user: act action_x}, {utter: utter_greet}]}"
    none = "{test_case: none, steps: [{user: greet}, {utter: utter_greet}]}"
    names = "".join(f"- {{test_case: {name}, {steps}}}\n" for name in ("one", "two"))
    (bot / "tests/e2e_test_cases.yml").write_text(f"test_cases:\n- {none}\n{names}- {wrong}\n")
    with (bot / "domain.yml").open("a") as domain:
        domain.write("  utter_act: [{text: (utter_act)}]\n")
    calls = str(bot / "calls.jsonl")
    _, report = run(bot, "--rasa-command", COMMAND, "--evaluations", "e2e", *flags, CALLS=calls)
    assert report.e2e is not None, report.skipped
    return report


def test_an_action_that_fails_is_told_and_fails_no_case(bot: Path) -> None:
    answer = (500, {"Content-Type": "application/json"}, b'{"error": "out of order"}')
    with bad_servers.answering({"/webhook": answer}) as url:
        report = run_with_actions(bot, "--action-endpoint", url)
    told = "'action_x' failed, the action server answered with status 500: out of order"
    assert report.e2e is not None
    found = [(case.outcome, case.reason, case.actions) for case in report.e2e.cases]
    with_action = (told, {"action_x": "real"})
    assert found == [("passed", None, {}), *[("passed", *with_action)] * 2, ("failed", *with_action)]


@pytest.mark.parametrize("workers", ["1", "4"])
def test_an_action_server_that_dies_is_an_error_of_all_cases_that_need_it(bot: Path, workers: str) -> None:
    port = free_port()
    server = shlex.join([sys.executable, bad_servers.__file__, str(port), "dies"])
    url = f"http://127.0.0.1:{port}/webhook"
    report = run_with_actions(bot, "--action-endpoint", url, "--action-server", server, "--workers", workers)
    assert report.e2e is not None
    assert [case.outcome for case in report.e2e.cases] == ["passed", "error", "error", "error"]
    assert all("went away while it ran" in str(c.reason) or "is gone" in str(c.reason) for c in report.e2e.cases[1:])


# --- the commands beside `run` ---------------------------------------------------------------------------------------


def command(bot: Path, *words: str, **environment: str) -> Done:
    with patch.dict(os.environ, environment):
        return turncheck(*words, cwd=bot)


def test_the_commands_ask_a_server_too(bot: Path) -> None:
    with serving(FakeRasa()) as rasa:
        flags = ("--engine", "rasa", "--rasa-url", rasa.url, "--json", "report.json")
        nlu = command(bot, "test", "nlu", "--nlu", "tests/test_nlu.yml", "--no-plot", *flags)
        assert nlu.returncode == 0, nlu.stderr
        reports = [decode((bot / "report.json").read_bytes())]
        core = command(bot, "test", "core", "--e2e", "--no-plot", *flags)
        assert core.returncode == 0, core.stderr
        reports.append(decode((bot / "report.json").read_bytes()))
        e2e = command(bot, "test", "e2e", *flags)
        assert e2e.returncode == 1, e2e.stderr
        reports.append(decode((bot / "report.json").read_bytes()))
    found = [shown(report) for report in reports]
    assert [found[0]["nlu"], found[1]["core"], found[2]["e2e"]] == list(EVERYTHING.values())
    assert {report.engine.name for report in reports if report.engine} == {"rasa"}


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (("nlu", "--nlu", "tests/test_nlu.yml", "--no-plot"), "/model/parse"),
        (("core", "--no-plot"), "/model/predict"),
        (("e2e",), "/webhooks"),
    ],
)
def test_a_command_keeps_what_was_finished_and_ends_with_2(
    bot: Path, words: tuple[str, ...], path: str, golden: Golden
) -> None:
    with serving(FakeRasa(fault=after(2 if path != "/webhooks" else 1, "cut", path))) as rasa:
        one_at_a_time = () if "core" in words else ("--workers", "1")
        flags = ("--engine", "rasa", "--rasa-url", rasa.url, "--json", "report.json", *one_at_a_time)
        done = command(bot, "test", *words, *flags)
    assert done.returncode == 2
    golden(done.stderr, only=rasa.url)
    if "core" not in words:
        report = decode((bot / "report.json").read_bytes())
        assert report.stopped is not None
        assert any(shown(report).values())


def test_flags_of_rasa_need_its_engine(bot: Path, golden: Golden) -> None:
    done = command(bot, "test", "nlu", "--rasa-url", "http://localhost:5005")
    assert done.returncode == 2
    golden(done.stderr)
