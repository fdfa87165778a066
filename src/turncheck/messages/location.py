"""Where something is in a project's files. The lowest module: it imports nothing of ours."""

import os
import posixpath
import re
from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True)
class Location:
    """A place in a file.

    ``path`` is relative to the project's folder, with forward slashes; ``line`` and ``column`` count from 1 and are
    ``None`` where only the file (or, without a line, the folder) is known. A file beside the project begins with
    ``../``; one given on the command line that is far outside keeps its path as given.
    """

    path: str
    """Relative to the project's folder, with forward slashes; ``../`` leads out of it."""
    line: int | None = None
    """The line, counted from 1; ``None`` where only the file is known."""
    column: int | None = None
    """The column in characters, counted from 1; ``None`` where only the line is known."""

    def __str__(self) -> str:
        """``path:line:column``, as compilers write it, as far as known."""
        parts = [self.path]
        if self.line is not None:
            parts.append(str(self.line))
            if self.column is not None:
                parts.append(str(self.column))
        return ":".join(parts)

    def below(self, folder: str) -> "Location":
        """The same place, its path counted from where ``folder`` is the project's path; "" and "." change nothing."""
        if not self.path or folder in {"", "."}:
            return self
        return replace(self, path=posixpath.normpath(posixpath.join(folder, self.path)))

    @property
    def sort_key(self) -> tuple[str, int, int]:
        """Orders by path, then line, then column; an unknown line comes first."""
        return self.path, self.line or 0, self.column or 0


def shown_path(path: str | os.PathLike[str]) -> str:
    """Return a path as text that any document can hold: with forward slashes, bytes that are not UTF-8 as ``\\xff``.

    Such a name comes from a file system with another encoding; nothing can be written about it as it is.
    """
    text = os.fspath(path).replace(os.sep, "/")
    return text if text.isascii() else re.sub(_HALF_CHARACTER, _escaped, text)


_HALF_CHARACTER: Final = "[\ud800-\udfff]"


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number - 0xDC00:02x}" if 0xDC80 <= number <= 0xDCFF else f"\\u{number:04x}"


NOWHERE = Location("")
"""For what a program makes (a test, a default) and no file contains."""
