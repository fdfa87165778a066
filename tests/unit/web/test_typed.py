"""Types learnt by many threads at once; in a process of its own, since what goes wrong ends it."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from turncheck.web.exchange import typed

THREADS = """
import sys, threading
import msgspec
from turncheck.web.exchange import typed

sys.setswitchinterval(1e-6)
inner = [msgspec.defstruct(f"Inner{n}", [(f"field{m}", int | None, None) for m in range(20)]) for n in range(60)]
outer = [msgspec.defstruct(f"Outer{n}", [("first", list[one]), ("second", one)]) for n, one in enumerate(inner)]
value = {"first": [{"field1": 1}], "second": {"field2": 2}}
ready = threading.Barrier(8)

def ask():
    for shape in outer:
        ready.wait()
        assert typed(value, shape).first[0].field1 == 1

threads = [threading.Thread(target=ask) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_threads_that_meet_a_type_at_once_all_get_values_of_it() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


def test_another_shape_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        typed("x", int)
