"""A bot over HTTP that answers badly: what is wrong is said, the other cases are judged, and no gate opens."""

from __future__ import annotations

import gzip
import json
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from fake_bot import EXAMPLE, REST, Call, FakeBot, Reply, bot_of, conversations, echo, hold, result_of, serving
from golden_texts import Golden

from turncheck.engines.http.conversation import OVER
from turncheck.engines.remote import UnreadableError, decoded
from turncheck.messages.errors import IncompleteError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _with(**more: object) -> Callable[[Call], Reply]:
    return lambda call: Reply({**json.loads(echo(call).content), **more})


BAD: dict[str, tuple[Callable[[Call], Reply], str]] = {
    "html": (lambda _: Reply(b"<html><title>Log in</title></html>"), "not JSON, but a web page"),
    "empty": (lambda _: Reply(b""), "not JSON: it is empty"),
    "text": (lambda _: Reply(b"Hello!"), "not JSON (no JSON: "),
    "latin 1": (lambda _: Reply(b'{"messages": "\xfc"}'), "not JSON (no UTF-8)"),
    "no gzip": (lambda _: Reply(b"{}", headers=(("Content-Encoding", "gzip"),)), "with what cannot be decoded"),
    "a stream of events": (lambda _: Reply(b'data: {"messages": []}\n\n'), "(`stream: false`). It begins: data: {"),
    "a stream of named events": (lambda _: Reply(b"event: message\ndata: {}\n\n"), "but a stream of events: let it"),
    "a list of parts without text": (
        _with(messages=[{"text": [{"type": "image", "url": "x"}]}]),
        "has a list at `replies",
    ),
    "a bomb": (
        lambda _: Reply(gzip.compress(b" " * 50_000_000), headers=(("Content-Encoding", "gzip"),)),
        "with more than 8 MiB",
    ),
    "cut short": (
        lambda _: Reply(b'{"messages": [', headers=(("Content-Length", "900"),), how="short"),
        "cut the conn",
    ),
    "infinite": (lambda _: Reply(b'{"messages": Infinity}'), "not JSON"),
    "too deep": (lambda _: Reply(b"[" * 100_000 + b"]" * 100_000), "not JSON"),
    "10,000 replies": (_with(messages=[{"text": "x"}] * 10_000), "at most 200 are read in a turn"),
    "10 MB": (_with(messages=[{"text": "x" * 10_000_000}]), "with more than 8 MiB"),
    "a long message": (_with(messages=[{"text": "x" * 70_000}]), "a message of 70,000 characters"),
    "a number": (_with(messages=[{"text": 42}]), "has the number 42 at `replies: $.messages[*].text`"),
    "a map": (_with(messages=[{"text": {"en": "Hello"}}]), "has a map ($.en) at `replies"),
    "a list": (_with(messages=[{"text": ["Hello"]}]), "has a list at `replies"),
    "another path": (
        lambda call: Reply({"session": call.body["session"], "output": {"text": "Hello"}}),
        "has nothing at `replies: $.messages[*].text` (turncheck.yml:4:12); it has $.session, $.output.text",
    ),
    "another session": (_with(session="somebody-else"), "answered for another conversation: 'somebody-else'"),
    "forgotten": (lambda _: Reply({"error": "unknown session"}, 404), "unknown session. Has it forgotten"),
    "refused": (lambda _: Reply({"error": {"message": "content filter"}}, 400), "with 400: content filter"),
    "failed": (lambda _: Reply(b"Traceback", 500), "with 500: Internal Server Error"),
    "a number alone": (lambda _: Reply(b"3"), "(turncheck.yml:4:12); it is the number 3"),
    "refused by FastAPI": (lambda _: Reply({"detail": "field required"}, 422), "with 422: field required"),
    "endless headers": (lambda _: Reply(b"{}", headers=(("X-A", "a" * 70_000),)), "with what is not HTTP (got more"),
    "refused in text": (
        lambda _: Reply(b"missing\n field id", 400),
        "with 400: Bad Request. It says: missing field id",
    ),
    "refused by a list": (lambda _: Reply({"detail": [{"msg": "no field id"}]}, 422), "with 422: no field id"),
    "refused by other keys": (lambda _: Reply({"why": "no id"}, 400), 'Bad Request. It says: {"why": "no id"}'),
    "refused with a page": (lambda _: Reply(b"<html>", 400), "with 400: Bad Request"),
    "an error that is none by its status": (
        lambda _: Reply({"error": {"message": "quota exceeded " + "x" * 900}}),
        "it has $.error.message, and its error says: quota exceeded xxx",
    ),
    "an error as text": (lambda _: Reply({"Error": "no\n model"}), "it has $.Error, and its error says: no model"),
    "cut": (lambda _: Reply(how="cut"), "cut the connection when it was asked POST /chat"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_answer_is_an_error_of_its_case_alone(name: str, tmp_path: Path) -> None:
    answer, expected = BAD[name]
    fake = FakeBot(lambda call: answer(call) if call.body["message"] == "bad" else echo(call))
    with serving(fake):
        section = hold(tmp_path, fake, timeout=60.0, sleep=lambda _: None)
    bad = result_of(section, "bad")
    assert bad.outcome == "error"
    assert expected in (bad.reason or "")
    assert len(bad.reason or "") < 1500
    assert [case.outcome for case in section.cases] == ["passed", "error", "passed"]
    assert (section.passed, section.failed) == (2, 1)


def test_a_bot_that_cuts_connections_it_offered_to_keep_is_given_new_ones(tmp_path: Path) -> None:
    turns = "".join(f"  - user: {text}\n  - bot: You said {text}\n" for text in "abc")
    cases = "".join(f"- test_case: {name}\n  steps:\n{turns}" for name in ("one", "two"))
    fake = FakeBot(lambda call: replace(echo(call), how="cut after"))
    with serving(fake):
        section = hold(tmp_path, fake, f"test_cases:\n{cases}", sleep=lambda _: None)
    assert [case.outcome for case in section.cases] == ["passed", "passed"]
    assert len(fake.calls) <= 8, "only the conversation that was cut is held again"


def test_a_bot_that_says_nothing_fails_what_is_expected(tmp_path: Path, golden: Golden) -> None:
    fake = FakeBot(lambda call: Reply({"session": call.body["session"], "messages": []}))
    with serving(fake):
        bad = result_of(hold(tmp_path, fake), "bad")
    assert bad.outcome == "failed"
    golden(bad.steps[0].reason)


def test_a_byte_order_mark_is_no_part_of_an_answer() -> None:
    assert decoded(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    with pytest.raises(UnreadableError):
        decoded(b'\xef\xbb\xbf\xef\xbb\xbf{"a": 1}')


def test_messages_without_text_are_named(tmp_path: Path) -> None:
    fake = FakeBot(_with(messages=[{"image": "https://cats.example"}]))
    with serving(fake):
        bad = result_of(hold(tmp_path, fake), "bad")
    assert bad.outcome == "failed"
    why = "it has $.session, $.messages[*].image"
    assert why in (bad.reason or "")
    assert why in (bad.steps[0].reason or ""), "wherever the step is shown"


def test_an_endless_answer_ends_with_the_turn(tmp_path: Path) -> None:
    fake = FakeBot(lambda call: Reply(how="endless") if call.body["message"] == "bad" else echo(call))
    with serving(fake):
        section = hold(tmp_path, fake, timeout=0.5)
    assert [case.outcome for case in section.cases] == ["passed", "failed", "passed"]
    bad = result_of(section, "bad")
    assert "longer than 0.5 seconds" in (bad.reason or "")
    assert "longer than 0.5 seconds" in (bad.steps[0].reason or "")


def test_a_busy_bot_is_waited_for_as_it_asks(tmp_path: Path) -> None:
    waited: list[float] = []
    refusals = iter([Reply({}, 429, (("Retry-After", "7"),)), Reply({}, 429)])
    fake = FakeBot(lambda call: next(refusals, None) or echo(call))
    with serving(fake):
        section = hold(tmp_path, fake, sleep=waited.append)
    assert section.passed == 3
    assert waited[0] == 7.0
    assert len(waited) == 2


def test_conversations_that_wait_at_once_wait_once(tmp_path: Path) -> None:
    busy = threading.Barrier(3)  # all three cases are refused together

    def answer(call: Call) -> Reply:
        if len(fake.calls) > 3:
            return echo(call)
        busy.wait(10)
        return Reply({}, 429, (("Retry-After", "250"),))

    fake = FakeBot(answer)
    with serving(fake):
        section = hold(tmp_path, fake, sleep=lambda _: None, at_once=3)
    assert section.passed == 3


@pytest.mark.parametrize("seconds", ["601", "9" * 20])
def test_a_bot_that_is_busy_for_too_long_ends_the_run(seconds: str, tmp_path: Path, golden: Golden) -> None:
    fake = FakeBot(lambda _: Reply({}, 429, (("Retry-After", seconds),)))
    with (
        serving(fake),
        pytest.raises(IncompleteError) as caught,
    ):
        hold(tmp_path, fake)
    golden(caught.value)
    assert caught.value.finished.skipped == 3


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply({"message": "no token"}, 401), "refuses POST /chat: no token"),
        (Reply({}, 403), "refuses POST /chat"),
        (Reply({}, 404), "with 404"),
        (
            Reply(b"", 302, (("Location", "https://login.example/?token=1"),)),
            r"redirect \(302 to https://login.example/\)",
        ),
    ],
)
def test_a_bot_that_refuses_everything_ends_the_run(reply: Reply, expected: str, tmp_path: Path) -> None:
    fake = FakeBot(lambda _: reply)
    with serving(fake), pytest.raises(IncompleteError, match=expected) as caught:
        hold(tmp_path, fake)
    assert len(fake.calls) == 1
    assert [case.outcome for case in caught.value.finished.cases] == ["skipped"] * 3


