"""Reports of earlier runs as a baseline, from GitLab's job artifacts and Azure's build artifacts: whose are trusted."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import fake_azure
import fake_gitlab
import gitlab
import pytest
from fake_azure import FakeAzure
from fake_gitlab import FakeGitLab
from fake_host import Answer, Trouble
from golden_texts import Golden
from report_builder import report

from turncheck.ci.azure.host import Azure
from turncheck.ci.gitlab.host import GitLab
from turncheck.ci.host import EarlierReports, HostError
from turncheck.cli import run_command_line
from turncheck.report.codec import encode

BASE, OLDER, OLDEST = "3" * 40, "2" * 40, "1" * 40


def packed(*reports: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("results/junit.xml", "<testsuites/>")
        for folder, content in reports:
            archive.writestr(f"results/{folder}report.json", content)
    return file.getvalue()


def left(commit: str, root: str = "") -> bytes:
    return packed((f"{root}/" if root else "", encode(report(commit=commit, root=root))))


@dataclass
class Place:
    """A host and how a run of it leaves an archive."""

    fake: FakeGitLab | FakeAzure
    variables: dict[str, str]
    kind: type[GitLab | Azure]

    def leaves(self, commit: str, content: bytes, *, trusted: bool = True, branch: str = "main") -> int:
        if isinstance(self.fake, FakeGitLab):
            if trusted:
                return self.fake.add_pipeline(commit, content, branch)
            return self.fake.add_pipeline(commit, content, "refs/merge-requests/9/head", "merge_request_event")
        if trusted:
            return self.fake.add_build(commit, f"refs/heads/{branch}", turncheck=content)
        return self.fake.add_build(commit, "refs/pull/9/merge", "pullRequest", turncheck=content)

    def has_files(self, commit: str) -> None:
        """The base's own files say which assistant was measured there."""
        files = {"config.yml": b"pipeline: []\n", "domain.yml": b'version: "3.1"\n'}
        if isinstance(self.fake, FakeAzure):
            self.fake.files[commit] = {f"/{name}": content for name, content in files.items()}
            return
        kept = io.BytesIO()
        with tarfile.open(fileobj=kept, mode="w:gz") as archive:
            for name, content in files.items():
                entry = tarfile.TarInfo(f"bots-{commit}/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        self.fake.archives[commit] = kept.getvalue()

    @property
    def downloads(self) -> int:
        return sum("/jobs/" in seen.path or "artifactName" in seen.query for seen in self.fake.log)

    def host(self) -> GitLab | Azure:
        found = self.kind.detect(self.variables, None)
        assert found is not None
        return found

    def reports(self, root: str = "") -> EarlierReports:
        found = self.host().earlier_reports("turncheck", root)
        assert found is not None
        return found


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, Any]]:
    found: dict[str, Any] = {"gitlab": FakeGitLab(), "azure": FakeAzure()}
    yield found
    for one in found.values():
        one.close()


OF_GITLAB: Final = pytest.mark.parametrize("place", ["gitlab"], indirect=True)


