"""The messages of an answer of a bot over HTTP: which buttons, media and cards belong to which text."""

from __future__ import annotations

from typing import Any

import pytest

from turncheck.engines.http.answers import messages_of
from turncheck.web.json_path import JsonPath

Shown = list[tuple[str | None, dict[str, tuple[Any, ...]]]]


@pytest.mark.parametrize(
    ("replies", "paths", "answer", "messages"),
    [
        (
            "$.messages[*].text",
            {"buttons": "$.messages[*].buttons[*]", "media": "$.messages[*].image"},
            {"messages": [{"text": "a", "buttons": ["x", "y"]}, {"image": "u"}, {"text": "c"}]},
            [("a", {"buttons": ("x", "y")}), (None, {"media": ("u",)}), ("c", {})],
        ),
        (
            "$.messages[*].text",
            {"buttons": "$.choices[*]"},
            {"messages": [{"text": "a"}, {"text": "b"}], "choices": ["x"]},
            [("a", {"buttons": ("x",)}), ("b", {"buttons": ("x",)})],
        ),
        ("$.reply", {"buttons": "$.choices[*]"}, {"reply": "a", "choices": ["x"]}, [("a", {"buttons": ("x",)})]),
        ("$.reply", {"media": "$.image"}, {"reply": "", "image": "u"}, [(None, {"media": ("u",)})]),
        ("$..text", {"cards": "$.cards[*]"}, {"a": {"text": "a"}, "cards": ["x"]}, [("a", {"cards": ("x",)})]),
        (
            "$.parts[0].lines[*].text",
            {"cards": "$.parts[*].lines[*].card"},
            {"parts": [{"lines": [{"text": "a", "card": "x"}, {"card": "y"}]}, {"lines": [{"card": "z"}]}]},
            [("a", {"cards": ("x", "z")}), (None, {"cards": ("y", "z")})],
        ),
        (
            "$.data[?@.type == 'text'].val",
            {"media": "$.data[?@.type == 'image'].val"},
            {"data": [{"type": "image", "val": "u"}, {"type": "text", "val": "a"}]},
            [(None, {"media": ("u",)}), ("a", {})],
        ),
        ("$.messages[*].text", {"buttons": "$.choices[*]"}, {"messages": [], "choices": []}, []),
        (
            "$.messages[::-1].text",
            {"media": "$.messages[*].image"},
            {"messages": [{"text": "a"}, {"image": "u"}, {"text": "c", "image": "v"}]},
            [("c", {"media": ("v",)}), ("a", {}), (None, {"media": ("u",)})],
        ),
        ("$.messages[2,0].text", {}, {"messages": [{"text": "a"}, {}, {"text": "c"}]}, [("c", {}), ("a", {})]),
        ("$.lines[::-1][*]", {}, {"lines": [["a"], ["b", "c"]]}, [("b", {}), ("c", {}), ("a", {})]),
    ],
)
def test_what_is_shown_belongs_to_the_text_beside_it(
    replies: str, paths: dict[str, str], answer: Any, messages: Shown
) -> None:
    path = JsonPath(replies)
    texts = [(place, text) for place, text in path.found(answer) if text]
    shown = {kind: JsonPath(one).found(answer) for kind, one in paths.items()}

    found = messages_of(path, texts, shown, answer)
    assert [(message.text, message.data) for message in found] == messages
    assert all(message.answer is answer for message in found)
