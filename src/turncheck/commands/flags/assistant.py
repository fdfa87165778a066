"""The flags that say which assistant to talk to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from turncheck.commands.flags.engine import models_of, settings_of
from turncheck.commands.flags.run import add_custom_code_flag, add_vectors_flag
from turncheck.commands.flags.shared import add_config, add_domain, add_model, add_paths, add_project, add_seed

if TYPE_CHECKING:
    import argparse

    from turncheck.run.assistant import AssistantOptions


def add_assistant(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the flags; the group is returned for more of them."""
    group = parser.add_argument_group("the assistant")
    add_project(group)
    add_domain(group)
    add_paths(group, "--data", words="training data, files or folders (default: data)")
    add_config(group)
    add_model(group)
    group.add_argument("--endpoints", type=Path, metavar="PATH", help="the endpoints file (default: endpoints.yml)")
    group.add_argument(
        "--action-endpoint", metavar="URL", help="address of the action server, instead of the one in endpoints.yml"
    )
    group.add_argument("--action-server", metavar="COMMAND", help="command that starts the action server")
    add_seed(group, "training and of response variations")
    add_vectors_flag(group)
    add_custom_code_flag(group)
    return group


def assistant_of(namespace: argparse.Namespace, *, workers: int = 0) -> AssistantOptions:
    """Return the options from the flags of :func:`add_assistant`."""
    from turncheck.run.assistant import AssistantOptions  # the job's imports are not for --help

    return AssistantOptions(
        settings_of(namespace, workers=workers), models_of(namespace), namespace.endpoints, namespace.channel
    )
