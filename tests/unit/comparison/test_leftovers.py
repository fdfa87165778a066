"""A name that a change renamed or removed, and that is still used, is one error with all its places."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from msgspec import structs
from msgspec.structs import replace
from small_project import write_project

from turncheck.comparison.model import Missing, Present
from turncheck.comparison.renames import validation_beside
from turncheck.conclude import conclude
from turncheck.process.screen import Console
from turncheck.render.links import Links
from turncheck.report.codec import encode
from turncheck.report.model import Source
from turncheck.run.evaluated_project import report_of_project
from turncheck.run.inputs import Inputs
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from turncheck.conclude import Outcome
    from turncheck.messages.finding import Finding
    from turncheck.report.model import Report

TEST = """\
version: "3.1"
stories:
- story: greeted
  steps:
  - intent: greet
  - action: utter_greet
- story: bye
  steps:
  - intent: goodbye
  - action: utter_goodbye
"""
MORE_RULES = "- rule: also\n  steps:\n  - intent: faq\n  - action: utter_goodbye\n"


def measured(project: Path) -> Report:
    settings = Settings(project=str(project), evaluations=("validate", "core"), fail_on=("errors", "new-failures"))
    return report_of_project(Inputs(settings=settings, source=Source(), root="", environment={}), Console(quiet=True))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    project = tmp_path_factory.mktemp("base")
    write_project(project)
    (project / "tests").mkdir()
    (project / "tests" / "test_stories.yml").write_text(TEST, encoding="utf-8")
    return project, measured(project)


def changed(project: Path, copy: Path, *edits: tuple[str, str, str]) -> Report:
    shutil.copytree(project, copy)
    for file, old, new in edits:
        text = (copy / file).read_text("utf-8")
        assert old in text, (file, old)
        (copy / file).write_text(text.replace(old, new), encoding="utf-8")
    return measured(copy)


def errors(report: Report) -> list[Finding]:
    assert report.validation is not None
    assert report.validation.counts.error == sum(one.severity == "error" for one in report.validation.findings)
    return [finding for finding in report.validation.findings if finding.severity == "error"]


def beside(report: Report, before: Report) -> Outcome:
    return conclude(report, Present(before, "git"), Links())


def test_a_renamed_response_that_rules_and_tests_still_name_is_one_error(
    base: tuple[Path, Report], tmp_path: Path, golden: Golden
) -> None:
    project, before = base
    report = changed(project, tmp_path / "bot", ("domain.yml", "utter_goodbye", "utter_say_goodbye"))

    outcome = beside(report, before)

    (error,) = errors(outcome.run.report)
    golden(error.message)
    assert (error.code, str(error.location)) == ("response-undefined", "data/rules.yml:6:5")
    assert [str(place) for place in error.others] == ["tests/test_stories.yml:10:5"]
    assert "remove" not in error.hint
    shown = outcome.run.report.validation
    findings = shown.findings if shown else ()
    assert not [one for one in findings if "utter_say_goodbye" in one.message and one is not error]
    gates = {gate.name: gate for gate in outcome.verdict.gates}
    golden(gates["errors"].reason)
    assert gates["new-failures"].outcome == "failed"
    comment = next(str(one.content) for one in outcome.renderings() if one.name == "comment.md").replace("\\", "")
    assert comment.count("`response-undefined`") == 1
    assert "tests/test_stories.yml:10" in comment


@pytest.mark.parametrize(
    ("edits", "told", "uses"),
    [
        ([("domain.yml", "- order\n", "- order_food\n")], "'order' was renamed to 'order_food'", 3),
        ([("domain.yml", "- size\n- city", "- sizes\n- city")], "'size' was renamed to 'sizes'", 5),
        ([("domain.yml", "- action_bake", "- action_bake_it")], "'action_bake' was renamed to 'action_bake_it'", 1),
        ([("domain.yml", "pizza_form", "meal_form")], "'pizza_form' was renamed to 'meal_form'", 2),
        (
            [
                ("domain.yml", "slots:\n  size:", "slots:\n  sizes:"),
                ("domain.yml", "    - size\nresp", "    - sizes\nresp"),
            ],
            "'size' was renamed to 'sizes'",
            3,
        ),
        (
            [("domain.yml", '  utter_done:\n  - text: "Your {size} pizza is on its way."\n', "")],
            "'utter_done' was removed",
            1,
        ),
    ],
)
def test_every_kind_of_name_is_an_error_where_its_uses_were_left_behind(
    edits: list[tuple[str, str, str]], told: str, uses: int, base: tuple[Path, Report], tmp_path: Path
) -> None:
    project, before = base
    outcome = beside(changed(project, tmp_path / "bot", *edits), before)

    found = [error for error in errors(outcome.run.report) if error.message.startswith(told)]
    assert len(found) == 1, [error.message for error in errors(outcome.run.report)]
    assert f"{uses} use" in found[0].message
    assert len(found[0].others) == uses - 1
    assert not outcome.verdict.passed


def test_a_story_that_waits_for_a_response_that_is_defined_no_more_fails(
    base: tuple[Path, Report], tmp_path: Path, golden: Golden
) -> None:
    """The policies still predict it, since rules and stories name it; the user gets nothing."""
    project, before = base
    report = changed(project, tmp_path / "bot", ("domain.yml", "utter_goodbye", "utter_say_goodbye"))

    assert before.core is not None
    assert report.core is not None
    (was,) = (one for one in before.core.stories if one.name == "bye")
    (now,) = (one for one in report.core.stories if one.name == "bye")
    assert (was.outcome, now.outcome) == ("passed", "failed")
    (wrong,) = [step for step in now.steps if not step.passed]
    assert wrong.expected == "utter_goodbye"
    golden(wrong.predicted)


def test_without_a_base_every_finding_keeps_its_level(base: tuple[Path, Report], tmp_path: Path) -> None:
    report = changed(base[0], tmp_path / "bot", ("domain.yml", "utter_goodbye", "utter_say_goodbye"))

    assert conclude(report, Missing("none"), Links()).run.report.validation == report.validation
    (finding,) = [one for one in report.validation.findings if one.code == "response-undefined"]  # type: ignore[union-attr]
    assert finding.severity == "warning"


def test_what_the_base_did_not_define_either_is_no_slip_of_this_change(
    base: tuple[Path, Report], tmp_path: Path
) -> None:
    project, _ = base
    before = changed(project, tmp_path / "before", ("data/rules.yml", "utter_goodbye", "utter_gone"))
    after = changed(project, tmp_path / "after", ("data/rules.yml", "utter_goodbye", "utter_gone"))

    assert validation_beside(after, before) is None


def test_the_report_that_is_kept_does_not_depend_on_the_base(base: tuple[Path, Report], tmp_path: Path) -> None:
    project, before = base
    report = changed(project, tmp_path / "bot", ("domain.yml", "utter_goodbye", "utter_say_goodbye"))

    outcome = beside(report, before)

    kept = next(one.encoded for one in outcome.renderings() if one.name == "report.json")
    assert json.loads(kept) == json.loads(encode(report))
    assert outcome.report is report


def test_all_uses_of_an_undefined_name_are_places_of_its_finding(base: tuple[Path, Report], tmp_path: Path) -> None:
    rules = (base[0] / "data" / "rules.yml").read_text("utf-8")
    report = changed(
        base[0],
        tmp_path / "bot",
        ("domain.yml", "utter_goodbye", "utter_faq/times"),
        ("data/rules.yml", rules, rules + MORE_RULES),
    )

    (finding,) = [one for one in report.validation.findings if one.code == "response-undefined"]  # type: ignore[union-attr]
    assert [place.line for place in (finding.location, *finding.others)] == [6, 14]
    assert "response selector" not in finding.hint


def test_an_intent_that_lost_all_its_examples_is_an_error_of_this_change(
    base: tuple[Path, Report], tmp_path: Path, golden: Golden
) -> None:
    project, before = base
    examples = "- intent: goodbye\n  examples: |\n    - see you later\n    - have a nice evening\n"
    report = changed(project, tmp_path / "copy", ("data/nlu.yml", examples, ""))
    assert [one.code for one in errors(report)] == [], "without the base nothing is known of a change"

    (error,) = errors(beside(report, before).run.report)

    assert error.code == "intent-without-examples"
    golden(error.message)
    assert errors(beside(report, report).run.report) == [], "it had none before"

    assert report.validation is not None
    old = tuple(replace(one, names=()) for one in report.validation.findings)
    earlier = structs.replace(report, validation=structs.replace(report.validation, findings=old), seed=1)
    assert errors(beside(report, earlier).run.report) == [], "an earlier version did not say which intents had none"


def test_a_name_is_known_whatever_signs_it_has(base: tuple[Path, Report], tmp_path: Path, golden: Golden) -> None:
    project, _ = base
    odd = "utter_that's 'it'. bye"
    uses = [(file, "utter_goodbye", f'"{odd}"') for file in ("domain.yml", "data/rules.yml", "tests/test_stories.yml")]
    before = changed(project, tmp_path / "before", *uses)
    report = changed(tmp_path / "before", tmp_path / "after", ("domain.yml", f'"{odd}"', "utter_farewell"))

    outcome = beside(report, before)

    (error,) = errors(outcome.run.report)
    assert error.message.startswith(f"'{odd}'")
    golden(error.message)
    assert outcome.verdict.summary.startswith(f"{error.message.rstrip('.')} ({error.location})")


def test_tests_that_fail_because_of_a_rename_are_told_below_it(
    base: tuple[Path, Report], tmp_path: Path, golden: Golden
) -> None:
    project, before = base
    renamed = ("domain.yml", "utter_goodbye", "utter_farewell")
    outcome = beside(changed(project, tmp_path / "copy", renamed), before)

    comment = next(one.content for one in outcome.renderings() if one.name == "comment.md")

    golden(next(line for line in str(comment).splitlines() if "because of it: " in line))
    assert "Newly failing tests" not in str(comment), "there are no others"