def test_nobody_there_ends_the_run(tmp_path: Path, golden: Golden) -> None:
    with serving(FakeBot()) as fake:
        pass
    with pytest.raises(IncompleteError) as caught:
        hold(tmp_path, fake, sleep=lambda _: None)
    golden(caught.value)


def test_a_bot_without_a_usable_answer_is_not_asked_for_ever(tmp_path: Path, golden: Golden) -> None:
    fake = FakeBot(lambda _: Reply(b"<html>"))
    cases = "test_cases:\n" + "".join(
        f"- test_case: c{number}\n  steps:\n  - user: hi\n  - bot: hi\n" for number in range(30)
    )
    with serving(fake), pytest.raises(IncompleteError) as caught:
        hold(tmp_path, fake, cases)
    golden(caught.value)
    assert len(fake.calls) == 10
    assert [case.outcome for case in caught.value.finished.cases] == ["skipped"] * 30, "none says anything of the bot"


def test_errors_from_before_the_last_answer_stay_errors(tmp_path: Path) -> None:
    fake = FakeBot(lambda call: Reply(b"<html>") if len(fake.calls) in {2, *range(4, 14)} else echo(call))
    cases = "test_cases:\n" + "".join(
        f"- test_case: c{number}\n  steps:\n  - user: hi\n  - bot: You said hi\n" for number in range(20)
    )
    with serving(fake), pytest.raises(IncompleteError) as caught:
        hold(tmp_path, fake, cases)
    outcomes = [case.outcome for case in caught.value.finished.cases]
    assert outcomes == ["passed", "error", "passed", *["skipped"] * 17]


