"""action.yml, the workflows and the Dockerfile against the official schemas and the field's linters."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.make_reference import generated

from turncheck.settings.declared import default_of, options
from turncheck.settings.options import Settings

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
WORKFLOWS = sorted(
    str(p.relative_to(ROOT)) for p in [*ROOT.glob(".github/workflows/*.yml"), *ROOT.glob("examples/workflows/*.yml")]
)
ACTIONS = ("action.yml", "composite/action.yml")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())


@pytest.mark.parametrize(
    "command",
    [
        ["check-jsonschema", "--builtin-schema", "vendor.github-actions", *ACTIONS],
        ["check-jsonschema", "--builtin-schema", "vendor.github-workflows", *WORKFLOWS],
        ["check-jsonschema", "--builtin-schema", "vendor.dependabot", ".github/dependabot.yml"],
        ["check-jsonschema", "--builtin-schema", "vendor.github-issue-config", ".github/ISSUE_TEMPLATE/config.yml"],
        [
            *("check-jsonschema", "--builtin-schema", "vendor.github-issue-forms"),
            *(f".github/ISSUE_TEMPLATE/{name}.yml" for name in ("bug", "idea")),
        ],
        ["zizmor", "--offline", "--no-progress", "--quiet", *ACTIONS, ".github/dependabot.yml", *WORKFLOWS],
        ["actionlint", *WORKFLOWS],
        ["hadolint", "Dockerfile"],
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_the_linters_of_the_field_find_nothing(command: list[str]) -> None:
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr


def uses_of_the_action() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each step of an example or of our own workflows that uses the action, with its job and its file."""
    jobs = [(path, job) for path in WORKFLOWS for job in yaml.safe_load((ROOT / path).read_text())["jobs"].values()]
    return [
        (path, step, job)
        for path, job in jobs
        for step in job.get("steps", ())
        if step.get("uses", "").startswith(("turncheck/turncheck@", "turncheck/turncheck/composite@", "./"))
    ]


def test_the_workflows_use_the_action_as_it_is() -> None:
    used = uses_of_the_action()
    assert len({path for path, _, _ in used}) >= 8

    for path, step, job in used:
        unknown = set(step.get("with", {})) - set(ACTION["inputs"])
        asked = set(re.findall(rf"steps\.{step.get('id', '-')}\.outputs\.([a-z-]+)", yaml.safe_dump(job)))
        brackets = re.findall(rf"steps\.{step.get('id', '-')}\.outputs\['([a-z-]+)'\]", yaml.safe_dump(job))
        assert not unknown, path
        assert {*asked, *brackets} <= set(ACTION["outputs"]), path


def test_every_example_is_spoken_of() -> None:
    docs = "".join(page.read_text("utf-8") for page in [ROOT / "README.md", *ROOT.glob("docs/*.md")])

    assert [path for path in WORKFLOWS if path.startswith("examples/") and Path(path).name not in docs] == []


def test_every_input_is_a_setting_and_every_setting_an_input() -> None:
    assert list(ACTION["inputs"]) == [name for name, option in options().items() if option.action_input]


@pytest.mark.parametrize("name", [name for name, option in options().items() if option.action_input])
def test_an_input_says_what_the_setting_says_and_leaves_the_default_to_it(name: str) -> None:
    declared = ACTION["inputs"][name]
    default = default_of(name)
    shown = str(default).lower() if isinstance(default, bool) else default

    assert declared["description"].lower().startswith(options()[name].help.lower())
    assert declared["default"] == ("${{ github.token }}" if name == "token" else "")
    if default not in (None, (), 0):
        words = shown if isinstance(shown, tuple) else (shown,)
        assert all(str(word) in declared["description"] for word in words) or "default:" in declared["description"]


def test_the_composite_action_takes_and_gives_the_same() -> None:
    composite = yaml.safe_load((ROOT / "composite" / "action.yml").read_text("utf-8"))

    assert composite["inputs"] == ACTION["inputs"]
    assert {name: about["description"] for name, about in composite["outputs"].items()} == {
        name: about["description"] for name, about in ACTION["outputs"].items()
    }
    for name, about in composite["outputs"].items():
        assert about["value"] == f"${{{{ steps.turncheck.outputs.{name} }}}}"


def test_the_settings_are_documented_once_each() -> None:
    assert len(options()) == len(Settings.__dataclass_fields__)


def test_the_image_starts_python_without_a_shell_and_without_the_workspace_on_its_path() -> None:
    entrypoint = next(line for line in (ROOT / "Dockerfile").read_text().splitlines() if line.startswith("ENTRYPOINT"))

    assert entrypoint == 'ENTRYPOINT ["/opt/turncheck/bin/python", "-I", "-m", "turncheck", "action"]'
    assert ACTION["runs"] == {"using": "docker", "image": "Dockerfile"}


def test_the_reference_has_all_commands_inputs_outputs_and_documents() -> None:
    for path, text in generated().items():
        assert path.read_text("utf-8") == text, (
            "run tools/make_reference.py after changing settings, flags, action.yml or a document"
        )


@pytest.mark.parametrize("page", ["README.md", "docs/github.md"])
def test_a_page_begins_with_a_whole_workflow_which_is_an_example(page: str) -> None:
    (first, *_) = re.findall(
        r"^```yaml\n(?:# [^\n]*\n)?(.*?)^```$", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    example = (ROOT / "examples" / "workflows" / "one-bot.yml").read_text("utf-8")

    assert first == example.split("\n", 1)[1]
    assert yaml.safe_load(first)["permissions"] == {"contents": "read", "actions": "read", "pull-requests": "write"}


def test_the_workflow_to_begin_with_is_short_and_has_no_expression() -> None:
    example = (ROOT / "examples" / "workflows" / "one-bot.yml").read_text("utf-8")

    assert len(example.splitlines()) <= 16
    assert "${{" not in example


def test_every_example_that_compares_leaves_a_report_to_compare_with() -> None:
    """A run on the default branch, by the action, which uploads its report, or by a step that does."""
    compared = 0
    for path in WORKFLOWS:
        content = (ROOT / path).read_text("utf-8")
        triggers = yaml.safe_load(content)[True]  # YAML 1.1 reads `on` as true
        if path.startswith("examples/") and "pull_request" in triggers:
            compared += 1
            assert "push" in triggers, path
            assert re.search(r"turncheck/turncheck(?:/composite)?@", content) or (
                re.search(r'bin/turncheck" run', content) and "upload-artifact@" in content
            ), path
    assert compared
