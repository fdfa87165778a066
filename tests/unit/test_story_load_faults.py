"""What real Rasa 3.6.21 was seen to remark on, or to crash at, while it loads stories and NLU data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from small_project import read

from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

N, S, R = "data/nlu.yml", "data/stories.yml", "data/rules.yml"

STORY = "- story: more\n  steps:\n"
DONE = "  - action: utter_done\n"
ERRORS = {
    "no text of a user": ((S, "", f"{STORY}  - user:\n{DONE}"), "step-list-empty"),
    "no text beside the intent": ((S, "", f"{STORY}  - user:\n    intent: greet\n{DONE}"), "step-list-empty"),
    "no text of a user in a rule": ((R, "", f"- rule: more\n  steps:\n  - user:\n{DONE}"), "step-list-empty"),
    "no text of an alternative": (
        (S, "", f"{STORY}  - or:\n    - user:\n      intent: order\n    - intent: faq\n{DONE}"),
        "step-list-empty",
    ),
    "an intent that begins with a slash": ((N, "", "- intent: /x\n  examples: |\n    - hm\n"), "intent-name-invalid"),
}
WARNINGS = {
    "a slash before an intent": ((S, "", f"{STORY}  - intent: /goodbye\n{DONE}"), ["intent-leading-slash"]),
    "an alternative without intent": (
        (S, "", f"{STORY}  - or:\n    - user: hi there\n    - intent: greet\n  - action: utter_greet\n"),
        ["step-unexpected"],
    ),
    "a block without a name": ((N, "", "- examples: |\n    - hm\n"), ["nlu-block-unknown"]),
}


@pytest.mark.parametrize("case", ERRORS)
def test_rasa_ends_and_this_is_the_only_error(case: str, tmp_path: Path) -> None:
    edit, code = ERRORS[case]
    validated = validate(read(tmp_path, edit), drop_in=True)
    assert [finding.code for finding in validated.findings if finding.severity == "error"] == [code]
    assert validated.exit_code(fail_on_warnings=False) == 1


@pytest.mark.parametrize("case", WARNINGS)
def test_rasa_remarks_on_it_and_so_do_we(case: str, tmp_path: Path) -> None:
    edit, codes = WARNINGS[case]
    validated = validate(read(tmp_path, edit), drop_in=True)
    assert [finding.code for finding in validated.findings if finding.severity != "info"] == codes


def test_an_or_with_an_alternative_without_intent_is_skipped_whole(tmp_path: Path) -> None:
    edit, _ = WARNINGS["an alternative without intent"]
    story = read(tmp_path, edit).stories[-1]
    assert [type(step).__name__ for step in story.steps] == ["ActionStep"]


@pytest.mark.slow
def test_synonyms_of_one_file_are_settled_before_those_of_several(tmp_path: Path) -> None:
    first = 'version: "3.1"\nnlu:\n- synonym: large\n  examples: |\n    - big\n'
    second = (
        'version: "3.1"\nnlu:\n- synonym: huge\n  examples: |\n    - big\n- synonym: vast\n  examples: |\n    - big\n'
    )
    project = read(tmp_path, **{"data/x.yml": first, "data/y.yml": second})
    said = [one.message for one in validate(project, drop_in=True).findings if one.code == "synonym-conflict"]
    assert said == [
        "'big' is a synonym for 'huge' (data/y.yml:5:7) and for 'vast'.",
        "'big' is a synonym for 'large' (data/x.yml:5:7) and for 'vast'.",
    ]
