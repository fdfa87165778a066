"""Secrets are planted in every setting and variable that takes one; things are broken; nothing shows them anywhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from golden_texts import Golden
from small_project import write_project

from turncheck.ci.github.client import GitHubClient
from turncheck.ci.rest import RestError, RetryBudget
from turncheck.cli import run_command_line
from turncheck.messages.errors import UserError
from turncheck.process.environment import Secret, read_secret, redact, redact_all, secret_of
from turncheck.settings.declared import options
from turncheck.settings.sources import from_flags, from_inputs

PRIVATE = [name for name, option in options().items() if option.is_private and option.action_input]
"""Every setting whose text is never shown: a new one is covered as soon as it is there."""
VARIABLES = (
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
)
UNSENDABLE = ("\n", "\r", "\r\nX-Evil: 1", "\0", "\x1b[31m", "\x7f", "ü", "€", "\u2028", "\ud800")
SEEDS = {name: f"pl4nted.{name}.s3cret" for name in (*PRIVATE, *VARIABLES)}
_CLAIMS = b64encode(b'{"scp": "Actions.Results:1:2"}').decode()
SEEDS["ACTIONS_RUNTIME_TOKEN"] = f"pl4nted.{_CLAIMS}.s3cret"


def setting_of(name: str, secret: str) -> str:
    """A text for the setting: what it takes, with the secret in it."""
    return f"HANDED_OVER={secret}" if name == "env" else secret


def forms(secret: str) -> set[str]:
    return {secret, repr(secret), ascii(secret), repr(secret.encode()), json.dumps(secret), quote(secret, safe="")}


@pytest.fixture
def bot(tmp_path: Path) -> Path:
    write_project(tmp_path / "bot")
    return tmp_path / "bot"


@pytest.fixture
def workflow(bot: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A job of a workflow with a secret everywhere one may be; nothing listens where it would publish."""
    event = {
        "pull_request": {"number": 3, "head": {"sha": "b" * 40, "ref": "x"}, "base": {"sha": "c" * 40, "ref": "main"}}
    }
    (tmp_path / "event.json").write_text(json.dumps(event))
    for name, secret in SEEDS.items():
        variable = f"INPUT_{name.upper()}" if name in PRIVATE else name
        monkeypatch.setenv(variable, setting_of(name, secret))
    given = {
        "INPUT_PROJECT": str(bot),
        "INPUT_OUT": str(tmp_path / "results"),
        "INPUT_EVALUATIONS": "validate",
        "GITHUB_REPOSITORY": "acme/bots",
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_API_URL": "http://127.0.0.1:9",
        "GITHUB_RUN_ID": "5",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "ACTIONS_RESULTS_URL": "http://127.0.0.1:9/",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("turncheck.ci.rest._ATTEMPTS", 1)
    monkeypatch.setattr("turncheck.ci.github.results_host._ATTEMPTS", 1)
    before = dict(os.environ)
    yield tmp_path
    os.environ.clear()  # the action takes the secrets out of its environment
    os.environ.update(before)


def shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """All that was printed and written."""
    printed = capsys.readouterr()
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join((printed.out, printed.err, *(path.read_text("utf-8", "replace") for path in files)))


def assert_hidden(text: str) -> None:
    assert [secret for secret in SEEDS.values() if any(form.strip("'\"b") in text for form in forms(secret))] == []


EARLY = (
    "turncheck.action.read_context",
    "turncheck.action.prepare",
    "turncheck.action.run_and_conclude",
    "turncheck.run.evaluated_project.read_tests",
    "turncheck.run.prepare.read_settings_file",
)
LAYERS = (
    *EARLY,
    "turncheck.action.write_results",
    "turncheck.ci.github.host.GitHubClient",
    "turncheck.ci.github.host.find_service",
    "turncheck.publishing.publish.Publishing",
    "turncheck.run.run.evaluate_project",
    "turncheck.conclude.compare",
    "turncheck.render.outputs.render_documents",
    "turncheck.web.exchange._sent",
    "turncheck.ci.github.results_host.ResultsHost._send",
)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("kind", [RuntimeError, ValueError, OSError, UserError])
def test_whatever_breaks_shows_no_secret(
    workflow: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    layer: str,
    kind: type[Exception],
) -> None:
    for name in PRIVATE:
        if name.startswith(("rasa-", "kore-", "bot-")) and layer not in EARLY:
            monkeypatch.delenv(f"INPUT_{name.upper()}")  # the engine that runs here takes none of them
    given = [secret for name, secret in SEEDS.items() if f"INPUT_{name.upper()}" in os.environ or name in os.environ]
    quoted = " ".join(form for secret in given for form in sorted(forms(secret)))
    broken = []

    def fail(*_: Any, **__: Any) -> None:
        broken.append(layer)
        raise kind(f"could not be done: {quoted}") from ValueError(f"Invalid header value: {quoted}")

    monkeypatch.setattr(layer, fail)
    assert run_command_line(["action"]) in {0, 1, 2}
    assert broken
    everything = shown(workflow, capsys)
    assert_hidden(everything)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_API_URL", "http://127.0.0.1:99999"),
        ("GITHUB_API_URL", "https://login:pl4nted.token.s3cret@[::1"),
        ("GITHUB_SERVER_URL", "nowhere"),
        ("ACTIONS_RESULTS_URL", "https://[::1"),
        ("HTTP_PROXY", "http://me:pl4nted.token.s3cret@127.0.0.1:9"),
        ("HTTP_PROXY", "http://["),
        ("http_proxy", "http://me:pl4nted.token.s3cret@127.0.0.1:99999"),
        ("REQUESTS_CA_BUNDLE", "/nowhere/pl4nted.token.s3cret"),
        ("GITHUB_RUN_ATTEMPT", "pl4nted.GITHUB_TOKEN.s3cret"),
        ("INPUT_BASELINE", "https://me:pl4nted.token.s3cret@127.0.0.1:9/report.json?token=pl4nted.token.s3cret"),
        ("INPUT_BASELINE", "ftp://me:pl4nted.token.s3cret@127.0.0.1:9/report.json"),
        ("INPUT_ENGINE", "rasa"),
        ("INPUT_RASA-URL", "http://me:pl4nted.rasa-token.s3cret@127.0.0.1:9"),
        ("INPUT_RASA-URL", "http://me:pl4nted.rasa-token.s3cret@[:9"),
        ("INPUT_ACTION-ENDPOINT", "http://me:pl4nted.rasa-token.s3cret@[:9"),
    ],
)
def test_a_bad_address_or_proxy_shows_no_secret(
    workflow: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    if "RASA" in name or name == "INPUT_ENGINE":
        monkeypatch.setenv("INPUT_ENGINE", "rasa")
        monkeypatch.setenv("INPUT_EVALUATIONS", "nlu")
        monkeypatch.delenv("INPUT_RASA-JWT")
    else:
        monkeypatch.delenv("INPUT_RASA-JWT")
        monkeypatch.delenv("INPUT_RASA-TOKEN")
    assert run_command_line(["action"]) in {0, 1, 2}
    everything = shown(workflow, capsys)
    assert_hidden(everything)
    assert "Traceback" not in everything


@pytest.mark.parametrize("name", [name for name in PRIVATE if name != "env"])
@pytest.mark.parametrize("inside", UNSENDABLE)
def test_a_secret_that_cannot_be_sent_is_refused_at_once_and_not_shown(name: str, inside: str, golden: Golden) -> None:
    text = f"s3cr{inside}et"
    for given in ({f"INPUT_{name.upper()}": text}, {name: text}):
        with pytest.raises(UserError) as caught:
            (from_inputs if f"INPUT_{name.upper()}" in given else from_flags)(given)
        golden(caught.value)
        assert "s3cr" not in str(caught.value)
        assert name in str(caught.value)


@pytest.mark.parametrize("variable", ["GITHUB_TOKEN", "GH_TOKEN"])
def test_variables_are_held_to_the_same(variable: str, golden: Golden) -> None:
    with pytest.raises(UserError, match=f"{variable}") as caught:
        secret_of({variable: "s3cr\net"}, variable)
    golden(caught.value)
    assert "s3cr" not in str(caught.value)


def test_what_pasting_leaves_around_a_secret_is_taken_off(golden: Golden) -> None:
    assert from_inputs({"INPUT_TOKEN": " ghs_abc\r\n"})["token"] == Secret("ghs_abc")
    assert from_inputs({"INPUT_TOKEN": " \n"}) == {}
    with pytest.raises(UserError, match="--token") as refused:
        from_flags({"token": "\n"})
    golden(refused.value)


@pytest.mark.slow
def test_the_fault_of_another_process_shows_no_token(bot: Path, tmp_path: Path) -> None:
    """The whole command, as it was found: a token with a line end inside."""
    variables = {
        **os.environ,
        "GITHUB_REPOSITORY": "acme/bots",
        "INPUT_PROJECT": str(bot),
        "INPUT_TOKEN": "ghs_first\nsecond",
        "INPUT_OUT": str(tmp_path / "out"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "turncheck", "action"], env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "input 'token'" in done.stdout
    for part in ("first", "second", "Traceback", "Bearer"):
        assert part not in done.stdout + done.stderr


def test_a_client_with_a_secret_that_was_not_checked_still_shows_nothing() -> None:
    for text in ("ghs_first\nsecond", "ghs_fürst€"):
        client = GitHubClient("http://127.0.0.1:9", Secret(text), RetryBudget(sleep=lambda _: None))
        with pytest.raises(RestError) as caught:
            client.get("/user", dict)
        assert "ghs_" not in str(caught.value)
        assert "Bearer" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "requests: Bearer abcdefgh12345678",
        "{'Authorization': 'Basic bWU6c2VjcmV0c2VjcmV0'}",
        "authorization: token abcdefgh",
        "https://me:abcdefgh@example.org/x",
        "https://example.org/x?a=1&token=abcdefgh&b=2",
        "https://blob.example.org/x?sv=1&sig=abcdefgh%3D",
        "ghs_abcdefgh12345678",
        "github_pat_abcdefgh",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIabcdefgh.abcdefgh",
    ],
)
def test_what_looks_like_a_secret_is_hidden_in_a_fault(text: str) -> None:
    assert "abcdefgh" not in redact_all(f"before {text}")
    assert redact_all(f"before {text}").startswith("before ")
    assert "bWU6c2VjcmV0c2VjcmV0" not in redact_all(text)


