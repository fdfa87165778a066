"""Sessions whose calls end in time, and what of the environment they see."""

from __future__ import annotations

import socket
import threading
import time

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
