"""Which environment variables are passed on: secrets of the job stay with the job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turncheck.messages.location import Location

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_PRIVATE_PREFIXES = ("INPUT_", "ACTIONS_", "CI_JOB_JWT", "TURNCHECK_KORE_", "TURNCHECK_CACHE_")
_PRIVATE = frozenset({"CI_REPOSITORY_URL", "CI_REGISTRY_PASSWORD", "CI_DEPLOY_PASSWORD"})
"""GitLab's, which hold its tokens under other names."""


def is_private(name: str) -> bool:
    """Whether the variable is only for the job: inputs of the action, the runner's own, tokens."""
    upper = name.upper()
    return upper.startswith(_PRIVATE_PREFIXES) or "TOKEN" in upper or upper in _PRIVATE


def for_child(environment: Mapping[str, str], added: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Return the environment of a child process: ours without what is private, and what was requested by name."""
    return {**{name: value for name, value in environment.items() if not is_private(name)}, **dict(added)}


@dataclass(frozen=True, slots=True)
class FileVariables:
    """What ``${NAME}`` in a project's file stands for.

    ``given`` is what was handed over for that by name (``env``). ``environment`` is that of the process, of which files
    get what is not private; ``None`` in the action, where whoever opens a pull request writes them: they get no more
    than was handed over.
    """

    given: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def is_limited(self) -> bool:
        """Whether files get only what was handed over."""
        return self.environment is None

    def value_of(self, name: str, location: Location | None) -> str:
        """Return the value of a variable.

        Raises:
            UserError: it is not set, is private, or was not handed over.
        """
        if name in self.given:
            return self.given[name]
        if self.environment is None:
            raise UserError(
                f"'${{{name}}}' is not expanded: the action's input `env` hands over no variable '{name}'",
                location=location,
                remedy=f"Add a line {name}=VALUE to it in the workflow; other variables of the job are not read.",
            )
        if is_private(name):
            raise UserError(
                f"'${{{name}}}' is not expanded: variables of this kind stay with the job",
                location=location,
                remedy=f"Hand the value over by name: --env {name}=VALUE.",
            )
        if name not in self.environment:
            raise UserError(f"the environment variable '{name}' is not set", location=location, remedy="Set it.")
        return self.environment[name]


def expand(text: str, variables: FileVariables | Mapping[str, str], location: Location | None = None) -> str:
    """Replace each ``${NAME}`` by the variable's value. A plain mapping is the environment of the process.

    Raises:
        UserError: the variable is not set, is private, or was not handed over.
    """
    of = FileVariables(environment=variables) if isinstance(variables, Mapping) else variables
    return _VARIABLE.sub(lambda found: of.value_of(found[1], location), text)


_NUMBERS_OF_LIBRARIES = (
    *("LOKY_MAX_CPU_COUNT", "JOBLIB_MULTIPROCESSING", "SKLEARN_WORKING_MEMORY", "SKLEARN_PAIRWISE_DIST_CHUNK_SIZE"),
)
"""joblib and scikit-learn read them as whole numbers when they are imported, and fail if they are not."""


def ensure_numbers(environment: Mapping[str, str]) -> None:
    """Make sure that the libraries can read what the environment sets for them.

    Raises:
        UserError: a value is not a number.
    """
    for name in _NUMBERS_OF_LIBRARIES:
        if name in environment and not re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", environment[name]):
            shown = environment[name][:40]
            raise UserError(f"the environment variable {name} is not a whole number: {shown!r}", remedy="Unset it.")


def whole_number(text: str) -> int | None:
    """Return the number that a variable holds, ``None`` if it holds something else."""
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None
