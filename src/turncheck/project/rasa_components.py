"""The pipeline components of Rasa 3.6, and those that only older versions have: names, roles, parameters, defaults.

And the pipeline and policies of a project that names none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from msgspec import Struct, field

from turncheck.messages.errors import UserError
from turncheck.messages.finding import NOWHERE
from turncheck.messages.phrasing import nearest
from turncheck.project.config import policy_class, short_name
from turncheck.project.model import Component
from turncheck.project.rasa_version import NEWEST, OLDEST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.project.model import Config
    from turncheck.project.nlu_data import NluData

Role = Literal["tokenizer", "language model", "featurizer", "classifier", "extractor", "mapper", "selector", "handler"]


class KnownComponent(Struct, frozen=True):
    """A component with its parameters; ``last`` is the last version of Rasa that has it."""

    name: str
    role: Role
    defaults: Mapping[str, Any]
    former: frozenset[str] = field(default_factory=frozenset)
    """Parameters of earlier Rasa versions, which 3.6 accepts without effect; existing projects still have them."""
    last: int = NEWEST


_TOKENIZER: Final[Mapping[str, Any]] = {
    "intent_tokenization_flag": False,
    "intent_split_symbol": "_",
    "token_pattern": None,
    "prefix_separator_symbol": None,
}

_NEURAL: Final[Mapping[str, Any]] = {
    "hidden_layers_sizes": {"text": [], "label": []},
    "share_hidden_layers": False,
    "transformer_size": 256,
    "number_of_transformer_layers": 2,
    "number_of_attention_heads": 4,
    "use_key_relative_attention": False,
    "use_value_relative_attention": False,
    "max_relative_position": 5,
    "unidirectional_encoder": False,
    "batch_size": [64, 256],
    "batch_strategy": "balanced",
    "epochs": 300,
    "random_seed": None,
    "learning_rate": 0.001,
    "embedding_dimension": 20,
    "dense_dimension": {"text": 128, "label": 20},
    "concat_dimension": {"text": 128, "label": 20},
    "number_of_negative_examples": 20,
    "similarity_type": "auto",
    "loss_type": "cross_entropy",
    "ranking_length": 10,
    "maximum_positive_similarity": 0.8,
    "maximum_negative_similarity": -0.4,
    "use_maximum_negative_similarity": True,
    "scale_loss": False,
    "regularization_constant": 0.002,
    "negative_margin_scale": 0.8,
    "drop_rate": 0.2,
    "drop_rate_attention": 0,
    "connection_density": 0.2,
    "use_sparse_input_dropout": True,
    "use_dense_input_dropout": True,
    "evaluate_every_number_of_epochs": 20,
    "evaluate_on_number_of_examples": 0,
    "intent_classification": True,
    "entity_recognition": True,
    "use_masked_language_model": False,
    "BILOU_flag": True,
    "tensorboard_log_directory": None,
    "tensorboard_log_level": "epoch",
    "checkpoint_model": False,
    "featurizers": [],
    "split_entities_by_comma": True,
    "constrain_similarities": False,
    "model_confidence": "softmax",
    "renormalize_confidences": False,
    "run_eagerly": False,
    "drop_small_last_batch": False,
}
"""The parameters of Rasa's neural models. A stand-in has no layers and no epochs: it ignores all but a few."""

_NEURAL_FORMER: Final = frozenset(
    {
        "num_transformer_layers", "num_heads", "num_neg", "weight_sparsity", "embed_dim", "hidden_layers_sizes_a",
        "hidden_layers_sizes_b", "C2", "C_emb", "droprate", "intent_split_symbol", "intent_tokenization_flag",
        "evaluate_every_num_epochs", "evaluate_on_num_examples", "mu_pos", "mu_neg", "use_max_sim_neg",
        "num_hidden_layers_a", "hidden_layer_size_a", "num_hidden_layers_b", "hidden_layer_size_b", "layer_norm",
    }
)  # fmt: skip

_DENSE: Final[Mapping[str, Any]] = {"alias": None}

_TRANSFORMERS: Final[Mapping[str, Any]] = {"model_name": "bert", "model_weights": None, "cache_dir": None}

_FEATURIZER_FORMER: Final = frozenset({"return_sequence", "featurizer_identifier"})

