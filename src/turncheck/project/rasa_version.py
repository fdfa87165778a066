"""Which version of Rasa a project is written for, by features that only some versions have, each with its place."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from turncheck.messages.finding import Finding, Location
from turncheck.process.regular_file import is_file
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.project.project_file import ProjectFile


OLDEST: Final = 0
NEWEST: Final = 3

_SHOWN: Final = 3


class Sign(NamedTuple):
    """A feature that only some versions of Rasa have: what it is, and where.

    ``first`` and ``last``: the oldest and the newest major version that accepted it. ``typical``: the version whose
    projects usually have it, if nothing else decides. ``rank``: 0 if the version itself is written, 2 if something is
    absent, which shows least.
    """

    what: str
    location: Location
    first: int = OLDEST
    last: int = NEWEST
    typical: int = NEWEST
    rank: int = 1

    def __str__(self) -> str:
        return f"{self.location}: {self.what}"


class RasaVersion(Struct, frozen=True):
    """The major version that a project is written for. ``signs``: what shows it, the most conclusive ones first.

    ``others``: signs that only another version accepts: the project is a mixture.
    """

    major: int
    signs: tuple[Sign, ...] = ()
    others: tuple[Sign, ...] = ()

    @property
    def name(self) -> str:
        """``1.x`` and the like."""
        return f"{self.major}.x"

    @property
    def is_older(self) -> bool:
        """Whether Rasa 3 would not read it."""
        return self.major < NEWEST

    @property
    def short(self) -> str:
        """The version and the first sign of it, for where space is short."""
        return f"this is a Rasa {self.name} project ({self.signs[0]})"

    @property
    def message(self) -> str:
        """The version and its signs, as the beginning of a sentence."""
        return f"This is a Rasa {self.name} project ({_listed(self.signs)}), judged as that version did"

    @property
    def mixture(self) -> str:
        """What belongs to another version, with the places of both, as a sentence; empty if there is nothing."""
        if not self.others:
            return ""
        shows = f" ({self.signs[0]})" if self.signs else ""
        return f"The project is of Rasa {self.name}{shows}, but parts of it are for others: {_listed(self.others)}."


def _listed(signs: Sequence[Sign]) -> str:
    """Name each kind of sign once, where it comes first."""
    kinds = list({sign.what: sign for sign in reversed(signs)}.values())[::-1]
    more = f"; and {len(kinds) - _SHOWN} more" if len(kinds) > _SHOWN else ""
    return f"{'; '.join(map(str, kinds[:_SHOWN]))}{more}"


def version_of(signs: Iterable[Sign]) -> RasaVersion:
    """Return the version that these signs show.

    If some versions accepted all of them, it is the one of the oldest typical sign. If none did, the newest sign
    counts: whoever wrote it meant that version, and the rest was not updated.
    """
    found = tuple(signs)
    oldest = max((sign.first for sign in found), default=OLDEST)
    newest = min((sign.last for sign in found), default=NEWEST)
    if oldest > newest:
        major = oldest
    else:
        major = min(max(oldest, min((sign.typical for sign in found), default=NEWEST)), newest)
    telling = [sign for sign in found if sign.first <= major <= sign.last]
    # What every version accepts from here on says nothing about an older one, and the reverse.
    telling.sort(key=lambda sign: (sign.last - sign.first, sign.rank, sign.what))
    others = sorted(
        (sign for sign in found if not sign.first <= major <= sign.last),
        key=lambda sign: (sign.first, sign.rank, sign.what),
    )
    return RasaVersion(major, tuple(telling), tuple(others))


# The ``version`` key of data and domain files.

SUPPORTED: Final = (3, 1)
"""The newest version of the training data format, also in Rasa 3.6 and Rasa Pro."""

_VERSION: Final = re.compile(
    r"v?([0-9]+(?:\.[0-9]+)*)(?:[-_.]?(?:a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[-_.]?[0-9]*)*"
)
_MAX_LENGTH: Final = 100


def parse_version(text: str) -> tuple[int, ...] | None:
    """Return the numbers of a version without trailing zeros (``3.1.0``: ``(3, 1)``); ``None`` if it is not one."""
    match = _VERSION.fullmatch(text.strip().strip("\"'")) if len(text) <= _MAX_LENGTH else None
    if match is None:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def version_too_high(root: YamlMapping | None, *, then: str = "the file is skipped") -> Finding | None:
    """Return a finding if the file's version is above the supported one, so that Rasa skips the file."""
    node = root.items.get("version") if root is not None else None
    if not isinstance(node, YamlScalar) or not isinstance(node.value, str):
        return None
    version = parse_version(node.value)
    if version is None or version <= SUPPORTED:
        return None
    return Finding(
        "version-too-high",
        "warning",
        f"The version '{node.value}' of '{node.source.path}' is above 3.1, the newest that Rasa 3 reads; {then}.",
        node.location,
        'Write version: "3.1".',
    )


