"""Stories, end-to-end cases and batch cases as transcripts: what was said, expected and done, turn by turn."""

from __future__ import annotations

import json
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Generic, Literal

import msgspec
from msgspec import Struct, UnsetType

from turncheck.comparison.cases import judged_again
from turncheck.comparison.matching import Result, ResultsByPlace, places_of
from turncheck.comparison.misunderstood import understanding_in_words
from turncheck.comparison.model import BaseTests, Comparison
from turncheck.comparison.quarantine import entry_of
from turncheck.render.case_keys import CaseKeys
from turncheck.render.page.model import Base, Conversation, Conversations, Files, Listed, Side, Turn
from turncheck.render.wording.causes import why_in_words
from turncheck.render.wording.figures import figure
from turncheck.render.wording.tests import quarantine_in_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.messages.finding import Location
    from turncheck.render.links import PathResolver
    from turncheck.report import model


# What the assistant did in a turn of an end-to-end case, in lines that are folded.


def trace_in_words(trace: model.TurnTrace | None) -> list[tuple[str, str]]:
    """Return slots, form and events of a turn, each with its name; nothing if they are not known."""
    if trace is None:
        return []
    events = [_event(event) for event in trace.events]
    events += [f"… and {trace.left_out:,} more"] if trace.left_out else []
    parts = [
        ("events", "\n".join(events)),
        ("slots then", slots_in_words(trace.slots)),
        ("active form", trace.active_loop or ""),
    ]
    return [(name, text) for name, text in parts if text]


def _measured_in_words(turn: model.MeasuredTurn | UnsetType) -> list[tuple[str, str]]:
    """Return what a turn took, each with its name; what is not known is left out."""
    if isinstance(turn, UnsetType):
        return []
    amounts = (
        ("first message after", turn.first_ms if turn.first_ms != turn.ms else None, " ms"),
        ("last message after", turn.ms, " ms"),
        ("tokens read", turn.tokens_in, ""),
        ("tokens written", turn.tokens_out, ""),
        ("cost", turn.cost, ""),
    )
    shown = [(name, f"{figure(value, 'amount')}{unit}") for name, value, unit in amounts if value is not None]
    return [*shown, *([("trace", turn.trace)] if turn.trace else [])]


def slots_in_words(slots: Mapping[str, object]) -> str:
    """Return slots, one per line."""
    return "\n".join(f"{name}: {as_text(value)}" for name, value in slots.items())


