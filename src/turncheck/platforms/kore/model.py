"""What an export of a Kore.ai assistant holds for understanding sentences.

Texts are those of the chosen language. Only data: :mod:`turncheck.platforms.kore.reader` does the reading.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from turncheck.platforms.kore.faults import NO_PLACE, Fault, Place
from turncheck.project.batch.model import KnownIntent, KnownNames, by_comparable, comparable
from turncheck.project.nlu_data import WholeLabelExample
from turncheck.report.batch import BatchSetting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.yaml_tree.json_tree import JsonFile, Step


class Texts:
    """Locates the texts of examples (see :class:`turncheck.project.nlu_data.Origin`)."""

    __slots__ = ("_file", "_paths")

    def __init__(self, file: JsonFile) -> None:
        self._file = file
        self._paths: list[tuple[Step, ...]] = []

    def add(self, path: tuple[Step, ...]) -> int:
        """Remember the path of a text, and return its index."""
        self._paths.append(path)
        return len(self._paths) - 1

    def locate(self, index: int) -> Location:
        """Return where the text begins."""
        return self._file.location(*self._paths[index])


Kind = Literal["dialog", "faq", "small_talk", "trait"]
KINDS: Final[tuple[Kind, ...]] = ("dialog", "faq", "small_talk", "trait")


class KoreIntent(Struct, frozen=True):
    """What a sentence may be understood as. ``examples``: the number of its training sentences.

    ``aliases``: its further names (in other languages, older ones, further patterns of small talk). ``hidden``: the
    platform does not show it. ``stub``: a dialog that was never built. ``parent``: the small talk that it follows up
    on. ``patterns``: how many patterns of the platform's own engine lead to it.
    """

    name: str
    kind: Kind
    examples: int
    place: Place = NO_PLACE
    hidden: bool = False
    stub: bool = False
    parent: str | None = None
    patterns: int = 0
    aliases: tuple[str, ...] = ()

    @property
    def location(self) -> Location:
        """Where it is defined."""
        return self.place.location

    @property
    def in_total(self) -> bool:
        """Whether coverage counts it: not a dialog without sentences, which no suite can be expected to reach."""
        return self.kind != "dialog" or self.examples > 0


class KoreEntity(Struct, frozen=True):
    """An entity. ``type``: as the platform calls it: ``label``, ``list_of_values``, ``number``, ``date`` …

    ``values``: for a list, each value with its synonyms. ``pattern``: for a regular expression, in Python's syntax.
    """

    name: str
    type: str
    place: Place = NO_PLACE
    multiple: bool = False
    values: tuple[tuple[str, tuple[str, ...]], ...] = ()
    pattern: str | None = None

    @property
    def location(self) -> Location:
        """Where it is defined."""
        return self.place.location


class KoreTrait(Struct, frozen=True):
    """A trait, which any sentence may have in addition to its intent. ``key``: its name in rules."""

    name: str
    key: str
    group: str
    examples: tuple[Example, ...]


class KoreBot(Struct, frozen=True):
    """An assistant on Kore.ai's platform.

    ``language`` is the language of ``utterances`` (the sentences of dialogs, in the order of the file, each as often as
    it occurs); ``others`` are the sentences in other languages, by language, which are not judged. ``phrases``: those
    of FAQs, by language. ``concepts`` and ``patterns`` count what only the platform can run. ``links``: the bots that a
    universal bot links to. ``faults``: its faults. ``disabled``: FAQs that are switched off. ``thresholds``: the
    settings of each engine of the platform, its ``mode`` first.
    """

    name: str
    path: str
    languages: tuple[str, ...]
    default: str
    language: str
    intents: tuple[KoreIntent, ...] = ()
    entities: tuple[KoreEntity, ...] = ()
    traits: tuple[KoreTrait, ...] = ()
    utterances: tuple[Example, ...] = ()
    phrases: Mapping[str, tuple[Example, ...]] = field(default_factory=dict)
    others: Mapping[str, tuple[Example, ...]] = field(default_factory=dict)
    patterns: int = 0
    concepts: int = 0
    rules: int = 0
    is_universal: bool = False
    links: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    disabled: tuple[str, ...] = ()
    thresholds: tuple[Mapping[str, str], ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Its faults as findings with places."""
        return tuple(fault.finding for fault in self.faults)

    def of_kind(self, kind: Kind) -> list[KoreIntent]:
        """Return the intents of one kind."""
        return [intent for intent in self.intents if intent.kind == kind]

    def named(self) -> dict[str, KoreIntent]:
        """Return the intents by each of their names, in comparable form.

        Of two with the same name the first counts; a name has priority over an alias.
        """
        by_name: dict[str, KoreIntent] = {}
        for intent in self.intents:
            by_name.setdefault(comparable(intent.name), intent)
        for intent in self.intents:
            for alias in intent.aliases:
                by_name.setdefault(comparable(alias), intent)
        return by_name

    @property
    def setting(self) -> BatchSetting:
        """Its name, language and thresholds."""
        return BatchSetting(
            bot=self.name, language=self.language, thresholds=tuple(dict(threshold) for threshold in self.thresholds)
        )

    def known_names(self) -> KnownNames:
        """Return the names that a suite may expect."""
        intents: dict[str, KnownIntent] = {}
        traits: dict[str, KnownIntent] = {}
        named = [(kore_intent.name, kore_intent) for kore_intent in self.intents]
        named += [(alias, one) for one in self.intents for alias in one.aliases]
        for name, intent in named:
            into = traits if intent.kind == "trait" else intents
            into.setdefault(comparable(name), KnownIntent(intent.name, intent.kind, intent.in_total))
        learnt = (entity.entity for example in self.utterances for entity in example.entities)
        first = {*learnt, *(entity.name for entity in self.entities if entity.pattern is not None)}
        entities, disabled = by_comparable(entity.name for entity in self.entities), by_comparable(self.disabled)
        return KnownNames(intents, traits, entities, disabled, frozenset(map(comparable, first)), self.path)

    def expected_intents(self) -> Iterator[str]:
        """Yield the intents that are built and shown."""
        return (
            intent.name for intent in self.intents if intent.kind != "trait" and not intent.hidden and not intent.stub
        )

    def listed_values(self) -> Iterator[tuple[str, tuple[tuple[str, tuple[str, ...]], ...]]]:
        """Yield each entity with its values and their synonyms."""
        return ((entity.name, entity.values) for entity in self.entities)

    def follow_ups(self) -> Iterator[tuple[Example, tuple[str, ...]]]:
        """Yield the utterances of small talk that follows other small talk, each with what precedes it.

        The platform alone knows them, so that they are no training sentences here.
        """
        talk = self.of_kind("small_talk")
        parents = {kore_intent.name: kore_intent.parent for kore_intent in talk}
        for intent in talk:
            before: list[str] = []
            parent = intent.parent
            while parent is not None and parent not in before:
                before.insert(0, parent)
                parent = parents.get(parent)
            for text in (intent.name, *intent.aliases) if before else ():
                if is_utterance(text):
                    yield WholeLabelExample(text, intent.name), tuple(before)

    def without_places(self) -> KoreBot:
        """Return the same without its file, to be sent to a worker process."""
        return replace(
            self,
            intents=tuple(replace(intent, place=NO_PLACE) for intent in self.intents),
            entities=tuple(replace(entity, place=NO_PLACE) for entity in self.entities),
            traits=tuple(replace(trait, examples=_without_places(trait.examples)) for trait in self.traits),
            utterances=_without_places(
                tuple(utterance for utterance in self.utterances if utterance.entities)
            ),  # what training can use
            phrases={},
            others={},
            faults=(),
        )


