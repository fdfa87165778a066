"""Write the tables of inputs and outputs into README.md, from action.yml and the settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from turncheck.settings.options import default_of, options

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def with_tables(text: str) -> str:
    """Return the text of README.md with its two tables regenerated."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    text = _replace(text, "inputs", inputs_table())
    return _replace(text, "outputs", outputs_table(action))


def inputs_table() -> str:
    """Return the table of inputs."""
    rows = ["| input | meaning | default |", "|---|---|---|"]
    for name, option in options().items():
        if option.action_input:
            mark = "" if option.file_key else "°"
            rows.append(f"| `{name}`{mark} | {_cell(option.help)} | {_default(name)} |")
    return "\n".join(rows)


def outputs_table(action: dict[str, Any]) -> str:
    """Return the table of outputs."""
    rows = ["| output | meaning |", "|---|---|"]
    rows += [f"| `{name}` | {_cell(output['description'])} |" for name, output in action["outputs"].items()]
    return "\n".join(rows)


def _default(name: str) -> str:
    if name == "token":
        return "the job's own"
    value = default_of(name)
    if value in (None, (), ""):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{', '.join(value)}`" if isinstance(value, tuple) else f"`{value}`"


def _cell(text: str) -> str:
    return (text[0].upper() + text[1:]).replace("|", "\\|")


def _replace(text: str, name: str, table: str) -> str:
    block = f"<!-- {name} -->\n{table}\n<!-- /{name} -->"
    pattern = rf"<!-- {name} -->(?:.*?<!-- /{name} -->)?"
    if not re.search(pattern, text, re.DOTALL):
        raise SystemExit(f"README.md has no place for the table of {name}")
    return re.sub(pattern, lambda _: block, text, count=1, flags=re.DOTALL)


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text("utf-8")), "utf-8")
