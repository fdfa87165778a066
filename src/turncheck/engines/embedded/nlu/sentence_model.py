"""The folder of a sentence-transformers model → tokenizer and encoder: the BERT family; none of its code is run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from turncheck.engines.embedded.nlu.bert import BertEncoder
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

_OF_BERT: Final = frozenset({"bert"})
_OF_ROBERTA: Final = frozenset({"roberta", "xlm-roberta", "camembert"})
"""Their positions are counted from behind the padding's number."""
_WORDS: Final = "embeddings.word_embeddings.weight"
_MODULES: Final = frozenset({"Transformer", "Pooling", "Normalize"})
_LONGEST: Final = 512
_OTHER: Final = "Take a model of the BERT family (bert, roberta, xlm-roberta, camembert), all-MiniLM-L6-v2 say."


def read_sentence_model(folder: Path, remedy: str) -> tuple[Any, BertEncoder]:
    """Read tokenizer and encoder.

    Raises:
        UserError: a file cannot be read (``remedy`` says what to do), or the model is of another architecture.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    try:
        shape = json.loads((folder / "config.json").read_text("utf-8"))
        first_position = _first_position(folder, shape)
        of_first_token = _is_of_first_token(folder)
        described = (folder / "tokenizer.json").read_text("utf-8")
        named = load_file(folder / "model.safetensors")
        prefix = next((name.removesuffix(_WORDS) for name in named if name.endswith(_WORDS)), "")
        encoder = BertEncoder.of(
            {name.removeprefix(prefix): tensor.astype(np.float32, copy=False) for name, tensor in named.items()},
            layers=shape["num_hidden_layers"],
            heads=shape["num_attention_heads"],
            epsilon=shape["layer_norm_eps"],
            first_position=first_position,
            of_first_token=of_first_token,
        )
        limit = _longest(folder, len(encoder.positions))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, SafetensorError) as error:
        raise unreadable(folder, error, remedy) from None
    try:
        tokenizer = Tokenizer.from_str(described)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise unreadable(folder, error, remedy) from None
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    return tokenizer, encoder


def unreadable(folder: Path, error: Exception, remedy: str) -> UserError:
    """Say that a model cannot be read."""
    return UserError(f"the model of sentence vectors at {folder} cannot be read: {error}", remedy=remedy)


def _first_position(folder: Path, shape: dict[str, Any]) -> int:
    """Return the number of the first token's position, and refuse what the encoder does not compute."""
    kind = str(shape["model_type"])
    if kind not in _OF_BERT | _OF_ROBERTA:
        raise UserError(f"the model at {folder} has the architecture {kind!r}, which is not known here", remedy=_OTHER)
    for name, known in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
        if shape.get(name, known) != known:
            raise UserError(f"the model at {folder} has the {name} {shape[name]!r}; known is {known!r}", remedy=_OTHER)
    return int(shape["pad_token_id"]) + 1 if kind in _OF_ROBERTA else 0


def _is_of_first_token(folder: Path) -> bool:
    """Read how the tokens' vectors become the sentence's: by their mean where nothing is said."""
    if (folder / "modules.json").is_file():
        parts = json.loads((folder / "modules.json").read_text("utf-8"))
        kinds = {str(part["type"]).rpartition(".")[2] for part in parts}
        if others := sorted(kinds - _MODULES):
            raise UserError(f"the model at {folder} has a part {others[0]!r}, which is not known here", remedy=_OTHER)
    if not (folder / "1_Pooling" / "config.json").is_file():
        return False
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text("utf-8"))
    modes = sorted(name for name, value in pooling.items() if name.startswith("pooling_mode_") and value is True)
    if modes not in (["pooling_mode_mean_tokens"], ["pooling_mode_cls_token"]):
        words = ", ".join(modes) or "none"
        raise UserError(
            f"the model at {folder} pools by {words}; known are the mean and the first token", remedy=_OTHER
        )
    return modes == ["pooling_mode_cls_token"]


def _longest(folder: Path, positions: int) -> int:
    path = folder / "sentence_bert_config.json"
    stated = json.loads(path.read_text("utf-8")).get("max_seq_length") if path.is_file() else None
    return min(int(stated or _LONGEST), positions)
