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
    """

    module: str
    from_files: bool = True
    has_languages: bool = False
    kinds: tuple[str, ...] | None = None
    uploads: tuple[str, str] | None = None
    variants: tuple[str, tuple[str, ...]] | None = None
    on_base: tuple[str, str] | None = None


ENGINES: Final = Registry(
    "turncheck.engines",
    {
        "embedded": RegisteredEngine("turncheck.engines.embedded.engines"),
        "rasa": RegisteredEngine("turncheck.engines.rasa_server.engines", from_files=False, kinds=("rasa",)),
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
