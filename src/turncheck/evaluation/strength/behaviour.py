"""Whether a mutant behaves differently from the original at all, on the project's own sentences, stories and forms."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.training import training_trackers
from turncheck.evaluation.story_run import run_story
from turncheck.evaluation.strength.talks import Annotated, Message, Talk, talks_of
from turncheck.messages.errors import UserError
from turncheck.project.story_sentences import with_story_sentences
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.engines.conversation import Conversation
    from turncheck.engines.parse import Parse
    from turncheck.engines.workshop import Trained
    from turncheck.evaluation.strength.mutant import Mutant
    from turncheck.project.model import Project, Response
    from turncheck.project.nlu_data import Example

_MOST_TALKS: Final = 1000
"""At most this many conversations are compared."""


@dataclass
class Behaviour:
    """How the original behaves, computed once on demand.

    Compared are the NLU on all training sentences; decisions at each step of the training stories and rules; the
    responses in them; conversations along them, and each message in each situation (:mod:`talks`).
    """

    original: Trained
    _heard: dict[int, Any] = field(default_factory=dict)

    def is_that_of(self, mutated: Trained, mutant: Mutant) -> bool:
        """Whether the mutant cannot be distinguished from the original."""
        if mutant.operator.trains == "nlu":
            return self._understands_alike(mutated)
        if mutant.operator.trains == "policies" and not self._decides_alike(mutated):
            return False
        if mutant.operator.kind == "config" and not self._answers_alike(mutated):
            return False
        if self.said & _changed_responses(self.original.project, mutant.project):
            return False
        return all(self._held(number) == _hold(mutated, self.talks[number]) for number in self._telling(mutant))

    def _telling(self, mutant: Mutant) -> list[int]:
        """Return the indexes of the talks to compare, with those about what was changed first."""
        order = sorted(range(len(self.talks)), key=lambda number: -len(self._reach[number] & mutant.touched))
        return order[:_MOST_TALKS]

    @cached_property
    def _reach(self) -> list[frozenset[str]]:
        return [talk.reach for talk in self.talks]

    def _understands_alike(self, mutated: Trained) -> bool:
        if self.original.nlu is None or mutated.nlu is None:
            return self.original.nlu is mutated.nlu
        texts = [example.text for example in with_story_sentences(self.original.project).nlu.examples]
        pairs = zip(self.original.nlu.parse(texts), mutated.nlu.parse(texts), strict=True)
        return all(_understood(one) == _understood(other) for one, other in pairs)

    def misread(self, mutated: Trained) -> Iterator[Example]:
        """Yield the training sentences with an intent that only the mutant does not understand as annotated."""
        if self.original.nlu is None:
            return
        examples = [one for one in self.original.project.nlu.examples if one.intent and not one.text.startswith("/")]
        texts = [one.text for one in examples]
        heard = mutated.nlu.parse(texts) if mutated.nlu is not None else [None] * len(texts)
        for example, before, now in zip(examples, self.original.nlu.parse(texts), heard, strict=True):
            wanted = sorted((one.entity, str(one.value)) for one in example.entities)
            found = sorted((one.entity, str(one.value)) for one in before.entities)
            is_right = before.intent.name == example.base_intent and wanted == found
            if is_right and (now is None or _understood(before) != _understood(now)):
                yield example

    def _decides_alike(self, mutated: Trained) -> bool:
        return self.decisions == decisions_of(mutated, self.original.project)

    def _answers_alike(self, mutated: Trained) -> bool:
        """Whether each training sentence, with its confidence, is answered in the same way.

        Only the fallback policies of Rasa 1 and 2 look at the confidence.
        """
        if self.original.project.older is None or self.original.nlu is None:
            return True
        return self._answers == _answers(mutated, self._sentences)

    @cached_property
    def _sentences(self) -> dict[str, Parse]:
        """The parses of the training sentences."""
        nlu = self.original.nlu
        texts = [one.text for one in self.original.project.nlu.examples if one.intent and not one.text.startswith("/")]
        return {parse.text: parse for parse in nlu.parse(list(dict.fromkeys(texts)))} if nlu is not None else {}

    @cached_property
    def _answers(self) -> list[Any]:
        return _answers(self.original, self._sentences)

    @cached_property
    def decisions(self) -> list[list[tuple[str, str]]]:
        """The original's actions at each step of its stories and rules."""
        return decisions_of(self.original, self.original.project)

    @cached_property
    def talks(self) -> list[Talk]:
        """The conversations that are compared."""
        return talks_of(self.original.project)

    @cached_property
    def said(self) -> frozenset[str]:
        """The responses that occur in stories and rules, as questions of forms, and for retrieval intents."""
        done = {action for story in self.decisions for action, _ in story}
        project = self.original.project
        for form in project.domain.forms.values():
            for slot in form.required_slots:
                own = f"utter_ask_{form.name}_{slot}"
                done.add(own if own in project.domain.responses else f"utter_ask_{slot}")
        chosen = {f"utter_{example.intent}" for example in project.nlu.examples if example.retrieval_label}
        return frozenset(done | {key for key in chosen if key.partition("/")[0] in done})

    def _held(self, number: int) -> Any:
        if number not in self._heard:
            self._heard[number] = _hold(self.original, self.talks[number])
        return self._heard[number]


def decisions_of(trained: Trained, project: Project) -> list[list[tuple[str, str]]]:
    """Return the action at each step of a project's stories and rules."""
    ensemble = trained.ensemble
    if ensemble is None:
        return []
    trackers = training_trackers(project, ensemble.domain, augmentation=0)
    return [run_story(tracker, ensemble, None).actions for tracker in trackers.all]


def _understood(parse: Parse) -> tuple[Any, ...]:
    entities = sorted(
        (one.start, one.end, one.entity, one.role or "", one.group or "", str(one.value)) for one in parse.entities
    )
    chosen = sorted((name, one.intent_response_key or "") for name, one in parse.responses.items())
    return parse.intent.name, entities, chosen


def _changed_responses(original: Project, mutated: Project) -> set[str]:
    """Return the names of the responses that differ."""
    before, now = original.domain.responses, mutated.domain.responses
    return {name for name, response in before.items() if _contents(response) != _contents(now.get(name))}


def _contents(response: Response | None) -> list[Any]:
    return [one.content for one in response.variations] if response else []


def _hold(trained: Trained, talk: Talk) -> Any:
    """Return the outcome of a conversation: messages, slots and the active form, turn by turn."""
    return _held(trained, {message.text: message.parse for message in talk.messages}, talk)


def _answers(trained: Trained, sentences: dict[str, Parse]) -> list[Any]:
    """Return the outcome of each sentence at the start of a conversation."""
    return [_held(trained, sentences, Talk((Message(text, ""),))) for text in sentences]


def _held(trained: Trained, known: dict[str, Parse], talk: Talk) -> Any:
    understood = Annotated(EngineInfo(name="annotated", version=""), known=known)
    try:
        conversation = trained.conversation(understood, talk.before)
        return None if conversation is None else [_turn(conversation, message.text) for message in talk.messages]
    except UserError as error:
        return str(error)


def _turn(conversation: Conversation, text: str) -> tuple[Any, ...]:
    turn = conversation.say(text)
    done: Sequence[Any] = [event.get("name") for event in turn.events if event.get("event") == "action"]
    return list(turn.responses), dict(turn.slots), turn.active_loop, done, turn.stopped
