"""The Report as JSON: stable to write, strict to read.

A report may come from anywhere (a baseline, an artifact of a foreign run), so reading checks the size, the version,
every type and key, and that the totals in it agree with the cases they are totals of.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Final, Literal, TypeVar

import msgspec

from turncheck.messages.errors import UserError
from turncheck.report.model import SCHEMA, BatchCase, BatchNumbers, Report

# JSON Schemas of the documents turncheck writes, made from their types.
#
# A property is described by the string below its field, a type by its docstring. The schemas are in ``docs/`` and come
# with the package: ``importlib.resources.files("turncheck") / "schemas" / "report.schema.json"``.

ADDRESS: Final = "https://raw.githubusercontent.com/turncheck/turncheck/main/docs/"
"""Where the schemas are; an ``$id`` is an absolute address (JSON Schema 2020-12, 8.2.1)."""


def document_schema(document: type, *, name: str, title: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document's type, the same with every version of Python.

    Args:
        document: the type.
        name: the file's name under ``docs/``, without ``.schema.json``.
        title: the document's title.
    """
    (schema,), parts = msgspec.json.schema_components([document], ref_template="#/$defs/{name}")
    types = _types_below(document)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}{name}.schema.json",
        "title": title,
        **schema,
        "$defs": {name: _described(part, types[name]) for name, part in parts.items()},
    }


def _types_below(document: type) -> dict[str, type]:
    """All types that a document consists of, by name."""
    found: dict[str, type] = {}

    def visit(node: Any) -> None:
        if isinstance(node, list | tuple):
            for one in node:
                visit(one)
        elif isinstance(node, msgspec.Struct):
            cls = getattr(node, "cls", None)
            if cls is not None:
                if cls.__name__ in found:
                    return
                found[cls.__name__] = cls
            for name in node.__struct_fields__:
                visit(getattr(node, name))

    visit(msgspec.inspect.type_info(document))
    return found


def _described(schema: dict[str, Any], described: type) -> dict[str, Any]:
    """Add the strings below the fields; take the docstring without its indentation, which Python 3.12 leaves there."""
    texts: dict[str, str] = {}
    for base in reversed(described.__mro__):
        if base.__module__ == described.__module__:
            texts |= field_descriptions(base)
    properties = {
        name: {"description": _for_readers_of_json(texts[name]), **part} if name in texts else part
        for name, part in schema["properties"].items()
    }
    described_as = _for_readers_of_json(inspect.getdoc(described) or "")
    return {**schema, "description": described_as, "properties": properties}


_VALUES: Final = {"``None``": "`null`", "``True``": "`true`", "``False``": "`false`"}


def _for_readers_of_json(text: str) -> str:
    """Write a docstring as Markdown, with JSON's names of values."""
    for python, json in _VALUES.items():
        text = text.replace(python, json)
    return text.replace("``", "`")


def field_descriptions(described: type) -> dict[str, str]:
    """Return the string below each field of a class, on one line, by the field's name."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(described))).body
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - it is the source of a class
    texts = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                texts[name] = " ".join(text.split())
            case _:
                pass
    return texts


BASELINE_NAME: Final = "baseline.json"
"""The name of the baseline's report beside the report that was compared with it."""

MAX_BYTES: Final = 1024 * 1024 * 1024
"""No report is read beyond this size: that of 400,000 test stories of three turns, or of a million sentences."""

LONGEST_INDENTED: Final = 32 * 1024 * 1024
"""Larger documents are not read by people, and line breaks and indentation would add half of their size."""

_LEVELS: Final = 3
"""A report, its batch, a suite, whose cases are many; a page's data, an assistant, its sentences, which are many."""
_FEW: Final = 100
"""In lists this short each part may itself be large: a batch suite, an assistant on a page."""
_BATCH: Final = 1_000
"""This many values of a long list are written at once."""

_Value = TypeVar("_Value")
_OUTCOMES: Final[tuple[Literal["killed", "survived", "equivalent"], ...]] = ("killed", "survived", "equivalent")


