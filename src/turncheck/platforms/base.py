"""What a platform is: its row, which says what differs for its assistants, and the modules of its package.

No other code knows a platform by its name: it asks the row of the project at hand, ``project.platform``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, NamedTuple

from msgspec import Struct

Part = Literal["export", "catalogue", "checks", "more_checks", "consistency", "stand_in", "coverage", "imported"]
"""A module of a platform's package, imported when it is needed, and what it must have:

``export``: ``FORMAT``, the file format of a complete assistant, ``find(root, data)``, which returns that file in a
folder, or as the only data that are named, and ``why_no_export(name, content)``, the finding about one that is none.
``catalogue``: ``CHECKS``, the rows of its checks, and ``SECTION``, their heading in the manual. ``checks``:
``findings(project, strict=…)``, all that is wrong with an assistant. ``more_checks``: ``findings(facts)``, what is
wrong besides what is checked of a Rasa project. ``consistency``: ``checked(project, cases)``, what a report says of
files and tests that were checked against each other, ``None`` if there are none of this kind. ``stand_in``:
``StandIn``, the embedded engine of its assistants. ``coverage``: ``coverage(project, sentences, nlu, batch)``, what the
judged sentences and suites reach. ``imported``: ``run_import_batch(files, …)``, which makes a report of the platform's
own.
"""


class Refusal(NamedTuple):
    """Why something is not done, and what to do instead."""

    what: str
    hint: str


class Platform(Struct, frozen=True):
    """A platform.

    ``one``, ``many``: its assistants in words. ``package``: where its modules are; ``brings``: those that it has. What
    it lacks is as for a Rasa project: read from several files, and checked, trained and covered as one.

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
    brings: tuple[Part, ...] = ()
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

    def part(self, name: Part) -> Any | None:
        """Return a module of its package, ``None`` if it has none of this name."""
        return import_module(f"{self.package}.{name}") if name in self.brings else None
