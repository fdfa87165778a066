"""The cause of a test that changed sides: the changed part of the project without which it ends as on the base."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from repository_at_work import commit_change

from turncheck import api
from turncheck.render.annotations import find_annotations
from turncheck.render.console import render_console
from turncheck.render.links import Links

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.conclude import Outcome

DOMAIN = """version: "3.1"
intents: [greet, lend, give_address]
entities: [city]
slots:
  address:
    type: text
    influence_conversation: false
    mappings:
    - type: from_text
forms:
  address_form:
    required_slots: [address]
responses:
  utter_greet:
  - text: Hello
  utter_lend:
  - text: Which book?
  utter_ask_address:
  - text: Where do you live?
  utter_sent:
  - text: It is on its way
  utter_wait:
  - text: Wait
"""
CONFIG = """version: "3.1"
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
policies:
- name: MemoizationPolicy
- name: RulePolicy
"""
NLU = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello there
    - good morning
    - hi my friend
- intent: lend
  examples: |
    - can you lend me a book
    - i want to borrow a novel
    - lend me something to read
- intent: give_address
  examples: |
    - i live in the high street
    - my address is the market square
"""
RULES = """version: "3.1"
rules:
- rule: begin the form
  steps:
  - intent: lend
  - action: address_form
  - active_loop: address_form
- rule: submit the address
  condition:
  - active_loop: address_form
  steps:
  - action: address_form
  - active_loop: null
  - slot_was_set:
    - requested_slot: null
  - action: utter_sent
"""
STORIES = """version: "3.1"
stories:
- story: greet twice
  steps:
  - intent: greet
  - action: utter_greet
  - intent: greet
  - action: utter_wait
- story: greet three times
  steps:
  - intent: greet
  - action: utter_greet
  - intent: greet
  - action: utter_wait
  - intent: greet
  - action: utter_wait
"""
TESTS = """version: "3.1"
stories:
- story: lend a book
  steps:
  - user: |
      can you lend me a book
    intent: lend
  - action: address_form
  - active_loop: address_form
  - user: |
      i live in the high street
    intent: give_address
  - action: address_form
  - active_loop: null
  - action: utter_sent
- story: greet again
  steps:
  - user: |
      hello there
    intent: greet
  - action: utter_greet
  - user: |
      good morning
    intent: greet
  - action: utter_wait
"""
BOT = {
    "domain.yml": DOMAIN,
    "config.yml": CONFIG,
    "data/nlu.yml": NLU,
    "data/rules.yml": RULES,
    "data/stories.yml": STORIES,
    "tests/test_stories.yml": TESTS,
}


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    def judge(change: Mapping[str, str], base: Mapping[str, str] = BOT, *gates: str) -> Outcome:
        commit_change(tmp_path, base, change)
        fail_on = gates or ("new-failures",)
        return api.run(".", base="main", evaluations=("validate", "core"), workers=1, fail_on=fail_on)

    monkeypatch.chdir(tmp_path)
    return judge


def edited(name: str, *edits: tuple[str, str]) -> dict[str, str]:
    text = BOT[name]
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return {name: text}


def edited_all(name: str, old: str, new: str) -> dict[str, str]:
    return {name: BOT[name].replace(old, new)}


def shown(outcome: Outcome) -> str:
    return str(render_console(outcome.run.report, outcome.comparison, outcome.verdict, Links()).content)


def without_places(line: str) -> str:
    return re.sub(r"[0-9a-f]{8}\b|[0-9a-f]{7}…", "COMMIT", line)


def added(name: str, more: str) -> dict[str, str]:
    return {name: BOT[name] + more}


def causes(outcome: Outcome, kind: str = "newly_failing") -> dict[str, list[tuple[str, str, str]]]:
    """The proved causes of each test: kind, name, what was done to it."""
    cases = getattr(outcome.comparison.stories, kind)
    assert all(cause.proved for case in cases for cause in case.causes)
    return {case.name: [(cause.kind, cause.name, cause.change) for cause in case.causes] for case in cases}


