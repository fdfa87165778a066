"""What small things take, in CPU time: `--version`, `data validate` of the smallest bot, `run` of the pizzeria.

    python benchmarks/start.py                       as multiples of `python -c pass`
    python benchmarks/start.py --beside CHECKOUT     and of what another checkout of turncheck takes

The pizzeria is run cold, and as a change: a sentence differs from a base in git, whose results are in the cache.

Each round runs every command once, one after the other, so that other work on the machine slows all of them; the
least of many rounds counts. Both checkouts run with this Python and its packages. Ends with 1 beyond a limit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
PIZZERIA = ROOT / "examples" / "pizzeria"
ROUNDS = 30
RUNS = 7
"""Rounds in which the pizzeria is run, too."""
LIMIT_VERSION = 2.2
"""`--version` as a multiple of `python -c pass`."""
LIMIT_BESIDE = 1.05
"""`data validate` as a multiple of the other checkout's: no slower, but for noise."""
INTENTS = {
    "greet": "hello there",
    "goodbye": "see you later",
    "affirm": "yes of course",
    "deny": "no never",
    "mood_great": "I feel wonderful",
    "mood_unhappy": "my day was horrible",
}
STORIES = (
    (("greet", "greet"), ("mood_great", "happy")),
    (("greet", "greet"), ("mood_unhappy", "cheer_up"), ("affirm", "happy")),
    (("greet", "greet"), ("mood_unhappy", "cheer_up"), ("deny", "goodbye")),
)
HEAD = 'version: "3.1"\n'


def block(kind: str, name: str, turns: Sequence[tuple[str, str]]) -> str:
    """Return a story or rule."""
    steps = "".join(f"  - intent: {intent}\n  - action: utter_{response}\n" for intent, response in turns)
    return f"- {kind}: {name}\n  steps:\n{steps}"


def sentences(intent: str, text: str) -> str:
    """Return the entry of an intent."""
    lines = "".join(f"    - {text}{more}\n" for more in ("", " now", " please", " so"))
    return f"- intent: {intent}\n  examples: |\n{lines}"


FILES = {
    "config.yml": """\
recipe: default.v1
assistant_id: starter
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
policies:
- name: MemoizationPolicy
- name: RulePolicy
- name: TEDPolicy
  max_history: 5
""",
    "domain.yml": f"{HEAD}intents: [{', '.join(INTENTS)}]\nresponses:\n"
    + "".join(f"  utter_{name}:\n  - text: {name}\n" for name in ("greet", "cheer_up", "happy", "goodbye")),
    "data/nlu.yml": f"{HEAD}nlu:\n" + "".join(sentences(intent, text) for intent, text in INTENTS.items()),
    "data/rules.yml": f"{HEAD}rules:\n" + block("rule", "say goodbye", [("goodbye", "goodbye")]),
    "data/stories.yml": f"{HEAD}stories:\n"
    + "".join(block("story", f"path {number}", turns) for number, turns in enumerate(STORIES)),
}
"""A bot as `rasa init` leaves it: six intents, three stories, a rule."""


def cpu(command: list[str], source: Path, folder: Path) -> float:
    """Return the CPU seconds of a command that uses the turncheck of this source folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command, cwd=folder, env=kept | {"PYTHONPATH": str(source)}, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in {0, 1}:  # 1: tests fail
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


def change_of_pizzeria(source: Path, folder: Path) -> None:
    """Make a repository with a change, and the cache that a run on its base leaves."""
    shutil.copytree(PIZZERIA, folder / "bot")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "base"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    cpu(run_of_change(folder / "left"), source, folder)
    subprocess.run([*git, "checkout", "-qb", "change"], cwd=folder, check=True)
    sentences = folder / "bot" / "data" / "nlu.yml"
    sentences.write_text(sentences.read_text(encoding="utf-8").replace("    - ", "    - please ", 1), encoding="utf-8")


def run_of_change(cache: Path) -> list[str]:
    """Return the command that runs what is checked out against the branch `main`."""
    words = ["run", "bot", "--quiet", "--base", "main", "--workers", "1", "--out", f"{cache}-out"]
    return [sys.executable, "-m", "turncheck", *words, "--cache-folder", str(cache)]


def seconds_of_runs(sources: dict[str, Path], holder: Path) -> dict[str, list[float]]:
    """Run the pizzeria with each source, cold and as a change, one after the other."""
    taken: dict[str, list[float]] = {f"{what}{which}": [] for which in sources for what in ("run", "run of a change")}
    folders = {which: holder / f"change{number}" for number, which in enumerate(sources)}
    for which, source in sources.items():
        change_of_pizzeria(source, folders[which])
    cold = ["run", str(PIZZERIA), "--quiet", "--no-cache", "--workers", "1", "--out", str(holder / "out")]
    for _ in range(RUNS):
        for which, source in sources.items():
            taken[f"run{which}"].append(cpu([sys.executable, "-m", "turncheck", *cold], source, holder))
            cache = folders[which] / "cache"
            shutil.rmtree(cache, ignore_errors=True)
            shutil.copytree(folders[which] / "left", cache)
            taken[f"run of a change{which}"].append(cpu(run_of_change(cache), source, folders[which]))
    return taken


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="another checkout of turncheck")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    here = ROOT / "src"
    version = [sys.executable, "-m", "turncheck", "--version"]
    validate = [sys.executable, "-m", "turncheck", "data", "validate"]
    runs = {"python -c pass": ([sys.executable, "-c", "pass"], here)}
    sources = {"": here} | ({", beside": options.beside / "src"} if options.beside else {})
    for which, source in sources.items():
        runs |= {f"--version{which}": (version, source), f"data validate{which}": (validate, source)}
    taken: dict[str, list[float]] = {name: [] for name in runs}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).parent.mkdir(exist_ok=True)
            (Path(folder) / name).write_text(text, encoding="utf-8")
        for number in range(options.rounds + 1):  # the first one compiles
            for name, (command, source) in runs.items():
                seconds = cpu(command, source, Path(folder))
                taken[name] += [seconds] if number else []
        taken |= seconds_of_runs(sources, Path(folder))
    least = {name: min(seconds) for name, seconds in taken.items()}
    print("| command | CPU ms | times `python -c pass` | times the other checkout |\n|---|---|---|---|")
    for name, seconds in least.items():
        other = least.get(f"{name}, beside")
        beside = "" if other is None else f"{seconds / other:.2f}"
        print(f"| {name} | {1000 * seconds:.0f} | {seconds / least['python -c pass']:.2f} | {beside} |")
    fast = least["--version"] <= LIMIT_VERSION * least["python -c pass"]
    other = least.get("data validate, beside")
    return 0 if fast and (other is None or least["data validate"] <= LIMIT_BESIDE * other) else 1


if __name__ == "__main__":
    sys.exit(main())
