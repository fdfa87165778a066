"""An NLU evaluation in plain lines, and what a comparison of pipelines writes.

The latter: Rasa's ``results.json``, the curve, the figures, and the advice in words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, UnsetType

from turncheck.evaluations.nlu import NOTHING_TO_FIND
from turncheck.messages.phrasing import count
from turncheck.render.phrases import covered_lines, how_judged, overlap_remarks, substitution_lines, unjudged_remark
from turncheck.render.plots import figure_class, saved
from turncheck.render.rasa_files import as_json
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.terminal import place, text
from turncheck.render.spans import Code, Entry, Prose, line
from turncheck.render.wording.figures import expected_got
from turncheck.report.trust import LEAST_AGREEMENT, Agreement, Trust
from turncheck.report.understanding import overlapping

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.report.model import EngineInfo, Nlu, Report, Spread

_MOST_CONFUSED = 10
_MOST_FAILING = 50


def nlu_text(nlu: Nlu, engine: EngineInfo | None = None, folder: str = "", trust: str = "") -> str:
    """Describe the results: main figures, with their spread over the folds, and where to look first.

    ``folder``: the project's path from the current folder, for the places named. ``trust`` follows the substitutions:
    how reliable they are.
    """
    return "\n".join(
        [*_head(nlu, engine, trust), *_figures(nlu), *_repeated(nlu, folder), *_where_to_look(nlu, folder), ""]
    )


def _head(nlu: Nlu, engine: EngineInfo | None, trust: str) -> Iterator[str]:
    yield f"NLU: {count(nlu.examples, 'sentence')}, {how_judged(nlu)}"
    yield from (f"  {remark.in_words}" for remark in overlap_remarks(nlu))
    yield from (f"  {line}" for line in substitution_lines(engine.substitutions if engine else ()))
    if trust:
        yield f"  {trust}"
    for remark in nlu.remarks:
        yield f"  {text(remark, 400)}"
    if unjudged := unjudged_remark(nlu):
        yield f"  {text(unjudged, 1000)}"


def _figures(nlu: Nlu) -> Iterator[str]:
    if nlu.intents:
        scores = nlu.intents
        figures = {"accuracy": scores.accuracy, "precision": scores.precision, "recall": scores.recall, "f1": scores.f1}
        yield from _table("Intents", figures, scores.folds)
    for name, entities in nlu.entities.items():
        if entities.says_nothing:
            yield from (f"Entities by {text(name)}, by token:", f"  not scored: {NOTHING_TO_FIND}")
            continue
        by_token = {"precision": entities.precision, "recall": entities.recall, "f1": entities.f1}
        yield from _table(f"Entities by {name}, by token", by_token, entities.folds)
        spans = entities.spans
        if spans is not None:
            yield f"  exact spans: precision {spans.precision:.3f}, recall {spans.recall:.3f}, f1 {spans.f1:.3f}"
    if len(nlu.entities) > 1 and nlu.entity_spans:
        spans = nlu.entity_spans
        yield "All extractors together (what several find counts once):"
        yield f"  exact spans: precision {spans.precision:.3f}, recall {spans.recall:.3f}, f1 {spans.f1:.3f}"
    for name, responses in nlu.responses.items():
        figures = {"accuracy": responses.accuracy, "f1": responses.f1}
        yield from _table(f"Responses by selector {name}", figures, responses.folds)
    yield from covered_lines(nlu.coverage)
    understood = nlu.understood
    if understood:
        yield "Understood, after the fallback:"
        yield f"  right {understood.right}, wrong {understood.wrong}, not understood {understood.not_understood}"
        if (same := understood.same_fallbacks) is not None:
            yield f"  with as many fallbacks as your Rasa ({same.share:.1%}, below {same.threshold:.2f} here):"
            yield f"    right {same.right}, wrong {same.wrong}, not understood {same.not_understood}"
        if understood.suggested:
            point = understood.suggested
            yield (
                f"  suggested threshold {point.threshold:g}: answers {point.coverage:.1%} of the sentences, "
                f"{point.precision:.1%} of them right"
            )
            wrong = _gone(understood.wrong_avoided, "wrong answers avoided", "more wrong answers")
            right = _gone(understood.right_lost, "right answers lost", "more right answers")
            yield f"  compared with today: {wrong}, {right}"


def _gone(number: int, fewer: str, more: str) -> str:
    return f"{fewer} {number}" if number >= 0 else f"{more} {-number}"


def _table(title: str, figures: Mapping[str, float | None], folds: Mapping[str, Spread]) -> Iterator[str]:
    yield f"{text(title)}:"
    for name, value in figures.items():
        if value is None:
            continue
        spread = folds.get(name)
        mean = f"   mean of folds {spread.mean:.3f} ± {spread.deviation:.3f}" if spread else ""
        yield f"  {name:<10}{'pooled ' if spread else ''}{value:.3f}{mean}"


def _repeated(nlu: Nlu, folder: str) -> Iterator[str]:
    """Yield how the sentences fared that were asked a number of times, and those that did not pass each time."""
    asked = [(one, one.attempts) for one in nlu.predictions if not isinstance(one.attempts, UnsetType)]
    if not asked:
        return
    failing = [(one, attempts) for one, attempts in asked if attempts.passed < attempts.of]
    flaky = sum(attempts.passed > 0 for _, attempts in failing)
    times = max(attempts.of for _, attempts in asked)
    passed = f"{len(asked) - len(failing):,} passed each time"
    often = "once" if times == 1 else f"{times:,} times"
    yield f"Asked {often}: {passed}, {flaky:,} flaky, {len(failing) - flaky:,} never passed"
    for one, attempts in failing[:_MOST_FAILING]:
        is_flaky = "flaky: " if attempts.passed else ""
        runs = f"{is_flaky}passed {attempts.passed} of {attempts.of} times"
        yield f"  {place(one.location, folder)}: “{text(one.text)}”: {runs}"
    if len(failing) > _MOST_FAILING:
        yield f"  … and {len(failing) - _MOST_FAILING:,} more in the report"


def _where_to_look(nlu: Nlu, folder: str) -> Iterator[str]:
    if nlu.insights.confused:
        yield "Most confused:"
    for pair in nlu.insights.confused[:_MOST_CONFUSED]:
        first, second = text(pair.first), text(pair.second)
        yield f"  {expected_got(first, second)}: {pair.first_as_second}; the other way round: {pair.second_as_first}"
    if nlu.insights.mislabelled:
        yield "Perhaps mislabelled (the engine disagrees with high confidence):"
    for index in nlu.insights.mislabelled[:_MOST_CONFUSED]:
        prediction = nlu.predictions[index]
        expected, predicted = text(prediction.expected.intent or ""), text(prediction.predicted.intent or "")
        yield (
            f"  {place(prediction.location, folder)}: “{text(prediction.text)}” is {expected}, "
            f"looks like {predicted} ({prediction.predicted.confidence:.2f})"
        )
    if nlu.insights.overlapping:
        yield "Entities that overlap:"
    for index in nlu.insights.overlapping[:_MOST_CONFUSED]:
        prediction = nlu.predictions[index]
        pairs = overlapping(prediction.predicted.entities)
        said = prediction.text
        found = ", ".join(
            f"{text(said[entity.start : entity.end])} = {text(entity.entity)} ({text(entity.extractor or '')})"
            for entity in prediction.predicted.entities
            if any(entity in pair for pair in pairs)
        )
        yield f"  {place(prediction.location, folder)}: “{text(prediction.text)}”: {found}"


# One row for each label: what ``rasa_nlu.evaluate`` and the first versions of Rasa 1 print.

_AVERAGES: Final = {"weighted avg": "weighted average"}
_NOTHING_EXPECTED: Final = "no judged sentence has what it found"
_FIGURES: Final = {"precision": "precision", "recall": "recall", "f1-score": "f1", "support": "support"}


def label_tables(nlu: Nlu, engine: EngineInfo | None = None) -> str:
    """Return a table with the figures of each intent, then one for each extractor and each response selector.

    An extractor of the pipeline that could not run has a line that says so in place of its table.
    """
    lines = list(_rows("Each intent", nlu.intents.report)) if nlu.intents else []
    for name, entities in nlu.entities.items():
        title = f"Each entity by {name}, by token"
        none = [f"{text(title)}:", f"  not scored: {NOTHING_TO_FIND}"]
        lines += none if entities.says_nothing else _rows(title, entities.report)
    for substitution in engine.substitutions if engine else ():
        if substitution.used is None and substitution.component.endswith("Extractor"):
            lines += [
                f"Each entity by {text(substitution.component)}, by token:",
                f"  not run: {text(substitution.reason, 400)}",
            ]
    for name, responses in nlu.responses.items():
        lines += _rows(f"Each response by selector {name}", responses.report)
    return "".join(f"{line}\n" for line in lines)


def _rows(title: str, report: Mapping[str, Any]) -> Iterator[str]:
    yield f"{text(title)}:"
    rows = {name: row for name, row in report.items() if isinstance(row, dict) and not name.endswith(" avg")}
    rows |= {shown: report[name] for name, shown in _AVERAGES.items() if isinstance(report.get(name), dict)}
    named = {text(name): row for name, row in rows.items()}
    if not named:
        yield f"  {_NOTHING_EXPECTED}"
        return
    width = max(len(name) for name in named)
    yield "  " + " " * width + "".join(f"{shown:>11}" for shown in _FIGURES.values())
    for name, row in named.items():
        figures = (row.get(key) for key in _FIGURES)
        yield f"  {name:<{width}}" + "".join(f"{_figure(figure):>11}" for figure in figures)


def _figure(figure: Any) -> str:
    return f"{figure:.3f}" if isinstance(figure, float) else str(figure)


# How closely the stand-in agrees with the team's own model: one line, in every document.

_COMMAND: Final = Code("turncheck calibrate")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def trust_entry(report: Report) -> Entry | None:
    """Say how far the engine agrees with the team's Rasa; ``None`` if it is not a stand-in."""
    trust, engine = report.trust, report.engine
    if engine is None or not report.has_stand_in:
        return None
    if not (report.nlu or report.core or report.e2e):
        return None
    if trust is None:
        if not engine.substitutions:
            return None
        models = "Measured with small models of turncheck, not with your Rasa: "
        return Entry(line(models, _COMMAND, " compares the two."))
    if trust.problem:
        entry = line("The comparison with your Rasa is not used: ", Prose(trust.problem))
        return Entry(line(entry, ". Write it again: ", _COMMAND, "."), sign="caution")
    agreements = _agreements(trust)
    low = any(agreement.too_low for agreement, _ in agreements)
    below = f" Below {LEAST_AGREEMENT:.0%} a change has no verdict.".replace("%", " %") if low else ""
    since = f" Its confidences are not fitted to your Rasa's: when compared, {trust.changed}." if trust.changed else ""
    entry = line(Prose(trust_line(trust) + below + since))
    if since:
        entry = line(entry, " Compare again: ", _COMMAND, ".")
    return Entry(entry, sign="caution" if low or trust.outdated or since else "")


