"""A stand-in for a Rasa that needs 50 milliseconds per answer, however many are requested at the same time.

python benchmarks/slow_rasa.py PORT
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SECONDS = 0.05


class Rasa(BaseHTTPRequestHandler):
    """The parts of Rasa's API that testing sentences uses."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._send(
            {"version": "3.6.21", "minimum_compatible_version": "3.6.21"}
            if self.path.startswith("/version")
            else {"model_file": "slow.tar.gz", "model_id": "slow", "num_active_training_jobs": 0}
        )

    def do_POST(self) -> None:
        text = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["text"]
        time.sleep(SECONDS)
        intent = {"name": text.split()[0], "confidence": 1.0}
        self._send({"text": text, "intent": intent, "entities": [], "intent_ranking": [intent]})

    def _send(self, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Do not log."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Rasa).serve_forever()
