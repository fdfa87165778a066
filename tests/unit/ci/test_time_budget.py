"""One budget of time for all calls of a run that ask, and one for those that publish, whatever each call takes."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from golden_texts import Golden
from small_project import write_project
from web_servers import Answer, serving

from turncheck import action
from turncheck.ci import rest
from turncheck.ci.azure.host import Azure
from turncheck.ci.bitbucket.host import Bitbucket
from turncheck.ci.github.client import GitHubClient
from turncheck.ci.github.context import IssueComments
from turncheck.ci.github.host import GitHub
from turncheck.ci.gitlab.host import GitLab
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.cli import run_command_line
from turncheck.messages.errors import UserError
from turncheck.process.environment import Secret
from turncheck.publishing.publish import Publishing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TOKEN = Secret("ghs_" + "s" * 20)
API = "http://127.0.0.1:9"
COMMENT = {"id": 1, "user": {"login": "a"}, "body": "b", "html_url": "https://c.example"}


class SlowHost:
    """A host each of whose answers takes a while, and names a next page; the clock is its own."""

    def __init__(self, seconds: float, document: Any, headers: Mapping[str, str] | None = None, status: int = 200):
        self.seconds, self.document, self.status = seconds, document, status
        self.headers = dict(headers or {})
        self.now = 0.0
        self.pages = 0
        self.limits: list[float] = []

    @contextmanager
    def exchange(self, _session: Any, _call: Any, seconds: float, **_more: Any) -> Iterator[Any]:
        self.limits.append(seconds)
        self.now += min(self.seconds, seconds)
        if self.seconds > seconds:
            import requests

            raise requests.ReadTimeout
        self.pages += 1
        yield self

    @property
    def ok(self) -> bool:
        return self.status < 400

    @property
    def status_code(self) -> int:
        return self.status

    @property
    def reason(self) -> str:
        return "Too Many Requests"

    @property
    def links(self) -> dict[str, dict[str, str]]:
        return {"next": {"url": f"{API}/next?page={self.pages + 1}"}}

    def iter_content(self, _size: int) -> Iterator[bytes]:
        yield msgspec.json.encode(self.document)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[..., SlowHost]:
    def made(*given: Any, **named: Any) -> SlowHost:
        host = SlowHost(*given, **named)
        monkeypatch.setattr(rest, "exchange", host.exchange)
        monkeypatch.setattr("turncheck.ci.rest.time.monotonic", lambda: host.now)
        return host

    return made


def client(seconds: float = 300.0, said: list[str] | None = None) -> GitHubClient:
    said = [] if said is None else said
    return GitHubClient(API, TOKEN, RetryBudget(seconds, clock=lambda: 0.0, sleep=lambda _: None, say=said.append))


@pytest.mark.parametrize("seconds", [0.5, 5.0, 20.0, 59.0, 1000.0])
def test_calls_that_succeed_slowly_have_a_limit_together(
    slow: Callable[..., SlowHost], seconds: float, golden: Golden
) -> None:
    host = slow(seconds, [{"x": 1}])
    asked = client()

    with pytest.raises(RestError) as refused:
        list(asked.pages("/list", dict))
    golden(refused.value)

    assert host.now <= 300 + 60
    assert min(host.limits) >= 1.0


def test_nothing_more_is_asked_when_the_time_is_over(slow: Callable[..., SlowHost], golden: Golden) -> None:
    host = slow(20.0, [{"x": 1}])
    asked = client()
    with pytest.raises(RestError) as refused:
        list(asked.pages("/list", dict))
    golden(refused.value)
    calls = len(host.limits)

    for _ in range(5):
        with pytest.raises(RestError, match="/other") as refused:
            asked.get("/other", dict)
        golden(refused.value)

    assert len(host.limits) == calls == 15


def test_a_call_gets_no_more_time_than_is_left(slow: Callable[..., SlowHost]) -> None:
    host = slow(40.0, [{"x": 1}])

    with pytest.raises(RestError):
        list(client(100.0).pages("/list", dict))

    assert host.limits[:3] == [60.0, 60.0, 20.0]


@pytest.mark.parametrize("after", ["3600", "100000", "299", "9" * 400])
def test_a_long_wait_that_the_host_asks_for_is_within_the_time(slow: Callable[..., SlowHost], after: str) -> None:
    said: list[str] = []
    host = slow(1.0, {"message": "slow down"}, {"retry-after": after}, 429)
    asked = client(said=said)

    for _ in range(3):
        with pytest.raises(RestError):
            asked.get("/x", dict)

    assert asked.patience.spent <= 300
    assert host.now < 10
    assert len(said) == (after == "299")


def test_of_the_comments_of_a_pull_request_a_hundred_pages_are_read(
    slow: Callable[..., SlowHost], golden: Golden
) -> None:
    host = slow(0.01, [COMMENT])

    with pytest.raises(RestError) as refused:
        list(IssueComments(client(), "acme/bots", 7).all())
    golden(refused.value)

    assert host.pages == 100


def test_it_is_said_what_is_being_waited_for(slow: Callable[..., SlowHost], golden: Golden) -> None:
    said: list[str] = []
    slow(1.0, {"message": "busy"}, status=503)

    with pytest.raises(RestError, match="tried 5 times"):
        client(said=said).get("/repos/acme/bots", dict)

    golden(said[0])
    assert len(said) == 4


def test_what_a_host_says_is_a_line_of_text_in_the_log(
    slow: Callable[..., SlowHost], capsys: pytest.CaptureFixture[str]
) -> None:
    slow(1.0, {"message": "busy\n::error::forged\x1b[31m"}, status=503)
    asked = GitHubClient(API, TOKEN, RetryBudget(sleep=lambda _: None))

    with pytest.raises(RestError, match="tried 5 times"):
        asked.get("/x", dict)

    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4
    assert not any(line.startswith("::") or "\x1b" in line for line in said)


def test_a_call_that_takes_long_is_named_while_it_lasts(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    import threading

    named = threading.Event()
    said: list[str] = []

    def say(text: str) -> None:
        said.append(text)
        named.set()

    monkeypatch.setattr(rest, "_LONG", 0.01)
    with RetryBudget(say=say).watched("GET /x (GitHub)"):
        assert named.wait(10)

    golden(*said)


GIVEN: dict[str, tuple[Any, dict[str, str]]] = {
    "GitHub": (GitHub, {"GITHUB_REPOSITORY": "acme/bots", "GITHUB_ACTIONS": "true"}),
    "GitLab": (GitLab, {"GITLAB_CI": "true", "CI_PROJECT_ID": "7", "CI_API_V4_URL": API}),
    "Azure DevOps": (
        Azure,
        {
            "TF_BUILD": "True",
            "SYSTEM_COLLECTIONURI": API,
            "SYSTEM_TEAMPROJECTID": "p",
            "BUILD_REPOSITORY_ID": "r",
            "BUILD_REPOSITORY_PROVIDER": "TfsGit",
            "BUILD_REPOSITORY_URI": "https://dev.azure.com/acme/bots/_git/bots",
        },
    ),
    "Bitbucket": (Bitbucket, {"BITBUCKET_BUILD_NUMBER": "1", "BITBUCKET_REPO_FULL_NAME": "acme/bots"}),
}


@pytest.mark.parametrize("name", GIVEN)
def test_asking_and_publishing_have_a_budget_each(
    name: str, slow: Callable[..., SlowHost], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was spent on the search for a base is not missing when the comment is written."""
    kind, variables = GIVEN[name]
    host = kind.detect({**variables}, TOKEN)
    unhurried = partial(RetryBudget, sleep=lambda _: None, say=lambda _: None)
    monkeypatch.setattr(rest, "RetryBudget", unhurried)
    monkeypatch.setattr(f"{kind.__module__}.RetryBudget", unhurried, raising=False)
    made = slow(1000.0, {})
    for _ in range(20):
        with pytest.raises(RestError):
            host.merge_base("main", "1" * 40)
    asking = made.now

    for _ in range(20):
        with pytest.raises(RestError):
            host.target_of_number(7)

    assert 200 < asking <= 301
    assert 200 < made.now - asking <= 301


