"""The engines there are, one line each: what it takes to add one is its package, its line here, and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

ProjectKind = Literal["rasa", "kore"]
"""What a project is an assistant of."""


@dataclass(frozen=True, slots=True)
class RegisteredEngine:
    """Where an engine is: a module with the function ``opened``, imported when the engine is asked for.

    ``from_files``: it needs nothing but a project's files, so that it measures any commit of them. ``has_languages``:
    it is asked in one of several, whatever the project's files say. ``kinds``: the projects that it runs. ``uploads``:
    the setting, and its value, with which it has a batch suite run as a whole by a platform that limits their size.
    """

    module: str
    from_files: bool = True
    has_languages: bool = False
    kinds: tuple[ProjectKind, ...] = ("rasa", "kore")
    uploads: tuple[str, str] | None = None


ENGINES: Final[dict[str, RegisteredEngine]] = {
    "embedded": RegisteredEngine("turncheck.engines.embedded.engines"),
    "rasa": RegisteredEngine("turncheck.engines.rasa_server.engines", from_files=False, kinds=("rasa",)),
    "kore": RegisteredEngine(
        "turncheck.engines.kore.engines", from_files=False, has_languages=True, uploads=("kore_way", "batch")
    ),
}
