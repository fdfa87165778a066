"""What changed between two reports, case by case: the parts of ``comparison.json`` that hold names and sentences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from msgspec import UNSET, UnsetType

from turncheck.messages.finding import Location, Name
from turncheck.report.causes import Cause
from turncheck.report.measured import TraceId
from turncheck.report.model import Misunderstanding, Repeats
from turncheck.report.part import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turncheck.messages.finding import Finding

Edit = Literal["edited", "renamed", "moved"]
PartChange = Literal["changed", "removed", "added", "moved", "unused", "used"]


class TrainingChange(Part, frozen=True, kw_only=True):
    """A training sentence that the change added, removed, or gave another intent (``was``).

    ``copied`` ones were added although the intent ``was`` has the same sentence, or nearly the same.
    ``unchanged`` ones explain a test sentence that is new itself: they are what it looks like. For ``unknown`` ones it
    is not known whether the change touched them, since one side does not list its training sentences.
    """

    change: Literal["added", "removed", "relabelled", "copied", "unchanged", "unknown"]
    """What happened to the sentence."""
    text: str
    """The sentence."""
    intent: str
    """Its intent now; for a removed sentence, the intent that it had."""
    location: Location
    """Where it is, or was."""
    was: str | None = None
    """The intent it had before; for a copied sentence, the other intent that has it too."""
    similarity: float = 0.0
    """How similar it is to the case it explains, 0 to 1."""


SINGULAR: Final = {
    "intents": "intent",
    "entities": "entity",
    "actions": "action",
    "responses": "response",
    "slots": "slot",
    "forms": "form",
    "flows": "flow",
    "flow_steps": "step of a flow",
    "stories": "story",
    "rules": "rule",
    "synonyms": "synonym",
    "lookups": "lookup table",
    "regexes": "pattern",
    "pipeline": "component",
    "policies": "policy",
    "importers": "importer",
    "recipe": "recipe",
    "session": "session configuration",
    "config": "setting",
}
"""What a thing of each kind is called."""


class ChangedPart(Part, frozen=True, kw_only=True):
    """A part of the project that the change removed, edited or added, such as a rule that a wrong step rests on."""

    kind: str
    """What it is: ``rules``, ``responses`` …"""
    name: str
    """What it is called."""
    location: Location
    """Where it is; if it was removed, where it was."""
    change: PartChange
    """What happened to it; ``unused`` and ``used``: a component that is configured on both sides, and that the engine
    runs on one side only, since nothing that it trains uses it on the other."""
    lost: int = 0
    """How many words a synonym, lookup table or pattern lost, if it was changed."""


class DeletedFile(Part, frozen=True, kw_only=True):
    """A data file that the change deleted, with what was only there."""

    path: str
    """The file."""
    sentences: int = 0
    """How many training sentences are gone with it."""
    blocks: int = 0
    """How many stories and rules are."""
    names: int = 0
    """How many names are that it defined: of intents, responses and so on."""
    broke: bool = False
    """Whether errors in the data, or tests that are not run now, are due to it."""


class CutIntent(Part, frozen=True, kw_only=True):
    """An intent that lost most of its training sentences, or so many that it is no longer judged."""

    intent: str
    """The intent."""
    base: int
    """How many training sentences it had."""
    now: int
    """How many it has."""
    unjudged: bool = False
    """Whether it was judged on the base and is not any more."""
    location: Location | None = None
    """Where its first remaining sentence is, or where the first one was."""


class StrippedIntent(Part, frozen=True, kw_only=True):
    """An intent whose sentences, otherwise the same, lost annotations of entities or have others."""

    intent: str
    """The intent."""
    annotations: int
    """How many annotations are gone, without any in their place."""
    base: int
    """How many annotations those of its sentences had that both sides have."""
    sentences: int
    """How many sentences lost any."""
    entities: tuple[str, ...]
    """The types that are gone, the most frequent first."""
    changed: int = 0
    """How many annotations have another type in the place of one that is gone."""
    new_entities: tuple[str, ...] = ()
    """The types that are there instead, the most frequent first."""
    location: Location
    """Where the first of these sentences is."""


class SimilarSentences(Part, frozen=True, kw_only=True):
    """A sentence that others resemble."""

    text: str
    """The sentence."""
    intent: str
    """Its intent."""
    location: Location | None
    """Where it is."""


class LessUnderstood(Part, frozen=True, kw_only=True):
    """Sentences of an intent that end in a fallback now and did not on the base."""

    intent: str
    """The intent."""
    sentences: tuple[SimilarSentences, ...]
    """The sentences."""


class FallbackChange(Part, frozen=True, kw_only=True):
    """What another fallback threshold, or a real rise of fallbacks, changed."""

    base: float | None
    """The threshold on the base."""
    value: float | None
    """The threshold now."""
    base_ambiguity: float | None = None
    """The ambiguity threshold on the base."""
    ambiguity: float | None = None
    """The ambiguity threshold now."""
    lost: tuple[LessUnderstood, ...] = ()
    """The intents whose sentences are no longer understood, the one with most of them first."""
    newly_wrong: tuple[SimilarSentences, ...] = ()
    """Sentences that ended in a fallback on the base and are answered as a wrong intent now."""

    @property
    def number(self) -> int:
        """How many sentences are no longer understood."""
        return sum(len(less_understood.sentences) for less_understood in self.lost)


class CaseChange(Part, frozen=True, kw_only=True):
    """A case on both sides, or on one (the other side's fields are then ``None``).

    ``edits`` says how the case itself differs: ``edited`` (its text or expectation), ``renamed``, ``moved`` (to another
    file). ``because`` lists the training sentences of this change that explain it best, ``copies`` counts further
    identical cases with the same result.

    ``misunderstood``: it did not pass, but only because of its ``sentences``, which were understood differently than
    written (a story) or than on the base (an end-to-end case); they are also listed for a case that fails anyway.
    """

    name: str
    """The case: a sentence, or the name of a story or a case."""
    location: Location | None
    """Where it is; ``None`` if it is gone."""
    base_location: Location | None
    """Where it was; ``None`` if it is new."""
    passed: bool | None
    """Whether it passes now."""
    base_passed: bool | None
    """Whether it passed before."""
    expected: str = ""
    """What is expected."""
    actual: str = ""
    """The actual result now, if it differs from what is expected."""
    base_actual: str = ""
    """The actual result before, if it differed from what was expected."""
    confidence: float | None = None
    """How sure the engine is now, 0 to 1."""
    remark: str = ""
    """How the engine arrived at it: the policy, the active form."""
    scores: str = ""
    """How sure the policy of a story was, and what it would have done next."""
    edits: tuple[Edit, ...] = ()
    """How the case itself differs from before."""
    edited_in: tuple[str, ...] = ()
    """The files in which it was edited that are not its own: with settings, values or parts that it is read with."""
    because: tuple[TrainingChange, ...] = ()
    """The training sentences of this change that explain it best."""
    copies: int = 0
    """How many further cases are identical and have the same result."""
    misunderstood: bool = False
    """Whether it fails now only because of how its sentences are understood."""
    base_misunderstood: bool = False
    """Whether it failed before only because of that."""
    sentences: tuple[Misunderstanding, ...] = ()
    """The sentences that are understood differently than written, or than on the base."""
    again: str = ""
    """What is known about an end-to-end case if its messages are understood as on the base."""
    said: str = ""
    """What the user said last before an end-to-end case failed."""
    understood: str = ""
    """What ``said`` was understood as: intent and entities."""
    base_understood: str = ""
    """What ``said`` was understood as on the base."""
    copy_of: str = ""
    """The other story that it is now a copy of; empty if it is not a copy, or was one before."""
    rests_on: tuple[str, ...] = ()
    """Names of the project that the wrong steps rest on, here and on the base, the nearest first."""
    causes: tuple[Cause, ...] = ()
    """The changed parts of the project that made it so, together; those that are not proved only have to do with it."""
    repeats: Repeats | UnsetType = UNSET
    """The runs of an end-to-end case, if it was run several times."""
    trace: TraceId | UnsetType = UNSET
    """The trace of the message at which it failed, of a bot over HTTP."""

    @property
    def number(self) -> int:
        """How many cases this one represents."""
        return 1 + self.copies

    @property
    def failed(self) -> bool:
        """Whether it fails by itself now: not passed, and not only misunderstood."""
        return not self.passed and not self.misunderstood

    @property
    def base_failed(self) -> bool:
        """Whether it failed by itself on the base."""
        return self.base_passed is False and not self.base_misunderstood

    @property
    def newly_misunderstood(self) -> bool:
        """Whether it is misunderstood now, and passed on the base or did not exist there."""
        return self.misunderstood and (self.base_passed is None or self.base_passed)


def number_of(cases: Iterable[CaseChange]) -> int:
    """Count cases, each with its copies."""
    return sum(case.number for case in cases)


class ChangedCases(Part, frozen=True, kw_only=True):
    """Cases of one kind, matched by what they are. ``worse`` and ``better`` are the same cases on both sides.

    A story that is only misunderstood ranks between passed and failed: ``worse`` are those that fail by themselves
    now, ``better`` those that pass now, or whose dialogue does; ``misunderstood`` are unchanged and new stories that
    are newly misunderstood.

    ``edited`` holds the pairs that were edited or renamed, whatever their results; ``added_failing`` the ones that fail
    and that the base did not judge (new ones, and those that it has but did not run); ``gone`` the tests that only the
    base has (of sentences only their number is known); ``not_run`` those that the base judged and that still exist,
    but were not run on this side. Worst first. The numbers count all cases, including unchanged ones: on both sides,
    of these in another file, only now, only before.
    """

    worse: tuple[CaseChange, ...] = ()
    """The same cases that passed before and fail by themselves now."""
    better: tuple[CaseChange, ...] = ()
    """The same cases that failed before and pass now, or whose dialogue does."""
    edited: tuple[CaseChange, ...] = ()
    """Cases that were edited or renamed, whatever their results."""
    added_failing: tuple[CaseChange, ...] = ()
    """Cases that fail and that the base did not judge."""
    misunderstood: tuple[CaseChange, ...] = ()
    """Tests that newly fail only because of how their sentences are understood."""
    gone: tuple[CaseChange, ...] = ()
    """Cases that only the base has."""
    not_run: tuple[CaseChange, ...] = ()
    """Cases that the base has results for and this side does not."""
    unknown: tuple[CaseChange, ...] | UnsetType = UNSET
    """Those that fail, and of which the base cannot show whether they did there; left out if there are none."""
    quarantined: tuple[CaseChange, ...] | UnsetType = UNSET
    """Those in quarantine that newly fail, which are in no other list; left out if there are none."""
    shared: int = 0
    """How many cases both sides have."""
    moved: int = 0
    """How many of those are in another file now."""
    added: int = 0
    """How many cases only this side has."""
    removed: int = 0
    """How many cases only the base has."""

    @property
    def became_wrong(self) -> tuple[CaseChange, ...]:
        """The cases on both sides that fail now and did not before: unchanged and edited ones."""
        return (*self.worse, *(case for case in self.edited if case.failed and not case.base_failed))

    @property
    def newly_failing(self) -> tuple[CaseChange, ...]:
        """All cases that fail now and did not before: those on both sides, and new ones."""
        return (*self.became_wrong, *self.added_failing)

    @property
    def unknown_cases(self) -> tuple[CaseChange, ...]:
        """Those that fail, and of which the base cannot show whether they did there."""
        return () if isinstance(self.unknown, UnsetType) else self.unknown

    @property
    def failing_if_repaired(self) -> tuple[CaseChange, ...]:
        """Those of them that fail on the base as well, repaired: another repair might let them pass."""
        return tuple(case for case in self.unknown_cases if case.base_passed is not None)

    @property
    def newly_misunderstood(self) -> tuple[CaseChange, ...]:
        """All cases that are misunderstood now and were not before, edited and new ones included."""
        return (*self.misunderstood, *(case for case in self.edited if case.newly_misunderstood))


class FindingChange(Part, frozen=True, kw_only=True):
    """A finding that is new or gone; ``hint`` says what to do."""

    code: str
    """What kind of finding it is."""
    severity: Literal["error", "warning", "info"]
    """How serious it is."""
    message: str
    """One sentence that names what it is about."""
    location: Location
    """Where it is, or was."""
    hint: str = ""
    """What to do about it."""
    others: tuple[Location, ...] = ()
    """Other places that it contradicts or repeats."""
    message_now: str = ""
    """The message with the current name of anything that this change renamed; empty if it names no such thing."""
    names: tuple[Name, ...] = ()
    """The names that the message has, in its order, where something depends on them."""
    causes: tuple[Cause, ...] = ()
    """The changed parts of the project without which it is gone, together."""


def listed_in(changes: Iterable[FindingChange]) -> Callable[[Finding], bool]:
    """Return whether a finding of a report, as it is shown beside its base, is one of these changes."""
    known = {(change.code, change.message, change.location) for change in changes}
    return lambda finding: (finding.code, finding.message, finding.location) in known


class UnseenChange(Part, frozen=True, kw_only=True):
    """A change of the pipeline or the policies that the engine cannot judge, since it does not read what changed."""

    change: Literal["changed", "added", "removed", "moved", "replaced"]
    """What happened to the parameter or, without one, to the component."""
    component: str
    """The component as the configuration names it."""
    parameter: str = ""
    """The parameter; empty: the component itself."""
    base: str = ""
    """The parameter's value before, as JSON; of a component that replaces another one, the other's name."""
    value: str = ""
    """The parameter's value now, as JSON."""
    location: Location | None
    """Where it is; ``None`` if it is gone."""
    base_location: Location | None = None
    """Where it was; ``None`` if it is new."""


class Named(Part, frozen=True, kw_only=True):
    """An intent or entity, and where it is (if removed: where it was)."""

    name: str
    """What it is called."""
    location: Location | None = None
    """Where it is; if removed, where it was."""


class MisunderstoodSentence(Part, frozen=True, kw_only=True):
    """A sentence of one or more tests that is newly misunderstood, which is the single cause of their failures.

    The tests are stories or end-to-end cases. ``because``: the training sentences that drew it to the wrong intent,
    those of this change first; ``copies``: how many more stories are copies of ``stories``.
    """

    text: str
    """The sentence."""
    location: Location
    """Where it is."""
    expected: str
    """What the stories say, or what was understood on the base."""
    predicted: str
    """What was understood."""
    confidence: float | None = None
    """How sure the engine is of it, 0 to 1."""
    because: tuple[TrainingChange, ...] = ()
    """The training sentences that drew it to the wrong intent, those of this change first."""
    stories: tuple[Named, ...] = ()
    """The stories or end-to-end cases that it keeps from passing."""
    copies: int = 0
    """How many more stories are copies of these."""
    causes: tuple[Cause, ...] = ()
    """The changed parts without which each of these stories or cases passes, if they are proved."""

    @property
    def number(self) -> int:
        """How many stories it keeps from passing."""
        return len(self.stories) + self.copies


class ChangedNames(Part, frozen=True, kw_only=True):
    """What is new, and what is gone."""

    added: tuple[Named, ...] = ()
    """Those that are new."""
    removed: tuple[Named, ...] = ()
    """Those that are gone."""


class NameCount(Part, frozen=True, kw_only=True):
    """A name, and how often it occurs."""

    name: str
    """The name; empty: nothing was found."""
    number: int
    """How often."""


NewlyJudgedKind = Literal["intents", "responses", "entities", "suites"]


class NewlyJudged(Part, frozen=True, kw_only=True):
    """A new intent, response of a retrieval intent, entity or batch suite, and how many of its sentences are right."""

    kind: NewlyJudgedKind
    """What it is."""
    name: str
    """What it is called."""
    location: Location
    """Where its first judged sentence is."""
    judged: int
    """How many of its sentences were judged."""
    right: int
    """How many of them are right; for an entity: in how many exactly the expected spans are found."""
    instead: tuple[NameCount, ...] = ()
    """What was found in the others, the most frequent first."""
    takes: tuple[NameCount, ...] = ()
    """Of an intent: other intents with sentences that were right on the base, and that it takes now."""
    known: bool = False
    """Whether the base has it too, but no sentence that it could judge it by."""
    mostly_wrong: bool = False
    """Whether it is right in too few of its sentences, or takes too many of others."""


class Collision(Part, frozen=True, kw_only=True):
    """Two intents that are now confused with each other more often.

    ``sentences`` are training sentences of this change, ``like`` what they look like: test sentences that are newly
    wrong, or, if the new sentences are the wrong ones themselves, training sentences of the other intent.
    """

    intents: tuple[str, str]
    """The two intents."""
    newly_wrong: int
    """How many sentences of one intent are newly predicted as the other."""
    sentences: tuple[TrainingChange, ...] = ()
    """The training sentences of this change that explain it."""
    like: tuple[SimilarSentences, ...] = ()
    """What those sentences look like."""


_PLACEHOLDER: Final = re.compile(r"\{\w+\}")
ASKED: Final = "bot.request.body."
"""What the names of changes begin with that alter what a bot is asked, not how it is judged."""
OF_MODELS: Final = "models."
"""Likewise for the language models of an assistant that is in the project."""


class SettingChange(Part, frozen=True, kw_only=True):
    """A setting that judges or chooses what is measured, with another value than the baseline's."""

    name: str
    """The setting."""
    base: str
    """Its value in the baseline; empty if it was added."""
    value: str
    """Its value now; empty if it was removed."""
    change: Literal["altered", "added", "removed"] = "altered"
    """What became of it."""

    @property
    def is_asked(self) -> bool:
        """Whether it alters what a bot over HTTP or a language model is asked: its model, prompt or temperature.

        Where what the user says is put judges a bot as well.
        """
        if self.name.startswith(OF_MODELS):
            return True
        same = sorted(_PLACEHOLDER.findall(self.base)) == sorted(_PLACEHOLDER.findall(self.value))
        return self.name.startswith(ASKED) and same

    @property
    def place(self) -> str:
        """The name of what is asked with another value, below what all such names begin with."""
        return self.name.removeprefix(ASKED).removeprefix(OF_MODELS)
