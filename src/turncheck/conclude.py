"""What follows from reports alone: comparison, verdict, renderings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from turncheck.comparison.baseline import Present
from turncheck.comparison.compare import compare
from turncheck.comparison.gates import judge
from turncheck.comparison.leftovers import with_renames_reported
from turncheck.comparison.understood_differently import marked
from turncheck.engines.base import INTERRUPTED
from turncheck.messages.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_DONE, EXIT_OK
from turncheck.render.markdown import COMMENT_LIMIT
from turncheck.render.outputs import render_documents, render_rasa_folder, render_texts
from turncheck.render.page.page import Run, render_page
from turncheck.render.rendered import Rendered
from turncheck.report.codec import BASELINE_NAME, encode
from turncheck.validation.registry import CHECKS
from turncheck.validation.rule_texts import rule_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from turncheck.comparison.baseline import Baseline
    from turncheck.comparison.gate_rules import Places
    from turncheck.comparison.model import Comparison, Verdict
    from turncheck.render.links import Links
    from turncheck.report.model import Report
    from turncheck.settings.options import JunitFlavour, OutputFormat


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the main job made. Nothing of it has been written or published yet.

    ``report`` is as it is reported beside the base, ``measured`` as it is kept: nothing in it depends on a base.
    ``documents`` and ``beside`` (Rasa's files, the baseline) are rendered; the texts are when it is known what they
    link to.
    """

    report: Report
    measured: Report
    baseline: Baseline
    comparison: Comparison
    verdict: Verdict
    links: Links
    documents: tuple[Rendered, ...]
    beside: tuple[Rendered, ...]

    @property
    def files(self) -> tuple[Rendered, ...]:
        """All but the texts."""
        return (*self.documents, *self.beside)

    @property
    def renderings(self) -> tuple[Rendered, ...]:
        """Everything, for those who keep it in a folder alone."""
        return (*self.documents, *self.texts(), *self.beside)

    def texts(
        self, artifact_url: str = "", page_url: str = "", comment_limit: int = COMMENT_LIMIT
    ) -> tuple[Rendered, Rendered]:
        """Render summary and comment; they link to the artifact that holds the other files and to the page."""
        links = replace(
            self.links,
            artifact_url=artifact_url or self.links.artifact_url,
            html_url=page_url or self.links.html_url,
        )
        return render_texts(self.report, self.comparison, self.verdict, links, comment_limit)

    @property
    def exit_code(self) -> int:
        """0 where all gates passed, else 1; 2 where it could not be measured to its end, 130 where interrupted."""
        if self.report.stopped == INTERRUPTED:
            return EXIT_INTERRUPTED
        if self.report.stopped is not None:
            return EXIT_NOT_DONE
        return EXIT_OK if self.verdict.passed else EXIT_FAILED


def conclude(
    report: Report,
    baseline: Baseline,
    links: Links,
    places: Places = MappingProxyType({}),
    *,
    flavour: JunitFlavour = "common",
    formats: Collection[OutputFormat] = (),
) -> Outcome:
    """Compare, judge and render: everything that follows from reports alone; ``places`` as in :func:`judge`."""
    measured, report = report, as_reported(report, baseline)
    comparison = compare(report, baseline)
    verdict = judge(report, comparison, report.settings, places)
    links = replace(links, base_commit=_commit_found(baseline))
    documents = (
        *render_documents(
            report, comparison, verdict, links, flavour, formats=formats, rules=rule_texts, measured=measured
        ),
        page_of([Run(report, comparison, verdict, links)]),
    )
    beside = render_rasa_folder(report)
    if isinstance(baseline, Present):
        # So that whoever publishes later, with a token that may write, can compare the same two again.
        beside += (Rendered(BASELINE_NAME, "application/json", encode(baseline.report)),)
    return Outcome(report, measured, baseline, comparison, verdict, links, documents, beside)


def as_reported(report: Report, baseline: Baseline) -> Report:
    """Return the report as it is shown beside the base: a name that the change removed is one error, and so on."""
    shown = with_renames_reported(report, baseline)
    return marked(shown, baseline.report) if isinstance(baseline, Present) else shown


def page_of(runs: Sequence[Run]) -> Rendered:
    """Render the page of these runs, with what the manual says of their findings."""
    return render_page(runs, {code: f"{check.title}. {check.text}" for code, check in CHECKS.items()})


def _commit_found(baseline: Baseline) -> str | None:
    """The base's commit as we found it; one that only a file speaks of is not linked."""
    if isinstance(baseline, Present) and baseline.way not in {"file", "url"}:
        return baseline.commit
    return None
