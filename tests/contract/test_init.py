"""``turncheck init``: its files pass their linters, are never written over others, and a run with them ends 0 or 1."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from itertools import product
from pathlib import Path

import pytest
import yaml
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.commands.init.first_tests import first_tests
from turncheck.commands.init.settings_file import settings_text
from turncheck.commands.init.workflows import CHECKOUT, workflow
from turncheck.project.batch.reader import read_suites
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.project.testfiles import find_test_nlu, find_test_stories
from turncheck.settings.file import read_settings_file
from turncheck.settings.options import Settings

pytestmark = pytest.mark.usefixtures("_shared_cache")
ROOT = Path(__file__).parents[2]
BOTS = ["confidence_and_limits", "fallback_core", "form_interrupt_rules", "or_checkpoints", "rules_conditions"]
PROJECTS = [*(ROOT / "tests" / "oracle" / "core" / name / "project" for name in [*BOTS, "slots_influence"])]
EXAMPLES = [ROOT / "examples" / "pizzeria", ROOT / "examples" / "clinic"]
SCHEMAS = {
    "github": ["vendor.github-workflows"],
    "gitlab": ["vendor.gitlab-ci", "--data-transform", "gitlab-ci"],
    "azure": ["vendor.azure-pipelines", "--data-transform", "azure-pipelines", "--regex-variant", "nonunicode"],
    "bitbucket": ["vendor.bitbucket-pipelines"],
}
BIN = Path(sys.executable).parent


def copied(project: Path, folder: Path, *, tests: bool = False) -> Path:
    left_out = shutil.ignore_patterns(*([] if tests else ["tests", "turncheck.yml"]), "results", "models")
    shutil.copytree(project, folder, ignore=left_out)
    return folder


@pytest.mark.parametrize("host", SCHEMAS)
def test_each_workflow_is_one_of_its_host(host: str, tmp_path: Path) -> None:
    ways = product((["."], ["bots/a", 'bots/it\'s "b": $(x)', "-c"]), (("on", None), ("release/#1", True)))
    for number, (projects, (branch, asks)) in enumerate(ways):
        text = workflow(host, projects, branch, asks)
        (tmp_path / f"{number}.yml").write_text(text, encoding="utf-8")
        if host != "gitlab":
            assert branch in str(yaml.safe_load(text))
        assert "bots/a" in text or projects == ["."]

    files = sorted(tmp_path.iterdir())
    command = [str(BIN / "check-jsonschema"), "--builtin-schema", *SCHEMAS[host], *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert len(files) == 4
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_rule_that_does_not_wait_for_the_user_makes_no_test_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = ROOT / "tests" / "oracle" / "core" / "rules_conditions" / "project"
    monkeypatch.chdir(copied(rules, tmp_path / "bot"))
    assert "wait_for_user_input: false" in "".join(path.read_text() for path in Path("data").glob("*.yml"))

    assert run_command_line(["init", "--write"]) == 0

    assert "leaves the turn open" not in Path("tests/test_stories.yml").read_text()
    assert run_command_line(["run"]) == 0


@pytest.mark.parametrize("host", ["gitlab", "azure", "bitbucket", "jenkins"])
def test_one_command_measures_all_so_that_none_hides_another(host: str) -> None:
    text = workflow(host, ["bots/a", "bots/it's", "-c"])

    (command,) = re.findall(r"turncheck run [^\n]*", text)
    assert "'bots/a' 'bots/it" in command
    assert "'./-c'" in command
    assert "turncheck run '" not in workflow(host, ["."])


@pytest.mark.parametrize("remote", [True, False])
def test_the_default_branch_is_the_repositorys(remote: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = tmp_path / "server"
    bot = copied(EXAMPLES[0], server / "bot")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C"]
    subprocess.run(["git", "init", "-q", "-b", "trunk", server], check=True)
    if remote:
        for command in (["add", "-A"], ["commit", "-q", "-m", "bot"]):
            subprocess.run([*git, server, *command], check=True)
        subprocess.run(["git", "clone", "-q", server, tmp_path / "clone"], check=True)
        subprocess.run([*git, tmp_path / "clone", "checkout", "-q", "-b", "feature"], check=True)
        bot = tmp_path / "clone" / "bot"
    monkeypatch.chdir(bot)

    assert run_command_line(["init", "--write"]) == 0

    assert "branches: [trunk]" in (bot.parent / ".github" / "workflows" / "turncheck.yml").read_text()


def test_the_workflow_of_github_has_no_finding_of_its_linters(tmp_path: Path) -> None:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = workflow("github", ["bots/a", "bots/b"], asks=False)
    (folder / "turncheck.yml").write_text(text, encoding="utf-8")
    for command in (["zizmor", "--offline", "--no-progress", "--quiet"], ["actionlint"]):
        done = subprocess.run(
            [BIN / command[0], *command[1:], folder / "turncheck.yml"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert CHECKOUT in (ROOT / "examples" / "workflows" / "one-bot.yml").read_text(), "one pin for all"


def test_the_settings_that_are_written_are_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "turncheck.yml").write_text(settings_text(), encoding="utf-8")

    assert Settings(**read_settings_file(tmp_path).values) == Settings()
    keys = settings_text().partition("\n")[2]  # below the line for editors
    uncommented = re.sub(r"^# ([a-z-0-9]+: (?!.*…).*)$", r"\1", keys, flags=re.MULTILINE)
    (tmp_path / "turncheck.yml").write_text(uncommented, encoding="utf-8")
    assert Settings(**read_settings_file(tmp_path).values) == Settings(), "taken in as they stand they change nothing"


@pytest.mark.parametrize("project", [*PROJECTS, *EXAMPLES], ids=lambda path: path.parent.name + path.name)
def test_a_run_with_its_files_ends_0_or_1(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = copied(project, tmp_path / "bot")
    monkeypatch.chdir(bot)

    assert run_command_line(["init", "--write"]) == 0

    assert (bot / ".github" / "workflows" / "turncheck.yml").exists()
    assert find_test_nlu(bot) == [], "sentences are a template alone"
    cases = read_cases(bot, [path for path in ["tests/e2e_test_cases.yml"] if Path(path).exists()])
    assert cases.findings == ()
    # Understanding is measured elsewhere; what init makes is tests of dialogues.
    assert run_command_line(["run", "--evaluations", "validate", "core", "e2e", "--workers", "1", "--quiet"]) in {0, 1}
    findings = json.loads(Path("results/report.json").read_text("utf-8"))["validation"]["findings"]
    assert not {"test-sentence-in-training", "suppression-unused"} & {finding["code"] for finding in findings}


def test_tests_are_made_of_rules_that_can_be_told_in_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = copied(EXAMPLES[0], tmp_path / "bot")
    monkeypatch.chdir(bot)

    run_command_line(["init", "--write"])

    assert find_test_stories(bot)
    text = (bot / "tests" / "test_stories.yml").read_text()
    assert text.startswith("# Made by `turncheck init`")
    assert len(yaml.safe_load(text)["stories"]) == 3


def test_without_sentences_a_test_story_tells_intents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    bot = copied(EXAMPLES[0], tmp_path / "bot")
    shutil.rmtree(bot / "data" / "nlu", ignore_errors=True)
    for path in [*(bot / "data").rglob("*nlu*.yml")]:
        path.unlink()
    monkeypatch.chdir(bot)

    assert run_command_line(["init", "--write"]) == 0

    stories = yaml.safe_load((bot / "tests" / "test_stories.yml").read_text())["stories"]
    assert all("user" not in step for story in stories for step in story["steps"])
    assert not (bot / "tests" / "e2e_test_cases.yml").exists()
    golden(capsys.readouterr().out, only="(tests/test_stories.yml)")
    assert run_command_line(["run", "--evaluations", "core", "--workers", "1", "--quiet"]) in {0, 1}
    assert "nothing was tested" not in capsys.readouterr().out


def test_nothing_is_written_unless_asked_and_nothing_over_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    bot = copied(EXAMPLES[0], tmp_path / "bot", tests=True)
    monkeypatch.chdir(bot)
    before = {path: path.read_bytes() for path in bot.rglob("*") if path.is_file()}

    assert run_command_line(["init"]) == 0
    shown = capsys.readouterr().out
    assert {path: path.read_bytes() for path in bot.rglob("*") if path.is_file()} == before
    assert "--- .github/workflows/turncheck.yml" in shown
    assert "tests/test_stories.yml" not in shown, "there are some already"

    (bot / "turncheck.yml").write_text("fail-on: none\n")
    assert run_command_line(["init", "--write"]) == 0
    golden(capsys.readouterr().out, only="turncheck.yml already")
    assert (bot / "turncheck.yml").read_text() == "fail-on: none\n"


@pytest.mark.parametrize(
    ("seen", "place"),
    [
        (".gitlab-ci.yml", ".gitlab/turncheck.yml"),
        ("git@gitlab.example.org:acme/bots.git", ".gitlab-ci.yml"),
        ("https://acme@dev.azure.com/acme/p/_git/bots", "azure-pipelines.yml"),
        ("git@bitbucket.org:acme/bots.git", "bitbucket-pipelines.yml"),
        ("Jenkinsfile", "Jenkinsfile.turncheck"),
        ("README", ".github/workflows/turncheck.yml"),
    ],
)
def test_the_host_is_known_by_its_files_or_the_remote(
    seen: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    if "/" in seen:
        subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", seen], check=True)
    else:
        (tmp_path / seen).write_text("{}\n")
    for name in ("a", "b"):
        (tmp_path / "bots" / name / "data").mkdir(parents=True)
        (tmp_path / "bots" / name / "domain.yml").write_text('version: "3.1"\n')
    monkeypatch.chdir(tmp_path)

    assert run_command_line(["init", "--write"]) == 0

    assert "bots/a" in (tmp_path / place).read_text()
    assert (tmp_path / "bots" / "b" / "turncheck.yml").exists()
    assert "Assistants: bots/a, bots/b." in capsys.readouterr().out


def test_a_folder_without_an_assistant_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["init", str(tmp_path)]) == 2
    golden(capsys.readouterr().err)


def test_pull_requests_in_a_merge_queue_are_measured_too() -> None:
    written = yaml.safe_load(workflow("github", ["."], "main"))
    assert set(written[True]) == {"pull_request", "merge_group", "push"}  # YAML 1.1 reads "on" as true


@pytest.mark.follows(
    page="kore-batch",
    sentence="Before anything else, create a suite of what users say. (`init` proposes it.)",
)
@pytest.mark.parametrize("name", ["city_library", "tea_shop"])
def test_an_export_of_kore_gets_a_suite_instead_of_rasas_files(name: str, tmp_path: Path) -> None:
    bot = shutil.copytree(ROOT / "tests" / "oracle" / "kore" / "exports" / name, tmp_path / "bot")
    files = first_tests(read_project(bot))
    assert list(files) == ["tests/first_suite.csv"]
    assert run_command_line(["init", str(bot), "--write"]) == 0
    assert (bot / "tests" / "first_suite.csv").read_text("utf-8") == files["tests/first_suite.csv"]
    read = read_suites(bot, [bot / "tests" / "first_suite.csv"])
    assert read.errors == ()
    assert all(case.generated for case in read.suites[0].cases)
    assert first_tests(read_project(bot)) == {}
    assert not list(bot.glob("**/*.yml.template"))
    assert run_command_line(["test", "batch", "--project", str(bot), "--json", str(tmp_path / "r.json")]) in {0, 1}
    (suite,) = json.loads((tmp_path / "r.json").read_text())["batch"]["suites"]
    assert len(suite["cases"]) == len(read.suites[0].cases)
    taught = {one.intent for one in read_project(bot).nlu.examples}
    assert len({case.intents for case in read.suites[0].cases}) > len(taught) / 2


def said_by_init(bot: Path, capsys: pytest.CaptureFixture[str]) -> str:
    assert run_command_line(["init", str(bot)]) == 0
    return capsys.readouterr().out


def test_what_there_is_is_counted_and_nothing_is_said_to_be_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = copied(EXAMPLES[0], tmp_path / "bot", tests=True)
    had = "229 training sentences, 14 stories, 27 rules; 10 test stories, 64 test sentences, 6 end-to-end cases"

    told = said_by_init(bot, capsys)

    assert f" has {had}.\n  Nothing fails " in told
    assert "no tests" not in told
    for path in (bot / "tests").glob("*e2e*"):
        path.unlink()
    told = said_by_init(bot, capsys)
    assert "10 test stories, 64 test sentences.\n" in told
    assert "no tests" not in told
    shutil.rmtree(bot / "tests")
    told = said_by_init(bot, capsys)
    assert "Nothing fails" not in told, "a run may fail: nothing is tested"


def test_what_fails_on_the_default_branch_is_said_before_it_is_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = copied(EXAMPLES[0], tmp_path / "bot", tests=True)
    domain = bot / "domain.yml"
    domain.write_text(domain.read_text("utf-8").replace("\nforms:", "\nforms:\n  lost:\n    required_slots: [lost]"))
    assert re.search(r"Fails on main today: errors: 1 error in the data: .*'lost'", said_by_init(bot, capsys))

    shutil.copy(EXAMPLES[0] / "domain.yml", domain)
    stories = bot / "tests" / "test_stories.yml"
    stories.write_text(stories.read_text("utf-8").replace("utter_greet", "utter_goodbye", 1), encoding="utf-8")
    told = said_by_init(bot, capsys)
    assert re.search(
        r"Fails on main today: test-failures: 1 of 10 stories failed: story .* \(tests/test_stories.yml:\d+", told
    ), told


def test_what_fails_is_looked_for_within_a_time_limit_and_said_as_far_as_it_is_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    bot = copied(EXAMPLES[0], tmp_path / "bot", tests=True)

    def never_ends(*_: object) -> None:
        time.sleep(60)
        pytest.fail("it was not stopped")

    monkeypatch.setattr("turncheck.run.run.run_and_conclude", never_ends)
    begin = time.monotonic()

    assert run_command_line(["init", str(bot), "--budget", "1", "--write"]) == 0

    assert time.monotonic() - begin < 30
    told = capsys.readouterr().out
    golden(told, only="--budget")
    assert "Nothing fails" not in told
    assert (bot / "turncheck.yml").is_file()


def test_an_interrupt_of_somebody_is_not_the_time_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bot = copied(EXAMPLES[0], tmp_path / "bot", tests=True)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("turncheck.run.run.run_and_conclude", interrupted)

    assert run_command_line(["init", str(bot), "--write"]) == 130
    assert not (bot / "turncheck.yml").exists()


def test_an_export_of_kore_counts_its_suites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bot = shutil.copytree(ROOT / "tests" / "oracle" / "kore" / "exports" / "tea_shop", tmp_path / "bot")
    told = said_by_init(bot, capsys)
    assert re.search(r"has \d+ training sentences; no tests\.", told)
    assert "test_nlu.yml" not in told
    assert "held_out" not in told


def bot_over_http(folder: Path, **bot: object) -> Path:
    folder.mkdir(parents=True)
    text = json.dumps(
        {"request": {"path": "/chat", "body": {"id": "{session}", "text": "{text}"}}, "replies": "$.text", **bot}
    )
    (folder / "turncheck.yml").write_text(f"engine: http\nbot: {text}\n", encoding="utf-8")
    return folder


FILES = {
    "gitlab": ".gitlab-ci.yml",
    "azure": "azure-pipelines.yml",
    "bitbucket": "bitbucket-pipelines.yml",
    "jenkins": "Jenkinsfile",
}


def run_of(file: Path, **variables: str) -> list[str]:
    """Return the words that turncheck gets from the one command of a host's file."""
    (command,) = re.findall(r"turncheck run.*", file.read_text("utf-8"))
    command = command.removesuffix("'''") if file.name == "Jenkinsfile" else json.loads(f'"{command}')
    shell = f"turncheck() {{ printf '%s\\n' \"$@\"; }}; {command}"
    done = subprocess.run(["sh", "-c", shell], env=variables, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("host", FILES)
def test_the_run_of_a_bot_over_http_is_told_where_it_is(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words: list[str] = []
    for name, bot in (("open", {}), ("closed", {"token": {"header": "X-Key"}})):
        monkeypatch.chdir(bot_over_http(tmp_path / name, **bot))
        assert run_command_line(["init", "--host", host, "--write"]) == 0
        words = run_of(Path(FILES[host]), BOT_URL="http://bot", TURNCHECK_BOT_TOKEN="s e")
        assert words[:1] == ["run"]
        assert words[words.index("--bot-url") + 1] == "http://bot"
        next_steps = [line for line in capsys.readouterr().out.splitlines() if line.startswith("Next: ")]
        assert any("BOT_URL" in step and "to the address of the bot" in step for step in next_steps)
        assert ("`TURNCHECK_BOT_TOKEN=TOKEN turncheck run" in next_steps[-1]) == (name == "closed")
        assert "turncheck run --bot-url URL" in next_steps[-1]
        assert "s e" not in words, "every process can list the words of a command"
        assert name == "open" or sum("TURNCHECK_BOT_TOKEN" in step for step in next_steps) + (host == "jenkins") == 2
    if host in {"azure", "jenkins"}:  # elsewhere all variables of a project are the job's
        assert "TURNCHECK_BOT_TOKEN" in Path(FILES[host]).read_text("utf-8")


@pytest.mark.parametrize(
    ("host", "folder"),
    [("gitlab", ".turncheck-cache"), ("azure", "/pipe line/turncheck-cache"), ("bitbucket", ".turncheck-cache")],
)
@pytest.mark.parametrize(("key", "is_used"), [("", False), ("$(TURNCHECK_CACHE_KEY)", False), ("a secret", True)])
def test_the_cache_of_a_host_is_used_only_with_a_key(
    host: str, folder: str, key: str, *, is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change could have written into it; Azure leaves the name of a variable that does not exist."""
    if host != "azure" and key.startswith("$"):
        return
    monkeypatch.chdir(bot_over_http(tmp_path / "bot"))
    assert run_command_line(["init", "--host", host, "--write"]) == 0
    text = Path(FILES[host]).read_text("utf-8")
    (line,) = (line for line in text.splitlines() if "turncheck run" in line)
    if host == "azure":
        (command,) = re.findall(r'"case.*"', line)
        Path("turncheck/bin").mkdir(parents=True)
        Path("turncheck/bin/turncheck").write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        Path("turncheck/bin/turncheck").chmod(0o755)
        variables = {"AGENT_TEMPDIRECTORY": str(Path.cwd()), "PIPELINE_WORKSPACE": "/pipe line"}
        command = json.loads(command)
        done = subprocess.run(
            ["bash", "-c", command],
            env={**variables, "PATH": os.environ["PATH"], "TURNCHECK_CACHE_KEY": key},
            capture_output=True,
            text=True,
            check=True,
        )
        words = done.stdout.splitlines()
    else:
        words = run_of(Path(FILES[host]), TURNCHECK_CACHE_KEY=key)

    assert ("--cache-folder" in words) == is_used
    assert (folder in words) == is_used
    assert ".turncheck-cache" in text or "Cache@2" in text


def test_on_github_a_bot_over_http_is_told_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = bot_over_http(tmp_path / "museum")
    monkeypatch.chdir(tmp_path)
    assert run_command_line(["init", "museum", "--host", "github", "--write"]) == 0
    job = yaml.safe_load((bot / ".github/workflows/turncheck.yml").read_text("utf-8"))["jobs"]["turncheck"]
    assert job["steps"][1]["with"]["bot-url"] == "${{ vars.BOT_URL }}"
    told = capsys.readouterr().out
    assert "Next: set the variable BOT_URL to the address of the bot; the secret BOT_TOKEN to its token if" in told
    assert "Next: `turncheck run 'museum' --bot-url URL` shows" in told
