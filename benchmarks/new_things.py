"""Whether new things are judged by what they are: 20 good and 20 bad ones, of five kinds in five bots.

    python benchmarks/new_things.py [KIND ...]

An intent, a dialog of a Kore.ai assistant, a batch suite, a key of a retrieval intent or an entity is added to a bot.
Good ones have sentences of their own; bad ones repeat what belongs to others. The title has to warn of the bad ones by
name, and of none of the good ones. Prints a table; ends with 1 if any is judged wrongly.
"""

from __future__ import annotations

import dataclasses
import random
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec.structs import replace

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.engines.embedded.engines import engine_of
from turncheck.evaluations.batch.suites import SuiteRun, evaluate_suites
from turncheck.evaluations.nlu.judging import cross_validate
from turncheck.messages.finding import Location
from turncheck.process.screen import Console
from turncheck.project.batch.known import known_names
from turncheck.project.batch.model import Suite, SuiteCase
from turncheck.project.model import Intent, Response, ResponseVariation
from turncheck.project.nlu_data import EntityAnnotation, Example
from turncheck.render.wording.gates import judge
from turncheck.report.model import GateSettings, Source
from turncheck.run.reading import read_configured
from turncheck.run.report_of import project_info, report_of
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.project.model import Project
    from turncheck.report.model import Report

ROOT: Final = Path(__file__).parents[1]
OF_ORACLE: Final = ROOT / "tests" / "oracle" / "nlu"
BOTS: Final = {
    "pizzeria": ROOT / "examples" / "pizzeria",
    "clinic": ROOT / "examples" / "clinic",
    "workshop": ROOT / "examples" / "bike_workshop",
    "answers": OF_ORACLE / "response_selector" / "project",
    "travel": OF_ORACLE / "lr_crf_travel" / "project",
}
Kind = Literal["intent", "dialog", "suite", "response", "entity"]
WHERE: Final[dict[Kind, tuple[str, ...]]] = {
    "intent": ("pizzeria", "clinic", "travel", "answers"),
    "dialog": ("workshop", "workshop", "workshop", "workshop"),
    "suite": ("pizzeria", "clinic", "workshop", "travel"),
    "response": ("clinic", "clinic", "answers", "answers"),
    "entity": ("pizzeria", "clinic", "travel", "travel"),
}
"""The bots that get something of each kind, four times good and four times bad."""
FRAMES: Final = (
    "i lost my umbrella {}",
    "do you sell gift vouchers {}",
    "may my dog sleep {}",
    "who painted the picture {}",
)
PLACES: Final = (
    "at the door", "on the first floor", "near the window", "behind the desk", "under the stairs", "in the garden",
    "beside the lift", "upstairs", "outside", "in the hall",
)  # fmt: skip
STREETS: Final = ("oak", "elm", "mill", "castle", "church", "river", "station", "garden", "bridge", "market")
NUMBER: Final = 10
SEED: Final = 42
FOLDS: Final = 5
NAME: Final = "something_new"
WARNS: Final = frozenset({"a new intent is mostly misunderstood", "what is new is mostly wrong"})


class Bot(NamedTuple):
    """A bot, and the report of it that changes are compared with."""

    project: Project
    settings: Settings
    report: Report


def read(folder: Path) -> Bot:
    """Read a bot and measure it; suites that it has stay unasked."""
    settings = Settings(project=str(folder))
    project = read_configured(settings)
    return Bot(project, settings, measured(project, settings, "1"))


def measured(project: Project, settings: Settings, commit: str, suites: Sequence[Suite] = ()) -> Report:
    """Cross-validate a project, and judge suites by it."""
    engine = engine_of(settings, project, {})
    nlu = cross_validate(project, engine.nlu_trainer, folds=FOLDS, seed=SEED)
    batch = evaluate_suites(engine, suites, SuiteRun(known_names(project)), Console()) if suites else None
    source = Source(commit=commit.zfill(40))
    return report_of(project_info(project), SEED, source=source, engine=nlu.engine, nlu=nlu.section, batch=batch)


# What is added: sentences of their own, or those of others.


def own(turn: int) -> list[str]:
    """Sentences like no others."""
    return [FRAMES[turn].format(place) for place in PLACES]


def of_others(project: Project, chance: random.Random, *, key_of: str = "") -> list[tuple[str, str]]:
    """Sentences of several intents, or of several keys of a retrieval intent, in turn, that only end otherwise."""
    by_intent: dict[str, list[Example]] = defaultdict(list)
    for example in project.nlu.examples:
        intent = example.intent or ""
        if intent and intent.startswith(key_of):
            by_intent[intent].append(example)
    groups = [chance.sample(examples, len(examples)) for _, examples in sorted(by_intent.items())]
    turns = [group[turn] for turn in range(max(map(len, groups))) for group in groups if turn < len(group)]
    said = [
        (f"{example.text.rstrip('?!.')}{end}", example.intent or "") for end in ("?", "!", "...") for example in turns
    ]
    return said[:NUMBER]


