"""The names in a project's Python code, and the code of its custom actions: read, never run."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from turncheck.process.existing import is_file, is_link
from turncheck.process.regular_file import TooLargeError, read_regular
from turncheck.project.own_folders import own_folders

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_QUOTED: Final = re.compile(r"""(["'])([\w./ -]{1,200}?)\1""")
_CALLED: Final = re.compile(r"""\b(?:FollowupAction|ActionExecuted)\(\s*(?:\w+\s*=\s*)?["']([\w./ -]{1,200})["']""")
_LARGEST: Final = 1024 * 1024
_MOST_FILES: Final = 2000


@dataclass(frozen=True, slots=True)
class CodeNames:
    """``quoted``: all short strings, including slots that an action reads; ``called``: actions that the code calls."""

    quoted: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()


def names_in_code(root: Path) -> CodeNames:
    """Search the ``*.py`` files below a folder; environments, links and files over 1 MiB are left out."""
    quoted: set[str] = set()
    called: set[str] = set()
    for text in _texts(root):
        quoted.update(match[2] for match in _QUOTED.finditer(text))
        called.update(match[1] for match in _CALLED.finditer(text))
    return CodeNames(frozenset(quoted), frozenset(called))


def defines_class(root: Path, path: str) -> bool:
    """Whether the module of ``package.module.Class`` is below a folder and seems to define that name.

    It is not imported, and not read if it is a link out of the folder; it is then assumed to define the name.
    """
    *modules, name = path.split(".")
    if not modules or not all(part.isidentifier() for part in (*modules, name)):
        return False
    package = root.joinpath(*modules, "__init__.py")
    module = package if is_file(package) else root.joinpath(*modules[:-1], f"{modules[-1]}.py")
    if not is_file(module):
        return False
    if not module.resolve().is_relative_to(root.resolve()):
        return True
    try:
        text = read_regular(module, most=_LARGEST, inside=root).decode("utf-8", "replace")
    except TooLargeError:
        text = ""
    except OSError:
        return False
    return re.search(_BINDING.format(name=re.escape(name)), text, re.MULTILINE) is not None


_BINDING: Final = (
    r"^[ \t]*(?:class[ \t]+{name}\b|{name}[ \t]*[:=]|(?:from|import)\b.*(?:\b{name}\b|\*)|def[ \t]+__getattr__\b"
    r"|(?:\w+[ \t]+as[ \t]+)?{name}[ \t]*,?[ \t]*(?:#.*)?$)"
)
"""A line that may bind a name: a class, an assignment, an import or a line of a multi-line import."""


def code_of_actions(root: Path) -> dict[str, str]:
    """Return the code of each custom action by the name in its class, without comments and layout.

    A class of rasa-sdk returns its action's name in ``def name(self): return "action_x"``. What it calls in other
    modules is not examined.
    """
    found: dict[str, list[str]] = {}
    for text in _texts(root):
        if "def name" not in text:
            continue
        try:
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.ClassDef) and (name := _action_name(node)):
                    found.setdefault(name, []).append(ast.unparse(node))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the action server will report its fault
    return {name: "\n".join(sorted(classes)) for name, classes in found.items()}


def _action_name(node: ast.ClassDef) -> str | None:
    for part in node.body:
        if isinstance(part, ast.FunctionDef) and part.name == "name":
            for statement in part.body:
                if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Constant):
                    return statement.value.value if isinstance(statement.value.value, str) else None
    return None


def _texts(root: Path) -> Iterator[str]:
    for path in islice(_python_files(root), _MOST_FILES):
        try:
            yield read_regular(path, most=_LARGEST, follow=False).decode("utf-8", "replace")
        except OSError:
            continue  # a file that cannot be read has no names


def _python_files(root: Path) -> Iterator[Path]:
    """In the order of their paths, a folder's own files first."""
    for folder in own_folders(root):
        yield from (path for path in folder.entries if path.suffix == ".py" and not is_link(path))
