"""The embedded NLU engine beside bare scikit-learn, on public corpora.

    python benchmarks/nlu.py [--corpora ../shared/corpora] [--rasa] [--scale] [--folds]

Measured in one run, each row in a process of its own on one core: accuracy on the official test part, token micro-F1 of
entities, expected calibration error of both (ten bins), CPU time of training (imports aside), sentences understood a
second of CPU time in one batch and one by one, and the process's largest memory. Prints Markdown tables.

*scikit-learn* is the bare recipe: two TfidfVectorizers, ``LinearSVC(multi_class="crammer_singer")``, a second one
for the temperature. ``--rasa`` adds Rasa's LogisticRegressionClassifier after its two default
CountVectorsFeaturizers, as it runs here (same answers as Rasa's). Where sentence vectors are installed, *turncheck,
vectors* is the stand-in with ``--vectors``; its times include computing them. ``--folds`` compares five-fold
cross-validation, ``--scale`` grows the training data. Ends with 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from turncheck.messages.finding import NOWHERE
from turncheck.project.model import Component, Config, Project
from turncheck.project.nlu_data import Example, NluData
from turncheck.project.reader import read_project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turncheck.engines.conversation import Parse

Pipeline = tuple[tuple[str, dict[str, Any]], ...]

CORPORA = ("banking77", "snips", "nlupp_banking")
STAND_IN: Pipeline = (("WhitespaceTokenizer", {}), ("DIETClassifier", {}))
STAND_IN_MULTI: Pipeline = (
    ("WhitespaceTokenizer", {"intent_tokenization_flag": True, "intent_split_symbol": "+"}),
    ("DIETClassifier", {}),
)
RASAS: Pipeline = (
    ("WhitespaceTokenizer", {}),
    ("CountVectorsFeaturizer", {}),
    ("CountVectorsFeaturizer", {"analyzer": "char_wb", "min_ngram": 1, "max_ngram": 4}),
    ("LogisticRegressionClassifier", {}),
)
LIMITS = {"folds": 1.3, "batch": 10_000, "batch with entities": 3_000, "single": 250, "megabytes": 1_000}


@dataclass(frozen=True)
class Row:
    """What was measured of one engine on one corpus."""

    accuracy: float
    calibration: float
    entities: float | None
    entity_calibration: float | None
    fit: float
    batch: float
    single: float
    megabytes: float


def read_examples(path: Path) -> tuple[Example, ...]:
    return read_project(path.parent, data=[path]).nlu.examples


def project_of(examples: Sequence[Example], pipeline: Pipeline) -> Project:
    components = tuple(Component(name, parameters, NOWHERE) for name, parameters in pipeline)
    return Project(Path(), "benchmark", nlu=NluData(tuple(examples)), config=Config(pipeline=components))


def measure_engine(corpus: Path, pipeline: Pipeline, vectors: bool = False) -> Row:
    import sklearn.svm  # noqa: F401 - its import is not part of the measured training

    from turncheck.engines.embedded.nlu.sentence_vectors import chosen_vectors  # as below
    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # in the child process only

    test = read_examples(corpus / "test.yml")
    project = project_of(read_examples(corpus / "train.yml"), pipeline)
    begin = time.process_time()
    engine = EmbeddedNluTrainer(seed=0, vectors=chosen_vectors(vectors)).fit(project)
    fit = time.process_time() - begin
    texts = [example.text for example in test]
    some = min(300, len(texts) // 2)  # other ones than in the batch: a known text's vector would cost nothing
    begin = time.process_time()
    parses = [parse for text in texts[:some] for parse in engine.parse([text])]
    single = some / (time.process_time() - begin)
    begin = time.process_time()
    parses += engine.parse(texts[some:])
    batch = (len(texts) - some) / (time.process_time() - begin)
    right = [parse.intent.name == example.intent for parse, example in zip(parses, test, strict=True)]
    confidences = [parse.intent.confidence for parse in parses]
    return Row(
        sum(right) / len(right),
        calibration_error(right, confidences),
        token_f1(test, parses) if engine.extractors else None,
        entity_calibration_error(test, parses) if engine.extractors else None,
        fit,
        batch,
        single,
        megabytes(),
    )


def measure_recipe(corpus: Path) -> Row:
    import sklearn.svm  # noqa: F401 - as above

    train, test = read_examples(corpus / "train.yml"), read_examples(corpus / "test.yml")
    begin = time.process_time()
    model = fit_recipe([one.text for one in train], [str(one.intent) for one in train])
    fit = time.process_time() - begin
    texts = [example.text for example in test]
    begin = time.process_time()
    answers = predict_recipe(model, texts)
    batch = len(texts) / (time.process_time() - begin)
    begin = time.process_time()
    for text in texts[:300]:
        predict_recipe(model, [text])
    single = len(texts[:300]) / (time.process_time() - begin)
    right = [answer == example.intent for (answer, _), example in zip(answers, test, strict=True)]
    error = calibration_error(right, [confidence for _, confidence in answers])
    return Row(sum(right) / len(right), error, None, None, fit, batch, single, megabytes())


def fit_recipe(texts: Sequence[str], labels: Sequence[str]) -> tuple[Any, Any, float]:
    import warnings  # next to its use

    import numpy as np  # in the child process only
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_union
    from sklearn.svm import LinearSVC

    warnings.simplefilter("ignore")
    vectorizer = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+"),  # noqa: S106 - no password
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3), sublinear_tf=True, min_df=2),
    )
    features, truth = vectorizer.fit_transform(texts), np.array(labels)

    def fit(rows: Any) -> Any:
        svm = LinearSVC(multi_class="crammer_singer", C=0.5, tol=0.03, random_state=0)
        return svm.fit(features[rows], truth[rows])

    order = np.random.default_rng(0).permutation(len(texts))
    held_out, kept = order[: len(texts) // 10], order[len(texts) // 10 :]
    model, judge = fit(np.arange(len(texts))), fit(kept)
    known = held_out[np.isin(truth[held_out], judge.classes_)]
    scores, columns = judge.decision_function(features[known]), np.searchsorted(judge.classes_, truth[known])

    def loss(log_factor: float) -> float:
        return float(-log_softmax(scores * math.exp(log_factor), axis=1)[np.arange(len(known)), columns].mean())

    return vectorizer, model, math.exp(minimize_scalar(loss, bounds=(-2, 5), method="bounded").x)


def predict_recipe(model: tuple[Any, Any, float], texts: Sequence[str]) -> list[tuple[str, float]]:
    from scipy.special import softmax  # in the child process only

    vectorizer, svm, factor = model
    probabilities = softmax(svm.decision_function(vectorizer.transform(texts)) * factor, axis=1)
    best = probabilities.argmax(axis=1)
    return [(str(svm.classes_[column]), float(row[column])) for column, row in zip(best, probabilities, strict=True)]


def calibration_error(right: Sequence[bool], confidences: Sequence[float]) -> float:
    """Expected calibration error over ten bins of equal width."""
    bins: dict[int, list[tuple[bool, float]]] = {}
    for good, confidence in zip(right, confidences, strict=True):
        bins.setdefault(min(int(confidence * 10), 9), []).append((good, confidence))
    gaps = (abs(sum(good for good, _ in members) - sum(sure for _, sure in members)) for members in bins.values())
    return sum(gaps) / len(right)


def entity_calibration_error(examples: Sequence[Example], parses: Sequence[Parse]) -> float:
    """The same of the entities found; one is right with its type and exact borders."""
    answers = [
        ((found.start, found.end, found.entity) in {(one.start, one.end, one.entity) for one in example.entities}, sure)
        for example, parse in zip(examples, parses, strict=True)
        for found in parse.entities
        if (sure := found.confidence) is not None
    ]
    return calibration_error([right for right, _ in answers], [sure for _, sure in answers])


def token_f1(examples: Sequence[Example], parses: Sequence[Parse]) -> float:
    """Micro-averaged F1 over tokens: each has the type of the entity it shares most characters with."""
    hits = found = there = 0
    for example, parse in zip(examples, parses, strict=True):
        for span in parse.tokens or ():
            truth, answer = label(span, example.entities), label(span, parse.entities)
            hits += truth is not None and truth == answer
            found += answer is not None
            there += truth is not None
    return 2 * hits / max(1, found + there)


def label(span: tuple[int, int], entities: Sequence[Any]) -> str | None:
    shared = [(min(span[1], one.end) - max(span[0], one.start), one.entity) for one in entities]
    best = max(shared, key=lambda pair: pair[0], default=(0, None))
    return best[1] if best[0] > 0 else None


def megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_folds(corpus: Path, engine: str) -> float:
    """CPU seconds of five-fold cross-validation: train on four fifths, understand one, five times."""
    import sklearn.svm  # noqa: F401 - as above

    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # in the child process only

    examples = read_examples(corpus / "train.yml")
    trainer = EmbeddedNluTrainer(seed=0)
    begin = time.process_time()
    for fold in range(5):
        train = [one for index, one in enumerate(examples) if index % 5 != fold]
        test = [one.text for index, one in enumerate(examples) if index % 5 == fold]
        if engine == "turncheck":
            trainer.fit(project_of(train, STAND_IN)).parse(test)
        else:
            predict_recipe(fit_recipe([one.text for one in train], [str(one.intent) for one in train]), test)
    return time.process_time() - begin


def measure_scale(corpus: Path, count: int) -> tuple[float, float]:
    """CPU seconds of training and largest memory with this many distinct sentences, made from the corpus's own."""
    import sklearn.svm  # noqa: F401 - as above

    from turncheck.engines.embedded.nlu.trainer import EmbeddedNluTrainer  # in the child process only

    project = project_of(grown(read_examples(corpus / "train.yml"), count), STAND_IN)
    begin = time.process_time()
    EmbeddedNluTrainer(seed=0).fit(project)
    return time.process_time() - begin, megabytes()


