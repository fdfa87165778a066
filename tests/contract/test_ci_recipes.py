"""The recipes of ``docs/ci.md`` and ``docs/scale.md``, and GitLab's component, against the schemas of their hosts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from turncheck.cli import run_command_line
from turncheck.settings.file import read_settings_file

ROOT = Path(__file__).parents[2]
PAGE = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("ci.md", "scale.md"))
BLOCKS = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
OF_FLOWS = re.findall(
    r"^```yaml\n# (\S+)\n(.*?)^```$",
    (ROOT / "examples" / "appointment" / "README.md").read_text(encoding="utf-8"),
    re.DOTALL | re.MULTILINE,
)
RECIPES = [*((name, text) for name, text in BLOCKS if name != "turncheck.yml"), *OF_FLOWS]
GITLAB = next(text for name, text in RECIPES if name == ".gitlab-ci.yml")
SCHEMAS = {
    ".gitlab-ci.yml": "vendor.gitlab-ci",
    "azure-pipelines.yml": "vendor.azure-pipelines",
    "bitbucket-pipelines.yml": "vendor.bitbucket-pipelines",
    ".circleci/config.yml": "vendor.circle-ci",
    ".buildkite/pipeline.yml": "vendor.buildkite",
    ".github/workflows/turncheck.yml": "vendor.github-workflows",
}
COMPONENT = (ROOT / "templates" / "turncheck.yml").read_text(encoding="utf-8")


def check(schema: str, text: str, tmp_path: Path) -> str:
    file = tmp_path / "recipe.yml"
    file.write_text(text, encoding="utf-8")
    command = [str(Path(sys.executable).parent / "check-jsonschema"), "--builtin-schema", schema]
    if schema == "vendor.gitlab-ci":
        command += ["--data-transform", "gitlab-ci"]
    if schema == "vendor.azure-pipelines":
        command += ["--data-transform", "azure-pipelines", "--regex-variant", "nonunicode"]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize(("name", "text"), RECIPES)
def test_each_recipe_is_one_of_its_host(name: str, text: str, tmp_path: Path) -> None:
    assert check(SCHEMAS[name], text, tmp_path) == ""


def test_every_host_has_a_recipe_and_every_block_is_one() -> None:
    assert {name for name, _ in RECIPES} == set(SCHEMAS)
    assert PAGE.count("```yaml") == len(BLOCKS)
    assert len(GITLAB.splitlines()) == 7, "the job of seven lines"


def test_settings_that_are_shown_can_be_read(tmp_path: Path) -> None:
    settings = set(BLOCKS) - set(RECIPES)
    assert settings
    for name, text in settings:
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_settings_file(tmp_path).values["projects"]


def test_a_broken_recipe_is_found(tmp_path: Path) -> None:
    assert "script" in check("vendor.gitlab-ci", "turncheck:\n  script: {a: b}\n", tmp_path)


def test_the_component_is_a_pipeline_of_gitlab_once_its_inputs_are_in(tmp_path: Path) -> None:
    spec, job = COMPONENT.split("\n---\n")
    inputs = yaml.safe_load(spec)["spec"]["inputs"]
    used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", job))
    assert used == set(inputs)
    for name, about in inputs.items():
        job = job.replace(f"$[[ inputs.{name} ]]", str(about["default"]))

    assert check("vendor.gitlab-ci", job, tmp_path) == ""
    assert yaml.safe_load(job)["turncheck"]["artifacts"] == yaml.safe_load(GITLAB)["turncheck"]["artifacts"]


def test_the_files_that_the_recipes_name_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "domain.yml").write_text('version: "3.1"\nintents:\n- greet\n')
    monkeypatch.chdir(tmp_path)
    named = set(re.findall(r"results/([\w.-]+\.(?:json|xml|txt|sarif))", PAGE))
    assert len(named) >= 5

    run_command_line(["run", "--evaluations", "validate", "--output-format", "sarif,codequality,metrics,annotations"])

    assert named <= {path.name for path in (tmp_path / "results").iterdir()}

    again = ["report", "render", "results", "--out", "again", "--output-format", "sarif", "codequality", "metrics"]
    assert run_command_line(again) == 0
    for name in ("findings.sarif", "gl-code-quality-report.json", "metrics.txt"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "results" / name).read_bytes(), name
