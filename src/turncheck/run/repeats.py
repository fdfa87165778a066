"""How often the tests of a run are run: what the setting ``repeats`` means for its engine, and what can be refused.

Where the base can be asked, or started, it is run in turn with this side.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from functools import partial
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import UnsetType

from turncheck.ci.host import exact_commit
from turncheck.comparison.losses import without_runs_before_losses
from turncheck.comparison.repeats import RunBesideBase, alarm_at, rate_test, weigh_pairs
from turncheck.comparison.rules import Regression, Threshold
from turncheck.comparison.shares import runs_needed
from turncheck.evaluations.answers import units_of
from turncheck.evaluations.e2e.judging import case_units
from turncheck.evaluations.kind import FIGURES_OF_RUNS, OF_ONE, OF_RUNS, OF_THREE, REPEATED, section_of
from turncheck.evaluations.turns import LEAST_TURNS, P95, TURN_FIGURES, too_few_turns
from turncheck.evaluations.varying.base_runner import BaseRunner
from turncheck.evaluations.varying.e2e import turns_of
from turncheck.evaluations.varying.plan import RepeatedTests, RepeatPlan
from turncheck.evaluations.varying.repeating import Repeating
from turncheck.gates.rules import read_rules
from turncheck.messages.errors import EngineError, UserError
from turncheck.messages.finding import shown_path
from turncheck.messages.phrasing import count
from turncheck.process.child_process import split_command
from turncheck.process.regular_file import file_and_case
from turncheck.process.screen import Console, duration
from turncheck.project.e2e.cases import read_cases
from turncheck.project.project_file import BOTIUM_FILES
from turncheck.project.quarantine import QUARANTINE_FILE
from turncheck.report.model import LONGEST_BASE
from turncheck.report.repeats import OTHER_BOT, SAME_BOT, not_in_turn
from turncheck.run.assistant import asked_at_base, is_same_bot, opened_engine
from turncheck.run.reading import read_configured, read_tests
from turncheck.settings.engines import ENGINES
from turncheck.settings.gates import gate_settings
from turncheck.settings.repeats import AUTO, MOST_RUNS, ONCE, RepeatRules, Worth, repeat_rules
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from turncheck.engines.base import Engine
    from turncheck.project.model import Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.run.under_way import RunInProgress
    from turncheck.settings.options import Settings

_NAMES: dict[str, tuple[str, str]] = {
    "nlu": ("test sentence", "test sentences"),
    "e2e": ("end-to-end case", "end-to-end cases"),
    "batch": ("utterance of batch suites", "utterances of batch suites"),
}


def rules_of(run: RunInProgress) -> RepeatRules:
    """Return how often the cases of this run are run: what a flag or an input says, or the project's file.

    A change that lets its own file look less closely must not excuse itself: until it is merged, each rule counts as
    the base has it, if that is the stricter one. An engine that only needs files answers the same each time: there,
    each case is run once.
    """
    if answers_never_vary(run):
        return ONCE
    own = _rules_by(run, run.settings.repeats)
    base = None if "repeats" in run.inputs.given or not _has_tests(run) else run.base_report()
    if base is None or base.settings.repeats_given:
        return own
    return own.no_milder_than(_rules_by(run, base.settings.repeats))


def _rules_by(run: RunInProgress, setting: str | UnsetType) -> RepeatRules:
    """Return what a setting means for this engine; ``auto``: several times if its answers vary."""
    if isinstance(setting, UnsetType) or setting == AUTO:
        return RepeatRules() if run.engines.capabilities.varies else ONCE
    try:
        return repeat_rules(setting)
    except ValueError:  # of another version
        return RepeatRules()


def _has_tests(run: RunInProgress) -> bool:
    return any(sizes for tests in (_cases(run), _sentences(run), _utterances(run)) for _, sizes in tests)


def answers_never_vary(run: RunInProgress) -> bool:
    """Whether the engine gives the same answer each time, custom actions aside."""
    return ENGINES[run.settings.engine].from_files and not run.engines.capabilities.varies


def plan_of(run: RunInProgress) -> RepeatPlan:
    """Return which tests of a run are repeated.

    By default sentences and utterances are asked once more only as far as the budget goes, since they may be many:
    then those that failed are asked again.
    """
    rules = rules_of(run)
    if rules.once:
        return RepeatPlan(rules, {})
    found: dict[Evaluation, RepeatedTests] = {}
    cases = _Sizes(run, _cases(run))
    if cases.number:
        found["e2e"] = RepeatedTests(cases.number, rules.first * cases.size, rules, cases.part)
    one_by_one: dict[Evaluation, _Sizes] = {"nlu": _Sizes(run, _sentences(run)), "batch": _Sizes(run, _utterances(run))}
    number = sum(sizes.size for sizes in one_by_one.values())
    more = (rules.first - 1) * number
    too_many = run.precomputed.too_many
    if too_many is None:
        too_many = rules.first * cases.size + more > rules.turns or _least_seconds(run, more) > rules.seconds
    too_many = too_many and run.settings.repeats == AUTO
    of_one = dataclasses.replace(rules, first=1) if too_many else rules
    if of_one.first < rules.first and number:
        run.screen.note(
            f"repeats: {count(number, 'sentence or utterance', 'sentences and utterances')} are too many for the"
            f" budget ({rules.turns:,} turns, {duration(rules.seconds)}): only those that fail are asked again."
        )
    for name, tests in one_by_one.items():
        if tests.number:
            found[name] = RepeatedTests(tests.number, (of_one.first - 1) * tests.number, of_one, tests.part)
    return RepeatPlan(rules, found, too_many)


class _Sizes:
    """Of tests of one kind how many there are, how many messages a run of them sends, and what part is run here."""

    def __init__(self, run: RunInProgress, sizes: Iterable[tuple[str, Sequence[int]]]) -> None:
        """``sizes``: the names of units of answers, with how many messages each of their tests sends."""
        units = list(sizes)
        self.number = sum(len(of_unit) for _, of_unit in units)
        self.size = sum(sum(of_unit) for _, of_unit in units)
        here = sum(sum(of_unit) for unit, of_unit in units if run.precomputed.answers.is_asked(unit))
        self.part = Fraction(here, self.size or 1)


def _cases(run: RunInProgress) -> Iterator[tuple[str, Sequence[int]]]:
    if run.why_not("e2e") is None:
        cases = run.cases.cases
        for unit, case in zip(case_units(cases), cases, strict=True):
            yield unit, () if case.expects_nothing else (turns_of(case),)


def _sentences(run: RunInProgress) -> Iterator[tuple[str, Sequence[int]]]:
    tests = run.tests.nlu
    if tests is not None and run.why_not("nlu") is None and run.engines.understands:
        units = units_of("sentence", (example.text for example in tests.examples))
        for unit, example in zip(units, tests.examples, strict=True):
            yield unit, (1,) if example.base_intent else ()


def _utterances(run: RunInProgress) -> Iterator[tuple[str, Sequence[int]]]:
    """The suites whose utterances are asked one by one: those that its platform runs as a whole are not."""
    if not run.tests.batch or run.engines.capabilities.uploads_suites or run.not_now("batch") is not None:
        return
    if run.suites.refused() is None and run.not_possible("batch") is None:
        suites = run.suites.read.suites
        for unit, suite in zip(units_of("suite", (suite.name for suite in suites)), suites, strict=True):
            yield unit, (1,) * len(suite.cases)


def _least_seconds(run: RunInProgress, messages: int) -> float:
    """Return how many seconds so many messages of the whole run take at least: a shard sends its part of them."""
    shard = run.settings.shard
    return run.engines.least_seconds(messages if shard is None else -(-messages // shard.count))


def worth_of(run: RunInProgress) -> Worth:
    """Return by how much a test must fail more often than on the base, and whether one that does by less may pass.

    A flag or an input says so, or the base's own file: a change must not excuse itself. Only where nothing is known of
    a base does the project's file count.
    """
    own = repeat_rules(run.settings.repeats).of_a_test
    if "repeats" in run.inputs.given:
        return own
    base = run.base_report()
    if base is None:
        return own._replace(is_set=False)
    try:
        return repeat_rules(base.settings.repeats if isinstance(base.settings.repeats, str) else AUTO).of_a_test
    except ValueError:  # of another version
        return RepeatRules().of_a_test


def compares_turns(run: RunInProgress) -> bool:
    """Whether a gate compares what turns take with the base's: then the first runs are made in turn with it, too."""
    rules = read_rules(gate_settings(run.settings), run.inputs.rules).regressions
    return any(rule.name in TURN_FIGURES for rule in rules)


