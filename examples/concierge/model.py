"""Stands in for a language model: an OpenAI-compatible API whose answers vary by a seed, and are now and then wrong.

    python model.py PORT [SEED] [FAILS]

The k-th time that it is asked the same, the answer depends on the seed and on k alone. So a test that begins like no
other has the same answers whatever else runs at the same time. ``FAILS`` is the share of wrong answers, from 0 to 1.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import ClassVar

SURE = ("Certainly.", "Of course.", "With pleasure.", "Sure!")
RULES = (
    (r"\b(breakfast)\b", "breakfast", "Breakfast is served from 7:00 to 10:30."),
    (r"\b(wi-?fi|internet|password)\b", "wifi", "The Wi-Fi is 'Grand', and the password is on your key card."),
    (r"\b(check ?out|leave)\b", "checkout", "Check-out is until 11:00."),
    (r"\b(hello|hi|good (morning|evening))\b", "greet", "Welcome to the Grand. How can I help?"),
    (r"\b(thanks?|thank you|bye)\b", "thank", "You are welcome."),
)
BOOKING = re.compile(r"\btable\b.*?\bfor (\d+)\b.*?\bat (\d{1,2}(?::\d{2})?)\b", re.IGNORECASE | re.DOTALL)
WRONG = ("I am afraid I cannot help with that.", "Could you say that again?", "Our pool is on the roof.")


def completion(messages: list[dict[str, str]], chance: random.Random, fails: float) -> dict[str, object]:
    """Return the message that the model answers with."""
    last = messages[-1]
    if last["role"] == "tool":
        done = json.loads(last["content"])
        say = f"A table for {done['people']} at {done['time']} is booked."
        return said("book_table", f"{chance.choice(SURE)} {say}")
    text = last["content"]
    if chance.random() < fails:
        return said("other", chance.choice(WRONG))
    if found := BOOKING.search(text):
        arguments = json.dumps({"people": int(found[1]), "time": found[2] if ":" in found[2] else f"{found[2]}:00"})
        call = {"id": "call_1", "type": "function", "function": {"name": "book_table", "arguments": arguments}}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if re.search(r"\btable\b", text, re.IGNORECASE):
        return said("book_table", f"{chance.choice(SURE)} For how many, and at what time?")
    for pattern, intent, answer in RULES:
        if re.search(pattern, text, re.IGNORECASE):
            return said(intent, answer if intent in {"greet", "thank"} else f"{chance.choice(SURE)} {answer}")
    return said("other", WRONG[0])


def said(intent: str, say: str) -> dict[str, object]:
    """Return a message in the form that the bot asks for."""
    return {"role": "assistant", "content": json.dumps({"intent": intent, "say": say})}


class Model(BaseHTTPRequestHandler):
    """The API."""

    protocol_version = "HTTP/1.1"
    seed, fails = "1", 0.0
    asked: ClassVar[Counter[str]] = Counter()
    lock = Lock()

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        question = json.dumps(messages)
        with self.lock:
            self.asked[question] += 1
            chance = random.Random(f"{self.seed} {self.asked[question]} {question}")
        choice = {"index": 0, "message": completion(messages, chance, self.fails), "finish_reason": "stop"}
        body = json.dumps({"object": "chat.completion", "model": "stub", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    port, *more = sys.argv[1:]
    Model.seed, Model.fails = (more or ["1"])[0], float(more[1] if len(more) > 1 else 0)
    with suppress(KeyboardInterrupt):
        ThreadingHTTPServer(("127.0.0.1", int(port)), Model).serve_forever()
