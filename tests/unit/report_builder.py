"""A small language for reports: what a test is about is written, the rest follows from it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing
from turncheck.messages.finding import Finding, Location, Name
from turncheck.render.assistants import Assistants, Run
from turncheck.render.links import Links
from turncheck.render.wording.verdict import Verdict
from turncheck.report.batch import numbers_of
from turncheck.report.model import (
    Batch,
    BatchCase,
    BatchSuite,
    CaseResult,
    CaseStep,
    Confusion,
    Core,
    CoverageItem,
    EndToEnd,
    EngineInfo,
    EntityScores,
    EntitySpan,
    ExpectedParse,
    FailedVariant,
    FindingCounts,
    GateSettings,
    IntentScores,
    KindCoverage,
    MutantResult,
    Neighbour,
    Nlu,
    NluPrediction,
    NoiseGroup,
    PredictedParse,
    ProjectInfo,
    Report,
    Robustness,
    SentenceUnderNoise,
    Skipped,
    Source,
    SpanScores,
    StoryResult,
    StoryStep,
    Strength,
    Substitution,
    Tool,
    TrainingSentence,
    Validation,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.comparison.model import Comparison

BASE_COMMIT = "1" * 40
HEAD_COMMIT = "2" * 40


def example(
    text: str,
    intent: str,
    predicted: str | None = None,
    *,
    line: int = 1,
    path: str = "tests/test_nlu.yml",
    confidence: float = 0.9,
    near: Sequence[tuple[int, float]] = (),
    entities: Sequence[tuple[int, int, str]] = (),
    found: Sequence[tuple[int, int, str]] | None = None,
    extractor: str = "DIETClassifier",
) -> NluPrediction:
    """A test sentence; without ``predicted`` it is right, without ``found`` its entities are."""
    spans = tuple(EntitySpan(start=s, end=e, entity=kind, value=text[s:e]) for s, e, kind in entities)
    seen = [(span.start, span.end, span.entity) for span in spans] if found is None else found
    return NluPrediction(
        text=text,
        location=Location(path, line, 7),
        correct=predicted is None or predicted == intent,
        expected=ExpectedParse(intent=intent, entities=spans),
        predicted=PredictedParse(
            intent=predicted or intent,
            confidence=confidence,
            entities=tuple(
                EntitySpan(start=s, end=e, entity=kind, value=text[s:e], extractor=extractor, confidence=0.9)
                for s, e, kind in seen
            ),
        ),
        neighbours=tuple(Neighbour(training=index, similarity=similarity) for index, similarity in near),
    )


def training(*sentences: tuple[str, str], path: str = "data/nlu.yml") -> tuple[TrainingSentence, ...]:
    """Training sentences, ``(text, intent)`` each, one per line."""
    return tuple(
        TrainingSentence(text=text, intent=intent, location=Location(path, line, 7))
        for line, (text, intent) in enumerate(sentences, start=3)
    )


def story(name: str, *steps: str, line: int = 1, path: str = "tests/test_stories.yml") -> StoryResult:
    """A test story; a step is ``action`` or, for a wrong one, ``action!predicted``."""
    results = []
    for number, step in enumerate(steps, start=1):
        expected, _, predicted = step.partition("!")
        results.append(
            StoryStep(
                kind="action",
                expected=expected,
                predicted=predicted or expected,
                passed=not predicted,
                policy="MemoizationPolicy",
                confidence=1.0,
                location=Location(path, line + number, 5),
            )
        )
    return StoryResult(
        name=name, location=Location(path, line, 3), passed=all(step.passed for step in results), steps=tuple(results)
    )


def case(name: str, *steps: str, line: int = 1, path: str = "tests/e2e_test_cases.yml") -> CaseResult:
    """An end-to-end case; a step is ``expected`` or, for a failed one, ``expected!actual``."""
    results = []
    for number, step in enumerate(steps, start=1):
        expected, _, actual = step.partition("!")
        results.append(
            CaseStep(
                kind="utter",
                expected=expected,
                outcome="failed" if actual else "passed",
                actual=actual or expected,
                location=Location(path, line + number, 7),
            )
        )
    passed = all(step.outcome == "passed" for step in results)
    return CaseResult(
        name=name,
        location=Location(path, line, 5),
        passed=passed,
        outcome="passed" if passed else "failed",
        steps=tuple(results),
        difference=() if passed else ("  user: hello", f"+ {results[-1].expected}", f"- {results[-1].actual}"),
    )


def suite(name: str, *cases: tuple[str, bool]) -> BatchSuite:
    """A batch suite of ``(utterance, passed)``."""
    made = tuple(
        BatchCase(
            text=text,
            location=Location("suites/faq.json", line),
            kind="dialog",
            passed=passed,
            result="tp" if passed else "fp",
            expected=("faq",),
            matched=("faq" if passed else "other",),
        )
        for line, (text, passed) in enumerate(cases, start=1)
    )
    return BatchSuite(name=name, outcome="success", **numbers_of(made), path="suites/faq.json", cases=made)


def batch(*suites: BatchSuite, by_stand_in: bool = False) -> Batch:
    """Batch suites together."""
    cases = [case for one in suites for case in one.cases]
    return Batch(suites=suites, **numbers_of(cases), by_stand_in=by_stand_in)


def finding(
    code: str, message: str, severity: Any = "error", path: str = "domain.yml", line: int = 1, **names: str
) -> Finding:
    """A finding of validation; ``names`` by what they name."""
    named = tuple(Name(kind, name) for kind, name in names.items())
    return Finding(code=code, severity=severity, message=message, location=Location(path, line, 1), names=named)


def coverage(kind: str, **items: tuple[str, bool]) -> dict[str, KindCoverage]:
    """Coverage of one kind: ``name=(digest, covered)``."""
    listed = tuple(
        CoverageItem(name=name, location=Location("domain.yml", line, 3), digest=digest, covered=covered)
        for line, (name, (digest, covered)) in enumerate(items.items(), start=2)
    )
    return {kind: KindCoverage(items=listed, share=sum(i.covered for i in listed) / len(listed) if listed else None)}


def intent_report(expected: Sequence[str | None], predicted: Sequence[str | None]) -> dict[str, Any]:
    """Scores in the shape of Rasa's ``intent_report.json``."""
    right = Counter(e for e, p in zip(expected, predicted, strict=True) if e == p)
    support, taken = Counter(expected), Counter(predicted)
    scores: dict[str, Any] = {}
    for label in sorted(str(label) for label in support):
        precision = right[label] / taken[label] if taken[label] else 0.0
        recall = right[label] / support[label]
        f1 = 2 * right[label] / (taken[label] + support[label])
        scores[label] = {"precision": precision, "recall": recall, "f1-score": f1, "support": support[label]}
    scores["weighted avg"] = {
        key: sum(scores[str(label)][key] * number for label, number in support.items()) / len(expected)
        for key in ("precision", "recall", "f1-score")
    }
    return scores


