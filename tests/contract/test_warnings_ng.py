"""SARIF by the rules of the reader that Jenkins' warnings-ng has: every remark is an issue, at its file and line."""

from __future__ import annotations

import json

import pytest
from hostile import HOSTILE
from pull_request import pull_request
from report_builder import finding, only_assistant, with_changes
from warnings_ng import Issue, issues

from turncheck import __version__
from turncheck.messages.finding import Finding, Location
from turncheck.render.sarif import findings_sarif, run_sarif
from turncheck.validation.manual import rule_texts


def test_a_run_has_an_issue_for_every_remark() -> None:
    given, comparison, _ = pull_request()
    assert given.validation is not None
    more = tuple(finding("unused-intent", f"x{text}", line=number) for number, text in enumerate(HOSTILE, 1))
    findings = (*given.validation.findings, *more)
    given = with_changes(given, validation=with_changes(given.validation, findings=findings))  # type: ignore[arg-type]

    text = run_sarif(only_assistant(given, comparison), rule_texts(), __version__).encoded.decode()

    found, results = issues(text), json.loads(text)["runs"][0]["results"]
    assert len(found) == len(results)
    assert {one.severity for one in found} >= {"ERROR", "WARN"}
    assert {"failed-story", "unused-intent"} <= {one.rule for one in found}
    assert all(one.line > 0 for one in found if one.file != "-")


@pytest.mark.parametrize(
    "path", ["data/nlu.yml", "data ö/n lu.yml", "a#b/50%.yml", "[x]/?.yml", "a:b.yml", "C:/x.yml", ""]
)
def test_an_issue_is_at_the_file_whatever_it_is_called(path: str) -> None:
    found = [Finding("unused-intent", "warning", "Bad.", Location(path, 7) if path else Location(""))]

    (issue,) = issues(findings_sarif(found, rule_texts(), "bots/bank", __version__).encoded.decode())

    assert isinstance(issue, Issue)
    assert (issue.rule, issue.severity) == ("unused-intent", "WARN")
    assert issue.message.endswith("Bad.")
    if path:
        assert (issue.file, issue.line) == (f"bots/bank/{path}", 7)
