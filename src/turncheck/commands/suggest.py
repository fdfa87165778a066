"""``turncheck suggest``: the tests to write next."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.commands.strength import project_tests
from turncheck.engines.choice import chosen_engines
from turncheck.evaluation.strength.suggest import cases_text, suggest, tasks_text
from turncheck.messages.errors import EXIT_OK
from turncheck.messages.plurals import count
from turncheck.project.testfiles import E2E_CASES_FILE
from turncheck.publishing.files import write_file
from turncheck.render.sinks.terminal import text
from turncheck.run.assistant import running_server
from turncheck.run.strength import measure_strength, workshop_of
from turncheck.run.trainable import ensure_possible, ensure_trainable, read_dialogue_assistant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.evaluation.strength.suggest import Suggestions
    from turncheck.process.screen import Screen
    from turncheck.settings.options import Settings

_SUGGESTED: Final = "tests/e2e_suggested_{}.yml"
_TASKS: Final = "tests/held_out_suggested_{}.template"


@dataclass(frozen=True, slots=True)
class SuggestOptions:
    """Where to look. ``most``: so many mutants are tried (0: all); ``write``: write files, else only show them."""

    settings: Settings
    most: int = 0
    write: bool = False


def run_suggest(options: SuggestOptions, screen: Screen) -> int:
    """Find what no test notices, and suggest tests that would.

    Raises:
        UserError: the project has no tests, or cannot be trained.
    """
    settings = options.settings
    project = read_dialogue_assistant(settings)
    ensure_trainable(project)
    tests = project_tests(settings, project)
    with chosen_engines(settings, project, os.environ) as engines:
        ensure_possible(engines, "strength")
        with running_server(settings, project, os.environ, screen) as server:
            with screen.step("strength", "Trying the tests on mutants"):
                strength = measure_strength(
                    engines, project, tests, settings, changed=None, server=server, most=options.most
                )
            with screen.step("suggest", "Looking for tests that would notice"):
                found = suggest(project, workshop_of(engines, settings), tests, strength, settings.seed)
    sys.stdout.write("\n".join([*_told(found), ""]))
    for path, content in _files(found, Path(settings.project)).items():
        if options.write:
            write_file(path, content.encode())
            sys.stdout.write(f"Written: {text(str(path))}\n")
        else:
            sys.stdout.write(f"\n# {text(str(path))} (write it with --write)\n{content}")
    return EXIT_OK


def _told(found: Suggestions) -> Iterator[str]:
    kills = sum(len(one.kills) for one in found.cases)
    if found.cases:
        yield f"{count(len(found.cases), 'case')} would notice {count(kills, 'fault')} that no test notices now."
    for one in found.cases:
        yield f"  {text(one.candidate.name)}: {count(len(one.kills), 'fault')}, along {text(one.candidate.along)}"
    if found.tasks:
        yield f"No test sentence: {', '.join(text(task.intent) for task in found.tasks)}"
    if found.left:
        yield f"For {count(len(found.left), 'fault')} nothing is suggested; `turncheck test strength` lists them."
    if not found.cases and not found.tasks and not found.left:
        yield "The tests notice every fault that was tried: there is nothing to suggest."


def _files(found: Suggestions, root: Path) -> dict[Path, str]:
    """Return files that are not there yet, with what to write to them."""
    files = {}
    if found.cases:
        first = root / E2E_CASES_FILE
        files[_free(root, _SUGGESTED) if first.exists() else first] = cases_text(found.cases)
    if found.tasks:
        files[_free(root, _TASKS)] = tasks_text(found.tasks)
    return files


def _free(root: Path, name: str) -> Path:
    number = 1
    while (path := root / name.format(number)).exists():
        number += 1
    return path
