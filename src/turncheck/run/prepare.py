"""What a run needs before anything is read: settings from their sources, the CI host, the cache, the baseline."""

from __future__ import annotations

import dataclasses
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, structs
from msgspec.structs import replace

from turncheck.ci.git import find_checkout
from turncheck.ci.hosts import find_host
from turncheck.comparison.model import Baseline, Missing, Present
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location, shown_path
from turncheck.messages.phrasing import suggestion
from turncheck.process.cache import RunCache
from turncheck.process.environment import FileVariables
from turncheck.process.output_files import ensure_replaceable
from turncheck.process.regular_file import is_folder, is_there
from turncheck.project.export import ensure_export
from turncheck.project.folder import assistants_below, assistants_in_words
from turncheck.render.links import Links
from turncheck.render.page.page import NAME as HTML_NAME
from turncheck.report.model import Report, Source
from turncheck.run.base_projects import path_in_repository
from turncheck.run.base_settings import with_given
from turncheck.run.bot_of_base import ensure_token_is_sent_as_on_base
from turncheck.run.find_baseline import SEARCHED, BaselineSearch, is_tracked
from turncheck.run.folders import cache_of, ensure_apart_from_project
from turncheck.run.inputs import Inputs, changed_lines, with_size_of_change
from turncheck.run.named_baseline import read_baseline
from turncheck.run.report_of import now
from turncheck.settings.file import SettingsFile, read_settings_file
from turncheck.settings.gates import named_projects
from turncheck.settings.options import formats_of
from turncheck.settings.sources import FILE_NAME, combine
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.ci.host import Host
    from turncheck.settings.options import Settings


class Prepared(Struct, frozen=True):
    """Settings and environment of a run, before anything of the project is read.

    ``past``: where the assistant is on the base, see :class:`BaselineSearch`.
    """

    settings: Settings
    given: Mapping[str, Any]
    inputs: Inputs
    links: Links
    host: Host
    past: str | None = None


def prepare(
    overrides: Mapping[str, Any],
    environment: Mapping[str, str],
    *,
    in_action: bool = False,
    host: Host | None = None,
    among: str = "",
    chooser: Path | None = None,
    past: str | None = None,
) -> Prepared:
    """Combine the settings and inspect the environment.

    Args:
        overrides: the settings from flags or from the action's inputs.
        environment: the variables of the process.
        in_action: addresses in the project's files are only called if loopback or allowed; elsewhere this only holds if
            ``allow-hosts`` names any. These files get no variables but those of ``env``.
        host: the CI host, if it is already known.
        among: the project's name among several, if it is not in a repository.
        chooser: the folder whose ``turncheck.yml`` names several; by default the project's.
        past: where the assistant is on the base, see :class:`BaselineSearch`.

    Raises:
        UserError: no such project, or invalid settings.
    """
    overrides = _with_folder(overrides)
    chooser = chooser or Path(overrides.get("project", "."))
    file = _settings_file(Path(overrides.get("project", ".")))
    settings = combine(overrides, _with_folder(file.values))
    host = host or find_host(environment, settings.token)
    folder = _folder_of_one(settings, host, by_file="project" not in overrides)
    ensure_apart_from_project(Path(settings.out), settings)  # before anything is measured
    ensure_replaceable(Path(settings.out))
    ensure_token_is_sent_as_on_base(settings, host, environment, file.path)
    settings = dataclasses.replace(settings, output_format=formats_of(settings, host.formats))
    root = root_in_repository(folder, host, otherwise=among)
    top = _top_of_repository(folder, host)
    inputs = Inputs(
        settings=settings,
        given=frozenset(overrides),
        source=structs.replace(_source(host, folder), measured=now()),
        root=root,
        named=path_in_repository(folder, top) if top is not None else None,
        # In a container a repository's own folder is called "workspace", whatever the repository is.
        name=host.run.repository.rpartition("/")[2] or None if not root else None,
        ignored=file.ignored,
        rules={
            **file.rules,
            **{name: location for name, location in file.gates.items() if name.replace("-", "_") not in overrides},
        },
        settings_file=file.path,
        settings_folder=Path(overrides.get("project", ".")),
        chooser=chooser,
        projects=named_projects(chooser),
        cache=cache_of(settings, host, folder, environment) or (None if settings.baseline == "none" else RunCache()),
        hosts=settings.allow_hosts if in_action or settings.allow_hosts else None,
        environment=environment,
        file_variables=FileVariables(dict(settings.env), None if in_action else environment),
    )
    links = replace(
        links_of(host),
        trace_url=settings.trace_url or "",
        folder=settings.project,
        artifact_url=host.results_url(settings.out),
        html_url=host.results_url(settings.out, HTML_NAME),
    )
    sized = partial(with_size_of_change, settings=settings)
    inputs = dataclasses.replace(inputs, changed=partial(changed_lines, settings, host), sized=sized)
    prepared = Prepared(settings, overrides, inputs, links, host, past)
    inputs = dataclasses.replace(inputs, at_commit=lambda commit: _search(prepared).at_commit(commit))
    return replace(prepared, inputs=inputs)


