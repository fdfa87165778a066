"""What turns of a bot over HTTP take, as it is measured: its own time alone, the tokens that it says, its trace."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fake_bot import EXAMPLE, REST, Call, FakeBot, Reply, echo, hold, result_of, serving
from golden_texts import Golden
from lxml import etree
from test_http_callbacks import post

from turncheck.cli import run_command_line
from turncheck.messages.errors import UserError
from turncheck.report.measured import MeasuredTurn
from turncheck.settings.file import read_settings_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.report.model import EndToEnd

TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-01")
USAGE = f"{REST}  usage: {{input: $.usage.in, output: $.usage.out, model: $.model}}\n"
PRICES = '  prices: {travel-1: {input: 2, output: 10}, "*": {input: 1, output: 1}}\n'


def turns(section: EndToEnd) -> list[MeasuredTurn]:
    """All turns that were measured, in the cases' order."""
    messages = (message for case in section.cases for message in case.messages)
    return [one.measured for one in messages if isinstance(one.measured, MeasuredTurn)]


def milliseconds(section: EndToEnd) -> list[float]:
    return [one.ms for one in turns(section) if one.ms is not None]


def saying(**more: Any) -> FakeBot:
    """A bot whose answers have more than messages."""

    def answer(call: Call) -> Reply:
        return Reply({**echo(call).body, **more})

    return FakeBot(answer)


# Milliseconds.


def test_a_turn_takes_what_the_bot_takes(tmp_path: Path) -> None:
    with serving(FakeBot(lambda call: Reply(echo(call).body, seconds=0.2))) as fake:
        section = hold(tmp_path, fake)

    assert all(200 <= one < 1000 for one in milliseconds(section)), section
    assert all(one.first_ms == one.ms for one in turns(section))


def test_what_turncheck_waits_and_tries_again_is_not_the_bots(tmp_path: Path) -> None:
    """A bot that is busy for five seconds, and then answers at once, is fast."""
    replies = iter([Reply({}, 429, (("Retry-After", "5"),), seconds=0.3), Reply({}, 503, seconds=0.3)])
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time.sleep(0.2)

    with serving(FakeBot(lambda call: next(replies, None) or echo(call))) as fake:
        section = hold(tmp_path, fake, sleep=sleep)

    assert slept
    assert section.passed == 2 + (result_of(section, "bad").outcome == "passed")
    assert max(milliseconds(section)) < 200, section


def test_waiting_for_a_place_is_not_the_bots(tmp_path: Path) -> None:
    """Eight conversations, of which one may call at a time: the last does not take eight times as long."""
    cases = "test_cases:\n" + "".join(
        f"- test_case: {n}\n  steps: [{{user: hello {n}}}, {{bot: You said hello {n}}}]\n" for n in range(8)
    )
    with serving(FakeBot(lambda call: Reply(echo(call).body, seconds=0.1))) as fake:
        section = hold(tmp_path, fake, cases)

    assert len(milliseconds(section)) == 8
    assert max(milliseconds(section)) < 500


def test_the_quiet_after_the_last_message_is_not_the_bots(tmp_path: Path) -> None:
    """Messages that are posted: the first after 100 ms, the second after 200 ms, then a second of silence."""
    shape = """\
bot:
  request: {path: /chat, body: {session: "{session}", message: "{text}", reply_to: "{callback}"}}
  replies: $.text
  quiet: 1s
  wait: 5s
"""

    def answer(call: Call) -> Reply:
        for text in ("You said", f"You said {call.body['message']}"):
            time.sleep(0.1)
            post(call.body["reply_to"], {"text": text})
        return Reply(b"accepted", 202)

    cases = EXAMPLE.replace("  - bot: ", "  - bot: You said\n  - bot: ")
    with serving(FakeBot(answer)) as fake:
        section = hold(tmp_path, fake, cases, shape=shape, at_once=3)

    assert section.passed == 3, section
    for turn in turns(section):
        assert turn.first_ms is not None
        assert turn.ms is not None
        assert 100 <= turn.first_ms < turn.ms < 1000
        assert turn.ms >= 200


