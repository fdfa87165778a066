"""Which parameters of ``config.yml`` this engine reads, and which have no effect here.

Rasa reads them all. A change of one that is ignored here cannot be judged here, and must not look like one that changes
nothing.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec.structs import replace

from turncheck.engines.embedded.policies.rules import FALLBACK, FORM, MAPPING, TWO_STAGE
from turncheck.engines.embedded.policies.trainer import runs_in
from turncheck.messages.errors import UserError
from turncheck.messages.finding import NOWHERE, Location
from turncheck.project.config import DEFAULT_RECIPE, policy_class
from turncheck.project.model import Component, Config
from turncheck.project.rasa_components import configured_policies, is_custom, known_component, pipeline_of
from turncheck.report.model import ConfiguredComponent, IgnoredParameter, Substitution

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet


_LABELS: Final = ("token_pattern", "intent_tokenization_flag", "intent_split_symbol", "prefix_separator_symbol")
_PATTERNS: Final = ("case_sensitive", "use_lookup_tables", "use_regexes", "use_word_boundaries")
READ_BY_STEP: Final[Mapping[str, frozenset[str]]] = {
    kind: frozenset(names)
    for kind, names in {
        "WhitespaceTokenizer": _LABELS,
        "JiebaTokenizer": (*_LABELS, "dictionary_path"),
        "SpacyTokenizer": _LABELS,
        "RegexFeaturizer": _PATTERNS,
        "CountVectorsFeaturizer": (
            *("analyzer", "strip_accents", "stop_words", "min_df", "max_df", "min_ngram", "max_ngram", "max_features"),
            *("lowercase", "OOV_token", "OOV_words", "use_lemma"),
        ),
        "LatentFeaturizer": (),
        "SpacyFeaturizer": ("pooling",),
        "LogisticRegressionClassifier": ("max_iter", "solver", "tol", "random_state", "ranking_length"),
        "SklearnIntentClassifier": ("C", "gamma", "kernels", "max_cross_validation_folds", "scoring_function"),
        "KeywordIntentClassifier": ("case_sensitive",),
        "FallbackClassifier": ("threshold", "ambiguity_threshold"),
        "DietStandIn": (
            *("intent_classification", "entity_recognition", "ranking_length", "renormalize_confidences"),
            "split_entities_by_comma",
        ),
        "IntentStandIn": (),
        "EntityStandIn": (),
        "CRFEntityExtractor": (
            *("BILOU_flag", "split_entities_by_comma", "features", "max_iterations", "L1_c", "L2_c"),
        ),
        "RegexEntityExtractor": _PATTERNS,
        "DucklingEntityExtractor": ("dimensions", "url", "locale", "timezone", "timeout"),
        "SpacyEntityExtractor": ("dimensions",),
        "EntitySynonymMapper": (),
        "ResponseSelectorStandIn": ("retrieval_intent", "ranking_length"),
    }.items()
}
"""The parameters that the steps of language understanding read, by what runs."""

_HISTORY: Final = ("max_history", "featurizer", "priority")
_THRESHOLDS: Final = ("nlu_threshold", "ambiguity_threshold", "core_threshold", "priority")
READ_BY_POLICY: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(names)
    for name, names in {
        "RulePolicy": (
            *("core_fallback_action_name", "core_fallback_threshold", "enable_fallback_prediction", "restrict_rules"),
            *("check_for_contradictions", "use_nlu_confidence_as_score", "priority"),
        ),
        "MemoizationPolicy": (*_HISTORY, "use_nlu_confidence_as_score"),
        "AugmentedMemoizationPolicy": (*_HISTORY, "use_nlu_confidence_as_score"),
        **dict.fromkeys(("TEDPolicy", "KerasPolicy", "EmbeddingPolicy", "SklearnPolicy"), _HISTORY),
        "UnexpecTEDIntentPolicy": (*_HISTORY, "tolerance", "ignore_intents_list"),
        MAPPING: ("priority",),
        FORM: ("priority",),
        FALLBACK: (*_THRESHOLDS, "fallback_action_name"),
        TWO_STAGE: (
            *_THRESHOLDS,
            *("fallback_core_action_name", "fallback_nlu_action_name", "deny_suggestion_intent_name"),
        ),
    }.items()
}
"""The parameters that the policies read, by the class's name."""
_MODEL_OF_SPACY: Final = frozenset({"model", "case_sensitive"})

_FULL: Final = "FullDialogueTrackerFeaturizer"
_WITH_HISTORY: Final = "MaxHistoryTrackerFeaturizer"

_LONGEST: Final = 300
_WITH_DEFAULTS: Final = 2


def configured_components(
    config: Config, *, rasa: int, allow_custom_code: bool = False
) -> tuple[ConfiguredComponent, ...] | None:
    """Return what is done with recipe, components, policies and importers; ``None`` if they cannot be run."""
    try:
        pipeline = _pipeline(config, rasa=rasa, allow_custom_code=allow_custom_code)
        return (*_recipe(config), *pipeline, *policies_of(config, rasa=rasa), *_importers(config))
    except UserError:  # whoever trains it says so
        return None


