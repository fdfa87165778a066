"""How fast ``turncheck data validate`` is: against real Rasa on the largest recorded project, and with growing size.

    .venv/bin/python benchmarks/validation.py                     growth at three sizes: seconds, memory
    .venv/bin/python benchmarks/validation.py --rasa rasa         side by side with real Rasa 3.6.21, whole processes
    … --rasa rasa --as-installed                                  the same, each with the byte code its installer left

The made projects have a hundred intents; sentences are combined from a few hundred words, so that many are
alike; one story in ten begins like another. Memory is the peak of the process (``ru_maxrss``).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LARGEST = ROOT.parent / "shared" / "oracle" / "core" / "helpdesk_assistant" / "project"
SIZES = ((25_000, 2_500), (50_000, 5_000), (100_000, 10_000))
INTENTS = 100
TURNS = 8
ROUNDS = 5


def make_project(folder: Path, examples: int, stories: int) -> None:
    """Write a project of this many examples and stories."""
    chance = random.Random(examples)
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("n", "r", "lo", "mi", "st", "ka")]
    intents = [f"intent_{number}" for number in range(INTENTS)]
    (folder / "data").mkdir(parents=True)
    lines = ['version: "3.1"', "nlu:"]
    for number, intent in enumerate(intents):
        lines += [f"- intent: {intent}", "  examples: |"]
        for index in range(examples // INTENTS):
            sentence = " ".join(chance.choice(words) for _ in range(chance.randint(3, 9)))
            value = f" [{words[index % 50]}](thing)" if index % 3 == 0 else ""
            lines.append(f"    - {words[number % len(words)]} {sentence}{value}")
    (folder / "data" / "nlu.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = ['version: "3.1"', "stories:"]
    for number in range(stories):
        lines += [f"- story: story {number}", "  steps:"]
        path = random.Random(number // 2 if number % 10 == 0 else number)
        for _ in range(TURNS):
            intent = path.choice(intents)
            lines += [f"  - intent: {intent}", f"  - action: utter_{intent}"]
    (folder / "data" / "stories.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    domain = {
        "version": "3.1",
        "intents": intents,
        "entities": ["thing"],
        "responses": {f"utter_{intent}": [{"text": intent}] for intent in intents},
    }
    (folder / "domain.yml").write_text(json.dumps(domain), encoding="utf-8")  # JSON is YAML
    config = "recipe: default.v1\nlanguage: en\nassistant_id: large\npipeline:\n- name: WhitespaceTokenizer\n"
    (folder / "config.yml").write_text(config, encoding="utf-8")


class Cost(NamedTuple):
    """What a process took: wall-clock and CPU seconds, and its peak memory."""

    seconds: float
    processor: float
    megabytes: float


def cost(command: list[str], folder: Path, *, as_installed: bool = False) -> Cost:
    """Run a command in a folder, as one process. Unless ``as_installed``, it may keep its byte code for the next."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if as_installed:
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, _, usage = os.wait4(process.pid, 0)
    return Cost(time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def ours() -> list[str]:
    """The command line of ``data validate``."""
    return [sys.executable, "-m", "turncheck", "data", "validate", "--format", "json"]


def growth() -> None:
    """Print time and memory at three sizes."""
    print("examples  stories   seconds processor  megabytes")
    for examples, stories in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "project"
            make_project(folder, examples, stories)
            taken = cost(ours(), folder)
        print(f"{examples:8,} {stories:8,} {taken.seconds:9.2f} {taken.processor:9.2f} {taken.megabytes:10.0f}")


def against(rasa: str, *, as_installed: bool) -> None:
    """Print our time and Rasa's for the same project, run in turn: the medians, and the ratio of the best of each."""
    mine, theirs = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        shutil.copytree(LARGEST, folder)
        for number in range(1 + ROUNDS):
            taken = tuple(
                cost(command, folder, as_installed=as_installed) for command in ([rasa, "data", "validate"], ours())
            )
            if number:  # the first round fills the caches of the disk
                theirs.append(taken[0])
                mine.append(taken[1])
    for name in ("seconds", "processor"):
        we, they = ([getattr(taken, name) for taken in several] for several in (mine, theirs))
        print(
            f"{name}: turncheck {median(we):.3f}, rasa {median(they):.2f}: {median(they) / median(we):.0f} times;"
            f" the best of each: {min(we):.3f}, {min(they):.2f}: {min(they) / min(we):.0f} times"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rasa", help="the program of a real Rasa 3.6.21")
    parser.add_argument("--as-installed", action="store_true", help="with --rasa: let neither write byte code")
    options = parser.parse_args()
    if options.rasa:
        against(options.rasa, as_installed=options.as_installed)
    elif options.as_installed:
        parser.error("--as-installed goes with --rasa")
    else:
        growth()
