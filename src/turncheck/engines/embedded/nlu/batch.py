"""What flows through the pipeline: a batch of sentences, column by column, and what training also sees.

Rasa's tokenizers make its tokens with their borders.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from turncheck.engines.conversation import PredictedEntity, PredictedIntent, SelectedResponse
from turncheck.project.nlu_data import Example, whitespace_words, word_borders
from turncheck.report.model import Substitution
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from turncheck.engines.embedded.model_archive import MemberWriter
    from turncheck.engines.embedded.nlu.linear import LabelSplit
    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors
    from turncheck.project.model import Project
    from turncheck.report.trust import ConfidenceMap

NO_INTENT = PredictedIntent(None, 0.0)
"""What Rasa answers if no classifier set an intent."""


class Tokens(msgspec.Struct, frozen=True):
    """The tokens of one text: their words and their borders, ``(start, end)`` in code points.

    Lemmas and part-of-speech tags are present if a language model gives them.
    """

    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    lemmas: tuple[str, ...] | None = None
    tags: tuple[str, ...] | None = None


TokenPatterns = tuple["Mapping[str, bool]", ...]
"""For each token: pattern name → whether a match of it overlaps the token."""


class Batch(msgspec.Struct):
    """Sentences on their way through the pipeline; each component reads and fills its columns."""

    texts: Sequence[str]
    tokens: list[Tokens]
    sentence_features: list[Any] = msgspec.field(default_factory=list)
    """Blocks of shape (texts, width), sparse (CSR) or dense, in pipeline order: Rasa's "sentence features"."""
    dense_token_features: list[Any] | None = None
    """For each text an array (tokens, width), if a language model gave one."""
    patterns: list[TokenPatterns] | None = None
    intents: list[PredictedIntent] = msgspec.field(default_factory=list)
    rankings: list[tuple[PredictedIntent, ...]] = msgspec.field(default_factory=list)
    entities: list[list[PredictedEntity]] = msgspec.field(default_factory=list)
    responses: list[dict[str, SelectedResponse]] = msgspec.field(default_factory=list)
    team_confidences: ConfidenceMap | None = None
    """How sure the team's own model would be: a fallback's threshold applies to that."""

    @classmethod
    def of(cls, texts: Sequence[str], tokens: list[Tokens]) -> Batch:
        """Start a batch: nothing is understood yet."""
        return cls(
            texts,
            tokens,
            intents=[NO_INTENT] * len(texts),
            rankings=[()] * len(texts),
            entities=[[] for _ in texts],
            responses=[{} for _ in texts],
        )


REFERENCE_TIME: Final = 1_735_732_800_000
"""2025-01-01 12:00 UTC in milliseconds: "tomorrow" must mean the same in every run that is compared."""


@dataclass(frozen=True, slots=True)
class DucklingAccess:
    """The server's address, if not the pipeline's, and which hosts the pipeline may name.

    ``allowed_hosts``: loopback and these, ``None``: any. ``reference_time`` is in milliseconds since 1970.
    """

    url: str | None = None
    allowed_hosts: Collection[str] | None = None
    reference_time: int = REFERENCE_TIME
    network: Network = field(default=Network(), repr=False)


class Lessons(msgspec.Struct):
    """What steps learn from: sorted examples without exact repetitions, and their batch as featurized so far.

    Steps that are cached are given no more than this, so that nothing else can change what they learn.
    """

    examples: tuple[Example, ...]
    batch: Batch
    seed: int
    label_split: LabelSplit | None = None
    """How multi-intents are split, if the tokenizer splits them."""
    vectors: SentenceVectors | None = None
    notes: list[str] = msgspec.field(default_factory=list)
    """Remarks of components on this training, for the user."""

    @property
    def intent_rows(self) -> list[int]:
        """Indices of the examples that teach intents: those with an intent and a text."""
        return [row for row, example in enumerate(self.examples) if example.intent and example.text]


class Training(Lessons, kw_only=True):
    """What steps are given that are trained each time.

    The project has the examples in the order of its files, for what reads that order in Rasa, too. Its version is
    in the parameters of the steps that differ between versions (:data:`.plan.DIFFER`).
    """

    project: Project
    duckling: DucklingAccess | None = None
    left_out: list[Substitution] = msgspec.field(default_factory=list)

    def leave_out(self, component: str, reason: str) -> None:
        """List a component that cannot be used this time."""
        self.left_out.append(Substitution(component=component, used=None, reason=reason))

    @property
    def entity_names(self) -> frozenset[str]:
        """The entities that are annotated at least once."""
        return frozenset(entity.entity for example in self.examples for entity in example.entities)


class Component(Protocol):
    """A trained component. Its state can be written to a model and read back, without pickle."""

    def process(self, batch: Batch) -> None:
        """Fill this component's columns of the batch."""

    def save(self, members: MemberWriter) -> None:
        """Write the state."""


class Tokenizer(Protocol):
    """Splits texts."""

    def tokenize(self, text: str) -> Tokens:
        """Split one text. There is at least one token; the empty text has one with borders (0, 0)."""

    def to_json(self) -> dict[str, Any]:
        """Its JSON in a model; see :func:`.spacy_model.load_tokenizer`."""


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


_CJK: Final = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_PIECES: Final = re.compile(f"([{_CJK}])|([^{_CJK}]+)")


class CharacterTokenizer(msgspec.Struct, frozen=True):
    """Words as of WhitespaceTokenizer, and each Chinese or Japanese character apart, as BERT splits them.

    It stands in for tokenizers that need no blanks; WhitespaceTokenizer drops Chinese words, which it takes for emoji.
    """

    token_pattern: re.Pattern[str] | None = None

    def tokenize(self, text: str) -> Tokens:
        """Split one text."""
        words: list[str] = []
        for character, other in _PIECES.findall(text):
            words += [character] if character else whitespace_words(other) if any(map(str.isalnum, other)) else []
        return split_further(locate_words(words or [text], text), self.token_pattern)

    def to_json(self) -> dict[str, Any]:
        """The pattern."""
        return {"kind": "characters", "token_pattern": self.token_pattern and self.token_pattern.pattern}


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
