"""Stands in for the program ``rasa``; it is started many times, and imports what serves only if it serves.

``python rasa_program.py train … --out DIR --fixed-model-name NAME`` writes a "model": what it was called with.
``python rasa_program.py run … --port N --model FILE`` serves, as a :class:`fake_rasa.FakeRasa`. Faults are named by the
environment variable ``FAULT``; intents in the variable ``DEAD``, or in lines ``# dead: NAME`` of the project's domain,
are answered wrongly, and a project whose domain has ``# untrainable`` cannot be trained.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import sys
import time
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Behave like the program."""
    fault = os.environ.get("FAULT", "")
    given = dict(itertools.pairwise(arguments))
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(json.dumps({"arguments": arguments, "environment": dict(os.environ), "pid": os.getpid()}) + "\n")
    domain = Path("domain.yml").read_text() if Path("domain.yml").exists() else ""
    if arguments[0] == "train":
        return train(given, cannot=fault == "training" or "# untrainable" in domain)
    if fault == "start":
        sys.stdout.write("a port is taken\n")
        return 3
    serve(given, fault, domain)
    return 0


def train(given: dict[str, str], *, cannot: bool) -> int:
    """Write the "model"."""
    sys.stdout.write("Training ...\n")
    if cannot:
        sys.stdout.write("InvalidRule: the rules contradict each other\n")
        return 1
    sentences = Path(given["--nlu"], "nlu.yml").read_text() if "--nlu" in given else ""
    Path(given["--out"], f"{given['--fixed-model-name']}.tar.gz").write_text(sentences)
    return 0


def serve(given: dict[str, str], fault: str, domain: str) -> None:
    """Serve until somebody ends the process."""
    from fake_rasa import FakeRasa, serving

    endpoints = Path(given["--endpoints"]).read_text()
    sys.stderr.write(endpoints)
    endpoint = re.search(r"action_endpoint:\s+url: *(\S+)", endpoints)
    dead = frozenset((*re.findall(r"# dead: (.*)", domain), *os.environ.get("DEAD", "").split()))
    fake = FakeRasa(model=given["--model"], action_endpoint=endpoint[1] if endpoint else "", dead=dead)
    if fault == "late":
        fake.fault = lambda path, _body: "die" if path.startswith("/webhooks") else None
    told = map(json.loads, Path(os.environ["CALLS"]).read_text().splitlines())
    served = [call["pid"] for call in told if call["arguments"][0] == "run"]
    if fault == "one" and served[0] == os.getpid():
        fake.fault = lambda path, _body: "die" if path.startswith(("/webhooks", "/model/parse")) else None
    with serving(fake, int(given["--port"])):
        time.sleep(600)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
