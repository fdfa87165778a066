"""Responses that say nothing in some situation: of which no variation fits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from small_project import checked

if TYPE_CHECKING:
    from pathlib import Path

    from golden_texts import Golden

D = "domain.yml"


def variation(**content: object) -> dict[str, object]:
    """One variation; ``when`` has the values of its conditions by slot."""
    when = content.pop("when", None)
    if not isinstance(when, dict):
        return {"text": "Bye!", **content}
    conditions = [{"type": "slot", "name": name, "value": value} for name, value in when.items()]
    return {"condition": conditions, "text": "Bye!", **content}


SILENT = {
    "one value of a bool slot": [variation(when={"open": True})],
    "both values, not set": [variation(when={"open": True}), variation(when={"open": False})],
    "a value of a categorical slot": [variation(when={"kind": "thin"}), variation(when={"kind": None})],
    "a text": [variation(when={"name": "Ann"}), variation(when={"name": None})],
    "two slots": [variation(when={"door": value, "open": True}) for value in (True, False)],
    "no condition of an empty list holds": [variation(condition=[])],
    "on a channel": [variation(channel="slack", when={"door": True})],
    "elsewhere than on a channel": [variation(channel="slack"), variation(when={"door": True})],
}
ANSWERED = {
    "a default": [variation(when={"open": True}), variation()],
    "not set, too": [variation(when={"open": value}) for value in (True, False, None)],
    "all values of a slot that begins with one": [variation(when={"door": value}) for value in (True, False)],
    "all values, in other letters": [variation(when={"kind": value}) for value in ("Thin", "THICK", None)],
    "all values of a slot that a form asks for": [variation(when={"size": value}) for value in ("small", "large")],
    "a default for every channel": [variation(channel="slack", when={"open": True}), variation()],
    "channels only": [variation(channel="slack"), variation(channel="web")],
    "undefined, which is reported as that": [variation(when={"opne": True})],
}
CONDITION_SLOTS = """\
slots:
  open: {type: bool, mappings: [{type: custom}]}
  door: {type: bool, initial_value: false, mappings: [{type: custom}]}
  kind: {type: categorical, values: [thin, thick], mappings: [{type: custom}]}
  name: {type: text, mappings: [{type: custom}]}
"""


@pytest.mark.parametrize(
    ("variations", "is_told"),
    [*((v, True) for v in SILENT.values()), *((v, False) for v in ANSWERED.values())],
    ids=[*SILENT, *ANSWERED],
)
def test_a_response_has_a_variation_for_every_situation(
    variations: list[dict[str, object]], is_told: bool, tmp_path: Path, golden: Golden
) -> None:
    found = checked(
        tmp_path,
        (D, "slots:\n", CONDITION_SLOTS),
        (D, '- text: "Bye!"', "- " + "\n  - ".join(map(json.dumps, variations))),
    )
    silent = [one.message for one in found.findings if one.code == "response-without-default"]
    assert bool(silent) == is_told
    if silent:
        golden(*silent)
