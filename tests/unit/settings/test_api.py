"""What Python programs may use of turncheck."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest
from golden_texts import Golden

import turncheck
from turncheck.settings import typed
from turncheck.settings.declared import options
from turncheck.settings.gates import GATES

ROOT = Path(__file__).parents[3]
PIZZERIA = ROOT / "examples" / "pizzeria"
STUB = ROOT / "src" / "turncheck" / "__init__.pyi"
PUBLIC = ["Outcome", "Report", "UserError", "__version__", "compare", "parse", "read_project", "run", "validate"]


def test_the_public_names_are_these() -> None:
    assert turncheck.__all__ == PUBLIC
    assert all(getattr(turncheck, name) is not None for name in PUBLIC)
    assert set(PUBLIC) <= set(dir(turncheck))
    with pytest.raises(AttributeError, match="no attribute 'runs'"):
        turncheck.runs  # type: ignore[attr-defined]  # noqa: B018


def test_their_types_are_those_of_the_stub() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    imported = {name.asname for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert imported | {"__version__"} == set(PUBLIC)
    assert ast.literal_eval(next(node.value for node in tree.body if isinstance(node, ast.Assign))) == PUBLIC


def test_each_is_on_the_page() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    assert [name for name in PUBLIC if f"`{name}" not in page] == []


def test_each_function_has_its_documentation() -> None:
    for name in ("run", "validate", "parse", "compare", "read_project"):
        function = getattr(turncheck, name)
        assert "Raises:" in str(inspect.getdoc(getattr(function, "__wrapped__", function)))
        assert "project" in inspect.signature(function).parameters or name == "compare"


def test_importing_it_imports_nothing_else() -> None:
    program = "import sys, turncheck; print([name for name in sys.modules if name.startswith('turncheck.')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("first", ["import turncheck.run.prepare", "import turncheck.api", "pass"])
def test_run_is_a_function_whatever_was_imported_before(first: str, golden: Golden) -> None:
    program = f"""
import turncheck
{first}
import inspect
assert "evaluate" in inspect.getdoc(turncheck.run.__wrapped__)
assert list(inspect.signature(turncheck.run).parameters)[:2] == ["project", "out"]
try:
    turncheck.run("nowhere")
except turncheck.UserError as error:
    print(error.message)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    golden(done.stdout)


def test_the_arguments_of_each_function_are_the_settings_that_it_has() -> None:
    known = {name.replace("-", "_"): option for name, option in options().items()}

    assert {*get_type_hints(typed.RunSettings)} == {name for name, option in known.items() if option.functions}
    assert {*get_type_hints(typed.EngineSettings)} == {
        name for name, option in known.items() if option.functions.endswith("parse")
    }
    assert {*get_type_hints(typed.GateSettings)} == set(GATES)


def test_a_run_writes_nothing_unless_asked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = turncheck.run(PIZZERIA, evaluations="validate", baseline="none")
    assert isinstance(outcome, turncheck.Outcome)
    assert isinstance(outcome.report, turncheck.Report)
    assert outcome.verdict.passed
    assert list(tmp_path.iterdir()) == []

    turncheck.run(str(PIZZERIA), evaluations=["validate"], baseline="none", out=tmp_path / "results")
    assert (tmp_path / "results" / "report.json").is_file()


def test_failed_gates_are_no_error_and_are_those_of_the_command(tmp_path: Path) -> None:
    outcome = turncheck.run(
        PIZZERIA, evaluations=("validate",), thresholds=["validation.errors <= -1"], baseline="none", out=tmp_path
    )
    assert not outcome.verdict.passed
    assert outcome.exit_code == 1
    later = msgspec.structs.replace(outcome.report, seed=7)
    again = turncheck.compare(tmp_path, later, thresholds="validation.errors <= 0")
    assert again.verdict.passed
    assert again.comparison.judged
    assert not turncheck.compare(later, tmp_path / "report.json").verdict.passed


