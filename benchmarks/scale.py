"""Shards, a cluster and the cache: what they cost and spare, in CPU seconds, and that the results are the same.

python benchmarks/scale.py [shards] [shards-of-clinic] [shards-of-rasa] [cluster] [cluster-of-clinic]
    [cache] [1 2 4 8]

Numbers are numbers of shards, if not all four rows are wanted.

CPU seconds of each process with all that it starts, since the wall clock of a shared machine says little. How long a
run of N shards takes on machines of their own is then the longest shard and the merging one after the other
(*speed-up*). Efficiency is by the wall clock of this machine: what a run would take if its cores did nothing twice.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

ROOT = Path(__file__).parents[1]
PIZZERIA, CLINIC = ROOT / "examples" / "pizzeria", ROOT / "examples" / "clinic"
CORES = 2
SENTENCES = 2000
FIRST_PORT = 15505
ALONE = ("--baseline", "none", "--quiet")

EDITS: tuple[tuple[str, str, str, str], ...] = (
    (
        "a test story renamed",
        "tests/test_stories.yml",
        "A delivery, everything said at once",
        "A delivery, all at once",
    ),
    (
        "a training sentence added",
        "data/nlu.yml",
        "      - hello there\n",
        "      - hello there\n      - hi to you all\n",
    ),
    ("a response reworded", "domain.yml", "Ciao, and enjoy your evening!", "Ciao, enjoy the evening!"),
    ("a comment in the stories", "data/stories.yml", "stories:\n", "# What guests do most.\nstories:\n"),
    (
        "a test sentence added",
        "tests/test_nlu.yml",
        "      - hey guys\n",
        "      - hey guys\n      - good evening all\n",
    ),
    ("a case renamed", "tests/e2e_test_cases.yml", "a delivery, step by step", "a delivery in small steps"),
    ("a rule renamed", "data/rules.yml", "Say goodbye", "Say ciao"),
    ("a comment in the sentences", "data/nlu.yml", "nlu:\n", "# Collected at the counter.\nnlu:\n"),
    ("a sentence corrected", "data/nlu.yml", "      - helo\n", "      - hallo\n"),
    ("the sentence back again", "data/nlu.yml", "      - hallo\n", "      - helo\n"),
    ("a fixture changed", "tests/e2e_test_cases.yml", "customer_name: Carla", "customer_name: Carlotta"),
    ("the fallback's threshold", "config.yml", "    threshold: 0.3\n", "    threshold: 0.35\n"),
    ("the README", "README.md", "\n", "\n\n"),
    ("a story's last word", "data/stories.yml", "action: utter_take_your_time", "action: utter_welcome"),
    ("which was wrong", "data/stories.yml", "action: utter_welcome", "action: utter_take_your_time"),
    (
        "a synonym added",
        "data/nlu.yml",
        "  - synonym: funghi\n    examples: |\n",
        "  - synonym: funghi\n    examples: |\n      - toadstools\n",
    ),
    ("a response with a second text", "domain.yml", "You're welcome!", "You're very welcome!"),
    ("credentials", "credentials.yml", "rest:", "rest: "),
    ("an intent's sentence removed", "data/nlu.yml", "      - yo\n", ""),
    ("a test story's step reworded", "tests/test_stories.yml", "I want to order now", "I want to order"),
)
"""Twenty realistic commits: what they are about, the file, and which text is replaced by what."""


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()] or [1, 2, 4, 8]
    parts: dict[str, Callable[[Path], None]] = {
        "shards": lambda folder: shards(folder, PIZZERIA, numbers),
        "shards-of-clinic": lambda folder: shards(folder, CLINIC, numbers),
        "shards-of-rasa": lambda folder: shards_of_rasa(folder, numbers),
        "cluster": lambda folder: cluster(folder, PIZZERIA),
        "cluster-of-clinic": lambda folder: cluster(folder, CLINIC),
        "cache": cache,
    }
    for name in [word for word in sys.argv[1:] if not word.isdigit()] or parts:
        with tempfile.TemporaryDirectory() as folder:
            parts[name](Path(folder))


def shards(folder: Path, example: Path, numbers: Sequence[int]) -> None:
    """One run compared with one, two, four and eight shards and their merging, as many at a time as there are cores."""
    project = copied(folder, example)
    begin = time.perf_counter()
    one = turncheck("run", project, "--no-cache", *ALONE, "--out", folder / "one")
    alone = time.perf_counter() - begin
    print(f"\n{example.name}, {CORES} shards at a time")
    head = ("shards", "CPU s of all", "longest", "merging", "of one run's", "wall-clock s", "efficiency", "speed-up")
    print(f"| {' | '.join((*head, 'equal'))} |\n{'|---' * (len(head) + 1)}|")
    print(f"| (one run) | {one:.1f} | {one:.1f} | | 100 % | {alone:.1f} | | 1.0 | |", flush=True)
    for number in numbers:
        places = [folder / f"{number}-{place}" for place in range(1, number + 1)]
        begin = time.perf_counter()
        runs = [
            ("run", project, "--shard", f"{place}/{number}", "--no-cache", "--quiet", "--out", out)
            for place, out in enumerate(places, 1)
        ]
        each = each_on_a_core(runs)
        merging = turncheck("report", "merge", *places, *ALONE, "--out", folder / f"m{number}")
        wall = time.perf_counter() - begin
        equal = report_of(folder / f"m{number}") == report_of(folder / "one")
        total, elsewhere = sum(each) + merging, max(each) + merging
        row = (
            number,
            f"{sum(each):.1f}",
            f"{max(each):.1f}",
            f"{merging:.1f}",
            f"{total / one:.0%}",
            f"{wall:.1f}",
            f"{alone / wall / min(number, CORES):.0%}",
            f"{one / elsewhere:.1f}",
        )
        print(f"| {' | '.join(map(str, row))} | {equal} |", flush=True)


def shards_of_rasa(folder: Path, numbers: Sequence[int]) -> None:
    """Sentences for a Rasa that takes 50 ms: several servers of one run, and as many shards with one server each."""
    project = copied(folder)
    lines = "".join(f"      - order_pizza number {number}\n" for number in range(SENTENCES))
    (project / "tests" / "test_nlu.yml").write_text(
        f'version: "3.1"\nnlu:\n  - intent: order_pizza\n    examples: |\n{lines}', encoding="utf-8"
    )
    run = ("run", project, "--engine", "rasa", "--evaluations", "nlu")
    with slow_servers(max(numbers)) as servers:
        alone = timed(lambda: turncheck(*run, *ALONE, "--rasa-url", servers[0], "--out", folder / "one"))
        print(f"\n{SENTENCES:,} sentences, a Rasa of 50 ms; one run with one server: {alone:.1f} s")
        print("\n| servers | one run, s | efficiency | shards and merging, s | efficiency | equal |")
        print("|---|---|---|---|---|---|", flush=True)
        for number in numbers:
            places = [folder / f"{number}-{place}" for place in range(1, number + 1)]
            pool = timed(lambda: turncheck(*run, *ALONE, "--rasa-url", *servers[:number], "--out", folder / "pool"))  # noqa: B023 - called at once
            begin = time.perf_counter()
            with ThreadPoolExecutor(number) as threads:
                shards = [
                    (*run, "--quiet", "--shard", f"{place}/{number}", "--rasa-url", server, "--out", out)
                    for place, (out, server) in enumerate(zip(places, servers, strict=False), 1)
                ]
                list(threads.map(lambda shard: turncheck(*shard), shards))
            turncheck("report", "merge", *places, *ALONE, "--out", folder / "merged")
            wall = time.perf_counter() - begin
            equal = report_of(folder / "pool") == report_of(folder / "one") == report_of(folder / "merged")
            row = (number, f"{pool:.1f}", f"{alone / pool / number:.0%}", f"{wall:.1f}", f"{alone / wall / number:.0%}")
            print(f"| {' | '.join(map(str, row))} | {equal} |", flush=True)


@contextmanager
def slow_servers(number: int) -> Iterator[list[str]]:
    ports = range(FIRST_PORT, FIRST_PORT + number)
    program = Path(__file__).with_name("slow_rasa.py")
    children = [subprocess.Popen([sys.executable, str(program), str(port)]) for port in ports]
    try:
        time.sleep(2)
        yield [f"http://127.0.0.1:{port}" for port in ports]
    finally:
        for child in children:
            child.terminate()


def each_on_a_core(runs: Sequence[Sequence[str | Path]]) -> list[float]:
    """Run commands, as many at a time as there are cores, each pinned to a core; return their CPU seconds.

    Otherwise several of them would wait for the same core on a busy machine.
    """
    cores: SimpleQueue[int] = SimpleQueue()
    for core in sorted(os.sched_getaffinity(0))[:CORES]:
        cores.put(core)

    def on_a_core(run: Sequence[str | Path]) -> float:
        core = cores.get()
        try:
            return turncheck(*run, core=core)
        finally:
            cores.put(core)

    with ThreadPoolExecutor(CORES) as pool:
        return list(pool.map(on_a_core, runs))


def cluster(folder: Path, example: Path) -> None:
    """Folds by processes of joblib and by as many workers of a cluster, both on this machine."""
    from distributed import LocalCluster

    project = copied(folder, example)
    (project / "tests" / "test_nlu.yml").unlink(missing_ok=True)  # with it there would be no folds
    run = ("run", project, "--no-cache", "--evaluations", "nlu", "core", *ALONE)
    print(f"\n{example.name}\n| where | wall-clock s | equal |\n|---|---|---|")
    wall = timed(lambda: turncheck(*run, "--workers", "2", "--out", folder / "joblib"))
    print(f"| two processes (joblib) | {wall:.1f} | |", flush=True)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local:  # type: ignore[no-untyped-call]  # it has no types
        for name in ("the first run, which starts up", "the second"):
            wall = timed(lambda: turncheck(*run, "--cluster", local.scheduler_address, "--out", folder / "dask"))
            equal = report_of(folder / "dask") == report_of(folder / "joblib")
            print(f"| two workers of a cluster, {name} | {wall:.1f} | {equal} |", flush=True)


def cache(folder: Path) -> None:
    """Twenty commits, each measured with a persistent cache and without any."""
    project = copied(folder)
    kept = ("--cache-folder", folder / "cache")
    turncheck("run", project, *kept, *ALONE, "--out", folder / "with")
    print("\n| commit | without a cache | with | taken from it | equal |\n|---|---|---|---|---|")
    without = with_cache = 0.0
    for what, name, old, new in EDITS:
        path = project / name
        text = path.read_text(encoding="utf-8")
        if old not in text:
            raise SystemExit(f"{what}: {name} does not have {old!r}")
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        bare = turncheck("run", project, "--no-cache", *ALONE, "--out", folder / "without")
        said: list[str] = []
        cached = turncheck("run", project, *kept, "--baseline", "none", "--out", folder / "with", said=said)
        taken = next((line.partition("cache: ")[2].rstrip(".") for line in said if "from the cache" in line), "nothing")
        equal = report_of(folder / "with") == report_of(folder / "without")
        print(f"| {what} | {bare:.1f} | {cached:.1f} | {taken} | {equal} |", flush=True)
        without, with_cache = without + bare, with_cache + cached
    print(f"| all | {without:.1f} | {with_cache:.1f} | {1 - with_cache / without:.0%} spared | |")


def copied(folder: Path, example: Path = PIZZERIA) -> Path:
    return Path(shutil.copytree(example, folder / example.name))


def report_of(folder: Path) -> bytes:
    """The report without its timings."""
    report = json.loads((folder / "report.json").read_bytes())
    del report["timings"]
    return json.dumps(report).encode()


def turncheck(*arguments: str | Path, said: list[str] | None = None, core: int | None = None) -> float:
    """Run a command in a process of its own; return its CPU seconds.

    ``said`` gets the lines of standard error. ``core``: the one that it is pinned to.
    """
    words = [sys.executable, "-m", "turncheck", *map(str, arguments)]
    if core is not None:
        words = ["taskset", "-c", str(core), *words]
    with tempfile.TemporaryFile("w+") as file:
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=file)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        file.seek(0)
        lines = file.read().splitlines()
    if child.returncode not in {0, 1}:
        raise SystemExit("\n".join(lines))
    if said is not None:
        said += lines
    return usage.ru_utime + usage.ru_stime


def timed(do: Callable[[], object]) -> float:
    begin = time.perf_counter()
    do()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
