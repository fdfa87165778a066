"""What ``${NAME}`` in ``endpoints.yml`` becomes in the action, where whoever opens a pull request writes that file."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from turncheck.action import run_action
from turncheck.cli import run_command_line
from turncheck.engines.rasa_server.engines import opened
from turncheck.messages.errors import UserError
from turncheck.process.environment import FileVariables
from turncheck.project.reader import read_project
from turncheck.settings.options import Settings

BOT = {
    "config.yml": "recipe: default.v1\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\n"
    "policies:\n- name: RulePolicy\n",
    "domain.yml": "version: '3.1'\nintents: [greet, bye]\nactions: [action_ask]\n"
    "responses:\n  utter_hi:\n  - text: Hi\n",
    "data/nlu.yml": "version: '3.1'\nnlu:\n- intent: greet\n  examples: |\n    - hello\n"
    "- intent: bye\n  examples: |\n    - bye\n",
    "data/rules.yml": "version: '3.1'\nrules:\n- rule: a\n  steps:\n  - intent: greet\n  - action: action_ask\n"
    "  - action: utter_hi\n",
    "tests/e2e_test_cases.yml": "test_cases:\n- test_case: a\n  steps:\n  - user: hello\n  - utter: utter_hi\n",
}
SECRET = "s3cret-of-the-job"


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.server.seen.append(dict(self.headers))  # type: ignore[attr-defined]
        self.rfile.read(int(self.headers["Content-Length"]))
        body = b'{"events": [], "responses": []}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.seen = []  # type: ignore[attr-defined]
        threading.Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
        yield listening
        listening.shutdown()


@pytest.fixture
def bot(tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An assistant whose action server gets a variable of the job as a header."""
    for name in ("GITHUB_ACTIONS", "GITHUB_REPOSITORY", "GITLAB_CI", "CI"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "bot"
    for name, content in BOT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    endpoint = {"url": f"http://127.0.0.1:{server.server_port}/webhook", "headers": {"X-Key": "${DEPLOY_PASSWORD}"}}
    (folder / "endpoints.yml").write_text(yaml.safe_dump({"action_endpoint": endpoint}))
    monkeypatch.chdir(tmp_path)
    return folder


def in_the_action(bot: Path, **inputs: str) -> tuple[int, str]:
    said: list[str] = []
    given = {"project": str(bot), "evaluations": "e2e", "baseline": "none", "cache": "false", **inputs}
    environment = {f"INPUT_{name.upper()}": value for name, value in given.items()}
    code = run_action({**environment, "DEPLOY_PASSWORD": SECRET, "PATH": "/usr/bin"}, said.append)
    return code, "".join(said)


def test_a_variable_of_the_job_is_not_handed_to_a_file_of_the_project(bot: Path, server: Any) -> None:
    code, said = in_the_action(bot)

    assert code != 0
    assert server.seen == []
    assert "'${DEPLOY_PASSWORD}' is not expanded: the action's input `env` hands over no variable" in said
    assert SECRET not in said


def test_what_the_workflow_hands_over_is(bot: Path, server: Any) -> None:
    in_the_action(bot, env="DEPLOY_PASSWORD=for-the-test-server")

    assert {seen["X-Key"] for seen in server.seen} == {"for-the-test-server"}


def test_on_the_command_line_files_get_what_the_shell_has(
    bot: Path, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_PASSWORD", SECRET)
    run_command_line(["run", str(bot), "--evaluations", "e2e", "--baseline", "none", "--no-cache", "--quiet"])

    assert {seen["X-Key"] for seen in server.seen} == {SECRET}


@pytest.mark.parametrize(
    ("endpoint", "outcome"),
    [
        ({"url": "http://localhost:1/", "token": "${KEY}"}, {"token": "k"}),
        ({"url": "http://localhost:1/", "headers": {"${KEY}": ["${KEY}"]}}, {"headers": {"k": ["k"]}}),
        ({"url": "http://localhost:1/", "token": "${DEPLOY_PASSWORD}"}, "hands over no variable"),
        ({"url": "http://localhost:1/", "headers": {"${DEPLOY_PASSWORD}": "x"}}, "hands over no variable"),
        ({"url": "http://localhost:1/", "token": "$${NOTHING}{DEPLOY_PASSWORD}"}, "a second time"),
        ({"url": "http://${DEPLOY_PASSWORD}/"}, "hands over no variable"),
    ],
)
@pytest.mark.parametrize("name", ["action_endpoint", "nlg"])
def test_rasa_gets_no_more_than_was_handed_over(name: str, endpoint: dict[str, Any], outcome: Any, bot: Path) -> None:
    """It would expand the rest itself, from the environment that it runs in."""
    (bot / "endpoints.yml").write_text(yaml.safe_dump({name: endpoint}))
    settings = Settings(project=str(bot), engine="rasa", rasa_command="rasa")
    variables = FileVariables({"KEY": "k", "NOTHING": ""})
    given = opened(settings, read_project(bot), {"DEPLOY_PASSWORD": SECRET}, (), variables=variables)
    if isinstance(outcome, str):
        with pytest.raises(UserError, match=outcome), given:
            pass
        return
    with given as engines:
        written: Any = engines.server.files.endpoints  # type: ignore[union-attr]
        assert {key: written[name][key] for key in outcome} == outcome


HELD = "the-value-held-by-the-team"
CONFIG = (
    "recipe: default.v1\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\n"
    "  misspelt_parameter: at ${HELD} and ${HELD}\npolicies:\n- name: RulePolicy\n"
)
SLOTS = "slots:\n  who:\n    type: text\n    initial_value: ${HELD}\n    mappings:\n    - type: custom\n"
CASE = "test_cases:\n- test_case: a\n  steps:\n  - user: hello\n  - slot_was_set:\n    - who: somebody\n"


def outputs(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return "\n".join(path.read_bytes().decode("latin-1") for path in files)


def uses_variables(bot: Path) -> None:
    (bot / "endpoints.yml").unlink()
    (bot / "config.yml").write_text(CONFIG)
    (bot / "domain.yml").write_text(BOT["domain.yml"] + SLOTS)
    (bot / "tests/e2e_test_cases.yml").write_text(CASE)


def test_configuration_and_domain_get_only_what_the_workflow_hands_over(
    bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses_variables(bot)
    monkeypatch.setenv("HELD", HELD)  # of the job: in the process as well as in what the action is told

    code, said = in_the_action(bot, evaluations="validate,e2e", out="none")
    assert code == 1
    assert "Set it for the run with `--env NAME=VALUE`" in outputs(Path("none"))
    assert HELD not in said + outputs(Path("none"))

    in_the_action(bot, evaluations="validate,e2e", out="given", env=f"HELD={HELD}")
    written = outputs(Path("given"))
    assert "value-unreadable" not in (Path("given") / "report.json").read_text()
    assert HELD not in written
    assert "***" in (Path("given") / "report.json").read_text()  # the slot, as it is instead of what the case expects


def test_a_command_for_one_kind_of_tests_hides_it_as_a_run_does(
    bot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    uses_variables(bot)
    (bot / "tests/e2e_test_cases.yml").write_text(CASE.replace("hello", "bye"))  # which needs no action server
    monkeypatch.setenv("HELD", HELD)
    assert run_command_line(["test", "e2e", "--project", str(bot), "--no-cache", "--json", "own.json"]) == 1
    printed, report = capsys.readouterr(), Path("own.json").read_text(encoding="utf-8")
    assert HELD not in printed.out + printed.err + report
    assert "***" in report


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "INPUT_TOKEN", "ACTIONS_RUNTIME_TOKEN"])
def test_no_configuration_gets_what_is_private(name: str, bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uses_variables(bot)
    (bot / "config.yml").write_text(CONFIG.replace("HELD", name))
    monkeypatch.setenv(name, HELD)
    monkeypatch.setenv("HELD", HELD)
    assert run_command_line(["run", str(bot), "--baseline", "none", "--no-cache", "--quiet", "--out", "own"]) == 1
    assert f"'at ${{{name}}} and ${{{name}}}'" in (Path("own") / "report.json").read_text()
    assert HELD not in outputs(Path("own"))


def _committed(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, check=True)


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("config.yml", "language: en\n", "language: en\nown_key: at ${HELD}/${HELD}\n"),
        (
            "domain.yml",
            SLOTS,
            SLOTS + "  more:\n    type: any\n    initial_value: [x]\n    mappings: [{type: custom}]\n",
        ),
        ("domain.yml", "  - text: Hi\n", "  - text: Hello\n    custom:\n      key: ${HELD}\n"),
    ],
)
@pytest.mark.parametrize("is_given", [True, False])
def test_base_and_change_get_the_same_values(  # noqa: PLR0917 - an edit, and whether there is a value
    is_given: bool, where: str, old: str, new: str, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    uses_variables(bot)
    _committed(bot, "init", "-q")
    _committed(bot, "add", "-A")
    _committed(bot, "commit", "-q", "-m", "base")
    _committed(bot, "checkout", "-q", "-b", "change")
    (bot / where).write_text((bot / where).read_text().replace(old, new))
    _committed(bot, "commit", "-q", "-a", "-m", "change")
    monkeypatch.chdir(bot)
    given = ["--env", f"HELD={HELD}"] if is_given else []
    flags = ["--evaluations", "validate", "--base", "main", "--fail-on", "new-errors", "--no-cache", "--quiet"]
    code = run_command_line(["run", *flags, *given])
    baseline, report = Path("results/baseline.json").read_text(), Path("results/report.json").read_text()
    assert ("value-unreadable" not in baseline, "value-unreadable" not in report) == (is_given, is_given)
    assert code == 0 if is_given else "is not set" in report
    assert HELD not in outputs(Path("results"))
