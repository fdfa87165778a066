"""Data files that a change deleted, and what was only there: the cause of errors at places that it did not touch."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from turncheck.comparison.changes import DeletedFile
from turncheck.comparison.explanations import LEADING
from turncheck.comparison.renames import KINDS, broken_references

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from turncheck.comparison.changes import ChangedPart, FindingChange
    from turncheck.report.model import Report, TrainingSentence


def deleted_files(
    base: Report,
    head: Report,
    paths: Iterable[str],
    errors: Collection[FindingChange],
    removed: Iterable[ChangedPart],
) -> tuple[DeletedFile, ...]:
    """Return the deleted files with what they had and is nowhere else now.

    Args:
        base: the report of the base.
        head: the report of the change.
        paths: the files that git knows to be deleted, and not moved.
        errors: the errors that the base does not have.
        removed: the parts that only the base has.
    """
    sentences = Counter(sentence.location.path for sentence in _sentences_gone(base, head))
    names = _names_gone(base, head)
    blocks = Counter(part.location.path for part in removed if part.kind in LEADING)
    blamed = {name for error in errors for name in broken_references(error)}
    # What an error explains that names nothing of the file, another fault keeps from running.
    not_run = {one.evaluation for one in head.skipped} - {one.evaluation for one in base.skipped}
    not_run = not_run if all(map(broken_references, errors)) else set()
    found = []
    for path in sorted(set(paths)):
        defined = {name for name, places in names.items() if places == {path}}
        if sentences[path] or blocks[path] or defined:
            broke = not defined.isdisjoint(blamed) or bool(not_run and (sentences[path] or blocks[path]))
            found.append(
                DeletedFile(path=path, sentences=sentences[path], blocks=blocks[path], names=len(defined), broke=broke)
            )
    return tuple(found)


def _sentences_gone(base: Report, head: Report) -> Iterator[TrainingSentence]:
    left = {(sentence.text, sentence.intent) for sentence in head.training_sentences}
    return (one for one in base.training_sentences if (one.text, one.intent) not in left)


def _names_gone(base: Report, head: Report) -> dict[str, set[str]]:
    """The files that defined each name of the base that is gone, or had all sentences of an intent without any now."""
    places: dict[str, set[str]] = {}
    for kind in KINDS:
        there = {item.name for item in head.coverage[kind].items} if kind in head.coverage else set()
        for item in base.coverage[kind].items if kind in base.coverage else ():
            if item.name not in there:
                places.setdefault(item.name, set()).add(item.location.path)
    understood = {sentence.intent.partition("/")[0] for sentence in head.training_sentences}
    of_intents: dict[str, set[str]] = {}
    for sentence in base.training_sentences:
        if (intent := sentence.intent.partition("/")[0]) not in understood:
            of_intents.setdefault(intent, set()).add(sentence.location.path)
    return places | of_intents
