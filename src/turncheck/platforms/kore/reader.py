"""``botDefinition.json`` → :class:`~turncheck.platforms.kore.model.KoreBot`, and the NLU training data.

Other parts of an export (services, scripts, messages, variables) are never looked at: they hold secrets.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from bisect import bisect_left
from collections import Counter, deque
from itertools import accumulate, pairwise
from json import dumps
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Finding, Location
from turncheck.messages.phrasing import suggestion
from turncheck.platforms.kore.faults import Fault, Place, not_an_export, shown
from turncheck.platforms.kore.knowledge import KnowledgeReader, read_entities
from turncheck.platforms.kore.model import KoreBot, KoreIntent, Texts, clean, in_language, mapping, records, strings
from turncheck.platforms.rows.kore import KORE
from turncheck.project.batch.model import THRESHOLD_MODES, THRESHOLDS, comparable
from turncheck.project.nlu_data import EntityAnnotation, Example, Lookup, NluData, Regex, Synonym, WholeLabelExample
from turncheck.yaml_tree.json_tree import JsonError, JsonFile, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.yaml_tree.source import Source


# The sentences of an export (``sentences[]``): the intent that each is an example of, and its annotations.

_HINT_SPAN = "Annotate the entity anew on the platform, and export again."


class Sentence(NamedTuple):
    """A cleaned sentence in any language, with its intent and entities."""

    language: str
    example: WholeLabelExample


class _Span(NamedTuple):
    start: int
    end: int
    name: str
    number: int


class SentenceReader:
    """Reads the sentences, and collects their faults in ``faults``.

    ``tasks``: intents by the ID of their component; ``entities``: names by the ID of theirs.
    """

    def __init__(
        self,
        file: JsonFile,
        prefix: tuple[Step, ...],
        default: str,
        tasks: Mapping[str, str],
        entities: Mapping[str, str],
    ) -> None:
        self.faults: list[Fault] = []
        self._file = file
        self._prefix = (*prefix, "sentences")
        self._default = default
        self._tasks = tasks
        self._entities = entities
        self._origin = Texts(file)

    def read(self, data: Any) -> Iterator[Sentence]:
        """Yield the sentences that have a text and an intent, in the order of the file."""
        for number, record in records(data):
            language = clean(record.get("language")) or self._default
            written = record.get("sentence")
            text = clean(written)
            if not text or not isinstance(written, str):
                message = "A sentence is empty; it teaches nothing."
                self._note("kore-empty-sentence", message, number, "Remove it on the platform.")
                continue
            intent = self._tasks.get(clean(record.get("taskId")))
            if intent is None:
                message = f"The sentence {shown(text)} belongs to no task of this export, and is left out."
                self._note("kore-unresolved-task", message, number, "Remove it on the platform, or export its task.")
                continue
            annotated = record.get("entities")
            entities = self._spans(annotated, number, written, text) if annotated else ()
            index = self._origin.add((*self._prefix, number, "sentence"))
            yield Sentence(language, WholeLabelExample(text, intent, entities, None, self._origin, index))

    def _spans(self, data: Any, number: int, written: str, text: str) -> tuple[EntityAnnotation, ...]:
        """Return the annotations of a sentence with known borders and names; none if two of them overlap."""
        spans: list[_Span] = []
        units = _Units(written)
        for place, record in records(data):
            start, end = units.index(record.get("startIndex")), units.index(record.get("endIndex"))
            if start is None or end is None or not written[start:end].strip():
                message = f"An annotation of the sentence {shown(text)} lies outside of it; it is left out."
                self._note("kore-span-out-of-range", message, number, _HINT_SPAN, "entities", place)
                continue
            name = self._entities.get(clean(record.get("entityId")))
            if name is None:
                message = f"An annotation of the sentence {shown(text)} names no entity of this export; it is left out."
                self._note("kore-unresolved-entity", message, number, _HINT_SPAN, "entities", place)
                continue
            spans.append(_trimmed(written, start, end, name, place))
        spans.sort(key=lambda span: (span.start, span.end))
        for one, other in pairwise(spans):
            if other.start < one.end:
                message = f"Annotations of the sentence {shown(text)} overlap; none of them is used."
                self._note("kore-span-overlap", message, number, _HINT_SPAN, "entities", other.number)
                return ()
        shift = len(written) - len(written.lstrip())
        return tuple(
            EntityAnnotation(
                span.start - shift, span.end - shift, span.name, text[span.start - shift : span.end - shift]
            )
            for span in spans
        )

    def _note(self, code: str, message: str, number: int, hint: str, *more: Step) -> None:
        path: Sequence[Step] = (number, *(more or ("sentence",)))
        self.faults.append(Fault(code, message, Place(self._file, (*self._prefix, *path)), hint))


def _trimmed(text: str, start: int, end: int, name: str, number: int) -> _Span:
    """A span without leading and trailing spaces that were marked along with the words."""
    marked = text[start:end]
    return _Span(start + len(marked) - len(marked.lstrip()), end - (len(marked) - len(marked.rstrip())), name, number)


class _Units:
    """Converts the platform's offsets, which count UTF-16 code units, to indexes of characters."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        # Hardly any sentence has a character of two units.
        plain = text.isascii() or max(text) <= "\uffff"
        self._starts = None if plain else [0, *accumulate(1 + (character > "\uffff") for character in text)]

    def index(self, offset: Any) -> int | None:
        """Return the index; ``None`` if the offset is not a valid number, or points outside or into a character."""
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            return None
        if self._starts is None:
            return offset if offset <= self._length else None
        index = bisect_left(self._starts, offset)
        return index if index < len(self._starts) and self._starts[index] == offset else None


