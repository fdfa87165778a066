"""Models of each architecture, as sentence-transformers saves them, against what it computes with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors

MODELS = Path(__file__).parent / "recorded_sentence_models/models"
TEXTS = json.loads((MODELS / "texts.json").read_text("utf-8"))
NAMES = sorted(path.name for path in MODELS.iterdir() if path.is_dir())


def recorded(folder: Path) -> np.ndarray:
    return np.array(json.loads((folder / "vectors.json").read_text("utf-8")))


@pytest.mark.parametrize("name", NAMES)
def test_vectors_are_those_of_sentence_transformers(name: str) -> None:
    expected = recorded(MODELS / name)
    computed = SentenceVectors.of_folder(str(MODELS / name)).of(TEXTS)
    assert computed.shape == expected.shape
    assert computed == pytest.approx(expected, abs=5e-6)
    assert np.linalg.norm(expected[0] - expected[3]) > 0.01  # or anything would be near it


def test_a_prompt_that_is_not_the_default_is_not_used(tmp_path: Path) -> None:
    folder = shutil.copytree(MODELS / "xlm-roberta-prompt", tmp_path / "model")
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"default_prompt_name": None}))
    vectors = SentenceVectors.of_folder(str(folder))
    assert not np.allclose(vectors.of(TEXTS), recorded(folder), atol=1e-3)
    assert np.allclose(vectors.of([f"query: {text}" for text in TEXTS]), recorded(folder), atol=5e-6)


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sentences = {
        "card": ("Where is my card?", "Wo ist meine Karte?", "¿Dónde está mi tarjeta?", "我的卡在哪里", "my card"),
        "close": ("close the account", "Konto schließen", "cerrar la cuenta", "关闭账户", "I want to close it"),
    }
    blocks = "".join(
        f"- intent: {intent}\n  examples: |\n" + "".join(f"    - {text}\n" for text in texts)
        for intent, texts in sentences.items()
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "data/nlu.yml").write_text(f'version: "3.1"\nnlu:\n{blocks}', "utf-8")
    (tmp_path / "config.yml").write_text(
        "language: de\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: DIETClassifier\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["bert-lowercased", "distilbert-dense"])
def test_levels_of_different_widths_are_learnt_from_and_found_again(
    bot: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ["--vectors", str(MODELS / name)]
    assert run_command_line(["train", "nlu", *named, "--fixed-model-name", "m", "--quiet"]) == 0
    answers = []
    for how in (named, ["--model", "models/m.tar.gz"]):
        capsys.readouterr()
        assert run_command_line(["parse", *how, "--quiet", "--format", "jsonl", "Wo ist die Karte?"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0]["intent"]["name"] == "card"


def test_other_weights_of_the_dense_layer_are_another_model(
    bot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    folder = shutil.copytree(MODELS / "bert-first-dense", tmp_path / "model")
    train = ["train", "nlu", "--vectors", str(folder), "--fixed-model-name", "m", "--quiet"]
    assert run_command_line(train) == 0
    weights = folder / "2_Dense/model.safetensors"
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    SentenceVectors.of_folder.__globals__["_of_folder"].cache_clear()
    assert run_command_line(["parse", "--model", "models/m.tar.gz", "hello"]) == 2
    golden(capsys.readouterr().err)
