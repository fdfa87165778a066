"""Which tests a change reaches: those whose imports, and what these import, lead to a changed module.

    python -m tools.reached_tests [--since origin/main] [FOLDER ...]

Prints their files, one a line. A test that starts turncheck by its command line is reached by every module, as commands
are imported by name; so is everything by a change of what is no module (`pyproject.toml`, data), but for text, which
reaches the tests that name the file or its folder.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import grimp

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT: Final = Path(__file__).parents[1]
TESTS: Final = ROOT / "tests"
SOURCE: Final = ROOT / "src"
STARTS: Final = frozenset({"turncheck.cli", "turncheck.api", "turncheck.action", "turncheck.pytest_plugin"})
"""What imports its parts by name: whoever imports one of these may reach any module."""
TEXT: Final = frozenset({".md", ".rst"})


def changed_files(since: str) -> list[Path]:
    """Return the files that differ from the point at which a branch began, and those that git does not know yet."""
    begin = _git("merge-base", since, "HEAD").strip()
    names = _git("diff", "--name-only", begin) + _git("ls-files", "--others", "--exclude-standard")
    return [ROOT / name for name in dict.fromkeys(names.splitlines())]


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def reached_tests(changed: Iterable[Path], folders: Iterable[Path] = (TESTS,)) -> list[Path]:
    """Return the test files below some folders that a change of these files reaches."""
    changed = [path.resolve() for path in changed]
    tests = sorted(path for folder in folders for path in folder.resolve().rglob("test_*.py"))
    if any(_reaches_everything(path) for path in changed):
        return tests
    modules = {module_of(path) for path in changed if path.is_relative_to(SOURCE) and path.suffix == ".py"}
    reached = modules | {user for module in modules for user in _users(module)} | (STARTS if modules else set())
    reached |= {f"tools.{path.stem}" for path in changed if path.is_relative_to(ROOT / "tools")}
    return [test for test in tests if _is_reached(test, frozenset(changed), frozenset(reached))]


def module_of(path: Path) -> str:
    """Return the name of the module that a file below `src` is."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _reaches_everything(path: Path) -> bool:
    is_module = path.suffix == ".py" and any(map(path.is_relative_to, (SOURCE, TESTS, ROOT / "tools")))
    return path.name == "conftest.py" or not (is_module or path.suffix in TEXT)


@cache
def graph() -> grimp.ImportGraph:
    """Return the imports of turncheck's modules."""
    return grimp.build_graph("turncheck")


def _users(module: str) -> set[str]:
    return graph().find_downstream_modules(module) if module in graph().modules else set()


def _is_reached(test: Path, changed: frozenset[Path], modules: frozenset[str]) -> bool:
    files = {test, *_helpers(test)}
    if files & changed or any(_names(file, text) for file in files for text in changed if text.suffix in TEXT):
        return True
    imported = {name for file in files for name in imports(file)}
    return bool(imported & modules)


def _names(file: Path, text: Path) -> bool:
    """Whether a file of the tests names a page, or in quotes the folder that it is in."""
    source = _source(file)
    return text.name in source or f'"{text.parent.name}"' in source


@cache
def _source(file: Path) -> str:
    return file.read_text("utf-8")


@cache
def imports(file: Path) -> frozenset[str]:
    """Return the modules that a file of the tests imports, wherever; `from x import y` may name two."""
    return frozenset(_imported(ast.parse(_source(file))))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def _helpers(file: Path) -> frozenset[Path]:
    """Return the files beside the tests that a test imports, and those that they import."""
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        for name in imports(waiting.pop()):
            path = _beside().get(name.partition(".")[0])
            if path is not None and path not in found:
                found.add(path)
                waiting.append(path)
    return frozenset(found)


@cache
def _beside() -> dict[str, Path]:
    return {path.stem: path for path in TESTS.rglob("*.py") if not path.stem.startswith(("test_", "conftest"))}


def main() -> int:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--since", default="origin/main")
    parser.add_argument("folders", nargs="*", type=Path, default=[TESTS])
    options = parser.parse_args()
    for test in reached_tests(changed_files(options.since), options.folders):
        print(test.relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
