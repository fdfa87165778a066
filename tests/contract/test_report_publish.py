"""``turncheck report publish``: from a laptop or another CI onto a pull request."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_github import ACTIONS_TOKEN, PERSON_TOKEN, READ_ONLY_TOKEN, FakeGitHub
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.comparison.model import Missing, Present
from turncheck.conclude import conclude
from turncheck.publishing.files import write_all
from turncheck.render.links import Links
from turncheck.report.codec import encode
from turncheck.report.model import GateSettings, ProjectInfo, Report, Source, Tool

HEAD = "2" * 40
Publish = Callable[..., int]


def report(name: str, commit: str | None = HEAD) -> Report:
    return Report(
        tool=Tool(name="turncheck", version="0.1.0"),
        project=ProjectInfo(name=name),
        source=Source(commit=commit),
        seed=42,
        settings=GateSettings(),
    )


@pytest.fixture
def publish(github: FakeGitHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Publish:
    github.add_pull(7, head=HEAD)
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_EVENT_PATH", "GITHUB_REPOSITORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GITHUB_API_URL", github.public)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.json").write_bytes(encode(report("bot")))

    def run(*arguments: str, token: str | None = PERSON_TOKEN) -> int:
        given = ["--token", token] if token else []
        return run_command_line(["report", "publish", "--repository", "acme/bots", *given, *arguments])

    return run


def test_a_report_is_posted_on_the_pull_request_of_its_commit(
    github: FakeGitHub, publish: Publish, tmp_path: Path
) -> None:
    assert publish("report.json", "--pull-request", "7") == 0
    assert publish("report.json", "--pull-request", "7") == 0

    (body,) = github.bodies(7)
    assert body.startswith("<!-- turncheck:report id=bot -->")
    assert (tmp_path / "results" / "comment.md").exists()


def test_the_folder_of_a_run_brings_what_it_was_compared_with(
    github: FakeGitHub, publish: Publish, tmp_path: Path, golden: Golden
) -> None:
    outcome = conclude(report("bot"), Present(report("bot", commit="1" * 40), "git", "1" * 40), Links())
    write_all(tmp_path / "measured", outcome.renderings())

    assert publish("measured", "--pull-request", "7") == 0

    (body,) = github.bodies(7)
    assert "Compared with [commit `11111111`](" in body
    golden(body, only="[commit")


def test_a_run_that_was_compared_with_nothing_says_so(
    github: FakeGitHub, publish: Publish, tmp_path: Path, golden: Golden
) -> None:
    write_all(tmp_path / "measured", conclude(report("bot"), Missing("it is the base itself"), Links()).renderings())
    (tmp_path / "measured" / "baseline.json").write_bytes(encode(report("bot", commit="1" * 40)))  # of a run before

    assert publish("measured", "--pull-request", "7") == 0

    golden(github.bodies(7)[0], only="itself")


def test_the_token_may_come_by_a_variable(
    github: FakeGitHub, publish: Publish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", PERSON_TOKEN)

    assert publish("report.json", "--pull-request", "7", token=None) == 0
    assert len(github.bodies(7)) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report.json"], "--pull-request"),
        ([], "there is nothing to publish"),
        (["missing.json", "--pull-request", "7"], "cannot read"),
        (["report.json", "--pull-request", "8"], "404"),
        (["other.json", "--pull-request", "7"], "the head of pull request 7 is 222222222222"),
        (["--run-id", "5"], "404"),
        (["--run-id", "../5"], "run-id"),
        (["report.json", "--pull-request", "7", "--token", "wrong"], "401"),
    ],
)
def test_what_cannot_be_posted_says_why(
    github: FakeGitHub,
    publish: Publish,
    tmp_path: Path,
    *,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "other.json").write_bytes(encode(report("bot", "3" * 40)))

    assert publish(*arguments) == 2

    assert said in capsys.readouterr().err
    assert github.bodies(7) == []


def test_a_comment_that_is_refused_is_not_done(
    github: FakeGitHub, publish: Publish, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish("report.json", "--pull-request", "7", token=READ_ONLY_TOKEN) == 2

    assert "pull-requests: write" in capsys.readouterr().err


def test_a_run_of_several_assistants_gets_a_comment_for_each(github: FakeGitHub, publish: Publish) -> None:
    run = github.add_run(HEAD, event="pull_request", branch="feature")
    for name in ("one", "two"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr("report.json", encode(report(name)))
        github.add_artifact(run, f"turncheck-{name}", buffer.getvalue())

    assert publish("--run-id", str(run["id"]), token=ACTIONS_TOKEN) == 0

    assert sorted(body.partition(" -->")[0] for body in github.bodies(7)) == [
        "<!-- turncheck:report id=one",
        "<!-- turncheck:report id=two",
    ]


def test_run_measures_and_does_not_publish(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["run", "--run-id", "5"]) == 2

    assert "report publish" in capsys.readouterr().err
