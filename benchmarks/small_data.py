"""The stand-in beside Rasa's LogisticRegressionClassifier where sentences are few: small assistants, small shares.

    python benchmarks/small_data.py [--corpora ../shared/corpora] [--vectors] [PROJECT ...]

Projects (default: those of ``examples/``, and the recorded helpdesk assistant where it is there) are cross-validated in
five folds, dealt anew for each of three seeds; of the corpora the first N training sentences of each intent are learnt,
and the official test part is judged. LogisticRegressionClassifier is behind its two default
CountVectorsFeaturizers, as it runs here. Prints a Markdown table: accuracy in percent, calibration error over ten bins,
and the error that chance alone shows at most in 95 of 100 draws of as many answers, each right with exactly its
confidence. Ends with 1 where the stand-in is worse by more than 0.3 points. With
``--vectors`` the stand-in learns from sentence vectors, too, which must be installed.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from nlu import RASAS, STAND_IN, calibration_error, in_own_process, project_of, read_examples

from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nlu import Pipeline

    from turncheck.project.nlu_data import Example

FOLDS = 5
SEEDS = 3
LARGEST_LOSS = 0.003
HELPDESK = "oracle/nlu/lr_crf_helpdesk/project"
SIZES = {"banking77": (5, 13, 30), "snips": (5, 13, 50, 200)}

DRAWS = 200

Outcome = tuple[float, float, float]
"""Accuracy, calibration error, and the largest that chance alone causes in 95 of 100 draws."""


def judged(
    train: Sequence[Example], test: Sequence[Example], pipeline: Pipeline, vectors: bool
) -> Iterator[tuple[bool, float]]:
    """Whether each answer is right, and its confidence."""
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # as below
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # in the child process only

    trainer = EmbeddedNluTrainer(seed=0, vectors=chosen_vectors(vectors))
    parses = trainer.fit(project_of(train, pipeline)).parse([one.text for one in test])
    for parse, example in zip(parses, test, strict=True):
        yield parse.intent.name == example.base_intent, parse.intent.confidence


def outcome(answers: Sequence[tuple[bool, float]], deals: int = 1) -> Outcome:
    """Judge answers; each sentence was used ``deals`` times, so only a share of the answers are independent draws."""
    right, confidences = [one for one, _ in answers], [sure for _, sure in answers]
    some = confidences[: len(confidences) // deals]
    random = np.random.default_rng(0)
    drawn = [calibration_error((random.random(len(some)) < some).tolist(), some) for _ in range(DRAWS)]
    return sum(right) / len(right), calibration_error(right, confidences), float(np.quantile(drawn, 0.95))


def in_folds(folder: Path, pipeline: Pipeline, vectors: bool) -> Outcome:
    """Cross-validate a project; intents with fewer sentences than folds are only trained on."""
    examples = [one for one in read_project(folder).nlu.examples if one.intent]
    counts = Counter(one.base_intent for one in examples)
    answers: list[tuple[bool, float]] = []
    for seed in range(SEEDS):
        turn: Counter[str | None] = Counter()
        fold = [0] * len(examples)
        for index in np.random.default_rng(seed).permutation(len(examples)).tolist():
            intent = examples[index].base_intent
            fold[index] = turn[intent] % FOLDS if counts[intent] >= FOLDS else -1
            turn[intent] += 1
        for number in range(FOLDS):
            train = [one for one, at in zip(examples, fold, strict=True) if at != number]
            test = [one for one, at in zip(examples, fold, strict=True) if at == number]
            answers += judged(train, test, pipeline, vectors)
    return outcome(answers, SEEDS)


def has_folds(folder: Path) -> bool:
    """Whether an intent of the project has a sentence for each fold: one that learns from flows has none."""
    counts = Counter(one.base_intent for one in read_project(folder).nlu.examples if one.intent)
    return any(count >= FOLDS for count in counts.values())


def of_first(corpus: Path, size: int, pipeline: Pipeline, vectors: bool) -> Outcome:
    """Learn the first sentences of each intent, judge the official test part."""
    seen: Counter[str | None] = Counter()
    train = []
    for example in read_examples(corpus / "train.yml"):
        seen[example.intent] += 1
        if seen[example.intent] <= size:
            train.append(example)
    return outcome(list(judged(train, read_examples(corpus / "test.yml"), pipeline, vectors)))


def main() -> int:
    here = Path(__file__).parents[1]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=here / ".." / "shared" / "corpora")
    parser.add_argument("--vectors", action="store_true")
    parser.add_argument("projects", type=Path, nargs="*")
    options = parser.parse_args()
    projects = options.projects or [
        path.parent for path in sorted((here / "examples").glob("*/config.yml")) if has_folds(path.parent)
    ]
    if not options.projects and (helpdesk := options.corpora.parent / HELPDESK).is_dir():
        projects.append(helpdesk)
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    print(
        "| data | sentences | intents | turncheck | its error | by chance | LogisticRegressionClassifier | its error |"
    )
    print("|---|---|---|---|---|---|---|---|")
    good = True
    rows: list[tuple[Any, tuple[Any, ...], str]] = [
        (in_folds, (path,), path.parent.name if path.name == "project" else path.name) for path in projects
    ]
    rows += [
        (of_first, (options.corpora / name, size), f"{name}, {size} an intent")
        for name, sizes in SIZES.items()
        for size in sizes
        if (options.corpora / name).is_dir()
    ]
    for function, arguments, title in rows:
        ours, theirs = (
            in_own_process(function, *arguments, pipeline, vectors)
            for pipeline, vectors in ((STAND_IN, options.vectors), (RASAS, False))
        )
        examples = (
            read_project(arguments[0]).nlu.examples
            if function is in_folds
            else read_examples(arguments[0] / "train.yml")
        )
        intents = len({one.base_intent for one in examples if one.intent})
        count = len(examples) if function is in_folds else intents * arguments[1]
        print(
            f"| {title} | {count:,} | {intents} | {100 * ours[0]:.1f} | {ours[1]:.3f} | {ours[2]:.3f} "
            f"| {100 * theirs[0]:.1f} | {theirs[1]:.3f} |",
            flush=True,
        )
        good = good and ours[0] >= theirs[0] - LARGEST_LOSS
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
