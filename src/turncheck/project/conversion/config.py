"""Configurations of Rasa 0.x, 1.x and 2.x → that of Rasa 3, and the rules for messages that are not understood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.project.conversion.result import document
from turncheck.project.conversion.yaml_comments import with_yaml_comments
from turncheck.project.older_config import GONE, NAMES

if TYPE_CHECKING:
    from turncheck.project.conversion.result import Converted
    from turncheck.project.model import Component, Config
    from turncheck.project.project_file import ProjectFile

RULES_OF_FALLBACK: Final = "rules_for_fallback.yml"
_MEMOIZATIONS: Final = frozenset({"MemoizationPolicy", "AugmentedMemoizationPolicy"})
_LEARNED: Final = frozenset({"KerasPolicy", "EmbeddingPolicy", "SklearnPolicy", "TEDPolicy"})
_RULED: Final = frozenset({"MappingPolicy", "FormPolicy", "FallbackPolicy", "TwoStageFallbackPolicy", "RulePolicy"})
_TWO_STAGE: Final = "TwoStageFallbackPolicy"
_FALLBACKS: Final = frozenset({"FallbackPolicy", _TWO_STAGE})
_NOW: Final = {
    **NAMES,
    **dict.fromkeys(_LEARNED, "TEDPolicy"),
    **dict.fromkeys(_RULED, "RulePolicy"),
    **dict.fromkeys(("EmbeddingIntentClassifier", "intent_classifier_tensorflow_embedding"), "DIETClassifier"),
}
_KEYWORDS: Final = "KeywordIntentClassifier"
_DEFAULT_ACTION: Final = "action_default_fallback"
_HISTORY: Final = 5
"""The default ``max_history`` of memoization until Rasa 2; since then the default is unlimited."""


def convert_config(file: ProjectFile, config: Config, converted: Converted, *, major: int, assistant: str) -> None:
    """Convert a configuration that was read by the rules of its version."""
    content: dict[str, Any] = {"recipe": "default.v1", "assistant_id": config.assistant_id or assistant}
    if config.language:
        content["language"] = config.language
    pipeline = [_component(one, converted) for one in config.pipeline or ()]
    for one in config.pipeline or ():
        if major == 0 and one.name == _KEYWORDS:
            what = f"'{_KEYWORDS}' had words of its own for 'greet' and 'goodbye', and takes the examples since Rasa 1."
            converted.note(what, one.location, "Compare what is understood, or take another classifier.")
    policies: list[dict[str, Any]] = []
    rule_policy: dict[str, Any] = {}
    fallback: Component | None = None
    for policy in config.policies or ():
        name = policy.name.rpartition(".")[2]
        parameters = dict(policy.parameters)
        if name in _MEMOIZATIONS:
            policies.append({"name": name, "max_history": _HISTORY, **parameters})
        elif name in _LEARNED:
            policies.append(_learned(policy, name, parameters, converted))
        elif name in _RULED:
            fallback = policy if name in _FALLBACKS else fallback
            rule_policy |= parameters if name == "RulePolicy" else {}
        else:
            policies.append({"name": policy.name, **parameters})
            converted.note(f"The policy '{policy.name}' is one of your own.", policy.location, "Port it to Rasa 3.")
    if any(one.name.rpartition(".")[2] in _RULED for one in config.policies or ()):
        had_rules = bool(rule_policy) or any(one.name.endswith("RulePolicy") for one in config.policies or ())
        fallbacks = {} if had_rules and fallback is None else _core_fallback(fallback)
        policies.append({"name": "RulePolicy", **rule_policy, **fallbacks})
    if fallback is not None:
        pipeline.append(_fallback_classifier(fallback))
        rules = [_fallback_rule(fallback, converted)]
        converted.files[RULES_OF_FALLBACK] = document({"version": "3.1", "rules": rules})
    content |= {key: value for key, value in (("pipeline", pipeline), ("policies", policies)) if value}
    written = file.source.file_text if file.source is not None else ""
    converted.files["config.yml"] = with_yaml_comments(document(content), written, _renamed)


def _renamed(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_NOW.get(name, name) for name in path)


def _component(component: Component, converted: Converted) -> dict[str, Any]:
    if component.name in GONE:
        what = f"The component '{component.name}' is gone in Rasa 3."
        converted.note(what, component.location, "Replace it, for example by LanguageModelFeaturizer.")
    return {"name": component.name, **component.parameters}


def _learned(policy: Component, name: str, parameters: dict[str, Any], converted: Converted) -> dict[str, Any]:
    if name == "TEDPolicy":
        return {"name": name, **parameters}
    what = f"'{name}' becomes TEDPolicy, which learns differently: its predictions are not the same."
    converted.note(what, policy.location, "Compare the test stories of both.")
    return {"name": "TEDPolicy", **{key: parameters[key] for key in ("max_history", "epochs") if key in parameters}}


def _core_fallback(fallback: Component | None) -> dict[str, Any]:
    if fallback is None:
        return {"enable_fallback_prediction": False}  # there was no fallback, so there must not be one now
    key = "fallback_core_action_name" if fallback.name.endswith(_TWO_STAGE) else "fallback_action_name"
    return {
        "core_fallback_threshold": fallback.parameters.get("core_threshold", 0.3),
        "core_fallback_action_name": fallback.parameters.get(key, _DEFAULT_ACTION),
        "enable_fallback_prediction": True,
    }


def _fallback_classifier(fallback: Component) -> dict[str, Any]:
    return {
        "name": "FallbackClassifier",
        "threshold": fallback.parameters.get("nlu_threshold", 0.3),
        "ambiguity_threshold": fallback.parameters.get("ambiguity_threshold", 0.1),
    }


def _fallback_rule(fallback: Component, converted: Converted) -> dict[str, Any]:
    if not fallback.name.endswith(_TWO_STAGE):
        action = fallback.parameters.get("fallback_action_name", _DEFAULT_ACTION)
        return {"rule": "What was not understood", "steps": [{"intent": "nlu_fallback"}, {"action": action}]}
    last = fallback.parameters.get("fallback_nlu_action_name", _DEFAULT_ACTION)
    if last != _DEFAULT_ACTION:
        what = f"The action '{last}' after both stages is '{_DEFAULT_ACTION}' in Rasa 3."
        converted.note(what, fallback.location, f"Write a custom action '{_DEFAULT_ACTION}' that does the same.")
    deny = fallback.parameters.get("deny_suggestion_intent_name", "out_of_scope")
    if deny != "out_of_scope":
        what = f"The intent '{deny}' that denies a suggestion is called 'out_of_scope' in Rasa 3."
        converted.note(what, fallback.location, "Rename the intent.")
    steps = [
        {"intent": "nlu_fallback"},
        {"action": "action_two_stage_fallback"},
        {"active_loop": "action_two_stage_fallback"},
    ]
    return {"rule": "What was not understood, in two stages", "steps": steps}
