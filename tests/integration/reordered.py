"""An assistant written in another order: what it says stays the same, what it is called in files does not."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from random import Random

IN_ANY_ORDER = {"nlu", "stories", "rules", "test_cases", "intents", "entities", "actions", "e2e_actions"}
"""Lists of a YAML file whose order means nothing."""
DATA = {"version", "nlu", "stories", "rules", "responses"}
KEYED = {"slots", "responses", "forms"}
IN_DOMAIN_ORDER = {"slots"}
"""Rasa sets the slots of a message in this order."""
DOMAIN = {"intents", "entities", "actions", "slots", "responses", "forms", "e2e_actions"}
KORE = {
    "dialogs", "dialogComponents", "sentences", "patterns", "knowledgeTasks", "faqs", "alternateQuestions", "smallTalk",
    "traits", "groups", "data", "testCases",
}  # fmt: skip
JSON_DATA = {
    "common_examples",
    "regex_features",
    "lookup_tables",
    "entity_synonyms",
    "intent_examples",
    "entity_examples",
}


@dataclass(frozen=True)
class Reordering:
    """How an assistant's files are written anew; without a source of randomness: in the order they have."""

    random: Random | None = None
    split: bool = False

    def shuffled(self, items: Sequence[Any]) -> list[Any]:
        new = list(items)
        if self.random:
            self.random.shuffle(new)
        return new

    def name(self, stem: str, number: int, suffix: str) -> str:
        assert self.random
        folder = self.random.choice(["", "b/", "a/deep/"])
        return f"{folder}{self.random.randrange(10**6):06}_{stem}_{number}{suffix}"


def rewritten(project: Path, folder: Path, how: Reordering) -> Path:
    """Copy a project, and write its files anew; those that cannot be read stay as they are."""
    shutil.copytree(project, folder)
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or "actions" in file.relative_to(folder).parts:
            continue
        in_data = "data" in file.relative_to(folder).parts
        texts: dict[str, str] = {}
        if file.suffix in {".yml", ".yaml"}:
            texts = dict(
                _yaml(file, how, may_split=in_data, domain=file.relative_to(folder).parts[0].startswith("domain"))
            )
        elif file.suffix == ".md" and file.relative_to(folder).parts[0] in {"data", "tests"}:
            texts = dict(_markdown(file, how, may_split=in_data))
        elif file.suffix == ".json":
            texts = dict(_json(file, how, may_split=in_data))
        elif file.suffix == ".txt" and in_data:
            lines = file.read_text(encoding="utf-8").splitlines()
            texts = {file.name: "\n".join(how.shuffled(lines)) + "\n"}
        elif file.suffix == ".csv":
            head, *rows = file.read_text(encoding="utf-8").splitlines()
            if not any(row.count('"') % 2 for row in rows):
                texts = {file.name: "\n".join([head, *how.shuffled(rows)]) + "\n"}
        if not texts:
            continue
        file.unlink()
        for name, text in texts.items():
            path = file.parent / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    domain = folder / "domain.yml"
    if how.split and how.random and domain.is_file():
        parts = dict(_domain_parts(domain, how))
        if parts:
            domain.unlink()
            (folder / "domain").mkdir()
            for name, text in parts.items():
                (folder / "domain" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "domain" / name).write_text(text, encoding="utf-8")
    return folder


def _composed(file: Path) -> yaml.MappingNode | None:
    try:
        node = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, UnicodeError):
        return None
    return node if isinstance(node, yaml.MappingNode) and node.value else None


def _written(node: yaml.Node) -> str:
    return yaml.serialize(node, Dumper=yaml.CSafeDumper, allow_unicode=True, width=10_000)


def _yaml(file: Path, how: Reordering, *, may_split: bool, domain: bool) -> Iterator[tuple[str, str]]:
    top = _composed(file)
    if top is None:
        return
    keys = [key.value for key, _ in top.value]
    if len(keys) != len(set(keys)):
        return  # Rasa refuses the file
    may_split = may_split and DATA.issuperset(keys)
    version = [(key, value) for key, value in top.value if key.value == "version"]
    rest = [(key, value) for key, value in top.value if key.value != "version"]
    for key, value in rest:
        _reorder(key.value, value, how)
    if not (how.split and how.random and may_split):
        yield file.name, _written(_mapping(top, [*version, *how.shuffled(rest)]))
        return
    number = 0
    for key, value in rest:
        if isinstance(value, yaml.SequenceNode) and value.value and key.value in IN_ANY_ORDER:
            for item in value.value:
                alone = yaml.SequenceNode(value.tag, [item], flow_style=value.flow_style)
                yield how.name(file.stem, number, file.suffix), _written(_mapping(top, [*version, (key, alone)]))
                number += 1
        else:
            yield how.name(file.stem, number, file.suffix), _written(_mapping(top, [*version, (key, value)]))
            number += 1
    if not rest:
        yield file.name, _written(top)


def _mapping(like: yaml.MappingNode, pairs: list[Any]) -> yaml.MappingNode:
    return yaml.MappingNode(like.tag, pairs, flow_style=like.flow_style)