def fallback_entry(report: Report) -> Entry | None:
    """Count right, wrong and not understood answers at the pipeline's threshold and with as many fallbacks as Rasa."""
    understood = report.nlu.understood if report.nlu else None
    if understood is None or understood.same_fallbacks is None or understood.threshold is None:
        return None
    same = understood.same_fallbacks
    share = f"{same.share:.1%}".replace("%", " %")
    return Entry(
        line(
            f"After the fallback: {understood.right:,} right, {understood.wrong:,} wrong, {understood.not_understood:,}"
            f" not understood at the pipeline's threshold {understood.threshold:g}; with as many fallbacks as your Rasa"
            f" ({share}): {same.right:,} right, {same.wrong:,} wrong, {same.not_understood:,} not understood."
        )
    )


def trust_line(trust: Trust) -> str:
    """Return it in one sentence: ``The stand-in agrees with your Rasa on 91 % of sentences … (12 Nov 2026).``"""
    shares = ", ".join(f"{_percent(agreement)} of {what}" for agreement, what in _agreements(trust))
    return f"The stand-in agrees with your Rasa on {shares} ({_when(trust)})."


def _agreements(trust: Trust) -> list[tuple[Agreement, str]]:
    known = trust.agreements
    parts = ((known.sentences, "sentences"), (known.entities, "entities"), (known.stories, "stories"))
    return [(agreement, what) for agreement, what in parts if agreement is not None and agreement.share is not None]


