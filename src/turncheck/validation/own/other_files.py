"""The project's default files where others are measured: what is deployed is then not what is tested."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from turncheck.messages.finding import Location
from turncheck.project.candidates import DEFAULT_DOMAIN_FOLDER, candidates
from turncheck.project.files import DEFAULT_CONFIG, DEFAULT_DOMAIN
from turncheck.validation.checks import Fault, check

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.validation.facts import Facts


@check(
    "config-not-measured",
    "warning",
    title="The default configuration exists, and another one is measured",
    text="Whoever deploys the assistant trains with `config.yml` unless told otherwise, and no test then looks at what"
    " is deployed. Measure that file, or remove it.",
    wrong="turncheck data validate --config config_for_tests.yml",
    right="turncheck data validate --config config.yml",
    matters_always=True,
    for_stories=True,
    about=("file",),
)
def config_not_measured(facts: Facts) -> Iterator[Fault]:
    """A default configuration that exists and is not what was read."""
    project = facts.project
    configs = [file.path for file in project.files if file.role == "config"]
    if configs and _is_left_out(project.root, DEFAULT_CONFIG, configs):
        yield _not_measured(DEFAULT_CONFIG, configs[0])


@check(
    "domain-not-measured",
    "warning",
    title="The default domain exists, and another one is measured",
    text="Whoever deploys the assistant trains with `domain.yml`, else with the folder `domain`, unless told otherwise,"
    " and no test then looks at what is deployed. Measure that domain, or remove it.",
    wrong="turncheck data validate --domain domain_for_tests.yml",
    right="turncheck data validate --domain domain.yml",
    matters_always=True,
    for_stories=True,
    about=("file",),
)
def domain_not_measured(facts: Facts) -> Iterator[Fault]:
    """A default domain that exists and is not what was read; Rasa reads no folder of that name beside the file."""
    project = facts.project
    domain = project.domain.location.path
    is_read = domain == DEFAULT_DOMAIN and (project.root / domain).exists()
    if is_read and candidates(project.root / DEFAULT_DOMAIN_FOLDER, "domain"):
        yield _not_measured(DEFAULT_DOMAIN_FOLDER, domain)
    default = next((name for name in (DEFAULT_DOMAIN, DEFAULT_DOMAIN_FOLDER) if (project.root / name).exists()), None)
    if default and any(file.role == "domain" for file in project.files):
        read = [domain, *(file.path for file in project.files if file.role == "domain" and file.path == default)]
        if _is_left_out(project.root, default, read):
            yield _not_measured(default, domain)


def _not_measured(default: str, measured: str) -> Fault:
    return Fault(f"'{default}' exists, and '{measured}' is measured in its place.", Location(default))


def _is_left_out(root: Path, default: str, read: Iterable[str]) -> bool:
    """Whether a file or folder exists, and none of the paths that were read is it, or a folder that it is in."""
    if not (root / default).exists():
        return False
    paths = [PurePosixPath(path) for path in read]
    named = any(PurePosixPath(default).is_relative_to(path) for path in paths)
    return not named and not any((root / path).exists() and (root / default).samefile(root / path) for path in paths)
