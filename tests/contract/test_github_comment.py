"""The sticky comment, on a GitHub that remembers; requests and answers held against GitHub's own API description."""

from __future__ import annotations

import pytest
from fake_github import ACTIONS_TOKEN, APP_TOKEN, PERSON_TOKEN, READ_ONLY_TOKEN, FakeGitHub, refuse
from fake_host import Answer, Seen, Trouble

from turncheck.ci.comment import StickyComment, stamped
from turncheck.ci.github.client import GitHubClient, MissingPermissionError
from turncheck.ci.github.context import IssueComments
from turncheck.ci.host import RunStamp
from turncheck.ci.rest import NotFoundError, RestError, RetryBudget
from turncheck.process.environment import Secret

MARKER = "<!-- turncheck:report id=pizzeria -->"
PATH = r"/issues/7/comments"


def sticky(fake: FakeGitHub, token: str = ACTIONS_TOKEN, number: int = 7) -> StickyComment:
    client = GitHubClient(fake.public, Secret(token), RetryBudget(sleep=lambda _: None))
    return StickyComment(IssueComments(client, "acme/bots", number), MARKER)


def body(text: str) -> str:
    return f"{MARKER}\n{text}\n"


def with_stamp(text: str, run: int, attempt: int = 1) -> str:
    return stamped(body(text), MARKER, RunStamp(run, attempt))


def test_the_first_run_posts_and_the_next_one_updates(github: FakeGitHub) -> None:
    github.add_pull(7)
    github.add_comment(7, "hello", "alice")

    first = sticky(github).write(body("one"), RunStamp(5))
    second = sticky(github).write(body("two"), RunStamp(6))

    assert first.url == second.url
    assert github.bodies(7) == ["hello", with_stamp("two", 6)]
    assert github.bodies(7)[1].startswith(MARKER)


def test_it_is_found_on_any_page(github: FakeGitHub) -> None:
    github.add_pull(7)
    github.per_page = 10
    for number in range(25):
        github.add_comment(7, f"comment {number}", "alice")
    github.add_comment(7, with_stamp("old", 1))
    for number in range(25):
        github.add_comment(7, f"comment {number}", "alice")

    sticky(github).write(body("new"), RunStamp(2))

    assert github.bodies(7)[25] == with_stamp("new", 2)
    assert len(github.bodies(7)) == 51


def test_comments_of_others_are_never_touched_whatever_they_begin_with(github: FakeGitHub) -> None:
    github.add_pull(7)
    forged = [github.add_comment(7, with_stamp("forged", 999), author)["id"] for author in ("mallory", "other[bot]")]

    sticky(github).write(body("mine"), RunStamp(3))

    assert [github.comments[number]["body"] for number in forged] == [with_stamp("forged", 999)] * 2
    assert github.bodies(7)[-1] == with_stamp("mine", 3)


@pytest.mark.parametrize(("token", "author"), [(PERSON_TOKEN, "alice"), (APP_TOKEN, "team-reports[bot]")])
def test_other_kinds_of_tokens_find_their_own_comment(github: FakeGitHub, token: str, author: str) -> None:
    github.add_pull(7)
    own = github.add_comment(7, with_stamp("old", 1), author)["id"]
    foreign = (
        github.add_comment(7, with_stamp("old", 1), "github-actions[bot]")["id"] if token == PERSON_TOKEN else None
    )

    sticky(github, token).write(body("new"), RunStamp(2))

    assert github.comments[own]["body"] == with_stamp("new", 2)
    assert len(github.comments) == (2 if foreign else 1)


def test_an_older_run_leaves_the_words_of_a_newer_one_alone(github: FakeGitHub) -> None:
    github.add_pull(7)
    github.add_comment(7, with_stamp("newer", 9, 2))

    for older in (RunStamp(8, 5), RunStamp(9, 1)):
        posted = sticky(github).write(body("older"), older)

        assert posted.note
        assert github.bodies(7) == [with_stamp("newer", 9, 2)]


def test_several_assistants_have_one_comment_each(github: FakeGitHub) -> None:
    github.add_pull(7)
    github.add_comment(7, "<!-- turncheck:report id=pizzeria-2 -->\nother")

    sticky(github).write(body("mine"), RunStamp(1))

    assert len(github.bodies(7)) == 2


def test_an_update_needs_something_to_update(github: FakeGitHub) -> None:
    github.add_pull(7)

    assert sticky(github).update(body("resolved"), RunStamp(2)).url is None
    github.add_comment(7, with_stamp("failed", 1))
    assert sticky(github).update(body("resolved"), RunStamp(2)).url

    assert github.bodies(7) == [with_stamp("resolved", 2)]


def test_a_token_that_may_only_read_is_told_which_permission_it_lacks(github: FakeGitHub) -> None:
    github.add_pull(7)

    with pytest.raises(MissingPermissionError, match="pull-requests: write") as caught:
        sticky(github, READ_ONLY_TOKEN).write(body("x"), RunStamp(1))

    assert READ_ONLY_TOKEN not in str(caught.value)


