"""Which lines a change touches: what git says of it, and what holds a line."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.ci.diff import LinesOfChange
from turncheck.ci.git import Checkout, OtherState
from turncheck.evaluations.strength.faults import mutants_of
from turncheck.project.reader import read_project
from turncheck.run.inputs import touched_lines

CONFIG = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
- name: FallbackClassifier
  # how sure it has to be
  threshold: 0.4
policies:
- name: RulePolicy
"""
DOMAIN = """\
version: "3.1"
intents: [greet, bye]
entities: [size, crust]
slots:
  size:
    type: categorical
    values:
    - small
    - large
    mappings:
    - type: from_entity
      entity: size
  crust:
    type: text
    mappings:
    - type: from_entity
      entity: crust
forms:
  order_form:
    required_slots:
    - size
    - crust
responses:
  utter_hello:
  - text: |-
      Hello,
      what can I do?
    buttons:
    - title: Order
      payload: /order
  utter_bye:
  - text: Bye
"""
RULES = """\
version: "3.1"
rules:
- rule: hello
  steps:
  - intent: greet
  - action: utter_hello
- rule: bye
  steps:
  - intent: bye
  - action: utter_hello
  - action: utter_bye
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - a [small](size) hello
    - hi [big](size) one
    - [tiny](size) hi
- intent: bye
  examples: |
    - bye
    - see you
- lookup: size
  examples: |
    - small
    - large
"""


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    for name, text in {
        "config.yml": CONFIG,
        "domain.yml": DOMAIN,
        "data/rules.yml": RULES,
        "data/nlu.yml": NLU,
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(root: Path, *command: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=root, check=True)


def commit(root: Path) -> None:
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")


def edit(root: Path, name: str, before: str, after: str) -> None:
    text = (root / name).read_text("utf-8")
    assert text.count(before) == 1, before
    (root / name).write_text(text.replace(before, after), encoding="utf-8")


def planted(root: Path) -> set[str]:
    """Return what the mutants of the changed lines are."""
    lines = {
        path.relative_to(root).as_posix(): touched_lines(changed, path)
        for path, changed in Checkout(root).changed_lines(OtherState("HEAD"), root).items()
    }
    return {mutant.what for mutant in mutants_of(read_project(root), 42, lines)}


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        (
            "config.yml", "threshold: 0.4", "threshold: 0.6",
            {
                "FallbackClassifier with threshold 0.3 instead of 0.6",
                "FallbackClassifier with threshold 0.8 instead of 0.6",
                "FallbackClassifier with ambiguity_threshold 0.05 instead of 0.1",
                "FallbackClassifier with ambiguity_threshold 0.55 instead of 0.1",
                "without FallbackClassifier",
            },
        ),
        ("domain.yml", "- large", "- huge", {"the value 'huge' of the slot 'size' is called 'huge_x'"}),
        (
            "domain.yml", "    - size\n    - crust", "    - size\n    - topping",
            {"the form 'order_form' without 'topping'"},
        ),
        (
            "domain.yml", "      entity: crust", "      entity: size",
            {"the slot 'crust' without its mapping from_entity"},
        ),
        (
            "domain.yml", "what can I do?", "what may I do?",
            {"'utter_hello' says something else", "'utter_bye' and 'utter_hello' are swapped"},
        ),
        (
            "domain.yml", "title: Order", "title: Buy",
            {"'utter_hello' says something else", "'utter_bye' and 'utter_hello' are swapped"},
        ),
        (
            "data/rules.yml", "  - intent: bye\n  - action: utter_hello\n", "  - intent: bye\n",
            {"rule 'bye' without the message 'bye'", "rule 'bye' without 'utter_bye'"},
        ),
        (
            "data/nlu.yml", "a [small](size) hello", "one [small](size) hello",
            {
                "'small' is not annotated as 'size'", "no sentence annotates 'size'", "'greet' has no sentences",
                "'greet' has 2 sentences instead of 4",
            },
        ),
        ("data/nlu.yml", "    - large", "    - medium", {"without the lookup table 'size'"}),
        (
            "data/nlu.yml", "- intent: bye", "- intent: farewell",
            {"'farewell' has no sentences"},
        ),
        (
            "data/nlu.yml", "- intent: greet", "- intent: hello",
            {
                "'hello' has no sentences", "'hello' has 2 sentences instead of 4", "no sentence annotates 'size'",
                "'small' is not annotated as 'size'", "'tiny' is not annotated as 'size'",
            },
        ),
        (
            "domain.yml", "  order_form:", "  buy_form:",
            {"the form 'buy_form' without 'size'", "the form 'buy_form' without 'crust'"},
        ),
        ("domain.yml", "\n  crust:", "\n  rim:", {"the slot 'rim' without its mapping from_entity"}),
        ("domain.yml", "\nslots:", "\nslots:  # of a pizza", set()),
        ("data/rules.yml", "- rule: hello", "- rule: good day", set()),
    ],
)  # fmt: skip
def test_the_mutants_of_an_edit(bot: Path, name: str, before: str, after: str, expected: set[str]) -> None:
    edit(bot, name, before, after)

    assert planted(bot) == expected


def test_a_file_that_is_only_moved_has_no_changed_lines(bot: Path) -> None:
    git(bot, "mv", "data/rules.yml", "data/all_rules.yml")
    assert planted(bot) == set()

    edit(
        bot, "data/all_rules.yml", "- intent: greet\n  - action: utter_hello", "- intent: greet\n  - action: utter_bye"
    )
    assert planted(bot) == {"rule 'hello' without 'utter_bye'"}


def test_the_name_of_an_intent_in_markdown(tmp_path: Path) -> None:
    path = tmp_path / "nlu.md"
    path.write_text(
        "## intent:hello\n- hi\n- hey\n\n## intent:bye\n- bye\n## some story\n* bye\n  - utter_bye\n", "utf-8"
    )

    assert touched_lines(LinesOfChange(frozenset({1})), path) == {1, 2, 3, 4}
    assert touched_lines(LinesOfChange(frozenset({7})), path) == {7}
    assert touched_lines(LinesOfChange(beside=frozenset({5})), path) == {5}


def test_a_name_beside_which_a_line_is_gone_is_not_new(bot: Path, golden: Golden) -> None:
    edit(bot, "data/nlu.yml", "    - bye\n", "")

    golden(*planted(bot))


def test_a_line_that_looks_like_a_files_name(bot: Path) -> None:
    edit(bot, "data/rules.yml", 'version: "3.1"\n', 'version: "3.1"\n++ data/nlu.yml\n@@ -1 +1,40 @@\n')

    assert Checkout(bot).changed_lines(OtherState("HEAD"), bot) == {
        bot / "data/rules.yml": LinesOfChange(frozenset({2, 3}))
    }


def test_attributes_of_the_change_hide_nothing(bot: Path, golden: Golden) -> None:
    (bot / ".gitattributes").write_text("*.yml binary\n", encoding="utf-8")
    commit(bot)
    edit(bot, "domain.yml", "text: Bye", "text: Goodbye")

    golden(*sorted(planted(bot)))


def test_a_file_that_is_gone(bot: Path) -> None:
    (bot / "data/rules.yml").unlink()

    assert Checkout(bot).changed_lines(OtherState("HEAD"), bot) == {}
