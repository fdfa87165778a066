"""From a project's policies section to trained policies, and those in a model file.

What runs for each configured policy is one row: how it is trained, and read back from a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.rule_learning import learn_rules
from turncheck.dialogue.rules import RuleSettings
from turncheck.dialogue.situation import BUILT_IN_TYPES
from turncheck.dialogue.training import Trackers, training_trackers
from turncheck.engines.embedded.model_archive import (
    MemberReader,
    MemberWriter,
    as_shape,
    components_from_json,
    components_to_json,
    domain_from_json,
    domain_to_json,
)
from turncheck.engines.embedded.policies.ensemble import Ensemble, Policy
from turncheck.engines.embedded.policies.rules import (
    FALLBACK,
    FORM,
    HISTORY,
    MAPPING,
    TWO_STAGE,
    AugmentedMemoizationPolicy,
    FallbackPolicy,
    FormPolicy,
    MappingPolicy,
    MemoizationPolicy,
    MemoizationSettings,
    RulePolicy,
    TwoStageFallbackPolicy,
)
from turncheck.messages.errors import TrainingRefusedError, UserError
from turncheck.messages.finding import NOWHERE
from turncheck.project.model import Component, Config, Project, in_order_of_names
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from turncheck.report.model import Substitution

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
        history = HISTORY if domain.domain.rasa < NEWEST else 0
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
    MAPPING: _untrained(MappingPolicy.of),
    FORM: PolicyKind(
        lambda parameters, trackers, _: FormPolicy.fit(trackers.all, parameters),
        lambda parameters, shape, _: FormPolicy.from_json(shape, parameters),
        only_older=True,
    ),
    FALLBACK: _untrained(lambda parameters: FallbackPolicy.of(FALLBACK, parameters)),
    TWO_STAGE: _untrained(lambda parameters: TwoStageFallbackPolicy.of(TWO_STAGE, parameters)),
}
"""The policies of every Rasa that are run here, by their class's name."""

LEARNERS: Final = frozenset(name for name, kind in _KINDS.items() if kind.stands_in)
"""The policies that learn from augmented stories, too."""
OF_OLDER: Final = frozenset({*_KINDS, "EnsemblePolicy"})
"""The policies that Rasa 1 and 2 have."""


DEFAULT_AUGMENTATION: Final = 50

DEFAULT_POLICIES: Final = (
    Component("MemoizationPolicy", {}, NOWHERE),
    Component("RulePolicy", {}, NOWHERE),
    Component("UnexpecTEDIntentPolicy", {"max_history": 5, "epochs": 100}, NOWHERE),
    Component("TEDPolicy", {"max_history": 5, "epochs": 100, "constrain_similarities": True}, NOWHERE),
)
"""What Rasa's default recipe uses if ``config.yml`` names no policies."""


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
        needs_glue = any(class_name(component) in LEARNERS for component in components)
        ordered = replace(project, stories=in_order_of_names(project.stories), rules=in_order_of_names(project.rules))
        trackers = training_trackers(ordered, domain, augmentation=augmentation if needs_glue else 0)
    if domain.domain.rasa < NEWEST:
        _refuse_as_older(components, domain, project)
    else:
        _refuse_forms_without_rules(components, domain)
    policies: list[Policy] = []
    trained: list[Component] = []
    substitutions = _custom_slots(domain)
    for component in components:
        policy, substitution = _trained(component, trackers, domain)
        if policy is not None:
            policies.append(policy)
            trained.append(component)
        if substitution is not None:
            substitutions.append(substitution)
    if not policies:
        raise TrainingRefusedError(
            "The configuration names no policy that can decide on the next action",
            location=project.config.location,
            hint="Add MemoizationPolicy and RulePolicy to 'policies'.",
        )
    return Ensemble(domain, tuple(policies), tuple(substitutions), tuple(trained))


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
            hint="Add RulePolicy to 'policies', or remove the forms.",
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
            hint="Add 'policies', such as MemoizationPolicy.",
        )
    if domain.domain.forms and names.keys().isdisjoint({FORM, "RulePolicy"}):
        raise TrainingRefusedError(
            "The domain has forms, and no FormPolicy is configured to run them",
            location=next(iter(domain.domain.forms.values())).location,
            hint="Add FormPolicy to 'policies', or remove the forms.",
        )
    triggering = next((intent for intent in domain.domain.intents.values() if intent.triggers), None)
    if triggering is not None and MAPPING not in names:
        raise TrainingRefusedError(
            f"The intent '{triggering.name}' triggers an action, and no MappingPolicy is configured",
            location=triggering.location,
            hint="Add MappingPolicy to 'policies', or remove the triggers.",
        )
    two_stage = names.get(TWO_STAGE)
    if two_stage is not None:
        deny = str(two_stage.parameters.get("deny_suggestion_intent_name", "out_of_scope"))
        if deny not in domain.domain.intents:
            raise TrainingRefusedError(
                f"The intent '{deny}', which TwoStageFallbackPolicy needs, is not in the domain",
                location=two_stage.location,
                hint="Add it to the intents, or name another with 'deny_suggestion_intent_name'.",
            )
    unknown = next(
        (component for name, component in names.items() if name not in OF_OLDER and "." not in component.name), None
    )
    if unknown is not None:
        raise TrainingRefusedError(
            f"The policy '{unknown.name}' is not known to Rasa {domain.domain.rasa}",
            location=unknown.location,
            hint="Correct its name.",
        )