def test_a_locked_or_deleted_pull_request_is_an_error_in_githubs_words(github: FakeGitHub) -> None:
    github.add_pull(7)
    github.locked.add(7)

    with pytest.raises(RestError, match="locked"):
        sticky(github).write(body("x"), RunStamp(1))
    with pytest.raises(NotFoundError):
        sticky(github, number=8).write(body("x"), RunStamp(1))


def test_two_runs_that_both_post_leave_the_oldest_with_the_newest_content(fake: FakeGitHub) -> None:
    fake.add_pull(7)

    def other_run(seen: Seen) -> None:
        if seen.method == "POST":
            fake.before = None
            fake.add_comment(7, with_stamp("run 6", 6))

    for ours, expected in ((RunStamp(5), with_stamp("run 6", 6)), (RunStamp(7), with_stamp("ours", 7))):
        fake.comments.clear()
        fake.before = other_run
        oldest = fake.next_id + 1

        sticky(fake).write(body("ours"), ours)

        assert fake.bodies(7) == [expected]
        assert list(fake.comments) == [oldest]


def test_an_older_run_that_writes_in_between_is_put_right(fake: FakeGitHub) -> None:
    fake.add_pull(7)
    made = fake.add_comment(7, with_stamp("old", 1))

    def older_run(seen: Seen) -> None:
        if seen.method == "GET" and made["body"] == with_stamp("ours", 5):
            fake.before = None
            made["body"] = with_stamp("older", 4)

    fake.before = older_run
    sticky(fake).write(body("ours"), RunStamp(5))

    assert fake.bodies(7) == [with_stamp("ours", 5)]


def test_a_newer_run_looks_again_and_puts_right_what_an_older_one_wrote_after_it(fake: FakeGitHub) -> None:
    fake.add_pull(7)
    made = fake.add_comment(7, with_stamp("first", 1))
    newer = sticky(fake)
    newer.write(body("new"), RunStamp(9))
    made["body"] = with_stamp("old, written late", 5)

    newer.confirm()
    newer.confirm()

    assert fake.bodies(7) == [with_stamp("new", 9)]
    assert [seen.method for seen in fake.log].count("PATCH") == 2


def test_a_comment_deleted_meanwhile_is_posted_again(fake: FakeGitHub) -> None:
    fake.add_pull(7)
    fake.add_comment(7, with_stamp("old", 1))

    def somebody(seen: Seen) -> None:
        if seen.method == "PATCH":
            fake.before = None
            fake.comments.clear()

    fake.before = somebody
    posted = sticky(fake).write(body("new"), RunStamp(2))

    assert posted.url
    assert fake.bodies(7) == [with_stamp("new", 2)]


@pytest.mark.parametrize("answer", [Answer(close=True), refuse(502, "Bad Gateway")])
@pytest.mark.parametrize("arrived", [True, False])
def test_a_post_whose_answer_was_lost_is_looked_for_before_it_is_sent_again(
    fake: FakeGitHub, answer: Answer, arrived: bool
) -> None:
    fake.add_pull(7)
    fake.troubles.append(Trouble("POST", PATH, answer, after=arrived))

    sticky(fake).write(body("once"), RunStamp(1))

    assert fake.bodies(7) == [with_stamp("once", 1)]
    assert sum(seen.method == "POST" for seen in fake.log) == (1 if arrived else 2)


def test_a_body_that_does_not_begin_with_the_marker_is_refused() -> None:
    with pytest.raises(ValueError, match="marker"):
        stamped("hello", MARKER, RunStamp(1))


@pytest.mark.parametrize(
    ("run", "own", "is_replaced"),
    [
        (99_999_999_999_999_999_999, 500, True),  # of whoever edited it
        (17_000_000_000, 4_711, True),  # GitHub's number, after a move to a GitLab of one's own
        (17_000_000_000, 1_500_000_000, True),  # to gitlab.com
        (501, 500, False),
        (90_000, 3, False),
        (17_000_900_000, 17_000_000_000, False),
    ],
)
def test_a_number_that_no_newer_run_can_have_keeps_nothing(
    github: FakeGitHub, run: int, own: int, is_replaced: bool
) -> None:
    github.add_pull(7)
    github.add_comment(7, with_stamp("passed", run))

    comment = sticky(github)
    posted = comment.write(body("failed"), RunStamp(own))
    comment.confirm()

    assert github.bodies(7) == [with_stamp("failed", own) if is_replaced else with_stamp("passed", run)]
    assert bool(posted.note) is not is_replaced


def test_of_several_with_such_numbers_one_is_left(github: FakeGitHub) -> None:
    github.add_pull(7)
    for run in (10**19, 400, 10**18):
        github.add_comment(7, with_stamp(f"of {run}", run))

    sticky(github).write(body("failed"), RunStamp(500))

    assert github.bodies(7) == [with_stamp("failed", 500)]
