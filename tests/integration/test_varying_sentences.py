"""Whole runs of an assistant that understands the same sentence differently from time to time, by seeded coins."""

from __future__ import annotations

import json
import random
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from turncheck.cli import run_command_line
from turncheck.dialogue.domain import DialogueDomain
from turncheck.engines.base import Capabilities, Engine, SuiteAnswers, UtteranceAnswer, ask_all
from turncheck.engines.conversation import Parse, PredictedIntent
from turncheck.messages.errors import EngineError, UnansweredError
from turncheck.report.codec import decode
from turncheck.report.model import EngineInfo, Repeats
from turncheck.settings.engines import ENGINES, RegisteredEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from turncheck.project.batch.model import Suite, SuiteCase
    from turncheck.project.model import Project
    from turncheck.report.model import Report

RATES = {"hello there": 0.0, "good day": 0.05, "so long": 0.1, "see you": 0.02}
INTENTS = {"hello there": "greet", "good day": "greet", "so long": "bye", "see you": "bye"}
FILES = {
    "config.yml": "pipeline: []\n",
    "domain.yml": "intents: [greet, bye]\n",
    "tests/nlu.yml": "version: '3.1'\nnlu:\n"
    + "".join(
        f"- intent: {intent}\n  examples: |\n"
        + "".join(f"    - {text}\n" for text, of in INTENTS.items() if of == intent)
        for intent in ("greet", "bye")
    ),
}
SUITE = [{"input": text, "intent": intent} for text, intent in INTENTS.items()]


@dataclass
class CoinNlu:
    """Understands a sentence unless a coin, of its own for each time that it is asked, says otherwise."""

    rates: Mapping[str, float]
    seed: int
    on_call: Callable[[int], None]
    info: EngineInfo = field(default_factory=lambda: EngineInfo(name="coins", version="1"))
    extractors: tuple[str, ...] = ()
    times: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    _lock: Lock = field(default_factory=Lock)

    def parse(self, texts: Sequence[str]) -> list[Parse]:
        return ask_all(self.one, texts, 2)

    def one(self, text: str) -> Parse:
        with self._lock:
            self.calls += 1
            number = self.calls
            time = self.times[text] = self.times.get(text, 0) + 1
        self.on_call(number)
        is_wrong = random.Random(f"{self.seed} {text} {time}").random() < self.rates[text]
        intent = PredictedIntent("other" if is_wrong else INTENTS[text], 0.9)
        return Parse(text, intent, (intent,))


class CoinEngine(Engine):
    capabilities = Capabilities(
        no_dialogue="it only understands",
        no_conversation="it only understands",
        no_training="it learns nothing",
        answers_suites=True,
        varies=True,
    )
    rates: Mapping[str, float] = RATES
    seed = 0
    at_once = 2
    on_call: Callable[[int], None] = staticmethod(lambda _: None)
    least: float = 0.0

    def __init__(self, project: Project) -> None:
        self.project = project
        self.coins = CoinNlu(self.rates, self.seed, self.on_call)

    def info(self, **_: Any) -> EngineInfo:
        return self.coins.info

    @property
    def nlu(self) -> CoinNlu:
        return self.coins

    def least_seconds(self, messages: int) -> float:
        return self.least * messages

    @property
    def domain(self) -> DialogueDomain:
        return DialogueDomain.of(self.project)

    def answer_suite(self, suite: Suite, _: Any) -> SuiteAnswers:
        def answer(case: SuiteCase) -> UtteranceAnswer:
            try:
                parse = self.coins.one(case.text)
            except UnansweredError as error:
                return UtteranceAnswer(error=error.message)
            return UtteranceAnswer(matched=(parse.intent.name or "",))

        return SuiteAnswers(tuple(answer(case) for case in suite.cases))


@contextmanager
def opened(_: Any, project: Project, *__: Any) -> Iterator[Engine]:
    yield CoinEngine(project)


@pytest.fixture(autouse=True)
def bot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "coin_nlu", sys.modules[__name__])
    monkeypatch.setitem(ENGINES.built_in, "coins", RegisteredEngine("coin_nlu", from_files=False))
    return tmp_path


