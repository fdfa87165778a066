"""The pull-request comment and the job summary: one document, two templates, two sizes.

What a fork's run measured is the word of a stranger, which a reader must know before anything else.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate, islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

import jinja2
from msgspec import Struct
from msgspec.structs import replace

import turncheck
from turncheck.messages.phrasing import count, on_one_line
from turncheck.render.assistants import Assistants, Run, comment_key
from turncheck.render.content import DEGRADATION, ORDER, shortened
from turncheck.render.document import Document, build_document
from turncheck.render.links import Base, Links, PathResolver
from turncheck.render.main_metrics import first_figures
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.markdown import (
    SIGNS,
    Markdown,
    MarkdownWriter,
    code,
    code_cell,
    code_in_html,
    join,
    link,
    marker,
    prose,
    table_head,
    trusted,
)
from turncheck.render.spans import Column, Section, Sign, fit
from turncheck.render.wording.changes import suppressed_in_words
from turncheck.render.wording.summary import edited_tests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.render.spans import Line
    from turncheck.render.wording.verdict import Verdict
    from turncheck.report.model import Report

COMMENT_LIMIT: Final = 60_000
"""GitHub refuses a comment beyond 65,536 characters; how it counts those beyond the Basic Multilingual Plane is not
documented, so they count twice here, with a margin."""
_SHORT: Final = 8_000
"""A comment is read between two others; the summary and the page have the details."""
_LONG: Final = 16_000
"""One on a change of many lines has more to say."""
_SMALL_CHANGE: Final = 20
"""A change of fewer lines is a small one, and so is one of which nobody knows how many it has."""
_MOST_LISTED: Final = 10
"""The most entries of a list in a comment."""
_MOST_BELOW: Final = 3
"""The most entries below an entry of a comment, if there are many."""
NOTHING: Final = trusted("")
SUMMARY_LIMIT: Final = 1024 * 1024 - 1024
"""GitHub shows nothing at all of a summary beyond 1 MiB; room for a page by other steps is left."""


class Size(Struct, frozen=True):
    """How much a document shows: its template, the largest it may be and how that is measured."""

    template: str
    limit: int
    measure: Callable[[str], int]
    unfolded: int
    short: bool = False
    """Whether lists and what is below their entries end after a few, and what the base has too is counted."""


def render_comment(
    report: Report,
    comparison: Comparison | None,
    verdict: Verdict,
    links: Links,
    *,
    key: str | None = None,
    fork: Fork | None = None,
    limit: int = COMMENT_LIMIT,
) -> Rendered:
    """Render the pull-request comment.

    Args:
        key: what distinguishes this assistant's comment from those of others in the repository, for the hidden first
            line; by default :func:`comment_key`.
        fork: whose run measured it, if it was a fork's.
        limit: the longest comment that its host takes, in UTF-16 code units; a comment has at most 8,000 bytes, or
            16,000 on a change of at least 20 lines.
    """
    size = _of_comment("comment.md.j2", {report.project.root: comparison}, limit)
    first_line = marker(fork.key, of_fork=True) if fork else marker(key or comment_key(report))
    text = draw(report, comparison, verdict, links, size=size, first_line=first_line, fork=fork)
    return Rendered("comment.md", "text/markdown", text)


def _of_comment(template: str, comparisons: Mapping[str, Comparison | None], limit: int) -> Size:
    """The size of a comment on a change to projects, by their paths; a project's lines are those below it, too.

    No text has more UTF-16 code units than bytes.
    """
    above = {
        root
        for root in comparisons
        if not any(PurePosixPath(root).is_relative_to(one) for one in comparisons if one != root)
    }
    lines = sum(one.changed_lines or 0 for root, one in comparisons.items() if one is not None and root in above)
    most = _LONG if lines >= _SMALL_CHANGE else _SHORT
    return Size(template, min(limit, most), utf8_bytes, unfolded=8, short=True)


def render_summary(
    report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, *, fork: Fork | None = None
) -> Rendered:
    """Render the job summary: the long form of the comment."""
    size = Size("summary.md.j2", SUMMARY_LIMIT, utf8_bytes, unfolded=50)
    return Rendered("summary.md", "text/markdown", draw(report, comparison, verdict, links, size=size, fork=fork))


def draw(
    report: Report,
    comparison: Comparison | None,
    verdict: Verdict,
    links: Links,
    *,
    size: Size,
    first_line: Markdown = NOTHING,
    fork: Fork | None = None,
) -> str:
    """Draw a document of a size; ``first_line`` and ``fork`` are for templates that begin with them."""
    document = build_document(report, comparison, verdict, links, unfolded=size.unfolded)
    compared = comparison if comparison and comparison.judged else None
    rooted = PathResolver.of(report, compared)
    writer = MarkdownWriter(report.project.root, links, rooted, Base.of(compared, report.project.root))
    template = environment().get_template(size.template)

    sections = document.sections
    known: Line = ()
    if size.short:
        sections, known = shortened(sections, report, compared, _MOST_LISTED, _MOST_BELOW)
    view = _view(document, writer, known)

    def drawn(sections: Mapping[str, Section[Markdown]]) -> str:
        shown = {name: _SectionView(section, writer) for name, section in sections.items()}
        remark = fork.remark if fork else NOTHING
        text = template.render(view=view, section=shown, order=ORDER, marker=first_line, measured_by=remark)
        return text.strip() + "\n"

    written = [section.written(writer.item, within=size.limit) for section in sections]
    return fit(written, DEGRADATION, drawn, size.measure, size.limit)


class _View(Struct, frozen=True):
    """What the templates get besides the sections; an empty line is omitted."""

    title: Markdown
    headline: Markdown
    explained: Markdown
    baseline: Markdown
    examples: Markdown
    footer: Markdown
    known: Markdown


def _view(document: Document, writer: MarkdownWriter, known: Line) -> _View:
    baseline = document.baseline
    warnings = [join([trusted("<br>"), writer.entry(warning)]) for warning in baseline.below]
    return _View(
        title=writer.entry(document.title),
        headline=writer.line(document.headline),
        explained=join(map(writer.line, document.explained), "\n\n"),
        baseline=join([writer.line(baseline.line), *warnings]),
        examples=writer.line(document.examples),
        footer=writer.line(document.footer),
        known=writer.line(known),
    )


class _SectionView(Struct, frozen=True):
    """What the templates get for a section."""

    section: Section[Markdown]
    writer: MarkdownWriter

    @property
    def title(self) -> Markdown:
        return trusted(self.section.title)

    @property
    def unfolded(self) -> int:
        return self.section.unfolded

    @property
    def header(self) -> Markdown:
        """What precedes the entries: the head of their table, or a note and an empty line."""
        if self.section.columns:
            return table_head(self.section.columns)
        note = self.writer.line(self.section.note)
        return join([note, trusted("\n")]) if note else note

    @property
    def folded_header(self) -> Markdown:
        """The same for folded entries: a note above those in plain sight is not repeated."""
        return self.header if self.section.columns or not self.visible else trusted("")

    @property
    def visible(self) -> tuple[Markdown, ...]:
        """Entries in plain sight."""
        return self.section.entries[: self.section.unfolded]

    @property
    def folded(self) -> tuple[Markdown, ...]:
        """Folded entries."""
        return self.section.entries[self.section.unfolded :]

    @property
    def fold_title(self) -> Markdown:
        """The title of the fold: for all entries, or for the rest."""
        return trusted(f"{self.section.folded_number:,} more") if self.section.unfolded else self.title

    @property
    def left_out(self) -> Markdown:
        """The remark on entries that are not shown, if there are any."""
        number = self.section.left_out
        if number <= 0:
            return trusted("")
        words = "in the " if not self.unfolded else f"{number:,} {'is' if number == 1 else 'are'} in the "
        if self.section.entries:
            words = f"… and {number:,} more, in the "
        return join([trusted(words), link(trusted("results"), self.writer.links.artifact_url)])


def utf16_units(text: str) -> int:
    """The length of a comment."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """The length of a summary."""
    return len(text.encode("utf-8", "backslashreplace"))


@cache
def environment() -> jinja2.Environment:
    """Templates only hold structure: whatever they print must come from the Markdown sink."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_folder()),
        auto_reload=False,  # nobody changes a template while it is used
        undefined=jinja2.StrictUndefined,
        finalize=_only_markdown,
        autoescape=False,  # noqa: S701  # nothing but values of the Markdown sink can be printed, see _only_markdown
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _only_markdown(value: object) -> object:
    if isinstance(value, Markdown):
        return value
    raise TypeError(f"a template prints {type(value).__name__}, which did not come through the Markdown sink")


