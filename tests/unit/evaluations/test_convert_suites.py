"""Suites converted, made and imported: what goes out comes back."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
from collections import Counter
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golden_texts import Golden
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from report_builder import batch, report
from test_batch_command import CONFIG, DATA, EXPORTS

from turncheck.cli import run_command_line
from turncheck.commands.suites import sample_cases
from turncheck.evaluations.batch.judging import is_intent
from turncheck.evaluations.batch.suggested import suggest_cases
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.platforms.kore.imported import import_batch_csv
from turncheck.platforms.kore.model import bot_of
from turncheck.project.batch.model import ExpectedEntity, SuiteCase, comparable
from turncheck.project.batch.reader import find_suites, read_suites
from turncheck.project.batch.rules import Rules, components_of
from turncheck.project.batch.suggestions import case_of, examples_of, successful_utterances
from turncheck.project.batch.suite_file import read_csv_suite, read_json_suite
from turncheck.project.batch.writer import without_repetitions, write_suite
from turncheck.project.formats.rasa_nlu_writer import write_nlu_yaml
from turncheck.project.nlu_data import NluData
from turncheck.project.reader import read_nlu, read_project
from turncheck.render.batch_csv import render_batch_csv
from turncheck.report.batch import BatchCase, BatchEntity, BatchOrder, BatchResult, BatchSetting, BatchSuite, numbers_of
from turncheck.yaml_tree.source import Source

ORACLE = Path(__file__).parents[2] / "oracle" / "kore" / "suites"


def trimmed(text: str) -> str:
    return text.strip()


TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).map(trimmed).filter(bool)
NAME = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="|>"), min_size=1, max_size=8)
    .map(trimmed)
    .filter(lambda name: bool(name) and name.casefold() != "none" and not name.casefold().startswith("trait"))
)
VALUE = TEXT.filter(lambda value: "}" not in value)
ENTITIES = st.dictionaries(NAME, st.lists(VALUE, min_size=1, max_size=2, unique=True), max_size=2).map(
    lambda found: tuple(ExpectedEntity(name, tuple(values)) for name, values in found.items())
)
CASES = st.lists(
    st.builds(
        SuiteCase,
        TEXT,
        st.lists(NAME, max_size=3, unique=True).map(tuple),
        st.booleans(),
        parent=st.lists(NAME, max_size=2).map(tuple),
        entities=ENTITIES,
        order=st.lists(NAME, max_size=2).map(tuple),
        generated=st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@given(CASES)
def test_what_is_written_as_json_is_read_again(cases: list[SuiteCase]) -> None:
    found = read_json_suite(Source("a.json", write_suite(cases, ".json")), Rules("a.json"))
    assert list(found) == cases


@pytest.mark.slow
@given(CASES)
def test_what_is_written_as_csv_is_read_again_or_refused(cases: list[SuiteCase]) -> None:
    with suppress(UserError):
        text = write_suite(cases, ".csv")
        found = read_csv_suite(Source("a.csv", text), Rules("a.csv"))
        assert list(found) == without_repetitions(cases)


@pytest.mark.slow
@given(CASES)
def test_from_json_to_csv_and_back_nothing_changes(cases: list[SuiteCase]) -> None:
    keys = [(case.text, case.intents, case.is_trait, case.parent) for case in cases]
    assume(all(one != other for one, other in pairwise(keys)))
    text = write_suite(cases, ".csv")
    again = read_csv_suite(Source("a.csv", text), Rules("a.csv"))
    assert write_suite(again, ".json") == write_suite(cases, ".json")


@given(st.lists(st.tuples(TEXT, NAME, st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=5))
def test_what_nlu_data_can_hold_comes_back(rows: list[tuple[str, str, int, int]]) -> None:
    cases = []
    for text, intent, start, length in rows:
        value = text[start : start + length].strip()
        entities = (ExpectedEntity("city", (value,)),) if value and "||" not in value else ()
        cases.append(SuiteCase(text, (intent,), entities=entities))
    examples, left_out = examples_of(cases)
    assert len(examples) + len(left_out) == len(cases)
    assert [case_of(example) for example in examples] == [
        case for case in cases if case not in [one for one, _ in left_out]
    ]


def test_a_project_file_of_nlu_data_becomes_a_suite_and_comes_back(tmp_path: Path) -> None:
    (tmp_path / "nlu.yml").write_text(DATA)
    assert convert(tmp_path / "nlu.yml", tmp_path / "suite.json") == 0
    (suite,) = read_suites(tmp_path, [tmp_path / "suite.json"]).suites
    assert [(case.text, case.intents, [one.values for one in case.entities]) for case in suite.cases] == [
        ("hello", ("greet",), []),
        ("buy", ("order_tea",), []),
        ("to Rome please", ("book",), [("Rome",)]),
    ]
    assert convert(tmp_path / "suite.json", tmp_path / "back.yml") == 0
    before, after = (read_nlu([tmp_path / name], tmp_path)[0].examples for name in ("nlu.yml", "back.yml"))
    assert [(one.text, one.intent, one.entities) for one in before] == [
        (one.text, one.intent, one.entities) for one in after
    ]
    assert write_nlu_yaml(NluData(after)) == (tmp_path / "back.yml").read_text()


def convert(*arguments: Path) -> int:
    *files, out = map(str, arguments)
    return run_command_line(["data", "convert", "batch", *files, "--out", out])


@pytest.mark.parametrize("name", ["full.json", "universal.csv", "semicolon.csv", "quoted.csv", "entities.csv"])
def test_suites_are_the_same_in_either_format(tmp_path: Path, name: str) -> None:
    (expected,) = read_suites(ORACLE, [ORACLE / name]).suites
    assert convert(ORACLE / name, tmp_path / "a.csv") == 0
    assert convert(tmp_path / "a.csv", tmp_path / "b.json") == 0
    for made in ("a.csv", "b.json"):
        (suite,) = read_suites(tmp_path, [tmp_path / made]).suites
        assert suite.cases == expected.cases


def test_two_cases_that_csv_would_join_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    cases = [
        {"input": "go", "intent": "A", "entities": [{"entityName": "c", "entityValue": value}]} for value in ("x", "y")
    ]
    (tmp_path / "a.json").write_text(json.dumps({"testCases": cases}))
    assert convert(tmp_path / "a.json", tmp_path / "a.csv") == 2
    golden(capsys.readouterr().err)
    assert not (tmp_path / "a.csv").exists()


def test_files_that_fit_no_target_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"testCases": [{"input": "x", "intent": "A"}]}')
    assert convert(tmp_path / "a.json", tmp_path / "a.json") == 2
    assert convert(tmp_path / "a.json", tmp_path / "a.xml") == 2
    assert convert(tmp_path / "a.json", tmp_path / "a.json", tmp_path / "b.csv") == 2
    assert convert(tmp_path / "none.json", tmp_path / "b.csv") == 2
    assert convert(tmp_path / "a.json", tmp_path / "folder") == 0
    assert (tmp_path / "folder" / "a.csv").is_file()


# --- suites that are made -------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "bot"
    (folder / "data").mkdir(parents=True)
    (folder / "config.yml").write_text(CONFIG)
    (folder / "domain.yml").write_text('version: "3.1"\nintents: [greet, order_tea, book]\nentities: [city]\n')
    (folder / "data" / "nlu.yml").write_text(DATA)
    return folder


def make(*arguments: object) -> int:
    return run_command_line(["suite", *map(str, arguments)])


def cases_in(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    (suite,) = read_suites(path.parent, [path]).suites
    return [(case.text, case.intents) for case in suite.cases]


def test_the_suite_of_the_data_has_every_utterance(project: Path, tmp_path: Path) -> None:
    assert make("from-data", "--project", project, "--out", tmp_path / "a.json") == 0
    assert cases_in(tmp_path / "a.json") == [
        ("hello", ("greet",)),
        ("buy", ("order_tea",)),
        ("to Rome please", ("book",)),
    ]
    (project / "data" / "nlu.yml").write_text('version: "3.1"\nnlu: []\n')
    assert make("from-data", "--project", project, "--out", tmp_path / "b.json") == 2


@pytest.mark.follows(
    page="kore-batch",
    sentence="Developer defined utterances: a suite of all utterances that the assistant was trained on.",
)
@pytest.mark.parametrize("name", ["tea_shop", "city_library", "harbour_pitfalls"])
@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_the_suite_of_an_export_has_its_annotations(name: str, suffix: str, tmp_path: Path) -> None:
    expected = json.loads((EXPORTS / "expected.json").read_text("utf-8"))[name]
    assert make("from-data", "--project", EXPORTS / name, "--out", tmp_path / f"a{suffix}") == 0
    (suite,) = read_suites(tmp_path, [tmp_path / f"a{suffix}"]).suites
    written = [{"input": case.text, "intent": case.intents[0]} for case in suite.cases]
    if suffix == ".json":
        assert written == expected["suite_from_data"]
    spans: dict[str, list[tuple[str, str]]] = {
        one["text"]: [(entity["entity"], entity["value"]) for entity in one["entities"]] for one in expected["spans"]
    }
    found = {case.text: [(one.name, one.values[0]) for one in case.entities] for case in suite.cases if case.entities}
    assert found == {text: values for text, values in spans.items() if values}


def test_annotations_that_a_suite_cannot_hold_are_left_out(project: Path, tmp_path: Path) -> None:
    sentences = "to [a}b:c](city)", "to [Rome](city)", "to Rome"
    lines = "".join(f"    - {one}\n" for one in sentences)
    text = f'version: "3.1"\nnlu:\n- intent: book\n  examples: |\n{lines}'
    (project / "data" / "nlu.yml").write_text(text)
    for suffix in (".json", ".csv"):
        assert make("from-data", "--project", project, "--out", tmp_path / f"a{suffix}") == 0
    (suite,) = read_suites(tmp_path, [tmp_path / "a.json"]).suites
    assert [len(case.entities) for case in suite.cases] == [0, 1, 0]
    assert cases_in(tmp_path / "a.csv") == [("to a}b:c", ("book",)), ("to Rome", ("book",))]


def test_suggestions_are_marked_and_never_a_training_sentence(project: Path, tmp_path: Path) -> None:
    assert make("suggest", "--project", project, "--out", tmp_path / "a.json") == 0
    (suite,) = read_suites(tmp_path, [tmp_path / "a.json"]).suites
    by_text = {case.text: case for case in suite.cases}
    assert by_text["to Oslo please"].entities == (ExpectedEntity("city", ("Oslo",)),)
    assert all(case.generated for case in suite.cases)
    assert not by_text.keys() & {"hello", "buy", "to Rome please"}
    assert make("suggest", "--project", project, "--intent", "order_tea", "--out", tmp_path / "b.json") == 2


BIKES = Path(__file__).parents[3] / "examples" / "bike_workshop"


@pytest.mark.follows(
    page="kore-batch",
    sentence="Test cases are generated for the tasks of the assistant. (Here without a language model; for"
    " FAQs and small talk, too.)",
)
def test_dialogs_without_entities_questions_and_small_talk_are_suggested(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make("suggest", "--project", BIKES, "--number", "30", "--out", tmp_path / "a.csv") == 0
    (suite,) = read_suites(tmp_path, [tmp_path / "a.csv"]).suites
    bot = bot_of(read_project(BIKES))
    assert bot is not None
    kinds = Counter(intent.kind for case in suite.cases for intent in [bot.named()[comparable(case.intents[0])]])
    assert len(suite.cases) == 30
    assert kinds.keys() == {"dialog", "faq", "small_talk"}
    training = {example.text for example in read_project(BIKES).nlu.examples}
    assert not training & {case.text for case in suite.cases}
    assert all(case.generated for case in suite.cases)
    without = read_project(BIKES)
    plain = replace(without.nlu, examples=tuple(dataclasses.replace(one, entities=()) for one in without.nlu.examples))
    dialogs = suggest_cases(dataclasses.replace(without, nlu=plain), intent="book_repair").cases
    assert len(dialogs) >= 10
    assert {case.intents for case in dialogs} == {("Book Repair",)}
    assert not any(case.entities for case in dialogs)


def test_more_cases_are_words_put_otherwise_not_more_slips(tmp_path: Path) -> None:
    project = read_project(BIKES)
    few = {case.text for case in suggest_cases(project, intent="when are you open?", most=6).cases}
    more = [case.text for case in suggest_cases(project, intent="when are you open?", most=60).cases]
    assert few < set(more)
    assert "When r you open?" in set(more) - few
    assert len(more) == len(set(more))
    known = {comparable(text) for text in few}
    others = {case.text for case in suggest_cases(project, intent="when are you open?", most=6, known=known).cases}
    assert others
    assert not others & few


def test_a_word_of_a_list_is_expected_as_the_value_that_it_means(tmp_path: Path) -> None:
    assert make("suggest", "--project", BIKES, "--intent", "Book Repair", "--out", tmp_path / "a.json") == 0
    (suite,) = read_suites(tmp_path, [tmp_path / "a.json"]).suites
    values = {entity.values for case in suite.cases if "puncture" in case.text for entity in case.entities}
    assert values == {("tyre",)}


def test_intents_that_cannot_be_varied_are_named(
    project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert make("suggest", "--project", project, "--out", tmp_path / "a.json") == 0
    golden(capsys.readouterr().err)


def small_export(tmp_path: Path) -> Path:
    """The bicycle workshop with small talk that follows other small talk, and a dialog without sentences."""
    data = json.loads((BIKES / "botDefinition.json").read_text("utf-8"))
    first, *others = data["smallTalk"][0]["groups"][0]["nodes"]
    said = [{"text": "and how is the weather today"}, {"text": "~emosun"}]
    second = {"nodeId": "smn-next", "parentId": first["nodeId"], "userUtterances": said}
    third = {"nodeId": "smn-last", "parentId": "smn-next", "userUtterances": [{"text": "will it be sunny tomorrow"}]}
    data["smallTalk"][0]["groups"][0]["nodes"] = [first, *others, second, third]
    data["dialogs"].append({"_id": "dg-x", "localeData": {"en": {"name": "Only Patterns"}}, "nodes": [{"nodeId": "a"}]})
    for name, kind in (("Only Patterns", "intent"),):
        component = {"_id": "dc-x", "name": name, "type": kind, "dialogId": "dg-x"}
        data["dialogComponents"].append({**component, "localeData": {"en": {"intent": name}}})
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "botDefinition.json").write_text(json.dumps(data), "utf-8")
    return tmp_path / "bot"


def test_small_talk_that_follows_other_small_talk_is_suggested_with_what_precedes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    bot = small_export(tmp_path)
    assert make("suggest", "--project", bot, "--number", "200", "--out", tmp_path / "a.json") == 0
    (suite,) = read_suites(tmp_path, [tmp_path / "a.json"]).suites
    first = json.loads((BIKES / "botDefinition.json").read_text("utf-8"))["smallTalk"][0]["groups"][0]["nodes"][0]
    root = first["userUtterances"][0]["text"]
    parents = {case.intents: case.parent for case in suite.cases if case.parent}
    assert parents == {
        ("and how is the weather today",): (root,),
        ("will it be sunny tomorrow",): (root, "and how is the weather today"),
    }
    golden(capsys.readouterr().err)
    assert run_command_line(["init", str(bot), "--write"]) == 0
    (first_suite,) = read_suites(bot, [bot / "tests" / "first_suite.csv"]).suites
    assert not any(case.parent for case in first_suite.cases)


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_what_a_suite_cannot_name_is_left_out_and_said(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    """One name with a delimiter is no reason to suggest nothing."""
    bot = small_export(tmp_path)
    data = json.loads((bot / "botDefinition.json").read_text("utf-8"))
    data["knowledgeTasks"][0]["faqs"]["faqs"][0]["question"] = "When is the workshop | the shop open?"
    component = next(one for one in data["dialogComponents"] if one["type"] == "intent" and one.get("dialogId"))
    dialog = next(one for one in data["dialogs"] if one["_id"] == component["dialogId"])
    dialog["localeData"]["en"]["name"] = component["localeData"]["en"]["intent"] = "Fix | Repair"
    (bot / "botDefinition.json").write_text(json.dumps(data), "utf-8")
    assert make("suggest", "--project", bot, "--number", "200", "--out", tmp_path / f"a{suffix}") == 0
    told = capsys.readouterr().err
    golden(told)
    assert len({intents for _, intents in cases_in(tmp_path / f"a{suffix}")}) > 5
    assert make("suggest", "--project", bot, "--intent", "Fix | Repair", "--out", tmp_path / f"b{suffix}") == 2
    assert make("from-data", "--project", bot, "--out", tmp_path / f"c{suffix}") == 0
    golden(capsys.readouterr().err)
    assert run_command_line(["suggest", "--project", str(bot)]) == 0
    assert run_command_line(["init", str(bot), "--write"]) == 0
    assert (bot / "tests" / "first_suite.csv").is_file()


@pytest.mark.parametrize(
    ("intent", "told"),
    [
        ("Book Repare", "the project has no intent 'Book Repare'\nDid you mean 'Book Repair'?"),
        ("Sunday", "the project has no intent 'Sunday'"),
    ],
)
def test_cases_of_an_intent_that_is_not_there_are_refused(
    intent: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make("suggest", "--project", BIKES, "--intent", intent, "--out", tmp_path / "a.json") == 2
    assert told in capsys.readouterr().err


@pytest.mark.follows(page="kore-batch", sentence="Generated cases are reviewed, and added when they are ready.")
def test_suggest_in_an_export_is_about_a_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    bot = tmp_path / "bot"
    bot.mkdir()
    shutil.copy(BIKES / "botDefinition.json", bot)
    assert run_command_line(["suggest", "--project", str(bot)]) == 0
    shown = capsys.readouterr().out
    golden(shown, only="reviewed")
    assert not (bot / "tests").exists()
    assert run_command_line(["suggest", "--project", str(bot), "--write"]) == 0
    written = bot / "tests" / "suite_suggested_1.template"
    assert written.read_text("utf-8") in shown
    assert find_suites(bot) == ()
    reviewed = bot / "tests" / "reviewed_1.csv"
    written.rename(reviewed)
    suggested = set(cases_in(reviewed))
    for number in (2, 3):
        capsys.readouterr()
        assert run_command_line(["suggest", "--project", str(bot), "--write"]) == 0
        reviewed = bot / "tests" / f"reviewed_{number}.csv"
        written.rename(reviewed)
        more = set(cases_in(reviewed))
        assert more
        assert not suggested & more
        suggested |= more
    capsys.readouterr()
    assert run_command_line(["suggest", "--project", str(bot)]) == 0
    golden(capsys.readouterr().out)


@pytest.mark.follows(
    page="kore-batch", sentence="Cases that are added by hand have a parent intent and an order of entities."
)
@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_utterances_are_added_with_parent_entities_and_their_order(tmp_path: Path, suffix: str) -> None:
    suite = tmp_path / f"a{suffix}"
    (tmp_path / "lines.txt").write_text("two boxes to Oslo\n2 boxes to Oslo\n")
    expected = ("--intent", "Order Tea", "--parent", "Shop >> Tea", "--entity-order", "Quantity > City")
    entities = ("--entity", "Quantity=2", "Quantity=two", "--entity", "City=Oslo")
    assert make("add", suite, *expected, *entities, "--from", tmp_path / "lines.txt") == 0
    (read,) = read_suites(tmp_path, [suite]).suites
    found = (ExpectedEntity("Quantity", ("2", "two")), ExpectedEntity("City", ("Oslo",)))
    assert list(read.cases) == [
        SuiteCase(text, ("Order Tea",), parent=("Shop", "Tea"), entities=found, order=("Quantity", "City"))
        for text in ("two boxes to Oslo", "2 boxes to Oslo")
    ]


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_utterances_are_added_to_the_suite_of_a_universal_bot(
    tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    suite = tmp_path / f"a{suffix}"
    (tmp_path / "lines.txt").write_text("pay it\n")
    added = ("add", suite, "--intent", "Pay | Repay", "--from", tmp_path / "lines.txt")
    assert make(*added, "--bot", "Bank | Loans") == 0
    (read,) = read_suites(tmp_path, [suite]).suites
    assert read.cases == (SuiteCase("pay it", ("Pay", "Repay"), bots=("Bank", "Loans")),)
    assert make("add", suite, "--intent", "Pay", "--from", tmp_path / "lines.txt") == 2
    golden(capsys.readouterr().err)
    assert make(*added, "--bot", "Bank|Loans|Cards") == 2
    assert "3 bot names for 2 intents" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "without"),
    [((), "'City', 'Quantity'"), (("--entity", "City=Oslo"), "'Quantity'"), (("--entity", "Size=2"), "'City', 'Quan")],
)
def test_an_order_of_entities_needs_no_values(
    tmp_path: Path, flags: tuple[str, ...], without: str, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "a.json"
    (tmp_path / "lines.txt").write_text("to Oslo\n")
    order = ("--entity-order", "City>Quantity")
    assert make("add", suite, "--intent", "Order Tea", *order, *flags, "--from", tmp_path / "lines.txt") == 0
    assert f"Without a value: {without}" in capsys.readouterr().err
    (read,) = read_suites(tmp_path, [suite]).suites
    assert read.cases[0].order == ("City", "Quantity")


@pytest.mark.follows(page="kore-batch", sentence="An order of entities cannot be chosen for several intents.")
@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--entity", "City"), "--entity: expected NAME=VALUE, got 'City'"),
        (("--entity", "City="), "--entity: expected NAME=VALUE"),
        (("--intent", "A | B", "--entity", "City=Oslo", "--entity-order", "City"), "for one intent"),
        (("--entity", "City=Oslo", "--entity-order", "City>City"), "--entity-order names 'City' twice"),
    ],
)
def test_what_is_expected_of_added_utterances_has_to_be_clear(
    tmp_path: Path, flags: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "lines.txt").write_text("to Oslo\n")
    added = ("add", tmp_path / "a.json", "--intent", "Order Tea", "--from", tmp_path / "lines.txt", *flags)
    assert make(*added) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "a.json").exists()


@pytest.mark.follows(page="kore-batch", sentence="A sample suite in CSV or JSON is available when a suite is created.")
@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_a_sample_suite_shows_what_a_suite_can_hold(tmp_path: Path, suffix: str) -> None:
    sample = tmp_path / f"a{suffix}"
    assert make("sample", "--out", sample) == 0
    read = read_suites(tmp_path, [sample])
    assert read.findings == ()
    (suite,) = read.suites
    assert suite.cases == sample_cases()
    cases = suite.cases
    assert any(case.parent for case in cases)
    assert any(case.order for case in cases)
    assert any(case.is_trait for case in cases)
    values = [value for case in cases for entity in case.entities for value in entity.values]
    assert any("||" in value for value in values)
    assert any(components_of(value) for value in values)
    assert any(len(case.intents) > 1 for case in cases)
    assert any(not case.intents for case in cases)
    assert make("sample", "--out", tmp_path / "a.yml") == 2


@pytest.mark.follows(
    page="kore-batch", sentence="Cases are added by hand: an intent, and several utterances, one per line."
)
def test_utterances_are_added_once_to_a_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = tmp_path / "a.json"
    (tmp_path / "lines.txt").write_text("buy tea\n\nbuy me tea\nbuy tea\n")
    assert make("add", suite, "--intent", "Order Tea | Buy", "--from", tmp_path / "lines.txt") == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("buy tea\nand now\n"))
    assert make("add", suite, "--intent", "Order Tea | Buy") == 0
    assert cases_in(suite) == [(text, ("Order Tea", "Buy")) for text in ("buy tea", "buy me tea", "and now")]
    assert make("add", suite, "--intent", "Order Tea | Buy", "--from", tmp_path / "lines.txt") == 2
    assert make("add", suite, "--intent", "A||B", "--from", tmp_path / "lines.txt") == 2
    assert "separates traits" in capsys.readouterr().err


LOG = [
    {"utterance": "buy tea", "intent": "Order Tea", "completed": True},
    {"utterance": "buy tea", "intent": "Order Tea", "completed": True},
    {"utterance": "stop", "intent": "Cancel", "completed": False},
    {"utterance": "la la", "intent": "None", "completed": True},
]


@pytest.mark.follows(
    page="kore-batch",
    sentence="Successful user utterances: a suite of what users said that matched an intent and whose task"
    " was executed to its end.",
)
@pytest.mark.parametrize(
    "text",
    [
        json.dumps(LOG),
        "\n".join(json.dumps(record) for record in LOG),
        json.dumps({"conversations": LOG}),
        "Utterance,Intent,Task Status\nbuy tea,Order Tea,done\nstop,Cancel,no\nbuy tea,Order Tea,yes\nla,None,yes\n",
    ],
)
def test_only_utterances_whose_task_was_completed_are_kept(text: str) -> None:
    found = successful_utterances(Source("log", text))
    assert [(case.text, case.intents) for case in found.cases] == [("buy tea", ("Order Tea",))]
    assert (found.records, found.left_out) == (4, 2)


@pytest.mark.parametrize(
    ("matched", "expected"),
    [
        (["Pay Bill", "Track Delivery"], ("Pay Bill", "Track Delivery")),
        (["Pay Bill"], ("Pay Bill",)),
        ("Pay Bill | Track Delivery", ("Pay Bill", "Track Delivery")),
        (["None", "Pay Bill", "Pay Bill", 7, None], ("Pay Bill", "7")),
        (["A", "B", "C", "D"], ("A", "B", "C")),
        ([], None),
        (["None"], None),
        ({"name": "A"}, None),
    ],
)
def test_an_utterance_that_matched_several_intents_expects_any_of_them(
    matched: object, expected: tuple[str, ...] | None
) -> None:
    found = successful_utterances(Source("log", json.dumps([{"utterance": "u", "intent": matched, "completed": True}])))
    assert [case.intents for case in found.cases] == ([] if expected is None else [expected])
    assert found.left_out == (expected is None)


@pytest.mark.parametrize(
    ("record", "lacks"),
    [
        ({"utterance": "x", "intent": "A"}, "whether its task was completed"),
        ({"intent": "A", "completed": True}, "the utterance"),
        ({"event": "user", "text": "x"}, "the matched intent (`intent`) and whether"),
    ],
)
def test_a_log_that_lacks_something_is_refused_with_what(record: dict[str, Any], lacks: str) -> None:
    with pytest.raises(UserError) as caught:
        successful_utterances(Source("log.json", json.dumps([record])))
    assert lacks in caught.value.message


@given(st.text(max_size=60))
def test_any_log_is_read_or_refused(text: str) -> None:
    with suppress(UserError):
        found = successful_utterances(Source("log", text))
        assert found.records >= len(found.cases)


# --- the platform's report --------------------------------------------------------------------------------------------

PLAIN = NAME.filter(lambda name: "\r" not in name and is_intent(name))
"""Names as an engine may answer them: of a name such as `_` nothing is left when names are compared."""
SCORE = st.floats(0, 20_000, allow_nan=False)


@st.composite
def judged(draw: st.DrawFn) -> BatchCase:
    """A case as an engine judged it, with what the platform's report has columns for."""
    expected = tuple(draw(st.lists(PLAIN, max_size=2, unique=True)))
    matched = tuple(draw(st.lists(PLAIN, max_size=1)))
    result: BatchResult = draw(st.sampled_from(["tp", "tn", "fp", "fn", "not-evaluated"]))
    engines = draw(st.booleans())
    told = matched * (result in {"fp", "fn"}) + expected * (result == "fp")
    keys = [f"{name} ({engine})" for name in told for engine in ("FM", "ML")] if engines else told
    entities = tuple(
        BatchEntity(name=name, expected=("x", "y"), matched=draw(st.sampled_from([None, "z", "it's"])), passed=False)
        for name in draw(st.lists(st.sampled_from(["City", "Day"]), max_size=2, unique=True))
    )
    order = tuple(one.name for one in entities)
    return BatchCase(
        text=draw(TEXT.filter(lambda text: "\r" not in text)),
        location=Location("a.json", 1),
        kind="dialog",
        expected=expected,
        matched=matched,
        state=draw(st.sampled_from(["", "Configured", "Published"])),
        parent=tuple(draw(st.lists(st.sampled_from(["Do you like books?", "thanks"]), max_size=2))),
        result=result,
        passed=result in {"tp", "tn"} and not entities,
        entities=entities,
        order=BatchOrder(expected=order[:1], actual=order, assumed=False) if order else None,
        scores={key: draw(SCORE) for key in keys},
        reason=draw(st.sampled_from([None, "ambiguous with A", "FM: wordMatchOnly, ML: 0.3"])),
    )


