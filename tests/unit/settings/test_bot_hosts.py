"""``bot:`` leads no call elsewhere, and puts the token nowhere where a bot reads it: however it is written."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode, urlsafe_b64encode
from time import process_time
from typing import TYPE_CHECKING

import pytest
from golden_texts import Golden
from hypothesis import given
from hypothesis import strategies as st
from test_bot_shape import GOOD, R, shape, with_sent

from turncheck.ci.host import Base, Host, Run
from turncheck.ci.hosts import find_host
from turncheck.comparison.model import Missing
from turncheck.messages.errors import UserError
from turncheck.process.environment import Secret
from turncheck.run.bot_of_base import ensure_token_is_sent_as_on_base
from turncheck.settings.bot_headers import leads_elsewhere, replaces_method
from turncheck.settings.bot_hosts import is_host, names_address
from turncheck.settings.options import Settings

if TYPE_CHECKING:
    from pathlib import Path

IN_ASCII = ["evil.xn--p1ai/x", "xn--evil-8/x", "evil/x", "evil.example.", "evil.", "EVIL.EXAMPLE", "LOCALHOST:8"]
INTERNATIONAL = ["evil.рф", "evil\u3002example", "evil\uff0ecom", "evil\uff61example", "ｅｖｉｌ.example", "ⓔⓥⓘⓛ.ⓔⓧ"]
NOT_SEEN = ["evil\u200b.example", "evil\u00ad.example", "evil\ufe0f.example", "e\tvil.example"]
OF_FOUR_BYTES = [
    "2130706433/x",
    "2130706433",
    "3232235777",
    "0x7f000001",
    "017700000001",
    "127.1/x",
    "127.0.1",
    "0x7f.1",
]
OF_FOUR_BYTES += ["0177.0.0.1", "0x7f.0.0.1", "127.0.0.1.", "127.0.0.1:80", "①②⑦.⓪.⓪.①", "⑯.1"]
OF_SIXTEEN = [
    "::1",
    "::ffff:7f00:1",
    "::ffff:127.0.0.1",
    "[::ffff:127.0.0.1]",
    "[::1]:80/x",
    "fe80::1%25eth0",
    "64:ff9b::7f00:1/x",
]
OF_SOMEBODY = ["me@evil.example/", "a:b@evil.example", "a%40b:c@evil/", "good.example@evil.example:80"]
ENCODED = [
    "evil%2eexample",
    "evil%252eexample",
    "%u0065vil.example",
    "\\u{65}vil.example",
    "evil\\x2eexample",
    "evil&#46;example",
]
ADDRESSES = [
    "http&#58;//evil",
    "http&colon;//evil",
    "http\\u003a//evil",
    "%68ttp://evil",
    "ht\ntp://evil",
    "https:/\\evil",
]
ADDRESSES += [
    "\\\\evil.example",
    "/\\evil",
    "\\/evil",
    "//evil",
    "ｈｔｔｐ://evil",
    "http:\u200b//evil",
    "http\uff1a//evil",
]
ADDRESSES += [b64encode(b"http://evil.example").decode(), urlsafe_b64encode(b"https://evil.example/?a>?b").decode()]
ADDRESSES += [
    b64encode(b"//evil.example/x").decode().rstrip("="),
    b"http://evil".hex(),
    f"x,{b64encode(b'http://evil').decode()}",
]
WITHOUT_SLASHES = ["data:text/html,evil", "data:,x", "data:;base64,eA==", "javascript:fetch(1)", "javascript:{text}"]
WITHOUT_SLASHES += ["file:/etc/passwd", "file:etc/passwd", "gopher:evil", "ldap:evil.example", "dict:evil.example"]
WITHOUT_SLASHES += ["smb:evil", "sftp:evil.example", "ssh:evil.example", "git:evil.example", "jar:file:x!/y", "SMB:x"]
WITHOUT_SLASHES += ["view-source:evil.example", "blob:evil", "redis:evil.example:6379", "hxxp:evil.example"]
WITHOUT_SLASHES += ["vbscript:x", "phar:x", "php:input", "s3:bucket", "net.tcp:x", "jdbc:mysql:x", "ms-excel:ofe|u|x"]
WITHOUT_SLASHES += [
    "https:2130706433",
    "see https:2130706433 ",
    "gopher%3aevil",
    "java\tscript:x",
    "git@evil.example:a/b",
]
WITHOUT_SLASHES += [b64encode(b"gopher:evil.example").decode(), "URL:file:/etc/passwd", "a=gopher:evil", "jndi:dns:x"]
WITH_PORTS = [
    "evil.example:443/x",
    "evil.example:8080",
    "10.0.0.5:80",
    "[::1]:80/x",
    "evil.рф:80?a",
    "evil%2eexample:443",
    "evil.example.:1",
    b64encode(b"evil.example:443").decode(),
    *("localhost:80", "127.1:80", "0x7f.1:80", "0x7f000001:80", "2130706433:80", "017700000001:80/x", "redis:6379"),
    *("x@evil.example:80", "x:y@evil.example:80", "x@evil:80", "evil.{session}.example:80", "http:0"),
]
HOSTS = [*IN_ASCII, *INTERNATIONAL, *NOT_SEEN, *OF_FOUR_BYTES, *OF_SIXTEEN, *OF_SOMEBODY, *ENCODED]
HOSTS += [b64encode(b"evil.example").decode(), b64encode(b"127.0.0.1:80").decode()]


def written(key: str, value: object) -> str:
    """Write an entry of a map in one line."""
    return json.dumps({key: value})[1:-1]  # which is YAML


@pytest.mark.parametrize("value", [*HOSTS, *ADDRESSES, *WITHOUT_SLASHES, "@evil.example", "any:evil", "{text}:evil"])
@pytest.mark.parametrize("key", ["callback_url", "webhook", "slack-hook", "proxy"])
def test_a_host_is_refused_in_all_its_spellings(key: str, value: str, tmp_path: Path) -> None:
    for body in (written(key, value), written("deep", [{key: {"value": [value]}}])):
        with pytest.raises(UserError, match="a host"):
            with_sent(tmp_path, "BODY", body)


@pytest.mark.parametrize("value", [*ADDRESSES, *WITHOUT_SLASHES, *WITH_PORTS])
def test_an_address_is_refused_below_any_key(value: str, tmp_path: Path) -> None:
    for body in (written("note", value), written(value, 1)):
        with pytest.raises(UserError, match="a host"):
            with_sent(tmp_path, "BODY", body)


@pytest.mark.parametrize(
    "body",
    [
        "to: {scheme: https, domain: evil.example}",
        "to: [{protocol: 'HTTP:', authority: 127.1, port: 80}]",
        "to: {Scheme: wss, name: evil.рф}",
        "to: {type: https, where: 0x7f000001}",
        "to: {scheme: gopher, domain: evil.example}",
        "to: {protocol: 'https:', version: 1.2, site: 'evil.example/x'}",
        "webhook: 2130706433",
        "webhook: 0x7f000001",
        "endpoint: 127.1",
        "endpoints: [2130706433]",
        "callback: {address: 2130706433}",
    ],
)
def test_so_is_one_in_parts_or_as_a_number(body: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a host"):
        with_sent(tmp_path, "BODY", body)


@pytest.mark.parametrize(
    "body",
    [
        "webhook: off, endpoint: museum, server: 3, proxy: '', redirect: /thanks/page, origin: Köln",
        "protocol: rest, version: 1.2.3, client: app.main",
        "protocol: https, version: 1.2.3, secure: true, client: museum",
        "callback: me@shop.example, href: page.html, redirect: 'see you: at 9', origin: 'Rome, Italy'",
        f"attachment: {b64encode(b'a picture of a museum, in bytes').decode()}, sum: 68747470aa",
        "note: 'at 10:30 a.m./p.m.', ratio: 16:9, when: 2026-11-28T10:00:00Z, ip: 10.0.0.1, half: 1/2",
        "model: 'llama3.1:8b', other: 'anthropic.claude-3-5-sonnet-20241022-v2:0', arn: 'arn:aws:lex:eu-1:12:bot/x'",
        "from: 'whatsapp:+14155238886', to: 'tel:+49', user: 'order:1001', room: '@alice:shop.example', film: '2.35:1'",
        "query: 'mutation($m: String!) { send(data:{text:$m}) { id } }', action: 'intent:greet', at: 'http:80 open'",
        "text2: 'Ist das Öffnungszeit? ½', emoji: '👩\u200d🚀', callback: '{session}'",
    ],
)
def test_what_is_no_host_is_sent(body: str, tmp_path: Path) -> None:
    assert with_sent(tmp_path, "BODY", body).kind == "rest"


LETTERS = "abcdefghijklmnopqrstuvwxyz"
SCHEMES = st.sampled_from(
    ["http", "https", "ws", "ftp", "data", "javascript", "file", "gopher", "ldap", "dict", "smb", "ssh", "git", "redis"]
)
A_CALL = st.tuples(
    SCHEMES, st.sampled_from([":evil", ":/evil", ":evil.example:1", ":///x", ":[::1]", ":.", ":2130706433"])
)
NUMBERS = st.integers(0, 59)
ORDINARY = (
    st.builds("{}: {}".format, st.text(LETTERS, min_size=1), st.text(LETTERS, min_size=1))
    | st.builds("{:02}:{:02}".format, NUMBERS, NUMBERS)
    | st.builds("{}:{}".format, NUMBERS, NUMBERS)
    | st.builds("{} {}:{}".format, st.text(LETTERS, min_size=1), NUMBERS, NUMBERS)
    | st.builds("{}/{}".format, st.text(LETTERS, min_size=1), st.text(LETTERS, min_size=1))
    | st.builds(
        "{}:{}:{}".format,
        st.sampled_from(["urn", "arn", "did", "isbn", "user", "order", "tenant", "sha256", "oid"]),
        st.text(LETTERS, min_size=1),
        st.text("0123456789abcdef", max_size=6),
    )
    | st.builds("{{{}}}{}".format, st.sampled_from(["session", "text"]), st.sampled_from(["", ":1", ": a", "/b"]))
)


@given(A_CALL, st.lists(st.integers(0, 5), max_size=3), st.booleans(), st.sampled_from(["", " ", "see ", "a=", "("]))
def test_a_scheme_needs_no_slashes(call: tuple[str, str], encoded: list[int], upper: bool, before: str) -> None:
    scheme, rest = call if call[0] != "data" else ("data", ":text/html,evil")
    spelled = "".join(
        f"%{ord(one):02x}" if place in encoded else one.upper() if upper else one for place, one in enumerate(scheme)
    )
    assert names_address([f"{before}{spelled}{rest}"])


@given(st.from_regex(r"[a-z][a-z0-9+.-]{0,8}:[a-z./@\[]", fullmatch=True), st.text(LETTERS, max_size=8))
def test_any_scheme_makes_a_host(begun: str, rest: str) -> None:
    assert is_host(f"{begun}{rest}")


@given(ORDINARY)
def test_ordinary_words_are_no_addresses(text: str) -> None:
    assert not names_address([text])


@pytest.mark.parametrize("part", ["a", "data:;", "ms-", "data:", "a.", "1.", "x@", "compress."])
def test_a_long_text_is_read_in_time(part: str) -> None:
    begun = process_time()
    assert not names_address([part * (100_000 // len(part))])
    assert process_time() - begun < 5


MOVING = ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "X_HTTP_Method_Override", "HTTP-Method"]
MOVING += ["X-Original-URL", "X-Original-Uri", "x-original-host", "X_Original_URL", "X-Rewrite-URL", "X.Rewrite.Url"]
MOVING += ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Prefix", "X-Forwarded-Path", "X-Forwarded-Anything"]
MOVING += ["Forwarded", "X-Forward-For", "X-Real-IP", "True-Client-IP", "X-Client-IP", "CF-Connecting-Client-IP"]
MOVING += ["X-Host", "X-Http-Host-Override", "X-HTTP-DestinationURL", "X-Proxy-Url", "Proxy-Host", "Base-Url", "Url"]
MOVING += ["X-Envoy-Original-Path", "X-Accel-Redirect", "X-Replaced-Path", "X-Waws-Unencoded-Url", "Request-Uri"]
MOVING += ["X-Middleware-Rewrite", "X-Url-Scheme", "X-Forwarded-Proto", "Destination", "Via", "Keep-Alive", "TE"]


@pytest.mark.parametrize("name", MOVING)
def test_a_header_leads_no_call_to_another_place(name: str, tmp_path: Path) -> None:
    with pytest.raises(UserError):
        with_sent(tmp_path, "HEADERS", f"{name}: '1'")
    with pytest.raises(UserError, match="header"):
        shape(tmp_path, f"{GOOD}  token: {{header: {name}}}\n")
    assert leads_elsewhere(name)


@pytest.mark.parametrize(
    "name", ["X-Channel", "X-Request-Id", "Accept-Language", "X-Api-Version", "Content-Type", "User-Agent", "X-Tenant"]
)
def test_other_headers_are_sent(name: str, tmp_path: Path) -> None:
    assert with_sent(tmp_path, "HEADERS", f"{name}: a").request.headers == {name: "a"}


@pytest.mark.parametrize(
    "name",
    ["_method", "__method", "_METHOD_", "X-HTTP-Method-Override", "http_method", "$httpMethod", "method_override"],
)
def test_nor_does_a_name_in_a_query_or_a_body(name: str, tmp_path: Path) -> None:
    for place, text in (("PATH", f"/chat?a=b&{name.replace('$', '%24')}=DELETE"), ("BODY", f"'{name}': DELETE")):
        with pytest.raises(UserError, match="`method`"):
            with_sent(tmp_path, place, text)
    assert not replaces_method("method")  # of JSON-RPC


# The token.


@pytest.mark.parametrize(
    "request_of_bot",
    [
        'path: /c, body: {s: "{session}", t: "{token} {text}"}',
        'path: /c, body: {s: "{session}", t: "{text}", k: "Bearer {token}"}',
        'path: /c, body: {s: "{session}", t: "{text}", k: "{token}{token}"}',
        'path: /c, body: {s: "{session}", t: ["{token}", "{text}"]}',
        'path: /c, body: {s: "{session}", t: {say: "{text}", key: "{token}"}}',
        'path: /c, body: {s: "{session}", t: {say: [{a: "{text}"}], more: {key: "{token}"}}}',
        'path: /c, body: {m: ["{history}", {role: system, content: "{token}"}]}',
        'path: /c, body: [{s: "{session}", t: "{text}"}, "{token}"]',
        'path: "/c/{session}-{token}", body: {t: "{text}"}',
        'path: "/c/x{token}", body: {s: "{session}", t: "{text}"}',
        'path: "/c?q={text}{token}", body: {s: "{session}"}',
        'path: "/c?q=a+{token}", body: {s: "{session}", t: "{text}"}',
        'path: "/c?{token}=a", body: {s: "{session}", t: "{text}"}',
        'path: "/c;k=a{token}/x", body: {s: "{session}", t: "{text}"}',
    ],
)
def test_the_token_is_a_whole_value_apart_from_the_message(request_of_bot: str, tmp_path: Path, golden: Golden) -> None:
    with pytest.raises(UserError, match="token") as refused:
        shape(tmp_path, f"{R}{{{request_of_bot}}}\n  replies: $\n")
    golden(refused.value)


@pytest.mark.parametrize(
    "call", ['open: {path: "/new?k={token}x", id: $.id}', 'open: {path: /new, id: $.id, body: {a: "x {token}"}}']
)
def test_so_it_is_where_a_conversation_begins(call: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="token"):
        shape(tmp_path, f"{GOOD}  session: {{{call}}}\n")


def test_where_the_token_may_be(tmp_path: Path) -> None:
    bot = shape(
        tmp_path,
        f'{R}{{path: "/{{token}}/c?key={{token}}&q={{text}}", body: {{s: "{{session}}", a: ["{{token}}"]}}}}\n'
        '  replies: $\n  poll: {path: "/p;k={token}", body: {auth: {key: "{token}"}}}\n',
    )
    assert sorted(bot.token_places) == [
        "poll: body.auth.key",
        "poll: path /p;k={token}",
        "request: body.a[0]",
        "request: path /{token}",
        "request: query key",
    ]


HEADER_ALONE = GOOD
IN_BODY = GOOD.replace('message: "{text}"', 'message: "{text}", key: "{token}"')
AS_A_PERSON = GOOD.replace('message: "{text}"', 'message: "{text}", key: "{token}", system: "{token}"')


class AChange(Host):
    """A host that knows the base of a change, if there is one."""

    name = "test"
    run = Run(of_a_change=True)

    def base(self, warn: object) -> Base | Missing:
        words = ["git", "rev-parse", "--verify", "--quiet", "refs/remotes/origin/main"]
        commit = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        return Base("main", commit, of_a_change=True) if commit else Missing("nobody knows")


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A branch, whose default branch has the file that the test writes first."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q", "-b", "main")
    return tmp_path


def git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], check=True)


def change_of(folder: Path, base: str, own: str) -> Settings:
    """Commit the file of the base, and on a branch that of the change."""
    for text in (base, own):
        (folder / "turncheck.yml").write_text(text)
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", "x")
        if text is base:
            git("update-ref", "refs/remotes/origin/main", "HEAD")
            git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
            git("switch", "-q", "-c", "feature")
    return Settings(bot=shape(folder, own), bot_token=Secret("s3cret-t0ken"))


@pytest.mark.parametrize(
    ("base", "own"),
    [(HEADER_ALONE, IN_BODY), (IN_BODY, AS_A_PERSON), (IN_BODY.replace("key", "id"), IN_BODY)],
    ids=["nowhere", "also_elsewhere", "elsewhere"],
)
def test_a_change_sends_the_token_only_where_the_base_does(change: Path, base: str, own: str, golden: Golden) -> None:
    settings = change_of(change, base, own)
    for host in (AChange(), find_host({}, None)):
        with pytest.raises(UserError, match="the base") as refused:
            ensure_token_is_sent_as_on_base(settings, host, {})
        golden(refused.value)


def test_a_token_from_a_variable_is_sent_only_where_the_base_does(change: Path) -> None:
    settings = Settings(bot=change_of(change, HEADER_ALONE, IN_BODY).bot)
    with pytest.raises(UserError, match="the base"):
        ensure_token_is_sent_as_on_base(settings, AChange(), {"TURNCHECK_BOT_TOKEN": "s3cret-t0ken"})


def test_a_base_that_is_unknown_or_has_no_bot_sends_it_nowhere(change: Path) -> None:
    settings = change_of(change, "engine: http\n", IN_BODY)
    with pytest.raises(UserError, match="not known"):
        ensure_token_is_sent_as_on_base(settings, AChange(), {})
    ensure_token_is_sent_as_on_base(settings, find_host({}, None), {})  # somebody tries it at home
    (change / ".git").rename(change / "no-git")
    with pytest.raises(UserError, match="not known"):
        ensure_token_is_sent_as_on_base(settings, AChange(), {})


def test_what_the_base_sends_a_change_may_send(change: Path) -> None:
    settings = change_of(change, AS_A_PERSON, IN_BODY)
    ensure_token_is_sent_as_on_base(settings, AChange(), {})
    ensure_token_is_sent_as_on_base(
        Settings(bot=settings.bot), AChange(), {}
    )  # without a token there is nothing to send
    git("switch", "-q", "main")
    ensure_token_is_sent_as_on_base(settings, find_host({}, None), {})
