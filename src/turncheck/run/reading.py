"""Reads what the settings name, the project and its tests, and says whether it can be run.

Where nothing can be trained, a command is refused, and an evaluation is skipped with the reason.
"""

from __future__ import annotations

import os
import shlex
from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck.engines.base import DIALOGUE_PARTS, NOTHING_TO_LEARN, Engine
from turncheck.messages.errors import NoAssistantError, TrainingRefusedError, UserError
from turncheck.messages.finding import Finding, Location
from turncheck.process.environment import FileVariables
from turncheck.process.foreign_content import FOREIGN
from turncheck.process.regular_file import file_and_case
from turncheck.project import testfiles
from turncheck.project.batch.reader import find_mistaken_suites, find_suites
from turncheck.project.botium.others import suites_without_convos
from turncheck.project.candidates import Part, candidates
from turncheck.project.config import has_policies_beside_flows
from turncheck.project.export import export_of
from turncheck.project.files import DEFAULT_CONFIG
from turncheck.project.folder import YAML_SUFFIXES, ProjectFolder, assistants_in_words
from turncheck.project.formats.rasa_yaml import FILE_EMPTY, HOW_TO_FILL, how_to_begin, unseen_key
from turncheck.project.project_file import NLU_KEYS, STORY_KEYS
from turncheck.project.reader import read_nlu_files, read_project, read_story_files
from turncheck.run.skipping import in_vain
from turncheck.settings.engines import ENGINES
from turncheck.validation import before_training

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.process.screen import Console
    from turncheck.project.model import Project, Story
    from turncheck.project.nlu_data import NluData
    from turncheck.report.evaluations import Evaluation
    from turncheck.settings.options import Settings

_PARTS: Final[tuple[Part, ...]] = ("domain", "config", "data")
CASES_BELOW: Final = " or ".join(f"{name}/" for name in testfiles.E2E_FOLDERS)
"""Where end-to-end cases are looked for."""


class Tests(Struct, frozen=True):
    """The tests of the project. ``None`` for test sentences: cross-validation."""

    nlu: NluData | None
    stories: tuple[Story, ...]
    e2e: tuple[str, ...]
    batch: tuple[str, ...] = ()
    e2e_elsewhere: tuple[str, ...] = ()
    """Files with end-to-end cases that are not run: they are outside the usual folders, or the settings omit them."""
    nlu_findings: tuple[Finding, ...] = ()
    story_findings: tuple[Finding, ...] = ()
    other_findings: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings from reading the tests."""
        return (*self.nlu_findings, *self.story_findings, *self.other_findings)


NO_TESTS: Final = Tests(nlu=None, stories=(), e2e=())


def variables_of(settings: Settings) -> FileVariables:
    """Return what files of a project get on a command line: what was handed over, and the process's environment."""
    return FileVariables(dict(settings.env), os.environ)


def read_configured(
    settings: Settings,
    *,
    endpoints: Path | None = None,
    data: Iterable[str] | None = None,
    variables: FileVariables | None = None,
) -> Project:
    """Read the project with the paths that the settings name.

    Args:
        settings: these name them.
        endpoints: used instead of the project's own ``endpoints.yml``.
        data: what is read as training data, if that is not just ``settings.data``.
        variables: what ``${NAME}`` in its files stands for, by default :func:`variables_of`.

    Raises:
        UserError: a given path is missing.
    """
    for name in ("domain", "config", "nlu"):
        path = getattr(settings, name)
        ensure_there(name, (path,) if path else ())
    for name in ("data", "stories", "e2e", "batch"):
        ensure_there(name, (file_and_case(path)[0] for path in getattr(settings, name)))
    ensure_there("endpoints", () if endpoints is None else (endpoints,))
    root, paths = Path(settings.project), [Path(path) for path in (settings.data if data is None else data)] or None
    is_for_engine = ENGINES[settings.engine].has_languages and export_of(root, paths) is None
    return read_project(
        root,
        domain=Path(settings.domain) if settings.domain else None,
        data=paths,
        config=Path(settings.config) if settings.config else None,
        endpoints=endpoints,
        language=None if is_for_engine else settings.language,
        variables=variables or variables_of(settings),
    )


