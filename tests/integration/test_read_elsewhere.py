"""Tests whose own lines are as on the base, and that a change reads otherwise: by what it adds or edits elsewhere.

Each has become weaker, or could have: it is edited, by the file that did it, as if its own lines were.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from in_process import turncheck

CONFIG = (
    "recipe: default.v1\nlanguage: en\npipeline: [{name: KeywordIntentClassifier}]\npolicies: [{name: RulePolicy}]\n"
)
DOMAIN = """\
version: "3.1"
intents: [price, bye]
slots:
  premium: {type: bool, influence_conversation: true, mappings: [{type: custom}]}
  city: {type: text, mappings: [{type: custom}]}
responses:
  utter_price: [{text: "A ticket is 12 $US"}]
  utter_bye: [{text: "bye"}]
"""
NLU = 'version: "3.1"\nnlu: [{intent: price, examples: "- price"}, {intent: bye, examples: "- bye"}]\n'
RULES = """\
version: "3.1"
rules:
- {rule: price, steps: [{intent: price}, {action: utter_price}]}
- {rule: bye, steps: [{intent: bye}, {action: utter_bye}]}
"""
BOT = {"config.yml": CONFIG, "domain.yml": DOMAIN, "data/nlu.yml": NLU, "data/rules.yml": RULES}
BROKEN = {"domain.yml": DOMAIN.replace("12 $US", "12 lemons")}
CONVOS = {
    "spec/convo/price.convo.txt": "price\n\n#me\nprice\n\n#bot\nA ticket is 12 $US\n",
    "spec/convo/bye.convo.txt": "bye\n\n#me\nbye\n\n#bot\nbye\n",
}


def _settings(**capabilities: Any) -> str:
    return json.dumps({"botium": {"Capabilities": capabilities}})


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def _run(folder: Path, *words: str | Path) -> int:
    return turncheck("run", ".", "--out", "out", "--json", "report.json", "--no-cache", *words, cwd=folder).returncode


def _edited(head: Path, kind: str = "e2e") -> list[tuple[str, list[str]]]:
    """The tests that the comparison says are edited, each with the files that did it."""
    comparison = json.loads((head / "out" / "comparison.json").read_text("utf-8"))
    return [(case["name"], case["edited_in"]) for case in comparison[kind]["edited"]]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite of Botium's in which a word after a dollar sign is that word, and the report of its run."""
    folder = _write(tmp_path_factory.mktemp("base"), {**BOT, **CONVOS})
    assert _run(folder) == 0
    return folder / "report.json"


def test_the_broken_bot_fails_by_itself(base: Path, tmp_path: Path) -> None:
    assert _run(_write(tmp_path, {**BOT, **CONVOS, **BROKEN}), "--baseline", base) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("spec/convo/values.scriptingmemory.txt", "      |$x\ncase1 |1\n"),
        ("spec/convo/new.convo.txt", "new\n\n#me\nbye\nSET_SCRIPTING_MEMORY x|1\n\n#bot\nbye\n"),
        ("spec/convo/new.convo.txt", "new\n\n#me\nbye\n\n#bot\n!$now\n"),
        ("spec/convo/new.pconvo.txt", "new\n\n#me\nbye\nSET_SCRIPTING_MEMORY x|1\n"),
        ("spec/convo/u.utterances.txt", "UTT_X\n$now\n"),
        ("botium.json", _settings(SCRIPTING_ENABLE_MEMORY=True)),
        ("spec/convo/botium.json", _settings(SCRIPTING_ENABLE_MEMORY=True)),
    ],
    ids=["table", "sets", "calls", "partial", "list", "settings", "nearer-settings"],
)
def test_what_makes_words_variables_edits_the_tests_that_have_one(
    base: Path, tmp_path: Path, path: str, text: str
) -> None:
    head = _write(tmp_path, {**BOT, **CONVOS, **BROKEN, path: text})

    assert _run(head, "--baseline", base) == 0
    assert _edited(head) == [("price", [path])]


def test_the_comment_names_the_file_that_edits_a_test(base: Path, tmp_path: Path, golden: Golden) -> None:
    head = _write(tmp_path, {**BOT, **CONVOS, "botium.json": _settings(SCRIPTING_ENABLE_MEMORY=True)})

    assert _run(head, "--baseline", base) == 0
    golden((head / "out" / "comment.md").read_text("utf-8"), only="edited")


