"""Everything that is written for a report: one list, in a fixed order, made only from the documents."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from turncheck import __version__
from turncheck.render.code_quality import render_code_quality, render_code_quality_of_all
from turncheck.render.job_annotations import render_job_annotations, render_job_annotations_of_all
from turncheck.render.junit import render_junit, render_junit_of_all
from turncheck.render.markdown import COMMENT_LIMIT, render_comment, render_summary
from turncheck.render.open_metrics import render_open_metrics, render_open_metrics_of_all
from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files, nlu_files
from turncheck.render.rendered import Rendered
from turncheck.render.sarif import run_sarif, run_sarif_of_all
from turncheck.render.story_files import story_files
from turncheck.report.codec import file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import Verdict
    from turncheck.render.assistants import Assistants
    from turncheck.render.fork import Fork
    from turncheck.render.links import Links
    from turncheck.render.sarif import RuleText
    from turncheck.report.model import Report
    from turncheck.settings.options import JunitFlavour, OutputFormat

RASA_FOLDER = "rasa"


def render_documents(
    report: Report,
    comparison: Comparison,
    verdict: Verdict,
    links: Links,
    flavour: JunitFlavour = "common",
    *,
    formats: Collection[OutputFormat] = (),
    rules: Callable[[], Mapping[str, RuleText]] = dict,
    measured: Report | None = None,
) -> Iterator[Rendered]:
    """Render the documents, JUnit and other requested formats, each when it is requested.

    Args:
        report: as reported beside its base.
        comparison: with the base.
        verdict: of the gates.
        links: addresses of what can be linked.
        flavour: of JUnit.
        formats: further ones.
        rules: the text of each code of a finding, for SARIF.
        measured: the report to keep, if it differs from what is reported beside a base.
    """
    more: dict[OutputFormat, Callable[[], Rendered]] = {
        "sarif": lambda: run_sarif(report, comparison, rules(), __version__),
        "codequality": lambda: render_code_quality(report, comparison),
        "metrics": lambda: render_open_metrics(report, comparison),
        "annotations": lambda: render_job_annotations(verdict, links),
    }
    yield render_document("report.json", measured or report)
    yield render_document("comparison.json", comparison)
    yield render_document("verdict.json", verdict)
    yield render_junit(report, comparison, verdict, links, flavour)
    yield from (render() for name, render in more.items() if name in formats)


def render_document(name: str, document: Report | Comparison | Verdict) -> Rendered:
    """Render a document as JSON."""
    return Rendered(name, "application/json", partial(file_of, document))


def render_documents_of_all(
    assistants: Assistants,
    links: Links,
    flavour: JunitFlavour,
    formats: Collection[OutputFormat],
    rules: Callable[[], Mapping[str, RuleText]],
) -> Iterator[Rendered]:
    """Render the files for CI hosts, one of each kind for several assistants; arguments as above."""
    more: dict[OutputFormat, Callable[[], Rendered]] = {
        "sarif": lambda: run_sarif_of_all(assistants, rules(), __version__),
        "codequality": lambda: render_code_quality_of_all(assistants),
        "metrics": lambda: render_open_metrics_of_all(assistants),
        "annotations": lambda: render_job_annotations_of_all(assistants, links),
    }
    yield render_junit_of_all(assistants, flavour)
    yield from (render() for name, render in more.items() if name in formats)


def render_texts(
    report: Report,
    comparison: Comparison,
    verdict: Verdict,
    links: Links,
    *,
    comment_limit: int = COMMENT_LIMIT,
    fork: Fork | None = None,
) -> tuple[Rendered, Rendered]:
    """Render the summary and the comment, which people read: they link to wherever the other files are."""
    return (
        render_summary(report, comparison, verdict, links, fork=fork),
        render_comment(report, comparison, verdict, links, fork=fork, limit=comment_limit),
    )


def render_rasa_folder(report: Report) -> Iterator[Rendered]:
    """Render Rasa's own files under ``rasa/``; none for other kinds of assistants."""
    if report.project.has_rasas_files:
        yield from (replace(rendering, name=f"{RASA_FOLDER}/{rendering.name}") for rendering in rasa_files(report))


def rasa_files(report: Report) -> list[Rendered]:
    """Render the files that ``rasa test`` of the project's version would write; those of Rasa 1 for older projects."""
    major = max(1, major_of_files(report.project))
    files = nlu_files(report.nlu, successes=True, major=major) if report.nlu else []
    if report.core is None:
        return files
    if major < NAMED_AS_TODAY:
        from turncheck.render.older_files import story_files_of_rasa_1  # most projects are newer

        return [*files, *story_files_of_rasa_1(report.core, successes=True)]
    return [*files, *story_files(report.core, successes=True, major=major)]
