"""May this be run? The project that a command names: refused if nothing can be trained, or skipped with the reason."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from msgspec import structs

from turncheck.engines.base import DIALOGUE_PARTS, NOTHING_TO_LEARN
from turncheck.evaluations.kinds import KINDS
from turncheck.messages.errors import TrainingRefusedError, UserError
from turncheck.messages.finding import NOWHERE
from turncheck.project.assistants_below import assistants_in_words
from turncheck.project.paths import PATH_WITHOUT_DATA
from turncheck.report.model import Skipped
from turncheck.run.reading import read_given
from turncheck.settings.engines import ENGINES
from turncheck.validation.unreadable_parts import NOT_THERE, PARTS, cause_of_loss, first_unreadable, unreadable_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from turncheck.engines.base import Engine
    from turncheck.messages.finding import Finding
    from turncheck.process.screen import Console
    from turncheck.project.model import Config, Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.settings.options import Settings


_WIDTH: Final = 600
"""At most this much of a finding is shown."""


def read_assistant(settings: Settings, *, endpoints: Path | None = None, data: Iterable[str] | None = None) -> Project:
    """Read the project as :func:`turncheck.run.reading.read_given` does.

    Raises:
        UserError: a given path is missing, or the folder is not an assistant that can be read here.
    """
    project = read_given(settings, endpoints=endpoints, data=data)
    ensure_assistant(project)
    return project


def read_answered_elsewhere(settings: Settings) -> Project:
    """Read the project; unless the engine answers from its files, they need not be those of an assistant.

    Raises:
        UserError: a given path is missing, or the embedded engine has no assistant to train on.
    """
    return read_assistant(settings) if ENGINES[settings.engine].from_files else read_given(settings)


def read_dialogue_assistant(settings: Settings, *, endpoints: Path | None = None) -> Project:
    """Do the same for an assistant whose dialogues are tested.

    Raises:
        UserError: as above, or its dialogues are not in its files.
    """
    project = read_assistant(settings, endpoints=endpoints)
    elsewhere = project.platform.no_dialogues
    if elsewhere is not None and ENGINES[settings.engine].from_files:
        tests = "`turncheck test nlu`, `turncheck test robustness`, `turncheck run`"
        hint = f"Test what it understands: {tests}. `turncheck suggest` suggests cases of a batch suite."
        hint += " Conversations need --engine http."
        raise UserError(elsewhere, hint=hint)
    return project


def ensure_possible(engines: Engine, evaluation: Evaluation, *, in_folds: bool = False) -> None:
    """Refuse an evaluation that the engine does not support; ``in_folds``: for which it has to be trained in folds.

    Raises:
        UserError: with the reason.
    """
    if reason := engines.capabilities.why_not(evaluation):
        raise UserError(reason)
    if in_folds and (reason := engines.capabilities.no_training) is not None:
        without = "Leave --cross-validation out" if evaluation == "nlu" else "Name test sentences with --nlu"
        raise UserError(reason, hint=f"{without}, or use an engine that can be trained here.")


def ensure_assistant(project: Project, *, as_argument: str = "--project ") -> None:
    """Refuse a folder of several assistants, or an assistant of an older Rasa, before anything else is reported.

    Raises:
        UserError: names the assistants below it, or what shows that it is of an older Rasa.
    """
    ensure_assistant_here(project, as_argument=as_argument)


def ensure_assistant_here(project: Project, *, as_argument: str = "--project ", all_too: bool = False) -> None:
    """Refuse a folder that is not an assistant but contains some; ``all_too``: the command also accepts all of them.

    Raises:
        UserError: names them.
    """
    if project.below:
        raise UserError(
            f"there is no assistant in '{project.root}', but below it: {assistants_in_words(project.below)}",
            hint=f"Name one: {as_argument}{project.below[0].as_posix()}{_or_all(project.below) if all_too else ''}.",
        )


def _or_all(below: Iterable[Path]) -> str:
    """How to name all of them: by a pattern for each folder that they are in."""
    patterns = dict.fromkeys((path.parent / "*").as_posix() for path in below)
    return f", or all of them: turncheck run {' '.join(map(shlex.quote, patterns))}"


def ensure_trainable(project: Project, *, sentences_do: bool = False) -> None:
    """Refuse a project of which a part cannot be read completely, or that has no dialogues to train on.

    ``sentences_do``: one that only has sentences to train on is not refused.

    Raises:
        UserError: says which file is at fault.
    """
    if project.calm is not None:
        raise UserError(f"{project.calm}: the embedded engine does not run CALM assistants")
    ensure_readable(project, DIALOGUE_PARTS)
    if project.stories or project.rules or (sentences_do and project.nlu.examples):
        return
    if sentences_do:
        what = f"the project has neither sentences nor stories nor rules to learn from{in_vain(project)}"
        raise UserError(what, hint="Write some, or name them with --data.")
    raise UserError(f"{NOTHING_TO_LEARN}{in_vain(project)}", hint="Write some, or name them with --stories.")


def ensure_readable(project: Project, parts: AbstractSet[str]) -> None:
    """Refuse a project if one of these parts cannot be read completely: nothing is trained on part of it.

    Raises:
        UserError: says what cannot be read, and where.
    """
    lost = first_unreadable(unreadable_parts(project), parts)
    if lost is not None and not project.files:
        raise UserError(
            f"there is no assistant in '{project.root}': no configuration, no domain, no training data",
            hint="Name its folder with --project.",
        )
    if lost is not None:
        part, finding = lost
        location = None if finding.code.endswith("-not-found") else finding.location
        what = finding.message.rstrip(".")
        raise UserError(
            what if location is None or part == "pipeline" else f"{PARTS[part]} cannot be read completely: {what}",
            location=location,
            hint=finding.hint or "`turncheck data validate` lists all faults.",
        )


def ensure_policies_accepted(project: Project, screen: Console) -> None:
    """Report what Rasa warns about when it trains policies on these files.

    Raises:
        TrainingRefusedError: Rasa would train nothing.
    """
    from turncheck.validation.before_training import check_policy_training

    checked = check_policy_training(project)
    warn_or_refuse(project, checked.refused, checked.warnings, screen)


def ensure_nlu_accepted(project: Project, screen: Console) -> None:
    """Do the same for language understanding alone.

    Raises:
        TrainingRefusedError: Rasa would train nothing.
    """
    from turncheck.validation.before_training import check_nlu_training

    checked = check_nlu_training(project)
    warn_or_refuse(project, checked.refused, checked.warnings, screen)


def ensure_valid(project: Project, screen: Console, *, max_history: int | None, fail_on_warnings: bool) -> None:
    """Validate the whole project, as bare ``rasa train`` does before it trains.

    Raises:
        TrainingRefusedError: validation fails.
    """
    from turncheck.validation.pipeline import validate

    validated = validate(project, max_history=max_history, drop_in=True)
    failing = {"always", "on-warnings"} if fail_on_warnings else {"always"}
    pairs = list(zip(validated.findings, validated.fails, strict=True))
    refused = [finding for finding, fails in pairs if fails in failing]
    warn_or_refuse(project, refused, [f for f, fails in pairs if fails not in failing and f.severity != "info"], screen)


def warn_or_refuse(project: Project, refused: Iterable[Finding], warnings: Iterable[Finding], screen: Console) -> None:
    """Show the warnings about a project.

    Raises:
        TrainingRefusedError: something is refused; the error names all of it.
    """
    for finding in warnings:
        screen.note(_line(project, finding, "warning: "))
    lines = [f"\n{_line(project, finding)}" for finding in refused]
    if lines:
        raise TrainingRefusedError(
            f"the project cannot be trained:{''.join(lines)}", hint="`turncheck data validate` shows more."
        )


def _line(project: Project, finding: Finding, level: str = "") -> str:
    from turncheck.render.sinks.terminal import place, text  # most projects have none

    return f"{place(finding.location, str(project.root))}: {text(f'{level}{finding.message} [{finding.code}]', _WIDTH)}"


# Why an evaluation does not run, as an entry of the report.


def is_asked(settings: Settings, evaluation: Evaluation) -> bool:
    """Whether the settings ask for an evaluation."""
    if KINDS[evaluation].on_request:
        return evaluation in settings.evaluations or getattr(settings, evaluation, False) not in {False, "off"}
    return not settings.evaluations or evaluation in settings.evaluations


def not_asked(settings: Settings, evaluation: Evaluation) -> Skipped:
    """Other evaluations are requested."""
    reason = f"not requested (evaluations: {', '.join(settings.evaluations)})"
    return Skipped(evaluation=evaluation, reason=reason, cause="not requested")


def elsewhere(evaluation: Evaluation, project: Project, engines: Engine) -> Skipped | None:
    """If the project's files have no dialogues, there is nothing to test."""
    if project.platform.no_dialogues is None:
        return None
    reason = engines.capabilities.why_not(evaluation) or project.platform.no_dialogues
    return Skipped(evaluation=evaluation, reason=reason, no_tests=True)


