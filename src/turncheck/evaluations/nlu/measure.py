"""How language understanding is measured: held out, or by folds whose answers may be known."""

from __future__ import annotations

import gzip
import hashlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from turncheck.evaluations.answers import COMPUTE_LOCALLY, Answers, lazy_nlu
from turncheck.evaluations.nlu.judging import NluMeasurement, cross_validate, evaluate_held_out, why_not_testable
from turncheck.evaluations.nlu.splits import FoldRun, fold_unit, stable_folds
from turncheck.evaluations.varying.nlu import ask_times, repeat_sentences
from turncheck.evaluations.written_answers import UnreadableError, UnwritableError, read_answer, write_answer
from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import at_paths, count
from turncheck.process.cache import MOST_BYTES, Cache
from turncheck.process.packed import gunzip
from turncheck.process.screen import Console, duration
from turncheck.report.model import Nlu, Skipped
from turncheck.run.reading import ensure_trainable_by_config
from turncheck.run.repeats import repeating
from turncheck.run.skipping import in_vain, skipped_without_nlu, unreadable
from turncheck.run.under_way import KindOptions
from turncheck.work.workplace import INLINE, Executor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from turncheck.engines.base import Engine
    from turncheck.engines.conversation import NluEngine
    from turncheck.evaluations.nlu.judging import Repeat
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import NluData
    from turncheck.report.evaluations import Evaluation
    from turncheck.run.under_way import RunInProgress
    from turncheck.settings.options import Settings


def ensure_examples(data: NluData, looked_in: Path) -> None:
    """Refuse data that are judged and have no examples.

    Raises:
        UserError: names where they were looked for.
    """
    if not data.examples:
        raise UserError(f"there are no NLU examples at '{looked_in}'", hint="Name NLU data with --nlu.")


class NluOptions(KindOptions, frozen=True):
    """What ``test nlu`` asks for besides the settings."""

    pretrained: bool = False
    """Whether the entities of pretrained extractors (spaCy, Duckling) are scored, too, which Rasa leaves out."""
    repeat: int | None = None
    """How often each sentence is asked; ``None``: as in a run."""
    is_own: bool = True
    """Whether what is cross-validated are the project's sentences: only what is known of them is kept."""
    looked_in: Path = Path()
    """Where the sentences that are judged were looked for."""

    def make_ready(self, run: RunInProgress) -> None:
        """Held out, the engine is made ready; folds are only trained on what is judged.

        Raises:
            UserError: there is nothing to train on, or nothing to judge.
        """
        held_out = run.tests.nlu
        needed = run.engines.needs("nlu", in_folds=held_out is None)
        if held_out is None and not self.is_own:
            needed = needed - {"nlu"}
            run.lost = {part: finding for part, finding in run.lost.items() if part != "nlu"}
        ensure_trainable_by_config(run.project, run.settings, needed)
        ensure_examples(run.project.nlu if held_out is None else held_out, self.looked_in)
        if reason := why_not_testable(run.project, held_out, folds=run.settings.folds):
            raise UserError(f"there is nothing to test: {reason}", hint="Name NLU data with --nlu.")
        if held_out is not None:
            run.engines.make_ready(("nlu",), run.screen)


def measure(run: RunInProgress) -> Nlu | None:
    """Judge held-out test sentences if there are any, else cross-validate."""
    project, tests, folds = run.project, run.tests.nlu, run.settings.folds
    why_not = run.why_not("nlu", in_folds=tests is None)
    if why_not is None and tests is not None and not tests.examples:
        why_not = unreadable("nlu", run.tests.nlu_findings)
    untrainable = run.engines.capabilities.no_training if tests is None else None
    reason = untrainable or why_not_testable(project, tests, folds=folds)
    if reason and tests is None and not project.nlu.examples:
        reason += in_vain(project)
    if reason and tests is not None and run.settings.nlu:
        reason += at_paths((run.settings.nlu,))
    if why_not is None and reason:
        why_not = Skipped(evaluation="nlu", reason=reason)
    why_not = why_not or skipped_without_nlu("nlu", project, run.engines, has_sentences=tests is not None)
    if why_not is not None:
        run.skip(why_not)
        return None
    run.record_partial("nlu", run.tests.nlu_findings)

    how = "Testing language understanding" if tests else f"Cross-validating in {count(folds, 'fold')}"
    with run.screen.step("nlu", how):
        measured = run.run_or_skip("nlu", lambda: _measured(run, tests))
    run.measured_engine = measured.engine if measured else None
    return measured.section if measured else None


def _measured(run: RunInProgress, tests: NluData | None) -> NluMeasurement:
    options = run.options(NluOptions) or NluOptions()
    if tests is not None and (engine := lazy_nlu(run.engines)) is not None:
        with _repeating(run, options.repeat) as repeat:
            return _held_out(run, engine, tests, options, repeat)
    of_whole: tuple[tuple[Evaluation, object], ...] = (
        *(("core", run.tests.stories), ("e2e", run.tests.e2e), ("batch", run.tests.batch)),
    )
    whole = any(run.why_not(name) is None for name, tests_of_it in of_whole if tests_of_it)
    if note := run.engines.before_folds(run.settings.folds, whole=whole):
        run.screen.note(note)
    return measure_by_folds(
        run.engines,
        run.project,
        run.settings,
        run.screen,
        answers=run.precomputed.answers,
        cache=run.inputs.cache if options.is_own else None,
        work=run.work,
        pretrained=options.pretrained,
    )


