"""Stories in the Markdown of Rasa 0.x to 2.x, training stories and end-to-end ones, as Rasa 1.10 reads them.

A story begins with ``## name``; ``* intent{…}`` is what the user says, ``- action`` what the bot does, ``> name`` a
checkpoint. In an end-to-end story the user's line is ``* intent: text``. Findings made here: ``markdown-refused`` where
Rasa ends, ``markdown-ignored`` for what it skips (``markdown-of-form``: what interactive learning wrote),
``markdown-read-otherwise`` for what it reads differently than one expects, ``annotation-…`` in texts, and
``story-without-steps``.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location
from turncheck.project import model
from turncheck.project.formats import markdown_nlu
from turncheck.project.formats.annotations import AnnotationError, parse_annotations
from turncheck.project.formats.format import FormatInput, ParsedFile
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.yaml_tree.source import Source


_LEVEL: Final = re.compile(r"##(?!#)")
_FORM_LINE: Final = re.compile(r"[*-]\s+form: ")
_FORM_PREFIX: Final = "form: "
_VARIABLE: Final = re.compile(r"`([^`]+)`")
_CONFIDENCE: Final = re.compile(r"@[0-9.]+")
_HINT: Final = "`turncheck data convert core` writes the story in YAML."
_STEPS: Final = "In YAML the steps are `- intent: NAME` and `- action: NAME`."

EVENTS_AS_ACTIONS: Final = frozenset({"restart", "rewind", "undo", "reset_slots", "pause", "resume"})
"""Events that stories write like actions, also in YAML."""
_OTHER_EVENTS: Final = frozenset(
    {"followup", "reminder", "cancel_reminder", "export", "session_started", "form_validation", "agent", "bot", "user",
     "action_execution_rejected"}
)  # fmt: skip


class _RefusedError(ValueError):
    """A fault at which Rasa ends, and what to do about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class _Reading(Struct):
    source: Source
    end_to_end: bool | None
    """Whether user lines must have a text; ``None``: a text is read where there is one."""
    notes: markdown_nlu.Notes = field(default_factory=markdown_nlu.Notes)
    stories: list[model.Story] = field(default_factory=list)
    name: str | None = None
    place: Location | None = None
    is_title: bool = False
    """Whether the header has another level than that of stories, as the title of a file has, or a remark."""
    steps: list[model.Step] = field(default_factory=list)
    texts: list[Location] = field(default_factory=list)
    intents: list[Location] = field(default_factory=list)


def read_markdown_stories(
    source: Source, *, end_to_end: bool | None = None
) -> tuple[tuple[model.Story, ...], list[Finding]]:
    """Read a file of stories.

    ``end_to_end``: whether each message must have its text, as for ``rasa test --e2e``, or must not have one; by
    default a text is read where there is one.
    """
    reading = _Reading(source, end_to_end)
    if source.has_byte_order_mark:
        what = f"'{source.path}' begins with a byte order mark, which hides its first story from Rasa; it is left out."
        reading.notes.otherwise(what, source.location(0), "Save the file without a byte order mark.")
    for line, location in _lines(reading):
        try:
            _read_line(reading, line, location)
        except _RefusedError as error:
            what = str(error).rstrip(".")
            reading.notes.refused(f"{what}; Rasa ends here ('{source.path}').", location, f"{error.hint} {_HINT}")
    _finish(reading)
    _note_mixture(reading)
    return tuple(reading.stories), reading.notes.findings


