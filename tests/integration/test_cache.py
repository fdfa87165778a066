"""A run that takes trainings from a cache: the same report byte by byte, and nothing unchanged is trained again."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from fewer_sentences import keep_sentences
from golden_texts import Golden

import turncheck
from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu import steps
from turncheck.engines.embedded.nlu import trainer as kept_steps
from turncheck.engines.embedded.nlu.batch import Component, Lessons
from turncheck.engines.embedded.nlu.plan import Step
from turncheck.process.cache import Cache
from turncheck.report.codec import encode

EXAMPLES = Path(__file__).parents[2] / "examples"


QUICK = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: RegexFeaturizer
- name: CountVectorsFeaturizer
- name: LogisticRegressionClassifier
  max_iter: 5
- name: RegexEntityExtractor
- name: EntitySynonymMapper
- name: FallbackClassifier
  threshold: 0.3
policies:
- name: MemoizationPolicy
- name: RulePolicy
"""
RULES = "- name: RulePolicy\n  core_fallback_threshold: 0.25\n"
REGEX = "nlu:\n  - regex: shout\n    examples: |\n      - [A-Z]{3,}\n"
TOLERANCE = "- name: LogisticRegressionClassifier\n  tol: 0.001\n"
SYNONYM = "  - synonym: funghi\n    examples: |\n      - toadstools\n"


@pytest.fixture(scope="module", autouse=True)
def _at_home() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        for name in ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "BITBUCKET_BUILD_NUMBER", "CI"):
            environment.delenv(name, raising=False)
        yield


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was trained, in order."""
    done: list[str] = []

    def noted(name: str, train: Callable[..., object]) -> Callable[..., object]:
        def noting(*arguments: object, **more: object) -> object:
            done.append(name)
            return train(*arguments, **more)

        return noting

    from turncheck.engines.embedded.policies import trainer

    def train_step(step: Step, training: Lessons) -> Component | None:
        if step.kind in kept_steps.LEARNS:
            done.append("nlu")
        return steps.train_step(step, training)

    monkeypatch.setattr(kept_steps, "train_step", train_step)
    monkeypatch.setattr(trainer, "train_ensemble", noted("policies", trainer.train_ensemble))
    return done


def run(project: Path, out: Path, *flags: str | Path) -> bytes:
    arguments = ["run", project, "--out", out, "--baseline", "none", "--workers", "1", *flags]
    run_command_line([str(argument) for argument in arguments])
    return lasting((out / "report.json").read_bytes())


def measured(project: Path, **settings: Any) -> bytes:
    """Return the report of a run that writes no files, which take as long as all that is not trained."""
    return lasting(encode(turncheck.run(project, baseline="none", workers=1, progress=True, **settings).report))


def lasting(written: bytes) -> bytes:
    """What is the same in another run."""
    report = json.loads(written)
    del report["timings"], report["source"]["measured"]
    return json.dumps(report, ensure_ascii=False).encode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return cross_validated(tmp_path)


def cross_validated(folder: Path) -> Path:
    """Return a small pizzeria, its language understanding cross-validated."""
    copy = keep_sentences(shutil.copytree(EXAMPLES / "pizzeria", folder / "pizzeria"), 7)
    (copy / "tests" / "test_nlu.yml").unlink()
    return copy


def test_a_second_run_trains_nothing_and_reports_the_same(
    project: Path, tmp_path: Path, trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    keep_sentences(project, 3)
    without = run(project, tmp_path / "0", "--no-cache")
    first = run(project, tmp_path / "1")
    assert trained.count("policies") == 2
    trained.clear()
    capsys.readouterr()

    second = run(project, tmp_path / "2")

    assert trained == []
    assert without == first == second
    taken = "Unchanged, and taken from the cache: 5 folds, 1 set of trained policies, 1 trained pipeline."
    assert taken in capsys.readouterr().err


TRAINS_NOTHING = (
    ("tests/test_stories.yml", "A delivery, everything said at once", "A delivery"),
    ("tests/e2e_test_cases.yml", "a delivery, step by step", "a delivery in steps"),
    ("domain.yml", "Ciao, and enjoy your evening!", "Ciao!"),
    ("data/nlu.yml", "nlu:\n", "# Collected at the counter.\nnlu:\n"),
    ("data/stories.yml", "stories:\n", "# Frequent ones.\nstories:\n"),
    ("data/nlu.yml", "  - synonym: funghi\n    examples: |\n", SYNONYM),
    ("config.yml", "  threshold: 0.3\n", "  threshold: 0.35\n"),
)
"""A test story, an end-to-end case, the text of a response, comments above sentences and stories, a synonym, the
fallback's threshold: all at once, as each would have to train."""
EDITS: dict[str, tuple[tuple[tuple[str, str, str], ...], dict[str, int]]] = {
    "what nothing learns from": (TRAINS_NOTHING, {}),
    "a training story": ((("data/stories.yml", "- story: ", "- story: another "),), {"policies": 1}),
    "a parameter of a policy": ((("config.yml", "- name: RulePolicy\n", RULES),), {"policies": 1}),
    "a slot": ((("domain.yml", "slots:\n", "slots:\n  vip:\n    type: bool\n    mappings: []\n"),), {"policies": 1}),
    "a training sentence": ((("data/nlu.yml", "      - helo\n", "      - hallo\n"),), {"nlu": 6}),
    "a regex that features are made of": ((("data/nlu.yml", "nlu:\n", REGEX),), {"nlu": 6}),
    "a parameter of what learns": (
        (("config.yml", "- name: LogisticRegressionClassifier\n", TOLERANCE),),
        {"nlu": 6},
    ),
}
"""Edits: of which file, which text, what becomes of it; and what is then trained anew (five folds and the whole; with
``--robustness`` the same folds read other sentences)."""
WITH_NOISE = {"what nothing learns from", "a training sentence"}


