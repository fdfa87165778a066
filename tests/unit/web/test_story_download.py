"""What ``--url`` fetches, and what it refuses."""

from __future__ import annotations

import time

import pytest
from golden_texts import Golden
from timing import Timing
from web_servers import Answer, serving

from turncheck.messages.errors import UserError
from turncheck.web import exchange as story_download
from turncheck.web.addresses import Network
from turncheck.web.exchange import download


def test_redirects_are_followed_a_few_times(golden: Golden) -> None:
    answers = {"/a": Answer(302, "/b"), "/b": Answer(307, "c"), "/c": Answer(body=b"stories: []")}
    with serving({**answers, "/d": Answer(301, "/d")}) as server:
        assert download(f"{server.address}/a", server.network) == b"stories: []"
        with pytest.raises(UserError) as refused:
            download(f"{server.address}/d", server.network)
        golden(refused.value)


@pytest.mark.parametrize("target", ["ftp://example.com/x", "file:///etc/passwd", "http://127.0.0.1/x", "http://[x"])
def test_redirects_to_another_scheme_are_refused(target: str) -> None:
    with serving({"/a": Answer(302, target)}) as server, pytest.raises(UserError, match=r"redirects to .* not"):
        download(f"{server.address}/a", server.network)


def test_what_drips_is_given_up(monkeypatch: pytest.MonkeyPatch, timing: Timing) -> None:
    monkeypatch.setattr(story_download, "SECONDS", 0.6)
    with (
        timing.at_most(4, time.monotonic),
        serving({"/a": Answer(body=b"x" * 1000, pause=0.05)}) as server,
        pytest.raises(UserError, match=r"within 0\.6 seconds"),
    ):
        download(f"{server.address}/a", server.network)


def test_what_is_too_large_or_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_download, "LARGEST", 1 << 20)
    with serving({"/a": Answer(body=b"x" * (1 << 21))}) as server:
        with pytest.raises(UserError, match="larger than 1 MiB"):
            download(f"{server.address}/a", server.network)
        with pytest.raises(UserError, match="status 404"):
            download(f"{server.address}/b", server.network)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_server_on_this_machine_needs_no_https(host: str) -> None:
    with serving({"/s.yml": Answer(body=b"stories: []")}, tls=False) as server:
        address = server.address.replace("127.0.0.1", host)
        assert download(f"{address}/s.yml", server.network) == b"stories: []"


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/s.yml",
        "file:///s.yml",
        "s.yml",
        "https://",
        "https://[x",
        "http://127.0.0.1.nip.io/s.yml",
        "http://localhost@example.com/s.yml",
    ],
)
def test_only_https_addresses_are_taken(url: str, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        download(url, Network())
    golden(refused.value)


def test_an_address_that_cannot_be_reached_is_said(golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        download("https://127.0.0.1:1/s.yml", Network())
    golden(refused.value)
