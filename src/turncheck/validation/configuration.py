"""The configuration: keys, recipe, the names and the order of pipeline and policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding, Name
from turncheck.messages.phrasing import suggestion
from turncheck.project.config import (
    COMPONENTS,
    GONE,
    GRAPH_RECIPE,
    POLICIES,
    RECIPES,
    is_custom,
    is_trained,
    refused,
    short_name,
)
from turncheck.project.rasa_components import Slip, parameter_names, slips_in
from turncheck.validation.checks import info_check, own_check, warning_check
from turncheck.validation.facts import UTTER
from turncheck.validation.findings import found
from turncheck.validation.places import Places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.model import Component
    from turncheck.validation.facts import Facts


CHECKS: Final = (
    warning_check(
        "config-key-missing",
        "config",
        "The configuration lacks a mandatory key",
        "`language` and `assistant_id` are mandatory since Rasa 3.5.",
        about=("key",),
    ),
    info_check(
        "assistant-id-placeholder",
        "config",
        "`assistant_id` still has the placeholder",
        "Give your assistant an identifier of its own.",
        about=("place",),
    ),
    own_check(
        "component-unknown",
        "error",
        "The pipeline names an unknown component",
        "Training ends with an error. Correct the name; a component of your own is named by its module path.",
        "pipeline:\n- name: WhitespaceTokeniser",
        "pipeline:\n- name: WhitespaceTokenizer",
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "policy-unknown",
        "error",
        "The configuration names an unknown policy",
        "Training ends with an error. Correct the name; a policy of your own is named by its module path.",
        "policies:\n- name: MemoizationPolice",
        "policies:\n- name: MemoizationPolicy",
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "parameter-unknown",
        "warning",
        "A component or policy has a parameter that Rasa does not know",
        "Rasa ignores it without a word, and uses the default of the parameter that was meant. Correct the name, or"
        " remove it.",
        "- name: FallbackClassifier\n  confidence_threshold: 0.5",
        "- name: FallbackClassifier\n  threshold: 0.5",
        matters_always=True,
        about=("component", "parameter"),
    ),
    own_check(
        "parameter-not-checked",
        "warning",
        "A parameter has a value of another type, which Rasa does not check",
        "Rasa takes whatever is not empty, zero or `false` for true. In YAML 1.2, which Rasa reads, `yes`, `no`, `on`"
        " and `off` are strings, so that `no` is true as well. Write `true` or `false`.",
        "- name: DIETClassifier\n  constrain_similarities: yes",
        "- name: DIETClassifier\n  constrain_similarities: true",
        matters_always=True,
        about=("component", "parameter"),
    ),
    own_check(
        "component-order",
        "error",
        "A component of the pipeline is placed before what it needs, or does not support the language",
        "Featurizers need a tokenizer before them, classifiers and extractors that learn need features, a fallback"
        " needs a classifier; JiebaTokenizer is only for `zh`, WhitespaceTokenizer not for `zh`, `ja` and `th`. Rasa"
        " refuses to train.",
        "pipeline:\n- name: CountVectorsFeaturizer\n- name: WhitespaceTokenizer",
        "pipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer",
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "recipe-unknown",
        "warning",
        "The configuration names an unknown recipe",
        "Training ends with an error. Rasa 3 has `default.v1` and `graph.v1`.",
        "recipe: defualt.v1",
        "recipe: default.v1",
        matters_always=True,
        about=("place",),
    ),
    own_check(
        "selector-intent-undefined",
        "warning",
        "A ResponseSelector is for a retrieval intent that has no examples",
        "It learns nothing and never answers. Write examples such as `- intent: faq/hours`, or correct the name.",
        "- name: ResponseSelector\n  retrieval_intent: fag",
        "- name: ResponseSelector\n  retrieval_intent: faq",
        matters_always=True,
        needs=("nlu",),
        about=("intent",),
    ),
    own_check(
        "selector-missing",
        "warning",
        "No ResponseSelector chooses a response for a retrieval intent",
        "Add a ResponseSelector for it to the pipeline, or one without `retrieval_intent`, which is for all.",
        "- name: ResponseSelector\n  retrieval_intent: chitchat",
        "- name: ResponseSelector",
        matters_always=True,
        needs=("nlu",),
        about=("intent",),
    ),
    own_check(
        "rasa-versions-mixed",
        "warning",
        "The project mixes versions of Rasa",
        "Some of its files are written for one version of Rasa, others for another. The newest of these versions"
        " counts; it skips or refuses what only an older one reads. Convert the named parts, or remove them.",
        'version: "3.1"\ntemplates:\n  utter_more:\n  - text: More?',
        'version: "3.1"\nresponses:\n  utter_more:\n  - text: More?',
        about=("version",),
    ),
)


_MANDATORY = ("language", "assistant_id")
_PLACEHOLDER = "placeholder_default"


def check_mandatory_keys(facts: Facts) -> Iterator[Finding]:
    """Rasa's own check: keys that must be there (whatever their value), and the placeholder."""
    config = facts.project.config
    is_empty = any(file.role == "config" and file.is_empty for file in facts.project.files)
    if "config" in facts.missing and not is_empty:
        return
    for key in _MANDATORY:
        if key not in config.keys:
            message = f"The configuration lacks the key '{key}'."
            yield found("config-key-missing", message, config.location, about=(Name("key", key),))
    if config.assistant_id == _PLACEHOLDER:
        yield found(
            "assistant-id-placeholder",
            "The configuration has the placeholder as 'assistant_id'.",
            config.keys.get("assistant_id", config.location),
        )


