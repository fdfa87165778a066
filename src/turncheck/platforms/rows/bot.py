"""A bot over HTTP: its files are tests, and the shape of its API."""

from __future__ import annotations

from typing import Final

from turncheck.platforms.base import Platform, Refusal

_FLAGS: Final = "--engine http --bot-url URL"
HTTP: Final = Platform(
    "http",
    "a bot over HTTP",
    "bots over HTTP",
    "turncheck.platforms.bot",
    brings=("export", "checks", "coverage"),
    no_model=Refusal("a bot over HTTP is not trained here, so it has no model", f"Test it where it runs: {_FLAGS}."),
    no_split=Refusal("a bot over HTTP has no training sentences here", "Name data with --nlu."),
    engine="http",
    flags=_FLAGS,
    has_pipeline=False,
    selects_responses=False,
)
