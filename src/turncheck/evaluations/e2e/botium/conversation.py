"""Judges a conversation of Botium's: each section ``#bot`` reads the next message that no other section has read.

Rules (see ``docs/e2e.md``): messages that are not read wait for later sections, also after the user's next message; an
optional section that does not match leaves its message to the next one; after a failure the rest is not run.
"""

from __future__ import annotations

import json
import re
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.evaluations.e2e.botium import texts
from turncheck.evaluations.e2e.botium.conditions import Group, conditions_of, ends_group, is_met
from turncheck.evaluations.e2e.botium.message import Message, as_text
from turncheck.evaluations.e2e.botium.values import Values, values_in
from turncheck.evaluations.e2e.steps import StepResult, compared_lines, near_miss, one_line, response_name
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import count
from turncheck.project.botium import vocabulary
from turncheck.report.model import CaseStep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.conversation import Turn
    from turncheck.messages.finding import Location
    from turncheck.project.botium.model import Called, Check, Part, Reply, Script
    from turncheck.project.e2e.model import CaseTurn
    from turncheck.report.model import StepOutcome

NOT_RUN: Final = "not run, since a section before it failed"
NOT_HEARD: Final = "the user had said nothing that could be understood"
NOT_SURE: Final = "the engine does not report how sure it is"
NOT_RANKED: Final = "the engine reports one intent only"
INTENT: Final = "intent"
ENTITIES: Final = "entities"
"""What an engine names that does not report the intent or the entities of a message."""
_MOST_UNREAD: Final = 3
"""How many messages that were not read are named."""
_MODES: Final = {
    "TEXT_CONTAINS": "include",
    "TEXT_WILDCARDEXACT": "wildcardExact",
    "TEXT_WILDCARD": "wildcard",
    "TEXT_REGEXP": "regexp",
}
"""How the asserters about texts compare them; the others: by equality."""


