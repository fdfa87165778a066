"""Coverage of a Kore.ai assistant: which intents and entities of its export the judged sentences and suites reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.evaluations.coverage import coverage_item, kind_coverage
from turncheck.platforms.kore.model import bot_of
from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.report.batch import Batch
    from turncheck.report.model import KindCoverage, Nlu


def coverage(
    project: Project, sentences: Iterable[Example], nlu: Nlu | None, batch: Batch | None
) -> dict[str, KindCoverage]:
    """Return the intents (dialogs, FAQs, small talk) and entities, each with whether something reaches it.

    Args:
        project: what the export holds.
        sentences: the test sentences, or, in cross-validation, the assistant's own; they reach their intents.
        nlu: what was judged: entities that are not evaluated here are not reached.
        batch: the suites that ran.
    """
    if (bot := bot_of(project)) is None:
        raise ValueError("not a Kore.ai assistant")
    known = bot.known_names()
    predictions = nlu.predictions if nlu is not None else ()
    cases = [case for suite in batch.suites for case in suite.cases] if batch is not None else []
    intents = {known.canonical(sentence.intent) for sentence in sentences if sentence.intent}
    intents |= {known.canonical(name) for case in cases for name in case.expected if case.kind != "trait"}
    entities = {comparable(entity.entity) for prediction in predictions for entity in prediction.expected.entities}
    entities |= {comparable(entity.name) for case in cases for entity in case.entities}
    examples = _texts(project)
    of_intents = [
        coverage_item(
            intent.name,
            intent.location,
            (intent.kind, intent.aliases, sorted(examples.get(intent.name, ()))),
            known.canonical(intent.name) in intents,
            is_telling=bool(examples.get(intent.name)),
        )
        for intent in {comparable(kore_intent.name): kore_intent for kore_intent in reversed(bot.intents)}.values()
        if intent.kind != "trait" and intent.in_total
    ]
    of_entities = [
        coverage_item(
            kore_entity.name,
            kore_entity.location,
            (kore_entity.type, kore_entity.values, kore_entity.pattern, kore_entity.multiple),
            comparable(kore_entity.name) in entities,
            is_telling=False,
        )
        for kore_entity in {comparable(entity.name): entity for entity in reversed(bot.entities)}.values()
    ]
    return {"intents": kind_coverage(of_intents[::-1]), "entities": kind_coverage(of_entities[::-1])}


def _texts(project: Project) -> Mapping[str, list[str]]:
    texts: dict[str, list[str]] = {}
    for example in project.nlu.examples:
        texts.setdefault(example.intent or "", []).append(example.text)
    return texts
