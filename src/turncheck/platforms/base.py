"""What a platform is: its row, which says what differs for its assistants, and the modules of its package.

No other code knows a platform by its name: it asks the row of the project at hand, ``project.platform``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Generic, NamedTuple, TypeVar, cast

from msgspec import Struct

Module = TypeVar("Module")


class Part(NamedTuple, Generic[Module]):
    """A module that the package of a platform may have, by its name; its type is the protocol of what is in it.

    The room that asks for a part declares it, with its protocol. The module is imported when it is needed.
    """

    name: str


class Refusal(NamedTuple):
    """Why something is not done, and what to do instead."""

    what: str
    hint: str


class Platform(Struct, frozen=True):
    """A platform.

    ``one``, ``many``: its assistants in words. ``package``: where its modules are; ``brings``: the parts that it has.
    What it lacks is as for a Rasa project: read from several files, and checked, trained and covered as one.

    ``engine``: the only one that runs its assistants, "" if others do as well; ``flags``: those that it needs.

    ``export_names``: how a file that is a complete assistant is called; ``no_export``: what a file that is none is not,
    and what to name instead.

    ``no_dialogues``: why its files hold no dialogues. ``no_model``, ``no_split``: why no model is written for it, and
    why its sentences are not split. ``has_pipeline``: its NLU pipeline is built from its files, which must be complete
    for that. ``selects_responses``: it may choose among responses. ``names_all``: its files name everything that users
    may mean, so that what is missing from the tests can be counted; its tests are suites. ``has_languages``: what is
    read from its files depends on the chosen language. ``holds_secrets``: no line of its files is shown.
    """

    name: str
    one: str
    many: str
    package: str
    brings: tuple[str, ...] = ()
    engine: str = ""
    flags: str = ""
    export_names: tuple[str, ...] = ()
    no_export: Refusal | None = None
    no_dialogues: str | None = None
    no_model: Refusal | None = None
    no_split: Refusal | None = None
    has_pipeline: bool = True
    selects_responses: bool = True
    names_all: bool = False
    has_languages: bool = False
    holds_secrets: bool = False

    def part(self, part: Part[Module]) -> Module | None:
        """Return a module of its package, ``None`` if it has none of this name."""
        return cast("Module", import_module(f"{self.package}.{part.name}")) if part.name in self.brings else None
