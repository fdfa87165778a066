"""Training data in Markdown and JSON of Rasa 0.x to 2.x: what is found in them, at its place, and nothing else ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from timing import Timing

from turncheck.project.folder import ProjectFolder
from turncheck.project.formats.annotations import parse_annotations
from turncheck.project.formats.markdown_nlu import (
    Uncommented,
    find_header,
    is_responses_file,
    read_markdown_nlu,
    read_markdown_responses,
)
from turncheck.project.formats.markdown_stories import read_markdown_stories
from turncheck.project.model import OrStep, UserStep
from turncheck.project.reader import read_nlu, read_project
from turncheck.validation.catalogue_reading import OLDER_CHECKS
from turncheck.validation.pipeline import validate
from turncheck.yaml_tree.source import Source

if TYPE_CHECKING:
    from turncheck.messages.finding import Finding

FOLDER = Path("nowhere")


def told(findings: list[Finding] | tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.code, str(finding.location)) for finding in findings]


def nlu_of(text: str, tmp_path: Path) -> list[tuple[str, str]]:
    return told(read_markdown_nlu(ProjectFolder(tmp_path), Source("nlu.md", text))[1])


def stories_of(text: str, *, end_to_end: bool | None = None) -> list[tuple[str, str]]:
    return told(read_markdown_stories(Source("stories.md", text), end_to_end=end_to_end)[1])


# --- what is found, and where ----------------------------------------------------------------------------------------

IN_NLU = {
    "before the first header": ("- lost\n## intent:a\n- b\n", ("markdown-ignored", "nlu.md:1:1")),
    "neither header nor item": ("## intent:a\n- b\n  1. c\n", ("markdown-ignored", "nlu.md:3:3")),
    "an unknown section": ("## intent:a\n- b\n## entity:c\n- d\n", ("markdown-refused", "nlu.md:3:1")),
    "a blank before the colon": ("## intent:a\n- b\n## intent :c\n", ("markdown-refused", "nlu.md:3:1")),
    "a header in an item": ("## intent:a\n- what is ## intent:b now\n", ("markdown-read-otherwise", "nlu.md:2:1")),
    "a blank in a name": ("## intent:a\n- b\n## synonym: M\n- c\n", ("markdown-read-otherwise", "nlu.md:3:1")),
    "two slashes": ("## intent:a/b/c\n- d\n", ("markdown-refused", "nlu.md:1:1")),
    "a comment that is not closed": ("## intent:a\n- b <!-- c\n", ("markdown-read-otherwise", "nlu.md:2:5")),
    "no file": ("## intent:a\n- b\n## lookup:c\nc.txt\n", ("lookup-file-missing", "nlu.md:4:1")),
    "JSON that is none": ('## intent:a\n- to [b]{"entity": }\n', ("annotation-not-json", "nlu.md:2:6")),
    "a number": ('## intent:a\n- [b]{"entity": "c", "value": 1}\n', ("annotation-invalid", "nlu.md:2:3")),
    "behind a comment": ("<!-- a\n--> ## intent:a\n<!-- c -->b\n", ("markdown-ignored", "nlu.md:3:11")),
}


@pytest.mark.parametrize("fault", IN_NLU)
def test_a_fault_in_nlu_data_is_found_at_its_place(fault: str, tmp_path: Path) -> None:
    text, expected = IN_NLU[fault]
    assert nlu_of(text, tmp_path) == [expected]


def test_a_lookup_table_of_a_file_and_items_is_refused_and_one_outside_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "towns.txt").write_text(" Bonn \n\n# Trier\n", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret\n", encoding="utf-8")
    folder = ProjectFolder(tmp_path / "project")
    text = "## lookup:towns\ntowns.txt\n- Rome\n## lookup:more\n../secret.txt\n"
    nlu, findings = read_markdown_nlu(folder, Source("nlu.md", text))
    assert told(findings) == [("markdown-refused", "nlu.md:3:3"), ("lookup-file-missing", "nlu.md:5:1")]
    assert [(one.name, one.elements, one.file) for one in nlu.lookups] == [
        ("towns", ("Bonn", "# Trier"), "towns.txt"),
        ("more", (), "../secret.txt"),
    ]


IN_STORIES = {
    "no step": ("## a\n* b\n  - c\n+ d\n", ("markdown-ignored", "stories.md:4:1")),
    "conditions at an end": ('## a\n* b\n  - c\n> d{"e": 1}\n', ("markdown-read-otherwise", "stories.md:4:1")),
    "a template variable": ("## a\n* b\n  - c_`d`\n", ("markdown-refused", "stories.md:3:3")),
    "before a story": ("* b\n## a\n* b\n", ("markdown-refused", "stories.md:1:1")),
    "no slot": ("## a\n* b\n  - slot{}\n", ("markdown-refused", "stories.md:3:3")),
    "a list": ("## a\n* b\n  - slot[]{}\n  - slot{1}\n", ("markdown-refused", "stories.md:4:3")),
    "parameters of an action": ('## a\n* b\n  - c{"d": 1}\n', ("markdown-ignored", "stories.md:3:3")),
    "entities that are none": ("## a\n* b{c}\n  - d\n", ("markdown-read-otherwise", "stories.md:2:1")),
    "a form's line": ("## a\n* b\n  - c\n* form: d\n", ("markdown-of-form", "stories.md:4:1")),
    "only checkpoints": ("## a\n> x\n> y\n## b\n* c\n", ("story-without-steps", "stories.md:1:1")),
    "no steps": ("## a\n## b\n* c\n", ("story-without-steps", "stories.md:1:1")),
    "an open comment": ("## a\n* b\n<!-- c\n* d\n", ("markdown-ignored", "stories.md:3:1")),
    "both kinds": ("## a\n* b: c d\n  - e\n* f\n  - g\n", ("markdown-read-otherwise", "stories.md:4:1")),
}


@pytest.mark.parametrize("fault", IN_STORIES)
def test_a_fault_in_stories_is_found_at_its_place(fault: str) -> None:
    text, expected = IN_STORIES[fault]
    assert expected in stories_of(text)


@pytest.mark.parametrize("title", ["# Stories of the bot", "#### Read the manual first", "###"])
def test_a_title_is_no_story_without_steps(title: str) -> None:
    """Rasa's own template of test conversations begins with such remarks."""
    (read,), findings = read_markdown_stories(Source("s.md", f"{title}\n\n## a\n* b\n  - c\n"))
    assert read.name == "a"
    assert not findings