def _reorder(key: str, value: yaml.Node, how: Reordering) -> None:
    if isinstance(value, yaml.SequenceNode) and key in IN_ANY_ORDER:
        if key == "nlu":
            for item in value.value:
                _reorder_examples(item, how)
        value.value = how.shuffled(value.value)
    elif isinstance(value, yaml.MappingNode) and key in KEYED - IN_DOMAIN_ORDER:
        names = [name.value for name, _ in value.value]
        if len(names) == len({str(name) for name in names}):
            value.value = how.shuffled(value.value)


def _reorder_examples(item: yaml.Node, how: Reordering) -> None:
    if not isinstance(item, yaml.MappingNode):
        return
    for key, value in item.value:
        if key.value != "examples":
            continue
        if isinstance(value, yaml.SequenceNode):
            value.value = how.shuffled(value.value)
        elif isinstance(value, yaml.ScalarNode):
            lines = value.value.rstrip("\n").split("\n")
            if all(line.startswith("- ") for line in lines):
                value.value = "\n".join(how.shuffled(lines)) + "\n"


def _domain_parts(file: Path, how: Reordering) -> Iterator[tuple[str, str]]:
    top = _composed(file)
    if top is None:
        return
    version = [(key, value) for key, value in top.value if key.value == "version"]
    if not version or not str(version[0][1].value).startswith("3"):
        return  # older Rasas read each file of a domain alone
    keys = [key.value for key, _ in top.value]
    if len(keys) != len(set(keys)) or not DOMAIN.issuperset(set(keys) - {"version", "session_config"}):
        return
    if any(_is_odd(key.value, value) for key, value in top.value):
        return
    for number, (key, value) in enumerate(pair for pair in top.value if pair[0].value != "version"):
        for part, half in enumerate(_halves(key.value, value)):
            name = how.name("part", 2 * number + part, ".yml")
            yield name, _written(_mapping(top, [*version, (key, half)]))


def _is_odd(key: str, value: yaml.Node) -> bool:
    """Whether a part of a domain is of the wrong kind, names something twice, or names an action of an intent.

    Rasa also checks each file of a domain alone: splitting would make another domain of it.
    """
    if key not in DOMAIN:
        return False
    if not isinstance(value, yaml.MappingNode if key in KEYED else yaml.SequenceNode):
        return True
    names = [yaml.serialize(one[0] if key in KEYED else one, Dumper=yaml.CSafeDumper) for one in value.value]
    return len(names) != len(set(names)) or any("triggers:" in name for name in names)


def _halves(key: str, value: yaml.Node) -> list[yaml.Node]:
    if (
        key not in DOMAIN - IN_DOMAIN_ORDER
        or not isinstance(value, yaml.SequenceNode | yaml.MappingNode)
        or len(value.value) < 2
    ):
        return [value]
    middle = len(value.value) // 2
    return [
        type(value)(value.tag, part, flow_style=value.flow_style)
        for part in (value.value[:middle], value.value[middle:])
    ]


def _markdown(file: Path, how: Reordering, *, may_split: bool) -> Iterator[tuple[str, str]]:
    """Only what is plain: where a reader stops, or a comment spans sections, the order has a meaning."""
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeError:
        return
    before, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    kinds = {bool(_NLU_HEAD.match(one)) for one in sections}
    if before.strip() or len(kinds) != 1 or not all(map(_is_plain, sections)):
        return
    sections = how.shuffled([_section(one, how) for one in sections])
    if how.split and how.random and may_split:
        for number, one in enumerate(sections):
            yield how.name(file.stem, number, ".md"), one
    else:
        yield file.name, "".join(sections)


_NLU_HEAD = re.compile(r"## (intent|synonym|regex|lookup):\S")


def _is_plain(section: str) -> bool:
    head, *lines = section.split("\n")
    written = [line for line in lines if line.strip()]
    if _NLU_HEAD.match(head):
        return all(line.startswith("- ") for line in written)
    is_story = re.match(r"## \w", head) and not re.match(r"## *\w+ *:", head)
    return bool(is_story) and all(re.match(r"\* |  +- |> ", line) for line in written)


def _section(text: str, how: Reordering) -> str:
    head, *lines = text.strip("\n").split("\n")
    lines = how.shuffled(lines) if _NLU_HEAD.match(head) else lines
    return "\n".join([head, *lines]) + "\n\n"


def _json(file: Path, how: Reordering, *, may_split: bool) -> Iterator[tuple[str, str]]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, UnicodeError):
        return
    if not isinstance(content, dict):
        return
    data = content.get("rasa_nlu_data")
    is_plain = isinstance(data, dict) and len(content) == 1 and all(isinstance(one, list) for one in data.values())
    if not (how.split and how.random and may_split and is_plain):
        yield file.name, json.dumps(_reordered(content, how), ensure_ascii=False, indent=1)
        return
    number = 0
    for key, items in (data or {}).items():
        for item in items if isinstance(items, list) and items else [None]:
            part = {key: items if item is None else [item]}
            yield how.name(file.stem, number, ".json"), json.dumps({"rasa_nlu_data": part}, ensure_ascii=False)
            number += 1


def _reordered(value: Any, how: Reordering, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _reordered(inner, how, name) for name, inner in value.items()}
    if isinstance(value, list):
        inner = [_reordered(one, how) for one in value]
        return how.shuffled(inner) if key in KORE | JSON_DATA else inner
    return value
