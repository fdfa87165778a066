"""What a CALM project's flows name and define, collected once for all checks of flows and of their tests."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.messages.phrasing import misspelt, nearest, suggestion
from turncheck.platforms.rasa.flows import vocabulary
from turncheck.platforms.rasa.flows.conditions import ConditionError, Parsed, parse_condition
from turncheck.platforms.rasa.flows.payloads import Button, buttons_of
from turncheck.platforms.rasa.flows.reader import read_flow_file, read_response_conditions, read_validations
from turncheck.process.regular_file import is_folder, read_regular
from turncheck.project.e2e.cases import read_cases
from turncheck.project.e2e.model import E2ECases
from turncheck.project.folder import own_folders
from turncheck.project.testfiles import DU_FOLDER, texts_of_code
from turncheck.validation.facts import UTTER

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.platforms.rasa.flows.model import Assignment, Condition, Flow, FlowFile, Named, Step
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project, Slot
    from turncheck.validation.facts import Facts

SLOT_WORD: Final = re.compile(r"slots\.([\w\-]+)")
_IN_TEXT: Final = re.compile(r"{([^\n{}\[.!:%]+)")
_IN_TEMPLATE: Final = re.compile(r"slots\.([\w\-]+)|{{-?\s*([\w\-]+)")
_PUT_TOGETHER: Final = re.compile(r"(utter_\w*)[{%]")
_QUOTED: Final = re.compile(r"['\"]([\w\-]+)['\"]")
_READ_IN_CODE: Final = re.compile(r"(?:get_slot\(|slots\.get\(|slots\[)\s*['\"][\w\-]+['\"]")
_PROMPTS: Final = frozenset({".jinja2", ".jinja", ".j2"})
_MOST_FILES: Final = 200
_LARGEST: Final = 1024 * 1024
_OF_EXTRACTORS: Final = "from_entity"
"""The mapping that may fill a slot with a number: some extractors find numbers."""
_AGENT_FOLDER: Final = "sub_agents"
_AGENT_FILES: Final = frozenset({"config.yml", "config.yaml"})
_AGENT: Final = re.compile(r"^agent:", re.MULTILINE)
_AGENT_NAME: Final = re.compile(r"^[ \t]+name:[ \t]*['\"]?([\w\-]+)", re.MULTILINE)


class Used(NamedTuple):
    """A name that a step of a flow uses."""

    flow: Flow
    step: Step | None
    name: Named


def files_with_flows(project: Project) -> tuple[FlowFile, ...]:
    """Return the files of a project that have flows, in their order."""
    return tuple(
        read_flow_file(file.path, file.mapping)
        for file in project.files
        if file.role == "data" and file.mapping is not None and "flows" in file.mapping.items
    )


class FlowFacts:
    """A CALM project, indexed by names."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.project = facts.project
        self.files = files_with_flows(facts.project)
        self.flows: dict[str, Flow] = {}
        for flow in (flow for file in self.files for flow in file.flows):
            self.flows.setdefault(flow.name, flow)
        self.validations = tuple(
            flow
            for file in facts.project.files
            if file.role in {"domain", "data"} and file.mapping is not None
            for flow in (*read_validations(file.mapping), *read_response_conditions(file.mapping))
        )
        self._parsed: dict[str, Parsed | ConditionError] = {}
        unread = {file.path for file in facts.project.files if file.role == "data" and file.mapping is None}
        errors = [one for one in facts.project.findings if one.severity == "error"]
        self.is_whole = not any(one.location.path in unread for one in errors)
        """Whether all data could be read: what a file that cannot be read has would be missed everywhere else."""

    # --- what there is ------------------------------------------------------------------------------------------------

    @cached_property
    def flow_names(self) -> frozenset[str]:
        """The flows of the project, and the patterns."""
        return frozenset((*self.flows, *vocabulary.PATTERNS))

    @cached_property
    def actions(self) -> frozenset[str]:
        """The actions that a flow may name, without responses."""
        return self.facts.actions | vocabulary.ACTIONS

    @cached_property
    def responses(self) -> frozenset[str]:
        """The responses that there are, with those that Rasa brings."""
        retrieval = {f"{UTTER}{intent}" for intent in self.facts.retrieval_intents}
        return self.facts.responses | vocabulary.RESPONSES | retrieval

    @cached_property
    def slots(self) -> frozenset[str]:
        """The slots that there are, with those that Rasa brings."""
        return self.facts.slots | self.facts.default_slots | vocabulary.SLOTS

    @cached_property
    def agents(self) -> frozenset[str]:
        """The sub-agents, which flows may call: below ``sub_agents``, and as ``--sub-agents`` names another folder."""
        folder = self.project.root / _AGENT_FOLDER
        found = set()
        for file in sorted(islice(folder.glob("*/*.y*ml"), _MOST_FILES)) if is_folder(folder) else ():
            found.add(file.parent.name)
            found.update(_AGENT_NAME.findall(_read(file)))
        folders = (one for one in own_folders(self.project.root) if not is_folder(folder))
        paths = (path for one in folders for path in one.entries if path.name in _AGENT_FILES)
        for text in map(_read, islice(paths, _MOST_FILES)):
            if _AGENT.search(text):
                found.update(_AGENT_NAME.findall(text))
        return frozenset(found)

    def meant(self, kind: str, name: str, known: Collection[str]) -> str:
        """Return the hint on a name that is none of its kind: one that is like it, or what else has this name."""
        others = {"flow": self.flows, "slot": self.facts.slots, "response": self.facts.responses}
        others |= {"action": self.facts.domain.actions, "intent": self.facts.intents}
        same = next((other for other, names in others.items() if other != kind and name in names), None)
        if same is not None:
            return f"'{name}' is the name of {'an' if same[0] in 'ai' else 'a'} {same}."
        if near := suggestion(name, known):
            return near
        typos = ((other, misspelt(name, nearest(name, names))) for other, names in others.items() if other != kind)
        return next((f"Did you mean the {other} '{near}'?" for other, near in typos if near), "")

    def slot(self, name: str) -> Slot | None:
        """Return a slot of the domain."""
        return self.project.domain.slots.get(name)

    def has_response(self, name: str) -> bool:
        """Whether something can say a response of this name."""
        return name in self.responses or vocabulary.may_be_built_in(name)

    @cached_property
    def understanding(self) -> E2ECases:
        """The dialogue understanding tests in their folder, which have the shape of end-to-end cases."""
        folder = self.project.root / DU_FOLDER
        return read_cases(self.project.root, [folder]) if folder.is_dir() else E2ECases()

    @cached_property
    def cases(self) -> tuple[E2ECase, ...]:
        """The end-to-end cases that were read, and the dialogue understanding tests."""
        read = self.understanding.cases
        known = {case.key for case in read}
        return (*(case for case in self.facts.tests.cases if case.key not in known), *read)

    # --- what flows use -----------------------------------------------------------------------------------------------

    @property
    def all_flows(self) -> Iterator[Flow]:
        """All flows of all files, the validations of slots, and the conditions of responses."""
        for file in self.files:
            yield from file.flows
        yield from self.validations

    def steps(self) -> Iterator[tuple[Flow, Step]]:
        """All steps with their flow."""
        for flow in self.all_flows:
            for step in flow.all_steps:
                yield flow, step

    def conditions(self) -> Iterator[tuple[Flow, Condition]]:
        """All conditions with their flow."""
        for flow in self.all_flows:
            for condition in flow.conditions:
                yield flow, condition

    def parsed(self, condition: Condition) -> Parsed | ConditionError:
        """Return a condition parsed, or why it cannot be."""
        if condition.text not in self._parsed:
            try:
                self._parsed[condition.text] = parse_condition(condition.text)
            except ConditionError as error:
                self._parsed[condition.text] = error
        return self._parsed[condition.text]

    def slots_of(self, condition: Condition) -> tuple[str, ...]:
        """Return the slots that a condition reads, in its order."""
        return tuple(dict.fromkeys(SLOT_WORD.findall(condition.text)))

    @cached_property
    def linked(self) -> frozenset[str]:
        """The flows that a step starts, and those that a button or a message of a test starts."""
        names = {step.name.name for _, step in self.steps() if step.kind in {"link", "call"} and step.name}
        names |= {name for button in self.buttons for name in button.payload.flows}
        return frozenset(names)

    @cached_property
    def buttons(self) -> tuple[Button, ...]:
        """The buttons of all responses whose payload is a command."""
        return tuple(buttons_of(self.facts))

    @cached_property
    def said_by_flows(self) -> frozenset[str]:
        """The responses that flows say: as actions, as questions, as rejections."""
        names = set()
        for _, step in self.steps():
            names |= {one.name for one in (step.utter, step.name) if one is not None}
            names |= {rejection.utter.name for rejection in step.rejections if rejection.utter is not None}
            if step.kind == "collect" and step.name is not None:
                names.add(f"utter_ask_{step.name.name}")
        return frozenset(names)

    @cached_property
    def set_slots(self) -> frozenset[str]:
        """The slots that steps, buttons and tools set."""
        names = {one.slot.name for _, step in self.steps() for one in step.assignments}
        names |= {one.name for _, step in self.steps() for one in step.fills}
        names |= {slot for button in self.buttons for slot, _ in button.payload.slots}
        return frozenset(names)

    def has_only_texts(self, slot: Slot) -> bool:
        """Whether a slot of texts never holds anything else: no code, tool, intent or step gives it another value."""
        given = [step.value for step in self._assigned.get(slot.name, ())]
        given += [slot.initial_value, *(mapping.value for mapping in slot.mappings)]
        is_text = all(value is None or isinstance(value, str) for value in given)
        is_text = is_text and all(mapping.type != _OF_EXTRACTORS for mapping in slot.mappings)
        return slot.type == "text" and is_text and self.is_filled_by_users(slot)

    def is_filled_by_users(self, slot: Slot) -> bool:
        """Whether neither code nor tools nor agents fill a slot: what they set is not held against its type."""
        return self.has_code and slot.name not in self._set_elsewhere

    @cached_property
    def has_code(self) -> bool:
        """Whether the code of all actions is there: nobody knows what others set and say."""
        custom = {name for name in self.project.domain.actions if not name.startswith(UTTER)} - vocabulary.ACTIONS
        return custom <= self.facts.code.quoted

    @cached_property
    def _set_elsewhere(self) -> frozenset[str]:
        """The slots that tools and agents fill, and those that code names other than to read them."""
        texts = (_READ_IN_CODE.sub("", text) for _, text in texts_of_code(self.project.root))
        in_code = {match[1] for text in texts for match in _QUOTED.finditer(text)}
        by_agents = {slot for _, step in self.steps() for one in step.exits for slot in self.slots_of(one)}
        return frozenset(in_code | by_agents | {one.name for _, step in self.steps() for one in step.fills})

    @cached_property
    def _assigned(self) -> dict[str, list[Assignment]]:
        assigned: dict[str, list[Assignment]] = {}
        for _, step in self.steps():
            for one in step.assignments:
                assigned.setdefault(one.slot.name, []).append(one)
        return assigned

    @cached_property
    def read_slots(self) -> frozenset[str]:
        """The slots that flows, conditions, responses, mappings and forms read or ask for."""
        names = {slot for _, condition in self.conditions() for slot in self.slots_of(condition)}
        for flow, step in self.steps():
            names |= {named.name for named in flow.persisted}
            if step.kind == "collect" and step.name is not None:
                names.add(step.name.name)
            names |= {one.name for one in step.reads}
            for named in (step.name, step.utter):
                names.update(SLOT_WORD.findall(named.name) if named is not None else ())
        names |= set(self._in_responses)
        return frozenset(names)

    @cached_property
    def _in_responses(self) -> frozenset[str]:
        names: set[str] = set()
        for response in self.project.domain.responses.values():
            for variation in response.variations:
                for text in texts_in(dict(variation.content)):
                    names |= {name.strip() for name in _IN_TEXT.findall(text)}
                    names |= {name for pair in _IN_TEMPLATE.findall(text) for name in pair if name}
                names |= {str(one.get("name")) for one in variation.conditions if isinstance(one, dict)}
        return frozenset(names)

    @cached_property
    def computed_responses(self) -> tuple[str, ...]:
        """How the names of responses begin that code puts together: ``f"utter_ask_{slot}"``, ``"utter_%s"``."""
        texts = (text for _, text in texts_of_code(self.project.root))
        beginnings = {match[1] for text in texts for match in _PUT_TOGETHER.finditer(text)}
        quoted = {text for text in self.facts.code.quoted if text.startswith(UTTER) and text.endswith("_")}
        return tuple(sorted(beginnings | quoted))

    @cached_property
    def in_prompts(self) -> str:
        """The text of the project's prompts, which may read any slot."""
        folders = own_folders(self.project.root)
        paths = (path for folder in folders for path in folder.entries if path.suffix in _PROMPTS)
        return "\n".join(map(_read, islice(paths, _MOST_FILES)))


def _read(path: Path) -> str:
    """The text of a small file of the project's own; nothing if it cannot be read."""
    try:
        return read_regular(path, most=_LARGEST, follow=False).decode("utf-8", "replace")
    except OSError:
        return ""


def texts_in(content: Any) -> Iterator[str]:
    """Yield all texts in data."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for below in content.values():
            yield from texts_in(below)
    elif isinstance(content, (list, tuple)):
        for below in content:
            yield from texts_in(below)