def test_a_header_of_another_level_begins_a_story_nevertheless() -> None:
    (read,), _ = read_markdown_stories(Source("s.md", "# a\n* b\n  - c\n"))
    assert read.name == "a"


def test_a_training_story_taken_for_a_test_is_told_what_is_wanted() -> None:
    _, findings = read_markdown_stories(Source("s.md", "## a\n* greet\n  - b\n"), end_to_end=True)
    (fault,) = findings
    assert (fault.code, str(fault.location)) == ("markdown-refused", "s.md:2:1")
    assert "expected `* intent: text`" in fault.message


def test_lines_with_texts_are_read_as_end_to_end_by_themselves() -> None:
    text = '## a\n* greet: hi [Tom](name) OR bye: see you\n* ask:price\n* inform{"a": "b: c"}\n'
    (story,), _ = read_markdown_stories(Source("s.md", text))
    first, second, third = story.steps
    assert isinstance(first, OrStep)
    messages = [step for alternative in first.alternatives for step in alternative]
    assert [(one.intent, one.text) for one in messages if isinstance(one, UserStep)] == [
        ("greet", "hi Tom"),
        ("bye", "see you"),
    ]
    assert isinstance(second, UserStep)
    assert (second.intent, second.text) == ("ask:price", None)
    assert isinstance(third, UserStep)
    assert (third.intent, third.entities[0].value) == ("inform", "b: c")


def test_a_file_of_two_kinds_loses_its_stories_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    text = "## a story\n* greet\n  - utter_hi\n## intent:greet\n- hi\n"
    (tmp_path / "data" / "all.md").write_text(text, encoding="utf-8")
    project = read_project(tmp_path)
    assert not project.stories
    assert ("markdown-ignored", "data/all.md:1:1") in told(project.findings)


