"""The stand-in's entity tagger: a CRF trained passive-aggressively over lexical features and the likely intents."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec
import numpy as np

from turncheck.engines.embedded.nlu import crf
from turncheck.engines.embedded.nlu.calibration import EntityConfidence, held_out
from turncheck.engines.embedded.nlu.classifiers import DECIMALS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Tokens
    from turncheck.engines.embedded.nlu.intent_model import Ranking
    from turncheck.project.nlu_data import Example

_FEWEST_ITERATIONS: Final = 3
"""Measured on SNIPS: ten give 0.1 points more and take three times as long."""

_MOST_ITERATIONS: Final = 9

_VISITS: Final = 480_000
"""The number of words seen in all iterations together. Many types in short sentences need more than three iterations:
for HWU64's 54 types in 60,000 words, eight gain two points of F1."""

_BIAS: Final = "bias"
"""A feature of every word: by its weight the CRF learns how frequent each tag is."""

_BIAS_IN_USE: Final = 0.6, 0.85
"""Its value in prediction, if there are few sentences and if there are many. With the full value more entities are
missed than words mistaken for one: the tag of most words needs little evidence. Measured on small assistants, this
gains up to 6 points."""

_FEW, _MANY = 2_000, 10_000
"""The numbers of sentences for these two values; in between it rises with the logarithm."""

_SURE: Final = 0.8
"""From this confidence on, only the best intent counts; below it, all likely ones in proportion to theirs."""

_SHARPNESS: Final = 16.0
"""The factor on all weights. Passive-aggressive training only requires a lead of about one, with which all sequences of
tags are nearly equally probable. Measured on HWU64, 12 and 25 do as well. A power of two rounds nothing."""

_CACHED_WORDS: Final = 200_000
_Plain = tuple[tuple[str, ...], str, str, str]
"""The features of a word in its sentence; the word itself and its neighbours, in lower case."""
_DESCRIBED: Final[dict[tuple[str, ...], Sequence[_Plain]]] = {}
_CACHED_SENTENCES: Final = 4_000
_LONGEST_CACHED: Final = 50
"""Sentences that are described once for all folds; a word takes about one kilobyte."""
_REPEATED: Final = re.compile(r"(.)\1+")


class WordFeatures:
    """Describes the words of a sentence to the CRF; features that only depend on one word are computed once."""

    def __init__(self) -> None:
        self._own: dict[str, tuple[str, ...]] = {}
        self._near: dict[tuple[str, int], tuple[str, ...]] = {}

    def sequence(
        self,
        words: Sequence[str],
        intent: str | None,
        entity_tags: Sequence[str] | None,
        *,
        bias: float,
    ) -> Any:
        """Return CRFsuite's item sequence; ``entity_tags`` are passed to the taggers of roles and groups.

        ``bias`` is the value of the feature that all words have, except for these taggers.
        """
        from pycrfsuite import ItemSequence

        written = [crf.encodable(word) for word in words]
        guess = None if intent is None else crf.encodable(intent)
        known = None if entity_tags is None else [crf.encodable(tag) for tag in entity_tags]
        described = self._describe(written, guess, known)
        if known is not None:
            return ItemSequence(list(described))
        if bias == 1:  # as in training; quicker
            return ItemSequence([[*features, _BIAS] for features in described])
        return ItemSequence([{**dict.fromkeys(features, 1.0), _BIAS: bias} for features in described])

    def _describe(
        self, words: Sequence[str], intent: str | None, entity_tags: Sequence[str] | None
    ) -> Iterator[list[str]]:
        for index, (plain, own, left, right) in enumerate(self._plain(tuple(words))):
            features = list(plain)
            if intent is not None:
                features += (f"intent={intent}", f"intent|0={intent}|{own}", f"intent|-1={intent}|{left}")
            if entity_tags is not None:
                features += _tag_features(entity_tags, index, left, right)
            yield features

    def _plain(self, words: tuple[str, ...]) -> Sequence[_Plain]:
        """Describe each word without intent and tags: folds have the same sentences again and again."""
        known = _DESCRIBED.get(words)
        if known is None:
            known = list(self._described(words))
            if len(_DESCRIBED) < _CACHED_SENTENCES and len(words) <= _LONGEST_CACHED:
                _DESCRIBED[words] = known
        return known

    def _described(self, words: tuple[str, ...]) -> Iterator[_Plain]:
        low = ["", "", *(word.lower() for word in words), "", ""]
        near = [[self._neighbour(word, offset) for word in words] for offset in (-2, -1, 1, 2)]
        last = len(words) - 1
        for index, word in enumerate(words):
            features = list(self._word(word))
            features.extend(near[0][index - 2] if index > 1 else _BEGIN[0])
            features.extend(near[1][index - 1] if index > 0 else _BEGIN[1])
            features.extend(near[2][index + 1] if index < last else _END[0])
            features.extend(near[3][index + 2] if index < last - 1 else _END[1])
            own, left, right = low[index + 2], low[index + 1], low[index + 3]
            features += (f"-1|0={left}|{own}", f"0|1={own}|{right}")
            yield tuple(features), own, left, right

    def _word(self, word: str) -> tuple[str, ...]:
        features = self._own.get(word)
        if features is None:
            low = word.lower()
            sizes = range(1, min(6, len(low)))
            edges = [f"prefix={low[:size]}" for size in sizes] + [f"suffix={low[-size:]}" for size in sizes]
            features = (f"0={low}", f"shape={shape(word)}", *edges)
            if len(self._own) < _CACHED_WORDS:
                self._own[word] = features
        return features

    def _neighbour(self, word: str, offset: int) -> tuple[str, ...]:
        features = self._near.get((word, offset))
        if features is None:
            low = word.lower()
            more = (f"{offset}shape={shape(word)}", f"{offset}suffix={low[-3:]}") if abs(offset) == 1 else ()
            features = (f"{offset}={low}", *more)
            if len(self._near) < _CACHED_WORDS:
                self._near[word, offset] = features
        return features


