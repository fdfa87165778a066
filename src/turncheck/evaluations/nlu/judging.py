"""The NLU evaluation: held-out or by cross-validation, from engine and data to the report."""

from __future__ import annotations

import dataclasses
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct, structs
from msgspec.structs import replace

from turncheck.engines.conversation import Parse
from turncheck.evaluations.answers import (
    COMPUTE_LOCALLY,
    Answers,
    EngineFacts,
    UnfitAnswerError,
    answered,
    finished_part,
    units_of,
)
from turncheck.evaluations.nlu import remarks, scores
from turncheck.evaluations.nlu.predictions import (
    JudgedSentence,
    Neighbours,
    find_neighbours,
    judge,
    judgement_of,
    score_understood,
    shortened,
    with_fallbacks,
)
from turncheck.evaluations.nlu.splits import FoldRun, Folds, fold_unit, run_folds, stable_folds
from turncheck.messages.errors import IncompleteError
from turncheck.messages.phrasing import count
from turncheck.project.config import DUCKLING_DIMENSIONS
from turncheck.project.rasa_components import pipeline_of
from turncheck.report import model
from turncheck.report.entities import found_by, of_dimension
from turncheck.work.workplace import INLINE, Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from turncheck.engines.conversation import NluEngine, NluTrainer
    from turncheck.evaluations.varying.nlu import Repetition
    from turncheck.project.model import Component, Config, Project
    from turncheck.project.nlu_data import Example, NluData
    from turncheck.report.trust import ConfidenceMap
    from turncheck.report.understanding import CoveredIntents

    Repeat = Callable[[Sequence[Example], Answers, Callable[[Sequence[int]], Sequence[Parse]]], Repetition]

_SCORES_PRETRAINED: Final = 0
"""The version of Rasa that evaluates spaCy and Duckling, too."""
NOTHING: Final[Mapping[str, str]] = {}
ENGINE_UNIT: Final = "engine"
"""The unit of answers for what the report says about the engine."""
FALLBACK_THRESHOLD: Final = 0.3
FALLBACK_AMBIGUITY_THRESHOLD: Final = 0.1
"""Rasa's defaults for its ``FallbackClassifier``."""


class NluMeasurement(Struct, frozen=True):
    """The report's section, and the engine that was evaluated (in cross-validation, that of the first fold)."""

    section: model.Nlu
    engine: model.EngineInfo


def why_not_testable(project: Project, test_data: NluData | None, *, folds: int) -> str | None:
    """Return why there is nothing to evaluate, as a sentence for the report, or ``None`` if there is something."""
    if test_data is not None:
        return None if test_data.examples else "there are no NLU examples to test with"
    if not project.nlu.examples:
        return "the project has no NLU examples"
    sizes = Counter(example.base_intent for example in project.nlu.examples if example.base_intent)
    if not sizes:
        return "no NLU example has an intent"
    most = max(sizes.values())
    if most >= folds:
        return None
    none = f"no intent has as many examples as there are folds ({folds})"
    return f"{none}: --folds {most} would work" if most > 1 else f"{none}: each has one, which cannot be judged"


