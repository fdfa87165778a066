"""The result of understanding a sentence, and what produces it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.project.model import Project
    from turncheck.report.model import EngineInfo


@dataclass(frozen=True, slots=True)
class PredictedIntent:
    """An intent and how sure the engine is of it (0 to 1)."""

    name: str | None
    confidence: float


@dataclass(frozen=True, slots=True)
class PredictedEntity:
    """An entity that ``extractor`` found; offsets are code points."""

    start: int
    end: int
    entity: str
    value: Any
    extractor: str
    role: str | None = None
    group: str | None = None
    confidence: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of Rasa's entity dictionary (``processors``, Duckling's ``additional_info`` …)."""


@dataclass(frozen=True, slots=True)
class SelectedResponse:
    """The choice of one response selector: the full intent response key, and its ranking of such keys."""

    selector: str
    intent_response_key: str | None
    confidence: float
    ranking: tuple[PredictedIntent, ...] = ()


@dataclass(frozen=True, slots=True)
class Parse:
    """One sentence as it was understood. ``intent`` is after the fallback, ``ranking`` as Rasa's ``intent_ranking``."""

    text: str
    intent: PredictedIntent
    ranking: tuple[PredictedIntent, ...] = ()
    entities: tuple[PredictedEntity, ...] = ()
    responses: Mapping[str, SelectedResponse] = field(default_factory=dict)
    tokens: tuple[tuple[int, int], ...] | None = None
    """``(start, end)`` of each token, if the engine returns them: entities are then scored by these."""
    traits: tuple[PredictedIntent, ...] = ()
    """The sentence's traits, if the assistant has any."""


class NluEngine(Protocol):
    """The part of an engine that understands sentences."""

    @property
    def info(self) -> EngineInfo:
        """Name, version, substitutions."""

    @property
    def extractors(self) -> tuple[str, ...]:
        """The entity extractors of the pipeline that are trained or matched here, in pipeline order."""

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        """Understand each text; the same texts give the same answers in any batch."""


@dataclass(frozen=True, slots=True)
class InFront:
    """A wrapper around an engine that understands sentences; it describes itself as that engine."""

    engine: NluEngine

    @property
    def info(self) -> EngineInfo:
        """That of the wrapped engine."""
        return self.engine.info

    @property
    def extractors(self) -> tuple[str, ...]:
        """Those of the wrapped engine."""
        return self.engine.extractors


class NluTrainer(Protocol):
    """Trains engines: evaluations take this, since folds and learning curves fit many."""

    def fit(self, project: Project) -> NluEngine:
        """Train on the project's NLU data. Deterministic for the same project and seed."""