def in_vain(project: Project) -> str:
    """Which of the paths that were named hold no training data, to be put behind what is missing; else nothing."""
    said = [finding.message.rstrip(".") for finding in project.findings if finding.code == PATH_WITHOUT_DATA]
    return f" ({'; '.join(said)})" if said else ""


def impossible(
    evaluation: Evaluation, engines: Engine, lost: Mapping[str, Finding], project: Project, *, in_folds: bool
) -> Skipped | None:
    """The engine cannot do it, or a part of the project that it needs cannot be read completely."""
    if loss := first_unreadable(lost, engines.needs(evaluation, in_folds=in_folds)):
        part, finding = loss
        return fault_of(evaluation, cause_of_loss(part, finding), [finding])
    reason_of_engine = engines.capabilities.why_not(evaluation)
    if reason_of_engine == NOTHING_TO_LEARN:
        reason_of_engine += in_vain(project)
    return None if reason_of_engine is None else Skipped(evaluation=evaluation, reason=reason_of_engine)


def not_understood(evaluation: Evaluation, project: Project, engines: Engine, *, has_sentences: bool) -> Skipped | None:
    """Tests whose sentences nothing understands cannot be run: every one would fail for that reason."""
    if not has_sentences or project.nlu.examples or engines.understands:
        return None
    reason = f"the project has no NLU examples to understand the test sentences with{in_vain(project)}"
    return Skipped(evaluation=evaluation, reason=reason, fault=True)


