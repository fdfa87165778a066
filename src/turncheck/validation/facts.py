"""What a project's parts name and define, collected once for all checks, and which parts cannot be relied on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, get_args

from turncheck.dialogue.domain import (
    ACTION_DEACTIVATE_FORM,
    ACTION_QUERY_KNOWLEDGE_BASE,
    ACTION_RESET_ROUTING,
    DEFAULT_ACTIONS,
    DEFAULT_INTENTS,
    KNOWLEDGE_BASE_SLOTS,
    SLOT_REQUESTED,
    SLOT_ROUTED_TO_FLOWS,
    SLOT_SESSION_METADATA,
    DialogueDomain,
)
from turncheck.dialogue.training import TooManyDialoguesError, Trackers, training_trackers
from turncheck.project import model
from turncheck.project.candidates import DEFAULT_DATA
from turncheck.project.code_uses import CodeUse, uses_in_code
from turncheck.project.rasa_version import NEWEST
from turncheck.project.testfiles import CodeNames, names_in_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.messages.finding import Location
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.nlu_data import Example
    from turncheck.project.project_file import ProjectFile


# The dialogues that a project's stories and rules make, as training sees them.


class Dialogues(NamedTuple):
    """The training dialogues of a project, without augmentation, and the domain that they were read with.

    ``refused``: why there are none, if there are too many to list.
    """

    domain: DialogueDomain
    trackers: Trackers
    refused: TooManyDialoguesError | None = None

    @classmethod
    def of(cls, project: model.Project) -> Dialogues:
        """Return the dialogues of all stories and rules."""
        domain = DialogueDomain.of(project)
        try:
            return cls(domain, training_trackers(project, domain, augmentation=0))
        except TooManyDialoguesError as error:
            return cls(domain, Trackers((), (), joined=error.joined), error)


Part = Literal["domain", "nlu", "stories", "config", "responses"]
"""A part of a project that may be incomplete; ``responses``: those that NLU files define."""


def missing_parts(project: model.Project) -> frozenset[Part]:
    """Return the parts that are incomplete."""
    parts: set[Part] = {part for part in get_args(Part) if part in project.unreadable}
    options: tuple[Part, ...] = ("domain", "config")
    for option in options:
        if any(finding.code == f"{option}-not-found" for finding in project.findings):
            parts.add(option)
    if any(file.has_nlu and "responses" in file.kinds and not file.is_complete for file in project.files):
        parts.add("responses")
    return frozenset(parts)


def _parts_elsewhere(project: model.Project) -> frozenset[Part]:
    """The parts that are in files which the project would have to name."""
    found = any(one.code == "data-not-found" and one.location.path == DEFAULT_DATA for one in project.findings)
    return frozenset({"nlu", "responses", "stories"}) if found else frozenset()


UTTER = "utter_"


class Labelled(Protocol):
    """A sentence with an intent; its place is computed on demand."""

    @property
    def text(self) -> str | None:
        """The plain text."""

    @property
    def base_intent(self) -> str | None:
        """The intent without its response key."""

    @property
    def location(self) -> Location:
        """Where it is."""


class ProjectTests(NamedTuple):
    """Test stories, NLU test sentences and end-to-end test cases, to be compared with the training data."""

    stories: Sequence[model.Story] = ()
    examples: Sequence[Example] = ()
    cases: Sequence[E2ECase] = ()

    @property
    def files(self) -> list[str]:
        """The paths of the files they are in, sorted."""
        locations = [test.location for tests in (self.stories, self.examples) for test in tests]
        locations += [case.location for case in self.cases]
        return sorted({location.path for location in locations})

    def user_steps(self) -> Iterator[model.UserStep]:
        """The user steps of the test stories, alternatives among them."""
        steps = (step for story in self.stories for step in _opened(story.steps))
        return (step for step in steps if isinstance(step, model.UserStep))


@dataclass(frozen=True, eq=False)  # nobody compares them
class Facts:
    """A project, indexed by names, and what it is checked against.

    ``blocks`` are all stories and rules, in the order of their names.
    ``steps`` are their steps with the block they are in; conditions come first, alternatives are expanded.
    ``intents``, ``actions`` and ``utterances`` are what Rasa counts as known, including the default ones and those
    that retrieval intents imply; ``entities``, ``slots``, ``responses`` and ``forms`` are what the domain names.
    ``labelled`` are all sentences with an intent: the NLU examples, and user steps of stories that have both a text and
    an intent, which Rasa trains on as well. An example without text is not among them, but it makes a retrieval intent
    nevertheless.

    ``tests`` are compared with the training data; ``max_history``: how many states the story structure check looks back
    at, ``None``: all; ``stories_only``: only story structure and configuration are checked; ``as_rasa``: what Rasa
    reports once for each file is reported so, not once for all.
    """

    project: model.Project
    blocks: tuple[model.Story, ...]
    steps: tuple[tuple[model.Story, model.Step], ...]
    retrieval_intents: Mapping[str, Location]
    intents: frozenset[str]
    actions: frozenset[str]
    utterances: frozenset[str]
    entities: frozenset[str]
    slots: frozenset[str]
    responses: frozenset[str]
    forms: frozenset[str]
    labelled: tuple[Labelled, ...]
    nlu_intents: Mapping[str, Location]
    story_intents: Mapping[str, model.UserStep]
    bot_texts: Mapping[str, Location]
    tests: ProjectTests = field(default_factory=ProjectTests)
    max_history: int | None = None
    stories_only: bool = False
    as_rasa: bool = False

    @cached_property
    def missing(self) -> frozenset[Part]:
        """The parts of the project that are incomplete."""
        # Rasa does not know that there are data where nothing looks for them.
        return missing_parts(self.project) | (frozenset() if self.as_rasa else _parts_elsewhere(self.project))

    @cached_property
    def dialogues(self) -> Dialogues | None:
        """The dialogues of stories and rules, if these and their domain could be read."""
        if "domain" in self.missing or not self.blocks:
            return None
        return Dialogues.of(self.project)

    @cached_property
    def code(self) -> CodeNames:
        """The names in the project's Python code; it is read only when something asks for them."""
        return names_in_code(self.project.root)

    @cached_property
    def code_uses(self) -> tuple[CodeUse, ...]:
        """What the project's Python code uses of the assistant, likewise."""
        return uses_in_code(self.project.root)

    @cached_property
    def retrieval_labels(self) -> frozenset[str]:
        """The keys of retrieval intents that there are examples for, such as ``faq/hours``."""
        labels = (example.intent for example in self.project.nlu.examples)
        return frozenset(label for label in labels if label and "/" in label)

    @property
    def has_valid_max_history(self) -> bool:
        """Whether ``max_history`` is a number of states to look back at, or ``None``."""
        return self.max_history is None or self.max_history >= 1

    @property
    def default_slots(self) -> frozenset[str]:
        """The slots that Rasa adds to the domain."""
        added = {SLOT_SESSION_METADATA} | ({SLOT_REQUESTED} if self.domain.forms else set())
        if ACTION_QUERY_KNOWLEDGE_BASE in self.actions:
            added.update(KNOWLEDGE_BASE_SLOTS)
        return frozenset(added)

    @property
    def has_nlu_responses(self) -> bool:
        """Whether an NLU file defines responses."""
        files = read_data_files(self.project)
        return any(file.has_nlu and file.mapping and file.mapping.items.get("responses") for file in files)

    @property
    def domain(self) -> model.Domain:
        """The project's domain."""
        return self.project.domain

    def user_steps(self) -> Iterator[tuple[model.Story, model.UserStep]]:
        """All user steps with their block."""
        return ((block, step) for block, step in self.steps if isinstance(step, model.UserStep))

    def action_steps(self) -> Iterator[tuple[model.Story, model.ActionStep]]:
        """All steps that name an action, with their block; empty ones, which Rasa skips, are left out."""
        return ((block, step) for block, step in self.steps if isinstance(step, model.ActionStep) and step.action)

    def loop_steps(self) -> Iterator[tuple[model.Story, model.ActiveLoopStep]]:
        """All steps that activate a loop, with their block; those that end one are left out."""
        return ((block, step) for block, step in self.steps if isinstance(step, model.ActiveLoopStep) and step.name)

    def slot_steps(self) -> Iterator[tuple[model.Story, model.SlotWasSetStep]]:
        """All slots that are set or asked for, including conditions of checkpoints, with their block."""
        for block, step in self.steps:
            if isinstance(step, model.SlotWasSetStep):
                yield block, step
            elif isinstance(step, model.CheckpointStep):
                yield from ((block, slot) for slot in step.slots)


