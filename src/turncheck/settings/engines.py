"""The registry of engines: adding one takes its package, its line here or an entry point, and its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from turncheck.registry import Registry


@dataclass(frozen=True, slots=True)
class RegisteredEngine:
    """A registered engine: a module with the function ``opened``, imported when the engine is used.

    ``from_files``: it needs only a project's files, so that it can measure any commit. ``has_languages``: it can be
    asked in several languages, whatever the project's files say. ``kinds``: the platforms whose assistants it
    runs, ``None``: of all. ``uploads``: the
    setting, and its value, with which it has a batch suite run as a whole by a platform that limits their size.
    ``variants``: the setting, and its values, that name one of several assistants that it can ask (``kore:published``).
    ``on_base``: the setting that names where the assistant runs, and the one that names where its base runs.
    ``command``: the setting with the command that makes an assistant of files and starts it: its base's, too.
    """

    module: str
    from_files: bool = True
    has_languages: bool = False
    kinds: tuple[str, ...] | None = None
    uploads: tuple[str, str] | None = None
    variants: tuple[str, tuple[str, ...]] | None = None
    on_base: tuple[str, str] | None = None
    command: str | None = None


ENGINES: Final = Registry(
    "turncheck.engines",
    {
        "embedded": RegisteredEngine("turncheck.engines.embedded.engines"),
        "rasa": RegisteredEngine(
            "turncheck.engines.rasa_server.engines",
            from_files=False,
            kinds=("rasa",),
            on_base=("rasa_url", "rasa_url_base"),
            command="rasa_command",
        ),
        "kore": RegisteredEngine(
            "turncheck.platforms.kore.engine.engines",
            from_files=False,
            has_languages=True,
            uploads=("kore_way", "batch"),
            variants=("kore_version", ("in-development", "published")),
        ),
        "http": RegisteredEngine(
            "turncheck.engines.http.engines",
            from_files=False,
            on_base=("bot_url", "bot_url_base"),
        ),
    },
    RegisteredEngine,
)


def flag_of_base(engine: str) -> str | None:
    """Return ``--rasa-url-base``, which names where the base of an assistant runs; ``None``: it cannot be named."""
    on_base = ENGINES[engine].on_base if engine in ENGINES else None
    return None if on_base is None else f"--{on_base[1].replace('_', '-')}"
