"""The git checkout a project lies in, with real git."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from turncheck.ci.git import Checkout, GitError, find_checkout


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
    head = checkout.commit()

    assert head == git(repository, "rev-parse", "HEAD")
    assert checkout.parents(head) == (checkout.commit("main"), checkout.commit("feature"))
    assert checkout.merge_base("main", "feature") == git(repository, "rev-parse", "main~1")
    assert checkout.default_branch() == "main"
    assert not checkout.is_shallow()


@pytest.mark.parametrize("name", ["nothing", "--help", "HEAD~9", "0" * 40, "a\0b", "\ud800", "a" * 5000])
def test_what_is_not_there_is_none(repository: Path, name: str) -> None:
    assert Checkout(repository).commit(name) is None


def test_changes_of_a_folder_are_seen(repository: Path) -> None:
    checkout = Checkout(repository)
    (repository / "bots").mkdir()
    assert not checkout.is_changed(repository)

    (repository / "one").write_text("changed")

    assert checkout.is_changed(repository)
    assert not checkout.is_changed(repository / "bots")


def test_another_commits_files_come_into_a_folder_and_go_again(repository: Path) -> None:
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.write_text("#!/bin/sh\ntouch ran-a-hook\n")
    hook.chmod(0o755)
    checkout = Checkout(repository)

    before = everything_below(repository / ".git")
    with checkout.files_of("main~1") as folder:
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

    with Checkout(other).files_of("main~1") as folder:
        assert [path.name for path in folder.iterdir()] == ["one"]


def test_a_commit_that_is_not_here_is_an_error(repository: Path) -> None:
    with pytest.raises(GitError), Checkout(repository).files_of("0" * 40):
        pass
