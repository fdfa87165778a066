"""Recognises the findings of one report in another: by what they are about, never by their words.

Each finding has one partner at most: ten faults of one identity where the base has one are nine new ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.comparison.recognised_by_words import without_partners_by_words
from turncheck.comparison.renames import now_called

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from turncheck.comparison.model import Renamed
    from turncheck.messages.finding import Finding, Name


_LINES: Final = 3


class _Side(NamedTuple):
    """A finding of one side: its number, and what it is about under the names of this side."""

    number: int
    finding: Finding
    about: frozenset[Name]
    stands_in: tuple[Name, ...]

    @property
    def path(self) -> str:
        """The file that it is in, if no name tells it from those in other files."""
        named = self.about or any(name.kind != "key" for name in self.stands_in)
        return "" if named else self.finding.location.path

    @property
    def lines(self) -> tuple[str, ...]:
        """The digests of its line and of its neighbours; a report from anywhere may have fewer."""
        return (*self.finding.lines, "", "", "")[:_LINES]


def _neighbour(place: int) -> Callable[[_Side], Hashable | None]:
    return lambda side: (side.about, side.stands_in, side.path, side.lines[place]) if side.lines[place] else None


_STEPS: Final[tuple[Callable[[_Side], Hashable | None], ...]] = (
    # On a line that the change left as it is: in its surroundings, in its file, elsewhere.
    lambda side: (side.about, side.stands_in, side.finding.location.path, side.lines) if side.lines[0] else None,
    lambda side: (side.about, side.stands_in, side.finding.location.path, side.lines[0]) if side.lines[0] else None,
    lambda side: (side.about, side.lines) if side.lines[0] else None,
    lambda side: (side.about, side.lines[0]) if side.lines[0] else None,
    # On an edited line beside one that is as it was.
    _neighbour(1),
    _neighbour(2),
    # Anywhere.
    lambda side: (side.about, side.stands_in, side.finding.location.path),
    lambda side: (side.about, side.stands_in, side.path),
)
"""What two findings of one code have in common if they are the same; the surest comes first."""


def without_partners(
    before: Sequence[Finding], after: Sequence[Finding], renamed: Iterable[Renamed] = ()
) -> tuple[list[Finding], list[Finding]]:
    """Return the findings of the base and of this side that have no partner on the other, in their order.

    A finding is the same one if its code and what it is about are (a name that is ``renamed`` is one name), or if it is
    about fewer things of the same kinds than it was, or about more that brought a finding of their own. What an error
    has for a partner was an error. A new one that is about all that another was about, and more, is what became of it.
    """
    known, unknown = _parted(before)
    found, unidentified = _parted(after)
    called = {(rename.kind, rename.old): rename.new for rename in renamed}
    old = [_side(number, finding, called) for number, finding in known]
    new = [_side(number, finding, {}) for number, finding in found]
    errors, others = ([side for side in new if _is_error(side) is wanted] for wanted in (True, False))
    bad, milder = ([side for side in old if _is_error(side) is wanted] for wanted in (True, False))
    bad, errors = _unpaired(bad, errors)
    milder, others = _unpaired(milder, others)
    bad, others = _unpaired(bad, others)
    bad, milder = (_not_within(sides, [*errors, *others]) for sides in (bad, milder))
    gone = sorted([*unknown, *((side.number, side.finding) for side in (*bad, *milder))], key=_number)
    left = sorted([*unidentified, *((side.number, side.finding) for side in (*errors, *others))], key=_number)
    gone_findings, new_findings = [finding for _, finding in gone], [finding for _, finding in left]
    if unknown or unidentified:
        return without_partners_by_words(gone_findings, new_findings)
    return gone_findings, new_findings


def _number(numbered: tuple[int, Finding]) -> int:
    return numbered[0]


def _parted(findings: Sequence[Finding]) -> tuple[list[tuple[int, Finding]], list[tuple[int, Finding]]]:
    """The findings that say what they are about, and those of reports of earlier versions, with their numbers."""
    numbered = [*enumerate(findings)]
    return [one for one in numbered if one[1].lines], [one for one in numbered if not one[1].lines]


def _side(number: int, finding: Finding, called: Mapping[tuple[str, str], str]) -> _Side:
    about = frozenset(now_called(name, called) for name in finding.about)
    return _Side(number, finding, about, tuple(now_called(name, called) for name in finding.stands_in))


def _is_error(side: _Side) -> bool:
    return side.finding.severity == "error"


def _unpaired(old: list[_Side], new: list[_Side]) -> tuple[list[_Side], list[_Side]]:
    for step in _STEPS:
        if not (old and new):
            break
        old, new = _by_step(old, new, step)
    return _with_more_members(*_with_fewer_members(old, new))


def _by_step(
    old: Sequence[_Side], new: Sequence[_Side], step: Callable[[_Side], Hashable | None]
) -> tuple[list[_Side], list[_Side]]:
    waiting: dict[Hashable, list[_Side]] = defaultdict(list)
    for side in reversed(old):
        if (key := step(side)) is not None:
            waiting[side.finding.code, key].append(side)
    left, paired = [], set()
    for side in new:
        key = step(side)
        partners = waiting.get((side.finding.code, key)) if key is not None else None
        if partners:
            paired.add(partners.pop().number)
        else:
            left.append(side)
    return [side for side in old if side.number not in paired], left


def _with_fewer_members(old: list[_Side], new: list[_Side]) -> tuple[list[_Side], list[_Side]]:
    """Pair what is about fewer things than a finding of the base: on an unchanged line first."""
    members: dict[Hashable, list[_Side]] = defaultdict(list)
    for side in old:
        for name in side.about:
            members[side.finding.code, name].append(side)
    paired: set[int] = set()
    for unchanged in (True, False):
        left = []
        for side in new:
            alike = min((members[side.finding.code, name] for name in side.about), key=len, default=[])
            partner = next(
                (one for one in alike if one.number not in paired and _is_of_fewer(side, one, unchanged=unchanged)),
                None,
            )
            if partner is None:
                left.append(side)
            else:
                paired.add(partner.number)
        new = left
    return [side for side in old if side.number not in paired], new


def _with_more_members(old: list[_Side], new: list[_Side]) -> tuple[list[_Side], list[_Side]]:
    """Pair what is about more things than a finding of the base on the same line, if what joined has one of its own.

    Where everything that contradicts each other is reported for each of its rules, only the finding of the rule that
    joined them is new.
    """
    number_of_old, number_of_new = (Counter(map(_names_of, sides)) for sides in (old, new))
    waiting: dict[Hashable, list[_Side]] = defaultdict(list)
    for side in old:
        waiting[side.finding.code, side.lines[0]].append(side)
    paired: set[int] = set()
    left = []
    for side in new:
        code = side.finding.code
        partner = next(
            (
                one
                for one in waiting.get((code, side.lines[0]), ())
                if one.number not in paired
                and _is_of_fewer(one, side, unchanged=True)
                and number_of_new[_names_of(side)] > number_of_old[_names_of(one)]
            ),
            None,
        )
        if partner is None:
            left.append(side)
        else:
            paired.add(partner.number)
    return [side for side in old if side.number not in paired], left


def _not_within(old: list[_Side], new: Iterable[_Side]) -> list[_Side]:
    """Leave out what is about fewer things of the same kinds than a new finding: it has grown, and is not gone."""
    of_code: dict[str, list[frozenset[Name]]] = defaultdict(list)
    for side in new:
        of_code[side.finding.code].append(side.about)

    def grew(side: _Side) -> bool:
        kinds = {name.kind for name in side.about}
        return any(
            side.about < about and kinds == {name.kind for name in about} for about in of_code[side.finding.code]
        )

    return [side for side in old if not grew(side)]


def _names_of(side: _Side) -> Hashable:
    """What a finding is about, whichever of these is the cause of it."""
    return side.finding.code, frozenset(name.name for name in side.about)


def _is_of_fewer(side: _Side, partner: _Side, *, unchanged: bool) -> bool:
    return (
        side.about < partner.about
        and {name.kind for name in side.about} == {name.kind for name in partner.about}
        and (not unchanged or side.lines[0] == partner.lines[0] != "")
    )
