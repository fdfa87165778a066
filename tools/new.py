"""Writes what something new begins with: its module, its line in the registry, and a test that fails until it is done.

    python tools/new.py check intent-shouts
    python tools/new.py command stats
    python tools/new.py engine keyword
    python tools/new.py evaluation tone
    python tools/new.py format tabs
    python tools/new.py gate new-warnings
    python tools/new.py metric nlu.longest_sentence
    python tools/new.py output csv
    python tools/new.py platform mybots

Nothing is overwritten. What is left to do is printed, and marked with TODO in the files.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = Path("src") / "turncheck"


@dataclass(frozen=True, slots=True)
class Insertion:
    """Lines for a file that exists; they are put before or after the first line that fits the pattern."""

    path: Path
    pattern: str
    lines: str
    after: bool = False


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What is written for one new thing, and what remains to be done."""

    files: dict[Path, str]
    insertions: tuple[Insertion, ...]
    left: tuple[str, ...] = ()


_TEST: Final = '''\
"""{title}"""

from __future__ import annotations

import pytest


def test_{word}() -> None:
    pytest.fail("TODO: show what {what} does")
'''


def _test(word: str, title: str, what: str, *, room: str) -> dict[Path, str]:
    path = Path("tests", "unit", room, f"test_{word}.py")
    return {path: _TEST.format(word=word, title=title, what=what)}


def _check(name: str) -> Skeleton:
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


def _command(name: str) -> Skeleton:
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
            **_test(word, f"The command `{name}`.", f"`turncheck {name}`", room="commands"),
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


def _engine(name: str) -> Skeleton:
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
            **_test(f"engine_{word}", f"The engine `{name}`.", "it", room="engines"),
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


def _format(name: str) -> Skeleton:
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
            **_test(f"format_{word}", f"The format `{name}`.", "it", room="project"),
        },
        (
            Insertion(registry, r"from turncheck\.registry", f"from turncheck.project.formats.{word} import FORMAT\n"),
            Insertion(registry, r'        "other_json": ', f'        "{name}": FORMAT,\n'),
        ),
    )


def _gate(name: str) -> Skeleton:
    word = name.replace("-", "_")
    row = f"""\
    Gate(
        name="{name}",
        about=("warnings",),  # TODO
        rank=10,  # TODO
        judged_by="findings.judge_new",  # TODO
        new=True,  # TODO
        manual="TODO: what fails the run, as docs/gates.md has it",
    ),
"""
    situations = Path("tests", "unit", "gate_situations.py")
    situation = f'    # TODO: Situation("what makes {name} fail", report(…), base(…)),\n'
    return Skeleton(
        _test(f"gate_{word}", f"The gate `{name}`.", "it", room="gates"),
        (
            Insertion(SOURCE / "gates" / "table.py", r"    SOMETHING_WAS_TESTED,", row),
            Insertion(situations, r'    Situation\("a file cannot be read"', situation),
        ),
        (
            "If no function in `gates/` judges it: one that does, with its reasons (`Why`).",
            "What is said for a new reason: the module of that name in `render/wording/reasons/`.",
            "A section in docs/result.md: what to do if it fails.",
            "Write the tables: python tools/make_reference.py; python tests/unit/gate_situations.py",
        ),
    )


def _evaluation(name: str) -> Skeleton:
    word = name.replace("-", "_")
    constant, section = word.upper(), "".join(map(str.capitalize, word.split("_")))
    kind = f'''\
"""TODO: what is measured, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import EvaluationKind, metric_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.{word} is not None:
        yield "{word}.failed", report.{word}.failed


{constant}: Final = EvaluationKind(
    name="{word}",
    on_request=True,  # TODO: or by default, where a project has tests for it
    has_results=lambda report: report.{word} is not None,
    metrics=(
        metric_named(r"{word}\\.failed", "{word}", "lower", "counted", "count", label="TODO: what failed"),
    ),
    figures=_figures,
    examples=("{word}.failed",),
    not_run="TODO: said where there are no results",
    judges="TODO: what it judges",
)
'''
    measure = f'''\
"""How it is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.report.{word} import {section}

if TYPE_CHECKING:
    from turncheck.run.under_way import RunInProgress


def measure(run: RunInProgress) -> {section} | None:
    """TODO: measure it with ``run.engines``; or ``run.skip()`` with the reason why not."""
    if (why_not := run.why_not("{word}")) is not None:
        run.skip(why_not)
        return None
    with run.screen.step("{word}", "TODO: what takes time"):
        return run.as_single_unit("{word}", lambda: {section}(failed=0))
'''
    of_report = f'''\
"""TODO: the report's section on it."""

from __future__ import annotations

from turncheck.report.part import Count, Part


class {section}(Part, frozen=True, kw_only=True):
    """TODO: what was measured."""

    failed: Count
    """TODO: how many failed."""
'''
    folder, model = SOURCE / "evaluations", SOURCE / "report" / "model.py"
    field = f'    {word}: {section} | None = None\n    """TODO: what was measured; ``None`` if not requested."""\n'
    return Skeleton(
        {
            folder / word / "__init__.py": kind,
            folder / word / "measure.py": measure,
            SOURCE / "report" / f"{word}.py": of_report,
            **_test(f"evaluation_{word}", f"The evaluation `{name}`.", "it measures", room="evaluations"),
        },
        (
            Insertion(
                folder / "kinds.py",
                r"from turncheck\.evaluations\.validate",
                f"from turncheck.evaluations.{word} import {constant}\n",
            ),
            Insertion(folder / "kinds.py", r"        STRENGTH,", f"        {constant},\n"),
            Insertion(SOURCE / "report" / "evaluations.py", r'    "strength",', f'    "{word}",\n'),
            Insertion(model, r"from turncheck\.report\.trust", f"from turncheck.report.{word} import {section}\n"),
            Insertion(model, r"    coverage: dict\[str, KindCoverage\]", field),
        ),
        (
            "What an engine lacks for it, if anything: the field of `Capabilities`, as `capability` of its kind.",
            "For shards: how its section is written, in `evaluations/written_answers.py`.",
            "For a section of the comment: `render/content.py`; for a row at the top: `render/main_metrics.py`.",
            "Write the schemas: python tools/write_schemas.py; name its metrics in the table of docs/gates.md.",
        ),
    )


