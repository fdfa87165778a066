"""A finding is recognised on the base by what it is about: no code's turns new when its words or neighbours change."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace
from report_builder import report
from small_project import write_project
from test_documented_examples import PLACES, put, spelled_out
from test_domain_load_faults import REFUSED
from test_own_checks import FAULTS
from test_story_load_faults import ERRORS, WARNINGS

import turncheck
from turncheck.commands.validate import Request, check_project
from turncheck.comparison.changed_parts import changed_findings
from turncheck.evaluations.validate.measure import validation_of
from turncheck.messages.finding import Finding, Location, Name
from turncheck.validation.catalogue import CHECKS
from turncheck.validation.checks import FILE, PLACE, Check, check, declared

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turncheck.comparison.changes import FindingChange

SOURCE = Path(turncheck.__file__).parent
ORACLE = Path(__file__).parents[2] / "oracle" / "validate"
LINE = ("1a" * 6, "2b" * 6, "3c" * 6)
OTHER_LINE = ("4d" * 6, "5e" * 6, "6f" * 6)
THIRD_LINE = ("7a" * 6, "8b" * 6, "9c" * 6)


def new(base: Iterable[Finding], head: Iterable[Finding]) -> tuple[FindingChange, ...]:
    return changed_findings(report(findings=base), report(findings=head))[0]


# --- each code, as declared ------------------------------------------------------------------------------------------


def made(code: str, lines: tuple[str, ...] = LINE, line: int = 7) -> Finding:
    """A finding of a code, about one thing of each kind that its check declares."""
    kinds = CHECKS[code].about
    return Finding(
        code,
        CHECKS[code].severity,
        "The intent 'a' has 3 of 'b'. Did you mean 'c'?",
        Location("data/a.yml", line, 5),
        hint="Do this.",
        others=(Location("data/b.yml", 3),),
        suggestion="Did you mean 'c'?",
        about=tuple(Name(kind, f"a {kind}") for kind in kinds if kind not in {FILE, PLACE}),
        stands_in=(Name("key", "nlu"), Name("intent", "greet")) if PLACE in kinds else (),
        lines=lines,
    )


@pytest.mark.parametrize("code", CHECKS)
def test_no_code_is_new_when_words_counts_neighbours_or_places_change(code: str) -> None:
    base = made(code)
    for head in (
        replace(base, message="Quite other words, 12 of 'd'.", hint="Do that.", suggestion=""),
        replace(base, others=(), names=(Name("story", "elsewhere"),), subject="another one"),
        replace(base, location=Location("data/a.yml", 9, 1)),
        replace(base, location=Location("data/moved.yml", 7, 5)),
        replace(base, lines=OTHER_LINE, location=Location("data/a.yml", 31, 5)),
        replace(base, lines=(OTHER_LINE[0], *LINE[1:]), message="An edited line of 'x'."),
    ):
        assert changed_findings(report(findings=[base]), report(findings=[head])) == ((), ())
    milder = replace(base, severity="info")
    assert not new([base], [milder])
    assert new([milder], [replace(base, severity="error")]), "what was no error is a new one"


@pytest.mark.parametrize("code", CHECKS)
def test_a_second_finding_of_any_code_is_new(code: str) -> None:
    base, second = made(code), made(code, OTHER_LINE, line=3)
    assert [change.location.line for change in new([base], [second, base])] == [3], (
        "the one on the unchanged line is old"
    )
    assert len(new([base], [made(code, OTHER_LINE, line=line) for line in range(1, 11)])) == 9
    for number, name in enumerate(base.about):
        others = [*base.about]
        others[number] = Name(name.kind, "of another name")
        assert new([base], [replace(base, about=tuple(others), lines=LINE)])
    if FILE in CHECKS[code].about:
        elsewhere = replace(base, location=Location("data/c.yml"), severity="error", lines=OTHER_LINE)
        assert new([replace(base, severity="error")], [elsewhere])
    if PLACE in CHECKS[code].about:
        within = (Name("key", "nlu"), Name("intent", "bye"))
        assert new([base], [replace(base, stands_in=within, lines=OTHER_LINE)])


@pytest.mark.parametrize("code", [code for code in CHECKS if {FILE, PLACE}.isdisjoint(CHECKS[code].about)])
def test_what_loses_a_member_is_the_old_finding_and_what_gains_one_is_not(code: str) -> None:
    base = made(code)
    (name, *_) = base.about
    more = replace(base, about=(*base.about, Name(name.kind, "one more")), lines=OTHER_LINE)
    assert not new([more], [base])
    assert new([base], [more])
    assert not changed_findings(report(findings=[base]), report(findings=[more]))[1], "what grew is not gone"
    assert len(new([more], [base, replace(base, lines=OTHER_LINE)])) == 1


@pytest.mark.parametrize("members", [2, 3, 30])
@pytest.mark.parametrize("joined", [1, 2])
def test_of_what_contradicts_each_other_only_what_joins_is_new(members: int, joined: int) -> None:
    def contradictions(number: int) -> list[Finding]:
        about = tuple(Name("story", f"rule {which}") for which in range(number))
        made_here = made("rule-contradiction")
        lines = [(f"{which:012x}", "", "") for which in range(number)]
        return [
            replace(made_here, about=about, lines=line, location=Location("r.yml", at))
            for at, line in enumerate(lines, 1)
        ]

    base, head = contradictions(members), contradictions(members + joined)

    assert [one.location.line for one in new(base, head)] == list(range(members + 1, members + joined + 1))
    assert not new(head, base)
    assert changed_findings(report(findings=base), report(findings=head))[1] == ()
    edited = [replace(one, lines=OTHER_LINE) for one in head]
    assert len(new(base, edited)) == len(head), "no line says which of them is old"


def test_no_check_is_declared_that_does_not_say_what_it_is_about() -> None:
    assert all(declared(row) for row in CHECKS.values())
    with pytest.raises(TypeError, match=r"\babout\b"):
        declared(Check("x", "error", "always", "own", "A title", "A text."))
    with pytest.raises(TypeError, match=r"\babout\b"):
        check("x", "error", title="A title", text="A text.", about=())


def _calls() -> list[tuple[str, str, set[str]]]:
    """Where findings are made: the place, the code, and the arguments that are given by name."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value.value
            for node in tree.body
            if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.Constant)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"found", "Finding"}:
                code = node.args[0] if node.args else None
                value = constants.get(code.id) if isinstance(code, ast.Name) else getattr(code, "value", None)
                if value in CHECKS:
                    named = {keyword.arg or "" for keyword in node.keywords}
                    found.append((f"{path.relative_to(SOURCE)}:{node.lineno}", str(value), named))
    return found


