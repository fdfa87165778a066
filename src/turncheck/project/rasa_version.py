"""Which version of Rasa a project is written for, by features that only some versions have, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.messages.location import Location

OLDEST: Final = 0
NEWEST: Final = 3

_SHOWN: Final = 3


class Sign(NamedTuple):
    """A feature that only some versions of Rasa have: what it is, and where.

    ``first`` and ``last``: the oldest and the newest major version that accepted it. ``typical``: the version whose
    projects usually have it, if nothing else decides.
    """

    what: str
    location: Location
    first: int = OLDEST
    last: int = NEWEST
    typical: int = NEWEST

    def __str__(self) -> str:
        return f"{self.location}: {self.what}"


@dataclass(frozen=True, slots=True)
class RasaVersion:
    """The major version that a project is written for. ``signs``: what shows it, the most conclusive ones first.

    ``others``: signs that only another version accepts: the project is a mixture.
    """

    major: int
    signs: tuple[Sign, ...] = ()
    others: tuple[Sign, ...] = ()

    @property
    def name(self) -> str:
        """``1.x`` and the like."""
        return f"{self.major}.x"

    @property
    def is_older(self) -> bool:
        """Whether Rasa 3 would not read it."""
        return self.major < NEWEST

    @property
    def short(self) -> str:
        """The version and the first sign of it, for where space is short."""
        return f"this is a Rasa {self.name} project ({self.signs[0]})"

    @property
    def message(self) -> str:
        """The version and its signs, as the beginning of a sentence."""
        return f"This is a Rasa {self.name} project ({_listed(self.signs)}), judged as that version did"

    @property
    def mixture(self) -> str:
        """What belongs to another version, with the places of both, as a sentence; empty if there is nothing."""
        if not self.others:
            return ""
        shows = f" ({self.signs[0]})" if self.signs else ""
        return f"The project is of Rasa {self.name}{shows}, but parts of it are for others: {_listed(self.others)}."


def _listed(signs: Sequence[Sign]) -> str:
    more = f"; and {len(signs) - _SHOWN} more" if len(signs) > _SHOWN else ""
    return f"{'; '.join(map(str, signs[:_SHOWN]))}{more}"


def version_of(signs: Iterable[Sign]) -> RasaVersion:
    """Return the version that these signs show.

    If some versions accepted all of them, it is the one of the oldest typical sign. If none did, the newest sign
    counts: whoever wrote it meant that version, and the rest was not updated.
    """
    found = tuple(signs)
    oldest = max((sign.first for sign in found), default=OLDEST)
    newest = min((sign.last for sign in found), default=NEWEST)
    if oldest > newest:
        major = oldest
    else:
        major = min(max(oldest, min((sign.typical for sign in found), default=NEWEST)), newest)
    telling = [sign for sign in found if sign.first <= major <= sign.last]
    # What every version accepts from here on says nothing about an older one, and the reverse.
    telling.sort(key=lambda sign: sign.last - sign.first)
    others = tuple(sign for sign in found if not sign.first <= major <= sign.last)
    return RasaVersion(major, tuple(telling), others)
