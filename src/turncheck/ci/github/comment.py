"""The comments of a pull request on GitHub, which are those of an issue, and the account of the token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.ci.comment import Written
from turncheck.ci.github.answers import Comment, User
from turncheck.ci.rest import PER_PAGE, RestError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.ci.github.client import GitHubClient

NEEDS: Final = "pull-requests: write"
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
        return map(_written, self._client.comments(self._of_pull_request, Comment, needs=NEEDS, per_page=PER_PAGE))

    def post(self, body: str) -> Written:
        return _written(self._client.post(self._of_pull_request, {"body": body}, Comment, needs=NEEDS))

    def change(self, one: Written, body: str, newer: Written | None = None) -> None:  # noqa: ARG002
        self._client.patch(f"{self._of_repository}/{one.id}", {"body": body}, needs=NEEDS)

    def delete(self, one: Written) -> None:
        self._client.delete(f"{self._of_repository}/{one.id}", needs=NEEDS)

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
