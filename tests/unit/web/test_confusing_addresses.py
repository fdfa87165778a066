r"""Addresses that parsers understand differently, at every place that takes one.

``GOOD`` in an address stands for a server that may be called, ``EVIL`` for one that may not. Both listen on this
machine, so what is connected to is seen, not guessed: whatever a place makes of an address, ``EVIL`` is never reached.
"""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import pytest
import requests
from golden_texts import Golden
from urllib3.util import parse_url

from turncheck.ci.azure.host import AzureClient
from turncheck.ci.bitbucket.host import BitbucketClient
from turncheck.ci.github.client import GitHubClient
from turncheck.ci.github.results_host import NoService
from turncheck.ci.github.results_service import ResultsService, find_service
from turncheck.ci.gitlab.host import GitLabClient
from turncheck.ci.hosts import OF_CODE, find_host
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.engines.action_server.server import (
    ActionEndpoint,
    CallFailedError,
    HttpActionServer,
    NoActionServer,
    choose_server,
)
from turncheck.engines.embedded.models import fetch_model
from turncheck.engines.embedded.nlu.batch import DucklingAccess
from turncheck.engines.embedded.nlu.duckling import _why_not
from turncheck.engines.rasa_server.engines import opened
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.platforms.kore.engine.client import Access, Clock, KoreClient
from turncheck.platforms.kore.engine.engines import platform_of
from turncheck.process.environment import Secret
from turncheck.project.model import Endpoint
from turncheck.project.reader import read_project
from turncheck.run.named_baseline import read_baseline
from turncheck.settings.options import Settings
from turncheck.settings.sources import from_flags
from turncheck.web.addresses import Network, is_allowed, is_http, is_loopback, origin_of, without_login
from turncheck.web.exchange import Call, download, exchange
from turncheck.web.timed import session

REFUSED, GOOD, EVIL = "refused", "the good host", "the evil host"

