"""Rasa's loading order: what it sees of the faults of a project, and what an earlier fault hides."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, NamedTuple, get_args

from msgspec.structs import replace

from turncheck.messages.finding import Finding, Location, Name
from turncheck.project.model import Domain, Project
from turncheck.validation import references, schemas
from turncheck.validation.catalogue import CHECKS, reliable_findings
from turncheck.validation.checks import Step
from turncheck.validation.loading import (
    check_empty_lists,
    check_files,
    check_importers,
    check_intent_names,
    check_merged_actions,
    check_merging,
    check_story_loading,
    check_synonym_merging,
    importer_faults,
)
from turncheck.validation.schemas import faults_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.project.project_file import ProjectFile
    from turncheck.validation.facts import Facts

    Names = Mapping[str, Mapping[str, Location]]
    """Where each section defines each name."""


HIDDEN: Final = "hidden-by-load-error"

_LAST_PATH: Final = "\U0010ffff"
"""Sorts after every path."""

Rank = tuple[int, str, int, int, int]
"""Stage, file, part of reading it, and two numbers for the order within."""

ARGUMENTS, CONFIG_SYNTAX, ENCODING, DOMAIN, NLU, MERGING, STORIES, CONFIG_SCHEMA = range(8)
STAGES: Final = {"domain": 9, "nlu": 10, "stories": 11, "config": 12, "own": 13}
EMPTY_CHECK: Final = 8
_STEPS: Final = get_args(Step)[1:]
"""The steps within a file, for what is read as text."""


class LoadOrder:
    """Ranks findings of a project in Rasa's order of work."""

    def __init__(self, project: Project) -> None:
        self._stages: Mapping[str, _Stages] = {file.path: _stages_of(file) for file in project.files}
        domain = (file.path for file in project.files if file.role == "domain")
        self._domain_files = {path: f"{number:09}" for number, path in enumerate(domain)}

    def rank(self, finding: Finding) -> Rank:
        """Return a sort key: the order in which Rasa would find them."""
        stage, path, part, one, other = self._rank(finding)
        # The files of a domain folder are not read in the order of their names.
        return (stage, self._domain_files.get(path, path) if stage == DOMAIN else path, part, one, other)

    def _rank(self, finding: Finding) -> Rank:
        check = CHECKS[finding.code]
        path = finding.location.path
        if check.code == "domain-empty":
            return (EMPTY_CHECK, path, 0, 0, 0)
        if check.stage == "arguments":
            return (ARGUMENTS, "", 0, 0, 0)
        if check.stage == "domain":
            return (STAGES["domain"], "", check.position, finding.location.line or 0, 0)
        if check.stage != "load" and not check.with_stories:
            return (STAGES[check.stage], "" if check.code == "max-history-invalid" else path, 0, 0, 0)
        if finding.code in {"domain-merge-duplicate", "listed-response-undefined"}:
            return (MERGING, "", 0, 0, 0)
        content = _STEPS.index("content")
        if finding.code == "synonym-conflict":
            return (NLU, _LAST_PATH, content, 0, 0)  # the files are merged when all of them are read
        if finding.code == "importer-not-found":
            return (CONFIG_SYNTAX, path, _STEPS.index("schema"), 0, 0)
        return self._rank_while_loading(finding, path)

    def _rank_while_loading(self, finding: Finding, path: str) -> Rank:
        if finding.code == "domain-file-unread":
            return (DOMAIN, path, 0, 0, 0)
        check = CHECKS[finding.code]
        stages = self._stages.get(path, _UNREAD)
        line = finding.location.line or 0
        if check.step == "text":
            early = stages.first in {CONFIG_SYNTAX, DOMAIN}
            return (stages.first if early else ENCODING, path, 0, line, 0)
        step = _STEPS.index(check.step)
        if finding.code == "schema-violation":
            return (stages.schema, path, step, 0, 0)
        if finding.code == "value-unreadable":
            return (stages.first, path, step, 1, line)
        if check.step == "duplicates":
            # The whole file is parsed before its mappings are created, the outer ones first.
            return (stages.first, path, step, finding.location.column or 0, line)
        if check.step == "syntax":
            return (stages.first, path, step, line, 0)
        if check.step == "version":
            return (stages.first, path, step, 0, 0)
        if stages.first == DOMAIN:
            return (DOMAIN, path, step, check.position, line)
        return (stages.last if check.with_stories else stages.first, path, step, line, 0)


class _Stages(NamedTuple):
    """When Rasa reads a file for the first and the last time, and when it validates it against the schema."""

    first: int
    last: int
    schema: int