def test_nlu_data_that_rasa_takes_for_stories_are_an_error_and_a_readme_is_nothing(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.md").write_text("##intent:greet\n- hi\n", encoding="utf-8")
    (tmp_path / "data" / "README.md").write_text("# Data\n\n## How to\n\nRead on.\n", encoding="utf-8")
    found = told([one for one in read_project(tmp_path).findings if not one.code.endswith("not-found")])
    assert found == [("markdown-refused", "data/nlu.md:1:1")]


def test_patterns_are_in_the_order_of_name_and_pattern(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.md").write_text("## regex:z\n- b\n- a\n", encoding="utf-8")
    (tmp_path / "data" / "b.md").write_text("## regex:a\n- c\n", encoding="utf-8")
    project = read_project(tmp_path)
    assert [(one.name, one.pattern) for one in project.nlu.regexes] == [("a", "c"), ("z", "a"), ("z", "b")]


def test_an_intent_with_two_slashes_is_refused_at_its_first_example_alone(tmp_path: Path) -> None:
    assert nlu_of("## intent:a/b/c\n## intent:a\n- b\n", tmp_path) == []
    assert nlu_of("## intent:a/b/c\n- b\n- c\n", tmp_path) == [("markdown-refused", "nlu.md:1:1")]


def test_a_line_of_a_lookup_table_that_is_no_item_is_a_path_whatever_it_looks_like(tmp_path: Path) -> None:
    assert nlu_of("## lookup:a\n- b\n# c\n", tmp_path) == [("lookup-file-missing", "nlu.md:3:1")]
    assert nlu_of("## lookup:a\n- b\n*\n", tmp_path) == [("markdown-ignored", "nlu.md:3:1")]


def test_items_go_to_the_first_table_of_their_name(tmp_path: Path) -> None:
    (tmp_path / "towns.txt").write_text("Rome\n", encoding="utf-8")
    assert nlu_of("## lookup:a\n- b\ntowns.txt\n- c\n", tmp_path) == []
    assert nlu_of("## lookup:a\ntowns.txt\n- c\n", tmp_path) == [("markdown-refused", "nlu.md:3:3")]


@pytest.mark.parametrize(
    ("major", "is_named", "code"),
    [
        (0, True, "data-format-unknown"),
        (0, False, "file-without-data"),
        (1, True, "file-without-data"),
        (1, False, "file-without-data"),
    ],
)
def test_json_of_nobody_ends_rasa_0_alone_if_it_is_given_it(
    major: int, is_named: bool, code: str, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.md").write_text("## intent:a\n- b\n", encoding="utf-8")
    (tmp_path / "data" / "hotels.json").write_text('{"hotels": []}', encoding="utf-8")
    config = "pipeline: tensorflow_embedding\n" if major == 0 else "pipeline: supervised_embeddings\n"
    (tmp_path / "config.yml").write_text(config, encoding="utf-8")
    project = read_project(tmp_path, data=[tmp_path / "data"] if is_named else None)
    assert (code, "data/hotels.json:1:1") in told(project.findings)


def test_json_of_nobody_that_holds_sentences_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.md").write_text("## intent:a\n- b\n", encoding="utf-8")
    (tmp_path / "data" / "lost.json").write_text('{"samples": [{"intent": "a"}]}', encoding="utf-8")
    assert ("data-format-unknown", "data/lost.json:1:1") in told(read_project(tmp_path).findings)


def test_json_with_a_byte_order_mark_is_not_read_as_in_rasa(tmp_path: Path) -> None:
    content = json.dumps({"rasa_nlu_data": {"common_examples": [{"text": "a", "intent": "b"}]}})
    (tmp_path / "nlu.json").write_text("\ufeff" + content, encoding="utf-8")
    nlu, findings = read_nlu([tmp_path / "nlu.json"], tmp_path)
    assert not nlu.examples
    assert told(findings) == [("data-not-json", "nlu.json:1:1")]


WITH_MARK = {
    "sentences": json.dumps({"rasa_nlu_data": {"common_examples": [{"text": "one", "intent": "b"}]}}),
    "older keys": json.dumps({"rasa_nlu_data": {"intent_examples": [{"text": "one", "intent": "b"}]}}),
    "a fault": '{"rasa_nlu_data": {"common_examples": [{"text": "one" "intent": "b"}]}}',
}


@pytest.mark.parametrize("what", WITH_MARK)
@pytest.mark.parametrize("major", [0, 1])
def test_rasa_0_reads_json_with_a_byte_order_mark(major: int, what: str, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.md").write_text("## intent:a\n- b\n", encoding="utf-8")
    (tmp_path / "data" / "more.json").write_text("\ufeff" + WITH_MARK[what], encoding="utf-8")
    pipeline = "tensorflow_embedding" if major == 0 else "supervised_embeddings"
    (tmp_path / "config.yml").write_text(f"pipeline: {pipeline}\n", encoding="utf-8")

    project = read_project(tmp_path)

    is_read = major == 0 and what != "a fault"
    assert ("one" in {example.text for example in project.nlu.examples}) is is_read
    assert ("data-not-json" in {code for code, _ in told(project.findings)}) is not is_read
    assert ("nlu" in project.unreadable) is not is_read


def test_a_lookup_file_that_json_names_and_that_is_missing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    content = {"rasa_nlu_data": {"lookup_tables": [{"name": "town", "elements": "towns.txt"}]}}
    (tmp_path / "data" / "nlu.json").write_text(json.dumps(content), encoding="utf-8")
    assert ("lookup-file-missing", "data/nlu.json:1:38") in told(read_project(tmp_path).findings)


def test_the_documented_examples_of_these_checks_show_what_they_say(tmp_path: Path) -> None:
    for check in OLDER_CHECKS:
        found = {}
        for name, written in (("wrong", check.wrong), ("right", check.right)):
            example = written
            folder = tmp_path / check.code / name
            (folder / "data").mkdir(parents=True)
            (folder / "data" / "towns.txt").write_text("Rome\n", encoding="utf-8")
            if example.startswith('{"text"'):
                example = json.dumps({"rasa_nlu_data": {"common_examples": [json.loads(example)]}})
            suffix = "json" if example.startswith("{") else "md"
            (folder / "data" / "other.md").write_text("## intent:x\n- y\n", encoding="utf-8")
            is_story = check.code == "markdown-of-form"
            more = "" if suffix == "json" else "## a\n* b\n" if is_story else "## intent:x\n- y\n"
            (folder / "data" / f"nlu.{suffix}").write_text(more + example + "\n", encoding="utf-8")
            found[name] = {finding.code for finding in validate(read_project(folder)).findings}
        assert check.code in found["wrong"]
        assert check.code not in found["right"]


# --- other tools' JSON -----------------------------------------------------------------------------------------------

OTHERS = {
    "luis": (
        {
            "luis_schema_version": "2.1",
            "regex_features": [{"name": "zip", "pattern": "[0-9]{5}", "activated": True}, {"name": "no"}],
            "utterances": [
                {"text": "to Rome", "intent": " fly ", "entities": [{"entity": "city", "startPos": 3, "endPos": 6}]}
            ],
        },
        [("to Rome", "fly", [(3, 7, "city", "Rome")])],
    ),
    "wit": (
        {
            "data": [
                {
                    "text": "to Rome",
                    "entities": [
                        {"entity": "intent", "value": '"fly"'},
                        {"entity": "city", "value": '"Rome"', "start": 3, "end": 7},
                    ],
                },
                {"text": "lost"},
            ]
        },
        [("to Rome", "fly", [(3, 7, "city", "Rome")])],
    ),
    "agent": ({"supportedLanguages": ["en"]}, []),
    "package": ({"version": "1.0.0"}, []),
}


@pytest.mark.parametrize("tool", OTHERS)
def test_what_other_tools_export_is_read(tool: str, tmp_path: Path) -> None:
    content, expected = OTHERS[tool]
    (tmp_path / "data.json").write_text(json.dumps(content), encoding="utf-8")
    nlu, findings = read_nlu([tmp_path / "data.json"], tmp_path)
    found = [
        (one.text, one.intent, [(e.start, e.end, e.entity, e.value) for e in one.entities]) for one in nlu.examples
    ]
    assert found == expected
    nothing = ["path-without-data"] if tool in {"agent", "package"} else []
    assert [one.code for one in findings] == (["markdown-ignored"] if tool == "wit" else nothing)
    assert [one.name for one in nlu.regexes] == (["zip"] if tool == "luis" else [])


def test_dialogflow_keeps_what_is_said_beside_the_intent(tmp_path: Path) -> None:
    def write(name: str, content: object) -> None:
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")

    write("fly.json", {"name": "fly", "responses": []})
    parts = [{"text": "to "}, {"text": "Rome", "meta": "@city", "alias": "town"}, {"text": "!", "meta": "@sys.ignore"}]
    write("fly_usersays_en.json", [{"data": parts}])
    write("city.json", {"name": "city", "isEnum": False})
    write("city_entries_en.json", [{"value": "Rome", "synonyms": ["Roma", "@other"]}])
    write("alone.json", {"name": "alone", "responses": []})
    nlu, findings = read_nlu([tmp_path], tmp_path)
    (example,) = nlu.examples
    assert (example.text, example.intent, str(example.location)) == ("to Rome!", "fly", "fly_usersays_en.json:1:22")
    assert [(one.start, one.end, one.entity, one.value) for one in example.entities] == [(3, 7, "town", "Rome")]
    assert [(one.value, one.synonym) for one in nlu.synonyms] == [("Rome", "Roma"), ("Rome", "@other")]
    assert [(one.name, one.elements) for one in nlu.lookups] == [("city", ("Roma",))]
    assert told(findings) == [("file-without-data", "alone.json:1:1")]


# --- anything at all -------------------------------------------------------------------------------------------------

PIECES = [
    *(
        "## intent:a",
        "## ",
        "- b",
        "* c",
        "> d",
        "<!--",
        "-->",
        "[x](y:z)",
        '{"entity": "e"}',
        "[x]",
        ":",
        " OR ",
        "\n",
    ),
    *("\n\n", "\r\n", "\u2028", "\f", "`v`", "/", "form: ", "slot{", "}", '"', " ", "## lookup:t", "é"),
]
DOCUMENTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=25).map("".join)


@pytest.mark.slow
@settings(max_examples=300)
@given(DOCUMENTS)
def test_whatever_is_written_is_read_or_refused_at_a_place_in_the_file(text: str) -> None:
    source = Source("a.md", text)
    lines = len(source.line_starts)
    findings = [
        *read_markdown_nlu(ProjectFolder(FOLDER), source)[1],
        *read_markdown_stories(source)[1],
        *read_markdown_stories(source, end_to_end=True)[1],
        *read_markdown_responses(source)[1],
    ]
    for finding in findings:
        assert finding.hint
        assert 1 <= (finding.location.line or 0) <= lines
        assert 1 <= (finding.location.column or 0) <= len(source.line(finding.location.line or 1)) + 1


@settings(max_examples=200)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1), max_size=5))
def test_the_place_of_a_sentence_is_where_it_begins(words: list[str]) -> None:
    sentences = [word for word in words if "##" not in word and "<!--" not in word and "[" not in word]
    text = "## intent:a\n" + "".join(f"  - <!-- c -->{word}\n" for word in sentences)
    source = Source("a.md", text)
    nlu, _ = read_markdown_nlu(ProjectFolder(FOLDER), source)
    assert [one.text for one in nlu.examples] == sentences
    for example in nlu.examples:
        place = example.location
        assert source.line(place.line or 1)[(place.column or 1) - 1 :].startswith(example.text)