def evaluate_held_out(
    project: Project,
    engine: NluEngine,
    test_data: NluData,
    *,
    pretrained: bool = False,
    trained: Collection[str] | None = None,
    unknown_entities: Mapping[str, str] = NOTHING,
    team_confidences: ConfidenceMap | None = None,
    answers: Answers = COMPUTE_LOCALLY,
    repeat: Repeat | None = None,
) -> NluMeasurement:
    """Judge test sentences with an existing engine.

    Args:
        project: what the engine was trained on.
        engine: the engine to judge.
        test_data: the sentences.
        pretrained: also score the entities of pretrained extractors (spaCy, Duckling), which Rasa leaves out.
        trained: the sentences the engine was trained on, if that may have been another state of the project; other
            examples of the project then do not count as training sentences.
        unknown_entities: entities that the engine cannot find, and why; their annotations are not judged.
        team_confidences: maps to confidences of the team's own model, with which the fallback's figures are counted.
        answers: each sentence is a unit, and so is what the report says about the engine.
        repeat: asks for each sentence several times, if the engine's answers vary.

    Raises:
        ValueError: there are no test sentences.
        DelegatedError: other sentences are asked elsewhere.
        IncompleteError: the engine failed during the run, or the run was interrupted; ``finished`` is the measurement
            of what the engine had answered.
    """
    if reason := why_not_testable(project, test_data, folds=2):
        raise ValueError(reason)
    examples = remarks.without_entities(test_data.examples, unknown_entities)

    @cache
    def keep_facts() -> None:
        answers.keep(ENGINE_UNIT, EngineFacts(engine.info, engine.extractors))

    def ask(missing: Sequence[int]) -> list[Parse]:
        try:
            parses = engine.parse([examples[index].text for index in missing])
        except IncompleteError:
            keep_facts()
            raise
        keep_facts()
        return [shortened(parse) for parse in parses]

    parses: Sequence[Parse | None]
    repetition: Repetition | None = None
    stopped: IncompleteError | None
    if repeat is None:
        units = units_of("sentence", [example.text for example in examples])
        parses, stopped = finished_part(lambda: answered(answers, units, ask, Parse))
    else:
        repetition = repeat(examples, answers, ask)
        parses = repetition.parses
        stopped = None if repetition.stopped is None else IncompleteError(repetition.stopped)
    judged = [
        JudgedSentence(example, parse) for example, parse in zip(examples, parses, strict=True) if parse is not None
    ]
    if trained is not None:
        kept = tuple(example for example in project.nlu.examples if example.text in trained)
        project = dataclasses.replace(project, nlu=replace(project.nlu, examples=kept))
    known = trained if trained is not None else {example.text for example in project.nlu.examples}
    facts = answers.known(ENGINE_UNIT) or EngineFacts(engine.info, engine.extractors)
    neighbours = find_neighbours(project.nlu.examples, _wrong(judged), lambda _, __: True)
    measurement = _measure(
        project,
        judged,
        neighbours,
        engine_info=facts.info,
        extractors=facts.extractors,
        overlap=remarks.overlap_with([one.example for one in judged], project.nlu.examples, known),
        repetition=repetition,
        folds=None,
        pretrained=pretrained,
        team_confidences=team_confidences,
    )
    measurement = _with_remarks(measurement, remarks.remarks_on_unknown(test_data.examples, unknown_entities))
    if repetition is not None:
        measurement = _with_remarks(measurement, repetition.remarks)
    if stopped is not None:
        not_run = len(examples) - len(judged)
        left = f"Not run: {not_run} of {count(len(examples), 'sentence')}."
        raise IncompleteError(stopped, _with_remarks(measurement, [left] if not_run else []))
    return measurement


def cross_validate(
    project: Project,
    trainer: NluTrainer,
    *,
    folds: int = 5,
    seed: int = 42,
    work: Executor = INLINE,
    pretrained: bool = False,
    progress: Callable[[int, int], None] | None = None,
    unknown_entities: Mapping[str, str] = NOTHING,
    team_confidences: ConfidenceMap | None = None,
    answers: Answers = COMPUTE_LOCALLY,
) -> NluMeasurement:
    """Judge each of the project's own sentences with an engine that was trained without its fold.

    Args:
        project: the project to train on and to judge.
        trainer: trains the engines.
        folds: the number of folds, 2 or more.
        seed: the seed of the folds.
        work: where the folds are trained. The result does not depend on it.
        pretrained: as in :func:`evaluate_held_out`.
        progress: called with how many of how many engines are done.
        unknown_entities, team_confidences: as in :func:`evaluate_held_out`.
        answers: a fold is a unit.

    Raises:
        ValueError: there is nothing to judge.
        DelegatedError: other folds are run elsewhere.
        IncompleteError: the engine failed during the run, or the run was interrupted; ``finished`` is the measurement
            of the folds that were done.
    """
    if reason := why_not_testable(project, None, folds=folds):
        raise ValueError(reason)
    annotated = project.nlu.examples
    examples = remarks.without_entities(annotated, unknown_entities)
    project = dataclasses.replace(project, nlu=replace(project.nlu, examples=examples))
    plan = stable_folds(examples, folds, seed)
    runs, stopped = finished_part(
        lambda: run_folds(project, trainer, plan, work=work, progress=progress, answers=answers)
    )
    judged = _in_order(examples, plan, runs)
    wrong = _wrong(judged)
    measurement = _measure(
        project,
        judged,
        find_neighbours(examples, wrong, lambda place, index: plan.fold_of[index] != judged[place].fold),
        engine_info=runs[0].info,
        extractors=_all_extractors(runs),
        overlap=remarks.overlap_of_folds(examples, plan),
        folds=plan,
        pretrained=pretrained,
        team_confidences=team_confidences,
    )
    measurement = _with_remarks(measurement, remarks.remarks_on_unknown(annotated, unknown_entities))
    if stopped is not None:
        left = f"Not run: {folds - len(runs)} of {count(folds, 'fold')}."
        raise IncompleteError(stopped, _with_remarks(measurement, [left]))
    return measurement