_WRAPPERS: Final = ("botDefinition", "appDefinition", "app", "bot")
_DIALOGS: Final = ("dialogs", "dialogComponents")
_LEX: Final = frozenset({"voiceId", "clarificationPrompt", "abortStatement", "childDirected"})
_SPECIAL_CONCEPT: Final = "~bot_substitutions"
_FALLBACK_LANGUAGE: Final = "en"


class NotAnExportError(ValueError):
    """A file that is not an export of a Kore.ai assistant; ``finding`` says what it is instead."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


def read_bot(source: Source, language: str | None = None) -> tuple[KoreBot, NluData]:
    """Read an export.

    Args:
        source: its text.
        language: the language whose sentences are read; by default the assistant's default language.

    Raises:
        NotAnExportError: it is something else, or not JSON.
        UserError: the assistant has no such language.
    """
    try:
        file = JsonFile(source)
    except JsonError as error:
        what = f"is not JSON: {error.what[:1].lower()}{error.what[1:]}" if source.text.strip() else "is empty"
        message = f"'{source.path}' {what}."
        location = source.location(error.offset)
        raise NotAnExportError(not_an_export(message, location)) from None
    top, prefix = _unwrapped(file.data)
    if top is None:
        raise NotAnExportError(_what_it_is(file))
    return _Reader(file, top, prefix, language).read()


def _unwrapped(data: Any) -> tuple[Mapping[str, Any] | None, tuple[Step, ...]]:
    """Return the assistant and the path to it; some tools wrap it in another object."""
    if _is_bot(data):
        return data, ()
    for key in _WRAPPERS:
        inner = mapping(data).get(key)
        if _is_bot(inner):
            return mapping(inner), (key,)
    return None, ()


def _is_bot(data: Any) -> bool:
    return isinstance(data, dict) and all(isinstance(data.get(key), list) for key in _DIALOGS)


def _what_it_is(file: JsonFile) -> Finding:
    path = file.source.path
    top = mapping(file.data)
    wanted = "an export of a Kore.ai assistant has the lists 'dialogs' and 'dialogComponents'"
    if "intents" in top and not _LEX.isdisjoint(top):
        what = f"'{path}' is a bot of Amazon Lex, not of Kore.ai"
    elif not isinstance(file.data, dict):
        what = f"'{path}' is not an export of a Kore.ai assistant: its top level is not an object"
    else:
        lacking = [f"'{key}'" for key in _DIALOGS if not isinstance(top.get(key), list)]
        lists, are = ("lists", "are") if len(lacking) > 1 else ("list", "is")
        names = " and ".join(lacking)
        what = f"'{path}' is not an export of a Kore.ai assistant: the {lists} {names} {are} missing"
    hint = f"{wanted[:1].upper()}{wanted[1:]}; name the folder, file or .zip of one with --project."
    return not_an_export(f"{what}.", file.location(), hint)


class _Task(Struct, frozen=True):
    """What a sentence's ``taskId`` refers to: an intent's component. ``dialog``: the ID of its dialog, if any."""

    number: int
    name: str
    former: str
    dialog: str
    reference: str
    rules: int


class _Reader:
    def __init__(self, file: JsonFile, top: Mapping[str, Any], prefix: tuple[Step, ...], language: str | None) -> None:
        self.file = file
        self.top = top
        self.prefix = prefix
        self.faults: list[Fault] = []
        self.default = _default_language(top)
        self.languages = tuple(dict.fromkeys(strings(top.get("supportedLanguages")))) or (self.default,)
        self.language = self._chosen(language)
        self.patterns = self._count_patterns()

    def read(self) -> tuple[KoreBot, NluData]:
        tasks = self._tasks()
        dialogs = self._dialogs(tasks)
        by_task = self._resolved(tasks, dialogs)
        components = list(records(self.top.get("dialogComponents")))
        place = Place(self.file, (*self.prefix, "dialogComponents"))
        by_id = dict(read_entities(components, self.language, place))
        reader = SentenceReader(
            self.file, self.prefix, self.default, by_task, {one: entity.name for one, entity in by_id.items()}
        )
        sentences = list(reader.read(self.top.get("sentences")))
        utterances = tuple(sentence.example for sentence in sentences if sentence.language == self.language)
        taught = Counter(utterance.intent for utterance in utterances)
        knowledge = KnowledgeReader(self.file, self.prefix, self.language)
        questions = list(knowledge.questions(self.top.get("knowledgeTasks")))
        phrases: dict[str, tuple[Example, ...]] = {self.language: tuple(knowledge.examples)}
        small_talk = list(knowledge.small_talk(self.top.get("smallTalk")))
        taught_beside = tuple(knowledge.examples)
        traits = list(knowledge.traits(self.top.get("traits")))
        own = [replace(intent, examples=taught[intent.name]) for intent in dialogs.values()]
        self.faults += (*reader.faults, *knowledge.faults)
        phrases |= self._phrases_elsewhere()
        self._check_languages()
        self._check_exported()
        self._check_dialogs(own)
        synonyms = mapping(in_language(self.top, self.language).get("synonyms"))
        bot = KoreBot(
            name=self._name(),
            path=self.file.source.path,
            languages=self.languages,
            default=self.default,
            language=self.language,
            intents=(*own, *questions, *small_talk, *(intent for _, intent in traits)),
            entities=tuple(by_id.values()),
            traits=tuple(trait for trait, _ in traits),
            utterances=utterances,
            phrases=phrases,
            others=self._taught_elsewhere(sentences),
            patterns=sum(self.patterns.values()),
            concepts=sum(1 for word in synonyms if word.startswith("~") and word != _SPECIAL_CONCEPT),
            rules=sum(task.rules for task in tasks.values()),
            is_universal=self.top.get("type") == "universalbot",
            links=tuple(self._links()),
            faults=tuple(self.faults),
            disabled=tuple(knowledge.disabled),
            thresholds=tuple(self._thresholds()),
        )
        return bot, self._nlu(bot, (*utterances, *taught_beside))

    def _taught_elsewhere(self, sentences: Iterable[Sentence]) -> dict[str, tuple[Example, ...]]:
        """Return the examples in the other languages, by language."""
        others: dict[str, list[Example]] = {}
        for sentence in sentences:
            if sentence.language != self.language:
                others.setdefault(sentence.language, []).append(sentence.example)
        return {name: tuple(examples) for name, examples in sorted(others.items())}

    def _phrases_elsewhere(self) -> dict[str, tuple[Example, ...]]:
        """Return the phrases of questions in the other languages; their faults are noted."""
        phrases: dict[str, tuple[Example, ...]] = {}
        for language in self._other_languages():
            unjudged = KnowledgeReader(self.file, self.prefix, language)
            deque(unjudged.questions(self.top.get("knowledgeTasks")), maxlen=0)
            phrases[language] = tuple(unjudged.examples)
            deque(unjudged.small_talk(self.top.get("smallTalk")), maxlen=0)
            self.faults += unjudged.faults
        return phrases

    def _nlu(self, bot: KoreBot, examples: Sequence[Any]) -> NluData:
        synonyms, lookups, regexes = [], [], []
        location = Location(bot.path)
        for entity in bot.entities:
            if entity.values:
                words = [word for _, all_of_one in entity.values for word in all_of_one]
                lookups.append(Lookup(entity.name, tuple(dict.fromkeys(words)), location))
                synonyms += [Synonym(value, word, location) for value, of_one in entity.values for word in of_one]
            if entity.pattern is not None:
                regexes.append(Regex(entity.name, entity.pattern, location))
        return NluData(tuple(examples), tuple(synonyms), tuple(regexes), tuple(lookups))

    # --- the assistant ------------------------------------------------------------------------------------------------

    def _chosen(self, language: str | None) -> str:
        spoken = dict.fromkeys((*self.languages, self.default, *mapping(self.top.get("localeData"))))
        if language is None or language in spoken:
            return language or self.default
        raise UserError(
            f"the assistant has no language '{language}'",
            location=Location(self.file.source.path),
            hint=suggestion(language, spoken) or f"Its languages are: {', '.join(spoken)}.",
        )

    def _other_languages(self) -> list[str]:
        """Return the other languages in which the assistant has questions or small talk."""
        tasks = (record for key in ("knowledgeTasks", "smallTalk") for _, record in records(self.top.get(key)))
        return sorted({clean(record.get("language")) for record in tasks} - {"", self.language})

    def _name(self) -> str:
        for language in (self.default, self.language, *mapping(self.top.get("localeData"))):
            if name := clean(in_language(self.top, language).get("name")):
                return name
        return ""

    def _links(self) -> list[str]:
        details = [record for _, record in records(self.top.get("linkedBotsDetails"))]
        names = (clean(detail.get("botName")) or clean(detail.get("name")) for detail in details)
        return [name for name in names if name]

    def _thresholds(self) -> Iterator[dict[str, str]]:
        """Yield the settings of the platform's engines that its report of a run has, as written in JSON."""
        own = in_language(self.top, self.language).get("confidenceConfigs") or self.top.get("confidenceConfigs")
        by_mode = {clean(record.get("mode")): record for _, record in records(own)}
        for mode in THRESHOLD_MODES:
            if (record := by_mode.get(mode)) is not None:
                known = {key: record[key] for key in THRESHOLDS if isinstance(record.get(key), int | float)}
                yield {"mode": mode, **{key: dumps(value) for key, value in known.items()}}

    def _count_patterns(self) -> Counter[str]:
        """Return how many patterns each component has, by its ``refId``."""
        counted: Counter[str] = Counter()
        for _, record in records(self.top.get("patterns")):
            found = list(records(in_language(record, self.language).get("patterns")))
            if found:
                counted[clean(record.get("refId"))] += len(found)
        return counted

    # --- dialogs ------------------------------------------------------------------------------------------------------

    def _tasks(self) -> dict[str, _Task]:
        """Return the components of intents by ID."""
        tasks = {}
        for number, record in records(self.top.get("dialogComponents")):
            if record.get("type") == "intent":
                rules = in_language(record, self.language).get("traitRules")
                former = clean(record.get("name"))
                said = clean(in_language(record, self.default).get("intent"))
                tasks[clean(record.get("_id"))] = _Task(
                    number,
                    said or clean(in_language(record, self.language).get("intent")) or former,
                    former,
                    clean(record.get("dialogId")),
                    clean(record.get("refId")),
                    len(rules) if isinstance(rules, list) else 0,
                )
        return tasks

    def _dialogs(self, tasks: Mapping[str, _Task]) -> dict[str, KoreIntent]:
        """Return the dialogs by ID, each as an intent."""
        by_dialog: dict[str, list[_Task]] = {}
        for task in tasks.values():
            by_dialog.setdefault(task.dialog, []).append(task)
        dialogs: dict[str, KoreIntent] = {}
        for number, record in records(self.top.get("dialogs")):
            own = by_dialog.get(clean(record.get("_id")), []) if record.get("_id") else []
            others = {
                language: name
                for language, value in mapping(record.get("localeData")).items()
                if (name := clean(mapping(value).get("name")))
            }
            name = others.get(self.default) or next((task.name for task in own if task.name), "")
            name = name or next(iter(others.values()), "") or clean(record.get("lname"))
            if not name:
                continue
            aliases = dict.fromkeys((*others.values(), *(task.former for task in own), *(task.name for task in own)))
            path = (*self.prefix, "dialogs", number)
            named = "localeData" if record.get("localeData") else "lname"
            path = (*path, named, self.default, "name") if named == "localeData" else (*path, named)
            dialogs[clean(record.get("_id")) or f"#{number}"] = KoreIntent(
                name,
                "dialog",
                0,
                Place(self.file, path),
                hidden=record.get("isHidden") is True,
                stub=not isinstance(record.get("nodes"), list),
                patterns=sum(self.patterns[task.reference] for task in own),
                aliases=tuple(alias for alias in aliases if alias and alias != name),
            )
        return dialogs

    def _resolved(self, tasks: Mapping[str, _Task], dialogs: dict[str, KoreIntent]) -> dict[str, str]:
        """Return the intent of each task: its dialog's, else that of the dialog with its name, else one of its own.

        A task without any dialog is an intent only if it has training sentences.
        """
        used = {clean(record.get("taskId")) for _, record in records(self.top.get("sentences"))}
        by_name: dict[str, str] = {}
        for intent in dialogs.values():
            for name in (intent.name, *intent.aliases):
                by_name.setdefault(comparable(name), intent.name)
        resolved: dict[str, str] = {}
        for identifier, task in tasks.items():
            if task.dialog in dialogs:
                resolved[identifier] = dialogs[task.dialog].name
            elif (known := by_name.get(comparable(task.name)) or by_name.get(comparable(task.former))) is not None:
                resolved[identifier] = known
            elif task.name and identifier in used:
                place = Place(self.file, (*self.prefix, "dialogComponents", task.number, "name"))
                aliases = (task.former,) if task.former not in {"", task.name} else ()
                patterns = self.patterns[task.reference]
                intent = KoreIntent(task.name, "dialog", 0, place, patterns=patterns, aliases=aliases)
                dialogs[f"#{identifier}"] = intent
                by_name[comparable(task.name)] = resolved[identifier] = task.name
        return resolved

    # --- what is missing ----------------------------------------------------------------------------------------------

    def _check_languages(self) -> None:
        reported: set[str] = set()
        supported = {*self.languages, self.default}
        for number, record in records(self.top.get("sentences")):
            language = clean(record.get("language"))
            if language and language not in supported and language not in reported:
                reported.add(language)
                message = f"There are sentences in the language '{language}', which the assistant does not support."
                place = Place(self.file, (*self.prefix, "sentences", number, "language"))
                hint = "Enable the language on the platform, or remove its sentences."
                self.faults.append(Fault("kore-language-not-supported", message, place, hint))

    def _check_dialogs(self, dialogs: Iterable[KoreIntent]) -> None:
        self.faults += [
            Fault(
                "kore-dialog-stub",
                f"The dialog {shown(dialog.name)} has not been built: it has no nodes.",
                dialog.place,
            )
            for dialog in dialogs
            if dialog.stub
        ]

    def _check_exported(self) -> None:
        """Report sentences that the assistant has and the export lacks, since the export was made without them."""
        options = mapping(self.top.get("exportOptions")).get("nlpData")
        if not isinstance(options, list) or "utterances" in options:
            return
        said = mapping(in_language(self.top, self.default).get("nlMeta")).get("mlUtterances")
        there = self.top.get("sentences")
        held = sum(clean(record.get("language")) in {"", self.default} for _, record in records(there))
        if isinstance(said, int) and not isinstance(said, bool) and said > held:
            message = f"The assistant has {said} utterances, and the export holds {held}: they were not exported."
            place = Place(self.file, (*self.prefix, "localeData", self.default, "nlMeta", "mlUtterances"))
            hint = "Export it again, with the utterances among the NLP data."
            self.faults.append(Fault("kore-utterances-not-exported", message, place, hint))


