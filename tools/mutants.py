"""Breaks one thing at a time where a silent break opens a gate or leaks a secret, and names what no test notices.

    make mutants                       # 60 mutants, about two hours on two cores
    python -m tools.mutants --count 20 --seed 7 [--workers 2] [MODULE ...]

A mutant is one changed expression of one of ``GUARDED``: a comparison turned, a condition negated, `and` for `or`, a
constant moved by one, a result that is nothing. The unit tests that its module reaches run on a copy of the checkout
until one fails. Prints each survivor with its line, as it was and as it is; ends with 1 if there is one, with 2 if the
tests fail as it is.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple

from tools.reached_tests import ROOT, SOURCE, TESTS, reached_tests

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

GUARDED: Final = (
    "ci/base.py",
    "ci/comment.py",
    "ci/earlier_reports.py",
    "ci/host.py",
    "comparison/hidden.py",
    "comparison/quarantine.py",
    "comparison/significance.py",
    "process/environment.py",
    "process/places.py",
    "render/sinks/markdown.py",
    "report/codec.py",
    "run/shards/merge.py",
    "settings/bot_hosts.py",
    "settings/sources.py",
    "web/addresses.py",
    "web/exchange.py",
)
"""Below `src/turncheck`, beside the modules of the package of gates."""
SECONDS: Final = 900
TURNED: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


class Mutant(NamedTuple):
    """A module with one changed place: what it was and what it is, as source."""

    module: str
    line: int
    before: str
    after: str
    source: str


def guarded() -> list[str]:
    """Return the modules to break, below `src/turncheck`."""
    package = SOURCE / "turncheck"
    gates = [str(path.relative_to(package)) for path in sorted((package / "gates").glob("*.py"))]
    return [*GUARDED, *(name for name in gates if not name.endswith("__init__.py"))]


def mutants_of(module: str, source: str) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        if (changed := _mutated(node)) is None:
            continue
        other = copy.deepcopy(tree)
        place = next(one for count, one in enumerate(ast.walk(other)) if count == number)
        _put(other, place, changed)
        line = getattr(node, "lineno", 0)
        yield Mutant(
            module, line, ast.unparse(node), ast.unparse(changed), ast.unparse(ast.fix_missing_locations(other))
        )


def _mutated(node: ast.AST) -> ast.AST | None:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in TURNED:
            return ast.Compare(node.left, [TURNED[type(operator)]()], node.comparators)
        case ast.BoolOp(op=ast.And()):
            return ast.BoolOp(ast.Or(), node.values)
        case ast.BoolOp(op=ast.Or()):
            return ast.BoolOp(ast.And(), node.values)
        case ast.UnaryOp(op=ast.Not()):
            return node.operand
        case ast.If() | ast.IfExp():
            test = ast.UnaryOp(ast.Not(), node.test)
            return type(node)(**{**dict(ast.iter_fields(node)), "test": test, "lineno": node.lineno, "col_offset": 0})
        case ast.Constant(value=bool() as value):
            return ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            return ast.Constant(value + 1)
        case ast.Return(value=ast.expr()):
            return ast.Return(ast.Constant(None), lineno=node.lineno)
        case _:
            return None


def _put(tree: ast.AST, place: ast.AST, changed: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is place:
                setattr(parent, field, changed)
                return
            if isinstance(value, list) and any(item is place for item in value):
                value[next(index for index, item in enumerate(value) if item is place)] = changed
                return


def drawn(modules: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Return a sample of their mutants: each module has its turn."""
    chance = random.Random(seed)
    of_module = []
    for module in modules:
        mutants = list(mutants_of(module, (SOURCE / "turncheck" / module).read_text("utf-8")))
        chance.shuffle(mutants)
        of_module.append(mutants)
    chance.shuffle(of_module)
    turns = [
        mutants[turn]
        for turn in range(max(map(len, of_module), default=0))
        for mutants in of_module
        if turn < len(mutants)
    ]
    return turns[:count]


def is_noticed(mutant: Mutant, checkout: Path) -> bool:
    """Whether a unit test fails on a mutant in a copy of the checkout."""
    path = checkout / "src" / "turncheck" / mutant.module
    original = path.read_text("utf-8")
    path.write_text(mutant.source, "utf-8")
    try:
        return not passes([mutant.module], checkout)
    finally:
        path.write_text(original, "utf-8")


def passes(modules: Sequence[str], checkout: Path) -> bool:
    """Whether the unit tests that some modules reach pass in a copy of the checkout, in time."""
    tests = reached_tests([SOURCE / "turncheck" / module for module in modules], [TESTS / "unit"])
    chosen = ("-q", "-x", "-n", "0", "-m", "not rasa and not image and not bench and not slow")
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *chosen, *(str(test.relative_to(ROOT)) for test in tests)],
            cwd=checkout,
            env={**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return ended.returncode == 0


def main() -> int:
    """Break, test, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("modules", nargs="*", default=guarded())
    options = parser.parse_args()
    mutants = drawn(options.modules, options.count, options.seed)
    survivors = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.workers):
            copied = Path(folder, str(number))
            shutil.copytree(ROOT, copied, ignore=shutil.ignore_patterns(".venv*", ".git", ".*cache", "results", "site"))
            free.put(copied)

        if not passes(options.modules, Path(folder, "0")):
            print("the tests fail before anything is broken", file=sys.stderr)
            return 2

        def tried(mutant: Mutant) -> bool:
            checkout = free.get()
            try:
                return is_noticed(mutant, checkout)
            finally:
                free.put(checkout)

        for mutant, noticed in zip(mutants, pool.map(tried, mutants), strict=True):
            survivors += not noticed
            if not noticed:
                print(f"survived: {mutant.module}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants were noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
