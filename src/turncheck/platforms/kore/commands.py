"""``turncheck kore``: batch suites and their runs on Kore.ai's platform, and the assistant's export."""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final, TextIO

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turncheck.commands.batch import named_as, refuse_faulty
from turncheck.messages.errors import EXIT_FAILED, EXIT_NOT_DONE, EXIT_OK, EngineError
from turncheck.messages.phrasing import count
from turncheck.messages.plain_text import log_json, plain
from turncheck.platforms.kore.engine import client
from turncheck.platforms.kore.engine.answers import Figures, RunState, StoredRun, StoredSuite
from turncheck.platforms.kore.engine.engines import ReportError, as_uploaded, platform_of, read_report
from turncheck.platforms.kore.engine.platform import VERSIONS, CompletedRun, Platform
from turncheck.platforms.kore.reader import ArchiveError, read_export
from turncheck.process.regular_file import read_regular
from turncheck.project.batch.reader import HowToRead, read_suites
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.publishing.files import write_file
from turncheck.render.phrases import moment
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from turncheck.process.screen import Console
    from turncheck.project.batch.run_report import ReportedCase, RunReport
    from turncheck.settings.options import Settings

    Task = Callable[[Platform, Console], "Answered"]

MAX_EXPORT: Final = 512 << 20
"""Bytes of an export when it is unpacked."""
_MAX_CONFIG: Final = 16 << 20
_MOST_LISTED: Final = 20
_CONFIG: Final = "config.json"
_VALUES: Final = frozenset({"value", "values", "defaultvalue"})
"""Keys of ``config.json`` with the values of variables, which are often tokens."""


class Answered(Struct, frozen=True):
    """The output of a command, for people and as JSON, and its exit code."""

    lines: tuple[str, ...]
    json: Any
    code: int = EXIT_OK


def run_kore(  # noqa: PLR0917 - what a command is given
    task: Task, settings: Settings, environment: Mapping[str, str], screen: Console, to: str | None, output: TextIO
) -> int:
    """Run one task on the platform and print its result; ``to``: where JSON goes, ``-`` is ``output``.

    Raises:
        UserError: it could not be done.
    """
    platform = platform_of(settings, environment)
    platform.client.say = screen.progress
    done = task(platform, screen)
    as_json = json.dumps(done.json, indent=2, ensure_ascii=False) + "\n"
    output.write(log_json(as_json) if to == "-" else plain("".join(f"{line}\n" for line in done.lines)))
    if to not in {None, "-"}:
        write_file(Path(str(to)), as_json.encode())
    return done.code


# --- suites and runs -------------------------------------------------------------------------------------------------


def list_suites(platform: Platform, screen: Console) -> Answered:  # noqa: ARG001 - as all of them
    """List the suites on the platform, and their runs."""
    suites = [_with_states(platform, suite) for suite in platform.suites()]
    lines = tuple(line for suite in suites for line in _suite_lines(suite))
    return Answered(lines or ("There are no suites.",), {"suites": [_suite_json(suite) for suite in suites]})


def _with_states(platform: Platform, suite: StoredSuite) -> StoredSuite:
    """Ask for the state of each run without figures: it may be under way, have failed or been cancelled."""

    def state_of(run: StoredRun) -> str:
        if run.figures is not None:
            return "completed"
        state = RunState(run.status)
        if run.id and (not run.status or state.is_under_way):
            try:
                state = platform.status(suite.name, run.id)
            except (
                client.KoreError,
                client.KoreRefusedError,
                client.KoreFaultError,
            ) as error:  # it may take another scope than the list
                is_gone = isinstance(error, client.KoreRefusedError) and error.is_gone
                state = RunState("deleted" if is_gone else f"its state is not known: {error.message}")
        return state.status if state.status and not state.is_under_way else "under way"

    return replace(suite, runs=tuple(replace(run, status=state_of(run)) for run in suite.runs))


