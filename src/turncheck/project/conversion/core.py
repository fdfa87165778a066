"""Stories and NLU data of older Rasas → YAML, and what a conversion leaves to its reader."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.messages.errors import UserError
from turncheck.project import model
from turncheck.project.formats import rasa_nlu_writer
from turncheck.project.formats.annotations import parse_annotations
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData, Synonym
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.messages.finding import Location
    from turncheck.project.files import DataFile
    from turncheck.project.project_file import ProjectFile


# The result of a conversion: files, and what could not be converted, with its place and what to do about it.

_COMMENT: Final = re.compile(r"<!--(.*?)-->", re.DOTALL)
_HEADING: Final = re.compile(r"^[ \t]*#+[ \t]*([^#\s].*?)[ \t]*$", re.MULTILINE)
_SECTIONS: Final = frozenset({"intent", "synonym", "regex", "lookup"})


class Left(Struct, frozen=True):
    """Something that is not in the converted files as it was: what it is, where, and what to do."""

    what: str
    location: Location
    hint: str


class Converted(Struct):
    """Converted files by name, relative to the output folder, and what is left to do by hand."""

    files: dict[str, str] = field(default_factory=dict)
    left: list[Left] = field(default_factory=list)

    def add(self, path: str, content: str, *, prefix: str = "") -> None:
        """Add a converted file under its own name as YAML, preceded by its folder's name if that is taken.

        ``prefix``: what the name must begin with.
        """
        parts = PurePath(path).with_suffix("").parts
        for count in range(1, len(parts) + 1):
            stem = "_".join(part for part in parts[-count:] if part not in {"..", "/"})
            name = f"{stem if stem.startswith(prefix) else prefix + stem}.yml"
            if name not in self.files:
                break
        else:
            name = f"{prefix}{len(self.files)}_{parts[-1]}.yml"
        self.files[name] = content

    def note(self, what: str, location: Location, hint: str) -> None:
        """Note what could not be converted."""
        self.left.append(Left(what, location, hint))


def document(content: Mapping[str, Any], comments: str = "") -> str:
    """Return a Rasa 3 file with these top-level keys, below the comments of the original file."""
    return "\n".join([*comments.splitlines(), *rasa_nlu_writer.yaml_lines(content), ""])


def with_comments(converted: str, markdown: str) -> str:
    """Return a converted file with the comments of the original Markdown file, each above what it belongs to.

    That is the section or story that follows directly, else the one around it. Comments before the first one, or of one
    that was left out, are at the top of the file.
    """
    lines = converted.splitlines()
    places: dict[str, int] = {}
    for number, line in enumerate(lines):
        places.setdefault(line.strip(), number)
    above: dict[int, list[str]] = defaultdict(list)
    for comment, heading in _comments(markdown):
        number = next((places[one] for one in _converted_headings(heading) if one in places), 0)
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())] if lines else ""
        above[number] += [f"{indent}# {line}" for line in comment]
    return "".join(f"{line}\n" for number, one in enumerate(lines) for line in (*above[number], one))


def _comments(markdown: str) -> Iterator[tuple[list[str], str]]:
    """Yield each comment, line by line, with the heading that it belongs to ("": none)."""
    headings = [(found.start(), found[1]) for found in _HEADING.finditer(_COMMENT.sub(_blanked, markdown))]
    for match in _COMMENT.finditer(markdown):
        lines = [line.strip() for line in match[1].splitlines() if line.strip()]
        before = [text for start, text in headings if start < match.start()]
        follows = next((text for start, text in headings if start >= match.end()), "")
        beside = _COMMENT.sub("", markdown[: match.start()]).rpartition("\n")[2].strip()
        between = _COMMENT.sub("", markdown[match.end() :]).lstrip()
        is_above = bool(before) and not beside and between.startswith("#")
        yield lines, follows if is_above else (before[-1] if before else "")


def _blanked(match: re.Match[str]) -> str:
    return "".join(letter if letter == "\n" else " " for letter in match[0])


def _converted_headings(heading: str) -> list[str]:
    """Return the lines that a heading may have become."""
    section, colon, title = heading.partition(":")
    words = (
        [f"- {section.strip()}: {rasa_nlu_writer.yaml_scalar(title.strip())}"]
        if colon and section.strip() in _SECTIONS
        else []
    )
    return [*words, f"- story: {rasa_nlu_writer.yaml_scalar(heading.strip())}"] if heading else []


_RENAMED: Final = {"action_deactivate_form": "action_deactivate_loop"}
_RESPOND: Final = "respond_"
_TEST_PREFIX: Final = "test_"


def convert_core(file: DataFile, converted: Converted) -> None:
    """Convert a file of stories; if its messages have texts, it becomes a file of test stories."""
    source, stories = file.file.source, file.parts.stories
    if source is None or not stories:
        return
    parts = [{"story": story.name, "steps": written_steps(story.steps, converted)} for story in stories]
    is_test = any(isinstance(step, model.UserStep) and step.text for story in stories for step in story.steps)
    content = with_comments(document({"version": "3.1", "stories": parts}), source.file_text)
    converted.add(file.file.path, content, prefix=_TEST_PREFIX if is_test else "")


def written_steps(steps: Sequence[model.Step], converted: Converted) -> list[dict[str, Any]]:
    """Return the steps in the YAML of Rasa 3."""
    written: list[dict[str, Any]] = []
    for step in steps:
        match step:
            case model.UserStep():
                written.append(_message(step))
            case model.ActionStep():
                written.append({"action": new_action(step.action)})
            case model.BotStep():
                written.append({"bot": step.text})
            case model.SlotWasSetStep():
                written.append(_slots([step]))
            case model.ActiveLoopStep():
                written.append({"active_loop": step.name})
            case model.CheckpointStep():
                written.append({"checkpoint": step.name, **(_slots(step.slots) if step.slots else {})})
            case model.OrStep():
                parts = [part for alternative in step.alternatives for part in alternative]
                written.append(
                    {"or": [_message(part) if isinstance(part, model.UserStep) else _slots([part]) for part in parts]}
                )
            case model.EventStep():
                what = f"The event '{step.event}' is left out: stories of Rasa 3 have none."
                converted.note(what, step.location, "Let a custom action return it.")
    return written


def new_action(name: str) -> str:
    """Return the name of an action since Rasa 2."""
    if name.startswith(_RESPOND):
        return f"utter_{name.removeprefix(_RESPOND)}"
    return _RENAMED.get(name, name)


def _slots(steps: Sequence[model.SlotWasSetStep]) -> dict[str, Any]:
    return {"slot_was_set": [{step.slot: step.value} for step in steps]}


def _message(step: model.UserStep) -> dict[str, Any]:
    if step.text is None:
        entities = [_entity(entity) for entity in step.entities]
        return {"intent": step.intent, **({"entities": entities} if entities else {})}
    return {"user": _written(step, step.text), "intent": step.intent}


def _written(step: model.UserStep, text: str) -> str:
    if text.startswith("/"):
        return text
    marks = tuple(
        EntityAnnotation(entity.start, entity.end, entity.entity, entity.value, entity.role, entity.group)
        for entity in step.entities
        if entity.start is not None and entity.end is not None
    )
    return rasa_nlu_writer.annotated(Example(text, step.intent, marks))


def _entity(entity: model.StoryEntity) -> dict[str, Any]:
    more = {"role": entity.role, "group": entity.group}
    return {**{key: value for key, value in more.items() if value is not None}, entity.entity: entity.value}


# NLU data and responses in Markdown or JSON → YAML.


def convert_nlu(file: DataFile, converted: Converted) -> None:
    """Convert a file of NLU data, or of responses for retrieval intents."""
    source = file.file.source
    text = rasa_nlu_writer.write_nlu_yaml(_writable(file.parts.nlu, converted))
    if file.parts.domain is not None:
        text += rasa_nlu_writer.write_responses_yaml(file.parts.domain.responses.values())
    if text:
        is_markdown = source is not None and file.file.path.endswith(".md")
        converted.add(file.file.path, with_comments(text, source.file_text) if source and is_markdown else text)


def _writable(data: NluData, converted: Converted) -> NluData:
    """Leave out, and note, what the current format cannot express."""
    examples = []
    for example in data.examples:
        why = _why_not(example)
        if why:
            converted.note(f"The sentence '{example.text}' is left out: {why}.", example.location, "Write it anew.")
        else:
            examples.append(example)
    return replace(data, examples=tuple(examples), synonyms=tuple(_written_synonyms(data, examples)))


def _why_not(example: Example) -> str:
    if not example.intent:
        return "it has no intent"
    if not example.text.strip():
        return "it has no text"
    try:
        text, entities = parse_annotations(rasa_nlu_writer.annotated(example).strip())
    except (UserError, ValueError):
        return "its entities overlap, or lie outside of it"
    if text.strip() != example.text.strip():
        return "what is in its brackets would be read as an entity, which it is not"
    offset = len(example.text) - len(example.text.lstrip())
    ours = {(entity.start - offset, entity.end - offset, entity.entity, entity.value) for entity in example.entities}
    if ours != {(entity.start, entity.end, entity.entity, entity.value) for entity in entities}:
        return "its entities cannot be marked"
    return ""


def _written_synonyms(data: NluData, examples: Iterable[Example]) -> list[Synonym]:
    """Return the synonyms that annotations do not imply; of contradicting ones the last, which is the one used."""
    last = {synonym.synonym: synonym for synonym in data.synonyms}
    implied = {
        example.text[entity.start : entity.end]: str(entity.value)
        for example in examples
        for entity in example.entities
        if example.text[entity.start : entity.end] != entity.value
    }
    return [synonym for text, synonym in last.items() if implied.get(text) != synonym.value]


# Training data and test stories in the YAML of Rasa 2 → that of Rasa 3: the file with its comments stays as it is,
# except for what has another name in Rasa 3.

YAML_SUFFIXES: Final = (".yml", ".yaml")
_VERSION: Final = 'version: "3.1"'
_ACTION: Final = "action"
_UTTER: Final = "utter_"


class _Edit(Struct, frozen=True):
    """A replacement for a part of the file's text."""

    start: int
    end: int
    text: str


