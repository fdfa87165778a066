"""Files → :class:`~turncheck.project.model.Project`. The single entry point for reading.

What cannot be read becomes a finding, and the rest is read: see :class:`~turncheck.project.model.Project`. The findings
made while reading are those about files (``domain-not-found``, ``config-not-found``, ``path-not-found``,
``data-not-found``, ``file-…``), YAML (``yaml-…``), types that cannot be read (``schema-violation``), versions that are
too high (``version-too-high``: Rasa skips such a file), and what is lost while loading (named in
:mod:`~turncheck.project.formats.rasa_yaml`, :mod:`~turncheck.project.formats.rasa_stories` and
:mod:`~turncheck.project.config`).

Some things only an older Rasa refuses or reads differently, once a project is known to be written for it.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeGuard

from msgspec.structs import replace

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Finding, Location, Name, shown_path
from turncheck.messages.phrasing import misspelt
from turncheck.platforms.registry import PLATFORMS
from turncheck.process.foreign_content import FOREIGN
from turncheck.process.regular_file import is_folder, is_there
from turncheck.project import files as project_files
from turncheck.project.action_classes import with_action_names
from turncheck.project.config import (
    COMPONENTS,
    OLDER_POLICIES,
    POLICIES,
    SECTIONS,
    calm_reason,
    config_from_file,
    files_apart,
    is_custom,
    own_importer,
)
from turncheck.project.export import (
    export_of,
    in_order,
    merged_domain,
    merged_flows,
    merged_nlu,
    read_export,
    refuse_of_rasa,
)
from turncheck.project.folder import ProjectFolder, absolute_name, assistants_in_place, named_below
from turncheck.project.formats.format import NEEDS_OF_RASA, Need
from turncheck.project.formats.rasa_domain import domain_from_files
from turncheck.project.formats.rasa_json import LOOKUP_FILE_MISSING, lookup_file_missing
from turncheck.project.formats.rasa_yaml import FILE_EMPTY, HOW_TO_FILL
from turncheck.project.model import Component, Config, Domain, Endpoint, Project, Response, Story
from turncheck.project.older_data import as_rasa_0_reads, refused_in_data, unknown_json
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS, ProjectFile, unreadable_parts
from turncheck.project.rasa_components import patterns_read
from turncheck.project.rasa_version import NEWEST, OLDEST, RasaVersion, recognise, version_too_high
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence
from turncheck.yaml_tree.unquoted import SET_IT, unreadable_values, written

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from turncheck.process.environment import FileVariables
    from turncheck.project.nlu_data import NluData
    from turncheck.project.project_file import Role

# The files of a domain: a single one, or those of a folder that Rasa would read.

_SKIPPED: Final = frozenset({"yaml-syntax", "yaml-duplicate-key", "file-not-utf8"})
"""What keeps a file from being read: Rasa ends if it is the only domain file, and skips it if it is one of several."""


def files_of_domain(folder: ProjectFolder, path: Path, *, as_listed: bool) -> list[ProjectFile]:
    """Return the domain's file, or those in its folder, except the ones that Rasa skips there with a warning."""
    if not is_folder(path):
        single = project_files.parse_file(folder, path, "domain")
        version = version_too_high(single.mapping)
        folder.findings += () if version is None else (version,)
        return [single] if version is None else []
    already_closed = len(folder.closed)
    files = []
    for file, fence in folder.yaml_files([path], as_listed=as_listed):
        already_found = len(folder.findings)
        parsed = project_files.parse_file(folder, file, "domain", fence=fence)
        skipped_for = _SKIPPED | {"file-unreadable"} if _leads_nowhere(file) else _SKIPPED
        faults = [finding for finding in folder.findings[already_found:] if finding.code in skipped_for]
        faults += _unreadable_values(parsed)
        if faults:
            what = f"'{parsed.path}' is left out of the domain. {faults[0].message}"
            skipped = replace(faults[0], code="domain-file-unread", severity="warning", message=what)
            folder.findings[already_found:] = [skipped]
            continue
        files.append(parsed)
        version = version_too_high(parsed.mapping, then="it is read all the same")
        if version is not None:
            folder.findings.append(version)
    return [*files, *(ProjectFile(name, "domain") for name in folder.closed[already_closed:])]


