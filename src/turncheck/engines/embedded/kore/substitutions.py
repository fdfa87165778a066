"""What replaces which of the platform's engines, and what is left out: a reader must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.engines.embedded.kore.unknown import unknown_entities
from turncheck.messages.plurals import count
from turncheck.report.model import Substitution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.kore.model import KoreBot

_SIMILARITY: Final = "the nearest phrase by the cosine of word and character n-grams"
_NOT_EXPORTED: Final = "the platform's model is not in the export"
_MOST_NAMED: Final = 10


def substitutions(bot: KoreBot, threshold: float, near_enough: float) -> Iterator[Substitution]:
    """Yield the substitutions for what the assistant has."""
    kinds = {intent.kind for intent in bot.intents}
    if "dialog" in kinds:
        used = "a linear model over word and character n-grams (intents), and a CRF, lists and patterns (entities)"
        yield Substitution(component="Machine Learning engine", used=used, reason=_NOT_EXPORTED)
    if "faq" in kinds:
        reason = "terms, tags and synonyms of the graph are not used here"
        yield Substitution(component="Knowledge Graph (FAQs)", used=_SIMILARITY, reason=reason)
    if "small_talk" in kinds:
        patterns = sum(intent.patterns for intent in bot.of_kind("small_talk"))
        reason = f"{count(patterns, 'pattern')} of it run only on the platform" if patterns else _NOT_EXPORTED
        yield Substitution(component="Small talk", used=_SIMILARITY, reason=reason)
    if "trait" in kinds:
        rules = f"; {count(bot.rules, 'trait rule')} of intents not applied" if bot.rules else ""
        used = "the overlap with the words of a trait's own sentences"
        yield Substitution(component="Trait engine", used=used, reason=f"{_NOT_EXPORTED}{rules}")
    if bot.patterns or bot.concepts:
        counted = ((bot.patterns, "pattern"), (bot.concepts, "concept"))
        what = [count(number, name) for number, name in counted if number]
        verb = "run" if bot.patterns + bot.concepts > 1 else "runs"
        reason = f"{' and '.join(what)} {verb} only on the platform"
        yield Substitution(component="Fundamental Meaning engine", used=None, reason=reason)
    if {"faq", "small_talk"} & kinds or "dialog" in kinds:
        used = f"the nearer of dialogs (from a confidence of {threshold:g} on) and phrases (from {near_enough:g} on)"
        reason = "scores and thresholds of the platform's engines are not reproduced"
        yield Substitution(component="Ranking and Resolver", used=used, reason=reason)
    yield from _not_found(bot)


def _not_found(bot: KoreBot) -> Iterator[Substitution]:
    by_reason: dict[str, list[str]] = {}
    for name, reason in unknown_entities(bot).items():
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        component = f"Recognition of {', '.join(names[:_MOST_NAMED])}{more}"
        yield Substitution(component=component, used=None, reason=f"{reason}; not evaluated")


def notes(bot: KoreBot) -> Iterator[str]:
    """Yield further remarks: which parts of the assistant are not judged."""
    for language, sentences in bot.others.items():
        yield f"Not judged: {count(len(sentences), 'sentence')} in '{language}'; --language {language} judges them."
    if bot.is_universal:
        linked = f" ({', '.join(bot.links[:_MOST_NAMED])})" if bot.links else ""
        yield f"A universal bot: the bots that it asks{linked} have exports of their own."