@given(st.text(st.sampled_from("# :ax"), max_size=12))
def test_a_header_is_found_as_the_pattern_of_rasa_finds_it(line: str) -> None:
    import re

    match = re.search(r"##\s*(.+?):(.+)", line)
    assert find_header(line) == (None if match is None else (match[1], match[2]))


@given(st.text(st.sampled_from("<!->a\n"), max_size=20))
def test_comments_are_left_out_as_the_pattern_of_rasa_does(text: str) -> None:
    import re

    assert Uncommented(Source("a.md", text)).text == re.sub(r"<!--[\s\S]*?-->", "", text)


@settings(max_examples=500)
@given(st.text(st.sampled_from("#* \n/:-a"), max_size=20))
def test_a_file_of_responses_is_known_as_the_pattern_of_rasa_knows_it(text: str) -> None:
    import re

    pattern = re.compile(r"##\s*.*\n\*[^:]*\/.*\n\s*\t*\-.*")
    assert is_responses_file(text) == (pattern.search(text) is not None)


@given(st.text(st.sampled_from('[](){}:x "'), max_size=20))
def test_lists_of_marks_are_no_marks_in_rasa_1(text: str) -> None:
    try:
        plain, entities = parse_annotations(text, lists=False)
    except ValueError:
        return
    assert all(plain[one.start : one.end] for one in entities)


