"""What is no fault at all: a mutant that no situation tells from the project, and only that."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_strength import CONFIG, small_bot, strength_of

from turncheck.report.model import Strength

DOMAIN = """
version: "3.1"
intents: [greet, book, travel, affirm, deny, faq]
entities:
  - city:
      roles: [from, to]
  - room
slots:
  origin:
    type: text
    influence_conversation: false
    mappings:
      - {type: from_entity, entity: city, role: from}
  target:
    type: text
    influence_conversation: false
    mappings:
      - {type: from_entity, entity: city, role: to}
  room:
    type: categorical
    values: [single, double]
    mappings:
      - {type: from_entity, entity: room}
  breakfast:
    type: bool
    mappings:
      - {type: from_intent, intent: affirm, value: true, conditions: [{active_loop: book_form}]}
      - {type: from_intent, intent: deny, value: false, conditions: [{active_loop: book_form}]}
forms:
  book_form:
    required_slots: [room, breakfast]
responses:
  utter_ask_room: [{text: Which room?}]
  utter_ask_breakfast: [{text: Breakfast?}]
  utter_booked:
    - text: Booked a large one
      condition: [{type: slot, name: room, value: double}]
    - text: Booked
  utter_trip: [{text: "From {origin} to {target}"}]
  utter_hello: [{text: Hello}]
  utter_welcome_back: [{text: Welcome back}]
  utter_faq/hours: [{text: At nine}]
  utter_faq/price: [{text: Ten}]
  utter_never: [{text: Nobody says this}]
"""
NLU = """
nlu:
  - intent: greet
    examples: |
      - hello
  - intent: book
    examples: |
      - book
      - a [double](room) room
  - intent: travel
    examples: |
      - from [Bonn]{"entity": "city", "role": "from"} to [Rome]{"entity": "city", "role": "to"}
  - intent: affirm
    examples: |
      - yes
  - intent: deny
    examples: |
      - no
  - intent: faq/hours
    examples: |
      - when
  - intent: faq/price
    examples: |
      - how much
"""
RULES = """
rules:
  - rule: hello
    steps: [{intent: greet}, {action: utter_hello}]
  - rule: hello again
    condition: [{slot_was_set: [{room: double}]}]
    steps: [{intent: greet}, {action: utter_hello}, {action: utter_welcome_back}]
  - rule: travel
    steps: [{intent: travel}, {action: utter_trip}]
  - rule: faq
    steps: [{intent: faq}, {action: utter_faq}]
  - rule: begin
    steps: [{intent: book}, {action: book_form}, {active_loop: book_form}]
  - rule: end
    condition: [{active_loop: book_form}]
    steps: [{action: book_form}, {active_loop: null}, {slot_was_set: [{requested_slot: null}]}, {action: utter_booked}]
"""
STORIES = "stories:\n- story: one\n  steps: [{user: hello, intent: greet}, {action: utter_hello}]\n"


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Strength:
    root = small_bot(tmp_path_factory.mktemp("bot"), test_stories=STORIES)
    rules = RULES.replace("{action: utter_hello}, {action: utter_welcome_back}", "{action: utter_welcome_back}")
    rules = rules.replace("- rule: hello\n", "- rule: hello\n    condition: [{slot_was_set: [{room: null}]}]\n")
    for name, text in {"domain.yml": DOMAIN, "data/nlu.yml": NLU, "data/rules.yml": rules}.items():
        (root / name).write_text(text.lstrip(), encoding="utf-8")
    config = CONFIG.replace("RegexEntityExtractor", "ResponseSelector")
    (root / "config.yml").write_text(config.lstrip(), encoding="utf-8")
    return strength_of(root, changed={Path("domain.yml").as_posix(): range(1, 100)})


@pytest.mark.slow
@pytest.mark.parametrize(
    "what",
    [
        "'utter_booked' says something else",  # at the end of a form
        "a variation of 'utter_booked' without its condition",
        "'utter_welcome_back' says something else",  # behind the condition of a rule
        "'utter_faq/hours' says something else",
        "the slot 'origin' without its mapping from_entity",  # with a role
        "the slot 'target' without its mapping from_entity",
    ],
)
def test_what_a_user_can_meet_is_a_fault(tested: Strength, what: str) -> None:
    (mutant,) = [one for one in tested.mutants if one.what == what]

    assert mutant.outcome != "equivalent"


def test_either_answer_to_a_question_is_one(tested: Strength) -> None:
    lost = [one.outcome for one in tested.mutants if one.what == "the slot 'breakfast' without its mapping from_intent"]

    assert len(lost) == 2
    assert "equivalent" not in lost


def test_what_nobody_says_is_none(tested: Strength) -> None:
    (mutant,) = [one for one in tested.mutants if one.what == "'utter_never' says something else"]

    assert mutant.outcome == "equivalent"


def test_thresholds_of_the_fallback_policies_of_rasa_1_are_faults_where_a_sentence_is_in_between(
    tmp_path: Path,
) -> None:
    config = """
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: EmbeddingIntentClassifier
policies:
- name: MemoizationPolicy
- name: FallbackPolicy
  nlu_threshold: {threshold}
"""
    files = {
        "domain.yml": "intents: [greet, bye]\nactions: [utter_hi, utter_bye]\n"
        "responses:\n  utter_hi: [{text: hi}]\n  utter_bye: [{text: bye}]\n",
        "data/nlu.md": "## intent:greet\n- hello\n- hi there\n\n## intent:bye\n- bye\n- see you\n",
        "data/stories.md": "## a\n* greet\n  - utter_hi\n\n## b\n* bye\n  - utter_bye\n",
        "tests/test_stories.yml": "stories:\n- story: a\n  steps:\n  - intent: greet\n  - action: utter_hi\n",
    }
    outcomes = {}
    for threshold in (0.01, 1.0):
        root = tmp_path / str(threshold)
        for name, content in {**files, "config.yml": config.replace("{threshold}", str(threshold))}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(content, encoding="utf-8")
        for one in strength_of(root).mutants:
            if "nlu_threshold" in one.what:
                outcomes[one.what] = (one.outcome, one.location.line)

    name = "FallbackPolicy with nlu_threshold"
    assert outcomes[f"{name} 0.005 instead of 0.01"] == ("equivalent", 10)
    assert outcomes[f"{name} 0.5 instead of 1"] == ("survived", 10)
