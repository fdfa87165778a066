"""The reports of ``rasa_nlu.evaluate`` 0.x, which count every label, even predicted-only ones and ``no_entity``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from msgspec import structs

from turncheck.evaluation.scores import Pairs, score_every_label
from turncheck.report.tags import NO_ENTITY, read_tokens, token_labels

if TYPE_CHECKING:
    from turncheck.report.model import Nlu


def as_rasa_0_counts(nlu: Nlu) -> Nlu:
    """Return the section with the reports of Rasa NLU 0.13 to 0.15; everything else is unchanged."""
    intents = nlu.intents
    if intents is not None:
        pairs = ((one.expected.intent, one.predicted.intent) for one in nlu.predictions if one.expected.intent)
        named = Counter((expected or "", predicted or "") for expected, predicted in pairs)
        intents = structs.replace(intents, report=score_every_label(named))
    entities = {
        name: structs.replace(scores, report=_of_extractor(nlu, name, scores.tokens))
        for name, scores in nlu.entities.items()
    }
    return structs.replace(nlu, intents=intents, entities=entities)


def _of_extractor(nlu: Nlu, extractor: str, words: int) -> dict[str, Any]:
    """``words``: the number of words in all sentences; the report does not list those of sentences without entities."""
    pairs: Pairs = Counter()
    for one in nlu.predictions:
        tokens = read_tokens(one.predicted.tokens)
        found = [entity for entity in one.predicted.entities if entity.extractor == extractor]
        pairs.update(zip(token_labels(tokens, one.expected.entities), token_labels(tokens, found), strict=True))
    pairs[NO_ENTITY, NO_ENTITY] += words - pairs.total()
    return score_every_label(pairs)
