"""``turncheck report``: outputs made again from reports alone, later, on another machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from turncheck.ci.hosts import OF_CODE, find_host, name_of
from turncheck.commands.flags.shared import add_setting, add_verbosity, at_least_one, output_path, screen_of
from turncheck.commands.import_results import add_import
from turncheck.commands.run import add_merge
from turncheck.messages.errors import EXIT_NOT_DONE, EXIT_OK, UserError
from turncheck.messages.phrasing import count
from turncheck.process.output_files import OwnFiles
from turncheck.process.regular_file import read_regular
from turncheck.settings.declared import options
from turncheck.settings.options import Settings
from turncheck.settings.parsers import MAX_NOTES
from turncheck.settings.sources import combine, from_flags
from turncheck.web.addresses import Network

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.ci.host import Host
    from turncheck.comparison.model import Baseline, Comparison
    from turncheck.conclude import Outcome
    from turncheck.process.environment import Secret
    from turncheck.process.screen import Console
    from turncheck.publishing.other_run import FoundRun, RunReader
    from turncheck.render.assistants import Run
    from turncheck.render.links import Links
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report


def add_parsers(subparsers: argparse._SubParsersAction[Any], words: str) -> None:
    """Add ``report`` and what is below it."""
    report = subparsers.add_parser(
        "report",
        help=words,
        description="Compare, render, import, publish and merge reports, and add notes to them.",
    )
    kinds = report.add_subparsers(title="commands", metavar="WHAT", required=True)
    _add_compare(kinds)
    _add_render(kinds)
    add_import(kinds)
    _add_publish(kinds)
    add_merge(kinds)
    _add_notes(kinds)


def _add_compare(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "compare",
        help="compare two reports and judge the second",
        description="Compare two reports, and judge the second by the gates given here, otherwise by its own.",
    )
    parser.add_argument("base", type=Path, metavar="BASE", help="a report.json, or its folder")
    parser.add_argument("head", type=Path, metavar="HEAD", help="the newer one: a report.json, or its folder")
    parser.add_argument(
        "--out", type=output_path, default=Path("results"), metavar="DIR", help="output folder (default: results)"
    )
    gates = parser.add_argument_group("gates (default: those of HEAD)")
    for name in _gates():
        add_setting(gates, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_compare)


def _add_render(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "render",
        help="write the outputs of a report again, or one page of several reports",
        description="Write all outputs of REPORT again, or with --html one page of all REPORTs. The comparison"
        " and the verdict are"
        " read from comparison.json and verdict.json beside each report.",
    )
    parser.add_argument("reports", type=Path, nargs="+", metavar="REPORT", help="a report.json, or its folder")
    parser.add_argument(
        "--html", action="store_true", help="write only the page; for several reports, with an overview"
    )
    parser.add_argument("--baseline", metavar="WHAT", help="a report.json to compare with (path or https URL)")
    parser.add_argument(
        "--out",
        type=output_path,
        metavar="PATH",
        help="output folder (default: results); with --html a file (default: report.html)",
    )
    add_setting(parser, "junit-flavour", options()["junit-flavour"])
    add_setting(parser, "output-format", options()["output-format"])
    add_verbosity(parser)
    parser.set_defaults(handler=_render)


def _gates() -> list[str]:
    """The settings that judge a report that was measured before."""
    return [name for name, option in options().items() if option.group == "gates"]


def _published() -> list[str]:
    """The settings of publishing what was measured before."""
    return [name for name, option in options().items() if option.publishes]


def _add_publish(kinds: argparse._SubParsersAction[Any]) -> None:
    from turncheck.ci.hosts import OF_CODE  # not for the commands beside this one

    parser = kinds.add_parser(
        "publish",
        help="publish a report, or what a workflow run uploaded, on a pull request",
        description="Publish from a laptop or another CI: REPORT on --pull-request N, or the reports of --run-id ID.",
    )
    parser.add_argument("report", nargs="?", type=Path, metavar="REPORT", help="a report.json, or its folder")
    parser.add_argument(
        "--host",
        choices=tuple(OF_CODE),
        help="the pull request's host (default: the host of this job, else github)",
    )
    parser.add_argument(
        "--repository",
        metavar="OWNER/NAME",
        help="repository on that host (default: this job's; on GitHub, GITHUB_REPOSITORY)",
    )
    parser.add_argument(
        "--pull-request", type=at_least_one, metavar="N", help="pull request to publish REPORT on (default: this job's)"
    )
    parser.add_argument("--baseline", metavar="WHAT", help="a report.json to compare REPORT with (path or https URL)")
    for name in _published():
        add_setting(parser, name, options()[name])
    gates = parser.add_argument_group("gates (default: those of the report)")
    for name in _gates():
        add_setting(gates, name, options()[name])
    add_verbosity(parser)
    parser.set_defaults(handler=_publish)


def _compare(namespace: argparse.Namespace) -> int:
    gates = from_flags({name: getattr(namespace, name.replace("-", "_")) for name in _gates()})
    return compare_reports(
        namespace.base,
        namespace.head,
        gates=gates,
        out=namespace.out,
        write=sys.stdout.write,
        screen=screen_of(namespace),
    )


def _add_notes(kinds: argparse._SubParsersAction[Any]) -> None:
    parser = kinds.add_parser(
        "notes",
        help="add notes on a run of batch suites to its report, or change them",
        description="Add notes on a run of batch suites to its report, or change them. `turncheck report render`"
        " then writes the report's other outputs with them.",
    )
    parser.add_argument("report", type=Path, metavar="REPORT", help="a report.json, or its folder; it is changed")
    parser.add_argument("notes", metavar="TEXT", help="the notes, up to 1,024 characters; empty to remove them")
    parser.add_argument("--suite", metavar="NAME", help="only those of this suite (default: of all)")
    add_verbosity(parser)
    parser.set_defaults(handler=_notes)


def _notes(namespace: argparse.Namespace) -> int:
    return change_notes(namespace.report, namespace.notes, namespace.suite, screen_of(namespace))


def _render(namespace: argparse.Namespace) -> int:
    screen = screen_of(namespace)
    if namespace.html:
        return render_pages(namespace.reports, namespace.baseline, namespace.out, screen)
    if len(namespace.reports) > 1:
        raise UserError("several reports are only for --html", hint="Add --html, or give one report.")
    given = {"junit-flavour": namespace.junit_flavour, "output-format": namespace.output_format}
    out = namespace.out or Path("results")
    return render_report(namespace.reports[0], namespace.baseline, out, screen, combine(from_flags(given)))


def _publish(namespace: argparse.Namespace) -> int:
    settings = combine(from_flags({name: getattr(namespace, name.replace("-", "_")) for name in _published()}))
    request = PublishRequest(
        host=namespace.host or "",
        repository=namespace.repository or "",
        token=settings.token,
        settings=settings,
        gates=from_flags({name: getattr(namespace, name.replace("-", "_")) for name in _gates()}),
        report=namespace.report,
        pull_request=namespace.pull_request,
        baseline=namespace.baseline,
    )
    return publish_report(request, os.environ, screen_of(namespace))


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
    from turncheck.comparison.model import Present
    from turncheck.publishing.files import terminal_summary, write_own, written_line
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.prepare import links_of
    from turncheck.run.report_of import read_report

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
    from turncheck.comparison.model import Missing
    from turncheck.conclude import conclude
    from turncheck.publishing.files import write_own, written_line
    from turncheck.report.codec import BASELINE_NAME
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.named_baseline import read_baseline
    from turncheck.run.prepare import links_of
    from turncheck.run.report_of import REPORT_NAME, read_report

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
    from turncheck.conclude import page_of
    from turncheck.publishing.files import write_file
    from turncheck.render.page.page import NAME as PAGE
    from turncheck.run.folders import ensure_apart_from_project
    from turncheck.run.named_baseline import read_baseline
    from turncheck.run.prepare import links_of

    if out is None:
        OwnFiles(Path()).claim(PAGE)
    ensure_apart_from_project(None, Settings(), out)
    out = out or Path(PAGE)
    found = read_baseline(baseline, Network.of(os.environ)) if baseline else None
    links = links_of(find_host(os.environ))
    page = page_of([run_to_show(path, found, links) for path in paths])
    write_file(out, page.encoded)
    screen.note(f"Written: {out}")
    return EXIT_OK


def run_to_show(path: Path, baseline: Baseline | None, links: Links) -> Run:
    """Read a report and what was concluded from it; that is concluded again without files that say so.

    Raises:
        UserError: a document that cannot be read.
    """
    from turncheck.comparison.compare import shown_beside_base
    from turncheck.comparison.model import Comparison, Missing
    from turncheck.conclude import conclude
    from turncheck.render.assistants import Run
    from turncheck.render.wording.verdict import Verdict
    from turncheck.run.report_of import read_report

    report = read_report(path)
    folder = path if path.is_dir() else path.parent
    compared, judged = folder / "comparison.json", folder / "verdict.json"
    if baseline is not None or not (compared.exists() and judged.exists()):
        outcome = conclude(report, baseline or Missing("none was given"), links)
        return outcome.run
    comparison, verdict = _read_document(compared, Comparison), _read_document(judged, Verdict)
    return Run(shown_beside_base(report, comparison), comparison, verdict, links)


_Document = TypeVar("_Document", "Comparison", "Verdict")


def _read_document(path: Path, kind: type[_Document]) -> _Document:
    """Read a document that a run wrote beside its report."""
    import msgspec

    from turncheck.report.codec import MAX_BYTES

    try:
        return msgspec.json.decode(read_regular(path, most=MAX_BYTES), type=kind)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(
            f"{path} is not a {kind.__name__.lower()} of this turncheck: {error}",
            hint="Write it again (`turncheck report compare`), or move it away from the report.",
        ) from None


class PublishRequest(NamedTuple):
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
    from turncheck.publishing.files import write_own
    from turncheck.publishing.publish import Publishing, PublishTarget, result_of_any
    from turncheck.run.folders import ensure_apart_from_project

    ensure_apart_from_project(Path(request.settings.out), request.settings)
    host = _host_of(request, environment)
    if request.settings.run_id is not None:
        found_run = _reader(request, host, screen).read(request.settings.run_id)
    else:
        found_run = _given(request, host, Network.of(environment))
    if isinstance(found_run.target, str):
        raise UserError(f"there is nowhere to comment: {found_run.target}")
    place = PublishTarget(
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
    from turncheck.publishing.other_run import RunReader

    return RunReader(
        host=host,
        artifact_name=request.settings.artifact_name,
        gates=request.gates,
        say=screen.note,
        flavour=request.settings.junit_flavour,
    )


def _given(request: PublishRequest, host: Host, network: Network) -> FoundRun:
    """What a run wrote, for a pull request, named or this job's: both must be about the same commit."""
    from turncheck.ci.host import NO_RUN
    from turncheck.conclude import NamedOutcome, Outcomes, conclude
    from turncheck.publishing.other_run import FoundResult, FoundRun
    from turncheck.render.assistants import comment_key, key_of
    from turncheck.render.links import Links
    from turncheck.run.named_baseline import read_baseline
    from turncheck.run.report_of import read_report

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
    from turncheck.run.report_of import REPORT_NAME

    if not given.is_dir() or (given / REPORT_NAME).exists():
        return (given,)
    return tuple(sorted(path.parent for path in given.rglob(REPORT_NAME))) or (given,)


