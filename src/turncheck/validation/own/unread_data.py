"""NLU data that no component of the pipeline uses: Rasa trains, with at most a warning, and nothing of it is learnt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.messages.finding import Name
from turncheck.project.config import EXTRACTORS, GRAPH_RECIPE, LEARNING_EXTRACTORS, short_name
from turncheck.project.rasa_components import is_custom, known_component, patterns_read
from turncheck.validation.checks import Fault, check
from turncheck.validation.unused import learning_extractors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.project.model import Component
    from turncheck.validation.facts import Facts


@check(
    "nlu-data-unread",
    "warning",
    title="No component of the pipeline uses a part of the NLU data",
    text="Rasa trains without it: such intents or entities are never found. Add a component, or remove the part.",
    wrong="pipeline:\n- name: WhitespaceTokenizer\n- name: ResponseSelector",
    right="pipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: DIETClassifier",
    matters_always=True,
    needs=("nlu", "config"),
    about=("section",),
)
def nlu_data_unread(facts: Facts) -> Iterator[Fault]:
    """Intents, entities, lookup tables and regexes that nothing of Rasa's learns from or looks at.

    Not known if a component of the pipeline is not Rasa's: it may. A pipeline that only tokenizes is for bots that
    are told by buttons and messages such as ``/greet``.
    """
    project, nlu = facts.project, facts.project.nlu
    config, pipeline = project.config, project.config.pipeline
    if not pipeline or project.older is not None or project.calm is not None or config.recipe == GRAPH_RECIPE:
        return
    if any(is_custom(component) or known_component(component) is None for component in pipeline):
        return
    if all(known.role == "tokenizer" for component in pipeline if (known := known_component(component))):
        return
    named = {annotation.entity for example in nlu.examples for annotation in example.entities}
    matches = any(short_name(component.name) in EXTRACTORS - LEARNING_EXTRACTORS for component in pipeline)
    place = config.keys.get("pipeline", config.location)
    for part, there, is_used, component in (
        ("intents", any(one.intent for one in nlu.examples), _classifies(pipeline), "DIETClassifier"),
        ("entities", bool(named), matches or learning_extractors(pipeline), "DIETClassifier"),
        ("lookup tables", bool(nlu.lookups), patterns_read(config, nlu, "use_lookup_tables"), "RegexFeaturizer"),
        ("regexes", bool(nlu.regexes), patterns_read(config, nlu, "use_regexes"), "RegexFeaturizer"),
    ):
        if there and not is_used:
            message = f"No component of the pipeline uses the {part} of the NLU data; {component} would."
            yield Fault(message, place, about=(Name("section", part),))


def _classifies(pipeline: Sequence[Component]) -> bool:
    """Whether a component recognises intents by itself."""
    return any(
        known.role == "classifier"
        and known.name != "FallbackClassifier"
        and (known.name not in LEARNING_EXTRACTORS or component.parameters.get("intent_classification", True))
        for component in pipeline
        if (known := known_component(component))
    )
