"""``turncheck parse``: what the assistant understands of each sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from turncheck.engines.embedded.models import DEFAULT_MODELS, fitting_model, load_model, named_model
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.plurals import count
from turncheck.project.reader import read_project
from turncheck.project.story_sentences import with_story_sentences
from turncheck.render.engine_text import engine_lines
from turncheck.render.sinks.terminal import text
from turncheck.run.trainable import ensure_assistant, ensure_readable
from turncheck.validation.losses import NLU_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TextIO

    from turncheck.engines.base import Parse, PredictedEntity
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.process.screen import Screen

BATCH = 256
RANKED = 3


@dataclass(frozen=True, slots=True)
class ParseOptions:
    """Where the engine comes from: a model, or the project's files. Paths count from the current folder."""

    project: Path = Path()
    model: Path | None = None
    config: Path | None = None
    nlu: Path | None = None
    domain: Path | None = None
    seed: int = 42
    vectors: bool = False
    allow_custom_code: bool = False


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


def find_engine(options: ParseOptions, screen: Screen) -> EmbeddedNluEngine:
    """Take the model that was named, else the newest that fits the project's files; else train, and say so."""
    if options.model is not None:
        return load_model(named_model(options.model)).nlu()
    for name in ("config", "nlu", "domain"):
        path = getattr(options, name)
        if path is not None and not path.exists():
            raise UserError(f"{name}: no such file or folder: {path}", remedy="Correct the path; it counts from here.")
    project = read_project(
        options.project, domain=options.domain, config=options.config, data=[options.nlu] if options.nlu else None
    )
    ensure_assistant(project)
    custom = options.allow_custom_code
    fitting = fitting_model(
        options.project / DEFAULT_MODELS, project, ("nlu",), allow_custom_code=custom, vectors=options.vectors
    )
    if fitting is not None:
        screen.detail(f"Using {fitting.path}")
        return fitting.nlu()
    ensure_readable(project, NLU_PARTS | {"sentences"})
    learnt = with_story_sentences(project)
    if not learnt.nlu.examples:
        raise UserError(
            f"there are no NLU examples to learn from in '{options.nlu or options.project}'",
            remedy="Name the assistant's folder with --project, its data with --nlu, or a trained model with --model.",
        )
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # noqa: PLC0415 - heavy
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # noqa: PLC0415 - heavy

    with screen.step("train", f"No model fits: training on {count(len(project.nlu.examples), 'sentence')}"):
        vectors = chosen_vectors(options.vectors)
        trainer = EmbeddedNluTrainer(seed=options.seed, allow_custom_code=custom, vectors=vectors)
        return trainer.fit(learnt)


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
    lines += [f"  {text(str(intent.name))} {intent.confidence:.2f}" for intent in ranking]
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