LIST = {"spec/convo/any.utterances.txt": "ANY_TEXT\nA ticket is 12 $US\n"}
LISTED = {**CONVOS, **LIST, "spec/convo/price.convo.txt": "price\n\n#me\nprice\n\n#bot\nANY_TEXT\n"}
CAPPED = {"spec/convo/price.convo.txt": "price\n\n#me\nprice\n\n#bot\nTEXT_CONTAINS_ANY $cap(WANTED)\n"}
PARTIAL = {
    "spec/convo/asks.pconvo.txt": "asks\n\n#me\nprice\n\n#bot\nA ticket is 12\n",
    "spec/convo/price.convo.txt": "price\n\n#include asks\n\n#me\nbye\n\n#bot\nbye\n",
}
CASE = "test_cases:\n- test_case: price\n  fixtures: [gold]\n  steps:\n  - user: price\n  - utter: utter_price\n"
GOLD = "fixtures:\n- gold:\n  - premium: true\n"
STORY = """\
version: "3.1"
stories:
- story: price
  steps:
  - slot_was_set:
    - premium: true
    - city
  - intent: price
  - action: utter_price
"""
FIRST = STORY + "  - checkpoint: goes on\n"
SECOND = """\
version: "3.1"
stories:
- story: second
  steps:
  - checkpoint: goes on
  - intent: bye
  - action: utter_bye
"""


@pytest.mark.parametrize(
    ("tests", "path", "text", "kind"),
    [
        (CONVOS, "botium.json", _settings(SCRIPTING_NORMALIZE_TEXT=False), "e2e"),
        (LISTED, "spec/convo/more.utterances.txt", "ANY_TEXT\n*\n", "e2e"),
        (CAPPED | {"botium.json": _settings(WANTED="12")}, "botium.json", _settings(WANTED=""), "e2e"),
        (PARTIAL, "spec/convo/asks.pconvo.txt", "asks\n\n#me\nprice\n\n#bot\n*\n", "e2e"),
        (
            {"tests/e2e_test_cases.yml": CASE, "tests/conftest.yml": GOLD},
            "tests/conftest.yml",
            GOLD.replace("true", "false"),
            "e2e",
        ),
        (
            {"tests/deep/e2e_test_cases.yml": CASE, "tests/conftest.yml": GOLD},
            "tests/deep/conftest.yml",
            GOLD.replace("true", "false"),
            "e2e",
        ),
        (
            {"tests/test_stories.yml": STORY},
            "domain.yml",
            DOMAIN.replace("influence_conversation: true", "influence_conversation: false"),
            "stories",
        ),
        ({"tests/test_stories.yml": STORY}, "domain.yml", DOMAIN.replace("type: text", "type: any"), "stories"),
        (
            {"tests/test_a.yml": FIRST, "tests/test_b.yml": SECOND},
            "tests/test_a.yml",
            FIRST.replace("premium: true", "premium: false"),
            "stories",
        ),
    ],
    ids=["normalized", "list", "cap", "partial", "fixture", "nearer-fixture", "influence", "slot-type", "checkpoint"],
)
def test_whatever_a_test_is_read_with_edits_it(
    tmp_path: Path, tests: dict[str, str], path: str, text: str, kind: str
) -> None:
    before = _write(tmp_path / "base", {**BOT, **tests})
    head = _write(tmp_path / "head", {**BOT, **tests, path: text})
    assert _run(before) == 0

    _run(head, "--baseline", before / "report.json")

    edited = _edited(head, kind)
    assert edited
    assert all(files == [path] for _, files in edited)


@pytest.mark.parametrize(
    ("tests", "instead", "kind"),
    [
        (STORY, STORY.replace("premium: true", "premium: false"), "stories"),
        (CASE, f"stub_custom_actions:\n  action_x: {{events: [], responses: []}}\n{CASE}", "e2e"),
        (
            CASE.replace("  - utter: utter_price\n", "    assertion_order_enabled: true\n    assertions:\n")
            + "    - action_executed: utter_price\n    - action_executed: action_listen\n",
            "",
            "e2e",
        ),
    ],
    ids=["given-slot", "stubs", "order"],
)
def test_what_its_own_file_says_beside_its_steps_edits_it(tmp_path: Path, tests: str, instead: str, kind: str) -> None:
    name = "tests/test_stories.yml" if kind == "stories" else "tests/e2e_test_cases.yml"
    files = {**BOT, "tests/conftest.yml": GOLD, name: tests}
    before = _write(tmp_path / "base", files)
    head = _write(tmp_path / "head", {**files, name: instead or tests.replace("enabled: true", "enabled: false")})
    assert _run(before) == 0

    assert _run(head, "--baseline", before / "report.json") == 0
    assert _edited(head, kind) == [("price", [])]