def _lines(reading: _Reading) -> Iterator[tuple[str, Location]]:
    """Yield the lines without comments; an unclosed ``<!--`` at the start of a line hides all up to ``-->``."""
    source = reading.source
    opened: Location | None = None
    for number in range(1, len(source.line_starts) + 1):
        written = source.line(number)
        line = _without_comments(written).strip()
        if not line:
            continue
        location = source.location(source.line_starts[number - 1] + len(written) - len(written.lstrip()))
        variable = _VARIABLE.search(line)
        if variable is not None:
            where = f"'{markdown_nlu.shown(line)}' in '{source.path}'"
            what = f"{where} has the template variable '{variable[1]}', which nothing sets; Rasa ends here."
            reading.notes.refused(what, location, "Write the text without backquotes.")
            continue
        if line.startswith(markdown_nlu.COMMENT):
            opened = location
        elif opened is not None:
            opened = None if line.endswith(markdown_nlu.COMMENT_END) else opened
        else:
            yield line, location
    if opened is not None:
        what = f"A comment in '{source.path}' is never closed; the rest of the file is lost."
        reading.notes.ignored(what, opened, "End it with a line '-->'.")


def _without_comments(line: str) -> str:
    parts = []
    done = 0
    while (opening := line.find(markdown_nlu.COMMENT, done)) >= 0:
        closing = line.find(markdown_nlu.COMMENT_END, opening + len(markdown_nlu.COMMENT))
        if closing < 0:
            break
        parts.append(line[done:opening])
        done = closing + len(markdown_nlu.COMMENT_END)
    return "".join([*parts, line[done:]])


def _read_line(reading: _Reading, line: str, location: Location) -> None:
    if line.startswith("#"):
        _finish(reading)
        reading.name, reading.place = line[1:].strip("# "), location
        reading.is_title = _LEVEL.match(line) is None
    elif line.startswith(">"):
        _checkpoint(reading, line[1:].strip(), location)
    elif _FORM_LINE.match(line):
        where = f"'{markdown_nlu.shown(line)}' in '{reading.source.path}'"
        what = f"{where} was written by interactive learning; Rasa skips it."
        reading.notes.note("markdown-of-form", "info", what, location, "Nothing is lost: the form's own events count.")
    elif line.startswith("-"):
        _event(reading, line[1:], location)
    elif line.startswith("*"):
        _messages(reading, line[1:], location)
    else:
        what = f"'{markdown_nlu.shown(line)}' in '{reading.source.path}' is not a step of a story; Rasa skips it."
        reading.notes.ignored(what, location, f"Begin it with '#', '*', '-' or '>', or remove it. {_STEPS}")


def _finish(reading: _Reading) -> None:
    """End the current story."""
    if reading.name is None or reading.place is None:
        return
    if any(not isinstance(step, model.CheckpointStep) for step in reading.steps):
        reading.stories.append(model.Story(reading.name, "story", tuple(reading.steps), reading.place))
    elif reading.steps or not reading.is_title:
        lacks = "has only checkpoints: Rasa ignores it" if reading.steps else "has no steps; it is skipped"
        what = f"The story '{reading.name}' in '{reading.source.path}' {lacks}."
        reading.notes.note("story-without-steps", "warning", what, reading.place, "Add steps, or remove the story.")
    reading.steps = []


def _started(reading: _Reading, what: str) -> None:
    if reading.name is None:
        raise _RefusedError(f"{what} comes before the first story", "Put it below a header such as `## name`.")


# --- checkpoints and events ------------------------------------------------------------------------------------------


def _checkpoint(reading: _Reading, written: str, location: Location) -> None:
    name, conditions = _name_and_parameters(written)
    _started(reading, f"The checkpoint '{name}'")
    is_end = any(not isinstance(step, model.CheckpointStep) for step in reading.steps)
    if is_end and conditions:
        what = f"The checkpoint '{name}' in '{reading.source.path}' ends a piece of the story; its conditions are lost."
        hint = (
            "Write them where a story starts at the checkpoint. In YAML it is `- checkpoint: NAME` with `slot_was_set`."
        )
        reading.notes.otherwise(what, location, hint)
        conditions = {}
    slots = tuple(model.SlotWasSetStep(slot, value, location) for slot, value in conditions.items())
    reading.steps.append(model.CheckpointStep(name, location, slots))


