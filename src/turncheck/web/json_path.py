"""JSONPath (RFC 9535): selects values from an answer; says what an answer had where nothing was selected.

Patterns of ``match()`` and ``search()`` are searched for within a time limit: a pull request may have written them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.messages.finding import NOWHERE, Location

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonpath import JSONPath, JSONPathEnvironment

MOST_VALUES: Final = 10_000
"""No path selects more values than this: what lies beyond is not looked for."""
_SEARCH_SECONDS: Final = 1.0
_DEEPEST: Final = 6
_MOST_SHOWN: Final = 8
_LONGEST_NAME: Final = 40


Place = tuple[str | int, ...]
"""Where a value is: names of keys and positions in lists, from the outside in."""


class PathError(ValueError):
    """A path that is not JSONPath, or that cannot be followed in an answer; the message says why."""


@dataclass(frozen=True, slots=True)
class JsonPath:
    """A path and where it is written; not ``is_written``: something else stands there, which fills it in."""

    text: str
    location: Location = field(default=NOWHERE, compare=False)
    is_written: bool = field(default=True, compare=False)

    def values(self, answer: Any) -> list[Any]:
        """Return what the path selects, at most :data:`MOST_VALUES`.

        Raises:
            PathError: the answer is too deep, or the search for a pattern takes too long.
        """
        return [value for _, value in self.found(answer)]

    def found(self, answer: Any) -> list[tuple[Place, Any]]:
        """Return the same with the place of each value.

        Raises:
            PathError: as :meth:`values`.
        """
        from jsonpath import JSONPathError

        if isinstance(answer, str):  # the library would take it for a document that is yet to be decoded
            return [((), answer)] if self.text.strip() == "$" else []
        try:
            matches = islice(compiled(self.text).finditer(answer), MOST_VALUES)
            return [(tuple(match.parts), match.value) for match in matches]
        except (JSONPathError, RecursionError) as error:
            raise PathError(_first_line(error)) from None
        except TimeoutError:
            raise PathError("the search for its pattern takes too long") from None

    def value(self, answer: Any) -> Any:
        """Return the first value that the path selects, ``None`` if there is none.

        Raises:
            PathError: as :meth:`values`.
        """
        return next(iter(self.values(answer)), None)

    def entry_of(self, place: Place) -> Place:
        """Return the entry that a place is in, of the first list that the path goes through as a whole; else ``()``."""
        from jsonpath.segments import JSONPathChildSegment
        from jsonpath.selectors import IndexSelector, NameSelector

        for depth, segment in enumerate(compiled(self.text).segments):
            selector = segment.selectors[0] if len(segment.selectors) == 1 else None
            step: str | int | None = None
            if isinstance(segment, JSONPathChildSegment) and isinstance(selector, NameSelector):
                step = selector.name
            elif isinstance(segment, JSONPathChildSegment) and isinstance(selector, IndexSelector):
                step = selector.index
            if step is None:
                is_entry = (
                    isinstance(segment, JSONPathChildSegment) and len(place) > depth and type(place[depth]) is int
                )
                return place[: depth + 1] if is_entry else ()
            if place[depth : depth + 1] != (step,):
                return ()
        return ()

    def reach(self, answer: Any) -> Literal["nowhere", "nothing", "further"]:
        """Return how far the path leads, up to its first choice among several values, if it selects nothing.

        ``nowhere``: that is not in the answer; ``nothing``: it holds nothing; ``further``: it does.
        """
        from jsonpath.segments import JSONPathChildSegment
        from jsonpath.selectors import IndexSelector, NameSelector

        here = answer
        for segment in compiled(self.text).segments:
            if not isinstance(segment, JSONPathChildSegment) or len(segment.selectors) != 1 or here in ([], {}, None):
                break
            match segment.selectors[0]:
                case NameSelector(name=name) if isinstance(here, dict) and name in here:
                    here = here[name]
                case IndexSelector(index=index) if isinstance(here, list) and -len(here) <= index < len(here):
                    here = here[index]
                case NameSelector() | IndexSelector():
                    return "nowhere"
                case _:
                    break
        return "nothing" if here in ([], {}, None) else "further"


@cache
def compiled(text: str) -> JSONPath:
    """Return the path as it is searched for.

    Raises:
        PathError: it is not JSONPath.
    """
    from jsonpath import JSONPathError

    if not text.startswith("$"):
        raise PathError("it does not begin with $")
    try:
        return _environment().compile(text)  # type: ignore[return-value] # strict paths are never compound
    except (JSONPathError, RecursionError) as error:
        raise PathError(_first_line(error)) from None


@cache
def _environment() -> JSONPathEnvironment:
    from jsonpath import JSONPathEnvironment
    from jsonpath.function_extensions.match import Match
    from jsonpath.function_extensions.search import Search

    class TimedMatch(Match):
        def __call__(self, value: object, pattern: object) -> bool:
            found = self.check_cache(pattern) if isinstance(pattern, str) and isinstance(value, str) else None
            return found is not None and bool(found.fullmatch(value, timeout=_SEARCH_SECONDS, concurrent=True))

    class TimedSearch(Search):
        def __call__(self, value: object, pattern: object) -> bool:
            found = self.check_cache(pattern) if isinstance(pattern, str) and isinstance(value, str) else None
            return found is not None and bool(found.search(value, timeout=_SEARCH_SECONDS, concurrent=True))

    environment = JSONPathEnvironment(strict=True)
    environment.function_extensions["match"] = TimedMatch(thread_safe=True)
    environment.function_extensions["search"] = TimedSearch(thread_safe=True)
    return environment


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def outline(answer: Any) -> str:
    """Return which values an answer has, as paths: the first few of them."""
    paths = list(dict.fromkeys(islice(_paths(answer, "$", 0), 1000)))
    more = f" and {len(paths) - _MOST_SHOWN} more" if len(paths) > _MOST_SHOWN else ""
    return f"{', '.join(paths[:_MOST_SHOWN])}{more}"


def _paths(value: Any, path: str, depth: int) -> Iterator[str]:
    if isinstance(value, dict) and value and depth < _DEEPEST:
        for name, below in value.items():
            shown = str(name)[:_LONGEST_NAME]
            step = f".{shown}" if shown.isidentifier() else f"[{shown!r}]"
            yield from _paths(below, f"{path}{step}", depth + 1)
    elif isinstance(value, list) and value and depth < _DEEPEST:
        for below in value:
            yield from _paths(below, f"{path}[*]", depth + 1)
    else:
        yield path
