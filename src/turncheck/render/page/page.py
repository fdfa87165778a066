"""``report.html``: the first screen as plain HTML, and after it the data for the views that a script draws.

One file that loads nothing: style and script are part of it, and its policy lets a browser run only these two, by
their digests. Equal documents give equal bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from functools import cache, partial
from itertools import chain
from itertools import count as numbers_from
from typing import TYPE_CHECKING, Final

import jinja2
from msgspec import Struct
from msgspec.structs import replace

from turncheck.comparison.changes import listed_in
from turncheck.messages.phrasing import count
from turncheck.render.assistants import FailedAssistant, Run, worst_first
from turncheck.render.case_keys import CaseKeys
from turncheck.render.content import DEGRADATION, ORDER
from turncheck.render.document import Document, build_document
from turncheck.render.links import Base, Links, PathResolver
from turncheck.render.main_metrics import first_figures
from turncheck.render.markdown import template_folder
from turncheck.render.page import model
from turncheck.render.page.budget import LIMIT, fitted
from turncheck.render.page.conversations import conversations
from turncheck.render.page.sentences import confusions, intent_rows, sentence_columns, threshold_of
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.html import Html, HtmlWriter, element, join, link, sign, table_head, trusted, words
from turncheck.render.spans import Section, Sign, fit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.report.model import Report


# Everything that the page's script shows, made only from report, comparison and verdict.


def assistant_data(
    report: Report, comparison: Comparison, links: Links, *, slug: str, manual: Mapping[str, str]
) -> model.Assistant:
    """Return the data of one assistant.

    Args:
        slug: distinguishes it from the others on the page, in addresses.
        manual: what the manual says of a finding, by its code.
    """
    compared = comparison if comparison.judged else None
    files, labels = model.Files(report.project.root, links), model.Labels()
    rooted = PathResolver.of(report, compared)
    sentences, training = sentence_columns(report.nlu, compared, files, labels, keys=CaseKeys(report).sentences)
    confused, base_confused = confusions(report.nlu, labels), _base_confusions(compared, labels)
    intents = intent_rows(report.nlu, compared, labels)
    findings = _findings(report, compared, files, rooted)
    return model.Assistant(
        slug=slug,
        name=report.project.name or report.project.root or "assistant",
        compared=compared is not None,
        intents=intents,
        confusions=confused,
        base_confusions=base_confused,
        training=training,
        sentences=sentences,
        threshold=threshold_of(report.nlu),
        conversations=conversations(report, compared, files, rooted),
        findings=findings,
        manual={code: manual[code] for code in sorted({finding.code for finding in findings}) if code in manual},
        coverage=_coverage(report, compared, files),
        replaced=[
            model.Replaced(component=substitution.component, used=substitution.used, reason=substitution.reason)
            for substitution in (report.engine.substitutions if report.engine else ())
        ],
        not_run=[
            model.NotRun(
                what=f"part of {skipped.evaluation}" if skipped.part else skipped.evaluation,
                reason=rooted.text(skipped.reason),
            )
            for skipped in report.skipped
        ],
        left_out=[],
        files=files.listed,
        labels=labels.listed,
    )


def _base_confusions(compared: Comparison | None, labels: model.Labels) -> list[tuple[int, int, int]]:
    return [
        (labels.number(confusion.expected), labels.number(confusion.predicted), confusion.count)
        for confusion in (compared.base_confusions if compared else ())
    ]


def _findings(
    report: Report, compared: Comparison | None, files: model.Files, rooted: PathResolver
) -> list[model.Finding]:
    is_new = listed_in(compared.new_findings if compared else ())
    return [
        model.Finding(
            code=finding.code,
            severity=finding.severity,
            message=rooted.text(finding.message),
            hint=rooted.text(finding.hint),
            place=files.place(finding.location),
            others=[files.place(location) for location in finding.others],
            new=is_new(finding),
        )
        for finding in (report.validation.findings if report.validation else ())
    ]


def _coverage(report: Report, compared: Comparison | None, files: model.Files) -> list[model.Coverage]:
    changed = {(item.kind, item.name): item.change for item in (compared.changed_items if compared else ())}
    return [
        model.Coverage(
            kind=kind,
            items=[
                model.CoverageItem(
                    name=item.name,
                    place=files.place(item.location),
                    covered=item.covered,
                    change=changed.get((kind, item.name), ""),
                )
                for item in reached.items
            ],
            total=len(reached.items),
            reached=sum(item.covered for item in reached.items),
        )
        for kind, reached in report.coverage.items()
        if reached.share is not None
    ]


# The names of a page's assistants, and what distinguishes them in its addresses.


def name_of(report: Report) -> str:
    """Return what an assistant is called."""
    return report.project.name or report.project.root or "assistant"


def distinct_names(reports: Sequence[Report]) -> list[str]:
    """The names of assistants; those with the same name get their folder appended, else a number."""
    names = [name_of(report) for report in reports]
    placed = [
        f"{name} ({report.project.root})" if names.count(name) > 1 and report.project.root else name
        for name, report in zip(names, reports, strict=True)
    ]
    return [
        f"{name} ({placed[: number + 1].count(name)})" if placed.count(name) > 1 else name
        for number, name in enumerate(placed)
    ]


def slugs_of(names: Sequence[str]) -> list[str]:
    """Slugs of the assistants for addresses: letters and digits of their names, numbered if they repeat.

    They are numbered in the order of the names, not in that of the verdicts: an address leads to the same assistant
    in the next report.
    """
    slugs: dict[int, str] = {}
    for place in sorted(range(len(names)), key=names.__getitem__):
        slug = "-".join(["at", *(re.findall(r"[a-z0-9]+", names[place].lower()[:60]) or ["assistant"])])
        numbered = chain([slug], (f"{slug}-{number}" for number in numbers_from(2)))
        slugs[place] = next(one for one in numbered if one not in slugs.values())
    return [slugs[place] for place in range(len(names))]


NAME: Final = "report.html"
_UNFOLDED: Final = 12
"""Entries of a list in plain sight."""
_FIRST_SCREEN_LIMIT: Final = 512 * 1024
"""Bytes of all first screens together."""
_GZIP: Final = 16 + zlib.MAX_WBITS
_BASE_TOO: Final = re.compile(r"still_|method$|substituted$|confusions$")
"""Sections about what this change did not do."""


def render_page(
    runs: Sequence[Run], manual: Mapping[str, str], *, broken: Sequence[FailedAssistant] = (), limit: int = LIMIT
) -> Rendered:
    """Render the page of one run, or of several with an overview, the worst first.

    Args:
        runs: what is shown; at least one, or one that is broken.
        manual: what the manual says of a finding, by its code.
        broken: assistants that could not be measured.
        limit: the largest page in bytes.
    """
    runs = sorted(runs, key=worst_first)
    names = distinct_names([run.report for run in runs])
    slugs = slugs_of(names)
    several = len(runs) > 1 or bool(broken)
    assistants = [
        assistant_data(run.report, run.comparison, run.links, slug=slug, manual=manual)
        for run, slug in zip(runs, slugs, strict=True)
    ]
    parts = [
        _part(run, assistant, name=name, several=several, limit=_FIRST_SCREEN_LIMIT // len(runs))
        for run, assistant, name in zip(runs, assistants, names, strict=True)
    ]
    draw = partial(_draw, runs=runs, parts=parts, broken=broken)
    packing = _Packing(limit)
    frame = len(draw(assistants=assistants, packed="").encode())
    shown = fitted(assistants, lambda some: frame + packing.size(some), limit)
    return Rendered(NAME, "text/html", draw(assistants=shown, packed=packing.packed(shown)))


def _draw(
    *,
    runs: Sequence[Run],
    parts: Sequence[_Part],
    broken: Sequence[FailedAssistant],
    assistants: Sequence[model.Assistant],
    packed: str,
) -> str:
    style, script = asset("page.css"), asset("page.js")
    # Spaces around style and script would be part of what the digests cover.
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; img-src data:;"
        " base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    names = ", ".join(
        [*(name_of(run.report) for run in runs), *(failed_assistant.name for failed_assistant in broken)][:3]
    )
    number = len(runs) + len(broken)
    alone = number == 1 and not broken
    return environment().get_template("page/page.html.j2").render(
        policy=trusted(policy),
        title=words(f"{names}: {runs[0].verdict.in_words}" if alone else f"{count(number, 'assistant')}: {names}"),
        style=trusted(style),
        script=trusted(script),
        order=ORDER,
        parts=parts,
        overview=_overview(runs, parts, broken) if len(runs) > 1 or broken else (),
        left_out=[words(part) for part in dict.fromkeys(part for shown in assistants for part in shown.left_out)],
        packed=trusted(packed),
    )  # fmt: skip


# --- the first screen ------------------------------------------------------------------------------------------------

_VIEWS: Final = {
    "conversations": "failing losing unknown_failing failing_if_repaired still_failing misunderstood"
    " misunderstood_cases still_misunderstood still_misunderstood_cases suites",
    "sentences": "wrong flips right still_wrong edited_sentences mostly_wrong",
    "data": "errors findings unknown_found still_found uncovered reached skipped substituted",
    "intents": "intents confusions",
}
"""The views of the page that have all entries of these sections."""
_VIEW_OF: Final = {section: view for view, sections in _VIEWS.items() for section in sections.split()}


class _List(Struct, frozen=True):
    """What the template gets for a section."""

    name: str
    section: Section[Html]
    writer: HtmlWriter

    @property
    def title(self) -> Html:
        return words(self.section.title)

    @property
    def unfolded(self) -> int:
        return self.section.unfolded

    @property
    def base_too(self) -> bool:
        """Whether it is about what the change did not do."""
        return bool(_BASE_TOO.match(self.name))

    @property
    def head(self) -> Html:
        """The head of a table; empty for a list."""
        return table_head(self.section.columns) if self.section.columns else trusted("")

    @property
    def note(self) -> Html:
        return self.writer.line(self.section.note)

    @property
    def visible(self) -> tuple[Html, ...]:
        return self.section.entries[: self.section.unfolded]

    @property
    def folded(self) -> tuple[Html, ...]:
        return self.section.entries[self.section.unfolded :]

    @property
    def fold_title(self) -> Html:
        return trusted(f"{self.section.folded_number:,} more") if self.section.unfolded else self.title

    @property
    def left_out(self) -> Html:
        number = self.section.left_out
        return self.writer.more(number) if number > 0 else trusted("")


class _Part(Struct, frozen=True):
    """The first screen of one assistant, as the template gets it: lines and lists, as HTML."""

    slug: Html
    name: Html
    title: Html
    sign: Sign
    first_screen: Html


def _part(run: Run, assistant: model.Assistant, *, name: str, several: bool, limit: int) -> _Part:
    compared = run.comparison if run.comparison.judged else None
    document = build_document(run.report, run.comparison, run.verdict, run.links, unfolded=_UNFOLDED)
    writer = HtmlWriter(
        run.report.project.root,
        run.links,
        PathResolver.of(run.report, compared),
        Base.of(compared, run.report.project.root),
        cases=frozenset((*assistant.sentences.key, *model.keys_of(assistant.conversations))),
        address=(f"#{assistant.slug}/" if several else "#").__add__,
    )
    return _Part(
        slug=words(assistant.slug),
        name=words(name),
        title=writer.entry(document.title),
        sign=document.title.sign,
        first_screen=_first_screen(document, writer, limit),
    )


def _first_screen(document: Document, writer: HtmlWriter, limit: int) -> Html:
    """Everything that the comment says, as HTML, with as many list entries as fit."""
    template = environment().get_template("page/first_screen.html.j2")
    lines = {
        "headline": writer.line(document.headline),
        "explained": [writer.line(line) for line in document.explained],
        "baseline": writer.line(document.baseline.line),
        "warnings": [writer.entry(warning) for warning in document.baseline.below],
        "examples": writer.line(document.examples),
        "footer": writer.line(document.footer),
    }

    def writer_of(section: str) -> HtmlWriter:
        view = _VIEW_OF.get(section)
        return writer if view is None else replace(writer, elsewhere=link(words(view.title()), writer.address(view)))

    def draw(sections: Mapping[str, Section[Html]]) -> str:
        lists = {name: _List(name, section, writer_of(name)) for name, section in sections.items()}
        return template.render(section=lists, order=ORDER, **lines)

    written = [section.written(writer_of(section.name).item, within=limit) for section in document.sections]
    return trusted(fit(written, DEGRADATION, draw, lambda text: len(text.encode()), limit))


def _overview(runs: Sequence[Run], parts: Sequence[_Part], broken: Sequence[FailedAssistant]) -> list[Html]:
    """A row for each assistant: its verdict, why, and its first figures; first those that could not be measured."""
    rows = []
    for failed_assistant in broken:
        mark = join([sign("stopped"), words(" not measured")])
        cells = (mark, words(failed_assistant.why), words(""))
        rows.append(_row(words(failed_assistant.name), cells))
    for run, part in zip(runs, parts, strict=True):
        mark = join([sign(part.sign), words(f" {run.verdict.in_words}")])
        cells = (mark, words(run.summary()), words("; ".join(first_figures(run.report, run.comparison))))
        rows.append(_row(link(part.name, f"#{part.slug}"), cells))
    return rows


def _row(name: Html, cells: Sequence[Html]) -> Html:
    head = element("th", name, scope="row")
    return element("tr", join([head, *(element("td", cell) for cell in cells)]))


# --- the file --------------------------------------------------------------------------------------------------------


class _Packing:
    """Compresses the data of a page by gzip (without a timestamp), in base64; what fits is not compressed again."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._last: tuple[Sequence[model.Assistant], bytes] = ((), b"")

    def size(self, assistants: Sequence[model.Assistant]) -> int:
        """The number of characters; beyond the limit, as far as it was counted."""
        compressed = bytearray()
        for piece in _compressed(assistants):
            compressed += piece
            if len(compressed) > self._limit:
                break
        else:
            self._last = (assistants, bytes(compressed))
        return -(-len(compressed) // 3) * 4

    def packed(self, assistants: Sequence[model.Assistant]) -> str:
        """The compressed data."""
        measured, compressed = self._last
        return base64.b64encode(compressed if measured is assistants else b"".join(_compressed(assistants))).decode()


def _compressed(assistants: Sequence[model.Assistant]) -> Iterator[bytes]:
    packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
    for piece in model.encode(model.PageData(assistants=list(assistants))):
        yield packer.compress(piece)
    yield packer.flush()


@cache
def asset(name: str) -> str:
    """Style or script; read once."""
    return (template_folder() / "page" / name).read_text("utf-8")


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def environment() -> jinja2.Environment:
    """Templates only hold structure: whatever they print must come from the HTML sink."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(template_folder()),
        auto_reload=False,  # nobody changes a template while it is used
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=_only_html,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _only_html(value: object) -> object:
    if isinstance(value, Html):
        return value
    raise TypeError(f"a template prints {type(value).__name__}, which did not come through the HTML sink")
