"""The NLU engine in a model archive: members below ``nlu/``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypedDict

import msgspec
from msgspec.structs import replace

from turncheck import __version__
from turncheck.engines.embedded import model_archive
from turncheck.engines.embedded.nlu.duckling import DucklingEntityExtractor
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.plan import ADDED, Step
from turncheck.engines.embedded.nlu.spacy_model import TokenizerShape, load_tokenizer
from turncheck.engines.embedded.nlu.steps import load_step
from turncheck.engines.ngrams import TrainingSentences
from turncheck.messages.finding import NOWHERE
from turncheck.project.model import Component
from turncheck.project.rasa_components import parameters_of, require_known
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    from turncheck.engines.embedded.nlu.batch import Tokenizer

FOLDER: Final = "nlu"


class _StepShape(TypedDict):
    kind: str
    name: str
    parameters: dict[str, Any]


class _EngineShape(TypedDict):
    info: dict[str, Any]
    extractors: tuple[str, ...]
    retrieval_intents: tuple[str, ...]
    trained: bool
    steps: list[_StepShape]


def write_nlu(writer: model_archive.MemberWriter, engine: EmbeddedNluEngine) -> None:
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
    members.json("domain", model_archive.domain_to_json(engine.domain))
    members.json("sentences", engine.sentences.texts)
    members.json("tokenizer", engine.tokenizer.to_json())
    for number, (_, component) in enumerate(engine.components):
        component.save(members.below(str(number)))


def read_nlu(reader: model_archive.MemberReader) -> EmbeddedNluEngine:
    """Read what :func:`write_nlu` wrote.

    Raises:
        UserError: the model has no such part, or it is damaged.
    """
    members = reader.below(FOLDER)
    shape = members.json("engine", _EngineShape)
    steps = [_step_from_json(step) for step in shape["steps"]]
    info = model_archive.as_shape({**shape["info"], "version": __version__}, EngineInfo)
    engine = EmbeddedNluEngine(
        info=info,
        extractors=shape["extractors"],
        tokenizer=read_tokenizer(reader),
        components=tuple((step, load_step(step, members.below(str(number)))) for number, step in enumerate(steps)),
        domain=model_archive.domain_from_json(members.json("domain", dict[str, Any])),
        sentences=TrainingSentences(members.json("sentences", tuple[str, ...])),
        retrieval_intents=shape["retrieval_intents"],
        trained=shape["trained"],
    )
    _ensure_parts_fit(engine)
    return engine


def _ensure_parts_fit(engine: EmbeddedNluEngine) -> None:
    """Parse a sentence: whether a classifier is for the features that others give shows only then.

    Raises:
        Exception: of any kind.
    """
    local = tuple(part for part in engine.components if part[0].kind != DucklingEntityExtractor.__name__)
    replace(engine, components=local).parse(engine.sentences.texts[:1] or ("a",))


def read_tokenizer(reader: model_archive.MemberReader) -> Tokenizer:
    """Read only the tokenizer of what :func:`write_nlu` wrote.

    Raises:
        UserError: the model has no such part, or it is damaged.
    """
    return load_tokenizer(reader.below(FOLDER).json("tokenizer", TokenizerShape))


def _step_to_json(step: Step) -> dict[str, Any]:
    return {"kind": step.kind, "name": step.component.name, "parameters": dict(step.parameters)}


def _step_from_json(shape: _StepShape) -> Step:
    parameters = shape["parameters"]
    component = Component(shape["name"], {name: parameters[name] for name in parameters.keys() - ADDED}, NOWHERE)
    parameters_of(component, require_known(component, rasa=0))  # of any version: the one that trained it had it
    return Step(shape["kind"], Component(shape["name"], {}, NOWHERE), parameters)
