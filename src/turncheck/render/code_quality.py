"""GitLab's code quality report: what a merge request shows at its lines.

Source: "Code Quality report format" in GitLab's documentation. An entry needs ``description``, ``check_name``,
``fingerprint``, ``severity`` and ``location`` with ``path`` and ``lines.begin``; of those with equal fingerprints only
the first is shown, and one that the base has too is not new.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.location import Location
from turncheck.render.annotations import LEVELS, find_remarks
from turncheck.render.links import repository_path
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.render.annotations import Level, Remark
    from turncheck.render.assistants import Assistants
    from turncheck.report.model import Report

FILE_NAME: Final = "gl-code-quality-report.json"
_SEVERITIES: Final[Mapping[Level, str]] = {"error": "major", "warning": "minor", "notice": "info"}
_LONGEST: Final = 1_000


def render_code_quality(report: Report, comparison: Comparison | None) -> Rendered:
    """Render everything to report at lines, worst first; what belongs to no file is at ``turncheck.yml``."""
    return _rendered([(report, remark) for remark in find_remarks(report, comparison)])


def render_code_quality_of_all(assistants: Assistants) -> Rendered:
    """Render the same for several assistants."""
    return _rendered(
        [(run.report, remark) for run in assistants.runs for remark in find_remarks(run.report, run.comparison)]
    )


def _rendered(remarks: Sequence[tuple[Report, Remark]]) -> Rendered:
    seen: Counter[str] = Counter()
    worst_first = sorted(remarks, key=lambda one: LEVELS.index(one[1].level))
    entries = [_entry(report, remark, seen) for report, remark in worst_first]
    content = json.dumps(entries, ensure_ascii=False, indent=2) + "\n"
    return Rendered(FILE_NAME, "application/json", content)


def _entry(report: Report, remark: Remark, seen: Counter[str]) -> dict[str, Any]:
    path = repository_path(report.project.root, remark.location) if remark.location.path else None
    elsewhere = repository_path(report.project.root, Location(report.project.file or "turncheck.yml"))
    shown = remark.text if remark.title == remark.kind else f"{remark.title}: {remark.text}"
    return {
        "description": one_line(shown, _LONGEST) or remark.kind,
        "check_name": remark.kind,
        "fingerprint": _fingerprint(remark, path or report.project.root, seen),
        "severity": _SEVERITIES[remark.level],
        "location": {
            "path": path or elsewhere or "turncheck.yml",
            "lines": {"begin": max(1, remark.location.line or 1) if path else 1},
        },
    }


def _fingerprint(remark: Remark, path: str, seen: Counter[str]) -> str:
    """Fingerprint that survives moved lines and changed confidences; a number distinguishes repetitions in a file."""
    identity = "\0".join((remark.kind, path, remark.subject))
    seen[identity] += 1
    numbered = f"{identity}\0{seen[identity]}" if seen[identity] > 1 else identity
    return hashlib.sha256(numbered.encode("utf-8", "replace")).hexdigest()[:32]