def test_whatever_makes_a_finding_about_names_gives_them() -> None:
    calls = _calls()
    about_names = {code for code in CHECKS if not {FILE, PLACE} >= {*CHECKS[code].about}}
    assert len(calls) > 100
    assert [call for call in calls if call[1] in about_names and not call[2] & {"about", "names"}] == []
    made_by_groups = {"story-intent-undefined", "form-not-in-domain", "action-undefined"}  # of_blocks gives theirs
    others = about_names - {code for _, code, _ in calls} - made_by_groups
    assert others <= MADE_WITH_A_VARIABLE_CODE


MADE_WITH_A_VARIABLE_CODE = {
    *(
        "response-without-default",
        "form-question-missing",
        "form-action-unlisted",
        "nlu-data-unread",
    ),  # rows with functions: faults
    *("mapping-form-undefined", "mapping-slot-not-required"),
    *("test-action-undefined", "test-intent-undefined", "test-name-undefined"),
    *("lookup-entry-unseen", "lookup-entry-never-found"),
    *(f"flow-{kind}-undefined" for kind in ("flow", "action", "response", "slot", "intent")),
    *("flow-condition-case", "flow-condition-value", "flow-test-cannot-pass", "flow-test-names-nothing"),
}
"""The code depends on what is found; the examples below have them."""


# --- each code, as found in files ------------------------------------------------------------------------------------


def _written() -> dict[str, list[tuple[str, str, str]]]:
    """Projects with a fault, as edits of the small project."""
    edits = {f"{code} at its place": list(faulty) for code, (faulty, _) in FAULTS.items()}
    edits |= {name: [edit] for name, (edit, _) in (*REFUSED.items(), *ERRORS.items(), *WARNINGS.items())}
    return edits


OWN = _written()
RECORDED = sorted(path.name for path in ORACLE.iterdir() if path.is_dir())
CASES = [
    *(f"example {code}" for code in PLACES if code != "story-ways-too-many"),
    *OWN,
    *(f"recorded {name}" for name in RECORDED),
]


