"""``turncheck data validate [stories]``: read a project, check it, show the findings, exit as Rasa would."""

from __future__ import annotations

import gc
import os
import re
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TextIO

from turncheck import __version__
from turncheck.commands.flags import shared
from turncheck.messages.errors import EXIT_OK, UserError
from turncheck.messages.plain_text import log_json, plain

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    from turncheck.messages.finding import Finding, Location
    from turncheck.project.e2e.model import E2ECase
    from turncheck.project.model import Project
    from turncheck.render.findings import Notes
    from turncheck.validation.facts import ProjectTests
    from turncheck.validation.pipeline import Validated
    from turncheck.yaml_tree.source import Source

_KINDS: Final = ("validate", "split", "convert")


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str, kind: str | None = None) -> None:
    """Add ``data`` and what is below it: one kind, or all if none is named or the name is unknown."""
    wanted = (kind,) if kind in _KINDS else _KINDS
    data = subparsers.add_parser("data", help=words, description=f"{words[0].upper()}{words[1:]}.")
    kinds = data.add_subparsers(title="commands", metavar="WHAT", required=True, prog=data.prog)
    if "validate" in wanted:
        _add_validate(kinds)
    if "split" in wanted:
        from turncheck.commands.split import add_data_split  # each kind is imported on demand

        add_data_split(kinds)
    if "convert" in wanted:
        from turncheck.commands.suites import add_convert

        add_convert(kinds)


def _add_validate(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "validate",
        help="check domain, data and configuration, as `rasa data validate` does",
        description="Check domain, data and configuration. The exit code is 0 where Rasa's is 0, otherwise 1.",
    )
    parser.add_argument("kind", nargs="?", choices=("stories",), help="check only story structure and configuration")
    read = parser.add_argument_group("input")
    shared.add_project(read)
    shared.add_domain(read)
    shared.add_paths(read, "--data", words="training data (default: data)")
    shared.add_config(read)
    how = parser.add_argument_group("checks")
    how.add_argument("--max-history", metavar="N", help="number of states that the story structure check looks back")
    how.add_argument(
        "--fail-on-warnings",
        action="store_true",
        help="fail on the warnings on which Rasa's own command fails (`turncheck run --fail-on-warnings`: on all)",
    )
    how.add_argument("--strict", action="store_true", help="show findings beyond Rasa's at their true severity")
    how.add_argument(
        "--target", choices=("3",), help="in a project of an older Rasa, report what Rasa 3 refuses as errors"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format",
        choices=("text", "json", "github", "sarif"),
        default="text",
        help="output format of the findings (default: text)",
    )
    shared.add_out(output, "report.json", "junit.xml")
    shared.add_json(output)
    output.add_argument("--explain", metavar="CODE", help="print the manual for this code, and check nothing")
    shared.add_verbosity(output)
    parser.set_defaults(handler=_validate)


def _validate(namespace: argparse.Namespace) -> int:
    request = Request(
        project=namespace.project,
        domain=namespace.domain,
        data=namespace.data,
        config=namespace.config,
        max_history=namespace.max_history,
        stories_only=namespace.kind == "stories",
        fail_on_warnings=namespace.fail_on_warnings,
        strict=namespace.strict,
        targets_3=namespace.target == "3",
        language=namespace.language,
    )
    return run_data_validate(
        request,
        output_format=namespace.format,
        notes="all" if namespace.verbose else "none" if namespace.quiet else "some",
        explain_code=namespace.explain,
        files=ReportFiles(namespace.json, namespace.out),
    )


DEFAULT_DOMAIN: Final = "domain.yml"
Format = Literal["text", "json", "github", "sarif"]
FORMATS: Final[tuple[Format, ...]] = ("text", "json", "github", "sarif")


class Request(NamedTuple):
    """What is to be validated, as the command line says it. Paths that are given count from the current folder.

    ``max_history`` may be the text of the flag: what is not a positive integer becomes a finding.
    """

    project: Path = Path()
    domain: Path | None = None
    data: Sequence[Path] | None = None
    config: Path | None = None
    max_history: str | int | None = None
    stories_only: bool = False
    fail_on_warnings: bool = False
    strict: bool = False
    targets_3: bool = False
    language: str | None = None


class ReportFiles(NamedTuple):
    """Where the report goes: to a file, and with ``junit.xml`` to a folder."""

    json: Path | None = None
    out: Path | None = None


_NO_FILES: Final = ReportFiles()