class ScriptRun:
    """A conversation in progress: the messages that were not read, and the values of variables."""

    def __init__(self, script: Script) -> None:
        self._settings = script.settings
        self._waiting: deque[Message] = deque()
        self._given = {**script.settings.given, "TESTCASENAME": script.name}
        self._memory: dict[str, str] = {}
        self._has_failed = False
        first = [hook for hook in script.hooks if hook.name == "SET_SCRIPTING_MEMORY"]
        self._set(first)
        self._set([hook for hook in script.hooks if hook not in first])

    def spoken(self, turn: CaseTurn) -> CaseTurn:
        """Return the turn with the message that the user says now.

        Raises:
            UserError: its values make it too long.
        """
        if turn.user is None or not self._settings.memory:
            return turn
        try:
            return replace(turn, user=self._filled(turn.user))
        except texts.CannotCompareError as error:
            raise UserError(str(error), location=turn.location) from None

    def judge(self, part: Part, turn: Turn, location: Location) -> list[StepResult]:
        """Judge the sections that follow a message of the user's."""
        judged: list[StepResult] = []
        self._clear(part.hooks)
        nothing: dict[str, Any] | None = None if turn.user is None else {}
        heard = next((event.get("parse_data") for event in turn.events if event["event"] == "user"), nothing)
        self._waiting += [Message(event, heard, turn.not_reported) for event in turn.events if event["event"] == "bot"]
        self._set(part.hooks)
        judged += self._replies(part.replies)
        if part.must_be_read and self._waiting and not self._has_failed:
            judged.append(self._unread(location))
        self._clear(part.last_hooks)
        return judged + [self._at_end(check) for check in part.last_checks]

    def left_out(self, part: Part) -> list[StepResult]:
        """Return the steps of sections that are not run."""
        steps = [step for reply in part.replies for step in _steps(reply)] + list(map(_step_of, part.last_checks))
        return [step.skipped(NOT_RUN) for step in steps]

    # --- replies ------------------------------------------------------------------------------------------------------

    def _replies(self, replies: Sequence[Reply]) -> list[StepResult]:
        judged: list[StepResult] = []
        group = Group()
        silent = False  # an optional section found no message: further ones do not wait for one
        for number, reply in enumerate(replies, 1):
            optional = reply.section.optional
            silent = silent and optional
            if self._has_failed and not self._settings.goes_on:
                judged += [step.skipped(NOT_RUN) for step in _steps(reply)]
                continue
            if silent:
                continue
            if not self._waiting:
                silent = optional
                if not optional:
                    judged += self._not_met(reply, "nothing was said")
                continue
            try:
                message = self._prepared(reply, self._waiting[0])
                choice = self._choice(group, reply, replies[number:], message)
            except texts.CannotCompareError as error:
                self._waiting.popleft()
                judged += self._not_met(reply, str(error))
                continue
            judged += choice.steps
            if not choice.applies:
                if not choice.leaves:
                    self._waiting.popleft()
                continue
            values = self._values(reply, message)
            found = self._judged(reply, message, {**values, **self._memory})
            if optional and number < len(replies) and any(one.failed for one in found):
                continue  # the message is left to the next section
            if not choice.leaves:
                self._waiting.popleft()
            self._memory |= values
            self._clear(reply.section.hooks)
            found += self._set(reply.section.hooks, message)
            found += self._assigned(reply, message) if not any(one.failed for one in found) else []
            self._has_failed = self._has_failed or any(one.failed for one in found)
            judged += found
        return judged

    def _choice(self, group: Group, reply: Reply, following: Sequence[Reply], message: Message) -> _Choice:
        """Say whether a section applies, by its conditions and those before it in its group."""
        conditions = conditions_of(reply)
        if not conditions:
            return _Choice()
        applies, steps = False, list[StepResult]()
        if not group.is_met:
            try:
                for hook in conditions:  # of several, the last one counts
                    args = [self._filled(arg, message=message) for arg in hook.args]
                    applies = is_met(hook, args, message, self._given)
            except texts.NotJudgedError as error:
                steps.append(_step_of(conditions[0]).skipped(str(error)))
                group.is_met = True
        ends = ends_group(reply, following)
        if ends and not (applies or group.is_met or reply.section.optional):
            self._has_failed = True
            steps.append(_step_of(conditions[0]).failed(None, "no condition of its group is met"))
        group.is_met = not ends and (group.is_met or applies)
        return _Choice(applies, not ends or reply.section.optional, tuple(steps))

    def _prepared(self, reply: Reply, message: Message) -> Message:
        """Return the message as logic hooks make it before it is judged."""
        hook = next((hook for hook in reply.section.hooks if hook.name == vocabulary.LIST_HOOK), None)
        return message if hook is None else message.with_list(hook.args[0] if hook.args else "")

    def _assigned(self, reply: Reply, message: Message) -> list[StepResult]:
        """Take values from the message into variables; return the steps of those that are not there."""
        lacking = []
        for hook in reply.section.hooks:
            if hook.name != vocabulary.ASSIGN:
                continue
            try:
                args = tuple(self._filled(arg, message=message) for arg in hook.args)
                value = message.assigned(_argument(hook.name, args, 1))
                self._memory[f"${args[0]}"] = value
            except texts.NotJudgedError as error:
                lacking.append(_step_of(hook).skipped(str(error)))
            except texts.CannotCompareError as error:
                lacking.append(_step_of(hook).failed(None, str(error)))
        return lacking

    def _values(self, reply: Reply, message: Message) -> dict[str, str]:
        """Return the values that the message has for variables; texts of a list are not cleaned for it, in Botium."""
        if not self._settings.memory or not reply.texts:
            return {}
        is_list = reply.texts != (reply.section.text,)
        of_reply = reply.texts if is_list else [texts.cleaned(text, self._settings) for text in reply.texts]
        return values_in(texts.cleaned(message.text, self._settings), of_reply, self._settings)

    def _not_met(self, reply: Reply, why: str) -> list[StepResult]:
        """Return the steps of a section whose message there is not."""
        self._has_failed = True
        first, *others = _steps(reply)
        return [first.failed(None, why), *(step.skipped(NOT_RUN) for step in others)]

    def _judged(self, reply: Reply, message: Message, memory: Mapping[str, str]) -> list[StepResult]:
        found = []
        if reply.texts or not reply.checks:
            found.append(self._text(reply, message, memory))
        return found + [self._check(check, message, memory) for check in reply.checks]

    def _text(self, reply: Reply, message: Message, memory: Mapping[str, str]) -> StepResult:
        step, response = _text_step(reply), response_name(message.event)
        said = texts.cleaned(message.text, self._settings)
        wanted = [texts.cleaned(text, self._settings) for text in reply.texts]
        actual = f"bot: {one_line(message.text)}"
        try:
            if self._settings.memory:
                wanted = [self._filled(text, memory, message) for text in wanted]
                if reply.texts == (reply.section.text,):
                    step = step.with_values(self._filled(step.expected, memory, message))
            fits = not wanted or any(texts.matches(said, text, reply.matching, reply.word_errors) for text in wanted)
        except texts.CannotCompareError as error:
            return step.failed(message.text, str(error), [f"- {actual}", f"+ bot: {one_line(step.shown)}"])
        except texts.NotJudgedError as error:
            return step.skipped(str(error))
        if not wanted or fits is not reply.section.negated:
            return step.passed(response)
        if reply.section.negated:
            return step.failed(message.text, "it was said", [f"- {actual}", f"+ bot: {one_line(step.shown)}"])
        shown = " or ".join(map(one_line, wanted[:3])) + (" …" if len(wanted) > 3 else "")
        reason = near_miss(wanted[0], said) if len(wanted) == 1 else f"none of {len(wanted)} texts matches"
        return step.failed(message.text, reason, compared_lines(actual, f"bot: {shown}"))

    # --- asserters ----------------------------------------------------------------------------------------------------

    def _check(self, check: Check, message: Message, memory: Mapping[str, str]) -> StepResult:
        one, step = check.asserter, _step_of(check.asserter)
        try:
            args = tuple(self._filled(arg, memory, message) for arg in check.texts)
            step = step.with_values(self._filled(step.expected, memory, message))
            fits, actual = self._fits(one.name, args, message, negated=one.negated)
            if one.name in vocabulary.SHOWN and one.negated:
                fits = self._has_any(one.name, args, message)
        except texts.NotJudgedError as error:
            return step.skipped(str(error))
        except texts.CannotCompareError as error:
            return step.failed(None, str(error))
        if fits is not one.negated:
            return step.passed()
        return step.failed(actual, None, [f"- {one.name}: {actual}", f"+ {one.name}: {one_line(step.shown)}"])

    def _fits(self, name: str, args: tuple[str, ...], message: Message, *, negated: bool) -> tuple[bool, str]:
        """Return whether an asserter is met, and what there is instead."""
        if name in vocabulary.TEXTS:
            return self._text_fits(name, args, texts.cleaned(message.text, self._settings)), one_line(message.text)
        if name in vocabulary.NLU:
            return self._parse_asserter(name, args, message)
        if name in vocabulary.COUNTS:
            what, _, how = name.partition("_COUNT")
            number = len(_shown(what, message, in_cards=how == "_REC"))
            return _count_fits(number, args[0] if args else ">0"), str(number)
        if name in vocabulary.PATHS:
            return self._selected_fits(name, args, message)
        if name in vocabulary.QUEUE:
            number = len(self._waiting) - 1
            return _count_fits(number, _count_of(name, args)), str(number)
        if name == "TEXT_WER":
            rate = texts.word_error_rate(message.text, _argument(name, args, 0))
            limit = texts.accepted_errors(_argument(name, args, 1))
            # Botium takes a rate of exactly the limit for few enough, and with `!` for too many.
            fits = rate < limit if negated else rate <= limit
            return fits, f"{rate:.0%} of the words differ: {message.text}"
        if name == "RESPONSE_LENGTH":
            length = len(message.text)
            return not args or length <= _number(name, args[0]), str(length)
        return self._has_all(name, args, message), ", ".join(_shown(name, message)) or "none"

    def _selected_fits(self, name: str, args: tuple[str, ...], message: Message) -> tuple[bool, str]:
        if not 1 <= len(args) <= 2:
            raise texts.CannotCompareError(f"{name} has {count(len(args), 'argument')}; expected 1 or 2")
        values = message.selected(args[0])
        if name == "JSON_PATH_COUNT":
            number = len(values[0]) if values and isinstance(values[0], (str, list, tuple)) else 0
            return _count_fits(number, args[1] if len(args) > 1 else ">0"), str(number)
        fits = [len(args) == 1 or self._same(as_text(value), args[1]) for value in values]
        return any(fits), ", ".join(as_text(value) for value in values) or "nothing"

    def _text_fits(self, name: str, args: tuple[str, ...], said: str) -> bool:
        any_case = name.endswith(vocabulary.IGNORES_CASE)
        plain = name.removesuffix(vocabulary.IGNORES_CASE)
        mode = next((mode for begin, mode in _MODES.items() if plain.startswith(begin)), "equals")
        if not args:
            return bool(said) if mode == "equals" else True
        mode += "IgnoreCase" if any_case else ""
        fits = [texts.matches(said, texts.cleaned(arg, self._settings), mode) for arg in args]
        return all(fits) if plain in vocabulary.TEXTS_ALL else any(fits)

    def _same(self, actual: str, wanted: str) -> bool:
        return texts.matches(actual, wanted, self._settings.matching, self._settings.word_errors)

    def _has(self, name: str, wanted: str, message: Message) -> bool:
        if name == "MEDIA":
            return any(self._same(uri, wanted) for uri in message.all_media)
        if name == vocabulary.FORMS:
            start = wanted.lower()
            names = [own.lower() for own, _ in message.forms]
            return start in names or any(label.lower().startswith(start) for _, label in message.forms if label)
        wanted = texts.cleaned(wanted, self._settings)
        if name == "CARDS":
            return any(
                self._same(texts.cleaned(text, self._settings), wanted) for card in message.all_cards for text in card
            )
        buttons = message.all_buttons
        titles = [texts.cleaned(str(one.get("title") or ""), self._settings) for one in buttons]
        payloads = [_payload(one.get("payload")) for one in buttons]
        return any(self._same(text, wanted) for text in (*titles, *payloads))

    def _has_all(self, name: str, args: tuple[str, ...], message: Message) -> bool:
        if not args:
            return bool(_shown(name, message))
        return all(self._has(name, arg, message) for arg in args)

    def _has_any(self, name: str, args: tuple[str, ...], message: Message) -> bool:
        """Whether any of what must not be there is."""
        return any(self._has(name, arg, message) for arg in args) if args else self._has_all(name, args, message)

    def _parse_asserter(self, name: str, args: tuple[str, ...], message: Message) -> tuple[bool, str]:
        what = ENTITIES if name.startswith("ENTIT") else INTENT
        if what in message.unseen:
            raise texts.NotJudgedError(message.unseen[what])
        if not isinstance(message.heard, dict):
            raise texts.NotJudgedError(NOT_HEARD)
        intent = message.heard.get("intent") or {}
        confidence = intent.get("confidence")
        if name == "INTENT_CONFIDENCE" and confidence is None and intent.get("name") is not None:
            raise texts.NotJudgedError(NOT_SURE)
        if name == "INTENT_UNIQUE" and message.heard.get("intent_ranking") is None:
            raise texts.NotJudgedError(NOT_RANKED)
        entities = [one for one in message.heard.get("entities") or () if isinstance(one, dict)]
        match name:
            case "INTENT":
                if len(args) != 1:
                    raise texts.CannotCompareError(f"{name} has {len(args)} arguments; expected 1")
                return intent.get("name") == args[0], str(intent.get("name"))
            case "INTENT_CONFIDENCE":
                least = _number(name, _argument(name, args, 0))
                sure = float(confidence or 0.0) * 100
                return sure >= least, f"{sure:.2f}"
            case "INTENT_UNIQUE":
                others = [one for one in message.heard.get("intent_ranking") or () if isinstance(one, dict)]
                same = [str(one.get("name")) for one in others if one.get("confidence") == intent.get("confidence")]
                rivals = [other for other in same if other != intent.get("name")]
                return not rivals, f"{intent.get('name')}, and just as sure {', '.join(rivals)}"
            case "ENTITY_CONTENT":
                left = [*args[1:]]
                values = [str(one.get("value")) for one in entities if one.get("entity") == _argument(name, args, 0)]
                for value in sorted(values):
                    if (fit := next((want for want in left if self._same(value, want)), None)) is not None:
                        left.remove(fit)
                return not left, ", ".join(values) or "none"
            case _:
                found = [str(one.get("entity" if name == "ENTITIES" else "value")) for one in entities]
                return self._counted(name, args, found), ", ".join(found) or "none"

    def _counted(self, name: str, args: tuple[str, ...], found: list[str]) -> bool:
        """Whether these are the names or values of all entities; ``...`` at the end: there may be more."""
        more = bool(args) and args[-1] in {"..", "..."}
        left = list(args[:-1] if more else args)
        extra = []
        for value in sorted(found, key=len):
            same = (want for want in left if (value == want if name == "ENTITIES" else self._same(value, want)))
            if (fit := next(same, None)) is not None:
                left.remove(fit)
            else:
                extra.append(value)
        return not left and (more or not extra)

    # --- messages that nobody read, and memory ------------------------------------------------------------------------

    def _at_end(self, check: Called) -> StepResult:
        step, number = _step_of(check), len(self._waiting)
        if self._has_failed and not self._settings.goes_on:
            return step.skipped(NOT_RUN)
        try:
            if _count_fits(number, _count_of(check.name, check.args)) is not check.negated:
                return step.passed()
            reason = None
        except texts.CannotCompareError as error:
            reason = str(error)
        self._has_failed = True
        return step.failed(self._not_read(), reason, [*self._unread_lines(), *step.lines])

    def _unread(self, location: Location) -> StepResult:
        self._has_failed = True
        return _Step("BOT_CONSUMED", "", location).failed(self._not_read(), None, self._unread_lines())

    def _not_read(self) -> str:
        number = len(self._waiting)
        if not number:
            return "every message was read"
        texts = [one_line(message.text) or "no text" for message in islice(self._waiting, _MOST_UNREAD)]
        shown = " | ".join([*texts, "…"] if number > _MOST_UNREAD else texts)
        return f"{'one message was' if number == 1 else f'{number} messages were'} not read: {shown}"

    def _unread_lines(self) -> list[str]:
        return [f"- bot: {one_line(message.text)}" for message in self._waiting]

    def _clear(self, hooks: Sequence[Called]) -> None:
        if any(hook.name == "SKIP_BOT_UNCONSUMED" for hook in hooks):
            self._waiting.clear()

    def _set(self, hooks: Sequence[Called], message: Message | None = None) -> list[StepResult]:
        """Set and clear variables; return the steps of those whose value the message does not have."""
        lacking = []
        for hook in hooks:
            if hook.name not in {"SET_SCRIPTING_MEMORY", "CLEAR_SCRIPTING_MEMORY"}:
                continue
            try:
                args = [self._filled(arg, message=message) for arg in hook.args]
            except texts.NotJudgedError as error:
                lacking.append(_step_of(hook).skipped(str(error)))
                continue
            except texts.CannotCompareError as error:
                lacking.append(_step_of(hook).failed(None, str(error)))
                continue
            if hook.name == "SET_SCRIPTING_MEMORY" and len(args) == 2:
                self._memory[f"${args[0]}"] = args[1]
            elif hook.name == "CLEAR_SCRIPTING_MEMORY" and len(args) == 1:
                self._memory.pop(f"${args[0]}", None)
        return lacking

    def _filled(self, text: str, memory: Mapping[str, str] | None = None, message: Message | None = None) -> str:
        return Values(self._memory if memory is None else memory, self._given, message).filled(text)


