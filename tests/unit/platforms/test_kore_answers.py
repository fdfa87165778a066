"""What Kore.ai's platform answers, spoiled: a value or words, never a traceback; and the clock that paces the calls."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from golden_texts import Golden
from hypothesis import given, settings
from hypothesis import strategies as st

from turncheck.engines.base import SuiteAnswers, UtteranceAnswer
from turncheck.evaluations.batch.suites import SuiteRun, batch_of, judged_suite
from turncheck.platforms.kore.engine import answers
from turncheck.platforms.kore.engine.answers import UnreadableError, read_json
from turncheck.platforms.kore.engine.client import LIFETIME, WINDOWS, Clock, Pace, Tokens, shown
from turncheck.platforms.kore.engine.engines import ReportError, answers_to, read_report
from turncheck.process.environment import Secret
from turncheck.project.batch.model import ExpectedEntity, Suite, SuiteCase
from turncheck.report.codec import encode
from turncheck.report.model import ProjectInfo
from turncheck.run.report_of import report_of

API = Path(__file__).parents[2] / "oracle" / "kore" / "api"
BODIES = [json.loads(path.read_text("utf-8"))["response"]["body"] for path in sorted(API.glob("*.json"))]
READERS = [
    *(answers.read_understood, answers.read_suites, answers.read_file_id, answers.read_imported, answers.read_accepted),
    *(answers.read_state, answers.read_link, answers.read_message, answers.read_export),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
SUITE = Suite(
    "s",
    "s.json",
    (
        SuiteCase("two bags to Oslo", ("Order Tea",), entities=(ExpectedEntity("City", ("Oslo",)),)),
        SuiteCase("so urgent", ("Urgent",), is_trait=True),
        SuiteCase("hm", ()),
    ),
)


@st.composite
def spoiled(draw: st.DrawFn) -> Any:
    """A documented answer with one value replaced, or left out."""
    body = json.loads(json.dumps(draw(st.sampled_from(BODIES))))
    holder = body
    while isinstance(holder, dict | list) and holder:
        key: Any = draw(st.sampled_from(sorted(holder) if isinstance(holder, dict) else list(range(len(holder)))))
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 3)) == 0:
            if draw(st.booleans()):
                holder[key] = draw(JSON)
            else:
                del holder[key]
            break
        holder = inner
    return body


def is_judged(given_answers: tuple[UtteranceAnswer, ...]) -> None:
    """Judge the suite by these answers, and write the report."""
    suite = judged_suite(SUITE, SuiteAnswers(given_answers), SuiteRun())
    encode(report_of(ProjectInfo(name="x"), 0, batch=batch_of([suite], SuiteRun())))


@pytest.mark.slow
@given(spoiled() | JSON)
@settings(max_examples=400, deadline=None)
def test_any_answer_is_a_value_or_unreadable(document: Any) -> None:
    told = read_json(json.dumps(document).encode())
    for read in READERS:
        try:
            found = read(told)
        except UnreadableError:
            continue
        if isinstance(found, answers.Understood):
            answer = UtteranceAnswer(found.intents, found.traits, found.entities, scores=found.scores)
            is_judged((answer, answer, answer))


@given(st.binary(max_size=200))
@settings(deadline=None)
def test_any_bytes_are_json_or_unreadable(content: bytes) -> None:
    with suppress(UnreadableError):
        read_json(content)


def test_what_json_can_hold_and_a_report_cannot_is_met() -> None:
    winner = b'{"response": {"finalResolver": {"winningIntent": [{"intent": "a\\ud800b", "score": '
    for score in (b"1e999", b"NaN", b"-Infinity", b"1" * 400):
        found = answers.read_understood(read_json(winner + score + b"}]}}}"))
        assert found.intents == ("a\N{REPLACEMENT CHARACTER}b",)
        assert found.scores == {}
    for deep in (b"[" * 100_000, b'{"a":' * 100_000):
        with pytest.raises(UnreadableError):
            read_json(deep)
    with pytest.raises(UnreadableError, match="more than 3,000 characters"):
        answers.read_accepted({"requestId": "x" * 4000})


USUAL = ("two bags to Oslo", "so urgent", "hm", "Order Tea", "trait: Urgent||Angry", "None", "City", "Oslo", "TRUE")
CELLS = st.sampled_from((*USUAL, "True Positive")) | st.text(max_size=6)


@pytest.mark.slow
@given(st.lists(st.lists(CELLS, max_size=11), max_size=8), st.integers(0, 5))
@settings(max_examples=300, deadline=None)
def test_any_table_is_answers_or_words(rows: list[list[str]], place: int) -> None:
    header = (API / "report.csv").read_text("utf-8").splitlines()[-5]
    lines = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    lines.insert(min(place, len(lines)), header)
    try:
        reported = read_report("\n".join(lines).encode("utf-8", "surrogatepass")).cases
    except ReportError:
        return
    found = answers_to(SUITE.cases, reported)
    assert len(found) == len(SUITE.cases)
    is_judged(found)


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_any_file_is_a_table_or_words(content: bytes) -> None:
    for table in (b'"Utterance","Result Type"\n' + content, content):
        with suppress(ReportError):
            read_report(table)


def test_equal_utterances_are_told_apart_by_what_is_expected(golden: Golden) -> None:
    rows = ("hi,A,B,False Positive", "hi,B,B,True Positive", "hi,A,,FalseNegative")
    table = "\n".join(("Utterance,ExpectedIntent,MatchedIntent,ResultType", *rows)).encode()
    cases = tuple(SuiteCase("hi", (name,)) for name in ("B", "A", "A", "A"))
    found = answers_to(cases, read_report(table).cases)
    assert [answer.result for answer in found] == ["tp", "fp", "fn", None]
    golden(found[3].error)


@given(st.lists(st.floats(0, 30), min_size=1, max_size=400))
@settings(max_examples=60, deadline=None)
def test_no_window_has_more_calls_than_it_may(breaks: list[float]) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    pace, made = Pace(Clock(lambda: now[0], sleep)), []
    for pause in breaks:
        pace.wait()
        made.append(now[0])
        now[0] += pause
    for most, seconds in WINDOWS:
        for first, beyond in zip(made, made[most:], strict=False):
            assert beyond - first >= seconds - 1e-6


@pytest.mark.parametrize("share", [2, 8, 60])
def test_shards_keep_to_the_limits_together(share: int) -> None:
    made: list[float] = []
    for _ in range(share):
        now = [0.0]

        def sleep(seconds: float, now: list[float] = now) -> None:
            now[0] += seconds

        pace = Pace(Clock(lambda now=now: now[0], sleep), share)  # type: ignore[misc]  # mypy knows no default here
        while now[0] < 8000:
            pace.wait()
            made.append(now[0])
            now[0] += 0.1
    made.sort()
    for most, seconds in WINDOWS:
        assert len(made) > most
        for first, beyond in zip(made, made[most:], strict=False):
            assert beyond - first >= seconds - 1e-6


def test_threads_keep_to_the_limits_together() -> None:
    pauses: list[float] = []
    pace = Pace(Clock(lambda: 0.0, pauses.append))

    def ask() -> None:
        for _ in range(40):
            pace.wait()

    threads = [Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(round(pause) for pause in pauses) == [60] * 60 + [120] * 60 + [180] * 60


def test_how_long_calls_take_is_estimated_before() -> None:
    pace = Pace(Clock(lambda: 0.0, lambda _seconds: None))
    assert pace.seconds_for(10) == 10
    assert round(pace.seconds_for(1000) / 60) == 17
    assert pace.seconds_for(2000) == 3600 + 200


def test_a_token_is_signed_short_and_replaced_before_it_ends() -> None:
    now = [1000.0]
    tokens = Tokens("cs-1", Secret("the-secret"), lambda: now[0])
    first = tokens.current()
    head, claims, signature = first.split(".")
    expected = hmac.new(b"the-secret", f"{head}.{claims}".encode(), hashlib.sha256).digest()
    assert base64.urlsafe_b64decode(signature + "==") == expected
    told = json.loads(base64.urlsafe_b64decode(claims + "=="))
    assert (told["appId"], told["exp"]) == ("cs-1", 1000 + LIFETIME)
    assert told["sub"]
    now[0] += LIFETIME - 100
    assert tokens.current() == first
    now[0] += 50
    assert tokens.current() != first


def test_neither_links_nor_tokens_are_shown() -> None:
    told = shown(
        '{"fileUrl":"https:\\/\\/files.example\\/r.csv?Policy=abc","x":"http://a.b/c?sig=1"}\x1b[31m\n::error::x'
    )
    assert told == '{"fileUrl":"(a link)","x":"(a link)"}\N{REPLACEMENT CHARACTER}[31m ::error::x'


def test_of_intents_with_one_name_the_winners_bot_counts() -> None:
    """Linked bots may have intents of the same name, which only the task tells apart."""
    winner = {"intent": "Pay", "taskId": "dg-2", "score": 1}
    others = [
        {"intent": "Pay", "taskId": "dg-1", "botName": "First Bot"},
        {"intent": "Pay", "taskId": "dg-2", "scoring": {"botname": "Second Bot"}},
    ]
    for ranking, bots in ((others, ("Second Bot",)), (others[:1], ("",))):
        resolver = {"winningIntent": [winner], "ranking": ranking}
        found = answers.read_understood({"response": {"result": "successintent", "finalResolver": resolver}})
        assert found.bots == bots


@pytest.mark.parametrize(
    ("winners", "ranking", "bots"),
    [
        ([{"botName": "First"}, {"botName": "Second"}], [], ("First", "Second")),
        (
            [{"taskId": "dg-1"}, {"taskId": "dg-2"}],
            [{"taskId": "dg-2", "botName": "Second"}, {"taskId": "dg-1", "scoring": {"botname": "First"}}],
            ("First", "Second"),
        ),
        ([{"taskId": "dg-1"}, {"taskId": "dg-2"}], [{"botName": "First"}], ("", "")),
        ([{"taskId": "dg-1"}, {"taskId": "dg-1"}], [{"botName": "First"}], ("First",)),
    ],
)
def test_two_linked_bots_may_both_win_with_an_intent_of_one_name(
    winners: list[dict[str, str]], ranking: list[dict[str, object]], bots: tuple[str, ...]
) -> None:
    won, ranked = ([{"intent": "Pay", **one} for one in listed] for listed in (winners, ranking))
    resolver = {"winningIntent": won, "ranking": ranked}
    found = answers.read_understood({"response": {"result": "ambiguousintent", "finalResolver": resolver}})
    assert (found.intents, found.bots) == (("Pay",) * len(bots), bots)
