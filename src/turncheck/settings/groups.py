"""The action's inputs by what they are about: the ten that matter most first, as pages and editors list them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from turncheck.settings.declared import options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.settings.setting import Option

FIRST: Final = (
    *("project", "evaluations", "engine", "fail-on", "thresholds"),
    *("max-regression", "require", "baseline", "comment", "artifact-name"),
)
"""The ten that matter most."""

_FILES: Final = "Files of the assistant"
_MEASURED: Final = "How it is measured"
_FAILS: Final = "What fails a run"
_PUBLISHING: Final = "Publishing"
_LARGE: Final = "Large assistants"
_ACTIONS: Final = "Action server and variables"
_RASA: Final = "A real Rasa (`engine: rasa`)"
_KORE: Final = "Kore.ai's platform (`engine: kore`)"
_HTTP: Final = "A bot over HTTP (`engine: http`)"
_OF_ENGINE: Final = {"rasa": _RASA, "kore": _KORE, "http": _HTTP}
_OF_GROUP: Final = {"input": _FILES, "gates": _FAILS, "output": _PUBLISHING, "engine and action server": _ACTIONS}
_ELSEWHERE: Final = {
    "out": _FILES,
    "misunderstood": _MEASURED,
    "base": _FAILS,
    "trace-url": _PUBLISHING,
    **dict.fromkeys(("kore-version", "kore-timeout", "notes"), _KORE),
}
"""Inputs that are looked for beside others than their flags are."""


def _title(name: str, option: Option) -> str:
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    if option.engine in _OF_ENGINE:
        return _OF_ENGINE[option.engine]
    if option.group == "comparison and publishing":
        return _PUBLISHING
    return _OF_GROUP.get(option.group) or (_LARGE if option.differs_by_job else _MEASURED)


def _by_title() -> dict[str, tuple[str, ...]]:
    titles = (_FILES, _MEASURED, _FAILS, _PUBLISHING, _LARGE, _ACTIONS, _RASA, _KORE, _HTTP)
    of_each = {
        name: _title(name, option) for name, option in options().items() if option.action_input and name not in FIRST
    }
    return {title: tuple(name for name, of_one in of_each.items() if of_one == title) for title in titles}


GROUPS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({"The ten that matter most": FIRST, **_by_title()})
"""All inputs, each in one group, by the group's title."""
