"""Batch suites of Kore.ai's platform: JSON with the key ``testCases``, or CSV with a column ``input``."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from turncheck.project.formats.format import SUITES, Format, Opened, Parts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def _read_suites(file: Opened) -> Parts:
    from turncheck.project.batch.csv_reader import read_csv_suite  # most projects have no suites
    from turncheck.project.batch.json_reader import read_json_suite
    from turncheck.project.batch.model import Suite
    from turncheck.project.batch.rules import Rules

    path = file.source.path
    rules = Rules(path, strict=file.strict, upload=file.upload)
    cases = (read_json_suite if path.lower().endswith(".json") else read_csv_suite)(file.source, rules)
    if rules.has_errors:
        return Parts(findings=tuple(finding for finding in rules.findings if finding.severity == "error"))
    return Parts(suites=(Suite(PurePath(path).stem, path, cases),), findings=tuple(rules.findings))


JSON: Final = Format("Kore.ai batch suite (JSON)", _is_json_suite, frozenset({SUITES}), _read_suites)
CSV: Final = Format("Kore.ai batch suite (CSV)", _is_csv_suite, frozenset({SUITES}), _read_suites)