def grown(examples: Sequence[Example], count: int) -> list[Example]:
    random = Random(0)
    if count <= len(examples):
        return random.sample(examples, count)
    texts = {example.text: example for example in examples}
    while len(texts) < count:
        one, other = random.choice(examples), random.choice(examples).text.split()
        start = random.randrange(len(other))
        text = " ".join([one.text, *other[start : start + 2]])
        texts.setdefault(text, Example(text, one.intent, one.entities))
    return list(texts.values())


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a fresh process with one thread, and return its result."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def corpus_table(corpora: Path, *, with_rasas: bool) -> bool:
    print(
        "| corpus | engine | accuracy | calibration error | entities F1 | their calibration error "
        "| fit, CPU s | batch/s | single/s | MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    good = True
    for name in CORPORA:
        runs: list[tuple[str, Callable[..., Row], tuple[Any, ...]]] = [
            ("scikit-learn", measure_recipe, ()),
            ("turncheck", measure_engine, (STAND_IN,)),
        ]
        if name.startswith("nlupp"):
            runs.append(("turncheck, multi-intents", measure_engine, (STAND_IN_MULTI,)))
        if vectors_are_installed():
            pipeline = STAND_IN_MULTI if name.startswith("nlupp") else STAND_IN
            runs.append((runs[-1][0] + ", vectors", measure_engine, (pipeline, True)))
        if with_rasas:
            runs.append(("LogisticRegressionClassifier", measure_engine, (RASAS,)))
        for engine, function, arguments in runs:
            row = in_own_process(function, corpora / name, *arguments)
            f1 = "–" if row.entities is None else f"{100 * row.entities:.1f}"
            error = "–" if row.entity_calibration is None else f"{row.entity_calibration:.3f}"
            print(
                f"| {name} | {engine} | {100 * row.accuracy:.2f} | {row.calibration:.3f} | {f1} | {error} "
                f"| {row.fit:.2f} | {row.batch:,.0f} | {row.single:,.0f} | {row.megabytes:.0f} |",
                flush=True,
            )
            if engine in {"turncheck", "turncheck, multi-intents"} and (name, engine) != (
                "nlupp_banking",
                "turncheck",
            ):  # 757 plain classes
                least = LIMITS["batch"] if row.entities is None else LIMITS["batch with entities"]
                good = good and row.batch >= least and row.single >= LIMITS["single"]
    return good


def vectors_are_installed() -> bool:
    from turncheck.engines.embedded.nlu.sentence_vectors import SentenceVectors  # only imported here
    from turncheck.messages.errors import UserError

    try:
        SentenceVectors.installed()
    except UserError as missing:
        print(f"{missing} {missing.hint}", file=sys.stderr)
        return False
    return True


def fold_table(corpora: Path) -> bool:
    ours, bare = (
        in_own_process(measure_folds, corpora / "banking77", engine) for engine in ("turncheck", "scikit-learn")
    )
    print("\n| five folds of banking77 | CPU s |\n|---|---|")
    print(f"| scikit-learn | {bare:.2f} |\n| turncheck | {ours:.2f} |\n| ratio | {ours / bare:.2f} |")
    return bool(ours <= LIMITS["folds"] * bare)


def scale_table(corpora: Path) -> bool:
    print("\n| corpus | sentences | fit, CPU s | MB |\n|---|---|---|---|")
    good = True
    for name in ("banking77", "snips"):
        before = math.inf
        for count in (1_000, 10_000, 100_000):
            seconds, memory = in_own_process(measure_scale, corpora / name, count)
            print(f"| {name} | {count:,} | {seconds:.2f} | {memory:.0f} |", flush=True)
            allowed = before * 10 * math.log(count) / math.log(count / 10)
            good = good and seconds <= allowed * 1.2 and memory <= LIMITS["megabytes"]  # a fifth for measurement noise
            before = seconds
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpora", type=Path, default=Path(__file__).parents[1] / ".." / "shared" / "corpora")
    for option in ("rasa", "scale", "folds"):
        parser.add_argument(f"--{option}", action="store_true")
    options = parser.parse_args()
    if not options.corpora.is_dir():
        print(f"there are no corpora at {options.corpora}: name their folder with --corpora", file=sys.stderr)
        return 2
    os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    good = corpus_table(options.corpora, with_rasas=options.rasa)
    if options.folds:
        good = fold_table(options.corpora) and good
    if options.scale:
        good = scale_table(options.corpora) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
