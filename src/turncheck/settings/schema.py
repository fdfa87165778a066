"""The JSON Schema of ``turncheck.yml``, so that editors complete its keys and mark what would be refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.report.codec import ADDRESS
from turncheck.settings.declared import default_of, options

if TYPE_CHECKING:
    from turncheck.settings.setting import Option

NAME: Final = "turncheck"
_BOOLEAN: Final = {"type": "boolean"}
_OFF: Final = "off"
_RULES: Final = ("repeats",)
"""Settings that are one of a few words, or a map of rules."""


def settings_schema() -> dict[str, Any]:
    """Return the schema, as it is committed under ``docs/``."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"{ADDRESS}{NAME}.schema.json",
        "title": "turncheck.yml",
        "description": "Settings of turncheck for an assistant, or for the assistants of a repository.",
        "type": ["object", "null"],  # of nothing but comments
        "properties": {name: _key(name, option) for name, option in options().items() if option.file_key},
        "additionalProperties": False,
    }


def _key(name: str, option: Option) -> dict[str, Any]:
    default = default_of(name)
    described: dict[str, Any] = {"description": f"{option.help[0].upper()}{option.help[1:]}."}
    if default is not None and default != ():
        described["default"] = list(default) if isinstance(default, tuple) else default
    return {**_type(name, option, default), **described}


def _type(name: str, option: Option, default: object) -> dict[str, Any]:
    """Return what is taken: YAML's own types, and their words as the action's inputs have them."""
    if name == "bot":
        return {"type": "object"}
    if name in _RULES:
        return {"type": ["string", "object", "boolean"]}
    if isinstance(default, bool):
        return {"type": ["boolean", "string"]} if option.metavar else _BOOLEAN
    if isinstance(default, int):
        return {"type": "integer"}
    word: dict[str, Any] = {"type": "string"}
    if option.many:
        # One word per line, or with commas, is taken as well; a list of known words is what an editor completes.
        item = {"enum": [*option.choices]} if option.choices else word
        entry = {"type": ["string", "object"]} if option.metavar == "RULE" else item
        return {
            "anyOf": [{"type": "array", "items": entry}, word, {"type": "object"}]
            if entry is not item
            else [{"type": "array", "items": item}, word]
        }
    if option.choices:
        # YAML 1.1 reads a bare `off` as false.
        return {"enum": [*option.choices, False]} if _OFF in option.choices else {"enum": [*option.choices]}
    return word