def template_folder() -> Path:
    """In a wheel the templates are within the package, in a working copy they are beside ``src``."""
    package = Path(turncheck.__file__).parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parents[1] / "templates"


# Comment and job summary of several assistants: a table of all, and a fold for each.

_COLUMNS: Final = (Column(""), Column("assistant"), Column("outcome"), Column("figures"))
_LEAST: Final = 3_000
"""A fold gets at least this much room, or it is not shown."""
_ROOM: Final = 300
"""Room for the remark on folds that are not shown, and for the markup of each."""
_LONGEST_REASON: Final = 600
_MOST_ALTERED: Final = 10


class _Fold(Struct, frozen=True):
    open: Markdown
    title: Markdown
    text: Markdown


def render_overview_comment(
    assistants: Assistants, links: Links, *, fork: Fork | None = None, limit: int = COMMENT_LIMIT
) -> Rendered:
    """Render the one comment about all assistants; within ``limit`` the worst keep their fold, others are counted."""
    size = _of_comment("fold.md.j2", {run.report.project.root: run.comparison for run in assistants.runs}, limit)
    first_line = marker(fork.key, of_fork=True) if fork else marker(assistants.key)
    return Rendered("comment.md", "text/markdown", _text(assistants, links, size, "###", first_line, fork=fork))


