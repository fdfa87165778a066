"""The platform's answers → typed values. Shapes as in its documentation and in public tests.

Answers that lack something, or have another type, are refused; additional keys are allowed.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turncheck.messages.plain_text import whole_characters
from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


# The parts of the platform's answers: objects, strings and figures, or an error that says what is wrong.

Json = Any
_MOST: Final = 10**9
"""The largest figure of a run."""
_LONGEST: Final = 3000
"""The most characters of a name or a link."""
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)", re.ASCII)
_LONE_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class UnreadableError(ValueError):
    """An answer that is not what was expected; the message says what is wrong with it."""


def read_json(body: bytes) -> Json:
    """Return an answer's content, with only strings that can be written.

    Raises:
        UnreadableError: it is not JSON.
    """
    try:
        value = json.loads(body.decode("utf-8", "replace"))
        return whole_characters(value) if _LONE_SURROGATE.search(body) else value
    except (ValueError, RecursionError):
        raise UnreadableError("it is not JSON" if body.strip() else "it is empty") from None


def read_object(value: Json, name: str) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise UnreadableError(f"{name} is not an object")
    return value


def read_objects(value: Json, name: str) -> list[dict[str, Json]]:
    """Return the objects of a list; one object counts as a list of it, nothing as an empty one."""
    listed: Iterable[Json] = [] if value is None else [value] if isinstance(value, dict) else value
    if not isinstance(listed, list):
        raise UnreadableError(f"{name} is not a list")
    return [read_object(entry, f"an entry of {name}") for entry in listed]


def read_string(value: Mapping[str, Json], key: str) -> str:
    found = value.get(key)
    if not isinstance(found, str) or not found.strip():
        raise UnreadableError(f"`{key}` is not a string" if key in value else f"it has no `{key}`")
    if len(found) > _LONGEST:
        raise UnreadableError(f"`{key}` has more than {_LONGEST:,} characters")
    return found.strip()


def read_number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def read_count(counts: Mapping[str, Json], key: str) -> int:
    value = counts.get(key, 0)
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        value = int(value)
    number = read_number(value)
    if number is None or not number.is_integer() or not 0 <= number <= _MOST:
        raise UnreadableError(f"`{key}` is not a count")
    return int(number)


def read_share(value: Json) -> str:
    """Return a share as the platform writes it, ``""`` if it is not one."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,3}(\.\d{1,6})?", value.strip(), re.ASCII):
        return value.strip()
    number = read_number(value)
    return "" if number is None else f"{number:.2f}"


BUILT_IN: Final = {
    "AllMlUtterances": "Developer defined utterances",
    "Last100sentences": "Successful user utterances",
}
"""The platform's own suites: their names in its list, and the names to run them by."""
NOT_AN_INTENT: Final = frozenset({"", "none", "default fallback intent"})
"""The platform's names (folded for comparison) for "no intent"."""
_IN_LISTS: Final = ("name", "trait", "traitName")


class Understood(msgspec.Struct, frozen=True):
    """The answer of Find Intent. ``intents``: the winning ones, several if they are ambiguous, maybe of one name.

    ``confidences``: of intents, between 0 and 1, if the machine-learning engine found them. ``scores``: of intents,
    in the units of the engine that found them, so that they cannot be compared with each other. ``by_engine``: the
    scores of each of the platform's engines, by intent and engine (``Order Tea (ML)``). ``bots``: for a universal bot,
    the linked bot of each winning intent, "" where it is not known. ``state``: of the winning tasks, as in the
    platform's CSV.
    """

    intents: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    entities: Mapping[str, Any] = msgspec.field(default_factory=dict)
    scores: Mapping[str, float] = msgspec.field(default_factory=dict)
    confidences: Mapping[str, float] = msgspec.field(default_factory=dict)
    by_engine: Mapping[str, float] = msgspec.field(default_factory=dict)
    bots: tuple[str, ...] = ()
    state: str = ""


class Figures(msgspec.Struct, frozen=True):
    """The platform's counts of a run, and its shares as it writes them (two decimals)."""

    tp: int = 0
    tn: int = 0
    fp: int = 0
    fn: int = 0
    success: int = 0
    failure: int = 0
    entities: int = 0
    matched_entities: int = 0
    not_evaluated: int = 0
    precision: str = ""
    recall: str = ""
    f1: str = ""

    @property
    def all_passed(self) -> bool:
        """Whether every utterance and every entity is as expected."""
        return self.failure == 0 and self.matched_entities >= self.entities

    @property
    def tested_nothing(self) -> bool:
        """Whether no utterance could be evaluated."""
        return self.success + self.failure <= self.not_evaluated