def convert_yaml_data(file: DataFile, converted: Converted, *, is_nlu: bool, keep: bool = False) -> None:
    """Convert a file; one that holds both NLU data and stories is treated as NLU data.

    ``keep``: also include a file that Rasa 3 reads as it is.
    """
    root, document = file.file.mapping, file.file.document
    if root is None or document is None or not _is_this_kind(file, converted, is_nlu=is_nlu):
        return
    edits = sorted(_edits(root), key=lambda edit: edit.start)
    if not edits and not keep:
        return
    text = document.source.text
    parts, done = [], 0
    for edit in edits:
        parts += [text[done : edit.start], edit.text]
        done = edit.end
    converted.add(file.file.path, "".join([*parts, text[done:]]))


def with_edits(text: str, file: ProjectFile, start: int, end: int) -> str:
    """Return a part of a domain's text, from ``start`` to ``end`` in the file, with the names that Rasa 3 has."""
    root = file.mapping
    edits = [] if root is None else [*_edits(root), *_edits_of_actions(root.items.get("actions"))]
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        if start <= edit.start and edit.end <= end:
            text = text[: edit.start - start] + edit.text + text[edit.end - start :]
    return text


def _edits_of_actions(section: YamlNode | None) -> Iterator[_Edit]:
    for item in _items(section):
        if isinstance(item, YamlScalar) and new_action(str(item.value)) != item.value:
            yield _Edit(item.start, item.end, new_action(str(item.value)))