_BEGIN: Final = (("-2=",), ("-1=",))
_END: Final = (("1=",), ("2=",))


def _tag_features(tags: Sequence[str], index: int, left: str, right: str) -> tuple[str, ...]:
    """The entity tag at the token and around it, the words beside it, and the nearest entities to both sides."""
    before = next((tag for tag in reversed(tags[:index]) if tag != crf.OUTSIDE and tag[2:] != tags[index][2:]), "")
    count = sum(tag.startswith("B-") for tag in tags[: index + 1])
    own = tags[index]
    return (
        f"tag={own}",
        f"tag-1={tags[index - 1] if index else ''}",
        f"tag+1={tags[index + 1] if index + 1 < len(tags) else ''}",
        f"tag|-1={own}|{left}",
        f"tag|+1={own}|{right}",
        f"tag|before={own}|{before}",
        f"tag|count={own}|{count}",
    )


@dataclass(frozen=True, slots=True)
class EntityModel:
    """Sentence and likely intents → entities. One CRF for entities, one each for roles and groups in the data.

    A CRF's cost grows with the square of its tags. So a tag is only the entity's name, unless an entity begins
    right after another of the same name: that is a quarter of BILOU's tags.
    """

    taggers: Mapping[crf.Attribute, crf.SequenceTagger]
    confidences: Mapping[crf.Attribute, EntityConfidence]
    """The calibration of the taggers' marginals."""
    bias: float
    """The value in prediction of the feature that all words have."""
    _words: WordFeatures = field(default_factory=WordFeatures, repr=False, compare=False)

    @classmethod
    def train(
        cls, examples: Sequence[Example], tokens: Sequence[Tokens], rankings: Sequence[Ranking], seed: int
    ) -> Self | None:
        """Train; ``rankings`` are the intents predicted for the examples by models that had not seen them.

        Taggers of the same kind that have not seen some of the examples are also trained: what they find there shows
        which confidence an entity deserves.

        Returns ``None`` if no entity is annotated along token borders.
        """
        tags: dict[crf.Attribute, list[tuple[str, ...]]] = {}
        for attribute in crf.ATTRIBUTES:
            of_all = [_few_tags(example, tokens[row], attribute) for row, example in enumerate(examples)]
            if any(tag != crf.OUTSIDE for of_text in of_all for tag in of_text):
                tags[attribute] = of_all
        if "entity" not in tags:
            return None
        pieces = _held_out([example.text for example in examples], tags["entity"], seed)
        words = WordFeatures()
        parameters = {"max_iterations": _iterations(sum(len(token.words) for token in tokens))}
        bias = _bias_in_use(len(examples))
        trained: dict[crf.Attribute, list[crf.SequenceTagger]] = {}
        for attribute, of_all in tags.items():
            sequences = (
                (
                    words.sequence(
                        tokens[row].words,
                        rankings[row][0][0] if rankings[row] else None,
                        tags["entity"][row] if trained else None,
                        bias=1.0,
                    ),
                    of_all[row],
                )
                for row in range(len(examples))
            )
            trained[attribute] = [
                tagger.sharpened(_SHARPNESS) for tagger in crf.train_taggers(sequences, "pa", parameters, pieces)
            ]
        judged = _Judged()
        for number, piece in enumerate(pieces, start=1):
            judge = cls({attribute: taggers[number] for attribute, taggers in trained.items()}, {}, bias, words)
            for row in sorted(piece):
                judged.add(examples[row], judge.marked(tokens[row], rankings[row], split_by_comma=True))
        taggers_of_all = {attribute: taggers[0] for attribute, taggers in trained.items()}
        return cls(taggers_of_all, judged.confidences(), bias, words)

    def find(
        self, tokens: Tokens, ranking: Ranking, split_by_comma: bool | Mapping[str, bool]
    ) -> list[crf.TaggedEntity]:
        """Find the entities of one sentence.

        ``ranking`` are intents that it may have, with their confidences, best first; empty if nothing is known.
        """
        tagged_entities = self.marked(tokens, ranking, split_by_comma)
        for entity in tagged_entities:
            entity.confidence = self._confidence("entity", entity.confidence)
            if entity.role_confidence is not None:
                entity.role_confidence = self._confidence("role", entity.role_confidence)
            if entity.group_confidence is not None:
                entity.group_confidence = self._confidence("group", entity.group_confidence)
        return tagged_entities

    def _confidence(self, attribute: crf.Attribute, marginal: float) -> float:
        return round(self.confidences[attribute].applied(marginal), DECIMALS)

    def marked(
        self, tokens: Tokens, ranking: Ranking, split_by_comma: bool | Mapping[str, bool]
    ) -> list[crf.TaggedEntity]:
        """Find them as above; confidences are the means of their tokens' marginal probabilities.

        Rasa takes the lowest one, which says less: for a long entity it is low, right or wrong.
        """
        columns: dict[crf.Attribute, crf.TagColumn] = {}
        entity_tags: list[str] | None = None
        likely = _likely(ranking)
        for attribute, tagger in self.taggers.items():
            described = (
                (self._words.sequence(tokens.words, intent, entity_tags, bias=self.bias), share)
                for intent, share in likely
            )
            tags, confidences = tagger.best_of_several(list(described))
            if attribute == "entity":
                if tags.count(crf.OUTSIDE) == len(tags):
                    return []
                entity_tags = tags
            columns[attribute] = crf.TagColumn(_with_beginnings(tags), confidences)
        tagged_entities = crf.read_entities(tokens, columns, split_by_comma)
        for entity in tagged_entities:
            covered = [
                index for index, (start, end) in enumerate(tokens.spans) if entity.start <= start and end <= entity.end
            ]
            marginals = {
                name: fmean(column.confidences[index] for index in covered) for name, column in columns.items()
            }
            entity.confidence = marginals["entity"]
            if entity.role is not None:
                entity.role_confidence = marginals["role"]
            if entity.group is not None:
                entity.group_confidence = marginals["group"]
        return tagged_entities

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Pickle without the cached words."""
        return EntityModel, (self.taggers, self.confidences, self.bias)

    def save(self, members: MemberWriter) -> None:
        """Write CRFsuite's files, and their calibration."""
        members.json("taggers", list(self.taggers))
        confidences = {name: [made.intercept, made.slope] for name, made in self.confidences.items()}
        members.json("confidences", confidences)
        members.json("bias", self.bias)
        for attribute, tagger in self.taggers.items():
            members.content(f"{attribute}.crfsuite", tagger.content)

    @classmethod
    def load(cls, members: MemberReader) -> Self:
        """Inverse of :meth:`save`."""
        confidences = members.json("confidences", dict[crf.Attribute, tuple[float, float]])
        if confidences.keys() != set(crf.ATTRIBUTES):
            raise ValueError(f"confidences of {', '.join(confidences)}")
        return cls(
            {
                name: crf.SequenceTagger.of(members.content(f"{name}.crfsuite"))
                for name in members.json("taggers", list[crf.Attribute])
            },
            {name: EntityConfidence(*numbers) for name, numbers in confidences.items()},
            members.json("bias", float),
        )


