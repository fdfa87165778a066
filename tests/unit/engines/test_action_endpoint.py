"""Which action server is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.engines.action_server.server import CallFailedError, HttpActionServer, NoActionServer, choose_server
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.project.model import Endpoint
from turncheck.web.addresses import is_loopback

PLACE = Location("endpoints.yml", 1, 1)


def endpoint(**parameters: Any) -> Endpoint:
    return Endpoint("action_endpoint", parameters, PLACE)


def test_the_endpoints_file_names_the_server_with_all_that_rasa_reads_there() -> None:
    written = endpoint(
        url="http://${HOST}:5055/webhook",
        headers={"X-Key": "${KEY}"},
        params={"a": 1},
        token="t",
        token_name="auth",
        basic_auth={"username": "u", "password": "p"},
        enable_selective_domain=True,
    )
    server = choose_server(written, {"HOST": "localhost", "KEY": "k"})
    assert isinstance(server, HttpActionServer)
    assert server.endpoint.url == "http://localhost:5055/webhook"
    assert server.endpoint.headers == {"X-Key": "k"}
    assert server.endpoint.params == {"a": "1", "auth": "t"}
    assert server.endpoint.basic_auth == ("u", "p")
    assert server.selective_domain


def test_the_flag_wins_over_the_file() -> None:
    server = choose_server(endpoint(url="http://a/webhook"), {}, url="http://b/webhook", allowed_hosts=())
    assert isinstance(server, HttpActionServer)
    assert server.endpoint.host == "b"


def test_without_either_there_is_no_server(golden: Golden) -> None:
    server = choose_server(None, {})
    assert isinstance(server, NoActionServer)
    with pytest.raises(CallFailedError, match="'action_a'") as raised:
        server.run({"next_action": "action_a"}, None)
    golden(raised.value)
    assert raised.value.outcome == "no server"


def test_a_host_that_is_not_allowed_is_not_called_and_the_reason_is_said() -> None:
    server = choose_server(endpoint(url="http://evil.example/webhook"), {}, allowed_hosts=("good.example",))
    assert isinstance(server, NoActionServer)
    assert "evil.example" in server.reason


@pytest.mark.parametrize("url", ["http://localhost:1/", "http://127.0.0.5/", "http://[::1]:5055/webhook"])
def test_loopback_is_always_allowed(url: str) -> None:
    assert isinstance(choose_server(endpoint(url=url), {}, allowed_hosts=()), HttpActionServer)


@pytest.mark.parametrize("host", ["127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1"])
def test_what_looks_like_loopback_is_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "url", ["ftp://a/", "webhook", "http://", "http://a:notaport/", "http://a:99999/", "http://a..b/"]
)
def test_an_address_that_cannot_be_called_is_an_error_at_its_place(url: str, golden: Golden) -> None:
    with pytest.raises(UserError) as raised:
        choose_server(endpoint(url=url), {})
    golden(raised.value)
    assert raised.value.location == PLACE


@pytest.mark.parametrize(
    ("parameters", "fault"),
    [
        ({"params": 5}, "'params' of 'action_endpoint' must be a map"),
        ({"headers": {"Authorization": "Bearer s3cret\n"}}, "'headers' of 'action_endpoint' contains a line break"),
        ({"headers": {"X-Key": "s3cret\u20ac"}}, "'headers' of 'action_endpoint' contains"),
        ({"headers": {"X\nKey": "s3cret"}}, "'headers' of 'action_endpoint' contains"),
        ({"basic_auth": {"username": "a", "password": "s3cret\u20ac"}}, "'basic_auth' of 'action_endpoint' contains"),
        ({"token": "s3cret\ud800"}, "'params' of 'action_endpoint' contains"),
        ({"headers": ["a"]}, "'headers' of 'action_endpoint' must be a map"),
        ({"basic_auth": {"username": "a"}}, "needs a username and a password"),
        ({"basic_auth": "a:b"}, "'basic_auth' of 'action_endpoint' must be a map"),
    ],
)
def test_a_malformed_endpoint_is_an_error_at_its_place(parameters: dict[str, Any], fault: str) -> None:
    with pytest.raises(UserError, match=fault) as raised:
        choose_server(endpoint(url="http://a/", **parameters), {})
    assert raised.value.location == PLACE
    assert "s3cret" not in str(raised.value)


def test_certificates_come_from_the_endpoint_or_the_environment() -> None:
    environment = {"REQUESTS_CA_BUNDLE": "company.pem", "SSL_CERT_FILE": "more.pem"}
    for server in (
        choose_server(endpoint(url="https://a/"), environment),
        choose_server(None, environment, url="https://a/"),
    ):
        assert isinstance(server, HttpActionServer)
        assert (server.endpoint.cafile, server.endpoint.more_cafiles) == ("company.pem", ("more.pem",))
    own = choose_server(endpoint(url="https://a/", cafile="own.pem"), environment)
    assert isinstance(own, HttpActionServer)
    assert (own.endpoint.cafile, own.endpoint.more_cafiles) == ("own.pem", ())


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "link to a device", "large"])
def test_certificates_are_read_from_a_file(kind: str, tmp_path: Path, golden: Golden) -> None:
    """What reads them would wait for a pipe, and take the rest of a script that comes from the standard input."""
    named = tmp_path / "ca.pem"
    match kind:
        case "pipe":
            os.mkfifo(named)
        case "device":
            named = Path("/dev/zero")
        case "folder":
            named.mkdir()
        case "link to a device":
            named.symlink_to("/dev/stdin" if not Path("/dev/stdin").is_file() else "/dev/zero")
        case _:
            named.touch()
            os.truncate(named, 1 << 33)
    made = endpoint(url="https://localhost:1/webhook", cafile=str(named))
    with pytest.raises(UserError, match="'cafile'") as refused:
        choose_server(made, {})
    golden(refused.value)
