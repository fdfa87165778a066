"""Comparing pipelines: Rasa's tree of files, advice, resuming, and the same results wherever the fits run."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import pytest
from dask_cluster import dask_cluster
from golden_texts import Golden

from turncheck.commands import compare_pipelines, pipeline_fits
from turncheck.commands.compare_pipelines import run_compare_nlu
from turncheck.commands.nlu import NluOutput, NluTestOptions, config_files
from turncheck.commands.pipeline_differences import pipeline_differences
from turncheck.engines.base import Models
from turncheck.engines.embedded.configured import configured_components
from turncheck.engines.embedded.nlu.plan import make_plan
from turncheck.messages.errors import UserError
from turncheck.messages.finding import NOWHERE
from turncheck.process.screen import Console
from turncheck.project.config import current
from turncheck.project.model import Component, Config
from turncheck.render.curves import draw_curves
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.commands.pipeline_fits import Outcome, Task
    from turncheck.render.curves import CurvePoint
    from turncheck.render.rendered import Rendered

CASE = Path(__file__).parent.parent / "oracle" / "nlu" / "comparison"
PROJECT = CASE / "project"
CONFIGS = (PROJECT / "c1.yml", PROJECT / "c2.yml")


def judging(**settings: Any) -> NluTestOptions:
    return NluTestOptions(Settings(project=str(PROJECT), **settings), Models(PROJECT / "models"))


def compare(out: Path, *, workers: int = 1, cluster: str | None = None, plots: bool = False, runs: int = 1) -> int:
    options = judging(workers=workers, cluster=cluster)
    output = NluOutput(folder=out, plots=plots)
    screen = Console(quiet=True)
    return run_compare_nlu(options, CONFIGS, output, screen, runs=runs, percentages=(0, 50))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A comparison that was made in one go, which no test changes."""
    folder = tmp_path_factory.mktemp("compared")
    compare(folder)
    return folder


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.follows(
    page="rasa-3",
    sentence=("Several configurations are trained and judged; data sets, models, reports and the F1 graph are saved."),
)
@pytest.mark.follows(
    page="rasa-3", sentence="The graph shows whether more data would help; here the output also says so."
)
def test_the_tree_is_rasas_and_a_little_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(tmp_path, plots=True) == 0
    recorded = {
        path.removeprefix("results/")
        for path in json.loads((CASE / "expected.json").read_text(encoding="utf-8"))["file_tree"]
    }
    ours = set(tree(tmp_path))
    # Whether something was wrong, or an entity was found, depends on the engine and the split.
    depends = ("_errors.json", "CRFEntityExtractor_")
    assert {path for path in recorded - ours if not any(part in path for part in depends)} == set()
    more = {path for path in ours - recorded if not any(part in path for part in depends)}
    assert {Path(path).name for path in more} == {"done.json", "nlu_comparison.json", "nlu_model_comparison_graph.png"}
    results = json.loads((tmp_path / "results.json").read_text())
    assert {name: [len(run) for run in runs] for name, runs in results.items()} == {"c1": [2], "c2": [2]}
    printed = capsys.readouterr().out
    assert "c1" in printed
    assert "sign test" in printed
    for name in ("c1", "c2"):
        assert re.search(rf"(More data would (hardly )?help|Whether more data would help) {name}\b", printed)


@pytest.mark.follows(page="rasa-1", sentence="A graph shows means and standard deviations of the F1 scores.")
@pytest.mark.follows(
    page="rasa-3", sentence="A graph shows means and standard deviations of the F1 scores across all runs."
)
def test_the_graph_is_of_means_and_deviations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Mapping[str, Sequence[CurvePoint]]] = []

    def kept(curves: Mapping[str, Sequence[CurvePoint]]) -> list[Rendered]:
        drawn.append(curves)
        return draw_curves(curves)

    monkeypatch.setattr(compare_pipelines, "draw_curves", kept)
    assert compare(tmp_path, plots=True, runs=2) == 0
    scores = json.loads((tmp_path / "results.json").read_text())
    for name, runs in scores.items():
        expected = [(fmean(both), pstdev(both)) for both in zip(*runs, strict=True)]  # of 0 %, and of 50 % left out
        assert [(point.mean, point.deviation) for point in reversed(drawn[0][name])] == [
            pytest.approx(one) for one in expected
        ]


