"""Names of JUnit cases: each once in its class, and the same ones whatever order the report has."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from turncheck.render.junit_lines import (
    attribute,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.messages.finding import Location


_LONGEST = 200


class Named(Struct, frozen=True):
    """A case before its outcome is known. ``content`` distinguishes cases with the same name at one place."""

    classname: str
    name: str
    location: Location | None = None
    content: str = ""

    @property
    def order(self) -> tuple[tuple[str, int, int], str]:
        """Its position among those with the same name."""
        return self.location.sort_key if self.location else ("", 0, 0), self.content


def distinct(cases: Sequence[Named]) -> list[Named]:
    """Return the cases, in their order, with names that XML may hold and that occur once in their class.

    Of cases with the same name, the first in its file keeps it and those below it become ``name (2)``, ``name (3)``,
    skipping names that another case already has.
    """
    named = [replace(case, name=attribute(case.name, _LONGEST) or "unnamed") for case in cases]
    taken = {(case.classname, case.name) for case in named}
    of_one_name: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for index, case in enumerate(named):
        of_one_name[case.classname, case.name].append(index)
    for (classname, name), indices in sorted(of_one_name.items()):
        number = 1
        for index in sorted(indices, key=lambda index: named[index].order)[1:]:
            while (classname, _numbered(name, number)) in taken:
                number += 1
            named[index] = replace(named[index], name=_numbered(name, number))
            taken.add((classname, named[index].name))
    return named


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} ({number})"


def path_of_class(path: str) -> str:
    """Return a path as the last part of a class's name: without a dot, at which readers would divide it.

    >>> path_of_class("tests/test_stories.yml"), path_of_class("suites/v1.2/faq.json")
    ('tests/test_stories', 'suites/v1_2/faq_json')
    """
    return path.removesuffix(".yml").replace(".", "_")
