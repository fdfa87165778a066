"""Output folders: what turncheck wrote is replaced, and nobody else's file is."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.messages.errors import UserError
from turncheck.process.output_files import RECORD, ensure_replaceable
from turncheck.publishing.files import write_own, write_results
from turncheck.render.rendered import Rendered

PIZZERIA = Path(__file__).parents[3] / "examples" / "pizzeria"
DOCUMENT = '{\n "schema": "turncheck/report/v1",\n'
NAMES = ("report.json", "report.html", "rasa/a.json")


def renderings(content: str = DOCUMENT) -> list[Rendered]:
    return [Rendered(name, "text/plain", content) for name in NAMES]


def test_what_was_written_is_replaced(tmp_path: Path) -> None:
    for content in (DOCUMENT, f"{DOCUMENT} again"):
        write_own(tmp_path, renderings(content))

    assert {(tmp_path / name).read_text() for name in NAMES} == {f"{DOCUMENT} again"}
    assert not (tmp_path / RECORD).exists(), "the document says whose folder it is"


def test_without_a_document_there_is_a_record(tmp_path: Path) -> None:
    for content in ("first", "second"):
        write_own(tmp_path, renderings(content)[1:])

    assert {(tmp_path / name).read_text() for name in NAMES[1:]} == {"second"}
    assert len((tmp_path / RECORD).read_text().splitlines()) == len(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["file", "link", "dangling link"])
def test_somebody_elses_file_is_not_replaced(tmp_path: Path, name: str, kind: str, golden: Golden) -> None:
    path = tmp_path / "out" / name
    path.parent.mkdir(parents=True)
    (tmp_path / "theirs").write_text("theirs")
    if kind == "file":
        path.write_text("theirs")
    else:
        path.symlink_to(tmp_path / ("theirs" if kind == "link" else "nowhere"))

    with pytest.raises(UserError) as refused:
        write_own(tmp_path / "out", renderings())
    golden(refused.value)
    assert kind == "dangling link" or path.read_text() == "theirs"
    assert kind == "file" or path.is_symlink()


def test_a_file_that_came_later_is_theirs(tmp_path: Path, golden: Golden) -> None:
    write_own(tmp_path, renderings()[1:2])
    (tmp_path / "summary.md").write_text("theirs")

    with pytest.raises(UserError) as refused:
        write_own(tmp_path, [Rendered("summary.md", "text/plain", "")])
    golden(refused.value)


def test_results_that_were_downloaded_are_ours(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text(DOCUMENT)
    (tmp_path / "summary.md").write_text("ours")

    write_own(tmp_path, [*renderings(DOCUMENT), Rendered("summary.md", "text/plain", "again")])

    assert (tmp_path / "summary.md").read_text() == "again"


def test_results_below_do_not_make_a_folder_ours(tmp_path: Path, golden: Golden) -> None:
    write_results(tmp_path / "results", renderings(DOCUMENT))
    (tmp_path / "report.html").write_text("theirs")

    with pytest.raises(UserError) as refused:
        ensure_replaceable(tmp_path)
    golden(refused.value)


@pytest.mark.parametrize("record", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo, Path.mkdir])
def test_a_record_that_is_no_file_is_an_error_in_words(tmp_path: Path, record: Callable[[Path], object]) -> None:
    record(tmp_path / RECORD)

    with pytest.raises(UserError, match="cannot write"):
        write_own(tmp_path, renderings()[1:])


def test_a_device_is_written_to_as_ever(tmp_path: Path) -> None:
    (tmp_path / "report.json").symlink_to("/dev/null")

    write_own(tmp_path, renderings())

    assert (tmp_path / "report.json").is_symlink()


def test_many_at_once_do_not_take_each_others_files_for_a_strangers(tmp_path: Path) -> None:
    def write(number: int) -> None:
        write_results(tmp_path / "out", [*renderings()[number % 2 :], Rendered(f"{number}.txt", "text/plain", "")])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    ensure_replaceable(tmp_path / "out", [f"{number}.txt" for number in range(40)])


@pytest.mark.parametrize("name", ["report.html", "summary.md", "junit.xml"])
def test_a_run_refuses_before_it_measures(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text("my report")

    assert run_command_line(["run", str(PIZZERIA), "--out", ".", "--evaluations", "validate"]) == 2
    said = capsys.readouterr().err
    golden(said)
    assert "--out" in said
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "my report"


@pytest.mark.parametrize(
    "words",
    [
        ["run", str(PIZZERIA)],
        ["report", "render", "report.json"],
        ["report", "compare", "a.json", "b.json"],
        ["test", "nlu"],
        ["data", "validate"],
        ["train"],
        ["data", "convert", "nlu"],
    ],
)
@pytest.mark.parametrize("blank", ["", " "])
def test_an_output_folder_has_a_name(words: list[str], blank: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([*words, "--out", blank]) == 2
    assert "the current" in capsys.readouterr().err
