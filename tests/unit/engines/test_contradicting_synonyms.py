"""One text with two values: the last one is its synonym, as in Rasa 1.10, wherever the data go."""

from __future__ import annotations

from pathlib import Path

import pytest

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.steps import EntitySynonymMapper
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import EXIT_OK
from turncheck.project.reader import read_nlu, read_project

DATA = {
    "two forms": ('- [x](y:z)[x]{{"entity": "y", "value": "zz"}}\n', "zz"),
    "the other way round": ('- [x]{{"entity": "y", "value": "zz"}}[x](y:z)\n', "z"),
    "two words": ('- [x](y:z) and [x]{{"entity": "y", "value": "a"}}\n', "a"),
    "the first again": ("- [x](y:z)\n- one [x](y:a)\n- two [x](y:z)\n", "z"),
    "a value that is the text": ("- [x](y:z) or [x](y:x)\n", "z"),
    "two intents": ("- [x](y:z)\n\n## intent:c\n- [x](y:a) please\n- it is [x](y)\n", "a"),
    "a section": ("- [x](y:z)\n\n## synonym:a\n- x\n", "z"),
}


@pytest.fixture(params=list(DATA.values()), ids=list(DATA))
def project(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    written, last = request.param
    files = {
        "config.yml": "language: en\npipeline: supervised_embeddings\npolicies:\n- name: MemoizationPolicy\n",
        "domain.yml": "intents: [a, b, c]\nentities: [y]\n",
        "data/nlu.md": f"## intent:b\n- hello\n- hi\n\n## intent:a\n{written.format()}- foo [x](y) bar\n- bar [q](y)\n",
    }
    if "## synonym" in written:
        section = written.partition("## synonym")[2]
        rest = written.partition("## synonym")[0]
        files["data/nlu.md"] = f"## intent:b\n- hello\n- hi\n\n## intent:a\n{rest}\n## synonym{section}"
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path, last


def meant(folder: Path) -> object:
    """What the trained assistant makes of the text."""
    components = [component for _, component in EmbeddedNluTrainer().fit(read_project(folder)).components]
    mapper = next(component for component in components if isinstance(component, EntitySynonymMapper))
    return mapper.synonyms["x"]


def test_the_last_value_counts(project: tuple[Path, str]) -> None:
    folder, last = project
    assert meant(folder) == last


def test_the_last_value_counts_in_what_is_written(project: tuple[Path, str], tmp_path: Path) -> None:
    folder, last = project
    assert run_command_line(["data", "convert", "nlu", "--out", "converted"]) == EXIT_OK
    converted, _ = read_nlu([tmp_path / "converted"], folder)
    pairs = {one.synonym: one.value for one in converted.synonyms}
    pairs |= {
        example.text[entity.start : entity.end]: entity.value
        for example in converted.examples
        for entity in example.entities
        if example.text[entity.start : entity.end] != entity.value
    }
    assert pairs["x"] == last
    split = ["data", "split", "nlu", "--out", "halves", "--random-seed", "1", "--training-fraction", "0.5"]
    assert run_command_line(split) == EXIT_OK
    for name in ("training_data", "test_data"):
        half, _ = read_nlu([*(tmp_path / "halves").glob(f"{name}.*")], folder)
        blocks = [one for one in half.synonyms if one.synonym == "x"]
        assert blocks[-1].value == _last_of_training(folder), name


def _last_of_training(folder: Path) -> str:
    """What the blocks of a split say, which follow all sentences."""
    return str(read_project(folder).nlu.synonyms[-1].value)
