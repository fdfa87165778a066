"""Where settings come from (flags, the action's inputs, the project's own file), and how they are combined."""

from __future__ import annotations

import os
import re
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import suggestion
from turncheck.registry import use_plugins
from turncheck.settings.declared import options
from turncheck.settings.options import Settings
from turncheck.settings.parsers import WrongWordError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.messages.finding import Location

FILE_NAME: Final = "turncheck.yml"
PATHS: Final = ("config", "domain", "data", "nlu", "stories", "e2e", "batch", "vectors")
"""The settings that name files of the project. `vectors` may also be true or false."""
_AROUND: Final = re.compile(r"\A[\s\ufeff\u200b]+|[\s\ufeff\u200b]+\Z")
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
    """Read the action's inputs (``INPUT_FAIL-ON``); an empty one is unset, as GitHub passes it.

    White space around them is removed, as ``core.getInput`` of actions in JavaScript does: a block of YAML and a pasted
    variable end in a line break. So are a byte order mark, as there, and a space of no width, which nobody sees.
    """
    values = {}
    for name, option in options().items():
        text = _AROUND.sub("", environment.get(f"INPUT_{name.upper()}", ""))
        if option.action_input and text:
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
    """Whether a path that counts from the project's folder is not below it: on any system, whichever this is."""
    read = PureWindowsPath(path)  # it knows slashes in both directions
    return bool(read.root or read.drive) or ".." in read.parts or "://" in path


def _ensure_writable(text: str) -> None:
    """Refuse what no path, address or message can have.

    Raises:
        WrongWordError: why not.
    """
    if "\0" in text:
        raise WrongWordError("it has a NUL character")
    try:
        os.fsencode(text)
    except UnicodeEncodeError:  # half of a character, which JSON and YAML can spell
        raise WrongWordError("it has half of a surrogate pair") from None


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
            parsed[name.replace("-", "_")] = found = known[name].parse(value)
            for text in found if isinstance(found, tuple) else (found,):
                if isinstance(text, str):
                    _ensure_writable(text)
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