def file_of_all(root: Path, settings_file: Path | None, read: Iterable[str]) -> str | None:
    """Return the file for what concerns the assistant as a whole, relative to its folder; ``None`` if there is none.

    Gates, and what was not run, are shown there: the settings if there are any, else the first file that exists.

    Args:
        root: the assistant's folder.
        settings_file: its ``turncheck.yml``, or another one that names it.
        read: paths of files in the assistant's folder, the best first.
    """
    if settings_file is not None:
        return ProjectFolder(root).name(settings_file)
    return next((path for path in read if (root / path).is_file()), None)


def read_tests(settings: Settings, variables: FileVariables | None = None) -> Tests:
    """Read the test sentences and stories that the settings name, else those found in their usual places.

    ``variables`` as in :func:`read_configured`.
    """
    root, variables = Path(settings.project), variables or variables_of(settings)
    nlu_paths = [Path(settings.nlu)] if settings.nlu else testfiles.find_test_nlu(root)
    nlu, nlu_findings = read_checked_nlu(nlu_paths, root, variables) if nlu_paths else (None, ())
    story_paths = [Path(path) for path in settings.stories] or testfiles.find_test_stories(root)
    stories, story_findings = read_checked_stories(story_paths, root, variables) if story_paths else ((), ())
    without = {path: _unseen(root, path) for path in testfiles.find_files_without_tests(root)}
    empty = testfiles.find_empty(root)
    unseen = [found for found in without.values() if found is not None]
    e2e_elsewhere = tuple(testfiles.find_e2e_cases_not_looked_for(root, settings.e2e))
    e2e = tuple(settings.e2e) or tuple(str(path) for path in testfiles.find_e2e_cases(root))
    read = (*nlu_paths, *story_paths, *(Path(file_and_case(path)[0]) for path in e2e))
    not_read = list(testfiles.find_unreadable(root, read))
    return Tests(
        nlu=nlu,
        stories=without_faulty(stories, story_findings),
        e2e=e2e,
        batch=tuple(settings.batch) or find_suites(root),
        e2e_elsewhere=e2e_elsewhere,
        nlu_findings=(*nlu_findings, *(finding for key, finding in unseen if key in NLU_KEYS)),
        story_findings=(
            *story_findings,
            *(finding for key, finding in unseen if key not in NLU_KEYS),
            *(() if settings.stories else testfiles.find_unsearched(root)),
            *(finding for finding in not_read if finding.code == FOREIGN),
        ),
        other_findings=(
            *(_without_tests(root, path) for path, found in without.items() if found is None and path not in empty),
            *map(_empty, empty),
            *_not_looked_for(settings, root, (*nlu_paths, *story_paths)),
            *(_unreadable(finding) for finding in not_read if finding.code != FOREIGN),
            *_cases_not_run(e2e_elsewhere, is_named=bool(settings.e2e)),
            *suites_without_convos(root),
            *(() if settings.batch else find_mistaken_suites(root)),
        ),
    )


def read_checked_nlu(
    paths: Iterable[Path], root: Path, variables: FileVariables | None = None
) -> tuple[NluData, tuple[Finding, ...]]:
    """Read test sentences; anything in their files that is not read is an error among the findings."""
    data, findings, files = read_nlu_files(paths, root, variables)
    return data, before_training.unread_tests(findings, files)


def without_faulty(stories: Sequence[Story], findings: Iterable[Finding]) -> tuple[Story, ...]:
    """Leave out stories with an error in them: without the unreadable step, each would be a different story."""
    faulty = [
        finding.location for finding in findings if finding.severity == "error" and finding.location.line is not None
    ]
    starts: dict[str, list[int]] = {}
    for story in stories:
        starts.setdefault(story.location.path, []).append(story.location.line or 0)
    in_order = {path: sorted(lines) for path, lines in starts.items()}
    spoilt = set()
    for location in faulty:
        lines = in_order.get(location.path, [])
        if before := bisect_right(lines, location.line or 0):
            spoilt.add((location.path, lines[before - 1]))
    return tuple(story for story in stories if (story.location.path, story.location.line or 0) not in spoilt)


