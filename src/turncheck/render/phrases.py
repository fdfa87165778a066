"""The phrases that every document uses, each worded once: what was expected and what came, what was understood."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from turncheck.comparison.misunderstood import ELSE, expected_and_predicted
from turncheck.messages.phrasing import count
from turncheck.render.sinks import terminal
from turncheck.render.sinks.terminal import text
from turncheck.render.spans import Code, Line, PlaceSpan, Prose, Said, line
from turncheck.render.wording.figures import EXPECTED, GOT
from turncheck.render.wording.tests import names_of
from turncheck.report.conversations import FALLBACK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

    from turncheck.comparison.changes import CaseChange
    from turncheck.comparison.model import Overlap
    from turncheck.messages.finding import Location
    from turncheck.report import model


def moment(written: str) -> str:
    """Return date and time for people: ``2026-01-05 17:43 UTC``; what is not written as ISO 8601 stays as it is."""
    try:
        at = datetime.fromisoformat(written)
    except ValueError:
        return text(written, 100)
    if at.tzinfo is None or "T" not in written:
        return text(written, 100)
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


LISTEN: Final = "action_listen"
"""The action by which a bot waits for the user: who designs conversations need not know it."""


def expected_got(expected: str, got: str, remark: str = "") -> Line:
    """``expected X, got Y (remark)``; if nothing came, the ``remark`` says why. Waiting is said in words."""
    if not expected:  # no step failed: something kept the case from being run to its end
        return line(Prose(got))
    if not got:
        return line(EXPECTED, Code(expected), ", but ", Prose(remark))
    because = line(" (", Prose(remark), ")") if remark else ()
    if expected == LISTEN:
        does = "says" if got.startswith("utter_") or " " in got else "runs"  # a text has spaces
        return line(f"the bot should have stopped and waited for the user; it also {does} ", Code(got), because)
    if got == LISTEN:
        return line(EXPECTED, Code(expected), ", but the bot waits for the user", because)
    return line(EXPECTED, Code(expected), GOT, Code(got), because)


def expected_intent(sentence: str, expected: str, got: str, confidence: float | None = None, *, was: str = "") -> Line:
    """``'hello': expected greet, got goodbye (0.71)``; ``was``: a further remark on the sentence."""
    wrong = line(EXPECTED, Code(expected), GOT, Code(got) if got else "no intent")
    return line(Said(sentence), was, ": ", wrong, confidence_text(confidence))


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


def also_misunderstood(sentence: model.Misunderstanding, *, case: bool) -> Line:
    """What is wrong with a test that fails for other reasons, too."""
    near = sentence.neighbours[0].text if case and sentence.neighbours else ""
    wrong = expected_understood(*expected_and_predicted(sentence), case=case, near=near)
    return line("also misunderstood: ", Said(sentence.text), ": ", wrong)


def heard(case: CaseChange) -> Line:
    """What the user said before an end-to-end case failed, and what it is and was understood as; may be empty."""
    if not case.said or not case.understood:
        return ()
    return parse_and_base_parse(case.said, case.understood, case.base_understood)


def parse_and_base_parse(said: str, now: str, on_base: str = "") -> Line:
    """What a message is understood as, and what it was on the base, if known."""
    if on_base == now:
        base = line(", as on the base")
    else:
        base = line("; on the base as ", understood(on_base)) if on_base else ()
    return line(Said(said), " is understood as ", understood(now), base)


def nearest(text: str, intent: str, location: Location, how: str = "near") -> Line:
    """The training sentence that drew another one away, with its intent and place."""
    return line(f"; {how} ", Said(text), " (", Code(intent), ", ", PlaceSpan(location), ")")


def confidence_text(confidence: float | None) -> str:
    """``(0.71)``, if the engine's confidence is known."""
    return f" ({confidence:.2f})" if confidence is not None else ""


# What is below a wrong step of a story: where it is, what else was considered, slots and active loop.

_LONGEST: Final = 120
_LONGEST_VALUE: Final = 40


class Shown(Protocol):
    """Fits text into the place where it is shown: one line, at most this many characters."""

    def __call__(self, value: str, limit: int, /) -> str:
        """Return the text."""


def circumstances(step: model.StoryStep, shown: Shown) -> Iterator[str]:
    """Yield a line for each thing that is known about the point where a prediction went wrong."""

    def short(value: str) -> str:
        return shown(value, _LONGEST)

    if step.location:
        yield f"at {short(str(step.location))}"
    if step.alternatives:
        others = (f"{short(other.action)} {other.confidence:.2f}" for other in step.alternatives)
        yield f"also considered: {', '.join(others)}"
    if step.slots:
        values = (f"{short(name)}={shown(repr(value), _LONGEST_VALUE)}" for name, value in step.slots.items())
        yield f"slots: {', '.join(values)}"
    if step.active_loop:
        yield f"active loop: {short(step.active_loop)}"
    if step.text:
        yield f"said: {short(step.text)}"


# What an engine runs instead of the assistant's own components, in plain lines.


def substitution_lines(substitutions: Iterable[model.Substitution]) -> Iterator[str]:
    """Yield a line for each component that was replaced or left out: by what, and why."""
    for substitution in substitutions:
        used = f"replaced by {text(substitution.used)}" if substitution.used else "left out"
        yield f"{text(substitution.component)} is {used}: {text(substitution.reason, 400)}"


def engine_lines(engine: model.EngineInfo) -> Iterator[str]:
    """Yield the substitutions, and other remarks on the engine."""
    yield from substitution_lines(engine.substitutions)
    for note in engine.notes:
        yield text(note, 400)


# The Rasa version that a project is written for, and what shows it: the first line on the terminal.

_SHOWN: Final = 1
_WIDTH: Final = 300


