"""What people's commits really do, each kind with three examples: only what is new is new, and the cause is named.

Further kinds have files of their own: `test_base_that_cannot_be_read`, `test_causes_of_a_change`,
`test_changes_of_older_rasas`, `test_variables_of_files`; the table `KINDS` says where each is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden
from judged_changes import WORKSHOP, Edit, Repository, edited

C, D, N, R, S, T = (
    *("config.yml", "domain.yml", "data/nlu.yml", "data/rules.yml", "data/stories.yml", "tests/test_stories.yml"),
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def rule(name: str, *steps: str) -> str:
    return f"- rule: {name}\n  steps:\n" + "".join(f"  - {step}\n" for step in steps)


def story(name: str, *steps: str) -> str:
    return rule(name, *steps).replace("- rule:", "- story:")


# --- old findings are old --------------------------------------------------------------------------------------------

CONTRADICTION = rule("greet and lend", "intent: greet", "action: utter_rent")
ANOTHER = rule("greet and mend", "intent: greet", "action: utter_repair")
A_STORY = 'version: "3.1"\nstories:\n' + story("a guest", "intent: greet", "action: utter_rent")
GREETING = "  utter_greet:\n  - text: Good day, what does your bicycle lack?\n"
HELLO = rule("say hello", "intent: greet", "action: utter_greet")
FEWER: dict[str, tuple[list[Edit], list[Edit]]] = {
    "one of three rules": ([(R, "", CONTRADICTION + ANOTHER)], [(R, ANOTHER, "")]),
    "the first of them": ([(R, "", CONTRADICTION + ANOTHER)], [(R, HELLO, "")]),
    "a story beside a rule": ([(R, "", CONTRADICTION), (S, "", A_STORY)], [(S, A_STORY, "")]),
}


@pytest.mark.parametrize("which", FEWER)
def test_one_contradiction_less(repository: Repository, which: str, golden: Golden) -> None:
    before, after = FEWER[which]
    base = edited(WORKSHOP, *before)

    judged = repository.judged(base, edited(base, *after))

    assert judged.new_errors == []
    assert judged.gate("new-errors") == "passed"
    assert set(judged.errors) == {"rule-contradiction"}
    golden(judged.verdict["summary"])


SLIPS: dict[str, tuple[list[Edit], list[Edit]]] = {
    "a response": (
        [(T, "utter_repair", "utter_repare")],
        [(name, "utter_repair", "utter_take_in") for name in (D, R)],
    ),
    "an intent": (
        [(T, "intent: rent", "intent: rend")],
        [*((name, "intent: rent", "intent: borrow") for name in (N, R)), (D, "- rent", "- borrow")],
    ),
    "a name that is nearer": (
        [(T, "utter_greet", "utter_gret")],
        [(D, "  utter_rent:", "  utter_grit:\n  - text: We have it.\n  utter_rent:")],
    ),
}


@pytest.mark.parametrize("of", SLIPS)
def test_suggestion_changed(repository: Repository, of: str, golden: Golden) -> None:
    before, after = SLIPS[of]
    base = edited(WORKSHOP, *before)

    judged = repository.judged(base, edited(base, *after))

    assert (judged.code, judged.new_errors, judged.newly_failing) == (0, [], [])
    assert judged.comparison["cut_intents"] == []
    golden(judged.verdict["summary"])


BROKEN: Edit = (N, "    - please mend it\n", "    - please mend my [bell] (part)\n")
RENAMED: dict[str, tuple[list[Edit], list[Edit]]] = {
    "the entity": (
        [BROKEN],
        [(N, "(part)", "(component)"), (D, "- part", "- component")],
    ),
    "the intent around it": (
        [BROKEN],
        [(name, "intent: repair", "intent: mend") for name in (N, R, T)] + [(D, "- repair", "- mend")],
    ),
    "a value beside it": (
        [
            (
                N,
                "  examples: |\n    - hello\n    - good day\n    - hi there\n",
                "  examples:\n  - text: hello\n  - yes\n",
            )
        ],
        [(N, "  - yes\n", "  - true\n")],
    ),
}


@pytest.mark.parametrize("what", RENAMED)
def test_entity_renamed_broken_annotation(repository: Repository, what: str) -> None:
    before, after = RENAMED[what]
    base = edited(WORKSHOP, *before)

    judged = repository.judged(base, edited(base, *after))

    found = {one["code"] for one in judged.report["validation"]["findings"]}
    assert found & {"annotation-broken", "schema-violation"}
    assert not judged.new_codes & {"annotation-broken", "schema-violation"}
    assert judged.gate("new-errors") == "passed"


RENAMED_RESPONSES = {
    "longer": "utter_rent_one",
    "a prefix": "utter_ask_rent",
    "an intent's name": "utter_greeting",
}


@pytest.mark.parametrize("name", RENAMED_RESPONSES)
def test_response_renamed(repository: Repository, name: str) -> None:
    old = "utter_greet" if name == "an intent's name" else "utter_rent"

    judged = repository.judged({}, edited(WORKSHOP, *((file, old, RENAMED_RESPONSES[name]) for file in (D, R, T))))

    assert (judged.code, judged.verdict["reservation"]) == (0, "")
    assert judged.comparison["cut_intents"] == judged.comparison["removed_items"] == []


SPLIT = {
    "languages": ("utter_greet_en", "utter_greet_nl"),
    "times of the day": ("utter_greet_morning", "utter_greet_evening", "utter_greet_night"),
    "numbers": ("utter_greet_1", "utter_greet_2"),
}


@pytest.mark.parametrize("of", SPLIT)
def test_response_split(repository: Repository, of: str, golden: Golden) -> None:
    parts = "".join(f"  {name}:\n  - text: Hello ({name[12:]}).\n" for name in SPLIT[of])
    judged = repository.judged(
        {},
        edited(
            WORKSHOP,
            (D, GREETING, parts),
            (D, "responses:\n", "actions:\n- action_greet\nresponses:\n"),
            (R, "utter_greet", "action_greet"),
        ),
    )

    assert (judged.code, judged.new_errors) == (1, ["test-action-undefined"])
    assert [one for one in judged.comparison["renamed"] if one["old"] == "utter_greet"] == []
    assert judged.comparison["cut_intents"] == []
    golden(judged.verdict["summary"])


MOVED: dict[str, tuple[list[Edit], list[Edit], str]] = {
    "domain and rule have the new name": (
        [(D, "- rent\n", "- rent_a_bicycle\n"), (R, "intent: rent", "intent: rent_a_bicycle")],
        [(N, "intent: rent", "intent: rent_a_bicycle")],
        "rent_a_bicycle",
    ),
    "the rule follows": (
        [(D, "- rent\n", "- borrow\n")],
        [(N, "intent: rent", "intent: borrow"), (R, "intent: rent", "intent: borrow")],
        "borrow",
    ),
    "the old one leaves the domain": (
        [(D, "- rent\n", "- rent\n- hire\n")],
        [(N, "intent: rent", "intent: hire"), (R, "intent: rent", "intent: hire"), (D, "- rent\n", "")],
        "hire",
    ),
}


@pytest.mark.parametrize("how", MOVED)
def test_intent_renamed_in_two_steps(repository: Repository, how: str, golden: Golden) -> None:
    before, after, name = MOVED[how]
    base = edited(WORKSHOP, *before)

    judged = repository.judged(base, edited(base, *after))

    assert judged.code == 1
    renamed = [(one["old"], one["new"]) for one in judged.comparison["renamed"]]
    assert ("rent", name) in renamed
    golden(judged.verdict["summary"])


# --- what Rasa trains is judged --------------------------------------------------------------------------------------

COUNTS = "- name: CountVectorsFeaturizer\n"
RULES = "- name: RulePolicy\n"
IGNORED: dict[str, Edit] = {
    "a component's": (C, COUNTS, f"{COUNTS}  ngram: 2\n"),
    "a fallback's": (C, "policies:\n", "- name: FallbackClassifier\n  confidence_treshold: 0.4\npolicies:\n"),
    "a policy's": (C, RULES, f"{RULES}  core_fallback_treshold: 0.2\n"),
}
UNCHECKED: dict[str, Edit] = {
    "yes": (C, "KeywordIntentClassifier\n", "KeywordIntentClassifier\n  case_sensitive: yes\n"),
    "in quotes": (C, COUNTS, f"- name: RegexFeaturizer\n  use_word_boundaries: 'off'\n{COUNTS}"),
    "a number": (C, COUNTS, f"{COUNTS}  lowercase: 1\n"),
}


@pytest.mark.parametrize("whose", IGNORED)
def test_unknown_parameter(repository: Repository, whose: str) -> None:
    judged = repository.judged({}, edited(WORKSHOP, IGNORED[whose]))

    assert (judged.code, judged.errors) == (0, [])
    assert "parameter-unknown" in judged.new_codes
    assert judged.stories == {"hello and a tandem": True, "a repair": True}


@pytest.mark.parametrize("value", UNCHECKED)
def test_parameter_yes(repository: Repository, value: str) -> None:
    base = edited(WORKSHOP, UNCHECKED[value])

    judged = repository.judged(base, edited(base, (D, "Friday", "Monday")))

    assert (judged.code, judged.errors, judged.new_codes) == (0, [], set())
    assert "parameter-not-checked" in {one["code"] for one in judged.report["validation"]["findings"]}
    assert judged.stories == {"hello and a tandem": True, "a repair": True}


A_FORM = """\
slots:
  size:
    type: text
    mappings:
    - type: from_text
