"""How a bot over HTTP is recognised: by ``bot:`` in a ``turncheck.yml`` beside which there is nothing of Rasa's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location
from turncheck.process.regular_file import is_file, is_there, read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.formats.format import Format, FormatInput, ParsedFile
from turncheck.report.batch import BatchSetting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from turncheck.project.batch.model import KnownNames
    from turncheck.project.nlu_data import Example

_NAME: Final = "turncheck.yml"
_KEY: Final = re.compile(rb"^(?:bot|\"bot\"|'bot')[ \t]*:", re.MULTILINE)
_OF_RASA: Final = ("domain.yml", "domain", "config.yml", "data")


class HttpBot(Struct, frozen=True):
    """A bot whose files say nothing of what it understands: only its tests do."""

    name: str = ""
    language: str = ""
    utterances: tuple[Example, ...] = ()
    setting: BatchSetting = field(default_factory=BatchSetting)

    def known_names(self) -> KnownNames:
        """Return none: what there is, only the bot knows."""
        from turncheck.project.batch.model import KnownNames  # most projects have no suites

        return KnownNames()

    def expected_intents(self) -> Iterable[str]:
        """Yield none."""
        return ()

    def listed_values(self) -> Iterable[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]]:
        """Yield none."""
        return ()

    def follow_ups(self) -> Iterable[tuple[Example, tuple[str, ...]]]:
        """Yield none."""
        return ()

    def without_places(self) -> HttpBot:
        """Return the same."""
        return self


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


def _read(file: FormatInput) -> ParsedFile:  # noqa: ARG001 - the settings have read it
    return ParsedFile(native=HttpBot())


FORMAT: Final = Format("bot over HTTP", _recognises, frozenset({"bot"}), _read)
