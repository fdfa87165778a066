"""The document ``verdict.json``: every gate and its outcome, in words."""

from __future__ import annotations

from typing import Any, Final, Literal

from msgspec import UNSET, UnsetType

from turncheck.comparison import model
from turncheck.gates.judged import GateOutcome
from turncheck.gates.table import subject_of
from turncheck.messages.finding import Location
from turncheck.report.codec import document_schema
from turncheck.report.part import Part

VERDICT_SCHEMA: Final = "turncheck/verdict/v1"


class FailedBy(Part, frozen=True, kw_only=True):
    """One thing that made a gate fail."""

    what: str
    """What it is, in a few words."""
    location: Location | None = None
    """Where it is."""
    message: str = ""
    """The message of a finding alone, without its code and hint; empty for anything else."""
    named: bool | UnsetType = UNSET
    """Whether the reason of the gate names it; left out if it does not."""
    not_run: bool | UnsetType = UNSET
    """Whether it only did not run, for a reason that a document says elsewhere; left out if it did."""


class GateResult(Part, frozen=True, kw_only=True):
    """A gate, its outcome and the reason. ``metric`` names the figure it is about, if it is about one.

    ``fails``: whether it fails the run, as a failed gate does, and one that could not be judged if the setting
    ``not-judged`` says so. ``needs_base``: it judges a change, so that it cannot be judged without a baseline.
    """

    name: str
    """The gate as it is written in the settings."""
    outcome: GateOutcome
    """Its outcome."""
    reason: str
    """Why."""
    without_base: str | UnsetType = UNSET
    """The same without why there is no baseline and why cases did not run; left out if it does not say that."""
    metric: str | None = None
    """The metric it is about, if it is about one."""
    fails: bool = False
    """Whether it fails the run."""
    needs_base: bool = False
    """Whether it judges a change, so that it needs a baseline."""
    location: Location | None = None
    """Where it is set in the project's settings; ``None`` if it is not set there."""
    failed_by: tuple[FailedBy, ...] = ()
    """What made it fail."""
    follows: str = ""
    """The earlier gate that names everything that made this one fail; empty if this one has a reason of its own."""

    @property
    def first_cause(self) -> FailedBy | None:
        """The first thing that made it fail, which its line names.

        ``None`` if the reason already names it, and for a figure, since the cases are then only examples.
        """
        named = self.metric is not None or subject_of(self.name) == "an evaluation" or not self.fails
        return None if named else next(iter(self.unnamed), None)

    @property
    def unnamed(self) -> tuple[FailedBy, ...]:
        """What made it fail and is not already named in the reason."""
        return tuple(cause for cause in self.failed_by if cause.named is not True)

    @property
    def in_words(self) -> str:
        """The reason with the first cause: ``2 stories failed: story 'a' (tests/a.yml:3) and 1 more``."""
        first = self.first_cause
        if first is None:
            return self.reason
        place = f" ({first.location})" if first.location is not None else ""
        return f"{self.reason}: {first.what}{place}{self.and_more}"

    @property
    def and_more(self) -> str:
        """How many more unnamed causes there are after the first; empty if there are none."""
        return f" and {len(self.unnamed) - 1:,} more" if len(self.unnamed) > 1 else ""


Reservation = Literal[
    "",
    "old failures only",
    "although tests fail",
    "although tests are gone",
    "an error is newly suppressed",
    "errors are newly suppressed",
    "a warning is newly suppressed",
    "warnings are newly suppressed",
    "all stories are gone",
    "a file is read as something else",
    "a file is no longer read",
    "less is judged",
    "most of an intent is gone",
    "annotations are gone",
    "annotations have another entity",
    "less is understood",
    "a new intent is mostly misunderstood",
    "what is new is mostly wrong",
    "intents collide",
    "a change cannot be judged",
    "changes cannot be judged",
    "an intent is worse",
    "intents are worse",
    "entities are worse",
    "a story is misunderstood",
    "stories are misunderstood",
    "an end-to-end case is misunderstood",
    "end-to-end cases are misunderstood",
    "more runs fail than on the base",
    "the base has too few runs to tell",
    "only files were checked",
    "not all tests were run",
    "not all tests are clear",
    "not all gates were judged",
    "not all data could be read",
    "not all of the base could be read",
    "not compared with the base",
]
"""What a reader of "passed" has to know; the summary says more about it. Empty: nothing."""


_LINKS: Final = {
    "": "",
    "old failures only": " with ",
    "although tests fail": " ",
    "although tests are gone": " ",
}
"""What joins some of them to the outcome."""


class ChosenRules(Part, frozen=True, kw_only=True):
    """What `fail-on: auto` stood for in this run."""

    fail_on: tuple[str, ...]
    """The words that counted, as `fail-on` takes them."""
    because: str
    """Why these, in a few words."""


class Verdict(Part, frozen=True, kw_only=True):
    """The outcome of all gates. ``summary`` says it in one line, without the outcome itself.

    ``reservation``: why "passed" alone would be misleading.
    """

    schema: Literal["turncheck/verdict/v1"] = VERDICT_SCHEMA
    """Which document this is, and in which version."""
    outcome: Literal["passed", "failed"]
    """Whether the run passed."""
    summary: str
    """Why, in one line."""
    gates: tuple[GateResult, ...] = ()
    """Every gate and its outcome."""
    not_judged: Literal["auto", "pass", "fail"] = "auto"
    """How gates that could not be judged counted."""
    reservation: Reservation = ""
    """What a reader of ``passed`` has to know; empty: nothing."""
    chosen: ChosenRules | UnsetType = UNSET
    """What `fail-on: auto` stood for; left out if the settings name the rules."""

    @property
    def passed(self) -> bool:
        """Whether the run may go on."""
        return self.outcome == "passed"

    @property
    def in_words(self) -> str:
        """The outcome in words: ``passed``, or ``passed, but not all tests were run``."""
        return f"{self.outcome}{_LINKS.get(self.reservation, ', but ')}{self.reservation}"


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON Schemas of the documents beside the report, generated from the types."""
    documents: dict[str, type] = {"comparison": model.Comparison, "verdict": Verdict}
    return {
        name: document_schema(document, name=name, title=f"turncheck {name}") for name, document in documents.items()
    }
