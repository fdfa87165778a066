"""What a comparison finds between two reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from golden_texts import Golden
from pull_request import base_report, head_report
from report_builder import BASE_COMMIT, case, coverage, example, finding, report, story, suite, training
from timing import Timing

from turncheck.comparison import metric_deltas as batch_figures
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Comparison, Missing, Present, Unreadable, encode
from turncheck.messages.finding import Location
from turncheck.report.model import CoverageItem, GateSettings, KindCoverage, ResponseScores, Skipped

if TYPE_CHECKING:
    from turncheck.comparison.changes import CaseChange
    from turncheck.report.model import BatchSuite, Report


def compared(head: Report, base: Report) -> Comparison:
    return compare(head, Present(base, "git"))


def names(cases: tuple[CaseChange, ...]) -> list[str]:
    return [one.name for one in cases]


# --- with and without a baseline -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("baseline", "status"), [(Missing("none"), "missing"), (Unreadable("broken"), "unreadable")])
def test_without_a_baseline_there_are_values_and_no_differences(baseline: Any, status: str) -> None:
    comparison = compare(base_report(), baseline)

    assert comparison.baseline.status == status
    assert not comparison.judged
    metric = comparison.metric("nlu.intents.accuracy")
    assert metric is not None
    assert metric.value == pytest.approx(47 / 48)
    assert (metric.base, metric.delta) == (None, None)


def test_a_report_is_never_compared_with_itself(golden: Golden) -> None:
    comparison = compared(head_report(), head_report())

    assert comparison.baseline.status == "missing"
    golden(comparison.baseline.reason)


def test_a_baseline_that_was_named_and_repeats_this_commit_is_none(golden: Golden) -> None:
    head = msgspec.structs.replace(head_report(), timings={"nlu": 1.0})
    again = msgspec.structs.replace(head, timings={"nlu": 2.0})

    named, found = compare(head, Present(again, "file")), compare(head, Present(again, "artifact"))

    assert (named.baseline.status, found.baseline.status) == ("missing", "present")
    golden(named.baseline.reason)


def test_two_equal_reports_of_different_commits_differ_in_nothing() -> None:
    head = head_report()
    base = msgspec.structs.replace(head, source=msgspec.structs.replace(head.source, commit=BASE_COMMIT))

    comparison = compared(head, base)

    assert comparison.judged
    assert all(metric.delta == 0 for metric in comparison.metrics)
    assert {metric.judgement for metric in comparison.metrics} <= {"same", "not judged"}
    assert not comparison.examples.worse
    assert not comparison.examples.edited
    assert not comparison.new_findings


def test_whether_anything_changed_is_known_from_the_comparison() -> None:
    head = report(examples=[example("a", "x"), example("b", "y")])
    same = msgspec.structs.replace(head, source=msgspec.structs.replace(head.source, commit=BASE_COMMIT))
    other = report(examples=[example("a", "x", "y"), example("b", "y")], commit=BASE_COMMIT)

    assert not compared(head, same).changed
    assert compared(head, other).changed
    assert compare(head, Missing("none")).changed


def test_provenance_is_kept_and_found_in_the_report_where_it_is_not_given() -> None:
    comparison = compare(head_report(), Present(base_report(), "artifact", passed_over="1 expired"))

    used = comparison.baseline
    assert (used.status, used.way, used.commit, used.run_id, used.passed_over) == (
        "present", "artifact", BASE_COMMIT, "77", "1 expired",
    )  # fmt: skip


def test_another_engine_mode_or_seed_is_said(golden: Golden) -> None:
    head = head_report()
    assert head.engine
    assert head.nlu
    other = msgspec.structs.replace(
        base_report(),
        seed=7,
        engine=msgspec.structs.replace(head.engine, name="rasa", version="3.6.21"),
        nlu=msgspec.structs.replace(head.nlu, mode="cross-validation", folds=5),
    )

    golden(*compared(head, other).warnings)


def test_changed_gate_settings_are_listed() -> None:
    base = report(settings=GateSettings(thresholds=("nlu.intents.f1 >= 0.9",)), commit=BASE_COMMIT)
    head = report(settings=GateSettings(fail_on=("none",), not_judged="fail"))

    changes = [(change.name, change.base, change.value) for change in compared(head, base).settings_changed]

    assert changes == [
        ("fail-on", "errors, test-failures", "none"),
        ("thresholds", "nlu.intents.f1 >= 0.9", "none"),
        ("not-judged", "auto", "fail"),
    ]


BOT = ("kind: rest", "replies: $.text", "request.body.message: {text}", "request.body.model: travel-1")


def with_bot(*lines: str) -> list[tuple[str, str, str]]:
    """What changed of the settings if these lines take the place of those with their names."""
    named = {line.partition(": ")[0]: line for line in (*BOT, *lines)}
    base = report(settings=GateSettings(bot=BOT), commit=BASE_COMMIT)
    head = report(settings=GateSettings(bot=tuple(sorted(named.values()))))
    return [(change.name, change.base, change.value) for change in compared(head, base).settings_changed]


def rules_of_bot(base: tuple[str, ...], head: tuple[str, ...]) -> list[str]:
    """What changed of ``bot:`` besides what is asked."""
    before = report(settings=GateSettings(bot=base), commit=BASE_COMMIT)
    found = compared(report(settings=GateSettings(bot=head)), before).settings_changed
    return [f"{change.name} {change.change}" for change in found if not change.is_asked]


def test_what_a_bot_is_asked_is_listed_leaf_by_leaf() -> None:
    found = with_bot("request.body.model: travel-2", "request.body.temperature: 0.2")
    assert found == [
        ("bot.request.body.model", "travel-1", "travel-2"),
        ("bot.request.body.temperature", "", "0.2"),
    ]
    prompt = "request.body.message: Be brief. {text}"
    assert with_bot(prompt) == [("bot.request.body.message", "{text}", "Be brief. {text}")]


def test_what_is_read_of_a_bot_and_whether_it_is_asked_at_all_are_rules() -> None:
    assert rules_of_bot(BOT, ("kind: rest", "replies: $.other", *BOT[2:])) == ["bot.replies altered"]
    assert rules_of_bot(BOT, (*BOT[:2], "request.body.message: hello", BOT[3])) == ["bot.request.body.message altered"]
    assert rules_of_bot(BOT, ()) == ["bot altered"]
    both = with_bot("request.body.model: travel-2", "replies: $.other")
    assert [name for name, *_ in both] == ["bot.replies", "bot.request.body.model"]


def test_no_change_of_a_bot_is_hidden_behind_a_long_one() -> None:
    prompt = "request.body.prompt: " + "Be kind. " * 50
    found = with_bot(prompt, "request.path: /other", "request.body.model: travel-2")
    assert [name.removeprefix("bot.request.") for name, *_ in found] == ["body.model", "body.prompt", "path"]


def test_a_list_and_what_was_removed_are_told_leaf_by_leaf() -> None:
    one = 'request.body.messages: [{"content": "Be brief.", "role": "system"}, {"content": "{text}"}]'
    other = 'request.body.messages: [{"content": "Be kind.", "role": "system"}, {"content": "{text}"}, []]'
    assert rules_of_bot((one,), (other,)) == []
    base = report(settings=GateSettings(bot=(one,)), commit=BASE_COMMIT)
    head = report(settings=GateSettings(bot=(other,)))
    found = [(change.name, change.base, change.change) for change in compared(head, base).settings_changed]
    assert found == [
        ("bot.request.body.messages[0].content", "Be brief.", "altered"),
        ("bot.request.body.messages[2]", "", "added"),
    ]
    moved = one.replace("Be brief.", "{text}").replace('{"content": "{text}"}]', '{"content": "Be brief."}]')
    assert len(rules_of_bot((one,), (moved,))) == 2, "where the user's words are put is a rule"
    assert rules_of_bot(BOT, (*BOT[:1], *BOT[2:])) == ["bot.replies removed"]


def test_the_document_reads_back_and_is_the_same_every_time() -> None:
    one, other = (encode(compared(head_report(), base_report())) for _ in range(2))

    assert one == other
    assert msgspec.json.decode(one, type=Comparison) == compared(head_report(), base_report())


# --- cases that changed sides ----------------------------------------------------------------------------------------


def test_sentences_are_matched_by_what_they_are_not_by_their_order() -> None:
    base = report(examples=[example("a", "x", line=1), example("b", "x", "y", line=2), example("c", "y", line=3)])
    head = report(examples=[example("c", "y", "x", line=1), example("b", "x", line=8), example("a", "x", line=9)])

    examples = compared(head, base).examples

    assert (names(examples.worse), names(examples.better), examples.edited) == (["c"], ["b"], ())
    assert (examples.worse[0].expected, examples.worse[0].actual, examples.worse[0].base_actual) == ("y", "x", "y")
    assert (examples.shared, examples.added, examples.removed) == (3, 0, 0)


def test_equal_sentences_are_paired_one_by_one() -> None:
    base = report(examples=[example("a", "x", line=1), example("a", "x", line=2), example("b", "y", line=3)])
    head = report(examples=[example("a", "x", line=1), example("b", "y", line=2)])

    examples = compared(head, base).examples

    assert (examples.shared, examples.removed) == (2, 1)


def test_a_sentence_with_another_expectation_is_edited_not_gone_and_new() -> None:
    base = report(examples=[example("a", "x", line=1), example("b", "y", line=2)])
    head = report(examples=[example("a", "y", "x", line=1), example("b", "y", line=2)])

    examples = compared(head, base).examples

    assert (examples.worse, examples.added, examples.removed) == ((), 0, 0)
    (edited,) = examples.edited
    assert (edited.name, edited.edits, edited.passed, edited.base_passed) == ("a", ("edited",), False, True)
    assert names(examples.newly_failing) == ["a"]


def test_a_reworded_sentence_is_edited() -> None:
    base = report(examples=[example("I want a large pizza", "order", line=4), example("hello", "greet", line=1)])
    head = report(examples=[example("I want a very large pizza", "order", line=4), example("hello", "greet", line=1)])

    examples = compared(head, base).examples

    assert [one.edits for one in examples.edited] == [("edited",)]
    assert (examples.added, examples.removed) == (0, 0)


def test_a_sentence_that_moved_to_another_file_is_the_same_one() -> None:
    base = report(examples=[example("a", "x", path="tests/one.yml"), example("b", "y")])
    head = report(examples=[example("a", "x", "y", path="tests/two.yml"), example("b", "y")])

    examples = compared(head, base).examples

    assert (names(examples.worse), examples.worse[0].edits, examples.moved) == (["a"], ("moved",), 1)
    assert examples.edited == ()
    assert names(examples.newly_failing) == ["a"]


def test_the_surest_errors_come_first() -> None:
    base = report(examples=[example(text, "x", line=i) for i, text in enumerate("abc", 1)] + [example("d", "y")])
    head = report(
        examples=[
            example(t, "x", "y", line=i, confidence=c)
            for i, (t, c) in enumerate([("a", 0.3), ("b", 0.9), ("c", 0.5)], 1)
        ]
        + [example("d", "y")]
    )

    assert names(compared(head, base).examples.worse) == ["b", "c", "a"]


@pytest.mark.parametrize("kind", ["stories", "e2e"])
def test_stories_and_cases_are_known_by_name_then_by_their_steps(kind: str) -> None:
    def side(*made: Any) -> Report:
        return report(stories=made) if kind == "stories" else report(cases=made)

    make: Any = story if kind == "stories" else case
    base = side(
        make("same", "a", "b", line=1), make("worse", "a", line=10), make("better", "a!b", line=20),
        make("longer", "a", line=30), make("old name", "q", "r", line=40), make("gone", "z", line=50),
    )  # fmt: skip
    head = side(
        make("new and failing", "n!m", line=1), make("same", "a", "b", line=11), make("worse", "a!c", line=12),
        make("better", "a", line=22), make("longer", "a", "x!y", line=32), make("new name", "q", "r", line=42),
    )  # fmt: skip

    cases = getattr(compared(head, base), kind)

    assert names(cases.worse) == ["worse"]
    assert names(cases.better) == ["better"]
    assert [(one.name, one.edits) for one in cases.edited] == [("longer", ("edited",)), ("new name", ("renamed",))]
    assert names(cases.added_failing) == ["new and failing"]
    assert names(cases.newly_failing) == ["worse", "longer", "new and failing"]
    assert (cases.shared, cases.added, cases.removed) == (5, 1, 1)


def test_batch_cases_are_known_by_suite_and_text() -> None:
    base = report(suites=[suite("one", ("hi", True), ("bye", True)), suite("two", ("hi", True))])
    head = report(suites=[suite("two", ("hi", False)), suite("one", ("bye", True), ("hi", True))])

    batch = compared(head, base).batch

    assert [(one.name, one.expected) for one in batch.worse] == [("hi", "faq")]
    assert batch.shared == 3


def test_a_suite_that_is_renamed_is_the_same_suite() -> None:
    def moved(path: str, name: str, *cases: tuple[str, bool]) -> BatchSuite:
        made = suite(name, *cases)
        at = tuple(msgspec.structs.replace(one, location=Location(path, one.location.line, 1)) for one in made.cases)
        return msgspec.structs.replace(made, path=path, cases=at)

    base = report(
        suites=[moved("a.csv", "banking", ("hi", True), ("bye", True)), moved("b.csv", "other", ("hi", False))]
    )
    head = report(
        suites=[moved("b.csv", "other", ("hi", False)), moved("c.csv", "finance", ("hi", True), ("bye", False))]
    )

    comparison = compared(head, base)

    assert names(comparison.batch.worse) == ["bye"]
    assert (comparison.batch.edited, comparison.batch.shared) == ((), 3)
    figures = batch_figures.tested_batch(base, head)
    assert figures["batch.intent_success"][:2] == (2 / 3, 1 / 3)
    assert figures["batch[finance].intent_success"][:2] == (1.0, 0.5)
    assert figures["batch[other].intent_success"][:2] == (0.0, 0.0)


def test_findings_are_new_gone_or_only_moved() -> None:
    base = report(findings=[finding("a", "one", line=3), finding("b", "two"), finding("c", "three", path="x.yml")])
    head = report(findings=[finding("a", "one", line=9), finding("c", "three", path="y.yml"), finding("d", "new")])

    comparison = compared(head, base)

    assert [one.code for one in comparison.new_findings] == ["d"]
    assert [one.code for one in comparison.gone_findings] == ["b"]


def test_entities_that_are_lost_make_the_sentence_newly_wrong() -> None:
    base = report(
        examples=[example("to Rome", "travel", entities=[(3, 7, "city")]), example("x", "y")], entity_scores=1.0
    )
    head = report(
        examples=[example("to Rome", "travel", entities=[(3, 7, "city")], found=[(0, 2, "city")]), example("x", "y")],
        entity_scores=0.0,
    )

    (worse,) = compared(head, base).entities.worse

    assert (worse.name, worse.expected, worse.actual) == ("to Rome", "Rome (city)", "to (city)")


def test_new_and_removed_intents_have_their_places() -> None:
    base = report(covered=coverage("intents", greet=("a", True), bye=("b", True)))
    head = report(covered=coverage("intents", greet=("a", True), order=("c", False)))

    intents = compared(head, base).intents

    assert [(one.name, str(one.location)) for one in intents.added] == [("order", "domain.yml:3:3")]
    assert [(one.name, str(one.location)) for one in intents.removed] == [("bye", "domain.yml:3:3")]


# --- metrics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), "0.5", None, True])
def test_what_is_no_figure_is_no_metric(value: object) -> None:
    made = report(examples=[example("a", "x"), example("b", "y")])
    assert made.nlu
    assert made.nlu.intents
    made.nlu.intents.report["x"]["f1-score"] = value

    assert compare(made, Missing("none")).metric("nlu.intents[x].f1") is None


@pytest.mark.slow
def test_ten_thousand_sentences_are_compared_quickly_even_if_all_are_new(timing: Timing) -> None:
    def side(first: int, commit: str) -> Report:
        return report(
            examples=[example(f"show me number {i}", f"i{i % 50}", line=i + 1) for i in range(first, first + 10_000)],
            commit=commit,
        )

    with timing.at_most(8):
        examples = compared(side(9_000, "2" * 40), side(0, BASE_COMMIT)).examples

        assert (examples.shared, examples.added, examples.removed) == (1000, 9000, 9000)


def test_every_metric_of_either_side_is_there() -> None:
    base = report(examples=[example("a", "x"), example("b", "y")], stories=[story("s", "a")])
    head = report(examples=[example("a", "x"), example("c", "z")])

    metrics = {metric.name: metric for metric in compared(head, base).metrics}

    assert (metrics["core.passed"].base, metrics["core.passed"].value, metrics["core.passed"].delta) == (
        1.0,
        None,
        None,
    )
    assert metrics["nlu.intents[z].f1"].base is None
    assert metrics["nlu.intents[x].f1"].delta == 0


def test_stories_are_counted_not_sampled() -> None:
    base = report(stories=[story("s", "a"), story("t", "a")])
    head = report(stories=[story("s", "a"), story("t", "a!b")])

    metric = compared(head, base).metric("core.conversation_accuracy")

    assert metric is not None
    assert (metric.delta, metric.judgement) == (-0.5, "worse")
    assert metric.significance is not None
    assert metric.significance.method == "counted"


def test_where_the_examples_differ_the_shared_ones_are_compared_as_well() -> None:
    base = report(examples=[example(f"s{i}", "x" if i % 2 else "y") for i in range(10)])
    head = report(
        examples=[example(f"s{i}", "x" if i % 2 else "y") for i in range(10)]
        + [example(f"other {'abc' * i}", "x", "y", path="tests/new.yml") for i in range(10)]
    )

    metric = compared(head, base).metric("nlu.intents.accuracy")

    assert metric is not None
    assert (metric.base, metric.value) == (1.0, 0.5)
    assert metric.shared is not None
    assert (metric.shared.base, metric.shared.value) == (1.0, 1.0)
    assert metric.judgement == "same"


def test_entity_scores_have_an_interval() -> None:
    def side(lost: int) -> Report:
        examples = [
            example(f"to Rome {i}", "travel", entities=[(3, 7, "city")], found=[] if i < lost else None, line=i + 1)
            for i in range(60)
        ]
        return report(examples=[*examples, example("x", "y")], entity_scores=1 - lost / 60)

    metric = compared(side(30), side(0)).metric("nlu.entities.DIETClassifier.spans.f1")

    assert metric is not None
    assert (metric.judgement, metric.significance and metric.significance.method) == ("worse", "bootstrap")


def test_responses_are_tested_by_mcnemar() -> None:
    scores = ResponseScores(report={}, accuracy=1.0, precision=1.0, recall=1.0, f1=1.0)

    def side(wrong: int) -> Report:
        examples = [example(f"q{i}", "faq", line=i + 1) for i in range(40)]
        made = report(examples=[*examples, example("x", "y")])
        assert made.nlu
        predictions = tuple(
            msgspec.structs.replace(
                one,
                expected=msgspec.structs.replace(one.expected, response="faq/a"),
                predicted=msgspec.structs.replace(one.predicted, response="faq/b" if i < wrong else "faq/a"),
            )
            for i, one in enumerate(made.nlu.predictions)
        )
        return msgspec.structs.replace(
            made,
            nlu=msgspec.structs.replace(made.nlu, predictions=predictions, responses={"faq": scores}),
        )

    comparison = compared(side(20), side(0))

    metric = comparison.metric("nlu.responses.faq.accuracy")
    assert metric is not None
    assert metric.significance is not None
    assert (metric.significance.method, metric.significance.changed) == ("mcnemar", 20)
    assert len(comparison.responses.worse) == 20


# --- why -------------------------------------------------------------------------------------------------------------


def test_two_intents_that_collide_are_explained_by_the_new_sentences_near_the_wrong_ones() -> None:
    (collision,) = compared(head_report(), base_report()).collisions

    assert collision.intents == ("check_balance", "transfer_money")
    assert collision.newly_wrong == len(collision.like) == 9
    assert [(change.change, change.text) for change in collision.sentences] == [
        ("added", "how much can I move to my savings"),
        ("added", "how much is left for the transfer"),
    ]


def test_new_sentences_that_are_wrong_themselves_are_explained_by_what_they_look_like() -> None:
    """In cross-validation every training sentence is an example."""
    old = [("when is my visit", "check"), ("what time is my visit", "check"), ("pay my bill", "bill")]
    new = [*old, ("when is my visit to pay", "bill"), ("what time is it to pay", "bill")]
    base = report(examples=[example(*one, line=i) for i, one in enumerate(old, 3)], sentences=training(*old))
    wrong = [example(text, intent, "check", line=i, near=[(i - 6, 0.8)]) for i, (text, intent) in enumerate(new[3:], 6)]
    head = report(examples=[*(example(*one, line=i) for i, one in enumerate(old, 3)), *wrong], sentences=training(*new))

    (collision,) = compared(head, base).collisions

    assert (collision.intents, collision.newly_wrong) == (("bill", "check"), 2)
    assert [(one.change, one.text) for one in collision.sentences] == [("added", text) for text, _ in new[3:]]
    assert [(one.text, one.intent) for one in collision.like] == old[:2]


def test_new_sentences_that_are_wrong_without_a_training_change_begin_no_collision() -> None:
    sentences = training(("a b", "y"), ("c", "x"))
    base = report(examples=[example("a", "x")], sentences=sentences)
    new = [example(f"entirely other {i}", "x", "y", near=[(0, 0.9)]) for i in range(5)]
    head = report(examples=[example("a", "x"), *new], sentences=sentences)

    comparison = compared(head, base)

    assert len(comparison.examples.added_failing) == 5
    assert comparison.collisions == ()


@pytest.mark.parametrize(("no_tests", "gone"), [(True, ["a", "b"]), (False, [])])
def test_stories_that_could_not_be_run_are_not_gone(*, no_tests: bool, gone: list[str]) -> None:
    base = report(stories=[story("a", "x"), story("b", "y")], commit=BASE_COMMIT)
    head = report(skipped=[Skipped(evaluation="core", reason="why", no_tests=no_tests)])

    assert names(compared(head, base).stories.gone) == gone


def test_test_sentences_that_were_relabelled_begin_no_collision() -> None:
    base = report(examples=[example(f"s{i}", "x") for i in range(20)])
    head = report(examples=[example(f"s{i}", "y" if i < 5 else "x", "x") for i in range(20)], commit="b" * 40)

    assert compared(head, base).collisions == ()


def test_equal_sentences_in_another_order_have_not_changed_sides() -> None:
    twice = [example("a", "x", line=1), example("a", "x", "y", line=2)]
    head = report(examples=twice, commit="b" * 40)

    examples = compared(head, report(examples=twice[::-1])).examples

    assert (examples.worse, examples.better) == ((), ())


@pytest.mark.parametrize("text", ['/travel{"city": "Rome"}', ' /travel{"city": "Rome"}'])
def test_a_message_that_names_its_intent_has_no_words_to_score_on_either_side(text: str) -> None:
    place = text.index("Rome")
    both = [
        example("to Rome", "travel", entities=[(3, 7, "city")]),
        example(text, "travel", entities=[(place, place + 4, "city")], found=[]),
    ]
    base = report(examples=both, entity_scores=1.0)
    head = report(examples=[*both, example("to Oslo", "travel", entities=[(3, 7, "city")])], entity_scores=1.0)

    metric = compared(head, base).metric("nlu.entities.DIETClassifier.f1")

    assert metric is not None
    assert metric.shared is not None
    assert (metric.shared.base, metric.shared.value) == (1.0, 1.0)


def test_sentences_whose_entities_were_annotated_anew_are_other_examples_for_entities() -> None:
    def side(kind: str) -> Report:
        return report(
            examples=[
                example(f"to Rome {i}", "travel", entities=[(3, 7, kind if i < 20 else "city")], found=[(3, 7, "city")])
                for i in range(60)
            ],
            entity_scores=1.0 if kind == "city" else 2 / 3,
            commit="b" * 40 if kind == "town" else BASE_COMMIT,
        )

    comparison = compared(side("town"), side("city"))

    entities, intents = comparison.metric("nlu.entities.DIETClassifier.f1"), comparison.metric("nlu.intents.f1")
    assert entities is not None
    assert intents is not None
    assert entities.shared is not None
    assert (entities.shared.base, entities.shared.value, entities.judgement) == (1.0, 1.0, "same")
    assert intents.shared is None


def test_one_sentence_alone_is_no_collision() -> None:
    base = report(examples=[example("a", "x"), example("b", "y")])
    head = report(examples=[example("a", "x", "y"), example("b", "y")])

    assert compared(head, base).collisions == ()


def test_a_sentence_that_left_its_intent_explains_what_it_held() -> None:
    old = training(("book a table for two", "book"), ("hello", "greet"))
    new = training(("hello", "greet"))
    base = report(examples=[example("book a table for four", "book"), example("hi", "greet")], sentences=old)
    head = report(examples=[example("book a table for four", "book", "greet"), example("hi", "greet")], sentences=new)

    (worse,) = compared(head, base).examples.worse

    assert [(change.change, change.text) for change in worse.because] == [("removed", "book a table for two")]


def test_a_relabelled_sentence_explains_what_it_pulled() -> None:
    old = training(("reserve a room", "book"), ("hello", "greet"))
    new = training(("reserve a room", "greet"), ("hello", "greet"))
    base = report(examples=[example("reserve rooms", "book"), example("hi", "greet")], sentences=old)
    head = report(
        examples=[example("reserve rooms", "book", "greet", near=[(0, 0.8)]), example("hi", "greet")], sentences=new
    )

    (worse,) = compared(head, base).examples.worse

    assert [(c.change, c.intent, c.was, c.similarity) for c in worse.because] == [("relabelled", "greet", "book", 0.8)]


def test_near_sentences_that_did_not_change_explain_nothing() -> None:
    sentences = training(("a b", "y"), ("c", "x"))
    base = report(examples=[example("a", "x"), example("b", "y")], sentences=sentences)
    head = report(examples=[example("a", "x", "y", near=[(0, 0.9)]), example("b", "y")], sentences=sentences)

    (worse,) = compared(head, base).examples.worse

    assert worse.because == ()


def test_neighbours_that_point_nowhere_are_passed_over() -> None:
    base = report(examples=[example("a", "x"), example("b", "y")], sentences=training(("c", "x")))
    head = report(
        examples=[example("a", "x", "y", near=[(99, 0.9), (-5, 0.9)]), example("b", "y")],
        sentences=training(("d", "x")),
    )

    assert compared(head, base).examples.worse[0].because == ()


@pytest.mark.parametrize("kind", ["rules", "stories"])
def test_a_rule_or_story_under_another_name_is_neither_new_nor_gone(kind: str) -> None:
    def side(*items: tuple[str, str]) -> Report:
        listed = tuple(
            CoverageItem(
                name=name, location=Location("r.yml", line), digest=f"{name} {content}", content=content, covered=False
            )
            for line, (name, content) in enumerate(items, 1)
        )
        return msgspec.structs.replace(report(), coverage={kind: KindCoverage(items=listed, share=0.0)})

    base = side(("say hello", "1"), ("say bye", "2"), ("ask", "3"))
    head = side(("greet", "1"), ("ask", "3"), ("part", "2"), ("part again", "2"), ("also ask", "3"))

    comparison = compared(head, base)

    assert [(item.name, item.change) for item in comparison.changed_items] == [
        ("part again", "added"),
        ("also ask", "added"),
    ]
    assert comparison.removed_items == ()


def test_what_changed_and_no_test_reaches_is_listed_and_counted() -> None:
    comparison = compared(head_report(), base_report())

    changed = [(item.kind, item.name, item.change, item.covered) for item in comparison.changed_items]
    assert changed == [
        ("intents", "transfer_money", "changed", True),
        ("intents", "ask_fees", "added", False),
        ("responses", "utter_fees", "changed", False),
    ]
    metric = comparison.metric("coverage.changed")
    assert metric is not None
    assert metric.value == pytest.approx(1 / 3)


def test_training_sentences_under_another_intent_are_told_without_any_test_of_them() -> None:
    old = (("a large tonno please", "inform"), ("now", "b"))
    new = (old[0], ("now", "c"), ("A large tonno, please!", "order"), ("quite else", "order"))
    before, after = (report(examples=[example("hi", "greet")], sentences=training(*pairs)) for pairs in (old, new))

    told = compared(after, before).relabelled

    assert [(one.change, one.text, one.intent, one.was) for one in told] == [
        ("relabelled", "now", "c", "b"),
        ("copied", "A large tonno, please!", "order", "inform"),
    ]
