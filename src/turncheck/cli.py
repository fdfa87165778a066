"""The command line: arguments in, exit codes out, nothing else."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from turncheck import __version__
from turncheck.messages.errors import EXIT_INTERRUPTED, EXIT_NOT_DONE, EXIT_OK, UserError, user_error_from_os
from turncheck.process import interrupts
from turncheck.process.streams import lost_output

if TYPE_CHECKING:
    import argparse
    import threading
    from collections.abc import Iterator, Sequence

    from turncheck.commands.flags.parser import Parser

_LONGEST_MESSAGE: Final = 100_000


_WRITES_FILES: Final = frozenset({"run", "action", "report"})
"""Commands whose results are in files; the verdict counts if its reader has left, as does `head`."""
_NO_MEMORY: Final = ("failed to map segment", "annot allocate memory")
"""What the system says when it cannot load a library."""


def build_parser(command: str | None = None, kind: str | None = None) -> Parser:
    """Return the parser of this command, or of all; each sets ``handler``, which takes the namespace and returns an
    exit code. ``kind``: the word after the command (``validate`` of ``data``); no other one needs to be known then."""
    from turncheck.commands import flags as commands  # `turncheck --version` needs none of them
    from turncheck.commands.flags.parser import Parser

    parser = Parser(
        prog="turncheck",
        description="Tests for chat assistants, on every pull request.",
        epilog="Exit codes: 0 done or all passed, 1 failed, 2 could not be done, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"turncheck {__version__}")
    parser.add_argument(
        "--print-completion", choices=("bash", "zsh", "tcsh"), help="print a completion script for this shell, and exit"
    )
    subparsers = parser.add_subparsers(  # without `prog` argparse would format the usage to find it out
        title="commands", metavar="COMMAND", parser_class=Parser, prog=parser.prog
    )
    commands.add_parsers(subparsers, command, kind)
    return parser


def run_command_line(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Nothing is raised: every error ends here as a message."""
    interrupts.forget()
    namespace = None if list(arguments) == ["--version"] else _namespace()
    _remember_logins(arguments)
    try:
        if namespace is None:
            sys.stdout.write(f"turncheck {__version__}\n")
            code = EXIT_OK
        else:
            code = _dispatch(build_parser(*arguments[:2]), arguments, namespace)
        code = _with_output(code, arguments[0] if arguments else None)
    except SystemExit as done:  # argparse ends this way, with the help or an error already printed
        return _with_output(done.code if isinstance(done.code, int) else EXIT_NOT_DONE)
    except UserError as error:
        _say(f"error: {error.for_repository(_project(namespace))}")
        return EXIT_NOT_DONE
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError as error:
        if not _nobody_reads():
            return _end_with(error)
        sys.stderr.close()
        return EXIT_NOT_DONE
    except MemoryError as error:
        return _out_of_memory(str(error))
    except Exception as error:  # noqa: BLE001 - the last handler
        # Libraries turn an interrupt into errors of their own, especially during import.
        return _interrupted() if interrupts.happened() else _end_with(error)
    return code


def _remember_logins(words: Sequence[str]) -> None:
    """Hide the password, or the token, of each address among the words, whatever takes it and says of it."""
    for word in words:
        before, separator, rest = word.partition("://")
        if separator and "@" in rest:
            from turncheck.process.environment import remember, remember_guessed
            from turncheck.web.addresses import address_of

            address = address_of(f"{before.rpartition('=')[2]}://{rest}")
            login = rest.rpartition("@")[0] if address is None else address.login or ""
            name, colon, password = login.partition(":")
            if colon:
                remember(password)
            else:
                remember_guessed(name)


def _namespace() -> argparse.Namespace:
    import argparse  # `turncheck --version` has no other arguments

    return argparse.Namespace()


