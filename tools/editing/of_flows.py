"""Edits of assistants of flows: faults, each with its place and what a report of it names, and harmless changes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tools.editing.blocks import indent_of, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ODD: Final = "zz"
"""Put into a name, so that it is another one."""


@dataclass(frozen=True, slots=True)
class FlowEdit:
    """New lines of files, by their paths. ``places``: where a fault may be reported, as ``path:line``; none: harmless.

    ``names``: a report of it names one of these.
    """

    kind: str
    what: str
    files: dict[str, list[str]]
    places: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assistant:
    """The text of an assistant's files, by their paths in it."""

    flows: dict[str, list[str]]
    domain: dict[str, list[str]]
    tests: dict[str, list[str]]
    others: dict[str, list[str]]

    @classmethod
    def at(cls, root: Path) -> Assistant:
        """Read the files of a folder."""
        parts: dict[str, dict[str, list[str]]] = {"flows": {}, "domain": {}, "tests": {}, "others": {}}
        for path in sorted((*root.rglob("*.yml"), *root.rglob("*.py"), *root.rglob("*.jinja2"))):
            name = str(path.relative_to(root))
            if any(part.startswith(".") for part in path.relative_to(root).parts):
                continue
            lines = read(path)
            first = name.partition("/")[0]
            if any(line.rstrip() == "flows:" for line in lines) and first == "data":
                parts["flows"][name] = lines
            elif first in {"domain", "domain.yml"}:
                parts["domain"][name] = lines
            elif first in {"tests", "e2e_tests"} and name.endswith(".yml") and "results" not in name:
                parts["tests"][name] = lines
            else:
                parts["others"][name] = lines
        return cls(**parts)

    @property
    def everything(self) -> dict[str, list[str]]:
        """All files."""
        return {**self.flows, **self.domain, **self.tests, **self.others}

    def places_of(self, word: str, parts: dict[str, list[str]]) -> tuple[str, ...]:
        """Where a word is in some files."""
        pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        return tuple(
            f"{path}:{number}"
            for path, lines in parts.items()
            for number, line in enumerate(lines, 1)
            if pattern.search(line.partition(" #")[0]) and not line.lstrip().startswith("#")
        )


def _at(path: str, lines: list[str], number: int, line: str | None) -> dict[str, list[str]]:
    """The file with a line replaced, or without it."""
    return {path: [*lines[:number], *([] if line is None else [line]), *lines[number + 1 :]]}


def _block_end(lines: list[str], start: int) -> int:
    """The first line after that, and what is below it: deeper, or a list as deep as its key."""
    depth = len(indent_of(lines[start]))
    is_key = not lines[start].lstrip().startswith("-")
    for number in range(start + 1, len(lines)):
        line = lines[number].strip()
        here = len(indent_of(lines[number]))
        if line and (here < depth or (here == depth and not (is_key and line.startswith("- ")))):
            return number
    return len(lines)


# --- faults -----------------------------------------------------------------------------------------------------------

_IN_FLOWS: Final = {
    "response misspelt": r"(action: +)(utter_\w+)( *)$",
    "action misspelt": r"(action: +)((?!utter_|action_listen)\w+)( *)$",
    "slot misspelt": r"(collect: +)(\w+)( *)$",
    "next to nowhere": r"((?:next|then|else): +)((?!END|if)\w+)( *)$",
    "link to nowhere": r"((?:link|call): +)(\w+)( *)$",
    "rejection misspelt": r"(utter: +)(utter_\w+)( *)$",
    "slot of a condition misspelt": r"(if: .*?slots\.)(\w+)(.*)$",
    "slot that is set misspelt": r"( {8,}- +)(\w+)(: +(?:null|true|false|True|False).*)$",
}
_IN_TESTS: Final = {
    "expected response misspelt": r"(utter(?:_name)?: +)(utter_\w+)( *)$",
    "expected slot misspelt": r"( +- name: +)(\w+)( *)$",
    "expected flow misspelt": r"(flow_(?:started|id): +\"?)(\w+)(\"? *)$",
}


def faults(assistant: Assistant) -> Iterator[FlowEdit]:
    """Yield the faults that the assistant has a place for."""
    for kinds, files in ((_IN_FLOWS, assistant.flows), (_IN_TESTS, assistant.tests)):
        for kind, pattern in kinds.items():
            for path, lines in files.items():
                for number, line in enumerate(lines):
                    if (match := re.search(pattern, line)) is not None:
                        wrong = f"{match[2]}{_ODD}"
                        changed = f"{line[: match.start()]}{match[1]}{wrong}{match[3]}"
                        made = _at(path, lines, number, changed)
                        yield FlowEdit(
                            kind, f"{match[2]}, {path}:{number + 1}", made, (f"{path}:{number + 1}",), (wrong,)
                        )
    yield from _conditions(assistant)
    yield from _structure(assistant)
    yield from _domain(assistant)
    yield from _tests(assistant)
    yield from _configuration(assistant)


