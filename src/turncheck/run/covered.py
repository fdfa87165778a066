"""What the tests of a run reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turncheck.project.model import Project
    from turncheck.report.model import Core, EndToEnd, KindCoverage
    from turncheck.run.reading import Tests


def coverage_by_tests(
    project: Project, tests: Tests, core: Core | None, e2e: EndToEnd | None
) -> dict[str, KindCoverage]:
    """Which parts of the project its tests reach: stories and sentences as written, conversations as they ran."""
    from turncheck.evaluation.coverage import (
        Reached,
        coverage,
        reached_by_conversations,
        reached_by_examples,
        reached_by_stories,
    )
    from turncheck.project.python_code import code_of_actions

    reached = reached_by_stories(tests.stories, core.stories if core else ())
    if tests.nlu:
        reached |= reached_by_examples(tests.nlu.examples)
    if e2e:
        reached |= reached_by_conversations(e2e.exercised)
    return coverage(project, reached, code_of_actions(project.root)) if reached != Reached() else {}
