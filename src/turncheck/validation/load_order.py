"""The order in which Rasa loads and checks a project, and what it therefore never gets to see.

``rasa data validate`` ends at the first file that it cannot read, and goes on with an empty domain after the first
fault that makes a domain invalid. A drop-in does the same; what lies behind is kept under ``hidden-by-load-error``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from turncheck.finding import Finding
from turncheck.project.model import Domain
from turncheck.validation import schemas
from turncheck.validation.loading import importer_faults
from turncheck.validation.registry import CHECKS
from turncheck.validation.schema_rules import faults_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.project.files import ProjectFile
    from turncheck.project.model import Project

HIDDEN: Final = "hidden-by-load-error"

STOPPING: Final = frozenset(
    {
        *("domain-not-found", "config-not-found", "file-not-utf8", "yaml-syntax", "yaml-duplicate-key", "yaml-limit"),
        *("file-unreadable", "file-too-large", "file-outside-project", "schema-violation", "section-empty"),
        "value-unreadable",
        *("slot-type-unknown", "slot-key-unknown", "slot-range-invalid", "slot-any-influences", "intent-malformed"),
        *("entity-malformed", "name-not-text", "response-is-form"),
        *(
            "annotation-not-json",
            "annotation-invalid",
            "slot-named-undefined",
            "intent-name-invalid",
            "step-list-empty",
            "required-slots-empty",
            "mapping-conditions-empty",
            "domain-empty",
            "max-history-invalid",
        ),
    }
)
"""Rasa ends at these, or reads what is not read here."""

EMPTYING: Final = frozenset(
    check.code for check in CHECKS.values() if check.fails_stories == "never" and not check.own
) - {
    "story-intent-undefined",
    "step-without-intent",
}
"""Rasa goes on with an empty domain after these."""

_DOMAIN_ORDER: Final = {
    code: position
    for position, codes in enumerate(
        (
            ("mapping-malformed", "mapping-type-unknown", "mapping-key-missing"),
            ("slot-type-unknown", "slot-key-unknown", "slot-range-invalid", "slot-any-influences"),
            ("form-malformed", "form-without-required-slots"),
            ("entity-trailing-colon",),
            (
                "intent-trailing-colon",
                "intent-malformed",
                "entity-malformed",
                "entity-used-and-ignored",
                "name-not-text",
            ),
            ("intent-duplicate",),
            ("section-empty",),
            ("action-duplicate",),
            ("slot-duplicate",),
            ("entity-duplicate",),
            ("trigger-action-undefined",),
        )
    )
    for code in codes
}
"""Within a domain file: the order in which the parts of it are looked at."""

_LAST_PATH: Final = "\U0010ffff"
"""Behind every path."""

_SYNTAX, _DUPLICATES, _SCHEMA, _VERSION, _CONTENT = range(5)
"""Within a file."""

_CHECK_ORDER: Final = {
    "intent-triggers-removed": 0,
    "action-not-in-domain": 1,
    "form-not-in-domain": 2,
    "form-slot-undefined": 3,
    "required-slots-empty": 3,
    "mapping-form-undefined": 4,
    "mapping-slot-not-required": 4,
    "mapping-conditions-empty": 4,
}
"""Within the checks of the domain."""

_NOT_EVEN_TEXT: Final = frozenset({"file-not-utf8", "file-unreadable", "file-too-large"})
UNREADABLE: Final = _NOT_EVEN_TEXT | {"yaml-syntax", "yaml-duplicate-key", "yaml-limit"}
"""Files of which nothing is read. Rasa names the first one only, but each of them is at fault by itself."""

_VERSIONS: Final = frozenset({"version-missing", "version-too-low", "version-too-high", "version-invalid"})

ABOUT_EMPTIED_DOMAIN: Final = frozenset(
    {
        *("intent-not-in-domain", "story-intent-undefined", "action-not-in-domain", "form-not-in-domain"),
        *("response-undefined", "listed-response-undefined"),
    }
)
"""What follows from an emptied domain and says nothing about the project."""

_STORY_CODES: Final = frozenset(
    {
        *(
            "intent-leading-slash",
            "retrieval-intent-full-name",
            "story-name-empty",
            "story-without-steps",
            "step-without-intent",
        ),
        *("step-unexpected", "step-without-action", "step-list-empty", "checkpoint-slot-invalid"),
        "checkpoint-condition-ignored",
        *("slot-without-value", "slot-named-undefined", "story-intent-undefined"),
    }
)
"""Found while the stories are loaded; the last one a second time when they are checked."""

Rank = tuple[int, str, int, int, int]
"""Stage, file, part of reading it, and two numbers for the order within."""

ARGUMENTS, CONFIG_SYNTAX, ENCODING, DOMAIN, NLU, MERGING, STORIES, CONFIG_SCHEMA = range(8)
STAGES: Final = {"domain": 9, "nlu": 10, "stories": 11, "config": 12, "own": 13}
EMPTY_CHECK: Final = 8


class LoadOrder:
    """Ranks findings of a project in Rasa's order of work."""

    def __init__(self, project: Project) -> None:
        self._stages: Mapping[str, _Stages] = {file.path: _stages_of(file) for file in project.files}
        domain = (file.path for file in project.files if file.role == "domain")
        self._domain_files = {path: f"{number:09}" for number, path in enumerate(domain)}

    def rank(self, finding: Finding) -> Rank:
        """Return a key that orders findings as Rasa would come across what they are about."""
        stage, path, part, one, other = self._rank(finding)
        # The files of a domain's folder are not taken in the order of their names.
        return (stage, self._domain_files.get(path, path) if stage == DOMAIN else path, part, one, other)

    def _rank(self, finding: Finding) -> Rank:
        check = CHECKS[finding.code]
        path = finding.location.path
        if check.code == "domain-empty":
            return (EMPTY_CHECK, path, 0, 0, 0)
        if check.stage == "arguments":
            return (ARGUMENTS, "", 0, 0, 0)
        if check.stage == "domain":
            return (STAGES["domain"], "", _CHECK_ORDER[finding.code], finding.location.line or 0, 0)
        if check.stage != "load" and finding.code not in _STORY_CODES:
            return (STAGES[check.stage], "" if check.code == "max-history-invalid" else path, 0, 0, 0)
        if finding.code in {"domain-merge-duplicate", "listed-response-undefined"}:
            return (MERGING, "", 0, 0, 0)
        if finding.code == "synonym-conflict":
            return (NLU, _LAST_PATH, _CONTENT, 0, 0)  # the files are merged when all of them are read
        if finding.code == "importer-not-found":
            return (CONFIG_SYNTAX, path, _SCHEMA, 0, 0)
        return self._rank_while_loading(finding, path)

    def _rank_while_loading(self, finding: Finding, path: str) -> Rank:
        if finding.code == "domain-file-unread":
            return (DOMAIN, path, _SYNTAX, 0, 0)
        stages = self._stages.get(path, _UNREAD)
        line = finding.location.line or 0
        if finding.code in _NOT_EVEN_TEXT:
            early = stages.first in {CONFIG_SYNTAX, DOMAIN}
            return (stages.first if early else ENCODING, path, 0, line, 0)
        if finding.code == "schema-violation":
            return (stages.schema, path, _SCHEMA, 0, 0)
        if finding.code == "value-unreadable":
            return (stages.first, path, _SCHEMA, 1, line)
        if finding.code == "yaml-duplicate-key":
            # The whole file is parsed before its mappings are made, and the outer ones of these are made first.
            return (stages.first, path, _DUPLICATES, finding.location.column or 0, line)
        if finding.code in {"yaml-syntax", "yaml-limit"}:
            return (stages.first, path, _SYNTAX, line, 0)
        if finding.code in _VERSIONS:
            return (stages.first, path, _VERSION, 0, 0)
        if stages.first == DOMAIN:
            return (DOMAIN, path, _CONTENT, _DOMAIN_ORDER.get(finding.code, 0), line)
        return (stages.last if finding.code in _STORY_CODES else stages.first, path, _CONTENT, line, 0)