TABLE: Final[dict[str, tuple[str, str]]] = {
    # where the host ends
    "backslash": (r"http://EVIL\@GOOD/", REFUSED),
    "backslash after a login": (r"http://a@EVIL\@GOOD/", REFUSED),
    "encoded backslash in a login": (r"http://EVIL%5C@GOOD/", GOOD),
    "fragment": ("http://EVIL#@GOOD/", EVIL),
    "fragment behind": ("http://GOOD#@EVIL/", GOOD),
    "query": ("http://EVIL?@GOOD/", EVIL),
    "query behind": ("http://GOOD?@EVIL/", GOOD),
    "path": ("http://EVIL/@GOOD/", EVIL),
    "path behind": ("http://GOOD/@EVIL/", GOOD),
    "semicolon in a login": ("http://EVIL;@GOOD/", GOOD),
    "semicolon in the login of the other": ("http://GOOD;@EVIL/", EVIL),
    "semicolon in a host": ("http://GOOD;.evil.example/", REFUSED),
    "two at signs": ("http://a@EVIL@GOOD/", REFUSED),
    "encoded at sign": ("http://EVIL%40GOOD/", REFUSED),
    "encoded at sign in a login": ("http://a%40b:c@GOOD/", GOOD),
    "encoded slash in a login": ("http://EVIL%2F@GOOD/", GOOD),
    "encoded host": ("http://%6cocalhost/", REFUSED),
    "no slashes": ("http:EVIL", REFUSED),
    "one slash": ("http:/EVIL/", REFUSED),
    "three slashes": ("http:///EVIL/", REFUSED),
    "backslashes for slashes": ("http:\\\\EVIL/", REFUSED),
    "bracket behind": ("http://[::1]EVIL/", REFUSED),
    "bracket and at sign": ("http://[EVIL@GOOD]/", REFUSED),
    "two ports": ("http://GOOD:80/", REFUSED),
    # characters that one parser leaves out, and another one does not
    "tab": ("http://EVIL\t@GOOD/", REFUSED),
    "tab in the scheme": ("ht\ttp://GOOD/", REFUSED),
    "line feed": ("http://EVIL\n@GOOD/", REFUSED),
    "line feed at the end": ("http://GOOD/\n", REFUSED),
    "carriage return": ("http://EVIL\r@GOOD/", REFUSED),
    "NUL": ("http://EVIL\x00@GOOD/", REFUSED),
    "blank": ("http://EVIL @GOOD/", REFUSED),
    "blank before": (" http://GOOD/", REFUSED),
    "delete": ("http://EVIL\x7f@GOOD/", REFUSED),
    "soft hyphen": ("http://local\u00adhost/", REFUSED),
    "zero width": ("http://local\u200bhost/", REFUSED),
    "half a character": ("http://\ud800@GOOD/", REFUSED),
    # characters that are something else in another alphabet
    "ideographic full stop": ("http://host\u3002@localhost/", REFUSED),
    "ideographic full stops": ("http://127\u30020\u30020\u30021/", REFUSED),
    "full-width digits": ("http://\uff11\uff12\uff17.0.0.1/", REFUSED),
    "full-width port": ("http://localhost:\uff18\uff10/", REFUSED),
    "full-width solidus": ("http://EVIL\uff0f@GOOD/", REFUSED),
    "full-width at sign": ("http://EVIL\uff20GOOD/", REFUSED),
    "Kelvin sign": ("http://local\u212aost/", REFUSED),
    "long s": ("http\u017f://GOOD/", REFUSED),
    "care of": ("http://EVIL\u2100.GOOD/", REFUSED),
    "login that is not Latin": ("http://\u0431\u043e\u0442:\u20ac@GOOD/", REFUSED),
    "host that is not Latin": ("http://\u0431\u043e\u0442.example/", REFUSED),
    # numbers that are loopback, or another host, for whom the system asks
    "hexadecimal": ("http://0x7f000001/", REFUSED),
    "hexadecimal parts": ("http://0x7f.0.0.0x1/", REFUSED),
    "decimal": ("http://2130706433/", REFUSED),
    "decimal of another": ("http://2852039166/", REFUSED),
    "octal": ("http://0177.0.0.1/", REFUSED),
    "octal whole": ("http://017700000001/", REFUSED),
    "short": ("http://127.1/", REFUSED),
    "dot behind": ("http://127.0.0.1./", REFUSED),
    "too large": ("http://127.0.0.256/", REFUSED),
    "zone": ("http://[::1%25lo]/", REFUSED),
    "zone of a link": ("http://[fe80::1%eth0]/", REFUSED),
    "future": ("http://[v1.localhost]/", REFUSED),
    "port zero": ("http://localhost:0/", REFUSED),
    "large port": ("http://localhost:65536/", REFUSED),
    "signed port": ("http://localhost:+80/", REFUSED),
    "hexadecimal port": ("http://localhost:0x50/", REFUSED),
    # schemes
    "file": ("file:///etc/passwd", REFUSED),
    "gopher": ("gopher://GOOD/", REFUSED),
    "no scheme": ("//GOOD/", REFUSED),
}
"""Name: the address, and what has to become of it. `refused`: it is not an address."""

HOSTS: Final[dict[str, tuple[str, bool]]] = {
    "IPv4 in IPv6, loopback": ("http://[::ffff:127.0.0.1]/", True),
    "IPv4 in IPv6, loopback, hexadecimal": ("http://[::ffff:7f00:1]/", True),
    "IPv4 in IPv6, metadata": ("http://[::ffff:169.254.169.254]/", False),
    "IPv4 in IPv6, old": ("http://[::127.0.0.1]/", False),
    "IPv4 in IPv6, translated": ("http://[64:ff9b::7f00:1]/", False),
    "long IPv6": ("http://[0:0:0:0:0:0:0:1]/", True),
    "upper case": ("HTTP://LOCALHOST/", True),
    "all addresses": ("http://0.0.0.0/", False),
    "all addresses of IPv6": ("http://[::]/", False),
    "absolute name": ("http://localhost./", False),
    "loopback below a name": ("http://127.0.0.1.evil.example/", False),
    "metadata": ("http://169.254.169.254/", False),
}
"""Name: an address that all understand alike, and whether a project's file may name its host."""


