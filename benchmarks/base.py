"""How long a run with a base from git takes: the CPU time of it, and of the same run without a base.

    python benchmarks/base.py                       how much the base adds
    python benchmarks/base.py --beside CHECKOUT     and as a multiple of what another checkout of turncheck takes

An assistant of `examples/` is changed on a branch, in clones as CI hosts make them. Each round runs every command once,
one after the other, so that other work on the machine slows all of them; the least of the rounds counts. Both checkouts
run with this Python and its packages, without a cache. Ends with 1 if it takes longer than beside.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROUNDS = 7
LIMIT_BESIDE = 1.05
"""No slower than the other checkout, but for noise."""
CLONES = {
    "full": ("feature", []),
    "depth 10": ("feature", ["--depth=10"]),
    "full, sentences edited": ("sentences", []),
    "full, sentences and stories edited": ("both", []),
}
"""The branch that is measured, and how it is cloned. What a change does not edit is trained once for both sides."""
SENTENCE = "\n  - intent: greet\n    examples: |\n      - a very good evening to all of you\n"
STORY = "\n  - story: Complain twice\n    steps:\n      - intent: complain\n      - action: utter_sorry\n"
EVALUATIONS = "validate,core,e2e"
_IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always")


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder, and return what it prints."""
    command = ["git", *_IDENTITY, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path) -> None:
    """Make a repository with twenty commits on `main`, and changes on `feature`, `sentences` and `both`."""
    git(folder, "init", "-q", "-b", "main")
    shutil.copytree(ROOT / "examples" / "pizzeria", folder / "bot", ignore=shutil.ignore_patterns("results", "models"))
    for number in range(20):
        (folder / "notes").write_text(f"{number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", f"{number}")
    data = folder / "bot" / "data"
    for branch, edits in {
        "feature": {"nlu.yml": "\n# a remark\n"},
        "sentences": {"nlu.yml": SENTENCE},
        "both": {"nlu.yml": SENTENCE, "stories.yml": STORY},
    }.items():
        git(folder, "checkout", "-q", "-b", branch, "main")
        for name, more in edits.items():
            with (data / name).open("a") as file:
                file.write(more)
        git(folder, "commit", "-q", "-a", "-m", "change")


def cpu(arguments: list[str], source: Path, folder: Path) -> float:
    """Return the CPU seconds of a run with the turncheck of a source folder, with all its children."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "turncheck", "run", "bot", "--evaluations", EVALUATIONS, "--no-cache", "--quiet"]
    process = subprocess.Popen(
        [*command, "--out", str(folder.parent / "out"), *arguments],
        cwd=folder,
        env=kept | {"PYTHONPATH": str(source), "GIT_ALLOW_PROTOCOL": "file"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    said = process.stderr.read() if process.stderr is not None else b""
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(arguments)} ended with {os.waitstatus_to_exitcode(status)}: {said.decode()}")
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    """Print the table; 1 if a run takes longer than beside."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="another checkout of turncheck")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    sources = {"": ROOT / "src"} | ({", beside": options.beside / "src"} if options.beside else {})
    taken: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        there = Path(place) / "acme" / "bots"
        there.mkdir(parents=True)
        repository(there)
        runs: dict[str, tuple[list[str], Path]] = {"no base": (["--baseline", "none"], Path(place) / "full" / "job")}
        for name, (branch, how) in CLONES.items():
            job = Path(place) / name / "job"
            job.parent.mkdir()
            git(job.parent, "clone", "-q", "--branch", branch, "--no-single-branch", *how, f"file://{there}", "job")
            runs[name] = (["--baseline", "git", "--base", "origin/main"], job)
        for number in range(options.rounds + 1):  # the first one compiles
            for name, (arguments, job) in runs.items():
                for which, source in sources.items():
                    seconds = cpu(arguments, source, job)
                    taken.setdefault(f"{name}{which}", []).extend([seconds] if number else [])
    least = {name: min(seconds) for name, seconds in taken.items()}
    print("| clone | CPU s | times without a base | times the other checkout |\n|---|---|---|---|")
    slower = False
    for name in runs:
        other = least.get(f"{name}, beside")
        beside = "" if other is None else f"{least[name] / other:.2f}"
        slower |= other is not None and least[name] > LIMIT_BESIDE * other
        print(f"| {name} | {least[name]:.2f} | {least[name] / least['no base']:.2f} | {beside} |")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
