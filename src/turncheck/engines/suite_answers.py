"""An engine's answers to a batch suite."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.report.batch import BatchResult, BatchSetting


@dataclass(frozen=True, slots=True)
class UtteranceAnswer:
    """How one utterance of a batch suite was understood.

    ``matched``: the winning intents, several if the engine found them ambiguous; ``traits``: those found besides
    them. ``entities``: values by name, as the engine returns them (several with one name: a list). ``order``: in which
    the entities were extracted, ``None`` if the engine does not say. ``scores``: of intents, by their names. ``tags``:
    what the platform calls a failure. ``error``: why there is no answer. ``unknown_entities``: why these cannot be
    found here, by name: they are not evaluated. ``result`` and ``fits``: if the engine has judged the case itself,
    its class, and of each expected entity whether its value is as expected; ``remark``: what it says about it.
    """

    matched: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    entities: Mapping[str, Any] = field(default_factory=dict)
    order: tuple[str, ...] | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    error: str | None = None
    unknown_entities: Mapping[str, str] = field(default_factory=dict)
    result: BatchResult | None = None
    fits: Mapping[str, bool] = field(default_factory=dict)
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class SuiteAnswers:
    """The answers to a suite, one per case in its order. ``cancelled``: the engine's run was cancelled from outside.

    ``version``: the version of the assistant that answered: ``in-development`` or ``published``. ``setting``: what the
    engine says about that assistant.
    """

    answers: tuple[UtteranceAnswer, ...]
    version: str | None = None
    cancelled: bool = False
    setting: BatchSetting | None = None