def policies_of(config: Config, *, rasa: int) -> tuple[ConfiguredComponent, ...]:
    """Return what is done with each policy of a project for this version of Rasa; before Rasa 2 none was a default."""
    if config.policies is None and rasa < _WITH_DEFAULTS:
        return ()
    found = []
    for component in configured_policies(config, rasa):
        name = policy_class(component)
        kind = runs_in(component, rasa)
        read = READ_BY_POLICY[name] if kind is not None else frozenset[str]()
        parameters, of_featurizer = _only(component.parameters, read), None
        if "featurizer" in parameters:
            parameters["featurizer"], of_featurizer = _history(parameters["featurizer"])
        runs = [kind, parameters] if kind is not None else None
        described = _component("policies", component, runs, read, config.location)
        if of_featurizer is not None:
            location = component.places.get("featurizer", described.location)
            described.ignored["featurizer"] = IgnoredParameter(value=_short(of_featurizer), location=location)
        found.append(described)
    return tuple(found)


def _history(featurizers: Any) -> tuple[Any, Any]:
    """Part what is read of a policy's featurizers, how far the first looks back, from the rest; ``None``: no rest."""
    first = featurizers[0] if isinstance(featurizers, list) and featurizers else None
    if not isinstance(first, dict):
        return None, featurizers
    path, _, name = str(first.get("name")).rpartition(".")
    looks_back = [name == _FULL, first.get("max_history")]
    is_rasas = name in {_FULL, _WITH_HISTORY} and (not path or path.startswith("rasa."))
    read = {"name", "max_history"} if is_rasas else {"max_history"}
    rest = {key: value for key, value in first.items() if key not in read}
    others = featurizers[1:]
    return looks_back, [rest, *others] if rest or others else None


def replaced_recipe(config: Config) -> tuple[Substitution, ...]:
    """Return what is done instead of following a recipe by which a project has a graph of its own."""
    if config.recipe in {None, DEFAULT_RECIPE}:
        return ()
    reason = "graphs of a project's own are not run here"
    return (Substitution(component=f"recipe: {config.recipe}", used=DEFAULT_RECIPE, reason=reason),)


def _recipe(config: Config) -> Iterator[ConfiguredComponent]:
    for substitution in replaced_recipe(config):
        recipe = Component(substitution.component, {}, config.keys.get("recipe", NOWHERE))
        yield _component("recipe", recipe, None, frozenset(), config.location)


def _importers(config: Config) -> Iterator[ConfiguredComponent]:
    """Yield what none of runs: the files are read as Rasa's own importer does."""
    for component in config.importers:
        if component.name.rpartition(".")[2] != "RasaFileImporter":
            yield _component("importers", component, None, frozenset(), config.location)


def _pipeline(config: Config, *, rasa: int, allow_custom_code: bool) -> Iterator[ConfiguredComponent]:
    from turncheck.engines.embedded.nlu.plan import make_plan  # imports NumPy

    pipeline = pipeline_of(config)
    plan = make_plan(replace(config, pipeline=pipeline), rasa=rasa, allow_custom_code=allow_custom_code)
    steps = (plan.tokenizer, *plan.steps)
    for component in pipeline:
        of_it = [step for step in steps if step.component is component]
        if is_custom(component) and of_it:
            read: AbstractSet[str] = component.parameters.keys()
        elif _is_spacy_model(component):
            read = _MODEL_OF_SPACY if any("spacy_model" in step.parameters for step in steps) else frozenset()
        else:
            read = frozenset[str]().union(*(READ_BY_STEP[step.kind] for step in of_it))
        runs: list[Any] | None = [[step.kind, _only(step.parameters, read)] for step in of_it]
        if read and not of_it:
            runs = ["SpacyNLP", _only(component.parameters, read)]
        yield _component("pipeline", component, runs or None, read, config.location)


def _is_spacy_model(component: Component) -> bool:
    known = known_component(component)
    return known is not None and known.name == "SpacyNLP"


def _component(
    section: Literal["recipe", "pipeline", "policies", "importers"],
    component: Component,
    runs: Sequence[Any] | None,
    read: AbstractSet[str],
    otherwise: Location,
) -> ConfiguredComponent:
    """Describe one; ``otherwise`` is where a default one is said to be."""
    location = otherwise if component.location == NOWHERE else component.location
    return ConfiguredComponent(
        section=section,
        name=component.written,
        location=location,
        runs=None if runs is None else hashlib.sha256(_json(runs).encode()).hexdigest()[:16],
        ignored={
            name: IgnoredParameter(value=_short(value), location=component.places.get(name, location))
            for name, value in component.parameters.items()
            if name not in read and name != "name"
        },
    )


def _only(parameters: Mapping[str, Any], read: AbstractSet[str]) -> dict[str, Any]:
    return {name: parameters[name] for name in sorted(read & parameters.keys())}


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _short(value: Any) -> str:
    text = _json(value)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}… ({hashlib.sha256(text.encode()).hexdigest()[:16]})"
