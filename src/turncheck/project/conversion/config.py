"""Configurations and domains of Rasa 0.x to 2.x → those of Rasa 3, with their comments."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from turncheck.project.config import GONE
from turncheck.project.conversion.core import Converted, document, new_action, new_response, with_edits
from turncheck.report.component_names import NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from turncheck.project.model import Component, Config, Domain, Form, Intent, Slot, SlotMapping
    from turncheck.project.project_file import ProjectFile


# Carries the comments of a domain or configuration over to the converted YAML.
#
# A comment is put above what it was above or beside, which is found by the names of the keys and entries around it; if
# that is gone, above what was around it, else at the top of the file.

_BLOCK: Final = re.compile(r"(?:^|[\s:-])[|>][+-]?[0-9]?[+-]?$")
_QUOTED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"\\]|\\.)*\"")
_NAME: Final = re.compile(r"name\s*:\s*(?=\S)")

Path = tuple[str, ...]


class _Line(Struct, frozen=True):
    """A line with content: where it is, and its comment ("": none)."""

    number: int
    path: Path
    comment: str


def with_yaml_comments(converted: str, original: str, renamed: Callable[[Path], Path] = lambda path: path) -> str:
    """Return the converted file with the comments of the original.

    ``renamed``: maps an old path to the new one.
    """
    lines = converted.splitlines()
    places: dict[Path, int] = {}
    for line in _lines(converted):
        places.setdefault(line.path, line.number)
    above: dict[int, list[str]] = defaultdict(list)
    for path, comments in _comments(original):
        number = _place(renamed(path), places)
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())] if lines else ""
        above[number] += [f"{indent}{comment}" for comment in comments]
    return "".join(f"{line}\n" for number, one in enumerate(lines) for line in (*above[number], one))


def _place(path: Path, places: dict[Path, int]) -> int:
    while path:
        if path in places:
            return places[path]
        path = path[:-1]
    return 0


def _comments(text: str) -> Iterator[tuple[Path, list[str]]]:
    """Yield comments with the path of what follows or is beside them; before the first key, that of the top."""
    waiting: list[str] = []
    last: Path = ()
    is_first = True
    for line in _lines(text):
        if not line.path:
            waiting.append(line.comment)
            continue
        if waiting:
            yield () if is_first else line.path, waiting
        if line.comment:
            yield line.path, [line.comment]
        waiting, last, is_first = [], line.path, False
    if waiting:
        yield last[:1], waiting


def _lines(text: str) -> Iterator[_Line]:
    """Yield the lines that are neither empty nor within a multi-line string; lines with only a comment have no path."""
    around: list[tuple[int, str]] = []
    block = -1
    for number, line in enumerate(text.splitlines()):
        said, comment = _split(line)
        indent = len(line) - len(line.lstrip())
        if not line.strip() or (block >= 0 and indent > block):
            continue
        block = -1
        if not said:
            yield _Line(number, (), comment)
            continue
        depth = indent + (1 if said.startswith("-") else 0)
        around = [one for one in around if one[0] < depth]
        name = _name_of(said)
        path = (*(one for _, one in around), name)
        around.append((depth, name))
        block = indent if _BLOCK.search(said) else -1
        yield _Line(number, path, comment)


def _split(line: str) -> tuple[str, str]:
    """Split a line into its content and its comment."""
    masked = _QUOTED.sub(lambda match: "x" * len(match[0]), line)
    begin = next(
        (at.start() for at in re.finditer("#", masked) if at.start() == 0 or masked[at.start() - 1].isspace()), -1
    )
    return (line.strip(), "") if begin < 0 else (line[:begin].strip(), line[begin:].strip())


def _name_of(said: str) -> str:
    """Return the key or entry that a line names: ``greet`` for ``- greet:``, the value for ``- name: X``."""
    entry = _NAME.sub("", said.lstrip("- "), count=1) if said.startswith("-") else said
    return entry.partition(":")[0].strip().strip("'\"")


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
    for component in config.pipeline or ():
        if major == 0 and component.name == _KEYWORDS:
            what = f"'{_KEYWORDS}' had words of its own for 'greet' and 'goodbye', and takes the examples since Rasa 1."
            converted.note(what, component.location, "Compare what is understood, or take another classifier.")
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
    converted.files["config.yml"] = with_yaml_comments(document(content), written, _renamed_of_config)


def _renamed_of_config(path: tuple[str, ...]) -> tuple[str, ...]:
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


# Domains of Rasa 0.x, 1.x and 2.x → that of Rasa 3, and the rules for intents that trigger actions.

RULES_OF_INTENTS: Final = "rules_for_intents.yml"
_OWN_CLASS: Final = "."
_SECTIONS: Final = {"templates": "responses"}
_SHARED: Final = re.compile(r"(?m)(?:^|[\s\[{,])[&*][A-Za-z_]")
"""An anchor or an alias, as far as the text of a file shows: sections with them cannot be replaced apart."""


def convert_domain(
    file: ProjectFile,
    domain: Domain,
    converted: Converted,
    *,
    beside: Collection[str] = frozenset(),
    keeps_sections: bool = False,
) -> None:
    """Convert a domain that was read by the rules of its version.

    ``beside``: the data files, whose responses are converted along with them. ``keeps_sections``: the file is the whole
    domain and of Rasa 2: a section that Rasa 3 reads as it is stays as it is written.
    """
    content: dict[str, Any] = {"version": "3.1"}
    content["session_config"] = {
        "session_expiration_time": domain.session.session_expiration_time,
        "carry_over_slots_to_new_session": domain.session.carry_over_slots_to_new_session,
    }
    sections: dict[str, Any] = {
        "intents": [_intent(intent) for intent in domain.intents.values()],
        "entities": [_entity(name, domain) for name in domain.entities],
        "slots": {slot.name: _slot(slot, domain, converted) for slot in domain.slots.values()},
        "forms": {form.name: _form(form, converted) for form in domain.forms.values()},
        "responses": {
            new_response(name): [dict(variation.content) for variation in response.variations]
            for name, response in domain.responses.items()
            if response.location.path not in beside
        },
        "actions": [new_action(name) for name in domain.actions if name not in domain.forms],
    }
    content |= {key: section for key, section in sections.items() if section}
    written = file.source.file_text if file.source is not None else ""
    kept = _with_sections(file, content, _new_sections(domain)) if keeps_sections else None
    whole = with_yaml_comments(document(content), written, _renamed_of_domain)
    converted.files["domain.yml"] = whole if kept is None else kept
    rules = [
        {"rule": f"{intent.name} triggers {intent.triggers}", "steps": _mapped(intent)}
        for intent in domain.intents.values()
        if intent.triggers
    ]
    if rules:
        converted.files[RULES_OF_INTENTS] = document({"version": "3.1", "rules": rules})


def _new_sections(domain: Domain) -> frozenset[str]:
    """The sections of a domain of Rasa 2 that Rasa 3 reads differently."""
    names = {"slots": bool(domain.slots), "forms": bool(domain.forms)}
    names["intents"] = any(intent.triggers for intent in domain.intents.values())
    names["actions"] = any(name in domain.forms for name in domain.actions)
    return frozenset(name for name, is_new in names.items() if is_new)


def _with_sections(file: ProjectFile, content: Mapping[str, Any], new: Collection[str]) -> str | None:
    """Return the file's text with these sections of ``content``; ``None`` if they cannot be replaced apart."""
    root, opened = file.mapping, file.document
    text = "" if opened is None else opened.source.text
    if root is None or _SHARED.search(text) or not root.key_nodes:
        return None
    starts = [node.start for node in root.key_nodes]
    if any(start and text[start - 1] != "\n" for start in starts):
        return None
    parts = [text[: starts[0]], "" if "version" in root.items else f'version: "{content["version"]}"\n']
    for key, start, end in zip(root.items, starts, [*starts[1:], len(text)], strict=True):
        section = text[start:end]
        own = _own_lines(section)
        if str(key) not in new:
            parts.append(with_edits(section, file, start, end))
        elif str(key) in content:
            written = with_yaml_comments(document({str(key): content[str(key)]}), own, _renamed_of_domain)
            parts.append(written + section[len(own) :])
        else:  # nothing of it is left
            parts.append(section[len(own) :])
    more = {key: content[key] for key in ("slots", "forms") if key in content and key not in root.items}
    return "".join(parts) + (document(more) if more else "")


