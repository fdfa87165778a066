"""Whole runs of an assistant that understands the same sentence differently from time to time, by seeded coins."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from coins import EVERY_OTHER, as_compared, in_shards, is_wrong, once_a_base
from golden_texts import Golden

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
    on_text: Callable[[str, int], None]
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
        self.on_text(text, time)
        wrong = is_wrong(self.rates[text], f"{self.seed} {text}", time)
        intent = PredictedIntent("other" if wrong else INTENTS[text], 0.9)
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
    on_text: Callable[[str, int], None] = staticmethod(lambda *_: None)
    least: float = 0.0

    def __init__(self, project: Project) -> None:
        self.project = project
        self.coins = CoinNlu(self.rates, self.seed, self.on_call, self.on_text)

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
    suites = "suites" if Path("suites").exists() else "suite.json"
    data = ["--nlu", "tests/nlu.yml"] if kind == "nlu" else ["--batch", suites]
    begin = ["run", "--engine", "coins", "--quiet", "--evaluations", kind, *data, "--out", out, "--baseline", base]
    return run_command_line([*begin, *(["--fail-on", gate] if gate else []), *flags])


def alone(kind: str, *flags: str) -> int:
    data = ["--nlu", "tests/nlu.yml", "--no-plot"] if kind == "nlu" else ["suite.json"]
    written = ["--json", "results/report.json", "--engine", "coins"]
    Path("results").mkdir(exist_ok=True)
    return run_command_line(["test", kind, *data, *written, *flags])


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


def all_repeats(kind: str) -> list[Repeats]:
    return [one.repeats for one in results_of(kind).values() if isinstance(one.repeats, Repeats)]


def gates() -> dict[str, Any]:
    verdict = json.loads(Path("results/verdict.json").read_text())
    return {gate["name"]: gate for gate in verdict["gates"]}


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


@pytest.fixture
def base(kind: str, bases: Path) -> str:
    """The report of a base that asked for each sentence twenty times."""
    with pytest.MonkeyPatch.context() as at_base:
        at_base.setattr(CoinEngine, "seed", 4711)
        return once_a_base(bases / kind, lambda: run(kind, "--repeats", "first: 20, most: 20", out="base", gate="none"))


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
    called = {"nlu": "sentence", "batch": "batch case"}[kind]
    news = {"nlu": "1 sentence regressed", "batch": "1 batch case newly fails"}[kind]
    words = f"{news} (0 of {runs} runs pass; base 20 of 20)"
    assert f"failed: {words}" in capsys.readouterr().out
    for name in ("comment.md", "summary.md"):
        assert words in (bot / "results" / name).read_text()
    (cause,) = gates()["new-failures"]["failed_by"]
    assert cause["what"] == f"{called} hello there: 0 of {runs} runs pass; base 20 of 20"
    assert cause["location"]["path"] == ("tests/nlu.yml" if kind == "nlu" else "suite.json")
    metrics = {one["name"]: one for one in json.loads((bot / "results/comparison.json").read_text())["metrics"]}
    assert metrics[f"{kind}.runs"]["value"] == sum(len(repeats(kind, text).runs) for text in RATES)
    assert metrics[f"{kind}.pass_rate"]["significance"]["method"] == "permutation"
    assert metrics[f"{kind}.flaky"]["significance"]["method"] == "mcnemar"
    failed = [
        case for case in ET.fromstring((bot / "results/junit.xml").read_text()).iter("testcase")  # noqa: S314 - ours
        if case.find("failure") is not None and "gates" not in case.get("classname", "")
    ]  # fmt: skip
    assert [case.get("name") for case in failed] == ["hello there"]


def test_an_interrupted_run_is_compared_with_the_base_that_it_had(
    kind: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(number: int) -> None:
        if number > 2 * len(RATES):  # after the first runs, so that the base's are known
            raise KeyboardInterrupt

    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "so long": 1.0})
    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(interrupted))
    assert run(kind, base=base) == 130
    compared = json.loads(Path("results/comparison.json").read_text())
    assert compared["baseline"]["status"] == "present"
    assert gates()["completed"]["outcome"] == "failed"


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
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "so long": EVERY_OTHER})
    rules = ["--repeats", "first: 2, most: 30, turns: 5"]
    assert run(kind, *rules, base=base) == 0
    assert repeats(kind, "so long").outcome == "unclear"
    assert gates()["new-failures"]["outcome"] == "not judged"
    said = capsys.readouterr().out
    assert "1 unclear" in said
    if kind == "nlu":
        assert "the right intent for 3 of 3 sentences" in said
        nlu = report().nlu
        assert nlu is not None
        assert nlu.intents is not None
        assert (nlu.examples, nlu.intents.accuracy, nlu.intents.confusions) == (4, 1.0, ())
        assert nlu.understood is not None
        assert (nlu.understood.right, nlu.understood.wrong) == (3, 0)
        assert "isclassified" not in Path("results/comment.md").read_text()
        metrics = {one["name"]: one for one in json.loads(Path("results/comparison.json").read_text())["metrics"]}
        accuracy = metrics["nlu.intents.accuracy"]
        assert (accuracy["value"], accuracy["judgement"], accuracy["significance"]["examples"]) == (1.0, "same", 3)
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


def test_what_erred_on_the_base_keeps_its_history_there(kind: str, base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(text: str, _: int) -> None:
        if text == "hello there":
            raise UnansweredError("it cut the connection")

    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    with monkeypatch.context() as patch:
        patch.setattr(CoinEngine, "on_text", staticmethod(cut))
        run(kind, base=base, out="later", gate="none")
    erred = repeats(kind, "hello there", "later")
    assert (erred.runs, erred.base) == ("", "P" * 20)
    assert run(kind, base="later") == 0
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": 1.0})
    assert run(kind, base="later") == 1
    found = repeats(kind, "hello there")
    assert (found.outcome, found.base) == ("regressed", "P" * 20)
    assert gates()["new-failures"]["outcome"] == "failed"


def test_an_utterance_keeps_its_runs_if_its_suite_is_renamed(bot: Path) -> None:
    for name in ("suite", "renamed"):
        (bot / "suite.json").write_text(json.dumps({"name": name, "testCases": SUITE[:: 1 if name == "suite" else -1]}))
        run("batch", out=name, base="none" if name == "suite" else "suite", gate="none")
    assert {text: repeats("batch", text, "renamed").base for text in RATES} == {
        text: repeats("batch", text, "suite").runs for text in RATES
    }


def test_if_nothing_is_clear_nothing_was_tested(
    kind: str, base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, golden: Golden
) -> None:
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, EVERY_OTHER))
    rules = ["--repeats", "first: 2, most: 30, turns: 4"]
    assert run(kind, *rules, base=base) == 1
    golden(capsys.readouterr().out.splitlines()[-1])
    if kind == "nlu":
        figures = ("nlu.intents.f1", "nlu.intents[bye].f1")
        run(kind, *rules, "--max-regression", *(f"{figure}: 0" for figure in figures), base=base)
        assert {gates()[f"max-regression: {figure}: 0"]["outcome"] for figure in figures} == {"not judged"}
        assert gates()["gone-tests"]["outcome"] == "passed"


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
    assert sum(repeats(kind, text).errors for text in RATES) == 2
    assert {len(repeats(kind, text).runs) - 2 * repeats(kind, text).errors for text in RATES} == {2}
    assert not sum(repeats(kind, text).failed for text in RATES)

    def gone(number: int) -> None:
        if number > 6:
            raise EngineError("it hung up")

    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(gone))
    assert run(kind, base=base) == 2, "never an open gate"
    assert "it hung up" in capsys.readouterr().out
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
    assert [name for name, gate in gates().items() if gate["fails"]] == ["completed"], "the errors are its end"
    assert not any(one.outcome in {"failed", "regressed"} or one.is_unanswered for one in all_repeats(kind))


@pytest.mark.parametrize("last", [1, 3])
def test_an_engine_that_is_gone_when_all_are_asked_first_fails_none(
    base: str, kind: str, last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(number: int) -> None:
        if number > last:
            raise EngineError("it hung up")

    monkeypatch.setattr(CoinEngine, "at_once", 1)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(gone))
    assert run(kind, base=base) == 2
    assert gates()["new-failures"]["outcome"] != "failed"


@pytest.mark.parametrize("answered", [0, 1])
def test_one_that_errs_costs_only_itself_and_fails_the_run(
    kind: str, base: str, answered: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """From the first time on or later: the others are judged, and what the base answered has failed here."""

    def cut(text: str, time: int) -> None:
        if text == "so long" and time > answered:
            raise UnansweredError("it cut the connection")

    monkeypatch.setattr(CoinEngine, "at_once", 1)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    monkeypatch.setattr(CoinEngine, "on_text", staticmethod(cut))
    assert run(kind, base=base) == 1
    assert report().stopped is None
    assert {repeats(kind, text).outcome for text in RATES if text != "so long"} == {"passed"}
    failed = gates()["new-failures"]
    assert failed["outcome"] == "failed"
    assert "so long" in failed["failed_by"][0]["what"]
    assert gates()["something-was-tested"]["outcome"] == "passed"
    if kind == "nlu":
        assert not results_of(kind)["so long"].correct
        assert "1 sentence has no answer" in capsys.readouterr().out
        written = ET.fromstring(Path("results/junit.xml").read_text())  # noqa: S314 - our own file
        assert any("'so long' not answered" in str(one.get("message")) for one in written.iter("failure"))
    else:
        assert results_of(kind)["so long"].result == "not-evaluated"
    Path("results").rename("before")
    assert run(kind, base="before") == 0, "on the base, too: nothing is new"
    assert run(kind, base="before", gate="test-failures") == 1


def test_by_default_what_is_too_much_for_the_budget_is_asked_once_and_rules_are_refused(
    kind: str, base: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, golden: Golden
) -> None:
    monkeypatch.setattr(CoinEngine, "least", 300.0)
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": 1.0})
    assert run(kind, base=base) == 1
    assert len(repeats(kind, "see you").runs) == 1
    assert repeats(kind, "hello there").outcome == "regressed", "what fails is asked again"
    assert run(kind, "--repeats", "first: 2", base=base) == 2
    golden(capsys.readouterr().err)
    monkeypatch.setattr(CoinEngine, "least", 0.0)
    assert run(kind, "--repeats", "first: 3, turns: 7", base=base) == 2
    golden(capsys.readouterr().err)


def test_a_threshold_that_no_result_reaches_is_refused(kind: str, capsys: Any, golden: Golden) -> None:
    assert run(kind, "--thresholds", f"{kind}.pass_rate >= 0.9") == 2
    golden(capsys.readouterr().err)
    assert run(kind, "--thresholds", f"{kind}.pass_hat_3 >= 0.9") == 2
    golden(capsys.readouterr().err)
    Path("turncheck.yml").write_text(f"repeats: off\nthresholds: [{kind}.runs >= 1]\n")
    assert run(kind) == 2
    golden(capsys.readouterr().err)


def test_off_asks_once(kind: str) -> None:
    run(kind, "--repeats", "off")
    assert '"repeats": {' not in Path("results/report.json").read_text()


# --- shards ----------------------------------------------------------------------------------------------------------


def in_suites(bot: Path) -> None:
    """Each utterance in a suite of its own, so that shards have some of them each."""
    (bot / "suite.json").unlink(missing_ok=True)
    (bot / "suites").mkdir()
    for number, case in enumerate(SUITE):
        suite = {"name": f"suite {number}", "testCases": [case]}
        (bot / "suites" / f"{number}.json").write_text(json.dumps(suite))


@pytest.mark.parametrize(("count", "wrong"), [(2, 1.0), (6, 0.6)])
def test_shards_find_what_one_run_finds(
    kind: str, count: int, wrong: float, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How often it asks for the others again, a shard decides by its own."""
    in_suites(bot)
    monkeypatch.setattr(CoinEngine, "seed", 4711)
    base = run(kind, "--repeats", "first: 20, most: 20", out="base", gate="none")
    monkeypatch.setattr(CoinEngine, "seed", 3)
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": wrong, "see you": 0.3})
    rules = ["--repeats", "first: 3, false-alarms: 0.1%"]
    code = run(kind, *rules, out="one", base="base")
    assert (base, code) == (0, 1)
    assert in_shards(partial(run, kind), count, *rules, base="base") == code
    regressed = [
        {text for text in RATES if repeats(kind, text, out).outcome == "regressed"} for out in ("results", "one")
    ]
    assert regressed[0] == regressed[1] == {"hello there"}
    assert repeats(kind, "hello there").runs == repeats(kind, "hello there", "one").runs
    assert len(repeats(kind, "hello there").runs) > 3


