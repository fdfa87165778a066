"""The files of one shard: a head that says what was measured, and the answers of its engine."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from turncheck.messages.errors import UserError
from turncheck.process.temporary import whole_file
from turncheck.report.codec import MAX_BYTES
from turncheck.report.model import EngineInfo, Evaluation, Source, Tool  # noqa: TC001 - msgspec reads them
from turncheck.report.part import Part

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEAD_NAME: Final = "shard.json"
ANSWERS_NAME: Final = "shard-answers.json.gz"
SCHEMA: Final = "turncheck/shard/v1"
_MOST_UNPACKED: Final = 4 << 30


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
    number: int
    count: int
    project: str
    source: Source
    settings: dict[str, Any]
    versions: dict[str, str]
    engine: EngineHead
    custom_code: bool = False
    refused: dict[Evaluation, Refusal] = {}  # noqa: RUF012 - as above
    units: dict[str, int] = {}  # noqa: RUF012 - as above
    answers: str
    stopped: str | None = None
    timings: dict[str, float] = {}  # noqa: RUF012 - as above


def write_shard(folder: Path, head: ShardHead, answers: Mapping[str, str]) -> list[Path]:
    """Write a shard's two files; ``answers`` are JSON, by unit. Those of an earlier run are replaced.

    Raises:
        UserError: a file cannot be written.
    """
    lines = ",\n".join(f"{json.dumps(unit)}:{answer}" for unit, answer in answers.items())
    packed = gzip.compress(f"{{{lines}}}\n".encode(), compresslevel=6, mtime=0)
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


def read_answers(folder: Path, head: ShardHead) -> dict[str, Any]:
    """Read a shard's answers, each still as plain JSON values.

    Raises:
        UserError: they are missing, or not those that the shard wrote.
    """
    path = folder / ANSWERS_NAME
    packed = _bytes(path)
    if hashlib.sha256(packed).hexdigest() != head.answers:
        raise UserError(f"{path} is not what its shard wrote: it is damaged, or from another run", remedy=_AGAIN)
    try:
        content = zlib.decompressobj(wbits=31).decompress(packed, _MOST_UNPACKED)
        answers = json.loads(content)
    except (zlib.error, ValueError, RecursionError):
        raise UserError(f"{path} cannot be read", remedy=_AGAIN) from None
    if not isinstance(answers, dict):
        raise UserError(f"{path} does not hold answers", remedy=_AGAIN)
    return answers


_AGAIN: Final = "Measure that shard again."


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"cannot read {path}: {error.strerror or error}",
            remedy="Name the folders that `turncheck run --shard` wrote (--out).",
        ) from None
    if len(content) > MAX_BYTES:
        raise UserError(f"{path} is larger than {MAX_BYTES >> 20} MB")
    return content
