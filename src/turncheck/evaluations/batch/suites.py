"""Runs batch suites with an engine and judges them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from turncheck.clock import evaluating_within
from turncheck.engines.base import Capabilities, Engine, SuiteAnswers, UtteranceAnswer
from turncheck.evaluations.answers import (
    COMPUTE_LOCALLY,
    Answers,
    DelegatedError,
    UnfitAnswerError,
    answers_here,
    first_answers,
    units_of,
)
from turncheck.evaluations.batch.judging import judged_case
from turncheck.evaluations.nlu.remarks import ENTITY, covered_intents
from turncheck.evaluations.varying.batch import NO_ANSWER, RepeatedSuite, repeat_utterances
from turncheck.messages.errors import EngineError, IncompleteError
from turncheck.messages.phrasing import count, first_line
from turncheck.project.batch.model import KnownNames, Suite, SuiteCase, comparable
from turncheck.report import batch as batch_report
from turncheck.report.model import Attempt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from turncheck.engines.conversation import NluEngine, Parse
    from turncheck.evaluations.varying.repeating import Repeating
    from turncheck.process.screen import Console
    from turncheck.report.understanding import CoveredIntents


# The numbers of a suite by kind and by intent.


def kinds_of(
    cases: Sequence[batch_report.BatchCase], known: KnownNames | None = None
) -> dict[str, batch_report.BatchKind]:
    """Return the numbers of each kind that has cases or of which the project has intents.

    Args:
        cases: the cases.
        known: the project's names; ``None`` if there is no project.
    """
    kinds: dict[str, batch_report.BatchKind] = {}
    for kind in batch_report.BATCH_KINDS:
        of_kind = [case for case in cases if kind in _kinds_of_case(case, known)]
        there = None if known is None else known.in_total(kind)
        if not of_kind and not there:
            continue
        covered = None if there is None or known is None else len(expected_names(cases, known, kind) & there.keys())
        total = None if there is None else len(there)
        kinds[kind] = batch_report.BatchKind(**batch_report.numbers_of(of_kind), covered=covered, total=total)
    return kinds


def _kinds_of_case(case: batch_report.BatchCase, known: KnownNames | None) -> set[str]:
    """The kinds of a case: that of what it expects, and of each alternative to that."""
    if known is None or case.kind == "trait":
        return {case.kind}
    alternatives = {known.kind_of(name) for name in case.expected} - {None, "trait"}
    return {case.kind, *filter(None, alternatives)}


def expected_names(cases: Sequence[batch_report.BatchCase], known: KnownNames, kind: str) -> set[str]:
    """Return the names that the cases expect, in comparable form: traits, or intents of another kind."""
    is_trait = kind == "trait"
    return {
        known.canonical(name, is_trait=is_trait)
        for case in cases
        if (case.kind == "trait") == is_trait
        for name in case.expected
    }


def intents_of(cases: Sequence[batch_report.BatchCase]) -> dict[str, batch_report.BatchIntent]:
    """Return the usual scores of each intent that some evaluated case expects or matches, by name.

    Any alternative that is matched is right; if none is, each of them counts as missed.
    """
    names: dict[str, str] = {}
    found: Counter[str] = Counter()
    support: Counter[str] = Counter()
    matched: Counter[str] = Counter()
    for case in cases:
        if case.result == "not-evaluated":
            continue
        wanted = {comparable(name): name for name in case.expected}
        given = {comparable(name): name for name in case.matched}
        for key, name in (wanted | {key: name for key, name in given.items() if key not in wanted}).items():
            names.setdefault(key, name)
        hit = wanted.keys() & given.keys()
        found.update(hit)
        matched.update(given.keys())
        support.update(hit if hit and case.kind != "trait" else wanted.keys())
    scores = {}
    for key in sorted(names):
        precision = batch_report.share(found[key], matched[key]) or 0.0
        recall = batch_report.share(found[key], support[key]) or 0.0
        scores[names[key]] = batch_report.BatchIntent(
            precision=precision, recall=recall, f1=batch_report.harmonic(precision, recall), support=support[key]
        )
    return scores


_PATTERN_SECONDS = 10.0
"""The patterns of a suite's entities are searched for no longer than this together; what is left does not match."""
_MOST_SCORES = 3
"""The best intents whose scores are in the report, besides those of the expected ones."""


