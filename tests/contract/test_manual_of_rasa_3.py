"""What the manual of Rasa 3.x says about testing, where no other test shows it, sentence by sentence."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from turncheck.cli import run_command_line
from turncheck.evaluations.nlu.scores import EntityCase, score_extractors
from turncheck.render.pictures import Histogram
from turncheck.report.entities import token_labels
from turncheck.report.model import EntitySpan

NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hello there
    - hey you
    - good morning
    - good evening
    - hi
    - hi there
    - hey
- intent: bye
  examples: |
    - bye
    - bye now
    - see you
    - see you later
    - good night
    - goodbye
    - so long
    - farewell
"""
CONFIG = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: LogisticRegressionClassifier
policies:
- name: RulePolicy
- name: MemoizationPolicy
"""
DOMAIN = """\
version: "3.1"
intents: [greet, bye]
slots:
  seen:
    type: bool
    mappings: [{type: custom}]
responses:
  utter_hello: [{text: Hello!}]
  utter_bye: [{text: Bye!}]
actions: [action_look]
"""
STORIES = """\
version: "3.1"
stories:
- story: both
  steps:
  - intent: greet
  - action: action_look
  - slot_was_set: [{seen: true}]
  - action: utter_hello
  - intent: bye
  - action: utter_bye
"""
TESTS = """\
stories:
- story: A basic story test
  steps:
  - user: |
      hello there
    intent: greet
  - action: action_look
  - slot_was_set:
    - seen: true
  - action: utter_hello
  - user: |
      bye now
    intent: bye
  - action: utter_bye
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in {
        "domain.yml": DOMAIN,
        "config.yml": CONFIG,
        "other.yml": CONFIG.replace("WhitespaceTokenizer\n", "WhitespaceTokenizer\n  token_pattern: '[a-z]+'\n"),
        "data/nlu.yml": NLU,
        "data/stories.yml": STORIES,
        "tests/test_stories.yml": TESTS,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return run_command_line([*arguments, "-q"])


TEXT = "near Alexanderplatz tonight"
TOKENS = ((0, 4), (5, 19), (20, 27))


def spans(*found: tuple[int, int, str]) -> tuple[EntitySpan, ...]:
    return tuple(
        EntitySpan(start=start, end=end, entity=label, value=TEXT[start:end], extractor="X")
        for start, end, label in found
    )


TRUTH = spans((0, 19, "loc"), (20, 27, "time"))


@pytest.mark.follows(
    page="rasa-0",
    sentence="Entities are scored token by token: a part that is found counts, and a split is not a mistake.",
)
@pytest.mark.follows(
    page="rasa-1",
    sentence="Entities are scored token by token: a part that is found counts, and a split is not a mistake.",
)
@pytest.mark.follows(
    page="rasa-3",
    sentence="Entities are scored token by token: a part that is found counts, and a split is not a mistake.",
)
@pytest.mark.parametrize(
    ("found", "labels", "simple", "exact"),
    [
        (spans((0, 19, "loc"), (20, 27, "time")), ["loc", "loc", "time"], 3, 2),
        (spans((0, 4, "loc"), (5, 19, "loc"), (20, 27, "time")), ["loc", "loc", "time"], 3, 1),
        (spans((5, 19, "loc"), (20, 27, "time")), ["no_entity", "loc", "time"], 2, 1),
        (spans((0, 4, "loc"), (20, 27, "time")), ["loc", "no_entity", "time"], 2, 1),
        (spans((0, 27, "loc")), ["loc", "loc", "loc"], 2, 0),
    ],
)
def test_the_rows_of_the_manuals_table_have_its_scores(
    found: tuple[EntitySpan, ...], labels: list[str], simple: int, exact: int
) -> None:
    expected = token_labels(TOKENS, TRUTH)
    assert token_labels(TOKENS, found) == labels
    assert sum(one == other for one, other in zip(expected, labels, strict=True)) == simple
    scores = score_extractors([EntityCase(TOKENS, TRUTH, found)], ["X"])["X"]
    right = sum(row["support"] * row["recall"] for name, row in scores.report.items() if name in {"loc", "time"})
    assert right == simple
    assert scores.spans is not None
    assert scores.spans.recall == exact / 2


@pytest.mark.follows(
    page="rasa-3", sentence="Bare `rasa test` runs the test stories with their texts, and tests the NLU data."
)
@pytest.mark.follows(
    page="rasa-3", sentence="Custom actions are not run in test stories: the story gives their events."
)
def test_bare_test_judges_stories_with_texts_and_nlu_data(project: Path) -> None:
    assert run("test", "--no-plot", "--json", "r.json", "--out", "results") == 0
    report = json.loads(Path("r.json").read_text())
    (story,) = report["core"]["stories"]
    assert story["passed"]
    assert {step["kind"] for step in story["steps"]} >= {"action", "intent"}
    assert report["nlu"]["examples"] == 16
    names = {path.name for path in Path("results").iterdir()}
    assert names >= {"story_report.json", "failed_test_stories.yml", "intent_report.json"}


@pytest.mark.follows(
    page="rasa-3", sentence="A comparison is saved in `nlu_comparison_results`: graph, data sets, models and reports."
)
@pytest.mark.follows(
    page="rasa-3", sentence="The whole process is repeated three times, with 0, 25, 50 and 75 % left out."
)
@pytest.mark.follows(
    page="rasa-cli", sentence="`--config` with several files compares pipelines; `--folds` is 5 by default."
)
def test_a_comparison_is_written_to_its_folder(project: Path) -> None:
    assert run("test", "nlu", "--nlu", "data/nlu.yml", "--config", "config.yml", "other.yml") == 0
    folder = Path("nlu_comparison_results")
    assert (folder / "nlu_model_comparison_graph.pdf").is_file()
    for number in (1, 2, 3):
        assert (folder / f"run_{number}" / "test.yml").is_file()
        for percentage in (0, 25, 50, 75):
            of_fit = folder / f"run_{number}" / f"{percentage}%_exclusion"
            assert (of_fit / "train" / "train.yml").is_file()
            for config in ("config", "other"):
                assert (of_fit / f"{config}.tar.gz").is_file()
                assert (of_fit / f"{config}_report" / "intent_report.json").is_file()
    assert not (folder / "run_4").exists()
    assert run("test", "nlu", "--cross-validation", "--no-plot", "--json", "r.json") == 0
    assert json.loads(Path("r.json").read_text())["nlu"]["folds"] == 5


@pytest.mark.follows(
    page="rasa-3", sentence="`--runs` and `--percentages` choose the number of runs and what is left out."
)
def test_runs_and_percentages_can_be_chosen(project: Path) -> None:
    more = ("--runs", "2", "--percentages", "0", "70", "--no-plot", "--out", "cmp")
    assert run("test", "nlu", "--config", "config.yml", "other.yml", *more) == 0
    results = json.loads(Path("cmp/results.json").read_text())
    assert {name: [len(one) for one in runs] for name, runs in results.items()} == {"config": [2, 2], "other": [2, 2]}


@pytest.mark.follows(page="rasa-cli", sentence="`--no-warnings` is an option of `rasa test` and of `rasa test nlu`.")
@pytest.mark.parametrize("command", [("test",), ("test", "nlu"), ("test", "core")])
def test_no_warnings_is_in_the_help(command: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line([*command, "--help"]) == 0
    assert "--no-warnings" in capsys.readouterr().out


@pytest.mark.follows(page="rasa-cli", sentence="With `--no-warnings`, stories with warnings are not written to a file.")
def test_no_warnings_leaves_the_file_out(project: Path) -> None:
    assert run("test", "--no-plot", "--out", "with") == 0
    assert run("test", "--no-plot", "--no-warnings", "--out", "without") == 0
    assert Path("with/stories_with_warnings.yml").is_file()
    assert not Path("without/stories_with_warnings.yml").exists()
    assert run("test", "nlu", "--no-plot", "--no-warnings", "--out", "nlu") == 0


@pytest.mark.follows(
    page="rasa-3",
    sentence="In the histogram, correct predictions are blue and wrong ones red, each with an axis of its own.",
)
@pytest.mark.parametrize("wrong", ["greet", "same"])
def test_a_histogram_without_wrong_sentences_has_an_axis_from_zero(wrong: str) -> None:
    drawn = Histogram.of(["t"], [0.9, 0.8], [0.4] if wrong == "greet" else [], 0.3)

    picture = Image.open(BytesIO(drawn.drawn().png)).convert("RGB")
    for top, expected in zip(drawn.tops, ({"blue"}, {"red"} if wrong == "greet" else set()), strict=True):
        shown = picture.crop((0, top, picture.width, top + 150)).getcolors(1000) or []
        pixels = [pixel for _, pixel in shown if isinstance(pixel, tuple) and len({*pixel}) > 1]
        coloured = [dict(zip(("red", "green", "blue"), pixel, strict=True)) for pixel in pixels]
        assert {max(pixel, key=pixel.__getitem__) for pixel in coloured} == expected
    for side in (drawn.right, drawn.wrong):
        assert side.end >= 1
        assert side.ticks[0] == 0
        assert side.ticks[-1] <= side.end
    assert (sum(drawn.right.bins), sum(drawn.wrong.bins)) == (2, int(wrong == "greet"))
