"""Mutants, each the project with one small fault, and the tests that are run on them.

Those are the tests that pass on the original; what each of them reaches says on which mutants it is run.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.evaluations.coverage import Reached, coverage, reached_by_conversations, reached_by_stories
from turncheck.evaluations.e2e.case import CaseRun, run_case
from turncheck.evaluations.nlu.predictions import JudgedSentence
from turncheck.messages.errors import UserError
from turncheck.project.model import CheckpointStep, Project, Story, UserStep
from turncheck.validation.learnable import learnable
from turncheck.validation.pipeline import validate

if TYPE_CHECKING:
    from turncheck.engines.base import Trained, Trains
    from turncheck.engines.conversation import ActionServer, Parse
    from turncheck.messages.finding import Finding, Location
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.nlu_data import Example
    from turncheck.validation.facts import ProjectTests

Kind = Literal["sentence", "story", "case", "validation"]
CASE_RUN: Final = CaseRun()


class Kill(Struct, frozen=True):
    """The test that notices a fault: its kind, its name, and where it is."""

    kind: Kind
    test: str
    location: Location | None


class StoryTest(Struct, frozen=True):
    """Test stories that are judged together (connected by checkpoints), what they reach, and which of them pass."""

    stories: tuple[Story, ...]
    reach: frozenset[str]
    passing: frozenset[tuple[str, Location]]

    def kill(self, trained: Trained, server: ActionServer) -> Kill | None:  # noqa: ARG002 - stories run no action
        """Return the first story that passes on the original and not here."""
        for name, location, outcome in outcomes_of_stories(trained, self.stories):
            if outcome != "passed" and (name, location) in self.passing:
                return Kill("sentence" if outcome == "misunderstood" else "story", name, location)
        return None


class CaseTest(Struct, frozen=True):
    """An end-to-end case that passes on the original, and what it reaches."""

    case: E2ECase
    reach: frozenset[str]

    def kill(self, trained: Trained, server: ActionServer) -> Kill | None:
        """Return the case if it fails here. A case that lacks an action proves nothing."""
        engine = trained.engine(server)
        outcome = "failed" if engine is None else run_case(engine, self.case, CASE_RUN, 0).result.outcome
        return Kill("case", self.case.name, self.case.location) if outcome in {"failed", "error"} else None


class MutationRunner(Struct, frozen=True):
    """What can notice a fault: held-out sentences, stories and cases that pass on the original, and validation.

    ``unwalked``: the places of rules and stories that no test walks along.
    """

    sentences: tuple[Example, ...]
    stories: tuple[StoryTest, ...]
    cases: tuple[CaseTest, ...]
    tests: ProjectTests
    findings: frozenset[tuple[str, Location, str]]
    server: ActionServer
    unwalked: frozenset[Location] = frozenset()


def make_bench(original: Trained, tests: ProjectTests, server: ActionServer | None = None) -> MutationRunner:
    """Run the tests on the original, and keep those that pass."""
    server = server or NoActionServer()
    sentences: tuple[Example, ...] = ()
    if original.nlu is not None:
        parses = original.nlu.parse([example.text for example in tests.examples])
        sentences = tuple(
            example for example, parse in zip(tests.examples, parses, strict=True) if _is_right(example, parse)
        )
    stories = []
    for joined in _joined([story for story in tests.stories if story.kind == "story"]):
        outcomes = outcomes_of_stories(original, joined)
        passing = frozenset((name, location) for name, location, outcome in outcomes if outcome == "passed")
        if passing:
            stories.append(StoryTest(joined, labels(reached_by_stories(joined)), passing))
    cases = []
    reached = reached_by_stories(tests.stories)
    engine = original.engine(server)
    for case in tests.cases if engine is not None else ():
        if case.expects_nothing or engine is None:
            continue
        outcome = run_case(engine, case, CASE_RUN, 0)
        if outcome.result.outcome == "passed":
            came_by = reached_by_conversations(outcome.exercised.by_kind())
            reached |= came_by
            cases.append(CaseTest(case, labels(came_by)))
    items = coverage(original.project, reached, {})
    unwalked = frozenset(
        item.location for kind in ("stories", "rules") for item in items[kind].items if not item.covered
    )
    findings = found_in(original.project, tests)
    return MutationRunner(sentences, tuple(stories), tuple(cases), tests, findings, server, unwalked)


def found_in(project: Project, tests: ProjectTests) -> frozenset[tuple[str, Location, str]]:
    """Return the errors and warnings that validation finds."""
    return frozenset(map(_finding, _noticed(project, tests)))


def new_finding(bench: MutationRunner, project: Project) -> Finding | None:
    """Return the first error or warning that the original does not have."""
    return next(
        (finding for finding in _noticed(project, bench.tests) if _finding(finding) not in bench.findings), None
    )


def _noticed(project: Project, tests: ProjectTests) -> list[Finding]:
    findings = validate(project, tests=tests).findings
    return [finding for finding in findings if finding.severity in {"error", "warning"}]


def _finding(finding: Finding) -> tuple[str, Location, str]:
    return finding.code, finding.location, finding.message


def sentence_kill(bench: MutationRunner, trained: Trained, touched: frozenset[str]) -> Kill | None:
    """Return the first held-out sentence that is right on the original and wrong here; touched labels come first."""
    if trained.nlu is None:
        return None
    parses = trained.nlu.parse([example.text for example in bench.sentences])
    wrong = [example for example, parse in zip(bench.sentences, parses, strict=True) if not _is_right(example, parse)]
    wrong.sort(key=lambda example: f"intent {example.base_intent}" not in touched)
    return Kill("sentence", wrong[0].text, wrong[0].location) if wrong else None


def _is_right(example: Example, parse: Parse) -> bool:
    """Whether intent, entities and the chosen response are as annotated."""
    if not JudgedSentence(example, parse).correct:
        return False
    wanted = {
        (entity.start, entity.end, entity.entity, entity.role, entity.group, str(entity.value))
        for entity in example.entities
    }
    found = {
        (entity.start, entity.end, entity.entity, entity.role, entity.group, str(entity.value))
        for entity in parse.entities
    }
    if example.retrieval_label is not None:
        chosen = {response.intent_response_key for response in parse.responses.values()}
        return wanted <= found and example.retrieval_label in chosen
    return wanted <= found


def outcomes_of_stories(trained: Trained, stories: Sequence[Story]) -> list[tuple[str, Location, str]]:
    """Return name, place and outcome of each test story."""
    ensemble, project = trained.ensemble, trained.project
    if ensemble is None:
        return [(story.name, story.location, "failed") for story in stories]
    says = any(isinstance(step, UserStep) and step.text for story in stories for step in story.steps)
    generated = "nlg" in project.endpoints
    try:
        core = evaluate_stories(
            ensemble,
            stories,
            nlu=trained.nlu if says else None,
            end_to_end=True,
            shows=lambda action: ensemble.domain.shows_something(action, generated=generated),
            known=learnable(project),
        )
    except UserError:
        return [(story.name, story.location, "failed") for story in stories]
    return [(story.name, story.location, story.outcome) for story in core.stories]


def _joined(stories: Sequence[Story]) -> list[tuple[Story, ...]]:
    """Group the stories: each by itself, except those that checkpoints may connect."""
    joined = tuple(story for story in stories if any(isinstance(step, CheckpointStep) for step in story.steps))
    alone: list[tuple[Story, ...]] = [(story,) for story in stories if story not in joined]
    return [*alone, joined] if joined else alone


def labels(reached: Reached) -> frozenset[str]:
    """Return what is reached, in the same notation as :attr:`Mutant.touched`."""
    named = {
        "entity": reached.entities,
        "action": reached.actions,
        "slot": reached.slots,
        "form": reached.forms,
        "intent": {name.partition("/")[0] for name in reached.intents},
    }
    return frozenset(f"{kind} {name}" for kind, names in named.items() for name in names)


Lines = Mapping[str, Collection[int]]
"""Line numbers by file, as locations name it."""


class Operator(Struct, frozen=True):
    """A kind of fault. ``kind``: the part of a project in which it is made; ``reason``: why people make it."""

    name: str
    kind: str
    trains: Trains
    what: str
    reason: str
    steps: frozenset[str] | None = None
    """The kinds of pipeline steps that are trained on what was changed; ``None``: all of them."""


class Mutant(Struct, frozen=True):
    """The project with one fault.

    ``what`` describes the fault; ``location`` is the line that is removed or altered, ``places`` are all such lines.
    ``touched`` names the intents, entities, actions, slots and forms that it concerns.
    """

    operator: Operator
    what: str
    location: Location
    project: Project
    touched: frozenset[str] = frozenset()
    places: tuple[Location, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """What identifies it, whatever else is in the project."""
        return self.operator.name, str(self.location), self.what

    def trained(self, original: Trained) -> Trained:
        """Train the parts that the operator names; everything else is the original's.

        Raises:
            UserError: the mutant cannot be trained.
        """
        return original.variant(self.project, self.operator.trains, self.operator.steps)


def is_changed(location: Location, changed: Lines) -> bool:
    """Whether a place is on one of these lines."""
    return location.line in changed.get(location.path, ())


OPERATORS: Final[tuple[Operator, ...]] = (
    Operator(
        "drop-intent", "sentences", "nlu", "all training sentences of an intent are removed",
        "a block is lost in a merge, or its heading is misspelt",
    ),
    Operator(
        "cut-intent", "sentences", "nlu", "an intent keeps only two of its training sentences",
        "an intent is added in a hurry, or sentences are moved away from it",
    ),
    Operator(
        "drop-annotation", "sentences", "nlu", "the annotation of one entity in one sentence is removed",
        "sentences are pasted from logs without their annotations",
    ),
    Operator(
        "drop-entity", "sentences", "nlu", "all annotations of an entity are removed",
        "an export or a conversion loses the annotations of one entity",
    ),
    Operator(
        "rename-role", "sentences", "nlu", "a role of an entity is renamed in the training sentences",
        "a role is renamed in the domain, and not in the sentences",
    ),
    Operator(
        "drop-synonym", "sentences", "nlu", "a synonym is removed",
        "a value is renamed, and its synonyms are forgotten", frozenset({"EntitySynonymMapper"}),
    ),
    Operator(
        "drop-lookup", "sentences", "nlu", "a lookup table is removed",
        "a table is moved to a file that is not read",
    ),
    Operator("drop-regex", "sentences", "nlu", "a regular expression is removed", "its name no longer fits its entity"),
    Operator(
        "replace-response", "responses", "nothing", "the text of a response is replaced",
        "the wrong text is pasted, or a placeholder text is left in",
    ),
    Operator(
        "swap-responses", "responses", "nothing", "two responses swap their texts",
        "texts are sorted or translated, and two get mixed up",
    ),
    Operator(
        "drop-step", "stories", "policies", "an action, a message, a slot or a loop of a rule or story is removed",
        "a line is lost while a story is edited",
    ),
    Operator(
        "swap-steps", "stories", "policies", "two consecutive actions are swapped",
        "steps are written down in the wrong order",
    ),
    Operator(
        "drop-rule-condition", "stories", "policies", "the condition of a rule is removed",
        "a rule is copied, and its condition is not",
    ),
    Operator(
        "rename-slot-value", "stories", "policies", "the value of a slot in a story or rule is changed",
        "a value is renamed in the domain, and not in the stories",
    ),
    Operator(
        "drop-mapping", "slots", "policies", "a mapping of a slot is removed",
        "a slot is given a second mapping, and the first is replaced by it",
    ),
    Operator(
        "drop-mapping-condition", "slots", "policies", "the conditions of a slot mapping are removed",
        "a mapping is copied to another form, and its conditions are not",
    ),
    Operator(
        "rename-category", "slots", "policies", "a value of a categorical slot is renamed",
        "a value is renamed in only one of several places",
    ),
    Operator(
        "drop-response-condition", "responses", "nothing", "the condition of a response variation is removed",
        "a variation is copied, and its condition is not",
    ),
    Operator(
        "drop-required-slot", "forms", "nothing", "a form no longer asks for a slot",
        "a question is dropped although its answer is still needed",
    ),
    Operator(
        "move-nlu-threshold", "config", "nlu", "a threshold of the pipeline is moved halfway to 1, or halved",
        "thresholds are tuned by trial and error", frozenset({"FallbackClassifier"}),
    ),
    Operator(
        "move-policy-threshold", "config", "policies", "a threshold of a policy is moved halfway to 1, or halved",
        "thresholds are tuned by trial and error",
    ),
    Operator(
        "drop-component", "config", "nlu", "a component of the pipeline is removed",
        "a pipeline is replaced by one that somebody recommends",
    ),
    Operator("drop-policy", "config", "policies", "a policy is removed", "policies are tidied up"),
)  # fmt: skip
"""All operators, in the order in which the manual lists them."""

BY_NAME: Final = {operator.name: operator for operator in OPERATORS}
