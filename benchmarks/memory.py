"""Memory and time of each stage at several sizes, each in a process of its own, and how they grow.

python benchmarks/memory.py [--examples 10000 100000 1000000] [--stories 1000 10000 100000]
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

INTENTS = 100
WORDS = 5000
PER_FILE = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--stories", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    chosen = parser.parse_args()
    print("| stage | size | seconds | MB | MB per 1,000 more |\n|---|---|---|---|---|")
    table("data validate", chosen.examples, write_examples, ["data", "validate"])
    table("test core", chosen.stories, write_stories, ["test", "core"])


def table(stage: str, sizes: list[int], write: object, command: list[str]) -> None:
    before: tuple[int, float] | None = None
    for size in sizes:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write(folder, size)  # type: ignore[operator]
            seconds, memory = measured([*command, "--project", str(folder)], folder)
        slope = "" if before is None else f"{(memory - before[1]) / (size - before[0]) * 1000:.2f}"
        print(f"| `{stage}` | {size:,} | {seconds:.1f} | {memory:.0f} | {slope} |", flush=True)
        before = size, memory


def measured(arguments: list[str], folder: Path) -> tuple[float, float]:
    """Run a command of turncheck; return its CPU seconds and its largest memory in MB."""
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "turncheck", *arguments])  # noqa: S606
    _, _, usage = os.wait4(child, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def write_examples(folder: Path, size: int) -> None:
    """Write an assistant with so many training sentences, in files of twenty thousand."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 9))) for _ in range(WORDS)]
    domain(folder)
    data = folder / "data"
    data.mkdir()
    for start in range(0, size, PER_FILE):
        lines = ['version: "3.1"', "nlu:"]
        count = min(PER_FILE, size - start)
        for intent in range(INTENTS):
            lines += [f"- intent: intent_{intent}", "  examples: |"]
            for number in range(intent, count, INTENTS):
                said = " ".join(chance.choices(words, k=chance.randint(3, 9)))
                lines.append(f"    - {said} {start + number}" if number % 5 else f"    - {said} [{number}](city)")
        (data / f"nlu_{start:08}.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_stories(folder: Path, size: int) -> None:
    """Write an assistant whose test stories are so many, each of three turns."""
    chance = random.Random(1)
    domain(folder)
    (folder / "data").mkdir()
    rules = ['version: "3.1"', "rules:"]
    for intent in range(INTENTS):
        rules += [f"- rule: r{intent}", "  steps:", f"  - intent: intent_{intent}", f"  - action: utter_{intent}"]
    (folder / "data" / "rules.yml").write_text("\n".join(rules) + "\n")
    tests = folder / "tests"
    tests.mkdir()
    for start in range(0, size, 2000):
        lines = ['version: "3.1"', "stories:"]
        for number in range(start, min(start + 2000, size)):
            lines += [f"- story: s{number}", "  steps:"]
            for _ in range(3):
                intent = chance.randrange(INTENTS)
                lines += [f"  - intent: intent_{intent}", f"  - action: utter_{intent}"]
        (tests / f"test_stories_{start:08}.yml").write_text("\n".join(lines) + "\n")


def domain(folder: Path) -> None:
    lines = ['version: "3.1"', "intents:", *(f"- intent_{number}" for number in range(INTENTS)), "entities: [city]"]
    lines += ["responses:"]
    for number in range(INTENTS):
        lines += [f"  utter_{number}:", f"  - text: answer {number}"]
    (folder / "domain.yml").write_text("\n".join(lines) + "\n")
    (folder / "config.yml").write_text(
        "recipe: default.v1\nlanguage: en\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: DIETClassifier\n"
        "policies:\n- name: MemoizationPolicy\n- name: RulePolicy\n"
    )


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"\n{time.perf_counter() - begin:.0f} seconds of wall-clock time")
