"""``turncheck report``: outputs made again from reports alone, later, on another machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from turncheck.ci.host import NO_RUN, Host
from turncheck.ci.hosts import OF_CODE, find_host, name_of
from turncheck.comparison.compare import as_compared
from turncheck.comparison.model import Baseline, Comparison, Missing, Present, Unreachable, Unreadable
from turncheck.conclude import NamedOutcome, Outcome, Outcomes, conclude, page_of
from turncheck.messages.errors import EXIT_NOT_DONE, EXIT_OK, UserError
from turncheck.messages.finding import Location
from turncheck.messages.phrasing import count
from turncheck.process.output_files import OwnFiles
from turncheck.process.regular_file import read_regular
from turncheck.publishing.files import terminal_summary, write_file, write_own, written_line
from turncheck.publishing.other_run import FoundResult, FoundRun, RunReader
from turncheck.publishing.publish import Place, Publishing, result_of_any
from turncheck.render.assistants import Run, comment_key, key_of
from turncheck.render.links import Links
from turncheck.render.page.page import NAME as PAGE
from turncheck.render.wording.verdict import Verdict
from turncheck.report.codec import BASELINE_NAME, MAX_BYTES, encode
from turncheck.run.find_baseline import read_baseline
from turncheck.run.folders import ensure_apart_from_project
from turncheck.run.prepare import links_of
from turncheck.run.report_of import REPORT_NAME, read_report
from turncheck.settings.options import Settings
from turncheck.settings.parsers import MAX_NOTES
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.process.environment import Secret
    from turncheck.process.screen import Console
    from turncheck.report.model import Report

COMPARISON_FILES = ("comparison.json", "verdict.json", "report.html", "comment.md", "summary.md")


def compare_reports(
    base: Path, head: Path, *, gates: Mapping[str, Any], out: Path, write: Callable[[str], object], screen: Console
) -> int:
    """Compare two reports, judge the second by its own gates or the given ones, and write what a pull request would
    show.

    Returns:
        0 where all gates passed, else 1.

    Raises:
        UserError: a report that cannot be read, or a gate that cannot be.
    """
    ensure_apart_from_project(out, Settings())
    report = _with_gates(read_report(head), gates)
    # Gates that are set from outside apply to both: neither report has changed them.
    outcome = _outcome(report, Present(_with_gates(read_report(base), gates), "file"))
    written = write_own(out, (rendering for rendering in outcome.renderings() if rendering.name in COMPARISON_FILES))
    write(terminal_summary(outcome, links_of(find_host(os.environ))))
    screen.note(written_line(out, written))
    return outcome.exit_code


def render_report(path: Path, baseline: str | None, out: Path, screen: Console, settings: Settings) -> int:
    """Render a report again: every file that a run writes, in the formats of ``settings``.

    Without a ``baseline`` it is compared with the one of its run, if that is beside it.

    Raises:
        UserError: a report that cannot be read.
    """
    ensure_apart_from_project(out, settings)
    folder = path.parent if path.name == REPORT_NAME and not path.is_dir() else path
    found: Baseline = Missing("none was given")
    if baseline:
        found = read_baseline(baseline, Network.of(os.environ))
    elif (folder / BASELINE_NAME).exists():
        found = _baseline_beside(folder)
    formats = settings.output_format or find_host(os.environ).formats
    outcome = conclude(
        read_report(path),
        found,
        links_of(find_host(os.environ)),
        flavour=settings.junit_flavour,
        formats=formats,
    )
    screen.note(written_line(out, write_own(out, outcome.renderings())))
    return EXIT_OK


def render_pages(paths: Sequence[Path], baseline: str | None, out: Path | None, screen: Console) -> int:
    """Render one page of all these reports, with an overview if there are several.

    A comparison and a verdict that are beside a report are shown as they are, unless a ``baseline`` is named. A file
    that ``out`` names is replaced, whoever wrote it; without one, ``report.html`` is written, and replaced if ours.

    Raises:
        UserError: a document that cannot be read.
    """
    if out is None:
        OwnFiles(Path()).claim(PAGE)
    ensure_apart_from_project(None, Settings(), out)
    out = out or Path(PAGE)
    found = read_baseline(baseline, Network.of(os.environ)) if baseline else None
    links = links_of(find_host(os.environ))
    page = page_of([_run_to_show(path, found, links) for path in paths])
    write_file(out, page.encoded)
    screen.note(f"Written: {out}")
    return EXIT_OK


def _run_to_show(path: Path, baseline: Baseline | None, links: Links) -> Run:
    report = read_report(path)
    folder = path if path.is_dir() else path.parent
    compared, judged = folder / "comparison.json", folder / "verdict.json"
    if baseline is not None or not (compared.exists() and judged.exists()):
        outcome = conclude(report, baseline or Missing("none was given"), links)
        return outcome.run
    comparison, verdict = _read_document(compared, Comparison), _read_document(judged, Verdict)
    return Run(as_compared(report, comparison), comparison, verdict, links)


_Document = TypeVar("_Document", Comparison, Verdict)


def _read_document(path: Path, kind: type[_Document]) -> _Document:
    """Read a document that a run wrote beside its report."""
    try:
        return msgspec.json.decode(read_regular(path, most=MAX_BYTES), type=kind)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{path} is not a {kind.__name__.lower()} of this turncheck: {error}",
            hint="Write it again (`turncheck report compare`), or move it away from the report.",
        ) from None


@dataclass(frozen=True, slots=True)
class PublishRequest:
    """What is to be published, and where: a report on a pull request, or the results of a workflow run.

    ``host`` is a name of :data:`turncheck.ci.hosts.OF_CODE`; "" for the host of this job, else GitHub.
    """

    host: str
    repository: str
    token: Secret | None
    settings: Settings
    gates: Mapping[str, Any]
    report: Path | None = None
    pull_request: int | None = None
    baseline: str | None = None


def publish_report(request: PublishRequest, environment: Mapping[str, str], screen: Console) -> int:
    """Post the comment (and the check run) of a report, from a laptop or another CI host.

    Returns: 0 if it was posted, 2 if a part of it could not be.

    Raises:
        UserError: nothing could be posted, and why.
    """
    ensure_apart_from_project(Path(request.settings.out), request.settings)
    host = _host_of(request, environment)
    if request.settings.run_id is not None:
        found_run = _reader(request, host, screen).read(request.settings.run_id)
    else:
        found_run = _given(request, host, Network.of(environment))
    if isinstance(found_run.target, str):
        raise UserError(f"there is nowhere to comment: {found_run.target}")
    place = Place(
        host=host,
        target=lambda: found_run.target,
        stamp=found_run.stamp,
        say=lambda _, text: screen.note(text),
        annotate=lambda _: None,
    )
    failed = []
    for number, result in enumerate(found_run.results):
        folder = Path(request.settings.out)
        folder = folder if len(found_run.results) == 1 else folder / str(number + 1)
        published = result_of_any(result.outcome, folder, write_own(folder, result.outcome.files()))
        publishing = Publishing(published, folder, request.settings, place, artifact_url=result.artifact_url)
        failed += publishing.publish()
        if publishing.comment_url:
            screen.note(f"Commented: {publishing.comment_url}")
    return EXIT_NOT_DONE if failed else EXIT_OK


def _host_of(request: PublishRequest, environment: Mapping[str, str]) -> Host:
    """Return the host to publish on: the named one, else that of this job if it has pull requests."""
    job = find_host(environment, request.token)
    here = request.host in {"", name_of(job)} and name_of(job) is not None
    named = OF_CODE[request.host or name_of(job) or next(iter(OF_CODE))]
    repository = request.repository or environment.get(named.variable, "")
    if repository:
        host = named.of_repository(repository, request.token, environment)
    elif here:
        host = job
    else:
        default = f", or set {named.variable}" if named.variable else ""
        raise UserError("the repository is not known", hint=f"Give --repository {named.repository}{default}.")
    if host.needs_token:
        raise UserError("publishing needs a token", hint=f"{host.needs_token[0].upper()}{host.needs_token[1:]}.")
    return host


def _reader(request: PublishRequest, host: Host, screen: Console) -> RunReader:
    return RunReader(
        host=host,
        artifact_name=request.settings.artifact_name,
        gates=request.gates,
        say=screen.note,
        flavour=request.settings.junit_flavour,
    )


def _given(request: PublishRequest, host: Host, network: Network) -> FoundRun:
    """What a run wrote, for a pull request, named or this job's: both must be about the same commit."""
    if request.report is None:
        raise UserError("there is nothing to publish", hint="Give REPORT and --pull-request N, or --run-id ID.")
    reports = {path: _with_gates(read_report(path), request.gates) for path in _reports_of(request.report)}
    if request.baseline and len(reports) > 1:
        raise UserError(
            "--baseline is about one assistant, but the results of several are published",
            hint="Omit it: each is compared with what its run compared it with.",
        )
    target = host.target() if request.pull_request is None else host.target_of_number(request.pull_request)
    if isinstance(target, str):
        raise UserError(f"there is nowhere to comment: {target}", hint="Name the pull request: --pull-request N.")
    outcomes: dict[Path, Outcome] = {}
    for path, report in reports.items():
        measured = report.source.commit or ""
        if not (target.head_sha and measured.startswith(target.head_sha)):  # some hosts shorten it
            raise UserError(
                f"{path} is of {measured[:12] or 'no known commit'}, "
                f"the head of pull request {target.number} is {target.head_sha[:12]}",
                hint="Measure the commit that the pull request is at.",
            )
        baseline = read_baseline(request.baseline, network) if request.baseline else _baseline_beside(path)
        links = Links(pages=host.pages, commit=measured)
        outcomes[path] = conclude(report, baseline, links, flavour=request.settings.junit_flavour)
    # Each host numbers runs in its own way: what is published by hand has no number.
    if len(outcomes) == 1:
        (result,) = outcomes.values()
        return FoundRun(NO_RUN, target, (FoundResult(result, ""),))
    links = Links(pages=host.pages, commit=next(iter(reports.values())).source.commit)
    key = key_of(comment_key(report) for report in reports.values())
    members = tuple(NamedOutcome(str(path.relative_to(request.report)), outcome) for path, outcome in outcomes.items())
    together = Outcomes(members, (), key, links, flavour=request.settings.junit_flavour)
    return FoundRun(NO_RUN, target, (FoundResult(together, ""),))


