"""Assembles a report, the only place where it gets the tool's name and version; and reads one from a file."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from turncheck import __version__
from turncheck.messages.errors import UserError
from turncheck.process.regular_file import TooLargeError, read_regular
from turncheck.registry import plugins_in_use
from turncheck.report.codec import MAX_BYTES, decode
from turncheck.report.model import GateSettings, PluginInfo, ProjectInfo, Report, Source, Tool, VersionSign

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from turncheck.project.model import Project
    from turncheck.project.rasa_version import Sign
    from turncheck.report.model import EngineInfo, KindCoverage, Skipped, TrainingSentence, Unread, WordList
    from turncheck.report.trust import Trust


def project_info(project: Project, *, name: str | None = None, root: str = "", file: str | None = None) -> ProjectInfo:
    """Return what a report says about the project as a whole."""
    rasa = project.rasa
    return ProjectInfo(
        name=name or project.name,
        root=root,
        kind=project.platform.name,
        file=file,
        rasa_version=rasa.name if rasa else None,
        rasa_signs=_signs(rasa.signs) if rasa else (),
        rasa_others=_signs(rasa.others) if rasa else (),
    )


def _signs(signs: Iterable[Sign]) -> tuple[VersionSign, ...]:
    return tuple(VersionSign(what=sign.what, location=sign.location) for sign in signs)


def now() -> str:
    """Return date and time of a measurement, as reports have it."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def report_of(
    project: ProjectInfo,
    seed: int,
    *,
    source: Source | None = None,
    engine: EngineInfo | None = None,
    coverage: Mapping[str, KindCoverage] | None = None,
    training: Iterable[TrainingSentence] = (),
    word_lists: Iterable[WordList] = (),
    settings: GateSettings | None = None,
    trust: Trust | None = None,
    skipped: Iterable[Skipped] = (),
    unread: Iterable[Unread] = (),
    unchecked: Iterable[str] = (),
    stopped: str | None = None,
    timings: Mapping[str, float] | None = None,
    **sections: Any,
) -> Report:
    """Return the report of a project: its evaluations, those that were skipped, and what ended the run early.

    ``sections``: those of the evaluations, by the names of the report's fields.
    """
    return Report(
        tool=Tool(name="turncheck", version=__version__),
        project=project,
        source=source or Source(),
        seed=seed,
        engine=engine,
        **sections,
        coverage=dict(coverage or {}),
        training=tuple(training),
        word_lists=tuple(word_lists),
        settings=settings or GateSettings(),
        trust=trust,
        skipped=tuple(skipped),
        unread=tuple(unread),
        unchecked=tuple(unchecked),
        stopped=stopped,
        plugins=tuple(
            PluginInfo(name=plugin.name, version=plugin.version, provides=plugin.provides)
            for plugin in plugins_in_use()
        ),
        timings=dict(timings or {}),
    )


# Reads a report that somebody names: a file, or the folder that a run wrote.

REPORT_NAME: Final = "report.json"
_HINT: Final = "Give a report.json that `turncheck run` wrote."


def read_report(path: Path) -> Report:
    """Read a report from a file, or from the folder that a run wrote.

    Raises:
        UserError: it does not exist, or is not a report.
    """
    if path.is_dir():
        path = path / REPORT_NAME
    try:
        content = read_regular(path, most=MAX_BYTES)
    except TooLargeError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror}", hint="Divide the project into several assistants."
        ) from None
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}", hint=_HINT) from None
    return decode(content, name=str(path))
