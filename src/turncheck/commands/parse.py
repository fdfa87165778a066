"""``turncheck parse``: what the assistant understands of each sentence; ``turncheck shell``: a talk with it.

One talks on the terminal, or line by line through a pipe.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from turncheck.commands.flags import shared
from turncheck.commands.flags.engine import (
    FLAGS,
    TALK_FLAGS,
    add_assistant,
    add_cache_flags,
    add_engine_flags,
    assistant_of,
    models_of,
    settings_of,
)
from turncheck.messages.errors import (
    EXIT_NOT_DONE,
    EXIT_OK,
    EngineError,
    IncompleteError,
    UnansweredError,
    UserError,
)
from turncheck.messages.plain_text import log_json
from turncheck.process.streams import ensure_utf_8, lines_of_input
from turncheck.render.sinks import terminal
from turncheck.render.sinks.terminal import text
from turncheck.settings.options import default_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.base import Engine, Models, UtteranceAnswer
    from turncheck.engines.conversation import Conversation, Parse, PredictedEntity, Turn
    from turncheck.engines.embedded.nlu.engine import EmbeddedNlu
    from turncheck.process.screen import Console
    from turncheck.run.assistant import AssistantOptions
    from turncheck.settings.options import Settings


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``parse``."""
    parser = subparsers.add_parser(
        "parse",
        help=words,
        description="Show how sentences are understood. They come from the command line, otherwise from"
        " standard input, one per line.",
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="a sentence")
    parser.recognise("texts", lambda word: not Path(word).is_dir())
    shared.add_project(parser)
    shared.add_model(parser)
    shared.add_config(parser)
    parser.add_argument("-u", "--nlu", type=Path, metavar="PATH", help="NLU data to train on (default: data)")
    shared.add_domain(parser)
    shared.add_seed(parser, "training")
    shared.add_vectors_flag(parser)
    shared.add_custom_code_flag(parser)
    add_cache_flags(parser)
    parser.add_argument(
        "--format",
        choices=("text", "jsonl"),
        default="text",
        help="text (default), or jsonl: one line per sentence, as Rasa's /model/parse answers",
    )
    add_engine_flags(parser, *(name for name in FLAGS if name != "kore-way"))
    shared.add_verbosity(parser)
    parser.set_defaults(handler=_parse)


def _parse(namespace: argparse.Namespace) -> int:
    options = ParseOptions(settings_of(namespace), models_of(namespace))
    screen = shared.screen_of(namespace)
    texts = map(_sound, namespace.texts) if namespace.texts else _sentences()
    return run_parse(options, texts, namespace.format, os.environ, sys.stdout, screen)


def _sentences() -> Iterator[str]:
    for line in lines_of_input(sys.stdin):
        if line.strip():
            yield line.rstrip("\r\n")


def _sound(sentence: str) -> str:
    ensure_utf_8(sentence, "a sentence on the command line")
    return sentence


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


BATCH = 256
RANKED = 3


class ParseOptions(NamedTuple):
    """Where the engine comes from: a model, or the project's files. Paths are relative to the current folder."""

    settings: Settings
    models: Models


Form = Literal["text", "jsonl"]


def run_parse(  # noqa: PLR0917 - what a command is given
    options: ParseOptions,
    sentences: Iterable[str],
    form: Form,
    environment: Mapping[str, str],
    output: TextIO,
    screen: Console,
) -> int:
    """Understand each sentence and print it: for people, or one line of JSON in the shape of Rasa's ``/model/parse``.

    Raises:
        UserError: a model that cannot be read, a project without sentences to learn from, an engine that cannot be
            asked.
        KeyboardInterrupt: somebody interrupted it; what was understood is printed.
    """
    from turncheck.render.phrases import engine_lines

    if options.settings.engine != default_of("engine"):
        return _ask_another(options, sentences, form, environment, output, screen)
    engine = find_engine(options, environment, screen)
    for line in engine_lines(engine.info):
        screen.note(line)
    for batch in _batches(sentences):
        if form == "jsonl":
            output.writelines(f"{_json(document)}\n" for document in engine.model_parse(batch))
        else:
            output.writelines(_shown(parse) for parse in engine.parse(batch))
        output.flush()
    return EXIT_OK


