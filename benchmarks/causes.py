"""How well the causes of failing tests are found, and what it takes: faults of every kind, hidden among harmless edits.

    python benchmarks/causes.py [--faults 60] [--pairs 20] [--repairs 20] [--bots FOLDER ...]

A fault that tests notice is made in a copy of a bot (`turncheck test strength` has the kinds), together with twenty
unrelated harmless edits; the tests that fail then are explained as `turncheck run` does. A fault is found if a part of
it is named and no other part is; of a pair of faults, a part of each must be named. A repair is a fault that the change
takes away, where the edits alone change nothing.
Prints a Markdown table for each sort; ends with 1 if fewer are found than `LEAST` says, or any wrong part is named.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from turncheck.causes.parts import Changes, changes_between
from turncheck.causes.search import search
from turncheck.causes.trials import Laboratory
from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.engines.action_server.server import NoActionServer
from turncheck.engines.embedded.engines import engine_of
from turncheck.evaluations.core.judging import evaluate_stories
from turncheck.evaluations.e2e.case import CaseRun
from turncheck.evaluations.e2e.judging import evaluate_cases
from turncheck.evaluations.strength.faults import mutants_of
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.process.one_thread import one_thread
from turncheck.project import model
from turncheck.project.config import refused
from turncheck.project.e2e.cases import read_cases
from turncheck.project.nlu_data import Example, Lookup, Regex, Synonym
from turncheck.report.model import Source
from turncheck.run.causes import asked_tests, budget_for
from turncheck.run.reading import Tests, read_configured, read_tests
from turncheck.run.report_of import project_info, report_of
from turncheck.settings.options import Settings
from turncheck.validation.learnable import learnable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.engines.base import Trained, VariantTrainer
    from turncheck.evaluations.strength.bench import Mutant
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project
    from turncheck.report.model import Report

ROOT: Final = Path(__file__).parents[1]
OF_ORACLE: Final = ROOT / "tests" / "oracle" / "conversations"
BOTS: Final = (
    ROOT / "examples" / "pizzeria",
    ROOT / "examples" / "clinic",
    OF_ORACLE / "form_interrupt_rules" / "project",
    OF_ORACLE / "slots_influence" / "project",
    OF_ORACLE / "or_checkpoints" / "project",
)
LEAST: Final = {"faults": 58 / 60, "pairs": 16 / 20, "repairs": 1.0}
EDITS: Final = 20
SEED: Final = 42
RENAMED: Final = ", renamed"
FOLDS: Final = 5
NOWHERE: Final = Location("data/more.yml", 1, 1)
Named = frozenset[tuple[str, str]]


class Bot(NamedTuple):
    """A bot, trained, and its tests."""

    name: str
    project: Project
    tests: Tests
    cases: tuple[E2ECase, ...]
    workshop: VariantTrainer
    trained: Trained
    report: Report


class Found(NamedTuple):
    """What came of one fault or of two: the parts of each, the parts that were named, work and seconds."""

    bot: str
    what: str
    faults: tuple[Named, ...]
    named: Named
    spent: int
    seconds: float

    @property
    def own(self) -> Named:
        """The parts of all its faults."""
        return frozenset().union(*self.faults)

    @property
    def is_wrong(self) -> bool:
        """Whether a part is named that is not a fault's."""
        return bool(self.named - self.own)

    @property
    def is_right(self) -> bool:
        """Whether a part of each fault is named and no other."""
        return not self.is_wrong and all(self.named & fault for fault in self.faults)


def read(folder: Path) -> Bot:
    """Read a bot, train it, and run its tests."""
    settings = Settings(project=str(folder))
    project, tests = in_order(read_configured(settings)), read_tests(settings)
    cases = read_cases(project.root, tests.e2e).cases if tests.e2e else ()
    workshop = engine_of(settings, project, {}).workshop(SEED)
    name = folder.parent.name if folder.name == "project" else folder.name
    bot = Bot(
        name, project, tests, tuple(cases), workshop, workshop.trained(project), report_of(project_info(project), SEED)
    )
    return bot._replace(report=measured(bot, bot.trained))