class Checked(NamedTuple):
    """A project and what was found in it; ``project`` is ``None`` where the request itself is the fault."""

    validated: Validated
    project: Project | None = None


def run_data_validate(
    request: Request,
    *,
    output_format: Format = "text",
    notes: Notes = "some",
    explain_code: str | None = None,
    files: ReportFiles = _NO_FILES,
    output: TextIO | None = None,
) -> int:
    """Validate a project, print what was found, and return the exit code: 0 or 1, as ``rasa data validate`` would end.

    Args:
        request: what to validate, and how strictly.
        output_format: ``text`` as a compiler writes; ``json`` always ``{"findings": …, "counts": …}``; ``github``
            workflow commands; ``sarif`` a SARIF 2.1.0 log.
        notes: how much ``text`` shows of what is ``info``.
        explain_code: print the manual's section about this code instead, and validate nothing.
        files: where to write the report, besides.
        output: where to print; standard output if not given.

    Raises:
        UserError: there is no such folder or code, or a file cannot be written.
    """
    from turncheck.process.environment import redact
    from turncheck.validation.manual import explain

    stream = sys.stdout if output is None else output
    if explain_code is not None:
        stream.write(explain(explain_code))
        return EXIT_OK
    if files != _NO_FILES:
        _ensure_apart(files, request)
    checked = check_project(request)
    if output_format == "text":
        stream.write(redact(_text(checked, notes, str(request.project), coloured=_is_colour_terminal(stream))))
        if request.fail_on_warnings and (passing := _passing_warnings(checked.validated)):
            sys.stderr.write(f"turncheck: {passing}\n")
    else:
        stream.write(redact(_rendered(checked, output_format, request.project)))
    if files != _NO_FILES:
        _write_report(checked, request.project, files)
    return checked.validated.exit_code(fail_on_warnings=request.fail_on_warnings)


def check_project(request: Request) -> Checked:
    """Read and check a project, and leave out what it suppresses. An invalid ``turncheck.yml`` is the only finding.

    Raises:
        UserError: there is no such folder, or the export in it cannot be read.
    """
    from turncheck.messages.finding import Location
    from turncheck.project.export import export_of
    from turncheck.project.reader import read_project
    from turncheck.validation.facts import ProjectTests
    from turncheck.validation.findings import found
    from turncheck.validation.pipeline import PLATFORM_CHECKS, Validated, validate
    from turncheck.validation.suppressions import suppress

    if not request.project.is_dir():
        raise UserError(f"There is no folder '{request.project}'.", hint="Name the project's folder with --project.")
    history = _history(request.max_history)
    if isinstance(history, str):
        finding = found("max-history-invalid", f"--max-history is '{history}', not a positive integer.", Location(""))
        return Checked(Validated((finding,), ("always",)))
    try:
        ignored = _ignored(request.project)
    except UserError as error:
        message = f"{error.message}. {error.hint}" if error.hint else error.message
        finding = found("settings-invalid", message, error.location or Location("turncheck.yml"))
        return Checked(Validated((finding,), ("always",)))
    domain = request.domain
    if (export := export_of(request.project, request.data)) is None:
        domain = domain or request.project / DEFAULT_DOMAIN
    elif request.stories_only:
        raise UserError(f"{export.platform.one} has no stories", hint="Use `turncheck data validate`.")
    with _collecting_rarely():
        project = read_project(
            request.project,
            domain=domain,
            data=request.data,
            config=request.config,
            domain_as_listed=True,
            language=request.language,
        )
        tests, of_tests, of_cases = (ProjectTests(), (), ()) if request.stories_only else _tests(project)
        validated = validate(
            project,
            max_history=history,
            stories_only=request.stories_only,
            strict=request.strict,
            drop_in=True,
            tests=tests,
            targets_3=request.targets_3,
        )
        eased = not request.strict and project.platform.part(PLATFORM_CHECKS) is None
        beside_flows = bool(project.flows)
        with_cases = validated.with_tests(of_cases, eased=eased and not beside_flows, fails=beside_flows)
        kept = suppress(
            with_cases.with_tests(of_tests, eased=eased),
            project,
            ignored,
            tests=tests,
            strict=request.strict,
            stories_only=request.stories_only,
            cases_read=bool(tests.cases),
        )
        return Checked(kept, project)


