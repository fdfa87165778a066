"""``--engine kore``: suites and sentences judged by the assistant on its platform (a fake of it)."""

from __future__ import annotations

import csv
import json
import shutil
import signal
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fake_kore import BOT, CLIENT, LIMITED, SECRET, Call, FakeKore, Raw, answer, refusal, serving
from golden_texts import Golden
from msgspec import UnsetType

from turncheck.cli import run_command_line
from turncheck.platforms.kore.engine.client import Clock
from turncheck.platforms.kore.engine.engines import MOST_FAULTS
from turncheck.report.codec import decode
from turncheck.report.model import Batch, Report

EXPORT = Path(__file__).parents[1] / "oracle" / "kore" / "exports" / "tea_shop" / "botDefinition.json"
CASES: list[dict[str, Any]] = [
    {
        "input": "two bags to Oslo",
        "intent": "order_tea",
        "entities": [{"entityName": "City", "entityValue": "Oslo"}, {"entityName": "Quantity", "entityValue": "2"}],
    },
    {"input": "stop it", "intent": "Cancel Order"},
    {"input": "so urgent", "intent": "trait: Urgent"},
    {"input": "hm", "intent": "None"},
    {"input": "either", "intent": "Order Tea | Track Parcel"},
]


@pytest.fixture
def kore(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKore]:
    fake = FakeKore(
        intents={
            "two bags to Oslo": ("Order Tea",),
            "stop it": ("Track Parcel",),
            "hm": ("Default Fallback Intent",),
            "either": ("Track Parcel", "Order Tea"),
        },
        entities={"two bags to Oslo": {"City": ["Oslo"], "Quantity": 2}},
        traits={"so urgent": ("Urgent", "Angry")},
    )
    monkeypatch.setattr("turncheck.platforms.kore.engine.engines.Clock", lambda: Clock(sleep=lambda _seconds: None))
    with serving(fake):
        yield fake


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smoke.json").write_text(json.dumps({"testCases": CASES}), "utf-8")
    return tmp_path


def run(kore: FakeKore, *arguments: str, name: str = "Tea Shop", command: tuple[str, ...] = ("test", "batch")) -> int:
    named = ("--kore-bot-name", name) if name else ()
    opens = ("--kore-bot-id", BOT, "--kore-client-id", CLIENT, "--kore-client-secret", SECRET)
    once = ("--repeat", "1") if command == ("test", "batch") else ()  # else each is asked until it is judged
    return run_command_line([*command, *arguments, *once, "--engine", "kore", "--kore-host", kore.url, *opens, *named])


def report_of(folder: Path) -> Report:
    return decode((folder / "r.json").read_bytes())


def batch_of(folder: Path) -> Batch:
    batch = report_of(folder).batch
    assert batch is not None
    return batch


