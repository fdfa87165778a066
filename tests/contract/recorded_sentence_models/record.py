"""Writes small sentence-transformers models with random weights, and what sentence-transformers computes with them.

    python record.py FOLDER

It needs sentence-transformers, which also saves the models. Each has the parts of one that many people use.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found]  # these four are not among ours
import transformers  # type: ignore[import-not-found]
from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]
from sentence_transformers.sentence_transformer import modules  # type: ignore[import-not-found]
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

WIDTH, HEADS, LAYERS, INNER, VOCABULARY = 16, 2, 3, 24, 320

LEARNT = (
    "Wo ist meine Karte? Ich möchte mein Konto schließen und das Geld zurück.",
    "¿Dónde está mi tarjeta? Quiero cerrar la cuenta mañana por la mañana.",
    "Où est ma carte ? Je voudrais fermer le compte, s'il vous plaît.",
    "Where is my card? I want to close the account and get my money back.",
    "我的卡在哪里?我想关闭账户。",
    "บัตรของฉันอยู่ที่ไหน ฉันต้องการปิดบัญชี",
    "أين بطاقتي؟ أريد إغلاق الحساب.",
    "Где моя карта? 🙂 👍🏽 !!!",
)

TEXTS = (
    "Where is my card?",
    "WHERE IS my Card?",
    "Ich möchte das Geld zurück, STRASSE straße",
    "¿Quiero cerrar la cuenta mañana?",
    "s'il vous plaît, où est le compte ?",
    "我想关闭账户,我的卡在哪里",
    "ฉันต้องการปิดบัญชี",
    "أريد إغلاق الحساب",
    "🙂 👍🏽 card!!",
    "",
    " ",
    "  two  spaces\tand a tab\n",
    "don't  stop <pad> [PAD] </s> [SEP] now",
    "İstanbul ǅ ﬁ № Ⅷ e\u0301",
    "x",
    "the card and the account " * 80,
)


def word_pieces(specials: tuple[str, ...], *, lowercase: bool) -> dict[str, int]:
    """Learn a vocabulary of word pieces."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=list(specials), show_progress=False)
    tokenizer.train_from_iterator(LEARNT, trainer)
    return tokenizer.get_vocab()


def byte_pairs() -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Learn pairs of bytes."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(LEARNT, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], [tuple(pair) for pair in model["merges"]]


def unigrams(*specials: str) -> list[tuple[str, float]]:
    """Learn pieces with their probabilities."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=VOCABULARY, special_tokens=list(specials), unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(LEARNT, trainer)
    return [(piece, score) for piece, score in json.loads(tokenizer.to_str())["model"]["vocab"]]


OF_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
OF_MPNET = ("<s>", "<pad>", "</s>", "[UNK]", "<mask>")
OF_XLM = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
OF_CAMEMBERT = ("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>", "<mask>")


def config(of: type[Any], words: int, positions: int, **more: Any) -> Any:
    """Describe a small encoder."""
    return of(
        vocab_size=words,
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        max_position_embeddings=positions,
        **more,
    )


def write(
    folder: Path, encoder: Any, tokenizer: Any, *after: Any, pooling: str = "mean", texts: int, **more: Any
) -> None:
    """Save one model with random weights of 16 bits, for texts of at most so many tokens."""
    plain = folder / "encoder"
    for name, parameter in encoder.named_parameters():
        scales = parameter.dim() == 1 and name.endswith("weight")
        torch.nn.init.normal_(parameter, 1.0 if scales else 0.0, 0.4)
    encoder.save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    part = modules.Transformer(str(plain), max_seq_length=texts)
    model = SentenceTransformer(modules=[part, modules.Pooling(WIDTH, pooling), *after], device="cpu", **more)
    model.half().save(str(folder), create_model_card=False)
    shutil.rmtree(plain)


def write_as_in_2021(folder: Path, *, texts: int) -> None:
    """Give a model the files that sentence-transformers 2 wrote, and most models of the hub have."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize", "3_Dense": "Dense"}
    steps = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(kinds.items())
    ]
    modes = {"cls_token": False, "mean_tokens": True, "max_tokens": False, "mean_sqrt_len_tokens": False}
    pooling = {"word_embedding_dimension": WIDTH, **{f"pooling_mode_{mode}": value for mode, value in modes.items()}}
    limits = {"max_seq_length": texts, "do_lower_case": True}
    for name, content in (
        ("modules.json", steps),
        ("1_Pooling/config.json", pooling),
        ("sentence_bert_config.json", limits),
        ("config_sentence_transformers.json", {"__version__": {"sentence_transformers": "2.0.0"}}),
    ):
        (folder / name).write_text(json.dumps(content, indent=1))


