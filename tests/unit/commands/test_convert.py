"""``turncheck data convert nlu|core|domain|config``: what it writes, shows and says."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.commands.converted_data import project_differences
from turncheck.project.conversion.core import with_comments
from turncheck.project.reader import read_project, read_stories

CONFIG = """\
language: en
pipeline: supervised_embeddings
policies:
- name: MemoizationPolicy
- name: TwoStageFallbackPolicy
  nlu_threshold: 0.4
- name: MappingPolicy
"""
DOMAIN = """\
# our bot

intents:
- greet
- bye: {triggers: utter_bye, use_entities: false}
- out_of_scope
entities: [name]
slots:
  name: {type: text}
  note: {type: unfeaturized}
  kept: {type: text, auto_fill: false}
templates:
  utter_hi:
  - hi {name}
  utter_bye:
  - text: bye
actions: [utter_hi, utter_bye]
forms: [a_form]
"""
NLU = """\
<!-- how people greet -->
## intent:greet
- hello [Tom](name:Thomas)
- hi
## synonym:Thomas
- Tommy
"""
STORIES = """\
## s
* greet{"name": "Tom"}
  - utter_hi
  - reset_slots
  - followup{"name": "utter_bye"}
  - action_deactivate_form
"""
FILES = {
    "config.yml": CONFIG,
    "domain.yml": DOMAIN,
    "data/nlu.md": NLU,
    "data/more/nlu.md": "## intent:bye\n- bye\n- so long\n",
    "data/stories.md": STORIES,
    "tests/conversation_tests.md": "## t\n* greet: hello [Tom](name)\n  - utter_hi\n",
}


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(content, encoding="utf-8")


def test_nlu_data_keep_their_comments_and_files_of_one_name_stay_apart(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["data", "convert", "nlu", "--out", "new", "--check"]) == 0
    golden(capsys.readouterr().out)
    written = {path.name: path.read_text() for path in Path("new").iterdir()}
    assert sorted(written) == ["data_nlu.yml", "nlu.yml"]
    assert any(text.startswith("# how people greet\n") for text in written.values())


def test_stories_keep_their_events_and_what_has_no_words_is_named(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["data", "convert", "core", "data", "tests", "--out", "new"]) == 0
    out = capsys.readouterr().out
    golden(out)
    assert "- action: reset_slots" in Path("new/stories.yml").read_text()
    assert "action_deactivate_loop" in Path("new/stories.yml").read_text()
    (test,), _ = read_stories([Path("new/test_conversation_tests.yml")], Path())
    assert test.name == "t"


def test_a_domain_becomes_one_of_rasa_3_with_rules_for_what_was_mapped(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["data", "convert", "domain", "--out", "new", "--check"]) == 0
    golden(capsys.readouterr().out)
    domain = Path("new/domain.yml").read_text()
    assert domain.startswith("# our bot\n")
    assert "triggers" not in domain
    project = read_project(Path("new"), data=[Path("new")])
    assert project.rasa is not None
    assert project.rasa.name == "3.x"
    fills = {slot.name: [one.type for one in slot.mappings] for slot in project.domain.slots.values()}
    assert fills == {"name": ["from_entity"], "note": ["custom"], "kept": ["custom"]}
    assert project.domain.responses["utter_hi"].variations[0].text == "hi {name}"
    assert project.domain.session.session_expiration_time == 0
    (rule,) = project.rules
    assert rule.name == "bye triggers utter_bye"


def test_a_configuration_gets_rules_for_what_is_not_understood() -> None:
    assert run_command_line(["data", "convert", "config", "--out", "new", "--check"]) == 0
    config = read_project(Path("new"), data=[Path("new")]).config
    names = [one.name for one in config.pipeline or ()]
    assert names[0] == "WhitespaceTokenizer"
    assert names[-2:] == ["DIETClassifier", "FallbackClassifier"]
    assert [(one.name, one.parameters.get("max_history")) for one in config.policies or ()] == [
        ("MemoizationPolicy", 5),
        ("RulePolicy", None),
    ]
    assert "action_two_stage_fallback" in Path("new/rules_for_fallback.yml").read_text()


def test_a_dry_run_shows_the_difference_and_writes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["data", "convert", "core", "data", "--out", "new", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "+- story: s" in out.replace("+  - story", "+- story")
    assert "Would write: new/stories.yml" in out
    assert not Path("new").exists()


def test_what_is_of_rasa_3_needs_no_conversion(capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
    Path("domain.yml").write_text('version: "3.1"\nintents: [greet]\n', encoding="utf-8")
    assert run_command_line(["data", "convert", "domain"]) == 2
    golden(capsys.readouterr().err)
    assert run_command_line(["data", "convert", "nlu", "gone.md"]) == 2


def test_comments_of_markdown_stand_where_they_stood() -> None:
    markdown = (
        "<!-- the file -->\n## intent:greet\n- hello\n- hi <!-- short -->\n\n<!-- two\nlines -->\n"
        "## intent:faq: x\n- a [tea](drink)\n<!-- inside -->\n- b\n"
    )
    converted = 'nlu:\n- intent: greet\n  examples: |\n    - hello\n- intent: "faq: x"\n  examples: |\n    - b\n'
    assert with_comments(converted, markdown).splitlines() == [
        "# the file",
        "nlu:",
        "# short",
        "- intent: greet",
        "  examples: |",
        "    - hello",
        "# two",
        "# lines",
        "# inside",
        '- intent: "faq: x"',
        "  examples: |",
        "    - b",
    ]


def test_comments_of_stories_stand_above_their_story() -> None:
    markdown = "## one <!-- beside -->\n* a\n  - b\n<!-- above -->\n# two\n* a\n"
    converted = "stories:\n- story: one\n  steps: []\n- story: two\n  steps: []\n"
    assert with_comments(converted, markdown).splitlines() == [
        *("stories:", "# beside", "- story: one", "  steps: []", "# above", "- story: two", "  steps: []")
    ]


def test_the_last_action_of_two_stages_cannot_be_named_in_rasa_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    config = CONFIG.replace("  nlu_threshold: 0.4\n", "  fallback_nlu_action_name: utter_sorry\n")
    (tmp_path / "config.yml").write_text(config, encoding="utf-8")
    assert run_command_line(["data", "convert", "config"]) == 0
    golden(capsys.readouterr().out)


def test_a_memoization_of_rasa_2_looks_back_as_far_in_rasa_3(tmp_path: Path) -> None:
    (tmp_path / "domain.yml").write_text('version: "2.0"\nintents: [greet]\n', encoding="utf-8")
    (tmp_path / "config.yml").write_text(
        "language: en\npipeline: []\npolicies:\n- name: MemoizationPolicy\n- name: RulePolicy\n", encoding="utf-8"
    )
    for old in (tmp_path / "data").rglob("*.md"):
        old.unlink()
    assert run_command_line(["data", "convert", "config"]) == 0
    policies = read_project(tmp_path, config=tmp_path / "converted" / "config.yml").config.policies or ()
    assert dict(policies[0].parameters) == {"max_history": 5}


DOMAIN_OF_RASA_2 = """\
# our bot
version: "2.0"   # of Rasa