# Finds signs of the Rasa version that files are written for, as used by :mod:`turncheck.project.rasa_version`.

_GONE_POLICIES: Final = {"KerasPolicy": 1, "EmbeddingPolicy": 1, "SklearnPolicy": 2}
"""Machine learning policies that are gone, with the last version that had them."""
_REPLACED_POLICIES: Final = frozenset({"FormPolicy", "MappingPolicy", "FallbackPolicy", "TwoStageFallbackPolicy"})
_OLD_TEMPLATES: Final = r"supervised_embeddings|pretrained_embeddings_\w+|keyword"
_OLDEST_TEMPLATES: Final = r"tensorflow_embedding|spacy_sklearn|mitie(?:_sklearn)?"
_OLDEST_NAMES: Final = re.compile(
    r"(?:nlp|tokenizer|intent_featurizer|intent_entity_featurizer|ner|intent_classifier)_\w+"
)
"""Components of Rasa NLU 0.x, which 1.x still accepted with a warning."""
_OLD_COMPONENTS: Final = {
    "EmbeddingIntentClassifier": 1,
    "NGramFeaturizer": 1,
    "DucklingHTTPExtractor": 1,
    "ConveRTTokenizer": 2,
    "HFTransformersNLP": 2,
    "LanguageModelTokenizer": 2,
}
"""Components that are gone, with the last version that had them."""
_OLDEST_FILES: Final = ("policies.yml", "nlu_config.yml")


def recognise(folder: ProjectFolder, files: Sequence[ProjectFile], older: Mapping[str, Location]) -> RasaVersion | None:
    """Return the version that a project's files are written for; ``None`` if they are not Rasa's.

    Args:
        folder: the project's folder.
        files: its files, parsed.
        older: the training data files in Markdown, by path, with the place of their first header.
    """
    signs = [sign for file in files for sign in _signs_of(file)]
    signs += [Sign("training data in Markdown", location, last=2, typical=1) for location in [*older.values()][:1]]
    if any(sign.typical < 2 for sign in signs):
        signs += (
            Sign(f"'{name}' belonged to Rasa Core and NLU 0.x", Location(name, 1, 1), last=0, typical=0)
            for name in _OLDEST_FILES
            if is_file(folder.root / name)
        )
    signs += _first_json(files)
    if any(sign.typical < 3 for sign in signs):
        signs += _first_yaml(files)
    if not signs and not any(file.role in {"domain", "config"} or file.kinds for file in files):
        return None
    return version_of(signs)


def _signs_of(file: ProjectFile) -> Iterator[Sign]:
    root = file.mapping
    if root is None or file.role == "endpoints":
        return
    if file.role != "config":
        yield from _version_sign(root)
    if file.role == "domain":
        yield from _domain_signs(root)
    elif file.role == "config":
        yield from _config_signs(root)
        yield from _pipeline_signs(root)
        yield from _policy_signs(root)


def _version_sign(root: YamlMapping) -> Iterator[Sign]:
    node = root.items.get("version")
    written = str(node.value) if isinstance(node, YamlScalar) else ""
    if node is not None and written[:1] in {"2", "3"}:
        major = int(written[0])
        yield Sign(f"version '{written}'", node.location, first=major, last=major, typical=major, rank=0)


def _first_yaml(files: Iterable[ProjectFile]) -> Iterator[Sign]:
    """Training data in YAML came with Rasa 2: a sign only in combination with older features."""
    for file in files:
        is_yaml = PurePath(file.path).suffix in YAML_SUFFIXES
        if file.role == "data" and is_yaml and (file.has_stories or "nlu" in file.kinds):
            yield Sign("training data in YAML", Location(file.path, 1, 1), first=2)
            return


def _first_json(files: Iterable[ProjectFile]) -> Iterator[Sign]:
    """NLU data in JSON: every version reads them, but hardly anybody wrote them for Rasa 2 or 3."""
    for file in files:
        if file.role == "data" and PurePath(file.path).suffix == ".json" and "nlu" in file.kinds:
            yield Sign("NLU data in JSON", Location(file.path, 1, 1), typical=1)
            return


# --- domain ----------------------------------------------------------------------------------------------------------


def _domain_signs(root: YamlMapping) -> Iterator[Sign]:
    if "templates" in root.items:
        yield Sign("'templates' became 'responses'", root.key_location("templates"), last=1, typical=1)
    if "action_factory" in root.items:
        location = root.key_location("action_factory")
        yield Sign("'action_factory' is of Rasa Core", location, last=1, typical=0)
    forms = root.items.get("forms")
    if isinstance(forms, YamlSequence) and forms.items:
        yield Sign("'forms' is a list", root.key_location("forms"), last=2, typical=1)
    elif isinstance(forms, YamlMapping):
        yield from _form_signs(forms)
    yield from _trigger_signs(root.items.get("intents"))
    yield from _slot_signs(root)