def version_line(project: model.ProjectInfo, folder: str = "") -> str:
    """Return the line with a line break, "" if nothing is known. ``folder`` is put before the paths: then they open."""
    if project.rasa_version is None:
        return ""
    shown = f" ({_listed(project.rasa_signs, folder)})" if project.rasa_signs else ""
    others = project.rasa_others
    mixed = f", mixed with another version ({_listed(others, folder)})" if others else ""
    return f"Rasa {project.rasa_version} project{shown}{mixed}\n"


def _listed(signs: tuple[model.VersionSign, ...], folder: str) -> str:
    words = "; ".join(
        f"{terminal.place(sign.location, folder)}: {terminal.text(sign.what, _WIDTH)}" for sign in signs[:_SHOWN]
    )
    return f"{words}; and {len(signs) - _SHOWN} more" if len(signs) > _SHOWN else words


# How much of a Kore.ai assistant is tested, in plain lines.

KIND_NAMES: Final = {
    "dialog": "dialogs",
    "faq": "FAQs",
    "small_talk": "small talk",
    "trait": "traits",
    "entity": "entities",
}
POOLED: Final = "dialogs, FAQs and small talk pooled"
MEAN: Final = "mean of the kinds"


# Intents that cross-validation left out, and how to get them judged.

_MOST: Final = 5
_FEWEST_FOLDS: Final = 2


def unjudged_remark(nlu: model.Nlu) -> str | None:
    """Return one sentence about all of them, ``None`` if every intent was judged."""
    left_out = sorted(nlu.unjudged, key=lambda entry: (-entry.examples, entry.intent))
    if not left_out:
        return None
    shown = ", ".join(f"'{entry.intent[:80]}' ({entry.examples})" for entry in left_out[:_MOST])
    more = f" and {len(left_out) - _MOST:,} more" if len(left_out) > _MOST else ""
    verb = "was" if len(left_out) == 1 else "were"
    words = f"{count(len(left_out), 'intent')} {verb} not judged, with fewer examples than folds ({nlu.folds})"
    return f"{words}: {shown}{more}. {_hint(left_out)}"


def why_unjudged(entry: model.UnjudgedIntent, folds: int | None) -> str:
    """Return the remark on one intent."""
    return f"not judged: {count(entry.examples, 'example')}, fewer than folds ({folds})"


def _hint(left_out: list[model.UnjudgedIntent]) -> str:
    """The number of folds with which most of them are judged: as many as the smallest of them has examples."""
    enough = [entry.examples for entry in left_out if entry.examples >= _FEWEST_FOLDS]
    if not enough:
        return "Write more examples: an intent with one cannot be judged."
    who = "them" if len(enough) == len(left_out) else "all but those with one example"
    return f"--folds {min(enough)} judges {who}."


# A remark for when judged sentences were trained on: in which direction the figures are off.


class OverlapRemark(Struct, frozen=True):
    """A sentence on one kind of overlap, and whether the change brought any of it."""

    in_words: str
    new: bool


def how_judged(nlu: model.Nlu) -> str:
    """Say in a few words what kind of sentences was judged; a sentence that was trained on is not held out."""
    if nlu.mode == "cross-validation":
        return f"{nlu.folds}-fold cross-validation"
    if nlu.on_training_sentences == nlu.examples:
        return "all of them training sentences"
    is_held_out = not nlu.on_training_sentences and not nlu.under_other_intents
    return "held out" if is_held_out else "some of them training sentences"


def overlap_remarks(nlu: model.Nlu, base: Overlap | None = None) -> Iterator[OverlapRemark]:
    """Yield a sentence for each kind of overlap; without a ``base`` all of it is new.

    Copies of training sentences among these, one of which is judged and one learnt, are how cross-validation measures.
    """
    copies, contradicted = nlu.on_training_sentences, nlu.under_other_intents
    more_copies = base is None or copies > base.on_training_sentences
    more_contradicted = base is None or contradicted > base.under_other_intents
    folded = nlu.mode == "cross-validation"
    if copies:
        of = f"{copies:,} of {count(nlu.examples, 'sentence' if folded else 'test sentence')}"
        if folded:
            verb = "repeats" if copies == 1 else "repeat"
            words = f"{of} {verb} the words of another one in the same intent, which makes them easy: the figures are a"
            words += " little too good."
        else:
            verb = "appears" if copies == 1 else "appear"
            words = f"{of} also {verb} in the training data: the figures are optimistic."
        yield OverlapRemark(words, more_copies and not folded)
    if contradicted:
        of = f"{contradicted:,} of {count(nlu.examples, 'sentence' if folded else 'test sentence')}"
        verb = "appears" if contradicted == 1 else "appear"
        where = "in the data" if folded else "in the training data"
        words = f"{of} also {verb} {where} under another intent: no model can get all of these right."
        yield OverlapRemark(words, more_contradicted)


def skipped_by_cause(
    skipped: Iterable[model.Skipped], reported: AbstractSet[Location | None] = frozenset()
) -> list[tuple[str, model.Skipped, str]]:
    """Group evaluations that did not run for the same reason: their names, one of them, and the reason.

    Args:
        skipped: those that did not run, or not all of them.
        reported: places whose faults the same document lists; the reason then only refers to them.
    """
    groups: dict[tuple[bool, str], list[model.Skipped]] = {}
    for entry in skipped:
        groups.setdefault((entry.part, entry.reason), []).append(entry)
    return [
        (
            names_of(one.evaluation for one in group),
            group[0],
            _reported_above(group[0].location) if group[0].location in reported and group[0].fault else group[0].reason,
        )
        for group in groups.values()
    ]


def _reported_above(location: Location | None) -> str:
    """A cause that the same document names; what it hides is not known yet."""
    return f"because of {location}; others may show once it is fixed"
