"""One file of a suite, in CSV or JSON → written cases.

In CSV, columns are found by name, and each further entity has a row of its own. JSON is one object with the key
``testCases``.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from turncheck.messages.finding import Location
from turncheck.messages.phrasing import count
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
    read_intent,
    read_order,
    read_parent,
    shortened,
)
from turncheck.yaml_tree.json_tree import JsonFault, parse_json
from turncheck.yaml_tree.source import Source, text_location
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from turncheck.project.batch.model import SuiteCase

# CSV as people and spreadsheets write it → records of fields with their locations.

DELIMITERS: Final = ",;\t|"
_BLANKS: Final = " \t\u00a0"


class Field(Struct, frozen=True):
    """A trimmed field. ``is_quoted``: it was in straight quotes. ``stray``: where it has a quote that opens nothing."""

    text: str
    location: Location
    is_quoted: bool = False
    stray: Location | None = None


class Record(Struct, frozen=True):
    """One record, which may span lines inside quotes; ``location`` is where it begins.

    ``open_quote``: where a quote begins that is never closed.
    """

    fields: tuple[Field, ...]
    location: Location
    open_quote: Location | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all fields are empty."""
        return not any(field.text for field in self.fields)


def read_csv(source: Source, is_column: Callable[[str], bool]) -> Iterator[Record]:
    """Yield the records, the header first, without empty lines.

    The delimiter is one of ``,`` ``;`` tab ``|``: the one that finds the most known columns in the header
    (``is_column``), unless the first line names it (``sep=;``, as Excel has it).
    """
    text = source.file_text
    position, delimiter = 0, ""
    first = text.partition("\n")[0].strip()
    if first.lower().startswith("sep=") and len(first) == len("sep=") + 1:
        delimiter, position = first[-1], len(text.partition("\n")[0]) + 1
    delimiter = delimiter or _delimiter(source, is_column)
    while position < len(text):
        record, position = _record(source, position, delimiter)
        if not record.is_empty or record.open_quote:
            yield record


def _delimiter(source: Source, is_column: Callable[[str], bool]) -> str:
    def known(delimiter: str) -> int:
        position = 0
        while position < len(source.file_text):
            record, position = _record(source, position, delimiter)
            if not record.is_empty:
                return sum(is_column(field.text) for field in record.fields)
        return 0

    return max(DELIMITERS, key=known)


def _record(source: Source, start: int, delimiter: str) -> tuple[Record, int]:
    """Read the record that begins at ``start``; return it and where the next one begins."""
    text, position = source.file_text, start
    fields: list[Field] = []
    while True:
        begin = _behind_blanks(text, position, delimiter)
        if text[begin : begin + 1] == '"':
            value, end = _quoted(text, begin)
            if end < 0:
                location = source.location(begin)
                return Record((*fields, Field(value, location, True)), source.location(start), location), len(text)
            rest_end = _field_end(text, end, delimiter)
            rest = text[end:rest_end].strip()
            stray = source.location(end) if rest else None
            fields.append(Field((value + rest).strip(), source.location(begin + 1), True, stray))
            position = rest_end
        else:
            position = _field_end(text, begin, delimiter)
            value = text[begin:position].strip()
            quote = value.find('"')
            stray = source.location(begin + quote) if quote >= 0 else None
            fields.append(Field(value, source.location(begin), False, stray))
        if text[position : position + 1] != delimiter:
            break
        position += 1
    if text.startswith("\r\n", position):
        position += 1
    return Record(tuple(fields), source.location(start)), position + 1


def _behind_blanks(text: str, position: int, delimiter: str) -> int:
    while position < len(text) and text[position] in _BLANKS and text[position] != delimiter:
        position += 1
    return position


