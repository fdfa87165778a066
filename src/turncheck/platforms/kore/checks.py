"""Checks of the export of a Kore.ai assistant: what the platform refuses, or what its documentation advises against."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Name
from turncheck.messages.phrasing import count
from turncheck.platforms.kore.model import KoreIntent, bot_of
from turncheck.project.batch.model import comparable, why_unusual
from turncheck.project.export import in_order
from turncheck.validation.findings import found
from turncheck.validation.similarity import near_duplicates, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Finding
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example

_FEW: Final = 5
_SPECIAL: Final = re.compile(r"[^\w\s'’-]")
_KINDS: Final = {"dialog": "dialog", "faq": "FAQ", "small_talk": "small talk", "trait": "trait"}


def findings(project: Project, *, strict: bool) -> Iterator[Finding]:
    """Yield everything wrong with an assistant, including what was found while its export was read.

    For a very frequent fault only some places are named, with their total. ``strict``: also what is only advice.
    """
    yield from in_order(_all_findings(project, strict=strict))


def _all_findings(project: Project, *, strict: bool) -> Iterator[Finding]:
    bot = bot_of(project)
    yield from project.findings
    if bot is None:
        return
    yield from bot.findings
    for of_one_language in (bot.utterances, *bot.others.values()):
        yield from _repeated_sentences(of_one_language)
    yield from _intents_without_utterances(bot.intents)
    for of_one_language in bot.phrases.values():
        yield from _repeated_phrases(of_one_language)
    yield from _same_names(bot.intents)
    if strict:
        yield from _few_utterances(bot.intents)
        yield from _nearly_the_same(project.nlu.examples)
        yield from _unusual_names(bot.intents)


def _of(intent: KoreIntent) -> tuple[Name, ...]:
    return (Name("intent", intent.name),)


def _of_two(sentence: str, example: Example, rival: Example) -> tuple[Name, ...]:
    return Name("sentence", sentence), Name("intent", str(example.intent)), Name("intent", str(rival.intent))


def _repeated_sentences(utterances: Iterable[Example]) -> Iterator[Finding]:
    """Report each sentence that equals an earlier one: of its own intent, else of another."""
    first: dict[str, dict[str | None, Example]] = {}
    for example in utterances:
        known = first.setdefault(example.text.casefold(), {})
        if (same := known.get(example.intent)) is not None:
            message = f"The sentence '{shown(example.text)}' appears twice in '{example.intent}'."
            about = (Name("sentence", example.text.casefold()), Name("intent", str(example.intent)))
            yield found("kore-duplicate-sentence", message, example.location, others=[same.location], about=about)
        elif known:
            rival = next(iter(known.values()))
            message = f"The sentence '{shown(example.text)}' of '{example.intent}' is also in '{rival.intent}'."
            subject = example.text.casefold()
            yield found(
                "kore-sentence-in-two-intents",
                message,
                example.location,
                others=[rival.location],
                subject=subject,
                about=_of_two(subject, example, rival),
            )
        known.setdefault(example.intent, example)


def _intents_without_utterances(intents: Iterable[KoreIntent]) -> Iterator[Finding]:
    for intent in intents:
        if intent.kind == "dialog" and not intent.examples and not intent.hidden:
            message = f"The dialog '{shown(intent.name)}' has no utterances."
            yield found("kore-intent-without-utterances", message, intent.location, about=_of(intent))


def _repeated_phrases(phrases: Iterable[Example]) -> Iterator[Finding]:
    first: dict[str, Example] = {}
    for example in phrases:
        rival = first.setdefault(example.text.casefold(), example)
        if rival.intent != example.intent:
            message = f"The phrase '{shown(example.text)}' of the FAQ '{shown(str(example.intent))}' is also in"
            message += f" '{shown(str(rival.intent))}'."
            about = _of_two(example.text.casefold(), example, rival)
            yield found("kore-phrase-in-two-faqs", message, example.location, others=[rival.location], about=about)


def _same_names(intents: Iterable[KoreIntent]) -> Iterator[Finding]:
    first: dict[str, KoreIntent] = {}
    for intent in intents:
        rival = first.setdefault(comparable(intent.name), intent)
        if rival is not intent:
            message = f"The {_KINDS[intent.kind]} '{shown(intent.name)}' has the name of the {_KINDS[rival.kind]}"
            message += f" '{shown(rival.name)}'."
            yield found("kore-same-name", message, intent.location, others=[rival.location], about=_of(intent))


def _few_utterances(intents: Iterable[KoreIntent]) -> Iterator[Finding]:
    for intent in intents:
        if intent.kind == "dialog" and 0 < intent.examples < _FEW and not intent.hidden:
            message = f"The dialog '{shown(intent.name)}' has {count(intent.examples, 'utterance')}."
            yield found("kore-few-utterances", message, intent.location, about=_of(intent))


def _nearly_the_same(examples: Iterable[Example]) -> Iterator[Finding]:
    for example, rival in near_duplicates(tuple(examples)):
        if example.text.casefold() != rival.text.casefold():
            message = f"'{shown(example.text)}' of '{shown(str(example.intent))}' is nearly the same as"
            message += f" '{shown(rival.text)}' of '{shown(str(rival.intent))}'."
            about = (*_of_two(example.text, example, rival), Name("sentence", rival.text))
            yield found("kore-nearly-the-same", message, example.location, others=[rival.location], about=about)


def _unusual_names(intents: Iterable[KoreIntent]) -> Iterator[Finding]:
    for intent in intents:
        if intent.kind != "dialog" or intent.hidden:
            continue
        special = "".join(dict.fromkeys(_SPECIAL.findall(intent.name)))
        if (why := why_unusual(intent.name, special)) is not None:
            message = f"The name '{shown(intent.name)}' {why}."
            yield found("kore-name-unusual", message, intent.location, about=_of(intent))