def test_what_each_edit_trains_anew(quick: Path, trained: list[str]) -> None:
    project = quick
    measured(project, robustness=True)
    wrong = {}
    for what, (edits, expected) in EDITS.items():
        before = {project / name: (project / name).read_text() for name, _, _ in edits}
        for name, old, new in edits:
            text = (project / name).read_text()
            assert old in text, what
            (project / name).write_text(text.replace(old, new, 1))
        trained.clear()

        cached = measured(project, robustness=what in WITH_NOISE)

        found = {part: trained.count(part) for part in dict.fromkeys(trained)}
        if found != expected:
            wrong[what] = found
        assert cached == measured(project, cache=False, robustness=what in WITH_NOISE), what
        for path, text in before.items():
            path.write_text(text)
    assert wrong == {}


def other_content(content: bytes) -> bytes:
    """An entry that is complete, but not of what it should be."""
    forged = gzip.compress(b'{"()":[1]}')
    key = content.split()[3].decode()
    return f"turncheck cache v1 {key} {hashlib.sha256(forged).hexdigest()}\n".encode() + forged


@pytest.fixture
def quick(project: Path) -> Path:
    """The same with a pipeline that is soon trained, for what is about the entries themselves."""
    (project / "config.yml").write_text(QUICK)
    return project


class Kept(NamedTuple):
    """A first run of the quick pipeline: of which project, its report, and a copy of the cache that it has filled."""

    project: Path
    report: bytes
    cache: Path


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    folder = tmp_path_factory.mktemp("filled")
    project = cross_validated(folder)
    (project / "config.yml").write_text(QUICK)
    return Kept(project, measured(project, cache_folder=folder / "cache"), folder / "cache")


@pytest.fixture
def kept(filled: Kept, tmp_path: Path) -> Kept:
    """The same with a cache of the test's own."""
    return filled._replace(cache=shutil.copytree(filled.cache, tmp_path / "cache"))


