"""The words that a project adds to those of its language, in ``tests/noise.yml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.messages.errors import UserError
from turncheck.messages.location import Location
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from turncheck.yaml_tree.tree import YamlNode

FILE: Final = "tests/noise.yml"
MAPPINGS: Final = ("contractions", "abbreviations")
LISTS: Final = ("prefixes", "suffixes")


def read_word_file(path: Path) -> tuple[dict[str, dict[str, str]], dict[str, tuple[str, ...]]]:
    """Return the mappings and the lists in a word file, by name; empty if the file does not exist.

    Raises:
        UserError: it cannot be read, has an unknown key, or values that are not strings; with the place.
    """
    root = _parsed(path)
    for key in root.items:
        if key not in (*MAPPINGS, *LISTS):
            known = ", ".join(MAPPINGS + LISTS)
            raise UserError(f"unknown key '{key}': expected {known}", location=root.key_location(key))
    mappings = {name: _mapping(name, node) for name in MAPPINGS if (node := root.at(name)) is not None}
    lists = {name: tuple(_list(name, node)) for name in LISTS if (node := root.at(name)) is not None}
    return mappings, lists


def _parsed(path: Path) -> YamlMapping:
    here = Location(FILE)
    try:
        document = parse_yaml(YamlSource(FILE, read_regular(path, most=MAX_FILE_BYTES).decode("utf-8-sig")))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", location=here) from None
    except UnicodeDecodeError:
        raise UserError("is not UTF-8", location=here, remedy="Save it in UTF-8.") from None
    except EscapeError as error:
        raise UserError(f"{error}", location=here) from None
    for finding in document.findings:
        raise UserError(finding.message.rstrip("."), location=finding.location, remedy=finding.hint or None)
    if not isinstance(document.root, YamlMapping):
        keys = ", ".join(MAPPINGS + LISTS)
        raise UserError(f"expected word lists, the keys {keys}", location=Location(FILE, 1, 1))
    return document.root


def _mapping(name: str, node: YamlNode) -> dict[str, str]:
    if not isinstance(node, YamlMapping):
        raise UserError(f"'{name}': expected a mapping of strings to strings", location=node.location)
    pairs = zip(_strings(name, node.keys.values()), _strings(name, node.items.values()), strict=True)
    return dict(pairs)


def _list(name: str, node: YamlNode) -> list[str]:
    if not isinstance(node, YamlSequence):
        raise UserError(f"'{name}': expected a list of strings", location=node.location)
    return _strings(name, node.items)


def _strings(name: str, nodes: Iterable[YamlNode]) -> list[str]:
    found = []
    for node in nodes:
        if not isinstance(node, YamlScalar) or not isinstance(node.value, str) or not node.value.strip():
            raise UserError(f"'{name}': expected a string", location=node.location, remedy="Put it in quotes.")
        found.append(node.value)
    return found
