"""What can be said of a project of which a part could not be read.

A fault between two things that could be read stands. What rests on something being absent ("used nowhere", "defined
nowhere") may be false: the missing part may hold it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turncheck.finding import Finding
    from turncheck.project.model import Project

RESPONSES: Final = "responses"
"""A part beside those of ``Project.unreadable``: the responses that NLU files define."""

_BY_PART: Final[Mapping[str, tuple[str, ...]]] = {
    "domain": (
        *("domain-empty", "intent-not-in-domain", "story-intent-undefined", "action-not-in-domain", "action-undefined"),
        *("form-not-in-domain", "form-slot-undefined", "mapping-form-undefined", "slot-named-undefined"),
        *("response-undefined", "listed-response-undefined", "retrieval-response-missing", "response-unused"),
        *("slot-undefined", "entity-undefined", "entity-role-undefined", "mapping-entity-undefined"),
        *("mapping-action-undefined", "mapping-requested-slot-undefined", "mapping-role-undefined"),
        *("mapping-intent-undefined", "used-entity-undefined", "ignored-intent-undefined", "condition-slot-undefined"),
        *("button-intent-undefined", "button-entity-undefined", "action-unused", "slot-unused"),
    ),
    "nlu": (
        *("domain-empty", "intent-without-examples", "entity-unused", "retrieval-examples-missing"),
        *("class-imbalance", "intent-few-examples", "synonym-unreached", "lookup-entry-unseen"),
        *("test-entity-not-extractable", "selector-intent-undefined"),
    ),
    "stories": (
        *("domain-empty", "intent-without-examples", "intent-unused", "response-unused", "action-unused"),
        *("slot-unused", "form-unused", "entity-unused", "story-start-missing", "checkpoint-unused"),
        *("checkpoint-undefined", "story-unreachable", "rule-contradiction"),
    ),
    "config": ("entity-unused", "annotation-misaligned", "synonym-unreached", "test-entity-not-extractable"),
    RESPONSES: (
        *("response-undefined", "listed-response-undefined", "retrieval-response-missing"),
        "mapping-action-undefined",
    ),
}
"""By part: what might be false without it. A longer rule of the missing part may lift a contradiction, too."""


def missing_parts(project: Project) -> frozenset[str]:
    """Return the parts that are incomplete: ``domain``, ``nlu``, ``stories``, ``config``, ``responses``."""
    parts = set(project.unreadable)
    for option in ("domain", "config"):
        if any(finding.code == f"{option}-not-found" for finding in project.findings):
            parts.add(option)
    for file in project.files:
        if file.has_nlu and "responses" in file.kinds and (file.document is None or file.document.findings):
            parts.add(RESPONSES)
    return frozenset(parts)


def standing(findings: Iterable[Finding], missing: frozenset[str]) -> Iterator[Finding]:
    """Leave out what might be false because of the parts that are missing."""
    doubtful = {code for part in missing for code in _BY_PART.get(part, ())}
    return (finding for finding in findings if finding.code not in doubtful)
