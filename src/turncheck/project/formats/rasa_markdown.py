"""The Markdown of Rasa 0.x to 2.x as a format; its readers are imported only if there is such a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.project.formats.format import NEEDS_OF_RASA, Format, Opened, Parts
from turncheck.project.project_file import NLU_KEYS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turncheck.yaml_tree.source import Source


def _recognises(path: Path, content: Callable[[], bytes]) -> bool:
    return path.suffix == ".md" and b"##" in content()


def _look(source: Source) -> frozenset[str]:
    from turncheck.project.formats.markdown_stories import kinds_of

    return kinds_of(source)


def _read(file: Opened) -> Parts:
    from turncheck.project.formats.markdown_stories import read_markdown

    return read_markdown(file)


FORMAT: Final = Format(
    "Markdown of Rasa 1",
    _recognises,
    frozenset((*NLU_KEYS, "stories")),
    _read,
    look=_look,
    needs=NEEDS_OF_RASA,
    has_annotations=True,
    last=2,
)