def test_findings_are_those_of_data_validate(tmp_path: Path) -> None:
    (tmp_path / "domain.yml").write_text("intents: [greet]\nresponses: {}\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.yml").write_text('nlu:\n- {intent: gret, examples: "- hi"}\n')
    validated = turncheck.validate(tmp_path)
    assert any("'gret'" in finding.message for finding in validated.findings)
    assert validated.exit_code(fail_on_warnings=True) == 1


def test_sentences_are_understood_by_a_model_trained_on_the_files(tmp_path: Path) -> None:
    (tmp_path / "domain.yml").write_text("intents: [greet, order]\n")
    (tmp_path / "config.yml").write_text("pipeline:\n- name: WhitespaceTokenizer\n- name: KeywordIntentClassifier\n")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "nlu.yml").write_text(
        'nlu:\n- {intent: greet, examples: "- hello"}\n- {intent: order, examples: "- pizza"}\n'
    )
    parses = turncheck.parse(["one pizza please", "hello there"], tmp_path)
    assert [one.intent.name for one in parses] == ["order", "greet"]
    project = turncheck.read_project(tmp_path)
    assert [example.text for example in project.nlu.examples] == ["hello", "pizza"]


FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "no folder": (lambda: turncheck.run("nowhere"), "no such project folder"),
    "no folder to read": (lambda: turncheck.read_project("nowhere"), "no such project folder"),
    "no folder to check": (lambda: turncheck.validate("nowhere"), "There is no folder 'nowhere'"),
    "not a path": (lambda: turncheck.run(3), "project: expected the path of a folder"),  # type: ignore[arg-type]
    "misspelt": (lambda: turncheck.run(PIZZERIA, fold=3), "unknown setting 'fold'"),  # type: ignore[call-arg]
    "bad value": (lambda: turncheck.run(PIZZERIA, folds=1), "folds: expected a whole number"),
    "bad words": (lambda: turncheck.run(PIZZERIA, evaluations="nul"), "evaluations: "),
    "several": (lambda: turncheck.run(ROOT / "examples" / "*"), "names several assistants"),
    "a string for a list": (lambda: turncheck.parse("hello", PIZZERIA), "sentences: expected a list"),
    "no report": (lambda: turncheck.compare("nowhere", "nowhere"), "cannot read nowhere"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_the_caller_can_fix_is_a_user_error(fault: str) -> None:
    call, words = FAULTS[fault]
    with pytest.raises(turncheck.UserError) as raised:
        call()
    assert words in raised.value.message


def test_a_strictly_typed_program_sees_the_signatures(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(
        "import turncheck\n"
        'outcome = turncheck.run("bot", evaluations=("nlu",), folds=3)\n'
        "report: turncheck.Report = outcome.report\n"
        "passed: bool = outcome.verdict.passed\n"
        'names: list[str | None] = [one.intent.name for one in turncheck.parse(["hi"], "bot", seed=1)]\n'
    )
    (tmp_path / "wrong.py").write_text(
        'import turncheck\nturncheck.run("bot", folds="three", fold=3)\n'
        'seconds: int = turncheck.run("bot").verdict.passed.seconds\n'
        'names: list[int] = [one.intent.name for one in turncheck.parse(["hi"], "bot")]\n'
    )
    # The signatures have no types of these libraries, whose stubs take longer to read than all of turncheck.
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nstrict = True\nfollow_imports = silent\n"
        "[mypy-numpy.*,matplotlib.*,PIL.*,jinja2.*,jsonpath.*,yaml.*]\n"
        "follow_imports = skip\nfollow_imports_for_stubs = True\n"
    )
    command = [sys.executable, "-m", "mypy", "--cache-dir", os.devnull, "right.py", "wrong.py"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env={"MYPYPATH": str(ROOT / "src")}
    )
    errors = [line.partition(": error: ") for line in done.stdout.splitlines() if ": error: " in line]
    assert {place for place, _, _ in errors} == {"wrong.py:2", "wrong.py:3", "wrong.py:4"}, "no type is lost on the way"
    assert 'Unexpected keyword argument "fold"' in done.stdout