def _quoted(text: str, begin: int) -> tuple[str, int]:
    """Return the text between quotes, and where it ends (after the quote); -1 if the quote is not closed."""
    parts: list[str] = []
    position = begin + 1
    while True:
        end = text.find('"', position)
        if end < 0:
            return "".join((*parts, text[position:])), -1
        parts.append(text[position:end])
        if text[end + 1 : end + 2] != '"':
            return "".join(parts), end + 1
        parts.append('"')
        position = end + 2


def _field_end(text: str, position: int, delimiter: str) -> int:
    while position < len(text) and text[position] not in {delimiter, "\n", "\r"}:
        position += 1
    return position


COLUMNS: Final = ("input", "intent", "parentIntent", "entityName", "entityValue", "entityOrder", "botName")
_OPENING: Final = "“„«"
_CLOSING: Final = "”“»"


def is_column(name: str) -> bool:
    """Whether a cell of the header names a column of a suite."""
    return name in COLUMNS or name == GENERATED


def read_csv_suite(source: Source, rules: Rules) -> tuple[SuiteCase, ...]:
    """Return the cases; faults are added to ``rules.findings``."""
    records = read_csv(source, lambda name: is_column(name) or bool(meant_key(name)))
    header = next(records, None)
    if header is None:
        rules.error("suite-empty", f"'{rules.path}' is empty.", Location(rules.path, 1, 1), "Write a header and rows.")
        return ()
    columns = _columns(header, rules)
    if "input" not in columns:
        return ()
    written = list(_cases(records, columns, header, rules))
    if not written and rules.has_errors:
        return ()
    return rules.cases(written)


def _columns(header: Record, rules: Rules) -> dict[str, int]:
    columns: dict[str, int] = {}
    names = [field.text for field in header.fields]
    if others := names_of_dialog_gpt(names):
        rules.most_alternatives = MAX_OF_DIALOG_GPT
        return {others[name]: place for place, name in reversed([*enumerate(names)]) if others[name]}
    if header.open_quote:
        _open_quote(header.open_quote, rules)
        return {}
    if "input" not in names:
        is_csv = rules.path.lower().endswith(".csv")
        message = (
            f"'{rules.path}' {'has' if is_csv else 'is neither .json nor .csv: read as CSV, it has'} no column 'input'."
        )
        hint = f"{meant_for_input(names) or 'The first line names the columns.'} Write: {','.join(COLUMNS[:-1])}."
        rules.error("suite-header", message, header.location, hint)
        return {}
    for index, field in enumerate(header.fields):
        if field.text in columns:
            rules.error("suite-header", f"The column '{field.text}' appears twice.", field.location, "Remove one.")
        elif is_column(field.text):
            columns[field.text] = index
        elif field.text:
            rules.unknown_key(field.text, field.location, "column")
    return columns


def _cases(records: Iterator[Record], columns: dict[str, int], header: Record, rules: Rules) -> Iterator[WrittenCase]:
    current: WrittenCase | None = None
    for record in records:
        if record.open_quote:
            _open_quote(record.open_quote, rules)
            continue
        if not _has_right_fields(record, header, rules):
            continue
        row = _Row(record, columns)
        if current is not None and _continues(row, current):
            _add(row, current)
            continue
        if row.input is None:
            message = "This row has no input" + (", and there is no case above it." if current is None else ".")
            hint = "Write the utterance; a row without one adds an entity to the case above."
            rules.error("suite-input-missing", message, record.location, hint)
            continue
        if current is not None:
            yield current
        current = WrittenCase(record.location, row.input, row["intent"], row["parentIntent"], row["botName"])
        current.generated = row[GENERATED] is not None
        _add(row, current)
    if current is not None:
        yield current


class _Row:
    """A record by column name; an empty cell is ``None``."""

    def __init__(self, record: Record, columns: dict[str, int]) -> None:
        self.record = record
        self.width = len(record.fields)
        self._columns = columns

    def __getitem__(self, name: str) -> Written | None:
        index = self._columns.get(name, self.width)
        field = self.record.fields[index] if index < self.width else None
        return Written(field.text, field.location) if field is not None and field.text else None

    @property
    def input(self) -> Written | None:
        return self["input"]


