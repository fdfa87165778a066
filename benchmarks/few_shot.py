"""Few sentences and real messages: the standard few-shot splits, and HINT3.

    python benchmarks/few_shot.py [--corpora ../shared/corpora] [--without-vectors] [FOLDER ...]

Prints Markdown tables: accuracy on the official test part, calibration error over ten bins and CPU seconds of training
(imports aside; vectors computed before), with n-grams alone and with sentence vectors where they are installed. Of
HINT3's messages out of scope it counts those below a confidence of 0.3, ours and those of the Rasa that the corpus has
recorded. Ends with 1 where a figure falls below what was reached. Folders are further corpora (``train.yml`` and
``test.yml``), measured instead.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path
from typing import Any

from nlu import STAND_IN, calibration_error, in_own_process, project_of, read_examples, vectors_are_installed

LEAST = {
    ("banking77_5shot", False): 69.0,
    ("banking77_10shot", False): 77.0,
    ("banking77_5shot", True): 81.5,
    ("banking77_10shot", True): 86.5,
    ("hint3_curekart", False): 83.5,
    ("hint3_curekart", True): 85.5,
}
FALLBACK = 0.3


def measured(corpus: Path, with_vectors: bool) -> tuple[int, float, float, float, list[float]]:
    """Train and judge; return sentences, accuracy, calibration error, CPU seconds, confidences out of scope."""
    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # as below
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # only in the child process

    train, test = read_examples(corpus / "train.yml"), read_examples(corpus / "test.yml")
    project = project_of(train, STAND_IN)
    vectors = chosen_vectors(with_vectors, project.nlu)
    begin = time.process_time()
    engine = EmbeddedNluTrainer(seed=0, vectors=vectors).fit(project)
    fit = time.process_time() - begin
    parses = engine.parse([one.text for one in test])
    right = [parse.intent.name == one.intent for parse, one in zip(parses, test, strict=True)]
    strange = corpus / "out_of_scope.txt"
    foreign = engine.parse(strange.read_text("utf-8").splitlines()) if strange.is_file() else []
    error = calibration_error(right, [parse.intent.confidence for parse in parses])
    return len(train), 100 * sum(right) / len(right), error, fit, [one.intent.confidence for one in foreign]


def recorded(corpus: Path) -> tuple[float, list[float]]:
    """Rasa's accuracy in scope, and its confidences out of scope, as the corpus has them."""
    with (corpus / "rasa_predictions.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    of_scope = [row for row in rows if row["label"] != "NO_NODES_DETECTED"]
    right = sum(row["label"] == row["predicted_node"] for row in of_scope)
    foreign = [float(row["predicted_node_score"]) for row in rows if row["label"] == "NO_NODES_DETECTED"]
    return 100 * right / len(of_scope), foreign


def below(confidences: list[float]) -> str:
    """Return the share below the fallback's threshold, in words."""
    return f"{100 * sum(sure < FALLBACK for sure in confidences) / len(confidences):.0f} %" if confidences else "–"


def main() -> int:
    """Print the tables; 1 if a limit is exceeded."""
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=here / ".." / ".." / "shared" / "corpora")
    parser.add_argument("--without-vectors", action="store_true")
    parser.add_argument("folders", type=Path, nargs="*")
    options = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    with_vectors = (False, True) if vectors_are_installed() and not options.without_vectors else (False,)
    folders = options.folders or [options.corpora / name for name in dict.fromkeys(name for name, _ in LEAST)]
    rows: list[tuple[Path, bool]] = [(folder, vectors) for folder in folders for vectors in with_vectors]
    print("| data | features | sentences | accuracy | its error | fit, CPU s | out of scope below 0.3 |")
    print("|---|---|---|---|---|---|---|")
    good = True
    for corpus, vectors in rows:
        if not corpus.is_dir():
            print(f"there is no corpus at {corpus}", file=sys.stderr)
            continue
        answer: Any = in_own_process(measured, corpus, vectors)
        count, accuracy, error, fit, foreign = answer
        print(
            f"| {corpus.name} | {'with vectors' if vectors else 'n-grams'} | {count:,} | {accuracy:.2f} | {error:.3f} "
            f"| {fit:.2f} | {below(foreign)} |",
            flush=True,
        )
        good = good and accuracy >= LEAST.get((corpus.name, vectors), 0.0)
        if vectors and (corpus / "rasa_predictions.csv").is_file():
            accuracy, foreign = recorded(corpus)
            print(f"| {corpus.name} | Rasa's DIET, recorded | {count:,} | {accuracy:.2f} | – | – | {below(foreign)} |")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
