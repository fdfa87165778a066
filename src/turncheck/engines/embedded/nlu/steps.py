"""The kinds of steps in a plan: how each is trained, and read back from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.engines.embedded.nlu.classifiers import (
    FallbackClassifier,
    KeywordIntentClassifier,
    LogisticRegressionClassifier,
)
from turncheck.engines.embedded.nlu.crf_extractor import CRFEntityExtractor
from turncheck.engines.embedded.nlu.custom_code import CustomComponent
from turncheck.engines.embedded.nlu.dense import LatentFeaturizer, SklearnIntentClassifier
from turncheck.engines.embedded.nlu.diet import DietStandIn
from turncheck.engines.embedded.nlu.duckling import DucklingEntityExtractor
from turncheck.engines.embedded.nlu.featurizers import CountVectorsFeaturizer, RegexFeaturizer
from turncheck.engines.embedded.nlu.response_selector import ResponseSelectorStandIn
from turncheck.engines.embedded.nlu.rule_extractors import EntitySynonymMapper, RegexEntityExtractor
from turncheck.engines.embedded.nlu.spacy_model import SpacyEntityExtractor, SpacyFeaturizer
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.embedded.model_archive import MemberReader
    from turncheck.engines.embedded.nlu.batch import Component, Training
    from turncheck.engines.embedded.nlu.plan import Step

_PLAIN: Final[Mapping[str, Any]] = {
    kind.__name__: kind
    for kind in (
        RegexFeaturizer,
        CountVectorsFeaturizer,
        LatentFeaturizer,
        SpacyFeaturizer,
        SpacyEntityExtractor,
        LogisticRegressionClassifier,
        SklearnIntentClassifier,
        DucklingEntityExtractor,
        KeywordIntentClassifier,
        FallbackClassifier,
        CRFEntityExtractor,
        RegexEntityExtractor,
        EntitySynonymMapper,
        ResponseSelectorStandIn,
    )
}

_STAND_INS: Final[Mapping[str, Mapping[str, Any]]] = {
    "DietStandIn": {},
    "IntentStandIn": {"intent_classification": True, "entity_recognition": False},
    "EntityStandIn": {"intent_classification": False, "entity_recognition": True},
}
_STAND_IN_DEFAULTS: Final[Mapping[str, Any]] = {
    "ranking_length": 10,
    "renormalize_confidences": False,
    "split_entities_by_comma": True,
}

FEATURIZERS: Final = frozenset({"RegexFeaturizer", "CountVectorsFeaturizer", "LatentFeaturizer", "SpacyFeaturizer"})
"""Kinds whose output later steps are trained on."""

EXTRACTORS: Final = frozenset(
    {
        "DietStandIn",
        "EntityStandIn",
        "CRFEntityExtractor",
        "RegexEntityExtractor",
        "DucklingEntityExtractor",
        "SpacyEntityExtractor",
        "CustomComponent",
    }
)


def extractor_of(step: Step, component: Component) -> str | None:
    """The name under which this step's entities are reported, if it can find any."""
    if step.kind not in EXTRACTORS or (isinstance(component, DietStandIn) and component.entities is None):
        return None
    return step.kind if step.kind in _PLAIN else _stand_in_name(step)


def train_step(step: Step, training: Training) -> Component | None:
    """Train one step; ``None`` if there is nothing to learn.

    Raises:
        UserError: the data or the parameters do not allow it; the message has the component's location.
    """
    try:
        if step.kind == "CustomComponent":
            return CustomComponent.train(step, training)
        if step.kind in _STAND_INS:
            return DietStandIn.train(_stand_in_name(step), _stand_in_parameters(step), training)
        trained: Component | None = _PLAIN[step.kind].train(step.parameters, training)
    except UserError as error:
        if error.location is None:
            raise UserError(error.what, location=step.component.location, remedy=error.remedy) from None
        raise
    return trained


def load_step(step: Step, members: MemberReader) -> Component:
    """Read a trained step back."""
    if step.kind in _STAND_INS:
        return DietStandIn.load(_stand_in_name(step), _stand_in_parameters(step), members)
    loaded: Component = _PLAIN[step.kind].load(step.parameters, members)
    return loaded


def _stand_in_name(step: Step) -> str:
    return step.component.name.rpartition(".")[2]


def _stand_in_parameters(step: Step) -> Mapping[str, Any]:
    return {**_STAND_IN_DEFAULTS, **step.parameters, **_STAND_INS[step.kind]}
