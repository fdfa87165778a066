"""Sentence features of the stand-ins: tf-idf of word 1–2-grams and of character 3-grams within words.

The recipe is that of scikit-learn's ``TfidfVectorizer`` (sublinear counts, smoothed idf, each part of length 1, terms
of the character part in at least two sentences if there are many), but for Chinese and Japanese; the code is ours
because words repeat: a word's character n-grams are looked up once, which makes reading several times faster.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Self, TypedDict

import numpy as np
from msgspec import Struct

from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter, ensure_dimensions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray


_WORD: Final = re.compile(r"\w+")
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Han and kana: Chinese and Japanese are written without spaces, so each character counts as a word."""
_WORD_OR_CHARACTER: Final = rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+"  # compiled for the first text beyond ASCII
_CACHED_WORDS: Final = 200_000
_MIN_DOCUMENTS: Final = 2
"""A character 3-gram must occur in this many sentences to count, unless there are few sentences."""

_LONGEST: Final = 4

_FEW: Final = 700
"""Up to this many sentences every 3-gram counts: those that occur once carry half of the information."""


class SparseRows(Struct, frozen=True):
    """A sparse matrix, row by row (CSR): ``columns[starts[i]:starts[i+1]]`` and ``values`` of row i."""

    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: NDArray[np.float32]
    width: int

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.starts) - 1

    @classmethod
    def of_dense(cls, rows: NDArray[np.float32]) -> Self:
        """Take an array of shape (rows, columns)."""
        count, width = rows.shape
        columns = np.tile(np.arange(width, dtype=np.int32), count)
        return cls(np.arange(count + 1, dtype=np.int64) * width, columns, rows.ravel(), width)

    @property
    def row_of(self) -> NDArray[np.int64]:
        """The row of each value."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def take(self, rows: NDArray[np.int64]) -> SparseRows:
        """Return these rows, in this order."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        positions = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return SparseRows(starts, self.columns[positions], self.values[positions], self.width)

    def emptied(self) -> SparseRows:
        """As many rows and columns, without values."""
        return SparseRows(np.zeros_like(self.starts), self.columns[:0], self.values[:0], self.width)

    def products(self) -> NDArray[np.float64]:
        """The products of all pairs of rows, shape (rows, rows).

        Counts, and multiples of :data:`_GRID` up to 1, have exact sums of products in double precision, so that no
        processor's order of adding them matters.
        """
        products = np.zeros((len(self), len(self)))
        for _, block in self._dense_blocks():
            products += block @ block.T
        return products

    def weighted_sums(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """Sum the weighted rows, for each column of ``weights`` (rows, outputs); (width, outputs)."""
        sums = np.empty((self.width, weights.shape[1]), dtype=np.float32)
        for first, block in self._dense_blocks():
            sums[first : first + block.shape[1]] = block.T @ weights
        return sums

    def _dense_blocks(self) -> Iterator[tuple[int, NDArray[np.float64]]]:
        """Some columns at a time, dense: the first one's number, and a matrix of shape (rows, some).

        For few rows this is several times as fast as multiplying by shared terms.
        """
        order = np.argsort(self.columns, kind="stable")
        columns, rows, values = self.columns[order], self.row_of[order], self.values[order]
        for first in range(0, self.width, _COLUMNS):
            inner = slice(*np.searchsorted(columns, (first, first + _COLUMNS)))
            block = np.zeros((len(self), min(_COLUMNS, self.width - first)))
            block[rows[inner], columns[inner] - first] = values[inner]
            yield first, block

    def times(self, weights: Any) -> NDArray[np.float32]:
        """Multiply by a matrix of shape (width, outputs), also a sparse one; returns (rows, outputs)."""
        result = np.zeros((len(self), weights.shape[1]), dtype=np.float32)
        block = max(1, _BLOCK // max(1, weights.shape[1]))
        if not isinstance(weights, np.ndarray):
            rows = self.to_scipy().astype(np.float32)
            for first in range(0, len(self), block):
                result[first : first + block] = (rows[first : first + block] @ weights).toarray()
            return result
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.starts, self.starts[first] + block, side="right")) - 1
            last = min(max(last, first + 1), len(self))
            inner = slice(self.starts[first], self.starts[last])
            products = weights[self.columns[inner]] * self.values[inner, None]
            filled = np.flatnonzero(np.diff(self.starts[first : last + 1]))
            if len(filled):
                offsets = self.starts[first:last][filled] - self.starts[first]
                result[first + filled] = np.add.reduceat(products, offsets, axis=0)
            first = last
        return result

    def to_scipy(self) -> Any:
        """As a SciPy CSR matrix in double precision, for scikit-learn."""
        from scipy import sparse

        shape = len(self), self.width
        return sparse.csr_matrix((self.values.astype(np.float64), self.columns, self.starts), shape=shape)


