"""The engine that the settings name: opened for a run, each part created once, when it is first needed."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from turncheck.messages.errors import UserError
from turncheck.platforms.registry import PLATFORMS
from turncheck.registry import blamed_on_plugin
from turncheck.settings.declared import default_of, options
from turncheck.settings.engines import ENGINES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.engines.base import Engine, Models
    from turncheck.process.environment import FileVariables
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings


class EngineModule(Protocol):
    """What the module of a registered engine provides."""

    def opened(  # noqa: PLR0917 - each engine takes what it needs
        self,
        settings: Settings,
        project: Project,
        environment: Mapping[str, str],
        hosts: tuple[str, ...] | None,
        models: Models | None,
        variables: FileVariables | None,
    ) -> AbstractContextManager[Engine]:
        """See :func:`chosen_engines`."""


@contextmanager
def chosen_engines(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None = None,
    models: Models | None = None,
    *,
    variables: FileVariables | None = None,
) -> Iterator[Engine]:
    """Yield the engine that the settings name; what is started for it is stopped at the end.

    Args:
        settings: those about the engine must fit together.
        project: what it is trained on.
        environment: what a child process may get from it (see :mod:`turncheck.process.environment`).
        hosts: what the project's files may name besides loopback; ``None``: any.
        models: where a trained model may be taken from; ``None``: it is trained for this run.
        variables: what ``${NAME}`` in the project's files stands for; ``None``: what the environment has.

    Raises:
        UserError: settings belong to another engine, or there are too few or too many; something that the engine
            needs is not installed.
    """
    refuse_settings_of_others(settings)
    registered = ENGINES[settings.engine]
    flags = f": {project.platform.flags}" if project.platform.flags else ""
    if registered.kinds is not None and project.platform.name not in registered.kinds:
        runs = " and ".join(platform.many for platform in PLATFORMS.values() if platform.name in registered.kinds)
        raise UserError(
            f"the engine '{settings.engine}' runs {runs}; this is {project.platform.one}",
            hint=f"Use the engine '{project.platform.engine or default_of('engine')}'{flags}.",
        )
    if project.platform.engine not in {"", settings.engine}:
        raise UserError(
            f"the engine '{settings.engine}' cannot run {project.platform.one}",
            hint=f"Use the engine '{project.platform.engine}'{flags}.",
        )
    with ExitStack() as stack:
        with blamed_on_plugin(f"engine '{settings.engine}'") if settings.engine in ENGINES.added() else nullcontext():
            module = cast("EngineModule", import_module(registered.module))
            opened = module.opened(settings, project, environment, hosts, models, variables)
            engines = stack.enter_context(opened)
        yield engines


def settings_of_engine(settings: Settings, engine: str, **more: Any) -> Settings:
    """Return the same settings for an engine, without those of other engines, and without gates on figures.

    ``more``: settings that differ as well.
    """
    foreign = (name for name, option in options().items() if option.engine not in {None, engine})
    defaults: dict[str, Any] = {name.replace("-", "_"): default_of(name) for name in foreign}
    return replace(settings, **{**defaults, "engine": engine, "thresholds": (), "max_regression": (), **more})


def refuse_settings_of_others(settings: Settings) -> None:
    """Refuse settings for another engine than the named one.

    Raises:
        UserError: there is such a setting.
    """
    for name, option in options().items():
        is_given = getattr(settings, name.replace("-", "_")) != default_of(name)
        if is_given and option.engine not in {None, settings.engine}:
            raise UserError(
                f"--{name} is for the engine '{option.engine}'",
                hint=f"Add --engine {option.engine}, or omit it.",
            )
