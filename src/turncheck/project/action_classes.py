"""The actions of a Rasa 0 domain, which may list classes of the project's Python for the names that stories use.

Rasa Core up to 0.10 instantiates ``actions.rooms.ActionBookRoom`` and asks it for its name (``local_action_factory``),
unless ``action_factory: remote`` says that another process does. The code is read here and never imported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.project.model import Action, ActionStep, Domain, Story
from turncheck.project.testfiles import action_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from turncheck.project.project_file import ProjectFile

_CLASS: Final = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)+")
_TEMPLATE: Final = "utter_"


def with_action_names(
    domain: Domain, domain_files: Iterable[ProjectFile], stories: Iterable[Story], root: Path
) -> Domain:
    """Return the domain with the names that its classes have in place of the classes.

    What a class is called is not always seen: it may be in an installed package, or compute its name. Any action that
    only stories name may then be one of these classes, and counts as listed where they are.
    """
    listed = [action for action in domain.actions.values() if _CLASS.fullmatch(action.name)]
    if not listed or any(map(_is_remote, domain_files)):
        return domain
    named = action_classes(root)
    names = {action.name: _name_of(action.name, named) for action in listed}
    actions: dict[str, Action] = {}
    for action in domain.actions.values():
        if (name := names.get(action.name, action.name)) is not None:
            actions.setdefault(name, replace(action, name=name))
    unseen = next((action for action in listed if names[action.name] is None), None)
    if unseen is not None:
        known = {*actions, *domain.responses, *domain.forms}
        for name in _named_by(stories):
            if name not in known and not name.startswith(_TEMPLATE):
                actions.setdefault(name, replace(unseen, name=name))
    return replace(domain, actions=actions)


def _is_remote(file: ProjectFile) -> bool:
    root = file.mapping
    return root is not None and any(root.data.get(key) == "remote" for key in ("action_factory", "factory"))


def _name_of(path: str, named: Mapping[str, Mapping[str, str]]) -> str | None:
    """Return the name of a class by its path; its module may be re-exported by another, or seen from another folder."""
    module, _, class_name = path.rpartition(".")
    modules = named.get(class_name, {})
    same = {name for other, name in modules.items() if _is_end(other, module) or _is_end(module, other)}
    found = same or set(modules.values())
    return found.pop() if len(found) == 1 else None


def _is_end(short: str, long: str) -> bool:
    return f".{long}".endswith(f".{short}")


def _named_by(stories: Iterable[Story]) -> Iterator[str]:
    for story in stories:
        for step in story.steps:
            if isinstance(step, ActionStep) and step.action:
                yield step.action
