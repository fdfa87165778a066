"""A comment of ours with the number of a run that cannot be: every host's next run writes over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pytest
from fake_azure import TOKEN as AZURE_TOKEN
from fake_azure import US, FakeAzure
from fake_bitbucket import AUTHORS as BITBUCKET_AUTHORS
from fake_bitbucket import TOKEN as BITBUCKET_TOKEN
from fake_bitbucket import FakeBitbucket
from fake_github import ACTIONS_TOKEN, FakeGitHub
from fake_gitlab import AUTHORS as GITLAB_AUTHORS
from fake_gitlab import BOT_TOKEN, PROJECT, FakeGitLab

from turncheck.ci.azure.host import AzureClient, AzureRepository
from turncheck.ci.bitbucket.host import BitbucketClient, BitbucketRepository, from_bitbucket, to_bitbucket
from turncheck.ci.comment import Comments, StickyComment
from turncheck.ci.github.client import GitHubClient
from turncheck.ci.github.context import IssueComments
from turncheck.ci.gitlab.host import GitLabClient, GitLabProject
from turncheck.ci.host import NO_RUN, RunStamp
from turncheck.process.environment import Secret

MARKER = "<!-- turncheck:report id=pizzeria -->"


class FakeServer(Protocol):
    """What the fakes have in common."""

    def close(self) -> None:
        """Stop it."""


@dataclass(frozen=True)
class Place:
    """The pull request of a fake host."""

    comments: Comments
    add: Callable[[str], object]
    """Adds a comment of our own."""
    texts: Callable[[], list[str]]
    server: FakeServer


def on_github() -> Place:
    fake = FakeGitHub()
    fake.add_pull(7)
    comments = IssueComments(GitHubClient(fake.url, Secret(ACTIONS_TOKEN)), "acme/bots", 7)
    return Place(comments, lambda body: fake.add_comment(7, body), lambda: fake.bodies(7), fake)


def on_gitlab() -> Place:
    fake = FakeGitLab()
    fake.add_merge_request(7)
    comments = GitLabProject(GitLabClient(fake.url, Secret(BOT_TOKEN)), PROJECT).notes(7, "")
    return Place(comments, lambda body: fake.add_note(7, body, GITLAB_AUTHORS[BOT_TOKEN]), lambda: fake.bodies(7), fake)


def on_azure() -> Place:
    fake = FakeAzure()
    comments = AzureRepository(AzureClient(fake.url, Secret(AZURE_TOKEN)), "p1", "r1", "").threads(7, resolved=False)
    return Place(comments, lambda body: fake.add_thread(body, US), lambda: [text for text, _ in fake.contents()], fake)


def on_bitbucket() -> Place:
    fake = FakeBitbucket()
    comments = BitbucketRepository(BitbucketClient(fake.url, Secret(BITBUCKET_TOKEN)), "acme/bots").comments(7)
    return Place(
        comments,
        lambda body: fake.add_comment(to_bitbucket(body), BITBUCKET_AUTHORS[BITBUCKET_TOKEN]),
        lambda: [from_bitbucket(raw) for raw in fake.raws()],
        fake,
    )


@pytest.fixture(params=[on_github, on_gitlab, on_azure, on_bitbucket])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    found: Place = request.param()
    yield found
    found.server.close()


@pytest.mark.parametrize(
    "run",
    [
        "17000000000.1",
        "99999999999999999999.9999999999999999999",
        "9" * 5_000 + ".1",
        "-3.1",
        "\uff19" * 15 + ".1",
        ".",
    ],
    ids=["GitHub's", "20 digits", "5,000 digits", "negative", "full-width", "none"],
)
def test_it_is_written_again_and_from_then_on(place: Place, run: str) -> None:
    place.add(f"{MARKER}<!-- turncheck:run {run} -->\npassed elsewhere")

    for number in (500, 501):
        comment = StickyComment(place.comments, MARKER)
        posted = comment.write(f"{MARKER}\nrun {number} failed", RunStamp(number))
        comment.confirm()
        assert posted.note == ""
        assert [text.rstrip() for text in place.texts()] == [f"{MARKER}{RunStamp(number)}\nrun {number} failed"]


def test_what_is_published_by_hand_does_not_make_it_last(place: Place) -> None:
    place.add(f"{MARKER}<!-- turncheck:run 99999999999999999999.1 -->\npassed elsewhere")

    StickyComment(place.comments, MARKER).write(f"{MARKER}\nby hand", NO_RUN)
    StickyComment(place.comments, MARKER).write(f"{MARKER}\nfailed", RunStamp(4))

    assert [text.rstrip() for text in place.texts()] == [f"{MARKER}{RunStamp(4)}\nfailed"]


def test_one_that_only_may_be_updated_is(place: Place) -> None:
    place.add(f"{MARKER}<!-- turncheck:run 99999999999999999999.1 -->\nfailed elsewhere")

    StickyComment(place.comments, MARKER).update(f"{MARKER}\npassed", RunStamp(4))

    assert [text.rstrip() for text in place.texts()] == [f"{MARKER}{RunStamp(4)}\npassed"]
