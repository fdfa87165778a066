"""GitLab's merge-request note, base and files, on a GitLab that remembers.

No registry has GitLab's API description. The fake answers as its documentation does, python-gitlab reads every answer,
and what it sends for the same work is compared with what we send.
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gitlab
import pytest
from fake_gitlab import BOT_TOKEN, NARROW_TOKEN, PERSON_TOKEN, PROJECT, FakeGitLab
from fake_host import Answer, Seen, Trouble
from golden_texts import Golden
from hostile import HOSTILE

from turncheck.ci.comment import StickyComment, stamped
from turncheck.ci.gitlab.host import GitLab, GitLabClient, GitLabProject
from turncheck.ci.host import Base, HostError, RunStamp, Target
from turncheck.ci.rest import NotFoundError, RefusedError, RestError, RetryBudget
from turncheck.cli import run_command_line
from turncheck.comparison.model import Unreachable
from turncheck.process.environment import Secret
from turncheck.render.sinks.markdown import prose

MARKER = "<!-- turncheck:report id=pizzeria -->"
NOTES = r"/merge_requests/7/notes"
PAGE = f"https://gitlab.example/{PROJECT}/-/merge_requests/7"


@pytest.fixture(scope="module")
def server() -> Iterator[FakeGitLab]:
    server = FakeGitLab()
    yield server
    server.close()


@pytest.fixture
def fake(server: FakeGitLab) -> FakeGitLab:
    server.reset()
    server.add_merge_request(7)
    return server


def client(fake: FakeGitLab, token: str = BOT_TOKEN) -> GitLabClient:
    return GitLabClient(fake.url, Secret(token), RetryBudget(sleep=lambda _: None))


def sticky(fake: FakeGitLab, token: str = BOT_TOKEN) -> StickyComment:
    return StickyComment(GitLabProject(client(fake, token), PROJECT).notes(7, PAGE), MARKER)


def body(text: str) -> str:
    return f"{MARKER}\n{text}\n"


def with_stamp(text: str, run: int, attempt: int = 1) -> str:
    return stamped(body(text), MARKER, RunStamp(run, attempt))


def test_the_first_run_posts_and_the_next_one_updates(fake: FakeGitLab) -> None:
    fake.add_note(7, "hello")

    first = sticky(fake).write(body("one"), RunStamp(5))
    second = sticky(fake).write(body("two"), RunStamp(6))

    (number,) = [one["id"] for one in fake.notes.values() if one["body"] != "hello"]
    assert first.url == second.url == f"{PAGE}#note_{number}"
    assert fake.bodies(7) == ["hello", with_stamp("two", 6)]


def test_it_is_found_on_any_page(fake: FakeGitLab) -> None:
    fake.most_per_page = 10
    for number in range(25):
        fake.add_note(7, f"note {number}")
    fake.add_note(7, with_stamp("old", 1), "project_7_bot_4f")

    sticky(fake).write(body("new"), RunStamp(2))

    assert fake.bodies(7)[-1] == with_stamp("new", 2)
    assert len(fake.bodies(7)) == 26


def test_notes_of_others_and_of_gitlab_are_never_touched(fake: FakeGitLab) -> None:
    for author in ("mallory", "project_9_bot_aa"):
        fake.add_note(7, with_stamp("forged", 999), author)
    fake.add_note(7, with_stamp("event", 999), "project_7_bot_4f", system=True)

    sticky(fake).write(body("mine"), RunStamp(3))

    assert fake.bodies(7) == [with_stamp("forged", 999)] * 2 + [with_stamp("event", 999), with_stamp("mine", 3)]


def test_runs_that_race_leave_one_note_with_the_newest_content(fake: FakeGitLab) -> None:
    def another_run(seen: Seen) -> None:
        if seen.method == "POST":
            fake.before = None
            fake.add_note(7, with_stamp("theirs", 9), "project_7_bot_4f")

    fake.before = another_run

    sticky(fake).write(body("ours"), RunStamp(8))

    assert fake.bodies(7) == [with_stamp("theirs", 9)]


def test_a_retried_job_of_an_older_pipeline_leaves_the_newer_words(fake: FakeGitLab) -> None:
    sticky(fake).write(body("newer"), RunStamp(71, 8_000_000_000))

    posted = sticky(fake).write(body("older"), RunStamp(70, 9_000_000_000))

    assert "newer run" in posted.note
    assert fake.bodies(7) == [with_stamp("newer", 71, 8_000_000_000)]


def test_an_answer_that_is_lost_leaves_one_note(fake: FakeGitLab) -> None:
    fake.troubles.append(Trouble("POST", NOTES, Answer(close=True), after=True))

    sticky(fake).write(body("one"), RunStamp(1))

    assert fake.bodies(7) == [with_stamp("one", 1)]


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (Answer(401, {"message": "401 Unauthorized"}), RestError, "wrong or has expired"),
        (Answer(403, {"message": "403 Forbidden"}), RefusedError, "the scope `api` and the role Reporter"),
        (Answer(404, {"message": "404 Not found"}), NotFoundError, "belongs to another one"),
        (Answer(400, {"message": {"body": ["is too long"]}}), RestError, "is too long"),
        (Answer(500, {}), RestError, "tried 5 times"),
        (Answer(429, {"message": "Retry later"}, {"Retry-After": "600"}), RestError, "too long"),
        (Answer(200, {"message": "no list"}), RestError, "is not a list"),
        (Answer(200, content=b"<html>sign in</html>"), RestError, "is not JSON"),
        (Answer(302, headers={"Location": "http://evil.example/"}), RestError, "redirects"),
    ],
)
def test_what_gitlab_refuses_is_told_and_the_token_never(
    fake: FakeGitLab, answer: Answer, kind: type[RestError], told: str
) -> None:
    fake.troubles.append(Trouble("GET", NOTES, answer, times=9))

    with pytest.raises(kind) as caught:
        sticky(fake).write(body("one"), RunStamp(1))

    assert told in str(caught.value)
    assert BOT_TOKEN not in str(caught.value)


def test_a_limit_is_waited_for_as_long_as_it_says(fake: FakeGitLab) -> None:
    waited: list[float] = []
    fake.troubles.append(Trouble("GET", NOTES, Answer(429, {"message": "Retry later"}, {"Retry-After": "17"})))
    patient = GitLabClient(fake.url, Secret(BOT_TOKEN), RetryBudget(sleep=waited.append))

    StickyComment(GitLabProject(patient, PROJECT).notes(7, PAGE), MARKER).write(body("one"), RunStamp(1))

    assert waited == [17.0]
    assert fake.bodies(7) == [with_stamp("one", 1)]


def test_a_token_that_may_only_read_is_told_its_scope(fake: FakeGitLab) -> None:
    with pytest.raises(RefusedError, match="the scope `api`"):
        sticky(fake, NARROW_TOKEN).write(body("one"), RunStamp(1))


def test_python_gitlab_reads_the_fake_and_sends_what_we_send(fake: FakeGitLab) -> None:
    """The independent client: same methods, paths and bodies for the same work, and every answer is read."""
    theirs = gitlab.Gitlab(fake.url.removesuffix("/api/v4"), private_token=BOT_TOKEN, keep_base_url=True)
    theirs.auth()
    assert theirs.user is not None
    assert theirs.user.username == "project_7_bot_4f"
    request = theirs.projects.get(7, lazy=True).mergerequests.get(7)
    note = request.notes.create({"body": body("one")})
    note.body = body("two")
    note.save()
    listed = request.notes.list(get_all=True, sort="asc", order_by="created_at")
    note.delete()
    assert [one.body for one in listed] == [body("two")]
    assert [one.author["username"] for one in listed] == ["project_7_bot_4f"]

    def sent() -> set[tuple[str, str, str]]:
        return {
            (seen.method, seen.path.replace("acme%2Fgroup%2Fbots", "7").rstrip("0123456789"), str(seen.body))
            for seen in fake.log
            if seen.method != "GET"
        }

    of_theirs = sent()
    fake.log.clear()
    notes = GitLabProject(client(fake), PROJECT).notes(7, PAGE)
    written = notes.post(body("one"))
    notes.change(written, body("two"))
    assert [one.body for one in notes.all()] == [body("two")]
    notes.delete(written)
    assert sent() == of_theirs
    assert {seen.headers["private-token"] for seen in fake.log} == {BOT_TOKEN}


def test_where_states_part_and_what_a_commit_holds(fake: FakeGitLab) -> None:
    fake.merge_bases[frozenset({"main", "b" * 40})] = "c" * 40
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        member = tarfile.TarInfo("bots-main/domain.yml")
        member.size = 3
        archive.addfile(member, io.BytesIO(b"x\n\n"))
    fake.archives["c" * 40] = packed.getvalue()
    project = GitLabProject(client(fake), PROJECT)

    assert project.merge_base("main", "b" * 40) == "c" * 40
    assert project.merge_base("gone", "b" * 40) is None
    with project.files_of("c" * 40) as had:
        folder = had.folder
        assert (folder / "domain.yml").read_text() == "x\n\n"


# --- in a job --------------------------------------------------------------------------------------------------------


@pytest.fixture
def job(fake: FakeGitLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """A merge request's job on a project whose data have an error."""
    monkeypatch.chdir(tmp_path)
    Path("domain.yml").write_text('version: "3.1"\nintents:\n- greet\n')
    Path("data").mkdir()
    Path("data/rules.yml").write_text(
        'version: "3.1"\nrules:\n- rule: r\n  steps:\n  - intent: greet\n  - action: utter_x\n'
    )
    variables = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": fake.url,
        "CI_PROJECT_URL": f"https://gitlab.example/{PROJECT}",
        "CI_PROJECT_PATH": PROJECT,
        "CI_PROJECT_ID": "7",
        "CI_COMMIT_SHA": "b" * 40,
        "CI_JOB_ID": "12",
        "CI_JOB_URL": f"https://gitlab.example/{PROJECT}/-/jobs/12",
        "CI_PIPELINE_ID": "70",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "GITLAB_TOKEN": BOT_TOKEN,
        "CI_JOB_TOKEN": "glcbt-never-shown",
    }

    def run(*flags: str, **changed: str | None) -> int:
        for name, value in {**variables, **changed}.items():
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
        return run_command_line(["run", "--evaluations", "validate", *flags])

    return run