def gather(
    project: model.Project,
    *,
    tests: ProjectTests | None = None,
    max_history: int | None = None,
    stories_only: bool = False,
    as_rasa: bool = False,
) -> Facts:
    """Look through a project once. Which of several sentences or stories a check names is no matter of their order."""
    in_files, project = project.nlu.examples, _in_canonical_order(project)
    domain = project.domain
    retrieval = {
        example.base_intent or "": example.location
        for example in reversed(in_files)
        if example.intent and "/" in example.intent
    }
    blocks = model.in_order_of_names((*project.stories, *project.rules))
    steps = tuple((block, step) for block in blocks for step in _opened((*block.condition, *block.steps)))
    bot_texts: dict[str, Location] = {}
    for _, step in steps:
        if isinstance(step, model.BotStep) and step.text:
            bot_texts.setdefault(step.text, step.location)
    story_intents: dict[str, model.UserStep] = {}
    for _, step in steps:
        if isinstance(step, model.UserStep) and step.intent is not None:
            story_intents.setdefault(step.intent.partition("/")[0], step)
    parts = [step for _, step in steps if isinstance(step, model.UserStep) and step.text and step.intent]
    labelled: tuple[Labelled, ...] = (*(e for e in project.nlu.examples if e.intent and e.text), *parts)
    nlu_intents: dict[str, Labelled] = {}
    in_reading_order: tuple[Labelled, ...] = (*(e for e in in_files if e.intent and e.text), *parts)
    for sentence in in_reading_order:
        nlu_intents.setdefault(sentence.base_intent or "", sentence)
    # If NLU data are missing, a response to a retrieval intent shows that the intent exists.
    answered = domain.responses if "nlu" in project.unreadable else ()
    told_of = {name.partition("/")[0].removeprefix(UTTER) for name in answered if "/" in name}
    named = [*domain.actions, *(UTTER + intent for intent in retrieval)]
    if domain.rasa < NEWEST:
        named.append(ACTION_DEACTIVATE_FORM)
    if SLOT_ROUTED_TO_FLOWS in domain.slots:
        named.append(ACTION_RESET_ROUTING)
    return Facts(
        project=project,
        blocks=blocks,
        steps=steps,
        retrieval_intents=retrieval,
        intents=frozenset((*domain.intents, *retrieval, *told_of, *DEFAULT_INTENTS)),
        actions=frozenset(
            (*DEFAULT_ACTIONS, *named, *domain.responses, *domain.forms, *domain.end_to_end_actions, *bot_texts)
        ),
        utterances=frozenset(name.partition("/")[0] for name in domain.responses),
        entities=frozenset(domain.entities),
        slots=frozenset(domain.slots),
        responses=frozenset(domain.responses),
        forms=frozenset(domain.forms),
        labelled=labelled,
        nlu_intents={intent: sentence.location for intent, sentence in nlu_intents.items()},
        story_intents=story_intents,
        bot_texts=bot_texts,
        tests=tests or ProjectTests(),
        max_history=max_history,
        stories_only=stories_only,
        as_rasa=as_rasa,
    )


def _in_canonical_order(project: model.Project) -> model.Project:
    return replace(
        project,
        nlu=project.nlu.in_order(),
        stories=model.in_order_of_names(project.stories),
        rules=model.in_order_of_names(project.rules),
    )


def _opened(steps: Iterable[model.Step]) -> Iterator[model.Step]:
    for step in steps:
        if isinstance(step, model.OrStep):
            for alternative in step.alternatives:
                yield from alternative
        else:
            yield step


def read_data_files(project: model.Project) -> list[ProjectFile]:
    """The data files, except those whose version is too high, which Rasa ignores."""
    skipped = {finding.location.path for finding in project.findings if finding.code == "version-too-high"}
    return [file for file in project.files if file.role == "data" and file.path not in skipped]
