"""The git checkout that a project is in: its commits, and another commit's files in a temporary folder.

git is asked as a program. In a container the checkout belongs to another user, which git refuses to touch unless told
otherwise (``safe.directory``); hooks and other programs that the repository's configuration names are not run.

A name means one kind of thing here: a branch of the remote, a branch, a tag or a full object id. git itself looks for a
name in all these places and takes the first, so that a tag called ``main`` would be taken for the branch.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.ci.diff import LinesOfChange, lines_of_diff
from turncheck.process.output_files import temporary_folder
from turncheck.process.regular_file import is_file, is_there, read_regular
from turncheck.process.system import program

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import date

_TIMEOUT: Final = 120
_MOST_BYTES: Final = 32_000_000
"""As of a project's files; lines of larger ones are not counted."""
_OPTIONS: Final = (
    *("-c", "safe.directory=*"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.useReplaceRefs=false"),
    *("-c", "core.splitIndex=false"),
    *("-c", "submodule.recurse=false"),
)
_OFFLINE: Final = ("-c", "protocol.allow=never")
_ONLINE: Final = (
    *_OFFLINE,
    *(word for name in ("https", "http", "ssh", "git", "file") for word in ("-c", f"protocol.{name}.allow=always")),
    *("-c", "http.lowSpeedLimit=1000", "-c", "http.lowSpeedTime=30"),
)
_TO_CONNECT: Final = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    *("GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND"),
)
_ABOUT_CONNECTIONS: Final = re.compile(r"(?:http|credential|url|ssh)\.|core\.(?:sshcommand|askpass)$")
_DEFAULT_BRANCHES: Final = ("main", "master")
_NAME_OF_A_BRANCH: Final = re.compile(r"(?!HEAD$)[^-\x00-\x20~^:?*\[\\\x7f][^\x00-\x20~^:?*\[\\\x7f]*")
"""The valid names of branches; an expression such as ``HEAD~1`` or ``main^2`` is not one."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PREFIX_OF_A_COMMIT: Final = re.compile(r"[0-9a-f]{7,63}")
_EXPRESSION: Final = re.compile(r"(?P<name>[^~^@:]+)(?P<steps>(?:[~^][0-9]*)+)")
_FORMATS: Final = {40: "sha1", 64: "sha256"}
_SUBMODULE: Final = "160000"
_OF_A_SUBMODULE: Final = re.compile(rb"/modules/(?!.*/worktrees/)")
"""In the path of a repository that is kept inside another one; not so of a further working tree."""
_EMPTY_TREES: Final = frozenset(
    {
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
    }
)
"""The tree without a file, by SHA-1 and by SHA-256."""


_SECRET_PARTS: Final = (
    (re.compile(r"(?<=')((?:[\w+.-]+://)?)[^']*@"), r"\1…@"),
    (re.compile(r"(?<![^\s'])([\w+.-]+://(?=[^\s']*@)|(?=[^\s']*:[^\s']*@))[^\s']*@"), r"\1…@"),
    (re.compile(r"(?<=[\w/])\?[^\s']+"), "?…"),
)
"""Of an address in quotes, or between blanks: the login, whatever its characters are, and the query."""


class GitError(Exception):
    """git failed; the message is the line of its output that says why."""


class GitMissingError(GitError):
    """git is not installed, or not on the PATH."""


class OtherState(Struct, frozen=True):
    """What a checkout is compared with: a commit or tree, and the folder of its objects if they are not here."""

    name: str
    objects: Path | None = None


class Checkout(Struct, frozen=True, dict=True):
    """A working tree. ``top`` is its folder; which remotes it has is asked once."""

    top: Path

    # --- which commit a name stands for -------------------------------------------------------------------------------

    def why_not_asked(self) -> str:
        """Return why git cannot be asked anything; empty if it can."""
        try:
            self._run("--version")
        except GitMissingError as error:
            return str(error)
        except GitError:  # each question fails by itself, for its own reason
            return ""
        return ""

    def head(self) -> str | None:
        """Return the commit that is checked out."""
        return self._ask("rev-parse", "--verify", "--quiet", "HEAD^{commit}")

    def day(self) -> date | None:
        """Return the day on which the commit that is checked out was made, if it has one that a calendar knows."""
        seconds = self._ask("-c", "log.showSignature=false", "log", "-1", "--format=%ct")
        try:
            return None if seconds is None else datetime.fromtimestamp(int(seconds), UTC).date()
        except (ValueError, OverflowError, OSError):
            return None

    def has(self, commit: str) -> bool:
        """Whether a commit, by its full object id, is here (not so in a shallow clone, say)."""
        return _COMMIT.fullmatch(commit) is not None and self._peeled(commit) == commit

    def lengthened(self, commit: str) -> str | None:
        """Return the full id of a commit that a host shortens; ``None`` if it is not here, or may be another one."""
        if _COMMIT.fullmatch(commit):
            return commit if self.has(commit) else None
        if not _PREFIX_OF_A_COMMIT.fullmatch(commit) or self._is_name_of_a_ref(commit):
            return None
        found = (self._ask("rev-parse", f"--disambiguate={commit}") or "").split()
        commits = [one for one in found if self._peeled(one) == one]
        return commits[0] if len(commits) == 1 else None

    def remote_branch(self, name: str, remote: str | None = None) -> str | None:
        """Return where a branch of a remote was when it was fetched, without another one :meth:`remote`."""
        known = _NAME_OF_A_BRANCH.fullmatch(name)
        return self._ref(f"refs/remotes/{remote or self.remote()}/{name}") if known else None

    def local_branch(self, name: str) -> str | None:
        """Return where a branch of this repository itself is."""
        return self._ref(f"refs/heads/{name}") if _NAME_OF_A_BRANCH.fullmatch(name) else None

    def tag(self, name: str) -> str | None:
        """Return the commit of a tag."""
        name = name.removeprefix("refs/").removeprefix("tags/")
        found = self._ref(f"refs/tags/{name}") if _NAME_OF_A_BRANCH.fullmatch(name) else None
        return self._peeled(found) if found else None

    def expression(self, name: str, of: Callable[[str], str | None]) -> str | None:
        """Return the commit of ``HEAD``, ``HEAD~2`` or ``main^``, where ``of`` says which commit a name stands for."""
        if name == "HEAD":
            return self.head()
        match = _EXPRESSION.fullmatch(name)
        start = self.expression(match["name"], of) or of(match["name"]) if match else None
        return self._ask("rev-parse", "--verify", "--quiet", f"{start}{match['steps']}") if match and start else None

    def is_a_branch_there(self, name: str, remote: str) -> bool | None:
        """Ask a remote whether it has a branch; ``None`` if it cannot be asked."""
        ref = f"refs/heads/{name.removeprefix(f'{remote}/')}"
        try:
            listed = self._run("ls-remote", "--quiet", remote, ref, offline=False)
        except GitError:
            return None
        return any(line.partition("\t")[2] == ref for line in listed.splitlines())

    def default_branch_there(self) -> str | None:
        """Ask the remote for its default branch; ``None`` if it cannot be asked."""
        try:
            listed = self._run("ls-remote", "--quiet", "--symref", self.remote(), "HEAD", offline=False)
        except GitError:
            return None
        named = (line.partition("\t")[0].removeprefix("ref: refs/heads/") for line in listed.splitlines())
        return next((name for name in named if _NAME_OF_A_BRANCH.fullmatch(name) and not _COMMIT.fullmatch(name)), None)

    def named_default_branch(self) -> str | None:
        """Return the name of the remote's default branch if the remote has said which it is."""
        prefix = f"refs/remotes/{self.remote()}/"
        named = self._ask("symbolic-ref", "--quiet", f"{prefix}HEAD") or ""
        name = named.removeprefix(prefix)
        return name if name != named and self.remote_branch(name) else None

    def default_branch(self, *, local: bool = False) -> str | None:
        """Return what is likely to be the default branch of the remote, by its usual names if need be.

        ``local``: also a branch of this repository.
        """
        if name := self.named_default_branch():
            return name
        places = (self.remote_branch, self.local_branch) if local else (self.remote_branch,)
        return next((name for known in places for name in _DEFAULT_BRANCHES if known(name)), None)

    def main_branch(self) -> str:
        """Return the name of the default branch; if unknown, the current one, else ``main``."""
        return self.default_branch(local=True) or self._ask("symbolic-ref", "--quiet", "--short", "HEAD") or "main"

    # --- how commits are related -------------------------------------------------------------------------------------

    def parents(self, commit: str) -> tuple[str, ...]:
        """Return the parents of a commit, as the commit itself names them: also those cut off by a shallow clone."""
        text = self._ask("cat-file", "commit", commit) or ""
        head = text.partition("\n\n")[0].splitlines()
        return tuple(line.removeprefix("parent ") for line in head if line.startswith("parent "))

    def merge_base(self, one: str, other: str) -> str | None:
        """Return the best common ancestor of two commits, by their ids, if it is certain.

        In a shallow history a nearer ancestor may be missing: it is certain if no commit whose parents are cut off is
        between the ancestor and the two.
        """
        found = self._ask("merge-base", one, other)
        if found is None or not self.is_shallow():
            return found
        between = set((self._ask("rev-list", one, other, f"^{found}") or "").split())
        return None if between & self._cut_off() else found

    def _cut_off(self) -> set[str]:
        """Return the commits whose parents are not here."""
        place = self._ask("rev-parse", "--git-path", "shallow")
        try:
            return set((self.top / place).read_text("ascii", "replace").split()) if place else set()
        except OSError:
            return set()

    def is_shallow(self) -> bool:
        """Whether history is cut off, as with a ``fetch-depth: 1``."""
        return self._ask("rev-parse", "--is-shallow-repository") == "true"

    # --- where it came from ------------------------------------------------------------------------------------------

    def remote(self) -> str:
        """Return the name of the repository that was cloned: ``origin`` where there is one, else the first remote."""
        return next(iter(self._remotes), "origin")

    @cached_property
    def _remotes(self) -> Sequence[str]:
        named = (self._ask("remote") or "").splitlines()
        return sorted(named, key=lambda name: name != "origin")

    def address(self) -> str | None:
        """Return where the repository was cloned from."""
        return self._ask("remote", "get-url", self.remote())

    def addresses(self) -> dict[str, str]:
        """Return the address of each remote, by its name; the one that was cloned comes first."""
        return {name: url for name in self._remotes if (url := self._ask("remote", "get-url", name))}

    def fetch_command(self, name: str, commit: str | None = None) -> str:
        """Return the ``git fetch`` that gets a branch and the history that is cut off here; "" if none would.

        Args:
            name: of a branch, here or at the remote; ``*`` for all of them.
            commit: fetched by itself where the name is not a branch's.
        """
        if not self._remotes:
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

    def refetch_command(self) -> str:
        """Return the ``git fetch`` that gets all files that a partial clone has left out; "" if this is none."""
        promised = self._ask("config", "--get-regexp", r"^remote\..*\.promisor$")
        return shlex.join(["git", "fetch", "--refetch", "--no-filter", self.remote()]) if promised else ""

    # --- what is in it -----------------------------------------------------------------------------------------------

    def is_changed(self, folder: Path, *, without: Path | None = None) -> bool:
        """Whether files below ``folder`` differ from the last commit (files git ignores aside, and a folder)."""
        places = [str(folder.resolve())]
        if without is not None and Path(os.path.realpath(without)).is_relative_to(self.top.resolve()):
            places.append(f":(exclude){os.path.realpath(without)}")
        return bool(self._ask("status", "--porcelain", "--untracked-files=all", "--", *places))

    @contextmanager
    def state_of(self, commit: str, folder: Path | None) -> Iterator[OtherState]:
        """Yield what git can compare this checkout with; where a commit is not here, a tree of its files in a folder.

        The checkout itself stays as it is: the tree is in a repository of its own, which is removed afterwards.

        Args:
            commit: its full object id.
            folder: has its files, if they are known.

        Raises:
            GitError: git cannot read them.
        """
        if folder is None or self.has_files_of(commit):
            yield OtherState(commit)
            return
        with temporary_folder("base") as holder:
            new, index = Checkout(holder), holder / "index"
            new._run("init", "--quiet", "--bare", f"--object-format={_FORMATS[len(commit)]}", ".")
            place = ("-C", str(folder), f"--git-dir={holder}", f"--work-tree={folder}", "-c", "core.bare=false")
            new._run(*place, "add", "--all", "--force", ".", index=index)
            yield OtherState(new._run("write-tree", index=index), holder / "objects")

    def has_files_of(self, commit: str) -> bool:
        """Whether a commit is here, and surely its files, too: not so in a partial clone, which git would fetch more
        for."""
        return self.has(commit) and self._ask("config", "--get-regexp", r"^remote\..*\.promisor$") is None

    def changed_lines(self, state: OtherState, folder: Path) -> dict[Path, LinesOfChange]:
        """Return the lines below a folder that a state does not have, by file; of a file that is new, all of them.

        A file that was only moved has no changed lines.

        Raises:
            GitError: the state is not here.
        """
        place = str(folder.resolve())
        # What attributes of the change itself say (that a file is binary) does not count.
        how = ("--unified=0", "--find-renames", "--text", "--no-color", "--no-ext-diff", "--no-textconv")
        plain = ("-c", "core.quotePath=false", "diff", *how, "--src-prefix=", "--dst-prefix=")
        changed = lines_of_diff(self._run(*plain, state.name, "--", place, objects=state.objects))
        new = self._ask("ls-files", "-z", "--others", "--exclude-standard", "--", place) or ""
        for name in filter(None, new.split("\0")):
            with suppress(OSError):
                number = read_regular(self.top / name, most=_MOST_BYTES, follow=False).count(b"\n")
                changed[name] = LinesOfChange(frozenset(range(1, number + 2)))
        return {self.top / name: lines for name, lines in changed.items()}

    def number_of_changed_lines(self, state: OtherState, places: Iterable[Path]) -> int:
        """Return how many lines of files and below folders were added and removed since a state, as git counts.

        Files that git does not know are not counted, nor what is outside of the checkout.

        Raises:
            GitError: the state is not here.
        """
        how = ("--numstat", "--find-renames", "--text", "--no-ext-diff", "--no-textconv")
        within = [str(place) for one in places if (place := one.resolve()).is_relative_to(self.top.resolve())]
        if not within:
            return 0
        counted = self._run("diff", *how, state.name, "--", *within, objects=state.objects)
        numbers = (line.split("\t", 2)[:2] for line in counted.splitlines())
        return sum(int(number) for both in numbers for number in both if number.isdigit())

    def deleted_files(self, state: OtherState, folder: Path) -> list[Path]:
        """Return the files below a folder that a state has and that are gone; not those that were only moved.

        Raises:
            GitError: the state is not here.
        """
        how = ("--name-only", "-z", "--diff-filter=D", "--find-renames", "--ignore-submodules=all", "--no-ext-diff")
        place = str(folder.resolve())
        gone = self._output("diff", *how, state.name, "--", place, objects=state.objects).split(b"\0")
        return [self.top / os.fsdecode(name) for name in gone if name]

    def differing(self, state: OtherState) -> list[str]:
        """Return the paths of files that are not as in a state: others, gone, new, or with another mode.

        Files that nobody has added are not seen, and what a sparse checkout leaves out is not gone.

        Raises:
            GitError: the state is not here.
        """
        how = ("--name-only", "-z", "--no-renames", "--ignore-submodules=none", "--no-ext-diff")
        differing = self._output("diff", *how, state.name, "--", objects=state.objects)
        return [os.fsdecode(name) for name in differing.split(b"\0") if name]

    def tracks(self, path: Path) -> bool:
        """Whether a file, files below a folder, or a submodule around them belong to the repository.

        ``path`` is an absolute path with real parents.

        Raises:
            GitError: git cannot say.
        """
        if self._run("--literal-pathspecs", "ls-files", "--", str(path)):
            return True
        below = path.relative_to(self.top).parts
        around = ("/".join(below[:number]) for number in range(1, len(below)))
        return any(self._ask("rev-parse", "--verify", "--quiet", "--end-of-options", f":{name}") for name in around)

    def is_empty(self, commit: str) -> bool:
        """Whether a commit has no files at all."""
        return self._ask("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}") in _EMPTY_TREES

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
            self.write(commit, folder, holder / "index")
            yield folder

    def write(self, commit: str, folder: Path, index: Path) -> None:
        """Write all files of a commit into a folder, also those that a sparse checkout leaves out.

        Raises:
            GitError: the commit or one of its files is not here.
        """
        self._run(
            *("-c", "core.bare=false", f"--work-tree={folder}"),
            *("read-tree", "-u", "--reset", "--no-sparse-checkout", commit),
            index=index,
        )

    def unfiltered(self, commit: str, path: str) -> bytes | None:
        """Return the content of a file as a checkout would write it, also if a filter fetches it from elsewhere."""
        try:
            return self._output("cat-file", "--filters", f"{commit}:{path}", offline=False, with_large_files=True)
        except GitError:
            return None

    def submodules(self, commit: str = "HEAD") -> dict[str, str]:
        """Return the commits of other repositories that a commit includes, by their paths."""
        listed = (self._ask("ls-tree", "-r", "-z", "--full-tree", commit) or "").split("\0")
        entries = (line.partition("\t") for line in listed if line.startswith(_SUBMODULE))
        return {path: facts.split()[2] for facts, _, path in entries}

    # --- what else there is to fetch ---------------------------------------------------------------------------------

    def connection(self) -> dict[str, list[str]]:
        """Return what this repository's own configuration says about connections: addresses, logins, proxies."""
        listed = (self._ask("config", "--list", "-z", "--show-scope") or "").split("\0")
        found: dict[str, list[str]] = {}
        for scope, entry in zip(listed[::2], listed[1::2], strict=False):
            name, _, value = entry.partition("\n")
            if scope in {"local", "worktree"} and _ABOUT_CONNECTIONS.match(name):
                found.setdefault(name, []).append(value)
        return found

    def fetch(self, url: str, commit: str, connection: Mapping[str, Sequence[str]]) -> None:
        """Fetch one commit with all its files, without its history, into a new repository at ``top``.

        Args:
            url: of the repository that has it.
            commit: its full object id.
            connection: settings of git, as :meth:`connection` returns them.

        Raises:
            GitError: it cannot be had there.
        """
        self._run("init", "--quiet", "--bare", f"--object-format={_FORMATS[len(commit)]}", ".")
        settings = [
            ("remote.base.url", url),
            ("maintenance.auto", "false"),  # of what is soon removed
            *((name, value) for name, values in connection.items() for value in values),
        ]
        self._run(
            *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "base", commit),
            settings=settings,
            offline=False,
        )
        if not self.has(commit):
            raise GitError(f"{commit[:8]} was not fetched")

    # --- how git is asked --------------------------------------------------------------------------------------------

    def _ref(self, name: str) -> str | None:
        """Return the object of exactly this ref; of other names, git tries several places."""
        return self._ask("show-ref", "--verify", "--hash", name)

    def _peeled(self, commit: str) -> str | None:
        return self._ask("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")

    def _is_name_of_a_ref(self, name: str) -> bool:
        found = self._ask("for-each-ref", "--format=%(refname)") or ""
        return any(line.endswith(f"/{name}") for line in found.splitlines())

    def _ask(self, *arguments: str) -> str | None:
        """Return git's answer, or ``None`` where it has none."""
        try:
            return self._run(*arguments) or None
        except GitError:
            return None

    def _run(
        self,
        *arguments: str,
        index: Path | None = None,
        objects: Path | None = None,
        settings: Sequence[tuple[str, str]] = (),
        offline: bool = True,
    ) -> str:
        said = self._output(*arguments, index=index, objects=objects, settings=settings, offline=offline)
        return said.decode("utf-8", "replace").strip()

    def _output(
        self,
        *arguments: str,
        index: Path | None = None,
        objects: Path | None = None,
        settings: Sequence[tuple[str, str]] = (),
        offline: bool = True,
        with_large_files: bool = False,
    ) -> bytes:
        options = (*_OPTIONS, *(_OFFLINE if offline else _ONLINE))
        environment = _environment(self.top) | ({} if index is None else {"GIT_INDEX_FILE": str(index)})
        if not offline:
            environment |= {name: os.environ[name] for name in _TO_CONNECT if name in os.environ}
        for number, (name, value) in enumerate(settings):  # not as arguments, which every process can see
            environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        if objects is not None:
            environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(objects)
        if with_large_files:
            environment.pop("GIT_LFS_SKIP_SMUDGE")
        environment["GIT_CONFIG_COUNT"] = str(len(settings))
        try:
            done = subprocess.run(  # noqa: S603 - our own words and commit names, no shell
                [program("git"), *options, *arguments],
                cwd=self.top,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_TIMEOUT,
                check=False,
                env=environment,
                start_new_session=not offline,  # without a terminal, where ssh would ask for a password
            )
        except FileNotFoundError:
            raise GitMissingError("git is not installed here, or not on the PATH") from None
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:  # a name from elsewhere with a null byte, say
            raise GitError(f"git cannot be run: {error}") from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"git ended with {done.returncode}"]
            # What git advises after its own fault says less than the fault.
            raise GitError(_shown(next((line for line in lines if line.startswith(("fatal: ", "error: "))), lines[-1])))
        return done.stdout


