"""Whole runs of an assistant whose answers vary, by seeded coins: of itself against itself, and with a dead case."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from coins import EVERY_OTHER, RIGHT, Coins, in_shards, once_a_base
from golden_texts import Golden
from msgspec import UNSET

from turncheck.cli import run_command_line
from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.base import Capabilities, Engine
from turncheck.report.codec import decode
from turncheck.report.model import EngineInfo, Repeats
from turncheck.settings.engines import ENGINES, RegisteredEngine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turncheck.project.model import Project
    from turncheck.report.model import Report

RATES = {"ask about opening hours": 0.05, "order a pizza": 0.1, "cancel": 0.02, "greet": 0.0}
FILES = {
    "config.yml": "pipeline: []\n",
    "domain.yml": "intents: [greet]\nresponses: {utter_hi: [{text: hi}]}\n",
    "tests/e2e_test_cases.yml": "test_cases:\n"
    + "".join(f"- test_case: {name}\n  steps:\n  - user: {name}\n  - bot: {RIGHT}\n" for name in RATES),
}


class CoinEngine(Engine):
    """Holds conversations whose answers are seeded coins."""

    capabilities = Capabilities(
        no_nlu="it only talks", no_dialogue="it only talks", no_training="it learns nothing", varies=True
    )
    rates: Mapping[str, float] = RATES
    seed = 0
    at_once = 4

    def __init__(self, project: Project) -> None:
        self.project = project

    def info(self, **_: Any) -> EngineInfo:
        return EngineInfo(name="coins", version="1")

    @property
    def domain(self) -> DialogueDomain:
        return DialogueDomain.of(self.project)

    @property
    def understands(self) -> bool:
        return True

    def assistant(self, server: Any) -> Any:
        return Coins(self.rates, self.seed)


@contextmanager
def opened(_: Any, project: Project, *__: Any) -> Iterator[Engine]:
    yield CoinEngine(project)


@pytest.fixture(autouse=True)
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "coin_engine", sys.modules[__name__])
    monkeypatch.setitem(ENGINES.built_in, "coins", RegisteredEngine("coin_engine", from_files=False))
    return tmp_path


def run(*flags: str, out: str = "results", base: str = "none", gate: str = "new-failures") -> int:
    begin = ["run", "--engine", "coins", "--quiet", "--evaluations", "e2e", "--out", out, "--baseline", base]
    return run_command_line([*begin, *(["--fail-on", gate] if gate else []), *flags])


def report(out: str = "results") -> Report:
    return decode(Path(out, "report.json").read_bytes())


def repeats(name: str, out: str = "results") -> Repeats:
    section = report(out).e2e
    assert section is not None
    found = next(case.repeats for case in section.cases if case.name == name)
    assert isinstance(found, Repeats)
    return found


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


@pytest.fixture
def base(bot: Path, bases: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The report of a base with twenty runs of each case."""
    monkeypatch.setattr(CoinEngine, "seed", 4711)
    return once_a_base(bases / "base", lambda: run("--repeats", "first: 20, most: 20", out="base", gate="none"))


def test_an_assistant_without_a_change_passes_and_a_dead_case_fails(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = 0
    for seed in range(8):
        monkeypatch.setattr(CoinEngine, "seed", seed)
        monkeypatch.setattr(CoinEngine, "rates", RATES)
        failed += run(base=base)
        monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 1.0})
        assert run(base=base) == 1
        assert repeats("greet").outcome == "regressed"
    assert failed == 0


def test_what_regressed_is_said_everywhere(base: str, bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 1.0})
    assert run(base=base) == 1
    runs = len(repeats("greet").runs)
    words = f"1 end-to-end case newly fails (0 of {runs} runs pass; base 20 of 20)"
    for name in ("comment.md", "summary.md"):
        assert words in (bot / "results" / name).read_text()
    verdict = json.loads((bot / "results" / "verdict.json").read_text())
    (gate,) = [gate for gate in verdict["gates"] if gate["name"] == "new-failures"]
    assert gate["failed_by"][0]["what"] == f"end-to-end case greet: 0 of {runs} runs pass; base 20 of 20"
    metrics = {one["name"]: one for one in json.loads((bot / "results/comparison.json").read_text())["metrics"]}
    assert metrics["e2e.runs"]["value"] >= runs + 6
    assert metrics["e2e.pass_rate"]["value"] <= 0.75
    assert metrics["e2e.pass_rate"]["significance"]["method"] == "permutation"


