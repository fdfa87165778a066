"""Twenty commits pushed to a default branch: what the action takes without a cache, with a folder, with GitHub's cache.

python benchmarks/host_cache.py [NUMBER OF COMMITS]

Each is a job of its own as on GitHub: the container's program in a new process, which finds its base by git, compares,
judges, and uploads. GitHub's API and services are the fakes of the tests, in this process, whose time does not count.
Seconds are from the start of the program to its end, with the upload.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "contract"), str(Path(__file__).parent)]

from fake_caches import MAIN  # noqa: E402 - the path is set above
from fake_github import ACTIONS_TOKEN, FakeGitHub  # noqa: E402
from fake_results import FakeResults  # noqa: E402
from scale import EDITS  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "GitHub's cache"
WAYS: Mapping[str, Mapping[str, str]] = {
    "no cache": {"INPUT_CACHE": "off"},
    "a folder": {"INPUT_CACHE-FOLDER": "FOLDER/kept"},
    HOST: {},
}


class Pushes:
    """A repository whose commits are pushed to its default branch, and the services that the jobs meet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.github = FakeGitHub()
        self.results = {way: FakeResults() for way in WAYS}
        self.repository = folder / "repository"
        shutil.copytree(ROOT / "examples" / "pizzeria", self.repository / "bot")
        self._git("init", "-q", "-b", "main")
        self.before = "0" * 40
        self.head = self.commit()

    def _git(self, *words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        command = ["git", *identity, *words]
        return subprocess.run(command, cwd=self.repository, capture_output=True, text=True, check=True).stdout.strip()

    def commit(self) -> str:
        """Commit what was edited, and return the commit."""
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "a change")
        return self._git("rev-parse", "HEAD")

    def edit(self, name: str, old: str, new: str) -> None:
        """Edit a file of the bot, and push that."""
        path = self.repository / "bot" / name
        text = path.read_text("utf-8")
        if old not in text:
            raise SystemExit(f"{name} does not have {old!r}")
        path.write_text(text.replace(old, new, 1), "utf-8")
        self.before, self.head = self.head, self.commit()

    def measured(self, way: str) -> tuple[float, float, str, str]:
        """Run the job of the newest commit: its CPU seconds, its seconds, what it took from the cache, its report."""
        repository = {"default_branch": "main", "full_name": "acme/bots"}
        (self.folder / "event.json").write_text(json.dumps({"repository": repository, "before": self.before}))
        out = self.folder / way.replace(" ", "-")
        results = self.results[way]
        artifacts = (results.uploads, results.artifacts, results.wanted)  # each run has its own
        for kept in artifacts:
            kept.clear()
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "home"),
            "GITHUB_REPOSITORY": "acme/bots",
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
            "GITHUB_SHA": self.head,
            "GITHUB_REF": MAIN,
            "GITHUB_API_URL": self.github.url,
            "GITHUB_RUN_ID": "1",
            "GITHUB_WORKSPACE": str(self.repository),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            **results.variables,
            "INPUT_TOKEN": ACTIONS_TOKEN,
            "INPUT_PROJECT": "bot",
            "INPUT_OUT": str(out),
            **{name: text.replace("FOLDER", str(self.folder)) for name, text in WAYS[way].items()},
        }
        begun = time.perf_counter()
        with tempfile.TemporaryFile("w+") as said:
            program = [sys.executable, "-I", "-m", "turncheck", "action"]  # as in the image
            child = subprocess.Popen(program, cwd=self.repository, env=variables, stdout=said, stderr=said)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.perf_counter() - begun
            said.seek(0)
            text = said.read()
        if child.returncode not in {0, 1}:
            raise SystemExit(text)
        lines = [line for line in text.splitlines() if "taken from the cache: " in line]
        taken = lines[0].partition("cache: ")[2].rstrip(".") if lines else "nothing"
        report = json.loads((out / "report.json").read_bytes())
        for name in ("timings", "source"):
            report.pop(name, None)
        return usage.ru_utime + usage.ru_stime, seconds, taken, json.dumps(report)


def main() -> None:
    """Print a table of the commits."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else len(EDITS)
    with tempfile.TemporaryDirectory() as folder:
        pushes = Pushes(Path(folder))
        print(f"| commit | {' | '.join(f'{way}: CPU s (s)' for way in WAYS)} | taken from GitHub's | equal |")
        print("|---|" + "---|" * (len(WAYS) + 2))
        totals = {way: [0.0, 0.0] for way in WAYS}
        for at, (what, name, old, new) in enumerate((("the first one", "", "", ""), *EDITS[:number])):
            if at:
                pushes.edit(name, old, new)
            found = {way: pushes.measured(way) for way in WAYS}
            cells = [f"{cpu:.1f} ({seconds:.1f})" for cpu, seconds, *_ in found.values()]
            equal = len({report for *_, report in found.values()}) == 1
            print(f"| {what} | {' | '.join(cells)} | {found[HOST][2]} | {equal} |", flush=True)
            for way, (cpu, seconds, *_) in found.items() if at else ():
                totals[way][0] += cpu
                totals[way][1] += seconds
        cells = [f"{cpu:.1f} ({seconds:.1f})" for cpu, seconds in totals.values()]
        print(f"| all but the first | {' | '.join(cells)} | | |")
        caches = pushes.results[HOST].caches
        print(f"\n{len(caches.done)} entries, {sum(len(one.content or b'') for one in caches.done) / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
