"""Whether a list of newly wrong sentences says anything: not if the figures about them are within noise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from turncheck.comparison.broken_intents import dropped_intents
from turncheck.comparison.taken_away import taken_away_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Evaluation

Judged = Literal["intents", "entities", "responses"]
"""What of a sentence is judged."""
_FIGURES: Final[Mapping[Judged, re.Pattern[str]]] = {
    "intents": re.compile(r"nlu\.intents\.(?:f1|accuracy)"),
    "entities": re.compile(r"nlu\.entities\..+\.f1", re.DOTALL),
    "responses": re.compile(r"nlu\.responses\..+\.(?:f1|accuracy)", re.DOTALL),
}


def is_likely_noise(compared: Comparison, judged: Judged) -> bool:
    """Whether figures about these sentences were judged, and none of them really dropped."""
    figures = [one for one in compared.metrics if _FIGURES[judged].fullmatch(one.name)]
    tested = any(one.significance is not None and one.agreement is None for one in figures)
    if judged == "intents" and (compared.collisions or dropped_intents(compared)):
        return False
    return tested and all(one.judgement != "worse" for one in figures)


def is_a_flip(case: CaseChange, mode: str) -> bool:
    """Whether a newly wrong sentence was judged on both sides, or is a training sentence that cross-validation judged.

    A test sentence that is new itself is no noise: it is wrong.
    """
    return mode == "cross-validation" or (case.base_passed is not None and not {"edited", "renamed"} & set(case.edits))


def sentences_of(compared: Comparison) -> tuple[tuple[Judged, ChangedCases], ...]:
    """Return the sentences by what of them is judged."""
    return ("intents", compared.examples), ("entities", compared.entities), ("responses", compared.responses)


def is_likely_misheard(compared: Comparison, evaluation: Evaluation) -> bool:
    """Whether the tests that are newly misunderstood are within noise, and nothing that this change did explains any.

    If it is not known what the change did to the training sentences, or if it altered the pipeline, synonyms or lookup
    tables, they are news.
    """
    figure = compared.metric(f"{evaluation}.misunderstood")
    sentences = compared.misunderstood if evaluation == "core" else compared.misunderstood_in_cases
    explained = any(one.change not in {"unchanged", "unknown"} for sentence in sentences for one in sentence.because)
    edited = any(case.edits for case in _tests(compared, evaluation).newly_misunderstood)
    known = compared.training_known and not compared.understands_otherwise
    if not known or explained or edited or taken_away_in_words(compared):
        return False
    return figure is not None and figure.judgement == "noise"


def _tests(compared: Comparison, evaluation: Evaluation) -> ChangedCases:
    return compared.stories if evaluation == "core" else compared.e2e
