"""Contradictions that a change brings are located at the changed rule or story, with advice about the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from repository_at_work import commit_change
from test_causes_of_a_change import BOT, NLU, NOISE, RULES, STORIES, added

from turncheck import api

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from turncheck.comparison.changes import FindingChange
    from turncheck.conclude import Outcome


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    def judge(change: Mapping[str, str], base: Mapping[str, str] = BOT) -> Outcome:
        commit_change(tmp_path, base, change)
        return api.run(".", base="main", evaluations=("validate", "core"), workers=1, fail_on=("new-failures",))

    monkeypatch.chdir(tmp_path)
    return judge


GREETS = {"data/rules.yml": RULES + "- rule: greets\n  steps:\n  - intent: greet\n  - action: utter_greet\n"}
WAITS_FOR = ("  - intent: greet\n  - action: utter_greet\n", "  - intent: greet\n  - action: utter_wait\n")
LENDS = "- story: lends\n  steps:\n  - intent: lend\n  - action: utter_lend\n"


def contradictions(outcome: Outcome) -> list[tuple[str, str]]:
    return [
        (finding.message, str(finding.location))
        for finding in outcome.comparison.new_findings
        if finding.code == "rule-contradiction"
    ]


def test_a_changed_rule_is_to_blame_for_the_stories_that_it_contradicts(judged: Callable[..., Outcome]) -> None:
    changed = {"data/rules.yml": GREETS["data/rules.yml"].replace(*WAITS_FOR)}
    line = changed["data/rules.yml"].count("\n")

    outcome = judged({**NOISE, **changed}, {**BOT, **GREETS, "data/stories.yml": STORIES.replace("wait", "greet")})

    what = "rule 'greets' was changed and now contradicts 2 stories"
    assert contradictions(outcome) == [(f"The {what}: 'greet twice', 'greet three times'.", f"data/rules.yml:{line}:5")]
    assert f"R{what[1:]} (data/rules.yml:{line}:5)" in outcome.verdict.summary
    assert "data/stories.yml" not in outcome.verdict.summary
    (finding,) = [one for one in outcome.comparison.new_findings if one.code == "rule-contradiction"]
    assert {place.path for place in finding.others} == {"data/stories.yml"}
    assert [cause.name for cause in finding.causes] == ["greets"]


def test_stories_of_one_name_are_several(judged: Callable[..., Outcome], golden: Golden) -> None:
    changed = {"data/rules.yml": GREETS["data/rules.yml"].replace(*WAITS_FOR)}
    stories = STORIES.replace("wait", "greet").replace("greet three times", "greet twice")

    outcome = judged(changed, {**BOT, **GREETS, "data/stories.yml": stories})

    golden([message for message, _ in contradictions(outcome)])
    golden(outcome.verdict.summary)


def test_a_new_rule_is_to_blame(judged: Callable[..., Outcome], golden: Golden) -> None:
    rule = "- rule: whoever greets waits\n  steps:\n  - intent: greet\n  - action: utter_wait\n"

    outcome = judged({**NOISE, **added("data/rules.yml", rule)})

    ((message, place),) = contradictions(outcome)
    golden(message)
    assert place.startswith("data/rules.yml:")


def test_a_story_that_contradicts_an_old_rule_is_to_blame_itself(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    outcome = judged({**NOISE, **added("data/stories.yml", LENDS)})

    ((message, place),) = contradictions(outcome)
    golden(message)
    golden(outcome.verdict.summary)  # what is wrong, and that nothing could be run for that, are one clause
    assert place.startswith("data/stories.yml:")
    others = [gate for gate in outcome.verdict.gates if gate.fails and gate.name != "could-be-run"]
    assert {gate.follows for gate in others} == {"could-be-run"}


BEGINS = "- rule: {name}\n  steps:\n  - intent: {intent}\n  - action: {action}\n"


def rules(*given: tuple[str, str, str]) -> dict[str, str]:
    written = [BEGINS.format(name=name, intent=intent, action=action) for name, intent, action in given]
    return {"data/rules.yml": RULES + "".join(written)}


def test_changed_rules_that_contradict_each_other_are_named_together(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    names = ("one", "two", "three", "four", "five")
    actions = ("utter_greet", "utter_wait", "utter_sent", "utter_lend", "utter_ask_address")
    before = rules(*((name, "greet", "utter_greet") for name in names))
    after = rules(*((name, "greet", action) for name, action in zip(names, actions, strict=True)))
    old = {**BOT, "data/stories.yml": 'version: "3.1"\nstories: []\n'}

    outcome = judged({**after, "domain.yml": NOISE["domain.yml"]}, {**old, **before})

    ((message, place),) = contradictions(outcome)
    golden(message)
    assert place.startswith("data/rules.yml:")
    assert message.partition(":")[0] in outcome.verdict.summary


def test_a_rule_that_joins_an_old_contradiction_is_alone_new(judged: Callable[..., Outcome], golden: Golden) -> None:
    old = [("one", "greet", "utter_greet"), ("two", "greet", "utter_wait"), ("three", "greet", "utter_sent")]
    bot = {**BOT, "data/stories.yml": 'version: "3.1"\nstories: []\n'}

    outcome = judged(rules(*old, ("four", "greet", "utter_lend")), {**bot, **rules(*old)})

    ((message, _),) = contradictions(outcome)
    golden(message)
    assert "rule-contradiction" not in {finding.code for finding in outcome.comparison.gone_findings}
    errors = outcome.comparison.metric("validation.errors")
    assert errors is not None
    assert errors.delta == 1


def test_of_two_new_rules_neither_is_singled_out(judged: Callable[..., Outcome], golden: Golden) -> None:
    new = rules(("one", "give_address", "utter_wait"), ("two", "give_address", "utter_lend"))

    ((message, _),) = contradictions(judged({**NOISE, **new}))

    golden(message)


def test_a_new_rule_and_a_new_story_contradict_each_other(judged: Callable[..., Outcome], golden: Golden) -> None:
    story = "- story: address\n  steps:\n  - intent: give_address\n  - action: utter_lend\n"

    ((message, _),) = contradictions(
        judged({**rules(("one", "give_address", "utter_wait")), **added("data/stories.yml", story)})
    )

    golden(message)


def test_a_changed_story_that_would_contradict_the_changed_rule_anyway_is_not_to_blame(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    stories = STORIES.replace("wait", "greet")
    longer = f"{stories}  - intent: greet\n  - action: utter_greet\n"
    changed = {"data/rules.yml": GREETS["data/rules.yml"].replace(*WAITS_FOR), "data/stories.yml": longer}

    ((message, _),) = contradictions(judged({**NOISE, **changed}, {**BOT, **GREETS, "data/stories.yml": stories}))

    golden(message)


def test_keys_of_two_retrieval_intents_are_one_mistake(judged: Callable[..., Outcome], golden: Golden) -> None:
    keys = [f"{intent}/{key}" for intent in ("ask", "tell") for key in "ab"]
    bot = {
        **BOT,
        "domain.yml": BOT["domain.yml"]
        .replace("give_address]", "give_address, ask, tell]")
        .replace("responses:\n", "responses:\n" + "".join(f"  utter_{key}:\n  - text: {key}\n" for key in keys)),
        "data/nlu.yml": NLU + "".join(f"- intent: {key}\n  examples: |\n    - what is {key}\n" for key in keys),
    }

    outcome = judged({**bot, **rules(*((f"about {key}", key, f"utter_{key}") for key in keys))}, bot)

    ((message, _),) = contradictions(outcome)
    golden(message)
    assert "not 'ask/…', 'tell/…'" in outcome.verdict.summary


@pytest.mark.parametrize("old", ["ask/a", "ask"])
def test_rules_for_keys_of_one_retrieval_intent_have_one_sentence(
    judged: Callable[..., Outcome], golden: Golden, old: str
) -> None:
    bot = {
        **BOT,
        "domain.yml": BOT["domain.yml"]
        .replace("give_address]", "give_address, ask]")
        .replace("responses:\n", "responses:\n" + "".join(f"  utter_ask/{key}:\n  - text: {key}\n" for key in "abcd")),
        "data/nlu.yml": NLU + "".join(f"- intent: ask/{key}\n  examples: |\n    - what is {key}\n" for key in "abcd"),
    }
    before = rules(("old", old, "utter_ask/a" if old == "ask/a" else "utter_wait"))
    after = rules(
        ("old", old, "utter_ask/a" if old == "ask/a" else "utter_wait"),
        *((f"about {key}", f"ask/{key}", f"utter_ask/{key}") for key in "bcd"),
    )

    ((message, _),) = contradictions(judged({**bot, **after}, {**bot, **before}))

    golden(message)


def two_new_rules_that_agree() -> dict[str, str]:
    return rules(("one", "greet", "utter_wait"), ("two", "greet", "utter_wait"))


def test_an_old_story_that_two_new_rules_contradict_is_not_to_blame(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    found = contradictions(judged({**NOISE, **two_new_rules_that_agree()}))

    assert {place.partition(":")[0] for _, place in found} == {"data/rules.yml"}
    golden("\n".join(message for message, _ in found))


def test_two_new_rules_for_one_intent_that_an_old_rule_has_too_are_each_to_blame(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    old = rules(("old", "give_address", "utter_wait"))
    new = [
        ("old", "give_address", "utter_wait"),
        ("b", "give_address", "utter_lend"),
        ("c", "give_address", "utter_sent"),
    ]

    found = contradictions(judged({**NOISE, **rules(*new)}, {**BOT, **old}))

    golden("\n".join(message for message, _ in found))


# --- stories that disagree -------------------------------------------------------------------------------------------

LENDS_AGAIN = "  - intent: lend\n  - action: utter_lend\n"


def asking(*actions: str) -> dict[str, str]:
    """Stories that are alike as far as policies look back, and end in these actions."""
    written = "".join(
        f"- story: asks {number}\n  steps:\n{LENDS_AGAIN * (number + 2)}  - intent: greet\n  - action: utter_{action}\n"
        for number, action in enumerate(actions, 1)
    )
    return {
        "config.yml": BOT["config.yml"].replace("MemoizationPolicy\n", "MemoizationPolicy\n  max_history: 3\n"),
        "data/rules.yml": RULES.replace("intent: lend", "intent: give_address"),
        "data/stories.yml": STORIES + written,
    }


def conflicts(outcome: Outcome) -> list[FindingChange]:
    return [finding for finding in outcome.comparison.new_findings if finding.code == "story-conflict"]


def test_a_changed_story_is_to_blame_for_those_that_it_disagrees_with(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    outcome = judged(
        {**NOISE, **asking("wait", "wait", "sent", "wait")}, {**BOT, **asking("wait", "wait", "wait", "wait")}
    )

    (conflict,) = conflicts(outcome)
    golden(f"{conflict.message} {conflict.hint}")
    changed = asking("wait", "wait", "sent")["data/stories.yml"].count("\n")
    assert str(conflict.location) == f"data/stories.yml:{changed}:5"
    assert [cause.name for cause in conflict.causes] == ["asks 3"]
    assert len(conflict.others) == 3


def test_two_new_stories_that_disagree_are_named_together(judged: Callable[..., Outcome], golden: Golden) -> None:
    (conflict,) = conflicts(judged({**NOISE, **asking("wait", "sent")}, {**BOT, **asking()}))

    golden(f"{conflict.message} {conflict.hint}")


def test_two_new_stories_that_disagree_with_an_old_one_are_each_to_blame(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    found = conflicts(judged({**NOISE, **asking("wait", "sent", "sent")}, {**BOT, **asking("wait")}))

    golden("\n".join(f"{conflict.location}: {conflict.message}" for conflict in found))


def test_of_new_stories_that_join_an_old_disagreement_only_they_are_to_blame(
    judged: Callable[..., Outcome], golden: Golden
) -> None:
    found = conflicts(judged({**NOISE, **asking("wait", "sent", "sent")}, {**BOT, **asking("wait", "sent")}))

    golden("\n".join(f"{conflict.location}: {conflict.message}" for conflict in found))


# --- what is neither a rule nor a story ------------------------------------------------------------------------------

BY_MOOD = "".join(
    f"- rule: {mood}\n  condition:\n  - slot_was_set:\n    - mood: {mood}\n  steps:\n  - intent: give_address\n"
    f"  - action: utter_{answer}\n"
    for mood, answer in (("sad", "wait"), ("glad", "greet"))
)


def with_mood(influences: str) -> dict[str, str]:
    slot = "  mood:\n    type: categorical\n    values: [sad, glad]\n    mappings:\n    - type: custom\n"
    slot += f"    influence_conversation: {influences}\n"
    return {
        "domain.yml": BOT["domain.yml"].replace("slots:\n", f"slots:\n{slot}"),
        "data/rules.yml": RULES + BY_MOOD,
    }


def test_a_slot_without_which_rules_agreed_is_to_blame(judged: Callable[..., Outcome], golden: Golden) -> None:
    outcome = judged(with_mood("false"), {**BOT, **with_mood("true")})

    (finding,) = [one for one in outcome.comparison.new_findings if one.code == "rule-contradiction"]
    assert str(finding.location) == "domain.yml:10:29"
    assert {place.path for place in finding.others} == {"data/rules.yml"}
    assert [cause.name for cause in finding.causes] == ["mood"]
    golden(f"{finding.message} {finding.hint} {outcome.verdict.summary}")
