"""What is at a path, as :mod:`pathlib` says; nothing where the system refuses to look (a folder of somebody else)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether there is a file that can be looked at, links followed."""
    return os.path.isfile(path)  # noqa: PTH113 - pathlib raises


def is_folder(path: Path) -> bool:
    """Whether there is a folder that can be looked at, links followed."""
    return os.path.isdir(path)  # noqa: PTH112 - as above


def is_link(path: Path) -> bool:
    """Whether there is a symbolic link."""
    return os.path.islink(path)  # noqa: PTH114 - as above


def is_there(path: Path) -> bool:
    """Whether there is anything that can be looked at, links followed."""
    return os.path.exists(path)  # noqa: PTH110 - as above
