"""Pictures of the stories: the confusion matrix of actions, and that of the entities that policies found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from turncheck.messages.plurals import count as counted
from turncheck.render.matrices import Matrix, draw_matrix, report_state
from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Core, PolicyEntities, Report


_MATRIX: Final = "story_confusion_matrix.png"
_DOCUMENTED: Final = "story_confmat.pdf"
_NAMES: Final = {0: (_DOCUMENTED,), 1: (_DOCUMENTED,), 2: (_MATRIX,), 3: (_MATRIX, _DOCUMENTED)}
"""What each major version of Rasa calls the matrix; that of Rasa 3 also under the name in its documentation."""


def story_plots(report: Report, major: int = 3) -> Iterator[Rendered]:
    """Draw the confusion matrix of actions, under the name that a major version of Rasa gives it.

    Nothing is drawn for a report without a core section.
    """
    if report.core is None:
        return
    cells = action_cells(report.core)
    if not cells:
        return
    judged = sum(not story.duplicate for story in report.core.stories)
    title = (
        "Actions: expected (rows) against predicted (columns)",
        f"blue is right, red is wrong; {judged} test stories",
        report_state(report),
    )
    picture = draw_matrix(Matrix.of(cells), title)
    if _MATRIX in _NAMES[major]:
        yield Rendered(_MATRIX, "image/png", picture.png)
    if _DOCUMENTED in _NAMES[major]:
        yield Rendered(_DOCUMENTED, "application/pdf", picture.pdf)
    if report.core.policy_entities is not None and _MATRIX in _NAMES[major]:
        yield from _policy_entities(report, report.core.policy_entities)


def _policy_entities(report: Report, found: PolicyEntities) -> Iterator[Rendered]:
    cells = Counter({(pair.expected, pair.predicted): pair.count for pair in found.labels})
    if not cells:
        return
    title = (
        "Entities by policies: expected (rows) against predicted (columns)",
        f"blue is right, red is wrong; {counted(sum(cells.values()), 'word')}",
        report_state(report),
    )
    yield Rendered("TEDPolicy_confusion_matrix.png", "image/png", draw_matrix(Matrix.of(cells), title).png)


def action_cells(core: Core) -> Counter[tuple[str, str]]:
    """Count how often each action was expected and each predicted."""
    judged = [story for story in core.stories if not story.duplicate]
    return Counter((step.expected, step.predicted) for story in judged for step in story.steps if step.kind == "action")
