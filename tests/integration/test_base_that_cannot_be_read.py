"""A base of which something cannot be read: who repairs it is not blamed for what it hid, nor excused for more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from golden_texts import Golden
from in_process import turncheck
from judged_changes import Files, Repository

CONFIG = """\
recipe: default.v1
assistant_id: library
language: en
pipeline:
- name: KeywordIntentClassifier
policies:
- name: RulePolicy
"""
DOMAIN = """\
version: "3.1"
intents: [greet, lend]
entities: [title]
responses:
  utter_greet:
  - text: Hello.
  utter_lend:
  - text: It is yours.
"""
NLU = """\
version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - hi there
- intent: lend
  examples: |
    - lend me [Dune](title)
    - borrow a book
"""
RULES = """\
version: "3.1"
rules:
- rule: greet
  steps:
  - intent: greet
  - action: utter_greet
- rule: lend
  steps:
  - intent: lend
  - action: utter_lend
"""
TESTS = """\
version: "3.1"
stories:
- story: greeting
  steps:
  - user: hello
    intent: greet
  - action: utter_greet
- story: lending
  steps:
  - user: borrow a book
    intent: lend
  - action: utter_lend
"""
PROJECT: Files = {
    "config.yml": CONFIG,
    "domain.yml": DOMAIN,
    "data/nlu.yml": NLU,
    "data/rules.yml": RULES,
    "tests/test_stories.yml": TESTS,
}
REFUSED_NAME = "- intent: keep/for/ever\n  examples: |\n    - I keep it\n"


def given(files: Files) -> Files:
    return {name: content for name, content in {**PROJECT, **files}.items() if content != ""}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path, PROJECT, ("validate", "core"))


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return text


OLD_ERROR = NLU + REFUSED_NAME
UNREADABLE: dict[str, str | bytes] = {
    "indentation": replaced(OLD_ERROR, ("- intent: lend", "  - intent: lend")),
    "a quote that is not closed": replaced(OLD_ERROR, ('version: "3.1"', 'version: "3.1')),
    "a tab": replaced(OLD_ERROR, ("  examples: |\n    - hello", "\texamples: |\n    - hello")),
    "a key that is unknown": replaced(OLD_ERROR, ("examples: |\n    - hello", "examplse: |\n    - hello")),
    "a key that appears twice": replaced(
        OLD_ERROR, ("- intent: lend\n", "  examples: |\n    - good day\n- intent: lend\n")
    ),
    "another encoding": replaced(OLD_ERROR, ("hi there", "hi thére")).encode("cp1252"),
    "markers of a conflict": replaced(
        OLD_ERROR, ("    - hi there\n", "<<<<<<< HEAD\n    - hi there\n=======\n    - hi you\n>>>>>>> other\n")
    ),
}


@pytest.mark.parametrize("fault", UNREADABLE)
def test_who_repairs_a_file_is_not_blamed_for_the_errors_in_it(repository: Repository, fault: str) -> None:
    repaired = replaced(OLD_ERROR, ("hi there", "hi thére")) if fault == "another encoding" else OLD_ERROR

    judged = repository.judged({"data/nlu.yml": UNREADABLE[fault]}, {"data/nlu.yml": repaired})

    assert judged.code == 0
    assert judged.new_errors == []
    assert set(judged.repaired) == {"data/nlu.yml"}
    assert judged.hidden == []
    assert judged.gate("gone-tests") == "passed"


NEW_ERROR = "- intent: wave/all/day\n  examples: |\n    - good morning\n"


@pytest.mark.parametrize("beside", [True, False], ids=["beside the repair", "at the end"])
@pytest.mark.parametrize("fault", UNREADABLE)
def test_who_repairs_a_file_and_breaks_something_in_it_does_not_pass(
    repository: Repository, fault: str, beside: bool
) -> None:
    repaired = replaced(OLD_ERROR, ("hi there", "hi thére")) if fault == "another encoding" else OLD_ERROR
    broken = (
        replaced(repaired, ("- intent: lend\n", f"{NEW_ERROR}- intent: lend\n")) if beside else repaired + NEW_ERROR
    )

    judged = repository.judged({"data/nlu.yml": UNREADABLE[fault]}, {"data/nlu.yml": broken})

    assert judged.code == 1
    assert judged.new_errors == ["intent-name-invalid"]


def test_the_comment_says_where_the_base_was_repaired_or_is_not_known(repository: Repository, golden: Golden) -> None:
    unreadable = {"data/nlu.yml": UNREADABLE["indentation"], "tests/test_old_stories.yml": "stories: [\n"}

    judged = repository.judged({**unreadable}, {"data/nlu.yml": OLD_ERROR})

    comment = (repository.folder / "results" / "comment.md").read_text()
    compared = next(line for line in comment.splitlines() if line.startswith("Compared with"))
    golden(compared.partition("evaluated here")[2])
    golden(next(gate["reason"] for gate in judged.verdict["gates"] if gate["name"] == "gone-tests"))


def test_new_errors_in_the_hunk_that_repairs_are_new(repository: Repository) -> None:
    unreadable = replaced(OLD_ERROR, ("- intent: lend", "  - intent: lend"))
    broken = replaced(
        OLD_ERROR, ("- intent: lend\n", "- intent: wave/it/now\n  examples: |\n    - now\n- intent: lend\n")
    )

    judged = repository.judged({"data/nlu.yml": unreadable}, {"data/nlu.yml": broken})

    assert judged.code == 1
    assert len(judged.new_errors) == 1


def test_a_line_that_repairs_and_is_wrong_itself_is_new(repository: Repository) -> None:
    two_keys = replaced(NLU, ("    - hi there\n", "    - hi there\n  examples: |\n    - good day\n"))
    parted = replaced(
        two_keys, ("  examples: |\n    - good day", "- intent: wave/all/day\n  examples: |\n    - good day")
    )

    judged = repository.judged({"data/nlu.yml": two_keys}, {"data/nlu.yml": parted})

    assert judged.code == 1
    assert set(judged.new_errors) == {"intent-name-invalid"}


UNREADABLE_RULES = {
    "indentation": replaced(RULES, ("- rule: lend", "  - rule: lend")),
    "a key that is unknown": replaced(RULES, ("- rule: lend\n  steps:", "- rule: lend\n  step:")),
    "a colon too many": replaced(RULES, ("  - intent: lend", "  - intent: lend: x")),
}


@pytest.mark.parametrize("fault", UNREADABLE_RULES)
def test_a_test_that_the_base_could_not_run_fails_there_too(repository: Repository, fault: str) -> None:
    test = replaced(TESTS, ("  - action: utter_lend", "  - action: utter_greet"))
    base: Files = {"data/rules.yml": UNREADABLE_RULES[fault], "tests/test_stories.yml": test}

    judged = repository.judged(base, {"tests/test_stories.yml": test})

    assert judged.code == 0
    assert judged.newly_failing == []
    assert judged.repaired


@pytest.mark.parametrize("fault", UNREADABLE_RULES)
def test_a_rule_that_is_broken_beside_the_repair_newly_fails_its_test(repository: Repository, fault: str) -> None:
    broken = replaced(RULES, ("  - action: utter_lend", "  - action: utter_greet"))

    judged = repository.judged({"data/rules.yml": UNREADABLE_RULES[fault]}, {"data/rules.yml": broken})

    assert judged.code == 1
    assert judged.newly_failing == ["lending"]


def test_a_rule_in_one_line_is_repaired_by_as_little_as_it_takes(repository: Repository) -> None:
    rule = "- {rule: lend, steps: [{intent: lend}, {action: utter_lend}]}\n"
    rules = RULES.partition("- rule: lend")[0]
    base: Files = {"data/rules.yml": rules + replaced(rule, ("utter_lend}]", "utter_lend}"))}
    change: Files = {"data/rules.yml": rules + replaced(rule, ("utter_lend", "utter_greet"))}

    judged = repository.judged(base, change)

    assert judged.code == 1
    assert judged.newly_failing == ["lending"]


@pytest.mark.parametrize("fault", ["indentation", "a key that is unknown"])
def test_what_fails_on_a_base_whose_repair_is_doubtful_is_not_said_to_be_unrun(
    repository: Repository, fault: str, golden: Golden
) -> None:
    tests: Files = {"tests/test_stories.yml": replaced(TESTS, ("  - action: utter_greet", "  - action: utter_lend"))}
    rewritten = RULES.replace("- rule: lend\n", "- rule: lend\n  wait_for_user_input: true\n")

    judged = repository.judged(
        {**tests, "data/rules.yml": UNREADABLE_RULES[fault]}, {**tests, "data/rules.yml": rewritten}
    )

    assert [one["base_passed"] for one in judged.comparison["stories"]["unknown"]] == [False]
    assert judged.gate("new-failures") == "not judged"
    comment = (repository.folder / "results" / "comment.md").read_text()
    assert "failing test" not in comment.rpartition("On the base too")[2]
    golden("\n".join([judged.verdict["summary"], *re.findall(r"#### .*fail.*|.*`new-failures`.*", comment)]))


STEPS_THAT_ARE_NONE = {
    "a word": "- rule: lend\n  steps: later\n",
    "a mapping": "- rule: lend\n  steps:\n    intent: lend\n",
}


@pytest.mark.parametrize("steps", STEPS_THAT_ARE_NONE)
def test_what_a_step_does_that_the_repair_adds_is_not_known_of_the_base(
    repository: Repository, steps: str, golden: Golden
) -> None:
    base: Files = {"data/rules.yml": RULES.partition("- rule: lend")[0] + STEPS_THAT_ARE_NONE[steps]}
    change: Files = {"data/rules.yml": replaced(RULES, ("  - action: utter_lend", "  - action: utter_greet"))}

    judged = repository.judged(base, change)

    assert judged.newly_failing == []
    assert [one["name"] for one in judged.comparison["stories"]["unknown"]] == ["lending"]
    assert judged.gate("new-failures") == "not judged"
    golden(judged.verdict["reservation"])


def test_another_rule_that_the_change_breaks_is_new_all_the_same(repository: Repository) -> None:
    base: Files = {"data/rules.yml": RULES.partition("- rule: lend")[0] + STEPS_THAT_ARE_NONE["a word"]}
    change: Files = {"data/rules.yml": replaced(RULES, ("  - action: utter_greet", "  - action: utter_lend"))}

    judged = repository.judged(base, change)

    assert judged.code == 1
    assert judged.newly_failing == ["greeting"]


def test_tests_that_the_repair_deletes_are_gone(repository: Repository) -> None:
    unreadable = replaced(TESTS, ("- story: greeting", "  - story: greeting"))
    left = TESTS.partition("- story: lending")[0]

    judged = repository.judged({"tests/test_stories.yml": unreadable}, {"tests/test_stories.yml": left})

    assert judged.code == 1
    assert [one["name"] for one in judged.comparison["stories"]["gone"]] == ["lending"]


def test_a_repaired_file_may_have_another_name_now(repository: Repository) -> None:
    unreadable = replaced(OLD_ERROR, ("- intent: lend", "  - intent: lend"))

    judged = repository.judged({"data/nlu.yml": unreadable}, {"data/nlu.yml": "", "data/sentences.yml": OLD_ERROR})

    assert judged.code == 0
    assert judged.repaired == ["data/nlu.yml"]
    assert judged.new_errors == []


REWORDED = {
    "a value": ("  - yes\n", "  - true\n"),
    "a key": ("  examplse: |\n", "  examplse: |-\n"),
    "an indentation": ("   - intent: lend\n", " - intent: lend\n"),
}


@pytest.mark.parametrize("fault", REWORDED)
def test_a_fault_that_is_only_worded_otherwise_is_not_repaired(repository: Repository, fault: str) -> None:
    old, new = REWORDED[fault]
    whole = {
        "a value": replaced(
            NLU, ("  examples: |\n    - hello\n    - hi there\n", f"  examples:\n  - text: hello\n{old}")
        ),
        "a key": replaced(NLU, ("  examples: |\n", old)),
        "an indentation": replaced(NLU, ("- intent: lend\n", old)),
    }[fault]

    judged = repository.judged({"data/nlu.yml": whole}, {"data/nlu.yml": replaced(whole, (old, new))})

    assert judged.code == 1
    assert judged.gate("could-be-run") == "failed"
    assert (judged.new_errors, judged.repaired) == ([], [])


ELSEWHERE = {
    "a key": ("- intent: {}\n  examples: |\n", "- intent: {}\n  examplse: |\n"),
    "an indentation": ("- intent: {}\n", "   - intent: {}\n"),
    "a key that appears twice": ("- intent: {}\n", "- intent: {}\n  intent: keep\n"),
}


@pytest.mark.parametrize("fault", ELSEWHERE)
def test_a_fault_that_is_repaired_and_made_anew_elsewhere_is_new(repository: Repository, fault: str) -> None:
    whole, broken = ELSEWHERE[fault]
    more = NLU + "- intent: keep\n  examples: |\n    - I keep it\n"
    at_first = replaced(more, (whole.format("lend"), broken.format("lend")))
    now = replaced(more, (whole.format("keep"), broken.format("keep")))

    judged = repository.judged({"data/nlu.yml": at_first}, {"data/nlu.yml": now})

    assert judged.code == 1
    assert len(judged.new_errors) == 1
    assert judged.repaired == ["data/nlu.yml"]


OF_ANOTHER_PROJECT = "nlu: [\n" + "".join(f"- {number} words of another project\n" for number in range(20))


def test_what_cannot_be_repaired_is_not_judged(repository: Repository, golden: Golden) -> None:
    """The file is another one now: nothing of it is a repair."""
    judged = repository.judged({"data/nlu.yml": OF_ANOTHER_PROJECT}, {"data/nlu.yml": OLD_ERROR})

    assert judged.code == 0
    assert judged.hidden == ["data/nlu.yml"]
    assert judged.repaired == judged.new_errors == []
    assert "intent-name-invalid" in [one["code"] for one in judged.comparison["unknown_findings"]]
    assert judged.gate("new-errors") == "not judged"
    golden(judged.verdict["reservation"])


def test_an_error_elsewhere_is_new_although_the_base_hides_something(repository: Repository) -> None:
    rules = replaced(RULES, ("  - action: utter_lend", "  - action: action_lend"))

    judged = repository.judged({"data/nlu.yml": OF_ANOTHER_PROJECT}, {"data/rules.yml": rules})

    assert judged.code == 1
    assert judged.new_errors


def test_a_test_file_that_is_deleted_unread_is_the_only_one_that_is_not_known(
    repository: Repository, golden: Golden
) -> None:
    unreadable = replaced(TESTS, ("- story: lending", "  - story: lending"))

    judged = repository.judged({"tests/test_old_stories.yml": unreadable}, {})

    assert judged.code == 0
    assert judged.gate("gone-tests") == "not judged"
    assert [one["files"] for one in judged.comparison["base_faults"]] == [["tests/test_old_stories.yml"]]
    golden(judged.verdict["reservation"])


DOMAINS = {
    "indentation": replaced(DOMAIN, ("  - text: It is yours.", "    - text: It is yours.\n  x")),
    "a key that appears twice": DOMAIN + "intents: [greet]\n",
    "a slot without a type": DOMAIN + "slots:\n  size:\n    mappings: []\n",
}


@pytest.mark.parametrize("fault", DOMAINS)
def test_nothing_is_removed_because_a_file_cannot_be_read(repository: Repository, fault: str) -> None:
    judged = repository.judged({}, {"domain.yml": DOMAINS[fault]})

    assert judged.code == 1
    assert judged.comparison["removed_items"] == []
    assert judged.comparison["renamed"] == []
    assert judged.comparison["intents"]["removed"] == judged.comparison["intents"]["added"] == []
    assert {one["location"]["path"] for one in judged.comparison["new_findings"]} == {"domain.yml"}


@pytest.mark.parametrize("fault", DOMAINS)
def test_nothing_is_new_because_a_file_could_not_be_read(repository: Repository, fault: str) -> None:
    judged = repository.judged({"domain.yml": DOMAINS[fault]}, {})

    assert judged.code == 0
    assert judged.comparison["new_findings"] == []
    assert judged.comparison["intents"]["added"] == []
    assert judged.comparison["changed_items"] == []
    assert judged.verdict["reservation"] == ""


FORMS = """\
slots:
  size:
    type: text
    mappings:
    - type: from_text
