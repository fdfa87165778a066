"""The REST client: limits, trouble, paging, redirects, and where the token goes."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from fake_github import ACTIONS_TOKEN, READ_ONLY_TOKEN, FakeGitHub, refuse
from fake_host import Answer, Trouble
from golden_texts import Golden
from timing import Timing

from turncheck.ci.github.client import GitHubClient, MissingPermissionError
from turncheck.ci.github.stored_reports import merge_base
from turncheck.ci.rest import AnswerLostError, NotFoundError, RestError, RetryBudget, TooLargeError
from turncheck.process.environment import Secret

COMMENTS = "/repos/acme/bots/issues/7/comments"
NOW = 1_700_000_000.0


@dataclass
class Waits:
    """A clock that waiting moves."""

    waited: list[float] = field(default_factory=list)

    def patience(self, seconds: float = 300.0) -> RetryBudget:
        return RetryBudget(seconds, clock=lambda: NOW + sum(self.waited), sleep=self.waited.append)


@pytest.fixture
def waits() -> Waits:
    return Waits()


def client(
    fake: FakeGitHub, waits: Waits | None = None, token: str = ACTIONS_TOKEN, seconds: float = 300
) -> GitHubClient:
    return GitHubClient(fake.public, Secret(token), (waits or Waits()).patience(seconds))


def test_the_description_is_enforced_in_both_directions(github: FakeGitHub) -> None:
    github.add_pull(7)
    with pytest.raises(RestError, match="422"):
        client(github).post(COMMENTS, {"text": "no body"}, dict)
    assert github.log == []

    made = github.add_comment(7, "hello")
    del made["user"]
    with pytest.raises(RestError, match="500"):
        client(github).get(COMMENTS, list)


def test_every_request_says_who_asks_and_which_version_it_speaks(github: FakeGitHub) -> None:
    client(github).get(COMMENTS, list)

    headers = github.log[0].headers
    assert headers["accept"] == "application/vnd.github+json"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert headers["user-agent"].startswith("turncheck/")
    assert headers["authorization"] == f"Bearer {ACTIONS_TOKEN}"


def test_the_token_is_the_one_given_and_not_one_of_the_machine(
    fake: FakeGitHub, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = f"{tmp_path}/netrc"
    with open(netrc, "w", encoding="utf-8") as file:  # noqa: PTH123  # the name is all that is known of it
        file.write("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", netrc)

    client(fake).get(COMMENTS, list)
    with pytest.raises(RestError, match="401"):
        GitHubClient(fake.public, None, Waits().patience()).get(COMMENTS, list)

    assert "authorization" not in fake.log[1].headers


LIMITS: list[tuple[str, Answer, Callable[[float], bool]]] = [
    ("retry-after", Answer(403, {"message": "slow"}, {"Retry-After": "7"}), lambda s: s == 7),
    ("429", Answer(429, {"message": "slow"}, {"Retry-After": "11"}), lambda s: s == 11),
    (
        "primary",
        Answer(
            403,
            {"message": "API rate limit exceeded"},
            {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(NOW) + 42)},
        ),
        lambda s: 42 <= s <= 44,
    ),
    ("secondary", refuse(403, "You have exceeded a secondary rate limit."), lambda s: s >= 60),
    ("server", refuse(503, "Service Unavailable"), lambda s: 0 < s < 10),
    ("connection", Answer(close=True), lambda s: 0 < s < 10),
    ("half an answer", Answer(200, [{"x": 1}] * 100, broken=True), lambda s: 0 < s < 10),
]


@pytest.mark.parametrize(("answer", "fits"), [(a, f) for _, a, f in LIMITS], ids=[name for name, _, _ in LIMITS])
def test_limits_and_trouble_are_waited_for_as_long_as_github_says(
    fake: FakeGitHub, waits: Waits, answer: Answer, fits: Callable[[float], bool]
) -> None:
    fake.troubles.append(Trouble("GET", COMMENTS, answer))

    assert client(fake, waits).get(COMMENTS, list) == []

    assert len(waits.waited) == 1
    assert fits(waits.waited[0]), waits.waited


@pytest.mark.parametrize("answer", [a for _, a, _ in LIMITS], ids=[name for name, _, _ in LIMITS])
def test_waiting_is_bounded(fake: FakeGitHub, waits: Waits, answer: Answer) -> None:
    fake.troubles.append(Trouble("GET", COMMENTS, answer, times=1000))

    with pytest.raises(RestError, match=r"too long|tried"):
        client(fake, waits, seconds=100).get(COMMENTS, list)

    assert sum(waits.waited) <= 100
    assert len(fake.log) <= 5


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (refuse(403, "Resource not accessible by integration"), MissingPermissionError),
        (refuse(403, "Resource not accessible by personal access token"), MissingPermissionError),
        (refuse(403, "Must have admin rights"), RestError),
        (refuse(404, "Not Found"), NotFoundError),
        (refuse(410, "Gone"), NotFoundError),
        (refuse(422, "Validation Failed"), RestError),
        (refuse(401, "Bad credentials"), RestError),
        (Answer(404, content=b"<html>no json</html>"), NotFoundError),
        (Answer(200, content=b"<html>no json</html>"), RestError),
        (Answer(200, {"an": "object"}), RestError),
        (Answer(302, headers={"Location": "http://elsewhere.example/x"}), RestError),
    ],
)
def test_a_refusal_is_not_tried_again(fake: FakeGitHub, waits: Waits, answer: Answer, kind: type[Exception]) -> None:
    fake.troubles.append(Trouble("GET", COMMENTS, answer, times=1000))

    with pytest.raises(kind) as caught:
        client(fake, waits).get(COMMENTS, list, needs="pull-requests: write")

    assert waits.waited == []
    assert len(fake.log) == 1
    assert ACTIONS_TOKEN not in str(caught.value)


def test_a_missing_permission_names_the_line_to_add(github: FakeGitHub) -> None:
    github.add_pull(7)
    with pytest.raises(MissingPermissionError, match=r"`pull-requests: write`.*`permissions:`"):
        client(github, token=READ_ONLY_TOKEN).post(COMMENTS, {"body": "x"}, dict, needs="pull-requests: write")


def test_a_post_is_never_sent_twice_by_the_client(fake: FakeGitHub, waits: Waits) -> None:
    fake.add_pull(7)
    for answer in (Answer(close=True), refuse(502, "Bad Gateway"), Answer(201, {"x": 1}, broken=True)):
        fake.troubles.append(Trouble("POST", COMMENTS, answer))
        with pytest.raises(AnswerLostError):
            client(fake, waits).post(COMMENTS, {"body": "x"}, dict)

    assert len(fake.log) == 3
    assert waits.waited == []


def test_a_page_that_continues_on_another_host_is_refused(fake: FakeGitHub) -> None:
    link = {"Link": f'<{fake.blob_url}/x?page=2>; rel="next"'}
    fake.troubles.append(Trouble("GET", COMMENTS, Answer(200, [], link)))

    with pytest.raises(RestError, match="another host"):
        list(client(fake).pages(COMMENTS, dict))
    assert fake.blob_log == []


def test_a_download_is_followed_to_the_blobs_host_without_the_token(github: FakeGitHub) -> None:
    made = github.add_artifact(github.add_run("1" * 40), "turncheck", b"PK content")
    buffer = io.BytesIO()

    client(github).download(f"/repos/acme/bots/actions/artifacts/{made['id']}/zip", buffer, 100)

    assert buffer.getvalue() == b"PK content"
    assert [("authorization" in seen.headers, seen.query["sig"]) for seen in github.blob_log] == [
        (False, "secret+signature")
    ]


def test_a_download_is_not_read_beyond_its_limit(fake: FakeGitHub) -> None:
    made = fake.add_artifact(fake.add_run("1" * 40), "turncheck", b"x" * 3_000_000)
    buffer = io.BytesIO()

    with pytest.raises(TooLargeError):
        client(fake).download(f"/repos/acme/bots/actions/artifacts/{made['id']}/zip", buffer, 1_000_000)

    assert len(buffer.getvalue()) <= 2_000_000


def test_redirects_end(fake: FakeGitHub, golden: Golden) -> None:
    again = Answer(302, headers={"Location": COMMENTS})
    fake.troubles.append(Trouble("GET", COMMENTS, again, times=1000))

    with pytest.raises(RestError) as refused:
        client(fake).get(COMMENTS, list)
    golden(refused.value)


def test_a_moved_repository_is_followed_on_the_same_host(fake: FakeGitHub) -> None:
    fake.add_comment(7, "hello")
    fake.troubles.append(Trouble("GET", "/repos/acme/old", Answer(301, headers={"Location": COMMENTS})))

    assert [one["body"] for one in client(fake).get("/repos/acme/old", list)] == ["hello"]
    assert all("authorization" in seen.headers for seen in fake.log)


def test_a_host_that_does_not_answer_is_given_up(timing: Timing, golden: Golden) -> None:
    waits = Waits()
    with timing.at_most(5, time.monotonic), pytest.raises(RestError) as refused:
        GitHubClient("http://127.0.0.1:9", Secret("ghs_x"), waits.patience()).get("/user", dict)
    golden(refused.value)
    assert 0 < sum(waits.waited) < 300


@pytest.mark.parametrize("name", ["\udcff", "a\0b", "é" * 3000])
def test_a_branch_of_any_name_can_be_asked_for(name: str) -> None:
    client = GitHubClient("http://127.0.0.1:9", Secret("ghs_x"), Waits().patience())
    with pytest.raises(RestError, match=r"cannot be (reached|sent)"):
        client.get("/repos/acme/bots/pulls", dict, head=name)
    with pytest.raises(RestError, match=r"cannot be (reached|sent)"):
        merge_base(client, "acme/bots", name, name)
