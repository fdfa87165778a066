"""The files of ``rasa test core``: same names, same shapes, same lines, so that scripts written for Rasa keep working.

Made from the report alone. Stories that Rasa drops as duplicates are omitted, as Rasa does.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import yaml

from turncheck.render.rasa_files import report_of
from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.report.model import Core, StoryResult, WrittenStep

REPORT: Final = "story_report.json"
FAILED: Final = "failed_test_stories.yml"
SUCCESSFUL: Final = "successful_test_stories.yml"
WITH_WARNINGS: Final = "stories_with_warnings.yml"
POLICY_ENTITIES_REPORT: Final = "TEDPolicy_report.json"
"""Entities that policies found: Rasa writes it whatever the policies are, even if no message has an entity."""
POLICY_ENTITIES_ERRORS: Final = "TEDPolicy_errors.json"

_FORMAT_VERSIONS: Final = {2: "2.0", 3: "3.1"}
_YAML: Final = "application/yaml"
_WIDTH: Final = 4096
REPLACEMENT: Final = "\ufffd"
_TRUTH: Final = re.compile("true|True|TRUE|false|False|FALSE")


def story_files(
    core: Core, *, errors: bool = True, warnings: bool = True, successes: bool = False, major: int = 3
) -> list[Rendered]:
    """Return the JSON and YAML files; ``errors``, ``warnings`` and ``successes`` as in Rasa's flags.

    ``major``: the version whose files they are, 2 or 3; those of older ones are in :mod:`turncheck.render.older_files`.
    """
    found = core.policy_entities
    files = [_json(REPORT, report_of(core.report, major)), _json(POLICY_ENTITIES_REPORT, found.report if found else {})]
    if errors and found and found.errors:
        files.append(_json(POLICY_ENTITIES_ERRORS, found.errors))
    judged = [story for story in core.stories if not story.duplicate]
    if errors:
        failed = [story for story in judged if not story.passed]
        files.append(_stories(FAILED, failed, "None of the test stories failed - all good!", major))
    if successes:
        passed = [story for story in judged if story.passed]
        files.append(_stories(SUCCESSFUL, passed, "None of the test stories succeeded :(", major))
    if warnings:
        files.append(_stories(WITH_WARNINGS, by_severity(judged), "No warnings for test stories", major))
    return files


def by_severity(stories: Iterable[StoryResult]) -> list[StoryResult]:
    """Return the stories that passed with a warning, the most severe first."""
    return sorted((story for story in stories if story.warned), key=lambda story: -(story.severity or 0.0))


def _json(name: str, content: Any) -> Rendered:
    return Rendered(name, "application/json", json.dumps(content, indent=2, ensure_ascii=False))


def _stories(name: str, stories: Sequence[StoryResult], otherwise: str, major: int) -> Rendered:
    if not stories:
        return Rendered(name, _YAML, f"# {otherwise}")
    return Rendered(name, _YAML, partial(_blocks, stories, major))


def _blocks(stories: Sequence[StoryResult], major: int) -> Iterator[bytes]:
    yield f'version: "{_FORMAT_VERSIONS[major]}"\nstories:\n'.encode()
    for story in stories:
        yield story_block(story).encode("utf-8", "backslashreplace")


def story_block(story: StoryResult) -> str:
    """Write one story as an entry of ``stories:``, its name followed by the path of its file."""
    title = f"story: {_scalar(f'{story.name} ({story.location.path})')}"
    steps = "".join(_step(step) for step in story.written)
    return f"- {title}\n  steps:\n{steps}" if steps else f"- {title}\n  steps: []\n"


def _step(step: WrittenStep) -> str:
    lines = _lines(step.step)
    if step.comment is not None:
        lines[0] += _comment(step.comment)
    for index, comment in step.entity_comments.items():
        lines[_entity_line(step.step, int(index))] += _comment(comment)
    return "".join(f"  {line}\n" for line in lines)


def _lines(step: dict[str, Any]) -> list[str]:
    """Write a step. Nearly all are one key with a name, or a slot with a value; only the others need a YAML dump."""
    if len(step) == 1:
        key, value = next(iter(step.items()))
        if isinstance(value, str | None) and key != "user":
            return [f"- {key}: {_scalar(value)}"]
        if key == "slot_was_set" and len(value) == 1 and len(value[0]) == 1:
            slot, filled = next(iter(value[0].items()))
            if isinstance(filled, str | bool | int | float | None):
                return [f"- {key}:", f"  - {_scalar(slot)}: {_scalar(filled)}"]
    said = step.get("user")
    return _dumped([{**step, "user": _Block(said)} if isinstance(said, str) else step]).split("\n")


@lru_cache(maxsize=4096, typed=True)
def _scalar(value: str | float | None) -> str:
    return _dumped({"x": value})[3:]


def _comment(comment: str) -> str:
    """A comment ends with its line: it must not begin another, nor contain what YAML does not allow."""
    line = " ".join(comment.splitlines())
    return f"  # {''.join(letter if letter.isprintable() else REPLACEMENT for letter in line)}"


def _entity_line(step: dict[str, Any], index: int) -> int:
    """Return the line of an entity: it goes below the intent and the line ``entities:``."""
    before = [key for key in step if key != "user"].index("entities") + 1
    return before + sum(_dumped([entity]).count("\n") + 1 for entity in step["entities"][:index])


class _Block(str):
    """What a user said: Rasa writes it below its key."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """Writes like Rasa: strings on one line, keys in order, no aliases; ``yes`` and ``no`` are strings (YAML 1.2)."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - declared so by its base
        letter: [
            (tag, _TRUTH if tag.endswith(":bool") else pattern)
            for tag, pattern in resolvers
            if not tag.endswith(":bool") or letter in "tTfF"
        ]
        for letter, resolvers in yaml.SafeDumper.yaml_implicit_resolvers.items()
    }

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - every value is written in full
        """Write each value in full, even if it occurs elsewhere."""
        return True


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if any(not letter.isprintable() for letter in value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


def _block(dumper: yaml.SafeDumper, value: _Block) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|")


_Dumper.add_representer(str, _text)
_Dumper.add_representer(_Block, _block)


def _dumped(value: Any) -> str:
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=_WIDTH
    )
    return text.rstrip("\n")
