"""How training grows: CPU seconds of the stand-in over numbers of sentences and of intents, a jump found.

    python benchmarks/training_growth.py [--corpora ../shared/corpora] [--sentences N …] [--intents N …]

Sentences are those of banking77, and further ones made of two of them; intents beyond its 77 are halves of them. Each
row is a process of its own, with imports (that of scikit-learn above all) and as many threads as BLAS takes by itself.
*slope* is the exponent of the growth since the row before: 1 where twice the sentences take twice as long. Ends with 1
where up to 500 sentences take more than 2 CPU seconds, or where a size takes longer than one at least three times as
large.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from nlu import STAND_IN, grown, in_own_process, megabytes, project_of, read_examples

from turncheck.project.nlu_data import Example

if TYPE_CHECKING:
    from collections.abc import Sequence

SENTENCES = (50, 150, 500, 800, 1_200, 1_600, 1_700, 5_000, 20_000)
INTENTS = (5, 20, 60, 150)
LIMIT = 2.0
FEW = 500


def drawn(corpus: Path, sentences: int, intents: int) -> list[Example]:
    """Draw sentences, few of most intents and many of some, as in a team's bot."""
    random = Random(0)
    every = [
        Example(one.text, f"{one.intent}/{number % 2}".replace("/", "_") if intents > 77 else one.intent, ())
        for number, one in enumerate(grown(read_examples(corpus / "train.yml"), max(sentences * 3, 20_000)))
    ]
    names = sorted({str(one.intent) for one in every})
    kept = random.sample(names, min(intents, len(names)))
    by_intent = {name: [one for one in every if one.intent == name] for name in kept}
    weights = [1 / (place + 1) ** 0.5 for place in range(len(kept))]
    found = [by_intent[name].pop() for name in kept][:sentences]
    while len(found) < sentences and any(by_intent.values()):
        (name,) = random.choices(kept, weights)
        if by_intent[name]:
            found.append(by_intent[name].pop())
    return found


def measured(corpus: Path, sentences: int, intents: int) -> tuple[int, float, float]:
    """Train once; return the number of sentences, CPU seconds with all imports, and megabytes."""
    project = project_of(drawn(corpus, sentences, intents), STAND_IN)
    begin = time.process_time()
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # its imports are measured, too

    EmbeddedNluTrainer(seed=0).fit(project)
    return len(project.nlu.examples), time.process_time() - begin, megabytes()


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    here = Path(__file__).parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=here / ".." / "shared" / "corpora")
    parser.add_argument("--sentences", type=int, nargs="+", default=SENTENCES)
    parser.add_argument("--intents", type=int, nargs="+", default=INTENTS)
    options = parser.parse_args()
    if not options.corpora.is_dir():
        print(f"there are no corpora at {options.corpora}: name their folder with --corpora", file=sys.stderr)
        return 2
    print("| intents | sentences | fit, CPU s | slope | MB |\n|---|---|---|---|---|")
    good = True
    for intents in options.intents:
        rows: list[tuple[int, float]] = []
        for sentences in options.sentences:
            if sentences < intents:
                continue
            count, seconds, memory = in_own_process(measured, options.corpora / "banking77", sentences, intents)
            print(
                f"| {intents} | {count:,} | {seconds:.2f} | {slope(rows, count, seconds)} | {memory:.0f} |", flush=True
            )
            rows.append((count, seconds))
            good = good and (count > FEW or seconds <= LIMIT)
        good = good and not has_jump(rows)
    return 0 if good else 1


def slope(rows: Sequence[tuple[int, float]], count: int, seconds: float) -> str:
    """Return the exponent of the growth since the row before; "–" for the first."""
    if not rows or rows[-1][0] >= count:
        return "–"
    before, took = rows[-1]
    return f"{math.log(seconds / took) / math.log(count / before):.1f}"


def has_jump(rows: Sequence[tuple[int, float]]) -> bool:
    """Whether a size takes longer than one that is at least three times as large, beyond measurement noise."""
    return any(
        seconds > 1.2 * later
        for place, (count, seconds) in enumerate(rows)
        for more, later in rows[place + 1 :]
        if more >= 3 * count
    )


if __name__ == "__main__":
    sys.exit(main())
