"""The badge: what it says of a run, in both of its files, and that text in it is its own letters and nothing else."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from golden_texts import Golden
from hostile import HOSTILE
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec import structs
from pull_request import LINKS, pull_request
from report_builder import example, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Baseline, Missing, Present, Unreachable, Unreadable
from turncheck.conclude import NamedOutcome, Outcome, Outcomes, conclude
from turncheck.messages.plain_text import one_line
from turncheck.render.assistants import Assistants, FailedAssistant, Run
from turncheck.render.badge import FAILED, PASSED, RESERVED, UNKNOWN, Badge, badge_of, badge_of_all
from turncheck.render.wording.gates import judge
from turncheck.report.model import Report

SVG = "{http://www.w3.org/2000/svg}"
ENDPOINT = {
    "type": "object",
    "required": ["schemaVersion", "label", "message"],
    "additionalProperties": False,
    "properties": {
        "schemaVersion": {"const": 1},
        "label": {"type": "string"},
        "message": {"type": "string", "minLength": 1},
        "color": {"type": "string", "pattern": "^[0-9a-f]{6}$"},
    },
}
"""What shields.io reads of an endpoint, as its page "Endpoint Badge" says, as far as a badge of ours uses it."""


def run(measured: Report, baseline: Baseline | None = None) -> Run:
    comparison = compare(measured, baseline or Missing("none"))
    verdict = judge(measured, comparison, measured.settings, {})
    return Run(measured, comparison, verdict, LINKS)


SENTENCES = (example("hi", "greet"), example("bye", "leave"), example("hey", "greet", "leave"))
GOOD = story("good", "utter_greet")
BAD = story("bad", "utter_greet!utter_bye")


@pytest.mark.parametrize(
    ("measured", "colour"),
    [
        (report(examples=SENTENCES, stories=(GOOD, GOOD)), PASSED),
        (report(stories=(GOOD, BAD)), FAILED),
        (report(examples=SENTENCES), PASSED),
        (report(), FAILED),
        (structs.replace(report(), stopped="the disk is full"), UNKNOWN),
    ],
)
def test_it_says_how_a_run_was_judged_and_its_main_figures(measured: Report, colour: str, golden: Golden) -> None:
    badge = badge_of(run(measured))

    golden(badge.message)
    assert badge.colour == colour or (badge.colour, colour) == (RESERVED, PASSED)


def test_of_several_it_says_how_many_passed(golden: Golden) -> None:
    runs = tuple(run(report(stories=(GOOD,))) for _ in range(3))
    failed = FailedAssistant("bots/x", "no such file")

    golden(badge_of_all(Assistants("bots", runs)).message, badge_of_all(Assistants("bots", runs, (failed,))).message)
    assert badge_of_all(Assistants("bots", runs, (failed,))).colour == FAILED


def test_both_files(golden: Golden) -> None:
    badge = Badge("turncheck", "passed, 97 % of intents, 12 of 12 stories", PASSED)
    as_json, as_svg = badge.files()

    golden(as_json.content)
    golden(as_svg.content)
    Draft202012Validator(ENDPOINT).validate(json.loads(str(as_json.content)))
    assert len(as_svg.encoded) < 1_000


@pytest.mark.parametrize("colour", [PASSED, RESERVED, FAILED, UNKNOWN, "444444"])
def test_white_on_each_colour_can_be_read(colour: str) -> None:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    luminance = sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    assert 1.05 / (luminance + 0.05) >= 4.5


texts = st.one_of(
    st.text(max_size=150), st.sampled_from(HOSTILE), st.sampled_from(['"', "'", "<", "]]>", "&", "\ufffe"])
)


@given(texts, texts)
def test_text_is_its_own_letters_and_nothing_else(label: str, message: str) -> None:
    badge = Badge(label, message, PASSED)
    shown = [one_line(text, 100) for text in (label, message)]

    drawn = ET.fromstring(badge.svg().encode("utf-8", "backslashreplace"))  # noqa: S314 - our own
    assert {one.tag.removeprefix(SVG) for one in drawn.iter()} <= {"svg", "title", "rect", "path", "g", "text"}
    assert [one.text for one in drawn.iter(f"{SVG}text")] == [text for text in shown if text]
    assert drawn.attrib.keys() == {"width", "height", "role", "aria-label"}
    assert drawn.find(f"{SVG}title") is not None
    assert drawn.attrib["aria-label"] == ": ".join(shown)
    document = json.loads(badge.json())
    assert [document["label"], document["message"]] == shown


def outcome(baseline: Baseline) -> Outcome:
    return conclude(report(stories=(GOOD,)), baseline, LINKS)


@pytest.mark.parametrize(
    ("baseline", "has_one"),
    [
        (Present(report(stories=(GOOD,)), "git", agreed=True), True),
        (Present(report(stories=(GOOD,)), "git"), False),
        (Missing("the first commit", own_branch=True), True),
        (Missing("none"), False),
        (Unreachable("no answer", own_branch=True), True),
        (Unreadable("no report"), False),
    ],
)
def test_only_the_branch_that_changes_are_compared_with_has_one(baseline: Baseline, has_one: bool) -> None:
    names = {one.name for one in outcome(baseline).files()}
    assert ({"badge.json", "badge.svg"} <= names) == has_one

    several = Outcomes((NamedOutcome("a", outcome(baseline)),), (), "key", LINKS)
    names = {one.name for one in several.files()}
    assert ({"badge.json", "badge.svg", "a/badge.svg"} <= names) == has_one


def test_a_change_of_many_things_has_a_short_badge() -> None:
    assert len(badge_of(Run(*pull_request("bots/a", "a"), LINKS)).message) < 80
