"""An assistant's files, read and typed. Everything here has its :class:`~turncheck.messages.finding.Location`.

These classes hold data only. Reading is done by :mod:`turncheck.project.reader`.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec
from msgspec.structs import replace

from turncheck.messages.finding import NOWHERE, Finding, Location
from turncheck.messages.value_classes import field_names
from turncheck.platforms.registry import DEFAULT
from turncheck.project.nlu_data import Example, NluData
from turncheck.project.rasa_version import NEWEST, RasaVersion

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from turncheck.platforms.base import Platform
    from turncheck.project.batch.model import KnownNames
    from turncheck.project.project_file import ProjectFile
    from turncheck.report.batch import BatchSetting


# --- the domain ------------------------------------------------------------------------------------------------------


class Intent(msgspec.Struct, frozen=True):
    """An intent of the domain. ``use_entities``: ``True`` for all, ``False`` for none, or the listed names."""

    name: str
    location: Location
    use_entities: bool | tuple[str, ...] = True
    ignore_entities: tuple[str, ...] = ()
    triggers: str | None = None


class Entity(msgspec.Struct, frozen=True):
    """An entity of the domain with its roles and groups."""

    name: str
    location: Location
    roles: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    influence_conversation: bool | None = None


class MappingCondition(msgspec.Struct, frozen=True):
    """A slot mapping applies only if this loop is active (and this slot is requested), or this flow of Rasa Pro."""

    active_loop: str | None
    requested_slot: str | None = None
    active_flow: str | None = None


class SlotMapping(msgspec.Struct, frozen=True):
    """How a slot is filled. ``type`` is one of Rasa's mapping types; a string in the file is read as a list of one."""

    type: str
    location: Location
    entity: str | None = None
    role: str | None = None
    group: str | None = None
    intents: tuple[str, ...] = ()
    not_intents: tuple[str, ...] = ()
    value: Any = None
    action: str | None = None
    conditions: tuple[MappingCondition, ...] = ()


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot of the domain. ``type`` as written: ``text``, ``bool``, ``categorical``, ``float``, ``list``, ``any`` …"""

    name: str
    type: str
    location: Location
    mappings: tuple[SlotMapping, ...] = ()
    initial_value: Any = None
    influence_conversation: bool | None = None
    values: tuple[Any, ...] | None = None
    min_value: float | None = None
    max_value: float | None = None
    value_reset_delay: float | None = None
    shared_for_coexistence: bool | None = None
    """Whether it keeps its value when flows, or what is beside them, end (Rasa Pro)."""
    places: tuple[Location, ...] = field(default=(), compare=False)
    """Where each of ``values`` is, if the format provides that."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of the domain."""

    name: str
    location: Location
    required_slots: tuple[str, ...] = ()
    ignored_intents: tuple[str, ...] = ()
    places: tuple[Location, ...] = field(default=(), compare=False)
    """Where each of ``required_slots`` is, if the format provides that."""


class ResponseVariation(msgspec.Struct, frozen=True):
    """One variation of a response: ``content`` is the mapping as written (text, buttons, image, custom …)."""

    content: Mapping[str, Any]
    location: Location

    @property
    def text(self) -> str | None:
        """The text, if there is one."""
        return self.content.get("text")

    @property
    def channel(self) -> str | None:
        """The channel this variation is meant for, if it names one."""
        return self.content.get("channel")

    @property
    def conditions(self) -> tuple[Mapping[str, Any], ...]:
        """The conditions under which it may be used (``[{"type": "slot", "name": …, "value": …}]``)."""
        return tuple(self.content.get("condition") or ())


class Response(msgspec.Struct, frozen=True):
    """A response with its variations, from the domain or from an NLU file."""

    name: str
    variations: tuple[ResponseVariation, ...]
    location: Location


class Action(msgspec.Struct, frozen=True):
    """An action that the domain lists.

    ``send_domain``: whether an action server that gets the domain selectively gets it for this action. In Rasa 3.6: if
    the entry says so, and for validation actions that are listed by only their name.
    """

    name: str
    location: Location
    send_domain: bool = False


class SessionConfig(msgspec.Struct, frozen=True):
    """When a new session starts, in minutes; 0 means never."""

    session_expiration_time: float = 60.0
    carry_over_slots_to_new_session: bool = True


