"""A hotel's concierge: a bot over HTTP that asks a language model what to say, and books tables.

    MODEL_URL=http://127.0.0.1:8001 [HOST=0.0.0.0] python bot.py PORT

``MODEL_URL`` is that of an OpenAI-compatible API, such as ``https://api.openai.com/v1`` (with ``MODEL_KEY`` and
``MODEL``); without a path ``/v1`` is meant.

``POST /chat`` with ``{"session": …, "message": …}``. The answer has the bot's messages, the intent that the model saw,
what is known of the booking, and the tools that ran.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

PROMPT = 'You are the concierge of the hotel Grand. Answer in JSON: {"intent": …, "say": …}.'
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "book_table",
            "parameters": {
                "type": "object",
                "properties": {"people": {"type": "integer"}, "time": {"type": "string"}},
                "required": ["people", "time"],
            },
        },
    }
]
sessions: dict[str, list[dict[str, object]]] = {}


def ask(messages: list[dict[str, object]]) -> dict[str, object]:
    """Ask the model for the next message."""
    url = urlsplit(os.environ["MODEL_URL"])
    connect = {"http": HTTPConnection, "https": HTTPSConnection}[url.scheme]
    connection = connect(url.hostname or "", url.port, timeout=30)
    body = {"model": os.environ.get("MODEL", "stub"), "messages": messages, "tools": TOOLS}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ.get('MODEL_KEY', '')}"}
    path = url.path.rstrip("/") or "/v1"
    connection.request("POST", f"{path}/chat/completions", json.dumps(body), headers)
    message: dict[str, object] = json.load(connection.getresponse())["choices"][0]["message"]
    connection.close()
    return message


def reply(session: str, text: str) -> dict[str, object]:
    """Answer one message of a conversation."""
    history = sessions.setdefault(session, [{"role": "system", "content": PROMPT}])
    history.append({"role": "user", "content": text})
    message = ask(history)
    tools, slots = [], {}
    while calls := message.get("tool_calls"):
        history.append(message)
        for call in calls:
            slots = json.loads(call["function"]["arguments"])
            tools.append(call["function"]["name"])
            history.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(slots)})
        message = ask(history)
    history.append(message)
    said = json.loads(message["content"])
    return {
        "session": session,
        "messages": [{"text": said["say"]}],
        "nlu": {"intent": said["intent"]},
        "slots": slots,
        "tools": tools,
    }


class Bot(BaseHTTPRequestHandler):
    """The bot's API."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body = json.dumps(reply(call["session"], call["message"])).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        ThreadingHTTPServer((os.environ.get("HOST", "127.0.0.1"), int(sys.argv[1])), Bot).serve_forever()
