"""Everything that is written for a report: one list, in a fixed order, made only from the documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from turncheck import __version__
from turncheck.comparison.compare import shown_beside_base
from turncheck.messages.errors import UserError
from turncheck.registry import Registry, blamed_on_plugin
from turncheck.render import gitlab_reports
from turncheck.render.annotations import render_job_annotations
from turncheck.render.assistants import Assistants, Run
from turncheck.render.junit import render_junit, render_junit_of_all
from turncheck.render.links import Links  # noqa: TC001 - in a type that is evaluated
from turncheck.render.markdown import COMMENT_LIMIT, Fork, render_comment, render_summary
from turncheck.render.rasa_files import NAMED_AS_TODAY, major_of_files, nlu_files, story_files
from turncheck.render.rendered import Rendered
from turncheck.render.sarif import run_sarif
from turncheck.report.codec import file_of

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison
    from turncheck.render.rule_text import RuleText
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report
    from turncheck.settings.options import JunitFlavour

RASA_FOLDER = "rasa"
Rules = Callable[[], Mapping[str, "RuleText"]]
"""Returns the text of each code of a finding, for SARIF."""


class Output(Struct, frozen=True):
    """A file that is written on request."""

    render: Callable[[Assistants, Rules], Rendered]
    """Renders it for the assistants of a run, of which there may be one."""


OUTPUTS: Final = Registry(
    "turncheck.outputs",
    {
        "sarif": Output(lambda assistants, rules: run_sarif(assistants, rules(), __version__)),
        "codequality": Output(lambda assistants, _: gitlab_reports.render_code_quality(assistants)),
        "metrics": Output(lambda assistants, _: gitlab_reports.render_open_metrics(assistants)),
        "annotations": Output(lambda assistants, _: render_job_annotations(assistants)),
    },
    Output,
)
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OWN_NAMES: Final = frozenset(
    {
        *("report.json", "comparison.json", "verdict.json", "baseline.json", "junit.xml", "report.html"),
        *(
            "summary.md",
            "comment.md",
            "findings.sarif",
            "gl-code-quality-report.json",
            "metrics.txt",
            "gl-annotations.json",
            "badge.json",
            "badge.svg",
        ),
    }
)
"""The names of our own files."""


def render_documents(
    report: Report,
    comparison: Comparison,
    verdict: Verdict,
    links: Links,
    flavour: JunitFlavour = "common",
    *,
    formats: Collection[str] = (),
    rules: Rules = dict,
) -> Iterator[Rendered]:
    """Render the documents, JUnit and other requested formats, each when it is requested.

    Args:
        report: what was measured.
        comparison: with the base.
        verdict: of the gates.
        links: addresses of what can be linked.
        flavour: of JUnit.
        formats: further ones.
        rules: the text of each code of a finding, for SARIF.
    """
    yield render_document("report.json", report)
    yield render_document("comparison.json", comparison)
    yield render_document("verdict.json", verdict)
    run = Run(shown_beside_base(report, comparison), comparison, verdict, links)
    yield render_junit(run.report, comparison, verdict, links, flavour)
    yield from _requested(Assistants.of_one(run), formats, rules)


def _requested(assistants: Assistants, formats: Collection[str], rules: Rules) -> Iterator[Rendered]:
    """Render the formats, each when it is requested."""
    for name, output in OUTPUTS.items():
        if name in formats:
            is_added = name in OUTPUTS.added()
            yield _of_plugin(name, output, assistants) if is_added else output.render(assistants, rules)


def _of_plugin(name: str, output: Output, assistants: Assistants) -> Rendered:
    """Render an output of a plugin; it must not take the place of a file that says something else."""
    with blamed_on_plugin(f"output '{name}'"):
        rendered: Any = output.render(assistants, dict)
    if not isinstance(rendered, Rendered) or not _FILE_NAME.fullmatch(rendered.name) or rendered.name in _OWN_NAMES:
        shown = rendered.name if isinstance(rendered, Rendered) else type(rendered).__name__
        raise UserError(
            f"the plugin's output '{name}' gives {shown!r}", hint="Expected Rendered, with a file name of its own."
        )
    return rendered


def render_document(name: str, document: Report | Comparison | Verdict) -> Rendered:
    """Render a document as JSON."""
    return Rendered(name, "application/json", partial(file_of, document))


def render_documents_of_all(
    assistants: Assistants, flavour: JunitFlavour, formats: Collection[str], rules: Rules
) -> Iterator[Rendered]:
    """Render the files for CI hosts, one of each kind for several assistants; arguments as above."""
    yield render_junit_of_all(assistants, flavour)
    yield from _requested(assistants, formats, rules)


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
    if report.project.has_rasa_files:
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
