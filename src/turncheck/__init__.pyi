# The types of what Python programs may use; `__init__.py` imports it lazily.

from turncheck.api import Outcome as Outcome
from turncheck.api import Report as Report
from turncheck.api import UserError as UserError
from turncheck.api import compare as compare
from turncheck.api import parse as parse
from turncheck.api import read_project as read_project
from turncheck.api import run as run
from turncheck.api import validate as validate

__version__: str

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
