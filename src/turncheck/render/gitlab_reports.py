"""GitLab's reports beside JUnit: code quality, which a merge request shows at its lines, and metrics.

Source: "Code Quality report format" in GitLab's documentation. An entry needs ``description``, ``check_name``,
``fingerprint``, ``severity`` and ``location`` with ``path`` and ``lines.begin``; of those with equal fingerprints only
the first is shown, and one that the base has too is not new.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.finding import Location
from turncheck.messages.plain_text import one_line
from turncheck.render.annotations import LEVELS, Level, Remark, find_remarks
from turncheck.render.links import repository_path
from turncheck.render.rendered import Rendered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.comparison.metrics import MetricDelta
    from turncheck.render.assistants import Assistants
    from turncheck.report.model import Report


CODE_QUALITY_FILE: Final = "gl-code-quality-report.json"
_SEVERITIES: Final[Mapping[Level, str]] = {"error": "major", "warning": "minor", "notice": "info"}
_LONGEST: Final = 1_000


def render_code_quality(assistants: Assistants) -> Rendered:
    """Render everything to report at lines, worst first; what belongs to no file is at ``turncheck.yml``."""
    remarks = [(run.report, remark) for run in assistants.runs for remark in find_remarks(run.report, run.comparison)]
    seen: Counter[str] = Counter()
    worst_first = sorted(remarks, key=lambda remark: LEVELS.index(remark[1].level))
    entries = [_entry(report, remark, seen) for report, remark in worst_first]
    content = json.dumps(entries, ensure_ascii=False, indent=2) + "\n"
    return Rendered(CODE_QUALITY_FILE, "application/json", content)


def _entry(report: Report, remark: Remark, seen: Counter[str]) -> dict[str, Any]:
    path = repository_path(report.project.root, remark.location) if remark.location.path else None
    elsewhere = repository_path(report.project.root, Location(report.project.file or "turncheck.yml"))
    shown = remark.text if remark.title == remark.kind else f"{remark.title}: {remark.text}"
    return {
        "description": one_line(shown, _LONGEST) or remark.kind,
        "check_name": remark.kind,
        "fingerprint": _fingerprint(remark, path or report.project.root, seen),
        "severity": _SEVERITIES[remark.level],
        "location": {
            "path": path or elsewhere or "turncheck.yml",
            "lines": {"begin": max(1, remark.location.line or 1) if path else 1},
        },
    }


def _fingerprint(remark: Remark, path: str, seen: Counter[str]) -> str:
    """Fingerprint that survives moved lines and changed confidences; a number distinguishes repetitions in a file."""
    identity = "\0".join((remark.kind, path, remark.subject))
    seen[identity] += 1
    numbered = f"{identity}\0{seen[identity]}" if seen[identity] > 1 else identity
    return hashlib.sha256(numbered.encode("utf-8", "replace")).hexdigest()[:32]


# The metrics of a report as OpenMetrics text, which GitLab shows in a merge request beside those of the target branch.
#
# Source: the OpenMetrics 1.0 specification. GitLab compares values as text, so they are written with a fixed number of
# digits.

METRICS_FILE: Final = "metrics.txt"
_NAME: Final = re.compile(r"(?P<before>[^\[\]]*)(?:\[(?P<of>.*)\](?P<behind>[^\[\]]*))?", re.DOTALL)
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "#": "%23"}
"""What OpenMetrics escapes, and ``#``: GitLab takes the rest of a line for a comment, also within quotes."""


def render_open_metrics(assistants: Assistants) -> Rendered:
    """Render every metric that has a value: one gauge each, ``turncheck_nlu_intents_f1{assistant="bots/pizza"}``.

    The subject of a metric (an intent, a suite) is its label ``of``.
    """
    families: dict[str, dict[str, str]] = {}
    for run in assistants.runs:
        assistant = run.report.project.root or run.report.project.name
        for metric in run.comparison.metrics:
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
    return Rendered(METRICS_FILE, "application/openmetrics-text; version=1.0.0; charset=utf-8", content)


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
