"""Microsoft's own tool accepts our SARIF, schema and rules."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path

import pytest
from hostile import HOSTILE as TEXTS
from node_tools import npm_package
from pull_request import pull_request
from report_builder import finding, with_changes

from turncheck import __version__
from turncheck.commands.validate import Request, run_data_validate
from turncheck.messages.finding import Finding, Location
from turncheck.render.sarif import findings_sarif, run_sarif
from turncheck.validation.findings import rule_texts

ORACLE = Path(__file__).parents[1] / "oracle" / "validate"
HOSTILE = """\
version: "3.1"
nlu:
- intent: "a\\u0000::error::x <b> & é 🙅 %0A"
  examples: |
    - [x](<y>)
    x
y z: 1
"""


def multitool() -> Path:
    program = npm_package("@microsoft/sarif-multitool-linux", "5.7.0") / "Sarif.Multitool"
    program.chmod(0o755)
    return program


def sarif(project: Path, tmp_path: Path, *, strict: bool = False) -> Path:
    output = io.StringIO()
    run_data_validate(Request(project=project, strict=strict), output_format="sarif", output=output)
    path = tmp_path / "findings.sarif"
    path.write_text(output.getvalue(), encoding="utf-8")
    return path


def complaints(path: Path) -> list[str]:
    """What the tool says is an error or a warning."""
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"}
    result = subprocess.run(
        [str(multitool()), "validate", str(path), "--rule-kind", "Sarif;Ghas"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    lines = (result.stdout + result.stderr).splitlines()
    assert "Analysis completed successfully." in result.stdout, result.stdout + result.stderr
    return [line for line in lines if ": error " in line or ": warning " in line]


@pytest.mark.slow
@pytest.mark.parametrize("case", ["several_faults_1", "yaml_tab", "healthy_pizza", "domain_missing", "file_not_utf8"])
def test_the_formats_own_authors_accept_it(case: str, tmp_path: Path) -> None:
    assert complaints(sarif(ORACLE / case / "project", tmp_path, strict=True)) == []


@pytest.mark.slow
def test_hostile_names_stay_well_formed(tmp_path: Path) -> None:
    project = tmp_path / "a project [x]"
    (project / "data ö").mkdir(parents=True)
    (project / "data ö" / "n lu.yml").write_text(HOSTILE, encoding="utf-8")
    (project / "domain.yml").write_text('version: "3.0"\nintents: [a, b]\n', encoding="utf-8")
    (project / "config.yml").write_text("language: en\n", encoding="utf-8")
    output = io.StringIO()
    request = Request(project=project, data=[project / "data ö"], strict=True)
    run_data_validate(request, output_format="sarif", output=output)
    path = tmp_path / "findings.sarif"
    path.write_text(output.getvalue(), encoding="utf-8")
    assert json.loads(output.getvalue())["runs"][0]["results"]
    assert complaints(path) == []


@pytest.mark.slow
def test_a_log_that_says_what_was_left_out_is_accepted(tmp_path: Path) -> None:
    found = [Finding("unused-intent", "warning", f"Intent {n} is bad.", Location("d.yml", n)) for n in range(1, 5_010)]
    path = tmp_path / "findings.sarif"
    path.write_bytes(findings_sarif(found, rule_texts(), "bots/bank", __version__).encoded)

    assert "invocations" in json.loads(path.read_bytes())["runs"][0]
    assert complaints(path) == []


@pytest.mark.slow
def test_the_log_of_a_run_is_accepted_with_tests_and_texts_of_any_kind(tmp_path: Path) -> None:
    given, comparison, _ = pull_request()
    assert given.validation is not None
    more = tuple(finding("unused-intent", f"x{text}", line=number) for number, text in enumerate(TEXTS, 1))
    findings = (*given.validation.findings, *more)
    given = with_changes(given, validation=with_changes(given.validation, findings=findings))  # type: ignore[arg-type]
    path = tmp_path / "findings.sarif"
    path.write_bytes(run_sarif(given, comparison, rule_texts(), __version__).encoded)

    assert "failed-story" in {one["ruleId"] for one in json.loads(path.read_bytes())["runs"][0]["results"]}
    assert complaints(path) == []
