"""One judged sentence: from the annotation and the engine's parse to the report's own types."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluation.intents import before_fallback
from turncheck.evaluation.responses import judged_selector
from turncheck.evaluation.understood import Judgement
from turncheck.report.model import EntitySpan, ExpectedParse, Neighbour, NluPrediction, PredictedParse, RankedIntent
from turncheck.report.tags import Tokens, write_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.engines.parse import Parse, PredictedEntity, PredictedIntent
    from turncheck.project.nlu_data import EntityAnnotation, Example

RANKING_LENGTH: Final = 3
"""As much as a reader looks at; complete rankings would make up most of the report."""

_WORD: Final = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence, its parse, and the fold that judged it."""

    example: Example
    parse: Parse
    fold: int | None = None

    @property
    def correct(self) -> bool:
        """Whether the intent before the fallback is the expected one; a sentence without an intent cannot be wrong."""
        expected = self.example.base_intent
        return not expected or before_fallback(self.parse)[0].name == expected

    @property
    def tokens(self) -> Tokens:
        """The engine's tokens; words separated by white space if the engine does not return any.

        A message that names its intent itself (``/inform{"city": "Bonn"}``) skips every tokenizer and has no tokens,
        as in ``rasa test nlu``.
        """
        if self.parse.tokens is not None:
            return self.parse.tokens
        if self.example.text.lstrip().startswith("/"):
            return ()
        return tuple(word.span() for word in _WORD.finditer(self.example.text))


def shortened(parse: Parse) -> Parse:
    """Return the parse without the part of its ranking that no report shows; the first may be the fallback's intent."""
    return replace(parse, ranking=parse.ranking[: RANKING_LENGTH + 1])


def judge(
    judged: Judged, neighbours: Sequence[tuple[int, float]] = (), *, without: frozenset[str] = frozenset()
) -> NluPrediction:
    """Convert one sentence for the report; ``without`` names extractors whose entities are left out."""
    example, parse = judged.example, judged.parse
    intent, ranking, fallback = before_fallback(parse)
    response = example.retrieval_label
    selected = judged_selector(response, parse)[1] if response else None
    expected_entities = tuple(_annotated(entity) for entity in example.entities)
    found = tuple(span_found(entity) for entity in parse.entities if entity.extractor not in without)
    return NluPrediction(
        text=example.text,
        location=example.location,
        correct=judged.correct,
        expected=ExpectedParse(intent=example.base_intent, response=response, entities=expected_entities),
        predicted=PredictedParse(
            intent=intent.name,
            confidence=intent.confidence,
            ranking=ranked(ranking),
            response=selected.intent_response_key if selected else None,
            response_confidence=selected.confidence if selected else None,
            entities=found,
            fallback=fallback,
            tokens=write_tokens(judged.tokens) if expected_entities or found else "",
        ),
        neighbours=tuple(Neighbour(training=index, similarity=similarity) for index, similarity in neighbours),
        fold=judged.fold,
    )


def judgement_of(judged: Judged) -> Judgement:
    """Return what the fallback's figures need. A sentence that was not understood at all counts as a fallback."""
    intent, ranking, fallback = before_fallback(judged.parse)
    margin = ranking[0].confidence - ranking[1].confidence if len(ranking) > 1 else None
    return Judgement(judged.correct, intent.confidence, margin, fallback or intent.name is None)


def _annotated(entity: EntityAnnotation) -> EntitySpan:
    return EntitySpan(
        start=entity.start,
        end=entity.end,
        entity=entity.entity,
        value=entity.value,
        role=entity.role,
        group=entity.group,
    )


def ranked(ranking: Sequence[PredictedIntent]) -> tuple[RankedIntent, ...]:
    """Return the top of a ranking in the report's type."""
    return tuple(RankedIntent(name=one.name or "", confidence=one.confidence) for one in ranking[:RANKING_LENGTH])


def span_found(entity: PredictedEntity) -> EntitySpan:
    """Return an entity that an extractor found in the report's type."""
    extra: dict[str, Any] | None = dict(entity.extra) or None
    return EntitySpan(
        start=entity.start,
        end=entity.end,
        entity=entity.entity,
        value=entity.value,
        role=entity.role,
        group=entity.group,
        extractor=entity.extractor,
        confidence=entity.confidence,
        extra=extra,
    )
