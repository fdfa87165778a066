"""Cases of a suite → JSON or CSV, in the layout that the platform imports.

What was written is read again: a case that would be read differently (a name that contains a delimiter, two cases that
CSV joins) is refused.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError
from turncheck.project.batch.rules import Rules, shortened
from turncheck.project.batch.suite_file import COLUMNS, TEST_CASES, read_csv_suite, read_json_suite
from turncheck.yaml_tree.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.project.batch.model import SuiteCase

SUFFIXES: Final = (".json", ".csv")
_NOWHERE: Final = "the suite"
_TO_QUOTE: Final = re.compile(r'[",;\t\r\n]')


def write_suite(cases: Sequence[SuiteCase], suffix: str) -> str:
    """Return a suite as JSON (``.json``) or CSV (``.csv``).

    Raises:
        UserError: a case that the format cannot hold.
    """
    if suffix == ".csv":
        kept = without_repetitions(cases)
        text = _csv(kept)
        _ensure_same(kept, text, read_csv_suite, "CSV")
    else:
        kept = list(cases)
        text = _json(kept)
        _ensure_same(kept, text, read_json_suite, "JSON")
    return text


def is_writable(case: SuiteCase, suffix: str) -> bool:
    """Whether the format can hold a case by itself: a name may contain a delimiter, such as ``|``."""
    try:
        write_suite([case], suffix)
    except UserError:
        return False
    return True


def without_repetitions(cases: Sequence[SuiteCase]) -> list[SuiteCase]:
    """Return the cases without those that equal the one before, which CSV would join with it."""
    return [case for place, case in enumerate(cases) if place == 0 or case != cases[place - 1]]


def _ensure_same(
    cases: Sequence[SuiteCase], text: str, read: Callable[[Source, Rules], tuple[SuiteCase, ...]], what: str
) -> None:
    rules = Rules(_NOWHERE)
    suite_cases = read(Source(_NOWHERE, text), rules)
    place = next((place for place, case in enumerate(cases) if suite_cases[place : place + 1] != (case,)), None)
    fault = next((finding for finding in rules.findings if finding.severity == "error"), None)
    if place is None and len(suite_cases) == len(cases):
        if fault is None:
            return
        line = fault.location.line or 0
        place = max(
            (place for place, suite_case in enumerate(suite_cases) if (suite_case.location.line or 0) <= line),
            default=0,
        )
    case = cases[place if place is not None else -1]
    why = fault.message if fault else "a name holds a delimiter, or the case above has the same words and intents"
    where = case.location if case.location.path else None
    raise UserError(
        f"the case '{shortened(case.text)}' cannot be written as {what}: {why.rstrip('.')}",
        location=where,
        hint=(fault.hint if fault else "")
        or "Put another case between the two, write JSON, or rename what holds `|` or `>`.",
    )


def intent_field(case: SuiteCase) -> str:
    """Return a case's field ``intent``: alternatives, traits after their prefix, ``None`` for no intent."""
    if case.is_trait:
        return f"trait: {'||'.join(case.intents) or 'None'}"
    return " | ".join(case.intents) or "None"


def _json(cases: Sequence[SuiteCase]) -> str:
    written = {TEST_CASES: [_json_case(case) for case in cases]}
    return json.dumps(written, ensure_ascii=False, indent=2) + "\n"


def _json_case(case: SuiteCase) -> dict[str, Any]:
    entities = [
        {"entityName": entity.name, "entityValue": value} for entity in case.entities for value in entity.values
    ]
    fields: dict[str, Any] = {"input": case.text, "intent": intent_field(case)}
    fields["parentIntent"] = "||".join(case.parent)
    fields["entities"] = entities
    fields["entityOrder"] = list(case.order)
    fields["botName"] = " | ".join(case.bots)
    if case.generated:
        fields["generated"] = True
    return {key: value for key, value in fields.items() if value or key in {"input", "intent"}}


def _csv(cases: Sequence[SuiteCase]) -> str:
    columns = [*COLUMNS[:-1], *(["botName"] if any(case.bots for case in cases) else [])]
    columns += ["generated"] if any(case.generated for case in cases) else []
    rows = [columns, *([row.get(column, "") for column in columns] for case in cases for row in _csv_rows(case))]
    return "".join(f"{','.join(map(_cell, row))}\n" for row in rows)


def _cell(text: str) -> str:
    """Quote a cell if it needs quotes; Python's own writer does not quote a carriage return."""
    return '"{}"'.format(text.replace('"', '""')) if _TO_QUOTE.search(text) else text


def _csv_rows(case: SuiteCase) -> Iterator[dict[str, str]]:
    """The case, and a row without an utterance for each further value of an entity."""
    first = {
        "input": case.text,
        "intent": intent_field(case),
        "parentIntent": "||".join(case.parent),
        "entityOrder": ">".join(case.order),
        "botName": " | ".join(case.bots),
        "generated": "TRUE" if case.generated else "",
    }
    pairs = [(entity.name, value) for entity in case.entities for value in entity.values]
    for number, (name, value) in enumerate(pairs or [("", "")]):
        yield {**(first if number == 0 else {}), "entityName": name, "entityValue": value}
