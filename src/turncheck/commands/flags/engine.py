"""The flags of the engine, and the settings made from a command's flags."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.commands.flags import shared
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    import argparse

    from turncheck.engines.base import Models
    from turncheck.run.assistant import AssistantOptions
    from turncheck.settings.options import Settings


KORE_FLAGS: Final = (
    "kore-host",
    "kore-bot-id",
    "kore-bot-name",
    "kore-client-id",
    "kore-client-secret",
    "kore-version",
    "kore-timeout",
)
FLAGS: Final = (
    "plugins",
    "engine",
    "today",
    "rasa-url",
    "rasa-token",
    "rasa-jwt",
    "rasa-command",
    "rasa-servers",
    *KORE_FLAGS,
    "kore-way",
    "bot-url",
    "bot-callback",
    "bot-token",
    "bot-parallel",
)
TALK_FLAGS: Final = ("engine", "rasa-url", "rasa-token", "rasa-jwt", "bot-url", "bot-callback", "bot-token")
"""Those with which one conversation can be held."""
CACHE_FLAGS: Final = ("cache", "cache-folder", "cache-key")
_OF_FILE: Final = ("engine", "repeats")
"""The settings that commands take from the project's file."""
_PATHS: Final = ("config", "domain", "model", "nlu")
_SEVERAL: Final = ("data", "stories")
_AS_THEY_ARE: Final = (
    *("language", "seed", "folds", "cluster", "vectors", "allow_custom_code", "action_endpoint", "action_server"),
)


def add_engine_flags(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add them, or the named ones, as a group."""
    from turncheck.settings.declared import options  # not for the commands beside this one

    group = parser.add_argument_group("engine")
    for name in names or FLAGS:
        shared.add_setting(group, name, options()[name])


def add_cache_flags(group: argparse._ArgumentGroup | argparse.ArgumentParser) -> None:
    """Add whether and where trained models are kept."""
    from turncheck.settings.declared import options  # as above

    for name in CACHE_FLAGS:
        shared.add_setting(group, name, options()[name])


def settings_of(namespace: argparse.Namespace, *, workers: int = 0) -> Settings:
    """Return a command's flags as settings of ``run``; the project's file may say which engine, and how tests
    are repeated.

    Raises:
        UserError: a flag is invalid, or is for another engine.
    """
    from turncheck.engines.choice import refuse_settings_of_others  # not for --help
    from turncheck.settings.declared import options
    from turncheck.settings.engines import ENGINES
    from turncheck.settings.file import read_settings_file
    from turncheck.settings.sources import combine, from_flags

    given = from_flags({name: getattr(namespace, name.replace("-", "_"), None) for name in (*FLAGS, *CACHE_FLAGS)})
    of_file = read_settings_file(Path(namespace.project), faulty=True).values
    given = {name: of_file[name] for name in _OF_FILE if of_file.get(name) is not None} | given
    engine = combine(given).engine
    refuse_settings_of_others(combine(given))
    compares = ENGINES[engine].from_files
    if not compares and getattr(namespace, "evaluate_model_directory", False):
        raise UserError(f"--evaluate-model-directory compares model files, which the engine '{engine}' does not have")
    more: dict[str, Any] = {"project": str(namespace.project), "workers": workers}
    for name in _PATHS:
        values = getattr(namespace, name, None) or []
        values = values if isinstance(values, list) else [values]
        if len(values) > 1 and not compares:
            raise UserError(f"the engine '{engine}' takes one --{name}", hint="Test them one after the other.")
        if len(values) == 1 and options()[name].engine in {None, engine}:
            more[name] = str(values[0])
    more |= {name: tuple(map(str, getattr(namespace, name, None) or ())) for name in _SEVERAL}
    more |= {name: getattr(namespace, name) for name in _AS_THEY_ARE if hasattr(namespace, name)}
    return combine(given, more)


def models_of(namespace: argparse.Namespace) -> Models:
    """Return where a command may find a trained model."""
    from turncheck.engines.base import Models  # not for --help
    from turncheck.engines.embedded.models import DEFAULT_MODELS

    named = namespace.model[0] if isinstance(namespace.model, list) and namespace.model else namespace.model
    return Models(Path(namespace.project) / DEFAULT_MODELS, named or None, getattr(namespace, "remote_storage", None))


# The flags that say which assistant to talk to.


def add_assistant(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the flags; the group is returned for more of them."""
    group = parser.add_argument_group("the assistant")
    shared.add_project(group)
    shared.add_domain(group)
    shared.add_paths(group, "--data", words="training data, files or folders (default: data)")
    shared.add_config(group)
    shared.add_model(group)
    group.add_argument("--endpoints", type=Path, metavar="PATH", help="the endpoints file (default: endpoints.yml)")
    group.add_argument(
        "--action-endpoint", metavar="URL", help="address of the action server, instead of the one in endpoints.yml"
    )
    group.add_argument("--action-server", metavar="COMMAND", help="command that starts the action server")
    shared.add_seed(group, "training and of response variations")
    shared.add_vectors_flag(group)
    shared.add_custom_code_flag(group)
    add_cache_flags(group)
    return group


def assistant_of(namespace: argparse.Namespace, *, workers: int = 0) -> AssistantOptions:
    """Return the options from the flags of :func:`add_assistant`."""
    from turncheck.run.assistant import AssistantOptions  # the job's imports are not for --help

    return AssistantOptions(
        settings_of(namespace, workers=workers), models_of(namespace), namespace.endpoints, namespace.channel
    )
