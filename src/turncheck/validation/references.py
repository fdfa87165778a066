"""Rasa's checks of names across files: stories and rules against the domain, the domain against itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeGuard

from msgspec.structs import replace

from turncheck.dialogue.domain import DEFAULT_INTENTS, SAID_BY_DEFAULT_ACTIONS
from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import suggestion
from turncheck.project.model import OrStep, Story, UserStep
from turncheck.validation.checks import error_check, warning_check
from turncheck.validation.facts import UTTER, Facts
from turncheck.validation.findings import found, gathered, of_blocks, places_of
from turncheck.validation.places import Places
from turncheck.validation.response_variables import asked_by_forms
from turncheck.yaml_tree.tree import YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


CHECKS: Final = (
    warning_check(
        "listed-response-undefined",
        "load",
        "An `utter_` action of the domain has no response",
        "Nothing would be said. Write the response, or remove the action.",
        needs=("domain", "responses"),
        about_domain=True,
        about=("action",),
    ),
    error_check(
        "intent-triggers-removed",
        "domain",
        "An intent uses the removed `triggers` key",
        "It belonged to the MappingPolicy. Write a rule: the intent, then the action.",
        about=("place",),
    ),
    error_check(
        "action-not-in-domain",
        "domain",
        "A story or rule uses an action that the domain does not list",
        "List it below `actions`, or correct its name.",
        needs=("domain",),
        position=1,
        about_domain=True,
        about=("action",),
    ),
    error_check(
        "form-not-in-domain",
        "domain",
        "A story or rule activates a form that the domain does not define",
        "Define it below `forms`, or correct its name; what ends a form is `null` without quotes.",
        details="Rasa 0 and 1 train nevertheless: for their projects it is a warning.",
        needs=("domain",),
        position=2,
        about_domain=True,
        about=("form",),
    ),
    error_check(
        "form-slot-undefined",
        "domain",
        "A form requires a slot that the domain does not define",
        "Define it below `slots`, or correct its name.",
        needs=("domain",),
        position=3,
        about=("form", "slot"),
    ),
    error_check(
        "mapping-conditions-empty",
        "domain",
        "There is nothing below `conditions` of a slot mapping",
        "Rasa 3.6 ends with a traceback here. Write the conditions, or remove the key.",
        then="stops",
        position=4,
        about=("place",),
    ),
    error_check(
        "required-slots-empty",
        "domain",
        "There is nothing below `required_slots` of a form",
        "Rasa 3.6 ends with a traceback here. Write the slots, or an empty list: `required_slots: []`.",
        then="stops",
        position=3,
        about=("place",),
    ),
    error_check(
        "mapping-form-undefined",
        "domain",
        "A slot mapping's condition names an unknown form",
        "Define the form below `forms`, or correct its name.",
        needs=("domain",),
        position=4,
        about=("slot", "form"),
    ),
    error_check(
        "mapping-slot-not-required",
        "domain",
        "A slot mapping's condition names a form that does not require the slot",
        "Add the slot to the form's `required_slots`, or remove the condition.",
        position=4,
        about=("slot", "form"),
    ),
    warning_check(
        "intent-without-examples",
        "nlu",
        "An intent of the domain has no examples",
        "It can never be predicted. Write examples, or remove it.",
        needs=("nlu", "stories"),
        about=("intent",),
    ),
    warning_check(
        "intent-not-in-domain",
        "nlu",
        "An intent of the NLU data is not listed in the domain",
        "Add it to the domain's `intents`, or correct its name.",
        "on-warnings",
        needs=("domain",),
        about_domain=True,
        about=("intent",),
    ),
    warning_check(
        "example-in-several-intents",
        "nlu",
        "The same sentence appears under different intents",
        "No classifier can tell them apart. Keep it in one.",
        "on-warnings",
        about=("sentence", "intent"),
    ),
    warning_check(
        "story-intent-undefined",
        "nlu",
        "A story or rule uses an intent that the domain does not list",
        "Add it to the domain's `intents`, or correct its name.",
        "on-warnings",
        "never",
        needs=("domain",),
        with_stories=True,
        about_domain=True,
        about=("intent",),
    ),
    warning_check(
        "intent-unused",
        "nlu",
        "An intent of the domain is used in no story or rule",
        "Nothing says what the assistant should do then. Write a rule or story, or remove it.",
        needs=("stories",),
        about=("intent",),
    ),
    warning_check(
        "response-undefined",
        "nlu",
        "A story or rule uses a response that is defined nowhere",
        "Write the response, or correct its name.",
        "on-warnings",
        details="A key of a retrieval intent (`utter_faq/hours`) is chosen by the response selector: stories name"
        " `utter_faq`. If a change renamed or removed the response, see the top of this page.",
        needs=("domain", "responses"),
        about_domain=True,
        about=("response",),
    ),
    warning_check(
        "response-unused",
        "nlu",
        "A response is used in no story or rule",
        "Remove it, or use it.",
        details="Questions of forms (`utter_ask_<slot>`) and responses that a string of the project's Python code names"
        " are not reported. A custom action that runs elsewhere, or puts the name together, may still use it.",
        needs=("domain", "stories"),
        about=("response",),
    ),
)


def check_domain(facts: Facts) -> Iterator[Finding]:
    """The checks of Rasa's domain stage: each of them always fails a run."""
    yield from _removed_triggers(facts)
    yield from _actions(facts)
    yield from _forms(facts)
    yield from _required_slots(facts)
    yield from _mapping_conditions(facts)


