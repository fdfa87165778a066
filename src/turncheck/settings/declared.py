"""What follows from the declarations of all settings: their table, scopes and defaults."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.settings.setting import (
        Option,
        Scope,
    )

from turncheck.settings.options import Settings


@cache
def options() -> Mapping[str, Option]:
    """All settings by their name with dashes, in order."""
    return MappingProxyType({f.name.replace("_", "-"): f.metadata["option"] for f in fields(Settings)})


@cache
def of_scope(*scopes: Scope) -> tuple[str, ...]:
    """Return the names, with dashes, of the settings that are about these."""
    return tuple(name for name, option in options().items() if option.scope in scopes)


@cache
def default_of(name: str) -> Any:
    """The default of a setting, by its name with dashes."""
    return _defaults()[name.replace("-", "_")]


@cache
def _defaults() -> dict[str, Any]:
    return {f.name: f.default for f in fields(Settings)}