intents: [greet, 'bye']  # two

# what we remember
slots:
  city: {type: text}   # filled by the form
  size:
    type: text

# the forms
forms:
  f:
    required_slots:
      size:
      - type: from_text

entities:
- city   # a place
responses:
  faq/a: [{text: 'A'}]
  utter_hi:
  - text: "hi {city}"   # greeting
actions: [action_x, respond_faq]
"""


def _converted_domain(folder: Path, written: str) -> str:
    for old in (folder / "data").rglob("*.md"):
        old.unlink()
    (folder / "config.yml").write_text("language: en\npipeline: []\npolicies:\n- name: RulePolicy\n", encoding="utf-8")
    (folder / "domain.yml").write_text(written, encoding="utf-8")
    assert run_command_line(["data", "convert", "domain"]) == 0
    converted = (folder / "converted" / "domain.yml").read_text(encoding="utf-8")
    before, after = read_project(folder), read_project(folder, domain=folder / "converted" / "domain.yml")
    assert project_differences("domain", before, after) == []
    return converted


@pytest.mark.parametrize("version", ['version: "2.0"   # of Rasa\n', "version: '2.8'   # of Rasa\n"])
def test_a_domain_of_rasa_2_keeps_what_rasa_3_reads_as_it_is(version: str, tmp_path: Path) -> None:
    converted = _converted_domain(tmp_path, DOMAIN_OF_RASA_2.replace('version: "2.0"   # of Rasa\n', version))
    for kept in (
        "# our bot\nversion: \"3.1\"   # of Rasa\n\nintents: [greet, 'bye']  # two\n\n# what we remember\nslots:\n",
        "\n\n# the forms\nforms:\n  f:\n    required_slots:\n    - size\n\nentities:\n- city   # a place\n",
        "  utter_faq/a: [{text: 'A'}]\n  utter_hi:\n  - text: \"hi {city}\"   # greeting\n",
        "\nactions: [action_x, utter_faq]\n",
        "# filled by the form\n",
    ):
        assert kept in converted
    assert "session_config" not in converted


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("slots:\n", "slots: &known\n"),
        ("  city: {type: text}   # filled by the form\n", "  city: &one {type: text}\n"),
    ],
)
def test_a_domain_whose_sections_share_nodes_is_written_as_a_whole(old: str, new: str, tmp_path: Path) -> None:
    written = DOMAIN_OF_RASA_2.replace(old, new, 1)
    assert "&" not in _converted_domain(tmp_path, written)


DATA_OF_RASA_3 = 'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello\n'


@pytest.mark.parametrize("kind", ["domain", "config"])
@pytest.mark.parametrize("others", [("nlu",), ("nlu", "core"), ("nlu", "core", "other")])
def test_a_project_is_converted_one_file_after_the_other(kind: str, others: tuple[str, ...], tmp_path: Path) -> None:
    assert run_command_line(["data", "convert", kind, "--out", "at-once"]) == 0

    for one in others:
        name = {"domain": "config", "config": "domain"}[kind] if one == "other" else one
        assert run_command_line(["data", "convert", name, "--out", "done"]) == 0
    for old in (tmp_path / "data").rglob("*.md"):
        old.unlink()
    Path("data", "nlu.yml").write_text(DATA_OF_RASA_3, encoding="utf-8")
    for new in (tmp_path / "done").glob("*.yml"):
        new.rename(tmp_path / ("" if new.name in {"domain.yml", "config.yml"} else "data") / new.name)

    assert run_command_line(["data", "convert", kind, "--out", "last"]) == 0
    file = f"{kind}.yml"
    assert Path("last", file).read_text("utf-8") == Path("at-once", file).read_text("utf-8")