class SuiteRun(Struct, frozen=True):
    """How suites are run. ``known``: the project's names, ``None`` if there is no project.

    ``training``: its training sentences. ``notes``: remarks on this run. ``by_stand_in``: the engine is a stand-in.
    ``setting``: what the project's files say about the assistant.
    """

    known: KnownNames | None = None
    training: Collection[str] = ()
    notes: str = ""
    by_stand_in: bool = False
    setting: batch_report.BatchSetting | None = None


def evaluate_suites(
    engines: Engine,
    suites: Sequence[Suite],
    run: SuiteRun,
    screen: Console,
    answers: Answers = COMPUTE_LOCALLY,
    *,
    repeating: Repeating[batch_report.Batch] | None = None,
) -> batch_report.Batch:
    """Run and judge suites; a suite is a unit of ``answers``. ``repeating``: how utterances are asked again.

    Raises:
        IncompleteError: the engine could not go on, did not run a suite to its end, or the run was interrupted;
            ``finished`` is nevertheless the report's section, with the cases without an answer not evaluated; ``None``
            if there is no answer at all.
        DelegatedError: other suites are run elsewhere.
        UnfitAnswerError: a known answer is not that of its suite.
    """
    units = units_of("suite", (suite.name for suite in suites))
    here: dict[int, RepeatedSuite] = {}
    known_here: list[int] = []
    stopped: IncompleteError | None = None
    kind: type[SuiteAnswers | RepeatedSuite] = SuiteAnswers if repeating is None else RepeatedSuite
    for index, known in answers_here(answers, units, kind).items():
        suite = suites[index]
        if known is not None:
            known_here.append(index)
            here[index] = RepeatedSuite(known) if isinstance(known, SuiteAnswers) else known
            _ensure_fits(here[index], suite, units[index])
        elif stopped is not None:
            here[index] = RepeatedSuite(_unanswered(suite, stopped))
        else:
            first, stopped = _answers(engines, suite, screen, is_repeated=repeating is not None)
            here[index] = RepeatedSuite(first)
            if stopped is None and repeating is None:
                answers.keep(units[index], first)
    judged = {index: judged_suite(suites[index], suite.first, run) for index, suite in here.items()}
    entities = _expected_entities(suites)
    batch = batch_of(list(judged.values()), run, entities)
    answered = any(case.result != "not-evaluated" for case in batch.cases)
    if repeating is not None and (stopped is None or answered):
        written = {index: suite for index, suite in here.items() if not suite.utterances}
        if stopped is not None or not _why_not_judged(batch):
            if stopped is None and (
                unfit := [index for index in known_here if not here[index].utterances and suites[index].cases]
            ):
                raise UnfitAnswerError(units[unfit[0]])
            names = run.known or KnownNames()
            repetition = repeat_utterances(
                engines,
                suites,
                here,
                repeating,
                lambda engine, one: _answered(engine, one, screen).answers[0],
                judge=lambda case, answer: judged_case(case, answer, names),
                stopped=None if stopped is None else _cause(stopped),
            )
            judged = {index: _with_cases(suite, repetition.cases[index], run) for index, suite in judged.items()}
            batch = structs.replace(batch_of(list(judged.values()), run, entities), repeats=repetition.how)
            if repetition.stopped is not None:
                raise IncompleteError(repetition.stopped, batch)
            written = dict(repetition.written)
        for index, suite_runs in written.items():
            answers.keep(units[index], suite_runs)
    if len(here) < len(suites) and stopped is None:
        raise DelegatedError
    if stopped is not None:
        raise IncompleteError(_cause(stopped), batch if answered else None)
    if engines.capabilities.answers_suites and (why := _why_not_judged(batch)):
        raise IncompleteError(EngineError(why), batch)
    return batch


