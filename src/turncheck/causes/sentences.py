"""Test sentences and utterances of batch suites, understood again by language understanding that was trained anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.comparison.cases import entity_spans
from turncheck.engines.base import Capabilities
from turncheck.evaluations.batch.judging import judged_case
from turncheck.evaluations.batch.suites import answer_of
from turncheck.evaluations.nlu.predictions import JudgedSentence, judge
from turncheck.evaluations.nlu.remarks import without_entities
from turncheck.evaluations.nlu.scores import PRETRAINED_EXTRACTORS
from turncheck.project.batch.model import KnownNames

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from turncheck.engines.conversation import NluEngine, Parse
    from turncheck.project.batch.model import Suite, SuiteCase
    from turncheck.project.nlu_data import Example
    from turncheck.report.causes import Asked
    from turncheck.report.model import NluPrediction

Key = tuple["Asked", str, str]
"""What a test is recognised by: its kind, its name and its file."""


class TestSentences(Struct, frozen=True):
    """What language understanding is asked: test sentences, and suites, which are judged by the names of a project.

    ``unscored``: extractors whose entities are not judged.
    """

    examples: tuple[Example, ...] = ()
    suites: tuple[Suite, ...] = ()
    names: KnownNames = KnownNames()
    can: Capabilities = Capabilities()
    unscored: AbstractSet[str] = PRETRAINED_EXTRACTORS

    def outcomes(self, nlu: NluEngine, wanted: Collection[Key]) -> Iterator[tuple[Key, str]]:
        """Yield the outcome of each wanted sentence, ``passed`` or ``failed``; one that is twice in a file has two."""
        places = {(name, path) for kind, name, path in wanted if kind in {"intents", "entities", "responses"}}
        examples = tuple(one for one in self.examples if (one.text, one.location.path) in places)
        utterances = {(name, path) for kind, name, path in wanted if kind == "batch"}
        cases = [case for suite in self.suites for case in suite.cases if (case.text, case.location.path) in utterances]
        texts = dict.fromkeys([*(one.text for one in examples), *(case.text for case in cases)])
        parses = dict(zip(texts, nlu.parse(list(texts)), strict=True)) if texts else {}
        yield from self._of_sentences(examples, parses)
        for case in cases:
            yield ("batch", case.text, case.location.path), _outcome(right=self._is_right(case, parses[case.text]))

    def _of_sentences(self, examples: tuple[Example, ...], parses: Mapping[str, Parse]) -> Iterator[tuple[Key, str]]:
        unknown = self.can.not_found(entity.entity for example in examples for entity in example.entities)
        for example in without_entities(examples, unknown):
            judged = judge(JudgedSentence(example, parses[example.text]), without=frozenset(self.unscored))
            place = example.text, example.location.path
            yield ("intents", *place), _outcome(right=judged.correct)
            yield ("entities", *place), _outcome(right=_finds_entities(judged))
            yield ("responses", *place), _outcome(right=judged.expected.response == judged.predicted.response)

    def _is_right(self, case: SuiteCase, parse: Parse) -> bool:
        return judged_case(case, answer_of(case, parse, self.can), self.names).passed


NO_SENTENCES: Final = TestSentences()


def _finds_entities(judged: NluPrediction) -> bool:
    return entity_spans(judged, expected=True) == entity_spans(judged, expected=False)


def _outcome(*, right: bool) -> str:
    return "passed" if right else "failed"
