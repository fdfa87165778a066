"""Training data in JSON of Rasa 0 to 2: what one version reads or refuses, and others do not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from turncheck.messages.finding import Finding
from turncheck.project.files import DataFile
from turncheck.project.formats import rasa_json
from turncheck.project.formats.format import FormatInput
from turncheck.project.formats.rasa_json import DATA_NOT_JSON, lookup_file_missing
from turncheck.project.project_file import DATA_KEYS
from turncheck.yaml_tree.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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


def unknown_json(major: int, folder: ProjectFolder, *, is_named: bool) -> None:
    """Turn findings about JSON of unknown tools into errors if it holds sentences.

    Rasa 0 ends at any such file, but nobody knows which files it is given, unless they are named (``is_named``).
    """
    for number, finding in enumerate(folder.findings):
        path = finding.location.path
        if finding.code != "file-without-data" or not path.endswith(".json"):
            continue
        ends = major == 0 and is_named
        if ends or _MEANT_AS_DATA.search(folder.read_bytes(folder.root / path) or b""):
            does = "Rasa ends here" if major == 0 else "Rasa silently skips it"
            message = f"{finding.message.rstrip('.')}; {does}."
            folder.findings[number] = replace(finding, code="data-format-unknown", severity="error", message=message)


def as_rasa_0_reads(folder: ProjectFolder, data: DataFile) -> DataFile:
    """Return a file of JSON as Rasa 0 reads it, which does not mind a byte order mark."""
    source, read = data.file.source, data.format.read if data.format is not None else None
    hidden = [finding for finding in data.parts.findings if finding.code == DATA_NOT_JSON]
    if source is None or read is None or not source.has_byte_order_mark or not hidden:
        return data
    plain = Source(source.path, source.file_text)
    parts = read(FormatInput(plain, folder, frozenset(DATA_KEYS)))
    folder.findings[:] = [finding for finding in folder.findings if finding not in hidden]
    folder.findings += parts.findings
    has_errors = any(finding.severity == "error" for finding in parts.findings)
    return DataFile(data.file._replace(source=plain, has_errors=has_errors), parts, data.format)