def test_fetched_messages_count_when_they_come(tmp_path: Path) -> None:
    shape = """\
bot:
  request: {path: /chat, body: {session: "{session}", message: "{text}"}}
  poll: {path: "/messages/{session}"}
  replies: $.messages[*].text
  quiet: 800ms
  wait: 5s
"""
    said: dict[str, Iterator[Any]] = {}

    def answer(call: Call) -> Reply:
        if call.method == "POST":
            said[call.body["session"]] = iter([[], [{"text": f"You said {call.body['message']}"}]])
            return Reply({})
        return Reply({"messages": next(said[call.path.rpartition("/")[2]], [])})

    with serving(FakeBot(answer)) as fake:
        section = hold(tmp_path, fake, shape=shape, at_once=3)

    assert section.passed == 3, section
    assert max(milliseconds(section)) < 700


def test_a_clock_that_jumps_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = iter([1e9, 0.0, 5e8] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    with serving(FakeBot()) as fake:
        section = hold(tmp_path, fake)

    assert len(milliseconds(section)) == 3
    assert all(0 <= one < 1000 for one in milliseconds(section))


def test_a_turn_without_an_answer_took_nothing_that_is_known(tmp_path: Path) -> None:
    """Neither 0 nor the time until it was given up."""

    def answer(call: Call) -> Reply:
        return Reply(how="cut") if call.body["message"] == "bad" else echo(call)

    with serving(FakeBot(answer)) as fake:
        section = hold(tmp_path, fake)

    assert result_of(section, "bad").outcome == "error"
    assert len(turns(section)) == 2


# Tokens and cost.


def test_tokens_have_the_price_of_the_model_that_answered(tmp_path: Path) -> None:
    with serving(saying(usage={"in": 1000, "out": 100}, model="travel-1")) as fake:
        known = turns(hold(tmp_path, fake, shape=USAGE + PRICES))
    with serving(saying(usage={"in": 1000, "out": 100}, model="another")) as fake:
        other = turns(hold(tmp_path, fake, shape=USAGE + PRICES))
        unpriced = turns(hold(tmp_path, fake, shape=USAGE + PRICES.replace('"*"', "yet another")))

    assert {(one.tokens_in, one.tokens_out, one.cost) for one in known} == {(1000, 100, 0.003)}
    assert {one.cost for one in other} == {0.0011}
    assert {(one.tokens_in, one.cost) for one in unpriced} == {(1000, None)}


def test_the_tokens_of_openais_api_are_known(tmp_path: Path) -> None:
    shape = "bot: {kind: openai, request: {body: {model: travel-1}}, prices: {travel-1: {input: 2, output: 10}}}\n"
    body = {
        "model": "travel-1-2026-10-01",
        "choices": [{"message": {"role": "assistant", "content": "You said one"}}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 4, "total_tokens": 24},
    }
    with serving(FakeBot(lambda _: Reply(body))) as fake:
        found = turns(hold(tmp_path, fake, shape=shape))

    assert {(one.tokens_in, one.tokens_out, one.cost) for one in found} == {(20, 4, 8e-05)}


@pytest.mark.parametrize(
    "wrong", [-5, 10**12, 10**30, 1.5, "12", True, [1], {"in": 1}, -0.5, "x" * 100_000, [[[[]]]], ""]
)
def test_what_is_no_number_of_tokens_is_not_known_and_no_error(wrong: Any, tmp_path: Path) -> None:
    with serving(saying(usage={"in": wrong, "out": 7}, model=wrong)) as fake:
        section = hold(tmp_path, fake, shape=USAGE + PRICES)

    assert section.passed == 3, section
    for turn in turns(section):
        assert (turn.tokens_in, turn.tokens_out, turn.cost) == (None, None, None)


@pytest.mark.parametrize("lacking", [{}, {"usage": None}, {"usage": {}}, {"usage": {"in": None, "out": None}}])
def test_what_is_not_there_is_not_0(lacking: dict[str, Any], tmp_path: Path) -> None:
    with serving(saying(**lacking)) as fake:
        section = hold(tmp_path, fake, shape=USAGE + PRICES)

    assert section.passed == 3
    assert {(one.tokens_in, one.tokens_out, one.cost) for one in turns(section)} == {(None, None, None)}


def test_no_tokens_are_0(tmp_path: Path) -> None:
    with serving(saying(usage={"in": 0, "out": 0.0}, model="travel-1")) as fake:
        found = turns(hold(tmp_path, fake, shape=USAGE + PRICES))

    assert {(one.tokens_in, one.tokens_out, one.cost) for one in found} == {(0, 0, 0.0)}


@pytest.mark.parametrize(
    "line",
    [
        "usage: $.usage",
        "usage: {input: usage}",
        "usage: {tokens: $.x}",
        "prices: {travel-1: {input: 2}}",
        "prices: {travel-1: {input: -2, output: 1}}",
        "prices: {travel-1: {input: 1e300, output: 1}}",
        "prices: {travel-1: 2}",
        "prices: 2",
    ],
)
def test_what_cannot_be_usage_or_prices_is_refused(line: str, tmp_path: Path, golden: Golden) -> None:
    (tmp_path / "turncheck.yml").write_text(f"{REST}  {line}\n")
    with pytest.raises(UserError) as refused:
        read_settings_file(tmp_path)
    golden(refused.value)


# Traces.


def test_each_message_belongs_to_a_trace_of_its_own(tmp_path: Path) -> None:
    cases = "test_cases:\n- test_case: a\n  steps:\n  - user: one\n  - bot: You said one\n  - user: two\n  - bot: x\n"
    with serving(FakeBot()) as fake:
        section = hold(tmp_path, fake, cases)

    sent = [TRACEPARENT.fullmatch(call.headers["traceparent"]) for call in fake.calls]
    assert [one[1] for one in sent if one] == [one.trace for one in turns(section)]
    assert len({one.trace for one in turns(section)}) == 2
    assert section.cases[0].trace_id == turns(section)[1].trace  # that at which it failed


def test_a_header_of_the_files_does_not_go_beside_it(tmp_path: Path) -> None:
    shape = REST.replace("request: {", "request: {headers: {TraceParent: 00-1-2-00}, ")
    with serving(FakeBot()) as fake:
        hold(tmp_path, fake, shape=shape)

    assert all(TRACEPARENT.fullmatch(call.headers["traceparent"]) for call in fake.calls)
    assert not any("TraceParent" in call.headers for call in fake.calls)


def whole_run(folder: Path, fake: FakeBot, *flags: str, shape: str = REST) -> int:
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests/e2e_test_cases.yml").write_text(EXAMPLE)
    (folder / "turncheck.yml").write_text(shape)
    begin = ["run", "--engine", "http", "--bot-url", fake.url, "--evaluations", "e2e", "--no-cache"]
    given = () if "--baseline" in flags else ("--baseline", "none")
    return run_command_line([*begin, *given, *flags])


def test_a_failure_links_to_its_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def answer(call: Call) -> Reply:
        return Reply({"messages": [{"text": "no"}]}) if call.body["message"] == "bad" else echo(call)

    with serving(FakeBot()) as fake:
        whole_run(tmp_path, fake, "--out", "base")
    with serving(FakeBot(answer)) as fake:
        to = ("--trace-url", "https://traces.example/a?b=(c)&id={trace}")
        assert whole_run(tmp_path, fake, "--baseline", "base", *to) == 1

    report = json.loads(Path("results/report.json").read_text())
    failed = next(case for case in report["e2e"]["cases"] if case["name"] == "bad")
    trace = failed["messages"][0]["measured"]["trace"]
    properties = {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in etree.fromstring(Path("results/junit.xml").read_bytes()).iter("testcase")
    }
    assert properties["bad"]["trace"] == trace
    assert properties["one"]["trace"] != trace
    assert f"id={trace}" in Path("results/junit.xml").read_text()
    assert f"(https://traces.example/a?b=%28c%29&id={trace})" in Path("results/comment.md").read_text()


def test_a_case_that_failed_once_shows_and_links_that_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked: list[str] = []

    def fails_once(call: Call) -> Reply:
        is_first = call.body["message"] == "bad" and "bad" not in asked
        asked.append(call.body["message"])
        return Reply({"messages": [{"text": "no"}]}) if is_first else echo(call)

    with serving(FakeBot()) as fake:
        whole_run(tmp_path, fake, "--out", "base")
    with serving(FakeBot(fails_once)) as fake:
        whole_run(tmp_path, fake, "--baseline", "base", "--trace-url", "https://traces.example/{trace}")

    report = json.loads(Path("results/report.json").read_text())
    bad = next(case for case in report["e2e"]["cases"] if case["name"] == "bad")
    trace = bad["failed_run"]["messages"][0]["measured"]["trace"]
    assert (bad["outcome"], bad["repeats"]["outcome"]) == ("passed", "flaky")
    assert [step["actual"] for step in bad["failed_run"]["steps"]] == ["no"]
    assert bad["messages"][0]["measured"]["trace"] != trace
    assert f'name="trace" value="{trace}"' in Path("results/junit.xml").read_text()
    assert f"(https://traces.example/{trace})" in Path("results/comment.md").read_text()


@pytest.mark.parametrize(
    "url",
    [
        "https://traces.example/",
        "javascript:alert({trace})",
        "ftp://traces.example/{trace}",
        "https://traces.example/{trace} onclick=x",
        'https://traces.example/"><script>{trace}',
        "https://traces.example/{trace}\n",
    ],
)
def test_what_is_no_address_of_traces_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(FakeBot()) as fake:
        code = whole_run(tmp_path, fake, f"--trace-url={url}")

    assert code == (0 if url.endswith("\n") else 2)  # surrounding space is no part of it


def test_a_file_of_the_change_names_no_address_of_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(FakeBot()) as fake:
        assert whole_run(tmp_path, fake, shape=f"{REST}trace-url: https://evil.example/{{trace}}\n") == 2


# Limits.


def test_a_limit_of_the_slowest_takes_59_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(FakeBot()) as fake:
        assert whole_run(tmp_path, fake, "--thresholds", "turns.ms.p95 <= 60000") == 2
        golden(capsys.readouterr().err)
        assert not fake.calls
        repeats = ("--repeats", "first: 20, most: 48")
        assert whole_run(tmp_path, fake, "--thresholds", "turns.ms.p95 <= 60000", *repeats) == 0
        assert whole_run(tmp_path, fake, "--thresholds", "turns.ms.p50 <= 0.01", *repeats) == 1


def test_tokens_that_are_not_known_pass_no_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(saying(usage={"in": -1})) as fake:
        whole_run(tmp_path, fake, "--thresholds", "tokens.in <= 100", shape=USAGE)

    gates = json.loads(Path("results/verdict.json").read_text())["gates"]
    assert [gate["outcome"] for gate in gates if gate["name"].startswith("threshold")] == ["not judged"]


def test_the_base_is_asked_in_turn_if_a_gate_compares_its_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def slow(call: Call) -> Reply:
        return Reply(echo(call).body, seconds=0.1)

    with serving(FakeBot(slow)) as fake, serving(FakeBot()) as there:
        whole_run(tmp_path, there, "--out", "base")
        calls = len(there.calls)
        more = ("--baseline", "base", "--bot-url-base", there.url, "--repeats", "first: 6, most: 30")
        assert whole_run(tmp_path, fake, *more) == 0
        assert len(there.calls) == calls
        assert whole_run(tmp_path, fake, *more, "--max-regression", "turns.ms.p50: 20%") == 1
        assert len(there.calls) == calls + 18


def test_a_rise_that_cannot_be_compared_is_not_judged_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    """The base's milliseconds are of another day; its tokens are not known."""
    monkeypatch.chdir(tmp_path)
    with serving(FakeBot()) as there:
        whole_run(tmp_path, there, "--out", "base")
    with serving(saying(usage={"in": 1, "out": 1})) as fake:
        gates = [word for name in ("turns.ms.p50", "tokens.in") for word in ("--max-regression", f"{name}: 20%")]
        whole_run(tmp_path, fake, "--baseline", "base", *gates, shape=USAGE)

    for gate in json.loads(Path("results/verdict.json").read_text())["gates"]:
        if gate["name"].startswith("max-regression"):
            golden(f"{gate['outcome']}: {gate['reason']}")