def evaluate_suites_times(
    engines: Engine, suites: Sequence[Suite], run: SuiteRun, screen: Console, times: int
) -> batch_report.Batch:
    """Run suites so many times: a case has passed if it passed each time, else it is as in the first that failed.

    Raises:
        IncompleteError: as in :func:`evaluate_suites`; ``finished`` has the runs until then.
    """
    batches: list[batch_report.Batch] = []
    stopped: IncompleteError | None = None
    while stopped is None and len(batches) < times:
        try:
            batches.append(evaluate_suites(engines, suites, run, screen))
        except IncompleteError as error:
            if not batches:
                raise
            stopped = error
            batches += [error.finished] if error.finished is not None else []
    found = []
    for index, suite in enumerate(batches[0].suites):
        of_suite = zip(*(batch.suites[index].cases for batch in batches), strict=True)
        ended = stopped is not None and len(batches) > 1
        cases = tuple(_of_times(runs, ended=ended) for runs in of_suite)
        found.append(_with_cases(suite, cases, run))
    batch = batch_of(found, run, _expected_entities(suites))
    if stopped is not None:
        raise IncompleteError(_cause(stopped), batch)
    return batch


def _of_times(runs: Sequence[batch_report.BatchCase], *, ended: bool) -> batch_report.BatchCase:
    """Return the result of a case that was run several times; ``ended``: the last run may not have come to it."""
    if ended and runs[-1].result == "not-evaluated":
        runs = runs[:-1]
    passed = tuple(case.passed for case in runs)
    shown = next((case for case in runs if not case.passed), runs[0])
    attempts = Attempt(passed=sum(passed), of=len(passed), runs=passed)
    if not 0 < attempts.passed < attempts.of:
        return structs.replace(shown, attempts=attempts)
    flaky = f"flaky: passed {attempts.passed} of {attempts.of} times"
    return structs.replace(shown, attempts=attempts, reason=f"{flaky}; {shown.reason}" if shown.reason else flaky)


def _expected_entities(suites: Iterable[Suite]) -> set[str]:
    return {comparable(entity.name) for suite in suites for case in suite.cases for entity in case.entities}


def _ensure_fits(known: RepeatedSuite, suite: Suite, unit: str) -> None:
    """Make sure that what is known of a suite is about its cases.

    Raises:
        UnfitAnswerError: it is about more or fewer.
    """
    numbers = {len(known.first.answers), len(known.utterances) or len(suite.cases)}
    if numbers != {len(suite.cases)}:
        raise UnfitAnswerError(unit)


def _why_not_judged(batch: batch_report.Batch) -> str:
    """Say which suites were not run to their end; "" if all were."""
    if batch.not_evaluated == len(batch.cases) > 0:
        return f"no utterance could be evaluated: {batch.cases[0].reason}"
    ended = [suite for suite in batch.suites if suite.outcome in {"failed", "cancelled"}]
    if not ended:
        return ""
    others = f" (nor {count(len(ended) - 1, 'other suite')})" if len(ended) > 1 else ""
    return f"the suite '{ended[0].name}' was not run to its end{others}: {ended[0].cases[0].reason}"


def judged_suite(suite: Suite, answers: SuiteAnswers, run: SuiteRun) -> batch_report.BatchSuite:
    """Judge a suite by its answers, one for each case."""
    names = run.known or KnownNames()
    pairs = zip(suite.cases, answers.answers, strict=True)
    with evaluating_within(_PATTERN_SECONDS):
        cases = tuple(judged_case(case, answer, names) for case, answer in pairs)
    return batch_report.BatchSuite(
        **batch_report.numbers_of(cases),
        name=suite.name,
        description=suite.description,
        notes=_notes(run.notes.strip(), answers.notes.strip()),
        version=answers.version,
        path=suite.path,
        setting=_setting(answers.setting, run.setting),
        outcome="cancelled" if answers.cancelled else outcome_of(cases),
        kinds=kinds_of(cases, run.known),
        intents=intents_of(cases),
        cases=cases,
    )


