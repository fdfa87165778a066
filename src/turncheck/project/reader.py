"""Files → :class:`~turncheck.project.model.Project`. The one entrance to reading.

What cannot be read becomes a finding, and the rest is read: see :class:`~turncheck.project.model.Project`. The findings
made while reading are those about files (``domain-not-found``, ``config-not-found``, ``path-not-found``,
``data-not-found``, ``file-…``), YAML (``yaml-…``), types that allow no reading (``schema-violation``), versions that
are too high (``version-too-high``: Rasa skips such a file), and what is lost while loading (named in
:mod:`~turncheck.project.formats.rasa_nlu`, :mod:`~turncheck.project.formats.rasa_stories` and
:mod:`~turncheck.project.config`).
"""

from __future__ import annotations

import gc
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Finding
from turncheck.messages.location import Location, shown_path
from turncheck.project.assistants_below import assistants_below, assistants_in_words
from turncheck.project.calm import calm_reason
from turncheck.project.config import config_from_file
from turncheck.project.endpoints import endpoints_from_file
from turncheck.project.files import parse_file, read_data, training_data_in_markdown, without_older_formats
from turncheck.project.folder import ProjectFolder
from turncheck.project.formats.format import NEEDS_OF_RASA
from turncheck.project.formats.kore_export import EXPORT_SUFFIXES, find_export, why_no_export
from turncheck.project.formats.kore_export import FORMAT as KORE_EXPORT
from turncheck.project.formats.rasa_domain import domain_from_files
from turncheck.project.formats.registry import recognised
from turncheck.project.kore.faults import NOT_AN_EXPORT
from turncheck.project.merging import merged_domain, merged_flows, merged_nlu
from turncheck.project.model import Config, Domain, Project, Response, Story
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS, ProjectFile
from turncheck.project.rasa_version import NEWEST, OLDEST
from turncheck.project.version_signs import recognise
from turncheck.project.versions import version_too_high
from turncheck.yaml_tree.unquoted import unreadable_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from turncheck.project.files import DataFile
    from turncheck.project.formats.format import Need
    from turncheck.project.nlu_data import NluData

DEFAULT_DOMAIN: Final = "domain.yml"
DEFAULT_DOMAIN_FOLDER: Final = "domain"
DEFAULT_CONFIG: Final = "config.yml"
DEFAULT_DATA: Final = "data"
OLDEST_POLICIES: Final = "policies.yml"
"""Where Rasa Core 0.x had its policies."""
DEFAULT_ENDPOINTS: Final = "endpoints.yml"


def read_project(
    root: Path,
    *,
    domain: Path | None = None,
    data: Sequence[Path] | None = None,
    config: Path | None = None,
    endpoints: Path | None = None,
    domain_as_listed: bool = False,
    language: str | None = None,
) -> Project:
    """Read a Rasa 3.x project, or the export of a Kore.ai assistant.

    Defaults are looked for below ``root``: ``domain.yml``, else the folder ``domain``; ``data``; ``config.yml``;
    ``endpoints.yml``. Paths that are given count from the current folder. A given domain or configuration that does not
    exist is replaced by the default, with a finding (as Rasa does). A missing data folder is not a fault by itself.

    The files of a domain's folder are merged in the order of their names; ``domain_as_listed``: in that in which the
    file system lists them, as Rasa does, which may be another one on another machine.

    A folder with ``botDefinition.json`` or ``appDefinition.json`` in it, or such a file or a ``.zip`` of it as the only
    ``data``, is a Kore.ai assistant: it is read alone. ``language``: whose sentences; its default one if not given.

    Raises:
        UserError: something is given that an assistant of the kind does not have, or the export cannot be read.
    """
    with _collector_paused():
        if (export := export_of(root, data)) is not None:
            _refuse_of_rasa(domain=domain, config=config)
            return _read_export(ProjectFolder(root), export, language)
        if language is not None:
            raise UserError(
                "--language is for the export of a Kore.ai assistant", remedy="The pipeline says the language here."
            )
        return _read_project(ProjectFolder(root), domain, data, config, endpoints, domain_as_listed=domain_as_listed)


