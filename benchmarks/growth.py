"""How a run grows where projects are of an unusual shape: CPU seconds and memory at three sizes each.

    python benchmarks/growth.py [intents] [test-story] [training-story] [checkpoints]
    python benchmarks/growth.py --beside CHECKOUT      the largest size with another checkout of turncheck, too

intents         many intents of five sentences each, cross-validated
test-story      one test story of many turns
training-story  one training story of many turns
checkpoints     short stories joined by many checkpoints

Every row is a `run` with nothing cached, in a process of its own. *slope* is the exponent of the growth of CPU time
since the row before: 1 where twice the size takes twice as long. Ends with 1 where the largest size is beyond its
limit.

The limits in seconds are those of one machine, on which 95d7389e took the seconds that each case names. Beside a
checkout of that commit the limit is their quotient, which holds on every machine: both run one after the other, with
this Python and its packages.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from dialogue import TURNCHECK, Cost, cost
from training_growth import slope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

TOPICS = [f"topic_{number}" for number in range(20)]
LENGTH = 5
PIPELINE = """\
recipe: default.v1
language: en
pipeline:
- name: WhitespaceTokenizer
- name: CountVectorsFeaturizer
- name: CountVectorsFeaturizer
  analyzer: char_wb
  min_ngram: 1
  max_ngram: 4
- name: DIETClassifier
  epochs: 100
policies:
- name: AugmentedMemoizationPolicy
  max_history: 4
- name: MemoizationPolicy
- name: RulePolicy
"""


class Case(NamedTuple):
    """What grows, its sizes, what the largest may take (CPU seconds and MiB), and what 95d7389e took, if known."""

    write: Callable[[Path, int], None]
    sizes: Sequence[int]
    seconds: float
    megabytes: float
    before: float | None = None


def write_project(
    folder: Path,
    sentences: Mapping[str, Sequence[str]],
    training: Sequence[Sequence[str]],
    tests: Sequence[Sequence[str]] = (),
) -> None:
    """Write an assistant that answers each intent with its own response, with stories of the given steps."""
    (folder / "data").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "config.yml").write_text(PIPELINE, encoding="utf-8")
    responses = {f"utter_{intent}": [{"text": intent}] for intent in sentences}
    domain = {"version": "3.1", "intents": list(sentences), "responses": responses}
    (folder / "domain.yml").write_text(json.dumps(domain), encoding="utf-8")  # JSON is YAML
    (folder / "data" / "nlu.yml").write_text(_nlu(sentences), encoding="utf-8")
    (folder / "data" / "stories.yml").write_text(_stories("story", training), encoding="utf-8")
    if tests:
        (folder / "tests" / "test_stories.yml").write_text(_stories("test", tests), encoding="utf-8")


def _nlu(sentences: Mapping[str, Sequence[str]]) -> str:
    lines = ['version: "3.1"', "nlu:"]
    for intent, texts in sentences.items():
        if texts:
            lines += [f"- intent: {intent}", "  examples: |", *(f"    - {text}" for text in texts)]
    return "\n".join(lines) + "\n"


def _stories(name: str, stories: Sequence[Sequence[str]]) -> str:
    lines = ['version: "3.1"', "stories:"]
    for number, steps in enumerate(stories):
        lines += [f"- story: {name} {number}", "  steps:", *(f"  - {step}" for step in steps)]
    return "\n".join(lines) + "\n"


def turns(intents: Sequence[str]) -> list[str]:
    """Return the steps of a story in which each of these intents is answered."""
    return [step for intent in intents for step in (f"intent: {intent}", f"action: utter_{intent}")]


def sentences_of(number: int, each: int = LENGTH) -> dict[str, list[str]]:
    """Return different sentences, five or so many, for each of so many intents."""
    chance = Random(number)
    words = ["".join(chance.choice("aeioubdfgklmnprst") for _ in range(chance.randint(2, 8))) for _ in range(3_000)]
    sentences = {}
    for topic in range(number):
        own = chance.sample(words, 3)
        drawn = [
            chance.sample(own, chance.randint(1, 2)) + chance.sample(words, chance.randint(1, 4)) for _ in range(each)
        ]
        sentences[f"topic_{topic}"] = [" ".join(one) for one in drawn]
    return sentences


def many_intents(folder: Path, number: int, each: int = LENGTH) -> None:
    """So many intents, none of them in a story but the first."""
    sentences = sentences_of(number, each)
    write_project(folder, sentences, [turns([next(iter(sentences))])])


def long_test_story(folder: Path, number: int) -> None:
    """One test story of so many turns, and short stories to learn from."""
    training = [turns(pair) for pair in pairwise(TOPICS)]
    test = turns(Random(number).choices(TOPICS, k=number))
    write_project(folder, dict.fromkeys(TOPICS, ()), training, [test])


def long_training_story(folder: Path, number: int) -> None:
    """One training story of so many turns."""
    training = turns(Random(number).choices(TOPICS, k=number))
    write_project(folder, dict.fromkeys(TOPICS, ()), [training], [turns(TOPICS[:3])])


def joined_stories(folder: Path, number: int) -> None:
    """So many checkpoints, and three stories of two turns at each, which lead to checkpoints further on."""
    chance = Random(number)
    stories = [[*turns(TOPICS[:1]), "checkpoint: point_0"]]
    for point in range(number):
        for _ in range(3):
            end = point + chance.randint(1, number // 5)
            further = [f"checkpoint: point_{end}"] if point + number // 5 < number else []
            stories.append([f"checkpoint: point_{point}", *turns(chance.choices(TOPICS, k=2)), *further])
    write_project(folder, dict.fromkeys(TOPICS, ()), stories, [turns(TOPICS[:3])])


CASES = {
    "intents": Case(many_intents, (200, 600, 2_000), 50.0, 700.0, 148.0),
    "test-story": Case(long_test_story, (500, 1_500, 5_000), 4.0, 200.0, 94.7),
    "training-story": Case(long_training_story, (500, 1_500, 5_000), 8.0, 200.0, 24.4),
    "checkpoints": Case(joined_stories, (30, 60, 100), 60.0, 400.0),
}


def measured(case: Case, size: int) -> Cost:
    """Return what a run takes; it may pass or fail."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "project"
        case.write(folder, size)
        return cost(
            [*TURNCHECK, "run", "--no-cache", "--baseline", "none", "--fail-on", "none", "--quiet"],
            folder,
            may_fail=True,
        )