def test_junit_passes_what_is_flaky_and_skips_what_is_unclear(
    base: str, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": EVERY_OTHER, "cancel": 0.6})
    run("--repeats", "first: 2, most: 30, turns: 9", base=base)
    outcomes = {name: repeats(name).outcome for name in RATES}
    assert "unclear" in outcomes.values()
    written = ET.fromstring((bot / "results" / "junit.xml").read_text())  # noqa: S314 - our own file
    cases = {case.get("name"): case for case in written.iter("testcase")}
    for name, outcome in outcomes.items():
        properties = {one.get("name"): one.get("value") for one in cases[name].iter("property")}
        assert properties["runs"] == repeats(name).runs.upper()
        assert (properties.get("flaky") == "true") == (outcome == "flaky")
        assert (cases[name].find("skipped") is not None) == (outcome == "unclear")
        assert (cases[name].find("failure") is not None) == (outcome in {"failed", "regressed"})


def test_what_is_unclear_is_not_judged(base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, golden: Golden) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": EVERY_OTHER})
    rules = ["--repeats", "first: 2, most: 30, turns: 8"]
    assert run(*rules, base=base) == 0
    golden(capsys.readouterr().out.splitlines()[-1])
    assert "case unclear: greet: 1 of 2 runs pass" in Path("results/verdict.json").read_text()
    assert run(*rules, "--not-judged", "fail", base=base) == 1
    assert "1 unclear" in capsys.readouterr().out


def test_figures_that_unclear_cases_decide_are_not_judged(
    base: str, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": EVERY_OTHER})
    rules = ["--repeats", "first: 2, most: 30, turns: 8", "--max-regression", "e2e.passed: 0"]
    assert run(*rules, "--thresholds", "e2e.passed >= 4", base=base) == 0
    verdict = json.loads((bot / "results" / "verdict.json").read_text())
    judged = {gate["name"]: gate["outcome"] for gate in verdict["gates"]}
    assert judged["max-regression: e2e.passed: 0"] == judged["threshold: e2e.passed >= 4"] == "not judged"
    assert judged["gone-tests"] == "passed"
    assert run(*rules[:2], "--thresholds", "e2e.passed >= 5", base=base) == 1


def test_what_was_unclear_on_the_base_and_fails_is_new(bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 0.5})
    monkeypatch.setattr(CoinEngine, "seed", 1)
    run("--repeats", "first: 8, most: 8", out="base", gate="none")
    assert repeats("greet", "base").outcome == "unclear"
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 1.0})
    assert run(base="base") == 1
    assert repeats("greet").outcome == "regressed"
    comparison = json.loads((bot / "results" / "comparison.json").read_text())
    assert [case["name"] for case in comparison["e2e"]["added_failing"]] == ["greet"]


def test_what_never_passes_fails_where_the_budget_ends(
    base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, golden: Golden
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 1.0})
    for gate in ("new-failures", "test-failures"):
        assert run("--repeats", "first: 2, most: 30, turns: 8", base=base, gate=gate) == 1
        assert "0 of 2 runs pass; base 20 of 20" in capsys.readouterr().out
    (reason,) = [case.reason for case in report().e2e.cases if case.name == "greet"]  # type: ignore[union-attr]
    golden(reason)


def test_if_nothing_is_clear_nothing_was_tested(
    base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, golden: Golden
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, EVERY_OTHER))
    assert run("--repeats", "first: 2, most: 30, turns: 8", base=base) == 1
    golden(capsys.readouterr().out.splitlines()[-1])


