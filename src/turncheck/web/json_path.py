"""JSONPath (RFC 9535): selects values from an answer; says what an answer had where nothing was selected.

A pull request may have written the path and the answer. So a path has a length, it visits so many values, and ends when
its time is over (:mod:`turncheck.clock`), as do the patterns of ``match()`` and ``search()``.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from turncheck.clock import evaluating_within, is_over, seconds_left
from turncheck.messages.finding import NOWHERE, Location

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonpath import JSONPath, JSONPathEnvironment, JSONPathMatch
    from jsonpath.filter import BaseExpression

MOST_VALUES: Final = 10_000
"""No path selects more values than this: what lies beyond is not looked for."""
MOST_VISITED: Final = 500_000
"""No path leads through more values, with those of its conditions."""
LONGEST_PATH: Final = 1000
"""No path has more characters."""
MOST_STEPS: Final = 100
"""No path has more steps."""
_SECONDS: Final = 10.0
"""No path is searched for longer, however much is left for others."""
_BETWEEN_LOOKS: Final = 256
"""How many values are visited between two looks at the clock."""
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
            PathError: the answer is too deep or too large, or the search takes too long.
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
        _VISITED.number = _VISITED.looked_at = 0
        try:
            with evaluating_within(_SECONDS):
                matches = islice(compiled(self.text).finditer(answer), MOST_VALUES)
                return [(tuple(match.parts), match.value) for match in matches]
        except (JSONPathError, RecursionError) as error:
            raise PathError(_first_line(error)) from None
        except TimeoutError as error:
            raise PathError(str(error) if isinstance(error, _OverdueError) else "its pattern takes too long") from None

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


@lru_cache(maxsize=1024)
def compiled(text: str) -> JSONPath:
    """Return the path as it is searched for.

    Raises:
        PathError: it is not JSONPath, or too long.
    """
    from jsonpath import JSONPathError

    if not text.startswith("$"):
        raise PathError("it does not begin with $")
    if len(text) > LONGEST_PATH:
        raise PathError(f"it has {len(text):,} characters, at most {LONGEST_PATH:,} are read")
    try:
        path = _counted(_environment().compile(text))  # type: ignore[arg-type] # strict paths are never compound
    except (JSONPathError, RecursionError) as error:
        raise PathError(_first_line(error)) from None
    if (steps := len(path.segments)) > MOST_STEPS:
        raise PathError(f"it has {steps:,} steps, at most {MOST_STEPS} are followed")
    return path


# The library has neither a limit nor a clock of its own. So every value on the way is of a type of ours, which counts.


class _OverdueError(TimeoutError):
    """A path leads through too many values, or its time is over."""


class _Visited(threading.local):
    """How many values the path that this thread searches for has led through, as far as it can have looked at them."""

    number = looked_at = 0

    def add(self, value: object) -> None:
        self.number += 1 + (len(value) if isinstance(value, (list, tuple, dict)) else 0)
        if self.number < self.looked_at + _BETWEEN_LOOKS:
            return
        self.looked_at = self.number
        if self.number > MOST_VISITED:
            raise _OverdueError(f"it leads through more than {MOST_VISITED:,} values")
        if is_over():
            raise _OverdueError("it takes too long")


_VISITED: Final = _Visited()


@cache
def _counting_type() -> type[JSONPath]:
    """Return a path whose values are counted, and that is followed as any other."""
    from jsonpath import JSONPath, JSONPathMatch
    from jsonpath._data import load_data

    class CountedMatch(JSONPathMatch):
        """A value on the way, without what nobody asks for: its path as text, as long as all keys, and its children."""

        def __init__(self, **fields: Any) -> None:
            _VISITED.add(fields["obj"])
            super().__init__(**fields)

        def new_child(self, obj: object, key: int | str) -> JSONPathMatch:
            context, parts = self.filter_context(), (*self.parts, key)
            return CountedMatch(filter_context=context, obj=obj, parent=self, parts=parts, path="", root=self.root)

        def add_child(self, *children: JSONPathMatch) -> None:
            pass

    class CountedPath(JSONPath):
        def finditer(self, data: Any, *, filter_context: Any = None) -> Iterable[JSONPathMatch]:
            root = load_data(data)
            context = filter_context or {}
            matches: Iterable[JSONPathMatch] = [
                CountedMatch(filter_context=context, obj=root, parent=None, path="$", parts=(), root=root)
            ]
            for segment in self.segments:
                matches = segment.resolve(matches)
            return matches

    return CountedPath


def _counted(path: JSONPath) -> JSONPath:
    """Return the path, and those in its conditions, as ones whose values are counted."""
    from jsonpath.selectors import Filter

    for segment in path.segments:
        for selector in segment.selectors:
            if isinstance(selector, Filter):
                _count_in(selector.expression)
    return _counting_type()(env=path.env, segments=path.segments)


def _count_in(expression: BaseExpression) -> None:
    from jsonpath.filter import FilterQuery

    if isinstance(expression, FilterQuery):
        expression.path = _counted(expression.path)
    else:
        for below in expression.children():
            _count_in(below)


def _seconds() -> float:
    return seconds_left(_SEARCH_SECONDS)


@cache
def _environment() -> JSONPathEnvironment:
    from jsonpath import JSONPathEnvironment
    from jsonpath.function_extensions.match import Match
    from jsonpath.function_extensions.search import Search

    class TimedMatch(Match):
        def __call__(self, value: object, pattern: object) -> bool:
            found = self.check_cache(pattern) if isinstance(pattern, str) and isinstance(value, str) else None
            return found is not None and bool(
                found.fullmatch(value, timeout=seconds_left(_SEARCH_SECONDS), concurrent=True)
            )

    class TimedSearch(Search):
        def __call__(self, value: object, pattern: object) -> bool:
            found = self.check_cache(pattern) if isinstance(pattern, str) and isinstance(value, str) else None
            return found is not None and bool(
                found.search(value, timeout=seconds_left(_SEARCH_SECONDS), concurrent=True)
            )

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
