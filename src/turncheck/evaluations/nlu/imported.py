"""Files written by ``rasa test nlu`` → the report's own types. The inverse of :mod:`turncheck.render.rasa_files`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final

import msgspec
from msgspec import Struct, field, structs

from turncheck.evaluations.nlu.remarks import find_insights
from turncheck.evaluations.nlu.scores import EntityCase, Pairs, score_every_label, score_spans
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.nlu_data import whitespace_words, word_borders
from turncheck.report import model
from turncheck.report.entities import NO_ENTITY, found_by, read_tokens, to_find, token_labels, write_tokens
from turncheck.report.part import Count, Figure

# The shapes of the JSON files of ``rasa test``, with which the files are compared when they are read.
#
# As Rasa 3.6 writes them (``tests/oracle``). There may be other keys; known ones must have the right type.

Json = Any

MOST_STORIES: Final = 100_000
"""No project has more test stories; a file from anywhere may claim so, and the report lists each that failed."""
_Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_STORIES)]


class _Figures(msgspec.Struct, rename={"f1": "f1-score"}):
    precision: Figure | None = None
    recall: Figure | None = None
    f1: Figure | None = None
    support: Figure | None = None
    confused_with: dict[str, Count] | None = None


class _Conversations(msgspec.Struct):
    accuracy: Figure | None = None
    correct: _Count | None = None
    total: _Count | None = None


class _StoryFigures(msgspec.Struct):
    conversation_accuracy: _Conversations | None = None


class _Prediction(msgspec.Struct):
    name: str | None = None
    confidence: Figure | None = None


class IntentEntry(msgspec.Struct):
    """An entry of ``intent_errors.json``."""

    text: str
    intent: str | None = None
    intent_prediction: _Prediction | None = None


class ResponseEntry(msgspec.Struct):
    """An entry of ``response_selection_errors.json``."""

    text: str
    intent_response_key_target: str | None = None
    intent_response_key_prediction: _Prediction | None = None


class _Entity(msgspec.Struct):
    start: int
    end: int
    entity: str
    role: str | None = None
    group: str | None = None
    extractor: str | None = None
    confidence_entity: Figure | None = None


class EntityEntry(msgspec.Struct):
    """An entry of ``<Extractor>_errors.json``."""

    text: str
    entities: list[_Entity] | None = None
    predicted_entities: list[_Entity] | None = None


def read_json(content: str, name: str) -> Json:
    """Decode a file strictly: without NaN and lone surrogates.

    Raises:
        UserError: it is not JSON.
    """
    try:
        return msgspec.json.decode(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{name} is not JSON: {error}") from None


def ensure_entries(found: Json, shape: type[msgspec.Struct] | None, name: str) -> None:
    """Compare a list of entries with their shape; ``None``: any objects.

    Raises:
        UserError: it is not a list, or an entry has another shape.
    """
    if not isinstance(found, list):
        raise UserError(f"{name} is not a list, as `rasa test` writes it")
    _ensure(found, list[shape] if shape else list[dict[str, Any]], name)  # type: ignore[valid-type]  # made here


def ensure_report(found: Json, name: str) -> None:
    """Compare a report, label to figures, with its shape.

    Raises:
        UserError: it is not a report, or a figure is not a number.
    """
    if not isinstance(found, Mapping):
        raise UserError(f"{name} is not a report, as `rasa test` writes it")
    _ensure(found, dict[str, _Figures | Figure | None], name)
    if name.endswith("story_report.json"):
        _ensure(found, _StoryFigures, name)


def figure(row: Json, name: str) -> float:
    """Return a figure of a report's row, 0 if it has none."""
    value = row.get(name) if isinstance(row, dict) else None
    return float(value) if isinstance(value, int | float) else 0.0


def accuracy_of(report: Mapping[str, Json] | None) -> float:
    """Return the share that is right, 0 of no report.

    Until Rasa 2 a report has the micro average instead if a label was predicted that is never expected; its recall is
    the same figure.

    >>> accuracy_of({"a": {}, "micro avg": {"precision": 1.0, "recall": 0.5, "support": 4}})
    0.5
    """
    found = report or {}
    return figure(found, "accuracy") if "accuracy" in found else figure(found.get("micro avg"), "recall")


