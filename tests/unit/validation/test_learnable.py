"""What a pipeline can learn: the same whether it is Rasa's default one or the same one written out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from small_project import read

from turncheck.validation.learnable import learnable

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

DEFAULT = "\n".join(
    f"- name: {name}"
    for name in ("WhitespaceTokenizer", "CountVectorsFeaturizer", "DIETClassifier", "ResponseSelector")
)


def with_config(folder: Path, text: str) -> Project:
    return read(folder, **{"config.yml": text})


def test_a_project_without_a_pipeline_learns_what_the_default_one_does(tmp_path: Path) -> None:
    head = "recipe: default.v1\nlanguage: en\npolicies:\n- name: RulePolicy\n"
    written = learnable(with_config(tmp_path / "written", f"{head}pipeline:\n{DEFAULT}\n"))
    assert written is not None
    assert "greet" in written.intents
    assert not written.holds("an intent without examples")

    assert learnable(with_config(tmp_path / "empty", f"{head}pipeline: null\n")) == written
    assert learnable(with_config(tmp_path / "absent", head)) == written


def test_without_a_configuration_it_is_not_known(tmp_path: Path) -> None:
    project = with_config(tmp_path, "")

    assert learnable(project) is None
