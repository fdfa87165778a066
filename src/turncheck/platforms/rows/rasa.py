"""Rasa: its assistants are projects of several files, which all that is not a platform's own is made for."""

from __future__ import annotations

from typing import Final

from turncheck.platforms.base import Platform

RASA: Final = Platform(
    "rasa",
    "a Rasa project",
    "Rasa projects",
    "turncheck.platforms.rasa.flows",
    brings=("catalogue", "more_checks", "consistency"),
)
