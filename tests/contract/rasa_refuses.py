"""Runs in the Python of a real Rasa 3.6.21: ``rasa data validate`` and ``rasa train`` on each folder, as one process.

``python rasa_refuses.py FOLDER < REQUEST``: the request is JSON, from the name of each project below the folder to more
arguments of ``data validate``; a line of JSON for each goes out. Rasa is imported once, and each command runs in a
fork, so that what it warned about or left behind says nothing about the next.
"""

import contextlib
import json
import logging
import os
import re
import sys
import tempfile
import traceback

os.environ.update(RASA_TELEMETRY_ENABLED="false", TF_CPP_MIN_LOG_LEVEL="3")

TRAIN = ["train", "--skip-validation", "--augmentation", "0"]
VALIDATE = ["data", "validate"]
SECONDS = 600
"""Of one command: a busy machine takes minutes for what takes an idle one ten seconds."""


def exit_code(arguments: list[str]) -> int:
    """Run Rasa's command line as ``rasa`` does, and return its exit code."""
    from rasa.__main__ import create_argument_parser
    from rasa.utils.common import configure_logging_and_warnings

    try:
        parsed = create_argument_parser().parse_args(arguments)
        configure_logging_and_warnings(logging.INFO, None, warn_only_once=False, filter_repeated_logs=False)
        parsed.func(parsed)
    except SystemExit as exited:
        return exited.code if isinstance(exited.code, int) else int(exited.code is not None)
    except BaseException:  # noqa: BLE001 - whatever Rasa ends with
        traceback.print_exc()
        return 1
    return 0


def in_fork(folder: str, arguments: list[str]) -> tuple[int, str]:
    """Return the exit code of a command in this folder, and what it wrote."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            import signal

            signal.alarm(SECONDS)
            os.chdir(folder)
            for stream in (1, 2):
                os.dup2(output.fileno(), stream)
            code = 1
            with contextlib.suppress(BaseException):
                code = exit_code(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read().decode("utf-8", "replace")


def refused_by(text: str) -> str:
    """Return the class of the exception, or the error, with which Rasa refuses."""
    raised = re.findall(
        r"^(?:rasa[\w.]*\.|[\w.]*\.)?(\w+(?:Exception|Error|Domain|Missing\w*|Conflict\w*))\b", text, re.MULTILINE
    )
    if raised:
        return str(raised[-1])
    named = re.findall(r"\b(\w+(?:Exception|Error)|InvalidDomain|InvalidRule)\b", text)
    if named:
        return str(named[-1])
    return "validation" if "validation completed with errors" in text else "a message"


def main() -> None:
    import rasa.cli.data
    import rasa.cli.train
    import rasa.model_training
    import rasa.validator  # noqa: F401 - imported once for all

    root = sys.argv[1]
    for name, more in json.load(sys.stdin).items():
        folder = os.path.join(root, name)  # noqa: PTH118 - it is handed to os.chdir
        found: dict[str, object] = {"name": name}
        for command, arguments in (("validate", [*VALIDATE, *more]), ("train", TRAIN)):
            code, text = in_fork(folder, arguments)
            found[command] = code
            if code:
                found[command + "_by"] = refused_by(text)
            if os.environ.get("VERBOSE"):
                sys.stderr.write(f"=== {name} {command} {code}\n{text[-1500:]}\n")
        sys.stdout.write(f"{json.dumps(found)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