def _tests(project: Project) -> tuple[ProjectTests, Sequence[Finding], Sequence[Finding]]:
    """The tests in their usual places, but for files that were read as training data, and what is wrong with them.

    What is wrong with end-to-end cases comes last: only where they are held against flows does it change the exit code.
    """
    from turncheck.messages.finding import shown_path
    from turncheck.project.reader import read_nlu, read_stories
    from turncheck.project.testfiles import find_e2e_cases, find_test_nlu, find_test_stories, find_unsearched
    from turncheck.validation.facts import ProjectTests

    trained_on = {file.path for file in project.files}
    root = project.root

    def apart(paths: Sequence[Path]) -> list[Path]:
        return [path for path in paths if shown_path(path.relative_to(root)) not in trained_on]

    story_paths, nlu_paths, case_paths = (
        apart(find(root)) for find in (find_test_stories, find_test_nlu, find_e2e_cases)
    )
    stories, of_stories = read_stories(story_paths, root) if story_paths else ((), ())
    nlu, of_nlu = read_nlu(nlu_paths, root) if nlu_paths else (None, ())
    cases, of_cases = _cases(project, case_paths) if case_paths else ((), ())
    tests = ProjectTests(stories, nlu.examples if nlu else (), cases)
    known = {finding.location.path for finding in (*project.findings, *of_stories, *of_nlu, *of_cases)}
    unsearched = [finding for finding in find_unsearched(root) if finding.location.path not in known]
    return tests, (*of_stories, *of_nlu, *_of_suites(project), *unsearched), of_cases


def _of_suites(project: Project) -> Sequence[Finding]:
    """What is wrong with the batch suites in their usual places."""
    from turncheck.project.batch.reader import (  # few projects have some
        find_mistaken_suites,
        find_suites,
        read_suites,
    )

    mistaken = tuple(find_mistaken_suites(project.root))
    paths = find_suites(project.root)
    if not paths:
        return mistaken
    from turncheck.project.batch.known import known_names
    from turncheck.validation.case_names import unknown_names

    read = read_suites(project.root, paths)
    return (*read.findings, *unknown_names(read, known_names(project)), *mistaken)


def _cases(project: Project, paths: Sequence[Path]) -> tuple[Sequence[E2ECase], Sequence[Finding]]:
    from turncheck.project.e2e.cases import read_cases  # only where there are such cases
    from turncheck.validation.case_names import as_not_run, check_beside_flows, check_cases
    from turncheck.validation.facts import missing_parts

    read = read_cases(project.root, paths)
    if project.domain.is_empty or "domain" in missing_parts(project):
        return read.cases, read.findings if not project.flows else [*map(as_not_run, read.findings)]
    from turncheck.dialogue.domain import DialogueDomain

    if project.flows:
        return read.cases, check_beside_flows(read, DialogueDomain.of(project))
    return read.cases, (*read.findings, *check_cases(read, DialogueDomain.of(project)))


@contextmanager
def _collecting_rarely() -> Iterator[None]:
    """Millions of objects are made here and few are dropped: looking for cycles among them is a fifth of the time."""
    before = gc.get_threshold()
    gc.set_threshold(500_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _ignored(folder: Path) -> tuple[tuple[str, Location], ...]:
    """The codes that the project's ``turncheck.yml`` leaves out, with their places."""
    if not (folder / "turncheck.yml").exists():
        return ()
    from turncheck.settings.file import read_settings_file

    return read_settings_file(folder).ignored


_ALL_OF_IT: Final = 1_000_000_000
"""Longer than any story."""


def _history(given: str | int | None) -> str | int | None:
    if not isinstance(given, str):
        return given
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,1000}\s*", given):
        return given
    return min(int(given), _ALL_OF_IT)


# Start-up is half of the time that a small project takes: only what the format needs is imported.


def _text(checked: Checked, notes: Notes, folder: str, *, coloured: bool) -> str:
    from turncheck.render.findings import findings_text

    validated = checked.validated
    lines = source_lines(checked.project)
    shown = findings_text(validated.findings, validated.counts, lines, notes=notes, coloured=coloured, folder=folder)
    return _version(checked.project, folder) + shown


def _passing_warnings(validated: Validated) -> str:
    """Say that no warning fails although that was requested, as in Rasa; empty if one does, or an error."""
    warnings = validated.counts["warning"]
    if not warnings or validated.exit_code(fail_on_warnings=True) != EXIT_OK:
        return ""
    which = "this warning" if warnings == 1 else f"these {warnings:,} warnings"
    return f"Rasa's own command does not fail on {which}. `turncheck run --fail-on-warnings` does."


def _version(project: Project | None, folder: str) -> str:
    """Say which Rasa a project is written for, if it is an older one or a mixture."""
    if project is None or project.rasa is None or not (project.rasa.is_older or project.rasa.others):
        return ""
    from turncheck.render.phrases import version_line
    from turncheck.run.report_of import project_info

    return version_line(project_info(project), folder)


