"""A fault that the base has too is no fault of the change, whatever the change does beside it; one more is."""

from __future__ import annotations

import re
import shutil
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from small_project import write_project
from test_documented_examples import PLACES, found_in, put, spelled_out

import turncheck
from turncheck.comparison.changed_parts import _UNLESS_OWN
from turncheck.publishing.files import terminal_summary
from turncheck.render.annotations import find_remarks
from turncheck.render.markdown import render_comment
from turncheck.report.codec import decode, encode
from turncheck.validation.catalogue import CHECKS

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.api import Outcome
    from turncheck.report.model import Report

D, N, S, R, C, T = (
    *("domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml", "config.yml", "tests/test_stories.yml"),
)
Edit = tuple[str, str, str]
"""A file, what is in it, and what takes its place each time; "" appends."""

measure = partial(turncheck.run, baseline="none", evaluations=["validate"])


def changed(folder: Path, *edits: Edit) -> None:
    for name, old, new in edits:
        path = folder / name
        text = path.read_text(encoding="utf-8")
        assert old in text, (name, old)
        path.write_text(text.replace(old, new) if old else text + new, encoding="utf-8")


def outcome_of(
    root: Path, before: list[Edit], change: list[Edit], *, after: Callable[[Report], Report] | None = None
) -> Outcome:
    """Compare the small project with some faults with what a change makes of it."""
    base = write_project(root / "base", **{T: TESTS})
    changed(base, *before)
    shutil.copytree(base, root / "head")
    changed(root / "head", *change)
    reports = [measure(folder).report for folder in (base, root / "head")]
    return turncheck.compare(*map(after or _unchanged, reports), fail_on=["new-errors"])


def _unchanged(report: Report) -> Report:
    return report


def new_errors(outcome: Outcome) -> list[str]:
    """The messages of new errors, which the gate counts as well."""
    errors = [change.message for change in outcome.comparison.new_findings if change.severity == "error"]
    assert outcome.verdict.passed == (not errors), outcome.verdict
    return errors


TESTS = """\
version: "3.1"
stories:
- story: greets
  steps:
  - user: hello you there
    intent: greet
  - action: utter_greet
- story: bakes
  steps:
  - user: bake it for me
    intent: order
  - action: utter_don
"""
CONTRADICTING = """\
- rule: first
  steps:
  - intent: greet
  - action: utter_greet
- rule: second
  steps:
  - intent: greet
  - action: utter_goodbye
- rule: third
  steps:
  - intent: greet
  - action: action_bake
"""
THIRD = CONTRADICTING[CONTRADICTING.index("- rule: third") :]
FOURTH = THIRD.replace("third", "fourth").replace("action_bake", "utter_done")


def story(name: str, action: str) -> str:
    return f"- story: {name}\n  steps:\n  - intent: goodbye\n  - action: {action}\n"


STORIES = story("one", "utter_greet") + story("two", "utter_done") + story("three", "action_bake")


BROKEN: Edit = (N, "    - see you later\n", "    - see you later\n    - bring [Emil] (size) please\n")
RENAMED_ENTITY: list[Edit] = [
    (N, "(size)", "(extent)"),
    (D, "- size\n- city", "- extent\n- city"),
    (D, "entity: size", "entity: extent"),
    (S, "    - size: large\n  - slot", "    - extent: large\n  - slot"),
    (D, '{"size"', '{"extent"'),
]