def _own_lines(section: str) -> str:
    """Return a section without the empty lines and comments after it, which belong to the next one."""
    lines = section.splitlines(keepends=True)
    while lines and (not lines[-1].strip() or lines[-1].startswith("#")):
        lines.pop()
    return "".join(lines)


def _renamed_of_domain(path: tuple[str, ...]) -> tuple[str, ...]:
    names = [new_response(new_action(name)) for name in path]
    return (_SECTIONS.get(names[0], names[0]), *names[1:]) if names else ()


def _mapped(intent: Intent) -> list[dict[str, Any]]:
    return [{"intent": intent.name}, {"action": new_action(intent.triggers or "")}]


def _intent(intent: Intent) -> Any:
    options: dict[str, Any] = {}
    if intent.use_entities is not True:
        options["use_entities"] = list(intent.use_entities) if intent.use_entities else []
    if intent.ignore_entities:
        options["ignore_entities"] = list(intent.ignore_entities)
    return {intent.name: options} if options else intent.name


def _entity(name: str, domain: Domain) -> Any:
    entity = domain.entities[name]
    options = {"roles": list(entity.roles), "groups": list(entity.groups)}
    filled = {key: value for key, value in options.items() if value}
    return {name: filled} if filled else name


def _slot(slot: Slot, domain: Domain, converted: Converted) -> dict[str, Any]:
    written: dict[str, Any] = {"type": slot.type}
    if _OWN_CLASS in slot.type:
        what = f"The slot '{slot.name}' is of the class '{slot.type}', which must be ported to Rasa 3."
        converted.note(what, slot.location, "Port its class: features are given as a list since Rasa 2.")
    written["influence_conversation"] = slot.type != "any" and slot.influence_conversation is not False
    optional = {
        "initial_value": slot.initial_value,
        "values": None if slot.values is None else list(slot.values),
        "min_value": slot.min_value,
        "max_value": slot.max_value,
    }
    written |= {key: value for key, value in optional.items() if value is not None}
    mappings = [mapping for mapping in slot.mappings if mapping.entity is None or mapping.entity in domain.entities]
    written["mappings"] = [_mapping(mapping) for mapping in mappings] or [{"type": "custom"}]
    return written


def _mapping(mapping: SlotMapping) -> dict[str, Any]:
    written: dict[str, Any] = {"type": mapping.type}
    optional = {"entity": mapping.entity, "role": mapping.role, "group": mapping.group, "value": mapping.value}
    written |= {key: value for key, value in optional.items() if value is not None}
    written |= {
        key: list(names) for key, names in (("intent", mapping.intents), ("not_intent", mapping.not_intents)) if names
    }
    conditions = [
        {
            key: value
            for key, value in (("active_loop", condition.active_loop), ("requested_slot", condition.requested_slot))
            if value
        }
        for condition in mapping.conditions
    ]
    return {**written, **({"conditions": conditions} if conditions else {})}


def _form(form: Form, converted: Converted) -> dict[str, Any]:
    if not form.required_slots:
        what = (
            f"What the form '{form.name}' asks for is not in the files: it is code of the action server (FormAction)."
        )
        hint = "List its slots below `required_slots`, and move its checks to a `validate_` action of the SDK 3."
        converted.note(what, form.location, hint)
    written: dict[str, Any] = {"required_slots": list(form.required_slots)}
    if form.ignored_intents:
        written["ignored_intents"] = list(form.ignored_intents)
    return written