def read_checked_stories(
    paths: Iterable[Path], root: Path, variables: FileVariables | None = None
) -> tuple[tuple[Story, ...], tuple[Finding, ...]]:
    """Read test stories; anything in their files that is not read is an error among the findings."""
    stories, findings, files = read_story_files(paths, root, variables)
    return stories, before_training.unread_tests(findings, files)


def _unseen(root: Path, path: str) -> tuple[str, Finding] | None:
    """For a file named like tests, the intended key, if it is misnamed_files: its tests would be lost."""
    source = ProjectFolder(root).read(root / path)
    return unseen_key(source) if source is not None and (root / path).suffix in YAML_SUFFIXES else None


def _empty(path: str) -> Finding:
    message = f"'{path}' is empty: nothing is tested with it."
    return Finding(FILE_EMPTY, "warning", message, Location(path), HOW_TO_FILL)


def _without_tests(root: Path, path: str) -> Finding:
    source = ProjectFolder(root).read(root / path) if path.endswith((".yml", ".yaml")) else None
    return Finding(
        "file-without-data",
        "warning",
        f"'{path}' is named like a test file, but contains neither sentences nor stories: nothing is tested with it.",
        Location(path),
        (how_to_begin(source) if source else "") or "Its top level needs the key `nlu:` or `stories:`.",
    )


def _not_looked_for(settings: Settings, root: Path, read: Sequence[Path]) -> Iterable[Finding]:
    """Tests under a file name that is never looked for; none if the settings name the files."""
    kinds = (
        ("nlu", "sentences", ("nlu",), settings.nlu, "has `nlu` in it"),
        ("stories", "stories", STORY_KEYS, settings.stories, "begins with `test_`"),
    )
    for setting, what, keys, given, rule in kinds:
        for path in [] if given else testfiles.find_files_not_looked_for(root, keys, read):
            yield Finding(
                "test-file-not-looked-for",
                "info",
                f"'{path}' holds {what}, but its name is not that of a test file: nothing is tested with it.",
                Location(path),
                f"Give it a name that {rule}, or name it in the setting `{setting}`.",
            )


def _unreadable(why: Finding) -> Finding:
    message = f"{why.message.rstrip('.')}: nothing is tested with it, whatever it holds."
    return replace(why, severity="warning", message=message)


def _cases_not_run(paths: Iterable[str], *, is_named: bool) -> Iterator[Finding]:
    why = "the setting `e2e` does not name it" if is_named else f"it is not below {CASES_BELOW}"
    for path in paths:
        yield Finding(
            "test-file-not-looked-for",
            "info",
            f"'{path}' holds end-to-end cases, but {why}: they are not run.",
            Location(path),
            "Name it in the setting `e2e`, or move it below one of these folders.",
        )


def ensure_tests_read(what: str, findings: Iterable[Finding]) -> None:
    """Refuse tests if some of them cannot be read.

    Raises:
        UserError: names the first fault.
    """
    if fault := next((finding for finding in findings if finding.severity == "error"), None):
        message = f"{what} cannot be read completely: {fault.message.rstrip('.')}"
        raise UserError(message, location=fault.location, hint=fault.hint or None)


def ensure_there(name: str, paths: Iterable[Path | str]) -> None:
    """Make sure that what a flag or a setting names exists.

    Raises:
        UserError: it does not.
    """
    for path in paths:
        if not Path(path).exists():
            raise UserError(
                f"the path '{path}' of --{name} does not exist",
                hint="Correct the path; it is relative to the current folder.",
            )


_WIDTH: Final = 600
"""At most this much of a finding is shown."""


def read_assistant(settings: Settings, *, endpoints: Path | None = None, data: Iterable[str] | None = None) -> Project:
    """Read the project as :func:`turncheck.run.reading.read_configured` does.

    Raises:
        UserError: a given path is missing, or the folder is not an assistant that can be read here.
    """
    project = read_configured(settings, endpoints=endpoints, data=data)
    ensure_assistant(project)
    return project


