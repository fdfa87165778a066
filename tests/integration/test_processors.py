"""The same report on every processor: OpenBLAS is told to compute as it does on four of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__  # type: ignore[import-not-found]
from once import once

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
CPU = Path("/proc/cpuinfo")
HAS_AVX_512 = CPU.exists() and "avx512vl" in CPU.read_text(encoding="utf-8")
NEWEST = "SkylakeX" if HAS_AVX_512 else "Sandybridge"
"""OpenBLAS does as it is told: the first one ends with an illegal instruction where the processor has no AVX-512."""
OLDEST = "Prescott"
KERNELS = {NEWEST: NEWEST, "Haswell": "Haswell", OLDEST: "Katmai", "Nehalem": "Nehalem"}
"""What is asked for, and the kernel that OpenBLAS then names."""
PROJECTS = (
    "examples/pizzeria",
    "examples/bike_workshop",
    "examples/migration/rasa-1",
    "tests/oracle/nlu/lr_crf_travel/project",
    "tests/oracle/legacy/convert/json_0x/project",
)
MORE = (
    ("examples/migration/rasa-1", {"strength": "all", "strength_budget": 0, "robustness": True}),
    ("tests/oracle/nlu/roles_groups/project", {"vectors": True, "folds": 3}),
)
"""What takes long is run as on the newest and the oldest processor."""
FRACTION = 1e-4
MANY = "examples/clinic"
"""With more than 800 sentences only some of them are learnt by all classifiers."""
MEASURE = """
import json, sys
from collections import Counter
from pathlib import Path
import numpy, threadpoolctl
print(threadpoolctl.threadpool_info()[0]["architecture"], file=sys.stderr)
import turncheck
from turncheck.report.codec import encode
folder, runs, many = Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
for number, (project, settings) in enumerate(runs):
    report = turncheck.run(project, baseline="none", cache=False, **settings).report
    (folder / f"{number}.json").write_bytes(encode(report))
for project in many:
    from turncheck.engines.embedded.nlu.intent_model import IntentModel
    from turncheck.process.one_thread import one_thread
    from turncheck.project.reader import read_project
    examples = read_project(Path(project)).nlu.in_order().examples
    frequent = {intent for intent, _ in Counter(one.intent for one in examples).most_common(20)}  # all take double
    examples = [one for one in examples if one.intent in frequent]
    learnt, judged = [one for number, one in enumerate(examples) if number % 8 < 7], examples[7::8]
    with one_thread("blas"):  # as every engine trains
        model = IntentModel.train([one.text for one in learnt], [one.intent for one in learnt], 42)
    rows = model.confidences([one.text for one in judged])
    answers = [[model.names[row.argmax()], float(row.max())] for row in rows]
    (folder / "answers.json").write_text(json.dumps({"sentences": len(learnt), "answers": answers}))
"""
"""Names the kernel with which it computes, measures one assistant after the other, and answers after many sentences."""


def environment(kernel: str) -> dict[str, str]:
    """As on such a processor: the oldest has one core, and NumPy's own loops for it are others, too."""
    of_numpy = {"NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__), "OPENBLAS_NUM_THREADS": "1"}
    usual = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    return {**usual, "OPENBLAS_CORETYPE": kernel, **(of_numpy if kernel == OLDEST else {})}


class Measured(NamedTuple):
    """What one processor makes of the assistants; of what takes long on the newest and the oldest alone."""

    reports: list[Any]
    of_more: list[Any]
    answers: Any


Measuring = Callable[[str], Measured]


@pytest.fixture
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measuring:
    """Give what is measured as on a processor: by one process for all tests, as what takes long is to start it."""
    return lambda kernel: Measured(
        *once(f"processor-{kernel}", tmp_path_factory, lambda: measure(kernel, tmp_path_factory.mktemp(kernel)))
    )


def measure(kernel: str, folder: Path) -> Measured:
    longer = kernel in {NEWEST, OLDEST}
    runs = [*((str(ROOT / one), {}) for one in PROJECTS), *((str(ROOT / one), more) for one, more in MORE if longer)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder), json.dumps(runs), *([str(ROOT / MANY)] if longer else [])],
        env=environment(kernel),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.split()[0] == KERNELS[kernel]
    reports = [json.loads((folder / f"{number}.json").read_bytes()) for number in range(len(runs))]
    reports = [{name: part for name, part in one.items() if name not in {"timings", "source"}} for one in reports]
    answers = json.loads((folder / "answers.json").read_bytes()) if longer else None
    return Measured(reports[: len(PROJECTS)], reports[len(PROJECTS) :], answers)


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Name what differs: fractions by more than a ten-thousandth, anything else at all."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key, value in one.items():
            yield from differences(value, other[key], f"{where}/{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{where}/{place}")
    elif isinstance(one, float) and isinstance(other, float):
        if abs(one - other) > FRACTION:
            yield f"{where}: {one} and {other}"
    elif one != other:
        yield f"{where}: {one!r} and {other!r}"


@pytest.mark.parametrize("kernel", [one for one in KERNELS if one != NEWEST])
def test_labels_outcomes_and_counts_are_the_same_and_fractions_nearly(kernel: str, measured: Measuring) -> None:
    for project, newest, other in zip(PROJECTS, measured(NEWEST).reports, measured(kernel).reports, strict=True):
        assert list(differences(newest, other, project)) == []


@pytest.mark.slow
def test_faults_variations_and_sentence_vectors_are_the_same(measured: Measuring) -> None:
    newest, oldest = measured(NEWEST).of_more, measured(OLDEST).of_more
    assert len(newest) == len(MORE)
    assert list(differences(newest, oldest)) == []


@pytest.mark.slow
def test_answers_after_many_sentences_are_the_same(measured: Measuring) -> None:
    newest, oldest = measured(NEWEST).answers, measured(OLDEST).answers
    assert newest["sentences"] > 800
    assert list(differences(newest, oldest)) == []