def _in_order(examples: Sequence[Example], plan: Folds, runs: Iterable[FoldRun]) -> list[JudgedSentence]:
    """Return the sentences of all folds in the order of the examples.

    Raises:
        UnfitAnswerError: a fold has more or fewer answers than sentences.
    """
    placed: dict[int, JudgedSentence] = {}
    for run in runs:
        indexes = plan.judged(run.fold)
        if len(indexes) != len(run.parses):
            raise UnfitAnswerError(fold_unit(run.fold))
        for index, parse in zip(indexes, run.parses, strict=True):
            placed[index] = JudgedSentence(examples[index], parse, run.fold)
    return [placed[index] for index in sorted(placed)]


def _wrong(judged: Sequence[JudgedSentence]) -> dict[int, str]:
    """Return the texts of the misclassified sentences by index."""
    return {place: entry.example.text for place, entry in enumerate(judged) if not entry.correct}


def _with_remarks(measurement: NluMeasurement, remarks: Iterable[str]) -> NluMeasurement:
    section = structs.replace(measurement.section, remarks=(*measurement.section.remarks, *remarks))
    return replace(measurement, section=section)


def _with_runs(predictions: Sequence[model.NluPrediction], repetition: Repetition) -> tuple[model.NluPrediction, ...]:
    pairs = zip(repetition.parses, repetition.repeats, strict=True)
    judged = [repeats for parse, repeats in pairs if parse is not None]
    return tuple(
        structs.replace(prediction, **{"attempts" if isinstance(repeats, model.Attempt) else "repeats": repeats})
        for prediction, repeats in zip(predictions, judged, strict=True)
    )


def _measure(
    project: Project,
    judged: Sequence[JudgedSentence],
    neighbours: dict[int, Neighbours],
    *,
    engine_info: model.EngineInfo,
    extractors: Sequence[str],
    overlap: remarks.Overlap,
    folds: Folds | None,
    pretrained: bool,
    team_confidences: ConfidenceMap | None,
    repetition: Repetition | None = None,
) -> NluMeasurement:
    left_out = frozenset[str]() if pretrained or project.major == _SCORES_PRETRAINED else scores.PRETRAINED_EXTRACTORS
    predictions = tuple(judge(entry, neighbours.get(place, ()), without=left_out) for place, entry in enumerate(judged))
    if repetition is not None:
        predictions = _with_runs(predictions, repetition)
    clear = [entry for entry, prediction in zip(judged, predictions, strict=True) if prediction.is_judged]
    intents = scores.score_intents(predictions)
    scored = extractors
    if not left_out:
        scored = [name for extractor in extractors for name in _with_dimensions(extractor, project.config, predictions)]
    entities, spans = _score_entities(judged, predictions, scored, left_out)
    selectors = [
        scores.judged_selector(prediction.expected.response, entry.parse)[0] if prediction.expected.response else ""
        for prediction, entry in zip(predictions, judged, strict=True)
    ]
    responses, response_selection = scores.score_selectors(predictions, selectors)
    section = model.Nlu(
        mode="held-out" if folds is None else "cross-validation",
        folds=None if folds is None else folds.count,
        examples=len(predictions),
        intents=intents,
        entities=entities,
        entity_spans=spans,
        responses=responses,
        response_selection=response_selection,
        understood=_understood(clear, project.config, team_confidences, in_folds=folds is not None),
        unjudged=() if folds is None else folds.unjudged,
        on_training_sentences=len(overlap.copies),
        under_other_intents=len(overlap.contradicted),
        training=tuple(
            model.TrainingSentence(
                text=example.text,
                intent=example.intent or "",
                location=example.location,
                entities=tuple(entity.entity for entity in example.entities),
            )
            for example in project.nlu.examples
        ),
        predictions=predictions,
        repeats=UNSET if repetition is None else repetition.how,
        calibration_error=scores.expected_calibration_error(
            [(judgement.confidence, judgement.correct) for judgement in map(judgement_of, clear)]
        ),
        insights=remarks.find_insights(predictions, seen=overlap.all),
        coverage=_coverage(project, predictions),
        remarks=tuple(
            remarks.remarks_on(
                project,
                predictions,
                no_intents=intents is None,
                entities=entities,
                folds=folds,
                extractors=extractors,
                left_out=left_out,
            )
        ),
    )
    return NluMeasurement(section, engine_info)


