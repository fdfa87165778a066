"""Creates the findings of checks."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeVar

from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.validation.checks import KNOWN, Check, Fault

if TYPE_CHECKING:
    from turncheck.project.model import Story


class Placed(Protocol):
    """Anything with a place."""

    @property
    def location(self) -> Location:
        """Its place."""


Key = TypeVar("Key", bound=Hashable)
Use = TypeVar("Use")


def gathered(uses: Iterable[tuple[Key, Use]]) -> dict[Key, list[Use]]:
    """Group uses by what they use, in the order of the first uses: each group makes one finding."""
    by_key: dict[Key, list[Use]] = {}
    for key, use in uses:
        by_key.setdefault(key, []).append(use)
    return by_key


def of_blocks(
    code: str, kind: str, uses: Iterable[tuple[Key, tuple[Story, Placed]]], words: str, known: Collection[str]
) -> Iterator[Finding]:
    """Yield one finding for all uses of a name in stories and rules: at the first, with the places of the others.

    Args:
        code: the finding's code.
        kind: what is named.
        uses: each with its group: the name, or the name and more.
        words: the message, with ``{name}`` and ``{where}`` for the story or rule.
        known: names that may have been meant.
    """
    for key, ((block, step), *others) in gathered(uses).items():
        name = str(key[0] if isinstance(key, tuple) else key)
        message = words.format(name=name, where=f"{block.kind} '{block.name}'")
        subject = " ".join(filter(None, map(str, key))) if isinstance(key, tuple) else name
        locations = places_of(other for _, other in others)
        names = (Name(kind, name), Name(block.kind, block.name))
        yield found(code, message, step.location, suggestion(name, known), locations, subject=subject, names=names)


def places_of(steps: Iterable[Placed]) -> tuple[Location, ...]:
    """Return the places of steps, each once."""
    return tuple(dict.fromkeys(step.location for step in steps))


def found(
    code: str,
    message: str,
    location: Location,
    suggestion: str = "",
    others: Iterable[Location] = (),
    *,
    subject: str = "",
    names: tuple[Name, ...] = (),
    about: tuple[Name, ...] = (),
) -> Finding:
    """Return a finding at the true severity of its check, with the manual's advice as the hint.

    ``suggestion`` ("Did you mean 'utter_greet'?") is put after the message, so that every output shows it.

    A comment at one of ``others`` suppresses it just as one at ``location``. ``subject``, ``names`` and
    ``about`` as :class:`Fault` has them.
    """
    return found_by(KNOWN[code], Fault(message, location, suggestion, tuple(others), subject, names, about))


def found_by(check: Check, fault: Fault) -> Finding:
    """Return the finding of a check, as :func:`found` does."""
    words = f"{fault.message} {fault.suggestion}" if fault.suggestion else fault.message
    return Finding(
        check.code,
        check.severity,
        words,
        fault.location,
        hint=check.text,
        others=fault.others,
        subject=fault.subject,
        names=fault.names,
        suggestion=fault.suggestion,
        about=fault.about,
    )
