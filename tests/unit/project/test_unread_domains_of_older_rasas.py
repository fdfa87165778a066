"""A domain of an older Rasa of which something cannot be read: that is an error, not what only Rasa 3 would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.project.reader import read_project
from turncheck.validation.before_training import all_unreadable
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from pathlib import Path

OLDER = {1: "", 2: 'version: "2.0"\n'}
NLU = {1: ("nlu.md", "## intent:greet\n- hi\n- hello\n"), 2: ("nlu.yml", 'version: "2.0"\nnlu:\n- intent: greet\n')}
DOMAIN = "intents:\n- greet\nactions:\n- utter_hi\n{responses}:\n  utter_hi:\n  - text: hi\n"
KEY = {1: "templates", 2: "responses"}


@pytest.mark.parametrize("major", [1, 2])
@pytest.mark.parametrize(
    ("rest", "line"),
    [
        ("slots:\n  size:\n    - type: text\n", 3),
        ("slots:\n- size\n", 2),
        ("forms:\n  pizza_form\n", 2),
        ("slots:\n  size:\n    type: unfeaturized\n", None),
        ("forms:\n- pizza_form\n", None),
        ("slots:\n  size:\n    type: text\n    auto_fill: false\n", None),
    ],
)
def test_what_cannot_be_read_is_an_error(major: int, rest: str, line: int | None, tmp_path: Path) -> None:
    written = OLDER[major] + DOMAIN.format(responses=KEY[major])
    (tmp_path / "domain.yml").write_text(written + rest)
    (tmp_path / "config.yml").write_text("language: en\npipeline:\n- name: KeywordIntentClassifier\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / NLU[major][0]).write_text(NLU[major][1])
    project = read_project(tmp_path)
    assert project.older is not None

    found = validate(project).findings

    errors = [one.location.line for one in found if one.severity == "error" and one.location.path == "domain.yml"]
    assert errors == ([] if line is None else [written.count("\n") + line])
    assert bool(list(all_unreadable(project))) == (line is not None)
