"""A conditional random field over string features, by CRFsuite; its marginals as tags; and Rasa's extractor by it."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Sized
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from msgspec import Struct

from turncheck.engines.conversation import PredictedEntity
from turncheck.engines.embedded.nlu.crf_file import NO_GROUP, StoppableTrainer, ensure_sound, with_weights_times
from turncheck.engines.embedded.nlu.featurizers import check_windows
from turncheck.messages.errors import MachineError, UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.batch import Batch, Lessons, TokenPatterns, Tokens
    from turncheck.project.nlu_data import EntityAnnotation

# Entity tags: annotations → tags of tokens, and predicted tags → entities, by Rasa's BILOU scheme and its repairs.
#
# A tag is ``O``, or (with BILOU) a prefix ``B-``, ``I-``, ``L-``, ``U-`` and the entity's name, or the bare name.

OUTSIDE: Final = "O"
_PREFIXES: Final = frozenset({"B-", "I-", "L-", "U-"})

Attribute = Literal["entity", "role", "group"]
ATTRIBUTES: Final[tuple[Attribute, ...]] = ("entity", "role", "group")
"""In the order in which Rasa trains their taggers."""


def prefix_of(tag: str) -> str:
    """``B-`` of ``B-city``; "" if there is none."""
    return tag[:2] if tag[:2] in _PREFIXES else ""


def name_of(tag: str) -> str:
    """``city`` of ``B-city``."""
    return tag[2:] if tag[:2] in _PREFIXES else tag


def tags_of(
    entities: Sequence[EntityAnnotation], tokens: Tokens, attribute: Attribute, *, bilou: bool
) -> tuple[str, ...]:
    """Return the tag of each token for one attribute of its entity."""
    return _bilou_tags(entities, tokens, attribute) if bilou else _plain_tags(entities, tokens, attribute)


def _bilou_tags(entities: Sequence[EntityAnnotation], tokens: Tokens, attribute: Attribute) -> tuple[str, ...]:
    """An entity whose borders are not token borders gets no tags; if several share a token the last counts."""
    tags = [OUTSIDE] * len(tokens.spans)
    starts = {start: index for index, (start, _) in enumerate(tokens.spans)}
    ends = {end: index for index, (_, end) in enumerate(tokens.spans)}
    for entity in entities:
        name = getattr(entity, attribute)
        first, last = starts.get(entity.start), ends.get(entity.end)
        if not name or first is None or last is None:
            continue
        if first == last:
            tags[first] = f"U-{name}"
            continue
        tags[first] = f"B-{name}"
        tags[first + 1 : last] = [f"I-{name}"] * max(0, last - first - 1)
        tags[last] = f"L-{name}"
    return tuple(tags)


def _plain_tags(entities: Sequence[EntityAnnotation], tokens: Tokens, attribute: Attribute) -> tuple[str, ...]:
    """A token is tagged by the entity it shares most characters with, the first of equals."""
    tags = []
    for start, end in tokens.spans:
        shared = [(min(end, entity.end) - max(start, entity.start), entity) for entity in entities]
        best = max(shared, key=lambda pair: pair[0], default=(0, None))
        tags.append((best[1] is not None and best[0] > 0 and getattr(best[1], attribute)) or OUTSIDE)
    return tuple(tags)


def repair_bilou(tags: Sequence[str], confidences: Sequence[float]) -> tuple[list[str], list[float]]:
    """Make predicted BILOU tags consistent: every entity is closed and has one name.

    The name is the one with the highest harmonic mean of average confidence and share of tokens (each rounded to two
    digits); a token whose name changes takes that score as confidence. So does Rasa.
    """
    tags, confidences = list(tags), list(confidences)
    for first, tag in enumerate(tags):
        if prefix_of(tag) != "B-":
            continue
        last = _end_of_run(tags, first)
        names = [name_of(other) for other in tags[first : last + 1]]
        name = names[0]
        if any(other != name for other in names):
            name, score = _most_plausible(names, confidences[first : last + 1])
            for index in range(first, last + 1):
                if name_of(tags[index]) != name:
                    confidences[index] = round(score, 2)
        if first == last:
            tags[first] = f"U-{name}"
        else:
            tags[first : last + 1] = [f"B-{name}", *[f"I-{name}"] * (last - first - 1), f"L-{name}"]
    return tags, confidences


def _end_of_run(tags: Sequence[str], first: int) -> int:
    """The index where the entity that begins at ``first`` ends: at an ``L-``, or before the first tag outside."""
    index = first + 1
    while index < len(tags) and prefix_of(tags[index]) == "I-":
        index += 1
    if index < len(tags) and prefix_of(tags[index]) == "L-":
        return index
    return index - 1


def _most_plausible(names: Sequence[str], confidences: Sequence[float]) -> tuple[str, float]:
    best: tuple[str, float] | None = None
    for name, count in Counter(names).items():
        own = [confidence for other, confidence in zip(names, confidences, strict=True) if other == name]
        average, share = round(sum(own) / len(own), 2), round(count / len(names), 2)
        score = 2 * average * share / (average + share) if average + share else 0.0
        if best is None or score > best[1]:
            best = name, score
    if best is None:  # an entity has at least one token
        raise AssertionError("no names")
    return best


class TaggedEntity(Struct):
    """An entity read off the tags; a confidence is the lowest over its tokens."""

    start: int
    end: int
    entity: str
    confidence: float
    role: str | None = None
    role_confidence: float | None = None
    group: str | None = None
    group_confidence: float | None = None


class TagColumn(Struct, frozen=True):
    """The predicted tags of one attribute, and how sure the tagger is of each."""

    tags: Sequence[str]
    confidences: Sequence[float]


def read_entities(
    tokens: Tokens, columns: Mapping[Attribute, TagColumn], split_by_comma: bool | Mapping[str, bool]
) -> list[TaggedEntity]:
    """Join tokens into entities.

    Adjacent tokens are one entity if the tags continue and at most one character is between them; with two or three
    between, only if ``split_by_comma`` is off for that entity. Another role or group begins a new one.
    """
    tagged_entities: list[TaggedEntity] = []
    before = OUTSIDE, OUTSIDE, OUTSIDE
    last_end = -1
    for index, (start, end) in enumerate(tokens.spans):
        tag = _tag(columns, "entity", index)
        if tag == OUTSIDE:
            before = OUTSIDE, before[1], before[2]
            last_end = end
            continue
        role, group = name_of(_tag(columns, "role", index)), name_of(_tag(columns, "group", index))
        name = name_of(tag)
        begins = _begins(tag, before[0]) or (role, group) != before[1:]
        if not begins and _joins(last_end, start, _splits(split_by_comma, name)):
            _extend(tagged_entities[-1], columns, index, end)
        else:
            tagged_entities.append(_new_entity(columns, index, (start, end), (name, role, group)))
        before = tag, role, group
        last_end = end
    return tagged_entities


def _tag(columns: Mapping[Attribute, TagColumn], attribute: Attribute, index: int) -> str:
    column = columns.get(attribute)
    return OUTSIDE if column is None else column.tags[index]


def _begins(tag: str, before: str) -> bool:
    prefix = prefix_of(tag)
    if not prefix:
        return before != tag
    return before == OUTSIDE or prefix == "U-" or (prefix == "B-" and before != tag)


def _splits(split_by_comma: bool | Mapping[str, bool], name: str) -> bool:
    return split_by_comma if isinstance(split_by_comma, bool) else bool(split_by_comma.get(name, True))


def _joins(last_end: int, start: int, split: bool) -> bool:
    # Rasa intends to only allow full stops, commas and blanks between, but its check accepts any characters.
    return start - last_end <= (1 if split else 3)


def _new_entity(
    columns: Mapping[Attribute, TagColumn], index: int, span: tuple[int, int], names: tuple[str, str, str]
) -> TaggedEntity:
    name, role, group = names
    entity = TaggedEntity(*span, name, columns["entity"].confidences[index])
    if role != OUTSIDE:
        entity.role, entity.role_confidence = role, columns["role"].confidences[index]
    if group != OUTSIDE:
        entity.group, entity.group_confidence = group, columns["group"].confidences[index]
    return entity


def _extend(entity: TaggedEntity, columns: Mapping[Attribute, TagColumn], index: int, end: int) -> None:
    entity.end = end
    entity.confidence = min(entity.confidence, columns["entity"].confidences[index])
    if entity.role_confidence is not None:
        entity.role_confidence = min(entity.role_confidence, columns["role"].confidences[index])
    if entity.group_confidence is not None:
        entity.group_confidence = min(entity.group_confidence, columns["group"].confidences[index])


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
        MachineError: there is no room for the trained model.
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
        MachineError: as above.
    """

    group_of = {number: group for group, piece in enumerate(pieces, start=1) for number in piece}
    trainer = StoppableTrainer(algorithm, parameters)
    for number, (features, tags) in enumerate(sequences):
        trainer.append(features, [encodable(tag) for tag in tags], group_of.get(number, 0))
    return [_opened(trainer.trained(group)) for group in (NO_GROUP, *range(1, len(pieces) + 1))]


