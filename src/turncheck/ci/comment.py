"""The one comment of an assistant on a pull request: found again by its hidden first line, updated in place.

No host's API has "write only if unchanged", so runs that race are put right afterwards: the oldest comment stays, with
the newest content; our own newer ones are deleted. Each comment contains, invisibly, the run it came from, and an older
run does not overwrite a newer one. Text that no run wrote (``NO_RUN``) replaces the comment in the name of the run that
wrote it, so that the next run overwrites it. Comments of other authors are never touched, whatever they begin with.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from turncheck.ci.host import NO_RUN, CommentResult, RunStamp
from turncheck.ci.rest import AnswerLostError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable

_STAMP: Final = re.compile(r"<!-- turncheck:run ([0-9]{1,20})\.([0-9]{1,20}) -->")
_MOST_MEANWHILE: Final = 100_000
"""No host numbers this many runs, and as many again as it ever had, between the start of a run and its comment."""
_MOST_ROUNDS: Final = 3
_NOTHING_TO_UPDATE: Final = "there was no comment to update"


class Written(Struct, frozen=True):
    """An existing comment of any author.

    ``id`` is greater for what was written later; where it is a thread's, ``first`` is the comment that opens it, and
    ``status`` the thread's.
    """

    id: int
    author: str
    body: str
    url: str = ""
    first: int | None = None
    status: str = ""

    @property
    def stamp(self) -> RunStamp:
        """Which run wrote it."""
        match = _STAMP.search(self.body.partition("\n")[0])
        return RunStamp(int(match[1]), int(match[2])) if match else NO_RUN


class Comments(Protocol):
    """All comments of one pull request. Each raises :class:`turncheck.ci.rest.RestError` where that fails."""

    def all(self) -> Iterable[Written]:
        """Every comment, in any order."""

    def post(self, body: str) -> Written:
        """Write a new one."""

    def change(self, written: Written, body: str, newer: Written | None = None) -> None:
        """Replace the text of one of our own; ``newer`` is the other run if the text is that of another run."""

    def delete(self, written: Written) -> None:
        """Remove one of our own."""

    def author(self) -> str:
        """The account of the token; "" if only posting shows it."""


class StickyComment:
    """The comment of one assistant on one pull request.

    Args:
        comments: all that there are, of anybody.
        marker: the hidden beginning of our comments, which distinguishes assistants.
    """

    def __init__(self, comments: Comments, marker: str) -> None:
        self._comments = comments
        self._marker = marker
        self._settled: tuple[str, RunStamp, str] | None = None

    def write(self, body: str, stamp: RunStamp) -> CommentResult:
        """Write it: into the existing comment, else into a new one.

        Args:
            body: begins with the marker.
            stamp: the run it comes from.

        Raises:
            RestError: it could not be written.
        """
        body = stamped(body, self._marker, stamp)
        author = self._comments.author()
        mine = self._mine(author)
        if not mine:
            return self._create(body, stamp, author)
        return self._settle(mine, body, stamp, author)

    def update(self, body: str, stamp: RunStamp) -> CommentResult:
        """Write it only if there is a comment already, so that nothing outdated is left behind.

        Raises:
            RestError: it could not be written.
        """
        author = self._comments.author()
        body = stamped(body, self._marker, stamp)
        if author:
            mine = self._mine(author)
            return self._settle(mine, body, stamp, author) if mine else CommentResult(None, _NOTHING_TO_UPDATE)
        if not self._all():
            return CommentResult(None, _NOTHING_TO_UPDATE)
        made = self._comments.post(body)  # shows our account, and so whether one of those is ours
        mine = self._mine(made.author)
        if all(comment.id == made.id for comment in mine):
            self._delete(made)
            return CommentResult(None, _NOTHING_TO_UPDATE)
        return self._settle(mine, body, stamp, made.author)

    def confirm(self) -> None:
        """Check again, some time after writing: an older run that had read before may have written meanwhile.

        Raises:
            RestError: it could not be looked at, or not be written again.
        """
        if self._settled is None:
            return
        body, stamp, author = self._settled
        mine = self._mine(author)
        if mine and max(_stamp(comment, stamp) for comment in mine) < stamp:
            self._settle(mine, body, stamp, author)

    def _create(self, body: str, stamp: RunStamp, author: str) -> CommentResult:
        try:
            made = self._comments.post(body)
        except AnswerLostError:
            if mine := self._mine(author):  # it did arrive
                return self._settle(mine, body, stamp, author)
            made = self._comments.post(body)
        # Who wrote it is who we are: an app of the team's own learns its name here, and finds its older comment.
        mine = self._mine(made.author)
        return self._settle(mine, body, stamp, made.author) if mine else CommentResult(made.url)

    def _settle(self, mine: list[Written], body: str, stamp: RunStamp, author: str) -> CommentResult:
        """Bring the newest content into the oldest comment, and delete our own newer ones."""
        own = stamp
        if stamp == NO_RUN and (run_stamp := max(comment.stamp for comment in mine)) != NO_RUN:
            body, own = body.replace(str(stamp), str(run_stamp), 1), run_stamp
        self._settled = body, own, author
        posted = CommentResult(mine[0].url)
        for _ in range(_MOST_ROUNDS):
            oldest, newer = mine[0], mine[1:]
            newest = max(mine, key=lambda comment: _stamp(comment, own))
            late = _stamp(newest, own) > own
            posted = CommentResult(oldest.url, "a newer run has already written the comment" if late else "")
            wanted = newest.body if late else body
            with suppress(NotFoundError):  # deleted meanwhile: what is left is seen next
                if oldest.body != wanted:
                    self._comments.change(oldest, wanted, newest if late else None)
                for comment in newer:
                    self._delete(comment)
            mine = self._mine(author)
            if not mine:
                return CommentResult(self._comments.post(body).url)
            # A run that read before we wrote may have written after us: then the newer content is restored.
            if len(mine) == 1 and mine[0].id == oldest.id and _stamp(mine[0], own) >= max(own, _stamp(newest, own)):
                break
        return posted

    def _delete(self, comment: Written) -> None:
        with suppress(NotFoundError):  # the other run was faster
            self._comments.delete(comment)

    def _mine(self, author: str) -> list[Written]:
        """Our own comments that begin with the marker, oldest first; those of a deleted account do not count."""
        return [comment for comment in self._all() if author and comment.author == author]

    def _all(self) -> list[Written]:
        found = map(_with_line_feeds, self._comments.all())
        return sorted((one for one in found if one.body.startswith(self._marker)), key=lambda one: one.id)


def stamped(body: str, marker: str, stamp: RunStamp) -> str:
    """Return the body with the run inserted after its marker, on the same hidden line.

    Raises:
        ValueError: it does not begin with the marker.
    """
    if not body.startswith(marker):
        raise ValueError("the comment does not begin with its marker")
    return f"{marker}{stamp}{body.removeprefix(marker)}"


def _stamp(comment: Written, own: RunStamp) -> RunStamp:
    """Which run wrote a comment, seen from a run.

    A number far beyond the own one is not that of a newer run, but of another host that the repository was moved from,
    or of whoever edited the comment: it would never be replaced.
    """
    run_stamp = comment.stamp
    is_possible = own == NO_RUN or run_stamp.run_id <= 2 * own.run_id + _MOST_MEANWHILE
    return run_stamp if is_possible else NO_RUN


def _with_line_feeds(written: Written) -> Written:
    """A person who edits a comment in the browser leaves CR LF."""
    return replace(written, body=written.body.replace("\r\n", "\n"))