OPENS = REST.replace("session: {echo: $.session}", "session: {open: {path: /new, id: $.id}}")


def test_an_id_that_repeats_is_an_error(tmp_path: Path, golden: Golden) -> None:
    fake = FakeBot(lambda call: Reply({"id": "1"}) if call.path == "/new" else echo(call))
    with serving(fake):
        section = hold(tmp_path, fake, shape=OPENS)
    assert [case.outcome for case in section.cases] == ["passed", "error", "error"]
    golden(section.cases[1].reason)


def test_an_id_that_is_a_number_is_sent_as_one(tmp_path: Path) -> None:
    shape = """\
bot:
  session: {open: {path: /new, id: $.id}, echo: $.session}
  request: {path: "/chat/{session}", body: {session: "{session}", name: "s-{session}", message: "{text}"}}
  replies: $.messages[*].text
"""
    fake = FakeBot(lambda call: Reply({"id": 5}) if call.path == "/new" else echo(call))
    with serving(fake):
        talk = conversations(fake.url, bot_of(tmp_path, shape)).conversation()
        assert talk.say("hello").responses == ({"text": "You said hello"},)
    assert (fake.calls[1].path, fake.calls[1].body) == ("/chat/5", {"session": 5, "name": "s-5", "message": "hello"})


def test_an_endless_id_is_an_error(tmp_path: Path, golden: Golden) -> None:
    fake = FakeBot(lambda _: Reply({"id": "x" * 1_000_000}))
    with serving(fake):
        section = hold(tmp_path, fake, shape=OPENS)
    golden(section.cases[0].reason)
    assert len(fake.calls) == 3


@pytest.mark.parametrize("answer", [{}, {"id": None}, {"id": ""}, {"id": True}, {"id": {"value": 1}}, {"id": 1.5}])
def test_a_session_without_an_id_is_an_error(answer: object, tmp_path: Path, golden: Golden) -> None:
    fake = FakeBot(lambda _: Reply(answer))
    with serving(fake):
        section = hold(tmp_path, fake, shape=OPENS)
    assert [case.outcome for case in section.cases] == ["error"] * 3
    golden(section.cases[0].reason)


