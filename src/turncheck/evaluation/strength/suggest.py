"""The tests to write next: cases along rules and stories that kill survivors, and sentences that are missing."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from turncheck.engines.action_server.server import NoActionServer
from turncheck.evaluation.e2e import run_case
from turncheck.evaluation.neighbours import find_neighbours
from turncheck.evaluation.strength.bench import CASE_RUN, CaseTest
from turncheck.evaluation.strength.candidates import Candidate, candidates_of, examples_of
from turncheck.evaluation.strength.mutants import mutants_of
from turncheck.messages.errors import UserError
from turncheck.project.e2e.cases import read_cases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.evaluation.strength.assistant import Trained, Workshop
    from turncheck.evaluation.strength.mutant import Mutant
    from turncheck.project.model import Project
    from turncheck.project.nlu_data import Example
    from turncheck.report.model import MutantResult, Strength
    from turncheck.validation.project_tests import ProjectTests

REVIEW: Final = "To be reviewed: what is expected is what the assistant does now. Is it what it should do?"
_TRIED: Final = 6
"""So many candidates are tried on one survivor."""
_CONFUSABLE: Final = 3


@dataclass(slots=True)
class Suggestion:
    """A case that passes now, and the faults that it would notice."""

    candidate: Candidate
    kills: list[MutantResult] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SentenceTask:
    """An intent that no test sentence has, and the sentences of others that are nearest to its own."""

    intent: str
    near: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What to write next, the most telling first; ``left``: survivors that no suggestion notices."""

    cases: tuple[Suggestion, ...]
    tasks: tuple[SentenceTask, ...]
    left: tuple[MutantResult, ...]


def suggest(project: Project, workshop: Workshop, tests: ProjectTests, strength: Strength, seed: int) -> Suggestions:
    """Return cases that pass on the project, each of which kills a survivor, and the sentences that are missing.

    Every case is run on the project and on the mutants that it names.

    Raises:
        UserError: the project cannot be trained.
    """
    original = workshop.original(project)
    mutants = {(one.operator.name, one.what, one.location): one for one in mutants_of(project, seed)}
    candidates = candidates_of(original, [case.name for case in tests.cases])
    runnable = {id(one): test for one in candidates if (test := _passing(one, original)) is not None}
    chosen: dict[int, Suggestion] = {}
    left = []
    for survivor in (one for one in strength.mutants if one.outcome == "survived"):
        mutant = mutants.get((survivor.operator, survivor.what, survivor.location))
        killer = None if mutant is None else _killer(mutant, candidates, runnable, chosen, (workshop, original))
        if killer is None:
            left.append(survivor)
        else:
            chosen.setdefault(id(killer), Suggestion(killer)).kills.append(survivor)
    ordered = sorted(chosen.values(), key=lambda one: (-len(one.kills), one.candidate.name))
    return Suggestions(tuple(ordered), _tasks(project, tests.examples), tuple(left))


def _passing(candidate: Candidate, original: Trained) -> CaseTest | None:
    """Return the candidate as a case that was read and passes, else ``None``."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.yml"
        path.write_text(cases_text([Suggestion(candidate)]), encoding="utf-8")
        read = read_cases(Path(folder), [path])
    engine = original.engine(NoActionServer())
    if engine is None or len(read.cases) != 1 or any(one.severity == "error" for one in read.findings):
        return None
    if run_case(engine, read.cases[0], CASE_RUN, 0).result.outcome != "passed":
        return None
    return CaseTest(read.cases[0], candidate.touched)


def _killer(
    mutant: Mutant,
    candidates: Sequence[Candidate],
    runnable: dict[int, CaseTest],
    chosen: dict[int, Suggestion],
    made: tuple[Workshop, Trained],
) -> Candidate | None:
    """Return a candidate that kills a mutant, one that is chosen already before the others."""
    workshop, original = made
    touching = [one for one in candidates if id(one) in runnable and one.touched & mutant.touched]
    touching.sort(
        key=lambda one: (one.location != mutant.location, id(one) not in chosen, -len(one.touched & mutant.touched))
    )
    if not touching:
        return None
    try:
        trained = workshop.mutated(original, mutant)
    except UserError:
        return None
    server = NoActionServer()
    return next((one for one in touching[:_TRIED] if runnable[id(one)].kill(trained, server) is not None), None)


def _tasks(project: Project, held_out: Sequence[Example]) -> tuple[SentenceTask, ...]:
    tested = {example.base_intent for example in held_out}
    every = project.nlu.examples
    tasks = []
    for intent, examples in examples_of(project).items():
        if intent in tested:
            continue
        texts = {number: example.text for number, example in enumerate(examples)}
        found = find_neighbours(every, texts, lambda _, index, own=intent: every[index].base_intent != own)  # type: ignore[misc]
        near = sorted(
            {
                (-like, every[index].text, every[index].base_intent or "")
                for one in found.values()
                for index, like in one
            }
        )
        tasks.append(SentenceTask(intent, tuple((text, other) for _, text, other in near[:_CONFUSABLE])))
    return tuple(tasks)


def cases_text(suggestions: Sequence[Suggestion]) -> str:
    """Return suggested cases as a file of end-to-end cases, each with what it would notice."""
    lines = [f"# {REVIEW}"]
    fixtures = [
        {one.candidate.name: [{name: value} for name, value in one.candidate.slots.items()]}
        for one in suggestions
        if one.candidate.slots
    ]
    if fixtures:
        lines.append(_yaml({"fixtures": fixtures}))
    lines.append("test_cases:")
    for one in suggestions:
        lines += [f"  # Would notice: {' '.join(str(kill.what).split())} ({kill.location})" for kill in one.kills]
        lines += [f"  {line}" for line in _yaml([one.candidate.shape]).splitlines()]
    return "\n".join(lines) + "\n"


def tasks_text(tasks: Sequence[SentenceTask]) -> str:
    """Return the sentences that are missing as a file to be filled in."""
    lines = [
        "# No test sentence has these intents. Write what users really say, nothing of the training data; then rename",
        "# the file to test_nlu.yml. Beside each are sentences of other intents that it is easily confused with.",
        'version: "3.1"',
        "nlu:",
    ]
    for task in tasks:
        lines.append(f"- intent: {_yaml(task.intent).splitlines()[0]}")
        lines += [f"  # near: {' '.join(text.split())} ({other})" for text, other in task.near]
        lines += ["  examples: |", "    - …"]
    return "\n".join(lines) + "\n"


def _yaml(content: Any) -> str:
    return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False, width=10_000)).rstrip()