def read_answered_elsewhere(settings: Settings) -> Project:
    """Read the project; unless the engine answers from its files, they need not be those of an assistant.

    Raises:
        UserError: a given path is missing, or the embedded engine has no assistant to train on.
    """
    return read_assistant(settings) if ENGINES[settings.engine].from_files else read_configured(settings)


def read_dialogue_assistant(settings: Settings, *, endpoints: Path | None = None) -> Project:
    """Do the same for an assistant whose dialogues are tested.

    Raises:
        UserError: as above, or its dialogues are not in its files.
    """
    project = read_assistant(settings, endpoints=endpoints)
    elsewhere = project.platform.no_dialogues
    if elsewhere is not None and ENGINES[settings.engine].from_files:
        tests = "`turncheck test nlu`, `turncheck test robustness`, `turncheck run`"
        hint = f"Test what it understands: {tests}. `turncheck suggest` suggests cases of a batch suite."
        hint += " Conversations need --engine http."
        raise UserError(elsewhere, hint=hint)
    return project


def ensure_possible(engines: Engine, evaluation: Evaluation, *, in_folds: bool = False) -> None:
    """Refuse an evaluation that the engine does not support; ``in_folds``: for which it has to be trained in folds.

    Raises:
        UserError: with the reason.
    """
    if reason := engines.capabilities.why_not(evaluation):
        raise UserError(reason)
    if in_folds and (reason := engines.capabilities.no_training) is not None:
        without = "Leave --cross-validation out" if evaluation == "nlu" else "Name test sentences with --nlu"
        raise UserError(reason, hint=f"{without}, or use an engine that can be trained here.")


def ensure_assistant(project: Project, *, as_argument: str = "--project ") -> None:
    """Refuse a folder of several assistants, or an assistant of an older Rasa, before anything else is reported.

    Raises:
        UserError: names the assistants below it, or what shows that it is of an older Rasa.
    """
    ensure_assistant_here(project, as_argument=as_argument)


def ensure_assistant_here(project: Project, *, as_argument: str = "--project ", all_too: bool = False) -> None:
    """Refuse a folder that is not an assistant but contains some; ``all_too``: the command also accepts all of them.

    Raises:
        UserError: names them.
    """
    if project.below:
        raise UserError(
            f"there is no assistant in '{project.root}', but below it: {assistants_in_words(project.below)}",
            hint=f"Name one: {as_argument}{project.below[0].as_posix()}{_or_all(project.below) if all_too else ''}.",
        )


def ensure_something_here(settings: Settings, project: Project, tests: Tests) -> None:
    """Refuse a folder in which nothing was found that a run could measure.

    Raises:
        NoAssistantError: says what an assistant is.
    """
    absent = before_training.NOT_THERE.keys() <= {finding.code for finding in project.findings}
    named = (settings.domain, settings.config, settings.nlu, *settings.data, *settings.stories)
    found = (project.files, tests.nlu, tests.stories, tests.e2e, tests.batch, tests.findings)
    if not ENGINES[settings.engine].from_files:
        return  # it says itself what it needs, and where to write it
    if absent and not any(named) and not any(found) and not any(candidates(project.root, part) for part in _PARTS):
        raise NoAssistantError(
            f"there is no assistant in '{project.root}'",
            hint="An assistant has a domain.yml beside its config.yml and its folder data/. Name its folder: "
            "turncheck run FOLDER.",
        )


def _or_all(below: Iterable[Path]) -> str:
    """How to name all of them: by a pattern for each folder that they are in."""
    patterns = dict.fromkeys((path.parent / "*").as_posix() for path in below)
    return f", or all of them: turncheck run {' '.join(map(shlex.quote, patterns))}"


