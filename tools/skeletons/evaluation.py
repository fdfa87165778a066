"""An evaluation, a metric, a gate."""

from __future__ import annotations

import re
from pathlib import Path

from tools.skeletons.skeleton import ROOT, SOURCE, Insertion, Skeleton, test_file


def evaluation(name: str) -> Skeleton:
    word = name.replace("-", "_")
    constant, section = word.upper(), "".join(map(str.capitalize, word.split("_")))
    kind = f'''\
"""TODO: what is measured, in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turncheck.evaluations.kind import EvaluationKind, metric_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import Report


def _figures(report: Report) -> Iterator[tuple[str, Any]]:
    if report.{word} is not None:
        yield "{word}.failed", report.{word}.failed


{constant}: Final = EvaluationKind(
    name="{word}",
    on_request=True,  # TODO: or by default, where a project has tests for it
    has_results=lambda report: report.{word} is not None,
    metrics=(
        metric_named(r"{word}\\.failed", "{word}", "lower", "counted", "count", label="TODO: what failed"),
    ),
    figures=_figures,
    examples=("{word}.failed",),
    not_run="TODO: said where there are no results",
    judges="TODO: what it judges",
)
'''
    measure = f'''\
"""How it is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.report.{word} import {section}

if TYPE_CHECKING:
    from turncheck.run.under_way import RunInProgress


def measure(run: RunInProgress) -> {section} | None:
    """TODO: measure it with ``run.engines``; or ``run.skip()`` with the reason why not."""
    if (why_not := run.why_not("{word}")) is not None:
        run.skip(why_not)
        return None
    with run.screen.step("{word}", "TODO: what takes time"):
        return run.as_single_unit("{word}", lambda: {section}(failed=0))
'''
    of_report = f'''\
"""TODO: the report's section on it."""

from __future__ import annotations

from turncheck.report.part import Count, Part


class {section}(Part, frozen=True, kw_only=True):
    """TODO: what was measured."""

    failed: Count
    """TODO: how many failed."""
'''
    folder, model = SOURCE / "evaluations", SOURCE / "report" / "model.py"
    field = f'    {word}: {section} | None = None\n    """TODO: what was measured; ``None`` if not requested."""\n'
    return Skeleton(
        {
            folder / word / "__init__.py": kind,
            folder / word / "measure.py": measure,
            SOURCE / "report" / f"{word}.py": of_report,
            **test_file(f"evaluation_{word}", f"The evaluation `{name}`.", "it measures", room="evaluations"),
        },
        (
            Insertion(
                folder / "kinds.py",
                r"from turncheck\.evaluations\.validate",
                f"from turncheck.evaluations.{word} import {constant}\n",
            ),
            Insertion(folder / "kinds.py", r"        STRENGTH,", f"        {constant},\n"),
            Insertion(SOURCE / "report" / "evaluations.py", r'    "strength",', f'    "{word}",\n'),
            Insertion(model, r"from turncheck\.report\.trust", f"from turncheck.report.{word} import {section}\n"),
            Insertion(model, r"    coverage: dict\[str, KindCoverage\]", field),
        ),
        (
            "What an engine lacks for it, if anything: the field of `Capabilities`, as `capability` of its kind.",
            "For shards: how its section is written, in `evaluations/written_answers.py`.",
            "For a section of the comment: `render/content.py`; for a row at the top: `render/main_metrics.py`.",
            "Write the schemas: python tools/write_schemas.py; name its metrics in the table of docs/gates.md.",
        ),
    )


def metric(name: str) -> Skeleton:
    section = name.partition(".")[0]
    if section == name:
        raise SystemExit("expected SECTION.NAME, such as nlu.longest_sentence")
    pattern = re.escape(name).replace("\\-", "-")
    word = re.sub(r"\W", "_", name)
    kind = {"validation": "validate"}.get(section, section)
    metrics = SOURCE / "evaluations" / kind / "__init__.py"
    if not (ROOT / metrics).exists():
        raise SystemExit(f"there is no evaluation '{section}': see {SOURCE / 'evaluations'}")
    row = f'        metric_named(r"{pattern}", "{kind}", "neither", "counted"),  # TODO: better? noise?\n'
    value = f'    yield "{name}", None  # TODO: its value in this report\n'
    return Skeleton(
        test_file(f"metric_{word}", f"The metric `{name}`.", "it", room="evaluations"),
        (
            Insertion(metrics, r"    metrics=\(", row, after=True),
            Insertion(metrics, r"def _figures\(report", value, after=True),
        ),
        (
            "What the report has to hold for it: a field of its section in `report/`, computed below `evaluations/`.",
            "For a row in the comment: a `label` here, its name in `_ROWS` of `render/main_metrics.py`.",
            "Write the schemas: python tools/write_schemas.py; name it in the table of docs/gates.md.",
        ),
    )


def gate(name: str) -> Skeleton:
    word = name.replace("-", "_")
    row = f"""\
    Gate(
        name="{name}",
        about=("warnings",),  # TODO
        rank=10,  # TODO
        judged_by="findings.judge_new",  # TODO
        new=True,  # TODO
        manual="TODO: what fails the run, as docs/gates.md has it",
    ),
"""
    situations = Path("tests", "unit", "gate_situations.py")
    situation = f'    # TODO: Situation("what makes {name} fail", report(…), base(…)),\n'
    return Skeleton(
        test_file(f"gate_{word}", f"The gate `{name}`.", "it", room="gates"),
        (
            Insertion(SOURCE / "gates" / "table.py", r"    SOMETHING_WAS_TESTED,", row),
            Insertion(situations, r'    Situation\("a file cannot be read"', situation),
        ),
        (
            "If no function in `gates/` judges it: one that does, with its reasons (`Why`).",
            "What is said for a new reason: the module of that name in `render/wording/reasons/`.",
            "A section in docs/result.md: what to do if it fails.",
            "Write the tables: python tools/make_reference.py; python tests/unit/gate_situations.py",
        ),
    )
