"""What identifies shards of one run: the files that were read, and the settings."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turncheck.messages.errors import UserError
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.settings.gates import GATES
from turncheck.settings.options import options
from turncheck.settings.parsers import WrongWordError, shown
from turncheck.settings.sources import PATHS, leads_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

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
    """Return the flags or inputs that all shards and the merging job have in common, as JSON values.

    Paths are relative to the project, which may be elsewhere on each machine.
    """
    known = options()
    folder = _project_folder(given)
    return {
        name: _relative(name, _plain(value), folder)
        for name, value in sorted(given.items())
        if name not in _OF_A_JOB and not known[name.replace("_", "-")].is_private
    }


def faults_of_settings(shared: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the settings of a shard, which a job with a change's own code may have written."""
    faults = []
    for name, value in sorted(shared.items()):
        try:
            _read(name, value)
        except ValueError as error:
            faults.append(f"`{name.replace('_', '-')}`: {error}")
    return faults


def settings_given(shared: Mapping[str, Any], own: Mapping[str, Any], *, takes_project: bool) -> dict[str, Any]:
    """Return the merging job's settings, completed by those of the shards.

    Of these only what the project's own file could set as well is taken. What the merging job sets itself, it has to
    set alike, except for the gates: it judges, so its own count, and those of the shards are never taken.

    Args:
        shared: the settings of the shards, without faults.
        own: the settings of the merging job.
        takes_project: whether the shards say which folder the project is. On a CI host the merging job does.

    Raises:
        UserError: its settings differ from the shards'.
    """
    if takes_project and "project" in shared:
        own = {"project": _read("project", shared["project"]), **own}
    known, here = options(), shared_settings(own)
    folder = _project_folder(own)
    taken, faults = {}, []
    for name in sorted({*shared, *here}):
        there = _plain(_read(name, shared[name])) if name in shared else None
        if name == "project" and name not in here and Path(str(there)).as_posix() != ".":
            faults.append(_difference(name, None, there))
        elif name == "project" or there == here.get(name) or (name in GATES and name in here):
            continue
        elif (
            name in here
            or name in GATES
            or name == "plugins"
            or (known[name.replace("_", "-")].file_key and _leads_out(name, there))
        ):
            faults.append(_difference(name, here.get(name), there))
        elif known[name.replace("_", "-")].file_key:
            taken[name] = _read(name, _absolute(name, there, folder))
    if faults:
        more = "".join(f"\n- {fault}" for fault in faults)
        raise UserError(
            f"the settings of the merging job differ from those of the shards:{more}",
            remedy="Give the merging job the same values. What it judges by and where the project is, it is always"
            " given itself.",
        )
    return {**taken, **own}


def _difference(name: str, here: Any, there: Any) -> str:
    return f"`{name.replace('_', '-')}` is {setting_shown(here)} here and was {setting_shown(there)} for the shards"


def _read(name: str, value: Any) -> Any:
    """Read a setting of a shard as a flag is read.

    Raises:
        ValueError: there is none of this name, a shard never has it, or its value is invalid.
    """
    option = options().get(name.replace("_", "-")) if "-" not in name else None
    if option is None:
        raise ValueError("there is no setting of this name")
    if name in _OF_A_JOB or option.is_private or not (option.flag or option.action_input):
        raise ValueError("is never taken from a shard")
    try:
        return option.parse(value)
    except ValueError as error:
        raise ValueError(str(error) if isinstance(error, WrongWordError) else f"{error}, not {shown(value)}") from None


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _project_folder(given: Mapping[str, Any]) -> Path:
    path = Path(given.get("project", "."))
    return path.parent if path.is_file() else path


def _relative(name: str, value: Any, folder: Path) -> Any:
    return _paths(name, value, lambda path: Path(os.path.relpath(path, folder)).as_posix())


def _absolute(name: str, value: Any, folder: Path) -> Any:
    return _paths(name, value, lambda path: str(folder / path))


def _leads_out(name: str, value: Any) -> bool:
    found: list[bool] = []
    _paths(name, value, lambda path: found.append(leads_out(path)))
    return any(found)


def _paths(name: str, value: Any, do: Callable[[str], Any]) -> Any:
    """Apply ``do`` to the paths that a setting consists of; others stay as they are."""
    if name not in PATHS or isinstance(value, bool):
        return value
    return [do(path) for path in value] if isinstance(value, list) else do(value)


def setting_shown(value: Any) -> str:
    """Show the value of a setting."""
    return "not given" if value is None else shown(value)


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
