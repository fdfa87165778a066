"""``turncheck shell``: talk to the assistant, on a terminal or from a pipe."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import (
    TALK_FLAGS,
    add_assistant,
    add_engine_flags,
    assistant_of,
)
from turncheck.messages.errors import (
    EXIT_NOT_DONE,
    EXIT_OK,
    EngineError,
    UnansweredError,
    UserError,
)
from turncheck.messages.plain_text import log_json
from turncheck.process.streams import ensure_utf_8, lines_of_input
from turncheck.render.sinks import terminal

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.conversation import Conversation, Turn
    from turncheck.process.screen import Console
    from turncheck.run.assistant import AssistantOptions


def add_shell(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``shell``."""
    parser = subparsers.add_parser(
        "shell",
        help=words,
        description="Talk to the assistant. From a pipe, each line is one message.",
    )
    add_assistant(parser)
    talk = parser.add_argument_group("conversation")
    talk.add_argument(
        "--format",
        choices=("text", "jsonl"),
        default="text",
        help="text (default), or jsonl: one line of JSON per turn",
    )
    talk.add_argument(
        "--fixture",
        action="append",
        default=[],
        metavar="SLOT=VALUE",
        help="fill a slot before the conversation; the value is JSON, else a string (repeatable)",
    )
    shared.add_channel(talk)
    add_engine_flags(parser, *TALK_FLAGS)
    shared.add_verbosity(parser)
    parser.set_defaults(handler=_shell, remote_storage=None)


def _shell(namespace: argparse.Namespace) -> int:
    interactive = sys.stdin.isatty() and namespace.format == "text"
    ends = Terminal(lines_of_input(typed_lines() if interactive else sys.stdin), sys.stdout, interactive)
    for fixture in namespace.fixture:
        ensure_utf_8(fixture, "--fixture")
    shell = ShellOptions(namespace.format, namespace.fixture, namespace.channel)
    return run_shell(assistant_of(namespace), shell, ends, os.environ, shared.screen_of(namespace))


PROMPT = "you> "
COMMANDS = {
    ":why": "what was understood, and which policy decided with which confidence",
    ":slots": "the values of the slots",
    ":loop": "the active loop",
    ":events": "the events of the latest turn",
    ":help": "this list",
    ":quit": "end (also /stop, and the end of the input)",
}
"""Commands on a terminal; from a pipe every line is a message."""


class ShellOptions(NamedTuple):
    """How to talk: ``fixtures`` as ``slot=value``, the output channel that responses are chosen for, the format."""

    output_format: Literal["text", "jsonl"] = "text"
    fixtures: Sequence[str] = ()
    channel: str = "cmdline"


class Terminal(NamedTuple):
    """Input and output of the talk. ``interactive``: a person at a terminal, who is prompted and may enter commands."""

    lines: Iterable[str]
    output: TextIO
    interactive: bool = False


def run_shell(
    options: AssistantOptions,
    shell: ShellOptions,
    ends: Terminal,
    environment: Mapping[str, str],
    screen: Console,
) -> int:
    """Read and train the assistant, hold one conversation, and return the exit code.

    Raises:
        UserError: a fixture or a path that cannot be read, nothing to learn from, an action server that does not start.
    """
    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.run.assistant import assistant_in_use, opened_engine
    from turncheck.run.folders import cache_of_command
    from turncheck.run.reading import read_dialogue_assistant

    project = read_dialogue_assistant(options.settings, endpoints=options.endpoints)
    if options.models.named is None:  # errors show up before anything is trained
        read_fixtures(shell.fixtures, None if project.native else DialogueDomain.of(project).slots)
    with (
        opened_engine(
            options.settings,
            project,
            environment,
            screen,
            models=options.models,
            cache=cache_of_command(options.settings, environment, screen),
        ) as engines,
        assistant_in_use(engines, options, project, environment, screen) as engine,
    ):
        decides = engines.capabilities.no_dialogue is None
        domain = engines.ensemble.domain if decides else engines.domain
        fixtures = read_fixtures(shell.fixtures, None if project.native else domain.slots)
        return talk(engine.conversation(channel=shell.channel, fixtures=fixtures), shell, ends)


def talk(conversation: Conversation, shell: ShellOptions, ends: Terminal) -> int:
    """Hold the conversation: every line is a message, or, from a person at a terminal, perhaps a command.

    A turn without a usable answer is said, and the conversation goes on; from a pipe it is not done then.

    Raises:
        EngineError: no turn will have an answer.
    """
    if shell.output_format == "jsonl":  # a line for each message: what the assistant says unasked is in its events
        return _talk(conversation, ends, _write_json_and_troubles)
    if ends.interactive:
        return _talk_interactively(conversation, ends.lines, ends.output)
    opening, code = _opening(conversation)
    if opening.responses or opening.remarks:  # what it lacks, if it cannot be held, is said with each message
        _write_answers(opening, ends.output)
    return max(code, _talk(conversation, ends, write_text))


def read_fixtures(written: Sequence[str], slots: Iterable[str] | None) -> dict[str, Any]:
    """Read ``slot=value``: a value that is not JSON is text. ``slots``: ``None`` if no file says which there are.

    Raises:
        UserError: no ``=``, or a slot that the domain does not have.
    """
    known = None if slots is None else set(slots)
    fixtures = {}
    for pair in written:
        name, equals, value = pair.partition("=")
        if not equals:
            raise UserError(f"'{pair}' is not a fixture", hint="Write it as slot=value.")
        if known is not None and name not in known:
            raise UserError(f"the domain has no slot '{name}'", hint=f"It has: {', '.join(sorted(known)) or 'none'}.")
        try:
            fixtures[name] = json.loads(value)
        except ValueError:
            fixtures[name] = value
    return fixtures