OLD: dict[str, tuple[list[Edit], list[Edit]]] = {
    "one contradiction less": ([(R, "", CONTRADICTING)], [(R, THIRD, "")]),
    "a contradicting rule that has another name": ([(R, "", CONTRADICTING)], [(R, "rule: second", "rule: the other")]),
    "a contradicting rule in front of the others": (
        [(R, "", CONTRADICTING)],
        [(R, CONTRADICTING, THIRD + CONTRADICTING.removesuffix(THIRD))],
    ),
    "one conflicting story less": ([(S, "", STORIES)], [(S, story("three", "action_bake"), "")]),
    "a suggestion that is gone": ([], [(D, "utter_done:", "utter_finished:"), (S, "utter_done", "utter_finished")]),
    "a suggestion that is nearer": ([], [(D, "  utter_done:", "  utter_donn:\n  - text: Done.\n  utter_done:")]),
    "a test that was moved and has another name": (
        [],
        [(T, "- story: bakes", "- story: bakes it"), (T, "- story: greets", "# a remark\n\n- story: greets")],
    ),
    "an entity that is renamed in a broken annotation": ([BROKEN], RENAMED_ENTITY),
    "an intent that is renamed around a broken annotation": (
        [BROKEN],
        [
            (D, "- goodbye", "- farewell"),
            (N, "intent: goodbye", "intent: farewell"),
            (R, "intent: goodbye", "intent: farewell"),
        ],
    ),
    "a value of the wrong type that is written differently": (
        [
            (
                N,
                "  examples: |\n    - see you later\n    - have a nice evening",
                "  examples:\n  - yes\n  - text: see you",
            )
        ],
        [(N, "  - yes\n", "  - true\n")],
    ),
    "a value of an unexpected type that is another one": (
        [(D, "    - size\nresponses", "    - size\n    ignored_intents: 3\nresponses")],
        [(D, "ignored_intents: 3", "ignored_intents: 4.5")],
    ),
    "an example of several intents with one less": (
        [(N, "    - see you later", "    - hello there"), (N, "    - when do you open", "    - hello there")],
        [(N, "    - hello there\n    - what", "    - what")],
    ),
}


@pytest.mark.parametrize("case", OLD)
def test_an_old_fault_is_no_new_one(case: str, tmp_path: Path) -> None:
    before, change = OLD[case]
    outcome = outcome_of(tmp_path, before, change)
    assert new_errors(outcome) == []
    assert outcome.report.validation is not None
    code = next(code for word, code in _FAULTY.items() if word in case)
    assert code not in {one.code for one in outcome.comparison.new_findings}
    assert code in {one.code for one in outcome.report.validation.findings}


_FAULTY = {
    "contradict": "rule-contradiction",
    "conflicting": "story-conflict",
    "suggestion": "test-action-undefined",
    "a test": "test-action-undefined",
    "annotation": "annotation-broken",
    "wrong type": "schema-violation",
    "unexpected type": "type-unexpected",
    "example": "example-in-several-intents",
}


TEN = "".join(f"    - a [Emil] (size) more, and {number}\n" for number in range(10))
SECOND: dict[str, tuple[list[Edit], list[Edit], int]] = {
    "one contradiction more": ([(R, "", CONTRADICTING)], [(R, "", FOURTH)], 1),  # that of the rule which joins
    "another rule in the place of one": ([(R, "", CONTRADICTING)], [(R, THIRD, FOURTH)], 3),
    "another undefined response": ([], [(T, "  - action: utter_greet\n", "  - action: utter_gret\n")], 1),
    "the same undefined response in another file": (
        [],
        [(T, "", ""), (S, "", "- story: more\n  steps:\n  - intent: greet\n  - action: utter_don\n")],
        0,  # the training data lack it: a warning, under a code of its own
    ),
    "ten broken annotations beside an old one": (
        [BROKEN],
        [(N, "[Emil] (size) please\n", "[Emil] (size) please\n" + TEN)],
        10,
    ),
    "an old one mended, and one broken in another intent": (
        [BROKEN],
        [(N, "[Emil] (size)", "[Emil](size)"), (N, "- good morning to you", "- good [morning] (size)")],
        1,
    ),
}


@pytest.mark.parametrize("case", SECOND)
def test_one_more_fault_is_new(case: str, tmp_path: Path) -> None:
    before, change, number = SECOND[case]
    outcome = outcome_of(tmp_path, before, change)
    slips = [change for change in outcome.comparison.new_findings if change.code == "annotation-broken"]
    assert len(new_errors(outcome)) + len(slips) == number


def test_the_new_one_of_two_equal_faults_is_the_one_on_the_changed_line(tmp_path: Path) -> None:
    above: Edit = (N, "    - see you later\n", "    - fetch [Emil] (size) soon\n    - see you later\n")
    (change,) = outcome_of(tmp_path, [BROKEN], [above]).comparison.new_findings
    assert "fetch" in change.message


def _as_before(report: Report) -> Report:
    """The report as earlier versions wrote it, without what a finding is about."""
    words = encode(report).decode()
    for field in ("about", "stands_in", "lines"):
        words = re.sub(rf',\s*"{field}": \[[^\]]*\]', "", words)
    return decode(words.encode())


