"""What one added sentence costs, with a base from git, and how runs grow: CPU seconds and memory.

    python benchmarks/sentence_added.py [changes] [sizes]
    python benchmarks/sentence_added.py --beside CHECKOUT     and as a multiple of what another checkout takes
    python benchmarks/sentence_added.py --demo FOLDER         with a checkout of RasaHQ/rasa-demo, too

changes   a training sentence is added to an assistant of `examples/`: with the cache that a run of the base left, and
          without any
sizes     assistants of 20 to 1,000 intents with five and with ten sentences each, cross-validated without a cache

The other checkout runs with this Python and its packages, in turns with this one, so that other work on the machine
slows both; the least of the rounds counts. What it takes without a cache is what both rows of a change are divided by:
a cache saves little there. Ends with 1 if a limit is exceeded, or if an assistant takes longer than one with as many
intents and sentences each or more.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import growth
from base import git
from dialogue import TURNCHECK, Cost, cost

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
SIZES = [(intents, each) for intents in (20, 50, 100, 200, 500, 1_000) for each in (5, 10)]
NOISE = 1.05
"""By so much equal work may differ."""
SIZE_LIMITS = {(200, 5): 0.25}
FIRST = "main"


class Change(NamedTuple):
    """An assistant, where a sentence is added, and the limits as multiples of the other checkout without a cache."""

    file: str
    after: str
    sentence: str
    cached: float
    uncached: float


CHANGES = {
    "clinic": Change(
        "data/nlu/appointments.yml",
        "      - appointment please\n",
        "      - could somebody see me about my back one of these days\n",
        0.13,
        0.36,
    ),
    "pizzeria": Change("data/nlu.yml", "      - hello there\n", "      - hi to you all\n", 1.0, 1.0),
    "rasa-demo": Change(
        "data/nlu/general.yml", "    - Bom dia\n", "    - a very good evening to all of you\n", 1 / 3, 1 / 3
    ),
}


class Taken(NamedTuple):
    """What the rounds of a run took at least."""

    seconds: float
    megabytes: float

    @classmethod
    def least(cls, costs: Sequence[Cost]) -> Taken:
        return cls(min(one.processor for one in costs), min(one.megabytes for one in costs))


def measured(source: Path, folder: Path, *arguments: str) -> Cost:
    """Return what a run with the turncheck of a source folder takes; it may pass or fail."""
    own = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(source)
    try:
        out = ("--out", str(folder.parent / "out"), "--fail-on", "none", "--quiet")
        return cost([*TURNCHECK, "run", *arguments, *out], folder, may_fail=True)
    finally:
        del os.environ["PYTHONPATH"]
        if own is not None:
            os.environ["PYTHONPATH"] = own


def repository(folder: Path, project: Path, change: Change) -> None:
    """Make a repository with the assistant on `main`, and the sentence on `feature`."""
    git(folder, "init", "-q", "-b", FIRST)
    shutil.copytree(project, folder / "bot", ignore=shutil.ignore_patterns("results", "models", ".git"))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "base")
    git(folder, "checkout", "-q", "-b", "feature")
    file = folder / "bot" / change.file
    before = file.read_text(encoding="utf-8")
    after = before.replace(change.after, change.after + change.sentence, 1)
    if after == before:
        sys.exit(f"{file} has no line {change.after.strip()!r}")
    file.write_text(after, encoding="utf-8")
    git(folder, "commit", "-q", "-a", "-m", "change")


def changed(place: Path, source: Path, number: int) -> tuple[Cost, Cost]:
    """Return what the change takes with the base's cache, and without any."""
    job, kept = place / "job", place / f"cache-{number}"
    git(job, "checkout", "-q", FIRST)
    measured(source, job, "bot", "--baseline", "none", "--cache-folder", str(kept))
    git(job, "checkout", "-q", "feature")
    base = ("bot", "--baseline", "git", "--base", FIRST)
    try:
        return measured(source, job, *base, "--cache-folder", str(kept)), measured(source, job, *base, "--no-cache")
    finally:
        shutil.rmtree(kept)