class Domain(msgspec.Struct, frozen=True):
    """The merged domain; mappings are by name, in the order of the files."""

    intents: Mapping[str, Intent] = msgspec.field(default_factory=dict)
    entities: Mapping[str, Entity] = msgspec.field(default_factory=dict)
    slots: Mapping[str, Slot] = msgspec.field(default_factory=dict)
    forms: Mapping[str, Form] = msgspec.field(default_factory=dict)
    responses: Mapping[str, Response] = msgspec.field(default_factory=dict)
    actions: Mapping[str, Action] = msgspec.field(default_factory=dict)
    end_to_end_actions: tuple[str, ...] = ()
    session: SessionConfig = msgspec.field(default_factory=SessionConfig)
    location: Location = NOWHERE
    rasa: int = 3
    """The major version of Rasa that it is written for."""

    @property
    def is_empty(self) -> bool:
        """Whether it defines nothing at all."""
        return not (self.intents or self.entities or self.slots or self.forms or self.responses or self.actions)


# --- stories and rules -----------------------------------------------------------------------------------------------


class StoryEntity(msgspec.Struct, frozen=True):
    """An entity of a user step. ``value``: "" if only its name is written, as in Rasa; ``None`` for ``null``."""

    entity: str
    value: Any = None
    role: str | None = None
    group: str | None = None
    start: int | None = None
    end: int | None = None


class UserStep(msgspec.Struct, frozen=True):
    """A user's message, by ``intent``, by ``text`` (plain text, annotations removed), or by both (a test story)."""

    intent: str | None
    location: Location
    text: str | None = None
    entities: tuple[StoryEntity, ...] = ()

    @property
    def base_intent(self) -> str | None:
        """The intent without its response key: ``faq`` for ``faq/ask_hours``."""
        return None if self.intent is None else self.intent.partition("/")[0]


class ActionStep(msgspec.Struct, frozen=True):
    """An action by name."""

    action: str
    location: Location


class BotStep(msgspec.Struct, frozen=True):
    """The text of an end-to-end bot message (``bot:``)."""

    text: str
    location: Location


class SlotWasSetStep(msgspec.Struct, frozen=True):
    """One slot of ``slot_was_set``. ``named_only``: it is named without a value, which means "set to something"."""

    slot: str
    value: Any
    location: Location
    named_only: bool = False


class ActiveLoopStep(msgspec.Struct, frozen=True):
    """``active_loop: name``, or ``None`` if the loop ends."""

    name: str | None
    location: Location


class CheckpointStep(msgspec.Struct, frozen=True):
    """A checkpoint, with the slots that are its conditions."""

    name: str
    location: Location
    slots: tuple[SlotWasSetStep, ...] = ()


class OrStep(msgspec.Struct, frozen=True):
    """Alternatives; each is a user step, or a ``slot_was_set`` (which may have several slots)."""

    alternatives: tuple[tuple[UserStep | SlotWasSetStep, ...], ...]
    location: Location


class EventStep(msgspec.Struct, frozen=True):
    """An event of Rasa 1.x's stories that is not an action: ``followup``, ``reminder``, ``export`` and the like."""

    event: str
    parameters: Mapping[str, Any]
    location: Location


Step = UserStep | ActionStep | BotStep | SlotWasSetStep | ActiveLoopStep | CheckpointStep | OrStep | EventStep


class Story(msgspec.Struct, frozen=True):
    """A story or a rule. Only rules have ``condition``, ``conversation_start``, ``wait_for_user_input``."""

    name: str
    kind: Literal["story", "rule"]
    steps: tuple[Step, ...]
    location: Location
    condition: tuple[SlotWasSetStep | ActiveLoopStep, ...] = ()
    conversation_start: bool = False
    wait_for_user_input: bool = True


def in_order_of_names(stories: Sequence[Story]) -> tuple[Story, ...]:
    """Sort stories by their names, and those of one name by what they say, wherever they are written."""
    names = Counter(story.name for story in stories)
    return tuple(sorted(stories, key=lambda story: (story.name, _said(story) if names[story.name] > 1 else "")))


