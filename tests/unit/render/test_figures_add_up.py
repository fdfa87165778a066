"""Rows that add up: the change is the difference of the two figures beside it, as they are shown."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from golden_texts import Golden
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pull_request import LINKS
from report_builder import BASE_COMMIT, coverage, example, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.render.console import render_console
from turncheck.render.main_metrics import main_metrics, mark, sample_size_note
from turncheck.render.markdown import render_comment
from turncheck.render.wording.changes import broken_entities_in_words
from turncheck.render.wording.figures import change, figure
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, NluPrediction, Skipped

_ROW = re.compile(r"^\| (?P<label>[^|]+) \| (?P<base>[\d.]+) \| (?P<now>[\d.]+) \| (?P<change>[^|]*) \|$", re.MULTILINE)
_LINE = re.compile(
    r"^(?P<label>\S.*?) {2,}(?P<base>[\d.]+) +(?P<now>[\d.]+) +(?P<change>[+−±≈]\S*(?: ±0)?)", re.MULTILINE
)
_NUMBER = re.compile(r"[+−][\d.]+")


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_change_is_the_difference_of_the_figures_as_they_are_shown(base: float, value: float) -> None:
    shown = change(base, value, "score")
    difference = Decimal(figure(value, "score")) - Decimal(figure(base, "score"))

    assert (Decimal(shown.replace("−", "-")) if "±" not in shown else 0) == difference
    assert (shown == "±0") == (abs(value - base) < 1e-12) or "≈" in shown or difference


def sentence(number: int, *, wrong: bool) -> NluPrediction:
    intents = ("greet", "order", "bye")
    intent = intents[number % 3]
    text = chr(0x4E00 + number) * 6  # like no other: nothing is taken for an edit
    return example(text, intent, intents[(number + 1) % 3] if wrong else None, line=number + 1)


side = st.dictionaries(st.integers(0, 60), st.booleans(), min_size=2, max_size=40)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(side, side)
def test_every_row_of_the_table_adds_up(before: dict[int, bool], after: dict[int, bool]) -> None:
    rules = GateSettings(max_regression=("nlu.intents.f1: 0",))
    base = report(
        examples=[sentence(one, wrong=wrong) for one, wrong in before.items()], commit=BASE_COMMIT, settings=rules
    )
    head = report(examples=[sentence(one, wrong=wrong) for one, wrong in after.items()], settings=rules)
    comparison = compare(head, Present(base, "git"))
    verdict = judge(head, comparison, rules)

    comment = str(render_comment(head, comparison, verdict, LINKS).content)
    console = str(render_console(head, comparison, verdict, LINKS).content)

    rows = [*_ROW.finditer(comment), *_LINE.finditer(console)]
    assert len(rows) >= 2
    for row in rows:
        told = _NUMBER.search(row["change"])
        assert Decimal(told[0].replace("−", "-") if told else 0) == Decimal(row["now"]) - Decimal(row["base"]), row[0]
    for gate in verdict.gates:
        for base_figure, now, told_change in re.findall(r"([\d.]+) to ([\d.]+) \((.*?)[,)]", gate.reason):
            number = _NUMBER.fullmatch(told_change)
            assert Decimal(now) - Decimal(base_figure) == Decimal(number[0].replace("−", "-") if number else 0)


def test_where_the_test_sentences_changed_the_row_is_about_the_shared_ones_and_the_whole_is_said_below(
    golden: Golden,
) -> None:
    base = report(examples=[sentence(i, wrong=i in {0, 1}) for i in range(16)], commit=BASE_COMMIT)
    head = report(examples=[sentence(i, wrong=i in {0, 1, 2, 20, 21}) for i in range(24) if i not in {4, 5}])

    comparison = compare(head, Present(base, "git"))
    text = str(render_comment(head, comparison, judge(head, comparison, head.settings), LINKS).content)

    assert "| Intents, accuracy (shared sentences) | 0.857 | 0.786 | −0.071 within noise |" in text
    golden(text, only="judged")
    assert "Intents, accuracy 0.875 → 0.773." in text


def test_a_drop_names_what_became_worse_of_what_both_sides_judged_the_worst_first(golden: Golden) -> None:
    """New sentences that are wrong from the start, and old errors, are not behind the drop."""
    rules = GateSettings(max_regression=("nlu.intents.f1: 0",))
    unsure = example(sentence(2, wrong=False).text, "bye", "greet", line=3, confidence=0.4)
    sure = example(sentence(3, wrong=False).text, "greet", "order", line=4, confidence=0.8)
    shared = [sentence(i, wrong=i == 0) for i in range(12)]
    base = report(examples=shared, commit=BASE_COMMIT, settings=rules)
    new = [sentence(i, wrong=True) for i in range(30, 36)]
    head = report(examples=[*new, *shared[:2], unsure, sure, *shared[4:]], settings=rules)

    comparison = compare(head, Present(base, "git"))
    gate = next(one for one in judge(head, comparison, rules).gates if one.name.startswith("max-regression"))

    golden(gate.reason)
    assert [cause.what for cause in gate.failed_by] == [
        f"{sure.text}: expected greet, got order",
        f"{unsure.text}: expected bye, got greet",
    ]


def test_of_an_intent_with_too_few_sentences_to_tell_nothing_is_called_noise(golden: Golden) -> None:
    few = [example(f"few {i}", "few", line=i + 1) for i in range(3)]
    many = [example(f"many {i}", "many", line=i + 10) for i in range(20)]
    one_wrong = [example("few 0", "few", "many", line=1), *few[1:], *many]

    compared = compare(report(examples=one_wrong), Present(report(examples=[*few, *many]), "artifact"))
    deltas = [delta for delta in compared.metrics if delta.name in {"nlu.intents[few].f1", "nlu.intents[many].f1"}]

    assert {delta.name: sample_size_note(delta) for delta in deltas} == {
        "nlu.intents[few].f1": " (3)",
        "nlu.intents[many].f1": "",
    }
    golden(*sorted(f"{delta.name}: {mark(delta)}" for delta in deltas))


def test_where_a_fault_keeps_tests_from_running_nothing_is_said_of_what_they_reach() -> None:
    items = coverage("responses", utter_a=("2", True))
    head = report(covered=items, skipped=[Skipped(evaluation="core", reason="no stories can be read", fault=True)])
    before = report(covered=coverage("responses", utter_a=("1", True)), stories=[story("a", "utter_a")])

    compared = compare(head, Present(before, "artifact"))

    assert compared.changed_items
    assert "Changed parts under test" not in [row.label for row in main_metrics(head, compared)]


def test_another_extractor_has_a_row_beside_the_one_of_the_base() -> None:
    base = report(
        examples=[sentence(number, wrong=False) for number in range(4)], entity_scores=0.9, commit=BASE_COMMIT
    )
    assert base.nlu
    nlu = replace(base.nlu, entities={"RegexEntityExtractor": base.nlu.entities["DIETClassifier"]})
    head = replace(base, nlu=nlu)
    rows = [row for row in main_metrics(head, compare(head, Present(base, "git"))) if row.label.startswith("Entities")]

    assert [(row.subject, row.base, row.now) for row in rows] == [
        ("RegexEntityExtractor", "–", "0.900"),
        ("DIETClassifier", "0.900", "not judged"),
    ]


def test_entities_that_are_found_less_often_are_in_the_title(golden: Golden) -> None:
    def ordered(number: int, *, missed: bool) -> NluPrediction:
        found: list[tuple[int, int, str]] | None = [] if missed and number % 3 else None
        return example(f"large {number}", f"i{number % 2}", line=number + 1, entities=[(0, 5, "size")], found=found)

    base = report(examples=[ordered(n, missed=False) for n in range(60)], entity_scores=1.0, commit=BASE_COMMIT)
    head = report(examples=[ordered(n, missed=True) for n in range(60)], entity_scores=0.5)
    compared = compare(head, Present(base, "git"))
    verdict = judge(head, compared, GateSettings(fail_on=("new-failures",)))
    golden(f"{verdict.in_words}: {verdict.summary}")

    overall = next(one for one in compared.metrics if one.name == "nlu.entities.DIETClassifier.f1")
    named = [replace(overall, name=f"nlu.entities.DIETClassifier[{entity}].f1") for entity in ("size", "city")]
    golden(broken_entities_in_words(replace(compared, metrics=(overall, *named))))
    assert broken_entities_in_words(replace(compared, metrics=(*named,))) == ""