def write_vectors(folder: Path) -> None:
    """Write what sentence-transformers computes, of length 1."""
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32}).float()
    vectors = model.encode(list(TEXTS), batch_size=4, normalize_embeddings=True)
    (folder / "vectors.json").write_text(json.dumps([[round(float(x), 6) for x in vector] for vector in vectors]))


def record(folder: Path) -> None:
    """Write all models."""
    t = transformers
    (folder / "texts.json").write_text(json.dumps(TEXTS, indent=1, ensure_ascii=False))
    small, cased = word_pieces(OF_BERT, lowercase=True), word_pieces(OF_BERT, lowercase=False)

    def bert(words: int) -> Any:
        return t.BertModel(config(t.BertConfig, words, 40), add_pooling_layer=False)

    def dense(width: int, activation: Any, **more: Any) -> Any:
        return modules.Dense(WIDTH, width, activation_function=activation, **more)

    write(folder / "bert-mean", bert(len(small)), t.BertTokenizer(small), modules.Normalize(), texts=24)
    write(
        folder / "bert-first-dense",
        bert(len(cased)),
        t.BertTokenizer(cased, do_lower_case=False),
        dense(WIDTH, torch.nn.Tanh()),
        modules.Normalize(),
        pooling="cls",
        texts=32,
    )
    pieces = unigrams(*OF_XLM)
    write(folder / "bert-unigram", bert(len(pieces)), t.XLMRobertaTokenizer(pieces), texts=40)
    write(
        folder / "bert-lowercased",
        bert(len(small)),
        t.BertTokenizer(small, do_lower_case=False),
        modules.Normalize(),
        dense(12, torch.nn.Identity(), bias=False),
        texts=40,
    )
    write_as_in_2021(folder / "bert-lowercased", texts=16)
    vocabulary, merges = byte_pairs()
    write(
        folder / "roberta-mean",
        t.RobertaModel(config(t.RobertaConfig, len(vocabulary), 42, type_vocab_size=1), add_pooling_layer=False),
        t.RobertaTokenizer(vocabulary, merges),
        modules.Normalize(),
        texts=40,
    )
    write(
        folder / "xlm-roberta-prompt",
        t.XLMRobertaModel(config(t.XLMRobertaConfig, len(pieces), 42, type_vocab_size=1), add_pooling_layer=False),
        t.XLMRobertaTokenizer(pieces),
        modules.Normalize(),
        prompts={"query": "query: ", "passage": "passage: "},
        default_prompt_name="query",
        texts=36,
    )
    pieces = unigrams(*OF_CAMEMBERT)
    named = [name for name, _ in pieces]
    ends = {"bos_token_id": named.index("<s>"), "eos_token_id": named.index("</s>")}
    write(
        folder / "camembert-first",
        t.CamembertModel(
            config(t.CamembertConfig, len(pieces), 42, type_vocab_size=1, pad_token_id=1, **ends),
            add_pooling_layer=False,
        ),
        t.CamembertTokenizer(vocab=pieces),
        pooling="cls",
        texts=40,
    )
    words = word_pieces(OF_MPNET, lowercase=True)
    write(
        folder / "mpnet-mean",
        t.MPNetModel(config(t.MPNetConfig, len(words), 302), add_pooling_layer=False),
        t.MPNetTokenizer(words),
        modules.Normalize(),
        texts=300,
    )
    shape = t.DistilBertConfig(
        vocab_size=len(cased),
        dim=WIDTH,
        n_layers=LAYERS,
        n_heads=HEADS,
        hidden_dim=INNER,
        max_position_embeddings=40,
    )
    write(
        folder / "distilbert-dense",
        t.DistilBertModel(shape),
        t.DistilBertTokenizer(cased, do_lower_case=False),
        dense(10, torch.nn.Tanh()),
        texts=40,
    )

    for path in sorted(folder.iterdir()):
        if path.is_dir():
            write_vectors(path)


if __name__ == "__main__":
    torch.manual_seed(0)
    record(Path(sys.argv[1]))