forms:
  size_form:
    required_slots:
    - size
responses:
  utter_ask_size:
  - text: How tall are you?
"""
FORM: list[Edit] = [(D, "responses:\n", A_FORM), (C, RULES, "- name: workshop.careful.CarefulRules\n")]
IMPORT = "from rasa.core.policies.rule_policy import RulePolicy"
PARENTS = {
    "imported": f"{IMPORT}\n\n\nclass CarefulRules(RulePolicy):\n    pass\n",
    "of a module": "import rasa.core.policies.rule_policy as r\n\n\nclass CarefulRules(r.RulePolicy):\n    pass\n",
    "by another name": f"{IMPORT} as Rules\n\n\nclass CarefulRules(Rules):\n    pass\n",
}


@pytest.mark.parametrize("parent", PARENTS)
def test_custom_rule_policy(repository: Repository, parent: str) -> None:
    judged = repository.judged({}, {**edited(WORKSHOP, *FORM), "workshop/careful.py": PARENTS[parent]})

    assert (judged.code, judged.errors) == (0, [])
    assert judged.stories == {"hello and a tandem": True, "a repair": True}
    replaced = [one["component"] for one in judged.report["engine"]["substitutions"]]
    assert replaced.count("workshop.careful.CarefulRules") == 1


UNKNOWN_PARENTS = {
    "no parent": "class CarefulRules:\n    pass\n",
    "another package's": "from bank.policies import Careful\n\n\nclass CarefulRules(Careful):\n    pass\n",
    "no such file": "",
}


@pytest.mark.parametrize("parent", UNKNOWN_PARENTS)
def test_custom_rule_policy_of_which_the_parent_is_not_known(
    repository: Repository, parent: str, golden: Golden
) -> None:
    own = {**edited(WORKSHOP, *FORM), "workshop/careful.py": UNKNOWN_PARENTS[parent]}

    judged = repository.judged(own, {**own, **edited(own, (D, "Friday", "Monday"))})

    assert (judged.code, judged.errors, judged.stories) == (0, [], {})
    golden(judged.verdict["summary"], judged.verdict["reservation"])


IMPORTED = {
    "everything": (D, N, R),
    "the domain": (D,),
    "domain and rules": (D, R),
}


@pytest.mark.parametrize("what", IMPORTED)
def test_custom_importer_domain(repository: Repository, what: str, golden: Golden) -> None:
    importer = "importers:\n- name: workshop.database.Importer\n"

    judged = repository.judged({}, {**edited(WORKSHOP, (C, "", importer)), **dict.fromkeys(IMPORTED[what], "")})

    assert judged.code == 1
    assert "domain-not-found" in judged.errors
    assert "'workshop.database.Importer'" in judged.verdict["summary"]
    golden(judged.verdict["summary"])


# --- files that cannot be read, or are something else ----------------------------------------------------------------

REFUSED = "- intent: keep/it/all\n  examples: |\n    - mine\n"
UNREAD: dict[str, tuple[str, Edit]] = {
    "a line of sentences": (N, (N, "- intent: rent", " - intent: rent")),
    "a key": (N, (N, "  examples: |\n    - rent", "  exmples: |\n    - rent")),
    "a quote": (N, (N, 'version: "3.1"', 'version: "3.1')),
}


@pytest.mark.parametrize("fault", UNREAD)
def test_hidden_on_base(repository: Repository, fault: str) -> None:
    file, edit = UNREAD[fault]
    old = edited(WORKSHOP, (N, "", REFUSED))

    judged = repository.judged(edited(old, edit), old)

    assert (judged.code, judged.new_errors) == (0, [])
    assert "intent-name-invalid" in judged.errors
    assert set(judged.repaired) == {file}


UNREADABLE = {"a list": "stories: [\n", "a tab": "\tstories:\n", "a key twice": "stories: []\nstories: []\n"}


@pytest.mark.parametrize("fault", UNREADABLE)
def test_base_core_partly(repository: Repository, fault: str) -> None:
    judged = repository.judged({"tests/test_old_stories.yml": UNREADABLE[fault]}, {})

    assert judged.code == 0
    assert judged.gate("gone-tests") == "not judged"
    assert [one["files"] for one in judged.comparison["base_faults"]] == [["tests/test_old_stories.yml"]]
    assert judged.stories == {"hello and a tandem": True, "a repair": True}


DOMAINS: dict[str, Edit] = {
    "indentation": (D, "  - text: It is done on Friday.", "   - text: It is\n  done"),
    "git's markers": (D, "- rent\n", "<<<<<<< HEAD\n- rent\n=======\n- hire\n>>>>>>> other\n"),
    "a key twice": (D, "", "intents:\n- greet\n"),
}


@pytest.mark.parametrize("fault", DOMAINS)
def test_domain_broken_removed(repository: Repository, fault: str, golden: Golden) -> None:
    judged = repository.judged({}, edited(WORKSHOP, DOMAINS[fault]))

    assert judged.code == 1
    assert judged.gate("could-be-run") == "failed"
    assert judged.comparison["removed_items"] == judged.comparison["renamed"] == []
    assert {one["location"]["path"] for one in judged.comparison["new_findings"]} == {D}
    golden(judged.verdict["summary"])


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a1" * 32 + "\nsize 4711\n"
FOREIGN: dict[str, tuple[str, str, str]] = {
    "sentences": (N, POINTER, "file-not-as-named"),
    "stories": (T, POINTER, "file-not-as-named"),
    "the domain": (D, POINTER, "file-not-as-named"),
}


@pytest.mark.parametrize("what", FOREIGN)
def test_lfs_pointer(repository: Repository, what: str, golden: Golden) -> None:
    name, content, code = FOREIGN[what]

    judged = repository.judged({}, {name: content})

    assert judged.code == 1
    assert judged.gate("could-be-run") == "failed"
    assert judged.errors == [code]
    golden(judged.verdict["summary"])


def conflict(line: str, other: str, indent: str = "") -> str:
    """A line as git leaves it where two changes conflict."""
    return f"{indent}<<<<<<< HEAD\n{line}{indent}=======\n{other}{indent}>>>>>>> other\n"


SENTENCE, STEP = "    - rent a bicycle\n", "  - action: utter_rent\n"
MARKED: dict[str, Edit] = {
    "among the sentences": (N, SENTENCE, conflict(SENTENCE, "    - rent one\n", " " * 4)),
    "at the edge": (N, SENTENCE, conflict(SENTENCE, "    - rent one\n")),
    "in a rule": (R, STEP, conflict(STEP, "  - action: utter_hire\n")),
}


@pytest.mark.parametrize("where", MARKED)
def test_merge_markers(repository: Repository, where: str, golden: Golden) -> None:
    judged = repository.judged({}, edited(WORKSHOP, MARKED[where]))

    assert judged.code == 1
    assert judged.gate("could-be-run") == "failed"
    (error,) = [one for one in judged.comparison["new_findings"] if one["severity"] == "error"]
    assert error["location"]["path"] == MARKED[where][0]
    golden(error["message"])


TRACKERS = {
    "tests/data/tracker.json": '{"sender_id": "a", "slots": {}, "events": [{"event": "action", "name": "x"}]}',
    "tests/fixtures/conversation.json": '{"sender_id": "b", "events": [], "latest_message": '
    '{"text": "hello", "intent": {"name": "greet"}, "entities": []}}',
    "tests/actions/empty.json": '{"tracker": {"sender_id": "c", "slots": {}, "events": []}, "next_action": "x"}',
}


@pytest.mark.parametrize("name", TRACKERS)
def test_tracker_fixture(repository: Repository, name: str) -> None:
    judged = repository.judged({}, {name: TRACKERS[name]})

    assert judged.code == 0
    assert judged.new_codes == set()
    assert name not in judged.comment


# --- what changed, and what of it matters ----------------------------------------------------------------------------

MISUNDERSTOOD = """\
version: "3.1"
stories:
- story: a guest
  steps:
  - user: take one
    intent: {intent}
  - action: {action}
