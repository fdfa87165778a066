"""The policies in a model archive: JSON members below ``core/``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.rules import RuleSettings
from turncheck.engines.embedded.policies import older
from turncheck.engines.embedded.policies.ensemble import Ensemble
from turncheck.engines.embedded.policies.memoization import (
    AugmentedMemoizationPolicy,
    MemoizationPolicy,
    MemoizationSettings,
)
from turncheck.engines.embedded.policies.rule import RulePolicy
from turncheck.engines.embedded.policies.trainer import class_name, configured_policies
from turncheck.engines.embedded.stored_domain import (
    components_from_json,
    components_to_json,
    domain_from_json,
    domain_to_json,
)
from turncheck.project.rasa_version import NEWEST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.policies.base import Policy
    from turncheck.project.model import Component, Config
    from turncheck.report.model import Substitution

FOLDER = "core"


def write_ensemble(writer: MemberWriter, ensemble: Ensemble, config: Config) -> None:
    """Add the ensemble's members."""
    members = writer.below(FOLDER)
    domain = ensemble.domain
    trained = {policy.name for policy in ensemble.policies}
    components = [component for component in configured_policies(config) if class_name(component) in trained]
    members.json(
        "ensemble",
        {
            "domain": domain_to_json(domain.domain),
            "retrieval_intents": sorted(domain.retrieval_intents),
            "bot_texts": [text for text in domain.actions if text in domain.bot_texts],
            "components": components_to_json(components),
            "substitutions": [
                {"component": one.component, "used": one.used, "reason": one.reason} for one in ensemble.substitutions
            ],
        },
    )
    for number, policy in enumerate(ensemble.policies):
        members.json(f"policy_{number}", policy.to_json())


def read_ensemble(reader: MemberReader, domain: DialogueDomain | None = None) -> Ensemble:
    """Read what :func:`write_ensemble` wrote; ``domain`` is the one to act in, if it is not the stored one.

    Raises:
        UserError: a member is missing.
    """
    members = reader.below(FOLDER)
    shape = members.json("ensemble")
    if domain is None:
        domain = DialogueDomain.from_domain(
            domain_from_json(shape["domain"]),
            retrieval_intents=shape["retrieval_intents"],
            bot_texts=tuple(shape["bot_texts"]),
        )
    policies = [
        _policy(component, members.json(f"policy_{number}"), domain)
        for number, component in enumerate(components_from_json(shape["components"]))
    ]
    return Ensemble(domain, tuple(policies), _substitutions(shape["substitutions"]))


def _substitutions(shapes: Sequence[Mapping[str, Any]]) -> tuple[Substitution, ...]:
    from turncheck.report.model import Substitution  # most models need none

    return tuple(Substitution(**shape) for shape in shapes)


def _policy(component: Component, shape: Mapping[str, Any], domain: DialogueDomain) -> Policy:
    name = class_name(component)
    history = older.HISTORY if domain.domain.rasa < NEWEST else 0
    match name:
        case "RulePolicy":
            return RulePolicy.from_json(shape, domain, RuleSettings.of(component.parameters))
        case "MemoizationPolicy":
            return MemoizationPolicy(
                MemoizationSettings.of(name, component.parameters, max_history=history),
                shape["lookup"],
                shape.get("longest", 0),  # models of older versions do not have it
            )
        case "AugmentedMemoizationPolicy":
            return AugmentedMemoizationPolicy(
                MemoizationSettings.of(name, component.parameters, max_history=history),
                shape["lookup"],
                shape.get("longest", 0),  # models of older versions do not have it
            )
        case older.MAPPING:
            return older.MappingPolicy(int(component.parameters.get("priority", 2)))
        case older.FORM:
            return older.FormPolicy(shape["unhappy"], int(component.parameters.get("priority", 5)))
        case older.FALLBACK:
            return older.FallbackPolicy.of(name, component.parameters)
        case older.TWO_STAGE:
            return older.TwoStageFallbackPolicy.of(name, component.parameters)
        case _:
            # NumPy is only imported if one of these is configured.
            from turncheck.engines.embedded.policies.stand_ins import (
                TED,
                StandInSettings,
                TedStandIn,
                UnexpectedIntentStandIn,
            )

            learnt = StandInSettings.of(name, component.parameters)
            kind = TedStandIn if name == TED else UnexpectedIntentStandIn
            return kind.from_json(shape, learnt)
