"""What runs for each configured policy: how it is trained, and read back from a model. One row for both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from turncheck.dialogue.rule_learning import learn_rules
from turncheck.dialogue.rules import RuleSettings
from turncheck.engines.embedded.policies import older
from turncheck.engines.embedded.policies.memoization import (
    AugmentedMemoizationPolicy,
    MemoizationPolicy,
    MemoizationSettings,
    RulePolicy,
)
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.dialogue.training import Trackers
    from turncheck.engines.embedded.policies.ensemble import Policy
    from turncheck.project.model import Component

_Parameters: TypeAlias = Mapping[str, Any]
_Fit: TypeAlias = Callable[[_Parameters, "Trackers", "DialogueDomain"], "Policy"]
_Read: TypeAlias = Callable[[_Parameters, Mapping[str, Any], "DialogueDomain"], "Policy"]


@dataclass(frozen=True, slots=True)
class PolicyKind:
    """How a policy is trained by its parameters, and read back from the JSON values that it was stored as.

    ``stands_in``: it takes the place of a neural network. ``only_older``: Rasa 3 no longer has it.
    """

    fit: _Fit
    read: _Read
    stands_in: bool = False
    only_older: bool = False


def class_name(component: Component) -> str:
    """Return the class's name: ``rasa.core.policies.ted_policy.TEDPolicy`` is ``TEDPolicy``."""
    return component.name.rpartition(".")[2]


def kind_of(component: Component, domain: DialogueDomain) -> PolicyKind | None:
    """Return what runs for a configured policy, ``None`` if this version of Rasa does not have it."""
    return None if runs_in(component, domain.domain.rasa) is None else _KINDS[class_name(component)]


def runs_in(component: Component, rasa: int) -> str | None:
    """Return what runs for a policy in a project for this version of Rasa: policies of the same kind run alike."""
    name = class_name(component)
    kind = _KINDS.get(name)
    if kind is None or (kind.only_older and rasa >= NEWEST):
        return None
    return "TedStandIn" if kind.stands_in and name != "UnexpecTEDIntentPolicy" else name


def _memoization(name: str, kind: type[MemoizationPolicy]) -> PolicyKind:
    def settings(parameters: _Parameters, domain: DialogueDomain) -> MemoizationSettings:
        history = older.HISTORY if domain.domain.rasa < NEWEST else 0
        return MemoizationSettings.of(name, parameters, max_history=history)

    return PolicyKind(
        lambda parameters, trackers, domain: kind.fit(trackers.all, settings(parameters, domain)),
        lambda parameters, shape, domain: kind.from_json(shape, settings(parameters, domain)),
    )


def _ted(name: str, *, only_older: bool = False) -> PolicyKind:
    # NumPy is only imported if one of these is configured.
    def fit(parameters: _Parameters, trackers: Trackers, _: DialogueDomain) -> Policy:
        from turncheck.engines.embedded.policies.stand_ins import StandInSettings, TedStandIn

        return TedStandIn.fit(trackers.all, StandInSettings.of(name, parameters))

    def read(parameters: _Parameters, shape: Mapping[str, Any], _: DialogueDomain) -> Policy:
        from turncheck.engines.embedded.policies.stand_ins import StandInSettings, TedStandIn

        return TedStandIn.from_json(shape, StandInSettings.of(name, parameters))

    return PolicyKind(fit, read, stands_in=True, only_older=only_older)


def _fit_unexpected(parameters: _Parameters, trackers: Trackers, _: DialogueDomain) -> Policy:
    from turncheck.engines.embedded.policies.stand_ins import UNEXPECTED, StandInSettings, UnexpectedIntentStandIn

    return UnexpectedIntentStandIn.fit(trackers.all, StandInSettings.of(UNEXPECTED, parameters))


def _read_unexpected(parameters: _Parameters, shape: Mapping[str, Any], _: DialogueDomain) -> Policy:
    from turncheck.engines.embedded.policies.stand_ins import UNEXPECTED, StandInSettings, UnexpectedIntentStandIn

    return UnexpectedIntentStandIn.from_json(shape, StandInSettings.of(UNEXPECTED, parameters))


def _untrained(of: Callable[[_Parameters], Policy]) -> PolicyKind:
    return PolicyKind(lambda parameters, *_: of(parameters), lambda parameters, *_: of(parameters), only_older=True)


_KINDS: Final[Mapping[str, PolicyKind]] = {
    "RulePolicy": PolicyKind(
        lambda parameters, trackers, domain: RulePolicy(learn_rules(trackers.all, domain, RuleSettings.of(parameters))),
        lambda parameters, shape, domain: RulePolicy.from_json(shape, domain, RuleSettings.of(parameters)),
    ),
    "MemoizationPolicy": _memoization("MemoizationPolicy", MemoizationPolicy),
    "AugmentedMemoizationPolicy": _memoization("AugmentedMemoizationPolicy", AugmentedMemoizationPolicy),
    "TEDPolicy": _ted("TEDPolicy"),
    "UnexpecTEDIntentPolicy": PolicyKind(_fit_unexpected, _read_unexpected, stands_in=True),
    **{name: _ted(name, only_older=True) for name in ("KerasPolicy", "EmbeddingPolicy", "SklearnPolicy")},
    older.MAPPING: _untrained(older.MappingPolicy.of),
    older.FORM: PolicyKind(
        lambda parameters, trackers, _: older.FormPolicy.fit(trackers.all, parameters),
        lambda parameters, shape, _: older.FormPolicy.from_json(shape, parameters),
        only_older=True,
    ),
    older.FALLBACK: _untrained(lambda parameters: older.FallbackPolicy.of(older.FALLBACK, parameters)),
    older.TWO_STAGE: _untrained(lambda parameters: older.TwoStageFallbackPolicy.of(older.TWO_STAGE, parameters)),
}
"""The policies of every Rasa that are run here, by their class's name."""

LEARNERS: Final = frozenset(name for name, kind in _KINDS.items() if kind.stands_in)
"""The policies that learn from augmented stories, too."""
OF_OLDER: Final = frozenset({*_KINDS, "EnsemblePolicy"})
"""The policies that Rasa 1 and 2 have."""
