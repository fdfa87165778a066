"""Check runs, held against GitHub's own API description."""

from __future__ import annotations

import pytest
from fake_github import ACTIONS_TOKEN, READ_ONLY_TOKEN, FakeGitHub, refuse
from fake_host import Answer, Trouble
from msgspec.structs import replace

from turncheck.ci.github.client import CheckAnnotation, CheckRun, GitHubClient, MissingPermissionError, post_check_run
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.process.environment import Secret

CHECK = CheckRun(
    name="turncheck: bot",
    commit="2" * 40,
    conclusion="failure",
    title="2 errors",
    summary="**2 errors**",
    identity="turncheck/5.1/bot",
    details_url="https://github.com/acme/bots/actions/runs/5",
    annotations=[CheckAnnotation("bot/domain.yml", n, "failure", f"title {n}", f"message {n}") for n in range(120)],
)


def post(fake: FakeGitHub, check: CheckRun = CHECK, token: str = ACTIONS_TOKEN) -> str | None:
    client = GitHubClient(fake.public, Secret(token), RetryBudget(sleep=lambda _: None))
    return post_check_run(client, "acme/bots", check)


def test_annotations_come_in_batches_of_fifty_and_lines_begin_at_one(github: FakeGitHub) -> None:
    url = post(github)

    (check,) = github.checks.values()
    assert url == check["html_url"]
    assert [len(seen.body["output"]["annotations"]) for seen in github.log] == [50, 50, 20]
    kept = github.annotations[check["id"]]
    assert [one["message"] for one in kept] == [f"message {n}" for n in range(120)]
    assert kept[0]["start_line"] == kept[0]["end_line"] == 1
    assert (check["status"], check["conclusion"]) == ("completed", "failure")


@pytest.mark.parametrize(("count", "requests"), [(0, 1), (1, 1), (50, 1), (51, 2), (5000, 20)])
def test_no_more_requests_than_it_takes(fake: FakeGitHub, count: int, requests: int) -> None:
    post(fake, replace(CHECK, conclusion="success", annotations=[CHECK.annotations[0]] * count))

    assert len(fake.log) == requests
    assert next(iter(fake.checks.values()))["conclusion"] == "success"


def test_long_texts_are_cut_to_what_github_takes(github: FakeGitHub) -> None:
    long = CheckAnnotation("a.yml", 3, "warning", "t" * 999, "m" * 99_999)

    post(github, replace(CHECK, name="n" * 999, title="t" * 999, summary="s" * 99_999, annotations=[long]))

    ((kept,),) = github.annotations.values()
    assert (len(kept["title"]), len(kept["message"])) == (250, 60_000)


def test_messages_are_cut_by_their_bytes(github: FakeGitHub) -> None:
    post(github, replace(CHECK, annotations=[CheckAnnotation("a.yml", 3, "warning", "t", "語" * 50_000)]))

    ((kept,),) = github.annotations.values()
    assert kept["message"] == "語" * 20_000


@pytest.mark.parametrize("arrived", [True, False])
def test_a_check_run_whose_answer_was_lost_is_looked_for(fake: FakeGitHub, arrived: bool) -> None:
    post(fake, replace(CHECK, identity="turncheck/4.1/bot"))
    fake.troubles.append(Trouble("POST", "/check-runs", Answer(close=True), after=arrived))

    post(fake)

    assert sorted(one["external_id"] for one in fake.checks.values()) == ["turncheck/4.1/bot", "turncheck/5.1/bot"]
    assert [len(kept) for kept in fake.annotations.values()] == [120, 120]


def test_a_missing_permission_is_named(github: FakeGitHub) -> None:
    with pytest.raises(MissingPermissionError, match="checks: write"):
        post(github, token=READ_ONLY_TOKEN)


def test_a_batch_that_is_refused_is_an_error(fake: FakeGitHub) -> None:
    fake.troubles.append(Trouble("PATCH", "/check-runs", refuse(422, "Validation Failed")))

    with pytest.raises(RestError, match="422"):
        post(fake)
