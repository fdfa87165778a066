"""Which changed parts make rules and stories contradict each other: without them, what the check finds is gone.

Nothing is trained for that, so that it is also known for what cannot be trained.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.causes.search import Found, Taken, Trials
from turncheck.messages.errors import BeyondLimitError, TrainingRefusedError
from turncheck.project.config import smallest_max_history
from turncheck.validation.conflicts import names_of_equals, rule_conflicts, story_conflicts
from turncheck.validation.facts import gather

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.causes.parts import Changes
    from turncheck.messages.finding import Finding, Location
    from turncheck.project.model import Project
    from turncheck.validation.conflicts import StoryConflict
    from turncheck.validation.facts import Facts

OF_RULES: Final = "rule-contradiction"
CODES: Final = (OF_RULES, "story-conflict")
"""The codes of findings that are looked for again."""
_MOST_PAIRS: Final = 10_000
_Key = tuple[str, ...]
"""Two names that contradict each other, after what they do so."""
_BLOCKS: Final = frozenset({"rules", "stories"})


class Mutual(Struct, frozen=True):
    """Changed rules and stories that contradict each other so that none of them alone is to blame; their findings."""

    parts: tuple[int, ...]
    findings: tuple[int, ...]


@dataclass(frozen=True)
class Contradictions:
    """The parts of a change, and the contradictions that only this side has."""

    changes: Changes
    findings: Sequence[Finding]

    def trials(self) -> Trials:
        """Return how the parts are tried."""
        return Trials(
            parts=len(self.changes.parts),
            tests=len(self.findings),
            run=self.run,
            cost=lambda taken: self._work if taken else 0,
            closest=self.closest,
            obvious=self._obvious,
        )

    @cached_property
    def _obvious(self) -> Mapping[int, int]:
        """The findings about something unchanged and only one other block, by the new part that this is.

        Without the block nothing contradicts the unchanged one, so that this needs no trial.
        """
        parts = enumerate(self.changes.parts)
        new = {part.location: number for number, part in parts if part.kind in _BLOCKS and part.change == "added"}
        changed = {part.name for part in self.changes.parts if part.kind in _BLOCKS}
        found: dict[int, int] = {}
        for number, finding in enumerate(self.findings):
            others = finding.others
            if finding.code == OF_RULES and len(others) == 1 and self._blocks.get(finding.location) not in changed:
                found |= {number: new[others[0]]} if others[0] in new else {}
        return found

    @cached_property
    def _work(self) -> int:
        project = self.changes.head
        return 1 + sum(len(story.steps) for story in (*project.stories, *project.rules))

    def closest(self, number: int) -> list[int]:
        """Return the parts that a finding names, then other rules and stories, then those that stories depend on.

        Of several of one name, the one at a place of the finding comes first.
        """
        finding = self.findings[number]
        named, places = {name.name for name in finding.about}, {finding.location, *finding.others}

        def key(part_number: int) -> tuple[bool, bool, bool, int]:
            part = self.changes.parts[part_number]
            is_block = part.kind in _BLOCKS
            return not (is_block and part.name in named), part.location not in places, not is_block, part_number

        parts = range(len(self.changes.parts))
        return sorted((part for part in parts if "core" in self.changes.parts[part].learners), key=key)

    def run(self, taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        """Take parts back, and return the findings that are gone then; none if the dialogues cannot be followed."""
        if not taken:
            return frozenset()
        left = _contradictions(self.changes.without(taken))
        if left is None:
            return frozenset()
        return frozenset(one for one in asked if self._keys[one] and self._keys[one].isdisjoint(left))

    @cached_property
    def _keys(self) -> list[frozenset[_Key]]:
        """By what each finding is known: what contradicts what there, and does not on the base."""
        old = _contradictions(self.changes.without(range(len(self.changes.parts)))) or frozenset()
        return [keys - old or keys for keys in map(self._keys_of, self.findings)]

    def _keys_of(self, finding: Finding) -> frozenset[_Key]:
        if finding.code != OF_RULES:
            return self._conflicts.get(finding.location, frozenset())
        first = self._blocks.get(finding.location, "")
        others = {name.name for name in finding.about} - {first}
        return frozenset((first, other) for other in others) or frozenset({(first, "")})

    @cached_property
    def _conflicts(self) -> dict[Location, frozenset[_Key]]:
        """What the conflicts of stories here are known by, by their places."""
        found: dict[Location, frozenset[_Key]] = {}
        for conflict in story_conflicts(_facts(self.changes.head)):
            found[conflict.location] = found.get(conflict.location, frozenset()).union(_keys_of_stories(conflict))
        return found

    @cached_property
    def _blocks(self) -> dict[Location, str]:
        """What is at the places of rules, stories and their steps."""
        blocks = (*self.changes.head.rules, *self.changes.head.stories)
        return {place: block.name for block in blocks for place in (block.location, *(s.location for s in block.steps))}

    def mutual(self, found: Found, budget: int) -> list[Mutual]:
        """Return the changed parts that contradict each other, if not one of them alone is the doing of it.

        Args:
            found: the parts without which findings are gone.
            budget: the work that may be spent.
        """
        numbers = range(len(self.findings))
        alone = {number: parts[0] for number, parts in found.causes.items() if len(parts) == 1}
        inner = [number for number in numbers if self._is_among_changed(number)]
        left = (budget - found.spent) // self._work
        asked = [number for number in inner if number in alone][: max(left, 0)]
        either = {number for number in asked if self._would_do(number, alone[number])}
        to_blame = {part for number, part in alone.items() if number not in either}
        groups: list[tuple[set[int], list[int]]] = []
        for number in inner:
            if number not in alone or (number in either and alone[number] not in to_blame):
                parts, findings = self._changed(number), [number]
                for group in [one for one in groups if one[0] & parts and self._is_of(number, one[1])]:
                    groups.remove(group)
                    parts, findings = parts | group[0], [*findings, *group[1]]
                groups.append((parts, findings))
        for number in numbers:
            for parts, findings in groups:
                changed = self._changed(number)
                if number not in findings and changed and changed <= parts and self._is_of(number, findings):
                    findings.append(number)
        return [Mutual(tuple(sorted(parts)), tuple(sorted(findings))) for parts, findings in groups]

    def _is_of(self, number: int, findings: Sequence[int]) -> bool:
        return self.findings[number].code == self.findings[findings[0]].code

    def _would_do(self, number: int, part: int) -> bool:
        """Whether a finding is gone without all other changed parts that it names, too."""
        others = self._changed(number) - {part}
        return bool(others) and number in self.run(frozenset(others), [number])

    def _is_among_changed(self, number: int) -> bool:
        """Whether a changed rule or story contradicts another changed one there."""
        return any(one in self._parts and other in self._parts for one, other in self._pairs(number))

    def contradicted(self, number: int, part: int) -> tuple[str, ...]:
        """Return the rules and stories that a changed one contradicts where a finding is; none for other parts."""
        if self.changes.parts[part].kind not in _BLOCKS:
            return ()
        name = self.changes.parts[part].name
        found = {other if one == name else one for one, other in self._pairs(number) if name in {one, other}}
        return tuple(sorted(found - {""}))

    def _pairs(self, number: int) -> Iterator[tuple[str, str]]:
        """What contradicts what there, by name."""
        return ((key[-2], key[-1]) for key in self._keys[number])

    def _changed(self, number: int) -> set[int]:
        """The changed rules and stories that a finding names."""
        return {self._parts[name.name] for name in self.findings[number].about if name.name in self._parts}

    @cached_property
    def _parts(self) -> dict[str, int]:
        """The changed rules and stories whose name is that of one only."""
        parts = self.changes.parts
        changed = {number: part.name for number, part in enumerate(parts) if part.kind in _BLOCKS}
        times = Counter(changed.values())
        return {
            name: number for number, name in changed.items() if times[name] == 1 and parts[number].change != "moved"
        }


def _contradictions(project: Project) -> frozenset[_Key] | None:
    """What the check finds, by its keys; ``None`` if the dialogues cannot be followed."""
    facts = _facts(project)
    if facts.dialogues is None or facts.dialogues.refused is not None:
        return None
    try:
        conflicts = rule_conflicts(facts)
    except (TrainingRefusedError, BeyondLimitError):
        return None
    found: set[_Key] = {key for conflict in story_conflicts(facts) for key in _keys_of_stories(conflict)}
    equals = names_of_equals(facts)  # of these the check names one: what contradicts it contradicts each
    pairs: set[_Key] = {
        pair
        for conflict in conflicts
        for other in [o.name for o in conflict.others] or [""]
        for pair in product(equals.get(conflict.place.name, (conflict.place.name,)), equals.get(other, (other,)))
    }
    return frozenset(found | pairs)


def _facts(project: Project) -> Facts:
    return gather(project, max_history=smallest_max_history(project.config))


def _keys_of_stories(conflict: StoryConflict) -> Iterator[_Key]:
    """The stories that disagree, two by two, and after what; of very many some."""
    return ((conflict.event, conflict.name, *pair) for pair in islice(conflict.pairs, _MOST_PAIRS))