def _conditions(assistant: Assistant) -> Iterator[FlowEdit]:
    for path, lines in assistant.flows.items():
        for number, line in enumerate(lines):
            if (match := re.search(r"if: +(not )?slots\.(\w+)( *)$", line)) is None:
                continue
            begin, slot, here = line[: match.start()], match[2], f"{path}:{number + 1}"
            for kind, text, name in (
                ("condition turned", f"if: {'' if match[1] else 'not '}slots.{slot}", slot),
                ("parenthesis left open", f"if: (slots.{slot}", "cannot be read"),
                ("condition without slots.", f"if: {slot}", slot),
                ("never true", f'if: slots.{slot} = "a" and slots.{slot} = "b"', slot),
            ):
                yield FlowEdit(kind, f"{slot}, {here}", _at(path, lines, number, f"{begin}{text}"), (here,), (name,))


def _structure(assistant: Assistant) -> Iterator[FlowEdit]:
    for path, lines in assistant.flows.items():
        flow, begins = "", 0
        for number, line in enumerate(lines):
            here = f"{path}:{number + 1}"
            if (match := re.fullmatch(r"  ([\w-]+): *", line)) is not None:
                flow, begins = match[1], number
            elif re.match(r"    description: +\S", line) and not line.rstrip().endswith(("|", ">")):
                without = _at(path, lines, number, None)
                yield FlowEdit("description removed", here, without, (f"{path}:{begins + 1}",), (flow,))
            elif re.match(r" +- else: +\w+ *$", line):
                places = tuple(f"{path}:{one}" for one in range(max(1, number - 8), number + 1))
                yield FlowEdit("else removed", here, _at(path, lines, number, None), places, ("else",))
            elif re.match(r" +ask_before_filling:", line):
                wrong = line.replace("ask_before_filling", "ask_before_filing")
                yield FlowEdit("key misspelt", here, _at(path, lines, number, wrong), (here,), ("ask_before_filing",))
            elif (match := re.match(r"( +)(- )?id: +(\w+)", line)) is not None and flow:
                place = assistant.places_of(match[3], {path: lines[: _block_end(lines, begins)]})
                wrong = line.replace(match[3], match[3] + _ODD)
                if len(place) > 1:
                    yield FlowEdit("id renamed", here, _at(path, lines, number, wrong), place, (match[3],))


def _domain(assistant: Assistant) -> Iterator[FlowEdit]:
    for path, lines in assistant.domain.items():
        section = ""
        for number, line in enumerate(lines):
            here = f"{path}:{number + 1}"
            if (match := re.match(r"(\w+): *$", line)) is not None:
                section = match[1]
            key = re.match(r"  (\w+): *$", line)
            if section == "responses" and key is not None:
                asked = key[1].removeprefix("utter_ask_")
                used = assistant.places_of(key[1], {**assistant.flows, **assistant.tests})
                used = (*used, *(assistant.places_of(asked, assistant.flows) if asked != key[1] else ()))
                without = {path: [*lines[:number], *lines[_block_end(lines, number) :]]}
                listed = assistant.places_of(key[1], assistant.domain)
                used = (*used, *(place for place in listed if place != here)) if used else ()
                if used:
                    yield FlowEdit("response removed", f"{key[1]}, {here}", without, used, (key[1],))
            elif section == "slots" and key is not None:
                used = assistant.places_of(key[1], assistant.flows)
                used = (*used, *assistant.places_of(f"slots.{key[1]}", assistant.flows))
                if used:
                    renamed = _at(path, lines, number, f"  {key[1]}{_ODD}:")
                    yield FlowEdit("slot renamed, uses left over", f"{key[1]}, {here}", renamed, used, (key[1],))
            elif section == "actions" and (item := re.match(r" *- ((?!utter_)\w+) *$", line)) is not None:
                used = assistant.places_of(item[1], assistant.flows)
                if used:
                    without = _at(path, lines, number, None)
                    yield FlowEdit("action removed", f"{item[1]}, {here}", without, used, (item[1],))
            if (match := re.search(r"(payload: +\"?/SetSlots\()(\w+)(=.*)$", line)) is not None:
                wrong = f"{line[: match.start()]}{match[1]}{match[2]}{_ODD}{match[3]}"
                made = _at(path, lines, number, wrong)
                yield FlowEdit("button misspelt", here, made, (here,), (match[2] + _ODD,))


def _tests(assistant: Assistant) -> Iterator[FlowEdit]:
    for path, lines in assistant.tests.items():
        for number, line in enumerate(lines):
            if (match := re.match(r" *- test_case: +(.+?) *$", line)) is not None:
                without = {path: [*lines[:number], *lines[_block_end(lines, number) :]]}
                name = match[1].strip("\"'")
                yield FlowEdit("test deleted", f"{name}, {path}", without, (f"{path}:{number + 1}",), (name,))
    for path, lines in assistant.flows.items():
        for number, line in enumerate(lines):
            flow = re.fullmatch(r"  ((?!pattern_)[\w-]+): *", line)
            if flow is None:
                continue
            called = re.compile(rf"(?:link|call): +{re.escape(flow[1])} *$")
            used = [
                f"{file}:{one}"
                for file, text in assistant.flows.items()
                for one, other in enumerate(text, 1)
                if called.search(other)
            ]
            used += assistant.places_of(flow[1], assistant.tests)
            if used:
                without = {path: [*lines[:number], *lines[_block_end(lines, number) :]]}
                yield FlowEdit("flow removed", f"{flow[1]}, {path}", without, tuple(used), (flow[1],))


