"""The git checkout that a project is in: its commits, and another commit's files in a temporary folder.

git is asked as a program. In a container the checkout belongs to another user, which git refuses to touch unless told
otherwise (``safe.directory``); hooks and other programs that the repository's configuration names are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.process.existing import is_there
from turncheck.process.temporary import temporary_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_TIMEOUT: Final = 120
_OPTIONS: Final = (
    *("-c", "safe.directory=*"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "core.splitIndex=false"),
    *("-c", "submodule.recurse=false"),
)
_DEFAULT_BRANCHES: Final = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_NAME_OF_A_BRANCH: Final = re.compile(r"(?!HEAD$)[^-\x00-\x20~^:?*\[\\\x7f][^\x00-\x20~^:?*\[\\\x7f]*")
"""The valid names of branches; an expression such as ``HEAD~1`` or ``main^2`` is not one."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class GitError(Exception):
    """git failed; the message is the last line of its output."""


class GitMissingError(GitError):
    """git is not installed, or not on the PATH."""


@dataclass(frozen=True, slots=True)
class LinesOfChange:
    """Lines of a file by number: those ``written`` anew, and those ``beside`` lines that were removed."""

    written: frozenset[int] = frozenset()
    beside: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Checkout:
    """A working tree. ``top`` is its folder."""

    top: Path

    def commit(self, name: str = "HEAD") -> str | None:
        """Return the commit that a name stands for, ``None`` if it is unknown here (a shallow clone, say)."""
        return self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")

    def parents(self, commit: str) -> tuple[str, ...]:
        """Return the parents of a commit, as the commit itself names them: also those cut off by a shallow clone."""
        text = self._ask("cat-file", "commit", commit) or ""
        head = text.partition("\n\n")[0].splitlines()
        return tuple(line.removeprefix("parent ") for line in head if line.startswith("parent "))

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the best common ancestor of two commits that is known here."""
        return self._ask("merge-base", one, other)

    def default_branch(self) -> str | None:
        """Return the name under which the default branch is known here."""
        return next((name for name in _DEFAULT_BRANCHES if self.commit(name)), None)

    def main_branch(self) -> str:
        """Return the name of the default branch; if unknown, the current one, else ``main``."""
        remote = self.remote()
        named = self._ask("symbolic-ref", "--quiet", "--short", f"refs/remotes/{remote}/HEAD") or self.default_branch()
        return (named or self._ask("symbolic-ref", "--quiet", "--short", "HEAD") or "main").removeprefix(f"{remote}/")

    def state_of(self, name: str) -> str | None:
        """Return the commit of a branch on its remote, or of whatever else a name stands for here."""
        remote = f"{self.remote()}/{name}" if _NAME_OF_A_BRANCH.fullmatch(name) else None
        return (self.commit(f"refs/remotes/{remote}") if remote else None) or self.commit(name)

    def remote(self) -> str:
        """Return the name of the repository that was cloned: ``origin`` where there is one, else the first remote."""
        named = (self._ask("remote") or "").splitlines()
        return "origin" if "origin" in named or not named else named[0]

    def address(self) -> str | None:
        """Return where the repository was cloned from."""
        return self._ask("remote", "get-url", self.remote())

    def fetch_command(self, name: str, commit: str | None = None) -> str:
        """Return the ``git fetch`` that gets a branch and the history that is cut off here; "" if none would.

        Args:
            name: of a branch, here or at the remote; ``*`` for all of them.
            commit: fetched by itself where the name is not a branch's.
        """
        if not self._ask("remote"):
            return ""
        remote = self.remote()
        branch = name.removeprefix(f"{remote}/")
        wanted = [commit] if commit else []
        if _COMMIT.fullmatch(name):
            wanted = [name]
        elif branch == "*" or _NAME_OF_A_BRANCH.fullmatch(branch):
            wanted = [f"+refs/heads/{branch}:refs/remotes/{remote}/{branch}"]
        whole = ["--unshallow"] if self.is_shallow() else []
        return shlex.join(["git", "fetch", *whole, remote, *wanted]) if whole or wanted else ""

    def is_shallow(self) -> bool:
        """Whether history is cut off, as with a ``fetch-depth: 1``."""
        return self._ask("rev-parse", "--is-shallow-repository") == "true"

    def is_changed(self, folder: Path, *, without: Path | None = None) -> bool:
        """Whether files below ``folder`` differ from the last commit (files git ignores aside, and a folder)."""
        places = [str(folder.resolve())]
        if without is not None and Path(os.path.realpath(without)).is_relative_to(self.top.resolve()):
            places.append(f":(exclude){os.path.realpath(without)}")
        return bool(self._ask("status", "--porcelain", "--untracked-files=all", "--", *places))

    def changed_lines(self, commit: str, folder: Path) -> dict[Path, LinesOfChange]:
        """Return the lines below a folder that a commit does not have, by file; of a file that is new, all of them.

        A file that was only moved has no changed lines.

        Raises:
            GitError: the commit is not here.
        """
        place = str(folder.resolve())
        # What attributes of the change itself say (that a file is binary) does not count.
        how = ("--unified=0", "--find-renames", "--text", "--no-color", "--no-ext-diff", "--no-textconv")
        plain = ("-c", "core.quotePath=false", "diff", *how, "--src-prefix=", "--dst-prefix=")
        changed = _lines_of_diff(self._run(*plain, commit, "--", place))
        new = self._ask("ls-files", "-z", "--others", "--exclude-standard", "--", place) or ""
        for name in filter(None, new.split("\0")):
            with suppress(OSError):
                number = (self.top / name).read_bytes().count(b"\n")
                changed[name] = LinesOfChange(frozenset(range(1, number + 2)))
        return {self.top / name: lines for name, lines in changed.items()}

    def tracks(self, place: Path) -> bool:
        """Whether a file, files below a folder, or a submodule around them belong to the repository.

        ``place`` is an absolute path with real parents.

        Raises:
            GitError: git cannot say.
        """
        if self._run("--literal-pathspecs", "ls-files", "--", str(place)):
            return True
        below = place.relative_to(self.top).parts
        around = ("/".join(below[:number]) for number in range(1, len(below)))
        return any(self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f":{name}") for name in around)

    @contextmanager
    def files_of(self, commit: str) -> Iterator[Path]:
        """Write another commit's files into a temporary folder, which is removed afterwards.

        The repository itself is only read: the index that git needs for it is in that folder, too.

        Raises:
            GitError: the commit is not here, or cannot be checked out.
        """
        with temporary_folder("base") as holder:
            folder = holder / "tree"
            folder.mkdir()
            self._run(f"--work-tree={folder}", "read-tree", "-u", "--reset", commit, index=holder / "index")
            yield folder

    def _ask(self, *arguments: str) -> str | None:
        """Return git's answer, or ``None`` where it has none."""
        try:
            return self._run(*arguments) or None
        except GitError:
            return None

    def _run(self, *arguments: str, index: Path | None = None) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - our own words and commit names, no shell
                ["git", *_OPTIONS, *arguments],  # noqa: S607 - whichever git is first on the path
                cwd=self.top,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_TIMEOUT,
                check=False,
                env=_environment() | ({} if index is None else {"GIT_INDEX_FILE": str(index)}),
            )
        except FileNotFoundError:
            raise GitMissingError("git is not installed here, or not on the PATH") from None
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:  # a name from elsewhere with a null byte, say
            raise GitError(f"git cannot be run: {error}") from None
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            raise GitError(lines[-1] if lines else f"git ended with {done.returncode}")
        return done.stdout.strip()