def measured_beside(case: Case, size: int, checkout: Path) -> Cost:
    """Return what the same run takes with another checkout."""
    own = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(checkout.resolve() / "src")
    try:
        return measured(case, size)
    finally:
        del os.environ["PYTHONPATH"]
        if own is not None:
            os.environ["PYTHONPATH"] = own


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one of {', '.join(CASES)} (all)")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="a checkout of 95d7389e")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.cases if name not in CASES]:
        parser.error(f"unknown case {unknown[0]!r}: expected one of {', '.join(CASES)}")
    good = True
    print("| what | size | CPU s | slope | MiB |\n|---|---|---|---|---|")
    for name in arguments.cases or CASES:
        case = CASES[name]
        rows: list[tuple[int, float]] = []
        now = Cost(0.0, 0.0, 0.0)
        for size in case.sizes:
            now = measured(case, size)
            growth = slope(rows, size, now.processor)
            print(f"| {name} | {size:,} | {now.processor:.1f} | {growth} | {now.megabytes:.0f} |", flush=True)
            rows.append((size, now.processor))
        fast = now.processor <= case.seconds
        if arguments.beside and case.before:
            before = measured_beside(case, case.sizes[-1], arguments.beside)
            share, limit = now.processor / before.processor, case.seconds / case.before
            fast = share <= limit
            print(f"| {name}, beside | {case.sizes[-1]:,} | {before.processor:.1f} | – | {before.megabytes:.0f} |")
            print(f"{name}: ×{share:.3f} of what it took beside (limit ×{limit:.3f})", flush=True)
        good = good and fast and now.megabytes <= case.megabytes
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