def _ensure(found: Json, shape: Any, name: str) -> None:
    try:
        msgspec.convert(found, shape)
    except (msgspec.ValidationError, RecursionError) as error:
        raise UserError(f"{name} is not as `rasa test` writes it: {error}") from None


SOURCE: Final = "Read from the files of `rasa test nlu`: rankings and training sentences are not in them."
NO_SUCCESSES: Final = (
    "The sentences whose intent is right are not listed: `rasa test nlu` writes them with --successes. The figures"
    " count them all the same."
)
NO_ERRORS: Final = "The wrong sentences are not listed: `rasa test nlu` was called with --no-errors."
RESPONSES: Final = "response_selection"
_AVERAGES: Final = frozenset({"micro avg", "macro avg", "weighted avg", "no_entity"})
_KNOWN: Final = {"start", "end", "entity", "value", "role", "group", "extractor", "confidence_entity"}


class Results(Struct, frozen=True):
    """The three files about one subject: the report and the entries; ``None`` if a file is missing."""

    report: Mapping[str, Json] | None
    errors: Sequence[Json] | None
    successes: Sequence[Json] | None

    @property
    def entries(self) -> list[Json]:
        """All entries, the wrong ones first."""
        return [*(self.errors or ()), *(self.successes or ())]


class _Sentence(Struct):
    """A judged sentence, assembled from several files."""

    text: str
    intent: str | None = None
    found: str | None = None
    confidence: float = 0.0
    response: str | None = None
    selected: str | None = None
    response_confidence: float | None = None
    expected: tuple[model.EntitySpan, ...] = ()
    predicted: tuple[model.EntitySpan, ...] = field(default=())


def import_nlu(
    intents: Results,
    responses: Results,
    extractors: Mapping[str, Results],
    *,
    places: Mapping[tuple[str, str | None], Location],
    folder: str,
) -> model.Nlu:
    """Make the report's section from the files of one ``rasa test nlu``.

    Args:
        intents: ``intent_report.json``, ``intent_errors.json``, ``intent_successes.json``.
        responses: the same for ``response_selection``.
        extractors: the same for each extractor.
        places: the places of the project's sentences, by text and intent.
        folder: the folder of the files, used as the place of a sentence whose own place is not known.

    All have the shapes of :mod:`turncheck.evaluations.nlu.imported`.

    Raises:
        UserError: a file lists more or fewer sentences than the figures count.
    """
    _ensure_counted("intent", intents)
    _ensure_counted(RESPONSES, responses)
    sentences = _sentences(intents, responses, extractors)
    known = [
        (places.get((sentence.text, sentence.intent)) or places.get((sentence.text, None)), sentence)
        for sentence in sentences
    ]
    if all(location is not None for location, _ in known):  # the order of the test data, which the files do not keep
        known.sort(key=lambda pair: pair[0].sort_key if pair[0] else ("", 0, 0))
    nowhere = Location(folder, 1)
    predictions = tuple(_prediction(sentence, place or nowhere) for place, sentence in known)
    cases = [EntityCase((), prediction.expected.entities, prediction.predicted.entities) for prediction in predictions]
    complete = all(_lists_all(extractor) for extractor in extractors.values())
    return model.Nlu(
        mode="held-out",
        folds=None,
        examples=max(len(predictions), _supported(intents)),
        intents=_intent_scores(intents),
        entities={name: _entity_scores(name, results, cases) for name, results in extractors.items()},
        entity_spans=score_spans(cases) if extractors and complete else None,
        response_selection=_response_scores(responses),
        predictions=predictions,
        unlisted=max(0, _supported(intents) - len(intents.entries)),
        insights=find_insights(predictions, seen=range(len(predictions))),
        remarks=tuple(_remarks(intents, extractors)),
    )


def _remarks(intents: Results, extractors: Mapping[str, Results]) -> Iterable[str]:
    yield SOURCE
    right = intents.report is not None and accuracy_of(intents.report) > 0
    wrong = intents.report is not None and accuracy_of(intents.report) < 1
    if right and intents.successes is None:
        yield NO_SUCCESSES
    if wrong and intents.errors is None:
        yield NO_ERRORS
    for name, results in extractors.items():
        if results.errors is None and not _flawless(results):
            yield f"{name}: its wrong sentences are not listed: `rasa test nlu` was called with --no-errors."
        if results.successes is None:
            yield f"{name}: figures of exact spans need the file {name}_successes.json (--successes)."