NOISE = {
    "data/nlu.yml": BOT["data/nlu.yml"].replace("    - hi my friend\n", "    - hi my friend\n    - hey you\n"),
    "domain.yml": BOT["domain.yml"].replace("text: Wait", "text: One moment, please")
    + "  utter_new:\n  - text: Something new\n",
}
"""Harmless edits beside the one that matters."""
LENT = "  - action: address_form\n  - active_loop: address_form\n", "  - action: utter_lend\n"
WAITS = "  - action: utter_sent\n", "  - action: utter_wait\n"
TURN = "  - intent: greet\n  - action: utter_{}\n"
REPLACED = (
    "- story: greet twice\n  steps:\n" + TURN.format("greet") + TURN.format("wait") + "- story",
    "- story: readers are asked\n  steps:\n" + TURN.format("greet") + TURN.format("greet") + "- story",
)


@pytest.mark.parametrize(
    ("change", "test", "cause"),
    [
        pytest.param(
            added("data/rules.yml", "  - action: utter_wait\n  - action: utter_greet\n"),
            "lend a book", ("rules", "submit the address", "changed"), id="a form rule has more steps",
        ),
        pytest.param(
            edited("data/rules.yml", WAITS),
            "lend a book", ("rules", "submit the address", "changed"), id="a form rule ends with another response",
        ),
        pytest.param(
            edited("data/rules.yml", LENT),
            "lend a book", ("rules", "begin the form", "changed"), id="the rule does not begin the form",
        ),
        pytest.param(
            {"data/rules.yml": RULES[: RULES.index("- rule: submit")]},
            "lend a book", ("rules", "submit the address", "removed"), id="a form rule is removed",
        ),
        pytest.param(
            edited("data/stories.yml", REPLACED),
            "greet again", ("stories", "readers are asked", "replaced"), id="a story replaces another",
        ),
        pytest.param(
            edited("config.yml", ("- name: MemoizationPolicy\n", "- name: MemoizationPolicy\n  max_history: 1\n")),
            "greet again", ("policies", "MemoizationPolicy", "changed"), id="a policy's parameter",
        ),
        pytest.param(
            edited("config.yml", ("- name: MemoizationPolicy\n", "")),
            "greet again", ("policies", "MemoizationPolicy", "removed"), id="a policy",
        ),
    ],
)  # fmt: skip
def test_the_part_is_found_among_harmless_edits(
    change: dict[str, str], test: str, cause: tuple[str, str, str], judged: Callable[..., Outcome]
) -> None:
    outcome = judged({**NOISE, **change})

    assert causes(outcome) == {test: [cause]}
    assert cause[1] in outcome.verdict.summary
    assert "possibly" not in outcome.verdict.summary
    assert all(item.covered for item in outcome.comparison.changed_items if item.name == cause[1])


def test_two_that_only_do_it_together_are_both_named(judged: Callable[..., Outcome]) -> None:
    lent = ("  - action: address_form\n  - active_loop: address_form\n", "  - action: utter_lend\n")

    outcome = judged(
        {**NOISE, **edited("data/rules.yml", lent, ("  - action: utter_sent\n", "  - action: utter_wait\n"))}
    )

    both = [("rules", "begin the form", "changed"), ("rules", "submit the address", "changed")]
    assert causes(outcome) == {"lend a book": both}
    assert "rule 'begin the form' was changed" in outcome.verdict.summary
    assert "rule 'submit the address' was changed" in outcome.verdict.summary
    assert "without both changes" in outcome.texts()[0].encoded.decode()


def test_a_renamed_response_is_one_change_wherever_it_is_used(judged: Callable[..., Outcome]) -> None:
    names = {name: BOT[name].replace("utter_wait", "utter_hold_on") for name in ("domain.yml", "data/stories.yml")}

    outcome = judged(names)

    assert causes(outcome) == {"greet again": [("responses", "utter_hold_on", "renamed")]}


def test_a_response_renamed_in_the_tests_too_changes_nothing(judged: Callable[..., Outcome]) -> None:
    outcome = judged({name: text.replace("utter_wait", "utter_hold_on") for name, text in BOT.items()})

    assert outcome.verdict.passed
    assert causes(outcome) == {}
    comment = outcome.texts()[1].encoded.decode().splitlines()
    assert sum("utter_wait" in line and "utter_hold_on" in line for line in comment) == 1, (
        "what is renamed is said once"
    )


