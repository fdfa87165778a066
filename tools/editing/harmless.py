"""Edits that change nothing that matters: form, order, places, and a few ordinary sentences more."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tools.editing.blocks import (
    SENTENCE,
    Block,
    Edit,
    blocks,
    blocks_of,
    domain_items,
    indent_of,
    largest,
    read,
    responses,
    same,
    write,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Change = Callable[[list[str]], list[str]]

_SYNONYM: Final = ["- synonym: turncheck unused", "  examples: |", "    - zzyzx nobody", "    - zzyzx noone"]
_DATA: Final = ("nlu:", "stories:", "rules:", "responses:")
_LOOKUP: Final = ["- lookup: turncheck_unused", "  examples: |", "    - zzyzxa", "    - zzyzxb"]


def harmless(root: Path) -> Iterator[Edit]:
    """Yield the harmless edits that the bot has a place for."""
    nlu = sorted({block.path for block in blocks(root, "intent")}, key=lambda path: -path.stat().st_size)
    dialogue = sorted({one.path for kind in ("rule", "story") for one in blocks(root, kind)})
    tests = sorted({one.path for one in blocks(root, "story", "tests")})
    settings = [path for path in (root / "domain.yml", root / "config.yml") if path.is_file()]
    yield from _in_form(root, nlu, dialogue, settings)
    yield from _in_order(root, nlu, dialogue, tests)
    yield from _in_place(root, nlu, dialogue)
    yield from _in_examples(root, nlu)
    yield from _in_the_domain(root)


def _in_form(root: Path, nlu: list[Path], dialogue: list[Path], settings: list[Path]) -> Iterator[Edit]:
    every = (*nlu[:3], *dialogue[:2], *settings)
    for path in every:
        yield _on(root, path, "comment at the top", lambda lines: ["# The team's own notes.", "", *lines])
    for path in every[::2]:
        yield _on(root, path, "comment at the end", lambda lines: [*lines, "", "# To be continued."])
    for path in every:
        yield Edit("line ends", f"CR LF line ends, {path.name}", _with_bytes(path.relative_to(root), "\r\n", b""))
    # Rasa does not see a key of data that directly follows the mark.
    for path in [path for path in every if not read(path)[0].startswith(_DATA)][:2]:
        yield Edit("byte order mark", f"BOM, {path.name}", _with_bytes(path.relative_to(root), "\n", b"\xef\xbb\xbf"))
    for path in every[1::2]:
        yield _on(root, path, "blank lines at the end", lambda lines: [*lines, "", ""])
    for path in (*nlu[:2], *dialogue[:1]):
        yield _on(root, path, "blank lines between items", _apart)
    for path in nlu[:2]:
        yield _on(
            root, path, "trailing spaces", lambda lines: [f"{line}  " if line.strip() else line for line in lines]
        )
    for path in dialogue[:2]:
        yield _on(root, path, "names in quotes", _names_quoted)
    for block in largest(root)[:3]:
        yield Edit("quoted name", f"the name {block.name} in quotes", _quoted(block))


def _in_order(root: Path, nlu: list[Path], dialogue: list[Path], tests: list[Path]) -> Iterator[Edit]:
    for path in nlu[:3]:
        yield Edit("intents in reverse", f"intents in reverse, {path.name}", _sorted(root, path, reverse=True))
        yield Edit("intents by name", f"intents by name, {path.name}", _sorted(root, path, reverse=False))
    for path in dialogue[:4]:
        yield Edit(
            "dialogue in reverse", f"rules or stories in reverse, {path.name}", _sorted(root, path, reverse=True)
        )
    for path in tests[:2]:
        yield Edit("tests in reverse", f"tests in reverse, {path.name}", _sorted(root, path, reverse=True))
    for block in largest(root)[:4]:
        yield Edit("sentences in reverse", f"sentences of {block.name} in reverse", _sentences_reversed(block))


def _in_place(root: Path, nlu: list[Path], dialogue: list[Path]) -> Iterator[Edit]:
    for path in nlu[:2]:
        yield Edit("one file per intent", f"one file per intent, {path.name}", _split(root, path, "nlu"))
    for path in dialogue[:2]:
        section = "rules" if blocks_of(path)[0].kind == "rule" else "stories"
        if {one.kind for one in blocks_of(path)} == {blocks_of(path)[0].kind}:
            yield Edit("one file per story", f"one file per rule or story, {path.name}", _split(root, path, section))
    for path in (*nlu[:1], *dialogue[:1]):
        yield Edit("renamed file", f"{path.name} renamed", _renamed(root, path))


def _in_examples(root: Path, nlu: list[Path]) -> Iterator[Edit]:
    for block in largest(root)[:8]:
        if len(added := _good_sentences(block)) == 2:
            make = _with_sentences(block, added)
            yield Edit("two good sentences", f"two good sentences for {block.name}: {' / '.join(added)}", make)
    for path in nlu[:2]:
        yield _on(root, path, "unused synonym", _inserted(_SYNONYM))
        yield _on(root, path, "unused lookup", _inserted(_LOOKUP))


def _in_the_domain(root: Path) -> Iterator[Edit]:
    """Yield edits of ``domain.yml``: the order of its names, and the words of a response."""
    for key in ("intents", "actions", "entities"):
        found = [number for of_key, _, number in domain_items(root) if of_key == key]
        lines = read(root / "domain.yml")
        if len(found) > 1 and found == list(range(found[0], found[-1] + 1)):
            whole = slice(found[0], found[-1] + 1)
            change = _reversed_lines(whole)
            if all(re.match(r" {0,2}- [\w/.-]+ *$", line) for line in lines[whole]):
                yield _on(root, root / "domain.yml", f"{key} of the domain in reverse", change)
    for name in list(responses(root))[:2]:
        yield _on(root, root / "domain.yml", "words of a response", _reworded(name), name)


def _on(root: Path, path: Path, kind: str, change: Change, of: str = "") -> Edit:
    relative = path.relative_to(root)

    def make(copy: Path) -> None:
        write(copy / relative, change(read(copy / relative)))

    return Edit(kind, f"{kind}, {of or path.name}", make)


def _reversed_lines(whole: slice) -> Change:
    return lambda lines: [*lines[: whole.start], *reversed(lines[whole]), *lines[whole.stop :]]


def _with_bytes(relative: Path, end: str, first: bytes) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        path = copy / relative
        path.write_bytes(first + end.join([*read(path), ""]).encode())

    return make


def _apart(lines: list[str]) -> list[str]:
    return [
        one for line in lines for one in (["", line] if re.match(r" {0,2}- (?:intent|rule|story):", line) else [line])
    ]


def _sorted(root: Path, path: Path, *, reverse: bool) -> Callable[[Path], None]:
    relative = path.relative_to(root)

    def make(copy: Path) -> None:
        lines, found = read(copy / relative), blocks_of(copy / relative)
        for run in _runs(found):
            ordered = run[::-1] if reverse else sorted(run, key=lambda one: one.name)
            lines[run[0].start : run[-1].end] = [line for one in ordered for line in one.lines]
        write(copy / relative, lines)

    return make


def _runs(found: list[Block]) -> list[list[Block]]:
    """Blocks that follow each other without anything between them."""
    runs = [[one] for one in found[:1]]
    for one, following in pairwise(found):
        if following.start == one.end:
            runs[-1].append(following)
        else:
            runs.append([following])
    return runs


def _split(root: Path, path: Path, section: str) -> Callable[[Path], None]:
    relative = path.relative_to(root)

    def make(copy: Path) -> None:
        whole = copy / relative
        version = [line for line in read(whole) if line.startswith("version:")]
        for number, one in enumerate(blocks_of(whole)):
            write(whole.with_name(f"{whole.stem}_{number}.yml"), [*version, f"{section}:", *one.lines])
        inside = {line for one in blocks_of(whole) for line in range(one.start, one.end)}
        rest = [line for number, line in enumerate(read(whole)) if number not in inside]
        if any(line.strip() and not line.startswith(("#", f"{section}:", "version:")) for line in rest):
            write(whole, [line for line in rest if not line.startswith(f"{section}:")])
        else:
            whole.unlink()

    return make


def _renamed(root: Path, path: Path) -> Callable[[Path], None]:
    relative = path.relative_to(root)

    def make(copy: Path) -> None:
        (copy / relative).rename((copy / relative).with_name(f"a_{relative.name}"))

    return make


def _sentences_reversed(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(copy, block)
        lines = read(own.path)
        for number, line in zip(own.sentences, [lines[one] for one in reversed(own.sentences)], strict=True):
            lines[number] = line
        write(own.path, lines)

    return make


def _good_sentences(block: Block) -> list[str]:
    """Two sentences that users might say just as well: known ones with a polite word."""
    lines = read(block.path)
    known = [SENTENCE.match(lines[number]) for number in block.sentences]
    texts = [one["text"] for one in known if one and 2 <= len(one["text"].split()) <= 9 and "," not in one["text"]]
    return [f"{text.rstrip('.?!')} please" for text in texts[len(texts) // 3 :: max(len(texts) // 3, 1)]][:2]


def _with_sentences(block: Block, added: list[str]) -> Callable[[Path], None]:
    return lambda copy: same(copy, block).add(added)


def _inserted(new: list[str]) -> Change:
    def change(lines: list[str]) -> list[str]:
        place = next(number for number, line in enumerate(lines) if re.match(r" *- (?:intent|synonym|regex)", line))
        return [*lines[:place], *(f"{indent_of(lines[place])}{line}" for line in new), *lines[place:]]

    return change


def _quoted(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(copy, block)
        own.replace([re.sub(r"(intent: *)(\S+)", r'\1"\2"', own.lines[0]), *own.lines[1:]])

    return make


def _names_quoted(lines: list[str]) -> list[str]:
    return [re.sub(r"^( *- (?:rule|story): *)([\w ]+)$", r'\1"\2"', line) for line in lines]


def _reworded(name: str) -> Change:
    def change(lines: list[str]) -> list[str]:
        start = next(number for number, line in enumerate(lines) if re.match(rf"  {name}:", line))
        place = next(number for number in range(start, len(lines)) if "text: " in lines[number])
        words = re.sub(r"(text: *)(['\"]?)(?![|>])", r"\1\2Well. ", lines[place], count=1)
        return [*lines[:place], words, *lines[place + 1 :]]

    return change