def _there_instead(folder: Path) -> str:
    """Say which folder is probably meant, and which assistants there are beside it."""
    beside = folder.parent
    if not is_folder(beside):
        return "Correct the path."
    meant = suggestion(folder.name, [path.name for path in sorted(beside.iterdir()) if is_folder(path)])
    below = assistants_below(beside)
    there = f"Assistants in '{beside}': {assistants_in_words(below)}." if below else ""
    return " ".join(filter(None, (meant, there))) or "Correct the path."


def _folder_of_one(settings: Settings, host: Host, *, by_file: bool) -> Path:
    """Return the project's folder.

    Args:
        settings: which it is.
        host: where this runs.
        by_file: whether the settings file names it.

    Raises:
        UserError: it does not exist, the settings name several, or it is a link that leads out of the repository, which
            only somebody's own flag may name.
    """
    if settings.projects:
        raise UserError(
            f"`projects` belongs in the {FILE_NAME} from which several assistants are run, not in that of one of them",
            location=Location(FILE_NAME),
        )
    folder = Path(settings.project)
    if not folder.is_dir():
        raise UserError(f"no such project folder: {folder}", hint=_there_instead(folder))
    if (host.name or by_file) and _leads_out(folder, host, by_file=by_file):
        raise UserError(
            f"the project folder {folder} leads out of the repository",
            hint="Put the assistant into the repository, and name its folder.",
        )
    return folder


def _leads_out(folder: Path, host: Host, *, by_file: bool) -> bool:
    """Whether a project is elsewhere than in the repository in which it is named, or whose file names it."""
    here = find_checkout(Path.cwd(), outer=True) if by_file else None
    if here is not None and (there := find_checkout(folder, outer=True)) is not None and there.top != here.top:
        return True  # another repository's checkout inside this one
    named_in = Path.cwd() if by_file else Path(os.path.abspath(folder))  # noqa: PTH100 - links are not followed
    top = _named_top(named_in) or _workspace(host)
    if top is None:
        top = Path.cwd().resolve() if by_file and host.name else None
    if top is None or (not by_file and path_in_repository(folder, top) is None):
        return False  # somebody's own flag names a folder that is in no repository
    return not folder.resolve().is_relative_to(top)


def _named_top(folder: Path) -> Path | None:
    """The top of the checkout that a path is named in; one that a link inside a checkout leads to is another one."""
    for candidate in (folder, *folder.parents):
        leading = (parent for parent in (candidate, *candidate.parents) if parent.is_symlink())
        if is_there(candidate / ".git") and not any(find_checkout(path.parent) for path in leading):
            return candidate.resolve()
    return None