def _rendered(checked: Checked, output_format: Literal["json", "github", "sarif"], folder: Path) -> str:
    if output_format == "sarif":
        return log_json(_sarif(checked, folder))
    from turncheck.render.findings import findings_commands, findings_json

    findings, counts = checked.validated.findings, checked.validated.counts
    if output_format == "json":
        return log_json(findings_json(findings, counts))
    return findings_commands(findings, repository_root(folder))


def _ensure_apart(files: ReportFiles, request: Request) -> None:
    from turncheck.run.folders import ensure_apart_from_project  # only if files are written
    from turncheck.settings.options import Settings

    data, domain = request.data or (), request.domain
    settings = Settings(
        project=str(request.project), data=tuple(map(str, data)), domain=None if domain is None else str(domain)
    )
    ensure_apart_from_project(files.out, settings, files.json)


def _write_report(checked: Checked, folder: Path, files: ReportFiles) -> None:
    from turncheck.evaluations.validate.measure import validation_of
    from turncheck.publishing.files import write_file, write_results
    from turncheck.render.junit import render_junit
    from turncheck.render.links import Links
    from turncheck.render.rendered import Rendered
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.codec import encode
    from turncheck.report.model import ProjectInfo
    from turncheck.run.report_of import project_info, report_of
    from turncheck.settings.options import Settings

    project, root = checked.project, repository_root(folder)
    info = project_info(project, root=root) if project else ProjectInfo(name=folder.resolve().name, root=root)
    validated = checked.validated
    section = validation_of(validated.findings, validated.suppressed, project)
    report = report_of(info, Settings().seed, validation=section)
    content = encode(report)
    if files.out is not None:
        no_gates = Verdict(outcome="passed", summary="")  # a command for the data alone has none
        junit = render_junit(report, None, no_gates, Links())
        write_results(files.out, [Rendered("report.json", "application/json", content), junit])
    if files.json is not None:
        write_file(files.json, content)


def _sarif(checked: Checked, folder: Path) -> str:
    from turncheck.render.sarif import findings_sarif
    from turncheck.validation.manual import rule_texts

    sarif = findings_sarif(
        checked.validated.findings,
        rule_texts(),
        repository_root(folder),
        __version__,
        line_hash=line_hash_below(folder),
        say=lambda note: sys.stderr.write(plain(f"turncheck: {note}\n")),
    )
    return sarif.encoded.decode()


def line_hash_below(root: Path) -> Callable[[Location], str | None]:
    """Return a function that gives GitHub's hash of the line of a place; of a place without a line, the first's."""
    from turncheck.project.folder import ProjectFolder
    from turncheck.render.sarif import line_hashes

    folder = ProjectFolder(root)

    @cache
    def hashes_of(path: str) -> list[str]:
        file = root / path
        content = folder.read_bytes(file) if path and file.is_file() else None
        return [] if content is None else line_hashes(content)

    def hash_of(location: Location) -> str | None:
        hashes, index = hashes_of(location.path), max(location.line or 1, 1) - 1
        return hashes[index] if index < len(hashes) else None

    return hash_of


def source_lines(project: Project | None) -> Callable[[Location], str | None]:
    """Return a function that gives the line of a place in the files of the project and its tests."""
    from turncheck.project.folder import ProjectFolder

    if project is None:
        return lambda _place: None
    # An export holds secrets, and some are written in one line: nothing of it is shown beside what messages quote.
    private = {file.path for file in project.files if project.platform.holds_secrets}
    sources = {file.path: file.source for file in project.files if file.source is not None}
    folder = ProjectFolder(project.root)

    @cache
    def source_of(path: str) -> Source | None:
        return sources.get(path) or folder.read(project.root / path)

    def line_of(location: Location) -> str | None:
        source = source_of(location.path) if location.path and location.path not in private else None
        if source is None or location.line is None or not 0 < location.line <= len(source.line_starts):
            return None
        return source.line(location.line)

    return line_of


def repository_root(folder: Path) -> str:
    """Return the folder's path in its git repository, with forward slashes; "" at its top and outside of one."""
    from turncheck.messages.finding import shown_path

    absolute = folder.resolve()
    for parent in (absolute, *absolute.parents):
        if (parent / ".git").exists():
            path = shown_path(absolute.relative_to(parent))
            return "" if path == "." else path
    return ""


def _is_colour_terminal(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ
