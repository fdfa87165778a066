"""How a run grows where projects are of an unusual shape: CPU seconds and memory at three sizes each.

    python benchmarks/growth.py [intents] [test-story] [training-story] [checkpoints]

intents         many intents of five sentences each, cross-validated
test-story      one test story of many turns
training-story  one training story of many turns
checkpoints     short stories joined by many checkpoints

Every row is a `run` with nothing cached, in a process of its own. *slope* is the exponent of the growth of CPU time
since the row before: 1 where twice the size takes twice as long. Ends with 1 where the largest size is beyond its
limit.
"""

from __future__ import annotations

import json
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

TOPICS = 20
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
    """What grows, its sizes, and what the largest may take: CPU seconds and MiB."""

    write: Callable[[Path, int], None]
    sizes: Sequence[int]
    seconds: float
    megabytes: float


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


def sentences_of(number: int) -> dict[str, list[str]]:
    """Return five different sentences for each of so many intents."""
    chance = Random(number)
    words = ["".join(chance.choice("aeioubdfgklmnprst") for _ in range(chance.randint(2, 8))) for _ in range(3_000)]
    sentences = {}
    for topic in range(number):
        own = chance.sample(words, 3)
        drawn = [
            chance.sample(own, chance.randint(1, 2)) + chance.sample(words, chance.randint(1, 4)) for _ in range(LENGTH)
        ]
        sentences[f"topic_{topic}"] = [" ".join(one) for one in drawn]
    return sentences


def many_intents(folder: Path, number: int) -> None:
    """So many intents, none of them in a story but the first."""
    sentences = sentences_of(number)
    write_project(folder, sentences, [turns([next(iter(sentences))])])


def long_test_story(folder: Path, number: int) -> None:
    """One test story of so many turns, and ten short stories to learn from."""
    sentences, chance = sentences_of(TOPICS), Random(number)
    topics = list(sentences)
    training = [turns(pair) for pair in pairwise(topics)]
    write_project(folder, sentences, training, [turns(chance.choices(topics, k=number))])


def long_training_story(folder: Path, number: int) -> None:
    """One training story of so many turns."""
    sentences, chance = sentences_of(TOPICS), Random(number)
    topics = list(sentences)
    write_project(folder, sentences, [turns(chance.choices(topics, k=number))], [turns(topics[:3])])


def joined_stories(folder: Path, number: int) -> None:
    """So many checkpoints, three stories of two turns at each, which lead on to one of the next checkpoints."""
    sentences, chance = sentences_of(TOPICS), Random(number)
    topics = list(sentences)
    stories = [[*turns(topics[:1]), "checkpoint: point_0"]]
    for point in range(number):
        for _ in range(3):
            end = [f"checkpoint: point_{point + chance.randint(1, 3)}"] if point + 3 < number else []
            stories.append([f"checkpoint: point_{point}", *turns(chance.choices(topics, k=2)), *end])
    write_project(folder, sentences, stories, [turns(topics[:3])])


CASES = {
    "intents": Case(many_intents, (200, 600, 2_000), 50.0, 700.0),
    "test-story": Case(long_test_story, (500, 1_500, 5_000), 4.0, 200.0),
    "training-story": Case(long_training_story, (500, 1_500, 5_000), 8.0, 200.0),
    "checkpoints": Case(joined_stories, (30, 60, 100), 60.0, 400.0),
}


def measured(case: Case, size: int) -> Cost:
    """Return what a run takes; it may pass or fail."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root) / "project"
        case.write(folder, size)
        return cost([*TURNCHECK, "run", "--no-cache", "--baseline", "none", "--fail-on", "none", "--quiet"], folder)


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    good = True
    print("| what | size | CPU s | slope | MiB |\n|---|---|---|---|---|")
    for name in sys.argv[1:] or CASES:
        case = CASES[name]
        rows: list[tuple[int, float]] = []
        one = Cost(0.0, 0.0, 0.0)
        for size in case.sizes:
            one = measured(case, size)
            growth = slope(rows, size, one.processor)
            print(f"| {name} | {size:,} | {one.processor:.1f} | {growth} | {one.megabytes:.0f} |", flush=True)
            rows.append((size, one.processor))
        good = good and one.processor <= case.seconds and one.megabytes <= case.megabytes
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
