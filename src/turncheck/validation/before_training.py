"""What training refuses and what it warns about, as ``rasa train core`` does: less than ``data validate`` checks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.story_steps import EVENT_NAMES
from turncheck.dialogue.training import training_trackers
from turncheck.messages.finding import Finding, Name
from turncheck.messages.phrasing import count
from turncheck.project.model import ActionStep, CheckpointStep
from turncheck.validation.conflicts import loose_checkpoints
from turncheck.validation.facts import gather
from turncheck.validation.findings import found
from turncheck.validation.merging import loading_findings, read_findings
from turncheck.validation.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.project.model import Project
    from turncheck.project.rasa_version import RasaVersion
    from turncheck.validation.facts import Facts


_REFUSED: Final = frozenset(check.code for check in CHECKS.values() if check.then != "goes on")
"""At these Rasa stops loading, or goes on with an empty domain, for which it does not train policies."""


@dataclass(frozen=True, slots=True)
class BeforeTraining:
    """Findings by place. With a finding among ``refused`` Rasa does not train."""

    refused: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


def check_policy_training(project: Project) -> BeforeTraining:
    """Return what keeps policies from being trained on this project, and what Rasa warns about while training."""
    facts = gather(project)
    found_while_loading = _of_its_version(project, [*read_findings(facts), *loading_findings(facts, emptied=False)])
    domain_files = {file.path for file in project.files if file.role == "domain"}
    refused = [finding for finding in found_while_loading if finding.code in _REFUSED]
    refused += [f for f in found_while_loading if f.code == "version-too-high" and f.location.path in domain_files]
    if refused:
        return BeforeTraining(_sorted(refused), ())
    warnings = [finding for finding in found_while_loading if _is_warning(finding)]
    if project.domain.rasa >= 2:
        refused += _unknown_slots(facts)  # Rasa 1 only writes them to its log
    policies = project.config.policies
    has_rules = any(component.name.endswith("RulePolicy") for component in policies or ())
    if has_rules or (policies is None and project.older is None):
        refused += _unknown_actions_of_rules(facts)
    if any(isinstance(step, CheckpointStep) for _, step in facts.steps) and not refused:
        trackers = training_trackers(project, DialogueDomain.of(project), augmentation=0)
        warnings += loose_checkpoints(facts, trackers.unused)
    return BeforeTraining(_sorted(refused), _sorted(warnings))


def check_nlu_training(project: Project) -> BeforeTraining:
    """Return what keeps language understanding from being trained; Rasa reads neither domain nor stories for it."""
    files = {file.path for file in project.files if file.role == "config" or file.has_nlu}
    found_here = _of_its_version(project, [*read_findings(gather(project))])
    read = [finding for finding in found_here if finding.location.path in files]
    refused = [finding for finding in read if finding.code in _REFUSED]
    return BeforeTraining(_sorted(refused), _sorted(finding for finding in read if _is_warning(finding)))


def _of_its_version(project: Project, findings: list[Finding]) -> list[Finding]:
    """For a project of an older Rasa, leave out what only Rasa 3 objects to."""
    if project.older is None:
        return findings
    # dropped-import  # most projects are for Rasa 3

    return split_for(project, findings)[0]


def _is_warning(finding: Finding) -> bool:
    return (
        finding.code not in _REFUSED
        and CHECKS[finding.code].stage == "load"
        and finding.severity in {"warning", "error"}
    )


def _unknown_slots(facts: Facts) -> Iterator[Finding]:
    """Slots that stories and rules set; those in the conditions of checkpoints are never set."""
    known = {*facts.domain.slots, *facts.default_slots}
    for block, step in facts.slot_steps():
        conditions = [slot for part in block.steps if isinstance(part, CheckpointStep) for slot in part.slots]
        if step.slot not in known and step not in conditions:
            message = f"'{block.name}' sets the slot '{step.slot}', which the domain does not define."
            names = (Name(block.kind, block.name), Name("slot", step.slot))
            yield found("slot-undefined", message, step.location, names=names)


def _unknown_actions_of_rules(facts: Facts) -> Iterator[Finding]:
    for block, step in facts.steps:
        if (
            block.kind == "rule"
            and isinstance(step, ActionStep)
            and step.action
            and step.action not in facts.actions
            and step.action not in EVENT_NAMES
        ):
            message = f"The rule '{block.name}' names '{step.action}', which is not an action of the domain."
            names = (Name("rule", block.name), Name("action", step.action))
            yield found("action-not-in-domain", message, step.location, names=names)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: (finding.location.sort_key, finding.code)))


# A project of an older Rasa: what its own version checked and, as one finding, what Rasa 3 would refuse.

_OF_RASA_3: Final = frozenset(
    {
        *("config-key-missing", "version-missing", "version-too-low", "key-unknown", "policy-unknown"),
        *("format-deprecated", "intent-triggers-removed", "mapping-entity-undefined"),
    }
)
"""Codes about what Rasa 3 changed, which do not apply to an older one."""
_OF_RASA_2: Final = frozenset({"entity-role-undefined"})
"""Codes that do not apply to Rasa 1, whose domain does not list roles and groups."""
_SCHEMA: Final = "schema-violation"
_WITH_SCHEMA: Final = frozenset({"domain", "config"})
_SHOWN: Final = 3


def split_for(project: Project, findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that apply to an older version of Rasa too, and those that only apply to Rasa 3."""
    codes = _OF_RASA_3 | _OF_RASA_2 if project.domain.rasa < 2 else _OF_RASA_3
    schema_files = {file.path for file in project.files if file.role in _WITH_SCHEMA}
    ours = {finding for finding in project.findings if finding.code == _SCHEMA}
    kept: list[Finding] = []
    refused: list[Finding] = []
    for finding in findings:
        of_schema = finding.code == _SCHEMA and finding.location.path in schema_files and finding not in ours
        (refused if of_schema or finding.code in codes else kept).append(finding)
    return kept, refused


def refusals_of_rasa_3(version: RasaVersion, refused: Iterable[Finding], *, targets_3: bool) -> Finding:
    """Return everything that Rasa 3 would refuse or read differently as one finding, with the place of each.

    ``targets_3``: the project is meant for Rasa 3, so this is an error.
    """
    locations = list(
        dict.fromkeys([*(sign.location for sign in version.signs), *(finding.location for finding in refused)])
    )
    message = f"{version.message}: Rasa 3 would refuse it at {count(len(locations), 'place')}."
    names = (Name("version", version.name),)
    group = found("legacy-project", message, locations[0], others=locations[1:], subject=version.name, names=names)
    return replace(group, severity="error" if targets_3 else "info")
