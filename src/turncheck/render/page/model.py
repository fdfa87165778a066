"""What the page's script gets: the data behind the tables, the matrix and the transcripts.

`page/src/data.ts` has the same types. Columns of sentences are lists of equal length, since thousands of sentences are
smaller and faster so; a number in place of a name is an index (of ``labels``, ``files`` or ``training``), -1 is none.
Conversations are created while they are written: thousands of transcripts do not fit into memory at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, overload

import msgspec
from msgspec import Struct, structs

from turncheck.messages.finding import Location
from turncheck.render.links import Links, repository_path
from turncheck.report.codec import json_pieces

Side = Literal["", "worse", "better", "new", "edited"]
"""How a case changed sides: not at all, fails now, passes now, is new and fails, was edited."""


class _Part(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all parts."""


class File(_Part, frozen=True, kw_only=True):
    """A file of the repository; in ``line_address`` and ``base_address`` the line goes in place of ``{line}``."""

    path: str
    address: str | None = None
    line_address: str | None = None
    base_address: str | None = None


class Place(_Part, frozen=True, kw_only=True):
    """A line of a file; 0 if only the file is known."""

    file: int
    line: int


class Intent(_Part, frozen=True, kw_only=True):
    """One row of the table of intents; a side that did not judge it has ``None``."""

    name: int
    support: int | None
    precision: float | None
    recall: float | None
    f1: float | None
    base_f1: float | None
    change: str
    """The difference in words, as the first screen has it; empty if there is none."""
    worth: str
    """What it is worth, in words: ``real drop``, ``within noise`` …"""
    judgement: str
    """As in ``comparison.json``: ``better``, ``worse``, ``noise``, ``same``, ``not judged``; empty without a base."""
    shared: bool
    """Whether the figures are of the sentences that both sides judged only."""
    new: str
    """How many of its sentences are right, in words, if only this side judges it; else empty."""


class Training(_Part, frozen=True, kw_only=True):
    """Training sentences that are the neighbours of a judged one, in columns."""

    text: list[str]
    intent: list[int]
    file: list[int]
    line: list[int]


class Entity(_Part, frozen=True, kw_only=True):
    """An entity in a sentence, its borders in characters (code points)."""

    start: int
    end: int
    label: str
    value: str = ""
    """Its value, if that is not the text itself."""
    by: str = ""
    """The extractor that found it."""


class Entities(_Part, frozen=True, kw_only=True):
    """What was expected and found in one sentence."""

    expected: list[Entity]
    found: list[Entity]
    right: bool
    side: Side = ""


class Selection(_Part, frozen=True, kw_only=True):
    """The response of a retrieval intent: expected and selected."""

    expected: str
    selected: str
    side: Side = ""


class Sentences(_Part, frozen=True, kw_only=True):
    """Every judged sentence, in columns; what few of them have is listed by the sentence's index."""

    total: int
    """How many were judged, also where not all are listed."""
    key: list[str]
    text: list[str]
    expected: list[int]
    predicted: list[int]
    confidence: list[float]
    margin: list[float]
    """The lead over the second intent; -1 without a second."""
    fallback: list[int]
    """1 if a fallback follows."""
    file: list[int]
    line: list[int]
    side: dict[int, Side]
    base: dict[int, int]
    """What was predicted on the base, if that is known and another intent."""
    entities: dict[int, Entities]
    responses: dict[int, Selection]
    neighbours: dict[int, list[tuple[int, float]]]
    """Training sentence and similarity, the nearest first."""
    ranking: dict[int, list[tuple[int, float]]]
    runs: dict[int, str] = {}
    """The runs of those that do not pass each time: ``P`` passed, ``F`` failed."""
    repeated: dict[int, str] = {}
    """What these runs say: ``flaky``, ``failed``, ``regressed``, ``worse``, ``unclear``, ``not answered``."""


