"""Merges shards: the run of which each measured a part, with all answers known."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
from msgspec import Struct, structs

from turncheck import __version__
from turncheck.ci.hosts import find_host
from turncheck.engines.base import Capabilities, Engine, Part
from turncheck.evaluations.answers import UnfitAnswerError
from turncheck.evaluations.written_answers import ANSWER_TYPES, AnswerReader, UnreadableError
from turncheck.messages.errors import BeyondLimitError, UserError
from turncheck.messages.finding import Location
from turncheck.messages.phrasing import count
from turncheck.process.cache import difference_of_software, software
from turncheck.project.e2e.cases import read_cases
from turncheck.run.inputs import Inputs, PrecomputedAnswers
from turncheck.run.shards import document
from turncheck.settings.engines import ENGINES
from turncheck.settings.parsers import Shard, part_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.project.model import Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import EngineInfo
    from turncheck.run.prepare import Prepared
    from turncheck.run.reading import Tests

_MOST_NAMED: Final = 5
_UNKNOWN: Final = object()
_AGAIN: Final = "Measure all shards of one commit with the same settings and the same version of turncheck."


class MissingAnswerError(Exception):
    """No shard has the answer to a unit. Never reported as a fault of the project."""


class Shards(Struct, frozen=True):
    """All shards of one run, in order; ``folders`` are theirs."""

    heads: tuple[document.ShardHead, ...]
    folders: tuple[Path, ...]

    @property
    def settings(self) -> Mapping[str, Any]:
        """The flags or inputs of all of them."""
        return self.heads[0].settings

    def precomputed(self, engine: str) -> PrecomputedAnswers:
        """Return the head start of the merging run, with the engine of this name.

        Raises:
            UserError: the answers of one shard cannot be read.
        """
        shared: dict[str, Any] = {}
        for head, folder in zip(self.heads, self.folders, strict=True):
            shared |= _shared_answers(folder, head)
        parts: dict[Part, EngineInfo] = {}
        refused: dict[Evaluation, UserError] = {}
        for head in reversed(self.heads):
            parts |= cast("dict[Part, EngineInfo]", head.engine.parts)
            for name, refusal in head.refused.items():
                location = None if refusal.path is None else Location(refusal.path, refusal.line, refusal.column)
                kind = BeyondLimitError if refusal.limit else UserError
                refused[name] = kind(refusal.what, location=location, hint=refusal.hint)
        # An engine that only needs files is created from its project; others were asked where the shards ran.
        engines = None if ENGINES[engine].from_files else self._engines
        answers, too_many = MergedAnswers(self.folders, shared), any(head.too_many for head in self.heads)
        return PrecomputedAnswers(answers, parts, refused, engines, self.ensure_same_state, too_many)

    def _engines(self, project: Project) -> Engine:
        """Return an engine that was asked elsewhere, as the shards describe it."""
        asked = [head for head in self.heads if head.units] or self.heads[:1]
        engine = asked[0].engine
        if any(head.engine.info.notes != engine.info.notes for head in asked):
            notes = tuple(f"Shard {one.number}/{one.count}: {note}" for one in asked for note in one.engine.info.notes)
            engine = structs.replace(engine, info=structs.replace(engine.info, notes=notes))
        return AskedElsewhere(project, engine)

    def ensure_same_state(self, inputs: Inputs, project: Project, tests: Tests) -> None:
        """Make sure that the files here are those that the shards measured.

        Raises:
            UserError: it is another commit, other files, or other libraries.
        """
        first = self.heads[0]
        faults = []
        if inputs.source.commit != first.source.commit:
            here = inputs.source.commit[:12] if inputs.source.commit else "(unknown)"
            faults.append(f"the shards measured the commit {_short(first)}, this is {here}")
        if first.project != document.project_digest(inputs, project, tests, read_cases(project.root, tests.e2e)):
            faults.append("the shards measured files of the project that differ from the ones here")
        if libraries := difference_of_software(first.versions, software()):
            faults.append(f"the shards were measured with software that differs from the one here: {libraries}")
        if faults:
            more = "".join(f"\n- {fault}" for fault in faults)
            raise UserError(f"the shards cannot be merged here:{more}", hint=_AGAIN)


class MergedAnswers:
    """The answers of all shards. A missing one is never measured here: it would be a gap.

    A run asks in the order in which its shards were asked, and each question once. So their files are read on from
    answer to answer, and only what is passed by on the way to another is kept.
    """

    def __init__(self, folders: Sequence[Path], shared: Mapping[str, Any]) -> None:
        self._shared = shared
        self._unread = [document.read_answers(folder) for folder in folders]
        self._passed: dict[str, Any] = {}
        self._reader = AnswerReader()

    def known(self, unit: str) -> Any:
        """Return the answer to a unit.

        Raises:
            MissingAnswerError: there is none, it cannot be read, or it answers something else.
            UserError: the file of its shard cannot be read.
        """
        try:
            answer = self._reader.value_of(self._plain(unit))
        except (KeyError, UnreadableError) as error:
            raise MissingAnswerError(unit) from error
        # No answer at all would be taken for one that is asked elsewhere: a gap.
        if not isinstance(answer, ANSWER_TYPES.get(unit.partition(":")[0], ())):
            raise MissingAnswerError(unit)
        return answer

    def _plain(self, unit: str) -> Any:
        if unit in self._shared:
            return self._shared[unit]
        if unit not in self._passed:
            for found, plain in self._unread[part_of(unit, len(self._unread)) - 1]:
                if found == unit:
                    return plain
                self._passed[found] = plain
        return self._passed.pop(unit)

    def is_asked(self, unit: str) -> bool:  # noqa: ARG002
        """No units are."""
        return False

    def keep(self, unit: str, answer: Any) -> None:
        """Never called with anything new."""


@dataclass(eq=False)
class AskedElsewhere(Engine):
    """An engine as the shards describe it: it does not answer any more."""

    project: Project
    head: document.EngineHead

    @property
    def capabilities(self) -> Capabilities:
        """Its own capabilities, except that no case is judged again."""
        return Capabilities(**{**self.head.capabilities, "accepts_parses": False})

    def info(self, *, measured: EngineInfo | None = None, conversations: bool = True) -> EngineInfo:  # noqa: ARG002
        """Return its description."""
        return self.head.info

    def needs(self, evaluation: Evaluation, *, in_folds: bool = False) -> AbstractSet[str]:  # noqa: ARG002
        """Return the parts of the project that it needed."""
        return frozenset(self.head.needs.get(evaluation, ()))

    @property
    def domain(self) -> DialogueDomain:
        """The project's own."""
        from turncheck.dialogue.domain import DialogueDomain

        return DialogueDomain.of(self.project)

    @property
    def understands(self) -> bool:
        """Whether it did."""
        return self.head.understands

    @property
    def nlu_trainer(self) -> Any:
        """Nothing is trained any more: with all folds known, no other is requested."""
        return None


