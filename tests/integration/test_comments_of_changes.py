"""A comment is about the change: what the base has too is a number, and nothing is said twice or of what is not so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from golden_texts import Golden
from judged_changes import WORKSHOP, Edit, Repository, edited

C, D, N, R, T = "config.yml", "domain.yml", "data/nlu.yml", "data/rules.yml", "tests/test_stories.yml"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def rule(name: str, *steps: str) -> str:
    return f"- rule: {name}\n  steps:\n" + "".join(f"  - {step}\n" for step in steps)


# --- remarks that hold for the base too ------------------------------------------------------------------------------

SELECTOR: Edit = (C, "policies:", "- name: ResponseSelector\npolicies:")
RARE: Edit = (N, "", "- intent: lend\n  examples: |\n    - lend me one\n")
ALSO_RARE: Edit = (N, "", "- intent: sell\n  examples: |\n    - buy one\n")
WORDED: Edit = (N, "- hi there", "- hey there")
REMARKS: dict[str, tuple[list[Edit], list[Edit], int]] = {
    "a component that is left out": ([SELECTOR], [WORDED], 0),
    "an intent that is not judged": ([RARE, (D, "- rent", "- rent\n- lend")], [WORDED], 0),
    "another component that is left out": ([], [SELECTOR], 1),
    "another intent that is not judged": ([RARE], [ALSO_RARE], 1),
    "fewer intents that are not judged": ([RARE, ALSO_RARE], [(N, ALSO_RARE[2], "")], 0),
}


@pytest.mark.parametrize("which", REMARKS)
def test_remarks_that_hold_for_the_base_too_are_a_number(repository: Repository, which: str) -> None:
    before, after, new = REMARKS[which]
    base = edited(WORKSHOP, *before)

    judged = repository.judged(base, edited(base, *after))

    assert judged.comment.count("ResponseSelector was left") + judged.comment.count("judged, with") == new
    assert ("remark on" in judged.comment) is not bool(new)


# --- a fact is said once ---------------------------------------------------------------------------------------------

RENT = "- intent: rent\n  examples: |\n    - rent a bicycle\n    - take one for a day\n    - how much is a tandem\n"
LEND = "- intent: lend\n  examples: |\n" + "".join(f"    - lend me {what}\n" for what in ("a pump", "oil", "a key"))
MORE = "".join(f"    - may I borrow {what}\n" for what in ("a lock", "a helmet", "tools"))
LOST: dict[str, list[Edit]] = {
    "its examples": [(N, RENT, "")],
    "itself": [(N, RENT, ""), (D, "- rent\n", "")],
    "its examples, as another one lost some": [(N, RENT, ""), (N, MORE, "")],
}


@pytest.mark.parametrize("what", LOST)
def test_an_intent_that_lost_its_sentences_is_named_once(repository: Repository, what: str, golden: Golden) -> None:
    base = edited(WORKSHOP, (N, "", LEND + MORE), (D, "- rent\n", "- rent\n- lend\n"))

    judged = repository.judged(base, edited(base, *LOST[what]))

    golden(judged.verdict["summary"])
    assert judged.verdict["summary"].count("'rent'") == 1


# --- entities that only a component can find that was left out --------------------------------------------------------

DUCKLING: Edit = (C, "policies:", "- name: DucklingEntityExtractor\n  url: http://localhost:9\npolicies:")
OWN: Edit = (C, "policies:", "- name: parts.MailExtractor\npolicies:")
ENTITIES: Edit = (D, "- part\n", "- part\n- email\n- number\n")
MAILED: Edit = (T, "please mend it\n", "please mend it, [me@bike.example](email)\n")
COUNTED: Edit = (T, "how much is a tandem\n", "how much are [2](number)\n")
LEARNT: Edit = (N, "- please mend it\n", "- please mend it\n    - mend it, [you@bike.example](email)\n")
FOUND: dict[str, tuple[list[Edit], list[Edit], str]] = {
    "by Duckling": ([DUCKLING], [MAILED], "`email`: `DucklingEntityExtractor`, which was left out,"),
    "by one of the project's own": (
        [OWN],
        [MAILED],
        "`email`: `parts.MailExtractor`, which was left out,",
    ),
    "several": ([DUCKLING], [MAILED, COUNTED], "`email`, `number`: `DucklingEntityExtractor`, which was left out,"),
    "by what is learnt": ([DUCKLING, LEARNT], [MAILED], ""),
    "by nothing": ([], [MAILED], ""),
}


@pytest.mark.parametrize("what", FOUND)
def test_entities_that_only_a_component_can_find_that_was_left_out(repository: Repository, what: str) -> None:
    before, after, said = FOUND[what]
    base = edited(WORKSHOP, ENTITIES, *before)

    judged = repository.judged(base, edited(base, *after))

    assert said in judged.comment
    assert ("No training" in judged.comment) is bool(said)


# --- a rule that is wrong by itself ----------------------------------------------------------------------------------

ALONE: dict[str, list[Edit]] = {
    "two messages": [(R, "", rule("both", "intent: greet", "action: utter_greet", "intent: rent"))],
    "one more message": [(R, "  - action: utter_repair\n", "  - action: utter_repair\n  - intent: rent\n")],
    "two messages in two rules": [
        (R, "  - action: utter_repair\n", "  - action: utter_repair\n  - intent: rent\n"),
        (R, "  - action: utter_rent\n", "  - action: utter_rent\n  - intent: greet\n"),
    ],
}


@pytest.mark.parametrize("what", ALONE)
def test_a_rule_that_is_wrong_by_itself_contradicts_nothing(repository: Repository, what: str, golden: Golden) -> None:
    judged = repository.judged({}, edited(WORKSHOP, *ALONE[what]))

    assert set(judged.new_errors) == {"rule-contradiction"}
    golden("\n".join(f"{one['message']} {one['hint']}" for one in judged.comparison["new_findings"]))


# --- equal stories, of which Rasa keeps one or the other --------------------------------------------------------------

TURNS = {name: [f"intent: {name}", f"action: utter_{name}"] for name in ("greet", "repair", "rent")}
S = "data/stories.yml"


def _story(name: str, *turns: str) -> str:
    return rule(name, *(step for turn in turns for step in TURNS[turn])).replace("- rule:", "- story:")


def _with_equal_stories(number: int, more: str = "") -> dict[str, str]:
    others = [_story(f"path {n}", *("rent" if n >> bit & 1 else "repair" for bit in range(5))) for n in range(number)]
    twins = [_story(name, "greet") + "  - action: utter_rent\n" for name in ("one", "the same")]
    stories = [more, *others, *twins, _story("another", "greet", "rent")]
    learnt = edited(WORKSHOP, (C, "- name: RulePolicy\n", ""))[C]
    return {S: 'version: "3.1"\nstories:\n' + "".join(stories), R: "", C: str(learnt)}


@pytest.mark.parametrize("number", [6, 7, 8])
def test_a_story_more_does_not_change_who_contradicts_whom(repository: Repository, number: int) -> None:
    base = _with_equal_stories(number)
    change = _with_equal_stories(number, _story("one more", "repair", "rent", "rent", "rent", "rent", "rent"))

    judged = repository.judged(base, change)

    assert "story-conflict" in {one["code"] for one in judged.report["validation"]["findings"]}
    assert judged.comparison["new_findings"] == judged.comparison["gone_findings"] == []


EQUAL_RULES = [
    rule("one", "intent: greet", "action: utter_greet"),
    rule("the same", "intent: greet", "action: utter_greet"),
    rule("another", "intent: greet", "action: utter_rent"),
]
UNRELATED = {
    "a rule above": rule("new", "intent: rent", "action: utter_rent"),
    "a rule whose name comes first": rule("a", "intent: repair", "action: utter_repair"),
    "two rules": rule("a", "intent: repair", "action: utter_repair") + rule("z", "intent: rent", "action: utter_rent"),
    "rules that contradict each other": "".join(
        rule(f"path {n}", "intent: repair", *["action: utter_repair"] * n) for n in range(1, 8)
    ),
}


@pytest.mark.parametrize("what", UNRELATED)
def test_an_unrelated_rule_does_not_change_who_contradicts_whom(repository: Repository, what: str) -> None:
    base, change = ({R: 'version: "3.1"\nrules:\n' + more + "".join(EQUAL_RULES)} for more in ("", UNRELATED[what]))

    judged = repository.judged(base, change)

    assert "rule-contradiction" in judged.errors
    changed = [one for kind in ("new_findings", "gone_findings") for one in judged.comparison[kind]]
    contradictions = [one["message"] for one in changed if one["code"] == "rule-contradiction"]
    assert not [words for words in contradictions if re.search("'(one|the same|another)'", words)]


# --- what is only a name ----------------------------------------------------------------------------------------------

LISTED: Edit = (D, "- rent\n", "- rent\n- lend\n- sell\n")
SAID: Edit = (N, "", "- intent: lend\n  examples: |\n    - lend me one\n")
USED: Edit = (R, "", rule("lend", "intent: lend", "action: utter_rent"))
NAMED_ONLY: dict[str, tuple[list[Edit], list[str]]] = {
    "neither said nor used": ([LISTED], ["intent-unused"] * 2),
    "one of two is said": ([LISTED, SAID], ["intent-unused"] * 2),
    "one of two is used": ([LISTED, USED], ["intent-without-examples", "intent-unused"]),
}


@pytest.mark.parametrize("what", NAMED_ONLY)
def test_an_intent_that_is_only_a_name_is_one_entry(repository: Repository, what: str) -> None:
    edits, codes = NAMED_ONLY[what]

    judged = repository.judged({}, edited(WORKSHOP, *edits))

    assert re.findall(r"^- ⚠️ `(intent-\w+(?:-\w+)*)`", judged.comment, re.MULTILINE) == codes
    assert judged.comment.count("`sell` is listed") == 1


# --- what is written in one way throughout a file --------------------------------------------------------------------

CUT = "".join(
    f"    - the {word[:-1]}[{word[-1]}](part) fell off\n" for word in ("bell", "lamp", "lock", "pump", "fork")
)
THROUGHOUT: dict[str, tuple[dict[str, str | bytes], str]] = {
    "annotations": (edited(WORKSHOP, (N, "- intent: rent\n", CUT + "- intent: rent\n")), "annotation-misaligned"),
    "examples that are gone": (
        {N: 'version: "3.1"\nnlu:\n- intent: lend\n  examples: |\n    - lend me one\n'},
        "intent-without-examples",
    ),
    "keys of a domain": (edited(WORKSHOP, (D, "  - text:", "  - txt:")), "schema-violation"),
    "keys": (edited(WORKSHOP, (R, "  steps:", "  stps:")), "schema-violation"),
}


@pytest.mark.parametrize("what", THROUGHOUT)
def test_what_is_written_in_one_way_throughout_a_file_is_one_entry(repository: Repository, what: str) -> None:
    change, code = THROUGHOUT[what]

    judged = repository.judged({}, change)

    assert sum(one["code"] == code for one in judged.comparison["new_findings"]) > 2
    assert len(re.findall(rf"^- .{{1,3}} `{code}`", judged.comment, re.MULTILINE)) == 1


# --- lists of words under another name --------------------------------------------------------------------------------

LOOKUP: Edit = (N, "", "- lookup: parts\n  examples: |\n    - saddle\n    - chain\n    - bell\n")
REGEX: Edit = (N, "", "- regex: number\n  examples: |\n    - \\d+\n")
SYNONYM: Edit = (N, "", "- synonym: saddle\n  examples: |\n    - seat\n")
WORDS: dict[str, tuple[Edit, Edit, list[str]]] = {
    "a lookup table": (LOOKUP, (N, "lookup: parts", "lookup: part"), []),
    "a pattern": (REGEX, (N, "regex: number", "regex: digits"), []),
    "what synonyms stand for": (SYNONYM, (N, "synonym: saddle", "synonym: a saddle"), ["saddle"]),
    "a lookup table that lost a word": (
        LOOKUP,
        (N, "lookup: parts\n  examples: |\n    - saddle\n", "lookup: part\n  examples: |\n"),
        ["parts"],
    ),
}


@pytest.mark.parametrize("what", WORDS)
def test_words_under_another_name_are_not_gone(repository: Repository, what: str) -> None:
    before, after, removed = WORDS[what]
    base = edited(WORKSHOP, before)

    judged = repository.judged(base, edited(base, after))

    assert [one["name"] for one in judged.comparison["removed_items"]] == removed
    codes = {one["code"] for kind in ("new_findings", "gone_findings") for one in judged.comparison[kind]}
    assert not codes or removed


# --- a list whose key is gone -----------------------------------------------------------------------------------------

KEYLESS: dict[str, tuple[Edit, str]] = {
    "test stories": ((T, 'version: "3.1"\nstories:\n', ""), "Write `stories:` above the first `- story:`."),
    "rules": ((R, "rules:\n", ""), "Write `rules:` above the first `- rule:`."),
    "sentences": ((N, "nlu:\n", "# nlu:\n"), "Write `nlu:` above the first `- intent:`."),
}


@pytest.mark.parametrize("what", KEYLESS)
def test_a_list_whose_key_is_gone_is_called_so(repository: Repository, what: str) -> None:
    edit, hint = KEYLESS[what]

    judged = repository.judged({}, edited(WORKSHOP, edit))

    assert hint in {one["hint"] for one in judged.comparison["new_findings"]}


def test_a_list_below_a_key_of_something_else_lacks_none(repository: Repository) -> None:
    notes = {"data/notes.yml": "examples_of_flows:\n- story: hello\n  steps: []\n"}

    judged = repository.judged({}, notes)

    assert (judged.code, judged.new_errors) == (0, [])


# --- intents that become keys of one, and keys that become intents ----------------------------------------------------

TOPICS = ("hours", "price", "shop")


def _asked(sign: str) -> str:
    words = ("where are your", "when do you have", "tell me about")
    return "".join(
        f"- intent: faq{sign}{topic}\n  examples: |\n" + "".join(f"    - {word} {topic}\n" for word in words)
        for topic in TOPICS
    )


def _answered(sign: str) -> str:
    return "".join(f"  utter_faq{sign}{topic}:\n  - text: About the {topic}.\n" for topic in TOPICS)


def _with(sign: str, intents: str, rules: str) -> dict[str, str | bytes]:
    return edited(
        WORKSHOP,
        (N, "", _asked(sign)),
        (D, "- rent\n", f"- rent\n{intents}"),
        (D, "responses:\n", f"responses:\n{_answered(sign)}"),
        (R, "", rules),
    )


APART = _with(
    "_",
    "".join(f"- faq_{topic}\n" for topic in TOPICS),
    "".join(rule(f"faq {topic}", f"intent: faq_{topic}", f"action: utter_faq_{topic}") for topic in TOPICS),
)
AS_KEYS = _with("/", "- faq\n", rule("faq", "intent: faq", "action: utter_faq"))
ALONE_APART = edited(
    AS_KEYS, (N, "faq/shop", "faq_shop"), (D, "faq/shop", "faq_shop"), (D, "- faq\n", "- faq\n- faq_shop\n")
)
KEYS = {
    "intents become keys": (APART, AS_KEYS),
    "keys become intents": (AS_KEYS, APART),
    "one key becomes an intent": (AS_KEYS, ALONE_APART),
    "one intent becomes a key": (ALONE_APART, AS_KEYS),
}


@pytest.mark.parametrize("which", KEYS)
def test_intents_that_become_keys_have_another_name(repository: Repository, which: str) -> None:
    base, change = KEYS[which]

    judged = repository.judged(base, change)

    assert judged.comparison["cut_intents"] == judged.comparison["relabelled"] == []
    renamed = {(one["old"], one["new"]) for one in judged.comparison["renamed"] if one["kind"] == "intents"}
    topics = {"shop"} if which.startswith("one") else set(TOPICS)
    is_key = which.endswith(("key", "keys"))
    assert renamed == {(f"faq{'_/'[not is_key]}{topic}", f"faq{'_/'[is_key]}{topic}") for topic in topics}


# --- stories that become rules ----------------------------------------------------------------------------------------

HELLO = rule("say hello", "intent: greet", "action: utter_greet")
AS_STORY: Edit = (S, "", 'version: "3.1"\nstories:\n' + HELLO.replace("- rule:", "- story:"))
TURNED: dict[str, tuple[list[Edit], list[str]]] = {
    "a rule becomes a story": ([(R, HELLO, ""), AS_STORY], []),
    "a rule becomes a story of another name": (
        [(R, HELLO, ""), (S, "", str(AS_STORY[2]).replace("say hello", "good day"))],
        ["say hello"],
    ),
    "a rule is gone": ([(R, HELLO, "")], ["say hello"]),
}


@pytest.mark.parametrize("how", TURNED)
def test_a_rule_that_is_a_story_now_is_not_gone(repository: Repository, how: str) -> None:
    edits, removed = TURNED[how]

    judged = repository.judged({}, edited(WORKSHOP, *edits))

    assert [one["name"] for one in judged.comparison["removed_items"]] == removed


# --- entities under a name that is not alike --------------------------------------------------------------------------

PARTS = "".join(f"    - the {part} fell off\n" for part in ("[bell](part)", "[lamp](part)", "[pump](part)"))
ENTITY_RENAMED: dict[str, tuple[list[Edit], set[tuple[str, str]]]] = {
    "everywhere": ([(N, "(part)", "(component)"), (D, "- part", "- component")], {("part", "component")}),
    "and one sentence less": (
        [(N, "(part)", "(component)"), (N, "    - the [lamp](component) fell off\n", ""), (D, "- part", "- component")],
        {("part", "component")},
    ),
    "to two others": (
        [
            (N, "the [", "the [new "),
            (N, "](part)", "](component)"),
            (N, "my [saddle](component)", "my [saddle](seat)"),
            (D, "- part", "- component\n- seat"),
        ],
        set(),
    ),
}


@pytest.mark.parametrize("how", ENTITY_RENAMED)
def test_an_entity_is_known_by_the_sentences_with_it(repository: Repository, how: str) -> None:
    edits, renamed = ENTITY_RENAMED[how]
    base = edited(WORKSHOP, (N, "- intent: rent\n", PARTS + "- intent: rent\n"))

    judged = repository.judged(base, edited(base, *edits))

    assert {(one["old"], one["new"]) for one in judged.comparison["renamed"]} == renamed
    assert (judged.comparison["stripped"] == []) is bool(renamed)


# --- a base that has no assistant, and one with the same fault --------------------------------------------------------

NOTHING_THERE = {
    "data of something else": {"data/corpus.yml": "categories: [travel]\nconversations: [[hello, hi]]\n"},
    "no file but a page": {"README.md": "A bot will be here.\n"},
    "code": {"actions/actions.py": "NUMBER = 1\n"},
}


@pytest.mark.parametrize("what", NOTHING_THERE)
def test_a_base_without_an_assistant_is_no_baseline(tmp_path: Path, what: str, golden: Golden) -> None:
    repository = Repository(tmp_path, project={})

    judged = repository.judged(NOTHING_THERE[what], WORKSHOP)

    assert judged.comparison["baseline"]["status"] == "missing"
    golden(re.sub("[0-9a-f]{8,}", "COMMIT", judged.comparison["baseline"]["reason"]))


# --- a policy that could not be trained, and is removed with its parameters -------------------------------------------

REFUSED = {
    "last": "- name: TwoStageFallbackPolicy\n  nlu_threshold: 0.4\n  core_threshold: 0.3\n",
    "first": "- name: FormPolicy\n  priority: 6\n",
    "with one parameter": "- name: TwoStageFallbackPolicy\n  nlu_threshold: 0.4\n",
}


@pytest.mark.parametrize("which", REFUSED)
def test_parameters_of_a_removed_policy_belong_to_no_other(repository: Repository, which: str) -> None:
    refused = REFUSED[which]
    other = "- name: MemoizationPolicy\n"
    stories = {"data/stories.yml": 'version: "3.1"\nstories:\n' + _story("hello", "greet"), R: ""}
    policies = f"{refused}{other}" if which == "first" else f"{other}{refused}"
    written = str(WORKSHOP[C]).partition("policies:\n")[0] + "policies:\n"

    judged = repository.judged({**stories, C: written + policies}, {**stories, C: written + other})

    assert {part["change"] for part in judged.comparison["changed_components"]} <= {"removed"}
    assert not [one for one in judged.comparison["unseen_changes"] if one["parameter"]]


# --- tests that the base has and could not run -----------------------------------------------------------------------


@pytest.mark.parametrize("also", [{}, {"tests/test_more.yml": WORKSHOP[T]}], ids=["an old test", "and a new one"])
def test_a_test_that_the_base_could_not_run_is_not_called_new(
    repository: Repository, also: dict[str, str | bytes]
) -> None:
    form = (D, "", "forms:\n  a_form: {required_slots: [part]}\nslots:\n  part: {type: text, mappings: []}\n")
    repaired = edited(WORKSHOP, form, (T, "action: utter_greet", "action: utter_rent"))
    other = rule("other", "intent: rent", "action: utter_greet")
    twice = {R: f"{repaired[R]!s}{other}"}  # found once rules are learned
    base = {**repaired, **twice, C: str(repaired[C]).replace("- name: RulePolicy\n", "")}

    judged = repository.judged(base, {**repaired, **also})

    section = judged.comment.partition("#### Failing tests")[2].partition("####")[0]
    assert section
    assert "(new)" not in section


# --- a data file that was deleted -------------------------------------------------------------------------------------

RESPONSES = 'version: "3.1"\nresponses:\n  utter_greet:\n  - text: Good day.\n'
SPLIT: dict[str, str | bytes] = {
    D: "",
    "domain/main.yml": str(WORKSHOP[D]).replace(
        "  utter_greet:\n  - text: Good day, what does your bicycle lack?\n", ""
    ),
    "domain/greetings.yml": RESPONSES,
}
MORE_SENTENCES = 'version: "3.1"\nnlu:\n- intent: lend\n  examples: |\n    - lend me a pump\n    - lend me oil\n'
LENT = edited(WORKSHOP, (D, "- rent\n", "- rent\n- lend\n"))
DELETED: dict[str, tuple[dict[str, str | bytes], dict[str, str | bytes]]] = {
    "all sentences": ({}, {N: ""}),
    "all rules": ({}, {R: ""}),
    "an intent's sentences": ({**LENT, "data/more.yml": MORE_SENTENCES}, {**LENT, "data/more.yml": ""}),
    "responses": (SPLIT, {**SPLIT, "domain/greetings.yml": ""}),
}


@pytest.mark.parametrize("what", DELETED)
def test_a_deleted_file_is_named_as_the_cause_of_what_it_breaks(
    repository: Repository, what: str, golden: Golden
) -> None:
    base, change = DELETED[what]

    judged = repository.judged(base, change)

    (deleted,) = judged.comparison["deleted_files"]
    assert judged.code == 1
    golden(judged.verdict["summary"])
    golden(next(line for line in judged.comment.splitlines() if line.startswith(f"- ⚠️ `{deleted['path']}`")))


def test_a_deleted_file_is_no_cause_of_what_could_not_be_run_before(repository: Repository, golden: Golden) -> None:
    base = {**LENT, C: "", "data/more.yml": MORE_SENTENCES}

    judged = repository.judged(base, {**base, "data/more.yml": ""})

    golden(judged.verdict["summary"])
    assert judged.verdict["summary"].index("'data/more.yml'") > judged.verdict["summary"].index("config.yml")


OF_REPAIR, OF_RENT = ("intent: repair", "action: utter_repair"), ("intent: rent", "action: utter_rent")
TWINS = {
    "in another file, too": rule("twin", *OF_RENT),
    "twice in the file": rule("other", *OF_RENT) + rule("other", *OF_REPAIR),
}


@pytest.mark.parametrize("where", TWINS)
def test_a_deleted_file_counts_what_has_a_name_that_others_have(repository: Repository, where: str) -> None:
    more = {"data/more.yml": f'version: "3.1"\nrules:\n{TWINS[where]}'}
    kept = edited(WORKSHOP, (R, "", rule("twin", *OF_REPAIR)))

    judged = repository.judged({**kept, **more}, {**kept, "data/more.yml": ""})

    (deleted,) = judged.comparison["deleted_files"]
    removed = [part for part in judged.comparison["removed_items"] if part["location"]["path"] == "data/more.yml"]
    assert deleted["blocks"] == len(removed) == TWINS[where].count("- rule:")


def test_a_deleted_file_is_named_from_the_top_of_the_repository(tmp_path: Path) -> None:
    more = {"bot/data/more.yml": MORE_SENTENCES}
    repository = Repository(tmp_path, {f"bot/{name}": content for name, content in LENT.items()})

    judged = repository.judged(more, dict.fromkeys(more, ""), "--project", "bot")

    assert "`bot/data/more.yml` was deleted" in judged.comment


COPY = {"data/copy.yml": WORKSHOP[N]}
KEPT: dict[str, tuple[dict[str, str | bytes], dict[str, str | bytes]]] = {
    "a file that was moved": ({}, {N: "", "data/sentences.yml": WORKSHOP[N]}),
    "a file that was split": (
        {},
        {
            N: "",
            "data/one.yml": str(WORKSHOP[N]).partition("- intent: repair")[0],
            "data/two.yml": 'version: "3.1"\nnlu:\n- intent: repair'
            + str(WORKSHOP[N]).partition("- intent: repair")[2],
        },
    ),
    "a copy": (COPY, {"data/copy.yml": ""}),
}


@pytest.mark.parametrize("what", KEPT)
def test_a_deleted_file_whose_data_are_elsewhere_is_no_news(repository: Repository, what: str) -> None:
    base, change = KEPT[what]

    judged = repository.judged(base, change)

    assert judged.comparison["deleted_files"] == []


# --- a threshold that is gone with what it is about -------------------------------------------------------------------

UNSURE = str(WORKSHOP[C]).replace("policies:", "- name: FallbackClassifier\n  threshold: 0.99\npolicies:")
LEARNT_INTENTS = UNSURE.replace("KeywordIntentClassifier", "DIETClassifier")
CLASSIFIED: dict[str, tuple[str, bool]] = {
    "as before": (LEARNT_INTENTS.replace("- name: FallbackClassifier\n  threshold: 0.99\n", ""), True),
    "by nothing": (str(WORKSHOP[C]).replace("- name: KeywordIntentClassifier\n", ""), False),
    "by nothing, with entities": (str(WORKSHOP[C]).replace("KeywordIntentClassifier", "CRFEntityExtractor"), False),
}


@pytest.mark.parametrize("how", CLASSIFIED)
def test_what_no_component_classifies_is_not_taken_for_a_wrong_intent(repository: Repository, how: str) -> None:
    after, is_taken = CLASSIFIED[how]

    judged = repository.judged({C: LEARNT_INTENTS}, {C: after})

    assert bool((judged.comparison["fallback"] or {}).get("newly_wrong")) is is_taken


# --- a rule or story with another name --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rent", "utter_rent", "hand one out"])
@pytest.mark.parametrize("kind", ["rule", "story"])
def test_a_rule_or_story_that_has_only_another_name_is_not_removed(
    repository: Repository, name: str, kind: str
) -> None:
    as_stories = str(WORKSHOP[R]).replace("rules:", "stories:").replace("- rule:", "- story:")
    written = as_stories if kind == "story" else str(WORKSHOP[R])
    base = written.replace("hand one out", name)

    judged = repository.judged({R: base}, {R: base.replace(f"{kind}: {name}", f"{kind}: a bicycle for a day")})

    assert judged.comparison["removed_items"] == []


# --- the code of custom actions ---------------------------------------------------------------------------------------

BOOK = (
    'class Book(Action):\n    def name(self):\n        return "action_book"\n\n    def run(self):\n        return []\n'
)
BROKEN = f"{BOOK}\nclass Other:\n'''Not indented.'''\n"
OTHER_RESULT = BOOK.replace("[]", "[1]")
CODE_OF_ACTIONS: dict[str, tuple[str, str, str]] = {
    "its class is deleted": (BOOK, "", ", which has no readable code now"),
    "its file cannot be read": (BOOK, BROKEN, ", which has no readable code now"),
    "its file can be read": (BROKEN, BOOK, ", which has no readable code on the base"),
    "it is written": ("", BOOK, ", which has no readable code on the base"),
    "it is edited": (BOOK, OTHER_RESULT, ""),
    "it is edited and broken": (BROKEN, BROKEN.replace("[]", "[1]"), "nothing"),
}


@pytest.mark.parametrize("where", ["in a rule", "in a flow"])
@pytest.mark.parametrize("how", CODE_OF_ACTIONS)
def test_code_that_one_side_lacks_is_not_called_changed(repository: Repository, how: str, where: str) -> None:
    before, after, words = CODE_OF_ACTIONS[how]
    flow = "flows:\n  book:\n    description: book one\n    steps:\n    - action: action_book\n"
    files = edited(WORKSHOP, (D, "", "actions:\n- action_book\n"))
    files |= {"data/flows.yml": flow} if where == "in a flow" else {}

    judged = repository.judged({**files, "actions.py": before}, {**files, "actions.py": after})

    verb = "changed action" if words == "" else "action"
    entry = [line for line in judged.comment.splitlines() if "action_book" in line]
    assert [line.partition(" · ")[0] for line in entry] == (
        [] if words == "nothing" else [f"- {verb} `action_book`{words}"]
    )


@pytest.mark.parametrize("data", ["data", "data_of_the_bot"])
def test_what_tests_have_that_were_not_run_is_not_called_reached(repository: Repository, data: str) -> None:
    files = {name.replace("data/", f"{data}/"): content for name, content in WORKSHOP.items()}
    gone: dict[str, str | bytes] = {name: "" for name in WORKSHOP if name not in files}
    files = edited(files, (D, "", "actions:\n- action_book\n"), (T, "action: utter_rent", "action: action_book"))

    judged = repository.judged({**files, **gone, "actions.py": BOOK}, {**files, **gone, "actions.py": OTHER_RESULT})

    words = "reached by tests" if data == "data" else "only in tests that were not run"
    assert f"#### Changed, and {words} (1)" in judged.comment


def test_a_test_file_that_is_empty_on_both_sides_hides_nothing(repository: Repository, golden: Golden) -> None:
    empty: dict[str, str | bytes] = {"tests/test_more.yml": b""}

    judged = repository.judged(empty, {**empty, "notes.md": "Nothing of the assistant.\n"})

    assert not judged.report.get("unread")
    golden(judged.verdict["summary"])
