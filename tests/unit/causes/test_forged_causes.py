"""Causes in a report from elsewhere, such as a fork's: they may be anything, and never hide what was found."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from report_builder import finding, report

from turncheck.comparison.compare import compare, shown_beside_base
from turncheck.comparison.model import Present
from turncheck.messages.finding import Location, Name
from turncheck.render.annotations import find_annotations
from turncheck.render.junit import render_junit
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.causes import Cause, Causes, CausesOfFinding, CausesOfIntent, CausesOfTest, MutualContradiction
from turncheck.report.model import GateSettings, Report, Source

BASE = "1" * 40
CODES = ("rule-contradiction", "story-conflict", "action-undefined")
PLACES = tuple(Location("data/rules.yml", line, 3) for line in range(1, 4))


def with_findings(causes: Causes | None = None) -> Report:
    about = (Name("story", "a"), Name("story", "b"))
    found = tuple(
        replace(finding(code, f"{code} there"), location=place, about=about) for code in CODES for place in PLACES
    )
    made = replace(report(findings=found), source=Source(commit="2" * 40))
    return made if causes is None else replace(made, causes=causes)


def base() -> Present:
    return Present(replace(report(), source=Source(commit=BASE)), "git")


def shown(head: Report) -> int:
    """Render everything, and return how many errors are shown."""
    compared = compare(head, base())
    verdict = judge(head, compared, GateSettings(fail_on=("new-errors",)))
    beside = shown_beside_base(head, compared)
    assert render_comment(head, compared, verdict, Links()).content
    assert render_junit(head, compared, verdict, Links()).content
    find_annotations(head, compared)
    return beside.validation.counts.error if beside.validation else 0


causes = st.builds(
    Cause,
    kind=st.sampled_from(["rules", "stories", "slots", "@octocat"]),
    name=st.sampled_from(["a", "b", "", "@octocat"]),
    change=st.sampled_from(["changed", "removed", "added", "moved", "renamed", "replaced"]),
    location=st.none() | st.sampled_from(PLACES),
    base_location=st.none() | st.sampled_from(PLACES),
    proved=st.booleans(),
)
several = st.lists(causes, max_size=3).map(tuple)
of_findings = st.builds(
    CausesOfFinding,
    code=st.sampled_from(CODES),
    location=st.sampled_from(PLACES),
    causes=several,
    contradicted=st.lists(st.lists(st.sampled_from("ab"), max_size=2).map(tuple), max_size=3).map(tuple),
)
mutual = st.builds(
    MutualContradiction,
    code=st.sampled_from(CODES),
    causes=several,
    locations=st.lists(st.sampled_from(PLACES), max_size=3).map(tuple),
)
of_tests = st.builds(
    CausesOfTest,
    evaluation=st.sampled_from(["core", "e2e", "batch", "intents", "entities", "responses"]),
    name=st.sampled_from(["hi", "@octocat"]),
    path=st.sampled_from(["", "data/nlu.yml"]),
    causes=several,
)


@settings(max_examples=20)
@given(
    st.lists(of_findings, max_size=4).map(tuple),
    st.lists(mutual, max_size=3).map(tuple),
    st.lists(of_tests, max_size=3).map(tuple),
)
def test_whatever_they_say_errors_of_each_code_remain_and_everything_is_shown(
    findings: Any, together: Any, tests: Any
) -> None:
    forged = Causes(
        base=BASE,
        findings=findings,
        mutual=together,
        tests=tests,
        intents=(CausesOfIntent(intent="greet", causes=()), CausesOfIntent(intent="@octocat", causes=())),
    )

    compared = shown_beside_base(with_findings(forged), compare(with_findings(forged), base()))

    assert compared.validation is not None
    assert {one.code for one in compared.validation.findings} == set(CODES)
    assert shown(with_findings(forged)) >= len(PLACES)  # those of the code that nothing gathers


@pytest.mark.parametrize("commit", ["3" * 40, "", BASE[:8]])
def test_causes_about_another_base_say_nothing(commit: str) -> None:
    cause = Cause(kind="rules", name="a", change="changed", location=PLACES[0], proved=True)
    one = CausesOfFinding(code=CODES[0], location=PLACES[1], causes=(cause,))

    assert shown(with_findings(Causes(base=commit, findings=(one,)))) == len(CODES) * len(PLACES)
    assert shown(with_findings(Causes(base=BASE, findings=(one,)))) == len(CODES) * len(PLACES)
    both = tuple(replace(one, location=place) for place in PLACES[:2])
    assert shown(with_findings(Causes(base=BASE, findings=both))) == len(CODES) * len(PLACES) - 1
