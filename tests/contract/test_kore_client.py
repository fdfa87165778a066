"""The client of Kore.ai's platform against the fake of it, and the fake against the documented answers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fake_kore
import pytest
import requests
from fake_kore import BOT, CLIENT, LIMITED, SECRET, Call, FakeKore, Raw, Suite, answer, refusal, serving
from golden_texts import Golden

from turncheck.platforms.kore.engine.answers import (
    read_accepted,
    read_export,
    read_file_id,
    read_imported,
    read_json,
    read_link,
    read_message,
    read_state,
    read_suites,
    read_understood,
)
from turncheck.platforms.kore.engine.client import (
    Access,
    Clock,
    KoreClient,
    KoreError,
    KoreFaultError,
    KoreRefusedError,
    signed,
)
from turncheck.platforms.kore.engine.engines import read_report
from turncheck.platforms.kore.engine.platform import Platform
from turncheck.process.environment import Secret

API = Path(__file__).parents[1] / "oracle" / "kore" / "api"
TRANSCRIPTS = [json.loads(path.read_text("utf-8")) for path in sorted(API.glob("*.json"))]
BY_NAME = {one["name"]: one for one in TRANSCRIPTS}
SUITE = "Weekly smoke/short"


class FakeClock:
    """A clock that is moved by waiting."""

    def __init__(self) -> None:
        self.time = 0.0
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.pauses.append(seconds)

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.time, self.sleep)


@pytest.fixture
def kore() -> Iterator[FakeKore]:
    with serving(FakeKore(intents={"two bags to Oslo": ("Order Tea",)})) as fake:
        yield fake


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def client_of(kore: FakeKore, clock: FakeClock, secret: str = SECRET, bot: str = BOT) -> KoreClient:
    return KoreClient(Access(kore.url, bot, CLIENT, Secret(secret)), clock=clock.clock)


@pytest.fixture
def platform(kore: FakeKore, clock: FakeClock) -> Platform:
    return Platform(client_of(kore, clock), bot_name="Tea Shop")


# --- the fake is held against the transcripts -------------------------------------------------------------------------

MADE_BY_FAULTS = {"import_refused", "status_failed", "rate_limit_429", "rate_limit_body_only", "expired_token"}
AT_A_LINK = {"report_csv"}
INTENTS = {
    "find_intent": ("Order Tea",),
    "find_intent_ambiguous": ("Order Tea", "Track Parcel"),
    "find_intent_none": (),
    "find_intent_fallback": ("Default Fallback Intent",),
    "find_intent_faq": ("What does a card cost?",),
    "find_intent_traits": (),
}
ONLY_SOMETIMES = {
    *("task", "taskId", "intentStatus", "identifiedVia", "ml", "fm", "faq", "entities", "ranking", "userInput"),
    *("startTime", "endTime", "traitSuccess", "traitFailure", "totalTraitsCount", "matchedTraitsCount"),
}


@pytest.mark.parametrize(
    "transcript",
    [one for one in TRANSCRIPTS if one["name"] not in MADE_BY_FAULTS | AT_A_LINK],
    ids=lambda one: one["name"],
)
def test_the_fake_answers_as_the_platform_does(kore: FakeKore, transcript: dict[str, Any]) -> None:
    name, request, response = transcript["name"], transcript["request"], transcript["response"]
    kore.intents["two bags to Oslo"] = INTENTS.get(name, ("Order Tea",))
    kore.entities["two bags to Oslo"] = {"City": ["Oslo"], "Quantity": 2} if name == "find_intent" else {}
    kore.traits["two bags to Oslo"] = ("Urgent", "Angry") if name == "find_intent_traits" else ()
    prepared(kore, name)
    is_stranger = name == "bad_credentials"
    token = signed({"appId": CLIENT, "sub": "test"}, Secret("another" if is_stranger else SECRET))
    headers = {**request["headers"], "auth": token}
    headers.pop("content-type", None)
    files = {"file": ("smoke.json", b"{}")} if "form" in request else None
    form = {key: value for key, value in request.get("form", {}).items() if key != "file"}
    given = requests.request(
        request["method"],
        kore.url + request["path"],
        params=request.get("query"),
        headers=headers,
        json=request.get("body"),
        data=form or None,
        files=files,
        timeout=10,
    )
    assert given.status_code == response["status"]
    if name == "find_intent_fallback":  # of its shape the transcript shows a part
        assert given.json()["response"]["finalResolver"]["winningIntent"][0]["intent"] == "Default Fallback Intent"
        return
    assert same_shape(response["body"], given.json()), given.json()


def prepared(kore: FakeKore, name: str) -> None:
    suite = Suite(
        "ts-1", "five of each", b'{"testCases": [{"input": "two bags to Oslo", "intent": "Order Tea"}]}', "json"
    )
    if name != "import":
        kore.suites[SUITE] = suite
    kore.suites["Developer defined utterances"] = Suite("AllMlUtterances", "", b"", "")
    kore.files["5ff70b47a664d31999d9202c"] = ("smoke.json", b"{}")
    kore.deletes = name != "delete_405"
    kore.export = {"_id": "ber-1", "polls": 0, "type": "latest"}
    for number in ("tr-77b0", "tr-77b2") if SUITE in kore.suites else ():
        run = {"version": "inDevelopment", "polls": 1 if name == "status_running" else 0}
        suite.runs[number] = {**run, **kore._judged(SUITE, number, "inDevelopment")}


def same_shape(wanted: Any, given: Any) -> bool:
    """Whether all that is there is of the same type; what the transcripts show only sometimes may be absent."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        missing = {
            key
            for key in wanted.keys() - given.keys() - ONLY_SOMETIMES
            if not key.startswith(("ts-", "Last", "Urg", "Ang"))
        }
        shared = wanted.keys() & given.keys()
        return not missing and all(same_shape(wanted[key], given[key]) for key in shared)
    if isinstance(wanted, list) and isinstance(given, list):
        return not wanted or not given or same_shape(wanted[0], given[0])
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return isinstance(given, int | float)
    return type(wanted) is type(given)