@pytest.mark.parametrize(
    "damage", [lambda _: b"", lambda content: content[:-7], lambda content: content + b"x", other_content]
)
def test_a_damaged_entry_is_ignored_and_said(
    damage: Callable[[bytes], bytes], kept: Kept, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    entries = list(kept.cache.rglob("*.entry"))
    assert len(entries) == 13
    for entry in entries:
        entry.write_bytes(damage(entry.read_bytes()))

    assert measured(kept.project, cache_folder=kept.cache) == kept.report
    said = capsys.readouterr().err
    golden(said, only="damaged")
    assert "from the" not in said


def first_parse(fold: Any) -> Any:
    return fold["FoldRun"][1]["()"][0]["Parse"]


ANSWERS: list[tuple[str, Callable[[Any], object]]] = [
    ("a sentence less", lambda fold: fold["FoldRun"][1]["()"].pop()),
    ("a sentence twice", lambda fold: fold["FoldRun"][1]["()"].append(fold["FoldRun"][1]["()"][0])),
    ("of another fold", lambda fold: fold["FoldRun"].__setitem__(0, 77)),
    ("of another sentence", lambda fold: first_parse(fold).__setitem__(0, "another one")),
    ("a number as the intent", lambda fold: first_parse(fold).__setitem__(1, 7)),
    ("a ranking of numbers", lambda fold: first_parse(fold).__setitem__(2, {"()": [7]})),
    ("a confidence that is none", lambda fold: first_parse(fold)[1]["PredictedIntent"].__setitem__(1, float("nan"))),
    ("a list as the engine", lambda fold: fold["FoldRun"].__setitem__(2, {"[]": []})),
]


@pytest.mark.parametrize(("what", "change"), ANSWERS, ids=[what for what, _ in ANSWERS])
def test_answers_that_cannot_be_those_of_a_fold_are_damaged(
    what: str,
    change: Callable[[Any], object],
    kept: Kept,
    capsys: pytest.CaptureFixture[str],
    *,
    golden: Golden,
) -> None:
    changed = 0
    for path in kept.cache.rglob("*.entry"):
        content = gzip.decompress(path.read_bytes().partition(b"\n")[2])
        if content.startswith(b'{"FoldRun":'):
            fold = json.loads(content)
            change(fold)
            packed = gzip.compress(json.dumps(fold).encode())
            path.write_bytes(f"turncheck cache v1 {path.stem} {hashlib.sha256(packed).hexdigest()}\n".encode() + packed)
            changed += 1
    assert changed > 1, what

    assert measured(kept.project, cache_folder=kept.cache) == kept.report
    golden(capsys.readouterr().err, only="entries")


def test_an_entry_under_another_name_is_not_believed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.put("aa1", "fold", b"one")
    (tmp_path / "aa" / "aa1.entry").rename(tmp_path / "aa" / "aa2.entry")

    assert cache.get("aa2", "fold") is None


def test_what_was_not_used_for_the_longest_time_goes_first(tmp_path: Path) -> None:
    import os

    cache = Cache(tmp_path)
    for number in range(3):
        cache.put(f"aa{number}", "fold", bytes(100))
        os.utime(tmp_path / "aa" / f"aa{number}.entry", (number, number))
    assert cache.get("aa0", "fold") is not None

    cache.trim(500)

    assert [cache.get(f"aa{number}", "fold") is None for number in range(3)] == [False, True, False]


def test_a_folder_that_the_repository_has_files_in_is_refused(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (project / "kept").mkdir()
    (project / "kept" / "x.entry").write_text("a change brings its own results")
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=project, check=True)

    code = run_command_line(["run", str(project), "--cache-folder", str(project / "kept"), "--out", str(tmp_path)])

    assert code == 2
    golden(capsys.readouterr().err)


def test_nothing_is_kept_or_believed_for_a_fork(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from turncheck.run.prepare import prepare

    variables = {"GITLAB_CI": "true", "CI_PROJECT_ID": "1", "CI_MERGE_REQUEST_IID": "7", "HOME": str(tmp_path)}
    own = {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "1", "CI_MERGE_REQUEST_PROJECT_ID": "1"}
    fork = {**own, "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2"}

    kept = prepare({"project": str(project)}, {**variables, **own}).inputs.cache
    assert kept is not None
    kept.put("k", "fold", b"answers")
    cache = prepare({"project": str(project)}, {**variables, **fork}).inputs.cache
    assert cache is not None
    assert (kept.get("k", "fold"), cache.get("k", "fold")) == (b"answers", None)
    cache.put("other", "fold", b"of a fork")
    assert (kept.get("other", "fold"), cache.get("other", "fold")) == (None, b"of a fork")
    assert len(list(kept.folder.rglob("*.entry"))) == 1


def test_a_folder_that_cannot_be_written_to_is_said_once_and_fails_nothing(
    quick: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")

    cached = measured(quick, cache_folder=tmp_path / "file" / "cache")

    assert capsys.readouterr().err.count("The cache keeps nothing more: cannot write ") == 1
    assert cached == measured(quick, cache=False)


def test_kinds_of_entries_are_counted_in_words(golden: Golden) -> None:
    cache = Cache(Path(), found={"set of trained policies": 2, "fold": 1, "trained pipeline": 0}, damaged=[Path("a")])

    golden(*cache.notes())


@pytest.mark.parametrize(
    ("edited", "again"),
    [
        (("domain.yml", "\n# a remark\n"), []),
        (("data/nlu.yml", SYNONYM), []),
        (("data/nlu.yml", "  - intent: shout\n    examples: |\n      - hear hear\n"), ["nlu"]),
        (("config.yml", RULES), ["policies"]),
    ],
)
def test_without_a_cache_base_and_change_train_once_what_both_learn(
    edited: tuple[str, str], again: list[str], tmp_path: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, more = edited
    bot = shutil.copytree(EXAMPLES / "pizzeria", tmp_path / "bots" / "pizzeria")
    (bot / "config.yml").write_text(QUICK)
    git = functools.partial(subprocess.run, cwd=bot.parent, check=True, capture_output=True)
    git(["git", "init", "-q", "-b", "main"])
    for words in ("base", "change"):
        git(["git", "add", "-A"])
        git(["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", words])
        if words == "base":
            (bot / file).write_text((bot / file).read_text() + more)
    monkeypatch.chdir(bot.parent)
    cache = tmp_path / "cache"

    run_command_line(
        ["run", "pizzeria", "--no-cache", "--cache-folder", str(cache), "--evaluations", "core", "--base", "HEAD~1"]
    )
    comparison = json.loads(Path("results", "comparison.json").read_bytes())

    assert comparison["baseline"]["status"] == "present"
    assert not cache.exists()
    assert sorted(trained) == sorted(["nlu", "policies", *again])
