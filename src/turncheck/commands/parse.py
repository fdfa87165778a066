"""``turncheck parse``: what the assistant understands of each sentence."""

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
    add_cache_flags,
    add_engine_flags,
    models_of,
    settings_of,
)
from turncheck.messages.errors import (
    EXIT_NOT_DONE,
    EXIT_OK,
    IncompleteError,
    UserError,
)
from turncheck.messages.plain_text import log_json
from turncheck.process.streams import ensure_utf_8, lines_of_input
from turncheck.render.sinks.terminal import text
from turncheck.settings.declared import default_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.engines.base import Engine, Models, UtteranceAnswer
    from turncheck.engines.conversation import Parse, PredictedEntity
    from turncheck.engines.embedded.nlu.engine import EmbeddedNlu
    from turncheck.process.screen import Console
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
        engines.make_ready(("nlu",), screen)
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

    engines = engine_of(settings, project, environment, models=options.models)
    with cache_in_use(engines, cache_of_command(settings, environment, screen), screen):
        if not engines.use_model(("nlu",), screen):
            ensure_readable(project, NLU_PARTS | {"sentences"} if project.platform.has_pipeline else {"nlu"})
            if not learnt.nlu.examples:
                raise UserError(
                    f"there are no NLU examples to train on in '{settings.nlu or settings.project}'",
                    hint="Name the assistant's folder with --project, its data with --nlu, or a trained model with"
                    " --model.",
                )
            engines.train_parts(("nlu",), screen)
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
        engines.make_ready(("nlu",), screen)
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
