"""Model files: their names, which one counts, and what is in it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turncheck.engines.embedded.model_archive import MemberReader, keep, read_kept
from turncheck.messages.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from turncheck.dialogue.domain import DialogueDomain
    from turncheck.engines.base import Part
    from turncheck.engines.embedded.model_archive import Model
    from turncheck.engines.embedded.nlu.engine import EmbeddedNluEngine
    from turncheck.engines.embedded.policies.ensemble import Ensemble
    from turncheck.process.cache import Cache
    from turncheck.project.model import Project


DEFAULT_MODELS: Final = "models"
SUFFIX: Final = ".tar.gz"
_SHOWN: Final = 200


def model_path(folder: Path, name: str | None, prefix: str) -> Path:
    """Return where to save a model: under ``name`` if there is one, else under the time, as Rasa does.

    ``prefix``: ``core-``, ``nlu-``, or nothing for a model with both parts.
    """
    if name is None:
        name = f"{prefix}{datetime.now().astimezone():%Y%m%d-%H%M%S}"
    return folder / (name if name.endswith(SUFFIX) else name + SUFFIX)


def newest_model(folder: Path) -> Path | None:
    """Return the newest model file of a folder; of several with the same age the last by name."""
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
        raise UserError(f"there is no model at '{path}'", hint="Train one with turncheck train, or correct --model.")
    return found


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model file that was read; its parts are created on demand.

    ``is_of_project``: whether it was trained on the project's files as they are now, or was named.
    """

    path: Path
    model: Model
    is_of_project: bool = True

    @property
    def has_nlu(self) -> bool:
        """Whether it understands sentences."""
        return "nlu" in self.model.parts

    @property
    def has_vectors(self) -> bool | str:
        """Whether its language understanding needs sentence vectors; for those of a folder, the folder."""
        from turncheck.engines.embedded.nlu.sentence_vectors import needs_vectors  # imports NumPy

        with self._reading():
            return needs_vectors(self.model.reader.below("nlu")) if self.has_nlu else False

    def ensemble(self) -> Ensemble:
        """Return its policies.

        Raises:
            UserError: it has none.
        """
        from turncheck.engines.embedded.policies.trainer import read_ensemble

        self.require("core")
        with self._reading():
            return read_ensemble(self.model.reader)

    def nlu(self) -> EmbeddedNluEngine:
        """Return its language understanding.

        Raises:
            UserError: it has none.
        """
        from turncheck.engines.embedded.nlu.persistence import read_nlu

        self.require("nlu")
        with self._reading():
            return read_nlu(self.model.reader)

    def tokenize(self, texts: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
        """Return the borders of each text's words; only the tokenizer of the model's NLU is read."""
        from turncheck.engines.embedded.nlu.persistence import read_tokenizer

        self.require("nlu")
        with self._reading():
            tokenizer = read_tokenizer(self.model.reader)
        return [tokenizer.tokenize(text).spans for text in texts]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Report whatever is wrong with the content of the file as an error that names it.

        Raises:
            UserError: it cannot be read.
        """
        try:
            yield
        except UserError as error:
            raise UserError(f"the model {self.path} cannot be used: {error.message}", hint=error.hint) from None
        except MemoryError:
            raise UserError(f"the model {self.path} needs more memory than there is") from None
        except Exception as error:  # noqa: BLE001 - whoever made the file may have put anything there
            raise UserError(
                f"the model {self.path} is damaged: it cannot be read ({type(error).__name__}: {str(error)[:_SHOWN]})",
                hint="Train it again: turncheck train.",
            ) from None

    def require(self, part: Part) -> None:
        """Make sure that it has a part.

        Raises:
            UserError: it does not.
        """
        name = "policies" if part == "core" else "language understanding"
        if part not in self.model.parts:
            raise UserError(
                f"the model {self.path} holds no {name}, only: {', '.join(self.model.parts)}",
                hint=f"Train one with turncheck train or turncheck train {part}.",
            )


def has_custom_components(project: Project) -> bool:
    """Whether the pipeline names the project's own classes."""
    from turncheck.engines.embedded.nlu.catalogue import is_custom  # only if a model is chosen

    return any(is_custom(component) for component in project.config.pipeline or ())


def load_model(path: Path) -> LoadedModel:
    """Read a model.

    Raises:
        UserError: it cannot be read.
    """
    from turncheck.engines.embedded.model_archive import read_model  # only if a model is read

    return LoadedModel(path, read_model(path))


def fitting_model(
    folder: Path,
    project: Project,
    parts: Iterable[str],
    *,
    allow_custom_code: bool = False,
    vectors: bool | str = False,
) -> LoadedModel | None:
    """Return the newest model of a folder, if it has these parts and the project's files have not changed since.

    One that was trained on files that its user named (``train nlu --nlu train_test_split/training_data.yml``) counts
    in any case, as in Rasa: the project's files include what was to be kept from it. A model never contains the
    project's own code: if such components must run, none fits. With language understanding requested, it must have been
    trained as requested now: with sentence vectors, or without.
    """
    if allow_custom_code and "nlu" in parts and has_custom_components(project):
        return None
    from turncheck.engines.embedded.training_key import project_fingerprint

    path = newest_model(folder)
    if path is None:
        return None
    try:
        loaded = load_model(path)
    except UserError:
        return None  # this model was not named: a foreign or damaged one does not count
    is_of_project = loaded.model.fingerprint == project_fingerprint(project)
    fits = (is_of_project or bool(loaded.model.named)) and set(parts) <= set(loaded.model.parts)
    if fits and "nlu" in parts:
        fits = loaded.has_vectors == (str(Path(vectors).resolve()) if isinstance(vectors, str) else vectors)
    return replace(loaded, is_of_project=is_of_project) if fits else None


# Trained models in a cache, as ``turncheck train`` writes them: only data, nothing executable.

_NLU, _POLICIES = "trained pipeline", "set of trained policies"


def cached_nlu(cache: Cache, key: str | None, train: Callable[[], EmbeddedNluEngine]) -> EmbeddedNluEngine:
    """Return trained language understanding: the one stored under the key, else it is trained and stored."""
    from turncheck.engines.embedded.nlu.persistence import read_nlu, write_nlu

    nlu_engine = read_kept(cache, key, _NLU, read_nlu)
    if nlu_engine is not None:
        return nlu_engine
    engine = train()
    keep(cache, key, _NLU, lambda writer: write_nlu(writer, engine))
    return engine


def cached_ensemble(cache: Cache, key: str, domain: DialogueDomain, train: Callable[[], Ensemble]) -> Ensemble | None:
    """Return trained policies: those stored under the key, else they are trained and stored.

    ``domain`` is the one that they act in, which may have more than what they learnt from. Returns ``None`` if they
    cannot be stored.
    """
    from turncheck.engines.embedded.policies.trainer import read_ensemble, write_ensemble

    def read(reader: MemberReader) -> Ensemble:
        return read_ensemble(reader, domain)

    found = read_kept(cache, key, _POLICIES, read)
    if found is not None:
        return found
    ensemble = train()
    members = keep(cache, key, _POLICIES, lambda writer: write_ensemble(writer, ensemble))
    return None if members is None else read(MemberReader(members))
