"""Whole runs against a bot over HTTP that varies: compared with a report, and in turn with the base where that runs."""

from __future__ import annotations

import json
import random
import subprocess
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_bot import REST, Call, FakeBot, Reply, serving
from golden_texts import Golden

from turncheck.cli import run_command_line
from turncheck.report.codec import decode
from turncheck.report.model import Repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

RATES = {"opening hours": 0.05, "order": 0.1, "cancel": 0.02, "hello": 0.0}
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example.org")
CASES = "test_cases:\n" + "".join(f"- test_case: {name}\n  steps: [{{user: {name}}}, {{bot: yes}}]\n" for name in RATES)


def coins(rates: Mapping[str, float], seed: int) -> Callable[[Call], Reply]:
    """A bot that says "yes", unless a coin says otherwise; each message has coins of its own, whoever comes first."""
    chances = {message: random.Random(f"{seed} {message}") for message in rates}

    def answer(call: Call) -> Reply:
        message = call.body["message"]
        said = "no" if chances[message].random() < rates[message] else "yes"
        intent = {"intent": "other" if said == "no" else "ask"}
        return Reply({"session": call.body["session"], "messages": [{"text": said}], "nlu": intent})

    return answer


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/e2e_test_cases.yml").write_text(CASES.replace("bot: yes", 'bot: "yes"'))
    (tmp_path / "turncheck.yml").write_text(REST)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(rates: Mapping[str, float], seed: int, *flags: str, on_base: Mapping[str, float] | None = None) -> int:
    with ExitStack() as stack:
        bot = stack.enter_context(serving(FakeBot(coins(rates, seed))))
        there = stack.enter_context(serving(FakeBot(coins(on_base, seed + 1)))) if on_base is not None else None
        more = ["--bot-url-base", there.url] if there is not None else []
        begin = ["run", "--engine", "http", "--bot-url", bot.url, "--evaluations", "e2e", "--no-cache"]
        return run_command_line([*begin, *more, *flags])


def repeats(name: str) -> Repeats:
    section = decode(Path("results/report.json").read_bytes()).e2e
    assert section is not None
    found = next(case.repeats for case in section.cases if case.name == name)
    assert isinstance(found, Repeats)
    return found


def test_a_case_that_erred_on_the_base_keeps_its_history_there() -> None:
    right, wrong = coins(dict.fromkeys(RATES, 0.0), 1), coins({**dict.fromkeys(RATES, 0.0), "hello": 1.0}, 1)

    def judged(answer: Callable[[Call], Reply], *flags: str) -> int:
        with serving(FakeBot(answer)) as bot:
            begin = ["run", "--engine", "http", "--bot-url", bot.url, "--evaluations", "e2e", "--no-cache"]
            return run_command_line([*begin, "--fail-on", "new-failures", *flags])

    def erring(call: Call) -> Reply:
        return Reply(b"<html>oops", 200) if call.body["message"] == "hello" else right(call)

    base = ["--repeats", "first: 20, most: 20", "--baseline", "none", "--out", "base"]
    assert judged(right, *base) == 0
    judged(erring, "--baseline", "base", "--out", "later")
    erred = decode(Path("later/report.json").read_bytes()).e2e
    assert erred is not None
    assert [case.outcome for case in erred.cases].count("error") == 1
    assert judged(right, "--baseline", "later") == 0
    assert judged(wrong, "--baseline", "later") == 1
    assert (repeats("hello").outcome, repeats("hello").base) == ("regressed", "P" * 20)


def test_the_same_bot_passes_and_a_dead_case_fails() -> None:
    base = ["--repeats", "first: 20, most: 20", "--baseline", "none", "--fail-on", "none", "--out", "base"]
    assert run(RATES, 1, *base) == 0
    judged = ["--baseline", "base", "--fail-on", "new-failures"]
    assert [run(RATES, seed, *judged) for seed in range(3)] == [0] * 3
    assert run({**RATES, "hello": 1.0}, 3, *judged) == 1
    assert repeats("hello").outcome == "regressed"


def test_a_base_that_can_be_asked_needs_no_history() -> None:
    assert run(RATES, 1, "--baseline", "none", "--fail-on", "none", "--out", "base") == 0
    judged = ["--baseline", "base", "--fail-on", "new-failures"]
    assert run({**RATES, "hello": 1.0}, 3, *judged, on_base=RATES) == 1
    assert repeats("hello").outcome == "regressed"
    assert repeats("hello").base[2:] == "p" * (len(repeats("hello").runs) - 2)
    both = {**RATES, "hello": 0.7}
    assert run(both, 5, *judged, on_base=both) == 0, "it fails on both sides: the model drifted"


