"""Which steps of flows, or of stories and rules where there are no flows, end-to-end cases walk: ``--coverage-report``.

The report is Rasa Pro's (its page on test coverage): for each flow the share of its steps that cases reach, and the
lines of those that they do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluation.coverage import labelled_steps
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.evaluation.e2e_steps import Exercised
    from turncheck.project.model import Project, Story
    from turncheck.yaml_tree.tree import YamlNode

_DOES: Final = ("collect", "action", "link", "call", "set_slots", "noop")
"""What a step of a flow does: the key that says it."""


@dataclass(frozen=True, slots=True)
class WalkedPath:
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
        return any((one, other) in pairs for one in labels for other in steps[1][0])
    return any(label == f"action {name}" for label in labels for name in walked.actions)
