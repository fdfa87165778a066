"""Faults in the configuration: thresholds, components, policies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluation.strength.mutant import BY_NAME, Mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.messages.location import Location
    from turncheck.project.model import Component, Config, Project

_OF_PIPELINE: Final = {"FallbackClassifier": {"threshold": 0.3, "ambiguity_threshold": 0.1}}
_OF_FALLBACK: Final = {"nlu_threshold": 0.3, "ambiguity_threshold": 0.1, "core_threshold": 0.3}
_OF_POLICIES: Final = {
    "RulePolicy": {"core_fallback_threshold": 0.4},
    "FallbackPolicy": _OF_FALLBACK,
    "TwoStageFallbackPolicy": _OF_FALLBACK,
    "UnexpecTEDIntentPolicy": {"tolerance": 0.0},
}
"""Thresholds of components, with Rasa's defaults; the fallback policies are those of Rasa 1 and 2."""


def config_faults(project: Project) -> Iterator[Mutant]:
    """Yield the project with a fault in its configuration."""
    config = project.config
    for key, thresholds, moved, dropped in (
        ("pipeline", _OF_PIPELINE, "move-nlu-threshold", "drop-component"),
        ("policies", _OF_POLICIES, "move-policy-threshold", "drop-policy"),
    ):
        components: tuple[Component, ...] = getattr(config, key) or ()
        for number, component in enumerate(components):
            name = component.name.rpartition(".")[2]
            for parameter, default in thresholds.get(name, {}).items():
                value = component.parameters.get(parameter, default)
                for other in _beside(value):
                    new = replace(component, parameters={**component.parameters, parameter: other})
                    what = f"{name} with {parameter} {other:g} instead of {value:g}"
                    changed = (*components[:number], new, *components[number + 1 :])
                    place = component.places.get(parameter, component.location)
                    yield _mutant(moved, what, place, _with(config, key, changed), project)
            if len(components) > 1:
                rest = (*components[:number], *components[number + 1 :])
                yield _mutant(dropped, f"without {name}", component.location, _with(config, key, rest), project)


def _beside(value: Any) -> tuple[float, ...]:
    """Return the value half way to 1 and half the value; fewer if it is not a number, or already at an end."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        return ()
    return tuple(other for other in (round((1 + value) / 2, 4), round(value / 2, 4)) if other != value)


def _mutant(operator: str, what: str, place: Location, config: Config, project: Project) -> Mutant:
    return Mutant(BY_NAME[operator], what, place, replace(project, config=config), places=(place,))


def _with(config: Config, key: str, components: tuple[Component, ...]) -> Config:
    return replace(config, pipeline=components) if key == "pipeline" else replace(config, policies=components)
