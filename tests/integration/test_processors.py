"""The same report on every processor: OpenBLAS is told to compute as it does on four of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__  # type: ignore[import-not-found]

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
    ("examples/migration/rasa-1", "--strength", "all", "--strength-budget", "0", "--robustness"),
    ("tests/oracle/nlu/roles_groups/project", "--vectors", "--folds", "3"),
)
"""What takes long is run as on the newest and the oldest processor."""
FRACTION = 1e-4
OF_MANY_SENTENCES = """
import json, sys
from pathlib import Path
from turncheck.engines.embedded.nlu.intent_model import IntentModel
from turncheck.project.reader import read_project
examples = read_project(Path(sys.argv[1])).nlu.in_order().examples
learnt, judged = [one for number, one in enumerate(examples) if number % 8 < 5], examples[7::8]
model = IntentModel.train([one.text for one in learnt], [one.intent for one in learnt], 42)
rows = model.confidences([one.text for one in judged])
answers = [[model.names[row.argmax()], float(row.max())] for row in rows]
json.dump({"sentences": len(learnt), "answers": answers}, sys.stdout)
"""
"""Trains on part of an assistant's sentences, and answers others."""


def environment(kernel: str) -> dict[str, str]:
    """As on such a processor: the oldest has one core, and NumPy's own loops for it are others, too."""
    of_numpy = {"NPY_DISABLE_CPU_FEATURES": " ".join(__cpu_dispatch__), "OPENBLAS_NUM_THREADS": "1"}
    return {**os.environ, "OPENBLAS_CORETYPE": kernel, **(of_numpy if kernel == OLDEST else {})}


def report_under(kernel: str, project: str, folder: Path, *flags: str) -> Any:
    path = folder / f"{kernel}.json"
    command = [sys.executable, "-m", "turncheck", "run", "--project", str(ROOT / project), "--no-cache"]
    subprocess.run(
        [*command, "--out", str(folder / kernel), "--json", str(path), *flags],
        env=environment(kernel),
        capture_output=True,
        check=False,
    )
    report = json.loads(path.read_text(encoding="utf-8"))
    return {name: part for name, part in report.items() if name not in {"timings", "source"}}


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


@pytest.mark.parametrize("project", PROJECTS)
def test_labels_outcomes_and_counts_are_the_same_and_fractions_nearly(project: str, tmp_path: Path) -> None:
    first, *others = [report_under(kernel, project, tmp_path) for kernel in KERNELS]
    for other in others:
        assert list(differences(first, other)) == []


@pytest.mark.slow
@pytest.mark.parametrize(("project", "flags"), [(project, flags) for project, *flags in MORE])
def test_faults_variations_and_sentence_vectors_are_the_same(project: str, flags: list[str], tmp_path: Path) -> None:
    newest, oldest = (report_under(kernel, project, tmp_path, *flags) for kernel in (NEWEST, OLDEST))
    assert list(differences(newest, oldest)) == []


@pytest.mark.slow
def test_answers_after_many_sentences_are_the_same() -> None:
    """With more than 800 sentences only some of them are learnt by all classifiers."""
    command = [sys.executable, "-c", OF_MANY_SENTENCES, str(ROOT / "examples" / "clinic")]
    newest, oldest = (
        json.loads(subprocess.run(command, env=environment(kernel), capture_output=True, check=True).stdout)
        for kernel in (NEWEST, OLDEST)
    )
    assert newest["sentences"] > 800
    assert list(differences(newest, oldest)) == []


@pytest.mark.parametrize(("asked", "named"), KERNELS.items())
def test_the_kernel_is_the_one_that_was_asked_for(asked: str, named: str) -> None:
    code = "import numpy, threadpoolctl; print(threadpoolctl.threadpool_info()[0]['architecture'])"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == named
