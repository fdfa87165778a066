"""``turncheck report import`` on what Rasa really wrote: nothing of it is lost, and what it cannot tell is said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml
from golden_texts import Golden
from hypothesis import given, settings
from hypothesis import strategies as st
from in_process import turncheck

from turncheck.commands.import_results import import_results
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.messages.errors import UserError
from turncheck.render.rasa_files import nlu_files, story_files
from turncheck.render.wording.gates import judge
from turncheck.report.codec import decode, encode
from turncheck.report.model import GateSettings, Source

if TYPE_CHECKING:
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report

ORACLE = Path(__file__).parents[1] / "oracle"
REPORTS = ORACLE.glob("nlu/*/expected/results/intent_report.json")
NLU = sorted(path.parents[1] for path in REPORTS if (path.parents[2] / "test_data.yml").exists())
CORE = sorted(path.parent for path in ORACLE.glob("core/*/expected/*/story_report.json"))
RASA_1 = sorted(ORACLE.glob("legacy/test_nlu/*_110/expected/*/results/*/intent_report.json"))
TEST_FILES = {"failed_test_stories.yml", "successful_test_stories.yml", "stories_with_warnings.yml"}


def test_there_are_recorded_results() -> None:
    assert len(NLU) >= 6
    assert len(CORE) >= 50


@pytest.mark.parametrize("case", NLU, ids=lambda path: path.parent.name)
def test_results_of_test_nlu_come_out_as_they_went_in(case: Path, tmp_path: Path) -> None:
    folder, data = case / "results", case.parent / "test_data.yml"
    report = import_results(folder, tmp_path, nlu=[data])
    assert decode(encode(report)) == report
    assert report.nlu is not None
    ours = {file.name: file.encoded.decode() for file in nlu_files(report.nlu, successes=True)}
    theirs = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    # Rasa writes of each selector, too, what it writes of all together.
    theirs = {name: text for name, text in theirs.items() if name in ours or not name.startswith("response_selection_")}
    assert ours == theirs
    assert {entry.location.path for entry in report.nlu.predictions} == {str(data)}
    assert not any("--successes" in remark for remark in report.nlu.remarks)


@pytest.mark.parametrize("folder", CORE, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
def test_results_of_test_core_come_out_as_they_went_in(folder: Path, tmp_path: Path) -> None:
    report = import_results(folder, tmp_path)
    assert decode(encode(report)) == report
    core = report.core
    assert core is not None
    ours = {file.name: file.encoded.decode() for file in story_files(core, successes=True)}
    for path in folder.iterdir():
        if path.name in TEST_FILES and not path.read_text("utf-8").startswith("#"):
            assert ours[path.name] == path.read_text("utf-8"), path.name
    stated = json.loads((folder / "story_report.json").read_text("utf-8"))
    assert json.loads(ours["story_report.json"]) == stated
    for name in {"TEDPolicy_report.json", "TEDPolicy_errors.json"} & {path.name for path in folder.iterdir()}:
        assert json.loads(ours[name]) == json.loads((folder / name).read_text("utf-8"))
    conversations = stated.get("conversation_accuracy", {"total": 0, "correct": 0})
    if (folder / "failed_test_stories.yml").exists():
        failed = [story for story in core.stories if not story.passed]
        assert len(failed) == conversations["total"] - conversations["correct"]
        wrong = {story.name for story in failed if any(not step.passed for step in story.steps)}
        unclear = any("do not say what is wrong" in remark for remark in core.remarks)
        assert (wrong == {story.name for story in failed}) != unclear, "what was predicted instead is among the steps"
    listed = (folder / "successful_test_stories.yml").exists() or not conversations["correct"]
    assert listed == (not any("--successes" in remark for remark in core.remarks))


@pytest.mark.parametrize("report", RASA_1, ids=lambda path: path.parent.name)
def test_results_of_rasa_1_have_the_micro_average_where_something_unexpected_was_found(
    report: Path, tmp_path: Path
) -> None:
    written = json.loads(report.read_text("utf-8"))
    of = written["weighted avg"]["support"]
    entries = {
        part: len(json.loads(path.read_text("utf-8")))
        for part in ("errors", "successes")
        if (path := report.with_name(f"intent_{part}.json")).exists()
    }
    nlu = import_results(report.parent, tmp_path).nlu
    assert nlu is not None
    assert nlu.intents is not None
    right = entries.get("successes", of - entries.get("errors", 0))
    assert nlu.intents.accuracy == pytest.approx(right / of)
    assert nlu.intents.report == written
    assert sum(entries.values()) + nlu.unlisted == nlu.examples == of


def test_results_of_rasa_1_are_of_both_kinds() -> None:
    assert {"accuracy" in json.loads(path.read_text("utf-8")) for path in RASA_1} == {True, False}


def test_own_results_of_a_rasa_1_project_are_imported_as_measured(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "migration" / "rasa-1"
    sentences = tmp_path / "test.md"
    sentences.write_text("## intent:greet\n- zzz\n- hello\n\n## intent:thank\n- bye\n- thanks\n")
    measured, results = tmp_path / "measured.json", tmp_path / "results"
    done = turncheck(
        *("test", "nlu", "--nlu", sentences, "--out", results, "--json", measured, "--no-plot", "--successes"),
        cwd=example,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ours, read = decode(measured.read_bytes()).nlu, import_results(results, example, nlu=[sentences]).nlu
    assert "accuracy" not in json.loads((results / "intent_report.json").read_text("utf-8"))
    assert ours is not None
    assert read is not None
    assert ours.intents is not None
    assert read.intents is not None
    assert 0 < read.intents.accuracy < 1
    assert read.intents.accuracy == ours.intents.accuracy
    wanted = {(one.text, one.predicted.intent, one.correct) for one in ours.predictions}
    assert {(one.text, one.predicted.intent, one.correct) for one in read.predictions} == wanted


def test_the_accuracy_of_actions_is_that_of_the_micro_average_too(tmp_path: Path) -> None:
    for path in (STORIES / "broken_wrong_action").iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    measured = import_results(tmp_path, tmp_path).core
    stated = json.loads((tmp_path / "story_report.json").read_text("utf-8"))
    stated["micro avg"] = {"precision": 1.0, "recall": stated.pop("accuracy"), "f1-score": 0.9, "support": 9}
    (tmp_path / "story_report.json").write_text(json.dumps(stated))
    read = import_results(tmp_path, tmp_path).core
    assert measured is not None
    assert read is not None
    assert 0 < read.accuracy == measured.accuracy < 1


def test_imported_reports_are_compared_and_judged(tmp_path: Path) -> None:
    base, head = tmp_path / "base", tmp_path / "head"
    for folder, stories in ((base, "main_successes"), (head, "broken_wrong_action")):
        shutil.copytree(ORACLE / "nlu" / "lr_crf_travel" / "expected" / "results", folder)
        for path in (ORACLE / "core" / "memo_short_history" / "expected" / stories).iterdir():
            if path.is_file():
                shutil.copy(path, folder)
        done = turncheck("report", "import", folder, "--out", folder / "report", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    done = turncheck("report", "compare", base / "report", head / "report", "--out", tmp_path / "out", cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test-failures" in done.stdout
    assert "--successes" in (tmp_path / "out" / "comment.md").read_text()


def test_without_successes_the_report_says_so(tmp_path: Path, golden: Golden) -> None:
    for path in (ORACLE / "nlu" / "lr_crf_travel" / "expected" / "results").iterdir():
        if "_successes" not in path.name:
            shutil.copy(path, tmp_path)
    nlu = import_results(tmp_path, tmp_path / "none").nlu
    assert nlu is not None
    assert nlu.intents is not None
    assert nlu.intents.report["weighted avg"]["support"] == nlu.examples
    assert nlu.unlisted == 19
    golden(*nlu.remarks)
    assert all(scores.spans is None for scores in nlu.entities.values())


# --- what is not listed is not green ---------------------------------------------------------------------------------

STORIES = ORACLE / "core" / "memo_short_history" / "expected"


def stories_of(folder: Path, tmp_path: Path, *without: str) -> Path:
    made = tmp_path / "results"
    shutil.copytree(folder, made)
    for name in without:
        (made / name).unlink(missing_ok=True)
    return made


def without_lists(tmp_path: Path, name: str, *parts: str) -> Path:
    """What Rasa writes with --no-errors, or without --successes."""
    made = tmp_path / name
    shutil.copytree(ORACLE / "nlu" / "lr_crf_travel" / "expected" / "results", made)
    for path in made.iterdir():
        if any(path.name.endswith(f"_{part}.json") for part in parts):
            path.unlink()
    return made


def judged(report: Report, base: Report | None = None, *rules: str) -> Verdict:
    compared = compare(report, Present(base, way="file", commit="b" * 40)) if base else None
    return judge(report, compared, GateSettings(max_regression=rules))


def test_a_story_that_failed_and_is_not_named_has_failed(tmp_path: Path, golden: Golden) -> None:
    folder = stories_of(STORIES / "broken_wrong_action", tmp_path, "failed_test_stories.yml")
    counted = json.loads((folder / "story_report.json").read_text())["conversation_accuracy"]
    report = import_results(folder, tmp_path)
    assert report.core is not None
    unnamed = [story for story in report.core.stories if not story.named]
    assert sum(not story.passed for story in unnamed) == counted["total"] - counted["correct"] > 0
    assert len(report.core.stories) == counted["total"]
    verdict = judged(report)
    gate = next(gate for gate in verdict.gates if gate.name == "test-failures")
    assert (verdict.outcome, gate.outcome) == ("failed", "failed")
    golden(gate.failed_by[0].what)


def test_stories_that_passed_are_counted_without_their_names(tmp_path: Path) -> None:
    figures = {"accuracy": 1.0, "conversation_accuracy": {"accuracy": 1.0, "correct": 3, "total": 3}}
    (tmp_path / "story_report.json").write_text(json.dumps(figures))
    (tmp_path / "failed_test_stories.yml").write_text("# None of the test stories failed - all good!")
    report = import_results(tmp_path, tmp_path)
    verdict = judged(report)
    assert (verdict.outcome, verdict.summary) == ("passed", "3 of 3 stories passed")
    failing = import_results(STORIES / "broken_wrong_action", tmp_path)
    stories = compare(failing, Present(report, way="file")).stories
    assert (len(stories.added_failing), stories.shared, stories.gone) == (4, 0, ())


def test_a_story_without_a_name_is_neither_gone_nor_known_to_have_failed_before(tmp_path: Path) -> None:
    named = import_results(STORIES / "broken_wrong_action", tmp_path)
    unnamed = import_results(stories_of(STORIES / "broken_wrong_action", tmp_path, "failed_test_stories.yml"), tmp_path)
    for base, head in ((named, unnamed), (unnamed, named), (unnamed, unnamed)):
        source = Source(commit="c" * 40)
        stories = compare(msgspec.structs.replace(head, source=source), Present(base, way="file")).stories
        assert (len(stories.added_failing), stories.gone) == (4, ())


@pytest.mark.parametrize("content", ["", "null\n", "# cut"])
def test_figures_that_contradict_the_list_are_an_error(tmp_path: Path, content: str) -> None:
    folder = stories_of(STORIES / "broken_wrong_action", tmp_path)
    (folder / "failed_test_stories.yml").write_text(content)
    with pytest.raises(UserError, match=r"counts [1-9] failed stories, failed_test_stories.yml lists 0"):
        import_results(folder, tmp_path)


@pytest.mark.parametrize("figures", ['{"total": 1000000000}', '{"correct": -1, "total": 3}'])
def test_no_file_can_claim_any_number_of_stories(tmp_path: Path, figures: str, golden: Golden) -> None:
    (tmp_path / "story_report.json").write_text(f'{{"conversation_accuracy": {figures}}}')
    with pytest.raises(UserError, match="`rasa") as refused:
        import_results(tmp_path, tmp_path)
    golden(refused.value)


@pytest.mark.parametrize(
    ("name", "report"),
    [
        ("failed_test_stories.yml", "story_report.json"),
        ("stories_with_warnings.yml", "story_report.json"),
        ("intent_errors.json", "intent_report.json"),
        ("DIETClassifier_successes.json", "DIETClassifier_report.json"),
    ],
)
def test_a_list_without_its_figures_is_not_passed_over(tmp_path: Path, name: str, report: str) -> None:
    (tmp_path / "RegexEntityExtractor_report.json").write_text("{}")
    (tmp_path / name).write_text("[]")
    with pytest.raises(UserError, match=f"holds {name} without {report}"):
        import_results(tmp_path, tmp_path)


def test_sentences_that_contradict_the_figures_are_an_error(tmp_path: Path) -> None:
    folder = without_lists(tmp_path, "results")
    (folder / "intent_errors.json").write_text("[]")
    with pytest.raises(UserError, match=r"counts 1 wrong sentences, intent_errors.json lists 0"):
        import_results(folder, tmp_path)


@pytest.mark.parametrize("missing", [["errors"], ["successes"], ["errors", "successes"]])
def test_a_drop_among_sentences_that_are_not_listed_fails_its_gate(
    tmp_path: Path, missing: list[str], golden: Golden
) -> None:
    folder = without_lists(tmp_path, "base", *missing)
    base = import_results(folder, tmp_path)
    assert base.nlu is not None
    assert base.nlu.intents is not None
    assert (base.nlu.examples, base.nlu.unlisted > 0) == (20, True)
    worse = msgspec.structs.replace(base.nlu.intents, f1=base.nlu.intents.f1 / 2, accuracy=0.5)
    head = msgspec.structs.replace(base, nlu=msgspec.structs.replace(base.nlu, intents=worse))
    verdict = judged(head, base, "nlu.intents.f1: 0.01", "nlu.intents.accuracy: 0.01 significant")
    outcomes = {gate.name: gate.outcome for gate in verdict.gates}
    assert outcomes["max-regression: nlu.intents.f1: 0.01"] == "failed"
    assert outcomes["max-regression: nlu.intents.accuracy: 0.01 significant"] == "not judged"
    passed = judged(head, base)
    golden(passed.summary)
    golden(*compare(head, Present(base, way="file")).warnings)


@pytest.mark.parametrize("missing", [["errors"], ["successes"], ["errors", "successes"]])
def test_what_is_not_listed_makes_no_report_that_contradicts_itself(
    tmp_path: Path, missing: list[str], golden: Golden
) -> None:
    report = import_results(without_lists(tmp_path, "results", *missing), tmp_path)
    assert report.nlu is not None
    assert decode(encode(report)) == report
    nlu = msgspec.structs.replace(report.nlu, unlisted=report.nlu.examples - len(report.nlu.predictions) - 1)
    with pytest.raises(UserError) as refused:
        decode(encode(msgspec.structs.replace(report, nlu=nlu)))
    golden(refused.value)


def test_exact_spans_are_not_judged_by_the_right_ones_alone(tmp_path: Path) -> None:
    nlu = import_results(without_lists(tmp_path, "results", "errors"), tmp_path).nlu
    assert nlu is not None
    flawed = [name for name in nlu.entities if any(f"{name}: its wrong sentences" in one for one in nlu.remarks)]
    assert flawed
    assert all(nlu.entities[name].spans is None for name in flawed)
    assert nlu.entity_spans is None


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("intent_report.json", "{", "is not JSON"),
        ("intent_report.json", "[]", "is not a report"),
        ("intent_errors.json", "{}", "is not a list"),
        ("intent_errors.json", '[{"txt": 1}]', "missing required field `text` - at"),
        (
            "DIETClassifier_errors.json",
            '[{"text": "a", "entities": [{"start": 1}]}]',
            "missing required field `end` - at",
        ),
        (
            "DIETClassifier_report.json",
            '{"city": {"precision": 1.0, "recall": 0.5, "f1-score": 0.6, "support": 2, "confused_with": {"name": -1}}}',
            "Expected `int` >= 0 - at",
        ),
        ("failed_test_stories.yml", "stories: [", "cannot be read"),
        ("failed_test_stories.yml", "story: a", "no list of stories"),
        ("failed_test_stories.yml", "stories:\n- steps: []", "a story needs a name and steps"),
        ("failed_test_stories.yml", "stories:\n- story: a (b)\n  steps:\n  - 5", "a story's step is a mapping"),
    ],
)
def test_a_broken_file_is_an_error_in_words(tmp_path: Path, name: str, content: str, told: str) -> None:
    for report in ("intent_report.json", "DIETClassifier_report.json", "story_report.json"):
        (tmp_path / report).write_text("{}")
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=told):
        import_results(tmp_path, tmp_path)


# --- files that are like those of Rasa, and are not ------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6)
ANYTHING = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text(max_size=6), SCALARS, max_size=2)


def changed(draw: st.DrawFn, document: Any) -> Any:
    """Put something else at one of the document's places, or leave it out."""
    if isinstance(document, dict) and document and draw(st.integers(0, 4)):
        key = draw(st.sampled_from(sorted(document)))
        if draw(st.integers(0, 5)) == 0:
            return {name: value for name, value in document.items() if name != key}
        return {**document, key: changed(draw, document[key])}
    if isinstance(document, list) and document and draw(st.integers(0, 4)):
        place = draw(st.integers(0, min(len(document), 3) - 1))
        return [*document[:place], changed(draw, document[place]), *document[place + 1 :]]
    return draw(ANYTHING)


