"""Test stories that a change hollowed out: each is named, with what it has become a copy of."""

from __future__ import annotations

import msgspec
from golden_texts import Golden
from pull_request import LINKS
from report_builder import BASE_COMMIT, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import StoryResult


def copy(name: str, line: int, *steps: str) -> StoryResult:
    return msgspec.structs.replace(story(name, *steps, line=line), duplicate=True)


def test_stories_that_become_copies_of_one_are_named_one_by_one(golden: Golden) -> None:
    base = report(
        stories=[
            story("hello and hours", "utter_greet", "utter_hours", line=1),
            story("address", "utter_address", line=9),
            story("order", "utter_order", line=15),
        ],
        commit=BASE_COMMIT,
    )
    head = report(
        stories=[
            story("hello and hours", "utter_greet", line=1),
            copy("address", 9, "utter_greet"),
            copy("order", 15, "utter_greet"),
        ]
    )
    compared = compare(head, Present(base, "git"))
    verdict = judge(head, compared, head.settings)
    comment = str(render_comment(head, compared, verdict, LINKS).content)

    assert [(case.name, case.copies, case.copy_of) for case in compared.stories.edited] == [
        ("hello and hours", 0, ""),
        ("address", 0, "hello and hours"),
        ("order", 0, "hello and hours"),
    ]
    assert (compared.stories.shared, compared.stories.added, compared.stories.gone) == (3, 0, ())
    golden(comment, only="**3")
    golden(comment, only="`address`")


def test_copies_that_the_base_has_too_are_counted_as_before() -> None:
    stories = [story("a", "utter_a"), copy("b", 9, "utter_a"), copy("c", 15, "utter_a")]
    compared = compare(report(stories=stories), Present(report(stories=stories, commit=BASE_COMMIT), "git")).stories

    assert (compared.shared, compared.added, compared.removed, compared.edited) == (3, 0, 0, ())
