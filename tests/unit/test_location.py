"""Locations and the errors that carry them."""

import pytest

from turncheck.errors import UserError
from turncheck.location import Location


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


def test_an_error_says_where_what_and_what_to_do() -> None:
    error = UserError("no such file", location=Location("a.yml", 1), remedy="Create it.")

    assert str(error) == "a.yml:1: no such file\nCreate it."