forms:
  size_form:
    required_slots: [size]
"""
AGAIN = """\
- rule: lend again
  steps:
  - intent: lend
  - action: utter_lend
"""
UNTRAINABLE: dict[str, tuple[Files, Files]] = {
    "forms without a policy": (
        {
            "domain.yml": DOMAIN + FORMS,
            "config.yml": replaced(CONFIG, ("- name: RulePolicy", "- name: MemoizationPolicy")),
        },
        {"domain.yml": DOMAIN + FORMS},
    ),
    "a component that is unknown": ({"config.yml": replaced(CONFIG, ("KeywordIntentC", "KeywordIntntC"))}, {}),
    "rules that contradict each other": (
        {"data/rules.yml": RULES + replaced(AGAIN, ("utter_lend", "utter_greet"))},
        {"data/rules.yml": RULES + AGAIN},
    ),
}


@pytest.mark.parametrize("fault", UNTRAINABLE)
def test_a_base_that_cannot_be_trained_is_repaired_and_its_tests_are_compared(
    repository: Repository, fault: str
) -> None:
    base, change = UNTRAINABLE[fault]
    rules = str(given(change)["data/rules.yml"])
    broken = replaced(rules, ("  - action: utter_greet", "  - action: utter_lend"))

    judged = repository.judged(base, {**change, "data/rules.yml": broken})

    assert judged.code == 1
    assert judged.newly_failing == ["greeting"]
    assert judged.repaired


@pytest.mark.parametrize("fault", UNTRAINABLE)
def test_a_test_that_an_untrainable_base_could_not_run_fails_there_too(
    repository: Repository, fault: str, golden: Golden
) -> None:
    base, change = UNTRAINABLE[fault]
    tests: Files = {"tests/test_stories.yml": replaced(TESTS, ("  - action: utter_greet", "  - action: utter_lend"))}

    judged = repository.judged({**base, **tests}, {**change, **tests})

    assert judged.code == 0
    assert judged.newly_failing == []
    golden(judged.verdict["reservation"])


@pytest.mark.parametrize("missing", ["domain.yml", "config.yml"])
def test_a_file_that_the_base_lacks_is_not_said_to_be_unreadable(
    repository: Repository, missing: str, golden: Golden
) -> None:
    repository.judged({missing: ""}, {})

    comment = (repository.folder / "results" / "comment.md").read_text()
    golden("\n".join(re.findall(r"evaluated here, from git(?:; .*?)?\.<br>|#### In the data, .*", comment)))


WITHOUT_PAYLOAD = DOMAIN + "  utter_more:\n  - buttons:\n    - title: More\n"


@pytest.mark.parametrize(
    ("base", "is_new"),
    [({"domain.yml": ""}, True), ({"domain.yml": "", "assistant/domain.yml": WITHOUT_PAYLOAD}, False)],
    ids=["no domain at all", "a domain under another name"],
)
def test_an_error_in_a_file_that_the_change_adds_is_new(repository: Repository, base: Files, is_new: bool) -> None:
    judged = repository.judged(base, {"domain.yml": WITHOUT_PAYLOAD})

    def places(kind: str) -> set[str]:
        return {one["location"]["path"] for one in judged.comparison[kind] if one["severity"] == "error"}

    assert places("new_findings") == ({"domain.yml"} if is_new else set())
    assert places("unknown_findings") == (set() if is_new else {"domain.yml"})
    assert judged.gate("new-errors") == ("failed" if is_new else "not judged")


def test_what_a_missing_domain_hides_in_other_files_is_not_known(repository: Repository) -> None:
    """A rule that contradicts another one, say: without a domain no dialogue is made."""
    old: Files = {"data/rules.yml": RULES + replaced(AGAIN, ("utter_lend", "utter_greet"))}

    judged = repository.judged({"domain.yml": "", **old}, old)

    assert judged.comparison["new_findings"] == []
    assert {one["location"]["path"] for one in judged.comparison["unknown_findings"]} == {"data/rules.yml"}


def test_beside_a_report_alone_what_the_base_hides_is_not_judged(repository: Repository, golden: Golden) -> None:
    base: Files = {"data/nlu.yml": UNREADABLE["indentation"]}
    repository.judged(base, {**base, "domain.yml": DOMAIN + "\n"})
    report = (repository.folder / "results" / "baseline.json").read_bytes()
    (repository.folder / "results").rename(repository.folder.parent / f"{repository.folder.name}-of-base")
    (repository.folder.parent / "base.json").write_bytes(report)
    repository.commit(given({"data/nlu.yml": OLD_ERROR}))

    gates = ("--fail-on", "new-errors", "new-failures")
    measured = ("--evaluations", "validate", "core", "--no-cache")
    done = turncheck("run", "--baseline", "../base.json", *gates, *measured, cwd=repository.folder)

    verdict = json.loads((repository.folder / "results" / "verdict.json").read_bytes())
    assert done.returncode == 0
    assert {gate["name"]: gate["outcome"] for gate in verdict["gates"]}["new-errors"] == "not judged"
    golden(verdict["reservation"])


TWICE = {name: f"  utter_{name}:\n  - text: once more\n" for name in ("first", "second", "third")}


@pytest.mark.parametrize("left", [("first",), ("second",), ("third",), ("first", "third"), ()])
def test_of_several_faults_of_a_kind_those_that_are_left_are_old(repository: Repository, left: tuple[str, ...]) -> None:
    written = DOMAIN.replace("responses:\n", "responses:\n" + "".join(TWICE.values()))

    judged = repository.judged(
        {"domain.yml": written + "".join(TWICE.values())},
        {"domain.yml": written + "".join(TWICE[name] for name in left)},
    )

    assert judged.new_errors == []
    gone = [one["message"] for one in judged.comparison["gone_findings"] if one["code"] == "yaml-duplicate-key"]
    assert not [words for words in gone if any(f"'utter_{name}'" in words for name in left)]


def test_a_fault_of_a_kind_that_is_repaired_elsewhere_is_new(repository: Repository) -> None:
    written = DOMAIN.replace("responses:\n", "responses:\n" + "".join(TWICE.values()))

    elsewhere = written.replace("  utter_greet:\n", f"{TWICE['third']}  utter_greet:\n")

    judged = repository.judged({"domain.yml": written + TWICE["first"]}, {"domain.yml": elsewhere})

    assert judged.new_errors == ["yaml-duplicate-key"]


MISSPELT = "- intent: keep\n  examplse: |\n    - I keep it\n"
ODD = "- rule: keep\n  stesp:\n  - intent: lend\n  - action: utter_lend\n"
UNTITLED = "- story: keeping\n  stesp:\n  - intent: lend\n  - action: utter_lend\n"
HEADS = {"nlu": 'version: "3.1"\nnlu:\n', "rules": 'version: "3.1"\nrules:\n', "stories": 'version: "3.1"\nstories:\n'}
TAKEN: dict[str, tuple[Files, Files]] = {
    "sentences": ({"data/nlu.yml": NLU + MISSPELT}, {"data/more.yml": HEADS["nlu"] + MISSPELT}),
    "a rule": ({"data/rules.yml": RULES + ODD}, {"data/more.yml": HEADS["rules"] + ODD}),
    "a test": ({"tests/test_stories.yml": TESTS + UNTITLED}, {"tests/test_more.yml": HEADS["stories"] + UNTITLED}),
}


@pytest.mark.parametrize("what", TAKEN)
def test_a_fault_that_is_taken_to_another_file_with_its_lines_is_old(repository: Repository, what: str) -> None:
    base, change = TAKEN[what]

    judged = repository.judged(base, change)

    assert (judged.new_errors, judged.repaired) == ([], [])
    assert judged.code == 1  # it still cannot be run


def test_a_fault_in_another_file_that_has_not_its_lines_is_new(repository: Repository) -> None:
    anew = HEADS["nlu"] + MISSPELT.replace("keep", "give")

    judged = repository.judged({"data/nlu.yml": NLU + MISSPELT}, {"data/more.yml": anew})

    assert judged.new_errors == ["schema-violation"]
    assert judged.repaired == ["data/nlu.yml"]


TABBED = DOMAIN.replace("  - text: Hello.\n", "\t- text: Hello.\n")
OLD_SYNTAX: Files = {
    "data/nlu.yml": "",
    "data/rules.yml": "",
    "config.yml": "language: en\npipeline: supervised_embeddings\npolicies:\n- name: MemoizationPolicy\n",
    "data/nlu.md": "## intent:greet\n- hello\n- hi there\n- good day\n\n## intent:lend\n- lend me one\n- borrow it\n",
}
NO_TESTS: dict[str, tuple[Files, Files]] = {
    "a domain": ({"domain.yml": TABBED}, {"domain.yml": TABBED.replace("It is yours", "Take it")}),
    "rules": ({"data/rules.yml": RULES + ODD}, {"data/rules.yml": RULES.replace("rule: lend", "rule: give") + ODD}),
    "an older domain": (
        {**OLD_SYNTAX, "domain.yml": TABBED.replace("responses", "templates")},
        {**OLD_SYNTAX, "domain.yml": TABBED.replace("responses", "templates") + "actions:\n- utter_greet\n"},
    ),
}


@pytest.mark.parametrize("what", NO_TESTS)
def test_what_neither_side_shows_is_never_said_to_be_unchanged(
    repository: Repository, what: str, golden: Golden
) -> None:
    base, change = ({**side, "tests/test_stories.yml": ""} for side in NO_TESTS[what])

    judged = Repository(repository.folder, PROJECT, ("validate", "nlu")).judged(base, change)

    assert judged.code or judged.verdict["reservation"]
    golden(judged.verdict["summary"])
    golden(judged.verdict["reservation"])


def test_endpoints_that_cannot_be_read_hide_nothing_that_is_compared(repository: Repository) -> None:
    broken = {"endpoints.yml": "action_endpoint: [nowhere]\n"}

    judged = repository.judged(broken, {**broken, "data/nlu.yml": NLU.replace("hi there", "hi you")})

    assert judged.report["unread"]
    assert judged.verdict["reservation"] == ""
