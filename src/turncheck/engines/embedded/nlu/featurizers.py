"""Rasa's sparse featurizers, as far as a component that is Rasa's own reads their features."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, Self

from msgspec import Struct

from turncheck.engines.embedded.nlu.patterns import NamedPattern, PatternShape, collect_patterns
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, TokenPatterns, Tokens, Training
    from turncheck.project.model import Component


class OfPatterns(Struct, frozen=True):
    """A component whose only trained state is patterns."""

    patterns: tuple[NamedPattern, ...]

    def save(self, members: MemberWriter) -> None:
        """Write the patterns."""
        members.json("patterns", [pattern.as_json() for pattern in self.patterns])

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:  # noqa: ARG003  # the common protocol
        """Read the patterns."""
        return cls(tuple(NamedPattern.from_json(pattern) for pattern in members.json("patterns", list[PatternShape])))


_NUMBER: Final = re.compile(r"\b[0-9]+\b")

_LEXICAL_NAMES: Final = frozenset(
    {
        "low", "title", "upper", "digit", "BOS", "EOS", "prefix2", "prefix5", "suffix1", "suffix2", "suffix3",
        "suffix5", "pos", "pos2",
    }
)  # fmt: skip


class RegexFeaturizer(OfPatterns, frozen=True):
    """Rasa's RegexFeaturizer: one column per pattern, 1 if it matches; and for each token, which patterns touch it."""

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:
        """Take the patterns of the training data; ``None`` if there are none."""
        patterns = collect_patterns(training.project.nlu, parameters)
        return cls(patterns) if patterns else None

    def process(self, batch: Batch) -> None:
        """Add the sentence features and the tokens' patterns."""
        import numpy as np
        from scipy import sparse

        matched = np.zeros((len(batch.texts), len(self.patterns)))
        before = batch.patterns or [tuple({} for _ in tokens.words) for tokens in batch.tokens]
        batch.patterns = []
        for row, (text, tokens, known) in enumerate(zip(batch.texts, batch.tokens, before, strict=True)):
            of_tokens, hits = self._match(text, tokens, known)
            batch.patterns.append(of_tokens)
            matched[row] = hits
        batch.sentence_features.append(sparse.csr_matrix(matched))

    def _match(self, text: str, tokens: Tokens, known: TokenPatterns) -> tuple[TokenPatterns, list[bool]]:
        of_tokens = tuple(dict(token) for token in known)
        hits = []
        for named in self.patterns:
            matches = named.spans(text)
            touched = False
            for token, (start, end) in zip(of_tokens, tokens.spans, strict=True):
                touches = any(start < right and end > left for left, right in matches)
                token[named.name] = touches
                touched = touched or touches
            hits.append(touched)
        return of_tokens, hits


class CountVectorsFeaturizer(Struct, frozen=True):
    """Rasa's CountVectorsFeaturizer: counts of words or character n-grams, by scikit-learn's CountVectorizer."""

    vectorizer: Any
    parameters: Mapping[str, Any]

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:
        """Learn the vocabulary; ``None`` (and a note) if no term is left, as Rasa leaves it untrained."""
        vectorizer = _make_vectorizer(parameters)
        texts = [" ".join(_words_for_training(tokens, parameters)) for tokens in training.batch.tokens]
        try:
            vectorizer.fit(texts)
        except ValueError as error:  # scikit-learn's answer to an empty vocabulary
            training.notes.append(f"CountVectorsFeaturizer learned no term: {error}")
            return None
        return cls(vectorizer, parameters)

    def process(self, batch: Batch) -> None:
        """Add the counts as a block of sentence features."""
        texts = [" ".join(self._words(tokens)) for tokens in batch.tokens]
        batch.sentence_features.append(self.vectorizer.transform(texts).astype(float))

    def _words(self, tokens: Tokens) -> list[str]:
        words = _normalized(tokens, self.parameters)
        unknown = _oov_token(self.parameters)
        vocabulary = self.vectorizer.vocabulary_
        if unknown is None or unknown not in vocabulary:
            return words
        return [word if word in vocabulary else unknown for word in words]

    def save(self, members: MemberWriter) -> None:
        """Write the vocabulary, in the order of the columns."""
        vocabulary = self.vectorizer.vocabulary_
        members.json("vocabulary", sorted(vocabulary, key=vocabulary.__getitem__))

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:
        """Read the vocabulary."""
        vectorizer = _make_vectorizer(parameters)
        vectorizer.vocabulary_ = {term: column for column, term in enumerate(members.json("vocabulary", list[str]))}
        return cls(vectorizer, parameters)


