"""Memory and time of each stage at several sizes, each in a process of its own, and how they grow.

python benchmarks/memory.py [--examples 10000 100000 1000000] [--sentences 1000 10000 100000]
                            [--stories 1000 10000 100000] [--understood 1000 10000 100000 1000000]

With a base, all differ from it: its sentences are understood otherwise, and its stories fail. Of ``--understood``
sentences only `test nlu` is measured. A table without one of the parts: give its option no size.
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
TRAINED_ON = 20
RUN = ("run", "--no-cache", "--out")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--understood", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    for name in ("sentences", "stories"):
        parser.add_argument(f"--{name}", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    chosen = parser.parse_args()
    print("| stage | size | CPU s | seconds | MiB | MiB per 1,000 more |\n|---|---|---|---|---|---|")
    table = Table()
    for parts, sizes in (
        (validation, chosen.examples),
        (understood_sentences, chosen.understood),
        (tested_sentences, chosen.sentences),
        (tested_stories, chosen.stories),
    ):
        for size in sizes:
            with tempfile.TemporaryDirectory() as name:
                parts(table, size, Path(name))


class Table:
    """Prints a row for each stage that was measured."""

    def __init__(self) -> None:
        self.before: dict[str, tuple[int, float]] = {}

    def row(self, stage: str, size: int, *arguments: object) -> None:
        """Run a command of turncheck; print its CPU seconds, its seconds and its largest memory."""
        cpu, seconds, memory = measured([str(one) for one in arguments])
        slope = ""
        if stage in self.before:
            smaller, less = self.before[stage]
            slope = f"{(memory - less) / (size - smaller) * 1000:.2f}"
        self.before[stage] = size, memory
        print(f"| {stage} | {size:,} | {cpu:.1f} | {seconds:.1f} | {memory:.0f} | {slope} |", flush=True)


def measured(arguments: list[str]) -> tuple[float, float, float]:
    begin = time.perf_counter()
    child = os.fork()
    if child == 0:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.execv(sys.executable, [sys.executable, "-m", "turncheck", *arguments])  # noqa: S606
    _, status, usage = os.wait4(child, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):  # 1: a gate failed, as it should
        raise SystemExit(f"turncheck {' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, usage.ru_maxrss / 1024


# --- the stages ------------------------------------------------------------------------------------------------------


def validation(table: Table, size: int, folder: Path) -> None:
    """Read and check training sentences."""
    write_examples(folder, size)
    table.row("`data validate`, sentences", size, "data", "validate", "--project", folder)


def understood_sentences(table: Table, size: int, folder: Path) -> None:
    """Test sentences without a report."""
    project = folder / "bot"
    write_tested(project, size, shifted=1)
    tests = ("--nlu", project / "tests")
    table.row("`test nlu`, sentences", size, "test", "nlu", "--project", project, *tests, *out(folder))


def tested_sentences(table: Table, size: int, folder: Path) -> None:
    """Test sentences, in one job and in two, and compare with a base that understands all of them differently."""
    base, head = folder / "base", folder / "head"
    write_tested(base, size, shifted=0)
    write_tested(head, size, shifted=1)
    reports = folder / "b" / "report.json", folder / "h" / "report.json"
    table.row("`run`, sentences", size, *RUN, folder / "b", "--project", base, "--baseline", "none")
    table.row("`run` with a base, sentences", size, *RUN, folder / "h", "--project", head, "--baseline", reports[0])
    rendered_and_compared(table, size, folder, "sentences", reports)
    merged_shards(table, size, folder, "sentences", base)


def tested_stories(table: Table, size: int, folder: Path) -> None:
    """Test stories, in one job and in two, and compare a report in which all fail with one in which they pass."""
    base, head = folder / "base", folder / "head"
    write_stories(base, size, shifted=0)
    write_stories(head, size, shifted=1)
    table.row("`test core`, stories", size, "test", "core", "--project", base, *out(folder))
    reports = folder / "base.json", folder / "head.json"
    for name, project, report in zip(("pass", "fail"), (base, head), reports, strict=True):
        stage = f"`test core --json`, stories that {name}"
        table.row(stage, size, "test", "core", "--project", project, *out(folder), "--json", report)
    rendered_and_compared(table, size, folder, "stories", reports)
    table.row("`run`, stories that fail", size, *RUN, folder / "h", "--project", head, "--baseline", "none")
    merged_shards(table, size, folder, "stories", head)


def rendered_and_compared(table: Table, size: int, folder: Path, what: str, reports: tuple[Path, Path]) -> None:
    """Compare two reports, and make all files of the second beside the first again."""
    base, head = reports
    table.row(f"`report compare`, {what}", size, "report", "compare", base, head, "--out", folder / "compared")
    again = (head, "--baseline", base, "--out", folder / "again")
    table.row(f"`report render`, {what}", size, "report", "render", *again)


def merged_shards(table: Table, size: int, folder: Path, what: str, project: Path) -> None:
    """Test in two shards and merge them."""
    shards = folder / "shard-1", folder / "shard-2"
    for number, shard in enumerate(shards, 1):
        part = ("--shard", f"{number}/2", "--project", project)
        table.row(f"`run --shard {number}/2`, {what}", size, *RUN, shard, *part)
    merge = ("report", "merge", *shards, "--project", project, "--baseline", "none", "--out", folder / "merged")
    table.row(f"`report merge`, {what}", size, *merge)


def out(folder: Path) -> tuple[object, ...]:
    return "--out", folder / "results"


# --- the projects ----------------------------------------------------------------------------------------------------


def write_examples(folder: Path, size: int) -> None:
    """Write an assistant with this many training sentences, in files of twenty thousand."""
    chance = random.Random(1)
    words = some_words(chance)
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


def write_tested(folder: Path, size: int, *, shifted: int) -> None:
    """Write an assistant with this many test sentences; its training sentences are ``shifted`` by this many intents."""
    chance = random.Random(1)
    words = some_words(chance)
    own = [chance.sample(words, 8) for _ in range(INTENTS)]

    def said(intent: int, number: int) -> str:
        return f"    - {' '.join(chance.choices(own[intent], k=2) + chance.choices(words, k=3))} {number}"

    domain(folder)
    for part, count in (("data", TRAINED_ON * INTENTS), ("tests", size)):
        (folder / part).mkdir()
        for start in range(0, count, PER_FILE):
            lines = ['version: "3.1"', "nlu:"]
            for intent in range(INTENTS):
                lines += [f"- intent: intent_{intent}", "  examples: |"]
                theirs = (intent + shifted) % INTENTS if part == "data" else intent
                numbers = range(start + intent, min(start + PER_FILE, count), INTENTS)
                lines += [said(theirs, number) for number in numbers]
            name = "nlu" if part == "data" else "test_nlu"
            (folder / part / f"{name}_{start:08}.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        chance = random.Random(2)


def write_stories(folder: Path, size: int, *, shifted: int) -> None:
    """Write an assistant with this many test stories of three turns; its rules are ``shifted`` by this many answers."""
    chance = random.Random(1)
    domain(folder)
    (folder / "data").mkdir()
    rules = ['version: "3.1"', "rules:"]
    for intent in range(INTENTS):
        answer = (intent + shifted) % INTENTS
        rules += [f"- rule: r{intent}", "  steps:", f"  - intent: intent_{intent}", f"  - action: utter_{answer}"]
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


def some_words(chance: random.Random) -> list[str]:
    return ["".join(chance.choices("abcdefghijklmnoprstuvw", k=chance.randint(2, 9))) for _ in range(WORDS)]


def domain(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    lines = ['version: "3.1"', "intents:", *(f"- intent_{number}" for number in range(INTENTS)), "entities: [city]"]
    lines += ["responses:"]
    for number in range(INTENTS):
        lines += [f"  utter_{number}:", f"  - text: answer {number}"]
    (folder / "domain.yml").write_text("\n".join(lines) + "\n")
    pipeline = "".join(
        f"- name: {name}\n" for name in ("WhitespaceTokenizer", "CountVectorsFeaturizer", "DIETClassifier")
    )
    (folder / "config.yml").write_text(
        f"recipe: default.v1\nlanguage: en\npipeline:\n{pipeline}"
        "policies:\n- name: MemoizationPolicy\n- name: RulePolicy\n"
    )


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"\n{time.perf_counter() - begin:.0f} seconds of wall-clock time")
