"""The door for CI hosts: one that is written here is asked and told all that a run needs, and nothing else knows it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.ci.host import (
    Artifacts,
    Base,
    Check,
    Checked,
    CommentResult,
    Host,
    HostError,
    PreviousReport,
    Run,
    RunStamp,
    Target,
    UploadedArtifact,
)
from turncheck.ci.hosts import RegisteredHost
from turncheck.cli import run_command_line
from turncheck.process.environment import Secret
from turncheck.registry import Registry
from turncheck.render.annotations import Annotation, Level
from turncheck.render.markdown import render_comment
from turncheck.render.rendered import Rendered
from turncheck.report.codec import decode

DOMAIN = 'version: "3.1"\nintents:\n- greet\nresponses:\n  utter_greet:\n  - text: Hello\n'
RULES = 'version: "3.1"\nrules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\n'
PLACE = "https://loom.example/group/sub/bots/-"


class LoomPages:
    def file(self, commit: str, path: str, line: int | None) -> str:
        return f"{PLACE}/blob/{commit}/{path}{f'#L{line}' if line else ''}"

    def commit(self, commit: str) -> str:
        return f"{PLACE}/commit/{commit}"

    def run(self, run_id: str) -> str:
        return f"{PLACE}/jobs/{run_id}"


@dataclass
class Loom(Host):
    """A host with repositories in groups, addresses and log lines of its own, and short comments."""

    variables: Mapping[str, str] = field(default_factory=dict)
    token: Secret | None = None
    left: PreviousReport | None = None
    trouble: BaseException | None = None
    posted: list[tuple[int, str, RunStamp]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    kept: dict[str, bytes] = field(default_factory=dict)
    handed_on: dict[str, str] = field(default_factory=dict)
    other_projects = unreadable = False
    name = "Loom"
    pages = LoomPages()
    comment_limit = 4_000

    @property
    def run(self) -> Run:
        return Run(
            "group/sub/bots", self.variables["LOOM_HEAD"], run_id="12", url=f"{PLACE}/jobs/12", stamp=RunStamp(12)
        )

    def base(self, warn: Callable[[str, HostError], None]) -> Base:
        return Base("main", commit=self.variables["LOOM_BASE"])

    def earlier_reports(self, artifact_name: str, root: str) -> Loom:
        assert (artifact_name, root) == ("turncheck", "bot")
        return self

    def of_commit(self, branch: str, commit: str) -> PreviousReport | None:
        if self.trouble:
            raise self.trouble
        return self.left if self.left and self.left.commit == commit else None

    def of_ancestor(self, branch: str, commit: str) -> None:
        assert (branch, commit) == ("main", self.variables["LOOM_BASE"])

    def of_earlier_run(self, branch: str, commit: str) -> None:
        raise AssertionError("the base's commit is known")

    def in_words(self) -> str:
        return ""

    def target(self) -> Target:
        return Target(3, self.variables["LOOM_HEAD"], "main")

    def comment(self, target: Target, marker: str, *, passed: bool) -> Loom:
        self.speaks_on = target.number
        return self

    def write(self, body: str, stamp: RunStamp) -> CommentResult:
        if self.trouble:
            raise self.trouble
        self.posted.append((self.speaks_on, body, stamp))
        return CommentResult(f"{PLACE}/merge_requests/3#note")

    def update(self, body: str, stamp: RunStamp) -> CommentResult:
        return CommentResult(None)

    def confirm(self) -> None:
        """Nobody races here."""

    def artifacts(self, write: Callable[[str], object]) -> Artifacts | str:
        return self

    def retention(self, days: int) -> tuple[int, str]:
        return days, ""

    def keep(
        self, name: str, files: Sequence[tuple[str, bytes]], days: int, distinction: str | None = None
    ) -> UploadedArtifact:
        if self.trouble:
            raise self.trouble
        self.kept |= dict(files)
        return UploadedArtifact(name, f"{PLACE}/jobs/12/artifacts")

    def keep_page(self, name: str, content: bytes, days: int) -> UploadedArtifact:
        self.kept[name] = content
        return UploadedArtifact(name, f"{PLACE}/jobs/12/{name}")

    def check(self, check: Check) -> Checked:
        self.checks.append(check)
        return Checked(made=True)

    def annotations(self, found: Sequence[Annotation], said: Mapping[Level, int]) -> Iterable[str]:
        return [f"LOOM {one.level} {one.path}:{one.line} {one.title}" for one in found]

    def set_outputs(self, outputs: Mapping[str, str]) -> Iterable[str]:
        self.handed_on |= outputs
        return ()


def git(*arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *identity, *arguments], capture_output=True, text=True, check=True).stdout.strip()


def commit(**files: str) -> str:
    for name, text in files.items():
        path = Path("bot", *([] if name == "domain" else ["data"]), f"{name}.yml")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git("add", "-A")
    git("commit", "-q", "-m", "change")
    return git("rev-parse", "HEAD")


@pytest.fixture
def loom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loom:
    """A change that breaks a rule, in a job of the host that the list now has."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    monkeypatch.setenv("LOOM_BASE", commit(domain=DOMAIN, rules=RULES))
    monkeypatch.setenv("LOOM_HEAD", commit(rules=RULES.replace("utter_greet\n", "utter_gone\n")))
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    host = Loom()

    def detect(environment: Mapping[str, str], token: Secret | None) -> Loom | None:
        host.variables, host.token = environment, token
        return host if "LOOM_HEAD" in environment else None

    monkeypatch.setattr(Loom, "detect", staticmethod(detect), raising=False)
    loom_alone = Registry("turncheck.hosts", {"loom": RegisteredHost(__name__, "Loom", ("LOOM_HEAD",))}, RegisteredHost)
    monkeypatch.setattr("turncheck.ci.hosts.HOSTS", loom_alone)
    return host