def _coverage(project: Project, predictions: Sequence[model.NluPrediction]) -> CoveredIntents | None:
    """If the project names all that users may mean: what the judged sentences cover; only suites judge traits."""
    if not project.platform.names_all:
        return None
    from turncheck.project.batch.known import known_names
    from turncheck.project.batch.model import comparable

    known = known_names(project)
    judged = {known.canonical(prediction.expected.intent or "") for prediction in predictions}
    entities = {comparable(entity.entity) for prediction in predictions for entity in prediction.expected.entities}
    return remarks.covered_intents(known, lambda kind: {"trait": set(), remarks.ENTITY: entities}.get(kind, judged))


def _with_dimensions(extractor: str, config: Config, predictions: Sequence[model.NluPrediction]) -> list[str]:
    """Return what is scored of an extractor: of Duckling also each dimension that it is set to find.

    Without that setting it finds all that it knows: of those, the ones that are expected or found.
    """
    if extractor not in scores.DUCKLING_EXTRACTORS:
        return [extractor]
    of_component = (
        component
        for component in config.pipeline or ()
        if component.name.rpartition(".")[2] in scores.DUCKLING_EXTRACTORS
    )
    named = next((component.parameters.get("dimensions") for component in of_component), None)
    if isinstance(named, list) and named:
        return [extractor, *(of_dimension(extractor, str(dimension)) for dimension in named)]
    expected = {entity.entity for prediction in predictions for entity in prediction.expected.entities}
    found = {
        entity.entity for prediction in predictions for entity in found_by(extractor, prediction.predicted.entities)
    }
    return [
        extractor,
        *(of_dimension(extractor, dimension) for dimension in sorted((expected & DUCKLING_DIMENSIONS) | found)),
    ]


def _score_entities(
    judged: Sequence[JudgedSentence],
    predictions: Sequence[model.NluPrediction],
    extractors: Sequence[str],
    left_out: frozenset[str],
) -> tuple[dict[str, model.EntityScores], model.SpanScores | None]:
    """Empty if no entity is expected, as in Rasa. An extractor of the pipeline that found nothing scores 0."""
    if not any(prediction.expected.entities for prediction in predictions):
        return {}, None
    cases = [
        scores.EntityCase(entry.tokens, prediction.expected.entities, prediction.predicted.entities, prediction.fold)
        for entry, prediction in zip(judged, predictions, strict=True)
    ]
    active = {entity.extractor for case in cases for entity in case.predicted if entity.extractor}
    names = [name for name in extractors if name not in left_out]
    names += sorted(active - set(names))
    return scores.score_extractors(cases, names), scores.score_spans(cases)


def _understood(
    judged: Sequence[JudgedSentence], config: Config, team: ConfidenceMap | None, *, in_folds: bool
) -> model.Understood | None:
    own = [judgement_of(entry) for entry in judged]
    if not own:
        return None
    judgements = (
        own if team is None else [replace(judgement, confidence=team.of(judgement.confidence)) for judgement in own]
    )
    # Without a pipeline, a project of Rasa has the default one; what has no configuration is no project of Rasa.
    for component in pipeline_of(config) if config.keys or config.pipeline else ():
        if component.name.rpartition(".")[2] == "FallbackClassifier":
            threshold = _number(component, "threshold", FALLBACK_THRESHOLD)
            ambiguity = _number(component, "ambiguity_threshold", FALLBACK_AMBIGUITY_THRESHOLD)
            share = None if team is None else team.fallbacks_at((threshold, ambiguity), in_folds=in_folds)
            return score_understood(
                judgements,
                threshold=threshold,
                ambiguity_threshold=ambiguity,
                same_fallbacks=None if share is None else with_fallbacks(own, share),
            )
    return score_understood(judgements, threshold=None, ambiguity_threshold=None)


def _number(component: Component, name: str, default: float) -> float:
    """Return a parameter. The engine refuses a value that is not a number; a remote engine may not even read it."""
    value = component.parameters.get(name, default)
    return float(value) if isinstance(value, int | float) else default


def _all_extractors(runs: Sequence[FoldRun]) -> list[str]:
    """All extractors in pipeline order; a fold without any annotated entity may lack one."""
    names: dict[str, None] = {}
    for run in runs:
        names |= dict.fromkeys(run.extractors)
    return list(names)
