"""The tree of a YAML file: positions, faults, limits."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st

from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import MAX_DEPTH, YamlDocument, YamlMapping, YamlScalar, YamlSequence, parse_yaml


def parse(text: str) -> YamlDocument:
    return parse_yaml(YamlSource("data/x.yml", text))


def only_finding(text: str) -> tuple[str, str, str]:
    document = parse(text)
    (finding,) = document.findings
    assert finding.severity == "error"
    assert finding.hint
    return finding.code, str(finding.location), finding.message


STORY = """version: "3.1"
stories:
- story: happy path   # a comment
  steps:
  - intent: greet
    entities: [{city: "Rome"}, name]
  - action: utter_greet
"""


def test_every_key_and_value_says_its_line_and_column() -> None:
    root = parse(STORY).root
    assert isinstance(root, YamlMapping)
    assert str(root.key_location("stories")) == "data/x.yml:2:1"
    story = root.at("stories", 0)
    assert isinstance(story, YamlMapping)
    assert str(story.location) == "data/x.yml:3:3"
    assert str(story.items["story"].location) == "data/x.yml:3:10"
    step = root.at("stories", 0, "steps", 0)
    assert isinstance(step, YamlMapping)
    assert str(step.key_location("entities")) == "data/x.yml:6:5"
    entity = root.at("stories", 0, "steps", 0, "entities", 0, "city")
    assert isinstance(entity, YamlScalar)
    assert (entity.value, entity.style, str(entity.location)) == ("Rome", '"', "data/x.yml:6:23")


def test_a_path_that_leads_nowhere_gives_nothing() -> None:
    root = parse(STORY).root
    assert root is not None
    assert root.at("stories", 7) is None
    assert root.at("rules", 0) is None
    assert root.at("version", "x") is None


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_positions_do_not_depend_on_the_line_ends(line_end: str) -> None:
    root = parse(STORY.replace("\n", line_end)).root
    assert root is not None
    action = root.at("stories", 0, "steps", 1, "action")
    assert action is not None
    assert str(action.location) == "data/x.yml:7:13"


def test_columns_count_characters_not_bytes() -> None:
    root = parse("{é😀: 1, b: 2}\n").root
    assert isinstance(root, YamlMapping)
    assert str(root.key_location("b")) == "data/x.yml:1:9"


def test_a_line_separator_of_unicode_ends_no_line() -> None:
    root = parse("a: 'x\u2028y'\nb: 1\n").root
    assert isinstance(root, YamlMapping)
    assert str(root.key_location("b")) == "data/x.yml:2:1"


@pytest.mark.parametrize("text", ["", "# only a comment\n", "---\n", "null\n", "[]\n", "~", "''\n"])
def test_an_empty_file_is_an_empty_mapping(text: str) -> None:
    document = parse(text)
    assert document.root is not None
    assert document.root.data == {}
    assert document.findings == ()


def test_a_key_that_stands_twice_is_named_with_both_places_and_the_first_counts() -> None:
    document = parse("a:\n  k: 1\n  k: 2\n  l: 3\n")
    (finding,) = document.findings
    assert (finding.code, str(finding.location)) == ("yaml-duplicate-key", "data/x.yml:3:3")
    assert "'k'" in finding.message
    assert "line 2" in finding.message
    assert document.root is not None
    assert document.root.data == {"a": {"k": 1, "l": 3}}


def test_merge_keys_give_what_the_mapping_itself_does_not_say() -> None:
    document = parse("a: &a {k: 1, l: 2}\nb: &b {l: 3, m: 4}\nc: {<<: [*a, *b], k: 0}\nd:\n  <<: *a\n  l: 9\n")
    assert document.findings == ()
    assert document.root is not None
    assert document.root.data["c"] == {"k": 0, "l": 2, "m": 4}
    assert document.root.data["d"] == {"k": 1, "l": 9}


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a: b\n\tc: d\n", "2:1", "tab"),
        ("\t- x\n", "1:1", "tab"),
        ("a: [en\nb: c\n", "2:2", "flow sequence, line 1"),
        ("a:\n  - b\n c: d\n", "3:2", "block mapping, line 1"),
        ("a: 'x\n", "2:1", "unexpected end"),
        ("a: b: c\n", "1:5", "mapping values are not allowed"),
        ("a: @x\n", "1:4", "cannot start"),
        ("a: *b\n", "1:4", "*b names no anchor"),
        ("a: &x [*x]\n", "1:8", "inside of what it names"),
        ("a: !python/object:os.system x\n", "1:4", "tag"),
        ("a: !!set {x, y}\n", "1:4", "tag"),
        ("a: !!int x\n", "1:4", "tag"),
        ("{[a]: b}\n", "1:2", "a key must be"),
        ("a: {{ name }}\n", "1:5", "a key must be"),
        ("a: {<<: 5}\n", "1:9", "merges mappings"),
        ("--- a\n--- b\n", "2:1", "second YAML document"),
        ("a: \0b\n", "1:4", "U+0000"),
        ("a: b\nc: \x1b[31m\n", "2:4", "U+001B"),
        ('a: "\\q"\n', "1:5", "escape"),
    ],
)
def test_what_is_no_yaml_is_named_with_its_place(text: str, place: str, words: str) -> None:
    code, location, message = only_finding(text)
    assert code == "yaml-syntax"
    assert location == f"data/x.yml:{place}"
    assert words in message


def test_nothing_nests_without_end() -> None:
    for deep in ("[" * (MAX_DEPTH - 1) + "]" * (MAX_DEPTH - 1), "{a: " * (MAX_DEPTH - 1) + "b" + "}" * (MAX_DEPTH - 1)):
        document = parse(deep)
        assert document.findings == ()
        assert document.root is not None
        assert str(document.root.data).count(deep[0]) == MAX_DEPTH - 1
    for text in ("[" * 100_000, "{a: " * 100_000, "- " * 100_000 + "a", "? " * 100_000):
        assert only_finding(text)[0] in {"yaml-limit", "yaml-syntax"}


def test_a_billion_laughs_are_stopped() -> None:
    lines = ["a0: &a0 [lol, lol, lol]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    assert only_finding("\n".join(lines))[0] == "file-too-large"


def test_a_ladder_of_aliases_is_stopped() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5000))]
    code, _, message = only_finding("\n".join(lines))
    assert code == "yaml-limit"
    assert "nest deeper" in message


def test_in_plain_ascii_files_unicode_escapes_are_decoded_everywhere_and_positions_stay_those_of_the_file() -> None:
    document = parse('a: caf\\u00e9 \\U0001f600 \\ud83d\\ude00 \\\\u00e9\nb: "\\u00e9"\n')
    assert document.root is not None
    assert document.root.data == {"a": "café 😀 😀 \\\\u00e9", "b": "é"}
    document = parse("{x: \\u00e9\\u00e9, y: 1}\n")
    assert isinstance(document.root, YamlMapping)
    assert str(document.root.key_location("y")) == "data/x.yml:1:19"
    assert parse("a: é \\u00e9").root.data == {"a": "é \\u00e9"}  # type: ignore[union-attr]  # it is there


@pytest.mark.parametrize(("text", "offset"), [("a: C:\\users", 5), ("a: \\ud800 x", 3), ("a: \\U00110000", 3)])
def test_a_broken_unicode_escape_says_where_it_stands(text: str, offset: int) -> None:
    with pytest.raises(EscapeError) as raised:
        YamlSource("x.yml", text)
    assert raised.value.offset == offset


texts = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=12)  # the rest YAML cannot hold, or folds
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(values.filter(bool))
def test_json_reads_as_json(value: Any) -> None:
    text = json.dumps(value)  # ASCII, all else escaped
    document = parse(text)
    assert document.findings == (), text
    assert document.root is not None
    assert document.root.data == value


@given(st.text(alphabet="ab:-[]{}'\"|>&*!#%@,\n\t \\u<~0", max_size=60))
def test_any_text_gives_a_tree_or_a_finding_inside_of_it(text: str) -> None:
    try:
        document = parse(text)
    except EscapeError:
        return
    lines = text.count("\n") + 1
    if document.root is None:
        assert document.findings
    for finding in document.findings:
        assert 1 <= (finding.location.line or 0) <= lines


@given(st.text(alphabet="abc:-[]{}'\"|>#,\n ", max_size=60))
def test_what_pyyaml_reads_is_read_alike(text: str) -> None:
    try:
        expected = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError:
        return
    document = parse(text)
    if document.findings or document.root is None:
        return  # a key twice, or a key that is not a scalar: PyYAML is more lenient
    assert document.root.data == (expected or {})


def all_scalars(node: Any) -> list[YamlScalar]:
    if isinstance(node, YamlScalar):
        return [node]
    children = [*node.keys.values(), *node.items.values()] if isinstance(node, YamlMapping) else node.items
    return [scalar for child in children for scalar in all_scalars(child)]


@given(st.lists(st.text(alphabet="abcé😀", min_size=1, max_size=6), min_size=1, max_size=6))
def test_each_scalar_stands_where_it_says(words: list[str]) -> None:
    text = "".join(
        f"{'  ' * (number % 2)}- [{word}, {{k: {word}}}]\n" for number, word in enumerate(words) if number % 2 == 0
    )
    root = parse(text).root
    assert isinstance(root, YamlSequence)
    lines = text.split("\n")
    for scalar in all_scalars(root):
        place = scalar.location
        assert place.line is not None
        assert place.column is not None
        assert lines[place.line - 1][place.column - 1 :].startswith(str(scalar.value))


@pytest.mark.parametrize(
    ("text", "key", "lines"),
    [
        ("responses:\n  utter_a:\n  -text: Good day!\n", "text", [3]),
        ("responses:\n  utter_a:\n  -text: Good day!\n  -text: Hello!\n", "text", [3, 4]),
        ("rules:\n- rule: a\n  steps:\n  -intent: hello\n  - action: utter_a\n", "intent", [4]),
        ("rules:\n- rule: a\n  steps:\n  - intent: hello\n  -action: utter_a\n", "action", [5]),
        ("nlu:\n- intent: a\n  examples: |\n    - b\n-intent: b\n  examples: |\n    - c\n", "intent", [5]),
        ("pipeline:\n-name: A\n", "name", [2]),
        ("responses:\n  utter_a:\n  - text: b\n  -image: http://a/b.png\n", "image", [4]),
        ("stories:\n- story: a\n  steps:\n  - slot_was_set:\n    -size: large\n", "size", [5]),
        ("pipeline:\r\n- name: A\r\n-name: B\r\n", "name", [3]),
    ],
)
def test_a_dash_without_a_space_is_named(text: str, key: str, lines: list[int]) -> None:
    findings = parse_yaml(YamlSource("a.yml", text)).findings
    assert [one.location.line for one in findings] == lines
    assert {(one.code, one.hint) for one in findings} == {("yaml-syntax", f"Write `- {key}:`.")}


@pytest.mark.parametrize(
    ("text", "item", "line"),
    [
        ("intents:\n- a\n-greet\n- b\n", "greet", 3),
        ("slots:\n  size:\n    values:\n    -small\n    -large\n", "small", 4),
        ("entities:\r\n-very large\r\n- small\r\n", "very large", 2),
    ],
)
def test_a_dash_without_a_space_is_named_before_items_without_keys(text: str, item: str, line: int) -> None:
    (finding,) = parse_yaml(YamlSource("a.yml", text)).findings
    assert (finding.code, finding.location.line, finding.hint) == ("yaml-syntax", line, f"Write `- {item}`.")


@pytest.mark.parametrize("text", ["a: -1\n", "-1: a\n", "'-text': a\n", "a: |\n  -text: b\n", "-.5: a\n", "a: -text\n"])
def test_other_dashes_are_no_slip(text: str) -> None:
    assert parse_yaml(YamlSource("a.yml", text)).findings == ()


HALF_QUOTED = (
    "steps:\n- user: [Rome](city)\n  intent: hi\n",
    "steps:\n- [Rome](city)\n- b\n",
    "text: {name}, hello\n",
    'steps:\n- user: "hi" there\n  intent: hi\n',
    "- text: 'hi' (x)\n",
    "- text: *bold* text\n",
)
OTHERWISE = ("- intent: [a, b\n- c\n", "text:\n- a\n b: c\n", "a: b\n c\n- d\n")


def test_a_text_that_yaml_takes_for_something_else_is_to_be_quoted(golden: Golden) -> None:
    golden(*(parse(text).findings[0].hint for text in (*HALF_QUOTED, *OTHERWISE)))


WITHOUT_STEPS = (
    "stories:\n- story: a\n  - intent: hi\n  - action: utter_hi\n",
    "rules:\n  - rule: b\n    - intent: hi\n",
    "stories:\n- story: c\n  - intent: hi\n- story: d\n  steps:\n  - intent: hi\n",
    "stories:\n- story: e\n  steps:\n  - intent: hi\n   - action: utter_hi\n",
)


def test_steps_that_follow_the_name_of_their_story_lack_their_key(golden: Golden) -> None:
    golden(*(parse(text).findings[0].hint for text in WITHOUT_STEPS))
