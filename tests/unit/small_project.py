"""A small, faultless project to be broken in one place: for the tests of validation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.project.reader import read_project
from turncheck.validation.pipeline import Validated, validate

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

DOMAIN = """\
version: "3.1"
intents:
- greet
- goodbye
- order
- faq
entities:
- size
- city:
    roles:
    - from
    - to
slots:
  size:
    type: categorical
    values:
    - small
    - large
    mappings:
    - type: from_entity
      entity: size
forms:
  pizza_form:
    required_slots:
    - size
responses:
  utter_greet:
  - text: "Hello!"
    buttons:
    - title: "A large one"
      payload: '/order{"size": "large"}'
  utter_goodbye:
  - text: "Bye!"
  utter_done:
  - text: "Your {size} pizza is on its way."
  utter_faq/hours:
  - text: "From nine to five."
  utter_ask_size: [{text: "Which size?"}]
actions:
- action_bake
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello there
    - good morning to you
- intent: goodbye
  examples: |
    - see you later
    - have a nice evening
- intent: order
  examples: |
    - I want a [large](size) pizza
    - bring me something [small](size) please
    - deliver from [Rome]{"entity": "city", "role": "from"} to [Oslo]{"entity": "city", "role": "to"}
- intent: faq/hours
  examples: |
    - when do you open
    - what are the opening hours
"""
STORIES = """\
version: "3.1"
stories:
- story: greet and order
  steps:
  - intent: greet
  - action: utter_greet
  - intent: order
    entities:
    - size: large
  - slot_was_set:
    - size: large
  - action: pizza_form
  - active_loop: pizza_form
  - active_loop: null
  - action: action_bake
  - action: utter_done
"""
RULES = """\
version: "3.1"
rules:
- rule: say goodbye
  steps:
  - intent: goodbye
  - action: utter_goodbye
- rule: answer questions
  steps:
  - intent: faq
  - action: utter_faq
"""
CONFIG = """\
recipe: default.v1
language: en
assistant_id: small-pizza
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
- name: EntitySynonymMapper
- name: ResponseSelector
policies:
- name: MemoizationPolicy
- name: RulePolicy
"""
FILES = {
    "domain.yml": DOMAIN,
    "data/nlu.yml": NLU,
    "data/stories.yml": STORIES,
    "data/rules.yml": RULES,
    "config.yml": CONFIG,
}


def write_project(folder: Path, *edits: tuple[str, str, str], **more: str) -> Path:
    """Write the project with some texts replaced: (file, old, new); ``old`` "" appends. ``more``: further files."""
    files = {**FILES, **more}
    for name, old, new in edits:
        before = files.get(name, "")
        assert old in before, (name, old)
        files[name] = before.replace(old, new, 1) if old else before + new
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, *edits: tuple[str, str, str], **more: str) -> Project:
    """Write and read the project."""
    return read_project(write_project(folder, *edits, **more))


def checked(folder: Path, *edits: tuple[str, str, str], **more: str) -> Validated:
    """Write, read and strictly check the project."""
    return validate(read(folder, *edits, **more), strict=True)


def places(validated: Validated, code: str) -> list[str]:
    """Where findings of a code stand."""
    return [str(finding.location) for finding in validated.findings if finding.code == code]
