"""What a change renamed is told as that: in the finding's entry of the comment, on the terminal, behind the gate."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from report_builder import coverage, example, report, training
from small_project import write_project

from turncheck.comparison.compare import compare, shown_beside_base
from turncheck.comparison.model import Present
from turncheck.comparison.renames import broken_references, renamed_names
from turncheck.process.screen import Console
from turncheck.render.console import render_console
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.model import Source
from turncheck.run.evaluated_project import report_of_project
from turncheck.run.inputs import Inputs
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turncheck.report.model import Report

TEST = """\
version: "3.1"
stories:
- story: greeted
  steps:
  - intent: greet
  - action: utter_greet
  - intent: order
  - action: pizza_form
  - active_loop: pizza_form
  - action: action_bake
"""
FILES = ("domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml")


def measured(project: Path) -> Report:
    settings = Settings(project=str(project), evaluations=("validate", "core"))
    inputs = Inputs(settings=settings, source=Source(), root="", environment={})
    return report_of_project(inputs, Console(quiet=True))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    project = tmp_path_factory.mktemp("base")
    write_project(project)
    (project / "tests").mkdir()
    (project / "tests" / "test_stories.yml").write_text(TEST, encoding="utf-8")
    return project, measured(project)


def changed(base: Path, copy: Path, edits: Sequence[tuple[str, str]], files: Sequence[str] = FILES) -> Report:
    """Measure a copy in which words are replaced; without ``files``, in all but the tests."""
    shutil.copytree(base, copy)
    for file in files:
        text = (copy / file).read_text(encoding="utf-8")
        for old, new in edits:
            text = text.replace(old, new)
        (copy / file).write_text(text, encoding="utf-8")
    return measured(copy)


@pytest.mark.parametrize(
    ("edits", "renamed"),
    [
        ([("utter_greet", "utter_say_hello_first")], [("responses", "utter_greet", "utter_say_hello_first")]),
        ([("utter_greet", "utter_welcome")], [("responses", "utter_greet", "utter_welcome")]),
        ([("utter_greet", "utter_greet_user"), ("Hello!", "Hi.")], [("responses", "utter_greet", "utter_greet_user")]),
        ([("utter_greet", "utter_greet_again_at_night"), ("Hello!", "Hi.")], []),  # little of its name is the old one
        ([("action_bake", "action_bake_one_for_me")], []),
        ([("pizza_form", "hot_large_vegan_pizza_form"), ("- size", "- crust")], []),
        ([("utter_greet", "utter_welcome"), ("Hello!", "Hi.")], []),  # by name and content it is another one
        (
            [("utter_greet:", "utter_greet_en:\n  - text: Hi.\n  utter_greet_fr:"), ("utter_greet\n", "action_bake\n")],
            [],
        ),
        (  # one of the two says what the old one said: it is still half of it
            [
                ("utter_greet:", "utter_greet_late:\n  - text: Good evening.\n  utter_early_greet:"),
                ("utter_greet\n", "action_bake\n"),
            ],
            [],
        ),
        (  # both are as near
            [
                ("utter_greet:", "utter_greet_fr:\n  - text: Salut.\n  utter_greets:"),
                ("utter_greet\n", "utter_greets\n"),
                ("Hello!", "Hi."),
            ],
            [],
        ),
        ([("intent: greet", "intent: hallo"), ("- greet\n", "- hallo\n")], [("intents", "greet", "hallo")]),
        ([("pizza_form", "meal_form")], [("forms", "pizza_form", "meal_form")]),
        ([("action_bake", "action_bake_it")], [("actions", "action_bake", "action_bake_it")]),
        ([("action_bake", "action_deliver")], []),
        ([("slots:\n  size:", "slots:\n  crust:")], [("slots", "size", "crust")]),  # the entity keeps its name
        ([("size", "crust")], [("entities", "size", "crust"), ("slots", "size", "crust")]),
        ([("slots:\n  size:", "slots:\n  crust:"), ("entity: size", "entity: drink")], []),  # of another entity
    ],
)
def test_what_has_another_name_is_known_by_its_content_or_by_its_name(
    edits: list[tuple[str, str]], renamed: list[tuple[str, str, str]], base: tuple[Path, Report], tmp_path: Path
) -> None:
    project, report = base
    comparison = compare(changed(project, tmp_path / "bot", edits), Present(report, "git"))
    assert [(one.kind, one.old, one.new) for one in comparison.renamed] == renamed


@pytest.mark.parametrize("name", ["utter_greeting", "utter_say_hello", "utter_greet_user"])
def test_a_response_that_has_another_name_everywhere_is_no_news(
    name: str, base: tuple[Path, Report], tmp_path: Path, golden: Golden
) -> None:
    project, report = base
    head = changed(project, tmp_path / "bot", [("utter_greet", name)], [*FILES, "tests/test_stories.yml"])
    assert any(sentence.intent == "greet" for sentence in head.training_sentences)
    comparison = compare(head, Present(report, "git"))
    verdict = judge(head, comparison, head.settings)
    assert "greet" not in verdict.summary
    golden(verdict.reservation)
    assert (comparison.cut_intents, comparison.removed_items, comparison.new_findings) == ((), (), ())


@pytest.mark.parametrize("ends", [("en", "fr", "ar"), ("morning", "evening")])
def test_a_response_that_became_several_was_not_renamed_to_one(
    ends: tuple[str, ...], base: tuple[Path, Report], tmp_path: Path, golden: Golden
) -> None:
    project, report = base
    parts = "\n".join(f"  utter_greet_{end}:\n  - text: Hello in {end}." for end in ends)
    edits = [("  utter_greet:\n", f"{parts}\n  utter_other:\n"), ("utter_greet\n", "action_bake\n")]
    head = changed(project, tmp_path / "bot", edits)
    comparison = compare(head, Present(report, "git"))
    verdict = judge(head, comparison, head.settings)
    said = str(render_console(shown_beside_base(head, comparison), comparison, verdict, Links()).content)
    golden(said, only="'utter_greet'")
    assert "renamed to 'utter_greet_" not in said


@pytest.mark.parametrize(
    ("edits", "changes"),
    [
        ([("utter_greet", "utter_welcome")], []),
        ([("utter_greet", "utter_greet_user"), ("Hello!", "Hi.")], [("responses", "utter_greet_user", "changed")]),
        ([("Hello!", "Hi.")], [("responses", "utter_greet", "changed")]),
    ],
)
def test_another_name_alone_is_no_change_that_a_test_should_reach(
    edits: list[tuple[str, str]], changes: list[tuple[str, str, str]], base: tuple[Path, Report], tmp_path: Path
) -> None:
    project, report = base
    comparison = compare(changed(project, tmp_path / "bot", edits), Present(report, "git"))
    of_responses = [item for item in comparison.changed_items if item.kind == "responses"]
    assert [(item.kind, item.name, item.change) for item in of_responses] == changes


def test_the_entry_of_the_finding_says_so_wherever_it_stands(base: tuple[Path, Report], tmp_path: Path) -> None:
    project, before = base
    report = changed(project, tmp_path / "bot", [("utter_greet", "utter_welcome")])
    comparison = compare(report, Present(before, "git"))
    verdict = judge(report, comparison, report.settings)
    said = "'utter_greet' was renamed to 'utter_welcome' in this change; 1 use keeps the old name"
    report = shown_beside_base(report, comparison)
    terminal = str(render_console(report, comparison, verdict, Links()).content)
    assert terminal.count(said) == 3  # among the errors, behind the gate, and in the headline
    assert said.replace("'", "`") in str(render_comment(report, comparison, verdict, Links()).content)
    assert "you mean" not in terminal


def test_without_a_base_nothing_is_called_renamed(base: tuple[Path, Report], tmp_path: Path, golden: Golden) -> None:
    report = changed(base[0], tmp_path / "bot", [("utter_greet", "utter_greet_user")])
    shown = str(render_console(report, None, judge(report, None, report.settings), Links()).content)
    golden(shown, only="'utter_greet_user'")
    assert "renamed to '" not in shown


NEW_IN_DOMAIN = ("- order\n", "- order\n- purchase\n")
MOVED = ("- intent: order\n", "- intent: purchase\n")


@pytest.mark.parametrize(
    ("before", "now", "renamed"),
    [
        ([NEW_IN_DOMAIN], [MOVED], True),  # the domain had the new name already
        ([], [("- order\n", "- purchase\n"), MOVED], True),
        ([], [("- intent: order\n", "- intent: greet\n")], False),  # it has more of its own
    ],
)
def test_an_intent_whose_sentences_moved_was_renamed_although_the_new_name_was_there(
    before: list[tuple[str, str]], now: list[tuple[str, str]], renamed: bool, base: tuple[Path, Report], tmp_path: Path
) -> None:
    project, _ = base
    older = changed(project, tmp_path / "base", before, ["domain.yml"])
    edits = [*now, ("- order\n", "")]
    head = changed(tmp_path / "base", tmp_path / "bot", edits, ["domain.yml", "data/nlu.yml"])
    comparison = compare(head, Present(older, "git"))
    found = [(one.old, one.new) for one in comparison.renamed if one.kind == "intents"]
    assert (("order", "purchase") in found) is renamed


def of_intents(**sentences: str) -> Report:
    """A report whose intents have these sentences, each a letter."""
    of_each = [training(*((letter, intent) for letter in letters)) for intent, letters in sentences.items()]
    return report(
        sentences=sum(of_each, ()),
        examples=[example("x", "greet")],
        covered=coverage("intents", **dict.fromkeys(sentences, ("", True))),
    )


@pytest.mark.parametrize(
    ("before", "now", "is_renamed"),
    [
        ({"order": "abc"}, {"purchase": "abcdef"}, True),  # half of the sentences of both
        ({"order": "abc"}, {"purchase": "abcdefg"}, False),
        ({"order": "abcd"}, {"purchase": "ab"}, True),
        ({"order": "abcde"}, {"purchase": "ab"}, False),
        ({"order": "abcd"}, {"purchase": "a"}, False),
        ({"order": "abcd", "purchase": "z"}, {"purchase": "abz"}, True),  # two of its three came, two of four left
        ({"order": "abcde", "purchase": "z"}, {"purchase": "abz"}, False),
        ({"order": "abc", "purchase": "xyz"}, {"purchase": "abcxyz"}, False),  # as many were there: it is both now
        ({"order": "abc", "purchase": "xy"}, {"purchase": "abcxy"}, True),
        ({"order": "abc", "purchase": "wxyz"}, {"purchase": "abcwxyz"}, False),
    ],
)
def test_an_intent_was_renamed_if_half_of_the_sentences_are_the_same(
    before: dict[str, str], now: dict[str, str], *, is_renamed: bool
) -> None:
    rename = [(one.old, one.new) for one in renamed_names(of_intents(**before), of_intents(**now))]

    assert rename == ([("order", "purchase")] if is_renamed else [])


def test_a_key_of_a_retrieval_intent_is_recognised_under_another_key() -> None:
    keys = renamed_names(
        of_intents(**{"faq/wifi": "abcd", "faq/hours": "xyz"}),
        of_intents(**{"faq/internet": "abc", "faq/hours": "xyzd"}),
    )

    assert [(one.old, one.new) for one in keys] == [("faq/wifi", "faq/internet")]


KEYS = {
    "domain.yml": "intents:\n- greet\n- faq\nresponses:\n"
    "  utter_faq/wifi:\n  - text: Wifi is free.\n  utter_faq/parking:\n  - text: Park behind.\n",
    "data/nlu.yml": "nlu:\n- intent: greet\n  examples: |\n    - hi\n    - hello\n"
    "- intent: faq/wifi\n  examples: |\n    - is there wifi\n    - what is the wifi password\n"
    "- intent: faq/parking\n  examples: |\n    - where can I park\n    - is there a car park\n",
    "tests/test_nlu.yml": "nlu:\n- intent: faq/wifi\n  examples: |\n    - is the wifi free\n    - which wifi is it\n",
}


def test_the_tests_of_a_renamed_key_use_its_old_name(tmp_path: Path) -> None:
    first = tmp_path / "base"
    for name, text in KEYS.items():
        (first / name).parent.mkdir(parents=True, exist_ok=True)
        (first / name).write_text(text, encoding="utf-8")
    head = changed(first, tmp_path / "bot", [("faq/wifi", "faq/internet")], ["domain.yml", "data/nlu.yml"])

    comparison = compare(head, Present(measured(first), "git"))

    (error,) = [one for one in comparison.new_findings if one.severity == "error"]
    assert broken_references(error) == ("faq/wifi", "faq/internet")
    assert (error.location.path, error.others) == ("tests/test_nlu.yml", ())


CODE = """\
from rasa_sdk.events import FollowupAction, SlotSet
# the slot size, in words: get_slot("size")
class Bake(Action):
    def name(self):
        return "action_bake"
    def run(self, dispatcher, tracker, domain):
        size = tracker.get_slot("size") or tracker.slots["size"]
        dispatcher.utter_message(response="utter_done")
        if tracker.get_intent_of_latest_message() == "order" and tracker.active_loop_name == "pizza_form":
            return [FollowupAction("action_wait")]
        return [SlotSet("size", size)]
