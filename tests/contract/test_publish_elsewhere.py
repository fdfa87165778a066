"""``turncheck report publish --host`` from a later job or a laptop, and builders of changes that lie elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_azure import TOKEN as AZURE_TOKEN
from fake_azure import FakeAzure
from fake_bitbucket import TOKEN as BITBUCKET_TOKEN
from fake_bitbucket import FakeBitbucket
from fake_github import PERSON_TOKEN, FakeGitHub
from fake_gitlab import BOT_TOKEN, PROJECT, FakeGitLab
from golden_texts import Golden
from msgspec import structs

from turncheck.ci.comment import StickyComment
from turncheck.ci.gitlab.host import GitLabClient, GitLabProject
from turncheck.ci.host import RunStamp, Target
from turncheck.ci.hosts import find_host
from turncheck.cli import run_command_line
from turncheck.process.environment import Secret
from turncheck.report.codec import decode, encode
from turncheck.report.model import GateSettings, ProjectInfo, Report, Source, Tool

HEAD = "a" * 40


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITHUB_EVENT_PATH", "GITHUB_REPOSITORY", "GITLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    report = Report(
        tool=Tool(name="turncheck", version="0.1.0"),
        project=ProjectInfo(name="bot"),
        source=Source(commit=HEAD),
        seed=42,
        settings=GateSettings(),
    )
    Path("report.json").write_bytes(encode(report))
    return tmp_path


@pytest.fixture
def gitlab() -> Iterator[FakeGitLab]:
    server = FakeGitLab()
    server.add_merge_request(7, sha=HEAD)
    yield server
    server.close()


@pytest.fixture
def azure() -> Iterator[FakeAzure]:
    server = FakeAzure()
    yield server
    server.close()


@pytest.fixture
def bitbucket() -> Iterator[FakeBitbucket]:
    server = FakeBitbucket()
    yield server
    server.close()


def publish(*flags: str) -> int:
    return run_command_line(["report", "publish", "report.json", *flags])


def test_on_gitlab_by_name(gitlab: FakeGitLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_URL", gitlab.url.removesuffix("/api/v4"))
    flags = ["--host", "gitlab", "--repository", PROJECT, "--pull-request", "7", "--token", BOT_TOKEN]

    assert publish(*flags) == 0
    assert publish(*flags) == 0

    (body,) = gitlab.bodies(7)
    assert body.startswith("<!-- turncheck:report id=bot -->")


@pytest.mark.parametrize("run", [346, 3_000_000_000])
def test_runs_of_the_host_and_what_is_published_by_hand_write_over_each_other(
    gitlab: FakeGitLab, monkeypatch: pytest.MonkeyPatch, run: int
) -> None:
    monkeypatch.setenv("GITLAB_URL", gitlab.url.removesuffix("/api/v4"))
    flags = ["--host", "gitlab", "--repository", PROJECT, "--pull-request", "7", "--token", BOT_TOKEN]
    marker = "<!-- turncheck:report id=bot -->"
    notes = GitLabProject(GitLabClient(gitlab.url, Secret(BOT_TOKEN)), PROJECT).notes(7, "")

    StickyComment(notes, marker).write(f"{marker}\nfirst run", RunStamp(run))
    assert publish(*flags) == 0
    (by_hand,) = gitlab.bodies(7)
    StickyComment(notes, marker).write(f"{marker}\nolder run", RunStamp(run - 1))
    (kept,) = gitlab.bodies(7)
    StickyComment(notes, marker).write(f"{marker}\nsecond run", RunStamp(run + 1))

    assert "first run" not in by_hand
    assert kept == by_hand
    assert gitlab.bodies(7) == [f"{marker}{RunStamp(run + 1)}\nsecond run"]


def test_results_of_several_assistants_become_one_comment(
    gitlab: FakeGitLab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.setenv("GITLAB_URL", gitlab.url.removesuffix("/api/v4"))
    report = decode(Path("report.json").read_bytes(), name="report.json")
    for name, stopped in (("one", None), ("two", "domain.yml is not YAML")):
        folder = Path("results/bots", name)
        folder.mkdir(parents=True)
        info = ProjectInfo(name=name, root=f"bots/{name}")
        (folder / "report.json").write_bytes(encode(structs.replace(report, project=info, stopped=stopped)))
    flags = ["--host", "gitlab", "--repository", PROJECT, "--pull-request", "7", "--token", BOT_TOKEN]
    again = ["report", "publish", "results", *flags, "--out", "again"]

    assert run_command_line(again) == 0
    assert run_command_line(again) == 0

    (body,) = gitlab.bodies(7)
    assert body.startswith("<!-- turncheck:report id=bots-")
    assert "bots/one" in body
    assert "domain.yml" in body
    assert Path("again/bots/two/report.json").exists()
    assert run_command_line([*again, "--baseline", "report.json"]) == 2
    golden(capsys.readouterr().err)


def test_in_a_later_job_of_gitlab_nothing_has_to_be_named(gitlab: FakeGitLab, monkeypatch: pytest.MonkeyPatch) -> None:
    job = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": gitlab.url,
        "CI_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_COMMIT_SHA": HEAD,
        "GITLAB_TOKEN": BOT_TOKEN,
    }
    for name, value in job.items():
        monkeypatch.setenv(name, value)

    assert publish() == 0

    assert len(gitlab.bodies(7)) == 1


def test_on_azure_by_name(azure: FakeAzure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_DEVOPS_URL", azure.url.removesuffix("/acme"))
    flags = ["--host", "azure", "--repository", "acme/p1/r1", "--pull-request", "7", "--token", AZURE_TOKEN]

    assert publish(*flags) == 0

    ((body, _),) = azure.contents()
    assert body.startswith("<!-- turncheck:report id=bot -->")


def test_on_bitbucket_whose_commits_are_shortened(bitbucket: FakeBitbucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BITBUCKET_API_URL", bitbucket.url)
    flags = ["--host", "bitbucket", "--repository", "acme/bots", "--pull-request", "7", "--token", BITBUCKET_TOKEN]

    assert publish(*flags) == 0

    (raw,) = bitbucket.raws()
    assert raw.startswith("[//]: # (turncheck:report id=bot turncheck:run ")


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--host", "gitlab"], "the repository is not known\nGive --repository GROUP/PROJECT."),
        (
            ["--host", "gitlab", "--repository", PROJECT, "--pull-request", "7"],
            "publishing needs a token\nSet the CI/CD",
        ),
        (
            ["--host", "azure", "--repository", "acme/p1", "--pull-request", "7"],
            "Write it as ORGANIZATION/PROJECT/REPOSI",
        ),
        (
            ["--host", "bitbucket", "--repository", "a/b", "--pull-request", "7"],
            "Set the secured variable `BITBUCKET_TO",
        ),
        (["--host", "gitlab", "--repository", PROJECT, "--token", "x"], "Name the pull request: --pull-request N."),
    ],
)
def test_what_is_missing_is_told(flags: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish(*flags) == 2
    assert told in capsys.readouterr().err


def test_a_report_of_another_commit_is_not_posted(
    gitlab: FakeGitLab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    gitlab.add_merge_request(7, sha="b" * 40)
    monkeypatch.setenv("GITLAB_URL", gitlab.url.removesuffix("/api/v4"))

    assert publish("--host", "gitlab", "--repository", PROJECT, "--pull-request", "7", "--token", BOT_TOKEN) == 2

    golden(capsys.readouterr().err)
    assert gitlab.bodies(7) == []


@pytest.mark.parametrize(
    ("url", "page"),
    [
        ("https://github.com/acme/bots/pull/7", "https://github.com/acme/bots/commit/1"),
        ("https://gitlab.com/acme/group/bots/-/merge_requests/7", "https://gitlab.com/acme/group/bots/-/commit/1"),
        ("https://bitbucket.org/acme/bots/pull-requests/7", "https://bitbucket.org/acme/bots/commits/1"),
    ],
)
def test_a_builder_speaks_where_its_change_lies(url: str, page: str) -> None:
    variables = {"JENKINS_URL": "https://ci.example/", "CHANGE_ID": "7", "CHANGE_URL": url, "GIT_COMMIT": HEAD}

    host = find_host(variables, Secret("some-token"))
    silent = find_host(variables)

    assert host.target() == Target(7, HEAD, "")
    assert host.pages is not None
    assert host.pages.commit("1") == page
    assert "there is no token to write it with" in str(silent.target())
    for other in ("", url.replace("https://", "https://evil."), url.replace("https://", "http://")):
        assert "does not say which pull request" in str(find_host({**variables, "CHANGE_URL": other}).target())


def test_jenkins_comments_on_github(fake: FakeGitHub, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    fake.add_pull(7, head=HEAD)
    (folder / "domain.yml").write_text('version: "3.1"\nintents:\n- greet\n')
    job = {
        "JENKINS_URL": "https://ci.example/",
        "BUILD_NUMBER": "33",
        "BUILD_URL": "https://ci.example/job/bots/33/",
        "CHANGE_ID": "7",
        "CHANGE_URL": "https://github.com/acme/bots/pull/7",
        "GIT_COMMIT": HEAD,
        "GITHUB_API_URL": fake.url,
        "GITHUB_TOKEN": PERSON_TOKEN,
    }
    for name, value in job.items():
        monkeypatch.setenv(name, value)

    run_command_line(["run", "--evaluations", "validate"])

    (body,) = fake.bodies(7)
    assert "<!-- turncheck:run 33.1 -->" in body
    assert "[this run](https://ci.example/job/bots/33)" in body
    assert Path("results/findings.sarif").exists()
