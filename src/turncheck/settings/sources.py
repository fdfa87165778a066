"""Where settings come from (flags, the action's inputs, the project's own file), and how they are combined.

The keys of ``turncheck.yml`` become settings; paths in it count from its own folder.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.messages.phrasing import suggestion
from turncheck.process.regular_file import is_file, is_link, is_there, read_regular
from turncheck.registry import use_plugins
from turncheck.settings.options import Settings, options
from turncheck.settings.parsers import WrongWordError, shown
from turncheck.yaml_tree.source import EscapeError, ScalarLines, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FILE_NAME: Final = "turncheck.yml"
PATHS: Final = ("config", "domain", "data", "nlu", "stories", "e2e", "batch", "vectors")
"""The settings that name files of the project. `vectors` may also be true or false."""
_TAKES: Final = {
    "thresholds": "Limits for metrics belong in {}: nlu.intents.f1 >= 0.85",
    "max-regression": "The largest allowed drops of metrics belong in {}: nlu.intents.f1: 0.01",
    "fail-on-warnings": "To fail the run on warnings in the data, use {}.",
}
"""By setting: what it takes, where it was given to another one."""


def from_flags(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read flags (by name with dashes; ``None`` is unset)."""
    return _parse({k: v for k, v in values.items() if v is not None}, lambda name: f"--{name}")


def from_arguments(values: Mapping[str, Any]) -> dict[str, Any]:
    """Read the arguments of a function (by name with underscores).

    Raises:
        UserError: an unknown name, or a bad value.
    """
    known = [name.replace("-", "_") for name in options()]
    for name in values:
        if name not in known:
            raise UserError(f"unknown setting '{name}'", hint=suggestion(name, known) or "docs/settings.md has them.")
    named = {name.replace("_", "-"): value for name, value in values.items() if value is not None}
    return _parse(named, lambda name: name.replace("-", "_"))


def from_inputs(environment: Mapping[str, str]) -> dict[str, Any]:
    """Read the action's inputs (``INPUT_FAIL-ON``); an empty one is unset, as GitHub passes it."""
    values = {}
    for name, option in options().items():
        text = environment.get(f"INPUT_{name.upper()}", "")
        if option.action_input and text.strip():
            values[name] = text
    return _parse(values, lambda name: f"input '{name}'")


def from_file(values: Mapping[str, Any], locate: Callable[[str], Location]) -> dict[str, Any]:
    """Read the keys of ``turncheck.yml``.

    Raises:
        UserError: an unknown key, one that only a flag or an input may set, or a bad value, with its place.
    """
    known = options()
    for name in values:
        if name not in known:
            hint = suggestion(name, known) or f"Known keys: {', '.join(_file_keys())}."
            raise UserError(f"unknown key '{name}'", location=locate(name), hint=hint)
        if not known[name].file_key:
            raise UserError(
                f"'{name}' cannot be set in {FILE_NAME}: a pull request could change it",
                location=locate(name),
                hint=f"Give it as the flag --{name} or as the action's input '{name}'.",
            )
    parsed = _parse(values, lambda name: f"key '{name}'", locate)
    for name in ("project", "projects", *PATHS, "baseline"):
        _stays_inside(name, parsed.get(name), locate)
    return parsed


def _stays_inside(name: str, value: Any, locate: Callable[[str], Location]) -> None:
    """A project file may only name paths below its own folder, since a pull request writes it."""
    for path in (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ():
        if leads_out(path):
            raise UserError(
                f"'{name}' in {FILE_NAME} leads out of the project: {path!r}",
                location=locate(name),
                hint=f"Name a path below the project's folder, or give it as the flag --{name}.",
            )


def leads_out(path: str) -> bool:
    """Whether a path that counts from the project's folder is not below it."""
    return PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "://" in path


def _file_keys() -> list[str]:
    return [name for name, option in options().items() if option.file_key]


def _parse(
    values: Mapping[str, Any],
    called: Callable[[str], str],
    locate: Callable[[str], Location] | None = None,
) -> dict[str, Any]:
    known = options()
    parsed = {}
    if locate is None and values.get("plugins"):  # the names that other settings may have depend on them
        use_plugins(known["plugins"].parse(values["plugins"]))
    for name, value in values.items():
        try:
            parsed[name.replace("-", "_")] = known[name].parse(value)
        except ValueError as error:
            complete = isinstance(error, WrongWordError) or known[name].is_private
            meant = error.meant if isinstance(error, WrongWordError) else None
            raise UserError(
                f"{called(name)}: {error}" + ("" if complete else f", not {shown(value)}"),
                location=locate(name) if locate else None,
                hint=_TAKES[meant].format(called(meant)) if meant else None,
            ) from None
    return parsed


def combine(*sources: Mapping[str, Any]) -> Settings:
    """Combine the sources; the first that has a setting wins."""
    merged: dict[str, Any] = {}
    for source in reversed(sources):
        merged.update(source)
    return Settings(**merged)


_LIMIT: Final = 1024 * 1024
_GATES: Final = ("fail-on", "fail-on-warnings", "thresholds", "max-regression", "require")
_RULES: Final = ("thresholds", "max-regression")


@dataclass(frozen=True, slots=True)
class SettingsFile:
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
    root = _parsed_file(path)

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
    gates = {name: root.key_location(name) for name in _GATES if root.at(name) is not None}
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


def _parsed_file(path: Path) -> YamlMapping:
    here = Location(FILE_NAME)
    try:
        content = read_regular(path, most=_LIMIT)
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
