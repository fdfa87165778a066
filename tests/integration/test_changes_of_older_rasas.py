"""Changes of projects for Rasa 0 and 1 against their base: judged as that version of Rasa would take them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden
from repository_at_work import git

from turncheck.cli import run_command_line

NLU = """## intent:greet
- hello
- good day
- good morning
- hi there
- hello again

## intent:lend
- lend me a book
- i want to borrow this
- may i take a novel home
- can i have that book
- lend it to me
"""
RASA_1 = {
    "config.yml": """language: en
pipeline:
- name: WhitespaceTokenizer
- name: DucklingHTTPExtractor
- name: KeywordIntentClassifier
policies:
- name: MemoizationPolicy
""",
    "domain.yml": """intents:
- greet
- lend
actions:
- utter_greet
- utter_lend
templates:
  utter_greet:
  - text: hello
  utter_lend:
  - text: here it is
""",
    "data/nlu.md": NLU,
    "data/stories.md": "## greets\n* greet\n  - utter_greet\n\n## lends\n* lend\n  - utter_lend\n",
    "tests/conversation_tests.md": "## borrow\n* lend: lend me a book\n  - utter_lend\n",
}
RASA_3 = {
    "config.yml": """recipe: default.v1
assistant_id: library
language: en
pipeline:
- name: WhitespaceTokenizer
- name: KeywordIntentClassifier
policies:
- name: MemoizationPolicy
""",
    "domain.yml": RASA_1["domain.yml"].replace("templates", 'version: "3.1"\nresponses'),
    "data/nlu.yml": 'version: "3.1"\nnlu:\n'
    + "".join(
        f"- intent: {name}\n  examples: |\n" + "".join(f"    - {word}\n" for word in words)
        for name, words in (
            ("greet", ("hello", "good day", "hi there", "hello again", "good evening")),
            ("lend", ("lend it", "may i have it", "a book please", "lend me that", "lend one to me")),
        )
    ),
    "data/stories.yml": """version: "3.1"
stories:
- story: greets at first
  steps:
  - intent: greet
  - action: utter_greet
