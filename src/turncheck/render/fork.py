"""What was measured by a fork's run: the word of a stranger, which a reader must know before anything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from turncheck.render.sinks.markdown import Markdown, code, join, trusted

MEASURED_BY: Final = "measured by the fork"


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork whose run measured: its full name, and what tells its comment from those of other publishing jobs.

    Both are the host's or this job's own: nothing in the fork's artifacts chooses a comment.
    """

    repository: str
    key: str

    @property
    def remark(self) -> Markdown:
        """The first line that a reader sees."""
        return join(
            [
                trusted(f"> **{MEASURED_BY[0].upper()}{MEASURED_BY[1:]}** "),
                code(self.repository, 100),
                trusted(": its author controls everything below. The base and the gates are this repository's own."),
            ]
        )
