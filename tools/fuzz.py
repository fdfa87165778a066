"""Fuzzing: mutate the files of the recorded projects, read and check them, and look for anything but a finding.

    make fuzz                                    a million inputs, one worker a processor
    .venv/bin/python tools/fuzz.py --count 1000  fewer
    .venv/bin/python tools/fuzz.py --replay FILE what a failure left behind

An input is one project with one file mutated. Each is read, checked in one of three ways, and some are rendered in all
formats. A traceback, or an input that takes ten seconds of the processor, is a failure, kept below ``.fuzz/``.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from turncheck.errors import UserError
from turncheck.validate_command import FORMATS, Request, run_data_validate

ROOT = Path(__file__).parents[1]
ORACLES = (ROOT / "tests" / "oracle", ROOT.parent / "shared" / "oracle")
FAILURES = ROOT / ".fuzz"
SLOW = 10.0

HOSTILE = (
    *(
        "",
        "null",
        "~",
        "[]",
        "{}",
        "- ",
        ":",
        "::",
        "? ",
        "&a ",
        "*a",
        "!!python/object:os.system x",
        "<<: *a",
        "|",
        ">-",
    ),
    *(
        "true",
        "yes",
        "0x1F",
        "1e999",
        "-1",
        ".nan",
        "2024-01-01",
        "12:30",
        "'",
        '"',
        "#",
        "%YAML 1.1",
        "---",
        "...",
        "\t",
    ),
    *(
        "\x00",
        "\x07",
        "\ufeff",
        "\u2028",
        "\ud7ff",
        "é",
        "🙅",
        "\\u00e9",
        "\\uD800",
        "a" * 300,
        "((((a+)+)+)+)+",
        "[0-9{5}",
    ),
    *(
        "[x](y)",
        "[x](y:z)",
        '[x]{"entity": "y"}',
        "[x]{",
        '[x][{"entity": "y"}]',
        "faq/a/b",
        "/greet{",
        '/inform{"a": 1}',
    ),
    *(
        "intent:",
        "intents:",
        "slots:",
        "forms:",
        "responses:",
        "stories:",
        "rules:",
        "nlu:",
        "steps:",
        "or:",
        "version: 9",
    ),
    *(
        "- checkpoint: a",
        "- active_loop: null",
        "- slot_was_set:",
        "- action: action_restart",
        "- action: ",
        "- intent: ",
    ),
    *(
        "required_slots:",
        "mappings:",
        "type: from_entity",
        "use_entities: true",
        "# turncheck: ignore x",
        "examples: |",
    ),
)
"""Texts that have meant something to some parser."""


def projects() -> list[dict[str, bytes]]:
    """The YAML files of every recorded project, by name."""
    found: list[dict[str, bytes]] = []
    for folder in sorted(path for oracle in ORACLES for path in oracle.glob("*/*/project")):
        files = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*.yml"))
            if path.stat().st_size < 20_000
        }
        if files and files not in found:
            found.append(files)
    return found


def mutate(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Change a file in one to four ways."""
    for _ in range(chance.randint(1, 4)):
        change = chance.choice(CHANGES)
        content = change(content, others, chance)
    return content


def _lines(content: bytes) -> list[bytes]:
    return content.split(b"\n")


def _place(lines: list[bytes], chance: random.Random) -> int:
    return chance.randrange(len(lines))


