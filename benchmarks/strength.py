"""How strong the tests of some assistants are, and what it takes to find out.

    python benchmarks/strength.py [--mutants 100] [--bots FOLDER ...]

Both examples, and the public bots where they are beside the checkout, or other bots. Each is a process of its own, with
as many workers as there are processors. Prints a Markdown table; ends with 1 if 100 mutants of the first example take
more than two minutes of processor time: a minute on two processors.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
EXAMPLES = (ROOT / "examples" / "pizzeria", ROOT / "examples" / "clinic")
PUBLIC = ROOT.parent / "shared" / "oracle" / "core"
PUBLIC_BOTS = (
    "init_bot_with_nlu", "formbot_official_migrated", "form_interrupt_rules", "rules_conditions", "or_checkpoints",
    "slots_influence",
)  # fmt: skip
CPU_SECONDS = 120.0
_OF = 100
"""The limit is that of this many mutants."""


def measured(bot: Path, mutants: int) -> tuple[str, float]:
    """Return a row of the table, and the processor time in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = ["test", "strength", "--project", str(bot), "--mutants", str(mutants), "--json", str(report), "-q"]
        before, begin = _children(), time.monotonic()
        subprocess.run([sys.executable, "-m", "turncheck", *command], check=True, stdout=subprocess.DEVNULL)
        seconds, cpu = time.monotonic() - begin, _children() - before
        strength = json.loads(report.read_bytes())["strength"]
    tried = len(strength["mutants"])
    total = tried + strength.get("not_tried", 0)
    figures = f"{tried} of {total} | {_share(strength['score'])} | {_share(strength['by_tests'])}"
    name = bot.parent.name if bot.name == "project" else bot.name
    return f"| `{name}` | {figures} | {strength['equivalent']} | {seconds:.0f} | {cpu:.0f} |", cpu


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def main() -> int:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=_OF)
    parser.add_argument("--bots", type=Path, nargs="*")
    arguments = parser.parse_args()
    there = [bot for name in PUBLIC_BOTS if (bot := PUBLIC / name / "project").is_dir()]
    print("| bot | mutants tried | score | by tests alone | equivalent | seconds | CPU seconds |")
    print("|---|---|---|---|---|---|---|")
    is_slow = False
    for bot in arguments.bots or (*EXAMPLES, *there):
        row, cpu = measured(bot, arguments.mutants)
        print(row, flush=True)
        is_slow |= bot == EXAMPLES[0] and cpu > CPU_SECONDS * max(1.0, arguments.mutants / _OF)
    return int(is_slow)


if __name__ == "__main__":
    sys.exit(main())
