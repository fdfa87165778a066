"""Small parts of sentences: plurals, and the known name that an unknown one was probably meant to be.

Names are compared by their own words: what all names of a kind begin with (``utter_``, ``action_``) says nothing, and a
word that many known names have says little.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_CLOSE: Final = 0.75
"""Two words or names with at least this share of common characters are typos of each other."""
_SHARED: Final = 0.5
"""More than this share of the words has to be common; exactly this share is enough if one name has all words of the
other."""
_SWAPPED: Final = 0.9
"""Similarity of two words that differ in two neighbouring characters, or of which one is a prefix of the other."""
_LONGEST: Final = 200
"""Longer names are not compared."""
_FEW: Final = 100
"""Up to this many known names are all compared."""
_RARE: Final = 50
"""This many names may share a part of three characters for it to tell them from the others."""
_SHORTLIST: Final = 12
_ABBREVIATION: Final = 4
"""An abbreviation has at least this many characters of the word that it stands for."""
_CLAUSE: Final = re.compile(r"(?<=[^.!?])(?:[.!?;:](?= )|, (?:so|and|which|but|since) )")
"""Where a clause ends, after which a sentence may be cut without a trace."""
_PAIRED: Final = (re.compile(r"(?<!\w)'|'(?!\w)"), re.compile("`"))
BY_ITSELF: Final = "what Rasa does by itself"
"""What the names begin with of what a rule may contradict that is no rule or story of the project."""
_KINDS: Final = frozenset({"utter", "action", "validate", "ask", "form"})
"""Words in Rasa's names that say what kind of thing they name, not which one."""
_KIND: Final = re.compile(r"(utter|action|validate)_|.+_(form)$")
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")


def first_line(text: str) -> str:
    """Return the first line of a text; an empty string has an empty one."""
    return next(iter(text.splitlines()), "")


def shortened(text: str, most: int) -> str:
    """Shorten to at most so many characters: whole clauses if they fill half of that, else words and an ellipsis.

    A name in quotes is not torn, nor what is in brackets or code.

    >>> shortened("The form 'a' is not defined. Did you mean 'a_form' or 'another_form'?", 50)
    "The form 'a' is not defined"
    >>> shortened("The form 'a_form' of the story 'happy path' is not defined", 45)
    "The form 'a_form' of the story 'happy path'…"
    >>> shortened("There is no domain. 'my_domain.yml' looks like one (`domain: my_domain.yml` names it)", 70)
    "There is no domain. 'my_domain.yml' looks like one…"
    """
    if len(text) <= most:
        return text
    ends = [found.start() for found in _CLAUSE.finditer(text[:most]) if _opened(text[: found.start()]) is None]
    if ends and ends[-1] >= most // 2:
        return text[: ends[-1]]
    cut = text[: most - 1]
    if not text[most - 1].isspace() and " " in cut:
        cut = cut.rpartition(" ")[0]
    while (opened := _opened(cut)) is not None and cut[:opened].strip():
        cut = cut[:opened]
    return f"{cut.rstrip(' ,;:')}…"


def _opened(text: str) -> int | None:
    """Where the quote, code or bracket begins that a text ends in, if any; an apostrophe within a word is no quote."""
    for sign in _PAIRED:
        places = [found.start() for found in sign.finditer(text)]
        if len(places) % 2 == 1:
            return places[-1]
    bracket = text.rfind("(")
    return bracket if bracket > text.rfind(")") else None


