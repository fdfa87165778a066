"""``python -m turncheck`` and the console script."""

import sys


def main() -> int:
    """Run the command line; the exit code is returned."""
    from turncheck.cli import run_command_line  # noqa: PLC0415 - keeps `turncheck --version` quick

    return run_command_line(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
