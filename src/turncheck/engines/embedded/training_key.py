"""The digest of everything that a training depends on: made of the actual values, so that it includes every edit.

Training with a key gets exactly the values that the key was made of, and no others. What reads
files or calls servers by itself has no key, and is trained again each time.

The place of something in its file only matters for telling things apart: for a place, the key has the file and
the order of first occurrence, so that a comment above it does not change the key.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from turncheck.dialogue.domain import DialogueDomain
from turncheck.messages.finding import Location
from turncheck.messages.value_classes import field_names
from turncheck.project.model import Config, Project
from turncheck.project.rasa_components import known_component

if TYPE_CHECKING:
    from turncheck.process.cache import Cache
    from turncheck.project.rasa_version import RasaVersion


_SELF_CONTAINED: Final = frozenset(
    {
        *("WhitespaceTokenizer", "RegexFeaturizer", "LexicalSyntacticFeaturizer", "CountVectorsFeaturizer"),
        *("DIETClassifier", "LogisticRegressionClassifier", "SklearnIntentClassifier", "KeywordIntentClassifier"),
        *("FallbackClassifier", "CRFEntityExtractor", "RegexEntityExtractor", "EntitySynonymMapper"),
        "ResponseSelector",
    }
)
"""Components that learn only from the project's data and their parameters."""
_NOWHERE: Final = Path()


class NoDigestError(TypeError):
    """A value has a type whose content is not fully known."""


def training_key(cache: Cache, kind: str, inputs: Project, **more: Any) -> str | None:
    """Return the key of a training, ``None`` if it depends on more than is known here.

    Args:
        cache: where what is trained is kept.
        kind: what is trained.
        inputs: its inputs, without the project's files (see :mod:`turncheck.engines.embedded.training_key`).
        more: further values that it depends on (seed, folds).
    """
    if kind != "policies" and not _is_self_contained(inputs):
        return None
    # The folder does not matter, since no component reads files.
    try:
        return digest_of((kind, dataclasses.replace(inputs, root=_NOWHERE), more, cache.surroundings()), places={})
    except (NoDigestError, RecursionError):
        return None


def _is_self_contained(project: Project) -> bool:
    known = [known_component(component) for component in project.config.pipeline or ()]
    return all(known_component is not None and known_component.name in _SELF_CONTAINED for known_component in known)


def digest_of(value: Any, places: dict[Location, int] | None = None) -> str:
    """Return a digest of a value, which differs if anything compared in it differs.

    ``places``: if given, lines and columns are not compared, only which places are the same.

    Raises:
        NoDigestError: it contains something other than plain values and data classes.
    """
    digest = hashlib.sha256()
    _feed(digest, value, places)
    return digest.hexdigest()


def _feed(digest: hashlib._Hash, value: Any, places: dict[Location, int] | None) -> None:
    kind = type(value)
    if value is None or kind in {bool, int, float}:
        digest.update(f"{kind.__name__} {value!r};".encode())
    elif kind is str:
        _text(digest, "str", value)
    elif kind is Location and places is not None:
        digest.update(f"place {places.setdefault(value, len(places))};".encode())
        _text(digest, "str", value.path)
    elif isinstance(value, Path):
        _text(digest, "path", str(value))
    elif kind in {tuple, list}:
        digest.update(f"{kind.__name__} {len(value)};".encode())
        for one in value:
            _feed(digest, one, places)
    elif kind in {set, frozenset}:
        parts = sorted(digest_of(one) for one in value)
        digest.update(f"set {len(parts)};{''.join(parts)}".encode())
    elif isinstance(value, Mapping):
        digest.update(f"mapping {len(value)};".encode())  # order counts: the first may win
        for key, item in value.items():
            _feed(digest, key, places)
            _feed(digest, item, places)
    elif (names := field_names(kind, compared=True)) is not None:
        _text(digest, "class", f"{kind.__module__}.{kind.__qualname__}")
        for name in names:
            _feed(digest, getattr(value, name), places)
    else:
        _numbers(digest, value)


def _numbers(digest: hashlib._Hash, value: Any) -> None:
    """An array of numbers, or a sparse matrix of rows; NumPy is not imported just to know that it is neither."""
    name = type(value).__name__
    if name == "csr_matrix":
        _feed(digest, (name, value.shape, value.data, value.indices, value.indptr), None)
    elif name == "ndarray" and not value.dtype.hasobject:
        content: bytes = value.tobytes()
        _feed(digest, (name, value.dtype.str, value.shape, len(content)), None)
        digest.update(content)
    else:
        raise NoDigestError(name)


def _text(digest: hashlib._Hash, kind: str, text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    digest.update(f"{kind} {len(content)};".encode() + content)


# The files that a model was trained on: it fits a project if nothing that training reads has changed.


def project_fingerprint(project: Project) -> str:
    """Return a digest of the texts of domain, data and configuration, by path."""
    digest = hashlib.sha256()
    for file in sorted(project.files, key=lambda file: file.path):
        if file.role == "endpoints":
            continue  # the address of an action server has no influence on training
        text = "" if file.source is None else file.source.text
        digest.update(f"{file.path}\0{hashlib.sha256(text.encode()).hexdigest()}\n".encode())
    return digest.hexdigest()


# The inputs of each training, and nothing else of the project, so that nothing else can influence what is learnt.


def nlu_inputs(project: Project) -> Project:
    """Return what language understanding learns from: sentences, synonyms, patterns and the pipeline."""
    config = project.config
    return Project(
        root=project.root.absolute(),
        name="",
        nlu=project.nlu,
        config=Config(language=config.language, pipeline=config.pipeline, location=config.location),
        rasa=_without_signs(project.rasa),
        platform=project.platform,
        native=project.native,
    )


def policy_inputs(project: Project) -> tuple[Project, DialogueDomain]:
    """Return what policies learn from: stories, rules, their own configuration, and the domain without its texts.

    Of the sentences they only know the retrieval intents, which are in the second value.
    """
    whole, config = project.domain, project.config
    responses = {name: replace(response, variations=()) for name, response in whole.responses.items()}
    learnt = Project(
        root=project.root.absolute(),
        name="",
        domain=replace(whole, responses=responses),
        stories=project.stories,
        rules=project.rules,
        config=Config(policies=config.policies, location=config.location),
        rasa=_without_signs(project.rasa),
        calm=None if project.calm is None else "",  # whether policies may be Rasa Pro's, and not what shows it
    )
    domain = replace(DialogueDomain.of(project), domain=learnt.domain)
    return learnt, domain


def _without_signs(version: RasaVersion | None) -> RasaVersion | None:
    return None if version is None else replace(version, signs=(), others=())