def _suite_lines(suite: StoredSuite) -> Iterator[str]:
    about = f": {text(suite.description)}" if suite.description else ""
    yield f"{text(suite.name)} ({'built in' if suite.is_built_in else 'custom'}){about}"
    for run in suite.runs:
        words = text(run.status) if run.figures is None else "; ".join(_figures(run.figures))
        yield f"  {text(run.id)}, {_version(run.version)}: {words}"


def _suite_json(suite: StoredSuite) -> dict[str, Any]:
    runs = [
        {
            "id": run.id,
            "version": _version(run.version),
            "status": run.status,
            "figures": run.figures and _figures_json(run.figures),
        }
        for run in suite.runs
    ]
    kind = "built-in" if suite.is_built_in else "custom"
    return {"id": suite.id, "name": suite.name, "description": suite.description, "type": kind, "runs": runs}


def run_suite(
    platform: Platform, screen: Console, name: str, *, wait: bool, csv: Path | None, notes: str = ""
) -> Answered:
    """Run a suite on the platform, and wait until it has ended.

    Raises:
        KoreError: it did not finish.
        KeyboardInterrupt: somebody interrupted it; the run goes on.
    """
    notes = notes.strip()
    run = platform.run(name, notes)
    written = {"suite": name, "run": run, "version": platform.version, "notes": notes}
    if not wait:
        return Answered((run,), {**written, "status": "accepted"})
    screen.note(f"The platform runs '{text(name)}' as '{text(run)}'.")
    done = _waited_for(platform, screen, name, run)
    if csv is not None:
        content = platform.report_of(done)
        write_file(csv, content)
        _say_if_not_kept(notes, done, content, screen)
    elif notes:
        _say_if_not_kept(notes, done, _report_if_any(platform, done), screen)
    return Answered(
        _completed_lines(done), {**written, "status": "completed", **_completed_json(done)}, _code(done.figures)
    )


def _waited_for(platform: Platform, screen: Console, name: str, run: str) -> CompletedRun:
    try:
        return platform.completed(name, run, screen.progress)
    except KeyboardInterrupt:
        screen.note(f"The run goes on there. To cancel it: turncheck kore cancel '{text(name)}' {text(run)}")
        raise


def _report_if_any(platform: Platform, done: CompletedRun) -> bytes:
    """Return the CSV of a run, empty if it is not available: only notes are looked for in it."""
    try:
        return platform.report_of(done)
    except client.KoreRunError:
        return b""


def _say_if_not_kept(notes: str, done: CompletedRun, content: bytes, screen: Console) -> None:
    """Say if the platform has no such notes on the run, neither with its result nor in its CSV."""
    try:
        in_csv = read_report(content).about("notes")
    except ReportError:
        in_csv = ""
    kept = (" ".join(one.split()) for one in (done.notes, in_csv))
    if not any(" ".join(notes.split()) in one for one in kept):
        screen.note("The platform did not keep the notes: its public API takes none. Add them there, in Batch Testing.")


# --- both versions of an assistant, side by side ---------------------------------------------------------------------


class _Column(Struct):
    """The run of a suite on one version, as far as it got. ``problem``: why it could not be done.

    ``cancelled``: somebody cancelled the run.
    """

    platform: Platform
    run: str = ""
    done: CompletedRun | None = None
    report: RunReport | None = None
    problem: str = ""
    cancelled: bool = False

    @property
    def version(self) -> str:
        return self.platform.version

    @property
    def status(self) -> str:
        if self.done is not None:
            return "completed"
        return "cancelled" if self.cancelled else "failed" if self.problem else "accepted"

    @property
    def code(self) -> int:
        return EXIT_NOT_DONE if self.done is None else _code(self.done.figures)


