"""Which state each event is compared with, and on which pull request it speaks, from the event alone."""

from __future__ import annotations

from typing import Any

import pytest
from golden_texts import Golden

from turncheck.ci.github.context import GitHubContext, PullRequest, find_target
from turncheck.ci.github.stored_reports import base_of
from turncheck.ci.host import Base, Target
from turncheck.comparison.model import Missing, Unreachable

NEW = "0" * 40
PULL = PullRequest(7, "7" * 40, "feature", "develop", "b" * 40, fork=False)
REPOSITORY = {"repository": {"default_branch": "main"}}


def context(event_name: str, ref: str, *, event: dict[str, Any] | None = None, **more: Any) -> GitHubContext:
    return GitHubContext("acme/bots", event_name, "5" * 40, ref, event={**REPOSITORY, **(event or {})}, **more)


@pytest.mark.parametrize(
    ("given", "base"),
    [
        (context("pull_request", "refs/pull/7/merge", pull_request=PULL), Base("develop", head="7" * 40, tip="b" * 40)),
        (context("push", "refs/heads/feature", event={"before": "9" * 40}), Base("main", head="5" * 40)),
        (context("push", "refs/heads/feature", event={"before": NEW}), Base("main", head="5" * 40)),
        (context("push", "refs/heads/main", event={"before": "9" * 40}), Base("main", commit="9" * 40, child="5" * 40)),
        (context("push", "refs/heads/main", event={"before": NEW}), Base("main", child="5" * 40)),
        (context("push", "refs/tags/v1", event={"before": NEW}), Base("main", head="5" * 40)),
        (
            context(
                "merge_group",
                "refs/heads/gh-readonly-queue/main/pr-7-x",
                event={"merge_group": {"base_ref": "refs/heads/release/1", "base_sha": "6" * 40}},
            ),
            Base("release/1", commit="6" * 40),
        ),
        (context("workflow_dispatch", "refs/heads/feature"), Base("main", head="5" * 40)),
        (context("workflow_dispatch", "refs/heads/main"), Base("main", tip="5" * 40)),
        (context("schedule", "refs/heads/main"), Base("main", tip="5" * 40)),
    ],
)
def test_each_event_has_its_base(given: GitHubContext, base: Base) -> None:
    assert base_of(given) == base


def test_an_event_that_says_nothing_has_none(golden: Golden) -> None:
    for event, kind in (("push", Unreachable), ("schedule", Missing)):
        found = base_of(GitHubContext("acme/bots", event, "5" * 40, "refs/heads/x"))
        assert type(found) is kind
        assert isinstance(found, Missing)
        golden(found.reason)
    for event in ("pull_request", "merge_group", "workflow_dispatch", "workflow_run", "issue_comment"):
        assert isinstance(base_of(GitHubContext("acme/bots", event, "5" * 40, "refs/heads/x")), Unreachable)


@pytest.mark.parametrize(
    ("fork", "actor", "reads_only"),
    [(False, "alice", ""), (True, "alice", "a fork"), (False, "dependabot[bot]", "Dependabot")],
)
def test_a_pull_request_speaks_on_itself(fork: bool, actor: str, reads_only: str) -> None:
    pull = PullRequest(7, "7" * 40, "feature", "develop", "b" * 40, fork=fork)

    found = find_target(context("pull_request", "refs/pull/7/merge", pull_request=pull, actor=actor), None)

    assert found == Target(7, "7" * 40, "develop", reads_only)


@pytest.mark.parametrize(
    ("event", "ref", "why"),
    [
        ("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-x", "merge queue"),
        ("schedule", "refs/heads/main", "belongs to no pull request"),
        ("push", "refs/tags/v1", "belongs to no pull request"),
        ("push", "refs/heads/feature", "without a token"),
    ],
)
def test_where_there_is_no_pull_request_it_says_why(event: str, ref: str, why: str) -> None:
    found = find_target(context(event, ref), None)

    assert isinstance(found, str)
    assert why in found