def as_text(value: object) -> str:
    """Return a value of a slot as it is shown: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _event(event: model.TurnEvent) -> str:
    name = event.name or ""
    match event.kind:
        case "action":
            sure = f"{event.confidence:.2f}" if event.confidence is not None else ""
            behind = ", ".join(part for part in (event.policy or "", sure) if part)
            return f"action {name or as_text(event.value)}{f' ({behind})' if behind else ''}"
        case "slot":
            return f"slot {name}: {as_text(event.value)}"
        case "bot":
            said = as_text(event.value) if event.value is not None else "without text"
            return f"bot {name}: {said}" if name else f"bot: {said}"
        case "active_loop":
            return f"form {name}" if name else "no form"
        case _:
            value = f": {as_text(event.value)}" if event.value is not None else ""
            return f"{event.kind.replace('_', ' ')} {name}{value}".rstrip()


_LISTENS: Final = "action_listen"
_WAITS: Final = "waits for the user"


def _in_words(action: str) -> str:
    return _WAITS if action == _LISTENS else action


_MOST_EVENTS: Final = 200


def conversations(
    report: model.Report, comparison: Comparison | None, files: Files, rooted: PathResolver
) -> Conversations:
    """Return every test that is a conversation: those that fail, those that changed, then the others."""
    made = _Transcripts(files, report, rooted)
    stories = report.core.stories if report.core else ()
    cases = report.e2e.cases if report.e2e else ()
    batch = [case for suite in (report.batch.suites if report.batch else ()) for case in suite.cases]
    keys = CaseKeys(report)
    compared = comparison if comparison is not None and comparison.judged else None
    before = compared.base_tests if compared else BaseTests()
    changed_stories = _Changes(compared.stories if compared else None, before.stories)
    changed_cases = _Changes(compared.e2e if compared else None, before.e2e)
    changed_batch = _Changes(compared.batch if compared else None, before.batch)
    makers: list[Callable[[], Conversation]] = [
        *(partial(made.story, story, changed_stories) for story in stories),
        *(partial(made.end_to_end, case, changed_cases) for case in cases),
        *(partial(made.batch, case, changed_batch) for case in batch),
    ]
    # Each is made once here, so that the files it names get their numbers in the report's order.
    listed = [_listed(make, key) for make, key in zip(makers, (*keys.stories, *keys.cases, *keys.batch), strict=True)]
    return Conversations(tuple(sorted(listed, key=_worst_first)))


def _listed(make: Callable[[], Conversation], key: str) -> Listed:
    conversation = make()
    return Listed(make, key, conversation.outcome, conversation.side, bool(conversation.repeated))


def _worst_first(listed: Listed) -> int:
    if listed.outcome in {"failed", "error"}:
        return 0
    return 1 if listed.outcome in {"misunderstood", "unclear"} else 2 if listed.side or listed.varies else 3


class _Changes(Generic[Result]):
    """How the tests of a kind changed sides. A test is identified by its name, or by its place if several have it."""

    def __init__(self, cases: ChangedCases | None, before: Iterable[Result]) -> None:
        self._compared = cases is not None
        self._found: dict[str, list[tuple[Side, CaseChange]]] = {}
        if cases is not None:
            sides: tuple[tuple[Side, Iterable[CaseChange]], ...] = (
                ("worse", (*cases.became_wrong, *cases.newly_misunderstood)),
                ("new", cases.added_failing),
                ("better", cases.better),
                ("edited", cases.edited),
            )
            for side, listed in sides:
                for case in listed:
                    self._found.setdefault(case.name, []).append((side, case))
        listed = [case for found in self._found.values() for _, case in found]
        self._before: ResultsByPlace[Result] = ResultsByPlace(before, listed)

    def of(self, name: str, result: Result) -> tuple[Side, CaseChange | None]:
        """Return how the test of this name changed."""
        locations = places_of(result)
        exact = [(side, case) for side, case in self._found.get(name, []) if case.location in locations]
        return next(iter(exact), ("", None))

    def base(self, case: CaseChange | None, outcome: str, turns: Callable[[Result], Iterable[Turn]]) -> Base | None:
        """Return how the test fared on the base; one that did not change fared the same.

        ``turns`` makes the transcript of a result. It has no places: the base's lines are not those of this side.
        """
        if not self._compared:
            return None
        if case is None:
            return Base(outcome=outcome)
        if case.base_passed is None:
            return Base(outcome="not there")
        was = "misunderstood" if case.base_misunderstood else "passed" if case.base_passed else "failed"
        before = self._before.base_of(case)
        said = [] if before is None else [msgspec.structs.replace(turn, place=None) for turn in turns(before)]
        return Base(outcome=was, actual=case.base_actual, turns=said)


class _Transcripts(Struct, frozen=True):
    """Writes transcripts of one report."""

    files: Files
    report: model.Report
    rooted: PathResolver

    def story(self, story: model.StoryResult, changes: _Changes[model.StoryResult]) -> Conversation:
        """A story: its messages, what was understood of them, and every action."""
        side, case = changes.of(story.name, story)
        return Conversation(
            key="",
            kind="story",
            name=story.name,
            place=self.files.place(story.location),
            outcome=story.outcome,
            misunderstood=bool(story.misunderstood),
            side=side,
            base=changes.base(case, story.outcome, self._story_turns),
            turns=list(self._story_turns(story)),
            events=_events(story),
            remarks=[
                *self._why(case),
                *self._held(story.name, story.location),
                *(["an exact copy of an earlier story"] if story.duplicate else []),
                *self._drawn_away(story),
            ],
        )

    def _why(self, case: CaseChange | None) -> list[str]:
        """Say which changed part of the project makes a test end as it does."""
        return [] if case is None or not (why := why_in_words(case)) else [self.rooted.text(why)]

    def _drawn_away(self, test: model.StoryResult | model.CaseResult) -> list[str]:
        """The training sentences that misunderstood messages resemble."""
        return [
            f"'{sentence.text}' is like '{near.text}' ({near.intent}, {self.rooted.location(near.location)})"
            for sentence in test.misunderstood
            for near in sentence.neighbours[:1]
        ]

    def _held(self, name: str, location: Location) -> list[str]:
        """Say that a test is in quarantine."""
        entry = entry_of(self.report, name, location)
        return [] if entry is None else [quarantine_in_words(entry)]

    def _story_turns(self, story: model.StoryResult) -> Iterator[Turn]:
        said: str | None = None
        if any(step.kind == "intent" for step in story.steps):
            for step in story.steps:
                if step.kind == "intent" or (step.text is not None and step.text != said):
                    said = step.text
                    yield Turn(who="user", expected=step.text or step.wanted, place=self._place(step.location))
                if step.expected != _LISTENS or not step.passed:
                    yield self._story_step(step)
            return
        # Without sentences to understand, the messages are in the story as it was written back.
        actions = iter([step for step in story.steps if step.expected != _LISTENS or not step.passed])
        for written in story.written:
            said = _said(written.step)
            if said is not None:
                yield Turn(who="user", expected=said)
            elif "action" in written.step or "bot" in written.step:
                yield from (self._story_step(step) for step in islice(actions, 1))
        yield from (self._story_step(step) for step in actions)

    def _story_step(self, step: model.StoryStep) -> Turn:
        details = [("policy", step.policy)] if step.policy else []
        details += [("confidence", f"{step.confidence:.2f}")] if step.confidence is not None else []
        details += [("active form", step.active_loop)] if step.active_loop else []
        details += [("slots", slots_in_words(step.slots))] if step.slots else []
        others = ", ".join(f"{other.action} ({other.confidence:.2f})" for other in step.alternatives)
        details += [("considered", others)] if others else []
        details += [("warning", "the previous message was found unlikely")] if step.warning else []
        return Turn(
            who="bot" if step.kind == "action" else "check",
            expected=_in_words(step.wanted),
            actual=None if step.passed else _in_words(step.got),
            outcome="passed" if step.passed else "failed",
            label="" if step.kind == "action" else step.kind,
            place=self._place(step.location),
            details=details,
        )

    def end_to_end(self, result: model.CaseResult, changes: _Changes[model.CaseResult]) -> Conversation:
        """An end-to-end case: each message, and the expectations that follow it."""
        side, case = changes.of(result.name, result)
        attempts = result.attempts
        runs = _runs(result.repeats)
        again = judged_again(result)
        return Conversation(
            key="",
            kind="case",
            name=result.name,
            place=self.files.place(result.location),
            outcome=result.outcome,
            misunderstood=bool(result.misunderstood),
            side=side,
            base=_with_runs(changes.base(case, result.outcome, self._case_turns), result.repeats, case),
            reason=result.reason or "",
            attempts=(sum(runs), len(runs)) if runs else (attempts.passed, attempts.of) if attempts else None,
            runs=runs or (list(attempts.runs) if attempts else []),
            repeated=_repeated(result.repeats),
            turns=list(self._case_turns(result.telling_run)),
            of_failed_run=not isinstance(result.failed_run, UnsetType),
            events=[f"{action}: {how}" for action, how in result.actions.items()],
            remarks=[
                *self._why(case),
                *self._held(result.name, result.location),
                *([again] if again else []),
                *self._drawn_away(result),
            ],
        )

    def _case_turns(self, result: model.CaseResult | model.FailedRun) -> Iterator[Turn]:
        if details := trace_in_words(result.opening):
            yield Turn(who="check", expected="the conversation begins", label="opening", details=details)
        yield from (self._case_step(step) for step in result.steps if step.message is None)
        for number, message in enumerate(result.messages):
            yield Turn(
                who="user",
                expected=message.text,
                heard=understanding_in_words(message.text, message.understood),
                heard_before=understanding_in_words(message.text, message.before) if message.before else "",
                place=self.files.place(message.location),
                details=[*trace_in_words(message.trace), *_measured_in_words(message.measured)],
            )
            yield from (self._case_step(step) for step in result.steps if step.message == number)

    def _case_step(self, step: model.CaseStep) -> Turn:
        failed = step.outcome in {"failed", "error"}
        details = [("reason", step.reason)] if step.reason else []
        return Turn(
            who="bot" if step.kind in {"utter", "bot"} else "check",
            expected=step.expected,
            actual=(step.actual or "") if failed else None,
            outcome=step.outcome,
            label=step.kind,
            place=self._place(step.location),
            details=details,
        )

    def batch(self, case: model.BatchCase, changes: _Changes[model.BatchCase]) -> Conversation:
        """An utterance of a batch suite: the intents or traits that were expected and found, and its entities."""
        side, change = changes.of(case.text, case)
        outcome = "unclear" if case.unclear else "passed" if case.passed else "failed"
        runs = _runs(case.repeats)
        return Conversation(
            key="",
            kind="batch",
            name=case.text,
            place=self.files.place(case.location),
            outcome=outcome,
            side=side,
            base=_with_runs(changes.base(change, outcome, _batch_turns), case.repeats, change),
            reason=case.reason or "",
            attempts=(sum(runs), len(runs)) if runs else None,
            runs=runs,
            repeated=_repeated(case.repeats),
            turns=_batch_turns(case),
            remarks=[
                *self._why(change),
                *self._held(case.text, case.location),
                *([f"in the context of {' / '.join(case.parent)}"] if case.parent else []),
                *case.tags,
            ],
        )

    def _place(self, location: Location | None) -> Any:
        return None if location is None else self.files.place(location)


def _runs(repeats: model.Repeats | UnsetType) -> list[bool]:
    """Whether each run of a repeated test passed."""
    return [] if isinstance(repeats, UnsetType) else [run in "Pp" for run in repeats.runs]


def _repeated(repeats: model.Repeats | UnsetType) -> Literal["", "flaky", "regressed", "worse"]:
    """What the runs of a test say, if that is more than its outcome."""
    if isinstance(repeats, UnsetType):
        return ""
    return repeats.outcome if repeats.outcome in {"flaky", "regressed", "worse"} else ""


def _with_runs(base: Base | None, repeats: model.Repeats | UnsetType, change: CaseChange | None) -> Base | None:
    """Add the runs on the base that those here are compared with; of a test that did not change, what they say."""
    if base is None or isinstance(repeats, UnsetType):
        return base
    runs = [run in "Pp" for run in repeats.base]
    found = {(True, True): "passed", (False, False): "failed", (False, True): "flaky"}
    outcome = found[all(runs), any(runs)] if runs and change is None else base.outcome
    return msgspec.structs.replace(base, outcome=outcome, runs=runs)


def _batch_turns(case: model.BatchCase) -> list[Turn]:
    return [
        Turn(who="user", expected=case.text),
        _batch_check(
            "traits" if case.kind == "trait" else "intent",
            [" and ".join(case.expected)] if case.kind == "trait" and case.expected else case.expected,
            case.matched,
            passed=case.result in {"tp", "tn"},
            details=[
                *((name, f"{score:.2f}") for name, score in case.scores.items()),
                *_order_details(case),
                *([("bot", ", ".join(case.bots))] if case.bots else []),
                *([("bot matched", ", ".join(case.matched_bots))] if any(case.matched_bots) else []),
            ],
        ),
        *(_batch_check(entity.name, entity.expected, entity.matched, passed=entity.passed) for entity in case.entities),
    ]


def _order_details(case: model.BatchCase) -> Iterator[tuple[str, str]]:
    order = case.order
    if order is None or len({*order.expected, *order.actual}) < 2:
        return
    if order.expected:
        yield "order of entities", " → ".join(order.expected)
    yield "order by the platform's rule" if order.assumed else "order found", " → ".join(order.actual)


def _batch_check(
    label: str,
    expected: Sequence[str],
    matched: str | Sequence[str] | None,
    *,
    passed: bool,
    details: Sequence[tuple[str, str]] = (),
) -> Turn:
    got = matched if isinstance(matched, str) else ", ".join(matched or ())
    return Turn(
        who="check",
        expected=" or ".join(expected) or "nothing",
        actual=None if passed else got or "nothing",
        outcome="passed" if passed else "failed",
        label=label,
        details=list(details),
    )


def _said(step: dict[str, Any]) -> str | None:
    """What the user says in a step of a story file, if it is the user's."""
    for key in ("user", "intent"):
        if key in step:
            return str(step[key])
    return None


def _events(story: model.StoryResult) -> list[str]:
    """What was set on the way: slots and forms, as a story file writes them."""
    kept = [
        f"{key}: {as_text(value)}"
        for written in story.written
        for key, value in written.step.items()
        if key in {"slot_was_set", "active_loop"}
    ]
    return kept[:_MOST_EVENTS]