def _with_cases(
    suite: batch_report.BatchSuite, cases: tuple[batch_report.BatchCase, ...], run: SuiteRun
) -> batch_report.BatchSuite:
    """Return a suite with other results of its cases, and the numbers that follow."""
    outcome = suite.outcome if suite.outcome == "cancelled" else outcome_of(cases)
    numbers = batch_report.numbers_of(cases)
    return structs.replace(
        suite, **numbers, outcome=outcome, kinds=kinds_of(cases, run.known), intents=intents_of(cases), cases=cases
    )


def _notes(given: str, there: str) -> str:
    """The notes on a run: the platform's, which may have been changed there, and ours if it did not take them."""
    return there if given in there else given if there in given else f"{given}\n{there}"


def _setting(
    of_engine: batch_report.BatchSetting | None, of_files: batch_report.BatchSetting | None
) -> batch_report.BatchSetting | None:
    """The engine's setting, completed from that of the files."""
    if of_engine is None or of_files is None:
        return of_engine or of_files
    return batch_report.BatchSetting(
        bot=of_engine.bot or of_files.bot,
        language=of_engine.language or of_files.language,
        thresholds=of_engine.thresholds or of_files.thresholds,
        tested=of_engine.tested or of_files.tested,
    )


def batch_of(
    suites: Sequence[batch_report.BatchSuite], run: SuiteRun, entities: Collection[str] = ()
) -> batch_report.Batch:
    """Combine judged suites, with the numbers of all their cases.

    ``entities``: the expected ones in comparable form, including those that could not be evaluated.
    """
    cases = [case for suite in suites for case in suite.cases]
    training = {comparable(text) for text in run.training}
    return batch_report.Batch(
        **batch_report.numbers_of(cases),
        suites=tuple(suites),
        kinds=kinds_of(cases, run.known),
        coverage=None if run.known is None else _coverage(cases, run.known, entities),
        by_stand_in=run.by_stand_in,
        on_training=sum(comparable(case.text) in training for case in cases),
    )


def _answers(
    engines: Engine, suite: Suite, screen: Console, *, is_repeated: bool
) -> tuple[SuiteAnswers, IncompleteError | None]:
    """Return the answers to a suite; if it ``is_repeated``, what goes wrong with an utterance costs only that one."""
    can, nlu = engines.capabilities, engines.nlu if is_repeated else None
    if nlu is not None and not can.answers_suites:
        cases = suite.cases
        parses, stopped = first_answers(lambda these: nlu.parse([cases[one].text for one in these]), range(len(cases)))
        why = NO_ANSWER if stopped is None else UtteranceAnswer(error=f"not run: {first_line(stopped.message)}")
        found = (
            why if (parse := parses.get(one)) is None else answer_of(case, parse, can) for one, case in enumerate(cases)
        )
        return SuiteAnswers(tuple(found)), stopped
    try:
        return _answered(engines, suite, screen), None
    except IncompleteError as error:
        return _as_far_as(suite, error, engines.capabilities), error
    except (EngineError, KeyboardInterrupt) as error:
        stopped = IncompleteError(error)
        return _unanswered(suite, stopped), stopped


def _answered(engines: Engine, suite: Suite, screen: Console) -> SuiteAnswers:
    if engines.capabilities.answers_suites:
        return engines.answer_suite(suite, screen)
    nlu = engines.nlu
    return _unknown(suite) if nlu is None else _parsed(nlu, suite, engines.capabilities)


def _unknown(suite: Suite) -> SuiteAnswers:
    why = "there are no training sentences to understand it with"
    return SuiteAnswers(tuple(UtteranceAnswer(error=why) for _ in suite.cases))


def _parsed(nlu: NluEngine, suite: Suite, can: Capabilities) -> SuiteAnswers:
    parses = nlu.parse([case.text for case in suite.cases])
    return SuiteAnswers(tuple(answer_of(case, parse, can) for case, parse in zip(suite.cases, parses, strict=True)))