LONG = ["<!--" * 20_000, "##" * 40_000 + ":", "[" * 60_000, "* " + "{" * 60_000 + ":", "## \n" * 20_000 + "*",
        "## a\n* /\n" * 20_000, "`" * 60_000, "##" + " " * 60_000]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("text", LONG)
def test_no_file_takes_long(text: str, timing: Timing) -> None:

    with timing.at_most(5):
        source = Source("a.md", text)
        read_markdown_nlu(ProjectFolder(FOLDER), source)
        read_markdown_stories(source)
        is_responses_file(text)


@pytest.mark.parametrize("path", ["a\0b.txt", "a" * 5000 + ".txt"])
def test_a_path_that_is_none_ends_nothing(path: str, tmp_path: Path) -> None:
    assert nlu_of(f"## intent:a\n- b\n## lookup:c\n{path}\n", tmp_path) == [("lookup-file-missing", "nlu.md:4:1")]
    for name, content in (
        ("nlu.json", json.dumps({"rasa_nlu_data": {"lookup_tables": [{"name": "c", "elements": path}]}})),
        ("nlu.yml", f"nlu:\n- lookup: c\n  examples: |\n    - {path.replace(chr(0), chr(7))}\n"),
    ):
        (tmp_path / name).write_text(content, encoding="utf-8")
        tables = read_nlu([tmp_path / name], tmp_path)[0].lookups
        assert not [one for one in tables if one.file and one.elements != (one.file,)]
