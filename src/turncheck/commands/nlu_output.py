"""What ``test nlu`` writes, and the additional files of older flags."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import INTERRUPTED
from turncheck.publishing.files import write_all, write_file
from turncheck.render.older_files import NluNames, nlu_plots_of_rasa_0_and_1
from turncheck.render.rasa_files import as_json, intent_errors, intent_successes, nlu_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.process.screen import Console
    from turncheck.render.rendered import Rendered
    from turncheck.report.model import Nlu, Report


@dataclass(frozen=True, slots=True)
class NluOutput:
    """What ``test nlu`` writes, as its flags say. The last five are those of older Rasa versions.

    ``rasa_files``: the major version of Rasa whose files are written; ``None``: the project's. ``is_folder_named``:
    whether the folder was asked for: Rasa NLU 0.x writes where it is started.
    """

    folder: Path
    successes: bool = False
    errors: bool = True
    plots: bool = True
    json: Path | None = None
    rasa_files: int | None = None
    is_folder_named: bool = True
    report_folder: Path | None = None
    successes_file: Path | None = None
    errors_file: Path | None = None
    histogram_file: Path | None = None
    confusion_file: Path | None = None

    @property
    def further(self) -> tuple[Path | None, ...]:
        """What is written elsewhere than in the folder, as far as it is named."""
        named = (self.report_folder, self.successes_file, self.errors_file, self.histogram_file, self.confusion_file)
        return (self.json, *named)


_ERRORS: Final = "errors.json"
_REPORTS: Final = "reports"


def write_under_names(files: Sequence[Rendered], nlu: Nlu, output: NluOutput) -> None:
    """Write reports, successes and errors again to the places that flags of older Rasas name."""
    if output.report_folder is not None:
        write_all(output.report_folder, [file for file in files if file.name.endswith("_report.json")])
    if output.successes_file is not None:
        write_file(output.successes_file, as_json("successes.json", intent_successes(nlu)).encoded)
    if output.errors_file is not None:
        write_file(output.errors_file, as_json(_ERRORS, intent_errors(nlu)).encoded)


# The files of ``rasa test`` 1.x and ``rasa_nlu.evaluate`` 0.x, at the places that their flags name.

_HELD_OUT = "held-out"


def write_older_nlu_files(major: int, report: Report, output: NluOutput, screen: Console) -> None:
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
    pictures = folder
    if major > 0:
        files = nlu_files(nlu, successes=output.successes, errors=output.errors, major=major)
        write_all(folder, files)
        write_under_names(files, nlu, output)
        if output.errors and output.errors_file is None and (wrong := intent_errors(nlu)):
            write_file(folder / _ERRORS, as_json(_ERRORS, wrong).encoded)  # as its manual calls them
        if output.errors_file is not None:
            pictures = Path()  # the versions with this flag wrote all that is named to where they were started
    else:
        _write_as_rasa_0(nlu, folder, output)
    if report.stopped != INTERRUPTED and (output.plots or output.histogram_file or output.confusion_file):
        with screen.step("plots", "Drawing"):
            from turncheck.render.plots import nlu_plots  # imports matplotlib

            names = NluNames.of(output.histogram_file, output.confusion_file)
            named = {str(output.histogram_file), str(output.confusion_file)}
            for plot in nlu_plots_of_rasa_0_and_1(nlu_plots(report), names, responses=major > 0):
                if output.plots or plot.name in named:
                    write_file((pictures if plot.name in named else folder) / plot.name, plot.encoded)
    screen.note(f"Results are in {folder}" if folder.is_dir() else "There was nothing to write to a file.")


def _write_as_rasa_0(nlu: Nlu, folder: Path, output: NluOutput) -> None:
    """Write reports, which it only printed unless ``--report`` was named, successes if requested, and errors."""
    from turncheck.evaluation.imported_nlu import as_rasa_0_counts  # only projects of 0.x

    write_all(folder / (output.report_folder or _REPORTS), nlu_files(as_rasa_0_counts(nlu), errors=False, major=1))
    if output.successes and (right := intent_successes(nlu)):
        _write(folder / (output.successes_file or "successes.json"), as_json("successes.json", right))
    if output.errors and (wrong := intent_errors(nlu)):
        _write(folder / (output.errors_file or _ERRORS), as_json(_ERRORS, wrong))


def _write(path: Path, rendered: Rendered) -> None:
    write_file(path, rendered.encoded)
