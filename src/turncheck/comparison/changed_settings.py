"""Settings that judge or choose what is measured, and differ from the base: listed, so that none is altered unseen."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from turncheck.comparison.changes import OF_MODELS, SettingChange

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turncheck.report.model import GateSettings, Report
    from turncheck.report.trust import Trust

_IF_EMPTY: Final = {
    "evaluations": "all that the project has files for",
    "language": "its own default",
    **dict.fromkeys(("data", "nlu", "stories", "e2e", "batch", "config", "domain"), "the usual places"),
}
"""What a setting without a value means, if it means anything."""
_USUAL: Final = {"config": ("config.yml",), "domain": ("domain.yml",), "data": ("data",)}
"""What a setting without a value means to a reader of the project: to write it down changes nothing."""


_COMPONENTS: Final = ("pipeline[", "policies[")
_NO_RULE: Final = "repeats_given"
"""It only says where another setting comes from."""


def settings_changed(base: Report, head: Report) -> tuple[SettingChange, ...]:
    """Gate rules, selections of tests and ways of measuring that differ; older reports do not record all of them."""
    changes = [*rules_changed(base.settings, head.settings)]
    if base.plugins != head.plugins:
        changes.append(SettingChange(name="plugins", base=plugins_in_words(base), value=plugins_in_words(head)))
    if _read(base.trust) != _read(head.trust) and base.engine is not None:
        one, other = _calibrated(base.trust), _calibrated(head.trust)
        more = ", with other numbers" if one == other else ""
        changes.append(SettingChange(name="calibration", base=one, value=f"{other}{more}"))
    return (*changes, *_models_changed(base, head))


def rules_changed(base: GateSettings, head: GateSettings) -> Iterator[SettingChange]:
    """Yield the settings that differ; of a bot over HTTP each leaf by itself: none is hidden behind a long one."""
    for field in head.__struct_fields__:
        one, other = (_unless_unset(getattr(side, field)) for side in (base, head))
        if field == _NO_RULE or one == other or None in {one, other} or {one, other} == {(), _USUAL.get(field)}:
            continue
        if field == "bot" and isinstance(one, tuple) and isinstance(other, tuple) and one and other:
            yield from _leaves_changed(one, other)
            continue
        names = re.sub("_", "-", field)
        yield SettingChange(name=names, base=_setting(field, one), value=_setting(field, other))


def _leaves_changed(base: Sequence[str], head: Sequence[str]) -> Iterator[SettingChange]:
    return _texts_changed("bot.", _leaves(base), _leaves(head))


def _texts_changed(prefix: str, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[SettingChange]:
    for name in sorted(before.keys() | now.keys()):
        one, other = before.get(name), now.get(name)
        if one != other:
            how: Literal["altered", "added", "removed"] = "added" if one is None else "removed"
            how = how if one is None or other is None else "altered"
            yield SettingChange(name=f"{prefix}{name}", base=one or "", value=other or "", change=how)


def _models_changed(base: Report, head: Report) -> Iterator[SettingChange]:
    """What language models are asked with; components that the engine tells apart are listed as its configuration."""
    before, now = (side.consistency for side in (base, head))
    if isinstance(before, UnsetType) or isinstance(now, UnsetType):
        return iter(())
    if isinstance(before.asked, UnsetType) or isinstance(now.asked, UnsetType):
        return iter(())
    told = all(side.engine is not None and side.engine.configured is not None for side in (base, head))
    one, other = (
        {place: text for place, text in asked.items() if not (told and place.startswith(_COMPONENTS))}
        for asked in (before.asked, now.asked)
    )
    return _texts_changed(OF_MODELS, one, other)


def _leaves(lines: Sequence[str]) -> dict[str, str]:
    """The lines of ``bot:`` by name; a list, which is one line there, has leaves of its own: ``messages[0].role``."""
    found: dict[str, str] = {}
    for line in lines:
        name, _, text = line.partition(": ")
        found |= dict(_below(name, _as_list(text), text))
    return found


def _below(name: str, value: Any, text: str) -> Iterator[tuple[str, str]]:
    """Yield the leaves of a value; ``text`` is the value as it is shown, if it has none."""
    named: list[tuple[str, Any]] = []
    if isinstance(value, list):
        named = [(f"{name}[{number}]", one) for number, one in enumerate(value)]
    elif isinstance(value, dict):
        named = [(f"{name}.{key}", one) for key, one in value.items()]
    if not named:
        yield name, text
    for below, one in named:
        yield from _below(below, one, one if isinstance(one, str) else json.dumps(one, ensure_ascii=False))


def _as_list(text: str) -> object:
    if not text.startswith("["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):  # a text that only begins like a list
        return text


def _unless_unset(value: object) -> object:
    """A setting that a report does not have, since it changes nothing, is left to turncheck."""
    return "auto" if value is UNSET else value


def plugins_in_words(report: Report) -> str:
    """Return the plugins that took part in a run, with their versions."""
    return ", ".join(f"{plugin.name} {plugin.version}" for plugin in report.plugins) or "none"


def _read(trust: Trust | None) -> Trust | None:
    """What was read from the file, whatever pipeline there is now."""
    return trust and msgspec.structs.replace(trust, outdated=False)


def _calibrated(trust: Trust | None) -> str:
    if trust is None:
        return "none"
    shares = (trust.agreements.sentences, trust.agreements.entities, trust.agreements.stories)
    words = ", ".join(f"{share.share:.0%}" for share in shares if share is not None and share.share is not None)
    fitted = "; confidences not fitted" if trust.changed else ""
    return trust.problem or f"{trust.date} ({words}{fitted})"


def _setting(field: str, value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case () | "":
            return _IF_EMPTY.get(field, "none")
        case tuple():
            return ", ".join(str(part) for part in value)
        case _:
            return str(value)
