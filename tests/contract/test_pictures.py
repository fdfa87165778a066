"""The pictures of the documentation show what the code of today does."""

from __future__ import annotations

import json

from tools.make_pictures import NOTED, ROOT, shown


def test_no_picture_is_older_than_what_it_shows() -> None:
    noted = json.loads(NOTED.read_text("utf-8"))
    old = [name for name, digest in shown().items() if noted.get(name) != digest]

    assert old == [], "run `make pictures`, and look at them"


def test_every_picture_of_the_documentation_is_drawn() -> None:
    assert {path.name for path in (ROOT / "docs").glob("*.png")} == set(shown())