# --- every documented answer is understood ----------------------------------------------------------------------------


def body_of(name: str) -> Any:
    return read_json(json.dumps(BY_NAME[name]["response"]["body"]).encode())


def test_find_intent_is_read() -> None:
    found = read_understood(body_of("find_intent"))
    assert (found.intents, found.entities) == (("Order Tea",), {"City": "Oslo", "Quantity": 2})
    assert found.scores == {"Order Tea": 11643.33}
    assert read_understood(body_of("find_intent_ambiguous")).intents == ("Order Tea", "Track Parcel")
    assert read_understood(body_of("find_intent_none")).intents == ()
    assert read_understood(body_of("find_intent_fallback")).intents == ()
    assert read_understood(body_of("find_intent_faq")).intents == ("What does a card cost?",)
    assert read_understood(body_of("find_intent_traits")).traits == ("Urgent", "Angry")


def test_the_state_of_the_winning_task_is_read() -> None:
    def answered(*states: object) -> Any:
        winners = [{"intent": f"Task {number}", "state": state} for number, state in enumerate(states)]
        return {"response": {"result": "successintent", "finalResolver": {"winningIntent": winners}}}

    assert read_understood(answered("published")).state == "Published"
    assert read_understood(answered("configured", "published", "configured")).state == "Configured|Published"
    assert read_understood(answered(None)).state == ""
    assert read_understood(body_of("find_intent_none")).state == ""


def test_answers_about_suites_are_read() -> None:
    page = read_suites(body_of("list"))
    assert [suite.name for suite in page.suites] == [
        "Weekly smoke/short",
        "Successful user utterances",
        "Developer defined utterances",
    ]
    assert page.is_last
    first, second = page.suites[0].runs
    assert first.figures is None
    assert second.figures is not None
    assert (second.figures.tp, second.figures.fn, second.figures.f1) == (1, 1, "0.67")
    assert read_file_id(body_of("upload")) == "5ff70b47a664d31999d9202c"
    assert read_imported(body_of("import")).startswith("ts-")
    assert read_accepted(body_of("run")) == "tr-77b0"
    assert read_link(body_of("export")).startswith("https://files.example/suite.json")
    assert read_message(body_of("delete_suite")) == "Test suite deleted successfully"
    state = read_export(body_of("bot_export_status"))
    assert (state.id, state.status) == ("ber-1", "success")
    assert read_export(body_of("bot_export")).status == "pending"


