"""How end-to-end cases are measured: each is a conversation, judged turn by turn."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from turncheck.dialogue.domain import DEFAULT_ACTIONS, DialogueDomain
from turncheck.evaluations.answers import unanswered
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import case_units, evaluate_cases, require_any_answer, run_elsewhere
from turncheck.evaluations.varying.e2e import evaluate_repeatedly
from turncheck.messages.phrasing import at_paths, count
from turncheck.report.model import EndToEnd, Skipped
from turncheck.run.assistant import action_server, make_assistant_ready, where_actions_are
from turncheck.run.evaluated_project import slot_order_of
from turncheck.run.reading import CASES_BELOW
from turncheck.run.repeats import compares_turns, engine_of_base, rules_of, section_of_base, worth_of
from turncheck.run.skipping import has_text, skipped_by_fault, skipped_elsewhere, skipped_without_nlu, with_tests
from turncheck.run.under_way import KindOptions
from turncheck.validation.case_names import check_beside_flows, check_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.conversation import ConversationEngine
    from turncheck.evaluations.e2e.case import CaseOutcome
    from turncheck.evaluations.varying.base_runner import BaseRunner
    from turncheck.project.e2e.model import E2ECase, E2ECases
    from turncheck.report.model import CaseResult
    from turncheck.run.under_way import RunInProgress


class CaseOptions(KindOptions, frozen=True):
    """What ``test e2e`` asks for besides the settings."""

    cases: E2ECases
    """The cases, which are read already."""
    how: CaseRun
    """How cases are run."""
    finished: Callable[[CaseResult], None]
    """Called with the result of each case, in their order, once it is known."""
    ended: Callable[[CaseOutcome], None]
    """Called at the end with the outcome of each case."""

    def make_ready(self, run: RunInProgress) -> None:
        """Load or train the assistant.

        Raises:
            UserError: there is nothing to train on, a model cannot be read, or the channel cannot be named.
        """
        make_assistant_ready(run.engines, self.how.channel, run.project, run.screen)
        run.cases = self.cases


def measure(run: RunInProgress) -> EndToEnd | None:
    """Run the cases, custom actions by the action server that the settings or the project name."""
    why_not = run.not_requested("e2e")
    if why_not is None and not run.tests.e2e:
        why_not = skipped_elsewhere("e2e", run.project, run.engines)
    if why_not is None and not run.tests.e2e:
        nothing = "the project has no end-to-end cases"
        if others := run.tests.e2e_elsewhere:
            nothing += f" below {CASES_BELOW}, but some{at_paths(others[:3])}: name them in the setting `e2e`"
        why_not = Skipped(evaluation="e2e", reason=nothing, no_tests=True)
    why_not = why_not or run.why_not("e2e")
    if why_not is not None:
        whole = why_not.fault and not any(finding.severity == "error" for finding in run.cases.findings)
        run.skip(with_tests(why_not, [case.name for case in run.cases.cases] if whole else None))
        if run.project.flows:  # they are held against the flows all the same
            run.case_findings = tuple(check_beside_flows(run.cases, DialogueDomain.of(run.project)))
        return None
    read = run.cases
    asked = run.options(CaseOptions)
    has_domain = run.project.native is None and (asked is None or not run.project.domain.is_empty)
    checked = check_cases(read, DialogueDomain.of(run.project), run.project.flows) if has_domain else ()
    faults = (*read.findings, *checked)
    run.case_findings = faults
    if errors := [fault for fault in faults if fault.severity == "error"]:
        run.skip(skipped_by_fault("e2e", "the end-to-end cases are faulty", errors))
        return None
    if not read.cases:
        nothing = f"there are no end-to-end cases{at_paths(run.settings.e2e)}"
        run.skip(Skipped(evaluation="e2e", reason=nothing, no_tests=True))
        return None
    has_sentences = asked is None and any(has_text(turn.user) for case in read.cases for turn in case.turns)
    if why_not := skipped_without_nlu("e2e", run.project, run.engines, has_sentences=has_sentences):
        run.skip(with_tests(why_not, [case.name for case in read.cases]))
        return None
    with run.screen.step("e2e", f"Running {count(len(read.cases), 'end-to-end case')}"):
        return run.run_or_skip("e2e", lambda: require_any_answer(_judged(run, read.cases, asked)))


def _may_call_server(outcome: CaseOutcome) -> bool:
    """Whether the action server may have been called in a case: for an action, or to validate a form."""
    names = outcome.exercised
    return bool(names.forms or {one for one in names.actions if not one.startswith("utter_")} - set(DEFAULT_ACTIONS))


def _judged(run: RunInProgress, cases: Sequence[E2ECase], asked: CaseOptions | None) -> EndToEnd:
    """Run the conversations of the cases; the action server is started if any of them has no answers yet."""
    settings, answers = run.settings, run.precomputed.answers
    rules = rules_of(run)
    how = CaseRun(slot_order=slot_order_of(settings), workers=settings.workers) if asked is None else asked.how
    how = structs.replace(how, workers=max(how.workers, run.engines.at_once))
    engine: ConversationEngine | None = None
    on_base: BaseRunner[ConversationEngine] | None = None
    remarks: list[str] = []
    finished, ended = (None, None) if asked is None else (asked.finished, asked.ended)
    with ExitStack() as stack:
        if unanswered(answers, case_units(cases)):
            server = stack.enter_context(action_server(run.inputs, run.project, run.screen))
            engine = run.engines.assistant(server)
            if not rules.once:
                base = stack.enter_context(engine_of_base(run, remarks.append))
                on_base = None if base is None else base.then(lambda there: there.assistant(server))
                if on_base is not None and base is run.base_to_start:
                    on_base.shares = _may_call_server
            elif (executor := where_actions_are(server, run.work, settings, run.screen)).size:
                answers = run_elsewhere(engine, cases, how, answers, executor)
        if not rules.once:
            section = evaluate_repeatedly(
                engine,
                cases,
                how,
                rules,
                partial(section_of_base, run, "e2e"),
                on_base=on_base,
                share=run.repeats.share("e2e") if "e2e" in run.repeats.tests else None,
                worth=partial(worth_of, run),
                measures_base=compares_turns(run),
                spent=partial(run.repeats.spend, "e2e"),
                say=run.screen.progress,
                every=run.screen.seconds_between,
                timed=run.screen.timer("e2e"),
                answers=answers,
                ended=ended,
            )
            return structs.replace(section, remarks=(*section.remarks, *remarks))
        return evaluate_cases(engine, cases, how, finished, run.screen.timer("e2e"), answers=answers, ended=ended)