def changes(sources: Sequence[Path], rounds: int, demo: Path | None) -> bool:
    """Print what an added sentence takes; return whether no limit is exceeded."""
    good = True
    head = ("assistant", "cache", "CPU s", "MiB", "beside, CPU s", "MiB", "of that without a cache", "limit")
    print(f"| {' | '.join(head)} |\n{'|---' * len(head)}|")
    for name, change in CHANGES.items():
        project = demo if name == "rasa-demo" else ROOT / "examples" / name
        if project is None:
            continue
        taken: list[list[tuple[Cost, Cost]]] = [[] for _ in sources]
        with tempfile.TemporaryDirectory() as place:
            job = Path(place) / "job"
            job.mkdir()
            repository(job, project, change)
            for number in range(rounds):
                for runs, source in zip(taken, sources, strict=True):
                    runs.append(changed(Path(place), source, number))
        own, *others = ([Taken.least(costs) for costs in zip(*runs, strict=True)] for runs in taken)
        for place_of, (label, limit) in enumerate((("of the base", change.cached), ("none", change.uncached))):
            beside, share, most = "– | –", "–", "–"
            if others:
                other, without = others[0][place_of], others[0][1]
                quotient = own[place_of].seconds / without.seconds
                good = good and quotient <= limit
                beside, share, most = _cells(other), f"{quotient:.2f}", f"{limit:.2f}"
            print(f"| {name} | {label} | {_cells(own[place_of])} | {beside} | {share} | {most} |", flush=True)
    return good


def sizes(sources: Sequence[Path], rounds: int) -> bool:
    """Print what growing assistants take; return whether none takes longer than a larger one or than its limit."""
    good = True
    print("\n| intents | sentences each | CPU s | MiB | beside, CPU s | MiB | of that |\n|---|---|---|---|---|---|---|")
    found: dict[tuple[int, int], Taken] = {}
    for size in SIZES:
        taken: list[list[Cost]] = [[] for _ in sources]
        with tempfile.TemporaryDirectory() as place:
            project = Path(place) / "bot"
            growth.many_intents(project, *size)
            for _ in range(rounds):
                for runs, source in zip(taken, sources, strict=True):
                    runs.append(measured(source, project, "--no-cache", "--baseline", "none"))
        own, *others = map(Taken.least, taken)
        found[size] = own
        beside, share = "– | –", "–"
        if others:
            quotient = own.seconds / others[0].seconds
            good = good and quotient <= SIZE_LIMITS.get(size, 1.0)
            beside, share = _cells(others[0]), f"{quotient:.2f}"
        print(f"| {size[0]:,} | {size[1]} | {_cells(own)} | {beside} | {share} |", flush=True)
    for less, more in permutations(SIZES, 2):
        if less[0] <= more[0] and less[1] <= more[1] and found[less].seconds > NOISE * found[more].seconds:
            print(f"{less[0]:,} intents of {less[1]} take longer than {more[0]:,} of {more[1]}")
            good = False
    return good


def _cells(taken: Taken) -> str:
    return f"{taken.seconds:.2f} | {taken.megabytes:.0f}"


def main() -> int:
    """Print the tables; 1 if something takes too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="changes, sizes (both)")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="another checkout of turncheck")
    parser.add_argument("--demo", type=Path, metavar="FOLDER", help="a checkout of RasaHQ/rasa-demo")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if unknown := set(options.parts) - {"changes", "sizes"}:
        parser.error(f"unknown part {min(unknown)!r}: expected changes or sizes")
    sources = [ROOT / "src", *([options.beside.resolve() / "src"] if options.beside else [])]
    good = True
    if "changes" in options.parts or not options.parts:
        good = changes(sources, options.rounds, options.demo) and good
    if "sizes" in options.parts or not options.parts:
        good = sizes(sources, options.rounds) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
