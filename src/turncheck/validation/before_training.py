"""What training refuses and what it warns about, as ``rasa train core`` does: less than ``data validate`` checks.

Rasa refuses to train on files that cannot be read: nothing that needs an incomplete part is judged. What it refuses
although all of it could be read here (a slot without mappings, an intent that is listed twice) is an error in the data,
but not a reason to skip judging.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.story_steps import EVENT_NAMES
from turncheck.dialogue.training import training_trackers
from turncheck.messages.finding import Finding, Location, Name
from turncheck.messages.phrasing import count
from turncheck.project.config import policy_class, refused
from turncheck.project.model import ActionStep, CheckpointStep, Project
from turncheck.validation.catalogue import CHECKS
from turncheck.validation.conflicts import loose_checkpoints
from turncheck.validation.facts import Facts, gather
from turncheck.validation.findings import found
from turncheck.validation.load_order import loading_findings, read_findings
from turncheck.validation.loading import lost_by_schema
from turncheck.yaml_tree.tree import YamlMapping, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from turncheck.project.project_file import ProjectFile
    from turncheck.project.rasa_version import RasaVersion

_REFUSED: Final = frozenset(check.code for check in CHECKS.values() if check.then != "goes on")
"""At these Rasa stops loading, or goes on with an empty domain, for which it does not train policies."""


class BeforeTraining(Struct, frozen=True):
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
    has_rules = any(policy_class(component) == "RulePolicy" for component in policies or ())
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
TRAINED_BY_RASA_1: Final = frozenset({"form-not-in-domain"})
"""Errors of later versions with which Rasa 0 and 1 train without a word: warnings there."""
_SCHEMA: Final = "schema-violation"
_WITH_SCHEMA: Final = frozenset({"domain", "config"})
_SHOWN: Final = 3


def split_for(project: Project, findings: Iterable[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Return the findings that apply to an older version of Rasa too, and those that only apply to Rasa 3.

    What could not be read is a fault of any version, whatever Rasa 3's schema says of it.
    """
    codes = _OF_RASA_3 | _OF_RASA_2 if project.domain.rasa < 2 else _OF_RASA_3
    schema_files = {file.path for file in project.files if file.role in _WITH_SCHEMA}
    unread = {finding.location for finding in project.findings if finding.code == _SCHEMA}
    kept: list[Finding] = []
    refused: list[Finding] = []
    for finding in findings:
        of_schema = finding.code == _SCHEMA and finding.location.path in schema_files and finding.location not in unread
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


PARTS: Final[Mapping[str, str]] = {
    "domain": "the domain",
    "nlu": "the NLU data",
    "responses": "the responses",
    "stories": "the stories and rules",
    "sentences": "the sentences of the stories",
    "config": "the configuration",
    "pipeline": "the pipeline",
    "endpoints": "the endpoints",
}
"""The parts of a project, as messages call them. ``sentences``: what users say in stories, which NLU learns from."""

_ABSENT: Final = {"domain-not-found": "domain", "config-not-found": "config", "domain-file-unread": "domain"}
NOT_THERE: Final = {"domain-not-found": "there is no domain", "config-not-found": "there is no configuration"}
"""Codes that say all by themselves: there is nothing else to tell of what cannot be read."""
_OF_KEY: Final = {"nlu": "nlu", "responses": "responses", "stories": "stories", "rules": "stories"}
"""The part that a key of a data file holds."""
_UNSEEN: Final = "data-key-unseen"
"""What is below a key in quotes is left out, as in Rasa; what is below a misspelt one is lost."""
_UNREAD_JSON: Final = "format-not-read"


def unreadable_parts(project: Project) -> dict[str, Finding]:
    """Return, for each part of which something is lost, the first finding that says what and where."""
    lost: dict[str, Finding] = {}
    for part, finding in sorted(all_unreadable(project), key=lambda finding: finding[1].location.sort_key):
        lost.setdefault(part, finding)
    return lost


def first_unreadable(lost: Mapping[str, Finding], parts: AbstractSet[str]) -> tuple[str, Finding] | None:
    """Return the first of these parts (in the order of :data:`PARTS`) of which something is lost, and the finding."""
    return next(((part, lost[part]) for part in PARTS if part in parts and part in lost), None)


