"""Why an evaluation does not run, as an entry of the report."""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Final

from msgspec import structs

from turncheck.engines.base import NOTHING_TO_LEARN, Engine
from turncheck.evaluations.kinds import KINDS
from turncheck.messages.finding import NOWHERE, Finding, shown_path
from turncheck.project.candidates import folder_with_data_above
from turncheck.project.config import own_importer
from turncheck.project.files import PATH_WITHOUT_DATA
from turncheck.project.folder import TOO_LARGE
from turncheck.report.model import Skipped
from turncheck.validation import before_training

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turncheck.messages.errors import UserError
    from turncheck.project.model import Config, Project
    from turncheck.report.evaluations import Evaluation
    from turncheck.settings.options import Settings


def is_asked(settings: Settings, evaluation: Evaluation) -> bool:
    """Whether the settings ask for an evaluation."""
    if KINDS[evaluation].on_request:
        return evaluation in settings.evaluations or getattr(settings, evaluation, False) not in {False, "off"}
    return not settings.evaluations or evaluation in settings.evaluations


def not_asked(settings: Settings, evaluation: Evaluation) -> Skipped:
    """Other evaluations are requested."""
    reason = f"not requested (evaluations: {', '.join(settings.evaluations)})"
    return Skipped(evaluation=evaluation, reason=reason, cause="not requested")


def skipped_elsewhere(evaluation: Evaluation, project: Project, engines: Engine) -> Skipped | None:
    """If the project's files have no dialogues, there is nothing to test."""
    if project.platform.no_dialogues is None:
        return None
    reason = engines.capabilities.why_not(evaluation) or project.platform.no_dialogues
    return Skipped(evaluation=evaluation, reason=reason, no_tests=True)


def in_vain(project: Project) -> str:
    """Which of the paths that were named hold no training data, to be put behind what is missing; else nothing."""
    said = [finding.message.rstrip(".") for finding in project.findings if finding.code in _MISSES]
    return f" ({'; '.join(said)})" if said else _importer_not_run(project) or _data_above(project)


def _data_above(project: Project) -> str:
    """How to name a project whose data are beside its folder, to be put behind what is missing; else nothing."""
    above = None if any(file.role == "data" for file in project.files) else folder_with_data_above(project.root)
    if above is None:
        return ""
    root = project.root.resolve()
    roles = {file.role: shown_path((root / file.path).relative_to(above)) for file in reversed(project.files)}
    keys = " and ".join(f"`{role}: {roles[role]}`" for role in ("config", "domain") if role in roles)
    whole = shown_path(os.path.relpath(above, root))
    return f" ('{whole}/data' has training data: the project is then '{whole}', with {keys} in its turncheck.yml)"


def _importer_not_run(project: Project) -> str:
    """Name the project's own importer, which may provide what is missing, to be put behind it; else nothing."""
    importer = own_importer(project.config)
    if importer is None:
        return ""
    return f" (the project's own importer '{importer.name}' ({importer.location}) is not run here)"


_MISSES: Final = frozenset({PATH_WITHOUT_DATA, "data-not-found"})


def skipped_unsupported(
    evaluation: Evaluation, engines: Engine, lost: Mapping[str, Finding], project: Project, *, in_folds: bool
) -> Skipped | None:
    """The engine cannot do it, or a part of the project that it needs cannot be read completely."""
    if loss := before_training.first_unreadable(lost, engines.needs(evaluation, in_folds=in_folds)):
        part, finding = loss
        return skipped_by_fault(evaluation, before_training.cause_of_loss(part, finding), [finding])
    reason_of_engine = engines.capabilities.why_not(evaluation)
    if reason_of_engine == NOTHING_TO_LEARN:
        reason_of_engine += in_vain(project)
    return None if reason_of_engine is None else Skipped(evaluation=evaluation, reason=reason_of_engine)


def skipped_without_nlu(
    evaluation: Evaluation, project: Project, engines: Engine, *, has_sentences: bool
) -> Skipped | None:
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
    return skipped_by_fault(evaluation, f"{KINDS[of or evaluation].in_files} cannot be read completely", [fault])


def skipped_by_fault(evaluation: Evaluation, cause: str, faults: Sequence[Finding]) -> Skipped:
    """An evaluation that faults keep from running: validation, which lists all, may not have been requested.

    A file beyond a limit of ours is no fault of the assistant.
    """
    first, location = faults[0], faults[0].location
    detail = f"{first.message} (and {len(faults) - 1} more)" if len(faults) > 1 else first.message.rstrip(".")
    if first.code in before_training.NOT_THERE:
        return Skipped(evaluation=evaluation, reason=detail, fault=True, location=location, cause=cause)
    return Skipped(
        evaluation=evaluation,
        reason=f"{cause}: {location}: {detail}",
        fault=first.code != TOO_LARGE,
        location=location,
        cause=cause,
        without_place=f"{cause}: {detail}",
    )


def with_tests(skipped: Skipped, names: Iterable[str] | None) -> Skipped:
    """Name the tests that a fault elsewhere keeps from running, to distinguish them from removed ones."""
    return structs.replace(skipped, tests=tuple(names)) if skipped.fault and names is not None else skipped


def beyond_limit(error: UserError, evaluation: Evaluation) -> Skipped:
    """What is beyond a limit of ours is not judged: that is no fault of the assistant."""
    place = f" ({error.location})" if error.location else ""
    return Skipped(evaluation=evaluation, reason=f"{error.message}{place}", location=error.location)


def refused_training(error: UserError, evaluation: Evaluation, config: Config) -> Skipped:
    """What cannot be trained is a fault at its place or, if none is known, at that of the pipeline or the policies."""
    location = known = None if error.location == NOWHERE else error.location
    if location is None and evaluation != "e2e":
        location = config.keys.get("pipeline" if KINDS[evaluation].nlu_only else "policies", config.location)
        location = None if location == NOWHERE else location
    place = f" ({known})" if known else ""
    refused = KINDS[evaluation].refused
    return Skipped(
        evaluation=evaluation,
        reason=f"{refused}: {error.headline}{place}",  # what its message lists, findings say one by one
        fault=True,
        location=location,
        cause=f"{refused}: {error.headline}",
        without_place=f"{refused}: {error.headline}",
    )