CRF_FEATURES: Final = (
    ("low", "title", "upper"),
    ("low", "bias", "prefix5", "prefix2", "suffix5", "suffix3", "suffix2", "upper", "title", "digit", "pattern"),
    ("low", "title", "upper"),
)

LEXICAL_FEATURES: Final = (
    ("low", "title", "upper"),
    ("BOS", "EOS", "low", "upper", "title", "digit"),
    ("low", "title", "upper"),
)

_KNOWN: Final = (
    KnownComponent("WhitespaceTokenizer", "tokenizer", _TOKENIZER, frozenset({"case_sensitive"})),
    KnownComponent(
        "JiebaTokenizer",
        "tokenizer",
        {"dictionary_path": None, **_TOKENIZER},
        frozenset({"case_sensitive", "user_dicts"}),
    ),
    KnownComponent("MitieTokenizer", "tokenizer", _TOKENIZER),
    KnownComponent("SpacyTokenizer", "tokenizer", _TOKENIZER),
    KnownComponent("SpacyNLP", "language model", {"case_sensitive": False, "model": None}, frozenset({"language"})),
    KnownComponent(
        "MitieNLP", "language model", {"model": "data/total_word_feature_extractor.dat"}, frozenset({"language"})
    ),
    KnownComponent("SpacyFeaturizer", "featurizer", {**_DENSE, "pooling": "mean"}, _FEATURIZER_FORMER),
    KnownComponent("MitieFeaturizer", "featurizer", {**_DENSE, "pooling": "mean"}, _FEATURIZER_FORMER),
    KnownComponent(
        "LanguageModelFeaturizer",
        "featurizer",
        {**_DENSE, **_TRANSFORMERS},
        _FEATURIZER_FORMER,
    ),
    KnownComponent("ConveRTFeaturizer", "featurizer", {**_DENSE, "model_url": None}, _FEATURIZER_FORMER),
    KnownComponent(
        "RegexFeaturizer",
        "featurizer",
        {**_DENSE, "case_sensitive": True, "use_lookup_tables": True, "use_regexes": True, "use_word_boundaries": True},
        _FEATURIZER_FORMER | {"number_additional_patterns"},
    ),
    KnownComponent(
        "LexicalSyntacticFeaturizer", "featurizer", {**_DENSE, "features": LEXICAL_FEATURES}, _FEATURIZER_FORMER
    ),
    KnownComponent(
        "CountVectorsFeaturizer",
        "featurizer",
        {
            **_DENSE,
            "use_shared_vocab": False,
            "analyzer": "word",
            "strip_accents": None,
            "stop_words": None,
            "min_df": 1,
            "max_df": 1.0,
            "min_ngram": 1,
            "max_ngram": 1,
            "max_features": None,
            "lowercase": True,
            "OOV_token": None,
            "OOV_words": [],
            "use_lemma": True,
        },
        _FEATURIZER_FORMER | {"token_pattern", "additional_vocabulary_size"},
    ),
    KnownComponent(
        "LogisticRegressionClassifier",
        "classifier",
        {"max_iter": 100, "solver": "lbfgs", "tol": 1e-4, "random_state": 42, "ranking_length": 10},
        frozenset({"class_weight", "C", "penalty"}),
    ),
    KnownComponent(
        "SklearnIntentClassifier",
        "classifier",
        {
            "C": [1, 2, 5, 10, 20, 100],
            "gamma": [0.1],
            "kernels": ["linear"],
            "max_cross_validation_folds": 5,
            "scoring_function": "f1_weighted",
            "num_threads": 1,
            "featurizers": [],
        },
    ),
    KnownComponent("KeywordIntentClassifier", "classifier", {"case_sensitive": True}),
    KnownComponent("MitieIntentClassifier", "classifier", {"num_threads": 1}),
    KnownComponent("FallbackClassifier", "classifier", {"threshold": 0.3, "ambiguity_threshold": 0.1}),
    KnownComponent("DIETClassifier", "classifier", _NEURAL, _NEURAL_FORMER),
    KnownComponent(
        "CRFEntityExtractor",
        "extractor",
        {
            "BILOU_flag": True,
            "split_entities_by_comma": True,
            "features": CRF_FEATURES,
            "max_iterations": 50,
            "L1_c": 0.1,
            "L2_c": 0.1,
            "featurizers": [],
        },
    ),
    KnownComponent(
        "RegexEntityExtractor",
        "extractor",
        {"case_sensitive": False, "use_lookup_tables": True, "use_regexes": True, "use_word_boundaries": True},
    ),
    KnownComponent(
        "DucklingEntityExtractor",
        "extractor",
        {"dimensions": None, "url": None, "locale": None, "timezone": None, "timeout": 3},
    ),
    KnownComponent("SpacyEntityExtractor", "extractor", {"dimensions": None}),
    KnownComponent("MitieEntityExtractor", "extractor", {"num_threads": 1}),
    KnownComponent("EntitySynonymMapper", "mapper", {}),
    KnownComponent("RegexMessageHandler", "handler", {}),
    KnownComponent(
        "ResponseSelector",
        "selector",
        {**_NEURAL, "retrieval_intent": None, "use_text_as_label": False},
        _NEURAL_FORMER,
    ),
    KnownComponent(
        "ConveRTTokenizer", "tokenizer", {**_TOKENIZER, "model_url": None}, frozenset({"case_sensitive"}), last=2
    ),
    KnownComponent("LanguageModelTokenizer", "tokenizer", _TOKENIZER, frozenset({"case_sensitive"}), last=2),
    KnownComponent("HFTransformersNLP", "language model", _TRANSFORMERS, last=2),
    KnownComponent(
        "NGramFeaturizer",
        "featurizer",
        {
            "max_number_of_ngrams": 10,
            "ngram_min_length": 3,
            "ngram_max_length": 17,
            "ngram_min_occurrences": 5,
            "min_intent_examples": 4,
        },
        last=1,
    ),
)

