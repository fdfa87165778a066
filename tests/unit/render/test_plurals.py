"""Counts and their nouns: one function, and no output that says "1 stories"."""

from __future__ import annotations

import re

import msgspec
import pytest
from pull_request import LINKS
from report_builder import BASE_COMMIT, case, example, finding, report, story, suite, training

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present
from turncheck.messages.phrasing import count
from turncheck.render.annotations import find_annotations
from turncheck.render.case_differences import case_differences
from turncheck.render.console import render_console
from turncheck.render.junit import render_junit
from turncheck.render.markdown import render_comment, render_summary
from turncheck.render.results import render_results
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, Report

_NOUNS = (
    "stories|cases|sentences|examples|findings|errors|warnings|notes|gates|tests|failures|intents|entities|actions"
    "|responses|copies|folds|pairs|words|times|others|labels"
)
_WRONG = re.compile(
    rf"(?<![\w.,/−+-])1 (?:[a-z-]+ ){{0,2}}(?:{_NOUNS})\b"
    rf"|(?<![\w.,/−+-])(?:0|[2-9]) (?:end-to-end case|batch case|story|sentence|error|warning|copy|pair)\b(?! of)"
    r"|(?<![\w.,/−+-])1 (?:[a-z-]+ )?(?:tests|stories|cases) (?:are|were|have|fail)\b"
)
_RULES = GateSettings(
    fail_on=("errors", "test-failures", "new-failures"),
    fail_on_warnings=True,
    thresholds=("nlu.intents.f1 >= 1", "core.failed <= 0"),
    max_regression=("nlu.intents.f1: 0", "core.passed: 0"),
)


def test_a_noun_follows_its_number() -> None:
    assert [count(n, "story", "stories") for n in (0, 1, 2, 1200)] == [
        "0 stories",
        "1 story",
        "2 stories",
        "1,200 stories",
    ]
    assert [count(n, "case") for n in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]


def of_each(wrong: int, right: int, *, commit: str = "2" * 40, copies: int = 0) -> Report:
    """So many wrong and so many right ones of everything there is."""
    stories = [story(f"s{i}", "utter_a!utter_b" if i < wrong else "utter_a", line=i + 1) for i in range(wrong + right)]
    stories += [
        msgspec.structs.replace(story("s0", "utter_a!utter_b"), name=f"c{i}", duplicate=True) for i in range(copies)
    ]
    made = report(
        examples=[
            example(f"say {i}", f"i{i % 2}", f"i{(i + 1) % 2}" if i < wrong else None, line=i + 1)
            for i in range(wrong + right)
        ],
        sentences=training(("x", "i0")),
        stories=stories,
        cases=[case(f"e{i}", "utter_a!utter_b" if i < wrong else "utter_a", line=i + 1) for i in range(wrong + right)],
        suites=[suite("faq", *((f"b{i}", i >= wrong) for i in range(wrong + right)))] if wrong + right else (),
        findings=[
            finding(f"c{i}", "message", severity, line=i + 1)
            for i in range(wrong)
            for severity in ("error", "warning", "info")
        ],
        settings=_RULES,
        commit=commit,
    )
    if made.nlu is None:
        return made
    nlu = msgspec.structs.replace(made.nlu, on_training_sentences=wrong, under_other_intents=wrong)
    return msgspec.structs.replace(made, nlu=nlu)


def outputs(head: Report, base: Report | None) -> list[str]:
    comparison = compare(head, Present(base, "git") if base else Missing("none yet"))
    verdict = judge(head, comparison, head.settings)
    drawn = [
        render(head, comparison, verdict, LINKS).encoded.decode()
        for render in (render_comment, render_summary, render_console, render_junit)
    ]
    drawn += [f"{one.title}: {one.message}" for one in find_annotations(head, comparison)]
    drawn += [verdict.summary]
    drawn += [render_results(head), case_differences(head.e2e.cases if head.e2e else ())]
    return drawn


@pytest.mark.parametrize("wrong", [0, 1, 2])
@pytest.mark.parametrize("right", [0, 1, 2])
def test_no_output_counts_one_thing_in_the_plural(wrong: int, right: int) -> None:
    base = of_each(0, wrong + right, commit=BASE_COMMIT)
    pairs = [
        (of_each(wrong, right), None),
        (of_each(wrong, right), base),
        (base, of_each(wrong, right, commit="3" * 40)),
    ]
    pairs += [(of_each(0, right), of_each(wrong, right, commit=BASE_COMMIT))]
    pairs += [(of_each(wrong, right, copies=wrong), base)] if wrong else []

    said = [found[0] for head, other in pairs for text in outputs(head, other) for found in _WRONG.finditer(text)]

    assert said == []
