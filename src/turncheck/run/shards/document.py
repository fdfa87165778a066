"""The files of one shard: a head that says what was measured, and the answers of its engine."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from turncheck.messages.errors import UserError
from turncheck.process.own_files import ensure_replaceable
from turncheck.process.regular_file import open_regular, read_regular
from turncheck.process.temporary import whole_file
from turncheck.report.codec import MAX_BYTES
from turncheck.report.model import EngineInfo, Evaluation, Source, Tool  # noqa: TC001 - msgspec reads them
from turncheck.report.part import Part
from turncheck.settings.shard import MOST_SHARDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD_NAME: Final = "shard.json"
ANSWERS_NAME: Final = "shard-answers.json.gz"
SCHEMA: Final = "turncheck/shard/v1"
_MOST_UNPACKED: Final = 4 << 30
_LONGEST_LINE: Final = MAX_BYTES
_MOST_VALUES: Final = 40_000_000
"""In one line, as in the reports of an artifact: a line is in memory as a whole."""
_BEFORE_VALUES: Final = (b",", b"[", b"{")
_PartNumber = Annotated[int, msgspec.Meta(ge=1, le=MOST_SHARDS)]


class Refusal(Part, frozen=True, kw_only=True):
    """Why an evaluation could not be trained: an error's message, place and remedy."""

    what: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    remedy: str | None = None


class EngineHead(Part, frozen=True, kw_only=True):
    """What a run has to know about an engine that it does not have.

    ``capabilities``: those that differ from their defaults. ``needs``: the parts of the project by evaluation.
    """

    info: EngineInfo
    capabilities: dict[str, Any]
    understands: bool
    needs: dict[str, tuple[str, ...]]
    parts: dict[str, EngineInfo] = {}  # noqa: RUF012 - msgspec gives each document its own copy


class ShardHead(Part, frozen=True, kw_only=True):
    """What was measured, of which state, with which settings, and whether completely.

    ``project``: a digest of all files that were read. ``settings``: flags and inputs as specified.
    ``custom_code``: whether the project's own components were loaded. ``versions``: of what the figures depend on.
    ``units``: how many were measured, by kind. ``answers``: the digest of the file of answers. ``stopped``: why it
    ended early.
    """

    schema: Literal["turncheck/shard/v1"] = SCHEMA
    tool: Tool
    number: _PartNumber
    count: _PartNumber
    project: str
    source: Source
    settings: dict[str, Any]
    versions: dict[str, str]
    engine: EngineHead
    custom_code: bool = False
    refused: dict[Evaluation, Refusal] = {}  # noqa: RUF012 - as above
    units: dict[str, Annotated[int, msgspec.Meta(ge=0)]] = {}  # noqa: RUF012 - as above
    answers: str
    stopped: str | None = None
    timings: dict[str, float] = {}  # noqa: RUF012 - as above


class PackedAnswers:
    """A shard's answers as they are stored: packed when they come, since all at once are large.

    One JSON object, with one line for each unit.
    """

    def __init__(self) -> None:
        self.units: Counter[str] = Counter()
        """How many were added, by kind."""
        self._packed = BytesIO()
        self._file = gzip.GzipFile(fileobj=self._packed, mode="wb", compresslevel=6, mtime=0)

    def add(self, unit: str, answer: str) -> None:
        """Add the answer to a unit, which is JSON on one line. No unit is added twice."""
        separator = ",\n" if self.units else "{"
        self._file.write(f"{separator}{json.dumps(unit)}:{answer}".encode())
        self.units[unit.partition(":")[0]] += 1

    def content(self) -> bytes:
        """Return the file's content. Nothing can be added afterwards."""
        self._file.write(b"}\n" if self.units else b"{}\n")
        self._file.close()
        return self._packed.getvalue()


def write_shard(folder: Path, head: ShardHead, answers: PackedAnswers) -> list[Path]:
    """Write a shard's two files. Those of an earlier run are replaced.

    Raises:
        UserError: a file cannot be written.
    """
    ensure_replaceable(folder, [HEAD_NAME])
    packed = answers.content()
    head = msgspec.structs.replace(head, answers=hashlib.sha256(packed).hexdigest())
    text = msgspec.json.format(msgspec.json.encode(head), indent=1) + b"\n"
    for name, content in ((ANSWERS_NAME, packed), (HEAD_NAME, text)):
        with whole_file(folder / name) as file:
            file.write(content)
    return [folder / HEAD_NAME, folder / ANSWERS_NAME]


def read_head(folder: Path) -> ShardHead:
    """Read a shard's head.

    Raises:
        UserError: there is none, or it is from another version.
    """
    content = _bytes(folder / HEAD_NAME)
    try:
        return msgspec.json.decode(content, type=ShardHead)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{folder / HEAD_NAME} was not written by a shard of this version of turncheck: {error}",
            remedy="Measure all shards and merge them with one version.",
        ) from None


def ensure_undamaged(folder: Path, head: ShardHead) -> None:
    """Make sure that a shard's answers are those that it wrote.

    Raises:
        UserError: they are missing, or others.
    """
    path = folder / ANSWERS_NAME
    if hashlib.sha256(_bytes(path)).hexdigest() != head.answers:
        raise UserError(f"{path} is not what its shard wrote: it is damaged, or from another run", remedy=_AGAIN)


def read_answers(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield a shard's units in the order in which they were answered, each answer still as plain JSON values.

    Only one line of the file is in memory at a time.

    Raises:
        UserError: the file cannot be read, or is too large.
    """
    path, left = folder / ANSWERS_NAME, _MOST_UNPACKED
    try:
        with open_regular(path, most=MAX_BYTES) as packed, gzip.GzipFile(fileobj=packed) as file:
            while line := file.readline(min(left, _LONGEST_LINE) + 1):
                left -= len(line)
                if left < 0 or len(line) > _LONGEST_LINE or sum(map(line.count, _BEFORE_VALUES)) > _MOST_VALUES:
                    raise UserError(
                        f"{path} is too large to be merged", remedy="Measure the run in more shards, all of them again."
                    )
                yield from _units_of(line.strip()).items()
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        raise UserError(f"{path} cannot be read", remedy=_AGAIN) from None


def _units_of(line: bytes) -> dict[str, Any]:
    """Return the units of a line, which is a piece of an object: the first begins it, the last ends it."""
    begin = b"" if line.startswith(b"{") else b"{"
    units: dict[str, Any] = json.loads(begin + (line[:-1] + b"}" if line.endswith(b",") else line))
    return units


_AGAIN: Final = "Measure that shard again."


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path, most=MAX_BYTES)
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror or error}",
            remedy="Name the folders that `turncheck run --shard` wrote (--out).",
        ) from None