def write_case(folder: Path, case: str) -> None:
    kind, _, name = case.partition(" ")
    if case in OWN:
        write_project(folder, *OWN[case])
    elif kind == "example":
        put(folder, spelled_out(CHECKS[name].wrong), PLACES[name])
    else:
        recorded = ORACLE / name
        shutil.copytree(recorded / "project" if (recorded / "project").is_dir() else recorded, folder)


def findings_of(folder: Path) -> Sequence[Finding]:
    found = check_project(Request(project=folder, strict=True))
    return validation_of(found.validated.findings, (), found.project).findings


_NEIGHBOURS = {
    "responses": "  utter_greeting:\n  - text: Welcome.\n",
    "intents": "- greetings\n- orders\n",
    "entities": "- sizes\n- sice\n",
    "actions": "- action_bakes\n",
    "slots": "  sizes:\n    type: text\n    mappings:\n    - type: from_text\n",
    "nlu": "- intent: greetings\n  examples: |\n    - nobody ever said this before\n    - nor was this ever heard\n",
    "stories": "- story: the neighbour\n  steps:\n  - intent: greetings\n  - action: utter_greeting\n",
}
"""What is put below a key, so that suggestions, counts and what is named beside a finding change."""


def with_neighbours(folder: Path) -> None:
    for path in sorted(folder.rglob("*.yml")):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        for key, more in _NEIGHBOURS.items():
            listed = re.search(rf"^{key}:[ ]*\n([ ]*)(?=[\w-])", text, re.MULTILINE)
            if listed is None or (listed[1] and more.startswith("-")) or (not listed[1] and more.startswith(" ")):
                continue
            text = text[: listed.end() - len(listed[1])] + more + text[listed.end() - len(listed[1]) :]
        path.write_text(text, encoding="utf-8", errors="surrogateescape")


def with_lines_above(folder: Path) -> None:
    for path in sorted(folder.rglob("*.yml")):
        before = path.read_bytes()
        if not before.startswith(b"\xef\xbb\xbf"):
            path.write_bytes(b"# a remark\n\n# and another one\n" + before)


def with_moved_files(folder: Path) -> None:
    if (folder / "data").is_dir():
        shutil.move(folder / "data", folder / "old")
        (folder / "data").mkdir()
        shutil.move(folder / "old", folder / "data" / "moved")


CHANGES = {"neighbours": with_neighbours, "lines above": with_lines_above, "moved files": with_moved_files}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_no_finding_of_a_faulty_project_is_new_when_its_neighbours_lines_or_files_move(
    case: str, tmp_path: Path
) -> None:
    write_case(tmp_path / "base", case)
    base = findings_of(tmp_path / "base")
    codes = {finding.code for finding in base}
    for what, change in CHANGES.items():
        head = tmp_path / what.replace(" ", "_")
        shutil.copytree(tmp_path / "base", head)
        change(head)
        after = findings_of(head)
        left = [one for one in new(base, after) if one.code in codes and not is_about_neighbours(one)]
        assert not left, (what, left)


@pytest.mark.parametrize("part", ["config", "domain"])
def test_what_is_missing_is_missing_as_before_when_what_may_be_meant_moves(part: str, tmp_path: Path) -> None:
    sides = []
    for folder in ("first", "second"):
        write_project(tmp_path / folder)
        (tmp_path / folder / folder).mkdir()
        (tmp_path / folder / f"{part}.yml").rename(tmp_path / folder / folder / f"my_{part}.yml")
        sides.append(findings_of(tmp_path / folder))
    base, head = sides
    assert [[name.name for name in one.names] for side in sides for one in side if one.code == f"{part}-not-found"] == [
        [f"first/my_{part}.yml"],
        [f"second/my_{part}.yml"],
    ]
    assert [one.code for one in new(base, head)] == []


def is_about_neighbours(change: FindingChange) -> bool:
    """Whether the added names are what is wrong."""
    added = ("greeting", "orders", "sizes", "sice", "action_bakes", "neighbour", "ever said", "ever heard")
    return any(word in change.message for word in added)


@pytest.mark.parametrize("case", CASES)
def test_findings_are_about_what_their_checks_declare(case: str, tmp_path: Path) -> None:
    write_case(tmp_path / "base", case)
    for finding in findings_of(tmp_path / "base"):
        kinds = CHECKS[finding.code].about
        assert {name.kind for name in finding.about} <= {*kinds}, finding
        assert finding.about or {FILE, PLACE} & {*kinds}, finding
        assert finding.lines
