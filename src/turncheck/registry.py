"""The doors for others: what turncheck has by name, and what installed packages add to it.

A package adds engines, file formats, checks and so on by entry points, one group for each kind (:data:`GROUPS`). None
is read unless somebody names the package: in the setting `plugins`, which a flag or an input may give, but never a file
that a pull request can change. What was used is named in the report, with its version.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, ParamSpec, TypeVar

from turncheck.messages.errors import UserError
from turncheck.messages.phrasing import suggestion

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

_Entry = TypeVar("_Entry")
_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")

GROUPS: Final[Mapping[str, str]] = {
    "turncheck.engines": "engine",
    "turncheck.formats": "format",
    "turncheck.checks": "check",
    "turncheck.metrics": "metric",
    "turncheck.evaluations": "evaluation",
    "turncheck.outputs": "output",
    "turncheck.hosts": "host",
}
"""What each group of entry points holds."""


class Plugin(NamedTuple):
    """An installed package that adds something: its name and version, and what it adds, by group and name."""

    name: str
    version: str
    entries: Mapping[str, Mapping[str, Any]]

    @property
    def provides(self) -> tuple[str, ...]:
        """What it adds, in words: ``check response-shouts``."""
        return tuple(f"{GROUPS[group]} {name}" for group in GROUPS for name in sorted(self.entries.get(group, ())))


class Registry(Mapping[str, _Entry], Generic[_Entry]):
    """What there is of one kind, by name: our own, then that of the plugins in use.

    ``built_in`` may be changed by tests. ``kind``: the type of an entry.
    """

    def __init__(self, group: str, built_in: Mapping[str, _Entry], kind: type[Any]) -> None:
        self.group: Final = group
        self.built_in: Final = dict(built_in)
        self._kind: Final = kind

    def __getitem__(self, name: str) -> _Entry:
        if name in self.built_in:
            return self.built_in[name]
        return self.added()[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.built_in, **self.added()})

    def __len__(self) -> int:
        return len(self.built_in) + len(self.added())

    def added(self) -> Mapping[str, _Entry]:
        """Return what the plugins in use add.

        Raises:
            UserError: one of them adds something else under this group, or a name that there is already.
        """
        added: dict[str, _Entry] = {}
        for plugin in _in_use:
            for name, entry in plugin.entries.get(self.group, {}).items():
                if not isinstance(entry, self._kind):
                    raise UserError(
                        f"the plugin '{plugin.name}' has the {GROUPS[self.group]} '{name}', which is"
                        f" {_shown(entry)}: expected {self._kind.__module__}.{self._kind.__qualname__}",
                        hint=_HINT,
                    )
                if name in self.built_in or name in added:
                    whose = "turncheck itself" if name in self.built_in else "another plugin"
                    raise UserError(
                        f"the plugin '{plugin.name}' has the {GROUPS[self.group]} '{name}', and so has {whose}",
                        hint="A name is used once: rename it in the plugin.",
                    )
                added[name] = entry
        return added


def added_names(group: str) -> tuple[str, ...]:
    """Return the names that the plugins in use add under a group, for those who need not know what they are."""
    return tuple(name for plugin in _in_use for name in plugin.entries.get(group, ()))


_HINT: Final = "Report it to those who wrote the plugin (docs/plugins.md says what it must have)."
_in_use: tuple[Plugin, ...] = ()


def plugins_in_use() -> tuple[Plugin, ...]:
    """Return the plugins that were asked for, by name."""
    return _in_use


def use_plugins(names: Iterable[str]) -> None:
    """Load these plugins, and use no others from now on.

    Raises:
        UserError: one is not installed, adds nothing, or cannot be loaded.
    """
    global _in_use  # noqa: PLW0603 - which packages take part is a property of the process, as what it has imported
    asked = sorted({_normal(name) for name in names})
    _in_use = tuple(_loaded(name) for name in asked)


def installed_plugins() -> tuple[str, ...]:
    """Return the names of the installed packages that could be used. Only reads what they declare, not their code."""
    from importlib.metadata import entry_points  # few commands need to know

    groups = entry_points()
    found = (entry_point.dist for group in GROUPS for entry_point in groups.select(group=group))
    return tuple(sorted({_normal(distribution.name) for distribution in found if distribution is not None}))


@contextmanager
def blamed_on_plugin(what: str) -> Iterator[None]:
    """Report what a plugin's code raises as its fault, not as one of ours.

    Args:
        what: whose code runs here: ``check 'response-shouts'``.

    Raises:
        UserError: the code raised an error; one that it raises as a ``UserError`` stays as it is.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(
            f"the plugin's {what} failed: {type(error).__name__}: {error}",
            hint="Report it to those who wrote the plugin, or omit the plugin.",
        ) from error


def attributing_errors_to_plugin(what: str, function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Return a plugin's function whose errors are reported as :func:`blamed_on_plugin` says."""

    def call(*arguments: _Given.args, **named: _Given.kwargs) -> _Result:
        with blamed_on_plugin(what):
            return function(*arguments, **named)

    return call


def _normal(name: str) -> str:
    """The name of a package as registries compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _loaded(name: str) -> Plugin:
    from importlib.metadata import PackageNotFoundError, distribution  # few commands use plugins

    try:
        package = distribution(name)
    except (PackageNotFoundError, ValueError):
        there = installed_plugins()
        hint = suggestion(name, there) or (f"Installed plugins: {', '.join(there)}." if there else "None is installed.")
        raise UserError(f"plugins: there is no installed package '{name}'", hint=hint) from None
    entries: dict[str, dict[str, Any]] = {}
    for point in package.entry_points:
        if point.group in GROUPS:
            known = entries.setdefault(point.group, {})
            if point.name in known:
                raise UserError(f"the plugin '{name}' has two of the {GROUPS[point.group]} '{point.name}'", hint=_HINT)
            known[point.name] = _entry(name, point)
        elif point.group.startswith("turncheck."):
            raise UserError(
                f"the plugin '{name}' adds to '{point.group}', which this version of turncheck does not have",
                hint=f"The groups are {', '.join(GROUPS)}.",
            )
    if not entries:
        raise UserError(f"plugins: the package '{name}' adds nothing to turncheck", hint=_others(name, package))
    return Plugin(name, package.version, entries)


def _others(name: str, package: Distribution) -> str:
    there = [plugin for plugin in installed_plugins() if plugin != name]
    return f"Installed plugins: {', '.join(there)}." if there else f"'{package.name}' has no entry points of turncheck."


def _entry(name: str, point: EntryPoint) -> Any:
    try:
        return point.load()
    except Exception as error:
        raise UserError(
            f"the plugin '{name}' cannot be loaded: {point.value}: {type(error).__name__}: {error}", hint=_HINT
        ) from error


def _shown(entry: Any) -> str:
    return f"of the type {type(entry).__module__}.{type(entry).__qualname__}"
