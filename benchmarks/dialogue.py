"""How fast the dialogue engine is: beside real Rasa, with growing size, and a turn in conversation.

    python benchmarks/dialogue.py                   10,000 test stories and less, and a turn: seconds, memory
    python benchmarks/dialogue.py --rasa rasa       `train core` and `test core` beside real Rasa 3.6.21 as well

Every row is a whole process, cold start included, with byte code compiled on both sides (ours runs once before it is
measured). The best round counts, since other work on the machine can only make a round slower. Ends with 1
beyond a limit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
HELPDESK = ROOT.parent / "shared" / "oracle" / "core" / "helpdesk_assistant" / "project"
TURNCHECK = (sys.executable, "-m", "turncheck")
POLICIES = {
    "Memoization and Rule": ("policies:\n- name: MemoizationPolicy\n- name: RulePolicy\n", 50.0),
    "default": ("", 100.0),
}
"""What is added to the configuration, and how many times faster than Rasa both commands together must be."""
SIZES = (2_500, 5_000, 10_000)
LIMIT_SECONDS = 60.0
LIMIT_MEGABYTES = 500.0
LIMIT_GROWTH = 1.3
"""How much more a story may cost in the largest run than in the smallest."""
LIMIT_TURN = 0.002
INTENTS = 40
TURNS = 6
MESSAGES = 200


class Cost(NamedTuple):
    """What a process took: wall-clock and CPU seconds, and its peak memory."""

    seconds: float
    processor: float
    megabytes: float


def cost(command: list[str], folder: Path, said: str | None = None, *, may_fail: bool = False) -> Cost:
    """Run a command in a folder, as one process; it must succeed, or end with 1 if it may fail."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = kept | {"RASA_TELEMETRY_ENABLED": "false"}
    with tempfile.TemporaryFile() as heard:
        heard.write((said or "").encode())
        heard.seek(0)
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=heard, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
    if status and not (may_fail and os.waitstatus_to_exitcode(status) == 1):
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def both(program: list[str], folder: Path) -> tuple[Cost, Cost]:
    """Train and test with one program, the model and results below its own folder."""
    name = Path(program[0]).name
    train = [*program, "train", "core", "--out", f"models-{name}", "--fixed-model-name", "model"]
    test = [*program, "test", "core", "--model", f"models-{name}", "--stories", "tests", "--out", f"results-{name}"]
    shutil.rmtree(folder / f"models-{name}", ignore_errors=True)
    shutil.rmtree(folder / ".rasa", ignore_errors=True)  # Rasa's cache of what it has trained before
    return cost(train, folder), cost(test, folder)


def against(rasa: str, rounds: int) -> bool:
    """Print turncheck's time and Rasa's for the same project."""
    if not HELPDESK.is_dir():
        sys.exit("the recorded project helpdesk_assistant is not there")
    print("| policies | | train core | test core | together | times faster |\n|---|---|---|---|---|---|")
    fast = True
    for name, (policies, limit) in POLICIES.items():
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root) / "project"
            shutil.copytree(HELPDESK, folder)
            config = (folder / "config.yml").read_text(encoding="utf-8").partition("policies:")[0]
            (folder / "config.yml").write_text(config + policies, encoding="utf-8")
            both(list(TURNCHECK), folder)
            mine, theirs = [], []
            for number in range(rounds + 1):
                mine += [both(list(TURNCHECK), folder) for _ in range(3)]
                theirs += [both([rasa], folder)] if number else []
        for kind in ("processor", "seconds"):
            we = [min(getattr(pair[step], kind) for pair in mine) for step in (0, 1)]
            they = [min(getattr(pair[step], kind) for pair in theirs) for step in (0, 1)]
            factor = sum(they) / sum(we)
            shown = "CPU s" if kind == "processor" else "clock s"
            print(f"| {name} | Rasa, {shown} | {they[0]:.2f} | {they[1]:.2f} | {sum(they):.2f} | |")
            print(f"| {name} | turncheck, {shown} | {we[0]:.2f} | {we[1]:.2f} | {sum(we):.2f} | {factor:.0f} |")
            fast = fast and (kind == "seconds" or factor >= limit)
    return fast


