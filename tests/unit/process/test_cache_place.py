"""Where the cache may be: nowhere that the change which is measured could have written to."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from golden_texts import Golden

from turncheck.ci.hosts import find_host
from turncheck.messages.errors import UserError
from turncheck.process.cache import Cache
from turncheck.process.screen import Console
from turncheck.run.folders import cache_of, cache_of_command
from turncheck.settings.options import Settings

PATH = {"PATH": os.environ["PATH"]}


def git(*words: str, folder: Path) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with an assistant in ``bot``, and an entry that the change has brought in ``.cache``."""
    top = tmp_path / "checkout"
    (top / "bot").mkdir(parents=True)
    (top / "bot" / "domain.yml").write_text("intents: []\n")
    (top / ".cache" / "turncheck" / "ab").mkdir(parents=True)
    (top / ".cache" / "turncheck" / "ab" / "ab12.entry").write_text("results of its own")
    git("init", "-q", folder=top)
    git("add", "-A", folder=top)
    return top


def cache(top: Path, variables: Mapping[str, str], folder: str | None = None) -> Cache | None:
    settings = Settings(cache_folder=folder)
    return cache_of(settings, find_host({}, None), top / "bot", {**PATH, **variables})


@pytest.mark.parametrize(
    "variables", [{"XDG_CACHE_HOME": "{}/.cache"}, {"HOME": "{}"}, {"XDG_CACHE_HOME": "{}/./.cache/"}]
)
def test_the_default_place_is_checked(repository: Path, variables: dict[str, str], golden: Golden) -> None:
    given = {name: value.format(repository) for name, value in variables.items()}

    with pytest.raises(UserError) as refused:
        cache(repository, given)
    golden(refused.value)
    git("rm", "-rq", "--cached", ".cache", folder=repository)
    found = cache(repository, given)
    assert found is not None
    assert found.folder.resolve() == repository / ".cache" / "turncheck"


def by_a_link(top: Path, outside: Path) -> Path:
    """A link of the change, which leads out of the repository."""
    (top / "kept").symlink_to(outside)
    git("add", "-A", folder=top)
    return top / "kept" / "cache"


def by_a_link_outside(top: Path, outside: Path) -> Path:
    """A link of somebody else, which leads to files of the change."""
    (outside / "cache").symlink_to(top / ".cache")
    return outside / "cache"


def by_two_links(top: Path, outside: Path) -> Path:
    (top / "first").symlink_to("second/..")
    (top / "second").symlink_to(outside)
    git("add", "-A", folder=top)
    return top / "first" / outside.name / "cache"


def in_a_submodule(top: Path, outside: Path) -> Path:
    (outside / "other").mkdir()
    (outside / "other" / "entry").write_text("x")
    git("init", "-q", folder=outside / "other")
    git("add", "-A", folder=outside / "other")
    git("commit", "-qm", "x", folder=outside / "other")
    git("submodule", "add", "-q", str(outside / "other"), "sub", folder=top)
    return top / "sub"


def by_a_link_into_a_submodule(top: Path, outside: Path) -> Path:
    in_a_submodule(top, outside)
    (top / "kept").symlink_to("sub")
    git("add", "-A", folder=top)
    return top / "kept"


def in_a_submodule_without_git(top: Path, outside: Path) -> Path:
    (in_a_submodule(top, outside) / ".git").unlink()
    return top / "sub" / "cache"


@pytest.mark.parametrize(
    "way",
    [
        by_a_link,
        by_a_link_outside,
        by_two_links,
        in_a_submodule,
        by_a_link_into_a_submodule,
        in_a_submodule_without_git,
    ],
)
def test_every_link_and_every_submodule_on_the_way_is_checked(
    repository: Path, tmp_path: Path, way: Callable[[Path, Path], Path], golden: Golden
) -> None:
    (tmp_path / "outside").mkdir()
    folder = way(repository, tmp_path / "outside")

    with pytest.raises(UserError) as refused:
        cache(repository, {}, str(folder))
    golden(refused.value)
    with pytest.raises(UserError) as refused:
        cache(repository, {"XDG_CACHE_HOME": str(folder)})
    golden(refused.value)


def test_links_in_a_circle_are_an_error(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")

    with pytest.raises(UserError, match="circle"):
        cache(repository, {}, str(tmp_path / "one" / "cache"))


@pytest.mark.parametrize("fault", ["missing", "broken"])
def test_a_git_that_cannot_say_refuses(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, golden: Golden
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    if fault == "broken":
        (programs / "git").write_text("#!/bin/sh\necho 'fatal: no' >&2\nexit 128\n")
        (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/bin" if fault == "broken" else str(programs))

    with pytest.raises(UserError) as refused:
        cache(repository, {"XDG_CACHE_HOME": str(repository / ".cache")})
    golden(refused.value)
    assert cache(repository, {"HOME": str(tmp_path)}) is not None, "outside of the checkout nobody needs to be asked"


def test_a_project_without_a_checkout_has_no_cache_of_its_own(repository: Path, tmp_path: Path, golden: Golden) -> None:
    shutil.rmtree(repository / ".git")
    workspace = {"GITLAB_CI": "true", "CI_PROJECT_ID": "1", "CI_PROJECT_DIR": str(repository), **PATH}
    given = {**workspace, "XDG_CACHE_HOME": str(repository / ".cache")}

    with pytest.raises(UserError) as refused:
        cache(repository, {"HOME": str(repository / "bot")})
    golden(refused.value)
    with pytest.raises(UserError) as refused:
        cache_of(Settings(), find_host(given, None), repository / "bot", given)
    golden(refused.value)
    assert cache(repository, {"HOME": str(tmp_path)}) is not None


def test_the_key_is_a_flag_or_a_variable(repository: Path, tmp_path: Path) -> None:
    found = cache(repository, {"HOME": str(tmp_path), "TURNCHECK_CACHE_KEY": "four words\n"})

    assert found is not None
    assert found.secret is not None
    assert found.secret.reveal() == "four words"
    assert "four" not in repr(found)


@pytest.mark.parametrize("variables", [{"XDG_CACHE_HOME": "{}/.cache"}, {"HOME": "{}"}])
def test_without_a_checkout_the_current_folder_may_be_the_repository(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], golden: Golden
) -> None:
    shutil.rmtree(repository / ".git")
    given = {name: value.format(repository) for name, value in variables.items()}

    monkeypatch.chdir(repository)
    with pytest.raises(UserError) as refused:
        cache(repository, given)
    golden(refused.value)
    assert cache(repository, {"HOME": str(tmp_path / "home")}) is not None
    with pytest.raises(UserError):
        cache(repository, given, str(repository / ".cache"))
    monkeypatch.setattr(pwd, "getpwuid", lambda _: SimpleNamespace(pw_dir=str(repository)))
    assert cache(repository, given) is not None, "this user is at home there"


def test_a_command_goes_without_the_usual_folder_and_refuses_a_named_one(
    repository: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """Nobody asked it to cache anything, so that it does what it was asked for."""
    folder = repository / ".cache"
    variables = {**PATH, "XDG_CACHE_HOME": str(folder)}
    settings = Settings(project=str(repository / "bot"))
    assert cache_of_command(settings, variables, Console()) is None
    golden(capsys.readouterr().err)
    with pytest.raises(UserError) as refused:
        cache_of_command(replace(settings, cache_folder=str(folder / "turncheck")), variables, Console())
    golden(refused.value)
    assert cache_of_command(replace(settings, cache="off"), variables, Console()) is None
    assert not capsys.readouterr().err