def section_of_base(run: RunInProgress, evaluation: Evaluation) -> Any:
    """Return the base's results of an evaluation, with the runs that say how its tests usually fare."""
    base = run.base_report()
    return None if base is None else section_of(without_runs_before_losses(base), evaluation)


@contextmanager
def repeating(run: RunInProgress, evaluation: Evaluation) -> Iterator[Repeating[Any] | None]:
    """Yield how the sentences or utterances of an evaluation are repeated; ``None``: each is asked once."""
    tests = run.repeats.tests.get(evaluation)
    if tests is None:
        yield None
        return

    with ExitStack() as stack:
        on_base = stack.enter_context(engine_of_base(run, run.screen.note)) if tests.part else None
        yield Repeating(
            tests.rules,
            partial(section_of_base, run, evaluation),
            on_base,
            run.engines.at_once,
            run.repeats.share(evaluation),
            partial(worth_of, run),
            run.screen.progress,
            run.screen.seconds_between,
            partial(run.repeats.spend, evaluation),
        )


@contextmanager
def engine_of_base(run: RunInProgress, remark: Callable[[str], None]) -> Iterator[BaseRunner[Engine] | None]:
    """Yield the base as it runs elsewhere, if the settings say where, or as it is started here when it is first asked.

    If nobody knows how to ask it where it runs, say so instead.
    """
    there = asked_at_base(run.settings)
    if there is None or run.settings.baseline == "none":
        yield _base_to_start(run) if there is None else None
        return
    there = _as_on_base(run, there)
    if there is None or is_same_bot(there, run.settings):
        remark(not_in_turn(OTHER_BOT if there is None else SAME_BOT))
        yield None
        return
    inputs = run.inputs
    with opened_engine(
        there, run.project, inputs.environment, run.screen, hosts=inputs.hosts, variables=inputs.file_variables
    ) as engines:
        yield BaseRunner(lambda: engines, lambda: run.base_report() is not None)


