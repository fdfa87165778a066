"""Fill what is generated: commands, gates, inputs and so on in docs/; the inputs in action.yml; the types of settings.

A test keeps all of it equal.

python tools/make_reference.py
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import yaml

from turncheck.cli import build_parser
from turncheck.gates.table import AUTO, GATES, NONE
from turncheck.settings.declared import default_of, options
from turncheck.settings.groups import FIRST, GROUPS
from turncheck.settings.options import Settings
from turncheck.validation.catalogue import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.settings.setting import Option

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
ACTION = ROOT / "action.yml"
TYPES = ROOT / "src" / "turncheck" / "settings" / "typed.py"
DOCUMENTS = ("report", "comparison", "verdict", "calibration", "engines")
"""The documents for machines, in the order of the page."""


def pages() -> dict[str, str]:
    """Return the pages as they should be, by file name."""
    blocks = {
        "cli.md": {"commands": commands},
        "../README.md": {"first-inputs": inputs_snippet},
        "settings.md": {"inputs": inputs_table, "outputs": outputs_table},
        "report.md": {"documents": documents},
        "result.md": {"errors": errors_table},
        "gates.md": {"gates": gates_table},
    }
    filled = {}
    for name, parts in blocks.items():
        text = (DOCS / name).read_text("utf-8")
        for block, make in parts.items():
            text = _replace(text, name, block, make())
        filled[name] = text
    filled["settings.md"] = _with_gates(filled["settings.md"])
    return filled


_SHORT = re.compile(r";(?![^(]*\))| \(default")
"""What a short comment leaves out of a setting's help."""


def inputs_snippet() -> str:
    """Return the ten inputs that matter most with their defaults, as a step of a workflow."""
    lines = ["```yaml", "- uses: turncheck/turncheck@v0", "  with:"]
    shown = {"project": "bot"}
    values = [(name, shown.get(name) or _as_input(name)) for name in FIRST]
    width = max(len(f"{name}: {value}") for name, value in values) + 1
    lines += [f"    {f'{name}: {value}':<{width}}# {_SHORT.split(options()[name].help)[0]}" for name, value in values]
    return "\n".join([*lines, "```"])


def _as_input(name: str) -> str:
    default = default_of(name)
    text = ", ".join(default) if isinstance(default, tuple) else str(default)
    return text or '""'


def _with_gates(text: str) -> str:
    """Name all gates above the key `fail-on` of the example."""
    above = (
        f"What fails the run: {options()['fail-on'].help.partition(': ')[2]}. Whatever is set here, a run that could"
    )
    above += " not be done or that tested nothing fails."
    comment = "".join(f"# {line}\n" for line in wrap(above, 118, break_on_hyphens=False))
    return re.sub(r"(?m)^# What fails the run: .*\n(?:# .*\n)*(?=fail-on:)", lambda _: comment, text)


def action_file() -> str:
    """Return ``action.yml`` with the inputs that there are; all else stays as it is."""
    text = ACTION.read_text("utf-8")
    before, _, rest = text.partition("inputs:\n")
    inputs = "".join(_input(name, option.help) for name, option in options().items() if option.action_input)
    return f"{before}inputs:\n{inputs}outputs:\n{rest.partition('outputs:' + chr(10))[2]}"


def _input(name: str, text: str) -> str:
    default = _default(name).strip("`") if default_of(name) else ""
    default = "false" if default_of(name) is False else default
    shown = f" (default: {default})" if default and name != "token" else ""
    value = "${{ github.token }}" if name == "token" else '""'
    description = json.dumps(f"{_sentence(text)}{shown}", ensure_ascii=False)
    return f"  {name}:\n    description: {description}\n    required: false\n    default: {value}\n"