def ensure_trainable(project: Project, *, sentences_do: bool = False, beside_flows: bool = False) -> None:
    """Refuse a project of which a part cannot be read completely, or that has no dialogues to train on.

    ``sentences_do``: one that only has sentences to train on is not refused; ``beside_flows``: nor is one with flows
    that has stories and policies beside them.

    Raises:
        UserError: says which file is at fault.
    """
    if project.calm is not None and not (beside_flows and has_policies_beside_flows(project)):
        raise UserError(f"{project.calm}: the embedded engine does not run CALM assistants")
    ensure_readable(project, DIALOGUE_PARTS)
    if project.stories or project.rules or (sentences_do and project.nlu.examples):
        return
    if sentences_do:
        what = f"the project has neither sentences nor stories nor rules to learn from{in_vain(project)}"
        raise UserError(what, hint="Write some, or name them with --data.")
    raise UserError(f"{NOTHING_TO_LEARN}{in_vain(project)}", hint="Write some, or name them with --stories.")


def ensure_readable(project: Project, parts: AbstractSet[str]) -> None:
    """Refuse a project if one of these parts cannot be read completely: nothing is trained on part of it.

    Raises:
        UserError: says what cannot be read, and where.
    """
    lost = before_training.first_unreadable(before_training.unreadable_parts(project), parts)
    if lost is not None and not project.files:
        raise UserError(
            f"there is no assistant in '{project.root}': no configuration, no domain, no training data",
            hint="Name its folder with --project.",
        )
    if lost is not None:
        part, finding = lost
        location = None if finding.code.endswith("-not-found") else finding.location
        what = finding.message.rstrip(".")
        raise UserError(
            what
            if location is None or part == "pipeline"
            else f"{before_training.PARTS[part]} cannot be read completely: {what}",
            location=location,
            hint=finding.hint or "`turncheck data validate` lists all faults.",
        )


def ensure_trainable_by_config(project: Project, settings: Settings, needed: AbstractSet[str]) -> None:
    """Refuse a project of which a part that is trained on cannot be read, or that has no configuration to train by.

    Raises:
        UserError: says what is missing.
    """
    ensure_readable(project, needed)
    if "config" in needed and not project.config.keys:
        raise UserError(
            "there is no configuration to train with at"
            f" '{settings.config or Path(settings.project) / DEFAULT_CONFIG}'",
            hint="Name a configuration with --config.",
        )


def ensure_policies_accepted(project: Project, screen: Console) -> None:
    """Report what Rasa warns about when it trains policies on these files.

    Raises:
        TrainingRefusedError: Rasa would train nothing.
    """

    checked = before_training.check_policy_training(project)
    warn_or_refuse(project, checked.refused, checked.warnings, screen)


def ensure_nlu_accepted(project: Project, screen: Console) -> None:
    """Do the same for language understanding alone.

    Raises:
        TrainingRefusedError: Rasa would train nothing.
    """

    checked = before_training.check_nlu_training(project)
    warn_or_refuse(project, checked.refused, checked.warnings, screen)


def ensure_valid(project: Project, screen: Console, *, max_history: int | None, fail_on_warnings: bool) -> None:
    """Validate the whole project, as bare ``rasa train`` does before it trains.

    Raises:
        TrainingRefusedError: validation fails.
    """
    from turncheck.validation.pipeline import validate

    validated = validate(project, max_history=max_history, drop_in=True)
    failing = {"always", "on-warnings"} if fail_on_warnings else {"always"}
    pairs = list(zip(validated.findings, validated.fails, strict=True))
    refused = [finding for finding, fails in pairs if fails in failing]
    warn_or_refuse(project, refused, [f for f, fails in pairs if fails not in failing and f.severity != "info"], screen)


def warn_or_refuse(project: Project, refused: Iterable[Finding], warnings: Iterable[Finding], screen: Console) -> None:
    """Show the warnings about a project.

    Raises:
        TrainingRefusedError: something is refused; the error names all of it.
    """
    for finding in warnings:
        screen.note(_line(project, finding, "warning: "))
    lines = [f"\n{_line(project, finding)}" for finding in refused]
    if lines:
        raise TrainingRefusedError(
            f"the project cannot be trained:{''.join(lines)}", hint="`turncheck data validate` shows more."
        )


def _line(project: Project, finding: Finding, level: str = "") -> str:
    from turncheck.render.sinks.terminal import place, text  # most projects have none

    return f"{place(finding.location, str(project.root))}: {text(f'{level}{finding.message} [{finding.code}]', _WIDTH)}"
