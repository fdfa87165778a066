"""Settings as anybody may write them: ``turncheck.yml``, the action's inputs, flags of the command line."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from typing import TYPE_CHECKING, Any

from tools.fuzzing.mutations import mutate, odd_text
from tools.fuzzing.trial import PLANTED, PRIVATE, Trial, as_json

from turncheck.cli import build_parser
from turncheck.gates.rules import read_rules
from turncheck.messages.errors import UserError, user_error_from_os
from turncheck.process.environment import redact
from turncheck.run.prepare import prepare
from turncheck.settings.declared import options
from turncheck.settings.gates import gate_settings
from turncheck.settings.sources import from_flags, from_inputs

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping
    from pathlib import Path

USUAL = {
    "folds": "5",
    "seed": "42",
    "workers": "2",
    "fail-on": "errors, new-failures",
    "thresholds": "nlu.intents.f1 >= 0.85\ncore.conversation_accuracy >= 90 %",
    "max-regression": "nlu.intents.f1: 0.01",
    "require": "nlu,core",
    "evaluations": "validate\nnlu",
    "comment": "on-change",
    "retention-days": "30",
    "artifact-name": "turncheck",
    "baseline": "none",
    "strict": "true",
    "engine": "embedded",
    "allow-hosts": "example.org",
    "data": "data\nmore",
    "ignore": "regex-slow",
    "run-id": "12",
}
FILE = b"""# what the team has agreed on
folds: 5
seed: 7
fail-on: [errors, test-failures]
thresholds:
- nlu.intents.f1 >= 0.85
- nlu.intents[greet].recall >= 50 %
max-regression:
  nlu.intents.f1: 0.01
  core.conversation_accuracy: 0
require: nlu
evaluations:
- validate
- nlu
ignore: [regex-slow, intent-few-examples]
data: [data]
nlu: tests/nlu.yml
comment: on-failure
strict: false
workers: 2
baseline: auto
artifact-name: turncheck
annotations: true
"""
_NAMES = list(options())


def values(chance: random.Random) -> dict[str, str]:
    """Some settings, common ones and odd ones; every secret is set."""
    given = {name: f"{'X=' if name == 'env' else ''}{PLANTED}.{name}" for name in PRIVATE if chance.random() < 0.8}
    for name in chance.sample(_NAMES, chance.randint(1, 6)):
        usual = given.get(name) or USUAL.get(name, "x")
        way = chance.random()
        if way < 0.3:
            given[name] = odd_text(chance)
        elif way < 0.6:
            place = chance.randint(0, len(usual))
            given[name] = usual[:place] + odd_text(chance) + usual[place:]
        else:
            given[name] = usual
    return given


def read(folder: Path, source: str, given: Mapping[str, str]) -> str:
    """Read settings as a command does, and return what is shown."""
    output = io.StringIO()
    try:
        if source == "inputs":
            parsed: dict[str, Any] = from_inputs({f"INPUT_{name.upper()}": text for name, text in given.items()})
        elif source == "flags":
            parsed = from_flags(given)
        else:
            parsed = from_flags(_from_command_line(given, output))
        prepared = prepare({**parsed, "project": str(folder)}, {}, in_action=source == "inputs")
        read_rules(gate_settings(prepared.settings), prepared.inputs.rules)
        output.write(repr(prepared.settings))
    except UserError as error:
        output.write(redact(str(error)))
    except OSError as error:
        if (trouble := user_error_from_os(error)) is None:
            raise
        output.write(redact(str(trouble)))
    return output.getvalue()


def _from_command_line(given: Mapping[str, str], output: io.StringIO) -> dict[str, Any]:
    words = [word for name, text in given.items() for word in (f"--{name}", text)]
    try:
        with redirect_stderr(output), redirect_stdout(output):
            namespace = build_parser("run").parse_args(["run", *words])
    except SystemExit as done:
        raise UserError(f"ended with {done.code}") from None
    return {name: getattr(namespace, name.replace("-", "_"), None) for name in options()}


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield settings of one to three sources."""
    folder = place / "bot"
    folder.mkdir(exist_ok=True)
    path = folder / "turncheck.yml"
    while True:
        content = mutate(FILE, [FILE], chance) if chance.random() < 0.7 else b""
        path.write_bytes(content)
        source = chance.choices(("inputs", "flags", "command line"), (5, 4, 1))[0]
        given = values(chance)
        yield Trial(
            partial(read, folder, source, given),
            as_json(source=source, given=given, file=content.decode("latin-1")),
        )