def test_a_report_that_does_not_say_what_its_tests_resolve_to_is_compared_by_their_steps(tmp_path: Path) -> None:
    files = {**BOT, "tests/test_stories.yml": STORY, "tests/e2e_test_cases.yml": CASE, "tests/conftest.yml": GOLD}
    before = _write(tmp_path / "base", files)
    head = tmp_path / "head"
    shutil.copytree(before, head)
    _write(head, {"domain.yml": DOMAIN.replace("12 $US", "13 $US")})
    assert _run(before) == 0
    report = json.loads((before / "report.json").read_text("utf-8"))
    for test in (*report["core"]["stories"], *report["e2e"]["cases"]):
        for name in ("resolved", "own", "shared"):
            test.pop(name, None)
    (before / "report.json").write_text(json.dumps(report), "utf-8")

    assert _run(head, "--baseline", before / "report.json") == 0
    assert (_edited(head, "stories"), _edited(head)) == ([], [])


WORKSHOP = Path(__file__).parents[2] / "examples" / "bike_workshop"
EXPORT = "botDefinition.json"


def _workshop(folder: Path, export: str) -> Path:
    shutil.copytree(WORKSHOP, folder)
    shutil.rmtree(folder / "tests")
    suite = "input,intent\nwhat about my repair BW-7777,Repair Status\nare you open on Sunday,When are you open?\n"
    return _write(folder, {EXPORT: export, "tests/suite.csv": suite})


def test_another_name_that_an_export_has_for_an_intent_edits_the_utterances_that_expect_it(tmp_path: Path) -> None:
    export = (WORKSHOP / EXPORT).read_text("utf-8")
    renamed = export.replace('"name": "Repair Status"', '"name": "Where is it"')
    assert renamed != export
    assert _run(_workshop(tmp_path / "base", export)) == 0
    head = _workshop(tmp_path / "head", renamed)

    _run(head, "--baseline", tmp_path / "base" / "report.json")

    assert _edited(head, "batch") == [("what about my repair BW-7777", [EXPORT])]


SENTENCES = (
    'version: "3.1"\nnlu: [{intent: price, examples: "- price in [NYC](city)"}, {intent: bye, examples: "- so long"}]\n'
)


@pytest.mark.parametrize(
    "more",
    [
        '- {synonym: price, examples: "- so long"}',
        '- {synonym: bye, examples: "- NYC\\n- so long"}',
        '- {lookup: bye, examples: "- so long"}',
        '- {regex: bye, examples: "- so long"}',
    ],
    ids=["synonym", "synonym-of-entity", "lookup", "regex"],
)
@pytest.mark.parametrize("place", ["data/more.yml", "tests/test_more.yml"])
def test_synonyms_and_tables_elsewhere_change_nothing_that_a_sentence_expects(
    more: str, place: str, tmp_path: Path
) -> None:
    """What is right is a matter of the intent: a sentence that is misunderstood stays that, whatever is beside it."""
    domain = DOMAIN.replace("slots:", "entities: [city]\nslots:")
    tests = {**BOT, "domain.yml": domain, "tests/test_nlu.yml": SENTENCES}
    head = _write(tmp_path, {**tests, place: f'version: "3.1"\nnlu:\n{more}\n'})

    _run(head, "--baseline", "none", "--fail-on", "none")

    report = json.loads((head / "report.json").read_text("utf-8"))
    said = {one["text"]: one["correct"] for one in report["nlu"]["predictions"]}
    assert said == {"price in NYC": True, "so long": False}


TWO = """\
version: "3.1"
stories:
- story: order
  steps:
  - intent: price
  - action: utter_price
- story: bye
  steps:
  - intent: bye
  - action: utter_bye
"""
COPY = 'version: "3.1"\nstories:\n- {story: order, steps: [{intent: bye}, {action: utter_bye}]}\n'


@pytest.mark.parametrize(
    "instead",
    [
        TWO.replace("  - intent: price\n", "  - checkpoint: nobody\n  - intent: price\n"),
        TWO.replace("- story: order\n  steps:\n  - intent: price\n  - action: utter_price\n", ""),
    ],
    ids=["unreached", "deleted"],
)
def test_a_story_that_is_gone_is_not_excused_by_a_copy_of_its_name_that_the_base_has(
    instead: str, tmp_path: Path
) -> None:
    files = {**BOT, "tests/test_a.yml": TWO, "tests/test_b.yml": COPY}
    before = _write(tmp_path / "base", files)
    head = _write(tmp_path / "head", {**files, "tests/test_a.yml": instead})
    assert _run(before) == 0

    assert _run(head, "--baseline", before / "report.json") == 1
    assert _edited(head, "stories") == []
