"""Which Rasa a project is written for: by what only some versions have, each thing at its place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.messages.location import Location

OLDEST: Final = 0
NEWEST: Final = 3

_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that only some versions of Rasa have: what it is, and where.

    ``first`` and ``last``: the oldest and the newest major version that took it. ``typical``: the one whose projects
    have it as a rule, where nothing else decides.
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
    """The major version that a project is written for. ``signs``: what shows it, the telling ones first.

    ``others``: what another version alone would take: a mixture.
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
        """What it is and the first thing that shows it, for where more would be too much."""
        return f"this is a Rasa {self.name} project ({self.signs[0]})"

    @property
    def message(self) -> str:
        """What it is and what shows it, as the beginning of a sentence."""
        return f"This is a Rasa {self.name} project ({_listed(self.signs)}), judged as that version did"

    @property
    def mixture(self) -> str:
        """What is of another version, with the place of both, as a sentence; empty where nothing is."""
        if not self.others:
            return ""
        shows = f" ({self.signs[0]})" if self.signs else ""
        return f"The project is of Rasa {self.name}{shows}, but parts of it are for others: {_listed(self.others)}."


def _listed(signs: Sequence[Sign]) -> str:
    more = f"; and {len(signs) - _SHOWN} more" if len(signs) > _SHOWN else ""
    return f"{'; '.join(map(str, signs[:_SHOWN]))}{more}"


def version_of(signs: Iterable[Sign]) -> RasaVersion:
    """Return the version that these signs show.

    One that took all of them is that of the oldest typical sign. Where none did, the newest sign counts: whoever wrote
    it meant that version, and the rest was left behind.
    """
    found = tuple(signs)
    oldest = max((sign.first for sign in found), default=OLDEST)
    newest = min((sign.last for sign in found), default=NEWEST)
    if oldest > newest:
        major = oldest
    else:
        major = min(max(oldest, min((sign.typical for sign in found), default=NEWEST)), newest)
    telling = [sign for sign in found if sign.first <= major <= sign.last]
    # What every version takes from here on shows nothing about an older one, and the reverse.
    telling.sort(key=lambda sign: sign.last - sign.first)
    others = tuple(sign for sign in found if not sign.first <= major <= sign.last)
    return RasaVersion(major, tuple(telling), others)
