"""Rasa's CRFEntityExtractor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from turncheck.engines.embedded.nlu.crf import (
    ATTRIBUTES,
    Attribute,
    SequenceTagger,
    TagColumn,
    TaggedEntity,
    encodable,
    raw_tags,
    read_entities,
    tags_by_marginals,
    tags_of,
    train_tagger,
)
from turncheck.engines.embedded.nlu.featurizers import check_windows
from turncheck.engines.parse import PredictedEntity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, TokenPatterns, Tokens, Training

_TEXTS: Final[Mapping[str, Callable[[str], str]]] = {
    "low": str.lower,
    "prefix5": lambda word: word[:5],
    "prefix2": lambda word: word[:2],
    "suffix5": lambda word: word[-5:],
    "suffix3": lambda word: word[-3:],
    "suffix2": lambda word: word[-2:],
    "suffix1": lambda word: word[-1:],
    "bias": lambda _: "bias",
}
_SWITCHES: Final[Mapping[str, Callable[[str], bool]]] = {
    "title": str.istitle,
    "upper": str.isupper,
    "digit": str.isdigit,
}
_NAMES: Final = frozenset({*_TEXTS, *_SWITCHES, "pattern", "pos", "pos2", "text_dense_features"})

Features = list["dict[str, str | float]"]


@dataclass(frozen=True, slots=True)
class CRFEntityExtractor:
    """Rasa's CRFEntityExtractor: a CRF for entities, and one each for roles and groups if the data have any."""

    taggers: Mapping[Attribute, SequenceTagger]
    parameters: Mapping[str, Any]

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Training) -> Self | None:
        """Train on all examples; ``None`` if none has an entity.

        Raises:
            UserError: the number of feature windows is even, or a feature unknown.
        """
        check_windows("CRFEntityExtractor", parameters["features"], _NAMES)
        if not any(example.entities for example in training.examples):
            return None
        bilou = parameters["BILOU_flag"]
        rows = [row for row, example in enumerate(training.examples) if example.text]
        tags = {
            attribute: [
                tags_of(training.examples[row].entities, training.batch.tokens[row], attribute, bilou=bilou)
                for row in rows
            ]
            for attribute in ATTRIBUTES
            if any(getattr(entity, attribute) for example in training.examples for entity in example.entities)
        }
        entity_tags = tags.get("entity")
        taggers: dict[Attribute, SequenceTagger] = {}
        for attribute, of_rows in tags.items():
            known = entity_tags if attribute != "entity" else None
            features = _training_features(training.batch, rows, parameters, known)
            taggers[attribute] = train_tagger(zip(features, of_rows, strict=True), "lbfgs", _crfsuite(parameters))
        return cls(taggers, parameters)

    def process(self, batch: Batch) -> None:
        """Append the entities found."""
        for row, text in enumerate(batch.texts):
            if text:
                batch.entities[row].extend(self._extract(text, batch.tokens[row], *_of_row(batch, row)))

    def _extract(
        self, text: str, tokens: Tokens, patterns: TokenPatterns | None, dense: Any | None
    ) -> Iterator[PredictedEntity]:
        columns: dict[Attribute, TagColumn] = {}
        entity_tags: Sequence[str] | None = None
        bilou = self.parameters["BILOU_flag"]
        for attribute, tagger in self.taggers.items():
            features = token_features(tokens, self.parameters["features"], patterns, dense, entity_tags)
            marginals = tagger.marginals(features)
            columns[attribute] = tags_by_marginals(marginals, bilou=bilou)
            if attribute == "entity":
                entity_tags = raw_tags(marginals)
        for entity in read_entities(tokens, columns, self.parameters["split_entities_by_comma"]):
            yield as_predicted(text, entity, "CRFEntityExtractor")

    def save(self, members: MemberWriter) -> None:
        """Write CRFsuite's files."""
        members.json("taggers", list(self.taggers))
        for attribute, tagger in self.taggers.items():
            members.content(f"{attribute}.crfsuite", tagger.content)

    @classmethod
    def load(cls, parameters: Mapping[str, Any], members: MemberReader) -> Self:
        """Read CRFsuite's files."""
        check_windows("CRFEntityExtractor", parameters["features"], _NAMES)
        taggers = {
            attribute: SequenceTagger.of(members.content(f"{attribute}.crfsuite"))
            for attribute in members.json("taggers", list[Attribute])
        }
        return cls(taggers, parameters)