@pytest.fixture(params=["gitlab", "azure"])
def place(request: pytest.FixtureRequest, fakes: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr("turncheck.ci.rest._ATTEMPTS", 1)
    fake = fakes[request.param]
    fake.reset()
    if request.param == "gitlab":
        variables = {
            "GITLAB_CI": "true",
            "CI_API_V4_URL": fake.url,
            "CI_PROJECT_PATH": fake_gitlab.PROJECT,
            "CI_PROJECT_ID": "7",
            "CI_PIPELINE_ID": "900",
            "CI_JOB_NAME": "turncheck",
            "CI_COMMIT_SHA": "b" * 40,
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_MERGE_REQUEST_DIFF_BASE_SHA": BASE,
            "GITLAB_TOKEN": fake_gitlab.BOT_TOKEN,
        }
        fake.add_merge_request(7)
        return Place(fake, variables, GitLab)
    variables = {
        "TF_BUILD": "True",
        "SYSTEM_COLLECTIONURI": f"{fake.url}/",
        "SYSTEM_TEAMPROJECTID": "p1",
        "SYSTEM_DEFINITIONID": "3",
        "BUILD_REPOSITORY_ID": "r1",
        "BUILD_REPOSITORY_PROVIDER": "TfsGit",
        "BUILD_REPOSITORY_URI": "https://dev.azure.com/acme/p/_git/bots",
        "BUILD_SOURCEVERSION": "b" * 40,
        "BUILD_BUILDID": "900",
        "SYSTEM_PULLREQUEST_PULLREQUESTID": "7",
        "SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main",
        "SYSTEM_PULLREQUEST_SOURCECOMMITID": "a" * 40,
        "SYSTEM_ACCESSTOKEN": fake_azure.TOKEN,
    }
    return Place(fake, variables, Azure)


def test_the_report_of_the_base_is_found_with_its_run(place: Place) -> None:
    place.leaves(OLDER, left(OLDER))
    run = place.leaves(BASE, left(BASE))
    place.leaves("9" * 40, left("9" * 40))

    found = place.reports().of_commit("main", BASE)

    assert found is not None
    assert (found.commit, found.report.source.commit) == (BASE, BASE)
    assert found.run_id == (f"{run}1" if isinstance(place.fake, FakeGitLab) else str(run)), "what the page of a run has"
    assert place.reports().of_commit("main", "8" * 40) is None


def test_what_a_change_or_a_fork_left_is_never_taken(place: Place) -> None:
    for commit in (BASE, OLDER):
        place.leaves(commit, left(commit), trusted=False)
    place.fake.history = [BASE, OLDER]
    reports = place.reports()

    assert reports.of_commit("main", BASE) is None
    assert reports.of_ancestor("main", BASE) is None
    assert reports.of_earlier_run("main", BASE) is None
    assert place.downloads == 0


def test_the_nearest_ancestor_of_the_branch_counts(place: Place) -> None:
    place.leaves(OLDEST, left(OLDEST))
    place.leaves(OLDER, left(OLDER))
    place.leaves("9" * 40, left("9" * 40))  # of the branch, later than the base
    place.leaves(BASE, left(BASE), branch="another")
    place.fake.history = [BASE, OLDER, OLDEST]

    found = place.reports().of_ancestor("main", BASE)

    assert found is not None
    assert found.commit == OLDER


def test_the_newest_of_the_branch_before_this_run(place: Place) -> None:
    place.leaves(OLDER, left(OLDER))
    place.leaves(BASE, left(BASE))
    place.fake.history = [BASE, OLDER]
    place.variables |= {"CI_PIPELINE_ID": "601", "BUILD_BUILDID": "201"}

    found = place.reports().of_earlier_run("main", BASE)

    assert found is not None
    assert found.commit == OLDER


def test_a_report_of_another_commit_or_project_is_left_alone(place: Place, golden: Golden) -> None:
    place.leaves(BASE, left("7" * 40))
    place.leaves(BASE, left(BASE, "bots/other"))
    place.leaves(BASE, packed())
    place.leaves(BASE, b"PK no zip")
    reports = place.reports()

    assert reports.of_commit("main", BASE) is None
    assert reports.other_projects
    assert reports.unreadable
    golden(reports.in_words())


def test_an_archive_is_downloaded_once_for_all_assistants(place: Place) -> None:
    both = packed(*((f"{root}/", encode(report(commit=BASE, root=root))) for root in ("bots/pizza", "bots/bank")))
    place.leaves(BASE, both)
    host = place.host()

    for root in ("bots/pizza", "bots/bank", "bots/none"):
        reports = host.earlier_reports("turncheck", root)
        assert reports is not None
        found = reports.of_commit("main", BASE)
        assert (found is not None) == (root != "bots/none")

    assert place.downloads == 1


def test_the_lists_of_runs_are_fetched_once_for_all_assistants(place: Place) -> None:
    place.fake.history = [BASE, OLDER]
    place.leaves(OLDER, left(OLDER, "bots/pizza"))
    host = place.host()
    asked: list[int] = []

    for root in ("bots/pizza", "bots/bank", "bots/none"):
        reports = host.earlier_reports("turncheck", root)
        assert reports is not None
        assert reports.of_commit("main", BASE) is None
        reports.of_ancestor("main", BASE)
        asked.append(len(place.fake.log))

    assert asked[0] > 0
    assert asked == [asked[0]] * 3, "the second and the third assistant ask nothing that the first has asked"


def test_a_list_that_could_not_be_fetched_is_asked_for_again(place: Place) -> None:
    place.leaves(BASE, left(BASE, "bots/bank"))
    place.fake.troubles.append(Trouble("GET", "pipelines|builds", Answer(500, {}), times=1))
    host = place.host()
    first, second = (host.earlier_reports("turncheck", root) for root in ("bots/pizza", "bots/bank"))
    assert first is not None
    assert second is not None

    with pytest.raises(HostError):
        first.of_commit("main", BASE)

    assert second.of_commit("main", BASE) is not None


@pytest.mark.parametrize(
    "answer",
    [
        Answer(401, {}),
        Answer(403, {"message": "403 Forbidden"}),
        Answer(404, {}),
        Answer(429, {}, {"Retry-After": "900"}),
        Answer(500, {}),
        Answer(200, content=b"garbage"),
        Answer(200, {"value": 7}),
        Answer(200, [{"id": "x"}]),
        Answer(close=True),
    ],
)
def test_a_host_that_does_not_say_is_an_error_with_its_reason(place: Place, answer: Answer) -> None:
    place.fake.troubles.append(Trouble("GET", "pipelines|builds", answer, times=9))

    with pytest.raises(HostError) as caught:
        place.reports().of_commit("main", BASE)

    for secret in (fake_gitlab.BOT_TOKEN, fake_azure.TOKEN):
        assert secret not in str(caught.value)


def test_without_a_token_or_a_name_of_the_job_nobody_is_asked(place: Place) -> None:
    for name in ("GITLAB_TOKEN", "SYSTEM_ACCESSTOKEN"):
        place.variables.pop(name, None)
    assert place.host().earlier_reports("turncheck", "") is None
    assert place.fake.log == []


@pytest.fixture
def job(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, Any]]:
    """Run, and return what the result was compared with."""
    monkeypatch.chdir(tmp_path)
    Path("domain.yml").write_text('version: "3.1"\nintents:\n- greet\n')
    for name, value in place.variables.items():
        monkeypatch.setenv(name, value)

    def run() -> dict[str, Any]:
        assert run_command_line(["run", "--evaluations", "validate"]) == 1
        found: dict[str, Any] = json.loads(Path("results/comparison.json").read_text())["baseline"]
        return found

    return run


