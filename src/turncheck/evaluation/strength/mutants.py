"""All mutants of a project, in an order that depends only on its files and the seed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from turncheck.evaluation.strength.config_faults import config_faults
from turncheck.evaluation.strength.domain_faults import domain_faults
from turncheck.evaluation.strength.mutant import is_changed
from turncheck.evaluation.strength.sentence_faults import sentence_faults
from turncheck.evaluation.strength.story_faults import story_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turncheck.evaluation.strength.mutant import Lines, Mutant
    from turncheck.project.model import Project


def mutants_of(project: Project, seed: int, changed: Lines | None = None) -> list[Mutant]:
    """Return all mutants, shuffled by the seed: the first ones are a fair sample of all.

    With ``changed``, line numbers by file: only the mutants of these lines.

    The position of a mutant depends only on itself and the seed, so that a change elsewhere in the project does not
    affect the order of the others.
    """
    found = {mutant.key: mutant for mutant in _all(project, seed, changed) if changed is None or is_in(mutant, changed)}
    return sorted(found.values(), key=lambda mutant: (_chance(mutant, seed), mutant.key))


def _all(project: Project, seed: int, changed: Lines | None) -> Iterator[Mutant]:
    yield from sentence_faults(project, seed, changed)
    yield from domain_faults(project)
    yield from story_faults(project)
    yield from config_faults(project)


def _chance(mutant: Mutant, seed: int) -> str:
    # Without the line number: what was only moved keeps its position.
    words = f"{seed}/{mutant.operator.name}/{mutant.location.path}/{mutant.what}"
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def is_in(mutant: Mutant, changed: Lines) -> bool:
    """Whether a mutant concerns one of these lines, by file."""
    return any(is_changed(place, changed) for place in mutant.places or (mutant.location,))
