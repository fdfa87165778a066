"""The kinds of assistants, one row each: what their files hold, and what can be done with them here.

No other code checks a project's kind by name: each difference is a column.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple


class Refusal(NamedTuple):
    """Why something is not done, and what to do instead."""

    what: str
    remedy: str


class Kind(NamedTuple):
    """A kind of assistants.

    ``no_dialogues``: why its files hold no dialogues. ``no_model``, ``no_split``: why no model is written for it, and
    why its sentences are not split. ``has_pipeline``: its NLU pipeline is built from its files, which must be complete
    for that. ``selects_responses``: it may choose among responses. ``names_all``: its files name everything that users
    may mean, so that what is missing from the tests can be counted. ``has_languages``: what is read from its files
    depends on the chosen language. ``holds_secrets``: no line of its files is shown. ``checked_by_rasa``: Rasa checks
    it as well, so that our own findings are less severe.
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