def _default_language(top: Mapping[str, Any]) -> str:
    spoken: Iterable[str] = (
        clean(top.get("defaultLanguage")),
        *strings(top.get("supportedLanguages")),
        *map(clean, mapping(top.get("localeData"))),
    )
    return next((language for language in spoken if language), _FALLBACK_LANGUAGE)


# The export in the ``.zip`` that the platform provides: read within limits, never unpacked to a folder.

MAX_MEMBERS: Final = 10_000
"""A zip with more entries is not searched; an export has three."""

_DEEPEST: Final = 2
"""How deep in folders the file may be, in case somebody packed a folder."""
_MAGIC: Final = b"PK\x03\x04"
_ENCRYPTED: Final = 0x1


class ArchiveError(ValueError):
    """A zip that cannot be read; the message says why, as the end of a sentence."""


def is_archive(content: bytes) -> bool:
    """Whether these are the bytes of a zip."""
    return content.startswith(_MAGIC)


def holds_export(content: bytes) -> bool:
    """Whether a zip has an export in it."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _export_of(archive) is not None
    except (zipfile.BadZipFile, ArchiveError, ValueError, OSError, NotImplementedError):
        return False


def read_export(content: bytes, limit: int) -> tuple[str, bytes]:
    """Return the name of the export in a zip and its content, of at most ``limit`` bytes.

    Raises:
        ArchiveError: it is damaged, encrypted, too large, or holds no export.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            member = _export_of(archive)
            if member is None:
                raise ArchiveError(f"holds neither {KORE.export_names[0]} nor {KORE.export_names[1]}")
            if member.flag_bits & _ENCRYPTED:
                raise ArchiveError("is encrypted")
            with archive.open(member) as file:
                unpacked = file.read(limit + 1)  # the size in the zip's directory may be wrong
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError, ValueError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError("is damaged, or packed in a way that cannot be read") from None
    if len(unpacked) > limit:
        raise ArchiveError(f"unpacks to more than {limit:,} bytes")
    return member.filename, unpacked


def _export_of(archive: zipfile.ZipFile) -> zipfile.ZipInfo | None:
    """The topmost export."""
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise ArchiveError(f"has more than {MAX_MEMBERS:,} entries")
    found = [
        (len(path.parts), member.filename, member)
        for member in members
        if (path := PurePosixPath(member.filename)).name in KORE.export_names and len(path.parts) <= _DEEPEST + 1
    ]
    return min(found, key=lambda one: one[:2])[2] if found else None
