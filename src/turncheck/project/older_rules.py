"""What only an older Rasa refuses or reads differently, once a project is known to be written for it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turncheck.messages.finding import Finding
from turncheck.project.formats import rasa_json
from turncheck.project.formats.rasa_json import lookup_file_missing

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from turncheck.project.files import DataFile
    from turncheck.project.folder import ProjectFolder

_MEANT_AS_DATA: Final = re.compile(
    rb'"(?:common_examples|utterances|samples|examples|sentences|intents?|entities|intentName)"\s*:'
)
"""Keys of sentences and of their meaning, in any tool's JSON."""


def refused_in_data(major: int, folder: ProjectFolder, data: Iterable[DataFile]) -> Iterator[Finding]:
    """Training data that a version refuses and later ones accept."""
    for data_file in data:
        if data_file.format is rasa_json.FORMAT:
            yield from _files_that_are_missing(folder, data_file)
            if major < 2:
                yield from _values_that_are_no_strings(data_file)


def _files_that_are_missing(folder: ProjectFolder, data: DataFile) -> Iterator[Finding]:
    for table in data.parts.nlu.lookups:
        if table.file is not None and folder.named_file(table.file) is None:
            yield lookup_file_missing(table.name, table.file, table.location)


def _values_that_are_no_strings(data: DataFile) -> Iterator[Finding]:
    for example in data.parts.nlu.examples:
        for entity in example.entities:
            if not isinstance(entity.value, str):
                what = f"The value {entity.value!r} of the entity '{entity.entity}' is not a string; Rasa 1 ends here."
                yield Finding("annotation-invalid", "error", what, example.location, "Put it in double quotes.")


def unknown_json(major: int, folder: ProjectFolder) -> None:
    """Turn findings about JSON of unknown tools into errors if it holds sentences; Rasa 0 ends at any such file."""
    for number, finding in enumerate(folder.findings):
        path = finding.location.path
        if finding.code != "file-without-data" or not path.endswith(".json"):
            continue
        if major == 0 or _MEANT_AS_DATA.search(folder.read_bytes(folder.root / path) or b""):
            does = "Rasa ends here" if major == 0 else "Rasa silently skips it"
            message = f"{finding.message.rstrip('.')}; {does}."
            folder.findings[number] = replace(finding, code="data-format-unknown", severity="error", message=message)