def _leads_nowhere(path: Path) -> bool:
    """Whether a file in a folder is a symbolic link to nowhere. Rasa ends at one that links to itself."""
    try:
        path.stat()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _unreadable_values(file: ProjectFile) -> Iterator[Finding]:
    """Values that keep a file in a domain's folder from being read; Rasa fails on invalid dates and numbers."""
    root = file.document.root if file.document else None
    for node, reason, reading in unreadable_values(root) if root is not None else ():
        if reading in {"variable", "sign"}:
            message = f"'{written(node)[:60]}' cannot be read: {reason}."
            hint = SET_IT if reading == "variable" else "Put strings in quotes."
            yield Finding("domain-file-unread", "warning", message, node.location, hint)


# ``endpoints.yml`` → the model's ``Endpoint``.
#
# Rasa ignores a key that it does not know, and an endpoint without an address: a misspelling then looks like a missing
# server. Here it is reported.

ACTIONS: Final = "action_endpoint"
KNOWN: Final = (
    *(ACTIONS, "nlg", "nlu", "models", "model", "tracker_store", "lock_store", "event_broker"),
    *(
        "vector_store",
        "model_groups",
        "mcp_servers",
        "privacy",
        "secrets_manager",
        "anonymization",
        "interaction_handling",
    ),
)
"""The endpoints of Rasa 3.6, followed by those of Rasa Pro, as far as known: it has more, and new ones are added."""
_KEYS: Final = (
    *("url", "params", "headers", "basic_auth", "token", "token_name", "cafile", "type", "enable_selective_domain"),
    "actions_module",
)
"""The keys of ``action_endpoint`` that Rasa reads; ``actions_module`` is for Rasa Pro, which then needs no server."""
_LISTS: Final = frozenset({"model_groups", "mcp_servers"})
"""What Rasa Pro has as lists of entries."""
_HINT: Final = "See Rasa's documentation of the model configuration."


def endpoints_from_file(file: ProjectFile) -> tuple[dict[str, Endpoint], tuple[Finding, ...]]:
    """Read the endpoints as written; an entry that is not a mapping is left out and reported.

    Also reported are a name that is close to one of Rasa's (``endpoint-unknown``), and an action server without an
    address (``endpoint-url-missing``).
    """
    document = file.document
    if document is None or document.root is None:
        return {}, ()
    root = document.root
    if not isinstance(root, YamlMapping):
        return {}, (_schema(root, "the endpoints must be a mapping"),)
    endpoints = {}
    findings = [*_misspelt(root, KNOWN, f"'{file.path}'")]
    for key, node in root.items.items():
        if isinstance(node, YamlMapping):
            endpoints[str(key)] = Endpoint(str(key), node.data, root.key_location(key))
            findings += _action_server(root, node) if key == ACTIONS else ()
        elif str(key) in _LISTS and isinstance(node, YamlSequence):
            endpoints[str(key)] = Endpoint(str(key), {str(key): node.data}, root.key_location(key))
        elif not _is_nothing(node):
            hint = f"Write `url: {node.value}` below it." if _is_address(node) else _HINT
            findings.append(_schema(node, f"the endpoint '{key}' must be a mapping", hint))
    return endpoints, tuple(findings)