def _reports_of(given: Path) -> tuple[Path, ...]:
    """The named report, or the folders of the assistants in the output folder of a run over several of them."""
    if not given.is_dir() or (given / REPORT_NAME).exists():
        return (given,)
    return tuple(sorted(path.parent for path in given.rglob(REPORT_NAME))) or (given,)


def _baseline_beside(path: Path) -> Baseline:
    """The baseline of the run that wrote this folder; a single file does not have it."""
    compared, beside = path / "comparison.json", path / BASELINE_NAME
    if not compared.exists():
        return Missing("none was given")
    used = _read_document(compared, Comparison).baseline
    if used.status != "present":
        if used.status == "unreadable":
            return Unreadable(used.reason)
        return Unreachable(used.reason) if used.status == "unreachable" else Missing(used.reason)
    return Present(read_report(beside), used.way or "file", used.commit, used.run_id, used.passed_over)


def _outcome(report: Report, baseline: Baseline) -> Outcome:
    return conclude(report, baseline, links_of(find_host(os.environ)))


def _with_gates(report: Report, gates: Mapping[str, Any]) -> Report:
    return msgspec.structs.replace(report, settings=msgspec.structs.replace(report.settings, **gates))


def change_notes(path: Path, notes: str, suite: str | None, screen: Console) -> int:
    """Add notes to a report's batch suites, or change them; in the file itself.

    Raises:
        UserError: the report cannot be read or written, has no such suite, or the notes are too long.
    """
    notes = notes.strip()
    if len(notes) > MAX_NOTES:
        raise UserError(f"the notes have {len(notes):,} characters; at most {MAX_NOTES:,} are allowed")
    report = read_report(path)
    suites = report.batch.suites if report.batch else ()
    named = [batch_suite for batch_suite in suites if suite in {None, batch_suite.name}]
    if report.batch is None or not named:
        known = ", ".join(f"'{one.name}'" for one in suites) or "none"
        what = "has no batch suites" if suite is None else f"has no batch suite '{suite}'"
        raise UserError(f"the report {what}", location=Location(str(path)), hint=f"Its suites: {known}.")
    changed = tuple(msgspec.structs.replace(one, notes=notes) if one in named else one for one in suites)
    batch = msgspec.structs.replace(report.batch, suites=changed)
    file = path / REPORT_NAME if path.is_dir() else path
    write_file(file, encode(msgspec.structs.replace(report, batch=batch)))
    screen.note(f"The notes on {count(len(named), 'suite')} are in {file}; `turncheck report render` shows them.")
    return EXIT_OK