def nlu(
    examples: Sequence[NluPrediction], sentences: Sequence[TrainingSentence] = (), entity_scores: float | None = None
) -> Nlu:
    """An evaluation with the scores that follow from its examples."""
    expected = [example.expected.intent for example in examples]
    predicted = [example.predicted.intent for example in examples]
    scores = intent_report(expected, predicted)
    pairs = Counter((e, p) for e, p in zip(expected, predicted, strict=True) if e != p)
    weighted = scores["weighted avg"]
    entities = {}
    if entity_scores is not None:
        spans = SpanScores(precision=entity_scores, recall=entity_scores, f1=entity_scores)
        number = sum(len(example.expected.entities) for example in examples)
        row = dict.fromkeys(("precision", "recall", "f1-score"), entity_scores) | {"support": number}
        entities["DIETClassifier"] = EntityScores(
            report={"weighted avg": row}, precision=entity_scores, recall=entity_scores, f1=entity_scores, spans=spans
        )
    return Nlu(
        mode="held-out",
        folds=None,
        examples=len(examples),
        intents=IntentScores(
            report=scores,
            accuracy=sum(example.correct for example in examples) / len(examples),
            precision=weighted["precision"],
            recall=weighted["recall"],
            f1=weighted["f1-score"],
            confusions=tuple(
                Confusion(expected=str(e), predicted=str(p), count=number)
                for (e, p), number in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))
            ),
        ),
        entities=entities,
        training=tuple(sentences),
        predictions=tuple(examples),
    )