def _form_signs(forms: YamlMapping) -> Iterator[Sign]:
    for name, form in sorted(forms.items.items(), key=lambda item: str(item[0])):
        slots = form.items.get("required_slots", form) if isinstance(form, YamlMapping) else None
        if isinstance(slots, YamlSequence):
            yield Sign(f"the form '{name}' lists its slots", forms.key_location(name), first=3)
            return
        if not isinstance(slots, YamlMapping):
            continue
        for slot, mappings in slots.items.items():
            if isinstance(mappings, YamlSequence) and any(_has_type(item) for item in mappings.items):
                what = f"the form '{name}' holds the mappings of its slots"
                yield Sign(what, slots.key_location(slot), first=2, last=2, typical=2)
                return


def _has_type(node: YamlNode) -> bool:
    return isinstance(node, YamlMapping) and "type" in node.items


def _trigger_signs(intents: YamlNode | None) -> Iterator[Sign]:
    listed = (
        [item for item in intents.items if isinstance(item, YamlMapping)] if isinstance(intents, YamlSequence) else []
    )
    triggering = {
        str(name): options.key_location("triggers")
        for intent in listed
        for name, options in intent.items.items()
        if isinstance(options, YamlMapping) and "triggers" in options.items
    }
    if triggering:
        name, location = min(triggering.items())
        yield Sign(f"the intent '{name}' triggers an action", location, last=2, typical=1)


def _slot_signs(root: YamlMapping) -> Iterator[Sign]:
    """Slots have had mappings since Rasa 3: one without them is a mistake, a domain without any is an older one."""
    slots = root.items.get("slots")
    if not isinstance(slots, YamlMapping):
        return
    written = [slot for slot in slots.items.values() if isinstance(slot, YamlMapping)]
    for slot in written:
        kind = slot.items.get("type")
        if isinstance(kind, YamlScalar) and str(kind.value).endswith(("unfeaturized", ".UnfeaturizedSlot")):
            yield Sign("slots of the type 'unfeaturized' are gone", kind.location, last=2, typical=1)
            break
    for slot in written:
        if "mappings" in slot.items:
            yield Sign("slots have 'mappings'", slot.items["mappings"].location, first=3)
            return
    says_three = any(sign.first == 3 for sign in _version_sign(root))
    if written and not says_three:
        yield Sign("no slot has 'mappings'", root.key_location("slots"), last=2, typical=2, rank=2)


# --- configuration ---------------------------------------------------------------------------------------------------


def _config_signs(root: YamlMapping) -> Iterator[Sign]:
    for key in ("recipe", "assistant_id"):
        if key in root.items:
            yield Sign(f"the configuration has '{key}'", root.key_location(key), first=3)
            return
    if "pipeline" in root.items and "policies" in root.items:
        yield Sign("pipeline and policies are one file", root.key_location("policies"), first=1)


def _pipeline_signs(root: YamlMapping) -> Iterator[Sign]:
    pipeline = root.items.get("pipeline")
    if isinstance(pipeline, YamlScalar) and isinstance(pipeline.value, str):
        what = f"'{pipeline.value}' is a template of a pipeline"
        if re.fullmatch(_OLD_TEMPLATES, pipeline.value):
            yield Sign(what, pipeline.location, last=1, typical=1)
        elif re.fullmatch(_OLDEST_TEMPLATES, pipeline.value):
            yield Sign(what, pipeline.location, last=1, typical=0)
    for name, location in _named(pipeline):
        if _OLDEST_NAMES.fullmatch(name):
            yield Sign(f"'{name}' is the name of a component in Rasa NLU 0.x", location, last=1, typical=0)
            return
        if name in _OLD_COMPONENTS:
            yield Sign(f"the component '{name}' is gone", location, last=_OLD_COMPONENTS[name], typical=1)
            return


def _policy_signs(root: YamlMapping) -> Iterator[Sign]:
    for name, location in _named(root.items.get("policies")):
        if name in _GONE_POLICIES:
            yield Sign(f"the policy '{name}' was replaced by TEDPolicy", location, last=_GONE_POLICIES[name], typical=1)
            return
        if name in _REPLACED_POLICIES:
            yield Sign(f"the policy '{name}' was replaced by RulePolicy", location, last=2, typical=1)
            return


def _named(section: YamlNode | None) -> Iterator[tuple[str, Location]]:
    for item in section.items if isinstance(section, YamlSequence) else ():
        node = item.items.get("name") if isinstance(item, YamlMapping) else item
        if isinstance(node, YamlScalar) and isinstance(node.value, str):
            yield node.value.rpartition(".")[2], node.location
