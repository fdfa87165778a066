"""``turncheck run --project 'bots/*'``: each assistant as if it were alone, one exit status, one overview of all."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest
from golden_texts import Golden

from turncheck.ci.host import Host, OtherRun, RunStamp, StoredReport, Target
from turncheck.cli import run_command_line
from turncheck.publishing.other_run import RunReader
from turncheck.publishing.publish import result_of_any
from turncheck.report.codec import decode

CONFIG = "recipe: default.v1\nlanguage: en\npipeline:\n- name: KeywordIntentClassifier\npolicies:\n- name: RulePolicy\n"
DOMAIN = """\
version: "3.1"
intents: [greet, bye]
responses:
  utter_hi: [{text: hi}]
  utter_bye: [{text: bye}]
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: "- hello\\n- hi there\\n"
- intent: bye
  examples: "- goodbye\\n- see you\\n"
"""
RULES = """\
version: "3.1"
rules:
- rule: greet
  steps: [{intent: greet}, {action: utter_hi}]
- rule: bye
  steps: [{intent: bye}, {action: utter_bye}]
"""
STORY = """\
version: "3.1"
stories:
- story: they greet
  steps: [{{user: hello, intent: greet}}, {{action: {action}}}]
"""


def assistant(folder: Path, action: str = "utter_hi") -> None:
    files = {"config.yml": CONFIG, "domain.yml": DOMAIN, "data/nlu.yml": NLU, "data/rules.yml": RULES}
    for name, text in {**files, "tests/test_stories.yml": STORY.format(action=action)}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def git(*arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    return subprocess.run(["git", *identity, *arguments], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(autouse=True)
def _repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    for name in ("pizza", "bank"):
        assistant(Path("bots") / name)
    git("add", "-A")
    git("commit", "-q", "-m", "two assistants")


class Nothing:
    """No run of the base branch left a report."""

    other_projects = unreadable = False

    def of_commit(self, branch: str, commit: str) -> None: ...

    def of_ancestor(self, branch: str, commit: str) -> None: ...

    def of_earlier_run(self, branch: str, commit: str) -> None: ...

    def in_words(self) -> str:
        return ""


def run(*arguments: str) -> int:
    return run_command_line(["run", "--quiet", "--evaluations", "core", "validate", *arguments])


def junit() -> list[ET.Element]:
    return list(ET.fromstring(Path("results/junit.xml").read_text()).iter("testcase"))  # noqa: S314 - our own file


WAYS = {
    "a pattern": (["--project", "bots/*"], None),
    "a list": (["--project", "bots/bank", "bots/pizza"], None),
    "words": (["bots/bank", "bots/pizza"], None),
    "a file": ([], "projects: [bots/*]\n"),
    "a file and a flag": (["--project", "."], "projects:\n- bots/bank\n- bots/pizza\n"),
}


@pytest.mark.parametrize("way", WAYS)
def test_however_they_are_named_each_is_measured(way: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, file = WAYS[way]
    if file:
        Path("turncheck.yml").write_text(file)
    # Behind --evaluations a word is told apart by what it is.
    assert run_command_line(["run", *arguments, "--evaluations", "core", "validate"]) == 0
    for name in ("bank", "pizza"):
        report = decode(Path(f"results/bots/{name}/report.json").read_bytes(), name="the report")
        assert report.project.root == f"bots/{name}"
        assert report.core is not None
        assert len(report.core.stories) == 1
        assert Path(f"results/bots/{name}/junit.xml").is_file()
    assert "2 assistants passed" in capsys.readouterr().out
    comment = Path("results/comment.md").read_text()
    assert comment.count("<!-- turncheck:report") == 1
    assert comment.startswith("<!-- turncheck:report id=bots-")
    assert "<code>bots/bank</code>" in comment
    assert "<code>bots/pizza</code>" in comment


def test_names_of_tests_never_collide() -> None:
    assert run("--project", "bots/*") == 0
    found = [(case.get("classname", ""), case.get("name", "")) for case in junit()]
    assert {name.partition(".")[0] for name, _ in found} == {"bots/bank", "bots/pizza"}
    assert [case for case, number in Counter(found).items() if number > 1] == []


def test_the_worst_decides_and_nobody_is_hidden(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assistant(Path("bots/failing"), action="utter_bye")
    assert run("--project", "bots/*") == 1
    assert "1 of 3 assistants failed" in capsys.readouterr().out

    assistant(Path("bots/broken"))
    Path("bots/broken/turncheck.yml").write_text("fail-on: [everything]\n")
    assert run("--project", "bots/*", "bots/gone") == 2
    shown = capsys.readouterr()
    golden(shown.out, only="1 of 5 assistants")
    golden(shown.err, only="bots/broken/turncheck.yml:1:1: ")
    golden(shown.err, only="bots/gone")

    comment = Path("results/comment.md").read_text()
    rows = [line for line in comment.splitlines() if line.startswith("| ") and "`bots/" in line]
    assert [row.split("`")[1] for row in rows] == [
        *("bots/broken", "bots/gone", "bots/failing", "bots/bank", "bots/pizza")
    ]
    assert "bots/broken/turncheck.yml:1:1" in comment
    assert "<details open><summary>❌ <code>bots/failing</code>" in comment
    errors = [case.get("classname") for case in junit() if case.find("error") is not None]
    assert errors == ["bots/broken.run", "bots/gone.run"]
    page = Path("results/report.html").read_text()
    assert "not measured" in page
    assert "5 assistants" in page
    left = decode(Path("results/bots/broken/report.json").read_bytes(), name="the report")
    assert left.stopped is not None
    assert "everything" in left.stopped


def test_the_settings_of_each_hold_for_it() -> None:
    Path("bots/bank/turncheck.yml").write_text("thresholds: ['validation.errors <= 0']\n")
    assert run("--project", "bots/*") == 0
    bank, pizza = (json.loads(Path(f"results/bots/{name}/report.json").read_text()) for name in ("bank", "pizza"))
    assert bank["settings"]["thresholds"] == ["validation.errors <= 0"]
    assert not pizza["settings"].get("thresholds")


def test_each_is_compared_with_its_own_base(golden: Golden) -> None:
    base = git("rev-parse", "HEAD")
    git("checkout", "-q", "-b", "change")
    assistant(Path("bots/bank"), action="utter_bye")
    git("commit", "-q", "-am", "a story that fails")
    assert run("--project", "bots/*", "--base", base) == 1
    bank, pizza = (json.loads(Path(f"results/bots/{name}/comparison.json").read_text()) for name in ("bank", "pizza"))
    assert bank["baseline"]["commit"] == pizza["baseline"]["commit"] == base
    verdicts = [json.loads(Path(f"results/bots/{name}/verdict.json").read_text()) for name in ("bank", "pizza")]
    assert [verdict["outcome"] for verdict in verdicts] == ["failed", "passed"]
    golden(*(verdict["summary"] for verdict in verdicts))


def test_results_of_an_earlier_run_are_a_baseline_for_each() -> None:
    assert run("--project", "bots/*", "--out", "before") == 0
    assistant(Path("bots/bank"), action="utter_bye")
    assert run("--project", "bots/*", "--baseline", "before", "--fail-on", "new-failures") == 1
    assert "they greet" in Path("results/comment.md").read_text()
    assert run("--project", "bots/*", "--baseline", "before/bots/bank/report.json") == 2


def test_what_is_no_assistant_is_named_and_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bots/README.md").write_text("# Bots")
    Path("bots/shared").mkdir()
    Path("elsewhere").mkdir()
    assistant(Path("elsewhere/bot"))
    Path("bots/link").symlink_to(Path("elsewhere/bot").resolve())
    Path("bots/same").symlink_to("bank")
    assert run_command_line(["run", "--project", "bots/*", "--evaluations", "core"]) == 0
    said = capsys.readouterr().err
    for skipped in ("bots/README.md (not an assistant)", "bots/shared (not an assistant)", "bots/link (a link that"):
        assert f"Skipped: {skipped}" in said
    assert sorted(path.name for path in Path("results/bots").iterdir()) == ["bank", "pizza"]


@pytest.mark.parametrize(
    ("arguments", "file", "said"),
    [
        (["--project", "robots/*"], None, "nothing matches 'robots/*'"),
        (["--project", "bots/*", "--json", "r.json"], None, "--json writes one report"),
        (["--project", "bots/*", "--model", "m.tar.gz"], None, "--model is about one assistant"),
        ([], "projects: [bots/*]\nfolds: 3\n", "`folds` beside `projects`"),
        ([], "projects: [../*]\n", "leads out of the project"),
        ([], "projects: []\n", "there is no assistant here"),
        (["bots/bank", "--project", "bots/pizza"], None, "projects are named in two ways"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    arguments: list[str], file: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if file:
        Path("turncheck.yml").write_text(file)
    assert run_command_line(["run", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_projects_in_the_file_of_one_of_them_are_refused(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    Path("bots/bank/turncheck.yml").write_text("projects: [a]\n")
    assert run("--project", "bots/*") == 2
    golden(capsys.readouterr().err, only="`projects`")


def test_a_folder_above_says_how_all_are_run(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["run"]) == 2
    golden(capsys.readouterr().err, only="'bots/*'")
    assert run("bots/*") == 0


def test_files_for_hosts_are_of_all() -> None:
    assistant(Path("bots/failing"), action="utter_bye")
    assistant(Path("bots/failing2"), action="utter_bye")
    formats = ["--output-format", "sarif", "codequality", "metrics", "annotations"]
    assert run("--project", "bots/*", *formats) == 1
    sarif = json.loads(Path("results/findings.sarif").read_text())
    assert {run["automationDetails"]["id"] for run in sarif["runs"]} >= {
        "turncheck/bots/bank/",
        "turncheck/bots/failing/",
    }
    paths = {
        one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for run in sarif["runs"]
        for one in run["results"]
        if one["ruleId"] == "failed-story"
    }
    assert paths == {"bots/failing/tests/test_stories.yml", "bots/failing2/tests/test_stories.yml"}
    quality = json.loads(Path("results/gl-code-quality-report.json").read_text())
    assert len({one["fingerprint"] for one in quality}) == len(quality)
    assert {one["location"]["path"].split("/")[1] for one in quality} >= {"failing", "failing2"}
    metrics = Path("results/metrics.txt").read_text()
    assert metrics.count("# TYPE turncheck_core_passed gauge") == 1
    assert metrics.count("# EOF") == 1
    assert 'turncheck_core_passed{assistant="bots/bank"} 1' in metrics


def test_another_run_publishes_them_together(golden: Golden) -> None:
    """As where a fork's job has measured: from the reports in its artifact."""
    Path("bots/broken").mkdir()
    Path("bots/broken/turncheck.yml").write_text("fail-on: [everything]\n")
    assert run("--project", "bots/*") == 2
    commit = git("rev-parse", "HEAD")
    stored = [
        (StoredReport(decode(path.read_bytes(), name="it")), "https://host.example/artifacts/1")
        for path in sorted(Path("results").rglob("report.json"))
    ]

    class Fork(Host):
        def other_run(self, *_: object) -> OtherRun:
            return OtherRun(commit, "", RunStamp(1), Target(1, commit, "main"), tuple(stored), lambda _: Nothing())

    found = RunReader(host=Fork(), artifact_name="turncheck", gates={}, say=print).read("1")
    (together,) = found.results
    result = result_of_any(together.outcome, Path("out"), [])
    _, comment = result.texts("", "", 60_000)
    assert str(comment.content).splitlines()[0] == Path("results/comment.md").read_text().splitlines()[0]
    golden(result.summary)
    assert not result.passed
    assert msgspec.json.decode(result.outputs["metrics"]).keys() >= {"bots/bank", "bots/pizza"}