def check_intents(facts: Facts) -> Iterator[Finding]:
    """Intents of the domain against NLU data and stories, and vice versa."""
    listed = {name: intent.location for name, intent in facts.domain.intents.items() if name not in DEFAULT_INTENTS}
    # A retrieval intent of the NLU data counts as listed.
    for name in sorted(facts.retrieval_intents.keys() - listed.keys() - set(DEFAULT_INTENTS)):
        listed[name] = facts.nlu_intents.get(name, facts.retrieval_intents[name])
    unlisted = frozenset(facts.nlu_intents.keys() - listed.keys())
    for name, location in listed.items():
        if name not in facts.nlu_intents:
            yield found(
                "intent-without-examples",
                f"The intent '{name}' is listed in the domain and has no examples.",
                location,
                suggestion(name, unlisted),
                names=(Name("intent", name),),
            )
    yield from _unlisted_intents(facts)
    for name, location in listed.items():
        if name not in facts.story_intents and not _is_mapped(facts, name):
            message = f"The intent '{name}' is used in no story or rule."
            yield found("intent-unused", message, location, names=(Name("intent", name),))


def _unlisted_intents(facts: Facts) -> Iterator[Finding]:
    """Intents of NLU data that the domain does not list, each with where it is named in other files and in tests.

    Tests are not wrong for themselves: such an intent can be understood.
    """
    unlisted = {name: location for name, location in facts.nlu_intents.items() if name not in facts.intents}
    if not unlisted:
        return
    places = Places(facts.project)
    named: dict[str, dict[Location, None]] = {name: {} for name in unlisted}
    seen = {(name, location.path) for name, location in unlisted.items()}
    for sentence in (*facts.project.nlu.examples, *facts.tests.examples):
        name = sentence.base_intent or ""
        if name in unlisted and (name, sentence.location.path) not in seen:
            seen.add((name, sentence.location.path))
            named[name][places.of_intent(name, sentence.location)] = None
    for step in facts.tests.user_steps():
        if step.base_intent in unlisted:
            named[step.base_intent][step.location] = None
    for name, location in unlisted.items():
        first = places.of_intent(name, location)
        yield found(
            "intent-not-in-domain",
            f"There are examples for the intent '{name}', which the domain does not list.",
            first,
            suggestion(name, facts.intents),
            sorted(named[name].keys() - {first}, key=lambda place: place.sort_key),
            names=(Name("intent", name),),
        )


def _is_mapped(facts: Facts, name: str) -> bool:
    """Whether an action answers an intent in every dialogue, as MappingPolicy of Rasa 0 to 2 has it."""
    intent = facts.domain.intents.get(name)
    return facts.project.older is not None and intent is not None and intent.triggers is not None


def check_story_intents(facts: Facts) -> Iterator[Finding]:
    """User steps whose intent the domain files do not list, once for each intent (as Rasa: and file).

    Rasa reports these while it loads the stories, before it knows which intents the NLU data add; it does
    not check alternatives then.
    """
    known = frozenset((*facts.domain.intents, *DEFAULT_INTENTS))
    parts = (
        (block, step)
        for block in facts.blocks
        for step in (*block.condition, *block.steps)
        if isinstance(step, UserStep)
    )
    yield from _unknown_intents(parts, known, as_rasa=facts.as_rasa)