def _event(reading: _Reading, written: str, location: Location) -> None:
    name, parameters = _name_and_parameters(written)
    if name == "slot":
        if not parameters:
            raise _RefusedError("A slot event names no slot", 'Write `- slot{"name": "value"}`.')
        _started(reading, "A slot event")
        reading.steps += (model.SlotWasSetStep(slot, value, location) for slot, value in parameters.items())
        return
    _started(reading, f"'{name}'")
    named = parameters.get("name", name)
    if name == "form":
        reading.steps.append(model.ActiveLoopStep(None if named is None else str(named), location))
    elif name in EVENTS_AS_ACTIONS:
        reading.steps.append(model.ActionStep(name, location))
    elif name in _OTHER_EVENTS:
        reading.steps.append(model.EventStep(name, parameters, location))
    else:
        if parameters:
            what = f"The parameters of '{name}' in '{reading.source.path}' are dropped: an action takes none."
            reading.notes.ignored(what, location, f"Remove them. {_STEPS}")
        reading.steps.append(model.ActionStep(str(named), location))


def _name_and_parameters(written: str) -> tuple[str, dict[str, Any]]:
    """Split ``name{json}``; the JSON must be an object."""
    written = written.strip()
    brace = written.find("{")
    if brace < 0:
        return written, {}
    if brace == 0:
        raise _RefusedError(
            f"'{markdown_nlu.shown(written)}' names no event", "Write the name of an action or an event."
        )
    if len(written) == brace + 1:
        return written[:brace].strip(), {}
    hint = 'Write it like slot{"drink": "tea"}, in double quotes.'
    try:
        parameters = json.loads(written[brace:])
    except (ValueError, RecursionError) as error:
        raise _RefusedError(f"'{markdown_nlu.shown(written[brace:])}' is not JSON", hint) from error
    if not isinstance(parameters, dict):
        raise _RefusedError(f"'{markdown_nlu.shown(written[brace:])}' is not an object", hint)
    return written[:brace].strip(), parameters


# --- messages --------------------------------------------------------------------------------------------------------


def _messages(reading: _Reading, written: str, location: Location) -> None:
    _started(reading, f"The message '{markdown_nlu.shown(written.strip())}'")
    parts = [part.strip() for part in written.split(" OR ")]
    gives_texts = reading.end_to_end or (
        reading.end_to_end is None and _text_of_message(parts[0], strict=False) is not None
    )
    steps = [
        _with_text(reading, part, location) if gives_texts else _with_intent(reading, part, location) for part in parts
    ]
    (reading.texts if gives_texts else reading.intents).append(location)
    reading.steps.append(steps[0] if len(steps) == 1 else model.OrStep(tuple((step,) for step in steps), location))


def _with_intent(reading: _Reading, written: str, location: Location) -> model.UserStep:
    """Read ``intent{json}``: the intent extends to the first brace or confidence."""
    head = written.removeprefix("/")
    end = next((index for index, character in enumerate(head) if character in "{@"), len(head))
    intent = head[:end].strip()
    confidence = _CONFIDENCE.match(head, end)
    behind = head[confidence.end() if confidence else end :]
    if not behind.startswith("{"):
        return model.UserStep(intent, location)
    entities = _entities(behind)
    if entities is None:
        what = (
            f"'{markdown_nlu.shown(behind)}' after the intent '{intent}' is not a JSON object; Rasa reads no entities."
        )
        hint = 'Write it like inform{"drink": "tea"}. In YAML it is `entities: [{drink: tea}]`.'
        reading.notes.otherwise(what, location, hint)
    return model.UserStep(intent, location, None, entities or ())


def _entities(written: str) -> tuple[model.StoryEntity, ...] | None:
    try:
        data = json.loads(written)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    return tuple(
        model.StoryEntity(name, value)
        for name, values in data.items()
        for value in (values if isinstance(values, list) else [values])
    )