def settings_types() -> str:
    """Return the module with the types of the arguments that functions for Python programs take."""
    known = {name.replace("-", "_"): option for name, option in options().items()}
    annotated = Settings.__annotations__
    fields = {name: f"    {name}: {_python_type(option, annotated[name])}" for name, option in known.items()}
    gates = [name for name, option in known.items() if option.functions and option.scope == "judging"]
    engines = [name for name, option in known.items() if option.functions == "run and parse"]
    others = [name for name, option in known.items() if option.functions == "run" and name not in gates]
    text = TYPES.read_text("utf-8")
    for name, names in {"GateSettings": gates, "EngineSettings": engines, "RunSettings": others}.items():
        lines = "".join(f"{fields[one]}\n" for one in names)
        text = re.sub(rf"(class {name}\(.*\n    .*\n\n)(?:    \w+: .*\n)*", rf"\g<1>{lines}", text)
    return text


def _python_type(option: Option, annotation: str) -> str:
    """How a program gives a setting: as a command line has it, or as Python's own type of it."""
    if option.many or annotation.startswith("tuple"):
        return "Limits" if option.metavar == "RULE" else "Words"
    if option.metavar == "RULES":
        return "str | bool | Mapping[str, object]"
    if option.metavar in {"FILE", "PATH", "DIR", "WHAT"}:
        return "AnyPath"
    return {"int": "int", "bool": "bool", "bool | str": "bool | str"}.get(annotation, "str")


def inputs_table() -> str:
    """Return a table of inputs for each group; all but the first are folded."""
    parts = [inputs_snippet()]
    for title, names in GROUPS.items():
        rows = ["| input | meaning | default |", "|---|---|---|"]
        for name in names:
            mark = "" if options()[name].file_key else "°"
            rows.append(f"| `{name}`{mark} | {_cell(_sentence(options()[name].help))} | {_default(name)} |")
        table = "\n".join(rows)
        bold = re.sub(r"`([^`]*)`", r"<code>\1</code>", title)
        fold = f'<details markdown="1">\n<summary>{bold}</summary>\n\n{table}\n\n</details>'
        parts.append(table if names is FIRST else fold)
    return "\n\n".join(parts)


def outputs_table() -> str:
    """Return the table of outputs."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    rows = ["| output | meaning |", "|---|---|"]
    rows += [f"| `{name}` | {_cell(output['description'])} |" for name, output in action["outputs"].items()]
    return "\n".join(rows)


def errors_table() -> str:
    """Return the table of findings that are errors."""
    errors = [check for check in CHECKS.values() if check.severity == "error"]
    rows = [f"| [`{check.code}`](findings.md#{check.code}) | {_cell(check.title)} |" for check in errors]
    return "\n".join(["| code | what is wrong |", "|---|---|", *rows])


def gates_table() -> str:
    """Return the table of gates: those that `fail-on` names, those with a setting of their own, those always judged."""
    chosen = [(f"`fail-on: {gate.name}`", gate.manual) for gate in GATES if gate.setting == "fail-on"]
    others = [(gate.written, gate.manual) for gate in GATES if gate.written]
    always = [(f"always: `{gate.name}`", gate.manual) for gate in GATES if not (gate.setting or gate.written)]
    auto = (f"`fail-on: {AUTO}` (default)", "what a change broke; elsewhere, all that is broken")
    none = (f"`fail-on: {NONE}`", "none of the above")
    rows = [f"| {setting} | {what} |" for setting, what in (auto, *chosen, none, *others, *always)]
    return "\n".join(["| setting | what fails the run |", "|---|---|", *rows])


def commands() -> str:
    """Return a section for each command, with a table of its arguments."""
    return "\n\n".join(_section(parser) for parser in _leaves(build_parser()))


def documents() -> str:
    """Return a section for each document, with a table for each type in it; a type of several documents comes once."""
    described: dict[str, Any] = {}
    sections = []
    for document in DOCUMENTS:
        schema = json.loads((DOCS / f"{document}.schema.json").read_text("utf-8"))
        sections.append(f"### `{_FILES[document]}`\n\nSchema: [{document}.schema.json]({document}.schema.json)")
        for name, definition in schema["$defs"].items():
            if name not in described:
                described[name] = definition
                sections.append(_type_section(name, definition))
    return "\n\n".join(sections)


_FILES = {
    "report": "report.json",
    "comparison": "comparison.json",
    "verdict": "verdict.json",
    "calibration": ".turncheck/calibration.json",
    "engines": "engines.json",
}


def _type_section(name: str, definition: dict[str, Any]) -> str:
    rows = ["| field | type | meaning |", "|---|---|---|"]
    for field, value in definition.get("properties", {}).items():
        rows.append(f"| `{field}` | {_cell(_type(value))} | {_cell(_prose(value.get('description', '')))} |")
    table = "\n".join(rows) if len(rows) > 2 else ""
    return "\n\n".join(part for part in (f"#### {name}", _prose(definition.get("description", "")), table) if part)


def _type(value: dict[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(_type(option) for option in value["anyOf"])
    if "enum" in value:
        return " or ".join(f"`{json.dumps(word)}`" for word in value["enum"])
    kind = value.get("type", "any")
    if kind == "array":
        inner = value.get("items") or next(iter(value.get("prefixItems", [])), None)
        return f"list of {_type(inner)}" if inner else "list"
    if kind == "object" and isinstance(value.get("additionalProperties"), dict):
        return f"object of {_type(value['additionalProperties'])}"
    return str(kind) if isinstance(kind, str) else " or ".join(kind)


def _prose(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Return the parsers that a user can call: those of commands with kinds only if a kind may be left out."""
    kinds = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001 - argparse lists them nowhere else
    if not kinds or (not kinds[0].required and parser.prog != "turncheck"):
        yield parser
    for action in kinds:
        for kind in dict.fromkeys(action.choices.values()):
            yield from _leaves(kind)


