"""A part of the domain begins to differ at the line that was changed, not at its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from turncheck.causes.parts import changes_between
from turncheck.run.reading import read_configured
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.project.model import Project

DOMAIN = """version: "3.1"
intents:
- hello
- ask:
    use_entities: [size]
slots:
  size:
    type: categorical
    values:
    - small
    - large
    mappings:
    - type: from_entity
      entity: size
      role: first
forms:
  order:
    ignored_intents: [ask]
    required_slots:
    - size
    - name
    - town
responses:
  utter_hello:
  - text: Hello
    buttons:
    - title: Go
      payload: /ask
session_config:
  session_expiration_time: 60
"""


def written(folder: Path, domain: str) -> Project:
    folder.mkdir(exist_ok=True)
    (folder / "domain.yml").write_text(domain, encoding="utf-8")
    return read_configured(Settings(project=str(folder)))


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("use_entities: [size]", "use_entities: []", 5),
        ("type: categorical", "type: text", 8),
        ("    - large", "    - huge", 11),
        ("    - large\n", "    - large\n    - huge\n", 12),
        ("      role: first", "      role: second", 15),
        ("      role: first\n", "      role: first\n      group: other\n", 16),
        ("    - name\n    - town\n", "    - town\n    - name\n", 21),
        ("    - size\n    - name\n", "    - name\n", 20),
        ("[ask]\n    required", "[hello]\n    required", 18),
        ("payload: /ask", "payload: /hello", 28),
        ("session_expiration_time: 60", "session_expiration_time: 5", 30),
        ("    - small\n    - large\n", "    - large\n", 10),
        ("      role: first\n", "", 13),
    ],
)
def test_the_changed_line_is_found(tmp_path: Path, old: str, new: str, line: int) -> None:
    assert DOMAIN.count(old) == 1

    (part,) = changes_between(written(tmp_path / "base", DOMAIN), written(tmp_path, DOMAIN.replace(old, new))).parts

    assert part.location is not None
    assert (part.location.path, part.location.line) == ("domain.yml", line)
