"""Writing a command's files: completely or not at all, and never outside the named folder."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, overload

from msgspec.structs import replace

from turncheck.messages.plain_text import log_line, one_line, plain
from turncheck.process.output_files import OwnFiles, atomic_write, ensure_replaceable
from turncheck.render.console import render_console
from turncheck.render.outputs import RASA_FOLDER
from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files
from turncheck.report.codec import MAX_BYTES, file_of

if TYPE_CHECKING:
    from turncheck.conclude import Outcome
    from turncheck.process.screen import Console
    from turncheck.render.assistants import Assistants
    from turncheck.render.links import Links
    from turncheck.render.rendered import Rendered
    from turncheck.report.model import Report


def write_file(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` in one step: a reader sees the old file or the new one, never half of it.

    Raises:
        UserError: the file cannot be written.
    """
    with atomic_write(path) as file:
        file.write(content)


def write_report(path: Path, report: Report) -> None:
    """Write a report as :func:`write_file` does; one that no later run could read is written too, and that is said.

    Raises:
        UserError: the file cannot be written.
    """
    with atomic_write(path) as file:
        file.writelines(file_of(report))
    for warning in warnings_of_size([path], path.name):
        sys.stderr.write(plain(f"turncheck: warning: {warning}\n"))


def warnings_of_size(written: Iterable[Path], named: str = "report.json", most: int = MAX_BYTES) -> list[str]:
    """Say which reports among the files that were written have more than ``most`` bytes, which is all that is read."""
    sizes = {path: path.stat().st_size for path in written if path.name == named}
    return [
        f"{path} has {size / 2**20:,.0f} MiB, but only reports of up to {most / 2**20:,.0f} MiB are read: it cannot be"
        " a later run's base or be rendered again. Divide the project into several assistants."
        for path, size in sizes.items()
        if size > most
    ]


class FilesBelow(Sequence[tuple[str, bytes]]):
    """Files below a folder, by their names from there; each is read when it is its turn, and not kept."""

    def __init__(self, folder: Path, paths: Sequence[Path]) -> None:
        self._folder = folder
        self._paths = paths

    def __len__(self) -> int:
        """How many there are."""
        return len(self._paths)

    @overload
    def __getitem__(self, index: int) -> tuple[str, bytes]: ...
    @overload
    def __getitem__(self, index: slice) -> FilesBelow: ...

    def __getitem__(self, index: int | slice) -> tuple[str, bytes] | FilesBelow:
        """Read a file; or return some of them, unread."""
        if isinstance(index, slice):
            return FilesBelow(self._folder, self._paths[index])
        path = self._paths[index]
        return path.relative_to(self._folder).as_posix(), path.read_bytes()


def write_all(folder: Path, renderings: Iterable[Rendered]) -> list[Path]:
    """Write each rendering below ``folder`` and return the paths, in order. What is there is replaced, as by Rasa.

    Raises:
        UserError: a file cannot be written.
        ValueError: a name leads out of the folder.
    """
    return [_write_below(folder, rendered) for rendered in renderings]


def write_own(folder: Path, renderings: Iterable[Rendered]) -> list[Path]:
    """Do what :func:`write_all` does, but replace only what turncheck wrote.

    Raises:
        UserError: there is somebody else's file of a name, or a file cannot be written.
        ValueError: a name leads out of the folder.
    """
    ensure_replaceable(folder)
    own, written = OwnFiles(folder), []
    for rendered in renderings:
        _ensure_below(rendered)
        own.claim(rendered.name)
        written.append(_write_below(folder, rendered))
    return written


def _write_below(folder: Path, rendered: Rendered) -> Path:
    path = folder.joinpath(*_ensure_below(rendered).parts)
    with atomic_write(path) as file:
        file.writelines(rendered.pieces)
    return path


def _ensure_below(rendered: Rendered) -> PurePosixPath:
    name = PurePosixPath(rendered.name)
    if name.is_absolute() or ".." in name.parts or not name.parts:
        raise ValueError(f"not a name below the output folder: {rendered.name!r}")
    return name


def write_results(folder: Path, renderings: Iterable[Rendered]) -> list[Path]:
    """Do what :func:`write_own` does, and have git ignore the folder if it did not exist before.

    Raises:
        UserError: a file cannot be written.
        ValueError: a name leads out of the folder.
    """
    is_new = not folder.exists()
    written = write_own(folder, renderings)
    if is_new:
        write_file(folder / ".gitignore", b"# Written by turncheck.\n*\n")
    return written


def draw_plots(outcome: Outcome, folder: Path, screen: Console) -> list[Path]:
    """Draw the plots of a report, all that `rasa test` draws, below the folder of Rasa's files."""
    from turncheck.render.plots import nlu_plots, story_plots  # only imported to draw

    with screen.step("plots", "Drawing the plots"):
        below = RASA_FOLDER if outcome.report.project.has_rasa_files else "plots"
        major = major_of_files(outcome.report.project)
        pictures = nlu_plots(outcome.report)
        if major < NAMED_AS_TODAY:
            from turncheck.render.older_files import nlu_plots_of_rasa_0_and_1  # most projects are newer

            pictures = nlu_plots_of_rasa_0_and_1(pictures, responses=True)
        drawn = chain(pictures, story_plots(outcome.report, major))
        return write_own(folder, (replace(rendered, name=f"{below}/{rendered.name}") for rendered in drawn))


def terminal_summary(outcome: Outcome, links: Links) -> str:
    """Return the summary as this terminal shows it, or in plain lines where there is none."""
    return str(render_console(outcome.run.report, outcome.comparison, outcome.verdict, links, width=_columns()).content)


def terminal_results(report: Report, folder: str) -> str:
    """Return the results of one evaluation as this terminal shows them, or in plain lines where there is none."""
    from turncheck.render.results import render_results  # not for a run

    return render_results(report, folder, width=_columns())


def _columns() -> int | None:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def terminal_overview(assistants: Assistants) -> str:
    """Return the outcomes of several assistants, one per line, the worst last, at the end of a terminal's output."""
    parts = [
        (run.name, f"{run.verdict.in_words}: {run.summary(run.links.folder)}")
        for run in reversed(assistants.worst_first)
    ]
    parts += [(broken.name, f"not measured: {broken.why}") for broken in assistants.broken]
    lines = [f"  {one_line(name, 200)}: {one_line(text, 1000)}" for name, text in parts]
    return log_line("\n".join(["", f"{assistants.in_words[:1].upper()}{assistants.in_words[1:]}", *lines, ""]))


def written_line(folder: Path, written: list[Path]) -> str:
    """Return the line that says what was written where."""
    written = list(dict.fromkeys(written))
    names = [path.name for path in written if path.parent == folder]
    below = Counter(path.relative_to(folder).parts[0] for path in written if folder in path.parents[1:])
    names += [f"{name}/ ({count} {'file' if count == 1 else 'files'})" for name, count in below.items()]
    elsewhere = [str(path) for path in written if folder not in path.parents]
    return f"Written to {folder}/: {', '.join(names)}" + (f"; and {', '.join(elsewhere)}" if elsewhere else "")
