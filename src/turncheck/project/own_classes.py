"""Which of Rasa's classes a policy or component of the project extends, as its source says: nothing is imported or run.

``class CarefulRules(RulePolicy)`` can be replaced by RulePolicy, where the project's own code is not run.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from turncheck.process import regular_file
from turncheck.project.config import is_custom, short_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from turncheck.project.model import Component

_LARGEST: Final = 1_000_000
"""Bytes; a larger file is not the source of a class."""
_MOST_STEPS: Final = 100
"""At most so many names are followed for one class."""
_DEEPEST: Final = 30
"""In more packages than this, one in another, nobody keeps a class."""


class _Module(Struct, frozen=True):
    """The full names of what the names of a module stand for: of a class its bases, of others the thing itself."""

    classes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    stars: Sequence[str] = ()
    """The modules of which it imports everything."""


def with_extended(components: Iterable[Component], root: Path, known: Collection[str]) -> tuple[Component, ...]:
    """Return the components; for those that are classes of the project, with the ``known`` class that each extends."""
    sources = _Sources(root)
    return tuple(
        replace(component, extends=sources.known_ancestor(component.name, known))
        if is_custom(component.name)
        else component
        for component in components
    )


class _Sources:
    """The modules of a project, each read once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._modules: dict[tuple[str, ...], _Module | None] = {}

    def known_ancestor(self, name: str, known: Collection[str]) -> str:
        """Return the nearest of these classes of Rasa that a class extends, in the order of its bases; empty: none."""
        waiting, seen = [name], set[str]()
        while waiting and len(seen) < _MOST_STEPS:
            full = waiting.pop()
            if full in seen:
                continue
            seen.add(full)
            if not is_custom(full):
                if (short := short_name(full)) in known and short != full:
                    return short
                continue
            waiting += list(self._stands_for(full))[::-1]
        return ""

    def _stands_for(self, full: str) -> Iterator[str]:
        """Yield the full names of a class's bases, or of what a name that is not a class stands for."""
        parts = tuple(full.split(".", _DEEPEST))
        for length in range(len(parts) - 1, 0, -1):
            module = self._module(parts[:length])
            if module is None:
                continue
            name, rest = parts[length], parts[length + 1 :]
            if name in module.classes:
                yield from module.classes[name] if not rest else ()
            elif name in module.names:
                yield ".".join((module.names[name], *rest))
            else:
                yield from (".".join((star, name, *rest)) for star in module.stars)
            return

    def _module(self, parts: tuple[str, ...]) -> _Module | None:
        if parts not in self._modules:
            self._modules[parts] = self._read(parts)
        return self._modules[parts]

    def _read(self, parts: tuple[str, ...]) -> _Module | None:
        below = self._root.joinpath(*parts)
        for path, package in ((below.with_suffix(".py"), parts[:-1]), (below / "__init__.py", parts)):
            try:
                content = regular_file.read_regular(path, most=_LARGEST, inside=self._root)
            except (OSError, ValueError):
                continue
            try:
                with warnings.catch_warnings(action="ignore"):  # about escapes in its strings
                    return _module_of(ast.parse(content), ".".join(parts), package)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return _Module()  # Rasa will report its fault
        return None


def _module_of(tree: ast.Module, own: str, package: Sequence[str]) -> _Module:
    """Return what the names of the module ``own`` stand for.

    The first of several definitions counts, as in ``try: import … except ImportError: import …``.
    """
    classes: dict[str, Sequence[str]] = {}
    names: dict[str, str] = {}
    stars: list[str] = []
    for statement in _statements(tree.body):
        match statement:
            case ast.Import():
                for imported in statement.names:
                    first = imported.name.partition(".")[0]
                    names.setdefault(imported.asname or first, imported.name if imported.asname else first)
            case ast.ImportFrom():
                origin = _origin(statement, package)
                stars += [origin for imported in statement.names if imported.name == "*"]
                for imported in statement.names:
                    names.setdefault(imported.asname or imported.name, f"{origin}.{imported.name}")
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if written := _dotted(value):
                names.setdefault(name, f"{own}.{written}")
            case ast.ClassDef(name=name, bases=bases):
                classes.setdefault(name, [f"{own}.{written}" for base in bases if (written := _dotted(base))])
            case _:
                pass
    return _Module(classes, names, stars)


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those under a condition."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try | ast.With):
            handlers = getattr(statement, "handlers", ())
            yield from _statements(statement.body)
            yield from _statements(part for handler in handlers for part in handler.body)
            yield from _statements(getattr(statement, "orelse", ()))
        else:
            yield statement


def _origin(statement: ast.ImportFrom, package: Sequence[str]) -> str:
    """Return the full name of the module that is imported from; a dot is the package, each other one its parent."""
    around = package[: len(package) - statement.level + 1] if statement.level else ()
    return ".".join((*around, *filter(None, [statement.module])))


def _dotted(expression: ast.expr) -> str:
    """Return a name, as ``module.Class``; empty: it is something else."""
    parts: list[str] = []
    while isinstance(expression, ast.Attribute):
        parts.append(expression.attr)
        expression = expression.value
    if isinstance(expression, ast.Subscript) and not parts:  # a generic class
        return _dotted(expression.value)
    return ".".join((expression.id, *reversed(parts))) if isinstance(expression, ast.Name) else ""
