"""Edits a bot's checkout, harmlessly and harmfully, and shows what turncheck says about each edit.

    python tools/verdicts_on_edits.py CHECKOUT [--out FOLDER] [--only WORDS] [--most N]

A harmless edit should pass without ⚠️, ❌ and lists of newly wrong items outside a fold; a harmful one should fail, or
be named above the fold. The table has a row for each edit; the exit code is the number of edits that were judged
otherwise. Edits of what the bot does not have are left out. Files are edited as text: YAML in the layout that Rasa's
own bots have.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GATES: Final = ("new-errors", "new-failures")
_FOLD: Final = re.compile(r"<details>.*?</details>", re.DOTALL)
_LISTS: Final = re.compile(r"^#+ .*(?:[Nn]ewly (?:failing|misclassified|misunderstood|wrong)|collide).*$", re.MULTILINE)
"""Titles of lists that a harmless edit must not have in plain sight."""
_BLOCK: Final = re.compile(r"^(?P<indent> *)- (?P<kind>intent|rule|story|synonym|lookup|regex): *(?P<name>.+?) *$")
_SENTENCE: Final = re.compile(r"^ +- +(?P<text>\S.*?) *$")
_ANNOTATION: Final = re.compile(r"\[([^\[\]]+)\](?:\([^()]*\)|\{[^{}]*\})")
_MARKS: Final = {"✅": "passed", "⚠️": "caution", "❌": "failed"}
_TOO_LONG: Final = 300
_MOST: Final = 40


@dataclass(frozen=True, slots=True)
class Block:
    """An item of a file: an intent, rule or story, from its first line to the one before ``end``."""

    path: Path
    kind: str
    name: str
    start: int
    end: int

    @property
    def lines(self) -> list[str]:
        """Its lines, as they are now."""
        return read(self.path)[self.start : self.end]

    @property
    def sentences(self) -> list[int]:
        """The numbers of the lines that have its sentences, in the file."""
        return [self.start + number for number, line in enumerate(self.lines) if number and _SENTENCE.match(line)]

    def replace(self, lines: list[str]) -> None:
        """Put other lines in its place."""
        whole = read(self.path)
        write(self.path, [*whole[: self.start], *lines, *whole[self.end :]])

    def drop(self, numbers: list[int]) -> None:
        """Remove lines, by their number in the file."""
        gone = set(numbers)
        write(self.path, [line for number, line in enumerate(read(self.path)) if number not in gone])


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a checkout: what it does, what a comment should name, and the function that does it."""

    what: str
    harmful: bool
    make: Callable[[Path], None]
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """What turncheck said about an edit."""

    exit_code: int
    mark: str
    headline: str
    above: str
    size: int


