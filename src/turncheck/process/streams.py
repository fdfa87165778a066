"""The standard streams, made so that nothing that is said ends the work.

A terminal may have gone, a disk may be full, a stream may be closed from the start. What cannot be written is lost, and
what was lost first is remembered: for some commands the output is all that there is.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING, Any, Final, TextIO

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_STREAMS: Final = (0, 1, 2)


class _LastingFile(io.FileIO):
    """A file descriptor that takes everything, also where it cannot be written any more."""

    lost: OSError | None = None

    def write(self, content: Any) -> int:
        """Write, or pretend to."""
        if self.lost is None:
            try:
                return self._written(content)
            except OSError as error:
                self.lost = error
        return len(memoryview(content).cast("B"))

    def _written(self, content: Any) -> int:
        while (written := super().write(content)) is None:  # the reader of a pipe is slower than we are
            import select  # most never wait

            select.select([], [self], [])
        return written


class _Stream(io.TextIOWrapper):
    """A text stream on such a descriptor."""

    def __init__(self, descriptor: int, encoding: str, *, is_prompt: bool) -> None:
        self.file = _LastingFile(descriptor, "w", closefd=False)
        buffer = io.BufferedWriter(self.file)
        super().__init__(buffer, encoding, errors="backslashreplace", line_buffering=is_prompt)


def make_lasting() -> None:
    """Replace standard output and standard error; what their encoding lacks (``LC_ALL``) is written as escapes.

    A descriptor that is closed leads nowhere from now on: else the next file that is opened would get its number, and
    what libraries print.
    """
    for descriptor in _STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDWR)  # it gets the lowest free number, which is this one
            if nowhere != descriptor:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
    sys.stdout = _lasting(sys.stdout, 1)
    sys.stderr = _lasting(sys.stderr, 2)


def lines_of_input(stream: Iterable[str]) -> Iterator[str]:
    """Yield the lines of standard input; Python reads bytes that are not UTF-8 as lone surrogates.

    Raises:
        UserError: a line is not UTF-8.
    """
    try:
        for number, line in enumerate(stream, 1):
            ensure_utf_8(line, f"line {number:,} of standard input")
            yield line
    except UnicodeDecodeError:
        raise _not_utf_8("standard input") from None


def ensure_utf_8(text: str, what: str) -> None:
    """Refuse text from outside that has bytes that are not UTF-8: nobody meant what would be sent or counted.

    Raises:
        UserError: it has such; ``what``: which text it is.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise _not_utf_8(what) from None


def _not_utf_8(what: str) -> UserError:
    return UserError(f"{what} is not UTF-8", hint="Write it in UTF-8.")


def lost_output() -> OSError | None:
    """Return why standard output could not be written, ``None`` if it could."""
    return sys.stdout.file.lost if isinstance(sys.stdout, _Stream) else None


def _lasting(stream: TextIO | None, descriptor: int) -> TextIO:
    if stream is not None and not isinstance(stream, io.TextIOWrapper):
        return stream  # somebody captures it
    if stream is not None:
        stream.flush()
    encoding = stream.encoding if stream is not None else "utf-8"
    is_prompt = descriptor == 2 or os.isatty(descriptor)
    return _Stream(descriptor, encoding, is_prompt=is_prompt)
