"""``turncheck run``: the main job, from files to exit code; as a process of its own first."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from fewer_sentences import keep_sentences
from in_process import OF_A_HOST, turncheck

ROOT = Path(__file__).parents[2]
PIZZERIA = ROOT / "examples" / "pizzeria"
SCHEMA = jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "report.schema.json").read_text()))
DOCUMENTS = ["comment.md", "comparison.json", "junit.xml", "report.html", "report.json", "summary.md", "verdict.json"]


def in_a_process(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "turncheck", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith(OF_A_HOST)},
        timeout=300,
    )


def measured(folder: Path) -> dict[str, object]:
    """The report without what may differ from run to run."""
    report: dict[str, object] = json.loads((folder / "report.json").read_text())
    return {key: value for key, value in report.items() if key not in {"timings", "source"}}


def healthy_projects() -> list[Path]:
    """The recorded projects on which real Rasa validates, trains and tests without refusing."""
    oracle = ROOT / "tests" / "oracle"
    found = [path for kind in ("core", "conversations", "nlu") for path in oracle.glob(f"{kind}/*/project")]
    return sorted(
        path
        for path in found
        if (path / "domain.yml").is_file()
        and not path.parent.name.startswith("train_error_")
        and path.parent.name != "sklearn_sparse_only"
    )


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    out = tmp_path_factory.mktemp("run") / "out"
    flags: list[str | Path] = ["--baseline", "none", "--workers", "1", "--json", out / "again" / "r.json"]
    return in_a_process("run", PIZZERIA, "--out", out, *flags), out


def test_the_example_passes_and_everything_is_written(
    first_run: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    done, out = first_run

    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in out.iterdir() if path.is_file()) == [".gitignore", *DOCUMENTS]
    assert (out / "again" / "r.json").read_bytes() == (out / "report.json").read_bytes()
    assert {"intent_report.json", "story_report.json"} <= {path.name for path in (out / "rasa").iterdir()}
    assert done.stdout.splitlines()[-1].startswith("passed")


def test_the_readme_shows_what_the_terminal_shows(first_run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    """All but the line about the base, which the README has as in a checkout of the default branch."""
    (shown,) = re.findall(r"^```text\n(.*?)^```$", (ROOT / "README.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    printed = first_run[0].stdout.replace(f"{ROOT}/", "")
    shown, printed = (
        "\n".join(line for line in text.splitlines() if not line.startswith("No baseline")) for text in (shown, printed)
    )

    assert shown in printed


def documented_files() -> tuple[set[str], set[str]]:
    """The files that docs/report.md lists, and those of them that come with ``--plots``."""
    table = (ROOT / "docs" / "report.md").read_text().partition("<!-- files -->")[2].partition("<!-- /files -->")[0]
    always, _, plots = table.partition("with `--plots`")
    first, second = (set(re.findall(r"`([\w/]+\.\w+)`", part)) for part in (always, plots))
    return first, second


@pytest.mark.usefixtures("_shared_cache")
def test_the_manual_lists_the_files_with_and_without_plots(
    first_run: tuple[subprocess.CompletedProcess[str], Path], tmp_path: Path
) -> None:
    out, given = tmp_path / "out", first_run[1]
    done = turncheck("run", PIZZERIA, "--out", out, "--baseline", "none", "--workers", "1", "--plots", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr

    def of_this_project(names: set[str]) -> set[str]:
        """It has one extractor, no responses to select from, and nothing to be compared with here, nor a badge."""
        named = {name.replace("EXTRACTOR", "DIETClassifier") for name in names}
        return {name for name in named if not name.startswith(("rasa/response_selection", "baseline", "badge"))}

    without, with_plots = (
        {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
        - {"again/r.json", ".gitignore"}
        for folder in (given, out)
    )
    always, plots = documented_files()
    assert without == of_this_project(always)
    assert with_plots - without == of_this_project(plots)


def test_every_case_of_the_junit_file_has_a_place_that_exists_and_conversations_their_time(
    first_run: tuple[subprocess.CompletedProcess[str], Path],
) -> None:
    root = ET.parse(first_run[1] / "junit.xml").getroot()  # noqa: S314  # our own output

    assert {suite.get("name") for suite in root} >= {f"examples/pizzeria {part}" for part in ("core", "e2e", "gates")}
    for suite in root:
        for case in suite.iter("testcase"):
            assert (ROOT / case.get("file", "missing")).is_file()
            assert case.get("classname", "").startswith("examples/pizzeria.")
            if suite.get("name", "").endswith((" core", " e2e")):
                assert 0 < float(case.get("time", "0")) <= float(suite.get("time", "0")) + 0.001


def test_the_report_follows_its_schema(first_run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    SCHEMA.validate(json.loads((first_run[1] / "report.json").read_text()))


def test_what_stands_in_for_what_is_named(first_run: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    report = json.loads((first_run[1] / "report.json").read_text())

    assert {entry["component"] for entry in report["engine"]["substitutions"]} == {"DIETClassifier", "TEDPolicy"}
    assert "DIETClassifier" in (first_run[1] / "comment.md").read_text()


def test_the_same_files_give_the_same_report_with_any_number_of_workers(tmp_path: Path) -> None:
    project = tmp_path / "elsewhere" / "pizzeria"
    keep_sentences(shutil.copytree(PIZZERIA, project), 7)
    (project / "tests" / "test_nlu.yml").unlink()
    # From a cache they would be the same anyhow.
    what = ("--no-cache", "--folds", "3", "--evaluations", "nlu", "validate")

    for out, workers in (("first", "1"), ("again", "1"), ("two", "2")):
        turncheck("run", project, "--out", tmp_path / out, "--workers", workers, *what)

    first, *others = (measured(tmp_path / out) for out in ("first", "again", "two"))
    assert others == [first, first]
    assert [json.dumps(one) for one in others] == [json.dumps(first)] * 2


@pytest.mark.parametrize("project", healthy_projects(), ids=lambda path: "/".join(path.parts[-3:-1]))
def test_every_healthy_recorded_project_is_measured(project: Path, tmp_path: Path) -> None:
    done = turncheck("run", "--project", project, "--out", tmp_path, "--baseline", "none", "--folds", "2")

    assert done.returncode in {0, 1}, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    SCHEMA.validate(json.loads((tmp_path / "report.json").read_text()))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nlu", "nothing.yml"], "the path 'nothing.yml' of --nlu does not exist"),
        (["--stories", "nothing.yml"], "the path 'nothing.yml' of --stories does not exist"),
        (["--domain", "nothing.yml"], "the path 'nothing.yml' of --domain does not exist"),
        (["--project", "nowhere"], "no such project folder: nowhere"),
        (["--rasa-url", "http://127.0.0.1:1"], "--rasa-url is for the engine 'rasa'"),
        (["--model", "nothing.tar.gz"], "--model is for the engine 'rasa'"),
        (["--baseline", "nothing.json"], "baseline: no such file: nothing.json"),
        (["--baseline", "main"], "To compare with a branch: --base main"),
        (["--baseline", "feature/x"], "To compare with a branch: --base feature/x"),
        (["--thresholds", "nlu.intents.f1 >= 85"], "Write 0.85 or 85%."),
        (["--baseline", "broken.json"], "baseline: broken.json is not a report of turncheck"),
        (["--thresholds", "nlu.intents.f2 >= 0.5"], "nlu.intents.f2"),
        (["--folds", "one"], "--folds: expected a whole number"),
        (["--fail-on", "everything"], "not one of: errors"),
        (["--unknown"], "--unknown"),
    ],
)
def test_what_cannot_be_done_ends_with_2_and_says_what_to_do(arguments: list[str], said: str, tmp_path: Path) -> None:
    project = ["--project", str(PIZZERIA)] if "--project" not in arguments else []
    (tmp_path / "broken.json").write_text('{"schema": ')

    done = turncheck("run", *project, *arguments, "--out", tmp_path / "out", cwd=tmp_path)

    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rule", ["nlu.intents.f2 >= 0.5", "nlu.intents[nobody].f1 >= 0.5"])
def test_a_bad_gate_of_the_projects_file_is_named_with_its_line(rule: str, tmp_path: Path) -> None:
    project = tmp_path / "bot"
    shutil.copytree(PIZZERIA, project)
    (project / "turncheck.yml").write_text(f"evaluations: nlu\nthresholds: |\n  nlu.intents.f1 >= 0.1\n\n  {rule}\n")

    done = turncheck("run", project, "--out", tmp_path / "out")

    assert done.returncode == 2
    assert f"turncheck.yml:5:3: unknown metric '{rule.partition(' ')[0]}'" in done.stderr


@pytest.mark.usefixtures("_shared_cache")
def test_a_project_that_cannot_be_read_in_part_is_checked_all_the_same(tmp_path: Path) -> None:
    project = tmp_path / "bot"
    shutil.copytree(PIZZERIA, project)
    (project / "data" / "rules.yml").write_text('version: "3.1"\nrules:\n- rule: a\n\tsteps: []\n')

    done = turncheck("run", project, "--out", tmp_path / "out")

    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert done.returncode == 1, done.stderr
    assert ("yaml-syntax", "data/rules.yml", 4) in {
        (finding["code"], finding["location"]["path"], finding["location"]["line"])
        for finding in report["validation"]["findings"]
    }
    assert report["nlu"] is not None
    assert {entry["evaluation"] for entry in report["skipped"]} == {"core", "e2e", "batch"}


BROKEN = 'version: "3.1"\nnlu:\n- intent: greet\n\texamples: |\n    - hiya\n'

RULES = 'version: "3.1"\nrules:\n- rule: a\n  steps:\n  - intent: greet\n'


@pytest.mark.parametrize(
    ("path", "content", "evaluation", "reason"),
    [
        (
            "tests/test_nlu.yml",
            BROKEN,
            "nlu",
            "the test sentences cannot be read completely: tests/test_nlu.yml:4:1: This is not YAML",
        ),
        (
            "tests/test_stories.yml",
            BROKEN.replace("nlu:", "stories:"),
            "core",
            "completely: tests/test_stories.yml:4:1: ",
        ),
        ("config.yml", None, "core", "There is no configuration at 'config.yml'"),
        ("config.yml", "- a\n", "nlu", "the configuration cannot be read completely: config.yml:1:1: "),
        ("domain.yml", None, "core", "There is no domain at 'domain.yml'"),
        ("data/nlu.yml", "nul:\n- intent: greet\n  examples: |\n    - hi\n", "core", "Did you mean 'nlu'?"),
        ("data/nlu.yml", "", "core", "data/nlu.yml:1:1: 'data/nlu.yml' is empty"),
        ("data/nlu.yml", "", "nlu", "data/nlu.yml:1:1: 'data/nlu.yml' is empty"),
        ("data/nlu.yml", "", "e2e", "data/nlu.yml:1:1: 'data/nlu.yml' is empty"),
        ("data/nlu.yml", "nlu: []\n", "core", "no NLU examples to understand the test sentences with"),
        (
            "config.yml",
            "language: en\npipeline:\n- name: WhitespaceTokenizer\n- name: DIETClassifier\npolicies: []\n",
            "core",
            "Rasa refuses to train the pipeline: config.yml:4:3: The component 'DIETClassifier' needs a featurizer",
        ),
        (
            "tests/test_stories.yml",
            'version: "3.1"\nrules:\n- rule: a\n  steps:\n  - intent: greet\n',
            "core",
            "rules alone",
        ),
    ],
)
def test_what_is_missing_broken_or_empty_is_told_apart(
    tmp_path: Path, path: str, content: str | None, evaluation: str, reason: str
) -> None:
    project = tmp_path / "bot"
    shutil.copytree(PIZZERIA, project)
    (project / path).unlink() if content is None else (project / path).write_text(content)

    turncheck("run", project, "--out", tmp_path / "out", "--evaluations", "validate", evaluation)

    skipped = json.loads((tmp_path / "out" / "report.json").read_text())["skipped"]
    (said,) = [entry["reason"] for entry in skipped if entry["evaluation"] == evaluation]
    assert reason in said


@pytest.mark.usefixtures("_shared_cache")
def test_a_file_that_is_named_like_a_test_and_is_none_is_said(tmp_path: Path) -> None:
    project = tmp_path / "bot"
    shutil.copytree(PIZZERIA, project)
    (project / "tests" / "more_nlu.yml").write_text("remarks:\n- intent: greet\n")
    (project / "tests" / "test_more.yml").write_text("storys:\n- story: a\n")

    done = turncheck("run", project, "--out", tmp_path / "out", "--evaluations", "validate", "core")

    findings = json.loads((tmp_path / "out" / "report.json").read_text())["validation"]["findings"]
    assert {("file-without-data", "tests/more_nlu.yml"), ("data-key-unseen", "tests/test_more.yml")} <= {
        (f["code"], f["location"]["path"]) for f in findings
    }
    assert done.returncode == 1
    assert "core could not be run completely" in done.stdout, "its tests are lost"


def test_a_mistake_in_a_gate_is_said_before_anything_is_measured(tmp_path: Path) -> None:
    done = turncheck("run", PIZZERIA, "--out", tmp_path / "out", "--thresholds", "nlu.intents.f9 >= 0.5")

    assert done.returncode == 2
    assert "Known metrics: validation.errors" in done.stderr
    assert "Testing" not in done.stderr


def test_a_run_that_tested_nothing_fails(tmp_path: Path) -> None:
    (tmp_path / "domain.yml").write_text('version: "3.1"\nintents: [greet]\n')
    (tmp_path / "config.yml").write_text("language: en\nassistant_id: a\npipeline: []\npolicies: []\n")

    done = turncheck("run", tmp_path, "--out", tmp_path / "out", "--fail-on", "none")

    assert done.returncode == 1
    assert "something-was-tested" in done.stdout


def test_asking_for_validation_alone_is_a_test_of_the_data(tmp_path: Path) -> None:
    project = tmp_path / "bot"
    shutil.copytree(PIZZERIA, project)
    alone = ("--evaluations", "validate", "--out", tmp_path / "out")

    fine = turncheck("run", project, *alone)
    with (project / "tests" / "test_stories.yml").open("a") as stories:
        stories.write("  - story: broken\n    steps:\n      - action: utter_nowhere\n")
    wrong = turncheck("run", project, *alone)

    assert (fine.returncode, wrong.returncode) == (0, 1)
    assert "passed: " in fine.stdout
    assert "nothing was tested" not in fine.stdout + wrong.stdout
    assert "utter_nowhere" in wrong.stdout


@pytest.mark.usefixtures("_shared_cache")
def test_the_settings_file_of_the_project_counts(tmp_path: Path) -> None:
    project = tmp_path / "bot"
    shutil.copytree(PIZZERIA, project)
    (project / "turncheck.yml").write_text("thresholds: nlu.intents.f1 > 1\nevaluations: nlu\n")

    failed = turncheck("run", project, "--out", tmp_path / "out")
    overruled = turncheck("run", project, "--out", tmp_path / "out", "--thresholds", "nlu.intents.f1 >= 0.1")

    assert (failed.returncode, overruled.returncode) == (1, 0)
    assert "nlu.intents.f1" in failed.stdout


@pytest.mark.usefixtures("_shared_cache")
def test_a_base_report_is_compared_with(
    first_run: tuple[subprocess.CompletedProcess[str], Path], tmp_path: Path
) -> None:
    project = tmp_path / "pizzeria"
    shutil.copytree(PIZZERIA, project)
    nlu = project / "data" / "nlu.yml"
    nlu.write_text(nlu.read_text().replace("- intent: ask_menu", "- intent: ask_price", 1))

    turncheck("run", project, "--out", tmp_path / "out", "--baseline", first_run[1] / "report.json")

    comparison = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert "ask_menu" in {case["expected"] for case in comparison["examples"]["worse"]}
    assert "ask_menu" in (tmp_path / "out" / "comment.md").read_text()


@pytest.mark.bench
def test_the_small_example_takes_seconds_cold_start_included(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOKY_MAX_CPU_COUNT")  # with the processes that a run starts by itself
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        in_a_process("run", PIZZERIA, "--out", tmp_path)
        seconds.append(time.perf_counter() - begin)

    assert min(seconds) < 3 * slowness(), seconds


def slowness() -> float:
    """How much slower this machine is now than an idle one of the kind the limit was set on (at least 1)."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import sklearn.svm"], check=True)
    return max(1.0, (time.perf_counter() - begin) / 1.2)
