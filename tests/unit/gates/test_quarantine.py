"""Tests in quarantine: how the file is read, which entries count, and what they keep from failing."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import msgspec
import pytest
from golden_texts import Golden
from msgspec import UNSET, structs
from report_builder import case, example, report, story, suite

from turncheck.comparison.compare import compare, shown_beside_base
from turncheck.comparison.model import Comparison, ManyLosses, Missing, Present, Unreachable
from turncheck.comparison.quarantine import with_passes_of_base, with_results
from turncheck.conclude import Outcome, conclude
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.messages.plain_text import log_line
from turncheck.project.quarantine import (
    NEVER_VARIES,
    QUARANTINE_FILE,
    never_flaky,
    read_quarantine,
    unknown_tests,
)
from turncheck.render.annotations import find_annotations
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.render.wording.verdict import GateResult, Verdict
from turncheck.report.codec import decode, encode
from turncheck.report.model import CaseMessage, CaseResult, GateSettings, HowRepeated, Repeats, Report, Skipped
from turncheck.report.quarantine import Quarantine, QuarantinedTest
from turncheck.validation.catalogue_suites import QUARANTINE_CHECKS
from turncheck.validation.checks import Check

TODAY = date(2026, 11, 26)
_ENTRY = {"case": "pays", "because": "slow bank", "owner": "ana", "until": "2026-12-31", "expect": "flaky"}


def _yaml(**changes: str | None) -> str:
    entry = {**_ENTRY, **changes}
    lines = [f"{name}: {value}" for name, value in entry.items() if value is not None]
    return "- " + "\n  ".join(lines) + "\n"


def _read(folder: Path, text: str | bytes) -> tuple[list[str], list[str]]:
    """The cases that count, and the findings with their lines."""
    (folder / QUARANTINE_FILE).write_bytes(text if isinstance(text, bytes) else text.encode())
    file = read_quarantine(folder, folder, TODAY)
    assert file is not None
    found = [f"{one.location} {one.code}: {one.message}" for one in file.findings]
    return [test.case for test in file.quarantine.tests], found


# --- reading ---------------------------------------------------------------------------------------------------------


def test_an_entry_is_read(tmp_path: Path) -> None:
    text = f"# known to fail\n{_yaml()}{_yaml(case='other', expect='failing', issue='https://example.org/1')}"
    assert _read(tmp_path, text) == (["pays", "other"], [])


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "[]\n", "null\n"])
def test_a_file_without_entries_is_fine(tmp_path: Path, text: str) -> None:
    assert _read(tmp_path, text) == ([], [])


def test_without_a_file_there_is_no_quarantine(tmp_path: Path) -> None:
    assert read_quarantine(tmp_path, tmp_path, TODAY) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_yaml(because=None), "1:3 quarantine-syntax: A quarantined test needs the key 'because'."),
        (_yaml(owner=None), "1:3 quarantine-syntax: A quarantined test needs the key 'owner'."),
        (_yaml(until=None), "1:3 quarantine-syntax: A quarantined test needs the key 'until'."),
        (_yaml(expect=None), "1:3 quarantine-syntax: A quarantined test needs the key 'expect'."),
        (_yaml(owner='""'), "3:10 quarantine-syntax: 'owner' must not be empty."),
        (_yaml(becuase="x"), "6:3 quarantine-syntax: 'becuase' is not a key of a quarantined test."),
        (_yaml(expect="sometimes"), "5:11 quarantine-syntax: 'expect' must be flaky or failing."),
        (_yaml(until="soon"), "4:10 quarantine-syntax: 'until' must be a date, not 'soon'."),
        (_yaml(until="2026-02-30"), "4:10 quarantine-syntax: 'until' must be a date, not '2026-02-30'."),
        (_yaml(until="[1]"), "4:10 quarantine-syntax: 'until' must be a string."),
        (
            _yaml(until="2027-02-25"),
            "4:10 quarantine-syntax: 'until' is 91 days ahead of 2026-11-26, today; at most 90 may be.",
        ),
        ("- pays\n", "1:3 quarantine-syntax: An entry must be a map."),
        ("case: pays\n", "1:1 quarantine-syntax: 'turncheck.quarantine.yml' must be a list of quarantined tests."),
        (b"- \xff\n", "1:3 file-not-utf8: 'turncheck.quarantine.yml' is not UTF-8: byte 0xff cannot be decoded."),
    ],
)
def test_an_entry_with_a_fault_does_not_count(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert _read(tmp_path, text) == ([], [f"{QUARANTINE_FILE}:{message}"])


def test_the_last_day_may_be_ninety_days_ahead_and_counts(tmp_path: Path) -> None:
    assert _read(tmp_path, _yaml(until="2027-02-24")) == (["pays"], [])
    assert _read(tmp_path, _yaml(until="2026-11-26")) == (["pays"], [])


def test_an_expired_entry_is_an_error_at_its_line(tmp_path: Path, golden: Golden) -> None:
    tests, found = _read(tmp_path, _yaml(until="2026-11-25"))
    assert tests == ["pays"]
    golden(*found)


def test_a_test_is_listed_once(tmp_path: Path, golden: Golden) -> None:
    tests, found = _read(tmp_path, _yaml() + _yaml(until="2027-01-31"))
    assert tests == ["pays"]
    golden(*found)


def test_an_entry_that_a_later_commit_ends_is_not_said_to_have_ended_in_the_past(
    tmp_path: Path, golden: Golden
) -> None:
    (tmp_path / QUARANTINE_FILE).write_text(_yaml(until="2026-12-07"))
    file = read_quarantine(tmp_path, tmp_path, date(2026, 12, 17), clock=date(2026, 11, 27))
    assert file is not None
    (finding,) = file.findings
    golden(finding.message, finding.hint)


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    inside, outside = tmp_path / "bot", tmp_path / "elsewhere.yml"
    inside.mkdir()
    outside.write_text(_yaml())
    (inside / QUARANTINE_FILE).symlink_to(outside)
    file = read_quarantine(inside, inside, TODAY)
    assert file is not None
    assert (file.quarantine.tests, [one.code for one in file.findings]) == ((), ["file-outside-project"])


def test_a_test_that_does_not_exist_is_an_error(golden: Golden) -> None:
    known = {("pays by card", "tests/a.yml"), ("orders", "tests/a.yml"), ("orders", "tests/b.yml")}
    entries = _quarantine("tests/b.yml::orders", "tests/a.yml::orders", "pays by crad")
    (finding,) = unknown_tests(entries, known)
    golden(finding.message)
    assert (finding.code, finding.severity) == ("quarantine-unknown-test", "error")


def test_a_conversation_that_is_several_cases_is_named_by_one_of_them() -> None:
    known = {("breakfast/UTT-L2", "tests/a.convo.txt"), ("breakfast/UTT-L1", "tests/a.convo.txt")}
    (finding,) = unknown_tests(_quarantine("breakfast"), known)
    assert "'breakfast/UTT-L1'" in finding.suggestion


def test_the_comment_says_how_often_a_test_in_quarantine_passes(golden: Golden) -> None:
    entries = _quarantine("pays")
    other = case("o", "a")
    base = _report(cases=[_repeated("PPPPPPPPPPFFFFFFFFFF", "flaky"), other], quarantine=entries)
    now = structs.replace(_repeated("FF", "failed"), repeats=Repeats(runs="FF", outcome="failed", base="PPPPPFFFFF"))
    head = _report(cases=[now, other], quarantine=entries)
    compared = _compared(head, base)
    comment = render_comment(head, compared, judge(head, compared, GateSettings()), Links()).content
    golden(comment, only="(0 of 2")


def test_a_test_is_listed_once_with_its_file_or_without(golden: Golden) -> None:
    """The second would say what does not hold: the first counts."""
    known = {("orders", "tests/a.yml"), ("orders", "tests/b.yml")}
    entries = _quarantine("tests/a.yml::orders", "tests/b.yml::orders", "orders")
    (finding,) = unknown_tests(entries, known)
    golden(f"{finding.message} {finding.hint}")
    assert (finding.code, finding.severity, finding.location) == (
        "quarantine-syntax",
        "error",
        entries.tests[2].location,
    )
    assert finding.others == (entries.tests[0].location,)


def test_a_name_may_be_copied_from_a_log(tmp_path: Path) -> None:
    """There, no part of a line is a command of the host."""
    name = "tests/a.yml::##[pays"
    assert log_line(name) != name
    tests, found = _read(tmp_path, _yaml(case=json.dumps(log_line(name), ensure_ascii=False)))
    assert (tests, found) == ([name], [])


@pytest.mark.parametrize("check", QUARANTINE_CHECKS, ids=lambda check: check.code)
def test_the_examples_of_the_manual_are_what_they_say(check: Check, tmp_path: Path) -> None:
    def codes(text: str) -> set[str]:
        (tmp_path / QUARANTINE_FILE).write_text(text)
        file = read_quarantine(tmp_path, tmp_path, TODAY)
        assert file is not None
        known = {("order a pizza", "tests/a.yml")}
        found = (*file.findings, *unknown_tests(file.quarantine, known))
        steady = never_flaky(file.quarantine, known, ()) if check.code == NEVER_VARIES else ()
        return {finding.code for finding in (*found, *steady)}

    assert codes(check.wrong) == {check.code}
    assert codes(check.right) == set()


# --- which entries count ---------------------------------------------------------------------------------------------


def _quarantine(*cases: str, today: str = "2026-11-26", **changes: object) -> Quarantine:
    entries = [
        msgspec.convert({**_ENTRY, "case": name, "location": Location(QUARANTINE_FILE, 1), **changes}, QuarantinedTest)
        for name in cases
    ]
    return Quarantine(today=today, tests=tuple(entries))


def _report(*tests: object, quarantine: Quarantine | None = None, **more: object) -> Report:
    made = report(stories=list(tests), **more)  # type: ignore[arg-type]
    return made if quarantine is None else structs.replace(made, quarantine=quarantine)


PASSES, FAILS = story("pays", "a"), story("pays", "a!w")
OTHER = story("orders", "a")


def _compared(head: Report, base: Report | None, *, agreed: bool = False) -> Comparison:
    baseline = Missing("nothing yet", agreed=agreed) if base is None else Present(base, "git", agreed=agreed)
    return compare(head, baseline)


def _verdict(head: Report, base: Report | None, *, agreed: bool = False, fail_on: str = "new-failures") -> Verdict:
    settings = GateSettings(fail_on=(fail_on,))
    return judge(head, _compared(head, base, agreed=agreed), settings)


def _gate(verdict: Verdict, name: str) -> GateResult:
    return next(gate for gate in verdict.gates if gate.name == name)


@pytest.mark.parametrize("fail_on", ["new-failures", "test-failures"])
def test_a_quarantined_test_that_fails_does_not_fail_the_run(fail_on: str) -> None:
    entries = _quarantine("pays")
    verdict = _verdict(
        _report(FAILS, OTHER, quarantine=entries), _report(PASSES, OTHER, quarantine=entries), fail_on=fail_on
    )
    assert verdict.passed
    assert "1 story in quarantine fails" in _gate(verdict, fail_on).reason
    assert "1 of 2 stories passed, 1 story in quarantine fails" in verdict.summary


@pytest.mark.parametrize("fail_on", ["new-failures", "test-failures"])
@pytest.mark.parametrize(
    "base",
    [
        None,
        _quarantine("orders"),
        _quarantine("pays", until="2026-11-25"),
        _quarantine("pays", today="2027-01-01"),
    ],
    ids=["no file", "another test", "expired", "a clock that was put back"],
)
def test_an_entry_counts_only_if_the_base_has_it_and_it_holds(base: Quarantine | None, fail_on: str) -> None:
    head = _report(FAILS, OTHER, quarantine=_quarantine("pays"))
    assert not _verdict(head, _report(PASSES, OTHER, quarantine=base), fail_on=fail_on).passed


def test_an_entry_that_ended_by_the_clock_of_the_base_is_said_at_its_line(golden: Golden) -> None:
    base = _report(PASSES, OTHER, quarantine=_quarantine("pays", today="2027-01-01"))
    golden(*_compared(_report(FAILS, OTHER, quarantine=_quarantine("pays", "orders")), base).warnings)
    expired = _report(FAILS, OTHER, quarantine=_quarantine("pays", until="2026-11-25"))
    assert _compared(expired, base).warnings == (), "its own finding says so"


def test_what_a_change_adds_or_extends_is_a_rule_that_it_alters() -> None:
    base = _report(PASSES, OTHER, quarantine=_quarantine("pays"))
    head = _report(PASSES, OTHER, quarantine=_quarantine("pays", "orders", until="2027-01-31"))
    assert [(one.name, one.base, one.value) for one in _compared(head, base).settings_changed] == [
        ("quarantine", "pays: flaky until 2026-12-31", "pays: flaky until 2027-01-31"),
        ("quarantine", "nothing", "orders: flaky until 2027-01-31"),
    ]
    other = _report(PASSES, OTHER, quarantine=_quarantine("pays", expect="failing"))
    assert [one.value for one in _compared(other, base).settings_changed] == ["pays: failing until 2026-12-31"]


def test_an_entry_that_is_removed_shortened_or_explained_is_quiet() -> None:
    base = _report(PASSES, OTHER, quarantine=_quarantine("pays", "orders"))
    head = _report(PASSES, OTHER, quarantine=_quarantine("pays", until="2026-12-01", because="other", owner="ben"))
    assert _compared(head, base).settings_changed == ()


def test_an_entry_that_is_removed_counts_no_more() -> None:
    base = _report(PASSES, OTHER, quarantine=_quarantine("pays"))
    assert not _verdict(_report(FAILS, OTHER), base).passed
    assert not _verdict(_report(FAILS, OTHER, quarantine=_quarantine()), base).passed


def test_an_entry_that_is_extended_counts_as_on_the_base() -> None:
    base = _report(PASSES, OTHER, quarantine=_quarantine("pays"))
    extended = _quarantine("pays", until="2027-01-31", today="2027-01-01")
    assert not _verdict(_report(FAILS, OTHER, quarantine=extended), base).passed
    assert _verdict(_report(FAILS, OTHER, quarantine=_quarantine("pays", until="2027-01-31")), base).passed


def test_a_test_that_is_renamed_edited_or_new_under_a_quarantined_name_is_not_the_quarantined_one() -> None:
    entries = _quarantine("pays")
    base = _report(story("pays", "a", "b"), story("orders", "c", "d"), quarantine=entries)
    edited = _report(story("pays", "a", "x", "b!w"), story("orders", "c", "d"), quarantine=entries)
    swapped = _report(story("pays", "c", "d!w"), story("orders", "a", "b"), quarantine=entries)
    added = _report(PASSES, OTHER, story("pays", "z!w", path="tests/test_more.yml"), quarantine=entries)
    assert not _verdict(edited, base).passed
    assert not _verdict(swapped, base).passed
    assert not _verdict(added, _report(PASSES, OTHER, quarantine=entries)).passed
    warning = "the quarantine of 'pays' does not count: this change edits, moves or adds it"
    assert warning in _compared(edited, base).warnings


def _said(made: CaseResult, *texts: str, **more: object) -> CaseResult:
    messages = tuple(CaseMessage(text=text, location=made.location, **more) for text in texts)  # type: ignore[arg-type]
    return structs.replace(made, messages=messages)


PAID = _said(case("pays", "a"), "I pay")
UNPAID = _said(case("pays", "a!b"), "I pay")


@pytest.mark.parametrize("expect", ["flaky", "failing"])
@pytest.mark.parametrize(
    "edited",
    [_said(UNPAID, "I pay in cash"), _said(UNPAID, "I pay", "now"), structs.replace(UNPAID, given="0123456789abcdef")],
    ids=["another message", "one more message", "another slot"],
)
def test_a_case_whose_user_says_something_else_is_not_the_quarantined_one(edited: CaseResult, expect: str) -> None:
    entries, other = _quarantine("pays", expect=expect), case("o", "a")
    base = _report(cases=[PAID, other], quarantine=entries)
    assert not _verdict(_report(cases=[edited, other], quarantine=entries), base).passed
    assert _verdict(_report(cases=[UNPAID, other], quarantine=entries), base).passed, "the same case"
    (change,) = _compared(_report(cases=[edited, other]), _report(cases=[UNPAID, other])).e2e.edited
    assert (change.failed, change.base_failed) == (True, True), "as a story: it did not begin to fail"


def test_an_edited_case_whose_runs_do_not_decide_is_not_the_quarantined_one() -> None:
    entries, other = _quarantine("pays"), case("o", "a")
    runs = Repeats(runs="FFPPff", outcome="unclear", base="PPPPPPPPPPPPPPPPPPPF")
    base, same, edited = (
        _report(cases=[made, other], quarantine=entries)
        for made in (
            PAID,
            structs.replace(UNPAID, outcome="unclear", repeats=runs),
            structs.replace(_said(UNPAID, "I pay in cash"), outcome="unclear", repeats=runs),
        )
    )
    assert _gate(_verdict(same, base), "new-failures").outcome == "passed"
    assert _gate(_verdict(edited, base), "new-failures").outcome == "not judged"


def test_a_sentence_with_another_intent_is_not_the_quarantined_one() -> None:
    entries = _quarantine("I pay")
    base, relabelled = (
        _report(PASSES, examples=[example("I pay", intent), example("hello", "greet")], quarantine=entries)
        for intent in ("pay", "greet")
    )
    assert not _compared(base, base).warnings
    (warning,) = _compared(relabelled, base).warnings
    assert "'I pay'" in warning


def test_a_case_that_the_base_could_not_run_is_the_same() -> None:
    entries, other = _quarantine("pays"), case("o", "a")
    steps = tuple(structs.replace(step, outcome="skipped", expected="") for step in PAID.steps)
    erred = structs.replace(PAID, passed=False, outcome="error", steps=steps)
    base = _report(cases=[erred, other], quarantine=entries)
    assert _verdict(_report(cases=[UNPAID, other], quarantine=entries), base).passed


def test_a_message_with_variables_is_the_same_in_every_run() -> None:
    entries, other = _quarantine("pays"), case("o", "a")
    base = _report(cases=[_said(PAID, "I pay 17", written="I pay $random10"), other], quarantine=entries)
    head = _report(cases=[_said(UNPAID, "I pay 42", written="I pay $random10"), other], quarantine=entries)
    assert _verdict(head, base).passed
    written = _report(cases=[_said(UNPAID, "I pay 17", written="I pay $random"), other], quarantine=entries)
    assert not _verdict(written, base).passed


def test_a_test_that_moved_to_another_file_is_the_same() -> None:
    entries = _quarantine("pays")
    moved = story("pays", "a!w", path="tests/test_more.yml")
    assert _verdict(_report(moved, OTHER, quarantine=entries), _report(PASSES, OTHER, quarantine=entries)).passed


AT_A, AT_B = "tests/a.yml", "tests/b.yml"


def _in_files(*stories: tuple[str, str], quarantine: Quarantine) -> Report:
    """A report with one passing story, and stories ``pays`` in files."""
    return _report(OTHER, *(story("pays", step, path=path) for path, step in stories), quarantine=quarantine)


@pytest.mark.parametrize(
    ("entry", "before", "after"),
    [
        (f"{AT_A}::pays", [(AT_A, "a!x"), (AT_B, "b")], [(AT_A, "b!x"), (AT_B, "a")]),
        (f"{AT_A}::pays", [(AT_A, "a!x"), (AT_B, "b")], [(AT_A, "b!x")]),
        (f"{AT_A}::pays", [(AT_A, "a!x"), (AT_B, "b")], [(AT_A, "b!x"), ("tests/c.yml", "a")]),
        (f"{AT_A}::pays", [(AT_B, "b")], [(AT_A, "b!x")]),
        (f"{AT_A}::pays", [(AT_A, "a!x")], [(AT_A, "a!x"), (AT_B, "a!x")]),
        ("pays", [(AT_A, "a!x")], [("tests/c.yml", "a!x"), (AT_B, "a!x")]),
        ("pays", [(AT_A, "a!x"), (AT_B, "b")], [(AT_B, "a!x"), (AT_A, "b!x")]),
    ],
    ids=["exchanged", "overwritten", "rotated", "a stale entry", "copied", "moved to two files", "exchanged, no file"],
)
def test_a_test_that_takes_the_place_of_the_quarantined_one_is_another(
    entry: str, before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    entries = _quarantine(entry)
    head, base = (_in_files(*stories, quarantine=entries) for stories in (after, before))
    compared = _compared(head, base)
    assert not compared.stories.quarantined
    assert not _verdict(head, base, fail_on="test-failures").passed


@pytest.mark.parametrize("listed", [f"{AT_A}::pays", "tests/c.yml::pays"], ids=["the old entry", "the new path"])
def test_an_entry_moves_along_with_its_test(listed: str) -> None:
    base = _in_files((AT_A, "a!x"), (AT_B, "b"), quarantine=_quarantine(f"{AT_A}::pays"))
    moved = [("tests/c.yml", "a!x"), (AT_B, "b")]
    compared = _compared(_in_files(*moved, quarantine=_quarantine(listed)), base)
    assert not compared.warnings
    assert not compared.settings_changed
    assert isinstance(compared.quarantine, Quarantine)
    assert compared.quarantine.entry_of("pays", Location("tests/c.yml")) is not None or listed.startswith(AT_A)
    edited = _in_files(("tests/c.yml", "z!x"), (AT_B, "b"), quarantine=_quarantine(listed))
    assert not _verdict(edited, base, fail_on="test-failures").passed


def test_what_flaky_means_is_what_the_base_says() -> None:
    base = _report(PASSES, OTHER, quarantine=_quarantine("pays"))
    compared = _compared(_report(FAILS, OTHER, quarantine=_quarantine("pays", expect="failing")), base)
    assert isinstance(compared.quarantine, Quarantine)
    assert [test.expect for test in compared.quarantine.tests] == ["flaky"]


def test_a_copy_under_another_name_is_not_in_quarantine() -> None:
    entries = _quarantine("pays")
    copies = [structs.replace(story("pays copied", "a!w", line=9), duplicate=True), OTHER]
    base = [structs.replace(one, steps=PASSES.steps, passed=True) if one.name != "orders" else one for one in copies]
    head = _report(structs.replace(FAILS, duplicate=True), *copies, quarantine=entries)
    assert not _verdict(head, _report(structs.replace(PASSES, duplicate=True), *base, quarantine=entries)).passed
    assert not _verdict(head, None, agreed=True, fail_on="test-failures").passed


def test_without_a_base_entries_count_only_where_nobody_else_has_to_agree() -> None:
    head = _report(FAILS, OTHER, quarantine=_quarantine("pays"))
    assert _verdict(head, None, agreed=True).passed
    assert not _verdict(head, None).passed
    assert not judge(head, compare(head, Unreachable("no answer")), GateSettings(fail_on=("test-failures",))).passed
    said = "no entry of turncheck.quarantine.yml counts: none is known to be on the base"
    assert said in _compared(head, None).baseline.warnings


def test_on_the_branch_of_the_base_its_own_entries_count() -> None:
    head = _report(FAILS, OTHER, quarantine=_quarantine("pays"))
    assert _verdict(head, _report(PASSES, OTHER), agreed=True).passed
    expired = _report(FAILS, OTHER, quarantine=_quarantine("pays", until="2026-11-01"))
    assert not _verdict(expired, _report(PASSES, OTHER), agreed=True).passed


# --- what they keep from failing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passes", "fails"),
    [
        ({"cases": [case("pays", "a"), case("o", "a")]}, {"cases": [case("pays", "a!w"), case("o", "a")]}),
        ({"suites": [suite("s", ("pays", True), ("o", True))]}, {"suites": [suite("s", ("pays", False), ("o", True))]}),
    ],
    ids=["end-to-end", "batch"],
)
def test_other_kinds_of_tests_may_be_in_quarantine(passes: dict[str, object], fails: dict[str, object]) -> None:
    entries = _quarantine("pays")
    head, base = (_report(quarantine=entries, **tests) for tests in (fails, passes))
    assert _verdict(head, base).passed
    assert _verdict(head, base, fail_on="test-failures").passed
    assert not _verdict(structs.replace(head, quarantine=UNSET), base).passed


def test_of_two_tests_with_one_name_the_file_says_which_is_meant() -> None:
    entries = _quarantine("tests/a.yml::pays")
    passing = [story("pays", "a", path="tests/a.yml"), story("pays", "b", path="tests/b.yml")]
    base = _report(*passing, quarantine=entries)
    assert _verdict(_report(story("pays", "a!w", path="tests/a.yml"), passing[1], quarantine=entries), base).passed
    assert not _verdict(_report(passing[0], story("pays", "b!w", path="tests/b.yml"), quarantine=entries), base).passed


def test_a_test_that_is_expected_to_fail_and_passes_fails_the_run(golden: Golden) -> None:
    entries = _quarantine("pays", expect="failing")
    failing, passing = (_report(one, OTHER, quarantine=entries) for one in (FAILS, PASSES))
    assert _verdict(failing, failing, fail_on="test-failures").passed
    for fail_on in ("new-failures", "test-failures"):
        verdict = _verdict(passing, failing, fail_on=fail_on)
        assert not verdict.passed
        golden(*(cause.what for cause in _gate(verdict, fail_on).failed_by))
        golden(verdict.summary)
    passed_before = _report(PASSES, OTHER, story("new", "a"), quarantine=entries)
    assert _verdict(passed_before, passing).passed, "it is not new"
    assert not _verdict(passing, passing, fail_on="test-failures").passed
    assert _verdict(_report(PASSES, OTHER), failing).passed, "it was released in the same change"


def _repeated(runs: str, outcome: str) -> CaseResult:
    passed = case("pays", "a" if outcome in {"passed", "flaky"} else "a!b")
    return structs.replace(passed, repeats=Repeats(runs=runs, outcome=outcome, base="PPPPPPPPPPPPPPPPPPPF"))  # type: ignore[arg-type]


@pytest.mark.parametrize("expect", ["flaky", "failing"])
def test_a_test_that_fails_more_often_than_it_used_to_fails_the_run(expect: str) -> None:
    entries = _quarantine("pays", expect=expect)
    other = case("o", "a")
    base = _report(cases=[_repeated("PPPPPPPPPPPPPPPPPPPF", "flaky"), other], quarantine=entries)
    worse = _report(cases=[_repeated("FFffff", "regressed"), other], quarantine=entries)
    for fail_on in ("new-failures", "test-failures"):
        assert not _verdict(worse, base, fail_on=fail_on).passed
    as_usual = _report(cases=[_repeated("FPfp", "failed"), other], quarantine=entries)
    assert _verdict(as_usual, base).passed


def test_neither_a_small_budget_nor_errors_excuse_a_test_that_never_passes_any_more() -> None:
    entries = _quarantine("pays", expect="flaky")
    other = case("o", "a")
    base = _report(cases=[_repeated("PPPPPPPPPPPPPPPPPPPF", "flaky"), other], quarantine=entries)
    failed = _repeated("FF", "failed")
    erred = structs.replace(
        failed, outcome="error", repeats=Repeats(runs="", outcome="unclear", errors=3, base="PPPPPPPPPPPF")
    )
    for worse in (failed, erred):
        assert not _verdict(_report(cases=[worse, other], quarantine=entries), base).passed
    as_usual = structs.replace(failed, repeats=Repeats(runs="FF", outcome="failed", base="FPFFPF"))
    assert _verdict(_report(cases=[as_usual, other], quarantine=entries), base).passed


def test_beside_tests_that_were_not_run_those_in_quarantine_have_not_passed() -> None:
    entries = _quarantine("pays")
    not_run = Skipped(evaluation="e2e", reason="no server")
    head = _report(FAILS, OTHER, quarantine=entries, skipped=[not_run])
    base = _report(PASSES, OTHER, quarantine=entries, skipped=[not_run])
    summary = _verdict(head, base).summary
    assert "1 of 2 stories passed, 1 story in quarantine fails" in summary


def test_a_run_whose_tests_are_all_in_quarantine_tested_nothing(golden: Golden) -> None:
    entries = _quarantine("pays", "a sentence")
    head = _report(PASSES, examples=[example("a sentence", "greet")], quarantine=entries)
    gate = _gate(_verdict(head, head), "something-was-tested")
    assert gate.outcome == "failed"
    golden(gate.reason)
    more = _report(PASSES, examples=[example("a sentence", "greet"), example("b", "greet")], quarantine=entries)
    assert _gate(_verdict(more, more), "something-was-tested").outcome == "passed"


def test_figures_are_those_that_were_measured() -> None:
    entries = _quarantine("pays")
    head, base = (_report(one, OTHER, quarantine=entries) for one in (FAILS, PASSES))
    metric = _compared(head, base).metric("core.failed")
    assert metric is not None
    assert (metric.base, metric.value) == (0, 1)


def test_runs_of_a_quarantined_case_are_no_loss_over_all_cases() -> None:
    """The other test of repeated cases, over all of them, is not to fail for one whose failures are known."""

    def repeated(name: str, runs: str) -> CaseResult:
        outcome = "flaky" if "F" in runs else "passed"
        repeats = Repeats(runs=runs, outcome=outcome, base="P" * 20)  # type: ignore[arg-type]
        return structs.replace(case(name, "a"), repeats=repeats)

    def report_of(entries: Quarantine | None) -> Report:
        made = _report(cases=[repeated("pays", "FFFFFFPP"), repeated("o", "PP")], quarantine=entries)
        assert made.e2e is not None
        how = HowRepeated(first=2, most=30, false_alarms=0.01)
        return structs.replace(made, e2e=structs.replace(made.e2e, repeats=how))

    entries = _quarantine("pays")
    base = _report(cases=[case("pays", "a"), case("o", "a")], quarantine=entries)
    for own, runs in ((None, 10), (entries, 2)):
        losses = _compared(report_of(own), base).many_losses
        assert isinstance(losses, ManyLosses)
        assert (losses.runs, losses.real) == (runs, own is None)


def test_an_entry_is_about_flaky_tests_only_if_one_of_its_tests_may_vary() -> None:
    entries = _quarantine("pays", "orders", "tests/a.yml::both")
    known = {("pays", "tests/a.yml"), ("orders", "tests/a.yml"), ("both", "tests/a.yml"), ("both", "tests/b.yml")}
    may_vary = {("orders", "tests/a.yml"), ("both", "tests/b.yml")}
    assert [one.subject for one in never_flaky(entries, known, may_vary)] == ["pays", "tests/a.yml::both"]
    assert never_flaky(_quarantine("pays", expect="failing"), known, may_vary) == []


# --- passes in a row -------------------------------------------------------------------------------------------------


def test_passes_in_a_row_are_counted_on_from_the_base() -> None:
    passed = with_results(_report(PASSES, OTHER), _quarantine("pays"))
    failed = with_results(_report(FAILS, OTHER), _quarantine("pays"))
    before = _report(PASSES, quarantine=_quarantine("pays", passes=19))

    def passes(made: Report, base: Report) -> int:
        counted = with_passes_of_base(made, base).quarantine
        assert isinstance(counted, Quarantine)
        return counted.tests[0].passes

    assert [passes(passed, before), passes(failed, before), passes(passed, _report(PASSES))] == [20, 0, 1]
    runs = _report(cases=[structs.replace(case("pays", "a"), repeats=Repeats(runs="PFPPp", outcome="flaky"))])
    assert passes(with_results(runs, _quarantine("pays")), before) == 3, "since it last failed"
    assert passes(with_results(_report(OTHER), _quarantine("pays")), before) == 19, "it did not run"


# --- the report ------------------------------------------------------------------------------------------------------


def test_a_report_has_the_entries_and_one_without_a_file_has_no_such_key() -> None:
    made = _report(PASSES, quarantine=_quarantine("pays"))
    assert decode(encode(made)) == made
    assert b"quarantine" not in encode(_report(PASSES))


@pytest.mark.parametrize(
    ("written", "forged"),
    [
        (b'"until": "2026-12-31"', b'"until": "2026-02-31"'),
        (b'"until": "2026-12-31"', b'"until": ""'),
        (b'"today": "2026-11-26"', b'"today": ""'),
        (b'"expect": "flaky"', b'"expect": "anything"'),
        (b'"case": "orders"', b'"case": "pays"'),
        (b'"passes": 0', b'"passes": -1'),
    ],
)
def test_a_forged_report_is_refused(written: bytes, forged: bytes, golden: Golden) -> None:
    content = encode(_report(PASSES, quarantine=_quarantine("pays", "orders")))
    assert written in content
    with pytest.raises(UserError) as refused:
        decode(content.replace(written, forged))
    golden(refused.value)


def test_a_report_beside_its_base_shows_the_entries_that_count() -> None:
    head = _report(FAILS, quarantine=_quarantine("pays", "orders"))
    shown = shown_beside_base(head, _compared(head, _report(PASSES, quarantine=_quarantine("orders")))).quarantine
    assert isinstance(shown, Quarantine)
    assert [test.case for test in shown.tests] == ["orders"]


# --- what people read ------------------------------------------------------------------------------------------------


def _outcome(head: Report, base: Report) -> Outcome:
    return conclude(head, Present(base, "git"), Links())


def test_a_test_that_fails_in_quarantine_is_folded_skipped_and_a_notice(golden: Golden) -> None:
    entries = _quarantine("pays", issue="https://example.org/1")
    outcome = _outcome(
        _report(FAILS, OTHER, quarantine=entries), _report(PASSES, OTHER, story("old", "a"), quarantine=entries)
    )
    words = "in quarantine until 2026-12-31 (ana): slow bank; https://example.org/1"
    comment = outcome.texts()[1].encoded.decode()
    folded = comment.partition("In quarantine (1)")[2]
    golden(folded, only="`pays`")
    assert "failing tests" not in comment.lower()
    documents = {one.name: one.encoded.decode() for one in outcome.documents()}
    assert f'<skipped type="skipped" message="{words}">' in documents["junit.xml"]
    assert "<failure" not in documents["junit.xml"].partition("gates")[0]
    assert words in documents["report.html"]
    (said,) = find_annotations(outcome.run.report, outcome.comparison)
    assert (said.level, said.message) == ("notice", words)
    golden(said.title)


def test_a_test_that_must_fail_and_passes_is_a_failure_in_junit(golden: Golden) -> None:
    entries = _quarantine("pays", expect="failing")
    outcome = _outcome(_report(PASSES, OTHER, quarantine=entries), _report(FAILS, OTHER, quarantine=entries))
    junit = next(one for one in outcome.documents() if one.name == "junit.xml").encoded.decode()
    golden(junit, only="quarantine")


def test_after_twenty_passes_in_a_row_the_comment_says_to_release_it() -> None:
    words = "'pays' has passed {} times in a row: release it"
    for passes, said, expect in ((20, True, "flaky"), (19, False, "flaky"), (20, True, "failing")):
        entries = _quarantine("pays", passes=passes, expect=expect)
        base = _report(PASSES, OTHER, story("old", "a"), quarantine=_quarantine("pays", passes=19, expect=expect))
        comment = _outcome(_report(PASSES, OTHER, quarantine=entries), base).texts()[1]
        assert (words.format(passes) in comment.encoded.decode().replace("`", "'")) == said