class StoredRun(msgspec.Struct, frozen=True):
    """A run in the list; without ``figures`` it has no result. ``status``: as the list says it, if it does."""

    id: str
    version: str
    figures: Figures | None = None
    status: str = ""


class StoredSuite(msgspec.Struct, frozen=True):
    """A suite on the platform. ``name`` is the name to run it by."""

    id: str
    name: str
    description: str
    is_built_in: bool
    runs: tuple[StoredRun, ...] = ()


class SuitePage(msgspec.Struct, frozen=True):
    """One page of the list of suites. ``is_last``: whether there is no further one."""

    suites: tuple[StoredSuite, ...]
    is_last: bool


_UNDER_WAY: Final = frozenset({"running", "inprogress", "accepted", "cancelling", "canceling"})
_CANCELLED: Final = frozenset({"cancelled", "canceled"})


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run: the platform's status, the progress, and finally the result.

    ``message``: its explanation of a failure. ``started`` and ``ended``: as the platform writes times. ``notes``: those
    that it keeps of the run. ``report``: a signed link to the CSV, which is never shown.
    """

    status: str
    ran: int | None = None
    total: int | None = None
    is_partial: bool = False
    figures: Figures | None = None
    message: str = ""
    started: str = ""
    ended: str = ""
    notes: str = ""
    report: str | None = field(default=None, repr=False)

    @property
    def is_under_way(self) -> bool:
        """Whether it is still worth waiting."""
        return re.sub(r"[^a-z]", "", self.status.lower()) in _UNDER_WAY

    @property
    def is_completed(self) -> bool:
        """Whether it was completed."""
        return self.status.lower() == "completed"

    @property
    def is_cancelled(self) -> bool:
        """Whether somebody cancelled it: then there is no CSV."""
        return self.status.lower() in _CANCELLED


@dataclass(frozen=True, slots=True)
class ExportState:
    """The state of the export of an assistant. ``link``: a signed link to the zip, which is never shown."""

    id: str
    status: str
    link: str | None = field(default=None, repr=False)


def read_understood(answer: Json) -> Understood:
    """Read the answer of Find Intent.

    Raises:
        UnreadableError: it is not such an answer.
    """
    response = read_object(answer, "the answer").get("response")
    if not isinstance(response, dict):
        raise UnreadableError("it has no `response`")
    resolver = read_object(response.get("finalResolver") or {}, "`finalResolver`")
    if "result" not in response and "winningIntent" not in resolver:
        raise UnreadableError("it has neither `result` nor `winningIntent`")
    winners = read_objects(resolver.get("winningIntent"), "`winningIntent`")
    won = [(read_string(winner, "intent"), winner) for winner in winners]
    if not won and response.get("result") == "successintent" and response.get("task"):
        won = [(read_string(response, "task"), response)]
    intents = [_Named(name, _first_string(entry, ("taskId",)), _bot_in(entry)) for name, entry in won]
    intents = list(dict.fromkeys(intent for intent in intents if comparable(intent.intent) not in NOT_AN_INTENT))
    states = (_first_string(winner, ("state",)).capitalize() for _, winner in won)
    scores = {read_string(winner, "intent"): score for winner in winners if (score := read_number(winner.get("score")))}
    for ranked in read_objects(resolver.get("ranking"), "`ranking`"):
        score = read_number(ranked.get("totalScore"))
        if isinstance(ranked.get("intent"), str) and score is not None:
            scores.setdefault(ranked["intent"].strip(), score)
    return Understood(
        tuple(intent.intent for intent in intents),
        _traits(response.get("traits")),
        _entities(resolver.get("entities")),
        {name: score for name, score in scores.items() if comparable(name) not in NOT_AN_INTENT},
        _confidences(resolver),
        _by_engine(response, resolver),
        tuple(intent.bot or _bot_of(intent, intents, _others(response, resolver)) for intent in intents),
        "|".join(dict.fromkeys(filter(None, states))),
    )


_ENGINES: Final = (
    ("FM", "fm", ("score",)),
    ("ML", "ml", ("score", "mlScore")),
    ("KG", "faq", ("faqScore", "score")),
)
"""The platform's engines: their names in its CSV, their keys in an answer, and those of their scores."""


