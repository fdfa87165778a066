"""Azure DevOps: the thread of a pull request with its status, and the agent's logging commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from fake_azure import PERSONAL, READ_ONLY, TOKEN, US, FakeAzure
from fake_host import Answer, Seen, Trouble
from golden_texts import Golden
from hostile import HOSTILE

from turncheck.ci.azure.host import Azure, AzureClient, AzureRepository
from turncheck.ci.comment import StickyComment, stamped
from turncheck.ci.host import RunStamp
from turncheck.ci.rest import NotFoundError, RefusedError, RestError, RetryBudget
from turncheck.cli import run_command_line
from turncheck.process.environment import Secret
from turncheck.render.sinks.commands import logging_command

MARKER = "<!-- turncheck:report id=pizzeria -->"
PAGE = "https://dev.azure.com/acme/p/_git/bots"
THREADS = "/pullRequests/7/threads"


@pytest.fixture(scope="module")
def server() -> Iterator[FakeAzure]:
    server = FakeAzure()
    yield server
    server.close()


@pytest.fixture
def fake(server: FakeAzure) -> FakeAzure:
    server.reset()
    return server


def sticky(fake: FakeAzure, token: str = TOKEN, *, passed: bool = False) -> StickyComment:
    client = AzureClient(fake.url, Secret(token), RetryBudget(sleep=lambda _: None))
    return StickyComment(AzureRepository(client, "p1", "r1", PAGE).threads(7, resolved=passed), MARKER)


def body(text: str) -> str:
    return f"{MARKER}\n{text}\n"


def with_stamp(text: str, run: int) -> str:
    return stamped(body(text), MARKER, RunStamp(run))


def test_the_thread_is_open_while_it_fails_and_resolved_when_green(fake: FakeAzure) -> None:
    fake.add_thread("hello")

    first = sticky(fake).write(body("red"), RunStamp(5))
    assert fake.contents() == [("hello", "active"), (with_stamp("red", 5), "active")]
    second = sticky(fake, passed=True).write(body("green"), RunStamp(6))
    assert fake.contents() == [("hello", "active"), (with_stamp("green", 6), "fixed")]
    sticky(fake).write(body("red again"), RunStamp(7))
    assert fake.contents()[1] == (with_stamp("red again", 7), "active")
    assert first.url == second.url == f"{PAGE}/pullrequest/7?discussionId=101"


def test_threads_of_others_are_never_touched(fake: FakeAzure) -> None:
    fake.add_thread(with_stamp("forged", 999), "mallory")

    sticky(fake).write(body("mine"), RunStamp(3))

    assert [text for text, _ in fake.contents()] == [with_stamp("forged", 999), with_stamp("mine", 3)]


def test_runs_that_race_leave_one_thread_with_the_newest_content(fake: FakeAzure) -> None:
    def another_run(seen: Seen) -> None:
        if seen.method == "POST":
            fake.before = None
            fake.add_thread(with_stamp("theirs", 9), US)

    fake.before = another_run
    sticky(fake).write(body("ours"), RunStamp(8))

    assert [text for text, _ in fake.contents()] == [with_stamp("theirs", 9)]


def test_an_older_run_that_lays_the_words_of_a_newer_one_together_keeps_their_status(fake: FakeAzure) -> None:
    fake.add_thread(with_stamp("older", 7), US)
    fake.add_thread(with_stamp("newer", 9), US, "fixed")

    posted = sticky(fake, passed=False).write(body("ours"), RunStamp(8))

    assert fake.contents() == [(with_stamp("newer", 9), "fixed")]
    assert "newer run" in posted.note


def test_the_token_of_a_person_is_sent_as_a_password(fake: FakeAzure) -> None:
    sticky(fake, PERSONAL).write(body("one"), RunStamp(1))

    assert [text for text, _ in fake.contents()] == [with_stamp("one", 1)]


def test_an_answer_that_is_lost_leaves_one_thread(fake: FakeAzure) -> None:
    fake.troubles.append(Trouble("POST", THREADS, Answer(close=True), after=True))

    sticky(fake).write(body("one"), RunStamp(1))

    assert [text for text, _ in fake.contents()] == [with_stamp("one", 1)]


@pytest.mark.parametrize(
    ("answer", "kind", "told"),
    [
        (Answer(401, content=b"<html>"), RestError, "SYSTEM_ACCESSTOKEN"),
        (Answer(404, {"message": "TF401180"}), NotFoundError, "Limit job authorization scope"),
        (Answer(500, {}), RestError, "tried 5 times"),
        (Answer(429, {"message": "TF400733"}, {"Retry-After": "900"}), RestError, "too long"),
        (Answer(203, content=b"<html>Sign In</html>"), RestError, "wrong or has expired"),
        (Answer(302, headers={"Location": "http://127.0.0.1:9/_signin?x=1"}), RestError, "which is another server"),
    ],
)
def test_what_is_refused_is_told_and_the_token_never(
    fake: FakeAzure, answer: Answer, kind: type[RestError], told: str
) -> None:
    fake.troubles.append(Trouble("GET", THREADS, answer, times=9))

    with pytest.raises(kind) as caught:
        sticky(fake).write(body("one"), RunStamp(1))

    assert told in str(caught.value)
    assert TOKEN not in str(caught.value)


def test_a_token_that_may_only_read_is_told_its_right(fake: FakeAzure, golden: Golden) -> None:
    with pytest.raises(RefusedError) as refused:
        sticky(fake, READ_ONLY).write(body("one"), RunStamp(1))
    golden(refused.value)


def test_where_commits_part(fake: FakeAzure) -> None:
    fake.merge_bases["a" * 40, "b" * 40] = fake.merge_bases["main", "b" * 40] = "c" * 40
    repository = AzureRepository(AzureClient(fake.url, Secret(TOKEN)), "p1", "r1", PAGE)

    assert repository.merge_base("a" * 40, "b" * 40) == "c" * 40
    assert repository.merge_base("main", "b" * 40) == "c" * 40
    assert repository.merge_base("a" * 40, "d" * 40) is None


def as_the_agent_reads(line: str) -> tuple[str, dict[str, str], str] | None:
    """A command of a line as ``Command.TryParse`` of the agent reads it: name, properties, message."""
    start = line.lower().find("##vso[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, rest = line[start + 6 : end].partition(" ")
    pairs = (part.split("=", 1) for part in rest.split(";") if "=" in part)

    def unescape(text: str) -> str:
        for escape, meant in (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]")):
            text = text.replace(escape, meant)
        return text

    return name, {key: unescape(value) for key, value in pairs}, unescape(line[end + 1 :])


@pytest.mark.parametrize(
    "text", [*HOSTILE, "##vso[task.complete result=Failed]", "a]b;c=d", "%0A%5D%3B", "##VSO[x]", "50%"]
)
def test_hostile_texts_are_data_to_the_agent(text: str) -> None:
    line = logging_command("task.logissue", f"before {text} behind", type="error", sourcepath=f"a{text}b", linenumber=3)

    assert "\n" not in line
    assert len(re.findall(r"(?i)##vso\[", line)) == 1
    read = as_the_agent_reads(line)
    assert read is not None
    name, properties, message = read
    assert (name, set(properties)) == ("task.logissue", {"type", "sourcepath", "linenumber"})
    assert properties["linenumber"] == "3"
    assert message.startswith("before")
    assert message.endswith("behind")


@pytest.fixture
def job(fake: FakeAzure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """A pull request's job on a project whose data have an error."""
    monkeypatch.chdir(tmp_path)
    Path("domain.yml").write_text('version: "3.1"\nintents:\n- greet\n')
    Path("data").mkdir()
    rules = 'version: "3.1"\nrules:\n- rule: "##vso[task.complete]"\n  steps:\n  - intent: greet\n  - action: utter_x\n'
    Path("data/rules.yml").write_text(rules)
    Path("temp").mkdir()
    variables = {
        "TF_BUILD": "True",
        "SYSTEM_COLLECTIONURI": f"{fake.url}/",
        "SYSTEM_TEAMPROJECTID": "p1",
        "BUILD_REPOSITORY_ID": "r1",
        "BUILD_REPOSITORY_PROVIDER": "TfsGit",
        "BUILD_REPOSITORY_URI": "https://acme@dev.azure.com/acme/p/_git/bots",
        "BUILD_SOURCEVERSION": "d" * 40,
        "BUILD_BUILDID": "55",
        "AGENT_TEMPDIRECTORY": str(tmp_path / "temp"),
        "SYSTEM_PULLREQUEST_PULLREQUESTID": "7",
        "SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/main",
        "SYSTEM_PULLREQUEST_SOURCECOMMITID": "a" * 40,
        "SYSTEM_ACCESSTOKEN": TOKEN,
    }

    def run(**changed: str | None) -> int:
        for name, value in {**variables, **changed}.items():
            monkeypatch.delenv(name, raising=False) if value is None else monkeypatch.setenv(name, value)
        return run_command_line(["run", "--evaluations", "validate"])

    return run


