"""The situations of the table in docs/gates.md; write it anew with: python tests/unit/gate_situations.py"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from report_builder import BASE_COMMIT, case, finding, report, story, with_changes

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Missing, Present, Unreachable, Unreadable
from turncheck.gates import table
from turncheck.gates.table import AUTO, FAIL_ON, GATES
from turncheck.messages.finding import Location
from turncheck.render.links import Links
from turncheck.render.markdown import render_comment
from turncheck.render.wording.gates import judge
from turncheck.report.consistency import CheckedTest, Consistency, FlowSteps, InconsistentTest
from turncheck.report.evaluations import EVALUATIONS
from turncheck.report.model import CaseResult, GateSettings, HowRepeated, Repeats, Report, Skipped
from turncheck.run.skipping import skipped_by_fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turncheck.comparison.model import Baseline
    from turncheck.render.wording.verdict import GateResult, Verdict
    from turncheck.report.model import RepeatedOutcome, StoryResult

PAGE: Final = Path(__file__).parents[2] / "docs" / "gates.md"
START, END = "<!-- situations -->\n", "<!-- /situations -->"
_RULES: Final = {"require": "e2e", "threshold": "core.passed >= 2", "max-regression": "core.passed: 0"}
"""What those gates are about that have rules."""
COLUMNS: Final = tuple(f"{gate.name}: {_RULES[gate.name]}" if gate.name in _RULES else gate.name for gate in GATES)
EVERY_GATE: Final = GateSettings(
    fail_on=tuple(word for word in FAIL_ON if word not in {AUTO, table.NONE}),
    fail_on_warnings=True,
    require=(_RULES["require"],),
    thresholds=(_RULES["threshold"],),
    max_regression=(_RULES["max-regression"],),
)
ON_PULL_REQUESTS: Final = GateSettings(fail_on=("new-errors", "new-failures"))
BY_DEFAULT: Final = GateSettings()
_SIGNS: Final = {"passed": "✅", "failed": "❌", "not judged": "➖"}


@dataclass(frozen=True, slots=True)
class Situation:
    """What a run finds; ``base`` is what it is compared with."""

    name: str
    head: Report
    base: Baseline

    def sides(self, settings: GateSettings) -> tuple[Report, Baseline]:
        """Both sides, measured with these settings."""
        if not isinstance(self.base, Present):
            return _measured(self.head, settings), self.base
        return _measured(self.head, settings), replace(self.base, report=_measured(self.base.report, settings))

    def verdict(self, settings: GateSettings) -> Verdict:
        head, base = self.sides(settings)
        return judge(head, compare(head, base), settings)

    def title(self, settings: GateSettings) -> str:
        head, base = self.sides(settings)
        content = str(render_comment(head, compare(head, base), self.verdict(settings), Links()).content)
        return next(line for line in content.splitlines() if line.startswith("### ")).removeprefix("### ")


def _measured(made: Report, settings: GateSettings) -> Report:
    """A report of this version, which says what is suppressed."""
    data = made.validation
    if data is not None and data.suppressed is None:
        data = replace(data, suppressed=())
    return with_changes(made, settings=settings, validation=data)


def base(made: Report) -> Baseline:
    return Present(with_changes(made, source=replace(made.source, commit=BASE_COMMIT)), "artifact")


def ancestor(made: Report) -> Baseline:
    return Present(with_changes(made, source=replace(made.source, commit=BASE_COMMIT)), "ancestor", BASE_COMMIT)


def skipped(*names: str) -> list[CaseResult]:
    reason = "no action server answers at http://localhost:5055/webhook"
    lacking = {"outcome": "skipped", "passed": False, "reason": reason, "actions": {"action_pay": "missing"}}
    return [replace(case(name, "utter_a", line=3 * number), **lacking) for number, name in enumerate(names, 1)]


STORIES: Final = (
    story("order", "utter_a", line=1),
    story("pay", "utter_b", line=9),
    story("greet", "utter_c", line=20),
)
BROKEN: Final = (story("order", "utter_a!utter_b", line=1), *STORIES[1:])
MISHEARD: Final = (replace(BROKEN[0], as_written=True), *STORIES[1:])
CASES: Final = (case("user orders", "utter_a", line=3), case("user pays", "utter_b", line=6))
BROKEN_CASES: Final = (case("user orders", "utter_a!utter_b", line=3), CASES[1])
MISHEARD_CASES: Final = (replace(BROKEN_CASES[0], outcome="misunderstood", as_before=True), CASES[1])
FINE: Final = report(stories=STORIES, cases=CASES)
FAILING: Final = report(stories=BROKEN, cases=CASES)
MOVED: Final = (
    story("order", "utter_a", line=1, path="tests/test_orders.yml"),
    story("pay by card", "utter_b", line=9),
    story("greet", "utter_c", "utter_d", line=20),
)
STOPPED: Final = with_changes(report(stories=STORIES[:1]), stopped="the Rasa server does not answer any more")
NO_E2E: Final = with_changes(
    report(stories=STORIES), skipped=(Skipped(evaluation="e2e", reason="it cannot be run: no memory"),)
)

ERROR: Final = finding(
    "test-action-undefined", "A test names the response 'utter_b', which is not defined.", path=STORIES[1].location.path
)
DATA_ERROR: Final = report(stories=STORIES, cases=CASES, findings=[ERROR])
WARNED: Final = report(
    stories=STORIES, cases=CASES, findings=[finding("unused-intent", "The intent 'bye' is not used.", "warning")]
)
SUPPRESSED: Final = with_changes(FINE, validation=FINE.validation and replace(FINE.validation, suppressed=(ERROR,)))
FLOWS: Final = Consistency(
    flows=(FlowSteps(flow="order", location=Location("data/flows.yml", 2), steps=5, named=3),),
    slots=3,
    responses=4,
    tests=(CheckedTest(name="a large one", location=Location("tests/e2e.yml", 2), content="1"),),
)
NOTHING_GIVES: Final = InconsistentTest(
    name="a large one",
    location=Location("tests/e2e.yml", 2),
    lacks="response 'utter_b'",
    at=Location("tests/e2e.yml", 5),
)
INCONSISTENT: Final = with_changes(FINE, consistency=replace(FLOWS, inconsistent=(NOTHING_GIVES,)))
SYNTAX: Final = finding("yaml-syntax", "This is not YAML: did not find expected key.", path="data/nlu.yml", line=181)
UNREADABLE: Final = with_changes(
    report(findings=[SYNTAX]),
    skipped=tuple(
        skipped_by_fault(name, "the NLU data cannot be read completely", [SYNTAX]) for name in EVALUATIONS[2:4]
    ),
)

_RUNS: Final[Mapping[RepeatedOutcome, str]] = {"passed": "PPPP", "flaky": "FFPP", "unclear": "FPPPff"}


def repeated(*outcomes: RepeatedOutcome, stories: Sequence[StoryResult] = STORIES) -> Report:
    """A report whose end-to-end cases were run several times."""
    cases = [
        replace(
            case(f"question {number}", "utter_a!b" if outcome == "unclear" else "utter_a", line=3 * number),
            repeats=Repeats(runs=_RUNS[outcome], outcome=outcome, base="P" * 20),
            outcome="unclear" if outcome == "unclear" else "passed",
            reason=None if outcome == "passed" else f"{outcome}: some runs fail",
        )
        for number, outcome in enumerate(outcomes, 1)
    ]
    made = report(stories=stories, cases=cases)
    assert made.e2e is not None
    return with_changes(made, e2e=replace(made.e2e, repeats=HowRepeated(first=4, most=30, false_alarms=0.01)))


NONE: Final = Missing("no run of this workflow left a report of the base")
BAD: Final = Unreadable("the artifact is not a report of turncheck")
DOWN: Final = Unreachable("GitHub does not answer")

SITUATIONS: Final = (
    Situation("no base yet; nothing fails", FINE, NONE),
    Situation("no base yet; a test fails", FAILING, NONE),
    Situation("the base cannot be read; nothing fails", FINE, BAD),
    Situation("the base cannot be read; a test fails", FAILING, BAD),
    Situation("the host does not answer; nothing fails", FINE, DOWN),
    Situation("the host does not answer; a test fails", FAILING, DOWN),
    Situation("only an ancestor of the base was measured; nothing fails", FINE, ancestor(FINE)),
    Situation("only an ancestor of the base was measured; a test newly fails", FAILING, ancestor(FINE)),
    Situation(
        "the base did not run its end-to-end cases; one of them fails",
        report(stories=STORIES, cases=BROKEN_CASES),
        base(NO_E2E),
    ),
    Situation("tests are gone", report(stories=STORIES[:1], cases=CASES[:1]), base(FINE)),
    Situation("tests were moved, renamed, edited", report(stories=MOVED, cases=CASES), base(FINE)),
    Situation(
        "a test is skipped, on the base too",
        report(stories=STORIES, cases=[CASES[0], *skipped("user pays")]),
        base(report(stories=STORIES, cases=[CASES[0], *skipped("user pays")])),
    ),
    Situation(
        "a test is skipped that the base ran",
        report(stories=STORIES, cases=[CASES[0], *skipped("user pays")]),
        base(FINE),
    ),
    Situation(
        "all end-to-end cases are skipped, on the base too",
        report(stories=STORIES, cases=skipped("user orders", "user pays")),
        base(report(stories=STORIES, cases=skipped("user orders", "user pays"))),
    ),
    Situation("no base yet; all tests are skipped", report(cases=skipped("user orders", "user pays")), NONE),
    Situation("a test fails, on the base too", FAILING, base(FAILING)),
    Situation("a test newly fails", FAILING, base(FINE)),
    Situation("an error in the data is new", DATA_ERROR, base(FINE)),
    Situation("an error in the data, on the base too", DATA_ERROR, base(DATA_ERROR)),
    Situation("a warning in the data is new", WARNED, base(FINE)),
    Situation("a warning in the data, on the base too", WARNED, base(WARNED)),
    Situation("an error in the data is newly suppressed", SUPPRESSED, base(DATA_ERROR)),
    Situation("a test of flows expects what nothing can give", INCONSISTENT, NONE),
    Situation("a file cannot be read", UNREADABLE, base(FINE)),
    Situation("a story is misunderstood", report(stories=MISHEARD, cases=CASES), base(FINE)),
    Situation("an end-to-end case is misunderstood", report(stories=STORIES, cases=MISHEARD_CASES), base(FINE)),
    Situation(
        "an end-to-end case is misunderstood, on the base too",
        report(stories=STORIES, cases=MISHEARD_CASES),
        base(report(stories=STORIES, cases=MISHEARD_CASES)),
    ),
    Situation("a repeated case is unclear", repeated("unclear", "passed"), base(repeated("passed", "passed"))),
    Situation("every repeated case is unclear", repeated("unclear", stories=()), base(repeated("passed", stories=()))),
    Situation(
        "no repeated case regressed, but more runs fail over all of them",
        repeated("flaky", "flaky", "flaky", "flaky"),
        base(repeated("passed", "passed", "passed", "passed")),
    ),
    Situation("the engine fails halfway", STOPPED, base(FINE)),
)


def sign(gates: tuple[GateResult, ...], name: str) -> str:
    gate = next((one for one in gates if one.name == name), None)
    if gate is None:
        return ""
    if gate.follows:
        return "↑"
    return "❌ ➖" if gate.fails and gate.outcome == "not judged" else _SIGNS[gate.outcome]


def tables() -> str:
    """Return both tables: what each gate says, and what is above the comment."""
    rows = ["| situation | " + " | ".join(f"`{name}`" for name in COLUMNS) + " |", "|---|" + ":---:|" * len(COLUMNS)]
    for situation in SITUATIONS:
        gates = situation.verdict(EVERY_GATE).gates
        rows.append(f"| {situation.name} | " + " | ".join(sign(gates, name) for name in COLUMNS) + " |")
    rows += [
        "",
        "| situation | `fail-on: new-errors, new-failures` | `fail-on: errors, test-failures` |",
        "|---|---|---|",
    ]
    for situation in SITUATIONS:
        told = (
            f"{situation.title(settings).partition(':')[0]}: {situation.verdict(settings).summary}"
            for settings in (ON_PULL_REQUESTS, BY_DEFAULT)
        )
        rows.append(f"| {situation.name} | " + " | ".join(told) + " |")
    return "\n".join(rows) + "\n"


def with_tables(page: str) -> str:
    before, _, rest = page.partition(START)
    return f"{before}{START}{tables()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