def _as_on_base(run: RunInProgress, there: Settings) -> Settings | None:
    """Return the settings with the ``bot:`` of the base: it runs as it was when the change did not exist.

    ``None`` if it is another one, and not at hand: asked in another way, the base would fail for no fault of its own,
    and excuse what fails here.
    """
    base = run.base_report()
    if there.bot is None or base is None or base.settings.bot == there.bot.lines:
        return there
    own = run.base_bot(base.source.commit)
    return None if own is None else dataclasses.replace(there, bot=own)


# The base's assistant, trained and started here from the base's own files.


def _can_be_started(run: RunInProgress) -> bool:
    """Whether the settings say how an assistant is made of files: then that of the base is, too.

    A model that is named is this side's: it says nothing of the base.
    """
    named = ENGINES[run.settings.engine].command
    has_command = named is not None and getattr(run.settings, named) is not None
    return run.settings.baseline != "none" and run.settings.model is None and has_command


def _base_to_start(run: RunInProgress) -> BaseRunner[Engine] | None:
    """Return the assistant of the base, which is started when it is first asked; ``None`` if nobody says how."""
    if run.base_to_start is None and _can_be_started(run):
        run.base_to_start = BaseRunner(partial(_started, run), lambda: True)
    return run.base_to_start


def _started(run: RunInProgress) -> Engine:
    """Train and start the assistant of the commit that the report of the base is of; it runs until the run ends.

    Its custom actions are run by the action server of this run.

    Raises:
        EngineError: it cannot be had, for whatever reason.
    """
    try:
        engine = _opened(run)
        _ = engine.nlu  # it is ready before several tests are run there at once
    except EngineError:
        raise
    except UserError as error:
        raise EngineError(error.message, location=error.location, hint=error.hint) from error
    return engine


