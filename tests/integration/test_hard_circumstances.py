"""A full disk, names in another encoding, folders without end, numbers beyond reason: words, never a traceback."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from fewer_sentences import keep_sentences
from in_process import turncheck as in_process

pytestmark = pytest.mark.usefixtures("_shared_cache")
PIZZERIA = Path(__file__).parents[2] / "examples" / "pizzeria"


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PIZZERIA, tmp_path / "bot"))


def turncheck(
    *words: str | Path,
    folder: Path,
    most_bytes: int | None = None,
    stdout: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, which may write files of so many bytes."""

    def limit() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(
        [sys.executable, "-m", "turncheck", *map(str, words)],
        cwd=folder,
        stdout=subprocess.PIPE if stdout is None else stdout,
        stderr=subprocess.PIPE,
        # Python would leave half a module in `__pycache__`, for every later run.
        env={**os.environ, **({} if most_bytes is None else {"PYTHONDONTWRITEBYTECODE": "1"}), **(variables or {})},
        preexec_fn=limit,
        check=False,
    )


def assert_words(done: subprocess.CompletedProcess[bytes], code: int, *words: str) -> str:
    told = (done.stdout or b"").decode("utf-8", "replace") + done.stderr.decode("utf-8", "replace")
    return assert_told(told, done.returncode, code, *words)


def assert_told(told: str, returncode: int, code: int, *words: str) -> str:
    assert "Traceback" not in told
    assert returncode == code, told
    assert [word for word in words if word not in told] == []
    return told


def test_no_room_for_what_was_learned(bot: Path) -> None:
    done = turncheck("test", "nlu", "--cross-validation", folder=keep_sentences(bot, 6), most_bytes=1000)
    assert_words(done, 2, "could not be stored completely", "TMPDIR")


def test_no_room_for_a_model(bot: Path) -> None:
    done = turncheck("train", "core", folder=bot, most_bytes=1000)
    assert_words(done, 2, "cannot write models", "too large")
    assert not list((bot / "models").iterdir())


def test_no_room_for_results(bot: Path) -> None:
    done = turncheck("run", "--evaluations", "validate", folder=bot, most_bytes=100)
    assert_words(done, 2, "cannot write results/report.json: File too large", "ulimit -f")
    assert not list((bot / "results").iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", [["--version"], ["--help"], ["run", "--help"], ["data", "validate"]])
def test_no_room_for_what_is_printed(bot: Path, words: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = turncheck(*words, folder=bot, stdout=full.fileno())
    assert_words(done, 2, "the disk is full")


@pytest.fixture
def odd(bot: Path) -> Path:
    """An assistant in a folder, with files, whose names are not UTF-8."""
    for old, new in (("data/nlu.yml", b"data/n\xfe.yml"), ("tests/test_stories.yml", b"tests/test_\xff.yml")):
        if (bot / old).exists():
            (bot / old).rename(bot / os.fsdecode(new))
    folder = bot.with_name(os.fsdecode(b"b\xffot"))
    bot.rename(folder)
    (folder / "data" / os.fsdecode(b"broken\xe9.yml")).write_text("nlu:\n- intent: x\n  examples: |\n    - a\n   - b\n")
    return folder


def test_names_that_are_not_utf_8(odd: Path, tmp_path: Path) -> None:
    done = turncheck("run", odd, "--out", "results", "--evaluations", "validate", "core", folder=tmp_path)
    assert_words(done, 1, r"data/broken\xe9.yml:5:4")
    report = json.loads((tmp_path / "results" / "report.json").read_text("utf-8"))
    assert report["project"]["name"] == r"b\xffot"
    assert r"data/broken\xe9.yml" in {one["location"]["path"] for one in report["validation"]["findings"]}
    for path in (tmp_path / "results").rglob("*.*"):
        path.read_bytes().decode("utf-8")
    assert r"data/broken\xe9.yml" in (tmp_path / "results" / "comment.md").read_text("utf-8")


@pytest.mark.parametrize("output_format", ["text", "json", "sarif", "github"])
def test_names_that_are_not_utf_8_in_every_format(odd: Path, output_format: str) -> None:
    done = turncheck("data", "validate", "--format", output_format, folder=odd)
    assert_words(done, 1)
    assert "broken" in done.stdout.decode("utf-8")


def test_a_terminal_that_shows_no_such_character(odd: Path) -> None:
    done = turncheck(
        "run", "--evaluations", "validate", folder=odd, variables={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    )
    assert_words(done, 1)


@pytest.mark.parametrize("place", ["data", "tests", "."])
def test_folders_nested_without_end(bot: Path, place: str) -> None:
    before = Path.cwd()
    os.chdir(bot / place)
    try:
        for _ in range(1100):
            Path("d").mkdir()
            os.chdir("d")
        Path("nlu.yml").write_text("nlu:\n- intent: x\n")
    finally:
        os.chdir(before)
    try:
        done = turncheck("run", "--evaluations", "validate", folder=bot)
        assert_words(done, int(place == "data"), *(["nested more than 100 deep"] if place == "data" else []))
    finally:
        subprocess.run(["rm", "-rf", str(bot)], check=True)  # pytest's own way of removing folders recurses


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["run", "--workers", "200000"], 2, "from 0 to 100000"),
        (["run", "--seed", "99999999999"], 2, "--seed: expected a whole number from 0"),
        (["run", "--folds", "999999"], 2, "--folds: expected a whole number from 2 to 10000"),
        (["run", "--retention-days", "999999999999"], 2, "--retention-days: expected a whole number"),
        (["test", "e2e", "--workers", "200000"], 2, "at most 100000"),
        (["test", "e2e", "--repeat", "99999999999"], 2, "at most 10000"),
        (["test", "nlu", "--seed", "-1"], 2, "at least 0"),
    ],
)
def test_numbers_beyond_reason(bot: Path, words: list[str], code: int, told: str) -> None:
    if words[0] == "run":
        words = [*words, "--evaluations", "e2e"]
    done = in_process(*words, cwd=bot)
    assert_told(done.stdout + done.stderr, done.returncode, code, told)


