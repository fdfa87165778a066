"""Kore.ai's page on batch testing, sentence by sentence, in our words: the format of suites, what counts as what."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from report_builder import report

from turncheck.engines.base import UtteranceAnswer
from turncheck.evaluation.batch.imported import import_batch_csv
from turncheck.evaluation.batch.judging import classify, judged_case
from turncheck.evaluation.batch.suites import expected_names, kinds_of
from turncheck.messages.location import Location
from turncheck.project.batch.known import KnownIntent, KnownNames
from turncheck.project.batch.model import ExpectedEntity, SuiteCase, Suites
from turncheck.project.batch.reader import HowToRead, read_suites
from turncheck.render.batch_text import render_batch_csv
from turncheck.report.batch import BatchCase, BatchKindName, BatchResult, BatchSuite, numbers_of

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
def test_a_sub_intent_names_its_parents(tmp_path: Path) -> None:
    one, other = cases(
        tmp_path,
        [
            {"input": "two instead", "intent": "Change", "parentIntent": "Order Tea"},
            {"input": "which", "intent": "Which one?", "parentIntent": "Do you drink tea?||Me too"},
        ],
    )
    assert (one.parent, other.parent) == (("Order Tea",), ("Do you drink tea?", "Me too"))


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
    kinds = [judged(case, *case.intents).kind for case in cases(tmp_path, expected)]
    assert kinds == ["dialog", "faq", "small_talk"]
    (pattern,) = cases(tmp_path, [{"input": "x", "intent": "thank~you"}])
    assert pattern.intents == ("thank~you",)


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
    case = SuiteCase("tea", ("Order Tea",), entities=(ExpectedEntity("Kind", ("green||black",)),))
    for value, passed in ((["green", "black"], True), (["green"], False)):
        assert judged(case, "Order Tea", entities={"Kind": value}).entities[0].passed is passed


@pytest.mark.follows(
    page="kore-batch", sentence="A composite entity is written as `component:value`, its components separated by `|`."
)
def test_a_composite_entity(tmp_path: Path) -> None:
    case = SuiteCase("tea", ("Order Tea",), entities=(ExpectedEntity("Trip", ("City:Oslo|Day:2026-01-31",)),))
    for city, passed in (("Oslo", True), ("Lyon", False)):
        answer = {"Trip": {"City": city, "Day": "2026-01-31"}}
        assert judged(case, "Order Tea", entities=answer).entities[0].passed is passed


@pytest.mark.follows(page="kore-batch", sentence="An expected value is a string or a regular expression.")
def test_a_value_is_a_string_or_a_regular_expression() -> None:
    for expected, found, passed in (("12", "12", True), (r"\d{2}", "12", True), (r"\d{2}", "123", False)):
        case = SuiteCase("tea", ("Order Tea",), entities=(ExpectedEntity("Number", (expected,)),))
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


def table(*judged_cases: BatchCase, version: str = "published") -> list[list[str]]:
    suite = BatchSuite(**numbers_of(judged_cases), name="s", version=version, outcome="success", cases=judged_cases)
    written = render_batch_csv(report(), suite, "s.csv").encoded.decode()
    return list(csv.reader(io.StringIO(written)))


@pytest.mark.follows(
    page="kore-batch",
    sentence="The CSV report begins with the bot, the suite, the language, the version, the thresholds of the engines,"
    " when it was tested, how many utterances there are, and the share of each class.",
)
def test_the_block_of_the_csv() -> None:
    rows = table(case_of("tp"), case_of("fp"), case_of("fp"), case_of("tn"))
    block = {row[0]: row[-1] for row in rows[: rows.index([])]}
    assert list(block) == [
        *("Bot Name:", "Report name:", "Bot Language:", "Run Type:", "Threshold Setting:", "Last Tested:"),
        *("Utterance Count:", "Success/Failure Ratio:", "True Positive (TP):", "True Negative (TN):"),
        *("False Positive (FP):", "False Negative (FN):", "Notes:"),
    ]
    assert (block["Run Type:"], block["Utterance Count:"], block["Success/Failure Ratio:"]) == ("published", "4", "50")
    shares = [block[f"{name}:"] for name in ("True Positive (TP)", "False Positive (FP)", "False Negative (FN)")]
    assert shares == ["25", "50", "0"]


@pytest.mark.follows(
    page="kore-batch",
    sentence="Each utterance has its expected and matched intent, its parent, the state of the task and its class; each"
    " of its entities the expected and the matched value, and whether they are the same.",
)
def test_the_rows_of_the_csv() -> None:
    entities = (ExpectedEntity("City", ("Oslo",)), ExpectedEntity("Kind", ("mint",)))
    case = SuiteCase("tea", ("Order Tea",), parent=("Shop",), entities=entities)
    rows = table(judged(case, "Order Tea", entities={"City": "Oslo"}))
    head = ["tea", "Order Tea", "Order Tea", "Shop", "Published", "True Positive"]
    assert [row[:10] for row in rows[-2:]] == [
        [*head, "City", "Oslo", "Oslo", "TRUE"],
        [*head, "Kind", "mint", "none", "FALSE"],
    ]


@pytest.mark.follows(
    page="kore-batch",
    sentence="Scores of the matched intent are given for false positives and negatives, of the expected one for false"
    " positives.",
)
def test_scores_are_given_where_something_is_wrong() -> None:
    scores = {"Order Tea (ML)": 0.5, "Buy (ML)": 0.75, "Buy (FM)": 2000.0}
    wrong = judged(SuiteCase("tea", ("Order Tea",)), "Buy", scores=scores)
    right = judged(SuiteCase("tea", ("Buy",)), "Buy", scores=scores)
    assert [row[12:14] for row in table(wrong, right)[-2:]] == [
        ["FM: 2000.0000, ML: 0.7500", "ML: 0.5000"],
        ["", ""],
    ]


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