# --- what the files list, and what the figures count -----------------------------------------------------------------


def _supported(results: Results) -> int:
    """Return the number of sentences that the figures are based on."""
    return int(figure((results.report or {}).get("weighted avg"), "support"))


def _ensure_counted(name: str, results: Results) -> None:
    """Compare the listed sentences with the figures; both are about the sentences with such an expectation."""
    number = _supported(results)
    if not number:
        return
    right = round(accuracy_of(results.report) * number)
    for part, listed, counted in (("errors", results.errors, number - right), ("successes", results.successes, right)):
        if listed is not None and len(listed) != counted:
            what = "wrong" if part == "errors" else "right"
            raise UserError(
                f"{name}_report.json counts {counted} {what} sentences, {name}_{part}.json lists {len(listed)}: the two"
                " are not of one run, or the file was cut",
                hint="Empty the folder before `rasa test nlu` writes into it, and take all that it wrote.",
            )


def _flawless(results: Results) -> bool:
    """Whether the figures say that nothing is wrong: Rasa does not write a list of errors then."""
    rows = [row for label, row in (results.report or {}).items() if isinstance(row, dict) and label not in _AVERAGES]
    return all(figure(row, "f1-score") == 1 for row in rows)


def _lists_all(results: Results) -> bool:
    """Whether every sentence that has an entity, annotated or found, is listed."""
    return results.successes is not None and (results.errors is not None or _flawless(results))


# --- sentences -------------------------------------------------------------------------------------------------------


def _sentences(intents: Results, responses: Results, extractors: Mapping[str, Results]) -> list[_Sentence]:
    """Join the entries of all files by their texts; repeated texts by their order."""
    sentences: list[_Sentence] = []
    by_text: dict[str, list[_Sentence]] = {}

    def listed(entries: Iterable[Json], *, each_is_one: bool) -> Iterable[tuple[Json, list[_Sentence]]]:
        for entry in entries:
            there = by_text.setdefault(entry["text"], [])
            if each_is_one or not there:
                sentences.append(_Sentence(entry["text"]))
                there.append(sentences[-1])
            yield entry, there

    for entry, there in listed(intents.entries, each_is_one=True):
        prediction = entry.get("intent_prediction") or {}
        there[-1].intent, there[-1].found = entry.get("intent"), prediction.get("name") or None
        there[-1].confidence = float(prediction.get("confidence") or 0.0)
    for entry, there in listed(responses.entries, each_is_one=False):
        prediction = entry.get("intent_response_key_prediction") or {}
        one = next((sentence for sentence in there if sentence.response is None), there[0])
        one.response, one.selected = entry.get("intent_response_key_target"), prediction.get("name") or None
        one.response_confidence = float(prediction.get("confidence") or 0.0)
    for results in extractors.values():
        for entry, there in listed(results.entries, each_is_one=False):
            expected = tuple(_span(shape) for shape in entry.get("entities") or ())
            predicted = tuple(_span(shape) for shape in entry.get("predicted_entities") or ())
            for one in there:
                one.expected, one.predicted = expected, predicted
    return sentences


def _span(shape: Json) -> model.EntitySpan:
    return model.EntitySpan(
        start=shape["start"],
        end=shape["end"],
        entity=shape["entity"],
        value=shape.get("value"),
        role=shape.get("role"),
        group=shape.get("group"),
        extractor=shape.get("extractor"),
        confidence=shape.get("confidence_entity"),
        extra={key: value for key, value in shape.items() if key not in _KNOWN} or None,
    )