def _configuration(assistant: Assistant) -> Iterator[FlowEdit]:
    for path, lines in assistant.others.items():
        for number, line in enumerate(lines):
            if path == "config.yml" and re.search(r"- name: +FlowPolicy *$", line):
                places = tuple(f"{path}:{one}" for one in range(1, len(lines) + 1))
                without = _at(path, lines, number, line.replace("FlowPolicy", "RulePolicy"))
                yield FlowEdit("policy removed", path, without, places, ("FlowPolicy",))


# --- harmless changes -------------------------------------------------------------------------------------------------


def harmless(assistant: Assistant) -> Iterator[FlowEdit]:
    """Yield changes that break nothing."""
    for path, lines in assistant.flows.items():
        yield from _of_file(path, lines)
    for path, lines in assistant.domain.items():
        for number, line in enumerate(lines):
            if (match := re.match(r"( +- text: +)([A-Z][\w ,']+)([.!?]?) *$", line)) is not None:
                other = f"{match[1]}{match[2]}, please{match[3]}"
                yield FlowEdit("response reworded", f"{path}:{number + 1}", _at(path, lines, number, other))
    for path, lines in assistant.tests.items():
        for number, line in enumerate(lines):
            if (match := re.match(r"( +- user: +)([A-Za-z][\w ,']+)$", line)) is not None:
                other = f"{match[1]}well, {match[2]}"
                yield FlowEdit("message reworded", f"{path}:{number + 1}", _at(path, lines, number, other))
    yield from _renamed(assistant)


def _of_file(path: str, lines: list[str]) -> Iterator[FlowEdit]:
    start = next(number for number, line in enumerate(lines) if line.rstrip() == "flows:")
    heads = [number for number, line in enumerate(lines) if number > start and re.fullmatch(r"  [\w-]+: *", line)]
    if len(heads) > 1:
        ends = [*heads[1:], len(lines)]
        parts = [lines[one:end] for one, end in zip(heads, ends, strict=True)]
        turned = [line for part in reversed(parts) for line in [*part, ""]]
        yield FlowEdit("flows in another order", path, {path: [*lines[: heads[0]], *turned]})
    commented = [
        other for line in lines for other in ([f"{indent_of(line)}# as agreed", line] if "- " in line else [line])
    ]
    if not any(line.rstrip().endswith(("|", ">", "|-", ">-")) for line in lines):
        yield FlowEdit("comments", path, {path: commented})
    for number, line in enumerate(lines):
        here = f"{path}:{number + 1}"
        if (match := re.match(r"( +description: +)([A-Za-z][\w ,']+)$", line)) is not None:
            other = f"{match[1]}{match[2]} for the customer"
            yield FlowEdit("description reworded", here, _at(path, lines, number, other))
        if (match := re.search(r"(if: +)((?:not )?slots\.\w+)$", line)) is not None:
            other = f"{line[: match.start()]}{match[1]}({match[2]})"
            yield FlowEdit("parentheses around a condition", here, _at(path, lines, number, other))
        if (match := re.search(r"((?:action|collect): +)(\w+)$", line)) is not None:
            other = f'{line[: match.start()]}{match[1]}"{match[2]}"'
            yield FlowEdit("quotes around a name", here, _at(path, lines, number, other))
        if (match := re.search(r"action: +(utter_\w+) *$", line)) is not None and heads:
            new = ["  say_it_again:", "    description: Say that again, word by word.", "    steps:"]
            more = [*lines[: heads[0]], *new, f"      - action: {match[1]}", *lines[heads[0] :]]
            yield FlowEdit("flow added", here, {path: more})


def _renamed(assistant: Assistant) -> Iterator[FlowEdit]:
    """A slot, response or step id with another name wherever it is used."""
    for pattern, kind in (
        (r"collect: +(\w+) *$", "slot"),
        (r"action: +(utter_\w+) *$", "response"),
        (r"id: +(\w+) *$", "id"),
    ):
        names = [
            match[1]
            for lines in assistant.flows.values()
            for line in lines
            if (match := re.search(pattern, line)) is not None
        ]
        for name in dict.fromkeys(names):
            whole = re.compile(rf"(?<![\w-])((?:utter_ask_|action_ask_|validate_)?){name}(?![\w-])")
            changed = {
                path: [whole.sub(rf"\g<1>{name}_{_ODD}", line) for line in lines]
                for path, lines in assistant.everything.items()
            }
            files = {path: lines for path, lines in changed.items() if lines != assistant.everything[path]}
            yield FlowEdit(f"{kind} renamed everywhere", name, files)
