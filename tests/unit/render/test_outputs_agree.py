"""Every output agrees on what is new, old and gone: comment, summary, terminal, page, annotations, SARIF, JUnit."""

from __future__ import annotations

import json
import random
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from pull_request import LINKS
from report_builder import BASE_COMMIT, HEAD_COMMIT, case, example, finding, only_assistant, report, story

from turncheck.comparison.compare import compare, shown_beside_base
from turncheck.comparison.model import Present
from turncheck.messages.finding import Name
from turncheck.render.annotations import find_remarks
from turncheck.render.console import render_console
from turncheck.render.junit import render_junit
from turncheck.render.markdown import render_comment, render_summary
from turncheck.render.page.page import assistant_data
from turncheck.render.sarif import run_sarif
from turncheck.render.wording.gates import judge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Report

_NEW = re.compile(r"New(?:ly| errors| warnings| notes)|Other newly|Likely noise")
_OLD = re.compile(r"(?:on|of) the base too")
_GONE = re.compile(r"No longer|Newly right|Better now|Tests that are gone")
_SECTION = re.compile(r"^(?:#### |<details><summary>)?([A-Z][^\n|]*?\(\d[\d,]*\))", re.MULTILINE)
_NAME = re.compile(r"\b[fsce]x\d+x\b")
"""The names of findings, stories, cases and sentences below: no other word is like one."""


def side(chance: random.Random, commit: str, *, names: int = 8) -> Report:
    """A report in which each thing is right, wrong or not there."""
    found, stories, cases, sentences = [], [], [], []
    for number in range(names):
        outcome = {kind: chance.choice(("right", "wrong", "absent")) for kind in "fsce"}
        if outcome["f"] == "wrong":
            severity = ("error", "warning", "info")[number % 3]
            named = finding(f"code-{number % 2}", f"It is wrong with fx{number}x.", severity, line=number + 1)
            found.append(replace(named, about=(Name("intent", f"fx{number}x"),)))
        wrong = {kind: "!utter_b" if outcome[kind] == "wrong" else "" for kind in "sc"}
        if outcome["s"] != "absent":
            stories.append(story(f"sx{number}x", f"utter_topic_{number % 3}{wrong['s']}", line=number * 9 + 1))
        if outcome["c"] != "absent":
            cases.append(case(f"cx{number}x", f"utter_topic_{number % 3}{wrong['c']}", line=number * 9 + 1))
        if outcome["e"] != "absent":
            got = "other" if outcome["e"] == "wrong" else None
            sentences.append(example(f"ex{number}x", f"topic_{number % 3}", got, line=number + 1))
    return report(findings=found, stories=stories, cases=cases, examples=sentences, commit=commit)


def expected(head: Report, compared: Comparison) -> dict[str, str]:
    """What each name is, as the comparison says it."""
    said: dict[str, str] = {}
    for finding_now in head.validation.findings if head.validation else ():
        said[finding_now.message.split()[-1].rstrip(".")] = "old"
    said |= {one.message.split()[-1].rstrip("."): "new" for one in compared.new_findings}
    said |= {one.message.split()[-1].rstrip("."): "gone" for one in compared.gone_findings}
    for one in head.core.stories if head.core else ():
        said |= {} if one.passed else {one.name: "old"}
    for each in head.e2e.cases if head.e2e else ():
        said |= {} if each.passed else {each.name: "old"}
    for sentence in head.nlu.predictions if head.nlu else ():
        said |= {} if sentence.correct else {sentence.text: "old"}
    for changed in (compared.stories, compared.e2e, compared.examples):
        said |= {one.name: "new" for one in changed.newly_failing}
        said |= {one.name: "gone" for one in (*changed.better, *changed.gone)}
    return said


def sections(text: str) -> Iterator[tuple[str, str]]:
    """The titles of the lists of a document, with what is below them."""
    parts = _SECTION.split(text)
    yield from zip(parts[1::2], parts[2::2], strict=True)