def test_more_workers_than_the_system_lets_start(bot: Path) -> None:
    assert_words(turncheck("test", "e2e", "--workers", "5000", folder=bot), 0, "64 are started")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LOKY_MAX_CPU_COUNT", "abc"),
        ("JOBLIB_MULTIPROCESSING", "yes"),
        ("SKLEARN_WORKING_MEMORY", "1.5"),
        ("SKLEARN_PAIRWISE_DIST_CHUNK_SIZE", ""),
    ],
)
def test_variables_that_libraries_read_as_numbers(bot: Path, name: str, value: str) -> None:
    done = turncheck("run", "--evaluations", "validate", folder=bot, variables={name: value})
    assert_words(done, 2, f"{name} is not a whole number: {value!r}")


def test_pictures_are_drawn_whatever_the_machine_and_the_folder_say(bot: Path) -> None:
    keep_sentences(bot, 6)
    shutil.copy(bot / "config.yml", bot / "other.yml")
    compare = (
        "test",
        "nlu",
        "--nlu",
        "data",
        "--config",
        "config.yml",
        "other.yml",
        "--runs",
        "1",
        "--percentages",
        "50",
    )
    (bot / "matplotlibrc").write_text("backend: nonsense\ntext.usetex: True\nsavefig.dpi: 5\n")
    variables = {"MPLBACKEND": "nonsense", "MPLCONFIGDIR": "/dev/null", "SOURCE_DATE_EPOCH": "abc"}
    done = turncheck(*compare, "--out", "drawn", folder=bot, variables=variables)
    assert_words(done, 0)
    assert b"atplotlib" not in done.stdout + done.stderr, "it would name a variable of its own"
    (bot / "matplotlibrc").unlink()
    again = turncheck(*compare, "--out", "again", folder=bot)
    assert_words(again, 0)
    pictures = sorted(path.name for path in (bot / "drawn").glob("*.p[dn][fg]"))
    assert pictures == ["nlu_model_comparison_graph.pdf", "nlu_model_comparison_graph.png"], "matplotlib's"
    for name in pictures:
        assert (bot / "drawn" / name).read_bytes() == (bot / "again" / name).read_bytes()


@pytest.mark.parametrize("name", ["turncheck.yml", "domain.yml", "config.yml", "data/nlu.yml", "data", "endpoints.yml"])
def test_links_that_lead_round_in_a_circle(bot: Path, name: str) -> None:
    path = bot / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(path.name)
    done = in_process("run", "--evaluations", "validate", cwd=bot)
    assert_told(done.stdout + done.stderr, done.returncode, done.returncode)
    if done.returncode == 0:
        findings = json.loads((bot / "results" / "report.json").read_text())["validation"]["findings"]
        assert any((one["code"], one["location"]["path"]) == ("file-not-regular", name) for one in findings)
    else:
        assert done.returncode in {1, 2}


@pytest.mark.parametrize(
    "flag", ["--config", "--domain", "--data", "--nlu", "--stories", "--e2e", "--baseline", "--out"]
)
def test_names_that_are_too_long(bot: Path, flag: str) -> None:
    done = in_process("run", "--evaluations", "validate", flag, "a" * 5000, cwd=bot)
    told = assert_told(done.stdout + done.stderr, done.returncode, 2)
    assert "File name too long" in told
    assert len(told) < 12_000