def _trained(
    component: Component, trackers: Trackers, domain: DialogueDomain
) -> tuple[Policy | None, Substitution | None]:
    kind = kind_of(component, domain)
    if kind is None:
        return None, _substitution(component.name, None, "this policy is not known here")
    policy = kind.fit(component.parameters, trackers, domain)
    if not kind.stands_in:
        return policy, None
    from turncheck.engines.embedded.policies.stand_ins import StandInSettings  # imports NumPy

    name = class_name(component)
    states = StandInSettings.of(name, component.parameters).max_history
    used = f"a logistic regression over the last {states} states"
    return policy, _substitution(name, used, "neural networks are not trained here")


def _substitution(component: str, used: str | None, reason: str) -> Substitution:
    from turncheck.report.model import Substitution  # most projects need none

    return Substitution(component=component, used=used, reason=reason)


# The policies in a model archive: JSON members below ``core/``.

FOLDER = "core"


class _ComponentShape(TypedDict):
    name: str
    parameters: dict[str, Any]


class _EnsembleShape(TypedDict):
    domain: dict[str, Any]
    retrieval_intents: list[str]
    bot_texts: tuple[str, ...]
    components: list[_ComponentShape]
    substitutions: list[dict[str, Any]]


def write_ensemble(writer: MemberWriter, ensemble: Ensemble) -> None:
    """Add the ensemble's members."""
    members = writer.below(FOLDER)
    domain = ensemble.domain
    members.json(
        "ensemble",
        {
            "domain": domain_to_json(domain.domain),
            "retrieval_intents": sorted(domain.retrieval_intents),
            "bot_texts": [text for text in domain.actions if text in domain.bot_texts],
            "components": components_to_json(ensemble.components),
            "substitutions": [
                {"component": substitution.component, "used": substitution.used, "reason": substitution.reason}
                for substitution in ensemble.substitutions
            ],
        },
    )
    for number, (policy, _) in enumerate(zip(ensemble.policies, ensemble.components, strict=True)):
        members.json(f"policy_{number}", policy.to_json())


def read_ensemble(reader: MemberReader, domain: DialogueDomain | None = None) -> Ensemble:
    """Read what :func:`write_ensemble` wrote; ``domain`` is the one to act in, if it is not the stored one.

    Raises:
        UserError: a member is missing.
    """
    members = reader.below(FOLDER)
    shape = members.json("ensemble", _EnsembleShape)
    if domain is None:
        domain = DialogueDomain.from_domain(
            domain_from_json(shape["domain"]),
            retrieval_intents=shape["retrieval_intents"],
            bot_texts=shape["bot_texts"],
        )
    components = components_from_json(shape["components"])
    policies = [
        _policy(component, members.json(f"policy_{number}", dict[str, Any]), domain)
        for number, component in enumerate(components)
    ]
    return Ensemble(domain, tuple(policies), _substitutions(shape["substitutions"]), components)


def _substitutions(shapes: Sequence[Mapping[str, Any]]) -> tuple[Substitution, ...]:
    from turncheck.report.model import Substitution  # most models need none

    return tuple(as_shape(shape, Substitution) for shape in shapes)


def _policy(component: Component, shape: Mapping[str, Any], domain: DialogueDomain) -> Policy:
    kind = kind_of(component, domain)
    if kind is None:
        raise UserError(f"the model has an unknown policy: '{component.name}'", hint="Train it again: turncheck train.")
    return kind.read(component.parameters, shape, domain)
