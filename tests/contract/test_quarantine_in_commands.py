"""The quarantine on the whole program: ``turncheck run``, ``turncheck test`` and pytest, each as somebody starts it."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from printed import passed_tests

from turncheck import pytest_plugin
from turncheck.cli import run_command_line

if TYPE_CHECKING:
    from pathlib import Path

_AS_SOMEBODY = ("-c", "user.name=ana", "-c", "user.email=ana@example.org")
_HOSTS = ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "BITBUCKET_BUILD_NUMBER", "CI")
FILES = {
    "config.yml": "pipeline:\n- name: WhitespaceTokenizer\n- name: KeywordIntentClassifier\n"
    "policies:\n- name: RulePolicy\n",
    "domain.yml": "intents: [greet, order]\nresponses:\n  utter_hi:\n  - text: hi\n  utter_no:\n  - text: no\n",
    "data/nlu.yml": 'nlu:\n- {intent: greet, examples: "- hello\\n- hi"}\n- {intent: order, examples: "- pizza"}\n',
    "data/rules.yml": "rules:\n- rule: hi\n  steps:\n  - intent: greet\n  - action: utter_hi\n"
    "- rule: no\n  steps:\n  - intent: order\n  - action: utter_no\n",
    "tests/test_stories.yml": "stories:\n"
    "- story: right\n  steps:\n  - user: hello\n    intent: greet\n  - action: utter_hi\n"
    "- story: wrong\n  steps:\n  - user: a pizza\n    intent: order\n  - action: utter_hi\n",
    "tests/test_nlu.yml": 'nlu:\n- {intent: greet, examples: "- hello you"}\n- {intent: order, examples: "- what"}\n',
    "tests/e2e_test_cases.yml": "test_cases:\n"
    "- test_case: greets\n  steps:\n  - user: hello\n  - utter: utter_hi\n"
    "- test_case: sells\n  steps:\n  - user: a pizza\n  - utter: utter_hi\n",
}


@pytest.fixture(autouse=True)
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in _HOSTS:
        monkeypatch.delenv(name, raising=False)
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def quarantine(bot: Path, *cases: str, expect: str = "failing", days: int = 30) -> None:
    until = datetime.now(UTC).date() + timedelta(days=days)
    entry = "- case: {}\n  because: slow bank\n  owner: ana\n  until: {}\n  expect: {}\n"
    (bot / "turncheck.quarantine.yml").write_text("".join(entry.format(case, until, expect) for case in cases))


# --- `turncheck test` ------------------------------------------------------------------------------------------------


def test_a_case_in_quarantine_fails_no_test_run(bot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["test", "e2e"]) == 1
    quarantine(bot, "sells", "wrong", "what")
    capsys.readouterr()
    assert run_command_line(["test", "e2e", "--json", "report.json"]) == 0
    said = capsys.readouterr().out
    assert passed_tests(said) == {"End-to-end cases": "1/2"}
    assert "Failing tests" not in said
    assert "end-to-end case sells, in quarantine" in said
    kept = json.loads((bot / "report.json").read_text())["quarantine"]["tests"]
    assert [one["case"] for one in kept] == ["sells", "wrong", "what"]


def test_a_story_in_quarantine_fails_no_test_run(bot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    core = ["test", "core", "--fail-on-prediction-errors"]
    assert run_command_line(core) == 1
    quarantine(bot, "wrong", "what")
    assert run_command_line(core) == 0
    assert "story wrong, in quarantine" in capsys.readouterr().out
    assert run_command_line(["test", "nlu", "--nlu", "tests/test_nlu.yml"]) == 0
    assert "sentence what, in quarantine" in capsys.readouterr().out


def test_an_utterance_in_quarantine_fails_no_test_run(bot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bot / "tests/suite.csv").write_text("input,intent\nhello,greet\na pizza,greet\n")
    batch = ["test", "batch", "tests/suite.csv"]
    assert run_command_line(batch) == 1
    quarantine(bot, "a pizza")
    assert run_command_line(batch) == 0
    assert "batch case 'a pizza', in quarantine" in capsys.readouterr().out
    quarantine(bot, "hello", "a pizza")
    assert run_command_line(batch) == 1


def test_what_must_fail_and_passes_fails_a_test_run(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    quarantine(bot, "sells", "greets", "right")
    assert run_command_line(["test", "e2e"]) == 1
    golden(capsys.readouterr().out, only="greets")
    assert run_command_line(["test", "core", "--fail-on-prediction-errors"]) == 1


@pytest.mark.parametrize("command", ["e2e", "core", "nlu"])
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"cases": ("wrong",), "days": -1}, "turncheck.quarantine.yml:4:10: error: The quarantine of 'wrong' ended"),
        (
            {"cases": ("wrnog",)},
            "turncheck.quarantine.yml:1:3: error: No test is called 'wrnog'. Did you mean 'wrong'?",
        ),
    ],
    ids=["expired", "unknown"],
)
def test_an_entry_that_is_wrong_fails_a_test_run(
    bot: Path, command: str, entry: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (bot / "tests/e2e_test_cases.yml").write_text(FILES["tests/e2e_test_cases.yml"].partition("- test_case: sells")[0])
    quarantine(bot, *entry["cases"], days=entry.get("days", 30))
    assert run_command_line(["test", command]) == 1
    assert words in capsys.readouterr().err


def test_in_a_job_about_a_change_no_entry_counts(
    bot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    quarantine(bot, "sells")
    for name, value in {"GITLAB_CI": "true", "CI_MERGE_REQUEST_IID": "7", "CI_PROJECT_PATH": "a/b"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CI_COMMIT_SHA", "0" * 40)
    assert run_command_line(["test", "e2e"]) == 1
    golden(capsys.readouterr().err, only="turncheck.quarantine.yml")


def test_if_every_case_is_in_quarantine_nothing_was_tested(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    quarantine(bot, "sells")
    assert run_command_line(["test", "e2e", "tests/e2e_test_cases.yml::sells"]) == 2
    golden(capsys.readouterr().err, only="quarantine")


# --- `turncheck run` -------------------------------------------------------------------------------------------------


def run(*flags: str) -> int:
    return run_command_line(["run", "--baseline", "none", "--quiet", "--no-cache", *flags])


def test_if_everything_is_in_quarantine_nothing_was_tested(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    quarantine(bot, "right", "wrong", "greets", "sells")
    assert run("--evaluations", "validate,core,e2e", "--fail-on", "none") == 1
    golden(capsys.readouterr().out, only="quarantine")


def test_a_result_that_never_varies_cannot_be_flaky(
    bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    quarantine(bot, "wrong", "sells", expect="flaky")
    assert run("--evaluations", "validate,core,e2e", "--fail-on", "errors") == 1
    said = capsys.readouterr().out
    assert "turncheck.quarantine.yml:1:3" in said
    for name in ("wrong", "sells"):
        golden(said, only=f"'{name}'")
    quarantine(bot, "wrong", "sells", expect="failing")
    assert run("--evaluations", "validate,core,e2e", "--fail-on", "errors,test-failures") == 0


@pytest.mark.parametrize("days", [-100, 100], ids=["ahead", "behind"])
def test_a_clock_that_is_wrong_opens_no_gate(
    days: int, bot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seen from a clock that is ahead, an entry has expired; from one that is behind, it is too far ahead."""
    quarantine(bot, "wrong", "sells", days=0)
    today = datetime.now(UTC) - timedelta(days=days)
    monkeypatch.setattr("turncheck.run.prepare.now", lambda: today.isoformat(timespec="seconds"))
    assert run("--evaluations", "validate,core,e2e", "--fail-on", "errors,test-failures") == 1
    said = capsys.readouterr().out
    assert ("ended on" if days < 0 else f"days ahead of {today.date()}, today; at most 90 may be") in said
    assert "1 of 2 stories and 1 of 2 end-to-end cases failed" in said


