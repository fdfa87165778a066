"""The embedded engine of a project, by the platform that the project is an assistant of."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from turncheck.engines.embedded.engines import EmbeddedEngine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.engines.base import Models
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings


@contextmanager
def opened(  # noqa: PLR0917 - as of all engines
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None,
    models: Models | None,
    variables: FileVariables | None = None,  # noqa: ARG001 - action servers are called by others
) -> Iterator[EmbeddedEngine]:
    """Yield the engine; see :func:`turncheck.engines.choice.chosen_engines`."""
    if settings.vectors:
        from turncheck.engines.embedded.nlu.sentence_vectors import named_vectors  # imports NumPy

        named_vectors(settings.vectors)  # what is missing is reported before anything is measured
    yield engine_of(settings, project, environment, hosts=hosts, models=models)


def engine_of(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    *,
    hosts: tuple[str, ...] | None = None,
    models: Models | None = None,
) -> EmbeddedEngine:
    """Return the engine, which trains nothing before it is asked."""
    own = project.platform.part("stand_in")
    kind: type[EmbeddedEngine] = EmbeddedEngine if own is None else own.StandIn
    return kind(
        project,
        settings.seed,
        hosts,
        settings.allow_custom_code,
        settings.vectors,
        models,
        environment,
        settings.today,
    )
