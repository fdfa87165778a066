"""One exchange with a server: where what opens it goes, where redirects lead, how long it takes, how much is read."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import requests
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from report_builder import report
from timing import Timing
from web_servers import Answer, serving

from turncheck.ci.github.results_service import ResultsService
from turncheck.comparison.model import Missing, Present, Unreadable
from turncheck.engines.embedded.nlu.duckling import DucklingEntityExtractor
from turncheck.messages.errors import UserError
from turncheck.platforms.kore.engine.client import Access, KoreClient
from turncheck.process.environment import Secret
from turncheck.report.codec import encode
from turncheck.run.named_baseline import read_baseline
from turncheck.web.addresses import Network, is_http, is_https, is_safe, origin_of, without_login
from turncheck.web.exchange import (
    AnswerTooLargeError,
    Call,
    RedirectRefusedError,
    anywhere,
    download,
    exchange,
    only_safe_redirects,
    read_body,
)
from turncheck.web.timed import session

SECRET = "ghs_secret"


def test_what_opens_a_server_goes_to_that_server_alone() -> None:
    with serving({"/x": Answer(body=b"there")}) as other, serving({"/y": Answer(302, f"{other.address}/x")}) as own:
        call = Call(
            "GET",
            f"{own.address}/y",
            {"Accept": "text/plain"},
            credentials={"Authorization": f"Bearer {SECRET}"},
            query={"token": SECRET},
        )
        with (
            session(_both(own.network.ca_file, other.network.ca_file)) as one,
            exchange(one, call, 5, follow=anywhere) as answer,
        ):
            assert read_body(answer, 100) == b"there"
    assert own.requests[0][2]["authorization"] == f"Bearer {SECRET}"
    assert SECRET not in str(other.requests)
    assert other.requests[0][2]["accept"] == "text/plain"


def _both(*files: str | None) -> Network:
    place = Path(str(files[0])).with_name("both.pem")
    place.write_bytes(b"".join(Path(str(file)).read_bytes() for file in files))
    return Network(ca_file=str(place))


def test_logins_of_the_persons_netrc_are_sent_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n", "utf-8")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with serving({"/report.json": Answer(404)}) as server:
        assert isinstance(read_baseline(f"{server.address}/report.json", server.network), Missing)
    assert "authorization" not in server.requests[0][2]


def test_nothing_goes_from_https_to_plain_http() -> None:
    with (
        serving({"/x": Answer(body=b"there")}, tls=False) as plain,
        serving({"/y": Answer(307, f"{plain.address}/x")}) as own,
    ):
        for follow in (anywhere, only_safe_redirects):
            call = Call("POST", f"{own.address}/y", body=b"all that was said")
            with (
                session(own.network) as one,
                pytest.raises(RedirectRefusedError, match="not https"),
                exchange(one, call, 5, follow=follow),
            ):
                pass
    assert plain.requests == []


def test_a_redirect_is_an_answer_where_none_is_followed() -> None:
    with (
        serving({"/y": Answer(302, "https://elsewhere.example/")}) as own,
        session(own.network) as one,
        exchange(one, Call("GET", f"{own.address}/y"), 5) as answer,
    ):
        assert answer.status_code == 302


@pytest.mark.parametrize(("status", "method", "body"), [(303, "GET", b""), (307, "POST", b"said")])
def test_a_redirected_call_is_repeated_as_its_status_says(status: int, method: str, body: bytes) -> None:
    with (
        serving({"/y": Answer(status, "/x"), "/x": Answer(body=b"there")}) as own,
        session(own.network) as one,
        exchange(one, Call("POST", f"{own.address}/y", body=b"said"), 5, follow=anywhere) as answer,
    ):
        assert read_body(answer, 100) == b"there"
    assert (own.requests[1][0], own.requests[1][3]) == (method, body)


def test_redirects_and_a_dripping_body_end_in_time_all_together(timing: Timing) -> None:
    answers = {"/a": Answer(302, "/b"), "/b": Answer(body=b"x" * 1000, pause=0.05)}
    with (
        timing.at_most(4, time.monotonic),
        serving(answers) as own,
        session(own.network) as one,
        pytest.raises(requests.Timeout),
        exchange(one, Call("GET", f"{own.address}/a"), 0.6, follow=anywhere) as answer,
    ):
        read_body(answer, 1 << 20)


def test_no_more_is_read_than_was_allowed() -> None:
    with (
        serving({"/a": Answer(body=b"x" * 1000)}) as own,
        session(own.network) as one,
        pytest.raises(AnswerTooLargeError),
        exchange(one, Call("GET", f"{own.address}/a"), 5) as answer,
    ):
        read_body(answer, 999)


# --- a baseline at an address ----------------------------------------------------------------------------------------


def test_a_baseline_is_fetched_within_bounds() -> None:
    answers = {
        "/report.json": Answer(body=encode(report())),
        "/moved": Answer(302, "/report.json"),
        "/down": Answer(302, "http://127.0.0.1:9/report.json"),
        "/broken": Answer(500),
    }
    with serving(answers) as server:
        assert isinstance(read_baseline(f"{server.address}/moved", server.network), Present)
        down = read_baseline(f"{server.address}/down", server.network)
        assert isinstance(down, Unreadable)
        assert "not https" in down.reason
        assert isinstance(read_baseline(f"{server.address}/broken", server.network), Unreadable)


def test_trusted_certificates_that_are_not_there_are_no_fault_of_ours(tmp_path: Path, golden: Golden) -> None:
    found = read_baseline("https://reports.test/report.json", Network(ca_file=str(tmp_path / "gone.pem")))

    assert isinstance(found, Unreadable)
    assert "(SSLError)" in found.reason
    golden(found.reason)


def test_a_baseline_that_drips_or_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turncheck.run.named_baseline._SECONDS", 0.6)
    monkeypatch.setattr("turncheck.run.named_baseline.MAX_BYTES", 1 << 20)
    answers = {"/drips": Answer(body=b"x" * 1000, pause=0.05), "/large": Answer(body=b" " * (1 << 21))}
    with serving(answers) as server:
        drips = read_baseline(f"{server.address}/drips", server.network)
        large = read_baseline(f"{server.address}/large", server.network)
    assert isinstance(drips, Unreadable)
    assert "within 0.6 seconds" in drips.reason
    assert isinstance(large, Unreadable)
    assert "larger than 1 MiB" in large.reason


# --- addresses -------------------------------------------------------------------------------------------------------


@given(st.text(max_size=60))
def test_no_text_is_too_odd_to_be_asked_for_its_address(text: str) -> None:
    for url in (text, f"https://{text}", f"http://{text}:1/"):
        origin_of(url)
        assert is_https(url) <= is_safe(url) <= is_http(url)
        without_login(url)


@pytest.mark.parametrize(
    ("url", "http", "safe"),
    [
        ("https://a.example", True, True),
        ("http://localhost:5005/x", True, True),
        ("http://[::1]/", True, True),
        ("http://a.example", True, False),
        ("http://a.example:99999", False, False),
        ("https://", False, False),
        ("ftp://a.example", False, False),
        ("http://a..example", False, False),
    ],
)
def test_what_can_be_called_and_what_nobody_listens_to(url: str, *, http: bool, safe: bool) -> None:
    assert (is_http(url), is_safe(url)) == (http, safe)


def _of_the_results_service(address: str) -> None:
    ResultsService(address, Secret("t" * 20), "a", "b", mask=lambda _: None).upload("report", [("a", b"a")])


def _of_kore(address: str) -> None:
    KoreClient(Access(address, "st-1", "client", Secret("s" * 40))).download(f"{address}/a.csv", "the report")


def _of_a_baseline(address: str) -> None:
    found = read_baseline(f"{address}/report.json", Network())
    assert isinstance(found, Unreadable)
    raise UserError(found.reason)


def _of_duckling(address: str) -> None:
    parameters = {"dimensions": [], "locale": "en_GB", "timezone": "UTC", "timeout": 3}
    raise UserError(DucklingEntityExtractor(address, parameters, 0).fault() or "")


def _of_url(address: str) -> None:
    download(f"{address}/test_a.yml", Network())


@pytest.mark.parametrize("ask", [_of_the_results_service, _of_kore, _of_a_baseline, _of_duckling, _of_url])
def test_a_certificate_that_is_not_trusted_ends_each_kind_of_call_with_the_remedy(
    ask: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: pytest.fail("it would not help to try again"))
    with serving({"/": Answer()}) as server, pytest.raises(UserError) as told:
        ask(server.address)
    assert "SSL_CERT_FILE" in f"{told.value.message} {told.value.hint}"
    assert server.requests == []
