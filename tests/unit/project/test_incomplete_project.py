"""A part that cannot be read hides no fault of the parts that can, and makes none up."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_project import read, write_project

from turncheck.project.reader import read_project
from turncheck.validation.pipeline import Validated, validate

D, N, S, R, C = "domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml", "config.yml"

BROKEN_NLU = {"data/more.yml": "nlu:\n- intent: greet\n\texamples: |\n    - hi\n"}
BROKEN_STORIES = {"data/more.yml": "stories:\n- story: x\n\tsteps: []\n"}
FAULTS = (
    (R, "utter_goodbye", "action_nope"),
    (S, "- action: utter_done", "- action: utter_dome"),
    (S, "- slot_was_set:\n    - size", "- slot_was_set:\n    - sise"),
    (S, "- intent: order", "- intent: ordr"),
    (S, "- active_loop: pizza_form", "- active_loop: piza_form"),
    (D, "required_slots:\n    - size", "required_slots:\n    - sise"),
    (D, "- order\n", "- order\n- cancel\n"),
)
FOUND = {
    *("action-not-in-domain", "response-undefined", "slot-undefined", "story-intent-undefined"),
    *("form-not-in-domain", "form-slot-undefined"),
}


def codes(validated: Validated) -> set[str]:
    return {finding.code for finding in validated.findings if finding.severity != "info"}


def test_with_a_broken_nlu_file_only_what_rests_on_it_is_left_unsaid(tmp_path: Path) -> None:
    whole = codes(validate(read(tmp_path / "whole", *FAULTS), strict=True))
    broken = codes(validate(read(tmp_path / "broken", *FAULTS, **BROKEN_NLU), strict=True))
    assert whole >= FOUND | {"intent-without-examples", "intent-unused"}
    assert broken >= FOUND | {"yaml-syntax", "intent-unused"}
    assert "intent-without-examples" not in broken


def test_with_a_broken_story_file_nothing_is_called_unused(tmp_path: Path) -> None:
    broken = codes(validate(read(tmp_path, *FAULTS, **BROKEN_STORIES), strict=True))
    assert broken >= FOUND | {"yaml-syntax"}
    assert not {code for code in broken if code.endswith("-unused")}


def test_with_a_broken_domain_the_sentences_are_checked_and_nothing_is_called_undefined(tmp_path: Path) -> None:
    project = read(tmp_path, (D, "- greet", "\t- greet"), (N, "- see you later", "- hello there"))
    found = codes(validate(project, strict=True))
    assert found >= {"yaml-syntax", "example-in-several-intents"}
    assert not {code for code in found if "undefined" in code or "not-in-domain" in code}


def test_responses_that_a_broken_nlu_file_may_define_are_not_called_undefined(tmp_path: Path) -> None:
    responses = {"data/more.yml": "nlu: []\nresponses:\n\tutter_dome:\n  - text: x\n"}
    found = codes(validate(read(tmp_path, *FAULTS, **responses), strict=True))
    assert "response-undefined" not in found
    assert "action-not-in-domain" in found


def test_a_response_tells_of_the_retrieval_intent_in_a_broken_file(tmp_path: Path) -> None:
    button = (D, '\'/order{"size": "large"}\'', "'/faq'")
    project = read(tmp_path, button, (D, "- faq\n", ""), (N, "- intent: faq", "\t- intent: faq"))
    assert "button-intent-undefined" not in codes(validate(project, strict=True))


@pytest.mark.parametrize("strict", [True, False])
def test_every_file_that_cannot_be_read_is_an_error(tmp_path: Path, *, strict: bool) -> None:
    project = read(tmp_path, (D, "- greet", "\t- greet"), (C, "language", "\tlanguage"), **BROKEN_NLU)
    validated = validate(project, drop_in=True, strict=strict)
    paths = {finding.location.path for finding in validated.findings if finding.code == "yaml-syntax"}
    assert paths == {D, C, "data/more.yml"}
    assert validated.counts["error"] == 3
    assert validated.exit_code(fail_on_warnings=False) == 1


def test_what_rasa_does_not_get_to_see_keeps_its_remedy(tmp_path: Path) -> None:
    validated = validate(read(tmp_path, *FAULTS, **BROKEN_NLU), drop_in=True)
    hidden = [finding for finding in validated.findings if finding.code == "hidden-by-load-error"]
    assert any(finding.message.startswith("action-not-in-domain: ") for finding in hidden)
    assert all(finding.hint for finding in hidden)


@pytest.mark.parametrize("folder", ["domain.yml", "domain"])
@pytest.mark.parametrize("drop_in", [True, False])
def test_a_folder_without_a_domain_file_is_an_empty_domain(tmp_path: Path, folder: str, *, drop_in: bool) -> None:
    write_project(tmp_path, (N, "faq/hours", "faq"))
    (tmp_path / D).unlink()
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "notes.yml").write_text("todo: everything\n")
    validated = validate(read_project(tmp_path), drop_in=drop_in)
    assert "domain-empty" in codes(validated)
    assert validated.exit_code(fail_on_warnings=False) == 1


def test_of_a_configuration_that_is_missing_nothing_else_is_said(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / C).unlink()
    for drop_in in (True, False):
        found = validate(read_project(tmp_path), drop_in=drop_in, strict=not drop_in).findings
        assert [finding.code for finding in found] == ["config-not-found"]


def test_of_a_domain_that_is_missing_nothing_is_called_undefined(tmp_path: Path) -> None:
    shutil.rmtree(write_project(tmp_path) / "data")
    (tmp_path / D).unlink()
    found = codes(validate(read_project(tmp_path), strict=True))
    assert found == {"domain-not-found"}


@pytest.mark.parametrize(
    ("more", "missing"),
    [
        ({}, set()),
        ({"policies.yml": "policies:\n- name: MemoizationPolicy\n"}, {"domain-not-found"}),
        ({"data/stories.md": "## a\n* greet\n - utter_greet\n"}, {"domain-not-found"}),
        (
            {"config.yml": "pipeline:\n- name: WhitespaceTokenizer\n- name: KeywordIntentClassifier\n"},
            {"domain-not-found"},
        ),
    ],
)
def test_rasa_nlu_0_knows_no_domain(more: dict[str, str], missing: set[str], tmp_path: Path) -> None:
    files = {
        "config.yml": "language: en\npipeline:\n- name: tokenizer_whitespace\n- name: intent_classifier_keyword\n",
        "data/nlu.md": "## intent:greet\n- hi\n- hello\n## intent:bye\n- bye\n- goodbye\n",
    }
    (tmp_path / "data").mkdir()
    for name, content in (files | more).items():
        (tmp_path / name).write_text(content)
    found = validate(read_project(tmp_path))
    assert {finding.code for finding in found.findings if finding.severity == "error"} == missing
    assert found.exit_code(fail_on_warnings=False) == bool(missing)
