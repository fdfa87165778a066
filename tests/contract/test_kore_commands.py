"""``turncheck kore``: exit codes, what is printed and written, nothing secret in any of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from fake_kore import BOT, CLIENT, SECRET, Call, FakeKore, Raw, Suite, answer, refusal, serving
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.platforms.kore.engine.client import Clock

NAME = "Weekly smoke/short"
CASES = [{"input": "two bags to Oslo", "intent": "Order Tea"}, {"input": "stop it", "intent": "Cancel Order"}]
CONTENT = json.dumps({"testCases": CASES}).encode()


@pytest.fixture
def kore(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKore]:
    fake = FakeKore(intents={"two bags to Oslo": ("Order Tea",), "stop it": ("Track Parcel",)})
    fake.suites[NAME] = Suite("ts-1", "five of each", CONTENT, "json")
    monkeypatch.setattr("turncheck.platforms.kore.engine.engines.Clock", lambda: Clock(sleep=lambda _seconds: None))
    monkeypatch.setenv("TURNCHECK_KORE_CLIENT_SECRET", SECRET)
    with serving(fake):
        yield fake


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smoke.json").write_bytes(CONTENT)
    return tmp_path


def run(kore: FakeKore, *arguments: str) -> int:
    opens = ("--kore-host", kore.url, "--kore-bot-id", BOT, "--kore-client-id", CLIENT)
    what, *rest = arguments
    return run_command_line(["kore", what, *opens, *rest])


def told(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.follows(page="kore-batch", sentence="Each run leaves a record with its result.")
def test_suites_are_listed_with_their_runs(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    run(kore, "run", NAME, "--no-wait")
    capsys.readouterr()
    assert run(kore, "suites") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Weekly smoke/short (custom): five of each"
    assert out[1].endswith("in-development: under way")
    golden(*out)
    (number,) = kore.suites[NAME].runs
    run(kore, "status", NAME, number)
    run(kore, "status", NAME, number)
    capsys.readouterr()
    assert run(kore, "suites", "--json") == 0
    suite, built_in = told(capsys)["suites"]
    assert (suite["name"], suite["type"], built_in["type"]) == (NAME, "custom", "built-in")
    assert suite["runs"][0]["figures"]["tp"] == 1


@pytest.mark.follows(
    page="kore-batch",
    sentence="The CSV report of a run can be downloaded. (Here it becomes a report, to be compared and judged.)",
)
@pytest.mark.follows(
    page="kore-batch",
    sentence="The summary of a run has precision, recall and F1, and how many utterances and entities were right.",
)
def test_a_run_prints_the_platforms_figures_and_ends_by_them(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = [{"entityName": name, "entityValue": value} for name, value in (("City", "Oslo"), ("Quantity", "3"))]
    kore.suites[NAME].content = json.dumps({"testCases": [{**CASES[0], "entities": expected}, CASES[1]]}).encode()
    kore.entities["two bags to Oslo"] = {"City": "Oslo", "Quantity": 2}
    assert run(kore, "run", NAME, "--csv", "out.csv", "--json", "run.json") == 1
    out = capsys.readouterr()
    (number,) = kore.suites[NAME].runs
    assert out.out.splitlines() == [
        f"{NAME}: success (run {number}, began 2026-01-05 17:43 UTC, ended 2026-01-05 17:44 UTC)",
        "  TP 1, TN 0, FP 1, FN 0",
        "  precision 0.50, recall 1.00, F1 0.67",
        "  1 of 2 utterances passed, 1 of 2 entities found",
    ]
    assert b"True Positive" in (folder / "out.csv").read_bytes()
    assert run_command_line(["report", "import", "--kore-csv", "out.csv", "--out", "imported"]) == 0
    (imported,) = json.loads((folder / "imported" / "report.json").read_text())["batch"]["suites"]
    assert (imported["name"], imported["passed"], imported["failed"]) == (NAME, 0, 2)
    capsys.readouterr()
    written = json.loads((folder / "run.json").read_text())
    assert (written["run"], written["outcome"], written["figures"]["f1"]) == (number, "success", "0.67")
    kore.intents["stop it"] = ("Cancel Order",)
    assert run(kore, "run", NAME) == 1, "every utterance passes, but an entity was not found"
    kore.entities["two bags to Oslo"]["Quantity"] = 3
    assert run(kore, "run", NAME) == 0
    kore.fails = ("stop it",)
    assert run(kore, "run", NAME) == 1
    assert "success with warning" in capsys.readouterr().out
    kore.fails = ("stop it", "two bags to Oslo")
    assert run(kore, "run", NAME) == 2
    kore.ends_as = "failed"
    assert run(kore, "run", NAME) == 2
    assert "ended as 'failed': System error" in capsys.readouterr().err


def test_a_run_is_begun_and_looked_at(kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(kore, "run", NAME, "--no-wait") == 0
    number = capsys.readouterr().out.strip()
    assert run(kore, "status", NAME, number, "--json") == 0
    assert told(capsys)["status"] == "running"
    assert run(kore, "status", NAME, number, "--csv", "out.csv") == 0
    assert "TP 1, TN 0, FP 1, FN 0" in capsys.readouterr().out
    assert (folder / "out.csv").is_file()
    assert run(kore, "status", NAME, "tr-none") == 2
    assert "Test Result not found." in capsys.readouterr().err


@pytest.mark.follows(page="kore-batch", sentence="Two suites are built in and can be run.")
def test_the_platforms_own_suites_are_run_by_their_names(kore: FakeKore, folder: Path) -> None:
    kore.suites["Developer defined utterances"] = Suite("AllMlUtterances", "", CONTENT, "json")
    kore.suites["Successful user utterances"] = Suite("Last100sentences", "", CONTENT, "json")
    named = {
        "Developer%20defined%20utterances": ("Developer defined utterances", "AllMlUtterances"),
        "Successful%20user%20utterances": ("Successful user utterances", "Last100sentences"),
    }
    for in_path, names in named.items():
        for name in names:
            assert run(kore, "run", name, "--no-wait", "--kore-version", "published") == 0
            assert kore.calls[-1].path.endswith(f"/testsuite/{in_path}/run")
            assert kore.calls[-1].body == {"version": "published"}


@pytest.mark.follows(page="kore-batch", sentence="A new suite has a name and a description, and its file is uploaded.")
def test_a_suite_goes_there_and_back(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run(kore, "import", "smoke.json", "--name", "A name / with %", "--description", "what for") == 0
    golden(capsys.readouterr().out)
    assert [run["version"] for run in kore.suites["A name / with %"].runs.values()] == ["inDevelopment", "published"]
    assert kore.suites["A name / with %"].description == "what for"
    assert run(kore, "export", "A name / with %", "--out", "back/suite.json") == 0
    assert (folder / "back" / "suite.json").read_bytes() == CONTENT
    capsys.readouterr()
    assert run(kore, "delete", "A name / with %", "--json") == 0
    assert told(capsys)["message"] == "Test suite deleted successfully"
    assert "A name / with %" not in kore.suites
    assert run(kore, "export", "A name / with %", "--out", "x.json") == 2
    assert "Test Suite not found" in capsys.readouterr().err
    assert not (folder / "x.json").exists()


@pytest.mark.follows(page="kore-batch", sentence="The results of a run can be deleted.")
def test_a_run_is_deleted_and_the_suite_stays(kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kore.deletes = False  # as older versions of the platform
    run(kore, "run", NAME, "--no-wait")
    number = capsys.readouterr().out.strip()
    assert run(kore, "delete", NAME, number) == 0
    assert "Test result deleted" in capsys.readouterr().out
    assert not kore.suites[NAME].runs


@pytest.mark.follows(page="kore-batch", sentence="The file is JSON or CSV.")
def test_a_csv_goes_with_its_delimiter(kore: FakeKore, folder: Path) -> None:
    (folder / "smoke.csv").write_text("input;intent\ntwo bags to Oslo;Order Tea\n")
    assert run(kore, "import", "smoke.csv", "--no-run") == 0
    assert (kore.calls[-1].body["fileType"], kore.calls[-1].body["delimiter"]) == ("csv", ";")
    assert kore.files["file-0"] == ("smoke.csv", (folder / "smoke.csv").read_bytes())
    assert run(kore, "import", "smoke.json", "--name", "other", "--no-run") == 0
    assert kore.calls[-1].body["fileType"] == "json"
    assert kore.files["file-1"] == ("smoke.json", CONTENT)


def _answered(is_meant: Callable[[Call], bool], with_what: Raw, call: Call) -> Raw | None:
    """The answer to the calls that are meant, and to no other."""
    return with_what if is_meant(call) else None


def test_a_suite_with_faults_is_not_sent(kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "bad.json").write_text('{"testCases": [{"input": "x", "intent": "A||B"}]}')
    assert run(kore, "import", "bad.json") == 2
    assert "bad.json:1:" in capsys.readouterr().err
    assert run(kore, "import", "none.json") == 2
    assert not kore.calls


def test_the_assistant_is_pulled_without_the_values_of_variables(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kore.polls = 2
    assert run(kore, "pull", "--out", "bot") == 0
    config = json.loads((folder / "bot" / "config.json").read_text())
    assert config["envVariables"] == [{"key": "apiKey", "variableType": "env", "scope": "app"}]
    assert json.loads((folder / "bot" / "botDefinition.json").read_text())["localeData"]["en"]["name"] == "Tea Shop"
    kore.bot_files = {"app/appDefinition.json": {}}
    assert run(kore, "pull", "--out", "app", "--kore-version", "published") == 0
    assert [path.name for path in (folder / "app").iterdir()] == ["appDefinition.json"]
    assert kore.export["type"] == "published"
    kore.bot_files = {"../../evil.json": {}}
    assert run(kore, "pull", "--out", "evil") == 2
    shown = capsys.readouterr()
    assert "holds neither botDefinition.json nor appDefinition.json" in shown.err
    assert "NEVER-SHOW" not in shown.out + shown.err


def test_nothing_secret_is_shown(kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["suites"], ["run", NAME], ["export", NAME, "--out", "s.json"], ["suites", "--json"]):
        run(kore, *arguments, "--verbose")
    kore.fault = lambda call: Raw(call.headers["auth"].encode(), 400)
    assert run(kore, "suites") == 2
    kore.fault = lambda _call: refusal(401, "Invalid SDK credentials", 4002)
    assert run(kore, "suites") == 2
    shown = capsys.readouterr()
    for secret in (SECRET, "NEVER-SHOW", *{call.headers["auth"] for call in kore.calls if "auth" in call.headers}):
        assert secret not in shown.out + shown.err


def test_names_that_lead_elsewhere_are_refused(kore: FakeKore, folder: Path) -> None:
    for name in ("..", ".", " "):
        assert run(kore, "delete", name) == 2
    assert not kore.calls


def parse(kore: FakeKore, *arguments: str) -> int:
    opens = ("--engine", "kore", "--kore-host", kore.url, "--kore-bot-id", BOT, "--kore-client-id", CLIENT)
    return run_command_line(["parse", *opens, "--kore-bot-name", "Tea Shop", *arguments])


def test_sentences_are_parsed_by_the_platform(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.intents["either"] = ("Cancel Order", "Track Parcel")
    kore.traits["either"] = ("Urgent",)
    kore.entities["two bags to Oslo"] = {"City": ["Oslo"]}
    assert parse(kore, "two bags to Oslo", "either", "hm") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["two bags to Oslo", "  Order Tea 11643.3", "  City: Oslo"]
    golden(*[line.strip().partition(" 1")[0] for line in lines[3:]])
    assert parse(kore, "--format", "jsonl", "two bags to Oslo", "either") == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["intent"]["name"], first["entities"]) == ("Order Tea", [{"entity": "City", "value": "Oslo"}])
    assert (second["intent"]["name"], second["matched"]) == (None, ["Cancel Order", "Track Parcel"])


def test_what_was_parsed_before_the_platform_gave_up_is_printed(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.fault = lambda _call: refusal(401, "Invalid SDK credentials", 4002) if len(kore.calls) > 1 else None
    assert parse(kore, "two bags to Oslo", "stop it") == 2
    told = capsys.readouterr()
    assert told.out.startswith("two bags to Oslo\n  Order Tea")
    assert "stop it\n  not evaluated" in told.out
    golden(told.err, only="credentials")


@pytest.mark.parametrize("way", ["find-intent", "batch"])
def test_names_of_suites_and_answers_are_text_wherever_progress_is_shown(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], way: str
) -> None:
    """Neither a suite's name nor the platform's words become a command of the host."""
    forged = "x ##[error]forged ::error::f"
    (folder / f"{forged}.json").write_bytes(CONTENT)
    kore.intents["two bags to Oslo"] = (forged,)
    opens = ("--engine", "kore", "--kore-host", kore.url, "--kore-bot-id", BOT, "--kore-client-id", CLIENT)
    batch = ["test", "batch", f"{forged}.json", *opens, "--kore-bot-name", "Tea Shop", "--kore-way", way]
    assert run_command_line(batch) == 1
    kore.ends_as = "\n::error::ended"
    assert run_command_line(batch) == (1 if way == "find-intent" else 2)
    kore.fault = lambda _call: refusal(500, "\r\n::error::forged ##[warning]f")
    assert run_command_line(batch) == 2
    kore.fault = lambda _call: None
    kore.suites[forged] = Suite("ts-2", "\n::error::f", CONTENT, "json")
    for command in (["suites"], ["suites", "--json"], ["run", forged], ["run", forged, "--no-wait"]):
        run(kore, *command)

    shown = capsys.readouterr()
    assert "forged" in shown.err
    assert not re.search(r"(?m)^\s*::|##\[", shown.out + shown.err)


@pytest.mark.follows(page="kore-batch", sentence="A new suite is run on both versions at once.")
def test_a_new_suite_is_run_on_both_versions_side_by_side(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kore.published = {"stop it": ("Cancel Order",)}
    assert run(kore, "import", "smoke.json", "--wait", "--json", "new.json") == 1
    development, published = kore.suites["smoke"].runs
    assert capsys.readouterr().out.splitlines() == [
        "'smoke' is on the platform: 2 cases",
        f"smoke           {'in-development':<20}  published",
        f"run             {development:<20}  {published}",
        "began           2026-01-05 17:43 UTC  2026-01-05 17:43 UTC",
        "outcome         success               success",
        "TP, TN, FP, FN  1, 0, 1, 0            2, 0, 0, 0",
        "precision       0.50                  1.00",
        "recall          1.00                  1.00",
        "F1              0.67                  1.00",
        "passed          1 of 2                2 of 2",
        "1 utterance understood differently:",
        "  'stop it': in-development FP Track Parcel, published TP Cancel Order",
    ]
    runs = json.loads((folder / "new.json").read_text())["runs"]
    assert [(one["version"], one["figures"]["f1"]) for one in runs] == [
        ("in-development", "0.67"),
        ("published", "1.00"),
    ]
    assert run(kore, "import", "smoke.json") == 0  # it is not new any more
    assert len(kore.suites["smoke"].runs) == 2
    assert run(kore, "import", "smoke.json", "--name", "other", "--no-run") == 0
    assert kore.suites["other"].runs == {}


def test_a_suite_is_run_on_both_versions_one_after_the_other_where_the_platform_wants_it(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.one_at_a_time = True
    assert run(kore, "run", NAME, "--both-versions", "--csv", "out.csv") == 1
    golden(capsys.readouterr().out, only="understand")
    assert {path.name for path in folder.glob("*.csv")} == {"out-in-development.csv", "out-published.csv"}
    assert run(kore, "run", NAME, "--both-versions", "--kore-version", "published") == 2


@pytest.mark.follows(page="kore-batch", sentence="A run of the published version needs a published assistant.")
def test_a_version_that_cannot_be_run_is_a_column_that_says_so(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.is_published = False
    assert run(kore, "run", NAME, "--both-versions") == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[3].split("  ")[-1].strip() == "-"
    golden(lines[-1])


def test_versions_are_compared_utterance_by_utterance(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also if the results of one lack a row, so that they are not in the same places."""
    kore.published = {"stop it": ("Cancel Order",)}

    def without_a_row(call: Call) -> Raw | None:
        name = call.path.rpartition("/")[2]
        if not call.path.startswith("/files/second/") or name.removesuffix(".csv") != list(kore.suites[NAME].runs)[-1]:
            return None
        kept = [line for line in kore.links[name].splitlines(keepends=True) if not line.startswith(b'"two bags')]
        return Raw(b"".join(kept))

    for published, told in (
        (("Cancel Order",), "1 utterance understood differently:"),
        (("Track Parcel",), "Both versions understand every other utterance alike."),
    ):
        kore.published = {"stop it": published}
        kore.fault = without_a_row
        run(kore, "run", NAME, "--both-versions")
        lines = capsys.readouterr().out.splitlines()
        alone = next(place for place, line in enumerate(lines) if "in the results of one version only" in line)
        assert lines[alone].startswith("1 utterance is")
        assert lines[alone + 1] == told