_UNREAD: Final = _Stages(ENCODING, ENCODING, ENCODING)


def _stages_of(file: ProjectFile) -> _Stages:
    if file.role == "config":
        # Whatever is not a mapping is found immediately; the rest is checked when everything else is loaded.
        is_early = not file.mapping or any(importer_faults(file.mapping))
        return _Stages(CONFIG_SYNTAX, CONFIG_SYNTAX, CONFIG_SYNTAX if is_early else CONFIG_SCHEMA)
    if file.role == "domain":
        return _Stages(DOMAIN, DOMAIN, DOMAIN)
    first = NLU if file.has_nlu else STORIES
    last = STORIES if file.has_stories else first
    root = file.document.root if file.document else None
    is_nlu_fault = file.has_nlu and root is not None and bool(faults_of(root, schemas.NLU))
    return _Stages(first, last, first if is_nlu_fault else last)


def seen_by_rasa(order: LoadOrder, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    """Split findings into those that Rasa sees and those that an earlier fault hides.

    If it stops, the other unreadable files are shown nevertheless, each with its first fault.
    """
    ranked = sorted(((order.rank(finding), number) for number, finding in enumerate(findings)))
    seen: list[Finding] = []
    hidden: list[Finding] = []
    stop: tuple[Rank, str] | None = None
    emptied: Rank | None = None
    unread: set[str] = set()
    for rank, number in ranked:
        finding = findings[number]
        check = CHECKS[finding.code]
        empties = check.then == "empties the domain"
        is_after = stop is not None and not (finding.code == stop[1] == "schema-violation" and rank[:3] == stop[0][:3])
        is_second = empties and emptied is not None
        skipped_domain = emptied is not None and rank[0] == DOMAIN and rank > emptied
        is_behind = is_after or is_second or skipped_domain
        if is_behind:
            is_unread_file = check.unreadable and finding.location.path not in unread
            (seen if check.own or is_unread_file else hidden).append(finding)
        else:
            seen.append(finding)
        if check.unreadable:
            unread.add(finding.location.path)
        if not is_behind and check.then == "stops" and not check.own:
            stop = stop or (rank, finding.code)
        elif not is_behind and empties:
            emptied = rank
    return seen, hidden


def as_hidden(finding: Finding) -> Finding:
    """Return the finding under the code for what Rasa does not see."""
    message = f"{finding.code}: {finding.message}"
    names = (Name("code", finding.code), *finding.names)
    about = (names[0], *(finding.about or finding.names))
    return Finding(HIDDEN, "info", message, finding.location, finding.hint, names=names, about=about)


def with_emptied_domain(project: Project) -> Project:
    """Return the project as Rasa sees it after an invalid domain: only what NLU files define is left."""
    nlu_paths = {file.path for file in project.files if file.has_nlu}
    responses = {
        name: response for name, response in project.domain.responses.items() if response.location.path in nlu_paths
    }
    domain = Domain(responses=responses, location=project.domain.location)
    files = tuple(file._replace(document=None) if file.role == "domain" else file for file in project.files)
    return dataclasses.replace(project, domain=domain, files=files)


# Findings from loading a project: the reader's, and those in what it has read.


def read_findings(facts: Facts) -> list[Finding]:
    """What the reader found, with Rasa's verdict on types in place of the reader's."""
    project = facts.project
    ours = [*check_files(facts), *check_merged_actions(facts)]
    judged = {finding.location.path for finding in ours if finding.code == "schema-violation"}
    parsed = {file.path for file in project.files if file.document is not None and file.document.root is not None}
    kept = []
    for finding in project.findings:
        if finding.code != "schema-violation" or finding.location.path not in parsed:
            kept.append(finding)
        elif finding.location.path not in judged:
            kept.append(replace(finding, code="type-unexpected", severity="warning"))
    return [*kept, *ours]


def loading_findings(facts: Facts, *, emptied: bool) -> Iterator[Finding]:
    """What Rasa reports while loading, beyond single files; ``emptied``: it goes on with an empty domain."""
    functions = LOADING if emptied else (*LOADING, *LOADING_DOMAIN)
    return reliable_findings((finding for find in functions for finding in find(facts)), facts.missing)


LOADING: Final = (
    check_importers,
    check_empty_lists,
    check_intent_names,
    check_synonym_merging,
    check_story_loading,
)
LOADING_DOMAIN: Final = (check_merging, references.check_listed_responses, references.check_story_intents)
"""Checks that need a loaded domain."""
