"""The git checkout a project lies in, with real git."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.ci.base_files import written_submodules
from turncheck.ci.git import Checkout, GitError, find_checkout

if TYPE_CHECKING:
    from collections.abc import Mapping


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """``main``: one, two; ``feature`` from one: three; checked out: a merge of feature into main."""
    git(tmp_path, "init", "-q")
    for name in ("one", "two", "three"):
        if name == "three":
            git(tmp_path, "checkout", "-q", "-b", "feature", "HEAD~1")
        (tmp_path / name).write_text(name)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", name)
    git(tmp_path, "checkout", "-q", "--detach", "main")
    git(tmp_path, "merge", "-q", "--no-ff", "-m", "test merge", "feature")
    return tmp_path


def test_a_folder_finds_its_checkout(repository: Path) -> None:
    (repository / "bots").mkdir()

    assert find_checkout(repository / "bots") == Checkout(repository.resolve())


def test_commits_parents_and_merge_bases_are_known(repository: Path) -> None:
    checkout = Checkout(repository)
    head, main, feature = checkout.head(), checkout.local_branch("main"), checkout.local_branch("feature")

    assert head == git(repository, "rev-parse", "HEAD")
    assert main is not None
    assert feature is not None
    assert checkout.parents(head) == (main, feature)
    assert checkout.merge_base(main, feature) == git(repository, "rev-parse", "main~1")
    assert checkout.expression("main~1", checkout.local_branch) == git(repository, "rev-parse", "main~1")
    assert checkout.expression("HEAD^2", checkout.local_branch) == feature
    assert (checkout.default_branch(), checkout.default_branch(local=True)) == (None, "main")
    assert not checkout.is_shallow()


@pytest.mark.parametrize("name", ["nothing", "--help", "HEAD~9", "0" * 40, "a\0b", "\ud800", "a" * 5000])
def test_what_is_not_there_is_none(repository: Path, name: str) -> None:
    checkout = Checkout(repository)

    assert not checkout.has(name)
    assert checkout.lengthened(name) is None
    assert checkout.remote_branch(name) is None
    assert checkout.local_branch(name) is None
    assert checkout.tag(name) is None
    assert checkout.expression(name, checkout.local_branch) is None


def test_a_name_means_one_kind_of_thing(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    clone = tmp_path_factory.mktemp("clone") / "clone"
    git(repository, "checkout", "-q", "main")
    git(repository, "branch", "origin/main", "feature")
    git(repository, "branch", "origin/HEAD", "feature")
    git(repository.parent, "clone", "-q", f"file://{repository}", str(clone))
    checkout = Checkout(clone)
    main, other = (
        git(clone, "rev-parse", "refs/remotes/origin/main"),
        git(clone, "rev-parse", "refs/remotes/origin/feature"),
    )
    for tag in (
        "main",
        "origin/main",
        "HEAD",
        "refs/remotes/origin/main",
        "refs/remotes/origin/trunk",
        main[:12],
        main[:8],
    ):
        git(clone, "update-ref", f"refs/tags/{tag}", other)

    assert checkout.remote_branch("main") == main
    assert checkout.remote_branch("origin/main") == other, "a branch of this name"
    assert checkout.remote_branch("trunk") is None
    assert checkout.default_branch() == "main"
    assert checkout.head() == main
    assert checkout.has(main)
    assert checkout.lengthened(main[:12]) is None, "a ref has this name"
    assert checkout.lengthened(main[:13]) == main
    assert checkout.tag("main") == checkout.tag("refs/tags/main") == other
    assert checkout.is_a_branch_there("main", "origin")
    assert checkout.is_a_branch_there("refs/tags/main", "origin") is False
    assert checkout.default_branch_there() == "main"


def test_no_object_stands_for_another_one(repository: Path) -> None:
    main, feature = git(repository, "rev-parse", "main"), git(repository, "rev-parse", "feature")
    git(repository, "replace", main, feature)

    with Checkout(repository).files_of(main) as folder:
        assert sorted(path.name for path in folder.iterdir()) == ["one", "two"]


def test_a_sparse_checkout_leaves_nothing_out_of_another_commit(repository: Path) -> None:
    (repository / "tests").mkdir()
    (repository / "tests" / "a.yml").write_text("a")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "tests")
    git(repository, "sparse-checkout", "set", "--no-cone", "/one")
    assert not (repository / "tests").exists()

    with Checkout(repository).files_of(git(repository, "rev-parse", "HEAD")) as folder:
        assert (folder / "tests" / "a.yml").exists()


def test_in_a_short_history_only_a_certain_merge_base_counts(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A change that merges an old state of its base: with a short history, git sees only that one."""
    old = git(repository, "rev-parse", "main~1")
    git(repository, "checkout", "-q", "main")
    for number in range(3):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"main {number}")
    git(repository, "checkout", "-q", "-b", "change")
    for number in range(6):
        git(repository, "commit", "-q", "--allow-empty", "-m", f"change {number}")
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    merged = git(repository, "commit-tree", tree, "-p", "change", "-p", old, "-m", "old")
    git(repository, "branch", "-f", "merged", merged)
    clone = tmp_path_factory.mktemp("clone") / "clone"
    git(repository.parent, "clone", "-q", "--depth=5", "--no-single-branch", f"file://{repository}", str(clone))
    checkout = Checkout(clone)
    main = checkout.remote_branch("main")
    assert main is not None

    assert git(clone, "merge-base", main, merged) == old, "what git says"
    assert checkout.merge_base(main, merged) is None
    assert Checkout(repository).merge_base(main, merged) == main


