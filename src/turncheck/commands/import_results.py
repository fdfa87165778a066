"""``turncheck report import``: converts the files that ``rasa test`` wrote to a Report, to be compared and judged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import structs

from turncheck.commands.flags.shared import add_verbosity, existing_folder, output_path, screen_of
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.platforms.base import Part
from turncheck.process.output_files import ensure_replaceable
from turncheck.process.regular_file import read_regular
from turncheck.settings.options import Settings
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from msgspec import Struct

    from turncheck.evaluations.nlu.imported import Results
    from turncheck.messages.finding import Location
    from turncheck.process.screen import Console
    from turncheck.project.model import Story
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Core, EndToEnd, Nlu, Report, Source


class ImportedModule(Protocol):
    """Reads the results of a platform's own tests, in the module ``imported`` of its package."""

    def run_import_batch(
        self, files: Sequence[Path], project: Path, *, out: Path, source: Source, root: str, screen: Console, raw: bool
    ) -> int:
        """Write a report of these files into ``out``, and return the exit code."""


IMPORTED: Final = Part[ImportedModule]("imported")


def add_import(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add ``import`` below ``report``."""
    parser = kinds.add_parser(
        "import",
        help="convert the results of `rasa test` or of Kore.ai's platform into a report",
        description="Convert the results of `rasa test` or of Kore.ai's platform into a report.json, to compare"
        " and judge it.",
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="the folder that `rasa test --out` named")
    parser.recognise("folder", os.path.isdir)
    parser.add_argument(
        "--project",
        type=existing_folder,
        default=Path(),
        metavar="DIR",
        help="the assistant's folder, to find the lines of its test files (default: .)",
    )
    for flag, short, what in (("--nlu", "-u", "sentences"), ("--stories", "-s", "stories")):
        parser.add_argument(
            *(short, flag),
            type=Path,
            nargs="+",
            action="extend",
            default=[],
            metavar="PATH",
            help=f"the test {what} (default: found below tests/)",
        )
    parser.add_argument(
        "--kore-csv",
        type=Path,
        nargs="+",
        action="extend",
        default=[],
        metavar="FILE",
        help="instead of DIR: CSV reports of the platform's batch tests",
    )
    parser.add_argument(
        "--raw-csv",
        action="store_true",
        help="the CSV comes from --raw-csv or from the platform: keep a ' before = + - @",
    )
    parser.add_argument(
        "--out", type=output_path, default=Path("results"), metavar="DIR", help="output folder (default: results)"
    )
    add_verbosity(parser)
    parser.set_defaults(handler=_import)


def _import(namespace: argparse.Namespace) -> int:
    from turncheck.ci.hosts import find_host
    from turncheck.run.prepare import locate_in_repository

    source, root = locate_in_repository(namespace.project, find_host(os.environ))
    if bool(namespace.kore_csv) == (namespace.folder is not None):
        raise UserError("name either a folder or --kore-csv", hint="See `turncheck report import --help`.")
    if namespace.raw_csv and not namespace.kore_csv:
        raise UserError("--raw-csv is only valid with --kore-csv", hint="Omit it.")
    if namespace.kore_csv:
        from turncheck.platforms.registry import parts

        out, screen = namespace.out, screen_of(namespace)
        of_kore = parts(IMPORTED)["kore"]
        return of_kore.run_import_batch(
            namespace.kore_csv,
            namespace.project,
            out=out,
            source=source,
            root=root,
            screen=screen,
            raw=namespace.raw_csv,
        )
    return run_import(
        namespace.folder,
        namespace.project,
        nlu=namespace.nlu,
        stories=namespace.stories,
        out=namespace.out,
        source=source,
        root=root,
        screen=screen_of(namespace),
    )


_REPORT: Final = "_report.json"
_INTENTS: Final = "intent"
_STORY_FILES: Final = ("failed_test_stories.yml", "successful_test_stories.yml", "stories_with_warnings.yml")
_POLICY_ENTITIES: Final = "TEDPolicy"
"""Rasa writes its files whether or not the policy exists; its entities are not those of a pipeline."""


def run_import(
    folder: Path,
    project: Path,
    *,
    nlu: Sequence[Path] = (),
    stories: Sequence[Path] = (),
    out: Path,
    source: Source,
    root: str,
    screen: Console,
) -> int:
    """Read the results below ``folder`` and write ``report.json`` into ``out``.

    Args:
        folder: what ``rasa test --out`` named.
        project: its test files say where a sentence or a story is.
        nlu: the test sentences, where they are elsewhere.
        stories: the test stories, where they are elsewhere.
        out: where to write.
        source: the state of the repository that was tested.
        root: the project's path in its repository.
        screen: says what was read.

    Raises:
        UserError: there are no such files, or one cannot be read.
    """
    from turncheck.publishing.files import write_report
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.reading import ensure_there

    ensure_apart_from_project(out, Settings(project=str(project)))
    if not folder.is_dir():
        raise UserError(f"no such folder: {folder}", hint="Name the folder that `rasa test --out` wrote.")
    ensure_there("nlu", nlu)
    ensure_there("stories", stories)
    report = import_results(folder, project, nlu=nlu, stories=stories, source=source, root=root)
    ensure_replaceable(out, ["report.json"])
    write_report(out / "report.json", report)
    parts = (("NLU", report.nlu), ("stories", report.core), ("end-to-end cases", report.e2e))
    found = [name for name, part in parts if part is not None]
    screen.note(f"Written to {out / 'report.json'}: {' and '.join(found)}")
    return EXIT_OK


def import_results(
    folder: Path,
    project: Path,
    *,
    nlu: Sequence[Path] = (),
    stories: Sequence[Path] = (),
    source: Source | None = None,
    root: str = "",
) -> Report:
    """Create a report from the files in a folder; see :func:`run_import`.

    Raises:
        UserError: there are none, or one cannot be read.
    """
    from turncheck.messages.finding import shown_path
    from turncheck.report.model import EngineInfo, ProjectInfo, Skipped
    from turncheck.run.report_of import report_of

    files = _Files(folder)
    understood = _nlu(files, _sentence_places(project, nlu))
    core = _core(files, _stories_of(project, stories))
    e2e = _together(_e2e(files, project), _commands(files, project))
    if understood is None and core is None and e2e is None:
        raise UserError(
            f"{folder} holds no results of `rasa test`: neither intent_report.json nor story_report.json nor"
            " e2e_results_passed.yml, nor what `rasa test du` writes or prints",
            hint="Name the folder that `rasa test --out` wrote.",
        )
    reason = "imported: `rasa test` wrote nothing about it"
    missing: list[Evaluation] = ["validate"]
    missing += ["nlu"] if understood is None else []
    missing += ["core"] if core is None else []
    missing += ["e2e"] if e2e is None else []
    return report_of(
        ProjectInfo(name=shown_path(project.resolve().name), root=root, file=_file_of_all(project)),
        seed=0,
        source=source,
        engine=EngineInfo(name="rasa", version="unknown", notes=("Measured by `rasa test`, imported from its files.",)),
        nlu=understood,
        core=core,
        e2e=e2e,
        skipped=tuple(Skipped(evaluation=evaluation, reason=reason, no_tests=True) for evaluation in missing),
    )


def _file_of_all(project: Path) -> str | None:
    from turncheck.run.reading import file_of_all

    settings = project / FILE_NAME
    return file_of_all(project, settings if settings.is_file() else None, ("config.yml", "domain.yml"))


def _nlu(files: _Files, places: dict[tuple[str, str | None], Location]) -> Nlu | None:
    from turncheck.evaluations.nlu.imported import RESPONSES, EntityEntry, IntentEntry, ResponseEntry, import_nlu

    named = files.named_reports()
    for found in files.named_entries():
        if (missing := f"{found.rpartition('_')[0]}{_REPORT}").removesuffix(_REPORT) not in named:
            raise _without_figures(files.folder, found, missing)
    extractors = {
        name: files.results(name, EntityEntry) for name in named if name not in {_INTENTS, "story", _POLICY_ENTITIES}
    }
    extractors = {name: results for name, results in extractors.items() if not name.startswith(RESPONSES)}
    if _INTENTS not in named and not extractors and RESPONSES not in named:
        return None
    return import_nlu(
        files.results(_INTENTS, IntentEntry),
        files.results(RESPONSES, ResponseEntry),
        extractors,
        places=places,
        folder=files.folder.name,
    )


def _core(files: _Files, stories: dict[str, Story]) -> Core | None:
    from turncheck.evaluations.core.imported import STORY_REPORT, import_core

    report = files.report(STORY_REPORT)
    failed, passed, warned = (files.text(name) for name in _STORY_FILES)
    if report is None:
        for found in filter(None, (failed, passed, warned)):
            raise _without_figures(files.folder, found[0], STORY_REPORT)
        return None
    return import_core(
        report,
        failed=failed,
        passed=passed,
        warned=warned,
        test_stories=stories,
        entities=files.results(_POLICY_ENTITIES, None),
    )


def _e2e(files: _Files, project: Path) -> EndToEnd | None:
    from turncheck.evaluations.e2e.imported import RESULTS, import_cases
    from turncheck.project.e2e.cases import read_cases
    from turncheck.project.testfiles import find_e2e_cases

    found = [text for name in files.matching(RESULTS) if (text := files.text(name)) is not None]
    if not found:
        return None
    cases = read_cases(project, find_e2e_cases(project)).cases
    return import_cases(found, {case.name: case.location for case in reversed(cases)})


def _commands(files: _Files, project: Path) -> EndToEnd | None:
    """What `rasa test du` wrote, or else what it printed: both say the same."""
    from turncheck.evaluations.e2e.imported_commands import import_commands, is_structured, may_be_results, names_cases
    from turncheck.project.e2e.cases import read_cases
    from turncheck.project.testfiles import DU_FOLDER, find_e2e_cases

    found = [text for name in files.matching("*.*") if (text := files.readable(name)) and may_be_results(*text)]
    written = [one for one in found if is_structured(one[0]) and names_cases(*one)]
    printed = [one for one in found if not is_structured(one[0])]
    if not (written or printed):
        return None
    folders = [folder for folder in (project / DU_FOLDER,) if folder.is_dir()]
    cases = read_cases(project, [*folders, *find_e2e_cases(project)]).cases
    return import_commands(written or printed, [case for case in cases if any(turn.commands for turn in case.turns)])


def _together(cases: EndToEnd | None, commands: EndToEnd | None) -> EndToEnd | None:
    """Return one section for both kinds of conversations."""
    if cases is None or commands is None:
        return cases or commands
    return structs.replace(
        commands,
        cases=(*cases.cases, *commands.cases),
        passed=cases.passed + commands.passed,
        failed=cases.failed + commands.failed,
        remarks=(*cases.remarks, *commands.remarks),
    )


def _without_figures(folder: Path, found: str, missing: str) -> UserError:
    return UserError(
        f"{folder} holds {found} without {missing}, which `rasa test` writes beside it",
        hint="Name the folder with all files that `rasa test` wrote.",
    )


def _sentence_places(project: Path, paths: Sequence[Path]) -> dict[tuple[str, str | None], Location]:
    from turncheck.project.reader import read_nlu
    from turncheck.project.testfiles import find_test_nlu

    data, _ = read_nlu(list(paths) or find_test_nlu(project), project)
    places: dict[tuple[str, str | None], Location] = {}
    for example in data.examples:
        places.setdefault((example.text, example.base_intent or None), example.location)
        places.setdefault((example.text, None), example.location)
    return places


def _stories_of(project: Path, paths: Sequence[Path]) -> dict[str, Story]:
    from turncheck.project.reader import read_stories
    from turncheck.project.testfiles import find_test_stories

    stories, _ = read_stories(list(paths) or find_test_stories(project), project)
    by_name: dict[str, Story] = {}
    for story in stories:
        by_name.setdefault(story.name, story)
    return by_name


class _Files:
    """The results in a folder. A file that is missing is ``None``, one that is broken an error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def matching(self, pattern: str) -> list[str]:
        """Return the names of the files that match a pattern, sorted."""
        return sorted(path.name for path in self.folder.glob(pattern))

    def named_reports(self) -> list[str]:
        """Return what the ``…_report.json`` files are about, sorted."""
        return sorted(path.name.removesuffix(_REPORT) for path in self.folder.glob(f"*{_REPORT}"))

    def named_entries(self) -> list[str]:
        """Return the names of the files that list sentences, sorted."""
        names = {path.name for part in ("errors", "successes") for path in self.folder.glob(f"*_{part}.json")}
        return sorted(name for name in names if not name.startswith(f"{_POLICY_ENTITIES}_"))

    def report(self, name: str) -> dict[str, Any] | None:
        """Return the figures of a ``…_report.json``."""
        from turncheck.evaluations.nlu.imported import ensure_report, read_json

        found = self.text(name)
        if found is None:
            return None
        path = str(self.folder / name)
        figures: dict[str, Any] = read_json(found[1], path)
        ensure_report(figures, path)
        return figures

    def results(self, name: str, shape: type[Struct] | None) -> Results:
        """Return the three files about one thing, whose entries have this shape."""
        from turncheck.evaluations.nlu.imported import Results

        return Results(
            report=self.report(f"{name}{_REPORT}"),
            errors=self._entries(f"{name}_errors.json", shape),
            successes=self._entries(f"{name}_successes.json", shape),
        )

    def text(self, name: str) -> tuple[str, str] | None:
        """Return name and text of a file."""
        from turncheck.report.codec import MAX_BYTES

        path = self.folder / name
        try:
            content = read_regular(path, most=MAX_BYTES)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from None
        try:
            return name, content.decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(f"{path} is not UTF-8 text") from None

    def readable(self, name: str) -> tuple[str, str] | None:
        """Return name and text of a file; ``None`` if it is no text, or too large: it is something else."""
        try:
            return self.text(name) if (self.folder / name).is_file() else None
        except UserError:
            return None

    def _entries(self, name: str, shape: type[Struct] | None) -> list[Any] | None:
        from turncheck.evaluations.nlu.imported import ensure_entries, read_json

        found = self.text(name)
        if found is None:
            return None
        path = str(self.folder / name)
        entries: list[Any] = read_json(found[1], path)
        ensure_entries(entries, shape, path)
        return entries