def run(*flags: str) -> int:
    return run_command_line(
        ["run", "bot", "--evaluations", "validate", "--fail-on", "errors", "--token", "loom-token", *flags]
    )


def test_a_host_gets_comment_artifact_annotations_and_outputs_and_gives_the_base(
    loom: Loom, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run() == 1

    head, base = loom.variables["LOOM_HEAD"], loom.variables["LOOM_BASE"]
    ((number, body, stamp),) = loom.posted
    assert (number, stamp) == (3, RunStamp(12))
    assert body.startswith("<!-- turncheck:report id=bot -->\n")
    assert f"({PLACE}/blob/{head}/bot/data/rules.yml#L6)" in body
    golden(body.replace(base, "BASE").replace(base[:8], "BASE"), only="/commit/BASE")
    assert f"[this run]({PLACE}/jobs/12)" in body
    assert f"[all results]({PLACE}/jobs/12/artifacts)" in body
    assert "github" not in body.lower().replace("github.com/turncheck", "")
    source = decode(loom.kept["report.json"]).source
    assert (source.repository, source.commit, source.run_id) == ("group/sub/bots", head, "12")
    assert {"baseline.json", "comparison.json", "junit.xml", "verdict.json"} < set(loom.kept)
    assert Path("results/comment.md").read_text() == body
    printed = capsys.readouterr()
    assert "LOOM warning bot/data/rules.yml:6 response-undefined\n" in printed.out
    assert "junit.xml, report.html, summary.md, comment.md, baseline.json\n" in printed.err
    assert loom.handed_on["verdict"] == "failed"
    assert loom.handed_on["comment-url"] == f"{PLACE}/merge_requests/3#note"
    assert loom.handed_on["artifact-url"] == f"{PLACE}/jobs/12/artifacts"
    assert loom.token is not None
    assert loom.token.reveal() == "loom-token"


def test_its_earlier_report_is_the_baseline(loom: Loom) -> None:
    run("--baseline", "git")
    left = decode(loom.kept["baseline.json"])
    loom.left = PreviousReport(left, loom.variables["LOOM_BASE"], "7")

    run("--baseline", "artifact")

    used = json.loads(loom.kept["comparison.json"])["baseline"]
    assert (used["way"], used["run_id"]) == ("artifact", "7")
    assert f"({PLACE}/jobs/7)" in loom.posted[-1][1]


def test_what_a_host_refuses_is_said_in_its_name_and_the_results_are_all_there(
    loom: Loom, capsys: pytest.CaptureFixture[str]
) -> None:
    loom.trouble = HostError("the loom stands still", hint="Oil it.")

    assert run() == 1

    said = "Loom does not say what earlier runs measured: the loom stands still (Oil it.)"
    comment = Path("results/comment.md").read_text()
    assert said in comment
    assert "all results" not in comment
    out = capsys.readouterr().out
    for told in (
        f"baseline: {said}",
        "artifact: the loom stands still\nOil it.",
        "comment: the loom stands still\nOil it.",
    ):
        assert f"turncheck: warning: {told}\n" in out
    assert decode(Path("results/report.json").read_bytes()).source.commit == loom.variables["LOOM_HEAD"]


def test_the_comment_is_rendered_once_and_keeps_to_the_limit_of_its_host(
    loom: Loom, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "".join(f"- rule: r{n}\n  steps:\n  - intent: i{n}\n  - action: utter_gone{n}\n" for n in range(60))
    monkeypatch.setenv("LOOM_HEAD", commit(rules=f'version: "3.1"\nrules:\n{names}'))
    rendered: list[Rendered] = []

    def render(*given: object, **more: object) -> Rendered:
        rendered.append(render_comment(*given, **more))  # type: ignore[arg-type]  # whatever it is given
        return rendered[-1]

    monkeypatch.setattr("turncheck.render.outputs.render_comment", render)

    run("--check-run")

    ((_, body, _),) = loom.posted
    assert [one.content for one in rendered] == [body]
    assert 1_000 < len(body) <= 4_000
    (check,) = loom.checks
    assert (check.key, check.commit, check.passed) == ("bot", loom.variables["LOOM_HEAD"], False)
    assert len(check.annotations) >= 60


def test_a_job_that_is_cancelled_while_it_uploads_leaves_all_that_it_found(loom: Loom) -> None:
    loom.trouble = KeyboardInterrupt()

    assert run("--baseline", "git") == 130

    assert (loom.posted, loom.kept) == ([], {})
    assert {"report.json", "junit.xml", "summary.md", "comment.md"} <= {path.name for path in Path("results").iterdir()}


class Files(Host):
    """A host that takes nothing but what lies in the folder, and knows its base alone."""

    name = "Files"

    def base(self, warn: Callable[[str, HostError], None]) -> Base:
        return Base("main", commit=git("rev-parse", "HEAD~1"))


def test_a_host_that_takes_nothing_has_all_files_and_hears_why(
    loom: Loom, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Loom, "detect", staticmethod(lambda *_: Files()))

    assert run() == 1

    used = json.loads(Path("results/comparison.json").read_text())["baseline"]
    assert (used["way"], used["commit"]) == ("git", git("rev-parse", "HEAD~1"))
    assert f"`{used['commit'][:8]}`" in Path("results/comment.md").read_text()
    out = capsys.readouterr().out
    assert "turncheck: notice: no artifact: " in out
    assert "turncheck: notice: no comment: " in out
    assert "turncheck: warning" not in out


def test_without_a_host_nothing_is_told(
    loom: Loom, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.delenv("LOOM_HEAD")
    git("checkout", "-q", "-b", "feature")
    git("branch", "-f", "main", "HEAD~1")

    assert run() == 1

    assert json.loads(Path("results/comparison.json").read_text())["baseline"]["way"] == "git"
    golden(capsys.readouterr().err, only="--token")
    assert (loom.posted, loom.kept) == ([], {})