def test_lines_of_code_in_a_traceback_stay_readable() -> None:
    line = 'request.headers["Authorization"] = f"Bearer {self._token.reveal()}"'
    assert redact_all(line) == line


def test_every_form_of_a_secret_is_hidden() -> None:
    secret = "pa$$/w rd\"'+1"
    read_secret(secret)
    for form in (*forms(secret), b64encode(secret.encode()).decode()):
        assert redact(f"<{form}>").strip("<>'\"b") == "***"


@pytest.mark.parametrize("login", ["bot:s3cr3t", "bot:s3cr3t/5", "s3cr3t-token"])
@pytest.mark.parametrize(
    "words",
    [
        ("test", "nlu", "--model", "{}"),
        ("test", "nlu", "--model={}"),
        ("train", "--config", "{}"),
        ("report", "render", "{}"),
        ("data", "validate", "--domain", "{}"),
        ("parse", "hello", "--modell", "{}"),
    ],
    ids=lambda words: words[-1] if len(words) == 3 else words[-2],
)
def test_an_address_in_the_place_of_a_file_shows_no_login(
    words: tuple[str, ...],
    login: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_project(tmp_path)
    monkeypatch.chdir(tmp_path)

    run_command_line([word.format(f"https://{login}@127.0.0.1:1/m.tar.gz") for word in words])
    assert "s3cr3t" not in "".join(capfd.readouterr())
