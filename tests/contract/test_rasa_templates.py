"""How placeholders of responses are filled, held against what Rasa 3.6.21 made of the same templates."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from golden_texts import Golden

from turncheck.engines.embedded.actions.base import TemplateError, fill

ROOT = Path(__file__).parents[2]
RECORDED = Path(__file__).parent / "recorded_templates"
BEYOND_NAMES = frozenset({"{name][0}", "{tags][0}", "{d][k}", "{0[name]:>{x}}", "{0[name]!r:>{x}}", "{0!r:>{x}}"})
"""Written to reach into values or to pad them. Rasa does that; here the action fails."""


def values() -> dict[str, Any]:
    given: dict[str, Any] = json.loads((RECORDED / "input.json").read_text(encoding="utf-8"))["values"]
    return given


def cases() -> list[tuple[Any, Any]]:
    return [(content, filled) for content, filled in json.loads((RECORDED / "cases.json").read_text(encoding="utf-8"))]


def filled_here(content: Any) -> Any:
    try:
        return fill(content, values())
    except TemplateError:
        return None


def test_every_template_of_names_alone_is_filled_as_in_rasa() -> None:
    different = {
        json.dumps(content): (filled, here)
        for content, filled in cases()
        if (here := filled_here(content)) != filled and content not in BEYOND_NAMES
    }
    assert different == {}


@pytest.mark.parametrize("content", sorted(BEYOND_NAMES))
def test_what_is_more_than_a_name_is_refused_though_rasa_fills_it(content: str, golden: Golden) -> None:
    assert next(filled for template, filled in cases() if template == content) is not None
    with pytest.raises(TemplateError) as refused:
        fill(content, values())
    golden(refused.value)


@pytest.mark.rasa
def test_rasa_still_fills_them_so(rasa: str, tmp_path: Path) -> None:
    python = rasa.split(maxsplit=1)[0]
    anew = tmp_path / "cases.json"
    subprocess.run(
        [python, str(RECORDED / "record.py"), str(RECORDED / "input.json"), str(anew)],
        check=True,
        capture_output=True,
    )
    assert anew.read_bytes() == (RECORDED / "cases.json").read_bytes()
