"""The strength of tests: which faults are planted, what kills them, and what is no fault."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from tools.make_strength_page import PAGE, with_table

from turncheck.ci.git import Checkout, OtherState
from turncheck.cli import run_command_line
from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.engines.embedded.workshop import EmbeddedWorkshop
from turncheck.evaluations.strength.faults import mutants_of
from turncheck.evaluations.strength.measure import StrengthRun, evaluate_strength
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project, read_story_files
from turncheck.render.strength_notes import strength_note
from turncheck.report.codec import decode
from turncheck.report.model import MutantResult, Strength
from turncheck.validation.facts import ProjectTests
from turncheck.work.workplace import INLINE, Executor, Local

CONFIG = """
recipe: default.v1
language: en
pipeline:
  - name: WhitespaceTokenizer
  - name: KeywordIntentClassifier
  - name: RegexEntityExtractor
policies:
  - name: RulePolicy
"""
DOMAIN = """
version: "3.1"
intents: [greet, bye, book]
entities: [city]
slots:
  city:
    type: text
    influence_conversation: false
    mappings:
      - type: from_entity
        entity: city
responses:
  utter_hello:
    - text: Hello there
  utter_bye:
    - text: See you
  utter_booked:
    - text: Booked for {city}
  utter_never:
    - text: Nobody says this
"""
NLU = """
version: "3.1"
nlu:
  - intent: greet
    examples: |
      - hello
      - good day
      - hey you
  - intent: bye
    examples: |
      - goodbye
      - see you
  - intent: book
    examples: |
      - a room in [Bonn](city)
      - a bed in [Rome](city)
  - lookup: city
    examples: |
      - Bonn
      - Rome
"""
RULES = """
version: "3.1"
rules:
  - rule: say hello
    steps:
      - intent: greet
      - action: utter_hello
  - rule: say bye
    steps:
      - intent: bye
      - action: utter_bye
  - rule: book
    steps:
      - intent: book
      - action: utter_booked
"""
STORIES = """
version: "3.1"
stories:
  - story: hello and bye
    steps:
      - user: hello
        intent: greet
      - action: utter_hello
      - user: goodbye
        intent: bye
      - action: utter_bye
"""
CASES = """
test_cases:
  - test_case: booking
    steps:
      - user: a room in Bonn
      - bot: Booked for Bonn
