"""A run: settings and project in, Report out, compared with its baseline.

``turncheck.run`` is the name of this package and of the function in :mod:`turncheck.api`, so the package can be called.
"""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    def __call__(self, *arguments: Any, **settings: Any) -> Any:
        return self.__wrapped__(*arguments, **settings)

    @property
    def __wrapped__(self) -> Any:
        """The function, with its signature and documentation."""
        from importlib import import_module

        return import_module("turncheck.api").run


sys.modules[__name__].__class__ = _CallablePackage
