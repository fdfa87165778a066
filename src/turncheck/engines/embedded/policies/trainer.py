"""From a project's policies section to trained policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.rule_learning import learn_rules
from turncheck.dialogue.rules import RuleSettings
from turncheck.dialogue.slots import BUILT_IN_TYPES
from turncheck.dialogue.training import Trackers, training_trackers
from turncheck.engines.embedded.policies import older
from turncheck.engines.embedded.policies.ensemble import Ensemble
from turncheck.engines.embedded.policies.memoization import (
    AugmentedMemoizationPolicy,
    MemoizationPolicy,
    MemoizationSettings,
)
from turncheck.engines.embedded.policies.rule import RulePolicy
from turncheck.messages.errors import TrainingRefusedError
from turncheck.messages.location import NOWHERE
from turncheck.project.model import Component
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.embedded.policies.base import Policy
    from turncheck.project.model import Config, Project
    from turncheck.report.model import Substitution

DEFAULT_AUGMENTATION: Final = 50

DEFAULT_POLICIES: Final = (
    Component("MemoizationPolicy", {}, NOWHERE),
    Component("RulePolicy", {}, NOWHERE),
    Component("UnexpecTEDIntentPolicy", {"max_history": 5, "epochs": 100}, NOWHERE),
    Component("TEDPolicy", {"max_history": 5, "epochs": 100, "constrain_similarities": True}, NOWHERE),
)
"""What Rasa's default recipe uses if ``config.yml`` names no policies."""

_LEARNERS: Final = ("TEDPolicy", "UnexpecTEDIntentPolicy", "KerasPolicy", "EmbeddingPolicy", "SklearnPolicy")
_OF_OLDER: Final = frozenset(
    {*_LEARNERS, "MemoizationPolicy", "AugmentedMemoizationPolicy", "RulePolicy", "EnsemblePolicy"}
    | {older.MAPPING, older.FORM, older.FALLBACK, older.TWO_STAGE}
)
"""The policies that Rasa 1 and 2 have."""


def class_name(component: Component) -> str:
    """Return the class's name: ``rasa.core.policies.ted_policy.TEDPolicy`` is ``TEDPolicy``."""
    return component.name.rpartition(".")[2]


def configured_policies(config: Config) -> Sequence[Component]:
    """Return the policies of the configuration, or the default ones if the section is absent."""
    return DEFAULT_POLICIES if config.policies is None else config.policies


def train_ensemble(
    project: Project,
    *,
    domain: DialogueDomain | None = None,
    trackers: Trackers | None = None,
    augmentation: int = DEFAULT_AUGMENTATION,
) -> Ensemble:
    """Train the project's policies on its stories and rules.

    Raises :class:`~turncheck.messages.errors.TrainingRefusedError` if Rasa refuses to train, also
    if no policy is left to decide anything.
    """
    domain = DialogueDomain.of(project) if domain is None else domain
    components = configured_policies(project.config)
    if trackers is None:
        # Only policies that are really trained use augmented stories.
        needs_glue = any(class_name(component) in _LEARNERS for component in components)
        trackers = training_trackers(project, domain, augmentation=augmentation if needs_glue else 0)
    if domain.domain.rasa < NEWEST:
        _refuse_as_older(components, domain, project)
    else:
        _refuse_forms_without_rules(components, domain)
    policies: list[Policy] = []
    substitutions = _custom_slots(domain)
    for component in components:
        policy, substitution = _trained(component, trackers, domain)
        if policy is not None:
            policies.append(policy)
        if substitution is not None:
            substitutions.append(substitution)
    if not policies:
        raise TrainingRefusedError(
            "The configuration names no policy that can decide on the next action",
            location=project.config.location,
            remedy="Add MemoizationPolicy and RulePolicy to 'policies'.",
        )
    return Ensemble(domain, tuple(policies), tuple(substitutions))


def _custom_slots(domain: DialogueDomain) -> list[Substitution]:
    """Name the slots whose type is one of the project's classes."""
    return [
        _substitution(f"{slot.type} (slot '{slot.name}')", "type 'text'", "a project's slot classes are not run here")
        for slot in domain.slots.values()
        if slot.type not in BUILT_IN_TYPES
    ]


def _refuse_forms_without_rules(components: Sequence[Component], domain: DialogueDomain) -> None:
    if domain.domain.forms and not any(class_name(component) == "RulePolicy" for component in components):
        raise TrainingRefusedError(
            "The domain has forms, and no RulePolicy is configured to run them",
            location=next(iter(domain.domain.forms.values())).location,
            remedy="Add RulePolicy to 'policies', or remove the forms.",
        )


