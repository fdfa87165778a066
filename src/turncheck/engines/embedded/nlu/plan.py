"""From a project's ``config.yml`` to the steps that run here: Rasa's own, stand-ins, and what is left out."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, structs

from turncheck.engines.embedded.nlu.featurizers import check_counts, check_lexical_features
from turncheck.messages.errors import UserError
from turncheck.project.config import NOT_RUN_FOR_FLOWS, is_of_flows
from turncheck.project.model import Component, Config
from turncheck.project.rasa_components import (
    COMPONENTS,
    is_custom,
    known_component,
    parameters_of,
    pipeline_of,
    require_known,
)
from turncheck.project.rasa_version import NEWEST
from turncheck.report.model import Substitution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Step(Struct, frozen=True):
    """One component of the pipeline with its parameters; ``kind`` says what runs (see :mod:`.steps`)."""

    kind: str
    component: Component
    parameters: Mapping[str, Any]


class Plan(Struct, frozen=True):
    """The tokenizer, the steps after it in order, and the substitutions."""

    tokenizer: Step
    steps: tuple[Step, ...]
    substitutions: tuple[Substitution, ...]
    notes: tuple[str, ...] = ()


_PACKAGE: Final = re.compile(r"[a-z]\w*")

_LINEAR: Final = "a linear model over word and character n-grams"
_CRF: Final = "a CRF over lexical features"
_NO_NETWORK: Final = "neural networks are not trained here; network and training parameters have no effect"
_TOKENIZER: Final = "Tokenizer"
_WHITESPACE: Final = "WhitespaceTokenizer"
_WORDS: Final = f"{_WHITESPACE}, for Chinese by characters"
_NO_FOREIGN_MODEL: Final = "it needs a pretrained model, which is not installed here"

_SPACY: Final = frozenset({"SpacyTokenizer", "SpacyFeaturizer", "SpacyEntityExtractor"})
"""What runs unchanged if the model of ``SpacyNLP`` is installed."""

DIFFER: Final = frozenset({"SklearnIntentClassifier", "KeywordIntentClassifier", "EntitySynonymMapper"})
"""Components that do something else in other versions of Rasa: the version is one of their parameters, ``rasa``."""

ADDED: Final = frozenset({"rasa", "spacy_model"})
"""What a plan adds to the parameters of components."""

_LEARNS_FROM_VECTORS: Final = frozenset({"DietStandIn", "IntentStandIn", "ResponseSelectorStandIn"})
READS_SENTENCE_FEATURES: Final = frozenset({"LogisticRegressionClassifier", "SklearnIntentClassifier"})
READS_TOKEN_FEATURES: Final = frozenset({"CRFEntityExtractor"})
_GIVES_TOKEN_FEATURES: Final = frozenset({"RegexFeaturizer", "SpacyFeaturizer"})
_GIVES_SENTENCE_FEATURES: Final = frozenset(
    {"RegexFeaturizer", "CountVectorsFeaturizer", "LatentFeaturizer", "SpacyFeaturizer"}
)


def make_plan(
    config: Config, *, rasa: int = NEWEST, allow_custom_code: bool = False, vectors: str | None = None
) -> Plan:
    """Decide what runs for each component of the pipeline of a project for this version of Rasa.

    Raises:
        UserError: a component or one of its parameters is unknown, or the pipeline has two tokenizers.
    """
    pipeline = pipeline_of(config)
    notes = [] if config.pipeline is not None else ["config.yml has no pipeline: Rasa's default pipeline is used"]
    substitutions: dict[Substitution, None] = {}
    steps: list[Step] = []
    spacy_model: Mapping[str, Any] | None = None
    for component in pipeline:
        if is_of_flows(component):
            substitutions[Substitution(component=component.name, used=None, reason=NOT_RUN_FOR_FLOWS)] = None
            continue
        known = known_component(component)
        if known is not None and known.name == "SpacyNLP" and _spacy_installed(component):
            parameters = parameters_of(component, known)
            spacy_model = {"name": parameters["model"], "case_sensitive": parameters["case_sensitive"]}
            continue
        for made in _resolve(component, spacy_model, rasa=rasa, allow_custom_code=allow_custom_code, vectors=vectors):
            if isinstance(made, Substitution):
                substitutions[made] = None
            else:
                steps.append(made)
    tokenizers = [step for step in steps if step.kind.endswith(_TOKENIZER)]
    if len(tokenizers) > 1:
        raise UserError(
            f"the pipeline has more than one tokenizer: {', '.join(step.component.written for step in tokenizers)}",
            location=tokenizers[1].component.location,
            hint="Keep one of them.",
        )
    if not tokenizers:
        unknown = _unknown_tokenizer(pipeline, substitutions)
        tokenizers = [_words(_WHITESPACE if unknown is None else unknown.component, config)]
        if unknown is not None and unknown.component.endswith(_TOKENIZER):
            replaced = structs.replace(unknown, used=_WORDS)
            substitutions = {replaced if one == unknown else one: None for one in substitutions}
    others = tuple(step for step in steps if not step.kind.endswith(_TOKENIZER))
    if vectors and not any(step.kind in _LEARNS_FROM_VECTORS for step in others):
        notes.append("sentence vectors are switched on, and nothing in this pipeline learns from them")
    return Plan(tokenizers[0], tuple(_needed(others)), tuple(substitutions), tuple(notes))


def _words(name: str, config: Config) -> Step:
    """A step that finds words under this name."""
    default = Component(_WHITESPACE, {}, config.location)
    return Step(_WHITESPACE, replace(default, name=name), parameters_of(default, require_known(default)))


def _unknown_tokenizer(pipeline: Iterable[Component], substitutions: Iterable[Substitution]) -> Substitution | None:
    """The class of the project that is left out and finds the words, if no tokenizer of Rasa does."""
    custom = {component.name for component in pipeline if is_custom(component)}
    left_out = [one for one in substitutions if one.used is None and one.component in custom]
    return next((one for one in left_out if one.component.endswith(_TOKENIZER)), next(iter(left_out), None))


def _spacy_installed(component: Component) -> bool:
    """Whether spaCy and the model that this ``SpacyNLP`` names are installed."""
    model = component.parameters.get("model")
    return (
        isinstance(model, str)
        and _PACKAGE.fullmatch(model) is not None
        and importlib.util.find_spec("spacy") is not None
        and importlib.util.find_spec(model) is not None
    )


def _resolve(
    component: Component,
    spacy_model: Mapping[str, Any] | None,
    *,
    rasa: int,
    allow_custom_code: bool,
    vectors: str | None,
) -> Iterator[Step | Substitution]:
    """Return the step that runs for a component, if any, and the substitution to list, if there is one."""
    if is_custom(component):
        if allow_custom_code:
            yield Step("CustomComponent", component, component.parameters)
            return
        reason = "it is code of the project, which runs only with --allow-custom-code"
        if not component.extends:
            yield Substitution(component=component.name, used=None, reason=reason)
            return
        parent = replace(component, name=component.extends, extends="", parameters=_of_parent(component))
        made = list(_resolve(parent, spacy_model, rasa=rasa, allow_custom_code=allow_custom_code, vectors=vectors))
        replaced = next((one for one in made if isinstance(one, Substitution)), None)
        used = component.extends if replaced is None else replaced.used
        more = [f"it extends {component.extends}", *([replaced.reason] if replaced is not None else [])]
        yield Substitution(component=component.name, used=used, reason="; ".join([reason, *more]))
        yield from (one for one in made if isinstance(one, Step))
        return
    known = require_known(component, rasa)
    parameters = parameters_of(component, known)
    if known.name == "LexicalSyntacticFeaturizer":
        check_lexical_features(parameters)
        return
    if known.role == "handler":
        return  # a message that begins with a slash is read as such with or without it
    if known.name == "CountVectorsFeaturizer":
        check_counts(component, parameters)
    if known.name in DIFFER:
        parameters["rasa"] = rasa
    if spacy_model is not None and known.name in _SPACY:
        yield Step(known.name, component, {**parameters, "spacy_model": spacy_model})
        return
    replacement = _REPLACED.get(known.name)
    if replacement is None:
        yield Step(known.name, component, parameters)
        return
    used = replacement.used
    if vectors and used is not None:
        used = used.replace(_LINEAR, f"{_LINEAR} and over sentence vectors ({vectors})")
    yield Substitution(component=component.written, used=used, reason=replacement.reason)
    if replacement.kind is not None:
        yield Step(replacement.kind, component, parameters)


def _of_parent(component: Component) -> Mapping[str, Any]:
    """Return the parameters that the class of Rasa has, too; the others are the project's own."""
    known = COMPONENTS[component.extends]
    return {name: value for name, value in component.parameters.items() if name in known.defaults}