def _read_project(
    folder: ProjectFolder,
    domain: Path | None,
    data: Sequence[Path] | None,
    config: Path | None,
    endpoints: Path | None,
    *,
    domain_as_listed: bool,
) -> Project:
    domain_path = _domain_path(folder, domain)
    domain_files = _domain_files(folder, domain_path, as_listed=domain_as_listed) if domain_path else []
    data_read = read_data(folder, _data_paths(folder, data))
    own_domain = next((one.file.path for one in data_read if "domain" in one.file.kinds), DEFAULT_DOMAIN)
    location = Location(folder.name(domain_path) if domain_path else own_domain)
    config_path = _existing_or_default(folder, config, folder.root / DEFAULT_CONFIG, "config")
    config_file = parse_file(folder, config_path, "config") if config_path else None
    endpoints_file = _endpoints_file(folder, endpoints)
    endpoints_read, endpoint_findings = endpoints_from_file(endpoints_file) if endpoints_file else ({}, ())
    own_files = [*domain_files, *(file for file in (config_file, endpoints_file) if file)]
    rasa = recognise(folder, [*own_files, *(one.file for one in data_read)], training_data_in_markdown(data_read))
    if rasa is None or not rasa.is_older:
        data_read = without_older_formats(folder, data_read)
    else:
        from turncheck.project.older_rules import refused_in_data  # most projects are of Rasa 3

        folder.findings += refused_in_data(rasa.major, data_read)
    major = NEWEST if rasa is None else rasa.major
    domain_read, domain_findings = domain_from_files(domain_files, location, major=major)
    config_read, config_findings = config_from_file(config_file, major=major) if config_file else (Config(), ())
    if major == OLDEST and config_read.policies is None and (folder.root / OLDEST_POLICIES).is_file():
        apart, _ = config_from_file(parse_file(folder, folder.root / OLDEST_POLICIES, "config"), major=major)
        config_read = replace(config_read, policies=apart.policies)
    parts = [one.parts for one in data_read]
    files = [*domain_files, *(one.file for one in data_read), *(file for file in (config_file, endpoints_file) if file)]
    absent = _absent(data_read, has_domain=domain_path is not None, has_config=config_file is not None)
    needed = _needs(data_read)
    for option, given, default in (("domain", domain, DEFAULT_DOMAIN), ("config", config, DEFAULT_CONFIG)):
        path = given or folder.root / default
        if option in absent and (option in needed or path != folder.root / default):
            _note_absent(folder, path, folder.root / default, option)
    below = _assistants_below(folder, files)
    stories = [story for one in parts for story in one.stories]
    return Project(
        root=folder.root,
        name=shown_path(folder.root.resolve().name),
        domain=merged_domain(domain_read, parts),
        nlu=merged_nlu(parts),
        stories=tuple(story for story in stories if story.kind == "story"),
        rules=tuple(story for story in stories if story.kind == "rule"),
        config=config_read,
        endpoints=endpoints_read,
        findings=in_order(
            (*_named_below(folder.findings, below), *domain_findings, *config_findings, *endpoint_findings)
        ),
        unreadable=_unreadable(files) | (absent - needed),
        rasa=rasa,
        below=below,
        calm=calm_reason(config_read, next((one.flows_location for one in parts if one.flows_location), None)),
        flows=merged_flows(parts),
        misspelt=dict(folder.misspelt),
        files=tuple(files),
    )