def test_a_clock_that_is_before_the_commit_brings_nothing_back(
    bot: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    quarantine(bot, "wrong", "sells", days=-20)
    for words in (("init", "--quiet"), ("add", "."), (*_AS_SOMEBODY, "commit", "--quiet", "--message", "today")):
        subprocess.run(["git", *words], cwd=bot, check=True)
    before = datetime.now(UTC) - timedelta(days=60)
    monkeypatch.setattr("turncheck.run.prepare.now", lambda: before.isoformat(timespec="seconds"))
    monkeypatch.setattr("turncheck.run.quarantined._today", before.date)
    assert run("--evaluations", "validate,core,e2e", "--fail-on", "errors,test-failures") == 1
    assert "quarantine-expired" in capsys.readouterr().out
    assert run_command_line(["test", "e2e"]) == 1
    assert str(before.date()) in capsys.readouterr().err


@pytest.mark.parametrize("seconds", [300_000_000_000, None], ids=["no day", "a day ahead"])
def test_a_commit_of_the_future_prolongs_nothing(
    seconds: int | None, bot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quarantine(bot, "wrong", "sells", days=100)
    made = seconds or int((datetime.now(UTC) + timedelta(days=30)).timestamp())
    there = {**os.environ, "GIT_COMMITTER_DATE": f"@{made} +0000"}
    for words in (("init", "--quiet"), ("add", "."), (*_AS_SOMEBODY, "commit", "--quiet", "--message", "later")):
        subprocess.run(["git", *words], cwd=bot, check=True, env=there)
    assert run("--evaluations", "validate,core,e2e", "--fail-on", "errors,test-failures") == 1
    assert f"ahead of {datetime.now(UTC).date()}, today" in capsys.readouterr().out


# --- pytest ----------------------------------------------------------------------------------------------------------


def test_pytest_skips_what_is_in_quarantine(bot: Path, pytestconfig: pytest.Config) -> None:
    from turncheck import api  # as the plugin does

    quarantine(bot, "wrong", "sells")
    outcome = api.run(bot, baseline="none", evaluations="validate,core,e2e")
    cases = {case["name"]: case for case in (*pytest_plugin._cases(outcome, bot), *pytest_plugin._gates(outcome, bot))}
    assert not cases["story: wrong"]["failure"]
    assert "in quarantine" in cases["story: wrong"]["skipped"]
    assert not cases["gate: test-failures"]["failure"]
    quarantine(bot, "wrnog", "sells")
    outcome = api.run(bot, baseline="none", evaluations="validate,core,e2e")
    cases = {case["name"]: case for case in (*pytest_plugin._cases(outcome, bot), *pytest_plugin._gates(outcome, bot))}
    assert cases["story: wrong"]["failure"]
    assert any("'wrnog'" in (case["failure"] or "") for case in cases.values())
