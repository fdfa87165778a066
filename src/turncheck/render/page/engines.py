"""``engines.html``: engines side by side, test by test, as plain HTML without a script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.render.engines import CSV_NAME, engine_rows, gate_in_words, remarks_on, summary_of
from turncheck.render.page.page import asset, digest, environment
from turncheck.render.phrases import moment
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.html import code, element, join, sign, table_head, trusted, words
from turncheck.render.spans import Column

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.render.sinks.html import Html
    from turncheck.report.engines import ComparedTest, EngineAnswer, EngineGate, EnginesCompared, Side

NAME: Final = "engines.html"
_MOST: Final = 5_000
"""Tests on the page; all are in the CSV."""
_ARROWS: Final[dict[Side, str]] = {"better": " ▲ better", "worse": " ▼ worse", "": ""}


def render_engines_page(compared: EnginesCompared) -> Rendered:
    """Render the page: the engines, the tests on which they differ, all others folded."""
    style = asset("page.css")
    policy = f"default-src 'none'; style-src '{digest(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    differing = [test for test in compared.tests if test.agree is False]
    others = [test for test in compared.tests if test.agree is not False]
    names, more = [engine.name for engine in compared.engines], max(len(differing), len(others)) - _MOST
    measured = moment(compared.source.measured or "")
    facts = [f"{compared.tool.name} {compared.tool.version}", *([f"asked {measured}"] if measured else [])]
    content = environment().get_template("page/engines.html.j2").render(
        policy=trusted(policy),
        style=trusted(style),
        title=words(f"{compared.project.name}: {len(names)} engines compared"),
        summary=words(summary_of(compared)),
        gates=[_gate(gate) for gate in compared.gates],
        remarks=[
            join([element("strong", words(engine.name)), words(f": {remark}")])
            for engine in compared.engines
            for remark in remarks_on(engine)
        ],
        engines_head=table_head((Column("engine"), *map(Column, names))),
        engines=[_row(title, map(words, cells)) for title, cells in engine_rows(compared)],
        head=table_head((Column("test"), Column("expected"), *map(Column, names))),
        differing=_rows(differing),
        others=_rows(others),
        numbers=(words(f"{len(differing):,}"), words(f"{len(others):,}")),
        left_out=words(f"… and {more:,} more in {CSV_NAME}" if more > 0 else ""),
        footer=words(" · ".join(facts)),
    )  # fmt: skip
    return Rendered(NAME, "text/html", content)


def _gate(gate: EngineGate) -> Html:
    return join([sign(gate.outcome), words(" "), code(gate.rule), words(f": {gate_in_words(gate)}")])


def _rows(tests: Sequence[ComparedTest]) -> list[Html]:
    return [_test(test) for test in tests[:_MOST]]


def _row(title: str, cells: Iterable[Html]) -> Html:
    head = element("th", words(title), scope="row")
    return element("tr", join([head, *(element("td", cell) for cell in cells)]))


def _test(test: ComparedTest) -> Html:
    what = f"{test.kind}{f' of {test.suite}' if test.suite else ''} · {test.location}"
    head = join([element("q", code(test.name)), element("div", words(what), class_="note")])
    cells = [element("td", words(test.expected))]
    cells += [element("td", _answer(answer, side)) for answer, side in zip(test.answers, test.sides, strict=True)]
    return element("tr", join([element("th", head, scope="row"), *cells]))


def _answer(answer: EngineAnswer | None, side: Side) -> Html:
    if answer is None:
        return element("span", words("no answer"), class_="note")
    mark = sign("passed" if answer.passed else "failed")
    changed = element("span", words(_ARROWS[side]), class_=f"change {side}") if side else trusted("")
    return join([mark, words(f" {answer.got}"), changed])
