"""Reading the project's ``turncheck.yml``: its keys become settings, paths in it count from its own folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.gates.table import SETTINGS
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.process.foreign_content import foreign_content
from turncheck.process.regular_file import is_file, is_link, is_there, read_regular
from turncheck.settings.sources import FILE_NAME, PATHS, from_file
from turncheck.yaml_tree.source import EscapeError, ScalarLines, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


_LIMIT: Final = 1024 * 1024
_RULES: Final = ("thresholds", "max-regression")


class SettingsFile(Struct, frozen=True):
    """The settings of a ``turncheck.yml``, and where its codes to ignore and the rules of its gates are.

    Faults in those show up later: a code that nothing was found for, an intent that does not exist. ``path`` is the
    file itself, ``None`` if there is none.
    """

    values: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[tuple[str, Location], ...] = ()
    rules: dict[str, Location] = field(default_factory=dict)
    path: Path | None = None
    gates: dict[str, Location] = field(default_factory=dict)
    """Where the settings of gates are, by their names."""


def _real(path: Path) -> Path:
    """Where a path leads, links followed; unlike ``resolve()`` it tolerates circular links."""
    return Path(os.path.realpath(path))


def read_settings_file(folder: Path, *, faulty: bool = False) -> SettingsFile:
    """Read ``turncheck.yml`` of a folder; without one, nothing is set.

    Args:
        folder: where it is.
        faulty: pass over keys that are unknown or have bad values.

    Raises:
        UserError: it cannot be read, is not a mapping, has an unknown key or a bad value; with the place.
    """
    path = folder / FILE_NAME
    if not is_there(path) and not is_link(path):
        return SettingsFile()
    if not _real(path).is_relative_to(_real(folder)):
        raise UserError("is a symbolic link that leads out of the project", location=Location(FILE_NAME))
    if not is_file(path):
        raise UserError("is not a file", location=Location(FILE_NAME), hint="Settings belong in a file of that name.")
    root = _parse(path)

    def locate(name: str) -> Location:
        return root.key_location(name)

    written = {str(key): value for key, value in root.data.items()}
    if written.get("ignore", "") is None:  # a list whose entries are all commented out
        del written["ignore"]
    if (shape := root.at("bot")) is not None:
        written = _with_bot(written, shape, faulty=faulty)
    values = _without_faults(written, locate) if faulty else from_file(written, locate)
    for name in ("projects", *PATHS):
        if name in values and not isinstance(values[name], bool):
            values[name] = _below(folder, values[name])
    if values.get("baseline", "auto") not in {"auto", "artifact", "git", "none"}:
        values["baseline"] = _below(folder, values["baseline"])
    gates = {name: root.key_location(name) for name in SETTINGS if root.at(name) is not None}
    return SettingsFile(values, _ignored(root), _rules(root), path, gates)


def _with_bot(written: Mapping[str, Any], node: YamlNode, *, faulty: bool) -> dict[str, Any]:
    """Return the settings with the bot's shape read: its faults have their own places."""
    from turncheck.settings.bot import read_bot  # few projects have one

    values = dict(written)
    try:
        values["bot"] = read_bot(node)
    except UserError:
        if not faulty:
            raise
        del values["bot"]
    return values


def _without_faults(written: Mapping[str, Any], locate: Callable[[str], Location]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in written.items():
        with suppress(UserError):
            values |= from_file({name: value}, locate)
    return values


def _parse(path: Path) -> YamlMapping:
    here = Location(FILE_NAME)
    try:
        content = read_regular(path, most=_LIMIT)
        if foreign := foreign_content(FILE_NAME, content):
            raise UserError(foreign.message.rstrip("."), location=foreign.location, hint=foreign.hint)
        document = parse_yaml(YamlSource(FILE_NAME, content.decode("utf-8-sig")))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", location=here) from None
    except UnicodeDecodeError:
        raise UserError("is not UTF-8", location=here, hint="Save it in UTF-8.") from None
    except EscapeError as error:
        raise UserError(f"{error}", location=here) from None
    for finding in document.findings:
        raise UserError(finding.message, location=finding.location, hint=finding.hint or None)
    if not isinstance(document.root, YamlMapping):
        raise UserError("expected settings, one `name: value` per line", location=Location(FILE_NAME, 1, 1))
    return document.root


def _below(folder: Path, value: Any) -> Any:
    if isinstance(value, str):
        return str(folder / value)
    return tuple(str(folder / path) for path in value)


def _rules(root: YamlMapping) -> dict[str, Location]:
    """Where each line of the gates is, by its text as the settings have it."""
    places: dict[str, Location] = {}
    for name in _RULES:
        node = root.at(name)
        for entry in node.items if isinstance(node, YamlSequence) else [node]:
            if isinstance(entry, YamlMapping):
                for key, limit in entry.data.items():
                    places.setdefault(f"{key}: {limit}".strip(), entry.key_location(key))
            elif isinstance(entry, YamlScalar) and isinstance(entry.value, str):
                lines = ScalarLines(entry)
                for index, line in enumerate(entry.value.splitlines()):
                    if line.strip():
                        places.setdefault(line.strip(), lines.locate(index))
    return places


def _ignored(root: YamlMapping) -> tuple[tuple[str, Location], ...]:
    node = root.at("ignore")
    if node is None or node.data is None:
        return ()
    items = getattr(node, "items", None)
    nodes = items if isinstance(items, list) else [node]
    return tuple((code, item.location) for item in nodes for code in str(item.data).replace(",", " ").split())
