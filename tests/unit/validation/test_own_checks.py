"""Each check of our own finds its fault, at its place; and a project without faults has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden
from small_project import DOMAIN, checked, places, read, write_project

from turncheck.commands.validate import Request, check_project
from turncheck.project.model import Project
from turncheck.project.reader import read_nlu, read_project, read_stories
from turncheck.validation.catalogue import OWN_CHECKS
from turncheck.validation.facts import ProjectTests
from turncheck.validation.pipeline import validate

D, N, S, R, C = "domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml", "config.yml"

Edit = tuple[str, str, str]

VALIDATION = """\
class Validation(rasa_sdk.FormValidationAction):
    def name(self):
        return "validate_pizza_form"
"""

FAULTS: dict[str, tuple[list[Edit], str]] = {
    "component-unknown": ([(C, "WhitespaceTokenizer", "WhitespaceTokeniser")], "config.yml:5"),
    "parameter-unknown": ([(C, "- name: DIETClassifier\n", "- name: DIETClassifier\n  epoch: 3\n")], "config.yml:8"),
    "parameter-not-checked": (
        [(C, "- name: DIETClassifier\n", "- name: DIETClassifier\n  constrain_similarities: yes\n")],
        "config.yml:8",
    ),
    "policy-unknown": ([(C, "MemoizationPolicy", "MemoizationPolice")], "config.yml:11"),
    "component-order": ([(C, "- name: WhitespaceTokenizer\n", "")], "config.yml:5"),
    "recipe-unknown": ([(C, "default.v1", "defualt.v1")], "config.yml:1"),
    "slot-undefined": ([(S, "    - size: large\n  - action: pizza", "    - sise: large\n  - action: pizza")], S),
    "slot-value-undefined": ([(S, "    - size: large\n  - action: pizza", "    - size: huge\n  - action: pizza")], S),
    "entity-undefined": ([(N, "[small](size)", "[small](sise)")], "data/nlu.yml:14:27"),
    "entity-role-undefined": ([(N, '"role": "from"', '"role": "form"')], "data/nlu.yml:15:21"),
    "action-undefined": ([(S, "- action: pizza_form", "- action: piza_form")], "data/stories.yml:12"),
    "mapping-entity-undefined": ([(D, "      entity: size", "      entity: sise")], "domain.yml:21:15"),
    "mapping-intent-undefined": (
        [
            (
                D,
                "    - type: from_entity",
                "    - type: from_intent\n      intent: ordr\n      value: 1\n    - type: from_entity",
            )
        ],
        "domain.yml:21:15",
    ),
    "mapping-role-undefined": (
        [
            (
                D,
                "      entity: size",
                "      entity: city\n      role: form\n    - type: from_entity\n      entity: size",
            )
        ],
        "domain.yml:22:13",
    ),
    "mapping-action-undefined": (
        [(D, "      entity: size", "      entity: size\n    - type: custom\n      action: action_bakke")],
        "domain.yml:23:15",
    ),
    "mapping-requested-slot-undefined": (
        [
            (
                D,
                "      entity: size",
                "      entity: size\n      conditions:\n      - active_loop: pizza_form\n        requested_slot: sise",
            )
        ],
        "domain.yml:24:25",
    ),
    "mapping-key-unknown": (
        [(D, "      entity: size", "      entity: size\n      not_intents: greet")],
        "domain.yml:22:7",
    ),
    "selector-intent-undefined": (
        [(C, "- name: ResponseSelector", "- name: ResponseSelector\n  retrieval_intent: fag")],
        "config.yml:10:21",
    ),
    "selector-missing": ([(C, "- name: ResponseSelector\n", "")], "data/nlu.yml:18:7"),
    "nlu-data-unread": ([(N, "", "- lookup: size\n  examples: |\n    - large\n")], "config.yml:4"),
    "used-entity-undefined": ([(D, "- order\n", "- order:\n    use_entities: [sise]\n")], "domain.yml:6:20"),
    "ignored-intent-undefined": (
        [(D, "    required_slots:", "    ignored_intents: [gret]\n    required_slots:")],
        "domain.yml:24:23",
    ),
    "condition-slot-undefined": (
        [
            (
                D,
                '  - text: "Bye!"',
                '  - text: "Bye!"\n    condition:\n    - type: slot\n      name: sise\n      value: 1',
            )
        ],
        "domain.yml:36:13",
    ),
    "condition-value-quoted": (
        [
            (D, "slots:\n", "slots:\n  open:\n    type: bool\n    mappings:\n    - type: custom\n"),
            (D, '  - text: "Bye!"', '  - text: "Bye!"\n    condition:\n    - {type: slot, name: open, value: "true"}'),
        ],
        "domain.yml:39:39",
    ),
    "response-without-default": (
        [
            (D, "slots:\n", "slots:\n  open:\n    type: bool\n    mappings:\n    - type: custom\n"),
            (D, '  - text: "Bye!"', '  - text: "Bye!"\n    condition:\n    - {type: slot, name: open, value: true}'),
        ],
        "domain.yml:36:3",
    ),
    "form-question-missing": ([(D, "utter_ask_size", "utter_ask_sise")], "domain.yml:25:7"),
    "form-action-unlisted": ([("actions/a.py", "", VALIDATION)], "actions/a.py:1"),
    "response-variable-undefined": ([(D, "Your {size} pizza", "Your {sise} pizza")], "domain.yml:35:11"),
    "response-variable-unknown": (
        [
            (D, "  utter_goodbye:", "  utter_told:\n  - text: It is {number}.\n  utter_goodbye:"),
            ("actions/a.py", "", 'dispatcher.utter_message(response="utter_told", number=1)\n'),
        ],
        "domain.yml:33:11",
    ),
    "code-name-undefined": ([("actions/a.py", "", 'size = tracker.get_slot("sise")\n')], "actions/a.py:1:25"),
    "button-payload-invalid": ([(D, '"large"}', '"large"')], "domain.yml:31:16"),
    "button-intent-undefined": ([(D, "'/order{", "'/ordr{")], "domain.yml:31:16"),
    "button-entity-undefined": ([(D, '{"size": "large"}', '{"sise": "large"}')], "domain.yml:31:16"),
    "retrieval-response-missing": ([(N, "", "- intent: faq/price\n  examples: |\n    - what is the price\n")], N),
    "retrieval-examples-missing": ([(D, "  utter_faq/hours:", "  utter_faq/x:\n  - text: x\n  utter_faq/hours:")], D),
    "action-unused": ([(D, "- action_bake", "- action_bake\n- action_old")], "domain.yml:41"),
    "slot-unused": ([(D, "slots:\n", "slots:\n  left_over:\n    type: text\n    mappings:\n    - type: custom\n")], D),
    "form-unused": ([(D, "forms:\n", "forms:\n  old_form:\n    required_slots: []\n")], D),
    "entity-unused": ([(D, "- size\n", "- size\n- color\n")], "domain.yml:9"),
    "action-overrides-default": ([(D, "- action_bake", "- action_bake\n- action_restart")], D),
    "key-unknown": ([(R, "", "stroies:\n- story: x\n")], "data/rules.yml:11"),
    "endpoint-unknown": ([("endpoints.yml", "", "nlg:\n  url: http://a\ntracker-store: {}\n")], "endpoints.yml:3"),
    "endpoint-url-missing": ([("endpoints.yml", "", "action_endpoint:\n  ulr: http://a\n")], "endpoints.yml:2"),
    "type-unexpected": ([(D, "actions:", 'session_config:\n  session_expiration_time: "60"\nactions:')], D),
    "importers-ignored": ([(C, "", "importers:\n- name: my.Importer\n")], C),
    "regex-invalid": (
        [
            (N, "", "- regex: number\n  examples: |\n    - [0-9{5}\n"),
            (C, "- name: CountV", "- name: RegexFeaturizer\n- name: CountV"),
        ],
        "data/nlu.yml:22",
    ),
    "pattern-unread": ([(N, "", "- regex: number\n  examples: |\n    - [0-9{5}\n")], "data/nlu.yml:22"),
    "keyword-not-regex": (
        [(C, "DIETClassifier", "KeywordIntentClassifier"), (N, "- hello there\n", "- hello there :(\n")],
        "data/nlu.yml:5",
    ),
    "annotation-broken": ([(N, "[small](size)", "[small] (size)")], "data/nlu.yml:14"),
    "regex-backtracks": ([(N, "", "- regex: number\n  examples: |\n    - ([0-9]+)*x\n")], "data/nlu.yml:22"),
    "annotation-misaligned": ([(N, "[large](size) pizza", "[larg](size)e pizza")], "data/nlu.yml:13:17"),
    "example-duplicate": ([(N, "    - hello there\n", "    - hello there\n    - hello there\n")], "data/nlu.yml:6"),
    "example-nearly-in-several-intents": ([(N, "- see you later", "- Hello, there!\n    - see you later")], N),
    "example-differs-in-values-across-intents": (
        [(N, "- see you later", "- I want a [small](size) pizza\n    - see you later")],
        N,
    ),
    "example-differs-in-values-only": (
        [
            (
                N,
                "    - I want a [large](size) pizza\n",
                "".join(
                    f"    - I want a [{size}](size) pizza\n" for size in ("tiny", "small", "big", "large", "giant")
                ),
            )
        ],
        "data/nlu.yml:17",
    ),
    "intent-few-examples": (
        [
            (
                N,
                "",
                "- intent: cancel\n  examples: |\n    - parcel delivery booking please\n- intent: book\n  examples: |\n"
                + "".join(
                    f"    - parcel delivery booking number {word}\n" for word in ("one", "two", "six", "ten", "red")
                ),
            ),
            (D, "- greet\n", "- greet\n- cancel\n- book\n"),
        ],
        N,
    ),
    "class-imbalance": (
        [(N, "    - hello there\n", "".join(f"    - hello number {number}\n" for number in range(60)))],
        N,
    ),
    "value-not-annotated": ([(N, "- see you later", "- I [want it](x) large now")], "data/nlu.yml:9:22"),
    "value-in-several-entities": ([(N, "something [small](size)", "something [large](city)")], "data/nlu.yml:14:27"),
    "synonym-unreached": ([(N, "", "- synonym: large\n  examples: |\n    - humongous\n")], "data/nlu.yml:22"),
    "synonym-chain": (
        [(N, "", "- synonym: big\n  examples: |\n    - large\n- synonym: giant\n  examples: |\n    - big\n")],
        "data/nlu.yml:22",
    ),
    "lookup-entry-unseen": ([(N, "", "- lookup: city\n  examples: |\n    - Reykjavik\n")], N),
    "lookup-entry-never-found": (
        [
            (N, "", "- lookup: city\n  examples: |\n    - .cda\n"),
            (C, "- name: DIETClassifier", "- name: RegexFeaturizer\n- name: DIETClassifier"),
        ],
        N,
    ),
    "slot-values-missing": ([(D, "    values:\n    - small\n    - large\n", "")], "domain.yml:14"),
    "response-empty": ([(D, '  - text: "Bye!"\n', ""), (D, "  utter_goodbye:", "  utter_goodbye: []")], D),
    "response-name-invalid": ([(D, "  utter_done:", "  utter_good-bye!:\n  - text: x\n  utter_done:")], D),
    "rule-contradiction": (
        [(S, "", "- story: against the rule\n  steps:\n  - intent: goodbye\n  - action: utter_greet\n")],
        "data/stories.yml:20",
    ),
    "fallback-action-undefined": (
        [(C, "- name: RulePolicy", "- name: RulePolicy\n  core_fallback_action_name: action_sory")],
        "config.yml:13:30",
    ),
    "story-name-duplicate": (
        [(S, "", "- story: greet and order\n  steps:\n  - intent: greet\n  - action: utter_greet\n")],
        "data/stories.yml:17",
    ),
    "story-duplicate": (
        [(R, "", "- rule: the same again\n  steps:\n  - intent: goodbye\n  - action: utter_goodbye\n")],
        "data/rules.yml:11",
    ),
    "story-unreachable": (
        [
            (
                S,
                "",
                (
                    "- story: b\n  steps:\n  - checkpoint: c\n  - intent: greet\n  - action: utter_done\n"
                    "  - checkpoint: c\n"
                ),
            )
        ],
        "data/stories.yml:17",
    ),
}
"""By code: what to change in the faultless project, and where the finding stands (a path, or path:line)."""

ELSEWHERE = {
    "suppression-unused",  # test_suppressions.py
    "settings-invalid",  # test_validate_command.py
    "config-not-measured",
    "domain-not-measured",
    "regex-not-checked",  # test_regex_check.py
    "story-ways-too-many",  # test_many_ways.py
    "checkpoint-joins-many",  # test_many_ways.py
    "hidden-by-load-error",
    "file-without-data",
    "data-format-unknown",  # test_read_markdown.py
    "markdown-of-form",  # test_read_markdown.py
    "data-key-unseen",
    "file-is-folder",
    "format-deprecated",  # test_read_nlu_json.py
    "format-not-read",  # test_read_project.py
    "file-not-regular",  # test_read_project.py
    "file-outside-project",  # test_validate_command.py
    "data-not-found",
    "path-without-data",  # test_places.py
    "test-story-in-training",
    "test-sentence-in-training",
    "test-file-not-looked-for",  # test_moved_tests.py
    "test-action-undefined",
    "test-intent-undefined",
    "test-name-undefined",
    "test-entity-not-extractable",
    "training-refused",  # test_unreadable_parts.py
    "legacy-project",  # test_where_no_assistant_is.py
    "rasa-versions-mixed",  # test_where_no_assistant_is.py
    "markdown-ignored",  # test_read_markdown.py
    "markdown-refused",  # test_read_markdown.py
    "markdown-read-otherwise",  # test_read_markdown.py
    "lookup-file-missing",  # test_read_markdown.py
    "data-not-json",  # test_read_nlu_json.py
    "entity-out-of-range",  # test_read_nlu_json.py
}


def test_a_project_without_faults_has_no_finding(tmp_path: Path) -> None:
    assert checked(tmp_path).findings == ()


def test_every_check_of_our_own_is_tested() -> None:
    assert {check.code for check in OWN_CHECKS} == FAULTS.keys() | ELSEWHERE


@pytest.mark.parametrize("code", FAULTS)
def test_finds_the_fault_at_its_place(code: str, tmp_path: Path) -> None:
    edits, place = FAULTS[code]
    found = places(checked(tmp_path, *edits), code)
    assert any(where == place or where.startswith(f"{place}:") for where in found), found


def test_a_value_in_quotes_is_placed_at_its_sentence_if_it_is_not_written_plainly(tmp_path: Path) -> None:
    listed = '- intent: order\n  examples:\n  - text: "make it [tiny](sise)"\n  - text: "make\\u0020it [big](sice)"\n'
    found = places(checked(tmp_path, (N, "", listed)), "entity-undefined")
    assert found == ["data/nlu.yml:22:21", "data/nlu.yml:23:12"]


@pytest.mark.parametrize(("pattern", "code"), [("'[a-z'", "regex-invalid"), ("(a|aa)+$", "regex-backtracks")])
def test_the_pattern_of_a_tokenizer_is_a_regex_too(pattern: str, code: str, tmp_path: Path) -> None:
    edit = (C, "- name: WhitespaceTokenizer", f"- name: WhitespaceTokenizer\n  token_pattern: {pattern}")
    assert places(checked(tmp_path, edit), code) == ["config.yml:6:18"]


def test_an_entity_of_a_step_is_named_at_its_entry(tmp_path: Path) -> None:
    entities = "    entities:\n    - sise: large\n    - sice\n"
    step = f"  - intent: order\n{entities}  - user: a [tiny](sizes) one\n  - action: action_bake\n"
    found = checked(tmp_path, (S, "", f"- story: more\n  steps:\n{step}"))
    expected = ["21:7", "22:7", "23:5"]
    assert places(found, "entity-undefined") == [f"data/stories.yml:{place}" for place in expected]


def test_a_slot_that_a_form_lacks_is_named_at_its_entry(tmp_path: Path) -> None:
    found = checked(tmp_path, (D, "required_slots:\n    - size", "required_slots:\n    - size\n    - sise"))
    assert places(found, "form-slot-undefined") == ["domain.yml:26:7"]


def test_a_default_slot_that_the_domain_lists_is_used_by_rasa(tmp_path: Path) -> None:
    listed = "slots:\n  requested_slot:\n    type: any\n    mappings:\n    - type: custom\n"
    assert checked(tmp_path, (D, "slots:\n", listed)).findings == ()


def test_a_form_that_decides_itself_what_to_ask_may_be_waited_for(tmp_path: Path) -> None:
    waiting = "      conditions:\n      - active_loop: pizza_form\n        requested_slot: guests\n"
    guests = f"  guests:\n    type: text\n    mappings:\n    - type: from_text\n{waiting}forms:\n"
    own = (D, "- action_bake", "- action_bake\n- validate_pizza_form")
    code = "mapping-requested-slot-undefined"
    assert places(checked(tmp_path / "listed", (D, "forms:\n", guests)), code) == ["domain.yml:28:25"]
    assert places(checked(tmp_path / "own", (D, "forms:\n", guests), own), code) == []


def test_names_near_ones_are_suggested(tmp_path: Path, golden: Golden) -> None:
    edits: list[Edit] = [(S, "utter_greet", "utter_gret")]
    messages = [f.message for f in checked(tmp_path, *edits).findings if f.code == "response-undefined"]
    golden(*(message.partition(". ")[2] for message in messages))


def test_files_that_rasa_passes_by_are_named(tmp_path: Path) -> None:
    (tmp_path / "data" / "folder.yml").mkdir(parents=True)
    project = read(tmp_path, **{"data/notes.yml": "remarks:\n- ask\n", "data/typo.yml": "stroies:\n- story: x\n"})
    found = validate(project, strict=True)
    assert places(found, "file-without-data") == ["data/notes.yml:1:1"]
    assert places(found, "data-key-unseen") == ["data/typo.yml:1:1"]
    assert places(found, "file-is-folder") == ["data/folder.yml:1:1"]


def test_tests_that_repeat_the_training_data_are_named(tmp_path: Path) -> None:
    story = """\