@st.composite
def mutated(draw: st.DrawFn, name: str, content: bytes) -> bytes:
    """A file of Rasa's with something else within, cut off, or with other bytes."""
    how = draw(st.sampled_from(["within", "within", "within", "cut", "bytes"]))
    if how == "cut":
        return content[: draw(st.integers(0, len(content)))]
    if how == "bytes":
        place = draw(st.integers(0, len(content)))
        return content[:place] + draw(st.binary(max_size=3)) + content[place + draw(st.integers(0, 3)) :]
    if name.endswith(".json"):
        return json.dumps(changed(draw, json.loads(content))).encode()
    return yaml.safe_dump(changed(draw, yaml.safe_load(content) or {}), allow_unicode=True).encode("utf-8", "replace")


@pytest.mark.parametrize("name", ["intent_successes.json", "response_selection_successes.json"])
def test_a_confidence_that_no_report_can_hold_is_refused_by_the_name_of_its_file(tmp_path: Path, name: str) -> None:
    shutil.copytree(FUZZED[1], tmp_path / "results")
    path = tmp_path / "results" / name
    entries = json.loads(path.read_text("utf-8"))
    for key in entries[0].keys() & {"intent_prediction", "intent_response_key_prediction"}:
        entries[0][key]["confidence"] = 1e15 + 1
    path.write_text(json.dumps(entries), "utf-8")
    with pytest.raises(UserError, match=name):
        import_results(tmp_path / "results", tmp_path / "none")