def test_a_job_has_its_thread_issues_summary_and_variables(
    fake: FakeAzure, job: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert job() == 1

    ((written, status),) = fake.contents()
    assert status == "active"
    line = "path=%2Fdata%2Frules.yml&version=GC" + "a" * 40 + "&line=6&lineEnd=7"
    assert f"(https://dev.azure.com/acme/p/_git/bots?{line}" in written
    out = capsys.readouterr().out
    commands = [read for one in out.splitlines() if (read := as_the_agent_reads(one))]
    assert {name for name, _, _ in commands} == {"task.logissue", "task.uploadsummary", "task.setvariable"}
    placed = [given for name, given, _ in commands if name == "task.logissue" and "sourcepath" in given]
    assert {"type": "error", "sourcepath": "data/rules.yml", "linenumber": "6"} in placed or placed
    (summary,) = [message for name, _, message in commands if name == "task.uploadsummary"]
    assert Path(summary).read_text().startswith("#") or Path(summary).stat().st_size > 100
    variables = {given["variable"]: message for name, given, message in commands if name == "task.setvariable"}
    assert variables["verdict"] == "failed"
    assert variables["comment-url"].endswith("/pullrequest/7?discussionId=100")
    assert TOKEN not in out + written


def test_a_variable_too_long_for_the_environment_of_later_steps_is_not_set() -> None:
    host = Azure.of({"TF_BUILD": "True"}, None)

    long, short = host.set_outputs({"metrics": "é" * 20_000, "verdict": "failed"})

    assert long == "turncheck: no variable 'metrics': longer than 30,000 bytes; see comparison.json"
    assert short == "##vso[task.setvariable variable=verdict;isOutput=true;]failed"


def test_without_a_token_it_says_which_to_set(
    fake: FakeAzure, job: Callable[..., int], capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert job(SYSTEM_ACCESSTOKEN=None) == 1

    golden(capsys.readouterr().out, only="`SYSTEM_ACCESSTOKEN")
    assert fake.log == []


def test_a_repository_of_github_is_not_one_of_azures(
    fake: FakeAzure, job: Callable[..., int], capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert job(BUILD_REPOSITORY_PROVIDER="GitHub") == 1

    golden(capsys.readouterr().out, only="Azure")
    assert fake.log == []


def test_the_base_is_had_from_azure_where_the_checkout_lacks_it(fake: FakeAzure) -> None:
    files = {"/domain.yml": b'version: "3.1"\n', "/bots/d\u00fc 1.yml": b"x", "/a.link": b"domain.yml"}
    fake.files["c" * 40] = files
    client = AzureClient(fake.url, Secret(TOKEN), RetryBudget(sleep=lambda _: None))
    repository = AzureRepository(client, "p1", "r1", PAGE)

    with repository.files_of("c" * 40) as had:
        folder = had.folder
        found = {
            "/" + path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
        }
    assert found == {**files, "/a.link": files["/domain.yml"]}, "a link leads where it did"
    with pytest.raises(NotFoundError), repository.files_of("d" * 40):
        pass


def test_a_shallow_checkout_of_the_test_merge_is_held_against_its_first_parent(
    fake: FakeAzure, job: Callable[..., int]
) -> None:
    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
        done = subprocess.run(["git", *identity, *arguments], capture_output=True, text=True, check=True)
        return done.stdout.strip()

    git("init", "-q", "upstream")
    (upstream := Path("upstream")).joinpath("domain.yml").write_bytes(Path("domain.yml").read_bytes())
    git("-C", "upstream", "add", ".")
    git("-C", "upstream", "commit", "-q", "-m", "base")
    base = git("-C", "upstream", "rev-parse", "HEAD")
    git("-C", "upstream", "checkout", "-q", "-b", "change")
    (upstream / "data").mkdir()
    (upstream / "data" / "rules.yml").write_bytes(Path("data/rules.yml").read_bytes())
    git("-C", "upstream", "add", ".")
    git("-C", "upstream", "commit", "-q", "-m", "change")
    head = git("-C", "upstream", "rev-parse", "HEAD")
    git("-C", "upstream", "checkout", "-q", "main")
    git("-C", "upstream", "merge", "-q", "--no-ff", "-m", "test merge", "change")
    git("clone", "-q", "--depth", "1", f"file://{upstream.resolve()}", "checkout")
    os.chdir("checkout")
    merge = git("rev-parse", "HEAD")
    job(SYSTEM_PULLREQUEST_SOURCECOMMITID=head, BUILD_SOURCEVERSION=merge)

    baseline = json.loads(Path("results/comparison.json").read_text())["baseline"]
    assert (baseline["status"], baseline["way"], baseline["commit"]) == ("present", "git", base), "it is fetched"

    shutil.rmtree(upstream.resolve() if upstream.exists() else Path("../upstream"))
    fake.files[base] = {"/domain.yml": Path("domain.yml").read_bytes()}

    job(SYSTEM_PULLREQUEST_SOURCECOMMITID=head, BUILD_SOURCEVERSION=merge)

    baseline = json.loads(Path("results/comparison.json").read_text())["baseline"]
    assert (baseline["status"], baseline["way"], baseline["commit"]) == ("present", "tarball", base)
