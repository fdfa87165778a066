"""What is wrong with conditions of flows: they cannot be read, never hold, or hold otherwise than they look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.messages.finding import Name
from turncheck.messages.phrasing import shortened, suggestion
from turncheck.platforms.rasa.flows.conditions import (
    Compared,
    ConditionError,
    Expression,
    Operator,
    Value,
    Values,
    Word,
    parts_of,
    tried,
)
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.messages.finding import Finding, Location
    from turncheck.platforms.rasa.flows.facts import FlowFacts
    from turncheck.platforms.rasa.flows.model import Branch, Condition, Flow
    from turncheck.project.model import Slot

_NAMESPACES: Final = ("slots.", "context.", "pattern.")
_LONGEST: Final = 80


def truths(facts: FlowFacts) -> Iterator[Finding]:
    """All checks of this module."""
    reported: set[Location] = set()
    for flow, condition in facts.conditions():
        parsed = facts.parsed(condition)
        if isinstance(parsed, ConditionError):
            message = f"The condition '{_shown(condition)}' of the {flow.what} cannot be read: {parsed}."
            yield found("flow-condition-invalid", message, condition.location, about=_about(flow, condition))
            continue
        here = [*_values(facts, flow, condition, parsed.root), *_bare_words(facts, flow, condition, parsed.root)]
        reported.update(finding.location for finding in here)
        yield from here
        if parsed.mixes:
            message = (
                f"'{_shown(condition)}' has 'and' before 'or' without parentheses: Rasa evaluates 'or' first there."
            )
            yield found("flow-condition-order", message, condition.location, about=_about(flow, condition))
    yield from (finding for finding in _never(facts) if finding.location not in reported)


def _about(flow: Flow, condition: Condition) -> tuple[Name, ...]:
    return Name("flow", flow.name), Name("condition", condition.text)


def _shown(condition: Condition) -> str:
    return shortened(condition.text, _LONGEST)


# --- values that a slot never has ------------------------------------------------------------------------------------


def _values(facts: FlowFacts, flow: Flow, condition: Condition, root: Expression) -> Iterator[Finding]:
    for word, operator, value in _pairs(root):
        slot = facts.slot(word.removeprefix("slots."))
        if slot is None or not word.startswith("slots."):
            continue
        if slot.type == "text" and (isinstance(value, bool) or not facts.has_only_texts(slot)):
            continue  # models answer a question with true or false whatever the type of its slot
        what = _why_never(slot, operator, value)
        if what is None:
            continue
        known = [str(one) for one in slot.values or ()] if slot.type == "categorical" else []
        near = suggestion(str(value), known) if known else ""
        verb = "never equals" if operator in _EQUALITY else "cannot be compared with"
        message = f"The {slot.type} slot '{slot.name}' {verb} {_quoted(value)}, as the {flow.what} asks{what}."
        names = (Name("slot", slot.name), Name("flow", flow.name), Name("value", str(value)))
        by_case = str(value).lower() in {one.lower() for one in known}
        yield found(
            "flow-condition-case" if by_case else "flow-condition-value",
            message,
            condition.location,
            near,
            (slot.location,),
            names=names,
        )


def _pairs(root: Expression) -> Iterator[tuple[str, Operator, Any]]:
    """Slots and the constants that they are compared with, and how."""
    for part in parts_of(root):
        if not isinstance(part, Compared):
            continue
        for one, other in ((part.left, part.right), (part.right, part.left)):
            is_turned = one is part.right and part.operator in {"contains", "matches"}
            if isinstance(one, Word) and isinstance(other, Value) and not other.special and not is_turned:
                yield one.text, part.operator, other.value
        if part.operator == "contains" and isinstance(part.left, Values) and isinstance(part.right, Word):
            for value in part.left.values:
                if isinstance(value, Value):
                    yield part.right.text, "=", value.value


_EQUALITY: Final = frozenset({"=", "!="})
_HOLDS: Final = {
    "bool": ": it is true or false",
    "float": ": it is a number, without quotes",
    "text": ": it is a text, in quotes",
}


def _why_never(slot: Slot, operator: Operator, value: Any) -> str | None:
    """Say why a slot is never what a comparison needs; ``None`` if it may be."""
    if value is None:
        return None
    if slot.type == "categorical" and slot.values:
        return _why_not_listed(slot.values, operator, value)
    looks_into = operator in {"contains", "matches"}
    fits = {
        "bool": not looks_into and (isinstance(value, bool) or (isinstance(value, float) and value in {0.0, 1.0})),
        "float": not looks_into and not isinstance(value, str),
        "text": isinstance(value, str),
    }
    return None if fits.get(slot.type, True) else _HOLDS[slot.type]


def _why_not_listed(values: tuple[Any, ...], operator: Operator, value: Any) -> str | None:
    listed = {str(one) for one in values}
    text = f"{value:g}" if isinstance(value, float) else str(value)
    if operator not in _EQUALITY:
        fits = isinstance(value, str) or not all(isinstance(one, str) for one in values)
    else:
        fits = text in listed or text.lower() in {one.lower() for one in listed if one.lower() in {"true", "false"}}
    return None if fits else ": its values are " + ", ".join(sorted(listed)[:6])


def _quoted(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value).lower()


def _bare_words(facts: FlowFacts, flow: Flow, condition: Condition, root: Expression) -> Iterator[Finding]:
    """Words that stand for nothing: neither in quotes nor below ``slots.`` or ``context.``."""
    for part in parts_of(root):
        if not isinstance(part, Word) or part.text.startswith(_NAMESPACES) or "filled_in" in part.text:
            continue
        is_slot = part.text in facts.slots
        hint = f"Write 'slots.{part.text}'." if is_slot else f'Write "{part.text}" in quotes.'
        hint = "Write 'null'." if part.text.lower() == "none" else hint
        message = f"'{part.text}' in the condition '{_shown(condition)}' of the {flow.what} stands for nothing."
        about = (Name("flow", flow.name), Name("word", part.text))
        yield found("flow-condition-word", message, condition.location, hint, about=about)


# --- what is never true ----------------------------------------------------------------------------------------------


class _Known(NamedTuple):
    """What slots can be, as words of conditions: their values, or the type of their values."""

    closed: Mapping[str, tuple[Any, ...]]
    types: Mapping[str, type]


def _never(facts: FlowFacts) -> Iterator[Finding]:
    closed = _Known(_closed(facts), _types(facts))
    for flow in facts.all_flows:
        is_word = flow.guard is not None and flow.guard.text.strip().lower() in {"true", "false"}  # also in quotes
        if flow.guard is not None and flow.guard.constant is None and not is_word:
            yield from _alone(facts, flow, flow.guard, closed)
        for step in flow.all_steps:
            for rejection in step.rejections:
                if rejection.condition is not None:
                    yield from _alone(facts, flow, rejection.condition, closed)
            yield from _alternatives(facts, flow, step.branches, closed)


def _closed(facts: FlowFacts) -> Mapping[str, tuple[Any, ...]]:
    """What slots can be, as words of conditions: those that have listed values, or are true or false."""
    slots = facts.project.domain.slots.values()
    listed = {f"slots.{one.name}": one.values for one in slots if one.values and _has_texts(one)}
    return {**listed, **{f"slots.{one.name}": (True, False) for one in slots if one.type == "bool"}}


def _has_texts(slot: Slot) -> bool:
    """Whether all listed values are texts: a number or boolean among them may come as what it is, or as a text."""
    return slot.type == "categorical" and all(isinstance(one, str) for one in slot.values or ())


def _types(facts: FlowFacts) -> Mapping[str, type]:
    """The slots that only hold numbers, and those that only hold texts."""
    slots = facts.project.domain.slots.values()
    numbers = {f"slots.{one.name}": float for one in slots if one.type == "float"}
    texts = {f"slots.{one.name}": str for one in slots if facts.has_only_texts(one)}
    parsed = (facts.parsed(condition) for _, condition in facts.conditions())
    pairs = (pair for one in parsed if not isinstance(one, ConditionError) for pair in _pairs(one.root))
    for word in {word for word, _, value in pairs if isinstance(value, bool)}:
        texts.pop(word, None)  # see _values
    return {**numbers, **texts}


def _alone(facts: FlowFacts, flow: Flow, condition: Condition, closed: _Known) -> Iterator[Finding]:
    parsed = facts.parsed(condition)
    if isinstance(parsed, ConditionError):
        return
    trial = tried([parsed.root], *closed)
    if trial is not None and not trial.ever(0):
        yield _never_true(flow, condition)


def _never_true(flow: Flow, condition: Condition) -> Finding:
    message = f"The condition '{_shown(condition)}' of the {flow.what} can never be true."
    return found("flow-condition-never-true", message, condition.location, about=_about(flow, condition))


def _alternatives(facts: FlowFacts, flow: Flow, branches: tuple[Branch, ...], closed: _Known) -> Iterator[Finding]:
    last = next((number for number, branch in enumerate(branches) if branch.condition is None), len(branches))
    for branch in branches[last + 1 :]:
        message = f"An alternative of a step in the flow '{flow.name}' is never tried: it comes after 'else'."
        place = branch.location if branch.condition is None else branch.condition.location
        yield found("flow-condition-covered", message, place, names=(Name("flow", flow.name),))
    branches = branches[: last + 1]
    conditions = [branch.condition for branch in branches if branch.condition is not None]
    parsed = [facts.parsed(condition) for condition in conditions]
    roots = [one.root for one in parsed if not isinstance(one, ConditionError)]
    if not roots or len(roots) < len(parsed):
        return
    trial = tried(roots, *closed)
    if trial is None:
        for condition in conditions:
            yield from _alone(facts, flow, condition, closed)
        return
    for number, condition in enumerate(conditions):
        if not trial.ever(number):
            yield _never_true(flow, condition)
        elif not trial.reached(number):
            message = f"'{_shown(condition)}' of the {flow.what} is never tried: one before it is true whenever it is."
            yield found("flow-condition-covered", message, condition.location, about=_about(flow, condition))
    rest = next((branch for branch in branches if branch.condition is None), None)
    if rest is not None and not trial.leaves_rest and all(trial.ever(number) for number in range(len(roots))):
        message = f"The 'else' of a step in the {flow.what} is never reached: one of its conditions is always true."
        yield found("flow-condition-covered", message, rest.location, names=(Name("flow", flow.name),))
