"""Comment and job summary of several assistants: a table of all, and a fold for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final

from turncheck.comparison.suppression_gate import suppressed_in_words
from turncheck.comparison.wording import count
from turncheck.render.main_metrics import first_figures
from turncheck.render.markdown import (
    COMMENT_LIMIT,
    NOTHING,
    SUMMARY_LIMIT,
    Size,
    draw,
    environment,
    utf8_bytes,
    utf16_units,
)
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.markdown import Markdown, code, code_cell, code_in_html, join, link, marker, prose, trusted
from turncheck.render.sinks.markdown_writer import SIGNS, table_head
from turncheck.render.spans import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.render.assistants import Assistants, Run
    from turncheck.render.fork import Fork
    from turncheck.render.links import Links
    from turncheck.render.spans import Sign

_COLUMNS: Final = (Column(""), Column("assistant"), Column("outcome"), Column("figures"))
_LEAST: Final = 3_000
"""A fold gets at least this much room, or it is not shown."""
_ROOM: Final = 300
"""Room for the remark on folds that are not shown, and for the markup of each."""
_LONGEST_REASON: Final = 600
_MOST_ALTERED: Final = 10


@dataclass(frozen=True, slots=True)
class _Fold:
    open: Markdown
    title: Markdown
    text: Markdown


def render_overview_comment(
    assistants: Assistants, links: Links, *, fork: Fork | None = None, limit: int = COMMENT_LIMIT
) -> Rendered:
    """Render the one comment about all assistants; within ``limit`` the worst keep their fold, others are counted."""
    size = Size("fold.md.j2", limit, utf16_units, unfolded=8)
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
        if parts:
            lines.append(join([code(run.name), trusted(": "), join(parts, ", ")]))
    more = len(lines) - _MOST_ALTERED
    return [*lines[:_MOST_ALTERED], *([trusted(f"… and {count(more, 'more assistant')}")] if more > 0 else [])]


def _rows(assistants: Assistants) -> list[Markdown]:
    """A row for each: first those that could not be measured, then the worst of the others."""
    rows = [
        _row("stopped", one.name, join([trusted("**not measured**: "), prose(one.why, _LONGEST_REASON)]), NOTHING)
        for one in assistants.broken
    ]
    for run in assistants.worst_first:
        outcome, why = run.verdict.in_words, run.verdict.summary
        if run.report.stopped is not None:
            outcome, why = "not measured completely", run.report.stopped
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
