"""Which of Botium's files belong together: the suites of a project, each with its settings."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location
from turncheck.messages.phrasing import not_one_of
from turncheck.process.regular_file import is_file
from turncheck.project.botium.ignored import is_ignored
from turncheck.project.botium.lines import FileLines, read_convo, read_memory, read_utterances
from turncheck.project.botium.model import NAMES, Capabilities, Convo, MemoryRow, Plugins, UtteranceList
from turncheck.project.botium.objects import read_objects
from turncheck.project.botium.others import is_in_another_format, not_read
from turncheck.project.botium.patterns import as_pattern, why_not_read
from turncheck.project.botium.vocabulary import ASSIGN, MODES, has_call
from turncheck.project.folder import absolute_name, is_foreign
from turncheck.project.project_file import BOTIUM_FILES, BOTIUM_SETTINGS, SUITE_FOLDERS, is_in_objects
from turncheck.yaml_tree.json_tree import parse_json
from turncheck.yaml_tree.shapes import pattern_problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turncheck.project.folder import ProjectFolder
    from turncheck.yaml_tree.source import Source

CONVO, PARTIAL, UTTERANCES, _MEMORY = BOTIUM_FILES
_SKIPPED: Final = re.compile(r"skip[.\-_]", re.IGNORECASE)
_EXPANSIONS: Final = ("all", "first", "index", "random")


def is_botium(path: PurePath) -> bool:
    """Whether this is the name of a file in BotiumScript that Botium reads."""
    return path.name.endswith(BOTIUM_FILES) and not is_skipped(path.name)


def is_skipped(name: str) -> bool:
    """Whether a file or a conversation of this name is left out, as its author wants it."""
    return _SKIPPED.match(name) is not None


MOST_SECTIONS: Final = 200_000
"""The test cases of a suite may have this many sections together."""


MOST_TEXTS: Final = 500_000
"""Its utterance lists may have this many texts, each list as often as it is named with other arguments."""


class FaultyConvoError(Exception):
    """A conversation that stands for no test cases; the finding says why."""

    def __init__(self, message: str, location: Location, hint: str = "") -> None:
        super().__init__(message)
        self.finding = Finding("botium-syntax", "error", message, location, hint)


class Room(Struct):
    """How many sections and texts a suite may still have: a few files may stand for very many."""

    left: int = MOST_SECTIONS
    texts: int = MOST_TEXTS

    def takes_texts(self, texts: int) -> bool:
        """Whether there is room for so many more."""
        self.texts -= texts
        return self.texts >= 0

    def takes(self, sections: int) -> bool:
        """Whether there is room for so many more."""
        self.left -= sections
        return self.left >= 0


class Suite(Struct, frozen=True):
    """Files that use each other's utterance lists, partial conversations and values."""

    convos: dict[str, tuple[Convo, ...]] = field(default_factory=dict)
    """By the paths of their files."""
    partials: dict[str, Convo] = field(default_factory=dict)
    utterances: dict[str, UtteranceList] = field(default_factory=dict)
    rows: tuple[MemoryRow, ...] = ()
    settings: Capabilities = field(default_factory=Capabilities)
    memory_from: Location | None = None
    """What makes ``$name`` a value: ``botium.json`` or, where there is none, the first place that sets or calls any."""
    findings: tuple[Finding, ...] = ()
    room: Room = field(default_factory=Room)
    known_texts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The texts of lists by what names them, once they have been asked for."""

    @property
    def uses_memory(self) -> bool:
        """Whether ``$name`` is a value."""
        return self.memory_from is not None

    def texts(self, written: str) -> tuple[str, ...] | None:
        """Return the texts of the utterance list that is named, with its arguments filled in; ``None`` if none is.

        Raises:
            FaultyConvoError: there would be too many, each list with many arguments.
        """
        utterance_list = self.utterance_list(written)
        if utterance_list is None:
            return None
        if (known := self.known_texts.get(written)) is not None:
            return known
        if not self.room.takes_texts(len(utterance_list.texts)):
            message = f"The utterance lists of these files would have more than {MOST_TEXTS:,} texts."
            raise FaultyConvoError(message, utterance_list.location, "Name them with fewer arguments.")
        args = () if written in self.utterances else written.split(" ")[1:]
        found = self.known_texts[written] = tuple(filled(text, args) for text in utterance_list.texts)
        return found

    def utterance_list(self, written: str) -> UtteranceList | None:
        """Return the list with this name, or that whose name is the first word."""
        return self.utterances.get(written) or self.utterances.get(written.split(" ", maxsplit=1)[0])


_PLACE: Final = re.compile(r"%[sdifjoOc%]")


def filled(text: str, args: tuple[str, ...] | list[str]) -> str:
    """Put arguments into the places ``%s`` of a text; what is left over follows it, as in Node's ``util.format``."""
    left = list(args)

    def place(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%" if args else "%%"
        return left.pop(0) if left else match[0]

    return " ".join((_PLACE.sub(place, text), *left))


class Suites:
    """Reads each suite once.

    A suite is the folder that was asked for, the project's folder of tests, or a folder in it with a ``botium.json``.
    """

    def __init__(self, folder: ProjectFolder, given: Iterable[Path]) -> None:
        self._folder = folder
        tests = (folder.root / name for name in SUITE_FOLDERS)
        self._tops = [absolute_name(path) for path in (*given, *tests)]
        self._read: dict[str, Suite] = {}

    def of(self, path: Path) -> Suite:
        """Return the suite of a file."""
        file = Path(absolute_name(path))
        top = next((Path(top) for top in self._tops if file.is_relative_to(top) and file != Path(top)), file.parent)
        between = [place for place in file.parents if place.is_relative_to(top)]
        home = next((place for place in between if is_file(place / BOTIUM_SETTINGS)), top)
        if str(home) not in self._read:
            self._read[str(home)] = self._suite(home)
        return self._read[str(home)]

    @property
    def findings(self) -> list[Finding]:
        """What is wrong in the files that conversations share, and with the conversations that cannot be read."""
        return [finding for suite in self._read.values() for finding in suite.findings]

    def _suite(self, home: Path) -> Suite:
        reader = _SuiteReader(self._folder, self._settings(home))
        others: list[Path] = []
        for file, fence, _ in self._folder.files([home], skip=lambda folder: _is_apart(folder, home)):
            if is_ignored(self._folder, home, file):
                continue
            if is_botium(file):
                reader.read(file, fence)
            elif not is_skipped(file.name) and is_in_objects(file.name, partial(self._folder.content, file, fence)):
                reader.read_objects(file, fence)
            elif not is_skipped(file.name) and is_in_another_format(
                file.name, partial(self._folder.content, file, fence)
            ):
                others.append(file)
        return reader.suite(others)

    def _settings(self, home: Path) -> Capabilities:
        """Read the nearest ``botium.json``, which may be above the suite, but not above the project."""
        root = Path(absolute_name(self._folder.root))
        above = [path for path in (home, *home.parents) if path == home or path.is_relative_to(root)]
        file = next((place / BOTIUM_SETTINGS for place in above if is_file(place / BOTIUM_SETTINGS)), None)
        content = None if file is None else self._folder.read_bytes(file)
        if file is None or content is None:
            return Capabilities()
        source = self._folder.decode(self._folder.name(file), content)
        if source is None:
            return Capabilities()
        read = _Settings(source)
        self._folder.findings += read.findings
        return read.capabilities


def _is_apart(folder: Path, home: Path) -> bool:
    return is_foreign(folder) or (folder != home and is_file(folder / BOTIUM_SETTINGS))


class _SuiteReader:
    def __init__(self, folder: ProjectFolder, settings: Capabilities) -> None:
        self._folder = folder
        self._settings = settings
        self._convos: dict[str, tuple[Convo, ...]] = {}
        self._partials: dict[str, Convo] = {}
        self._utterances: dict[str, UtteranceList] = {}
        self._rows: list[MemoryRow] = []
        self._findings: list[Finding] = []

    def _source(self, path: Path, fence: Path) -> Source | None:
        content = self._folder.read_bytes(path, fence=fence)
        return None if content is None else self._folder.decode(self._folder.name(path), content)

    def read_objects(self, path: Path, fence: Path) -> None:
        """Read a file in YAML or JSON into the suite."""
        source = self._source(path, fence)
        if source is None:
            return
        found = read_objects(source, self._settings.plugins, self._settings.memory_columns)
        if found.convos:
            self._convos[source.path] = tuple(found.convos)
        for partial_convo in found.partials:
            self._take_partial(found.file, partial_convo)
        for utterance_list in found.utterances:
            self._take_utterances(utterance_list)
        self._rows += found.rows
        self._findings += found.file.findings

    def read(self, path: Path, fence: Path) -> None:
        """Read one file into the suite."""
        source = self._source(path, fence)
        if source is None:
            return
        file = FileLines.of(source)
        if path.name.endswith(CONVO):
            convo = read_convo(file, self._settings.plugins)
            if convo is not None:
                self._convos[source.path] = (convo,)
        elif path.name.endswith(PARTIAL):
            self._take_partial(file, read_convo(file, self._settings.plugins))
        elif path.name.endswith(UTTERANCES):
            self._take_utterances(read_utterances(file))
        else:
            self._rows += read_memory(file, self._settings.memory_columns)
        self._findings += file.findings

    def _take_partial(self, file: FileLines, convo: Convo | None) -> None:
        if convo is None:
            return
        place = convo.location
        if not convo.name:
            file.fault_at(
                place, "The partial conversation has no name.", "Its first line is the name to include it by."
            )
        elif "|" in convo.name:
            file.fault_at(
                place, f"'{convo.name}' cannot be the name of a partial conversation.", "Write it without '|'."
            )
        elif (other := self._partials.get(convo.name)) is not None:
            file.fault_at(place, f"The partial conversation '{convo.name}' appears twice, first in {other.location}.")
        else:
            self._partials[convo.name] = convo

    def _take_utterances(self, utterance_list: UtteranceList | None) -> None:
        if utterance_list is None:
            return
        known = self._utterances.get(utterance_list.name)
        if known is None:
            self._utterances[utterance_list.name] = utterance_list
            return
        texts = tuple(dict.fromkeys((*known.texts, *utterance_list.texts)))
        files, path = dict(known.by_file), utterance_list.location.path
        files[path] = (*files.get(path, ()), *texts[len(set(known.texts)) :])
        self._utterances[known.name] = UtteranceList(known.name, texts, known.location, files)

    def suite(self, others: list[Path]) -> Suite:
        """Return what was read."""
        if others:
            self._findings.append(not_read(sorted(self._folder.name(path) for path in others)))
        for name in self._settings.plugins.everywhere:
            message = f"The plug-in '{name}' takes part in every conversation of Botium's, but not in these."
            location = self._settings.location or Location(BOTIUM_SETTINGS)
            self._findings.append(Finding("botium-not-judged", "warning", message, location))
        rows = tuple(self._rows)
        memory_from = next(self._memory_from(), None)
        if memory_from is not None:
            self._findings += _faults_of_rows(rows)
        elif rows:
            message = "The table has no effect: SCRIPTING_ENABLE_MEMORY is not set in botium.json."
            hint = "Set it to true, or remove the table."
            self._findings.append(Finding("botium-doubtful", "warning", message, rows[0].location, hint))
        findings = tuple(self._findings)
        return Suite(self._convos, self._partials, self._utterances, rows, self._settings, memory_from, findings)

    def _memory_from(self) -> Iterator[Location]:
        """Yield what makes ``$name`` a value."""
        if self._settings.memory is not None:
            if self._settings.memory:
                yield self._settings.location or Location(BOTIUM_SETTINGS)
            return
        convos = (*(convo for file in self._convos.values() for convo in file), *self._partials.values())
        setting = {"SET_SCRIPTING_MEMORY", ASSIGN}
        sections = [section for convo in convos for section in convo.sections]
        yield from (row.location for row in self._rows)
        yield from (hook.location for section in sections for hook in section.hooks if hook.name in setting)
        yield from (section.location for section in sections if section.text and has_call(section.text))
        for one in self._utterances.values():
            for path, texts in one.by_file.items():
                yield from (Location(path, 1) for text in texts if has_call(text))


def _faults_of_rows(rows: Sequence[MemoryRow]) -> Iterator[Finding]:
    """Yield an error for each row with the name of another one, and for each that shares only some variables."""
    known: dict[tuple[str, tuple[str, ...]], MemoryRow] = {}
    tables: dict[frozenset[str], MemoryRow] = {}
    for row in rows:
        names = frozenset(row.values)
        key = row.name, tuple(row.values)
        if key in known:
            message = f"The row '{row.name}' appears twice, first in {known[key].location}."
            yield Finding("botium-syntax", "error", message, row.location, "Give each row a name of its own.")
        for other_names, other in () if names in tables else tables.items():
            if shared := sorted(names & other_names):
                message = (
                    f"The row '{row.name}' has a value for '{shared[0]}', and so has the table in {other.location}."
                )
                hint = "Tables have the same variables, or none in common."
                yield Finding("botium-syntax", "error", message, row.location, hint)
        known.setdefault(key, row)
        tables.setdefault(names, row)


class _Settings:
    """The settings in a ``botium.json``, and what is wrong with them."""

    def __init__(self, source: Source) -> None:
        self.findings: list[Finding] = []
        self.place = Location(source.path, 1, 1)
        document = parse_json(source)
        for fault in document.faults:
            message = f"'{source.path}' is not JSON: {fault.what}."
            self.findings.append(Finding("botium-syntax", "error", message, fault.location, fault.hint))
        data = document.root.data if document.root is not None else None
        botium = data.get("botium") if isinstance(data, dict) else None
        given = botium.get("Capabilities") if isinstance(botium, dict) else None
        self._given: dict[str, Any] = given if isinstance(given, dict) else {}
        self.capabilities = self._read()

    def _read(self) -> Capabilities:
        removed = self._given.get("SCRIPTING_NORMALIZE_TEXT_REMOVE_CHARACTERES")
        arguments = self._given.get("SCRIPTING_MATCHING_MODE_ARGS")
        memory = self._given.get("SCRIPTING_ENABLE_MEMORY", False)
        return Capabilities(
            matching=self._choice("SCRIPTING_MATCHING_MODE", MODES, "wildcardIgnoreCase"),
            word_errors=str(arguments[0]) if isinstance(arguments, (list, tuple)) and arguments else "",
            normalised=bool(self._given.get("SCRIPTING_NORMALIZE_TEXT", True)),
            removed_characters=_characters(removed),
            removed_pattern=self._pattern("SCRIPTING_NORMALIZE_TEXT_REMOVE_REGEXP"),
            memory=bool(memory),
            memory_words=self._text("SCRIPTING_MEMORY_MATCHING_MODE"),
            memory_columns=self._text("SCRIPTING_MEMORY_COLUMN_MODE"),
            keeps_originals=self._given.get("SCRIPTING_MEMORYEXPANSION_KEEP_ORIG") is True,
            expansion=self._choice("SCRIPTING_UTTEXPANSION_MODE", _EXPANSIONS, "all"),
            random_count=self._number("SCRIPTING_UTTEXPANSION_RANDOM_COUNT", 1),
            names_texts=self._text("SCRIPTING_UTTEXPANSION_NAMING_MODE") not in {"", "justLineTag"},
            longest_name=self._number("SCRIPTING_UTTEXPANSION_NAMING_UTTERANCE_MAX", 16),
            all_consumed=bool(self._given.get("SCRIPTING_FORCE_BOT_CONSUMED")),
            goes_on=bool(self._given.get("SCRIPTING_ENABLE_SKIP_ASSERT_ERRORS")),
            given={**NAMES, **self._given},
            plugins=self._plugins(),
            location=self.place,
        )

    def _text(self, name: str) -> str:
        value = self._given.get(name)
        return value if isinstance(value, str) else ""

    def _pattern(self, name: str) -> str:
        written = self._text(name)
        if why_not_read(written, by_code_point=True):
            return written  # each conversation says that it is not judged
        problem = pattern_problem(as_pattern(written, by_code_point=True), for_re=False)
        if problem is None:
            return written
        message = f"{name}: '{written}' is not a regular expression: {problem}."
        self.findings.append(Finding("botium-syntax", "error", message, self.place))
        return ""

    def _number(self, name: str, usual: int) -> int:
        value = self._given.get(name)
        text = str(value)
        return int(text) if isinstance(value, (int, str)) and text.isascii() and text.isdigit() else usual

    def _choice(self, name: str, choices: tuple[str, ...], usual: str) -> str:
        value = self._given.get(name, usual)
        if value in choices:
            return str(value)
        message = f"{name}: {not_one_of(str(value), choices)}"
        self.findings.append(Finding("botium-syntax", "error", message, self.place))
        return usual

    def _plugins(self) -> Plugins:
        kinds = {}
        everywhere: list[str] = []
        for key in ("ASSERTERS", "LOGIC_HOOKS", "USER_INPUTS"):
            entries = self._given.get(key)
            named = [
                entry for entry in (entries if isinstance(entries, (list, tuple)) else ())
                if isinstance(entry, dict) and isinstance(entry.get("ref"), str)
            ]  # fmt: skip
            kinds[key] = frozenset(str(entry["ref"]) for entry in named)
            everywhere += [str(entry["ref"]) for entry in named if entry.get("global") and key != "USER_INPUTS"]
        return Plugins(kinds["ASSERTERS"], kinds["LOGIC_HOOKS"], kinds["USER_INPUTS"], tuple(everywhere))


def _characters(value: Any) -> tuple[str, ...]:
    """Return the texts that are taken out of messages: a list, or separated with commas (``/,`` is one itself)."""
    if isinstance(value, (list, tuple)):
        return tuple(str(one) for one in value)
    if not isinstance(value, str):
        return ()
    parts = (part.strip().replace("/,", ",").replace("//", "/") for part in re.split(r"(?<!/),", value))
    return tuple(part for part in parts if part) or (value,)
