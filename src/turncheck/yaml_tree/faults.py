"""What is wrong in a YAML file, said so that it can be fixed: each fault with its place and what usually helps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import yaml

from turncheck.messages.finding import Finding

if TYPE_CHECKING:
    from turncheck.yaml_tree.source import YamlSource

_CONTROL_CHARACTER: Final = "[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
"""Not compiled here: that takes milliseconds, and few files hold one."""

_HINTS: Final = (
    (
        "cannot start any token",
        "A string that begins with a special character (@ ` % & * ! | > ' \" # { [) needs quotes.",
    ),
    (
        "mapping values are not allowed",
        "A string that contains ': ' needs quotes; otherwise check the indentation of this line.",
    ),
    ("expected <block end>", "Check the indentation: entries of one list or mapping begin in the same column."),
    (
        "could not find expected ':'",
        "A key needs ': ' after it; check the quotes and the indentation of the lines above.",
    ),
    ("unexpected end of stream", "A quote, bracket or brace is not closed."),
    ("expected ',' or", "A bracket or brace is not closed, or a comma is missing."),
    ("undefined alias", "A string that begins with '*' needs quotes."),
    ("escape", "In double quotes a backslash is written twice; single quotes need no escapes."),
)


class YamlFaultError(Exception):
    """Ends the parsing of a file; never leaves :func:`turncheck.yaml_tree.tree.parse_yaml`."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def offset_of(mark: object) -> int:
    """Return the offset of a mark: the C parser's marks and PyYAML's own have no common type."""
    return int(getattr(mark, "index", 0))


def fault_at(code: str, message: str, source: YamlSource, offset: int, hint: str) -> Finding:
    """Return the finding of a fault at an offset of the source."""
    return Finding(code, "error", message, source.location(offset), hint)


def describe_syntax_error(source: YamlSource, error: yaml.YAMLError) -> Finding:
    """Say what the parser could not read, where, and what usually fixes it."""
    if isinstance(error, yaml.MarkedYAMLError) and (error.problem_mark or error.context_mark):
        mark = error.problem_mark or error.context_mark
        offset, problem = min(offset_of(mark), len(source.text)), error.problem or "this is not expected here"
    else:
        match = re.search(_CONTROL_CHARACTER, source.text)
        offset = match.start() if match else 0
        problem = f"the character U+{ord(match[0]):04X} is not allowed" if match else str(error)
        return fault_at("yaml-syntax", f"This is not YAML: {problem}.", source, offset, "Remove the character.")
    where = f" ({error.context}, line {error.context_mark.line + 1})" if error.context and error.context_mark else ""
    if "\t" in source.text[offset : offset + 1] or "tab" in problem:
        return fault_at(
            "yaml-syntax",
            f"This is not YAML: there is a tab where YAML wants spaces{where}.",
            source,
            offset,
            "Indent with spaces instead of tabs.",
        )
    hint = next(
        (hint for words, hint in _HINTS if words in problem), "Check quotes and indentation here and just above."
    )
    return fault_at("yaml-syntax", f"This is not YAML: {problem}{where}.", source, offset, hint)