def on_one_line(text: str) -> str:
    """Return the lines of a message, what is wrong and what to do, as sentences of one line.

    >>> on_one_line("the bot is gone\\nIs it running?")
    'the bot is gone. Is it running?'
    """
    *lines, last = text.splitlines() or [""]
    return " ".join([*(line if line.endswith((".", "?", "!", ":")) else f"{line}." for line in lines), last])


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``Did you mean 'x'?`` for a name that is close to a known one, else an empty string."""
    near = nearest(name, known)
    return f"Did you mean '{near[0]}'?" if near else ""


def not_one_of(word: str, choices: Iterable[str], meanings: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the sentence that refuses a word: what there is to choose from, and what was probably meant.

    ``meanings``: other words that may have been meant, and what is to be written for them.
    """
    allowed = tuple(choices)
    shown = word if len(word) <= _LONGEST else f"{word[:_LONGEST]}…"
    near = suggestion(word, allowed)
    if not near and (other := (word,) if word in meanings else nearest(word, meanings)):
        near = f"Did you mean '{meanings[other[0]]}'?"
    return f"'{shown}' is not one of: {', '.join(allowed)}." + (f" {near}" if near else "")


def nearest(name: str, known: Iterable[str], most: int = 1) -> tuple[str, ...]:
    """Return up to ``most`` known names that this one is close to, the closest first; usually there is none."""
    text = str(name)
    if not text or len(text) > _LONGEST:
        return ()
    return _nearest(text, known if isinstance(known, frozenset) else frozenset(map(str, known)))[:most]


