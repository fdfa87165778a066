"""The files of a project: which there are, what Rasa takes each for, and their text.

Rasa 3.x decides by a look at the lines whether it reads a file below the data paths: one line must begin (after
white space) with ``nlu:`` or ``responses:`` for NLU data, with ``stories:`` or ``rules:`` for stories. All others it
passes by in silence. :func:`kinds_of` mirrors that. The default data path is ``data``; files are taken in the order of
their absolute paths.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.messages.location import Location
from turncheck.project.folder import YAML_SUFFIXES
from turncheck.project.formats.rasa_json import why_not_json
from turncheck.project.project_file import DATA_KEYS, DOMAIN_KEYS, NLU_KEYS, STORY_KEYS, TOP_KEY, ProjectFile, Role
from turncheck.yaml_tree.tree import YamlDocument, YamlMapping, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from turncheck.project.folder import ProjectFolder
    from turncheck.yaml_tree.source import YamlSource


_KEY_LINE: Final = re.compile(rf"(?:^|(?<=\r))\s*({'|'.join(DATA_KEYS)}):", re.MULTILINE)


def has_key_line(source: YamlSource, keys: Iterable[str] = DATA_KEYS) -> bool:
    """Whether a line begins with one of the keys. Rasa sees none behind a byte order mark."""
    wanted = frozenset(keys)
    start = source.text.find("\n") + 1 if source.has_byte_order_mark else 0
    return any(match[1] in wanted for match in _KEY_LINE.finditer(source.text, start))


def kinds_of(document: YamlDocument) -> frozenset[str]:
    """Return the data keys that begin a line of the file: at its top level, or anywhere if it could not be parsed."""
    text = document.source.text
    if not isinstance(document.root, YamlMapping):
        return frozenset(_KEY_LINE.findall(text))
    return frozenset(
        key
        for key, node in document.root.keys.items()
        if key in DATA_KEYS and _KEY_LINE.match(text, max(text.rfind(end, 0, node.start) for end in "\r\n") + 1)
    )


def parse_file(folder: ProjectFolder, path: Path, role: Role, *, fence: Path | None = None) -> ProjectFile:
    """Read and parse one file of the project whatever its kind; what is wrong with it is noted in the folder."""
    source = folder.read(path, fence=fence)
    if source is None:
        return ProjectFile(folder.name(path), role, None)
    document = parse_yaml(source)
    folder.findings.extend(document.findings)
    return ProjectFile(source.path, role, document)


def data_files(folder: ProjectFolder, paths: Iterable[Path]) -> list[ProjectFile]:
    """Read the files below the data paths that hold what Rasa reads; the others are not even parsed."""
    already_closed = len(folder.closed)
    found = folder.yaml_files(paths, json_with=f'"{TOP_KEY}"'.encode())
    read = [_data_file(folder, path, fence) for path, fence in found]
    unknown = [ProjectFile(name, "data", None, _ANY_KIND) for name in folder.closed[already_closed:]]
    return [*(file for file in read if file is not None), *unknown]


_ANY_KIND: Final = frozenset((*NLU_KEYS, *STORY_KEYS))
"""Of what cannot be read: it may hold anything."""


def _data_file(folder: ProjectFolder, path: Path, fence: Path) -> ProjectFile | None:
    content = folder.read_bytes(path, fence=fence)
    if content is None:
        return ProjectFile(folder.name(path), "data", None, _ANY_KIND)
    is_json = path.suffix not in YAML_SUFFIXES
    source = folder.decode(path, content, is_json=is_json)
    if source is None:
        kinds = frozenset(_KEY_LINE.findall(content.decode("latin-1")))
        return ProjectFile(folder.name(path), "data", None, kinds or _ANY_KIND)
    if is_json:
        refusal = why_not_json(source)
        if refusal is not None:
            folder.findings.append(refusal)
            return None
        document = parse_yaml(source)
        folder.findings.extend(document.findings)
        return ProjectFile(source.path, "data", document, frozenset({TOP_KEY}))
    if not has_key_line(source):
        if not any(f"{key}:" in source.text for key in DOMAIN_KEYS):
            folder.findings.append(_without_data(source))
        return None
    document = parse_yaml(source)
    folder.findings.extend(document.findings)
    if document.root is not None and not isinstance(document.root, YamlMapping):
        message = f"The top level of '{source.path}' must be a mapping with keys such as nlu, stories or rules."
        hint = "Write the keys at the beginning of the line, without '- '."
        folder.findings.append(Finding("schema-violation", "error", message, document.root.location, hint))
    return ProjectFile(source.path, "data", document, kinds_of(document))


def _without_data(source: YamlSource) -> Finding:
    hint = "Check the spelling of its keys, or move the file out of the data folder."
    if source.has_byte_order_mark:
        hint = "Save it without a byte order mark, behind which Rasa sees no key; or check the spelling of its keys."
    return Finding(
        "file-without-data",
        "info",
        f"'{source.path}' holds none of the keys nlu, responses, stories and rules; Rasa passes it by.",
        Location(source.path, 1, 1),
        hint,
    )