def as_predicted(text: str, entity: TaggedEntity, extractor: str) -> PredictedEntity:
    """Make the engine's entity: its value is the text it covers."""
    extra: dict[str, Any] = {}
    if entity.role_confidence is not None:
        extra["confidence_role"] = entity.role_confidence
    if entity.group_confidence is not None:
        extra["confidence_group"] = entity.group_confidence
    return PredictedEntity(
        start=entity.start,
        end=entity.end,
        entity=entity.entity,
        value=text[entity.start : entity.end],
        extractor=extractor,
        role=entity.role,
        group=entity.group,
        confidence=entity.confidence,
        extra=extra,
    )


def _crfsuite(parameters: Mapping[str, Any]) -> dict[str, float | int | bool]:
    return {
        "c1": parameters["L1_c"],
        "c2": parameters["L2_c"],
        "max_iterations": parameters["max_iterations"],
        "feature.possible_transitions": True,
    }


def _of_row(batch: Batch, row: int) -> tuple[TokenPatterns | None, Any | None]:
    return (
        None if batch.patterns is None else batch.patterns[row],
        None if batch.dense_token_features is None else batch.dense_token_features[row],
    )


def _training_features(
    batch: Batch, rows: Sequence[int], parameters: Mapping[str, Any], entity_tags: Sequence[Sequence[str]] | None
) -> Iterator[Features]:
    for index, row in enumerate(rows):
        known = None if entity_tags is None else entity_tags[index]
        yield token_features(batch.tokens[row], parameters["features"], *_of_row(batch, row), known)


def token_features(
    tokens: Tokens,
    windows: Sequence[Sequence[str]],
    patterns: TokenPatterns | None,
    dense: Any | None,
    entity_tags: Sequence[str] | None,
) -> Features:
    """Describe each token by itself and its neighbours.

    ``windows`` is Rasa's ``features``: for the tokens before, the token itself, those after. ``entity_tags`` are passed
    to the taggers of roles and groups.
    """
    half = len(windows) // 2
    count = len(tokens.words)
    own = [
        [
            _of_word(
                word,
                window,
                None if patterns is None else patterns[index],
                None if dense is None else dense[index],
                None if tokens.tags is None else tokens.tags[index],
            )
            for window in windows
        ]
        for index, word in enumerate(tokens.words)
    ]
    described: Features = []
    for index in range(count):
        features: dict[str, str | float] = {}
        for position in range(-half, half + 1):
            other = index + position
            if other >= count:
                features["EOS"] = 1.0
            elif other < 0:
                features["BOS"] = 1.0
            else:
                features.update((f"{position}:{name}", value) for name, value in own[other][position + half])
                if entity_tags is not None:
                    features[f"{position}:entity"] = encodable(entity_tags[other])
        described.append(features)
    return described


def _of_word(
    word: str, window: Sequence[str], patterns: Mapping[str, bool] | None, dense: Any | None, tag: str | None
) -> list[tuple[str, str | float]]:
    found: list[tuple[str, str | float]] = []
    word = encodable(word)
    for name in window:
        if name in _TEXTS:
            found.append((name, _TEXTS[name](word)))
        elif name in _SWITCHES:
            found.append((name, float(_SWITCHES[name](word))))
        elif name == "pattern":
            found.extend((f"pattern:{encodable(pattern)}", float(hit)) for pattern, hit in (patterns or {}).items())
        elif name in {"pos", "pos2"} and tag is not None:
            found.append((name, tag if name == "pos" else tag[:2]))
        elif name == "text_dense_features" and dense is not None:
            found.extend((f"text_dense_features:{index}", float(value)) for index, value in enumerate(dense))
    return found
