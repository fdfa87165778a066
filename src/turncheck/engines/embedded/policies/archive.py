"""The policies in a model archive: JSON members below ``core/``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.embedded.model_archive import as_shape
from turncheck.engines.embedded.policies.ensemble import Ensemble
from turncheck.engines.embedded.policies.kinds import kind_of
from turncheck.engines.embedded.stored_domain import (
    components_from_json,
    components_to_json,
    domain_from_json,
    domain_to_json,
)
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.policies.base import Policy
    from turncheck.project.model import Component
    from turncheck.report.model import Substitution

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
                {"component": one.component, "used": one.used, "reason": one.reason} for one in ensemble.substitutions
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
        raise UserError(
            f"the model has an unknown policy: '{component.name}'", remedy="Train it again: turncheck train."
        )
    return kind.read(component.parameters, shape, domain)
