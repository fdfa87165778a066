"""A project that is an export, a single file with all of it; and names that several files of a project define."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Finding, shown_path
from turncheck.platforms.registry import DEFAULT, PLATFORMS, parts
from turncheck.project.files import read_data
from turncheck.project.formats.format import EXPORT
from turncheck.project.model import Domain, Flow, Project, SessionConfig
from turncheck.project.nlu_data import Example, NluData
from turncheck.project.project_file import unreadable_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from turncheck.platforms.base import Platform
    from turncheck.project.folder import ProjectFolder
    from turncheck.project.formats.format import ParsedFile


# The findings of reading, in order.

MAX_FINDINGS: Final = 200
"""At most this many findings of one code are listed for a file; of the rest only the number is reported."""


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings by place; many findings of the same fault in a file do not drown out the others."""
    kept: list[Finding] = []
    unlisted: dict[tuple[str, str], list[Finding]] = {}
    counts: Counter[tuple[str, str]] = Counter()
    for finding in sorted(findings, key=lambda finding: finding.location.sort_key):
        key = (finding.location.path, finding.code)
        counts[key] += 1
        if counts[key] <= MAX_FINDINGS:
            kept.append(finding)
        else:
            unlisted.setdefault(key, []).append(finding)
    kept += (
        replace(rest[0], message=f"{len(rest)} more such places follow in '{path}'; this is the first of them.")
        for (path, _), rest in unlisted.items()
    )
    return tuple(sorted(kept, key=lambda finding: finding.location.sort_key))


# Merges the contents of a project's files in the order of the files.


def merged_nlu(parts: Sequence[ParsedFile]) -> NluData:
    """Merge the NLU data; of equal examples the first one counts."""
    data = [part.nlu for part in parts]
    examples, duplicates = _without_duplicates(tuple(chain.from_iterable(nlu_data.examples for nlu_data in data)))
    return NluData(
        examples,
        tuple(chain.from_iterable(nlu_data.synonyms for nlu_data in data)),
        tuple(chain.from_iterable(nlu_data.regexes for nlu_data in data)),
        tuple(chain.from_iterable(nlu_data.lookups for nlu_data in data)),
        duplicates,
    )


def merged_domain(domain: Domain, parts: Sequence[ParsedFile]) -> Domain:
    """Add to the project's domain what its data define, such as responses in NLU files; the last definition wins."""
    for part in parts:
        if part.domain is not None:
            domain = _with(domain, part.domain)
    return domain


def merged_flows(parts: Sequence[ParsedFile]) -> dict[str, Flow]:
    """Return the flows by name; of two with the same name the first."""
    flows: dict[str, Flow] = {}
    for flow in chain.from_iterable(part.flows for part in parts):
        flows.setdefault(flow.name, flow)
    return flows


def _with(domain: Domain, other: Domain) -> Domain:
    return Domain(
        intents={**domain.intents, **other.intents},
        entities={**domain.entities, **other.entities},
        slots={**domain.slots, **other.slots},
        forms={**domain.forms, **other.forms},
        responses={**domain.responses, **other.responses},
        actions={**domain.actions, **other.actions},
        end_to_end_actions=(*domain.end_to_end_actions, *other.end_to_end_actions),
        session=domain.session if other.session == SessionConfig() else other.session,
        location=domain.location,
        rasa=domain.rasa,
    )


def _without_duplicates(examples: tuple[Example, ...]) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the examples that Rasa keeps, and those it drops because an equal one came before."""
    first: dict[tuple[str, str | None], Example] = {}
    repeated = [
        example for example in examples if first.setdefault((example.text, example.intent), example) is not example
    ]
    if not repeated:
        return examples, ()
    seen = {key: [example] for key, example in first.items()}
    dropped = set()
    for example in repeated:
        others = seen[example.text, example.intent]
        if example in others:
            dropped.add(id(example))
        else:
            others.append(example)
    return (
        tuple(example for example in examples if id(example) not in dropped),
        tuple(example for example in repeated if id(example) in dropped),
    )


class Export(NamedTuple):
    """A file that is a complete assistant of a platform."""

    platform: Platform
    path: Path


def export_of(root: Path, data: Sequence[Path] | None = None) -> Export | None:
    """Return the export that is the complete assistant; ``None`` for a project of several files."""
    found = ((name, part.find(root, data)) for name, part in parts(EXPORT).items())
    return next((Export(PLATFORMS[name], path) for name, path in found if path is not None), None)


def ensure_export(path: Path) -> None:
    """Ensure that a file that is named as a project is the export of an assistant.

    Raises:
        UserError: it is something else.
    """
    if export_of(path.parent, [path]) is None:
        exports = [platform.no_export for platform in PLATFORMS.values() if platform.no_export is not None]
        raise UserError(
            f"'{path}' is neither an assistant's folder{''.join(f' nor {export.what}' for export in exports)}",
            hint=f"Name the folder of an assistant{''.join(f', {export.hint}' for export in exports)}.",
        )


def refuse_of_rasa(platform: Platform, **given: Path | None) -> None:
    """Refuse options for paths that only a project of several files has.

    Raises:
        UserError: one of them is set.
    """
    for name, path in given.items():
        if path is not None:
            raise UserError(f"--{name} is for {DEFAULT.one}; this is {platform.one}", hint="Omit it.")


def read_export(folder: ProjectFolder, export: Export, language: str | None) -> Project:
    """Read an export; ``language`` defaults to the export's own default language.

    Raises:
        UserError: it cannot be read.
    """
    platform, path = export
    data_read = read_data(folder, [path], language=language)
    read = [data_file.parts for data_file in data_read]
    files = [data_file.file for data_file in data_read]
    native = next((parts.native for parts in read if parts.native is not None), None)
    if native is None:
        fault = next((finding for finding in folder.findings if finding.code != "format-not-read"), None)
        fault = fault or parts(EXPORT)[platform.name].why_no_export(folder.name(path), folder.read_bytes(path) or b"")
        raise UserError(f"{fault.message.rstrip('.')} [{fault.code}]", location=fault.location, hint=fault.hint)
    return Project(
        root=folder.root,
        name=native.name or shown_path(folder.root.resolve().name),
        nlu=merged_nlu(read),
        findings=in_order(folder.findings),
        unreadable=unreadable_parts(files),
        files=tuple(files),
        platform=platform,
        native=native,
    )