FUZZED = [
    ORACLE / "nlu" / "lr_crf_travel" / "expected" / "results",
    next(path for path in NLU if (path / "results" / "response_selection_report.json").exists()) / "results",
    next(path for path in CORE if (path / "TEDPolicy_errors.json").exists()),
    ORACLE / "core" / "memo_short_history" / "expected" / "main_successes",
    ORACLE / "core" / "memo_short_history" / "expected" / "broken_wrong_action",
]


@pytest.mark.parametrize("folder", FUZZED, ids=lambda path: f"{path.parent.parent.name}-{path.name}")
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_file_with_anything_in_it_is_imported_or_an_error_in_words(folder: Path, data: st.DataObject) -> None:
    files = {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix in {".json", ".yml"}}
    name = data.draw(st.sampled_from(sorted(files)))
    files[name] = data.draw(mutated(name, files[name]))
    with TemporaryDirectory() as made:
        for each, content in files.items():
            Path(made, each).write_bytes(content)
        told = "imported"
        try:
            report = import_results(Path(made), Path(made) / "none")
            written = encode(report)
            assert encode(decode(written)) == written
        except UserError as error:
            told = str(error)
            assert "not a valid report" not in told, "what is read can be written"
    assert told


def test_a_folder_without_results_is_refused(tmp_path: Path, golden: Golden) -> None:
    done = turncheck("report", "import", tmp_path, cwd=tmp_path)
    assert done.returncode == 2
    golden(done.stderr)
    assert turncheck("report", "import", tmp_path / "no", cwd=tmp_path).returncode == 2
