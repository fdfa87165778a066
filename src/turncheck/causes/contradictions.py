"""Which changed parts make rules and stories contradict each other: without them, what the check finds is gone.

Nothing is trained for that, so that it is also known for what cannot be trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.causes.search import Taken, Trials
from turncheck.messages.finding import Name
from turncheck.validation.conflicts import check_rules, check_story_conflicts
from turncheck.validation.facts import gather

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from turncheck.causes.parts import Changes
    from turncheck.messages.finding import Finding

CODES: Final = ("rule-contradiction", "story-conflict")
"""The codes of findings that are looked for again."""


class Contradictions(Struct, frozen=True):
    """The parts of a change, and the contradictions that only this side has."""

    changes: Changes
    findings: Sequence[Finding]

    def trials(self) -> Trials:
        """Return how the parts are tried."""
        project = self.changes.head
        work = 1 + sum(len(story.steps) for story in (*project.stories, *project.rules))
        return Trials(
            parts=len(self.changes.parts),
            tests=len(self.findings),
            run=self.run,
            cost=lambda _: work,
            closest=self.closest,
        )

    def closest(self, number: int) -> list[int]:
        """Return the parts that a finding names, then other rules and stories, then those that stories depend on."""
        finding = self.findings[number]

        def key(part_number: int) -> tuple[bool, bool, int]:
            part = self.changes.parts[part_number]
            is_named = part.kind in {"rules", "stories"} and Name("story", part.name) in finding.about
            return not is_named, part.kind not in {"rules", "stories"}, part_number

        parts = range(len(self.changes.parts))
        return sorted((part for part in parts if "core" in self.changes.parts[part].learners), key=key)

    def run(self, taken: Taken, asked: Sequence[int]) -> frozenset[int]:
        """Take parts back, and return the findings that are gone then; none if the dialogues cannot be followed."""
        facts = gather(self.changes.without(taken))
        if facts.dialogues is None or facts.dialogues.refused is not None:
            return frozenset()
        left = {key_of(finding) for check in (check_rules, check_story_conflicts) for finding in check(facts)}
        return frozenset(number for number in asked if key_of(self.findings[number]) not in left)


def key_of(finding: Finding) -> Hashable:
    """Return what a finding is recognised by: what it is about, wherever that is written."""
    return finding.code, finding.about or finding.location
