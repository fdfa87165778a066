"""All gates, in the order in which they are judged, and what follows from them for the settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.gates.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.gates.gate import Subject

COMPLETED: Final = Gate(
    name="completed",
    about=("the run",),
    rank=0,
    judged_by="required.judge_completed",
    setting="",
    manual="the engine failed before the end ([engines](engines.md#when-it-fails)); the exit code is then 2",
)
COULD_BE_RUN: Final = Gate(
    name="could-be-run",
    about=("faults",),
    rank=1,
    judged_by="required.judge_faults",
    setting="",
    manual="an evaluation could not be run completely because something must be fixed first: an unreadable file, a"
    " pipeline that cannot be trained ([what is then not judged](validation.md#when-something-cannot-be-read))",
)
SOMETHING_WAS_TESTED: Final = Gate(
    name="something-was-tested",
    about=("anything tested",),
    rank=9,
    judged_by="required.judge_anything_tested",
    setting="",
    manual="nothing was tested. If only `validate` was requested, or flows checked, that decides, unless the base runs"
    " tests that this run leaves out",
)
GONE_TESTS: Final = Gate(
    name="gone-tests",
    about=("gone tests",),
    rank=7,
    judged_by="tests.judge_gone",
    needs_base=True,
    manual="a test of the base that is [gone](#tests-that-are-gone); part of `test-failures` and `new-failures`"
    " whenever there is a base",
)

GATES: Final = (
    COMPLETED,
    COULD_BE_RUN,
    Gate(
        name="errors",
        by_default=True,
        about=("errors",),
        rank=2,
        judged_by="findings.judge_all",
        manual="an error in the data",
    ),
    Gate(
        name="new-errors",
        by_default=True,
        about=("errors",),
        rank=3,
        judged_by="findings.judge_new",
        new=True,
        manual="an error in the data that the base does not have; without a baseline, any",
    ),
    Gate(
        name="fail-on-warnings",
        about=("warnings",),
        rank=11,
        judged_by="findings.judge_all",
        setting="fail-on-warnings",
        written="`fail-on-warnings: true`",
        manual="a warning in the data",
    ),
    Gate(
        name="test-failures",
        by_default=True,
        about=("tests",),
        rank=6,
        judged_by="tests.judge_failed",
        manual="a failed story, end-to-end case or batch case, or [all together](varying.md#the-test). Batch cases that"
        " the embedded engine judged as a stand-in count only with `batch-failures: fail`",
    ),
    Gate(
        name="new-failures",
        by_default=True,
        about=("tests", "errors"),
        rank=5,
        judged_by="tests.judge_newly_failed",
        new=True,
        manual="a failed test, including any batch case, or an error in the data that the base does not have; without a"
        " baseline, any",
    ),
    GONE_TESTS,
    Gate(
        name="new-suppressions",
        about=("suppressions",),
        rank=4,
        judged_by="findings.judge_suppressions",
        new=True,
        needs_base=True,
        manual="an error in the data that a comment or `ignore` [suppresses](validation.md#suppressing-a-finding) and"
        " did not on the base; with `fail-on-warnings`, a warning too",
    ),
    Gate(
        name="consistent-tests",
        about=("consistency",),
        rank=8,
        judged_by="consistency.judge_consistent_tests",
        setting="",
        written="with [flows](../examples/appointment/README.md): `consistent-tests`",
        manual="a test expects what nothing can give, and did not on the base",
    ),
    SOMETHING_WAS_TESTED,
    Gate(
        name="require",
        about=("an evaluation",),
        rank=10,
        judged_by="required.judge_required",
        setting="require",
        written="`require: nlu,core,e2e`",
        manual="one of these did not run, or not completely: a skipped case, an intent with too few examples, an"
        " unreadable test file",
    ),
    Gate(
        name="threshold",
        about=("a figure",),
        rank=11,
        judged_by="figures.judge_thresholds",
        setting="thresholds",
        written="`thresholds`",
        manual="a [metric](#metric-names) on the wrong side of a limit, one per line: `nlu.intents[greet].recall >="
        " 90%`, `validation.warnings <= 3`",
    ),
    Gate(
        name="max-regression",
        about=("a figure",),
        rank=11,
        judged_by="figures.judge_regressions",
        setting="max-regression",
        written="`max-regression`",
        new=True,
        manual="a metric that dropped by more than this, one per line: `nlu.intents.f1: 0.01`. With `significant`"
        " (`nlu.intents.f1: 0.01 significant`, or `nlu.intents.f1: significant`) only a"
        " [real drop](base.md#is-it-noise) fails",
    ),
)

_BY_NAME: Final = {gate.name: gate for gate in GATES}
AUTO: Final = "auto"
NONE: Final = "none"
FAIL_ON: Final = (*(gate.name for gate in GATES if gate.setting == "fail-on"), AUTO, NONE)
"""The words of the setting `fail-on`."""
OF_A_CHANGE: Final = tuple(gate.name for gate in GATES if gate.by_default and gate.new)
OF_ALL: Final = tuple(gate.name for gate in GATES if gate.by_default and not gate.new)
"""What ``auto`` stands for: on a change, and elsewhere."""
SETTINGS: Final = tuple(dict.fromkeys(gate.setting for gate in GATES if gate.setting))
"""The settings that switch gates on."""


def subject_of(result: str) -> Subject | None:
    """Return what a result of ``verdict.json`` is about, by its name; ``None`` if no gate is called so."""
    gate = _BY_NAME.get(result.partition(":")[0])
    return gate.subject if gate is not None else None


def chosen(fail_on: Iterable[str]) -> tuple[Gate, ...]:
    """Return the gates that the setting `fail-on` names, also those that ``auto`` may stand for."""
    names = set(fail_on)
    names |= {*OF_A_CHANGE, *OF_ALL} if AUTO in names else set()
    return tuple(gate for gate in GATES if gate.setting == "fail-on" and gate.name in names)


def counts_old_failures(fail_on: Iterable[str]) -> bool:
    """Whether tests that fail on the base too fail the run."""
    return any(gate.subject == "tests" and not gate.new for gate in chosen(fail_on))


def is_about_tests(fail_on: Iterable[str]) -> bool:
    """Whether tests that fail, or that are gone, fail the run."""
    return any(gate.subject in {"tests", "gone tests"} for gate in chosen(fail_on))
