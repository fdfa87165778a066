"""Commits and tags that somebody wrote to mislead a release: it stops in words, or does what it always does."""

from __future__ import annotations

import subprocess
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.release import github
from tools.release.__main__ import main
from tools.release.build import build_package
from tools.release.mentions import in_text
from tools.release.place import Place, ReleaseError, run
from tools.release.tags import released, remote_tags

VERSION = "1.0.0"
BUILT = (
    'build-system = {requires = ["hatchling"], build-backend = "hatchling.build"}\n'
    'tool.hatch.build.targets.wheel.packages = ["src/turncheck"]\n'
    f'project = {{name = "turncheck", version = "{VERSION}"}}\n'
)
FILES = {
    "pyproject.toml": BUILT,
    "src/turncheck/__init__.py": f'__version__ = "{VERSION}"\n',
    "src/turncheck/guard.py": "holds = True\n",
    "CHANGELOG.md": f"# Changes\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-01-02\n\n- New.\n",
    "action.yml": "runs:\n  image: Dockerfile\n",
}


def git(folder: Path, *arguments: str) -> None:
    somebody = ["-c", "user.name=m", "-c", "user.email=m@example.org"]
    subprocess.run(["git", *somebody, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def made(tmp_path: Path) -> Callable[..., Place]:
    """Commit files, and links, and clone them to where a release looks."""

    def make(files: dict[str, str] | None = None, links: dict[str, str] | None = None) -> Place:
        source = tmp_path / "source"
        for name, text in {**FILES, **(files or {})}.items():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_text(text, "utf-8")
        for name, target in (links or {}).items():
            (source / name).unlink(missing_ok=True)
            (source / name).symlink_to(target)
        git(source, "init", "-q", "-b", "main")
        git(source, "add", "-A", "--force")
        git(source, "commit", "-q", "-m", "files")
        git(tmp_path, "clone", "-q", "--bare", "source", "origin.git")
        git(source, "remote", "add", "origin", str(tmp_path / "origin.git"))
        places = dict.fromkeys(("image", "upload", "index"), "")
        return Place(source, tmp_path / "dist", "origin", "main", "acme/bots", api="http://127.0.0.1:1", **places)

    return make


def step(place: Place, *words: str) -> int:
    return main([*words, "--source", str(place.source), "--dist", str(place.dist), "--api", place.api])


def test_a_tag_called_main_is_not_the_branch(made: Callable[..., Place]) -> None:
    place = made()
    assert step(place, "check") == 0
    git(place.source, "commit", "-q", "--allow-empty", "-m", "not on main")
    git(place.source, "push", "-q", "origin", "HEAD:refs/tags/main")

    assert step(place, "check") == 1


@pytest.mark.parametrize("tag", ["a\u2028b", "a\x85b", "v9.9.9\u2028v9.9.9", "v1.0.\uff19", f"v1.{'9' * 150}.0"])
def test_a_tag_with_an_odd_name_is_none_of_a_release(made: Callable[..., Place], tag: str) -> None:
    place = made({"CHANGELOG.md": FILES["CHANGELOG.md"].replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n")})
    for folder in (place.source, place.source.parent / "origin.git"):
        git(folder, "tag", tag, "main")

    assert list(remote_tags(place)) == [tag]
    assert released(remote_tags(place)) == []
    assert step(place, "prepare", "1.1.0") == 0


@pytest.mark.parametrize("version", ["9" * 5000 + ".0.0", "1\uff12.0.0", "1.0.0\n"])
def test_a_version_of_other_digits_or_of_very_many_is_none(made: Callable[..., Place], version: str) -> None:
    assert step(made(), "prepare", version) == 1


@pytest.mark.parametrize("name", ["docs/a\n--\nb.md", "docs/a\n::error::b.md", "docs/\x1b[31m.md", "docs/\udcff.md"])
@pytest.mark.parametrize("text", ["turncheck==9.9.9", "turncheck==1..2", "turncheck>=1.*"])
def test_a_mention_in_a_file_of_any_name_is_found_and_its_name_gives_no_command(
    made: Callable[..., Place], name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert step(made({name: f"{text}\n"}), "check") == 1
    lines = capsys.readouterr().err.split("\n")
    assert any(line.count(text) == 1 for line in lines)
    assert all(line.startswith("release: check: ") and line.isprintable() for line in lines if line)


@pytest.mark.parametrize(
    "line",
    [
        "a/" * 50_000 + "turncheck",
        "is v" + "1.1" * 30_000,
        "git clone turncheck " * 5_000,
        "repo:" * 20_000,
        "@" * 100_000,
    ],
)
def test_a_line_of_100_kb_is_gone_through_once(line: str) -> None:
    begin = time.process_time()
    list(in_text("page.json", line))
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("files", "links"),
    [
        ({"src/turncheck/.gitattributes": "guard.py export-ignore\n"}, {}),
        ({".gitattributes": "guard.py export-subst\n", "src/turncheck/guard.py": "holds = '$Format:%H$'\n"}, {}),
        ({".gitattributes": "guard.py text eol=crlf\n"}, {}),
        ({".gitignore": "guard.py\n"}, {}),
        ({"pyproject.toml": f'{BUILT}tool.hatch.build.exclude = ["guard.py"]\n'}, {}),
        ({}, {"src/turncheck/more.py": "/etc/passwd"}),
        ({}, {"src/turncheck/more.py": "../../../../etc/passwd"}),
    ],
    ids=["left out", "filled in", "line ends", "ignored", "excluded", "link", "relative link"],
)
def test_a_package_that_is_not_what_was_committed_is_not_built(
    made: Callable[..., Place], files: dict[str, str], links: dict[str, str]
) -> None:
    place = made(files, links)

    with pytest.raises(ReleaseError, match=r"guard\.py|more\.py"):
        build_package(place)
    assert not list(place.dist.glob("*"))


def test_a_module_beside_the_package_does_not_build_it(made: Callable[..., Place]) -> None:
    place = made({"hatchling.py": "raise SystemExit(3)\n"})

    build_package(place)
    (wheel,) = place.dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "turncheck/guard.py" in archive.namelist()


@pytest.mark.parametrize("name", ["CHANGELOG.md", "src/turncheck/__init__.py"])
def test_what_is_prepared_is_written_into_the_checkout_only(
    made: Callable[..., Place], name: str, tmp_path: Path
) -> None:
    text = FILES[name].replace("[Unreleased]\n", "[Unreleased]\n\n- More.\n")
    (tmp_path / "outside").write_text(text)

    assert step(made(links={name: str(tmp_path / "outside")}), "prepare", "1.1.0") == 1
    assert (tmp_path / "outside").read_text() == text


@pytest.mark.parametrize("login", ["somebody:s3cret", "s3cret", "somebody:s3/cr@et"])
def test_what_git_says_shows_no_login(login: str) -> None:
    with pytest.raises(ReleaseError) as refused:
        run(["git", "ls-remote", f"https://{login}@127.0.0.1:1/x.git"])
    assert "cret" not in str(refused.value)


def test_a_draft_that_somebody_began_says_what_the_changelog_says(
    made: Callable[..., Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = made()
    sent: list[tuple[str, Any]] = []

    def ask(_: Place, method: str, __: str, **given: Any) -> Any:
        sent.append((method, given.get("json")))
        draft = {"id": 1, "tag_name": place.tag, "draft": True, "body": "theirs", "prerelease": True, "upload_url": "u"}
        return [draft] if method == "GET" else draft

    monkeypatch.setattr(github, "_ask", ask)
    monkeypatch.setattr(github, "_upload", lambda *_: None)
    monkeypatch.setattr(github, "ensure_same", lambda *_, **__: None)

    assert github.ensure_release(place)
    assert sent[-1][0] == "PATCH"
    assert {name: sent[-1][1][name] for name in ("body", "draft", "prerelease")} == {
        "body": "- New.",
        "draft": False,
        "prerelease": False,
    }