def test_a_dead_case_is_not_excused_by_a_base_that_somebody_answers_for() -> None:
    """A bot of the change may have ended the base's, and answer in its place."""
    rates = dict.fromkeys(RATES, 0.0)
    assert run(rates, 1, "--baseline", "none", "--out", "base") == 0
    dead = {**rates, "hello": 1.0}
    assert run(dead, 3, "--baseline", "base", "--fail-on", "new-failures", on_base=dead) == 1
    assert (repeats("hello").outcome, repeats("hello").passed) == ("failed", 0)


@pytest.mark.parametrize(
    "how", [Reply(b"", how="cut"), Reply(b"oops", 503), Reply(b"", 401), Reply(b"", 302), Reply(b"x")]
)
@pytest.mark.parametrize("after", [0, 3])
def test_a_base_that_falls_silent_fails_the_run(how: Reply, after: int) -> None:
    rates = dict.fromkeys(RATES, 0.0)
    assert run(rates, 1, "--baseline", "none", "--out", "base") == 0
    right, calls = coins(rates, 2), count(1)

    with (
        serving(FakeBot(coins({**rates, "hello": 1.0}, 3))) as bot,
        serving(FakeBot(lambda call: how if next(calls) > after else right(call))) as there,
    ):
        begin = ["run", "--engine", "http", "--bot-url", bot.url, "--bot-url-base", there.url, "--no-cache"]
        code = run_command_line([*begin, "--evaluations", "e2e", "--baseline", "base", "--fail-on", "new-failures"])
    assert code == 2
    assert repeats("hello").outcome == "regressed" or not repeats("hello").passed
    assert "not answer" in Path("results/comment.md").read_text()


def test_a_base_at_the_same_address_is_not_asked(golden: Golden) -> None:
    """It would fail with this side, and excuse it."""
    base = ["--repeats", "first: 20, most: 20", "--baseline", "none", "--out", "base"]
    rates = dict.fromkeys(RATES, 0.0)
    assert run(rates, 1, *base) == 0
    with serving(FakeBot(coins({**rates, "hello": 1.0}, 1))) as bot:
        begin = ["run", "--engine", "http", "--bot-url", bot.url, "--bot-url-base", f"{bot.url.upper()}/", "--no-cache"]
        assert run_command_line([*begin, "--evaluations", "e2e", "--baseline", "base"]) == 1
    assert (repeats("hello").outcome, repeats("hello").base) == ("regressed", "P" * 20)
    section = decode(Path("results/report.json").read_bytes()).e2e
    assert section is not None
    golden(*section.remarks)


def test_a_base_is_not_measured_at_the_same_address(project: Path) -> None:
    """It would be this side itself, and fail as it does."""
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "base"), ("commit", "-qm", "one", "--allow-empty")):
        subprocess.run([*GIT, *words], check=True, cwd=project)
    with serving(FakeBot(coins({**dict.fromkeys(RATES, 0.0), "hello": 1.0}, 1))) as bot:
        same = bot.url.replace("127.0.0.1", "localhost")
        begin = ["run", "--engine", "http", "--bot-url", bot.url, "--bot-url-base", same, "--no-cache"]
        assert run_command_line([*begin, "--evaluations", "e2e", "--base", "HEAD~1", "--fail-on", "new-failures"]) == 1
    assert repeats("hello").base == ""


def test_a_case_that_is_unclear_is_named_also_beside_one_that_failed() -> None:
    base = ["--repeats", "first: 20, most: 20", "--baseline", "none", "--fail-on", "none", "--out", "base"]
    rates = dict.fromkeys(RATES, 0.0)
    assert run(rates, 1, *base) == 0
    dead, unclear = list(RATES)[:2]
    rules = ["--repeats", "first: 3, most: 4", "--fail-on", "new-failures"]
    for seed in range(30):
        assert run({**rates, dead: 1.0, unclear: 0.5}, seed, "--baseline", "base", *rules) == 1
        if repeats(unclear).outcome == "unclear":
            break
    comment = Path("results/comment.md").read_text()
    (line,) = [line for line in comment.splitlines() if "1 end-to-end case unclear" in line]
    assert f"`{unclear}`" in line
    assert "tests/e2e_test_cases.yml" in line


