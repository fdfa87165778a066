"""Comments of a domain and a configuration stay where they were, or above what is left of that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.cli import run_command_line
from turncheck.project.conversion.config import with_yaml_comments

if TYPE_CHECKING:
    from pathlib import Path

DOMAIN = """# The bot of the shop.

# what users want
intents:
- greet  # hello and the like
# leaving
- bye

entities: [size]
templates:
  # said first
  utter_hi:
  - text: "hi # no comment"  # a friendly one
  utter_long:
  - text: |
      one
      # no comment either
slots:
  size:
    type: unfeaturized  # never decides
forms:
- order_form  # coded in actions.py
# the end
"""
CONFIG = """# top
language: en  # English
pipeline:
# words
- name: tokenizer_whitespace
- name: intent_classifier_tensorflow_embedding  # learns
  epochs: 50  # enough
policies:
- name: MemoizationPolicy
# it is unsure
- name: FallbackPolicy
"""


def converted(folder: Path, kind: str) -> str:
    (folder / "data").mkdir()
    (folder / "data" / "nlu.md").write_text("## intent:greet\n- hi\n", encoding="utf-8")
    (folder / "domain.yml").write_text(DOMAIN, encoding="utf-8")
    (folder / "config.yml").write_text(CONFIG, encoding="utf-8")
    out = folder / "new"
    assert run_command_line(["data", "convert", kind, "--project", str(folder), "--out", str(out)]) == 0
    return (out / f"{kind}.yml").read_text(encoding="utf-8")


def below(text: str, comment: str) -> str:
    """Return the first line below a comment that is none itself."""
    lines = [line.strip() for line in text.splitlines()]
    return next(line for line in lines[lines.index(comment) + 1 :] if not line.startswith("#"))


def test_comments_of_a_domain_stay_with_what_they_are_about(tmp_path: Path) -> None:
    text = converted(tmp_path, "domain")
    assert text.startswith("# The bot of the shop.\n# what users want\n")
    expected = {
        "# hello and the like": "- greet",
        "# leaving": "- bye",
        "# said first": "utter_hi:",
        "# a friendly one": '- text: "hi # no comment"',
        "# never decides": "type: any",
        "# coded in actions.py": "order_form:",
    }
    assert {comment: below(text, comment) for comment in expected} == expected
    assert "# the end" in text
    assert text.count("no comment") == 2, "what looks like a comment in a text is none"


def test_comments_of_a_configuration_follow_what_was_renamed(tmp_path: Path) -> None:
    text = converted(tmp_path, "config")
    assert text.startswith("# top\n")
    expected = {
        "# English": "language: en",
        "# words": "- name: WhitespaceTokenizer",
        "# learns": "- name: DIETClassifier",
        "# enough": "epochs: 50",
        "# it is unsure": "- name: RulePolicy",
    }
    assert {comment: below(text, comment) for comment in expected} == expected


def test_a_comment_whose_place_is_gone_is_kept_above_what_was_around_it() -> None:
    text = with_yaml_comments("x: 0\na:\n  b: 1\n", "a:\n  b: 1\n  c: 2  # gone\nd: 3  # all gone\n")
    assert text == "# all gone\nx: 0\n# gone\na:\n  b: 1\n"