def _shown(name: str, message: Message, *, in_cards: bool = True) -> list[str]:
    """What a message shows besides its text, each in words; ``in_cards``: and what its cards show."""
    match name:
        case "BUTTONS":
            return [str(one.get("title")) for one in (message.all_buttons if in_cards else message.buttons)]
        case "CARDS":
            return [": ".join(card) for card in (message.all_cards if in_cards else message.cards)]
        case "FORMS":
            return [own or label for own, label in message.forms]
        case _:
            return message.all_media if in_cards else message.media


def _payload(payload: Any) -> str:
    """Return a payload as Botium compares it: as JSON without spaces; a string that holds JSON is parsed first."""
    if payload is None:
        return ""
    if isinstance(payload, str):
        with suppress(ValueError, RecursionError):
            payload = json.loads(payload)
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _count_of(name: str, args: Sequence[str]) -> str:
    return "=0" if name == "BOT_CONSUMED" else args[0] if args else ">0"


def _count_fits(number: int, wanted: str) -> bool:
    match = re.match(r"\s*(<=|>=|==|[<>=])?\s*(\d+)", wanted)
    if match is None:
        raise texts.CannotCompareError(f"'{wanted}' is not a number of things")
    limit = int(match[2])
    match match[1]:
        case "<=":
            return number <= limit
        case "<":
            return number < limit
        case ">=":
            return number >= limit
        case ">":
            return number > limit
        case _:
            return number == limit


