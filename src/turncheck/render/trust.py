"""How closely the stand-in agrees with the team's own model: one line, in every document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turncheck.render.spans import Code, Entry, Prose, line
from turncheck.report.trust import LEAST_AGREEMENT, Agreement, Trust

if TYPE_CHECKING:
    from turncheck.report.model import Report

_COMMAND: Final = Code("turncheck calibrate")
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def trust_entry(report: Report) -> Entry | None:
    """Say how far the engine agrees with the team's Rasa; ``None`` if it is not a stand-in."""
    trust, engine = report.trust, report.engine
    if engine is None or not report.has_stand_in:
        return None
    if not (report.nlu or report.core or report.e2e):
        return None
    if trust is None:
        if not engine.substitutions:
            return None
        models = "Measured with small models of turncheck, not with your Rasa: "
        return Entry(line(models, _COMMAND, " compares the two."))
    if trust.problem:
        entry = line("The comparison with your Rasa is not used: ", Prose(trust.problem))
        return Entry(line(entry, ". Write it again: ", _COMMAND, "."), sign="caution")
    agreements = _agreements(trust)
    low = any(agreement.too_low for agreement, _ in agreements)
    below = f" Below {LEAST_AGREEMENT:.0%} a change has no verdict.".replace("%", " %") if low else ""
    since = f" Its confidences are not fitted to your Rasa's: when compared, {trust.changed}." if trust.changed else ""
    entry = line(Prose(trust_line(trust) + below + since))
    if since:
        entry = line(entry, " Compare again: ", _COMMAND, ".")
    return Entry(entry, sign="caution" if low or trust.outdated or since else "")


def fallback_entry(report: Report) -> Entry | None:
    """Count right, wrong and not understood answers at the pipeline's threshold and with as many fallbacks as Rasa."""
    understood = report.nlu.understood if report.nlu else None
    if understood is None or understood.same_fallbacks is None or understood.threshold is None:
        return None
    same = understood.same_fallbacks
    share = f"{same.share:.1%}".replace("%", " %")
    return Entry(
        line(
            f"After the fallback: {understood.right:,} right, {understood.wrong:,} wrong, {understood.not_understood:,}"
            f" not understood at the pipeline's threshold {understood.threshold:g}; with as many fallbacks as your Rasa"
            f" ({share}): {same.right:,} right, {same.wrong:,} wrong, {same.not_understood:,} not understood."
        )
    )


def trust_line(trust: Trust) -> str:
    """Return it in one sentence: ``The stand-in agrees with your Rasa on 91 % of sentences … (12 Nov 2026).``"""
    shares = ", ".join(f"{_percent(agreement)} of {what}" for agreement, what in _agreements(trust))
    return f"The stand-in agrees with your Rasa on {shares} ({_when(trust)})."


def _agreements(trust: Trust) -> list[tuple[Agreement, str]]:
    known = trust.agreements
    parts = ((known.sentences, "sentences"), (known.entities, "entities"), (known.stories, "stories"))
    return [(agreement, what) for agreement, what in parts if agreement is not None and agreement.share is not None]


def _percent(agreement: Agreement) -> str:
    """Not rounded to 100 % if anything differs, nor to 0 % if anything agrees."""
    share = agreement.share or 0.0
    shown = round(100 * share)
    if shown == 100 and share < 1:
        shown = 99
    if shown == 0 and share > 0:
        shown = 1
    return f"{shown} %"


def _when(trust: Trust) -> str:
    year, month, day = (trust.date or "0-0-0").split("-")
    shown = f"{int(day)} {_MONTHS[int(month) - 1]} {year}" if trust.date else "on an unknown day"
    return f"{shown}, before pipeline or policies changed" if trust.outdated else shown