def test_the_column_of_a_run_that_was_cancelled_says_so(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kore.polls = 3

    def somebody_cancels(call: Call) -> Raw | None:
        runs = kore.suites[NAME].runs
        if call.path.endswith("/status"):
            kore.suites[NAME].runs = {
                number: one for number, one in runs.items() if one["version"] == "published" or one["polls"] > 1
            }
        return None

    kore.fault = somebody_cancels
    assert run(kore, "run", NAME, "--both-versions", "--json", "both.json") == 2
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines if line.startswith("outcome")] == [["outcome", "cancelled", "success"]]
    assert "ended as 'cancelled'" in lines[-1]
    runs = json.loads((folder / "both.json").read_text())["runs"]
    assert [one["status"] for one in runs] == ["cancelled", "completed"]


@pytest.mark.parametrize("trouble", ["run", "status"])
def test_what_one_version_gave_is_shown_though_the_platform_then_gives_up(
    kore: FakeKore, folder: Path, trouble: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    def gives_up(call: Call) -> Raw | None:
        runs = kore.suites[NAME].runs
        is_second = call.path.endswith(f"/{list(runs)[-1]}/status") if len(runs) > 1 else len(runs) == 1
        return refusal(403, "No access") if call.path.endswith(f"/{trouble}") and is_second else None

    kore.fault = gives_up
    assert run(kore, "run", NAME, "--both-versions", "--json", "both.json") == 2
    golden(capsys.readouterr().out.splitlines()[-1])
    first, second = json.loads((folder / "both.json").read_text())["runs"]
    assert (first["status"], first["figures"]["f1"], second["status"]) == ("completed", "0.67", "failed")


def test_an_imported_suite_is_said_to_be_there_though_it_cannot_be_run(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    faults = (
        lambda call: call.path.endswith("/run"),
        lambda call: call.path.endswith("/testsuite") and len(kore.suites) > 1,
    )
    for number, is_refused in enumerate(faults):
        kore.fault = partial(_answered, is_refused, refusal(403, "No access"))
        assert run(kore, "import", "smoke.json", "--wait", "--name", f"new {number}") == 2
        told = capsys.readouterr().err
        golden(told)
        del kore.suites[f"new {number}"]


@pytest.mark.follows(
    page="kore-batch",
    sentence="A run that is under way can be cancelled. (No public call only cancels a run: it is deleted.)",
)
def test_a_run_is_cancelled_on_the_platform(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.polls = 5
    for version in ("in-development", "published"):
        run(kore, "run", NAME, "--no-wait", "--kore-version", version)
        number = capsys.readouterr().out.strip()
        assert run(kore, "cancel", NAME, number) == 0
        assert capsys.readouterr().out == f"Cancelled: '{number}'.\n"
        assert kore.suites[NAME].runs == {}
    kore.polls, kore.goes_on = 5, True
    run(kore, "run", NAME, "--no-wait")
    number = capsys.readouterr().out.strip()
    assert run(kore, "cancel", NAME, number) == 2
    golden(capsys.readouterr().err)
    kore.polls = 0
    run(kore, "run", NAME, "--no-wait")
    number = capsys.readouterr().out.strip()
    assert run(kore, "cancel", NAME, number) == 2
    golden(capsys.readouterr().err)
    kore.polls, kore.goes_on = 1, True
    run(kore, "run", NAME, "--no-wait")
    number = capsys.readouterr().out.strip()
    assert run(kore, "cancel", NAME, number) == 2
    golden(capsys.readouterr().err)


@pytest.mark.parametrize("ending", ["cancelled", "failed", "running"])
@pytest.mark.parametrize("is_in_list", [False, True])
def test_a_run_without_a_result_is_listed_as_it_ended(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], ending: str, *, is_in_list: bool
) -> None:
    run(kore, "run", NAME, "--no-wait")
    (number,) = kore.suites[NAME].runs
    kore.suites[NAME].runs[number]["polls"] = 99 if ending == "running" else 0
    kore.ends_as = ending
    if is_in_list:
        told: dict[str, Any] = {"_id": number, "version": "inDevelopment", "status": ending}
        told |= {"results": {"TP": 1}} if ending == "cancelled" else {}
        member = {"testSuiteType": "custom", "name": NAME, "results": [told]}
        page = answer(200, {"count": 1, "moreAvailable": False, "ts-1": member})
        kore.fault = partial(_answered, lambda call: call.path.endswith("/testsuite"), page)
    capsys.readouterr()
    words = {"running": "under way"}.get(ending, ending)
    assert run(kore, "suites") == 0
    assert capsys.readouterr().out.splitlines()[1] == f"  {number}, in-development: {words}"
    assert run(kore, "suites", "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["suites"][0]["runs"][0]["status"] == words


def test_suites_are_listed_though_the_state_of_a_run_may_not_be_asked_for(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    run(kore, "run", NAME, "--no-wait")
    capsys.readouterr()
    kore.fault = partial(_answered, lambda call: call.path.endswith("/status"), refusal(403, "No access"))
    assert run(kore, "suites") == 0
    golden(capsys.readouterr().out.splitlines()[1])


@pytest.mark.follows(page="kore-batch", sentence="A cancelled run has no CSV of results.")
def test_a_cancelled_run_has_no_csv(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    run(kore, "run", NAME, "--no-wait")
    number = capsys.readouterr().out.strip()
    of_result = {"status": "completed", "result": {"status": "cancelled", "results": {}, "fileUrl": kore.url}}
    for state in ({"status": "cancelled"}, {"status": "Canceled"}, of_result):
        kore.fault = partial(_answered, lambda call: call.path.endswith("/status"), answer(200, state))
        assert run(kore, "status", NAME, number, "--csv", "out.csv") == 0
        told = capsys.readouterr()
        assert told.out.strip().lower() in {"cancelled", "canceled"}
        golden(told.err)
        assert not (folder / "out.csv").exists()
        assert run(kore, "run", NAME, "--csv", "out.csv") == 2
        assert not (folder / "out.csv").exists()
        capsys.readouterr()


@pytest.mark.follows(
    page="kore-batch",
    sentence="Cancelling is refused while another cancellation is under way: the reason is shown.",
)
def test_a_platform_that_refuses_to_cancel_says_why(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kore.polls = 5
    run(kore, "run", NAME, "--no-wait")
    number = capsys.readouterr().out.strip()
    kore.fault = lambda call: (
        refusal(400, "Another batch test cancellation is in progress") if call.method == "DELETE" else None
    )
    assert run(kore, "cancel", NAME, number) == 2
    assert "Another batch test cancellation is in progress" in capsys.readouterr().err
    assert list(kore.suites[NAME].runs) == [number]


@pytest.mark.follows(
    page="kore-batch",
    sentence=(
        "Notes that say what a run is for are given at its start. (No documented call takes them: they "
        "are sent all the same.)"
    ),
)
@pytest.mark.parametrize("takes", [True, False, None])
def test_notes_reach_a_platform_that_takes_them(
    kore: FakeKore, folder: Path, takes: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    kore.takes_notes = takes
    assert run(kore, "run", NAME, "--notes", "after the retraining", "--json", "run.json") == 1
    assert json.loads((folder / "run.json").read_text())["notes"] == "after the retraining"
    assert ("The platform did not keep the notes" in capsys.readouterr().err) is not takes
    assert kore.calls[-1].path.startswith("/files/")
    assert run(kore, "run", NAME, "--notes", "x" * 1025) == 2


def test_notes_that_the_platform_keeps_beside_the_result_are_kept(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where the CSV of the run is not available: notes alone do not need it."""

    def with_notes(call: Call) -> Raw | None:
        if not call.path.endswith("/status"):
            return None
        (known,) = kore.suites[NAME].runs.values()
        result = {key: value for key, value in known["result"].items() if key != "fileUrl"}
        return answer(
            200, {"status": "completed", "result": {**result, "notes": kore.calls[0].body.get("notes", "") + "\r\n"}}
        )

    kore.fault = with_notes
    assert run(kore, "run", NAME, "--notes", " after the\nretraining ") == 1
    told = capsys.readouterr()
    assert "1 of 2 utterances passed" in told.out
    assert "the notes" not in told.err
    kore.calls.clear()
    kore.suites[NAME].runs.clear()
    assert run(kore, "run", NAME, "--notes", "  ") == 1
    assert "notes" not in kore.calls[0].body