COMPONENTS: Final[Mapping[str, KnownComponent]] = {known.name: known for known in _KNOWN}
"""Every component by its name."""

_RENAMED: Final = {"DucklingHTTPExtractor": "DucklingEntityExtractor"}

_MODULE_PATH: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")


def is_custom(component: Component) -> bool:
    """Whether ``component`` is a class of the project (``module.Class``) rather than one of Rasa's.

    The full path of one of Rasa's own classes (``rasa.nlu.….WhitespaceTokenizer``) names that class.
    """
    return known_component(component) is None and _MODULE_PATH.fullmatch(component.name) is not None


def known_component(component: Component) -> KnownComponent | None:
    """Return Rasa's component of that name, of any version, or ``None``."""
    name = short_name(component.name)
    return COMPONENTS.get(_RENAMED.get(name, name))


def patterns_read(config: Config, nlu: NluData, kind: Literal["use_regexes", "use_lookup_tables"]) -> frozenset[str]:
    """Return the names of the regexes or lookup tables that a component of the pipeline compiles, and others as well.

    RegexFeaturizer, which is in Rasa's default pipeline, compiles all of them, RegexEntityExtractor those of annotated
    entities, unless their parameter ``kind`` says otherwise. Nothing else in Rasa looks at them.
    """
    all_names = frozenset(one.name for one in (nlu.regexes if kind == "use_regexes" else nlu.lookups))
    readers = [one for one in config.pipeline or () if one.parameters.get(kind, True)]
    classes = {known.name if (known := known_component(one)) else one.extends for one in readers}
    if config.pipeline is None or "RegexFeaturizer" in classes:
        return all_names
    annotated = {annotation.entity for example in nlu.examples for annotation in example.entities}
    return frozenset(all_names & annotated if "RegexEntityExtractor" in classes else ())


def require_known(component: Component, rasa: int = NEWEST) -> KnownComponent:
    """Return the component that this version of Rasa has by that name.

    Raises:
        UserError: it has none; the message lists similar names.
    """
    known = known_component(component)
    if known is None or known.last < rasa:
        there = [known_component.name for known_component in _KNOWN if known_component.last >= rasa]
        near = nearest(component.name, there, most=3)
        raise UserError(
            f"unknown pipeline component {component.name!r}"
            if known is None
            else f"the pipeline component {component.name!r} is gone since Rasa {known.last + 1}",
            location=component.location,
            hint=f"Did you mean {' or '.join(near)}?" if near else f"Rasa {rasa} has: {', '.join(sorted(there))}.",
        )
    return known


class Slip(NamedTuple):
    """A parameter that Rasa ignores or whose value it does not check; ``taken_as``: what it takes the value for."""

    name: str
    value: Any
    taken_as: bool | None = None
    unknown: bool = False