def cause_of_loss(part: str, finding: Finding) -> str:
    """Say in short why anything that needs this part is not judged."""
    if finding.code in NOT_THERE:
        imported = any(name.kind == "importer" for name in finding.names)
        return finding.message.rstrip(".") if imported else NOT_THERE[finding.code]
    return "Rasa refuses to train the pipeline" if part == "pipeline" else f"{PARTS[part]} cannot be read completely"


def unread_tests(findings: Iterable[Finding], files: Iterable[ProjectFile]) -> tuple[Finding, ...]:
    """Return the findings on test files, including losses that the reader did not report, by place.

    A file of a version that is too high, which Rasa skips, is a fault here: its tests would be lost.
    """
    read = [
        replace(finding, severity="error") if finding.code == "version-too-high" else finding for finding in findings
    ]
    said = {(finding.location.path, finding.location.line) for finding in read if finding.severity == "error"}
    ours = [
        finding
        for file in files
        for finding in lost_by_schema(file)
        if (finding.location.path, finding.location.line) not in said
    ]
    return tuple(sorted((*read, *ours), key=lambda finding: finding.location.sort_key))


def all_unreadable(project: Project) -> Iterator[tuple[str, Finding]]:
    """Yield each part of which something is lost with each finding that says what and where."""
    faults: dict[str, list[Finding]] = {}
    for finding in project.findings:
        if finding.code in _ABSENT:
            yield _ABSENT[finding.code], finding
        elif finding.code == _UNREAD_JSON and finding.location.path.endswith(".json"):
            yield "nlu", finding
        elif finding.location.path in project.misnamed_files:
            yield _OF_KEY[project.misnamed_files[finding.location.path]], finding
        elif finding.severity == "error" and finding.code != _UNSEEN:
            faults.setdefault(finding.location.path, []).append(finding)
    for component, why in refused(project):
        message = f"The component '{component.written}' {why}."
        yield "pipeline", Finding("component-order", "error", message, component.location)
    for file in project.files:
        # The schemas are those of Rasa 3: what they do not know in these files is read as in its own version.
        by_schema = project.older is None or file.role not in _WITH_SCHEMA
        is_calm = project.calm is not None
        for finding in _lost_of(file, faults.get(file.path, ()), by_schema=by_schema, is_calm=is_calm):
            yield from ((part, finding) for part in _parts_of(file))


def _lost_of(file: ProjectFile, faults: Iterable[Finding], *, by_schema: bool, is_calm: bool) -> list[Finding]:
    """Return what is lost of one file: what the reader could not read, unknown keys, values of another type.

    On types Rasa's schemas are decisive (``by_schema``), if there is one.
    """
    if not by_schema:
        sections = _places_of_sections(file)
        lost = [fault for fault in faults if fault.code != "schema-violation" or fault.location in sections]
    else:
        has_schema = file.role != "endpoints" and file.document is not None and file.document.root is not None
        lost = [fault for fault in faults if not has_schema or fault.code != "schema-violation"]
        lost += lost_by_schema(file, is_calm=is_calm)
    if file.role == "domain" and file.is_empty:
        return [found("domain-empty", "There is nothing in the domain.", Location(file.path, 1, 1))]
    if file.source is None and not lost:
        return [Finding("file-unreadable", "error", f"'{file.path}' cannot be read.", Location(file.path, 1, 1))]
    return lost


def _places_of_sections(file: ProjectFile) -> set[Location]:
    """Return where a file and its sections begin, the entries of those of a configuration, and slots that are lists.

    If one of them is of another type, older Rasas stop; on values further in they agree with nobody but themselves.
    """
    root = file.document.root if file.document else None
    sections = root.items.values() if isinstance(root, YamlMapping) else ()
    places = {node.location for node in (root, *sections) if node is not None}
    if file.role == "config":
        places.update(item.location for node in sections if isinstance(node, YamlSequence) for item in node.items)
    slots = root.items.get("slots") if isinstance(root, YamlMapping) else None
    if file.role == "domain" and isinstance(slots, YamlMapping):
        places.update(slot.location for slot in slots.items.values() if isinstance(slot, YamlSequence))
    return places


def _parts_of(file: ProjectFile) -> Iterator[str]:
    if file.role != "data":
        yield file.role
    if file.has_nlu:
        yield "nlu"
    if file.role == "data" and "responses" in file.kinds:
        yield "responses"
    if file.has_stories:
        yield "stories"
        if file.document is None or "user:" in file.document.source.text:
            yield "sentences"
