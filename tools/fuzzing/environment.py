"""Environment variables as no runner sets them, and events as GitHub never sends them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tools.fuzzing.mutations import change_value, odd_text
from tools.fuzzing.settings import values
from tools.fuzzing.trial import Trial, as_json, without_network
from tools.fuzzing.workflow_run import EVENTS, run, variables

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

_MORE = (
    *("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "NO_PROXY", "HTTP_PROXY", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("SSL_CERT_FILE", "COLUMNS", "NO_COLOR", "HOME", "LANG", "BUCKET_NAME", "AWS_ENDPOINT_URL", "PYTHONIOENCODING"),
)
_OURS = ("INPUT_PROJECT", "INPUT_OUT", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")
"""Variables that decide where a trial writes are left unchanged."""


def _held(text: str) -> str:
    """The part of a string that an environment variable can hold: bytes without NUL, as Python reads them."""
    return os.fsdecode(text.replace("\0", "").encode("utf-8", "surrogatepass"))


def mutated(chance: random.Random, place: Path) -> dict[str, str]:
    """The variables of a job, some of them replaced or left out."""
    event = chance.choice(list(EVENTS))
    payload = EVENTS[event]
    for _ in range(chance.choice((0, 0, 1, 3))):
        payload = change_value(payload, chance)
    given = variables(place, event, payload)
    for name in chance.sample([*given, *_MORE], chance.randint(1, 5)):
        if name in _OURS:
            continue
        usual = given.get(name, "")
        way = chance.random()
        if way < 0.2:
            given.pop(name, None)
        elif way < 0.7:
            given[name] = _held(odd_text(chance))
        else:
            at = chance.randint(0, len(usual))
            given[name] = usual[:at] + _held(odd_text(chance)) + usual[at:]
    if chance.random() < 0.3:
        more = {f"INPUT_{name.upper()}": _held(text) for name, text in values(chance).items()}
        given |= {name: text for name, text in more.items() if name not in _OURS}
    return given


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield runs of the action in such an environment; every connection is refused."""
    while True:
        given = mutated(chance, place)

        def check(given: dict[str, str] = given) -> str:
            with without_network():
                return run(place, given)

        yield Trial(check, as_json(variables=given))