@pytest.fixture(params=["nlu", "batch"])
def kind(request: pytest.FixtureRequest, bot: Path) -> str:
    """Both ways to ask for single sentences: as test sentences, and as utterances of a batch suite."""
    if request.param == "batch":
        (bot / "suite.json").write_text(json.dumps({"name": "suite", "testCases": SUITE}))
    return str(request.param)


def run(kind: str, *flags: str, out: str = "results", base: str = "none", gate: str = "new-failures") -> int:
    data = ["--nlu", "tests/nlu.yml"] if kind == "nlu" else ["--batch", "suite.json"]
    begin = ["run", "--engine", "coins", "--quiet", "--evaluations", kind, *data, "--out", out, "--baseline", base]
    return run_command_line([*begin, *(["--fail-on", gate] if gate else []), *flags])


def report(out: str = "results") -> Report:
    return decode(Path(out, "report.json").read_bytes())


def results_of(kind: str, out: str = "results") -> dict[str, Any]:
    found = report(out)
    if kind == "nlu":
        assert found.nlu is not None
        return {one.text: one for one in found.nlu.predictions}
    assert found.batch is not None
    return {one.text: one for one in found.batch.cases}


def repeats(kind: str, text: str, out: str = "results") -> Repeats:
    found = results_of(kind, out)[text].repeats
    assert isinstance(found, Repeats)
    return found


def gates() -> dict[str, Any]:
    verdict = json.loads(Path("results/verdict.json").read_text())
    return {gate["name"]: gate for gate in verdict["gates"]}


