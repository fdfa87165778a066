"""Other languages than English: small corpora that were written for this.

    python benchmarks/languages.py

Prints a Markdown table. German, Spanish, Japanese, Chinese and Thai each have six intents of six sentences
(``languages/``), and are judged on three others of each. The last three are written without spaces, and Rasa's
WhitespaceTokenizer, which is used for all, makes one token of a sentence. *words alone* is what a classifier reaches
that knows whole tokens only (CountVectorsFeaturizer and LogisticRegressionClassifier, as turncheck runs them). Ends
with 1 where a language falls below what was reached.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from nlu import STAND_IN, Pipeline, calibration_error, in_own_process, project_of, read_examples

HERE = Path(__file__).parent / "languages"
LEAST = {"German": 72, "Spanish": 83, "Japanese": 83, "Chinese": 61, "Thai": 61}
FOLDERS = {"German": "de", "Spanish": "es", "Japanese": "ja", "Chinese": "zh", "Thai": "th"}
WORDS: Pipeline = (("WhitespaceTokenizer", {}), ("CountVectorsFeaturizer", {}), ("LogisticRegressionClassifier", {}))


def measured(corpus: Path, pipeline: Pipeline) -> tuple[int, int, float, float, float]:
    """Train and judge; return sentences trained on and judged, accuracy, calibration error, CPU seconds."""
    import time  # only imported here

    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # in the child process only

    train, test = read_examples(corpus / "train.yml"), read_examples(corpus / "test.yml")
    begin = time.process_time()
    engine = EmbeddedNluTrainer(seed=0).fit(project_of(train, pipeline))
    fit = time.process_time() - begin
    parses = engine.parse([one.text for one in test])
    right = [parse.intent.name == one.intent for parse, one in zip(parses, test, strict=True)]
    error = calibration_error(right, [parse.intent.confidence for parse in parses])
    return len(train), len(test), 100 * sum(right) / len(right), error, fit


def main() -> int:
    """Print the table; 1 if a limit is exceeded."""
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    print("| language | sentences | judged | turncheck | its error | fit, CPU s | words alone |")
    print("|---|---|---|---|---|---|---|")
    good = True
    for language, folder in FOLDERS.items():
        count, judged, accuracy, error, fit = in_own_process(measured, HERE / folder, STAND_IN)
        words = in_own_process(measured, HERE / folder, WORDS)[2]
        print(
            f"| {language} | {count} | {judged} | {accuracy:.1f} | {error:.3f} | {fit:.2f} | {words:.1f} |", flush=True
        )
        good = good and accuracy >= LEAST[language]
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
