"""``turncheck init``: shows the files that it proposes, and writes them if requested; never over existing ones."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.commands.flags.shared import existing_folder, not_negative
from turncheck.commands.init.first_tests import SENTENCES_FILE, SUITE_FILE, first_tests
from turncheck.commands.init.repository import Repository, kept_elsewhere, look_at
from turncheck.commands.init.settings_file import settings_text, value_text
from turncheck.commands.init.today import NO_TESTS, Today, counted, failing_today
from turncheck.commands.init.workflows import BOT_TOKEN, PROPOSALS, run_of, where_it_runs, workflow
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.process.output_files import write_new
from turncheck.process.places import ensure_inside
from turncheck.render.sinks.terminal import aligned
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping

    from turncheck.process.screen import Console
    from turncheck.project.model import Project
    from turncheck.settings.bot import Bot

_BUDGET = 300


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``init``."""
    from turncheck.commands.init.workflows import PROPOSALS  # not for the commands beside this one

    parser = subparsers.add_parser(
        "init",
        help=words,
        description="Look at the repository and show the files to start with; --write writes those that do not"
        " exist yet.",
    )
    parser.add_argument(
        "folder", nargs="?", type=existing_folder, default=Path(), metavar="DIR", help="the repository (default: .)"
    )
    parser.add_argument(
        "--host",
        choices=sorted(PROPOSALS),
        help="the CI host (default: recognised by its files, else by the remote repository)",
    )
    parser.add_argument("--write", action="store_true", help="write the files; existing files are never overwritten")
    words = f"look for what fails today for at most S seconds (default: {_BUDGET}; 0: no limit)"
    parser.add_argument("--budget", type=not_negative, default=_BUDGET, metavar="S", help=words)
    parser.set_defaults(handler=_init)


def _init(namespace: argparse.Namespace) -> int:
    from turncheck.process.screen import Console

    init_options = InitOptions(namespace.host, namespace.budget, namespace.write)
    return run_init(namespace.folder, init_options, Console(), sys.stdout.write)


_LONGEST_LINE: Final = 2_000


class Proposed(NamedTuple):
    """A file that is proposed, by its path from the top of the repository."""

    path: str
    text: str


class InitOptions(NamedTuple):
    """The CI host, ``None`` to recognise it; for how many seconds what fails today is measured (0: no limit); and
    whether files are written."""

    host: str | None = None
    budget: int = 0
    write: bool = False


def run_init(folder: Path, init_options: InitOptions, screen: Console, say: Callable[[str], object]) -> int:
    """Say what there is and what fails; propose a workflow file, settings and first tests; write them if requested.

    Raises:
        UserError: there is no assistant, or a file cannot be written.
        KeyboardInterrupt: somebody interrupted the tests of what there is; nothing is written.
    """
    repository = look_at(folder, init_options.host)
    found = ", ".join("this repository" if one == "." else one for one in repository.projects)
    say(f"{_shown(f'Assistants: {found}. CI host: {repository.host} ({repository.known_by}).')}\n")
    until = time.monotonic() + init_options.budget if init_options.budget else None
    for project in repository.projects:
        for line in _state_of(repository, project, screen, until):
            say(f"{_shown(line)}\n")
    place, joined = PROPOSALS[repository.host].place(repository.top)
    proposed = list(files_of(repository, place))
    new = [one for one in proposed if not (repository.top / one.path).exists()]
    for one in proposed:
        if one not in new:
            say(f"{_shown(f'{one.path} already exists, and is not changed.')}\n")
    for one in new if init_options.write else ():
        ensure_inside(repository.top / one.path)  # all of them, before the first is written
    for one in new:
        if init_options.write:
            write_new(repository.top / one.path, one.text)
            say(f"{_shown(f'Written: {one.path}')}\n")
        else:
            say(f"\n--- {_shown(one.path)}\n" + "".join(f"{_shown(line)}\n" for line in one.text.splitlines()))
    say(
        "\n"
        + "".join(
            f"Next: {_shown(step)}\n" for step in _next_steps(repository, new, joined, written=init_options.write)
        )
    )
    return EXIT_OK


def _state_of(repository: Repository, project: str, screen: Console, until: float | None) -> Iterator[str]:
    """What an assistant has, and what fails on the default branch with the files that are there now.

    What is not measured at ``until``, by the monotonic clock, is left out.
    """
    from turncheck.commands.init.botium import FILE as BOTIUM_FILE
    from turncheck.commands.init.botium import imported
    from turncheck.project.export import export_of
    from turncheck.project.reader import read_project

    folder = repository.top / project
    if (botium := imported(folder)) is not None and export_of(folder) is None:
        what = botium.address or ("This repository" if project == "." else project)
        yield f"{what} is a bot over HTTP, as {BOTIUM_FILE} describes it: `bot:` is made from that."
        if not botium.address:
            yield f"  To do: {botium.notes[0]}"
        return
    has = counted(folder)
    yield f"{'This repository' if project == '.' else project} has {has}."
    if elsewhere := kept_elsewhere(folder):
        named = ", ".join(f"`{name}: {value_text(value)}`" for name, value in elsewhere.items())
        yield f"  Not where Rasa looks for it: {named} in {FILE_NAME} names it, and a run shows what fails today."
        return
    left = None if until is None else max(until - time.monotonic(), 0)
    if read_project(folder).platform.engine:
        yield "  What fails today is shown by a run that is told where the bot is: turncheck run --bot-url URL."
        return
    today = Today(is_complete=False) if left == 0 else failing_today(folder, screen, left)
    yield from (f"  Fails on {repository.branch} today: {one}" for one in today.failing)
    if not today.is_complete:
        yield f"  Not all that may fail on {repository.branch} was looked for: the time limit was reached (--budget)."
    elif not today.failing and today.uncounted:
        yield f"  Nothing fails the run on {repository.branch} today: {today.uncounted}, which does not count,"
        yield "  as a stand-in judged it (`batch-failures: fail` makes it count)."
    elif not today.failing and has.endswith(NO_TESTS):
        yield f"  There is no test yet that could fail on {repository.branch}."
    elif not today.failing:
        yield f"  Nothing fails on {repository.branch} today."


