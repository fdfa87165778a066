"""The order in which Rasa loads and checks a project, and what it therefore never gets to see.

``rasa data validate`` ends at the first file that it cannot read, and goes on with an empty domain after the first
fault that makes a domain invalid. A drop-in does the same; what lies behind is kept under ``hidden-by-load-error``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.finding import Finding
from turncheck.project.model import Domain
from turncheck.validation.registry import CHECKS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.project.model import Project

STOPPING: Final = frozenset(
    {
        *("domain-not-found", "config-not-found", "file-not-utf8", "yaml-syntax", "yaml-duplicate-key", "yaml-limit"),
        *("file-unreadable", "file-too-large", "file-outside-project", "schema-violation", "section-empty"),
        *("slot-type-unknown", "slot-key-unknown", "slot-range-invalid", "slot-any-influences"),
        *(
            "annotation-not-json",
            "annotation-invalid",
            "slot-named-undefined",
            "intent-name-invalid",
            "step-list-empty",
            "required-slots-empty",
            "domain-empty",
            "max-history-invalid",
        ),
    }
)
"""Rasa ends at these."""

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
            ("intent-trailing-colon", "entity-used-and-ignored"),
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

_WHILE_READING: Final = {"yaml-syntax": 0, "yaml-limit": 0, "yaml-duplicate-key": 1}
_VERSIONS: Final = frozenset({"version-missing", "version-too-low", "version-too-high", "version-invalid"})

ABOUT_EMPTIED_DOMAIN: Final = frozenset(
    {
        *("intent-not-in-domain", "story-intent-undefined", "action-not-in-domain", "form-not-in-domain"),
        *("response-undefined", "listed-response-undefined"),
    }
)
"""What follows from an emptied domain and says nothing about the project."""

Rank = tuple[int, str, int, int, int]

ARGUMENTS, CONFIG_SYNTAX, ENCODING, DOMAIN, NLU, MERGING, STORIES, CONFIG_SCHEMA = range(8)
STAGES: Final = {"domain": 9, "nlu": 10, "stories": 11, "config": 12, "own": 13}
EMPTY_CHECK: Final = 8


class LoadOrder:
    """Ranks findings of a project in Rasa's order of work."""

    def __init__(self, project: Project) -> None:
        self._roles: Mapping[str, tuple[int, int]] = {file.path: _stages_of(file) for file in project.files}

    def rank(self, finding: Finding) -> Rank:
        """Return a key that orders findings as Rasa would come across what they are about."""
        check = CHECKS.get(finding.code)
        path = finding.location.path
        if check is None or check.own:
            return (STAGES["own"], path, 0, 0, 0)
        if check.code == "domain-empty":
            return (EMPTY_CHECK, path, 0, 0, 0)
        if check.stage == "arguments":
            return (ARGUMENTS, "", 0, 0, 0)
        if check.stage != "load" and finding.code not in _STORY_CODES:
            return (STAGES[check.stage], "" if check.code == "max-history-invalid" else path, 0, 0, 0)
        if finding.code in {"domain-merge-duplicate", "listed-response-undefined"}:
            return (MERGING, "", 0, 0, 0)
        if finding.code == "importer-not-found":
            return (CONFIG_SYNTAX, path, 2, 0, 0)
        return self._rank_while_loading(finding, path)

    def _rank_while_loading(self, finding: Finding, path: str) -> Rank:
        first, last = self._roles.get(path, (ENCODING, ENCODING))
        line = finding.location.line or 0
        reading = _WHILE_READING.get(finding.code)
        if finding.code in {"file-not-utf8", "file-unreadable", "file-too-large", "file-outside-project"}:
            return (first if first in {CONFIG_SYNTAX, DOMAIN} else ENCODING, path, 0, line, 0)
        if finding.code == "schema-violation":
            is_story = (
                last == STORIES and finding.message.find("(at /nlu") < 0 and finding.message.find("(at /resp") < 0
            )
            stage = last if is_story else first
            stage = CONFIG_SCHEMA if first == CONFIG_SYNTAX and "(at /" in finding.message else stage
            return (stage, path, 2, 0, 0)
        if reading is not None:
            # The whole file is parsed before its mappings are made, and the outer ones of these are made first.
            return (first, path, reading, (finding.location.column or 0) if reading else 0, line)
        if finding.code in _VERSIONS:
            return (first, path, 3, 0, 0)
        if first == DOMAIN:
            return (DOMAIN, path, 4, _DOMAIN_ORDER.get(finding.code, 0), line)
        stage = last if CHECKS[finding.code].code in _STORY_CODES else first
        return (stage, path, 4, line, 0)


_STORY_CODES: Final = frozenset(
    {
        *("retrieval-intent-full-name", "story-name-empty", "story-without-steps", "step-without-intent"),
        *(
            "step-without-action",
            "step-list-empty",
            "checkpoint-slot-invalid",
            "checkpoint-condition-ignored",
            "slot-without-value",
            "slot-named-undefined",
            "story-intent-undefined",
        ),
    }
)


def _stages_of(file: object) -> tuple[int, int]:
    """The first and the last stage in which Rasa reads a file."""
    role = getattr(file, "role", "")
    if role == "config":
        return CONFIG_SYNTAX, CONFIG_SYNTAX
    if role == "domain":
        return DOMAIN, DOMAIN
    has_nlu, has_stories = getattr(file, "has_nlu", False), getattr(file, "has_stories", False)
    first = NLU if has_nlu else STORIES
    return first, STORIES if has_stories else first


def seen_by_rasa(order: LoadOrder, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Split findings into those that Rasa gets to see and those that a fault before them hides."""
    ranked = sorted(((order.rank(finding), number) for number, finding in enumerate(findings)))
    seen: list[Finding] = []
    hidden: list[Finding] = []
    stop: tuple[Rank, str] | None = None
    emptied: Rank | None = None
    for rank, number in ranked:
        finding = findings[number]
        is_after = stop is not None and not (finding.code == stop[1] == "schema-violation" and rank[:3] == stop[0][:3])
        is_second = finding.code in EMPTYING and emptied is not None
        skipped_domain = emptied is not None and rank[0] == DOMAIN and rank[2] == 4 and rank > emptied
        if is_after or is_second or skipped_domain:
            own = CHECKS.get(finding.code)
            (seen if own is not None and own.own else hidden).append(finding)
            continue
        seen.append(finding)
        if finding.code in STOPPING:
            stop = stop or (rank, finding.code)
        elif finding.code in EMPTYING:
            emptied = rank
    return seen, hidden


def as_hidden(finding: Finding) -> Finding:
    """Return the finding under the code for what Rasa does not get to see."""
    return Finding("hidden-by-load-error", "info", f"{finding.code}: {finding.message}", finding.location, finding.hint)


def with_emptied_domain(project: Project) -> Project:
    """Return the project as Rasa sees it after an invalid domain: what NLU files define is all that is left."""
    nlu_paths = {file.path for file in project.files if file.has_nlu}
    responses = {
        name: response for name, response in project.domain.responses.items() if response.location.path in nlu_paths
    }
    return replace(project, domain=Domain(responses=responses, location=project.domain.location))
