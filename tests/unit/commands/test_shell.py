"""The shell's session, with an assistant that repeats what it is told."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from golden_texts import Golden

from turncheck.commands.shell import ShellOptions, Terminal, message_lines, read_fixtures, talk
from turncheck.engines.conversation import CustomAction, Turn
from turncheck.messages.errors import EXIT_NOT_DONE, EXIT_OK, EngineError, UserError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Parrot:
    """Repeats every message."""

    def __init__(self, **more: Any) -> None:
        self.more = more

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:
        return Turn(None, ({"text": "welcome"},), {}, None, ())

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        heard = {"intent": {"name": "say", "confidence": 0.5}, "entities": [{"entity": "city", "value": "Rome"}]}
        events = (
            {"event": "user", "parse_data": heard},
            {"event": "action", "name": "utter_x", "policy": "RulePolicy", "confidence": 1.0},
        )
        return Turn(text, ({"text": text},), {"mood": "calm"}, "a_form", events, **self.more)


def shown(lines: list[str], options: ShellOptions | None = None, *, interactive: bool = False, **more: Any) -> str:
    output = io.StringIO()
    assert talk(Parrot(**more), options or ShellOptions(), Terminal(lines, output, interactive)) == EXIT_OK
    return output.getvalue()


def test_each_line_of_a_pipe_gives_one_line_of_json_and_nothing_else() -> None:
    lines = [json.loads(line) for line in shown(["hello\n", "\n", ":quit"], ShellOptions("jsonl")).splitlines()]
    assert [line["user"] for line in lines] == ["hello", "", ":quit"]
    assert list(lines[0]) == ["user", "responses", "slots", "active_loop", "events"]
    assert lines[0]["responses"] == [{"text": "hello"}]


def test_a_pipe_shows_both_sides() -> None:
    assert shown(["hello\n"]) == "bot> welcome\nyou> hello\nbot> hello\n"


def test_what_a_custom_action_did_not_do_is_said() -> None:
    missing = (CustomAction("action_a", "no server", "nobody is there"), CustomAction("action_b", "ran"))
    text = shown(["hello"], custom_actions=missing, stopped="too long")
    assert "(action_a: no server; nobody is there)" in text
    assert "action_b" not in text
    assert "(stopped: too long)" in text


def test_with_json_what_a_custom_action_did_not_do_is_on_standard_error(
    capsys: pytest.CaptureFixture[str], golden: Golden
) -> None:
    failed = CustomAction("action_x", "unreachable", "no action server answers")
    written = shown(["hello\n"], ShellOptions("jsonl"), custom_actions=(failed,), stopped="more than\x1b 10")
    assert len(written.splitlines()) == 1
    golden(*capsys.readouterr().err.splitlines())


class Moody(Parrot):
    """Gives no usable answer to some messages."""

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:
        if text in {"html", "gone"}:
            raise (EngineError if text == "gone" else UserError)(f"nothing but {text}", hint="Look at its log.")
        return super().say(text, metadata)


@pytest.mark.parametrize(("form", "interactive"), [("text", False), ("jsonl", False), ("text", True)])
def test_a_turn_without_an_answer_is_said_and_the_talk_goes_on(
    form: Any, interactive: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    output = io.StringIO()
    code = talk(Moody(), ShellOptions(form), Terminal(["html\n", "hello\n"], output, interactive))
    assert code == (EXIT_OK if interactive else EXIT_NOT_DONE)
    written = output.getvalue()
    assert "error: nothing but html Look at its log." in (capsys.readouterr().err if form == "jsonl" else written)
    assert "hello" in written.splitlines()[-1]


def test_an_assistant_that_is_gone_ends_the_talk() -> None:
    with pytest.raises(EngineError, match="gone"):
        talk(Moody(), ShellOptions(), Terminal(["gone\n", "hello\n"], io.StringIO()))


def test_commands_answer_on_a_terminal() -> None:
    text = shown(["hello\n", ":why\n", ":slots\n", ":loop\n", ":help\n", ":quit\n", "never\n"], interactive=True)
    assert "bot> welcome" in text
    assert "understood: say (0.50)" in text
    assert 'entity city: "Rome"' in text
    assert "utter_x: RulePolicy (1.00)" in text
    assert 'mood: "calm"' in text
    assert "a_form" in text
    assert ":events" in text
    assert "never" not in text


def test_a_message_cannot_move_the_cursor() -> None:
    assert list(message_lines({"text": "a\x1b[2Jb"})) != ["a\x1b[2Jb"]
    assert "\x1b" not in shown(["\x1b[2J"])


def test_buttons_and_payloads_are_shown() -> None:
    message = {"text": "pick", "buttons": [{"title": "A", "payload": "/a"}], "custom": {"k": [1]}}
    assert list(message_lines(message)) == ["pick", "1: A (/a)", 'custom: {"k": [1]}']


def test_fixtures_are_json_or_text() -> None:
    written = ["a=1", "b=true", "c=some words", 'd={"k": null}', "e=", "f=x=y"]
    read = read_fixtures(written, "abcdef")
    assert read == {"a": 1, "b": True, "c": "some words", "d": {"k": None}, "e": "", "f": "x=y"}


@pytest.mark.parametrize(("written", "what"), [("a", "is not a fixture"), ("b=1", "no slot 'b'")])
def test_a_fixture_that_cannot_be_is_an_error(written: str, what: str) -> None:
    with pytest.raises(UserError, match=what):
        read_fixtures([written], ["a"])