def run_on_both(
    platform: Platform, screen: Console, name: str, *, wait: bool, csv: Path | None, notes: str = ""
) -> Answered:
    """Run a suite on both versions of the assistant, as the platform does with a new one, and compare them.

    A version that cannot be run is a column that says so.

    Raises:
        KoreError: the platform cannot be used, and no run has begun.
    """
    notes = notes.strip()
    columns = [_Column(dataclasses.replace(platform, version=version)) for version in VERSIONS]
    for column in columns:
        try:
            _begin(column, name, notes, screen)
        except client.KoreError as error:
            if not any(one.run for one in columns):
                raise
            column.problem = error.message
    if wait:
        for column in columns:
            _end(column, name, csv, notes, screen)
    as_json = [
        {
            "version": column.version,
            "run": column.run or None,
            "status": column.status,
            "problem": column.problem or None,
            **({} if column.done is None else _completed_json(column.done)),
        }
        for column in columns
    ]
    if not wait:
        lines = tuple(f"{one.version}: {text(one.run) or text(one.problem)}" for one in columns)
        code = EXIT_NOT_DONE if any(column.problem for column in columns) else EXIT_OK
    else:
        lines = (*_beside(name, columns), *_differing(columns))
        code = max(column.code for column in columns)
    return Answered(lines, {"suite": name, "notes": notes, "runs": as_json}, code)


def _begin(column: _Column, name: str, notes: str, screen: Console) -> None:
    try:
        column.run = column.platform.run(name, notes)
        screen.note(f"The platform runs '{text(name)}' ({column.version}) as '{text(column.run)}'.")
    except (client.KoreRefusedError, client.KoreFaultError) as error:
        column.problem = error.message


def _end(column: _Column, name: str, csv: Path | None, notes: str, screen: Console) -> None:
    try:
        if not column.run:  # it may not take two runs at once
            column.problem = ""
            _begin(column, name, notes, screen)
        if not column.run:
            return
        column.done = _waited_for(column.platform, screen, name, column.run)
        content = column.platform.report_of(column.done)
        if csv is not None:
            write_file(csv.with_stem(f"{csv.stem}-{column.version}"), content)
        column.report = read_report(content)
        if notes:
            _say_if_not_kept(notes, column.done, content, screen)
    except (client.KoreError, client.KoreRefusedError, client.KoreFaultError) as error:
        column.problem, column.cancelled = error.message, isinstance(error, client.KoreCancelledError)
    except ReportError as error:
        column.problem = str(error)


def _beside(name: str, columns: Sequence[_Column]) -> Iterator[str]:
    """Yield a table with a column for each version."""
    rows = [[text(name), *(column.version for column in columns)], ["run", *(column.run or "-" for column in columns)]]
    done = [column.done for column in columns]

    def row(title: str, of: Callable[[CompletedRun], str]) -> None:
        rows.append([title, *("-" if completed is None else of(completed) for completed in done)])

    row("began", lambda completed: moment(completed.started) or "-")
    rows.append(
        [
            "outcome",
            *(_outcome(column.done) if column.done else column.status if column.run else "-" for column in columns),
        ]
    )
    row(
        "TP, TN, FP, FN",
        lambda completed: (
            f"{completed.figures.tp}, {completed.figures.tn}, {completed.figures.fp}, {completed.figures.fn}"
        ),
    )
    row("precision", lambda completed: completed.figures.precision or "-")
    row("recall", lambda completed: completed.figures.recall or "-")
    row("F1", lambda completed: completed.figures.f1 or "-")
    row(
        "passed",
        lambda completed: f"{completed.figures.success} of {completed.figures.success + completed.figures.failure}",
    )
    if any(completed is not None and completed.figures.entities for completed in done):
        row("entities found", lambda completed: f"{completed.figures.matched_entities} of {completed.figures.entities}")
    widths = [max(len(cells[place]) for cells in rows) for place in range(len(columns) + 1)]
    for cells in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
    yield from (f"{column.version}: {text(column.problem)}" for column in columns if column.problem)


