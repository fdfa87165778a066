"""``turncheck parse``: what the assistant understands of each sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from turncheck.engines.base import NLU_PARTS, Engine, Models, UtteranceAnswer
from turncheck.engines.embedded.engines import engine_of
from turncheck.engines.embedded.nlu.engine import EmbeddedNlu, as_model_parse
from turncheck.engines.parse import Parse, PredictedEntity
from turncheck.evaluation.batch.judging import shown_value
from turncheck.messages.errors import EXIT_OK, CutShortError, UserError
from turncheck.messages.plain_text import log_json
from turncheck.project.batch.model import Suite, SuiteCase
from turncheck.project.model import Project
from turncheck.project.story_sentences import with_story_sentences
from turncheck.render.phrases import engine_lines
from turncheck.render.sinks.terminal import text
from turncheck.run.alone import end_with, run_until_failure
from turncheck.run.assistant import cache_in_use, opened_engine
from turncheck.run.folders import cache_of_command
from turncheck.run.reading import ensure_possible, ensure_readable, read_assistant, read_given
from turncheck.settings.options import Settings, default_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.process.screen import Console

BATCH = 256
RANKED = 3


@dataclass(frozen=True, slots=True)
class ParseOptions:
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
    if settings.engine == default_of("engine"):
        return find_engine(ParseOptions(settings, models), environment, screen).parse(sentences)
    with opened_engine(settings, read_given(settings), environment, screen, models=models) as engines:
        ensure_possible(engines, "nlu")
        engines.make_ready(("nlu",), screen, lambda: None)
        if (nlu := engines.nlu) is None:
            raise UserError(f"the engine '{settings.engine}' understands no sentences of this project")
        return nlu.parse(sentences)


def _json(document: dict[str, Any]) -> str:
    return log_json(json.dumps(document, ensure_ascii=False))


def find_engine(options: ParseOptions, environment: Mapping[str, str], screen: Console) -> EmbeddedNlu:
    """Take the model that was named, else the newest that fits the project's files; else train, and say so."""
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
    """Ask the team's own assistant."""
    settings = options.settings
    project = read_given(settings)
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
    return EXIT_OK


def _answers(engines: Engine, texts: list[str], screen: Console) -> Sequence[UtteranceAnswer | Parse]:
    """Ask an engine as batch suites do, which gives more than the best intent."""
    if not engines.capabilities.answers_suites:
        return [] if engines.nlu is None else engines.nlu.parse(texts)
    suite = Suite("", "", tuple(SuiteCase(text, ()) for text in texts))
    try:
        return engines.answer_suite(suite, screen).answers
    except CutShortError as error:
        raise CutShortError(error, None if error.finished is None else error.finished.answers) from error


def _as_json(sentence: str, answer: UtteranceAnswer | Parse) -> str:
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
