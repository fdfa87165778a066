"""What language models are asked with is reported, what gives access to them is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.platforms.rasa.flows.asked import asked_with
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from pathlib import Path

FLOWS = "flows:\n  hours:\n    description: Opening hours.\n    steps:\n    - action: utter_hours\n"
ENDPOINTS = """
model_groups:
- id: commands
  models:
  - model: gpt-4o-mini
    {name}: {value}
"""
SECRET = "Zq7xWv93Lm2TyB"


@pytest.mark.parametrize("name", ["api_key", "apikey", "auth_token", "aws_secret_access_key", "password", "deployment"])
@pytest.mark.parametrize("value", [f"sk-{SECRET}", f"Bearer {SECRET}"])
def test_what_gives_access_is_left_out_by_its_name_or_its_look(tmp_path: Path, name: str, value: str) -> None:
    (tmp_path / "domain.yml").write_text("responses: {utter_hours: [{text: From nine.}]}\n", encoding="utf-8")
    (tmp_path / "flows.yml").write_text(FLOWS, encoding="utf-8")
    (tmp_path / "endpoints.yml").write_text(ENDPOINTS.format(name=name, value=value), encoding="utf-8")
    found = asked_with(read_project(tmp_path, data=[tmp_path / "flows.yml"]))
    assert found["model_groups[commands].models[0].model"] == "gpt-4o-mini"
    assert not [text for text in found.values() if SECRET in text]
