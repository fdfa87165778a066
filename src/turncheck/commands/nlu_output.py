"""What ``test nlu`` writes, and the additional files of older flags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.publishing.files import write_all, write_file
from turncheck.render.rasa_files import as_json, intent_errors, intent_successes

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turncheck.render.rendered import Rendered
    from turncheck.report.model import Nlu


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


def write_under_names(files: Sequence[Rendered], nlu: Nlu, output: NluOutput) -> None:
    """Write reports, successes and errors again to the places that flags of older Rasas name."""
    if output.report_folder is not None:
        write_all(output.report_folder, [file for file in files if file.name.endswith("_report.json")])
    if output.successes_file is not None:
        write_file(output.successes_file, as_json("successes.json", intent_successes(nlu)).encoded)
    if output.errors_file is not None:
        write_file(output.errors_file, as_json("errors.json", intent_errors(nlu)).encoded)
