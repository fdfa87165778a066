"""What the tests of a run reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from turncheck.evaluation.nlu import NluMeasurement
    from turncheck.project.model import Project
    from turncheck.report.batch import Batch
    from turncheck.report.model import Core, EndToEnd, KindCoverage
    from turncheck.run.reading import Tests


def coverage_by_tests(  # noqa: PLR0917 - all that reaches something
    project: Project,
    tests: Tests,
    nlu: NluMeasurement | None,
    core: Core | None,
    e2e: EndToEnd | None,
    batch: Batch | None,
) -> dict[str, KindCoverage]:
    """Which parts of the project its tests reach: stories and sentences as written, conversations as they ran.

    The training sentences of an assistant whose files name all that users may mean are tests as well, as they are on
    its platform.
    """
    if project.kore is not None:
        from turncheck.evaluation.kore_coverage import kore_coverage

        section = nlu.section if nlu else None
        sentences = (tests.nlu or project.nlu).examples if section else ()
        return kore_coverage(project, project.kore, sentences, section, batch) if section or batch else {}
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
