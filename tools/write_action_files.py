"""Write what is made from the table of settings for actions.

python tools/write_action_files.py

`action-types.yml` has the types of the action's inputs; `composite/action.yml` is the same action without a container.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from turncheck.settings.declared import default_of, options

if TYPE_CHECKING:
    from turncheck.settings.setting import Option

ROOT = Path(__file__).parents[1]
_HEAD = "# Made by tools/write_action_files.py: the types of the inputs and outputs, for typed bindings and editors.\n"
_COMPOSITE = """\
# Made by tools/write_action_files.py from action.yml: the same action without a container.
name: turncheck (composite)
description: The action turncheck/turncheck on the runner's own Python, on Linux, macOS and Windows
author: The turncheck maintainers
"""
_STEPS = """\
runs:
  using: composite
  steps:
    # Only actions in JavaScript and containers are given what artifacts and the cache need. Outputs of a step stay in
    # here: in the environment of the job, each later step would have them.
    - id: runtime
      {uses}
      with:
        script: |
          for (const name of [{names}]) {{
            core.setOutput(name, process.env[name] ?? '')
          }}
    - id: turncheck
      shell: bash
      env:
        TURNCHECK_INPUTS: ${{{{ toJSON(inputs) }}}}
{given}
      run: source "${{GITHUB_ACTION_PATH//\\\\//}}/start.sh"
"""
_OF_THE_RUNTIME = ("ACTIONS_RUNTIME_TOKEN", "ACTIONS_RESULTS_URL", "ACTIONS_CACHE_URL", "ACTIONS_CACHE_SERVICE_V2")


def action_types() -> str:
    """Return the text of ``action-types.yml``, as github-actions-typing has it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    inputs = {name: _typed(name, option) for name, option in options().items() if option.action_input}
    outputs: dict[str, Any] = {name: {"type": "string"} for name in action["outputs"]}
    outputs["verdict"] = {"type": "enum", "allowed-values": ["passed", "failed"]}
    return _HEAD + yaml.safe_dump({"inputs": inputs, "outputs": outputs}, sort_keys=False, width=120)


def composite() -> str:
    """Return the text of ``composite/action.yml``: inputs as in ``action.yml``, and outputs of the step that runs."""
    written = (ROOT / "action.yml").read_text("utf-8")
    inputs = re.search(r"^inputs:\n(?:(?: .*)?\n)+?(?=outputs:)", written, re.MULTILINE)
    if inputs is None:
        raise SystemExit("action.yml has no inputs followed by outputs")
    outputs = {
        name: {"description": about["description"], "value": f"${{{{ steps.turncheck.outputs.{name} }}}}"}
        for name, about in yaml.safe_load(written)["outputs"].items()
    }
    pinned = (ROOT / "composite" / "action.yml").read_text("utf-8")  # Dependabot changes it there
    uses = re.search(r"uses: actions/github-script@[0-9a-f]{40} # v[\d.]+", pinned)
    if uses is None:
        raise SystemExit("composite/action.yml does not pin actions/github-script")
    steps = _STEPS.format(
        uses=uses[0],
        names=", ".join(f"'{name}'" for name in _OF_THE_RUNTIME),
        given="\n".join(f"        {name}: ${{{{ steps.runtime.outputs.{name} }}}}" for name in _OF_THE_RUNTIME),
    )
    return _COMPOSITE + inputs[0] + yaml.safe_dump({"outputs": outputs}, sort_keys=False, width=120) + steps


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
    types = action_types()
    return {"action-types.yml": types, "composite/action.yml": composite(), "composite/action-types.yml": types}


if __name__ == "__main__":
    for name, text in files().items():
        (ROOT / name).parent.mkdir(exist_ok=True)
        (ROOT / name).write_text(text, "utf-8")
        print(ROOT / name)