def test_changes_of_a_folder_are_seen(repository: Path) -> None:
    checkout = Checkout(repository)
    (repository / "bots").mkdir()
    assert not checkout.is_changed(repository)

    (repository / "one").write_text("changed")

    assert checkout.is_changed(repository)
    assert not checkout.is_changed(repository / "bots")


def test_another_commits_files_come_into_a_folder_and_go_again(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\ntouch ran-a-hook\n")
    hook.chmod(0o755)
    checkout = Checkout(repository)

    before = everything_below(repository / ".git")
    with checkout.files_of(git(repository, "rev-parse", "main~1")) as folder:
        names = sorted(path.name for path in folder.iterdir())
        assert everything_below(repository / ".git") == before

    assert names == ["one"]
    assert not folder.exists()
    assert everything_below(repository / ".git") == before
    assert not (repository / "ran-a-hook").exists()


def everything_below(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time."""
    found = {path: path.stat() for path in folder.rglob("*")}
    return {str(path): (one.st_size, one.st_mtime_ns) for path, one in found.items()}


def test_files_come_as_they_were_committed_whatever_attributes_and_settings_say(repository: Path) -> None:
    git(repository, "checkout", "-q", "main")
    (repository / ".gitattributes").write_text("one export-ignore\n*.sh text eol=crlf\ntwo export-subst\n")
    (repository / "run.sh").write_bytes(b"a\nb\n")
    (repository / "two").write_text("$Format:%H$")
    (repository / "link").symlink_to("one")
    (repository / "b\u00f6t").mkdir()
    (repository / "b\u00f6t" / "a b.yml").write_text("x")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "odd")
    git(repository, "config", "core.splitIndex", "true")
    git(repository, "config", "submodule.recurse", "true")
    git(repository, "update-index", "--add", "--cacheinfo", "160000," + "1" * 40 + ",module")
    git(repository, "commit", "-q", "-m", "a submodule")
    before = everything_below(repository / ".git")

    with Checkout(repository).files_of("main") as folder:
        assert (folder / "one").read_text() == "one"
        assert (folder / "two").read_text() == "$Format:%H$"
        assert (folder / "run.sh").read_bytes() == b"a\r\nb\r\n"
        assert (folder / "link").is_symlink()
        assert (folder / "b\u00f6t" / "a b.yml").read_text() == "x"
        assert not any((folder / "module").iterdir())
    assert everything_below(repository / ".git") == before


def test_looking_at_the_repository_changes_nothing_in_it(repository: Path) -> None:
    checkout = Checkout(repository)
    (repository / "one").write_text("one")  # the same content at another time: git would note that in its index
    before = everything_below(repository / ".git")

    assert not checkout.is_changed(repository)
    assert everything_below(repository / ".git") == before


def test_a_linked_worktree_has_its_base_too(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("linked") / "tree"
    git(repository, "worktree", "add", "-q", "--detach", str(other), "main")

    with Checkout(other).files_of(git(other, "rev-parse", "main~1")) as folder:
        assert [path.name for path in folder.iterdir()] == ["one"]


def test_a_commit_that_is_not_here_is_an_error(repository: Path) -> None:
    with pytest.raises(GitError), Checkout(repository).files_of("0" * 40):
        pass


@pytest.mark.slow
def test_a_git_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    from turncheck.cli import run_command_line

    pizzeria = Path(__file__).parents[3] / "examples" / "pizzeria"
    words = ["run", str(pizzeria), "--evaluations", "validate,core", "--out", str(tmp_path / "out")]
    monkeypatch.setenv("PATH", str(tmp_path))

    assert run_command_line([*words, "--base", "HEAD~1"]) == 2
    golden(capsys.readouterr().err)
    assert run_command_line(words) == 0
    golden(capsys.readouterr().out, only="installed")


@pytest.mark.parametrize(
    ("url", "goes_on"),
    [
        ("../suite.git", True),
        ("https://git.example/other/suite.git", True),
        ("https://elsewhere.example/acme/suite.git", False),
        (r"https://elsewhere.example\@git.example/acme/suite.git", False),
        ("http://git.example/acme/suite.git", False),
    ],
)
def test_a_token_for_every_server_goes_to_no_other_one(
    url: str, goes_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some hosts write the token of a job as a header that git sends wherever it fetches from."""
    asked: list[Mapping[str, object]] = []

    def fetch(_: Checkout, url: str, commit: str, connection: Mapping[str, object]) -> None:
        asked.append(connection)
        raise GitError(f"{url} has no {commit}")

    monkeypatch.setattr(Checkout, "fetch", fetch)
    (tmp_path / ".gitmodules").write_text(f'[submodule "suite"]\n\tpath = suite\n\turl = {url}\n', encoding="utf-8")
    header = {"http.extraheader": ["Authorization: s3cret"]}
    scoped = {"http.https://git.example/.extraheader": ["Authorization: s3cret"]}
    source = "https://job:s3cret@git.example/acme/bots.git", {**header, **scoped}

    written_submodules({"suite": "1" * 40}, tmp_path, None, source)

    assert asked == [{**(header if goes_on else {}), **scoped}]


@pytest.mark.parametrize(
    ("url", "settings"),
    [
        ("https://job:s3cret@127.0.0.1:1/x.git", {}),
        ("https://s3cret@127.0.0.1:1/x.git", {}),
        ("https://job:s3/cret@127.0.0.1:1/x.git", {}),
        ("https://job:s3#c@s3cret@127.0.0.1:1/x.git", {}),
        ("https://127.0.0.1:1/x.git?private_token=s3cret", {}),
        ("https//job:s3 cret@127.0.0.1/x", {}),
        ("git://job:s3cret@127.0.0.1:1/x", {}),
        ("none://job:s3cret@127.0.0.1/x", {}),
        ("https://git.example/x.git", {"url.https://job:s3/cret@127.0.0.1:1/.insteadOf": "https://git.example/"}),
        ("https://git.example/x.git", {"http.proxy": "http://job:s3cret@127.0.0.1:1"}),
        ("https://git.example/x.git", {"http.proxy": "none://job:s3/cret@127.0.0.1:1"}),
        ("https://127.0.0.1:1/x.git", {"http.extraheader": "Authorization: Basic s3cret"}),
    ],
)
def test_what_git_says_of_a_connection_shows_no_login(
    url: str, settings: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turncheck.ci.git._ONLINE", ())  # nothing here is outside of this machine
    with pytest.raises(GitError) as refused:
        Checkout(tmp_path).fetch(url, "1" * 40, {name: [value] for name, value in settings.items()})

    assert "cret" not in str(refused.value)
