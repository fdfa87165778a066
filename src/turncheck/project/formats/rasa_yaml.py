"""Training data and test stories in the YAML of Rasa 3: the keys ``nlu``, ``responses``, ``stories`` and ``rules``.

Rasa 3.x decides by the lines of a file whether to read it: one line must begin (after white space) with ``nlu:`` or
``responses:`` for NLU data, with ``stories:`` or ``rules:`` for stories. All other files are skipped silently.
:func:`kinds_of` mirrors that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.messages.location import Location
from turncheck.messages.suggestions import misspelt
from turncheck.project.calm import read_flows
from turncheck.project.folder import YAML_SUFFIXES
from turncheck.project.formats.format import NEEDS_OF_RASA, Format, Opened, Parts
from turncheck.project.formats.rasa_domain import read_responses
from turncheck.project.formats.rasa_nlu import read_rasa_nlu
from turncheck.project.formats.rasa_stories import read_rasa_stories
from turncheck.project.model import Domain, Story
from turncheck.project.nlu_data import NluData
from turncheck.project.project_file import ANY_KIND, DATA_KEYS, DOMAIN_KEYS, NLU_KEYS, STORY_KEYS
from turncheck.project.versions import version_too_high
from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import YamlDocument, YamlMapping, parse_yaml

if TYPE_CHECKING:
    from turncheck.yaml_tree.source import Source

_KEY_LINE: Final = re.compile(rf"(?:^|(?<=\r))\s*({'|'.join(DATA_KEYS)}):", re.MULTILINE)
_TOP_KEY: Final = re.compile(r"^([^\W\d]\w*)[ \t]*:", re.MULTILINE)


def keys_of_lines(source: Source) -> frozenset[str]:
    """Return the data keys with which a line begins. Rasa does not see a key after a byte order mark."""
    return frozenset(match[1] for match in _KEY_LINE.finditer(source.text, _start(source)))


def kinds_of(document: YamlDocument) -> frozenset[str]:
    """Return the data keys that begin a line of the file: at its top level, or anywhere if it could not be parsed."""
    text = document.source.text
    if not isinstance(document.root, YamlMapping):
        return frozenset(_KEY_LINE.findall(text))
    return frozenset(
        key
        for key, node in document.root.keys.items()
        if key in DATA_KEYS and _KEY_LINE.match(text, max(text.rfind(end, 0, node.start) for end in "\r\n") + 1)
    )


def _read(file: Opened) -> Parts:
    try:
        source = YamlSource.of(file.source)
    except EscapeError as error:
        return Parts(findings=(error.finding(file.source),), kinds=keys_of_lines(file.source) or ANY_KIND)
    if not _KEY_LINE.search(source.text, _start(source)):
        if unseen := unseen_key(source):
            meant, finding = unseen
            file.folder.misspelt[source.path] = meant
            return Parts(belongs=False, findings=(finding,))
        is_domain = any(f"{key}:" in source.text for key in DOMAIN_KEYS)
        return Parts(belongs=False, findings=() if is_domain else (_without_data(source),))
    document = parse_yaml(source)
    kinds = kinds_of(document)
    root, findings = document.root, list(document.findings)
    if not isinstance(root, YamlMapping):
        findings += () if root is None else (_no_mapping(document),)
        return Parts(findings=tuple(findings), kinds=kinds, document=document)
    version = version_too_high(root)
    if version is not None:
        return Parts(findings=(*findings, version), kinds=kinds, document=document)
    nlu, domain, stories = NluData(), None, tuple[Story, ...]()
    if not kinds.isdisjoint(NLU_KEYS) and not file.wanted.isdisjoint(NLU_KEYS):
        nlu, of_nlu = read_rasa_nlu(file.folder, root)
        responses, of_responses = read_responses(root)
        domain = Domain(responses=responses) if responses else None
        findings += (*of_responses, *of_nlu)
    if not kinds.isdisjoint(STORY_KEYS) and not file.wanted.isdisjoint(STORY_KEYS):
        stories, of_stories = read_rasa_stories(root, checks_keys=file.is_test)
        findings += of_stories
    flows, place = read_flows(root) if "flows" in kinds else ((), None)
    return Parts(nlu, stories, domain, flows, place, findings=tuple(findings), kinds=kinds, document=document)


def _start(source: Source) -> int:
    return source.text.find("\n") + 1 if source.has_byte_order_mark else 0


def _no_mapping(document: YamlDocument) -> Finding:
    path = document.source.path
    message = f"The top level of '{path}' must be a mapping with keys such as nlu, stories or rules."
    hint = "Write the keys at the beginning of the line, without '- '."
    place = Location(path) if document.root is None else document.root.location
    return Finding("schema-violation", "error", message, place, hint)


def unseen_key(source: Source) -> tuple[str, Finding] | None:
    """For a file without keys that Rasa reads: the intended key, and the finding that says why Rasa does not see it."""
    if source.has_byte_order_mark and (first := _TOP_KEY.match(source.text)) and first[1] in ANY_KIND:
        message = f"Nothing in '{source.path}' is read: Rasa does not see '{first[1]}' after the byte order mark."
        return first[1], _unseen(message, source, 1, "Save the file without a byte order mark.")
    for match in _TOP_KEY.finditer(source.text):
        if meant := misspelt(match[1], ANY_KIND):
            line = source.text.count("\n", 0, match.start()) + 1
            message = f"Nothing in '{source.path}' is read: '{match[1]}' is not a key of training data."
            words = f"{message} Did you mean '{meant}'?"
            return meant, _unseen(words, source, line, "Correct the spelling of the key.")
    return None


def _unseen(message: str, source: Source, line: int, hint: str) -> Finding:
    return Finding("data-key-unseen", "error", message, Location(source.path, line, 1), hint)


def _without_data(source: Source) -> Finding:
    return Finding(
        "file-without-data",
        "info",
        f"'{source.path}' holds none of the keys nlu, responses, stories and rules; Rasa skips it.",
        Location(source.path, 1, 1),
        "Check the spelling of its keys, or move the file out of the data folder.",
    )


FORMAT: Final = Format(
    "Rasa YAML",
    lambda path, _: path.suffix in YAML_SUFFIXES,
    ANY_KIND | {"flows"},
    _read,
    look=keys_of_lines,
    needs=NEEDS_OF_RASA,
    has_annotations=True,
)
