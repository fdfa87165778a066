"""What the Markdown templates see: one value for each line, one section for each list, all of it escaped already."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turncheck.comparison.baseline import WAYS
from turncheck.comparison.wording import count
from turncheck.render.main_metrics import main_metrics
from turncheck.render.markdown_sections import all_sections
from turncheck.render.rooted import Rooted
from turncheck.render.sinks.markdown import Markdown, code, join, link, prose, ticked, trusted

if TYPE_CHECKING:
    from turncheck.comparison.model import BaselineUsed, Comparison, Verdict
    from turncheck.render.links import Links
    from turncheck.render.sections import Section
    from turncheck.report.model import Report


@dataclass(frozen=True, slots=True)
class View:
    """A document's parts; an empty line is one that has nothing to say."""

    title: Markdown
    headline: Markdown
    explained: Markdown
    baseline: Markdown
    examples: Markdown
    footer: Markdown
    sections: tuple[Section, ...]


def build_view(report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, *, unfolded: int) -> View:
    """Make all parts. ``unfolded``: how many entries of a list are in plain sight."""
    return View(
        title=_title(report, verdict),
        headline=ticked(Rooted(report).text(verdict.summary), 1000),
        explained=_explained(report, verdict),
        baseline=_baseline(comparison.baseline, links) if comparison else trusted("Not compared with a base."),
        examples=_examples(report, comparison) if comparison and comparison.judged and report.nlu else trusted(""),
        footer=_footer(report, links),
        sections=all_sections(report, comparison, verdict, links, unfolded),
    )


MISUNDERSTOOD: Final = (
    "*Misunderstood*: a sentence of the story was understood otherwise than the story says, so the story does not pass;"
    " with intents and entities as written it does."
)
MISUNDERSTOOD_CASE: Final = (
    "*Misunderstood*: a message of the end-to-end case was understood otherwise than on the base, so the case does not"
    " pass; understood as on the base it does."
)


def _explained(report: Report, verdict: Verdict) -> Markdown:
    """What "misunderstood" means, where there are such tests or the first screen says that there were."""
    stories, cases = report.core.stories if report.core else (), report.e2e.cases if report.e2e else ()
    in_cases = any(one.outcome == "misunderstood" for one in cases)
    told = "misunderstood" in f"{verdict.summary} {verdict.told}" and not in_cases
    in_stories = told or any(one.outcome == "misunderstood" for one in stories)
    parts = [*([MISUNDERSTOOD] if in_stories else []), *([MISUNDERSTOOD_CASE] if in_cases else [])]
    return trusted("\n\n".join(parts))


def _title(report: Report, verdict: Verdict) -> Markdown:
    name = report.project.name or report.project.root
    calm = verdict.reservation in {"", "old failures only"}
    sign = ("✅" if calm else "⚠️") if verdict.passed else "❌"
    parts = [trusted(f"{sign} {verdict.told.capitalize()}")]
    return join([*parts, trusted(": "), prose(name, 100)]) if name else join(parts)


def _baseline(used: BaselineUsed, links: Links) -> Markdown:
    """Commit and run of the baseline, and how it was found; or why there is none."""
    if used.status != "present":
        word = {
            "missing": "No baseline",
            "unreachable": "The baseline could not be reached",
            "unreadable": "The baseline could not be read",
        }[used.status]
        return join([trusted(f"**{word}:** "), ticked(used.reason), *_warnings(used)])
    parts = [trusted("Compared with ")]
    if used.commit:
        shown = join([trusted("commit "), code(used.commit[:8])])
        parts += [link(shown, links.commit_page(used.commit)), trusted(": ")]
    parts.append(trusted(WAYS[used.way] if used.way else "a report"))
    if used.run_id:
        run = link(join([trusted("run "), code(used.run_id, 20)]), links.run_page(used.run_id))
        parts += [trusted(" ("), run, trusted(")")]
    if used.passed_over:
        parts += [trusted("; artifacts passed over: "), prose(used.passed_over)]
    return join([*parts, trusted("."), *_warnings(used)])


def _warnings(used: BaselineUsed) -> list[Markdown]:
    return [join([trusted("<br>⚠️ "), ticked(warning), trusted(".")]) for warning in used.warnings]


def _examples(report: Report, comparison: Comparison) -> Markdown:
    """Said where the two sides did not judge the same sentences."""
    cases = comparison.examples
    if not (cases.added or cases.removed or cases.edited):
        return trusted("")
    same = cases.shared - len(cases.edited)
    line = f"Both sides judged {count(same, 'sentence')}" if same else "No sentence was judged on both sides"
    numbers = ((cases.added, "new"), (cases.removed, "gone"), (len(cases.edited), "edited"))
    others = ", ".join(f"{number:,} {word}" for number, word in numbers if number)
    rows = [metric for metric in main_metrics(report, comparison) if metric.on_shared]
    whole = [join([trusted(f"{row.label} "), *_subject(row.subject), trusted(row.whole)]) for row in rows]
    of_all = [trusted(" On all sentences of each side: "), join(whole, "; "), trusted(".")] if whole else []
    return join([trusted(f"{line}; {others}."), *of_all])


def _subject(name: str) -> list[Markdown]:
    return [code(name, 40), trusted(" ")] if name else []


def _footer(report: Report, links: Links) -> Markdown:
    parts = [prose(f"{report.tool.name} {report.tool.version}", 60)]
    if report.engine:
        parts.append(prose(f"engine {report.engine.name}", 60))
    parts.append(trusted(f"seed {report.seed}"))
    if commit := report.source.commit:
        parts.append(link(join([trusted("commit "), code(commit[:8])]), links.commit_page(commit)))
    if links.run_url:
        parts.append(link(trusted("this run"), links.run_url))
    if links.artifact_url:
        parts.append(link(trusted("all results"), links.artifact_url))
    return join(parts, " · ")
