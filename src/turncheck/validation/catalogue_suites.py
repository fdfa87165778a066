"""What can be wrong with batch suites, end-to-end cases and ``turncheck.quarantine.yml``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.quarantine import EXPIRED, NEVER_VARIES, SYNTAX, UNKNOWN
from turncheck.validation.checks import Check

if TYPE_CHECKING:
    from turncheck.messages.finding import Severity


def _check(  # noqa: PLR0917 - the rows of a table
    code: str, severity: Severity, title: str, text: str, wrong: str, right: str, *, about: tuple[str, ...]
) -> Check:
    """A check of the suites. It is silent in ``data validate``, which does not run them."""
    return Check(code, severity, "never", "suites", title, text, wrong, right, about=about)


def _case(fields: str) -> str:
    return f'{{"testCases": [{{{fields}}}]}}'


SUITE_CHECKS: Final = (
    _check(
        "suite-not-found",
        "error",
        "There is no such suite",
        "The path does not exist, or its suffix is neither that of JSON nor of CSV. Correct it.",
        "turncheck test batch tests/smok.json",
        "turncheck test batch tests/smoke.json",
        about=("file",),
    ),
    _check(
        "suite-not-json",
        "error",
        "A suite is not JSON",
        "A bracket or a string is not closed, a comma is missing or follows the last entry. All such places of a file are"
        " listed.",
        '{"testCases": [{"input": "buy tea", "intent": "Order Tea",}]}',
        _case('"input": "buy tea", "intent": "Order Tea"'),
        about=("place",),
    ),
    _check(
        "suite-typographic-quote",
        "error",
        "Typographic quotes where straight ones are expected",
        "Word processors and web pages turn straight quotes into typographic ones, which quote neither in JSON nor in"
        " CSV. Inside a string they are text.",
        "{“testCases”: []}",
        _case('"input": "say “hi”", "intent": "Greet"'),
        about=("place",),
    ),
    _check(
        "suite-no-test-cases",
        "error",
        "A suite in JSON has no testCases",
        "The top level is an object whose key `testCases` lists the cases.",
        '[{"input": "buy tea", "intent": "Order Tea"}]',
        _case('"input": "buy tea", "intent": "Order Tea"'),
        about=("file",),
    ),
    _check(
        "suite-empty",
        "error",
        "A suite holds no test cases",
        "It would test nothing. Add an utterance, or remove the file.",
        '{"testCases": []}',
        _case('"input": "buy tea", "intent": "Order Tea"'),
        about=("file",),
    ),
    _check(
        "suite-bad-value",
        "error",
        "A value of a wrong kind",
        "All values are strings, `entities` is a list of objects, `entityOrder` a list of strings; a key appears once; the"
        " components of a composite entity are separated by `|`.",
        _case('"input": "buy tea", "intent": ["Order Tea", "Buy"]'),
        _case('"input": "buy tea", "intent": "Order Tea | Buy"'),
        about=("place",),
    ),
    _check(
        "suite-header",
        "error",
        "A suite in CSV has no column input",
        "The first line names the columns, in any order: `input`, `intent`, `parentIntent`, `entityName`, `entityValue`,"
        " `entityOrder`, `botName`. Each appears once; `input` is required.",
        "utterance,intent\nbuy tea,Order Tea",
        "input,intent\nbuy tea,Order Tea",
        about=("place",),
    ),
    _check(
        "suite-not-recognised",
        "warning",
        "A file looks like a suite and is not run",
        "Below `tests` and `batch`, CSV with a column `input` and JSON with the key `testCases` are suites. This file has"
        " nearly that. Correct it, move a file that is no suite elsewhere, or name it with `--batch`, to be told more.",
        "utterance;intnt\nbuy tea;Order Tea",
        "input;intent\nbuy tea;Order Tea",
        about=("file",),
    ),
    _check(
        "suite-open-quote",
        "error",
        "A quote in CSV is never closed",
        "All that follows it would be one field. Close it; a quote inside a quoted field is doubled.",
        'input,intent\n"buy tea,Order Tea',
        'input,intent\n"buy tea",Order Tea',
        about=("place",),
    ),
    _check(
        "suite-extra-field",
        "error",
        "A row of CSV has more fields than columns",
        "Mostly a field that holds the delimiter and is not quoted. Empty fields at the end of a row are not a fault.",
        "input,intent\nstop, at once,Cancel Order",
        'input,intent\n"stop, at once",Cancel Order',
        about=("place",),
    ),
    _check(
        "suite-input-missing",
        "error",
        "A case has no utterance",
        "In CSV a row without one adds an entity to the case above it, so that the first row needs one.",
        _case('"intent": "Order Tea"'),
        _case('"input": "buy tea", "intent": "Order Tea"'),
        about=("place",),
    ),
    _check(
        "suite-input-too-long",
        "error",
        "An utterance is too long",
        "The platform refuses the whole file if one utterance has more than 3,000 characters.",
        "3,001 characters",
        "3,000 characters",
        about=("place",),
    ),
    _check(
        "suite-same-name",
        "warning",
        "Two suites have one name",
        "A suite's name is that of its file, without the ending. A threshold of `batch[NAME]` means one suite, and on the"
        " platform the second one replaces the first. Rename one of the files.",
        "tests/everyday.json and tests/everyday.csv",
        "tests/everyday.json and tests/nightly.csv",
        about=("place",),
    ),
    _check(
        "suite-too-many",
        "warning",
        "A suite has too many cases",
        "The platform takes up to 1,000 utterances in a file. It is an error if the suite is uploaded. Split it.",
        "a suite of 1,001 utterances",
        "two suites of 600 and 401 utterances",
        about=("place",),
    ),
    _check(
        "suite-too-many-alternatives",
        "error",
        "More alternative intents than can be expected",
        "Up to three intents can be expected of one utterance. Keep the likeliest ones.",
        _case('"input": "tea", "intent": "A | B | C | D"'),
        _case('"input": "tea", "intent": "A | B | C"'),
        about=("place",),
    ),
    _check(
        "suite-double-pipe",
        "error",
        "|| in an intent that is not a trait",
        "`||` separates traits, after `trait:`; one `|` separates alternative intents.",
        _case('"input": "tea", "intent": "Order Tea||Cancel Order"'),
        _case('"input": "tea", "intent": "Order Tea | Cancel Order"'),
        about=("place",),
    ),
    _check(
        "suite-bot-name",
        "error",
        "The bot names do not fit the intents",
        "In the suite of a universal bot each case names one bot per intent, in the same order.",
        _case('"input": "tea", "intent": "Order Tea | Reserve Book", "botName": "Tea Shop"'),
        _case('"input": "tea", "intent": "Order Tea | Reserve Book", "botName": "Tea Shop | City Library"'),
        about=("place",),
    ),
    _check(
        "suite-entity-incomplete",
        "error",
        "An entity has only a name or only a value",
        "Both are needed. In CSV the columns may be shifted: an empty `parentIntent` needs its empty column.",
        _case('"input": "3 boxes", "intent": "Order Tea", "entities": [{"entityName": "Quantity"}]'),
        _case(
            '"input": "3 boxes", "intent": "Order Tea", "entities": [{"entityName": "Quantity", "entityValue": "3"}]'
        ),
        about=("place",),
    ),
    _check(
        "suite-unknown-key",
        "warning",
        "A key or column of a suite is unknown",
        "It is not read: what is written there is not tested. With `strict` it is an error.",
        _case('"input": "buy tea", "intents": "Order Tea"'),
        _case('"input": "buy tea", "intent": "Order Tea"'),
        about=("place",),
    ),
    _check(
        "suite-intent-missing",
        "warning",
        "A single case has no intent",
        "Without an intent a case passes if nothing is matched. Write `None` if that is intended.",
        _case('"input": "la la la"}, {"input": "buy tea", "intent": "Order Tea"'),
        _case('"input": "la la la", "intent": "None"}, {"input": "buy tea", "intent": "Order Tea"'),
        about=("place",),
    ),
    _check(
        "suite-order-unknown-entity",
        "warning",
        "The order names an entity that the case does not expect",
        "Correct its name, or add the entity with its value.",
        _case('"input": "3 boxes", "intent": "Order Tea", "entityOrder": ["Quantity"]'),
        _case(
            '"input": "3 boxes", "intent": "Order Tea", "entities": [{"entityName": "Quantity", "entityValue": "3"}],'
            ' "entityOrder": ["Quantity"]'
        ),
        about=("place",),
    ),
    _check(
        "suite-order-several-intents",
        "warning",
        "An order of entities beside alternative intents",
        "The platform offers no order if several intents are expected. Remove it.",
        "input,intent,entityName,entityValue,entityOrder\n3 boxes,Order Tea|Buy,Quantity,3,Quantity",
        "input,intent,entityName,entityValue,entityOrder\n3 boxes,Order Tea|Buy,Quantity,3,",
        about=("place",),
    ),
    _check(
        "suite-contradiction",
        "warning",
        "One utterance with intents that exclude each other",
        "One of the two cases has to fail. Keep one, or expect both as alternatives: `A | B`.",
        _case('"input": "stop it", "intent": "Cancel"}, {"input": "Stop it", "intent": "Track"'),
        _case('"input": "stop it", "intent": "Cancel | Track"'),
        about=("place",),
    ),
    _check(
        "suite-invisible-character",
        "warning",
        "A name holds invisible or typographic characters",
        "Zero-width characters, control characters and typographic quotes come with copied text; a name with them matches"
        " nothing. They are shown escaped. Type the name again.",
        _case('"input": "buy tea", "intent": "Order\u200b Tea"'),
        _case('"input": "buy tea", "intent": "Order Tea"'),
        about=("place",),
    ),
    _check(
        "suite-stray-quote",
        "warning",
        "A quote inside a field of CSV that is not quoted",
        "It is read as it is. If it belongs there, quote the field and double it.",
        'input,intent\nthe 3" box,Order Tea',
        'input,intent\n"the 3"" box",Order Tea',
        about=("place",),
    ),
    _check(
        "suite-encoding",
        "warning",
        "A suite is not UTF-8",
        "It is read as Windows-1252 or UTF-16, as spreadsheets save it; the platform may read it differently. Save it"
        " as UTF-8.",
        "a file saved as “CSV” by a spreadsheet",
        "the same, saved as “CSV UTF-8”",
        about=("file",),
    ),
    _check(
        "suite-unknown-name",
        "warning",
        "A suite names what the project does not have",
        "An intent, a trait or an entity that neither the export nor the Rasa project knows: the case can never pass."
        " Correct the name.",
        "input,intent\nbuy tea,Oder Tea",
        "input,intent\nbuy tea,Order Tea",
        about=("intent", "trait", "entity"),
    ),
    _check(
        "suite-disabled-name",
        "warning",
        "A suite expects an FAQ that is disabled",
        "The FAQ is in the export, but it is switched off: no utterance can match it. Enable it on the platform, or"
        " remove the case.",
        "a disabled FAQ `When are you open?`, and a suite that expects it",
        "the FAQ, enabled",
        about=("intent",),
    ),
    _check(
        "suite-none-is-an-intent",
        "warning",
        "The project has an intent that is called None",
        "In a suite that word means that nothing should match, so no case can expect the intent. Rename it.",
        "an intent `None`, and a suite whose intent is None",
        "an intent `No Answer`",
        about=("place",),
    ),
    _check(
        "suite-name-style",
        "info",
        "An intent's name does not follow the platform's advice",
        "Its manual advises three to five plain words, none of which it ignores in sentences. Only shown with `strict`.",
        _case('"input": "pay", "intent": "I want to pay my bill"'),
        _case('"input": "pay", "intent": "Pay Bill"'),
        about=("place",),
    ),
)


# What can be wrong with end-to-end test cases: found by `test e2e` and by the e2e evaluation of a run.


def _case_check(code: str, title: str, text: str, wrong: str, right: str, *, about: tuple[str, ...]) -> Check:
    """A check of the cases. It is silent in ``data validate``, which does not run them."""
    severity: Severity = "warning" if code.endswith(("-doubtful", "-not-judged")) else "error"
    return Check(code, severity, "never", "cases", title, text, wrong, right, about=about)


CASE_CHECKS: Final = (
    _case_check(
        "e2e-not-found",
        "There are no such end-to-end test cases",
        "The path does not exist, or its file has no case with the name after `::`. Correct it.",
        "turncheck test e2e tests/e2e_test_cases.yml::order a piza",
        "turncheck test e2e tests/e2e_test_cases.yml::order a pizza",
        about=("file",),
    ),
    _case_check(
        "e2e-syntax",
        "An end-to-end test case cannot be read",
        "An unknown key, a wrong type, a missing fixture or case, a name that appears twice, an event of a stub that"
        " no action server could send. Correct it.",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - bott: Hello!",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - bot: Hello!",
        about=("place",),
    ),
    _case_check(
        "e2e-doubtful",
        "Something in an end-to-end test case has no effect",
        "Nothing is expected after a message, no case uses a fixture, a case has both steps and assertions (only the"
        " assertions count), a value of a stub has no placeholder in the response. Complete it, or remove it.",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - user: good bye\n  - utter: utter_goodbye",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - utter: utter_greet\n  - user: good bye\n"
        "  - utter: utter_goodbye",
        about=("place",),
    ),
    _case_check(
        "botium-syntax",
        "A file of Botium's cannot be read",
        "A partial conversation that does not exist or includes itself, text after a user input, a section that is only"
        " partly optional, two rows of a table with one name, a name that appears twice. Correct it.",
        "order a pizza\n\n#me\nBUTTON order\na large pizza",
        "order a pizza\n\n#me\na large pizza",
        about=("place",),
    ),
    _case_check(
        "botium-doubtful",
        "Something in a file of Botium's is read as text, or has no effect",
        "A section that does not exist, an asserter that is misspelt, an utterance list that is not there: Botium takes"
        " each for text. A table of values without `SCRIPTING_ENABLE_MEMORY`, an asserter in `#begin`, a conversation"
        " without `#me` and `#bot` have no effect. Correct it, or remove it.",
        "greet\n\n#user\nhello\n\n#bot\nTEXT_CONTAIN_ANY Hello",
        "greet\n\n#me\nhello\n\n#bot\nTEXT_CONTAINS_ANY Hello",
        about=("place",),
    ),
    _case_check(
        "botium-not-judged",
        "A conversation of Botium's is not judged",
        "It has an asserter, a logic hook or a user input that needs a plug-in or a connector of Botium's, or a function"
        " that is not answered, such as `$env`; or it is in one of Botium's formats that are not read. It counts as skipped;"
        " the message says which line is to blame. Write it without that, or run it with Botium.",
        "book\n\n#me\nFORM date|today\n\n#bot\nFor how many?",
        "book\n\n#me\ntoday\n\n#bot\nFor how many?",
        about=("place",),
    ),
    _case_check(
        "e2e-unknown-name",
        "An end-to-end test case names what the domain does not have",
        "A slot that does not exist makes a test fail, or pass, whatever the assistant does. Correct the name. It is"
        " a warning if the name can only make the test fail (a response, an action), and for an assistant with flows,"
        " which also has Rasa Pro's own slots, actions and responses.",
        "test_cases:\n- test_case: order\n  steps:\n  - user: a large pizza\n  - slot_was_set:\n    - sise: large",
        "test_cases:\n- test_case: order\n  steps:\n  - user: a large pizza\n  - slot_was_set:\n    - size: large",
        about=("slot", "response", "flow", "action", "loop"),
    ),
)


_QUARANTINED: Final = (
    "- case: order a pizza\n  because: the model now and then asks for the size twice\n  owner: ana\n"
    "  until: 2026-12-31\n  expect: flaky"
)


def _quarantine_check(
    code: str, title: str, text: str, wrong: str, right: str = _QUARANTINED, *, about: tuple[str, ...]
) -> Check:
    """A check of the quarantine. It is silent in ``data validate``, which runs no tests."""
    return Check(code, "error", "never", "quarantine", title, text, wrong, right, about=about)


QUARANTINE_CHECKS: Final = (
    _quarantine_check(
        SYNTAX,
        "A quarantined test cannot be read",
        "An unknown key, no reason, owner or last day, a date that is none or more than 90 days ahead, a test that is"
        " listed twice. The entry does not count. Correct it.",
        "- case: order a pizza\n  until: 2027-12-31\n  expect: flaky",
        about=("place",),
    ),
    _quarantine_check(
        EXPIRED,
        "The quarantine of a test has ended",
        "Its last day is over, so the test counts again. Mend the test and remove the entry, or name another day.",
        _QUARANTINED.replace("2026-12-31", "2026-10-31"),
        about=("test",),
    ),
    _quarantine_check(
        UNKNOWN,
        "A quarantined test does not exist",
        "No story, end-to-end case, utterance of a suite or test sentence has this name. Correct it, or remove the entry.",
        _QUARANTINED.replace("a pizza", "a piza"),
        about=("test",),
    ),
    _quarantine_check(
        NEVER_VARIES,
        "A quarantined test cannot be flaky",
        "The engine gives the same answer each time, and the test calls no custom action: it fails always, or never. Were it"
        " left alone as flaky, nothing would say when it breaks for good, or is fixed. Write `expect: failing`, which"
        " fails the run once the test passes.",
        _QUARANTINED,
        _QUARANTINED.replace("flaky", "failing"),
        about=("test",),
    ),
)
