"""A run in several shards, put together again: the report that one run would have given, or no report at all."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fewer_sentences import keep_sentences
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.run.shards.document import ANSWERS_NAME, HEAD_NAME
from turncheck.settings.parsers import Shard

pytestmark = pytest.mark.usefixtures("_shared_cache")  # shards take what the one run has trained anyway
EXAMPLES = Path(__file__).parents[2] / "examples"


def turncheck(*arguments: str | Path) -> int:
    return run_command_line([str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of these tests in CI is not the one that they are about."""
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "BITBUCKET_BUILD_NUMBER", "CI"):
        monkeypatch.delenv(name, raising=False)


def pizzeria(folder: Path, *, held_out: bool = True) -> Path:
    project = keep_sentences(shutil.copytree(EXAMPLES / "pizzeria", folder / "pizzeria"), 4)
    if not held_out:
        (project / "tests" / "test_nlu.yml").unlink()
    return project


def shards(project: Path, folder: Path, count: int, *flags: str) -> list[Path]:
    places = [folder / f"shard-{number}" for number in range(1, count + 1)]
    for number, place in enumerate(places, 1):
        assert turncheck("run", project, "--shard", f"{number}/{count}", "--out", place, "--quiet", *flags) == 0
    return places


_MOMENT = re.compile(rb"20\d\d-\d\d-\d\d \d\d:\d\d UTC")


def report_of(folder: Path) -> bytes:
    """The report but for its timings and its time, byte by byte."""
    report = json.loads((folder / "report.json").read_bytes())
    del report["timings"], report["source"]["measured"]
    return json.dumps(report, ensure_ascii=False).encode()


def pairs_of(folder: Path) -> dict[str, bytes]:
    names = ("comparison.json", "verdict.json", "summary.md", "comment.md")
    return {name: _MOMENT.sub(b"(when)", (folder / name).read_bytes()) for name in names}


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (pizzeria, 3),
        (lambda folder: pizzeria(folder, held_out=False), 2),
        (lambda folder: pizzeria(folder, held_out=False), 8),
        (lambda folder: keep_sentences(shutil.copytree(EXAMPLES / "clinic", folder / "clinic"), 2), 2),
        (lambda folder: shutil.copytree(EXAMPLES / "bike_workshop", folder / "bike_workshop"), 2),
    ],
    ids=["held-out", "cross-validation", "more shards than folds", "clinic", "suites"],
)
def test_shards_make_the_report_of_one_run(make: Callable[[Path], Path], count: int, tmp_path: Path) -> None:
    project = make(tmp_path)
    code = turncheck("run", project, "--out", tmp_path / "one", "--quiet", "--baseline", "none")

    places = shards(project, tmp_path / "parts", count)
    merged = turncheck("report", "merge", *places, "--out", tmp_path / "merged", "--quiet", "--baseline", "none")

    assert merged == code
    assert report_of(tmp_path / "merged") == report_of(tmp_path / "one")
    assert pairs_of(tmp_path / "merged") == pairs_of(tmp_path / "one")


def test_a_shard_judges_nothing_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    project = pizzeria(tmp_path)
    story = project / "tests" / "test_stories.yml"
    story.write_text(story.read_text().replace("utter_greet", "utter_goodbye"))

    (place, _) = shards(project, tmp_path / "parts", 2)

    assert {path.name for path in place.iterdir()} == {HEAD_NAME, ANSWERS_NAME}
    golden(capsys.readouterr().out)


def test_what_fails_in_a_shard_fails_the_merged_run(tmp_path: Path) -> None:
    project = shutil.copytree(EXAMPLES / "pizzeria", tmp_path / "pizzeria")  # all else passes with all its sentences
    story = project / "tests" / "test_stories.yml"
    story.write_text(story.read_text().replace("utter_greet", "utter_goodbye"))

    places = shards(project, tmp_path / "parts", 2)

    assert turncheck("report", "merge", *places, "--out", tmp_path / "merged", "--quiet") == 1


def test_a_pipeline_that_cannot_be_trained_is_the_same_fault(tmp_path: Path) -> None:
    project = pizzeria(tmp_path)
    config = project / "config.yml"
    config.write_text(config.read_text().replace("- name: RulePolicy", "- name: NoPolicy"))
    code = turncheck("run", project, "--out", tmp_path / "one", "--quiet", "--baseline", "none")

    places = shards(project, tmp_path / "parts", 2)

    assert turncheck("report", "merge", *places, "--out", tmp_path / "m", "--quiet", "--baseline", "none") == code
    assert report_of(tmp_path / "m") == report_of(tmp_path / "one")


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("three")
    shards(pizzeria(folder), folder / "parts", 3)
    return folder


def edited_head(folder: Path, **changes: object) -> None:
    head = json.loads((folder / HEAD_NAME).read_text())
    (folder / HEAD_NAME).write_text(json.dumps({**head, **changes}))


def edited_versions(folder: Path, **changes: str) -> None:
    edited_head(folder, versions={**json.loads((folder / HEAD_NAME).read_text())["versions"], **changes})


def another_model(folder: Path) -> None:
    engine = json.loads((folder / HEAD_NAME).read_text())["engine"]
    edited_head(folder, engine={**engine, "info": {**engine["info"], "model": "/elsewhere/b.tar.gz"}})