def in_order(project: Project) -> Project:
    """Return a project in the order in which faults are made, so that an edit is the same beside each of them."""
    return dataclasses.replace(
        project,
        nlu=project.nlu.in_order(),
        stories=model.in_order_of_names(project.stories),
        rules=model.in_order_of_names(project.rules),
    )


def measured(bot: Bot, trained: Trained) -> Report:
    """Run the tests on a trained variant of a bot."""
    ensemble, project = trained.ensemble, trained.project
    if ensemble is None:
        raise UserError("nothing to learn from")
    core = evaluate_stories(
        ensemble,
        bot.tests.stories,
        nlu=trained.nlu,
        end_to_end=True,
        shows=ensemble.domain.shows_something,
        known=learnable(project),
    )
    engine = trained.engine(NoActionServer())
    e2e = evaluate_cases(engine, bot.cases, CaseRun()) if bot.cases else None
    source = Source(commit="0" * 39 + "1")
    return report_of(project_info(project), SEED, source=source, core=core, e2e=e2e)


# Harmless edits: what people do beside the change that matters.


def harmless(project: Project, chance: random.Random) -> Iterator[Callable[[Project], Project]]:
    """Yield unrelated edits, none of which any test should notice."""
    intents = sorted({example.intent for example in project.nlu.examples if example.intent and not example.entities})
    chance.shuffle(intents)
    for intent in intents[:6]:
        yield lambda p, intent=intent: _more_sentences(p, intent)  # type: ignore[misc]
    for number in range(3):
        yield lambda p, n=number: _in_domain(p, "responses", _response(f"utter_more_{n}"))  # type: ignore[misc]
        yield lambda p, n=number: _in_domain(p, "actions", model.Action(f"action_more_{n}", NOWHERE))  # type: ignore[misc]
        yield lambda p, n=number: _in_domain(p, "entities", model.Entity(f"more_{n}", NOWHERE))  # type: ignore[misc]
    yield lambda p: _in_domain(p, "slots", model.Slot("more", "text", NOWHERE, influence_conversation=False))
    yield lambda p: _in_nlu(p, synonyms=(*p.nlu.synonyms, Synonym("zebra", "stripy horse", NOWHERE)))
    yield lambda p: _in_nlu(p, regexes=(*p.nlu.regexes, Regex("zebra", "zebras?", NOWHERE)))
    yield lambda p: _in_nlu(p, lookups=(*p.nlu.lookups, Lookup("animals", ("zebra", "okapi"), NOWHERE)))
    for response in sorted(project.domain.responses)[:4]:
        yield lambda p, r=response: _in_domain(p, "responses", _twice(p, r))  # type: ignore[misc]
    for number, story in enumerate(project.stories[:4]):
        yield lambda p, s=story, n=number: _called(p, s, f"{s.name}{RENAMED} {n}")  # type: ignore[misc]


def _more_sentences(project: Project, intent: str) -> Project:
    known = next((one for one in project.nlu.examples if one.intent == intent and not one.entities), None)
    if known is None:
        return project
    return _in_nlu(project, examples=(*project.nlu.examples, Example(f"{known.text} please", intent)))


def _response(name: str) -> model.Response:
    return model.Response(name, (model.ResponseVariation({"text": name}, NOWHERE),), NOWHERE)


def _twice(project: Project, name: str) -> model.Response:
    response = project.domain.responses.get(name) or _response(name)
    return replace(response, variations=(*response.variations, response.variations[-1]))


def _called(project: Project, story: model.Story, name: str) -> Project:
    stories = tuple(replace(one, name=name) if one.name == story.name else one for one in project.stories)
    return dataclasses.replace(project, stories=stories)


