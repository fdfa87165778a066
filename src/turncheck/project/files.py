"""The files of a project: where its parts are, and what each file contributes; findings if a part is missing.

The default data path is ``data``; files are taken in the order of their absolute paths.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.messages.finding import Finding, Location, Name
from turncheck.process.regular_file import is_folder, is_link, is_there
from turncheck.project.candidates import DEFAULT_DATA, DEFAULT_DOMAIN_FOLDER, candidates
from turncheck.project.folder import ProjectFolder, absolute_name
from turncheck.project.formats.format import SUITES, Format, FormatInput, ParsedFile
from turncheck.project.formats.registry import recognised
from turncheck.project.project_file import ANY_KIND, DATA_KEYS, ProjectFile, Role
from turncheck.yaml_tree.source import Source
from turncheck.yaml_tree.tree import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


class DataFile(NamedTuple):
    """A file below the data paths, and its parts. ``format``: ``None`` for a folder that could not be searched."""

    file: ProjectFile
    parts: ParsedFile
    format: Format | None


def parse_file(folder: ProjectFolder, path: Path, role: Role, *, fence: Path | None = None) -> ProjectFile:
    """Read and parse a domain, configuration or endpoints file; its faults are added to the folder's findings."""
    source = folder.read(path, fence=fence)
    if source is None:
        return ProjectFile(folder.name(path), role)
    # Those of an endpoints file are expanded where it is used: only the address that is called needs a value.
    document = parse_yaml(source) if role == "endpoints" else folder.parse_expanded(source)
    folder.findings.extend(document.findings)
    return ProjectFile(source.path, role, source, document)


def read_data(
    folder: ProjectFolder,
    paths: Iterable[Path],
    wanted: Iterable[str] = DATA_KEYS,
    *,
    is_test: bool = False,
    language: str | None = None,
) -> list[DataFile]:
    """Read the files of known formats below the data paths; their faults are added to the folder's findings.

    ``wanted``: the kinds that are asked for. ``is_test``: their stories are tests.
    ``language``: the language whose sentences are read, for a format that has them in several.
    """
    already_closed = len(folder.closed)
    found: dict[str, tuple[Path, Path, Format]] = {}
    for path, fence, is_given in folder.files(paths):
        if folder.is_passed_by(path, fence, is_given=is_given):
            continue
        file_format = recognised(path, partial(folder.content, path, fence))
        if file_format is not None and file_format.holds <= {SUITES}:
            continue  # a suite is a test, wherever it is
        if file_format is not None and file_format.read is not None:
            found.setdefault(absolute_name(path), (path, fence, file_format))
        elif is_given:
            folder.note_unread(path)
    kinds = frozenset(wanted)
    read = [_read_file(folder, *found[key], kinds, is_test=is_test, language=language) for key in sorted(found)]
    closed = [ProjectFile(name, "data", kinds=ANY_KIND) for name in folder.closed[already_closed:]]
    return [*(file for file in read if file is not None), *(DataFile(file, ParsedFile(), None) for file in closed)]


def _read_file(
    folder: ProjectFolder,
    path: Path,
    fence: Path,
    file_format: Format,
    wanted: frozenset[str],
    *,
    is_test: bool,
    language: str | None,
) -> DataFile | None:
    content = folder.read_bytes(path, fence=fence)
    source = None if content is None else _text_of(folder, path, file_format, content)
    if source is None or file_format.read is None:
        name = folder.name(path)
        seen = folder.content(path, fence) if content is None else content
        kinds = file_format.kinds(Source(name, seen.decode("latin-1")))
        return DataFile(ProjectFile(name, "data", kinds=kinds or ANY_KIND), ParsedFile(), file_format)
    parts = file_format.read(FormatInput(source, folder, wanted, is_test=is_test, language=language))
    folder.findings += parts.findings
    if not parts.belongs:
        return None
    file = ProjectFile(
        source.path,
        "data",
        source if parts.document is None else parts.document.source,
        parts.document,
        file_format.kinds(source) if parts.kinds is None else parts.kinds,
        has_errors=any(finding.severity == "error" for finding in parts.findings),
        has_annotations=file_format.has_annotations,
    )
    return DataFile(file, parts, file_format)


def _text_of(folder: ProjectFolder, path: Path, file_format: Format, content: bytes) -> Source | None:
    """Return the text of a file, unpacked if its format says so, or ``None`` after noting why there is none."""
    name = folder.name(path)
    if file_format.unpack is not None:
        unpacked = file_format.unpack(name, content)
        if isinstance(unpacked, Finding):
            folder.findings.append(unpacked)
            return None
        name, content = unpacked
    return folder.decode(name, content)


def training_data_in_markdown(data: Iterable[DataFile]) -> dict[str, Location]:
    """Return the places of the first headers in files of an older format, by path."""
    older = [data_file.file for data_file in data if data_file.format is not None and data_file.format.last is not None]
    if not older:
        return {}
    from turncheck.project.formats.markdown_stories import first_header, is_training_data

    sources = [(file.path, file.source) for file in older if file.source is not None]
    return {path: first_header(source) for path, source in sources if is_training_data(source.file_text)}


