"""Stands in for the program ``rasa`` of Rasa Pro, and serves as a :class:`fake_rasa_pro.FakeRasaPro`.

``train`` writes a "model": the flows of the files that it was given, none for ``train nlu``. ``run`` serves that model,
which starts no other flow; what is answered is in the file that the environment variable ``WAYS`` names. Custom
actions are run by a server (``url``) or by the program itself (``actions_module``): with both it does not start,
since only one of them can count. How it was called is added to the file that ``CALLS`` names.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import yaml
from fake_rasa import serving
from fake_rasa_pro import FakeRasaPro


def main(arguments: list[str]) -> int:
    """Behave like the program."""
    given = dict(itertools.pairwise(arguments))
    endpoints = yaml.safe_load(Path(given["--endpoints"]).read_text()) if "--endpoints" in given else {}
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(json.dumps({"arguments": arguments, "endpoints": endpoints}) + "\n")
    if arguments[0] == "train":
        flows = [] if arguments[1] == "nlu" else flows_below(Path(given["--data"]))
        Path(given["--out"], f"{given['--fixed-model-name']}.tar.gz").write_text(json.dumps(flows))
        return 0
    actions = endpoints.get("action_endpoint") or {}
    if {"url", "actions_module"} <= actions.keys():
        sys.stderr.write("both an address and a module for custom actions\n")
        return 2
    serve(given, actions.get("url", ""))
    return 0


def flows_below(data: Path) -> list[str]:
    """Return the names of all flows in the files of a folder."""
    documents: list[Any] = [yaml.safe_load(path.read_text()) for path in sorted(data.rglob("*.yml"))]
    return [flow for document in documents for flow in document.get("flows") or ()]


def serve(given: dict[str, str], url: str) -> None:
    """Serve until somebody ends the process."""
    ways = json.loads(Path(os.environ["WAYS"]).read_text())
    flows = frozenset(json.loads(Path(given["--model"]).read_text()))
    fake = FakeRasaPro(model=given["--model"], ways=ways, flows=flows, action_endpoint=url)
    with serving(fake, int(given["--port"])):
        time.sleep(600)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
