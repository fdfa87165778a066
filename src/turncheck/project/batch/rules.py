"""The rules for suites, the same for JSON and CSV: what was written → cases and findings."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from turncheck.messages.finding import Finding, Location, Severity
from turncheck.messages.phrasing import count, nearest
from turncheck.project.batch.model import (
    MAX_ALTERNATIVES,
    MAX_CASES,
    MAX_INPUT,
    ExpectedEntity,
    SuiteCase,
    comparable,
    why_unusual,
)
from turncheck.yaml_tree.json_tree import TYPOGRAPHIC_QUOTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


# The content of a suite's field → its parts. The delimiters are the same in JSON and CSV.

_TRAIT: Final = re.compile(r"\s*trait\s*:", re.IGNORECASE)
_BETWEEN_TRAITS: Final = "||"
_BETWEEN_LEVELS: Final = re.compile(r"\|\||>>")
_SINGLE_PIPE: Final = re.compile(r"(?<!\|)\|(?!\|)")
_COMPONENT: Final = re.compile(r"\s*[^:|\s][^:|]*:")
_BRACE_FOR_PIPE: Final = re.compile(r"^[^{}]*(\})\s*[^\W\d]\w*\s*:")
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Zl", "Zp", "Co", "Cs"})


class IntentField(Struct, frozen=True):
    """The content of ``intent``: alternatives, or traits. ``is_blank``: it is empty, without even ``None``."""

    names: tuple[str, ...]
    is_trait: bool = False
    is_blank: bool = False
    has_double_pipe: bool = False


def read_intent(text: str) -> IntentField:
    """Read ``Pay Bill | Book Flight``, ``trait: A||B``, ``None``."""
    if prefix := _TRAIT.match(text):
        traits = _trimmed(text[prefix.end() :].split(_BETWEEN_TRAITS))
        return IntentField(() if _is_none(traits) else traits, is_trait=True)
    names = _trimmed(_SINGLE_PIPE.split(text))
    return IntentField(() if _is_none(names) else names, is_blank=not names, has_double_pipe=_BETWEEN_TRAITS in text)


def read_parent(text: str) -> tuple[str, ...]:
    """Read the levels above a sub-intent, topmost first: ``Greeting >> That's sweet``, or with ``||``."""
    return _trimmed(_BETWEEN_LEVELS.split(text))


def read_bots(text: str) -> tuple[str, ...]:
    """Read one bot name per intent."""
    return _trimmed(text.split("|"))


def read_order(text: str) -> tuple[str, ...]:
    """Read the order of entities as written in CSV: ``TransferAmount>PayeeName``."""
    return _trimmed(text.split(">"))


def items_of(value: str) -> tuple[str, ...]:
    """Return the items of a multi-item entity's value; for any other value, only the value itself."""
    return tuple(part.strip() for part in value.split("||")) if "||" in value else (value.strip(),)


def components_of(value: str) -> tuple[tuple[str, str], ...]:
    """Return the names and values of a composite entity's components; empty if the value is not composite.

    It is composite if there are several parts separated by single ``|``, all of the form ``name:value``.

    >>> components_of("City:Oslo|At:12:30")
    (('City', 'Oslo'), ('At', '12:30'))
    """
    parts = _SINGLE_PIPE.split(value)
    if len(parts) < 2 or "||" in value or not all(_COMPONENT.match(part) for part in parts):
        return ()
    cut = (part.partition(":") for part in parts)
    return tuple((name.strip(), of_it.strip()) for name, _, of_it in cut)


def brace_for_pipe(value: str) -> int | None:
    """Return where a composite value has ``}`` in place of the ``|`` between two components, or ``None``."""
    begin = 0
    for part in _SINGLE_PIPE.split(value):
        if not _COMPONENT.match(part):
            return None
        if slip := _BRACE_FOR_PIPE.match(part):
            return begin + slip.start(1)
        begin += len(part) + 1
    return None


def invisible_characters(name: str) -> str:
    """Return a name with its invisible and easily confused characters escaped; "" if it has none."""
    if not any(_is_invisible(character) for character in name):
        return ""
    return "".join(_escaped(one) if _is_invisible(one) else one for one in name)


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _is_invisible(character: str) -> bool:
    return character in TYPOGRAPHIC_QUOTES or unicodedata.category(character) in _INVISIBLE


