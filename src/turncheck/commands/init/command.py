"""``turncheck init``: shows the files that it proposes, and writes them if requested; never over existing ones."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from turncheck.commands.flags.shared import existing_folder, not_negative
from turncheck.commands.init.workflows import BOT_TOKEN, PROPOSALS, run_of, where_it_runs, workflow
from turncheck.gates.table import OF_ALL, subject_of
from turncheck.messages.errors import EXIT_OK, INTERRUPTED, UserError
from turncheck.messages.phrasing import count
from turncheck.process import interrupts
from turncheck.process.output_files import write_new
from turncheck.process.places import ensure_inside
from turncheck.render.sinks.terminal import aligned
from turncheck.report.codec import ADDRESS
from turncheck.settings.groups import FIRST
from turncheck.settings.options import Settings, default_of, options
from turncheck.settings.sources import FILE_NAME, from_arguments

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from threading import Event

    from turncheck.ci.git import Checkout
    from turncheck.conclude import Outcome
    from turncheck.process.screen import Console
    from turncheck.project.model import Project, Story
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


# What an assistant has to be tested with, and what fails on its default branch today.

_EVALUATIONS: Final = ("validate", "core", "e2e", "batch")
"""What can fail there; how well sentences are understood fails no run without a limit."""
_SUBJECTS: Final = frozenset({"errors", "tests", "faults"})
"""What is wrong there today: what the gates say that are about these."""
_NO_TESTS: Final = "no tests"


def counted(folder: Path) -> str:
    """Return what there is to train on, and to test with."""
    from turncheck.project.e2e.cases import read_cases
    from turncheck.project.reader import read_project
    from turncheck.run.reading import read_tests

    project, tests = read_project(folder), read_tests(Settings(project=str(folder)))
    learnt = [count(len(project.nlu.examples), "training sentence")]
    if project.platform.no_dialogues is None:
        learnt += [count(len(project.stories), "story", "stories"), count(len(project.rules), "rule")]
    found = {
        "test sentence": len(tests.nlu.examples) if tests.nlu else 0,
        "end-to-end case": len(read_cases(folder, tests.e2e).cases) if tests.e2e else 0,
        "batch suite": len(tests.batch),
    }
    stories = sum(story.kind == "story" for story in tests.stories)
    tested = [count(stories, "test story", "test stories")] if stories else []
    tested += [count(number, what) for what, number in found.items() if number]
    return f"{', '.join(learnt)}; {', '.join(tested) or _NO_TESTS}"


class Today(NamedTuple):
    """What fails, a line for each gate of the default branch; ``is_complete``: whether all of it was measured."""

    failing: tuple[str, ...] = ()
    is_complete: bool = True
    uncounted: str = ""
    """Batch cases that fail and do not count, as a stand-in judged them."""


def failing_today(folder: Path, screen: Console, seconds: float | None) -> Today:
    """Measure what is there, for at most so many ``seconds`` (``None``: no limit); no base is looked for.

    Raises:
        KeyboardInterrupt: somebody interrupted it.
    """
    from threading import Event

    from turncheck.comparison.tally import tallies
    from turncheck.render.wording.tests import joined, tolerated_in_words

    is_over = Event()
    outcome = None
    try:
        with _interrupted_after(seconds, is_over):
            outcome = _measured(folder, screen)
    except UserError as error:
        return Today((f"it cannot be run: {error.message}",))
    except KeyboardInterrupt:
        if not is_over.is_set():
            raise
    if outcome is None:
        return Today(is_complete=False)
    is_stopped = outcome.report.stopped == INTERRUPTED
    if is_stopped and not is_over.is_set():
        raise KeyboardInterrupt
    gates = [gate for gate in outcome.verdict.gates if gate.fails and not gate.follows]
    failing = [outcome.run.failing(gate) for gate in gates if subject_of(gate.name) in _SUBJECTS]
    tolerated = [tolerated_in_words(tally) for tally in tallies(outcome.run.report) if tally.tolerated]
    return Today(tuple(failing), not is_stopped, joined(tolerated))


def _measured(folder: Path, screen: Console) -> Outcome:
    from turncheck.run.prepare import baseline_finder, prepare
    from turncheck.run.run import run_and_conclude

    given = {"project": str(folder), "baseline": "none", "engine": "embedded", "fail_on": OF_ALL}
    prepared = prepare(from_arguments({**given, "evaluations": _EVALUATIONS}), os.environ)
    return run_and_conclude(prepared.inputs, prepared.links, baseline_finder(prepared), screen)


@contextmanager
def _interrupted_after(seconds: float | None, is_over: Event) -> Iterator[None]:
    """Interrupt what is inside after so many seconds, as Ctrl-C does: what was finished is kept."""
    from threading import Timer

    if seconds is None:
        yield
        return

    def interrupt() -> None:
        is_over.set()
        os.kill(os.getpid(), signal.SIGINT)

    timer = Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if is_over.is_set():
            interrupts.forget()


# A ``turncheck.yml`` with the keys that matter most, explained; keys that are commented out have their default.

_WIDTH: Final = 100
_ELSEWHERE: Final = ("project", "projects")
"""Keys of a file that is not in the assistant's own folder."""


