"""A value of the wrong shape is blamed where it is, by the rule that it was meant for, with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden
from small_project import read

from turncheck.validation.pipeline import validate

D, N, S, R = "domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml"
BYE = "- intent: bye\n  examples:\n"
RULE = "- rule: x\n  steps:\n"
TEXT = "Write a string; quote numbers"

CASES = {
    "a number among listed examples": (
        (N, "", f"{BYE}  - 5\n"),
        "the number 5 is not a mapping of keys (at /nlu/4/examples/0)",
        "Write a mapping ('key: value'). Keys that are known here: 'text', 'metadata'.",
    ),
    "a number for examples": (
        (N, "", "- intent: bye\n  examples: 5\n"),
        "the number 5 is neither a string nor a list (at /nlu/4/examples)",
        "with '- ' before each entry",
    ),
    "a list for an intent": (
        (N, "", "- intent: [1]\n  examples: |\n    - hi\n"),
        "a list is not a string (at /nlu/4/intent)",
        TEXT,
    ),
    "a list for an intent of a rule": (
        (R, "", f"{RULE}  - intent: [1]\n"),
        "a list is not a string (at /rules/2/steps/0/intent)",
        TEXT,
    ),
    "a mapping for an action of a rule": (
        (R, "", f"{RULE}  - action: {{a: 1}}\n"),
        "a mapping is not a string (at /rules/2/steps/0/action)",
        TEXT,
    ),
    "a misspelt key of an intent": (
        (N, "", "- intent: bye\n  exampels: |\n    - hi\n"),
        "the key 'exampels' is not known here (at /nlu/4). Did you mean 'examples'?",
        "Correct the key, or remove it. Known here: 'intent', 'metadata', 'examples'.",
    ),
    "an action among alternatives": (
        (R, "", f"{RULE}  - or:\n    - intent: greet\n    - action: utter_greet\n"),
        "the key 'action' is not known here (at /rules/2/steps/0/or/1)",
        "Known here: 'intent', 'user', 'entities', 'slot_was_set'.",
    ),
    "an intent of the domain that is a list": (
        (D, "- greet\n", "- [greet]\n"),
        "a list is neither a mapping of keys nor a string (at /intents/0)",
        TEXT,
    ),
    "a slot without mappings": (
        (D, "slots:\n", "slots:\n  x:\n    type: text\n"),
        "the required key 'mappings' is missing (at /slots/x)",
        "Add the key 'mappings'.",
    ),
}


@pytest.mark.parametrize(("edit", "message", "hint"), CASES.values(), ids=CASES.keys())
def test_the_fault_is_named_alone_with_what_was_expected(
    tmp_path: Path, edit: tuple[str, str, str], message: str, hint: str
) -> None:
    found = [f for f in validate(read(tmp_path, edit)).findings if f.code == "schema-violation"]
    assert len(found) == 1, found
    assert message in found[0].message
    assert hint in found[0].hint


def test_all_faults_of_the_rule_that_fits_are_named(tmp_path: Path, golden: Golden) -> None:
    examples = (N, "", "- intent: bye\n  remark: x\n  examples:\n  - 5\n  - text: [a]\n  - text: good\n")
    found = [f.message for f in validate(read(tmp_path, examples)).findings if f.code == "schema-violation"]
    golden(*found)
