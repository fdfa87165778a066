"""What ``--url`` fetches, and what it refuses."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from turncheck import story_download
from turncheck.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@contextmanager
def serving(answers: Mapping[str, tuple[int, str, bytes]], pause: float = 0.0) -> Iterator[str]:
    """Serve ``(status, Location, body)`` by path, byte by byte where there is a pause between them."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, location, body = answers[self.path]
            self.send_response(status)
            if location:
                self.send_header("Location", location)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for piece in [bytes([byte]) for byte in body] if pause else [body]:
                try:
                    self.wfile.write(piece)
                except OSError:
                    return
                time.sleep(pause)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # type: ignore[method-assign]  # hung-up connections
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server here has no certificate."""
    monkeypatch.setattr(story_download, "SCHEME", "http")


@pytest.mark.usefixtures("_plain")
def test_redirects_are_followed_a_few_times() -> None:
    answers = {"/a": (302, "/b", b""), "/b": (307, "c", b""), "/c": (200, "", b"stories: []"), "/d": (301, "/d", b"")}
    with serving(answers) as address:
        assert story_download.download(f"{address}/a") == b"stories: []"
        with pytest.raises(UserError, match="redirected more than 5 times"):
            story_download.download(f"{address}/d")


@pytest.mark.usefixtures("_plain")
@pytest.mark.parametrize("target", ["ftp://example.com/x", "file:///etc/passwd", "https://example.com/x", "http://[x"])
def test_redirects_to_another_scheme_are_refused(target: str) -> None:
    with serving({"/a": (302, target, b"")}) as address, pytest.raises(UserError, match="redirected to what is no"):
        story_download.download(f"{address}/a")


@pytest.mark.usefixtures("_plain")
def test_what_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_download, "SECONDS", 0.4)
    begin = time.monotonic()
    with (
        serving({"/a": (200, "", b"x" * 1000)}, pause=0.05) as address,
        pytest.raises(UserError, match=r"within 0\.4 seconds"),
    ):
        story_download.download(f"{address}/a")
    assert time.monotonic() - begin < 3


@pytest.mark.usefixtures("_plain")
def test_what_is_too_large_or_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(story_download, "LARGEST", 1 << 20)
    with serving({"/a": (200, "", b"x" * (1 << 21)), "/b": (404, "", b"")}) as address:
        with pytest.raises(UserError, match="larger than 1 MB"):
            story_download.download(f"{address}/a")
        with pytest.raises(UserError, match="status 404"):
            story_download.download(f"{address}/b")


@pytest.mark.parametrize("url", ["http://example.com/s.yml", "file:///s.yml", "s.yml", "https://", "https://[x"])
def test_only_https_addresses_are_taken(url: str) -> None:
    with pytest.raises(UserError, match="no https address"):
        story_download.download(url)


def test_an_address_that_cannot_be_reached_is_said() -> None:
    with pytest.raises(UserError, match="cannot be reached: ConnectionError"):
        story_download.download("https://127.0.0.1:1/s.yml")
