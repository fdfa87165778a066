"""Whether converted files are read as the same data as the original files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from turncheck.project.conversion.core import Converted
    from turncheck.project.files import DataFile
    from turncheck.project.model import Domain, Project, Response, Story
    from turncheck.project.nlu_data import Example, NluData


def nlu_differences(
    before: Sequence[DataFile], after: NluData, responses: Mapping[str, Response], converted: Converted
) -> list[str]:
    """Return differences in sentences, synonyms, patterns, lookup tables and responses, except what was left out."""
    left = {note.location for note in converted.left}
    data = [data_file.parts.nlu for data_file in before]
    examples = [example for nlu in data for example in nlu.examples if example.location not in left]
    written = {
        name: response for file in before if file.parts.domain for name, response in file.parts.domain.responses.items()
    }
    pairs: list[tuple[str, set[Any], set[Any]]] = [
        ("sentence", set(map(_example, examples)), set(map(_example, after.examples))),
        ("synonym", _synonyms(data, examples), _synonyms([after], after.examples)),
        ("pattern", _patterns(data), _patterns([after])),
        ("lookup entry", _entries(data), _entries([after])),
        ("response", _texts(written), _texts(responses)),
    ]
    return [f"the {what} {one!r}" for what, old, new in pairs for one in sorted(old ^ new, key=repr)]


def _example(example: Example) -> tuple[Any, ...]:
    marked = tuple((entity.entity, str(entity.value), entity.role, entity.group) for entity in example.entities)
    return example.text.strip(), example.intent, marked


def _synonyms(data: Sequence[NluData], examples: Iterable[Example]) -> set[tuple[str, str]]:
    """The value that each text is mapped to after training: annotations come last."""
    last = {synonym.synonym: synonym.value for nlu in data for synonym in nlu.synonyms}
    for example in examples:
        for entity in example.entities:
            text = example.text[entity.start : entity.end]
            if text != str(entity.value):
                last[text] = str(entity.value)
    return set(last.items())


def _patterns(data: Iterable[NluData]) -> set[tuple[str, str]]:
    return {(regex.name, regex.pattern) for nlu in data for regex in nlu.regexes}


def _entries(data: Iterable[NluData]) -> set[tuple[str, str]]:
    return {(table.name, element) for nlu in data for table in nlu.lookups for element in table.elements}


def _texts(responses: Mapping[str, Response]) -> set[tuple[str, str]]:
    from turncheck.project.conversion.core import new_response

    return {
        (new_response(name), json.dumps(variation.content, sort_keys=True, default=str))
        for name, response in responses.items()
        for variation in response.variations
    }


def story_differences(before: Sequence[DataFile], after: Sequence[Story]) -> list[str]:
    """Return the stories that are read differently."""
    old = [_story(story) for data_file in before for story in data_file.parts.stories]
    new = [_story(story) for story in after]
    return [f"the story {name!r}" for name, _ in [*(o for o in old if o not in new), *(n for n in new if n not in old)]]


def _story(story: Story) -> tuple[str, str]:
    from turncheck.project.conversion.core import Converted, written_steps

    return story.name, json.dumps(written_steps(story.steps, Converted()), sort_keys=True, default=str)


def project_differences(kind: str, before: Project, after: Project) -> list[str]:
    """Return the differences of a domain or a configuration."""
    from turncheck.project.conversion.core import Converted, written_steps

    if kind == "domain":
        old, new = _domain(before.domain, data_files(before)), _domain(after.domain)
        rules = {(rule.name, str(written_steps(rule.steps, Converted()))) for rule in after.rules}
        triggers = {intent.name for intent in before.domain.intents.values() if intent.triggers}
        missing = triggers - {name.partition(" triggers ")[0] for name, _ in rules}
        return [f"the {what} {one!r}" for what, one in sorted(old ^ new)] + [
            f"the trigger of {one!r}" for one in missing
        ]
    pipelines = [
        [(component.name, component.parameters) for component in project.config.pipeline or ()]
        for project in (before, after)
    ]
    kept = pipelines[1][: len(pipelines[0])]
    return [] if pipelines[0] == kept else ["the pipeline"]


def data_files(project: Project) -> frozenset[str]:
    """Return the names of the data files, whose responses are converted along with them."""
    return frozenset(file.path for file in project.files if file.role == "data")


def _domain(domain: Domain, beside: Collection[str] = frozenset()) -> set[tuple[str, str]]:
    """The parts of a domain that matter to a dialogue, by name; ``beside``: files whose responses do not count."""
    from turncheck.project.conversion.core import new_action

    reported = {
        ("intent", f"{intent.name} {intent.use_entities} {intent.ignore_entities}")
        for intent in domain.intents.values()
    }
    reported |= {("entity", name) for name in domain.entities}
    reported |= {("response", f"{name} {text}") for name, text in _texts(_of_domain(domain, beside))}
    reported |= {("action", new_action(name)) for name in domain.actions if name not in domain.forms}
    reported |= {
        ("form", f"{form.name} {form.required_slots} {form.ignored_intents}") for form in domain.forms.values()
    }
    for slot in domain.slots.values():
        sees = slot.type != "any" and slot.influence_conversation is not False
        fills = {
            mapping.entity
            for mapping in slot.mappings
            if mapping.type == "from_entity" and mapping.entity in domain.entities
        }
        reported.add(
            ("slot", f"{slot.name} {slot.type} {sees} {slot.values} {slot.initial_value} {sorted(map(str, fills))}")
        )
    reported.add(("session", f"{float(domain.session.session_expiration_time)}"))
    return reported


def _of_domain(domain: Domain, beside: Collection[str]) -> dict[str, Response]:
    return {name: response for name, response in domain.responses.items() if response.location.path not in beside}
