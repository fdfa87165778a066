"""What tests resolve to: what is a part of it, what is not, and how the comparison of two reports uses it."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
from golden_texts import Golden
from report_builder import BASE_COMMIT, case, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.evaluations.resolved import resolved_utterance
from turncheck.messages.finding import Location
from turncheck.project.batch.model import ExpectedEntity, KnownIntent, KnownNames, SuiteCase
from turncheck.render.entries import edited
from turncheck.render.spans import plain
from turncheck.report.model import CaseResult, StoryResult

TEA = KnownIntent("Order Tea", "dialog")
CASE = SuiteCase("tea please", ("Cancel",), location=Location("tests/tea.json", 3))
NAMES = KnownNames({"order tea": TEA, "cancel": KnownIntent("Cancel", "dialog")}, path="export.json")


@pytest.mark.parametrize(
    "names",
    [
        KnownNames({"order tea": TEA, "cancel": TEA}, path="export.json"),
        KnownNames({"order tea": TEA, "cancel": KnownIntent("Cancel", "small_talk")}, path="export.json"),
        KnownNames({"order tea": TEA, "cancel": KnownIntent("Stop", "dialog")}, path="export.json"),
        KnownNames({**NAMES.intents, "halt": KnownIntent("Cancel", "dialog")}, path="export.json"),
        KnownNames({"order tea": TEA}, {"cancel": KnownIntent("Cancel", "trait")}, path="export.json"),
    ],
    ids=["alias", "kind", "other-name", "second-name", "trait"],
)
def test_what_else_an_export_takes_for_an_intent_is_a_part_of_what_is_expected(names: KnownNames) -> None:
    before, now = resolved_utterance(CASE, NAMES), resolved_utterance(CASE, names)

    assert before.digest != now.digest
    assert (before.own, before.shared) == (now.own, msgspec.UNSET)
    assert list(now.shared or {}) == ["export.json"]


def test_other_intents_of_an_export_say_nothing_of_a_case() -> None:
    names = KnownNames({"cancel": NAMES.intents["cancel"], "new": KnownIntent("New", "faq")}, path="other.json")

    assert resolved_utterance(CASE, names) == resolved_utterance(CASE, NAMES)


@pytest.mark.parametrize(
    "other",
    [
        replace(CASE, bots=("Shop",)),
        replace(CASE, parent=("Order Tea",)),
        replace(CASE, entities=(ExpectedEntity("Size", ("large",)),)),
        replace(CASE, is_trait=True),
    ],
    ids=["bots", "parent", "entities", "trait"],
)
def test_all_that_a_suite_says_of_an_utterance_is_a_part_of_it(other: SuiteCase) -> None:
    assert resolved_utterance(other, NAMES).digest != resolved_utterance(CASE, NAMES).digest


def _story(resolved: str, **shared: str) -> StoryResult:
    made = story("order", "utter_done", line=1)
    return msgspec.structs.replace(made, resolved=resolved, own="own", shared=shared or msgspec.UNSET)


def _case(resolved: str, own: str = "own", **shared: str) -> CaseResult:
    made = case("order", "utter_done", line=1)
    return msgspec.structs.replace(made, resolved=resolved, own=own, shared=shared or msgspec.UNSET)


@pytest.mark.parametrize(
    ("before", "now", "files"),
    [
        (_case("1"), _case("2", table="a"), ("table",)),
        (_case("1", table="a"), _case("2", table="b"), ("table",)),
        (_case("1", table="a"), _case("2"), ("table",)),
        (_case("1", table="a", list="a"), _case("2", table="b", nearer="a"), ("table",)),
        (_case("1", table="a"), _case("2", nearer="a"), ("nearer",)),
        (_case("1"), _case("2", own="other", table="a"), ()),
        (_case("1"), _case("2", own="other"), ()),
    ],
    ids=["begins", "edited", "ends", "of-both", "nearer", "own-and-first", "own"],
)
def test_the_file_that_edits_a_test_is_named(before: CaseResult, now: CaseResult, files: tuple[str, ...]) -> None:
    compared = compare(report(cases=[now]), Present(report(cases=[before], commit=BASE_COMMIT), "git"))

    assert [change.edited_in for change in compared.e2e.edited] == [files]


def test_a_story_is_edited_by_what_it_resolves_to_although_its_steps_are_the_same(golden: Golden) -> None:
    head = report(stories=[_story("2", domain="b")])
    compared = compare(head, Present(report(stories=[_story("1", domain="a")], commit=BASE_COMMIT), "git"))

    (change,) = compared.stories.edited
    golden(plain(edited("story", change).line))


def test_a_side_that_does_not_say_it_is_compared_by_steps() -> None:
    old = report(cases=[case("order", "utter_done", line=1)], commit=BASE_COMMIT)

    assert compare(report(cases=[_case("2")]), Present(old, "git")).e2e.edited == ()
