"""``test e2e --coverage-report``: which steps of flows, stories and rules the cases that passed and failed walk."""

from __future__ import annotations

import csv
import io
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Any, Final

import yaml
from msgspec import Struct

from turncheck.evaluations.coverage import labelled_steps
from turncheck.evaluations.e2e.steps import Exercised
from turncheck.project.testfiles import COVERAGE_FILES, COVERAGE_FOLDER
from turncheck.publishing.files import write_all
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import text
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from turncheck.evaluations.e2e.case import CaseOutcome
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project, Story


# Which steps of flows, or of stories and rules where there are no flows, end-to-end cases walk: ``--coverage-report``.

_DOES: Final = ("collect", "action", "link", "call", "set_slots", "noop")
"""What a step of a flow does: the key that says it."""


class WalkedPath(Struct, frozen=True):
    """A flow, story or rule (``file::name``): how many steps it has, and the lines of those that no case reached."""

    name: str
    steps: int
    missing: tuple[tuple[int, int], ...]

    @property
    def share(self) -> float:
        """The share of its steps that cases reached; 0 of one without steps."""
        return 1 - len(self.missing) / self.steps if self.steps else 0.0


def walked_paths(project: Project, walked: Exercised) -> list[WalkedPath]:
    """Return how far cases walk each flow; where there are none, each story and rule."""
    if project.flows:
        return [path for root in _data_roots(project) for path in _flows(root, walked)]
    pairs = {tuple(step.split(" > ", 1)) for step in walked.steps}
    return [_of_story(story, pairs, walked) for story in (*project.stories, *project.rules)]


def _data_roots(project: Project) -> Iterator[tuple[str, YamlMapping]]:
    for file in project.files:
        flows = None if file.mapping is None else file.mapping.at("flows")
        if isinstance(flows, YamlMapping):
            yield file.path, flows


def _flows(root: tuple[str, YamlMapping], walked: Exercised) -> Iterator[WalkedPath]:
    path, flows = root
    for name, flow in flows.items.items():
        steps = list(_steps(flow.at("steps")))
        reached = [_is_reached(str(name), number, step, walked) for number, step in enumerate(steps)]
        missing = (_lines(step) for step, is_reached in zip(steps, reached, strict=True) if not is_reached)
        yield WalkedPath(f"{path}::{name}", len(steps), tuple(missing))


def _steps(node: YamlNode | None) -> Iterator[YamlMapping]:
    """Yield the steps in the order of the file, those of branches as well."""
    for step in node.items if isinstance(node, YamlSequence) else ():
        if not isinstance(step, YamlMapping):
            continue
        yield step
        branches = step.at("next")
        for branch in branches.items if isinstance(branches, YamlSequence) else ():
            yield from _steps(branch.at("then"))
            yield from _steps(branch.at("else"))


def _is_reached(flow: str, number: int, step: YamlMapping, walked: Exercised) -> bool:
    """Whether the dialogue stack had the step, or, in a flow that was started, what it does happened.

    A step without an id of its own has one that begins with its place in the flow.
    """
    own = _text(step, "id")
    for reached in walked.flow_steps:
        of_flow, _, step_id = reached.partition("::")
        if of_flow == flow and (step_id == own or (own is None and step_id.startswith(f"{number}_"))):
            return True
    if flow not in walked.flows:
        return False
    done = next((key for key in _DOES if key in step.items), None)
    if done == "collect":
        slot = _text(step, "collect")
        asks = {_text(step, "utter") or f"utter_ask_{slot}", f"action_ask_{slot}"}
        return bool(asks & walked.actions) or slot in walked.slots
    if done == "action":
        return _text(step, "action") in walked.actions
    if done in {"link", "call"}:
        return _text(step, done) in walked.flows
    if done == "set_slots":
        return all(name in walked.slots for name in _slots(step.items["set_slots"]))
    return False


def _slots(node: YamlNode) -> Iterator[str]:
    for item in node.items if isinstance(node, YamlSequence) else ():
        if isinstance(item, YamlMapping):
            yield from map(str, item.items)


def _text(step: YamlMapping, key: str) -> str | None:
    node = step.items.get(key)
    return str(node.value) if isinstance(node, YamlScalar) else None


def _lines(step: YamlMapping) -> tuple[int, int]:
    """Return the first and the last line of a step."""
    lines = [_line(offset, step) for offset in _offsets(step)]
    return min(lines), max(lines)


def _offsets(node: YamlNode) -> Iterator[int]:
    yield node.start
    if isinstance(node, YamlScalar):
        yield max(node.start, node.end - 1)
    elif isinstance(node, YamlSequence):
        for item in node.items:
            yield from _offsets(item)
    elif isinstance(node, YamlMapping):
        for value in node.items.values():
            yield from _offsets(value)


def _line(offset: int, node: YamlNode) -> int:
    return node.source.location(offset).line or 1


def _of_story(story: Story, pairs: Iterable[Any], walked: Exercised) -> WalkedPath:
    """A step is reached if a case walks from the step before it to it; the first one if it walks on from it."""
    steps = labelled_steps(story)
    known = set(pairs)
    missing = [line for number, (_, line) in enumerate(steps) if not _walks(steps, number, known, walked)]
    return WalkedPath(f"{story.location.path}::{story.name}", len(steps), tuple((line, line) for line in missing))


def _walks(steps: Sequence[tuple[tuple[str, ...], int]], number: int, pairs: set[Any], walked: Exercised) -> bool:
    labels = steps[number][0]
    if number:
        return any((one, other) in pairs for one in steps[number - 1][0] for other in labels)
    if len(steps) > 1:
        return any((label, other) in pairs for label in labels for other in steps[1][0])
    return any(label == f"action {name}" for label in labels for name in walked.actions)


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
        paths = walked_paths(project, reduce(Exercised.with_all, (exercised for _, exercised in chosen), Exercised()))
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
