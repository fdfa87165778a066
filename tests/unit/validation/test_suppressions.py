"""Comments and the list in turncheck.yml leave findings out; those that suppress nothing are reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden
from small_project import places, read, write_project
from timing import Timing

from turncheck.commands.validate import Request, check_project
from turncheck.messages.finding import Location
from turncheck.validation.pipeline import Validated, validate
from turncheck.validation.suppressions import suppress

D, N, R, S = "domain.yml", "data/nlu.yml", "data/rules.yml", "data/stories.yml"


def suppressed(folder: Path, *edits: tuple[str, str, str]) -> Validated:
    project = read(folder, *edits)
    return suppress(validate(project, strict=True), project, strict=True)


def test_a_comment_on_the_line_leaves_its_finding_out(tmp_path: Path) -> None:
    found = suppressed(tmp_path, (D, "- size\n", "- size\n- color  # turncheck: ignore entity-unused\n"))
    assert found.findings == ()


def test_a_comment_above_counts_for_the_next_line(tmp_path: Path) -> None:
    comment = "# turncheck: ignore entity-unused, entity-undefined\n# why: it comes from Duckling\n- color\n"
    found = suppressed(tmp_path, (D, "- size\n", f"- size\n{comment}"))
    assert [(f.code, str(f.location)) for f in found.findings] == [("suppression-unused", "domain.yml:9:1")]


def test_a_comment_where_a_block_opens_counts_for_the_block(tmp_path: Path) -> None:
    double = (
        N,
        "- intent: goodbye\n  examples: |",
        "- intent: goodbye\n  examples: |  # turncheck: ignore X\n    - hello there",
    )
    edit = (double[0], double[1], double[2].replace("X", "example-in-several-intents"))
    more = (N, "    - hello there\n    - good", "    - good")
    first = (N, "- intent: greet\n  examples: |\n", "- intent: greet\n  examples: |\n    - hello there\n")
    found = suppressed(tmp_path, more, first, edit)
    assert places(found, "example-in-several-intents") == []
    comment = "- intent: greet\n  # turncheck: ignore example-in-several-intents\n  examples: |\n"
    found = suppressed(tmp_path, more, (N, "- intent: greet\n  examples: |\n", comment + "    - hello there\n"), edit)
    assert places(found, "example-in-several-intents") == []


def test_what_looks_like_a_comment_inside_a_block_is_none(tmp_path: Path) -> None:
    found = suppressed(tmp_path, (N, "- see you later", "- see you # turncheck: ignore entity-unused"))
    assert places(found, "suppression-unused") == []


def test_an_unknown_code_is_reported_with_a_suggestion(tmp_path: Path, golden: Golden) -> None:
    found = suppressed(tmp_path, (D, "- size\n", "- size  # turncheck: ignore entity-unusd\n"))
    assert [f.code for f in found.findings] == ["suppression-unused"]
    golden(found.findings[0].message)


def test_a_file_that_cannot_be_read_is_never_suppressed(tmp_path: Path) -> None:
    found = suppressed(tmp_path, (D, "- greet\n", "- greet: {\n"))
    project = read(tmp_path, (D, "- greet\n", "- greet: {\n"))
    again = suppress(validate(project), project, [("yaml-syntax", Location("turncheck.yml", 1, 1))])
    assert places(found, "yaml-syntax")
    assert places(again, "yaml-syntax")
    assert places(again, "suppression-unused") == ["turncheck.yml:1:1"]


def test_turncheck_yml_leaves_a_code_out_everywhere_and_the_exit_code_follows(tmp_path: Path, golden: Golden) -> None:
    write_project(tmp_path, (R, "utter_goodbye", "action_nope"))
    request = Request(project=tmp_path)
    assert check_project(request).validated.exit_code(fail_on_warnings=False) == 1
    (tmp_path / "turncheck.yml").write_text("ignore: [action-not-in-domain, response-unused, story-duplicate]\n")
    validated = check_project(request).validated
    assert validated.exit_code(fail_on_warnings=True) == 0
    golden(*(f.message for f in validated.findings))


def _ignoring(folder: Path, codes: str, *edits: tuple[str, str, str], stories_only: bool = False) -> Validated:
    write_project(folder, *edits)
    (folder / "turncheck.yml").write_text(f"ignore: [{codes}]\n")
    return check_project(Request(project=folder, stories_only=stories_only)).validated


def test_a_suppression_whose_check_did_not_run_is_not_called_unused(tmp_path: Path, golden: Golden) -> None:
    found = _ignoring(tmp_path, "entity-unused, story-conflict", stories_only=True)
    golden(*(f.message for f in found.findings))


def test_a_suppression_is_not_called_unused_while_a_file_cannot_be_read(tmp_path: Path) -> None:
    found = _ignoring(tmp_path, "entity-unused", (R, "rules:", "rules: ["))
    assert places(found, "yaml-syntax")
    assert places(found, "suppression-unused") == []


def test_what_rasa_does_not_get_to_see_is_suppressed_by_its_own_code(tmp_path: Path) -> None:
    twice = (N, "    - see you later", "    - see you later\n    - hello there")
    edits = ((R, "rules:", "rules: ["), twice)
    code = "example-in-several-intents"
    write_project(tmp_path, *edits)
    assert any(f.message.startswith(f"{code}: ") for f in check_project(Request(project=tmp_path)).validated.findings)
    found = _ignoring(tmp_path, code, *edits)
    assert not any(f.message.startswith(f"{code}: ") for f in found.findings)
    assert places(found, "suppression-unused") == []


def test_a_comment_in_a_test_file_counts_too(tmp_path: Path) -> None:
    story = """\
