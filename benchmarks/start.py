"""How long turncheck takes to start: `--version` and `data validate` of the smallest bot, in CPU time.

    python benchmarks/start.py                       as multiples of `python -c pass`
    python benchmarks/start.py --beside CHECKOUT     and of what another checkout of turncheck takes

Each round runs every command once, one after the other, so that other work on the machine slows all of them; the
least of many rounds counts. Both checkouts run with this Python and its packages. Ends with 1 beyond a limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).parents[1]
ROUNDS = 30
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
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime


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