def encode(report: Report) -> bytes:
    """Write a report: UTF-8 JSON, keys in the order of the types, a line break at the end."""
    return b"".join(file_of(report))


def file_of(document: Any) -> Iterator[bytes]:
    """Yield a document as a file of JSON: a line break after each value, in a very large one only at the end."""
    pieces, start = json_pieces(document), bytearray()
    for piece in pieces:
        start += piece
        if len(start) > LONGEST_INDENTED:
            yield bytes(start)
            start.clear()
            yield from pieces
            yield b"\n"
            return
    yield msgspec.json.format(bytes(start), indent=1)
    yield b"\n"


def json_pieces(document: Any, levels: int = _LEVELS) -> Iterator[bytes]:
    """Yield a document as JSON, piece by piece: a large one is never in memory as a whole.

    So many ``levels`` of records are taken apart; below, only long lists are.
    """
    if levels and isinstance(document, msgspec.Struct):
        yield b"{"
        optional = getattr(document, "OMITTED_IF_EMPTY", ())
        names = [
            field
            for field in document.__struct_fields__
            if getattr(document, field) is not msgspec.UNSET and (field not in optional or getattr(document, field))
        ]
        for number, name in enumerate(names):
            yield b"%b%b:" % (b"," if number else b"", msgspec.json.encode(name))
            yield from json_pieces(getattr(document, name), levels - 1)
        yield b"}"
    elif isinstance(document, Sequence) and not isinstance(document, str | bytes):
        yield from _list_pieces(document, levels)
    else:
        yield json_of(document)


def _list_pieces(values: Sequence[Any], levels: int) -> Iterator[bytes]:
    yield b"["
    for number, batch in enumerate(batched(values)):
        yield b"," if number else b""
        if levels and len(values) <= _FEW and isinstance(batch[0], msgspec.Struct):
            yield from _joined(batch, levels)
        else:
            yield json_of(batch)[1:-1]
    yield b"]"


def _joined(parts: Iterable[msgspec.Struct], levels: int) -> Iterator[bytes]:
    for number, part in enumerate(parts):
        yield b"," if number else b""
        yield from json_pieces(part, levels)


def batched(values: Sequence[_Value]) -> Iterator[tuple[_Value, ...]]:
    """Yield the values, a thousand at once."""
    remaining = iter(values)
    while batch := tuple(islice(remaining, _BATCH)):
        yield batch


def json_of(document: Any) -> bytes:
    """Return a document as JSON.

    Lone surrogates, which UTF-8 cannot encode, become escapes: they may come from an answer in JSON, or a variable
    in another encoding.
    """
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        return msgspec.json.encode(_sound(msgspec.to_builtins(document)))


