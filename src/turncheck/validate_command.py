"""``turncheck data validate [stories]``: read a project, check it, show what was found, end as Rasa would."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.location import Location
from turncheck.project.reader import read_project
from turncheck.validation import Validated, validate
from turncheck.validation.findings import found

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_DOMAIN: Final = "domain.yml"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be validated, as the command line says it. Paths that are given count from the current folder.

    ``max_history`` may be the text of the flag: what is no positive integer becomes a finding.
    """

    project: Path = Path()
    domain: Path | None = None
    data: Sequence[Path] | None = None
    config: Path | None = None
    max_history: str | int | None = None
    stories_only: bool = False
    fail_on_warnings: bool = False
    strict: bool = False


def check(request: Request) -> Validated:
    """Read and check a project; nothing is suppressed yet. Never raises for what is wrong with the project's files."""
    history = _history(request.max_history)
    if isinstance(history, str):
        place = Location("--max-history")
        finding = found("max-history-invalid", f"--max-history is '{history}', not a positive integer.", place)
        return Validated((finding,), ("always",))
    domain = request.domain or request.project / DEFAULT_DOMAIN
    project = read_project(request.project, domain=domain, data=request.data, config=request.config)
    return validate(
        project, max_history=history, stories_only=request.stories_only, strict=request.strict, drop_in=True
    )


def _history(given: str | int | None) -> str | int | None:
    if not isinstance(given, str):
        return given
    return int(given) if re.fullmatch(r"\s*[+-]?\d{1,9}\s*", given) else given