def test_states_of_a_run_are_read() -> None:
    running = read_state(body_of("status_running"))
    assert (running.is_under_way, running.ran, running.total) == (True, 3, 8)
    done = read_state(body_of("status_completed"))
    assert done.figures is not None
    assert (done.figures.tp, done.figures.tn, done.figures.fp, done.figures.fn) == (3, 1, 2, 1)
    assert (done.figures.success, done.figures.failure, done.figures.not_evaluated) == (4, 4, 1)
    assert (done.figures.precision, done.figures.recall, done.figures.f1) == ("0.60", "0.75", "0.67")
    assert "sig=" not in repr(done)
    assert read_state(body_of("status_partial")).is_partial
    failed = read_state(body_of("status_failed"))
    assert (failed.is_under_way, failed.is_completed, failed.message) == (False, False, "System error")


def test_the_csv_of_a_run_is_read() -> None:
    bags, stop, urgent = read_report((API / "report.csv").read_bytes()).cases
    assert (bags.text, bags.result, bags.matched.names) == ("two bags to Oslo", "tp", ("Order Tea",))
    found = [(one.name, one.values, one.matched, one.passed) for one in bags.entities]
    assert found == [("Quantity", ("2",), "2", True), ("City", ("Oslo",), None, False)]
    assert (stop.matched.names, stop.result) == (("Track Parcel",), "fp")
    assert (urgent.matched.names, urgent.matched.is_trait) == (("Urgent", "Angry"), True)


# --- what the client sends, and what it does with errors --------------------------------------------------------------


def test_find_intent_is_asked_as_documented(kore: FakeKore, platform: Platform) -> None:
    assert platform.find_intent("two bags to Oslo").intents == ("Order Tea",)
    wanted, sent = BY_NAME["find_intent"]["request"], kore.calls[-1]
    assert (sent.method, sent.path, sent.query, sent.body) == (
        wanted["method"],
        wanted["path"],
        wanted["query"],
        wanted["body"],
    )
    platform.find_intent("and you?", ("Greeting",))
    assert kore.calls[-1].body["parentIntent"] == "Greeting"
    published = Platform(platform.client, "published", "Tea Shop")
    published.find_intent("hello")
    assert kore.calls[-1].query["fetchConfiguredTasks"] == "false"


def test_one_token_serves_a_run_and_each_has_an_identity(kore: FakeKore, clock: FakeClock, platform: Platform) -> None:
    for _ in range(3):
        platform.find_intent("two bags to Oslo")
    Platform(client_of(kore, clock), bot_name="Tea Shop").find_intent("two bags to Oslo")
    first, second = kore.tokens
    assert first["jti"] != second["jti"]
    assert first["appId"] == CLIENT


def test_a_suite_is_stored_run_and_read_back(
    kore: FakeKore, platform: Platform, clock: FakeClock, golden: Golden
) -> None:
    kore.polls = 3
    content = b'{"testCases": [{"input": "two bags to Oslo", "intent": "Order Tea"}, {"input": "hm", "intent": "A"}]}'
    platform.store(SUITE, "five of each", "smoke.json", content)
    assert kore.suites[SUITE].content == content
    wanted, sent = BY_NAME["import"]["request"], kore.calls[-1]
    assert sent.path == wanted["path"]
    assert sent.body == {**wanted["body"], "fileName": "file-0"}
    run = platform.run(SUITE)
    assert kore.calls[-1].path == BY_NAME["run"]["request"]["path"]
    told: list[str] = []
    done = platform.completed(SUITE, run, told.append)
    assert (done.figures.tp, done.figures.fn) == (1, 1)
    golden(*told)
    assert all(pause >= 1 for pause in clock.pauses)
    assert [case.text for case in read_report(platform.report_of(done)).cases] == ["two bags to Oslo", "hm"]
    platform.store(SUITE, "again", "smoke.json", content)
    assert kore.calls[-1].body["importType"] == "update"
    assert platform.export(SUITE) == content
    assert platform.delete(SUITE, run) == "Test result deleted successfully"
    kore.deletes = False
    assert platform.delete(SUITE) == "Test suite deleted successfully"
    assert [call.method for call in kore.calls[-2:]] == ["DELETE", "POST"]
    assert SUITE not in kore.suites


