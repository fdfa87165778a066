"""Where the CPU time of real pull requests goes: a fixed sample of the replayed commits, part by part.

    python benchmarks/replay.py MIRRORS                        60 commits, each run once
    python benchmarks/replay.py MIRRORS --beside CHECKOUT      each with both, one after the other
    python benchmarks/replay.py MIRRORS --only COMMIT …        some commits

``MIRRORS`` is what ``make replay`` takes; commits of repositories that are not there are left out, which is said. The
parts do not overlap: *base* is everything that is done for it, *folds* are cross-validation with its training, *train*
any other training, *other* is mostly testing and comparing. Ends with 1 beyond a limit, if the sample is complete.
"""

from __future__ import annotations

import argparse
import builtins
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).parents[1]
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tools.replay import Expected

SAMPLE = 60
MEDIAN, MOST_OF_95, MOST = 3.0, 10.0, 15.0
"""CPU seconds of a run at most: the median, 95 of 100, and the slowest."""
TIMES = "TURNCHECK_BENCHMARK_TIMES"
"""The variable that names the file for the times of the parts."""
PARTS = {
    "turncheck.run.reading:read_project": "read",
    "turncheck.evaluations.validate.measure:measure": "validate",
    "turncheck.engines.embedded.nlu.trainer:EmbeddedNluTrainer.fit": "train",
    "turncheck.engines.embedded.policies.trainer:train_ensemble": "train",
    "turncheck.evaluations.nlu.judging:run_folds": "folds",
    "turncheck.run.find_baseline:BaselineSearch.find": "base",
    "turncheck.commands.run:finish_run": "render",
}
OUTER = ("base", "folds")
"""What these do counts as theirs, whatever it is, except for imports."""
SHOWN = ("imports", "read", "validate", "train", "folds", "base", "render", "other")


# --- within the run ---------------------------------------------------------------------------------------------------


class Clock:
    """Adds CPU time to the part that is under way."""

    def __init__(self) -> None:
        self.times: defaultdict[str, float] = defaultdict(float)
        self._under_way: list[str] = []
        self._since = 0.0

    def around(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed."""

        def timed(*args: Any, **named: Any) -> Any:
            self.charge()
            self._under_way.append(part)
            try:
                return function(*args, **named)
            finally:
                self.charge()
                self._under_way.pop()

        return timed

    def charge(self) -> None:
        """Add the time since the last change."""
        now = time.process_time()
        outer = next((part for part in OUTER if part in self._under_way), None)
        innermost = self._under_way[-1] if self._under_way else "other"
        self.times["imports" if innermost == "imports" else outer or innermost] += now - self._since
        self._since = now


def run_timed(arguments: Sequence[str]) -> int:
    """Run turncheck, and write the times of its parts."""
    clock = Clock()
    builtins.__import__ = clock.around("imports", builtins.__import__)
    for place, part in PARTS.items():
        module, _, name = place.partition(":")
        try:
            owner: Any = clock.around("imports", importlib.import_module)(module)
        except ModuleNotFoundError:
            continue  # an older checkout: what that part takes is among the other
        *classes, last = name.split(".")
        for one in classes:
            owner = getattr(owner, one)
        setattr(owner, last, clock.around(part, getattr(owner, last)))
    main = importlib.import_module("turncheck.__main__").main
    sys.argv = ["turncheck", *arguments]
    code = main()
    clock.charge()
    Path(os.environ[TIMES]).write_text(json.dumps(clock.times), encoding="utf-8")
    return int(code)


# --- the sample -------------------------------------------------------------------------------------------------------


def sample(listed: Sequence[Expected]) -> list[Expected]:
    """Return the same commits each time, whatever is added to the list."""
    return sorted(listed, key=lambda one: blake2b(one.commit.encode(), digest_size=8).digest())[:SAMPLE]


def measured(replay: Any, mirrors: Path, expected: Expected, source: Path, folder: Path) -> dict[str, float]:
    """Return the CPU seconds of each part of the run of a commit, with the turncheck of a source folder."""
    mirror = replay.git_directory(mirrors, expected.repository)
    clone, times = folder / "clone", folder / "times.json"
    replay.checked_out(mirror, expected.commit, clone)
    times.unlink(missing_ok=True)
    command = [sys.executable, __file__, "--inside", "run", "--project", expected.project, "--base", "main"]
    command += ["--no-cache", "--workers", "1", "--quiet", "--out", str(folder / "out")]
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        command,
        cwd=clone,
        env=kept | {"PYTHONPATH": str(source), TIMES: str(times)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    said = process.stderr.read() if process.stderr is not None else b""
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) not in {0, 1} or not times.is_file():
        raise OSError(f"{expected.repository} {expected.commit[:10]}: {said.decode(errors='replace')[-300:]}")
    found: dict[str, float] = json.loads(times.read_text(encoding="utf-8"))
    return {part: found.get(part, 0.0) for part in SHOWN} | {"together": usage.ru_utime + usage.ru_stime}


def table(of_all: Sequence[dict[str, float]]) -> str:
    """Return the medians, the 95th of 100 and the most of each part, and its share of all time."""
    whole = sum(one["together"] for one in of_all)
    lines = ["| part | median | 95 of 100 | most | of all time |", "|---|---|---|---|---|"]
    for part in ("together", *SHOWN):
        each = sorted(one[part] for one in of_all)
        share = f"{sum(each) / whole:.0%}"
        lines.append(f"| {part} | {statistics.median(each):.2f} | {at_95(each):.2f} | {each[-1]:.2f} | {share} |")
    return "\n".join(lines)


def at_95(ordered: Sequence[float]) -> float:
    """Return what 95 of 100 do not exceed."""
    return ordered[max(0, -(-95 * len(ordered) // 100) - 1)]


def main() -> int:
    """Print the tables; 1 if the complete sample takes longer than it may."""
    if sys.argv[1:2] == ["--inside"]:
        return run_timed(sys.argv[2:])
    sys.path.insert(0, str(ROOT))
    replay = importlib.import_module("tools.replay")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="another checkout of turncheck")
    parser.add_argument("--only", nargs="+", default=(), metavar="COMMIT")
    options = parser.parse_args()
    sources = {"here": ROOT / "src"} | ({"beside": options.beside / "src"} if options.beside else {})
    listed = replay.listed_in(replay.LIST)
    wanted = [one for one in listed if one.commit.startswith(tuple(options.only))] if options.only else sample(listed)
    found: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
    for expected in wanted:
        try:
            with tempfile.TemporaryDirectory() as folder:
                times = {
                    name: measured(replay, options.mirrors, expected, source, Path(folder))
                    for name, source in sources.items()
                }
        except OSError as error:
            print(f"left out: {error}", flush=True)
            continue
        for name, one in times.items():
            found[name].append(one)
        each = ", ".join(f"{name} {one['together']:.1f}" for name, one in times.items())
        parts = ", ".join(f"{part} {times['here'][part]:.1f}" for part in SHOWN)
        print(f"{expected.repository} {expected.commit[:10]}: {each} ({parts})", flush=True)
    for name, of_all in found.items():
        if of_all:
            print(f"\n{name}: {len(of_all)} runs, CPU seconds\n\n{table(of_all)}")
    taken = sorted(one["together"] for one in found["here"])
    is_complete = not options.only and len(taken) == SAMPLE
    limits = MEDIAN, MOST_OF_95, MOST
    within = not taken or all(
        value <= limit for value, limit in zip((statistics.median(taken), at_95(taken), taken[-1]), limits, strict=True)
    )
    return 0 if within or not is_complete else 1


if __name__ == "__main__":
    sys.exit(main())
