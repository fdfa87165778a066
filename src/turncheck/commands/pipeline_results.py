"""What a comparison of pipelines says in the end: figures, curves and advice."""

from __future__ import annotations

from collections import defaultdict
from math import fsum, sqrt
from typing import TYPE_CHECKING, Any

from turncheck.evaluation.pipelines import WORTHWHILE, Advice, RunPlan, Score
from turncheck.messages.plurals import count
from turncheck.publishing.files import write_all
from turncheck.render.nlu_comparison import CurvePoint, draw_curves, figures_json, results_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.commands.nlu_output import NluOutput
    from turncheck.process.screen import Screen


def write_results(
    plans: Sequence[RunPlan],
    scores: Sequence[Score],
    advice: Advice,
    output: NluOutput,
    screen: Screen,
    *,
    alike: Sequence[str] = (),
) -> None:
    """Write figures, curves and advice; ``alike`` says which pipelines no figure tells apart."""
    table: dict[str, list[list[float]]] = {}
    for score in scores:
        rows = table.setdefault(score.pipeline, [[] for _ in plans])
        rows[score.run - 1].append(score.f1)
    files = [results_json(table), figures_json(_figures(plans, scores, advice, alike))]
    if output.plots:
        with screen.step("plots", "Drawing"):
            files += draw_curves(_curves(plans, scores))
    write_all(output.folder, files)
    screen.note(f"Results are in {output.folder}")


def _curves(plans: Sequence[RunPlan], scores: Sequence[Score]) -> dict[str, list[CurvePoint]]:
    by_point: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        by_point[score.pipeline][score.percentage].append(score.f1)
    sizes = {
        percentage: round(fsum(len(plan.included[percentage]) for plan in plans) / len(plans))
        for percentage in plans[0].included
    }
    curves = {}
    for name, points in by_point.items():
        curve = []
        for percentage, values in points.items():
            mean = fsum(values) / len(values)
            deviation = sqrt(fsum((value - mean) ** 2 for value in values) / len(values))
            curve.append(CurvePoint(sizes[percentage], mean, deviation))
        curves[name] = sorted(curve, key=lambda point: point.sentences)
    return curves


def _figures(plans: Sequence[RunPlan], scores: Sequence[Score], advice: Advice, alike: Sequence[str]) -> dict[str, Any]:
    return {
        "runs": [
            {
                "run": plan.number,
                "seed": plan.seed,
                "test": len(plan.test),
                "training": {str(percentage): len(kept) for percentage, kept in plan.included.items()},
            }
            for plan in plans
        ],
        "failed": [
            {"config": score.pipeline, "run": score.run, "percentage": score.percentage, "reason": score.failed}
            for score in scores
            if score.failed
        ],
        "pipelines": [
            {
                "config": name,
                "mean_f1": advice.mean_f1[name],
                "deviation": advice.deviation[name],
                "gain_from_twice_the_data": None
                if (curve := advice.curves[name]) is None
                else {"f1": curve.slope, "low": curve.low, "high": curve.high},
            }
            for name in advice.pipelines
        ],
        "best_against_second": None
        if advice.p_value is None
        else {"p_value": advice.p_value, "better": advice.better, "worse": advice.worse},
        "advice": advice_text(advice, alike),
    }


def advice_text(advice: Advice, alike: Sequence[str] = ()) -> list[str]:
    """Return the figures and what to do, line by line; ``alike`` says which pipelines no figure tells apart."""
    data = (
        f"{advice.left_out} % of the training sentences left out" if advice.left_out else "all the training sentences"
    )
    lines = [f"With {data} (weighted F1 of intents, mean ± standard deviation over the runs):"]
    lines += [f"  {name}: {advice.mean_f1[name]:.3f} ± {advice.deviation[name]:.3f}" for name in advice.pipelines]
    lines += alike
    if advice.p_value is not None:
        best, second = advice.pipelines[0], advice.second
        counts = (
            f"it is right more often about {count(advice.better, 'sentence')}, less often about {advice.worse:,} "
            f"(sign test, p {'< 0.001' if advice.p_value < 0.001 else f'= {advice.p_value:.3f}'})"
        )
        if second is not None and advice.mean_f1[best] == advice.mean_f1[second]:
            lines.append(f"{best} and {second} are equally good: {counts}. Take the simpler one.")
        elif advice.is_noise:
            lines.append(f"{best} is ahead of {second}, but that may be noise: {counts}. Take the simpler one.")
        else:
            lines.append(f"Take {best}. Its lead over {second} is not noise: {counts}.")
    for name in advice.pipelines:
        curve = advice.curves[name]
        if curve is None:
            lines.append(
                f"Whether more data would help {name} cannot be said: it takes several --percentages and fits."
            )
            continue
        gain = f"twice the sentences bring {curve.slope:+.3f} F1 (95 %: {curve.low:+.3f} to {curve.high:+.3f})"
        if curve.low > WORTHWHILE:
            lines.append(f"More data would help {name}: {gain}.")
        elif curve.high < WORTHWHILE:
            lines.append(f"More data would hardly help {name}: {gain}.")
        else:
            lines.append(f"Whether more data would help {name} is open: {gain}.")
    return lines