def _lines_of_diff(diff: str) -> dict[str, LinesOfChange]:
    """Return the lines that a diff without context adds, and those where others are gone, by file."""
    changed: dict[str, tuple[set[int], set[int]]] = {}
    written: set[int] = set()
    beside: set[int] = set()
    content = 0
    for line in diff.split("\n"):
        if content and line[:1] in {"+", "-"}:
            content -= 1  # whatever it looks like: an added line "++ b" looks like a file's name
        elif line.startswith("+++ "):
            written, beside = changed.setdefault(line.removeprefix("+++ ").rstrip("\t"), (set(), set()))
        elif found := _HUNK.match(line):
            gone, start, number = int(found[1] or 1), int(found[2]), int(found[3] or 1)
            content = gone + number
            written.update(range(start, start + number))
            beside.update(() if number else (max(start, 1), start + 1))
    changed.pop("/dev/null", None)
    return {
        name: LinesOfChange(frozenset(written), frozenset(beside))
        for name, (written, beside) in changed.items()
        if written or beside
    }


def find_checkout(folder: Path) -> Checkout | None:
    """Return the checkout that ``folder`` is in, found by its ``.git``; no program is run."""
    folder = folder.resolve()
    for candidate in (folder, *folder.parents):
        if is_there(candidate / ".git"):
            return Checkout(candidate)
    return None


def _environment() -> dict[str, str]:
    """The environment that git needs, without variables that another process set for its own git."""
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }
