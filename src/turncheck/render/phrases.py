"""The phrases that every document uses, each worded once: what was expected and what came, what was understood."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turncheck.comparison.misunderstood import ELSE, expected_and_predicted
from turncheck.comparison.wording import EXPECTED, GOT
from turncheck.render.spans import Code, Place, Prose, Said, line
from turncheck.report.end_to_end import FALLBACK

if TYPE_CHECKING:
    from turncheck.comparison.changes import CaseChange
    from turncheck.messages.location import Location
    from turncheck.render.spans import Line
    from turncheck.report.model import Misunderstanding


def expected_got(expected: str, got: str, remark: str = "") -> Line:
    """``expected X, got Y``; if nothing came, the ``remark`` says why."""
    if not expected:  # no step failed: something kept the case from being run to its end
        return line(Prose(got))
    if not got:
        return line(EXPECTED, Code(expected), ", but ", Prose(remark))
    return line(EXPECTED, Code(expected), GOT, Code(got), line(" ", Prose(remark)) if remark else ())


def expected_intent(sentence: str, expected: str, got: str, confidence: float | None = None, *, was: str = "") -> Line:
    """``'hello': expected greet, got goodbye (0.71)``; ``was``: a further remark on the sentence."""
    wrong = line(EXPECTED, Code(expected), GOT, Code(got) if got else "no intent")
    return line(Said(sentence), was, ": ", wrong, sure(confidence))


def understood_as(sentence: str, expected: str, got: str, *, case: bool) -> Line:
    """What should have been understood of a sentence, and what was; of an end-to-end case the base says the former."""
    return line(Said(sentence), ": ", expected_understood(expected, got, case=case))


def expected_understood(expected: str, got: str, *, case: bool, near: str = "") -> Line:
    """The same without the sentence; ``near``: the training sentence that it was like on the base."""
    wanted, found = ("on the base ", ", now ") if case else (EXPECTED, GOT)
    return line(wanted, understood(expected), line(", like ", Said(near)) if near else (), found, understood(got))


def understood(text: str) -> Line:
    """What a message was understood as; for a fallback also the intent that was not sure enough, each as a string."""
    fallback, separator, intent = text.partition(ELSE)
    if separator and fallback == FALLBACK:
        return line(Code(fallback), f", below the threshold{ELSE}", Code(intent))
    return line(Code(text))


def also_misunderstood(sentence: Misunderstanding, *, case: bool) -> Line:
    """What is wrong with a test that fails for other reasons, too."""
    near = sentence.neighbours[0].text if case and sentence.neighbours else ""
    wrong = expected_understood(*expected_and_predicted(sentence), case=case, near=near)
    return line("also misunderstood: ", Said(sentence.text), ": ", wrong)


def heard(case: CaseChange) -> Line:
    """What the user said before an end-to-end case failed, and what it is and was understood as; may be empty."""
    if not case.said or not case.understood:
        return ()
    return understood_now_and_then(case.said, case.understood, case.base_understood)


def understood_now_and_then(said: str, now: str, on_base: str = "") -> Line:
    """What a message is understood as, and what it was on the base, if known."""
    if on_base == now:
        base = line(", as on the base")
    else:
        base = line("; on the base as ", understood(on_base)) if on_base else ()
    return line(Said(said), " is understood as ", understood(now), base)


def nearest(text: str, intent: str, location: Location, how: str = "near") -> Line:
    """The training sentence that drew another one away, with its intent and place."""
    return line(f"; {how} ", Said(text), " (", Code(intent), ", ", Place(location), ")")


def sure(confidence: float | None) -> str:
    """``(0.71)``, if the engine's confidence is known."""
    return f" ({confidence:.2f})" if confidence is not None else ""
