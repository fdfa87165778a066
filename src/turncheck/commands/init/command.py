"""Shows the files that it proposes, and writes them if requested; never overwrites an existing one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.commands.init.first_tests import SENTENCES_FILE, first_tests
from turncheck.commands.init.repository import Repository, look_at
from turncheck.commands.init.settings_text import settings_text
from turncheck.commands.init.workflows import PROPOSALS, workflow
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.project.reader import read_project
from turncheck.render.sinks.terminal import aligned
from turncheck.settings.sources import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_LONGEST_LINE: Final = 2_000


@dataclass(frozen=True, slots=True)
class Proposed:
    """A file that is proposed, by its path from the top of the repository."""

    path: str
    text: str


def run_init(folder: Path, host: str | None, *, write: bool, say: Callable[[str], object]) -> int:
    """Propose a workflow file, settings and first tests; write them if ``write``.

    Raises:
        UserError: there is no assistant, or a file cannot be written.
    """
    repository = look_at(folder, host)
    found = ", ".join("this repository" if one == "." else one for one in repository.projects)
    say(f"{_shown(f'Assistants: {found}. CI host: {repository.host} ({repository.known_by}).')}\n")
    place, joined = PROPOSALS[repository.host].place(repository.top)
    proposed = list(files_of(repository, place))
    new = [one for one in proposed if not (repository.top / one.path).exists()]
    for one in proposed:
        if one not in new:
            say(f"{_shown(f'{one.path} already exists, and is not changed.')}\n")
    for one in new:
        if write:
            _write(repository.top / one.path, one.text)
            say(f"{_shown(f'Written: {one.path}')}\n")
        else:
            say(f"\n--- {_shown(one.path)}\n" + "".join(f"{_shown(line)}\n" for line in one.text.splitlines()))
    say("\n" + "".join(f"Next: {_shown(step)}\n" for step in _next_steps(repository.host, new, joined, written=write)))
    return EXIT_OK


def files_of(repository: Repository, place: str) -> Iterator[Proposed]:
    """Yield every file that is proposed, whether it exists or not; ``place``: where the host has its own."""
    yield Proposed(place, workflow(repository.host, repository.projects, repository.branch))
    for project in repository.projects:
        below = f"{project}/" if project != "." else ""
        yield Proposed(f"{below}{FILE_NAME}", settings_text())
        for name, text in first_tests(read_project(repository.top / project)).items():
            yield Proposed(f"{below}{name}", text)


def _next_steps(host: str, new: list[Proposed], joined: str, *, written: bool) -> Iterator[str]:
    if new and not written:
        yield "`turncheck init --write` writes these files; existing files are never overwritten."
    if joined:
        yield f"{joined}."
    if needs := PROPOSALS[host].needs:
        yield f"{needs}."
    tests = [one.path for one in new if "/tests/" in f"/{one.path}" and not one.path.endswith(SENTENCES_FILE)]
    if tests:
        made = f"made from the assistant's own rules ({', '.join(tests)})"
        yield f"read the tests {made}, and add more." if written else f"there are no tests yet: read those {made}."
    elif any(one.path.endswith(SENTENCES_FILE) for one in new):
        yield f"fill in {SENTENCES_FILE}: sentences that the assistant is not trained on."
    yield "`turncheck run` shows what a pull request would show."


def _shown(line: str) -> str:
    return aligned(line, _LONGEST_LINE)


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None