def _argument(name: str, args: Sequence[str], place: int) -> str:
    if place >= len(args):
        raise texts.CannotCompareError(f"{name} has {len(args)} arguments; expected {place + 1}")
    return args[place]


def _number(name: str, written: str) -> int:
    if not re.fullmatch(r"\d{1,9}", written, re.ASCII):
        raise texts.CannotCompareError(f"{name}: '{written}' is not a whole number")
    return int(written)


class _Choice(Struct, frozen=True):
    """Whether a section applies, whether it leaves its message to the next one, and what the report says of that."""

    applies: bool = True
    leaves: bool = False
    steps: tuple[StepResult, ...] = ()


# Steps of the report.


class _Step(Struct, frozen=True):
    """The kind of a step of the report, the expectation as written, and its line."""

    kind: str
    expected: str
    place: Location
    held: str | None = None
    """The expectation with the values of its variables, which a step that fails shows."""

    @property
    def shown(self) -> str:
        return self.expected if self.held is None else self.held

    def with_values(self, held: str) -> _Step:
        return replace(self, held=held)

    def passed(self, response: str | None = None) -> StepResult:
        return self._judged("passed", None, None, [f"  {self._line}"], response)

    def failed(self, actual: str | None, reason: str | None, lines: Sequence[str] = ()) -> StepResult:
        judged = self._judged("failed", actual, reason, lines or self.lines)
        return replace(judged, step=replace(judged.step, expected=self.shown))

    def skipped(self, reason: str) -> StepResult:
        return self._judged("skipped", None, reason, ())

    @property
    def lines(self) -> list[str]:
        """What a difference says of it if nothing is there instead."""
        return [f"+ {self._line}"]

    @property
    def _line(self) -> str:
        return f"{self.kind}: {one_line(self.shown)}"

    def _judged(
        self,
        outcome: StepOutcome,
        actual: str | None,
        reason: str | None,
        lines: Sequence[str],
        response: str | None = None,
    ) -> StepResult:
        step = CaseStep(
            kind=self.kind,
            expected=self.expected,
            outcome=outcome,
            actual=actual,
            location=self.place,
            reason=reason,
            response=response,
        )
        return StepResult(step, tuple(lines))


def _text_step(reply: Reply) -> _Step:
    section = reply.section
    sign = "!" if section.negated else ""
    return _Step("bot", f"{sign}{section.text}" if section.text else "any message", section.location)


def _step_of(one: Called) -> _Step:
    words = f"{'!' if one.negated else ''}{' | '.join(one.args)}" if one.args else "none" if one.negated else ""
    return _Step(one.name, words, one.location)


def _steps(reply: Reply) -> list[_Step]:
    """The steps of a section; one without any expectation needs a message."""
    text = [_text_step(reply)] if reply.texts or not reply.checks else []
    return text + [_step_of(check.asserter) for check in reply.checks]
