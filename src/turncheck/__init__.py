"""turncheck: tests for chat assistants, on every pull request.

What Python programs may use is :data:`__all__`, see docs/plugins.md; everything else is private. The names are
imported when they are first used, so that ``import turncheck`` and ``turncheck --version`` cost nothing. Their types
are in ``__init__.pyi``.
"""

from importlib import import_module

__version__ = "0.1.0"

__all__ = [
    "Outcome",
    "Report",
    "UserError",
    "__version__",
    "compare",
    "parse",
    "read_project",
    "run",
    "validate",
]


def __getattr__(name: str) -> object:
    if name == "run":  # a package of this name is there as well, and can be called
        return import_module("turncheck.run")
    if name in __all__:
        return getattr(import_module("turncheck.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
