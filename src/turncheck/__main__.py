"""``python -m turncheck`` and the console script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_OBJECTS_BEFORE_COLLECTING = 200_000
"""Start-up creates many objects and frees few: looking for cycles among them takes a tenth of a short command's
time."""
_NOT_DONE = 2
_INTERRUPTED = 130


def main() -> int:
    """Run the command line; the exit code is returned.

    It is 1 only if a command says so: whatever goes wrong here means that nothing was done.
    """
    return _guarded(_run)


def _guarded(work: Callable[[], int]) -> int:
    try:
        return work()
    except KeyboardInterrupt:  # before the command began
        _say("interrupted")
        return _INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - no memory to load what would report it
        _say(f"error: it cannot be started: {type(error).__name__}: {error}"[:500])
        return _NOT_DONE


def _run() -> int:
    from turncheck.process import interrupts

    interrupts.listen()
    from turncheck.process import system
    from turncheck.process.streams import make_lasting

    make_lasting()
    if not system.memory_is_limited():
        return _command_line()
    from turncheck.process import watched

    return watched.watched(_with_little_memory, _say)


def _with_little_memory() -> int:
    """The same, where libraries may get no memory; a process that has ended them does not come back."""
    from turncheck.process import little_memory

    ends_itself = little_memory.end_by_libraries_is_not_done()
    code = _guarded(_command_line)
    if ends_itself:
        little_memory.end(code)
    return code


def _command_line() -> int:
    import gc

    from turncheck.process import interrupts, little_memory

    little_memory.watch_libraries()
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING, *gc.get_threshold()[1:])
    try:
        from turncheck.cli import run_command_line  # keeps `turncheck --version` quick

        return run_command_line(sys.argv[1:])
    finally:
        interrupts.ignore()
        gc.freeze()  # nor is there need to look for them once more before the end


def _say(words: str) -> None:
    if sys.stderr is not None:
        try:
            sys.stderr.write(f"turncheck: {words}\n")
            sys.stderr.flush()
        except OSError:
            return  # nobody listens; the exit code is the same


if __name__ == "__main__":
    sys.exit(main())