def _with_output(code: int, command: str | None = None) -> int:
    """Return the exit code of a command that has ended, which is not done if its output was all that there is."""
    sys.stdout.flush()  # write errors show up here, while they can still be reported
    lost = lost_output()
    if lost is None:
        return code
    nobody_reads = isinstance(lost, BrokenPipeError)
    if not nobody_reads:
        trouble = user_error_from_os(lost)
        _say(f"error: standard output cannot be written: {trouble.message if trouble else lost.strerror or lost}")
    is_done = nobody_reads and command in _WRITES_FILES
    return code if is_done or code != EXIT_OK else EXIT_NOT_DONE


def _out_of_memory(why: str = "") -> int:
    what = f"there is not enough memory{f': {why}' if why else ''}"
    _say(f"error: {what}\nGive this process more (ulimit -v), or measure in shards.")
    return EXIT_NOT_DONE


def _nobody_reads() -> bool:
    """Whether the reader of our output has gone, as with `| head`; if the system does not say, assume so."""
    import select

    if not hasattr(select, "poll"):
        return True
    outputs = select.poll()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # none at all: closed, or not a file
            outputs.register(stream.fileno(), 0)  # errors are reported unasked
    return bool(outputs.poll(0))


def _end_with(error: Exception) -> int:
    """Report what the system refuses; anything else is a bug of ours, shown with its traceback so that it can be
    reported."""
    if (trouble := user_error_from_os(error)) is not None:
        _say(f"error: {trouble}")
        return EXIT_NOT_DONE
    if any(map(_is_for_want_of_memory, _with_causes(error))):
        return _out_of_memory()
    try:
        _show_fault(error)
    except MemoryError:
        return _out_of_memory()
    return EXIT_NOT_DONE


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what led to it: a library says "cannot be imported" when it gets no memory."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_for_want_of_memory(error: BaseException) -> bool:
    if isinstance(error, ImportError):
        return any(sign in str(error) for sign in _NO_MEMORY)
    if isinstance(error, SystemError):  # Python's imports lose a MemoryError on the way
        from turncheck.process.system import memory_is_limited  # only where something went wrong

        return memory_is_limited()
    return isinstance(error, MemoryError)


def _say(text: str) -> None:
    from turncheck.messages.plain_text import lines, log_line
    from turncheck.process.environment import redact  # only where something went wrong
    from turncheck.process.screen import log

    shown = "\n".join(lines(text, _LONGEST_MESSAGE))  # it may quote what is in a file
    sys.stderr.write(redact(log_line(f"turncheck: {shown}\n")))
    log("error", shown.removeprefix("error: "))


def _interrupted() -> int:
    _say("interrupted")
    return EXIT_INTERRUPTED


def _project(namespace: argparse.Namespace | None) -> str:
    """The folder that the locations in a command's errors are relative to."""
    for given in (vars(namespace or _namespace()).get(name) for name in ("project", "folder")):
        if isinstance(given, list) and given:
            return str(given[0]) if len(given) == 1 else ""
        if given:
            return str(given)
    return ""


def _dispatch(parser: Parser, arguments: Sequence[str], namespace: argparse.Namespace) -> int:
    parser.parse_args(arguments, namespace)
    if namespace.print_completion:
        import shtab

        sys.stdout.write(shtab.complete(parser, shell=namespace.print_completion) + "\n")
        return EXIT_OK
    handler = getattr(namespace, "handler", None)
    if handler is None:
        parser.print_help()
        return EXIT_NOT_DONE
    import threading

    from turncheck.process.environment import ensure_numbers  # as above
    from turncheck.process.output_files import clear_leftovers

    threading.excepthook = _show_fault_of_thread
    ensure_numbers(os.environ)
    clear_leftovers()
    return int(handler(namespace))


def _show_fault_of_thread(arguments: threading.ExceptHookArgs) -> None:
    if arguments.exc_value is not None and not isinstance(arguments.exc_value, SystemExit):
        _show_fault(arguments.exc_value)


def _show_fault(error: BaseException) -> None:
    from turncheck.process.fault import fault_report  # as above
    from turncheck.process.screen import log

    report = fault_report(error)
    sys.stderr.write(report)
    log("error", report)