def _refuse_as_older(components: Sequence[Component], domain: DialogueDomain, project: Project) -> None:
    """Refuse what Rasa 1 and 2 refuse to train.

    Raises:
        TrainingRefusedError: with the reason.
    """
    names = {class_name(component): component for component in components}
    if project.config.policies is None and domain.domain.rasa < 2:
        raise TrainingRefusedError(
            "The configuration names no policies, which Rasa 1 demands",
            location=project.config.location,
            remedy="Add 'policies', such as MemoizationPolicy.",
        )
    if domain.domain.forms and names.keys().isdisjoint({older.FORM, "RulePolicy"}):
        raise TrainingRefusedError(
            "The domain has forms, and no FormPolicy is configured to run them",
            location=next(iter(domain.domain.forms.values())).location,
            remedy="Add FormPolicy to 'policies', or remove the forms.",
        )
    triggering = next((one for one in domain.domain.intents.values() if one.triggers), None)
    if triggering is not None and older.MAPPING not in names:
        raise TrainingRefusedError(
            f"The intent '{triggering.name}' triggers an action, and no MappingPolicy is configured",
            location=triggering.location,
            remedy="Add MappingPolicy to 'policies', or remove the triggers.",
        )
    two_stage = names.get(older.TWO_STAGE)
    if two_stage is not None:
        deny = str(two_stage.parameters.get("deny_suggestion_intent_name", "out_of_scope"))
        if deny not in domain.domain.intents:
            raise TrainingRefusedError(
                f"The intent '{deny}', which TwoStageFallbackPolicy needs, is not in the domain",
                location=two_stage.location,
                remedy="Add it to the intents, or name another with 'deny_suggestion_intent_name'.",
            )
    unknown = next((one for name, one in names.items() if name not in _OF_OLDER and "." not in one.name), None)
    if unknown is not None:
        raise TrainingRefusedError(
            f"The policy '{unknown.name}' is not known to Rasa {domain.domain.rasa}",
            location=unknown.location,
            remedy="Correct its name.",
        )


def _trained(
    component: Component, trackers: Trackers, domain: DialogueDomain
) -> tuple[Policy | None, Substitution | None]:
    name = class_name(component)
    parameters = component.parameters
    history = older.HISTORY if domain.domain.rasa < NEWEST else 0
    match name:
        case "RulePolicy":
            return RulePolicy(learn_rules(trackers.all, domain, RuleSettings.of(parameters))), None
        case "MemoizationPolicy":
            return MemoizationPolicy.fit(
                trackers.all, MemoizationSettings.of(name, parameters, max_history=history)
            ), None
        case "AugmentedMemoizationPolicy":
            return AugmentedMemoizationPolicy.fit(
                trackers.all, MemoizationSettings.of(name, parameters, max_history=history)
            ), None
        case "TEDPolicy" | "UnexpecTEDIntentPolicy":
            return _stand_in(name, parameters, trackers)
        case older.MAPPING if domain.domain.rasa < NEWEST:
            return older.MappingPolicy(int(parameters.get("priority", 2))), None
        case older.FORM if domain.domain.rasa < NEWEST:
            return older.FormPolicy.fit(trackers.all, parameters), None
        case older.FALLBACK if domain.domain.rasa < NEWEST:
            return older.FallbackPolicy.of(name, parameters), None
        case older.TWO_STAGE if domain.domain.rasa < NEWEST:
            return older.TwoStageFallbackPolicy.of(name, parameters), None
        case "KerasPolicy" | "EmbeddingPolicy" | "SklearnPolicy" if domain.domain.rasa < NEWEST:
            return _stand_in("TEDPolicy", parameters, trackers, called=name)
        case _:
            return None, _substitution(component.name, None, "this policy is not known here")


def _stand_in(
    name: str, parameters: Mapping[str, Any], trackers: Trackers, *, called: str = ""
) -> tuple[Policy, Substitution]:
    # NumPy is only imported if one of these is configured.
    from turncheck.engines.embedded.policies.stand_ins import TED, StandInSettings, TedStandIn, UnexpectedIntentStandIn

    settings = StandInSettings.of(name, parameters)
    kind = TedStandIn if name == TED else UnexpectedIntentStandIn
    used = f"a logistic regression over the last {settings.max_history} states"
    return kind.fit(trackers.all, settings), _substitution(called or name, used, "neural networks are not trained here")


def _substitution(component: str, used: str | None, reason: str) -> Substitution:
    from turncheck.report.model import Substitution  # most projects need none

    return Substitution(component=component, used=used, reason=reason)
