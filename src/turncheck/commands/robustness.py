"""``turncheck test robustness``: test sentences as real users would write them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turncheck.engines.base import NLU_PARTS
from turncheck.engines.choice import chosen_engines
from turncheck.evaluation.nlu import why_not_testable
from turncheck.messages.errors import EXIT_FAILED, EXIT_OK, UserError
from turncheck.messages.phrasing import at_paths
from turncheck.messages.plain_text import plain
from turncheck.publishing.files import write_report
from turncheck.render.phrases import not_run_text, noted_version_line
from turncheck.render.robustness_text import robustness_text
from turncheck.run.cut_short import end_with, run_until_failure
from turncheck.run.output_folder import ensure_apart_from_project
from turncheck.run.reading import ensure_tests_read, read_tests
from turncheck.run.report_of import project_info, report_of
from turncheck.run.robustness import measure_robustness
from turncheck.run.trainable import ensure_possible, ensure_readable, read_assistant
from turncheck.work.workplace import workplace_of

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.process.screen import Console
    from turncheck.report.model import EngineInfo, Robustness
    from turncheck.settings.options import Settings


@dataclass(frozen=True, slots=True)
class RobustnessOptions:
    """What is varied and written. ``fail_over``: the largest failure rate that ends with 0."""

    settings: Settings
    fail_over: float | None = None
    json: Path | None = None


def run_test_robustness(options: RobustnessOptions, screen: Console) -> int:
    """Vary the test sentences, and report which are no longer understood: 1 above the largest rate, else 0.

    Raises:
        UserError: nothing to vary, a project that cannot be trained, tests or word lists that cannot be read,
            a limit and no rate. Where the engine gave up, what was finished is written before.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    settings = options.settings
    ensure_apart_from_project(None, settings, options.json)
    project = read_assistant(settings)
    ensure_readable(project, NLU_PARTS)
    read = read_tests(settings)
    ensure_tests_read("the test sentences", read.nlu_findings)
    tests = read.nlu
    if reason := why_not_testable(project, tests, folds=settings.folds):
        raise UserError(f"{reason}{at_paths((settings.nlu,)) if tests is not None and settings.nlu else ''}")
    info: EngineInfo | None = None

    def evaluate() -> Robustness:
        nonlocal info
        with chosen_engines(settings, project, os.environ) as engines:
            ensure_possible(engines, "robustness")
            try:
                with workplace_of(settings, screen) as work, screen.step("robustness", "Varying the test sentences"):
                    return measure_robustness(engines, project, tests, settings, work=work)
            finally:
                info = engines.info(conversations=False)

    result = run_until_failure(evaluate)
    robustness = result.finished
    report = report_of(
        project_info(project),
        settings.seed,
        engine=info if robustness is not None else None,
        robustness=robustness,
        skipped=result.skipped("robustness"),
        stopped=result.reason,
        timings=screen.timings,
    )
    if options.json is not None:
        write_report(options.json, report)
    sys.stdout.write(noted_version_line(report.project, settings.project))
    in_words = not_run_text(report) if robustness is None else plain(robustness_text(robustness, settings.project))
    sys.stdout.write(in_words)
    if result.stopped is not None:
        end_with(result.stopped)
    most, rate = options.fail_over, None if robustness is None else robustness.failure_rate
    if most is not None and rate is None:
        raise UserError("--fail-over cannot be judged: no sentence that is understood could be varied")
    return EXIT_FAILED if most is not None and rate is not None and rate > most else EXIT_OK
