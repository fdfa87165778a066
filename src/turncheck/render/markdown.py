"""The pull-request comment and the job summary: one view, two templates, two sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import jinja2

import turncheck
from turncheck.render.markdown_sections import DEGRADATION
from turncheck.render.markdown_view import build_view
from turncheck.render.rendered import Rendered
from turncheck.render.sections import fit
from turncheck.render.sinks.markdown import Markdown, marker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turncheck.comparison.model import Comparison, Verdict
    from turncheck.render.links import Links
    from turncheck.render.sections import Section
    from turncheck.report.model import Report

COMMENT_LIMIT: Final = 60_000
"""GitHub refuses a comment beyond 65,536 characters; how it counts those beyond the basic plane is not documented, so
they count twice here, and some room is left."""
SUMMARY_LIMIT: Final = 1024 * 1024 - 1024
"""GitHub shows nothing at all of a summary beyond 1 MiB; a page of other steps' words is left."""


@dataclass(frozen=True, slots=True)
class _Size:
    """How much a document shows."""

    template: str
    limit: int
    measure: Callable[[str], int]
    unfolded: int


def render_comment(
    report: Report,
    comparison: Comparison | None,
    verdict: Verdict,
    links: Links,
    *,
    key: str | None = None,
    limit: int = COMMENT_LIMIT,
) -> Rendered:
    """Render the pull-request comment.

    Args:
        key: what tells this assistant's comment from those of others in the repository, for the hidden first line; by
            default :func:`comment_key`.
        limit: the longest comment that its host takes, in UTF-16 code units.
    """
    size = _Size("comment.md.j2", limit, _utf16_units, unfolded=8)
    text = _draw(report, comparison, verdict, links, size=size, first_line=marker(key or comment_key(report)))
    return Rendered("comment.md", "text/markdown", text)


def render_summary(report: Report, comparison: Comparison | None, verdict: Verdict, links: Links) -> Rendered:
    """Render the job summary: the comment at length."""
    size = _Size("summary.md.j2", SUMMARY_LIMIT, _bytes, unfolded=50)
    return Rendered(
        "summary.md", "text/markdown", _draw(report, comparison, verdict, links, size=size, first_line=Markdown(""))
    )


def comment_key(report: Report) -> str:
    """What tells one assistant's comment from another's: its path in the repository, else its name."""
    return report.project.root or report.project.name


def _draw(
    report: Report, comparison: Comparison | None, verdict: Verdict, links: Links, *, size: _Size, first_line: Markdown
) -> str:
    view = build_view(report, comparison, verdict, links, unfolded=size.unfolded)
    template = _environment().get_template(size.template)

    def draw(sections: Mapping[str, Section]) -> str:
        return template.render(view=view, section=sections, marker=first_line).strip() + "\n"

    return fit(view.sections, DEGRADATION, draw, size.measure, size.limit)


def _utf16_units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


@cache
def _environment() -> jinja2.Environment:
    """Templates hold structure only: whatever they print must have come through the Markdown sink."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_folder()),
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
    """In a wheel the templates lie within the package, in a working copy beside ``src``."""
    package = Path(turncheck.__file__).parent
    inside = package / "templates"
    return inside if inside.is_dir() else package.parents[1] / "templates"
