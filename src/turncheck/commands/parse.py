"""``turncheck parse``: what the assistant understands of each sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from turncheck.engines.base import NLU_PARTS
from turncheck.engines.embedded.engines import EmbeddedEngines
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.project.model import Project
from turncheck.project.story_sentences import with_story_sentences
from turncheck.render.engine_text import engine_lines
from turncheck.render.sinks.terminal import text
from turncheck.run.trainable import ensure_readable, read_assistant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from turncheck.engines.base import Models, Parse, PredictedEntity
    from turncheck.engines.embedded.kore.engine import KoreNluEngine
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.process.screen import Screen
    from turncheck.settings.options import Settings

BATCH = 256
RANKED = 3


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Where the engine comes from: a model, or the project's files. Paths count from the current folder."""

    settings: Settings
    models: Models


def run_parse(
    options: ParseOptions, sentences: Iterable[str], form: Literal["text", "jsonl"], output: TextIO, screen: Screen
) -> int:
    """Understand each sentence and print it: for people, or one line of JSON in the shape of Rasa's ``/model/parse``.

    Raises:
        UserError: a model that cannot be read, or a project without sentences to learn from.
    """
    engine = find_engine(options, screen)
    for line in engine_lines(engine.info):
        screen.note(line)
    for batch in _batches(sentences):
        if form == "jsonl":
            output.writelines(json.dumps(document, ensure_ascii=False) + "\n" for document in engine.model_parse(batch))
        else:
            output.writelines(_shown(parse) for parse in engine.parse(batch))
        output.flush()
    return EXIT_OK


def find_engine(options: ParseOptions, screen: Screen) -> EmbeddedNluEngine | KoreNluEngine:
    """Take the model that was named, else the newest that fits the project's files; else train, and say so."""
    settings = options.settings
    if options.models.named is not None:
        project = Project(Path(settings.project), "")  # a named model needs none
    else:
        project = read_assistant(settings, data=(settings.nlu,) if settings.nlu else None)
    learnt = with_story_sentences(project)

    def ensure() -> None:
        ensure_readable(project, {"nlu"} if project.kore is not None else NLU_PARTS | {"sentences"})
        if not learnt.nlu.examples:
            raise UserError(
                f"there are no NLU examples to learn from in '{settings.nlu or settings.project}'",
                remedy="Name the assistant's folder with --project, its data with --nlu, or a trained model with"
                " --model.",
            )

    engines = EmbeddedEngines(
        project,
        settings.seed,
        allow_custom_code=settings.allow_custom_code,
        vectors=settings.vectors,
        models=options.models,
    )
    engines.make_ready(("nlu",), screen, ensure)
    return engines.nlu or engines.nlu_trainer.fit(learnt)


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
    if not ranking or ranking[0].name != parse.intent.name:  # a component may have set the intent alone
        ranking = (parse.intent, *ranking)[:RANKED]
    lines += [f"  {text(one.name)} {one.confidence:.2f}" if one.name else "  no intent" for one in ranking]
    lines += [f"  trait: {text(str(trait.name))} {trait.confidence:.2f}" for trait in parse.traits]
    lines += [f"  {_entity(parse.text, entity)}" for entity in parse.entities]
    for selected in parse.responses.values():
        key = selected.intent_response_key  # selectors choose for every sentence; only that of its intent speaks
        if key is not None and key.partition("/")[0] == parse.intent.name:
            lines.append(f"  response: {text(key)} {selected.confidence:.2f}")
    return "\n".join(lines) + "\n"


def _entity(sentence: str, entity: PredictedEntity) -> str:
    surface = sentence[entity.start : entity.end]
    value = "" if entity.value == surface else f" = {text(json.dumps(entity.value, ensure_ascii=False))}"
    marks = [f"{mark} {text(name)}" for mark, name in (("role", entity.role), ("group", entity.group)) if name]
    about = ", ".join([f"{entity.start}-{entity.end}", *marks, text(entity.extractor)])
    return f"{text(entity.entity)}: '{text(surface)}'{value} ({about})"