def _trimmed(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(trimmed for part in parts if (trimmed := part.strip()))


def _is_none(names: tuple[str, ...]) -> bool:
    return len(names) == 1 and names[0].casefold() == "none"


KEYS: Final = ("input", "intent", "parentIntent", "entities", "entityOrder", "botName")
ENTITY_KEYS: Final = ("entityName", "entityValue")
GENERATED: Final = "generated"
"""turncheck's own key and column for what ``suite suggest`` generated; the platform does not know it."""
_OTHER_WORDS: Final = {
    "utterance": "input",
    "utterances": "input",
    "text": "input",
    "sentence": "input",
    "message": "input",
    "query": "input",
    "expectedintent": "intent",
    "task": "intent",
    "parent": "parentIntent",
    "order": "entityOrder",
    "bot": "botName",
    "entity": "entityName",
    "value": "entityValue",
}
_MOST_SHOWN: Final = 60
_SPECIAL: Final = '<>{}[]()#$%^*=+\\/"'


def _why_unusual(name: str) -> str | None:
    """An FAQ is expected by its question, which has the words that it needs."""
    return None if name.rstrip().endswith("?") else why_unusual(name, "".join(c for c in _SPECIAL if c in name))


class Written(Struct, frozen=True):
    """A string and where it is."""

    text: str
    location: Location


class WrittenEntity(Struct, frozen=True):
    """An entity as written; an absent or empty name or value is ``None``."""

    name: Written | None
    value: Written | None
    location: Location
    hint: str = ""


class WrittenCase(Struct):
    """A case as written, its fields not yet parsed; ``order`` has one position per entity.

    ``hint``: what to do if it has no input.
    """

    location: Location
    input: Written | None = None
    intent: Written | None = None
    parent: Written | None = None
    bots: Written | None = None
    entities: list[WrittenEntity] = field(default_factory=list)
    order: list[Written] = field(default_factory=list)
    generated: bool = False
    hint: str = "Write the utterance."


_OF_DIALOG_GPT: Final = {
    "utterance": "input",
    "utterances": "input",
    "input": "input",
    "expectedintent": "intent",
    "expectedintents": "intent",
    "intent": "intent",
    "linkedapp": "botName",
    "linkedapps": "botName",
}
_FULFILMENTS: Final = frozenset(
    f"{word}{what}" for word in ("fulfillment", "fulfilment") for what in ("category", "type", "")
)
MAX_OF_DIALOG_GPT: Final = 5
"""The most intents of one utterance in a suite for the engine DialogGPT."""


def names_of_dialog_gpt(names: Iterable[str]) -> dict[str, str]:
    """Return our names for the columns or keys of a suite for the engine DialogGPT; empty for any other suite.

    Such a suite has the kind of answer that each utterance gets (``Fulfillment Type``).
    """
    bare = {name: _bare(name) for name in names}
    if _FULFILMENTS.isdisjoint(bare.values()):
        return {}
    return {name: _OF_DIALOG_GPT.get(key, "") for name, key in bare.items()}


def _bare(name: str) -> str:
    return name.replace(" ", "").replace("_", "").replace("-", "").casefold()


def meant_key(name: str) -> str:
    """Return ``Did you mean 'x'?`` for a key or column that is close to a known one, else an empty string."""
    known = (*KEYS, *ENTITY_KEYS)
    bare = name.replace(" ", "").replace("_", "").casefold()
    same = [key for key in known if key.casefold() == bare]
    near = same or ([_OTHER_WORDS[bare]] if bare in _OTHER_WORDS else list(nearest(name, known)))
    return f"Did you mean '{near[0]}'?" if near else ""


def meant_for_input(names: Iterable[str]) -> str:
    """Return a hint which of these keys or columns is probably the input; else an empty string."""
    near = next((name for name in names if meant_key(name).endswith("'input'?")), None)
    return "" if near is None else f"'{shortened(near)}' should be 'input'."


def shortened(text: str) -> str:
    """Return a string as messages quote it."""
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


class Rules:
    """Checks written cases against the rules; collects ``findings``.

    Args:
        path: the file, as findings name it.
        strict: unknown keys are errors, and names that the platform advises against are reported.
        upload: the suite is to be uploaded to the platform, which refuses more than :data:`MAX_CASES`.
    """

    def __init__(self, path: str, *, strict: bool = False, upload: bool = False) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self.most_alternatives = MAX_ALTERNATIVES
        self._strict = strict
        self._upload = upload

    @property
    def has_errors(self) -> bool:
        """Whether the file is refused."""
        return any(finding.severity == "error" for finding in self.findings)

    def error(self, code: str, message: str, location: Location, hint: str = "") -> None:
        """Note a fault because of which the file is refused."""
        self.findings.append(Finding(code, "error", message, location, hint))

    def warn(
        self, code: str, message: str, location: Location, hint: str = "", others: tuple[Location, ...] = ()
    ) -> None:
        """Note what is probably not intended."""
        self.findings.append(Finding(code, "warning", message, location, hint, others))

    def unknown_key(self, name: str, location: Location, what: str = "key") -> None:
        """Note a key or column that has no meaning in a suite."""
        severity: Severity = "error" if self._strict else "warning"
        hint = meant_key(name) or f"The {what}s are: {', '.join((*KEYS, *ENTITY_KEYS))}."
        message = f"'{shortened(name)}' is not a {what} of a suite and is not read."
        self.findings.append(Finding("suite-unknown-key", severity, message, location, hint))

    def unknown_beside(self, name: str, location: Location) -> None:
        """Note an unknown key next to the list of cases."""
        severity: Severity = "error" if self._strict else "warning"
        hint = "A suite's name is that of its file; `--name` and `--description` give others."
        if _bare(name) not in {"name", "description", "suitename", "testsuitename"}:
            hint = "Remove it."
        message = f"'{shortened(name)}' is not a key of a suite and is not read."
        self.findings.append(Finding("suite-unknown-key", severity, message, location, hint))

    def cases(self, written: Sequence[WrittenCase]) -> tuple[SuiteCase, ...]:
        """Return the cases."""
        if not written:
            self.error(
                "suite-empty",
                f"'{self.path}' holds no test cases.",
                Location(self.path, 1, 1),
                "Add at least one utterance.",
            )
        intents = [read_intent(case.intent.text if case.intent else "") for case in written]
        cases = [self._case(case, intent) for case, intent in zip(written, intents, strict=True)]
        self._check_number(len(cases))
        if self.most_alternatives != MAX_OF_DIALOG_GPT:  # whose apps and kinds of answer say more than our fields can
            self._check_bots(written, cases)
            self._check_blank_intents(written, intents)
        self._check_contradictions(cases)
        return tuple(cases)

    def _case(self, written: WrittenCase, intent: IntentField) -> SuiteCase:
        where = written.intent.location if written.intent else written.location
        text = self._input(written)
        self._check_intent(intent, where)
        entities = self._entities(written.entities)
        case = SuiteCase(
            text,
            intent.names,
            intent.is_trait,
            read_parent(written.parent.text) if written.parent else (),
            entities,
            tuple(one.text for one in written.order),
            read_bots(written.bots.text) if written.bots else (),
            written.generated,
            written.input.location if written.input else written.location,
            where,
        )
        self._check_order(written, case)
        self._check_names(written, case)
        return case

    def _input(self, written: WrittenCase) -> str:
        if written.input is None or not written.input.text:
            self.error("suite-input-missing", "A case has no input.", written.location, written.hint)
            return ""
        length = len(written.input.text)
        if length > MAX_INPUT:
            self.error(
                "suite-input-too-long",
                f"An utterance of {length:,} characters: the platform refuses a file with one over {MAX_INPUT:,}.",
                written.input.location,
                "Shorten it.",
            )
        return written.input.text

    def _check_intent(self, intent: IntentField, where: Location) -> None:
        if intent.has_double_pipe:
            self.error(
                "suite-double-pipe",
                "`||` in an intent separates traits.",
                where,
                "Write `trait:` in front, or one `|` between alternatives.",
            )
        elif not intent.is_trait and len(intent.names) > self.most_alternatives:
            self.error(
                "suite-too-many-alternatives",
                f"{len(intent.names)} alternative intents: up to {self.most_alternatives} can be expected.",
                where,
                "Keep the likeliest ones.",
            )

    def _entities(self, written: Iterable[WrittenEntity]) -> tuple[ExpectedEntity, ...]:
        """Collect the values of each name: if a name is repeated, its values are alternatives."""
        values: dict[str, list[str]] = {}
        places: dict[str, Location] = {}
        for written_entity in written:
            if written_entity.name is None or written_entity.value is None:
                self._incomplete(written_entity)
                continue
            slip = brace_for_pipe(written_entity.value.text)
            if slip is not None:
                self.error(
                    "suite-bad-value",
                    f"In the value '{shortened(written_entity.value.text)}' a '}}' separates two components.",
                    _behind(written_entity.value.location, slip),
                    "Write `|` between the components of a composite entity.",
                )
            values.setdefault(written_entity.name.text, []).append(written_entity.value.text)
            places.setdefault(written_entity.name.text, written_entity.location)
        return tuple(ExpectedEntity(name, tuple(dict.fromkeys(of_it)), places[name]) for name, of_it in values.items())

    def _incomplete(self, written_entity: WrittenEntity) -> None:
        given, missing = ("entityName", "entityValue") if written_entity.name else ("entityValue", "entityName")
        there = written_entity.name or written_entity.value
        if there is None:
            message, missing = "An entity has neither entityName nor entityValue.", "name and value"
        else:
            message = f"The {given} '{shortened(there.text)}' has no {missing}."
        self.error(
            "suite-entity-incomplete", message, written_entity.location, written_entity.hint or f"Write the {missing}."
        )

    def _check_order(self, written: WrittenCase, case: SuiteCase) -> None:
        if not written.order:
            return
        if len(case.intents) > 1 and not case.is_trait:
            message = "An order of entities beside several alternative intents has no effect."
            self.warn("suite-order-several-intents", message, written.order[0].location, "Remove the order.")
        known = {comparable(entity.name) for entity in case.entities}
        for name in written.order:
            if comparable(name.text) not in known:
                near = nearest(name.text, [entity.name for entity in case.entities])
                hint = f"Did you mean '{near[0]}'?" if near else "Add the entity with its value, or remove it here."
                message = f"The order names '{shortened(name.text)}', an entity that the case does not expect."
                self.warn("suite-order-unknown-entity", message, name.location, hint)

    def _check_names(self, written: WrittenCase, case: SuiteCase) -> None:
        named = [(entity.name, "entity", entity.location) for entity in case.entities]
        named += [(name, "trait" if case.is_trait else "intent", case.intent_location) for name in case.intents]
        named += [(name, "parent intent", written.parent.location) for name in case.parent if written.parent]
        named += [(name, "bot", written.bots.location) for name in case.bots if written.bots]
        for name, what, location in named:
            if shown := invisible_characters(name):
                message = f"The name of the {what} '{shortened(shown)}' holds invisible or typographic characters."
                self.warn("suite-invisible-character", message, location, "Type the name again.")
            elif self._strict and what == "intent" and (why := _why_unusual(name)):
                message = f"The name of the intent '{shortened(name)}' {why}."
                self.findings.append(Finding("suite-name-style", "info", message, location))

    # --- the suite as a whole -----------------------------------------------------------------------------------------

    def _check_number(self, number: int) -> None:
        if number <= MAX_CASES:
            return
        message = f"{number:,} test cases: the platform takes up to {MAX_CASES:,} in a file (assertions are counted)."
        report = self.error if self._upload else self.warn
        report("suite-too-many", message, Location(self.path, 1, 1), "Split the suite.")

    def _check_bots(self, written: Sequence[WrittenCase], cases: Sequence[SuiteCase]) -> None:
        needs_bots = any(case.bots for case in cases)
        for written_case, case in zip(written, cases, strict=True):
            expected = 1 if case.is_trait else max(1, len(case.intents))
            if case.bots and len(case.bots) != expected and not (case.is_trait and len(case.bots) == len(case.intents)):
                message = f"{count(len(case.bots), 'bot name')} for {count(expected, 'intent')}."
                location = written_case.bots.location if written_case.bots else written_case.location
                self.error("suite-bot-name", message, location, "Write one bot name per intent, in the same order.")
            elif needs_bots and not case.bots:
                message = "A case without botName in a suite whose other cases have one."
                self.error("suite-bot-name", message, case.location, "Write the bot of each intent.")

    def _check_blank_intents(self, written: Sequence[WrittenCase], intents: Sequence[IntentField]) -> None:
        without = [place for place, intent in enumerate(intents) if not intent.names]
        if len(without) == 1 and intents[without[0]].is_blank:
            message = "A case has no intent: it passes where nothing is matched. No other case of the suite does so."
            location = written[without[0]].location
            self.warn("suite-intent-missing", message, location, "Write the intent, or `None` if that is meant.")

    def _check_contradictions(self, cases: Sequence[SuiteCase]) -> None:
        """Report utterances that occur in one context with intents that exclude each other, at the first of each."""
        said: dict[tuple[str, tuple[str, ...]], dict[frozenset[str], SuiteCase]] = defaultdict(dict)
        for case in cases:
            if not case.is_trait:
                context = tuple(comparable(name) for name in case.parent)
                intents = frozenset(comparable(name) for name in case.intents)
                said[" ".join(case.text.split()).casefold(), context].setdefault(intents, case)
        for by_intents in said.values():
            for intents, case in by_intents.items():
                others = [other for of_it, other in by_intents.items() if other is not case and not of_it & intents]
                if others:
                    wanted = " or ".join(f"'{shortened(name)}'" for name in case.intents) or "no intent"
                    there = Counter(suite_case.location.line for suite_case in others).most_common(1)[0][0]
                    message = f"'{shortened(case.text)}' expects {wanted} here and another intent in line {there}."
                    locations = tuple(other.location for other in others)
                    self.warn("suite-contradiction", message, case.location, "Keep one of them.", locations)


def _behind(location: Location, characters: int) -> Location:
    column = None if location.column is None else location.column + characters
    return Location(location.path, location.line, column)
