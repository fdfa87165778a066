"""``turncheck quarantine``: the file is edited in place."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from textwrap import indent

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.project.quarantine import QUARANTINE_FILE, schema

_TODAY = datetime.now(UTC).date()


def _day(ahead: int) -> str:
    return (_TODAY + timedelta(days=ahead)).isoformat()


@pytest.fixture(autouse=True)
def _on_that_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' days are those of their collection, which may be before midnight."""
    monkeypatch.setattr("turncheck.commands.quarantine._today", lambda: _TODAY)


def _entry(case: str, ahead: int = 10) -> str:
    return f"- case: {case}   # slow\n  because: bank\n  owner: ana\n  until: {_day(ahead)}\n  expect: failing\n"


@pytest.fixture(autouse=True)
def _cases(tmp_path: Path) -> None:
    steps = "steps: [{user: hi}, {bot: hi}]"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/e2e_test_cases.yml").write_text(
        "test_cases:\n" + "".join(f"- {{test_case: {json.dumps(name)}, {steps}}}\n" for name in _NAMES)
    )


def _run(folder: Path, *arguments: str) -> int:
    return run_command_line(["quarantine", *arguments, "--project", str(folder)])


_NAMES = ("pays", "orders: 'a' \"pizza\"")
_IN_ONE_LINE = f"{{{{case: {{}}, because: b, owner: c, until: {_day(1)}, expect: flaky}}}}"
_ADD = ("--because", "asks: twice", "--owner", "ben")


def test_an_entry_is_added_below_the_others_and_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    before = f"# known to fail\n{_entry('pays')}# the end"
    (tmp_path / QUARANTINE_FILE).write_text(before)

    assert _run(tmp_path, "add", "orders: 'a' \"pizza\"", *_ADD, "--issue", "https://example.org/1") == 0
    assert (tmp_path / QUARANTINE_FILE).read_text().startswith(before)
    golden(capsys.readouterr().out.replace(_day(30), "DAY"))

    assert _run(tmp_path, "list") == 0
    out = capsys.readouterr().out
    assert f"pays: failing, until {_day(10)} (10 days left), ana\n  bank\n" in out
    assert "asks: twice (https://example.org/1)" in out
    assert _run(tmp_path, "list", "--json") == 0
    first, second = json.loads(capsys.readouterr().out)["quarantine"]
    assert (first["case"], first["days_left"], first["state"]) == ("pays", 10, "quarantined")
    assert (second["case"], second["expect"], second["until"]) == ("orders: 'a' \"pizza\"", "flaky", _day(30))


@pytest.mark.parametrize("before", [None, "", "[]\n"])
def test_a_file_that_is_made_names_its_schema_for_editors(tmp_path: Path, before: str | None) -> None:
    if before is not None:
        (tmp_path / QUARANTINE_FILE).write_text(before)

    assert _run(tmp_path, "add", "pays", *_ADD) == 0

    head = (tmp_path / QUARANTINE_FILE).read_text().splitlines()[0]
    assert head == f"# yaml-language-server: $schema={schema()['$id']}"


def test_a_name_is_found_as_it_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There, nothing may begin a command of the host."""
    name = "tests/e2e_test_cases.yml::pays"
    assert _run(tmp_path, "add", name, *_ADD) == 0
    listed = capsys.readouterr().out.split("'")[1]
    assert listed != name
    assert _run(tmp_path, "release", listed) == 0
    assert _run(tmp_path, "add", listed, *_ADD) == 0
    assert f'"{name}"' in (tmp_path / QUARANTINE_FILE).read_text()


@pytest.mark.parametrize("content", [None, "", "[]\n", "# nothing\n"])
def test_the_first_entry_makes_the_file(
    tmp_path: Path, content: str | None, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    if content is not None:
        (tmp_path / QUARANTINE_FILE).write_text(content)
    assert _run(tmp_path, "list") == 0
    golden(capsys.readouterr().out)
    assert _run(tmp_path, "add", "pays", *_ADD) == 0
    assert _run(tmp_path, "list") == 0
    assert "pays: flaky" in capsys.readouterr().out


def test_an_entry_is_indented_as_those_above(tmp_path: Path) -> None:
    before = f"---\n# all\n{indent(_entry('a') + _entry('b', -3), '    ')}      # the end"
    (tmp_path / QUARANTINE_FILE).write_text(before)
    assert _run(tmp_path, "add", "tests/e2e_test_cases.yml::pays", *_ADD, "--until", _day(0)) == 0
    content = (tmp_path / QUARANTINE_FILE).read_text()
    assert content.startswith(f'{before}\n    - case: "tests/e2e_test_cases.yml::pays"\n      because: ')


def test_what_is_around_a_released_entry_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    first, second, third = _entry("one"), _entry("two", -3), _entry("three")
    path = tmp_path / QUARANTINE_FILE
    path.write_text(f"# top\n{first}\n# about two\n{second}# about three\n{third}# end\n")

    assert _run(tmp_path, "release", "two") == 0
    assert path.read_text() == f"# top\n{first}\n# about two\n# about three\n{third}# end\n"
    assert _run(tmp_path, "release", "three") == 0
    assert _run(tmp_path, "release", "one") == 0
    assert path.read_text() == "# top\n\n# about two\n# about three\n# end\n"
    capsys.readouterr()
    assert _run(tmp_path, "list") == 0
    golden(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (_entry("pays"), ("add", "pays", *_ADD), "'pays' is in quarantine already"),
        (
            _entry("pays"),
            ("add", "tests/e2e_test_cases.yml::pays", *_ADD),
            "is in quarantine already, as 'pays'\nEdit its entry",
        ),
        (_entry("pays"), ("release", "pas"), "Did you mean 'pays'?"),
        (_entry("a.yml::pays"), ("release", "pays"), "Did you mean 'a.yml:"),
        ("", ("add", "pays", *_ADD, "--until", _day(91)), "'until' is 91 days ahead"),
        ("", ("add", "pays", *_ADD, "--until", "soon"), "'until' must be a date, not 'soon'"),
        ("- pays\n", ("list",), f"{QUARANTINE_FILE}:1:3"),
        (
            f"[{_IN_ONE_LINE.format('a')}]\n",
            ("add", "pays", *_ADD),
            "its entries are not one below the other\nBegin each entry with `- case:`",
        ),
        (f"---\n{_entry('a')}...\n", ("add", "pays", *_ADD), "`...` ends its list\nRemove that line"),
        ("", ("add", "pays", *_ADD, "--until", _day(-1)), f"--until {_day(-1)} has passed"),
        ("", ("add", "pay", *_ADD), "no test is called 'pay'\nDid you mean 'pays'?"),
        ("", ("add", "tests/e2e.yml::pays", *_ADD), "Did you mean 'tests/e2e_test_cases.yml:"),
        (
            f"[{_IN_ONE_LINE.format('a')}, {_IN_ONE_LINE.format('b')}]\n",
            ("release", "a"),
            "its entries are not one below the other",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_and_the_file_stays(
    tmp_path: Path, content: str, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / QUARANTINE_FILE
    path.write_text(content)
    assert _run(tmp_path, *arguments) == 2
    assert message in capsys.readouterr().err
    assert (path.read_text() if path.exists() else "") == content


def test_an_entry_that_cannot_be_leaves_no_file(tmp_path: Path) -> None:
    assert _run(tmp_path, "add", "pays", *_ADD, "--until", "soon") == 2
    assert not (tmp_path / QUARANTINE_FILE).exists()