@pytest.mark.parametrize("seed", range(25))
def test_every_output_lists_a_thing_as_what_the_comparison_calls_it(seed: int) -> None:
    chance = random.Random(seed)
    base, head = side(chance, BASE_COMMIT), side(chance, HEAD_COMMIT)
    compared = compare(head, Present(base, "git"))
    head = shown_beside_base(head, compared)
    verdict = judge(head, compared, head.settings)
    said = expected(head, compared)
    listed: dict[str, set[str]] = {"summary.md": set(), "summary.txt": set()}
    for output in (render_comment, render_summary, render_console):
        made = output(head, compared, verdict, LINKS)
        for title, below in sections(str(made.content).partition("#### Gates")[0]):
            shown = below.partition("\n\n")[0] if output is render_console else below
            what = next(
                (kind for kind, words in (("gone", _GONE), ("new", _NEW), ("old", _OLD)) if words.search(title)), ""
            )
            for name in set(_NAME.findall(shown)) if what else ():
                assert said.get(name, "right") == what, (made.name, title, name)
                listed.setdefault(made.name, set()).add(name)
    assert {name for name, kind in said.items() if kind == "new"} <= listed["summary.md"]
    assert {name for name, kind in said.items() if kind == "old"} <= listed["summary.md"]


@pytest.mark.parametrize("seed", range(10))
def test_junit_fails_what_is_new_or_old_and_nothing_that_is_gone(seed: int) -> None:
    chance = random.Random(seed)
    base, head = side(chance, BASE_COMMIT), side(chance, HEAD_COMMIT)
    compared = compare(head, Present(base, "git"))
    head = shown_beside_base(head, compared)
    written = render_junit(head, compared, judge(head, compared, head.settings), LINKS).encoded
    root = ET.fromstring(written)  # noqa: S314 - our own
    failed = {
        name
        for test in root.iter("testcase")
        if test.find("failure") is not None or test.find("error") is not None
        for name in _NAME.findall(test.get("name", ""))
        if name[0] in "sc"
    }
    assert failed == {name for name, kind in expected(head, compared).items() if kind != "gone" and name[0] in "sc"}


def compared_pair(seed: int) -> tuple[Report, Comparison, dict[str, str]]:
    """The report of a change, its comparison with the base, and what each name is."""
    chance = random.Random(seed)
    base, head = side(chance, BASE_COMMIT), side(chance, HEAD_COMMIT)
    compared = compare(head, Present(base, "git"))
    head = shown_beside_base(head, compared)
    return head, compared, expected(head, compared)


@pytest.mark.parametrize("seed", range(25))
def test_the_page_marks_as_new_what_is_new_and_nothing_else(seed: int) -> None:
    head, compared, said = compared_pair(seed)
    page = assistant_data(head, compared, LINKS, slug="one", manual={})
    marked = {name: "new" if one.new else "old" for one in page.findings for name in _NAME.findall(one.message)}
    for talk in page.conversations:
        if talk.outcome == "failed":
            marked[talk.name] = "new" if talk.side in {"worse", "new"} else "old"
        else:
            assert talk.side in {"", "better", "edited"}, talk.name
            marked |= {talk.name: "gone"} if talk.side == "better" else {}
    columns = page.sentences
    for number, text in enumerate(columns.text):
        changed = columns.side.get(number, "")
        if columns.expected[number] != columns.predicted[number]:
            marked[text] = "new" if changed in {"worse", "new"} else "old"
        else:
            assert changed in {"", "better", "edited"}, text
            marked |= {text: "gone"} if changed == "better" else {}
    assert {name: kind for name, kind in marked.items() if kind != "gone"} == {
        name: kind for name, kind in said.items() if kind != "gone"
    }
    assert {name for name, kind in marked.items() if kind == "gone"} <= {
        name for name, kind in said.items() if kind == "gone"
    }


@pytest.mark.parametrize("seed", range(25))
def test_annotations_and_sarif_call_nothing_new_that_is_old_and_list_nothing_that_is_gone(seed: int) -> None:
    head, compared, said = compared_pair(seed)
    remarks = find_remarks(head, compared)
    new = {name for one in remarks if one.title == "newly misclassified" for name in _NAME.findall(one.subject)}
    assert new <= {name for name, kind in said.items() if kind == "new"}
    log = json.loads(run_sarif(only_assistant(head, compared), {}, "1").encoded)
    results = log["runs"][0]["results"]
    listed = {name for result in results for name in _NAME.findall(result["message"]["text"])}
    assert not {name for name in listed if said.get(name, "right") in {"gone", "right"}}
    assert {name for name in said if name[0] == "f" and said[name] != "gone"} <= listed
    kinds = [said[name] for one in remarks if one.kind.startswith("code-") for name in _NAME.findall(one.subject)]
    assert kinds == sorted(kinds), "new findings come before old ones: the host drops the last"