def _opened(content: bytes) -> SequenceTagger:
    try:
        return SequenceTagger.of(content)
    except ValueError as error:  # CRFsuite does not report that it could not write
        raise MachineError(
            f"the CRF that was trained could not be stored completely: {error}",
            hint="Is there room in memory and in the temporary folder (TMPDIR), and may a file be as large?",
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


def _check_features(parameters: Mapping[str, Any], *, are_used: bool = True) -> None:
    """Check the features of each token around the one to be tagged; as Rasa, only their number if nothing uses them.

    Raises:
        UserError: an even number of lists, with which Rasa cannot train, or what :func:`check_windows` finds.
    """
    windows = parameters["features"]
    if not isinstance(windows, Sized) or len(windows) % 2 != 1:
        raise UserError("CRFEntityExtractor needs an odd number of feature lists, so that one is the token's own")
    if are_used:
        check_windows("CRFEntityExtractor", windows, _NAMES)


class CRFEntityExtractor(Struct, frozen=True):
    """Rasa's CRFEntityExtractor: a CRF for entities, and one each for roles and groups if the data have any."""

    taggers: Mapping[Attribute, SequenceTagger]
    parameters: Mapping[str, Any]

    @classmethod
    def train(cls, parameters: Mapping[str, Any], training: Lessons) -> Self | None:
        """Train on all examples; ``None`` if none has an entity.

        Raises:
            UserError: the number of feature windows is even; or there are entities, and the features are none.
        """
        has_entities = any(example.entities for example in training.examples)
        _check_features(parameters, are_used=has_entities)
        if not has_entities:
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
        _check_features(parameters)
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
