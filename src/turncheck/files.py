"""Writing what a command made: whole files or none, and never outside the folder that was named."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from turncheck.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.render.rendered import Rendered


def write_file(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` in one step: a reader sees the old file or the new one, never a half.

    Raises:
        UserError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            # mkstemp makes files for the owner alone; results are for everybody, as `open` would make them.
            Path(temporary).chmod(0o666 & ~_umask())
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UserError(
            f"cannot write {path}: {error.strerror or error}", remedy="Name another folder with --out."
        ) from None


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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
