"""A file with ``flows:`` → :class:`~turncheck.platforms.rasa.flows.model.FlowFile`.

What a later version of Rasa has more is skipped and reported (``flow-key-unknown``); everything else is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.phrasing import misspelt
from turncheck.platforms.rasa.flows.model import (
    STEP_KINDS,
    Assignment,
    Branch,
    Condition,
    Flow,
    FlowFault,
    FlowFile,
    Named,
    Rejection,
    Step,
    StepKind,
    Trigger,
)
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FLOW_KEYS: Final = frozenset(
    {
        *("name", "description", "if", "steps", "nlu_trigger", "persisted_slots", "always_include_in_prompt"),
        *("run_pattern_completed", "block_digressions", "ask_confirm_digressions", "translation", "file_path"),
        *("always_include", "metadata"),
    }
)
_SHARED: Final = frozenset({"id", "next", "metadata", "description", "name", "title"})
_OF_BRANCHES: Final = frozenset({"if", "then", "else"})
_OF_KIND: Final[dict[StepKind, frozenset[str]]] = {
    "action": frozenset({"action", "parameters"}),
    "collect": frozenset(
        {
            *("collect", "utter", "collect_action", "rejections", "ask_before_filling", "reset_after_flow_ends"),
            *("force_slot_filling", "silence_timeout", "scope", "refill_utter", "refill_action", "dtmf"),
        }
    ),
    "link": frozenset({"link"}),
    "call": frozenset({"call", "exit_if", "mapping", "mcp_server", "max_turns"}),
    "set_slots": frozenset({"set_slots"}),
    "noop": frozenset({"noop"}),
}
_BOOLEANS: Final = frozenset(
    {
        *("ask_before_filling", "reset_after_flow_ends", "always_include_in_prompt", "run_pattern_completed"),
        "force_slot_filling",
    }
)
_DIGRESSIONS: Final = ("block_digressions", "ask_confirm_digressions")
_KEPT: Final = "reset_after_flow_ends"
_DEEPEST: Final = 40
"""Nested alternatives beyond this depth are not read: nobody writes them."""


def read_flow_file(path: str, root: YamlMapping) -> FlowFile:
    """Read the flows of a file; the root is a mapping with the key ``flows``."""
    reader = _Reader()
    return FlowFile(path, tuple(reader.flows(root)), tuple(reader.faults))


def read_validations(root: YamlMapping) -> tuple[Flow, ...]:
    """Read the rejections of the slots of a domain file, each as a flow of one step."""
    slots = root.items.get("slots")
    found = []
    for name, node in slots.items.items() if isinstance(slots, YamlMapping) else ():
        validation = node.at("validation")
        if isinstance(validation, YamlMapping):
            reader = _Reader()
            step = Step(
                "unknown",
                validation.location,
                utter=_named(validation.items.get("refill_utter")),
                rejections=tuple(reader.rejections(validation.items.get("rejections"))),
            )
            found.append(Flow(f"slots/{name}", validation.location, (step,), slot=str(name)))
    return tuple(found)


def read_response_conditions(root: YamlMapping) -> tuple[Flow, ...]:
    """Read the conditions of the responses of a domain file that are text, each as a flow with a guard."""
    responses = root.items.get("responses")
    found = []
    for name, node in responses.items.items() if isinstance(responses, YamlMapping) else ():
        for variation in node.items if isinstance(node, YamlSequence) else ():
            written = variation.at("condition") if isinstance(variation, YamlMapping) else None
            if isinstance(written, YamlScalar) and isinstance(written.value, str):
                guard = Condition(written.value, written.location)
                found.append(Flow(f"responses/{name}", written.location, guard=guard, response=str(name)))
    return tuple(found)


class _Reader:
    """Reads one file and collects its faults."""

    def __init__(self) -> None:
        self.faults: list[FlowFault] = []

    def flows(self, root: YamlMapping) -> Iterator[Flow]:
        section = root.items["flows"]
        if _is_nothing(section):
            return
        if not isinstance(section, YamlMapping):
            self._fault("'flows' must be a mapping of names to flows.", section)
            return
        for name, node in section.items.items():
            location = section.key_location(name)
            if not isinstance(node, YamlMapping):
                message = f"The flow '{name}' must be a mapping with 'description' and 'steps'."
                self.faults.append(FlowFault("flow-syntax", message, location))
                yield Flow(str(name), location)
                continue
            yield self._flow(str(name), node, section)

    def _flow(self, name: str, node: YamlMapping, section: YamlMapping) -> Flow:
        self._unknown(node, _FLOW_KEYS, f"the flow '{name}'")
        steps = node.items.get("steps")
        location = next(place for key in section.items if str(key) == name for place in [section.key_location(key)])
        if steps is None or _is_nothing(steps):
            self.faults.append(FlowFault("flow-syntax", f"The flow '{name}' has no steps.", location))
        elif isinstance(steps, YamlSequence) and not steps.items:
            self.faults.append(FlowFault("flow-without-steps", f"The flow '{name}' has no steps.", location))
        description = node.items.get("description")
        return Flow(
            name,
            location,
            steps=self._steps(steps, f"the flow '{name}'", 0),
            title=_text(node.items.get("name")),
            description=_text(description).strip(),
            description_location=None if description is None else node.key_location("description"),
            guard=self._condition(node.items.get("if")),
            triggers=tuple(self._triggers(node.items.get("nlu_trigger"))),
            digressions=tuple(name for key in _DIGRESSIONS for name in _listed(node.items.get(key))),
            persisted=tuple(self._names(node.items.get("persisted_slots"), "'persisted_slots'")),
        )

    def _triggers(self, node: YamlNode | None) -> Iterator[Trigger]:
        for item in self._items(node, "'nlu_trigger'"):
            if isinstance(item, YamlScalar):
                if (name := _named(item)) is not None:
                    yield Trigger(name)
                continue
            intent = item.at("intent") if isinstance(item, YamlMapping) else None
            inner = intent.at("name") if isinstance(intent, YamlMapping) else intent
            threshold = (intent if isinstance(intent, YamlMapping) else item).at("confidence_threshold")
            name = _named(inner)
            if name is None:
                self._fault("An entry of 'nlu_trigger' needs an 'intent'.", item)
            else:
                value = threshold.data if isinstance(threshold, YamlScalar) else None
                yield Trigger(name, float(value) if isinstance(value, (int, float)) else None)

    # --- steps --------------------------------------------------------------------------------------------------------

    def _steps(self, node: YamlNode | None, what: str, depth: int) -> tuple[Step, ...]:
        if node is None or _is_nothing(node):
            return ()
        if depth > _DEEPEST:
            self._fault(f"Steps are nested more than {_DEEPEST} deep; what is below is not read.", node)
            return ()
        if not isinstance(node, YamlSequence):
            self._fault(f"The steps of {what} must be a list.", node)
            return ()
        found = []
        for item in node.items:
            if isinstance(item, YamlMapping):
                found.append(self._step(item, depth))
            else:
                self._fault(f"A step must be a mapping, such as 'action: …'; got '{_shown(item)}'.", item)
        return tuple(found)

    def _step(self, node: YamlMapping, depth: int) -> Step:
        kind = self._kind(node)
        named = node.items.get(kind)
        self._unknown(node, _SHARED | _OF_KIND.get(kind, frozenset()), "the step", kind)
        name = _named(named) if kind in {"action", "collect", "link", "call"} else None
        if kind in {"action", "collect", "link", "call"} and name is None:
            self._fault(f"'{kind}' must name {_NAMES[kind]}.", node)
        following = node.items.get("next")
        if kind == "noop" and following is None and isinstance(named, YamlSequence):
            following = named  # the alternatives stand there in one of the documentation's examples
        if kind == "noop" and following is None:
            self._fault("A step with 'noop' needs 'next': it does nothing else.", node)
        next_step, branches = self._next(following, depth)
        reads, fills = self._mapping(node.items.get("mapping"))
        return Step(
            kind,
            node.location,
            name,
            id=_named(node.items.get("id")),
            next=next_step,
            branches=branches,
            utter=_named(node.items.get("utter")),
            collect_action=_named(node.items.get("collect_action")),
            rejections=tuple(self.rejections(node.items.get("rejections"))),
            assignments=tuple(self._assignments(named)) if kind == "set_slots" else (),
            exits=tuple(self._exits(node.items.get("exit_if"))),
            reads=reads,
            fills=fills,
            server=_named(node.items.get("mcp_server")),
            kept=node.key_location(_KEPT) if _KEPT in node.items else None,
            is_agent="exit_if" in node.items,
        )

    def _kind(self, node: YamlMapping) -> StepKind:
        kinds: list[StepKind] = [kind for kind in STEP_KINDS if kind in node.items]
        if len(kinds) > 1:
            both = "' and '".join(kinds)
            self._fault(f"A step is one thing; this one has '{both}'.", node)
        if kinds:
            return kinds[0]
        others = [key for key in node.items if str(key) not in _SHARED]
        if misplaced := [str(key) for key in others if str(key) in _OF_BRANCHES]:
            hint = "Put it below the 'next' of the step before it, or of a step with 'noop: true'."
            self._fault(f"'{misplaced[0]}' is no step: it is an alternative of 'next'.", node, hint)
            return "unknown"
        near = next((near for key in others if (near := misspelt(str(key), STEP_KINDS))), None)
        if near or not (others or "next" in node.items):
            hint = f"Did you mean '{near}'?" if near else ""
            self._fault(f"A step needs one of: {', '.join(STEP_KINDS)}.", node, hint)
        return "unknown"

    def _next(self, node: YamlNode | None, depth: int) -> tuple[Named | None, tuple[Branch, ...]]:
        if node is None or _is_nothing(node):
            return None, ()
        if isinstance(node, YamlScalar):
            return _named(node), ()
        if not isinstance(node, YamlSequence):
            self._fault("'next' must name a step, or be a list of 'if', 'then' and 'else'.", node)
            return None, ()
        if not any(isinstance(item, YamlMapping) and {"if", "else"} & set(item.items) for item in node.items):
            return None, (Branch(node.location, steps=self._steps(node, "'next'", depth + 1)),)
        branches = []
        for item in node.items:
            branch = self._branch(item, depth)
            if branch is not None:
                branches.append(branch)
        return None, tuple(branches)

    def _branch(self, node: YamlNode, depth: int) -> Branch | None:
        if not isinstance(node, YamlMapping) or not {"if", "else"} & set(node.items):
            self._fault("An alternative of 'next' has 'if' and 'then', or 'else'.", node)
            return None
        self._unknown(node, _OF_BRANCHES, "an alternative of 'next'")
        is_if = "if" in node.items
        if is_if and "else" in node.items and "then" in node.items:
            self._fault("'else' must be an entry of its own in the list below 'next'.", node)
        target = node.items.get("then") if is_if else node.items.get("else")
        condition = self._condition(node.items["if"]) if is_if else None
        if is_if and condition is None:
            self._fault("'if' has no condition.", node)
            condition = Condition("", node.location)
        if target is None or _is_nothing(target):
            self._fault(f"'{'then' if is_if else 'else'}' leads nowhere: name a step, or END.", node)
            return Branch(node.location, condition, Named("END", node.location))
        if isinstance(target, YamlScalar):
            return Branch(node.location, condition, _named(target))
        return Branch(node.location, condition, steps=self._steps(target, "an alternative", depth + 1))

    def rejections(self, node: YamlNode | None) -> Iterator[Rejection]:
        for item in self._items(node, "'rejections'"):
            if not isinstance(item, YamlMapping):
                self._fault("An entry of 'rejections' has 'if' and 'utter'.", item)
                continue
            self._unknown(item, frozenset({"if", "utter"}), "an entry of 'rejections'")
            for key in ("if", "utter"):
                if key not in item.items or _is_nothing(item.items[key]):
                    self._fault(f"An entry of 'rejections' has no '{key}'.", item)
            yield Rejection(item.location, self._condition(item.items.get("if")), _named(item.items.get("utter")))

    def _assignments(self, node: YamlNode | None) -> Iterator[Assignment]:
        for item in (node,) if isinstance(node, YamlMapping) else self._items(node, "'set_slots'"):
            if not isinstance(item, YamlMapping):
                self._fault("An entry of 'set_slots' is a slot with its value, such as '- name: value'.", item)
                continue
            for key, value in item.items.items():
                yield Assignment(Named(str(key), item.key_location(key)), value.data)

    def _exits(self, node: YamlNode | None) -> Iterator[Condition]:
        for item in self._items(node, "'exit_if'"):
            if (condition := self._condition(item)) is not None:
                yield condition

    def _mapping(self, node: YamlNode | None) -> tuple[tuple[Named, ...], tuple[Named, ...]]:
        """Return the slots that are passed to a tool, and those that its result fills."""
        found: dict[str, tuple[Named, ...]] = {}
        for key in ("input", "output"):
            below = node.at(key) if isinstance(node, YamlMapping) else None
            items = below.items if isinstance(below, YamlSequence) else ()
            found[key] = tuple(name for item in items if (name := _named(item.at("slot"))) is not None)
        return found["input"], found["output"]

    def _condition(self, node: YamlNode | None) -> Condition | None:
        if not isinstance(node, YamlScalar) or node.value is None:
            if node is not None and not isinstance(node, YamlScalar):
                self._fault("A condition must be text; one that begins with { or [ needs quotes.", node)
            return None
        if isinstance(node.value, bool):
            return Condition(str(node.value), node.location, node.value)
        return Condition(str(node.value), node.location)

    # --- parts --------------------------------------------------------------------------------------------------------

    def _names(self, node: YamlNode | None, what: str) -> Iterator[Named]:
        for item in self._items(node, what):
            if (name := _named(item)) is not None:
                yield name

    def _items(self, node: YamlNode | None, what: str) -> Iterable[YamlNode]:
        if node is None or _is_nothing(node):
            return ()
        if isinstance(node, YamlSequence):
            return node.items
        self._fault(f"{what} must be a list.", node)
        return ()

    def _unknown(self, node: YamlMapping, known: frozenset[str], what: str, kind: StepKind | None = None) -> None:
        for key, value in node.items.items():
            if key in _BOOLEANS and not (isinstance(value, YamlScalar) and isinstance(value.value, bool)):
                self.faults.append(
                    FlowFault("flow-syntax", f"'{key}' must be true or false; got '{_shown(value)}'.", value.location)
                )
            if str(key) in known or (kind == "unknown" and str(key) in _OF_BRANCHES):
                continue
            if kind not in {None, "unknown"} and any(str(key) in keys for keys in _OF_KIND.values()):
                if str(key) not in STEP_KINDS:  # two kinds at once are reported as such
                    message = f"Nothing reads '{key}' in a step with '{kind}'."
                    self.faults.append(FlowFault("flow-key-unknown", message, node.key_location(key)))
                continue
            near = misspelt(str(key), sorted(known))
            message = f"Nothing is known of the key '{key}' in {what}; it is not read."
            hint = f"Did you mean '{near}'?" if near else ""
            self.faults.append(FlowFault("flow-key-unknown", message, node.key_location(key), hint))

    def _fault(self, message: str, node: YamlNode, hint: str = "") -> None:
        self.faults.append(FlowFault("flow-syntax", message, node.location, hint))


_NAMES: Final = {"action": "an action", "collect": "a slot", "link": "a flow", "call": "a flow, an agent or a tool"}


def _named(node: YamlNode | None) -> Named | None:
    if not isinstance(node, YamlScalar) or node.value is None or str(node.value) == "":
        return None
    return Named(str(node.value), node.location)


def _listed(node: YamlNode | None) -> Iterator[Named]:
    """The names in a list; other values than lists are not for all flows."""
    for item in node.items if isinstance(node, YamlSequence) else ():
        if (name := _named(item)) is not None:
            yield name


def _text(node: YamlNode | None) -> str:
    return str(node.value) if isinstance(node, YamlScalar) and node.value is not None else ""


def _is_nothing(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None


def _shown(node: YamlNode) -> str:
    return str(node.data)[:60]