@pytest.mark.slow
@given(st.lists(judged(), min_size=1, max_size=4), st.booleans())
def test_results_that_are_written_are_imported_again(cases: list[BatchCase], raw: bool) -> None:
    assume(all(one.text != other.text for one, other in pairwise(cases)))
    setting = BatchSetting(
        bot="Tea",
        language="de",
        thresholds=({"mode": "ml", "minThreshold": "0.3", "isActive": "true"}, {"mode": "cs", "wordCoverage": "-1"}),
        tested="2026-01-05T17:44:10Z",
    )
    numbers = numbers_of(cases)
    suite = BatchSuite(
        name="smoke", notes="first\nsecond", outcome="success", **numbers, setting=setting, cases=tuple(cases)
    )
    made = report()
    written = str(render_batch_csv(made, suite, "a.csv", raw=raw, tested="never").content)
    found = import_batch_csv("a.csv", written, raw=raw)
    assert (found.suite.name, found.suite.notes, found.bot) == ("smoke", "first\nsecond", "Tea")
    assert found.suite.setting == setting
    assert found.suite.counts == suite.counts
    assert found.promised == len(cases)
    for again, case in zip(found.suite.cases, cases, strict=True):
        assert again.scores == (case.scores if raw else pytest.approx(case.scores, abs=1e-4))
        assert msgspec.structs.replace(again, location=case.location, scores=case.scores) == case
    assert str(render_batch_csv(made, found.suite, "a.csv", raw=raw).content) == written


