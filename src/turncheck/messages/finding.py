"""One result of validation. The reader reports files that it cannot read, validation what is wrong in the others."""

from dataclasses import dataclass
from typing import Final, Literal

from turncheck.messages.location import Location

Severity = Literal["error", "warning", "info"]

LEGACY_PROJECT: Final = "legacy-project"
"""The code that explains most of the others."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
"""Worst first."""

MANUAL_AT: Final = "https://github.com/turncheck/turncheck/blob/main/docs/findings.md"
"""Where all codes are explained."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name that a finding is about, and what it names."""

    kind: str
    """What it names: ``intent``, ``entity``, ``slot``, ``form``, ``response``, ``action``, ``file``, ``code`` …"""
    name: str
    """The name as the files have it."""


@dataclass(frozen=True, slots=True)
class Finding:
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

    @property
    def statement(self) -> str:
        """The message without the suggestion."""
        return self.message.removesuffix(self.suggestion).rstrip() if self.suggestion else self.message

    @property
    def order(self) -> tuple[bool, tuple[str, int, int], str, str]:
        """Orders findings by path, line, column and code; that a project is of an older Rasa comes before all."""
        return self.code != LEGACY_PROJECT, self.location.sort_key, self.code, self.message
