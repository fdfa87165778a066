"""Write what is made from the table of settings for actions: `action-types.yml`, the types of the action's inputs.

python tools/write_action_files.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from turncheck.settings.options import default_of, options

if TYPE_CHECKING:
    from turncheck.settings.setting import Option

ROOT = Path(__file__).parents[1]
_HEAD = "# Made by tools/write_action_files.py: the types of the inputs and outputs, for typed bindings and editors.\n"


def action_types() -> str:
    """Return the text of ``action-types.yml``, as github-actions-typing has it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    inputs = {name: _typed(name, option) for name, option in options().items() if option.action_input}
    outputs: dict[str, Any] = {name: {"type": "string"} for name in action["outputs"]}
    outputs["verdict"] = {"type": "enum", "allowed-values": ["passed", "failed"]}
    return _HEAD + yaml.safe_dump({"inputs": inputs, "outputs": outputs}, sort_keys=False, width=120)


def _typed(name: str, option: Option) -> dict[str, Any]:
    default = default_of(name)
    if isinstance(default, bool) and not option.metavar:
        return {"type": "boolean"}
    if isinstance(default, int) and not isinstance(default, bool):
        return {"type": "integer"}
    word: dict[str, Any] = {"type": "string"}
    if option.choices:
        word = {"type": "enum", "allowed-values": [*option.choices]}
    if option.many:
        return {"type": "list", "separator": "," if option.choices else "\n", "list-item": word}
    return word


def files() -> dict[str, str]:
    """Return all texts by their paths."""
    return {"action-types.yml": action_types()}


if __name__ == "__main__":
    for name, text in files().items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text, "utf-8")
        print(ROOT / name)