version: "3.1"
stories:
- story: ordered
  steps:
  # turncheck: ignore test-sentence-in-training
  - user: hello there
    intent: greet
  - action: utter_greet
  - user: good morning to you
    intent: greet
  - action: utter_greet  # turncheck: ignore action-unused
"""
    write_project(tmp_path, **{"tests/test_stories.yml": story})
    found = check_project(Request(project=tmp_path, strict=True)).validated
    assert places(found, "test-sentence-in-training") == ["tests/test_stories.yml:9:5"]
    assert places(found, "suppression-unused") == ["tests/test_stories.yml:11:26"]


@pytest.mark.parametrize(
    "entry",
    [
        "- color # Turncheck: Ignore entity-unused",
        "- color # turncheck: ignore: Entity-Unused",
        "- color #turncheck:ignore entity-unused, entity-undefined-not",
        "- color # noqa; turncheck: ignore entity-unused",
        "- color # turncheck: ignore entity-unused since Duckling finds it",
        "- 'color' # turncheck: ignore entity-unused",
        "- \"color\" # it's Duckling's; turncheck: ignore entity-unused",
        "# it isn't ours\n# turncheck: ignore entity-unused\n- color",
    ],
)
def test_a_comment_may_be_written_in_several_ways(entry: str, tmp_path: Path) -> None:
    found = suppressed(tmp_path, (D, "- size\n", f"- size\n{entry}\n"))
    assert places(found, "entity-unused") == []


def test_codes_may_stand_behind_each_other_without_commas(tmp_path: Path, golden: Golden) -> None:
    comment = "# turncheck: ignore entity-unused slot-unused because story-duplicate is one"
    found = suppressed(tmp_path, (D, "- size\n", f"- size\n- color {comment}\n"))
    golden(*(f.message for f in found.findings))


def test_an_apostrophe_opens_no_quotes(tmp_path: Path) -> None:
    again = "- rule: it doesn't matter  # turncheck: ignore story-duplicate\n"
    found = suppressed(tmp_path, (R, "", again + "  steps:\n  - intent: goodbye\n  - action: utter_goodbye\n"))
    assert found.findings == ()


@pytest.mark.parametrize(
    "text",
    [
        '"see # turncheck: ignore entity-unused"',
        "'see # turncheck: ignore entity-unused'",
        '"see\n      # turncheck: ignore entity-unused"',
        '"caf\\u00e9 # turncheck: ignore entity-unused"',
    ],
)
def test_what_looks_like_a_comment_inside_of_quotes_is_none(text: str, tmp_path: Path) -> None:
    found = suppressed(tmp_path, (D, '"Bye!"', text))
    assert found.findings == ()


@pytest.mark.parametrize(
    "comment",
    ["# turncheck: ignore", "# turncheck: disable entity-unused", "# Turncheck:", "# noqa turncheck: ignore  # why"],
)
def test_a_comment_that_leaves_nothing_out_since_it_is_faulty_is_reported(comment: str, tmp_path: Path) -> None:
    found = suppressed(tmp_path, (D, "- size\n", f"- size  {comment}\n"))
    assert [(f.code, str(f.location)) for f in found.findings] == [("suppression-unused", "domain.yml:8:9")]
    assert "# turncheck: ignore CODE" in found.findings[0].message


def test_a_comment_that_is_about_this_program_is_no_suppression(tmp_path: Path) -> None:
    found = suppressed(tmp_path, (D, "- size\n", "- size  # checked by turncheck: see the documentation\n"))
    assert found.findings == ()


@pytest.mark.slow
def test_many_suppressions_of_many_findings_cost_little(tmp_path: Path, timing: Timing) -> None:
    actions = "".join(f"- action_{number}  # turncheck: ignore action-unused\n" for number in range(4000))
    project = read(tmp_path, (D, "actions:\n", f"actions:\n{actions}"))
    validated = validate(project, strict=True)
    with timing.at_most(1.0):
        assert suppress(validated, project, strict=True).findings == ()


def test_a_suppression_of_what_a_command_does_not_look_for_is_not_called_unused(tmp_path: Path) -> None:
    write_project(tmp_path, **{"turncheck.yml": "ignore: [e2e-unknown-name]\n"})
    assert check_project(Request(project=tmp_path, strict=True)).validated.findings == ()
    project = read(tmp_path)
    ignored = [("e2e-unknown-name", Location("turncheck.yml", 1, 10))]
    run = suppress(validate(project), project, ignored, cases_read=True)
    assert places(run, "suppression-unused") == ["turncheck.yml:1:10"]


def test_a_comment_in_end_to_end_cases_leaves_their_leak_out(tmp_path: Path) -> None:
    comment = "# turncheck: ignore test-sentence-in-training"
    case = f"test_cases:\n- test_case: x\n  steps:\n  - user: See you later!  {comment}\n  - utter: utter_goodbye\n"
    write_project(tmp_path, **{"tests/e2e_test_cases.yml": case})
    assert check_project(Request(project=tmp_path, strict=True)).validated.findings == ()


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("<!-- turncheck: ignore format-not-read -->", []),
        ("<!-- turncheck: ignore format-not-read, entity-unused -->", ["suppression-unused"]),
        ("<!-- turncheck: ignore -->", ["format-not-read", "suppression-unused"]),
        ("turncheck: ignore format-not-read", ["format-not-read"]),
    ],
)
def test_a_comment_in_a_markdown_file_counts_for_the_file(comment: str, codes: list[str], tmp_path: Path) -> None:
    write_project(tmp_path, **{"data/old.md": f"## intent:greet\n- hello\n\n{comment}\n"})
    found = check_project(Request(project=tmp_path, strict=True)).validated
    others = [finding for finding in found.findings if finding.code != "rasa-versions-mixed"]
    assert [(finding.code, finding.location.path) for finding in others] == [(code, "data/old.md") for code in codes]


AT_RULE = "# turncheck: ignore rule-contradiction\n- rule: say goodbye"
AT_STORY = "  # turncheck: ignore rule-contradiction\n  - action: utter_greet\n"


@pytest.mark.parametrize("edit", [(R, "- rule: say goodbye", AT_RULE), (S, "  - action: utter_greet\n", AT_STORY)])
def test_a_contradiction_is_left_out_by_a_comment_at_either_place(edit: tuple[str, str, str], tmp_path: Path) -> None:
    against = (S, "", "- story: another end\n  steps:\n  - intent: goodbye\n  - action: utter_greet\n")
    first = (S, "  - intent: greet\n  - action: utter_greet\n", "  - intent: greet\n  - action: utter_done\n")
    assert places(suppressed(tmp_path, first, against), "rule-contradiction")
    assert suppressed(tmp_path, first, against, edit).findings == ()


@pytest.mark.parametrize("intent", ["greet", "goodbye"])
def test_a_sentence_of_two_intents_is_left_out_by_a_comment_at_either(intent: str, tmp_path: Path) -> None:
    block = f"- intent: {intent}\n  examples: |"
    edits = [(N, "- see you later", "- hello there"), (N, block, f"{block}  # turncheck: ignore {TWICE}")]
    assert places(suppressed(tmp_path, edits[0]), TWICE) == ["data/nlu.yml:5:7"]
    assert suppressed(tmp_path, *edits).findings == ()


TWICE = "example-in-several-intents"
