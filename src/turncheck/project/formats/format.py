"""What a file format is: a module that recognises files, and reads each into parts of a project.

To add one: a module with a :class:`Format`, and one line in :mod:`turncheck.project.formats.registry`. All files below
the data paths, test sentences and stories are read this way. ``domain.yml``, ``config.yml`` and ``endpoints.yml`` are
not recognised but found by their names: they belong only to Rasa's formats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from turncheck.platforms.base import Part
from turncheck.project.nlu_data import NluData

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.batch.model import Suite
    from turncheck.project.botium.folder import Suite as BotiumSuite
    from turncheck.project.e2e.model import E2ECases
    from turncheck.project.e2e.reader import Named
    from turncheck.project.folder import ProjectFolder
    from turncheck.project.model import Domain, Flow, Native, Story
    from turncheck.yaml_tree.source import Source
    from turncheck.yaml_tree.tree import YamlDocument

SUITES: Final = "batch"
"""The kind of data in Kore.ai's suites."""
Need = Literal["domain", "config"]
NEEDS_OF_RASA: Final[frozenset[Need]] = frozenset({"domain", "config"})


class FormatInput(NamedTuple):
    """A file to be read. ``wanted``: the kinds that are asked for; a format may read others, too.

    ``folder``: where further files are that the file names. ``is_test``: its stories are tests, which are not compared
    with a schema afterwards. ``fixtures``: returns those that the ``conftest.yml`` files above it share, by name.
    ``botium``: returns what the files of a suite of Botium's share. ``strict``: unknown keys of a suite are errors.
    ``upload``: the suite is to be uploaded, so that the platform's limits apply. ``language``: the language whose
    sentences are read, for a format that has them in several.
    """

    source: Source
    folder: ProjectFolder
    wanted: frozenset[str]
    is_test: bool = False
    fixtures: Callable[[], Named] = dict
    botium: Callable[[], BotiumSuite] | None = None
    strict: bool = False
    upload: bool = False
    language: str | None = None


class ParsedFile(NamedTuple):
    """What one file contributes to a project, each part with its location; ``findings``: what could not be read.

    ``belongs``: ``False`` if reading shows that nothing in the file belongs to a project. ``kinds``: what reading shows
    the file to hold, ``None`` if the first look was right. ``document``: the YAML document, which is compared with
    schemas, and whose comments may hold suppressions. ``native``: what a platform reads of its own.
    """

    nlu: NluData = NluData()
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
    native: Native | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the file contributes no training data."""
        return self.nlu == NluData() and not (self.stories or self.domain or self.flows or self.native)


class Format(NamedTuple):
    """A file format.

    ``recognises``: whether a file is in this format, by its name and, if that is not conclusive, by its content (asked
    for only then; empty if it cannot be read). ``holds``: what its files may hold: ``nlu``, ``responses``, ``stories``,
    ``rules``, ``test_cases``, ``batch`` (suites) or ``domain`` (a complete one, so that the project does not need
    another). ``look``: which of these a file holds, as far as a first look shows. ``read``: ``None`` for a format that
    is known but not read. ``needs``: the files that must exist along with files of this format. ``has_annotations``:
    its sentences are written with marks such as ``[Rome](city)``. ``unpack``: maps the name and bytes of a file that
    may be packed to those of the text in it; a finding if it cannot be unpacked.
    """

    name: str
    recognises: Callable[[Path, Callable[[], bytes]], bool]
    holds: frozenset[str]
    read: Callable[[FormatInput], ParsedFile] | None
    look: Callable[[Source], frozenset[str]] | None = None
    needs: frozenset[Need] = frozenset()
    has_annotations: bool = False
    unpack: Callable[[str, bytes], tuple[str, bytes] | Finding] | None = None
    last: int | None = None
    """The last major version of Rasa that reads it, if that is an older one."""

    def kinds(self, source: Source) -> frozenset[str]:
        """Return what a file seems to hold."""
        return self.holds if self.look is None else self.look(source)


class ExportModule(Protocol):
    """What a platform whose assistants are single files says of them, in the module ``export`` of its package."""

    @property
    def FORMAT(self) -> Format:  # noqa: N802 - a constant of a module
        """The file format of a complete assistant."""

    def find(self, root: Path, data: Sequence[Path] | None = None) -> Path | None:
        """Return that file in a folder, or as the only data that are named; ``None`` if there is none."""

    def why_no_export(self, name: str, content: bytes) -> Finding:
        """Return the finding about a file that is named as one and is none."""


EXPORT: Final = Part[ExportModule]("export")
