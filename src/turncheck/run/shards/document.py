"""The files of one shard: what was measured, its engine's answers, and what makes shards parts of one run."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec

from turncheck.messages.errors import UserError
from turncheck.process.output_files import atomic_write, ensure_replaceable
from turncheck.process.regular_file import file_and_case, open_regular, read_regular
from turncheck.project.folder import MAX_FILE_BYTES, absolute_name
from turncheck.report.codec import MAX_BYTES
from turncheck.report.evaluations import Evaluation  # noqa: TC001 - msgspec reads it
from turncheck.report.model import EngineInfo, Source, Tool  # noqa: TC001 - msgspec reads them
from turncheck.report.part import Part
from turncheck.settings.declared import options
from turncheck.settings.gates import GATES
from turncheck.settings.parsers import MOST_SHARDS, WrongWordError, shown
from turncheck.settings.sources import PATHS, leads_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from turncheck.project.e2e.model import E2ECases
    from turncheck.project.model import Project
    from turncheck.run.inputs import Inputs
    from turncheck.run.reading import Tests


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
    """Why an evaluation could not be trained: an error's message, place and hint."""

    what: str
    path: str | None = None
    line: int | None = None
    column: int | None = None
    hint: str | None = None
    limit: bool = False
    """Whether a limit of ours is the reason."""


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
    ``units``: how many were measured, by kind. ``too_many``: whether all sentences and utterances of the run were too
    many to be asked again, unless they fail. ``answers``: the digest of the file of answers. ``stopped``: why it ended
    early.
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
    too_many: bool = False
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
        with atomic_write(folder / name) as file:
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
            hint="Measure all shards and merge them with one version.",
        ) from None


def ensure_undamaged(folder: Path, head: ShardHead) -> None:
    """Make sure that a shard's answers are those that it wrote.

    Raises:
        UserError: they are missing, or others.
    """
    path = folder / ANSWERS_NAME
    if hashlib.sha256(_bytes(path)).hexdigest() != head.answers:
        raise UserError(f"{path} is not what its shard wrote: it is damaged, or from another run", hint=_AGAIN)


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
                        f"{path} is too large to be merged", hint="Measure the run in more shards, all of them again."
                    )
                yield from _units_of(line.strip()).items()
    except (OSError, EOFError, zlib.error, ValueError, RecursionError):
        raise UserError(f"{path} cannot be read", hint=_AGAIN) from None


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
            hint="Name the folders that `turncheck run --shard` wrote (--out).",
        ) from None


# What identifies shards of one run: the files that were read, and the settings.


def refuse_shards_of_several(overrides: Mapping[str, Any]) -> None:
    """Refuse to shard several assistants: a shard belongs to one.

    Raises:
        UserError: both are requested.
    """
    if overrides.get("shard") is not None or overrides.get("shards"):
        raise UserError(
            "a shard is a part of one assistant's run, but several are named here",
            hint="Of several assistants each is measured by a job of its own: name one with --project in each.",
        )