def delete_lines(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Delete one to three lines."""
    lines = _lines(content)
    place = _place(lines, chance)
    del lines[place : place + chance.randint(1, 3)]
    return b"\n".join(lines)


def repeat_lines(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Insert some lines of the file elsewhere in it."""
    lines = _lines(content)
    start = _place(lines, chance)
    lines[_place(lines, chance) : 0] = lines[start : start + chance.randint(1, 4)]
    return b"\n".join(lines)


def indent_line(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Change the indentation of a line."""
    lines = _lines(content)
    place = _place(lines, chance)
    lines[place] = b" " * chance.randint(0, 8) + lines[place].lstrip()
    return b"\n".join(lines)


def replace_value(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Put a hostile text behind the colon or dash of a line."""
    lines = _lines(content)
    place = _place(lines, chance)
    sign = chance.choice((b":", b"- "))
    head, found, _ = lines[place].partition(sign)
    text = chance.choice(HOSTILE).encode("utf-8", "replace")
    lines[place] = head + (found or sign) + b" " + text
    return b"\n".join(lines)


def insert_text(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Insert a hostile text anywhere."""
    place = chance.randint(0, len(content))
    return content[:place] + chance.choice(HOSTILE).encode("utf-8", "replace") + content[place:]


def flip_byte(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Replace one byte by any other."""
    place = chance.randint(0, max(0, len(content) - 1))
    return content[:place] + bytes([chance.randrange(256)]) + content[place + 1 :]


def cut(content: bytes, _others: list[bytes], chance: random.Random) -> bytes:
    """Cut the file off."""
    return content[: chance.randint(0, len(content))]


def splice(content: bytes, others: list[bytes], chance: random.Random) -> bytes:
    """Go on with the second half of another file."""
    other = _lines(chance.choice(others))
    lines = _lines(content)
    return b"\n".join([*lines[: _place(lines, chance)], *other[_place(other, chance) :]])


CHANGES = (
    delete_lines,
    repeat_lines,
    indent_line,
    indent_line,
    replace_value,
    replace_value,
    replace_value,
    insert_text,
    flip_byte,
    cut,
    splice,
)


def check(folder: Path, chance: random.Random) -> None:
    """Read and check the project; raises whatever should not be raised."""
    request = Request(
        project=folder,
        strict=chance.random() < 0.5,
        stories_only=chance.random() < 0.1,
        max_history=chance.choice((None, None, 1, 3)),
    )
    formats = FORMATS if chance.random() < 0.05 else ("json",)
    for output_format in formats:
        try:
            run_data_validate(request, output_format=output_format, output=io.StringIO())
        except UserError as error:
            str(error)


def fuzz(seed: int, count: int, seconds: float) -> dict[str, Any]:
    """Try ``count`` inputs, or as many as ``seconds`` allow; return how many there were, and the failures."""
    chance = random.Random(seed)
    pool = projects()
    contents = [content for files in pool for content in files.values()]
    failures: list[str] = []
    end = time.monotonic() + seconds
    done = 0
    memory = Path("/dev/shm")  # noqa: S108 - a folder with a random name of our own is made in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name) / "project"
        while done < count and time.monotonic() < end:
            files = chance.choice(pool)
            shutil.rmtree(folder, ignore_errors=True)
            for path, content in files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
            for _ in range(min(20, count - done)):
                path = chance.choice(sorted(files))
                mutated = mutate(files[path], contents, chance)
                (folder / path).write_bytes(mutated)
                failures += _try(folder, path, f"{seed}-{done}", chance)
                (folder / path).write_bytes(files[path])
                done += 1
    return {"done": done, "failures": failures}


def _try(folder: Path, path: str, name: str, chance: random.Random) -> list[str]:
    begin = time.process_time()
    try:
        check(folder, chance)
    except Exception:  # noqa: BLE001 - whatever it is, it is what fuzzing looks for
        trouble = traceback.format_exc()
    else:
        taken = time.process_time() - begin
        trouble = f"took {taken:.1f} s" if taken > SLOW else ""
    if not trouble:
        return []
    kept = FAILURES / name
    shutil.copytree(folder, kept, dirs_exist_ok=True)
    (kept / "trouble.txt").write_text(f"{path}\n{trouble}", encoding="utf-8")
    return [f"{kept}: {trouble.strip().splitlines()[-1]}"]


def _work(task: tuple[int, int, float]) -> dict[str, Any]:
    return fuzz(*task)


def main(arguments: list[str]) -> int:
    """Fuzz with all processors and print what came of it as JSON; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--replay", type=Path, help="a folder below .fuzz/")
    options = parser.parse_args(arguments)
    if options.replay:
        check(options.replay, random.Random(0))
        return 0
    chunk = 1000
    tasks = [
        (options.seed + number, min(chunk, options.count - number * chunk), options.seconds)
        for number in range(-(-options.count // chunk))
    ]
    begin = time.monotonic()
    done = 0
    failures: list[str] = []
    with multiprocessing.Pool(options.workers, maxtasksperchild=20) as workers:
        for result in workers.imap_unordered(_work, tasks):
            done += result["done"]
            failures += result["failures"]
            for line in result["failures"]:
                print(line, file=sys.stderr)
            print(f"\r{done:,} inputs, {len(failures)} failures", end="", file=sys.stderr, flush=True)
            if time.monotonic() - begin > options.seconds:
                break
    seconds = round(time.monotonic() - begin)
    print(json.dumps({"inputs": done, "failures": len(failures), "seconds": seconds, "first seed": options.seed}))
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
