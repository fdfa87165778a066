"""Edits assistants of flows, harmfully and harmlessly, and shows what turncheck says of each edit.

    python -m tools.flow_edits ASSISTANT... [--faults 60] [--harmless 40] [--seed 1] [--out FOLDER]

An assistant is a folder with a project of Rasa's flows, which is not touched. Edits of all kinds are drawn from all
assistants in turn. A fault is reported if the comment on the change names what is wrong, at its line, without
unfolding; a harmless edit if it names anything new. A line for each edit; the exit code is 1 if fewer than nine in ten
faults are reported, or any harmless edit.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tools.editing.blocks import write
from tools.editing.of_flows import Assistant, FlowEdit, faults, harmless
from tools.edits import git, read_comment

if TYPE_CHECKING:
    from collections.abc import Iterable

_ENOUGH: Final = 0.9
_NEWS: Final = re.compile(r"^#+ .*(?:[Nn]ewly|New (?:errors|warnings)|gone).*$", re.MULTILINE)
"""Titles of lists that a harmless edit must not have."""


class Bot:
    """A copy of an assistant in a repository of its own, and the report of it as it is."""

    def __init__(self, source: Path, out: Path) -> None:
        self.name = source.resolve().name
        self._source = source
        self._folder = out / self.name
        self._results = out / f"{self.name}-results"
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(source, self._folder, ignore=shutil.ignore_patterns(".git"))
        git(self._folder, "init", "-q", "-b", "main")
        git(self._folder, "add", "-A", "-f")
        git(self._folder, "commit", "-q", "-m", "As it is")
        self._run(self._results / "base")

    def comment(self, edit: FlowEdit) -> tuple[str, str]:
        """Make an edit, and return the comment on it: its headline, and all that is not folded."""
        git(self._folder, "checkout", "-q", "-f", "main")
        for path, lines in edit.files.items():
            write(self._folder / path, lines)
        git(self._folder, "checkout", "-q", "-B", "change")
        git(self._folder, "commit", "-q", "-a", "-m", edit.what, "--allow-empty")
        out = self._results / "change"
        self._run(out, "--baseline", str(self._results / "base" / "report.json"))
        shown = read_comment((out / "comment.md").read_text(encoding="utf-8"), 0)
        return shown.headline, shown.above

    def _run(self, out: Path, *more: str) -> None:
        command = [sys.executable, "-m", "turncheck", "run", ".", "--out", str(out), "--quiet", *more]
        done = subprocess.run(command, cwd=self._folder, capture_output=True, text=True, check=False)
        if done.returncode not in {0, 1}:
            raise RuntimeError(f"{self.name}: {done.stderr}")


def is_reported(edit: FlowEdit, above: str) -> bool:
    """Whether a line of the comment names what is wrong and where."""
    places = tuple(f"{place}`" for place in edit.places)
    return any(
        any(name in line for name in edit.names) and any(place in line for place in places)
        for line in above.splitlines()
    )


def drawn(pools: list[list[FlowEdit]], number: int, chance: random.Random) -> list[tuple[int, FlowEdit]]:
    """Draw edits of as many kinds as possible, from each assistant in turn."""
    by_kind: list[dict[str, list[FlowEdit]]] = []
    for pool in pools:
        kinds: dict[str, list[FlowEdit]] = {}
        for edit in pool:
            kinds.setdefault(edit.kind, []).append(edit)
        for edits in kinds.values():
            chance.shuffle(edits)
        by_kind.append(dict(chance.sample(list(kinds.items()), len(kinds))))
    found: list[tuple[int, FlowEdit]] = []
    while len(found) < number and any(by_kind):
        for place, kinds in enumerate(by_kind):
            if kinds and len(found) < number:
                kind, edits = next(iter(kinds.items()))
                found.append((place, edits.pop()))
                del kinds[kind]
                if edits:
                    kinds[kind] = edits
    return found


def tried(bots: list[Bot], edits: Iterable[tuple[int, FlowEdit]]) -> tuple[int, int]:
    """Make the edits and print a line for each; return how many there were, and how many are reported."""
    made = reported = 0
    for place, edit in edits:
        headline, above = bots[place].comment(edit)
        said = is_reported(edit, above) if edit.places else bool(_NEWS.search(above))
        made, reported = made + 1, reported + said
        print(f"{'reported' if said else '-'}\t{bots[place].name}\t{edit.kind}\t{edit.what}\t{headline}", flush=True)
    return made, reported


def main() -> int:
    """Try the edits of all assistants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("assistants", type=Path, nargs="+", help="folders of assistants, which are not touched")
    parser.add_argument("--faults", type=int, default=60)
    parser.add_argument("--harmless", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("flow_edits"), help="folder for repositories and reports")
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    read = [Assistant.at(source) for source in asked.assistants]
    bots = [Bot(source, asked.out.resolve()) for source in asked.assistants]
    bad, found = tried(bots, drawn([list(faults(one)) for one in read], asked.faults, chance))
    good, wrong = tried(bots, drawn([list(harmless(one)) for one in read], asked.harmless, chance))
    print(f"{found} of {bad} faults are reported, and {wrong} of {good} harmless edits.")
    return int(found < _ENOUGH * bad or wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
