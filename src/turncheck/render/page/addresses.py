"""The names of a page's assistants, and what distinguishes them in its addresses."""

from __future__ import annotations

import re
from itertools import chain
from itertools import count as numbers_from
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.report.model import Report


def name_of(report: Report) -> str:
    """Return what an assistant is called."""
    return report.project.name or report.project.root or "assistant"


def distinct_names(reports: Sequence[Report]) -> list[str]:
    """The names of assistants; those with the same name get their folder appended, else a number."""
    names = [name_of(report) for report in reports]
    placed = [
        f"{name} ({report.project.root})" if names.count(name) > 1 and report.project.root else name
        for name, report in zip(names, reports, strict=True)
    ]
    return [
        f"{name} ({placed[: number + 1].count(name)})" if placed.count(name) > 1 else name
        for number, name in enumerate(placed)
    ]


def slugs_of(names: Sequence[str]) -> list[str]:
    """Slugs of the assistants for addresses: letters and digits of their names, numbered if they repeat.

    They are numbered in the order of the names, not in that of the verdicts: an address leads to the same assistant
    in the next report.
    """
    slugs: dict[int, str] = {}
    for place in sorted(range(len(names)), key=names.__getitem__):
        slug = "-".join(["at", *(re.findall(r"[a-z0-9]+", names[place].lower()[:60]) or ["assistant"])])
        numbered = chain([slug], (f"{slug}-{number}" for number in numbers_from(2)))
        slugs[place] = next(one for one in numbered if one not in slugs.values())
    return [slugs[place] for place in range(len(names))]
