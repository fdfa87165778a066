"""The components and policies of Rasa 3.6, what each needs before it, and those of Rasa Pro (CALM)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.model import Flow
from turncheck.project.rasa_version import OLDEST
from turncheck.yaml_tree.tree import YamlMapping

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.messages.finding import Location
    from turncheck.project.model import Component, Config, Project


TOKENIZERS: Final = frozenset({"WhitespaceTokenizer", "JiebaTokenizer", "MitieTokenizer", "SpacyTokenizer"})
SPARSE_FEATURIZERS: Final = frozenset({"LexicalSyntacticFeaturizer", "RegexFeaturizer", "CountVectorsFeaturizer"})
DENSE_FEATURIZERS: Final = frozenset(
    {"SpacyFeaturizer", "ConveRTFeaturizer", "MitieFeaturizer", "LanguageModelFeaturizer"}
)
FEATURIZERS: Final = SPARSE_FEATURIZERS | DENSE_FEATURIZERS
CLASSIFIERS: Final = frozenset(
    {
        "MitieIntentClassifier",
        "FallbackClassifier",
        "LogisticRegressionClassifier",
        "SklearnIntentClassifier",
        "DIETClassifier",
        "KeywordIntentClassifier",
        "ResponseSelector",
    }
)
LEARNING_EXTRACTORS: Final = frozenset({"DIETClassifier", "CRFEntityExtractor", "MitieEntityExtractor"})
PRETRAINED_EXTRACTORS: Final = frozenset({"DucklingEntityExtractor", "SpacyEntityExtractor"})
EXTRACTORS: Final = LEARNING_EXTRACTORS | PRETRAINED_EXTRACTORS | {"RegexEntityExtractor"}

COMPONENTS: Final = (
    TOKENIZERS
    | FEATURIZERS
    | CLASSIFIERS
    | EXTRACTORS
    | {"MitieNLP", "SpacyNLP", "EntitySynonymMapper", "RegexMessageHandler"}
)
POLICIES: Final = frozenset(
    {"MemoizationPolicy", "AugmentedMemoizationPolicy", "UnexpecTEDIntentPolicy", "TEDPolicy", "RulePolicy"}
)
DEFAULT_RECIPE: Final = "default.v1"
RECIPES: Final = frozenset({DEFAULT_RECIPE, "graph.v1"})

_TOKENIZER: Final = ("a tokenizer", TOKENIZERS)
_FEATURIZER: Final = ("a featurizer", FEATURIZERS)
_SPACY: Final = ("SpacyNLP", frozenset({"SpacyNLP"}))
_MITIE: Final = ("MitieNLP", frozenset({"MitieNLP"}))

NEEDS: Final[dict[str, tuple[tuple[str, frozenset[str]], ...]]] = {
    "MitieTokenizer": (_MITIE,),
    "SpacyTokenizer": (_SPACY,),
    "LexicalSyntacticFeaturizer": (_TOKENIZER,),
    "RegexFeaturizer": (_TOKENIZER,),
    "CountVectorsFeaturizer": (_TOKENIZER,),
    "ConveRTFeaturizer": (_TOKENIZER,),
    "LanguageModelFeaturizer": (_TOKENIZER,),
    "SpacyFeaturizer": (("SpacyTokenizer", frozenset({"SpacyTokenizer"})),),
    "MitieFeaturizer": (_MITIE, _TOKENIZER),
    "MitieIntentClassifier": (_MITIE, _FEATURIZER),
    "LogisticRegressionClassifier": (_FEATURIZER,),
    "SklearnIntentClassifier": (("a dense featurizer", DENSE_FEATURIZERS),),
    "DIETClassifier": (_FEATURIZER,),
    "ResponseSelector": (_FEATURIZER,),
    "FallbackClassifier": (("an intent classifier", CLASSIFIERS),),
    "CRFEntityExtractor": (_TOKENIZER,),
    "MitieEntityExtractor": (_MITIE, _TOKENIZER),
    "SpacyEntityExtractor": (_SPACY,),
}
"""What must precede each component, in words and by name (Rasa's ``required_components``)."""

DUCKLING_DIMENSIONS: Final = frozenset(
    {
        *("amount-of-money", "credit-card-number", "distance", "duration", "email", "number", "ordinal"),
        *("phone-number", "quantity", "temperature", "time", "time-grain", "url", "volume"),
    }
)
SPACY_DIMENSIONS: Final = frozenset(
    {
        *("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE"),
        *("DATE", "TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL", "PER", "MISC"),
    }
)


_LANGUAGES: Final = {"JiebaTokenizer": frozenset({"zh"}), "ConveRTFeaturizer": frozenset({"en"})}
"""The only languages that a component supports (Rasa's ``supported_languages``)."""
_OTHER_LANGUAGES: Final = {"WhitespaceTokenizer": frozenset({"zh", "ja", "th"})}
"""The languages that a component does not support (Rasa's ``not_supported_languages``)."""


def refused(project: Project) -> Iterator[tuple[Component, str]]:
    """Yield each component that Rasa refuses to train in this pipeline, and why: its position, or the language.

    Rasa NLU 0.x had other rules of position: a classifier read the features of any featurizer, which needed no words.
    """
    config = project.config
    pipeline = (config.pipeline or ()) if project.major > OLDEST else ()
    yield from ((component, f"needs {what} before it in the pipeline") for component, what in misplaced(pipeline))
    for component in (config.pipeline or ()) if config.language else ():
        name = short_name(component.name)
        only, never = _LANGUAGES.get(name), _OTHER_LANGUAGES.get(name, frozenset())
        if config.language in never or (only is not None and config.language not in only):
            yield component, f"does not support the language '{config.language}'"


def misplaced(pipeline: Iterable[Component]) -> Iterator[tuple[Component, str]]:
    """Yield each component that precedes something it needs, with what that is: Rasa refuses to train it.

    A custom or unknown component before it may provide that, or be meant to.
    """
    before: set[str] = set()
    for component in pipeline:
        name = short_name(component.name)
        if before <= COMPONENTS:
            yield from ((component, what) for what, names in NEEDS.get(name, ()) if not names & before)
        before.add(name)


def short_name(name: str) -> str:
    """Return the class name if the name is the module path of one of Rasa's own components, else the name itself."""
    return name.rpartition(".")[2] if name.startswith(_OWN) else name


def is_custom(name: str) -> bool:
    """Whether the name is a module path outside Rasa."""
    return "." in name and not name.startswith(_OWN)


_OWN: Final = ("rasa.", "rasa_nlu.", "rasa_core.")
"""How the module paths of Rasa's own classes begin, also before version 1."""


# Recognises a CALM project (Rasa Pro's flows and language-model commands), which Rasa's open source cannot run.

_CALM_POLICIES: Final = frozenset({"FlowPolicy", "IntentlessPolicy", "EnterpriseSearchPolicy"})
_CALM_COMPONENTS: Final = frozenset({"NLUCommandAdapter"})
_COMMAND_GENERATOR: Final = "CommandGenerator"


def calm_reason(config: Config, flows: Location | None) -> str | None:
    """Say what shows that the project is CALM, and where, else return ``None``; ``flows``: where it has any."""
    for component in config.policies or ():
        if _class_name(component) in _CALM_POLICIES:
            return f"CALM: {component.name} at {component.location}"
    for component in config.pipeline or ():
        name = _class_name(component)
        if name in _CALM_COMPONENTS or name.endswith(_COMMAND_GENERATOR):
            return f"CALM: {component.name} at {component.location}"
    return None if flows is None else f"CALM: flows at {flows}"


def read_flows(root: YamlMapping) -> tuple[tuple[Flow, ...], Location | None]:
    """Return the flows of a file, and where they are."""
    section = root.items.get("flows")
    if section is None:
        return (), None
    flows: tuple[Flow, ...] = ()
    if isinstance(section, YamlMapping):
        flows = tuple(Flow(str(name), node.data, section.key_location(name)) for name, node in section.items.items())
    return flows, root.key_location("flows")


def _class_name(component: Component) -> str:
    """Return the class name without its module, which a configuration may include."""
    return component.name.rpartition(".")[2]