"""
ASKS = "responses:\n  utter_ask_pizza_form_size:\n  - text: Where?\n"
WAITS = "actions:\n- action_wait\n- validate_pizza_form\n"


@pytest.mark.parametrize(
    ("edit", "old", "places"),
    [
        (
            ("slots:\n  size:", "slots:\n  pizza_size:"),
            "size",
            {"actions/a.py": [7, 7, 11], "domain.yml": [25, 27, 37, 40]},
        ),
        (("  utter_done:", "  utter_finished:"), "utter_done", {"actions/a.py": [8], "data/stories.yml": [16]}),
        (("- order\n", "- order_food\n"), "order", {"actions/a.py": [9]}),
        (("  pizza_form:", "  meal_form:"), "pizza_form", {"actions/a.py": [9], "domain.yml": [27, 43]}),
        (("- action_wait\n", "- action_wait_now\n"), "action_wait", {"actions/a.py": [10]}),
        (("- action_bake\n", "- action_bake_it\n"), "action_bake", {"actions/a.py": [3]}),
    ],
)
def test_all_uses_of_a_renamed_name_are_counted_each_once(
    edit: tuple[str, str], old: str, places: dict[str, list[int]], tmp_path: Path
) -> None:
    first = write_project(tmp_path / "base")
    (first / "actions").mkdir()
    (first / "actions" / "a.py").write_text(CODE, encoding="utf-8")
    domain = (first / "domain.yml").read_text(encoding="utf-8")
    (first / "domain.yml").write_text(
        domain.replace("responses:\n", ASKS).replace("actions:\n", WAITS), encoding="utf-8"
    )
    comparison = compare(changed(first, tmp_path / "bot", [edit], ["domain.yml"]), Present(measured(first), "git"))
    (error,) = [one for one in comparison.new_findings if one.message.startswith(f"'{old}' was renamed")]
    found: dict[str, list[int | None]] = {}
    for place in sorted((error.location, *error.others), key=lambda place: place.sort_key):
        found.setdefault(place.path, []).append(place.line)
    assert {path: found.get(path) for path in places} == places
    others = [one.message for one in comparison.new_findings if one is not error and f"'{old}'" in one.message]
    assert others == []


def test_intents_that_were_confused_on_the_base_are_called_as_now() -> None:
    before, after = (
        report(
            examples=[example("a book please", name, "greet"), example("hi", "greet")],
            sentences=training(("lend me one", name), ("may I borrow it", name), ("hello", "greet")),
            covered=coverage("intents", **{name: ("", True), "greet": ("", True)}),
        )
        for name in ("lend", "borrow_a_book")
    )

    compared = compare(after, Present(before, "git"))

    assert [(one.old, one.new) for one in compared.renamed] == [("lend", "borrow_a_book")]
    assert [(one.expected, one.predicted) for one in compared.base_confusions] == [("borrow_a_book", "greet")]