def settings_text(chosen: Mapping[str, str | tuple[str, ...]] = MappingProxyType({})) -> str:
    """Return the file's text; ``chosen``: the values of keys that have not their defaults.

    An editor that knows the schema completes and explains the keys that are not in it.
    """
    head = f"# yaml-language-server: $schema={ADDRESS}turncheck.schema.json"
    parts = [
        f"{head}\n# Settings of turncheck: the keys that matter most, with their defaults. docs/settings.md has all.\n"
    ]
    for name, option in options().items():
        if not option.file_key or name in _ELSEWHERE or (name not in FIRST and name not in chosen):
            continue
        about = f"{option.help[0].upper()}{option.help[1:]}"
        if not all(choice in about for choice in option.choices):
            about += f" ({', '.join(option.choices)})"
        lines = [f"# {line}" for line in wrap(f"{about}.", _WIDTH, break_long_words=False, break_on_hyphens=False)]
        mark = "" if name in chosen else "# "
        parts.append("\n".join([*lines, f"{mark}{name}: {_value(chosen.get(name, default_of(name)))}"]) + "\n")
    return "\n".join(parts)


def _value(default: Any) -> str:
    if default is None:
        return "…"
    if default == "":
        return '""'
    return json.dumps(list(default) if isinstance(default, tuple) else default).replace('"', "")


# What a repository has: its assistants, its CI host, its tests.


class Repository(NamedTuple):
    """A repository, or a folder without git. ``projects`` are its assistants' folders, relative to ``top``.

    ``known_by`` says what the host was known by; ``branch`` is the default one.
    """

    top: Path
    projects: tuple[str, ...]
    host: str
    known_by: str
    branch: str = "main"


def look_at(folder: Path, host: str | None = None) -> Repository:
    """Look at a folder and the repository that it is in.

    Raises:
        UserError: there is no assistant in it or below it.
    """
    from turncheck.ci.git import find_checkout
    from turncheck.commands.init.botium import imported, unreadable
    from turncheck.messages.finding import shown_path
    from turncheck.project.export import export_of
    from turncheck.project.folder import assistants_below, is_assistant

    checkout = find_checkout(folder)
    top = checkout.top if checkout is not None else folder.resolve()

    def is_bot(one: Path) -> bool:
        return export_of(one) is not None or imported(one) is not None

    paths: Sequence[Path] = [folder] if is_assistant(folder) or is_bot(folder) else assistants_below(folder)
    paths = paths or ([folder] if kept_elsewhere(folder) else [])
    paths = paths or assistants_below(folder, is_bot)  # one run cannot test a bot over HTTP and other assistants
    if not paths:
        raise unreadable(folder) or UserError(
            f"no assistant was found in {folder} or below",
            hint="An assistant has a domain.yml (or a folder domain/) beside its config.yml or its folder data/, "
            "or is an export of Kore.ai; or a turncheck.yml with `bot:`, "
            "or a botium.json for HTTP, Direct Line, Lex V2 or Dialogflow CX.",
        )
    projects = tuple(shown_path(path.resolve().relative_to(top.resolve())) or "." for path in paths)
    branch = checkout.main_branch() if checkout is not None else "main"
    name, known_by = (host, "as named") if host is not None else _host_of(top, checkout)
    return Repository(top, projects, name, known_by, branch)