def export_of(root: Path, data: Sequence[Path] | None = None) -> Path | None:
    """Return the export of a Kore.ai assistant that is the whole project, ``None`` where it is of Rasa."""
    if data is None:
        return find_export(root)
    if len(data) != 1 or not data[0].is_file() or data[0].suffix not in EXPORT_SUFFIXES:
        return None
    if data[0].suffix == ".zip":  # nothing else comes so
        return data[0]
    found = recognised(data[0], partial(ProjectFolder(root).content, data[0]))
    return data[0] if found is KORE_EXPORT else None


def ensure_export(path: Path) -> None:
    """Make sure that a file which is named as a project is the export of a Kore.ai assistant.

    Raises:
        UserError: it is something else.
    """
    if export_of(path.parent, [path]) is None:
        raise UserError(
            f"'{path}' is neither an assistant's folder nor the export of a Kore.ai assistant [{NOT_AN_EXPORT}]",
            remedy="Name the folder of an assistant, a botDefinition.json, or the platform's .zip.",
        )


def _refuse_of_rasa(**given: Path | None) -> None:
    for name, path in given.items():
        if path is not None:
            raise UserError(f"--{name} is for a Rasa project; this is a Kore.ai assistant", remedy="Omit it.")


def _read_export(folder: ProjectFolder, export: Path, language: str | None) -> Project:
    data_read = read_data(folder, [export], language=language)
    parts = [one.parts for one in data_read]
    files = [one.file for one in data_read]
    bot = next((one.bot for one in parts if one.bot is not None), None)
    if bot is None:
        fault = next((one for one in folder.findings if one.code != "format-not-read"), None)
        fault = fault or why_no_export(folder.name(export), folder.read_bytes(export) or b"")
        raise UserError(f"{fault.message.rstrip('.')} [{fault.code}]", location=fault.location, remedy=fault.hint)
    return Project(
        root=folder.root,
        name=bot.name or shown_path(folder.root.resolve().name),
        nlu=merged_nlu(parts),
        findings=in_order(folder.findings),
        unreadable=_unreadable(files),
        files=tuple(files),
        kore=bot,
    )


def _absent(data: Sequence[DataFile], *, has_domain: bool, has_config: bool) -> frozenset[str]:
    """Return which of domain and configuration there is none of."""
    has_domain = has_domain or any("domain" in one.file.kinds for one in data)
    return frozenset(name for name, there in (("domain", has_domain), ("config", has_config)) if not there)


def _needs(data: Iterable[DataFile]) -> frozenset[Need]:
    """Return which of domain and configuration must be beside the data: where there are none, both as for Rasa."""
    needs = [NEEDS_OF_RASA if one.format is None else one.format.needs for one in data] or [NEEDS_OF_RASA]
    return frozenset().union(*needs)


_ABSENT: Final = frozenset({"domain-not-found", "config-not-found"})


def _assistants_below(folder: ProjectFolder, files: Iterable[ProjectFile]) -> tuple[Path, ...]:
    """Return the assistants below a folder that has neither domain, configuration nor data."""
    if not {finding.code for finding in folder.findings} >= _ABSENT or any(file.role == "data" for file in files):
        return ()
    return tuple(assistants_below(folder.root))


def _named_below(findings: Iterable[Finding], below: Sequence[Path]) -> Iterator[Finding]:
    """Say of a domain or configuration that is not there which assistants lie below."""
    for finding in findings:
        if below and finding.code in _ABSENT:
            message = f"{finding.message} There are assistants below: {assistants_in_words(below)}."
            yield replace(finding, message=message, hint=f"Name one of them: --project {below[0].as_posix()}.")
        else:
            yield finding


def read_nlu(paths: Iterable[Path], root: Path) -> tuple[NluData, tuple[Finding, ...]]:
    """Read NLU data from files and folders, such as those of ``--nlu``; locations are relative to ``root``."""
    return read_nlu_files(paths, root)[:2]