@pytest.mark.follows(page="kore-batch", sentence="Success: all records of the file were processed.")
@pytest.mark.parametrize("way", ["find-intent", "batch"])
def test_both_ways_judge_a_suite_alike(
    kore: FakeKore, folder: Path, way: str, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    if way == "batch":
        kore.intents["hm"] = ()
    assert run(kore, "smoke.json", "--kore-way", way, "--json", "r.json", "--csv", "out.csv") == 1
    (suite,) = batch_of(folder).suites
    assert [case.result for case in suite.cases] == ["tp", "fp", "tp", "tn", "tp"]
    assert [case.passed for case in suite.cases] == [True, False, True, True, True]
    assert [entity.passed for entity in suite.cases[0].entities] == [True, True]
    assert (suite.outcome, suite.version) == ("success", "in-development")
    engine = report_of(folder).engine
    assert engine is not None
    assert (engine.name, engine.version, engine.model) == ("kore", "in-development", "Tea Shop")
    shown = capsys.readouterr()
    everything = shown.out + shown.err + "".join(path.read_text("utf-8") for path in folder.iterdir())
    for secret in (SECRET, "NEVER-SHOW", *(call.headers.get("auth", SECRET) for call in kore.calls)):
        assert secret not in everything
    if way == "batch":
        assert kore.suites["smoke"].content == (folder / "smoke.json").read_bytes()
        golden(shown.err, only="utterances")
    else:
        golden(shown.err)


@pytest.mark.follows(page="kore-batch", sentence="A suite runs on the version in development or on the published one.")
def test_the_published_version_is_asked_where_it_is_wanted(kore: FakeKore, folder: Path) -> None:
    run(kore, "smoke.json", "--kore-version", "published", "--json", "r.json", "--language", "de")
    assert {call.query["fetchConfiguredTasks"] for call in kore.calls} == {"false"}
    assert {call.headers["bot-language"] for call in kore.calls} == {"de"}
    assert batch_of(folder).suites[0].version == "published"
    run(kore, "smoke.json", "--kore-version", "published", "--kore-way", "batch")
    assert next(call.body for call in kore.calls if call.path.endswith("/run")) == {"version": "published"}
    kore.calls.clear()
    run(kore, "smoke.json", "--json", "r.json")
    assert {call.query["fetchConfiguredTasks"] for call in kore.calls} == {"true"}
    assert batch_of(folder).suites[0].version == "in-development"
    run(kore, "smoke.json", "--kore-way", "batch")
    assert next(call.body for call in kore.calls if call.path.endswith("/run")) == {"version": "inDevelopment"}


def test_a_case_without_an_answer_is_not_evaluated(kore: FakeKore, folder: Path, golden: Golden) -> None:
    def fault(call: Call) -> Raw | None:
        fails = isinstance(call.body, dict) and call.body.get("input") == "hm"
        return Raw(b"<html>oops", 500) if fails else None

    kore.fault = fault
    kore.intents["stop it"] = ("Cancel Order",)
    assert run(kore, "smoke.json", "--json", "r.json") == 1
    (suite,) = batch_of(folder).suites
    assert (suite.not_evaluated, suite.failed) == (1, 1)
    golden(suite.outcome)
    assert "answers 500" in str(suite.cases[3].reason)


@pytest.mark.follows(
    page="kore-batch",
    sentence="Success with a warning: one or more records could not be evaluated because of a system error;"
    " the reason is shown.",
)
def test_a_partial_run_of_the_platform_is_a_warning(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.fails = ("hm",)
    assert run(kore, "smoke.json", "--json", "r.json", "--kore-way", "batch") == 1
    (suite,) = batch_of(folder).suites
    assert suite.not_evaluated == 1
    golden(suite.outcome)
    printed = capsys.readouterr().out
    golden(printed, only="batch cases passed")
    golden(printed, only="platform's")


def test_nothing_could_be_evaluated(kore: FakeKore, folder: Path) -> None:
    kore.fault = lambda _call: refusal(400, "Bad Request")
    assert run(kore, "smoke.json", "--json", "r.json") == 2
    kore.fault = lambda _call: None
    kore.ends_as = "failed"
    assert run(kore, "smoke.json", "--kore-way", "batch") == 2


def test_a_platform_that_answers_nothing_is_not_asked_for_ever(kore: FakeKore, folder: Path) -> None:
    many = [{"input": f"sentence {number}", "intent": "None"} for number in range(100)]
    (folder / "many.json").write_text(json.dumps({"testCases": [CASES[0], *many]}), "utf-8")
    kore.fault = lambda call: None if call.body["input"] == CASES[0]["input"] else Raw(b"", 503)
    assert run(kore, "many.json", "--json", "r.json") == 2
    assert len(kore.calls) == 1 + 3 * MOST_FAULTS
    (suite,) = batch_of(folder).suites
    assert (suite.counts.tp, suite.not_evaluated) == (1, 100)


def test_a_run_that_is_cut_short_keeps_what_was_judged(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kore.fault = lambda _call: refusal(401, "Invalid SDK credentials", 4002) if len(kore.calls) > 2 else None
    assert run(kore, "smoke.json", "--json", "r.json") == 2
    (suite,) = batch_of(folder).suites
    assert [case.result for case in suite.cases] == ["tp", "fp", *["not-evaluated"] * 3]
    assert "scopes" in capsys.readouterr().err


def test_an_interrupt_keeps_what_was_judged(kore: FakeKore, folder: Path) -> None:
    def fault(_call: Call) -> Raw | None:
        if len(kore.calls) == 3:
            signal.raise_signal(signal.SIGINT)
        return None

    kore.fault = fault
    assert run(kore, "smoke.json", "--json", "r.json") == 130
    assert [case.result for case in batch_of(folder).cases][:2] == ["tp", "fp"]


def test_rate_limits_are_waited_out_and_said(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.fault = lambda _call: answer(429, LIMITED, retry_after="30") if len(kore.calls) == 2 else None
    assert run(kore, "smoke.json", "--json", "r.json") == 1
    assert batch_of(folder).not_evaluated == 0
    golden(capsys.readouterr().err)


def test_a_longer_wait_ends_the_run_at_once_and_what_was_judged_is_written(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.fault = lambda _call: answer(429, LIMITED, retry_after="3600") if len(kore.calls) > 2 else None
    assert run(kore, "smoke.json", "--json", "r.json") == 2
    (suite,) = batch_of(folder).suites
    assert [case.result for case in suite.cases] == ["tp", "fp", *["not-evaluated"] * 3]
    golden(capsys.readouterr().err)
    assert len(kore.calls) == 3


def test_a_suite_that_the_platform_would_refuse_is_refused_before(kore: FakeKore, folder: Path) -> None:
    many = [{"input": f"sentence {number}", "intent": "None"} for number in range(1001)]
    (folder / "many.json").write_text(json.dumps({"testCases": many}), "utf-8")
    assert run(kore, "many.json", "--kore-way", "batch") == 2
    assert not kore.calls


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--kore-host", "http://kore.example"], "is not an address of Kore.ai's platform"),
        (["--kore-host", "https://kore.example?x=1"], "is not an address of Kore.ai's platform"),
        (["--kore-way", "guess"], "--kore-way: 'guess' is not one of"),
        (["--kore-timeout", "0"], "--kore-timeout: expected a whole number"),
    ],
)
def test_settings_are_checked(
    kore: FakeKore, folder: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str], *, golden: Golden
) -> None:
    opens = ["--engine", "kore", "--kore-bot-id", BOT, "--kore-client-id", CLIENT, "--kore-client-secret", SECRET]
    assert run_command_line(["test", "batch", "smoke.json", *opens, "--kore-bot-name", "x", *arguments]) == 2
    assert told in capsys.readouterr().err
    assert run(kore, "smoke.json", name="") == 2
    golden(capsys.readouterr().err)


def test_what_opens_the_platform_must_be_there(
    folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    assert run_command_line(["test", "batch", "smoke.json", "--engine", "kore", "--kore-bot-id", BOT]) == 2
    told = capsys.readouterr().err
    golden(told)


def test_the_secret_may_come_by_a_variable(kore: FakeKore, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNCHECK_KORE_CLIENT_SECRET", SECRET)
    opens = ["--kore-host", kore.url, "--kore-bot-id", BOT, "--kore-client-id", CLIENT, "--kore-bot-name", "Tea Shop"]
    assert run_command_line(["test", "batch", "smoke.json", "--engine", "kore", *opens]) == 1
    assert kore.tokens


def project(folder: Path) -> None:
    """A Rasa project whose sentences a Kore.ai assistant is asked about."""
    (folder / "config.yml").write_text("recipe: default.v1\nlanguage: en\npipeline: []\npolicies: []\n")
    (folder / "domain.yml").write_text('version: "3.1"\nintents: [order_tea, cancel]\n')
    (folder / "data").mkdir()
    (folder / "data" / "nlu.yml").write_text(nlu(order_tea=["buy tea"], cancel=["no more"]))
    (folder / "tests").mkdir()
    (folder / "tests" / "test_nlu.yml").write_text(nlu(order_tea=["two bags to Oslo"], cancel=["stop it", "either"]))


def nlu(**examples: Any) -> str:
    lines = ['version: "3.1"', "nlu:"]
    for intent, texts in examples.items():
        lines += [f"- intent: {intent}", "  examples: |", *(f"    - {text}" for text in texts)]
    return "\n".join(lines) + "\n"


def test_sentences_are_judged_by_find_intent(kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(folder)
    arguments = ("--nlu", "tests/test_nlu.yml", "--json", "r.json", "--no-plot")
    assert run(kore, *arguments, command=("test", "nlu")) == 0
    section = report_of(folder).nlu
    assert section is not None
    assert [one.predicted.intent for one in section.predictions] == ["order_tea", "Track Parcel", None]
    assert "3 utterances by" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (
            ("nlu", "--cross-validation", "--no-plot"),
            "Leave --cross-validation out, or use an engine that can be trained here.",
        ),
        (("robustness",), "Name test sentences with --nlu, or use an engine that can be trained here."),
    ],
)
def test_a_command_says_what_cannot_be_trained_here(
    kore: FakeKore,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    hint: str,
    *,
    golden: Golden,
) -> None:
    project(folder)
    (folder / "tests" / "test_nlu.yml").unlink()
    assert run(kore, command=("test", *words)) == 2
    error = capsys.readouterr().err
    golden(error)
    assert hint in error


def test_a_run_judges_sentences_and_says_what_it_cannot(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    project(folder)
    assert run(kore, "--json", "r.json", "--baseline", "none", command=("run",)) == 0
    report = report_of(folder)
    assert report.nlu is not None
    assert report.nlu.mode == "held-out"
    assert "Find Intent" in capsys.readouterr().err
    (folder / "tests" / "test_nlu.yml").unlink()
    run(kore, "--json", "r.json", "--baseline", "none", command=("run",))
    golden(*(skipped.reason for skipped in report_of(folder).skipped if skipped.evaluation == "nlu"))


def test_a_run_judges_the_suites_of_an_export_and_fails_by_them(kore: FakeKore, folder: Path) -> None:
    shutil.copy(EXPORT, folder)
    (folder / "tests").mkdir()
    (folder / "smoke.json").rename(folder / "tests" / "smoke.json")
    arguments = ("--json", "r.json", "--baseline", "none", "--notes", "a note")
    assert run(kore, *arguments, command=("run",), name="") == 1
    report = report_of(folder)
    assert report.batch is not None
    (suite,) = report.batch.suites
    assert (suite.notes, suite.counts.tp, suite.counts.fp) == ("a note", 3, 1)
    assert report.engine is not None
    assert report.engine.model == "Tea Shop"
    kore.intents["stop it"] = ("Cancel Order",)
    for way in ("find-intent", "batch"):
        kore.intents["hm"] = ()
        assert run(kore, *arguments, "--kore-way", way, command=("run",), name="") == 0
    assert run(kore, "--notes", "x" * 1025, command=("run",), name="") == 2


def test_single_utterances_are_asked_again_and_suites_that_the_platform_runs_are_not(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    shutil.copy(EXPORT, folder)
    (folder / "tests").mkdir()
    (folder / "smoke.json").rename(folder / "tests" / "smoke.json")
    asked: list[str] = []

    def wrong_at_first(call: Call) -> Raw | None:
        if not isinstance(call.body, dict) or "input" not in call.body:
            return None
        asked.append(text := call.body["input"])
        if text == "stop it" and asked.count(text) == 1:
            return answer(200, kore.understood("nothing like it", "Tea Shop"))
        return None

    kore.intents["stop it"], kore.intents["hm"], kore.fault = ("Cancel Order",), (), wrong_at_first
    arguments = ("--json", "r.json", "--baseline", "none")
    assert run(kore, *arguments, command=("run",), name="") == 0
    cases = {case.text: case for case in batch_of(folder).cases}
    runs = {text: case.repeats.runs for text, case in cases.items() if not isinstance(case.repeats, UnsetType)}
    assert set(runs) == set(cases)
    assert {runs[text] for text in cases if text != "stop it"} == {"PP"}
    assert runs["stop it"].startswith("FPp")
    assert cases["stop it"].passed
    assert asked.count("hm") == 2
    assert run(kore, *arguments, "--kore-way", "batch", command=("run",), name="") == 0
    assert isinstance(batch_of(folder).repeats, UnsetType)
    golden(capsys.readouterr().err, only="whole")
    engine = report_of(folder).engine
    assert engine is not None
    golden(*engine.notes, only="again")


@pytest.mark.follows(page="kore-batch", sentence="Failed: a system error from which the run could not go on.")
def test_a_suite_whose_run_fails_leaves_the_others_judged(
    kore: FakeKore, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "second.json").write_text((folder / "smoke.json").read_text("utf-8"), "utf-8")
    failed = answer(200, {"status": "failed", "message": "System error"})
    kore.fault = lambda call: failed if "/smoke/" in call.path and call.path.endswith("/status") else None
    files = ("smoke.json", "second.json", "--project", "elsewhere", "--json", "r.json")
    assert run(kore, *files, "--kore-way", "batch") == 2
    first, second = batch_of(folder).suites
    assert (first.outcome, second.outcome) == ("failed", "success")
    golden(capsys.readouterr().err, only="'smoke'")


def test_a_run_in_which_nothing_could_be_evaluated_could_not_be_done(kore: FakeKore, folder: Path) -> None:
    shutil.copy(EXPORT, folder)
    (folder / "tests").mkdir()
    (folder / "smoke.json").rename(folder / "tests" / "smoke.json")
    kore.fault = lambda _call: refusal(400, "Bad Request")
    assert run(kore, "--json", "r.json", "--baseline", "none", command=("run",)) == 2
    assert batch_of(folder).suites[0].outcome == "failed"


def test_a_run_that_was_cancelled_there_is_called_so(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    kore.ends_as = "cancelled"
    assert run(kore, "smoke.json", "--json", "r.json", "--kore-way", "batch") == 2
    (suite,) = batch_of(folder).suites
    assert (suite.outcome, suite.not_evaluated) == ("cancelled", len(CASES))
    printed = capsys.readouterr().out
    golden(printed, only="cancelled")


def test_a_suite_that_is_named_needs_no_assistant_here(kore: FakeKore, folder: Path) -> None:
    (folder / "bot").mkdir()
    shutil.copy(EXPORT, folder / "bot" / "botDefinition.json")
    assert run(kore, "smoke.json", "--json", "r.json") == 1
    assert batch_of(folder).not_evaluated == 0


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_what_is_uploaded_is_utf_8(kore: FakeKore, folder: Path, encoding: str) -> None:
    (folder / "menu.csv").write_bytes("sep=;\ninput;intent\ncaf\u00e9;Order Tea\n".encode(encoding))
    run(kore, "menu.csv", "--kore-way", "batch")
    assert kore.suites["menu"].content == "input;intent\ncaf\u00e9;Order Tea\n".encode()
    assert next(call for call in kore.calls if call.path.endswith("/import")).body["delimiter"] == ";"


def test_the_csv_has_what_the_platforms_own_report_says(kore: FakeKore, folder: Path) -> None:
    def with_block(call: Call) -> Raw | None:
        if not call.path.startswith("/files/second"):
            return None
        name = call.path.rpartition("/")[2]
        more = b'"Bot Language:","en"\n"Mode:","faq"\n"pathCoverage:","50"\n"Last Tested:","2026-01-05 17:44"\n'
        return Raw(more + kore.links[name])

    kore.fault = with_block
    run(kore, "smoke.json", "--kore-way", "batch", "--csv", "out.csv", name="")
    written = (folder / "out.csv").read_text("utf-8")
    for line in ('"Bot Name:","Tea Shop"', '"Bot Language:","en"', '"Mode:","faq"\n"pathCoverage:","50"\n'):
        assert line in written
    assert '"Last Tested:","2026-01-05 17:44"' in written


def table_of(folder: Path) -> list[dict[str, str]]:
    lines = (folder / "out.csv").read_text("utf-8").splitlines()
    start = next(number for number, row in enumerate(lines) if row.startswith('"Utterance"'))
    return list(csv.DictReader(lines[start:]))


@pytest.mark.follows(
    page="kore-batch",
    sentence=(
        "The actual order of entities: as given; if none is given, that of the system (entities that are "
        "learned or found by a pattern first); if some are, both combined."
    ),
)
def test_the_platforms_own_order_of_entities_is_told_where_none_was_given(kore: FakeKore, folder: Path) -> None:
    kore.entities["two bags to Oslo"] = {"Quantity": 2, "City": ["Oslo"]}
    run(kore, "smoke.json", "--json", "r.json", "--csv", "out.csv")
    order = batch_of(folder).suites[0].cases[0].order
    assert order is not None
    assert (order.expected, order.actual, order.assumed) == ((), ("Quantity", "City"), False)
    first = table_of(folder)[0]
    assert (first["Expected Entity Order"], first["Actual Entity Order"]) == ("", "Quantity>City")


@pytest.mark.follows(
    page="kore-batch",
    sentence="The scores of FM, ML and KG are shown separately, if the engine detects the intent.",
)
def test_the_scores_of_the_platforms_engines_are_kept_apart(kore: FakeKore, folder: Path) -> None:
    kore.engines["stop it"] = {
        "Track Parcel": {"fm": 11643.33, "ml": 0.71},
        "Cancel Order": {"ml": 0.64, "faq": 52.0},
    }
    run(kore, "smoke.json", "--json", "r.json", "--csv", "out.csv")
    scores = batch_of(folder).suites[0].cases[1].scores
    assert {name: score for name, score in scores.items() if name.endswith(")")} == {
        "Track Parcel (FM)": 11643.33,
        "Track Parcel (ML)": 0.71,
        "Cancel Order (ML)": 0.64,
        "Cancel Order (KG)": 52.0,
    }
    row = next(row for row in table_of(folder) if row["Utterance"] == "stop it")
    assert row["Matched Intent's Score"] == "FM: 11643.3300, ML: 0.7100"
    assert row["Expected Intent's Score"] == "ML: 0.6400, KG: 52.0000"


@pytest.mark.follows(
    page="kore-batch", sentence="A suite for a universal bot names the bot of each intent, in the same order."
)
@pytest.mark.parametrize(("bot", "result"), [("Tea Shop", "tp"), ("City Library", "fp"), ("", "tp")])
def test_the_bot_of_a_universal_bots_intent_is_compared(
    kore: FakeKore, folder: Path, bot: str, result: str, golden: Golden
) -> None:
    case = {"input": "two bags to Oslo", "intent": "Order Tea|Reserve Book", "botName": "tea_shop|City Library"}
    (folder / "universal.json").write_text(json.dumps({"testCases": [case]}), "utf-8")
    kore.bots = {"Order Tea": bot} if bot else {}
    run(kore, "universal.json", "--json", "r.json", "--out", "out")
    (judged,) = batch_of(folder).suites[0].cases
    assert (judged.result, judged.bots) == (result, ("tea_shop", "City Library"))
    assert judged.matched_bots == ((bot,) if bot else ())
    assert (judged.reason is not None) == (result == "fp")
    assert result != "fp" or "bot City Library" in str(judged.reason)
    if result == "fp":
        junit = (folder / "out" / "junit.xml").read_text("utf-8")
        assert "\nbot: expected 'tea_shop or City Library', got 'City Library'\n" in junit
        run_command_line(["report", "render", "r.json", "--out", "again"])
        shown = (folder / "again" / "summary.md").read_text("utf-8")
        golden(shown, only="`Order")


@pytest.mark.parametrize(
    ("expected", "judged"),
    [
        (("Pay", "Tea Shop"), ("fp", "Pay is matched in the bot City Library, too")),
        (("Pay|Pay", "Tea Shop|City Library"), ("tp", None)),
        (("Pay", ""), ("tp", None)),
        (("None", ""), ("fp", None)),
    ],
)
def test_an_intent_of_two_linked_bots_is_ambiguous(
    kore: FakeKore,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    expected: tuple[str, str],
    judged: tuple[str, str | None],
) -> None:
    intent, bot = expected
    case = {"input": "pay", "intent": intent} | ({"botName": bot} if bot else {})
    (folder / "universal.json").write_text(json.dumps({"testCases": [case]}), "utf-8")
    won = [{"intent": "Pay", "botName": name} for name in ("Tea Shop", "City Library")]
    said = {"response": {"result": "ambiguousintent", "finalResolver": {"winningIntent": won}}}
    kore.fault = lambda call: answer(200, said) if call.path.endswith("/findIntent") else None
    run(kore, "universal.json", "--json", "r.json")
    (found,) = batch_of(folder).suites[0].cases
    assert (found.result, found.reason) == judged
    assert found.matched_bots == (("Tea Shop", "City Library") if bot else ())
    capsys.readouterr()
    assert run(kore, "pay", "--format", "jsonl", command=("parse",)) == 0
    assert json.loads(capsys.readouterr().out)["intent"]["name"] is None


@pytest.mark.follows(
    page="kore-batch", sentence="A cancelled run is marked as such, and none of its cases has a result."
)
@pytest.mark.parametrize("command", [("test", "batch"), ("run",)])
def test_a_suite_that_was_cancelled_is_in_the_report_as_such(
    kore: FakeKore, folder: Path, command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    kore.polls = 3

    def fault(call: Call) -> Raw | None:
        if call.path.endswith("/status"):
            for suite in kore.suites.values():
                for run in suite.runs.values():
                    if run["polls"] == 1:  # somebody cancels it there: it is gone
                        suite.runs = {}
                        return None
        return None

    kore.fault = fault
    paths = (
        ("smoke.json",) if command == ("test", "batch") else (".", "--batch", "smoke.json", "--evaluations", "batch")
    )
    more = ("--csv", "r.csv", "--out", "out") if command == ("test", "batch") else ("--baseline", "none")
    assert run(kore, *paths, "--kore-way", "batch", "--json", "r.json", *more, command=command) == 2
    (suite,) = batch_of(folder).suites
    assert suite.outcome == "cancelled"
    assert {case.result for case in suite.cases} == {"not-evaluated"}
    told = capsys.readouterr()
    assert "'smoke' was cancelled" in told.out + told.err
    if command == ("test", "batch"):
        assert "it has no CSV" in told.out + told.err
        assert not (folder / "r.csv").exists()
        assert not (folder / "out" / "batch").exists()
    if command == ("run",):
        for name in ("comment.md", "summary.md", "report.html"):
            assert "was cancelled" in (folder / "results" / name).read_text("utf-8")
        assert 'value="cancelled"' in (folder / "results" / "junit.xml").read_text("utf-8")


@pytest.mark.follows(page="kore-batch", sentence="Notes of a run can be changed there while it runs or afterwards.")
def test_notes_that_were_changed_on_the_platform_are_in_the_report(kore: FakeKore, folder: Path) -> None:
    ways = ("--kore-way", "batch", "--json", "r.json", "--csv", "out.csv")
    kore.takes_notes = True
    run(kore, "smoke.json", *ways, "--notes", "before")
    assert batch_of(folder).suites[0].notes == "before"
    kore.notes_there = "changed there"
    run(kore, "smoke.json", *ways, "--notes", "before")
    assert batch_of(folder).suites[0].notes == "before\nchanged there"
    assert '"Notes:","before\nchanged there"' in (folder / "out.csv").read_text("utf-8")
    kore.notes_there = "before, and more"
    run(kore, "smoke.json", *ways, "--notes", "before")
    assert batch_of(folder).suites[0].notes == "before, and more"


@pytest.mark.follows(
    page="kore-batch", sentence="Notes are added to a run after it, and updated; at most 1,024 characters."
)
def test_notes_are_added_to_a_report_and_changed_after_the_run(
    kore: FakeKore, folder: Path, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    run(kore, "smoke.json", "--json", "r.json")
    assert batch_of(folder).suites[0].notes == ""
    for notes in ("looked at: only one is wrong", "fixed in the next version"):
        assert run_command_line(["report", "notes", "r.json", f" {notes}\n"]) == 0
        assert batch_of(folder).suites[0].notes == notes
        assert run_command_line(["report", "render", "r.json", "--out", "again"]) == 0
        for name in ("summary.md", "report.html", "junit.xml"):
            assert notes in (folder / "again" / name).read_text("utf-8")
    capsys.readouterr()
    assert run_command_line(["report", "notes", "r.json", "x", "--suite", "other"]) == 2
    golden(capsys.readouterr().err)
    assert run_command_line(["report", "notes", "r.json", "x" * 1025]) == 2


@pytest.mark.follows(page="kore-batch", sentence="The summary shows date and time of the last run, and the version.")
@pytest.mark.parametrize("way", ["find-intent", "batch"])
def test_every_report_has_date_and_time_of_the_run(
    kore: FakeKore, folder: Path, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(kore, "smoke.json", "--kore-way", way, "--json", "r.json", "--csv", "out.csv", "--out", "out")
    report = report_of(folder)
    assert report.source.measured is not None
    measured = datetime.fromisoformat(report.source.measured)
    assert abs((datetime.now(UTC) - measured).total_seconds()) < 600
    shown = "2026-01-05 17:43 UTC" if way == "batch" else f"{measured:%Y-%m-%d %H:%M} UTC"
    assert shown in capsys.readouterr().out
    written = "2026-01-05T17:43:43.927Z" if way == "batch" else report.source.measured
    assert f'"Last Tested:","{written}"' in (folder / "out.csv").read_text("utf-8")
    assert shown in (folder / "out" / "junit.xml").read_text("utf-8")
    run_command_line(["report", "render", "r.json", "--out", "again"])
    for name in ("comment.md", "summary.md", "report.html"):
        assert shown in (folder / "again" / name).read_text("utf-8")


@pytest.mark.follows(
    page="kore-batch",
    sentence="Batch tests do not know the context of a conversation: each utterance is sent by itself.",
)
def test_each_utterance_is_asked_by_itself(kore: FakeKore, folder: Path) -> None:
    cases = [{"input": "stop it", "intent": "Cancel Order"}, {"input": "hm", "intent": "A", "parentIntent": "B||C"}]
    (folder / "smoke.json").write_text(json.dumps({"testCases": cases}), "utf-8")
    run(kore, "smoke.json")
    assert [call.body for call in kore.calls] == [
        {"input": "stop it", "streamName": "Tea Shop"},
        {"input": "hm", "streamName": "Tea Shop", "parentIntent": "B||C"},
    ]


@pytest.mark.parametrize("ends_as", ["cancelled", "failed"])
@pytest.mark.parametrize("command", [("test", "batch"), ("run",)])
def test_one_of_several_suites_that_did_not_end_is_no_judgement(
    kore: FakeKore,
    folder: Path,
    command: tuple[str, ...],
    ends_as: str,
    capsys: pytest.CaptureFixture[str],
    *,
    golden: Golden,
) -> None:
    """Also where all other cases pass: the command ends with 2, not with 1 or 0."""
    kore.intents |= {"stop it": ("Cancel Order",), "hm": ()}
    for name in ("first", "second", "third"):
        (folder / f"{name}.json").write_text((folder / "smoke.json").read_text("utf-8"), "utf-8")
    ended = answer(200, {"status": ends_as, "message": "as somebody wanted"})
    kore.fault = lambda call: ended if "/second/" in call.path and call.path.endswith("/status") else None
    files = ("first.json", "second.json", "third.json")
    of_run = (".", "--batch", *files, "--evaluations", "batch", "--baseline", "none")
    arguments = (*(of_run if command == ("run",) else files), "--kore-way", "batch", "--json", "r.json")
    assert run(kore, *arguments, command=command) == 2
    suites = batch_of(folder).suites
    assert [suite.outcome for suite in suites] == ["success", ends_as, "success"]
    assert [suite.passed for suite in suites] == [len(CASES), 0, len(CASES)]
    assert report_of(folder).stopped is not None
    told = capsys.readouterr().err
    golden(told, only="'second'")
    assert f"ended as '{ends_as}': as somebody wanted" in told
