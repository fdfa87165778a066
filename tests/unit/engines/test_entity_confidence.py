"""What the stand-in for DIETClassifier says how sure it is of an entity: a probability, not the CRF's marginal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.engines.conversation import PredictedEntity
from turncheck.engines.embedded.nlu import entity_model
from turncheck.engines.embedded.nlu.calibration import EntityConfidence
from turncheck.engines.embedded.nlu.crf import train_taggers
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.evaluations.nlu.scores import EntityCase, expected_calibration_error, score_extractors
from turncheck.messages.finding import Location
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import EntityAnnotation, Example, NluData
from turncheck.report.model import EntitySpan

HERE = Location("data/nlu.yml", 1)
FIRST = ("Ada", "Bob", "Cleo", "Dan", "Eve", "Fay", "Gil", "Hal", "Ida", "Jo")
LAST = ("Ames", "Berg", "Cole", "Dorn", "Ems", "Fox", "Glen", "Hill")
FRAMES = ("call {} now", "is {} there", "put {} through please", "I want to speak to {}", "{} please", "where is {}")


def sentences(seed: int, count: int) -> list[Example]:
    """People and towns; every third name could be either, some more and some less, so that nobody is always right."""
    draw = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        frame = FRAMES[draw.integers(len(FRAMES))]
        ambiguous = draw.integers(3) == 0
        first, number = FIRST[draw.integers(len(FIRST))], draw.integers(len(LAST))
        name = LAST[number] if ambiguous else f"{first} {LAST[number]}"
        entity = "town" if ambiguous and draw.random() < number / (len(LAST) - 1) else "person"
        start = frame.index("{}")
        text = frame.format(name)
        role = "callee" if entity == "person" else None
        made.append(Example(text, "call", (EntityAnnotation(start, start + len(name), entity, name, role),)))
    return [*made, *(Example(text, "greet") for text in ("hello", "hi there", "good morning", "hey you"))]


def trained(examples: list[Example], seed: int = 0) -> EmbeddedNluEngine:
    pipeline = (Component("WhitespaceTokenizer", {}, HERE), Component("DIETClassifier", {}, HERE))
    project = Project(Path("bot"), "bot", nlu=NluData(tuple(examples)), config=Config(pipeline=pipeline))
    return EmbeddedNluTrainer(seed=seed).fit(project)


def found(engine: EmbeddedNluEngine, examples: list[Example]) -> list[tuple[PredictedEntity, bool]]:
    """The entities found, and whether each is right."""
    answers = []
    for example, parse in zip(examples, engine.parse([example.text for example in examples]), strict=True):
        expected = {(one.start, one.end, one.entity) for one in example.entities}
        answers += [(one, (one.start, one.end, one.entity) in expected) for one in parse.entities]
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("count", [60, 240, 1500])
def test_confidences_of_entities_say_how_often_they_are_right(count: int) -> None:
    """One model is fitted in thirds, one to a third, one to a tenth."""
    answers = found(trained(sentences(1, count)), sentences(2, 400))
    stated = [(one.confidence or 0.0, right) for one, right in answers]
    error = expected_calibration_error(stated)
    assert error is not None
    assert error < 0.15
    sure = [confidence for confidence, right in stated if right]
    assert np.median(sure) > 0.7, "the CRF's own marginals lie below a half"


@pytest.mark.slow
def test_confidences_of_roles_are_probabilities_too() -> None:
    answers = found(trained(sentences(1, 240)), sentences(2, 200))
    sure = [one.extra["confidence_role"] for one, right in answers if right and one.role]
    assert np.median(sure) > 0.7


@pytest.mark.slow
def test_calibration_changes_no_entity(monkeypatch: pytest.MonkeyPatch) -> None:
    calibrated = found(trained(sentences(1, 240)), sentences(2, 100))
    monkeypatch.setattr(entity_model, "held_out", lambda count, seed: [])
    plain = found(trained(sentences(1, 240)), sentences(2, 100))
    assert [(one.start, one.end, one.entity, one.role, right) for one, right in calibrated] == [
        (one.start, one.end, one.entity, one.role, right) for one, right in plain
    ]
    assert {one.confidence for one, _ in plain} == {0.5}, "of what nobody judged nothing is known"


def test_a_crf_is_the_same_with_and_without_others_trained_on_parts() -> None:
    sequences = [([[f"w{row % 7}"], [f"w{row % 5}"]], ("X" if row % 7 < 3 else "O", "O")) for row in range(40)]
    alone = train_taggers(sequences, "pa", {"max_iterations": 5})
    beside = train_taggers(sequences, "pa", {"max_iterations": 5}, [frozenset(range(10)), frozenset({20, 21})])
    assert beside[0].content == alone[0].content
    assert len({tagger.content for tagger in beside}) == 3


def test_the_same_data_and_seed_give_the_same_confidences() -> None:
    one, other = (found(trained(sentences(1, 60), seed=3), sentences(2, 50)) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(("intercept", "slope"), [(9.0, 2.5), (20.0, 6.0), (1.0, 0.5)])
def test_what_a_marginal_means_is_found(intercept: float, slope: float) -> None:
    draw = np.random.default_rng(5)
    marginals = draw.uniform(0.02, 0.2, 5000)
    truth = EntityConfidence(intercept, slope)
    right = [draw.random() < truth.applied(marginal) for marginal in marginals]
    fitted = EntityConfidence.fit(marginals.tolist(), right)
    assert max(abs(fitted.applied(m) - truth.applied(m)) for m in (0.03, 0.06, 0.1, 0.15)) < 0.05


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30), st.floats(0, 1), st.floats(0, 1))
def test_a_confidence_is_a_probability_and_keeps_the_order(
    judged: list[tuple[float, bool]], one: float, other: float
) -> None:
    fitted = EntityConfidence.fit([marginal for marginal, _ in judged], [right for _, right in judged])
    low, high = fitted.applied(min(one, other)), fitted.applied(max(one, other))
    assert 0 <= low <= high <= 1


def test_one_entity_that_was_right_is_no_certainty() -> None:
    assert EntityConfidence.fit([], []).applied(0.3) == 0.5
    assert EntityConfidence.fit([0.1], [True]).applied(0.1) == pytest.approx(2 / 3)


def span(start: int, end: int, entity: str, confidence: float | None = None, role: str | None = None) -> EntitySpan:
    extractor = None if confidence is None else "DIETClassifier"
    return EntitySpan(
        start=start, end=end, entity=entity, value="x", role=role, extractor=extractor, confidence=confidence
    )


def test_the_report_states_the_error_of_the_entities_that_were_found() -> None:
    tokens = ((0, 2), (3, 5))
    case = EntityCase(
        tokens,
        (span(0, 2, "town"), span(3, 5, "town", role="to")),
        (span(0, 2, "town", 0.9), span(3, 5, "town", 0.7)),
    )
    wrong = EntityCase(tokens, (span(0, 5, "town"),), (span(0, 2, "town", 0.9),))
    scores = score_extractors([case, wrong], ["DIETClassifier", "RegexEntityExtractor"])
    # Of two with 0.9 one is right, of one with 0.7 the one; a role has a confidence of its own.
    assert scores["DIETClassifier"].calibration_error == pytest.approx((0.8 + 0.3) / 3)
    assert scores["RegexEntityExtractor"].calibration_error is None
