"""Model files: what they are called, which one counts, and what is in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from turncheck.errors import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from turncheck.engines.embedded.model_archive import Model
    from turncheck.engines.embedded.policies.ensemble import Ensemble

DEFAULT_MODELS: Final = "models"
SUFFIX: Final = ".tar.gz"


def model_path(folder: Path, name: str | None, prefix: str) -> Path:
    """Return where to save a model: under ``name`` where one is given, else under the time, as Rasa does.

    ``prefix``: ``core-``, ``nlu-``, or nothing for a model with both parts.
    """
    if name is None:
        name = f"{prefix}{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    return folder / (name if name.endswith(SUFFIX) else name + SUFFIX)


def newest_model(folder: Path) -> Path | None:
    """Return the newest model file of a folder; of files of the same age the last by name."""
    files = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file()] if folder.is_dir() else []
    return max(files, key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)


def named_model(path: Path) -> Path:
    """Return the model that ``--model`` names: a file, or the newest of a folder.

    Raises:
        UserError: there is none.
    """
    if path.is_file():
        return path
    found = newest_model(path)
    if found is None:
        raise UserError(f"there is no model at '{path}'", remedy="Train one with turncheck train, or correct --model.")
    return found


@dataclass(frozen=True, slots=True)
class LoadedCore:
    """The policies of a model file, and the model itself for its other parts."""

    path: Path
    model: Model
    ensemble: Ensemble


def load_core(path: Path) -> LoadedCore:
    """Read the policies of a model.

    Raises:
        UserError: it cannot be read, or holds no policies.
    """
    from turncheck.engines.embedded.model_archive import read_model  # noqa: PLC0415 - where a model is read
    from turncheck.engines.embedded.policies.archive import read_ensemble  # noqa: PLC0415

    model = read_model(path)
    if "core" not in model.parts:
        raise UserError(
            f"the model {path} holds no policies, only: {', '.join(model.parts)}",
            remedy="Train one with turncheck train or turncheck train core.",
        )
    return LoadedCore(path, model, read_ensemble(model.reader))


def fitting_core(models: Path, fingerprint: str) -> LoadedCore | None:
    """Return the newest model below ``models`` if it has policies and was trained from the same files."""
    path = newest_model(models)
    if path is None:
        return None
    try:
        loaded = load_core(path)
    except UserError:
        return None  # nobody has named this model: one that is foreign or of another kind does not count
    return loaded if loaded.model.fingerprint == fingerprint else None
