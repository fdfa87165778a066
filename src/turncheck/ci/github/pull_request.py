"""Which pull request a run comments on: from the event if it has one, else from the API; never from a report."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.ci.comment import Written
from turncheck.ci.github.client import Comment, Pull, User
from turncheck.ci.host import Target
from turncheck.ci.rest import PER_PAGE, NotFoundError, RestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.ci.github.client import GitHubClient, WorkflowRun
    from turncheck.ci.github.context import GitHubContext


NEEDS: Final = "pull-requests: read"
_DEPENDABOT: Final = "dependabot[bot]"
_MOST_PULLS: Final = 10
_BY_BRANCH: Final = frozenset({"push", "workflow_dispatch"})


def find_target(context: GitHubContext, client: GitHubClient | None) -> Target | str:
    """Return the pull request of this run, or the reason why there is none to comment on.

    Raises:
        RestError: GitHub had to be asked and could not.
    """
    pull = context.pull_request
    reads_only = "Dependabot" if context.actor == _DEPENDABOT else ""
    if pull is not None:
        return Target(pull.number, pull.head_sha, pull.base_ref, "a fork" if pull.fork else reads_only)
    if context.event_name == "merge_group":
        return "a merge queue reads the exit status, its runs do not comment"
    branch = context.ref.removeprefix("refs/heads/")
    if context.event_name not in _BY_BRANCH or branch == context.ref:
        return f"the event '{context.event_name}' belongs to no pull request"
    if client is None:
        return "without a token it is not known which pull request this is"
    owner = context.repository.partition("/")[0]
    pulls = _open_pulls(client, context.repository, owner, branch)
    if not pulls:
        return f"the branch '{branch}' has no open pull request"
    others = frozenset(pull.base.ref for pull in pulls) - {pulls[0].base.ref}
    return replace(_target(pulls[0]), reads_only=reads_only, other_base_refs=others)


def target_of_run(client: GitHubClient, repository: str, run: WorkflowRun) -> Target | str:
    """Return the pull request that a workflow run was for, checked against the API; or why there is none.

    Args:
        client: asks the API.
        repository: ``owner/name``, where the run was.
        run: the run, as the API gives it.

    Raises:
        RestError: GitHub could not be asked.
    """
    if run.head_repository is None:
        return "the repository that the change came from is gone"
    numbers = [pull.number for pull in run.pull_requests or ()]
    if not numbers:  # as it is for forks
        listed = _open_pulls(client, repository, run.head_repository.owner, run.head_branch or "")
        numbers = [pull.number for pull in listed]
    moved_on = False
    for number in numbers[:_MOST_PULLS]:
        try:
            pull = client.get(f"/repos/{repository}/pulls/{number}", Pull, needs=NEEDS)
        except NotFoundError:
            continue
        from_there = pull.head.repo is not None and pull.head.repo.full_name == run.head_repository.full_name
        if pull.state == "open" and from_there:
            if pull.head.sha == run.head_sha:
                return _target(pull)
            moved_on = True
    if moved_on:
        return f"the pull request has moved on from commit {run.head_sha[:8]}"
    return f"no open pull request has commit {run.head_sha[:8]} at its head"


def target_of_number(client: GitHubClient, repository: str, number: int) -> Target:
    """Return a pull request by its number.

    Raises:
        RestError: GitHub could not be asked, or has no such pull request.
    """
    return _target(client.get(f"/repos/{repository}/pulls/{number}", Pull, needs=NEEDS))


def _open_pulls(client: GitHubClient, repository: str, owner: str, branch: str) -> list[Pull]:
    listed = client.pages(f"/repos/{repository}/pulls", Pull, needs=NEEDS, state="open", head=f"{owner}:{branch}")
    # GitHub ignores a filter that it does not understand, and lists all.
    return [pull for pull in listed if pull.head.ref == branch]


def _target(pull: Pull) -> Target:
    return Target(pull.number, pull.head.sha, pull.base.ref)


# The comments of a pull request on GitHub, which are those of an issue, and the account of the token.

NEEDS_TO_COMMENT: Final = "pull-requests: write"
_ACTIONS_BOT: Final = "github-actions[bot]"
_INSTALLATION_TOKEN: Final = "ghs_"  # noqa: S105  # how GitHub's own tokens for apps begin


class IssueComments:
    """The comments of one pull request.

    Args:
        client: asks the API.
        repository: ``owner/name``.
        number: the pull request's.
    """

    def __init__(self, client: GitHubClient, repository: str, number: int) -> None:
        self._client = client
        self._of_pull_request = f"/repos/{repository}/issues/{number}/comments"
        self._of_repository = f"/repos/{repository}/issues/comments"

    def all(self) -> Iterator[Written]:
        return map(
            _written, self._client.comments(self._of_pull_request, Comment, needs=NEEDS_TO_COMMENT, per_page=PER_PAGE)
        )

    def post(self, body: str) -> Written:
        return _written(self._client.post(self._of_pull_request, {"body": body}, Comment, needs=NEEDS_TO_COMMENT))

    def change(self, written: Written, body: str, newer: Written | None = None) -> None:  # noqa: ARG002
        self._client.patch(f"{self._of_repository}/{written.id}", {"body": body}, needs=NEEDS_TO_COMMENT)

    def delete(self, written: Written) -> None:
        self._client.delete(f"{self._of_repository}/{written.id}", needs=NEEDS_TO_COMMENT)

    def author(self) -> str:
        """Who the token speaks for.

        Tokens of GitHub Apps may not ask; nearly all of them are the workflow's own, which is GitHub's bot. The name of
        another app is known once it has posted.
        """
        token = self._client.token
        if token is not None and token.reveal().startswith(_INSTALLATION_TOKEN):
            return _ACTIONS_BOT
        try:
            return self._client.get("/user", User).login
        except RestError as error:
            if error.status in {403, 404}:
                return _ACTIONS_BOT
            raise


def _written(comment: Comment) -> Written:
    return Written(comment.id, comment.user.login if comment.user else "", comment.body or "", comment.html_url)
