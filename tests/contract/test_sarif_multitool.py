"""Microsoft's own tool accepts our SARIF, schema and rules."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest
from hostile import HOSTILE as TEXTS
from node_tools import npm_package
from once import once
from pull_request import pull_request
from report_builder import finding, only_assistant, with_changes

from turncheck import __version__
from turncheck.commands.validate import Request, run_data_validate
from turncheck.messages.finding import Finding, Location
from turncheck.render.sarif import findings_sarif, run_sarif
from turncheck.validation.manual import rule_texts

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


def of_project(project: Path, *data: Path) -> bytes:
    output = io.StringIO()
    request = Request(project=project, data=[*data], strict=True)
    run_data_validate(request, output_format="sarif", output=output)
    assert json.loads(output.getvalue())["runs"][0]["results"] or project.parent.name == "healthy_pizza"
    return output.getvalue().encode()


def of_hostile_names(folder: Path) -> bytes:
    project = folder / "a project [x]"
    (project / "data ö").mkdir(parents=True)
    (project / "data ö" / "n lu.yml").write_text(HOSTILE, encoding="utf-8")
    (project / "domain.yml").write_text('version: "3.0"\nintents: [a, b]\n', encoding="utf-8")
    (project / "config.yml").write_text("language: en\n", encoding="utf-8")
    return of_project(project, project / "data ö")


def of_too_many_findings() -> bytes:
    found = [Finding("unused-intent", "warning", f"Intent {n} is bad.", Location("d.yml", n)) for n in range(1, 110)]
    with patch("turncheck.render.sarif.MOST_RESULTS", 100):  # for thousands the tool takes seconds, and says the same
        log = findings_sarif(found, rule_texts(), "bots/bank", __version__).encoded
    assert "invocations" in json.loads(log)["runs"][0], "it says what was left out"
    return log


def of_a_run_with_tests_and_texts_of_any_kind() -> bytes:
    given, comparison, _ = pull_request()
    assert given.validation is not None
    more = tuple(finding("unused-intent", f"x{text}", line=number) for number, text in enumerate(TEXTS, 1))
    findings = (*given.validation.findings, *more)
    given = with_changes(given, validation=with_changes(given.validation, findings=findings))  # type: ignore[arg-type]
    log = run_sarif(only_assistant(given, comparison), rule_texts(), __version__).encoded
    assert "failed-story" in {one["ruleId"] for one in json.loads(log)["runs"][0]["results"]}
    return log


RECORDED = ("several_faults_1", "yaml_tab", "healthy_pizza", "domain_missing", "file_not_utf8")
OF_A_SHORT_RUN = {"DOTNET_TieredPGO": "0", "DOTNET_gcConcurrent": "0"}
"""No statistics for better code, and no thread beside it: the tool then takes a fifth less time."""
OTHERS = ("hostile names", "too many findings", "a run", "no log")


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the tool, which takes seconds for them, says is an error or a warning in each of the logs."""
    found: dict[str, list[str]] = once(
        "complaints", tmp_path_factory, lambda: validated(tmp_path_factory.mktemp("logs"))
    )
    return found


def validated(folder: Path) -> dict[str, list[str]]:
    logs = {name: of_project(ORACLE / name / "project") for name in RECORDED}
    made = (of_hostile_names(folder), of_too_many_findings(), of_a_run_with_tests_and_texts_of_any_kind())
    logs |= zip(OTHERS, (*made, b'{"version": "2.1.0", "runs": [{}]}'), strict=True)
    files = {name: folder / f"{number}.sarif" for number, name in enumerate(logs)}
    for name, file in files.items():
        file.write_bytes(logs[name])
    result = subprocess.run(
        [str(multitool()), "validate", *map(str, files.values()), "--rule-kind", "Sarif;Ghas"],
        capture_output=True,
        text=True,
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", **OF_A_SHORT_RUN},
        check=False,
    )
    lines = (result.stdout + result.stderr).splitlines()
    assert "Analysis completed successfully." in result.stdout, result.stdout + result.stderr
    found = [line for line in lines if ": error " in line or ": warning " in line]
    assert [line for line in found if not any(str(file) in line for file in files.values())] == []
    return {name: [line for line in found if str(file) in line] for name, file in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RECORDED, *OTHERS[:-1]])
def test_the_formats_own_authors_accept_it(name: str, complaints: dict[str, list[str]]) -> None:
    assert complaints[name] == []


@pytest.mark.slow
def test_they_see_what_is_wrong_with_a_log(complaints: dict[str, list[str]]) -> None:
    assert complaints["no log"]