class _Stages(NamedTuple):
    """When Rasa reads a file for the first and for the last time, and when it finds it against the schema."""

    first: int
    last: int
    schema: int


_UNREAD: Final = _Stages(ENCODING, ENCODING, ENCODING)


def _stages_of(file: ProjectFile) -> _Stages:
    if file.role == "config":
        # Whatever is no mapping is found at once; the rest is looked at when everything else is loaded.
        is_early = not file.mapping or any(importer_faults(file.mapping))
        return _Stages(CONFIG_SYNTAX, CONFIG_SYNTAX, CONFIG_SYNTAX if is_early else CONFIG_SCHEMA)
    if file.role == "domain":
        return _Stages(DOMAIN, DOMAIN, DOMAIN)
    first = NLU if file.has_nlu else STORIES
    last = STORIES if file.has_stories else first
    root = file.document.root if file.document else None
    is_nlu_fault = file.has_nlu and not file.is_json and root is not None and bool(faults_of(root, schemas.NLU))
    return _Stages(first, last, first if is_nlu_fault else last)


def seen_by_rasa(order: LoadOrder, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Split findings into those that Rasa gets to see and those that a fault before them hides.

    Where it stops, the other files that cannot be read are shown all the same, each with its first fault.
    """
    ranked = sorted(((order.rank(finding), number) for number, finding in enumerate(findings)))
    seen: list[Finding] = []
    hidden: list[Finding] = []
    stop: tuple[Rank, str] | None = None
    emptied: Rank | None = None
    unread: set[str] = set()
    for rank, number in ranked:
        finding = findings[number]
        is_after = stop is not None and not (finding.code == stop[1] == "schema-violation" and rank[:3] == stop[0][:3])
        is_second = finding.code in EMPTYING and emptied is not None
        skipped_domain = emptied is not None and rank[0] == DOMAIN and rank > emptied
        is_behind = is_after or is_second or skipped_domain
        if is_behind:
            is_unread_file = finding.code in UNREADABLE and finding.location.path not in unread
            (seen if CHECKS[finding.code].own or is_unread_file else hidden).append(finding)
        else:
            seen.append(finding)
        if finding.code in UNREADABLE:
            unread.add(finding.location.path)
        if not is_behind and finding.code in STOPPING and not CHECKS[finding.code].own:
            stop = stop or (rank, finding.code)
        elif not is_behind and finding.code in EMPTYING:
            emptied = rank
    return seen, hidden


def as_hidden(finding: Finding) -> Finding:
    """Return the finding under the code for what Rasa does not get to see."""
    return Finding(HIDDEN, "info", f"{finding.code}: {finding.message}", finding.location, finding.hint)


def with_emptied_domain(project: Project) -> Project:
    """Return the project as Rasa sees it after an invalid domain: what NLU files define is all that is left."""
    nlu_paths = {file.path for file in project.files if file.has_nlu}
    responses = {
        name: response for name, response in project.domain.responses.items() if response.location.path in nlu_paths
    }
    domain = Domain(responses=responses, location=project.domain.location)
    files = tuple(replace(file, document=None) if file.role == "domain" else file for file in project.files)
    return replace(project, domain=domain, files=files)
