"""Which newly wrong sentence is read first."""

from __future__ import annotations

import re

from golden_texts import Golden
from pull_request import LINKS
from report_builder import BASE_COMMIT, example, report

from turncheck.comparison.changes import CaseChange, TrainingChange
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.messages.finding import Location
from turncheck.render.grouping import caused_first
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, Skipped

_PLACE = Location("data/nlu.yml", 4)
_REASON = TrainingChange(change="added", text="pay", intent="pay", location=_PLACE, similarity=0.9)


def wrong(name: str, confidence: float, *, old: bool, caused: bool) -> CaseChange:
    return CaseChange(
        name=name,
        location=_PLACE,
        base_location=_PLACE if old else None,
        passed=False,
        base_passed=True if old else None,
        confidence=confidence,
        because=(_REASON,) if caused else (),
    )


def test_what_the_change_explains_comes_first_and_of_that_what_was_right_before() -> None:
    listed = caused_first(
        [
            wrong("new, not explained", 0.99, old=False, caused=False),
            wrong("old, not explained", 0.98, old=True, caused=False),
            wrong("new", 0.97, old=False, caused=True),
            wrong("old, unsure", 0.2, old=True, caused=True),
            wrong("old, sure", 0.7, old=True, caused=True),
        ]
    )
    assert [case.name for case in listed] == [
        *("old, sure", "old, unsure", "new"),
        *("old, not explained", "new, not explained"),
    ]


def test_what_the_base_could_not_judge_is_not_new(golden: Golden) -> None:
    sentences = [example(f"say {number}", "a", "b" if number < 2 else None, line=number + 1) for number in range(4)]
    head = report(examples=sentences)
    fault = Skipped(evaluation="nlu", reason="There is no configuration", fault=True)
    for base in (report(skipped=[fault], commit=BASE_COMMIT), report(examples=sentences[2:], commit=BASE_COMMIT)):
        compared = compare(head, Present(base, "git"))
        comment = str(render_comment(head, compared, judge(head, compared, GateSettings()), LINKS).content)
        golden(*re.findall(r"(?:#### |<summary>)([^<\n]*(?:isclassified|onfused)[^<\n]*)", comment))