def prepare_merge(
    folders: Sequence[Path], own: Mapping[str, Any], environment: Mapping[str, str], *, in_action: bool = False
) -> tuple[Prepared, PrecomputedAnswers]:
    """Prepare the run that merges shards.

    Args:
        folders: the shards' folders, or the folder that they are in.
        own: the settings of this job.
        environment: the variables of the process.
        in_action: as in :func:`turncheck.run.prepare.prepare`.

    Raises:
        UserError: the shards do not make up one run, or not the run of this job.
    """
    from turncheck.run.prepare import prepare  # inspects the environment, which reading shards does not need

    shards = read_shards(folders)
    takes_project = not in_action and not find_host(environment).name
    given = document.settings_given(shards.settings, own, takes_project=takes_project)
    prepared = prepare(given, environment, in_action=in_action)
    return prepared, shards.precomputed(prepared.settings.engine)


@contextmanager
def explain_missing_answers() -> Iterator[None]:
    """Report an answer that no shard has as incomplete shards.

    Raises:
        UserError: there was one.
    """
    try:
        yield
    except (MissingAnswerError, UnfitAnswerError) as error:
        raise UserError(f"the shards cannot be merged: none of them has the answer to `{error}`", hint=_AGAIN) from None


def find_shards(folders: Iterable[Path]) -> list[Path]:
    """Return the folders of shards: the named ones, or those directly below them (as downloads leave them)."""
    paths: list[Path] = []
    for folder in folders:
        if not folder.is_dir():
            raise UserError(f"no such folder: {folder}", hint="Name the folders that `run --shard` wrote (--out).")
        below = (
            []
            if (folder / document.HEAD_NAME).is_file()
            else sorted(path.parent for path in folder.glob(f"*/{document.HEAD_NAME}"))
        )
        paths += below or [folder]
    return paths


