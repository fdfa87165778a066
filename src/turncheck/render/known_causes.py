"""What is known about why something ends as it does, looked up for each test, sentence, finding and intent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.failed_tests import tests_of
from turncheck.comparison.training_changes import dropped_intents, intent_of
from turncheck.evaluations.kinds import TESTS
from turncheck.render.case_keys import by_place
from turncheck.render.wording.causes import is_proved, why_dropped_in_words, why_found_in_words, why_in_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.messages.finding import Finding, Location
    from turncheck.render.links import PathResolver
    from turncheck.report.model import NluPrediction


class KnownCauses:
    """The causes that a comparison has, in words; without one, none is known."""

    def __init__(self, compared: Comparison | None, rooted: PathResolver) -> None:
        self._rooted = rooted
        self._tests = {name: by_place(()) for name in TESTS}
        for name, cases in tests_of(compared) if compared else ():
            repaired = [case for case in cases.better if case.passed and is_proved(case)]
            self._tests[name] = by_place((*cases.newly_failing, *cases.newly_misunderstood, *repaired))
        self._sentences = by_place(compared.examples.newly_failing if compared else ())
        self._findings = {(one.code, one.location): one for one in (compared.new_findings if compared else ())}
        dropped = dropped_intents(compared) if compared else []
        self._intents = {intent_of(metric.name): metric for metric in dropped}

    def of_test(self, evaluation: str, name: str, places: Sequence[Location]) -> list[str]:
        """Return the changed part that makes a test fail, or pass again, as a line; none if it is not known."""
        case = self._tests[evaluation](name, places)
        return self._lines(why_in_words(case) if case is not None else "")

    def of_sentence(self, sentence: NluPrediction) -> list[str]:
        """Return what makes a test sentence misunderstood."""
        case = self._sentences(sentence.text, [sentence.location])
        return self._lines(why_in_words(case) if case is not None else "")

    def of_finding(self, finding: Finding) -> list[str]:
        """Return the changed parts without which a finding is gone, unless it is at its cause."""
        known = self._findings.get((finding.code, finding.location))
        return self._lines(why_found_in_words(known) if known is not None else "")

    def of_intent(self, intent: str) -> list[str]:
        """Return why the sentences of an intent are understood less often."""
        metric = self._intents.get(intent)
        return self._lines(why_dropped_in_words(metric) if metric is not None else "")

    def _lines(self, words: str) -> list[str]:
        return [self._rooted.text(words)] if words else []