def without_older_formats(folder: ProjectFolder, data: list[DataFile]) -> list[DataFile]:
    """Leave out what Rasa 3 skips silently, and report what is training data."""
    older = {
        data_file.file.path for data_file in data if data_file.format is not None and data_file.format.last is not None
    }
    if not older:
        return data
    folder.findings[:] = [finding for finding in folder.findings if finding.location.path not in older]
    for path in training_data_in_markdown(data):
        folder.note_unread(folder.root / path)
    return [data_file for data_file in data if data_file.file.path not in older]


DEFAULT_DOMAIN: Final = "domain.yml"
DEFAULT_CONFIG: Final = "config.yml"
DEFAULT_ENDPOINTS: Final = "endpoints.yml"

PATH_WITHOUT_DATA: Final = "path-without-data"


def domain_path(folder: ProjectFolder, given: Path | None) -> Path | None:
    """Return where the domain is: a file, or a folder of several."""
    default = folder.root / DEFAULT_DOMAIN
    if given is None:
        candidates = (default, folder.root / DEFAULT_DOMAIN_FOLDER)
        given = next((path for path in candidates if is_there(path)), default)
    return existing_or_default(folder, given, default, "domain")


def endpoints_file(folder: ProjectFolder, given: Path | None) -> ProjectFile | None:
    """Read the endpoints from the named file, or else from the default one."""
    path = given or folder.root / DEFAULT_ENDPOINTS
    return parse_file(folder, path, "endpoints") if given or _is_there(path) else None


def existing_or_default(folder: ProjectFolder, given: Path | None, default: Path, option: str) -> Path | None:
    """Return the given path if it exists, else the default one (with a finding), else ``None``."""
    path = given or default
    if _is_there(path):
        return path
    if not _is_there(default):
        return None
    name = folder.name(path)
    message = f"The path '{name}' of --{option} does not exist; the default '{folder.name(default)}' is read instead."
    folder.findings.append(Finding("path-not-found", "warning", message, Location(name), "Correct the path."))
    return default


def note_absent(folder: ProjectFolder, path: Path, default: Path, option: str) -> None:
    """Note that a domain or configuration is missing, and how to name one."""
    name = folder.name(path)
    what = "domain" if option == "domain" else "configuration"
    seen = candidates(folder.root, "domain" if option == "domain" else "config")
    hint = _how_to_name(folder, default, option, seen)
    suggestion = _seen_elsewhere(option, seen)
    message = f"There is no {what} at '{name}'. {suggestion}".rstrip()
    names = tuple(Name("file", one) for one in seen)
    folder.findings.append(
        Finding(f"{option}-not-found", "error", message, Location(name), hint, names=names, suggestion=suggestion)
    )


def _seen_elsewhere(option: str, seen: Sequence[str]) -> str:
    if not seen:
        return f"`{option}: PATH` in turncheck.yml names another."
    look = "looks" if len(seen) == 1 else "look"
    return f"{_quoted(seen)} {look} like one (`{option}: {seen[0]}` in turncheck.yml names it)."


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _how_to_name(folder: ProjectFolder, default: Path, option: str, seen: Sequence[str]) -> str:
    if seen:
        return f"Name it: `{option}: {seen[0]}` in turncheck.yml, or --{option}."
    if option == "domain" and is_folder(folder.root / DEFAULT_DOMAIN_FOLDER):
        return f"Name the folder: --domain {folder.name(folder.root / DEFAULT_DOMAIN_FOLDER)}."
    return f"Put it at '{folder.name(default)}', or name its path with --{option}."


def data_paths(folder: ProjectFolder, paths: Sequence[Path] | None) -> list[Path]:
    """Return where the training data is."""
    if paths is not None:
        return existing(folder, paths)
    default = folder.root / DEFAULT_DATA
    return [default] if _is_there(default) else []


def existing(folder: ProjectFolder, paths: Iterable[Path]) -> list[Path]:
    """Return the paths that exist, and note for the others that nothing is read from them."""
    there = []
    for path in paths:
        if _is_there(path):
            there.append(path)
        else:
            name = folder.name(path)
            message = f"The path '{name}' does not exist; nothing is read from it."
            folder.findings.append(Finding("data-not-found", "warning", message, Location(name), "Correct the path."))
    return there


def note_data_elsewhere(folder: ProjectFolder) -> None:
    """Note that the default folder holds no training data although others do."""
    seen = [name for name in candidates(folder.root, "data") if name.split("/")[0] != DEFAULT_DATA]
    if seen:
        key = f"`data: [{', '.join(seen)}]` in turncheck.yml"
        message = f"There is no training data below '{DEFAULT_DATA}'; {key} would name some."
        hint = "Name it so, or with --data."
        folder.findings.append(Finding("data-not-found", "warning", message, Location(DEFAULT_DATA), hint))


def path_without_data(name: str, what: str) -> Finding:
    """Return the finding for a path that was named and holds nothing of the kind."""
    message = f"'{name}' holds no {what}."
    return Finding(PATH_WITHOUT_DATA, "warning", message, Location(name), "Correct the path, or leave it out.")


def _is_there(path: Path) -> bool:
    """Whether a path exists; a symbolic link to nowhere counts, so that reading it reports the fault."""
    return is_there(path) or is_link(path)
