"""The metrics of a report as OpenMetrics text, which GitLab shows in a merge request beside those of the target branch.

Source: the OpenMetrics 1.0 specification. GitLab compares values as text, so they are written with a fixed number of
digits.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turncheck.render.rendered import Rendered
from turncheck.render.sinks.plain import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turncheck.comparison.judgement import MetricDelta
    from turncheck.comparison.model import Comparison
    from turncheck.render.assistants import Assistants
    from turncheck.report.model import Report

FILE_NAME: Final = "metrics.txt"
_NAME: Final = re.compile(r"(?P<before>[^\[\]]*)(?:\[(?P<of>.*)\](?P<behind>[^\[\]]*))?", re.DOTALL)
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "#": "%23"}
"""What OpenMetrics escapes, and ``#``: GitLab takes the rest of a line for a comment, also within quotes."""


def render_open_metrics(report: Report, comparison: Comparison) -> Rendered:
    """Render every metric that has a value: one gauge each, ``turncheck_nlu_intents_f1{assistant="bots/pizza"}``.

    The subject of a metric (an intent, a suite) is its label ``of``.
    """
    return _rendered([(report, comparison)])


def render_open_metrics_of_all(assistants: Assistants) -> Rendered:
    """Render the metrics of several assistants, distinguished by labels."""
    return _rendered([(run.report, run.comparison) for run in assistants.runs])


def _rendered(measured: Sequence[tuple[Report, Comparison]]) -> Rendered:
    families: dict[str, dict[str, str]] = {}
    for report, comparison in measured:
        assistant = report.project.root or report.project.name
        for metric in comparison.metrics:
            match = _NAME.fullmatch(metric.name)
            if metric.value is None or match is None:
                continue
            name = _name(f"{match['before']}{match['behind'] or ''}")
            labels = _labels(assistant, match["of"])
            families.setdefault(name, {}).setdefault(labels, _value(metric))
    lines = []
    for name, samples in families.items():
        lines.append(f"# TYPE {name} gauge")
        lines += [f"{name}{labels} {value}" for labels, value in samples.items()]
    content = "\n".join([*lines, "# EOF"]) + "\n"
    return Rendered(FILE_NAME, "application/openmetrics-text; version=1.0.0; charset=utf-8", content)


def _name(metric: str) -> str:
    return "turncheck_" + re.sub(r"[^A-Za-z0-9_]+", "_", metric).strip("_")


def _labels(assistant: str, of: str | None) -> str:
    given = {"assistant": assistant, **({"of": of} if of is not None else {})}
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in given.items()) + "}"


def _escaped(text: str) -> str:
    return re.sub(r'[\\"\n#]', lambda match: _ESCAPES[match[0]], one_line(text, 200))


def _value(metric: MetricDelta) -> str:
    value = metric.value or 0.0
    return f"{value:.4f}" if metric.kind == "score" else f"{value:.12g}"
