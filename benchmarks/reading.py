"""How fast a large project is read, beside what PyYAML's C loader alone takes for the same files.

    python benchmarks/reading.py [--examples 100000] [--intents 77] [--rounds 5]

Both are measured in one run, in turns, each in a process of its own; the best round of each counts, since other work on
the machine can only make a round slower. Prints a Markdown table; ends with 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import yaml

from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_SECONDS = 1.0
LIMIT_RATIO = 8.0
LIMIT_MEGABYTES = 400.0

_TEXT = (
    "please could you tell me how long it takes until my new card arrives at home because the old one was lost "
    "yesterday in a taxi and I need money for the rent today or is there another way to pay with the phone"
)


def write_project(root: Path, examples: int, intents: int) -> None:
    """Write a project with this many distinct sentences, every tenth with an entity, in one file per intent."""
    random = Random(7)
    data = root / "data"
    data.mkdir(parents=True)
    names = [f"intent_{number:02}" for number in range(intents)]
    for number, name in enumerate(names):
        lines = ['version: "3.1"', "nlu:", f"- intent: {name}", "  examples: |"]
        for index in range(number, examples, intents):
            words = random.choices(_TEXT.split(), k=random.randint(4, 14))
            if index % 10 == 0:
                words[1] = f"[{words[1]}](thing)"
            lines.append(f"    - {' '.join(words)} {index}")
        (data / f"nlu_{name}.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    domain = {"version": "3.1", "intents": names, "entities": ["thing"]}
    (root / "domain.yml").write_text(yaml.safe_dump(domain), encoding="utf-8")
    (root / "config.yml").write_text("language: en\npipeline: []\npolicies: []\n", encoding="utf-8")


def read_with_turncheck(root: Path) -> int:
    """Read the project; return the number of examples."""
    return len(read_project(root).nlu.examples)


def read_with_pyyaml(root: Path) -> int:
    """Parse the same files with PyYAML's C loader; return their number."""
    files = sorted(root.rglob("*.yml"))
    for file in files:
        yaml.load(file.read_bytes(), Loader=yaml.CSafeLoader)
    return len(files)


def measure(read: Callable[[Path], int], root: Path) -> tuple[float, float]:
    """Return the seconds that reading takes in a new process, and that process's peak memory in megabytes."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measured, (read, root))


def _measured(read: Callable[[Path], int], root: Path) -> tuple[float, float]:
    start = time.perf_counter()
    read(root)
    seconds = time.perf_counter() - start
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return seconds, kilobytes / 1024


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--intents", type=int, default=77)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        write_project(root, arguments.examples, arguments.intents)
        rounds = [
            (measure(read_with_turncheck, root), measure(read_with_pyyaml, root)) for _ in range(arguments.rounds)
        ]
    ours, ours_memory = (min(ours[column] for ours, _ in rounds) for column in (0, 1))
    theirs, theirs_memory = (min(theirs[column] for _, theirs in rounds) for column in (0, 1))
    print(f"{arguments.examples:,} examples, {arguments.intents} intents, best of {arguments.rounds} rounds\n")
    print("| reader | seconds | times PyYAML | peak memory |\n|---|---|---|---|")
    print(f"| PyYAML's C loader | {theirs:.3f} | 1.0 | {theirs_memory:.0f} MB |")
    print(f"| turncheck | {ours:.3f} | {ours / theirs:.1f} | {ours_memory:.0f} MB |")
    print(f"| limit | {LIMIT_SECONDS:.3f} | {LIMIT_RATIO} | {LIMIT_MEGABYTES:.0f} MB |")
    return int(ours > LIMIT_SECONDS or ours / theirs > LIMIT_RATIO or ours_memory > LIMIT_MEGABYTES)


if __name__ == "__main__":
    sys.exit(main())