""",
}
RASA_0 = {
    "nlu_config.yml": "language: en\npipeline:\n- name: tokenizer_whitespace\n- name: intent_classifier_keyword\n",
    "policies.yml": "policies:\n- name: MemoizationPolicy\n- name: KerasPolicy\n",
    "domain.yml": RASA_1["domain.yml"],
    "data/nlu.md": NLU,
    "data/stories.md": RASA_1["data/stories.md"],
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    return tmp_path


def commit(repository: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        path = repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty", "-m", "files")


def run(
    repository: Path, base: dict[str, str], change: dict[str, str | None]
) -> tuple[int, dict[str, Any], dict[str, Any]]:
    """Return the exit code, the verdict and the comparison of a change on this base."""
    commit(repository, dict(base))
    git(repository, "checkout", "-q", "-b", "change")
    commit(repository, change)
    exit_code = run_command_line(["run", "--base", "main", "-q", "--no-cache", "--out", "results"])
    verdict, comparison = (
        json.loads(Path("results", f"{name}.json").read_text()) for name in ("verdict", "comparison")
    )
    return exit_code, verdict, comparison


def gate(verdict: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in verdict["gates"] if one["name"] == name)
    return found


# A domain or a configuration that cannot be read.


BROKEN_DOMAIN = RASA_1["domain.yml"].replace("  utter_lend:\n", " utter_lend:\n")


@pytest.mark.parametrize(
    "domain",
    [BROKEN_DOMAIN, RASA_1["domain.yml"] + "intents:\n- greet\n", "intents: greet\n", "\tintents:\n", "- greet\n"],
    ids=["indented", "key twice", "section of a wrong type", "tab", "a list"],
)
def test_stories_are_not_judged_with_a_domain_that_cannot_be_read(
    repository: Path, domain: str, golden: Golden
) -> None:
    exit_code, verdict, _ = run(repository, RASA_1, {"domain.yml": domain})
    assert exit_code == 1
    could = gate(verdict, "could-be-run")
    assert could["outcome"] == "failed"
    golden(could["reason"], verdict["summary"])
    assert "(domain.yml:" in verdict["summary"]
    assert "newly fail" not in verdict["summary"]


@pytest.mark.parametrize(
    ("files", "name"),
    [
        (RASA_1, "config.yml"),
        ({**RASA_0, "tests/conversation_tests.md": RASA_1["tests/conversation_tests.md"]}, "nlu_config.yml"),
        ({**RASA_0, "tests/conversation_tests.md": RASA_1["tests/conversation_tests.md"]}, "policies.yml"),
    ],
)
@pytest.mark.parametrize("fault", ["is indented", "has a key twice"])
def test_nothing_is_judged_with_a_configuration_that_cannot_be_read(
    repository: Path, files: dict[str, str], name: str, fault: str, golden: Golden
) -> None:
    broken = (
        files[name].replace("\n- name:", "\n   - name:", 1) if fault == "is indented" else f"{files[name]}{files[name]}"
    )
    exit_code, verdict, comparison = run(repository, files, {name: broken})
    assert exit_code == 1
    could = gate(verdict, "could-be-run")
    assert could["outcome"] == "failed"
    golden(could["reason"])
    assert f"({name}:" in verdict["summary"]
    assert not comparison["unseen_changes"], "what cannot be read sets nothing"
    assert not comparison["changed_components"]


def test_keys_that_only_rasa_3_refuses_do_not_keep_an_older_project_from_being_judged(repository: Path) -> None:
    domain = (
        RASA_1["domain.yml"]
        + "action_factory: remote\nunknown: 1\nslots:\n  drink:\n    type: text\n    auto_fill: yes\n"
    )
    exit_code, verdict, _ = run(repository, RASA_1, {"domain.yml": domain})
    assert exit_code == 0, verdict["summary"]


# A file of Markdown that Rasa takes for something else.

AS_RESPONSES = RASA_1["data/stories.md"] + "\n## asks\n* faq/ask\n  - respond_faq\n"


@pytest.mark.parametrize(
    ("stories", "read_as", "line"),
    [
        (AS_RESPONSES, "responses", 10),
        (AS_RESPONSES.replace("  - ", "    - ").replace("\n\n", "\n"), "responses", 8),
        (RASA_1["data/stories.md"].replace("## lends", "## intent: lends"), "NLU data", 1),
    ],
    ids=["a key of a retrieval intent", "other white space", "a header of NLU data"],
)
def test_stories_that_are_read_as_something_else_are_not_just_passed(
    repository: Path, stories: str, read_as: str, line: int, golden: Golden
) -> None:
    without_tests = {name: text for name, text in RASA_1.items() if not name.startswith("tests/")}
    exit_code, verdict, comparison = run(repository, without_tests, {"data/stories.md": stories})
    assert exit_code == 0
    assert f"{read_as} (line {line})" in verdict["summary"]
    golden(verdict["reservation"], verdict["summary"])
    new = {(one["code"], one["location"]["line"]) for one in comparison["new_findings"]}
    assert new & {("markdown-read-otherwise", line), ("markdown-ignored", line)}


def test_one_of_several_files_that_is_read_as_something_else_is_a_reservation(repository: Path, golden: Golden) -> None:
    base = {**RASA_1, "data/more.md": "## both\n* greet\n  - utter_greet\n* lend\n  - utter_lend\n"}
    del base["tests/conversation_tests.md"]
    _, verdict, _ = run(repository, base, {"data/stories.md": AS_RESPONSES})
    golden(verdict["reservation"])


@pytest.mark.parametrize(
    ("kept", "without"),
    [("data/stories.md", "data/stories.yml"), ("data/stories.md", ""), ("data/nlu.md", "")],
    ids=["all stories", "some stories", "some sentences"],
)
def test_a_file_that_only_an_older_rasa_reads_is_no_longer_read(
    repository: Path, kept: str, without: str, golden: Golden
) -> None:
    """The project becomes one for Rasa 3, and a file in the old format is ``kept``."""
    base = {name: text for name, text in RASA_1.items() if not name.startswith("tests/")}
    more = "## intent:renew\n- renew it\n- once more\n- a week longer\n- prolong it\n- keep it longer\n"
    old = {f"data/{name}.md": None for name in ("nlu", "stories")}
    change = {**old, **{name: text for name, text in RASA_3.items() if name != without}, kept: base[kept]}

    _, verdict, _ = run(
        repository, {**base, "data/nlu.md": NLU + more}, {**change, **({kept: NLU + more} if "nlu" in kept else {})}
    )

    golden(verdict["reservation"], verdict["summary"])


@pytest.mark.parametrize("also", [(), ("domain/slots.yml",)], ids=len)
def test_what_cannot_be_read_is_named_where_nothing_fails(
    repository: Path, also: tuple[str, ...], golden: Golden
) -> None:
    base = {name: text for name, text in RASA_1.items() if not name.startswith(("tests/", "domain"))}
    base["domain/main.yml"] = RASA_1["domain.yml"]
    lists = ("domain/intents.yml", *also)
    _, verdict, _ = run(repository, base, dict.fromkeys(lists, "- greet\n"))
    golden(verdict["reservation"], verdict["summary"])
    assert all(name in verdict["summary"] for name in lists)


def test_stories_that_are_deleted_are_a_reservation(repository: Path, golden: Golden) -> None:
    base = {name: text for name, text in RASA_1.items() if not name.startswith("tests/")}
    _, verdict, _ = run(repository, base, {"data/stories.md": None})
    golden(verdict["reservation"])


# What the configuration names.

_TOKENIZER = "- name: WhitespaceTokenizer\n"
WITH_FEATURES = {
    **RASA_1,
    "config.yml": RASA_1["config.yml"].replace(_TOKENIZER, f"{_TOKENIZER}- name: CountVectorsFeaturizer\n"),
}


def test_policies_that_were_in_code_are_none_that_were_removed(repository: Path) -> None:
    base = {name: text for name, text in RASA_0.items() if name != "policies.yml"}
    base["train.py"] = "Agent('domain.yml', policies=[MemoizationPolicy(), KerasPolicy()])\n"
    exit_code, verdict, comparison = run(repository, base, {"policies.yml": RASA_0["policies.yml"]})
    assert exit_code == 0
    named = {(one["name"], one["change"]) for one in comparison["changed_components"]}
    assert named == {("MemoizationPolicy", "added"), ("KerasPolicy", "added")}
    assert "removed" not in verdict["summary"]


def test_stories_of_a_project_with_its_policies_in_code_are_judged(repository: Path, golden: Golden) -> None:
    base = {name: text for name, text in RASA_0.items() if name != "policies.yml"}
    base["tests/conversation_tests.md"] = "## borrow\n* lend\n  - utter_lend\n"
    exit_code, _, _ = run(repository, base, {"data/nlu.md": NLU + "- lend it\n"})
    assert exit_code == 0
    report = json.loads(Path("results/report.json").read_text())
    assert [story["passed"] for story in report["core"]["stories"]] == [True]
    replaced = [one["component"] for one in report["engine"]["substitutions"]]
    golden(*replaced)


@pytest.mark.parametrize(
    ("base", "name", "line"),
    [
        (RASA_1, "DucklingHTTPExtractor", "- name: DucklingHTTPExtractor\n"),
        (RASA_0, "ner_crf", "- name: ner_crf\n"),
        (WITH_FEATURES, "EmbeddingIntentClassifier", "- name: EmbeddingIntentClassifier\n"),
    ],
)
def test_components_have_the_names_that_the_configuration_has(
    repository: Path, base: dict[str, str], name: str, line: str
) -> None:
    config = "config.yml" if "config.yml" in base else "nlu_config.yml"
    pipeline = base[config].replace(line, "")
    classifier = next(one for one in pipeline.splitlines(keepends=True) if "eyword" in one)
    with_it = pipeline.replace(classifier, f"{line}{classifier}")
    _, _, comparison = run(repository, {**base, config: pipeline}, {config: with_it})
    changed = [one["name"] for one in comparison["changed_components"] if one["change"] == "added"]
    unseen = [one["component"] for one in comparison["unseen_changes"]]
    assert name in {*changed, *unseen}
    assert not {"DucklingEntityExtractor", "CRFEntityExtractor", "DIETClassifier"} & {*changed, *unseen}


# --- a fallback that moves from the policies to the pipeline ----------------------------------------------------------

SURE = RASA_1["config.yml"].replace(
    "- name: KeywordIntentClassifier\n", "- name: CountVectorsFeaturizer\n- name: DIETClassifier\n"
)
IN_THE_PIPELINE = SURE.replace("policies:", "- name: FallbackClassifier\n  threshold: 0.95\npolicies:")


@pytest.mark.parametrize(
    ("policy", "is_comparable"),
    [
        ("- name: FallbackPolicy\n  nlu_threshold: 0.95\n", False),
        ("- name: TwoStageFallbackPolicy\n  nlu_threshold: 0.95\n", False),
        ("- name: rasa.core.policies.fallback.FallbackPolicy\n", False),
        ("", True),
    ],
)
def test_the_threshold_of_a_policy_is_not_of_the_pipeline(
    repository: Path, policy: str, *, is_comparable: bool, golden: Golden
) -> None:
    domain = RASA_1["domain.yml"].replace("- lend\nactions", "- lend\n- out_of_scope\nactions")
    base = {**RASA_1, "config.yml": SURE + policy, "domain.yml": domain}

    _, verdict, comparison = run(repository, base, {"config.yml": IN_THE_PIPELINE})

    assert (comparison["fallback"] is not None) is is_comparable
    golden(verdict["summary"])
