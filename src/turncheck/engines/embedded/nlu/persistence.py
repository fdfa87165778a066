"""The NLU engine in a model archive: members below ``nlu/``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from turncheck import __version__
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.neighbours import TrainingSentences
from turncheck.engines.embedded.nlu.plan import Step
from turncheck.engines.embedded.nlu.steps import load_step
from turncheck.engines.embedded.nlu.tokenizer_choice import load_tokenizer
from turncheck.engines.embedded.stored_domain import domain_from_json, domain_to_json
from turncheck.messages.location import NOWHERE
from turncheck.project.model import Component
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.tokenizers import Tokenizer

FOLDER: Final = "nlu"


def write_nlu(writer: MemberWriter, engine: EmbeddedNluEngine) -> None:
    """Add the engine's members.

    Raises:
        UserError: a component is the project's own code, which a model cannot contain.
    """
    members = writer.below(FOLDER)
    members.json(
        "engine",
        {
            "info": msgspec.to_builtins(engine.info),
            "extractors": engine.extractors,
            "retrieval_intents": engine.retrieval_intents,
            "trained": engine.trained,
            "steps": [_step_to_json(step) for step, _ in engine.components],
        },
    )
    members.json("domain", domain_to_json(engine.domain))
    members.json("sentences", engine.sentences.texts)
    members.json("tokenizer", engine.tokenizer.to_json())
    for number, (_, component) in enumerate(engine.components):
        component.save(members.below(str(number)))


def read_nlu(reader: MemberReader) -> EmbeddedNluEngine:
    """Read what :func:`write_nlu` wrote.

    Raises:
        UserError: the model has no such part, or it is damaged.
    """
    members = reader.below(FOLDER)
    shape = members.json("engine")
    steps = [_step_from_json(step) for step in shape["steps"]]
    info = msgspec.convert({**shape["info"], "version": __version__}, EngineInfo)
    return EmbeddedNluEngine(
        info=info,
        extractors=tuple(shape["extractors"]),
        tokenizer=read_tokenizer(reader),
        components=tuple((step, load_step(step, members.below(str(number)))) for number, step in enumerate(steps)),
        domain=domain_from_json(members.json("domain")),
        sentences=TrainingSentences(tuple(members.json("sentences"))),
        retrieval_intents=tuple(shape["retrieval_intents"]),
        trained=shape["trained"],
    )


def read_tokenizer(reader: MemberReader) -> Tokenizer:
    """Read only the tokenizer of what :func:`write_nlu` wrote.

    Raises:
        UserError: the model has no such part, or it is damaged.
    """
    return load_tokenizer(reader.below(FOLDER).json("tokenizer"))


def _step_to_json(step: Step) -> dict[str, Any]:
    return {"kind": step.kind, "name": step.component.name, "parameters": dict(step.parameters)}


def _step_from_json(shape: Mapping[str, Any]) -> Step:
    return Step(shape["kind"], Component(shape["name"], {}, NOWHERE), shape["parameters"])