def _by_engine(response: Mapping[str, Json], resolver: Mapping[str, Json]) -> dict[str, float]:
    """Return the score of each intent by each engine that found it; what cannot be read is left out."""
    found: dict[str, float] = {}
    for engine, part, keys in _ENGINES:
        for entry in _entries(response.get(part), "definitive", "possible"):
            name = _first_string(entry, ("task", "primaryQuestion", "intent", "activity"))
            numbers = (read_number(entry.get(key)) for key in keys)
            score = next((number for number in numbers if number is not None), None)
            if name and score is not None:
                found.setdefault(f"{name} ({engine})", score)
    for ranked in _entries(resolver, "ranking"):
        name, scoring, by = _first_string(ranked, ("intent",)), ranked.get("scoring"), ranked.get("identifyingEngines")
        if not name or not isinstance(scoring, dict):
            continue
        of_fm = "score" if isinstance(by, dict) and by.get("fm") is True else ""
        for engine, key in (("FM", of_fm), ("ML", "mlScore"), ("KG", "faqScore")):
            if (score := read_number(scoring.get(key))) is not None:
                found.setdefault(f"{name} ({engine})", score)
    return found


class _Named(msgspec.Struct, frozen=True):
    """An intent in an answer, with its task and linked bot as far as they are named there."""

    intent: str
    task: str
    bot: str


def _others(response: Mapping[str, Json], resolver: Mapping[str, Json]) -> list[_Named]:
    """Return all that the ranking and the engines name."""
    found = _entries(resolver, "ranking")
    found += [entry for key in ("fm", "ml", "faq") for entry in _entries(response.get(key), "definitive", "possible")]
    return [_Named(_first_string(one, _NAMES), _first_string(one, ("taskId",)), _bot_in(one)) for one in found]


def _bot_in(entry: Mapping[str, Json]) -> str:
    scoring = entry.get("scoring")
    return _first_string(entry, _BOTS) or _first_string(scoring if isinstance(scoring, dict) else {}, _BOTS)


def _bot_of(winner: _Named, winners: Sequence[_Named], named: Iterable[_Named]) -> str:
    """Return the bot of a winner as others name it. Linked bots may have intents of one name: the task tells them."""
    is_alone = sum(one.intent == winner.intent for one in winners) == 1
    for one in named:
        is_open = is_alone and not (one.task and winner.task)
        if one.bot and one.intent == winner.intent and (is_open or (one.task and one.task == winner.task)):
            return one.bot
    return ""


_NAMES: Final = ("intent", "task", "primaryQuestion")
_BOTS: Final = ("botName", "botname", "childBotName")


def _entries(part: Json, *keys: str) -> list[dict[str, Json]]:
    """Return the objects in these lists; anything else in an answer that has them is ignored."""
    if not isinstance(part, dict):
        return []
    lists = (part.get(key) for key in keys)
    return [entry for listed in lists if isinstance(listed, list) for entry in listed if isinstance(entry, dict)]


def _first_string(entry: Mapping[str, Json], keys: Iterable[str]) -> str:
    values = (entry.get(key) for key in keys)
    return next((value.strip() for value in values if isinstance(value, str) and value.strip()), "")


def _traits(traits: Json) -> tuple[str, ...]:
    """Return the keys of the object, and the names in lists; no public example has one that is not empty."""
    names: list[Json] = list(traits) if isinstance(traits, dict) else []
    lists = traits.values() if isinstance(traits, dict) else [traits]
    entries = (entry for listed in lists if isinstance(listed, list) for entry in listed)
    names += (_named(entry) if isinstance(entry, dict) else entry for entry in entries)
    return tuple(dict.fromkeys(trimmed for name in names if isinstance(name, str) and (trimmed := name.strip())))


def _named(entry: Mapping[str, Json]) -> Json:
    return next((entry[key] for key in _IN_LISTS if key in entry), None)


def _entities(entities: Json) -> dict[str, Any]:
    """Return values by name; several with one name as a list."""
    found: dict[str, list[Any]] = {}
    for entity in read_objects(entities, "`entities`"):
        value = entity.get("value")
        found.setdefault(read_string(entity, "field"), []).extend(value if isinstance(value, list) else [value])
    return {name: values[0] if len(values) == 1 else values for name, values in found.items()}


def _confidences(resolver: Mapping[str, Json]) -> dict[str, float]:
    found: dict[str, float] = {}
    for ranked in read_objects(resolver.get("ranking"), "`ranking`"):
        scoring = ranked.get("scoring")
        score = read_number(scoring.get("mlScore")) if isinstance(scoring, dict) else None
        if isinstance(ranked.get("intent"), str) and score is not None and 0 <= score <= 1:
            found.setdefault(ranked["intent"].strip(), score)
    return found


def read_suites(answer: Json) -> SuitePage:
    """Read a page of the list of suites.

    Raises:
        UnreadableError: it is not such an answer.
    """
    page = read_object(answer, "the answer")
    if "count" not in page and "moreAvailable" not in page:
        raise UnreadableError("it has no `count`")
    suites = tuple(_suite(key, member) for key, member in page.items() if _is_suite(member))
    return SuitePage(suites, is_last=page.get("moreAvailable") is not True)


