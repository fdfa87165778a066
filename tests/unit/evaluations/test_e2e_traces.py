"""What a report keeps of the turns of end-to-end cases: events, policies, slots; bounded, those that failed first."""

from __future__ import annotations

from msgspec.structs import replace
from report_builder import BASE_COMMIT, case, report
from test_e2e_judging import Script, bot, heard, ran, run, said, slot, step
from test_e2e_judging import case as written_case

from turncheck.comparison.compare import compare
from turncheck.comparison.model import Present
from turncheck.engines.conversation import Turn
from turncheck.evaluations.e2e.steps import trace_of, within_limits
from turncheck.evaluations.written_answers import read_answer, write_answer
from turncheck.messages.finding import Location
from turncheck.report.codec import decode, encode
from turncheck.report.model import CaseMessage, CaseResult, TurnEvent, TurnTrace


def test_a_case_keeps_what_happened_after_each_message() -> None:
    happened = Turn(
        "a",
        (),
        {"city": "Rome", "empty": None},
        "trip_form",
        (heard("go"), slot("city", "Rome"), {**ran("trip_form"), "confidence": 0.75}, bot("When?", "utter_ask")),
    )
    opening = Turn(None, (), {}, None, (ran("action_session_start"), {"event": "session_started"}))
    script = Script({"a": happened})
    script.opening = opening

    (result,) = run(script, written_case("c", said("a", step("utter", "utter_ask")))).cases

    (message,) = result.messages
    assert message.trace == TurnTrace(
        events=(
            TurnEvent(kind="slot", name="city", value="Rome"),
            TurnEvent(kind="action", name="trip_form", policy="RulePolicy", confidence=0.75),
            TurnEvent(kind="bot", name="utter_ask", value="When?"),
        ),
        slots={"city": "Rome"},
        active_loop="trip_form",
    )
    assert result.opening is not None
    assert [event.kind for event in result.opening.events] == ["action", "session_started"]
    assert read_answer(write_answer(result)) == result  # as a shard or the cache hands it on
    whole = report(cases=[result])
    assert decode(encode(whole)) == whole


def test_a_turn_of_which_nothing_is_known_has_no_trace() -> None:
    assert trace_of(Turn("a", (), {}, None, ())) is None


def test_long_values_and_many_events_are_cut() -> None:
    trace = trace_of(Turn("a", (), {"page": ["x" * 5000]}, None, tuple(slot(f"s{n}", n) for n in range(150))))

    assert trace is not None
    assert (len(trace.events), trace.left_out) == (100, 50)
    assert len(trace.slots["page"]) == 1001
    assert trace.slots["page"].startswith('["xxx')


def _with_trace(name: str, *steps: str) -> CaseResult:
    trace = TurnTrace(events=(TurnEvent(kind="action", name="a"),) * 10)
    message = CaseMessage(text="hi", location=Location("tests/e2e.yml", 1), trace=trace)
    return replace(case(name, *steps), messages=(message,), opening=trace)


def test_traces_of_cases_that_failed_are_kept_first() -> None:
    results = [_with_trace(f"passes {n}", "a") for n in range(3)] + [_with_trace("fails", "a!b")]

    kept = within_limits(results, most=45)

    assert [one.messages[0].trace is not None for one in kept] == [True, False, False, True]
    assert [one.opening is not None for one in kept] == [True, False, False, True]
    assert within_limits(results) == tuple(results)


def test_a_comparison_does_not_care_for_traces() -> None:
    base = report(cases=[_with_trace("a", "x"), _with_trace("b", "x!y")], commit=BASE_COMMIT)
    head = report(cases=[case("a", "x"), case("b", "x!y")])
    bare = report(cases=[replace(one, messages=tuple(replace(m, trace=None) for m in one.messages), opening=None)
                         for one in (base.e2e.cases if base.e2e else ())], commit=BASE_COMMIT)  # fmt: skip

    assert compare(head, Present(base, "file")).e2e == compare(head, Present(bare, "file")).e2e