def misspelt(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that this one is a typo of; a name that only shares words with it is another one."""
    if len(name) > _LONGEST:
        return None
    likeness = {other: _written_like(name, other) for other in known}
    best = max(likeness, key=lambda other: likeness[other], default=name)
    return best if name not in likeness and likeness.get(best) else None


@lru_cache(maxsize=4096)
def _nearest(name: str, known: frozenset[str]) -> tuple[str, ...]:
    names = _names(known)
    close = {other: likeness for other in names.like(name) if (likeness := names.likeness(name, other))}
    tied = Counter(close.values())
    key = {other: (-likeness, -_ratio(name, other) if tied[likeness] > 1 else 0.0) for other, likeness in close.items()}
    return tuple(sorted(close, key=lambda other: (key[other], other)))


class _Names:
    """Known names: how many of them have a word, and which of them share rare parts of three characters."""

    def __init__(self, names: Iterable[str]) -> None:
        self._all = sorted(name for name in map(str, names) if len(name) <= _LONGEST)
        self._with_word = Counter(word for name in self._all for word in set(_words(name)))
        self._by_part: dict[str, list[str]] = {}
        for name in self._all if len(self._all) > _FEW else ():
            for part in _parts(name):
                self._by_part.setdefault(part, []).append(name)

    def like(self, name: str) -> list[str]:
        """The names worth comparing with this one."""
        if not self._by_part:
            return self._all
        shared = Counter(
            known
            for part in sorted(_parts(name))
            if len(self._by_part.get(part, ())) <= _RARE
            for known in self._by_part.get(part, ())
        )
        return [known for known, _ in shared.most_common(_SHORTLIST)]

    def likeness(self, name: str, known: str) -> float:
        """How similar two names are, by their characters or by their words; 0: not similar."""
        likeness = _written_like(name, known)
        ours, theirs = _kind(name), _kind(known)
        if ours and theirs and ours != theirs:
            return likeness if likeness == 1 else 0.0  # an action and a response of a few common words are two things
        return likeness or self._shared(_words(name), _words(known))

    def _shared(self, ours: tuple[str, ...], theirs: tuple[str, ...]) -> float:
        """The weight of the common words among those of both names (Dice's coefficient); 0 if that is too little."""
        left = list(theirs)
        common, matched, is_same = 0.0, 0, False
        for word in ours:
            best = max(left, key=lambda other: _alike(word, other), default="")
            if likeness := _alike(word, best):
                left.remove(best)
                matched += 1
                is_same |= word == best
                common += likeness * (self._weight(word) + self._weight(best))
        share = common / sum(map(self._weight, (*ours, *theirs)))
        if not is_same and len(ours) != len(theirs):
            return 0.0  # a word that is only alike, beside others: mood_great is no greet
        holds_all = matched == min(len(ours), len(theirs))
        return share if share > _SHARED or (holds_all and share == _SHARED) else 0.0

    def _weight(self, word: str) -> float:
        return 1 / max(1, self._with_word[word])


@lru_cache(maxsize=16)
def _names(known: frozenset[str]) -> _Names:
    return _Names(known)


@lru_cache(maxsize=4096)
def _words(name: str) -> tuple[str, ...]:
    """The words that distinguish a name from others of its kind, in lower case; for a bare ``utter`` that word."""
    words = tuple(word.casefold() for word in _WORD.findall(name)) or (name.casefold(),)
    return tuple(word for word in words if word not in _KINDS) or words


def _kind(name: str) -> str:
    """What a name says it names: a response, an action, a form; empty if it does not say."""
    found = _KIND.match(name)
    return (found[1] or found[2]) if found else ""


def _written_like(one: str, other: str) -> float:
    """Similarity of the letters of two names' own words; very short names are compared as they are."""
    ours, theirs = "".join(_words(one)), "".join(_words(other))
    if _is_sparse(one) or _is_sparse(other):
        ours, theirs = one.casefold(), other.casefold()
    return _slip(ours, theirs)


def _is_sparse(name: str) -> bool:
    return 2 * sum(map(str.isalnum, name)) <= len(name)


@lru_cache(maxsize=65_536)
def _alike(one: str, other: str) -> float:
    """Similarity of two words: 1 if they are equal, 0 if neither is a typo or an abbreviation of the other."""
    short, long = sorted((one, other), key=len)
    if short != long and len(short) >= _ABBREVIATION and long.startswith(short):
        return _SWAPPED
    return _slip(one, other)


@lru_cache(maxsize=65_536)
def _slip(one: str, other: str) -> float:
    """Similarity of two strings by their characters, 0 if they are not close."""
    if one == other:
        return 1.0
    short, long = sorted((one, other), key=len)
    if 2 * len(short) < _CLOSE * (len(short) + len(long)):
        return 0.0
    if len(short) == len(long) and _is_swapped(one, other):
        return _SWAPPED
    ratio = _ratio(one, other)
    # Four letters, one of them different: the first letter of a word is rarely mistyped.
    is_slip = ratio > _CLOSE or (ratio == _CLOSE and one[0] == other[0])
    return ratio if is_slip else 0.0


def _is_swapped(one: str, other: str) -> bool:
    """Return whether two strings of the same length differ only in two neighbouring characters that are swapped."""
    places = [place for place, (ours, theirs) in enumerate(zip(one, other, strict=True)) if ours != theirs]
    if len(places) != 2 or places[1] != places[0] + 1:
        return False
    return one[places[0]] == other[places[1]] and one[places[1]] == other[places[0]]


def _ratio(one: str, other: str) -> float:
    """The share of common characters in order; a shared beginning and end count as common."""
    from difflib import SequenceMatcher  # only where a name is unknown

    begin = _common_beginning(one, other)
    end = _common_beginning(one[begin:][::-1], other[begin:][::-1])
    middle = one[begin : len(one) - end], other[begin : len(other) - end]
    blocks = SequenceMatcher(None, *middle, autojunk=False).get_matching_blocks() if all(middle) else ()
    return 2 * (begin + end + sum(block.size for block in blocks)) / max(1, len(one) + len(other))


def _common_beginning(one: str, other: str) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _parts(name: str) -> set[str]:
    padded = f"\n{name.casefold()}\n"
    return {padded[start : start + 3] for start in range(len(padded) - 2)}


def at_paths(paths: Iterable[object]) -> str:
    """Name the places where something was looked for, to be put behind a sentence: `` at 'a', 'b'``; else nothing."""
    named = ", ".join(f"'{path}'" for path in paths)
    return f" at {named}" if named else ""


# Numbers with their nouns: the one place that knows when a noun is plural.


def count(number: int, one: str, many: str | None = None) -> str:
    """Show a number with its noun: ``1 story``, ``2 stories``, ``1,200 sentences``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
