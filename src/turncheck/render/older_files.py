"""What ``rasa test`` of Rasa 1.x and ``rasa_nlu.evaluate`` of 0.x called their pictures and story files.

Of 1.x the names of 1.10, of 0.x those of 0.13 to 0.15; 0.11 only printed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from turncheck.render.older_stories import story_markdown
from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from turncheck.report.model import Core

FAILED: Final = "failed_stories.md"
SUCCESSFUL: Final = "successful_stories.md"
"""Rasa 1 had none; it is written on request."""


@dataclass(frozen=True, slots=True)
class NluNames:
    """The pictures that could be named by a flag."""

    histogram: str = "hist.png"
    matrix: str = "confmat.png"

    @classmethod
    def of(cls, histogram: Path | None, matrix: Path | None) -> Self:
        """Take the names from the flags, else Rasa's defaults."""
        return cls(str(histogram or cls().histogram), str(matrix or cls().matrix))


def nlu_plots_of_rasa_0_and_1(
    plots: Iterable[Rendered], names: NluNames | None = None, *, responses: bool
) -> Iterator[Rendered]:
    """Yield the pictures of that version: of intents and, if ``responses``, of the selected responses."""
    names = names or NluNames()
    drawn = {"intent_histogram.png": names.histogram, "intent_confusion_matrix.png": names.matrix}
    if responses:
        drawn["response_selection_confusion_matrix.png"] = "response_selection_confmat.png"
    for plot in plots:
        if plot.name in drawn:
            yield replace(plot, name=drawn[plot.name])


def story_files_of_rasa_1(core: Core, *, errors: bool = True, successes: bool = False) -> list[Rendered]:
    """Return ``failed_stories.md``, and the passed stories if requested."""
    judged = [story for story in core.stories if not story.duplicate]
    wanted = {FAILED: (errors, False), SUCCESSFUL: (successes, True)}
    return [
        Rendered(name, "text/markdown", story_markdown([story for story in judged if story.passed is passed]))
        for name, (is_wanted, passed) in wanted.items()
        if is_wanted
    ]
