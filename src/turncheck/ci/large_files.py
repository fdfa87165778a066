"""Files that Git LFS keeps elsewhere: the base's files hold pointers to them, which say nothing about what they test.

Source: the specification of the pointer file (``docs/spec.md`` of git-lfs).
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.process.regular_file import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.ci.git import Checkout

_RULES: Final = frozenset({".gitattributes", ".lfsconfig"})
"""Which files git keeps elsewhere, and which of those a job fetches."""
_POINTER: Final = re.compile(
    rb"version https://git-lfs\.github\.com/spec/.*^oid sha256:([0-9a-f]{64})$", re.DOTALL | re.MULTILINE
)
_MOST_OF_A_POINTER: Final = 1024
_MOST_BYTES: Final = 64 << 20
_READ: Final = frozenset({".yml", ".yaml", ".md", ".json"})
"""Suffixes of files that turncheck reads; a model or a picture may stay a pointer."""


def with_large_files(folder: Path, commit: str, checkout: Checkout | None, here: Path | None) -> frozenset[str]:
    """Put the contents of large files in the place of their pointers; return the paths of those that cannot be had.

    Args:
        folder: with the base's files.
        commit: the base.
        checkout: of this job.
        here: the top folder of this job's own files.

    A pointer that this job has in the same place, by the same rules, is one on both sides: jobs do not fetch it.
    """
    rules = _rules(folder)
    if not any(b"lfs" in content for content in rules.values()):
        return frozenset()
    same_rules = here is not None and rules == _rules(here)
    left_out = set()
    for path, pointer, digest in _pointers(folder):
        own = _content(here / path) if here is not None else None
        if own == pointer and same_rules:
            continue
        content = own if own is not None and hashlib.sha256(own).hexdigest() == digest else None
        if content is None and checkout is not None:
            content = checkout.unfiltered(commit, path)
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            left_out.add(path)
        else:
            (folder / path).write_bytes(content)
    return frozenset(left_out)


def _rules(folder: Path) -> Mapping[str, bytes]:
    """Return the files with the rules, by their paths."""
    found = {}
    for path in _files(folder):
        if path.name in _RULES and (content := _content(path)) is not None:
            found[path.relative_to(folder).as_posix()] = content
    return found


def _pointers(folder: Path) -> Iterator[tuple[str, bytes, str]]:
    for path in _files(folder):
        if path.suffix.lower() in _READ and not path.is_symlink() and path.stat().st_size <= _MOST_OF_A_POINTER:
            content = _content(path) or b""
            if found := _POINTER.match(content):
                yield path.relative_to(folder).as_posix(), content, found[1].decode()


def _files(folder: Path) -> Iterator[Path]:
    for current, folders, files in os.walk(folder):
        if ".git" in folders:
            folders.remove(".git")
        yield from (Path(current, name) for name in files)


def _content(path: Path) -> bytes | None:
    try:
        return read_regular(path, most=_MOST_BYTES, follow=False)
    except OSError:
        return None
