"""What the messages of training stories teach the language understanding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.engines.embedded.engines import EmbeddedEngine
from turncheck.project.reader import read_project
from turncheck.project.story_sentences import with_story_sentences

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

DOMAIN = """
intents: [greet, book, faq]
entities: [city]
responses:
  utter_ok: [{text: ok}]
"""
CONFIG = """
pipeline: [{name: WhitespaceTokenizer}, {name: KeywordIntentClassifier}, {name: RegexEntityExtractor}]
policies: [{name: MemoizationPolicy}, {name: RulePolicy}]
"""
NLU = """
nlu:
- intent: greet
  examples: |
    - hello
- intent: book
  examples: |
    - book
- lookup: city
  examples: |
    - oslo
"""
STORIES = """
stories:
- story: by text and intent
  steps:
  - intent: greet
  - or:
    - user: "I go to [oslo]{\\"entity\\": \\"city\\", \\"role\\": \\"to\\"}"
      intent: book
    - user: "where to"
      intent: faq/where
  - action: utter_ok
  - user: "no intent at [oslo](city)"
  - action: utter_ok
  - user: '/book{"city": "oslo"}'
    intent: book
  - action: utter_ok
rules:
- rule: one
  steps:
  - user: travel
    intent: book
  - action: utter_ok
"""


def project(folder: Path, stories: str = STORIES) -> Project:
    (folder / "data").mkdir()
    for name, text in {
        "domain.yml": DOMAIN,
        "config.yml": CONFIG,
        "data/nlu.yml": NLU,
        "data/stories.yml": stories,
    }.items():
        (folder / name).write_text(text)
    return read_project(folder)


def test_messages_with_text_and_intent_are_sentences_sorted_by_intent(tmp_path: Path) -> None:
    read = project(tmp_path)
    taught = with_story_sentences(read)
    assert taught.nlu.examples[:2] == read.nlu.examples
    assert [(one.text, one.intent) for one in taught.nlu.examples[2:]] == [
        ("I go to oslo", "book"),
        ("travel", "book"),
        ("where to", "faq"),
    ]
    entity = taught.nlu.examples[2].entities[0]
    assert (entity.start, entity.end, entity.entity, entity.value, entity.role) == (8, 12, "city", "oslo", "to")
    assert [str(one.location) for one in taught.nlu.examples[2:4]] == ["data/stories.yml:7:7", "data/stories.yml:20:5"]


def test_stories_by_intents_alone_teach_no_sentence(tmp_path: Path) -> None:
    read = project(tmp_path, "stories:\n- story: s\n  steps: [{intent: greet}, {action: utter_ok}]\n")
    assert with_story_sentences(read) is read


def test_an_entity_that_only_a_story_annotates_is_recognised_as_after_rasa_train(tmp_path: Path) -> None:
    nlu = EmbeddedEngine(project(tmp_path), seed=0).nlu
    assert nlu is not None
    (parse,) = nlu.parse(["travel to oslo"])
    assert parse.intent.name == "book"
    assert [(entity.entity, entity.value) for entity in parse.entities] == [("city", "oslo")]
