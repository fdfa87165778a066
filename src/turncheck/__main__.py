"""``python -m turncheck`` and the console script."""

import gc
import io
import sys

from turncheck.messages.errors import EXIT_INTERRUPTED
from turncheck.process import interrupts

_OBJECTS_BEFORE_COLLECTING = 100_000
"""Start-up creates many objects and frees few: looking for cycles among them takes a tenth of a short command's
time."""


def main() -> int:
    """Run the command line; the exit code is returned."""
    interrupts.listen()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what it cannot show (LC_ALL) is no error
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING, *gc.get_threshold()[1:])
    try:
        from turncheck.cli import run_command_line  # keeps `turncheck --version` quick

        return run_command_line(sys.argv[1:])
    except KeyboardInterrupt:  # before the command began
        sys.stderr.write("turncheck: interrupted\n")
        return EXIT_INTERRUPTED
    finally:
        interrupts.ignore()
        gc.freeze()  # nor is there need to look for them once more before the end


if __name__ == "__main__":
    sys.exit(main())