def _is_this_kind(file: DataFile, converted: Converted, *, is_nlu: bool) -> bool:
    has_nlu = not file.file.kinds.isdisjoint(NLU_KEYS)
    has_stories = not file.file.kinds.isdisjoint(STORY_KEYS)
    if not is_nlu and has_nlu and has_stories and file.parts.stories:
        what = "The file holds NLU data as well: it is converted with them."
        converted.note(what, file.parts.stories[0].location, "Run `turncheck data convert nlu`.")
    return has_nlu if is_nlu else has_stories and not has_nlu


def _edits(root: YamlMapping) -> Iterator[_Edit]:
    version = root.items.get("version")
    written = str(version.value) if isinstance(version, YamlScalar) else ""
    if isinstance(version, YamlScalar) and not written.startswith("3"):
        yield _Edit(version.start, version.end, _VERSION.partition(": ")[2])
    for key in STORY_KEYS:
        yield from _edits_of_steps(root.items.get(key))
    yield from _edits_of_responses(root.items.get("responses"))


def _edits_of_steps(section: YamlNode | None) -> Iterator[_Edit]:
    for scalar in _actions(_items(section)):
        name = str(scalar.value)
        if new_action(name) != name:
            yield _Edit(scalar.start, scalar.end, new_action(name))


def _actions(stories: Iterable[YamlNode]) -> Iterator[YamlScalar]:
    for story in stories:
        for step in _items(story.at("steps")):
            action = step.at(_ACTION)
            if isinstance(action, YamlScalar) and isinstance(action.value, str):
                yield action


def _items(section: YamlNode | None) -> list[YamlNode]:
    return section.items if isinstance(section, YamlSequence) else []


def _edits_of_responses(section: YamlNode | None) -> Iterator[_Edit]:
    """Responses of retrieval intents are named like the intent until Rasa 2.0, and like an action since."""
    for key in section.key_nodes if isinstance(section, YamlMapping) else ():
        if isinstance(key, YamlScalar) and new_response(str(key.value)) != key.value:
            yield _Edit(key.start, key.end, new_response(str(key.value)))


def new_response(name: str) -> str:
    """Return the name of a response since Rasa 2."""
    return f"{_UTTER}{name}" if "/" in name and not name.startswith(_UTTER) else name
