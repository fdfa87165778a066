"""A place in a project's files, and a finding there: one result of validation.

The reader reports files that it cannot read, validation what is wrong in the others. The lowest module: it imports
nothing of ours.
"""

import os
import posixpath
import re
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace


class Location(Struct, frozen=True):
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


Severity = Literal["error", "warning", "info"]

LEGACY_PROJECT: Final = "legacy-project"
"""The code that explains most of the others."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Worst first."""

MANUAL_AT: Final = "https://github.com/turncheck/turncheck/blob/main/docs/findings.md"
"""Where all codes are explained."""


class Name(Struct, frozen=True):
    """A name that a finding is about, and what it names."""

    kind: str
    """What it names: ``intent``, ``entity``, ``slot``, ``form``, ``response``, ``action``, ``file``, ``code`` …"""
    name: str
    """The name as the files have it."""


class Finding(Struct, frozen=True):
    """A fault, or something worth knowing, at a place in the project's files.

    ``code`` is stable and documented in ``docs/``; ``message`` is one sentence that names the subjects (intent, slot,
    story …); ``hint`` says what to do; ``others`` are the places of what it disagrees with or repeats.
    """

    code: str
    """What kind of finding it is: stable, and explained in ``docs/findings.md``."""
    severity: Severity
    """How bad it is."""
    message: str
    """One sentence that names what it is about."""
    location: Location
    """Where it is."""
    hint: str = ""
    """What to do about it; empty if the message says it."""
    others: tuple[Location, ...] = ()
    """The locations that it contradicts or repeats."""
    subject: str = ""
    """What identifies it beside its code, if the message also has counts or lists that change without it."""
    names: tuple[Name, ...] = ()
    """The names that the message has, in its order, where something depends on them: programs need not read it."""
    suggestion: str = ""
    """The end of the message that says which name was probably meant (``Did you mean 'x'?``)."""
    about: tuple[Name, ...] = ()
    """What it is about, sorted: by this it is recognised in another report, and never by its words."""
    stands_in: tuple[Name, ...] = ()
    """The keys and the story, rule, intent … that it is in, if these tell it from others of its code."""
    lines: tuple[str, ...] = ()
    """Digests of the line that it is at, and of those above and below; empty in reports of earlier versions."""

    @property
    def statement(self) -> str:
        """The message without the suggestion."""
        return self.message.removesuffix(self.suggestion).rstrip() if self.suggestion else self.message

    @property
    def order(self) -> tuple[bool, tuple[str, int, int], str, str]:
        """Orders findings by path, line, column and code; that a project is of an older Rasa comes before all."""
        return self.code != LEGACY_PROJECT, self.location.sort_key, self.code, self.message
