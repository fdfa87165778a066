"""JUnit XML as GitHub's reporters, GitLab and Jenkins read it.

A suite for each evaluation. A case for each code of findings in a file, each intent, story, end-to-end case, batch case
and gate: a wrong sentence within an intent whose gates pass is not a failure, it is listed in the intent's output.

Readers put the files of several assistants together and take cases of equal names for the same test:
publish-unit-test-result-action and GitLab by ``classname`` and ``name``, action-junit-report by both and ``file``,
test-reporter and Jenkins group by ``classname``, Jenkins at its last dot. So a ``classname`` holds the assistant (its
path in the repository, else its name), the evaluation and, if a test belongs to one file, that file; a name occurs
once in its class, whatever the order of the report.

``file`` is relative to the repository and so is every path in a text; ``line`` is at least 1, and omitted
if a file is meant as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from junit_xml import TestCase

from turncheck.render.junit_lines import LONGEST_LINE
from turncheck.render.junit_suites import LONGEST_CLASS, Suite, SuiteWriter, start_tag
from turncheck.render.rendered import Rendered
from turncheck.render.sinks.xml import attribute, element

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from turncheck.comparison.model import Comparison
    from turncheck.comparison.verdict import Verdict
    from turncheck.render.assistants import Assistants, Broken
    from turncheck.render.links import Links
    from turncheck.report.model import Report
    from turncheck.settings.options import JunitFlavour


def render_junit(
    report: Report,
    comparison: Comparison | None,
    verdict: Verdict,
    links: Links,
    flavour: JunitFlavour = "common",
) -> Rendered:
    """Render ``junit.xml``: UTF-8, always well-formed, whatever the report holds.

    ``common`` gives each case the attributes ``file`` and ``line``, which publish-unit-test-result-action,
    action-junit-report, test-reporter (``phpunit-junit``) and GitLab read and Jenkins' own ``junit`` step takes.
    ``xunit`` is valid by junit-10.xsd of Jenkins' xunit plugin, which refuses both: the text of a case that failed
    begins with its place instead.
    """
    del comparison  # one signature for all renderers; JUnit has no deltas
    return Rendered("junit.xml", "application/xml", lambda: _document(_suites(report, verdict, links, flavour)))


def render_junit_of_all(assistants: Assistants, flavour: JunitFlavour = "common") -> Rendered:
    """Render one ``junit.xml`` of several assistants; one that could not be measured is a test in error."""

    def pieces() -> Iterator[bytes]:
        of_runs = (_suites(run.report, run.verdict, run.links, flavour) for run in assistants.runs)
        return _document([*map(_not_measured, assistants.broken), *(suite for suites in of_runs for suite in suites)])

    return Rendered("junit.xml", "application/xml", pieces)


def _suites(report: Report, verdict: Verdict, links: Links, flavour: JunitFlavour) -> list[Suite]:
    writer = SuiteWriter(report, flavour, links)
    return [
        *writer.validation(),
        *writer.intents(verdict),
        *writer.stories(),
        *writer.end_to_end(),
        *writer.batch(),
        *writer.skipped(),
        writer.gates(verdict),
    ]


def _not_measured(one: Broken) -> Suite:
    case = TestCase("measured", attribute(f"{one.name}.run", LONGEST_CLASS))
    case.add_error_info(message=attribute(one.why, LONGEST_LINE), output=element(one.why))
    return Suite(attribute(f"{one.name} run", LONGEST_CLASS), [case], {}, 0.0)


def _document(suites: Sequence[Suite]) -> Iterator[bytes]:
    """Put the suites below a root with their sums; ``skipped`` and ``disabled`` are not the root's in any schema."""
    counts = {count: str(sum(suite.counts[count] for suite in suites)) for count in ("tests", "failures", "errors")}
    root = start_tag("testsuites", {**counts, "time": f"{sum(suite.seconds for suite in suites):.3f}"})
    yield f'<?xml version="1.0" encoding="utf-8"?>\n{root}'.encode()
    for suite in suites:
        yield from (piece.encode("utf-8", "backslashreplace") for piece in suite.pieces())
    yield b"\n</testsuites>\n"
