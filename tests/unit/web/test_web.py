"""Sessions whose calls end in time, and what of the environment they see."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

import pytest
import requests
from timing import Timing

from turncheck.web.addresses import Network
from turncheck.web.timed import Limit, session, was_refused, within


def test_a_session_knows_what_it_was_given_and_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://evil:1")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "evil.pem")
    plain = session()
    assert (plain.trust_env, plain.verify, plain.proxies) == (False, True, {})
    assert plain.merge_environment_settings("https://a.example/", {}, False, None, None)["proxies"] == {}
    given = session(Network(ca_file="own.pem", proxy="http://proxy:1", no_proxy="b.example"))
    assert given.verify == "own.pem"
    assert given.merge_environment_settings("https://a.example/", {}, False, None, None)["proxies"] == {
        "https": "http://proxy:1"
    }
    assert given.merge_environment_settings("https://b.example/", {}, False, None, None)["proxies"] == {}


def test_a_call_that_is_answered_by_nobody_is_refused() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(requests.ConnectionError) as raised, session() as one:
        one.get(f"http://127.0.0.1:{port}/", timeout=5)
    assert was_refused(raised.value)


def test_even_the_first_line_of_an_answer_may_not_drip(timing: Timing) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100:
                    try:
                        connection.send(bytes([byte]))
                    except OSError:
                        return
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        with timing.at_most(2, time.monotonic), pytest.raises(requests.Timeout), within(0.3), session() as one:
            one.get(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=5)


def test_a_connection_that_is_kept_may_be_used_after_its_first_call_is_over() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                for _ in range(2):
                    connection.recv(65536)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

        threading.Thread(target=answer, daemon=True).start()
        with session() as one:
            for _ in range(2):
                with within(0.3):
                    assert one.get(f"http://127.0.0.1:{listening.getsockname()[1]}/", timeout=5).text == "ok"
                time.sleep(0.5)


def test_one_thread_ends_all_calls_each_at_its_time() -> None:
    """A short limit that is set after long ones is not waited behind, and a call that is over is not ended."""
    ended, shut = socket.socketpair()
    before = threading.active_count()
    limits = [Limit(60.0) for _ in range(50)]
    short = Limit(0.05)
    short.watch(shut)
    with ended, shut:
        ended.settimeout(20)
        assert ended.recv(1) == b"", "its connection was shut down"
    assert short.is_over
    assert not any(limit.is_over for limit in limits)
    assert threading.active_count() <= before + 1
    for limit in limits:
        limit.done()
        limit.end()
    assert not any(limit.is_over for limit in limits)


def _own_address() -> str:
    """An address of this machine that is not loopback; nothing is sent for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(one.getsockname()[0])


OTHERS = _own_address()


@pytest.mark.skipif(OTHERS.startswith("127."), reason="this machine has no other address")
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    ("host", "answers", "arrives"),
    [
        ("localhost", [OTHERS], False),
        ("bot.localhost", [OTHERS], False),
        ("BOT.LocalHost", ["127.0.0.1", OTHERS], True),
        ("bot.localhost", ["127.0.0.1"], True),
        ("bot.example", [OTHERS], True),  # whoever names it says that it may be called
    ],
)
def test_a_name_of_this_machine_leads_to_it(
    scheme: str, host: str, answers: list[str], arrives: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived: list[bytes] = []
    looked_up = iter([*answers, *answers])
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda _host, port, *_: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(looked_up), port))],
    )
    with socket.create_server(("0.0.0.0", 0)) as listening:  # noqa: S104 - reached by the other address, too

        def hear() -> None:
            with suppress(OSError):  # who refused it has gone
                connection, _ = listening.accept()
                with connection:
                    arrived.append(connection.recv(1000))

        hearing = threading.Thread(target=hear, daemon=True)
        hearing.start()
        with session() as one:
            for number in range(len(answers)):  # asked anew each time: the name may lead elsewhere later
                with pytest.raises(requests.ConnectionError) as raised, within(5):
                    one.get(f"{scheme}://{host}:{listening.getsockname()[1]}/", timeout=5)
                assert was_refused(raised.value) == (not arrives or number > 0)
        hearing.join(5)
    assert any(arrived) == arrives
