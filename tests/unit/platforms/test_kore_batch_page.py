"""Kore.ai's page on batch testing, sentence by sentence, in our words: the format of suites, what counts as what."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from report_builder import report

from turncheck.engines.base import UtteranceAnswer
from turncheck.evaluations.batch.judging import classify, judged_case
from turncheck.evaluations.batch.suites import expected_names, kinds_of
from turncheck.messages.finding import Location
from turncheck.platforms.kore.imported import import_batch_csv
from turncheck.project.batch.model import ExpectedEntity, KnownIntent, KnownNames, SuiteCase, Suites
from turncheck.project.batch.reader import HowToRead, read_suites
from turncheck.render.batch_csv import render_batch_csv
from turncheck.report.batch import BatchCase, BatchKindName, BatchResult, BatchSetting, BatchSuite, numbers_of

OF_KINDS = KnownNames(
    {
        "order tea": KnownIntent("Order Tea", "dialog"),
        "what does tea cost?": KnownIntent("What does tea cost?", "faq"),
        "thanks": KnownIntent("thanks", "small_talk"),
        "hello": KnownIntent("hello", "small_talk"),
    }
)


def read(folder: Path, content: str | list[dict[str, Any]], **how: Any) -> Suites:
    name = "a.csv" if isinstance(content, str) else "a.json"
    text = content if isinstance(content, str) else json.dumps({"testCases": content})
    (folder / name).write_text(text, "utf-8")
    return read_suites(folder, [folder / name], HowToRead(**how))


def cases(folder: Path, content: str | list[dict[str, Any]]) -> tuple[SuiteCase, ...]:
    found = read(folder, content)
    assert found.findings == ()
    return found.suites[0].cases


def judged(case: SuiteCase, *matched: str, **answer: Any) -> BatchCase:
    return judged_case(case, UtteranceAnswer(matched=matched, **answer), OF_KINDS)


def case_of(result: BatchResult, kind: BatchKindName = "dialog", **more: Any) -> BatchCase:
    return BatchCase(
        text="tea", location=Location("a.json"), kind=kind, expected=("Order Tea",), matched=(), result=result,
        passed=result in {"tp", "tn"}, **more,
    )  # fmt: skip


def in_both_formats(folder: Path, entity: str, value: str) -> list[SuiteCase]:
    """A case that expects an entity, read from JSON and from CSV."""
    written = {"input": "tea", "intent": "Order Tea", "entities": [{"entityName": entity, "entityValue": value}]}
    text = f"input,intent,entityName,entityValue\ntea,Order Tea,{entity},{value}\n"
    return [*cases(folder, [written]), *cases(folder, text)]


# --- the format ------------------------------------------------------------------------------------------------------


@pytest.mark.follows(
    page="kore-batch",
    sentence="A suite in JSON is an array of cases: the utterance, the expected intent and, if wanted, the entities to"
    " be found.",
)
def test_a_suite_in_json_is_an_array_of_cases(tmp_path: Path) -> None:
    city = {"entityName": "City", "entityValue": "Lyon"}
    assert cases(tmp_path, [{"input": "tea to Lyon", "intent": "Order Tea", "entities": [city]}]) == (
        SuiteCase("tea to Lyon", ("Order Tea",), entities=(ExpectedEntity("City", ("Lyon",)),)),
    )


@pytest.mark.follows(
    page="kore-batch",
    sentence="A case of a sub-intent names its parent; the levels of contextual small talk are separated by `||`.",
)
def test_a_sub_intent_names_its_parents(tmp_path: Path, golden: Golden) -> None:
    one, other = cases(
        tmp_path,
        [
            {"input": "two instead", "intent": "Change", "parentIntent": "Order Tea"},
            {"input": "which", "intent": "Which one?", "parentIntent": "Do you drink tea?||Me too"},
        ],
    )
    assert one.parent == ("Order Tea",)
    golden(*other.parent)


@pytest.mark.follows(page="kore-batch", sentence="An utterance can have up to three intents, any of which is right.")
def test_up_to_three_intents_may_be_expected(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, [{"input": "tea", "intent": "Order Tea | What does tea cost?|thanks"}])
    assert [judged(case, name).result for name in case.intents] == ["tp", "tp", "tp"]
    four = read(tmp_path, [{"input": "tea", "intent": "A|B|C|D"}])
    assert [one.code for one in four.errors] == ["suite-too-many-alternatives"]


@pytest.mark.follows(page="kore-batch", sentence="Traits are expected after the prefix `trait`, separated by `||`.")
def test_traits_are_expected_after_their_prefix(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, [{"input": "hurry", "intent": "Trait: Urgent|| Angry"}])
    assert (case.is_trait, case.intents) == (True, ("Urgent", "Angry"))


@pytest.mark.follows(
    page="kore-batch",
    sentence="A dialog is expected by its task's name, an FAQ by its primary question, small talk by its pattern.",
)
def test_each_kind_is_expected_by_its_name(tmp_path: Path) -> None:
    expected = [{"input": f"say {name}", "intent": name} for name in ("Order Tea", "What does tea cost?", "thanks")]
    right = [judged(case, *case.intents) for case in cases(tmp_path, expected)]
    assert [(one.kind, one.result) for one in right] == [("dialog", "tp"), ("faq", "tp"), ("small_talk", "tp")]
    assert [judged(case, "Buy").result for case in cases(tmp_path, expected)] == ["fp", "fp", "fp"]
    (pattern,) = cases(tmp_path, [{"input": "x", "intent": "thank~you"}])
    assert [judged(pattern, name).passed for name in ("thank~you", "thank you")] == [True, False]


@pytest.mark.follows(
    page="kore-batch", sentence="A suite for a universal bot names the bot of each intent, in the same order."
)
def test_a_universal_bots_suite_names_bots(tmp_path: Path) -> None:
    (case,) = cases(tmp_path, [{"input": "x", "intent": "A|B", "botName": "First Bot|Second Bot"}])
    assert (case.intents, case.bots) == (("A", "B"), ("First Bot", "Second Bot"))


@pytest.mark.follows(page="kore-batch", sentence="A file with an utterance of more than 3,000 characters is rejected.")
def test_longer_utterances_are_rejected(tmp_path: Path) -> None:
    assert not read(tmp_path, [{"input": "x" * 3000, "intent": "A"}]).errors
    too_long = read(tmp_path, [{"input": "x" * 3001, "intent": "A"}])
    assert [one.code for one in too_long.errors] == ["suite-input-too-long"]


@pytest.mark.follows(page="kore-batch", sentence="An uploaded file has at most 1,000 utterances.")
def test_an_upload_has_at_most_a_thousand_utterances(tmp_path: Path) -> None:
    many = [{"input": f"x {number}", "intent": "A"} for number in range(1001)]
    assert not read(tmp_path, many[:1000], upload=True).errors
    assert len(read(tmp_path, many, upload=True).errors) == 1


@pytest.mark.follows(page="kore-batch", sentence="The values of a multi-item entity are separated by `||`.")
def test_values_of_a_multi_item_entity(tmp_path: Path) -> None:
    for case in in_both_formats(tmp_path, "Kind", "green||black"):
        for value, passed in ((["green", "black"], True), (["green"], False), (["green", "black", "white"], False)):
            assert judged(case, "Order Tea", entities={"Kind": value}).entities[0].passed is passed


@pytest.mark.follows(
    page="kore-batch", sentence="A composite entity is written as `component:value`, its components separated by `|`."
)
def test_a_composite_entity(tmp_path: Path) -> None:
    for case in in_both_formats(tmp_path, "Trip", "City:Oslo|Day:2026-01-31"):
        for city, passed in (("Oslo", True), ("Lyon", False)):
            answer = {"Trip": {"City": city, "Day": "2026-01-31"}}
            assert judged(case, "Order Tea", entities=answer).entities[0].passed is passed


@pytest.mark.follows(page="kore-batch", sentence="An expected value is a string or a regular expression.")
@pytest.mark.parametrize(
    ("expected", "found", "passed"),
    [("12", "12", True), ("12", "13", False), (r"\d{2}", "12", True), (r"\d{2}", "123", False)],
)
def test_a_value_is_a_string_or_a_regular_expression(tmp_path: Path, expected: str, found: str, passed: bool) -> None:
    for case in in_both_formats(tmp_path, "Number", expected):
        assert judged(case, "Order Tea", entities={"Number": found}).entities[0].passed is passed


@pytest.mark.follows(
    page="kore-batch",
    sentence="In CSV a case is a row, and each further entity a row without the utterance.",
)
def test_further_entities_have_rows_of_their_own(tmp_path: Path) -> None:
    text = (
        "input,intent,parentIntent,entityName,entityValue,entityOrder\n"
        "3 boxes to Lyon,Order Tea,,Quantity,3,\n"
        ",,,City,Lyon,Quantity>City\n"
    )
    (case,) = cases(tmp_path, text)
    assert [entity.name for entity in case.entities] == ["Quantity", "City"]


@pytest.mark.follows(page="kore-batch", sentence="The order of entities: an array in JSON, with `>` in CSV.")
def test_the_order_of_entities_in_both_formats(tmp_path: Path) -> None:
    entities = [{"entityName": name, "entityValue": "x"} for name in ("Quantity", "City")]
    order = {"entities": entities, "entityOrder": ["City", "Quantity"]}
    (in_json,) = cases(tmp_path, [{"input": "x", "intent": "A", **order}])
    text = "input,intent,entityName,entityValue,entityOrder\nx,A,Quantity,x,\n,,City,x,City>Quantity\n"
    (in_csv,) = cases(tmp_path, text)
    assert in_json.order == in_csv.order == ("City", "Quantity")


@pytest.mark.follows(
    page="kore-batch",
    sentence=(
        "Consecutive rows with the same utterance and different values of an entity are one assertion "
        "that accepts either; assertions are counted, not rows."
    ),
)
def test_consecutive_rows_are_one_assertion(tmp_path: Path) -> None:
    text = "input,intent,entityName,entityValue\nto town,Order Tea,City,Oslo\nto town,Order Tea,City,Lyon\n"
    (case,) = cases(tmp_path, text)
    for city, passed in (("Oslo", True), ("Lyon", True), ("Rome", False)):
        assert judged(case, "Order Tea", entities={"City": city}).passed is passed
    apart = text.replace("to town,Order Tea,City,Lyon", "hello,Hello,,\nto town,Order Tea,City,Lyon")
    assert [len(one.entities) for one in cases(tmp_path, apart)] == [1, 0, 1]


# --- what counts as what ---------------------------------------------------------------------------------------------


@pytest.mark.follows(page="kore-batch", sentence="True positive: the expected intent is matched.")
def test_a_true_positive() -> None:
    assert classify("dialog", ["Order Tea"], ["order_tea"]) == "tp"


@pytest.mark.follows(page="kore-batch", sentence="True negative: no intent is expected, and none is matched.")
def test_a_true_negative() -> None:
    assert classify("dialog", [], []) == "tn"
    assert classify("faq", [], []) == "tn"


@pytest.mark.follows(page="kore-batch", sentence="False positive: an intent is matched that is not expected.")
def test_a_false_positive() -> None:
    assert classify("dialog", ["Order Tea"], ["Track Parcel"]) == "fp"
    assert classify("dialog", [], ["Track Parcel"]) == "fp"


@pytest.mark.follows(page="kore-batch", sentence="False negative: the expected intent is not matched, nor is another.")
def test_a_false_negative() -> None:
    assert classify("dialog", ["Order Tea"], []) == "fn"


@pytest.mark.follows(
    page="kore-batch",
    sentence="Small talk is a true positive if the expected one is matched, otherwise a false positive.",
)
def test_small_talk_is_the_same_or_wrong() -> None:
    case = SuiteCase("ta", ("thanks",))
    assert [judged(case, *matched).result for matched in (["thanks"], ["hello"], [])] == ["tp", "fp", "fp"]


@pytest.mark.follows(
    page="kore-batch",
    sentence="Small talk is never a true negative: if none is expected and some is matched, it is a false negative.",
)
def test_small_talk_without_any_expected() -> None:
    assert judged(SuiteCase("ta", ()), "thanks").result == "fn"
    nothing = judged(SuiteCase("ta", ()))
    assert (nothing.kind, nothing.result) == ("dialog", "tn")


@pytest.mark.follows(
    page="kore-batch", sentence="If more traits are matched than expected, that is still a true positive."
)
def test_more_traits_are_right_too() -> None:
    assert classify("trait", ["Urgent"], ["Urgent", "Angry"]) == "tp"
    assert classify("trait", ["Urgent", "Angry"], ["Urgent"]) == "fp"


@pytest.mark.follows(
    page="kore-batch", sentence="If several intents are expected, ambiguity among them is still a true positive."
)
def test_ambiguity_among_expected_intents_is_right() -> None:
    assert judged(SuiteCase("tea", ("Order Tea", "Buy")), "Buy", "Order Tea").result == "tp"


@pytest.mark.follows(page="kore-batch", sentence="An utterance with several expected intents covers each of them.")
def test_several_expected_intents_are_all_covered() -> None:
    case = judged(SuiteCase("tea", ("Order Tea", "What does tea cost?")), "Order Tea")
    assert expected_names([case], OF_KINDS, "dialog") == {"order tea", "what does tea cost?"}
    kinds = kinds_of([case], OF_KINDS)
    assert (kinds["dialog"].covered, kinds["faq"].covered, kinds["small_talk"].covered) == (1, 1, 0)
    assert (kinds["dialog"].passed, kinds["faq"].passed, kinds["small_talk"].passed) == (1, 1, 0)


@pytest.mark.parametrize(
    ("expected", "matched", "kinds"),
    [
        (("thanks", "Order Tea"), "hello", {"dialog", "small_talk"}),
        (("Order Tea", "no such task"), "Order Tea", {"dialog"}),
    ],
)
def test_a_case_is_one_of_each_kind_that_it_accepts(expected: tuple[str, ...], matched: str, kinds: set[str]) -> None:
    found = kinds_of([judged(SuiteCase("tea", expected), matched)], OF_KINDS)
    assert {kind for kind, numbers in found.items() if numbers.passed or numbers.failed} == kinds


# --- the figures -----------------------------------------------------------------------------------------------------


@pytest.mark.follows(
    page="kore-batch",
    sentence="Precision is TP / (TP + FP), recall TP / (TP + FN), F1 2 · precision · recall / (precision + recall).",
)
def test_precision_recall_and_f1() -> None:
    results: list[BatchResult] = ["tp", "tp", "tp", "fp", "fn", "fn", "fn", "tn"]
    numbers = numbers_of([case_of(result) for result in results])
    assert (numbers["precision"], numbers["recall"]) == (3 / 4, 3 / 6)
    assert numbers["f1"] == pytest.approx(2 * 0.75 * 0.5 / (0.75 + 0.5))


@pytest.mark.follows(page="kore-batch", sentence="Intent success is the share of correct intent recognition.")
def test_intent_success() -> None:
    results: list[BatchResult] = ["tp", "tn", "fp", "not-evaluated"]
    assert numbers_of([case_of(result) for result in results])["intent_success"] == 0.5


@pytest.mark.follows(page="kore-batch", sentence="Entity success is the share of the entities that are recognised.")
def test_entity_success() -> None:
    entities = tuple(ExpectedEntity(name, ("x",)) for name in ("A", "B"))
    case = judged(SuiteCase("tea", ("Order Tea",), entities=entities), "Order Tea", entities={"A": "x"})
    assert numbers_of([case])["entity_success"] == 0.5


# --- the report ------------------------------------------------------------------------------------------------------


SETTING = BatchSetting(
    bot="Tea",
    language="de",
    thresholds=({"mode": "ml", "minThreshold": "0.3"}, {"mode": "or", "isActive": "true"}),
    tested="2026-01-05T17:43:43.927Z",
)


def table(*judged_cases: BatchCase) -> list[list[str]]:
    numbers = numbers_of(judged_cases)
    suite = BatchSuite(**numbers, name="s", version="published", outcome="success", setting=SETTING, cases=judged_cases)
    written = render_batch_csv(report(), suite, "s.csv").encoded.decode()
    return list(csv.reader(io.StringIO(written)))


@pytest.mark.follows(
    page="kore-batch",
    sentence="The CSV report begins with the bot, the suite, the language, the version, the thresholds of the engines,"
    " when it was tested, how many utterances there are, and the share of each class.",
)
def test_the_block_of_the_csv() -> None:
    rows = table(case_of("tp"), case_of("fp"), case_of("fp"), case_of("tn"))
    assert rows[: rows.index([])] == [
        ["Bot Name:", "Tea"],
        ["Report name:", "s"],
        ["Bot Language:", "de"],
        ["Run Type:", "published"],
        ["Threshold Setting:", ""],
        ["Mode:", "ml"],
        ["minThreshold:", "0.3"],
        ["Mode:", "or"],
        ["isActive:", "true"],
        ["Last Tested:", "2026-01-05T17:43:43.927Z"],
        ["Utterance Count:", "4"],
        ["Success/Failure Ratio:", "50"],
        ["True Positive (TP):", "25"],
        ["True Negative (TN):", "25"],
        ["False Positive (FP):", "50"],
        ["False Negative (FN):", "0"],
        ["Notes:", ""],
    ]


@pytest.mark.follows(
    page="kore-batch",
    sentence="Each utterance has its expected and matched intent, its parent, the state of the task and its class; each"
    " of its entities the expected and the matched value, and whether they are the same.",
)
def test_the_rows_of_the_csv() -> None:
    entities = (ExpectedEntity("City", ("Oslo",)), ExpectedEntity("Kind", ("mint",)))
    case = SuiteCase("tea", ("Order Tea",), parent=("Shop",), entities=entities)
    rows = table(judged(case, "Order Tea", entities={"City": "Oslo"}, state="Configured"))
    head = ["tea", "Order Tea", "Order Tea", "Shop", "Configured", "True Positive"]
    assert [row[:10] for row in rows[-2:]] == [
        [*head, "City", "Oslo", "Oslo", "TRUE"],
        [*head, "Kind", "mint", "none", "FALSE"],
    ]
    others = (SuiteCase("cup", ("Order Tea",)), "Buy"), (SuiteCase("cup", ("Order Tea",)),), (SuiteCase("cup", ()),)
    rows = table(*(judged(*one) for one in others))
    assert [row[1:6] for row in rows[-3:]] == [
        ["Order Tea", "Buy", "", "", "False Positive"],
        ["Order Tea", "None", "", "", "False Negative"],
        ["None", "None", "", "", "True Negative"],
    ]


def test_the_state_of_a_task_is_the_platforms_own_whatever_version_was_asked() -> None:
    text = (
        '"Report name:","s"\n"Run Type:","inDevelopment"\n\n'
        '"Utterance","ExpectedIntent","MatchedIntent","Task State","Result Type"\n'
        '"tea","Order Tea","Order Tea","Published","True Positive"\n'
        '"cup","Order Tea","Buy","Configured","False Positive"\n'
        '"mug","Order Tea","None","","False Negative"\n'
    )
    suite = import_batch_csv("s.csv", text).suite
    assert suite.version == "in-development"
    assert [case.state for case in suite.cases] == ["Published", "Configured", ""]
    assert [row[4] for row in table(*suite.cases)[-3:]] == ["Published", "Configured", ""]
    older = import_batch_csv("s.csv", text.replace('"Task State",', "").replace('"Published",', "")).suite
    assert older.cases[0].state == ""


@pytest.mark.follows(
    page="kore-batch",
    sentence="Scores of the matched intent are given for false positives and negatives, of the expected one for false"
    " positives.",
)
def test_scores_are_given_where_something_is_wrong() -> None:
    scores = {"Order Tea (ML)": 0.5, "Buy (ML)": 0.75, "Buy (FM)": 2000.0}
    wrong = judged(SuiteCase("tea", ("Order Tea",)), "Buy", scores=scores)
    right = judged(SuiteCase("tea", ("Buy",)), "Buy", scores=scores)
    unexpected = judged(SuiteCase("ta", ()), "thanks", scores={"thanks (FM)": 12.0, "Order Tea (ML)": 0.5})
    missed = judged(SuiteCase("tea", ("Order Tea",)), scores=scores)
    assert [case.result for case in (wrong, right, unexpected, missed)] == ["fp", "tp", "fn", "fn"]
    assert [row[12:14] for row in table(wrong, right, unexpected, missed)[-4:]] == [
        ["FM: 2000.0000, ML: 0.7500", "ML: 0.5000"],
        ["", ""],
        ["FM: 12.0000", ""],
        ["", ""],
    ]


@pytest.mark.parametrize("name", ["order_tea", " ORDER  tea"])
def test_scores_are_given_however_the_suite_spells_the_intent(name: str) -> None:
    for scores, written in (
        ({"Order Tea (ML)": 0.5, "Order Tea (FM)": 2.0, "Buy (KG)": 80.0}, ["KG: 80.0000", "FM: 2.0000, ML: 0.5000"]),
        ({"Order Tea": 0.5, "Buy": 0.75}, ["0.7500", "0.5000"]),
    ):
        (row,) = table(judged(SuiteCase("tea", (name,)), "Buy", scores=scores))[-1:]
        assert row[12:14] == written


@pytest.mark.follows(
    page="kore-batch",
    sentence="The elimination reason says why an expected intent was not the winning one: the policy of the ranking, or"
    " the scores of the engines.",
)
def test_the_elimination_reason_is_read() -> None:
    text = (
        '"Report name:","s"\n\n"Utterance","ExpectedIntent","MatchedIntent","Result Type","Elimination Info"\n'
        '"tea","Order Tea","Buy","False Positive","belowDependencyThreshold"\n'
        '"cup","Order Tea","Buy","False Positive","FM: 120.5, ML: 0.4, FAQ: 12"\n'
    )
    reasons = [case.reason for case in import_batch_csv("s.csv", text).suite.cases]
    assert reasons == ["belowDependencyThreshold", "FM: 120.5, ML: 0.4, FAQ: 12"]