version: "3.1"
stories:
- story: copied
  steps:
  - user: |
      hello there
    intent: greet
  - action: utter_greet
- story: of its own
  steps:
  - user: on [Monday](time)
    intent: order
  - action: utter_greet
"""
    sentences = 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - good morning to you\n    - hey hey\n'
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_stories.yml").write_text(story, encoding="utf-8")
    (tmp_path / "tests" / "nlu.yml").write_text(sentences, encoding="utf-8")
    project = read(tmp_path, (S, "", "- story: x\n  steps:\n  - intent: greet\n  - action: utter_greet\n"))
    tests, _ = read_stories([tmp_path / "tests" / "test_stories.yml"], tmp_path)
    nlu, _ = read_nlu([tmp_path / "tests" / "nlu.yml"], tmp_path)
    found = validate(project, strict=True, tests=ProjectTests(tests, nlu.examples))
    assert places(found, "test-story-in-training") == ["tests/test_stories.yml:3:3"]
    assert [place.rpartition(":")[0] for place in places(found, "test-sentence-in-training")] == [
        "tests/nlu.yml:5",
        "tests/test_stories.yml:5",
    ]
    assert len(places(found, "test-entity-not-extractable")) == 1


DIET = "- name: DIETClassifier"


@pytest.mark.parametrize(
    ("extractors", "blocks", "is_extractable"),
    [
        (DIET, "", True),
        ("- name: rasa.nlu.classifiers.diet_classifier.DIETClassifier", "", True),
        (f"{DIET}\n  entity_recognition: false", "", False),
        (f"{DIET}\n  entity_recognition: false\n- name: CRFEntityExtractor", "", True),
        ("- name: LogisticRegressionClassifier\n- name: RegexEntityExtractor", "lookup", True),
        ("- name: LogisticRegressionClassifier\n- name: RegexEntityExtractor", "regex", True),
        ("- name: LogisticRegressionClassifier\n- name: RegexEntityExtractor", "", False),
        ("- name: RegexEntityExtractor\n  use_lookup_tables: false", "lookup", False),
        ("- name: RegexEntityExtractor\n  use_lookup_tables: false", "lookup regex", True),
        ("- name: RegexEntityExtractor\n  use_regexes: false", "regex", False),
        ("- name: RegexEntityExtractor\n  use_regexes: false", "lookup regex", True),
    ],
)
def test_a_test_may_expect_what_an_extractor_can_find(
    extractors: str, blocks: str, is_extractable: bool, tmp_path: Path
) -> None:
    data = "".join(f"- {kind}: size\n  examples: |\n    - humongous\n" for kind in blocks.split())
    project = read(tmp_path, (C, DIET, extractors), (N, "", data))
    (tmp_path / "test.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: order\n  examples: |\n    - make it [huge](size)\n', encoding="utf-8"
    )
    tests, _ = read_nlu([tmp_path / "test.yml"], tmp_path)
    found = validate(project, strict=True, tests=ProjectTests(examples=tests.examples))
    assert (places(found, "test-entity-not-extractable") == []) == is_extractable


def test_a_lookup_of_an_entity_that_no_example_holds_extracts_nothing(tmp_path: Path) -> None:
    table = (N, "", "- lookup: colour\n  examples: |\n    - red\n")
    project = read(tmp_path, (C, DIET, "- name: RegexEntityExtractor"), table)
    (tmp_path / "test.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: order\n  examples: |\n    - a [red](colour) one\n', encoding="utf-8"
    )
    tests, _ = read_nlu([tmp_path / "test.yml"], tmp_path)
    found = validate(project, strict=True, tests=ProjectTests(examples=tests.examples))
    assert len(places(found, "test-entity-not-extractable")) == 1


def test_one_word_in_a_test_story_is_no_leak_and_in_test_data_it_is(tmp_path: Path) -> None:
    story = "stories:\n- story: x\n  steps:\n  - user: large\n    intent: order\n  - action: utter_greet\n"
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_stories.yml").write_text(story, encoding="utf-8")
    (tmp_path / "tests" / "nlu.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: order\n  examples: |\n    - large\n', encoding="utf-8"
    )
    project = read(tmp_path, (N, "- bring me something", "- [large](size)\n    - bring me something"))
    tests, _ = read_stories([tmp_path / "tests" / "test_stories.yml"], tmp_path)
    nlu, _ = read_nlu([tmp_path / "tests" / "nlu.yml"], tmp_path)
    found = validate(project, strict=True, tests=ProjectTests(tests, nlu.examples))
    assert places(found, "test-sentence-in-training") == ["tests/nlu.yml:5:7"]


@pytest.mark.parametrize(
    ("asked", "unreached"),
    [("size: large", []), ("size: small", ["never", "behind it"]), ("size: huge", ["never", "behind it"])],
)
def test_a_checkpoint_that_asks_for_a_value_is_passed_by_dialogues_that_have_it(
    asked: str, unreached: list[str], tmp_path: Path
) -> None:
    more = (
        "  - checkpoint: placed\n- story: never\n  steps:\n  - checkpoint: placed\n    slot_was_set:\n"
        f"    - {asked}\n  - intent: greet\n  - action: utter_greet\n  - checkpoint: greeted\n"
        "- story: behind it\n  steps:\n  - checkpoint: greeted\n  - intent: order\n  - action: utter_done\n"
    )
    found = checked(tmp_path, (S, "", more))
    told = [f"The story '{name}' can never begin." for name in unreached]
    assert [finding.message for finding in found.findings if finding.code == "story-unreachable"] == told


def test_a_leak_need_not_be_letter_for_letter(tmp_path: Path, golden: Golden) -> None:
    project = read(tmp_path)
    (tmp_path / "nlu.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - Héllo, there!\n    - hello here\n    - "?!"\n',
        encoding="utf-8",
    )
    nlu, _ = read_nlu([tmp_path / "nlu.yml"], tmp_path)
    found = validate(project, strict=True, tests=ProjectTests((), nlu.examples))
    golden(*(finding.message for finding in found.findings))


def test_a_copy_of_a_story_told_in_sentences_need_not_be_letter_for_letter(tmp_path: Path) -> None:
    told = "- story: {name}\n  steps:\n  - user: {said}\n  - action: utter_greet\n"
    project = read(tmp_path, (S, "", told.format(name="x", said="good day")))
    tests = [("copy", "Good day!"), ("other", "good night")]
    text = "stories:\n" + "".join(told.format(name=name, said=said) for name, said in tests)
    (tmp_path / "test_stories.yml").write_text(text, encoding="utf-8")
    stories, _ = read_stories([tmp_path / "test_stories.yml"], tmp_path)
    found = validate(project, strict=True, tests=ProjectTests(stories))
    assert places(found, "test-story-in-training") == ["test_stories.yml:2:3"]


def test_a_test_story_that_is_trained_on_is_no_copy_of_itself(tmp_path: Path) -> None:
    """Rasa 1 trains on every story below `data/`, also on those with messages."""
    project = read(tmp_path)
    stories, _ = read_stories([tmp_path / S], tmp_path)
    validated = validate(project, strict=True, tests=ProjectTests(stories[:1]))
    (found,) = [one for one in validated.findings if one.code == "test-story-in-training"]
    assert not found.others
    assert "copy" not in found.message
    assert "'tests'" in found.message


def test_sentences_of_end_to_end_cases_that_are_training_sentences_are_leaks(tmp_path: Path) -> None:
    users = ["hello there", "Good morning to you!", "good evening to you", "/greet", "hello"]
    steps = "".join(f"  - user: {user}\n  - utter: utter_greet\n" for user in users)
    cases = f"test_cases:\n- test_case: x\n  steps:\n{steps}"
    write_project(tmp_path, (N, "- hello there", "- hello there\n    - hello"), **{"tests/e2e_test_cases.yml": cases})
    found = check_project(Request(project=tmp_path, strict=True)).validated
    assert places(found, "test-sentence-in-training") == [
        "tests/e2e_test_cases.yml:4:5",
        "tests/e2e_test_cases.yml:6:5",
    ]


@pytest.mark.parametrize(
    ("also", "named"),
    [("", 0), ("    - back to [FRA](city)\n", 0), ("    - back to [FRA](airport)\n    - off to [FRA](size)\n", 1)],
)
def test_a_token_may_be_two_entities_at_once(also: str, named: int, tmp_path: Path) -> None:
    both = '    - fly to [FRA][{"entity": "city"}, {"entity": "airport"}]\n'
    found = checked(tmp_path, (N, "", f"- intent: greet\n  examples: |\n{both}{also}"))
    assert len(places(found, "value-in-several-entities")) == named


@pytest.mark.parametrize(("others", "named"), [(8, 1), (9, 0)])
def test_a_word_is_another_in_an_intent_of_many_examples_that_never_asks_for_it(
    others: int, named: int, tmp_path: Path
) -> None:
    lines = "".join(f"    - chat number {number}\n" for number in range(others))
    chat = f"- intent: chat\n  examples: |\n    - at large\n{lines}"
    found = checked(tmp_path, (N, "", chat), (D, "- greet\n", "- greet\n- chat\n"))
    assert len(places(found, "value-not-annotated")) == named


def test_our_own_are_only_noted_where_rasa_is_to_be_replaced(tmp_path: Path) -> None:
    project = read(tmp_path, *FAULTS["regex-invalid"][0], (D, "- size\n", "- size\n- color\n"))
    drop_in = validate(project, drop_in=True)
    assert {finding.severity for finding in drop_in.findings} == {"info"}
    assert drop_in.exit_code(fail_on_warnings=True) == 0
    run = {finding.code: finding.severity for finding in validate(project).findings}
    assert run == {"regex-invalid": "error", "entity-unused": "info"}
    strict = validate(project, strict=True, drop_in=True)
    assert {f.code: f.severity for f in strict.findings} == {"regex-invalid": "error", "entity-unused": "warning"}
    assert strict.exit_code(fail_on_warnings=False) == 1


def test_what_rasa_does_not_get_to_see_is_noted_and_strictly_shown(tmp_path: Path) -> None:
    broken: Edit = (R, "- rule: say goodbye", "- rule: [say goodbye")
    double: Edit = (N, "- see you later", "- hello there\n    - see you later")
    project = read(tmp_path, broken, double)
    drop_in = validate(project, drop_in=True)
    assert [f.code for f in drop_in.findings if f.severity != "info"] == ["yaml-syntax"]
    hidden = [f.message for f in drop_in.findings if f.code == "hidden-by-load-error"]
    assert any("example-in-several-intents" in message for message in hidden)
    assert places(validate(project), "example-in-several-intents") == places(
        validate(project, strict=True, drop_in=True), "example-in-several-intents"
    )


def test_a_story_conflict_names_all_stories_and_where_they_part(tmp_path: Path) -> None:
    more = "- story: {0}\n  steps:\n  - intent: greet\n  - action: {1}\n"
    edits = [(S, "", more.format("second", "utter_done") + more.format("third", "utter_goodbye"))]
    found = [f for f in checked(tmp_path, *edits).findings if f.code == "story-conflict"]
    assert len(found) == 1
    assert all(name in found[0].message for name in ("'greet and order'", "'second'", "'third'", "stories.yml:6"))
    assert str(found[0].location) == "data/stories.yml:24:5"
    assert found[0].others
    assert found[0].location not in found[0].others, "a place is named once"


def test_what_to_do_about_rules_that_contradict_each_other_speaks_of_no_story(tmp_path: Path) -> None:
    again = "- rule: otherwise\n  steps:\n  - intent: goodbye\n  - action: utter_greet\n"
    found = [one for one in checked(tmp_path, (R, "", again)).findings if one.code == "rule-contradiction"]
    assert found
    assert not any("story" in one.hint for one in found)
    story = again.replace("rule:", "story:")
    found = [one for one in checked(tmp_path / "other", (S, "", story)).findings if one.code == "rule-contradiction"]
    assert all("story" in one.hint for one in found)
    assert found


def test_an_empty_project_is_judged_without_a_traceback(tmp_path: Path) -> None:
    project = read(tmp_path, **dict.fromkeys((D, N, S, R, C), ""))
    assert "domain-empty" in {finding.code for finding in validate(project).findings}
    assert DOMAIN


@pytest.mark.parametrize(
    ("payload", "codes"),
    [
        ('/order{{"size":"large"}}', []),
        ('/order{{"size":"{size}"}}', []),
        ('/order{{"size":{size}}}', []),
        ('/order{{"sise":"{size}"}}', ["button-entity-undefined"]),
        ('/order{"size":"{size}"}', ["button-payload-invalid"]),
        ('/order{{"size":"large"}', ["button-payload-invalid"]),
        ("/faq", []),
        ("/faq/hours", ["button-payload-invalid"]),
        ("/faq/hour", ["button-intent-undefined"]),
        ("/greet/x", ["button-intent-undefined"]),
    ],
)
def test_a_payload_has_double_braces_for_single_ones_and_no_keys(
    payload: str, codes: list[str], tmp_path: Path
) -> None:
    found = checked(tmp_path, (D, """'/order{"size": "large"}'""", f"'{payload}'"))
    assert [finding.code for finding in found.findings] == codes


SYNONYM: Edit = (N, "", "- synonym: large\n  examples: |\n    - humongous\n")
MATCHING: Edit = (C, "- name: DIETClassifier", "- name: RegexEntityExtractor\n- name: DIETClassifier")


def _block(kind: str, name: str) -> Edit:
    return (N, "", f"- {kind}: {name}\n  examples: |\n    - humongous\n")


@pytest.mark.parametrize(
    ("edits", "is_reached"),
    [
        ([], False),
        ([_block("regex", "size")], False),
        ([_block("regex", "zip"), MATCHING], False),
        ([_block("regex", "size"), MATCHING], True),
        ([_block("lookup", "size")], False),
        ([_block("lookup", "zip"), MATCHING], False),
        ([_block("lookup", "size"), MATCHING], True),
        ([(C, "- name: DIETClassifier", "- name: DucklingEntityExtractor\n- name: DIETClassifier")], True),
        ([(C, "- name: DIETClassifier", "- name: my.Extractor\n- name: DIETClassifier")], True),
    ],
)
def test_a_synonym_is_reached_by_what_extracts_it(edits: list[Edit], is_reached: bool, tmp_path: Path) -> None:
    assert (places(checked(tmp_path, SYNONYM, *edits), "synonym-unreached") == []) == is_reached


@pytest.mark.parametrize(
    ("extractors", "learns"),
    [
        ("- name: DIETClassifier", True),
        ("- name: DIETClassifier\n  entity_recognition: false", False),
        ("- name: DIETClassifier\n  entity_recognition: false\n- name: CRFEntityExtractor", True),
        ("- name: LogisticRegressionClassifier", False),
    ],
)
def test_only_what_learns_entities_may_extract_a_synonym(extractors: str, learns: bool, tmp_path: Path) -> None:
    found = checked(tmp_path, SYNONYM, (C, "- name: DIETClassifier", extractors)).findings
    (unreached,) = [one.message for one in found if one.code == "synonym-unreached"]
    assert ("nothing extracts" in unreached) != learns


@pytest.mark.parametrize("importers", ["x", "", "{name: x}", "[x]", "[{a: 1}]", "[{name: 5}]"])
def test_importers_that_rasa_cannot_make_are_an_error(importers: str, tmp_path: Path) -> None:
    found = validate(read(tmp_path, (C, "", f"importers: {importers}\n")), drop_in=True)
    assert [f.code for f in found.findings if f.severity == "error"] == ["schema-violation"]
    assert found.exit_code(fail_on_warnings=False) == 1


@pytest.mark.parametrize("importers", ["[]", "[{name: RasaFileImporter}]"])
def test_rasas_own_importer_is_nothing_to_note(importers: str, tmp_path: Path) -> None:
    assert checked(tmp_path, (C, "", f"importers: {importers}\n")).findings == ()


@pytest.mark.parametrize("step", ["entities: [size]", "{}"])
def test_a_step_that_is_none_is_skipped_with_a_warning(step: str, tmp_path: Path) -> None:
    edit = (S, "  - action: utter_greet", f"  - {step}\n  - action: utter_greet")
    found = validate(read(tmp_path, edit), drop_in=True)
    assert [(f.code, f.severity) for f in found.findings] == [("step-unexpected", "warning")]
    assert found.exit_code(fail_on_warnings=True) == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("cancell my order", "cancel my order"),
        ("resett password", "reset password"),
        ("thankyou very much", "thank you very much"),
        ("I want to cancell my ordr please now", "I want to cancel my order please now"),
    ],
)
def test_slips_of_the_pen_make_near_duplicates(one: str, other: str, tmp_path: Path) -> None:
    edits: list[Edit] = [(N, "- hello there", f"- {one}"), (N, "- see you later", f"- {other}")]
    assert len(places(checked(tmp_path, *edits), "example-nearly-in-several-intents")) == 1


def test_an_intent_that_the_domain_lacks_is_shown_where_it_is_named(tmp_path: Path) -> None:
    found = checked(tmp_path, (D, "- goodbye\n", ""), (D, "- faq\n", ""))
    assert places(found, "intent-not-in-domain") == ["data/nlu.yml:7:11"]


def test_a_key_of_the_domain_that_nothing_reads_is_told_with_the_one_that_was_meant(
    tmp_path: Path, golden: Golden
) -> None:
    found = checked(tmp_path, (D, "", "sesion_config:\n  session_expiration_time: 5\n"))
    (message,) = [one.message for one in found.findings if one.code == "key-unknown"]
    golden(message)


def test_an_unknown_component_is_not_missed_by_those_behind_it(tmp_path: Path) -> None:
    found = checked(tmp_path, (C, "CountVectorsFeaturizer", "CuontVectorsFeaturizer"))
    assert len(places(found, "component-unknown")) == 1
    assert places(found, "component-order") == []


@pytest.mark.parametrize(("one", "other", "is_near"), [("C#", "C++", False), ("C#", "c#!", True)])
def test_a_number_sign_behind_a_letter_tells(one: str, other: str, is_near: bool, tmp_path: Path) -> None:
    edits = [(N, "    - hello there", f"    - {one}\n    - hello there"), (N, "    - see you later", f"    - {other}")]
    assert bool(places(checked(tmp_path, *edits), "example-nearly-in-several-intents")) == is_near


def test_what_is_said_of_a_whole_file_is_said_of_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "old.md").write_text("## intent:greet\n- hello you\n", encoding="utf-8")
    (tmp_path / "data" / "other.yml").write_text("remarks: []\n", encoding="utf-8")
    (tmp_path / "config.yml").write_text("language: en\nassistant_id: x\n", encoding="utf-8")
    (tmp_path / "domain.yml").write_text('version: "3.1"\n', encoding="utf-8")
    found = validate(read_project(tmp_path), drop_in=True).findings
    assert {one.code: str(one.location) for one in found} == {
        "format-not-read": "data/old.md:1:1",
        "file-without-data": "data/other.yml:1:1",
        "domain-empty": "domain.yml:1:1",
        "rasa-versions-mixed": "data/old.md:1:1",
    }


def not_measured(project: Project) -> list[tuple[str, str]]:
    findings = validate(project).findings
    return [(one.code, str(one.location)) for one in findings if one.code.endswith("-not-measured")]


def test_a_default_file_is_missed_where_another_one_is_measured(tmp_path: Path) -> None:
    root = write_project(tmp_path, **{"other/domain.yml": DOMAIN, "other.yml": "recipe: default.v1\n"})

    assert not_measured(read_project(root)) == []
    assert not_measured(read_project(root, domain=root / "domain.yml", config=root / "config.yml")) == []
    assert not_measured(read_project(root, domain=root / "other")) == [("domain-not-measured", "domain.yml")]
    assert not_measured(read_project(root, config=root / "other.yml")) == [("config-not-measured", "config.yml")]
    (root / "alike.yml").symlink_to("config.yml")
    assert not_measured(read_project(root, config=root / "alike.yml")) == []
    (root / "config.yml").rename(root / "main.yml")
    assert not_measured(read_project(root, config=root / "other.yml")) == []


def test_the_default_folder_of_the_domain_is_missed_as_well(tmp_path: Path) -> None:
    root = write_project(tmp_path, **{"domain/all.yml": DOMAIN, "other.yml": DOMAIN})
    (root / "domain.yml").unlink()

    assert not_measured(read_project(root)) == []
    assert not_measured(read_project(root, domain=root / "other.yml")) == [("domain-not-measured", "domain")]


@pytest.mark.parametrize(
    ("inside", "missed"), [({"all.yml": DOMAIN}, True), ({"notes.yml": "owner: me\n"}, False), ({}, False)]
)
def test_a_folder_of_domains_beside_the_default_file_is_missed(
    tmp_path: Path, inside: dict[str, str], *, missed: bool
) -> None:
    """Rasa reads the file alone, and what only the folder defines is unknown to it."""
    root = write_project(tmp_path, **{f"domain/{name}": content for name, content in inside.items()})

    assert not_measured(read_project(root)) == [("domain-not-measured", "domain")] * missed
    if missed:
        assert not_measured(read_project(root, domain=root / "domain")) == [("domain-not-measured", "domain.yml")]
        (root / "domain.yml").unlink()
        assert not_measured(read_project(root)) == []  # nothing is measured in its place


def test_a_default_file_that_is_missed_matters_in_every_run(tmp_path: Path) -> None:
    root = write_project(tmp_path, **{"other.yml": "recipe: default.v1\n"})
    found = validate(read_project(root, config=root / "other.yml")).findings

    assert {one.severity for one in found if one.code == "config-not-measured"} == {"warning"}


SAYS: list[tuple[str, bool]] = [
    ('  - text: "Hi {customer}"', True),
    ('  - text: "Hi {size}"', False),
    ('  - text: "Hi {{customer}}"', False),
    ('  - text: "Hi {requested_slot}"', False),
    ("  - text: hi\n    image: https://example.org/{customer}.png", True),
    ("  - custom:\n      blocks:\n      - text: for {customer}", True),
    ('  - text: hi\n    buttons:\n    - title: "{customer}?"\n      payload: /greet', True),
    ('  - text: hi\n    buttons:\n    - title: yes\n      payload: "/order{{\\"size\\": \\"{customer}\\"}}"', True),
    ('  - text: hi\n    buttons:\n    - title: yes\n      payload: \'/order{"size": "large"}\'', False),
    ("  - text: hi\n    attachment: {name: '{customer}'}", True),
    ("  - text: |\n      Hi!\n      You are {customer}.", True),
    ("  - text: hi\n    metadata: {note: '{customer}'}", False),
    ('  - text: "Write {a b}, {}"', False),
    ('  - text: "A { size } pizza"', True),
    ('  - text: "A {size.name} pizza"', True),
    ('  - text: "A {Size } pizza"', True),
    ('  - text: "Asked for {requested slot}"', False),
    ('  - text: "A {size} pizza for {first name}"', True),
    ('  - text: "A {size} pizza, {0}"', True),
    ("  - text: hi\n  - text: Grüß Gott, {Käufer}", True),
]


@pytest.mark.parametrize(("says", "is_undefined"), SAYS)
def test_the_variables_of_a_response_are_slots(says: str, is_undefined: bool, tmp_path: Path) -> None:
    found = checked(tmp_path, (D, '  - text: "Bye!"', says)).findings
    assert ("response-variable-undefined" in {one.code for one in found}) == is_undefined


def test_a_slot_whose_name_is_written_with_blanks_is_meant(tmp_path: Path) -> None:
    slot = (D, "slots:\n", "slots:\n  first_name:\n    type: text\n    mappings:\n    - type: custom\n")
    found = checked(tmp_path, slot, (D, '  - text: "Bye!"', '  - text: "Bye {first name}!"')).findings
    assert "response-variable-undefined" in {one.code for one in found}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("dispatcher.utter_message(response='utter_told', number=1)", "response-variable-unknown"),
        ("dispatcher.utter_message(response='utter_told', **values)", "response-variable-unknown"),
        ("dispatcher.utter_message(response='utter_told', other=1)", "response-variable-undefined"),
        ("dispatcher.utter_message(text='hi')", "response-variable-undefined"),
    ],
)
def test_a_custom_action_may_pass_what_no_slot_has(code: str, expected: str, tmp_path: Path) -> None:
    told = (D, "  utter_goodbye:", "  utter_told:\n  - text: It is {number}.\n  utter_goodbye:")
    found = checked(tmp_path, told, ("actions/a.py", "", f"{code}\n")).findings
    assert {one.code for one in found if one.code.startswith("response-variable")} == {expected}


@pytest.mark.parametrize("name", ["utter_default", "utter_restart", "utter_back", "utter_ask_rephrase", "utter_sorry"])
def test_what_default_actions_and_policies_say_is_used(name: str, tmp_path: Path) -> None:
    fallback = (C, "- name: RulePolicy", "- name: RulePolicy\n  core_fallback_action_name: utter_sorry")
    response = (D, "  utter_goodbye:", f"  {name}:\n  - text: Sorry.\n  utter_goodbye:")
    sorry = () if name == "utter_sorry" else ((D, "  utter_goodbye:", "  utter_sorry:\n  - text: x\n  utter_goodbye:"),)
    assert places(checked(tmp_path, response, *sorry, fallback), "response-unused") == []


@pytest.mark.parametrize(
    ("kind", "value", "is_held"),
    [
        *[("bool", "yes", False), ("bool", "true", True), ("bool", "'False'", True), ("bool", "1", True)],
        *[("bool", "maybe", False), ("bool", "null", True), ("float", "cheap", False), ("float", "0", True)],
        *[("float", "'2.5'", True), ("float", "2,5", False), ("float", "[1]", False), ("text", "yes", True)],
    ],
)
def test_a_slot_holds_values_of_its_type(kind: str, value: str, is_held: bool, tmp_path: Path) -> None:
    slot = (D, "slots:\n", f"slots:\n  milk:\n    type: {kind}\n    mappings:\n    - type: from_text\n")
    step = (S, "  - action: utter_done\n", f"  - slot_was_set:\n    - milk: {value}\n  - action: utter_done\n")
    assert (places(checked(tmp_path, slot, step), "slot-value-undefined") == []) == is_held


@pytest.mark.parametrize(
    ("slot", "places_found"),
    [
        ("{type: bool, initial_value: 'yes', MAPPING}", ["domain.yml:14:37"]),
        ("{type: bool, initial_value: false, MAPPING}", []),
        ("{type: bool, influence_conversation: false, initial_value: 'yes', MAPPING}", []),
        ("{type: categorical, values: [a, b], initial_value: q, MAPPING}", ["domain.yml:14:60"]),
        ("{type: categorical, values: [a, b], initial_value: A, MAPPING}", []),
        ("{type: bool, mappings: [{type: from_intent, intent: greet, value: ja}]}", ["domain.yml:14:75"]),
        ("{type: bool, mappings: [{type: from_text, value: ja}]}", []),
        ("{type: float, mappings: [{type: from_trigger_intent, intent: greet, value: ja}]}", ["domain.yml:14:84"]),
        ("{type: float, initial_value: 0.5, mappings: [{type: from_intent, intent: greet, value: 1}]}", []),
        ("{type: text, initial_value: yes, MAPPING}", []),
    ],
)
def test_so_do_values_that_the_domain_gives(slot: str, places_found: list[str], tmp_path: Path) -> None:
    written = slot.replace("MAPPING", "mappings: [{type: custom}]")
    found = checked(tmp_path, (D, "slots:\n", f"slots:\n  milk: {written}\n"))
    assert places(found, "slot-value-undefined") == places_found


@pytest.mark.parametrize(
    ("language", "text", "is_seen"),
    [
        ("zh", "我想去[北京](city)看看", True),
        ("zh-TW", "我想去[北京](city)看看", True),
        ("zh_Hans_CN", "我想去北京看看", True),
        ("ja", "東京に行きたい", False),
        ("en", "I want 北京看看", False),
    ],
)
def test_entries_of_lookup_tables_are_seen_where_words_have_no_spaces(
    language: str, text: str, is_seen: bool, tmp_path: Path
) -> None:
    lookup = (N, "", "- lookup: city\n  examples: |\n    - 北京\n")
    example = (N, "    - see you later\n", f"    - see you later\n    - {text}\n")
    found = checked(tmp_path, (C, "language: en", f"language: {language}"), lookup, example)
    assert (places(found, "lookup-entry-unseen") == []) == is_seen


@pytest.mark.parametrize(
    ("kind", "mapping", "value", "is_told"),
    [
        ("bool", "custom", "'true'", True),
        ("bool", "from_intent\n      intent: order\n      value: true", '"False"', True),
        ("float", "custom", "'3'", True),
        ("bool", "custom", "true", False),
        ("float", "custom", "3", False),
        ("text", "custom", "'true'", False),
        ("bool", "from_text", "'true'", False),
        ("bool", "custom", "null", False),
    ],
)
def test_a_condition_compares_values_of_one_type(
    kind: str, mapping: str, value: str, is_told: bool, tmp_path: Path
) -> None:
    slot = (D, "slots:\n", f"slots:\n  open:\n    type: {kind}\n    mappings:\n    - type: {mapping}\n")
    condition = f'  - text: "Bye!"\n    condition:\n    - type: slot\n      name: open\n      value: {value}'
    found = checked(tmp_path, slot, (D, '  - text: "Bye!"', condition))
    assert (places(found, "condition-value-quoted") != []) == is_told


@pytest.mark.parametrize(
    ("entry", "component", "is_lost"),
    [
        ("c++", "RegexEntityExtractor", True),
        ("aziz (a)", "RegexFeaturizer", True),
        ("'Rome'", "RegexFeaturizer\n  use_lookup_tables: true", True),
        ("+", "RegexFeaturizer", True),
        ("c++ 11", "RegexEntityExtractor", False),
        ("São_Paulo", "RegexFeaturizer", False),
        ("é", "RegexFeaturizer", False),
        ("ใหญ่", "RegexFeaturizer", True),
        ("c++", "RegexEntityExtractor\n  use_word_boundaries: false", False),
        ("c++", "RegexEntityExtractor\n  use_lookup_tables: false", False),
        ("c++", "LexicalSyntacticFeaturizer", False),
    ],
)
def test_entries_that_begin_or_end_with_a_sign_are_no_words(
    entry: str, component: str, is_lost: bool, tmp_path: Path
) -> None:
    edits = (
        (N, "", f"- lookup: city\n  examples: |\n    - Rome\n    - {entry}\n"),
        (C, "- name: DIETClassifier", f"- name: {component}\n- name: DIETClassifier"),
    )
    assert (places(checked(tmp_path, *edits), "lookup-entry-never-found") != []) == is_lost


def test_an_entry_may_be_inside_of_a_word_without_word_boundaries(tmp_path: Path) -> None:
    edits = (
        (N, "", "- lookup: city\n  examples: |\n    - orni\n"),
        (C, "- name: DIETClassifier", "- name: RegexFeaturizer\n  use_word_boundaries: false\n- name: DIETClassifier"),
    )
    assert places(checked(tmp_path, *edits), "lookup-entry-unseen") == []


@pytest.mark.parametrize(
    ("selectors", "missing"),
    [
        ("", True),
        ("- name: ResponseSelector\n", False),
        ("- name: ResponseSelector\n  retrieval_intent: faq\n", False),
        ("- name: ResponseSelector\n  retrieval_intent: chitchat\n", True),
        ("- name: ResponseSelector\n  retrieval_intent: chitchat\n- name: ResponseSelector\n", False),
        ("- name: own.nlu.Selector\n", False),
    ],
)
def test_a_retrieval_intent_needs_a_selector(selectors: str, missing: bool, tmp_path: Path) -> None:
    write_project(tmp_path, ("config.yml", "- name: ResponseSelector\n", selectors))
    found = [one for one in validate(read_project(tmp_path)).findings if one.code == "selector-missing"]
    assert [one.severity for one in found] == ["warning"] * missing


CLASSIFIES = "- name: LogisticRegressionClassifier\n"
LISTED = "- lookup: size\n  examples: |\n    - large\n"
MATCHED = "- regex: zip\n  examples: |\n    - '[0-9]{5}'\n"


@pytest.mark.parametrize(
    ("components", "data", "unread"),
    [
        ("", "", {"intents", "entities"}),
        (None, LISTED, set()),
        (CLASSIFIES, "", {"entities"}),
        ("- name: FallbackClassifier\n", "", {"intents", "entities"}),
        ("- name: DIETClassifier\n  intent_classification: false\n", "", {"intents"}),
        ("- name: DIETClassifier\n  entity_recognition: false\n", "", {"entities"}),
        (f"{CLASSIFIES}- name: CRFEntityExtractor\n", "", set()),
        ("- name: own.nlu.Understanding\n", LISTED, set()),
        ("- name: DIETClassifier\n", LISTED + MATCHED, {"lookup tables", "regexes"}),
        ("- name: RegexFeaturizer\n- name: DIETClassifier\n", LISTED + MATCHED, set()),
        ("- name: RegexFeaturizer\n  use_lookup_tables: false\n- name: DIETClassifier\n", LISTED, {"lookup tables"}),
        (f"{CLASSIFIES}- name: RegexEntityExtractor\n", LISTED, set()),
        (f"{CLASSIFIES}- name: RegexEntityExtractor\n", MATCHED, {"regexes"}),
    ],
)
def test_each_part_of_the_nlu_data_needs_a_component(
    components: str | None, data: str, unread: set[str], tmp_path: Path
) -> None:
    """Without components the pipeline only tokenizes: its bot is told by buttons."""
    understanding = "- name: CountVectorsFeaturizer\n- name: DIETClassifier\n"
    edits = [(C, understanding, f"- name: CountVectorsFeaturizer\n{components}")]
    if components is None:
        edits = [(C, f"{understanding}- name: EntitySynonymMapper\n- name: ResponseSelector\n", "")]
    write_project(tmp_path, *edits, (N, "", data))
    found = [one for one in validate(read_project(tmp_path)).findings if one.code == "nlu-data-unread"]
    assert {name.name for one in found for name in one.about} == unread
