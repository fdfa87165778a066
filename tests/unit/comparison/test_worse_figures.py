"""Every figure of ``comparison.json`` that is worse is said once: in the table, by a test that is listed, or on a line.

The figures of one thing say the same: if the F1 of an intent is in the table, its recall is nowhere.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Any

import msgspec
import pytest
from golden_texts import Golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pull_request import LINKS
from report_builder import BASE_COMMIT, case, coverage, example, finding, report, story, suite

from turncheck.comparison.changes import FallbackChange, LessUnderstood, SimilarSentences
from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import METRICS, Judgement, MetricDelta, Significance
from turncheck.comparison.model import Comparison, Present
from turncheck.evaluations.kind import Metric
from turncheck.messages.finding import Location
from turncheck.render.assistants import Run
from turncheck.render.console import render_console
from turncheck.render.main_metrics import main_metrics
from turncheck.render.markdown import render_comment, render_summary
from turncheck.render.page.page import render_page
from turncheck.render.wording.figures import figure
from turncheck.render.wording.gates import judge
from turncheck.render.wording.verdict import Verdict
from turncheck.report.model import Nlu, Report, StoryResult
from turncheck.report.understanding import Understood

_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789_.[]"
"""Characters that no sink escapes: how names are escaped is tested elsewhere."""
_MARKUP = re.compile(r"</?[a-z]+[^>]*>|[`*]")
_COUNTED = re.compile(r"… and \d+ more")
_SCRIPTS = re.compile(r"<(script|style|template)\b.*?</\1>", re.DOTALL)


def documents(report: Report, comparison: Comparison, verdict: Verdict) -> dict[str, str]:
    """What people read, without markup."""
    made = (
        render_comment(report, comparison, verdict, LINKS),
        render_summary(report, comparison, verdict, LINKS),
        render_console(report, comparison, verdict, LINKS),
        render_page([Run(report, comparison, verdict, LINKS)], {}),
    )
    return {one.name: html.unescape(_MARKUP.sub("", _SCRIPTS.sub("", str(one.content)))) for one in made}


def assert_nothing_worse_is_missed(report: Report, comparison: Comparison) -> None:
    texts = documents(report, comparison, judge(report, comparison, report.settings))
    table = {row.name for row in main_metrics(report, comparison) if row.mark in {"worse", "real drop"}}
    sentences = {name.rpartition(".")[0] for name in table if name.startswith("nlu.")}
    for metric in comparison.metrics:
        if metric.name in table:
            assert metric.judgement == "worse"
            continue
        base, value = metric.sides
        sides = f"{figure(base or 0, metric.kind)} → {figure(value or 0, metric.kind)}"
        for name, text in texts.items():
            said = f"{metric.name} {sides}" in text.replace("'", "")
            once = metric.by_cases or metric.name.rpartition(".")[0] in sentences
            is_news = metric.judgement == "worse" and not once
            is_counted = _COUNTED.search(text) is not None  # a list has ten entries
            assert said == is_news or (is_news and is_counted), (name, metric, text)


# --- whatever is measured --------------------------------------------------------------------------------------------


@st.composite
def deltas(draw: st.DrawFn, family: Metric) -> MetricDelta:
    """A figure of a family with both sides, and what their difference means."""
    name = draw(st.from_regex(family.pattern, fullmatch=True, alphabet=_ALPHABET).filter(lambda one: len(one) < 100))
    values: Any = st.integers(0, 2000) if family.kind == "count" else st.floats(0, 1)
    base, value = float(draw(values)), float(draw(values))
    words: list[Judgement] = ["worse", "worse", "worse", "better", "noise", "same", "not judged"]
    sampled = Significance(method="bootstrap", low=-0.1, high=0.1, changed=9, examples=40)
    return MetricDelta(
        name=name,
        better=family.better,
        kind=family.kind,
        value=value,
        base=base,
        delta=value - base,
        judgement=draw(st.sampled_from(words)),
        significance=draw(st.sampled_from([sampled, Significance(method="counted")])),
    )


def some(family: Metric) -> st.SearchStrategy[list[MetricDelta]]:
    return st.lists(deltas(family), min_size=1, max_size=3, unique_by=lambda one: one.name)


@cache
def nothing_else() -> tuple[Report, Comparison]:
    """A report with something of everything, on a base that is the same: figures are all there is to say."""
    head, base = (
        report(
            examples=[example(text, text, line=1, confidence=0.9) for text in ("greet", "order")],
            stories=[story("story", "utter_a")],
            cases=[case("case", "utter_a")],
            suites=[suite("faq", ("utterance", True))],
            covered={
                kind: one for name in ("intents", "responses") for kind, one in coverage(name, a=("1", True)).items()
            },
            entity_scores=0.871,
            commit=commit,
        )
        for commit in ("2" * 40, BASE_COMMIT)
    )
    return head, compare(head, Present(base, "git"))


@pytest.mark.slow
@pytest.mark.parametrize("family", METRICS, ids=lambda family: family.pattern.pattern)
def test_every_figure_of_a_family_that_is_worse_is_shown(family: Metric) -> None:
    made, comparison = nothing_else()

    @settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(some(family))
    def holds(metrics: list[MetricDelta]) -> None:
        assert_nothing_worse_is_missed(made, msgspec.structs.replace(comparison, metrics=tuple(metrics)))

    holds()


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(METRICS).flatmap(deltas), max_size=60, unique_by=lambda one: one.name))
def test_figures_of_all_families_together_are_shown(metrics: list[MetricDelta]) -> None:
    made, comparison = nothing_else()

    assert_nothing_worse_is_missed(made, msgspec.structs.replace(comparison, metrics=tuple(metrics)))


# --- whole reports ---------------------------------------------------------------------------------------------------


def side(wrong: int, *, commit: str) -> Report:
    """A report in which the first ``wrong`` of everything are wrong."""

    def marked(number: int, name: str) -> str:
        return f"{name}!other" if number < wrong else name

    made = report(
        examples=[
            example(
                chr(0x4E00 + number) * 6,
                ("greet", "order")[number % 2],
                ("order", "greet")[number % 2] if number < wrong else None,
                line=number + 1,
                confidence=0.9,
            )
            for number in range(60)
        ],
        stories=[story(f"story {'abcdefghij'[number]}", marked(number, "utter_a")) for number in range(10)],
        cases=[case(f"case {'abcdefghij'[number]}", marked(number, "utter_a")) for number in range(10)],
        suites=[suite("faq", *((f"utterance {'abcdefghij'[number]}", number >= wrong) for number in range(10)))],
        findings=[finding(f"code-{'abcdefghij'[number]}", "It is wrong.", "warning") for number in range(wrong)],
        covered=coverage("intents", **{f"intent_{'abcdefghij'[one]}": ("1", one >= wrong) for one in range(10)}),
        commit=commit,
    )
    assert made.nlu is not None
    understood = Understood(right=60 - wrong, wrong=wrong, not_understood=0)
    return msgspec.structs.replace(made, nlu=_understood(made.nlu, understood))


def _understood(nlu: Nlu, understood: Understood) -> Nlu:
    return msgspec.structs.replace(nlu, understood=understood, calibration_error=understood.wrong / 60)


@pytest.mark.parametrize(("before", "after"), [(0, 9), (3, 10), (2, 2), (9, 0)])
def test_whole_reports_show_whatever_is_worse(before: int, after: int) -> None:
    head, base = side(after, commit="2" * 40), side(before, commit=BASE_COMMIT)
    comparison = compare(head, Present(base, "git"))

    assert_nothing_worse_is_missed(head, comparison)
    sections = {re.split(r"[.\[]", one.name)[0] for one in comparison.metrics if one.judgement == "worse"}
    every_one = {"validation", "nlu", "core", "e2e", "batch"}
    assert sections == (every_one if after > before else set())


ONE_STORY = [story("a", "utter_a"), story("b", "utter_a!utter_b"), story("c", "utter_a", "utter_b")]


@pytest.mark.parametrize(
    "head",
    [
        report(stories=[story("a", "utter_a!utter_b"), *ONE_STORY[1:]]),
        report(stories=[*ONE_STORY, story("new", "utter_a!utter_b")]),
        report(stories=[*ONE_STORY[:2], story("c", "utter_a", "utter_c!utter_b")]),
    ],
    ids=["broken", "new", "edited"],
)
def test_a_failing_story_is_not_told_again_by_figures(head: Report) -> None:
    comparison = compare(head, Present(report(stories=ONE_STORY, commit=BASE_COMMIT), "git"))
    assert sum(metric.judgement == "worse" for metric in comparison.metrics) > 0
    for text in documents(head, comparison, judge(head, comparison, head.settings)).values():
        assert "Other figures" not in text


def _with_accuracy(made: Report, accuracy: float) -> Report:
    return msgspec.structs.replace(made, core=made.core and msgspec.structs.replace(made.core, accuracy=accuracy))


def test_a_story_that_fails_on_both_sides_is_told_by_figures_where_it_fails_in_more_steps() -> None:
    base = report(stories=[story("a", "utter_a"), story("b", "utter_a!utter_b", "utter_c")], commit=BASE_COMMIT)
    head = report(stories=[story("a", "utter_a"), story("b", "utter_a!utter_b", "utter_c!utter_b")])
    head, base = _with_accuracy(head, 1 / 3), _with_accuracy(base, 2 / 3)
    comparison = compare(head, Present(base, "git"))
    for text in documents(head, comparison, judge(head, comparison, head.settings)).values():
        assert "core.accuracy 0.667 → 0.333" in text


@pytest.mark.parametrize(
    "more",
    [story("a", "utter_a!utter_b"), story("new", "utter_a!utter_b")],
    ids=["broken", "new"],
)
def test_where_a_story_newly_fails_its_steps_are_no_further_news(more: StoryResult) -> None:
    """That an old failing story has one more wrong step is lost in what the broken story takes from the figure."""
    old, worse = story("b", "utter_a!utter_b", "utter_c"), story("b", "utter_a!utter_b", "utter_c!utter_b")
    base = _with_accuracy(report(stories=[story("a", "utter_a"), old], commit=BASE_COMMIT), 2 / 3)
    others = [] if more.name == "a" else [story("a", "utter_a")]
    head = _with_accuracy(report(stories=[more, *others, worse]), 1 / 3)
    comparison = compare(head, Present(base, "git"))
    assert any(metric.name == "core.accuracy" and metric.judgement == "worse" for metric in comparison.metrics)
    for text in documents(head, comparison, judge(head, comparison, head.settings)).values():
        assert "core.accuracy" not in text


@pytest.mark.parametrize(("passed", "is_told"), [(True, True), (False, False)])
def test_a_story_with_a_warning_is_worse_only_than_one_that_passed_without(passed: bool, is_told: bool) -> None:
    old = story("a", "utter_a" if passed else "utter_a!utter_b")
    base = report(stories=[old], commit=BASE_COMMIT)
    head = report(stories=[msgspec.structs.replace(story("a", "utter_a"), warned=True)])
    comparison = compare(head, Present(base, "git"))
    for text in documents(head, comparison, judge(head, comparison, head.settings)).values():
        assert ("core.warned 0 → 1" in text) == is_told


def test_what_tests_reach_makes_nothing_worse(golden: Golden) -> None:
    """One more response that no test reaches is said as that, and is no figure about the assistant."""
    base, head = (
        report(stories=[story("a", "utter_a")], covered=coverage("responses", **parts), commit=commit)
        for commit, parts in (
            (BASE_COMMIT, {"utter_a": ("1", True)}),
            ("2" * 40, {"utter_a": ("1", True), "utter_b": ("2", False)}),
        )
    )
    comparison = compare(head, Present(base, "git"))
    assert not [metric for metric in comparison.metrics if metric.judgement == "worse"]
    verdict = judge(head, comparison, head.settings)
    golden(verdict.summary)
    for text in documents(head, comparison, verdict).values():
        assert "worse" not in text


def test_figures_alone_are_in_the_headline(golden: Golden) -> None:
    """A threshold of the fallback changes what the assistant does, although no sentence has another intent."""
    head, base = side(0, commit="2" * 40), side(0, commit=BASE_COMMIT)
    comparison = compare(head, Present(base, "git"))
    fewer = MetricDelta(
        name="nlu.understood.right", better="higher", kind="count", value=52, base=105, delta=-53, judgement="worse"
    )
    comparison = msgspec.structs.replace(comparison, metrics=(*comparison.metrics, fewer))
    verdict = judge(head, comparison, head.settings)

    golden(verdict.summary)
    for text in documents(head, comparison, verdict).values():
        assert "nlu.understood.right 105 → 52 (−53)" in text


def test_what_a_threshold_does_is_told_by_its_list_alone() -> None:
    head, base = side(0, commit="2" * 40), side(0, commit=BASE_COMMIT)
    comparison = compare(head, Present(base, "git"))
    fewer = MetricDelta(
        name="nlu.understood.right", better="higher", kind="count", value=52, base=53, delta=-1, judgement="worse"
    )
    sentence = SimilarSentences(text="hi", intent="greet", location=Location("nlu.yml", 3, 1))
    lost = LessUnderstood(intent="greet", sentences=(sentence,))
    fallback = FallbackChange(base=0.3, value=0.9, lost=(lost,))
    comparison = msgspec.structs.replace(comparison, metrics=(*comparison.metrics, fewer), fallback=fallback)
    for text in documents(head, comparison, judge(head, comparison, head.settings)).values():
        assert "threshold from 0.3 to 0.9" in text
        assert "nlu.understood" not in text
