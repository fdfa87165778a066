"""Numeric libraries have one thread in a block, also those that were loaded after the first block."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import importlib
from threadpoolctl import threadpool_info
from turncheck.process.one_thread import one_thread

def threads():
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

seen = 0
for module in ("numpy", "scipy.linalg"):
    importlib.import_module(module)
    outside = threads()
    assert len(outside) > seen, module
    seen = len(outside)
    with one_thread("blas"):
        assert set(threads()) == {1}, module
    assert threads() == outside, module
"""


def test_libraries_have_one_thread_in_a_block_and_what_they_had_behind_it() -> None:
    subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "2"}, timeout=100
    )