@contextmanager
def _repeating(run: RunInProgress, times: int | None) -> Iterator[Repeat | None]:
    """Yield what asks for sentences several times: so many, or as often as it takes if the engine's answers vary."""
    if times is not None:
        yield partial(ask_times, times) if times > 1 else None
        return
    with repeating(run, "nlu") as how:
        yield None if how is None else partial(repeat_sentences, run.engines, how)


def _held_out(
    run: RunInProgress, engine: NluEngine, tests: NluData, options: NluOptions, repeat: Repeat | None
) -> NluMeasurement:
    """Test the engine of the whole project."""
    annotated = (entity.entity for example in tests.examples for entity in example.entities)
    return evaluate_held_out(
        run.project,
        engine,
        tests,
        pretrained=options.pretrained,
        trained=run.engines.trained_sentences,
        unknown_entities=run.engines.capabilities.not_found(annotated),
        team_confidences=run.engines.team_confidences,
        answers=run.precomputed.answers,
        repeat=repeat,
    )


# Answers that an earlier run got to the same questions about the same data.


class KeptAnswers(Struct, frozen=True):
    """The answers of ``others`` and, if they have none, those of earlier runs.

    ``texts``: the sentences of each fold. ``key``: the digest of all that the answers depend on, besides their unit's
    name.
    """

    others: Answers
    texts: Mapping[int, Sequence[str]]
    cache: Cache
    key: str

    def known(self, unit: str) -> Any | None:
        """Return the answer to a unit; a cached one is passed to the others, too."""
        known = self.others.known(unit)
        if known is not None or not self.others.is_asked(unit):
            return known
        key, kind = self._key(unit), unit.partition(":")[0]
        if (content := self.cache.get(key, kind)) is None:
            return None
        try:
            answer = read_answer(gunzip(content, MOST_BYTES).decode())
        except Exception:  # noqa: BLE001 - what somebody put there may go wrong in any way, and is only ignored
            answer = None
        if not isinstance(answer, FoldRun) or not self._answers(answer, unit):
            self.cache.mark_damaged(key, kind)
            return None
        self.others.keep(unit, answer)
        return answer

    def is_asked(self, unit: str) -> bool:
        """As in the others."""
        return self.others.is_asked(unit)

    def keep(self, unit: str, answer: Any) -> None:
        """Keep an answer if reading it back gives an equal one."""
        self.others.keep(unit, answer)
        self.cache.put_made(self._key(unit), unit.partition(":")[0], lambda: self._written(answer))

    def _written(self, answer: Any) -> bytes | None:
        try:
            text = write_answer(answer)
            if read_answer(text) != answer:
                return None
        except (UnwritableError, UnreadableError):
            return None
        return gzip.compress(text.encode(), self.cache.compression, mtime=0)

    def _answers(self, run: FoldRun, unit: str) -> bool:
        return unit == fold_unit(run.fold) and [parse.text for parse in run.parses] == [*self.texts.get(run.fold, ())]

    def _key(self, unit: str) -> str:
        return hashlib.sha256(f"{self.key}\0{unit}".encode("utf-8", "surrogatepass")).hexdigest()


def measure_by_folds(
    engines: Engine,
    project: Project,
    settings: Settings,
    screen: Console,
    *,
    cache: Cache | None,
    work: Executor,
    answers: Answers = COMPUTE_LOCALLY,
    pretrained: bool = False,
) -> NluMeasurement:
    """Cross-validate; what earlier runs answered for the same sentences of the project is taken from the cache."""
    key = None if cache is None else engines.key_of_folds(settings.folds)
    if cache is not None and key is not None:
        examples = project.nlu.examples
        plan = stable_folds(examples, settings.folds, settings.seed)
        answers = KeptAnswers(answers, plan.texts(examples), cache, key)
    slow = engines.capabilities.slow_training
    return cross_validate(
        project,
        engines.nlu_trainer,
        folds=settings.folds,
        seed=settings.seed,
        work=INLINE if slow else work,
        pretrained=pretrained,
        progress=_estimated(screen) if slow else lambda done, of: screen.detail(f"{done} of {count(of, 'fold')} done"),
        unknown_entities=engines.capabilities.unknown_entities,
        team_confidences=engines.team_confidences,
        answers=answers,
    )


def _estimated(screen: Console) -> Callable[[int, int], None]:
    """Folds of a real Rasa take minutes each: print the remaining time."""
    begin = screen.clock()

    def show_remaining_time(done: int, total: int) -> None:
        rest = (screen.clock() - begin) / done * (total - done)
        left = f": about {duration(rest)} left" if done < total else ""
        screen.note(f"{done} of {count(total, 'fold')} done{left}")

    return show_remaining_time
