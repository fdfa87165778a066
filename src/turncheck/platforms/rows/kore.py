"""Kore.ai: its assistants are exports of what runs on the platform."""

from __future__ import annotations

from typing import Final

from turncheck.platforms.base import Platform, Refusal

KORE: Final = Platform(
    "kore",
    "a Kore.ai assistant",
    "Kore.ai assistants",
    "turncheck.platforms.kore",
    brings=("export", "catalogue", "checks", "stand_in", "coverage", "imported"),
    export_names=("botDefinition.json", "appDefinition.json"),  # up to version 10 of the platform, and from 11 on
    no_export=Refusal(
        "the export of a Kore.ai assistant [kore-not-an-export]", "a botDefinition.json, or the platform's .zip"
    ),
    no_dialogues="the dialogs of a Kore.ai assistant run on the platform alone",
    no_model=Refusal(
        "a Kore.ai assistant has no model here: the stand-in is trained in each run",
        "Use `turncheck run`, `test nlu` or `parse` with it.",
    ),
    no_split=Refusal(
        "the sentences of a Kore.ai assistant are split on its platform, not here",
        "`turncheck run` judges them by cross-validation; name other data with --nlu.",
    ),
    has_pipeline=False,
    selects_responses=False,
    names_all=True,
    has_languages=True,
    holds_secrets=True,
)
