"""First tests of an assistant, made from its own rules and stories: a person must read each before it is used."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.project.model import ActionStep, UserStep
from turncheck.project.testfiles import E2E_CASES_FILE, TESTS_FOLDER, find_e2e_cases, find_test_nlu, find_test_stories

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.project.model import Project, Story

STORIES_FILE: Final = f"{TESTS_FOLDER}/test_stories.yml"
SENTENCES_FILE: Final = f"{TESTS_FOLDER}/held_out_sentences.template"
_MOST: Final = 3
_READ: Final = "# Made by `turncheck init` from what the assistant is trained on. Read it: is this what should happen?"
_SENTENCES: Final = """\
# Sentences that the assistant is not trained on: what users really write shows how well they are understood.
# Fill it in, and rename it to test_nlu.yml. A sentence of the training data proves nothing here.
#
# version: "3.1"
# nlu:
# - intent: {intent}
#   examples: |
#     - …
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """What the user says ("" where no sentence is known), with its intent, and how the assistant answers."""

    text: str
    intent: str
    responses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue of only sentences and responses, and the rule or story it comes from."""

    name: str
    kind: str
    turns: tuple[Turn, ...]

    @property
    def is_in_sentences(self) -> bool:
        """Whether it can be written in sentences."""
        return all(turn.text for turn in self.turns)


def first_tests(project: Project) -> dict[str, str]:
    """Return files by their paths in the project, of each kind of test that it does not have yet."""
    found = dialogues_of(project)[:_MOST]
    files: dict[str, str] = {}
    if found and not find_test_stories(project.root):
        files[STORIES_FILE] = _stories(found)
    if found and found[0].is_in_sentences and not find_e2e_cases(project.root):
        files[E2E_CASES_FILE] = _cases(found)
    if project.kind.has_pipeline and not find_test_nlu(project.root):  # Kore.ai's suites are its test sentences
        intent = next(iter(sorted({one.intent for one in project.nlu.examples if one.intent})), "…")
        files[SENTENCES_FILE] = _SENTENCES.format(intent=intent.replace("\n", " "))
    return files


def dialogues_of(project: Project) -> list[Dialogue]:
    """Return the rules and stories that can be written in sentences of the training data, in their order.

    Where there are none, as without training data, those that can be written in intents.
    """
    sentences: dict[str, str] = {}
    for one in project.nlu.examples:
        text = one.text.strip()
        if one.intent and text and not one.entities and text.isprintable() and not text.startswith("/"):
            sentences.setdefault(one.intent, text)
    return _told_in(sentences, project) or _told_in(dict.fromkeys(project.domain.intents, ""), project)


def _told_in(sentences: Mapping[str, str], project: Project) -> list[Dialogue]:
    """Return the rules and stories whose intents have sentences, one for each intent that they begin with."""
    responses = set(project.domain.responses)
    found: list[Dialogue] = []
    for story in (*project.rules, *project.stories):
        turns = tuple(_turns(story, sentences, responses))
        known = {dialogue.turns[0].intent for dialogue in found}
        if turns and turns[0].intent not in known and not story.condition and not story.conversation_start:
            found.append(Dialogue(story.name, story.kind, turns))
    return found


def _turns(story: Story, sentences: Mapping[str, str], responses: set[str]) -> Iterator[Turn]:
    """Yield the turns of a story, none where a step is anything but a plain intent or a response.

    A rule that does not wait for the user yields none either: other rules say what follows.
    """
    if not story.wait_for_user_input:
        return
    turns: list[tuple[str, list[str]]] = []
    for step in story.steps:
        if isinstance(step, UserStep) and step.intent and step.intent in sentences and not (step.text or step.entities):
            turns.append((step.intent, []))
        elif isinstance(step, ActionStep) and step.action in responses and turns:
            turns[-1][1].append(step.action)
        else:
            return
    if all(actions for _, actions in turns):
        for intent, actions in turns:
            yield Turn(sentences[intent], intent, tuple(actions))


def _stories(dialogues: list[Dialogue]) -> str:
    lines = [_READ, 'version: "3.1"', "stories:"]
    for dialogue in dialogues:
        lines += [f"- story: {_quoted(dialogue.name)}", "  steps:"]
        for turn in dialogue.turns:
            said = ["  - user: |-", f"      {_plain(turn.text)}", f"    intent: {_quoted(turn.intent)}"]
            lines += said if turn.text else [f"  - intent: {_quoted(turn.intent)}"]
            lines += [f"  - action: {_quoted(name)}" for name in turn.responses]
    return "\n".join(lines) + "\n"


def _cases(dialogues: list[Dialogue]) -> str:
    lines = [_READ, "test_cases:"]
    for dialogue in dialogues:
        lines += [f"- test_case: {_quoted(dialogue.name)}", "  steps:"]
        for turn in dialogue.turns:
            lines.append(f"  - user: {_quoted(turn.text)}")
            lines += [f"  - utter: {_quoted(name)}" for name in turn.responses]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """A sentence whose brackets would be annotations is not chosen; blanks at its ends are gone already."""
    return text.replace("[", "\\[")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
