"""Other languages than English: small corpora that were written for this, and xSID's.

    python benchmarks/languages.py [--xsid FOLDER]

Prints a Markdown table. German, Spanish, Japanese, Chinese and Thai each have six intents of six sentences
(``languages/``), and are judged on three others of each. The last three are written without spaces, and Rasa's
WhitespaceTokenizer, which is used for all, makes one token of a sentence. *words alone* is what a classifier reaches
that knows whole tokens only (CountVectorsFeaturizer and LogisticRegressionClassifier, as turncheck runs them). Ends
with 1 where a language falls below what was reached.

With ``--xsid``, the folder of ``de.valid.conll``, ``de.test.conll`` and so on (data/xSID-0.6 of github.com/mainlp/xsid;
van der Goot et al. 2021; CC BY-SA 4.0, not part of this repository), a second table follows: the 300 sentences for
validation are learnt from, the 500 for testing judged. *Rasa's logistic regression* has n-grams of characters as well.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nlu import RASAS, STAND_IN, Pipeline, calibration_error, in_own_process, project_of, read_examples, token_f1

from turncheck.project.nlu_data import EntityAnnotation, Example

if TYPE_CHECKING:
    from collections.abc import Sequence

HERE = Path(__file__).parent / "languages"
LEAST = {"German": 72, "Spanish": 83, "Japanese": 94, "Chinese": 83, "Thai": 88}
FOLDERS = {"German": "de", "Spanish": "es", "Japanese": "ja", "Chinese": "zh", "Thai": "th"}
WITHOUT_SPACES = {"ja", "zh"}
WORDS: Pipeline = (("WhitespaceTokenizer", {}), ("CountVectorsFeaturizer", {}), ("LogisticRegressionClassifier", {}))


@dataclass(frozen=True)
class Row:
    """What was measured of one pipeline on one corpus."""

    count: int
    """Sentences trained on."""
    judged: int
    accuracy: float
    error: float
    """Of the confidences' calibration."""
    entities: float
    """F1 by token."""
    fit: float
    """CPU seconds of training."""


def measured(train: Sequence[Example], test: Sequence[Example], pipeline: Pipeline) -> Row:
    """Train and judge."""
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # in the child process only

    begin = time.process_time()
    engine = EmbeddedNluTrainer(seed=0).fit(project_of(train, pipeline))
    fit = time.process_time() - begin
    parses = engine.parse([one.text for one in test])
    right = [parse.intent.name == one.intent for parse, one in zip(parses, test, strict=True)]
    error = calibration_error(right, [parse.intent.confidence for parse in parses])
    entities = 100 * token_f1(test, parses)
    return Row(len(train), len(test), 100 * sum(right) / len(right), error, entities, fit)


def own_table() -> bool:
    """Print the table of the corpora written for this; whether all languages reach what they did."""
    print("| language | sentences | judged | turncheck | its error | fit, CPU s | words alone |")
    print("|---|---|---|---|---|---|---|")
    good = True
    for language, folder in FOLDERS.items():
        train, test = (read_examples(HERE / folder / f"{part}.yml") for part in ("train", "test"))
        row = in_own_process(measured, train, test, STAND_IN)
        words = in_own_process(measured, train, test, WORDS)
        print(
            f"| {language} | {row.count} | {row.judged} | {row.accuracy:.1f} | {row.error:.3f} | {row.fit:.2f} "
            f"| {words.accuracy:.1f} |",
            flush=True,
        )
        good = good and row.accuracy >= LEAST[language]
    return good


def xsid_table(folder: Path) -> None:
    """Print a row for each language of xSID."""
    print("\n| language | sentences | judged | turncheck | its error | entities F1 | fit, CPU s ", end="")
    print("| Rasa's logistic regression | words alone |\n|---|---|---|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.valid.conll")):
        language = path.name.partition(".")[0]
        train, test = read_xsid(path), read_xsid(path.with_name(f"{language}.test.conll"))
        row = in_own_process(measured, train, test, STAND_IN)
        rasas, words = (in_own_process(measured, train, test, pipeline).accuracy for pipeline in (RASAS, WORDS))
        entities = "–" if language in WITHOUT_SPACES else f"{row.entities:.1f}"
        print(
            f"| {language} | {row.count} | {row.judged} | {row.accuracy:.1f} | {row.error:.3f} | {entities} "
            f"| {row.fit:.2f} | {rasas:.1f} | {words:.1f} |",
            flush=True,
        )


def read_xsid(path: Path) -> list[Example]:
    """Read sentences with their intents and entities; those of languages without spaces as they are written."""
    spaced = path.name.partition(".")[0] not in WITHOUT_SPACES
    examples = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = block.strip().splitlines()
        stated = dict(line[1:].split("=", 1) for line in lines if line.startswith("#") and "=" in line)
        named = {key.strip(): value.strip() for key, value in stated.items()}
        if "intent" not in named:
            continue
        text = " ".join(named["text"].split()) if spaced else "".join(named["text"].split())
        tokens = [line.split("\t") for line in lines if not line.startswith("#")]
        intent = named["intent"].replace("/", "_")
        examples.append(Example(text, intent, entities_of(text, [(one[1], one[-1]) for one in tokens])))
    return examples


def entities_of(text: str, tagged: Sequence[tuple[str, str]]) -> tuple[EntityAnnotation, ...]:
    """Find the tokens in the text one after another, and join B- and I- of one type."""
    spans: list[tuple[int, int, str]] = []
    end = 0
    for token, tag in tagged:
        start = text.find(token, end)
        if start < 0:
            continue
        before, end = end, start + len(token)
        kind = tag[2:]
        if tag.startswith("I-") and spans and spans[-1][2] == kind and spans[-1][1] == before:
            spans[-1] = spans[-1][0], end, kind
        elif tag != "O":
            spans.append((start, end, kind))
    return tuple(EntityAnnotation(start, end, kind, text[start:end]) for start, end, kind in spans)


def main() -> int:
    """Print the tables; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--xsid", type=Path, help="the folder of xSID's sentences")
    options = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    good = own_table()
    if options.xsid is not None:
        xsid_table(options.xsid)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