def _said(value: Any) -> str:
    """Write a step or story without the places of its parts."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_said, value))})"
    names = field_names(type(value))
    if names is None:
        return repr(value)
    parts = (_said(getattr(value, name)) for name in names if name != "location")
    return f"{type(value).__name__}({', '.join(parts)})"


# --- configuration ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Component:
    """A pipeline component or a policy: its name, in a pipeline the one that Rasa 3 has for it, and its parameters."""

    name: str
    parameters: Mapping[str, Any]
    location: Location
    places: Mapping[str, Location] = field(default_factory=dict, compare=False)
    """Where the values of the parameters are, if the format provides that."""
    extends: str = ""
    """Of a class of the project: the policy or component of Rasa that it extends; empty: none that is known."""
    older_name: str = field(default="", compare=False)
    """The name that an older configuration has for it, if that is another one."""

    @property
    def written(self) -> str:
        """The name as written, for messages."""
        return self.older_name or self.name


class Config(msgspec.Struct, frozen=True):
    """``config.yml``. ``keys``: where each top-level key is. A section that is absent is ``None``."""

    language: str | None = None
    recipe: str | None = None
    assistant_id: str | None = None
    pipeline: tuple[Component, ...] | None = None
    policies: tuple[Component, ...] | None = None
    importers: tuple[Component, ...] = ()
    keys: Mapping[str, Location] = msgspec.field(default_factory=dict)
    location: Location = NOWHERE


class Endpoint(msgspec.Struct, frozen=True):
    """One entry of ``endpoints.yml`` as written, ``${NAME}`` not yet expanded."""

    name: str
    parameters: Mapping[str, Any]
    location: Location


# --- the whole -------------------------------------------------------------------------------------------------------


class Flow(msgspec.Struct, frozen=True):
    """A flow of a CALM project, as written: tests name it, and only Rasa Pro runs it."""

    name: str
    content: Any
    location: Location


class Native(Protocol):
    """What a platform knows of an assistant besides what all projects have."""

    @property
    def name(self) -> str:
        """Its name; "" if it has none."""

    @property
    def language(self) -> str:
        """The language of its sentences."""

    @property
    def utterances(self) -> tuple[Example, ...]:
        """The sentences that people annotated with intents."""

    @property
    def setting(self) -> BatchSetting:
        """What it says about itself in results of batch suites."""

    def known_names(self) -> KnownNames:
        """Return the names that a suite may expect."""

    def expected_intents(self) -> Iterable[str]:
        """Yield the intents for which there should be cases, with sentences or without."""

    def listed_values(self) -> Iterable[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]]:
        """Yield each entity that is a list, with its values and their synonyms."""

    def follow_ups(self) -> Iterable[tuple[Example, tuple[str, ...]]]:
        """Yield the sentences that are only understood in a context, each with the intents of its context."""

    def without_places(self) -> Native:
        """Return the same without its file, to be sent to a worker process."""


@dataclass(frozen=True, slots=True)
class Project:
    """An assistant's project.

    ``findings`` is what could not be read (syntax, schema, encoding …); everything else was read regardless.
    ``unreadable`` names the parts that are incomplete because of it: ``domain``, ``nlu``, ``stories``, ``config``,
    ``endpoints``. ``calm`` is the reason why this is a CALM project, or ``None``; ``flows`` are its flows by name.
    ``rasa`` is the version of Rasa that it is written for, with what shows it, ``None`` if it is not a Rasa project.
    ``below``: the folders of assistants below this one, if it is not one itself. ``platform``: what it is made for;
    ``native``: what only that platform knows of it, ``None`` for a Rasa project. ``files`` are the files that were
    read, parsed, with the position of every key and value (:mod:`turncheck.yaml_tree.tree`). ``expanded``: what the
    variables in them stood for; no output shows it.
    """

    root: Path
    name: str
    domain: Domain = field(default_factory=Domain)
    nlu: NluData = field(default_factory=NluData)
    stories: tuple[Story, ...] = ()
    rules: tuple[Story, ...] = ()
    config: Config = field(default_factory=Config)
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    unreadable: frozenset[str] = frozenset()
    calm: str | None = None
    rasa: RasaVersion | None = None
    below: tuple[Path, ...] = ()
    flows: Mapping[str, Flow] = field(default_factory=dict)
    misnamed_files: Mapping[str, str] = field(default_factory=dict)
    platform: Platform = field(default=DEFAULT, repr=False)
    native: Native | None = field(default=None, repr=False)
    files: tuple[ProjectFile, ...] = field(default=(), repr=False, compare=False)
    expanded: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    @property
    def older(self) -> RasaVersion | None:
        """The version of Rasa that it is written for, if that is older than Rasa 3."""
        return self.rasa if self.rasa is not None and self.rasa.is_older else None

    @property
    def major(self) -> int:
        """The version of Rasa that it is written for; the newest if nothing shows it."""
        return NEWEST if self.rasa is None else self.rasa.major

    @property
    def language(self) -> str | None:
        """The language of its sentences."""
        return self.config.language if self.native is None else self.native.language

    @property
    def utterances(self) -> tuple[Example, ...]:
        """The sentences that people annotated with intents, without other training sentences."""
        return self.nlu.examples if self.native is None else self.native.utterances

    def light(self, nlu: NluData) -> Project:
        """Return it with only these sentences and no file contents, to be sent to a worker in another folder."""
        native = None if self.native is None else self.native.without_places()
        nlu = replace(nlu, examples=tuple(dataclasses.replace(example, origin=None) for example in nlu.examples))
        root = self.root.absolute()
        return dataclasses.replace(self, root=root, nlu=nlu, stories=(), rules=(), findings=(), files=(), native=native)
