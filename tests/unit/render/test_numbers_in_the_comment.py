"""Every number in the comment is one of the report's, or follows from it; equal words carry equal numbers."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pull_request import LINKS, pull_request
from report_builder import BASE_COMMIT, case, example, finding, report, story, suite, training

from turncheck.comparison.compare import compare
from turncheck.comparison.metrics import metrics_of
from turncheck.comparison.model import Comparison, Missing, Present, encode
from turncheck.messages.finding import Location
from turncheck.render.document import build_document
from turncheck.render.markdown import COMMENT_LIMIT, Size, draw, render_comment, utf16_units
from turncheck.render.wording.figures import change, figure
from turncheck.render.wording.gates import judge
from turncheck.render.wording.verdict import Verdict
from turncheck.report.codec import encode as encode_report
from turncheck.report.model import (
    ExpectedParse,
    GateSettings,
    Misunderstanding,
    Report,
    StoryParse,
    StoryResult,
    StoryStep,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.render.spans import NeutralSection

# --- reports ---------------------------------------------------------------------------------------------------------

_RULES = GateSettings(
    fail_on=("errors", "test-failures", "new-failures"),
    thresholds=("nlu.intents.f1 >= 0.9",),
    max_regression=("nlu.intents.f1: 0.01", "core.passed: 0"),
)
_INTENTS = ("greet", "order", "bye")


def misunderstood(name: str, text: str) -> StoryResult:
    """A story that fails only because a sentence is understood differently than written."""
    place = Location("tests/test_stories.yml", 7, 5)
    heard = StoryStep(kind="intent", expected="greet", predicted="bye", passed=False, text=text, location=place)
    sentence = Misunderstanding(
        text=text, location=place, expected=ExpectedParse(intent="greet"), predicted=StoryParse(intent="bye")
    )
    fine = story(name, "utter_a")
    return msgspec.structs.replace(
        fine, passed=False, steps=(heard, *fine.steps), as_written=True, misunderstood=(sentence,)
    )


@st.composite
def reports(draw: st.DrawFn, commit: str) -> Report:
    """One side: of the same sentences, stories, cases and findings some are there, and some of these are wrong."""

    def present(most: int) -> Iterator[tuple[int, bool]]:
        chosen = draw(st.lists(st.sampled_from(["right", "wrong", "absent"]), max_size=most))
        return ((number, what == "wrong") for number, what in enumerate(chosen) if what != "absent")

    def sentence(number: int, *, wrong: bool) -> Any:
        taken = _INTENTS[(number + 1) % 3] if wrong else None
        text = chr(0x4E00 + number) * 5  # like no other, so that none is taken for an edit of another
        return example(text, _INTENTS[number % 3], taken, line=number + 1, near=[(0, 0.5)] if wrong else [])

    sentences = [sentence(number, wrong=wrong) for number, wrong in present(40)]
    stories = [
        story(f"story {'abcdefghijklmnop'[i]}", f"utter_{'abc'[i % 3]}" + ("!utter_x" if wrong else ""), line=i + 1)
        for i, wrong in present(14)
    ]
    stories += [misunderstood(f"heard {'abcdef'[i]}", draw(st.sampled_from("xyz"))) for i, wrong in present(5) if wrong]
    copies = draw(st.integers(0, 3)) if stories else 0
    stories += [msgspec.structs.replace(stories[0], name=f"copy {'abc'[i]}", duplicate=True) for i in range(copies)]
    severities = st.sampled_from(["error", "warning", "info"])
    made = report(
        examples=sentences,
        sentences=training(("x", "order"), *([("y", "greet")] if draw(st.booleans()) else [])),
        stories=stories,
        cases=[
            case(f"case {'abcdefgh'[i]}", "utter_a!utter_b" if wrong else "utter_a", line=i + 1)
            for i, wrong in present(8)
        ],
        suites=[suite("faq", *((f"utterance {'abcdef'[i]}", not wrong) for i, wrong in present(6)))],
        findings=[
            finding(f"code-{'abc'[i % 3]}", f"The '{'abcd'[i % 4]}' is wrong.", draw(severities), line=i + 1)
            for i, _ in present(10)
        ],
        settings=_RULES,
        commit=commit,
    )
    if made.nlu is None:
        return made
    copied = {"on_training_sentences": draw(st.integers(0, 2)), "under_other_intents": draw(st.integers(0, 2))}
    return msgspec.structs.replace(made, nlu=msgspec.structs.replace(made.nlu, **copied))


def compared(head: Report, base: Report | None) -> tuple[Comparison, Verdict]:
    comparison = compare(head, Present(base, "git") if base else Missing("none yet"))
    return comparison, judge(head, comparison, head.settings)


# --- what the comment says -------------------------------------------------------------------------------------------

_NOT_OURS = re.compile(r"<!--.*?-->|(`+).*?\1|\]\([^)]*\)")
"""The hidden line, names and texts and paths in code, targets of links."""
_NUMBER = re.compile(r"[+−]?\d[\d,]*(?:\.\d+)?")
_LIST = re.compile(r"\s*- (?!✅|❌ `|➖)")
_ROW = re.compile(r"\| (?P<label>[^|]+?) +\|(?: (?P<base>[^|]*?) +\|)? (?P<now>[^|]*?) +\|(?: [^|]*\|)?$")
_COUNTED = re.compile(r"(?<![\w.])(?P<number>\d[\d,]*)(?: of \d[\d,]*)? (?P<words>[a-z][a-z -]*[a-z])")
_TITLE = re.compile(r"(?:#### |<summary>)(?P<words>[A-Z][\w ,-]*?) \((?P<number>\d[\d,]*)(?: of \d+)?(?: [a-z]+)?\)")
_CUT = re.compile(r"cut from (?P<base>[\d,]+) to (?P<now>[\d,]+) sentences?")
"""About the training sentences of one intent, which is named: they are no count of what is judged."""
_ELSEWHERE = re.compile(r"[\d,]+ (?:is|are) in the ")
"""How many of the list above are not shown, which :func:`shown_sections` adds up."""
_LEFT_OUT = {"more", "new", "gone", "edited", "broke", "repaired", "fails", "fail", "copies", "copy"}
"""Words that mean what the line is about: "8 new" behind the stories, "3 more" below a list."""


def without_names(text: str) -> str:
    return _NOT_OURS.sub(" ", text)


def known_numbers(head: Report, base: Report | None, comparison: Comparison, verdict: Verdict) -> set[str]:
    """All numbers of the documents, as they are shown; how many there are of each thing; and what follows from both."""
    documents = [encode_report(head), encode(comparison), encode(verdict), *([encode_report(base)] if base else [])]
    found: set[str] = set()
    counts = {0, *sums(head, comparison)}
    for document in documents:
        _take(json.loads(document), found, counts)
    for metrics in (metrics_of(head), metrics_of(base) if base else {}):
        counts.update(round(metric.value) for metric in metrics.values() if metric.kind == "count")
    for delta in comparison.metrics:
        one, other = delta.sides
        if one is not None and other is not None:
            found.add(change(one, other, delta.kind))
    return found | {f"{number:,}" for number in counts}


def _take(value: Any, found: set[str], counts: set[int]) -> None:
    """Take the numbers of a document, and how many entries its lists have, altogether and of each outcome."""
    match value:
        case dict():
            counts.add(len(value))
            for part in value.values():
                _take(part, found, counts)
        case list():
            counts.add(len(value))
            for field in ("passed", "severity", "outcome"):
                counts.update(Counter(str(p[field]) for p in value if isinstance(p, dict) and field in p).values())
            for part in value:
                _take(part, found, counts)
        case float():
            found.update({figure(value, "score"), f"{value:.2f}", f"{value:.7g}"})
        case str():
            found.update(_NUMBER.findall(value))
        case int() if not isinstance(value, bool):
            counts.add(value)
        case _:
            pass


def sums(head: Report, comparison: Comparison) -> set[int]:
    """What is added up: tests of all kinds, by what became of them, copies included."""
    kinds = (comparison.stories, comparison.e2e, comparison.batch)
    sentences = (comparison.examples, comparison.entities, comparison.responses)
    failing = [sum(case.number for case in kind.newly_failing) for kind in kinds]
    better = [sum(case.number for case in kind.better) for kind in (*kinds, *sentences)]
    broken = [sum(case.number for case in kind.became_wrong) for kind in kinds]
    new = [sum(case.number for case in kind.added_failing) for kind in kinds]
    gone = [sum(case.number for case in kind.gone) for kind in kinds]
    totals = {sum(part) for part in (failing, better, broken, new, gone)} | {*failing, *better, *broken, *new, *gone}
    totals |= {sum(len(kind.newly_failing) for kind in sentences), len(comparison.examples.newly_failing)}
    totals |= {sum(better[:3]), sum(better[3:])}
    failed = [
        sum(
            metrics_of(head)[f"{part}.failed"].value
            for part in ("core", "e2e", "batch")
            if f"{part}.failed" in metrics_of(head)
        )
    ]
    totals |= {int(failed[0]), int(failed[0]) - sum(failing)}
    if head.nlu:
        right = sum(one.correct for one in head.nlu.predictions)
        totals |= {right, head.nlu.examples - right, head.nlu.examples - right - len(comparison.examples.newly_failing)}
    findings = head.validation.findings if head.validation else ()
    for severity in ("error", "warning", "info"):
        totals.add(sum(one.severity == severity for one in findings))
        totals.add(sum(one.severity == severity for one in comparison.new_findings))
    totals |= {len(findings), len(comparison.new_findings), len(findings) - len(comparison.new_findings)}
    return totals


def shown_sections(text: str) -> Iterator[tuple[int, int, int]]:
    """For each list with a number in its title: that number, the things its entries tell of, and how many are left."""
    for part in re.split(r"\n(?=#### |<details><summary>[A-Z])", text):
        title = _TITLE.search(part.splitlines()[0])
        if title is None or "|---" in part:
            continue
        entries = [line for line in part.splitlines() if line.startswith("- ")]
        stand_for = 0
        for entry in entries:
            group = re.match(r"- ((?:[\d,]+ [a-z -]+?(?: and |: ))+)", entry)
            alike = sum(int(number.replace(",", "")) for number in re.findall(r"\d+", group[1])) if group else 1
            copies = re.search(r"`(?: \([a-z ,]+\))? and (\d+) cop", entry)
            stand_for += alike + (int(copies[1]) if copies and not group else 0)
        left = re.search(r"(?:… and ([\d,]+) more, in the|^([\d,]+) (?:is|are) in the)", part, re.MULTILINE)
        number = (left[1] or left[2]).replace(",", "") if left else 0
        yield int(title["number"].replace(",", "")), stand_for, int(number)


def without_titles_alone(text: str, sections: Iterable[NeutralSection]) -> str:
    """The text without the lists of which it only says how many entries they have, which must be what they have."""
    titles = {section.title: section for section in sections}
    kept = []
    for line in text.splitlines():
        alone, found, _ = line.partition(", in the [results]")
        if not found or alone not in titles:
            kept.append(line)
        elif number := _TITLE.search(f"#### {alone}"):
            assert int(number["number"].replace(",", "")) == titles[alone].total, line
    return "\n".join(kept)


def counted(text: str) -> Iterator[tuple[frozenset[str], str, str]]:
    """Yield the words that each number is about, the number, and where it is."""
    for line in without_names(text).splitlines():
        if _LIST.match(line) or _ELSEWHERE.match(line) or line.startswith(("<sub>", "Both sides judged")):
            continue
        if (row := _ROW.match(line)) and row["label"].strip() and re.fullmatch(r"\d[\d,]*", row["now"]):
            yield _bag(row["label"]), row["now"], line
        if line.startswith("|"):
            continue
        for title in _TITLE.finditer(line):
            yield _bag(title["words"]), title["number"], line
        for told in _COUNTED.finditer(line) if not line.startswith(("####", "<details>")) else ():
            words = _bag(told["words"])
            if not words <= _LEFT_OUT:
                yield words, told["number"], line


def _bag(words: str) -> frozenset[str]:
    """Words in any order and number: ``3 sentences newly misclassified`` is ``Newly misclassified sentences (3)``."""
    left = re.findall(r"[a-z-]+", words.lower())
    singular = {"stories": "story", "entities": "entity", "are": "is", "were": "was", "fail": "fails", "have": "has"}
    return frozenset(singular.get(word, word[:-1] if len(word) > 4 and word.endswith("s") else word) for word in left)


def check(head: Report, base: Report | None) -> None:
    comparison, verdict = compared(head, base)
    known = known_numbers(head, base, comparison, verdict)
    sections = build_document(head, comparison, verdict, LINKS, unfolded=8).sections
    cuts = {(f"{one.base:,}", f"{one.now:,}") for one in comparison.cut_intents}
    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    check_text(without_titles_alone(comment, sections), known, cuts)
    check_text(draw(head, comparison, verdict, LINKS, size=_WHOLE), known, cuts)


def check_text(text: str, known: set[str], cuts: set[tuple[str, str]]) -> None:
    body = without_names(re.sub(r"(?m)^.*[\d,]+ more\b.*$", "", text))
    unknown = [number for number in _NUMBER.findall(body) if number not in known and number.lstrip("+−") not in known]
    assert unknown == []
    for total, told, left in shown_sections(text):
        assert total == told + left, text
    by_words: dict[frozenset[str], set[tuple[str, str]]] = {}
    assert {(told["base"], told["now"]) for told in _CUT.finditer(text)} <= cuts
    for words, number, line in counted(_CUT.sub("", text)):
        by_words.setdefault(words, set()).add((number, line))
    torn = {words: said for words, said in by_words.items() if len({number for number, _ in said}) > 1}
    assert torn == {}


_WHOLE = Size("comment.md.j2", COMMENT_LIMIT, utf16_units, unfolded=8)
"""A comment with all its details."""
_SETTINGS = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.slow
@_SETTINGS
@given(reports("2" * 40), reports(BASE_COMMIT))
def test_against_a_base_every_number_is_accounted_for(head: Report, base: Report) -> None:
    check(head, base)


@pytest.mark.slow
@_SETTINGS
@given(reports("2" * 40))
def test_without_a_base_every_number_is_accounted_for(head: Report) -> None:
    check(head, None)


def test_so_it_is_in_the_golden_comment() -> None:
    head, comparison, verdict = pull_request()
    text = str(render_comment(head, comparison, verdict, LINKS).content)

    numbers = list(counted(text))
    assert (frozenset({"newly", "failing", "test"}), "1", "#### Newly failing tests (1)") in numbers
    assert len(numbers) > 10


def test_the_sentences_of_an_intent_that_was_cut_are_its_own() -> None:
    def side(number: int, commit: str) -> Report:
        sentences = training(*((f"{'abcdefghij'[i]}", "order") for i in range(number)), ("x", "greet"))
        judged = [example("hi", "greet"), example("one", "order", line=2)]
        return report(examples=judged, sentences=sentences, stories=[story("s", "utter_a")], commit=commit)

    head, base = side(2, "2" * 40), side(9, BASE_COMMIT)
    _, verdict = compared(head, base)
    assert _CUT.search(verdict.summary)
    check(head, base)
    with pytest.raises(AssertionError):
        check_text("intent `order` cut from 9 to 3 sentences", {"9", "3"}, {("9", "2")})