def bot_of(project: Project) -> KoreBot | None:
    """Return the assistant of a project; ``None`` for one of another platform."""
    return project.native if isinstance(project.native, KoreBot) else None


def _without_places(examples: Iterable[Example]) -> tuple[Example, ...]:
    return tuple(dataclasses.replace(example, origin=None) for example in examples)


# Values of an export, any of which may be missing, null, or of another type than in all other exports.

_NO_BREAK_SPACE: Final = "\u00a0"
_JAVASCRIPT: Final = re.compile(r"/(?P<pattern>.*)/(?P<flags>[a-z]*)\Z", re.DOTALL)
_FLAGS: Final = "ims"
"""The flags that mean the same in Python, where ``g`` and ``u`` are not needed."""


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object, or an empty one if the value is not an object."""
    return value if isinstance(value, dict) else {}


def records(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects in a list with their indexes; anything else is skipped."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, dict):
                yield index, item


def strings(value: Any) -> list[str]:
    """Return the strings in a list, cleaned, without empty ones."""
    return [text for item in value if (text := clean(item))] if isinstance(value, list) else []


def clean(value: Any) -> str:
    """Return a string trimmed, with no-break spaces as spaces; "" if the value is not a string."""
    return value.replace(_NO_BREAK_SPACE, " ").strip() if isinstance(value, str) else ""


def in_language(record: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    """Return the part of a record in a language."""
    return mapping(mapping(record.get("localeData")).get(language))


_OF_PATTERNS: Final = frozenset("~!<>[]{}()*_|")
"""What distinguishes a pattern of small talk from an utterance."""


def is_utterance(text: str) -> bool:
    """Return whether a small-talk text is an utterance, not a pattern for the platform's own engine."""
    return _OF_PATTERNS.isdisjoint(text)


def unquoted(word: str) -> str:
    """Return a synonym without the quotes around its words, one of which may be missing."""
    return word.strip().strip('"“”').strip()


def python_pattern(written: str) -> str:
    r"""Return a regular expression in Python's syntax: ``/\d{4}/gi`` becomes ``(?i)\d{4}``."""
    match = _JAVASCRIPT.match(written.strip())
    if match is None:
        return written.strip()
    flags = "".join(flag for flag in _FLAGS if flag in match["flags"])
    return f"(?{flags}){match['pattern']}" if flags else match["pattern"]