def _opened(run: RunInProgress) -> Engine:
    base = run.base_report()
    commit = exact_commit(base.source.commit) if base is not None else None
    if commit is None or run.inputs.at_commit is None:
        raise EngineError("its report does not say of which commit it is")
    run.screen.progress(f"The assistant of the base ({commit[:8]}) is trained and started, to be asked in turn")
    at_commit = run.until_its_end.enter_context(run.inputs.at_commit(commit))
    there = at_commit.inputs
    project = read_configured(there.settings, variables=there.file_variables)
    files = _files_of(run.project, run.settings) | _files_of(project, there.settings)
    _ensure_change_is_its_own(run, at_commit.differing(), files)
    opened = opened_engine(
        _as_here(there.settings, run),
        dataclasses.replace(project, endpoints=run.project.endpoints),
        there.environment,
        Console(quiet=True, stream=StringIO()),
        hosts=there.hosts,
        variables=there.file_variables,
    )
    return run.until_its_end.enter_context(opened)


def _ensure_change_is_its_own(run: RunInProgress, differing: Sequence[Path], files: Iterable[str]) -> None:
    """Make sure that this side and the base differ only in what each is trained from, in tests and in settings.

    The action server, `endpoints.yml` and the program that starts the assistant are those of this change on both sides:
    what it breaks there would be broken on the base as well, and be excused. ``files``: data and tests of both.

    Raises:
        EngineError: something else differs.
    """
    own = {run.project.root / path for path in files}
    own |= {path for path in differing if path.name.endswith(BOTIUM_FILES)}
    if run.inputs.settings_folder is not None:
        own |= {run.inputs.settings_folder / name for name in (FILE_NAME, QUARANTINE_FILE)}
    # A link is itself what differs, wherever it leads; what a data file is a link to is data.
    own = {place for path in own for place in (path.resolve(), path.parent.resolve() / path.name)}
    places = [path.parent.resolve() / path.name for path in differing]
    if shared := [place for place in places if place not in own]:
        name = shown_path(os.path.relpath(shared[0], run.project.root.resolve()))
        others = f" and {count(len(shared) - 1, 'other file')}" if shared[1:] else ""
        raise EngineError(f"this change alters '{name}'{others}, with which the base would be run, too")


def _files_of(project: Project, settings: Settings) -> set[str]:
    """The files that an assistant is trained from, and those with its tests, by their paths in its folder."""
    tests = read_tests(settings)
    suites = (os.path.relpath(file_and_case(path)[0], project.root) for path in tests.batch)
    return {
        *(file.path for file in project.files if file.role != "endpoints"),
        *(story.location.path for story in tests.stories),
        *(example.location.path for example in (tests.nlu.examples if tests.nlu else ())),
        *read_cases(project.root, tests.e2e).files,
        *suites,
    }


def _as_here(own: Settings, run: RunInProgress) -> Settings:
    """Return the base's settings, with which it is started as this side is; a program of this folder is called here."""
    setting = ENGINES[own.engine].command
    if own.engine != run.settings.engine or setting is None:
        raise UserError(f"by its own settings, another engine runs it ({own.engine})")
    program, *words = split_command("The base", getattr(own, setting))
    place = run.project.root.absolute() / program
    if Path(program).name != program and place.exists():
        program = str(place)
    command: dict[str, Any] = {setting: shlex.join([program, *words])}
    return dataclasses.replace(own, **command, rasa_servers=1)


# What can be refused before anything is asked.