def _differing(columns: Sequence[_Column]) -> Iterator[str]:
    """Yield the utterances that the versions understand differently, and how many only one of them has."""
    reports = [column.report for column in columns if column.report is not None]
    if len(reports) < len(columns):
        return
    first, second = reports
    left: dict[tuple[str, tuple[str, ...]], list[ReportedCase]] = {}
    for case in second.cases:
        left.setdefault((case.text, case.expected.names), []).append(case)
    pairs = [(case, same.pop(0)) for case in first.cases if (same := left.get((case.text, case.expected.names)))]
    alone = len(first.cases) + len(second.cases) - 2 * len(pairs)
    found = [(one, other) for one, other in pairs if _got(one) != _got(other)]
    if alone:
        verb = "is" if alone == 1 else "are"
        yield f"{count(alone, 'utterance')} {verb} in the results of one version only."
    if not found:
        yield f"Both versions understand every {'other ' if alone else ''}utterance alike."
        return
    yield f"{count(len(found), 'utterance')} understood differently:"
    for reported_case, other in found[:_MOST_LISTED]:
        parses = f"{columns[0].version} {text(_got(reported_case))}, {columns[1].version} {text(_got(other))}"
        yield f"  '{text(reported_case.text)}': {parses}"
    if len(found) > _MOST_LISTED:
        yield f"  … and {len(found) - _MOST_LISTED:,} more"


def _got(case: ReportedCase) -> str:
    names = " and ".join(case.matched.names) or "no intent"
    return f"{(case.result or 'not-evaluated').upper()} {names}"


def cancel_run(platform: Platform, screen: Console, name: str, run: str) -> Answered:  # noqa: ARG001 - as all of them
    """Cancel a run that is under way.

    Raises:
        KoreRunError: it has ended, or goes on all the same.
    """
    platform.cancel(name, run)
    return Answered((f"Cancelled: '{text(run)}'.",), {"suite": name, "run": run, "status": "cancelled"})


def print_status(platform: Platform, screen: Console, name: str, run: str, *, csv: Path | None) -> Answered:
    """Print the state of a run."""
    state = platform.status(name, run)
    written = {"suite": name, "run": run, "status": state.status}
    if state.is_completed:
        done = platform.completed_by(state, name, run)
        if csv is not None:
            write_file(csv, platform.report_of(done))
        return Answered(_completed_lines(done), {**written, **_completed_json(done)})
    if csv is not None:
        why = "it has not ended" if state.is_under_way else f"it ended as '{text(state.status)}'"
        screen.note(f"The run has no CSV: {why}.")
    return Answered(
        (_state_line(state),), {**written, "ran": state.ran, "total": state.total, "message": state.message}
    )


def _state_line(state: RunState) -> str:
    far = f": {state.ran or 0:,} of {count(state.total, 'utterance')}" if state.total is not None else ""
    return f"{text(state.status)}{far}{f': {text(state.message)}' if state.message else ''}"


def _completed_lines(done: CompletedRun) -> tuple[str, ...]:
    times = [f"{word} {moment(at)}" for word, at in (("began", done.started), ("ended", done.ended)) if at]
    first = f"{text(done.suite)}: {_outcome(done)} (run {', '.join([text(done.id), *times])})"
    return (first, *(f"  {line}" for line in _figures(done.figures)))


def _completed_json(done: CompletedRun) -> dict[str, Any]:
    times = {"started": done.started or None, "ended": done.ended or None}
    return {"outcome": _outcome(done), **times, "figures": _figures_json(done.figures)}


def _outcome(done: CompletedRun) -> str:
    if done.figures.tested_nothing:
        return "failed"
    return "success with warning" if done.is_partial or done.figures.not_evaluated else "success"


def _code(figures: Figures) -> int:
    if figures.tested_nothing:
        return EXIT_NOT_DONE
    return EXIT_OK if figures.all_passed else EXIT_FAILED


def _figures(figures: Figures) -> list[str]:
    """The platform's own numbers, as it writes them."""
    counts = f"TP {figures.tp}, TN {figures.tn}, FP {figures.fp}, FN {figures.fn}"
    unanswered = f", not evaluated {figures.not_evaluated}" if figures.not_evaluated else ""
    shares = {"precision": figures.precision, "recall": figures.recall, "F1": figures.f1}
    passed = f"{figures.success} of {count(figures.success + figures.failure, 'utterance')} passed"
    found = f", {figures.matched_entities} of {count(figures.entities, 'entity', 'entities')} found"
    return [
        counts + unanswered,
        ", ".join(f"{name} {share or '-'}" for name, share in shares.items()),
        passed + (found if figures.entities else ""),
    ]


