"""The parts in which two states of a project differ: each taken back alone, all together they are the base."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from turncheck.causes.contradictions import Contradictions
from turncheck.causes.parts import changes_between
from turncheck.causes.renaming import NewName
from turncheck.causes.search import search
from turncheck.evaluations.strength.faults import mutants_of
from turncheck.messages.finding import Finding, Location, Name
from turncheck.project.model import Project
from turncheck.project.rasa_components import configured_policies, pipeline_of
from turncheck.run.reading import read_configured
from turncheck.settings.options import Settings

BOTS = Path(__file__).parents[2] / "oracle" / "conversations"


@pytest.fixture(scope="module", params=["form_interrupt_rules", "or_checkpoints", "form_mappings"])
def bot(request: pytest.FixtureRequest) -> Project:
    return read_configured(Settings(project=str(BOTS / request.param / "project")))


def test_taking_back_all_parts_of_a_fault_restores_the_base(bot: Project) -> None:
    for mutant in mutants_of(bot, 1):
        for base, head in ((bot, mutant.project), (mutant.project, bot)):
            changes = changes_between(base, head)

            assert changes.parts, mutant.what
            assert not changes_between(base, changes.without(range(len(changes.parts)))).parts, mutant.what
            assert not changes_between(head, changes.without(())).parts


def test_what_says_the_same_in_another_order_is_no_change(bot: Project) -> None:
    other = dataclasses.replace(
        bot, stories=bot.stories[::-1], nlu=replace(bot.nlu, examples=bot.nlu.examples[::-1]), rules=bot.rules[::-1]
    )

    assert changes_between(bot, other).parts == ()


@pytest.mark.parametrize("rasa", [0, 2, 3])
def test_a_default_that_is_written_out_is_no_change_but_for_what_differs(rasa: int, bot: Project) -> None:
    bot = dataclasses.replace(bot, domain=replace(bot.domain, rasa=rasa))
    default = dataclasses.replace(bot, config=replace(bot.config, pipeline=None, policies=None))
    pipeline, policies = pipeline_of(default.config), configured_policies(default.config, rasa)
    fallback = dataclasses.replace(pipeline[-1], parameters={**pipeline[-1].parameters, "threshold": 0.8})
    config = replace(bot.config, pipeline=(*pipeline[:-1], fallback), policies=policies[1:])
    named = dataclasses.replace(bot, config=config)

    for base, head, change in ((default, named, "removed"), (named, default, "added")):
        parts = [(part.kind, part.name, part.change) for part in changes_between(base, head).parts]
        assert parts == [("pipeline", fallback.name, "changed"), ("policies", policies[0].name, change)]


def test_a_new_name_is_one_part_wherever_it_is_used(bot: Project) -> None:
    old = next(
        name for name in bot.domain.responses if any(name in repr(story.steps) for story in bot.stories + bot.rules)
    )
    new = changes_between(bot, bot, [NewName("responses", "utter_new", old)])
    renamed = new.without(range(len(new.parts)))

    changes = changes_between(bot, renamed, [NewName("responses", old, "utter_new")])

    assert [(part.kind, part.name, part.old_name) for part in changes.parts] == [("responses", "utter_new", old)]
    assert old not in renamed.domain.responses
    assert not changes_between(bot, changes.without([0])).parts


@pytest.mark.parametrize(
    ("kind", "old", "use"),
    [
        ("slots", "appointment", "Shall I cancel your appointment, {new}?"),
        ("entities", "medication", "Lookup(name='new'"),
        ("intents", "faq", "'retrieval_intent': 'new'"),
    ],
)
def test_a_new_name_is_taken_back_wherever_it_is(kind: str, old: str, use: str) -> None:
    bot = read_configured(Settings(project=str(Path(__file__).parents[3] / "examples" / "clinic")))
    new = changes_between(bot, bot, [NewName(kind, "new", old)])
    renamed = new.without(range(len(new.parts)))

    changes = changes_between(bot, renamed, [NewName(kind, old, "new")])

    assert use in repr((renamed.domain.responses, renamed.config.pipeline, renamed.nlu.lookups))
    assert [(part.kind, part.name) for part in changes.parts] == [(kind, "new")]
    assert not changes_between(bot, changes.without([0])).parts


def test_what_keeps_an_old_name_is_not_changed(bot: Project) -> None:
    old = next(
        name for name in bot.domain.responses if any(name in repr(story.steps) for story in bot.stories + bot.rules)
    )
    new = changes_between(bot, bot, [NewName("responses", "utter_new", old)])
    renamed = new.without(range(len(new.parts)))
    half = dataclasses.replace(renamed, rules=bot.rules, stories=bot.stories)

    changes = changes_between(bot, half, [NewName("responses", old, "utter_new")])

    assert [(part.kind, part.change) for part in changes.parts] == [("responses", "renamed")]
    assert not changes_between(bot, changes.without([0])).parts


def test_an_intent_that_leaves_the_domain_while_its_sentences_come_is_one_part() -> None:
    bot = read_configured(Settings(project=str(Path(__file__).parents[3] / "examples" / "pizzeria")))
    other = tuple(example for example in bot.nlu.examples if example.base_intent != "greet")
    listed = dataclasses.replace(bot, nlu=replace(bot.nlu, examples=other))
    intents = {name: intent for name, intent in bot.domain.intents.items() if name != "greet"}
    written = dataclasses.replace(bot, domain=replace(bot.domain, intents=intents))

    for base, head in ((listed, written), (written, listed)):
        changes = changes_between(base, head)

        assert [(part.kind, part.name) for part in changes.parts] == [("intents", "greet")]
        assert not changes_between(base, changes.without([0])).parts


@pytest.mark.parametrize("first", [True, False], ids=["the new one first", "the one that replaces first"])
def test_rules_of_one_name_are_parts_of_their_own(first: bool) -> None:
    bot = read_configured(Settings(project=str(Path(__file__).parents[3] / "examples" / "pizzeria")))
    gone, other, *rules = bot.rules
    replaces = replace(gone, name="twice", steps=(*gone.steps, gone.steps[-1]))
    twice = [replace(other, name="twice", steps=other.steps[::-1]), replaces]
    base = dataclasses.replace(bot, rules=(gone, *rules))
    head = dataclasses.replace(bot, rules=(*(twice if first else twice[::-1]), *rules))

    changes = changes_between(base, head)

    said = sorted((part.name, part.change, part.old_name) for part in changes.parts if part.kind == "rules")
    assert said == [("twice", "added", ""), ("twice", "replaced", gone.name)]
    assert not changes_between(base, changes.without(range(len(changes.parts)))).parts


@pytest.mark.parametrize("place", [0, 20, 39])
def test_of_many_rules_of_one_name_the_one_that_a_contradiction_names_is_tried_first(place: int) -> None:
    bot = read_configured(Settings(project=str(Path(__file__).parents[3] / "examples" / "pizzeria")))
    (first, *_) = bot.rules
    same = [
        replace(
            first, name="again", steps=first.steps * (number + 2), location=Location("data/more.yml", number + 1, 3)
        )
        for number in range(40)
    ]
    changes = changes_between(bot, dataclasses.replace(bot, rules=(*bot.rules, *same)))
    about = (Name("story", "a story"), Name("story", "again"))
    finding = Finding(
        "rule-contradiction", "error", "", Location("s.yml", 1), others=(same[place].location,), about=about
    )

    closest = Contradictions(changes, [finding]).closest(0)

    assert changes.parts[closest[0]].location == same[place].location
    trials = Contradictions(changes, [finding] * 50).trials()
    assert search(trials, 0).causes == dict.fromkeys(range(50), (closest[0],)), "whatever may be spent"
    assert len(closest) == len(changes.parts)