_BLOCK: Final = 2_000_000
"""Number of products in memory at a time."""

_COLUMNS: Final = 2048
"""Number of columns that are made dense at a time."""

_GRID: Final = 2.0**-20
"""What tf-idf weights are multiples of: the last digits of a logarithm differ between processors."""


class _Terms(TypedDict):
    words: list[str]
    characters: list[str]
    unknown_count: bool


@dataclass(frozen=True, slots=True)
class NgramFeatures:
    """A trained vocabulary with its idf weights."""

    words: dict[str, int]
    """Word 1- and 2-grams → column."""
    characters: dict[str, int]
    """Character 3-grams → column."""
    idf: NDArray[np.float32]
    unknown_count: bool = False
    """Whether unknown terms count in a message's length, each as a term of one sentence.

    A sentence that models are judged by has terms that the others do not have. A message must not seem nearer to what
    was learnt than it did, just because its new terms have no column."""
    _columns_of_word: dict[str, tuple[tuple[int, ...], int]] = field(default_factory=dict, repr=False, compare=False)
    """Word → columns of its character 3-grams, and how many more it has."""

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.idf)

    @classmethod
    def fit(cls, texts: Sequence[str], *, unknown_count: bool = False) -> tuple[Self, SparseRows]:
        """Learn vocabulary and idf; return them with the features of ``texts``."""
        words, word_counts = count_terms(texts, _word_terms, 1)
        characters, character_counts = count_terms(texts, _character_terms, 1 if len(texts) <= _FEW else _MIN_DOCUMENTS)
        counts = beside(word_counts, character_counts)
        documents = np.bincount(counts.columns, minlength=counts.width)
        idf = on_grid(np.log((1.0 + len(texts)) / (1.0 + documents)) + 1).astype(np.float32)
        features = cls(words, {term: column + len(words) for term, column in characters.items()}, idf, unknown_count)
        return features, features._weigh(counts)

    def transform(self, texts: Sequence[str]) -> SparseRows:
        """Return the features of ``texts``; unknown terms have none."""
        columns: list[list[int]] = []
        unknown: list[tuple[int, int]] = []
        for text in texts:
            terms = _word_terms(text)
            of_text = [column for term in terms if (column := self.words.get(term, -1)) >= 0]
            unknown_words = len(terms) - len(of_text)
            unknown.append((unknown_words, self._add_characters(text, of_text)))
            columns.append(of_text)
        counts = _merge(columns, self.width)
        return self._weigh(counts, np.array(unknown).reshape(-1) if self.unknown_count else None)

    def _add_characters(self, text: str, found: list[int]) -> int:
        """Add the columns of a text's character 3-grams to those found; return how many have none."""
        known = self._columns_of_word
        unknown = 0
        for word in text.lower().split():
            of_word = known.get(word)
            if of_word is None:
                get, terms = self.characters.get, _trigrams(word)
                columns = tuple(column for term in terms if (column := get(term, -1)) >= 0)
                of_word = columns, len(terms) - len(columns)
                if len(known) < _CACHED_WORDS:
                    known[word] = of_word
            found.extend(of_word[0])
            unknown += of_word[1]
        return unknown

    def _weigh(self, counts: SparseRows, unknown: NDArray[np.int64] | None = None) -> SparseRows:
        """Counts → tf-idf; word part and character part have length 1 each.

        ``unknown``, shape (2 * texts,), is how many unknown terms each text's word part and character part have.
        """
        values = (1 + np.log(counts.values.astype(np.float64))) * self.idf[counts.columns]
        part = np.repeat(2 * np.arange(len(counts)), np.diff(counts.starts)) + (counts.columns >= len(self.words))
        squares = np.bincount(part, weights=values**2, minlength=2 * len(counts))
        if unknown is not None:
            squares = squares + unknown * float(self.idf.max(initial=0.0)) ** 2
        values /= np.sqrt(np.maximum(squares, 1e-30))[part]
        return SparseRows(counts.starts, counts.columns, on_grid(values).astype(np.float32), self.width)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickle without the cached words."""
        return NgramFeatures, (self.words, self.characters, self.idf, self.unknown_count)

    def save(self, members: MemberWriter) -> None:
        """Write the terms in the order of their columns, and the idf."""
        terms = {"words": list(self.words), "characters": list(self.characters), "unknown_count": self.unknown_count}
        members.json("terms", terms)
        members.arrays("idf", {"idf": self.idf})

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`."""
        terms = members.json("terms", _Terms)
        words = {term: column for column, term in enumerate(terms["words"])}
        characters = {term: column + len(words) for column, term in enumerate(terms["characters"])}
        idf = ensure_dimensions(members.arrays("idf")["idf"], len(words) + len(characters))
        return cls(words, characters, idf, terms["unknown_count"])


