"""A comparison of engines: in plain lines, as CSV, and as ``engines.html``, plain HTML without a script."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Final

from turncheck.messages.phrasing import count
from turncheck.render.batch_csv import safe_cell
from turncheck.render.page.page import asset, digest, environment
from turncheck.render.phrases import moment
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.html import Html, code, element, join, sign, table_head, trusted, words
from turncheck.render.sinks.terminal import place, text
from turncheck.render.spans import Column
from turncheck.render.wording.figures import figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.report import engines
    from turncheck.report.evaluations import Evaluation

CSV_NAME: Final = "engines.csv"
JSON_NAME: Final = "engines.json"
_MOST_LISTED: Final = 100
_EVALUATIONS: Final[Mapping[engines.TestKind, Evaluation]] = {
    "sentence": "nlu",
    "story": "core",
    "end-to-end case": "e2e",
    "batch case": "batch",
}


def engines_text(compared: engines.EnginesCompared, *, folder: str = "") -> str:
    """Return the table of engines, the tests on which they differ, and the gates.

    Args:
        compared: what is shown.
        folder: the project's path from the current folder.
    """
    rows = [["", *(text(engine.name) for engine in compared.engines)]]
    rows += [[title, *cells] for title, cells in engine_rows(compared)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [
        f"{text(engine.name)}: {text(remark, 600)}" for engine in compared.engines for remark in remarks_on(engine)
    ]
    lines += ["", summary_of(compared)]
    differing = [test for test in compared.tests if test.agree is False]
    lines += [line for test in differing[:_MOST_LISTED] for line in _differing(test, compared, folder)]
    if len(differing) > _MOST_LISTED:
        lines.append(f"… and {len(differing) - _MOST_LISTED:,} more in {CSV_NAME}")
    lines += [f"{gate.outcome:<10}  {text(gate.rule)}: {text(gate_in_words(gate))}" for gate in compared.gates]
    return "\n".join(lines) + "\n"


def engine_rows(compared: engines.EnginesCompared) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of the table of engines: a title and a cell for each."""
    reference = compared.engines[compared.reference].name if compared.reference >= 0 else ""

    def row(of: Sequence[str]) -> list[str]:
        return [
            cell if compared_engine.answered else "no answer"
            for cell, compared_engine in zip(of, compared.engines, strict=True)
        ]

    def others(of: Sequence[str]) -> list[str]:
        return row(["–" if number == compared.reference else cell for number, cell in enumerate(of)])

    yield "answered by", [text(engine.engine) or "–" for engine in compared.engines]
    yield (
        "right",
        row(
            [f"{engine.right:,} of {engine.answered:,} ({percent(engine.share_right)})" for engine in compared.engines]
        ),
    )
    if reference:
        agrees = [
            f"{engine.agreeing:,} of {engine.compared:,} ({percent(engine.agreement)})" for engine in compared.engines
        ]
        yield f"as {text(reference)}", others(agrees)
        yield "better", others([f"{engine.better:,}" for engine in compared.engines])
        yield "worse", others([f"{engine.worse:,}" for engine in compared.engines])
    yield "seconds", [f"{engine.seconds:.1f}" for engine in compared.engines]


def remarks_on(engine: engines.ComparedEngine) -> Iterator[str]:
    """Yield why an engine did not answer everything."""
    if engine.problem:
        yield engine.problem
    others = ((evaluation, why) for evaluation, why in engine.left_out.items() if why != engine.problem)
    yield from (f"{evaluation} not run: {why}" for evaluation, why in others)


def summary_of(compared: engines.EnginesCompared) -> str:
    """Return in a sentence how far the engines agree."""
    if compared.agreement is None:
        return "There is nothing to compare: no test was answered by two engines."
    of = f"{compared.agreeing:,} of {count(compared.compared, 'test')}"
    agree = f"The engines agree on {of} ({percent(compared.agreement)})."
    if not compared.on_training:
        return agree
    verb = "is a training sentence" if compared.on_training == 1 else "are training sentences"
    return f"{agree} {count(compared.on_training, 'test')} {verb}: the figures are optimistic."