POLLS = """\
bot:
  request: {path: /send, body: {session: "{session}", message: "{text}"}}
  poll: {path: "/get?after={cursor}", method: POST, body: {session: "{session}"}CURSOR}
  quiet: 300ms
  replies: $.messages[*].text
"""


@pytest.mark.parametrize(("cursor", "messages"), [("", 1), ("", 90), (", cursor: $.at", 1)])
def test_a_bot_that_returns_everything_whenever_it_is_asked_is_told_from_one_that_talks(
    cursor: str, messages: int, tmp_path: Path, golden: Golden
) -> None:
    said: list[object] = []

    def answer(call: Call) -> Reply:
        if call.path == "/send":
            said.append({"text": call.body["message"]})
            return Reply({})
        return Reply({"messages": said * messages, "at": 1, "now": len(fake.calls)})

    fake = FakeBot(answer)
    with serving(fake):
        section = hold(tmp_path, fake, shape=POLLS.replace("CURSOR", cursor), sleep=lambda _: None)
    assert section.cases[0].outcome == "error"
    golden(section.cases[0].reason)
    assert len(fake.calls) < 40


def test_a_bot_that_repeats_itself_is_heard(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        is_word = call.path != "/send" and len(fake.calls) <= 6
        return Reply({"messages": [{"text": "still thinking"}] if is_word else []})

    fake = FakeBot(answer)
    with serving(fake):
        talk = conversations(fake.url, bot_of(tmp_path, POLLS.replace("CURSOR", ""))).conversation()
        assert len(talk.say("hello").responses) == 5


@pytest.mark.parametrize("failure", [Reply({}, 500), Reply({}, 503), Reply(how="cut")], ids=["500", "503", "cut"])
def test_a_server_that_failed_once_costs_nothing(failure: Reply, tmp_path: Path) -> None:
    failures = iter([failure])
    fake = FakeBot(lambda call: (call.body["message"] == "bad" and next(failures, None)) or echo(call))
    with serving(fake):
        section = hold(tmp_path, fake, sleep=lambda _: None)
    assert section.passed == 3


TALK = "test_cases:\n- test_case: talk\n  steps:\n" + "".join(
    f"  - user: m{number}\n  - bot: You said m{number}\n" for number in range(4)
)


@pytest.mark.parametrize("turn", range(8))
def test_a_bot_that_dies_at_any_turn_leaves_no_case_passed_that_was_not_judged(turn: int, tmp_path: Path) -> None:
    """Two conversations of four turns each: the bot is killed at each of them."""
    cases = TALK + TALK.replace("test_cases:\n", "").replace("test_case: talk", "test_case: again")

    def answer(call: Call) -> Reply:
        if len(fake.calls) == turn + 1:
            fake.stop()
            return Reply(how="cut")
        return echo(call)

    fake = FakeBot(answer)
    with serving(fake), pytest.raises(IncompleteError) as caught:
        hold(tmp_path, fake, cases, sleep=lambda _: None)
    outcomes = [case.outcome for case in caught.value.finished.cases]
    assert outcomes == (["skipped", "skipped"] if turn < 4 else ["passed", "skipped"])


def test_the_token_is_in_no_message(tmp_path: Path) -> None:
    fake = FakeBot(lambda call: Reply({"message": f"bad token {call.headers['Authorization']}"}, 401))
    with serving(fake), pytest.raises(IncompleteError) as caught:
        hold(tmp_path, fake, token="s3cret-t0ken")
    assert "s3cret" not in str(caught.value)
    assert fake.calls[0].headers["Authorization"] == "Bearer s3cret-t0ken"


def test_a_token_that_the_bot_repeats_is_not_reported(tmp_path: Path) -> None:
    shape = REST.replace('message: "{text}"', 'message: "{text}", key: "{token}"')
    fake = FakeBot(lambda call: Reply({"messages": [{"text": f"You said {call.body['message']} {call.body['key']}"}]}))
    with serving(fake):
        section = hold(tmp_path, fake, shape=shape, token="s3cret-t0ken")
    assert fake.calls[0].body["key"] == "s3cret-t0ken"
    assert section.cases[0].steps[0].actual == "You said one ***"


def test_cookies_are_no_bridge_between_conversations(tmp_path: Path) -> None:
    shape = COOKIE

    def answer(call: Call) -> Reply:
        cookies = (("Set-Cookie", f"sid={len(fake.calls)}; Path=/; HttpOnly"),) if "Cookie" not in call.headers else ()
        return Reply({"messages": [{"text": f"You said {call.body['message']}"}]}, headers=cookies)

    fake = FakeBot(answer)
    with serving(fake):
        section = hold(tmp_path, fake, TALK + EXAMPLE.removeprefix("test_cases:\n"), shape=shape)
    assert section.passed == 4
    assert [call.headers.get("Cookie") for call in fake.calls] == [None, "sid=1", "sid=1", "sid=1", None, None, None]


COOKIE = REST.replace("session: {echo: $.session}", "session: cookie").replace('session: "{session}", ', "")


def _setting(*cookies: str) -> Callable[[Call], Reply]:
    headers = tuple(("Set-Cookie", cookie) for cookie in cookies)
    return lambda call: Reply({"messages": [{"text": f"You said {call.body['message']}"}]}, headers=headers)


def test_cookies_that_repeat_are_an_error(tmp_path: Path, golden: Golden) -> None:
    with serving(fake := FakeBot(_setting("sid=1; Path=/", "lang=en"))):
        section = hold(tmp_path, fake, shape=COOKIE)
    assert [case.outcome for case in section.cases] == ["passed", "error", "error"]
    golden(section.cases[1].reason)


def test_cookies_that_all_conversations_have_may_be_beside_their_own(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        return _setting("node=a", f"sid={len(fake.calls)}", "lang=en")(call)

    with serving(fake := FakeBot(answer)):
        section = hold(tmp_path, fake, shape=COOKIE)
    assert section.passed == 3


@pytest.mark.parametrize("state", ["eyJzdGVwIjoxfQ.ZqXw5g.sig", ".eJyrViouSU0BAA"])
def test_cookies_that_hold_the_state_itself_may_be_alike(state: str, tmp_path: Path) -> None:
    with serving(fake := FakeBot(_setting(f"session={state}"))):
        section = hold(tmp_path, fake, shape=COOKIE)
    assert section.passed == 3


def test_without_a_cookie_conversations_are_not_told_apart(tmp_path: Path, golden: Golden) -> None:
    with serving(fake := FakeBot(_setting())):
        section = hold(tmp_path, fake, TALK, shape=COOKIE)
    talk = result_of(section, "talk")
    assert (talk.outcome, len(fake.calls)) == ("error", 1)
    golden(talk.reason)


def test_after_the_end_nothing_is_sent(tmp_path: Path, golden: Golden) -> None:
    fake = FakeBot(_with(done=True))
    with serving(fake):
        talk = result_of(hold(tmp_path, fake, TALK, shape=f"{REST}  ended: $.done\n"), "talk")
    assert len(fake.calls) == 1
    assert talk.outcome == "failed"
    golden(talk.reason)


def test_a_message_that_is_not_sent_after_the_end_fails_its_case(tmp_path: Path) -> None:
    """Whatever is expected after it: nothing but that a slot is not set, or nothing at all."""
    silent = TWO_MESSAGES.replace("  - slot_was_not_set:\n    - paid\n", "")
    for cases in (TWO_MESSAGES, silent):
        fake = FakeBot(_with(done=True, slots={}))
        with serving(fake):
            talk = result_of(hold(tmp_path, fake, cases, shape=f"{REST}  ended: $.done\n  slots: $.slots\n"), "talk")
        assert len(fake.calls) == 1
        assert (talk.outcome, talk.reason) == ("failed", OVER)


def test_a_slot_is_not_unset_where_no_answer_has_slots(tmp_path: Path) -> None:
    found = {}
    answers: dict[str, dict[str, object]] = {"none": {}, "empty": {"slots": {}}}
    for name, more in answers.items():
        with serving(fake := FakeBot(_with(**more))):
            found[name] = result_of(hold(tmp_path, fake, TWO_MESSAGES, shape=f"{REST}  slots: $.slots\n"), "talk")
    assert {name: case.outcome for name, case in found.items()} == {"none": "skipped", "empty": "passed"}
    assert "`$.slots`" in (found["none"].reason or "")


TWO_MESSAGES = """test_cases:
- test_case: talk
  steps:
  - user: hello
  - bot: You said hello
  - user: bye
  - slot_was_not_set:
    - paid
"""


def test_a_slow_pattern_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    monkeypatch.setattr("turncheck.web.json_path._SEARCH_SECONDS", 0.1)
    shape = REST.replace("$.messages[*].text", "$.messages[?search(@.text, '^(a|aa|aaa)+$')].text")
    fake = FakeBot(_with(messages=[{"text": "a" * 80 + "!"}]))
    with serving(fake):
        section = hold(tmp_path, fake, shape=shape)
    golden(section.cases[0].reason)
