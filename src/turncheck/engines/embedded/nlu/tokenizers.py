"""Rasa's tokenizers: text → tokens with their borders."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from turncheck.engines.embedded.nlu.batch import Tokens
from turncheck.project.nlu_data import whitespace_words, word_borders

if TYPE_CHECKING:
    import re


class Tokenizer(Protocol):
    """Splits texts."""

    def tokenize(self, text: str) -> Tokens:
        """Split one text. There is at least one token; the empty text has one with borders (0, 0)."""

    def to_json(self) -> dict[str, Any]:
        """Its JSON in a model; see :func:`load_tokenizer`."""


def locate_words(words: list[str], text: str) -> Tokens:
    """Find each word in ``text``, searching from the end of the one before."""
    return Tokens(tuple(words), tuple(word_borders(words, text)))


def split_further(tokens: Tokens, pattern: re.Pattern[str] | None) -> Tokens:
    """Apply Rasa's ``token_pattern``: each token becomes what the pattern finds in it, or stays if it finds nothing."""
    if pattern is None:
        return tokens
    spans: list[tuple[int, int]] = []
    origins: list[int] = []
    for index, (word, (start, _)) in enumerate(zip(tokens.words, tokens.spans, strict=True)):
        pieces = [piece for piece in pattern.findall(word) if isinstance(piece, str) and piece] or [word]
        offset = 0
        for piece in pieces:
            at = word.index(piece, offset)
            offset = at + len(piece)
            spans.append((start + at, start + offset))
            origins.append(index)
    return Tokens(
        tuple(
            tokens.words[origin][start - tokens.spans[origin][0] : end - tokens.spans[origin][0]]
            for origin, (start, end) in zip(origins, spans, strict=True)
        ),
        tuple(spans),
        tokens.lemmas and tuple(tokens.lemmas[origin] for origin in origins),
        tokens.tags and tuple(tokens.tags[origin] for origin in origins),
    )


@dataclass(frozen=True, slots=True)
class WhitespaceTokenizer:
    """Rasa's WhitespaceTokenizer."""

    token_pattern: re.Pattern[str] | None = None
    _cache: dict[str, Tokens] = field(default_factory=dict, repr=False, compare=False)

    def tokenize(self, text: str) -> Tokens:
        """Split one text; folds of one project have the same texts again and again, so answers are cached."""
        tokens = self._cache.get(text)
        if tokens is None:
            tokens = split_further(locate_words(whitespace_words(text), text), self.token_pattern)
            if len(self._cache) < _CACHED_TEXTS:
                self._cache[text] = tokens
        return tokens

    def to_json(self) -> dict[str, Any]:
        """The pattern."""
        return {"kind": "whitespace", "token_pattern": self.token_pattern and self.token_pattern.pattern}

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickle without the cached answers."""
        return WhitespaceTokenizer, (self.token_pattern,)


_CACHED_TEXTS: Final = 200_000


@dataclass(frozen=True, slots=True)
class JiebaTokenizer:
    """Rasa's JiebaTokenizer: Chinese words by the package ``jieba``, with custom dictionaries (the files' text)."""

    dictionaries: tuple[str, ...]
    token_pattern: re.Pattern[str] | None
    segmenter: Any = field(repr=False, compare=False)

    @classmethod
    def of(cls, dictionaries: tuple[str, ...], token_pattern: re.Pattern[str] | None) -> JiebaTokenizer:
        """Create the segmenter and load the words."""
        import jieba

        jieba.setLogLevel("WARNING")
        segmenter = jieba.Tokenizer()
        for dictionary in dictionaries:
            segmenter.load_userdict(io.StringIO(dictionary))
        return cls(dictionaries, token_pattern, segmenter)

    def tokenize(self, text: str) -> Tokens:
        """Split one text."""
        found = [(word, start, end) for word, start, end in self.segmenter.tokenize(text)] or [(text, 0, len(text))]
        tokens = Tokens(tuple(word for word, _, _ in found), tuple((start, end) for _, start, end in found))
        return split_further(tokens, self.token_pattern)

    def to_json(self) -> dict[str, Any]:
        """Pattern and dictionaries."""
        pattern = self.token_pattern and self.token_pattern.pattern
        return {"kind": "jieba", "token_pattern": pattern, "dictionaries": self.dictionaries}

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickle without the segmenter, which cannot be pickled."""
        return JiebaTokenizer.of, (self.dictionaries, self.token_pattern)