def files_of(repository: Repository, place: str) -> Iterator[Proposed]:
    """Yield every file that is proposed, whether it exists or not; ``place``: where the host has its own."""
    from turncheck.commands.init.botium import imported

    text = workflow(repository.host, repository.projects, repository.branch, _bots_ask(repository))
    yield Proposed(place, text)
    for project in repository.projects:
        below = f"{project}/" if project != "." else ""
        botium = imported(repository.top / project)
        elsewhere = kept_elsewhere(repository.top / project) if botium is None else {}
        yield Proposed(f"{below}{FILE_NAME}", settings_text(elsewhere) + (f"\n{botium.text}" if botium else ""))
        if botium is not None:
            continue
        for name, text in first_tests(_read(repository.top / project, elsewhere)).items():
            yield Proposed(f"{below}{name}", text)


def _read(folder: Path, elsewhere: Mapping[str, str | tuple[str, ...]]) -> Project:
    from turncheck.project.reader import read_project

    domain, config = (elsewhere.get(part) for part in ("domain", "config"))
    data = elsewhere.get("data")
    return read_project(
        folder,
        domain=folder / domain if isinstance(domain, str) else None,
        config=folder / config if isinstance(config, str) else None,
        data=[folder / path for path in data] if isinstance(data, tuple) else None,
    )


def _bots_ask(repository: Repository) -> bool | None:
    """Return whether a bot over HTTP asks for a token; ``None``: not all assistants are such bots."""
    folders = [repository.top / project for project in repository.projects]
    return any(map(_asks_for_token, folders)) if all(map(_is_over_http, folders)) else None


def _is_over_http(folder: Path) -> bool:
    from turncheck.commands.init.botium import imported
    from turncheck.project.export import export_of

    export = export_of(folder)
    if export is None and imported(folder) is not None:
        return True
    return bool(_set_in(folder).get("engine", export.platform.engine if export is not None else "") == "http")


def _set_in(folder: Path) -> Mapping[str, Any]:
    """Return what ``turncheck.yml`` sets; what is wrong with it, a run says."""
    from turncheck.settings.file import read_settings_file

    try:
        return read_settings_file(folder, faulty=True).values
    except UserError:
        return {}


def _asks_for_token(folder: Path) -> bool:
    from turncheck.commands.init.botium import imported

    botium = imported(folder)
    bot: Bot | None = _set_in(folder).get("bot") or (botium.bot if botium is not None else None)
    if bot is None:
        return False
    return bot.kind not in _WITHOUT_TOKEN or any(line.startswith("token.") or "{token}" in line for line in bot.lines)


_WITHOUT_TOKEN: Final = frozenset({"rest", "rasa-rest"})
"""Kinds of which a bot need not have one."""


def _next_steps(repository: Repository, new: list[Proposed], joined: str, *, written: bool) -> Iterator[str]:
    if new and not written:
        yield "`turncheck init --write` writes these files; existing files are never overwritten."
    if joined:
        yield f"{joined}."
    if needs := PROPOSALS[repository.host].needs:
        yield f"{needs}."
    asks = _bots_ask(repository)
    if asks is not None:
        yield f"{where_it_runs(repository.host, asks=asks)}."
    tests = [one.path for one in new if "/tests/" in f"/{one.path}" and not one.path.endswith(SENTENCES_FILE)]
    if tests:
        source = "sentences" if any(test.endswith(SUITE_FILE) for test in tests) else "rules"
        made = f"made from the assistant's own {source} ({', '.join(tests)})"
        yield f"read the tests {made}, and add more."
    elif any(one.path.endswith(SENTENCES_FILE) for one in new):
        yield f"fill in {SENTENCES_FILE}: sentences that the assistant is not trained on."
    folders = [os.path.relpath(repository.top / project) for project in repository.projects]
    where = [] if asks is None else ["--bot-url URL"]
    program = f"{BOT_TOKEN}=TOKEN turncheck" if asks else "turncheck"
    yield f"`{run_of(folders, *where, program=program)}` shows what a pull request would show."


def _shown(line: str) -> str:
    return aligned(line, _LONGEST_LINE)