def read_shards(folders: Sequence[Path]) -> Shards:
    """Read the shards of one run.

    Raises:
        UserError: one is missing, appears twice, belongs to another run, or was not finished; everything that is wrong
            is in the message.
    """
    pairs = sorted(
        ((document.read_head(folder), folder) for folder in find_shards(folders)), key=lambda pair: pair[0].number
    )
    heads, paths = tuple(head for head, _ in pairs), tuple(folder for _, folder in pairs)
    if not heads:
        raise UserError("no shards are named", hint="Name the folders that `run --shard` wrote (--out).")
    faults = [*_incomplete(pairs), *_foreign(pairs), *_invalid(pairs)]
    faults += [
        f"shard {head.number}/{head.count} ({folder}) failed: {head.stopped}"
        for head, folder in pairs
        if head.stopped is not None
    ]
    if faults:
        more = "".join(f"\n- {fault}" for fault in faults)
        raise UserError(f"the shards cannot be merged:{more}", hint=_AGAIN)
    return Shards(heads, paths)


def _shared_answers(folder: Path, head: document.ShardHead) -> dict[str, Any]:
    """Return the answers to what every shard measures; make sure that all others are to the shard's own units.

    Raises:
        UserError: they cannot be read, or are not its own.
    """
    document.ensure_undamaged(folder, head)
    shard = Shard(head.number, head.count)
    shared: dict[str, Any] = {}
    foreign = []
    units: Counter[str] = Counter()
    for unit, plain in document.read_answers(folder):
        units[unit.partition(":")[0]] += 1
        if ":" not in unit:
            shared[unit] = plain
        elif not shard.holds(unit):
            foreign.append(unit)
    if foreign:
        raise UserError(
            f"shard {shard} ({folder}) has answers of another shard: `{foreign[0]}`"
            + (f" and {count(len(foreign) - 1, 'other')}" if len(foreign) > 1 else ""),
            hint=_AGAIN,
        )
    if wrong := [kind for kind in sorted({*units, *head.units}) if units[kind] != head.units.get(kind, 0)]:
        kind = wrong[0]
        raise UserError(
            f"shard {shard} ({folder}) has {count(units[kind], 'answer')} of the kind `{kind}`, but measured "
            f"{head.units.get(kind, 0)}",
            hint=_AGAIN,
        )
    return shared


def _times(number: int) -> str:
    return "twice" if number == 2 else count(number, "time")


def _incomplete(pairs: Sequence[tuple[document.ShardHead, Path]]) -> list[str]:
    of = pairs[0][0].count
    there: dict[int, list[Path]] = {}
    for head, folder in pairs:
        there.setdefault(head.number, []).append(folder)
    faults = [
        f"shard {number}/{of} appears {_times(len(folders))}: {', '.join(map(str, folders))}"
        for number, folders in there.items()
        if len(folders) > 1
    ]
    missing = [f"{number}/{of}" for number in range(1, of + 1) if number not in there]
    if missing:
        more = f" and {count(len(missing) - _MOST_NAMED, 'other')}" if len(missing) > _MOST_NAMED else ""
        one = len(missing) == 1
        names = f"{'shard' if one else 'shards'} {', '.join(missing[:_MOST_NAMED])}{more}"
        faults.append(f"{names} {'is' if one else 'are'} missing")
    return faults


