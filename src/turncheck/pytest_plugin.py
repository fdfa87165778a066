"""``pytest --turncheck BOT``: the tests and gates of an assistant as items of pytest, each with its file and line.

Nothing of turncheck is imported unless the option is given. See docs/plugins.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

    from turncheck.api import Outcome

_KINDS = {"core": "story", "e2e": "case", "batch": "batch case"}
"""The suites of JUnit whose cases become items."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("turncheck", "assistants, measured by turncheck")
    group.addoption(
        "--turncheck",
        action="append",
        default=[],
        metavar="DIR",
        help="an assistant whose stories, cases and gates are tests; several times for several",
    )
    group.addoption(
        "--turncheck-confidence",
        type=float,
        metavar="MIN",
        help="each test sentence is a test, too: understood correctly, with at least this confidence (0 to 1)",
    )
    group.addoption(
        "--turncheck-set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a setting of `turncheck run`, such as engine=rasa; baseline is none unless it is set",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Take part only if an assistant is named; then pytest's own tests only run if they are named as well."""
    if not config.getoption("turncheck"):
        if config.getoption("turncheck_confidence") is not None or config.getoption("turncheck_set"):
            raise pytest.UsageError("--turncheck-confidence and --turncheck-set need an assistant: --turncheck DIR")
        return
    confidence = config.getoption("turncheck_confidence")
    if confidence is not None and not 0 <= confidence <= 1:
        raise pytest.UsageError(f"--turncheck-confidence: expected a number from 0 to 1, not {confidence:g}")
    config.pluginmanager.register(_Assistants(), "turncheck-assistants")
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = []


class _Assistants:
    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Measure the assistants, and add their items before any are deselected (-k)."""
        settings = dict(_setting(one) for one in config.getoption("turncheck_set"))
        for project in config.getoption("turncheck"):
            turncheck_items = list(_items_of(session, project, settings, config.getoption("turncheck_confidence")))
            items += turncheck_items
            report = pytest.CollectReport(project, "passed", None, turncheck_items)  # type: ignore[arg-type] # Items are nodes
            config.hook.pytest_collectreport(report=report)  # so that they are counted


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise pytest.UsageError(f"--turncheck-set: expected NAME=VALUE, not {text!r}")
    return name.replace("-", "_"), value


def _items_of(
    session: pytest.Session, project: str, settings: dict[str, str], confidence: float | None
) -> Iterator[TurncheckItem]:
    from turncheck import api  # pays only who names an assistant
    from turncheck.messages.plain_text import plain

    given: dict[str, Any] = {"baseline": "none", **settings}
    try:
        outcome = api.run(project, **given)
    except api.UserError as error:
        raise pytest.UsageError(f"turncheck: {project}: {error}") from None
    if outcome.report.stopped:
        raise pytest.UsageError(f"turncheck: {project}: {outcome.report.stopped}")
    folder = Path(project) if Path(project).is_dir() else Path(project).parent
    cases = [*_cases(outcome, folder), *_gates(outcome, folder), *_sentences(outcome, folder, confidence)]
    files = {path: _AssistantFile.from_parent(session, path=path) for path in {case["path"] for case in cases}}
    seen: dict[tuple[Path, str], int] = {}
    for case in cases:
        name = plain(case["name"]).replace("\n", " ")  # texts of a project, which pytest prints as they are
        number = seen[case["path"], name] = seen.get((case["path"], name), 0) + 1
        name = name if number == 1 else f"{name} ({number})"
        item: TurncheckItem = TurncheckItem.from_parent(files[case["path"]], name=name)
        item.line, item.failure = case["line"], plain(case["failure"])
        item.skip_reason = None if case["skipped"] is None else plain(case["skipped"])
        yield item


def _cases(outcome: Outcome, folder: Path) -> Iterator[dict[str, Any]]:
    """The cases of the JUnit that a run writes: the same tests, under the same names, with the same words."""
    from xml.etree import ElementTree as ET

    from turncheck.render.junit import render_junit

    project = outcome.report.project.root or outcome.report.project.name
    junit = render_junit(outcome.run.report, outcome.comparison, outcome.verdict, outcome.links)
    for suite in ET.fromstring(junit.encoded):  # noqa: S314 - made here
        kind = _KINDS.get(suite.get("name", "").removeprefix(f"{project} ").partition(" ")[0])
        for case in suite.iter("testcase") if kind else ():
            skipped = case.find("skipped")
            yield {
                "path": _path(case.get("file"), outcome, folder),
                "line": int(case.get("line", "1")),
                "name": f"{kind}: {case.get('name')}",
                "failure": _failure(case),
                "skipped": None if skipped is None else skipped.get("message", ""),
            }


def _gates(outcome: Outcome, folder: Path) -> Iterator[dict[str, Any]]:
    """The gates, all of them: what is found in the data, and intents as a whole, are judged by nothing else here."""
    for gate in outcome.verdict.gates:
        place = gate.location
        causes = [f"{cause.location}: {cause.what}" if cause.location else cause.what for cause in gate.failed_by]
        yield {
            "path": _path(place.path if place else None, outcome, folder),
            "line": (place.line if place else None) or 1,
            "name": f"gate: {gate.name}",
            "failure": "\n".join((gate.reason, *causes)) if gate.fails else "",
            "skipped": gate.reason if gate.outcome == "not judged" and not gate.fails else None,
        }


def _failure(case: Element) -> str:
    found = next((one for one in case if one.tag in {"failure", "error"}), None)
    return "" if found is None else "\n".join(filter(None, (found.get("message"), (found.text or "").strip())))


def _path(file: str | None, outcome: Outcome, folder: Path) -> Path:
    root = outcome.report.project.root
    inside = (file or outcome.report.project.file or "").removeprefix(f"{root}/" if root else "")
    return (folder / inside).absolute()


def _sentences(outcome: Outcome, folder: Path, confidence: float | None) -> Iterator[dict[str, Any]]:
    """The test sentences, if there is a confidence that they must have."""
    nlu = outcome.report.nlu
    for prediction in nlu.predictions if nlu is not None and confidence is not None else ():
        understood, sure = prediction.predicted.intent or "nothing", prediction.predicted.confidence
        wrong = (
            ""
            if prediction.correct
            else f"expected {prediction.expected.intent or 'no intent'}, got {understood} ({sure:.2f})"
        )
        unsure = f"understood as {understood} with a confidence of {sure:.2f}, below {confidence:g}"
        yield {
            "path": _path(prediction.location.path, outcome, folder),
            "line": prediction.location.line or 1,
            "name": f"sentence: {prediction.text}",
            "failure": wrong or (unsure if confidence is not None and sure < confidence else ""),
            "skipped": None,
        }


class _AssistantFile(pytest.File):
    """A file of an assistant with tests in it. They are made from a run, not from the file."""

    def collect(self) -> list[pytest.Item]:
        """Nothing more."""
        return []


class TurncheckError(Exception):
    """A test of an assistant failed, or a gate."""


class TurncheckItem(pytest.Item):
    """A story, a case, a sentence or a gate. It was measured when it was collected; running it says how it ended."""

    line = 1
    failure = ""
    skip_reason: str | None = None

    def runtest(self) -> None:
        """Say how it ended."""
        if self.failure:
            raise TurncheckError(self.failure)
        if self.skip_reason is not None:
            pytest.skip(self.skip_reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what failed and where, without a traceback of ours."""
        if isinstance(excinfo.value, TurncheckError):
            return f"{self.path}:{self.line}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Its file and line (from 0, as pytest counts)."""
        return self.path, max(self.line - 1, 0), self.name
