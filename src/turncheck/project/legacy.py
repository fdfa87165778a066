"""Recognises projects of Rasa 0.x, 1.x and 2.x, which Rasa 3 does not read: by what only they have, each at its place.

A file that says it is of Rasa 3 (a domain with ``version: "3.…"``, a configuration with a ``recipe``) is believed:
what is old in it is a slip there, and a finding of its own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from turncheck.messages.location import Location
from turncheck.project.folder import YAML_SUFFIXES
from turncheck.yaml_tree.tree import YamlMapping, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.messages.finding import Finding
    from turncheck.project.folder import ProjectFolder
    from turncheck.project.project_file import ProjectFile
    from turncheck.yaml_tree.tree import YamlNode

READS: Final = "turncheck reads Rasa 3 projects"
REMEDY: Final = (
    "Convert it first: Markdown and policies with `rasa data convert` of Rasa 2.8, the domain with `rasa data migrate` "
    "of Rasa 3."
)

_OLD_POLICIES: Final = {
    **dict.fromkeys(("KerasPolicy", "EmbeddingPolicy", "SklearnPolicy"), "was replaced by TEDPolicy"),
    **dict.fromkeys(
        ("FormPolicy", "MappingPolicy", "FallbackPolicy", "TwoStageFallbackPolicy"), "was replaced by RulePolicy"
    ),
}
_OLD_TEMPLATES: Final = re.compile(
    r"supervised_embeddings|pretrained_embeddings_\w+|tensorflow_embedding|spacy_sklearn|keyword"
)
_OLDEST_NAMES: Final = re.compile(
    r"(?:nlp|tokenizer|intent_featurizer|intent_entity_featurizer|ner|intent_classifier)_\w+"
)
"""Components of Rasa NLU 0.x, which 1.x still took with a warning."""
_OLD_COMPONENTS: Final = frozenset({"EmbeddingIntentClassifier", "ConveRTTokenizer", "HFTransformersNLP"})
_OLDEST_FILES: Final = ("policies.yml", "nlu_config.yml")
_MARKDOWN_HEADER: Final = re.compile(rb"^##", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sign:
    """One thing that Rasa 3 does not have: what it is, and where. ``since``: the last generation that had it."""

    what: str
    location: Location
    generation: int


@dataclass(frozen=True, slots=True)
class LegacyProject:
    """A project of an older Rasa. ``signs``: what shows it, the telling ones first."""

    version: str
    signs: tuple[Sign, ...]

    @property
    def short(self) -> str:
        """What it is and the first thing that shows it, for where more would be too much."""
        sign = self.signs[0]
        return f"this is a Rasa {self.version} project ({sign.location}: {sign.what})"

    @property
    def message(self) -> str:
        """What it is and what shows it, as the beginning of a sentence."""
        shown = "; ".join(f"{sign.location}: {sign.what}" for sign in self.signs[:3])
        more = f"; and {len(self.signs) - 3} more" if len(self.signs) > 3 else ""
        return f"This is a Rasa {self.version} project ({shown}{more}); {READS}"


def recognise(folder: ProjectFolder, files: Sequence[ProjectFile], findings: Iterable[Finding]) -> LegacyProject | None:
    """Return what shows that a project is of an older Rasa, or ``None``.

    Args:
        folder: the project's.
        files: its files, parsed.
        findings: those of reading; training data in Markdown are among them.
    """
    signs = [sign for file in files for sign in _signs_of(file)]
    signs += _markdown(folder, files, findings)
    if not signs:
        return None
    if any(sign.generation <= 1 for sign in signs):
        signs += (
            Sign(f"'{name}' belonged to Rasa Core and NLU 0.x", Location(name, 1, 1), 0)
            for name in _OLDEST_FILES
            if (folder.root / name).is_file()
        )
    return LegacyProject(_version(signs, files), tuple(signs))


def _version(signs: Sequence[Sign], files: Iterable[ProjectFile]) -> str:
    """Return the generation: that of the files that say it, else the oldest that something is of."""
    if any(sign.generation == 0 for sign in signs):
        return "0.x"
    says_two = any(_written_version(file).startswith("2") for file in files)
    return "2.x" if says_two or all(sign.generation == 2 for sign in signs) else "1.x"


def _written_version(file: ProjectFile) -> str:
    node = file.mapping.items.get("version") if file.mapping is not None else None
    return str(node.value) if isinstance(node, YamlScalar) else ""


def _is_of_rasa_3(file: ProjectFile) -> bool:
    has_recipe = file.role == "config" and file.mapping is not None and "recipe" in file.mapping.items
    return has_recipe or (file.role == "domain" and _written_version(file).startswith("3"))


def _signs_of(file: ProjectFile) -> Iterator[Sign]:
    root = file.mapping
    if root is None or _is_of_rasa_3(file):
        return
    if file.role == "domain":
        yield from _domain_signs(root)
    elif file.role == "config":
        yield from _pipeline_signs(root)
        yield from _policy_signs(root)


# --- domain ----------------------------------------------------------------------------------------------------------


def _domain_signs(root: YamlMapping) -> Iterator[Sign]:
    if "templates" in root.items:
        yield Sign("'templates' became 'responses'", root.key_location("templates"), 1)
    if "action_factory" in root.items:
        yield Sign("'action_factory' is of Rasa Core", root.key_location("action_factory"), 0)
    forms = root.items.get("forms")
    if isinstance(forms, YamlSequence) and forms.items:
        yield Sign("'forms' is a list", root.key_location("forms"), 1)
    elif isinstance(forms, YamlMapping):
        yield from _form_signs(forms)
    yield from _trigger_signs(root.items.get("intents"))
    yield from _slot_signs(root)


def _form_signs(forms: YamlMapping) -> Iterator[Sign]:
    for name, form in forms.items.items():
        slots = form.items.get("required_slots", form) if isinstance(form, YamlMapping) else None
        if not isinstance(slots, YamlMapping):
            continue
        for slot, mappings in slots.items.items():
            if isinstance(mappings, YamlSequence) and any(_has_type(item) for item in mappings.items):
                yield Sign(f"the form '{name}' holds the mappings of its slots", slots.key_location(slot), 2)
                return


def _has_type(node: YamlNode) -> bool:
    return isinstance(node, YamlMapping) and "type" in node.items


def _trigger_signs(intents: YamlNode | None) -> Iterator[Sign]:
    for intent in intents.items if isinstance(intents, YamlSequence) else ():
        for name, options in intent.items.items() if isinstance(intent, YamlMapping) else ():
            if isinstance(options, YamlMapping) and "triggers" in options.items:
                yield Sign(f"the intent '{name}' triggers an action", options.key_location("triggers"), 1)
                return


def _slot_signs(root: YamlMapping) -> Iterator[Sign]:
    """Slots got mappings with Rasa 3: one that lacks them is a slip, a domain in which all do is an older one."""
    slots = root.items.get("slots")
    if not isinstance(slots, YamlMapping):
        return
    written = [slot for slot in slots.items.values() if isinstance(slot, YamlMapping)]
    for slot in written:
        kind = slot.items.get("type")
        if isinstance(kind, YamlScalar) and kind.value == "unfeaturized":
            yield Sign("slots of the type 'unfeaturized' are gone", kind.location, 1)
            return
    if written and not any("mappings" in slot.items for slot in written):
        yield Sign("no slot has 'mappings'", root.key_location("slots"), 2)


# --- configuration ---------------------------------------------------------------------------------------------------


def _pipeline_signs(root: YamlMapping) -> Iterator[Sign]:
    pipeline = root.items.get("pipeline")
    if (
        isinstance(pipeline, YamlScalar)
        and isinstance(pipeline.value, str)
        and _OLD_TEMPLATES.fullmatch(pipeline.value)
    ):
        yield Sign(f"'{pipeline.value}' is a template of a pipeline", pipeline.location, 1)
    for name, place in _named(pipeline):
        if _OLDEST_NAMES.fullmatch(name):
            yield Sign(f"'{name}' is the name of a component in Rasa NLU 0.x", place, 0)
            return
        if name in _OLD_COMPONENTS:
            yield Sign(f"the component '{name}' is gone", place, 1)
            return


def _policy_signs(root: YamlMapping) -> Iterator[Sign]:
    for name, place in _named(root.items.get("policies")):
        if name in _OLD_POLICIES:
            yield Sign(f"the policy '{name}' {_OLD_POLICIES[name]}", place, 1)
            return


def _named(section: YamlNode | None) -> Iterator[tuple[str, Location]]:
    for item in section.items if isinstance(section, YamlSequence) else ():
        node = item.items.get("name") if isinstance(item, YamlMapping) else item
        if isinstance(node, YamlScalar) and isinstance(node.value, str):
            yield node.value.rpartition(".")[2], node.location


# --- Markdown --------------------------------------------------------------------------------------------------------


def _markdown(folder: ProjectFolder, files: Sequence[ProjectFile], findings: Iterable[Finding]) -> Iterator[Sign]:
    """Training data in Markdown, where nothing is of Rasa 3: beside data in YAML they are only left over."""
    yaml = [file for file in files if PurePath(file.path).suffix in YAML_SUFFIXES]
    if any(_is_of_rasa_3(file) or file.has_stories or "nlu" in file.kinds for file in yaml):
        return
    for finding in findings:
        path = finding.location.path
        if finding.code == "format-not-read" and path.endswith(".md"):
            content = folder.read_bytes(folder.root / path) or b""
            header = _MARKDOWN_HEADER.search(content)
            line = content.count(b"\n", 0, header.start() if header else 0) + 1
            yield Sign("training data in Markdown", Location(path, line, 1), 1)
            return
