"""What follows from reports alone: comparison, verdict, renderings."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from turncheck.comparison.compare import compare, shown_beside_base
from turncheck.comparison.model import Baseline, Comparison, Missing, Present
from turncheck.messages.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_DONE, EXIT_OK, INTERRUPTED
from turncheck.render import outputs
from turncheck.render.assistants import Assistants, FailedAssistant, Run, comment_key
from turncheck.render.badge import badge_of, badge_of_all
from turncheck.render.markdown import COMMENT_LIMIT, Fork, render_overview_comment, render_overview_summary
from turncheck.render.page.page import distinct_names, render_page, slugs_of
from turncheck.render.wording.gates import judge
from turncheck.report.codec import BASELINE_NAME
from turncheck.validation.catalogue import CHECKS
from turncheck.validation.manual import rule_texts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from turncheck.comparison.rules import Places
    from turncheck.render.links import Links
    from turncheck.render.rendered import Rendered
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import GateSettings, Report
    from turncheck.settings.options import JunitFlavour


class Outcome(Struct, frozen=True):
    """The result of a run. Nothing of it has been written or published yet.

    ``report`` is what was measured; what depends on the base is in ``comparison``, and ``run`` has both as shown.
    Its files are rendered one by one, when they are written, since all at once may not fit into memory; ``flavour`` is
    JUnit's, ``formats`` are further ones, ``fork`` is whose run measured it, if it was a fork's.
    """

    report: Report
    baseline: Baseline
    comparison: Comparison
    verdict: Verdict
    links: Links
    flavour: JunitFlavour = "common"
    formats: tuple[str, ...] = ()
    fork: Fork | None = None

    @property
    def run(self) -> Run:
        """The documents, for renderers that show several."""
        return Run(shown_beside_base(self.report, self.comparison), self.comparison, self.verdict, self.links)

    def documents(self) -> Iterator[Rendered]:
        """Render the documents, what hosts read, and the page."""
        yield from outputs.render_documents(
            self.report,
            self.comparison,
            self.verdict,
            self.links,
            self.flavour,
            formats=self.formats,
            rules=rule_texts,
        )
        yield page_of([self.run])
        if self.of_own_branch:
            yield from badge_of(self.run).files()

    @property
    def of_own_branch(self) -> bool:
        """Whether what is measured is on the branch that changes are compared with: it has a badge."""
        base = self.baseline
        return base.own_branch if isinstance(base, Missing) else isinstance(base, Present) and base.agreed

    def beside(self) -> Iterator[Rendered]:
        """Render Rasa's files and the baseline.

        With it, whoever publishes later, with a token that may write, can compare the same two again.
        """
        yield from outputs.render_rasa_folder(self.report)
        if isinstance(self.baseline, Present):
            yield outputs.render_document(BASELINE_NAME, self.baseline.report)

    def files(self) -> Iterator[Rendered]:
        """Render all but the texts, which link to what is made of these."""
        yield from self.documents()
        yield from self.beside()

    def renderings(self) -> Iterator[Rendered]:
        """Render everything, for those who keep it in a folder alone."""
        yield from self.documents()
        yield from self.texts()
        yield from self.beside()

    def texts(
        self, artifact_url: str = "", page_url: str = "", comment_limit: int = COMMENT_LIMIT
    ) -> tuple[Rendered, Rendered]:
        """Render summary and comment; they link to the artifact that holds the other files and to the page."""
        links = replace(
            self.links,
            artifact_url=artifact_url or self.links.artifact_url,
            html_url=page_url or self.links.html_url,
        )
        return outputs.render_texts(
            self.run.report, self.comparison, self.verdict, links, comment_limit=comment_limit, fork=self.fork
        )

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
    formats: Collection[str] = (),
    gates: GateSettings | None = None,
    comparison: Comparison | None = None,
) -> Outcome:
    """Compare and judge: everything that follows from reports alone.

    ``places`` as in :func:`judge`; ``gates``: those that count, if they are not the report's own;
    ``comparison``: that of the two, if it is known.
    """
    comparison = comparison or compare(report, baseline)
    if gates is not None:
        report = msgspec.structs.replace(report, settings=gates)
    verdict = judge(report, comparison, report.settings, places)
    links = replace(links, base_commit=_commit_found(baseline))
    return Outcome(report, baseline, comparison, verdict, links, flavour, tuple(formats))


class NamedOutcome(Struct, frozen=True):
    """An assistant among several: the folder below the output folder that its files go to, and what it made."""

    folder: str
    outcome: Outcome


class UnmeasuredAssistant(Struct, frozen=True):
    """An assistant among several that could not be measured: its folder, and a report without anything but why."""

    folder: str
    report: Report


class Outcomes(Struct, frozen=True):
    """The results of several assistants: files for all, and below them a folder for each.

    ``links`` are those of the run, ``flavour`` and ``formats`` are of the files of all; ``fork`` as for one.
    """

    members: tuple[NamedOutcome, ...]
    unmeasured: tuple[UnmeasuredAssistant, ...]
    key: str
    links: Links
    flavour: JunitFlavour = "common"
    formats: tuple[str, ...] = ()
    fork: Fork | None = None

    @property
    def assistants(self) -> Assistants:
        """What renderers receive."""
        broken = tuple(
            FailedAssistant(comment_key(unmeasured.report), unmeasured.report.stopped or "")
            for unmeasured in self.unmeasured
        )
        return Assistants(self.key, tuple(member.outcome.run for member in self.members), broken, self.links)

    def files(self) -> Iterator[Rendered]:
        """Render the files of all: JUnit, what the host reads, the page; and those of each, in its folder.

        Of one that could not be measured that is a report that says so.
        """
        assistants = self.assistants
        yield from outputs.render_documents_of_all(assistants, self.flavour, self.formats, rule_texts)
        yield page_of(assistants.runs, assistants.broken)
        if any(member.outcome.of_own_branch for member in self.members):
            yield from badge_of_all(assistants).files()
        for member in self.members:
            yield from _in_folder(member.folder, member.outcome.renderings())
        for broken in self.unmeasured:
            yield from _in_folder(broken.folder, [outputs.render_document("report.json", broken.report)])

    def texts(
        self, artifact_url: str = "", page_url: str = "", comment_limit: int = COMMENT_LIMIT
    ) -> tuple[Rendered, Rendered]:
        """Render the summary and the comment of all."""
        url = artifact_url or self.links.artifact_url
        links = replace(self.links, artifact_url=url, html_url=page_url or self.links.html_url)
        runs = [replace(run, links=replace(run.links, artifact_url=url)) for run in self.assistants.runs]
        if page_url:  # one page for all
            slugs = slugs_of(distinct_names([run.report for run in runs]))
            runs = [
                replace(run, links=replace(run.links, html_url=page_url, page_part=slug))
                for run, slug in zip(runs, slugs, strict=True)
            ]
        assistants = replace(self.assistants, runs=tuple(runs))
        return (
            render_overview_summary(assistants, links, fork=self.fork),
            render_overview_comment(assistants, links, fork=self.fork, limit=comment_limit),
        )

    @property
    def exit_code(self) -> int:
        """The worst exit code of all."""
        codes = [member.outcome.exit_code for member in self.members]
        return max([*codes, EXIT_NOT_DONE] if self.unmeasured else codes)


def _in_folder(folder: str, renderings: Iterable[Rendered]) -> Iterator[Rendered]:
    return (replace(rendered, name=f"{folder}/{rendered.name}") for rendered in renderings)


def page_of(runs: Sequence[Run], broken: Sequence[FailedAssistant] = ()) -> Rendered:
    """Render the page of these runs, with what the manual says of their findings."""
    manual = {code: f"{check.title}. {check.text}" for code, check in CHECKS.items()}
    return render_page(runs, manual, broken=broken)


def _commit_found(baseline: Baseline) -> str | None:
    """The base's commit as we found it; one that only a file names is not linked."""
    if isinstance(baseline, Present) and baseline.way not in {"file", "url"}:
        return baseline.commit
    return None