class Threshold(_Part, frozen=True, kw_only=True):
    """The pipeline's fallback, and what the report suggests."""

    now: float | None
    ambiguity: float | None
    suggested: float | None


class Turn(_Part, frozen=True, kw_only=True):
    """One line of a transcript."""

    who: Literal["user", "bot", "check"]
    expected: str
    """What is said, or what is expected."""
    actual: str | None = None
    """What came instead, if it failed."""
    outcome: Literal["passed", "failed", "skipped", "error", ""] = ""
    label: str = ""
    """What is checked: ``intent``, ``slot_was_set`` …"""
    heard: str = ""
    """What a message is understood as."""
    heard_before: str = ""
    """What it was understood as on the base."""
    place: Place | None = None
    details: list[tuple[str, str]] = []
    """Folded details: policy, confidence, slots …, each with its name."""


class Base(_Part, frozen=True, kw_only=True):
    """How a test fared on the base."""

    outcome: str
    actual: str = ""
    turns: list[Turn] = []
    """Its transcript there, of a test that changed sides or was edited."""
    runs: list[bool] = []
    """Whether each run passed that its runs here are compared with."""


class Conversation(_Part, frozen=True, kw_only=True):
    """A story, an end-to-end case or a batch case as a transcript."""

    key: str
    kind: Literal["story", "case", "batch"]
    name: str
    place: Place
    outcome: str
    side: Side
    misunderstood: bool = False
    base: Base | None = None
    reason: str = ""
    attempts: tuple[int, int] | None = None
    """How many times it passed, of how many."""
    runs: list[bool] = []
    """Whether it passed, run by run, if known."""
    repeated: Literal["", "flaky", "regressed", "worse"] = ""
    """What its runs say, if that is more than its outcome."""
    turns: list[Turn] = []
    of_failed_run: bool = False
    """Whether these are of the first run that failed, although the case passed."""
    events: list[str] = []
    remarks: list[str] = []


class Finding(_Part, frozen=True, kw_only=True):
    """One finding of validation."""

    code: str
    severity: str
    message: str
    hint: str
    place: Place
    others: list[Place]
    new: bool


class CoverageItem(_Part, frozen=True, kw_only=True):
    """A thing of the project; ``change`` is empty, ``added`` or ``changed``."""

    name: str
    place: Place
    covered: bool
    change: str


class Coverage(_Part, frozen=True, kw_only=True):
    """All things of one kind."""

    kind: str
    items: list[CoverageItem]
    total: int
    """How many there are, also where not all are listed."""
    reached: int


class Replaced(_Part, frozen=True, kw_only=True):
    """A component that is not run as it is."""

    component: str
    used: str | None
    reason: str


class NotRun(_Part, frozen=True, kw_only=True):
    """An evaluation that did not run, or not all of it."""

    what: str
    reason: str


class Assistant(_Part, frozen=True, kw_only=True):
    """All that the page shows of one report."""

    slug: str
    name: str
    compared: bool
    files: list[File]
    labels: list[str]
    intents: list[Intent]
    confusions: list[tuple[int, int, int]]
    """Expected intent, predicted intent, count."""
    base_confusions: list[tuple[int, int, int]]
    training: Training
    sentences: Sentences
    threshold: Threshold | None
    conversations: Sequence[Conversation]
    findings: list[Finding]
    manual: dict[str, str]
    """What the manual says of each code that was found."""
    coverage: list[Coverage]
    replaced: list[Replaced]
    not_run: list[NotRun]
    left_out: list[str]
    """What had to be left out so that the file is not too large, one sentence each."""


class PageData(_Part, frozen=True, kw_only=True):
    """All that the script gets."""

    assistants: list[Assistant]


def encode(data: PageData) -> Iterator[bytes]:
    """Yield it as JSON; the same data give the same bytes."""
    return json_pieces(data)


# Names that the page's data repeat a thousand times, each written once: files with their addresses, labels.

