"""Locations and the errors that carry them."""

import pytest
from golden_texts import Golden

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.render.links import repository_path


@pytest.mark.parametrize(
    ("location", "text"),
    [
        (Location("data/nlu.yml", 3, 7), "data/nlu.yml:3:7"),
        (Location("data/nlu.yml", 3), "data/nlu.yml:3"),
        (Location("data"), "data"),
        (Location("data/nlu.yml", None, 7), "data/nlu.yml"),
    ],
)
def test_a_location_is_written_as_compilers_write_it(location: Location, text: str) -> None:
    assert str(location) == text


def test_an_error_says_where_what_and_what_to_do(golden: Golden) -> None:
    error = UserError("no such file", location=Location("a.yml", 1), hint="Create it.")

    golden(error)


@pytest.mark.parametrize(
    ("root", "path", "expected"),
    [
        ("assistants/shop", "data/nlu.yml", "assistants/shop/data/nlu.yml"),
        ("assistants/shop", "../../shared/nlu.yml", "shared/nlu.yml"),
        ("", "../beside.yml", None),
        ("bot", "../../beside.yml", None),
        ("bot", "/etc/passwd", None),
        ("bot", "..", None),
    ],
)
def test_a_place_in_the_repository(root: str, path: str, expected: str | None) -> None:
    assert repository_path(root, Location(path)) == expected
