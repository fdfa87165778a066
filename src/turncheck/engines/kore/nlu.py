"""Language understanding by Find Intent, for sentences that are judged one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.engines.at_once import ask_all
from turncheck.engines.kore.progress import Progress
from turncheck.engines.parse import Parse, PredictedIntent
from turncheck.project.batch.model import comparable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.kore.answers import Understood
    from turncheck.engines.kore.platform import Platform
    from turncheck.process.screen import Screen
    from turncheck.report.model import EngineInfo

_SURE: Final = 1.0
"""The confidence of a winning intent that the machine-learning engine did not find: the platform decided."""


@dataclass(frozen=True, slots=True)
class KoreNlu:
    """Sentences understood one after the other. ``known``: the project's intent names, folded for comparison.

    Find Intent returns the values of entities, but not their places in a sentence: batch suites judge entities.
    """

    platform: Platform
    info: EngineInfo
    known: Mapping[str, str]
    screen: Screen
    extractors: tuple[str, ...] = ()

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text.

        Raises:
            CutShortError: the platform failed, or somebody interrupted it; ``finished`` holds the answers so far.
        """
        progress = Progress(len(texts), self.platform.client, self.screen)

        def one(text: str) -> Parse:
            parse = self._parse_of(text, self.platform.find_intent(text))
            progress.step()
            return parse

        return ask_all(one, texts, 1)

    def _parse_of(self, text: str, found: Understood) -> Parse:
        """Several winning intents are an ambiguity: the platform asks back, so no intent is matched."""
        if len(found.intents) != 1:
            return Parse(text, PredictedIntent(None, 0.0))
        (name,) = found.intents
        intent = PredictedIntent(self.known.get(comparable(name), name), found.confidences.get(name, _SURE))
        return Parse(text, intent, (intent,))
