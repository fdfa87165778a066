"""The file formats, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.formats import (
    kore_export,
    kore_suites,
    other_json,
    rasa_e2e,
    rasa_json,
    rasa_markdown,
    rasa_yaml,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turncheck.project.formats.format import Format

FORMATS: tuple[Format, ...] = (
    kore_export.FORMAT,
    rasa_yaml.FORMAT,
    rasa_json.FORMAT,
    rasa_markdown.FORMAT,
    rasa_e2e.FORMAT,
    kore_suites.JSON,
    kore_suites.CSV,
    other_json.FORMAT,
)


def recognised(path: Path, content: Callable[[], bytes], wanted: str | None = None) -> Format | None:
    """Return the format of a file; ``None`` if it has none, or none that may hold the wanted kind.

    The content is only read if it matters.
    """
    formats = (one for one in FORMATS if wanted is None or wanted in one.holds)
    return next((one for one in formats if one.recognises(path, content)), None)
