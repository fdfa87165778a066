"""Replays commits of public assistants as pull requests, and says for each verdict whether it still holds.

    python -m tools.replay MIRRORS [--only REPOSITORY|COMMIT …] [--workers 2] [--out FOLDER] [--list FILE]
    python -m tools.replay MIRRORS --draw 5 [--seed 1]     commits that the list does not have, for somebody to judge

``MIRRORS`` has a folder ``OWNER+NAME/repo`` for each repository, a git directory or a checkout. The commit is the
branch `change`, its first parent is `main`; files of which the mirror lacks the content are left out of both. turncheck
judges the assistant that most of the changed files belong to. No code of a repository is run.

``tests/replay/commits.yml`` has what is right for each commit. A verdict holds if the outcome is that one, the comment
names what it must and nothing that it must not, and is not longer than comments may be. Ends with 1 if one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING, Final, Literal

import msgspec
import yaml
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LIST: Final = Path(__file__).parents[1] / "tests" / "replay" / "commits.yml"
SMALL_CHANGE, SMALL_COMMENT, ANY_COMMENT = 20, 8_000, 16_000
"""A change of fewer lines than this has a comment of at most so many bytes; no comment has more than the last."""
LIMIT: Final = 180.0
"""Seconds a run may take."""
_PERSON: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "replay"), ("EMAIL", "replay@example.invalid"), ("DATE", "2020-01-01T00:00:00Z"))
}
_ENVIRONMENT: Final = {
    **os.environ,
    **_PERSON,
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_CONFIGURATION: Final = re.compile(r".*(config|polic).*\.(ya?ml|json)")
_DOMAIN: Final = re.compile(r".*domain.*\.ya?ml")
_OF_AN_ASSISTANT: Final = re.compile(
    r"(^|/)(data|domain|tests?|e2e_tests|actions|nlu|core|responses|rules|stories|lookups?)(/|\.ya?ml$)"
    r"|(^|/)[^/]*(config|domain|polic|stor|nlu|actions?|endpoints)[^/]*\.(ya?ml|md|json|py)$"
)
_OF_SOMETHING_ELSE: Final = re.compile(
    r"(^|/)(\.[^/]*|node_modules|models|docker|docs?|README[^/]*|deploy[^/]*|k8s|helm)(/|$)"
)

Outcome = Literal["passed", "reservation", "failed"]


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """What is right for a commit."""

    repository: str
    commit: str
    outcome: Outcome
    right: str
    """Why, in our words: what the change does to the assistant."""
    project: str = "."
    names: tuple[str, ...] = ()
    """What the comment must name: the cause, the test, the file."""
    without: tuple[str, ...] = ()
    """What the comment must not say."""


class Replayed(Struct, frozen=True):
    """What a run said about a commit."""

    repository: str
    commit: str
    project: str
    subject: str
    lines: int
    """Changed lines of the assistant."""
    outcome: str
    """As :class:`Expected` has it; else the exit code, ``limit`` or ``traceback``."""
    title: str
    comment: str
    reasons: tuple[str, ...]
    """The reason of each gate that did not pass."""
    seconds: float
    cpu: float
    """Seconds of processor time."""

    def faults(self, expected: Expected) -> list[str]:
        """Return why the verdict does not hold."""
        found = [] if self.outcome == expected.outcome else [f"{self.outcome}, expected {expected.outcome}"]
        found += [f"does not name {name!r}" for name in expected.names if name not in self.comment]
        found += [f"says {words!r}" for words in expected.without if words in self.comment]
        return found + self.excess()

    def excess(self) -> list[str]:
        """Return by how much the comment is too long."""
        size, most = len(self.comment.encode()), SMALL_COMMENT if self.lines < SMALL_CHANGE else ANY_COMMENT
        return [f"comment of {size:,} bytes for {self.lines} changed lines"] if size > most else []


def _git(folder: Path, *arguments: str, index: Path | None = None) -> str:
    command = ["git", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "safe.directory=*"]
    environment = {**_ENVIRONMENT, **({"GIT_INDEX_FILE": str(index)} if index else {})}
    done = subprocess.run(
        [*command, "-C", str(folder), *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        check=False,
    )
    if done.returncode:
        raise OSError(f"git {' '.join(arguments)[:80]}: {done.stderr.strip()[-300:]}")
    return done.stdout


def git_directory(mirrors: Path, repository: str) -> Path:
    """Return the git directory of a repository's mirror."""
    folder = mirrors / repository.replace("/", "+") / "repo"
    return folder / ".git" if (folder / ".git").is_dir() else folder


def assistants(files: Iterable[str]) -> list[str]:
    """Return the folders that look like an assistant: two of a configuration, a domain and data."""
    parts: dict[str, set[str]] = defaultdict(set)
    for file in files:
        folder, _, name = file.rpartition("/")
        if _OF_SOMETHING_ELSE.search(file):
            continue
        if _CONFIGURATION.fullmatch(name) and name not in {"docker-compose.yml", "_config.yml"}:
            parts[folder].add("configuration")
        if _DOMAIN.fullmatch(name):
            parts[folder].add("domain")
        for part in ("data", "domain"):
            if f"/{part}/" in f"/{file}":
                parts[f"/{file}".partition(f"/{part}/")[0].strip("/")].add(part)
    return sorted(folder for folder, found in parts.items() if len(found) > 1)