def test_the_list_has_all_pages(kore: FakeKore, platform: Platform) -> None:
    kore.suites = {f"suite {number}": Suite(f"ts-{number}", "", b"", "json") for number in range(120)}
    assert len(platform.suites()) == 121
    assert [call.query["skip"] for call in kore.calls] == ["0", "50", "100"]


@pytest.mark.parametrize("page", [1, 7, 20, 49])
@pytest.mark.parametrize("everywhere", [False, True])
def test_the_list_goes_by_what_came_if_pages_are_shorter_than_requested(
    kore: FakeKore, platform: Platform, page: int, everywhere: bool
) -> None:
    kore.page, kore.built_in_everywhere = page, everywhere
    kore.suites = {f"suite {number}": Suite(f"ts-{number}", "", b"[]", "json") for number in range(60)}
    assert {suite.name for suite in platform.suites()} == {*kore.suites, "Developer defined utterances"}
    platform.store("suite 59", "", "smoke.json", b"[]")
    assert kore.calls[-1].body["importType"] == "update"


def test_a_list_without_an_end_is_an_error(
    kore: FakeKore, platform: Platform, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr("turncheck.platforms.kore.engine.platform._MOST_PAGES", 3)
    kore.page = 1
    kore.suites = {f"suite {number}": Suite(f"ts-{number}", "", b"", "json") for number in range(9)}
    with pytest.raises(KoreFaultError) as refused:
        platform.suites()
    golden(refused.value)


@pytest.mark.parametrize(("bot", "secret"), [(BOT, "wrong"), ("st-another", SECRET)])
def test_wrong_credentials_name_their_causes(kore: FakeKore, clock: FakeClock, bot: str, secret: str) -> None:
    with pytest.raises(KoreError, match="Invalid SDK credentials") as refused:
        Platform(client_of(kore, clock, secret, bot)).suites()
    assert all(cause in str(refused.value) for cause in ("secret", "bot id", "scopes"))
    assert len(kore.calls) == 1


def test_a_token_that_has_ended_is_replaced_once(kore: FakeKore, platform: Platform) -> None:
    outdated = refusal(401, "Invalid JWT token", 4002)
    kore.fault = lambda _call: outdated if len(kore.calls) == 1 else None
    assert platform.suites()
    one, other = kore.calls
    assert one.headers["auth"] != other.headers["auth"]
    kore.fault = lambda _call: outdated
    kore.calls.clear()
    with pytest.raises(KoreError, match="Invalid JWT token"):
        platform.suites()
    assert len(kore.calls) == 2


@pytest.mark.parametrize(
    ("limit", "pauses"),
    [
        (answer(429, LIMITED, retry_after="7"), [7, 7]),
        (answer(429, LIMITED), [1, 1]),
        (answer(200, {"message": "Rate limit for this API has been reached."}), [1, 1]),
        (answer(400, LIMITED, retry_after="nonsense"), [1, 1]),
        (Raw(b"<p>Rate Limit reached</p>", 503), [1, 1]),
    ],
)
def test_a_rate_limit_is_waited_out(
    kore: FakeKore, platform: Platform, clock: FakeClock, limit: Raw, pauses: list[float]
) -> None:
    kore.fault = lambda _call: limit if len(kore.calls) <= 2 else None
    assert platform.suites()
    assert clock.pauses == pauses


def test_a_rate_limit_without_an_end_is_an_error(
    kore: FakeKore, platform: Platform, clock: FakeClock, golden: Golden
) -> None:
    kore.fault = lambda _call: answer(429, LIMITED)
    with pytest.raises(KoreError) as refused:
        platform.suites()
    golden(refused.value)
    assert 500 < clock.time <= 600


@pytest.mark.parametrize("retry_after", ["3600", "601", "999999999"])
def test_a_wait_that_is_too_long_is_not_begun(
    kore: FakeKore, platform: Platform, clock: FakeClock, retry_after: str, golden: Golden
) -> None:
    kore.fault = lambda _call: answer(429, LIMITED, retry_after=retry_after)
    with pytest.raises(KoreError) as refused:
        platform.suites()
    golden(refused.value)
    assert clock.pauses == []
    assert len(kore.calls) == 1


@pytest.mark.parametrize("retry_after", ["590", "300", "100", "1"])
def test_the_calls_of_a_run_wait_for_ten_minutes_together(
    kore: FakeKore, platform: Platform, clock: FakeClock, retry_after: str, golden: Golden
) -> None:
    kore.fault = lambda _call: answer(429, LIMITED, retry_after=retry_after) if len(kore.calls) % 2 else None

    def ask_often() -> None:
        for _ in range(1000):
            platform.suites()

    with pytest.raises(KoreError) as refused:
        ask_often()
    golden(refused.value)
    assert sum(pause for pause in clock.pauses if pause == float(retry_after)) <= 600


def test_words_of_an_utterance_are_no_rate_limit(kore: FakeKore, platform: Platform) -> None:
    kore.intents["what is the rate limit"] = ("Rate limit",)
    assert platform.find_intent("what is the rate limit").intents == ("Rate limit",)
    assert len(kore.calls) == 1


def test_faults_are_tried_again_then_this_call_has_failed(kore: FakeKore, platform: Platform, clock: FakeClock) -> None:
    for fault in (Raw(b"oops", 500), Raw(b"{", 200), Raw(b"[]", 200), Raw(cut=True), Raw(b"", 502)):
        kore.calls.clear()
        kore.fault = lambda _call, fault=fault: fault if len(kore.calls) <= 2 else None  # type: ignore[misc]
        assert platform.find_intent("two bags to Oslo").intents == ("Order Tea",)
        kore.calls.clear()
        kore.fault = lambda _call, fault=fault: fault  # type: ignore[misc]
        with pytest.raises(KoreFaultError):
            platform.find_intent("two bags to Oslo")
        assert len(kore.calls) == 3


def test_a_run_is_not_begun_twice_where_nobody_knows_if_it_was(
    kore: FakeKore, platform: Platform, golden: Golden
) -> None:
    kore.suites[SUITE] = Suite("ts-1", "", b"", "json")
    kore.fault = lambda _call: Raw(cut=True)
    with pytest.raises(KoreFaultError) as refused:
        platform.run(SUITE)
    golden(refused.value)
    assert len(kore.calls) == 1


@pytest.mark.parametrize("ask", ["run", "export", "delete"])
def test_an_unknown_suite_is_said_so(platform: Platform, ask: str) -> None:
    with pytest.raises(KoreRefusedError, match=r"400.*Test Suite not found"):
        getattr(platform, ask)("Nothing")


def test_a_host_that_is_not_there_is_said_at_once(clock: FakeClock, golden: Golden) -> None:
    nobody = FakeKore(url="http://127.0.0.1:9")
    with pytest.raises(KoreError) as refused:
        Platform(client_of(nobody, clock)).suites()
    golden(refused.value)
    assert not clock.pauses


def test_a_run_that_takes_too_long_is_given_up(
    kore: FakeKore, platform: Platform, clock: FakeClock, golden: Golden
) -> None:
    kore.suites[SUITE] = Suite("ts-1", "", b"", "json")
    kore.polls = 10**6
    with pytest.raises(KoreError) as refused:
        platform.completed(SUITE, platform.run(SUITE), lambda _text: None)
    golden(refused.value)
    assert 3500 < clock.time <= 3600


def test_any_other_word_ends_the_wait_and_is_shown(kore: FakeKore, platform: Platform) -> None:
    kore.suites[SUITE] = Suite("ts-1", "", b"", "json")
    kore.ends_as = "stopped"
    with pytest.raises(KoreError, match="ended as 'stopped': System error"):
        platform.completed(SUITE, platform.run(SUITE), lambda _text: None)


def test_nothing_secret_is_in_a_message(kore: FakeKore, platform: Platform) -> None:
    def echo(call: Call) -> Raw:
        return Raw(f"you sent {call.headers['auth']} with {SECRET}\r\n::error::x".encode(), 418)

    kore.fault = echo
    with pytest.raises(KoreRefusedError) as refused:
        platform.suites()
    told = str(refused.value)
    assert SECRET not in told
    assert kore.calls[0].headers["auth"] not in told
    assert "\n" not in told
    assert "you sent ***" in told


@pytest.mark.parametrize(
    "body",
    [
        b'{"downloadUrl": "https://files.test/x?si"g=NEVER-SHOW&x", "name": "s"',
        b'{"downloadUrl": "htps://files.test/x?sig=NEVER-SHOW", "name": "s"',
        b'{"status": "x", "fileUrl" : "ht tps:\\/\\/files.test?sig=NEVER-SHOW"',
        b"gone: https://files.test/x y?sig=NEVER-SHOW",
    ],
)
def test_of_a_broken_answer_nothing_is_shown_from_a_link_on(kore: FakeKore, platform: Platform, body: bytes) -> None:
    kore.fault = lambda _call: Raw(body)
    with pytest.raises(KoreFaultError) as failed:
        platform.export("s")
    assert "NEVER-SHOW" not in str(failed.value)
    assert "(a link)" in str(failed.value)


def test_the_export_that_was_asked_for_is_fetched(kore: FakeKore, platform: Platform) -> None:
    kore.polls = 2
    content = platform.bot_export(lambda _text: None)
    assert content[:2] == b"PK"
    begun = next(call for call in kore.calls if call.path.endswith("/export"))
    assert begun.body == BY_NAME["bot_export"]["request"]["body"]


def test_the_pace_is_kept_by_the_clock(kore: FakeKore, platform: Platform, clock: FakeClock) -> None:
    kore.intents = {}
    for _ in range(130):
        platform.find_intent("x")
    assert clock.time == 120
    assert fake_kore.claims_of(kore.calls[-1].headers["auth"])


def test_all_who_call_for_one_app_keep_its_pace_together(kore: FakeKore, clock: FakeClock) -> None:
    kore.intents = {}
    access, one_clock = Access(kore.url, BOT, CLIENT, Secret(SECRET)), clock.clock
    assistants = [Platform(KoreClient(access, clock=one_clock), bot_name=name) for name in ("Tea Shop", "Coffee Bar")]
    for _ in range(65):
        for platform in assistants:
            platform.find_intent("x")
    assert clock.time == 120


def test_an_answer_that_is_huge_or_never_ends_fails_this_call_alone(
    kore: FakeKore, platform: Platform, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    monkeypatch.setattr("turncheck.platforms.kore.engine.client.MAX_ANSWER", 10_000)
    kore.fault = lambda _call: Raw(b"x" * 20_000)
    with pytest.raises(KoreFaultError) as refused:
        platform.find_intent("hello")
    golden(refused.value)
    assert len(kore.calls) == 1
    monkeypatch.setattr("turncheck.platforms.kore.engine.platform._FIND_SECONDS", 0.3)

    def slow(_call: Call) -> Raw:
        time.sleep(0.6)
        return Raw(b"{}")

    kore.fault = slow
    with pytest.raises(KoreFaultError, match=r"0\.3") as refused:
        platform.find_intent("hello")
    golden(refused.value)


@pytest.mark.parametrize(
    "link", ["file:///etc/passwd", "ftp://x.y/z", "nonsense", "http://127.0.0.1:9/x?sig=NEVER-SHOW"]
)
def test_a_link_that_leads_nowhere_is_an_error_without_it(platform: Platform, link: str) -> None:
    with pytest.raises(KoreError) as refused:
        platform.client.download(link, "the suite")
    assert link not in str(refused.value)
    assert "NEVER-SHOW" not in str(refused.value)


def test_redirects_of_the_api_are_not_followed(kore: FakeKore, platform: Platform) -> None:
    kore.fault = lambda _call: Raw(b"", 302, (("Location", "https://login.example/x?sig=NEVER-SHOW"),))
    with pytest.raises(KoreError, match=r"a redirect to login\.example"):
        platform.suites()
    assert len(kore.calls) == 1


@pytest.mark.parametrize("place", ["http://[", "http://[::1", "\ud7ff://x", "http://x:99999/", "http://", "//"])
def test_a_redirect_to_what_is_not_an_address_is_a_redirect(kore: FakeKore, platform: Platform, place: str) -> None:
    kore.fault = lambda _call: Raw(b"", 302, (("Location", place.encode("ascii", "ignore").decode()),))
    with pytest.raises(KoreError, match="a redirect"):
        platform.suites()
