"""``turncheck data convert nlu|core|domain|config``: rewrites files of an older Rasa for Rasa 3."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from turncheck.commands.converted_behaviour import Behaviour, compare_stories, compare_understanding
from turncheck.commands.converted_data import data_files, nlu_differences, project_differences, story_differences
from turncheck.commands.flags.shared import add_project, add_verbosity, output_path, screen_of
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.plain_text import log_line
from turncheck.process.output_files import temporary_folder
from turncheck.process.regular_file import read_regular
from turncheck.render.sinks.terminal import place, text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from turncheck.messages.finding import Location
    from turncheck.process.screen import Console
    from turncheck.project.conversion.core import Converted
    from turncheck.project.files import DataFile
    from turncheck.project.model import Project
    from turncheck.project.project_file import Role

_KINDS: Final = {
    "nlu": "NLU data and responses in Markdown or JSON, or in the YAML of Rasa 2",
    "core": "stories in Markdown, or in the YAML of Rasa 2",
    "domain": "a domain of Rasa 0.x, 1.x or 2.x",
    "config": "a configuration of Rasa 0.x, 1.x or 2.x",
}


def add_older(kinds: argparse._SubParsersAction[Any]) -> None:
    """Add the kinds of files of an older Rasa below ``convert``."""
    for kind, what in _KINDS.items():
        parser = kinds.add_parser(
            kind,
            help=f"{what}: to the YAML of Rasa 3",
            description=f"Convert {what} to the YAML of Rasa 3, and list what could not be converted.",
        )
        parser.add_argument(
            "files", nargs="*", type=Path, metavar="FILE", help="files or folders (default: those of the project)"
        )
        add_project(parser)
        words = "output folder (default: converted)"
        parser.add_argument("--out", type=output_path, default=Path("converted"), metavar="DIR", help=words)
        words = "train on both forms, and end with exit code 1 if they behave differently"
        parser.add_argument("--check", action="store_true", help=words)
        parser.add_argument("--dry-run", action="store_true", help="write nothing, show what would change")
        add_verbosity(parser)
        parser.set_defaults(handler=_convert_older, kind=kind)


def _convert_older(namespace: argparse.Namespace) -> int:
    conversion = Conversion(
        namespace.kind, namespace.files, namespace.project, namespace.out, namespace.check, namespace.dry_run
    )
    return run_data_convert(conversion, screen_of(namespace))


Kind = Literal["nlu", "core", "domain", "config"]
KINDS: tuple[Kind, ...] = ("nlu", "core", "domain", "config")
_DEFAULTS: dict[Kind, str] = {"nlu": "data", "core": "data", "domain": "domain.yml", "config": "config.yml"}


class Conversion(NamedTuple):
    """What is converted, and where to. ``files``: none for where a project keeps them."""

    kind: Kind
    files: Sequence[Path] = ()
    project: Path = Path()
    out: Path = Path("converted")
    check: bool = False
    dry_run: bool = False


def run_data_convert(conversion: Conversion, screen: Console) -> int:
    """Convert files, say what could not be converted, and, if requested, compare the result with the original.

    Raises:
        UserError: a file is missing, or there is nothing of an older Rasa to convert.
    """
    from turncheck.publishing.files import write_file

    paths = list(conversion.files) or _usual(conversion.project, conversion.kind)
    for path in paths:
        if not path.exists():
            raise UserError(f"there is no '{path}'", hint="Name the files to convert.")
    converted, originals = _converted(conversion, paths)
    if not converted.files:
        raise UserError(
            f"there is nothing to convert: no {conversion.kind} of an older Rasa in {', '.join(map(str, paths))}",
            hint="Name training data, a domain or a configuration of Rasa 0.x, 1.x or 2.x.",
        )
    if conversion.kind in {"nlu", "core"}:
        _ensure_apart(conversion, paths, converted)
    if conversion.dry_run:
        for name, content in converted.files.items():
            sys.stdout.writelines(_diff(conversion, name, content))
    else:
        for name, content in converted.files.items():
            write_file(conversion.out / name, content.encode())
    _print(conversion, converted)
    if not conversion.check:
        return EXIT_OK
    behaviour = _behaviour(conversion, screen)
    differences = [*_differences(conversion, converted, originals), *behaviour.differences]
    for difference in differences:
        sys.stdout.write(f"Differs: {text(difference, 400)}\n")
    for change in behaviour.changed:
        sys.stdout.write(f"Different in Rasa 3: {text(change, 600)}.\n")
    for reason in behaviour.not_run:
        sys.stdout.write(f"Not compared: {text(reason, 400)}.\n")
    if not differences:
        sys.stdout.write("Checked: the converted files say the same as the original ones.\n")
        if behaviour.compared:
            sys.stdout.write(f"Checked: both projects treat {' and '.join(behaviour.compared)} the same.\n")
    screen.detail(f"{len(converted.files)} files converted")
    return EXIT_FAILED if differences else EXIT_OK


def _ensure_apart(conversion: Conversion, paths: Sequence[Path], converted: Converted) -> None:
    """Refuse to write converted data beside the original, which the next run would read, too.

    A file that is replaced by its conversion is in no one's way.
    """
    from turncheck.project.candidates import DEFAULT_DATA
    from turncheck.run.folders import ensure_file_apart

    originals = {os.path.realpath(path) for path in paths}
    data = conversion.project / DEFAULT_DATA
    is_data = any(Path(original).is_relative_to(os.path.realpath(data)) for original in originals)
    read = (*paths, *([data] if is_data else ()))
    for name in converted.files:
        if not (conversion.out / name).exists():
            ensure_file_apart(conversion.out / name, read)


def _usual(root: Path, kind: Kind) -> list[Path]:
    """Return where a project has what is to be converted; in Rasa 0 the configuration may have any name."""
    from turncheck.project.config import files_apart

    path = root / _DEFAULTS[kind]
    return [path] if kind != "config" or path.exists() else files_apart(root)[:1] or [path]


class _Originals(NamedTuple):
    """What was read from the files that are converted."""

    data: Sequence[DataFile] = ()
    project: Project | None = None


_SAME_SECTIONS: Final = 2
"""The version of Rasa whose domains have most sections as Rasa 3 does."""


def _converted(conversion: Conversion, paths: Sequence[Path], *, keep: bool = False) -> tuple[Converted, _Originals]:
    """Convert the files; ``keep``: also include those that Rasa 3 reads as they are."""
    from turncheck.project.conversion.config import convert_config, convert_domain
    from turncheck.project.conversion.core import Converted
    from turncheck.project.reader import read_project

    converted = Converted()
    if conversion.kind in {"nlu", "core"}:
        return converted, _data(conversion, paths, converted, keep=keep)
    path = paths[0]
    domain, config = (path, None) if conversion.kind == "domain" else (None, path)
    project = read_project(conversion.project, domain=domain, config=config)
    if project.older is None:  # others of its files may have been converted before
        role: Role = "config" if domain is None else "domain"
        project = read_project(conversion.project, domain=domain, config=config, version_by=role)
    if project.older is None:
        raise UserError(
            f"'{path}' is not of an older Rasa", hint="Nothing needs to be converted: Rasa 3 reads it as it is."
        )
    if conversion.kind == "domain":
        file, *others = (file for file in project.files if file.role == "domain")
        keeps = not others and project.older.major == _SAME_SECTIONS
        convert_domain(file, project.domain, converted, beside=data_files(project), keeps_sections=keeps)
    else:
        file = next(file for file in project.files if file.role == "config")
        convert_config(file, project.config, converted, major=project.older.major, assistant=project.name)
    return converted, _Originals(project=project)


def _data(conversion: Conversion, paths: Sequence[Path], converted: Converted, *, keep: bool) -> _Originals:
    from turncheck.project.conversion.core import YAML_SUFFIXES, convert_core, convert_nlu, convert_yaml_data
    from turncheck.project.files import read_data
    from turncheck.project.folder import ProjectFolder
    from turncheck.project.project_file import DATA_KEYS

    folder = ProjectFolder(conversion.project)
    is_nlu = conversion.kind == "nlu"
    wanted = {"nlu", "responses"} if is_nlu else {"stories", "rules"}
    read = read_data(folder, paths, DATA_KEYS)
    chosen = []
    for data_file in (one for one in read if not one.file.kinds.isdisjoint(wanted)):
        before = len(converted.files)
        if Path(data_file.file.path).suffix in YAML_SUFFIXES:
            convert_yaml_data(data_file, converted, is_nlu=is_nlu, keep=keep)
        elif is_nlu:
            convert_nlu(data_file, converted)
        else:
            convert_core(data_file, converted)
        if len(converted.files) > before:
            chosen.append(data_file)
        for finding in data_file.parts.findings:
            if finding.severity == "error":
                converted.note(finding.message, finding.location, finding.hint)
    return _Originals(data=chosen)


def _diff(conversion: Conversion, name: str, content: str) -> Iterator[str]:
    """Yield the difference to the existing file of the name, or to an empty one."""
    from difflib import unified_diff

    from turncheck.project.folder import MAX_FILE_BYTES

    path = conversion.out / name
    before = read_regular(path, most=MAX_FILE_BYTES).decode("utf-8", "replace") if path.is_file() else ""
    old, new = before.splitlines(keepends=True), content.splitlines(keepends=True)
    source = str(path) if before else "/dev/null"
    for line in unified_diff(old, new, source, str(path)):
        yield f"{text(line.rstrip(), 2000)}\n" if not line.startswith((" ", "+", "-")) else _shown(line)


def _shown(line: str) -> str:
    shown = line[0] + "".join(one if one.isprintable() else "�" for one in line[1:].rstrip("\n")) + "\n"
    is_of_a_host = shown.lstrip().startswith("::") or "##" in shown  # else as it is: a difference may be applied
    return log_line(shown) if is_of_a_host else shown


def _print(conversion: Conversion, converted: Converted) -> None:
    verb = "Would write" if conversion.dry_run else "Written"
    names = ", ".join(str(conversion.out / name) for name in converted.files)
    sys.stdout.write(f"{verb}: {text(names, 2000)}\n")
    if converted.left:
        sys.stdout.write(f"Not converted ({len(converted.left)}):\n")
    for left in converted.left:
        where = place(left.location, str(conversion.project))
        sys.stdout.write(f"  {where}: {text(left.what, 400)} {text(left.hint, 400)}\n")


# --- is it the same? -------------------------------------------------------------------------------------------------


def _differences(conversion: Conversion, converted: Converted, originals: _Originals) -> list[str]:
    """Read the converted files, and say what is read differently than before."""
    from turncheck.project.reader import read_nlu, read_nlu_responses, read_project, read_stories

    with temporary_folder("converted") as name:
        folder = Path(name)
        for file, content in converted.files.items():
            (folder / file).write_text(content, encoding="utf-8")
        if conversion.kind == "nlu":
            after, _ = read_nlu([folder], folder)
            return nlu_differences(originals.data, after, read_nlu_responses([folder], folder), converted)
        if conversion.kind == "core":
            return story_differences(originals.data, read_stories([folder], folder)[0])
        if originals.project is None:
            return []
        return project_differences(conversion.kind, originals.project, read_project(folder, data=[folder]))


def _behaviour(conversion: Conversion, screen: Console) -> Behaviour:
    """Train the project as it is and fully converted, and compare what the kind of file affects."""
    from turncheck.project.reader import read_project
    from turncheck.project.testfiles import find_test_stories

    before = read_project(conversion.project)
    if before.older is None or not before.config.keys:
        return Behaviour(not_run=("both projects: there is no older configuration beside the files",))
    with temporary_folder("converted") as name, screen.step("check", "Training both"):
        folder = Path(name)
        tests = find_test_stories(conversion.project)
        left_out = _write_whole(conversion, tests, folder)
        after = read_project(folder)
        behaviour = Behaviour()
        if conversion.kind in {"nlu", "config"}:
            behaviour = behaviour.joined_with(compare_understanding(before, after, left_out))
        if conversion.kind != "nlu":
            behaviour = behaviour.joined_with(compare_stories(before, after, tests, find_test_stories(folder)))
    return behaviour


def _write_whole(conversion: Conversion, tests: Sequence[Path], folder: Path) -> frozenset[Location]:
    """Convert the whole project, each kind of file from where the project has it; return what was left out."""
    from turncheck.project.conversion.config import RULES_OF_FALLBACK, RULES_OF_INTENTS
    from turncheck.publishing.files import write_file

    root = conversion.project
    left_out: set[Location] = set()
    wanted: list[tuple[Kind, list[Path], str]] = [
        ("domain", [root / _DEFAULTS["domain"]], "."),
        ("config", _usual(root, "config"), "."),
        ("nlu", [root / _DEFAULTS["nlu"]], "data"),
        ("core", [root / _DEFAULTS["core"]], "data"),
        ("core", list(tests), "tests"),
    ]
    for kind, paths, below in wanted:
        given = list(conversion.files) if kind == conversion.kind and below != "tests" else []
        there = [path for path in given or paths if path.exists()]
        if not there:
            continue
        whole, _ = _converted(conversion._replace(kind=kind), there, keep=True)
        left_out.update(note.location for note in whole.left)
        for file, content in whole.files.items():
            rules = file in {RULES_OF_INTENTS, RULES_OF_FALLBACK}
            write_file(folder / ("data" if rules else below) / file, content.encode())
    return frozenset(left_out)