def test_scores_by_engine_and_by_intent_are_read() -> None:
    header = "Utterances,ExpectedIntent,MatchedIntent,Parent Intent,Result Type,Matched Intent's Score,"
    rows = [
        '"to Oslo",A,B,Root >> Leaf,False Positive,"FM: 11643.33, ML: 0.71","ML - n/a"',
        '"to Rome",A|C,B,Root||Leaf,False Positive,0.5,"FM: 1, ML: 0.2, FM: 3"',
        '"to Bern",A,B,,False Positive,"1,234.5",high',
    ]
    found = import_batch_csv("a.csv", "\n".join([header + "Expected Intent's Score", *rows])).suite.cases
    assert [case.scores for case in found] == [
        {"B (FM)": 11643.33, "B (ML)": 0.71},
        {"B": 0.5, "A (FM)": 1.0, "A (ML)": 0.2, "C (FM)": 3.0},
        {},
    ]
    assert [case.parent for case in found] == [("Root", "Leaf"), ("Root", "Leaf"), ()]


def test_a_report_that_a_spreadsheet_saved_is_read_and_equal_cases_are_counted() -> None:
    head = "\ufeffBot Name:;Tea\r\nUtterance Count:;2\r\n;;\r\nUtterance;ExpectedIntent;MatchedIntent;Result Type;"
    rows = "to Oslo;A;A;True Positive;City;Oslo;none;FALSE\r\n" * 2
    columns = "Entity Name;Expected EntityValue;Matched EntityValue;Entity Result\r\n"
    found = import_batch_csv("a.csv", head + columns + rows)
    assert (found.bot, found.promised, len(found.suite.cases)) == ("Tea", 2, 2)