def _talk(conversation: Conversation, ends: Terminal, write: Callable[[Turn, TextIO], None]) -> int:
    code = EXIT_OK
    for line in ends.lines:
        message = line.removesuffix("\n").removesuffix("\r")
        try:
            turn = conversation.say(message)
        except UserError as error:
            turn, code = _unanswered(message, error), EXIT_NOT_DONE
        write(turn, ends.output)
        ends.output.flush()
    return code


def _opening(conversation: Conversation) -> tuple[Turn, int]:
    """Open the conversation; where that has no usable answer, the first message tries again."""
    try:
        return conversation.open(), EXIT_OK
    except UserError as error:
        return _unanswered(None, error), EXIT_NOT_DONE


def _unanswered(message: str | None, error: UserError) -> Turn:
    """Return a turn that says what went wrong in it; if it will in the next one as well, raise that."""
    from turncheck.engines.conversation import Turn

    if isinstance(error, EngineError) and not isinstance(error, UnansweredError):
        raise error
    return Turn(message, (), {}, None, (), remarks=(f"error: {error}",))


def write_json(turn: Turn, output: TextIO) -> None:
    """Write the turn as one line of JSON."""
    shape = {
        "user": turn.user,
        "responses": turn.responses,
        "slots": turn.slots,
        "active_loop": turn.active_loop,
        "events": turn.events,
    }
    output.write(log_json(json.dumps(shape, ensure_ascii=False)) + "\n")


def _write_json_and_troubles(turn: Turn, output: TextIO) -> None:
    """Write the turn, and for a person also what went wrong in it."""
    write_json(turn, output)
    for trouble in _troubles(turn):
        sys.stderr.write(f"turncheck: {trouble}\n")


def write_text(turn: Turn, output: TextIO) -> None:
    """Write the messages of both sides, and what went wrong."""
    if turn.user is not None:
        output.write(f"{PROMPT}{terminal.text(turn.user)}\n")
    _write_answers(turn, output)


def _write_answers(turn: Turn, output: TextIO) -> None:
    for message in turn.responses:
        output.writelines(f"bot> {line}\n" for line in message_lines(message))
    output.writelines(f"  ({trouble})\n" for trouble in _troubles(turn))


def _troubles(turn: Turn) -> Iterator[str]:
    for action in turn.custom_actions:
        if action.reason:
            yield f"{terminal.text(action.name)}: {action.outcome}; {terminal.text(action.reason, 400)}"
    for remark in turn.remarks:
        yield terminal.text(remark, 400)
    if turn.stopped:
        yield f"stopped: {terminal.text(turn.stopped, 400)}"


def message_lines(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that show a message: text, buttons, image, attachment, custom payload."""
    for line in str(message.get("text", "")).splitlines():
        yield terminal.text(line, 2000)
    buttons = message.get("buttons") or ()
    for number, button in enumerate(buttons if isinstance(buttons, (list, tuple)) else [buttons], 1):
        shown = button if isinstance(button, dict) else {"title": button}
        yield terminal.text(f"{number}: {shown.get('title', '')} ({shown.get('payload', '')})", 400)
    for key in ("image", "attachment", "custom"):
        if key in message:
            value = message[key]
            written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield terminal.text(f"{key}: {written}", 2000)


def _talk_interactively(conversation: Conversation, lines: Iterable[str], output: TextIO) -> int:
    output.write("Type a message, or :help. To end, type :quit.\n")
    turn, _ = _opening(conversation)
    _write_answers(turn, output)
    for typed in lines:
        line = typed.strip()
        if line in {":quit", "/stop"}:
            break
        if line.startswith(":"):
            output.write("\n".join(_answer_command(line, turn)) + "\n")
        elif line:
            try:
                turn = conversation.say(line)
            except UserError as error:
                turn = _unanswered(line, error)
            _write_answers(turn, output)
        output.flush()
    return EXIT_OK


def typed_lines() -> Iterator[str]:
    """Yield what is typed after the prompt, until the end of the input; lines can be edited."""
    import readline  # noqa: F401 - its import alone makes `input` editable

    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            sys.stdout.write("\n")
            return


def _answer_command(command: str, turn: Turn) -> Iterable[str]:
    match command:
        case ":why":
            return list(_reasons(turn))
        case ":slots":
            return [
                terminal.text(f"{name}: {json.dumps(value, ensure_ascii=False)}") for name, value in turn.slots.items()
            ]
        case ":loop":
            return [turn.active_loop or "no loop is active"]
        case ":events":
            return [terminal.text(json.dumps(event, ensure_ascii=False), 400) for event in turn.events]
        case _:
            return [f"{name:8} {text}" for name, text in COMMANDS.items()]


def _reasons(turn: Turn) -> Iterator[str]:
    for event in turn.events:
        if event["event"] == "user":
            parsed = event["parse_data"]
            intent = parsed["intent"]  # a message of a custom action has only what the action sets
            yield terminal.text(f"understood: {intent.get('name')} ({intent.get('confidence') or 0:.2f})")
            for entity in parsed["entities"]:
                yield terminal.text(f"  entity {entity['entity']}: {json.dumps(entity['value'], ensure_ascii=False)}")
        elif event["event"] == "action" and event["policy"]:
            name = event["name"] or event["action_text"]
            yield terminal.text(f"{name}: {event['policy']} ({event['confidence'] or 0:.2f})")
