"""The file formats, in the order in which they are tried; those of plugins, asked for by name, come first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.platforms.registry import parts
from turncheck.project.formats import other_json, rasa_e2e, rasa_json, rasa_markdown, rasa_yaml, suites
from turncheck.project.formats.format import Format
from turncheck.registry import Registry, blaming

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FORMATS: Final = Registry(
    "turncheck.formats",
    {
        **{f"{name}_export": one.FORMAT for name, one in parts("export").items()},
        "rasa_yaml": rasa_yaml.FORMAT,
        "rasa_json": rasa_json.FORMAT,
        "rasa_markdown": rasa_markdown.FORMAT,
        "rasa_e2e": rasa_e2e.FORMAT,
        "kore_suites_json": suites.JSON,
        "kore_suites_csv": suites.CSV,
        "other_json": other_json.FORMAT,
    },
    Format,
)


def recognised(path: Path, content: Callable[[], bytes], wanted: str | None = None) -> Format | None:
    """Return the format of a file; ``None`` if it has none, or none that may hold the wanted kind.

    The content is only read if it matters.
    """
    formats = (*map(_of_plugin, FORMATS.added().items()), *FORMATS.built_in.values())
    known = (one for one in formats if wanted is None or wanted in one.holds)
    return next((one for one in known if one.recognises(path, content)), None)


def _of_plugin(named: tuple[str, Format]) -> Format:
    """A plugin's format, whose errors are the plugin's."""
    name, one = named
    what = f"format '{name}'"
    return one._replace(
        recognises=blaming(what, one.recognises),
        read=None if one.read is None else blaming(what, one.read),
        look=None if one.look is None else blaming(what, one.look),
    )
