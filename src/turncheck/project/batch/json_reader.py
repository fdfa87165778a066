"""A suite in JSON → written cases: one object with the key ``testCases``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Location
from turncheck.project.batch.rules import (
    ENTITY_KEYS,
    GENERATED,
    KEYS,
    MAX_OF_DIALOG_GPT,
    Rules,
    Written,
    WrittenCase,
    WrittenEntity,
    meant_for_input,
    meant_key,
    names_of_dialog_gpt,
    shortened,
)
from turncheck.yaml_tree.json_tree import parse_json
from turncheck.yaml_tree.source import text_location
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.project.batch.model import SuiteCase
    from turncheck.yaml_tree.json_tree import JsonFault
    from turncheck.yaml_tree.source import Source

TEST_CASES: Final = "testCases"


def read_json_suite(source: Source, rules: Rules) -> tuple[SuiteCase, ...]:
    """Return the cases; faults are added to ``rules.findings``."""
    document = parse_json(source)
    for fault in document.faults:
        rules.error(*_as_finding(source, fault))
    if document.root is None:
        return ()
    section = _section(document.root, rules)
    if section is None:
        return ()
    written = [case for node in section.items if (case := _case(node, rules)) is not None]
    if section.items and not written:
        return ()  # each of them is already reported
    return rules.cases(written)


def _as_finding(source: Source, fault: JsonFault) -> tuple[str, str, Location, str]:
    if fault.kind == "typographic-quote":
        return "suite-typographic-quote", f"'{source.path}' is not JSON: {fault.what}.", fault.location, fault.hint
    if fault.kind == "duplicate-key":
        return "suite-bad-value", f"{fault.what[0].upper()}{fault.what[1:]}.", fault.location, fault.hint
    return "suite-not-json", f"'{source.path}' is not JSON: {fault.what}.", fault.location, fault.hint


def _section(root: YamlNode, rules: Rules) -> YamlSequence | None:
    location = Location(rules.path, 1, 1)
    how = f'Write {{"{TEST_CASES}": [{{"input": "…", "intent": "…"}}]}}.'
    if isinstance(root, YamlSequence):
        message = f"The top level is a list; a suite is an object with the key '{TEST_CASES}'."
        rules.error("suite-no-test-cases", message, location, f'Wrap the list: {{"{TEST_CASES}": [ … ]}}.')
        return None
    if not isinstance(root, YamlMapping):
        rules.error("suite-no-test-cases", f"A suite is an object with the key '{TEST_CASES}'.", location, how)
        return None
    for key in root.items:
        bare = str(key).replace(" ", "").replace("_", "").casefold()
        if TEST_CASES not in root.items and bare in {"testcases", "tests", "testcase", "cases"}:
            message = f"The key '{key}' should be '{TEST_CASES}'."
            rules.error("suite-no-test-cases", message, root.key_location(key), how)
            return None
    section = root.items.get(TEST_CASES)
    if section is None:
        rules.error("suite-no-test-cases", f"There is no key '{TEST_CASES}'.", location, how)
        return None
    for key in root.items:
        if key != TEST_CASES:
            rules.unknown_beside(str(key), root.key_location(key))
    if not isinstance(section, YamlSequence):
        rules.error("suite-bad-value", f"'{TEST_CASES}' must be a list.", section.location, how)
        return None
    return section


def _case(node: YamlNode, rules: Rules) -> WrittenCase | None:
    if not isinstance(node, YamlMapping):
        how = 'Write {"input": "…", "intent": "…"}.'
        rules.error("suite-bad-value", f"A test case must be an object, not {_kind(node)}.", node.location, how)
        return None
    if others := names_of_dialog_gpt(map(str, node.items)):
        return _of_dialog_gpt(node, others, rules)
    _check_keys(node, (*KEYS, GENERATED), rules)
    case = WrittenCase(node.location)
    if "input" not in node.items and (hint := meant_for_input(map(str, node.items))):
        case.hint = hint
    case.input = _text(node, "input", rules)
    case.intent = _text(node, "intent", rules)
    case.parent = _text(node, "parentIntent", rules)
    case.bots = _text(node, "botName", rules)
    mark = node.items.get(GENERATED)
    case.generated = mark is not None and mark.data is True
    for item in _list(node, "entities", rules):
        entity = _entity(item, rules)
        if entity is not None:
            case.entities.append(entity)
    case.order = [name for item in _list(node, "entityOrder", rules) if (name := _name(item, rules)) is not None]
    if case.input is None and "input" in node.items and not _is_null(node.items["input"]):
        return None  # a value of a wrong type, which is already reported
    return case


def _of_dialog_gpt(node: YamlMapping, others: Mapping[str, str], rules: Rules) -> WrittenCase:
    """A case for the engine DialogGPT."""
    rules.most_alternatives = MAX_OF_DIALOG_GPT
    fields = {here: _text(node, name, rules) for name, here in others.items() if here}
    return WrittenCase(node.location, fields.get("input"), fields.get("intent"), bots=fields.get("botName"))


def _entity(node: YamlNode, rules: Rules) -> WrittenEntity | None:
    if not isinstance(node, YamlMapping):
        how = 'Write {"entityName": "…", "entityValue": "…"}.'
        rules.error("suite-bad-value", f"An entity must be an object, not {_kind(node)}.", node.location, how)
        return None
    _check_keys(node, ENTITY_KEYS, rules)
    before = len(rules.findings)
    name, value = (_text(node, key, rules) for key in ENTITY_KEYS)
    if any(finding.code == "suite-bad-value" for finding in rules.findings[before:]):
        return None
    name = name if name and name.text else None
    value = value if value and value.text else None
    if name is None and value is None and set(node.items) >= set(ENTITY_KEYS):
        return None  # the empty row of a template
    lacking = [key for key, one in zip(ENTITY_KEYS, (name, value), strict=True) if one is None]
    return WrittenEntity(name, value, node.location, _slips(node, lacking))


def _slips(node: YamlMapping, lacking: list[str]) -> str:
    """Say which other keys are probably misspellings of the missing ones."""
    others = [str(key) for key in node.items if key not in ENTITY_KEYS]
    return " ".join(
        f"'{shortened(key)}' should be '{one}'."
        for one in lacking
        for key in others
        if meant_key(key) == f"Did you mean '{one}'?"
    )


def _check_keys(node: YamlMapping, known: tuple[str, ...], rules: Rules) -> None:
    for key in node.items:
        if key not in known:
            rules.unknown_key(str(key), node.key_location(key))


def _list(node: YamlMapping, key: str, rules: Rules) -> list[YamlNode]:
    below = node.items.get(key)
    if below is None or _is_null(below):
        return []
    if isinstance(below, YamlSequence):
        return below.items
    rules.error("suite-bad-value", f"'{key}' must be a list, not {_kind(below)}.", below.location, "Write [ … ].")
    return []


def _name(node: YamlNode, rules: Rules) -> Written | None:
    if isinstance(node, YamlScalar) and isinstance(node.value, str):
        return Written(node.value.strip(), text_location(node)) if node.value.strip() else None
    message = f"'entityOrder' must list names of entities, not {_kind(node)}."
    rules.error("suite-bad-value", message, node.location, 'Write ["…", "…"].')
    return None


def _text(node: YamlMapping, key: str, rules: Rules) -> Written | None:
    below = node.items.get(key)
    if below is None or _is_null(below):
        return None
    if isinstance(below, YamlScalar) and isinstance(below.value, str):
        return Written(below.value.strip(), text_location(below))
    hint = 'Write alternatives as one string: "Pay Bill | Book Flight".' if key == "intent" else 'Write quotes: "…".'
    rules.error("suite-bad-value", f"'{key}' must be a string, not {_kind(below)}.", below.location, hint)
    return None


def _is_null(node: YamlNode) -> bool:
    return isinstance(node, YamlScalar) and node.value is None


def _kind(node: YamlNode) -> str:
    if isinstance(node, YamlMapping):
        return "an object"
    if isinstance(node, YamlSequence):
        return "a list"
    value = node.data
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a string" if isinstance(value, str) else "a number"