def _prediction(_sentence: _Sentence, location: Location) -> model.NluPrediction:
    tokens = (
        tuple(word_borders(whitespace_words(_sentence.text), _sentence.text))
        if _sentence.expected or _sentence.predicted
        else ()
    )
    return model.NluPrediction(
        text=_sentence.text,
        location=location,
        correct=_sentence.intent is None or _sentence.intent == _sentence.found,
        expected=model.ExpectedParse(intent=_sentence.intent, response=_sentence.response, entities=_sentence.expected),
        predicted=model.PredictedParse(
            intent=_sentence.found,
            confidence=_sentence.confidence,
            response=_sentence.selected,
            response_confidence=_sentence.response_confidence,
            entities=_sentence.predicted,
            tokens=write_tokens(tuple(tokens)),
        ),
    )


# --- figures ---------------------------------------------------------------------------------------------------------


def _intent_scores(intents: Results) -> model.IntentScores | None:
    if intents.report is None:
        return None
    pairs: Counter[tuple[str, str]] = Counter()
    for entry in intents.errors or ():
        pairs[str(entry.get("intent")), str((entry.get("intent_prediction") or {}).get("name") or "")] += 1
    confusions = tuple(
        model.Confusion(expected=expected, predicted=predicted, count=count)
        for (expected, predicted), count in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))
    )
    average = _average(intents.report)
    return model.IntentScores(
        report=dict(intents.report),
        accuracy=accuracy_of(intents.report),
        precision=average.precision,
        recall=average.recall,
        f1=average.f1,
        confusions=confusions,
    )


def _response_scores(responses: Results) -> model.ResponseScores | None:
    if responses.report is None:
        return None
    average = _average(responses.report)
    return model.ResponseScores(
        report=dict(responses.report),
        accuracy=accuracy_of(responses.report),
        precision=average.precision,
        recall=average.recall,
        f1=average.f1,
    )


def _entity_scores(name: str, results: Results, cases: Sequence[EntityCase]) -> model.EntityScores:
    report = results.report or {}
    spans: model.SpanScores | None = None
    if _lists_all(results):
        spans = score_spans(cases, lambda case: case.predicted_by(name))
    average = _average(report)
    return model.EntityScores(
        report=dict(report),
        precision=average.precision if report else None,
        recall=average.recall if report else None,
        f1=average.f1 if report else None,
        spans=spans,
        confusions=_confused(report),
    )


def _confused(report: Mapping[str, Json]) -> tuple[model.Confusion, ...]:
    return tuple(
        model.Confusion(expected=label, predicted=other, count=int(count))
        for label, row in report.items()
        if isinstance(row, dict)
        for other, count in (row.get("confused_with") or {}).items()
    )


def _average(report: Mapping[str, Json]) -> model.SpanScores:
    """Return the three figures of the weighted average."""
    row = report.get("weighted avg")
    return model.SpanScores(
        precision=figure(row, "precision"), recall=figure(row, "recall"), f1=figure(row, "f1-score")
    )


# The reports of ``rasa_nlu.evaluate`` 0.x, which count every label, even predicted-only ones and ``no_entity``.


def as_rasa_0_counts(nlu: model.Nlu) -> model.Nlu:
    """Return the section with the reports of Rasa NLU 0.13 to 0.15; everything else is unchanged."""
    intents = nlu.intents
    if intents is not None:
        pairs = (
            (prediction.expected.intent, prediction.predicted.intent)
            for prediction in nlu.predictions
            if prediction.expected.intent
        )
        named = Counter((expected or "", predicted or "") for expected, predicted in pairs)
        intents = structs.replace(intents, report=score_every_label(named))
    entities = {
        name: structs.replace(scores, report=_of_extractor(nlu, name, scores.tokens))
        for name, scores in nlu.entities.items()
    }
    return structs.replace(nlu, intents=intents, entities=entities)


def _of_extractor(nlu: model.Nlu, extractor: str, words: int) -> dict[str, Any]:
    """``words``: the number of words in all sentences; the report does not list those of sentences without entities."""
    pairs: Pairs = Counter()
    for prediction in nlu.predictions:
        tokens = read_tokens(prediction.predicted.tokens)
        entity_spans = found_by(extractor, prediction.predicted.entities)
        expected = to_find(extractor, prediction.expected.entities, nlu.entities)
        pairs.update(zip(token_labels(tokens, expected), token_labels(tokens, entity_spans), strict=True))
    pairs[NO_ENTITY, NO_ENTITY] += words - pairs.total()
    return score_every_label(pairs)