def gate_in_words(gate: engines.EngineGate) -> str:
    """Return the figure of a gate, and why it is not judged."""
    if gate.value is None:
        return "there is nothing to compare"
    shown = f"{gate.metric} is {figure(gate.value, 'score', apart_from=gate.limit)}"
    if gate.outcome == "failed":
        return f"{shown}, not {gate.operator} {gate.limit:g}"
    return f"{shown}, without all answers of {', '.join(gate.silent)}" if gate.silent else shown


def percent(share: float | None) -> str:
    """Return a share as a percentage, never rounded to all or nothing."""
    if share is None:
        return "–"
    shown = 100 * share
    return f"{min(max(shown, 0.1), 99.9) if 0 < share < 1 else shown:.1f} %"


def _differing(test: engines.ComparedTest, compared: engines.EnginesCompared, folder: str) -> Iterator[str]:
    suite = f" of {text(test.suite)}" if test.suite else ""
    yield f"{place(test.location, folder)}: {test.kind} '{text(test.name)}'{suite}, expected {text(test.expected)}"
    for engine, answer, side in zip(compared.engines, test.answers, test.sides, strict=True):
        if answer is not None:
            sign = "right" if answer.passed else "wrong"
            yield f"    {text(engine.name)}: {text(answer.got)} ({sign}{f', {side}' if side else ''})"


def engines_csv(compared: engines.EnginesCompared) -> Rendered:
    """Return a row for each test, with what each engine made of it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    of_engines = [
        f"{compared_engine.name}{column}"
        for compared_engine in compared.engines
        for column in ("", " right", " changed side")
    ]
    writer.writerow(map(safe_cell, ["kind", "suite", "test", "place", "expected", *of_engines, "agree"]))
    for test in compared.tests:
        cells = [test.kind, test.suite, test.name, str(test.location), test.expected]
        for engine, answer, side in zip(compared.engines, test.answers, test.sides, strict=True):
            none = [_without_answer(engine, test), "", ""]
            cells += none if answer is None else [answer.got, "TRUE" if answer.passed else "FALSE", side]
        agree = {None: "", True: "TRUE", False: "FALSE"}[test.agree]
        writer.writerow(map(safe_cell, [*cells, agree]))
    return Rendered(CSV_NAME, "text/csv", out.getvalue())


def _without_answer(engine: engines.ComparedEngine, test: engines.ComparedTest) -> str:
    why = engine.left_out.get(_EVALUATIONS[test.kind], engine.problem)
    return f"no answer: {why}" if why else "no answer"


NAME: Final = "engines.html"
_MOST: Final = 5_000
"""Tests on the page; all are in the CSV."""
_ARROWS: Final[dict[engines.Side, str]] = {"better": " ▲ better", "worse": " ▼ worse", "": ""}


def render_engines_page(compared: engines.EnginesCompared) -> Rendered:
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


def _gate(gate: engines.EngineGate) -> Html:
    return join([sign(gate.outcome), words(" "), code(gate.rule), words(f": {gate_in_words(gate)}")])


def _rows(tests: Sequence[engines.ComparedTest]) -> list[Html]:
    return [_test(test) for test in tests[:_MOST]]


def _row(title: str, cells: Iterable[Html]) -> Html:
    head = element("th", words(title), scope="row")
    return element("tr", join([head, *(element("td", cell) for cell in cells)]))


def _test(test: engines.ComparedTest) -> Html:
    what = f"{test.kind}{f' of {test.suite}' if test.suite else ''} · {test.location}"
    head = join([element("q", code(test.name)), element("div", words(what), class_="note")])
    cells = [element("td", words(test.expected))]
    cells += [element("td", _answer(answer, side)) for answer, side in zip(test.answers, test.sides, strict=True)]
    return element("tr", join([element("th", head, scope="row"), *cells]))


def _answer(answer: engines.EngineAnswer | None, side: engines.Side) -> Html:
    if answer is None:
        return element("span", words("no answer"), class_="note")
    mark = sign("passed" if answer.passed else "failed")
    changed = element("span", words(_ARROWS[side]), class_=f"change {side}") if side else trusted("")
    return join([mark, words(f" {answer.got}"), changed])