def check_lexical_features(parameters: Mapping[str, Any]) -> None:
    """Check LexicalSyntacticFeaturizer's windows.

    Its features are about tokens, and in Rasa only DIETClassifier reads them; the stand-in for that has lexical
    features of its own. So there is nothing to compute here.

    Raises:
        UserError: they are no lists of names, or a feature is unknown. An even number of them does for Rasa.
    """
    check_windows("LexicalSyntacticFeaturizer", parameters["features"], _LEXICAL_NAMES)


def check_counts(component: Component, parameters: Mapping[str, Any]) -> None:
    """Check what CountVectorsFeaturizer counts; Rasa only notices while it trains.

    Raises:
        UserError: the analyzer is unknown, or the largest n-grams are smaller than the smallest.
    """
    analyzer, shortest, longest = parameters["analyzer"], parameters["min_ngram"], parameters["max_ngram"]
    if analyzer not in {"word", "char", "char_wb"}:
        raise UserError(
            f"the analyzer of CountVectorsFeaturizer must be word, char or char_wb, not {analyzer!r}",
            location=component.location,
        )
    if None not in {shortest, longest} and not 1 <= shortest <= longest:
        raise UserError(
            f"the n-grams of CountVectorsFeaturizer must go up from min_ngram, at least 1: not {shortest} to {longest}",
            location=component.location,
        )


def check_windows(component: str, windows: object, known: frozenset[str]) -> None:
    """Check lists of features around a token, as in two of Rasa's components.

    Raises:
        UserError: it is not a list of lists, or a feature is unknown.
    """
    if not isinstance(windows, list | tuple) or not all(isinstance(window, list | tuple) for window in windows):
        raise UserError(f"the features of {component} must be a list of lists of names")
    unknown = [name for window in windows for name in window if name not in known]
    if unknown:
        raise UserError(
            f"{component} has no feature {unknown[0]!r}", hint=f"The features are: {', '.join(sorted(known))}."
        )


def _make_vectorizer(parameters: Mapping[str, Any]) -> Any:
    from sklearn.feature_extraction.text import CountVectorizer

    by_words = parameters["analyzer"] == "word"
    return CountVectorizer(
        token_pattern=r"(?u)\b\w+\b" if by_words else None,
        strip_accents=parameters["strip_accents"],
        lowercase=parameters["lowercase"],
        stop_words=parameters["stop_words"] if by_words else None,
        ngram_range=(parameters["min_ngram"], parameters["max_ngram"]),
        max_df=parameters["max_df"],
        min_df=parameters["min_df"],
        max_features=parameters["max_features"],
        analyzer=parameters["analyzer"],
    )


def _normalized(tokens: Tokens, parameters: Mapping[str, Any]) -> list[str]:
    """Replace whole numbers by one word and lowercase the text, as Rasa does before it counts."""
    known = tokens.lemmas if parameters["use_lemma"] and tokens.lemmas is not None else tokens.words
    words = [_NUMBER.sub("__NUMBER__", word) for word in known]
    return [word.lower() for word in words] if parameters["lowercase"] else words


def _oov_token(parameters: Mapping[str, Any]) -> str | None:
    """The word for unknown words, if it applies: a character n-gram is never out of vocabulary."""
    token = parameters["OOV_token"]
    if not token or parameters["analyzer"] != "word":
        return None
    return str(token).lower() if parameters["lowercase"] else str(token)


def _words_for_training(tokens: Tokens, parameters: Mapping[str, Any]) -> list[str]:
    words = _normalized(tokens, parameters)
    unknown = _oov_token(parameters)
    listed = parameters["OOV_words"] or []
    if unknown is None or not listed:
        return words
    rare = {str(word).lower() if parameters["lowercase"] else str(word) for word in listed}
    return [unknown if word in rare else word for word in words]