def test_a_job_writes_its_note_and_the_files_that_gitlab_reads(
    fake: FakeGitLab, job: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert job() == 1

    (written,) = fake.bodies(7)
    assert written.startswith("<!-- turncheck:report id=")
    assert "<!-- turncheck:run 70.12 -->" in written.partition("\n")[0]
    assert f"(https://gitlab.example/{PROJECT}/-/blob/{'b' * 40}/data/rules.yml#L6)" in written
    assert f"(https://gitlab.example/{PROJECT}/-/jobs/12/artifacts/browse/results/)" in written
    quality = json.loads(Path("results/gl-code-quality-report.json").read_text())
    assert {one["location"]["path"] for one in quality} >= {"data/rules.yml"}
    assert Path("results/metrics.txt").read_text().endswith("# EOF\n")
    (link,) = json.loads(Path("results/gl-annotations.json").read_text())["turncheck"]
    assert link["external_link"]["url"].endswith("/-/jobs/12/artifacts/file/results/report.html")
    printed = capsys.readouterr()
    for secret in (BOT_TOKEN, "glcbt-never-shown"):
        assert secret not in printed.out + printed.err + written


@pytest.mark.parametrize("status", [401, 403, 404, 500, 503])
def test_nothing_that_fails_there_changes_the_verdict(
    fake: FakeGitLab,
    job: Callable[..., int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    status: int,
) -> None:
    monkeypatch.setattr("turncheck.ci.rest._ATTEMPTS", 1)
    fake.troubles.append(Trouble("GET", "/", Answer(status, {"message": "no"}), times=99))

    assert job() == 1

    assert "turncheck: warning: comment: GitLab answers" in capsys.readouterr().out
    assert Path("results/comment.md").exists()


def test_without_a_token_it_says_which_to_set_and_a_fork_why(
    fake: FakeGitLab, job: Callable[..., int], capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    job(GITLAB_TOKEN=None)
    told = capsys.readouterr().out
    golden(told, only="CI/CD")
    assert "fork" not in told

    job(GITLAB_TOKEN=None, CI_MERGE_REQUEST_SOURCE_PROJECT_ID="8")
    golden(capsys.readouterr().out, only="CI/CD")
    assert fake.log == []


def test_the_base_is_had_from_gitlab_where_the_checkout_lacks_it(fake: FakeGitLab, job: Callable[..., int]) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in (
            ("domain.yml", Path("domain.yml").read_text()),
            ("data/rules.yml", 'version: "3.1"\nrules: []\n'),
        ):
            member = tarfile.TarInfo(f"bots-{'c' * 40}/{name}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    fake.archives["c" * 40] = packed.getvalue()

    job(CI_MERGE_REQUEST_DIFF_BASE_SHA="c" * 40)

    baseline: dict[str, Any] = json.loads(Path("results/comparison.json").read_text())["baseline"]
    assert (baseline["status"], baseline["way"], baseline["commit"]) == ("present", "tarball", "c" * 40)


def test_a_branch_with_an_open_merge_request_speaks_there_and_is_held_against_its_target(fake: FakeGitLab) -> None:
    fake.add_merge_request(9, target="release")
    variables = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": fake.url,
        "CI_PROJECT_PATH": PROJECT,
        "CI_COMMIT_BRANCH": "feature",
        "CI_COMMIT_SHA": "b" * 40,
        "CI_DEFAULT_BRANCH": "main",
        "CI_OPEN_MERGE_REQUESTS": f"{PROJECT}!9",
    }
    host = GitLab.detect(variables, Secret(PERSON_TOKEN))
    assert host is not None

    base = host.base(lambda *_: None)

    assert isinstance(base, Base)
    assert (base.branch, base.head) == ("release", "HEAD")
    assert host.run.of_a_change
    assert host.target() == Target(9, "b" * 40, "")
    warned: list[HostError] = []
    fake.troubles.append(Trouble("GET", "/merge_requests/9", Answer(403, {"message": "403 Forbidden"})))
    base = host.base(lambda _, error: warned.append(error))
    assert isinstance(base, Base)
    assert (base.branch, len(warned)) == ("main", 1)


@pytest.mark.parametrize("opened", [f"acme/other!3,{PROJECT}!9", f"{PROJECT}!9,acme/other!3"])
def test_merge_requests_in_several_projects_leave_the_base_open_and_the_comment_in_its_own(
    fake: FakeGitLab, opened: str
) -> None:
    """Whose own project it is does not matter: that of a fork has a token, too, and merge requests of its author."""
    fake.add_merge_request(9, target="release")
    variables = {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": fake.url,
        "CI_PROJECT_PATH": PROJECT,
        "CI_COMMIT_BRANCH": "feature",
        "CI_COMMIT_SHA": "b" * 40,
        "CI_DEFAULT_BRANCH": "main",
        "CI_OPEN_MERGE_REQUESTS": opened,
    }
    host = GitLab.detect(variables, Secret(PERSON_TOKEN))
    assert host is not None

    assert isinstance(host.base(lambda *_: None), Unreachable)
    assert host.run.of_a_change
    target = host.target()
    assert target == Target(9, "b" * 40, "")
    marker = "<!-- turncheck:report id=x -->"
    host.comment(target, marker, passed=True).write(f"{marker}\nsaid", RunStamp(1))
    assert len(fake.bodies(9)) == 1


def test_a_pull_request_of_github_that_gitlab_builds_names_its_target() -> None:
    variables = {
        "GITLAB_CI": "true",
        "CI_DEFAULT_BRANCH": "main",
        "CI_COMMIT_BRANCH": "feature",
        "CI_EXTERNAL_PULL_REQUEST_IID": "3",
        "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME": "develop",
        "CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_SHA": "c" * 40,
    }
    host = GitLab.detect(variables, None)
    assert host is not None

    assert host.base(lambda *_: None) == Base("develop", head="HEAD", tip="c" * 40)
    assert host.run.of_a_change


@pytest.mark.parametrize("text", [*HOSTILE, "!7", "%7", '%"v1"', "&7", "$7", "~7", "^alert#7", "/close", "x !7 %1 &2"])
def test_no_text_becomes_a_reference_of_gitlabs(text: str) -> None:
    """What GitLab's filters look for in rendered text: a sign directly before a number or a name."""
    shown = prose(text).replace("&amp;", "&")

    for sign in "!%&@#":
        position = shown.find(sign)
        while position >= 0:
            following = shown[position + 1 : position + 2]
            assert not following.isdigit(), shown
            position = shown.find(sign, position + 1)
