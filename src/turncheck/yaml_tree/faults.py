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


_ITEM_KEYS: Final = frozenset(
    {
        *("action", "active_loop", "bot", "buttons", "checkpoint", "collect", "condition", "custom", "entity"),
        *("fixture", "id", "image", "intent", "link", "lookup", "name", "or", "payload", "regex", "rule"),
        *("slot_was_not_set", "slot_was_set", "story", "synonym", "test_case", "text", "title", "type", "user"),
        "utter",
    }
)
"""Keys with which items of lists begin in an assistant's files: other words may be part of a sentence."""
_WITHOUT_SPACE: Final = re.compile(r"^[ \t]*-(\w+):(?:[ \t]|\r?$)", re.MULTILINE)
"""``-text:``, which YAML reads as a key of that name."""
_DASHED_WORD: Final = re.compile(r"^[ \t]*-(?P<word>[^\W\d].*?)[ \t]*\r?$", re.MULTILINE)
"""``-greet`` in a line of its own where keys are expected."""
_NO_COLON: Final = "could not find expected ':'"
_NO_STEPS: Final = re.compile(r"[ \t]*-[ \t]+(story|rule):[^\n]*\n[ \t]*-[ \t]+\w+:")
"""Steps that follow the name of their story at once."""
_LINES_ABOVE: Final = 2
"""A parser only sees such a key as a fault at the next item."""


def _without_space(source: YamlSource, start: int, end: int) -> Finding | None:
    """Return the fault of the last item between two offsets whose dash has no space after it."""
    slips = [match for match in _WITHOUT_SPACE.finditer(source.text, start, end) if match[1] in _ITEM_KEYS]
    return None if not slips else no_space(source, slips[-1].start(1) - 1, slips[-1][1])


def no_space(source: YamlSource, offset: int, key: str) -> Finding:
    """Return the fault of a key whose dash has no space after it; ``offset``: of the dash."""
    message = f"A space is missing after the dash: '-{key}:' is read as a key of that name."
    return fault_at("yaml-syntax", message, source, offset, f"Write `- {key}:`.")


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
    begin = offset_of(error.context_mark) if error.context_mark else offset
    above = offset
    for _ in range(_LINES_ABOVE + 1):
        above = source.text.rfind("\n", 0, max(above, 0))
    line_end = source.text.find("\n", offset)
    if slip := _without_space(source, above + 1, line_end if line_end >= 0 else len(source.text)):
        return slip
    if problem == _NO_COLON and (word := _DASHED_WORD.match(source.text, source.text.rfind("\n", 0, begin) + 1)):
        message = f"A space is missing after the dash: '-{word['word']}' is read as the beginning of a key."
        return fault_at("yaml-syntax", message, source, word.start("word") - 1, f"Write `- {word['word']}`.")
    where = f" ({error.context}, line {error.context_mark.line + 1})" if error.context and error.context_mark else ""
    if "\t" in source.text[offset : offset + 1] or "tab" in problem:
        return fault_at(
            "yaml-syntax",
            f"This is not YAML: there is a tab where YAML wants spaces{where}.",
            source,
            offset,
            "Indent with spaces instead of tabs.",
        )
    hint = next((hint for words, hint in _HINTS if words in problem), "") or _half_quoted(source, offset)
    if not hint and (bare := _NO_STEPS.match(source.text, source.text.rfind("\n", 0, begin) + 1)):
        hint = f"Write `steps:` above the steps of the {bare[1]}."
    hint = hint or "Check quotes and indentation here and just above."
    return fault_at("yaml-syntax", f"This is not YAML: {problem}{where}.", source, offset, hint)


_BEGINS_WITH_SIGN: Final = re.compile(r"^[ \t]*(?:-[ \t]+)*(?:[\w./-]+:[ \t]+)?(?:-[ \t]+)*(?P<sign>[\[{\"'*&])")
_CLOSED_BY: Final = {"[": "]", "{": "}"}


def _half_quoted(source: YamlSource, offset: int) -> str:
    """What to do about a text that YAML takes for something else since it begins with a sign: ``[Rome](city)``."""
    read = source.text[source.text.rfind("\n", 0, offset) + 1 : offset]
    begin = _BEGINS_WITH_SIGN.match(read)
    if begin is None:
        return ""
    sign, rest = begin["sign"], read[begin.end() :].rstrip()
    if sign in "*&":
        return f"A text that begins with '{sign}' needs quotes."
    if not rest.endswith(_CLOSED_BY.get(sign, sign)):
        return ""
    if sign in _CLOSED_BY:
        return f"A text that begins with '{sign}' needs quotes around all of it."
    other = "double" if sign == "'" else "single"
    return f"The text goes on behind its quotes: put all of it in {other} quotes."