def _invalid(pairs: Sequence[tuple[document.ShardHead, Path]]) -> list[str]:
    """Return what shards contain that this version of turncheck never wrote."""
    faults = []
    for head, folder in pairs:
        name = f"shard {head.number}/{head.count} ({folder})"
        faults += [f"{name} has an invalid setting: {fault}" for fault in document.faults_of_settings(head.settings)]
        faults += [f"{name} has an invalid capability: `{fault}`" for fault in _odd_capabilities(head.engine)]
    return faults


def _odd_capabilities(head: document.EngineHead) -> list[str]:
    usual = msgspec.structs.asdict(Capabilities())
    return sorted(name for name, value in head.capabilities.items() if not _is_like(value, usual.get(name, _UNKNOWN)))


def _is_like(value: Any, usual: Any) -> bool:
    """Whether a capability has the type of its usual value: a switch, names with reasons, or one reason."""
    if usual is _UNKNOWN:
        return False
    if isinstance(usual, bool):
        return isinstance(value, bool)
    if isinstance(usual, dict):
        return isinstance(value, dict) and all(isinstance(reason, str) for reason in value.values())
    return value is None or isinstance(value, str)


def _foreign(pairs: Sequence[tuple[document.ShardHead, Path]]) -> list[str]:
    """What distinguishes shards of several runs, and of other versions of turncheck."""
    faults = []
    first = pairs[0][0]
    for head, folder in pairs:
        name = f"shard {head.number}/{head.count} ({folder})"
        if not 1 <= head.number <= head.count:
            faults.append(f"{name} is not a part that there can be")
        if head.count != first.count:
            faults.append(f"{name} is one of {head.count}, not of {first.count}")
        if head.tool.version != __version__:
            faults.append(f"{name} was measured by turncheck {head.tool.version}, this is {__version__}")
        if (head.source.repository, head.source.commit) != (first.source.repository, first.source.commit):
            faults.append(f"{name} is from the commit {_short(head)}, not from {_short(first)}")
        if head.project != first.project:
            faults.append(f"{name} was measured with other files of the project")
        if settings := _difference(head, first):
            faults.append(f"{name} was measured with other settings: {settings}")
        if libraries := difference_of_software(head.versions, first.versions):
            faults.append(f"{name} was measured with other software: {libraries}")
        if head.custom_code != first.custom_code:
            faults.append(f"{name} was measured {'with' if head.custom_code else 'without'} --allow-custom-code")
    asked = [(head, folder) for head, folder in pairs if head.units]
    for head, folder in asked[1:]:
        name, of = f"shard {head.number}/{head.count} ({folder})", asked[0][0]
        if (engine := _answered_by(head)) != (other := _answered_by(of)):
            faults.append(f"{name} was answered by {engine}, shard {of.number} by {other}")
        one, another = head.engine.capabilities, of.engine.capabilities
        if differing := sorted(key for key in one.keys() | another.keys() if one.get(key) != another.get(key)):
            faults.append(f"{name} was answered in another way than shard {of.number}: {', '.join(differing)}")
    return faults


def _answered_by(head: document.ShardHead) -> str:
    """Name the engine that a shard asked; the place of a model does not matter, and it may have been trained there."""
    info = head.engine.info
    model = f" with the model {PurePath(info.model).name}" if info.model else ""
    return f"{info.name} {info.version}{model}"


def _short(head: document.ShardHead) -> str:
    return head.source.commit[:12] if head.source.commit else "(unknown)"


def _difference(head: document.ShardHead, first: document.ShardHead) -> str:
    one, other, there = head.settings, first.settings, f"for shard {first.number}/{first.count}"
    names = sorted(n for n in one.keys() | other.keys() if n != "project" and one.get(n) != other.get(n))
    return "; ".join(
        f"`{name.replace('_', '-')}` is {document.setting_shown(one.get(name))} here, "
        f"{document.setting_shown(other.get(name))} {there}"
        for name in names
    )