# --- the base is asked as its own files say --------------------------------------------------------------------------

OTHER_SHAPE = REST.replace('message: "{text}"', 'said: "{text}"')


def asked_otherwise(answer: Callable[[Call], Reply]) -> Callable[[Call], Reply]:
    """The same bot, which takes its messages under another name."""
    return lambda call: answer(replace(call, body={**call.body, "message": call.body["said"]}))


def run_of_another_shape(*flags: str) -> int:
    """A change of `bot:` beside the bot of the base, which knows nothing of it; "hello" is dead."""
    with ExitStack() as stack:
        here = stack.enter_context(serving(FakeBot(asked_otherwise(coins({**RATES, "hello": 1.0}, 3)))))
        there = stack.enter_context(serving(FakeBot(coins(RATES, 4))))
        begin = ["run", "--engine", "http", "--bot-url", here.url, "--bot-url-base", there.url, "--evaluations", "e2e"]
        return run_command_line([*begin, "--quiet", "--no-cache", *flags])


def test_a_dead_address_of_the_base_is_a_mistake_of_whoever_names_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a laptop; for CI see `test_base_out_of_reach.py`."""
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("commit", "-qm", "base"),
        ("commit", "-qm", "change", "--allow-empty"),
    ):
        subprocess.run([*GIT, *words], check=True)
    with serving(FakeBot()) as gone:
        pass
    assert run(dict.fromkeys(RATES, 0.0), 1, "--base", "HEAD~1", "--bot-url-base", gone.url) == 2, "nothing is excused"
    said = capsys.readouterr().err
    assert "--bot-url-base: " in said
    assert gone.url in said
    assert not Path("results").exists()


def test_the_base_is_asked_as_its_own_bot_section_says(project: Path) -> None:
    def git(*arguments: str) -> None:
        user = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *user, *arguments], cwd=project, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "base")
    assert run(RATES, 1, "--baseline", "none", "--fail-on", "none", "--out", "base") == 0
    (project / "turncheck.yml").write_text(OTHER_SHAPE)
    assert run_of_another_shape("--baseline", "base", "--fail-on", "new-failures") == 1
    assert repeats("hello").outcome == "regressed"
    assert repeats("hello").base[2:] == "p" * (len(repeats("hello").runs) - 2)


def test_a_base_that_nobody_knows_how_to_ask_is_not_asked_and_excuses_nothing(project: Path) -> None:
    assert run(RATES, 1, "--repeats", "first: 20", "--baseline", "none", "--fail-on", "none", "--out", "base") == 0
    (project / "turncheck.yml").write_text(OTHER_SHAPE)
    assert run_of_another_shape("--baseline", "base", "--fail-on", "new-failures") == 1
    assert (repeats("hello").outcome, repeats("hello").base) == ("regressed", "P" * 20)
    section = decode(Path("results/report.json").read_bytes()).e2e
    assert section is not None
    assert "`bot:`" in section.remarks[0]


# --- a bot that dies -------------------------------------------------------------------------------------------------


def _stopped(bot: FakeBot) -> Reply:
    bot.stop()
    return Reply(how="cut")


DEAD: dict[str, Callable[[FakeBot], Reply]] = {
    "cut": lambda _: Reply(how="cut"),
    "behind a proxy": lambda _: Reply({}, 503),
    "a login page": lambda _: Reply(b"<html>"),
    "gone": _stopped,
}


def dying(last: int, death: Callable[[FakeBot], Reply]) -> FakeBot:
    """A bot that is always right, and dies after its last answer."""
    right = coins(dict.fromkeys(RATES, 0.0), 2)
    fake = FakeBot(lambda call: right(call) if len(fake.calls) <= last else death(fake))
    return fake


@pytest.mark.parametrize("death", DEAD)
def test_a_bot_that_dies_at_any_turn_opens_no_gate_and_fails_no_case(
    death: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each of the turns of a run is the last one that the bot answers: what ends the run is no failure of a case."""
    base = ["--repeats", "first: 4, most: 4", "--baseline", "none", "--fail-on", "none", "--out", "base"]
    assert run(dict.fromkeys(RATES, 0.0), 1, *base) == 0
    judged = ["--baseline", "base", "--fail-on", "new-failures", "--bot-parallel", "1"]
    turns = 2 * len(RATES)
    for last in range(1, turns + 1):
        with serving(dying(last, DEAD[death])) as bot:
            begin = ["run", "--engine", "http", "--bot-url", bot.url, "--evaluations", "e2e", "--quiet", "--no-cache"]
            code = run_command_line([*begin, *judged])
        assert code == (0 if last == turns else 2), f"the bot died after turn {last}: {capsys.readouterr()}"
        section = decode(Path("results/report.json").read_bytes()).e2e
        assert section is not None
        passed, unclear = max(0, last - len(RATES)), min(last, len(RATES)) - max(0, last - len(RATES))
        outcomes = Counter(case.outcome for case in section.cases)
        assert outcomes == +Counter(passed=passed, unclear=unclear, skipped=len(RATES) - passed - unclear)
        comparison = json.loads(Path("results/comparison.json").read_text())
        assert not comparison["e2e"].get("worse")
        assert not [one["name"] for one in comparison["metrics"] if one.get("judgement") == "worse"]
        verdict = json.loads(Path("results/verdict.json").read_text())
        failed = [gate["name"] for gate in verdict["gates"] if gate["fails"]]
        assert failed == ([] if last == turns else ["completed"])


