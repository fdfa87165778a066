"""Mutated end-to-end cases, of Rasa's shape and of Botium's: read, held with a bot that says anything, and judged."""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from tools.fuzzing.growth import large_value
from tools.fuzzing.mutations import GROWN, mutate, odd_text
from tools.fuzzing.trial import Trial

from turncheck.engines.conversation import Turn
from turncheck.evaluations.e2e.case import CaseRun, run_case
from turncheck.project.e2e.cases import read_cases
from turncheck.report.model import EngineInfo

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_MOST_HELD: Final = 20
"""So many cases of an input are held: how many there are is bounded where they are read."""
_TURN_SECONDS: Final = 0.5
FILES: Final = {
    "tests/e2e_test_cases.yml": b"""\
fixtures:
- gold:
  - premium: true
  - city: [Oslo, Rome]
metadata:
- device:
    kind: phone
stub_custom_actions:
  action_price:
    events: [{event: slot, name: price, value: 12}]
    responses: [{text: "12"}]
test_cases:
- test_case: price
  fixtures: [gold]
  metadata: device
  steps:
  - user: how much is it
  - slot_was_set:
    - price: 12
  - bot: It is 12
  - user: thanks
    assertion_order_enabled: true
    assertions:
    - bot_uttered: {text_matches: "a*b", utter_name: utter_a, buttons: [{title: A, payload: /a}]}
    - slot_was_set: [{name: price, value: 12}]
    - action_executed: action_a
""",
    "tests/conftest.yml": b"fixtures:\n- silver:\n  - premium: false\n",
    "spec/convo/price.convo.txt": b"""\
price

#begin
SET_SCRIPTING_MEMORY a|1
SET_SCRIPTING_MEMORY b|$a$a

#me
UTT_PRICE

#include asks

#bot
A ticket is *12 $US
TEXT_CONTAINS_ANY $a|12
TEXT_REGEXP_ANY (a|b)*c
TEXT_WER a b c|20
JSON_PATH $.a[?@.b == 1]|x
JSON_PATH_COUNT $..*|>1
ASSIGN_SCRIPTING_MEMORY c|$.text
CONDITIONAL_STEP_JSON_PATH_BASED {"jsonPath": "$..a", "value": "b"}
ORDERED_LIST_TO_BUTTON ^(\\d+)

#me
$b $random(5) $date_add(2,days)

#bot
?UTT_PRICE
CONVO_STEP_PARAMETERS {"matchingMode": "wildcard"}
""",
    "spec/convo/price.utterances.txt": b"UTT_PRICE\nhow much\nwhat is the price of $product\n",
    "spec/convo/asks.pconvo.txt": b"asks\n\n#bot\nwell\n\n#me\nmore\n\n#include more\n",
    "spec/convo/more.pconvo.txt": b"more\n\n#bot\n!no\n\n#me\nnow\n",
    "spec/convo/values.scriptingmemory.txt": b"       |$product |$amount\ncase1  |tea      |1\ncase2  |milk     |2\n",
    "spec/convo/other.yaml": b"""\
convos:
- name: other
  steps:
  - me: [hello, {logichook: SET_SCRIPTING_MEMORY, args: [d, "1"]}]
  - bot: [hi, {asserter: TEXT_CONTAINS_ANY, args: [hi, ho]}]
utterances:
  UTT_OTHER: [a, b]
scriptingMemory:
- header: {name: case3}
  values: {$product: milk}
""",
    "spec/botium.json": json.dumps(
        {
            "botium": {
                "Capabilities": {
                    "SCRIPTING_ENABLE_MEMORY": True,
                    "SCRIPTING_MATCHING_MODE": "wildcardIgnoreCase",
                    "SCRIPTING_NORMALIZE_TEXT_REMOVE_REGEXP": "[a-c]+x",
                    "SCRIPTING_NORMALIZE_TEXT_REMOVE_CHARACTERES": "a,b",
                }
            }
        },
        indent=1,
    ).encode(),
}


class _Bot(Struct):
    """A bot, as an engine and as a conversation with it: it answers with one of these, turn by turn."""

    answers: list[Any]
    has_flows: bool = False
    said: int = 0

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(name="any bot", version="1")

    def conversation(self, **_: Any) -> _Bot:
        self.said = 0
        return self

    def open(self, metadata: Mapping[str, Any] | None = None) -> Turn:  # noqa: ARG002 - it ignores it
        return Turn(None, (), {}, None, ())

    def say(self, text: str, metadata: Mapping[str, Any] | None = None) -> Turn:  # noqa: ARG002 - as above
        answer = self.answers[self.said % len(self.answers)]
        self.said += 1
        words = answer if isinstance(answer, str) else str(answer)[:60_000]
        events = ({"event": "bot", "text": words, "data": {}, "metadata": {}, "answer": answer},)
        return Turn(text, (), {}, None, events)


def hold(folder: Path, bot: _Bot) -> str:
    """Read the cases, hold some and judge them; raises whatever should not be raised."""
    found = read_cases(folder, [folder / "tests", folder / "spec"])
    shown = "".join(f"{finding.location}: {finding.message} {finding.hint}" for finding in found.findings)
    for case in found.cases[:_MOST_HELD]:
        if case.turns and not case.expects_nothing and case.not_judged is None:
            shown += str(run_case(bot, case, CaseRun(turn_timeout=_TURN_SECONDS)).result)
    return shown


def trials(chance: random.Random, place: Path) -> Iterator[Trial]:
    """Yield suites with one file mutated, and a bot."""
    folder, contents = place / "bot", list(FILES.values())
    while True:
        shutil.rmtree(folder, ignore_errors=True)
        changed = chance.choice(sorted(FILES))
        for name, content in FILES.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(mutate(content, contents, chance) if name == changed else content)
        grown = chance.random() < GROWN["share"]
        answers = [large_value(chance) if grown else odd_text(chance), "A ticket is 12 $US", {"a": [{"b": 1}]}]
        yield Trial(
            partial(hold, folder, _Bot(answers)), lambda kept: shutil.copytree(folder, kept, dirs_exist_ok=True)
        )