def test_a_run_compares_with_what_a_run_of_the_base_left(place: Place, job: Callable[[], dict[str, Any]]) -> None:
    if isinstance(place.fake, FakeAzure):
        place.fake.merge_bases["main", "HEAD"] = BASE
        place.fake.merge_bases["main", "b" * 40] = BASE
    place.has_files(BASE)
    number = place.leaves(BASE, left(BASE))

    baseline = job()

    assert (baseline["status"], baseline["way"], baseline["commit"]) == ("present", "artifact", BASE), baseline
    assert baseline["run_id"].startswith(str(number))


def test_an_answer_that_refuses_changes_no_verdict(place: Place, job: Callable[[], dict[str, Any]]) -> None:
    place.fake.troubles.append(Trouble("GET", "pipelines|builds", Answer(403, {"message": "403 Forbidden"}), times=9))

    baseline = job()

    assert baseline["status"] == "unreachable"


@OF_GITLAB
def test_python_gitlab_reads_what_the_fake_answers(place: Place) -> None:
    assert isinstance(place.fake, FakeGitLab)
    archive = left(BASE)
    place.leaves(BASE, archive)
    theirs = gitlab.Gitlab(
        place.fake.url.removesuffix("/api/v4"), private_token=fake_gitlab.BOT_TOKEN, keep_base_url=True
    )
    project = theirs.projects.get(7, lazy=True)

    (pipeline,) = project.pipelines.list(sha=BASE, order_by="id", sort="desc", get_all=True)
    jobs = pipeline.jobs.list(scope=["success", "failed"], get_all=True)
    content = project.jobs.get(jobs[1].id, lazy=True).artifacts()

    assert (pipeline.sha, pipeline.source, jobs[1].name) == (BASE, "push", "turncheck")
    assert content == archive


@OF_GITLAB
def test_jobs_of_parallel_are_one_and_an_archive_that_has_expired_is_counted(place: Place) -> None:
    assert isinstance(place.fake, FakeGitLab)
    place.fake.add_pipeline(BASE, left(BASE), job="turncheck: [bots/pizza]")
    place.fake.add_pipeline(BASE, None)
    place.fake.add_pipeline(BASE, left(BASE), job="another job")
    place.variables["CI_JOB_NAME"] = "turncheck 1/2"
    reports = place.reports()

    assert reports.of_commit("main", BASE) is not None
    assert reports.in_words() == "1 expired"