def check_alternative_intents(facts: Facts) -> Iterator[Finding]:
    """Intents of alternatives that nothing lists, which Rasa only sees in its checks."""
    named = {step.base_intent for block in facts.blocks for step in block.steps if isinstance(step, UserStep)}
    parts = (
        (block, part)
        for block in facts.blocks
        for step in block.steps
        for alternative in (step.alternatives if isinstance(step, OrStep) else ())
        for part in alternative
        if isinstance(part, UserStep) and part.base_intent not in named
    )
    yield from _unknown_intents(parts, facts.intents, as_rasa=facts.as_rasa)


def _unknown_intents(
    listed: Iterable[tuple[Story, UserStep]], known: frozenset[str], *, as_rasa: bool
) -> Iterator[Finding]:
    uses = (
        ((step.base_intent, step.location.path if as_rasa else ""), (block, step))
        for block, step in listed
        if step.base_intent and step.base_intent not in known
    )
    yield from of_blocks(
        "story-intent-undefined",
        "intent",
        uses,
        "The intent '{name}' of the {where} is not listed in the domain.",
        known,
    )


def check_repeated_examples(facts: Facts) -> Iterator[Finding]:
    """The same plain text under several intents; keys of one retrieval intent do not count."""
    intents: dict[str, dict[str, None]] = {}
    for sentence in facts.labelled:
        intents.setdefault(sentence.text or "", {})[sentence.base_intent or ""] = None
    several = {text for text, names in intents.items() if len(names) > 1}
    if not several:
        return
    places: dict[str, list[Location]] = {}
    for sentence in facts.labelled:
        if (text := sentence.text or "") in several:
            places.setdefault(text, []).append(sentence.location)
    for text, found_at in places.items():
        first, *others = sorted(found_at, key=lambda location: location.sort_key)
        names = ", ".join(sorted(intents[text]))
        message = f"The example '{text}' appears under several intents: {names}."
        about = (Name("sentence", text), *(Name("intent", name) for name in intents[text]))
        yield found("example-in-several-intents", message, first, others=others, about=about)


def check_responses(facts: Facts) -> Iterator[Finding]:
    """Responses that stories use and nothing defines, and those that no story, form, policy or action uses.

    Rasa does not look into forms, policies and actions.
    """
    used = gathered((step.action, step) for _, step in facts.action_steps() if step.action.startswith(UTTER))
    for name, steps in used.items():
        if name not in facts.utterances:
            first, *others = sorted(steps, key=lambda step: step.location.sort_key)
            finding = found(
                "response-undefined",
                f"The response '{name}' is used in stories or rules, but it is defined nowhere.",
                first.location,
                suggestion(name, facts.utterances),
                places_of(others),
                names=(Name("response", name),),
            )
            action, is_key, _ = name.partition("/")
            selects = f" '{name}' is chosen by the response selector: write '{action}'."
            yield replace(finding, hint=finding.hint + selects) if is_key else finding
    asked = asked_by_forms(facts) | SAID_BY_DEFAULT_ACTIONS | _named_in_policies(facts)
    asked |= {intent.triggers for intent in facts.domain.intents.values() if intent.triggers}
    unused: dict[str, Location] = {}
    for response in facts.domain.responses.values():
        name = response.name.partition("/")[0]
        if name not in used and name not in asked:
            unused.setdefault(name, response.location)
    in_code = {quoted.partition("/")[0] for quoted in facts.code.quoted} if unused else set()
    for name, location in unused.items():
        if name not in in_code:
            message = f"The response '{name}' is used in no story or rule."
            yield found("response-unused", message, location, names=(Name("response", name),))


def _named_in_policies(facts: Facts) -> set[str]:
    """Responses that a policy falls back to, such as those of ``core_fallback_action_name``."""
    values = (value for policy in facts.project.config.policies or () for value in policy.parameters.values())
    return {value for value in values if isinstance(value, str) and value.startswith(UTTER)}


def check_listed_responses(facts: Facts) -> Iterator[Finding]:
    """``utter_`` actions without a response; a retrieval action needs one only where none of its keys has one."""
    domain = facts.domain
    retrieval = [UTTER + intent for intent in sorted(facts.retrieval_intents)]
    parents = {name.partition("/")[0] for name in (*domain.actions, *domain.responses) if name.count("/") == 1}
    for name in dict.fromkeys((*domain.actions, *domain.forms, *retrieval)):
        if name.startswith(UTTER) and name not in domain.responses and name not in parents:
            action = domain.actions.get(name)
            example = facts.nlu_intents.get(name.removeprefix(UTTER))
            location = action.location if action else example or domain.location
            yield found(
                "listed-response-undefined",
                f"The action '{name}' needs a response, but none is defined.",
                location,
                suggestion(name, facts.responses),
                names=(Name("action", name),),
            )