def understand(
    sentences: Sequence[str], settings: Settings, models: Models, environment: Mapping[str, str], screen: Console
) -> list[Parse]:
    """Understand all of the sentences.

    Raises:
        UserError: as :func:`run_parse`, or the engine answers in another form.
    """
    from turncheck.run.assistant import opened_engine
    from turncheck.run.reading import ensure_possible, read_configured

    if settings.engine == default_of("engine"):
        return find_engine(ParseOptions(settings, models), environment, screen).parse(sentences)
    with opened_engine(settings, read_configured(settings), environment, screen, models=models) as engines:
        ensure_possible(engines, "nlu")
        engines.make_ready(("nlu",), screen, lambda: None)
        if (nlu := engines.nlu) is None:
            raise UserError(f"the engine '{settings.engine}' understands no sentences of this project")
        return nlu.parse(sentences)


def _json(document: dict[str, Any]) -> str:
    return log_json(json.dumps(document, ensure_ascii=False))


def find_engine(options: ParseOptions, environment: Mapping[str, str], screen: Console) -> EmbeddedNlu:
    """Take the model that was named, else the newest that fits the project's files; else train, and say so."""
    from turncheck.engines.base import NLU_PARTS
    from turncheck.engines.embedded.engines import engine_of
    from turncheck.project.model import Project
    from turncheck.project.story_sentences import with_story_sentences
    from turncheck.run.assistant import cache_in_use
    from turncheck.run.folders import cache_of_command
    from turncheck.run.reading import ensure_readable, read_assistant

    settings = options.settings
    if options.models.named is not None:
        project = Project(Path(settings.project), "")  # a named model needs none
    else:
        project = read_assistant(settings, data=(settings.nlu,) if settings.nlu else None)
    learnt = with_story_sentences(project)

    def ensure() -> None:
        ensure_readable(project, NLU_PARTS | {"sentences"} if project.platform.has_pipeline else {"nlu"})
        if not learnt.nlu.examples:
            raise UserError(
                f"there are no NLU examples to train on in '{settings.nlu or settings.project}'",
                hint="Name the assistant's folder with --project, its data with --nlu, or a trained model with"
                " --model.",
            )

    engines = engine_of(settings, project, {}, models=options.models)
    with cache_in_use(engines, cache_of_command(settings, environment, screen), screen):
        engines.make_ready(("nlu",), screen, ensure)
    return engines.nlu or engines.nlu_trainer.fit(learnt)


def _ask_another(  # noqa: PLR0917 - as above
    options: ParseOptions,
    sentences: Iterable[str],
    form: Form,
    environment: Mapping[str, str],
    output: TextIO,
    screen: Console,
) -> int:
    """Ask the team's own assistant; a sentence that it has no answer to is shown, and it is not done then."""
    from turncheck.render.phrases import engine_lines
    from turncheck.run.assistant import opened_engine
    from turncheck.run.partial import end_with, run_until_failure
    from turncheck.run.reading import ensure_possible, read_configured

    settings, code = options.settings, EXIT_OK
    project = read_configured(settings)
    with opened_engine(settings, project, environment, screen, models=options.models) as engines:
        ensure_possible(engines, "nlu")
        engines.make_ready(("nlu",), screen, lambda: None)
        for batch in _batches(sentences):
            evaluated = run_until_failure(partial(_answers, engines, batch, screen))
            written = _as_json if form == "jsonl" else _as_text
            answers: Sequence[UtteranceAnswer | Parse | None] = evaluated.finished or ()
            output.writelines(
                written(sentence, one) for sentence, one in zip(batch, answers, strict=False) if one is not None
            )
            output.flush()
            if evaluated.stopped is not None:
                end_with(evaluated.stopped)
            if any(getattr(one, "error", None) for one in answers):  # a Parse always is an answer
                code = EXIT_NOT_DONE
        for line in engine_lines(engines.info()):
            screen.note(line)
    return code