def _shown(line: str) -> str:
    """Return what git said without what may be a secret: git itself hides only the passwords of valid addresses."""
    for pattern, instead in _SECRET_PARTS:
        line = pattern.sub(instead, line)
    return line


def find_checkout(folder: Path, *, outer: bool = False) -> Checkout | None:
    """Return the checkout that ``folder`` is in, by the path as it is named, found by its ``.git``; no program is run.

    ``outer``: of a submodule, the one that it is part of. A link that leads out of its checkout is in the one it
    leads to.
    """
    named = Path(os.path.abspath(folder))  # noqa: PTH100 - links are not followed
    checkout = _checkout_above(named, outer=outer)
    real = folder.resolve()
    return (
        checkout if checkout is not None and real.is_relative_to(checkout.top) else _checkout_above(real, outer=outer)
    )


def _checkout_above(folder: Path, *, outer: bool) -> Checkout | None:
    for candidate in (folder, *folder.parents):
        mark = candidate / ".git"
        if is_there(mark) and not (outer and _is_of_a_submodule(mark)):
            return Checkout(candidate.resolve())
    return None


def _is_of_a_submodule(mark: Path) -> bool:
    """Whether a ``.git`` is that of a submodule, whose repository is kept in the one around it."""
    try:
        return is_file(mark) and _OF_A_SUBMODULE.search(read_regular(mark, most=_MOST_BYTES)) is not None
    except OSError:
        return False


def _environment(top: Path) -> dict[str, str]:
    """The environment that git needs, without variables that another process set for its own git.

    A home in the checkout has no configuration: it might be the change's, and name programs that git runs.
    """
    kept = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "USERPROFILE", "TEMP")
    is_within = Path(os.path.realpath(os.environ.get("HOME", "/"))).is_relative_to(top)
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        **({"GIT_CONFIG_GLOBAL": os.devnull} if is_within else {}),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