_NEVER_CHECKED: Final = frozenset({"max_iterations", "L1_c", "L2_c"})
"""Numbers that are handed on to a library, which takes anything."""
_SWITCH_OR_MAPPING: Final = "split_entities_by_comma"
_READS_IT: Final = frozenset({"CRFEntityExtractor", "DIETClassifier"})
_CHECKED_LATER: Final = frozenset({"max_df", "min_df"})
"""Numbers that may be a count or a share."""


def parameters_of(component: Component, known: KnownComponent) -> dict[str, Any]:
    """Return the component's parameters over Rasa's defaults, as Rasa takes them.

    Rasa ignores a parameter that it does not know, and takes any value of a switch for true or false as Python does:
    ``yes``, which is a string in YAML 1.2, is true, and so is ``no``.

    Raises:
        UserError: a value with which Rasa cannot train, or cannot answer.
    """
    parameters = dict(known.defaults)
    for name, value in component.parameters.items():
        if name == "name" or name not in parameters:
            continue
        default = known.defaults[name]
        if name == _SWITCH_OR_MAPPING and known.name in _READS_IT:
            _ensure(component, name, isinstance(value, bool | Mapping), "true, false or a mapping")
        elif isinstance(default, bool):
            value = bool(value)  # noqa: PLW2901 - as Rasa takes it
        elif isinstance(default, int | float) and name in _NEVER_CHECKED and not isinstance(value, int | float):
            continue
        elif isinstance(default, int | float) and name not in _CHECKED_LATER:
            is_unread = value is None and component_is_replaced(known)
            _ensure(component, name, isinstance(value, int | float) or is_unread, "a number")
        parameters[name] = value
    return parameters


def component_is_replaced(known: KnownComponent) -> bool:
    """Whether it is a neural network, whose parameters have no effect here."""
    return known.former is _NEURAL_FORMER


def _ensure(component: Component, name: str, good: bool, wanted: str) -> None:
    if not good:
        value = component.parameters[name]
        raise UserError(
            f"the parameter '{name}' of {component.name} must be {wanted}, not {value!r}",
            location=component.places.get(name, component.location),
        )


def parameter_names(component: Component) -> frozenset[str]:
    """Return the names of the parameters that a component or policy of Rasa 3 has."""
    return frozenset(_defaults_of(component) or ())


def _defaults_of(component: Component) -> Mapping[str, Any] | None:
    known = known_component(component)
    return known.defaults if known is not None else POLICY_PARAMETERS.get(short_name(component.name))


def slips_in(component: Component) -> Iterator[Slip]:
    """Yield the parameters of a component or policy of Rasa 3 that Rasa ignores, and the values it does not check."""
    known, defaults = known_component(component), _defaults_of(component)
    if defaults is None:
        return
    former = known.former if known is not None else _OF_ANY_POLICY
    for name, value in component.parameters.items():
        if name == "name" or name in former:
            continue
        if name not in defaults:
            yield Slip(name, value, unknown=True)
        elif isinstance(defaults[name], bool) and not isinstance(value, bool) and name != _SWITCH_OR_MAPPING:
            yield Slip(name, value, taken_as=bool(value))
        elif name in _NEVER_CHECKED and not isinstance(value, int | float):
            yield Slip(name, value)


# The policies of Rasa 3.

_OF_ANY_POLICY: Final = frozenset({"featurizer"})
_MEMOIZATION: Final[Mapping[str, Any]] = {
    "enable_feature_string_compression": True,
    "use_nlu_confidence_as_score": False,
    "priority": 3,
    "max_history": None,
}
_OF_TED: Final[Mapping[str, Any]] = {
    **{name: value for name, value in _NEURAL.items() if name not in {"share_hidden_layers", "intent_classification"}},
    "encoding_dimension": 50,
    "drop_rate_dialogue": 0.1,
    "drop_rate_label": 0.0,
    "max_history": None,
    "use_gpu": True,
    "transformer_size": {},
    "number_of_transformer_layers": {},
}
POLICY_PARAMETERS: Final[Mapping[str, Mapping[str, Any]]] = {
    "RulePolicy": {
        "priority": 4,
        "core_fallback_threshold": 0.3,
        "core_fallback_action_name": "action_default_fallback",
        "enable_fallback_prediction": True,
        "restrict_rules": True,
        "check_for_contradictions": True,
        "use_nlu_confidence_as_score": False,
        "max_history": None,
    },
    "MemoizationPolicy": _MEMOIZATION,
    "AugmentedMemoizationPolicy": _MEMOIZATION,
    "TEDPolicy": {**_OF_TED, "priority": 1, "e2e_confidence_threshold": 0.5},
    "UnexpecTEDIntentPolicy": {**_OF_TED, "priority": 2, "tolerance": 0.0, "ignore_intents_list": []},
}
"""The parameters of the policies of Rasa 3, and their defaults. ``max_history`` of RulePolicy has no effect."""
_NUMBERS_OF_POLICIES: Final = frozenset({"priority", "core_fallback_threshold", "tolerance"})
_OF_OLDER_POLICIES: Final = frozenset({"priority"})


