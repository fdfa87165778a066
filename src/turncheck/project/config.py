"""``config.yml`` → the model's ``Config``, also those of older Rasas; the components and policies that it names.

Of those of Rasa 3.6 it is known what each needs before it, and which are of Rasa Pro (CALM).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.messages.finding import Finding, Location
from turncheck.process.regular_file import is_file, open_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.project.model import Component, Config, Flow, Project, UserStep
from turncheck.project.rasa_version import OLDEST
from turncheck.report.component_names import NAMES
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from turncheck.project.project_file import ProjectFile

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
OLDER_POLICIES: Final = frozenset(
    {
        *("KerasPolicy", "EmbeddingPolicy", "SklearnPolicy"),
        *("MappingPolicy", "FormPolicy", "FallbackPolicy", "TwoStageFallbackPolicy"),
    }
)
"""The policies that Rasa 3 no longer has."""
DEFAULT_RECIPE: Final = "default.v1"
GRAPH_RECIPE: Final = "graph.v1"
RECIPES: Final = frozenset({DEFAULT_RECIPE, GRAPH_RECIPE})

_TOKENIZER: Final = ("a tokenizer", TOKENIZERS)
_FEATURIZER: Final = ("a featurizer", FEATURIZERS)
_NEEDS_SPACY: Final = ("SpacyNLP", frozenset({"SpacyNLP"}))
_NEEDS_MITIE: Final = ("MitieNLP", frozenset({"MitieNLP"}))

Needs = dict[str, tuple[tuple[str, frozenset[str]], ...]]

NEEDS: Final[Needs] = {
    "MitieTokenizer": (_NEEDS_MITIE,),
    "SpacyTokenizer": (_NEEDS_SPACY,),
    "LexicalSyntacticFeaturizer": (_TOKENIZER,),
    "RegexFeaturizer": (_TOKENIZER,),
    "CountVectorsFeaturizer": (_TOKENIZER,),
    "ConveRTFeaturizer": (_TOKENIZER,),
    "LanguageModelFeaturizer": (_TOKENIZER,),
    "SpacyFeaturizer": (("SpacyTokenizer", frozenset({"SpacyTokenizer"})),),
    "MitieFeaturizer": (_NEEDS_MITIE, _TOKENIZER),
    "MitieIntentClassifier": (_NEEDS_MITIE, _FEATURIZER),
    "LogisticRegressionClassifier": (_FEATURIZER,),
    "SklearnIntentClassifier": (("a dense featurizer", DENSE_FEATURIZERS),),
    "DIETClassifier": (_FEATURIZER,),
    "ResponseSelector": (_FEATURIZER,),
    "FallbackClassifier": (("an intent classifier", CLASSIFIERS),),
    "CRFEntityExtractor": (_TOKENIZER,),
    "MitieEntityExtractor": (_NEEDS_MITIE, _TOKENIZER),
    "SpacyEntityExtractor": (_NEEDS_SPACY,),
}
"""What must precede each component, in words and by name (Rasa's ``required_components``)."""
_NEEDS_OF_RASA_1: Final[Needs] = {**NEEDS, "SklearnIntentClassifier": (_FEATURIZER,)}
"""The first of Rasa 1.x did not distinguish sparse from dense features."""

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


def is_trained(project: Project, what: Literal["pipeline", "policies"]) -> bool:
    """Whether Rasa reads the pipeline or the policies: not the former without NLU data, nor the latter without stories.

    If there is neither, or some of it cannot be read, both count as read.
    """
    nlu, blocks = project.nlu, (*project.stories, *project.rules)
    has_nlu = bool(nlu.examples or nlu.synonyms or nlu.regexes or nlu.lookups) or "nlu" in project.unreadable
    has_stories = bool(blocks) or "stories" in project.unreadable
    if what == "policies":
        return has_stories or not has_nlu
    has_texts = any(isinstance(step, UserStep) and step.text for block in blocks for step in block.steps)
    return has_nlu or has_texts or not has_stories


def refused(project: Project) -> Iterator[tuple[Component, str]]:
    """Yield each component that Rasa refuses to train in this pipeline, and why: its position, or the language.

    Rasa NLU 0.x had other rules of position: a classifier read the features of any featurizer, which needed no words.
    """
    if not is_trained(project, "pipeline"):
        return
    config = project.config
    pipeline = (config.pipeline or ()) if project.major > OLDEST else ()
    needs = NEEDS if project.major > 1 else _NEEDS_OF_RASA_1
    yield from (
        (component, f"needs {what} before it in the pipeline") for component, what in misplaced(pipeline, needs)
    )
    for component in (config.pipeline or ()) if config.language else ():
        name = short_name(component.name)
        only, never = _LANGUAGES.get(name), _OTHER_LANGUAGES.get(name, frozenset())
        if config.language in never or (only is not None and config.language not in only):
            yield component, f"does not support the language '{config.language}'"


def misplaced(pipeline: Iterable[Component], needs: Needs = NEEDS) -> Iterator[tuple[Component, str]]:
    """Yield each component that precedes something it needs, with what that is: Rasa refuses to train it.

    A custom or unknown component before it may provide that, or be meant to.
    """
    before: set[str] = set()
    for component in pipeline:
        name = short_name(component.name)
        if before <= COMPONENTS:
            yield from ((component, what) for what, names in needs.get(name, ()) if not names & before)
        before.add(name)


def short_name(name: str) -> str:
    """Return the class name if the name is the module path of one of Rasa's own components, else the name itself."""
    return name.rpartition(".")[2] if name.startswith(_OWN) else name


def policy_class(component: Component) -> str:
    """Return the class of Rasa that is configured, or that the configured class of the project extends.

    The full name of a class of the project of which nothing is known is that class's own.
    """
    return component.extends or short_name(component.name)


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


def is_of_flows(component: Component) -> bool:
    """Whether a component or policy only serves flows: it makes commands of messages, or decides who gets them."""
    name = _class_name(component)
    return name in _CALM_COMPONENTS | _CALM_POLICIES or name.endswith((_COMMAND_GENERATOR, "BasedRouter"))


NOT_RUN_FOR_FLOWS: Final = "it is for flows, which are not run here"
"""Why such a component is left out."""


def understands_intents(project: Project) -> bool:
    """Whether a CALM project also has sentences, and a component of Rasa's own that learns intents from them."""
    learning = any(
        _class_name(component).endswith("Classifier") and _class_name(component) != "FallbackClassifier"
        for component in project.config.pipeline or ()
    )
    return learning and any(example.intent and example.text for example in project.nlu.examples)


def has_policies_beside_flows(project: Project) -> bool:
    """Whether a CALM project also has policies of Rasa's open source, and stories or rules for them.

    A configuration without policies has Rasa's usual ones, which run flows no more than a pipeline without commands.
    """
    config = project.config
    others = any(_class_name(one) not in _CALM_POLICIES for one in config.policies or ())
    usual = not config.policies and bool(config.pipeline) and not any(map(is_of_flows, config.pipeline or ()))
    return (others or usual) and bool(project.stories or project.rules)


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


_HINT: Final = "See Rasa's documentation of the model configuration."


def config_from_file(file: ProjectFile, *, major: int = 3) -> tuple[Config, tuple[Finding, ...]]:
    """Read the model configuration; ``importers:`` is reported as ignored (``importers-ignored``).

    ``major``: the version of Rasa that it is written for.
    """
    document = file.document
    if document is None or document.root is None:
        return Config(), ()
    findings: list[Finding] = []
    root = document.root
    if not isinstance(root, YamlMapping):
        findings.append(_schema(root, "the configuration must be a mapping"))
        return Config(location=root.location), tuple(findings)
    importers = _components(findings, root, "importers") or ()
    others = [importer.name for importer in importers if importer.name.rpartition(".")[2] != "RasaFileImporter"]
    if others:
        names = ", ".join(others)
        message = (
            f"The importers of the configuration ({names}) are ignored; the files are read as Rasa's own importer does."
        )
        findings.append(Finding("importers-ignored", "info", message, root.key_location("importers")))
    config = Config(
        language=_text(findings, root, "language"),
        recipe=_text(findings, root, "recipe"),
        assistant_id=_text(findings, root, "assistant_id"),
        pipeline=_components(findings, root, "pipeline") if major >= 3 else _older_pipeline(findings, root, major),
        policies=_components(findings, root, "policies"),
        importers=importers,
        keys={str(key): root.key_location(key) for key in root.keys},
        location=root.location,
    )
    return config, tuple(findings)


IMPORTERS: Final = frozenset({"RasaFileImporter", "MultiProjectImporter"})
"""Rasa's own, which read files."""


def own_importer(config: Config) -> Component | None:
    """Return the first importer that is a class of the project, which may provide anything; ``None``: there is none."""
    return next((one for one in config.importers if one.name.rpartition(".")[2] not in IMPORTERS), None)


def smallest_max_history(config: Config) -> int | None:
    """The smallest ``max_history`` of the configured policies, which forgets first; ``None`` if no policy has one."""
    return min(filter(None, (max_history_of(policy.parameters) for policy in config.policies or ())), default=None)


_HISTORY_BY_DEFAULT: Final = {
    **dict.fromkeys(("MemoizationPolicy", "AugmentedMemoizationPolicy", "KerasPolicy", "SklearnPolicy"), 5),
    "FormPolicy": 2,
    **dict.fromkeys(("MappingPolicy", "FallbackPolicy", "TwoStageFallbackPolicy"), 0),
}
"""How many states the policies of Rasa 0 and 1 look back at by default; 0: they do not learn from stories."""


def states_looked_back_at(config: Config, major: int) -> int:
    """How many states the policies of Rasa 0 to 2 look back at, all of them; 0: one of them at the whole dialogue.

    Their training data is loaded by that (``unique_last_num_states``); Rasa 3 always loads whole dialogues.
    """
    if major > 2 or not config.policies:
        return 0
    longest = 0
    for policy in config.policies:
        name = policy_class(policy)
        states = max_history_of(policy.parameters)
        if states is None:
            by_default = _HISTORY_BY_DEFAULT.get(name)
            if by_default is None or (by_default and name != "FormPolicy" and major == 2):
                return 0
            states = by_default
        longest = max(longest, states)
    return longest


def max_history_of(parameters: Mapping[str, Any]) -> int | None:
    """How many states a policy looks back at, ``None`` if it does not say.

    As in Rasa, the key of its first featurizer has priority over its own, and a featurizer of full dialogues has none.
    """
    value = parameters.get("max_history")
    featurizers = parameters.get("featurizer")
    first = featurizers[0] if isinstance(featurizers, list) and featurizers else None
    if isinstance(first, dict):
        if str(first.get("name")).endswith("FullDialogueTrackerFeaturizer"):
            return None
        value = first.get("max_history", value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _older_pipeline(findings: list[Finding], root: YamlMapping, major: int) -> tuple[Component, ...] | None:
    """Return the components of an older pipeline, which may be a template's name, under their current names."""
    pipeline = _current_pipeline(findings, root)
    if pipeline is None or major > OLDEST:
        return pipeline
    return tuple(_with_keys_of_rasa_0(component, root) for component in pipeline)


def _with_keys_of_rasa_0(component: Component, root: YamlMapping) -> Component:
    """Return a component with the parameters that Rasa NLU 0.x had beside the pipeline; its own count more."""
    given = {
        parameter: node
        for key, (name, parameter) in _KEYS_OF_RASA_0.items()
        if name == component.name and (node := root.items.get(key)) is not None and not _is_nothing(node)
    }
    return replace(
        component,
        parameters={**{parameter: node.data for parameter, node in given.items()}, **component.parameters},
        places={**{parameter: node.location for parameter, node in given.items()}, **component.places},
    )


_KEYS_OF_RASA_0: Final[Mapping[str, tuple[str, str]]] = {
    "duckling_dimensions": ("DucklingEntityExtractor", "dimensions"),
    "duckling_http_url": ("DucklingEntityExtractor", "url"),
    "max_number_of_ngrams": ("NGramFeaturizer", "max_number_of_ngrams"),
    "mitie_file": ("MitieNLP", "model"),
    "spacy_model_name": ("SpacyNLP", "model"),
}
"""Parameters of components that Rasa NLU 0.x had as keys of its configuration."""


def _current_pipeline(findings: list[Finding], root: YamlMapping) -> tuple[Component, ...] | None:
    section = root.items.get("pipeline")
    if isinstance(section, YamlScalar) and isinstance(section.value, str):
        found = pipeline_of(section.value, section.location)
        if found is not None:
            return found
    components = _components(findings, root, "pipeline", take_names=True)
    return None if components is None else tuple(map(current, components))


def _components(
    findings: list[Finding], root: YamlMapping, key: str, *, take_names: bool = False
) -> tuple[Component, ...] | None:
    """Return the components of a section, ``None`` if it is absent or empty (``pipeline:`` without a value).

    ``take_names``: an entry may be only a name, as in Rasa NLU 0.11.
    """
    section = root.items.get(key)
    if section is None or _is_nothing(section):
        return None
    if not isinstance(section, YamlSequence):
        findings.append(_schema(section, f"'{key}' must be a list of components"))
        return None
    components = []
    for node in section.items:
        data: dict[Any, Any] = node.data if isinstance(node, YamlMapping) else {}
        values = node.items if isinstance(node, YamlMapping) else {}
        name = data.pop("name", None)
        if take_names and isinstance(node, YamlScalar):
            name = node.value
        if isinstance(name, str):
            parameters = {str(parameter): value for parameter, value in data.items()}
            places = {str(key): value.location for key, value in values.items()}
            components.append(Component(name, parameters, node.location, places))
        else:
            findings.append(_schema(node, f"an entry of '{key}' must be a mapping with the key 'name'"))
    return tuple(components)


def _text(findings: list[Finding], root: YamlMapping, key: str) -> str | None:
    node = root.items.get(key)
    if node is None or _is_nothing(node):
        return None
    if isinstance(node, YamlScalar) and isinstance(node.value, str):
        return node.value
    findings.append(_schema(node, f"'{key}' must be a string"))
    return None


def _is_nothing(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None


def _schema(node: YamlNode, what: str) -> Finding:
    return Finding("schema-violation", "error", f"In '{node.source.path}' {what}.", node.location, _HINT)


# Configurations of Rasa 0.x and 1.x: pipeline templates, and components with older names.

Written = tuple[str, "Mapping[str, Any]"]

_EMBEDDINGS: Final[tuple[Written, ...]] = (
    ("WhitespaceTokenizer", {}),
    ("RegexFeaturizer", {}),
    ("CRFEntityExtractor", {}),
    ("EntitySynonymMapper", {}),
    ("CountVectorsFeaturizer", {}),
    ("CountVectorsFeaturizer", {"analyzer": "char_wb", "min_ngram": 1, "max_ngram": 4}),
    ("EmbeddingIntentClassifier", {}),
)
_SPACY: Final[tuple[Written, ...]] = (
    ("SpacyNLP", {}),
    ("SpacyTokenizer", {}),
    ("SpacyFeaturizer", {}),
    ("RegexFeaturizer", {}),
    ("CRFEntityExtractor", {}),
    ("EntitySynonymMapper", {}),
    ("SklearnIntentClassifier", {}),
)
_MITIE: Final[tuple[Written, ...]] = (
    ("MitieNLP", {}),
    ("MitieTokenizer", {}),
    ("MitieEntityExtractor", {}),
    ("EntitySynonymMapper", {}),
    ("RegexFeaturizer", {}),
)
_CONVERT: Final[tuple[Written, ...]] = (
    ("ConveRTTokenizer", {}),
    ("ConveRTFeaturizer", {}),
    ("EmbeddingIntentClassifier", {}),
)
TEMPLATES: Final[Mapping[str, tuple[Written, ...]]] = {
    "supervised_embeddings": _EMBEDDINGS,
    "tensorflow_embedding": _EMBEDDINGS,
    "pretrained_embeddings_spacy": _SPACY,
    "spacy_sklearn": _SPACY,
    "pretrained_embeddings_convert": _CONVERT,
    "mitie": (*_MITIE, ("MitieIntentClassifier", {})),
    "mitie_sklearn": (*_MITIE, ("MitieFeaturizer", {}), ("SklearnIntentClassifier", {})),
    "keyword": (("KeywordIntentClassifier", {}),),
}
"""The pipeline templates of Rasa up to 1.x, by name."""

GONE: Final = frozenset({"ConveRTTokenizer", "HFTransformersNLP", "LanguageModelTokenizer", "NGramFeaturizer"})
"""Components that no longer exist in Rasa 3, under any name."""

_EMBEDDING: Final = "EmbeddingIntentClassifier"


def pipeline_of(template: str, location: Location) -> tuple[Component, ...] | None:
    """Return the components of a pipeline template, ``None`` if there is no such template."""
    written = TEMPLATES.get(template)
    if written is None:
        return None
    return tuple(current(Component(name, parameters, location)) for name, parameters in written)


def current(component: Component) -> Component:
    """Return a pipeline component with its current name and parameters.

    The module path of one of Rasa's own classes, which many have left since, names that class.
    """
    written = short_name(component.name)
    name = NAMES.get(written, written)
    parameters = component.parameters
    if name == _EMBEDDING:
        name, parameters = "DIETClassifier", {**parameters, "entity_recognition": False}
    return replace(component, name=name, parameters=parameters, older_name="" if written == name else written)


SECTIONS: Final = ("pipeline", "policies")
_USUAL: Final = ("nlu_config.yml", "config.json", "policies.yml", "core_config.yml")
_OTHERS: Final = ("domain", "endpoints", "credentials", "docker", "turncheck")
_SUFFIXES: Final = frozenset({".yml", ".yaml", ".json"})
_MOST: Final = 100_000


def files_apart(root: Path, sections: tuple[str, ...] = SECTIONS) -> list[Path]:
    """Return the files of a Rasa 0 project that hold these sections: any file name could be passed to Rasa then.

    If several files hold a section, the one with the usual name counts, else the first.
    """
    paths = sorted(
        path
        for path in root.glob("*")
        if path.suffix in _SUFFIXES and not path.name.startswith(_OTHERS) and is_file(path)
    )
    paths.sort(key=lambda path: _USUAL.index(path.name) if path.name in _USUAL else len(_USUAL))
    chosen = []
    for section in sections:
        key = re.compile(rf"""^[ \t]*(?:[{{][ \t]*)?["']?{section}["']?[ \t]*:""", re.MULTILINE)
        with_section = (path for path in paths if key.search(_beginning(path)))
        chosen += [path for path in [next(with_section, None)] if path is not None and path not in chosen]
    return chosen


def _beginning(path: Path) -> str:
    try:
        with open_regular(path, most=MAX_FILE_BYTES, inside=path.parent) as file:
            return file.read(_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
