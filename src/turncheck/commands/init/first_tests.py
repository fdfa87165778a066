"""First tests of an assistant, made from its own rules and stories: a person must read each before it is used."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.project.model import Project, Story


STORIES_FILE: Final = "tests/test_stories.yml"
SENTENCES_FILE: Final = "tests/held_out_sentences.template"
SUITE_FILE: Final = "tests/first_suite.csv"
_MOST: Final = 3
_MOST_CASES: Final = 30
_READ: Final = "# Made by `turncheck init` from what the assistant is trained on. Read it: is this what should happen?"
_TRAINED_ON: Final = "  # turncheck: ignore test-sentence-in-training - until you put it in other words"
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


class Turn(NamedTuple):
    """What the user says ("" where no sentence is known), with its intent, and how the assistant answers."""

    text: str
    intent: str
    responses: tuple[str, ...]


class Dialogue(NamedTuple):
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
    from turncheck.project.testfiles import E2E_CASES_FILE, find_e2e_cases, find_test_nlu, find_test_stories

    if project.platform.names_all:
        return _first_suite(project)
    if project.native is not None:
        return {}
    dialogues = dialogues_of(project)[:_MOST]
    files: dict[str, str] = {}
    if dialogues and not find_test_stories(project.root):
        files[STORIES_FILE] = _stories(dialogues)
    if dialogues and dialogues[0].is_in_sentences and not find_e2e_cases(project.root):
        files[E2E_CASES_FILE] = _cases(dialogues)
    if not find_test_nlu(project.root):
        intent = next(iter(sorted({example.intent for example in project.nlu.examples if example.intent})), "…")
        files[SENTENCES_FILE] = _SENTENCES.format(intent=intent.replace("\n", " "))
    return files


def _first_suite(project: Project) -> dict[str, str]:
    """Return a batch suite of generated cases, which are marked, for an export that has no suite.

    What only the platform can judge is not among them: the first run is one with the engine that stands in for it.
    """
    from turncheck.evaluations.batch.suggested import suggest_cases  # few projects are exports
    from turncheck.project.batch.reader import find_suites
    from turncheck.project.batch.writer import write_suite

    if find_suites(project.root):
        return {}
    cases = [case for case in suggest_cases(project, most=_MOST_CASES).cases if not case.parent]
    return {SUITE_FILE: write_suite(cases, ".csv")} if cases else {}


def dialogues_of(project: Project) -> list[Dialogue]:
    """Return the rules and stories that can be written in sentences of the training data, in their order.

    Where there are none, as without training data, those that can be written in intents.
    """
    sentences: dict[str, str] = {}
    for example in project.nlu.examples:
        text = example.text.strip()
        if example.intent and text and not example.entities and text.isprintable() and not text.startswith("/"):
            sentences.setdefault(example.intent, text)
    return _told_in(sentences, project) or _told_in(dict.fromkeys(project.domain.intents, ""), project)


def _told_in(sentences: Mapping[str, str], project: Project) -> list[Dialogue]:
    """Return the rules and stories whose intents have sentences, one for each intent that they begin with."""
    responses = set(project.domain.responses)
    dialogues: list[Dialogue] = []
    for story in (*project.rules, *project.stories):
        turns = tuple(_turns(story, sentences, responses))
        known = {dialogue.turns[0].intent for dialogue in dialogues}
        if turns and turns[0].intent not in known and not story.condition and not story.conversation_start:
            dialogues.append(Dialogue(story.name, story.kind, turns))
    return dialogues


def _turns(story: Story, sentences: Mapping[str, str], responses: set[str]) -> Iterator[Turn]:
    """Yield the turns of a story, none where a step is anything but a plain intent or a response.

    A rule that does not wait for the user yields none either: other rules say what follows.
    """
    from turncheck.project.model import ActionStep, UserStep

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
            said = [
                f"  - user: |-{_trained_on(turn.text)}",
                f"      {_plain(turn.text)}",
                f"    intent: {_quoted(turn.intent)}",
            ]
            lines += said if turn.text else [f"  - intent: {_quoted(turn.intent)}"]
            lines += [f"  - action: {_quoted(name)}" for name in turn.responses]
    return "\n".join(lines) + "\n"


def _cases(dialogues: list[Dialogue]) -> str:
    lines = [_READ, "test_cases:"]
    for dialogue in dialogues:
        lines += [f"- test_case: {_quoted(dialogue.name)}", "  steps:"]
        for turn in dialogue.turns:
            lines.append(f"  - user: {_quoted(turn.text)}{_trained_on(turn.text)}")
            lines += [f"  - utter: {_quoted(name)}" for name in turn.responses]
    return "\n".join(lines) + "\n"


def _trained_on(text: str) -> str:
    """The comment beside a sentence of the training data, which tests only the dialogue; one word is not reported."""
    return _TRAINED_ON if len(text.split()) > 1 else ""


def _plain(text: str) -> str:
    """A sentence whose brackets would be annotations is not chosen; blanks at its ends are gone already."""
    return text.replace("[", "\\[")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