def shared_settings(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags or inputs that all shards and the merging job have in common, as JSON values.

    Paths are relative to the project, which may be elsewhere on each machine.
    """
    known = options()
    folder = _project_folder(overrides)
    return {
        name: _relative(name, _plain(value), folder)
        for name, value in sorted(overrides.items())
        if not (known[name.replace("_", "-")].differs_by_job or known[name.replace("_", "-")].is_private)
    }


def faults_of_settings(shared: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the settings of a shard, which a job with a change's own code may have written."""
    faults = []
    for name, value in sorted(shared.items()):
        try:
            _read(name, value)
        except ValueError as error:
            faults.append(f"`{name.replace('_', '-')}`: {error}")
    return faults


def settings_given(shared: Mapping[str, Any], own: Mapping[str, Any], *, takes_project: bool) -> dict[str, Any]:
    """Return the merging job's settings, completed by those of the shards.

    Of these only what the project's own file could set as well is taken. What the merging job sets itself, it has to
    set alike, except for the gates: it judges, so its own count, and those of the shards are never taken.

    Args:
        shared: the settings of the shards, without faults.
        own: the settings of the merging job.
        takes_project: whether the shards say which folder the project is. On a CI host the merging job does.

    Raises:
        UserError: its settings differ from the shards'.
    """
    if takes_project and "project" in shared:
        own = {"project": _read("project", shared["project"]), **own}
    known, here = options(), shared_settings(own)
    folder = _project_folder(own)
    taken, faults = {}, []
    for name in sorted({*shared, *here}):
        there = _plain(_read(name, shared[name])) if name in shared else None
        if name == "project" and name not in here and Path(str(there)).as_posix() != ".":
            faults.append(_difference(name, None, there))
        elif name == "project" or there == here.get(name) or (name in GATES and name in here):
            continue
        elif name in here or name in GATES or not known[name.replace("_", "-")].file_key or _leads_out(name, there):
            faults.append(_difference(name, here.get(name), there))
        else:
            taken[name] = _read(name, _absolute(name, there, folder))
    if faults:
        more = "".join(f"\n- {fault}" for fault in faults)
        raise UserError(
            f"the settings of the merging job differ from those of the shards:{more}",
            hint="Give the merging job the same values. What it judges by and where the project is, it is always"
            " given itself.",
        )
    return {**taken, **own}


def _difference(name: str, here: Any, there: Any) -> str:
    return f"`{name.replace('_', '-')}` is {setting_shown(here)} here and was {setting_shown(there)} for the shards"


def _read(name: str, value: Any) -> Any:
    """Read a setting of a shard as a flag is read.

    Raises:
        ValueError: there is none of this name, a shard never has it, or its value is invalid.
    """
    option = options().get(name.replace("_", "-")) if "-" not in name else None
    if option is None:
        raise ValueError("there is no setting of this name")
    if option.differs_by_job or option.is_private or not (option.flag or option.action_input):
        raise ValueError("is never taken from a shard")
    try:
        return option.parse(value)
    except ValueError as error:
        raise ValueError(str(error) if isinstance(error, WrongWordError) else f"{error}, not {shown(value)}") from None


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _project_folder(overrides: Mapping[str, Any]) -> Path:
    path = Path(overrides.get("project", "."))
    return path.parent if path.is_file() else path


def _relative(name: str, value: Any, folder: Path) -> Any:
    return _paths(name, value, lambda path: Path(os.path.relpath(path, folder)).as_posix())


def _absolute(name: str, value: Any, folder: Path) -> Any:
    return _paths(name, value, lambda path: str(folder / path))


def _leads_out(name: str, value: Any) -> bool:
    found: list[bool] = []
    _paths(name, value, lambda path: found.append(leads_out(path)))
    return any(found)


def _paths(name: str, value: Any, do: Callable[[str], Any]) -> Any:
    """Apply ``do`` to the paths that a setting consists of; others stay as they are."""
    if name not in PATHS or isinstance(value, bool):
        return value
    return [do(path) for path in value] if isinstance(value, list) else do(value)


def setting_shown(value: Any) -> str:
    """Show the value of a setting."""
    return "not given" if value is None else shown(value)


def project_digest(inputs: Inputs, project: Project, tests: Tests, cases: E2ECases) -> str:
    """Return a digest of all files that were read for a run: settings, project, tests; by path and content.

    Of the end-to-end ``cases`` that is also what they share, such as fixtures and lists of utterances.
    """
    digest = hashlib.sha256()
    for file in sorted(project.files, key=lambda file: file.path):
        text = "" if file.source is None else file.source.text
        _add(digest, file.path, text.encode("utf-8", "surrogatepass"))
    for lookup in project.nlu.lookups:
        if lookup.file is not None:
            _add(digest, lookup.name, "\n".join(lookup.elements).encode("utf-8", "surrogatepass"))
    if project.platform.has_languages:
        _add(
            digest,
            "sentences",
            "\n".join(f"{example.text}\t{example.intent}" for example in project.nlu.examples).encode(),
        )
    paths = (*_test_files(project.root, tests), *cases.sources, *_settings_file(inputs))
    others = {absolute_name(path): path for path in paths}
    for name, content in sorted((path.name, hashlib.sha256(_content(path)).digest()) for path in others.values()):
        _add(digest, name, content)
    return digest.hexdigest()


def _content(path: Path) -> bytes:
    """Return what is read of a file; nothing of one that is refused."""
    try:
        return read_regular(path, most=MAX_FILE_BYTES)
    except OSError:
        return b""


def _settings_file(inputs: Inputs) -> Iterator[Path]:
    if inputs.settings_file is not None:
        yield inputs.settings_file


def _test_files(root: Path, tests: Tests) -> Iterator[Path]:
    of_examples = {example.location.path for example in tests.nlu.examples} if tests.nlu is not None else set()
    of_stories = {story.location.path for story in tests.stories}
    for name in (*of_examples, *of_stories):
        yield root / name
    for named in tests.batch:
        yield from _files_at(file_and_case(named)[0])


def _files_at(path: Path) -> Iterable[Path]:
    return (found for found in path.rglob("*") if found.is_file()) if path.is_dir() else (path,)


def _add(digest: hashlib._Hash, name: str, content: bytes) -> None:
    digest.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode("utf-8", "surrogatepass"))
