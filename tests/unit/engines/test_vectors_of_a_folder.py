"""Sentence vectors of a folder as it comes from the hub: its family, its pooling, what is refused, what is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_texts import Golden
from tiny_bert import LIMIT, WIDTH, write_tiny_bert

from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
from turncheck.messages.errors import UserError

TEXTS = ["hello there", "good morning", "see you later"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny_bert(tmp_path / "tiny-multilingual")


def changed(folder: Path, name: str, **more: Any) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(known | more))


def tensors_of(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file  # of an extra

    return dict(load_file(folder / "model.safetensors"))


def save(folder: Path, tensors: dict[str, Any]) -> None:
    from safetensors.numpy import save_file  # of an extra

    save_file(tensors, folder / "model.safetensors")


def test_a_folder_is_named_with_its_digest(folder: Path) -> None:
    vectors = SentenceVectors.of_folder(str(folder))
    assert vectors.in_words == f"tiny-multilingual, {vectors.digest[:12]}"
    assert np.allclose(np.linalg.norm(vectors.of(TEXTS), axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("kind", ["roberta", "xlm-roberta", "camembert"])
def test_positions_of_roberta_begin_behind_the_padding(folder: Path, kind: str) -> None:
    expected = SentenceVectors.at(folder).of(TEXTS)
    tensors = tensors_of(folder)
    name = "embeddings.position_embeddings.weight"
    tensors[name] = np.vstack([np.full((2, WIDTH), 99, np.float32), tensors[name]])
    tensors["embeddings.token_type_embeddings.weight"] = tensors["embeddings.token_type_embeddings.weight"][:1]
    other = folder.parent / kind
    folder.rename(other)
    save(other, {f"roberta.{name}": tensor for name, tensor in tensors.items()})
    changed(other, "config.json", model_type=kind, pad_token_id=1)
    vectors = SentenceVectors.of_folder(str(other))
    assert np.allclose(vectors.of(TEXTS), expected, atol=1e-6)
    assert vectors.of(["hello " * 50]).shape == (1, WIDTH)  # no longer than there are positions
    assert LIMIT < 50


def test_half_precision_and_the_first_token_are_read(folder: Path) -> None:
    mean = SentenceVectors.at(folder).of(TEXTS)
    other = folder.parent / "half"
    folder.rename(other)
    save(other, {name: tensor.astype(np.float16) for name, tensor in tensors_of(other).items()})
    half = SentenceVectors.of_folder(str(other)).of(TEXTS)
    assert np.allclose(half, mean, atol=0.02)
    first = folder.parent / "first"
    other.rename(first)
    changed(first, "1_Pooling/config.json", pooling_mode_cls_token=True, pooling_mode_mean_tokens=False)
    assert not np.allclose(SentenceVectors.of_folder(str(first)).of(TEXTS), half, atol=0.02)


@pytest.mark.parametrize(
    ("name", "more", "says"),
    [
        ("config.json", {"model_type": "t5"}, "the architecture 't5'"),
        ("config.json", {"model_type": None}, "the architecture None"),
        ("config.json", {"model_type": ["bert"]}, r"the architecture \['bert'\]"),
        ("config.json", {"hidden_act": "relu"}, "the hidden_act 'relu'"),
        ("config.json", {"position_embedding_type": "relative_key"}, "relative_key"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ("1_Pooling/config.json", {"pooling_mode": "max"}, "pooling_mode_max_tokens"),
        ("config.json", {"num_hidden_layers": 9}, "lacks 'encoder.layer.2"),
        ("config.json", {"num_hidden_layers": 1}, "more layers than the 1"),
        ("config.json", {"num_hidden_layers": 0}, "num_hidden_layers"),
        ("config.json", {"num_attention_heads": 0}, "num_attention_heads"),
        ("config.json", {"num_attention_heads": "2"}, "num_attention_heads"),
        ("config.json", {"num_attention_heads": 3}, "do not fit together"),
        ("config.json", {"layer_norm_eps": None}, "layer_norm_eps"),
        ("config.json", {"model_type": "roberta"}, "lacks pad_token_id"),
        ("config.json", {"model_type": "roberta", "pad_token_id": 99}, "no room for a word"),
        ("sentence_bert_config.json", {"max_seq_length": 2}, "no room for a word"),
        ("sentence_bert_config.json", {"max_seq_length": -1}, "max_seq_length"),
    ],
)
def test_what_is_not_known_is_refused_by_name(folder: Path, name: str, more: dict[str, Any], says: str) -> None:
    changed(folder, name, **more)
    with pytest.raises(UserError, match=says):
        SentenceVectors.of_folder(str(folder))


def parts(folder: Path, *kinds: str, by: str = "sentence_transformers.models.") -> None:
    """Write ``modules.json``; the encoder is at the top, each other part in a folder of its number and name."""
    named = [{"path": f"{at}_{kind}" if at else "", "type": f"{by}{kind}"} for at, kind in enumerate(kinds)]
    (folder / "modules.json").write_text(json.dumps(named))


def add_dense(folder: Path, *, inputs: int = WIDTH, outputs: int = 3, **more: Any) -> None:
    """Put a dense layer behind mean pooling."""
    parts(folder, "Transformer", "Pooling", "Dense")
    shape = {"in_features": inputs, "out_features": outputs, "bias": True}
    changed(folder, "2_Dense/config.json", **shape, activation_function="torch.nn.modules.activation.Tanh", **more)
    weights = np.random.default_rng(1).normal(size=(outputs, inputs)).astype(np.float32)
    save(folder / "2_Dense", {"linear.weight": weights, "linear.bias": np.ones(outputs, np.float32)})


def test_a_dense_layer_is_computed(folder: Path) -> None:
    add_dense(folder)
    own, below = SentenceVectors.of_folder(str(folder)).of_levels(TEXTS)
    assert (own.shape, below.shape) == ((len(TEXTS), 3), (len(TEXTS), WIDTH))


def test_the_encoder_is_where_modules_json_says(folder: Path) -> None:
    expected = SentenceVectors.at(folder).of(TEXTS)
    other = folder.parent / "in-a-folder"
    (other / "0_Transformer").parent.mkdir()
    folder.rename(other / "0_Transformer")
    parts(other, "Transformer", "Pooling")
    named = json.loads((other / "modules.json").read_text())
    named[0]["path"] = "0_Transformer"
    (other / "modules.json").write_text(json.dumps(named))
    assert np.allclose(SentenceVectors.of_folder(str(other)).of(TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        (("Transformer", "Pooling", "LSTM"), "a part 'LSTM'"),
        (("Transformer",), "the parts 'Transformer', in this order"),
        (("Pooling", "Transformer"), "the parts 'Pooling, Transformer'"),
        (("Transformer", "Dense", "Pooling"), "the parts 'Transformer, Dense, Pooling'"),
        ((), "the parts ''"),
    ],
)
def test_a_part_that_is_not_computed_is_refused(folder: Path, kinds: tuple[str, ...], says: str) -> None:
    parts(folder, *kinds)
    with pytest.raises(UserError, match=says):
        SentenceVectors.of_folder(str(folder))


def test_a_part_of_the_model_s_own_code_is_refused(folder: Path) -> None:
    parts(folder, "Transformer", "Pooling", by="custom_st.")
    with pytest.raises(UserError, match=r"'custom_st\.Pooling'"):
        SentenceVectors.of_folder(str(folder))


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"activation_function": "torch.nn.modules.activation.ReLU"}, r"the activation 'torch\.nn"),
        ({"activation_function": None}, "the activation None"),
        ({"use_residual": True}, "the use_residual True"),
        ({"module_input_name": "token_embeddings"}, "the module_input_name 'token_embeddings'"),
        ({"out_features": 4}, "the weights of 2_Dense do not fit"),
        ({"in_features": None}, "in_features"),
        ({"module_output_name": ["a"]}, "the module_output_name"),
    ],
)
def test_a_dense_layer_that_is_not_known_is_refused(folder: Path, more: dict[str, Any], says: str) -> None:
    add_dense(folder)
    changed(folder, "2_Dense/config.json", **more)
    with pytest.raises(UserError, match=says):
        SentenceVectors.of_folder(str(folder))


def test_a_dense_layer_that_does_not_fit_or_is_missing_is_refused(folder: Path, golden: Golden) -> None:
    add_dense(folder, inputs=WIDTH + 1)
    with pytest.raises(UserError, match="2_Dense") as refused:
        SentenceVectors.of_folder(str(folder))
    golden(refused.value)
    (folder / "2_Dense/model.safetensors").unlink()
    with pytest.raises(UserError, match=r"2_Dense/model\.safetensors"):
        SentenceVectors.of_folder(str(folder))


@pytest.mark.parametrize(
    ("pooling", "prompts", "says"),
    [
        ({}, {"prompts": {"passage": "p: "}, "default_prompt_name": "query"}, "has no prompt 'query'"),
        ({}, {"default_prompt_name": "query"}, "has no prompt 'query'"),
        ({}, {"default_prompt_name": 7}, "default_prompt_name"),
        (
            {"include_prompt": False},
            {"prompts": {"query": "hello "}, "default_prompt_name": "query"},
            "leaves its prompt out",
        ),
    ],
)
def test_a_prompt_that_cannot_be_put_before_texts_is_refused(
    folder: Path, pooling: dict[str, Any], prompts: dict[str, Any], says: str
) -> None:
    changed(folder, "1_Pooling/config.json", **{"pooling_mode": "mean"} | pooling)
    changed(folder, "config_sentence_transformers.json", **prompts)
    with pytest.raises(UserError, match=says):
        SentenceVectors.of_folder(str(folder))


def test_the_tokenizer_s_own_limit_counts_if_the_model_states_none(folder: Path) -> None:
    (folder / "sentence_bert_config.json").write_text("{}")
    changed(folder, "tokenizer_config.json", model_max_length=5)
    five = SentenceVectors.of_folder(str(folder)).of(["hello there good morning you"])
    other = folder.parent / "without"
    folder.rename(other)
    changed(other, "tokenizer_config.json", model_max_length=10**30)
    vectors = SentenceVectors.of_folder(str(other))
    assert np.allclose(vectors.of(["hello there good"]), five, atol=1e-6)
    assert not np.allclose(vectors.of(["hello there good morning you"]), five, atol=1e-3)


def test_weights_that_are_only_there_as_a_pickle_are_said(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(UserError, match=r"tiny-multilingual holds pytorch_model\.bin, not model\.safetensors"):
        SentenceVectors.of_folder(str(folder))


def test_the_first_names_of_normalizations_are_known(folder: Path) -> None:
    expected = SentenceVectors.at(folder).of(TEXTS)
    old = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    other = folder.parent / "old"
    folder.rename(other)
    named = {
        next((name.replace(new, first) for new, first in old.items() if name.endswith(new)), name): tensor
        for name, tensor in tensors_of(other).items()
    }
    assert "embeddings.LayerNorm.gamma" in named
    save(other, named)
    assert np.allclose(SentenceVectors.of_folder(str(other)).of(TEXTS), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        ("tokenizer.json", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git lfs pull"),
        ("model.safetensors", b"", "model.safetensors"),
        ("config.json", b"[" * 100_000, "config.json"),
        ("config.json", b"null", "config.json"),
        ("tokenizer.json", b"\xff", "tokenizer.json"),
        ("modules.json", b"[{}]", "modules.json"),
    ],
)
def test_a_damaged_file_is_named(folder: Path, name: str, content: bytes, says: str) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=says):
        SentenceVectors.of_folder(str(folder))


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("embeddings.word_embeddings.weight", lambda tensor: tensor[:5], "its tokenizer knows 14 words, its weights 5"),
        ("embeddings.word_embeddings.weight", lambda tensor: tensor * np.nan, "not numbers"),
        ("embeddings.LayerNorm.weight", lambda tensor: tensor[:5], "do not fit together"),
        ("encoder.layer.0.output.dense.weight", lambda tensor: tensor[:, :5], "do not fit together"),
    ],
)
def test_weights_that_do_not_fit_are_refused_before_anything_is_measured(
    folder: Path, name: str, change: Callable[[Any], Any], says: str
) -> None:
    tensors = tensors_of(folder)
    save(folder, tensors | {name: np.ascontiguousarray(change(tensors[name]))})
    with pytest.raises(UserError, match=says):
        SentenceVectors.of_folder(str(folder))


def test_numbers_of_sixteen_bits_are_read(folder: Path) -> None:
    expected = SentenceVectors.at(folder).of(TEXTS)
    header, content = {}, b""
    for name, tensor in tensors_of(folder).items():
        cut = (tensor.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        header[name] = {"dtype": "BF16", "shape": tensor.shape, "data_offsets": [len(content), len(content) + len(cut)]}
        content += cut
    head = json.dumps(header).encode()
    other = folder.parent / "sixteen"
    folder.rename(other)
    (other / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + content)
    assert np.allclose(SentenceVectors.of_folder(str(other)).of(TEXTS), expected, atol=0.05)


def test_the_pooling_is_where_modules_json_says(folder: Path) -> None:
    mean = SentenceVectors.at(folder).of(TEXTS)
    other = folder.parent / "elsewhere"
    folder.rename(other)
    kinds = {"": "Transformer", "2_Pooling": "Pooling"}
    parts = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
    (other / "modules.json").write_text(json.dumps(parts))
    changed(other, "2_Pooling/config.json", pooling_mode="cls")
    assert not np.allclose(SentenceVectors.of_folder(str(other)).of(TEXTS), mean, atol=0.02)


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(UserError, match=missing) as caught:
        SentenceVectors.of_folder(str(folder))
    assert "sentence-transformers" in str(caught.value.hint)


# --- on the command line ---------------------------------------------------------------------------------------------


@pytest.fixture
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/nlu.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello there\n    - good morning\n'
        "- intent: bye\n  examples: |\n    - bye bye\n    - see you\n"
    )
    (tmp_path / "config.yml").write_text(
        "language: de\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: DIETClassifier\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("by_file", [False, True])
def test_a_run_takes_it_and_the_report_names_it(bot: Path, folder: Path, by_file: bool) -> None:
    flags = ["--vectors", str(folder)]
    if by_file:
        shutil.copytree(folder, bot / "models" / folder.name)  # a project's file names none outside of it
        (bot / "turncheck.yml").write_text(f"vectors: models/{folder.name}\n")
        flags = []
    command = ["run", "--folds", "2", "--evaluations", "nlu", "--out", "out", "--baseline", "none"]
    run_command_line([*command, *flags, "--quiet"])
    used = json.loads((bot / "out/report.json").read_text())["engine"]["substitutions"][0]["used"]
    assert f"sentence vectors (tiny-multilingual, {SentenceVectors.of_folder(str(folder)).digest[:12]})" in used


def test_a_model_finds_its_folder_again(
    bot: Path, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["train", "nlu", "--vectors", str(folder), "--fixed-model-name", "m", "--quiet"]) == 0
    assert run_command_line(["parse", "--model", "models/m.tar.gz", "hello there"]) == 0
    write_tiny_bert(folder.parent / "other", seed=3)
    (folder / "model.safetensors").write_bytes((folder.parent / "other/model.safetensors").read_bytes())
    SentenceVectors.of_folder.__globals__["_of_folder"].cache_clear()
    assert run_command_line(["parse", "--model", "models/m.tar.gz", "hello there"]) == 2
    golden(capsys.readouterr().err, only="error")


def test_a_folder_that_is_not_there_is_said(bot: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["train", "nlu", "--vectors", "nowhere"]) == 2
    golden(capsys.readouterr().err)


def test_what_people_have_from_the_hub_is_called_by_the_models_name(tmp_path: Path) -> None:
    cached = tmp_path / "models--some-team--tiny-multilingual" / "snapshots" / ("8d6b95" * 6)
    assert SentenceVectors.of_folder(str(write_tiny_bert(cached))).name == "some-team/tiny-multilingual"