def _percent(agreement: Agreement) -> str:
    """Not rounded to 100 % if anything differs, nor to 0 % if anything agrees."""
    share = agreement.share or 0.0
    shown = round(100 * share)
    if shown == 100 and share < 1:
        shown = 99
    if shown == 0 and share > 0:
        shown = 1
    return f"{shown} %"


def _when(trust: Trust) -> str:
    year, month, day = (trust.date or "0-0-0").split("-")
    shown = f"{int(day)} {_MONTHS[int(month) - 1]} {year}" if trust.date else "on an unknown day"
    return f"{shown}, before pipeline or policies changed" if trust.outdated else shown


CURVE_NAME: Final = "nlu_model_comparison_graph"

_COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette; with more pipelines the markers distinguish them."""

_MARKS: Final = "osD^vPX*"


class CurvePoint(Struct, frozen=True):
    """A score's mean and spread over the runs, at one size of the training data (sentences, or story steps)."""

    sentences: int
    mean: float
    deviation: float


def results_json(scores: Mapping[str, Sequence[Sequence[float]]]) -> Rendered:
    """Return Rasa's file: for each pipeline, for each run, the weighted F1 at each percentage."""
    return as_json("results.json", {name: [list(run) for run in runs] for name, runs in scores.items()})


def figures_json(figures: Mapping[str, Any]) -> Rendered:
    """Return what Rasa's file has no place for: seeds, sizes, tests, slopes."""
    return as_json("nlu_comparison.json", dict(figures))


