"""A very small BERT with weights by chance, saved as sentence-transformers saves a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

WORDS = ("hello", "there", "good", "morning", "see", "you", "bye", "late", "##r", "!")
LIMIT = 7
WIDTH, HEADS, LAYERS, INNER = 8, 2, 2, 12
EPSILON = 1e-3


def write_tiny_bert(folder: Path, *, seed: int = 0) -> Path:
    """Write its files into ``folder`` and return it."""
    from safetensors.numpy import save_file  # of an extra
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    folder.mkdir(parents=True)
    vocabulary = {word: number for number, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_padding(length=16)  # as the real one is saved: it must not be obeyed
    tokenizer.save(str(folder / "tokenizer.json"))
    shape = {
        "model_type": "bert",
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "layer_norm_eps": EPSILON,
    }
    (folder / "config.json").write_text(json.dumps(shape), encoding="utf-8")
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": LIMIT}), encoding="utf-8")
    save_file(_tensors(len(vocabulary), np.random.default_rng(seed)), folder / "model.safetensors")
    return folder


def _tensors(words: int, random: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {
        "embeddings.word_embeddings.weight": (words, WIDTH),
        "embeddings.position_embeddings.weight": (LIMIT, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        "embeddings.LayerNorm.weight": (WIDTH,),
        "embeddings.LayerNorm.bias": (WIDTH,),
    }
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        for name, outputs, inputs in (
            ("attention.self.query", WIDTH, WIDTH),
            ("attention.self.key", WIDTH, WIDTH),
            ("attention.self.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("intermediate.dense", INNER, WIDTH),
            ("output.dense", WIDTH, INNER),
        ):
            shapes |= {f"{layer}.{name}.weight": (outputs, inputs), f"{layer}.{name}.bias": (outputs,)}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{layer}.{name}.weight": (WIDTH,), f"{layer}.{name}.bias": (WIDTH,)}
    return {name: random.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
