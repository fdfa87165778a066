"""Writing what a command made: whole files or none, and never outside the folder that was named."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from turncheck.temporary import whole_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from turncheck.render.rendered import Rendered


def write_file(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` in one step: a reader sees the old file or the new one, never a half.

    Raises:
        UserError: the file cannot be written.
    """
    with whole_file(path) as file:
        file.write(content)


def write_all(folder: Path, renderings: Iterable[Rendered]) -> list[Path]:
    """Write each rendering below ``folder`` and return the paths, in order.

    Raises:
        UserError: a file cannot be written.
        ValueError: a name leads out of the folder.
    """
    written = []
    for rendered in renderings:
        name = PurePosixPath(rendered.name)
        if name.is_absolute() or ".." in name.parts or not name.parts:
            raise ValueError(f"not a name below the output folder: {rendered.name!r}")
        path = folder.joinpath(*name.parts)
        write_file(path, rendered.encoded)
        written.append(path)
    return written
