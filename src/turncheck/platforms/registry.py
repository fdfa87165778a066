"""The platforms: adding one takes its package and its line here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.platforms.rows.bot import HTTP
from turncheck.platforms.rows.kore import KORE
from turncheck.platforms.rows.rasa import RASA

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.platforms.base import Module, Part, Platform

_ROWS: Final = (
    RASA,
    KORE,
    HTTP,
)
PLATFORMS: Final[Mapping[str, Platform]] = {row.name: row for row in _ROWS}
DEFAULT: Final = RASA
"""The platform of an assistant that no other recognises."""


def parts(part: Part[Module]) -> dict[str, Module]:
    """Return the modules of this name by the platforms that have one."""
    found = ((platform.name, platform.part(part)) for platform in PLATFORMS.values())
    return {platform: module for platform, module in found if module is not None}
