"""What a person or a program needs to repair one thing: a test, a sentence, a finding or a gate, in a few kilobytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, UnsetType, structs

from turncheck.comparison.cases import batch_cases, end_to_end_cases, intent_cases, story_cases
from turncheck.comparison.matching import unpaired_case
from turncheck.messages.plain_text import one_line
from turncheck.render.links import PathResolver
from turncheck.render.wording.causes import cause_in_words, is_proved
from turncheck.render.wording.repeats import runs_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from turncheck.comparison.cases import Case
    from turncheck.comparison.changes import CaseChange, ChangedCases
    from turncheck.messages.finding import Finding, Location
    from turncheck.render.assistants import Run
    from turncheck.render.wording.verdict import GateResult
    from turncheck.report.causes import Cause
    from turncheck.report.model import Report

MANUAL: Final = "https://turncheck.github.io/turncheck/"
_PAGES: Final = {
    "story": "sentences_and_stories.html#test-stories",
    "end-to-end case": "e2e.html",
    "batch case": "kore.html#batch-suites",
    "sentence": "sentences_and_stories.html#test-sentences",
    "gate": "result.html#why-did-my-run-fail",
}
_LONGEST: Final = 200
_LONGEST_REASON: Final = 300
"""In characters; all together must fit into the eight kilobytes even if each takes four bytes."""
_MOST: Final = 20


class Near(Struct, frozen=True, omit_defaults=True):
    """A sentence, test or place that has to do with it."""

    what: str
    """The sentence, or what is there."""
    place: str = ""
    """``path:line``, in the repository."""


class Explained(Struct, frozen=True, omit_defaults=True):
    """One thing of a run; what has nothing to say is left out. Lists are cut, ``left_out`` says by how much."""

    subject: str
    """Its name."""
    kind: str
    """``story``, ``end-to-end case``, ``batch case``, ``sentence``, ``finding``, ``gate``, or ``reason`` of a gate."""
    outcome: str
    """How it ended."""
    place: str = ""
    """Where it is."""
    expected: str = ""
    """What was expected."""
    got: str = ""
    """What came."""
    runs: str = ""
    """How many of its runs pass, here and on the base, if it was run several times."""
    on_base: str = ""
    """How it ended on the base."""
    why: str = ""
    """The reason of a gate, the message of a finding, how the engine arrived at a result."""
    said: str = ""
    """What the user said last."""
    hint: str = ""
    """What to do."""
    causes: tuple[str, ...] = ()
    """The changed parts of the project that made it so."""
    proved: bool = False
    """Whether they were taken back and tried: without them it ends as on the base."""
    nearest: tuple[Near, ...] = ()
    """The nearest data, the nearest first; of a gate, what made it fail."""
    others: tuple[Near, ...] = ()
    """Others of the same name or kind."""
    left_out: int = 0
    """How many entries were cut off."""
    page: str = ""
    """The page of the manual that tells more."""

    def cut(self, most: int) -> Explained:
        """Return it with at most so many entries in each list."""
        over = sum(max(len(entries) - most, 0) for entries in (self.causes, self.nearest, self.others))
        return structs.replace(
            self,
            causes=self.causes[:most],
            nearest=self.nearest[:most],
            others=self.others[:most],
            left_out=self.left_out + over,
        )


def names_in(run: Run) -> tuple[str, ...]:
    """Return everything that can be explained, by name: gates, failing tests and codes first."""
    gates = [gate.name for gate in run.verdict.gates]
    codes = [finding.code for finding in _findings(run.report)]
    tests = [case.name for _, _, case in (*_tests(run), *_gone(run))]
    return tuple(dict.fromkeys([*gates, *codes, *tests]))


def explain(run: Run, name: str) -> Explained | None:
    """Return what there is to say of a gate, a finding or a test; ``None`` if the run has nothing of this name.

    Args:
        run: the documents of a run.
        name: a gate; a finding, by its code; a test, by its name, alone or behind what it is; a place; or what
            ``failed_by`` of a gate says (``what``). Places are those that turncheck prints: in the repository or in
            the project, with a column or without.
    """
    found = _gate(run, name) or _finding(run, name) or _test(run, name) or _cause(run, name)
    return None if found is None else found.cut(_MOST)


def _is_at(run: Run, location: Location | None, name: str) -> bool:
    """Whether a name is a place, as ``path:line`` or ``path:line:column``."""
    if location is None:
        return False
    name = name.replace("\\", "/").removeprefix("./")
    shown = {location, location.below(run.report.project.root)}
    return any(name in {f"{one}", f"{structs.replace(one, column=None)}"} for one in shown)


def _gate(run: Run, name: str) -> Explained | None:
    gate = next((gate for gate in run.verdict.gates if name in {gate.name, gate.metric}), None)
    if gate is None:
        return None
    causes = _failed_by(run, gate)
    follows = f"It fails because of what '{gate.follows}' names. " if gate.follows else ""
    return Explained(
        subject=_line(gate.name),
        kind="gate",
        outcome=f"{gate.outcome}{', which fails the run' if gate.fails and gate.outcome != 'failed' else ''}",
        place=_place(run, gate.location),
        why=_line(f"{follows}{gate.reason}", _LONGEST_REASON),
        nearest=tuple(causes),
        page=f"{MANUAL}{_PAGES['gate']}",
    )


def _failed_by(run: Run, gate: GateResult) -> Iterator[Near]:
    named = {one.name: one for one in run.verdict.gates}
    for cause in (named.get(gate.follows) or gate).failed_by:
        yield Near(_line(cause.what), _place(run, cause.location))


def _finding(run: Run, name: str) -> Explained | None:
    found = [one for one in _findings(run.report) if name == one.code or _is_at(run, one.location, name)]
    if not found:
        return None
    new = {(one.code, one.location): one for one in run.comparison.new_findings}
    found.sort(key=lambda one: (one.severity != "error", (one.code, one.location) not in new))
    first, *rest = found
    change = new.get((first.code, first.location))
    on_base = "" if not run.comparison.judged else "not there" if change is not None else "there, too"
    return Explained(
        subject=first.code,
        kind="finding",
        outcome=first.severity,
        place=_place(run, first.location),
        on_base=on_base,
        why=_line(first.message, _LONGEST_REASON),
        hint=_line(first.hint, _LONGEST_REASON),
        causes=_causes(run, change.causes if change is not None else ()),
        nearest=tuple(Near("it contradicts or repeats this", _place(run, other)) for other in first.others),
        others=tuple(Near(_line(one.message), _place(run, one.location)) for one in rest),
        page=f"{MANUAL}findings.html#{first.code}",
    )


def _test(run: Run, name: str) -> Explained | None:
    wanted = [
        (kind, outcome, case)
        for kind, outcome, case in (*_tests(run), *_gone(run))
        if name in {case.name, f"{kind} {case.name}"} or _is_at(run, case.location or case.base_location, name)
    ]
    if not wanted:
        return None
    (kind, outcome, case), *rest = wanted
    changed = _changed(run, kind, case)
    shown = changed or case
    on_base = runs = ""
    if not isinstance(shown.repeats, UnsetType):
        runs = runs_in_words(shown.repeats, is_new=changed is not None and changed.base_location is None)
    if run.comparison.judged and (changed is not None or not runs):
        ended = {True: "passed", False: "failed", None: "not there"}
        on_base = ended[shown.base_passed] if changed is not None or case.location is None else "the same"
    return Explained(
        subject=_line(case.name),
        kind=kind,
        outcome=outcome,
        place=_place(run, case.location or case.base_location),
        expected=_line(shown.expected),
        got=_line(shown.actual),
        runs=_line(runs),
        on_base=on_base if not shown.base_actual else _line(f"{on_base}: {shown.base_actual}"),
        why=_line(f"{shown.remark} ({shown.scores})" if shown.scores else shown.remark),
        said=_line(shown.said),
        causes=_causes(run, shown.causes),
        proved=is_proved(shown),
        nearest=tuple(_nearest(run, kind, shown)),
        others=tuple(Near(_line(one.name), _place(run, one.location)) for _, _, one in rest),
        page=f"{MANUAL}{_PAGES[kind]}",
    )


def _tests(run: Run) -> Iterator[tuple[str, str, CaseChange]]:
    """Every test with its kind and outcome, those that do not pass first."""
    report = run.report
    kinds = {
        "story": story_cases(report),
        "end-to-end case": end_to_end_cases(report),
        "batch case": batch_cases(report),
        "sentence": intent_cases(report),
    }
    found = [(kind, _outcome(case), unpaired_case(case)) for kind, cases in kinds.items() for case in cases]
    yield from sorted(found, key=lambda test: test[1] == "passed")


def _outcome(case: Case) -> str:
    if case.passed:
        return "passed"
    return "misunderstood" if case.misunderstood else "unclear" if case.unclear else "failed"


def _compared(run: Run) -> Mapping[str, ChangedCases]:
    compared = run.comparison
    return {
        "story": compared.stories,
        "end-to-end case": compared.e2e,
        "batch case": compared.batch,
        "sentence": compared.examples,
    }


def _gone(run: Run) -> Iterator[tuple[str, str, CaseChange]]:
    """Every test that only the base has, with its kind."""
    for kind, cases in _compared(run).items():
        for case in cases.gone:
            yield kind, "gone", case


def _cause(run: Run, what: str) -> Explained | None:
    """What made a gate fail, in the words of the verdict: the finding or the test there, or else those words."""
    causes = ((gate, cause) for gate in run.verdict.gates for cause in gate.failed_by)
    named = next((both for both in causes if what in {both[1].what, _line(both[1].what)}), None)
    if named is None:
        return None
    gate, cause = named
    if cause.location is not None:
        found = _test(run, f"{cause.location}") or _finding(run, f"{cause.location}")
        if found is not None:
            return found
    return Explained(
        subject=_line(cause.what),
        kind="reason",
        outcome=f"fails {gate.name}" if gate.fails else f"{gate.name}: {gate.outcome}",
        place=_place(run, cause.location),
        page=f"{MANUAL}{_PAGES['gate']}",
    )


def _changed(run: Run, kind: str, case: CaseChange) -> CaseChange | None:
    cases = _compared(run)[kind]
    changed = (*cases.newly_failing, *cases.worse, *cases.better, *cases.edited, *cases.misunderstood)
    return next((one for one in changed if (one.name, one.location) == (case.name, case.location)), None)


def _nearest(run: Run, kind: str, case: CaseChange) -> Iterator[Near]:
    """The training sentences that explain a result best: those that the change touched, then those like it."""
    for change in case.because:
        was = f", which was '{change.was}'" if change.was else ""
        yield Near(_line(f"{change.change}: '{change.text}' of '{change.intent}'{was}"), _place(run, change.location))
    for sentence in case.sentences:
        for near in sentence.neighbours:
            yield Near(_line(f"'{near.text}' of '{near.intent}'"), _place(run, near.location))
    nlu = run.report.nlu
    if kind != "sentence" or nlu is None:
        return
    for prediction in nlu.predictions:
        if (prediction.text, prediction.location) == (case.name, case.location):
            for neighbour in prediction.neighbours:
                one = nlu.training[neighbour.training]
                yield Near(_line(f"'{one.text}' of '{one.intent}'"), _place(run, one.location))


def _causes(run: Run, causes: Sequence[Cause]) -> tuple[str, ...]:
    paths = PathResolver.of(run.report, run.comparison)  # a cause names its place in the assistant
    return tuple(_line(paths.text(cause_in_words(cause))) for cause in causes)


def _findings(report: Report) -> Sequence[Finding]:
    return report.validation.findings if report.validation else ()


def _place(run: Run, location: Location | None) -> str:
    if location is None:
        return ""
    root = run.report.project.root
    return one_line(f"{root}/{location}" if root else f"{location}", _LONGEST)


def _line(text: str, most: int = _LONGEST) -> str:
    return one_line(text, most) if text else ""


def in_lines(explained: Explained) -> Iterable[str]:
    """Return it as text, a line each."""
    where = f" ({explained.place})" if explained.place else ""
    yield f"{explained.kind} {explained.subject}{where}: {explained.outcome}"
    titles = {
        "expected": explained.expected,
        "got": explained.got,
        "runs": explained.runs,
        "on the base": explained.on_base,
        "the user said": explained.said,
        "why": explained.why,
        "to do": explained.hint,
    }
    yield from (f"  {title}: {words}" for title, words in titles.items() if words)
    if explained.causes:
        yield f"  because of this change{'' if explained.proved or explained.kind == 'finding' else ' (perhaps)'}:"
        yield from (f"    {cause}" for cause in explained.causes)
        if explained.proved:
            yield "    proved: without it, the result is that of the base"
    lists = {"failed by" if explained.kind == "gate" else "nearest": explained.nearest, "others": explained.others}
    for title, entries in lists.items():
        if entries:
            yield f"  {title}:"
            yield from (f"    {near.what}{f' ({near.place})' if near.place else ''}" for near in entries)
    if explained.left_out:
        yield f"  … and {explained.left_out:,} more"
    yield f"  more: {explained.page}"