def kept_elsewhere(folder: Path) -> Mapping[str, str | tuple[str, ...]]:
    """Return the settings that name the parts of an assistant which are not where Rasa looks for them."""
    from turncheck.project.candidates import candidates
    from turncheck.project.export import export_of
    from turncheck.project.reader import read_project

    if export_of(folder) is not None:
        return {}
    project = read_project(folder)
    codes = {finding.code for finding in project.findings}
    found: dict[str, str | tuple[str, ...]] = {}
    for part in _PARTS:
        seen = candidates(folder, part) if f"{part}-not-found" in codes and not project.below else ()
        if seen:
            found[part] = seen if part == "data" else seen[0]
    return found


_PARTS: Final = ("domain", "config", "data")


def _host_of(top: Path, checkout: Checkout | None) -> tuple[str, str]:
    """Return the CI host, and what it was known by."""
    for name, proposal in PROPOSALS.items():
        if (top / proposal.file).exists():
            return name, f"there is {proposal.file}"
    address = checkout.address() if checkout is not None else None
    for name, proposal in PROPOSALS.items():
        if address and proposal.address and proposal.address.search(address):
            return name, "from the address of the remote repository"
    return "github", "assumed; --host names another"


# First tests of an assistant, made from its own rules and stories: a person must read each before it is used.

STORIES_FILE: Final = "tests/test_stories.yml"
SENTENCES_FILE: Final = "tests/held_out_sentences.template"
SUITE_FILE: Final = "tests/first_suite.csv"
_MOST: Final = 3
_MOST_CASES: Final = 30
_READ: Final = "# Made by `turncheck init` from what the assistant is trained on. Read it: is this what should happen?"
_TRAINED_ON: Final = "  # turncheck: ignore test-sentence-in-training - until you put it in other words"
_SENTENCES: Final = """\
# Sentences that the assistant is not trained on: what users really write shows how well they are understood.
# Fill it in, and rename it to test_nlu.yml. A sentence of the training data proves nothing here.
#
# version: "3.1"
# nlu:
# - intent: {intent}
#   examples: |
#     - …
"""


class Turn(NamedTuple):
    """What the user says ("" where no sentence is known), with its intent, and how the assistant answers."""

    text: str
    intent: str
    responses: tuple[str, ...]


class Dialogue(NamedTuple):
    """A dialogue of only sentences and responses, and the rule or story it comes from."""

    name: str
    kind: str
    turns: tuple[Turn, ...]

    @property
    def is_in_sentences(self) -> bool:
        """Whether it can be written in sentences."""
        return all(turn.text for turn in self.turns)


def first_tests(project: Project) -> dict[str, str]:
    """Return files by their paths in the project, of each kind of test that it does not have yet."""
    from turncheck.project.testfiles import E2E_CASES_FILE, find_e2e_cases, find_test_nlu, find_test_stories

    if project.platform.names_all:
        return _first_suite(project)
    if project.native is not None:
        return {}
    dialogues = dialogues_of(project)[:_MOST]
    files: dict[str, str] = {}
    if dialogues and not find_test_stories(project.root):
        files[STORIES_FILE] = _stories(dialogues)
    if dialogues and dialogues[0].is_in_sentences and not find_e2e_cases(project.root):
        files[E2E_CASES_FILE] = _cases(dialogues)
    if not find_test_nlu(project.root):
        intent = next(iter(sorted({example.intent for example in project.nlu.examples if example.intent})), "…")
        files[SENTENCES_FILE] = _SENTENCES.format(intent=intent.replace("\n", " "))
    return files