@pytest.mark.parametrize("deleted", [True, False])
def test_an_assistant_that_the_change_takes_away_fails_the_run(
    deleted: bool, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    Path("turncheck.yml").write_text("projects: [bots/*]\n")
    git("add", "-A")
    git("commit", "-q", "-m", "a list")
    if deleted:
        shutil.rmtree("bots/bank")
    else:
        Path("turncheck.yml").write_text("projects: [bots/pizza]\n")
    git("commit", "-q", "-a", "-m", "one is gone")
    run = ["run", "--base", "HEAD~1", "--workers", "1", "--quiet", "--out", "results"]

    assert run_command_line(run) == 2
    golden(capsys.readouterr().err, only="bots/bank")
    assert "bots/bank" in Path("results/comment.md").read_text()

    assert run_command_line([*run, "--accept-gone", "bots/bank"]) == 0
    assert run_command_line([*run, "--fail-on", "errors"]) == 0
    assert run_command_line([*run[:1], *run[3:], "--baseline", "none"]) == 0


def test_a_link_to_an_assistant_is_none_that_could_be_gone(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    Path("bots/link").symlink_to("bank")
    git("add", "-A")
    git("commit", "-q", "-m", "a link")
    git("commit", "-q", "--allow-empty", "-m", "a change")

    assert run_command_line(["run", "--project", "bots/*", "--base", "HEAD~1", "--workers", "1", "--quiet"]) == 0
    assert "bots/link" not in capsys.readouterr().err

    shutil.rmtree("bots/bank")
    Path("bots/link").unlink()
    git("commit", "-q", "-a", "-m", "both are gone")
    assert run_command_line(["run", "--project", "bots/*", "--base", "HEAD~1", "--workers", "1", "--quiet"]) == 2
    golden(capsys.readouterr().err, only="bots/bank")
