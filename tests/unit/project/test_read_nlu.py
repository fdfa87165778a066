"""NLU data from files: contents, positions, faults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turncheck.project.nlu_data import EntityAnnotation
from turncheck.project.reader import read_nlu

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.messages.finding import Finding
    from turncheck.project.nlu_data import NluData


def read(root: Path, text: str | bytes, name: str = "nlu.yml") -> tuple[NluData, tuple[Finding, ...]]:
    path = root / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_nlu([path], root)


def healthy(root: Path, text: str | bytes) -> NluData:
    data, findings = read(root, text)
    assert findings == ()
    return data


ALL_KINDS = """version: "3.1"
nlu:
- intent: greet
  examples: |
    - hello
    - good [morning](time) to [NYC](city:New York)
- intent: faq/ask_hours
  metadata: {source: web}
  examples:
  - text: when do you open?
    metadata:
      mood: curious
  - text: |
      opening hours please
- synonym: credit
  examples: |
    - credit card
    - loan
- regex: zip
  examples: |
    - \\d{5}
- lookup: country
  examples: |
    - France
    - Peru
"""


def test_all_kinds_of_nlu_data_are_read(tmp_path: Path) -> None:
    data = healthy(tmp_path, ALL_KINDS)
    assert [(one.text, one.intent) for one in data.examples] == [
        ("hello", "greet"),
        ("good morning to NYC", "greet"),
        ("when do you open?", "faq/ask_hours"),
        ("opening hours please", "faq/ask_hours"),
    ]
    assert data.examples[1].entities == (
        EntityAnnotation(5, 12, "time", "morning"),
        EntityAnnotation(16, 19, "city", "New York"),
    )
    assert data.examples[2].base_intent == "faq"
    assert data.examples[0].metadata is None
    assert data.examples[2].metadata == {"intent": {"source": "web"}, "example": {"mood": "curious"}}
    assert data.examples[3].metadata == {"intent": {"source": "web"}}
    assert [(one.value, one.synonym, str(one.location)) for one in data.synonyms] == [
        ("New York", "NYC", "nlu.yml:6:7"),
        ("credit", "credit card", "nlu.yml:17:7"),
        ("credit", "loan", "nlu.yml:18:7"),
    ]
    assert [(one.name, one.pattern, str(one.location)) for one in data.regexes] == [("zip", "\\d{5}", "nlu.yml:21:7")]
    assert [(one.name, one.elements, one.file) for one in data.lookups] == [("country", ("France", "Peru"), None)]
    assert [str(one.location) for one in data.examples] == [
        "nlu.yml:5:7",
        "nlu.yml:6:7",
        "nlu.yml:10:11",
        "nlu.yml:14:7",
    ]


def test_files_are_merged_in_the_order_of_their_paths_and_equal_examples_count_once(tmp_path: Path) -> None:
    block = "nlu:\n- intent: {}\n  examples: |\n    - hi\n    - {}\n"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.yml").write_text(block.format("greet", "three"))
    (tmp_path / "b.yaml").write_text(block.format("greet", "one"))
    (tmp_path / "c.yml").write_text(block.format("bye", "two"))
    data, findings = read_nlu([tmp_path], tmp_path)
    assert findings == ()
    assert [(one.text, one.intent) for one in data.examples] == [
        ("hi", "greet"),
        ("one", "greet"),
        ("hi", "bye"),
        ("two", "bye"),
        ("three", "greet"),
    ]
    assert [str(one.location) for one in data.duplicates] == ["sub/a.yml:4:7"]


def test_examples_that_differ_in_entities_or_metadata_are_no_duplicates(tmp_path: Path) -> None:
    data = healthy(
        tmp_path,
        "nlu:\n- intent: a\n  examples:\n  - text: hi\n  - text: '[hi](x)'\n  - {text: hi, metadata: 1}\n"
        "  - {text: hi, metadata: 1}\n  - text: '[hi](x)'\n  - text: hi\n",
    )
    assert len(data.examples) == 3
    assert [one.location.line for one in data.duplicates] == [7, 8, 9]


def test_backslashes_and_tabs_stay_and_only_blanks_are_stripped(tmp_path: Path) -> None:
    data = healthy(tmp_path, "nlu:\n- intent: é\n  examples: |\n    -   a\\n b\\u00e9  \n    -\tc\n    -d\n")
    assert [one.text for one in data.examples] == ["a\\n b\\u00e9", "\tc", "d"]
    assert [one.location.column for one in data.examples] == [9, 6, 6]


def test_a_lookup_may_stand_in_a_text_file_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cities.txt").write_text("Rome\n\n  Paris \n")
    data = healthy(tmp_path, "nlu:\n- lookup: city\n  examples: |\n    - data/cities.txt\n")
    assert [(one.elements, one.file) for one in data.lookups] == [(("Rome", "Paris"), "data/cities.txt")]


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/hostname.txt"])
def test_a_lookup_reads_no_file_outside_of_the_project(tmp_path: Path, path: str) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "secret.txt").write_text("password\n")
    data, _ = read(root, f"nlu:\n- lookup: city\n  examples: |\n    - {path}\n")
    assert data.lookups[0].elements == (path,)


# --- positions -------------------------------------------------------------------------------------------------------

STYLES = {
    "literal": "  examples: |\n    - one two\n    - [three](x) four\n    - five\n",
    "literal, indented deeper": "  examples: |\n          - one two\n          - [three](x) four\n          -   five\n",
    "literal with indicators": "  examples: |2-\n    - one two\n    - [three](x) four\n    - five\n",
    "literal with a comment": "  examples: |  # some\n    - one two\n    - [three](x) four\n    - five\n",
    "literal with an anchor": "  examples: &e |\n    - one two\n    - [three](x) four\n    - five\n",
    "literal on a line of its own": "  examples:\n    !!str\n    |\n    - one two\n    - [three](x) four\n    - five\n",
    "folded, more indented": "  examples: >\n    - one two\n\n    - [three](x) four\n\n\n    - five\n",
    "double quotes": '  examples: "- one two\\n- [three](x) \\\n    four\\n-\\x20five"\n',
    "double quotes over lines": '  examples: "- one two\n\n    - [three](x)\n    four\n\n    - five"\n',
    "single quotes": "  examples: '- one two\n\n    - [three](x) four\n\n    - five'\n",
    "list": "  examples:\n  - text: one two\n  - text: '[three](x) four'\n  - {text: \"five\", metadata: 1}\n",
    "list of blocks": (
        '  examples:\n  - text: |\n      one two\n  - text: >-\n\n     [three](x)\n     four\n  - text: " five"\n'
    ),
}


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("style", STYLES)
def test_each_example_stands_where_it_says_in_every_style(tmp_path: Path, style: str, line_end: str) -> None:
    text = ("version: '3.1'\n# é😀\nnlu:\n- intent: é\n" + STYLES[style]).replace("\n", line_end)
    data, _ = read(tmp_path, text)
    assert [one.text.strip().replace("\n", " ") for one in data.examples] == ["one two", "three four", "five"]
    lines = text.split(line_end)
    for example, start in zip(data.examples, ("one", "[three](x)", "five"), strict=True):
        place = example.location
        assert place.line is not None
        assert place.column is not None
        assert lines[place.line - 1][place.column - 1 :].startswith(start)


sentences = st.lists(
    st.text(alphabet="ab é😀'\"\\#:-|>{}", min_size=1, max_size=12).filter(str.strip), min_size=1, max_size=8
)


@given(sentences, st.integers(1, 6), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_each_line_of_a_block_stands_where_it_says(
    tmp_path_factory: pytest.TempPathFactory, written: list[str], indent: int, line_end: str, blank: bool
) -> None:
    block = "".join(f"{' ' * (indent + 2)}-{' ' * (number % 3)}{one}\n" for number, one in enumerate(written))
    text = f"nlu:\n{chr(10) if blank else ''}- intent: ü\n  examples: |\n{block}".replace("\n", line_end)
    data, findings = read(tmp_path_factory.mktemp("positions"), text)
    assert findings == ()
    lines = text.split(line_end)
    found = {one.location: one.text for one in (*data.examples, *data.duplicates)}
    assert len(found) == len(written)
    for place, sentence in found.items():
        assert place.line is not None
        assert place.column is not None
        assert lines[place.line - 1][place.column - 1 :].strip(" ") == sentence


def test_the_place_of_an_empty_example_is_its_dash(tmp_path: Path) -> None:
    data = healthy(tmp_path, "nlu:\n- intent: a\n  examples: |\n    -\n    - x\n")
    assert [(one.text, str(one.location)) for one in data.examples] == [("", "nlu.yml:4:5"), ("x", "nlu.yml:5:7")]


# --- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("block", "code", "place", "severity"),
    [
        ("- intent: ''\n  examples: |\n    - x\n", "intent-name-empty", "2:11", "warning"),
        ("- intent: a\n  examples: ''\n", "intent-block-empty", "2:3", "warning"),
        ("- intent: a\n  examples: |\n", "intent-block-empty", "2:3", "warning"),
        ("- intent: a\n", "intent-block-empty", "2:3", "warning"),
        ("- intent: a\n  examples: []\n", "intent-block-empty", "2:3", "warning"),
        ("- intent: 5\n  examples: |\n    - x\n", "schema-violation", "2:11", "error"),
        ("- intent: a\n  examples: {x: y}\n", "schema-violation", "3:13", "error"),
        ("- intent: a\n  examples: 5\n", "schema-violation", "3:13", "error"),
        ("- intent: a\n  examples:\n  - x\n  - text: y\n", "schema-violation", "4:5", "error"),
        ("- intent: a\n  examples:\n  - text: 5\n  - text: y\n", "schema-violation", "4:5", "error"),
        ("- hello\n", "schema-violation", "2:3", "error"),
        ("- keyword: a\n  examples: |\n    - x\n", "schema-violation", "2:3", "error"),
        ("- intent: a\n  examples: |\n    - x\n    y\n", "example-without-dash", "5:5", "warning"),
        ("- intent: a\n  examples: |\n    - x\n\n    - y\n", "example-without-dash", "5:1", "warning"),
        ("- intent: a\n  examples: |\n    - x\n    - to [r]{'entity': 'c'}\n", "annotation-not-json", "5:10", "error"),
        ('- intent: a\n  examples: |\n    - x\n    - to [r]{"role": "c"}\n', "annotation-invalid", "5:10", "error"),
        ("- synonym: ''\n  examples: |\n    - x\n", "synonym-name-empty", "2:12", "warning"),
        ("- synonym: a\n", "synonym-without-examples", "2:3", "warning"),
        ("- regex:\n  examples: |\n    - x\n", "regex-name-empty", "2:9", "warning"),
        ("- regex: a\n  examples: ''\n", "regex-without-examples", "2:3", "warning"),
        ("- lookup: ''\n  examples: |\n    - x\n", "lookup-name-empty", "2:11", "warning"),
        ("- lookup: a\n  examples:\n", "lookup-without-examples", "2:3", "warning"),
        ("- lookup: a\n  examples: [x]\n", "schema-violation", "3:13", "error"),
        ("- lookup: a\n  examples: |\n    - x\n    y\n", "example-without-dash", "5:5", "warning"),
    ],
)
def test_a_fault_is_named_with_its_place_and_the_rest_is_read(
    tmp_path: Path, block: str, code: str, place: str, severity: str
) -> None:
    data, findings = read(tmp_path, f"nlu:\n{block}- intent: other\n  examples: |\n    - still read\n")
    assert [(one.code, str(one.location), one.severity) for one in findings] == [(code, f"nlu.yml:{place}", severity)]
    assert findings[0].message.endswith(".")
    assert findings[0].hint
    assert data.examples[-1].text == "still read"


def test_a_section_that_is_no_list_is_named(tmp_path: Path) -> None:
    _, findings = read(tmp_path, "nlu: {intent: a}\n")
    assert [(one.code, str(one.location)) for one in findings] == [("schema-violation", "nlu.yml:1:6")]


@pytest.mark.parametrize("text", ["nlu:\n", "nlu: []\n", "nlu: null\nresponses: {}\n"])
def test_a_section_may_be_empty(tmp_path: Path, text: str) -> None:
    data, findings = read(tmp_path, text)
    assert data.examples == ()
    assert [one.code for one in findings] == ["path-without-data"]


def test_a_block_full_of_lines_without_dashes_does_not_drown_the_report(tmp_path: Path) -> None:
    lines = "".join(f"    line {number}\n" for number in range(1000))
    _, findings = read(tmp_path, f"nlu:\n- intent: a\n  examples: |\n{lines}")
    assert len(findings) == 52  # fifty lines, the number of the others, and that the intent has no examples
    assert any("950 more" in one.message for one in findings)


def test_a_version_above_the_supported_one_skips_the_file_as_rasa_does(tmp_path: Path) -> None:
    data, findings = read(tmp_path, 'version: "3.5"\nnlu:\n- intent: a\n  examples: |\n    - x\n')
    assert data.examples == ()
    assert [(one.code, str(one.location), one.severity) for one in findings] == [
        ("version-too-high", "nlu.yml:1:10", "warning")
    ]


@pytest.mark.parametrize("version", ["'2.0'", "'3.1.0'", "3.9", "banana", "''"])
def test_other_versions_are_read(tmp_path: Path, version: str) -> None:
    assert len(healthy(tmp_path, f"version: {version}\nnlu:\n- intent: a\n  examples: |\n    - x\n").examples) == 1
