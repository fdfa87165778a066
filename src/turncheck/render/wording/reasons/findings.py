"""Why a gate about findings ended as it did."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from turncheck.gates.findings import severity_of
from turncheck.gates.judged import Findings
from turncheck.messages.finding import LEGACY_PROJECT
from turncheck.messages.phrasing import count
from turncheck.render.wording import tests as wording
from turncheck.render.wording.changes import old_in_words, suppressed_in_words
from turncheck.render.wording.reasons.context import Context, hidden_on_base, no_base, not_run

if TYPE_CHECKING:
    from turncheck.comparison.model import Comparison
    from turncheck.gates.judged import JudgedGate
    from turncheck.render.wording.reasons.context import Reasons


def _none_found(gate: JudgedGate, context: Context) -> str:
    new = " that the base does not have" if context.compared else f"; {context.none}"
    return f"no {severity_of(gate.gate)}s in the data{new if gate.gate.new else ''}"


def _found(gate: JudgedGate, context: Context) -> str:
    return "; ".join(_in_words(gate, context.compared))


def new_errors_in_words(gate: JudgedGate, context: Context, first: str = "") -> str:
    """Return ``7 errors in the data that the base does not have``; ``first``: what is said of them after that."""
    if context.compared:
        return "; ".join(_in_words(gate, None, f" that the base does not have{first}"))
    return f"{'; '.join(_in_words(gate, None, first))}; {context.none}, so every {severity_of(gate.gate)} counts as new"


def _new_not_known(gate: JudgedGate, context: Context) -> str:
    return f"{'; '.join(_in_words(gate, None))}; {context.none}, so it is not known which are new"


def _in_words(gate: JudgedGate, compared: Comparison | None, more: str = "") -> list[str]:
    return [*chain(*(errors_in_words(fact, compared, more) for fact in gate.facts if isinstance(fact, Findings)))]


def errors_in_words(findings: Findings, compared: Comparison | None, more: str = "") -> list[str]:
    """What the data of a severity are at fault with; of a project of an older Rasa that comes first.

    ``more``: said of those in the data, not of what could not be run because of them.
    """
    found = findings.found
    older = [f"This is a Rasa {one.names[0].name} project" for one in found if one.code == LEGACY_PROJECT and one.names]
    old = old_in_words(found, compared, findings.severity)
    counts = [f"{count(len(found), findings.severity)} in the data{old}{more}"] if found else []
    return [*older, *counts, *([wording.faults_in_words(findings.faults)] if findings.faults else [])]


REASONS: Final[Reasons] = {
    "no findings": _none_found,
    "found": _found,
    "new": new_errors_in_words,
    "new not known": _new_not_known,
    "hidden on base": hidden_on_base,
    "not validated": not_run,
    "no base": no_base,
    "suppressed": lambda _, context: suppressed_in_words(context.compared.new_suppressions if context.compared else ()),
    "none suppressed": "no error is newly suppressed",
    "suppressions not known": "the baseline's report is of an older version, which does not say what is suppressed",
}