@pytest.mark.parametrize("case", ["a suggestion that is gone", "a test that was moved and has another name"])
def test_a_report_of_an_earlier_version_is_compared_by_its_words(case: str, tmp_path: Path) -> None:
    before, change = OLD[case]
    sides: list[bool] = []

    def first_only(report: Report) -> Report:
        sides.append(True)
        return _as_before(report) if len(sides) == 1 else report

    outcome = outcome_of(tmp_path, before, change, after=first_only)
    assert outcome.report.validation is not None
    assert len(sides) == 2
    named = [one for one in outcome.comparison.new_findings if one.severity == "error"]
    assert bool(named) == (case == "a suggestion that is gone"), "its words are all that is known"


# --- every output says the same --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        [(D, "utter_greet:", "utter_hello:")],  # its uses keep the old name
        [(D, "  utter_goodbye:", "  utter_bye_day:\n  - text: Day.\n  utter_bye_night:")],
        [(D, "forms:\n  pizza_form:", "forms:\n  pizza_forms:")],
        [(T, "  - action: utter_greet\n", "  - action: utter_gret\n")],
        [],
    ],
)
def test_no_output_says_that_the_base_has_what_is_new(change: list[Edit], tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, [], change)
    new, report = outcome.comparison.new_findings, outcome.run.report
    assert report.validation is not None
    old = len(report.validation.findings) - len(new)
    terminal = terminal_summary(outcome, outcome.links)
    counted = re.search(r"In the data of the base too \((\d+)\)", terminal)
    assert (int(counted[1]) if counted else 0) == old
    comment = str(render_comment(report, outcome.comparison, outcome.verdict, outcome.links).content)
    counted = re.search(r"(\d+) findings? in the data", comment)
    assert (int(counted[1]) if counted else 0) == old
    remarks = [remark.subject for remark in find_remarks(report, outcome.comparison)]
    visible = [one.message for one in new if one.severity != "info"]
    assert remarks[: len(visible)] == sorted(visible, key=remarks.index)


# --- what a component of the project's own may have seen to ----------------------------------------------------------

OWN: Edit = (C, "- name: EntitySynonymMapper\n", "- name: bot.parts.Finder\n- name: EntitySynonymMapper\n")
SYNONYM: Edit = (N, "", "- synonym: small\n  examples: |\n    - of little extent\n    - hardly any\n")


@pytest.mark.parametrize(
    ("before", "code"),
    [
        ([OWN, SYNONYM], "synonym-unreached"),
        ([OWN, (D, "entities:\n", "entities:\n- colour\n")], "entity-unused"),
    ],
)
def test_what_a_removed_component_may_have_seen_to_names_it(before: list[Edit], code: str, tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path, before, [(C, "- name: bot.parts.Finder\n", "")])
    new = [change for change in outcome.comparison.new_findings if change.code == code]
    assert new
    assert all("'bot.parts.Finder' was removed in this change" in change.message_now for change in new)
    also = outcome_of(tmp_path / "kept", [OWN, *before], [(C, "", "# a remark\n")])
    assert not also.comparison.new_findings


def test_these_are_the_codes_that_a_component_of_ones_own_silences(tmp_path: Path) -> None:
    silenced: set[Any] = set()
    for code in PLACES:
        if PLACES[code][0][0] not in {C, D, N, T} or code in _SLOW:
            continue
        folder = tmp_path / code
        put(folder, spelled_out(CHECKS[code].wrong), PLACES[code])
        config = (folder / C).read_text(encoding="utf-8")
        if "pipeline:\n" in config and code in found_in(folder):
            own = config.replace("pipeline:\n", "pipeline:\n- name: bot.parts.Finder\n")
            (folder / C).write_text(own.replace("- name: WhitespaceTokenizer\n", ""), encoding="utf-8")
            silenced |= {code} - found_in(folder)
    assert silenced == _UNLESS_OWN


_SLOW = {"story-ways-too-many", "class-imbalance"}


def test_of_several_new_errors_the_title_names_the_first(tmp_path: Path) -> None:
    change = [(T, "utter_greet", "utter_gret"), (T, "intent: order", "intent: ordre")]

    outcome = outcome_of(tmp_path, [], change)

    assert len(new_errors(outcome)) == 2
    assert str(outcome.comparison.new_findings[0].location) in outcome.verdict.summary