def test_a_case_that_errs_while_the_bot_answers_others_fails_whenever_the_bot_dies_later() -> None:
    wrong = coins({**dict.fromkeys(RATES, 0.0), "cancel": 1.0}, 2)

    def answer(call: Call) -> Reply:
        if call.body["message"] == "order":
            return Reply(b"<html>")
        return wrong(call) if len(fake.calls) < 14 else Reply(how="cut")

    fake = FakeBot(answer)
    assert run(dict.fromkeys(RATES, 0.0), 1, "--baseline", "none", "--out", "base") == 0
    with serving(fake) as bot:
        begin = ["run", "--engine", "http", "--bot-url", bot.url, "--evaluations", "e2e", "--no-cache"]
        assert run_command_line([*begin, "--baseline", "base", "--bot-parallel", "1"]) == 2
    section = decode(Path("results/report.json").read_bytes()).e2e
    assert section is not None
    outcomes = {case.name: case.outcome for case in section.cases}
    assert outcomes == {"opening hours": "passed", "order": "error", "cancel": "unclear", "hello": "passed"}


@pytest.mark.parametrize("turn", range(2 * len(RATES)))
@pytest.mark.parametrize("failure", [Reply(how="cut"), Reply({}, 503), Reply(b"<html>")], ids=["cut", "503", "html"])
def test_a_call_that_fails_once_fails_nothing(turn: int, failure: Reply) -> None:
    right = coins(dict.fromkeys(RATES, 0.0), 2)
    fake = FakeBot(lambda call: failure if len(fake.calls) == turn + 1 else right(call))
    with serving(fake) as bot:
        begin = ["run", "--engine", "http", "--bot-url", bot.url, "--evaluations", "e2e", "--quiet", "--no-cache"]
        code = run_command_line([*begin, "--baseline", "none", "--bot-parallel", "1"])
    assert code == 0


def test_sentences_are_repeated_beside_cases_also_in_turn_with_the_base(project: Path) -> None:
    sentences = {"good evening": 0.05, "tell me more": 0.1}
    examples = "".join(f"    - {text}\n" for text in sentences)
    (project / "tests/nlu.yml").write_text(f"version: '3.1'\nnlu:\n- intent: ask\n  examples: |\n{examples}")
    (project / "turncheck.yml").write_text(f"{REST}  intent: $.nlu.intent\n")
    both = ["--evaluations", "e2e,nlu", "--nlu", "tests/nlu.yml"]
    rates = {**RATES, **sentences}
    assert run(rates, 1, *both, "--baseline", "none", "--fail-on", "none", "--out", "base") == 0
    judged = [*both, "--baseline", "base", "--fail-on", "new-failures"]
    assert run(rates, 4, *judged, on_base=rates) == 0
    assert run({**rates, "good evening": 1.0}, 3, *judged, on_base=rates) == 1
    nlu = decode(Path("results/report.json").read_bytes()).nlu
    assert nlu is not None
    (found,) = [one.repeats for one in nlu.predictions if one.text == "good evening"]
    assert isinstance(found, Repeats)
    assert found.outcome == "regressed"
    assert found.base[2:] == "p" * (len(found.runs) - 2)