def _continues(row: _Row, case: WrittenCase) -> bool:
    """Whether a row belongs to the case above: it names no utterance, or the same one with the same intents."""
    if row.input is None:
        return row["intent"] is None or _same_expectation(row, case)
    return case.input is not None and row.input.text == case.input.text and _same_expectation(row, case)


def _same_expectation(row: _Row, case: WrittenCase) -> bool:
    def of(intent: Written | None, parent: Written | None, bots: Written | None) -> object:
        texts = [one.text if one else "" for one in (intent, parent, bots)]
        return read_intent(texts[0]), read_parent(texts[1]), texts[2]

    return of(row["intent"], row["parentIntent"], row["botName"]) == of(case.intent, case.parent, case.bots)


def _add(row: _Row, case: WrittenCase) -> None:
    """Add the row's entity and order to the case."""
    name, value, order = row["entityName"], row["entityValue"], row["entityOrder"]
    if name is not None or value is not None:
        location = (name or value or row.input or Written("", row.record.location)).location
        case.entities.append(WrittenEntity(name, value, location, _shift_hint(row)))
    if order is not None and not case.order:
        case.order = [Written(one, order.location) for one in read_order(order.text)]


def _shift_hint(row: _Row) -> str:
    if row["entityName"] is None or row["entityValue"] is not None or row["parentIntent"] is None:
        return ""
    number = count(row.width, "field")
    return f"This row has {number}: is its `parentIntent` empty? Then write the empty column."


def _has_right_fields(record: Record, header: Record, rules: Rules) -> bool:
    if torn := _torn_by_typographic_quotes(record.fields):
        message = f"A typographic quote {torn.text[0]} does not quote in CSV, so that the field is split."
        rules.error("suite-typographic-quote", message, torn.location, 'Write straight quotes: "…".')
        return False
    names = [field.text for field in header.fields]
    names += [""] * (len(record.fields) - len(names))
    extra = next((field for field, name in zip(record.fields, names, strict=False) if field.text and not name), None)
    if extra is not None:
        width = len([field for field in header.fields if field.text])
        message = f"This row has {count(len(record.fields), 'field')} under a header of {width}."
        hint = 'Quote a field that holds the delimiter: "stop, at once".'
        rules.error("suite-extra-field", message, extra.location, hint)
        return False
    stray = next((field for field in record.fields if field.stray), None)
    if stray is not None and stray.stray is not None:
        message = f"A quote inside a field that is not quoted: '{shortened(stray.text)}'. It is read as is."
        hint = 'If it belongs there, quote the field and double it: "the 3"" box".'
        rules.warn("suite-stray-quote", message, stray.stray, hint)
    return True


def _torn_by_typographic_quotes(fields: tuple[Field, ...]) -> Field | None:
    """Return a field that begins with a typographic quote whose closing quote ends another field."""
    for index, field in enumerate(fields):
        begins = not field.is_quoted and field.text[:1] in _OPENING and field.text[:1] != ""
        closed_here = len(field.text) > 1 and field.text[-1] in _CLOSING
        if begins and not closed_here and any(one.text[-1:] in _CLOSING and one.text for one in fields[index + 1 :]):
            return field
    return None


def _open_quote(location: Location, rules: Rules) -> None:
    message = "A quote is opened here and never closed."
    rules.error("suite-open-quote", message, location, 'Close it; a quote inside a quoted field is written "".')


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
        return (
            "suite-typographic-quote",
            f"'{PurePath(source.path).name}' is not JSON: {fault.what}.",
            fault.location,
            fault.hint,
        )
    if fault.kind == "duplicate-key":
        return "suite-bad-value", f"{fault.what[0].upper()}{fault.what[1:]}.", fault.location, fault.hint
    return "suite-not-json", f"'{PurePath(source.path).name}' is not JSON: {fault.what}.", fault.location, fault.hint


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