def report(
    *,
    examples: Sequence[NluPrediction] = (),
    sentences: Sequence[TrainingSentence] = (),
    stories: Sequence[StoryResult] = (),
    cases: Sequence[CaseResult] = (),
    suites: Sequence[BatchSuite] = (),
    findings: Iterable[Finding] = (),
    covered: Mapping[str, KindCoverage] | None = None,
    settings: GateSettings | None = None,
    name: str = "pizzeria",
    root: str = "bots/pizzeria",
    commit: str = HEAD_COMMIT,
    entity_scores: float | None = None,
    skipped: Sequence[Skipped] = (),
    substitutions: Sequence[Substitution] = (),
) -> Report:
    """A report of what is given; what is not given did not run."""
    found = tuple(findings)
    counts = Counter(one.severity for one in found)
    accuracy = sum(s.passed for s in stories) / len(stories) if stories else 0.0
    return Report(
        tool=Tool(name="turncheck", version="0.1.0"),
        project=ProjectInfo(name=name, root=root, file="turncheck.yml"),
        source=Source(repository="acme/bots", commit=commit, ref="refs/heads/x", run_id="77"),
        seed=42,
        engine=EngineInfo(name="embedded", version="0.1.0", substitutions=tuple(substitutions)),
        validation=Validation(
            findings=found,
            counts=FindingCounts(error=counts["error"], warning=counts["warning"], info=counts["info"]),
        ),
        nlu=nlu(examples, sentences, entity_scores) if examples else None,
        core=Core(stories=tuple(stories), report={}, accuracy=accuracy, conversation_accuracy=accuracy)
        if stories
        else None,
        e2e=EndToEnd(
            cases=tuple(cases),
            passed=sum(c.passed for c in cases),
            failed=sum(c.outcome in {"failed", "error"} for c in cases),
            skipped=sum(c.outcome == "skipped" for c in cases),
            misunderstood=sum(c.outcome == "misunderstood" for c in cases),
        )
        if cases
        else None,
        batch=batch(*suites) if suites else None,
        coverage=dict(covered or {}),
        settings=settings or GateSettings(),
        skipped=tuple(skipped),
    )


def with_changes(original: Report, **changes: Any) -> Report:
    """A copy of a report with some fields replaced."""
    return msgspec.structs.replace(original, **changes)


def strength(
    *outcomes: Literal["killed", "survived", "equivalent"], scope: Literal["all", "changed"] = "all"
) -> Strength:
    """The strength of tests on mutants with these outcomes, one line each."""
    mutants = tuple(
        MutantResult(
            operator="drop-step",
            kind="stories",
            what=f"rule 'r{number}' without 'utter_{number}'",
            location=Location("data/rules.yml", number + 1),
            outcome=outcome,
            by="story" if outcome == "killed" else None,
        )
        for number, outcome in enumerate(outcomes)
    )
    killed, survived = outcomes.count("killed"), outcomes.count("survived")
    return Strength(
        scope=scope,
        score=killed / (killed + survived) if killed + survived else None,
        killed=killed,
        survived=survived,
        equivalent=outcomes.count("equivalent"),
        killed_by={"sentence": 0, "story": killed, "case": 0, "validation": 0},
        mutants=mutants,
    )


def robustness(*, failed: int, of: int) -> Robustness:
    """Robustness with so many variants misunderstood, all of them typos."""
    group = NoiseGroup(name="typo", variants=of, failed=failed, failure_rate=failed / of, low=0.0, high=1.0)
    worst = SentenceUnderNoise(
        text="hello",
        intent="greet",
        location=Location("tests/test_nlu.yml", 3),
        failed=(
            FailedVariant(
                family="typo", text="hallo", predicted="bye", confidence=0.4, intent_failed=True, entities_failed=False
            ),
        ),
    )
    none = NoiseGroup(name="entities", variants=0, failed=0, failure_rate=None, low=None, high=None)
    return Robustness(
        mode="held-out",
        sentences=of,
        variants=of,
        failed=failed,
        failure_rate=failed / of,
        low=0.0,
        high=1.0,
        entities=none,
        by_family=(group,),
        entities_by_family=(),
        by_intent=(),
        worst=(worst,) if failed else (),
    )


def only_assistant(
    report: Report, comparison: Comparison | None = None, verdict: Verdict | None = None, links: Links | None = None
) -> Assistants:
    """The assistant of a run of a single one; without a comparison there is no base."""
    compared = compare(report, Missing("none")) if comparison is None else comparison
    judged = Verdict(outcome="passed", summary="") if verdict is None else verdict
    return Assistants.of_one(Run(report, compared, judged, links or Links()))
