"""One case, finding, gate … as one entry of a list: what it says, independent of the output format."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from msgspec import UnsetType
from msgspec.structs import replace

from turncheck.comparison import changes, losses
from turncheck.messages.finding import Finding, Location
from turncheck.messages.phrasing import count
from turncheck.render import phrases
from turncheck.render.case_keys import key_of_sentence, key_of_test, key_of_text
from turncheck.render.cause_entries import causes_of, causes_of_finding, causes_of_sentence, explained_by
from turncheck.render.spans import PROSE_LIMIT, Code, Entry, Line, PlaceSpan, Prose, Said, at, line, listed
from turncheck.render.strength_notes import variant_line
from turncheck.render.wording.changes import with_it
from turncheck.render.wording.newly_judged import WHAT, details, outcome_in_words
from turncheck.render.wording.repeats import runs_in_words
from turncheck.render.wording.tests import HeldTest, quarantine_in_words, with_copy_count
from turncheck.report.model import CaseResult, NluPrediction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from turncheck.comparison.model import ChangedItem, EditedTest, Renamed
    from turncheck.render.grouping import Test
    from turncheck.render.wording.verdict import FailedBy, GateResult
    from turncheck.report.model import MutantResult, SentenceUnderNoise, Skipped, Substitution


_MOST_BEHIND: Final = 5
"""A failed gate names this many of the things that failed it; all of them are in verdict.json."""
_MOST_SHOWN: Final = 4
"""Sentences on each side of a collision, or tests that fail the same way; all of them are in comparison.json."""
_LONG: Final = 120
_MOST_ALIKE: Final = 20
"""Of texts that are longer, so much is shown of what both begin with."""
_MOST_FOLDED: Final = 50
"""At most this many entries are built below an entry."""
_PLURALS: Final = {"story": "stories", "end-to-end case": "end-to-end cases"}
_VERBS: Final = {
    "unchanged": "like",
    "unknown": "like",
    "relabelled": "now in",
    "copied": "new in",
    "added": "new in",
    "removed": "removed from",
}
_WAS: Final = {"relabelled": "was", "copied": "like one of"}
"""How a sentence is related to its other intent."""


def sentence(case: changes.CaseChange) -> Entry:
    """A test sentence that is wrong, or right now."""
    was = _newness(case)
    key = key_of_sentence(case.name, case.expected)
    if case.passed:
        spans = line(Said(case.name), was, ": ", Code(case.expected), " is right now")
        return Entry(spans, at(case.location), below=tuple(causes_of(case, wrong="is misunderstood")), case=key)
    wrong = phrases.expected_intent(case.name, case.expected, case.actual, case.confidence, was=was)
    spans = line(wrong, f" ({runs_in_words(case.repeats)})") if not isinstance(case.repeats, UnsetType) else wrong
    below = (*causes_of(case, "is understood"), *map(training, case.because))
    return Entry(spans, at(case.location), below=below, case=key)


def _newness(case: changes.CaseChange) -> str:
    """Whether a sentence is another than on the base, new, or was not judged there: its intent had too few."""
    if case.edits and case.edits != ("moved",):
        return " (edited)"
    if case.base_passed is not None:
        return ""
    return " (new)" if case.base_location is None else " (not judged on the base)"


def survivor(mutant: MutantResult) -> Entry:
    """A mutant that nothing notices."""
    return Entry(line(Prose(mutant.what)), at(mutant.location), label=mutant.operator)


def under_noise(sentence: SentenceUnderNoise) -> Entry:
    """A sentence, and what became of its variants."""
    entry = line(Said(sentence.text), " (", Code(sentence.intent), ")")
    below = tuple(Entry(variant_line(variant, sentence.intent)) for variant in sentence.failed)
    return Entry(entry, at(sentence.location), below=below, case=key_of_sentence(sentence.text, sentence.intent))


def losing(test: losses.Test) -> Entry:
    """A test of which more runs fail than on the base, though by itself that may be chance."""
    runs = "" if isinstance(test.repeats, UnsetType) else f": {runs_in_words(test.repeats, in_short=True)}"
    if isinstance(test, CaseResult):
        key = key_of_test("end-to-end case", test.name)
        return Entry(line(Code(test.name), runs), at(test.location), case=key, trace=test.trace_id)
    key = (
        key_of_sentence(test.text, test.expected.intent or "")
        if isinstance(test, NluPrediction)
        else key_of_test("batch case", test.text)
    )
    return Entry(line(Said(test.text), runs), at(test.location), case=key)


def step(kind: str, case: changes.CaseChange) -> Entry:
    """A story, end-to-end or batch case, with its first failed step."""
    head, key = _test(kind, case), key_of_test(kind, case.name)
    below = tuple(causes_of(case))
    if case.misunderstood:
        passes = "it passes with its messages understood as on the base" if case.again else "the dialogue passes"
        return Entry(line(head, f": {passes}, a sentence is misunderstood"), at(case.location), below=below, case=key)
    if case.passed or not (case.expected or case.actual):
        return Entry(head, at(case.location), below=below, case=key, trace=case.trace or "")
    spans = line(head, ": ", phrases.expected_got(case.expected, case.actual, case.remark))
    return Entry(spans, at(case.location), below=tuple(_below_case(case)), case=key, trace=case.trace or "")


def _below_case(case: changes.CaseChange) -> list[Entry]:
    """What the user said before the case failed, what else is misunderstood, and how often it was tried."""
    below = [Entry(phrases.heard(case))] if phrases.heard(case) else []
    below += causes_of(case)
    below += [
        Entry(phrases.also_misunderstood(sentence, case=bool(case.again)), at(sentence.location))
        for sentence in case.sentences
    ]
    return [*below, Entry(line(case.again))] if case.again else below


def misunderstood_in_case(sentence: changes.MisunderstoodSentence) -> Entry:
    """A sentence that makes end-to-end cases fail: what it was and is understood as."""
    return _keeps_from_passing(sentence, _kept("end-to-end case", sentence), case=True)


def newly_misunderstood(
    sentence: changes.MisunderstoodSentence, in_cases: changes.MisunderstoodSentence | None = None
) -> Entry:
    """A neighbour that the change added: a sentence that it did not touch is not the cause."""
    return misunderstood(sentence, in_cases, not_new=True)


def misunderstood(
    sentence: changes.MisunderstoodSentence,
    in_cases: changes.MisunderstoodSentence | None = None,
    *,
    not_new: bool = False,
) -> Entry:
    """A sentence that makes stories fail: what was expected and what was understood.

    ``in_cases``: the same for a sentence that makes end-to-end cases fail.
    """
    spoilt = _kept("story", sentence)
    if in_cases is not None:
        spoilt = line(spoilt, " and ", _kept("end-to-end case", in_cases))
    return _keeps_from_passing(sentence, spoilt, not_new=not_new)


def _kept(kind: str, sentence: changes.MisunderstoodSentence) -> Line:
    """The tests of a kind that fail because of a sentence: ``2 stories `a`, `b` ``."""
    names = listed(line(Code(story.name)) for story in sentence.stories[:_MOST_SHOWN])
    more = sentence.number - len(sentence.stories[:_MOST_SHOWN])
    number = kind if sentence.number == 1 else f"{sentence.number:,} {_PLURALS[kind]}"
    return line(f"{number} ", names, f" and {more:,} more" if more else "")


def _keeps_from_passing(
    sentence: changes.MisunderstoodSentence, spoilt: Line, *, case: bool = False, not_new: bool = False
) -> Entry:
    """A sentence that makes tests fail, those tests, and what drew it away."""
    if not sentence.expected:
        return Entry(line(spoilt, ": the imported files do not say which sentence"), at(sentence.location))
    wrong = phrases.expected_understood(sentence.expected, sentence.predicted, case=case)
    spans = line(Said(sentence.text), ": ", wrong, phrases.confidence_text(sentence.confidence), " in ", spoilt)
    reasons = (*causes_of_sentence(sentence), *(training(change, not_new=not_new) for change in sentence.because))
    key = key_of_test("end-to-end case" if case else "story", sentence.stories[0].name) if sentence.stories else ""
    return Entry(spans, at(sentence.location), below=reasons, case=key)


def steps(tests: Sequence[Test]) -> Entry:
    """Tests that fail the same way, as one entry: what went wrong, then which tests fail because of it."""
    if len(tests) == 1:
        return step(*tests[0])
    _, first = tests[0]
    kinds = Counter(kind for kind, case in tests for _ in range(case.number))
    counted = " and ".join(count(number, kind, _PLURALS.get(kind)) for kind, number in kinds.items())
    alike = all(case.remark == first.remark for _, case in tests)
    spans = phrases.expected_got(first.expected, first.actual, first.remark if alike or not first.actual else "")
    alike_causes = dict.fromkeys(case.causes for _, case in tests)
    shared = causes_of(first) if len(alike_causes) == 1 else []
    below = [*shared, *(_named_test(*test, causes=not shared) for test in tests)]
    return _with_below(Entry(line(f"{counted}: ", spans)), below)


_DONE_TO_PART: Final = {
    "unused": " is still configured, but not run: nothing that the engine trains uses it now",
    "used": " is run now: on the base, nothing that the engine trained used it",
}


def changed_part(part: changes.ChangedPart) -> Entry:
    """A component or policy that the change edited, added, removed or moved, or that is run now or not any more."""
    done = _DONE_TO_PART.get(part.change, f" was {part.change} in this change")
    spans = line(f"{changes.SINGULAR.get(part.kind, 'part')} ", Code(part.name), done)
    return Entry(spans, at(part.location, on_base=part.change == "removed"))


def _named_test(kind: str, case: changes.CaseChange, *, causes: bool = False) -> Entry:
    spans = line(_test(kind, case), line(": ", phrases.heard(case)) if phrases.heard(case) else ())
    below = tuple(causes_of(case)) if causes else ()
    return Entry(spans, at(case.location), below=below, case=key_of_test(kind, case.name), trace=case.trace or "")


def _not_run_there(case: changes.CaseChange) -> list[str]:
    """What is said of a case that the base has and did not run, unless it is compared with earlier runs."""
    return [] if not isinstance(case.repeats, UnsetType) and case.repeats.base else ["not run on the base"]


def _test(kind: str, case: changes.CaseChange) -> Line:
    edits = [edit for edit in case.edits if edit != "moved"]
    new = [] if case.base_passed is not None else ["new"] if case.base_location is None else _not_run_there(case)
    remark = line(f" ({', '.join([*new, *edits])}", _elsewhere(case), ")") if new or edits else ()
    is_new = case.base_location is None
    runs = "" if isinstance(case.repeats, UnsetType) else f": {runs_in_words(case.repeats, is_new=is_new)}"
    return line(f"{kind} ", Code(case.name), remark, f"{with_copy_count(case)}{runs}")


def quarantined(failing: HeldTest) -> Entry:
    """A test that fails and does not count, with who looks after it, until when, and why."""
    runs = "" if isinstance(failing.repeats, UnsetType) else f" ({runs_in_words(failing.repeats)})"
    held = Prose(quarantine_in_words(failing.entry), 300)
    spans = line(f"{failing.kind} ", Code(failing.name), f"{runs}, ", held)
    key = "" if failing.kind == "sentence" else key_of_test(failing.kind, failing.name)
    return Entry(spans, at(failing.location), case=key)


def labelled(what: str, case: changes.CaseChange) -> Entry:
    """A sentence with its entities or its response."""
    spans = (
        line(Code(case.expected), " is right now")
        if case.passed
        else phrases.expected_got(case.expected, case.actual, "" if case.actual else "none is selected")
    )
    return Entry(
        line(f"{what} of ", Said(case.name), _newness(case), ": ", spans),
        at(case.location),
        below=tuple(causes_of(case, "is right", "is wrong")),
        case=key_of_text(case.name),
    )


def edited(kind: str, case: changes.CaseChange) -> Entry:
    """A case that was edited, with its result on both sides."""
    was = _side(case.base_passed, case.base_misunderstood)
    sides = f"{was} on the base, {_side(case.passed, case.misunderstood)} now"
    how = " and ".join(case.edits)
    key = key_of_sentence(case.name, case.expected) if kind == "sentence" else key_of_test(kind, case.name)
    same = line(", says the same as ", Code(case.copy_of), " now") if case.copy_of else ()
    copies = with_copy_count(case)
    spans = line(f"{kind} ", Code(case.name), f" ({how}", _elsewhere(case), f"){copies}: {sides}", same)
    return Entry(spans, at(case.location), case=key, trace=case.trace or "")


def edited_unrun(test: EditedTest) -> Entry:
    """A test that was edited, and that no engine ran."""
    spans = line("test case ", Code(test.name), " (edited", _elsewhere(test), ")")
    return Entry(spans, at(test.location))


def _elsewhere(case: changes.CaseChange | EditedTest) -> Line:
    """In which other files a test was edited."""
    shown = listed(line(Code(path)) for path in case.edited_in[:_MOST_SHOWN])
    more = len(case.edited_in) - _MOST_SHOWN
    return line(" in ", shown, f" and {count(more, 'file')} more" if more > 0 else "") if shown else ()


def gone(kind: str, case: changes.CaseChange) -> Entry:
    """A test that only the base has."""
    was = "misunderstood" if case.base_misunderstood else "passed" if case.base_passed else "failed"
    spans = line(f"{kind} ", Code(case.name), f"{with_copy_count(case)}, {was} on the base")
    return Entry(spans, at(case.base_location, on_base=True))


def training(change: changes.TrainingChange, *, not_new: bool = False) -> Entry:
    """A training sentence that explains something: one of the change, or one that a new sentence looks like.

    Args:
        change: the sentence.
        not_new: whether to say of an older sentence that it is not new: it is not a cause.
    """
    was = line(f", {_WAS[change.change]} ", Code(change.was or "")) if change.change in _WAS else ()
    unchanged = " (not changed by this pull request)" if not_new and change.change == "unchanged" else ""
    spans = line(f"{_VERBS[change.change]} ", Code(change.intent), was, ": ", Said(change.text), unchanged)
    return Entry(spans, at(change.location, on_base=change.change == "removed"))


def collision(collision: changes.Collision) -> Entry:
    """Two intents that began to collide, and which sentences did it."""
    one, other = collision.intents
    wrong = f" ({count(collision.newly_wrong, 'sentence')} newly misclassified)"
    head = line(Code(one), " and ", Code(other), " now collide")
    if not collision.sentences or not collision.like:
        return Entry(line(head, wrong))
    resemble = "resembles" if len(collision.sentences) == 1 else "resemble"
    those = count(len(collision.like), "sentence")
    below = [training(change) for change in collision.sentences[:_MOST_SHOWN]]
    below += _more(len(collision.sentences))
    below += [
        Entry(line("like ", Code(like.intent), ": ", Said(like.text)), at(like.location))
        for like in collision.like[:_MOST_SHOWN]
    ]
    below += _more(len(collision.like))
    words = f": {_these(collision.sentences)} {resemble} {those} of the other{wrong}"
    return Entry(line(head, words), below=tuple(below))


_TOGETHER: Final = {
    "rule-contradiction": "rules and stories contradict each other",
    "story-conflict": "conflicts of the same stories",
}
"""What many findings of a code are together, if each of them names the others."""
_LONGEST_OF_MANY: Final = 160


def findings(
    found: Sequence[Finding | changes.FindingChange], *, advises: bool = True, because: Sequence[Test] = ()
) -> Entry:
    """Findings about one thing, as one entry: the first with what to do, below it the others and what fails by it."""
    first, *others = found
    tests = explained_by(first, [(case, _named_test(kind, case)) for kind, case in because])
    below = list(tests)
    below += causes_of_finding(first) if isinstance(first, changes.FindingChange) else []
    told = {test.place for test in tests}
    places = () if others else map(PlaceSpan, first.others)
    below += [Entry(place=place) for place in places if place not in told]
    together = _TOGETHER.get(first.code) if len(found) > _MOST_SHOWN else None
    limit = _LONGEST_OF_MANY if together else PROSE_LIMIT
    below += [
        Entry(line(_message(one, limit)), at(one.location), label=one.code if one.code != first.code else "")
        for one in others
    ]
    spans = line(f"{len(found):,} {together}: " if together else (), _message(first, limit))
    hint = first.hint if advises else ""
    entry = Entry(spans, at(first.location), sign=first.severity, label=first.code, hint=hint)
    return _with_below(entry, below)


def suppression(finding: changes.FindingChange) -> Entry:
    """A finding that this change suppresses."""
    return Entry(line(_message(finding)), at(finding.location), sign=finding.severity, label=finding.code)


_DONE_TO_COMPONENT: Final = {"added": "added to", "removed": "removed from", "moved": "moved in"}


def unseen(engine: str, change: changes.UnseenChange) -> Entry:
    """A change of the configuration that the engine cannot judge."""
    on_base = change.location is None
    location = change.location or change.base_location
    what = _parameter(change) if change.parameter else _unseen_component(change)
    spans = line(what, "; the ", Prose(engine, 60), " engine cannot judge that")
    return Entry(spans, at(location if location and location.path else None, on_base=on_base), sign="caution")


def _parameter(change: changes.UnseenChange) -> Line:
    base, value = Code(change.base, 60), Code(change.value, 60)
    done = {
        "changed": line(" was changed from ", base, " to ", value),
        "added": line(" was set to ", value),
        "removed": line(" was removed (", base, " on the base)"),
    }[change.change]
    return line(Code(change.parameter), " of ", Code(change.component), done)


def _unseen_component(change: changes.UnseenChange) -> Line:
    if change.change == "replaced":
        return line(Code(change.component), " took the place of ", Code(change.base))
    return line(Code(change.component), f" was {_DONE_TO_COMPONENT[change.change]} the configuration")


def deleted_file(file: changes.DeletedFile) -> Entry:
    """A data file that is gone, and what with it."""
    return Entry(line(Prose(f"'{file.path}' was deleted{with_it(file)}", names_paths=True)), sign="caution")


def finding_gone(finding: changes.FindingChange) -> Entry:
    """A finding that the base has and this state does not."""
    return Entry(line(_message(finding)), at(finding.location, on_base=True), label=finding.code)


def item(item: ChangedItem) -> Entry:
    """A thing that is new or changed, and that no test reaches."""
    if item.code is not None:
        words = f", which has no readable code {'on the base' if item.code == 'found' else 'now'}"
        return Entry(line("action ", Code(item.name), words), at(item.location))
    verb = "new" if item.change == "added" else "changed"
    return Entry(line(f"{verb} {changes.SINGULAR.get(item.kind, 'thing')} ", Code(item.name)), at(item.location))


def named(what: str, named: changes.Named, removed: bool, judged: changes.NewlyJudged | None = None) -> Entry:
    """A new or removed intent or entity; of a new one, how it does if any sentence of it was judged."""
    verb = "removed" if removed else "new"
    how = f" {outcome_in_words(judged)}" if judged is not None and not removed else ""
    return Entry(line(f"{verb} {what} ", Code(named.name), how), at(named.location, on_base=removed))


def renamed(rename: Renamed) -> Entry:
    """An intent or entity that has another name now."""
    spans = line(f"{changes.SINGULAR[rename.kind]} ", Code(rename.old), " is called ", Code(rename.new), " now")
    return Entry(spans, at(rename.location))


def newly_judged(one: changes.NewlyJudged) -> Entry:
    """A new intent, response, entity or suite: how many of its sentences are right, and where the others go."""
    new = "newly judged" if one.known else "new"
    spans = line(f"{new} {WHAT[one.kind]} ", Code(one.name), f" {outcome_in_words(one)}", details(one))
    return Entry(spans, at(one.location))


def gate(gate: GateResult, shown: AbstractSet[Location | str | None], *, causes: bool) -> Entry:
    """A gate with its outcome, its reason and the ``causes`` of its failure, except what is ``shown`` above."""
    first = gate.first_cause
    behind = [cause for cause in (_behind(gate, shown) if causes else []) if cause is not first]
    counted = ", which fails the run" if gate.fails and gate.outcome == "not judged" else ""
    below = [
        Entry(line(Prose(cause.what, 200, names_paths=True)), at(cause.location)) for cause in behind[:_MOST_BEHIND]
    ]
    if len(behind) > _MOST_BEHIND:
        below.append(Entry(line(f"… and {len(behind) - _MOST_BEHIND:,} more in verdict.json")))
    return Entry(
        line(Prose(gate.reason, names_paths=True), _first(gate)),
        sign="failed" if gate.fails else gate.outcome,
        label=gate.name,
        outcome="" if gate.outcome == "passed" else f"{gate.outcome}{counted}",
        below=tuple(below),
    )


def _first(gate: GateResult) -> Line:
    """The first thing that failed a gate, and how many more did."""
    first = gate.first_cause
    if first is None:
        return ()
    place = line(" · ", PlaceSpan(first.location)) if first.location else ()
    return line(": ", Prose(first.what, 200, names_paths=True), place, gate.and_more)


def consequences(gates: Sequence[GateResult]) -> Entry:
    """Gates that fail only because of what another one names, as one entry."""
    names = listed(line(Code(gate.name)) for gate in gates)
    locations = {cause.location for gate in gates for cause in gate.failed_by}
    location = locations.pop() if len(locations) == 1 else None
    followed = listed(line(Code(name)) for name in dict.fromkeys(gate.follows for gate in gates if gate.follows))
    because = (
        line("because of ", PlaceSpan(location), ", above") if location else line("because of ", followed, ", above")
    )
    verb = "fails" if len(gates) == 1 else "fail"
    return Entry(line(names, f" {verb} ", because), sign="failed")


_LATER: Final = "Of a file, what finds less counts once it is merged."


def setting(change: changes.SettingChange) -> Entry:
    """A gate setting that this change alters; of long texts, where they begin to differ."""
    base, value = _where_different(change.base, change.value)
    hint = _LATER if change.name == "repeats" else ""
    match change.change:
        case "altered":
            return Entry(line(Code(change.name), " from ", Code(base), " to ", Code(value)), hint=hint)
        case "added":
            return Entry(line(Code(change.name), " added: ", Code(value)))
        case "removed":
            return Entry(line(Code(change.name), " removed, was ", Code(base)))


def asked(change: changes.SettingChange) -> Entry:
    """``model`` from ``travel-1`` to ``travel-2``; of long texts, where they begin to differ."""
    if change.change != "altered":
        return setting(replace(change, name=change.place))
    base, value = _where_different(change.base, change.value)
    return Entry(line(Code(change.place), ": ", Code(base), " → ", Code(value)))


def _where_different(one: str, other: str) -> tuple[str, str]:
    alike = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
    begin = max(0, alike - _MOST_ALIKE) if max(len(one), len(other)) > _LONG else 0

    def shown(text: str) -> str:
        end = "…" if len(text) > begin + _LONG else ""
        return f"{'…' if begin else ''}{text[begin : begin + _LONG]}{end}"

    return shown(one), shown(other)


def _behind(gate: GateResult, shown: AbstractSet[Location | str | None]) -> list[FailedBy]:
    """What failed a gate and is not shown yet; nothing if any of it is, for a metric: its worst causes come first."""
    new = [cause for cause in gate.unnamed if cause.location not in shown and cause.what not in shown]
    return [] if gate.metric and len(new) < len(gate.failed_by) else new


def skipped(names: str, entry: Skipped, reason: str) -> Entry:
    """Evaluations that did not run, for one reason."""
    return Entry(line(f"part of {names}: " if entry.part else f"{names}: ", Prose(reason, names_paths=True)))


def substitution(entry: Substitution) -> Entry:
    """A component that is not run as it is."""
    used = line("replaced by ", Prose(entry.used)) if entry.used else line("left out")
    return Entry(line(Code(entry.component), " is ", used, ": ", Prose(entry.reason)))


def _with_below(entry: Entry, below: Sequence[Entry]) -> Entry:
    """The entry with others below it: if there are many, some in plain sight, the rest folded."""
    many = len(below) > _MOST_SHOWN + 1
    left_out = max(len(below) - _MOST_FOLDED, 0)
    return replace(entry, below=tuple(below[:_MOST_FOLDED]), in_sight=_MOST_SHOWN if many else None, left_out=left_out)


def _these(sentences: Sequence[changes.TrainingChange]) -> str:
    kinds = {sentence.change for sentence in sentences}
    word = {"added": "new", "removed": "removed", "relabelled": "moved"}.get(kinds.pop(), "") if len(kinds) == 1 else ""
    word = word or "changed"
    return count(len(sentences), f"{word} training sentence")


def _more(number: int) -> list[Entry]:
    return [Entry(line(f"… and {number - _MOST_SHOWN:,} more"))] if number > _MOST_SHOWN else []


def _side(passed: bool | None, misunderstood: bool) -> str:
    if misunderstood:
        return "misunderstood"
    return {True: "right", False: "wrong", None: "not there"}[passed]


def _message(finding: Finding | changes.FindingChange, limit: int = PROSE_LIMIT) -> Prose:
    """What is wrong, with the new name of anything in it that the change renamed."""
    words = finding.message if isinstance(finding, Finding) else finding.message_now or finding.message
    return Prose(words, limit, names_paths=True)
