"""What a file format is: a module that recognises files, and reads each into parts of a project.

Adding one: its module with a :class:`Format`, and one line in :mod:`turncheck.project.formats.registry`. What is
below the data paths, and test sentences and stories, come through here. ``domain.yml``, ``config.yml`` and
``endpoints.yml`` are not recognised but looked for by their names: they belong to Rasa's formats alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from turncheck.project.nlu_data import NluData

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turncheck.messages.finding import Finding
    from turncheck.messages.location import Location
    from turncheck.project.batch.model import Suite
    from turncheck.project.e2e.model import E2ECases
    from turncheck.project.e2e.reader import Named
    from turncheck.project.folder import ProjectFolder
    from turncheck.project.kore.model import KoreBot
    from turncheck.project.model import Domain, Flow, Story
    from turncheck.yaml_tree.source import Source
    from turncheck.yaml_tree.tree import YamlDocument

SUITES: Final = "batch"
"""The kind of what Kore.ai's suites hold."""
Need = Literal["domain", "config"]
NEEDS_OF_RASA: Final[frozenset[Need]] = frozenset({"domain", "config"})


@dataclass(frozen=True, slots=True)
class Opened:
    """A file to be read. ``wanted``: the kinds that are asked for; a format may read the others, too.

    ``folder``: where further files are that the file names. ``is_test``: its stories are tests, against which no schema
    is held afterwards. ``fixtures``: gives those that the ``conftest.yml`` files above it share, by name. ``strict``:
    of a suite, unknown keys are errors. ``upload``: the suite is to be uploaded, so that the platform's limits hold.
    ``language``: whose sentences are read, of a format that has them in several.
    """

    source: Source
    folder: ProjectFolder
    wanted: frozenset[str]
    is_test: bool = False
    fixtures: Callable[[], Named] = dict
    strict: bool = False
    upload: bool = False
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """What one file gives to a project, each with its location, and ``findings``: what in it could not be read.

    ``belongs``: ``False`` where a closer look shows that nothing in the file belongs to a project. ``kinds``: what it
    shows the file to hold, ``None`` where the first look was right. ``document``: of YAML, against which schemas are
    held, and in whose comments suppressions are. ``bot``: the content of a Kore.ai assistant's export.
    """

    nlu: NluData = field(default_factory=NluData)
    stories: tuple[Story, ...] = ()
    domain: Domain | None = None
    flows: tuple[Flow, ...] = ()
    flows_location: Location | None = None
    cases: E2ECases | None = None
    suites: tuple[Suite, ...] = ()
    findings: tuple[Finding, ...] = ()
    belongs: bool = True
    kinds: frozenset[str] | None = None
    document: YamlDocument | None = None
    bot: KoreBot | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """A file format.

    ``recognises``: whether a file is of this format, by its name, and where that leaves doubts by its content (asked
    for only then; none where it cannot be read). ``holds``: what its files may hold: ``nlu``, ``responses``,
    ``stories``, ``rules``, ``test_cases``, ``batch`` (suites)
    or ``domain`` (a whole one, so that the project needs no other). ``look``:
    which of these one file holds, as far as a first look shows. ``read``: ``None`` for a format that is known but not
    read. ``needs``: the files that must be beside files of this format. ``has_annotations``: its sentences are
    written with marks such as ``[Rome](city)``. ``unpack``: from a file's name and bytes to those of the text in it,
    where it may be packed; a finding where it cannot be unpacked.
    """

    name: str
    recognises: Callable[[Path, Callable[[], bytes]], bool]
    holds: frozenset[str]
    read: Callable[[Opened], Parts] | None
    look: Callable[[Source], frozenset[str]] | None = None
    needs: frozenset[Need] = frozenset()
    has_annotations: bool = False
    unpack: Callable[[str, bytes], tuple[str, bytes] | Finding] | None = None
    last: int | None = None
    """The last major version of Rasa that reads it, where that is an older one."""

    def kinds(self, source: Source) -> frozenset[str]:
        """Return what a file seems to hold."""
        return self.holds if self.look is None else self.look(source)