class _Replacement(Struct, frozen=True):
    kind: str | None
    used: str | None
    reason: str


_REPLACED: Final[Mapping[str, _Replacement]] = {
    "DIETClassifier": _Replacement(
        "DietStandIn",
        f"{_LINEAR} (intents) and {_CRF} (entities)",
        _NO_NETWORK,
    ),
    "ResponseSelector": _Replacement(
        "ResponseSelectorStandIn",
        _LINEAR,
        _NO_NETWORK,
    ),
    "SpacyNLP": _Replacement(None, None, _NO_FOREIGN_MODEL),
    "MitieNLP": _Replacement(None, None, _NO_FOREIGN_MODEL),
    "SpacyTokenizer": _Replacement(_WHITESPACE, _WORDS, _NO_FOREIGN_MODEL),
    "MitieTokenizer": _Replacement(_WHITESPACE, _WORDS, _NO_FOREIGN_MODEL),
    **{
        name: _Replacement(
            "LatentFeaturizer", "latent semantic features of the project's own sentences", _NO_FOREIGN_MODEL
        )
        for name in ("SpacyFeaturizer", "MitieFeaturizer", "LanguageModelFeaturizer", "ConveRTFeaturizer")
    },
    "ConveRTTokenizer": _Replacement(_WHITESPACE, _WORDS, _NO_FOREIGN_MODEL),
    "LanguageModelTokenizer": _Replacement(_WHITESPACE, _WORDS, _NO_FOREIGN_MODEL),
    "HFTransformersNLP": _Replacement(None, None, _NO_FOREIGN_MODEL),
    "NGramFeaturizer": _Replacement(
        "LatentFeaturizer", "latent semantic features of the project's own sentences", "its n-grams are not chosen here"
    ),
    "SpacyEntityExtractor": _Replacement(None, None, _NO_FOREIGN_MODEL),
    "MitieEntityExtractor": _Replacement("EntityStandIn", _CRF, _NO_FOREIGN_MODEL),
    "MitieIntentClassifier": _Replacement("IntentStandIn", _LINEAR, _NO_FOREIGN_MODEL),
}


def _needed(steps: tuple[Step, ...]) -> list[Step]:
    """Leave out featurizers whose features no step reads: a stand-in has its own features."""
    needed: list[Step] = []
    sentences = tokens = False
    for step in reversed(steps):
        if step.kind in _GIVES_SENTENCE_FEATURES and not (sentences or (tokens and step.kind in _GIVES_TOKEN_FEATURES)):
            continue
        sentences = sentences or step.kind in READS_SENTENCE_FEATURES
        tokens = tokens or step.kind in READS_TOKEN_FEATURES
        needed.append(step)
    return needed[::-1]
