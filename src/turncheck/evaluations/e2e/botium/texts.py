"""How Botium compares texts: cleaned, and by one of its matching modes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.clock import seconds_left
from turncheck.project.botium.patterns import UnsupportedPatternError, as_pattern, to_utf16_units
from turncheck.yaml_tree.shapes import SEARCH_SECONDS, EndlessSearchError, as_re_reads, is_matched

if TYPE_CHECKING:
    from turncheck.project.botium.model import Capabilities

MOST_WILDCARDS: Final = 10
MOST_WORD_PAIRS: Final = 1_000_000
"""So many pairs of words are compared: of a thousand words with a thousand, in half a second."""
_PARAGRAPHS: Final = re.compile(r"<p[^>]*>|</p>|<br[^>]*>")
_TAGS: Final = re.compile(r"<[^>]*>")
_UNPRINTABLE: Final = re.compile(r"[\x00-\x1f\x7f]")
_ENTITIES: Final = {"&amp;": "&", "&lt;": "<", "&gt;": ">", "&#39;": "'", "&quot;": '"'}
_PUNCTUATION: Final = re.compile(r"[.,/#!$%^&;:{}=\-_`~()]")


class CannotCompareError(Exception):
    """A text that cannot be compared with anything; says why."""


class NotJudgedError(Exception):
    """Something that cannot be judged here, or with this engine; says why."""


def cleaned(text: str, settings: Capabilities) -> str:
    """Return the text without markup, with single spaces, and without what the settings remove."""
    if settings.normalised:
        end = text.rfind(">") + 1  # behind it nothing is a tag, and looking for the end of each would take very long
        text = _TAGS.sub("", _PARAGRAPHS.sub(" ", text[:end])) + text[end:]
        text = _UNPRINTABLE.sub(" ", text)
        for entity, character in _ENTITIES.items():
            text = text.replace(entity, character)
        text = " ".join(text.split())
    for characters in settings.removed_characters:
        text = text.replace(characters, "")
    if settings.removed_pattern:
        text = _without(settings.removed_pattern, text)
    return text


def _without(written: str, text: str) -> str:
    import regex  # only where there are patterns

    pattern, seconds = as_re_reads(as_pattern(written, by_code_point=True)), seconds_left(SEARCH_SECONDS)
    try:
        return str(regex.sub(pattern, "", text, flags=regex.VERSION0, timeout=seconds, concurrent=True))
    except TimeoutError:
        return text


def matches(said: str, wanted: str, mode: str, word_errors: str = "") -> bool:
    """Whether a message matches a text, both cleaned.

    Raises:
        CannotCompareError: the text has too many wildcards, or takes too long to be searched for.
        NotJudgedError: it is a pattern that means something else in JavaScript.
    """
    kind = mode.removesuffix("IgnoreCase").removesuffix("LowerCase")
    any_case = mode != kind
    if kind == "wer":
        return word_error_rate(said, wanted) <= accepted_errors(word_errors)
    if kind == "regexp":
        return _holds_pattern(said, wanted, ignores_case=any_case)
    if any_case:
        said, wanted = said.lower(), wanted.lower()
    match kind:
        case "include":
            return wanted in said
        case "wildcard" | "wildcardExact":
            return _has_wildcards(said, wanted, exact=kind == "wildcardExact")
        case _:
            return said == wanted


def _holds_pattern(said: str, wanted: str, *, ignores_case: bool) -> bool:
    try:
        pattern = as_pattern(wanted, ignores_case=ignores_case)
    except UnsupportedPatternError as error:
        raise (CannotCompareError if error.is_refused else NotJudgedError)(f"'{wanted}': {error}") from None
    return found(pattern, to_utf16_units(said, ignores_case=ignores_case), written=wanted)


def _has_wildcards(said: str, wanted: str, *, exact: bool) -> bool:
    parts = wanted.split("*")
    if len(parts) > MOST_WILDCARDS + 1:
        raise CannotCompareError(f"'{wanted}' has {len(parts) - 1} wildcards; at most {MOST_WILDCARDS} are compared")
    pattern = "[^\\n\\r\\u2028\\u2029]*".join(map(re.escape, parts))
    return found(f"\\A{pattern}\\Z" if exact else pattern, said)


def found(pattern: str, text: str, *, written: str = "") -> bool:
    """Return whether a text contains a match of a regular expression; ``written``: as in the suite, for messages.

    Raises:
        CannotCompareError: it takes too long, or is not a regular expression.
    """
    import regex  # only where there are patterns

    try:
        return is_matched(pattern, text)
    except EndlessSearchError:
        why = f"the pattern '{written or pattern}' took longer than {SEARCH_SECONDS:g} seconds to be searched for"
        raise CannotCompareError(why) from None
    except regex.error as error:
        raise CannotCompareError(f"'{written or pattern}' is no regular expression: {error}") from None


# The share of words that differ.


def accepted_errors(written: str) -> float:
    """Read a share, ``0.2`` or ``20``.

    Raises:
        CannotCompareError: it is not a number.
    """
    number = re.match(r"\s*\d*\.?\d*", written)
    digits = number[0].strip() if number else ""
    if not re.search(r"\d", digits):
        raise CannotCompareError(f"'{written}' is no share of words that may differ; expected 20 (per cent) or 0.2")
    return float(digits) if "." in written else int(float(digits)) / 100


def word_error_rate(said: str, wanted: str) -> float:
    """Return the share of words in which a message differs, to two digits; with wildcards, part by part.

    Raises:
        CannotCompareError: a part has more words than the message has in common with it, or both have too many.
    """
    said, pattern = _without_signs(said), _without_signs(wanted)
    words_of_both = (said.count(" ") + 1) * (pattern.count(" ") + 1)
    if words_of_both * (pattern.count(" ") + 1 if "*" in pattern else 1) > MOST_WORD_PAIRS:
        raise CannotCompareError("the texts have too many words for the share of them that differs")
    if "*" not in pattern:
        return round(_distance(said, pattern), 2)
    words = said.split(" ")
    wrong = number = 0
    for part in (part.strip() for part in pattern.split("*")):
        if not part:
            number += 1
            continue
        wanted_words = part.split(" ")
        size = min(len(wanted_words), len(words))
        best, rate = None, 1.0
        for start in range(len(words) - size + 1):
            here = round(_distance(" ".join(words[start : start + size]), part), 2)
            if here <= rate:
                best, rate = words[start : start + size], here
        if best is None:
            raise CannotCompareError(f"'{part}' is longer than the message")
        wrong += sum(index >= len(best) or word != best[index] for index, word in enumerate(wanted_words))
        number += len(wanted_words)
    return round(wrong / number, 2)


def _without_signs(text: str) -> str:
    return _PUNCTUATION.sub("", text).lower()


def _distance(one: str, other: str) -> float:
    """Edit distance in words, as a share of the longer text's."""
    left, right = one.split(" "), other.split(" ")
    longest = max(len(left), len(right))
    if not one or not other:
        return 1.0
    above: list[int] = []
    for row, word in enumerate(right):
        line: list[int] = []
        for column, said in enumerate(left):
            cost = int(word != said)
            if row == 0 or column == 0:
                before = 0 if row == column else (line[column - 1] if row == 0 else above[0])
                line.append(before + cost)
            else:
                line.append(min(above[column] + 1, line[column - 1] + 1, above[column - 1] + cost))
        above = line
    return above[-1] / longest
