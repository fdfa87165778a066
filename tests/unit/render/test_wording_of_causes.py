"""Causes in words: how many are named, what is proved, and what is only near."""

from __future__ import annotations

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from report_builder import case, report, story, suite

from turncheck.comparison.changes import CaseChange, MisunderstoodSentence, Named
from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import MetricDelta
from turncheck.comparison.model import Present
from turncheck.messages.finding import Location
from turncheck.render.case_keys import CaseKeys
from turncheck.render.cause_entries import dropped_intent
from turncheck.render.entries import steps
from turncheck.render.links import Links, PathResolver
from turncheck.render.lists import MISUNDERSTOOD, Lists
from turncheck.render.page.conversations import conversations
from turncheck.render.page.model import Files
from turncheck.render.spans import Entry, plain
from turncheck.render.wording.causes import because_in_words, how_proved, why_dropped_in_words, why_in_words
from turncheck.report.causes import Cause, Causes
from turncheck.report.model import Report


def cause(name: str, *, kind: str = "rules", proved: bool = True) -> Cause:
    place = Location("data/rules.yml", ord(name), 1)
    return Cause(kind=kind, name=name, change="changed", location=place, proved=proved)


def failing(name: str, *causes: Cause) -> CaseChange:
    place = Location("tests/t.yml", 1, 1)
    return CaseChange(name=name, location=place, base_location=place, passed=False, base_passed=True, causes=causes)


@pytest.mark.parametrize("number", [1, 3, 4, 6])
def test_the_title_names_three_causes_and_counts_the_others(number: int, golden: Golden) -> None:
    tests = [failing(name, cause(name)) for name in "abcdef"[:number]]

    golden(because_in_words(tests))


@pytest.mark.parametrize("proved", [True, False])
def test_that_causes_are_proved_is_said_where_only_sentences_have_some(proved: bool) -> None:
    head = replace(report(stories=[story("one")]), causes=Causes(base="1" * 40))
    compared = compare(head, Present(report(stories=[story("one")], commit="1" * 40), "git"))
    sentence = MisunderstoodSentence(
        text="hi", location=Location("t.yml", 3, 1), expected="a", predicted="b", causes=(cause("a"),) if proved else ()
    )
    assert bool(how_proved(head, replace(compared, misunderstood=(sentence,)))) == proved


def test_causes_that_it_takes_together_are_named_together(golden: Golden) -> None:
    golden(because_in_words([failing("one", cause("a"), cause("b")), failing("two", cause("c"))]))


def test_what_explains_most_tests_comes_first(golden: Golden) -> None:
    golden(because_in_words([failing("one", cause("a")), failing("two", cause("b")), failing("three", cause("b"))]))


def test_what_is_not_proved_is_only_possible_and_never_beside_what_is(golden: Golden) -> None:
    near = failing("one", cause("a", proved=False), cause("b", proved=False))

    golden(because_in_words([near]))
    golden(because_in_words([near, failing("two", cause("c"))]))
    golden(why_in_words(near))


def test_below_a_test_two_possible_causes_are_named_and_the_others_counted(golden: Golden) -> None:
    test = failing("one", *(cause(name, proved=False) for name in "abcde"))

    golden("\n".join(plain(entry.line) for entry in steps([("story", test)]).below))


def test_an_intent_that_is_worse_says_why(golden: Golden) -> None:
    metric = MetricDelta(
        name="nlu.intents[greet].f1",
        better="higher",
        kind="score",
        value=0.5,
        base=0.9,
        causes=(cause("a"), cause("b")),
    )

    golden(why_dropped_in_words(metric))
    golden("\n".join(plain(entry.line) for entry in dropped_intent(metric).below))


def test_a_transcript_begins_with_why(golden: Golden) -> None:
    def measured(step: str, *, passed: bool) -> Report:
        return report(
            stories=[story("a story", step)], cases=[case("a case", step)], suites=[suite("smoke", ("book it", passed))]
        )

    now, base = measured("utter_a!utter_b", passed=False), measured("utter_a", passed=True)
    found = compare(now, Present(base, "artifact"))
    changed = {
        kind: replace(cases, worse=tuple(replace(one, causes=(cause("a"),)) for one in cases.worse))
        for kind, cases in (("stories", found.stories), ("e2e", found.e2e), ("batch", found.batch))
    }
    listed = conversations(now, replace(found, **changed), Files("", Links()), PathResolver(now))
    assert {one.kind for one in listed} == {"story", "case", "batch"}
    (why,) = {one.remarks[0] for one in listed}
    golden(why)


def test_a_test_that_is_edited_by_another_file_says_by_which() -> None:
    test = replace(failing("one", cause("a")), edits=("edited",), edited_in=("domain.yml",))

    assert "domain.yml" in plain(steps([("story", test)]).line)


@pytest.mark.parametrize("number", [1, 2])
def test_one_cause_of_several_misunderstood_sentences_is_said_once(number: int) -> None:
    place = Location("tests/t.yml", 1, 1)
    sentences = [
        MisunderstoodSentence(
            text=text,
            location=place,
            expected="a",
            predicted="b",
            stories=(Named(name=text, location=place),),
            causes=(cause("a"),),
        )
        for text in "xy"[:number]
    ]

    section, _ = Lists(3, CaseKeys(report())).misunderstood(MISUNDERSTOOD, "Misunderstood{}", sentences, (), report())

    below = (below for entry in section.entries if isinstance(entry, Entry) for below in entry.below)
    said = [plain(section.note), *(plain(entry.line) for entry in below)]
    assert sum("was changed" in words for words in said) == 1