class _Judged(msgspec.Struct, frozen=True):
    """What taggers found in sentences that they had not seen: the marginal of each answer, and whether it is right."""

    marginals: dict[crf.Attribute, list[float]] = msgspec.field(
        default_factory=lambda: {name: [] for name in crf.ATTRIBUTES}
    )
    right: dict[crf.Attribute, list[bool]] = msgspec.field(
        default_factory=lambda: {name: [] for name in crf.ATTRIBUTES}
    )

    def add(self, example: Example, tagged_entities: Sequence[crf.TaggedEntity]) -> None:
        """Judge entities by their exact borders and name, roles and groups by those of the entity there."""
        expected = {(entity.start, entity.end): entity for entity in example.entities}
        for entity in tagged_entities:
            true = expected.get((entity.start, entity.end))
            marginals = entity.confidence, entity.role_confidence, entity.group_confidence
            for attribute, marginal in zip(crf.ATTRIBUTES, marginals, strict=True):
                if marginal is not None:
                    right = true is not None and getattr(entity, attribute) == getattr(true, attribute)
                    self.marginals[attribute].append(marginal)
                    self.right[attribute].append(right)

    def confidences(self) -> dict[crf.Attribute, EntityConfidence]:
        """Fit the calibration."""
        return {name: EntityConfidence.fit(self.marginals[name], self.right[name]) for name in crf.ATTRIBUTES}


