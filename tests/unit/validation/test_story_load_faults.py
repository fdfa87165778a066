"""What real Rasa 3.6.21 was seen to remark on, or to crash at, while it loads stories and NLU data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
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
@pytest.mark.parametrize("last", ["huge", "large", "vast"])
def test_contradicting_synonyms_are_one_finding_at_the_one_that_holds(
    last: str, tmp_path: Path, golden: Golden
) -> None:
    values = [*sorted({"huge", "large", "vast"} - {last}), last]
    files = {
        f"data/{number}.yml": f'version: "3.1"\nnlu:\n- synonym: {value}\n  examples: |\n    - big\n'
        for number, value in enumerate(values)
    }
    found = [one for one in validate(read(tmp_path, **files), drop_in=True).findings if one.code == "synonym-conflict"]
    golden(*(one.message for one in found))
    assert [one.location.path for one in found] == ["data/2.yml"]
    assert {place.path for place in found[0].others} == {"data/0.yml", "data/1.yml"}