def _is_suite(member: Json) -> bool:
    return isinstance(member, dict) and "testSuiteType" in member


def _suite(key: str, member: Mapping[str, Json]) -> StoredSuite:
    name, description = member.get("name"), member.get("description")
    return StoredSuite(
        key,
        name if isinstance(name, str) and name else BUILT_IN.get(key, key),
        description if isinstance(description, str) else "",
        is_built_in=member.get("testSuiteType") != "custom",
        runs=tuple(
            StoredRun(
                str(run.get("_id", "")),
                str(run.get("version", "")),
                _figures(run) if run.get("results") and not _is_cancelled(run) else None,
                _first_string(run, ("status",)),
            )
            for run in read_objects(member.get("results"), "`results`")
        ),
    )


def _is_cancelled(run: Mapping[str, Json]) -> bool:
    """Whether this run of the list was cancelled: counts that it has are of a part."""
    return _first_string(run, ("status",)).lower() in _CANCELLED


def read_file_id(answer: Json) -> str:
    """Read the answer of an upload.

    Raises:
        UnreadableError: it is not such an answer.
    """
    return read_string(read_object(answer, "the answer"), "fileId")


def read_imported(answer: Json) -> str:
    """Read the answer of an import: the suite's id.

    Raises:
        UnreadableError: it is not such an answer.
    """
    return read_string(read_object(answer, "the answer"), "_id")


def read_accepted(answer: Json) -> str:
    """Read the answer to the start of a run: its id.

    Raises:
        UnreadableError: it is not such an answer.
    """
    return read_string(read_object(answer, "the answer"), "requestId")


def read_state(given: Json) -> RunState:
    """Read the state of a run.

    Raises:
        UnreadableError: it is not such an answer, or the run is completed and has no figures.
    """
    answer = read_object(given, "the answer")
    status = read_string(answer, "status")
    message, known = answer.get("message"), answer.get("result")
    about = known if isinstance(known, dict) else {}
    if (of_result := _first_string(about, ("status",))).lower() in _CANCELLED:
        status = of_result
    state = RunState(
        status,
        read_count(answer, "utterance_ran") if "utterance_ran" in answer else None,
        read_count(answer, "totalUtterances") if "totalUtterances" in answer else None,
        message=message if isinstance(message, str) else "",
        started=_time(about.get("startTime")),
        ended=_time(about.get("endTime")),
        notes=_first_string(about, ("notes",)),
    )
    if not state.is_completed:
        return state
    result = read_object(known, "`result`")
    link = result.get("fileUrl")
    return replace(
        state,
        ran=None,
        total=None,
        message="",
        is_partial=result.get("isPartialFailure") is True,
        figures=_figures(result),
        report=link if isinstance(link, str) and link else None,
    )


def _time(value: Json) -> str:
    return value if isinstance(value, str) and _TIME.fullmatch(value) else ""


def _figures(result: Mapping[str, Json]) -> Figures:
    counts = read_object(result.get("results"), "`results`")
    tp, tn, fp, fn = (read_count(counts, name) for name in ("TP", "TN", "FP", "FN"))
    failed = read_count(counts, "failedUtteranceCount")
    return Figures(
        tp,
        tn,
        fp,
        fn,
        read_count(counts, "success") if "success" in counts else tp + tn,
        read_count(counts, "failure") if "failure" in counts else fp + fn + failed,
        read_count(counts, "totalEntitiesCount"),
        read_count(counts, "matchedEntitiesCount"),
        failed,
        *(read_share(result.get(name)) for name in ("precision", "recall", "f1_score")),
    )


def read_link(answer: Json) -> str:
    """Read the address of a suite's export.

    Raises:
        UnreadableError: it is not such an answer.
    """
    return read_string(read_object(answer, "the answer"), "downloadUrl")


def read_message(answer: Json) -> str:
    """Read the answer to a deletion.

    Raises:
        UnreadableError: it is not such an answer.
    """
    message = read_object(answer, "the answer").get("message")
    return message if isinstance(message, str) else ""


def read_export(given: Json) -> ExportState:
    """Read the state of the export.

    Raises:
        UnreadableError: it is not such an answer.
    """
    answer = read_object(given, "the answer")
    link, key = answer.get("downloadURL"), answer.get("_id")
    return ExportState(
        key if isinstance(key, str) else "",
        read_string(answer, "status"),
        link if isinstance(link, str) and link else None,
    )