def read_nlu_files(paths: Iterable[Path], root: Path) -> tuple[NluData, tuple[Finding, ...], tuple[ProjectFile, ...]]:
    """Do the same, and return the files, too."""
    folder = ProjectFolder(root)
    with _collector_paused():
        read = read_data(folder, _existing(folder, paths), NLU_KEYS)
        nlu = merged_nlu([one.parts for one in read])
    return nlu, in_order(folder.findings), tuple(one.file for one in read)


def read_nlu_responses(paths: Iterable[Path], root: Path) -> Mapping[str, Response]:
    """Read the responses that stand in NLU files (those of retrieval intents), by name."""
    folder = ProjectFolder(root)
    read = read_data(folder, _existing(folder, paths), NLU_KEYS)
    return merged_domain(Domain(), [one.parts for one in read]).responses


def read_stories(paths: Iterable[Path], root: Path) -> tuple[tuple[Story, ...], tuple[Finding, ...]]:
    """Read stories and rules (``Story.kind``) from files and folders, such as those of ``--stories``.

    No schema is held against these files: the reader itself looks for keys that nobody knows.
    """
    return read_story_files(paths, root)[:2]


def read_story_files(
    paths: Iterable[Path], root: Path
) -> tuple[tuple[Story, ...], tuple[Finding, ...], tuple[ProjectFile, ...]]:
    """Do the same, and return the files, too."""
    folder = ProjectFolder(root)
    read = read_data(folder, _existing(folder, paths), STORY_KEYS, is_test=True)
    stories = tuple(story for one in read for story in one.parts.stories)
    return stories, in_order(folder.findings), tuple(one.file for one in read)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the cyclic garbage collector from running: reading makes many objects and no garbage for it to find."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# --- the paths -------------------------------------------------------------------------------------------------------


def _domain_path(folder: ProjectFolder, given: Path | None) -> Path | None:
    default = folder.root / DEFAULT_DOMAIN
    if given is None:
        candidates = (default, folder.root / DEFAULT_DOMAIN_FOLDER)
        given = next((path for path in candidates if path.exists()), default)
    return _existing_or_default(folder, given, default, "domain")


def _endpoints_file(folder: ProjectFolder, given: Path | None) -> ProjectFile | None:
    path = given or folder.root / DEFAULT_ENDPOINTS
    return parse_file(folder, path, "endpoints") if given or _is_there(path) else None


def _existing_or_default(folder: ProjectFolder, given: Path | None, default: Path, option: str) -> Path | None:
    """Return the path that is given if there is such a file, else the default (noted), else ``None``."""
    path = given or default
    if _is_there(path):
        return path
    if not _is_there(default):
        return None
    name = folder.name(path)
    message = f"The path '{name}' of --{option} does not exist; the default '{folder.name(default)}' is read instead."
    folder.findings.append(Finding("path-not-found", "warning", message, Location(name), "Correct the path."))
    return default


def _note_absent(folder: ProjectFolder, path: Path, default: Path, option: str) -> None:
    name = folder.name(path)
    what = "domain" if option == "domain" else "configuration"
    hint = _how_to_name(folder, default, option)
    message = f"There is no {what} at '{name}'."
    folder.findings.append(Finding(f"{option}-not-found", "error", message, Location(name), hint))


def _how_to_name(folder: ProjectFolder, default: Path, option: str) -> str:
    if option == "domain" and (folder.root / DEFAULT_DOMAIN_FOLDER).is_dir():
        return f"Name the folder: --domain {folder.name(folder.root / DEFAULT_DOMAIN_FOLDER)}."
    return f"Put it at '{folder.name(default)}', or name its path with --{option}."


def _is_there(path: Path) -> bool:
    """Whether a path names anything; a symbolic link to nowhere does, so that reading it says what is wrong."""
    return path.exists() or path.is_symlink()


def _data_paths(folder: ProjectFolder, given: Sequence[Path] | None) -> list[Path]:
    if given is not None:
        return _existing(folder, given)
    default = folder.root / DEFAULT_DATA
    return [default] if _is_there(default) else []