def on_grid(values: NDArray[Any]) -> NDArray[np.float64]:
    """Round to multiples of a millionth or so: sums of their products are exact, in whatever order."""
    return np.round(values / _GRID) * _GRID


def _word_terms(text: str) -> list[str]:
    lowered = text.lower()
    words = _WORD.findall(lowered) if text.isascii() else re.findall(_WORD_OR_CHARACTER, lowered)
    return words + [f"{first} {second}" for first, second in pairwise(words)]


def _trigrams(word: str) -> list[str]:
    padded = f" {word} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]


def all_terms(text: str) -> list[str]:
    """Words, and the 1- to 4-grams of characters within what spaces separate, marked so that the two differ."""
    lowered = text.lower()
    terms = _WORD.findall(lowered)
    for word in lowered.split():
        padded = f" {word} "
        for length in range(1, min(_LONGEST, len(padded)) + 1):
            terms += [f"\n{padded[start : start + length]}" for start in range(len(padded) - length + 1)]
    return terms


def _character_terms(text: str) -> list[str]:
    """The character 3-grams of a text, word by word."""
    return [term for word in text.lower().split() for term in _trigrams(word)]


class _Vocabulary:
    """All terms of one kind that texts had so far, by number; each text is taken apart once in a process.

    Folds, and both sides of a change, have the same texts again and again.
    """

    def __init__(self, terms_of: Callable[[str], Iterable[str]]) -> None:
        self._terms_of = terms_of
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._numbers: dict[str, int] = {}
        self._terms: NDArray[np.object_] = np.empty(0, dtype=object)
        self._ordered: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._known: dict[str, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        self._size = 0

    def count(self, texts: Sequence[str], min_documents: int) -> tuple[dict[str, int], SparseRows]:
        """Count as :func:`count_terms` does."""
        with self._lock:
            rows = [self._known.get(text) or self._taken_apart(text) for text in texts]
            self._order()
            lengths = np.fromiter((len(numbers) for numbers, _ in rows), dtype=np.int64, count=len(rows))
            starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
            nothing = np.empty(0, dtype=np.int32)
            numbers = np.concatenate([nothing, *(numbers for numbers, _ in rows)])
            counts = np.concatenate([nothing.astype(np.float32), *(counts for _, counts in rows)])
            documents = np.bincount(numbers, minlength=len(self._terms))
            kept = self._ordered[documents[self._ordered] >= max(min_documents, 1)]
            columns = np.full(len(self._terms), -1, dtype=np.int32)
            columns[kept] = np.arange(len(kept), dtype=np.int32)
            terms = dict(zip(self._terms[kept].tolist(), range(len(kept)), strict=True))
            if self._size > _MOST_KNOWN:
                self._forget()
        return terms, _renumber(SparseRows(starts, numbers, counts, len(columns)), columns, len(kept))

    def _taken_apart(self, text: str) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Number a text's terms, each once, and count them."""
        number = self._numbers.setdefault
        times = Counter([number(term, len(self._numbers)) for term in self._terms_of(text)])
        numbers = np.fromiter(times.keys(), dtype=np.int32, count=len(times))
        known = self._known[text] = numbers, np.fromiter(times.values(), dtype=np.float32, count=len(times))
        self._size += len(times)
        return known

    def _order(self) -> None:
        """Order the terms by their characters, if there are new ones."""
        new = list(self._numbers)[len(self._terms) :]
        if new:
            self._terms = np.append(self._terms, np.array(new, dtype=object))
            terms = self._terms.tolist()
            numbers = [*self._ordered.tolist(), *range(len(terms) - len(new), len(terms))]
            self._ordered = np.array(sorted(numbers, key=terms.__getitem__), dtype=np.int64)


_MOST_KNOWN: Final = 1_000_000
"""With more terms of texts than this (8 bytes each) a vocabulary begins anew."""


@cache
def _vocabulary(terms_of: Callable[[str], Iterable[str]]) -> _Vocabulary:
    return _Vocabulary(terms_of)


def count_terms(
    texts: Sequence[str], terms_of: Callable[[str], Iterable[str]], min_documents: int
) -> tuple[dict[str, int], SparseRows]:
    """Count terms; those in too few texts are dropped, the others are numbered in the order of their characters.

    That order makes the result independent of the order in which words occur, and of other texts.
    """
    return _vocabulary(terms_of).count(texts, min_documents)


def count_known(texts: Sequence[str], terms_of: Callable[[str], Iterable[str]], columns: dict[str, int]) -> SparseRows:
    """Count the terms of ``texts`` that have a column."""
    known = [[column for term in terms_of(text) if (column := columns.get(term, -1)) >= 0] for text in texts]
    return _merge(known, len(columns))


def _merge(rows: Sequence[Sequence[int]], width: int) -> SparseRows:
    """Turn lists of columns with repetitions into counts, columns ascending."""
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    keys, counts = np.unique(np.repeat(np.arange(len(rows)), lengths) * max(width, 1) + flat, return_counts=True)
    row, column = np.divmod(keys, max(width, 1))
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(rows)))]).astype(np.int64)
    return SparseRows(starts, column.astype(np.int32), counts.astype(np.float32), width)