def _project_of(mirror: Path, commit: str) -> str | None:
    """The assistant that most of the changed files belong to; the deepest one if several have as many."""
    changed = _git(mirror, "diff-tree", "-r", "--no-commit-id", "--name-only", f"{commit}^1", commit).splitlines()
    relevant = [file for file in changed if _OF_AN_ASSISTANT.search(file) and not _OF_SOMETHING_ELSE.search(file)]
    if not relevant:
        return None
    folders = assistants(_git(mirror, "ls-tree", "-r", "--name-only", commit).splitlines())
    owners: Counter[str] = Counter()
    for file in relevant:
        inside = [folder for folder in folders if not folder or file.startswith(f"{folder}/")]
        owners.update([max(inside, key=len)] if inside else [])
    return max(sorted(owners), key=lambda folder: (owners[folder], len(folder))) or "." if owners else None


def draw(mirrors: Path, number: int, seed: int, listed: set[str]) -> list[Expected]:
    """Return up to so many commits of each repository that nobody has judged, drawn by lot."""
    found = []
    for folder in sorted(mirrors.iterdir()):
        repository = folder.name.replace("+", "/", 1)
        mirror = git_directory(mirrors, repository)
        if not mirror.is_dir():
            continue
        commits = _git(mirror, "rev-list", "--first-parent", "--min-parents=1", "HEAD").split()
        random.Random(f"{seed} {repository}").shuffle(commits)
        able = (
            Expected(repository, commit, "passed", "not judged yet", project)
            for commit in commits
            if commit not in listed and (project := _project_of(mirror, commit)) is not None
        )
        found += [expected for expected, _ in zip(able, range(number), strict=False)]
    return found


def _commit_of(clone: Path, commit: str, *parents: str) -> str:
    """A commit with the same files, without those whose content the mirror lacks."""
    index = clone / ".git" / "replay-index"
    _git(clone, "read-tree", commit, index=index)
    rows = [line.split(maxsplit=3) for line in _git(clone, "ls-tree", "-r", commit).splitlines()]
    known = subprocess.run(
        ["git", "-C", str(clone), "cat-file", "--batch-check"],
        input="\n".join(row[2] for row in rows if row[1] == "blob"),
        capture_output=True,
        text=True,
        env=_ENVIRONMENT,
        check=True,
    ).stdout
    missing = {line.split()[0] for line in known.splitlines() if line.endswith("missing")}
    if lost := [path for _, _, blob, path in rows if blob in missing]:
        _git(clone, "update-index", "--force-remove", "--", *lost, index=index)
    tree = _git(clone, "write-tree", index=index).strip()
    ancestry = (word for parent in parents for word in ("-p", parent))
    return _git(clone, "commit-tree", tree, "-m", f"replay of {commit}", *ancestry).strip()


def checked_out(mirror: Path, commit: str, clone: Path) -> None:
    """Check the branch `change` out, whose `main` is the commit's first parent."""
    shutil.rmtree(clone, ignore_errors=True)
    clone.mkdir(parents=True)
    _git(clone, "init", "-q", "-b", "main")
    (clone / ".git" / "objects" / "info" / "alternates").write_text(f"{(mirror / 'objects').resolve()}\n")
    main = _commit_of(clone, _git(mirror, "rev-parse", f"{commit}^1").strip())
    change = _commit_of(clone, commit, main)
    _git(clone, "update-ref", "refs/heads/main", main)
    _git(clone, "checkout", "-q", "-B", "change", change)


def replay(mirrors: Path, expected: Expected, out: Path, more: Sequence[str] = ()) -> Replayed:
    """Run turncheck on a commit; ``more`` are further flags.

    Raises:
        OSError: the mirror does not have the commit.
    """
    mirror = git_directory(mirrors, expected.repository)
    place = out / expected.repository.replace("/", "+") / expected.commit[:10]
    shutil.rmtree(place, ignore_errors=True)
    clone = place / "clone"
    checked_out(mirror, expected.commit, clone)
    rows = [line.split("\t") for line in _git(clone, "diff", "--numstat", "main", "change").splitlines()]
    own = [row for row in rows if expected.project == "." or row[2].startswith(f"{expected.project}/")]
    command = [sys.executable, "-I", "-m", "turncheck", "run", "--project", expected.project, "--base", "main"]
    command += ["--fail-on", "new-errors", "new-failures", "--no-cache", "--out", str(place / "out"), *more]
    started = time.monotonic()
    exit_code, cpu = _run(command, clone, place / "log")
    comment = place / "out" / "comment.md"
    said = comment.read_text(encoding="utf-8") if comment.is_file() else ""
    log = (place / "log").read_text(encoding="utf-8", errors="replace")
    verdict_file = place / "out" / "verdict.json"
    verdict = json.loads(verdict_file.read_text(encoding="utf-8")) if verdict_file.is_file() else {}
    shutil.rmtree(clone)
    return Replayed(
        repository=expected.repository,
        commit=expected.commit,
        project=expected.project,
        subject=_git(mirror, "log", "-1", "--format=%s", expected.commit).strip()[:90],
        lines=sum(int(count) for row in own for count in row[:2] if count.isdigit()),
        outcome="traceback" if "Traceback (most recent call last)" in log else _outcome(exit_code, verdict),
        title=_title(said) or log.strip()[-300:],
        comment=said,
        reasons=tuple(
            f"{gate['outcome']} {gate['name']}: {gate['reason']}"
            for gate in verdict.get("gates", ())
            if gate["outcome"] != "passed"
        ),
        seconds=round(time.monotonic() - started, 1),
        cpu=round(cpu, 1),
    )