def check_names(facts: Facts) -> Iterator[Finding]:
    """Unknown components, policies and recipes. In a CALM project those of Rasa Pro are accepted."""
    if "config" in facts.missing:
        return
    config, calm = facts.project.config, facts.project.calm is not None
    recipe = config.recipe
    if recipe is not None and recipe not in RECIPES:
        yield found(
            "recipe-unknown",
            f"The recipe '{recipe}' is not known.",
            config.keys.get("recipe", config.location),
            suggestion(recipe, RECIPES),
        )
    if calm or recipe == GRAPH_RECIPE:
        return
    pipeline = config.pipeline if is_trained(facts.project, "pipeline") else ()
    policies = config.policies if is_trained(facts.project, "policies") else ()
    for code, what, listed, known in (
        ("component-unknown", "pipeline component", pipeline, _components(facts)),
        ("policy-unknown", "policy", policies, POLICIES),
    ):
        for component in listed or ():
            name = short_name(component.name)
            if name not in known and not is_custom(name):
                message = f"The {what} '{component.written}' is not known."
                yield found(code, message, component.location, _near(name, known))


def _components(facts: Facts) -> frozenset[str]:
    if facts.project.older is None:
        return COMPONENTS

    return COMPONENTS | GONE


def _near(name: str, known: frozenset[str]) -> str:
    """Suggest a similar name, else those that begin with a short form (``DIET``, ``Memoization``)."""
    short = name.casefold().removesuffix("s")
    begun = sorted(other for other in known if len(short) >= _SHORTEST and other.casefold().startswith(short))
    near = suggestion(name, known)
    return near if near or not begun else f"Did you mean {' or '.join(repr(other) for other in begun)}?"


_SHORTEST = 4
"""The least number of characters of a short form."""


def check_order(facts: Facts) -> Iterator[Finding]:
    """Components that Rasa refuses: placed before what they need, or for another language."""
    if "config" not in facts.missing:
        for component, why in refused(facts.project):
            yield found("component-order", f"The component '{component.written}' {why}.", component.location)


def check_parameters(facts: Facts) -> Iterator[Finding]:
    """Parameters that Rasa ignores, and values that it does not check: it trains, but not as was meant.

    An older version had other parameters: there only a name that is close to one of today's is a slip.
    """
    config = facts.project.config
    if "config" in facts.missing or facts.project.calm is not None or config.recipe == GRAPH_RECIPE:
        return
    is_older = facts.project.older is not None
    for component in (*(config.pipeline or ()), *(() if is_older else config.policies or ())):
        for slip in slips_in(component):
            yield from _slip(component, slip, is_older=is_older)