def _figures_json(figures: Figures) -> dict[str, Any]:
    return msgspec.structs.asdict(figures)


def _version(word: str) -> str:
    return next((name for name, platforms in VERSIONS.items() if platforms == word), text(word))


def import_suite(
    platform: Platform, screen: Console, file: Path, name: str | None, description: str, *, runs: bool, wait: bool
) -> Answered:
    """Upload a suite, after reading it as the platform would; one that is new is run on both versions.

    Raises:
        UserError: the suite has faults for which the platform would refuse it.
    """
    here = Path()
    read = read_suites(here, [file], HowToRead(name, description, upload=True))
    refuse_faulty(read, (), named_as(here, [str(file)]), "", screen)
    (suite,) = read.suites
    content = read_regular(file, most=MAX_FILE_BYTES)
    is_new = platform.store(suite.name, description, file.name, *as_uploaded(file.name, content))
    words = f"'{text(suite.name)}' is on the platform: {count(len(suite.cases), 'case')}"
    told = {"suite": suite.name, "description": description, "cases": len(suite.cases)}
    if not (is_new and runs):
        return Answered((words,), told)
    try:
        if any(stored.runs for stored in platform.suites() if stored.name == suite.name):
            return Answered((words, "The platform runs it already: `turncheck kore suites` lists the runs."), told)
        ran = run_on_both(platform, screen, suite.name, wait=wait, csv=None)
    except EngineError:
        screen.note(words)
        raise
    return Answered((words, *ran.lines), {**told, "runs": ran.json["runs"]}, ran.code)


def export_suite(platform: Platform, screen: Console, name: str, out: Path) -> Answered:  # noqa: ARG001 - as all of them
    """Download a suite into a file."""
    content = platform.export(name)
    write_file(out, content)
    return Answered(
        (f"'{text(name)}' is in {text(str(out))}",), {"suite": name, "file": str(out), "bytes": len(content)}
    )


def delete_suite(platform: Platform, screen: Console, name: str, run: str | None) -> Answered:  # noqa: ARG001 - as above
    """Delete a suite on the platform, or one run of it."""
    message = platform.delete(name, run)
    return Answered((text(message) or "Deleted.",), {"suite": name, "run": run, "message": message})


# --- the assistant ---------------------------------------------------------------------------------------------------


def pull_bot(platform: Platform, screen: Console, out: Path) -> Answered:
    """Download the assistant's export, and write what a repository needs of it, without the values of variables.

    Raises:
        UserError: what the platform gives is not an export.
    """
    content = platform.bot_export(screen.note)
    try:
        name, definition = read_export(content, MAX_EXPORT)
    except ArchiveError as error:
        raise client.KoreError(f"the zip that the platform gives {error}") from None
    path = PurePosixPath(name)
    files = {path.name: definition}
    config = _config(content, str(path.with_name(_CONFIG)))
    if config is not None:
        files[_CONFIG] = config
    for file, data in files.items():
        write_file(out / file, data)
    said = " and ".join(files)
    note = " (without the values of variables)" if config is not None else ""
    words = (f"{said} are in {text(str(out))}" if config is not None else f"{said} is in {text(str(out))}") + note
    return Answered((words,), {"folder": str(out), "files": list(files), "version": platform.version})


def _config(content: bytes, name: str) -> bytes | None:
    """Return ``config.json`` of a zip without variables' values, ``None`` where there is none that can be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive, archive.open(name) as file:
            unpacked = file.read(_MAX_CONFIG + 1)
        if len(unpacked) > _MAX_CONFIG:
            return None
        config = _without_values(json.loads(unpacked.decode("utf-8-sig", "replace")))
        return json.dumps(config, indent=2).encode() + b"\n"
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, RuntimeError, ValueError):
        return None
    except RecursionError:
        return None


def _without_values(config: Any) -> Any:
    if isinstance(config, list):
        return [_without_values(entry) for entry in config]
    if isinstance(config, dict):
        return {key: _without_values(value) for key, value in config.items() if key.casefold() not in _VALUES}
    return config
