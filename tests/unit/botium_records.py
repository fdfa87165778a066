"""What botium-core reads and how its conversations end, as recorded in ``tests/data/botium``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from turncheck.engines.conversation import Turn
from turncheck.project.botium.folder import Suites
from turncheck.project.botium.model import Called, Section
from turncheck.project.folder import ProjectFolder

DATA = Path(__file__).parents[1] / "data" / "botium"
NOT_HEARD = "the engine does not report how the message was understood"
Json = dict[str, Any]


def records(name: str) -> Json:
    content: Json = json.loads((DATA / name).read_text("utf-8"))
    return content


def read_suite(folder: Path) -> tuple[Suites, ProjectFolder]:
    project = ProjectFolder(folder)
    return Suites(project, [folder]), project


def shape(section: Section, *, with_line: bool = True) -> Json:
    """A section as the recorder writes it."""
    said: Json = {"sender": section.sender}
    if section.channel:
        said["channel"] = section.channel
    if with_line:
        said["line"] = section.location.line
    said |= {"text": section.text} if section.json is None else {"json": section.json}
    if section.negated:
        said["not"] = True
    if section.optional:
        said["optional"] = True
    for key, called in (("asserters", section.asserters), ("hooks", section.hooks), ("inputs", section.inputs)):
        if called:
            said[key] = [_named(one) for one in called]
    return said


def _named(one: Called) -> Json:
    signs = {"not": one.negated, "optional": one.optional}
    return {"name": one.name, "args": list(one.args)} | {sign: True for sign, is_set in signs.items() if is_set}


def written(folder: Path, files: Mapping[str, str], capabilities: Mapping[str, Any] | None = None) -> Path:
    """Write a suite and, with capabilities, its ``botium.json``."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    if capabilities is not None:
        (folder / "botium.json").write_text(json.dumps({"botium": {"Capabilities": capabilities}}), "utf-8")
    return folder


# An engine that says what a scenario says.


class ScriptedTalk:
    def __init__(self, opening: Sequence[Any], replies: Sequence[Sequence[Any]], *, hears: bool = True) -> None:
        self._opening = opening
        self._replies = iter(replies)
        self._hears = hears
        self.said: list[str] = []

    def open(self, _metadata: Mapping[str, Any] | None = None) -> Turn:
        return Turn(None, (), {}, None, tuple(map(_bot_event, self._opening)))

    def say(self, text: str, _metadata: Mapping[str, Any] | None = None) -> Turn:
        self.said.append(text)
        messages = next(self._replies, ())
        heard = [{"event": "user", "text": text, "parse_data": _parse(messages)}] if self._hears else []
        unseen = {} if self._hears else dict.fromkeys(("intent", "entities"), NOT_HEARD)
        return Turn(text, (), {}, None, (*heard, *map(_bot_event, messages)), not_reported=unseen)


class ScriptedEngine:
    """Says the same in each conversation."""

    info = None
    has_flows = False

    def __init__(self, replies: Sequence[Sequence[Any]], opening: Sequence[Any] = (), *, hears: bool = True) -> None:
        self._given = (opening, replies)
        self._hears = hears
        self.talks: list[ScriptedTalk] = []

    def conversation(self, **_how: Any) -> ScriptedTalk:
        self.talks.append(ScriptedTalk(*self._given, hears=self._hears))
        return self.talks[-1]


def _bot_event(message: Any) -> Json:
    said: Json = {"text": message} if isinstance(message, str) else message
    buttons = [{"title": title, "payload": payload} for title, payload in said.get("buttons", ())]
    data = {"buttons": buttons or None, "image": next(iter(said.get("media", ())), None), "cards": said.get("cards")}
    answer = {"answer": said["source"]} if "source" in said else {}
    return {"event": "bot", "text": said["text"], "data": data, "metadata": {}, **answer}


def _parse(messages: Sequence[Any]) -> Json:
    heard: Json = next((one for one in messages if isinstance(one, dict)), {})
    return {
        "text": "",
        "intent": {"name": heard.get("intent"), "confidence": heard.get("confidence", 0.0)},
        "intent_ranking": [{"name": name, "confidence": sure} for name, sure in heard.get("ranking", ())],
        "entities": [{"entity": name, "value": value} for name, value in heard.get("entities", ())],
    }


def folders(files: Mapping[str, Json]) -> Iterator[tuple[str, dict[str, str]]]:
    """The recorded files by their folders."""
    by_folder: dict[str, dict[str, str]] = {}
    for path, file in files.items():
        folder, _, name = path.rpartition("/")
        by_folder.setdefault(folder, {})[name] = file["text"]
    yield from by_folder.items()