def _renumber(counts: SparseRows, new_columns: NDArray[np.int32], width: int) -> SparseRows:
    """Give columns their new numbers (-1: drop), ascending in each row."""
    columns = new_columns[counts.columns]
    kept = columns >= 0
    row = np.repeat(np.arange(len(counts)), np.diff(counts.starts))[kept]
    order = np.argsort(row * max(width, 1) + columns[kept], kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(counts)))]).astype(np.int64)
    return SparseRows(starts, columns[kept][order], counts.values[kept][order], width)


def beside(left: SparseRows, right: SparseRows) -> SparseRows:
    """Concatenate two matrices with equally many rows."""
    lengths = np.stack([np.diff(left.starts), np.diff(right.starts)], axis=1)
    row_of = [np.repeat(np.arange(len(left)), lengths[:, side]) for side in (0, 1)]
    order = np.argsort(np.concatenate(row_of), kind="stable")
    columns = np.concatenate([left.columns, right.columns + np.int32(left.width)])[order]
    values = np.concatenate([left.values, right.values])[order]
    starts = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))]).astype(np.int64)
    return SparseRows(starts, columns.astype(np.int32), values, left.width + right.width)


# The nearest training sentences of a text.


class Neighbour(Struct, frozen=True):
    """A training sentence, by its index among the engine's training examples, and how near it is (0 to 1)."""

    index: int
    text: str
    similarity: float


@dataclass(slots=True)
class TrainingSentences:
    """The training sentences, indexed by their n-grams on first use."""

    texts: tuple[str, ...]
    _index: tuple[NgramFeatures, _Postings] | None = field(default=None, repr=False, compare=False)

    def nearest(self, texts: Sequence[str], k: int) -> list[tuple[Neighbour, ...]]:
        """Return for each text the ``k`` nearest, nearest first, then by text; only those that share something."""
        if not self.texts or not texts:
            return [() for _ in texts]
        if self._index is None:
            features, rows = NgramFeatures.fit(self.texts)
            self._index = features, _Postings.of(rows)
        features, postings = self._index
        queries = features.transform(texts)
        return [self._nearest(queries, row, postings, k) for row in range(len(queries))]

    def _nearest(self, queries: SparseRows, row: int, postings: _Postings, k: int) -> tuple[Neighbour, ...]:
        own = slice(queries.starts[row], queries.starts[row + 1])
        # each of the two parts has length 1, so the cosine of whole vectors is half their product
        similarity = postings.products(queries.columns[own], queries.values[own], len(self.texts)) / 2
        count = min(k, len(self.texts))
        # negated: most sentences share nothing, and looking past so many equal zeros takes NumPy ten times as long
        threshold = -np.partition(-similarity, count - 1)[count - 1]
        near = np.flatnonzero((similarity >= threshold - _NEAR) & (similarity > 0))
        neighbours = [Neighbour(index, self.texts[index], _rounded(similarity[index])) for index in near.tolist()]
        neighbours.sort(key=lambda neighbour: (-neighbour.similarity, neighbour.text, neighbour.index))
        return tuple(neighbours[:k])


_DECIMALS: Final = 6
_NEAR: Final = 2.0 * 10**-_DECIMALS
"""What differs less than this may be equal once it is rounded."""


def _rounded(similarity: float) -> float:
    return round(min(1.0, float(similarity)), _DECIMALS)


class _Postings(Struct, frozen=True):
    """The training matrix column by column: which sentences have a term."""

    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    values: NDArray[np.float32]

    @classmethod
    def of(cls, matrix: SparseRows) -> _Postings:
        row = np.repeat(np.arange(len(matrix), dtype=np.int32), np.diff(matrix.starts))
        order = np.argsort(matrix.columns, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(matrix.columns, minlength=matrix.width))]).astype(np.int64)
        return cls(starts, row[order], matrix.values[order])

    def products(self, columns: NDArray[np.int32], values: NDArray[np.float32], count: int) -> NDArray[np.float64]:
        if not len(columns):
            return np.zeros(count)
        parts = [slice(self.starts[column], self.starts[column + 1]) for column in columns]
        rows = np.concatenate([self.rows[part] for part in parts])
        weights = np.concatenate([self.values[part] * value for part, value in zip(parts, values, strict=True)])
        products: NDArray[np.float64] = np.bincount(rows, weights=weights, minlength=count).astype(np.float64)
        return products
