"""Projects of Rasa Core and NLU 0.x: their configurations lay in files of any name, one for each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.project.reader import read_project
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

DOMAIN = "intents: [greet]\nactions: [utter_hi]\ntemplates:\n  utter_hi:\n  - text: hi\n"
POLICIES = "policies:\n- name: MemoizationPolicy\n  max_history: 3\n"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.md").write_text("## intent:greet\n- hi\n- hello\n", encoding="utf-8")
    (tmp_path / "data" / "stories.md").write_text("## a\n* greet\n  - utter_hi\n", encoding="utf-8")
    (tmp_path / "domain.yml").write_text(DOMAIN, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("nlu_config.yml", "language: de\npipeline: tensorflow_embedding\n"),
        ("nlu_tensorflow.yml", "language: de\npipeline:\n- name: tokenizer_whitespace\n"),
        ("nlu_model_config.json", '{\n  "language": "de",\n  "pipeline": "spacy_sklearn"\n}\n'),
    ],
)
def test_pipeline_and_policies_come_from_a_file_each(name: str, written: str, older: Path) -> None:
    (older / name).write_text(written, encoding="utf-8")
    (older / "core_config.yml").write_text(POLICIES, encoding="utf-8")
    project = read_project(older)
    assert project.rasa is not None
    assert project.rasa.major == 0
    assert project.config.language == "de"
    assert project.config.pipeline
    assert [one.name for one in project.config.policies or ()] == ["MemoizationPolicy"]
    assert not {"config-not-found", "component-unknown"} & {one.code for one in validate(project).findings}


@pytest.mark.parametrize("data", [None, "/data/nlu.md"])
def test_the_configuration_is_known_without_a_domain_and_data(data: str | None, tmp_path: Path) -> None:
    written = {"pipeline": "spacy_sklearn", **({"data": data} if data else {})}
    (tmp_path / "config_spacy.json").write_text(json.dumps(written), encoding="utf-8")
    project = read_project(tmp_path)
    assert project.config.pipeline
    assert "config-not-found" not in {one.code for one in project.findings}


def test_a_pipeline_of_mitie_is_known(older: Path) -> None:
    (older / "config.json").write_text('{"pipeline": "mitie_sklearn"}', encoding="utf-8")
    project = read_project(older)
    assert [one.name for one in project.config.pipeline or ()][-1] == "SklearnIntentClassifier"


@pytest.mark.parametrize(
    ("keys", "pipeline", "name", "parameters"),
    [
        (
            {"duckling_dimensions": ["time"], "duckling_http_url": "http://localhost:8000"},
            *(["ner_duckling_http"], "DucklingEntityExtractor"),
            {"dimensions": ["time"], "url": "http://localhost:8000"},
        ),
        (
            {"duckling_dimensions": ["time"], "duckling_http_url": None},
            *([{"name": "ner_duckling_http", "dimensions": ["number"]}], "DucklingEntityExtractor"),
            {"dimensions": ["number"]},
        ),
        ({"spacy_model_name": "de_core"}, "spacy_sklearn", "SpacyNLP", {"model": "de_core"}),
        ({"mitie_file": "data/m.dat"}, "mitie", "MitieNLP", {"model": "data/m.dat"}),
        ({"max_number_of_ngrams": 3}, ["intent_featurizer_ngrams"], "NGramFeaturizer", {"max_number_of_ngrams": 3}),
    ],
)
def test_parameters_beside_the_pipeline_are_those_of_their_components(
    keys: dict[str, object], pipeline: object, name: str, parameters: dict[str, object], older: Path
) -> None:
    (older / "nlu_config.json").write_text(json.dumps({"pipeline": pipeline, **keys}), encoding="utf-8")
    project = read_project(older)
    assert project.major == 0
    assert {one.name: one.parameters for one in project.config.pipeline or ()}[name] == parameters


def data_of(project: Project) -> set[str]:
    return {example.location.path for example in project.nlu.examples}


@pytest.mark.parametrize("name", ["config.yml", "config.json", "nlu_tensorflow.json"])
@pytest.mark.parametrize("where", ["more/train.md", "./more", "more/../more/train.md"])
def test_the_configuration_names_the_training_data(name: str, where: str, older: Path) -> None:
    (older / "more").mkdir()
    (older / "more" / "train.md").write_text("## intent:bye\n- bye\n", encoding="utf-8")
    (older / name).write_text(json.dumps({"pipeline": "tensorflow_embedding", "data": where}), encoding="utf-8")
    assert data_of(read_project(older)) == {"more/train.md"}
    assert data_of(read_project(older, data=[older / "data"])) == {"data/nlu.md"}


@pytest.mark.parametrize("where", ["../other", "/etc", "link"])
def test_data_outside_the_project_are_not_read(
    where: str, older: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (older / "link").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    (older / "config.yml").write_text(json.dumps({"pipeline": "mitie", "data": where}), encoding="utf-8")
    project = read_project(older)
    assert not project.nlu.examples
    assert [(one.severity, str(one.location)) for one in project.findings if one.code == "file-outside-project"] == [
        ("error", "config.yml:1:31")
    ]


@pytest.mark.parametrize("pipeline", ["supervised_embeddings", [{"name": "WhitespaceTokenizer"}]])
def test_later_versions_have_no_such_key(pipeline: object, older: Path) -> None:
    (older / "config.yml").write_text(json.dumps({"pipeline": pipeline, "data": "more"}), encoding="utf-8")
    assert data_of(read_project(older)) == {"data/nlu.md"}


def test_rasa_1_ignores_parameters_beside_the_pipeline(older: Path) -> None:
    written = (
        "policies: [{name: KerasPolicy}]\npipeline: [{name: DucklingHTTPExtractor}]\nduckling_http_url: http://a\n"
    )
    (older / "config.yml").write_text(written, encoding="utf-8")
    project = read_project(older)
    assert project.major == 1
    assert [one.parameters for one in project.config.pipeline or ()] == [{}]


def test_a_project_of_rasa_1_without_configuration_takes_no_other(older: Path) -> None:
    (older / "config_b.yml").write_text(f"pipeline: supervised_embeddings\n{POLICIES}", encoding="utf-8")
    project = read_project(older)
    assert project.rasa is not None
    assert project.rasa.major == 1
    assert project.config.pipeline is None
    assert "config-not-found" in {one.code for one in project.findings}


def test_the_configuration_is_converted_from_both(older: Path, tmp_path: Path) -> None:
    (older / "nlu_config.yml").write_text("language: de\npipeline: tensorflow_embedding\n", encoding="utf-8")
    (older / "policies.yml").write_text(POLICIES, encoding="utf-8")
    out = tmp_path / "new"
    assert run_command_line(["data", "convert", "config", "--project", str(older), "--out", str(out)]) == 0
    written = (out / "config.yml").read_text(encoding="utf-8")
    assert "DIETClassifier" in written
    assert "MemoizationPolicy" in written


@pytest.mark.parametrize("module", ["rasa_core.slots", "rasa.core.slots", "rasa.shared.core.slots"])
def test_types_of_slots_may_be_paths_of_rasas_own_classes(module: str, older: Path, golden: Golden) -> None:
    kinds = {"Text": "text", "Boolean": "bool", "Unfeaturized": "any", "List": "list", "Float": "float"}
    slots = "".join(f"  {name}:\n    type: {module}.{name}Slot\n" for name in kinds)
    (older / "domain.yml").write_text(f"{DOMAIN}slots:\n{slots}  own:\n    type: my.slots.OwnSlot\n", encoding="utf-8")
    project = read_project(older)
    assert {name: slot.type for name, slot in project.domain.slots.items()} == {**kinds, "own": "my.slots.OwnSlot"}
    assert project.rasa is not None
    golden(*(sign.what for sign in project.rasa.signs), only="'unfeaturized'")
    assert "slot-type-unknown" not in {one.code for one in validate(project).findings}
