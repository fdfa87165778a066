"""What the language models of an assistant are asked with: models and their parameters, prompts, components."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Any, Final

from turncheck.process.environment import redact_all
from turncheck.project.folder import ProjectFolder
from turncheck.settings.bot_forbidden import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.project.model import Project

_SECTIONS: Final = {
    "endpoints": ("model_groups", "nlg", "vector_store", "mcp_servers"),
    "config": ("pipeline", "policies"),
}
"""What decides about it, by the kind of file; stores and brokers only keep what was said."""
_PROMPTS: Final = frozenset({"prompt", "prompt_template"})
_NAMES: Final = ("id", "name")
_ACCESS: Final = re.compile(r"(?:^|_)(?:keys?|credentials?|headers)$", re.IGNORECASE)
"""Keys whose values give access, whatever they look like."""
_LONGEST: Final = 20_000


def asked_with(project: Project) -> dict[str, str]:
    """Return each value by its place, ``model_groups[commands].models[0].model``, and each prompt file by its path."""
    found: dict[str, str] = {}
    for file in project.files:
        content = file.mapping.data if file.mapping is not None else {}
        for section in _SECTIONS.get(file.role, ()):
            for place, key, value in _leaves(section, content.get(section)):
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                found[place] = _shown(text)
                if key in _PROMPTS and isinstance(value, str):
                    found |= _prompt(project, value)
    return found


def _leaves(section: str, content: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield place, key and value of all that is written below a section, without what gives access."""
    waiting = [(section, section, content)]
    while waiting:
        place, key, value = waiting.pop()
        if isinstance(value, dict) and value:
            shown = ((str(name), below) for name, below in value.items() if not _ACCESS.search(str(name)))
            waiting += [(f"{place}.{name}", name, below) for name, below in shown]
        elif isinstance(value, list) and value:
            waiting += [(f"{place}[{name}]", key, below) for name, below in _named(value)]
        elif value is not None and not is_secret(key, value):
            yield place, key, value


def _named(entries: list[Any]) -> Iterator[tuple[str, Any]]:
    """The entries of a list by their names where each has one of its own, so that another order changes nothing."""
    names = [
        next((str(one[key]) for key in _NAMES if key in one), "") if isinstance(one, dict) else "" for one in entries
    ]
    numbers = map(str, range(len(entries)))
    return zip(names if all(names) and len(set(names)) == len(names) else numbers, entries, strict=True)


def _prompt(project: Project, written: str) -> dict[str, str]:
    folder = ProjectFolder(project.root)
    path = folder.named_file(written)
    content = folder.read_bytes(path) if path is not None else None
    return {} if path is None or content is None else {folder.name(path): _shown(content.decode("utf-8", "replace"))}


def _shown(text: str) -> str:
    text = redact_all(text)
    if len(text) <= _LONGEST:
        return text
    rest = hashlib.sha256(text[_LONGEST:].encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:_LONGEST]}… ({rest})"
