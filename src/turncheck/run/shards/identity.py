"""What identifies shards of one run: the files that were read, and the settings."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.settings.gates import GATES
from turncheck.settings.options import options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.project.model import Project
    from turncheck.run.inputs import Inputs
    from turncheck.run.reading import Tests

_OF_A_JOB: Final = frozenset(
    {
        *(
            "shard",
            "shards",
            "cache",
            "cache_folder",
            "out",
            "workers",
            "cluster",
            "rasa_servers",
            "run_id",
            "allow_custom_code",
        ),
        *("base", "baseline", "comment", "check_run", "annotations", "artifact_name", "retention_days"),
        *("junit_flavour", "output_format", "rasa_url", "rasa_command", "kore_host", "kore_bot_id", "kore_bot_name"),
        *("kore_client_id", "action_endpoint", "action_server", "allow_hosts"),
    }
)
"""Settings that may differ from job to job, or are about publishing."""


def refuse_shards_of_several(given: Mapping[str, Any]) -> None:
    """Refuse to shard several assistants: a shard belongs to one.

    Raises:
        UserError: both are requested.
    """
    if given.get("shard") is not None or given.get("shards"):
        raise UserError(
            "a shard is a part of one assistant's run, but several are named here",
            remedy="Of several assistants each is measured by a job of its own: name one with --project in each.",
        )


def shared_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the flags or inputs that all shards and the merging job have in common, as JSON values."""
    known = options()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in sorted(given.items())
        if name not in _OF_A_JOB and not known[name.replace("_", "-")].is_private
    }


def settings_given(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the shards' settings, overridden by those of the merging job, which may judge and publish differently.

    Raises:
        UserError: the job's settings for what is measured differ from the shards'.
    """
    for name, value in shared_settings(own).items():
        if name not in {*GATES, "project"} and value != shared.get(name):
            raise UserError(
                f"`{name.replace('_', '-')}` is {setting_shown(value)} here"
                f" and was {setting_shown(shared.get(name))} for the shards",
                remedy="Omit it, or use the same value for all shards and for merging them.",
            )
    restored = {name: tuple(value) if isinstance(value, list) else value for name, value in shared.items()}
    return {**restored, **own}


def setting_shown(value: Any) -> str:
    """Show the value of a setting."""
    return "not given" if value is None else repr(value)


def project_digest(inputs: Inputs, project: Project, tests: Tests) -> str:
    """Return a digest of all files that were read for a run: settings, project, tests; by path and content."""
    digest = hashlib.sha256()
    for file in sorted(project.files, key=lambda file: file.path):
        text = "" if file.source is None else file.source.text
        _add(digest, file.path, text.encode("utf-8", "surrogatepass"))
    for lookup in project.nlu.lookups:
        if lookup.file is not None:
            _add(digest, lookup.name, "\n".join(lookup.elements).encode("utf-8", "surrogatepass"))
    if project.kind.has_languages:
        _add(digest, "sentences", "\n".join(f"{one.text}\t{one.intent}" for one in project.nlu.examples).encode())
    for path in sorted({*_test_files(project.root, tests), *_settings_file(inputs)}):
        _add(digest, path.name, _content(path))
    return digest.hexdigest()


def _content(path: Path) -> bytes:
    """Return what is read of a file; nothing of one that is refused."""
    try:
        return read_regular(path, most=MAX_FILE_BYTES)
    except OSError:
        return b""


def _settings_file(inputs: Inputs) -> Iterator[Path]:
    if inputs.settings_file is not None:
        yield inputs.settings_file


def _test_files(root: Path, tests: Tests) -> Iterator[Path]:
    of_examples = {example.location.path for example in tests.nlu.examples} if tests.nlu is not None else set()
    of_stories = {story.location.path for story in tests.stories}
    for name in (*of_examples, *of_stories):
        yield root / name
    for named in (*tests.e2e, *tests.batch):
        yield from _files_at(Path(named.partition("::")[0]))


def _files_at(path: Path) -> Iterable[Path]:
    return (found for found in path.rglob("*") if found.is_file()) if path.is_dir() else (path,)


def _add(digest: hashlib._Hash, name: str, content: bytes) -> None:
    digest.update(f"{name}\0{hashlib.sha256(content).hexdigest()}\n".encode("utf-8", "surrogatepass"))