def ensure_repeats_are_possible(run: RunInProgress) -> None:
    """Plan which tests are repeated, and make sure, before anything is asked, that this can be done.

    Raises:
        UserError: the budget is too small for the first runs, `most` too small to find anything, or a gate could not be
            decided by any result.
    """
    rules = rules_of(run)
    run.repeats = plan_of(run)
    is_set = run.settings.repeats != AUTO
    if rules != (own := _rules_by(run, run.settings.repeats)) and not answers_never_vary(run):
        run.screen.note(f"repeats: '{own}' finds less than the base's rules: until it is merged, '{rules}' counts.")
    if rules.once and is_set and not repeat_rules(run.settings.repeats).once:
        run.screen.note("repeats: this engine gives the same answer each time, so that each case is run once.")
    if rules.once:
        _ensure_gates_can_be_judged(run, rules)
        return
    _note_whole_suites(run)
    tests = run.repeats.tests
    if not tests:
        if is_set:
            run.screen.note("repeats: this run has neither end-to-end cases, test sentences nor utterances to repeat.")
        return
    turns = sum(repeated_tests.turns for repeated_tests in tests.values())
    if turns > rules.turns:
        are = " and ".join(count(one.number, *_NAMES[name]) for name, one in tests.items())
        raise UserError(
            f"repeats: the budget of {count(rules.turns, 'turn')} is too small: {count(rules.first, 'run')} of {are}"
            f" {'takes' if rules.first == 1 else 'take'} {turns:,}",
            hint="Raise `turns` in `budget`, or lower `first`.",
        )
    more = sum(one.turns for name, one in tests.items() if name != "e2e")
    if (seconds := _least_seconds(run, more)) > rules.seconds:
        raise UserError(
            f"repeats: the budget of {duration(rules.seconds)} is too small: {more:,} more messages take at least"
            f" {duration(seconds)} by the limits of the platform",
            hint="Raise `time` in `budget`, or lower `first`.",
        )
    _ensure_the_dead_are_found(run, rules)
    _ensure_gates_can_be_judged(run, rules)


def _note_whole_suites(run: RunInProgress) -> None:
    if run.tests.batch and run.engines.capabilities.uploads_suites and run.not_now("batch") is None:
        run.screen.note("repeats: the platform runs each suite as a whole, so that its utterances are asked once.")


def _ensure_the_dead_are_found(run: RunInProgress, rules: RepeatRules) -> None:
    """Refuse so few runs that even a case which never failed on the base and now always fails would be unclear."""
    tests = run.repeats.tests.values()
    cases = sum(one.number for one in tests)
    first = min(one.rules.first for one in tests)
    level = rules.false_alarms / cases
    is_beside = _can_be_started(run) or (run.settings.baseline != "none" and asked_at_base(run.settings) is not None)
    of_report = rate_test(0, LONGEST_BASE, rules.worth)

    def is_found(most: int) -> bool:
        if not is_beside:
            return of_report is not None and of_report.can_tell(most, level)
        runs = [RunBesideBase(True, None)] * first + [RunBesideBase(True, False)] * (most - first)
        return weigh_pairs(runs, 0, LONGEST_BASE, rules.worth, level).evidence >= alarm_at(level)

    if is_found(rules.most):
        return
    least = next((most for most in range(rules.most + 1, MOST_RUNS + 1) if is_found(most)), None)
    raise UserError(
        f"repeats: `most: {rules.most}` is too small: {count(cases, 'case')} would not even show one that never failed"
        " on the base and now always fails",
        hint="Lower `first`." if least is None else f"Set `most` to at least {least}.",
    )


def _ensure_gates_can_be_judged(run: RunInProgress, rules: RepeatRules) -> None:
    """Refuse gates about figures of runs that no result could decide: there are too few runs.

    An engine that never varies has none of these figures either; settings may be those of several engines.
    """
    gates = read_rules(gate_settings(run.settings), run.inputs.rules)
    named: list[tuple[str, Threshold | Regression]] = [("thresholds", gate) for gate in gates.thresholds]
    named += [("max-regression", gate) for gate in gates.regressions]
    named = [(setting, gate) for setting, gate in named if _is_of_runs(gate.name)]
    if not named or answers_never_vary(run):
        return
    tests = _tests_run_once(run) if rules.once else run.repeats.tests
    for setting, gate in named:
        section, _, figure = gate.name.partition(".")
        of_section = tests.get("e2e" if gate.name in LEAST_TURNS else cast("Evaluation", section))
        if of_section is None:
            continue
        try:
            if gate.name in LEAST_TURNS:
                _ensure_enough_turns(gate, of_section.rules, _Sizes(run, _cases(run)).size)
            else:
                _ensure_enough_runs(gate, figure, of_section, *_NAMES[section])
        except UserError as error:
            where = run.inputs.rules.get(gate.text)
            raise UserError(f"{setting}: {error.message}", location=where, hint=error.hint) from None