@pytest.mark.parametrize("what", ["removed", "renamed"])
def test_an_error_that_explains_a_test_has_what_else_it_takes(
    judged: Callable[..., Outcome], golden: Golden, what: str
) -> None:
    """A response that is removed, and something else that replaced it; one that is only renamed says it all."""
    domain = BOT["domain.yml"].replace("utter_wait", "utter_hold_on")
    replaced = {"removed": "utter_lend", "renamed": "utter_hold_on"}[what]
    if what == "removed":
        domain = re.sub(r"  utter_wait:\n.*\n", "", BOT["domain.yml"])

    change = {"domain.yml": domain, **edited_all("data/stories.yml", "utter_wait", replaced)}
    outcome = judged(change, BOT, "new-errors", "new-failures")

    golden(outcome.verdict.summary)
    for text in (outcome.texts()[1].encoded.decode(), shown(outcome)):
        lines = text.splitlines()
        (place,) = [number for number, line in enumerate(lines) if "because of it: " in line]
        golden("\n".join(without_places(line) for line in lines[place : place + 3]))


def test_what_repairs_a_test_is_named(judged: Callable[..., Outcome]) -> None:
    broken = {**BOT, **edited("data/rules.yml", WAITS)}

    outcome = judged({**NOISE, "data/rules.yml": RULES}, broken)

    assert causes(outcome, "better") == {"lend a book": [("rules", "submit the address", "changed")]}
    place = f"data/rules.yml:{RULES.count(chr(10))}"
    files = {rendered.name: rendered.encoded.decode() for rendered in outcome.renderings()}
    for name in ("comment.md", "junit.xml", "report.html"):
        assert place in files[name], name
    assert place in outcome.verdict.summary
    (marked,) = [one for one in find_annotations(outcome.run.report, outcome.comparison) if one.level == "notice"]
    assert f"{marked.path}:{marked.line}" == place


def test_an_edited_test_is_never_taken_back(judged: Callable[..., Outcome]) -> None:
    expects = edited("tests/test_stories.yml", ("  - action: utter_sent\n", "  - action: utter_lend\n"))

    outcome = judged({**NOISE, **expects})

    assert causes(outcome) == {"lend a book": []}
    assert "because" not in outcome.verdict.summary


def test_sentences_that_draw_a_message_away_are_the_cause(judged: Callable[..., Outcome]) -> None:
    drawn = edited("data/nlu.yml", ("    - hi my friend\n", "    - can you lend me a book\n    - lend me a book\n" * 4))

    outcome = judged({**drawn, "domain.yml": NOISE["domain.yml"]})

    changed = [case for case in outcome.comparison.stories.newly_misunderstood if case.causes]
    changed += [case for case in outcome.comparison.stories.newly_failing if case.causes]
    assert [(cause.kind, cause.name) for case in changed for cause in case.causes] == [("intents", "greet")]


def test_the_same_causes_are_in_every_file(judged: Callable[..., Outcome], tmp_path: Path) -> None:
    outcome = judged(added("data/rules.yml", "  - action: utter_wait\n"))
    files: dict[str, Any] = {rendered.name: rendered.encoded.decode() for rendered in outcome.renderings()}

    line = RULES.count("\n") + 1
    place = f"data/rules.yml:{line}"
    assert place in files["comment.md"].partition("| base")[0]
    assert f"because rule 'submit the address' was changed ({place}" in files["junit.xml"]
    assert json.loads(files["comparison.json"])["stories"]["worse"][0]["causes"][0]["proved"] is True
    assert json.loads(files["report.json"])["causes"]["tests"][0]["name"] == "lend a book"
    assert "without that, it passes" in files["report.html"]


def test_nothing_is_tried_if_no_test_changed(judged: Callable[..., Outcome]) -> None:
    outcome = judged(NOISE)

    assert "causes" not in json.loads(next(one.encoded for one in outcome.renderings() if one.name == "report.json"))
