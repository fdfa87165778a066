"""What the manual shows as wrong is found, and what it shows as right is not.

The examples are those that ``--explain`` prints. Each is put into the small project where its reader would write it
(``§``, as far to the right); what it takes for granted, an entity that is listed, say, is there for both alike.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from small_project import DOMAIN, FILES, NLU, write_project

from turncheck.cli import run_command_line
from turncheck.commands.validate import Request, check_project
from turncheck.dialogue.domain import DialogueDomain
from turncheck.platforms.rasa.flows.catalogue import CHECKS as FLOW_CHECKS
from turncheck.project.e2e.cases import read_cases
from turncheck.project.reader import read_project
from turncheck.validation.case_names import check_cases
from turncheck.validation.catalogue import CHECKS, OWN_CHECKS
from turncheck.validation.catalogue_reading import OLDER_CHECKS
from turncheck.validation.catalogue_suites import CASE_CHECKS, QUARANTINE_CHECKS, SUITE_CHECKS

if TYPE_CHECKING:
    from pathlib import Path

D, N, S, R, C = "domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml", "config.yml"
TESTS = "tests/test_stories.yml"
HERE = "§"

Edit = tuple[str, str, str]


def intent(name: str) -> Edit:
    return (D, "- greet\n", f"- greet\n- {name}\n")


def slot(name: str, kind: str) -> Edit:
    return (D, "slots:\n", f"slots:\n  {name}:\n    type: {kind}\n    mappings:\n    - type: custom\n")


def response(name: str) -> Edit:
    return (D, "responses:\n", f"responses:\n  {name}:\n  - text: From nine to five.\n")


ROLES: Edit = (D, "    - to\n", "    - to\n    - destination\n    - departure\n")
IN_BLOCK: Edit = (N, "    - I want", f"    {HERE}\n    - I want")
AT_END: Edit = (N, "", f"{HERE}\n")
IN_SLOT: Edit = (D, "forms:\n", f"  more:\n    type: text\n    {HERE}\nforms:\n")
IN_BUTTON: Edit = (D, "  utter_goodbye:", f"    - title: more\n      {HERE}\n  utter_goodbye:")
IN_RESPONSES: Edit = (D, "  utter_goodbye:", f"  {HERE}\n  utter_goodbye:")
ACTION: Edit = ("actions/orders.py", "", 'dispatcher.utter_message(response="utter_order", **values)\n')
VALIDATION: Edit = (
    "actions.py",
    "",
    'import rasa_sdk\nclass Validation:\n    def name(self):\n        return "validate_pizza_form"\n',
)
IN_STEPS: Edit = (S, "  - action: utter_done\n", f"  - action: utter_done\n  {HERE}\n")
IN_TEST: Edit = (TESTS, "", f"stories:\n- story: t\n  steps:\n  {HERE}\n")
IN_STORIES: Edit = (S, "", f"{HERE}\n")

SIZE = "  size:\n    type: categorical\n    values:\n    - small\n    - large\n"
GREETING = DOMAIN[DOMAIN.index("  utter_greet:") : DOMAIN.index("  utter_goodbye:")]

PLACES: dict[str, list[Edit]] = {
    "component-unknown": [(C, "pipeline:\n- name: WhitespaceTokenizer", HERE)],
    "parameter-unknown": [(C, "- name: EntitySynonymMapper", f"- name: EntitySynonymMapper\n{HERE}")],
    "parameter-not-checked": [(C, "- name: DIETClassifier", HERE)],
    "policy-unknown": [(C, "policies:\n- name: MemoizationPolicy", HERE)],
    "component-order": [(C, "pipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer", HERE)],
    "recipe-unknown": [(C, "recipe: default.v1", HERE)],
    "slot-undefined": [IN_STEPS, slot("pizza_size", "text")],
    "slot-value-undefined": [IN_STEPS, slot("pizza_size", "categorical\n    values: [small, large]")],
    "entity-undefined": [IN_BLOCK],
    "entity-role-undefined": [IN_BLOCK, ROLES],
    "action-undefined": [(R, "  - action: utter_goodbye\n", f"  - action: utter_goodbye\n  {HERE}\n")],
    "mapping-entity-undefined": [IN_SLOT],
    "mapping-intent-undefined": [IN_SLOT, intent("affirm")],
    "mapping-role-undefined": [IN_SLOT, ROLES],
    "mapping-action-undefined": [IN_SLOT, (D, "- action_bake", "- action_bake\n- action_find_address")],
    "mapping-requested-slot-undefined": [(D, "forms:\n", f"      {HERE}\nforms:\n")],
    "mapping-key-unknown": [IN_SLOT],
    "selector-intent-undefined": [(C, "- name: ResponseSelector", HERE)],
    "selector-missing": [(C, "- name: ResponseSelector", HERE)],
    "nlu-data-unread": [(C, FILES[C][FILES[C].index("pipeline:") : FILES[C].index("\npolicies:")], HERE)],
    "used-entity-undefined": [(D, "intents:", HERE)],
    "ignored-intent-undefined": [(D, "forms:\n  pizza_form:", HERE), intent("chitchat")],
    "condition-slot-undefined": [(D, "  utter_done:", f"    {HERE}\n  utter_done:"), slot("logged_in", "bool")],
    "condition-value-quoted": [(D, "  utter_done:", f"    {HERE}\n  utter_done:"), slot("logged_in", "bool")],
    "response-without-default": [IN_RESPONSES, slot("logged_in", "bool")],
    "response-variable-undefined": [IN_RESPONSES, slot("customer", "text")],
    "response-variable-unknown": [IN_RESPONSES, slot("number", "text"), ACTION],
    "code-name-undefined": [("actions/orders.py", "", HERE)],
    "button-payload-invalid": [IN_BUTTON, intent("inform")],
    "button-intent-undefined": [IN_BUTTON, intent("affirm")],
    "button-entity-undefined": [IN_BUTTON, intent("inform")],
    "retrieval-response-missing": [AT_END],
    "retrieval-examples-missing": [AT_END],
    "action-unused": [(D, "actions:\n- action_bake", HERE), (S, "  - action: action_bake\n", "")],
    "slot-unused": [(D, "slots:", HERE)],
    "form-unused": [(D, "forms:", HERE)],
    "form-question-missing": [
        (D, "forms:\n  pizza_form:\n    required_slots:\n    - size\nresponses:", HERE),
        (D, '  utter_ask_size: [{text: "Which size?"}]\n', ""),
    ],
    "form-action-unlisted": [
        (D, "actions:\n- action_bake", HERE),
        (S, "  - action: action_bake\n", ""),
        VALIDATION,
    ],
    "entity-unused": [(D, "entities:", HERE)],
    "action-overrides-default": [(D, "actions:", HERE)],
    "key-unknown": [("data/more.yml", "", f"rules: []\n{HERE}\n")],
    "endpoint-unknown": [("endpoints.yml", "", HERE)],
    "endpoint-url-missing": [("endpoints.yml", "", HERE)],
    "type-unexpected": [(D, "", f"{HERE}\n")],
    "file-without-data": [("data/more.yml", "", f"{HERE}\n")],
    "data-key-unseen": [("data/more.yml", "", f"{HERE}\n")],
    "format-deprecated": [("data/more.json", "", HERE)],
    "importers-ignored": [(C, "", HERE)],
    "settings-invalid": [("turncheck.yml", "", HERE)],
    "suppression-unused": [(D, "- greet\n", f"{HERE}\n")],
    "class-imbalance": [(N, NLU.partition("nlu:\n")[2], HERE)],
    "intent-few-examples": [AT_END, intent("cancel_order")],
    "regex-invalid": [AT_END, (C, "- name: CountV", "- name: RegexFeaturizer\n- name: CountV")],
    "pattern-unread": [AT_END],
    "keyword-not-regex": [AT_END, intent("handoff"), (C, "DIETClassifier", "KeywordIntentClassifier")],
    "annotation-broken": [IN_BLOCK],
    "regex-backtracks": [AT_END],
    "annotation-misaligned": [IN_BLOCK],
    "example-duplicate": [(N, "    - hello there", f"    {HERE}\n    - hello there")],
    "example-nearly-in-several-intents": [AT_END],
    "example-differs-in-values-across-intents": [AT_END],
    "example-differs-in-values-only": [IN_BLOCK],
    "value-not-annotated": [IN_BLOCK],
    "value-in-several-entities": [IN_BLOCK],
    "synonym-unreached": [AT_END],
    "synonym-chain": [AT_END],
    "lookup-entry-unseen": [AT_END],
    "lookup-entry-never-found": [
        AT_END,
        (C, "- name: DIETClassifier", "- name: RegexEntityExtractor\n- name: DIETClassifier"),
    ],
    "slot-values-missing": [(D, SIZE, f"  {HERE}\n")],
    "response-empty": [(D, GREETING, f"  {HERE}\n")],
    "response-name-invalid": [IN_RESPONSES],
    "rule-contradiction": [
        ("data/more.yml", "", HERE),
        (D, "responses:", 'responses:\n  utter_menu:\n  - text: "Pizza."'),
    ],
    "fallback-action-undefined": [(C, "- name: RulePolicy", HERE)],
    "story-ways-too-many": [IN_STORIES, *map(intent, ("yes", "no", "perhaps"))],
    "story-name-duplicate": [IN_STORIES],
    "story-duplicate": [IN_STORIES],
    "story-unreachable": [IN_STORIES, intent("thank")],
    "test-sentence-in-training": [(TESTS, "", f"stories:\n- story: t\n  steps:\n  {HERE}\n    intent: greet\n")],
    "test-entity-not-extractable": [(TESTS, "", f"stories:\n- story: t\n  steps:\n  {HERE}\n    intent: greet\n")],
    "test-action-undefined": [(TESTS, "", f"stories:\n{HERE}\n"), response("utter_opening_hours")],
    "test-intent-undefined": [IN_TEST, intent("opening_hours")],
    "test-name-undefined": [IN_TEST],
}
"""By code: where in the project its examples stand."""


RIGHT: dict[str, list[Edit]] = {
    "retrieval-response-missing": [
        (D, "responses:", HERE),
        (N, "", "- intent: faq/prices\n  examples: |\n    - what does it cost\n"),
    ],
    "retrieval-examples-missing": [
        (N, "nlu:", HERE),
        (D, "responses:", 'responses:\n  utter_faq/prices:\n  - text: "Five each."'),
    ],
    "form-unused": [
        (R, "- rule: answer", f"{HERE}\n- rule: answer"),
        (D, "forms:", "forms:\n  order_form:\n    required_slots: []"),
    ],
    "entity-unused": [IN_BLOCK, (D, "entities:", "entities:\n- color")],
    "test-entity-not-extractable": [
        (C, "pipeline:", HERE),
        (TESTS, "", "stories:\n- story: t\n  steps:\n  - user: on [Monday](time)\n    intent: greet\n"),
    ],
}
"""Where the right example stands, if that is elsewhere."""


COUNTED = re.compile(
    r"^- intent: (?P<name>\w+) +# (?P<count>\d+) examples(?P<alike>, of the same words)?.*$", re.MULTILINE
)


TIMES = re.compile(r"# (ten|eleven) times:")


def spelled_out(example: str) -> str:
    """The example with what it only hints at: steps that come several times, and so many examples of an intent."""
    before, *repeated = TIMES.split(example)
    if repeated:
        times, step = repeated
        before += step * {"ten": 10, "eleven": 11}[times]
    return COUNTED.sub(_intent_of_so_many, before)


def _intent_of_so_many(match: re.Match[str]) -> str:
    what = "bring me the large parcel" if match["alike"] or match["name"] == "order" else f"about {match['name']}"
    lines = "".join(f"\n    - {what} number {match['name']}{number}" for number in range(int(match["count"])))
    return f"- intent: {match['name']}\n  examples: |{lines}"


def put(folder: Path, example: str, edits: list[Edit]) -> None:
    """Write the project with the example in it."""
    filled = []
    for file, old, new in edits:
        before, mark, _ = new.partition(HERE)
        column = len(before) - before.rfind("\n") - 1 if mark else 0
        filled.append((file, old, new.replace(HERE, example.replace("\n", "\n" + " " * column))))
    more = {file: "" for file, _, _ in filled if file not in FILES}
    write_project(folder, *filled, **more)


def found_in(folder: Path) -> set[str]:
    findings = check_project(Request(project=folder, strict=True)).validated.findings
    return {finding.code for finding in findings}


def is_found(folder: Path, code: str, example: str, edits: list[Edit]) -> bool:
    put(folder, spelled_out(example), edits)
    return code in found_in(folder)


@pytest.mark.slow
@pytest.mark.parametrize("code", PLACES)
def test_the_wrong_example_is_found_and_the_right_one_is_not(code: str, tmp_path: Path) -> None:
    check = CHECKS[code]
    assert is_found(tmp_path / "wrong", code, check.wrong, PLACES[code])
    assert not is_found(tmp_path / "right", code, check.right, RIGHT.get(code, PLACES[code]))


FILES_OF_EXAMPLE = re.compile(r"^# (\S+\.\w+)\n", re.MULTILINE)


@pytest.mark.parametrize("code", ["format-not-read", "test-story-in-training"])
def test_examples_that_name_their_files(code: str, tmp_path: Path) -> None:
    for example, is_wrong in ((CHECKS[code].wrong, True), (CHECKS[code].right, False)):
        _, *parts = FILES_OF_EXAMPLE.split(example)
        heads = {S: FILES[S], TESTS: "stories:\n"}
        files = {file: heads.get(file, "") + text for file, text in zip(parts[::2], parts[1::2], strict=True)}
        folder = tmp_path / str(is_wrong)
        write_project(folder, **files)
        assert (code in found_in(folder)) == is_wrong


@pytest.mark.slow
def test_the_example_of_many_joined_dialogues(tmp_path: Path) -> None:
    check = CHECKS["checkpoint-joins-many"]
    question, hint = (
        "\n  - or: [{intent: yes}, {intent: no}]\n  - action: utter_next",
        "   # and nine more such questions",
    )
    for example in (check.wrong, check.right):
        folder = tmp_path / str(example == check.wrong)
        put(folder, example.replace(hint, 9 * question), [IN_STORIES, *map(intent, ("yes", "no", "thank"))])
        assert (check.code in found_in(folder)) == (example == check.wrong)


def test_examples_that_are_paths(tmp_path: Path) -> None:
    check = CHECKS["file-is-folder"]
    for path in (check.wrong, check.right):
        folder = write_project(tmp_path / str(path == check.wrong), **{path: "nlu: []\n"})
        assert (check.code in found_in(folder)) == (path == check.wrong)


@pytest.mark.parametrize("code", ["data-not-found", "path-without-data", "config-not-measured", "domain-not-measured"])
def test_examples_that_are_commands(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    others = {"config_for_tests.yml": FILES["config.yml"], "domain_for_tests.yml": FILES["domain.yml"]}
    monkeypatch.chdir(write_project(tmp_path, **others))
    (tmp_path / "docs").mkdir()
    check = CHECKS[code]
    for command in (check.wrong, check.right):
        run_command_line([*shlex.split(command)[1:], "--strict"])
        assert (check.code in capsys.readouterr().out) == (command == check.wrong)


def test_the_example_of_what_rasa_does_not_get_to_see(tmp_path: Path) -> None:
    check = CHECKS["hidden-by-load-error"]
    for example in (check.wrong, check.right):
        folder = tmp_path / str(example == check.wrong)
        first = (N, "- intent: greet\n  examples: |\n", f"{HERE}\n- intent: greet\n  examples: |\n")
        put(folder, example, [first, (R, "utter_goodbye", "action_nope")])
        findings = check_project(Request(project=folder)).validated.findings
        assert (check.code in {finding.code for finding in findings}) == (example == check.wrong)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        *((code, "cases.yml") for code in ("e2e-syntax", "e2e-doubtful", "e2e-unknown-name")),
        *((code, "case.convo.txt") for code in ("botium-syntax", "botium-doubtful", "botium-not-judged")),
    ],
)
def test_examples_that_are_end_to_end_cases(code: str, name: str, tmp_path: Path) -> None:
    project = read_project(write_project(tmp_path))
    for example in (CHECKS[code].wrong, CHECKS[code].right):
        (tmp_path / name).write_text(example, encoding="utf-8")
        cases = read_cases(tmp_path, [tmp_path / name])
        findings = [*cases.findings, *check_cases(cases, DialogueDomain.of(project))]
        told = {(finding.code, finding.severity) for finding in findings}
        assert told == ({(code, CHECKS[code].severity)} if example == CHECKS[code].wrong else set())


def test_examples_that_name_a_case(tmp_path: Path) -> None:
    write_project(tmp_path, **{"tests/e2e_test_cases.yml": CASE})
    check = CHECKS["e2e-not-found"]
    for command in (check.wrong, check.right):
        cases = read_cases(tmp_path, [tmp_path / command.removeprefix("turncheck test e2e ")])
        assert {finding.code for finding in cases.findings} == ({check.code} if command == check.wrong else set())


CASE = "test_cases:\n- test_case: order a pizza\n  steps:\n  - user: a pizza\n  - utter: utter_done\n"


def test_every_example_of_our_own_checks_is_tried() -> None:
    elsewhere = {
        "checkpoint-joins-many",
        "format-not-read",
        "file-not-regular",
        "file-outside-project",
        "regex-not-checked",
        "test-story-in-training",
        "file-is-folder",
        "data-not-found",
        "path-without-data",
        "config-not-measured",
        "domain-not-measured",
        "training-refused",
        "legacy-project",
        "test-file-not-looked-for",
        "rasa-versions-mixed",
        *(check.code for check in OLDER_CHECKS),  # test_read_markdown.py tries them
    }
    assert {check.code for check in OWN_CHECKS} == PLACES.keys() | elsewhere | {"hidden-by-load-error"}
    with_examples = {check.code for check in CHECKS.values() if check.wrong or check.right}
    of_flows = {check.code for check in FLOW_CHECKS}  # test_flow_checks.py tries theirs
    assert with_examples - of_flows == {
        check.code for check in (*OWN_CHECKS, *CASE_CHECKS, *SUITE_CHECKS, *QUARANTINE_CHECKS)
    }  # test_read_suites.py and test_quarantine.py try the last