def _in_domain(project: Project, group: str, item: Any) -> Project:
    items = {**getattr(project.domain, group), item.name: item}
    return dataclasses.replace(project, domain=replace(project.domain, **{group: items}))


def _in_nlu(project: Project, **parts: Any) -> Project:
    return dataclasses.replace(project, nlu=replace(project.nlu, **parts))


def edited(bot: Bot, project: Project, seed: str) -> Project:
    """Return a project with harmless edits: sentences that change a test, by themselves or together, are left out."""
    chance = random.Random(seed)
    edits = list(harmless(bot.project, chance))
    numbers = chance.sample(range(len(edits)), min(EDITS, len(edits)))
    chosen = [edits[number] for number in sorted(numbers, reverse=True)]  # sentences last
    chosen = [edit for edit in chosen if _is_harmless_alone(bot, edit)]
    while not _is_harmless(bot, chosen):
        chosen = chosen[:-1]
    for edit in chosen:
        project = edit(project)
    return project


def _is_harmless_alone(bot: Bot, edit: Callable[[Project], Project]) -> bool:
    key = bot.name, parts_of(bot.project, edit(bot.project))
    if key not in _ALONE:
        _ALONE[key] = _is_harmless(bot, [edit])
    return _ALONE[key]


_ALONE: Final[dict[tuple[str, Named], bool]] = {}


def _is_harmless(bot: Bot, edits: Sequence[Callable[[Project], Project]]) -> bool:
    project = bot.project
    for edit in edits:
        project = edit(project)
    with one_thread():
        after = measured(bot, bot.workshop.trained(project))
    comparison = compare(replace(after, source=Source(commit="0" * 39 + "2")), Present(bot.report, "git"))
    return not list(asked_tests(comparison, bot.tests.stories))


# Explaining.


def explained(
    bot: Bot, base: tuple[Project, Report], head: Project, what: str, faults: tuple[Named, ...]
) -> Found | None:
    """Return what is named for the tests that changed between two states; ``None`` if none did."""
    with one_thread():
        trained = bot.workshop.trained(head)
    after = measured(bot, trained)
    comparison = compare(replace(after, source=Source(commit="0" * 39 + "2")), Present(base[1], "git"))
    asked = list(asked_tests(comparison, bot.tests.stories))
    if not asked:
        return None
    changes = changes_between(base[0], head)
    begin = time.process_time()
    laboratory = Laboratory(changes, trained, asked, bot.tests.stories, bot.cases, NoActionServer(), CaseRun())
    found = search(laboratory.trials(), budget_for(len(head.nlu.examples), FOLDS, trained.size))
    seconds = time.process_time() - begin
    named = names(changes, itertools.chain.from_iterable(found.causes.values()))
    return Found(bot.name, what, faults, named, found.spent, seconds)


def names(changes: Changes, numbers: Iterator[int]) -> Named:
    """Return kind and name of parts."""
    parts = (changes.parts[number] for number in numbers)
    return frozenset((part.kind, part.name.partition(RENAMED)[0]) for part in parts)


def parts_of(base: Project, head: Project) -> Named:
    """Return all parts in which two states differ."""
    changes = changes_between(base, head)
    return names(changes, iter(range(len(changes.parts))))


def mixed(mutants: Sequence[Mutant]) -> list[Mutant]:
    """Return the mutants so that every kind of fault has its turn."""
    by_operator: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        by_operator.setdefault(mutant.operator.name, []).append(mutant)
    turns = itertools.zip_longest(*by_operator.values())
    return [mutant for turn in turns for mutant in turn if mutant is not None]


def both(bot: Bot, one: Mutant, other: Mutant) -> Project:
    """Return a project with two faults."""
    own = parts_of(bot.project, other.project)
    changes = changes_between(other.project, one.project)
    taken = [number for number, part in enumerate(changes.parts) if (part.kind, part.name) in own]
    return changes.without(taken)