def _title(comment: str) -> str:
    """The first lines of the comment: the outcome and the sentence that says why."""
    words = [line.removeprefix("### ") for line in comment.splitlines() if line and not line.startswith("<")]
    return " ".join(words[:2])


def _outcome(exit_code: int | None, verdict: dict[str, object]) -> str:
    if exit_code is None:
        return "limit"
    if exit_code in {0, 1} and verdict:
        return "failed" if exit_code else "reservation" if verdict.get("reservation") else "passed"
    return f"exit code {exit_code}"


def _run(command: Sequence[str], folder: Path, log: Path) -> tuple[int | None, float]:
    """The exit code, none if it took too long; and the processor time, of the run and all that it started."""
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        killed = []

        def kill() -> None:
            killed.append(True)
            os.killpg(process.pid, signal.SIGKILL)

        timer = Timer(LIMIT, kill)
        timer.start()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    return None if killed else process.returncode, used.ru_utime + used.ru_stime


def listed_in(file: Path) -> list[Expected]:
    return msgspec.convert(yaml.safe_load(file.read_text(encoding="utf-8")) or [], list[Expected])


def _chosen(listed: Iterable[Expected], only: Sequence[str]) -> list[Expected]:
    return [one for one in listed if not only or one.repository in only or one.commit.startswith(tuple(only))]


def _row(replayed: Replayed, faults: Sequence[str]) -> str:
    words = "; ".join(faults) or "holds"
    return (
        f"{replayed.repository} {replayed.commit[:10]} [{replayed.project}] {replayed.lines} lines, "
        f"{replayed.seconds} s, {replayed.cpu} CPU s, {len(replayed.comment.encode()):,} bytes: {words}\n"
        f"    {replayed.title}"
    )


def _summary(results: Sequence[Replayed], wrong: int) -> str:
    cpu = sorted(one.cpu for one in results)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(Counter(r.outcome for r in results).items()))
    return (
        f"{len(results)} commits of {len({one.repository for one in results})} repositories: {outcomes}; "
        f"{wrong} do not hold; CPU seconds: median {statistics.median(cpu)}, most {cpu[-1]}; "
        f"comments that are too long: {sum(bool(one.excess()) for one in results)}"
    )


def main() -> int:
    """Replay the commits, print a row for each, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path, help="the folder of the mirrors")
    parser.add_argument("--only", nargs="+", default=(), metavar="WHICH", help="repositories, or how commits begin")
    parser.add_argument("--list", type=Path, default=LIST, metavar="FILE", help="the commits and what is right")
    parser.add_argument("--draw", type=int, metavar="N", help="draw N commits of each mirror that are not listed")
    parser.add_argument("--seed", type=int, default=1, help="what is drawn depends on it")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="how many commits at once")
    parser.add_argument("--out", type=Path, default=Path("results/replay"), metavar="FOLDER", help="comments and logs")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=(), metavar="FLAG", help="further flags of the run")
    options = parser.parse_args()
    listed = listed_in(options.list)
    if options.draw:
        chosen = draw(options.mirrors, options.draw, options.seed, {one.commit for one in listed})
    else:
        chosen = _chosen(listed, options.only)

    def each(expected: Expected) -> Replayed | None:
        try:
            return replay(options.mirrors, expected, options.out.resolve(), options.more)
        except OSError as error:
            print(f"{expected.repository} {expected.commit[:10]}: not replayed: {error}", file=sys.stderr)
            return None

    results, wrong = [], 0
    with ThreadPoolExecutor(options.workers) as pool:
        for expected, replayed in zip(chosen, pool.map(each, chosen), strict=True):
            if replayed is not None:
                faults = replayed.excess() if options.draw else replayed.faults(expected)
                wrong += bool(faults)
                results.append(replayed)
                print(_row(replayed, faults), flush=True)
    if not results:
        print("No commit was replayed: none is listed, or the mirrors have none of them.", file=sys.stderr)
        return 2
    print(f"\n{_summary(results, wrong)}")
    return 1 if wrong or len(results) < len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
