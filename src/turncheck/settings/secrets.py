"""Secrets that settings hold: given by flag or input, or by a variable of the job, which no list of processes shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.process.environment import secret_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.process.environment import Secret
    from turncheck.settings.options import Settings

_PREFIX: Final = "TURNCHECK_"


def variable_of(name: str) -> str:
    """Return the variable that gives a secret.

    >>> variable_of("bot-token")
    'TURNCHECK_BOT_TOKEN'
    """
    return _PREFIX + name.upper().replace("-", "_")


def secret_setting(settings: Settings, name: str, environment: Mapping[str, str]) -> Secret | None:
    """Return a secret setting, by its name with dashes; a flag or an input wins over the variable.

    Raises:
        UserError: the variable holds what cannot be sent.
    """
    given: Secret | None = getattr(settings, name.replace("-", "_"))
    return given or secret_of(environment, variable_of(name))
