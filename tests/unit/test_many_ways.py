"""Stories whose alternatives multiply beyond what can be followed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from small_project import places, read

from turncheck.dialogue.domain import DialogueDomain
from turncheck.dialogue.training import training_trackers
from turncheck.messages.errors import UserError
from turncheck.validation.pipeline import validate

S = "data/stories.yml"
_OR = "  - or:\n    - intent: greet\n    - intent: goodbye\n    - intent: order\n  - action: utter_done\n"


def _story(alternatives: int) -> tuple[str, str, str]:
    return S, "stories:\n", f"stories:\n- story: survey\n  steps:\n{_OR * alternatives}"


def test_twenty_five_alternatives_in_a_row_are_a_finding_soon(tmp_path: Path) -> None:
    project = read(tmp_path, _story(25))
    begin = time.process_time()
    assert places(validate(project), "story-ways-too-many") == ["data/stories.yml:3:3"]
    assert time.process_time() - begin < 60


def test_training_refuses_them_with_the_place(tmp_path: Path) -> None:
    project = read(tmp_path, _story(25))
    with pytest.raises(UserError, match="More than 10000 dialogues lead through 'survey'"):
        training_trackers(project, DialogueDomain.of(project))


def test_a_few_alternatives_are_followed(tmp_path: Path) -> None:
    assert places(validate(read(tmp_path, _story(3))), "story-ways-too-many") == []
