"""A sentence that is varied, and its annotations, which move with its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.project.nlu_data import EntityAnnotation

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text with its entities; offsets are code points."""

    text: str
    intent: str
    entities: tuple[EntityAnnotation, ...] = ()

    def edited(self, start: int, end: int, new: str) -> Sentence:
        """Replace the text between two offsets outside entities; the entities after it move along."""
        shift = len(new) - (end - start)
        moved = tuple(
            replace(one, start=one.start + shift, end=one.end + shift) if one.start >= end else one
            for one in self.entities
        )
        return replace(self, text=self.text[:start] + new + self.text[end:], entities=moved)

    def is_free(self, start: int, end: int) -> bool:
        """Whether no entity overlaps the text between two offsets."""
        return all(end <= one.start or start >= one.end for one in self.entities)

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
