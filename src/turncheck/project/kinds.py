"""The kinds of assistants, a row each: what their files hold, and what can be done with them here.

Nobody asks a project for its kind by name; what differs is a column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple


class Refusal(NamedTuple):
    """Why something is not done, and what to do instead."""

    what: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of assistants.

    ``no_dialogues``: why its files hold no dialogues. ``no_model``, ``no_split``: why no model is written of it, and
    why its sentences are not split. ``has_pipeline``: what understands it is made as its files say, which must be whole
    for that. ``selects_responses``: it may choose among responses. ``names_all``: its files name all that users may
    mean, so that what no test has can be counted. ``has_languages``: what is read of its files depends on the language
    that is chosen. ``holds_secrets``: no line of its files is shown. ``checked_by_rasa``: Rasa checks it as well, so
    that findings of our own are eased.
    """

    name: Literal["rasa", "kore"]
    no_dialogues: str | None = None
    no_model: Refusal | None = None
    no_split: Refusal | None = None
    has_pipeline: bool = True
    selects_responses: bool = True
    names_all: bool = False
    has_languages: bool = False
    holds_secrets: bool = False
    checked_by_rasa: bool = True


RASA: Final = Kind("rasa")
KORE: Final = Kind(
    "kore",
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
    checked_by_rasa=False,
)