def test_many_small_losses_fail_although_no_case_regressed(
    bot: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    many = {f"question {number}": 0.02 for number in range(40)}
    (bot / "tests/e2e_test_cases.yml").write_text(
        "test_cases:\n"
        + "".join(f"- test_case: {name}\n  steps:\n  - user: {name}\n  - bot: {RIGHT}\n" for name in many)
    )
    monkeypatch.setattr(CoinEngine, "rates", many)
    monkeypatch.setattr(CoinEngine, "seed", 4711)
    run("--repeats", "first: 10, most: 10", out="base", gate="none")
    monkeypatch.setattr(CoinEngine, "seed", 5)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(many, 0.25))
    assert run(base="base") == 1
    verdict = json.loads((bot / "results" / "verdict.json").read_text())
    (gate,) = [gate for gate in verdict["gates"] if gate["name"] == "new-failures"]
    assert verdict["summary"].startswith(gate["reason"])
    golden(gate["reason"])
    assert run(base="base", gate="test-failures") == 1
    # Merged all the same: from now on its runs are those that count, and what follows loses nothing.
    run(base="base", out="merged", gate="none")
    monkeypatch.setattr(CoinEngine, "seed", 6)
    assert run(base="merged") == 0
    assert [repeats(name).base for name in many] == [repeats(name, "merged").runs for name in many]


def test_without_a_base_what_never_passes_fails(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 1.0})
    assert run() == 1
    assert repeats("greet").outcome == "failed"
    assert "1 failing (0 of" in capsys.readouterr().out


def test_off_runs_each_case_once(bot: Path) -> None:
    (bot / "turncheck.yml").write_text("repeats: off\n")
    assert run() == 0
    assert '"repeats": {' not in (bot / "results" / "report.json").read_text()


def test_other_rules_are_a_change_of_the_rules(base: str, bot: Path) -> None:
    (bot / "turncheck.yml").write_text("repeats: {first: 1, most: 2}\n")
    assert run(base=base) in {0, 1}
    changed = json.loads((bot / "results/comparison.json").read_text())["settings_changed"]
    assert [one["value"] for one in changed if one["name"] == "repeats"] == [
        "first: 1, most: 2, false-alarms: 1%, turns: 5000, time: 15m"
    ]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--repeats", "first: 5, most: 4"], "`first` (5) is more than `most` (4)"),
        (["--repeats", "turns: 7"], "the budget of 7 turns is too small: 2 runs of 4 end-to-end cases take 8"),
        (
            ["--thresholds", "e2e.pass_rate >= 0.9"],
            "needs 35 runs, all of which pass; 2 runs of 4 end-to-end cases are 8",
        ),
        (["--thresholds", "e2e.pass_rate >= 0.99"], "Set `first` in `repeats` to 96 and `most` to 124, or"),
        (["--thresholds", "e2e.pass_rate >= 0.99", "--repeats", "off"], "to 96 and `most` to 124, or"),
        (
            ["--thresholds", "e2e.pass_rate >= 0.999999"],
            "needs 3,841,455 runs, all of which pass; 4 end-to-end cases have 4,000 at most\nLower the limit.",
        ),
        (
            ["--thresholds", "e2e.pass_hat_3 >= 0.9", "--repeats", "first: 2, most: 2, worth: 0.9"],
            "to 3 and `most` to 3, or",
        ),
        (["--thresholds", "e2e.pass_rate >= 1"], "cannot be reached by any number of runs"),
        (["--thresholds", "e2e.pass_rate == 1"], "cannot be reached by any number of runs"),
        (
            ["--thresholds", "e2e.pass_hat_3 >= 0.9"],
            "thresholds: 'e2e.pass_hat_3 >= 0.9' cannot be judged: it needs `first: 3`",
        ),
        (["--max-regression", "e2e.pass_hat_3: 0.1"], "max-regression: 'e2e.pass_hat_3: 0.1' cannot be judged"),
        (
            ["--thresholds", "e2e.pass_rate >= 0.9", "--repeats", "off"],
            "cannot be judged: each end-to-end case is run once\nSet `first` in `repeats` to 9",
        ),
        (["--max-regression", "e2e.flaky: 0", "--repeats", "off"], "'e2e.flaky: 0' cannot be judged"),
        (
            ["--repeats", "first: 1, most: 2, false-alarms: 0.1%"],
            "one that never failed on the base and now always fails\nSet `most` to at least 3.",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    flags: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def asked(*_: Any) -> Any:
        raise AssertionError("nothing may be asked")

    monkeypatch.setattr(Coins, "conversation", asked)
    assert run(*flags) == 2
    assert words in capsys.readouterr().err


def test_what_a_refusal_proposes_is_accepted() -> None:
    assert run("--thresholds", "e2e.pass_rate >= 0.99", "--repeats", "first: 96, most: 124", gate="none") in {0, 1}


def test_a_share_of_runs_is_judged_by_its_interval(bot: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    limit = ["--thresholds", "e2e.pass_rate >= 0.9"]
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    assert run("--repeats", "first: 9", *limit) == 0
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.5))
    assert run("--repeats", "first: 9", *limit, gate="none") == 1
    assert "95 % interval" in (bot / "results" / "verdict.json").read_text()
    monkeypatch.setattr(CoinEngine, "rates", {**dict.fromkeys(RATES, 0.0), "greet": 0.2})
    run("--repeats", "first: 9", *limit, gate="none")
    assert of_thresholds() == ["not judged"]


