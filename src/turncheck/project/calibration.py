"""The file written by ``turncheck calibrate`` that says how far the stand-in agrees with the team's own model."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import msgspec

from turncheck import __version__
from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.process.regular_file import read_regular
from turncheck.report.trust import CALIBRATION_SCHEMA, Calibration, ConfidenceMap, Trust

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from turncheck.project.model import Component, Config, Project

CALIBRATION_FILE: Final = ".turncheck/calibration.json"
_MOST_BYTES: Final = 4 * 1024 * 1024
_SHOWN: Final = 20
_MOST: Final = 10**9
"""No one has compared more sentences."""
_AGAIN: Final = "Write it again: turncheck calibrate."


def trust_in(project: Project, vectors: str = "") -> tuple[Trust | None, ConfidenceMap | None]:
    """Return what is known about the stand-in's agreement with the team's model, and the map of its confidences.

    ``None`` if the two were never compared. For a file that cannot be used, the reason is returned, and no map; nor is
    there one if the stand-in was another: its confidences are those that the map begins with.

    Args:
        project: it has the file.
        vectors: the SHA-256 of the stand-in's sentence vectors; empty without any.
    """
    try:
        calibration = read_calibration(project.root)
    except UserError as error:
        return Trust(path=CALIBRATION_FILE, problem=error.message), None
    if calibration is None:
        return None, None
    about = Trust(path=CALIBRATION_FILE, date=calibration.date, engine=calibration.engine)
    if _is_of_another(calibration, intents_of(project)):
        problem = f"{CALIBRATION_FILE} is about another assistant: most intents are not the same"
        return msgspec.structs.replace(about, problem=problem), None
    outdated = calibration.pipeline != digest_of(project.config)
    changed = _changed_since(calibration, project.config, vectors) if calibration.confidences else ""
    confidences = None if changed else calibration.confidences
    trust = msgspec.structs.replace(
        about, agreements=calibration.agreements, outdated=outdated, changed=changed, confidences=confidences
    )
    return trust, confidences


def _is_of_another(calibration: Calibration, known: Sequence[str]) -> bool:
    """Whether two assistants have less than half of all their intents in common; many share ``greet`` and the like."""
    if calibration.assistant is not None:
        both = set(known) | set(calibration.assistant)
        return 2 * len(set(known) & set(calibration.assistant)) < len(both)
    compared = calibration.agreements.intents
    return 2 * sum(name in known for name in compared) < len(compared)


def intents_of(project: Project) -> tuple[str, ...]:
    """Return the intents of the domain and of the training sentences, sorted."""
    trained = (example.base_intent for example in project.nlu.examples)
    return tuple(sorted({*project.domain.intents, *filter(None, trained)}))


def _changed_since(calibration: Calibration, config: Config, vectors: str) -> str:
    """What makes the stand-in another one than that of the file; empty if nothing does."""
    if calibration.version != __version__:
        return f"it was that of turncheck {calibration.version[:_SHOWN]}"
    if calibration.components is not None and calibration.components != components_of(config):
        return "the pipeline had other components"
    if calibration.vectors is not None and calibration.vectors != vectors:
        if not vectors:
            return "it had sentence vectors"
        return "it had other sentence vectors" if calibration.vectors else "it had no sentence vectors"
    return ""


def components_of(config: Config) -> tuple[str, ...]:
    """Return the names of the pipeline's components."""
    return tuple(component.name for component in config.pipeline or ())


def read_calibration(root: Path) -> Calibration | None:
    """Read the file; ``None`` if there is none.

    Raises:
        UserError: it cannot be read, or is not such a file.
    """
    try:
        content = read_regular(root / CALIBRATION_FILE, most=_MOST_BYTES, inside=root)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(f"cannot be read: {error.strerror or 'the system refuses it'}") from None
    try:
        head = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _unusable("is not JSON") from None
    schema = head.get("schema") if isinstance(head, dict) else None
    if schema != CALIBRATION_SCHEMA:
        raise _unusable(f"has the schema {str(schema)[:80]!r}, this turncheck reads {CALIBRATION_SCHEMA!r}")
    try:
        calibration = msgspec.convert(head, Calibration)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _unusable(f"is not a calibration: {error}") from None
    if fault := _fault_of(calibration):
        raise _unusable(f"is not a calibration: {fault}")
    return calibration


def _fault_of(calibration: Calibration) -> str:
    """What cannot have been measured, since files may be edited by hand; empty if nothing is wrong."""
    agreements, confidences = calibration.agreements, calibration.confidences
    overall = {"sentences": agreements.sentences, "entities": agreements.entities, "stories": agreements.stories}
    for what, parts in (("", overall), ("intent ", agreements.intents), ("entity ", agreements.entity_types)):
        for name, agreement in parts.items():
            if (
                agreement is not None
                and not 0
                <= agreement.both
                <= min(agreement.ours, agreement.theirs)
                <= max(agreement.ours, agreement.theirs)
                <= _MOST
            ):
                numbers = f"both {agreement.both}, ours {agreement.ours}, theirs {agreement.theirs}"
                return f"the numbers of {what}{name[:80]!r} cannot be: {numbers}"
    if confidences is not None and not _is_map(confidences):
        return "its confidences are not two ascending lists of one length, 0 to 1"
    if confidences is not None and confidences.fallbacks is not None and not 0 <= confidences.fallbacks <= 1:
        return f"its share of fallbacks, {confidences.fallbacks:g}, is not between 0 and 1"
    return "" if _is_date(calibration.date) else f"its date is {calibration.date[:80]!r}, not like '2026-11-12'"


def _is_date(written: str) -> bool:
    try:
        return date.fromisoformat(written).isoformat() == written
    except ValueError:
        return False


def _is_map(confidences: ConfidenceMap) -> bool:
    ours, theirs = confidences.ours, confidences.theirs
    ascending = all(left < right for left, right in pairwise(ours)) and list(theirs) == sorted(theirs)
    return 0 < len(ours) == len(theirs) and ascending and all(0 <= one <= 1 for one in (*ours, *theirs))


def _unusable(why: str) -> UserError:
    return UserError(f"{CALIBRATION_FILE} {why}", location=Location(CALIBRATION_FILE, 1), hint=_AGAIN)


def digest_of(config: Config) -> str:
    """Return a digest of pipeline and policies, which changes with any component or parameter."""
    parts = {"pipeline": _named(config.pipeline or ()), "policies": _named(config.policies or ())}
    text = json.dumps({"language": config.language, **parts}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def _named(components: Iterable[Component]) -> list[object]:
    """All parameters except the fallback's thresholds, which training does not use."""
    named = ((component.name, dict(component.parameters)) for component in components)
    return [[name, {} if name.rpartition(".")[2] == "FallbackClassifier" else given] for name, given in named]