def _as_far_as(suite: Suite, stopped: IncompleteError, can: Capabilities) -> SuiteAnswers:
    """The answers before an engine was cut short: answers to the suite, or parses of its sentences."""
    finished = stopped.finished
    if isinstance(finished, SuiteAnswers):
        return finished
    why = f"not run: {first_line(stopped.message)}"
    parses = list(finished or ())[: len(suite.cases)]
    parses += [None] * (len(suite.cases) - len(parses))
    pairs = zip(suite.cases, parses, strict=True)
    return SuiteAnswers(
        tuple(UtteranceAnswer(error=why) if parse is None else answer_of(case, parse, can) for case, parse in pairs)
    )


def _unanswered(suite: Suite, stopped: IncompleteError) -> SuiteAnswers:
    why = f"not run: {first_line(stopped.message)}"
    return SuiteAnswers(tuple(UtteranceAnswer(error=why) for _ in suite.cases))


def _cause(stopped: IncompleteError) -> IncompleteError | KeyboardInterrupt:
    return KeyboardInterrupt() if stopped.interrupted else stopped


def answer_of(case: SuiteCase, parse: Parse, can: Capabilities) -> UtteranceAnswer:
    """Convert an engine's parse of a sentence to the answer to a case.

    There is none if the case expects intents that the engine cannot know and the parse matches no other expected one,
    or if it expects traits and the engine knows none. A retrieval intent is matched with its response key if the case
    expects one (``faq/ask_hours``).
    """
    if case.is_trait and not can.knows_traits:
        return UtteranceAnswer(error="the engine does not recognise traits")
    name = parse.intent.name or ""
    if any("/" in expected for expected in case.intents):
        keys = (selected.intent_response_key for selected in parse.responses.values())
        name = next((key for key in keys if key and key.startswith(f"{name}/")), name)
    values: dict[str, list[object]] = {}
    for start, end, entity in dict.fromkeys(
        (predicted_entity.start, predicted_entity.end, predicted_entity.entity) for predicted_entity in parse.entities
    ):
        predicted_entities = (one for one in parse.entities if (one.start, one.end, one.entity) == (start, end, entity))
        values.setdefault(entity, []).append(next(predicted_entities).value)
    traits = tuple(trait.name for trait in parse.traits if trait.name)
    matched = (name,) if name else ()
    unknown = {key: why for intent in case.intents if (why := can.unknown_intents.get(key := comparable(intent)))}
    wanted = set(map(comparable, case.intents))
    is_matched = not case.is_trait and comparable(name) in wanted
    return UtteranceAnswer(
        matched=matched,
        traits=traits,
        entities=values,
        scores={
            intent.name: intent.confidence
            for place, intent in enumerate(parse.ranking)
            if intent.name and (place < _MOST_SCORES or comparable(intent.name) in wanted)
        },
        bots=(can.bot,) if name and can.bot else (),
        error=None if is_matched or not unknown else "; ".join(dict.fromkeys(unknown.values())),
        unknown_entities=can.unknown_entities,
    )


def outcome_of(cases: Sequence[batch_report.BatchCase]) -> batch_report.BatchOutcome:
    """Return the platform's word for the outcome of a run that was not cancelled."""
    unanswered = sum(case.result == "not-evaluated" for case in cases)
    if unanswered and unanswered == len(cases):
        return "failed"
    return "success with warning" if unanswered else "success"


def _coverage(
    cases: Sequence[batch_report.BatchCase], known: KnownNames, entities: Collection[str]
) -> CoveredIntents | None:
    """An intent or entity is covered if any case expects it."""
    expected: dict[str, set[str]] = {kind: expected_names(cases, known, kind) for kind in batch_report.BATCH_KINDS}
    expected[ENTITY] = {*entities, *(comparable(entity.name) for case in cases for entity in case.entities)}
    return covered_intents(known, lambda kind: expected[kind])
