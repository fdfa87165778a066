"""Examples of different intents that are nearly the same, or differ only in entity values.

Linear in the number of examples: sentences are compared within buckets (the same words in any order; the same words
but one; the same consonants; the same template), each with one sentence of each other intent in its bucket.
"""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Name
from turncheck.validation.checks import own_check
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.messages.finding import Finding
    from turncheck.project.nlu_data import Example
    from turncheck.validation.facts import Facts


CHECKS: Final = (
    own_check(
        "example-nearly-in-several-intents",
        "warning",
        "Nearly the same sentence appears under two intents",
        "They differ only in case, punctuation, accents, order or one word; a classifier can hardly distinguish them."
        " Keep one, or make the difference between the intents visible.",
        "- intent: affirm\n  examples: |\n    - yes, please!\n- intent: order\n  examples: |\n    - Yes please",
        "- intent: affirm\n  examples: |\n    - yes, please!\n- intent: order\n  examples: |\n    - I want to order",
        details="Two sentences count as nearly the same if at least nine tenths of their characters are equal"
        " (the ratio"
        " of Python's `difflib`, with the words as they are or in alphabetical order; one word of ten may differ, of"
        " five words only letters), unless they differ only in words like `not` or `off`. Emoji make no"
        " difference: Rasa's"
        " WhitespaceTokenizer drops them.",
        about=("sentence", "intent"),
    ),
    own_check(
        "example-differs-in-values-across-intents",
        "warning",
        "Two intents have sentences that differ only in entity values",
        "Only the value could decide the intent, and no classifier generalises that. Merge the intents, or ask for the"
        " value later.",
        "- intent: order_pizza\n  examples: |\n    - I want [pizza](dish)\n- intent: order_pasta\n  examples: |\n"
        "    - I want [pasta](dish)",
        "- intent: order\n  examples: |\n    - I want [pizza](dish)\n    - I want [pasta](dish)",
        about=("sentence", "intent"),
    ),
    own_check(
        "example-differs-in-values-only",
        "info",
        "Examples of an intent differ only in entity values",
        "A few help, but many teach nothing new and outweigh the others. Use a lookup table for the values, and vary"
        " the sentences.",
        "- to [Rome](city)\n- to [Oslo](city)\n- to [Bern](city)\n- to [Bonn](city)\n- to [Nice](city)",
        "- to [Rome](city)\n- I travel to [Oslo](city) tomorrow\n- [Bern](city), please",
        about=("sentence", "intent"),
    ),
)


# Sentences as words, for the checks that compare them.

_WORD: Final = re.compile(r"\w+")
_PLAIN_WORD: Final = re.compile(r"\w+(?:#+(?![\w#]))?")
"""Includes a trailing number sign, which Rasa's WhitespaceTokenizer keeps: ``C#`` is not ``C``."""
_SHOWN: Final = 200