def _section(parser: argparse.ArgumentParser) -> str:
    parts = [f"### `{parser.prog}`", _literal(_prose(parser.description or ""))]
    for group in parser._action_groups:  # noqa: SLF001 - as above
        rows = [_row(parser, action) for action in group._group_actions if _is_shown(action)]  # noqa: SLF001
        if rows:
            title = {"positional arguments": "argument", "options": "flag"}.get(
                group.title or "", f"flag: {group.title}"
            )
            parts.append("\n".join([f"| {title} | meaning |", "|---|---|", *rows]))
    if parser.epilog:
        parts.append(_literal(_prose(parser.epilog)))
    return "\n\n".join(part for part in parts if part)


def _is_shown(action: argparse.Action) -> bool:
    hidden = isinstance(action, argparse._HelpAction | argparse._SubParsersAction)  # noqa: SLF001 - as above
    return action.help != argparse.SUPPRESS and not hidden


def _row(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    formatter = parser._get_formatter()  # noqa: SLF001 - as above
    value = "" if action.nargs == 0 else formatter._format_args(action, _metavar(action))  # noqa: SLF001 - as above
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    shown = f"{names} `{value}`" if names and value else names or f"`{value or _metavar(action)}`"
    help_text = formatter._expand_help(action) if action.help else ""  # noqa: SLF001 - as above
    return f"| {_cell(shown)} | {_cell(_literal(_sentence(_prose(help_text))))} |"


def _metavar(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(map(str, action.choices))
    return action.dest.upper()


def _literal(text: str) -> str:
    """Return a help text as Markdown, which would read its asterisks, underscores and angle brackets."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<_])", r"\\\1", part) for part in parts)


def _default(name: str) -> str:
    if name == "token":
        return "the job's own"
    value = default_of(name)
    if value in (None, (), ""):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{', '.join(value)}`" if isinstance(value, tuple) else f"`{value}`"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _replace(text: str, page: str, name: str, content: str) -> str:
    block = f"<!-- {name} -->\n{content}\n<!-- /{name} -->"
    pattern = rf"<!-- {name} -->(?:.*?<!-- /{name} -->)?"
    if not re.search(pattern, text, re.DOTALL):
        raise SystemExit(f"docs/{page} has no place for {name}: <!-- {name} -->")
    return re.sub(pattern, lambda _: block, text, count=1, flags=re.DOTALL)


def generated() -> dict[Path, str]:
    """Return the files as they should be."""
    return {DOCS / name: text for name, text in pages().items()} | {ACTION: action_file(), TYPES: settings_types()}


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, "utf-8")
        print(path)
