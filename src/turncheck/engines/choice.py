"""Which engine measures: made once for a run, each part trained when it is first needed and never twice."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from turncheck.engines.embedded.engines import EmbeddedEngines
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.engines.base import Engines
    from turncheck.engines.rasa_server.engines import RasaEngines
    from turncheck.project.model import Project
    from turncheck.settings.options import Settings


@contextmanager
def chosen_engines(
    settings: Settings,
    project: Project,
    environment: Mapping[str, str],
    hosts: tuple[str, ...] | None,
) -> Iterator[Engines]:
    """Yield the engine that the settings name; what is started for it is stopped at the end.

    Args:
        settings: those about the engine must fit together.
        project: what it is trained on.
        environment: what a child process may get of it (see :mod:`turncheck.process.environment`).
        hosts: what the project's files may name beside loopback; ``None``: any.

    Raises:
        UserError: settings that belong to another engine, or too few or too many of them; sentence vectors that are
            switched on and not installed.
    """
    if settings.engine == "embedded":
        refuse_settings_of_rasa(settings)
        if settings.vectors:
            from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors  # noqa: PLC0415 - imports NumPy

            SentenceVectors.installed()  # what is missing is said before anything is measured
        yield EmbeddedEngines(project, settings.seed, hosts, settings.allow_custom_code, settings.vectors)
        return
    from turncheck.engines.rasa_server.engines import running_rasa  # noqa: PLC0415 - not for the embedded engine

    with running_rasa(settings, project, environment, hosts) as engines:
        yield engines


@contextmanager
def given_rasa(settings: Settings | None, project: Project) -> Iterator[RasaEngines | None]:
    """Yield the engine of a command's flags, ``None`` where they name none.

    Raises:
        UserError: as :func:`chosen_engines`.
    """
    if settings is None:
        yield None
        return
    from turncheck.engines.rasa_server.engines import running_rasa  # noqa: PLC0415 - not for the embedded engine

    with running_rasa(settings, project, os.environ, None) as engines:
        yield engines


def refuse_settings_of_rasa(settings: Settings) -> None:
    """Refuse, for the embedded engine, what is about a Rasa server.

    Raises:
        UserError: such a setting was given.
    """
    for name in ("rasa_url", "rasa_token", "rasa_jwt", "rasa_command", "model"):
        if getattr(settings, name) is not None:
            flag = name.replace("_", "-")
            raise UserError(f"--{flag} is for the engine 'rasa'", remedy="Add --engine rasa, or leave it out.")
