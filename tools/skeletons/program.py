"""A command, an engine, a check, a file that is read or written."""

from __future__ import annotations

from pathlib import Path

from tools.skeletons.skeleton import SOURCE, Insertion, Skeleton, test_file


def check(name: str) -> Skeleton:
    word = name.replace("-", "_")
    module = f'''\
"""TODO: what it finds, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.validation.checks import Fault, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.validation.facts import Facts


@check(
    "{name}",
    "warning",
    title="TODO: what is wrong, in a few words",
    text="TODO: what follows from it, and what to do.",
    wrong="TODO: an example",
    right="TODO: the example as it should be",
    about=("place",),
)
def {word}(facts: Facts) -> Iterator[Fault]:
    """TODO: what is a fault."""
    for example in facts.labelled:
        if example.text == "TODO":
            yield Fault("TODO: what is wrong, in a sentence.", example.location)
'''
    return Skeleton(
        {SOURCE / "validation" / "own" / f"{word}.py": module},
        (
            # The test of all checks wants a fault for each.
            Insertion(
                Path("tests", "unit", "validation", "test_own_checks.py"),
                r'    "component-unknown": ',
                f'    "{name}": ([(N, "TODO: what is in the file", "TODO: the fault")], "data/nlu.yml:TODO"),\n',
            ),
        ),
        ("Write the manual: python tools/make_findings_page.py",),
    )


def command(name: str) -> Skeleton:
    word = name.replace("-", "_")
    module = f'''\
"""``turncheck {name}``: TODO: what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.messages.errors import EXIT_OK

if TYPE_CHECKING:
    import argparse


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``{name}``."""
    parser = subparsers.add_parser("{name}", help=words, description="TODO: in a sentence.")
    parser.set_defaults(handler=_run)


def _run(_: argparse.Namespace) -> int:
    """TODO: what is done. What takes long to import is imported here, not for --help."""
    return EXIT_OK
'''
    return Skeleton(
        {
            SOURCE / "commands" / f"{word}.py": module,
            **test_file(word, f"The command `{name}`.", f"`turncheck {name}`", room="commands"),
        },
        (
            Insertion(
                SOURCE / "commands" / "flags" / "__init__.py",
                r'    "kore": Command\(',
                f'    "{name}": Command("TODO: in a few words", "commands.{word}:add_parsers"),\n',
            ),
        ),
        ("Name it in the table of commands of README.md.",),
    )


def engine(name: str) -> Skeleton:
    word = name.replace("-", "_")
    module = f'''\
"""TODO: what understands and answers here."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from turncheck.engines.base import Capabilities, Engine
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_INFO = EngineInfo(name="{name}", version="1")


class _Nlu:
    """TODO: how a sentence is understood."""

    info = _INFO
    extractors = ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each sentence."""
        return [Parse(text, PredictedIntent(None, 0.0)) for text in texts]


class _Engine(Engine):
    """TODO: what it can do; the reasons say why it cannot do the rest."""

    capabilities = Capabilities(
        no_training="TODO", no_dialogue="TODO: it holds no dialogues", no_conversation="TODO: it says nothing"
    )

    def info(self, **_: Any) -> EngineInfo:
        """Name and version."""
        return _INFO

    @property
    def nlu(self) -> _Nlu:
        """The engine of the whole project."""
        return _Nlu()


@contextmanager
def opened(*_: Any) -> Iterator[Engine]:
    """Open the engine; the arguments are settings, project, environment, hosts, models and variables."""
    yield _Engine()
'''
    package = SOURCE / "engines" / word
    return Skeleton(
        {
            package / "__init__.py": f'"""The engine `{name}`."""\n',
            package / "engines.py": module,
            **test_file(f"engine_{word}", f"The engine `{name}`.", "it", room="engines"),
        },
        (
            Insertion(
                SOURCE / "settings" / "engines.py",
                r'        "kore": RegisteredEngine\(',
                f'        "{name}": RegisteredEngine("turncheck.engines.{word}.engines"),\n',
            ),
        ),
        ("Its settings are options of `settings/options.py` marked with its name.",),
    )


def file_format(name: str) -> Skeleton:
    word = name.replace("-", "_")
    module = f'''\
"""TODO: which files these are, and what they hold."""

from __future__ import annotations

from turncheck.messages.finding import Location
from turncheck.project.formats.format import Format, FormatInput, ParsedFile
from turncheck.project.nlu_data import Example, NluData


class _Lines:
    """Where the sentences of a file are, one per line."""

    def __init__(self, path: str) -> None:
        self._path = path

    def locate(self, index: int) -> Location:
        """Return the place of the sentence with this index (from 0)."""
        return Location(self._path, index + 1, 1)


def _read(file: FormatInput) -> ParsedFile:
    origin = _Lines(file.source.path)
    lines = enumerate(file.source.text.splitlines())
    examples = (Example(line, "TODO", origin=origin, index=index) for index, line in lines)
    return ParsedFile(NluData(tuple(examples)))


FORMAT = Format("TODO: its name", lambda path, _: path.suffix == ".{word}", frozenset({{"nlu"}}), _read)
'''
    registry = SOURCE / "project" / "formats" / "registry.py"
    return Skeleton(
        {
            SOURCE / "project" / "formats" / f"{word}.py": module,
            **test_file(f"format_{word}", f"The format `{name}`.", "it", room="project"),
        },
        (
            Insertion(registry, r"from turncheck\.registry", f"from turncheck.project.formats.{word} import FORMAT\n"),
            Insertion(registry, r'        "other_json": ', f'        "{name}": FORMAT,\n'),
        ),
    )


def output(name: str) -> Skeleton:
    word = name.replace("-", "_")
    module = f'''\
"""TODO: which file this is, and who reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from turncheck.render.assistants import Assistants


def render_{word}(assistants: Assistants) -> Rendered:
    """Return the file; each of its ``runs`` has report, comparison, verdict and links."""
    names = [run.report.project.name for run in assistants.runs]
    return Rendered("{name}.txt", "text/plain", f"TODO: {{', '.join(names)}}\\n")
'''
    outputs = SOURCE / "render" / "outputs.py"
    return Skeleton(
        {
            SOURCE / "render" / f"{word}.py": module,
            **test_file(f"output_{word}", f"The file of `{name}`.", "it holds", room="render"),
        },
        (
            Insertion(
                outputs, r"from turncheck\.render\.annotations", f"from turncheck.render.{word} import render_{word}\n"
            ),
            Insertion(
                outputs,
                r'        "sarif": Output\(',
                f'        "{name}": Output(lambda assistants, _: render_{word}(assistants)),\n',
            ),
            Insertion(SOURCE / "settings" / "parsers.py", r'    "sarif",', f'    "{name}",\n'),
        ),
        ("Name it in action.yml and docs/settings.md.",),
    )
