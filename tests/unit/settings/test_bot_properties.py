"""Whatever is written under ``bot:``, and whatever a bot answers: it is read, or is an error in words."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from turncheck.engines.http.answers import AnswerError, read_answer
from turncheck.messages.errors import UserError
from turncheck.settings.bot import Bot
from turncheck.settings.bot_presets import PRESETS
from turncheck.settings.file import read_settings_file

WORDS = st.sampled_from(
    [
        *("kind", "request", "replies", "intent", "confidence", "slots", "tools", "ended", "session", "open", "echo"),
        *("id", "poll", "cursor", "quiet", "wait", "token", "header", "prefix", "path", "value", "method", "body"),
        *("headers", "text", "messages", "signature", "service", "queryResult", "interpretations", "activities"),
        *(*PRESETS, "cookie", "POST", "GET", "/chat", "/{session}", "{text}", "{session}", "{history}", "{oops}", "1s"),
        *("$", "$.text", "$[*].text", "$.messages[*].text", "$..*", "$[?@.a == 'b']", "$[?match(@.a, 'x')]", "aws"),
        *("//host", "https://host", "a: b", "\u202e", "{", ""),
    ]
)
SCALARS = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, width=32) | WORDS | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS, lambda below: st.lists(below, max_size=4) | st.dictionaries(WORDS, below, max_size=5), max_leaves=20
)


def shape(text: str) -> Bot | None:
    with TemporaryDirectory() as folder:
        (Path(folder) / "turncheck.yml").write_text(text, encoding="utf-8")
        bot: Bot | None = read_settings_file(Path(folder)).values.get("bot")
    return bot


def presets() -> dict[str, Bot | None]:
    rest = {"path": "/c", "body": {"s": "{session}", "t": "{text}"}}
    more = {"rest": {"request": rest, "replies": "$.messages[*].text", "intent": "$.text", "confidence": "$.value"}}
    return {kind: shape(yaml.safe_dump({"bot": {"kind": kind, **more.get(kind, {})}})) for kind in PRESETS}


BOTS = presets()


@given(VALUES)
def test_any_shape_is_read_or_refused(written: Any) -> None:
    refused: UserError | None = None
    bot = None
    try:
        bot = shape(yaml.safe_dump({"bot": written}, allow_unicode=True))
    except UserError as error:
        refused = error
    assert (bot is None) == (refused is not None)
    assert refused is None or str(refused.location).startswith("turncheck.yml:")
    assert bot is None or bot.request.path.startswith("/")
    assert bot is None or not bot.request.path.startswith("//")


@given(st.sampled_from(sorted(BOTS)), VALUES, st.booleans())
def test_any_answer_is_read_or_refused(kind: str, answer: Any, lenient: bool) -> None:
    bot = BOTS[kind]
    assert bot is not None
    with suppress(AnswerError):
        said = read_answer(bot, answer, lenient=lenient)
        assert all(said.replies)
        assert said.confidence is None or 0 <= said.confidence <= 1
        json.dumps(dict(said.slots or {}))