def _sound(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {_sound(key): _sound(item) for key, item in value.items()}
        case list() | tuple():
            return [_sound(item) for item in value]
        case _:
            return value


def decode(content: bytes, *, name: str = "report") -> Report:
    """Read a report.

    Args:
        content: the JSON document.
        name: the document's name in error messages (a path, an artifact).

    Raises:
        UserError: it is too large, not JSON, of another schema or version, has a wrong type or key, or wrong totals.
    """
    if len(content) > MAX_BYTES:
        raise UserError(
            f"{name} is larger than {MAX_BYTES // 2**20} MiB", hint="Divide the project into several assistants."
        )
    _check_schema(content, name)
    try:
        report = _decoded(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{name} is not a valid report: {error}", hint=f"It must follow {SCHEMA} (docs/report.schema.json)."
        ) from None
    _check_totals(report, name)
    return report


def _decoded(content: bytes) -> Report:
    from turncheck.report.large import decode_large  # a run without a base reads no report

    try:
        return decode_large(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode(content, type=Report)  # its message has the place in the whole document


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of the report, made from the types."""
    return document_schema(Report, name="report", title="turncheck report")


class _Head(msgspec.Struct):
    schema: str


def _check_schema(content: bytes, name: str) -> None:
    """Distinguish an unknown version from a damaged document."""
    try:
        head = msgspec.json.decode(content, type=_Head)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{name} is not a report of turncheck: {error}", hint="Give a report.json that `turncheck run` wrote."
        ) from None
    if head.schema != SCHEMA:
        raise UserError(
            f"{name} has the schema {head.schema[:80]!r}, this turncheck reads {SCHEMA!r}",
            hint="Write it again with this version, or use the turncheck that wrote it.",
        )


def _check_totals(report: Report, name: str) -> None:
    for what, stated, counted in _totals(report, name):
        if stated != counted:
            raise UserError(f"{name} contradicts itself: {what} is {stated}, its cases add up to {counted}")


def _totals(report: Report, name: str) -> list[tuple[str, int, int]]:
    totals: list[tuple[str, int, int]] = []
    if report.validation:
        severities = [finding.severity for finding in report.validation.findings]
        counts = report.validation.counts
        totals += [
            (f"validation.counts.{severity}", getattr(counts, severity), severities.count(severity))
            for severity in ("error", "warning", "info")
        ]
    if report.nlu:
        listed, stated = len(report.nlu.predictions), report.nlu.examples
        # A sentence that no intent's figures include may still be listed, for its entities.
        counted = min(max(stated, listed), listed + max(0, report.nlu.unlisted))
        totals.append(("nlu.examples", stated, counted))
    for metric, figure in report.metrics.items():
        if not metric.startswith("plugin."):
            raise UserError(f"{name} is not a valid report: the metric '{metric[:80]}' is not a plugin's")
        if figure.noise == "sentences":
            judged = [sentence for sentence in figure.sentences if sentence is not None]
            there = len(report.nlu.predictions) if report.nlu else 0
            stated = round((figure.value or 0.0) * len(judged))
            totals += [
                (f"the number of sentences of {metric}", len(figure.sentences), there),
                (f"the number of true sentences of {metric}", stated, sum(judged)),
            ]
    if report.core and report.core.as_written:
        as_written = [story.as_written for story in report.core.stories]
        totals += [
            ("core.as_written.passed", report.core.as_written.passed, as_written.count(True)),
            ("core.as_written.failed", report.core.as_written.failed, as_written.count(False)),
        ]
    if report.e2e:
        outcomes = [case.outcome for case in report.e2e.cases]
        totals += [
            ("e2e.passed", report.e2e.passed, outcomes.count("passed")),
            ("e2e.failed", report.e2e.failed, outcomes.count("failed") + outcomes.count("error")),
            ("e2e.skipped", report.e2e.skipped, outcomes.count("skipped")),
            ("e2e.misunderstood", report.e2e.misunderstood, outcomes.count("misunderstood")),
        ]
    for what, numbers, cases in _batches(report):
        results = [case.result for case in cases]
        classes = numbers.counts
        totals += [
            (f"{what}.counts.tp", classes.tp, results.count("tp")),
            (f"{what}.counts.tn", classes.tn, results.count("tn")),
            (f"{what}.counts.fp", classes.fp, results.count("fp")),
            (f"{what}.counts.fn", classes.fn, results.count("fn")),
            (f"{what}.not_evaluated", numbers.not_evaluated, results.count("not-evaluated")),
            (f"{what}.passed", numbers.passed, sum(case.passed for case in cases)),
            (f"{what}.failed", numbers.failed, sum(not case.passed for case in cases)),
        ]
    if report.strength:
        became = Counter(mutant.outcome for mutant in report.strength.mutants)
        totals += [(f"strength.{name}", getattr(report.strength, name), became[name]) for name in _OUTCOMES]
    return totals


def _batches(report: Report) -> list[tuple[str, BatchNumbers, tuple[BatchCase, ...]]]:
    """The parts about batch suites, each with its cases. For a run on the platform there may only be counts."""
    if report.batch is None:
        return []
    listed = [suite for suite in report.batch.suites if suite.cases]
    found: list[tuple[str, BatchNumbers, tuple[BatchCase, ...]]] = [
        (f"batch[{suite.name}]", suite, suite.cases) for suite in listed
    ]
    if len(listed) == len(report.batch.suites):
        found.append(("batch", report.batch, report.batch.cases))
    return found