def _existing(folder: ProjectFolder, paths: Iterable[Path]) -> list[Path]:
    existing = []
    for path in paths:
        if _is_there(path):
            existing.append(path)
        else:
            name = folder.name(path)
            message = f"The path '{name}' does not exist; nothing is read from it."
            folder.findings.append(Finding("data-not-found", "warning", message, Location(name), "Correct the path."))
    return existing


# --- the files -------------------------------------------------------------------------------------------------------


def _domain_files(folder: ProjectFolder, path: Path, *, as_listed: bool) -> list[ProjectFile]:
    """The file of the domain, or those of its folder, but for the ones that Rasa skips there with a warning."""
    if not path.is_dir():
        single = parse_file(folder, path, "domain")
        version = version_too_high(single.mapping)
        folder.findings += () if version is None else (version,)
        return [single] if version is None else []
    already_closed = len(folder.closed)
    files = []
    for file, fence in folder.yaml_files([path], as_listed=as_listed):
        already_found = len(folder.findings)
        parsed = parse_file(folder, file, "domain", fence=fence)
        is_passed_by = _PASSED_BY | {"file-unreadable"} if _leads_nowhere(file) else _PASSED_BY
        faults = [finding for finding in folder.findings[already_found:] if finding.code in is_passed_by]
        faults += _unreadable_values(parsed)
        if faults:
            what = f"'{parsed.path}' is left out of the domain. {faults[0].message}"
            passed_by = replace(faults[0], code="domain-file-unread", severity="warning", message=what)
            folder.findings[already_found:] = [passed_by]
            continue
        files.append(parsed)
        version = version_too_high(parsed.mapping)
        if version is not None:
            what = version.message.replace("the file is skipped", "it is read all the same")
            folder.findings.append(replace(version, message=what))
    return [*files, *(ProjectFile(name, "domain") for name in folder.closed[already_closed:])]


_PASSED_BY: Final = frozenset({"yaml-syntax", "yaml-duplicate-key", "file-not-utf8"})
"""What keeps a file from being read: a single domain file ends Rasa then, one of several is skipped."""


def _leads_nowhere(path: Path) -> bool:
    """Whether a file of a folder is a symbolic link to what is not there. At one to itself Rasa ends."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _unreadable_values(file: ProjectFile) -> Iterator[Finding]:
    """Values that keep a file of a domain's folder from being read; at dates and numbers that are none Rasa ends."""
    root = file.document.root if file.document else None
    for node, reason, reading in unreadable_values(root) if root is not None else ():
        if reading in {"variable", "sign"}:
            message = f"'{str(node.value)[:60]}' cannot be read: {reason}."
            yield Finding("domain-file-unread", "warning", message, node.location, "Put quotes around what is text.")


def _unreadable(files: Iterable[ProjectFile]) -> frozenset[str]:
    parts: set[str] = set()
    for file in files:
        if file.is_complete:
            continue
        if file.role != "data":
            parts.add(file.role)
        if file.has_nlu:
            parts.add("nlu")
        if file.has_stories:
            parts.add("stories")
    return frozenset(parts)


MAX_FINDINGS: Final = 200
"""So many findings of one code are listed for a file; of more only their number is said."""


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings by place; a file full of one fault does not drown the others."""
    kept: list[Finding] = []
    unlisted: dict[tuple[str, str], list[Finding]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for finding in sorted(findings, key=lambda finding: finding.location.sort_key):
        key = (finding.location.path, finding.code)
        counts[key] += 1
        if counts[key] <= MAX_FINDINGS:
            kept.append(finding)
        else:
            unlisted.setdefault(key, []).append(finding)
    kept += (
        replace(rest[0], message=f"{len(rest)} more such places follow in '{path}'; this is the first of them.")
        for (path, _), rest in unlisted.items()
    )
    return tuple(sorted(kept, key=lambda finding: finding.location.sort_key))
