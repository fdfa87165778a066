"""A trained pipeline in a model archive: members below ``nlu/``, one folder for each component."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turncheck import __version__
from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
from turncheck.engines.embedded.nlu.neighbours import TrainingSentences
from turncheck.engines.embedded.nlu.plan import make_plan
from turncheck.engines.embedded.nlu.steps import load_step
from turncheck.engines.embedded.nlu.tokenizers import make_tokenizer
from turncheck.engines.embedded.stored_domain import (
    components_from_json,
    components_to_json,
    domain_from_json,
    domain_to_json,
)
from turncheck.project.model import Config
from turncheck.report.model import EngineInfo, Substitution

if TYPE_CHECKING:
    from turncheck.engines.embedded.model_archive import MemberReader, MemberWriter
    from turncheck.engines.embedded.nlu.plan import Step

FOLDER = "nlu"


def write_nlu(writer: MemberWriter, engine: EmbeddedNluEngine, config: Config) -> None:
    """Add the members of a pipeline that was trained by this configuration."""
    members = writer.below(FOLDER)
    members.json(
        "engine",
        {
            "domain": domain_to_json(engine.domain),
            "language": config.language,
            "pipeline": None if config.pipeline is None else components_to_json(config.pipeline),
            "steps": _places(engine, make_plan(config).steps),
            "extractors": list(engine.extractors),
            "texts": list(engine.sentences.texts),
            "substitutions": [
                {"component": one.component, "used": one.used, "reason": one.reason}
                for one in engine.info.substitutions
            ],
            "notes": list(engine.info.notes),
            "trained": engine.trained,
        },
    )
    for number, (_, component) in enumerate(engine.components):
        component.save(members.below(f"component_{number}"))


def read_nlu(reader: MemberReader, root: Path = Path()) -> EmbeddedNluEngine:
    """Read what :func:`write_nlu` wrote. ``root``: where files that a tokenizer names are found.

    Raises:
        UserError: a member is missing.
    """
    members = reader.below(FOLDER)
    shape = members.json("engine")
    pipeline = shape["pipeline"]
    config = Config(language=shape["language"], pipeline=None if pipeline is None else components_from_json(pipeline))
    plan = make_plan(config)
    steps = [plan.steps[place] for place in shape["steps"]]
    return EmbeddedNluEngine(
        info=EngineInfo(
            name="embedded",
            version=__version__,
            substitutions=tuple(Substitution(**one) for one in shape["substitutions"]),
            notes=tuple(shape["notes"]),
        ),
        extractors=tuple(shape["extractors"]),
        tokenizer=make_tokenizer(plan.tokenizer.component, plan.tokenizer.parameters, root),
        components=tuple(
            (step, load_step(step, members.below(f"component_{number}"))) for number, step in enumerate(steps)
        ),
        domain=domain_from_json(shape["domain"]),
        sentences=TrainingSentences(tuple(shape["texts"])),
        trained=shape["trained"],
    )


def _places(engine: EmbeddedNluEngine, steps: tuple[Step, ...]) -> list[int]:
    """Return the places of the steps that learnt something; they are in order, and some may be alike."""
    places: list[int] = []
    for trained, _ in engine.components:
        begin = places[-1] + 1 if places else 0
        places.append(steps.index(trained, begin))
    return places
