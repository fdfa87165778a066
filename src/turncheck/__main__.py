"""``python -m turncheck`` and the console script."""

import gc
import signal
import sys

_OBJECTS_BEFORE_COLLECTING = 100_000
"""Start-up makes many objects and drops few: looking for cycles among them is a tenth of a short command's time."""


def main() -> int:
    """Run the command line; the exit code is returned."""
    # A cancelled job gets SIGTERM: like Ctrl-C, it stops what was started and keeps what was finished.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTING, *gc.get_threshold()[1:])
    from turncheck.cli import run_command_line  # noqa: PLC0415 - keeps `turncheck --version` quick

    try:
        return run_command_line(sys.argv[1:])
    finally:
        gc.freeze()  # nor is there need to look for them once more before the end


if __name__ == "__main__":
    sys.exit(main())
