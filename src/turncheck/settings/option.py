"""What a setting is called, and how its string becomes a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from turncheck.settings.parsers import read_hidden, read_pairs

if TYPE_CHECKING:
    from turncheck.settings.parsers import Parser


@dataclass(frozen=True, slots=True)
class Option:
    """What a setting is called and how its string becomes a value. ``engine``: the one it is for, if not for all."""

    help: str
    parse: Parser
    action_input: bool = True
    file_key: bool = True
    many: bool = False
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    switch: bool = False
    flag: bool = True
    engine: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether its value is never shown, not even if it is refused."""
        return self.parse in {read_hidden, read_pairs}


def setting(default: Any, parse: Parser, text: str, **more: Any) -> Any:
    """Return a field of :class:`turncheck.settings.options.Settings` that knows its option."""
    shown = parse not in {read_hidden, read_pairs}
    return field(default=default, repr=shown, metadata={"option": Option(help=text, parse=parse, **more)})
