"""Parts of a project that are kept under another name: the message names them, and the key that chooses one."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_project import write_project

from turncheck.commands.init.repository import kept_elsewhere
from turncheck.commands.init.settings_file import settings_text
from turncheck.messages.errors import UserError
from turncheck.project.reader import read_project
from turncheck.run.reading import ensure_something_here, read_tests
from turncheck.run.skipping import in_vain
from turncheck.settings.options import Settings

KEPT = [
    ("domain.yml", "domains/bp.yml", "domain", "domain: domains/bp.yml"),
    ("domain.yml", "domain.yaml", "domain", "domain: domain.yaml"),
    ("domain.yml", "data/domain.yaml", "domain", "domain: data/domain.yaml"),
    ("config.yml", "config.yaml", "config", "config: config.yaml"),
    ("config.yml", "configs/en/spacy.yml", "config", "config: configs/en/spacy.yml"),
    ("data", "chatbot/data", "data", "data: [chatbot/data]"),
    ("data", "training", "data", "data: [training]"),
]


def moved(root: Path, old: str, new: str) -> Path:
    write_project(root)
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    (root / old).rename(root / new)
    return root


@pytest.mark.parametrize(("old", "new", "part", "key"), KEPT)
def test_a_part_under_another_name_is_named_with_its_key(
    tmp_path: Path, old: str, new: str, part: str, key: str
) -> None:
    found = {one.code: one for one in read_project(moved(tmp_path, old, new)).findings}
    assert part == "data" or [name.name for name in found[f"{part}-not-found"].names] == [new]
    assert f"`{key}` in turncheck.yml" in found[f"{part}-not-found"].message


@pytest.mark.parametrize(("old", "new", "part", "key"), KEPT)
def test_init_proposes_the_key(tmp_path: Path, old: str, new: str, part: str, key: str) -> None:
    chosen = kept_elsewhere(moved(tmp_path, old, new))
    assert list(chosen) == [part]
    assert f"\n{key}\n" in settings_text(chosen)


@pytest.mark.parametrize(
    ("files", "key"),
    [
        (("data/domain/a.yml", "data/domain/b.yml"), "domain: data/domain"),
        (("bot/domain/a.yml", "bot/domain/b.yml", "bot/domain/c.yml"), "domain: bot/domain"),
        (("data/domain/a.yml",), "domain: data/domain/a.yml"),
        (("domains/en.yml", "domains/fr.yml"), "domain: domains/en.yml"),
    ],
)
def test_several_files_of_a_folder_named_domain_are_one_domain(
    tmp_path: Path, files: tuple[str, ...], key: str
) -> None:
    write_project(tmp_path)
    text = (tmp_path / "domain.yml").read_text(encoding="utf-8")
    (tmp_path / "domain.yml").unlink()
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    found = {one.code: one for one in read_project(tmp_path).findings}
    assert f"`{key}` in turncheck.yml" in found["domain-not-found"].message


def test_a_file_of_another_tool_is_no_candidate(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "domain.yml").rename(tmp_path / "domain.txt")
    (tmp_path / "docker-compose.yml").write_text("version: '3'\nservices: {}\nactions: {}\n", encoding="utf-8")
    (tmp_path / "tests").mkdir(exist_ok=True)
    (found,) = [one for one in read_project(tmp_path).findings if one.code == "domain-not-found"]
    assert found.names == ()
    assert "docker-compose" not in found.message


def test_a_part_that_is_in_its_place_is_not_looked_for(tmp_path: Path) -> None:
    assert kept_elsewhere(write_project(tmp_path)) == {}


@pytest.mark.parametrize("folder", ["core", "bots/core"])
def test_data_beside_the_project_are_named_with_the_folder_and_keys_that_have_all(tmp_path: Path, folder: str) -> None:
    (tmp_path / ".git").mkdir()
    root = write_project(tmp_path / folder)
    (root / "data").rename(tmp_path / "data")
    said = in_vain(read_project(root))
    above = "/".join([".."] * len(Path(folder).parts))
    assert f"'{above}/data'" in said
    assert f"`config: {folder}/config.yml` and `domain: {folder}/domain.yml`" in said


@pytest.mark.parametrize(("has_data", "is_repository"), [(True, True), (False, False)])
def test_what_is_above_counts_only_without_data_and_in_the_same_repository(
    tmp_path: Path, *, has_data: bool, is_repository: bool
) -> None:
    root = write_project(tmp_path / "core")
    shutil.copytree(root / "data", tmp_path / "data")
    if not has_data:
        shutil.rmtree(root / "data")
    if is_repository:
        (tmp_path / ".git").mkdir()
    assert in_vain(read_project(root)) == ""


def nothing_here(root: Path) -> None:
    settings = Settings(project=str(root))
    ensure_something_here(settings, read_project(root), read_tests(settings))


@pytest.mark.parametrize("files", [(), ("README.md",), ("src/app.py", "data/cities.csv"), ("docker-compose.yml",)])
def test_a_folder_without_an_assistant_is_refused(tmp_path: Path, files: tuple[str, ...]) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a: 1\n", encoding="utf-8")
    with pytest.raises(UserError, match="no assistant"):
        nothing_here(tmp_path)


@pytest.mark.parametrize("name", ["domain.yml", "config.yml", "data/nlu.yml", "domains/x.yml", "tests/test_x.yml"])
def test_any_part_of_one_is_an_assistant(tmp_path: Path, name: str) -> None:
    texts = {"config.yml": "pipeline: []\n", "data/nlu.yml": "nlu: []\n", "tests/test_x.yml": "stories: []\n"}
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(texts.get(name, "intents: [a]\nslots: {}\n"), encoding="utf-8")
    nothing_here(tmp_path)