def _action_server(root: YamlMapping, node: YamlMapping) -> Iterator[Finding]:
    if not node.data.get("url") and "actions_module" not in node.items:
        meant = next((key for key in node.items if key == "uri" or misspelt(str(key), ("url",))), None)
        location = root.key_location(ACTIONS) if meant is None else node.key_location(meant)
        hint = "Write `url: http://localhost:5055/webhook` below it." if meant is None else "Did you mean 'url'?"
        message = f"The '{ACTIONS}' of '{root.source.path}' has no 'url': no action server would be called."
        yield Finding("endpoint-url-missing", "warning", message, location, hint)
        return
    yield from _misspelt(node, _KEYS, f"'{ACTIONS}'")


def _misspelt(node: YamlMapping, known: Iterable[str], what: str) -> Iterator[Finding]:
    for key in node.items:
        if near := misspelt(str(key), known):
            message = f"Nothing reads the key '{key}' of {what}."
            yield Finding("endpoint-unknown", "warning", message, node.key_location(key), f"Did you mean '{near}'?")


def _is_nothing(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None


def _is_address(node: YamlNode) -> TypeGuard[YamlScalar]:
    return isinstance(node, YamlScalar) and str(node.value).startswith(("http://", "https://"))


def _schema(node: YamlNode, what: str, hint: str = _HINT) -> Finding:
    return Finding("schema-violation", "error", f"In '{node.source.path}' {what}.", node.location, hint)


_CONFIGURED_IN_ONE: Final = 2
"""A project that looks older than this and has no configuration may be for Rasa 0, which allowed any file name."""


def read_project(
    root: Path,
    *,
    domain: Path | None = None,
    data: Sequence[Path] | None = None,
    config: Path | None = None,
    endpoints: Path | None = None,
    domain_as_listed: bool = False,
    language: str | None = None,
    variables: FileVariables | None = None,
    version_by: Role | None = None,
) -> Project:
    """Read a Rasa project, or an assistant of another platform from its export.

    Defaults are looked for below ``root``: ``domain.yml``, else the folder ``domain``; ``data``; ``config.yml``;
    ``endpoints.yml``. Path arguments are relative to the current folder. A named domain or configuration that does not
    exist is replaced by the default, with a finding (as in Rasa). A missing data folder is not a fault by itself.

    The files in a domain's folder are merged in the order of their names; ``domain_as_listed``: in the order in which
    the file system lists them, as in Rasa, which may differ between machines.

    A folder that contains an export, or an export as the only ``data``, is an assistant of the export's platform:
    nothing else is read. ``language``: the language whose sentences are read,
    by default the assistant's own default language. ``variables``: what ``${NAME}`` in its files stands for, by
    default the environment of the process. ``version_by``: only files of this role say which Rasa it is written for,
    as others may have been converted before.

    Raises:
        UserError: an argument does not apply to this kind of assistant, or the export cannot be read.
    """
    with _collector_paused():
        if (export := export_of(root, data)) is not None:
            refuse_of_rasa(export.platform, domain=domain, config=config)
            return read_export(ProjectFolder(root), export, language)
        if language is not None:
            of_languages = [platform for platform in PLATFORMS.values() if platform.has_languages]
            raise UserError(
                f"--language is for the export of {' or '.join(one.one for one in of_languages)}",
                hint="The pipeline says the language here.",
            )
        folder = ProjectFolder(root, variables)
        return _read_project(
            folder, domain, data, config, endpoints, domain_as_listed=domain_as_listed, version_by=version_by
        )


def _read_project(
    folder: ProjectFolder,
    domain: Path | None,
    data: Sequence[Path] | None,
    config: Path | None,
    endpoints: Path | None,
    *,
    domain_as_listed: bool,
    version_by: Role | None,
) -> Project:
    found_domain = project_files.domain_path(folder, domain)
    domain_files = files_of_domain(folder, found_domain, as_listed=domain_as_listed) if found_domain else []
    config_path = project_files.existing_or_default(
        folder, config, folder.root / project_files.DEFAULT_CONFIG, "config"
    )
    config_file = project_files.parse_file(folder, config_path, "config") if config_path else None
    data = _data_of_rasa_0(folder, config_file) if data is None else data
    data_read = project_files.read_data(folder, project_files.data_paths(folder, data))
    _note_without_data(folder, data or (), data_read, "training data")
    found_endpoints = project_files.endpoints_file(folder, endpoints)
    apart = [file for file in (config_file, found_endpoints) if file]
    own_files = [*domain_files, *apart, *(data_file.file for data_file in data_read)]
    in_markdown = project_files.training_data_in_markdown(data_read)
    rasa = (
        recognise(folder, own_files, in_markdown)
        if version_by is None
        else recognise(folder, [file for file in own_files if file.role == version_by], {})
    )
    config_files = [config_file] if config_file else []
    lacks_configuration = not config_files and (rasa is None or rasa.major < _CONFIGURED_IN_ONE)
    if version_by is None and (lacks_configuration or (rasa is not None and rasa.major == OLDEST)):
        more = _configured_apart(folder, config_file)
        with_more = recognise(folder, [*own_files, *more], in_markdown)
        if with_more is not None and with_more.major == OLDEST:
            rasa, config_files, apart = with_more, [*config_files, *more], [*apart, *more]
    data_read = _data_of_version(folder, data_read, rasa, is_named=data is not None)
    major = NEWEST if rasa is None else rasa.major

    own_domain = next(
        (data_file.file.path for data_file in data_read if "domain" in data_file.file.kinds),
        project_files.DEFAULT_DOMAIN,
    )
    location = Location(folder.name(found_domain) if found_domain else own_domain)
    domain_read, domain_findings = domain_from_files(domain_files, location, major=major)
    if major == OLDEST and domain_read.actions:
        in_stories = (story for data_file in data_read for story in data_file.parts.stories)
        domain_read = with_action_names(domain_read, domain_files, in_stories, folder.root)
    config_read, config_findings = _config(config_files, major)
    folder.findings += [_empty(file) for file in config_files[:1] if file.is_empty]
    config_read = _with_extended(config_read, folder.root)
    endpoints_read, endpoint_findings = endpoints_from_file(found_endpoints) if found_endpoints else ({}, ())
    files = [*domain_files, *(data_file.file for data_file in data_read), *apart]
    files += _foreign_files_named_in_data(folder, files)
    files += _files_that_should_hold_data(folder, data_read, merged_domain(domain_read, []))
    absent = _absent(data_read, has_domain=found_domain is not None, has_config=bool(config_files))
    needed = _needs(data_read)
    if major == OLDEST and config_read.policies is None and not any(data_file.parts.stories for data_file in data_read):
        needed -= {"domain"}  # Rasa NLU 0.x was a program of its own, which knows none
    _note_what_is_absent(folder, absent, needed, domain=domain, config=config)
    if importer := own_importer(config_read):
        folder.findings[:] = [_imported_elsewhere(finding, importer) for finding in folder.findings]
    parts = [data_file.parts for data_file in data_read]
    if config is None and any(part.flows for part in parts):
        folder.findings[:] = map(_config_elsewhere, folder.findings)
    nlu = merged_nlu(parts)
    folder.findings[:] = _unless_unread(folder.findings, config_read, nlu)
    below = assistants_in_place(folder, files)
    if data is None and not data_read and not below:
        project_files.note_data_elsewhere(folder)
    stories = [story for part in parts for story in part.stories]
    return Project(
        root=folder.root,
        name=shown_path(folder.root.resolve().name),
        domain=merged_domain(domain_read, parts),
        nlu=_sorted_patterns(nlu) if major < NEWEST else nlu,
        stories=tuple(story for story in stories if story.kind == "story"),
        rules=tuple(story for story in stories if story.kind == "rule"),
        config=config_read,
        endpoints=endpoints_read,
        findings=in_order(
            (*named_below(folder.findings, below), *domain_findings, *config_findings, *endpoint_findings)
        ),
        unreadable=unreadable_parts(files) | (absent - needed),
        rasa=rasa,
        below=below,
        calm=calm_reason(config_read, next((part.flows_location for part in parts if part.flows_location), None)),
        flows=merged_flows(parts),
        misnamed_files=dict(folder.misnamed_files),
        files=tuple(files),
        expanded=frozenset(folder.expanded),
    )


def _data_of_rasa_0(folder: ProjectFolder, config_file: ProjectFile | None) -> list[Path] | None:
    """Return the training data that a configuration of Rasa NLU 0.x names (``data``); ``None``: it names none."""
    noted = len(folder.findings)
    apart = [] if config_file else [project_files.parse_file(folder, path, "config") for path in _with_pipeline(folder)]
    del folder.findings[noted:]  # those files are read once more where it is known what they are
    for file in [config_file] if config_file else apart:
        node = None if file.mapping is None else file.mapping.items.get("data")
        rasa = None if node is None else recognise(folder, [file], {})
        if rasa is None or rasa.major != OLDEST or not isinstance(node, YamlScalar) or not isinstance(node.value, str):
            continue
        path = folder.root / node.value
        if folder.contains(path):
            return [path]
        message = f"'{node.value}' leads out of the project; nothing is read from it."
        hint = "Put the files themselves into the project, or name their folder with --data."
        folder.findings.append(Finding("file-outside-project", "error", message, node.location, hint))
        return []
    return None


def _with_pipeline(folder: ProjectFolder) -> list[Path]:
    return files_apart(folder.root, ("pipeline",))


def _note_without_data(
    folder: ProjectFolder, paths: Iterable[Path], read: Iterable[project_files.DataFile], what: str
) -> None:
    """Note which of the named paths hold nothing of what is wanted, unless a finding says so already."""
    files = [
        Path(absolute_name(folder.root / data_file.file.path))
        for data_file in read
        if not data_file.parts.is_empty or data_file.file.has_errors or not data_file.file.source
    ]
    noted = {finding.location.path for finding in folder.findings}
    for path in paths:
        name = folder.name(path)
        is_used = any(file.is_relative_to(absolute_name(path)) for file in files)
        if is_there(path) and name not in noted and not is_used:
            folder.findings.append(project_files.path_without_data(name, what))


def _empty(file: ProjectFile) -> Finding:
    return Finding(FILE_EMPTY, "error", f"'{file.path}' is empty.", Location(file.path, 1, 1), HOW_TO_FILL)


def _foreign_files_named_in_data(folder: ProjectFolder, files: Iterable[ProjectFile]) -> list[ProjectFile]:
    """Return the files of lookup tables that are something else than their names say: the tables are incomplete."""
    known = {file.path for file in files}
    paths = (finding.location.path for finding in folder.findings if finding.code == FOREIGN)
    return [ProjectFile(path, "data", kinds=frozenset({"nlu"})) for path in dict.fromkeys(paths) if path not in known]


_OF_NAME: Final = (("nlu", ("nlu",)), ("stories", ("stor", "rule")))
"""What a file should hold by its name."""


def _files_that_should_hold_data(
    folder: ProjectFolder, data: Iterable[project_files.DataFile], domain: Domain
) -> list[ProjectFile]:
    """Return the empty files without which nothing can be learned, which is an error; others may be placeholders."""
    if domain.is_empty:
        return []
    parts = [data_file.parts for data_file in data]
    there = {"nlu": any(part.nlu.examples for part in parts), "stories": any(part.stories for part in parts)}
    if not domain.responses and not domain.actions:
        there["stories"] = True  # understanding is all that is wanted
    found: dict[str, set[str]] = {}
    for number, finding in enumerate(folder.findings):
        name = finding.location.path.lower()
        kinds = {kind for kind, words in _OF_NAME if not there[kind] and any(word in name for word in words)}
        if finding.code == FILE_EMPTY and kinds:
            folder.findings[number] = replace(finding, severity="error")
            found.setdefault(finding.location.path, set()).update(kinds)
    return [ProjectFile(path, "data", kinds=frozenset(kinds)) for path, kinds in found.items()]


def _data_of_version(
    folder: ProjectFolder, data: list[project_files.DataFile], rasa: RasaVersion | None, *, is_named: bool
) -> list[project_files.DataFile]:
    """Leave out the files that this version of Rasa does not read; for an older one, report what it refuses."""
    if rasa is None or not rasa.is_older:
        return project_files.without_older_formats(folder, data)
    if rasa.major == OLDEST:
        data = [as_rasa_0_reads(folder, data_file) for data_file in data]
    folder.findings += refused_in_data(rasa.major, folder, data)
    unknown_json(rasa.major, folder, is_named=is_named)
    return data


def _sorted_patterns(nlu: NluData) -> NluData:
    """Sort the patterns as Rasa 1 and 2 do."""
    return replace(nlu, regexes=tuple(sorted(nlu.regexes, key=lambda regex: f"{regex.name}+{regex.pattern}")))


def _configured_apart(folder: ProjectFolder, file: ProjectFile | None) -> list[ProjectFile]:
    """Read the files in which Rasa 0 kept the sections that the configuration, if there is one, does not have."""

    there = set() if file is None or file.mapping is None else set(file.mapping.items)
    missing = tuple(section for section in SECTIONS if section not in there)
    known = None if file is None else file.path
    paths = [path for path in files_apart(folder.root, missing) if folder.name(path) != known] if missing else []
    return [project_files.parse_file(folder, path, "config") for path in paths]


def _config(files: Sequence[ProjectFile], major: int) -> tuple[Config, Sequence[Finding]]:
    """Read the configuration; for Rasa 0, pipeline and policies may be in separate files."""
    config, findings = config_from_file(files[0], major=major) if files else (Config(), ())
    for file in files[1:]:
        other, _ = config_from_file(file, major=major)
        config = replace(
            config,
            pipeline=other.pipeline if config.pipeline is None else config.pipeline,
            policies=other.policies if config.policies is None else config.policies,
            language=config.language or other.language,
            keys={**other.keys, **config.keys},
        )
    return config, findings


def _with_extended(config: Config, root: Path) -> Config:
    """Add which of Rasa's classes those of the project extend; most projects have none of their own."""
    if not any(is_custom(component.name) for component in (*(config.pipeline or ()), *(config.policies or ()))):
        return config
    from turncheck.project.own_classes import with_extended

    return replace(
        config,
        pipeline=None if config.pipeline is None else with_extended(config.pipeline, root, COMPONENTS),
        policies=None if config.policies is None else with_extended(config.policies, root, POLICIES | OLDER_POLICIES),
    )


def _note_what_is_absent(
    folder: ProjectFolder, absent: Container[str], needed: Container[str], *, domain: Path | None, config: Path | None
) -> None:
    """Note which of domain and configuration is missing, if it is needed or was named."""
    for option, given, name in (
        ("domain", domain, project_files.DEFAULT_DOMAIN),
        ("config", config, project_files.DEFAULT_CONFIG),
    ):
        default = folder.root / name
        path = given or default
        if option in absent and (option in needed or path != default):
            project_files.note_absent(folder, path, default, option)


def _config_elsewhere(finding: Finding) -> Finding:
    """A configuration elsewhere is no error beside flows: nothing that is checked of them depends on it."""
    is_elsewhere = finding.code == "config-not-found" and bool(finding.names)
    return replace(finding, severity="warning") if is_elsewhere else finding


def _imported_elsewhere(finding: Finding, importer: Component) -> Finding:
    """Say of a domain that is not there that the project's own importer, which is code, provides it."""
    if finding.code != "domain-not-found":
        return finding
    message = f"The domain comes from the project's own importer '{importer.name}', which is not run here."
    hint = "Use --engine rasa or --engine http, which ask the bot itself, or write the domain to 'domain.yml'."
    names = (Name("importer", importer.name),)
    return replace(finding, message=message, location=importer.location, hint=hint, names=names)


def _unless_unread(findings: Sequence[Finding], config: Config, nlu: NluData) -> list[Finding]:
    """Return the findings; the file of a lookup table that no component reads may be missing."""
    if not any(finding.code == LOOKUP_FILE_MISSING for finding in findings):
        return list(findings)
    read = patterns_read(config, nlu, "use_lookup_tables")
    unread = {table.location: table for table in nlu.lookups if table.name not in read}
    return [
        lookup_file_missing(table.name, table.file or "", table.location, is_read=False)
        if finding.code == LOOKUP_FILE_MISSING and (table := unread.get(finding.location))
        else finding
        for finding in findings
    ]


def _absent(data: Sequence[project_files.DataFile], *, has_domain: bool, has_config: bool) -> frozenset[str]:
    """Return which of domain and configuration does not exist."""
    has_domain = has_domain or any("domain" in data_file.file.kinds for data_file in data)
    return frozenset(name for name, there in (("domain", has_domain), ("config", has_config)) if not there)


def _needs(data: Iterable[project_files.DataFile]) -> frozenset[Need]:
    """Return which of domain and configuration must exist: both if there is no data, as in Rasa."""
    needs = [NEEDS_OF_RASA if data_file.format is None else data_file.format.needs for data_file in data] or [
        NEEDS_OF_RASA
    ]
    return frozenset().union(*needs)


def read_nlu(paths: Iterable[Path], root: Path) -> tuple[NluData, tuple[Finding, ...]]:
    """Read NLU data from files and folders, such as those of ``--nlu``; locations are relative to ``root``."""
    return read_nlu_files(paths, root)[:2]


def read_nlu_files(
    paths: Iterable[Path], root: Path, variables: FileVariables | None = None
) -> tuple[NluData, tuple[Finding, ...], tuple[ProjectFile, ...]]:
    """Do the same, and return the files, too."""
    folder = ProjectFolder(root, variables)
    with _collector_paused():
        there = project_files.existing(folder, paths)
        read = project_files.read_data(folder, there, NLU_KEYS)
        _note_without_data(folder, there, read, "NLU data")
        nlu = merged_nlu([data_file.parts for data_file in read])
    return nlu, in_order(folder.findings), tuple(data_file.file for data_file in read)


def read_nlu_responses(paths: Iterable[Path], root: Path) -> Mapping[str, Response]:
    """Read the responses that are in NLU files (those of retrieval intents), by name."""
    folder = ProjectFolder(root)
    read = project_files.read_data(folder, project_files.existing(folder, paths), NLU_KEYS)
    return merged_domain(Domain(), [data_file.parts for data_file in read]).responses


def read_stories(paths: Iterable[Path], root: Path) -> tuple[tuple[Story, ...], tuple[Finding, ...]]:
    """Read stories and rules (``Story.kind``) from files and folders, such as those of ``--stories``.

    These files are not compared with a schema: the reader itself looks for unknown keys.
    """
    return read_story_files(paths, root)[:2]


def read_story_files(
    paths: Iterable[Path], root: Path, variables: FileVariables | None = None
) -> tuple[tuple[Story, ...], tuple[Finding, ...], tuple[ProjectFile, ...]]:
    """Do the same, and return the files, too."""
    folder = ProjectFolder(root, variables)
    there = project_files.existing(folder, paths)
    read = project_files.read_data(folder, there, STORY_KEYS, is_test=True)
    _note_without_data(folder, there, read, "stories")
    stories = tuple(story for data_file in read for story in data_file.parts.stories)
    return stories, in_order(folder.findings), tuple(data_file.file for data_file in read)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: reading creates many objects and no cyclic garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