@pytest.fixture
def base(kind: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The report of a base that asked for each sentence twenty times."""
    monkeypatch.setattr(CoinEngine, "seed", 4711)
    assert run(kind, "--repeats", "first: 20, most: 20", out="base", gate="none") == 0
    monkeypatch.setattr(CoinEngine, "seed", 0)
    return "base"


def test_what_varies_as_before_passes_and_what_is_dead_fails(
    kind: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(4):
        monkeypatch.setattr(CoinEngine, "seed", seed)
        monkeypatch.setattr(CoinEngine, "rates", RATES)
        assert run(kind, base=base) == 0
        assert {repeats(kind, text).outcome for text in RATES} <= {"passed", "flaky"}
        monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": 1.0})
        assert run(kind, base=base) == 1
        found = repeats(kind, "hello there")
        assert (found.outcome, found.base) == ("regressed", "P" * 20)
        assert len(found.runs) <= 6


def test_what_regressed_is_said_everywhere(
    kind: str, base: str, bot: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": 1.0})
    assert run(kind, base=base) == 1
    runs = len(repeats(kind, "hello there").runs)
    called = {"nlu": ("sentence", "sentences"), "batch": ("batch case", "batch cases")}[kind]
    news = {"nlu": "failed: 1 sentence regressed; ", "batch": "failed: 1 batch case newly fails; "}[kind]
    words = f"{called[1]}: 1 regressed (0 of {runs} runs pass; base 20 of 20)"
    assert f"{news}{words}" in capsys.readouterr().out
    for name in ("comment.md", "summary.md"):
        assert words in (bot / "results" / name).read_text()
    (cause,) = gates()["new-failures"]["failed_by"]
    assert cause["what"] == f"{called[0]} hello there: 0 of {runs} runs pass; base 20 of 20"
    assert cause["location"]["path"] == ("tests/nlu.yml" if kind == "nlu" else "suite.json")
    metrics = {one["name"]: one for one in json.loads((bot / "results/comparison.json").read_text())["metrics"]}
    assert metrics[f"{kind}.runs"]["value"] == sum(len(repeats(kind, text).runs) for text in RATES)
    assert metrics[f"{kind}.pass_at_1"]["significance"]["method"] == "permutation"
    assert metrics[f"{kind}.flaky"]["significance"]["method"] == "mcnemar"
    failed = [
        case for case in ET.fromstring((bot / "results/junit.xml").read_text()).iter("testcase")  # noqa: S314 - ours
        if case.find("failure") is not None and "gates" not in case.get("classname", "")
    ]  # fmt: skip
    assert [case.get("name") for case in failed] == ["greet" if kind == "nlu" else "hello there"]


def test_a_flaky_one_counts_as_right(kind: str, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "so long": 0.3})
    found = None
    for seed in range(20):
        monkeypatch.setattr(CoinEngine, "seed", seed)
        code = run(kind, base=base)
        found = repeats(kind, "so long")
        if found.outcome == "flaky":
            assert code == 0
            break
    assert found is not None
    assert found.outcome == "flaky"
    test = results_of(kind)["so long"]
    assert test.correct if kind == "nlu" else test.passed
    assert f"{kind}.flaky" in (Path("results/comparison.json")).read_text()


def test_what_is_unclear_is_not_judged(kind: str, base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "so long": 1.0})
    rules = ["--repeats", "first: 2, most: 30, turns: 5"]
    assert run(kind, *rules, base=base) == 0
    assert repeats(kind, "so long").outcome == "unclear"
    assert gates()["new-failures"]["outcome"] == "not judged"
    assert "1 unclear" in capsys.readouterr().out
    assert run(kind, *rules, "--not-judged", "fail", base=base) == 1


def test_what_was_unclear_on_the_base_and_regressed_is_new(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "so long": 0.5})
    for seed in range(30):
        monkeypatch.setattr(CoinEngine, "seed", seed)
        run(kind, "--repeats", "first: 8, most: 8", out="base", gate="none")
        if repeats(kind, "so long", "base").outcome == "unclear":
            break
    assert repeats(kind, "so long", "base").outcome == "unclear"
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "so long": 1.0})
    assert run(kind, base="base") == 1
    assert repeats(kind, "so long").outcome == "regressed"


def test_if_nothing_is_clear_nothing_was_tested(
    kind: str, base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 1.0))
    assert run(kind, "--repeats", "first: 2, most: 30, turns: 4", base=base) == 1
    assert "nothing was tested" in capsys.readouterr().out


def test_without_a_base_a_wrong_sentence_is_no_failed_test_and_an_utterance_is(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": 1.0})
    assert run(kind) == (0 if kind == "nlu" else 1)
    assert repeats(kind, "hello there").outcome == "failed"


def test_errors_are_no_runs_and_an_engine_that_is_gone_ends_the_run(
    kind: str, base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def unanswered(number: int) -> None:
        if number in {6, 7}:
            raise UnansweredError("it cut the connection")

    monkeypatch.setattr(CoinEngine, "at_once", 1)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(unanswered))
    assert run(kind, base=base) == 0
    assert sum(repeats(kind, text).errors for text in RATES) == (1 if kind == "nlu" else 2)
    assert {repeats(kind, text).runs for text in RATES} == {"PP"}

    def gone(number: int) -> None:
        if number > 6:
            raise EngineError("the bot is gone")

    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(gone))
    assert run(kind, base=base) == 2, "never an open gate"
    assert "the bot is gone" in capsys.readouterr().out
    assert [len(repeats(kind, text).runs) for text in RATES].count(2) == 2, "what was measured is kept"


@pytest.mark.parametrize("last", range(4, 8))
def test_an_engine_that_goes_wrong_each_time_opens_no_gate(
    kind: str, base: str, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(number: int) -> None:
        if number > last:
            raise UnansweredError("it cut the connection")

    monkeypatch.setattr(CoinEngine, "at_once", 1)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(cut))
    assert run(kind, base=base) == 2


def test_by_default_what_is_too_much_for_the_budget_is_asked_once_and_rules_are_refused(
    kind: str, base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(CoinEngine, "least", 300.0)
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": 1.0})
    assert run(kind, base=base) == 1
    assert len(repeats(kind, "see you").runs) == 1
    assert repeats(kind, "hello there").outcome == "regressed", "what fails is asked again"
    assert run(kind, "--repeats", "first: 2", base=base) == 2
    assert "by the limits of the platform" in capsys.readouterr().err
    monkeypatch.setattr(CoinEngine, "least", 0.0)
    assert run(kind, "--repeats", "first: 3, turns: 7", base=base) == 2
    assert "the budget of 7 turns is too small: 3 runs of 4" in capsys.readouterr().err


def test_a_threshold_that_no_result_reaches_is_refused(kind: str, capsys: Any) -> None:
    assert run(kind, "--thresholds", f"{kind}.pass_at_1 >= 0.9") == 2
    assert "needs 35 runs, all of which pass" in capsys.readouterr().err


def test_off_asks_once(kind: str) -> None:
    run(kind, "--repeats", "off")
    assert '"repeats": {' not in Path("results/report.json").read_text()