def baseline_finder(prepared: Prepared) -> Callable[[Report], Baseline]:
    """Return the function that finds the baseline these settings ask for; one that they name is read immediately.

    Raises:
        UserError: a named file is missing, or is not a report.
    """
    settings, given, host = prepared.settings, prepared.given, prepared.host
    if settings.baseline not in SEARCHED and None not in (given.get("baseline"), given.get("base")):
        raise UserError(
            "`baseline` already gives a report to compare with, and `base` names another state",
            hint="Give one of the two.",
        )
    search = _search(prepared)
    # What the workflow names counts; what a change's own file names, and its files, are checked against the base's.
    by_somebody = not host.name or (
        given.get("baseline") is not None and not is_tracked(settings.baseline, search.checkout)
    )
    if settings.baseline not in SEARCHED and by_somebody:
        named = read_baseline(settings.baseline, Network.of(prepared.inputs.environment))
        if isinstance(named, Missing):
            named = replace(named, agreed=not host.run.of_a_change, own_branch=search.is_of_own_branch())
            return lambda _: named
        if isinstance(named, Present):
            return partial(_as_named, replace(named, agreed=search.is_of_own_branch()), given)
        return lambda _: named
    if base := given.get("base"):
        search.ensure_base_is_known(base)
    return search.find


def _as_named(named: Present, given: Mapping[str, Any], report: Report) -> Baseline:
    return replace(named, report=with_given(named.report, report, given))


def _search(prepared: Prepared) -> BaselineSearch:
    folder, host = Path(prepared.settings.project), prepared.host
    return BaselineSearch(
        inputs=prepared.inputs,
        given=prepared.given,
        checkout=find_checkout(folder, outer=bool(host.name)),
        top=_top_of_repository(folder, host) or (Path.cwd() if host.name else None),
        host=host,
        past=prepared.past,
    )


def later_baseline_finder(prepared: Prepared) -> Callable[[Report], Baseline]:
    """Return the same for a shard: a file that the settings name is read when it is needed, which it rarely is."""

    def find(report: Report) -> Baseline:
        return baseline_finder(prepared)(report)

    return find


def _with_folder(overrides: Mapping[str, Any]) -> Mapping[str, Any]:
    """If the project is a file (say, the export of a Kore.ai assistant), use its folder, and the file as the data."""
    path = Path(overrides.get("project", "."))
    if not path.is_file():
        return overrides
    ensure_export(path)
    return {**overrides, "project": str(path.parent), "data": (str(path),)}


def _settings_file(folder: Path) -> SettingsFile:
    """The project's own file; without one, that of the current folder, which may say where the project is."""
    return read_settings_file(folder) if folder.is_dir() else SettingsFile()


def locate_in_repository(folder: Path, host: Host, *, otherwise: str = "") -> tuple[Source, str]:
    """Return the state of the repository that a project is in, and its path in there, or ``otherwise``."""
    return _source(host, folder), root_in_repository(folder, host, otherwise=otherwise)


def _source(host: Host, folder: Path) -> Source:
    if host.name:
        run = host.run
        return Source(repository=run.repository, commit=run.commit, ref=run.ref, run_id=run.run_id)
    checkout = find_checkout(folder)
    return Source(commit=checkout.head() if checkout else None)


def root_in_repository(folder: Path, host: Host, *, otherwise: str = "") -> str:
    """Return a project's path in its repository, "" at its top; ``otherwise`` if it is in none."""
    top = _top_of_repository(folder, host)
    if top is None or not folder.resolve().is_relative_to(top):
        return otherwise
    root = shown_path(folder.resolve().relative_to(top))
    return "" if root == "." else root


def _top_of_repository(folder: Path, host: Host) -> Path | None:
    """Where the repository's files are; the host's workspace if there is no git."""
    checkout = find_checkout(folder, outer=bool(host.name))
    return checkout.top if checkout is not None else _workspace(host)


def _workspace(host: Host) -> Path | None:
    return host.run.workspace.resolve() if host.run.workspace is not None else None


def links_of(host: Host) -> Links:
    """Return how to link to this run's files; nothing is linked outside a host."""
    return Links(pages=host.pages, commit=host.run.commit, run_url=host.run.url)
