"""The base's assistant, trained and started here from the base's own files, for tests to be run there in turn."""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.ci.host import exact_commit
from turncheck.evaluation.on_base import OnBase
from turncheck.messages.errors import EngineError, UserError
from turncheck.process.child_process import split_command
from turncheck.process.screen import Console
from turncheck.run.assistant import opened_engine
from turncheck.run.reading import read_given
from turncheck.settings.engines import ENGINES

if TYPE_CHECKING:
    from turncheck.engines.base import Engine
    from turncheck.run.under_way import RunInProgress
    from turncheck.settings.options import Settings


def can_be_started(run: RunInProgress) -> bool:
    """Whether the settings say how an assistant is made of files: then that of the base is, too.

    A model that is named is this side's: it says nothing of the base.
    """
    named = ENGINES[run.settings.engine].command
    has_command = named is not None and getattr(run.settings, named) is not None
    return run.settings.baseline != "none" and run.settings.model is None and has_command


def base_to_start(run: RunInProgress) -> OnBase[Engine] | None:
    """Return the assistant of the base, which is started when it is first asked; ``None`` if nobody says how."""
    if run.base_to_start is None and can_be_started(run):
        run.base_to_start = OnBase(partial(_started, run), only_known=True)
    return run.base_to_start


def _started(run: RunInProgress) -> Engine:
    """Train and start the assistant of the commit that the report of the base is of; it runs until the run ends.

    Its custom actions are run by the action server of this run.

    Raises:
        EngineError: it cannot be had, for whatever reason.
    """
    try:
        engine = _opened(run)
        _ = engine.nlu  # it is ready before several tests are run there at once
    except EngineError:
        raise
    except UserError as error:
        raise EngineError(error.message, location=error.location, hint=error.hint) from error
    return engine


def _opened(run: RunInProgress) -> Engine:
    base = run.base_report()
    commit = exact_commit(base.source.commit) if base is not None else None
    if commit is None or run.inputs.at_commit is None:
        raise EngineError("its report does not say of which commit it is")
    run.screen.progress(f"The assistant of the base ({commit[:8]}) is trained and started, to be asked in turn")
    there = run.until_its_end.enter_context(run.inputs.at_commit(commit))
    opened = opened_engine(
        _as_here(there.settings, run),
        replace(read_given(there.settings), endpoints=run.project.endpoints),
        there.environment,
        Console(quiet=True, stream=StringIO()),
        hosts=there.hosts,
        variables=there.file_variables,
    )
    return run.until_its_end.enter_context(opened)


def _as_here(own: Settings, run: RunInProgress) -> Settings:
    """Return the base's settings, with which it is started as this side is; a program of this folder is called here."""
    setting = ENGINES[own.engine].command
    if own.engine != run.settings.engine or setting is None:
        raise UserError(f"by its own settings, another engine runs it ({own.engine})")
    program, *words = split_command("The base", getattr(own, setting))
    place = run.project.root.absolute() / program
    if Path(program).name != program and place.exists():
        program = str(place)
    command: dict[str, Any] = {setting: shlex.join([program, *words])}
    return replace(own, **command, rasa_servers=1)