def render_overview_summary(assistants: Assistants, links: Links, *, fork: Fork | None = None) -> Rendered:
    """Render the job summary: the long form of the comment."""
    size = Size("fold.md.j2", SUMMARY_LIMIT, utf8_bytes, unfolded=50)
    return Rendered("summary.md", "text/markdown", _text(assistants, links, size, "##", NOTHING, fork=fork))


def _text(
    assistants: Assistants, links: Links, size: Size, heading: str, first_line: Markdown, *, fork: Fork | None
) -> str:
    every_row = _rows(assistants)
    lengths = accumulate(size.measure(row) + 1 for row in every_row)
    rows = [row for row, length in zip(every_row, lengths, strict=True) if length <= size.limit // 2]
    more = len(every_row) - len(rows)
    words = join([trusted(f"{SIGNS[assistants.sign]} "), prose(assistants.in_words)])

    def drawn(folds: Sequence[_Fold], unshown: int) -> str:
        results = link(trusted("results"), links.artifact_url)
        left_out = join([trusted(f"Details of {count(unshown, 'more assistant')} are in the "), results, trusted(".")])
        text = environment().get_template("assistants.md.j2").render(
            marker=first_line,
            altered=_altered(assistants),
            measured_by=fork.remark if fork else NOTHING,
            heading=trusted(heading),
            title=words,
            page=link(trusted("All results on one page"), links.html_url) if links.html_url else NOTHING,
            head=table_head(_COLUMNS),
            rows=rows,
            rows_left_out=trusted(f"… and {count(more, 'more assistant')}") if more > 0 else NOTHING,
            folds=folds,
            folds_left_out=left_out if unshown else NOTHING,
        )  # fmt: skip
        return str(text).strip() + "\n"

    room = size.limit - size.measure(drawn((), len(assistants.runs))) - _ROOM
    folds = _folds(assistants.worst_first, size, room)
    return drawn(folds, len(assistants.runs) - len(folds))


def _altered(assistants: Assistants) -> list[Markdown]:
    """A line for each assistant that the change judges by other rules: a fold that is closed must not hide it."""
    lines = []
    for run in assistants.worst_first:
        names = dict.fromkeys(change.name for change in run.comparison.settings_changed)
        parts = [code(name) for name in islice(names, _MOST_ALTERED)]
        if run.comparison.new_suppressions:
            parts.append(prose(suppressed_in_words(run.comparison.new_suppressions)))
        if edited := edited_tests(run.comparison):
            parts.append(trusted(f"{count(edited, 'test')} edited"))
        if parts:
            lines.append(join([code(run.name), trusted(": "), join(parts, ", ")]))
    more = len(lines) - _MOST_ALTERED
    return [*lines[:_MOST_ALTERED], *([trusted(f"… and {count(more, 'more assistant')}")] if more > 0 else [])]


def _rows(assistants: Assistants) -> list[Markdown]:
    """A row for each: first those that could not be measured, then the worst of the others."""
    rows = [
        _row("stopped", broken.name, join([trusted("**not measured**: "), prose(broken.why, _LONGEST_REASON)]), NOTHING)
        for broken in assistants.broken
    ]
    for run in assistants.worst_first:
        outcome, why = run.verdict.in_words, run.summary()
        if run.report.stopped is not None:
            outcome, why = "not measured completely", on_one_line(run.report.stopped)
        words = join([trusted("**"), prose(outcome), trusted("**: "), prose(why, _LONGEST_REASON)])
        rows.append(_row(run.sign, run.name, words, prose("; ".join(first_figures(run.report, run.comparison)))))
    return rows


def _row(sign: Sign, name: str, words: Markdown, figures: Markdown) -> Markdown:
    cells = join([trusted(SIGNS[sign]), code_cell(name), words, figures], " | ")
    return join([trusted("| "), cells, trusted(" |")])


def _folds(runs: Sequence[Run], size: Size, room: int) -> list[_Fold]:
    """The folds of the worst assistants, each as large as the others' shares allow."""
    needed = [size.measure(_fold(run, size).text) + _ROOM for run in runs]
    share = max(room // max(len(runs), 1), _LEAST)
    folds: list[_Fold] = []
    for number, run in enumerate(runs):
        others = sum(min(one, share) for one in needed[number + 1 :])
        most = max(room - others, min(_LEAST, room)) - _ROOM
        fold = _fold(run, replace(size, limit=most))
        used = size.measure(fold.text) + _ROOM
        if used > room:
            break
        folds.append(fold)
        room -= used
    return folds


def _fold(run: Run, size: Size) -> _Fold:
    text = draw(run.report, run.comparison, run.verdict, run.links, size=size)
    title = join([trusted(f"{SIGNS[run.sign]} "), code_in_html(run.name)])
    return _Fold(
        open=trusted("" if run.verdict.passed else " open"),
        title=title,
        text=trusted(text.strip()),
    )


MEASURED_BY: Final = "measured by the fork"


class Fork(Struct, frozen=True):
    """A fork whose run measured: its full name, and what tells its comment from those of other publishing jobs.

    Both are the host's or this job's own: nothing in the fork's artifacts chooses a comment.
    """

    repository: str
    key: str

    @property
    def remark(self) -> Markdown:
        """The first line that a reader sees."""
        return join(
            [
                trusted(f"> **{MEASURED_BY[0].upper()}{MEASURED_BY[1:]}** "),
                code(self.repository, 100),
                trusted(": its author controls everything below. The base and the gates are this repository's own."),
            ]
        )