def tried(bot: Bot, sort: str, most: int) -> Iterator[Found]:
    """Yield what is found for so many faults of a bot that its tests notice."""
    mutants = mixed(mutants_of(bot.project, SEED))
    number = 0
    for place, mutant in enumerate(mutants):
        if number >= most:
            return
        seed = f"{bot.name}/{place}"
        own, what = parts_of(bot.project, mutant.project), mutant.what
        faults: tuple[Named, ...] = (own,)
        try:
            if sort == "repairs":
                if any(True for _ in refused(mutant.project)) or not _each_is_noticed(bot, mutant):
                    continue  # Rasa would not train such a base: a run has no results of it
                base = mutant.project
                before = measured(bot, mutant.trained(bot.trained))
                if not _is_unrepaired(bot, before, edited(bot, base, seed)):
                    continue
                head = edited(bot, bot.project, seed)
            elif sort == "pairs":
                other = mutants[(place + len(mutants) // 2) % len(mutants)]
                theirs = parts_of(bot.project, other.project)
                if own & theirs:
                    continue
                if not _each_is_noticed(bot, mutant, other):
                    continue
                base, before, head = bot.project, bot.report, edited(bot, both(bot, mutant, other), seed)
                faults, what = (own, theirs), f"{what}; {other.what}"
            else:
                if not _each_is_noticed(bot, mutant):
                    continue
                base, before, head = bot.project, bot.report, edited(bot, mutant.project, seed)
            found = explained(bot, (base, before), head, what, faults)
        except UserError:
            continue  # it cannot be trained: no test says anything about it
        if found is not None:
            number += 1
            yield found


def _is_unrepaired(bot: Bot, before: Report, project: Project) -> bool:
    """Whether every test ends as before, with the harmless edits and without the repair."""
    with one_thread():
        after = measured(bot, bot.workshop.trained(project))
    comparison = compare(replace(after, source=Source(commit="0" * 39 + "2")), Present(before, "git"))
    return not list(asked_tests(comparison, bot.tests.stories))


def _each_is_noticed(bot: Bot, *mutants: Mutant) -> bool:
    """Whether each of the faults changes the result of a test by itself."""
    reports = [measured(bot, mutant.trained(bot.trained)) for mutant in mutants]
    compared = [
        compare(replace(one, source=Source(commit="0" * 39 + "2")), Present(bot.report, "git")) for one in reports
    ]
    return all(list(asked_tests(one, bot.tests.stories)) for one in compared)


def main() -> int:
    """Try, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for sort, number in (("faults", 60), ("pairs", 20), ("repairs", 20)):
        parser.add_argument(f"--{sort}", type=int, default=number)
    parser.add_argument("--bots", type=Path, nargs="*", default=BOTS)
    given = parser.parse_args()
    bots = [read(folder) for folder in given.bots]
    good = True
    for sort, least in LEAST.items():
        most = -(-getattr(given, sort) // len(bots))
        found = []
        for bot in bots:
            for one in tried(bot, sort, most):
                found.append(one)
                if not one.is_right:
                    named = sorted(one.named) or "nothing"
                    print(f"- {sort} of {bot.name}: {one.what}: named {named}, not {sorted(one.own)}", flush=True)
            print(f"- {sort} of {bot.name}: {sum(one.bot == bot.name for one in found)}", flush=True)
        if not found:
            continue
        right = sum(one.is_right for one in found)
        wrong = sum(one.is_wrong for one in found)
        print(f"\n{sort}: {right} of {len(found)} named, {wrong} with a wrong part")
        seconds = sorted(one.seconds for one in found)
        work = max(one.spent for one in found)
        print(
            f"median {seconds[len(seconds) // 2]:.1f} s, most {seconds[-1]:.1f} s of CPU; most work {work:,}\n",
            flush=True,
        )
        good &= right >= least * len(found) and not wrong
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