def make_project(folder: Path, stories: int) -> None:
    """Write an assistant of fifty stories and rules, and this many test stories, all different."""
    chance = Random(stories)
    intents = [f"intent_{number}" for number in range(INTENTS)]
    (folder / "data").mkdir(parents=True)
    (folder / "tests").mkdir()
    lines = ['version: "3.1"', "rules:"]
    for intent in intents:
        lines += [f"- rule: rule of {intent}", "  steps:", f"  - intent: {intent}", f"  - action: utter_{intent}"]
    lines += ["stories:"]
    for number in range(10):
        lines += _story(f"story {number}", [intents[number], intents[number + 1]])
    (folder / "data" / "stories.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lines = ['version: "3.1"', "stories:"]
    for number in range(stories):
        lines += _story(f"test {number}", [chance.choice(intents) for _ in range(TURNS)])
    (folder / "tests" / "test_stories.yml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    responses = {f"utter_{intent}": [{"text": intent}] for intent in intents}
    domain = {"version": "3.1", "intents": intents, "responses": responses}
    (folder / "domain.yml").write_text(json.dumps(domain), encoding="utf-8")  # JSON is YAML
    config = "recipe: default.v1\nlanguage: en\npipeline:\n- name: WhitespaceTokenizer\n"
    (folder / "config.yml").write_text(config + POLICIES["Memoization and Rule"][0], encoding="utf-8")


def _story(name: str, intents: list[str]) -> list[str]:
    steps = [line for intent in intents for line in (f"  - intent: {intent}", f"  - action: utter_{intent}")]
    return [f"- story: {name}", "  steps:", *steps]


def growth() -> bool:
    """Print time and memory of `test core` at three sizes."""
    print("| test stories | clock s | CPU s | CPU ms a story | MB |\n|---|---|---|---|---|")
    taken: list[Cost] = []
    for number in SIZES:
        with tempfile.TemporaryDirectory() as root:
            folder = Path(root) / "project"
            make_project(folder, number)
            cost([*TURNCHECK, "train", "core"], folder)
            one = cost([*TURNCHECK, "test", "core", "--stories", "tests"], folder)
        taken.append(one)
        each = 1000 * one.processor / number
        print(f"| {number:,} | {one.seconds:.1f} | {one.processor:.1f} | {each:.2f} | {one.megabytes:.0f} |")
    growing = (taken[-1].processor / SIZES[-1]) / (taken[0].processor / SIZES[0])
    fits = taken[-1].seconds < LIMIT_SECONDS and taken[-1].megabytes < LIMIT_MEGABYTES
    return fits and growing < LIMIT_GROWTH


def turn() -> bool:
    """Print what a turn takes in `shell`: many messages compared with one."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "project"
        make_project(folder, 1)
        cost([*TURNCHECK, "train", "core"], folder)
        talk = [*TURNCHECK, "shell", "--format", "jsonl", "--model", "models"]
        messages = [f"/intent_{number % INTENTS}\n" for number in range(MESSAGES)]
        one = min(cost(talk, folder, messages[0]).processor for _ in range(3))
        many = min(cost(talk, folder, "".join(messages)).processor for _ in range(3))
    each = (many - one) / (MESSAGES - 1)
    print(f"a turn in conversation: {1000 * each:.2f} CPU ms ({MESSAGES:,} in one conversation)")
    return each < LIMIT_TURN


def main() -> int:
    """Measure, and return whether all limits are met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rasa", metavar="PROGRAM", help="a real Rasa 3.6.21 to compare with")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="runs of Rasa for each line (default: 1)")
    options = parser.parse_args()
    kept = [growth(), turn()]
    if options.rasa:
        kept.append(against(options.rasa, options.rounds))
    if not all(kept):
        print("a limit is exceeded", file=sys.stderr)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