def ensure_policy_accepted(component: Component) -> None:
    """Refuse the values with which Rasa cannot train a policy, or cannot predict.

    Raises:
        UserError: names the parameter.
    """
    name = policy_class(component)
    there = POLICY_PARAMETERS[name].keys() if name in POLICY_PARAMETERS else _OF_OLDER_POLICIES
    for number in sorted(_NUMBERS_OF_POLICIES & there):
        if number in component.parameters:
            _ensure(component, number, isinstance(component.parameters[number], int | float), "a number")
    if "max_history" in there and name != "RulePolicy":
        history = component.parameters.get("max_history")
        _ensure(component, "max_history", history is None or isinstance(history, int), "a whole number")


_DEFAULT_PIPELINE: Final[tuple[tuple[str, Mapping[str, Any]], ...]] = (
    ("WhitespaceTokenizer", {}),
    ("RegexFeaturizer", {}),
    ("LexicalSyntacticFeaturizer", {}),
    ("CountVectorsFeaturizer", {}),
    ("CountVectorsFeaturizer", {"analyzer": "char_wb", "min_ngram": 1, "max_ngram": 4}),
    ("DIETClassifier", {"epochs": 100, "constrain_similarities": True}),
    ("EntitySynonymMapper", {}),
    ("ResponseSelector", {"epochs": 100, "constrain_similarities": True}),
    ("FallbackClassifier", {"threshold": 0.3, "ambiguity_threshold": 0.1}),
)
"""What Rasa 3.6 uses if ``config.yml`` has no pipeline."""


def pipeline_of(config: Config) -> tuple[Component, ...]:
    """Return the components of the pipeline, or those of Rasa's default pipeline if there is none."""
    if config.pipeline is not None:
        return config.pipeline
    return tuple(Component(name, parameters, config.location) for name, parameters in _DEFAULT_PIPELINE)


_DEFAULT_POLICIES: Final = (
    Component("MemoizationPolicy", {}, NOWHERE),
    Component("RulePolicy", {}, NOWHERE),
    Component("UnexpecTEDIntentPolicy", {"max_history": 5, "epochs": 100}, NOWHERE),
    Component("TEDPolicy", {"max_history": 5, "epochs": 100, "constrain_similarities": True}, NOWHERE),
)
"""What Rasa's default recipe uses if ``config.yml`` names no policies."""
_OF_RASA_2: Final = tuple(one for one in _DEFAULT_POLICIES if one.name != "UnexpecTEDIntentPolicy")
"""Rasa 2's own defaults; UnexpecTEDIntentPolicy became one in Rasa 3."""
POLICIES_IN_CODE: Final = tuple(
    Component(name, {}, NOWHERE) for name in ("MemoizationPolicy", "KerasPolicy", "FormPolicy", "MappingPolicy")
)
"""What is run if a Rasa 0 project names its policies in its own training script, as most of them do."""


def configured_policies(config: Config, rasa: int = NEWEST) -> Sequence[Component]:
    """Return the policies of the configuration, or those that are run if the section is absent."""
    if config.policies is not None:
        return config.policies
    return {OLDEST: POLICIES_IN_CODE, 2: _OF_RASA_2}.get(rasa, _DEFAULT_POLICIES)


def unknown_classifier(config: Config) -> Component | None:
    """Return the last component of the project's own, if no other classifies intents and it extends none of Rasa's."""
    parents = [replace(one, name=one.extends or one.name) for one in pipeline_of(config)]
    known = filter(None, map(known_component, parents))
    if any(one.role == "classifier" and one.name != _FALLBACK for one in known):
        return None
    return next((one for one in reversed(parents) if is_custom(one)), None)


_FALLBACK: Final = "FallbackClassifier"
"""It only replaces what another one found."""
