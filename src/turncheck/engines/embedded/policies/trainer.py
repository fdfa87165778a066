"""From a project's policies section to trained policies, and those in a model file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypedDict

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.situation import BUILT_IN_TYPES
from turncheck.dialogue.training import Trackers, training_trackers
from turncheck.engines.embedded.model_archive import as_shape
from turncheck.engines.embedded.policies import older
from turncheck.engines.embedded.policies.ensemble import Ensemble
from turncheck.engines.embedded.policies.kinds import LEARNERS, OF_OLDER, class_name, kind_of
from turncheck.engines.embedded.stored_domain import (
    components_from_json,
    components_to_json,
    domain_from_json,
    domain_to_json,
)
from turncheck.messages.errors import TrainingRefusedError, UserError
from turncheck.messages.finding import NOWHERE
from turncheck.project.model import Component, in_order_of_names
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.policies.ensemble import Policy
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
    if domain.domain.forms and names.keys().isdisjoint({older.FORM, "RulePolicy"}):
        raise TrainingRefusedError(
            "The domain has forms, and no FormPolicy is configured to run them",
            location=next(iter(domain.domain.forms.values())).location,
            hint="Add FormPolicy to 'policies', or remove the forms.",
        )
    triggering = next((intent for intent in domain.domain.intents.values() if intent.triggers), None)
    if triggering is not None and older.MAPPING not in names:
        raise TrainingRefusedError(
            f"The intent '{triggering.name}' triggers an action, and no MappingPolicy is configured",
            location=triggering.location,
            hint="Add MappingPolicy to 'policies', or remove the triggers.",
        )
    two_stage = names.get(older.TWO_STAGE)
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
