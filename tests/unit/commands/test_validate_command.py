"""``data validate``: its formats, its exit codes, what it imports."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from golden_texts import Golden
from small_project import write_project

from turncheck.cli import run_command_line
from turncheck.commands.validate import FORMATS, Format, Request, run_data_validate
from turncheck.messages.errors import EXIT_NOT_DONE, UserError
from turncheck.project.reader import read_project
from turncheck.report.codec import decode
from turncheck.validation.pipeline import validate

D, N, S, R = "domain.yml", "data/nlu.yml", "data/stories.yml", "data/rules.yml"
UNKNOWN_ACTION = (R, "utter_goodbye", "action_nope")


def printed(folder: Path, output_format: Format, **options: object) -> tuple[int, str]:
    output = io.StringIO()
    code = run_data_validate(Request(project=folder, **options), output_format=output_format, output=output)  # type: ignore[arg-type] # options by name
    return code, output.getvalue()


def test_text_shows_file_place_source_line_caret_and_advice(tmp_path: Path, golden: Golden) -> None:
    code, text = printed(write_project(tmp_path, UNKNOWN_ACTION), "text")
    assert code == 1
    assert text.startswith(f"{tmp_path}/data/rules.yml\n  6:5  error[action-not-in-domain]")
    golden(text)


def test_text_of_a_faultless_project_says_so(tmp_path: Path, golden: Golden) -> None:
    code, text = printed(write_project(tmp_path), "text")
    assert code == 0
    golden(text)


ONLY_LISTED = (D, "- goodbye\n", "- goodbye\n- orphan\n- stray\n")


def test_what_is_wrong_at_one_place_is_one_entry(tmp_path: Path, golden: Golden) -> None:
    code, text = printed(write_project(tmp_path, ONLY_LISTED), "text")
    assert code == 0
    assert (text.count("intent-unused"), text.count("intent-without-examples"), text.count("^")) == (2, 2, 2)
    golden(text)


NOTES = (N, "    - hello there\n", "    - hello there\n" * 6)
FIRST_NOTE = "  6:7  info[example-duplicate]  The example 'hello there' appears more than once in 'greet'.\n"


def test_notes_take_a_line_each_and_many_of_a_kind_are_counted(tmp_path: Path, golden: Golden) -> None:
    code, text = printed(write_project(tmp_path, NOTES), "text")
    assert code == 0
    assert text.startswith(f"{tmp_path}/data/nlu.yml\n{FIRST_NOTE}  7:7  info")
    assert text.count("info[") == 3
    golden(text)


def test_notes_have_line_and_advice_if_more_is_asked_for_and_none_are_shown_if_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(write_project(tmp_path, NOTES))
    assert run_command_line(["data", "validate", "--project", folder, "-v"]) == 0
    text = capsys.readouterr().out
    shown = "    6 |     - hello there\n      |       ^\n    = Rasa keeps one. Remove the other.\n"
    assert text.startswith(f"{tmp_path}/data/nlu.yml\n{FIRST_NOTE}{shown}")
    assert text.count("info[") == text.count("^") == 5
    assert text.endswith("0 errors, 0 warnings, 5 notes\n")
    assert run_command_line(["data", "validate", "--project", folder, "--quiet"]) == 0
    assert capsys.readouterr().out.startswith("Not shown: 5 example-duplicate.\n")


def test_json_of_a_faultless_project_has_no_findings(tmp_path: Path) -> None:
    nothing = {"findings": [], "counts": {"error": 0, "warning": 0, "info": 0}}
    assert json.loads(printed(write_project(tmp_path), "json")[1]) == nothing


def test_json_has_findings_and_counts_also_when_nothing_can_be_read(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / D).write_bytes(b"intents: [\xff")
    code, text = printed(tmp_path, "json")
    document = json.loads(text)
    assert code == 1
    assert document.keys() == {"findings", "counts"}
    assert document["counts"]["error"] == 1
    first = next(finding for finding in document["findings"] if finding["severity"] == "error")
    assert first.keys() == {"code", "severity", "message", "location"}
    assert (first["code"], first["location"]["path"]) == ("file-not-utf8", D)


@pytest.mark.parametrize("flags", [[], ["--max-history", "none"]])
def test_the_report_and_junit_have_what_is_printed(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project, out = write_project(tmp_path / "bot", UNKNOWN_ACTION), tmp_path / "out"
    alone = tmp_path / "alone.json"
    files = ["--out", str(out), "--json", str(alone)]
    assert run_command_line(["data", "validate", "--project", str(project), *flags, *files, "--format", "json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    report = decode(alone.read_bytes())
    assert report.validation is not None
    assert [finding.code for finding in report.validation.findings] == [one["code"] for one in printed["findings"]]
    assert report.validation.counts.error == printed["counts"]["error"] == 1
    assert (out / "report.json").read_bytes() == alone.read_bytes()
    assert (out / "junit.xml").read_text("utf-8").count('<failure type="finding"') == 1


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = write_project(tmp_path / "bot")
    (tmp_path / "file").touch()
    flags = ["--project", str(project), "--json", str(tmp_path / "file" / "report.json")]
    assert run_command_line(["data", "validate", *flags]) == EXIT_NOT_DONE
    assert "report.json" in capsys.readouterr().err


def test_workflow_commands_come_worst_first_with_the_path_in_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    code, text = printed(write_project(tmp_path / "bots" / "pizza", UNKNOWN_ACTION), "github")
    assert code == 1
    lines = text.splitlines()
    assert lines[0].startswith("::error file=bots/pizza/data/rules.yml,line=6,col=5,title=action-not-in-domain::")
    assert lines[1].startswith("::warning file=bots/pizza/domain.yml,line=")


def test_hostile_names_are_no_commands_and_no_escape_sequences(tmp_path: Path) -> None:
    hostile = (R, "utter_goodbye", '"action_\\e[31m::error::x ##[error]y"')
    write_project(tmp_path, hostile)
    for output_format in FORMATS:
        _, text = printed(tmp_path, output_format)
        assert "\x1b" not in text
    _, commands = printed(tmp_path, "github")
    assert all("::error" not in line[2:] and "##[" not in line for line in commands.splitlines())
    _, shown = printed(tmp_path, "text")
    assert not any(line.lstrip().startswith("::") or "##[" in line for line in shown.splitlines())


@pytest.mark.follows(page="rasa-3", sentence="`rasa data validate --max-history` takes a number of turns.")
def test_a_wrong_max_history_is_a_finding(tmp_path: Path) -> None:
    write_project(tmp_path)
    for wrong in ("0", "-2", "many", 0):
        code, text = printed(tmp_path, "json", max_history=wrong)
        assert code == 1
        assert [finding["code"] for finding in json.loads(text)["findings"]] == ["max-history-invalid"]
    assert printed(tmp_path, "json", max_history="3")[0] == 0
    assert printed(tmp_path, "json", max_history="9" * 20)[0] == 0


@pytest.mark.follows(
    page="rasa-3",
    sentence="`rasa data validate --fail-on-warnings` fails on warnings, too: here on those on which Rasa 3.6.21 really"
    " does, and `turncheck run --fail-on-warnings` on all.",
)
def test_warnings_fail_only_if_asked(tmp_path: Path) -> None:
    write_project(tmp_path, (N, "- see you later", "- hello there\n    - see you later"))
    assert printed(tmp_path, "json")[0] == 0
    assert printed(tmp_path, "json", fail_on_warnings=True)[0] == 1
    assert printed(tmp_path, "json", fail_on_warnings=True, stories_only=True)[0] == 0


@pytest.mark.parametrize(
    ("edit", "shown"),
    [
        ((D, "- goodbye\n", "- goodbye\n- thank\n"), 2),  # without examples, and in no story
        ((D, "responses:\n", "responses:\n  utter_more:\n  - text: More\n"), 1),
        ((D, "- action_bake\n", "- action_bake\n"), 0),
    ],
)
def test_warnings_on_which_rasa_does_not_fail_are_said_to_fail_nothing(
    tmp_path: Path, edit: tuple[str, str, str], shown: int, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    write_project(tmp_path, edit)
    for is_asked in (True, False):
        assert printed(tmp_path, "text", fail_on_warnings=is_asked)[0] == 0
        told = capsys.readouterr().err
        assert ("fail" in told) == (is_asked and shown > 0)
        if told:
            golden(told)
    assert printed(tmp_path, "json", fail_on_warnings=True)[0] == 0
    assert not capsys.readouterr().err


def test_a_missing_folder_is_an_error_and_no_finding(tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        printed(tmp_path / "nowhere", "json")
    golden(refused.value)


def test_explain_prints_and_validates_nothing(tmp_path: Path) -> None:
    output = io.StringIO()
    request = Request(project=tmp_path / "nowhere")
    assert run_data_validate(request, explain_code="story-conflict", output=output) == 0
    assert output.getvalue().startswith("### story-conflict\n")


@pytest.mark.slow
def test_nothing_that_learns_or_draws_is_imported(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from turncheck.commands.validate import Request, run_data_validate;"
        f"run_data_validate(Request(project=Path({str(write_project(tmp_path))!r})));"
        "print(sorted({'numpy', 'sklearn', 'scipy', 'matplotlib', 'requests', 'rich'} & sys.modules.keys()))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("content", ["ignroe: [entity-unused]\n", "ignore: [\n", "- 1\n"])
def test_a_wrong_turncheck_yml_is_a_finding_in_every_format(content: str, tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "turncheck.yml").write_text(content)
    for output_format in FORMATS:
        code, text = printed(tmp_path, output_format)
        assert code == 1
        assert "settings-invalid" in text
    found = json.loads(printed(tmp_path, "json")[1])["findings"]
    assert [(f["code"], f["severity"], f["location"]["path"]) for f in found] == [
        ("settings-invalid", "error", "turncheck.yml")
    ]


def test_tests_in_their_usual_places_are_held_against_the_training_data(tmp_path: Path) -> None:
    write_project(tmp_path)
    stories = (tmp_path / S).read_text()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_stories.yml").write_text(stories)
    (tmp_path / "tests" / "test_nlu.yml").write_text(
        'version: "3.1"\nnlu:\n- intent: greet\n  examples: |\n    - hello there\n'
    )
    found = json.loads(printed(tmp_path, "json")[1])["findings"]
    assert {(f["code"], f["location"]["path"]) for f in found} >= {
        ("test-story-in-training", "tests/test_stories.yml"),
        ("test-sentence-in-training", "tests/test_nlu.yml"),
    }
    assert not any(
        f["code"].startswith("test-") for f in json.loads(printed(tmp_path, "json", stories_only=True)[1])["findings"]
    )


def test_training_data_named_like_tests_are_no_copies_of_themselves(tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / S).rename(tmp_path / "data" / "test_stories.yml")
    assert "test-story-in-training" not in printed(tmp_path, "json")[1]


@pytest.mark.parametrize("target", ["gone.yml", "link.yml"])
def test_a_link_that_leads_nowhere_changes_no_exit_code(target: str, tmp_path: Path) -> None:
    write_project(tmp_path)
    (tmp_path / "data" / "link.yml").symlink_to(target)
    code, text = printed(tmp_path, "text", fail_on_warnings=True)
    assert code == 0
    assert text.startswith(f"{tmp_path}/data/link.yml\n  1:1  info[file-not-regular]")


@pytest.mark.parametrize("linked", ["data", "data/nlu.yml", "domain.yml", "config.yml"])
def test_a_link_out_of_the_project_is_a_warning_where_rasa_is_to_be_replaced(linked: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    write_project(project)
    (project / linked).rename(tmp_path / "elsewhere")
    (project / linked).symlink_to(tmp_path / "elsewhere")
    for stories_only in (False, True):
        code, text = printed(project, "text", fail_on_warnings=True, stories_only=stories_only)
        assert code == 0
        assert text.startswith(f"{project}/{linked}\n  1:1  warning[file-outside-project]")
        assert text.count("warning[") == 1
    code, text = printed(project, "text", strict=True)
    assert code == 1
    assert text.startswith(f"{project}/{linked}\n  1:1  error[file-outside-project]")
    validated = validate(read_project(project))
    assert [(finding.code, finding.severity) for finding in validated.findings if finding.severity == "error"] == [
        ("file-outside-project", "error")
    ]


def test_what_lies_behind_a_link_out_of_the_project_is_never_shown(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    write_project(project)
    (tmp_path / "secret").write_text("nlu: [the secret\n", encoding="utf-8")
    (project / "data" / "x.yml").symlink_to(tmp_path / "secret")
    for output_format in FORMATS:
        assert "the secret" not in printed(project, output_format, strict=True)[1]
