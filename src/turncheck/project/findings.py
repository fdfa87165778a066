"""The findings of reading, in order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.messages.finding import Finding

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