def piped(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    """Let standard output be as a job has it: a pipe, into which Python writes when its buffer is full."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BufferedWriter(written), "utf-8"))
    return written


def test_the_log_of_the_action_has_at_once_what_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that is ended while it publishes has shown its verdict."""
    written = piped(monkeypatch)
    seen: list[bytes] = []

    def run(_environment: Any, write: Callable[[str], object]) -> int:
        write("the verdict\n")
        seen.append(written.getvalue())
        return 0

    monkeypatch.setattr(action, "run_action", run)
    action.main()

    assert seen == [b"the verdict\n"]


def test_a_run_shows_its_summary_before_it_publishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = piped(monkeypatch)
    seen: list[tuple[bytes, bool]] = []

    def publish(*_: Any) -> Publishing:
        seen.append((written.getvalue(), (tmp_path / "results" / "report.json").is_file()))
        raise UserError("the host is gone")

    monkeypatch.setattr("turncheck.publishing.publish.publish", publish)
    monkeypatch.setenv("GITLAB_CI", "true")
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)

    assert run_command_line(["run", "--evaluations", "validate", "--baseline", "none", "--quiet"]) == 2

    ((shown, is_written),) = seen
    assert is_written
    assert b"something-was-tested" in shown


def test_a_certificate_that_is_not_trusted_is_named_at_once_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)
    waits: list[float] = []
    with serving({"/": Answer()}) as server:
        asked = GitHubClient(server.address, TOKEN, RetryBudget(sleep=waits.append))
        with pytest.raises(RestError, match="SSL_CERT_FILE"):
            asked.get("/repos/a/b", dict)
    assert (waits, server.requests) == ([], [])


@pytest.mark.parametrize("trouble", ["UNEXPECTED_EOF_WHILE_READING", "WRONG_VERSION_NUMBER"])
def test_any_other_trouble_with_tls_may_pass(trouble: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import requests

    def refuse(*_: object, **__: object) -> None:
        raise requests.exceptions.SSLError(trouble)

    monkeypatch.setattr(rest, "exchange", refuse)
    waits: list[float] = []
    with pytest.raises(RestError, match="reached"):
        GitHubClient(API, TOKEN, RetryBudget(sleep=waits.append)).get("/repos/a/b", dict)
    assert waits
