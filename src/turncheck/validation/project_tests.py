"""A project's tests, as far as validation checks them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Story
    from turncheck.project.nlu_data import Example


@dataclass(frozen=True, slots=True)
class ProjectTests:
    """Test stories, NLU test sentences and end-to-end test cases, to be compared with the training data."""

    stories: Sequence[Story] = ()
    examples: Sequence[Example] = ()
    cases: Sequence[E2ECase] = ()

    @property
    def files(self) -> list[str]:
        """The paths of the files they are in, sorted."""
        places = [test.location for tests in (self.stories, self.examples) for test in tests]
        places += [case.location for case in self.cases]
        return sorted({place.path for place in places})
