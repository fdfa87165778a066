"""``turncheck compare-engines``: one set of tests, asked of several engines, side by side."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turncheck.comparison.engines import Asked, compare_engines, read_engine_rules
from turncheck.engines.choice import settings_of_engine
from turncheck.messages.errors import EXIT_FAILED, EXIT_NOT_DONE, EXIT_OK, INTERRUPTED, UserError
from turncheck.messages.phrasing import nearest
from turncheck.messages.plain_text import plain
from turncheck.publishing.files import write_own, written_line
from turncheck.render.engines import JSON_NAME, engines_csv, engines_text, render_engines_page
from turncheck.render.rendered import Rendered
from turncheck.report.codec import json_of
from turncheck.run.evaluated_project import evaluate_project
from turncheck.run.prepare import prepare
from turncheck.run.reading import ensure_tests_read, read_given, read_tests
from turncheck.settings.engines import ENGINES
from turncheck.settings.sources import from_flags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.process.screen import Console
    from turncheck.report.engines import EnginesCompared
    from turncheck.report.part import Evaluation
    from turncheck.run.inputs import Inputs
    from turncheck.settings.options import Settings


def run_compare_engines(
    flags: Mapping[str, Any], engines: Sequence[str], thresholds: Sequence[str], screen: Console
) -> int:
    """Ask each engine all tests, and write what they made of them.

    An engine that cannot be asked is a column that says so.

    Args:
        flags: settings by name with dashes; ``None`` is unset.
        engines: their names, with a variant after a colon: ``kore:published``.
        thresholds: the gates.
        screen: where progress is shown.

    Returns:
        0 if the gates hold, 1 if one does not, 2 if nothing could be compared, or a gate could not be judged.

    Raises:
        UserError: an engine or a gate that there is not, no tests, a file that cannot be read or written.
        KeyboardInterrupt: somebody interrupted it; what was finished is written.
    """
    chosen = _chosen(engines)
    rules = read_engine_rules(thresholds, engines)
    inputs = prepare(from_flags(flags), os.environ).inputs
    evaluations = _evaluations(inputs.settings)
    asked: list[Asked] = []
    interrupted = False
    for name, (engine, more) in zip(engines, chosen, strict=True):
        if interrupted:
            asked.append(Asked(name, problem="not asked: the comparison was interrupted"))
            continue
        screen.note(f"{name}:")
        settings = settings_of_engine(inputs.settings, engine, evaluations=evaluations, **more)
        one, interrupted = _asked(name, replace(inputs, settings=settings), screen)
        asked.append(one)
    if all(one.report is None for one in asked):
        problems = "\n".join(f"{one.name}: {one.problem}" for one in asked)
        raise UserError(f"no engine could be asked:\n{problems}")
    compared = compare_engines(asked, rules)
    sys.stdout.write(plain(engines_text(compared, folder=inputs.settings.project)))
    out = Path(inputs.settings.out)
    document = Rendered(JSON_NAME, "application/json", msgspec.json.format(json_of(compared), indent=1) + b"\n")
    screen.note(written_line(out, write_own(out, [document, engines_csv(compared), render_engines_page(compared)])))
    if interrupted:
        raise KeyboardInterrupt
    return _exit_code(compared)


def _chosen(names: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the engine of each name, and the setting that its variant stands for.

    Raises:
        UserError: there is no such engine or variant, fewer than two, or one twice.
    """
    if len(names) < 2 or len(set(names)) < len(names):
        raise UserError(
            "name at least two engines, each once", hint="--engines embedded rasa kore:published kore:in-development"
        )
    found = []
    for name in names:
        engine, _, variant = name.partition(":")
        if engine not in ENGINES:
            close = nearest(engine, ENGINES)
            known = f"Did you mean '{close[0]}'?" if close else f"Known are {', '.join(ENGINES)}."
            raise UserError(f"there is no engine '{engine[:80]}'", hint=known)
        setting, values = ENGINES[engine].variants or ("", ())
        if variant and variant not in values:
            known = f"It has {', '.join(f'{engine}:{value}' for value in values)}." if values else f"Write {engine}."
            raise UserError(f"the engine '{engine}' has no '{variant[:80]}'", hint=known)
        found.append((engine, {setting: variant} if variant else {}))
    return found


def _evaluations(settings: Settings) -> tuple[Evaluation, ...]:
    """Return the evaluations that there are tests for, of those that are asked for.

    Training sentences are none: each engine was trained on them, or on others.

    Raises:
        UserError: there are no tests, or some of them cannot be read: the others alone could agree.
    """
    read_given(settings)
    tests = read_tests(settings)
    wanted = settings.evaluations or ("nlu", "core", "e2e", "batch")
    if "nlu" in wanted:
        ensure_tests_read("the test sentences", tests.nlu_findings)
    if "core" in wanted:
        ensure_tests_read("the test stories", tests.story_findings)
    there: dict[Evaluation, object] = {
        "nlu": tests.nlu and tests.nlu.examples,
        "core": tests.stories,
        "e2e": tests.e2e,
        "batch": tests.batch,
    }
    found = tuple(name for name, has in there.items() if has and name in wanted)
    if not found:
        raise UserError(
            "there are no tests to ask the engines",
            hint="Name test sentences with --nlu, batch suites with --batch, or stories with --stories.",
        )
    return found


def _asked(name: str, inputs: Inputs, screen: Console) -> tuple[Asked, bool]:
    """Ask an engine, and return whether somebody interrupted it, too."""
    begin = screen.clock()
    try:
        report = evaluate_project(inputs, screen).report
    except UserError as error:
        screen.alarm(f"{name}: {error}")
        return Asked(name, problem=error.message, seconds=screen.clock() - begin), False
    except KeyboardInterrupt:
        return Asked(name, problem="interrupted", seconds=screen.clock() - begin), True
    wanted = inputs.settings.evaluations
    faults = [skipped.reason for skipped in report.skipped if skipped.fault and skipped.evaluation in wanted]
    problem = report.stopped or next(iter(faults), "")
    return Asked(name, report, problem.partition("\n")[0], screen.clock() - begin), report.stopped == INTERRUPTED


def _exit_code(compared: EnginesCompared) -> int:
    outcomes = {gate.outcome for gate in compared.gates}
    if "failed" in outcomes:
        return EXIT_FAILED
    return EXIT_NOT_DONE if compared.agreement is None or "not judged" in outcomes else EXIT_OK
