"""How fast the export of a Kore.ai assistant is read, and a suite of a thousand utterances judged by it.

    python benchmarks/kore.py [--megabytes 20] [--utterances 1000] [--rounds 3]

Each round is a process of its own, cold; the best counts, since other work on the machine can only make a round slower.
Prints a Markdown table; ends with 1 if a limit of processor time is exceeded: either takes one processor.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parents[1] / "examples" / "bike_workshop" / "botDefinition.json"
READING_SECONDS = 2.0
JUDGING_SECONDS = 5.0
_READ = "from pathlib import Path; from turncheck.project.reader import read_project; read_project(Path('.'))"
_ASKED = ("please", "today", "now", "soon", "again", "for my sister", "if you can", "this week", "quickly", "thanks")


def write_large(folder: Path, megabytes: int) -> None:
    """Write an export of at least this many megabytes: as many sentences as it takes, each with its annotations."""
    data = definition()
    first = data["sentences"]
    size = len(json.dumps(first, indent=4)) / len(first) + 60
    count = int(megabytes * 1_000_000 / size)
    data["sentences"] = [
        {**one, "sentence": f"{one['sentence']} {number}"} for number in range(count // len(first) + 1) for one in first
    ]
    (folder / "botDefinition.json").write_text(json.dumps(data, indent=4), encoding="utf-8")


def write_suite(folder: Path, utterances: int) -> None:
    """Write the example's export, and a suite of this many new utterances."""
    data = definition()
    names = {
        one["_id"]: one["localeData"]["en"]["intent"] for one in data["dialogComponents"] if one["type"] == "intent"
    }
    asked = [
        {"input": f"{one['sentence']} {word} {other}", "intent": names[one["taskId"]]}
        for word in _ASKED
        for other in _ASKED
        for one in data["sentences"]
    ]
    (folder / "botDefinition.json").write_text(json.dumps(data, indent=4), encoding="utf-8")
    (folder / "suite.json").write_text(json.dumps({"testCases": asked[:utterances]}), encoding="utf-8")


def definition() -> dict[str, Any]:
    """Return the example's export."""
    data: dict[str, Any] = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    return copy.deepcopy(data)


def measure(command: list[str], folder: Path, rounds: int) -> tuple[float, float]:
    """Return the wall-clock and CPU seconds that a command takes in its best round."""
    best: list[tuple[float, float]] = []
    for _ in range(rounds):
        before, begin = os.times(), time.perf_counter()
        finished = subprocess.run(command, cwd=folder, check=False, capture_output=True)
        if finished.returncode == 2:  # could not be done
            raise SystemExit(finished.stderr.decode())
        after = os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        best.append((time.perf_counter() - begin, used))
    return min(seconds for seconds, _ in best), min(used for _, used in best)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=20)
    parser.add_argument("--utterances", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        large, bot = Path(name) / "large", Path(name) / "bot"
        for folder in (large, bot):
            folder.mkdir()
        write_large(large, arguments.megabytes)
        write_suite(bot, arguments.utterances)
        python = sys.executable
        read = measure([python, "-c", _READ], large, arguments.rounds)
        judge = [python, "-m", "turncheck", "test", "batch", "suite.json", "--project", ".", "--quiet"]
        judged = measure(judge, bot, arguments.rounds)
        size = (large / "botDefinition.json").stat().st_size
    print(f"Best of {arguments.rounds} rounds, cold start included\n")
    print("| what | seconds | CPU seconds | limit |\n|---|---|---|---|")
    print(f"| an export of {size / 1e6:.0f} MB read | {read[0]:.2f} | {read[1]:.2f} | {READING_SECONDS} |")
    what = f"{arguments.utterances:,} utterances judged from an export"
    print(f"| {what} | {judged[0]:.2f} | {judged[1]:.2f} | {JUDGING_SECONDS} |")
    return int(read[1] > READING_SECONDS or judged[1] > JUDGING_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
