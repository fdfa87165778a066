"""By which settings the base is measured: those of its own file, and those from flags or inputs."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from turncheck.evaluations.kinds import BY_DEFAULT
from turncheck.gates.rules import read_rules
from turncheck.messages.errors import UserError
from turncheck.process.regular_file import file_and_case
from turncheck.settings.gates import GATES, gate_settings, named_projects
from turncheck.settings.sources import combine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turncheck.report.evaluations import Evaluation
    from turncheck.report.model import Report, Source
    from turncheck.run.base_assistant import BaseAssistant
    from turncheck.run.base_projects import BaseTree
    from turncheck.run.inputs import Inputs
    from turncheck.settings.options import Settings

_PATHS = ("config", "domain", "data", "nlu", "stories", "e2e", "batch")
_TESTS: dict[str, Evaluation] = {"nlu": "nlu", "stories": "core", "e2e": "e2e", "batch": "batch"}
"""Settings that name tests, and the evaluation that needs them."""


def settings_of_base(there: BaseAssistant, given: Mapping[str, Any], settings: Settings) -> Settings:
    """The base's settings: if a pull request changes what judges it, the comparison says so.

    Gates that the base's file does not say are those of this run, since a mistake in it may be what a change fixes.
    """
    given = {name: value for name, value in _there(there.tree, given).items() if name != "project"}
    own = combine(given, there.file.values)
    try:
        if not there.is_broken:
            read_rules(gate_settings(own))
            return dataclasses.replace(own, project=str(there.project.folder))
    except UserError:
        own = combine(given, {name: value for name, value in there.file.values.items() if name in _PATHS})
    gates = {name: getattr(settings, name) for name in GATES}
    return dataclasses.replace(own, **gates, project=str(there.project.folder))


def projects_of_base(there: BaseAssistant, chooser: Path | None) -> tuple[str, ...] | None:
    """The assistants that the base's file names where that of this run may name some."""
    folder = there.tree.folder_of(str(chooser)) if chooser is not None else None
    if folder is None:
        return None
    try:
        return named_projects(folder)
    except UserError:  # a mistake that this change fixes, say
        return None


def inputs_of_base(
    inputs: Inputs, given: Mapping[str, Any], there: BaseAssistant, own: Settings, source: Source
) -> Inputs:
    """What the base measures: its own settings and tests.

    Files that a flag or an input names and the base lacks are not missed there.
    """
    kept: dict[str, Any] = {}
    left_out = set()
    for name in set(_PATHS) & set(given):
        kept[name] = _existing(getattr(own, name))
        if name in _TESTS and getattr(own, name) and not kept[name]:
            left_out.add(_TESTS[name])
    if left_out:
        asked = own.evaluations or BY_DEFAULT
        kept["evaluations"] = tuple(name for name in asked if name not in left_out)
    if isinstance(own.vectors, str) and (vectors := Path(there.tree.moved(own.vectors))).exists():
        kept["vectors"] = str(vectors)
    if own.strength == "changed":
        kept["strength"] = "off"  # the mutants of a change only exist on this side
    return dataclasses.replace(
        inputs,
        settings=dataclasses.replace(own, **kept),
        source=source,
        ignored=there.file.ignored,
        rules={},
        settings_file=there.file.path,
        settings_folder=there.project.settings,
    )


def with_given(base: Report, head: Report, given: Mapping[str, Any], of_file: Settings | None = None) -> Report:
    """The base's report with the settings from flags or inputs, which no file of this change can have altered.

    A workflow may set other gates on a push than on a pull request, or have cases run more often: of that, the base's
    own file (``of_file``: its settings, if they are at hand) is what a change may have altered.
    """
    fields = head.settings.__struct_fields__
    overridden = {name: getattr(head.settings, name) for name in given if name in fields}
    if "repeats" not in given and base.settings.repeats_given:
        own = msgspec.UNSET if of_file is None else of_file.repeats
        overridden |= {"repeats": own, "repeats_given": msgspec.UNSET}
    return msgspec.structs.replace(base, settings=msgspec.structs.replace(base.settings, **overridden))


def _there(tree: BaseTree, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings whose paths are in the base's files."""
    return {name: tree.moved(value) if name in _PATHS else value for name, value in settings.items()}


def _existing(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value if value is not None and file_and_case(value)[0].exists() else None
    return tuple(path for path in value if file_and_case(path)[0].exists())