class Forbidden(BaseHTTPRequestHandler):
    """Notes that it was reached, and with which headers."""

    def _note(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        self.server.reached.append((self.path, dict(self.headers)))  # type: ignore[attr-defined]
        target, link = self.server.location, self.server.link  # type: ignore[attr-defined]
        self.send_response(302 if target else 200)
        if target:
            self.send_header("Location", target)
        if link:
            self.send_header("Link", f'<{link}>; rel="next"')
        self.send_header("Content-Type", "application/json")
        body = self.server.body  # type: ignore[attr-defined]
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_HEAD = _note  # noqa: N815 - names of the standard library

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def listening(host: str) -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer((host, 0), Forbidden) as server:
        server.reached, server.location, server.link, server.body = [], "", "", b"[]"  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()


@dataclass(frozen=True)
class Two:
    """The two servers, and an environment without surprises."""

    good: Any
    evil: Any
    folder: Path
    environment: dict[str, str] = field(default_factory=dict)

    def written(self, address: str) -> str:
        return address.replace("GOOD", self.place(self.good)).replace("EVIL", self.place(self.evil))

    @staticmethod
    def place(server: Any) -> str:
        return f"{server.server_address[0]}:{server.server_address[1]}"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    with listening("127.0.0.1") as good, listening("127.0.0.2") as evil:
        yield Two(good, evil, tmp_path_factory.mktemp("servers"))


@pytest.fixture
def two(servers: Two) -> Two:
    for server in (servers.good, servers.evil):
        server.reached, server.location, server.link, server.body = [], "", "", b"[]"
    return servers


# --- what becomes of an address --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("address", "outcome"), TABLE.values(), ids=TABLE)
def test_what_is_an_address_is_understood_alike_by_all_parsers(address: str, outcome: str, two: Two) -> None:
    address = two.written(address)
    assert is_http(address) == (outcome != REFUSED)
    without_login(address)
    if outcome == REFUSED:
        assert origin_of(address) == ("", "", None)
        assert not is_allowed(address, None)
        return
    meant = two.good if outcome == GOOD else two.evil
    prepared = requests.Request("GET", address, auth=("", "")).prepare()
    connected = parse_url(str(prepared.url))
    assert origin_of(address) == ("http", *meant.server_address[:2])
    assert (connected.host, connected.port) == meant.server_address[:2]


@pytest.mark.parametrize(("address", "allowed"), HOSTS.values(), ids=HOSTS)
def test_which_hosts_a_projects_file_may_name(address: str, *, allowed: bool) -> None:
    assert is_allowed(address, ()) is allowed
    assert is_loopback(origin_of(address).host) is allowed


def test_a_host_is_allowed_however_it_is_written() -> None:
    assert is_allowed("http://Actions.example:5055/webhook", ("ACTIONS.example",))
    assert is_allowed("http://[2001:db8:0::1]/", ("2001:db8::1",))
    assert not is_allowed("http://actions.example.evil.example/", ("actions.example",))


# --- every place that takes one --------------------------------------------------------------------------------------

BOT: Final = {
    "config.yml": "language: en\npipeline: []\npolicies:\n- name: RulePolicy\n",
    "domain.yml": "intents: []\n",
}


def by_session(address: str, two: Two) -> None:
    with session() as one:
        one.get(address, timeout=5)


def by_exchange(address: str, two: Two) -> None:
    with session() as one, exchange(one, Call("GET", address), 5):
        pass


def by_endpoints_file(address: str, two: Two) -> None:
    named = Endpoint("action_endpoint", {"url": address, "headers": {"X-Key": "s3cret"}}, Location("endpoints.yml", 1))
    server = choose_server(named, two.environment, allowed_hosts=())
    if isinstance(server, NoActionServer):
        raise UserError(server.reason)
    server.look()
    assert isinstance(server, HttpActionServer)
    server.healthy(timeout=2.0)
    server.run({"next_action": "a"}, 2.0)


def by_action_endpoint(address: str, two: Two) -> None:
    choose_server(None, two.environment, url=address)


def by_rasa_endpoints(address: str, two: Two, name: str = "action_endpoint") -> None:
    bot = two.folder / "bot"
    bot.mkdir(exist_ok=True)
    for file, content in BOT.items():
        (bot / file).write_text(content, "utf-8")
    project = read_project(bot)
    project.endpoints[name] = Endpoint(name, {"url": address}, Location("endpoints.yml", 1))  # type: ignore[index]
    settings = Settings(project=str(bot), engine="rasa", rasa_command="rasa")
    with opened(settings, project, two.environment, ()) as engines:
        if engines.notes:
            raise UserError(engines.notes[0])


def by_duckling(address: str, two: Two) -> None:
    if (reason := _why_not(address, DucklingAccess(allowed_hosts=()))) is not None:
        raise UserError(reason)


def by_rasa_url(address: str, two: Two) -> None:
    settings = Settings(engine="rasa", rasa_url=address)
    with opened(settings, read_project(two.folder), two.environment, None):
        pass


def by_kore_host(address: str, two: Two) -> None:
    settings = Settings(kore_host=address, kore_bot_id="b", kore_client_id="c", kore_client_secret=Secret("s" * 20))
    platform_of(settings, two.environment, "Bot")


def by_baseline(address: str, two: Two) -> None:
    read_baseline(address.replace("http:", "https:", 1), Network())


def by_story_file(address: str, two: Two) -> None:
    download(address.replace("http:", "https:", 1), Network())


def by_model_storage(address: str, two: Two) -> None:
    fetch_model(address, "m.tar.gz", two.environment, two.folder)


def by_variable_of_github(name: str) -> Callable[[str, Two], None]:
    def take(address: str, two: Two) -> None:
        find_host({"GITHUB_REPOSITORY": "a/b", name: address}, Secret("t" * 20))

    return take


def by_variable(mark: str, name: str) -> Callable[[str, Two], None]:
    def take(address: str, two: Two) -> None:
        find_host({mark: "1", name: address}, Secret("t" * 20))

    return take


def by_named_host(name: str, variable: str) -> Callable[[str, Two], None]:
    def take(address: str, two: Two) -> None:
        OF_CODE[name].of_repository("a/b/c", Secret("t" * 20), {variable: address})

    return take


def by_link_of_the_platform(address: str, two: Two) -> None:
    access = Access(f"http://{two.place(two.good)}", "b", "c", Secret("s" * 20))
    KoreClient(access, clock=Clock(sleep=lambda _: None)).download(address, "the report")


def by_address_of_an_upload(address: str, two: Two) -> None:
    two.good.body = json.dumps({"ok": True, "signed_upload_url": address}).encode()
    try:
        service = ResultsService(f"http://{two.place(two.good)}", Secret("t" * 20), "a", "b", mask=lambda _: None)
        service.upload("report", [("a", b"b")])
    finally:
        two.good.reached.clear()  # it was asked for the address


def by_results_service(address: str, two: Two) -> None:
    token = "e30.eyJzY3AiOiAiQWN0aW9ucy5SZXN1bHRzOmE6YiJ9.e30"
    found = find_service({"ACTIONS_RESULTS_URL": address, "ACTIONS_RUNTIME_TOKEN": token}, lambda _: None)
    if isinstance(found, NoService):
        raise UserError(found.reason)
    assert origin_of(found.origin) == origin_of(address)


PLACES: Final[dict[str, Callable[[str, Two], None]]] = {
    "a session": by_session,
    "an exchange": by_exchange,
    "endpoints.yml": by_endpoints_file,
    "endpoints.yml, for Rasa": by_rasa_endpoints,
    "endpoints.yml, responses for Rasa": partial(by_rasa_endpoints, name="nlg"),
    "config.yml (Duckling)": by_duckling,
    "--action-endpoint": by_action_endpoint,
    "--rasa-url": by_rasa_url,
    "--kore-host": by_kore_host,
    "--baseline": by_baseline,
    "--url": by_story_file,
    "--remote-storage": by_model_storage,
    "GITHUB_API_URL": by_variable_of_github("GITHUB_API_URL"),
    "GITHUB_SERVER_URL": by_variable_of_github("GITHUB_SERVER_URL"),
    "CI_API_V4_URL": by_variable("GITLAB_CI", "CI_API_V4_URL"),
    "SYSTEM_COLLECTIONURI": by_variable("TF_BUILD", "SYSTEM_COLLECTIONURI"),
    "BITBUCKET_API_URL": by_variable("BITBUCKET_BUILD_NUMBER", "BITBUCKET_API_URL"),
    "ACTIONS_RESULTS_URL": by_results_service,
    "GITLAB_URL": by_named_host("gitlab", "GITLAB_URL"),
    "AZURE_DEVOPS_URL": by_named_host("azure", "AZURE_DEVOPS_URL"),
    "a link of Kore.ai's platform": by_link_of_the_platform,
    "an upload's address of the results service": by_address_of_an_upload,
}
OF_A_PROJECT: Final = [place for place in PLACES if place.startswith(("endpoints.yml", "config.yml"))]
EXPECTED: Final = (UserError, requests.exceptions.InvalidURL)
AROUND_BLANKS: Final = frozenset({"blank before", "line feed at the end"})
"""Variables and lists of addresses are read without surrounding blanks: these two name `GOOD` there."""


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", [name for name, (_, outcome) in TABLE.items() if outcome == REFUSED])
def test_what_is_not_an_address_is_refused_everywhere(name: str, place: str, two: Two) -> None:
    if name in AROUND_BLANKS and (place.isupper() or place == "--rasa-url"):
        return
    with pytest.raises(EXPECTED):
        PLACES[place](two.written(TABLE[name][0]), two)
    assert two.evil.reached == two.good.reached == []


@pytest.mark.parametrize("place", OF_A_PROJECT)
@pytest.mark.parametrize("name", [name for name, (_, outcome) in TABLE.items() if outcome != REFUSED])
def test_a_projects_file_reaches_only_the_host_that_it_may_name(
    name: str, place: str, two: Two, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    address, outcome = TABLE[name]
    monkeypatch.setattr("turncheck.web.addresses.is_loopback", lambda host: host == "127.0.0.1")  # not the other one
    if outcome == EVIL:
        with pytest.raises(UserError, match=r"127\.0\.0\.2") as refused:
            PLACES[place](two.written(address), two)
        golden(refused.value)
    else:
        PLACES[place](two.written(address), two)
    assert two.evil.reached == []
    if place == "endpoints.yml":
        assert bool(two.good.reached) == (outcome == GOOD)


# --- redirects and next pages: a token is only for its own server ----------------------------------------------------

SENT_ON: Final[dict[str, tuple[str, str]]] = {
    **{name: row for name, row in TABLE.items() if "EVIL" in row[0]},
    "another port, no scheme": ("//EVIL/", EVIL),
    "backslashes, no scheme": (r"\\EVIL/", REFUSED),
    "slash and backslash": (r"/\EVIL/", REFUSED),
    "login of the good host": ("http://GOOD@EVIL/", EVIL),
    "encoded colon": ("http://GOOD%3A80@EVIL/", EVIL),
}
CLIENTS: Final[dict[str, Callable[[str], Any]]] = {
    "GitHub": lambda url: GitHubClient(url, Secret("ghs_" + "s" * 20), RetryBudget(0.0)),
    "GitLab": lambda url: GitLabClient(url, Secret("glpat-" + "s" * 20), RetryBudget(0.0)),
    "Azure": lambda url: AzureClient(url, Secret("s" * 52), RetryBudget(0.0)),
    "Bitbucket": lambda url: BitbucketClient(url, Secret("s" * 24), RetryBudget(0.0)),
}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("way", ["location", "link"])
@pytest.mark.parametrize(("address", "outcome"), SENT_ON.values(), ids=SENT_ON)
def test_no_token_goes_on_to_another_server(client: str, way: str, address: str, outcome: str, two: Two) -> None:
    if any(character in address for character in "\r\n\x00"):
        return  # no header can have these
    target = two.written(address).encode("utf-8", "surrogatepass").decode("latin-1")
    setattr(two.good, way, target)
    asked = CLIENTS[client](f"http://{two.place(two.good)}")

    try:
        list(asked.pages("/x", list[Any]))
    except RestError:
        pass
    else:
        assert outcome == GOOD or way == "link"

    assert two.evil.reached == []


@pytest.mark.parametrize(("address", "outcome"), SENT_ON.values(), ids=SENT_ON)
def test_no_token_goes_on_to_another_server_that_an_answer_names(address: str, outcome: str, two: Two) -> None:
    """Bitbucket names the next page in the answer itself."""
    two.good.body = json.dumps({"values": [], "next": two.written(address)}).encode()
    client = CLIENTS["Bitbucket"](f"http://{two.place(two.good)}")

    with pytest.raises(RestError, match="continues on another host" if outcome != GOOD else "cannot be reached"):
        list(client.pages("/x", dict[str, Any], listed="values"))

    assert two.evil.reached == []


def test_a_redirect_that_is_followed_elsewhere_gets_no_credentials(two: Two) -> None:
    two.good.location = f"http://{two.place(two.evil)}/"
    call = Call("GET", f"http://{two.place(two.good)}/", credentials={"Authorization": "s3cret"}, login=("u", "s3cret"))
    with session() as one, exchange(one, call, 5, follow=lambda _: None):
        pass
    assert "s3cret" not in str(two.evil.reached)
    assert "Authorization" not in str(two.evil.reached)


def test_no_header_of_an_endpoint_goes_on_to_another_server_that_may_be_called(two: Two) -> None:
    two.good.location = f"http://{two.place(two.evil)}/"
    endpoint = ActionEndpoint(f"http://{two.place(two.good)}/webhook", headers={"X-Api-Key": "s3cret"})

    HttpActionServer(endpoint).send("action_x", b"{}")

    assert two.evil.reached
    assert "s3cret" not in str(two.evil.reached)
    assert "s3cret" in str(two.good.reached)


# --- right before sending --------------------------------------------------------------------------------------------


def test_the_server_is_compared_once_more_with_what_is_connected_to(
    two: Two, monkeypatch: pytest.MonkeyPatch, golden: Golden
) -> None:
    """Even where all checks take an address for that of another server, nothing is sent."""
    taken_for = origin_of(f"http://{two.place(two.good)}")
    monkeypatch.setattr("turncheck.web.timed.is_http", lambda _: True)
    monkeypatch.setattr("turncheck.web.timed.origin_of", lambda url: taken_for if "\\" in url else origin_of(url))
    with session() as one, pytest.raises(requests.exceptions.InvalidURL) as refused:
        one.get(two.written(r"http://EVIL\@GOOD/"), timeout=5)
    golden(refused.value)
    assert two.evil.reached == two.good.reached == []


@pytest.mark.parametrize(
    ("login", "sent"), [("u:p", b"u:p"), ("%E2%82%AC:%D0%B1", "€:б".encode()), ("u%40b:", b"u@b:"), ("u", b"u:")]
)
def test_a_login_is_sent_with_the_bytes_that_the_address_has(login: str, sent: bytes, two: Two) -> None:
    with session() as one, exchange(one, Call("GET", f"http://{login}@{two.place(two.good)}/"), 5):
        pass
    ((_, headers),) = two.good.reached
    assert headers["Authorization"] == f"Basic {b64encode(sent).decode()}"


# --- what is allowed, and what is shown ------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["http://a.example", "a.example:80", "a.example/x", "*.example", "a@b", "127.1", "а"])
def test_allowed_hosts_are_hosts(word: str, golden: Golden) -> None:
    with pytest.raises(UserError) as refused:
        from_flags({"allow-hosts": [word]})
    golden(refused.value)


@pytest.mark.parametrize(
    "url", ["https://u:s3/cret@a/", "https://u:s3#cret@a/", "https://u:s3?cret@a/", "u:s3cret@a/x"]
)
def test_no_password_is_shown_however_it_is_written(url: str) -> None:
    assert "cret" not in without_login(url)


def test_an_endpoint_of_confused_parts_is_nowhere() -> None:
    server = HttpActionServer(ActionEndpoint(r"http://127.0.0.1\@localhost/"))
    assert server.place == ""
    assert not server.healthy()
    with pytest.raises(CallFailedError):
        server.run({"next_action": "a"}, 1.0)
