"""Everything that the page's script shows, made only from report, comparison and verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.render.case_keys import CaseKeys
from turncheck.render.page.conversations import conversations
from turncheck.render.page.index import Files, Labels
from turncheck.render.page.model import Assistant, Coverage, CoverageItem, Finding, NotRun, Replaced
from turncheck.render.page.sentences import confusions, intent_rows, sentence_columns, threshold_of
from turncheck.render.rooted import Rooted, base_places

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.comparison.model import Comparison
    from turncheck.render.links import Links
    from turncheck.report.model import Report


def assistant_data(
    report: Report, comparison: Comparison, links: Links, *, slug: str, manual: Mapping[str, str]
) -> Assistant:
    """Return the data of one assistant.

    Args:
        slug: distinguishes it from the others on the page, in addresses.
        manual: what the manual says of a finding, by its code.
    """
    compared = comparison if comparison.judged else None
    files, labels = Files(report.project.root, links), Labels()
    rooted = Rooted(report, also=base_places(compared))
    sentences, training = sentence_columns(report.nlu, compared, files, labels, keys=CaseKeys(report).sentences)
    confused, base_confused = confusions(report.nlu, labels), _base_confusions(compared, labels)
    intents = intent_rows(report.nlu, compared, labels)
    found = _findings(report, compared, files, rooted)
    return Assistant(
        slug=slug,
        name=report.project.name or report.project.root or "assistant",
        compared=compared is not None,
        intents=intents,
        confusions=confused,
        base_confusions=base_confused,
        training=training,
        sentences=sentences,
        threshold=threshold_of(report.nlu),
        conversations=conversations(report, compared, files),
        findings=found,
        manual={code: manual[code] for code in sorted({one.code for one in found}) if code in manual},
        coverage=_coverage(report, compared, files),
        replaced=[
            Replaced(component=one.component, used=one.used, reason=one.reason)
            for one in (report.engine.substitutions if report.engine else ())
        ],
        not_run=[
            NotRun(what=f"part of {one.evaluation}" if one.part else one.evaluation, reason=rooted.text(one.reason))
            for one in report.skipped
        ],
        left_out=[],
        files=files.listed,
        labels=labels.listed,
    )


def _base_confusions(compared: Comparison | None, labels: Labels) -> list[tuple[int, int, int]]:
    return [
        (labels.number(one.expected), labels.number(one.predicted), one.count)
        for one in (compared.base_confusions if compared else ())
    ]


def _findings(report: Report, compared: Comparison | None, files: Files, rooted: Rooted) -> list[Finding]:
    new = {(one.code, one.message, one.location) for one in (compared.new_findings if compared else ())}
    return [
        Finding(
            code=one.code,
            severity=one.severity,
            message=rooted.text(one.message),
            hint=rooted.text(one.hint),
            place=files.place(one.location),
            others=[files.place(place) for place in one.others],
            new=(one.code, one.message, one.location) in new,
        )
        for one in (report.validation.findings if report.validation else ())
    ]


def _coverage(report: Report, compared: Comparison | None, files: Files) -> list[Coverage]:
    changed = {(one.kind, one.name): one.change for one in (compared.changed_items if compared else ())}
    return [
        Coverage(
            kind=kind,
            items=[
                CoverageItem(
                    name=one.name,
                    place=files.place(one.location),
                    covered=one.covered,
                    change=changed.get((kind, one.name), ""),
                )
                for one in reached.items
            ],
            total=len(reached.items),
            reached=sum(one.covered for one in reached.items),
        )
        for kind, reached in report.coverage.items()
        if reached.items
    ]
