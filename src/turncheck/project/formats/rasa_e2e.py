"""End-to-end test cases as Rasa Pro users write them: YAML with the key ``test_cases``."""

from __future__ import annotations

from typing import Final

from turncheck.messages.finding import Finding
from turncheck.project.folder import YAML_SUFFIXES
from turncheck.project.formats.format import Format, FormatInput, ParsedFile
from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, parse_yaml

KEY: Final = "test_cases"


def _read(file: FormatInput) -> ParsedFile:
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
    if not isinstance(root, YamlMapping) or KEY not in root.items:
        message = f"'{file.source.path}' has no key '{KEY}'."
        fault = Finding("e2e-syntax", "error", message, root.location, f"The keys are: {', '.join(FILE.keys)}.")
        return ParsedFile(findings=document.findings, cases=E2ECases(findings=(fault,)), belongs=False)
    return ParsedFile(findings=document.findings, cases=FileReader(file.fixtures()).read(root), document=document)


FORMAT: Final = Format("Rasa end-to-end cases", lambda path, _: path.suffix in YAML_SUFFIXES, frozenset({KEY}), _read)