def has_text(text: str | None) -> bool:
    """Whether a message has to be understood; one that begins with a slash names its intent."""
    return text is not None and not text.startswith("/")


def unreadable(evaluation: Evaluation, findings: Iterable[Finding], *, of: Evaluation | None = None) -> Skipped | None:
    """Tests that exist but cannot be read are not the same as no tests: nobody would miss them.

    ``of``: the evaluation whose tests they are, if that is another one.
    """
    fault = next((finding for finding in findings if finding.severity == "error"), None)
    if fault is None:
        return None
    return fault_of(evaluation, f"{KINDS[of or evaluation].in_files} cannot be read completely", [fault])


def fault_of(evaluation: Evaluation, cause: str, faults: Sequence[Finding]) -> Skipped:
    """An evaluation that faults keep from running: validation, which lists all, may not have been requested."""
    first, location = faults[0], faults[0].location
    detail = f"{first.message} (and {len(faults) - 1} more)" if len(faults) > 1 else first.message.rstrip(".")
    if first.code in NOT_THERE:
        return Skipped(evaluation=evaluation, reason=detail, fault=True, location=location, cause=cause)
    return Skipped(
        evaluation=evaluation,
        reason=f"{cause}: {location}: {detail}",
        fault=True,
        location=location,
        cause=cause,
        without_place=f"{cause}: {detail}",
    )


def with_tests(skipped: Skipped, names: Iterable[str] | None) -> Skipped:
    """Name the tests that a fault elsewhere keeps from running, to distinguish them from removed ones."""
    return structs.replace(skipped, tests=tuple(names)) if skipped.fault and names is not None else skipped


def refused_training(error: UserError, evaluation: Evaluation, config: Config) -> Skipped:
    """What cannot be trained is a fault at its place or, if none is known, at that of the pipeline or the policies."""
    location = known = None if error.location == NOWHERE else error.location
    if location is None and evaluation != "e2e":
        location = config.keys.get("pipeline" if KINDS[evaluation].of_pipeline else "policies", config.location)
        location = None if location == NOWHERE else location
    place = f" ({known})" if known else ""
    refused = KINDS[evaluation].refused
    return Skipped(
        evaluation=evaluation,
        reason=f"{refused}: {error.message}{place}",
        fault=True,
        location=location,
        cause=f"{refused}: {error.headline}",
        without_place=f"{refused}: {error.message}",
    )