"""
GREETS, ANSWERS = "intent: greet\n  - action: utter_greet", "intent: greet\n  - action: utter_repair"
BETTER: dict[str, tuple[list[Edit], list[Edit]]] = {
    "a rule is repaired": ([(R, GREETS, ANSWERS)], [(R, ANSWERS, GREETS)]),
    "a response comes back": (
        [(D, GREETING, ""), (R, GREETS, ANSWERS)],
        [(D, "responses:\n", f"responses:\n{GREETING}"), (R, ANSWERS, GREETS)],
    ),
    "the rule comes back": ([(R, HELLO, "")], [(R, "", HELLO)]),
}


@pytest.mark.parametrize("how", BETTER)
def test_failed_to_misunderstood(repository: Repository, how: str, golden: Golden) -> None:
    before, after = BETTER[how]
    base = edited(
        WORKSHOP,
        (T, str(WORKSHOP[T]), MISUNDERSTOOD.format(intent="greet", action="utter_greet")),
        (N, "    - take one for a day\n", "    - take one\n"),
        *before,
    )

    judged = repository.judged(base, edited(base, *after))

    assert (judged.code, judged.newly_failing) == (0, [])
    assert "core.misunderstood" not in judged.comment
    golden(judged.verdict["summary"])


PATTERNS, FIELD = "- name: RegexFeaturizer\n", "- name: CRFEntityExtractor\n"
LEARNS = f"{COUNTS}- name: LogisticRegressionClassifier\n"
PIPELINE: Edit = (C, f"{COUNTS}- name: KeywordIntentClassifier\n", f"{PATTERNS}{FIELD}{LEARNS}")
STAYS: dict[str, Edit] = {
    "another parameter": (C, f"{PATTERNS}{FIELD}", f"{PATTERNS}  case_sensitive: False\n"),
    "as it was": (C, FIELD, ""),
    "behind another": (C, f"{PATTERNS}{FIELD}{COUNTS}", f"{COUNTS}{PATTERNS}"),
}


@pytest.mark.parametrize("how", STAYS)
def test_featurizer_still_there(repository: Repository, how: str) -> None:
    base = edited(WORKSHOP, PIPELINE)

    judged = repository.judged(base, edited(base, STAYS[how]))

    changes = {(one["name"], one["change"]) for one in judged.comparison["changed_components"]}
    assert ("CRFEntityExtractor", "removed") in changes
    assert ("RegexFeaturizer", "removed") not in changes


LEXICAL, FINDER = "- name: LexicalSyntacticFeaturizer\n", "- name: workshop.parts.Finder\n"
KEYWORDS = "- name: KeywordIntentClassifier\n"
SYNONYM: Edit = (N, "", "- synonym: seat\n  examples: |\n    - thing to sit on\n")
UNUSED: Edit = (D, "- part\n", "- part\n- colour\n")
SILENCED: dict[str, list[Edit]] = {"a synonym": [SYNONYM], "an entity": [UNUSED], "both": [SYNONYM, UNUSED]}


@pytest.mark.parametrize("what", SILENCED)
def test_custom_component_removed(repository: Repository, what: str, golden: Golden) -> None:
    base = edited(WORKSHOP, (C, KEYWORDS, f"{LEXICAL}{KEYWORDS}{FINDER}"), *SILENCED[what])

    judged = repository.judged(base, edited(base, (C, LEXICAL, ""), (C, FINDER, "")))

    assert judged.code == 0
    about = [line.partition(" · ")[0] for line in judged.comment.splitlines() if "Lexical" in line or "Finder" in line]
    golden(*about)
    assert all("workshop.parts.Finder" in one["message_now"] for one in judged.comparison["new_findings"])


TALK = 'version: "3.1"\nstories:\n' + story(
    "a tandem", "intent: greet", "action: utter_greet", "intent: rent", "action: utter_rent"
)
ANOTHER_TALK = story("a tandem later", "intent: greet", "action: utter_greet", "intent: rent", "action: utter_repair")
NEW: dict[str, Edit] = {
    "it replaces one": (S, TALK, f'version: "3.1"\nstories:\n{ANOTHER_TALK}'),
    "beside one": (S, "", ANOTHER_TALK),
    "in a file of its own": ("data/more.yml", "", f'version: "3.1"\nstories:\n{ANOTHER_TALK}'),
}


@pytest.mark.parametrize("how", NEW)
def test_new_story_cause(repository: Repository, how: str, golden: Golden) -> None:
    base = {
        **edited(WORKSHOP, (C, RULES, "")),
        R: "",
        S: TALK + story("a chain", "intent: repair", "action: utter_repair"),
    }

    judged = repository.judged(base, edited(base, NEW[how]))

    assert (judged.code, judged.newly_failing) == (1, ["hello and a tandem"])
    (case,) = judged.comparison["stories"]["worse"]
    assert [cause["name"] for cause in case["causes"]] == ["a tandem later"]
    golden(judged.verdict["summary"])


# --- where each kind is tested ---------------------------------------------------------------------------------------

KINDS = {
    "base-core-partly": "test_base_core_partly",
    "custom-component-removed": "test_custom_component_removed",
    "custom-importer-domain": "test_custom_importer_domain",
    "custom-rule-policy": "test_custom_rule_policy",
    "domain-broken-removed": "test_domain_broken_removed",
    "entity-renamed-broken-annotation": "test_entity_renamed_broken_annotation",
    "env-in-config": "test_variables_of_files.py::test_base_and_change_get_the_same_values",
    "failed-to-misunderstood": "test_failed_to_misunderstood",
    "featurizer-still-there": "test_featurizer_still_there",
    "form-rule-cause": "test_causes_of_a_change.py::test_the_part_is_found_among_harmless_edits",
    "hidden-on-base": "test_hidden_on_base",
    "intent-renamed-in-two-steps": "test_intent_renamed_in_two_steps",
    "lfs-pointer": "test_lfs_pointer",
    "long-contradictions": "../unit/render/test_comment.py::test_what_names_each_other_is_one_entry",
    "many-ways": "../unit/dialogue/test_many_ways.py::test_ten_alternatives_of_three_intents_are_followed",
    "merge-markers": "test_merge_markers",
    "moved-assistant": "test_base_of_a_run.py::test_a_moved_assistant_that_a_flag_names_has_not_lost_its_tests",
    "new-story-cause": "test_new_story_cause",
    "one-contradiction-less": "test_one_contradiction_less",
    "parameter-yes": "test_parameter_yes",
    "rasa0-action-classes": "../unit/project/test_action_classes.py::"
    "test_an_action_has_the_name_that_its_class_returns",
    "rasa0-policies-in-code": "test_changes_of_older_rasas.py::"
    "test_policies_that_were_in_code_are_none_that_were_removed",
    "rasa1-config-not-yaml": "test_changes_of_older_rasas.py::"
    "test_nothing_is_judged_with_a_configuration_that_cannot_be_read",
    "rasa1-domain-not-yaml": "test_changes_of_older_rasas.py::"
    "test_stories_are_not_judged_with_a_domain_that_cannot_be_read",
    "response-renamed": "test_response_renamed",
    "response-split": "test_response_split",
    "response-variable-undefined": "../unit/validation/test_own_checks.py::test_the_variables_of_a_response_are_slots",
    "stories-become-responses": "test_changes_of_older_rasas.py::"
    "test_stories_that_are_read_as_something_else_are_not_just_passed",
    "suggestion-changed": "test_suggestion_changed",
    "tracker-fixture": "test_tracker_fixture",
    "unknown-parameter": "test_unknown_parameter",
}
"""Each kind of change that was judged wrongly once, and its test."""

CHECKS_OF_OURS = "../unit/validation/test_own_checks.py::"
REPORTED = {
    "azure-or-github-with-a-certificate-of-ones-own": "../unit/ci/test_time_budget.py::"
    "test_a_certificate_that_is_not_trusted_is_named_at_once_with_the_remedy",
    "bool-slot-yes": f"{CHECKS_OF_OURS}test_a_slot_holds_values_of_its_type",
    "botium-gitignore": "../unit/project/test_botium_ignored.py::"
    "test_ignored_conversations_are_no_tests_and_other_files_are",
    "botium-variable-unfilled": "../unit/evaluations/test_botium_judging.py::"
    "test_a_failure_shows_the_values_of_variables",
    "components-missing": f"{CHECKS_OF_OURS}test_each_part_of_the_nlu_data_needs_a_component",
    "convert-keeps-a-domain": "../unit/commands/test_convert.py::"
    "test_a_domain_of_rasa_2_keeps_what_rasa_3_reads_as_it_is",
    "dash-without-space": "../unit/yaml_tree/test_yaml_positions.py::test_a_dash_without_a_space_is_named",
    "default-response-unused": f"{CHECKS_OF_OURS}test_what_default_actions_and_policies_say_is_used",
    "direct-line-buttons": "../contract/test_http_presets.py::"
    "test_direct_line_has_buttons_beside_the_text_and_in_cards",
    "inputs-not-trimmed": "../unit/settings/test_settings.py::test_white_space_around_an_input_does_not_count",
    "lookup-unseen-chinese": f"{CHECKS_OF_OURS}test_entries_of_lookup_tables_are_seen_where_words_have_no_spaces",
    "openai-parts": "../contract/test_http_presets.py::test_the_parts_of_a_message_are_one_text",
    "openai-refusal": "../contract/test_http_presets.py::test_openai_may_refuse",
    "rasa0-cache": "../unit/engines/test_components_of_every_rasa.py::"
    "test_any_chain_learns_with_a_cache_what_it_learns_without_in_each_version",
    "retrieval-key-as-action": "../unit/project/test_test_names.py::"
    "test_an_action_with_a_key_of_a_retrieval_intent_is_told_what_runs",
    "retrieval-label-undefined": "../unit/project/test_test_names.py::"
    "test_what_only_a_test_story_names_is_a_note_beside_rasa_and_strictly_shown",
    "story-of-checkpoints": "../unit/project/test_read_stories.py::"
    "test_a_fault_is_named_with_its_place_and_the_rest_is_read",
    "synonym-unreached-but-extracted": f"{CHECKS_OF_OURS}test_only_what_learns_entities_may_extract_a_synonym",
}
"""Each kind that users reported in public and that was wrong or weak here, and its test."""


@pytest.mark.parametrize("kind", KINDS | REPORTED)
def test_each_kind_has_a_test(kind: str) -> None:
    file, _, name = (KINDS | REPORTED)[kind].rpartition("::")
    path = Path(__file__).parent / file if file else Path(__file__)
    assert f"def {name}(" in path.read_text("utf-8")