def _metric(name: str) -> Skeleton:
    section = name.partition(".")[0]
    if section == name:
        raise SystemExit("expected SECTION.NAME, such as nlu.longest_sentence")
    pattern = re.escape(name).replace("\\-", "-")
    word = re.sub(r"\W", "_", name)
    kind = {"validation": "validate"}.get(section, section)
    metrics = SOURCE / "evaluations" / kind / "__init__.py"
    if not (ROOT / metrics).exists():
        raise SystemExit(f"there is no evaluation '{section}': see {SOURCE / 'evaluations'}")
    row = f'        metric_named(r"{pattern}", "{kind}", "neither", "counted"),  # TODO: better? noise?\n'
    value = f'    yield "{name}", None  # TODO: its value in this report\n'
    return Skeleton(
        _test(f"metric_{word}", f"The metric `{name}`.", "it", room="evaluations"),
        (
            Insertion(metrics, r"    metrics=\(", row, after=True),
            Insertion(metrics, r"def _figures\(report", value, after=True),
        ),
        (
            "What the report has to hold for it: a field of its section in `report/`, computed below `evaluations/`.",
            "For a row in the comment: a `label` here, its name in `_ROWS` of `render/main_metrics.py`.",
            "Write the schemas: python tools/write_schemas.py; name it in the table of docs/gates.md.",
        ),
    )


def _platform(name: str) -> Skeleton:
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
            **_test(f"platform_{word}", f"The platform `{name}`.", "an assistant of it", room="platforms"),
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


def _output(name: str) -> Skeleton:
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
            **_test(f"output_{word}", f"The file of `{name}`.", "it holds", room="render"),
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


KINDS: Final = {
    "check": _check,
    "command": _command,
    "engine": _engine,
    "evaluation": _evaluation,
    "format": _format,
    "gate": _gate,
    "metric": _metric,
    "output": _output,
    "platform": _platform,
}


def write(skeleton: Skeleton, root: Path = ROOT) -> None:
    """Write the files and insert the lines.

    Raises:
        SystemExit: a file exists, or a place is not found; then nothing was written.
    """
    for path in skeleton.files:
        if (root / path).exists():
            raise SystemExit(f"{path} exists: choose another name")
    changed: dict[Path, str] = {}
    for one in skeleton.insertions:
        text = changed.get(one.path) or (root / one.path).read_text(encoding="utf-8")
        line = re.search(rf"^{one.pattern}.*\n", text, re.MULTILINE)
        if line is None:
            raise SystemExit(f"{one.path} has no line {one.pattern}")
        at = line.end() if one.after else line.start()
        changed[one.path] = text[:at] + one.lines + text[at:]
    for path, text in {**skeleton.files, **changed}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path}\n")
    written = [str(path) for path in (*skeleton.files, *changed) if path.suffix == ".py"]
    sort = (
        "ruff",
        "check",
        "--quiet",
        "--no-cache",
        "--select",
        "I",
        "--fix-only",
    )  # several lines may share a place
    subprocess.run([sys.executable, "-m", *sort, *written], cwd=root, check=True)
    for rest in skeleton.left:
        sys.stdout.write(f"left: {rest}\n")


def main() -> None:
    """Read the arguments, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("name", help="in lower case; words are joined by hyphens")
    arguments = parser.parse_args()
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*", arguments.name):
        parser.error(f"'{arguments.name}' is not a name in lower case, its words joined by hyphens")
    write(KINDS[arguments.kind](arguments.name))


if __name__ == "__main__":
    main()
