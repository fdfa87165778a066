"""Changes of the configuration that the engine cannot judge, since it ignores what they change."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Final, Literal

from turncheck.comparison.changes import UnseenChange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.report.model import ConfiguredComponent, IgnoredParameter, Report

_Components = tuple["ConfiguredComponent", ...]
_MOST: Final = 200
"""No pipeline has more components; a report from anywhere may, at the cost of their number squared."""


def unseen_changes(base: Report, head: Report) -> tuple[UnseenChange, ...]:
    """Return what this side changed, added or removed in the configuration that neither side's engine reads.

    Not known if one of the engines does not say what it ignores.
    """
    configured_components, other = (
        side.engine.configured if side.engine is not None else None for side in (base, head)
    )
    if configured_components is None or other is None:
        return ()
    return differences(configured_components, other)


def differences(_components: _Components, other: _Components) -> tuple[UnseenChange, ...]:
    """Return the differences between two configurations that the engine does not read."""
    found: list[UnseenChange] = []
    for section in ("recipe", "pipeline", "policies", "importers"):
        before, after = (
            [component for component in side if component.section == section][:_MOST] for side in (_components, other)
        )
        found += _of_section(before, after)
    return tuple(found)


def run_alike(_components: _Components, other: _Components) -> bool:
    """Whether the engine runs the same for both configurations, whatever else differs."""
    return _run(_components) == _run(other)


def _run(components: _Components) -> list[tuple[str, str]]:
    return [(component.section, component.runs) for component in components if component.runs is not None]


def _of_section(before: Sequence[ConfiguredComponent], after: Sequence[ConfiguredComponent]) -> Iterable[UnseenChange]:
    """Pair components by their names, in order; those without a counterpart are new, gone or in another place."""
    found: list[UnseenChange] = []
    gone: list[ConfiguredComponent] = []
    new: list[ConfiguredComponent] = []
    matcher = SequenceMatcher(None, [_class(one) for one in before], [_class(one) for one in after], autojunk=False)
    for kind, first, end, start, stop in matcher.get_opcodes():
        if kind == "equal":
            for component, other in zip(before[first:end], after[start:stop], strict=True):
                found += _of_component(component, other)
        else:
            replaced = _replaced(before[first:end], after[start:stop])
            found += (_replacement(one, other) for one, other in replaced)
            gone += (one for one in before[first:end] if all(one is not pair[0] for pair in replaced))
            new += (one for one in after[start:stop] if all(one is not pair[1] for pair in replaced))
    moved = Counter(map(_class, gone)) & Counter(map(_class, new))
    found += (
        _whole("removed", configured_component)
        for configured_component in gone
        if configured_component.runs is None and not moved[_class(configured_component)]
    )
    found += (_whole("moved" if moved[_class(one)] else "added", one) for one in new if one.runs is None)
    return sorted(found, key=_place)


def _class(component: ConfiguredComponent) -> str:
    """The name of the class; Rasa's own may be given with their modules."""
    name = component.name
    return name.rpartition(".")[2] if name.startswith("rasa.") else name


def _replaced(
    before: Sequence[ConfiguredComponent], after: Sequence[ConfiguredComponent]
) -> list[tuple[ConfiguredComponent, ConfiguredComponent]]:
    """Components of different names for which the same runs, something or nothing."""
    return [(component, other) for component, other in zip(before, after, strict=False) if component.runs == other.runs]


def _replacement(configured_component: ConfiguredComponent, other: ConfiguredComponent) -> UnseenChange:
    return UnseenChange(
        change="replaced",
        component=other.name,
        base=configured_component.name,
        location=other.location,
        base_location=configured_component.location,
    )


def _whole(change: Literal["added", "moved", "removed"], component: ConfiguredComponent) -> UnseenChange:
    gone = change == "removed"
    return UnseenChange(
        change=change,
        component=component.name,
        location=None if gone else component.location,
        base_location=component.location if gone else None,
    )


def _of_component(configured_component: ConfiguredComponent, other: ConfiguredComponent) -> Iterator[UnseenChange]:
    if (configured_component.runs is None) != (other.runs is None):
        return  # that it runs on one side only is something that the engine sees
    for name in dict.fromkeys((*other.ignored, *configured_component.ignored)):
        before, after = configured_component.ignored.get(name), other.ignored.get(name)
        if (before and before.value) != (after and after.value):
            yield _of_parameter(name, before, after, other)


def _of_parameter(
    name: str, before: IgnoredParameter | None, after: IgnoredParameter | None, component: ConfiguredComponent
) -> UnseenChange:
    return UnseenChange(
        change="changed" if before and after else "added" if after else "removed",
        component=component.name,
        parameter=name,
        base=before.value if before else "",
        value=after.value if after else "",
        location=after.location if after else component.location,
        base_location=before.location if before else None,
    )


def _place(change: UnseenChange) -> tuple[str, int]:
    location = change.location or change.base_location
    return ("", 0) if location is None else (location.path, location.line or 0)
