"""No code reads a sentence that other code wrote: what is decided is decided by typed parts, worded once.

A sentence is what is kept under one of the names in ``SENTENCES``, or a local variable that was given one. Cutting one
to the room that there is, joining and showing it is no reading; taking it apart or looking into it is.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE: Final = Path(__file__).parents[3] / "src" / "turncheck"
SENTENCES: Final = frozenset(
    {
        *("message", "message_now", "statement", "reason", "what", "hint", "headline", "summary", "why"),
        *("cause", "without_place", "in_words", "remark", "detail", "stopped", "warning"),
    }
)
READING: Final = frozenset(
    {
        *("partition", "rpartition", "startswith", "endswith", "split", "rsplit", "removeprefix", "removesuffix"),
        *("find", "rfind", "index", "rindex", "count", "replace"),
    }
)
PATTERNS: Final = frozenset({"match", "search", "fullmatch", "findall", "finditer", "split", "sub", "subn"})
PARSERS: Final = {
    "ci/bitbucket/host.py": "the Markdown of a rendered comment, whose marks a report of Bitbucket shows as they are",
    "ci/github/client.py": "what GitHub's API answers: it has no other sign of these refusals",
    "ci/gitlab/host.py": "what GitLab's API answers: the scope that a token lacks is only named in words",
    "cli.py": "the system's own message: an ImportError says in no other way that memory was lacking",
    "commands/flags/parser.py": "argparse's own messages, which it hands on as text alone",
    "commands/shell.py": "a message of a channel is a mapping, not a sentence",
    "comparison/recognised_by_words.py": "findings of earlier versions, which do not say what they are about",
    "platforms/kore/engine/client.py": "what Kore.ai's platform answers: it has no other sign of these refusals",
    "engines/rasa_server/client.py": "msgspec's message names the place in the answer, which is told from its top",
    "messages/finding.py": "a finding's own end, which it keeps beside the message",
    "run/find_baseline.py": "the temporary folder of the base's files is taken out of an error",
    "web/addresses.py": "OpenSSL's message: a certificate that is refused has no type of its own",
}
"""Modules that read the words of others or of earlier versions, and why."""


def _named(node: ast.expr) -> str:
    """The name under which an expression's text is kept, through calls such as ``.lower()`` and ``str(…)``."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
        case ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)]):
            return "what" if name in {"error", "exception", "stopped"} else ""
        case ast.Call(func=ast.Attribute(value=inner)):
            return _named(inner)
        case ast.Subscript(value=inner, slice=ast.Slice()):
            return _named(inner)
        case ast.BoolOp(values=[first, *_]):
            return _named(first)
        case _:
            return ""


def _readings(tree: ast.AST) -> Iterator[int]:
    """The lines on which a sentence is read."""
    sentences = set(SENTENCES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute) and node.value.attr in SENTENCES:
            sentences |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args and not node.keywords:
            reads = node.func.attr in READING and _named(node.func.value) in sentences
            if reads or (node.func.attr in PATTERNS and any(_named(one) in sentences for one in node.args)):
                yield node.lineno
        elif isinstance(node, ast.Compare):
            for operator, other in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.In | ast.NotIn) and _named(other) in sentences:
                    yield node.lineno


@cache
def _found() -> dict[str, list[int]]:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if lines := sorted(set(_readings(ast.parse(path.read_text(encoding="utf-8"))))):
            found[path.relative_to(SOURCE).as_posix()] = lines
    return found


def test_no_sentence_is_read_by_code() -> None:
    assert {name: lines for name, lines in _found().items() if name not in PARSERS} == {}


def test_every_parser_still_parses() -> None:
    assert sorted(set(PARSERS) - set(_found())) == []


@pytest.mark.parametrize(
    "code",
    [
        "gate.reason.partition(': ')",
        "if finding.message.startswith('The intent'): pass",
        "'misunderstood' in verdict.summary",
        "_PLACE.search(finding.message)",
        "re.sub('a', 'b', skipped.reason.lower())",
        "words = gate.reason\nwords.split('; ')",
        "'no model' in str(error)",
        "gate.reason.replace(place, '')",
    ],
)
def test_a_sentence_that_is_read_is_found(code: str) -> None:
    assert list(_readings(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        "replace(gate, reason='x')",
        "message[:80]",
        "f'{gate.reason}; {other}'",
        "gate.reason == other.reason",
        "a in names",
    ],
)
def test_a_sentence_that_is_shown_is_not(code: str) -> None:
    assert not list(_readings(ast.parse(code)))
