"""What can be wrong with ``turncheck.quarantine.yml``."""

from __future__ import annotations

from typing import Final

from turncheck.project.quarantine import EXPIRED, NEVER_VARIES, SYNTAX, UNKNOWN
from turncheck.validation.checks import Check

_RIGHT: Final = (
    "- case: order a pizza\n  because: the model now and then asks for the size twice\n  owner: ana\n"
    "  until: 2026-12-31\n  expect: flaky"
)


def _check(code: str, title: str, text: str, wrong: str, right: str = _RIGHT) -> Check:
    """A check of the quarantine. It is silent in ``data validate``, which runs no tests."""
    return Check(code, "error", "never", "quarantine", title, text, wrong, right)


QUARANTINE_CHECKS: Final = (
    _check(
        SYNTAX,
        "A quarantined test cannot be read",
        "An unknown key, no reason, owner or last day, a date that is none or more than 90 days ahead, a test that is"
        " listed twice. The entry does not count. Correct it.",
        "- case: order a pizza\n  until: 2027-12-31\n  expect: flaky",
    ),
    _check(
        EXPIRED,
        "The quarantine of a test has ended",
        "Its last day is over, so the test counts again. Mend the test and remove the entry, or name another day.",
        _RIGHT.replace("2026-12-31", "2026-10-31"),
    ),
    _check(
        UNKNOWN,
        "A quarantined test does not exist",
        "No story, end-to-end case, utterance of a suite or test sentence has this name. Correct it, or remove the entry.",
        _RIGHT.replace("a pizza", "a piza"),
    ),
    _check(
        NEVER_VARIES,
        "A quarantined test cannot be flaky",
        "The engine gives the same answer each time, and the test calls no custom action: it fails always, or never. Were it"
        " left alone as flaky, nothing would say when it breaks for good, or is mended. Write `expect: failing`, which"
        " fails the run once the test passes.",
        _RIGHT,
        _RIGHT.replace("flaky", "failing"),
    ),
)
