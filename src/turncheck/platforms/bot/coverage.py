"""Coverage of a bot over HTTP: its files do not say what it can do, so that nothing can be missing from the tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.report.batch import Batch
    from turncheck.report.model import KindCoverage, Nlu


def coverage(
    project: Project,  # noqa: ARG001 - as of all platforms
    sentences: Iterable[Example],  # noqa: ARG001
    nlu: Nlu | None,  # noqa: ARG001
    batch: Batch | None,  # noqa: ARG001
) -> dict[str, KindCoverage]:
    """Return nothing."""
    return {}