_LINE: Final = 987_654_321
"""A placeholder line number, to find where the line is in an address."""
NONE: Final = -1


class Files:
    """Numbers the files of a report, with their addresses in the measured commit and in the base's."""

    def __init__(self, root: str, links: Links) -> None:
        self._root = root
        self._links = links
        self._numbers: dict[str, int] = {}
        self.listed: list[File] = []

    def place(self, location: Location) -> Place:
        """Return a place as it is in the page's data."""
        return Place(file=self.number(location.path), line=location.line or 0)

    def number(self, path: str) -> int:
        """Return the index of a file."""
        if path not in self._numbers:
            self._numbers[path] = len(self.listed)
            self.listed.append(self._file(path))
        return self._numbers[path]

    def _file(self, path: str) -> File:
        whole, line = Location(path), Location(path, _LINE)
        return File(
            path=repository_path(self._root, whole) or path,
            address=self._links.file(self._root, whole),
            line_address=_with_blank(self._links.file(self._root, line)),
            base_address=_with_blank(self._links.file(self._root, line, base=True)),
        )


class Labels:
    """Numbers the intents of a report; no intent is -1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, name: str | None) -> int:
        """Return the index of an intent."""
        return NONE if name is None else self._numbers.setdefault(name, len(self._numbers))

    @property
    def listed(self) -> list[str]:
        """All names, in the order of their numbers."""
        return list(self._numbers)


def _with_blank(address: str | None) -> str | None:
    """Replace the line in the address by ``{line}``."""
    if address is None:
        return None
    before, _, after = address.rpartition(str(_LINE))
    return f"{before}{{line}}{after}"


class Listed(Struct, frozen=True):
    """What is known of a conversation before it is made."""

    make: Callable[[], Conversation]
    key: str
    outcome: str
    side: Side
    varies: bool
    """Whether its runs say more than its outcome."""


Change = Callable[[Conversation], Conversation]
Applies = Callable[[Listed], bool]


@dataclass(frozen=True, slots=True, eq=False)
class Conversations(Sequence[Conversation]):
    """Conversations, created anew on each iteration, with each of the ``changes`` that applies."""

    listed: tuple[Listed, ...]
    changes: tuple[tuple[Change, Applies], ...] = ()

    def __iter__(self) -> Iterator[Conversation]:
        """Create them, one by one."""
        return map(self._made, self.listed)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.listed)

    @overload
    def __getitem__(self, index: int) -> Conversation: ...
    @overload
    def __getitem__(self, index: slice) -> Conversations: ...

    def __getitem__(self, index: int | slice) -> Conversation | Conversations:
        """Create one, or return a slice without creating it."""
        if isinstance(index, slice):
            return replace(self, listed=self.listed[index])
        return self._made(self.listed[index])

    def __eq__(self, other: object) -> bool:
        """Whether all are equal."""
        if not isinstance(other, Sequence):
            return NotImplemented
        return self is other or (len(self) == len(other) and all(map(Conversation.__eq__, self, other)))

    __hash__ = None  # type: ignore[assignment]  # as lists have none

    def _made(self, listed: Listed) -> Conversation:
        made = structs.replace(listed.make(), key=listed.key)
        for change, applies in self.changes:
            if applies(listed):
                made = change(made)
        return made


def changed(conversations: Sequence[Conversation], change: Change, applies: Applies) -> Sequence[Conversation]:
    """Return the conversations with a change; the same object if it applies to none."""
    if not isinstance(conversations, Conversations) or not any(map(applies, conversations.listed)):
        return conversations
    return replace(conversations, changes=(*conversations.changes, (change, applies)))


def keys_of(conversations: Sequence[Conversation]) -> Iterator[str]:
    """Yield their keys, without creating them."""
    if isinstance(conversations, Conversations):
        return (listed.key for listed in conversations.listed)
    return (conversation.key for conversation in conversations)
