"""What cross-validation costs, beside bare scikit-learn doing the same.

    python benchmarks/cross_validation.py [--corpus train.yml] [--folds 5] [--rounds 3]

Bare scikit-learn vectorises (word 1-2-grams beside character 3-grams, tf-idf), fits a linear SVM, fits it once more on
nine tenths to find the temperature of the softmax on the last tenth, and predicts. turncheck does that, and all else
that an evaluation is: reading, folds, scores, neighbours of wrong sentences, insights, the report. Both run in one
process, on the same folds, in turns; CPU seconds, imports aside; the best round of each counts. Ends with 1 beyond the
limit.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.sparse import hstack
from scipy.special import log_softmax
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer
from turncheck.evaluations.nlu.judging import cross_validate
from turncheck.evaluations.nlu.splits import stable_folds
from turncheck.project.reader import read_project
from turncheck.report.codec import encode
from turncheck.report.model import ProjectInfo, Report, Tool

if TYPE_CHECKING:
    from collections.abc import Callable

    from turncheck.project.model import Project

LIMIT_RATIO = 1.3
BANKING77 = Path(__file__).parents[2] / "shared" / "corpora" / "banking77" / "train.yml"
CONFIG = (
    "language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n"
    "- name: DIETClassifier\n  entity_recognition: false\n"
)
SEED = 42


def bare(project: Project, folds: int) -> float:
    """Cross-validate with scikit-learn alone; return the accuracy."""
    plan = stable_folds(project.nlu.examples, folds, SEED)
    texts = np.array([example.text.lower() for example in project.nlu.examples], dtype=object)
    labels = np.array([example.intent for example in project.nlu.examples], dtype=object)
    right = 0
    for fold in range(folds):
        train, test = plan.trained(fold), plan.judged(fold)
        word = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        character = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True, min_df=2)
        rows = hstack([word.fit_transform(texts[train]), character.fit_transform(texts[train])]).tocsr()
        model = svm().fit(rows, labels[train])
        order = np.random.default_rng(SEED).permutation(len(train))
        held, kept = order[: len(order) // 10], order[len(order) // 10 :]
        judge = svm().fit(rows[kept], labels[train][kept])
        scores = judge.decision_function(rows[held])
        truth = np.searchsorted(judge.classes_, labels[train][held])
        temperature = minimize_scalar(
            lambda factor, scores=scores, truth=truth: (
                -log_softmax(scores * factor, axis=1)[np.arange(len(truth)), truth].mean()
            ),
            bounds=(0.1, 50),
            method="bounded",
        ).x
        unseen = hstack([word.transform(texts[test]), character.transform(texts[test])]).tocsr()
        confidences = log_softmax(model.decision_function(unseen) * temperature, axis=1)
        right += int((model.classes_[confidences.argmax(axis=1)] == labels[test]).sum())
    return right / len(texts)


def svm() -> LinearSVC:
    """Return the classifier of the recipe."""
    return LinearSVC(multi_class="crammer_singer", C=0.5, tol=0.03, random_state=SEED)


def ours(root: Path, folds: int) -> float:
    """Read and cross-validate with turncheck, and encode the report; return the accuracy."""
    project = read_project(root)
    measured = cross_validate(project, EmbeddedNluTrainer(SEED), folds=folds, seed=SEED)
    tool = Tool(name="turncheck", version="benchmark")
    encode(Report(tool=tool, project=ProjectInfo(name="corpus"), seed=SEED, nlu=measured.section))
    return measured.section.intents.accuracy if measured.section.intents else 0.0


def seconds(run: Callable[[], float]) -> tuple[float, float]:
    """Return CPU seconds and the accuracy reached."""
    start = time.process_time()
    accuracy = run()
    return time.process_time() - start, accuracy


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=BANKING77)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, threadpool_limits(limits=1):
        root = Path(folder)
        (root / "data").mkdir()
        (root / "data" / "nlu.yml").write_bytes(arguments.corpus.read_bytes())
        (root / "config.yml").write_text(CONFIG, encoding="utf-8")
        project = read_project(root)
        rounds = [
            (seconds(lambda: ours(root, arguments.folds)), seconds(lambda: bare(project, arguments.folds)))
            for _ in range(arguments.rounds)
        ]
    our_seconds, our_accuracy = min(own for own, _ in rounds)
    bare_seconds, bare_accuracy = min(other for _, other in rounds)
    print(f"{len(project.nlu.examples):,} sentences, {arguments.folds} folds, best of {arguments.rounds} rounds\n")
    print("| | CPU seconds | times bare | accuracy |\n|---|---|---|---|")
    print(f"| bare scikit-learn | {bare_seconds:.1f} | 1.00 | {bare_accuracy:.4f} |")
    print(f"| turncheck | {our_seconds:.1f} | {our_seconds / bare_seconds:.2f} | {our_accuracy:.4f} |")
    print(f"| limit | | {LIMIT_RATIO} | |")
    return int(our_seconds / bare_seconds > LIMIT_RATIO)


if __name__ == "__main__":
    sys.exit(main())
