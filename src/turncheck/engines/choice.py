"""The engine that the settings name: opened for a run, each part made when it is first needed and never twice."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from turncheck.messages.errors import UserError
from turncheck.settings.engines import ENGINES
from turncheck.settings.options import default_of, options

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from turncheck.engines.base import Engines, Models
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings


class EngineModule(Protocol):
    """What the module of a registered engine holds."""

    def opened(
        self,
        settings: Settings,
        project: Project,
        environment: Mapping[str, str],
        hosts: tuple[str, ...] | None,
        models: Models | None,
    ) -> AbstractContextManager[Engines]:
        """See :func:`chosen_engines`."""


@contextmanager
def chosen_engines(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None = None,
    models: Models | None = None,
) -> Iterator[Engines]:
    """Yield the engine that the settings name; what is started for it is stopped at the end.

    Args:
        settings: those about the engine must fit together.
        project: what it is trained on.
        environment: what a child process may get of it (see :mod:`turncheck.process.environment`).
        hosts: what the project's files may name beside loopback; ``None``: any.
        models: where a trained model may be taken from; ``None``: it is trained for this run.

    Raises:
        UserError: settings that belong to another engine, or too few or too many of them; something that the engine
            needs is not installed.
    """
    refuse_settings_of_others(settings)
    if settings.engine == "rasa" and project.kore is not None:
        raise UserError(
            "the engine 'rasa' runs Rasa projects; this is a Kore.ai assistant", remedy="Use the engine 'embedded'."
        )
    module = cast("EngineModule", import_module(ENGINES[settings.engine].module))
    with module.opened(settings, project, environment, hosts, models) as engines:
        yield engines


def refuse_settings_of_others(settings: Settings) -> None:
    """Refuse what is about another engine than the one that is named.

    Raises:
        UserError: such a setting was given.
    """
    for name, option in options().items():
        is_given = getattr(settings, name.replace("-", "_")) != default_of(name)
        if is_given and option.engine not in {None, settings.engine}:
            raise UserError(
                f"--{name} is for the engine '{option.engine}'",
                remedy=f"Add --engine {option.engine}, or leave it out.",
            )
