"""A platform."""

from __future__ import annotations

from pathlib import Path

from tools.skeletons.skeleton import SOURCE, Insertion, Skeleton, test_file


def platform(name: str) -> Skeleton:
    word = name.replace("-", "_")
    constant = word.upper()
    row = f'''\
"""TODO: the platform, and what its assistants are here."""

from __future__ import annotations

from typing import Final

from turncheck.platforms.base import Platform, Refusal

{constant}: Final = Platform(
    "{word}",
    "TODO: an assistant of it",
    "TODO: its assistants",
    "turncheck.platforms.{word}",
    brings=("export", "catalogue", "checks"),  # TODO: stand_in, which is trained on it; coverage
    export_names=("{word}.json",),  # TODO
    no_export=Refusal("TODO: its export", "TODO: how that is named"),
    no_dialogues="TODO: why its files hold no dialogues",
    has_pipeline=False,
)
'''
    export = f'''\
"""TODO: how an assistant is recognised and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.messages.finding import Finding, Location
from turncheck.platforms.rows.{word} import {constant}
from turncheck.process.regular_file import is_file
from turncheck.project.batch.model import KnownNames
from turncheck.project.formats.format import Format, FormatInput, ParsedFile
from turncheck.report.batch import BatchSetting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from turncheck.project.nlu_data import Example


class Assistant(Struct, frozen=True):
    """TODO: what only the platform knows of an assistant: :class:`turncheck.project.model.Native` says what for."""

    name: str = ""
    language: str = "en"
    utterances: tuple[Example, ...] = ()

    @property
    def setting(self) -> BatchSetting:
        return BatchSetting(bot=self.name, language=self.language)

    def known_names(self) -> KnownNames:
        return KnownNames()

    def expected_intents(self) -> Iterable[str]:
        return ()

    def listed_values(self) -> Iterable[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]]:
        return ()

    def follow_ups(self) -> Iterable[tuple[Example, tuple[str, ...]]]:
        return ()

    def without_places(self) -> Assistant:
        return self


def find(root: Path, data: Sequence[Path] | None = None) -> Path | None:
    """Return the export in a folder, or the one that is named as the only data."""
    paths = [root / name for name in {constant}.export_names] if data is None else data if len(data) == 1 else ()
    return next((path for path in paths if path.name in {constant}.export_names and is_file(path)), None)


def why_no_export(name: str, content: bytes) -> Finding:  # noqa: ARG001 - TODO
    """TODO: say why this is none."""
    return Finding("{name}-not-an-export", "error", f"'{{name}}' is no export.", Location(name))


def _read(file: FormatInput) -> ParsedFile:  # noqa: ARG001 - TODO
    return ParsedFile(native=Assistant())


FORMAT: Final = Format(
    "TODO: its name", lambda path, _: path.name in {constant}.export_names, frozenset({{"nlu"}}), _read
)
'''
    catalogue = f'''\
"""What can be wrong with an assistant, a check a row."""

from typing import Final

from turncheck.validation.checks import FAILS, Check

SECTION: Final = "TODO: In an assistant of it"
CHECKS: Final = (Check("{name}-not-an-export", "error", FAILS["error"], "platform", "TODO", "TODO", about=("file",)),)
'''
    checks = '''\
"""Checks of an assistant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project


def findings(project: Project, *, strict: bool) -> Iterator[Finding]:  # noqa: ARG001 - TODO
    """TODO: yield all that is wrong."""
    yield from project.findings
'''
    package, registry = SOURCE / "platforms" / word, SOURCE / "platforms" / "registry.py"
    floors = Path("pyproject.toml")
    return Skeleton(
        {
            package / "__init__.py": f'"""The platform `{name}`."""\n',
            SOURCE / "platforms" / "rows" / f"{word}.py": row,
            package / "export.py": export,
            package / "catalogue.py": catalogue,
            package / "checks.py": checks,
            **test_file(f"platform_{word}", f"The platform `{name}`.", "an assistant of it", room="platforms"),
        },
        (
            Insertion(
                registry,
                r"from turncheck\.platforms\.rows\.rasa",
                f"from turncheck.platforms.rows.{word} import {constant}\n",
            ),
            Insertion(registry, r"    KORE,", f"    {constant},\n", after=True),
            Insertion(floors, r'  "platforms\.bot \| ', f'  "platforms.{word}",\n'),
        ),
        ("What differs from a Rasa project: columns of `platforms/base.py`, and each `Part` that a room asks for.",),
    )
