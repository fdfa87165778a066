"""Bare ``turncheck test``: the stories, then the NLU data, with one report of both."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import UnsetType, structs

from turncheck.commands.core import (
    CoreOutput,
    CoreTestOptions,
    core_exit_code,
    evaluate_core,
    print_core,
    write_core_files,
)
from turncheck.commands.nlu import NluOutput, NluTestOptions, evaluate_nlu, print_nlu, write_test_files
from turncheck.comparison.quarantine import with_results
from turncheck.messages.errors import EXIT_FAILED, CutShortError, UserError
from turncheck.publishing.files import write_report
from turncheck.render.phrases import not_run_text, noted_version_line
from turncheck.report.model import EngineInfo, Report, Skipped
from turncheck.run.alone import cause, end_with, with_quarantine
from turncheck.run.folders import ensure_apart_from_project

if TYPE_CHECKING:
    from turncheck.process.screen import Console


def run_bare_test(
    core: CoreTestOptions, core_output: CoreOutput, nlu: NluTestOptions, nlu_output: NluOutput, screen: Console
) -> int:
    """Judge test stories and NLU data, and write Rasa's files of both and the report, which ``nlu_output`` names.

    If the stories could not be finished, the NLU data are not judged; if the NLU data cannot be judged, the results of
    the stories are kept.

    Raises:
        UserError: the cause, after everything that was finished is written.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    ensure_apart_from_project(core_output.folder, core.settings, *nlu_output.further)
    report, stopped = evaluate_core(core, screen)
    held = with_quarantine(report, core.project, screen)
    report = held.report
    write_core_files(report, core_output, screen)
    sys.stdout.write(noted_version_line(report.project, str(core.project)))
    print_core(report, core.project)
    if stopped is None:
        report, stopped = _with_nlu(report, nlu, replace(nlu_output, json=None), screen)
    else:
        report = _without_nlu(report, stopped)
        sys.stdout.write(not_run_text(structs.replace(report, skipped=report.skipped[-1:])))
    if nlu_output.json is not None:
        write_report(nlu_output.json, report)
    if stopped is not None:
        end_with(stopped)
    return EXIT_FAILED if held.is_faulty else core_exit_code(report, core)


def _with_nlu(
    report: Report, options: NluTestOptions, output: NluOutput, screen: Console
) -> tuple[Report, CutShortError | None]:
    """Add to the report of the stories what the NLU data give."""
    try:
        nlu, stopped = evaluate_nlu(options, screen)
    except UserError as error:
        stopped = CutShortError(error)
        return _without_nlu(report, stopped), stopped
    if not isinstance(report.quarantine, UnsetType):
        nlu = with_results(nlu, report.quarantine)
    write_test_files(nlu, output, screen)
    print_nlu(nlu, options.project)
    joined = structs.replace(
        nlu, engine=_of_both(report.engine, nlu.engine), core=report.core, coverage=report.coverage, seed=report.seed
    )
    return joined, stopped


def _without_nlu(report: Report, stopped: CutShortError) -> Report:
    skipped = Skipped(evaluation="nlu", reason=cause(stopped))
    return structs.replace(report, skipped=(*report.skipped, skipped), stopped=str(stopped))


def _of_both(engine_info: EngineInfo | None, other: EngineInfo | None) -> EngineInfo | None:
    """Return the engine with the substitutions and notes of both, each once."""
    if engine_info is None or other is None:
        return engine_info or other
    return structs.replace(
        engine_info,
        substitutions=tuple(dict.fromkeys((*engine_info.substitutions, *other.substitutions))),
        notes=tuple(dict.fromkeys((*engine_info.notes, *other.notes))),
        model=engine_info.model or other.model,
    )