def _baseline_beside(path: Path) -> Baseline:
    """The baseline of the run that wrote this folder; a single file does not have it."""
    from turncheck.comparison.model import Comparison, Missing, Present, Unreachable, Unreadable
    from turncheck.report.codec import BASELINE_NAME
    from turncheck.run.report_of import read_report

    compared, beside = path / "comparison.json", path / BASELINE_NAME
    if not compared.exists():
        return Missing("none was given")
    comparison = _read_document(compared, Comparison)
    used = comparison.baseline
    if used.status != "present":
        if used.status == "unreadable":
            return Unreadable(used.reason)
        return Unreachable(used.reason) if used.status == "unreachable" else Missing(used.reason)
    return Present(
        read_report(beside),
        used.way or "file",
        used.commit,
        used.run_id,
        used.passed_over,
        changed_lines=comparison.changed_lines or None,
    )


def _outcome(report: Report, baseline: Baseline) -> Outcome:
    from turncheck.conclude import conclude
    from turncheck.run.prepare import links_of

    return conclude(report, baseline, links_of(find_host(os.environ)))


def _with_gates(report: Report, gates: Mapping[str, Any]) -> Report:
    import msgspec

    return msgspec.structs.replace(report, settings=msgspec.structs.replace(report.settings, **gates))


def change_notes(path: Path, notes: str, suite: str | None, screen: Console) -> int:
    """Add notes to a report's batch suites, or change them; in the file itself.

    Raises:
        UserError: the report cannot be read or written, has no such suite, or the notes are too long.
    """
    import msgspec

    from turncheck.messages.finding import Location
    from turncheck.publishing.files import write_file
    from turncheck.report.codec import encode
    from turncheck.run.report_of import REPORT_NAME, read_report

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
