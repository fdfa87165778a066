"""Eight ways in which people write the same thing differently: seven families of noise, and another entity value.

The families are those of Sengupta et al. 2021 (On the Robustness of Intent Classification and Slot Labeling in
Goal-oriented Dialog Systems to Real-world Noise, NLP4ConvAI). In terms of CheckList (Ribeiro et al. 2020), that the
label stays the same is an invariance test, that the value changes accordingly is a directional expectation test.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.evaluations.robustness.words import Words, neighbours_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Mapping

    from turncheck.project.nlu_data import EntityAnnotation, Example


# A sentence that is varied, and its annotations, which move with its text.

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Sentence(Struct, frozen=True):
    """A text with its entities; offsets are code points."""

    text: str
    intent: str
    entities: tuple[EntityAnnotation, ...] = ()

    def edited(self, start: int, end: int, new: str) -> Sentence:
        """Replace the text between two offsets outside entities; the entities after it move along."""
        shift = len(new) - (end - start)
        moved = tuple(
            replace(entity, start=entity.start + shift, end=entity.end + shift) if entity.start >= end else entity
            for entity in self.entities
        )
        return replace(self, text=self.text[:start] + new + self.text[end:], entities=moved)

    def is_free(self, start: int, end: int) -> bool:
        """Whether no entity overlaps the text between two offsets."""
        return all(end <= entity.start or start >= entity.end for entity in self.entities)

    def words(self) -> list[tuple[int, int, str]]:
        """Return the words outside entities and numbers: borders and text."""
        found = ((match.start(), match.end(), match[0]) for match in _WORD.finditer(self.text))
        return [one for one in found if self.is_free(one[0], one[1]) and not self._is_no_prose(one[0], one[1])]

    def _is_no_prose(self, start: int, end: int) -> bool:
        """Whether a word is a part of a number, an address or similar."""
        before, behind = self.text[:start].split(" ")[-1], self.text[end:].split(" ")[0]
        around = f"{before} {behind.rstrip('.,;:!?')}"
        return any(letter.isdigit() or letter in "@/_#{}.:" for letter in around)


def words_of(texts: Iterable[str]) -> set[str]:
    """Return the case-folded words of texts."""
    return {match[0].casefold() for text in texts for match in _WORD.finditer(text)}


def folded(text: str) -> str:
    """Normalise a sentence to its words: two sentences with the same words count as the same."""
    return " ".join(match[0].casefold() for match in re.finditer(r"\w+", text))


_SHORTEST: Final = 5
"""Words with fewer letters do not get a typo: they would become other words."""
_FEWEST_WORDS: Final = 3
"""Shorter sentences do not get polite words: nobody says "excuse me, hello"."""
_GERMAN: Final = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}
_ONE_LETTER_MORE: Final = 2
"""Words as short as this keep their accents: é and e, à and a are different words."""
_KEPT: Final = "ñÑ"
"""Letters in their own right: without the diacritic, a word becomes another one (año, ano)."""
_PRONOUN: Final = re.compile(r"\s+(?:I|you|we|they|he|she|it)\b", re.IGNORECASE)
_END: Final = re.compile(r"[\s.!?…。！？]*$")


@dataclass
class Noise:
    """Makes variants for one project, from the words of its language, without what its training sentences rule out."""

    language: str
    words: Words
    training: tuple[Example, ...]
    _texts: dict[str, str] = field(init=False, default_factory=dict)

    def variant(self, family: str, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """Return a variant of a family, ``None`` if there is none with the same meaning."""
        made = FAMILIES[family](self, sentence, chance)
        if made is None or made.text == sentence.text or not made.text.strip():
            return None
        owner = self.owners.get(folded(made.text))
        return None if owner is not None and owner - {sentence.intent} else made

    @cached_property
    def owners(self) -> Mapping[str, set[str]]:
        """The intents of each training sentence."""
        found: dict[str, set[str]] = {}
        for example in self.training:
            found.setdefault(folded(example.text), set()).add(example.base_intent or "")
        return found

    @cached_property
    def vocabulary(self) -> Mapping[str, set[str]]:
        """The words of each intent's training sentences."""
        texts: dict[str, list[str]] = {}
        for example in self.training:
            texts.setdefault(example.base_intent or "", []).append(example.text)
        return {intent: words_of(found) for intent, found in texts.items()}

    @cached_property
    def all_words(self) -> set[str]:
        """The words of all training sentences."""
        return set().union(*self.vocabulary.values())

    @cached_property
    def values(self) -> Mapping[tuple[str, str | None, str | None, str], dict[str, EntityAnnotation]]:
        """The entity values in the training sentences, by entity, role, group and intent."""
        found: dict[tuple[str, str | None, str | None, str], dict[str, EntityAnnotation]] = {}
        for example in self.training:
            for entity in example.entities:
                key = entity.entity, entity.role, entity.group, example.base_intent or ""
                found.setdefault(key, {}).setdefault(example.text[entity.start : entity.end], entity)
        return found

    def is_anothers(self, word: str, intent: str) -> bool:
        """Whether only other intents use a word."""
        word = word.casefold()
        return word in self.all_words and word not in self.vocabulary.get(intent, ())

    # --- the families -------------------------------------------------------------------------------------------------

    def casing(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """All in lower case, all in capitals, or with the case of the first letter swapped."""
        first = sentence.text[:1]
        # "IT" is not "it"; in a sentence entirely in capitals acronyms cannot be recognised.
        lower = str.lower if sentence.text.isupper() else _lower_but_acronyms
        ways = [lower, str.upper, str]
        chance.shuffle(ways)
        for way in ways:
            made = _outside(sentence, way)
            if made.text == sentence.text and sentence.is_free(0, 1):
                made = sentence.edited(0, 1, first.swapcase())
            if made.text != sentence.text and made.text.casefold() == sentence.text.casefold():
                return made
        return None

    def punctuation(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """Without final punctuation, with a full stop, or with different spaces."""
        end = _END.search(sentence.text)
        start = len(sentence.text) if end is None else end.start()
        ways: list[Sentence] = []
        if sentence.is_free(start, len(sentence.text)):
            if start < len(sentence.text):
                ways.append(sentence.edited(start, len(sentence.text), ""))
            elif sentence.text[-1:].isalpha() and _is_alphabetic(sentence.text):
                ways.append(sentence.edited(start, start, "."))
        gaps = [
            match.start() for match in re.finditer(" ", sentence.text) if sentence.is_free(match.start(), match.end())
        ]
        if gaps:
            place = chance.choice(gaps)
            ways.append(sentence.edited(place, place, " "))
        commas = [match.start() for match in re.finditer(r"(?<=[^\W\d]),(?= \D)", sentence.text)]
        if commas and sentence.is_free(commas[0], commas[0] + 1):
            ways.append(sentence.edited(commas[0], commas[0] + 1, ""))
        return chance.choice(ways) if ways else None

    def contraction(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """Contracted, expanded, or without the apostrophe."""
        pairs = [*self.words.contractions.items()]
        pairs += [*((other, one) for one, other in pairs), *self.words.shortened.items()]
        ways = [made for pair in pairs for made in self._replaced(sentence, *pair)]
        for start, end, word in sentence.words():
            bare = re.sub(r"['’]", "", word)
            # Without it some become other words (we'll, well): those that people write are not used.
            if bare != word and "'" in word and bare.casefold() not in {"well", "were", "hell", "shell", "ill", "its"}:
                ways.append(sentence.edited(start, end, bare))
        return chance.choice(ways) if ways else None

    def typo(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """One word with a neighbouring key, or a doubled, dropped or swapped letter; never the first one."""
        words = [
            one for one in sentence.words()
            if len(one[2]) >= _SHORTEST
            and one[2].isalpha()
            and one[2].casefold() not in self.words.kept
            and not self.is_anothers(one[2], sentence.intent)
        ]  # fmt: skip
        chance.shuffle(words)
        for start, end, word in words:
            place = chance.randrange(1, len(word) - 1)
            ways = [word[:place] + word[place] + word[place:], word[:place] + word[place + 1 :]]
            ways.append(word[:place] + word[place + 1] + word[place] + word[place + 2 :])
            ways += [word[:place] + key + word[place + 1 :] for key in neighbours_of(word[place], self.language)[:1]]
            chance.shuffle(ways)
            for made in ways:
                if made != word and made.casefold() not in self.all_words | self.words.others | self.words.kept:
                    return sentence.edited(start, end, made)
        return None

    def diacritics(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """Without accents; in German with two letters, since an umlaut often distinguishes words (möchte, mochte)."""
        del chance  # there is only one way

        def plain(text: str) -> str:
            if self.language == "de":
                text = "".join(_GERMAN.get(letter, letter) for letter in text)
            return re.sub(r"\w+", lambda match: _without_accents(match[0]), text)

        made = _outside(sentence, plain)
        before, now = words_of([sentence.text]), words_of([made.text])
        is_one_less = len(now) < len(before)  # "pâte ou pâté": two words have become one
        return None if is_one_less or any(self.is_anothers(word, sentence.intent) for word in now - before) else made

    def abbreviation(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """With one word abbreviated as in chats."""
        pairs = self.words.abbreviations.items()
        ways = [made for one, other in pairs for made in self._replaced(sentence, one, other)]
        return chance.choice(ways) if ways else None

    def _replaced(self, sentence: Sentence, one: str, other: str) -> list[Sentence]:
        """Return the sentence with a phrase replaced, unless only other intents use one of the phrases."""
        is_of_others = self._is_of_others(one, sentence.intent) or self._is_of_others(other, sentence.intent)
        return [] if is_of_others else _replaced(sentence, one, other)

    def politeness(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """With a polite phrase before or after it."""
        said = words_of([sentence.text])
        if len(said) < _FEWEST_WORDS or sentence.text.startswith("/"):
            return None
        end = _END.search(sentence.text)
        last = len(sentence.text) if end is None else end.start()
        fits = [
            not words_of([affix]) & said and not self._is_of_others(affix, sentence.intent)
            for affix in (*self.words.prefixes, *self.words.suffixes)
        ]
        places = [*((0, prefix) for prefix in self.words.prefixes), *((last, suffix) for suffix in self.words.suffixes)]
        ways = [sentence.edited(at, at, affix) for (at, affix), good in zip(places, fits, strict=True) if good]
        return chance.choice(ways) if ways else None

    def _is_of_others(self, affix: str, intent: str) -> bool:
        return any(self.is_anothers(word, intent) for word in words_of([affix]))

    def value(self, sentence: Sentence, chance: random.Random) -> Sentence | None:
        """With another value of one of its entities, which the same intent has in the training data."""
        entities = list(sentence.entities)
        chance.shuffle(entities)
        for entity_annotation in entities:
            said = sentence.text[entity_annotation.start : entity_annotation.end]
            known = self.values.get(
                (entity_annotation.entity, entity_annotation.role, entity_annotation.group, sentence.intent), {}
            )
            # A synonym fits its own context only: "pick up" is not a noun, but its value is.
            others = [
                text for text, other in known.items() if other.value == text and text.casefold() != said.casefold()
            ]
            if (
                entity_annotation.value != said
                or not others
                or any(other is not entity_annotation and _meet(entity_annotation, other) for other in entities)
            ):
                continue
            new = chance.choice(others)
            rest = replace(
                sentence, entities=tuple(other for other in sentence.entities if other is not entity_annotation)
            )
            made = rest.edited(entity_annotation.start, entity_annotation.end, new)
            moved = replace(entity_annotation, end=entity_annotation.start + len(new), value=known[new].value)
            return replace(made, entities=tuple(sorted((*made.entities, moved), key=lambda entity: entity.start)))
        return None


FAMILIES: Final[Mapping[str, Callable[[Noise, Sentence, random.Random], Sentence | None]]] = {
    "casing": Noise.casing,
    "punctuation": Noise.punctuation,
    "contraction": Noise.contraction,
    "typo": Noise.typo,
    "diacritics": Noise.diacritics,
    "abbreviation": Noise.abbreviation,
    "politeness": Noise.politeness,
    "value": Noise.value,
}


def _meet(entity_annotation: EntityAnnotation, other: EntityAnnotation) -> bool:
    return entity_annotation.start < other.end and other.start < entity_annotation.end


def _outside(sentence: Sentence, change: Callable[[str], str]) -> Sentence:
    """Change the text outside entities, from the end, so that the offsets before a change stay valid."""
    borders = sorted((entity.start, entity.end) for entity in sentence.entities)
    end = len(sentence.text)
    made = sentence
    for start, stop in [*reversed(borders), (0, 0)]:
        if stop < end:
            made = made.edited(stop, end, change(made.text[stop:end]))
        end = min(end, start)
    return made


def _replaced(sentence: Sentence, one: str, other: str) -> list[Sentence]:
    """Return the sentence with a phrase outside entities replaced; a capital at the start is kept."""
    match = re.search(rf"(?<![\w'’]){re.escape(one)}(?![\w'’])", sentence.text, re.IGNORECASE)
    if match is None or not sentence.is_free(*match.span()):
        return []
    if other.endswith("not") and _PRONOUN.match(sentence.text, match.end()):
        return []  # "aren't you" is not "are not you"
    new = other[:1].upper() + other[1:] if match[0][:1].isupper() and match.start() == 0 else other
    return [sentence.edited(*match.span(), new)]


def _lower_but_acronyms(text: str) -> str:
    return re.sub(r"\w+", lambda match: match[0] if match[0].isupper() and match[0][1:] else match[0].lower(), text)


def _without_accents(word: str) -> str:
    return word if len(word) <= _ONE_LETTER_MORE else "".join(map(_without_accent, word))


def _without_accent(letter: str) -> str:
    if letter in _KEPT:
        return letter
    base = unicodedata.normalize("NFD", letter)
    return base[0] if base[0].isascii() and base[0].isalpha() else letter


def _is_alphabetic(text: str) -> bool:
    """Whether the script is one whose sentences end with a full stop."""
    names = [unicodedata.name(letter, "") for letter in text if letter.isalpha()]
    return all(name.startswith(("LATIN", "CYRILLIC", "GREEK")) for name in names)
