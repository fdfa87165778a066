"""The example that ``docs/validation.md`` moves from Rasa 1 to Rasa 3: both forms work, and one becomes the other."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from turncheck.cli import run_command_line

EXAMPLES = Path(__file__).parents[2] / "examples" / "migration"


@pytest.fixture(autouse=True)
def _copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for form in ("rasa-1", "rasa-3"):
        shutil.copytree(EXAMPLES / form, tmp_path / form)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("form", "version"), [("rasa-1", "1.x"), ("rasa-3", "3.x")])
def test_both_forms_pass(form: str, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["run", form, "--folds", "3", "--baseline", "none", "--out", "out"]
    assert run_command_line(command) == 0
    assert capsys.readouterr().out.startswith(f"Rasa {version} project (")
    report = json.loads(Path("out/report.json").read_text())
    assert report["project"]["rasa_version"] == version
    assert report["validation"]["counts"]["error"] == 0
    assert [story["passed"] for story in report["core"]["stories"]] == [True]


def test_the_newer_form_is_what_the_older_one_is_converted_to() -> None:
    for kind, files, out in (
        ("nlu", ["rasa-1/data"], "new/data"),
        ("core", ["rasa-1/data"], "new/data"),
        ("core", ["rasa-1/tests"], "new/tests"),
        ("domain", ["rasa-1/domain.yml"], "new"),
        ("config", ["rasa-1/config.yml"], "new"),
    ):
        command = ["data", "convert", kind, *files, "--project", "rasa-1", "--out", out, "--check"]
        assert run_command_line(command) == 0
    Path("new/rules_for_intents.yml").rename("new/data/rules_for_intents.yml")
    converted = {str(path.relative_to("new")): path.read_text() for path in Path("new").rglob("*.yml")}
    kept = {str(path.relative_to("rasa-3")): path.read_text() for path in Path("rasa-3").rglob("*.yml")}
    assert {name: without_head(text) for name, text in converted.items()} == {
        name: without_head(text) for name, text in kept.items()
    }


def without_head(text: str) -> list[str]:
    """Leave out what is written by hand: the first comment, and what the assistant is called."""
    return [line for line in text.splitlines() if not line.startswith(("# A tea shop", "assistant_id:"))]
