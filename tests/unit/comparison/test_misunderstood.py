"""Stories that fail only because of how their sentences are understood: compared, judged and told as a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import msgspec
import pytest
from golden_texts import Golden
from pull_request import LINKS
from report_builder import BASE_COMMIT, example, report, story, training

from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import metrics_of
from turncheck.comparison.misunderstood import expected_and_predicted
from turncheck.comparison.model import Missing, Present
from turncheck.messages.finding import Location
from turncheck.render.annotations import find_annotations
from turncheck.render.console import render_console
from turncheck.render.junit import render_junit
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.codec import decode, encode
from turncheck.report.model import (
    ExpectedParse,
    GateSettings,
    Misunderstanding,
    NearSentence,
    Report,
    StoriesAsWritten,
    StoryParse,
    StoryResult,
    StoryStep,
)

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison
    from turncheck.render.wording.verdict import Verdict

COLLIDES = ("hello are you open", "ask")
"""A training sentence of the change."""


def told(one: StoryResult, predicted: str = "greet", text: str = "hello") -> StoryResult:
    """The story with a sentence at its beginning."""
    place = Location("tests/test_stories.yml", one.location.line, 9)
    step = StoryStep(
        kind="intent", expected="greet", predicted=predicted, passed=predicted == "greet", location=place, text=text
    )
    passed = one.passed and step.passed
    return msgspec.structs.replace(one, passed=passed, as_written=one.passed, steps=(step, *one.steps))


def right(name: str, line: int = 1, text: str = "hello") -> StoryResult:
    return told(story(name, "utter_hi", line=line), text=text)


def flips(name: str, line: int = 1, text: str = "hello", near: tuple[str, str] = COLLIDES) -> StoryResult:
    """A story of which a sentence is taken for ``ask``; its dialogue passes as written."""
    made = told(story(name, "utter_hi", line=line), "ask", text)
    sentence = Misunderstanding(
        text=text,
        location=Location("tests/test_stories.yml", line, 9),
        expected=ExpectedParse(intent="greet"),
        predicted=StoryParse(intent="ask", confidence=0.61),
        neighbours=(NearSentence(text=near[0], intent=near[1], location=Location("data/nlu.yml", 4), similarity=0.7),),
    )
    return msgspec.structs.replace(made, misunderstood=(sentence,))


def breaks(name: str, line: int = 1, predicted: str = "greet") -> StoryResult:
    return told(story(name, "utter_hi!utter_bye", line=line), predicted)


def made(*stories: StoryResult, settings: GateSettings | None = None, **more: Any) -> Report:
    """A report with what its stories add up to."""
    whole = report(stories=stories, settings=settings, **more)
    assert whole.core is not None
    counted = StoriesAsWritten(
        passed=sum(bool(one.as_written) for one in stories), failed=sum(not one.as_written for one in stories)
    )
    return msgspec.structs.replace(whole, core=msgspec.structs.replace(whole.core, as_written=counted))


def judged(base: Report, head: Report) -> tuple[Comparison, Verdict]:
    comparison = compare(head, Present(base, "git"))
    return comparison, judge(head, comparison, head.settings)


def gate(verdict: Verdict, name: str) -> tuple[str, str]:
    return next((one.outcome, one.reason) for one in verdict.gates if one.name == name)


BOTH = GateSettings(fail_on=("errors", "test-failures", "new-failures"))
FAIL = msgspec.structs.replace(BOTH, misunderstood="fail")


def test_a_flipped_sentence_fails_no_run_by_default_and_every_gate_where_it_is_asked_to(golden: Golden) -> None:
    base = made(right("a"), right("b", 5), commit=BASE_COMMIT, settings=BOTH)
    outcomes = {}
    for settings in (BOTH, FAIL):
        _, verdict = judged(base, made(right("a"), flips("b", 5), settings=settings))
        outcomes[settings.misunderstood] = (
            verdict.outcome,
            gate(verdict, "test-failures"),
            gate(verdict, "new-failures"),
        )

    assert outcomes["warn"][0] == "passed"
    assert [one[0] for one in outcomes["warn"][1:]] == ["passed", "passed"]
    golden(*(one[1] for one in outcomes["warn"][1:]))
    assert outcomes["fail"][0] == "failed"
    assert [one[0] for one in outcomes["fail"][1:]] == ["failed", "failed"]


def test_without_a_baseline_it_is_judged_by_the_same_setting(golden: Golden) -> None:
    for settings, outcome in ((BOTH, "passed"), (FAIL, "failed")):
        head = made(flips("a"), settings=settings)
        verdict = judge(head, compare(head, Missing("it is new")), settings)
        assert verdict.outcome == outcome
        golden(verdict.reservation)


def test_a_dialogue_that_fails_as_written_is_a_failure_and_its_sentences_are_told_as_well() -> None:
    both = msgspec.structs.replace(breaks("b", 5, "ask"), misunderstood=flips("b", 5).misunderstood)
    base = made(right("a"), right("b", 5), commit=BASE_COMMIT)
    head = made(right("a"), both)
    comparison, verdict = judged(base, head)

    assert verdict.outcome == "failed"
    assert [one.name for one in comparison.stories.worse] == ["b"]
    assert comparison.misunderstood == ()
    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    assert "expected `utter_hi`, got `utter_bye`" in comment
    assert "also misunderstood: `hello`: expected `greet`, got `ask`" in comment


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        (right, flips, "misunderstood"),
        (right, breaks, "worse"),
        (flips, breaks, "worse"),
        (breaks, flips, "better"),
        (flips, right, "better"),
        (breaks, right, "better"),
        (flips, flips, ""),
        (breaks, breaks, ""),
    ],
)
def test_each_change_between_the_classes_has_its_list(before: Any, after: Any, where: str) -> None:
    comparison, _ = judged(made(before("a"), commit=BASE_COMMIT), made(after("a")))
    lists = {name: getattr(comparison.stories, name) for name in ("worse", "better", "misunderstood")}
    assert [name for name, cases in lists.items() if cases] == ([where] if where else [])


@pytest.mark.parametrize(
    ("base", "head", "words", "worse"),
    [
        ([breaks("s")], [flips("s")], "1 story, which failed on the base, is only misunderstood now", 0),
        (
            [breaks("s"), breaks("t", 9), flips("u", 19)],
            [flips("s"), flips("t", 9), flips("u", 19)],
            "2 stories, which failed on the base, are only misunderstood now, 1 story misunderstood on the base too",
            0,
        ),
        (
            [breaks("s"), right("t", 9, "hallo")],
            [flips("s"), flips("t", 9, "hallo")],
            "1 story newly misunderstood",
            1,
        ),
    ],
)
def test_a_test_that_failed_and_is_only_misunderstood_now_is_better(
    base: list[StoryResult], head: list[StoryResult], words: str, worse: int
) -> None:
    then, now = made(*base), made(*head)
    comparison, verdict = judged(then, now)
    assert words in verdict.summary
    assert "newly right" not in verdict.summary
    assert "changed sides" not in verdict.summary
    text = str(render_comment(now, comparison, verdict, LINKS).content)
    assert f"Better now ({len(comparison.stories.better)})" in text
    assert "`core.misunderstood`" not in text
    figure = comparison.metric("core.misunderstood")
    assert figure is not None
    assert (figure.judgement == "worse") <= bool(worse)
    old = len(head) - len(comparison.stories.better) - len(comparison.stories.newly_misunderstood)
    assert (f"{old} misunderstood sentence" in text) == bool(old)


def test_a_new_story_that_is_misunderstood_is_newly_so() -> None:
    comparison, verdict = judged(made(right("a"), commit=BASE_COMMIT), made(right("a"), flips("new", 9)))
    assert [one.name for one in comparison.stories.newly_misunderstood] == ["new"]
    assert comparison.stories.added_failing == ()
    assert verdict.passed


def test_the_sentence_that_drew_it_away_is_named_as_new_in_this_change(golden: Golden) -> None:
    old, new = training(("hello", "greet")), training(("hello", "greet"), COLLIDES)
    base = made(right("a"), right("b", 5), commit=BASE_COMMIT, examples=[example("hi", "greet")], sentences=old)
    head = made(flips("a"), flips("b", 5), examples=[example("hi", "greet")], sentences=new)
    comparison, verdict = judged(base, head)

    (sentence,) = comparison.misunderstood
    assert [one.name for one in sentence.stories] == ["a", "b"], "one cause, one entry"
    assert [(one.change, one.text) for one in sentence.because] == [("added", COLLIDES[0])]
    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    golden(comment, only="Sentences")
    assert "`hello`: expected `greet`, got `ask` (0.61) in 2 stories `a`, `b`" in comment
    golden(comment, only="`ask`")
    golden(comment, only="`misunderstood")
    assert "🔴" not in comment
    assert "2 stories newly misunderstood" in verdict.summary
    console = str(render_console(head, comparison, verdict, LINKS).content)
    golden(console, only="'hello are you open'")


def test_where_no_training_sentences_are_listed_nothing_is_said_of_whether_they_changed(golden: Golden) -> None:
    base, head = made(right("a"), commit=BASE_COMMIT), made(flips("a"))
    comparison, verdict = judged(base, head)

    (sentence,) = comparison.misunderstood
    assert [(one.change, one.text) for one in sentence.because] == [("unknown", COLLIDES[0])]
    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    golden(comment, only="`ask`")
    assert "not changed" not in comment
    console = str(render_console(head, comparison, verdict, LINKS).content)
    golden(console, only="'hello are you open'")


def test_figures_tell_stories_end_to_end_from_their_dialogue_alone(golden: Golden) -> None:
    base = made(*(right(name, line) for line, name in enumerate("abc")), commit=BASE_COMMIT)
    head = made(right("a"), flips("b", 1), breaks("c", 2))
    names = ("passed", "misunderstood", "failed", "as_written.passed", "as_written.failed")
    figures = metrics_of(head)
    assert [figures[f"core.{name}"].value for name in names] == [1, 1, 1, 2, 1]
    comparison, verdict = judged(base, head)
    table = str(render_comment(head, comparison, verdict, LINKS).content)
    assert "| Stories passed | 3/3 | 1/3 | −2 🔴 worse |" in table
    golden(table, only="3/3")


def test_a_test_that_fails_now_is_named_by_what_is_new_and_once(golden: Golden) -> None:
    """One of its sentences was misunderstood on the base too; another one now is, and can be understood no more."""

    def side(second: str, **how: Any) -> StoryResult:
        wrong = [("hello", "greet", "ask"), ("open now", "hours", second)]
        steps = [
            StoryStep(
                kind="intent", expected=expected, predicted=predicted, passed=expected == predicted, text=text,
                location=Location("tests/test_stories.yml", line, 9),
            )
            for line, (text, expected, predicted) in enumerate(wrong, 2)
        ]  # fmt: skip
        sentences = [
            Misunderstanding(
                text=one.text or "",
                location=one.location or Location("x"),
                expected=ExpectedParse(intent=one.expected),
                predicted=StoryParse(intent=one.predicted),
            )
            for one in steps
            if not one.passed
        ]
        made = msgspec.structs.replace(story("day", "utter_hi"), passed=False, as_written=True, **how)
        return msgspec.structs.replace(made, steps=(*steps, *made.steps), misunderstood=tuple(sentences))

    base = made(side("hours"), right("other", 9), commit=BASE_COMMIT, settings=BOTH)
    head = made(side("address", can_be_understood=False), right("other", 9), settings=BOTH)
    comparison, verdict = judged(base, head)
    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    junit = ET.fromstring(render_junit(head, comparison, verdict, LINKS).encoded)  # noqa: S314 - our own

    (told_in_comment,) = (one for one in comment.splitlines() if one.startswith("- story `day`"))
    assert ": expected `hours`, got `address` · " in told_in_comment
    assert "tests/test_stories.yml:3" in told_in_comment
    golden(comment.partition("| base")[0])
    (failure,) = junit.iterfind(".//testcase[@name='day']/failure")
    assert failure.get("message") == "expected hours, got address"
    (remark,) = find_annotations(head, comparison)
    assert "story failed: day" in remark.title
    assert (remark.message, remark.line) == ("expected hours, got address", 3)


def test_what_rasa_test_core_counts_is_shown_wherever_it_differs_from_the_stories_end_to_end() -> None:
    """A sentence that can no longer be understood as written fails its story, whose dialogue passes all the same."""
    base = made(*(right(name, line) for line, name in enumerate("ab")), commit=BASE_COMMIT)
    unknown = msgspec.structs.replace(flips("b", 1), can_be_understood=False)
    for head, told_apart in ((made(right("a"), unknown), True), (made(right("a"), breaks("b", 1)), False)):
        comparison, verdict = judged(base, head)
        table = str(render_comment(head, comparison, verdict, LINKS).content)
        assert "| Stories passed | 2/2 | 1/2 | −1 🔴 worse |" in table
        assert ("| 2/2 | 2/2 | same |" in table) == told_apart


def test_a_few_flipped_sentences_are_noise_and_many_are_a_real_drop() -> None:
    """What counts is different sentences: one that spoils ten stories is one."""
    for texts, judgement in ((["hello"] * 10, "noise"), ([f"hello {number}" for number in range(10)], "worse")):
        base = made(*(right(f"story {line}", line, text) for line, text in enumerate(texts)), commit=BASE_COMMIT)
        head = made(*(flips(f"story {line}", line, text) for line, text in enumerate(texts)))
        comparison, _ = judged(base, head)
        deltas = {delta.name: delta for delta in comparison.metrics}
        assert [deltas[name].judgement for name in ("core.passed", "core.misunderstood")] == [judgement] * 2
        assert deltas["core.as_written.passed"].judgement == "same"
        assert (deltas["core.passed"].base, deltas["core.passed"].value) == (10, 0)


def test_a_regression_of_misunderstood_stories_can_fail_where_it_is_real() -> None:
    rules = GateSettings(max_regression=("core.misunderstood: significant",))
    base = made(*(right(str(n), n, f"hello {n}") for n in range(8)), commit=BASE_COMMIT, settings=rules)
    outcomes = []
    for flipped in (2, 8):
        stories = [flips(str(n), n, f"hello {n}") if n < flipped else right(str(n), n, f"hello {n}") for n in range(8)]
        _, verdict = judged(base, made(*stories, settings=rules))
        outcomes.append(gate(verdict, "max-regression: core.misunderstood: significant")[0])
    assert outcomes == ["passed", "failed"]


def test_junit_and_annotations_follow_the_setting(golden: Golden) -> None:
    for settings, kind, level in ((BOTH, "skipped", "warning"), (FAIL, "failure", "error")):
        head = made(right("a"), flips("b", 5), settings=settings)
        verdict = judge(head, None, settings)
        suites = ET.fromstring(render_junit(head, None, verdict, LINKS).encoded)  # noqa: S314 - our own
        (marks,) = (list(case) for case in suites.iter("testcase") if case.get("name") == "b")
        assert [mark.tag for mark in marks] == [kind]
        assert (marks[0].get("message") or "").startswith("misunderstood: ")
        golden(marks[0].get("message"))
        (remark,) = find_annotations(head, None)
        assert (remark.level, remark.title) == (level, "misunderstood in story b")
        golden(remark.message)


def test_a_report_that_does_not_add_up_is_refused(golden: Golden) -> None:
    whole = made(right("a"), flips("b"))
    assert decode(encode(whole)) == whole
    assert whole.core is not None
    wrong = msgspec.structs.replace(whole.core, as_written=StoriesAsWritten(passed=1, failed=1))
    with pytest.raises(Exception, match=r"core\.as_written\.passed") as refused:
        decode(encode(msgspec.structs.replace(whole, core=wrong)))
    golden(refused.value)


def test_an_edited_test_is_said_beside_stories_that_the_base_misunderstands_too(golden: Golden) -> None:
    shortened = flips("a day")
    whole = msgspec.structs.replace(shortened, steps=(*shortened.steps, *story("x", "utter_more", line=5).steps))
    base = made(whole, flips("other", 9), commit=BASE_COMMIT, settings=BOTH)

    for version in (shortened, whole):
        verdict = judged(base, made(version, flips("other", 9), settings=BOTH))[1]
        golden(verdict.summary)


def test_a_key_for_which_no_response_was_selected_is_what_was_expected() -> None:
    (sentence,) = flips("one").misunderstood
    understood = StoryParse(intent="greet", confidence=1.0)
    keyed = msgspec.structs.replace(
        sentence, expected=ExpectedParse(intent="greet", response="greet/x"), predicted=understood
    )
    assert expected_and_predicted(keyed) == ("greet/x", "greet")