def _slip(component: Component, slip: Slip, *, is_older: bool) -> Iterator[Finding]:
    location = component.places.get(slip.name, component.location)
    name = short_name(component.name)
    names = (Name("component", name), Name("parameter", slip.name))
    if slip.unknown:
        near = suggestion(slip.name, parameter_names(component))
        if near or not is_older:
            message = f"{name} has no parameter '{slip.name}': Rasa ignores it."
            yield found("parameter-unknown", message, location, near, subject=f"{name} {slip.name}", names=names)
        return
    taken = "" if slip.taken_as is None else f", and takes it as {str(slip.taken_as).lower()}"
    wanted = "a number" if slip.taken_as is None else "true or false"
    shown = "nothing" if slip.value is None else f"'{str(slip.value)[:40]}'"
    message = f"The parameter '{slip.name}' of {name} should be {wanted}, not {shown}: Rasa does not check it{taken}."
    yield found("parameter-not-checked", message, location, subject=f"{name} {slip.name}", names=names)


def check_selectors(facts: Facts) -> Iterator[Finding]:
    """Response selectors for a retrieval intent that has no examples."""
    project, known = facts.project, facts.retrieval_intents
    places = Places(project)
    for number, component in enumerate(project.config.pipeline or ()):
        name = component.parameters.get("retrieval_intent")
        if short_name(component.name) == "ResponseSelector" and isinstance(name, str) and name not in known:
            yield found(
                "selector-intent-undefined",
                f"The ResponseSelector is for the retrieval intent '{name}', which has no examples.",
                places.of_entry(name, component.location, "pipeline", number, "retrieval_intent"),
                suggestion(name, known),
                names=(Name("intent", name),),
            )


def check_selected(facts: Facts) -> Iterator[Finding]:
    """Retrieval intents whose responses no response selector of the pipeline chooses: Rasa says nothing then.

    Not known if the pipeline has components that are not Rasa's: one may choose them.
    """
    pipeline = facts.project.config.pipeline
    if not pipeline or facts.project.older is not None or any(is_custom(component.name) for component in pipeline):
        return
    selectors = [component for component in pipeline if short_name(component.name) == "ResponseSelector"]
    chosen = {component.parameters.get("retrieval_intent") for component in selectors}
    for name, location in facts.retrieval_intents.items():
        if not chosen & {None, name} and any(
            one.startswith(f"{UTTER}{name}/") for one in facts.project.domain.responses
        ):
            yield found(
                "selector-missing",
                f"No ResponseSelector chooses a response for '{name}': the action '{UTTER}{name}' says nothing.",
                location,
                names=(Name("intent", name),),
            )


def check_token_patterns(facts: Facts) -> Iterator[Finding]:
    """Patterns of tokenizers and featurizers: those that do not compile, and those that can take exponential time."""
    if "config" in facts.missing:
        return
    project = facts.project
    places = Places(project)
    for number, component in enumerate(project.config.pipeline or ()):
        pattern = component.parameters.get("token_pattern")
        if isinstance(pattern, str):
            from turncheck.validation.regexes import check_pattern

            location = places.of_entry(pattern, component.location, "pipeline", number, "token_pattern")
            yield from check_pattern(pattern, f"the component '{component.written}'", location)


# The generation of Rasa that a project is for: an older one explains most of the other findings.


def check_generation(facts: Facts) -> Iterator[Finding]:
    """What shows that a project is for Rasa 0.x, 1.x or 2.x, and which parts are for another version."""
    rasa = facts.project.rasa
    if rasa is None:
        return
    if rasa.others:
        locations = [sign.location for sign in (*rasa.others, *rasa.signs[:1])]
        about = (Name("version", rasa.name),)
        yield found(
            "rasa-versions-mixed", rasa.mixture, locations[0], others=locations[1:], subject=rasa.name, about=about
        )
