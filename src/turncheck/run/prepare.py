"""The main job as people start it: settings from where they stand, the job, the terminal, the files, the exit code."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from turncheck.ci.git import find_checkout
from turncheck.ci.github.client import GitHubClient, Patience
from turncheck.ci.github.context import GitHubContext, read_context
from turncheck.messages.errors import UserError
from turncheck.messages.location import shown_path
from turncheck.render.links import Links
from turncheck.report.model import Source
from turncheck.run.find_baseline import SEARCHED, BaselineSearch
from turncheck.run.inputs import Inputs
from turncheck.run.named_baseline import read_baseline
from turncheck.settings.file import SettingsFile, read_settings_file
from turncheck.settings.options import Settings, combine
from turncheck.web.network import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.comparison.baseline import Baseline
    from turncheck.report.model import Report


@dataclass(frozen=True, slots=True)
class Prepared:
    """Settings and surroundings of a run, before anything is read of the project."""

    settings: Settings
    given: Mapping[str, Any]
    inputs: Inputs
    links: Links
    context: GitHubContext | None


def prepare(given: Mapping[str, Any], environment: Mapping[str, str], *, in_action: bool = False) -> Prepared:
    """Put the settings together and look around.

    Args:
        given: the settings from flags or from the action's inputs.
        environment: the variables of the process.
        in_action: addresses that the project's files name are only called if loopback or allowed; elsewhere so where
            ``allow-hosts`` names some.

    Raises:
        UserError: no such project, or settings that are wrong.
    """
    file = _settings_file(Path(given.get("project", ".")))
    settings = combine(given, file.values)
    folder = Path(settings.project)
    if not folder.is_dir():
        raise UserError(f"no such project folder: {folder}", remedy="Name it with --project, or as PROJECT.")
    context = read_context(environment)
    root = _root_in_repository(folder, context)
    inputs = Inputs(
        settings=settings,
        source=_source(context, folder),
        root=root,
        # In a container a repository's own folder is called "workspace", whatever the repository is.
        name=context.repository.partition("/")[2] if context is not None and not root else None,
        ignored=file.ignored,
        rules={
            **file.rules,
            **{name: place for name, place in file.gates.items() if name.replace("-", "_") not in given},
        },
        settings_file=file.path,
        hosts=settings.allow_hosts if in_action or settings.allow_hosts else None,
        environment=environment,
    )
    return Prepared(settings, given, inputs, replace(links_of(context), folder=settings.project), context)


def baseline_finder(prepared: Prepared) -> Callable[[Report], Baseline]:
    """Return the function that finds the baseline these settings ask for; one that they name is read at once.

    Raises:
        UserError: a file was named, and it is not there or no report.
    """
    context = prepared.context
    of_a_change = context is not None and (context.pull_request is not None or context.event_name == "merge_group")
    # What the workflow names counts; what a file of a pull request names is held against the base's.
    if prepared.settings.baseline not in SEARCHED and (prepared.given.get("baseline") is not None or not of_a_change):
        named = read_baseline(prepared.settings.baseline, Network.of(prepared.inputs.environment))
        return lambda _: named
    folder = Path(prepared.settings.project)
    return BaselineSearch(
        inputs=prepared.inputs,
        given=prepared.given,
        checkout=find_checkout(folder),
        top=_top_of_repository(folder, prepared.context),
        context=prepared.context,
        client=client_of(prepared.settings, prepared.context),
    ).find


def client_of(settings: Settings, context: GitHubContext | None, patience: float = 120.0) -> GitHubClient | None:
    """Return who asks GitHub, ``None`` without a token or outside GitHub; each may wait so many seconds in all."""
    if context is None or settings.token is None:
        return None
    return GitHubClient(context.api_url, settings.token, Patience(patience), context.network)


def _settings_file(folder: Path) -> SettingsFile:
    """The project's own file; without one, that of the current folder, which may say where the project is."""
    return read_settings_file(folder) if folder.is_dir() else SettingsFile()


def where_it_stands(folder: Path, environment: Mapping[str, str]) -> tuple[Source, str]:
    """Return which state of a repository a project is in, and its path in there."""
    context = read_context(environment)
    return _source(context, folder), _root_in_repository(folder, context)


def _source(context: GitHubContext | None, folder: Path) -> Source:
    if context is not None:
        return Source(
            repository=context.repository,
            commit=context.head_sha or None,
            ref=context.ref or None,
            run_id=context.run_id,
        )
    checkout = find_checkout(folder)
    return Source(commit=checkout.commit() if checkout else None)


def _root_in_repository(folder: Path, context: GitHubContext | None) -> str:
    top = _top_of_repository(folder, context)
    if top is None or not folder.resolve().is_relative_to(top):
        return ""
    root = shown_path(folder.resolve().relative_to(top))
    return "" if root == "." else root


def _top_of_repository(folder: Path, context: GitHubContext | None) -> Path | None:
    """Where the repository's files lie; GitHub's workspace where there is no git."""
    checkout = find_checkout(folder)
    if checkout is not None:
        return checkout.top
    return Path(os.path.realpath(context.workspace)) if context is not None and context.workspace is not None else None


def links_of(context: GitHubContext | None) -> Links:
    """Return how to point at this run's files; nothing is linked outside GitHub."""
    if context is None:
        return Links()
    return Links(repository_url=context.repository_url, commit=context.head_sha or None, run_url=context.run_url)