def _answers(engines: Engine, texts: list[str], screen: Console) -> Sequence[UtteranceAnswer | Parse]:
    """Ask an engine as batch suites do, which gives more than the best intent."""
    from turncheck.project.batch.model import Suite, SuiteCase

    if not engines.capabilities.answers_suites:
        return [] if engines.nlu is None else engines.nlu.parse(texts)
    suite = Suite("", "", tuple(SuiteCase(text, ()) for text in texts))
    try:
        return engines.answer_suite(suite, screen).answers
    except IncompleteError as error:
        raise IncompleteError(error, None if error.finished is None else error.finished.answers) from error


def _as_json(sentence: str, answer: UtteranceAnswer | Parse) -> str:
    from turncheck.engines.conversation import Parse
    from turncheck.engines.embedded.nlu.engine import as_model_parse

    if isinstance(answer, Parse):
        document = as_model_parse(answer, {})
    else:
        name = answer.matched[0] if len(answer.matched) == 1 else None
        document = {
            "text": sentence,
            "intent": {"name": name},
            "matched": list(answer.matched),
            "entities": [{"entity": name, "value": value} for name, value in answer.entities.items()],
            "traits": [{"name": trait} for trait in answer.traits],
            "scores": dict(answer.scores),
        } | ({"error": answer.error} if answer.error else {})
    return f"{_json(document)}\n"


def _as_text(sentence: str, answer: UtteranceAnswer | Parse) -> str:
    from turncheck.engines.conversation import Parse
    from turncheck.evaluations.batch.judging import shown_value

    if isinstance(answer, Parse):
        return _shown(answer)
    lines = [text(sentence, 400)]
    if answer.error:
        return "\n".join([*lines, f"  not evaluated: {text(answer.error, 400)}"]) + "\n"
    scores = {name: f" {score:g}" for name, score in answer.scores.items()}
    lines += [f"  {text(name)}{scores.get(name, '')}" for name in answer.matched] or ["  no intent"]
    if len(answer.matched) > 1:
        lines.append("  ambiguous: the platform asks which of these is meant")
    lines += [f"  trait: {text(trait)}" for trait in answer.traits]
    lines += [f"  {text(name)}: {text(shown_value(value) or '', 400)}" for name, value in answer.entities.items()]
    return "\n".join(lines) + "\n"


def _batches(sentences: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for sentence in sentences:
        batch.append(sentence)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _shown(parse: Parse) -> str:
    lines = [text(parse.text, 400)]
    ranking = parse.ranking[:RANKED]
    if not ranking or ranking[0].name != parse.intent.name:  # a component may have set only the intent
        ranking = (parse.intent, *ranking)[:RANKED]
    lines += [f"  {text(intent.name)} {intent.confidence:.2f}" if intent.name else "  no intent" for intent in ranking]
    lines += [f"  trait: {text(str(trait.name))} {trait.confidence:.2f}" for trait in parse.traits]
    lines += [f"  {_entity(parse.text, entity)}" for entity in parse.entities]
    for selected in parse.responses.values():
        key = selected.intent_response_key  # selectors choose for every sentence; only that of its intent counts
        if key is not None and key.partition("/")[0] == parse.intent.name:
            lines.append(f"  response: {text(key)} {selected.confidence:.2f}")
    return "\n".join(lines) + "\n"


def _entity(sentence: str, entity: PredictedEntity) -> str:
    surface = sentence[entity.start : entity.end]
    value = "" if entity.value == surface else f" = {text(json.dumps(entity.value, ensure_ascii=False))}"
    marks = [f"{mark} {text(name)}" for mark, name in (("role", entity.role), ("group", entity.group)) if name]
    about = ", ".join([f"{entity.start}-{entity.end}", *marks, text(entity.extractor)])
    return f"{text(entity.entity)}: '{text(surface)}'{value} ({about})"


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


# --- from a pipe ------------------------------------------------------------------------------------------------------


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


# --- on a terminal ----------------------------------------------------------------------------------------------------


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
