"""``turncheck init`` makes ``bot:`` of a ``botium.json``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from in_process import turncheck

from turncheck.commands.init.botium import _READ, imported
from turncheck.commands.init.repository import look_at
from turncheck.settings.file import read_settings_file

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.settings.bot import Bot

SESSION, TEXT = "{{botium.conversationId}}", "{{msg.messageText}}"
CAPABILITIES: dict[str, Any] = {
    "CONTAINERMODE": "simplerest",
    "SIMPLEREST_URL": "https://bot.example:8443/api/chat",
    "SIMPLEREST_METHOD": "POST",
    "SIMPLEREST_HEADERS_TEMPLATE": '{"Content-Type": "a/json", "Authorization": "Bearer abc", "X-Tenant": "t"}',
    "SIMPLEREST_BODY_TEMPLATE": '{"user": "{{botium.conversationId}}", "text": "{{msg.messageText}}", "key": 1}',
    "SIMPLEREST_RESPONSE_JSONPATH": "$.messages[*].text",
}


def botium(folder: Path, **capabilities: Any) -> None:
    content = {"botium": {"Capabilities": {**CAPABILITIES, **capabilities}}}
    (folder / "botium.json").write_text(json.dumps(content))


def made(folder: Path, **capabilities: Any) -> tuple[Bot, str, list[str]]:
    botium(folder, **capabilities)
    found = imported(folder)
    assert found is not None
    (folder / "turncheck.yml").write_text(found.text)
    values = read_settings_file(folder).values
    assert values["engine"] == "http"
    return values["bot"], found.address, found.notes


def test_an_api_is_described_as_there(tmp_path: Path, golden: Golden) -> None:
    bot, address, notes = made(tmp_path)
    assert address == "https://bot.example:8443"
    assert (bot.request.method, bot.request.path) == ("POST", "/api/chat")
    assert bot.request.body == {"user": "{session}", "text": "{text}", "key": 1}
    assert bot.request.headers == {"X-Tenant": "t"}
    assert (bot.token.header, bot.token.prefix) == ("Authorization", "Bearer ")
    assert bot.replies.text == "$.messages[*].text"
    golden(*notes)


def test_what_messages_show_and_the_intent_are_where_they_are_there(tmp_path: Path) -> None:
    paths = {
        "SIMPLEREST_NLP_INTENT_JSONPATH": "$.nlu.intent",
        "SIMPLEREST_NLP_CONFIDENCE_JSONPATH": "$.nlu.sure",
        "SIMPLEREST_BUTTONS_JSONPATH": "$.messages[*].buttons[*]",
        "SIMPLEREST_BUTTONS_TEXT_SUBJSONPATH": "$.label",
        "SIMPLEREST_MEDIA_JSONPATH": "$.messages[*].image",
    }
    bot, _, notes = made(tmp_path, **paths)
    assert bot.intent is not None
    assert bot.confidence is not None
    assert bot.media is not None
    assert bot.buttons is not None
    assert bot.cards is None
    shape = bot.buttons
    assert (shape.path.text, shape.title.text, shape.payload.text) == (
        "$.messages[*].buttons[*]",
        "$.label",
        "$.payload",
    )
    assert len(notes) == 1


@pytest.mark.parametrize(
    ("capabilities", "noted"),
    [
        ({"SIMPLEREST_CARDS_JSONPATH": "cards["}, "SIMPLEREST_CARDS_JSONPATH is not one JSONPath"),
        ({"SIMPLEREST_BODY_JSONPATH": "$.data"}, "put it in front of each path"),
        ({"SIMPLEREST_BODY_TEMPLATE": {"s": "{{botium.conversationId}}", "t": "{{{msg.messageText}}}"}}, ""),
        (
            {
                "SIMPLEREST_URL": "https://bot.example/c/{{botium.conversationId}}?q={{msg.messageText}}",
                "SIMPLEREST_METHOD": "GET",
                "SIMPLEREST_BODY_TEMPLATE": None,
            },
            "",
        ),
        ({"SIMPLEREST_BODY_TEMPLATE": '{"t": "{{msg.messageText}}"}'}, "does the bot set a cookie"),
        ({"SIMPLEREST_BODY_TEMPLATE": "text={{msg.messageText}}"}, "is not JSON: write `body`"),
        ({"SIMPLEREST_RESPONSE_JSONPATH": ["$.a", "$.b"]}, "the first is taken, not $.b"),
        ({"SIMPLEREST_RESPONSE_JSONPATH": "a.b"}, "write where the answers have messages"),
        ({"SIMPLEREST_RESPONSE_HOOK": "hook.js"}, "SIMPLEREST_RESPONSE_HOOK is code"),
        ({"SIMPLEREST_METHOD": "DELETE"}, "the method DELETE is not sent"),
        ({"SIMPLEREST_HEADERS_TEMPLATE": {"Origin": "https://site.example"}}, "`request.headers.Origin` is left out"),
        ({"SIMPLEREST_HEADERS_TEMPLATE": {"Cookie": "sid=abc"}}, "`request.headers.Cookie` is left out"),
        (
            {"SIMPLEREST_BODY_TEMPLATE": {"s": SESSION, "t": TEXT, "more": ["https://site.example"]}},
            "`request.body.more.0` is left out: a host cannot be named here",
        ),
        (
            {"SIMPLEREST_BODY_TEMPLATE": {"s": SESSION, "t": TEXT, "password": 12345}},
            "the value of password is given with --bot-token",
        ),
        (
            {"SIMPLEREST_URL": "https://bot.example/chat?api_key=s3cret", "SIMPLEREST_METHOD": "POST"},
            "the value of api_key is given with --bot-token",
        ),
        (
            {"SIMPLEREST_URL": f"https://bot.example/api/chat?code={'fX9Qq8-_' * 6}==", "SIMPLEREST_METHOD": "POST"},
            "the value of code is given with --bot-token",
        ),
        ({"SIMPLEREST_INIT_TEXT": "hi", "SIMPLEREST_STOP_URL": "https://x"}, "INIT_TEXT, SIMPLEREST_STOP_URL"),
        ({"SIMPLEREST_START_URL": "https://other.example/s"}, "SIMPLEREST_START_URL is at another host"),
        ({"SIMPLEREST_RESPONSE_JSONPATH": None}, "there is no SIMPLEREST_RESPONSE_JSONPATH"),
        (
            {"SIMPLEREST_BODY_TEMPLATE": {"s": SESSION, "t": TEXT, "c": "{{context.x}}"}},
            "{{context.x}} has no counterpart",
        ),
        (
            {
                "SIMPLEREST_BODY_TEMPLATE": {
                    "s": "{{botium.conversationId}}",
                    "t": "{{msg.messageText}}",
                    "apiKey": "s3cret",
                }
            },
            "the value of apiKey is given with --bot-token",
        ),
    ],
)
def test_what_is_made_can_be_read_and_says_what_is_left_to_do(
    capabilities: dict[str, Any], noted: str, tmp_path: Path
) -> None:
    bot, _, notes = made(tmp_path, **capabilities)
    assert bot.kind == "rest"
    assert noted in " ".join(notes)
    text = (tmp_path / "turncheck.yml").read_text()
    assert "s3cret" not in text
    assert "abc" not in text


def test_a_call_that_begins_conversations_and_one_that_fetches_messages(tmp_path: Path) -> None:
    bot, _, notes = made(
        tmp_path,
        SIMPLEREST_START_URL="https://bot.example:8443/sessions",
        SIMPLEREST_START_VERB="POST",
        SIMPLEREST_START_BODY={"locale": "en"},
        SIMPLEREST_START_UPDATE_CONTEXT=True,
        SIMPLEREST_CONTEXT_JSONPATH="$.session",
        SIMPLEREST_URL="https://bot.example:8443/sessions/{{context.id}}/messages",
        SIMPLEREST_BODY_TEMPLATE={"text": TEXT},
        SIMPLEREST_POLL_URL="https://bot.example:8443/sessions/{{context.id}}/replies?all=1",
    )
    assert bot.session.opened is not None
    assert (bot.session.opened.method, bot.session.opened.path, bot.session.opened.body) == (
        "POST",
        "/sessions",
        {"locale": "en"},
    )
    assert bot.session.id is not None
    assert bot.session.id.text == "$.session.id"
    assert bot.request.path == "/sessions/{session}/messages"
    assert bot.poll is not None
    assert (bot.poll.request.method, bot.poll.request.path) == ("GET", "/sessions/{session}/replies?all=1")
    assert len(notes) == 1, "about the token"


@pytest.mark.parametrize(
    ("headers", "token", "kept"),
    [
        ({"Authorization": "Bearer abc", "X-Conv": SESSION, "X-Chan": "web"}, "Authorization", {"X-Chan": "web"}),
        ({"X-Conv": f"c-{SESSION}", "X-Text": TEXT}, "", {}),
        ({"X-Session-Token": SESSION, "X-Api-Key": "abc"}, "X-Api-Key", {}),
        ({"authorization": "Bearer {{context.jwt}}", "X-Api-Key": "abc"}, "authorization", {}),
        ({"X-Other": "{{context.jwt}}", "X-Api-Key": "abc"}, "X-Api-Key", {}),
        ({"X-Other": "{{context.jwt}}"}, "X-Other", {}),
    ],
)
def test_the_token_is_the_header_of_the_login_and_never_the_id(
    headers: dict[str, str], token: str, kept: dict[str, str], tmp_path: Path
) -> None:
    bot, _, notes = made(tmp_path, SIMPLEREST_HEADERS_TEMPLATE=headers)
    assert (bot.token.header, dict(bot.request.headers)) == (token or "Authorization", kept)
    left = set(headers) - {token} - set(kept)
    assert {
        name for name in headers if any(note.startswith(f"the header {name} is left out") for note in notes)
    } == left
    assert any("--bot-token" in note and f"header {token} " in note for note in notes) == bool(token)


@pytest.mark.parametrize("name", ["SIMPLEREST_URL", "SIMPLEREST_START_URL", "SIMPLEREST_POLL_URL"])
def test_a_login_in_an_address_is_named_and_not_copied(name: str, tmp_path: Path) -> None:
    bot, address, notes = made(tmp_path, **{name: "https://user:secretpw9@bot.example:8443/api"})
    assert f"the login in {name} is left out: give it in --bot-url (https://NAME:PASSWORD@…)." in notes
    assert "secretpw9" not in f"{bot}{address}{notes}"


@pytest.mark.parametrize("url", [None, "", 5, "bot.example", "{{env.URL}}/chat"])
def test_an_address_that_is_elsewhere_is_left_to_do(url: Any, tmp_path: Path, golden: Golden) -> None:
    """Botium may take it from the environment, or from a ``botium.local.json``."""
    started = {"SIMPLEREST_START_URL": "https://bot.example/new", "SIMPLEREST_START_VERB": "POST"}
    bot, address, notes = made(tmp_path, SIMPLEREST_URL=url, SIMPLEREST_HEADERS_TEMPLATE={}, **started)
    assert (address, bot.request.path) == ("", "/")
    assert bot.session.opened is not None
    assert bot.session.opened.path == "/new?session={session}"
    golden(*notes)
    (tmp_path / "turncheck.yml").unlink()
    done = turncheck("init", tmp_path)
    assert done.returncode == 0, done.stderr
    assert notes[0] in done.stdout


def test_bots_below_the_top_are_found(tmp_path: Path) -> None:
    for name in ("bots/a", "bots/b/c", "other"):
        (tmp_path / name).mkdir(parents=True)
    botium(tmp_path / "bots" / "a")
    (tmp_path / "bots" / "b" / "c" / "turncheck.yml").write_text("bot: {kind: rasa-rest}\n")
    assert look_at(tmp_path).projects == ("bots/a", "bots/b/c")
    (tmp_path / "other" / "data").mkdir()
    (tmp_path / "other" / "domain.yml").touch()
    assert look_at(tmp_path).projects == ("other",)


@pytest.mark.parametrize("below", ["api?key=S3CR3Tkey", "hooks/T0001/9f8e7d6c5b4a3928170699aa"])
def test_a_secret_in_an_address_is_the_token(below: str, tmp_path: Path, golden: Golden) -> None:
    bot, _, notes = made(tmp_path, SIMPLEREST_URL=f"https://bot.example/{below}", SIMPLEREST_HEADERS_TEMPLATE={})
    assert bot.request.path in {"/api?key={token}", "/hooks/T0001/{token}"}
    golden(*notes)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b'{\n // a comment\n "botium": {}}', "botium.json:2:2: is not JSON"),
        (b'{"botium": {"Capabilities": {}},}', "botium.json:1:33: is not JSON"),
        (b'{"a": "\xff"}', "botium.json: is not UTF-8"),
        (b"[" * 99_999, "botium.json: is not JSON: it is nested too deep"),
        (b" " * (2 << 20), "botium.json: cannot be read: "),
    ],
)
def test_a_file_that_cannot_be_read_is_named(content: bytes, expected: str, tmp_path: Path) -> None:
    (tmp_path / "botium.json").write_bytes(content)
    done = turncheck("init", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"turncheck: error: {tmp_path}/{expected}")


def test_several_paths_to_messages_have_numbers_there(tmp_path: Path, golden: Golden) -> None:
    paths = {"SIMPLEREST_RESPONSE_JSONPATH": None, "SIMPLEREST_RESPONSE_JSONPATH_0": "$.a"}
    bot, _, notes = made(tmp_path, **paths, SIMPLEREST_RESPONSE_JSONPATH_1="$.b")
    assert bot.replies.text == "$.a"
    golden(*notes)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=12)
    | st.sampled_from([SESSION, TEXT, "https://x", "{"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3),
    max_leaves=6,
)


@given(
    st.dictionaries(
        st.sampled_from(sorted({*CAPABILITIES, *_READ, "SIMPLEREST_RESPONSE_JSONPATH_0", "SIMPLEREST_PING_URL"})),
        values,
        max_size=5,
    )
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_made_can_be_read(tmp_path: Path, capabilities: dict[str, Any]) -> None:
    url = capabilities.get("SIMPLEREST_URL")
    botium(
        tmp_path,
        **{**capabilities, "SIMPLEREST_URL": f"https://h.example/{url}" if url else CAPABILITIES["SIMPLEREST_URL"]},
    )
    found = imported(tmp_path)
    if found is not None:
        (tmp_path / "turncheck.yml").write_text(found.text, encoding="utf-8", newline="")
        assert read_settings_file(tmp_path).values["bot"].kind == "rest"


def test_a_note_stays_a_comment(tmp_path: Path) -> None:
    botium(tmp_path, SIMPLEREST_HEADERS_TEMPLATE={"a\x1f\nengine: rasa #": SESSION})
    found = imported(tmp_path)
    assert found is not None
    (tmp_path / "turncheck.yml").write_text(found.text)
    assert read_settings_file(tmp_path).values["engine"] == "http"


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"botium": 1}', '{"botium": {"Capabilities": {"SIMPLEREST_URL": 3}}}', "[" * 9999]
)
def test_what_is_none_is_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "botium.json").write_text(content)
    assert imported(tmp_path) is None


def test_init_proposes_it(tmp_path: Path, golden: Golden) -> None:
    botium(tmp_path)
    done = turncheck("init", tmp_path, "--write", "--host", "github")
    assert done.returncode == 0, done.stderr
    golden(done.stdout, only="https://bot.example:8443")
    assert read_settings_file(tmp_path).values["bot"].request.path == "/api/chat"
    workflow = (tmp_path / ".github" / "workflows" / "turncheck.yml").read_text()
    assert "bot-url: ${{ vars.BOT_URL }}" in workflow
    again = turncheck("init", tmp_path, "--host", "github")
    assert again.returncode == 0, again.stderr
    assert "turncheck run --bot-url URL" in again.stdout


LEX = {
    "CONTAINERMODE": "lex",
    "LEX_VERSION": "V2",
    "LEX_REGION": "eu-west-1",
    "LEX_PROJECT_NAME": "BOT123",
    "LEX_PROJECT_ALIAS": "TSTALIASID",
    "LEX_SECRET_ACCESS_KEY": "s3cret",
}
CX = {"CONTAINERMODE": "dialogflowcx", "DIALOGFLOWCX_PROJECT_ID": "shop", "DIALOGFLOWCX_AGENT_ID": "a-1"}


@pytest.mark.parametrize(
    ("capabilities", "kind", "address"),
    [
        ({"CONTAINERMODE": "directline3"}, "directline", "https://directline.botframework.com"),
        (
            {
                "CONTAINERMODE": "botium-connector-directline3",
                "DIRECTLINE3_SECRET": "s3cret",
                "DIRECTLINE3_DOMAIN": "https://europe.directline.botframework.com/v3/directline",
            },
            "directline",
            "https://europe.directline.botframework.com",
        ),
        (
            LEX,
            "lex-v2",
            "https://runtime-v2-lex.eu-west-1.amazonaws.com/bots/BOT123/botAliases/TSTALIASID/botLocales/en_US",
        ),
        (CX, "dialogflow-cx", "https://dialogflow.googleapis.com/v3/projects/shop/locations/global/agents/a-1"),
        (
            {**CX, "DIALOGFLOWCX_LOCATION": "us-central1", "DIALOGFLOWCX_ENVIRONMENT": "live"},
            "dialogflow-cx",
            (
                "https://us-central1-dialogflow.googleapis.com"
                "/v3/projects/shop/locations/us-central1/agents/a-1/environments/live"
            ),
        ),
        ({**LEX, "LEX_VERSION": "V1"}, None, ""),
        ({**LEX, "LEX_REGION": "evil.example/"}, None, ""),
        ({**CX, "DIALOGFLOWCX_AGENT_ID": 1}, None, ""),
        ({"CONTAINERMODE": "watson"}, None, ""),
    ],
)
def test_connectors_for_known_apis_are_kinds(
    capabilities: dict[str, Any], kind: str | None, address: str, tmp_path: Path
) -> None:
    (tmp_path / "botium.json").write_text(json.dumps({"botium": {"Capabilities": capabilities}}))
    found = imported(tmp_path)
    assert (None if found is None or found.bot is None else found.bot.kind) == kind
    if found is not None:
        assert found.address == address
        assert "s3cret" not in found.text
        assert "--bot-token" in found.text


def test_a_language_of_dialogflow_is_kept(tmp_path: Path) -> None:
    content = {"botium": {"Capabilities": {**CX, "DIALOGFLOWCX_LANGUAGE_CODE": "de"}}}
    (tmp_path / "botium.json").write_text(json.dumps(content))
    found = imported(tmp_path)
    assert found is not None
    assert found.bot is not None
    assert found.bot.request.body == {"queryInput": {"text": {"text": "{text}"}, "languageCode": "de"}}
