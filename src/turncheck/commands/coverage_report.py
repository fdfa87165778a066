"""``test e2e --coverage-report``: which steps of flows, stories and rules the cases that passed and failed walk."""

from __future__ import annotations

import csv
import io
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import yaml

from turncheck.evaluation.e2e_steps import Exercised
from turncheck.evaluation.flow_coverage import walked_paths
from turncheck.project.testfiles import COVERAGE_FILES, COVERAGE_FOLDER
from turncheck.publishing.files import write_all
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turncheck.evaluation.e2e_case import CaseOutcome
    from turncheck.evaluation.flow_coverage import WalkedPath
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project

DEFAULT_FOLDER: Final = COVERAGE_FOLDER
_COLUMNS: Final = ("Flow Name", "Coverage", "Num Steps", "Missing Steps", "Line Numbers")
_VERDICTS: Final = {"passed": ("passed",), "failed": ("failed", "error", "misunderstood")}


def write_coverage_report(
    project: Project, cases: Sequence[E2ECase], outcomes: Sequence[CaseOutcome], folder: Path
) -> str:
    """Write the tables, the cases and the commands of those that passed, and of those that failed; return the tables.

    Raises:
        UserError: a file cannot be written.
    """
    shown = []
    files: list[Rendered] = []
    for verdict, accepted in _VERDICTS.items():
        chosen = [
            (case, outcome.exercised)
            for case, outcome in zip(cases, outcomes, strict=False)
            if outcome.result.outcome in accepted
        ]
        paths = walked_paths(project, reduce(Exercised.with_all, (one for _, one in chosen), Exercised()))
        rows = table(paths)
        if chosen:
            shown.append(f"Coverage of the cases that {verdict} ({len(chosen)}):\n{_aligned(rows)}")
        files.append(Rendered(COVERAGE_FILES[verdict], "text/csv", _csv(rows)))
        files.append(Rendered(f"{verdict}.yml", "application/yaml", cases_yaml([case for case, _ in chosen])))
        commands = Counter(command for _, exercised in chosen for command in exercised.commands)
        if commands:
            from turncheck.render.plots import bars  # imports matplotlib

            title = f"Commands in the cases that {verdict}: number of cases that have each"
            files.append(bars(f"commands_histogram_for_{verdict}_tests.png", title, commands))
    write_all(folder, files)
    return "\n".join(shown)


def table(paths: Sequence[WalkedPath]) -> list[tuple[str, ...]]:
    """Return the rows of Rasa Pro's report, the best covered first, and the total."""
    ordered = sorted(paths, key=lambda path: (-path.share, path.name))
    steps, missing = sum(path.steps for path in paths), sum(len(path.missing) for path in paths)
    rows = [
        (path.name, f"{path.share:.2%}", str(path.steps), str(len(path.missing)), _line_numbers(path))
        for path in ordered
    ]
    total = f"{1 - missing / steps:.2%}" if steps else "0.00%"
    return [_COLUMNS, *rows, ("Total", total, str(steps), str(missing), "")]


def _line_numbers(path: WalkedPath) -> str:
    return "[" + ", ".join(f"{first}-{last}" for first, last in path.missing) + "]"


def _csv(rows: Sequence[Sequence[str]]) -> str:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(rows)
    return written.getvalue()


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    shown = [[text(cell, 200) for cell in row] for row in rows]
    widths = [max(len(row[place]) for row in shown) for place in range(len(_COLUMNS) - 1)]
    lines = (
        "  ".join([*(cell.rjust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in shown
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def cases_yaml(cases: Sequence[E2ECase]) -> str:
    """Return cases as a file that can be run by itself: with the slots of their fixtures and what they stub."""
    fixtures: list[dict[str, Any]] = []
    entries = []
    stubs: dict[str, Any] = {}
    for number, case in enumerate(cases, 1):
        entry: dict[str, Any] = {"test_case": case.name}
        if case.slots:
            name = f"slots of case {number}"
            fixtures.append({name: [{slot: value} for slot, value in case.slots.items()]})
            entry["fixtures"] = [name]
        entries.append(entry | {"steps": list(case.source)})
        stubs |= {f"{case.name}::{action}": dict(stub) for action, stub in (case.stubs or {}).items()}
    document = {"fixtures": fixtures, "stub_custom_actions": stubs}
    kept = {key: value for key, value in document.items() if value}
    return yaml.safe_dump({**kept, "test_cases": entries}, allow_unicode=True, sort_keys=False, width=120)
