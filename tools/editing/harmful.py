"""Edits that break something, as authors do by mistake: what they take away, exchange or raise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tools.editing.blocks import (
    SENTENCE,
    Block,
    Edit,
    blocks,
    domain_items,
    largest,
    read,
    responses,
    same,
    without_item,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ANNOTATION: Final = re.compile(r"\[([^\[\]]+)\](?:\([^()]*\)|\{[^{}]*\})")
_THRESHOLDS: Final = ("threshold", "core_fallback_threshold", "ambiguity_threshold")


def harmful(root: Path) -> Iterator[Edit]:
    """Yield the harmful edits that the bot has a place for."""
    yield from _to_examples(root)
    yield from _to_annotations(root)
    yield from _to_dialogues(root)
    yield from _to_the_domain(root)
    yield from _to_the_configuration(root)
    yield from _to_tests(root)


def _to_examples(root: Path) -> Iterator[Edit]:
    large = largest(root)
    for number, block in enumerate(large[:6]):
        yield _cut(block, 2 if number % 2 else 3)
    for block in large[2:5]:
        yield _thinned(block)
    for block in large[6:9]:
        yield Edit("intent deleted", f"{block.name} deleted", _without(block), (block.name,))
    for one, other in zip(large[0:8:2], large[1:8:2], strict=False):
        what = f"{one.name} and {other.name} exchanged"
        yield Edit("intents exchanged", what, _exchanged(one, other), (one.name, other.name))
    for one, other in zip(large[:4], large[4:8], strict=False):
        what = f"a third of {one.name} labelled as {other.name}"
        yield Edit("mislabelled", what, _labelled(one, other, keep=False), (one.name, other.name))
        what = f"a third of {one.name} copied to {other.name}"
        yield Edit("copied", what, _labelled(one, other, keep=True), (one.name, other.name))


def _to_annotations(root: Path) -> Iterator[Edit]:
    number = {one: len(_ANNOTATION.findall("\n".join(one.lines))) for one in blocks(root, "intent")}
    annotated = sorted((one for one in number if number[one]), key=lambda one: (-number[one], one.name))
    for block in annotated[:4]:
        what = f"{number[block]} annotations of {block.name} stripped"
        yield Edit("annotations stripped", what, _stripped(block), ("removed from intent",))
    for block in annotated[:2]:
        what = f"annotations of {block.name} with the name of another entity"
        yield Edit("annotations renamed", what, _annotated_otherwise(block), ("zzyzx",))
    for kind in ("synonym", "lookup", "regex"):
        found = [one for one in blocks(root, kind) if kind != "synonym" or _says_more_than_annotations(root, one)]
        for block in found[:2]:
            yield Edit(f"{kind} deleted", f"{kind} {block.name} deleted", _without(block), (block.name,))


def _says_more_than_annotations(root: Path, synonym: Block) -> bool:
    """Whether deleting the synonym changes anything: annotations with its value are synonyms as well."""
    texts = ["\n".join(one.lines) for one in blocks(root, "intent")]
    words = [found["text"] for line in synonym.lines[1:] if (found := SENTENCE.match(line))]
    annotated = [rf"\[{re.escape(word)}\]\{{[^{{}}]*\"value\": *\"{re.escape(synonym.name)}\"" for word in words]
    return not all(any(re.search(pattern, text) for text in texts) for pattern in annotated)


def _to_dialogues(root: Path) -> Iterator[Edit]:
    rules = [one for one in blocks(root, "rule") if any("action: " in line for line in one.lines)]
    stories = blocks(root, "story")
    for block in rules[:4]:
        yield Edit("rule deleted", f"rule {block.name} deleted", _without(block), (block.name,))
    for block in stories[:3]:
        yield Edit("story deleted", f"story {block.name} deleted", _without(block), (block.name,))
    for block in [*rules[1:4], *stories[:2]]:
        yield from _other_action(root, block)


def _to_the_domain(root: Path) -> Iterator[Edit]:
    for name in list(responses(root))[:6]:
        yield Edit("response deleted", f"response {name} deleted", _without_item("responses", name), (name,))
    for key in ("intents", "entities", "actions", "slots", "forms"):
        for _, name, _ in [one for one in domain_items(root) if one[0] == key][:2]:
            yield Edit(f"{key} of the domain", f"{name} removed from {key}", _without_item(key, name), (name,))


def _to_the_configuration(root: Path) -> Iterator[Edit]:
    text = (root / "config.yml").read_text(encoding="utf-8")
    for setting in _THRESHOLDS:
        if re.search(rf"^ *-? *{setting}:", text, re.MULTILINE):
            names = (setting.replace("_", " "), "no longer understood")
            yield Edit("threshold raised", f"{setting} raised to 0.95", _with_threshold(setting), names)
    for name in ("RegexEntityExtractor", "EntitySynonymMapper", "FallbackClassifier", "DIETClassifier", "RulePolicy"):
        if re.search(rf"^ *- name: \"?{name}\b", text, re.MULTILINE):
            yield Edit("component removed", f"{name} removed", _without_component(name), (name,))


def _to_tests(root: Path) -> Iterator[Edit]:
    for block in blocks(root, "story", "tests")[:3]:
        yield Edit("test deleted", f"test {block.name} deleted", _without(block), (block.name,))
    long = [one for one in blocks(root, "story", "tests") if len(_turns(one)) > 1]
    for block in long[:2]:
        yield Edit("test shortened", f"test {block.name} shortened", _shortened(block), (block.name, "edited"))


def _without(block: Block) -> Callable[[Path], None]:
    return lambda copy: same(copy, block).replace([])


def _without_item(key: str, name: str) -> Callable[[Path], None]:
    return lambda copy: without_item(copy, key, name)


def _cut(block: Block, kept: int) -> Edit:
    def make(copy: Path) -> None:
        own = same(copy, block)
        own.drop(own.sentences[kept:])

    what = f"{block.name} cut from {len(block.sentences)} to {kept} sentences"
    return Edit("intent cut", what, make, (block.name,))


def _thinned(block: Block) -> Edit:
    def make(copy: Path) -> None:
        own = same(copy, block)
        own.drop([number for place, number in enumerate(own.sentences) if place % 4])

    what = f"{block.name}: three of four sentences deleted"
    return Edit("sentences deleted", what, make, (block.name,))


def _exchanged(one: Block, other: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        for block, name in ((same(copy, one), other.name), (same(copy, other), one.name)):
            lines = read(block.path)
            lines[block.start] = lines[block.start].replace(block.name, name)
            write(block.path, lines)

    return make


def _labelled(one: Block, other: Block, *, keep: bool) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        source = same(copy, one)
        moved = source.sentences[::3]
        lines = read(source.path)
        texts = [lines[number].strip().removeprefix("- ") for number in moved]
        if not keep:
            source.drop(moved)
        next(block for block in blocks(copy, "intent") if block.name == other.name).add(texts)

    return make


def _stripped(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(copy, block)
        own.replace([_ANNOTATION.sub(r"\1", line) for line in own.lines])

    return make


def _annotated_otherwise(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(copy, block)
        own.replace([_ANNOTATION.sub(r"[\1](zzyzx)", line) for line in own.lines])

    return make


def _other_action(root: Path, block: Block) -> Iterator[Edit]:
    """A rule or story with another response instead of its first one."""
    used = [found[1] for line in block.lines if (found := re.search(r"action: *(utter_\w+)", line))]
    other = next((name for name in responses(root) if name not in used), None)
    if not used or other is None:
        return

    def make(copy: Path) -> None:
        own = same(copy, block)
        first = next(number for number, line in enumerate(own.lines) if f"action: {used[0]}" in line)
        lines = own.lines
        lines[first] = lines[first].replace(used[0], other)
        own.replace(lines)

    what = f"{used[0]} replaced by {other} in {block.kind} {block.name}"
    yield Edit("action replaced", what, make, (block.name, used[0]))


def _with_threshold(setting: str) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        lines = read(copy / "config.yml")
        write(copy / "config.yml", [re.sub(rf"^( *-? *{setting}:).*$", r"\1 0.95", line) for line in lines])

    return make


def _without_component(name: str) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        lines = read(copy / "config.yml")
        start = next(number for number, line in enumerate(lines) if re.match(rf" *- name: \"?{name}\b", line))
        inside = range(start + 1, len(lines))
        end = next((n for n in inside if re.match(r" *- name:|\w", lines[n])), len(lines))
        write(copy / "config.yml", [*lines[:start], *lines[end:]])

    return make


def _shortened(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(copy, block)
        own.replace(own.lines[: _turns(own)[1]])

    return make


def _turns(test: Block) -> list[int]:
    return [number for number, line in enumerate(test.lines) if re.match(r" *-? *user:", line)]