def _is_of_runs(metric: str) -> bool:
    section, _, figure = metric.partition(".")
    return (section in REPEATED and figure in FIGURES_OF_RUNS) or metric in LEAST_TURNS


def _tests_run_once(run: RunInProgress) -> dict[Evaluation, RepeatedTests]:
    sizes: dict[Evaluation, int] = {
        "nlu": _Sizes(run, _sentences(run)).number,
        "e2e": _Sizes(run, _cases(run)).number,
        "batch": _Sizes(run, _utterances(run)).number,
    }
    return {name: RepeatedTests(number, 0, ONCE) for name, number in sizes.items() if number}


def _ensure_enough_turns(gate: Threshold | Regression, rules: RepeatRules, turns: int) -> None:
    """Refuse a limit of a percentile that even turns which are all fast could not show."""
    least, number = LEAST_TURNS[gate.name], turns * rules.first
    if number >= least or (isinstance(gate, Regression) and gate.name != P95):
        return
    first = -(-least // max(1, turns))
    hint = f"{_what_runs_so_often(first, rules)}, or remove this line." if first <= MOST_RUNS else "Remove this line."
    raise UserError(
        f"'{gate.text}' cannot be judged: {too_few_turns(gate.name, number)}",
        hint=hint,
    )


def _ensure_enough_runs(gate: Threshold | Regression, figure: str, tests: RepeatedTests, one: str, many: str) -> None:
    first = tests.rules.first
    least = OF_RUNS if figure == OF_THREE else 2 if tests.rules.once else 1
    needed = 0
    if isinstance(gate, Threshold) and figure == OF_ONE and gate.operator in {">=", ">", "=="}:
        runs = runs_needed(gate.limit)
        if runs is None:
            raise UserError(
                f"'{gate.text}' cannot be reached by any number of runs",
                hint="Runs only show that a share is above some limit below 1.",
            )
        needed = runs
        least = max(least, -(-needed // tests.number))
    if first >= least:
        return
    if least > MOST_RUNS:
        raise UserError(
            f"'{gate.text}' needs {count(needed, 'run')}, all of which pass; {count(tests.number, one, many)}"
            f" {'has' if tests.number == 1 else 'have'} {MOST_RUNS * tests.number:,} at most",
            hint="Lower the limit.",
        )
    what = _what_runs_so_often(least, tests.rules)
    if tests.rules.once:
        raise UserError(f"'{gate.text}' cannot be judged: each {one} is run once", hint=f"{what}, or remove this line.")
    if figure == OF_THREE:
        raise UserError(
            f"'{gate.text}' cannot be judged: it needs `first: {least}`, and `first` is {first}",
            hint=f"{what}, or remove this line.",
        )
    raise UserError(
        f"'{gate.text}' needs {count(needed, 'run')}, all of which pass; {count(first, 'run')} of"
        f" {count(tests.number, one, many)} {'is' if first == 1 else 'are'} {first * tests.number}",
        hint=f"{what}, or lower the limit.",
    )


def _what_runs_so_often(first: int, rules: RepeatRules) -> str:
    """Say what to set, so that it is accepted: `most` rises with `first`, if it would not be more."""
    rules = RepeatRules() if rules.once else rules
    if first <= rules.most:
        return f"Set `first` in `repeats` to {first}"
    most = min(MOST_RUNS, first + rules.most - rules.first)
    return f"Set `first` in `repeats` to {first} and `most` to {most}"
