"""Runs a command, and prints which of its calls climb: from a module to one on a higher floor of the import contract.

    python climbs.py test nlu

Imports only go down, so that a climb is a function that was handed down, or a method of something that was. However
many functions of a floor a module calls so, that is one climb: who reads it has to go up once to see what it may be.
"""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.cli import run_command_line

if TYPE_CHECKING:
    from types import FrameType

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = str(ROOT / "src") + "/"
IMPORT: Final = "<module>"


def floors() -> dict[str, int]:
    """Return the number of each room's floor, counted from the top."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    layers = tools["importlinter"]["contracts"][0]["layers"]
    return {room.strip(): number for number, layer in enumerate(layers) for room in re.split(r"[|:]", layer)}


FLOORS: Final = floors()


@cache
def module_of(file: str) -> str:
    """Return the module below ``turncheck`` that a file is, "" if it is none."""
    if not file.startswith(SOURCE + "turncheck/"):
        return ""
    return file.removeprefix(SOURCE + "turncheck/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def floor_of(module: str) -> int:
    """Return the floor of a module, -1 if it has none."""
    while module and module not in FLOORS:
        module = module.rpartition(".")[0]
    return FLOORS.get(module, -1)


class Climbs:
    """The modules that call a higher floor, each with the number of that floor and a module of it."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, int], str] = {}

    def trace(self, frame: FrameType, event: str, _: Any) -> None:
        """Take note of a call."""
        called = module_of(frame.f_code.co_filename)
        if event != "call" or not called or frame.f_code.co_name == IMPORT:
            return
        caller = frame.f_back
        while caller is not None and not module_of(caller.f_code.co_filename):
            caller = caller.f_back  # through a library
        if caller is None or caller.f_code.co_name == IMPORT:
            return
        calling = module_of(caller.f_code.co_filename)
        if 0 <= floor_of(called) < floor_of(calling):
            self.found.setdefault((calling, floor_of(called)), called)


if __name__ == "__main__":
    climbs = Climbs()
    sys.setprofile(climbs.trace)
    code = run_command_line(sys.argv[1:])
    sys.setprofile(None)
    for (calling, _), called in sorted(climbs.found.items()):
        sys.stderr.write(f"CLIMB {calling} -> {called}\n")
    sys.exit(code)