class CurveTexts(Struct, frozen=True):
    """A curve: the name of its files, its axes and its title."""

    name: str = CURVE_NAME
    x: str = "training sentences"
    y: str = "weighted F1 of intents on the test sentences"
    title: str = "Pipelines compared: mean and standard deviation over the runs"


NLU_CURVE: Final = CurveTexts()
CORE_CURVE: Final = CurveTexts(
    "core_model_comparison_graph",
    "story and rule steps trained on",
    "test stories that are right",
    "Policies compared: mean and standard deviation over the runs",
)


def draw_curves(curves: Mapping[str, Sequence[CurvePoint]], texts: CurveTexts = NLU_CURVE) -> list[Rendered]:
    """Draw the mean score with its spread over the size of the training data, as PDF (Rasa's name) and PNG."""
    figure = figure_class()(figsize=(7.5, 5), dpi=110)
    axes = figure.add_subplot()
    for number, (name, points) in enumerate(curves.items()):
        axes.errorbar(
            [point.sentences for point in points],
            [point.mean for point in points],
            yerr=[point.deviation for point in points],
            color=_COLOURS[number % len(_COLOURS)],
            marker=_MARKS[number % len(_MARKS)],
            capsize=3,
            label=text(name, 40).lstrip("_"),
        )
    axes.set_xlabel(texts.x)
    axes.set_ylabel(texts.y)
    axes.set_title(texts.title, fontsize=10, loc="left")
    axes.grid(color="#e0e0e0", linewidth=0.5)
    axes.legend()
    return [
        Rendered(f"{texts.name}.pdf", "application/pdf", saved(figure, "pdf")),
        Rendered(f"{texts.name}.png", "image/png", saved(figure, "png")),
    ]