def test_what_is_no_report_of_the_platform_is_refused() -> None:
    for text in ("", "a,b\n1,2\n", '"Utterance","ExpectedIntent"\n'):
        with pytest.raises(UserError):
            import_batch_csv("a.csv", text)


@pytest.mark.follows(
    page="kore-batch",
    sentence="The CSV report of a run can be downloaded. (Here it becomes a report, to be compared and judged.)",
)
def test_the_platforms_report_becomes_a_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    suite = BatchSuite(name="s", outcome="success", **numbers_of([]))
    assert batch(suite).suites == (suite,)
    (tmp_path / "a.csv").write_text(
        '"Bot Name:","Tea"\n"Report name:","weekly"\n\n"Utterances","ExpectedIntent","MatchedIntent","Result Type"\n'
        '"buy","Order","Order","True Positive"\n"so urgent","trait: A","trait: A||B","True Positive"\n'
    )
    out = tmp_path / "out"
    arguments = ["report", "import", "--kore-csv", str(tmp_path / "a.csv"), "--project", str(tmp_path)]
    assert run_command_line([*arguments, "--out", str(out)]) == 0
    made = json.loads((out / "report.json").read_text())
    assert made["project"]["name"] == "Tea"
    assert [case["kind"] for case in made["batch"]["suites"][0]["cases"]] == ["dialog", "trait"]
    assert run_command_line(["report", "import", "--out", str(out)]) == 2
    assert run_command_line(["report", "import", str(tmp_path), "--raw-csv", "--out", str(out)]) == 2
    golden(capsys.readouterr().err)
    few = '"Report name:","weekly"\n"Utterance Count:","3"\n\n"Utterance","ExpectedIntent"\n"buy","Order"\n'
    (tmp_path / "few.csv").write_text(few)
    assert run_command_line(["report", "import", "--kore-csv", str(tmp_path / "few.csv"), "--out", str(out)]) == 0
    golden(capsys.readouterr().err)
    assert run_command_line(["report", "import", "--kore-csv", str(tmp_path / "b.csv"), "--out", str(out)]) == 2