"""


def small_bot(root: Path, **tests: str) -> Path:
    files = {"config.yml": CONFIG, "domain.yml": DOMAIN, "data/nlu.yml": NLU, "data/rules.yml": RULES}
    files |= {f"tests/{name}.yml": text for name, text in tests.items()}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip(), encoding="utf-8")
    return root


def strength_of(root: Path, work: Executor = INLINE, **run: Any) -> Strength:
    stories = [root / "tests/test_stories.yml"] if (root / "tests/test_stories.yml").exists() else []
    cases = [str(path) for path in root.glob("tests/e2e*.yml")]
    tests = ProjectTests(read_story_files(stories, root)[0] if stories else (), (), read_cases(root, cases).cases)
    workshop = EmbeddedWorkshop(EmbeddedNluTrainer(), 42)
    return evaluate_strength(read_project(root), workshop, tests, StrengthRun(**run), work=work)


def the(strength: Strength, operator: str, words: str) -> MutantResult:
    (found,) = [one for one in strength.mutants if one.operator == operator and words in one.what]
    return found


@pytest.fixture(scope="module")
def tested(tmp_path_factory: pytest.TempPathFactory) -> Strength:
    return strength_of(small_bot(tmp_path_factory.mktemp("bot"), test_stories=STORIES, e2e_test_cases=CASES))


def test_a_story_notices_a_lost_rule(tested: Strength) -> None:
    mutant = the(tested, "drop-step", "'utter_bye'")

    assert (mutant.outcome, mutant.by, mutant.test) == ("killed", "story", "hello and bye")
    assert (mutant.location.path, mutant.location.line) == ("data/rules.yml", 10)


def test_a_case_notices_another_text_and_a_lost_mapping(tested: Strength) -> None:
    assert the(tested, "replace-response", "'utter_booked'").by == "case"
    assert the(tested, "drop-mapping", "'city'").test == "booking"


def test_a_text_that_no_case_quotes_survives(tested: Strength) -> None:
    survivor = the(tested, "replace-response", "'utter_hello'")

    assert (survivor.outcome, survivor.by) == ("survived", None)
    assert survivor.location.line == DOMAIN.lstrip().splitlines().index("  utter_hello:") + 1


def test_a_response_that_nobody_says_is_no_fault(tested: Strength) -> None:
    assert the(tested, "replace-response", "'utter_never'").outcome == "equivalent"


def test_a_story_notices_that_its_intent_cannot_be_learnt_any_more(tested: Strength) -> None:
    mutant = the(tested, "drop-intent", "'bye'")

    assert (mutant.outcome, mutant.by) == ("killed", "story")


def test_the_score_leaves_out_what_is_no_fault(tested: Strength) -> None:
    assert tested.score == tested.killed / (tested.killed + tested.survived)
    assert sum(tested.killed_by.values()) == tested.killed
    assert tested.killed + tested.survived + tested.equivalent == len(tested.mutants)
    assert sum(group.killed for group in tested.by_file) == tested.killed == sum(one.killed for one in tested.by_kind)


@pytest.mark.slow
def test_fewer_tests_are_weaker(tested: Strength, tmp_path: Path) -> None:
    fewer = strength_of(small_bot(tmp_path, test_stories=STORIES))

    assert fewer.score is not None
    assert tested.score is not None
    assert fewer.score < tested.score


def test_workers_change_nothing(tested: Strength, tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES, e2e_test_cases=CASES)

    assert strength_of(root, Local(2)) == tested


def test_what_there_is_no_time_for_is_said(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    some = strength_of(root, most=3)

    assert len(some.mutants) == 3
    assert some.not_tried == len(mutants_of(read_project(root), 42)) - 3
    assert "3 of" in some.remarks[0]
    assert len(strength_of(root, budget=1e-9).mutants) == 1


def test_the_order_depends_on_the_mutants_themselves(tmp_path: Path) -> None:
    one = [mutant.what for mutant in mutants_of(read_project(small_bot(tmp_path / "one")), 42)]
    root = small_bot(tmp_path / "other")
    (root / "data/rules.yml").write_text("# a comment\n" + RULES.lstrip(), encoding="utf-8")

    assert [mutant.what for mutant in mutants_of(read_project(root), 42)] == one
    assert [mutant.what for mutant in mutants_of(read_project(root), 7)] != one


def test_only_changed_lines(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    line = RULES.lstrip().splitlines().index("      - action: utter_bye") + 1
    changed = strength_of(root, changed={"data/rules.yml": {line}})

    assert {mutant.what for mutant in changed.mutants} == {"rule 'say bye' without 'utter_bye'"}
    assert changed.scope == "changed"
    assert strength_of(root, changed={}).score is None


def test_lines_that_a_commit_does_not_have(tmp_path: Path) -> None:
    root = small_bot(tmp_path)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    rules = root / "data" / "rules.yml"
    rules.write_text(rules.read_text("utf-8").replace("rule: say bye", "rule: say goodbye"), encoding="utf-8")
    (root / "data" / "ünew.yml").write_text("a\nb\n", encoding="utf-8")

    changed = Checkout(root).changed_lines(OtherState("HEAD"), root)

    assert changed[rules].written == {7}
    assert {1, 2} <= changed[root / "data" / "ünew.yml"].written
    assert len(changed) == 2


@pytest.mark.slow
def test_the_command_tells_survivors_with_their_places(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    root = small_bot(tmp_path / "bot", test_stories=STORIES)
    monkeypatch.chdir(root)
    json = tmp_path / "report.json"
    command = ["test", "strength", "--workers", "1", "--json", str(json), "--fail-under", "0.99", "-q"]

    assert run_command_line(command) == 1
    told = capsys.readouterr().out
    assert "Strength" in told
    golden(told, only="domain.yml:12:3")
    report = decode(json.read_bytes())
    assert report.strength is not None
    assert f"{report.strength.score:.2f}" in told
    of = [one for one in report.strength.mutants if one.outcome != "equivalent"]
    by_tests = [one for one in of if one.outcome == "killed" and one.by != "validation"]
    assert 0 < len(by_tests) < report.strength.killed
    assert report.strength.by_tests == len(by_tests) / len(of)
    alone = f"{report.strength.by_tests:.2f}"
    assert f" {alone})" in told
    assert f" {alone}." in str(strength_note(report))


def test_a_project_without_tests_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    assert run_command_line(["test", "strength", "--project", str(small_bot(tmp_path))]) == 2
    golden(capsys.readouterr().err)


def test_a_pipeline_that_rasa_would_not_train_is_noticed_by_validation(tmp_path: Path) -> None:
    root = small_bot(tmp_path, test_stories=STORIES)
    config = (root / "config.yml").read_text("utf-8")
    assert "KeywordIntentClassifier" in config
    featurizer = "- name: CountVectorsFeaturizer\n  - name: KeywordIntentClassifier"
    (root / "config.yml").write_text(config.replace("- name: KeywordIntentClassifier", featurizer), encoding="utf-8")

    lost = the(strength_of(root), "drop-component", "without WhitespaceTokenizer")
    assert (lost.outcome, lost.by, lost.test) == ("killed", "validation", "component-order")


def test_a_floor_without_a_score_is_not_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr("turncheck.evaluations.strength.measure.mutants_of", lambda *_: [])
    command = ["test", "strength", "--project", str(small_bot(tmp_path, test_stories=STORIES)), "-q"]

    assert run_command_line(command) == 0
    assert run_command_line([*command, "--fail-under", "0.6"]) == 2
    golden(capsys.readouterr().err)


def test_the_manual_lists_every_operator() -> None:
    """Write it with: python tools/make_strength_page.py"""
    text = PAGE.read_text("utf-8")

    assert with_table(text) == text
    assert "| `drop-step` |" in text


@pytest.mark.slow
def test_a_run_tries_the_tests_only_where_somebody_asks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    root = small_bot(tmp_path / "bot", test_stories=STORIES, e2e_test_cases=CASES)
    monkeypatch.chdir(root)
    command = ["run", "--baseline", "none", "--workers", "1", "--evaluations", "core", "e2e"]

    assert run_command_line([*command, "--out", "plain"]) == 0
    plain = decode(Path("plain/report.json").read_bytes())
    assert (plain.strength, plain.robustness) == (None, None)
    assert not {"strength", "robustness"} & {one.evaluation for one in plain.skipped}

    capsys.readouterr()
    asked = [*command, "--strength", "all", "--strength-budget", "0", "--thresholds", "strength.score >= 0.99"]
    asked += ["strength.by_tests >= 0.1"]
    assert run_command_line([*asked, "--out", "asked"]) == 1
    report = decode(Path("asked/report.json").read_bytes())
    assert report.strength is not None
    assert report.core == plain.core
    told = capsys.readouterr().out
    assert "failed  threshold: strength.score >= 0.99" in told
    assert "passed  threshold: strength.by_tests >= 0.1" in told
    comment = Path("asked/comment.md").read_text("utf-8")
    assert "faults noticed" in comment
    assert " `turncheck suggest` " in comment
    golden(comment, only="faults)</summary>")


def test_what_changed_is_not_known_outside_of_a_checkout(tmp_path: Path, golden: Golden) -> None:
    root = small_bot(tmp_path / "bot", test_stories=STORIES)
    command = ["run", str(root), "--baseline", "none", "--evaluations", "core", "--strength", "changed"]

    assert run_command_line([*command, "--out", str(tmp_path / "out")]) == 0
    (skipped,) = [
        one for one in decode((tmp_path / "out/report.json").read_bytes()).skipped if one.evaluation == "strength"
    ]
    golden(skipped.reason)
