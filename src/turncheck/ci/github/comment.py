"""The one comment of an assistant on a pull request: found again by its hidden first line, updated in place.

GitHub's API has no "write only if unchanged", so runs that race are put right afterwards: the oldest comment stays,
with the newest content; our own newer ones are deleted. Each comment bears, invisibly, the run it came from, and an
older run leaves the words of a newer one alone. Comments of other authors are never touched, whatever they begin with.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.ci.github.answers import Comment, User
from turncheck.ci.github.errors import AnswerLostError, GitHubError, NotFoundError
from turncheck.ci.host import NO_RUN, Posted, Stamp

if TYPE_CHECKING:
    from turncheck.ci.github.client import GitHubClient

NEEDS: Final = "pull-requests: write"
_ACTIONS_BOT: Final = "github-actions[bot]"
_INSTALLATION_TOKEN: Final = "ghs_"  # noqa: S105  # how GitHub's own tokens for apps begin
_STAMP: Final = re.compile(r"<!-- turncheck:run (\d{1,20})\.(\d{1,9}) -->")
_MOST_ROUNDS: Final = 3


@dataclass(frozen=True, slots=True)
class _Comment:
    id: int
    author: str
    body: str
    url: str

    @property
    def stamp(self) -> Stamp:
        found = _STAMP.search(self.body.partition("\n")[0])
        return Stamp(int(found[1]), int(found[2])) if found else NO_RUN


class StickyComment:
    """The comment of one assistant on one pull request.

    Args:
        client: asks the API.
        repository: ``owner/name``.
        number: the pull request's.
        marker: how our comments begin, the hidden words that tell assistants apart.
    """

    def __init__(self, client: GitHubClient, repository: str, number: int, marker: str) -> None:
        self._client = client
        self._of_pull_request = f"/repos/{repository}/issues/{number}/comments"
        self._of_repository = f"/repos/{repository}/issues/comments"
        self._marker = marker
        self._settled: tuple[str, Stamp, str] | None = None

    def write(self, body: str, stamp: Stamp) -> Posted:
        """Write it: into the comment that is there, else into a new one.

        Args:
            body: begins with the marker.
            stamp: the run it comes from.

        Raises:
            GitHubError: it could not be written.
        """
        body = stamped(body, self._marker, stamp)
        author = self._author()
        mine = self._mine(author)
        if not mine:
            return self._create(body, stamp, author)
        return self._settle(mine, body, stamp, author)

    def update(self, body: str, stamp: Stamp) -> Posted:
        """Write it only where there is a comment already, so that nothing outdated is left behind.

        Raises:
            GitHubError: it could not be written.
        """
        author = self._author()
        mine = self._mine(author)
        if not mine:
            return Posted(None, "there was no comment to update")
        return self._settle(mine, stamped(body, self._marker, stamp), stamp, author)

    def confirm(self) -> None:
        """Look once more, some time after writing: an older run that had read before may have written meanwhile.

        Raises:
            GitHubError: it could not be looked at, or not be written again.
        """
        if self._settled is None:
            return
        body, stamp, author = self._settled
        mine = self._mine(author)
        if mine and max(comment.stamp for comment in mine) < stamp:
            self._settle(mine, body, stamp, author)

    def _create(self, body: str, stamp: Stamp, author: str) -> Posted:
        try:
            made = self._post(body)
        except AnswerLostError:
            if mine := self._mine(author):  # it did arrive
                return self._settle(mine, body, stamp, author)
            made = self._post(body)
        # Who wrote it is who we are: an app of the team's own learns its name here, and finds its older comment.
        mine = self._mine(made.author)
        return self._settle(mine, body, stamp, made.author) if mine else Posted(made.url)

    def _post(self, body: str) -> _Comment:
        return _own(self._client.post(self._of_pull_request, {"body": body}, Comment, needs=NEEDS))

    def _settle(self, mine: list[_Comment], body: str, stamp: Stamp, author: str) -> Posted:
        """Bring the newest content into the oldest comment, and delete our own newer ones."""
        self._settled = body, stamp, author
        posted = Posted(mine[0].url)
        for _ in range(_MOST_ROUNDS):
            oldest, newer = mine[0], mine[1:]
            newest = max(mine, key=lambda comment: comment.stamp)
            late = newest.stamp > stamp
            posted = Posted(oldest.url, "a newer run has already written the comment" if late else "")
            wanted = newest.body if late else body
            with suppress(NotFoundError):  # deleted meanwhile: what is left is seen next
                if oldest.body != wanted:
                    self._client.patch(self._path(oldest), {"body": wanted}, needs=NEEDS)
                for comment in newer:
                    self._delete(comment)
            mine = self._mine(author)
            if not mine:
                return Posted(self._post(body).url)
            # A run that read before we wrote may have written after us: then the newer content goes back in.
            if len(mine) == 1 and mine[0].id == oldest.id and mine[0].stamp >= max(stamp, newest.stamp):
                break
        return posted

    def _delete(self, comment: _Comment) -> None:
        with suppress(NotFoundError):  # the other run was faster
            self._client.delete(self._path(comment), needs=NEEDS)

    def _path(self, comment: _Comment) -> str:
        return f"{self._of_repository}/{comment.id}"

    def _mine(self, author: str) -> list[_Comment]:
        """Our own comments that begin with the marker, oldest first."""
        return [comment for comment in self._all() if comment.author == author]

    def _all(self) -> list[_Comment]:
        found = [_own(item) for item in self._client.pages(self._of_pull_request, Comment, needs=NEEDS)]
        return sorted((one for one in found if one.body.startswith(self._marker)), key=lambda one: one.id)

    def _author(self) -> str:
        """Who the token speaks for.

        Tokens of GitHub Apps may not ask; nearly all of them are the workflow's own, which is GitHub's bot. Another
        app's name is found out when it has posted.
        """
        token = self._client.token
        if token is not None and token.reveal().startswith(_INSTALLATION_TOKEN):
            return _ACTIONS_BOT
        try:
            return self._client.get("/user", User).login
        except GitHubError as error:
            if error.status in {403, 404}:
                return _ACTIONS_BOT
            raise


def stamped(body: str, marker: str, stamp: Stamp) -> str:
    """Return the body with the run behind its marker, on the same hidden line.

    Raises:
        ValueError: it does not begin with the marker.
    """
    if not body.startswith(marker):
        raise ValueError("the comment does not begin with its marker")
    return f"{marker}{stamp}{body.removeprefix(marker)}"


def _own(comment: Comment) -> _Comment:
    # A person who edits a comment in the browser leaves CR LF.
    body = (comment.body or "").replace("\r\n", "\n")
    return _Comment(comment.id, comment.user.login if comment.user else "", body, comment.html_url)
