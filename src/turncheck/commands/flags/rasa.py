"""The flags by which ``test`` asks a real Rasa instead of the embedded engine: those of ``run``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.commands.flags.run import add_setting
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    import argparse

    from turncheck.settings.options import Settings

FLAGS: Final = ("engine", "rasa-url", "rasa-token", "rasa-jwt", "rasa-command")
_PATHS: Final = ("config", "domain", "model")


def add_rasa_flags(parser: argparse.ArgumentParser) -> None:
    """Add them as a group of their own."""
    from turncheck.settings.options import options  # noqa: PLC0415 - not for the commands beside this one

    group = parser.add_argument_group("the team's own assistant")
    for name in FLAGS:
        add_setting(group, name, options()[name])


def rasa_settings(namespace: argparse.Namespace, *, workers: int = 0) -> Settings | None:
    """Return what the flags say about Rasa, ``None`` where the embedded engine is to be asked.

    Raises:
        UserError: a flag that is not understood, or that needs the engine 'rasa'.
    """
    from turncheck.engines.choice import refuse_settings_of_rasa  # noqa: PLC0415 - not for --help
    from turncheck.settings.options import combine, from_flags  # noqa: PLC0415

    given = from_flags({name: getattr(namespace, name.replace("-", "_")) for name in FLAGS})
    settings = combine(given)
    if settings.engine != "rasa":
        refuse_settings_of_rasa(settings)
        return None
    if getattr(namespace, "evaluate_model_directory", False):
        raise UserError("--evaluate-model-directory compares models of the embedded engine, not of 'rasa'")
    paths = {name: _path(name, getattr(namespace, name, None)) for name in _PATHS}
    data = getattr(namespace, "data", None) or ()
    more = {
        "project": str(namespace.project),
        "data": tuple(map(str, data)),
        "workers": workers,
        "vectors": getattr(namespace, "vectors", False),
        "action_endpoint": getattr(namespace, "action_endpoint", None),
        "action_server": getattr(namespace, "action_server", None),
    }
    return combine(given, {name: path for name, path in paths.items() if path}, more)


def _path(name: str, value: object) -> str | None:
    """Several models or configurations are compared, by the embedded engine alone."""
    if isinstance(value, list):
        if len(value) > 1:
            raise UserError(f"the engine 'rasa' takes one --{name}", remedy="Test them one after the other.")
        value = value[0] if value else None
    return str(value) if value else None
