"""The list of a comment, its headline and the verdict say the same of any two reports, and what is counted by hand."""

from __future__ import annotations

import random
import re
from typing import Final

import pytest
from pull_request import LINKS
from report_builder import BASE_COMMIT, HEAD_COMMIT, batch, case, example, report, story, suite, with_changes

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.render.console import render_console
from turncheck.render.markdown import render_comment, render_summary
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, Report

Results = dict[str, dict[str, bool]]
"""Whether each case passes, by kind and name."""

KINDS: Final = ("story", "case", "utterance", "sentence")
GATES: Final = (("new-errors", "new-failures"), ("errors", "test-failures"), ("new-failures", "gone-tests"), ())
LISTS: Final = ("Newly failing tests", "Tests that are gone", "Newly right")


def some_results(chance: random.Random) -> tuple[Results, Results]:
    """Results on the base and of a change, which breaks and repairs some, and deletes or adds others, never both."""
    kinds = chance.sample(KINDS, chance.randint(1, len(KINDS)))
    base = {kind: {f"{kind} {i}": chance.random() < 0.7 for i in range(chance.randint(1, 7))} for kind in kinds}
    head = {kind: {name: ok != (chance.random() < 0.2) for name, ok in base[kind].items()} for kind in kinds}
    for kind in kinds:
        if chance.random() < 0.3 and len(head[kind]) > 1:
            head[kind].popitem()
        elif chance.random() < 0.3:
            head[kind][f"{kind} new"] = chance.random() < 0.5
    return base, head


def measured(results: Results, commit: str, settings: GateSettings, *, by_stand_in: bool) -> Report:
    def dialogue(name: str, *, passes: bool) -> tuple[str, ...]:
        return name, "utter_a", "utter_b" if passes else "utter_b!utter_c"

    suites = (suite("faq", *results["utterance"].items()),) if "utterance" in results else ()
    made = report(
        stories=[story(*dialogue(name, passes=ok)) for name, ok in results.get("story", {}).items()],
        cases=[case(*dialogue(name, passes=ok)) for name, ok in results.get("case", {}).items()],
        examples=[
            example(name, "xy"[len(name) % 2], None if ok else "z") for name, ok in results.get("sentence", {}).items()
        ],
        suites=suites,
        settings=settings,
        commit=commit,
    )
    return with_changes(made, batch=batch(*suites, by_stand_in=by_stand_in)) if suites else made


def listed(title: str, text: str) -> int:
    """The number in the title of a list; 0 without one."""
    found = re.search(rf"^(?:#+ |<details><summary>)?{title} \((\d+)\)", text, re.MULTILINE)
    return int(found[1]) if found else 0


def said(summary: str) -> int:
    """How many newly failing tests a headline speaks of."""
    kinds = r"(?:story|stories|end-to-end cases?|batch cases?)"
    found = re.findall(rf"(\d+) {kinds} newly fails?|(\d+) new {kinds} fails?", summary)
    return sum(int(number) for numbers in found for number in numbers if number)


@pytest.mark.parametrize("seed", range(60))
def test_the_list_the_headline_and_the_verdict_agree(seed: int) -> None:
    chance = random.Random(seed)
    base, head = some_results(chance)
    settings, by_stand_in = GateSettings(fail_on=chance.choice(GATES)), chance.random() < 0.4
    before, now = (
        measured(results, commit, settings, by_stand_in=by_stand_in)
        for results, commit in ((base, BASE_COMMIT), (head, HEAD_COMMIT))
    )
    compared = compare(now, Present(before, "file"))
    verdict = judge(now, compared, settings)
    documents = [
        str(render(now, compared, verdict, LINKS).content)
        for render in (render_comment, render_summary, render_console)
    ]

    tests = [kind for kind in head if kind != "sentence"]
    failing = sum(not ok and base[kind].get(name, True) for kind in tests for name, ok in head[kind].items())
    gone = sum(name not in head[kind] for kind in tests for name in base[kind])
    right = sum(ok and base[kind].get(name) is False for kind in head for name, ok in head[kind].items())
    for document in documents[:2]:
        assert [listed(title, document) for title in LISTS] == [failing, gone, right]
    assert listed(LISTS[0], documents[2]) == failing
    gates = {one.name: one.outcome for one in verdict.gates}
    if "new-failures" in gates:
        assert gates["new-failures"] == ("failed" if failing else "passed")
        assert said(verdict.summary) == failing
    if "gone-tests" in gates:
        assert gates["gone-tests"] == ("failed" if gone else "passed")
    if failing or right:
        assert "changed sides" not in verdict.summary
    if head != base:
        assert "nothing changed" not in verdict.summary
    assert not (failing and verdict.passed and not verdict.reservation)