def added(project: Project, texts: Sequence[str], intent: str, entity: Callable[[str], str] | None = None) -> Project:
    """Return the project with more sentences of an intent; ``entity`` says which word of each is annotated."""
    examples = []
    for text in texts:
        word = "" if entity is None else entity(text)
        begin = text.find(word)
        entities = (EntityAnnotation(begin, begin + len(word), NAME, word),) if word else ()
        examples.append(Example(text, intent, entities))
    domain = project.domain
    if "/" not in intent and intent not in domain.intents and project.native is None:
        named = Intent(intent, Location("data/new.yml", 1, 1))
        domain = replace(domain, intents={**domain.intents, intent: named})
    nlu = replace(project.nlu, examples=(*project.nlu.examples, *examples))
    return dataclasses.replace(project, nlu=nlu, domain=domain)


def with_intent(project: Project, turn: int, chance: random.Random, *, good: bool) -> Project:
    """Add an intent."""
    return added(project, own(turn) if good else [text for text, _ in of_others(project, chance)], NAME)


def with_key(project: Project, turn: int, chance: random.Random, *, good: bool) -> Project:
    """Add a key to the first retrieval intent, and its response."""
    retrieval = next(e.base_intent or "" for e in project.nlu.examples if "/" in (e.intent or ""))
    others = of_others(project, chance, key_of=f"{retrieval}/")
    texts = own(turn) if good else [text for text, _ in others]
    place, name = Location("data/new.yml", 1, 1), f"utter_{retrieval}/{NAME}"
    response = Response(name, (ResponseVariation({"text": " ".join(texts[:2])}, place),), place)
    changed = added(project, texts, f"{retrieval}/{NAME}")
    responses = {**project.domain.responses, name: response}
    return dataclasses.replace(changed, domain=replace(changed.domain, responses=responses))


def with_entity(project: Project, turn: int, chance: random.Random, *, good: bool) -> Project:
    """Add an entity: the same words in the same place, or any word of any sentence."""
    intent = sorted({example.base_intent or "" for example in project.nlu.examples})[turn + 1]
    if good:
        return added(project, [f"it is in {street} street" for street in STREETS], intent, lambda text: text.split()[3])
    changed = project
    for text, of_intent in of_others(project, chance):
        words = re.findall(r"\w+", text)
        changed = added(changed, [text], of_intent, lambda _, words=words: chance.choice(words))  # type: ignore[misc]
    return changed


def suite(project: Project, chance: random.Random, *, good: bool) -> Suite:
    """Sentences that are learnt, with their intents or with those of others."""
    examples = of_others(project, chance)
    intents = [intent for _, intent in examples]
    shifted = intents if good else [*intents[1:], intents[0]]
    cases = (
        SuiteCase(text, (intent,), location=Location("tests/new.json", number, 1))
        for number, ((text, _), intent) in enumerate(zip(examples, shifted, strict=True), 1)
    )
    return Suite(NAME, "tests/new.json", tuple(cases))


class Judged(NamedTuple):
    """What was added, whether it is good, and what the title says."""

    kind: Kind
    bot: str
    good: bool
    title: str
    warned: bool


def judged(kinds: Sequence[Kind]) -> Iterator[Judged]:
    """Yield how everything is judged."""
    needed = {name for kind in kinds for name in WHERE[kind]}
    bots = {name: read(folder) for name, folder in BOTS.items() if name in needed}
    adds = {"intent": with_intent, "dialog": with_intent, "response": with_key, "entity": with_entity}
    for kind in kinds:
        for turn, name in enumerate(WHERE[kind]):
            bot = bots[name]
            for good in (True, False):
                chance = random.Random(f"{kind}/{name}/{turn}")
                if kind == "suite":
                    suites = [suite(bot.project, chance, good=good)]
                    after = measured(bot.project, bot.settings, "2", suites)
                else:
                    project = adds[kind](bot.project, turn, chance, good=good)
                    after = measured(project, bot.settings, "2")
                compared = compare(after, Present(bot.report, "git"))
                verdict = judge(after, compared, GateSettings(fail_on=("new-failures",)))
                warned = NAME in verdict.summary and (verdict.reservation in WARNS or not verdict.passed)
                yield Judged(kind, name, good, verdict.summary, warned)


def main() -> int:
    """Judge, and print."""
    right: dict[tuple[str, bool], int] = defaultdict(int)
    number: dict[tuple[str, bool], int] = defaultdict(int)
    kinds: list[Kind] = [kind for kind in WHERE if kind in sys.argv[1:] or not sys.argv[1:]]
    for one in judged(kinds):
        number[one.kind, one.good] += 1
        right[one.kind, one.good] += one.warned != one.good
        if one.warned == one.good:
            print(f"- a {'good' if one.good else 'bad'} {one.kind} in {one.bot}: {one.title}", flush=True)
    print("\n| kind | good, no warning | bad, in the title |\n|---|---|---|")
    for kind in kinds:
        good, bad = (f"{right[kind, one]} of {number[kind, one]}" for one in (True, False))
        print(f"| {kind} | {good} | {bad} |")
    return 0 if right == number else 1


if __name__ == "__main__":
    sys.exit(main())
