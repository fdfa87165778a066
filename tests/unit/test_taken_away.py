"""What a change took away leads the verdict: sentences, annotations, rules, understanding; flips do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from report_builder import BASE_COMMIT, example, report, story

from turncheck.comparison.baseline import Present
from turncheck.comparison.compare import compare
from turncheck.comparison.gates import judge
from turncheck.messages.location import Location
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.report.model import (
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
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import Verdict

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


def test_an_intent_that_is_no_longer_judged_leads_the_verdict_which_calls_nothing_a_gain() -> None:
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
    assert verdict.summary.startswith("intent 'a' cut from 110 to 2 sentences and no longer judged")
    assert verdict.reservation == "less is judged"
    assert "gain" not in text
    assert "`a`: 2 training sentences, 110 on the base" in visible(text)


def test_a_few_sentences_less_are_no_news() -> None:
    def side(number: int, commit: str = "2" * 40) -> Report:
        return report(examples=[example("a", "a")], sentences=many("a", number), stories=[story("s")], commit=commit)

    assert judged(side(9), side(13, BASE_COMMIT))[0].cut_intents == ()
    assert len(judged(side(3), side(13, BASE_COMMIT))[0].cut_intents) == 1


def test_annotations_that_were_removed_are_counted_and_not_reported_as_errors_of_the_model() -> None:
    def side(spans: Iterable[tuple[int, int, str]], *entities: str, commit: str) -> Report:
        examples = [example(f"to Rome {n}", "go", entities=[*spans], found=[(3, 7, "city")]) for n in range(12)]
        sentences = [sentence(f"to Rome {n}", "go", *entities) for n in range(12)]
        return report(examples=examples, sentences=sentences, entity_scores=1.0, commit=commit, stories=[story("s")])

    comparison, verdict, text = judged(side((), commit="2" * 40), side([(3, 7, "city")], "city", commit=BASE_COMMIT))

    assert [(one.intent, one.annotations, one.entities) for one in comparison.stripped] == [("go", 12, ("city",))]
    assert comparison.entities.newly_failing == ()
    assert verdict.summary.startswith("12 annotations removed from intent 'go'")
    assert "#### Annotations removed (12)" in visible(text)
    assert "no case changed sides" not in verdict.summary


def test_flips_within_noise_are_folded_titled_so_and_raise_nothing() -> None:
    def side(wrong: set[int], commit: str) -> Report:
        examples = [example(f"s {n}", "a", "b" if n in wrong else None) for n in range(30)]
        return report(examples=[*examples, example("t", "b")], commit=commit, stories=[story("s")])

    _, verdict, text = judged(side({1, 2}, "2" * 40), side({3}, BASE_COMMIT))

    assert verdict.reservation == ""
    assert "2 sentences newly misclassified (within noise)" in verdict.summary
    assert "Likely noise, since the figures are: sentences newly wrong (2)" in text
    assert "s 1" not in visible(text)


def test_a_real_drop_is_listed_in_plain_sight() -> None:
    def side(wrong: range, commit: str) -> Report:
        examples = [example(f"s {n}", "a", "b" if n in wrong else None) for n in range(30)]
        return report(examples=[*examples, example("t", "b")], commit=commit, stories=[story("s")])

    assert (
        "#### Newly misclassified sentences (12)" in judged(side(range(12), "2" * 40), side(range(0), BASE_COMMIT))[2]
    )


def test_a_story_that_fails_since_a_rule_was_removed_names_the_rule_and_its_line() -> None:
    def rules(*names: str) -> dict[str, KindCoverage]:
        items = tuple(
            CoverageItem(
                name=name,
                location=Location("data/rules.yml", 7, 3),
                digest=name,
                covered=True,
                names=("bye", "utter_bye"),
            )
            for name in names
        )
        return {"rules": KindCoverage(items=items, share=1.0)}

    base = report(stories=[story("s", "utter_bye")], covered=rules("say goodbye"), commit=BASE_COMMIT)
    head = report(stories=[story("s", "utter_bye!action_listen")], covered=rules())

    comparison, verdict, text = judged(head, base)

    assert [(one.name, one.change) for one in comparison.stories.worse[0].rules] == [("say goodbye", "removed")]
    assert "rule 'say goodbye' was removed (data/rules.yml:7:3)" in verdict.summary
    assert "rule `say goodbye` was removed in this change" in visible(text)
    assert "#### Removed in this change (1)" in text


def test_a_raised_threshold_names_what_is_no_longer_understood() -> None:
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

    assert verdict.summary.startswith("4 sentences no longer understood (threshold from 0.3 to 0.95)")
    assert "`a`: 4 sentences not understood now: `s 0`, `s 1`, `s 2` and 1 more" in visible(text)


# --- what is wrong on the base too ------------------------------------------------------------------------------------


def misheard(text: str, expected: str, predicted: str, line: int) -> tuple[StoryStep, Misunderstanding]:
    place = Location("tests/test_stories.yml", line, 5)
    step = StoryStep(kind="intent", expected=expected, predicted=predicted, passed=False, text=text, location=place)
    return step, Misunderstanding(
        text=text, location=place, expected=ExpectedParse(intent=expected), predicted=StoryParse(intent=predicted)
    )


@pytest.mark.parametrize("as_written", [True, False])
def test_a_story_names_what_is_newly_wrong_before_what_the_base_misunderstands_too(*, as_written: bool) -> None:
    old, new = misheard("hello", "greet", "bye", 2), misheard("stop", "cancel", "deny", 5)
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
