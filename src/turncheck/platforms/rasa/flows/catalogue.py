"""What can be wrong with flows, with what they name, and with tests that cannot pass: a row for each check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.validation.checks import FAILS, Check

if TYPE_CHECKING:
    from turncheck.messages.finding import Severity
    from turncheck.validation.facts import Part

_BESIDE_A_BASE: Final = "Only found against a base, by `run`, the action and `report compare`."
SECTION: Final = "In flows (CALM)"
_NEEDS: Final[dict[str, tuple[Part, ...]]] = {
    **dict.fromkeys(
        (
            *("flow-action-undefined", "flow-response-undefined", "flow-slot-undefined", "flow-question-missing"),
            "flow-code-response-undefined",
            "flow-slot-never-filled",
        ),
        ("domain",),
    ),
    **dict.fromkeys(("flow-intent-undefined", "flow-router-intent-undefined"), ("domain", "nlu")),
    "flow-flow-undefined": ("stories",),
    **dict.fromkeys(
        (
            *("flow-payload-undefined", "flow-unused", "flow-slot-unused", "flow-response-unused"),
            *("flow-test-cannot-pass", "flow-test-names-nothing", "flow-test-text-unknown", "flow-test-slot-unknown"),
        ),
        ("domain", "stories"),
    ),
}
"""What would be reported as missing or unused because a file cannot be read; one of flows may hold stories as well."""


def _check(  # noqa: PLR0917 - the rows of a table
    code: str,
    severity: Severity,
    title: str,
    text: str,
    wrong: str = "",
    right: str = "",
    *,
    about: tuple[str, ...],
    details: str = "",
) -> Check:
    return Check(
        *(code, severity, FAILS[severity], "platform", title, text, wrong, right),
        details=details,
        needs=_NEEDS.get(code, ()),
        about=about,
    )


def _flow(steps: str, before: str = "") -> str:
    return f"flows:\n  order_pizza:\n    description: Order a pizza.\n{before}    steps:\n{steps}"


_OF_FLOWS: Final = (
    _check(
        "flow-syntax",
        "error",
        "A flow is not written as flows are",
        "`flows` is a mapping of names to flows, each with `description` and a list of `steps`; a step has one of"
        " `action`, `collect`, `link`, `call`, `set_slots` and `noop`. What can be read of the flow is checked.",
        _flow("      action: utter_hello"),
        _flow("      - action: utter_hello"),
        about=("place",),
    ),
    _check(
        "flow-without-steps",
        "warning",
        "A flow has no steps",
        "It ends as soon as it begins. Write its steps, or remove it.",
        about=("place",),
    ),
    _check(
        "flow-key-unknown",
        "warning",
        "Nothing is known of a key of a flow",
        "It is misspelt, it belongs to another kind of step, or it is of a version of Rasa that is not known here. It is"
        " not read; everything beside it is.",
        _flow("      - collect: size\n        ask_before_filing: true"),
        _flow("      - collect: size\n        ask_before_filling: true"),
        about=("place",),
    ),
    _check(
        "flow-name-invalid",
        "error",
        "The name of a flow has characters that Rasa does not allow",
        "Letters, digits, `_` and `-` are allowed; the first is no `-`. Rename the flow.",
        "flows:\n  order pizza: {description: Order a pizza., steps: [{action: utter_hello}]}",
        "flows:\n  order_pizza: {description: Order a pizza., steps: [{action: utter_hello}]}",
        about=("flow",),
    ),
    _check(
        "flow-repeated",
        "error",
        "Two flows have the same name",
        "Rasa refuses the second one. Rename one of them, or remove it.",
        about=("flow",),
    ),
    _check(
        "flow-description-missing",
        "error",
        "A flow has no description",
        "Rasa requires it: the language model decides by it when to start the flow. Say what the flow does for the user.",
        "flows:\n  order_pizza:\n    steps:\n      - action: utter_hello",
        _flow("      - action: utter_hello"),
        about=("flow",),
    ),
    _check(
        "flow-description-repeated",
        "warning",
        "Flows have the same description",
        "The language model cannot tell them apart by it. Say in each what only this flow does.",
        about=("flow",),
    ),
    _check(
        "flow-names-differ-by-case",
        "warning",
        "Names only differ by upper and lower case",
        "They are two names for Rasa, and one for most readers and for language models. Rename one of them.",
        about=("flow", "slot", "response", "action"),
    ),
)

_OF_STEPS: Final = (
    _check(
        "flow-step-undefined",
        "error",
        "A step leads to one that does not exist",
        "`next`, `then` and `else` name the `id` of a step of the same flow, or `END`.",
        _flow("      - collect: size\n        next: confrm\n      - id: confirm\n        action: utter_done"),
        _flow("      - collect: size\n        next: confirm\n      - id: confirm\n        action: utter_done"),
        about=("flow", "step"),
    ),
    _check(
        "flow-step-repeated",
        "error",
        "Two steps of a flow have the same id",
        "Nobody can say which one `next` means. Rename one of them; `END` and `START` are the flow's own.",
        about=("flow", "step"),
    ),
    _check(
        "flow-step-unreachable",
        "warning",
        "A step is never reached",
        "No path from the beginning of the flow leads to it: the step before it names another one in `next`, or ends the"
        " flow. Lead to it, or remove it.",
        _flow("      - action: utter_hello\n        next: END\n      - action: utter_done"),
        _flow("      - action: utter_hello\n      - action: utter_done"),
        about=("flow", "step"),
    ),
    _check(
        "flow-without-end",
        "warning",
        "No path through a flow leads to its end",
        "Users only leave it by cancelling it. Lead one path to `END`.",
        about=("flow",),
    ),
    _check(
        "flow-endless-loop",
        "error",
        "A loop in which nothing is asked or done",
        "Its steps only lead to one another (`noop`, `link`, `call`) or say something, so that nothing changes and it never"
        " ends. Ask or do something in it, or lead out of it.",
        about=("flow",),
    ),
    _check(
        "flow-else-missing",
        "error",
        "The alternatives of a step have no else",
        "Rasa refuses the flow: nothing says what follows if no condition is true. Add `- else: END`.",
        _flow("      - collect: size\n        next:\n          - if: slots.size\n            then: END"),
        _flow(
            "      - collect: size\n        next:\n          - if: slots.size\n            then: END\n          - else: END"
        ),
        about=("place",),
    ),
    _check(
        "flow-branch-open",
        "error",
        "The last step of an alternative has no next",
        "Rasa refuses the flow: nothing says where it goes on after the steps below `then` or `else`. Add `next: END`, or"
        " name a step.",
        about=("place",),
    ),
    _check(
        "flow-link-not-last",
        "error",
        "A link is followed by something",
        "A link ends its flow; nothing after it runs. Use `call` to come back, or remove `next`.",
        _flow("      - link: feedback\n        next: END"),
        _flow("      - call: feedback\n        next: END"),
        about=("place",),
    ),
    _check(
        "flow-pattern-incomplete",
        "warning",
        "An overridden pattern lacks the action that it is for",
        "A flow with the name of one of Rasa's patterns replaces the whole pattern. Without its action (or one of your own"
        " in its place) a correction is not made, a flow is not cancelled, and so on.",
        "flows:\n  pattern_correction:\n    description: Correct a slot.\n    steps:\n      - action: utter_corrected",
        "flows:\n  pattern_correction:\n    description: Correct a slot.\n    steps:\n      - action:"
        " action_correct_flow_slot\n      - action: utter_corrected",
        about=("flow", "action"),
    ),
    _check(
        "flow-pattern-unknown",
        "warning",
        "A flow is named like a pattern that Rasa does not have",
        "It overrides nothing, so nothing starts it. Correct the name.",
        about=("flow",),
    ),
)

_OF_NAMES: Final = (
    _check(
        "flow-flow-undefined",
        "error",
        "A step leads to a flow that does not exist",
        "`link` and `call` name a flow of the project; `call` also an agent below `sub_agents`, or a tool of an MCP server"
        " with `mcp_server`. Correct the name, or write the flow.",
        about=("in flow", "flow"),
    ),
    _check(
        "flow-action-undefined",
        "error",
        "A flow runs an action that the domain does not list",
        "Rasa refuses the flow. List the action below `actions`, or correct the name.",
        about=("in flow", "action"),
    ),
    _check(
        "flow-response-undefined",
        "error",
        "A flow says a response that the domain does not define",
        "Rasa refuses the flow, or says nothing at this step. Define the response, or correct the name.",
        about=("in flow", "response"),
    ),
    _check(
        "flow-code-response-undefined",
        "warning",
        "Code says a response that the domain does not define",
        "Rasa says nothing then. Define the response, or correct the name.",
        about=("response",),
    ),
    _check(
        "flow-slot-undefined",
        "error",
        "A flow uses a slot that the domain does not define",
        "It is collected, set, persisted or read in a condition. Define the slot, or correct the name.",
        about=("in flow", "slot"),
    ),
    _check(
        "flow-intent-undefined",
        "warning",
        "A flow is started by an intent that the domain does not list",
        "`nlu_trigger` never starts it. List the intent, or correct the name.",
        about=("in flow", "intent"),
    ),
    _check(
        "flow-question-missing",
        "error",
        "A flow collects a slot that nothing asks for",
        "Rasa asks with the response `utter_ask_SLOT` or the action `action_ask_SLOT`, or with what `utter` of the step"
        " names. Define one of them.",
        about=("slot",),
    ),
    _check(
        "flow-slot-never-filled",
        "warning",
        "Nothing can fill a slot that a flow uses",
        "Its mappings (`controlled`, `custom`) leave it to actions, `set_slots` and buttons, and none of them sets it. Set"
        " it somewhere, or let the language model fill it (`type: from_llm`).",
        about=("slot",),
    ),
    _check(
        "flow-unused",
        "warning",
        "Nothing starts a flow",
        "Its guard (`if: False`) keeps users from starting it, and no step links to it or calls it. Remove the flow, or"
        " lead to it.",
        about=("flow",),
    ),
    _check(
        "flow-slot-unused",
        "warning",
        "Nothing uses a slot",
        "No flow, condition, response, form, prompt or code names it. Remove it.",
        about=("slot",),
    ),
    _check(
        "flow-response-unused",
        "warning",
        "Nothing says a response",
        "No flow, story, form or code names it, and it overrides none of Rasa's. Remove it.",
        about=("response",),
    ),
    _check(
        "flow-policy-missing",
        "error",
        "Nothing in the configuration runs the flows",
        "Flows need the policy `FlowPolicy`, and a command generator (or `NLUCommandAdapter`) in the pipeline that starts"
        " them. Add what is missing.",
        about=("file",),
    ),
    _check(
        "flow-model-group-undefined",
        "error",
        "A model group does not exist",
        "`model_group` names the `id` of an entry of `model_groups` in `endpoints.yml`. Correct the name, or add the"
        " group.",
        about=("model group",),
    ),
    _check(
        "flow-router-intent-undefined",
        "warning",
        "A router decides by an intent that the domain does not list",
        "The `IntentBasedRouter` sends messages by the intents below `nlu_entry` and `calm_entry`: this one is never"
        " understood. Correct the name, or list the intent.",
        about=("intent",),
    ),
)

_REFUSED: Final = (
    _check(
        "flow-question-twice",
        "error",
        "Both a response and an action ask for a slot",
        "Rasa refuses a flow that collects it: it cannot know which one to use. Keep `utter_ask_SLOT` or `action_ask_SLOT`.",
        about=("slot",),
    ),
    _check(
        "flow-link-refused",
        "error",
        "A flow links or calls where Rasa does not allow it",
        "Of the patterns, flows may only link to `pattern_human_handoff`. A flow that is called returns to its caller, so it"
        " has no `link`; patterns call nothing, and `pattern_internal_error` links to nothing. Use `call` instead of `link`,"
        " or the other way round.",
        about=("in flow", "flow"),
    ),
    _check(
        "flow-persisted-refused",
        "error",
        "A flow persists slots as Rasa does not allow",
        "`persisted_slots` lists slots that the flow collects or sets, and no step of the flow has `reset_after_flow_ends`."
        " Slots that actions set are kept anyway. Remove the slot from the list, or the key from the step.",
        _flow("      - action: utter_hello", "    persisted_slots: [size]\n"),
        _flow("      - collect: size", "    persisted_slots: [size]\n"),
        about=("flow", "slot"),
    ),
    _check(
        "flow-server-undefined",
        "error",
        "An MCP server is not configured",
        "`mcp_server` of a step names an entry below `mcp_servers` in `endpoints.yml`. Correct the name, or add the server.",
        about=("flow", "server"),
    ),
)

_OF_VALUES: Final = (
    _check(
        "flow-set-value",
        "error",
        "A step sets a slot to a value that it cannot have",
        "A categorical slot only takes its `values`, a bool slot true or false, a float slot numbers. Correct the value, or"
        " add it to the slot.",
        about=("slot", "flow", "value"),
    ),
)

_OF_CONDITIONS: Final = (
    _check(
        "flow-condition-invalid",
        "error",
        "A condition cannot be read",
        "Rasa evaluates conditions with pypred: `and`, `or`, `not`, `=`, `!=`, `<`, `>`, `is`, `contains`, `matches`, and"
        " parentheses; texts in quotes, and sets in braces without commas.",
        "- if: slots.size in ['small', 'large']",
        "- if: \"{'small' 'large'} contains slots.size\"",
        about=("flow", "condition"),
    ),
    _check(
        "flow-condition-word",
        "error",
        "A word in a condition stands for nothing",
        "Only what begins with `slots.` or `context.` has a value. Any other word without quotes equals nothing: `=` is"
        " never true, `!=` always.",
        "- if: slots.size = large",
        '- if: slots.size = "large"',
        about=("flow", "word"),
    ),
    _check(
        "flow-condition-value",
        "error",
        "A condition compares a slot with a value that it never has",
        "A categorical slot only has its `values`, a bool slot true or false, a float slot numbers, a text slot texts."
        " Correct the value, or add it to the slot.",
        about=("slot", "flow", "value"),
    ),
    _check(
        "flow-condition-case",
        "warning",
        "A condition writes a value with other upper and lower case than the slot",
        "Conditions compare exactly: `Large` is not `large`. Write the value as the slot lists it.",
        about=("slot", "flow", "value"),
    ),
    _check(
        "flow-condition-never-true",
        "error",
        "A condition can never be true",
        "No values of its slots make it true, so what follows from it is never reached. Correct it.",
        '- if: slots.size = "small" and slots.size = "large"',
        '- if: slots.size = "small" or slots.size = "large"',
        about=("flow", "condition"),
    ),
    _check(
        "flow-condition-covered",
        "warning",
        "An alternative is never reached",
        "Whenever its condition is true, that of one before it is true as well; or `else` follows conditions of which one"
        " is always true. Correct the condition, or change the order.",
        about=("flow", "condition"),
    ),
    _check(
        "flow-condition-order",
        "warning",
        "A condition has and before or without parentheses",
        "pypred groups both from the right: `a and b or c` is `a and (b or c)`. Write the parentheses that you mean.",
        "- if: slots.member and slots.paid or slots.staff",
        "- if: (slots.member and slots.paid) or slots.staff",
        about=("flow", "condition"),
    ),
)

_AGAINST_A_BASE: Final = (
    _check(
        "flow-condition-turned",
        "warning",
        "A change turned a condition around",
        "It, or a part of it, became its opposite, and what follows from it stayed the same: what was reached before is not reached now, and"
        " the other way round. Where that is meant, the tests that name what follows change as well.",
        details=_BESIDE_A_BASE,
        about=("flow", "condition"),
    ),
    _check(
        "flow-rejection-removed",
        "warning",
        "A change removed a rejection",
        "The slot is still collected, and values that were refused are accepted now.",
        details=_BESIDE_A_BASE,
        about=("slot", "flow", "condition"),
    ),
    _check(
        "flow-test-weakened",
        "warning",
        "A change removed an expectation from a test",
        "There is no other of its kind in its place: the test passes where it failed before.",
        details=_BESIDE_A_BASE,
        about=("test case", "expectation"),
    ),
)

_OF_PAYLOADS: Final = (
    _check(
        "flow-payload-invalid",
        "error",
        "The command of a button cannot be read",
        "It has the form `/SetSlots(slot=value, other=value)` or `/StartFlow(flow)`.",
        "payload: /SetSlot(size=large)",
        "payload: /SetSlots(size=large)",
        about=("payload",),
    ),
    _check(
        "flow-payload-undefined",
        "error",
        "The command of a button names something that does not exist",
        "It sets a slot that the domain does not define, or starts a flow that is not there. Correct the name.",
        about=("payload", "slot", "flow"),
    ),
    _check(
        "flow-payload-value",
        "error",
        "The command of a button sets a slot to a value that it cannot have",
        "A categorical slot only takes its `values`, a bool slot true or false. Correct the value, or add it to the slot.",
        about=("payload", "slot", "value"),
    ),
)

_OF_TESTS: Final = (
    _check(
        "flow-test-cannot-pass",
        "error",
        "A test expects what nothing in the project can give",
        "It names a response, flow, step, action, slot or value that does not exist, or a response that nothing says: it"
        " fails whatever is understood. Correct the test, or bring back what it expects.",
        about=("response", "flow", "step", "action", "slot", "value", "text", "buttons"),
    ),
    _check(
        "flow-test-text-unknown",
        "warning",
        "A test expects a text that no response says",
        "No response of the domain says it, whatever is filled in. Unless it is one of Rasa's own messages, correct the test"
        " or the response.",
        details="Nothing is said where something else may say it: a rephraser, an agent, another policy, code.",
        about=("text",),
    ),
    _check(
        "flow-test-names-nothing",
        "error",
        "A test fills or sends what the project does not have",
        "A fixture or a message with a command names a slot that does not exist, or a value that it cannot have: the"
        " conversation does not begin as written. Correct it.",
        about=("slot", "value", "payload"),
    ),
    _check(
        "flow-test-slot-unknown",
        "warning",
        "A test says of a slot that does not exist that it is not set",
        "That is always so. Correct the name, or remove the expectation.",
        about=("slot",),
    ),
    _check(
        "flow-test-command-unknown",
        "warning",
        "A dialogue understanding test expects a command that is not known",
        "It is misspelt, a command of your own (`--additional-commands`), or of a version of Rasa that is not known here."
        " The commands are `StartFlow(flow)`, `SetSlot(slot, value)`, `CancelFlow()`, `Clarify(flow, flow)` and so on.",
        about=("command",),
    ),
)

CHECKS: Final = (
    *(
        *_OF_FLOWS,
        *_OF_STEPS,
        *_OF_NAMES,
        *_REFUSED,
        *_OF_VALUES,
        *_OF_CONDITIONS,
        *_AGAINST_A_BASE,
        *_OF_PAYLOADS,
        *_OF_TESTS,
    ),
)