def _likely(ranking: Ranking) -> list[tuple[str | None, float]]:
    """The intents that count, with shares that add up to 1."""
    if not ranking:
        return [(None, 1.0)]
    kept = ranking[:1] if ranking[0][1] >= _SURE else ranking
    total = sum(confidence for _, confidence in kept)
    if total <= 0:
        return [(kept[0][0], 1.0)]
    return [(intent, confidence / total) for intent, confidence in kept]


def _bias_in_use(sentences: int) -> float:
    return float(np.interp(math.log(sentences), (math.log(_FEW), math.log(_MANY)), _BIAS_IN_USE))


def _iterations(words: int) -> int:
    return max(_FEWEST_ITERATIONS, min(_MOST_ITERATIONS, _VISITS // max(1, words)))


def _held_out(texts: Sequence[str], tags: Sequence[Sequence[str]], seed: int) -> list[frozenset[int]]:
    """Choose sentences to judge, among those with entities and among the others; some with entities are left."""
    with_entities = [row for row, of_text in enumerate(tags) if any(tag != crf.OUTSIDE for tag in of_text)]
    others = sorted(set(range(len(tags))) - set(with_entities))
    return [
        frozenset({*(with_entities[row] for row in piece), *(others[row] for row in more)})
        for piece, more in zip(
            held_out([texts[row] for row in with_entities], seed),
            held_out([texts[row] for row in others], seed),
            strict=False,
        )
        if 0 < len(piece) < len(with_entities)
    ]


def _few_tags(example: Example, tokens: Tokens, attribute: crf.Attribute) -> tuple[str, ...]:
    """``I-`` for every token of an entity, ``B-`` only where one begins right after another of the same name."""
    tags: list[str] = []
    for tag in crf.tags_of(example.entities, tokens, attribute, bilou=True):
        begins = tag[:2] in {"B-", "U-"} and bool(tags) and tags[-1][2:] == tag[2:]
        tags.append(tag if tag == crf.OUTSIDE else ("B-" if begins else "I-") + tag[2:])
    return tuple(tags)


def _with_beginnings(tags: Sequence[str]) -> list[str]:
    """Write ``B-`` wherever an entity begins, as the code that reads the tags expects."""
    return [
        "B-" + tag[2:] if tag != crf.OUTSIDE and (index == 0 or tags[index - 1][2:] != tag[2:]) else tag
        for index, tag in enumerate(tags)
    ]


def shape(word: str) -> str:
    """The shape of a word: ``Xx`` for ``Paris``, ``d:d`` for ``10:30``; runs are written once."""
    classes = "".join(
        "X" if char.isupper() else "x" if char.isalpha() else "d" if char.isdigit() else char for char in word
    )
    return _REPEATED.sub(r"\1", classes)
