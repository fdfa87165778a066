"""What Python programs may use: ``import turncheck``. See docs/plugins.md.

Each function does what the command of its name does, with the same settings under the same names, but prints nothing,
writes nothing unless asked to, and returns typed objects. A mistake that the caller can fix is a
:class:`~turncheck.messages.errors.UserError`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import msgspec

from turncheck.conclude import Outcome, conclude
from turncheck.messages.errors import INTERRUPTED, UserError
from turncheck.process.screen import Console
from turncheck.report.model import Report
from turncheck.settings.typed import (  # noqa: TC001 - a program may ask for the types of the arguments
    AnyPath,
    EngineSettings,
    GateSettings,
    RunSettings,
)

if TYPE_CHECKING:
    from turncheck.engines.conversation import Parse
    from turncheck.project.model import Project
    from turncheck.validation.pipeline import Validated

__all__ = ["Outcome", "Report", "UserError", "compare", "parse", "read_project", "run", "validate"]


def run(
    project: AnyPath = ".", *, out: AnyPath | None = None, progress: bool = False, **settings: Unpack[RunSettings]
) -> Outcome:
    """Measure an assistant as ``turncheck run`` does: evaluate, compare with a base, judge the gates.

    Args:
        project: the assistant's folder, or the export of a Kore.ai assistant.
        out: the folder to write the files of a run to; nothing is written without one.
        progress: whether to report progress on standard error.
        settings: as on the command line, with underscores; ``turncheck.yml`` has the others.

    Returns:
        the report, the comparison and the verdict. Failed gates are no error: see ``outcome.verdict.passed``.

    Raises:
        UserError: the run could not be done: a wrong setting, a missing file, an engine that cannot be reached.
        KeyboardInterrupt: it was interrupted.
    """
    from turncheck.publishing.files import write_results
    from turncheck.run.prepare import baseline_finder, prepare
    from turncheck.run.run import run_and_conclude
    from turncheck.run.several import choose

    given = _given(settings, project=_project(project), **({} if out is None else {"out": out}))
    if choose(given) is not None:
        raise UserError(
            f"'{os.fspath(project)}' names several assistants", hint="Call run() for each of them, with its folder."
        )
    prepared = prepare(given, os.environ)
    outcome = run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), Console(quiet=not progress))
    if out is not None:
        write_results(Path(out), outcome.renderings())
    if outcome.report.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return outcome


def validate(
    project: AnyPath = ".",
    *,
    domain: AnyPath | None = None,
    data: Sequence[AnyPath] | None = None,
    config: AnyPath | None = None,
    max_history: int | None = None,
    strict: bool = False,
    language: str | None = None,
) -> Validated:
    """Check the files of an assistant as ``turncheck data validate`` does, without training anything.

    Args:
        project: the assistant's folder.
        domain: the domain, a file or a folder.
        data: training data, files or folders.
        config: pipeline and policies.
        max_history: how many turns stories are compared over; ``None``: all.
        strict: whether findings that Rasa does not have are at their true severity.
        language: the language of a Kore.ai assistant.

    Returns:
        the findings, and :meth:`~turncheck.validation.pipeline.Validated.exit_code`.

    Raises:
        UserError: there is no such folder.
    """
    from turncheck.commands.validate import Request, check_project

    return check_project(
        Request(
            project=Path(_project(project)),
            domain=_path(domain),
            data=None if data is None else [Path(one) for one in _listed("data", data)],
            config=_path(config),
            max_history=max_history,
            strict=strict,
            language=language,
        )
    ).validated


def parse(
    sentences: Sequence[str],
    project: AnyPath = ".",
    *,
    progress: bool = False,
    **settings: Unpack[EngineSettings],
) -> list[Parse]:
    """Understand sentences as ``turncheck parse`` does: by the newest model that fits the files, else a trained one.

    Args:
        sentences: what users say.
        project: the assistant's folder.
        progress: whether to report progress on standard error.
        settings: of the engine, as on the command line, with underscores.

    Returns:
        one :class:`~turncheck.engines.conversation.Parse` per sentence, in their order.

    Raises:
        UserError: there is nothing to learn from, or the engine cannot be asked.
    """
    from turncheck.commands.parse import understand
    from turncheck.engines.base import Models
    from turncheck.engines.embedded.models import DEFAULT_MODELS
    from turncheck.settings.sources import combine

    texts = _listed("sentences", sentences)
    if not all(isinstance(text, str) for text in texts):
        raise UserError("sentences: expected strings")
    named = settings.pop("model", None) if settings.get("engine", "embedded") == "embedded" else None
    chosen = combine(_given(settings, project=_project(project)))
    models = Models(Path(chosen.project) / DEFAULT_MODELS, _path(named))
    return understand(texts, chosen, models, os.environ, Console(quiet=not progress))


def compare(
    base: AnyPath | Report,
    head: AnyPath | Report,
    *,
    out: AnyPath | None = None,
    **gates: Unpack[GateSettings],
) -> Outcome:
    """Compare two reports as ``turncheck report compare`` does, and judge the second.

    Args:
        base: the report before: a ``report.json``, the folder of a run, or ``outcome.report``.
        head: the report now.
        out: the folder to write the files of a run to; nothing is written without one.
        gates: those given here apply to both; otherwise those of each report.

    Raises:
        UserError: a report cannot be read, or a gate is invalid.
    """
    from turncheck.comparison.model import Present
    from turncheck.publishing.files import write_results
    from turncheck.render.links import Links
    from turncheck.run.report_of import read_report

    given = _given(gates)

    def judged(one: AnyPath | Report) -> Report:
        report = one if isinstance(one, Report) else read_report(Path(one))
        return msgspec.structs.replace(report, settings=msgspec.structs.replace(report.settings, **given))

    outcome = conclude(judged(head), Present(judged(base), "file"), Links())
    if out is not None:
        write_results(Path(out), outcome.renderings())
    return outcome


def read_project(
    project: AnyPath = ".",
    *,
    domain: AnyPath | None = None,
    data: Sequence[AnyPath] | None = None,
    config: AnyPath | None = None,
    endpoints: AnyPath | None = None,
    language: str | None = None,
) -> Project:
    """Read the files of an assistant into typed data with positions; the arguments are those of :func:`validate`.

    Faults in them are ``project.findings``.

    Raises:
        UserError: there is no such folder, or an export that cannot be read.
    """
    from turncheck.project.reader import read_project as read

    folder = Path(_project(project))
    paths = None if data is None else [Path(one) for one in _listed("data", data)]
    if folder.is_file():
        folder, paths = folder.parent, [folder]
    if not folder.is_dir():
        raise UserError(f"no such project folder: {folder}", hint="Give the path of the assistant's folder.")
    return read(
        folder, domain=_path(domain), data=paths, config=_path(config), endpoints=_path(endpoints), language=language
    )


def _given(settings: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Read settings as flags are read.

    Raises:
        UserError: an unknown setting, or a bad value.
    """
    from turncheck.registry import use_plugins
    from turncheck.settings.sources import from_arguments

    use_plugins(())  # those of an earlier call, say
    return from_arguments({name: _plain(value) for name, value in {**settings, **more}.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    return value


def _project(project: AnyPath) -> str:
    if not isinstance(project, str | os.PathLike):
        raise UserError(f"project: expected the path of a folder, not {project!r}")
    return os.fspath(project)


def _path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(path)


def _listed(name: str, values: Sequence[Any]) -> list[Any]:
    """Make sure that these are several values: a string is a sequence as well, of characters."""
    if isinstance(values, str | bytes | os.PathLike):
        raise UserError(f"{name}: expected a list, not {values!r}", hint=f"Write [{values!r}].")
    return list(values)
