"""The files of ``rasa test`` 1.x and ``rasa_nlu.evaluate`` 0.x, at the places that their flags name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.commands.nlu_output import write_under_names
from turncheck.messages.engine_errors import INTERRUPTED
from turncheck.publishing.files import write_all, write_file
from turncheck.render.older_files import NluNames, nlu_plots_of_rasa_0_and_1
from turncheck.render.rasa_files import as_json, intent_errors, intent_successes, nlu_files

if TYPE_CHECKING:
    from turncheck.commands.nlu_output import NluOutput
    from turncheck.process.screen import Screen
    from turncheck.render.rendered import Rendered
    from turncheck.report.model import Nlu, Report

_HELD_OUT = "held-out"


def write_older_nlu_files(major: int, report: Report, output: NluOutput, screen: Screen) -> None:
    """Write what ``test nlu`` of Rasa 1 writes, or ``evaluate`` of Rasa NLU 0.x, pictures included.

    Raises:
        UserError: a file cannot be written.
    """
    nlu = report.nlu
    if nlu is None:
        return
    if major == 0 and nlu.mode != _HELD_OUT:
        screen.note("Rasa NLU 0.x writes no files by cross-validation.")
        return
    folder = output.folder if major > 0 or output.is_folder_named else Path()
    if major > 0:
        files = nlu_files(nlu, successes=output.successes, errors=output.errors, major=major)
        write_all(folder, files)
        write_under_names(files, nlu, output)
    else:
        _write_as_rasa_0(nlu, folder, output)
    if output.plots and report.stopped != INTERRUPTED:
        with screen.step("plots", "Drawing"):
            from turncheck.render.plots import nlu_plots  # imports matplotlib

            names = NluNames.of(output.histogram_file, output.confusion_file)
            for plot in nlu_plots_of_rasa_0_and_1(nlu_plots(report), names, responses=major > 0):
                write_file(folder / plot.name, plot.encoded)
    screen.note(f"Results are in {folder}" if folder.is_dir() else "There was nothing to write to a file.")


def _write_as_rasa_0(nlu: Nlu, folder: Path, output: NluOutput) -> None:
    """Write reports and successes if requested, and errors if there are any."""
    from turncheck.evaluation.older_reports import as_rasa_0_counts  # only projects of 0.x

    if output.report_folder is not None:
        reports = nlu_files(as_rasa_0_counts(nlu), errors=False, major=1)
        write_all(folder / output.report_folder, reports)
    if output.successes and (right := intent_successes(nlu)):
        _write(folder / (output.successes_file or "successes.json"), as_json("successes.json", right))
    if output.errors and (wrong := intent_errors(nlu)):
        _write(folder / (output.errors_file or "errors.json"), as_json("errors.json", wrong))


def _write(path: Path, rendered: Rendered) -> None:
    write_file(path, rendered.encoded)