def _text_of_message(written: str, *, strict: bool = True) -> tuple[str, str] | None:
    """Split ``intent: text``, ``form: intent: text`` or ``intent{json}: text``; the JSON does not count.

    ``strict``: as Rasa does in end-to-end stories. Otherwise a space must precede the text, so that ``ask:price`` is
    an intent.
    """
    while written.startswith(_FORM_PREFIX):
        written = written.removeprefix(_FORM_PREFIX).lstrip()
    end = next((index for index, character in enumerate(written) if character in "{}:"), len(written))
    if not 0 < end < len(written) or written[end] == "}":
        return None
    colon = end
    if written[end] == "{":
        colon = written.rfind("}:") + 1
        if colon <= 0:
            return None
    text = written[colon + 1 :]
    if not strict and not (text[:1].isspace() and text.strip()):
        return None
    return written[:end], text.strip()


def _with_text(reading: _Reading, written: str, location: Location) -> model.UserStep:
    split = _text_of_message(written)
    if split is None:
        raise _RefusedError(
            f"'{markdown_nlu.shown(written)}' is a line of a training story, not of a test story: "
            "expected `* intent: text`",
            "Write what the user says after the intent; in YAML `user: |-` with the text, and `intent:`.",
        )
    intent, message = split
    if intent != intent.rstrip():
        what = f"The blank after the intent '{intent}' belongs to it in Rasa 1; it is left out here."
        reading.notes.otherwise(what, location, f"Write `* {intent.strip()}: …`.")
    try:
        text, annotated = parse_annotations(message, lists=False)
    except AnnotationError as error:
        hint = 'Write it like [Rome]{"entity": "city", "role": "to"}, in double quotes.'
        reading.notes.note(error.code, "error", f"{error}.", location, hint)
        text, annotated = message, ()
    entities = tuple(model.StoryEntity(a.entity, a.value, a.role, a.group, a.start, a.end) for a in annotated)
    if text.startswith("/"):
        entities = _entities_of_command(text)
    return model.UserStep(intent.strip(), location, text, entities)


def _entities_of_command(text: str) -> tuple[model.StoryEntity, ...]:
    brace = text.find("{")
    story_entities = _entities(text[brace:]) if brace >= 0 else None
    return tuple(
        model.StoryEntity(story_entity.entity, story_entity.value, start=brace, end=len(text))
        for story_entity in story_entities or ()
    )


def _note_mixture(reading: _Reading) -> None:
    """Report a file in which only some messages have texts: it is neither training nor test data."""
    if reading.end_to_end is None and reading.texts and reading.intents:
        what = (
            f"'{reading.source.path}' gives texts for some messages and none for others: "
            f"{reading.texts[0]} is a line of a test story, {reading.intents[0]} one of a training story."
        )
        hint = "Keep test stories (`* intent: text`) and training stories (`* intent`) in files of their own."
        reading.notes.otherwise(what, reading.intents[0], hint)


# Training data and test stories in the Markdown of Rasa 0.x to 2.x: what a file holds, and which reader reads it.

_HEADER: Final = re.compile(r"##[^\n]")
_NLU_HEADER: Final = re.compile(r"^[ \t]*##[ \t]*(?:intent|synonym|regex|lookup)[ \t]*:", re.MULTILINE)
_MESSAGE: Final = re.compile(r"^[ \t]*\*[ \t]*[\w/]", re.MULTILINE)
_ACTION: Final = re.compile(r"^[ \t]*-[ \t]*(?:utter_|action_|respond_|slot\{|form\{|\w+_form\b)", re.MULTILINE)


def kinds_of(source: Source) -> frozenset[str]:
    """Return what Rasa 1.10 reads a file as: NLU data, responses, stories, or nothing."""
    text = source.file_text
    if any(marker in text for marker in markdown_nlu.MARKERS):
        return frozenset({"nlu"})
    if markdown_nlu.is_responses_file(text.replace("\r", "\n") if "\r" in text else text):
        return frozenset({"responses"})
    return frozenset({"stories"}) if _HEADER.search(text) else frozenset()


def is_training_data(text: str) -> bool:
    """Whether a file is meant as training data rather than for people to read, such as a README with headings."""
    if any(marker in text for marker in markdown_nlu.MARKERS):
        return True
    if _HEADER.search(text) is None:
        return False
    return _NLU_HEADER.search(text) is not None or all(line.search(text) for line in (_MESSAGE, _ACTION))