def shown(text: str) -> str:
    """Return text as messages quote it: complete, or its first 200 characters."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def normalised(text: str) -> tuple[str, ...]:
    """Return the words of a sentence, without case and punctuation."""
    return tuple(_WORD.findall(text.casefold()))


def plain_words(text: str) -> tuple[str, ...]:
    """The words without case, punctuation and accents: ``naïve`` is ``naive``."""
    if not text.isascii():
        import unicodedata  # only for text beyond ASCII

        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return tuple(_PLAIN_WORD.findall(text.casefold()))


def word_spans(text: str) -> list[tuple[str, int, int]]:
    """Return the words without case, each with its start and end in the text."""
    return [(match[0].casefold(), match.start(), match.end()) for match in _WORD.finditer(text)]


def splits_word(text: str, offset: int) -> bool:
    """Whether ``offset`` is between two characters of one word."""
    return 0 < offset < len(text) and _is_word(text[offset - 1]) and _is_word(text[offset])


def _is_word(character: str) -> bool:
    return _WORD.match(character) is not None


SIMILARITY: Final = 0.9
"""From this share of common characters on (difflib's ratio) two sentences count as nearly the same."""
_FEWEST_WORDS: Final = 4
_FEWEST_CONSONANTS: Final = 4
_DOUBLED: Final = re.compile(r"(.)\1+")
_VOWELS: Final = re.compile("[aeiouy]+")
_MOST_WORDS: Final = 30
_MOST_RIVALS: Final = 8
_LONGEST: Final = 500
_MANY_OF_ONE_TEMPLATE: Final = 5
_TURNING: Final = frozenset(
    {
        *("not", "no", "never", "without", "can", "cannot", "don", "doesn", "didn", "won", "isn", "t"),
        *("on", "off", "in", "out", "up", "down", "nicht", "kein", "keine", "ne", "pas"),
    }
)
"""Words that make the opposite of a sentence: sentences that only differ by them are meant to differ."""
_BESIDE_TURNING: Final = frozenset({"do", "does", "did"})
_BEARING: Final = _TURNING - {"can", "in", "out", "up", "down"}
"""Words whose meaning depends on the words beside them: their order counts."""


def check_similar_examples(facts: Facts) -> Iterator[Finding]:
    """Near-duplicates across two intents: the same but for case, punctuation, accents and order, or similar enough."""
    for example, rival in near_duplicates(facts.project.nlu.examples):
        yield found(
            "example-nearly-in-several-intents",
            f"The example '{example.text}' of '{example.base_intent}' is nearly the same as '{rival.text}' of"
            f" '{rival.base_intent}' ({rival.location}).",
            example.location,
            others=[rival.location],
            subject=" / ".join(sorted((example.text, rival.text))),
            about=(
                *(Name("sentence", one.text) for one in (example, rival)),
                *(Name("intent", one.base_intent or "") for one in (example, rival)),
            ),
        )


def near_duplicates(examples: Sequence[Example]) -> Iterator[tuple[Example, Example]]:
    """Yield examples, each text once, with a nearly equal one of another intent that comes before it in the alphabet.

    Which two of several are named must not depend on their order in the files.
    """
    shared = _SharedSignatures(examples)
    buckets: dict[tuple[str, ...], dict[str, Example]] = {}
    reported: set[str] = set()
    for example in sorted(examples, key=lambda one: (one.text, one.base_intent or "")):
        if not example.base_intent:
            continue
        words = plain_words(example.text)
        keys = shared.of(words)
        if not keys:
            continue
        rival = _near(example, words, keys, buckets, SIMILARITY)
        if rival is not None and example.text not in reported:
            reported.add(example.text)
            yield example, rival
        for key in keys:
            buckets.setdefault(key, {}).setdefault(example.base_intent, example)


class _SharedSignatures:
    """Which signatures may occur in more than one intent: hash tables that are either right or say "maybe".

    Most signatures belong to one sentence; keeping a bucket for each would take more memory than all the rest. The
    tables grow with the sentences, some eight signatures each: in full tables everything would be "maybe".
    """

    _NOBODY, _SEVERAL = 0, 0xFFFF
    _FEWEST_BITS, _MOST_BITS = 16, 28
    _SLOTS_OF_A_SENTENCE = 32

    def __init__(self, examples: Sequence[Example]) -> None:
        wanted = (len(examples) * self._SLOTS_OF_A_SENTENCE).bit_length()
        self._bits = min(max(wanted, self._FEWEST_BITS), self._MOST_BITS)
        size = 1 << self._bits
        self._mask = size - 1
        self._tables = (array("H", bytes(2 * size)), array("H", bytes(2 * size)))
        numbers: dict[str, int] = {}
        for example in examples:
            if example.base_intent:
                owner = 1 + numbers.setdefault(example.base_intent, len(numbers)) % (self._SEVERAL - 1)
                self._add(_codes(plain_words(example.text)), owner)

    def _add(self, codes: Iterable[int], owner: int) -> None:
        one, other = self._tables
        mask, bits = self._mask, self._bits
        for code in codes:
            slot = code & mask
            known = one[slot]
            if known != owner:
                one[slot] = self._SEVERAL if known else owner
            slot = code >> bits & mask
            known = other[slot]
            if known != owner:
                other[slot] = self._SEVERAL if known else owner

    def _holds(self, code: int) -> bool:
        one, other = self._tables
        return one[code & self._mask] == self._SEVERAL == other[code >> self._bits & self._mask]

    def of(self, words: tuple[str, ...]) -> list[tuple[str, ...]]:
        """The signatures of a sentence that others may share; most sentences have none."""
        if not any(map(self._holds, _codes(words))):
            return []
        ordered = tuple(sorted(words))
        return [
            key
            for key, code in zip(_signatures(ordered, words), _codes(ordered, words), strict=True)
            if self._holds(code)
        ]


def _near(
    example: Example,
    words: tuple[str, ...],
    keys: Sequence[tuple[str, ...]],
    buckets: dict[tuple[str, ...], dict[str, Example]],
    threshold: float,
) -> Example | None:
    for key in keys:
        rivals = buckets.get(key, {})
        for position, (intent, rival) in enumerate(rivals.items()):
            if position == _MOST_RIVALS:
                break
            if intent == example.base_intent or rival.text == example.text:
                continue  # the very same text has a check of its own
            other = plain_words(rival.text)
            if not _are_opposites(words, other) and _are_alike(words, other, threshold):
                return rival
    return None


def _are_opposites(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    apart = set(one) ^ set(other)
    if apart:
        return bool(apart & _TURNING) and apart <= _TURNING | _BESIDE_TURNING
    return _borne(one) != _borne(other)


def _borne(words: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Each negation, on and off between its neighbours; ``""`` for begin and end."""
    around = zip(("", *words[:-1]), words, (*words[1:], ""), strict=True)
    return sorted(three for three in around if three[1] in _BEARING)


def _are_alike(one: tuple[str, ...], other: tuple[str, ...], threshold: float) -> bool:
    ordered, other_ordered = sorted(one), sorted(other)
    return (
        ordered == other_ordered
        or _ratio(" ".join(one), " ".join(other), threshold) >= threshold
        or _ratio(" ".join(ordered), " ".join(other_ordered), threshold) >= threshold
    )


def _ratio(one: str, other: str, threshold: float) -> float:
    from difflib import SequenceMatcher  # only if sentences are near each other

    if abs(len(one) - len(other)) > (1 - threshold) * (len(one) + len(other)) or len(one) > _LONGEST:
        return 0.0  # too different in length, or too long to be worth comparing
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if matcher.real_quick_ratio() < threshold or matcher.quick_ratio() < threshold:
        return 0.0
    return matcher.ratio()


def _signatures(ordered: tuple[str, ...], words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The words in alphabetical order and, for sentences of medium length, also without each one of them.

    Two sentences that differ by one additional or other word, or only in word order, share a signature;
    so do those that only differ in vowels, doubled letters and spaces, as by most typos.
    """
    if not words:
        return
    yield ordered
    consonants = _consonants(words)
    if len(consonants) >= _FEWEST_CONSONANTS:
        yield ("", consonants)
    if _FEWEST_WORDS <= len(words) <= _MOST_WORDS:
        for position in range(len(words)):
            yield ordered[:position] + ordered[position + 1 :]


def _codes(ordered: tuple[str, ...], words: tuple[str, ...] | None = None) -> list[int]:
    """A hash of each signature, in their order, or in another one if the words are not ``ordered``.

    That of several words is the sum of their hashes, which needs neither sorting nor strings: there are millions.
    """
    if not ordered:
        return []
    hashes = [hash(word) for word in ordered]
    every = sum(hashes)
    codes = [every]
    consonants = _consonants(ordered if words is None else words)
    if len(consonants) >= _FEWEST_CONSONANTS:
        codes.append(~hash(consonants))
    if _FEWEST_WORDS <= len(hashes) <= _MOST_WORDS:
        codes += [every - one for one in hashes]
    return codes


def _consonants(words: tuple[str, ...]) -> str:
    return _DOUBLED.sub(r"\1", _VOWELS.sub("", "".join(words)))


def check_templates(facts: Facts) -> Iterator[Finding]:
    """Sentences that differ only in entity values: across two intents, and many within one."""
    examples = facts.project.nlu.examples
    first: dict[str, Example] = {}
    of_template: dict[tuple[str, str], list[Example]] = {}
    reported: set[tuple[str, str]] = set()
    for example in examples:
        intent = example.base_intent
        if not intent or not example.entities:
            continue
        template = _template(example)
        rival = first.setdefault(template, example)
        key = (template, intent)
        of_template.setdefault(key, []).append(example)
        if rival.base_intent != intent and rival.text != example.text and key not in reported:
            reported.add(key)
            yield found(
                "example-differs-in-values-across-intents",
                f"The example '{example.text}' of '{intent}' differs from '{rival.text}' of '{rival.base_intent}'"
                f" ({rival.location}) only in entity values.",
                example.location,
                others=[rival.location],
                subject=template,
                about=(Name("sentence", template), Name("intent", intent), Name("intent", rival.base_intent or "")),
            )
    for (template, intent), alike in of_template.items():
        if len(alike) >= _MANY_OF_ONE_TEMPLATE:
            locations = sorted((example.location for example in alike), key=lambda location: location.sort_key)
            yield found(
                "example-differs-in-values-only",
                f"{_MANY_OF_ONE_TEMPLATE} or more examples of '{intent}' differ from this one only in entity values.",
                locations[_MANY_OF_ONE_TEMPLATE - 1],
                about=(Name("sentence", template), Name("intent", intent)),
            )


def _template(example: Example) -> str:
    """The words of the sentence with each annotated text replaced by its entity."""
    parts: list[str] = []
    position = 0
    for annotation in sorted(example.entities, key=lambda a: (a.start, a.end)):
        if annotation.start >= position:
            parts += (*normalised(example.text[position : annotation.start]), f"[{annotation.entity}]")
            position = annotation.end
    return " ".join((*parts, *normalised(example.text[position:])))
