"""A conditional random field over string features, by CRFsuite; and from its marginals to tags."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from turncheck.engines.embedded.nlu.crf_file import ensure_sound, with_weights_times
from turncheck.engines.embedded.nlu.tagging import OUTSIDE, TagColumn, name_of, repair_bilou
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet


def encodable(text: str) -> str:
    """CRFsuite expects UTF-8: lone surrogates, which JSON can spell, become question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class SequenceTagger:
    """A trained CRF; ``content`` is CRFsuite's own file."""

    content: bytes
    _tagger: Any = field(repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    """CRFsuite's handle keeps the current sentence."""

    @classmethod
    def of(cls, content: bytes) -> SequenceTagger:
        """Open a CRFsuite file.

        Raises:
            ValueError: it is not one, or is damaged.
        """
        import pycrfsuite

        ensure_sound(content)
        tagger = pycrfsuite.Tagger()
        try:
            tagger.open_inmemory(content)
            tagger.set([[]])
            for label in tagger.labels():
                tagger.marginal(label, 0)  # it must be found by its name, too
        except RuntimeError as error:
            raise ValueError(f"CRFsuite cannot use its model: {error}") from None
        return cls(content, tagger)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        """Pickle as the file's bytes: CRFsuite's handle cannot be pickled."""
        return SequenceTagger.of, (self.content,)

    def sharpened(self, factor: float) -> SequenceTagger:
        """The same tagger with weights times ``factor``: it finds the same, with other probabilities."""
        return SequenceTagger.of(with_weights_times(factor, self.content))

    @property
    def labels(self) -> list[str]:
        """All tags, in the order in which ties are broken."""
        labels: list[str] = self._tagger.labels()
        return labels

    def best(self, sequence: Any) -> tuple[list[str], list[float]]:
        """The most probable sequence of tags (Viterbi), and the probability of each (1 where all are outside)."""
        with self._lock:
            tags: list[str] = self._tagger.tag(sequence)
            if tags.count(OUTSIDE) == len(tags):
                return tags, [1.0] * len(tags)
            return tags, [self._tagger.marginal(tag, index) for index, tag in enumerate(tags)]

    def best_of_several(self, sequences: Sequence[tuple[Any, float]]) -> tuple[list[str], list[float]]:
        """The same for a sentence with several possible descriptions, each with its probability.

        Of their best sequences of tags, the one with the most tags expected to be right over all descriptions
        (minimum Bayes risk): so the tags still fit together.
        """
        answers = [self.best(sequence) for sequence, _ in sequences]
        if all(tags == answers[0][0] for tags, _ in answers):
            columns = zip(*(probabilities for _, probabilities in answers), strict=True)
            shares = [share for _, share in sequences]
            return answers[0][0], [sum(map(operator.mul, column, shares)) for column in columns]
        mixed = [dict.fromkeys(self.labels, 0.0) for _ in answers[0][0]]
        for sequence, share in sequences:
            for of_token, more in zip(mixed, self.marginals(sequence), strict=True):
                for label, probability in more.items():
                    of_token[label] += share * probability
        expected = [[of_token[tag] for of_token, tag in zip(mixed, tags, strict=True)] for tags, _ in answers]
        best = max(range(len(answers)), key=lambda index: sum(expected[index]))
        return answers[best][0], expected[best]

    def marginals(self, sequence: Any) -> list[dict[str, float]]:
        """For each token the probability of each tag."""
        with self._lock:
            self._tagger.set(sequence)
            labels, marginal = self.labels, self._tagger.marginal
            return [{label: marginal(label, index) for label in labels} for index in range(len(sequence))]


def train_tagger(
    sequences: Iterable[tuple[Any, Sequence[str]]], algorithm: str, parameters: Mapping[str, float | int | bool]
) -> SequenceTagger:
    """Train a CRF on ``(features of each token, tag of each token)`` pairs.

    ``algorithm`` and ``parameters`` are CRFsuite's (``lbfgs``, ``pa`` …). The same input gives the same tagger.

    Raises:
        UserError: there is no room for the trained model.
    """
    return train_taggers(sequences, algorithm, parameters)[0]


def train_taggers(
    sequences: Iterable[tuple[Any, Sequence[str]]],
    algorithm: str,
    parameters: Mapping[str, float | int | bool],
    pieces: Sequence[AbstractSet[int]] = (),
) -> list[SequenceTagger]:
    """Train a CRF as :func:`train_tagger` does, and then one without each of the pieces (indexes of sequences).

    No sequence is in two pieces.

    Raises:
        UserError: as above.
    """
    from turncheck.engines.embedded.nlu.crf_training import NO_GROUP, StoppableTrainer

    group_of = {number: group for group, piece in enumerate(pieces, start=1) for number in piece}
    trainer = StoppableTrainer(algorithm, parameters)
    for number, (features, tags) in enumerate(sequences):
        trainer.append(features, [encodable(tag) for tag in tags], group_of.get(number, 0))
    return [_opened(trainer.trained(group)) for group in (NO_GROUP, *range(1, len(pieces) + 1))]


def _opened(content: bytes) -> SequenceTagger:
    try:
        return SequenceTagger.of(content)
    except ValueError as error:  # CRFsuite does not report that it could not write
        raise UserError(
            f"the CRF that was trained could not be stored completely: {error}",
            remedy="Is there room in memory and in the temporary folder (TMPDIR), and may a file be as large?",
        ) from None


def tags_by_marginals(marginals: Sequence[Mapping[str, float]], *, bilou: bool) -> TagColumn:
    """Choose for each token the tag with the highest marginal, as Rasa does, and make BILOU tags consistent.

    With BILOU the confidence is the sum over all tags of the same entity, without it the tag's own.
    """
    tags = [max(of_token, key=of_token.__getitem__) for of_token in marginals]
    if not bilou:
        return TagColumn(tags, [of_token[tag] for of_token, tag in zip(marginals, tags, strict=True)])
    confidences = [
        sum(probability for other, probability in of_token.items() if name_of(other) == name_of(tag))
        for of_token, tag in zip(marginals, tags, strict=True)
    ]
    return TagColumn(*repair_bilou(tags, confidences))


def raw_tags(marginals: Sequence[Mapping[str, float]]) -> list[str]:
    """The tag with the highest marginal for each token, unrepaired: what Rasa's role and group taggers see."""
    return [max(of_token, key=of_token.__getitem__) for of_token in marginals]