def _first_suite(project: Project) -> dict[str, str]:
    """Return a batch suite of generated cases, which are marked, for an export that has no suite.

    What only the platform can judge is not among them: the first run is one with the engine that stands in for it.
    """
    from turncheck.evaluations.batch.suggested import suggest_cases  # few projects are exports
    from turncheck.project.batch.reader import find_suites
    from turncheck.project.batch.writer import write_suite

    if find_suites(project.root):
        return {}
    cases = [case for case in suggest_cases(project, most=_MOST_CASES).cases if not case.parent]
    return {SUITE_FILE: write_suite(cases, ".csv")} if cases else {}


def dialogues_of(project: Project) -> list[Dialogue]:
    """Return the rules and stories that can be written in sentences of the training data, in their order.

    Where there are none, as without training data, those that can be written in intents.
    """
    sentences: dict[str, str] = {}
    for example in project.nlu.examples:
        text = example.text.strip()
        if example.intent and text and not example.entities and text.isprintable() and not text.startswith("/"):
            sentences.setdefault(example.intent, text)
    return _told_in(sentences, project) or _told_in(dict.fromkeys(project.domain.intents, ""), project)


def _told_in(sentences: Mapping[str, str], project: Project) -> list[Dialogue]:
    """Return the rules and stories whose intents have sentences, one for each intent that they begin with."""
    responses = set(project.domain.responses)
    dialogues: list[Dialogue] = []
    for story in (*project.rules, *project.stories):
        turns = tuple(_turns(story, sentences, responses))
        known = {dialogue.turns[0].intent for dialogue in dialogues}
        if turns and turns[0].intent not in known and not story.condition and not story.conversation_start:
            dialogues.append(Dialogue(story.name, story.kind, turns))
    return dialogues


def _turns(story: Story, sentences: Mapping[str, str], responses: set[str]) -> Iterator[Turn]:
    """Yield the turns of a story, none where a step is anything but a plain intent or a response.

    A rule that does not wait for the user yields none either: other rules say what follows.
    """
    from turncheck.project.model import ActionStep, UserStep

    if not story.wait_for_user_input:
        return
    turns: list[tuple[str, list[str]]] = []
    for step in story.steps:
        if isinstance(step, UserStep) and step.intent and step.intent in sentences and not (step.text or step.entities):
            turns.append((step.intent, []))
        elif isinstance(step, ActionStep) and step.action in responses and turns:
            turns[-1][1].append(step.action)
        else:
            return
    if all(actions for _, actions in turns):
        for intent, actions in turns:
            yield Turn(sentences[intent], intent, tuple(actions))


def _stories(dialogues: list[Dialogue]) -> str:
    lines = [_READ, 'version: "3.1"', "stories:"]
    for dialogue in dialogues:
        lines += [f"- story: {_quoted(dialogue.name)}", "  steps:"]
        for turn in dialogue.turns:
            said = [
                f"  - user: |-{_trained_on(turn.text)}",
                f"      {_plain(turn.text)}",
                f"    intent: {_quoted(turn.intent)}",
            ]
            lines += said if turn.text else [f"  - intent: {_quoted(turn.intent)}"]
            lines += [f"  - action: {_quoted(name)}" for name in turn.responses]
    return "\n".join(lines) + "\n"


def _cases(dialogues: list[Dialogue]) -> str:
    lines = [_READ, "test_cases:"]
    for dialogue in dialogues:
        lines += [f"- test_case: {_quoted(dialogue.name)}", "  steps:"]
        for turn in dialogue.turns:
            lines.append(f"  - user: {_quoted(turn.text)}{_trained_on(turn.text)}")
            lines += [f"  - utter: {_quoted(name)}" for name in turn.responses]
    return "\n".join(lines) + "\n"


def _trained_on(text: str) -> str:
    """The comment beside a sentence of the training data, which tests only the dialogue; one word is not reported."""
    return _TRAINED_ON if len(text.split()) > 1 else ""


def _plain(text: str) -> str:
    """A sentence whose brackets would be annotations is not chosen; blanks at its ends are gone already."""
    return text.replace("[", "\\[")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


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
        named = ", ".join(f"`{name}: {_value(value)}`" for name, value in elsewhere.items())
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
    elif not today.failing and has.endswith(_NO_TESTS):
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
