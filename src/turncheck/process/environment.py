"""Which environment variables are passed on: secrets of the job stay with the job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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


def expand(text: str, environment: Mapping[str, str], location: Location | None = None) -> str:
    """Replace each ``${NAME}`` by the variable's value.

    Raises:
        UserError: the variable is not set, or is private.
    """

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if is_private(name):
            raise UserError(
                f"'${{{name}}}' is not expanded: variables of this kind stay with the job",
                location=location,
                remedy="Hand the value over under another name.",
            )
        if name not in environment:
            raise UserError(f"the environment variable '{name}' is not set", location=location, remedy="Set it.")
        return environment[name]

    return _VARIABLE.sub(value, text)


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