def of_thresholds() -> list[str]:
    gates = json.loads(Path("results/verdict.json").read_text())["gates"]
    return [gate["outcome"] for gate in gates if gate["name"].startswith("threshold")]


def test_every_limit_of_a_share_of_runs_is_judged_by_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 runs 35 pass: the share is between 0.74 and 0.945."""
    monkeypatch.setattr(CoinEngine, "rates", {**dict.fromkeys(RATES, 0.0), "greet": EVERY_OTHER})
    limits = {
        ">= 0.9": "not judged",
        "> 0.9": "not judged",
        "== 0.9": "not judged",
        "< 0.9": "not judged",
        "<= 0.8": "not judged",
        "< 0.95": "passed",
        "<= 0.7": "failed",
        "== 0.7": "failed",
    }
    flags = [flag for limit in limits for flag in ("--thresholds", f"e2e.pass_rate {limit}")]
    run("--repeats", "first: 10", *flags, gate="none")
    assert of_thresholds() == list(limits.values())


# --- shards ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "greet"), [(2, 1.0), (6, 0.6)])
def test_shards_find_what_one_run_finds(count: int, greet: float, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's level depends on the number of all cases: a shard that counted its own would end with fewer runs.

    How often it runs the others again, a shard decides by its own cases.
    """
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": greet, "cancel": 0.3})
    rules = ["--repeats", "first: 3, false-alarms: 0.1%"]
    code = run(*rules, out="one", base=base)
    assert in_shards(run, count, *rules, base=base) == code
    regressed = [{name for name in RATES if repeats(name, out).outcome == "regressed"} for out in ("results", "one")]
    assert regressed[0] == regressed[1] >= {"greet"}


def test_each_shard_has_its_share_of_the_turns(base: str, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 1.0))
    in_shards(run, 4, "--repeats", "turns: 10", base=base)
    runs = [len(repeats(name).runs) for name in RATES]
    assert min(runs) == 2
    assert sum(runs) == 9, "of ten turns two shards with a case each have two, and one with two cases has five"
    reasons = [str(case.reason) for case in report().e2e.cases]  # type: ignore[union-attr]
    used_up = [reason for reason in reasons if "2 turns" in reason]
    assert len(used_up) == 2
    golden(*used_up)


def test_a_shard_that_saw_another_base_opens_no_gate(
    bot: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    """Without a base fewer runs are needed than beside one that fails as well; the merge does not call them enough."""
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 0.2})
    run("--repeats", "first: 20, most: 20", out="base", gate="none")
    assert repeats("greet", "base").outcome != "failed"
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "greet": 1.0})
    assert in_shards(run, 2, base="base", of_shards="none") == 1
    assert repeats("greet").outcome == "failed"
    (reason,) = [case.reason for case in report().e2e.cases if case.name == "greet"]  # type: ignore[union-attr]
    golden(reason)
    assert in_shards(run, 2, base="base") == 1
    assert repeats("greet").outcome == "regressed"


def test_rules_that_cannot_be_kept_are_refused_in_a_shard(capsys: Any, golden: Golden) -> None:
    assert run("--shard", "1/2", "--repeats", "turns: 7") == 2
    golden(capsys.readouterr().err)


def test_off_runs_each_case_of_a_shard_once(base: str) -> None:
    in_shards(run, 2, "--repeats", "off", base=base)
    section = report().e2e
    assert section is not None
    assert [case.repeats for case in section.cases] == [UNSET] * 4