def test_each_shard_has_its_share_of_the_turns(
    kind: str, base: str, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_suites(bot)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 1.0))
    in_shards(partial(run, kind), 3, "--repeats", "turns: 9", base=base)
    runs = [len(repeats(kind, text).runs) - 1 for text in RATES]
    assert min(runs) >= 1, "each has its first runs"
    assert sum(runs) <= 9
    assert "its share of the budget" in Path("results/report.json").read_text()


def test_too_many_for_the_budget_are_so_in_shards_as_well(
    kind: str, base: str, bot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The merging job knows nothing of the limits of the platform: the shards say so."""
    in_suites(bot)
    monkeypatch.setattr(CoinEngine, "least", 600.0)
    monkeypatch.setattr(CoinEngine, "rates", {**RATES, "hello there": 1.0})
    code = run(kind, out="one", base=base)
    assert in_shards(partial(run, kind), 2, base=base) == code == 1
    assert as_compared("results") == as_compared("one")
    assert len(repeats(kind, "see you").runs) == 1


def test_one_that_errs_is_the_same_in_shards(kind: str, base: str, bot: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(text: str, time: int) -> None:
        if text == "so long" and time > 1:
            raise UnansweredError("it cut the connection")

    in_suites(bot)
    suites = bot / "suites"
    both = {"name": "suite 0", "testCases": [SUITE[0], SUITE[2]]}
    (suites / "0.json").write_text(json.dumps(both))
    (suites / "2.json").unlink()
    monkeypatch.setattr(CoinEngine, "at_once", 1)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    monkeypatch.setattr(CoinEngine, "on_text", staticmethod(cut))
    code = run(kind, out="one", base=base)
    assert in_shards(partial(run, kind), 2, base=base) == code == 1
    assert as_compared("results") == as_compared("one")


@pytest.mark.parametrize(("end", "code"), [(EngineError("the bot is gone"), 2), (KeyboardInterrupt(), 130)])
def test_a_shard_whose_bot_dies_or_that_is_interrupted_is_not_merged(
    kind: str, base: str, end: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_suites(Path())
    places = ["shard-1", "shard-2"]
    assert run(kind, "--shard", "1/2", out=places[0], base=base, gate="") == 0

    def gone(number: int) -> None:
        if number > 2:
            raise end

    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(gone))
    assert run(kind, "--shard", "2/2", out=places[1], base=base, gate="") == code
    assert run_command_line(["report", "merge", *places, "--baseline", base, "--quiet"]) == 2


# --- `--repeat` of `test nlu` and `test batch` -----------------------------------------------------------------------


def test_alone_each_is_asked_as_often_as_repeat_says(kind: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(CoinEngine, "rates", {"hello there": 0.0, "good day": 0.5, "so long": 0.5, "see you": 1.0})
    monkeypatch.setattr(CoinEngine, "seed", 5)
    assert alone(kind, "--repeat", "4") == (0 if kind == "nlu" else 1)
    found = {text: one.attempts for text, one in results_of(kind).items()}
    assert {text: len(one.runs) for text, one in found.items()} == dict.fromkeys(RATES, 4)
    assert (found["hello there"].passed, found["see you"].passed) == (4, 0)
    flaky = found["so long"]
    assert 0 < flaky.passed < 4
    assert flaky.passed == sum(flaky.runs)
    said = capsys.readouterr().out
    assert f": passed {flaky.passed} of 4 times" in said
    assert "passed 0 of 4 times" in said
    right = {text: one.correct if kind == "nlu" else one.passed for text, one in results_of(kind).items()}
    assert right == {text: one.passed == 4 for text, one in found.items()}


def test_alone_without_repeat_each_is_asked_once(kind: str) -> None:
    alone(kind)
    assert "attempts" not in Path("results/report.json").read_text()


def test_alone_what_was_had_before_the_end_is_kept(kind: str, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    def gone(number: int) -> None:
        if number > 6:
            raise EngineError("it hung up")

    monkeypatch.setattr(CoinEngine, "at_once", 1)
    monkeypatch.setattr(CoinEngine, "rates", dict.fromkeys(RATES, 0.0))
    monkeypatch.setattr(CoinEngine, "on_call", staticmethod(gone))
    assert alone(kind, "--repeat", "3") == 2
    assert "it hung up" in capsys.readouterr().err
    runs = [one.attempts.of for one in results_of(kind).values()]
    assert sum(runs) in {4, 5, 6}
    assert min(runs) == 1


@pytest.mark.parametrize("flags", [["--cross-validation"], ["--config", "config.yml", "other.yml"]])
def test_repeat_is_refused_where_nothing_is_repeated(bot: Path, flags: list[str], capsys: Any) -> None:
    (bot / "other.yml").write_text("pipeline: []\n")
    assert run_command_line(["test", "nlu", "--nlu", "tests/nlu.yml", "--repeat", "2", *flags]) == 2
    assert "--repeat" in capsys.readouterr().err
