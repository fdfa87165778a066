"""What a change took away leads the verdict: sentences, annotations, rules, understanding; flips do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import pytest
from golden_texts import Golden
from msgspec.structs import replace
from report_builder import BASE_COMMIT, coverage, example, finding, report, story

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.messages.finding import Location
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import (
    ConfiguredComponent,
    CoverageItem,
    ExpectedParse,
    GateSettings,
    KindCoverage,
    Misunderstanding,
    Nlu,
    Report,
    StoryParse,
    StoryStep,
    TrainingSentence,
    Understood,
    UnjudgedIntent,
    WordList,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.model import Comparison
    from turncheck.render.wording.verdict import Verdict

NEW_FAILURES = GateSettings(fail_on=("new-errors", "new-failures"))


def sentence(text: str, intent: str, *entities: str, line: int = 1) -> TrainingSentence:
    return TrainingSentence(text=text, intent=intent, location=Location("data/nlu.yml", line, 7), entities=entities)


def many(intent: str, number: int, *entities: str) -> list[TrainingSentence]:
    return [sentence(f"{intent} {n}", intent, *entities, line=n + 1) for n in range(number)]


def judged(head: Report, base: Report) -> tuple[Comparison, Verdict, str]:
    head, base = (replace(one, settings=NEW_FAILURES) for one in (head, base))
    comparison = compare(head, Present(base, "git"))
    verdict = judge(head, comparison, head.settings)
    return comparison, verdict, str(render_comment(head, comparison, verdict, Links()).content)


def visible(text: str) -> str:
    return "".join(part.partition("</details>")[2] or part for part in text.split("<details>"))


def nlu_of(one: Report) -> Nlu:
    assert one.nlu is not None
    return one.nlu


def test_an_intent_that_is_no_longer_judged_leads_the_verdict_which_calls_nothing_a_gain(golden: Golden) -> None:
    kept = [example(f"b {n}", "b") for n in range(20)]
    wrong, right = ([example(f"c {n}", "c", got) for n in range(12)] for got in ("a", None))
    base = report(
        examples=[*kept, *wrong, *(example(f"a {n}", "a") for n in range(10))],
        sentences=[*many("a", 110), *many("b", 20), *many("c", 12)],
        commit=BASE_COMMIT,
        stories=[story("s")],
    )
    head = report(
        examples=[*kept, *right],
        sentences=[*many("a", 2), *many("b", 20), *many("c", 12)],
        stories=[story("s")],
    )
    head = replace(head, nlu=replace(nlu_of(head), unjudged=(UnjudgedIntent(intent="a", examples=2),)))

    comparison, verdict, text = judged(head, base)

    assert [(one.intent, one.base, one.now, one.unjudged) for one in comparison.cut_intents] == [("a", 110, 2, True)]
    golden(verdict.summary)
    golden(verdict.reservation)
    assert "gain" not in text
    golden(visible(text), only="`a`")


def test_a_few_sentences_less_are_no_news() -> None:
    def side(number: int, commit: str = "2" * 40) -> Report:
        return report(examples=[example("a", "a")], sentences=many("a", number), stories=[story("s")], commit=commit)

    assert judged(side(9), side(13, BASE_COMMIT))[0].cut_intents == ()
    assert len(judged(side(3), side(13, BASE_COMMIT))[0].cut_intents) == 1


def test_a_key_of_a_retrieval_intent_that_lost_its_sentences_is_named_though_the_intent_has_others(
    golden: Golden,
) -> None:
    def side(kept: int, commit: str = "2" * 40, *, key: str = "chitchat/bye") -> Report:
        return report(
            examples=[example("a", "a")],
            sentences=[*many("chitchat/mood", 30), *many(key, kept)],
            stories=[story("s"), story("t", "utter_bye!action_listen")],
            commit=commit,
        )

    comparison, verdict, _ = judged(side(0), side(10, BASE_COMMIT))
    assert [(one.intent, one.base, one.now) for one in comparison.cut_intents] == [("chitchat/bye", 10, 0)]
    assert verdict.summary.startswith("intent 'chitchat/bye' cut from 10 to 0 sentences")
    golden(verdict.reservation)
    whole = judged(replace(side(0), nlu=replace(nlu_of(side(0)), training=tuple(many("a", 3)))), side(9, BASE_COMMIT))
    assert [one.intent for one in whole[0].cut_intents] == ["chitchat"], "not each of its keys"


def test_a_key_that_has_another_name_was_not_cut() -> None:
    def side(key: str, commit: str = "2" * 40) -> Report:
        item = CoverageItem(
            name=f"utter_chitchat/{key}", location=Location("domain.yml", 3, 3), digest=key, covered=True, content="Bye"
        )
        return report(
            examples=[example("a", "a")],
            sentences=[*many("chitchat/mood", 30), *many(f"chitchat/{key}", 9)],
            covered={"responses": KindCoverage(items=(item,), share=1.0)},
            commit=commit,
        )

    assert judged(side("goodbye"), side("bye", BASE_COMMIT))[0].cut_intents == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("utter_a", "utter_greeting"),
        ("utter_a", "utter_chitchat/a"),
        ("utter_a/b", "utter_a"),
    ],
)
def test_a_response_named_like_an_intent_takes_nothing_of_it_along(old: str, new: str) -> None:
    def side(response: str, commit: str = "2" * 40) -> Report:
        item = CoverageItem(
            name=response, location=Location("domain.yml", 3, 3), digest="x", covered=True, content="Hi"
        )
        return report(
            examples=[example("a", "a")],
            sentences=[*many("a", 9), *many("a/b", 9)],
            covered={"responses": KindCoverage(items=(item,), share=1.0)},
            commit=commit,
        )

    comparison, verdict, _ = judged(side(new), side(old, BASE_COMMIT))
    assert [(one.old, one.new) for one in comparison.renamed] == [(old, new)]
    assert comparison.cut_intents == ()
    assert verdict.reservation == ""


@pytest.mark.parametrize(("kept", "reservation"), [(20, ""), (19, "most of an intent is gone")])
def test_an_intent_that_lost_most_of_its_sentences_is_a_reservation(kept: int, reservation: str) -> None:
    def side(number: int, commit: str = "2" * 40) -> Report:
        return report(examples=[example("a", "a")], sentences=many("a", number), stories=[story("s")], commit=commit)

    assert judged(side(kept), side(39, BASE_COMMIT))[1].reservation == reservation


def test_annotations_that_were_removed_are_counted_and_not_reported_as_errors_of_the_model(golden: Golden) -> None:
    def side(spans: Iterable[tuple[int, int, str]], *entities: str, commit: str) -> Report:
        examples = [example(f"to Rome {n}", "go", entities=[*spans], found=[(3, 7, "city")]) for n in range(12)]
        sentences = [sentence(f"to Rome {n}", "go", *entities) for n in range(12)]
        return report(examples=examples, sentences=sentences, entity_scores=1.0, commit=commit, stories=[story("s")])

    comparison, verdict, text = judged(side((), commit="2" * 40), side([(3, 7, "city")], "city", commit=BASE_COMMIT))

    assert [(one.intent, one.annotations, one.entities) for one in comparison.stripped] == [("go", 12, ("city",))]
    assert comparison.entities.newly_failing == ()
    assert verdict.summary.startswith("12 annotations removed from intent 'go'")
    golden(verdict.reservation)
    assert "#### Annotations removed (12)" in visible(text)
    golden(verdict.summary)


def test_annotations_that_were_given_another_entity_are_not_called_removed(golden: Golden) -> None:
    def side(name: str, commit: str, left: int = 0) -> Report:
        sentences = [sentence(f"to Rome {n}", "go", name) for n in range(12)]
        sentences += [sentence(f"at {n}", "stay", *["city"] * (n >= left)) for n in range(12)]
        return report(examples=[example("a", "go")], sentences=sentences, stories=[story("s")], commit=commit)

    comparison, verdict, text = judged(side("town", "2" * 40), side("city", BASE_COMMIT))
    assert [(one.intent, one.annotations, one.changed) for one in comparison.stripped] == [("go", 0, 12)]
    assert (comparison.stripped[0].entities, comparison.stripped[0].new_entities) == (("city",), ("town",))
    golden(verdict.summary)
    golden(verdict.reservation)
    golden(visible(text), only="Annotations")
    golden(text, only="`go`")
    assert "annotations removed" not in text

    _, verdict, text = judged(side("town", "2" * 40, left=4), side("city", BASE_COMMIT))
    assert verdict.summary.startswith("4 annotations removed from intent 'stay'; ")
    golden(verdict.summary)
    golden(verdict.reservation)
    golden(visible(text), only="Annotations")


def test_a_sentence_may_lose_one_annotation_and_have_another_entity_for_another() -> None:
    def side(*entities: str, commit: str) -> Report:
        sentences = [sentence("from Rome to Paris", "go", *entities)]
        return report(examples=[example("a", "go")], sentences=sentences, stories=[story("s")], commit=commit)

    base = side("city", "city", "date", commit=BASE_COMMIT)
    (one,) = judged(side("city", "town", commit="2" * 40), base)[0].stripped
    assert (one.annotations, one.changed, one.base, one.new_entities) == (1, 1, 3, ("town",))


def test_flips_within_noise_are_folded_titled_so_and_raise_nothing(golden: Golden) -> None:
    def side(wrong: set[int], commit: str) -> Report:
        examples = [example(f"s {n}", "a", "b" if n in wrong else None) for n in range(30)]
        return report(examples=[*examples, example("t", "b")], commit=commit, stories=[story("s")])

    _, verdict, text = judged(side({1, 2}, "2" * 40), side({3}, BASE_COMMIT))

    assert verdict.reservation == ""
    golden(verdict.summary)
    golden(text, only="2)</summary>")
    assert "s 1" not in visible(text)


def test_a_real_drop_is_listed_in_plain_sight(golden: Golden) -> None:
    def side(wrong: range, commit: str) -> Report:
        examples = [example(f"s {n}", "a", "b" if n in wrong else None) for n in range(30)]
        return report(examples=[*examples, example("t", "b")], commit=commit, stories=[story("s")])

    golden(judged(side(range(12), "2" * 40), side(range(0), BASE_COMMIT))[2], only="misclassified")


def rules(*names: str, line: int = 7) -> dict[str, KindCoverage]:
    """Rules that say goodbye; of several with one name each has other content."""
    items = tuple(
        CoverageItem(
            name=name.partition("#")[0],
            location=Location("data/rules.yml", line + number, 3),
            digest=name,
            covered=True,
            names=("bye", "utter_bye"),
        )
        for number, name in enumerate(names)
    )
    return {"rules": KindCoverage(items=items, share=1.0)}


def test_a_removed_rule_is_in_the_line_even_if_no_test_fails() -> None:
    base, head = (report(stories=[story("s")], covered=rules(*names)) for names in (("a", "b", "c"), ("b",)))

    _, verdict, text = judged(head, replace(base, source=replace(base.source, commit=BASE_COMMIT)))

    assert verdict.summary.startswith("rule 'a' and 1 more part removed; 1 of 1 story passed")
    assert "rule `c`" in visible(text)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("", "a"), "rule 'a' and 1 more part removed"),
        (("",), "rule without a name removed"),
        (("", "#2"), "rule without a name and 1 more part removed"),
    ],
)
def test_a_removed_rule_without_a_name_gives_way_to_one_with_a_name(names: tuple[str, ...], said: str) -> None:
    base, head = (report(stories=[story("s")], covered=rules(*all_of)) for all_of in ((*names, "b"), ("b",)))

    _, verdict, _ = judged(head, replace(base, source=replace(base.source, commit=BASE_COMMIT)))

    assert verdict.summary.startswith(said)


@pytest.mark.parametrize("kept", ["bye#1", "bye#2"])
def test_of_two_rules_with_one_name_the_one_that_was_removed_is_the_cause(kept: str) -> None:
    before = ("bye#1", "bye#2")
    base = report(stories=[story("s", "utter_bye")], covered=rules(*before), commit=BASE_COMMIT)
    head = report(stories=[story("s", "utter_bye!action_listen")], covered=rules(kept))

    comparison, verdict, _ = judged(head, base)

    (part,) = comparison.stories.worse[0].causes
    line = 8 if kept == "bye#1" else 7
    assert (part.name, part.change) == ("bye", "removed")
    assert part.place is not None
    assert part.place.line == line
    assert f"rule 'bye' was removed (was at data/rules.yml:{line}:3)" in verdict.summary


@pytest.mark.parametrize(
    ("explained", "guessed"), [("ab", ""), ("a", ": possibly because rule"), ("", ": possibly because rule")]
)
def test_nothing_is_guessed_of_tests_that_an_error_explains(explained: str, guessed: str) -> None:
    passing = [story(name, f"utter_{name}", "utter_bye") for name in "ab"]
    failing = [
        story(name, f"utter_{name}!action_listen" if name in explained else f"utter_{name}", "utter_bye!action_listen")
        for name in "ab"
    ]
    used = [
        finding(
            "test-action-undefined",
            f"utter_{name} is not defined",
            path="tests/test_stories.yml",
            line=line,
            response=f"utter_{name}",
        )
        for line, name in enumerate(explained)
    ]
    responses = {
        "responses": KindCoverage(
            items=tuple(
                CoverageItem(name=f"utter_{name}", location=Location("domain.yml", 2, 3), digest="d", covered=True)
                for name in "ab"
            ),
            share=1.0,
        )
    }
    kept = {
        "responses": KindCoverage(
            items=tuple(item for item in responses["responses"].items if item.name[-1] not in explained), share=1.0
        )
    }
    base = report(stories=passing, covered={**rules("say goodbye"), **responses}, commit=BASE_COMMIT)

    _, verdict, _ = judged(report(stories=failing, findings=used, covered={**rules(), **kept}), base)

    assert "2 stories newly fail" in verdict.summary
    assert ("possibly because" in verdict.summary) == bool(guessed), verdict.summary


def test_a_rule_that_explains_only_some_of_the_newly_failing_tests_is_in_the_line_as_well() -> None:
    passing = [story(name, "utter_bye") for name in "abc"]
    failing = [*(story(name, "utter_bye!action_listen") for name in "ab"), story("c", "utter_bye!utter_other")]
    wrong = replace(failing[2], steps=(replace(failing[2].steps[0], expected="utter_thanks"),))
    base = report(stories=[*passing[:2], story("c", "utter_thanks")], covered=rules("say goodbye"), commit=BASE_COMMIT)

    _, verdict, _ = judged(report(stories=[*failing[:2], wrong], covered=rules()), base)

    assert verdict.summary.startswith(
        "3 stories newly fail: possibly because rule 'say goodbye' was removed"
        " (was at data/rules.yml:7:3), for 2 of them"
    )


def test_a_story_that_fails_since_a_rule_was_removed_names_the_rule_and_its_line(golden: Golden) -> None:
    base = report(stories=[story("s", "utter_bye")], covered=rules("say goodbye"), commit=BASE_COMMIT)
    head = report(stories=[story("s", "utter_bye!action_listen")], covered=rules())

    comparison, verdict, text = judged(head, base)

    assert [(one.name, one.change) for one in comparison.stories.worse[0].causes] == [("say goodbye", "removed")]
    golden(verdict.summary)
    golden(visible(text), only="`say")
    golden(text, only="Removed")


@pytest.mark.parametrize("tests", ["s", "st"])
def test_of_many_rules_behind_a_failure_some_are_named_so_that_the_tests_are_in_sight(
    tests: str, golden: Golden
) -> None:
    names = [f"rule {number}" for number in range(9)]
    base = report(stories=[story(one, "utter_bye") for one in tests], covered=rules(*names), commit=BASE_COMMIT)

    _, _, text = judged(report(stories=[story(one, "utter_bye!action_listen") for one in tests], covered=rules()), base)

    seen = visible(text)
    golden(seen, only="possibly")
    golden(seen, only="more")
    assert all(f"story `{one}`" in seen for one in tests)
    golden(seen, only="Removed")


def test_a_raised_threshold_names_what_is_no_longer_understood(golden: Golden) -> None:
    def side(threshold: float, *, fallback: bool, commit: str) -> Report:
        made = report(examples=[example(f"s {n}", "a") for n in range(9)], commit=commit, stories=[story("s")])
        nlu = nlu_of(made)
        predictions = tuple(
            replace(one, predicted=replace(one.predicted, fallback=fallback and n < 4))
            for n, one in enumerate(nlu.predictions)
        )
        understood = Understood(right=9, wrong=0, not_understood=0, threshold=threshold)
        return replace(made, nlu=replace(nlu, predictions=predictions, understood=understood))

    _, verdict, text = judged(side(0.95, fallback=True, commit="2" * 40), side(0.3, fallback=False, commit=BASE_COMMIT))

    golden(verdict.summary)
    golden(visible(text), only="`a`")


def understood(fallbacks: int, *, threshold: float = 0.7, commit: str = "2" * 40, of: int = 500) -> Report:
    """A report on sentences the first of which end in a fallback."""
    made = report(examples=[example(f"s {n}", "a") for n in range(of)], commit=commit, stories=[story("s")])
    nlu = nlu_of(made)
    predictions = tuple(
        replace(one, predicted=replace(one.predicted, fallback=n < fallbacks)) for n, one in enumerate(nlu.predictions)
    )
    figures = Understood(right=of - fallbacks, wrong=0, not_understood=fallbacks, threshold=threshold)
    return replace(made, nlu=replace(nlu, predictions=predictions, understood=figures))


@pytest.mark.parametrize(("fallbacks", "reservation"), [(9, ""), (60, "less is understood")])
def test_a_few_sentences_that_cross_an_unchanged_threshold_are_noise(fallbacks: int, reservation: str) -> None:
    comparison, verdict, text = judged(understood(fallbacks), understood(0, commit=BASE_COMMIT))

    figure = comparison.metric("nlu.understood.not_understood")
    assert figure is not None
    assert figure.judgement == ("worse" if reservation else "noise")
    assert (comparison.fallback is not None) == bool(reservation)
    assert verdict.reservation == reservation
    assert (f"understood ({fallbacks})" in visible(text)) == bool(reservation)
    assert "not_understood" not in visible(text)


def test_an_annotation_is_not_removed_if_copies_of_a_sentence_change_places() -> None:
    one, other = sentence("in sales", "enter", "job", line=1), sentence("in sales", "enter", line=2)

    def side(*sentences: TrainingSentence, commit: str = "2" * 40) -> Report:
        return report(examples=[example("a", "a")], sentences=sentences, stories=[story("s")], commit=commit)

    assert judged(side(other, one), side(one, other, commit=BASE_COMMIT))[0].stripped == ()
    (lost,) = judged(side(other, other), side(one, other, commit=BASE_COMMIT))[0].stripped
    assert (lost.intent, lost.annotations) == ("enter", 1)


def test_sentences_that_moved_are_named_before_what_they_cause(golden: Golden) -> None:
    def side(intent: str, fallbacks: int, commit: str = "2" * 40) -> Report:
        made = understood(fallbacks, commit=commit)
        moving = [sentence(f"m {n}", intent, line=n + 1) for n in range(8)]
        kept = [*many("a", 9), *many("b", 9)]
        return replace(made, nlu=replace(nlu_of(made), training=(*kept, *moving)))

    _, verdict, _ = judged(side("b", 60), side("a", 0, BASE_COMMIT))
    golden(verdict.summary)


def test_of_many_sentences_that_moved_a_comment_lists_some_and_counts_all(golden: Golden) -> None:
    def side(intent: str, commit: str = "2" * 40) -> Report:
        moving = [sentence(f"m {n}", intent, line=n + 1) for n in range(250)]
        examples = [example("a", "a"), example("b", "b")]
        return report(examples=examples, sentences=[*many("a", 9), *many("b", 9), *moving], commit=commit)

    comparison, _, text = judged(side("b"), side("a", BASE_COMMIT))
    assert len(comparison.relabelled) == 250
    golden(text, only="listed")
    assert 3 < text.count("now in `b`, was `a`") <= 20
    assert len(text.encode()) < 8_000


def words(name: str, *entries: str) -> WordList:
    place = Location("data/nlu.yml", 3, 3)
    return WordList(kind="synonyms", name=name, location=place, entries=len(entries), digest=" ".join(entries))


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ([words("auto", "car")], [], "removed"),
        ([words("auto", "car", "van")], [words("auto", "car")], "changed"),
        ([words("auto", "car")], [words("auto", "van")], "changed"),
        ([words("auto", "car")], [words("auto", "car", "van")], ""),
        ([], [words("auto", "car")], ""),
    ],
)
def test_a_synonym_that_lost_words_is_named_in_plain_sight(
    before: list[WordList], after: list[WordList], change: str
) -> None:
    base, head = report(stories=[story("s")], commit=BASE_COMMIT), report(stories=[story("s")])
    comparison, _, text = judged(replace(head, word_lists=tuple(after)), replace(base, word_lists=tuple(before)))

    assert [one.change for one in comparison.removed_items] == ([change] if change else [])
    assert ("synonym `auto`" in visible(text)) == bool(change)
    assert comparison.understands_otherwise == bool(change)


@pytest.mark.parametrize(
    ("before", "after", "removed"),
    [
        ("actions", "forms", []),
        ("forms", "actions", []),
        ("actions", "slots", ["lend_form"]),
        ("forms", "responses", ["lend_form"]),
    ],
)
def test_an_action_that_becomes_a_form_is_not_removed(before: str, after: str, removed: list[str]) -> None:
    """Rasa 1 lists forms apart from other actions, Rasa 0 does not; nothing else may take their place."""
    kinds = {kind: one for name in ("actions", "forms", "slots", "responses") for kind, one in coverage(name).items()}
    base, head = (
        report(stories=[story("s")], covered={**kinds, **coverage(kind, lend_form=(kind, False))}, commit=commit)
        for kind, commit in ((before, BASE_COMMIT), (after, "2" * 40))
    )
    comparison, _, _ = judged(head, base)

    assert [part.name for part in comparison.removed_items] == removed


@pytest.mark.parametrize("passed", [(False, False), (True, False), (True, True)], ids=str)
def test_tests_that_are_gone_and_never_passed_are_told_as_that(passed: tuple[bool, bool], golden: Golden) -> None:
    old = [
        story(name, "utter_a" if one else "utter_a!utter_b", line=n)
        for n, (name, one) in enumerate(zip("ab", passed, strict=True), 1)
    ]
    base, head = report(stories=[*old, story("s")], commit=BASE_COMMIT), report(stories=[story("s")])
    _, verdict, _ = judged(head, base)

    golden(verdict.summary)


def with_pipeline(original: Report, **components: str | None) -> Report:
    parts = tuple(
        ConfiguredComponent(section="pipeline", name=name, location=Location("config.yml", n, 3), runs=digest)
        for n, (name, digest) in enumerate(components.items(), 1)
    )
    assert original.engine is not None
    return replace(original, engine=replace(original.engine, configured=parts))


@pytest.mark.parametrize("section", get_args(get_type_hints(ConfiguredComponent)["section"]))
def test_whatever_is_removed_from_the_configuration_is_named(section: Any) -> None:
    base = with_pipeline(report(stories=[story("s")], commit=BASE_COMMIT), Kept="1", Gone="2")
    assert base.engine is not None
    assert base.engine.configured is not None
    kept, gone = base.engine.configured
    base = replace(base, engine=replace(base.engine, configured=(kept, replace(gone, section=section))))
    head = with_pipeline(report(stories=[story("s")]), Kept="1")

    _, verdict, _ = judged(head, base)

    assert "'Gone' removed" in verdict.summary


def test_what_runs_without_a_configuration_was_not_removed_from_it() -> None:
    base = with_pipeline(report(stories=[story("s")], commit=BASE_COMMIT), Tokenizer="1", Selector="2")
    assert base.engine is not None
    assert base.engine.configured is not None
    defaults = tuple(replace(one, location=Location("")) for one in base.engine.configured)
    head = with_pipeline(report(stories=[story("s")]), Tokenizer="3")

    assert {one.change for one in judged(head, base)[0].changed_components} == {"removed", "changed"}
    without = replace(base, engine=replace(base.engine, configured=defaults))
    assert judged(head, without)[0].changed_components == ()


_CRF, _ALONE = {"Tokenizer": "1", "Regex": "2", "Crf": "3"}, {"Tokenizer": "1", "Regex": None}


@pytest.mark.parametrize(
    ("before", "now", "changed", "removed"),
    [
        (_CRF, _ALONE, {"Crf": "removed", "Regex": "unused"}, "component 'Crf' removed"),
        (_ALONE, _CRF, {"Crf": "added", "Regex": "used"}, ""),
        (_CRF, {"Tokenizer": "1"}, {"Crf": "removed", "Regex": "removed"}, "component 'Regex' and 1 more removed"),
        (
            {**_CRF, "Lexical": "4", "Duckling": "5"},
            {**_ALONE, "Lexical": None},
            {"Crf": "removed", "Duckling": "removed", "Regex": "unused", "Lexical": "unused"},
            "component 'Crf' and 1 more removed",
        ),
        (_CRF, {"Tokenizer": "1", "Other": None}, {"Crf": "removed", "Regex": "removed"}, "'Regex' and 1 more removed"),
    ],
)
def test_a_component_that_is_still_configured_was_not_removed(
    before: dict[str, str | None], now: dict[str, str | None], changed: dict[str, str], removed: str
) -> None:
    base = with_pipeline(report(stories=[story("s")], commit=BASE_COMMIT), **before)
    comparison, verdict, text = judged(with_pipeline(report(stories=[story("s")]), **now), base)
    assert {part.name: part.change for part in comparison.changed_components} == changed
    assert removed in verdict.summary
    assert ("removed" in verdict.summary) == bool(removed)
    for name, change in changed.items():
        assert (f"`{name}` was removed" in text) == (change == "removed")


@pytest.mark.parametrize(
    ("pipeline", "change"),
    [
        ({"Tokenizer": "1", "Diet": "2"}, ("Synonyms", "removed")),
        ({"Tokenizer": "1", "Diet": "2", "Synonyms": "4"}, ("Synonyms", "changed")),
        ({"Tokenizer": "1", "Synonyms": "3", "Diet": "2"}, ("Synonyms", "moved")),
        ({"Tokenizer": "1", "Diet": "2", "Synonyms": "3", "Regex": "5"}, ("Regex", "added")),
    ],
)
def test_what_a_changed_pipeline_misunderstands_is_no_noise(
    pipeline: dict[str, str], change: tuple[str, str], golden: Golden
) -> None:
    step, heard = misparsed("to my savings", "go", "stay", 5)
    fine = replace(step, predicted="go", passed=True)
    whole = story("s", "utter_go")
    base = report(
        stories=[replace(whole, steps=(*whole.steps, fine), as_written=True)],
        examples=[example("a", "a")],
        sentences=many("a", 3),
        commit=BASE_COMMIT,
    )
    wrong = replace(whole, steps=(*whole.steps, step), misunderstood=(heard,), passed=False, as_written=True)
    head = report(stories=[wrong], examples=[example("a", "a")], sentences=many("a", 3))
    before = {"Tokenizer": "1", "Diet": "2", "Synonyms": "3"}

    _, verdict, _ = judged(with_pipeline(head, **before), with_pipeline(base, **before))
    assert verdict.reservation == "", "one sentence, and nothing that explains it"
    comparison, verdict, text = judged(with_pipeline(head, **pipeline), with_pipeline(base, **before))

    assert [(one.name, one.change) for one in comparison.changed_components] == [change]
    golden(verdict.reservation)
    assert "to my savings" in visible(text)
    assert f"component `{change[0]}` was {change[1]}" in visible(text)


def test_a_changed_intent_is_where_its_first_changed_sentence_is() -> None:
    def side(*sentences: TrainingSentence, digest: str, commit: str = "2" * 40) -> Report:
        item = CoverageItem(
            name="a", location=Location("domain.yml", 3, 3), digest=digest, covered=True, content=digest
        )
        covered = {"intents": KindCoverage(items=(item,), share=1.0)}
        return report(examples=[example("a", "a")], sentences=sentences, covered=covered, commit=commit)

    base = side(*many("a", 4), digest="1", commit=BASE_COMMIT)
    (changed,) = judged(side(*many("a", 4), sentence("new", "a", line=9), digest="2"), base)[0].changed_items
    assert changed.location == Location("data/nlu.yml", 9, 7)
    (changed,) = judged(side(*many("a", 4)[1:], digest="2"), base)[0].changed_items
    assert changed.location == Location("data/nlu.yml", 2, 7)
    (changed,) = judged(side(*many("a", 4), digest="2"), base)[0].changed_items
    assert changed.location == Location("domain.yml", 3, 3), "its entry in the domain changed"


# --- what is wrong on the base too ------------------------------------------------------------------------------------


def misparsed(text: str, expected: str, predicted: str, line: int) -> tuple[StoryStep, Misunderstanding]:
    place = Location("tests/test_stories.yml", line, 5)
    step = StoryStep(kind="intent", expected=expected, predicted=predicted, passed=False, text=text, location=place)
    return step, Misunderstanding(
        text=text, location=place, expected=ExpectedParse(intent=expected), predicted=StoryParse(intent=predicted)
    )


@pytest.mark.parametrize("as_written", [True, False])
def test_a_story_names_what_is_newly_wrong_before_what_the_base_misunderstands_too(*, as_written: bool) -> None:
    old, new = misparsed("hello", "greet", "bye", 2), misparsed("stop", "cancel", "deny", 5)
    whole = story("s", "utter_bye")
    fine = replace(new[0], predicted="cancel", passed=True)
    base = replace(whole, steps=(old[0], *whole.steps, fine), misunderstood=(old[1],), passed=True, as_written=True)
    head = replace(
        whole,
        steps=(old[0], *whole.steps, new[0]),
        misunderstood=(old[1], new[1]),
        passed=False,
        as_written=as_written,
    )

    comparison, _, text = judged(report(stories=[head]), report(stories=[base], commit=BASE_COMMIT))

    (changed,) = comparison.stories.newly_misunderstood if as_written else comparison.stories.worse
    assert (changed.expected, changed.actual, changed.location) == ("cancel", "deny", new[0].location)
    assert [one.text for one in changed.sentences] == ["stop", "hello"]
    assert "expected `cancel`, got `deny`" in text
    assert "greet" not in text or text.index("`cancel`") < text.index("`greet`")