def _removed_triggers(facts: Facts) -> Iterator[Finding]:
    # Once Rasa has merged something into the domain, its intents are sorted.
    merged = facts.retrieval_intents or facts.bot_texts or facts.has_nlu_responses
    intents = facts.domain.intents.values()
    for intent in sorted(intents, key=lambda i: i.name) if merged else intents:
        if intent.triggers is not None:
            yield found(
                "intent-triggers-removed",
                f"The intent '{intent.name}' uses the removed key 'triggers'.",
                intent.location,
            )
            return  # Rasa only names the first one


def _actions(facts: Facts) -> Iterator[Finding]:
    uses = (
        (step.action, (block, step))
        for block, step in facts.action_steps()
        if step.action.startswith("action_") and step.action not in facts.actions
    )
    yield from of_blocks(
        "action-not-in-domain",
        "action",
        uses,
        "The action '{name}' of the {where} is not listed in the domain.",
        facts.actions,
    )


def _forms(facts: Facts) -> Iterator[Finding]:
    uses = ((step.name or "", (block, step)) for block, step in facts.loop_steps() if step.name not in facts.actions)
    yield from of_blocks(
        "form-not-in-domain",
        "form",
        uses,
        "The form '{name}' of the {where} is not defined in the domain.",
        facts.forms,
    )


def _required_slots(facts: Facts) -> Iterator[Finding]:
    places = Places(facts.project)
    for form in facts.domain.forms.values():
        node = places.written(form.location.path, "forms", form.name, "required_slots")
        if _is_null(node):
            yield found("required-slots-empty", f"The form '{form.name}' has an empty 'required_slots'.", node.location)
        for item in node.items if isinstance(node, YamlSequence) else ():
            if _is_null(item):
                message = f"The form '{form.name}' requires the slot 'None': an entry of 'required_slots' is empty."
                yield found("form-slot-undefined", message, item.location, names=(Name("form", form.name),))
                break
        for slot in dict.fromkeys(form.required_slots):
            if slot not in facts.domain.slots and slot not in facts.default_slots:
                yield found(
                    "form-slot-undefined",
                    f"The form '{form.name}' requires the slot '{slot}', which the domain does not define.",
                    places.of_entry(slot, form.location, "forms", form.name, "required_slots"),
                    suggestion(slot, facts.slots),
                    names=(Name("form", form.name), Name("slot", slot)),
                )


def _mapping_conditions(facts: Facts) -> Iterator[Finding]:
    places = Places(facts.project)
    for slot in facts.domain.slots.values():
        written = places.written(slot.location.path, "slots", slot.name, "mappings")
        for item in written.items if isinstance(written, YamlSequence) else ():
            node = item.at("conditions")
            if _is_null(node):
                message = f"A mapping of the slot '{slot.name}' has empty 'conditions'."
                yield found("mapping-conditions-empty", message, node.location)
    forms = facts.domain.forms
    seen: set[tuple[str, str, str]] = set()
    for slot in facts.domain.slots.values():
        for place, mapping in enumerate(slot.mappings):
            for number, condition in enumerate(mapping.conditions):
                name = condition.active_loop
                form = forms.get(name or "")
                if name and form is None:
                    code = "mapping-form-undefined"
                    message = f"A mapping of the slot '{slot.name}' names the form '{name}', which is not defined."
                elif (
                    form is not None
                    and form.required_slots
                    and slot.name not in form.required_slots
                    and mapping.type != "from_trigger_intent"
                ):
                    code = "mapping-slot-not-required"
                    message = f"A mapping of the slot '{slot.name}' names the form '{name}', which does not require it."
                else:
                    continue
                if (code, slot.name, name or "") not in seen:
                    seen.add((code, slot.name, name or ""))
                    near = suggestion(name or "", forms) if form is None else ""
                    names = (Name("slot", slot.name), Name("form", name or ""))
                    path = ("slots", slot.name, "mappings", place, "conditions", number, "active_loop")
                    location = places.of_entry(name, mapping.location, *path)
                    yield found(code, message, location, near, names=names)


def _is_null(node: YamlNode | None) -> TypeGuard[YamlScalar]:
    return isinstance(node, YamlScalar) and node.value is None
