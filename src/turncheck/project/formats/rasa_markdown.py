"""Training data in the Markdown of Rasa 0.x to 2.x: recognised, and not read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.project.formats.format import Format
from turncheck.project.project_file import ANY_KIND

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NLU: Final = re.compile(rb"^##[ \t]*(?:intent|synonym|regex|lookup):", re.MULTILINE)
_STORIES: Final = (
    re.compile(rb"^##", re.MULTILINE),
    re.compile(rb"^\*[ \t]*\w", re.MULTILINE),
    re.compile(rb"^[ \t]+-[ \t]*(?:utter_|action_|slot\{|form\{)", re.MULTILINE),
)


def _recognises(path: Path, content: Callable[[], bytes]) -> bool:
    if path.suffix != ".md":
        return False
    text = content()
    return _NLU.search(text) is not None or all(line.search(text) for line in _STORIES)


FORMAT: Final = Format("Markdown of Rasa 1", _recognises, ANY_KIND, read=None)