def test_a_finished_fit_is_not_done_again(tmp_path: Path, compared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[str] = []
    stop_after = 2
    real = pipeline_fits.fit_and_judge

    def counted(task: Task) -> Outcome:
        if len(fits) == stop_after:
            raise KeyboardInterrupt
        fits.append(task.folder)
        return real(task)

    monkeypatch.setattr(pipeline_fits, "fit_and_judge", counted)
    with pytest.raises(KeyboardInterrupt):
        compare(tmp_path / "interrupted")
    stop_after = 99
    compare(tmp_path / "interrupted")
    assert len(fits) == len(set(fits)) == 4
    compare(tmp_path / "interrupted")
    assert len(fits) == 4
    assert tree(tmp_path / "interrupted") == tree(compared)


def test_what_was_fitted_with_other_data_is_fitted_again(tmp_path: Path, compared: Path) -> None:
    shutil.copytree(compared, tmp_path, dirs_exist_ok=True)
    before = json.loads((tmp_path / "run_1/0%_exclusion/c1_report/done.json").read_text())
    options = judging(workers=1, seed=7)
    output = NluOutput(folder=tmp_path, plots=False)
    run_compare_nlu(options, CONFIGS, output, Console(quiet=True), runs=1, percentages=(0, 50))
    after = json.loads((tmp_path / "run_1/0%_exclusion/c1_report/done.json").read_text())
    assert before["key"] != after["key"]


def test_a_damaged_result_is_made_again(tmp_path: Path, compared: Path) -> None:
    shutil.copytree(compared, tmp_path, dirs_exist_ok=True)
    whole = tree(tmp_path)
    (tmp_path / "run_1/50%_exclusion/c2_report/done.json").write_text("{")
    compare(tmp_path)
    assert tree(tmp_path) == whole


def test_two_workers_give_the_same_files(tmp_path: Path, compared: Path) -> None:
    compare(tmp_path, workers=2)
    assert tree(tmp_path) == tree(compared)


@pytest.mark.follows(page="rasa-1", sentence="A folder of configurations stands for all files in it.")
def test_a_folder_of_configurations_is_all_files_in_it(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "notes.txt"):
        shutil.copy(CONFIGS[0], tmp_path / name)
    assert [path.name for path in config_files([tmp_path])] == ["a.yaml", "b.yml"]
    assert config_files([CONFIGS[0]]) == [CONFIGS[0]]


def test_configurations_that_cannot_be_compared_are_refused(tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "c1.yml").write_text(CONFIGS[0].read_text())
    options, output, screen = judging(), NluOutput(folder=tmp_path), Console(quiet=True)
    with pytest.raises(UserError) as refused:
        run_compare_nlu(options, [CONFIGS[0], tmp_path / "c1.yml"], output, screen)
    golden(refused.value)
    with pytest.raises(UserError, match="--percentages"):
        run_compare_nlu(options, CONFIGS, output, screen, percentages=(0, 100))
    with pytest.raises(UserError, match="--runs"):
        run_compare_nlu(options, CONFIGS, output, screen, runs=0)
    with pytest.raises(UserError) as refused:
        run_compare_nlu(judging(nlu=str(tmp_path / "none.yml")), CONFIGS, output, screen)
    golden(refused.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [(3, "no intent has 5 examples"), (6, "only 'order' has 5 examples, and at least two intents are judged")],
)
def test_fewer_than_two_intents_are_nothing_to_compare_on(tmp_path: Path, more: int, said: str) -> None:
    orders = "".join(f"    - tea {number}\n" for number in range(more))
    sentences = f"- intent: order\n  examples: |\n{orders}- intent: bye\n  examples: |\n    - bye\n"
    (tmp_path / "nlu.yml").write_text(f'version: "3.1"\nnlu:\n{sentences}')
    output = NluOutput(folder=tmp_path / "results")
    with pytest.raises(UserError, match=said):
        run_compare_nlu(judging(nlu=str(tmp_path / "nlu.yml")), CONFIGS, output, Console(quiet=True))
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_scheduler_with_two_worker_processes_gives_the_same_files(tmp_path: Path, compared: Path) -> None:
    with dask_cluster(tmp_path, 2) as started:
        compare(tmp_path / "cluster", cluster=started.address)
    assert tree(tmp_path / "cluster") == tree(compared)


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr("turncheck.work.cluster.CONNECT_SECONDS", 1.0)
    with pytest.raises(UserError, match=r"'tcp://127\.0\.0\.1:9'") as refused:
        compare(tmp_path, cluster="tcp://127.0.0.1:9")
    golden(refused.value, only="--cluster")


_PIPELINE = """recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: DIETClassifier
  epochs: {epochs}
  drop_rate: 0.{epochs}
"""


def test_pipelines_that_differ_only_in_what_is_ignored_are_not_called_equally_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    long, short, other = tmp_path / "long.yml", tmp_path / "short.yml", tmp_path / "other.yml"
    long.write_text(_PIPELINE.format(epochs=300))
    short.write_text(_PIPELINE.format(epochs=1))
    other.write_text(_PIPELINE.format(epochs=1).replace("epochs: 1\n  drop_rate: 0.1", "entity_recognition: false"))
    output, screen = NluOutput(folder=tmp_path / "results", plots=False), Console(quiet=True)

    def printed(*configs: Path) -> str:
        run_compare_nlu(judging(workers=1), configs, output, screen, runs=1, percentages=(0,))
        return capsys.readouterr().out

    ignored = "differ only in what the embedded engine ignores (epochs of DIETClassifier, drop_rate of DIETClassifier)"
    both = printed(long, short)
    golden(both)
    assert "equally good" not in both
    assert "simpler" not in both
    of_three = printed(short, other, long)
    assert f"short and long {ignored}" in of_three
    golden(of_three, only="equally")
    assert "the embedded engine ignores" not in printed(other, long)


@pytest.mark.follows(
    page="rasa-3",
    sentence=(
        "Pipelines are compared by configuration; here the output also says which of their differences can be judged."
    ),
)
def test_it_is_said_which_differences_are_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = _PIPELINE.format(epochs=300)
    letters = _PIPELINE.format(epochs=1).replace(
        "WhitespaceTokenizer\n", "WhitespaceTokenizer\n  token_pattern: '[a-z]+'\n"
    )
    more = words.replace("- name: DIETClassifier", "- name: RegexEntityExtractor\n- name: DIETClassifier")
    configs = [tmp_path / f"{name}.yml" for name in ("words", "letters", "more")]
    for path, content in zip(configs, (words, letters, more), strict=True):
        path.write_text(content)
    output, screen = NluOutput(folder=tmp_path / "results", plots=False), Console(quiet=True)
    run_compare_nlu(judging(workers=1), configs, output, screen, runs=1, percentages=(0,))
    written = json.loads((tmp_path / "results" / "nlu_comparison.json").read_text())
    assert written["differences"] == [
        {
            "between": ["words", "letters"],
            "judged": ["token_pattern of WhitespaceTokenizer"],
            "by_stand_ins": [],
            "not_judged": ["epochs of DIETClassifier", "drop_rate of DIETClassifier"],
        },
        {"between": ["words", "more"], "judged": ["RegexEntityExtractor"], "by_stand_ins": [], "not_judged": []},
        {
            "between": ["letters", "more"],
            "judged": ["token_pattern of WhitespaceTokenizer", "RegexEntityExtractor"],
            "by_stand_ins": [],
            "not_judged": ["epochs of DIETClassifier", "drop_rate of DIETClassifier"],
        },
    ]
    printed = capsys.readouterr().out
    said = [line for line in printed.splitlines() if line.startswith("Between ")]
    assert len(said) == 2  # the best one with each other one
    assert set(said) <= set(written["advice"])
    assert any("it cannot judge epochs of DIETClassifier, drop_rate of DIETClassifier." in line for line in said)


_SPACY = ["SpacyNLP", "SpacyTokenizer", "SpacyFeaturizer", "SklearnIntentClassifier"]
_COUNTS = ["WhitespaceTokenizer", "CountVectorsFeaturizer", "LogisticRegressionClassifier"]


@pytest.mark.parametrize(
    ("one", "other", "judged", "by_stand_ins", "not_judged"),
    [
        (
            *(_SPACY, _COUNTS),
            ["SklearnIntentClassifier", "CountVectorsFeaturizer", "LogisticRegressionClassifier"],
            *(["SpacyFeaturizer"], ["SpacyTokenizer against WhitespaceTokenizer", "SpacyNLP"]),
        ),
        (
            *([*_COUNTS[:2], "DIETClassifier"], _COUNTS),
            *(["CountVectorsFeaturizer", "LogisticRegressionClassifier"], ["DIETClassifier"], []),
        ),
        (
            ["WhitespaceTokenizer", "LanguageModelFeaturizer", "DIETClassifier"],
            ["WhitespaceTokenizer", "CountVectorsFeaturizer", "DIETClassifier"],
            *([], [], ["LanguageModelFeaturizer against CountVectorsFeaturizer"]),
        ),
        ([*_COUNTS, "KeywordIntentClassifier"], _COUNTS, ["KeywordIntentClassifier"], [], []),
        # Names of older Rasas, which also templates have.
        (
            *([*_COUNTS[:2], "EmbeddingIntentClassifier"], _COUNTS),
            *(["CountVectorsFeaturizer", "LogisticRegressionClassifier"], ["EmbeddingIntentClassifier"], []),
        ),
        (
            *([*_COUNTS[:2], "intent_classifier_tensorflow_embedding"], _COUNTS),
            *(["CountVectorsFeaturizer", "LogisticRegressionClassifier"], ["intent_classifier_tensorflow_embedding"]),
            [],
        ),
        (
            *(["tokenizer_spacy", *_COUNTS[1:]], _COUNTS),
            *([], [], ["tokenizer_spacy against WhitespaceTokenizer"]),
        ),
    ],
)
def test_a_stand_in_is_not_called_judged(
    one: list[str], other: list[str], judged: list[str], by_stand_ins: list[str], not_judged: list[str]
) -> None:
    def read(names: list[str]) -> Config:
        written = (Component(name, _MODEL if name == "SpacyNLP" else {}, NOWHERE) for name in names)
        return Config(pipeline=tuple(map(current, written)))

    pipelines = {"one": read(one), "other": read(other)}
    configured = {name: configured_components(config, rasa=3) or () for name, config in pipelines.items()}
    replaced = {
        name: {made.component for made in make_plan(config).substitutions if made.used}
        for name, config in pipelines.items()
    }
    (found,) = pipeline_differences(pipelines, configured, replaced)
    assert sorted(found.judged) == sorted(judged)
    assert sorted(found.by_stand_ins) == sorted(by_stand_ins)
    assert sorted(found.not_judged) == sorted(not_judged)


_MODEL = {"model": "xx_nowhere_installed"}


def test_pipelines_of_which_stand_ins_run_are_left_to_rasa(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    spacy, counts = tmp_path / "spacy.yml", tmp_path / "counts.yml"
    for path, names in ((spacy, _SPACY), (counts, _COUNTS)):
        steps = [{"name": name, **(_MODEL if name == "SpacyNLP" else {})} for name in names]
        path.write_text(json.dumps({"recipe": "default.v1", "language": "en", "pipeline": steps}))
    output, screen = NluOutput(folder=tmp_path / "results", plots=False), Console(quiet=True)
    run_compare_nlu(judging(workers=1), [spacy, counts], output, screen, runs=1, percentages=(0,))
    printed = capsys.readouterr().out
    golden(printed, only="Between ")
    assert "Compare the two with Rasa itself before you choose." in printed
    assert not any(word in printed for word in ("simpler", "Take "))


def test_a_pipeline_that_cannot_be_trained_is_compared_with_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    good, broken = tmp_path / "good.yml", tmp_path / "broken.yml"
    good.write_text(_PIPELINE.format(epochs=300))
    broken.write_text("pipeline:\n- name: WhitespaceTokenizer\n- name: LogisticRegressionClassifier\n")
    output = NluOutput(folder=tmp_path / "results", plots=False)
    run_compare_nlu(judging(workers=1), [good, broken], output, Console(quiet=True), runs=1, percentages=(0,))
    printed = capsys.readouterr().out
    assert "  broken: not trained: " in printed
    golden(printed)
    assert not any(word in printed for word in ("ahead of", "lead over", "simpler", "would help broken", "Between "))