def read_markdown(file: FormatInput) -> ParsedFile:
    """Read a file of training data or test stories in Markdown."""
    source = file.source
    kinds = kinds_of(source)
    if "nlu" in kinds and not file.wanted.isdisjoint(NLU_KEYS):
        nlu, findings = markdown_nlu.read_markdown_nlu(file.folder, source)
        return ParsedFile(nlu, findings=(*findings, *_lost_stories(source)), kinds=kinds)
    if "responses" in kinds and not file.wanted.isdisjoint(NLU_KEYS):
        responses, findings = markdown_nlu.read_markdown_responses(source)
        findings = [*_meant_otherwise(source), *findings]
        return ParsedFile(domain=model.Domain(responses=responses), findings=tuple(findings), kinds=kinds)
    if "stories" in kinds and not file.wanted.isdisjoint(STORY_KEYS):
        if unseen := _unseen_nlu(source):
            return ParsedFile(findings=(unseen,), kinds=kinds)
        stories, findings = read_markdown_stories(source)
        if not stories and not is_training_data(source.file_text):
            return ParsedFile(kinds=kinds)  # prose, in which Rasa finds no stories either
        return ParsedFile(stories=stories, findings=tuple(findings), kinds=kinds)
    return ParsedFile(kinds=kinds, belongs=bool(kinds))


def _unseen_nlu(source: Source) -> Finding | None:
    """NLU data that Rasa reads as stories: only headers with exactly one space make a file NLU data."""
    header = _NLU_HEADER.search(source.text)
    if header is None:
        return None
    location = source.location(header.start() + len(header[0]) - len(header[0].lstrip()))
    written = header[0].strip()
    what = f"'{source.path}' is not NLU data for Rasa: '{written}' needs exactly one blank after '##'."
    return Finding("markdown-refused", "error", what, location, "Write `## intent:NAME`; in YAML `- intent: NAME`.")


_READ_AS_RESPONSES: Final = (
    (_NLU_HEADER, "NLU data", "Begin its headers with `##` and exactly one blank."),
    (
        _ACTION,
        "stories",
        "In stories only the intent is named: write `* faq` for `* faq/ask_name`. Or put an empty line before it.",
    ),
)
"""What a file of responses was meant as, by lines that responses do not have, and how Rasa reads it so."""


def _meant_otherwise(source: Source) -> list[Finding]:
    """Report stories and NLU data that are lost because one line makes Rasa read the whole file as responses."""
    text = source.text.replace("\r", "\n")
    place = markdown_nlu.shows_responses(text)
    if place is None:
        return []
    start = text.rindex("\n", 0, place) + 1
    line = markdown_nlu.shown(text[start:].partition("\n")[0].strip())
    notes = markdown_nlu.Notes()
    for meant, kind, hint in _READ_AS_RESPONSES:
        if meant.search(text):
            what = f"'{source.path}' is read as responses because of '{line}' below a header: its {kind} are lost."
            notes.whole_file(what, source.location(start), hint, read_as="responses")
            break
    return notes.findings


def _lost_stories(source: Source) -> tuple[Finding, ...]:
    """Report stories or responses in a file of NLU data: their lines are read as items of a section, or ignored."""
    text = source.text
    for header in re.finditer(r"^[ \t]*##[^\n:]*\n\s*\*[ \t]*\w[^\n]*\n?([^\n]*)", text, re.MULTILINE):
        location = source.location(header.start())
        what = "response" if "/" in header[0] and not _ACTION.match(header[1]) else "story"
        message = f"The {what} in '{source.path}' is lost: the file holds NLU data, and a file holds one kind."
        hint = "Put it into a file of its own; YAML may hold both."
        return (Finding(markdown_nlu.IGNORED, "warning", message, location, hint, subject="NLU data"),)
    return ()


def first_header(source: Source) -> Location:
    """Return where the first header of a file is."""
    header = source.text.find("##")
    return source.location(max(header, 0))