def read(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def write(path: Path, lines: list[str]) -> None:
    """Write the lines of a file."""
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def yaml_files(root: Path, folder: str = "data") -> list[Path]:
    """Return the YAML files below a folder of the checkout, sorted."""
    return sorted(path for path in (root / folder).rglob("*.y*ml") if path.stat().st_size)


def blocks(root: Path, kind: str, folder: str = "data") -> list[Block]:
    """Return the intents, rules or stories of the files below a folder."""
    return [block for path in yaml_files(root, folder) for block in blocks_of(path) if block.kind == kind]


def blocks_of(path: Path) -> list[Block]:
    """Return the items of a file; each ends where the next item or key of its depth begins."""
    lines = read(path)
    found = []
    section = ""
    for number, line in enumerate(lines):
        if re.match(r"\w", line):
            section = line.partition(":")[0]
        head = _BLOCK.match(line)
        if head and (section == "nlu") == (head["kind"] not in {"rule", "story"}) and head["indent"] in {"", "  "}:
            found.append(
                Block(path, head["kind"], head["name"].strip("'\""), number, _end(lines, number, head["indent"]))
            )
    return [one for one in found if one.kind != "intent" or one.sentences]


def _end(lines: list[str], start: int, indent: str) -> int:
    for number in range(start + 1, len(lines)):
        line = lines[number]
        if line.strip() and not line.lstrip().startswith("#") and not line.startswith(f"{indent} "):
            return number
    return len(lines)


def same(blocks: list[Block], wanted: Block) -> Block:
    """Find a block again in another checkout."""
    return next(
        one for one in blocks if (one.name, one.start, one.path.name) == (wanted.name, wanted.start, wanted.path.name)
    )


# --- harmless edits --------------------------------------------------------------------------------------------------


def harmless(root: Path) -> Iterator[Edit]:
    """Yield the harmless edits that the bot has a place for."""
    nlu = sorted({block.path for block in blocks(root, "intent")}, key=lambda path: -path.stat().st_size)
    dialogue = sorted({one.path for kind in ("rule", "story") for one in blocks(root, kind)})
    settings = [path for path in (root / "domain.yml", root / "config.yml") if path.is_file()]
    yield from _in_form(root, nlu, dialogue, settings)
    yield from _in_order(root, nlu, dialogue)
    yield from _in_examples(root, nlu)


def _in_form(root: Path, nlu: list[Path], dialogue: list[Path], settings: list[Path]) -> Iterator[Edit]:
    for path in (*nlu[:3], *dialogue[:2], *settings):
        yield _on(root, path, "a comment at the top", lambda lines: ["# The team's own notes.", "", *lines])
    for path in (*nlu[:2], *dialogue[:1], *settings[:1]):
        yield Edit(f"CR LF line ends in {path.name}", harmful=False, make=_other_line_ends(path.relative_to(root)))
    for path in (*nlu[:1], *dialogue[:1], *settings[:1]):
        yield _on(root, path, "blank lines at the end", lambda lines: [*lines, "", ""])
    for path in dialogue[:2]:
        yield _on(root, path, "names in quotes", _names_quoted)
    for block in _large(root)[:3]:
        yield Edit(f"the name {block.name} in quotes", harmful=False, make=_quoted(block))


def _in_order(root: Path, nlu: list[Path], dialogue: list[Path]) -> Iterator[Edit]:
    for path in nlu[:3]:
        yield Edit(f"intents in reverse, {path.name}", harmful=False, make=_sorted_blocks(root, path, reverse=True))
        yield Edit(f"intents by name, {path.name}", harmful=False, make=_sorted_blocks(root, path, reverse=False))
    for path in dialogue[:4]:
        make = _sorted_blocks(root, path, reverse=True)
        yield Edit(f"rules or stories in reverse, {path.name}", harmful=False, make=make)
    for path in nlu[:2]:
        yield Edit(f"one file per intent, {path.name}", harmful=False, make=_split(root, path))
    for block in _large(root)[:4]:
        yield Edit(f"sentences of {block.name} in reverse", harmful=False, make=_sentences_reversed(block))


def _in_examples(root: Path, nlu: list[Path]) -> Iterator[Edit]:
    for block in _large(root)[:8]:
        if added := _good_sentences(block):
            make = _with_sentences(block, added)
            yield Edit(f"two good sentences for {block.name}: {' / '.join(added)}", harmful=False, make=make)
    for path in nlu[:2]:
        unused = ["- synonym: turncheck unused", "  examples: |", "    - zzyzx nobody", "    - zzyzx noone"]
        yield _on(root, path, "a synonym that nobody uses", _inserted(unused, before=r"- (?:intent|synonym|regex)"))


def _on(root: Path, path: Path, what: str, change: Callable[[list[str]], list[str]]) -> Edit:
    relative = path.relative_to(root)

    def make(copy: Path) -> None:
        write(copy / relative, change(read(copy / relative)))

    return Edit(f"{what}, {path.name}", harmful=False, make=make)


def _other_line_ends(relative: Path) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        path = copy / relative
        path.write_bytes("\r\n".join([*read(path), ""]).encode())

    return make


def _sorted_blocks(root: Path, path: Path, *, reverse: bool) -> Callable[[Path], None]:
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


def _split(root: Path, path: Path) -> Callable[[Path], None]:
    relative = path.relative_to(root)

    def make(copy: Path) -> None:
        whole = copy / relative
        for number, one in enumerate(blocks_of(whole)):
            write(whole.with_name(f"{whole.stem}_{number}.yml"), ["nlu:", *one.lines])
        inside = {line for one in blocks_of(whole) for line in range(one.start, one.end)}
        rest = [line for number, line in enumerate(read(whole)) if number not in inside]
        if any(line.strip() and not line.startswith(("#", "nlu:", "version:")) for line in rest):
            write(whole, [line for line in rest if not line.startswith("nlu:")])
        else:
            whole.unlink()

    return make


def _large(root: Path) -> list[Block]:
    """The intents with the most sentences."""
    return sorted(blocks(root, "intent"), key=lambda one: (-len(one.sentences), one.name))


def _sentences_reversed(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(blocks(copy, "intent"), block)
        lines = read(own.path)
        for number, line in zip(own.sentences, [lines[one] for one in reversed(own.sentences)], strict=True):
            lines[number] = line
        write(own.path, lines)

    return make


def _good_sentences(block: Block) -> list[str]:
    """Two sentences that users might say just as well: known ones with a polite word."""
    lines = read(block.path)
    known = [_SENTENCE.match(lines[number]) for number in block.sentences]
    texts = [one["text"] for one in known if one and 2 <= len(one["text"].split()) <= 9 and "," not in one["text"]]
    middle = [text.rstrip(".?!") for text in texts[len(texts) // 3 :: max(len(texts) // 3, 1)]][:2]
    return [f"{text} please" for text in middle] if len(middle) == 2 else []


def _with_sentences(block: Block, added: list[str]) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(blocks(copy, "intent"), block)
        last = own.sentences[-1]
        lines = read(own.path)
        indent = re.match(r" *", lines[last])
        new = [f"{indent[0] if indent else ''}- {text}" for text in added]
        write(own.path, [*lines[: last + 1], *new, *lines[last + 1 :]])

    return make


def _inserted(new: list[str], *, before: str) -> Callable[[list[str]], list[str]]:
    def change(lines: list[str]) -> list[str]:
        place = next(number for number, line in enumerate(lines) if re.match(f" *{before}", line))
        indent = re.match(r" *", lines[place])
        return [*lines[:place], *(f"{indent[0] if indent else ''}{line}" for line in new), *lines[place:]]

    return change


def _quoted(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(blocks(copy, "intent"), block)
        own.replace([re.sub(r"(intent: *)(\S+)", r'\1"\2"', own.lines[0]), *own.lines[1:]])

    return make


def _names_quoted(lines: list[str]) -> list[str]:
    return [re.sub(r"^( *- (?:rule|story): *)([\w ]+)$", r'\1"\2"', line) for line in lines]


# --- harmful edits ---------------------------------------------------------------------------------------------------


def harmful(root: Path) -> Iterator[Edit]:
    """Yield the harmful edits that the bot has a place for."""
    large = _large(root)
    for block, kept in (*((one, 2) for one in large[:3]), *((one, 3) for one in large[3:6])):
        yield _cut(block, kept)
    for block in large[6:9]:
        yield Edit(f"{block.name} deleted", harmful=True, make=_without_block(block), names=(block.name,))
    for one, other in list(zip(large[0:8:2], large[1:8:2], strict=True))[:4]:
        what = f"{one.name} and {other.name} exchanged"
        yield Edit(what, harmful=True, make=_exchanged(one, other), names=(one.name, other.name))
    for one, other in list(zip(large[0:4], large[4:8], strict=False)):
        what = f"a third of {one.name} labelled as {other.name}"
        yield Edit(what, harmful=True, make=_mislabelled(one, other), names=(one.name, other.name))
    annotated = Counter({one: len(_ANNOTATION.findall("\n".join(one.lines))) for one in blocks(root, "intent")})
    for block, number in annotated.most_common(4):
        if number:
            what = f"{number} annotations of {block.name} stripped"
            yield Edit(what, harmful=True, make=_stripped(block), names=(block.name, "annotations removed"))
    rules = [one for one in blocks(root, "rule") if any("action: " in line for line in one.lines)]
    for block in rules[:4]:
        yield Edit(f"rule {block.name} deleted", harmful=True, make=_without_block(block), names=(block.name,))
    for block in [*rules[1:4], *blocks(root, "story")[:2]]:
        if edit := _other_action(block):
            yield edit
    for response in list(_responses(root))[:5]:
        make = _without_response(response)
        yield Edit(f"response {response} deleted", harmful=True, make=make, names=(response,))
    for setting in ("threshold", "core_fallback_threshold", "ambiguity_threshold"):
        if re.search(rf"^ *-? *{setting}:", (root / "config.yml").read_text(encoding="utf-8"), re.MULTILINE):
            make = _with_threshold(setting)
            yield Edit(f"{setting} raised to 0.95", harmful=True, make=make, names=(setting, "0.95", "not understood"))
    for block in blocks(root, "story", "tests")[:3]:
        yield Edit(f"test {block.name} deleted", harmful=True, make=_without_block(block), names=(block.name,))


def _cut(block: Block, kept: int) -> Edit:
    def make(copy: Path) -> None:
        own = same(blocks(copy, "intent"), block)
        own.drop(own.sentences[kept:])

    what = f"{block.name} cut from {len(block.sentences)} to {kept} sentences"
    return Edit(what, harmful=True, make=make, names=(block.name,))


def _folder_of(block: Block) -> str:
    return "tests" if "tests" in block.path.parts else "data"


def _without_block(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        same(blocks(copy, block.kind, _folder_of(block)), block).replace([])

    return make


def _exchanged(one: Block, other: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        found = blocks(copy, "intent")
        first, second = same(found, one), same(found, other)
        for block, name in ((first, other.name), (second, one.name)):
            lines = read(block.path)
            lines[block.start] = lines[block.start].replace(block.name, name)
            write(block.path, lines)

    return make


def _mislabelled(one: Block, other: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        source = same(blocks(copy, "intent"), one)
        moved = source.sentences[::3]
        lines = read(source.path)
        texts = [lines[number].strip() for number in moved]
        source.drop(moved)
        target = next(block for block in blocks(copy, "intent") if block.name == other.name)
        whole = read(target.path)
        last = target.sentences[-1]
        indent = re.match(r" *", whole[last])
        new = [f"{indent[0] if indent else ''}{text}" for text in texts]
        write(target.path, [*whole[: last + 1], *new, *whole[last + 1 :]])

    return make


def _stripped(block: Block) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        own = same(blocks(copy, "intent"), block)
        own.replace([_ANNOTATION.sub(r"\1", line) for line in own.lines])

    return make


def _other_action(block: Block) -> Edit | None:
    """A rule or story with another response instead of its first one."""
    used = [found[1] for line in block.lines if (found := re.search(r"action: *(utter_\w+)", line))]
    root = next(parent for parent in block.path.parents if (parent / "domain.yml").is_file())
    others = [name for name in _responses(root) if name not in used]
    if not used or not others:
        return None

    def make(copy: Path) -> None:
        own = same(blocks(copy, block.kind), block)
        own.replace([line.replace(f"action: {used[0]}", f"action: {others[0]}", 1) for line in own.lines])

    what = f"{used[0]} replaced by {others[0]} in {block.kind} {block.name}"
    return Edit(what, harmful=True, make=make, names=(block.name, used[0]))


def _responses(root: Path) -> Iterator[str]:
    inside = False
    for line in read(root / "domain.yml"):
        if re.match(r"\w", line):
            inside = line.startswith("responses:")
        elif inside and (found := re.match(r"  (utter_\w+):", line)):
            yield found[1]


def _without_response(name: str) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        lines = read(copy / "domain.yml")
        start = lines.index(next(line for line in lines if re.match(f"  {name}:", line)))
        end = next((n for n in range(start + 1, len(lines)) if re.match(r" {0,2}[\w#]", lines[n])), len(lines))
        write(copy / "domain.yml", [*lines[:start], *lines[end:]])

    return make


def _with_threshold(setting: str) -> Callable[[Path], None]:
    def make(copy: Path) -> None:
        lines = read(copy / "config.yml")
        write(copy / "config.yml", [re.sub(rf"^( *-? *{setting}:).*$", r"\1 0.95", line) for line in lines])

    return make


# --- what turncheck says ---------------------------------------------------------------------------------------------


def measured(project: Path, out: Path, baseline: str) -> Shown:
    """Run turncheck on a checkout, and read its comment."""
    command = [sys.executable, "-m", "turncheck", "run", str(project), "--out", str(out), "--baseline", baseline]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [*command, "--quiet", "--fail-on", *_GATES], capture_output=True, text=True, check=False, env=environment
    )
    comment = out / "comment.md"
    if done.returncode not in {0, 1} or not comment.is_file():
        return Shown(done.returncode, "?", (done.stderr or done.stdout)[-_TOO_LONG:], "", 0)
    text = comment.read_text(encoding="utf-8")
    above = _FOLD.sub("", text)
    title = next(line for line in above.splitlines() if line.startswith("#"))
    headline = next((line for line in above.splitlines() if line.startswith("**")), "")
    mark = next((mark for mark in _MARKS if mark in title), "?")
    return Shown(done.returncode, mark, f"{title.lstrip('# ')} {headline}", above, len(text.encode()))


def is_as_expected(edit: Edit, shown: Shown) -> bool:
    """Whether a harmless edit raises nothing, and a harmful one fails or is named in plain sight."""
    if not edit.harmful:
        return shown.exit_code == 0 and shown.mark == "✅" and not lists_in_sight(shown)
    return shown.exit_code == 1 or any(name in shown.above for name in edit.names)


def lists_in_sight(shown: Shown) -> list[str]:
    """The titles of lists of newly wrong items that are not folded."""
    return [found[0].strip("# ") for found in _LISTS.finditer(shown.above)]


def row(edit: Edit, shown: Shown) -> str:
    """The row of an edit: whether it is as expected, its exit code, mark and size, and what is above the fold."""
    named = [name for name in edit.names if name in shown.above]
    above = "; ".join([*lists_in_sight(shown), *(["names " + ", ".join(named)] if named else [])])
    good = "yes" if is_as_expected(edit, shown) else "**no**"
    kind = "harmful" if edit.harmful else "harmless"
    cells = (good, kind, edit.what, str(shown.exit_code), f"{shown.mark} {shown.headline}", above, f"{shown.size:,}")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ')[:_TOO_LONG] for cell in cells)} |"


def main() -> int:
    """Make the edits one by one, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="the bot's folder, which is not touched")
    parser.add_argument("--out", type=Path, default=Path("verdicts_on_edits"), help="folder for copies and reports")
    parser.add_argument("--only", default="", help="regular expression: only the edits whose description it occurs in")
    parser.add_argument("--most", type=int, default=_MOST, help="at most this many of each kind")
    asked = parser.parse_args()
    out: Path = asked.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    root: Path = asked.checkout.resolve()
    began = time.monotonic()
    base = measured(root, out / "base", "none")
    print(f"{root.name}: {base.headline} ({time.monotonic() - began:.0f} s)\n", flush=True)
    print(
        "| as expected | kind | edit | exit | headline | above the fold | bytes |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    edits = [*islice(harmless(root), asked.most), *islice(harmful(root), asked.most)]
    wrong = 0
    for number, edit in enumerate(edits):
        if asked.only and not re.search(asked.only, edit.what):
            continue
        copy = out / "copy" / root.name
        shutil.rmtree(copy.parent, ignore_errors=True)
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(".git"))
        edit.make(copy)
        shown = measured(copy, out / f"{number:02}", str(out / "base" / "report.json"))
        wrong += not is_as_expected(edit, shown)
        print(row(edit, shown), flush=True)
    print(f"\n{wrong} of {len(edits)} edits are not judged as expected.")
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
