"""The same report on every processor: OpenBLAS is told to compute as it does on four of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
KERNELS = {"SkylakeX": "SkylakeX", "Haswell": "Haswell", "Prescott": "Katmai", "Nehalem": "Nehalem"}
"""What is asked for, and the kernel that OpenBLAS then names."""
PROJECTS = (
    "examples/pizzeria",
    "examples/bike_workshop",
    "examples/migration/rasa-1",
    "tests/oracle/nlu/lr_crf_travel/project",
    "tests/oracle/legacy/convert/json_0x/project",
)
FRACTION = 1e-4


def report_under(kernel: str, project: str, folder: Path) -> Any:
    path = folder / f"{kernel}.json"
    command = [sys.executable, "-m", "turncheck", "run", "--project", str(ROOT / project), "--no-cache"]
    subprocess.run(
        [*command, "--out", str(folder / kernel), "--json", str(path)],
        env={**os.environ, "OPENBLAS_CORETYPE": kernel},
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


@pytest.mark.parametrize(("asked", "named"), KERNELS.items())
def test_the_kernel_is_the_one_that_was_asked_for(asked: str, named: str) -> None:
    if asked == "SkylakeX" and "avx512vl" not in Path("/proc/cpuinfo").read_text(encoding="utf-8"):
        pytest.skip("this processor has no AVX-512")
    code = "import numpy, threadpoolctl; print(threadpoolctl.threadpool_info()[0]['architecture'])"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "OPENBLAS_CORETYPE": asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == named
