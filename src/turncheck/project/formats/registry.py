"""The file formats, in the order in which they are tried; those of plugins, asked for by name, come first.

What is read by modules of its own is described here, so that these are only imported if there is such a file.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.platforms.registry import parts
from turncheck.project.folder import YAML_SUFFIXES
from turncheck.project.formats import rasa_json, rasa_yaml
from turncheck.project.formats.format import EXPORT, NEEDS_OF_RASA, SUITES, Format, FormatInput, ParsedFile
from turncheck.project.project_file import BOTIUM_FILES, BOTIUM_SETTINGS, CONVO, NLU_KEYS, holds_convos, is_in_objects
from turncheck.registry import Registry, attributing_errors_to_plugin
from turncheck.yaml_tree.source import EscapeError, Source, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

_CASES: Final = "test_cases"


def _read_cases(file: FormatInput) -> ParsedFile:
    from turncheck.project.e2e.model import E2ECases  # most projects have no such cases
    from turncheck.project.e2e.reader import FileReader
    from turncheck.project.e2e.shapes import FILE

    try:
        document = parse_yaml(YamlSource.of(file.source))
    except EscapeError as error:
        return ParsedFile(findings=(error.finding(file.source),))
    root = document.root
    if root is None:
        return ParsedFile(findings=document.findings)
    if not isinstance(root, YamlMapping) or _CASES not in root.items:
        fault_of_file = f"has no key '{_CASES}'" if file.source.file_text.strip() else "is empty"
        message = f"'{file.source.path}' {fault_of_file}."
        fault = Finding("e2e-syntax", "error", message, root.location, f"The keys are: {', '.join(FILE.keys)}.")
        return ParsedFile(findings=document.findings, cases=E2ECases(findings=(fault,)), belongs=False)
    return ParsedFile(findings=document.findings, cases=FileReader(file.fixtures()).read(root), document=document)


RASA_E2E: Final = Format(
    "Rasa end-to-end cases", lambda path, _: path.suffix in YAML_SUFFIXES, frozenset({_CASES}), _read_cases
)


# Batch suites of Kore.ai's platform: JSON with the key ``testCases``, or CSV with a column ``input``.

_LOOK: Final = 4096
"""This many bytes are inspected to distinguish a suite from other CSV files."""
_HEADER_CELL: Final = rb'(?:^|[,;|\t\n\r])[ \t]*"?input"?[ \t]*(?:$|[,;|\t\r\n])'
_KEY: Final = rb'["\x93\x9c\x9d]?testCases["\x94\xe2]?'


def _is_json_suite(path: Path, content: Callable[[], bytes]) -> bool:
    return path.suffix.lower() == ".json" and re.search(_KEY, content()) is not None


def _is_csv_suite(path: Path, content: Callable[[], bytes]) -> bool:
    if path.suffix.lower() != ".csv":
        return False
    start = content()[:_LOOK].removeprefix(b"\xef\xbb\xbf").lstrip()
    lines = start.splitlines()[:2] if start.lower().startswith(b"sep=") else start.splitlines()[:1]
    return any(re.search(_HEADER_CELL, line) for line in lines)


def _read_suites(file: FormatInput) -> ParsedFile:
    from turncheck.project.batch.model import Suite
    from turncheck.project.batch.rules import Rules
    from turncheck.project.batch.suite_file import (
        read_csv_suite,  # most projects have no suites
        read_json_suite,
    )

    path = file.source.path
    rules = Rules(path, strict=file.strict, upload=file.upload)
    cases = (read_json_suite if path.lower().endswith(".json") else read_csv_suite)(file.source, rules)
    if rules.has_errors:
        return ParsedFile(findings=tuple(finding for finding in rules.findings if finding.severity == "error"))
    return ParsedFile(suites=(Suite(PurePath(path).stem, path, cases),), findings=tuple(rules.findings))


JSON_SUITE: Final = Format("Kore.ai batch suite (JSON)", _is_json_suite, frozenset({SUITES}), _read_suites)
CSV_SUITE: Final = Format("Kore.ai batch suite (CSV)", _is_csv_suite, frozenset({SUITES}), _read_suites)


# The Markdown of Rasa 0.x to 2.x.


def _is_markdown(path: Path, content: Callable[[], bytes]) -> bool:
    return path.suffix == ".md" and b"##" in content()


def _look_into_markdown(source: Source) -> frozenset[str]:
    from turncheck.project.formats.markdown_stories import kinds_of  # most projects have no Markdown

    return kinds_of(source)


def _read_markdown(file: FormatInput) -> ParsedFile:
    from turncheck.project.formats.markdown_stories import read_markdown

    return read_markdown(file)


_MARKDOWN: Final = Format(
    "Markdown of Rasa 1",
    _is_markdown,
    frozenset((*NLU_KEYS, "stories")),
    _read_markdown,
    look=_look_into_markdown,
    needs=NEEDS_OF_RASA,
    has_annotations=True,
    last=2,
)


# NLU data that LUIS, Wit.ai and Dialogflow export as JSON.


def _read_other_json(file: FormatInput) -> ParsedFile:
    from turncheck.project.formats.other_json_reader import read_other_json  # most projects have no JSON

    return read_other_json(file)


_OTHER_JSON: Final = Format(
    "JSON of LUIS, Wit.ai and Dialogflow",
    lambda path, _: path.suffix == ".json" and path.name != BOTIUM_SETTINGS,
    frozenset({"nlu"}),
    _read_other_json,
    needs=NEEDS_OF_RASA,
)


# Botium's conversations, in text files, YAML or JSON.


def _read_botium(file: FormatInput) -> ParsedFile:
    from turncheck.project.botium.cases import read_file  # most projects have no such files

    path, content = file.source.path, file.source.file_text.encode
    belongs = path.endswith(CONVO) or holds_convos(PurePath(path).name, content)
    return ParsedFile(cases=read_file(path, file.botium), belongs=belongs)


def _is_botium(path: Path, content: Callable[[], bytes]) -> bool:
    return path.name.endswith(BOTIUM_FILES) or is_in_objects(path.name, content)


BOTIUM: Final = Format("BotiumScript", _is_botium, frozenset({"test_cases"}), _read_botium)


FORMATS: Final = Registry(
    "turncheck.formats",
    {
        **{f"{name}_export": one.FORMAT for name, one in parts(EXPORT).items()},
        "rasa_yaml": rasa_yaml.FORMAT,
        "rasa_json": rasa_json.FORMAT,
        "rasa_markdown": _MARKDOWN,
        "botium": BOTIUM,
        "rasa_e2e": RASA_E2E,
        "kore_suites_json": JSON_SUITE,
        "kore_suites_csv": CSV_SUITE,
        "other_json": _OTHER_JSON,
    },
    Format,
)


def recognised(path: Path, content: Callable[[], bytes], wanted: str | None = None) -> Format | None:
    """Return the format of a file; ``None`` if it has none, or none that may hold the wanted kind.

    The content is only read if it matters.
    """
    formats = (*map(_of_plugin, FORMATS.added().items()), *FORMATS.built_in.values())
    known = (one for one in formats if wanted is None or wanted in one.holds)
    return next((one for one in known if one.recognises(path, content)), None)


def _of_plugin(named: tuple[str, Format]) -> Format:
    """A plugin's format, whose errors are the plugin's."""
    name, one = named
    what = f"format '{name}'"
    return one._replace(
        recognises=attributing_errors_to_plugin(what, one.recognises),
        read=None if one.read is None else attributing_errors_to_plugin(what, one.read),
        look=None if one.look is None else attributing_errors_to_plugin(what, one.look),
    )