def foreign_answer(folder: Path) -> None:
    """An answer is given twice, by another shard than it belongs to: it would win."""
    shard = Shard(2, 3)
    name = next(f"story:not mine {number}" for number in range(99) if not shard.holds(f"story:not mine {number}"))
    edited_answers(folder, lambda answers: answers.update({name: None}))


def lose_an_answer(folder: Path, number_measured: int = 0) -> None:
    """An answer is gone, and the digest does not tell it."""
    edited_answers(folder, lambda answers: answers.pop(one_of(answers, "sentence")))
    if number_measured:
        edited_head(
            folder, units={**json.loads((folder / HEAD_NAME).read_text())["units"], "sentence": number_measured}
        )


def one_of(answers: dict[str, object], kind: str) -> str:
    return next(one for one in answers if one.startswith(f"{kind}:"))


def one_too_many(folder: Path) -> None:
    shard = Shard(2, 3)
    name = next(f"story:new {number}" for number in range(99) if shard.holds(f"story:new {number}"))
    edited_answers(folder, lambda answers: answers.update({name: None}))


def number_of(folder: Path, kind: str) -> int:
    return int(json.loads((folder / HEAD_NAME).read_text())["units"][kind])


def emptied(folder: Path, kind: str) -> None:
    """Nothing is no answer: taken for one that is asked elsewhere, it would leave out all stories."""
    edited_answers(folder, lambda answers: answers.update({one_of(answers, kind): None}))


def edited_answers(folder: Path, edit: Callable[[dict[str, object]], object]) -> None:
    path = folder / ANSWERS_NAME
    answers = json.loads(gzip.decompress(path.read_bytes()))
    edit(answers)
    path.write_bytes(gzip.compress(json.dumps(answers).encode()))
    edited_head(folder, answers=hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda parts: shutil.rmtree(parts / "shard-2"), "shard 2/3 is missing"),
        (lambda parts: shutil.copytree(parts / "shard-1", parts / "x"), "shard 1/3 appears twice"),
        (
            lambda parts: edited_head(parts / "shard-2", source={"commit": "f" * 40}),
            "is from the commit ffffffffffff",
        ),
        (
            lambda parts: edited_head(parts / "shard-3", settings={"seed": 7}),
            "`seed` is 7 here, not given for shard 1/3",
        ),
        (lambda parts: edited_head(parts / "shard-3", project="0"), "other files of the project"),
        (lambda parts: edited_head(parts / "shard-3", tool={"name": "turncheck", "version": "0.0"}), "turncheck 0.0"),
        (lambda parts: edited_versions(parts / "shard-3", numpy="1"), "other software: numpy 1, not"),
        (lambda parts: edited_versions(parts / "shard-3", python="3.9.1"), "other software: python 3.9.1, not"),
        (lambda parts: edited_versions(parts / "shard-3", code="0"), "other software: different code of turncheck"),
        (lambda parts: edited_head(parts / "shard-3", custom_code=True), "was measured with --allow-custom-code"),
        (lambda parts: another_model(parts / "shard-3"), "with the model b.tar.gz, shard 1 by embedded"),
        (lambda parts: foreign_answer(parts / "shard-2"), "has answers of another shard: `story:not mine"),
        (lambda parts: edited_head(parts / "shard-3", count=4), "is one of 4, not of 3"),
        (lambda parts: edited_head(parts / "shard-3", number=4), "shard 4/3 ("),
        (lambda parts: edited_head(parts / "shard-3", stopped="the server is gone"), "failed: the server is gone"),
        (lambda parts: (parts / "shard-2" / ANSWERS_NAME).unlink(), "cannot read"),
        (lambda parts: (parts / "shard-2" / ANSWERS_NAME).write_bytes(b"x"), "is not what its shard wrote"),
        (lambda parts: (parts / "shard-2" / HEAD_NAME).write_text("{}"), "was not written by a shard of this version"),
        (
            lambda parts: lose_an_answer(parts / "shard-2", number_of(parts / "shard-2", "sentence") - 1),
            "none of them has the answer to `",
        ),
        (lambda parts: lose_an_answer(parts / "shard-2"), "answers of the kind `sentence`, but measured "),
        (lambda parts: one_too_many(parts / "shard-2"), "answers of the kind `story`, but measured "),
        (lambda parts: emptied(parts / "shard-2", "sentence"), "none of them has the answer to `sentence:"),
        (lambda parts: emptied(parts / "shard-2", "story"), "none of them has the answer to `story:"),
        (
            lambda parts: edited_answers(parts / "shard-2", lambda answers: answers.update({"fold:x": None})),
            "answer",
        ),
        (
            lambda parts: (parts.parent / "pizzeria" / "turncheck.yml").write_text("seed: 5\n"),
            "files of the project that differ from the ones here",
        ),
    ],
)
def test_a_gap_never_becomes_green(
    spoil: Callable[[Path], object], said: str, three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = shutil.copytree(three / "parts", tmp_path / "parts")
    project = shutil.copytree(three / "pizzeria", tmp_path / "pizzeria")
    spoil(parts)

    code = turncheck("report", "merge", parts, "--project", project, "--out", tmp_path / "merged", "--quiet")

    assert code == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "merged").exists()


@pytest.mark.parametrize("shard", ["0/3", "4/3", "3", "1/1001", "a/b"])
def test_a_shard_that_there_cannot_be(
    shard: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert turncheck("run", tmp_path, "--shard", shard) == 2
    golden(capsys.readouterr().err)
