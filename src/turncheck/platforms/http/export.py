"""How a bot over HTTP is recognised: by ``bot:`` in a ``turncheck.yml`` beside which there is nothing of Rasa's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.messages.location import Location
from turncheck.process.regular_file import is_file, is_there, read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.formats.format import Format, Opened, Parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_NAME: Final = "turncheck.yml"
_KEY: Final = re.compile(rb"^(?:bot|\"bot\"|'bot')[ \t]*:", re.MULTILINE)
_OF_RASA: Final = ("domain.yml", "domain", "config.yml", "data")


@dataclass(frozen=True, slots=True)
class HttpBot:
    """What is known of the bot itself: nothing but that its folder describes one."""

    name: str = ""


def find(root: Path, data: Sequence[Path] | None = None) -> Path | None:
    """Return the file that describes the bot; ``None`` if there is none, or if the project is one of Rasa's."""
    path = root / _NAME
    if data is not None or not is_file(path) or any(is_there(root / name) for name in _OF_RASA):
        return None
    try:
        content = read_regular(path, most=MAX_FILE_BYTES, inside=root)
    except OSError:
        return None
    return path if _KEY.search(content) else None


def why_no_export(name: str, content: bytes) -> Finding:  # noqa: ARG001 - as of all platforms
    """Say that a file cannot be read as a bot."""
    return Finding("file-unreadable", "error", f"'{name}' cannot be read.", Location(name))


def _recognises(path: Path, content: Callable[[], bytes]) -> bool:
    return path.name == _NAME and _KEY.search(content()) is not None


def _read(file: Opened) -> Parts:  # noqa: ARG001 - the settings have read it
    return Parts(native=HttpBot())


FORMAT: Final = Format("bot over HTTP", _recognises, frozenset({"bot"}), _read)
